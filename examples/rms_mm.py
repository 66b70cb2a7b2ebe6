# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""RMSNorm followed by a matrix product, in plain NumPy."""

import numpy as np


def rms_mm(x, g, w, eps=1e-5):
    """Rows of x divided by their root mean square, scaled by the gain g, times w."""
    mean_square = np.mean(x * x, axis=-1, keepdims=True)
    return (x / np.sqrt(mean_square + eps) * g) @ w
