# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels whose time has been measured in public, written anew in the current API: the same tiles, loops and
instructions as the sources that `latencies.csv` names, of which some are in an older API."""

import nki
import nki.isa as nisa
import nki.language as nl

P, COLUMNS = 128, 512


def loaded(source):
    """A tile of HBM in SBUF."""
    tile = nl.ndarray(source.shape, dtype=source.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=source)
    return tile


@nki.jit
def add_in_chunks(a, b, rows: int):
    """A sum of two vectors, `rows` elements at a time, one on each partition."""
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    for i in range(0, a.shape[0], rows):
        x = loaded(a[i : i + rows, 0:1])
        y = loaded(b[i : i + rows, 0:1])
        total = nl.ndarray((rows, 1), dtype=a.dtype, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=total, data1=x, data2=y, op=nl.add)
        nisa.dma_copy(dst=out[i : i + rows, 0:1], src=total)
    return out


@nki.jit
def add_in_tiles(a, b, free: int):
    """A sum of two vectors, seen as 128 rows, `free` columns at a time."""
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    for j in range(0, a.shape[1], free):
        x = loaded(a[0:P, j : j + free])
        y = loaded(b[0:P, j : j + free])
        total = nl.ndarray((P, free), dtype=a.dtype, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=total, data1=x, data2=y, op=nl.add)
        nisa.dma_copy(dst=out[0:P, j : j + free], src=total)
    return out


@nki.jit
def matmul_with_loads_hoisted(lhs_t, rhs):
    """The product of tiles of 128 x 128 and 128 x 512: the columns of one operand stay for all rows of a tile of the
    result, those of the other are loaded once for each of them."""
    k, m = lhs_t.shape
    _, n = rhs.shape
    out = nl.ndarray((m, n), dtype=lhs_t.dtype, buffer=nl.shared_hbm)
    for i in range(0, m, P):
        left = [loaded(lhs_t[q : q + P, i : i + P]) for q in range(0, k, P)]
        for j in range(0, n, COLUMNS):
            right = [loaded(rhs[q : q + P, j : j + COLUMNS]) for q in range(0, k, P)]
            total = nl.ndarray((P, COLUMNS), dtype=nl.float32, buffer=nl.psum)
            for q in range(k // P):
                nisa.nc_matmul(dst=total, stationary=left[q], moving=right[q], accumulate=q > 0)
            kept = nl.ndarray((P, COLUMNS), dtype=out.dtype, buffer=nl.sbuf)
            nisa.tensor_copy(dst=kept, src=total)
            nisa.dma_copy(dst=out[i : i + P, j : j + COLUMNS], src=kept)
    return out


def turned(tile, blocks):
    """The transposes of square blocks of columns, beside each other. Four of them share a bank and leave it in one
    copy: so public traces of the compiled kernels show it."""
    out = nl.ndarray((P, blocks * P), dtype=nl.float32, buffer=nl.sbuf)
    for n in range(0, blocks, 4):
        bank = nl.ndarray((P, 4 * P), dtype=tile.dtype, buffer=nl.psum)
        for m in range(4):
            part = slice((n + m) * P, (n + m + 1) * P)
            nisa.nc_transpose(dst=bank[0:P, m * P : m * P + P], data=tile[0:P, part], engine=nisa.engine.tensor)
        nisa.tensor_copy(dst=out[0:P, n * P : (n + 4) * P], src=bank)
    return out


def scores_of(q, k, i, length):
    """One tile of rows of q^T k, in SBUF."""
    scores = nl.ndarray((P, length), dtype=nl.float32, buffer=nl.sbuf)
    for j in range(0, length, COLUMNS):
        product = nl.ndarray((P, COLUMNS), dtype=nl.float32, buffer=nl.psum)
        nisa.nc_matmul(dst=product, stationary=q[0:P, i : i + P], moving=k[0:P, j : j + COLUMNS], accumulate=False)
        nisa.tensor_copy(dst=scores[0:P, j : j + COLUMNS], src=product)
    return scores


def exponentials_of(scores, length):
    """exp(scores - their maximum), and one over its sum, chunk by chunk."""
    chunks = length // COLUMNS
    partial = nl.ndarray((P, chunks), dtype=nl.float32, buffer=nl.sbuf)
    for j in range(chunks):
        part = scores[0:P, j * COLUMNS : (j + 1) * COLUMNS]
        nisa.tensor_reduce(dst=partial[0:P, j : j + 1], op=nl.maximum, data=part, axis=1)
    least = nl.ndarray((P, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_reduce(dst=least, op=nl.maximum, data=partial, axis=1, negate=True)
    powers = nl.ndarray((P, length), dtype=nl.float32, buffer=nl.sbuf)
    sums = nl.ndarray((P, chunks), dtype=nl.float32, buffer=nl.sbuf)
    for j in range(chunks):
        part = slice(j * COLUMNS, (j + 1) * COLUMNS)
        nisa.activation(dst=powers[0:P, part], op=nl.exp, data=scores[0:P, part], bias=least, scale=1.0)
        nisa.tensor_reduce(dst=sums[0:P, j : j + 1], op=nl.add, data=powers[0:P, part], axis=1)
    total = nl.ndarray((P, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_reduce(dst=total, op=nl.add, data=sums, axis=1)
    inverse = nl.ndarray((P, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.reciprocal(dst=inverse, data=total)
    return powers, inverse


def weighted(weights, v_t, length):
    """The product of one tile of rows of weights with the values, in PSUM."""
    weights_t = turned(weights, length // P)
    out = nl.ndarray((P, P), dtype=nl.float32, buffer=nl.psum)
    for n in range(length // P):
        part = slice(n * P, n * P + P)
        nisa.nc_matmul(dst=out, stationary=weights_t[0:P, part], moving=v_t[0:P, part], accumulate=n > 0)
    return out


def scaled(tile, factor):
    """Rows times a number each."""
    out = nl.ndarray(tile.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=out, data=tile, op0=nl.multiply, operand0=factor, engine=nisa.engine.vector)
    return out


@nki.jit
def attention_fused(q_hbm, k_hbm, v_hbm):
    """softmax(q^T k) v^T of one head of 128, a tile of rows at a time, divided by the sums at the end."""
    _, length = q_hbm.shape
    out = nl.ndarray((length, P), dtype=q_hbm.dtype, buffer=nl.shared_hbm)
    q, k, v = loaded(q_hbm), loaded(k_hbm), loaded(v_hbm)
    v_t = turned(v, length // P)
    for i in range(0, length, P):
        powers, inverse = exponentials_of(scores_of(q, k, i, length), length)
        nisa.dma_copy(dst=out[i : i + P, 0:P], src=scaled(weighted(powers, v_t, length), inverse))
    return out


@nki.jit
def attention_by_phases(q_hbm, k_hbm, v_hbm):
    """The same in three phases, scores and weights through HBM."""
    _, length = q_hbm.shape
    out = nl.ndarray((length, P), dtype=q_hbm.dtype, buffer=nl.shared_hbm)
    between = nl.ndarray((length, length), dtype=nl.float32, buffer=nl.private_hbm)
    q, k, v = loaded(q_hbm), loaded(k_hbm), loaded(v_hbm)
    for i in range(0, length, P):
        nisa.dma_copy(dst=between[i : i + P, 0:length], src=scores_of(q, k, i, length))
    for i in range(0, length, P):
        powers, inverse = exponentials_of(loaded(between[i : i + P, 0:length]), length)
        weights = nl.ndarray((P, length), dtype=nl.float32, buffer=nl.sbuf)
        for j in range(0, length, COLUMNS):
            part = slice(j, j + COLUMNS)
            nisa.tensor_scalar(
                dst=weights[0:P, part],
                data=powers[0:P, part],
                op0=nl.multiply,
                operand0=inverse,
                engine=nisa.engine.vector,
            )
        nisa.dma_copy(dst=between[i : i + P, 0:length], src=weights)
    v_t = turned(v, length // P)
    for i in range(0, length, P):
        product = weighted(loaded(between[i : i + P, 0:length]), v_t, length)
        kept = nl.ndarray((P, P), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_copy(dst=kept, src=product)
        nisa.dma_copy(dst=out[i : i + P, 0:P], src=kept)
    return out
