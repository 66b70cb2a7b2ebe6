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


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def cube(x):
    return x * x * x


ERF = np.frompyfunc(math.erf, 1, 1)


def erf(x):
    y = ERF(x)
    return y.astype(float) if isinstance(y, np.ndarray) else y


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


# S02: SiLU; S03: GELU; S04: softmax


def ref_silu(x):
    return x / (1 + np.exp(-x))


def goal_silu_1(x):
    return x * (1 / (1 + np.exp(-x)))


def goal_silu_2(x):
    """Without overflow in exp."""
    return 0.5 * x * (1 + np.tanh(0.5 * x))


SLOPE, BEND = math.sqrt(2 / math.pi), 0.044715


def ref_gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(SLOPE * (x + BEND * cube(x))))


def goal_gelu_tanh_1(x):
    """By the logistic function."""
    return x * sigmoid(2 * SLOPE * (x + BEND * cube(x)))


def goal_gelu_tanh_2(x):
    """The polynomial with two products less; its constants are products that Python rounds."""
    return x * sigmoid(x * (2 * SLOPE + (2 * SLOPE * BEND) * (x * x)))


def ref_gelu_erf(x):
    return 0.5 * x * (1 + erf(x / math.sqrt(2)))


def goal_gelu_erf_1(x):
    """A factor in place of the division; the constant is another rounding of the same number."""
    return x * (0.5 + 0.5 * erf(x * math.sqrt(0.5)))


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


# S06: LayerNorm


def ref_layernorm(x, g, b, eps=1e-5):
    c = x - row_mean(x)
    return c * rsqrt(row_mean(c * c) + eps) * g + b


def goal_layernorm_1(x, g, b, eps=1e-5):
    """One pass: the variance from two moments."""
    mean = row_mean(x)
    r = rsqrt(row_mean(x * x) - mean * mean + eps)
    return (x * r - mean * r) * g + b


# S07: running sums; S08: rotation of halves


def ref_cumsum(x):
    return np.cumsum(x, axis=-1)


def goal_cumsum_2(x):
    """A product with a triangle of ones."""
    n = x.shape[-1]
    return x @ np.triu(np.ones((n, n)))


def ref_rope(x, c, s):
    h = x.shape[0] // 2
    a, b = x[:h], x[h:]
    return np.concatenate([a * c - b * s, a * s + b * c], axis=0)


def goal_rope_2(x, c, s):
    """Exchanged halves, the sign in the table."""
    h = x.shape[0] // 2
    swapped = np.concatenate([x[h:], x[:h]])
    return x * np.concatenate([c, c]) + swapped * np.concatenate([-s, s])


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


def ref_bmm(a, b):
    return a @ b


def goal_bmm_2(a, b):
    """Operands exchanged, batch by batch."""
    return T(T(b) @ T(a))


def goal_bmm_3(a, b):
    """Named axes."""
    return np.einsum("zmk,zkn->zmn", a, b)


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


# M03: residual, RMSNorm and product; M04: product, residual and RMSNorm


def ref_add_rms_mm(x, z, g, w, eps=1e-5):
    y = x + z
    return (y * rms_scale(y, eps) * g) @ w


def goal_add_rms_mm_1(x, z, g, w, eps=1e-5):
    """The scale after the product."""
    y = x + z
    return (y @ (g[:, None] * w)) * rms_scale(y, eps)


def goal_add_rms_mm_2(x, z, g, w, eps=1e-5):
    """The product distributed over the sum."""
    v = g[:, None] * w
    return (x @ v + z @ v) * rms_scale(x + z, eps)


def ref_mm_add_rms(x, w, z, g, eps=1e-5):
    y = x @ w + z
    return y * g * rms_scale(y, eps)


def goal_mm_add_rms_2(x, w, z, g, eps=1e-5):
    """The sum of squares as a product with ones, the scale joined with the gain."""
    n = w.shape[1]
    y = x @ w + z
    return y * (g * rsqrt((y * y) @ np.ones((n, 1)) / n + eps))


# M05: LayerNorm and product


def ref_ln_mm(x, g, b, w, eps=1e-5):
    c = x - row_mean(x)
    return (c * rsqrt(row_mean(c * c) + eps) * g + b) @ w


def goal_ln_mm_1(x, g, b, w, eps=1e-5):
    """Three sums: two of them are constants of the weights."""
    mean = row_mean(x)
    r = rsqrt(row_mean((x - mean) ** 2) + eps)
    v = g[:, None] * w
    return r * (x @ v) - (r * mean) * v.sum(0) + b @ w


def goal_ln_mm_2(x, g, b, w, eps=1e-5):
    """The weights are centred instead of the data."""
    mean = row_mean(x)
    r = rsqrt(row_mean((x - mean) ** 2) + eps)
    v = g[:, None] * w
    return r * (x @ (v - v.mean(0))) + b @ w


# M06: batched product and softmax


def ref_bmm_softmax(a, b):
    return softmax(a @ b)


def goal_bmm_softmax_2(a, b):
    """The scale at the end, without the maximum."""
    e = np.exp(a @ b)
    return e * (1 / row_sum(e))


# M10: gated MLP; M11: RMSNorm before it


def ref_gated_mlp(x, wg, wu, wd):
    return (ref_silu(x @ wg) * (x @ wu)) @ wd


def goal_gated_mlp_1(x, wg, wu, wd):
    """One product with both weights side by side."""
    h = x @ np.concatenate([wg, wu], axis=1)
    n = wg.shape[1]
    return (ref_silu(h[:, :n]) * h[:, n:]) @ wd


def goal_gated_mlp_3(x, wg, wu, wd):
    """Transposed throughout: the second product needs no transposition."""
    h = ref_silu(T(wg) @ T(x)) * (T(wu) @ T(x))
    return T(T(wd) @ h)


def ref_rms_gated(x, g, wg, wu, wd, eps=1e-5):
    return ref_gated_mlp(x * rms_scale(x, eps) * g, wg, wu, wd)


def goal_rms_gated_1(x, g, wg, wu, wd, eps=1e-5):
    """The scale between product and SiLU."""
    r = rms_scale(x, eps)
    return (ref_silu(r * (x @ (g[:, None] * wg))) * (r * (x @ (g[:, None] * wu)))) @ wd


def goal_rms_gated_2(x, g, wg, wu, wd, eps=1e-5):
    """One of the two scales passes the second product."""
    r = rms_scale(x, eps)
    return r * ((ref_silu(r * (x @ (g[:, None] * wg))) * (x @ (g[:, None] * wu))) @ wd)


# M12: LoRA


def ref_lora(x, w, a, b, alpha=1.0):
    return x @ w + alpha * ((x @ a) @ b)


def goal_lora_1(x, w, a, b, alpha=1.0):
    """Merged weights."""
    return x @ (w + alpha * (a @ b))


def goal_lora_2(x, w, a, b, alpha=1.0):
    """One pass over x for two products."""
    u = x @ np.concatenate([w, a], axis=1)
    n = w.shape[1]
    return u[:, :n] + u[:, n:] @ (alpha * b)


def goal_lora_3(x, w, a, b, alpha=1.0):
    """The second product as more terms of the first."""
    return np.concatenate([x, x @ a], axis=1) @ np.concatenate([w, alpha * b], axis=0)


# M15: product, bias and GELU; M16: chains; M17: linear attention


def ref_mm_bias_gelu(x, w, b):
    return ref_gelu_tanh(x @ w + b)


def goal_mm_bias_gelu_1(x, w, b):
    """The bias as one more term of the sum."""
    more = np.concatenate([x, np.ones((x.shape[0], 1))], axis=1)
    return goal_gelu_tanh_1(more @ np.concatenate([w, b[None]], axis=0))


def goal_mm_bias_gelu_2(x, w, b):
    """Transposed, a bias for each row."""
    return T(goal_gelu_tanh_1(T(w) @ T(x) + b[:, None]))


def ref_chain(a, b, c):
    return (a @ b) @ c


def goal_chain_1(a, b, c):
    return a @ (b @ c)


def ref_chain_vec(a, b, c, v):
    return ((a @ b) @ c) @ v


def goal_chain_vec_1(a, b, c, v):
    return a @ (b @ (c @ v))


def ref_linattn(q, k, v):
    return (q @ T(k)) @ v


def goal_linattn_1(q, k, v):
    return q @ (T(k) @ v)


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


def base_gelu_forms(x):
    return ref_gelu_tanh(x)


def bad_gelu_forms(x):
    """Close, and another function."""
    return ref_gelu_erf(x)


def base_matmul_commute(a, b):
    return a @ b


def bad_matmul_commute(a, b):
    """Well-typed for square operands only."""
    return b @ a


def base_gain_rope(x, c, s, g):
    return ref_rope(x * g, c, s)


def bad_gain_rope(x, c, s, g):
    """A gain of each channel does not pass a rotation of channels."""
    return ref_rope(x, c, s) * g


def base_reshape(x):
    return T(x)


def bad_reshape(x):
    """Right for a single row."""
    return x.reshape(x.shape[1], x.shape[0])


def base_mask_cumsum(x):
    return np.cumsum(x, axis=-1)


def bad_mask_cumsum(x):
    """The triangle on the wrong side."""
    n = x.shape[-1]
    return x @ np.tril(np.ones((n, n)))


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
