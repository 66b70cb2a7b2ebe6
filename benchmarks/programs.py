# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The first benchmark programs, as NumPy functions.

`ref_<name>` is a program; `goal_<name>_<n>` is a form of it that a search should find; `base_<name>` and `bad_<name>`
are two programs that look alike and differ, so that a prover must refute them; `wide_<name>` is defined where
`narrow_<name>`, which agrees with it elsewhere, is not.
"""

from __future__ import annotations

import math

import numpy as np


def rsqrt(x):
    return 1 / np.sqrt(x)


def T(x):
    return np.swapaxes(x, -1, -2)


def row_sum(x):
    return np.sum(x, axis=-1, keepdims=True)


def row_mean(x):
    return np.mean(x, axis=-1, keepdims=True)


def row_max(x):
    return np.max(x, axis=-1, keepdims=True)


def rms_scale(x, eps):
    return rsqrt(row_mean(x * x) + eps)


def softmax(x):
    e = np.exp(x - row_max(x))
    return e / row_sum(e)


# S01: elementwise chains


def ref_axpby(a, x, b, y):
    return a * x + b * y


def ref_common(x, y, z):
    return x * z + y * z


def goal_common_1(x, y, z):
    """The common factor taken out."""
    return (x + y) * z


def ref_divrow(x, d):
    return x / d


def goal_divrow_1(x, d):
    """One reciprocal a row; d must not be zero."""
    return x * (1 / d)


def ref_scale2(x, c, d):
    return (x * c) * d


def goal_scale2_1(x, c, d):
    """Equal, but dearer: the product of the scales is a whole matrix."""
    return x * (c * d)


def ref_sqmul(x):
    return np.power(x, 2.0)


def goal_sqmul_1(x):
    return x * x


# S02: SiLU; S04: softmax


def ref_silu(x):
    return x / (1 + np.exp(-x))


def goal_silu_1(x):
    return x * (1 / (1 + np.exp(-x)))


def goal_silu_2(x):
    """Without overflow in exp."""
    return 0.5 * x * (1 + np.tanh(0.5 * x))


def ref_softmax(x):
    return softmax(x)


def goal_softmax_1(x):
    """Without the maximum: right over the reals, with overflow in floats."""
    e = np.exp(x)
    return e / row_sum(e)


def goal_softmax_3(x):
    """By the logarithm of the sum."""
    m = row_max(x)
    return np.exp(x - (m + np.log(row_sum(np.exp(x - m)))))


# S05: RMSNorm


def ref_rmsnorm(x, g, eps=1e-5):
    return x * rms_scale(x, eps) * g


def goal_rmsnorm_1(x, g, eps=1e-5):
    """The sum of squares as a product with ones."""
    n = x.shape[-1]
    return (x * g) * rsqrt((x * x) @ np.ones((n, 1)) / n + eps)


def goal_rmsnorm_3(x, g, eps=1e-5):
    """The root of n folded into the gain."""
    n = x.shape[-1]
    return x * (g * math.sqrt(n)) * rsqrt(row_sum(x * x) + n * eps)


# S09, S10, S12: transposition, product, reductions


def ref_transpose(x):
    return T(x)


def goal_transpose_1(x):
    """A transposition by a product with the identity."""
    return T(x) @ np.eye(x.shape[-2])


def ref_transpose_pair(x):
    return T(T(x) * 2.0)


def goal_transpose_pair_1(x):
    return x * 2.0


def ref_matmul(a, b):
    return a @ b


def goal_matmul_1(a, b):
    """Operands exchanged."""
    return T(T(b) @ T(a))


def goal_matmul_2(a, b, s=3):
    """The contraction in two parts."""
    return a[:, :s] @ b[:s] + a[:, s:] @ b[s:]


def ref_colsum(x):
    return x.sum(axis=0, keepdims=True)


def goal_colsum_1(x):
    """A sum over rows as a product with ones."""
    return np.ones((1, x.shape[0])) @ x


def ref_scaled_max(x):
    return row_max(0.125 * x)


def goal_scaled_max_1(x):
    """A positive factor passes a maximum."""
    return 0.125 * row_max(x)


def ref_var(x):
    return row_mean((x - row_mean(x)) ** 2)


def goal_var_1(x):
    return row_mean(x * x) - row_mean(x) ** 2


# M01: transposition and product


def ref_tmm(a, b):
    return T(a) @ b


def goal_tmm_1(a, b):
    return np.einsum("km,kn->mn", a, b)


def goal_tmm_2(a, b):
    return T(T(b) @ a)


def ref_mmt(a, b):
    return a @ T(b)


def goal_mmt_1(a, b):
    return T(b @ T(a))


def ref_tt(a, b):
    return T(a) @ T(b)


def goal_tt_1(a, b):
    return T(b @ a)


# M02: RMSNorm and product


def ref_rms_mm(x, g, w, eps=1e-5):
    return (x * rms_scale(x, eps) * g) @ w


def goal_rms_mm_1(x, g, w, eps=1e-5):
    """The gain in the weights, the scale after the product."""
    return (x @ (g[:, None] * w)) * rms_scale(x, eps)


def goal_rms_mm_2(x, g, w, eps=1e-5):
    """The scale after the product, the weights untouched."""
    return ((x * g) @ w) * rms_scale(x, eps)


def goal_rms_mm_3(x, g, w, eps=1e-5):
    """The statistics by a product too."""
    n = x.shape[-1]
    return (x @ (g[:, None] * w)) * rsqrt(((x * x) @ np.ones((n, 1))) / n + eps)


# Near misses


def base_silu_scale(x, r):
    z = r * x
    return z / (1 + np.exp(-z))


def bad_silu_scale(x, r):
    return r * (x / (1 + np.exp(-x)))


def base_softmax_scale(x):
    return softmax(2 * x)


def bad_softmax_scale(x):
    return 2 * softmax(x)


def base_rms_commute(x, w):
    return (x * rms_scale(x, 1e-5)) @ w


def bad_rms_commute(x, w):
    y = x @ w
    return y * rms_scale(y, 1e-5)


def base_sum_product(x, y):
    return row_sum(x * y)


def bad_sum_product(x, y):
    """Right for a single column."""
    return row_sum(x) * row_sum(y)


def base_max_scale(x, k):
    return row_max(k * x)


def bad_max_scale(x, k):
    """Right for k >= 0."""
    return k * row_max(x)


def base_var_n1(x):
    return ref_var(x)


def bad_var_n1(x):
    n = x.shape[-1]
    return row_sum((x - row_mean(x)) ** 2) / (n - 1)


# Equal where both are defined


def wide_ones(x):
    return np.ones_like(x)


def narrow_ones(x):
    """Not defined where an element is zero."""
    return x * (1 / x)


def wide_unit(x):
    return x


def narrow_unit(x):
    """Not defined for a row of zeros."""
    q = row_sum(x * x)
    return x * rsqrt(q) * np.sqrt(q)
