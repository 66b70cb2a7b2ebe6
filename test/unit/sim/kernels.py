# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that the tests run: elementwise, matmul, a normalisation over rows."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def gate(x, y):
    """silu(x) * y, tiled in both dimensions."""
    rows, cols = x.shape
    out = nl.ndarray((rows, cols), dtype=x.dtype, buffer=nl.shared_hbm)
    for r in range(0, rows, nl.tile_size.pmax):
        h = min(nl.tile_size.pmax, rows - r)
        for c in range(0, cols, 512):
            w = min(512, cols - c)
            xt = nl.ndarray((h, w), dtype=x.dtype, buffer=nl.sbuf)
            yt = nl.ndarray((h, w), dtype=y.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=xt, src=x[r : r + h, c : c + w])
            nisa.dma_copy(dst=yt, src=y[r : r + h, nl.ds(c, w)])
            act = nl.ndarray((h, w), dtype=nl.float32, buffer=nl.sbuf)
            nisa.activation(dst=act, op=nl.silu, data=xt)
            res = nl.ndarray((h, w), dtype=x.dtype, buffer=nl.sbuf)
            nisa.tensor_tensor(dst=res, data1=act, data2=yt, op=nl.multiply, engine=nisa.engine.vector)
            nisa.dma_copy(dst=out[r : r + h, c : c + w], src=res)
    return out


@nki.jit
def product(a, b):
    """a @ b with a read transposed by the access pattern of its DMA."""
    m_size, k_size = a.shape
    n_size = b.shape[1]
    out = nl.ndarray((m_size, n_size), dtype=nl.float32, buffer=nl.shared_hbm)
    for m in range(0, m_size, 128):
        mh = min(128, m_size - m)
        for n in range(0, n_size, 512):
            nw = min(512, n_size - n)
            acc = nl.ndarray((mh, nw), dtype=nl.float32, buffer=nl.psum)
            for k in range(0, k_size, 128):
                kh = min(128, k_size - k)
                at = nl.ndarray((kh, mh), dtype=a.dtype, buffer=nl.sbuf)
                bt = nl.ndarray((kh, nw), dtype=b.dtype, buffer=nl.sbuf)
                nisa.dma_copy(dst=at, src=a.ap(pattern=[[1, kh], [k_size, mh]], offset=m * k_size + k))
                nisa.dma_copy(dst=bt, src=b[k : k + kh, n : n + nw])
                nisa.nc_matmul(dst=acc, stationary=at, moving=bt, accumulate=(k > 0))
            res = nl.ndarray((mh, nw), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_copy(dst=res, src=acc)
            nisa.dma_copy(dst=out[m : m + mh, n : n + nw], src=res)
    return out


@nki.jit
def normalise(x, w, eps):
    """x * rsqrt(mean(x * x) + eps) * w over rows, and the scale of each row."""
    rows, width = x.shape
    out = nl.ndarray((rows, width), dtype=x.dtype, buffer=nl.shared_hbm)
    scales = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    wt = nl.ndarray((128, width), dtype=w.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=wt, src=w.ap(pattern=[[0, 128], [1, width]]))
    epst = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=epst, value=eps)
    for r in range(0, rows, 128):
        h = min(128, rows - r)
        xt = nl.ndarray((h, width), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=xt, src=x[r : r + h, 0:width])
        sq = nl.ndarray((h, width), dtype=nl.float32, buffer=nl.sbuf)
        ss = nl.ndarray((h, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(
            dst=sq,
            op=nl.square,
            data=xt,
            reduce_op=nl.add,
            reduce_res=ss,
            reduce_cmd=nisa.reduce_cmd.reset_reduce,
        )
        rstd = nl.ndarray((h, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=rstd, op=nl.rsqrt, data=ss, scale=1 / width, bias=epst[0:h, 0:1])
        nisa.dma_copy(dst=scales[r : r + h, 0:1], src=rstd)
        res = nl.ndarray((h, width), dtype=x.dtype, buffer=nl.sbuf)
        nisa.scalar_tensor_tensor(
            dst=res, data=xt, op0=nl.multiply, operand0=rstd, op1=nl.multiply, operand1=wt[0:h, 0:width]
        )
        nisa.dma_copy(dst=out[r : r + h, 0:width], src=res)
    return out, scales
