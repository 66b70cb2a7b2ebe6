# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels as people write them: right ones are proved, wrong ones are not, what is not read is named by line."""

from __future__ import annotations

import textwrap

import pytest
from xdsl.dialects.func import FuncOp

from axon_mlir.autotune.symbolic_check import prove_kernel
from axon_mlir.errors import AxonError
from axon_mlir.frontend.nki_text import device_in, is_kernel_text, read_kernel
from axon_mlir.frontend.nki_text.regions import divided
from axon_mlir.host.parsing import parse_module
from axon_mlir.host.registry import make_context
from axon_mlir.semantics.index import const, size
from axon_mlir.smt.verdict import Verdict
from axon_mlir.targets import load_device

HEADER = "import nki\nimport nki.isa as nisa\nimport nki.language as nl\n\n"

PROGRAMS = {
    "product": """
        func.func @product(%a: tensor<?x?xf32, ["K", "M"]>, %b: tensor<?x?xf32, ["K", "N"]>)
            -> tensor<?x?xf32, ["M", "N"]> {
          %t = tensor_hl.transpose %a perm [1, 0] : tensor<?x?xf32, ["K", "M"]> -> tensor<?x?xf32, ["M", "K"]>
          %c = tensor_hl.matmul %t, %b lhs [1] rhs [0]
              : (tensor<?x?xf32, ["M", "K"]>, tensor<?x?xf32, ["K", "N"]>) -> tensor<?x?xf32, ["M", "N"]>
          func.return %c : tensor<?x?xf32, ["M", "N"]>
        }""",
    "double": """
        func.func @double(%x: tensor<?x?xf32, ["M", "N"]>) -> tensor<?x?xf32, ["M", "N"]> {
          %y = tensor_hl.add %x, %x : tensor<?x?xf32, ["M", "N"]>
          func.return %y : tensor<?x?xf32, ["M", "N"]>
        }""",
    "recurrence": """
        func.func @recurrence(%a: tensor<?x?xf32, ["M", "N"]>, %b: tensor<?x?xf32, ["M", "N"]>)
            -> tensor<?x?xf32, ["M", "N"]> {
          %y = tensor_hl.affine_scan %a, %b axis 1 : tensor<?x?xf32, ["M", "N"]>
          func.return %y : tensor<?x?xf32, ["M", "N"]>
        }""",
    "rows": """
        func.func @rows(%x: tensor<?x?x?xf32, ["S", "M", "N"]>) -> tensor<?x?xf32, ["M", "N"]> {
          %y = tensor_hl.reduce sum %x axes [0] : tensor<?x?x?xf32, ["S", "M", "N"]> -> tensor<?x?xf32, ["M", "N"]>
          func.return %y : tensor<?x?xf32, ["M", "N"]>
        }""",
}


def program(name: str) -> FuncOp:
    module = parse_module(textwrap.dedent(PROGRAMS[name]), f"{name}.mlir", make_context())
    return next(op for op in module.body.block.ops if isinstance(op, FuncOp))


def verdict(name: str, body: str, head: str = "") -> Verdict:
    parameters = "a, b" if name in ("product", "recurrence") else "x"
    text = f"{HEADER}{head}\n@nki.jit\ndef kernel({parameters}):\n{textwrap.indent(textwrap.dedent(body), '    ')}"
    return prove_kernel(program(name), text, "trn2")


HOISTED = """
    P = nl.tile_size.pmax
    K, M = a.shape
    K2, N = b.shape
    assert K == K2
    out = nl.ndarray((M, N), dtype=nl.float32, buffer=nl.shared_hbm)
    a_buf = nl.ndarray((P, P), dtype=a.dtype, buffer=nl.sbuf)
    acc = nl.ndarray((P, FREE), dtype=nl.float32, buffer=nl.psum)
    for mt in nl.affine_range(div_ceil(M, P)):
        m = mt * P
        rows = min(P, M - m)
        for n in range(0, N, FREE):
            cols = min(FREE, N - n)
            for kt in nl.sequential_range(div_ceil(K, P)):
                k = kt * P
                depth = min(P, K - k)
                nisa.dma_copy(dst=a_buf[0:depth, 0:rows], src=a[k:k + depth, m:m + rows])
                bt = load(b, k, depth, n, cols)
                nisa.nc_matmul(acc[0:rows, 0:cols], a_buf[0:depth, 0:rows], bt, accumulate=(kt != 0))
            res = nl.ndarray((rows, cols), nl.float32, nl.sbuf)
            nisa.tensor_copy(res, acc[0:rows, 0:cols])
            nisa.dma_copy(dst=out[m:m + rows, n:n + cols], src=res)
    return out
"""
HOISTED_HEAD = """
FREE = 512

def div_ceil(n, d):
    return (n + d - 1) // d

def load(x, r, rows, c, cols):
    t = nl.ndarray((rows, cols), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(t, x[r:r + rows, c:c + cols])
    return t
"""

BLOCKS = """
    K, M = a.shape
    N = b.shape[1]
    out = nl.ndarray((M, N), dtype=nl.float32, buffer=nl.shared_hbm)
    for m in range(0, M, 128):
        rows = min(128, M - m)
        for n in range(0, N, 512):
            cols = min(512, N - n)
            total = nl.zeros((rows, cols), dtype=nl.float32)
            for kb in range(0, K, 512):
                kn = min(512, K - kb)
                acc = nl.ndarray((rows, cols), dtype=nl.float32, buffer=nl.psum)
                for k in range(kb, kb + kn, 128):
                    depth = min(128, kb + kn - k)
                    at = nl.ndarray((depth, rows), dtype=nl.float32)
                    nisa.dma_copy(dst=at, src=a.ap(pattern=[[M, depth], [1, rows]], offset=k * M + m))
                    bt = nl.ndarray((depth, cols), dtype=nl.float32)
                    nisa.dma_copy(dst=bt, src=b[nl.ds(k, depth), nl.ds(n, cols)])
                    nisa.nc_matmul(dst=acc, stationary=at, moving=bt, accumulate=k > kb)
                nisa.tensor_tensor(dst=total, data1=acc, data2=total, op=nl.add)
            nisa.dma_copy(dst=out[m:m + rows, n:n + cols], src=total)
    return out
"""

ACROSS = """
    K, M = a.shape
    N = b.shape[1]
    out = nl.ndarray((M, N), dtype=nl.float32, buffer=nl.shared_hbm)
    for m in range(0, M, 128):
        rows = min(128, M - m)
        for n in range(0, N, 512):
            cols = min(512, N - n)
            acc = nl.ndarray((rows, cols), dtype=nl.float32, buffer=nl.psum)
            for kb in range(0, K, 512):
                kn = min(512, K - kb)
                for k in range(kb, kb + kn, 128):
                    depth = min(128, kb + kn - k)
                    at = nl.ndarray((depth, rows), dtype=nl.float32)
                    nisa.dma_copy(dst=at, src=a[k:k + depth, m:m + rows])
                    bt = nl.ndarray((depth, cols), dtype=nl.float32)
                    nisa.dma_copy(dst=bt, src=b[k:k + depth, n:n + cols])
                    nisa.nc_matmul(dst=acc, stationary=at, moving=bt, accumulate=FLAG)
            res = nl.ndarray((rows, cols), dtype=nl.float32)
            nisa.tensor_copy(dst=res, src=acc)
            nisa.dma_copy(dst=out[m:m + rows, n:n + cols], src=res)
    return out
"""

DOUBLE = """
    M, N = x.shape
    out = nl.ndarray((M, N), dtype=nl.float32, buffer=nl.shared_hbm)
    for m in range(0, M, 128):
        rows = min(128, M - m)
        for n in range(0, N, 512):
            cols = min(512, N - n)
            t = nl.ndarray((rows, cols), dtype=nl.float32, buffer=nl.sbuf)
            nisa.dma_copy(dst=t, src=x[m:m + rows, n:n + cols])
            nisa.tensor_tensor(dst=t, data1=t, data2=t, op=nl.add)
            nisa.dma_copy(dst=out[m:m + rows, n:n + cols], src=t)
    return out
"""


def test_hoisted_buffers_counting_loops_functions() -> None:
    assert verdict("product", HOISTED, HOISTED_HEAD).verdict == "proved"


def test_partial_sums_in_sbuf_patterns() -> None:
    assert verdict("product", BLOCKS).verdict == "proved"


@pytest.mark.parametrize("flag", ["k > 0", "kb > 0 or k > kb", "k != 0", "not (k == 0)", "k >= 128", "k // 128 > 0"])
def test_flags(flag: str) -> None:
    assert verdict("product", ACROSS.replace("FLAG", flag)).verdict == "proved"


@pytest.mark.parametrize(
    "flag",
    ["True", "False", "k > kb", "kb > 0", "k > 128", "k >= 0", "m > 0", "n > 0 or k > 0", "k == 0", "k < K", "None"],
)
def test_wrong_flags(flag: str) -> None:
    assert verdict("product", ACROSS.replace("FLAG", flag)).verdict != "proved"


def test_in_place() -> None:
    assert verdict("double", DOUBLE).verdict == "proved"


WRONG = {
    "rows": ("rows = min(128, M - m)", "rows = 128"),
    "fewer rows": ("rows = min(128, M - m)", "rows = min(64, M - m)"),
    "step": ("range(0, M, 128)", "range(0, M, 256)"),
    "last": ("range(0, N, 512)", "range(0, N - 1, 512)"),
    "past": ("range(0, N, 512)", "range(0, N + 1, 512)"),
    "lower": ("range(0, N, 512)", "range(512, N, 512)"),
    "transposed": ("src=x[m:m + rows, n:n + cols]", "src=x.ap(pattern=[[1, rows], [N, cols]], offset=m * N + n)"),
    "offset": ("out[m:m + rows, n:n + cols]", "out[m:m + rows, 0:cols]"),
    "operator": ("op=nl.add", "op=nl.multiply"),
    "unwritten": ("nisa.dma_copy(dst=t, src=x[m:m + rows, n:n + cols])", "pass"),
    "dropped": ("nisa.dma_copy(dst=out[m:m + rows, n:n + cols], src=t)", "pass"),
    "too many partitions": ("range(0, M, 128)", "range(0, M, 256)  "),
    "swapped extents": ("nl.ndarray((M, N)", "nl.ndarray((N, M)"),
    "negative": ("src=x[m:m + rows, n:n + cols]", "src=x[m - 1:m - 1 + rows, n:n + cols]"),
    "all of it": ("src=x[m:m + rows, n:n + cols]", "src=x"),
    "itself": ("return out", "return x"),
}


@pytest.mark.parametrize("edit", WRONG)
def test_wrong(edit: str) -> None:
    before, after = WRONG[edit]
    assert before in DOUBLE
    assert verdict("double", DOUBLE.replace(before, after)).verdict != "proved"


RECURRENCE = """
    M, N = a.shape
    out = nl.ndarray((M, N), dtype=nl.float32, buffer=nl.shared_hbm)
    for m in range(0, M, 128):
        rows = min(128, M - m)
        state = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.memset(dst=state, value=0.0)
        for n in range(0, N, 256):
            cols = min(256, N - n)
            at = nl.ndarray((rows, cols), dtype=nl.float32, buffer=nl.sbuf)
            bt = nl.ndarray((rows, cols), dtype=nl.float32, buffer=nl.sbuf)
            nisa.dma_copy(dst=at, src=a[m:m + rows, n:n + cols])
            nisa.dma_copy(dst=bt, src=b[m:m + rows, n:n + cols])
            scan = nl.ndarray((rows, cols), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_tensor_scan(dst=scan, data0=at, data1=bt, initial=state, op0=nl.multiply, op1=nl.add)
            nisa.tensor_copy(dst=state, src=scan[0:rows, cols - 1:cols])
            nisa.dma_copy(dst=out[m:m + rows, n:n + cols], src=scan)
    return out
"""


def test_a_state_that_a_loop_carries() -> None:
    assert verdict("recurrence", RECURRENCE).verdict == "proved"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("scan[0:rows, cols - 1:cols]", "scan[0:rows, 0:1]"),
        ("nisa.tensor_copy(dst=state, src=scan[0:rows, cols - 1:cols])", "pass"),
        ("value=0.0", "value=1.0"),
        ("src=scan[0:rows, cols - 1:cols]", "src=bt[0:rows, cols - 1:cols]"),
        ("initial=state", "initial=0.0"),
        ("data0=at, data1=bt", "data0=bt, data1=at"),
        ("op1=nl.add", "op1=nl.multiply"),
    ],
)
def test_a_wrong_state(before: str, after: str) -> None:
    assert before in RECURRENCE
    assert verdict("recurrence", RECURRENCE.replace(before, after)).verdict != "proved"


ROWS = """
    S, M, N = x.shape
    out = nl.ndarray((M, N), dtype=nl.float32, buffer=nl.shared_hbm)
    for m in range(0, M, 128):
        rows = min(128, M - m)
        total = nl.ndarray((rows, N), dtype=nl.float32, buffer=nl.sbuf)
        nisa.memset(dst=total, value=0.0)
        for s in range(0, S, 1):
            for n in range(0, N, 256):
                cols = min(256, N - n)
                t = nl.ndarray((rows, cols), dtype=nl.float32, buffer=nl.sbuf)
                nisa.dma_copy(dst=t, src=x[s, m:m + rows, n:n + cols])
                nisa.tensor_tensor(
                    dst=total[0:rows, n:n + cols], data1=total[0:rows, n:n + cols], data2=t, op=nl.add,
                )
        nisa.dma_copy(dst=out[m:m + rows, 0:N], src=total)
    return out
"""


def test_rows_that_are_added_up_part_by_part() -> None:
    assert verdict("rows", ROWS).verdict == "proved"
    for before, after in (("range(0, S, 1)", "range(1, S, 1)"), ("range(0, N, 256)", "range(0, N, 128)")):
        assert verdict("rows", ROWS.replace(before, after)).verdict != "proved"


WRONG_PRODUCTS = {
    "scratch too small": ("a_buf = nl.ndarray((P, P)", "a_buf = nl.ndarray((P, 64)"),
    "read of partial sums": (
        "            res = nl.ndarray((rows, cols), nl.float32, nl.sbuf)\n",
        "            res = nl.ndarray((rows, cols), nl.float32, nl.sbuf)\n"
        "            nisa.tensor_tensor(res, acc[0:rows, 0:cols], acc[0:rows, 0:cols], nl.add)\n"
        "            nisa.dma_copy(dst=out[m:m + rows, n:n + cols], src=res)\n"
        "            return out\n",
    ),
    "two products": (
        "accumulate=(kt != 0))\n",
        "accumulate=(kt != 0))\n"
        "                nisa.nc_matmul(acc[0:rows, 0:cols], a_buf[0:depth, 0:rows], bt, accumulate=(kt != 0))\n",
    ),
    "one product more": (
        "accumulate=(kt != 0))\n",
        "accumulate=(kt != 0))\n"
        "                nisa.nc_matmul(acc[0:rows, 0:cols], a_buf[0:depth, 0:rows], bt, accumulate=True)\n",
    ),
    "other columns": ("acc[0:rows, 0:cols])\n", "acc[0:rows, 1:cols + 1])\n"),
    "set and added": (
        "            for kt",
        "            nisa.memset(acc[0:rows, 0:cols], 0.0)\n            for kt",
    ),
    "flag of another loop": ("kt != 0", "mt != 0"),
    "maybe no iteration": ("nl.sequential_range(div_ceil(K, P))", "nl.sequential_range(K // P)"),
}


@pytest.mark.parametrize("edit", WRONG_PRODUCTS)
def test_wrong_products(edit: str) -> None:
    before, after = WRONG_PRODUCTS[edit]
    assert before in HOISTED
    text = HOISTED.replace(before, after)
    if edit == "set and added":
        text = text.replace("(kt != 0)", "True")
    assert verdict("product", text, HOISTED_HEAD).verdict != "proved"


REFUSED = {
    "while True:\n    pass": ("kernel.py:8", "a statement that is not read (while)"),
    "if x.shape[0] > 128:\n    pass": ("kernel.py:8", "a condition that depends on sizes or on the iteration"),
    "x[0:1, 0:1] = 1": ("kernel.py:8", "an assignment to something else than names"),
    "k = 0\nfor m in range(4):\n    k = k + m": ("kernel.py:10", "'k' holds what another iteration"),
    "for m in range(0, 4):\n    t = m\nu = t": ("kernel.py:10", "'t' holds what another iteration"),
    "for m in [1, 2]:\n    pass": ("kernel.py:8", "a loop over something else than a range"),
    "for m in range(4):\n    return x": ("kernel.py:9", "a return inside a loop"),
    "y = x.ap(pattern=[[3, 4], [1, 2]], offset=0)": ("kernel.py:8", "a stride of 1"),
    "y = x[::2, 0:4]": ("kernel.py:8", "a slice with a step"),
    "y = x[0:4, 0:4][0:2, 0:2]": ("kernel.py:8", "a region of a region"),
    "t = nl.ndarray((4, 4, 4, 4), dtype=nl.float32)": ("kernel.py:8", "an on-chip tensor of rank 4"),
    "t = nl.ndarray((256, 4), dtype=nl.float32)": ("kernel.py:8", "256 partitions"),
    "t = nl.ndarray((4, 4), dtype=nl.float99)": ("kernel.py:8", "an element type that is not known"),
    "t = nl.ndarray((4, 4, 4), dtype=nl.float32)\nt[0:4, 0:2, 0:4]": ("kernel.py:9", "a statement that is not read"),
    "t = nl.ndarray((4, 4, 4), dtype=nl.float32)\nu = t[0:4, 0:2, 0:4]": ("kernel.py:9", "a region of several chunks"),
    "t = nl.ndarray((4, 4, 4), dtype=nl.float32)\nu = t[0:4, 4, 0:4]": ("kernel.py:9", "5 is more than 4"),
    "nisa.nothing(x)": ("kernel.py:8", "'nisa.nothing' is no instruction"),
    "nisa.memset(dst=x[0:4, 0:4], value=0.0)": ("kernel.py:8", "dst is in hbm"),
    "nisa.dma_copy(dst=x[0:4, 0:4], src=x[0:4, 0:4], colour=1)": ("kernel.py:8", "has no parameter colour"),
    "y = unknown": ("kernel.py:8", "an unknown name 'unknown'"),
    "y = 4 // (x.shape[0] - 1)": ("kernel.py:8", "which may not be positive"),
    "y = open('/etc/passwd')": ("kernel.py:8", "an unknown name 'open'"),
    "y = (lambda: 1)()": ("kernel.py:8", "a call of something else than a function"),
    "assert x.shape[0] == 1": ("kernel.py:8", "a condition that depends on sizes"),
    "import os": ("kernel.py:8", "a statement that is not read (import)"),
    "with x:\n    pass": ("kernel.py:8", "a statement that is not read (with)"),
    "y = kernel(x)": ("kernel.py:8", "calls inside each other"),
    "nl = x": ("kernel.py:8", "'nl' is an import and a variable"),
    "for nisa in range(4):\n    pass": ("kernel.py:8", "'nisa' is an import and a variable"),
    "t = x if x.shape[0] > 1 else None": ("kernel.py:8", "a condition that depends on sizes"),
}


@pytest.mark.parametrize("statement", REFUSED)
def test_refused(statement: str) -> None:
    where, message = REFUSED[statement]
    found = verdict("double", f"{statement}\nreturn x\n")
    assert (found.verdict, found.reason) == ("unknown", "kernel text")
    assert found.detail.startswith(f"{where}: ") and message in found.detail


def test_no_python() -> None:
    with pytest.raises(AxonError, match="is no Python"):
        read_kernel("def (", "k.py", load_device("trn2"), None, program("double"))


def test_which_kernel() -> None:
    text = HEADER + "@nki.jit\ndef one(x):\n    return x\n\n@nki.jit\ndef two(x):\n    return x\n"
    device = load_device("trn2")
    with pytest.raises(AxonError, match="which kernel"):
        read_kernel(text, "k.py", device, None, program("double"))
    with pytest.raises(AxonError, match="no function 'three'"):
        read_kernel(text, "k.py", device, "three", program("double"))
    assert read_kernel(text, "k.py", device, "two", program("double")).sym_name.data == "double"


def test_arguments_and_results() -> None:
    device = load_device("trn2")
    for text, message in (
        ("def k():\n    return 1\n", "takes 0 arguments"),
        ("def k(x):\n    return (x, x)\n", "2 results"),
        ("def k(x):\n    return None\n", "no whole tensor in HBM"),
        ("def k(x):\n    return x[0:1, 0:1]\n", "no whole tensor in HBM"),
    ):
        with pytest.raises(AxonError, match=message):
            read_kernel(f"{HEADER}@nki.jit\n{text}", "k.py", device, None, program("double"))


def test_recognised() -> None:
    assert is_kernel_text(HEADER)
    assert is_kernel_text("from nki import isa\n")
    assert not is_kernel_text("import numpy as np\n# import nki\n")
    assert not is_kernel_text("def (")
    assert device_in("# Generated by axon_mlir 0.1.0 for trn3.\nimport nki\n") == "trn3"
    assert device_in(HEADER) is None


def test_an_offset_is_divided_by_a_stride_of_several_terms() -> None:
    m, n, t = (size(x) for x in "MNT")
    for q, r, stride in ((m - 1, 128 * t + 1, n + 101), (m * t, const(7), n + 8), (m + 2 * t, t, 3 * n)):
        assert divided(q * stride + r, stride) == (q, r)
    assert divided(2 * n - 2 * t, 2 * n + 1) == (const(0), 2 * n - 2 * t)
    assert divided(m + 7, const(3)) == (const(2), m + 1)
