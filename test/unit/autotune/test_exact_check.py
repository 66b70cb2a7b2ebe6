# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The exact check passes a right kernel and fails every wrong one that it is shown."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from xdsl.dialects.func import FuncOp

from axon_mlir.autotune import exact_check
from axon_mlir.autotune.exact_check import Work, check_kernel, ragged_sizes, ragged_steps
from axon_mlir.errors import UnsupportedError
from axon_mlir.frontend.numpy_trace import trace
from axon_mlir.host.parsing import parse_module
from axon_mlir.host.registry import make_context
from axon_mlir.printer_nki import kernel_name, print_kernel
from axon_mlir.sim import RunResult, TypedArray, dtype_of, run_here
from axon_mlir.transforms.isa.isa_allocate import IsaAllocate

PROGRAMS = Path(__file__).parents[2] / "lit" / "printer_nki"

MATMUL = """
func.func @mm(%x: tensor<?x?xbf16, ["K", "M"]>, %w: tensor<?x?xbf16, ["K", "N"]>) -> tensor<?x?xbf16, ["M", "N"]> {
  %t = tensor_hl.transpose %x perm [1, 0] : tensor<?x?xbf16, ["K", "M"]> -> tensor<?x?xbf16, ["M", "K"]>
  %r = tensor_hl.matmul %t, %w lhs [1] rhs [0]
    : (tensor<?x?xbf16, ["M", "K"]>, tensor<?x?xbf16, ["K", "N"]>) -> tensor<?x?xbf16, ["M", "N"]>
  func.return %r : tensor<?x?xbf16, ["M", "N"]>
}
"""


def function(text: str, name: str) -> FuncOp:
    module = parse_module(text, name, make_context())
    return next(op for op in module.body.block.ops if isinstance(op, FuncOp))


def kernel(name: str) -> str:
    source = PROGRAMS / f"{name}.mlir"
    module = parse_module(source.read_text(encoding="utf-8"), str(source), make_context())
    IsaAllocate().apply(make_context(), module)
    return print_kernel(module)


def test_a_right_kernel_agrees_at_ragged_sizes() -> None:
    text, func = kernel("matmul"), function(MATMUL, "mm.mlir")
    assert ragged_steps(text, func) == {"K": [128], "M": [256, 128], "N": [512]}
    *ragged, even = ragged_sizes(text, func)
    assert even == {"K": 256, "M": 256, "N": 1024}
    for sizes in ragged:
        for name, steps in (("K", (128,)), ("M", (256, 128)), ("N", (512,))):
            assert all(sizes[name] > step and sizes[name] % step for step in steps)
    assert check_kernel(text, func, "trn2") == []


def test_loops_over_single_indices_do_not_multiply() -> None:
    """Each of them runs often in some turn, not all of them at once."""
    text = """
def mixed(a):
    A, B, N = a.shape
    for i in range(0, A, 1):
        for j in range(0, B, 1):
            for n in range(0, N, 16):
                pass
    for i in range(0, A, 128):
        for j in range(0, B, 128):
            for n in range(0, N, 512):
                pass
"""
    of = 'tensor<?x?x?xf32, ["A", "B", "N"]>'
    func = function(f"func.func @mixed(%a: {of}) -> {of} {{ func.return %a : {of} }}", "mixed.mlir")
    fewer = ragged_sizes(text, func, Work(iterations=100))
    assert all(s["A"] * s["B"] * -(-s["N"] // 16) <= 100 for s in fewer) and all(s["A"] > 1 for s in fewer)
    turns = ragged_sizes(text, func)
    assert all(s["A"] * s["B"] * -(-s["N"] // 16) <= 8000 for s in turns)
    assert any(s["A"] > 128 for s in turns) and any(s["B"] > 128 for s in turns) and all(s["N"] > 16 for s in turns)


def test_a_program_of_numbers_is_run_once() -> None:
    func = function("func.func @kept(%a: tensor<9x4xf32>) -> tensor<9x4xf32> { func.return %a : tensor<9x4xf32> }", "k")
    runs: list[int] = []

    def execute(path: Path, name: str, given: Sequence[Sequence[TypedArray]], **_: Any) -> list[Any]:
        runs.append(len(given))
        return [RunResult((a[0].values,), ("float32",), 1, {}, 0, 0, 0, 0, ()) for a in given]

    assert check_kernel("def kept(a):\n    return a\n", func, "trn2", execute=execute) == []
    assert runs == [1]


def test_a_row_in_psum_is_as_long_as_the_program_was_made_for() -> None:
    """A bank holds 512 numbers: of longer rows the kernel is not made, and is run at shorter ones."""
    module = trace(lambda x: x + x, ["f32[4,130]"])
    func = next(op for op in module.body.block.ops if isinstance(op, FuncOp))
    text = f"""import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def {kernel_name(func)}(x):
    x0, x1 = x.shape
    out = nl.ndarray((x0, x1), dtype=nl.float32, buffer=nl.shared_hbm)
    for i in range(0, x0, 128):
        n = min(128, x0 - i)
        row = nl.ndarray((n, x1), dtype=nl.float32, buffer=nl.psum)
        a = nl.ndarray((n, x1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=a, src=x[i:i + n, 0:x1])
        for j in range(0, x1, 256):
            m = min(256, x1 - j)
            nisa.tensor_tensor(dst=row[0:n, j:j + m], data1=a[0:n, j:j + m], data2=a[0:n, j:j + m], op=nl.add)
        nisa.tensor_copy(dst=a, src=row)
        nisa.dma_copy(dst=out[i:i + n, 0:x1], src=a)
    return out
"""
    assert any(sizes["x1"] > 512 for sizes in ragged_sizes(text, func))
    assert check_kernel(text, func, "trn2") == []
    assert check_kernel(text.replace("op=nl.add", "op=nl.multiply"), func, "trn2")


@pytest.mark.parametrize("bound", ["RATIONAL_ELEMENTS", "RATIONAL_PRODUCTS"])
def test_a_large_program_of_numbers_that_rounds_is_refused(bound: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = trace(lambda x: np.round(x) @ x, ["f32[6,6]"])
    func = next(op for op in module.body.block.ops if isinstance(op, FuncOp))
    monkeypatch.setattr(exact_check, bound, 24)
    with pytest.raises(
        UnsupportedError, match=r"\(rounding in a finite field\), and in rationals it takes \d+ "
    ) as caught:
        check_kernel(f"def {kernel_name(func)}(x):\n    return x\n", func, "trn2")
    assert "symbols" in (caught.value.accepted or "")


def test_work_bounds_what_one_operation_folds() -> None:
    module = trace(lambda x: x @ x, ["f32[130,130]"])
    func = next(op for op in module.body.block.ops if isinstance(op, FuncOp))
    loop = "    m, n = x.shape\n    for i in range(0, m, 128):\n        pass\n"
    text = f"def {kernel_name(func)}(x):\n{loop}"
    for sizes in ragged_sizes(text, func, Work(field=20_000)):
        assert math.prod(sizes.values()) ** 3 <= 100_000


def test_work_bounds_the_sizes_and_loops_still_run_twice_in_some_turn() -> None:
    text, func = kernel("matmul"), function(MATMUL, "mm.mlir")
    turns = ragged_sizes(text, func, Work(field=3_000_000))
    assert all(s["K"] * s["M"] * s["N"] <= 3_000_000 for s in turns)
    for name, step in (("K", 128), ("M", 128), ("N", 512)):
        assert any(s[name] > step for s in turns)
    given: list[tuple[int, ...]] = []

    def execute(path: Path, name: str, cases: Sequence[Sequence[TypedArray]], **options: Any) -> list[Any]:
        given.extend(c[0].values.shape for c in cases)
        return run_here(path, name, cases, **options)

    assert check_kernel(text, func, "trn2", work=Work(field=3_000_000), execute=execute) == []
    assert given == [(k, m) for k, m, _ in dict.fromkeys((s["K"], s["M"], s["N"]) for s in turns)]
    assert check_kernel(text.replace("(k > 0)", "True"), func, "trn2", work=Work(field=3_000_000), execute=execute)


EDITS = {
    "accumulate flag": ("accumulate=(k > 0)", "accumulate=True"),
    "overwriting": ("accumulate=(k > 0)", "accumulate=False"),
    "step": ("range(0, K, 128)", "range(0, K, 64)"),
    "bound too small": ("range(0, N, 512)", "range(0, N - 1, 512)"),
    "bound too large": ("range(0, N, 512)", "range(0, N + 1, 512)"),
    "extent": ("kh = min(128, K - k)", "kh = min(127, K - k)"),
    "index": ("src=w[k:k + kh", "src=w[0:kh"),
    "operand order": ("stationary=xt, moving=wt", "stationary=wt, moving=xt"),
    "store": ("dst=out[m:m + mh", "dst=out[mb:mb + mh"),
    "dropped store": ("nisa.dma_copy(dst=out", "min(0, 0) or (lambda **_: None)(dst=out"),
    "source": ("nisa.dma_copy(dst=wt, src=w[k:k + kh, n:n + nh])", "nisa.memset(dst=wt, value=1.0)"),
}


@pytest.mark.parametrize("edit", list(EDITS))
def test_a_wrong_kernel_does_not(edit: str) -> None:
    text, (old, new) = kernel("matmul"), EDITS[edit]
    assert text.count(old) == 1
    sizes = None if edit.startswith("bound") else [{"K": 293, "M": 387, "N": 517}]
    found = check_kernel(text.replace(old, new), function(MATMUL, "mm.mlir"), "trn2", sizes)
    assert found and all(name in str(found[0]) for name in "KMN")


RELU = """
func.func @relu(%x: tensor<?xf32, ["N"]>) -> tensor<?xf32, ["N"]> {
  %r = tensor_hl.relu %x : tensor<?xf32, ["N"]>
  func.return %r : tensor<?xf32, ["N"]>
}
"""

RELU_KERNEL = """
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def relu(x):
    N = x.shape[0]
    out = nl.ndarray((N,), dtype=nl.float32, buffer=nl.shared_hbm)
    for n in range(0, N, 64):
        nh = min(64, N - n)
        a = nl.ndarray((nh, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=a, src=x.ap(pattern=[[1, nh], [0, 1]], offset=n))
        nisa.activation(dst=a, op=nl.relu, data=a)
        nisa.dma_copy(dst=out.ap(pattern=[[1, nh], [0, 1]], offset=n), src=a)
    return out
"""


def test_a_program_that_needs_an_order_is_checked_in_rationals(tmp_path: Path) -> None:
    func = function(RELU, "relu.mlir")
    assert check_kernel(RELU_KERNEL, func, "trn2") == []
    path = tmp_path / "relu.py"
    path.write_text(RELU_KERNEL.replace("nl.relu", "nl.abs"), encoding="utf-8")
    assert check_kernel(path, func, "trn2")


CHOOSE = """
func.func @choose(%m: tensor<?xi1, ["N"]>, %x: tensor<?xf32, ["N"]>, %n: tensor<?xi32, ["N"]>) -> tensor<?xf32, ["N"]> {
  %z = tensor_hl.constant 0.0 : tensor<f32>
  %b = tensor_hl.broadcast %z dims [] : tensor<f32> -> tensor<?xf32, ["N"]>
  %r = tensor_hl.select %m, %x, %b
    : (tensor<?xi1, ["N"]>, tensor<?xf32, ["N"]>, tensor<?xf32, ["N"]>) -> tensor<?xf32, ["N"]>
  func.return %r : tensor<?xf32, ["N"]>
}
"""


@pytest.mark.parametrize("kind", ["field", "rational"])
def test_arguments_are_of_their_kind(kind: Literal["field", "rational"]) -> None:
    mask, x, whole = exact_check._inputs(function(CHOOSE, "choose.mlir"), {"N": 200}, kind, 0)
    assert set(mask.tolist()) == {0, 1} and len(set(x.tolist())) > 2
    if kind == "rational":
        assert all(v.denominator == 1 for v in whole) and any(v.denominator == 4 for v in x)
    assert dtype_of("i1") is dtype_of("bool_")
