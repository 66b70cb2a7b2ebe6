# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The benchmark programs, as NumPy functions.

`ref_<name>` is a program; `goal_<name>_<n>` is a form of it that a search should find; `base_<name>` and `bad_<name>`
are two programs that look alike and differ, so that a prover must refute them; `wide_<name>` is defined where
`narrow_<name>`, which agrees with it elsewhere, is not.

Forms that go through an axis block by block take the border between the first block and the second, or all borders, as
`at` (see `blocks`); a size of the program's may be one.
"""

from __future__ import annotations

import math

import numpy as np


def blocks(n, at):
    """The slices into which borders cut an axis of n elements."""
    borders = at if isinstance(at, tuple) else (at,)
    return [slice(start, stop) for start, stop in zip((0, *borders), (*borders, n), strict=True)]


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


def before_any(x):
    """The running maximum and the running sum of each row, before the first block."""
    m = np.full((*x.shape[:-1], 1), -np.inf)
    return m, np.zeros_like(m)


def unit(z):
    return z * rsqrt(row_sum(z * z))


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


def goal_softmax_2(x, at=3):
    """Block by block: what is summed so far is rescaled when the maximum grows."""
    m, total = before_any(x)
    for part in blocks(x.shape[-1], at):
        block = x[..., part]
        new = np.maximum(m, row_max(block))
        total = total * np.exp(m - new) + row_sum(np.exp(block - new))
        m = new
    return np.exp(x - m) * (1 / total)


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


def goal_rmsnorm_2(x, g, eps=1e-5, at=3):
    """The sum of squares block by block."""
    q = sum(row_sum(x[..., part] ** 2) for part in blocks(x.shape[-1], at))
    return x * (g * rsqrt(q / x.shape[-1] + eps))


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


def goal_layernorm_2(x, g, b, eps=1e-5, at=3):
    """Mean and squared deviations of blocks, merged one by one."""
    count, mean, squares = 0, 0.0, 0.0
    for part in blocks(x.shape[-1], at):
        block = x[..., part]
        n = block.shape[-1]
        own = row_mean(block)
        shift = own - mean
        both = count + n
        squares = squares + row_sum((block - own) ** 2) + shift * shift * count * n / both
        mean = mean + shift * n / both
        count = both
    r = rsqrt(squares / count + eps)
    return (x * r + (-mean * r)) * g + b


# S07: running sums; S08: rotation of halves


def ref_cumsum(x):
    return np.cumsum(x, axis=-1)


def goal_cumsum_1(x, at=3):
    """Block by block, each beginning with the last sum of the one before."""
    out = np.empty_like(x)
    carry = np.zeros((*x.shape[:-1], 1))
    for part in blocks(x.shape[-1], at):
        sums = np.cumsum(x[..., part], axis=-1) + carry
        out[..., part] = sums
        carry = sums[..., -1:]
    return out


def goal_cumsum_2(x):
    """A product with a triangle of ones."""
    n = x.shape[-1]
    return x @ np.triu(np.ones((n, n)))


def goal_cumsum_3(x, size=5):
    """Two levels: inside blocks of one size, and over the blocks before."""
    n = x.shape[-1]
    count = n // size
    parts = x.reshape((*x.shape[:-1], count, size))
    inside = parts @ np.triu(np.ones((size, size)))
    before = parts.sum(-1) @ np.triu(np.ones((count, count)), 1)
    return (inside + before[..., None]).reshape(x.shape)


def ref_rope(x, c, s):
    h = x.shape[0] // 2
    a, b = x[:h], x[h:]
    return np.concatenate([a * c - b * s, a * s + b * c], axis=0)


def rotation(d):
    """The signed permutation of d rows that exchanges the halves."""
    h = d // 2
    p = np.zeros((d, d))
    p[np.arange(h), np.arange(h) + h] = -1
    p[np.arange(h) + h, np.arange(h)] = 1
    return p


def goal_rope_1(x, c, s):
    """The exchange of halves as a product."""
    return x * np.concatenate([c, c]) + (rotation(x.shape[0]) @ x) * np.concatenate([s, s])


def goal_rope_2(x, c, s):
    """Exchanged halves, the sign in the table."""
    h = x.shape[0] // 2
    swapped = np.concatenate([x[h:], x[:h]])
    return x * np.concatenate([c, c]) + swapped * np.concatenate([-s, s])


def ref_rope_inter(x, c, s):
    out = np.empty_like(x)
    out[0::2] = x[0::2] * c - x[1::2] * s
    out[1::2] = x[0::2] * s + x[1::2] * c
    return out


def goal_rope_inter_1(x, c, s):
    """Pairs side by side: even rows before odd ones, the rotation of halves, and back."""
    d = x.shape[0]
    order = np.concatenate([np.arange(0, d, 2), np.arange(1, d, 2)])
    out = np.empty_like(x)
    out[order] = ref_rope(x[order], c, s)
    return out


# S09 to S12: transposition, product, reductions


def ref_transpose(x):
    return T(x)


def goal_transpose_1(x):
    """A transposition by a product with the identity."""
    return T(x) @ np.eye(x.shape[-2])


def goal_transpose_2(x, at=2, across=2):
    """Block by block."""
    out = np.empty(T(x).shape)
    for rows in blocks(x.shape[-2], at):
        for columns in blocks(x.shape[-1], across):
            out[..., columns, rows] = T(x[..., rows, columns])
    return out


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


def goal_matmul_3(a, b, at_m=2, at_n=3, at_k=3):
    """Blocks of rows and columns, each a sum over blocks of the contraction."""
    out = np.zeros((a.shape[0], b.shape[1]))
    for rows in blocks(a.shape[0], at_m):
        for columns in blocks(b.shape[1], at_n):
            for k in blocks(a.shape[1], at_k):
                out[rows, columns] += a[rows, k] @ b[k, columns]
    return out


def ref_bmm(a, b):
    return a @ b


def goal_bmm_1(a, b):
    """Two batches in one product: their contractions side by side, zeros elsewhere."""
    out = []
    k, n = b.shape[1:]
    for i in range(0, a.shape[0] - 1, 2):
        both = np.zeros((2 * k, 2 * n))
        both[:k, :n] = b[i]
        both[k:, n:] = b[i + 1]
        product = np.concatenate([a[i], a[i + 1]], axis=1) @ both
        out += [product[:, :n], product[:, n:]]
    if a.shape[0] % 2:
        out.append(a[-1] @ b[-1])
    return np.stack(out)


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


def goal_mm_add_rms_1(x, w, z, g, eps=1e-5, at=3):
    """Columns block by block, their squares summed on the way."""
    n = w.shape[1]
    q = 0.0
    y = np.empty((x.shape[0], n))
    for part in blocks(n, at):
        y[:, part] = x @ w[:, part] + z[:, part]
        q = q + row_sum(y[:, part] ** 2)
    return y * (g * rsqrt(q / n + eps))


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


def eighths(z):
    """Rounding, in place of a cast: a function that nothing is known of."""
    return np.round(z * 8) / 8


def ref_ln_mm_cast(x, g, b, w, eps=1e-5):
    c = x - row_mean(x)
    return (c * rsqrt(row_mean(c * c) + eps)) @ eighths(g[:, None] * w) + b @ w


def goal_ln_mm_cast_1(x, g, b, w, eps=1e-5):
    """The sums of columns are those of the rounded weights."""
    mean = row_mean(x)
    r = rsqrt(row_mean((x - mean) ** 2) + eps)
    v = eighths(g[:, None] * w)
    return r * (x @ v) - (r * mean) * v.sum(0) + b @ w


# M06: batched product and softmax


def ref_bmm_softmax(a, b):
    return softmax(a @ b)


def goal_bmm_softmax_1(a, b, at=3):
    """Columns block by block, each rescaled from the maximum that it knew to the last one."""
    m, total = before_any(a)
    tiles = []
    for part in blocks(b.shape[-1], at):
        scores = a @ b[..., part]
        new = np.maximum(m, row_max(scores))
        p = np.exp(scores - new)
        total = total * np.exp(m - new) + row_sum(p)
        tiles.append((p, new))
        m = new
    return np.concatenate([p * (np.exp(own - m) / total) for p, own in tiles], axis=-1)


def goal_bmm_softmax_2(a, b):
    """The scale at the end, without the maximum."""
    e = np.exp(a @ b)
    return e * (1 / row_sum(e))


# M07: attention with grouped queries; M08: one query; M09: normalised queries and keys


def ref_gqa(q, k, v, mask=None):
    r = q.shape[0] // k.shape[0]
    keys, values = np.repeat(k, r, axis=0), np.repeat(v, r, axis=0)
    s = (q @ T(keys)) / math.sqrt(q.shape[-1])
    if mask is not None:
        s = np.where(mask, s, -np.inf)
    return softmax(s) @ values


def ref_gqa_causal(q, k, v):
    n = q.shape[1]
    return ref_gqa(q, k, v, np.tril(np.ones((n, n), dtype=bool)))


def grouped(q, groups):
    """The heads of a group below each other."""
    heads, s, d = q.shape
    return q.reshape(groups, heads // groups * s, d)


def heads_of(o, q):
    """The heads of all groups again."""
    return o.reshape(*q.shape[:2], o.shape[-1])


def goal_gqa_1(q, k, v):
    """Nothing is repeated: the heads of a group are more rows."""
    s = grouped(q, k.shape[0]) @ T(k) / math.sqrt(q.shape[-1])
    return heads_of(softmax(s) @ v, q)


def goal_gqa_2(q, k, v):
    """Division after the second product, the scale in the queries."""
    s = (grouped(q, k.shape[0]) / math.sqrt(q.shape[-1])) @ T(k)
    p = np.exp(s - row_max(s))
    return heads_of((p @ v) * (1 / row_sum(p)), q)


def goal_gqa_3(q, k, v):
    """The denominator as one more column of the values."""
    s = grouped(q, k.shape[0]) @ T(k) / math.sqrt(q.shape[-1])
    p = np.exp(s - row_max(s))
    o = p @ np.concatenate([v, np.ones((*v.shape[:2], 1))], axis=-1)
    return heads_of(o[..., :-1] / o[..., -1:], q)


def goal_gqa_4(q, k, v):
    """Scores transposed: the softmax goes down the columns."""
    s = k @ T(grouped(q, k.shape[0])) / math.sqrt(q.shape[-1])
    p = np.exp(s - s.max(axis=1, keepdims=True))
    return heads_of(T((T(v) @ p) / p.sum(axis=1, keepdims=True)), q)


def goal_gqa_5(q, k, v, at=3):
    """Keys block by block, with running maximum, sum and result."""
    queries = grouped(q, k.shape[0]) / math.sqrt(q.shape[-1])
    m, total = before_any(queries)
    o = np.zeros((*queries.shape[:-1], v.shape[-1]))
    for part in blocks(k.shape[1], at):
        s = queries @ T(k[:, part])
        new = np.maximum(m, row_max(s))
        p = np.exp(s - new)
        fading = np.exp(m - new)
        total = total * fading + row_sum(p)
        o = o * fading + p @ v[:, part]
        m = new
    return heads_of(o * (1 / total), q)


def ref_gqa_decode(q, k, v):
    return ref_gqa(q, k, v)


def goal_gqa_decode_1(q, k, v, n=2):
    """Independent pieces of the keys, merged at the end."""
    queries = grouped(q, k.shape[0]) / math.sqrt(q.shape[-1])
    pieces = []
    for keys, values in zip(np.array_split(k, n, axis=1), np.array_split(v, n, axis=1), strict=True):
        s = queries @ T(keys)
        m = row_max(s)
        p = np.exp(s - m)
        pieces.append((m, row_sum(p), p @ values))
    top = np.max([m for m, _, _ in pieces], axis=0)
    total = sum(part * np.exp(m - top) for m, part, _ in pieces)
    o = sum(part * np.exp(m - top) for m, _, part in pieces)
    return heads_of(o / total, q)


def ref_qknorm(q, k, v, gq, gk, eps=1e-6):
    return ref_gqa(q * rms_scale(q, eps) * gq, k * rms_scale(k, eps) * gk, v)


def goal_qknorm_1(q, k, v, gq, gk, eps=1e-6):
    """The norms as scales of rows and columns of the scores, one gain for both."""
    queries = grouped(q, k.shape[0])
    products = (queries * (gq * gk)) @ T(k)
    s = products * rms_scale(queries, eps) * T(rms_scale(k, eps)) / math.sqrt(q.shape[-1])
    return heads_of(softmax(s) @ v, q)


# M10: gated MLP; M11: RMSNorm before it


def ref_gated_mlp(x, wg, wu, wd):
    return (ref_silu(x @ wg) * (x @ wu)) @ wd


def goal_gated_mlp_1(x, wg, wu, wd):
    """One product with both weights side by side."""
    h = x @ np.concatenate([wg, wu], axis=1)
    n = wg.shape[1]
    return (ref_silu(h[:, :n]) * h[:, n:]) @ wd


def goal_gated_mlp_2(x, wg, wu, wd, at=3):
    """The inner dimension block by block: what is inside is never whole."""
    return sum((ref_silu(x @ wg[:, part]) * (x @ wu[:, part])) @ wd[part] for part in blocks(wg.shape[1], at))


def goal_gated_mlp_3(x, wg, wu, wd):
    """Transposed throughout: the second product needs no transposition."""
    h = ref_silu(T(wg) @ T(x)) * (T(wu) @ T(x))
    return T(T(wd) @ h)


def ref_gate_up(x, wg, wu):
    return ref_silu(x @ wg) * (x @ wu)


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


# M13: normalised residual; M14: projection and rotation


def ref_ntrans(x, h, a):
    return unit(x + a * (unit(h) - x))


def goal_ntrans_1(x, h, a):
    """The mix rearranged."""
    return unit((1 - a) * x + (a * h) * rsqrt(row_sum(h * h)))


def goal_ntrans_2(x, h, a):
    """All sums in one pass: four weighted moments."""
    r = rsqrt(row_sum(h * h))
    b = 1 - a
    square = row_sum((b * x) ** 2) + 2 * r * row_sum(a * b * h * x) + r * r * row_sum((a * h) ** 2)
    return (b * x + (a * r) * h) * rsqrt(square)


def ref_ntrans_scalar(x, h, a):
    return unit(x + a * (unit(h) - x))


def goal_ntrans_scalar_1(x, h, a):
    """For one weight, plain moments are enough."""
    r = rsqrt(row_sum(h * h))
    square = (1 - a) ** 2 * row_sum(x * x) + 2 * a * (1 - a) * r * row_sum(h * x) + a * a
    return ((1 - a) * x + (a * r) * h) * rsqrt(square)


def ref_unit_mm(x, w):
    return unit(x @ w)


def ref_proj_rope(x, w, c, s):
    return ref_rope(T(x @ w), c, s)


def goal_proj_rope_1(x, w, c, s):
    """What is rotated in comes from a second projection."""
    turned = w @ T(rotation(w.shape[1]))
    return (T(w) @ T(x)) * np.concatenate([c, c]) + (T(turned) @ T(x)) * np.concatenate([s, s])


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


def ref_linattn_causal(q, k, v):
    n = q.shape[0]
    return (np.tril(np.ones((n, n))) * (q @ T(k))) @ v


def goal_linattn_causal_1(q, k, v, at=3):
    """Block by block: what came before is one matrix."""
    state = np.zeros((q.shape[1], v.shape[1]))
    out = []
    for part in blocks(q.shape[0], at):
        a, b, c = q[part], k[part], v[part]
        n = a.shape[0]
        out.append(a @ state + (np.tril(np.ones((n, n))) * (a @ T(b))) @ c)
        state = state + T(b) @ c
    return np.concatenate(out)


# M18: attention over a latent cache; M19: quantised products


def ref_mla(q, wuk, c, wuv):
    k = np.einsum("hdc,lc->hld", wuk, c)
    s = np.einsum("hd,hld->hl", q, k)
    v = np.einsum("lc,hce->hle", c, wuv)
    return np.einsum("hl,hle->he", softmax(s), v)


def goal_mla_1(q, wuk, c, wuv):
    """Keys and values of each token are never made."""
    p = softmax(np.einsum("hd,hdc->hc", q, wuk) @ T(c))
    return np.einsum("hc,hce->he", p @ c, wuv)


def ref_dq_mm(xq, sx, wq, sw):
    return (xq * sx) @ (wq * sw)


def goal_dq_mm_1(xq, sx, wq, sw):
    """The scales after the product."""
    return ((xq @ wq) * sx) * sw


def ref_dq_zero(x, wq, sw, z):
    return x @ ((wq - z) * sw)


def goal_dq_zero_1(x, wq, sw, z):
    """The zero point after the product."""
    return (x @ wq - row_sum(x) * z) * sw


# M20: experts; M21: selective scan; M22: AdamW; M23: cross-entropy; M24: decoder layer


def ref_moe(x, wr, w1, w2):
    p = softmax(x @ wr)
    return sum((ref_silu(x @ w1[e]) * p[:, e : e + 1]) @ w2[e] for e in range(w1.shape[0]))


def goal_moe_1(x, wr, w1, w2):
    """The weight of an expert after its second product."""
    p = softmax(x @ wr)
    return sum(p[:, e : e + 1] * (ref_silu(x @ w1[e]) @ w2[e]) for e in range(w1.shape[0]))


def goal_moe_2(x, wr, w1, w2):
    """The denominator of all weights at the end, once."""
    s = x @ wr
    p = np.exp(s - row_max(s))
    return sum(p[:, e : e + 1] * (ref_silu(x @ w1[e]) @ w2[e]) for e in range(w1.shape[0])) / row_sum(p)


def goal_moe_3(x, wr, w1, w2):
    """One wide second product for all experts."""
    p = softmax(x @ wr)
    inner = [ref_silu(x @ w1[e]) * p[:, e : e + 1] for e in range(w1.shape[0])]
    return np.concatenate(inner, axis=1) @ np.concatenate(list(w2), axis=0)


def ref_scan(delta, u, a, b, c):
    state = np.zeros(a.shape)
    out = np.empty(u.shape)
    for t in range(u.shape[1]):
        state = np.exp(delta[:, t : t + 1] * a) * state + (delta[:, t] * u[:, t])[:, None] * b[None, :, t]
        out[:, t] = (state * c[None, :, t]).sum(-1)
    return out


def goal_scan_1(delta, u, a, b, c, size=3):
    """Block by block: the state before a block enters by the decay since."""
    state = np.zeros(a.shape)
    out = np.empty(u.shape)
    for start in range(0, u.shape[1], size):
        d = delta[:, start : start + size]
        since = np.cumsum(d, axis=1)
        own = np.zeros(a.shape)
        whole = state
        for j in range(d.shape[1]):
            t = start + j
            own = np.exp(d[:, j : j + 1] * a) * own + (d[:, j] * u[:, t])[:, None] * b[None, :, t]
            whole = own + np.exp(since[:, j : j + 1] * a) * state
            out[:, t] = (whole * c[None, :, t]).sum(-1)
        state = whole
    return out


def ref_adamw(w, g, m, v):
    mean = 0.9 * m + 0.1 * g
    square = 0.999 * v + 0.001 * (g * g)
    return (w - 1e-5 * w) - 0.01 * mean / (np.sqrt(square * 1000.0) + 1e-8)


def goal_adamw_1(w, g, m, v):
    """Constants folded."""
    return (1 - 1e-5) * w - (0.009 * m + 0.001 * g) / (np.sqrt(999.0 * v + g * g) + 1e-8)


def ref_xent(x, w, y):
    p = softmax(x @ w)
    return -np.log(p[np.arange(len(y)), y])


def goal_xent_1(x, w, y):
    """The logarithm of the sum, less the score of the class."""
    z = x @ w
    m = row_max(z)
    return (m + np.log(row_sum(np.exp(z - m))))[:, 0] - z[np.arange(len(y)), y]


def goal_xent_2(x, w, y, at=4):
    """Classes block by block; the score of the class is a product of its own."""
    m, total = before_any(x)
    for part in blocks(w.shape[1], at):
        z = x @ w[:, part]
        new = np.maximum(m, row_max(z))
        total = total * np.exp(m - new) + row_sum(np.exp(z - new))
        m = new
    return (m + np.log(total))[:, 0] - (x * w[:, y].T).sum(-1)


def rotated_rows(z, c, s):
    return T(ref_rope(T(z), c, s))


def ref_decoder_layer(x, g1, wq, wk, wv, wo, g2, wg, wu, wd, c, s, eps=1e-5):
    a = x * rms_scale(x, eps) * g1
    q = np.stack([rotated_rows(a @ w, c, s) for w in wq])
    k = np.stack([rotated_rows(a @ w, c, s) for w in wk])
    v = np.stack([a @ w for w in wv])
    n = x.shape[0]
    o = ref_gqa(q, k, v, np.tril(np.ones((n, n), dtype=bool)))
    h = x + sum(o[i] @ wo[i] for i in range(len(wq)))
    return h + ref_gated_mlp(h * rms_scale(h, eps) * g2, wg, wu, wd), k, v


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


def base_online_norescale(x, at=3):
    return softmax(x)


def bad_online_norescale(x, at=3):
    """What is summed so far is not rescaled when the maximum grows."""
    m, total = before_any(x)
    for part in blocks(x.shape[-1], at):
        block = x[..., part]
        m = np.maximum(m, row_max(block))
        total = total + row_sum(np.exp(block - m))
    return np.exp(x - m) / total


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
