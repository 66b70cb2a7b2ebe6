# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The first half of a gated feed-forward layer, in plain NumPy."""

import numpy as np


def silu(x):
    """x times the logistic function of x."""
    return x / (1 + np.exp(-x))


def gate_up(x, wg, wu):
    """One product through SiLU gates the other."""
    return silu(x @ wg) * (x @ wu)
