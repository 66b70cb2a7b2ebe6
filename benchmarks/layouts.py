# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Benchmark programs whose arguments lie in another layout."""

from __future__ import annotations

from programs import T, ref_rms_mm


def ref_rms_mm_kmajor(xT, g, w, eps=1e-5):
    """RMSNorm and product, with x given K-major."""
    return ref_rms_mm(T(xT), g, w, eps)
