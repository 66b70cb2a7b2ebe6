# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Leaves become instructions: which, that they are proved to compute the leaf, and that the kernel computes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from leaf_programs import Array, Lowered, function, program

from axon_mlir.errors import UnsupportedError
from axon_mlir.sim import HardwareViolation
from axon_mlir.transforms.isa.counts import counts

ROWS, COLUMNS = 13, 18
DTYPES: dict[str, Any] = {
    "f8E4M3": ml_dtypes.float8_e4m3,
    "f8E5M2": ml_dtypes.float8_e5m2,
    "f32": np.float32,
    "bf16": ml_dtypes.bfloat16,
    "i1": np.bool_,
    "i8": np.int8,
}
TILES = "x0[P, F]", "x1[P, F]", "x2[P, F]"
PLACES = "<at_m: index, at_k: index>"


@dataclass(frozen=True)
class Case:
    """A leaf's element, what NumPy makes of the operands, and the instructions that are expected."""

    element: str
    numpy: Callable[..., Array]
    instructions: list[str]
    operands: tuple[str, ...] = ("f32",)
    attributes: str = ""
    columns: tuple[int, ...] = ()
    result: str = "f32"
    narrow: bool = False
    whole: bool = False
    options: dict[str, Any] = field(default_factory=dict[str, Any])

    def text(self) -> str:
        signature = ", ".join(f"x{n}[P, {'1' if n in self.columns else 'F'}]" for n in range(len(self.operands)))
        result, at = ("c[P, 1]", "c[p, 0]") if self.narrow else ("c[P, F]", "c[p, f]")
        leaf = f"op leaf({signature}) {self.attributes} -> {result} {{ {at} = {self.element} }}"
        return program(
            leaf,
            self.operands,
            columns=self.columns,
            result=self.result,
            narrow=self.narrow,
            whole=self.whole,
        )


def rows(x: Array) -> Array:
    return np.arange(x.shape[0])[:, None] + 0 * x


def columns(x: Array) -> Array:
    return np.arange(x.shape[1])[None, :] + 0 * x


def affine(a: Array, b: Array, start: Array | float = 0.0) -> Array:
    state, out = np.zeros((a.shape[0], 1)) + start, np.empty(a.shape)
    for f in range(a.shape[1]):
        state = a[:, f : f + 1] * state + b[:, f : f + 1]
        out[:, f : f + 1] = state
    return out


TWO, THREE = ("f32", "f32"), ("f32", "f32", "f32")
CASES = {
    # Comparisons and choices of values.
    "less": Case("(if x0[p, f] < x1[p, f] then 1 else 0)", lambda x, y: x < y, ["tensor_tensor"], TWO),
    "not_equal": Case("(if x0[p, f] == 1 then 0 else 1)", lambda x: x != 1, ["tensor_scalar"]),
    "truth values": Case(
        "(if x1[p, f] <= x0[p, f] then 1 else 0)", lambda x, y: y <= x, ["tensor_tensor"], TWO, result="i1"
    ),
    "choice of a number": Case(
        "(if 0 < x0[p, f] then x1[p, f] else 0)",
        lambda x, y: np.where(x > 0, y, 0),
        ["tensor_scalar", "select_reduce"],
        TWO,
    ),
    "choice of a column": Case(
        "(if x0[p, f] < 0 then x1[p, 0] else x0[p, f])",
        lambda x, y: np.where(x < 0, y, x),
        ["tensor_scalar", "select_reduce"],
        TWO,
        columns=(1,),
    ),
    "choice between a column and a number": Case(
        "(if x0[p, f] == x1[p, 0] then x1[p, 0] else 0)",
        lambda x, y: np.where(x == y, y, 0),
        ["tensor_scalar", "memset", "select_reduce"],
        TWO,
        columns=(1,),
    ),
    "choice between columns": Case(
        "(if x0[p, f] < 1 then x1[p, 0] else x2[p, 0])",
        lambda x, y, z: np.where(x < 1, y, z),
        ["tensor_scalar", "memset", "tensor_scalar", "select_reduce"],
        THREE,
        columns=(1, 2),
    ),
    "choice of a tile": Case(
        "(if 0 < x0[p, f] then x1[p, f] else x2[p, f])",
        lambda x, y, z: np.where(x > 0, y, z),
        ["tensor_scalar", "tensor_copy", "tensor_copy_predicated"],
        THREE,
    ),
    "choice among types": Case(
        "(if x2[p, f] <= x0[p, f] then x1[p, f] else x2[p, f])",
        lambda x, y, z: np.where(x >= z, y, z),
        ["tensor_tensor", "tensor_copy", "tensor_copy_predicated"],
        ("bf16", "f32", "bf16"),
        result="bf16",
    ),
    "choice over what is computed": Case(
        "(if 0 < x0[p, f] then x1[p, f] else mul(2, x1[p, f]))",
        lambda x, y: np.where(x > 0, y, 2 * y),
        ["tensor_scalar", "tensor_scalar", "tensor_copy_predicated"],
        TWO,
    ),
    "mask as a factor": Case(
        "mul((if 0 < x0[p, f] then 1 else 0), x1[p, f])",
        lambda x, y: (x > 0) * y,
        ["scalar_tensor_tensor"],
        TWO,
    ),
    "mask that is given": Case(
        "(if x0[p, f] == 1 then x1[p, f] else -1)",
        lambda x, y: np.where(x, y, -1),
        ["tensor_scalar", "select_reduce"],
        ("i1", "f32"),
    ),
    "and": Case(
        "(if (if 0 < x0[p, f] then 1 else 0) == 1 then (if x1[p, f] <= 1 then 1 else 0) else 0)",
        lambda x, y: (x > 0) & (y <= 1),
        ["tensor_scalar", "scalar_tensor_tensor"],
        TWO,
    ),
    "or": Case(
        "(if (if 0 < x0[p, f] then 1 else 0) == 1 then 1 else (if x1[p, f] == 1 then 1 else 0))",
        lambda x, y: (x > 0) | (y == 1),
        ["tensor_scalar", "scalar_tensor_tensor"],
        TWO,
    ),
    "neither": Case(
        "(if 0 < x0[p, f] or x1[p, f] < 0 then 0 else x1[p, f])",
        lambda x, y: np.where((x > 0) | (y < 0), 0, y),
        ["tensor_scalar", "scalar_tensor_tensor", "select_reduce"],
        TWO,
    ),
    "clip": Case("min(max(x0[p, f], -1), 1)", lambda x: np.clip(x, -1, 1), ["tensor_scalar"]),
    "count": Case(
        "sum(q < F: (if 0 < x0[p, q] then 1 else 0))",
        lambda x: (x > 0).sum(axis=1, keepdims=True),
        ["tensor_scalar_reduce"],
        narrow=True,
    ),
    # Integers.
    "nearest integer": Case("round(x0[p, f])", np.rint, ["tensor_copy", "tensor_copy"]),
    "floor": Case(
        "floor(mul(x0[p, f], 3))",
        lambda x: np.floor(3 * x),
        ["tensor_scalar", "scalar_tensor_tensor", "tensor_tensor"],
    ),
    "floor into integers": Case(
        "floor(x0[p, f])", np.floor, ["tensor_copy", "tensor_tensor", "tensor_tensor"], result="i32"
    ),
    "remainder": Case(
        "sub(x0[p, f], mul(floor(div(x0[p, f], 2)), 2))",
        lambda x: x % 2,
        ["tensor_scalar", "scalar_tensor_tensor", "tensor_tensor", "scalar_tensor_tensor"],
    ),
    "integers and floats": Case(
        "mul(x0[p, f], x1[p, f])", lambda x, y: x * y, ["tensor_tensor"], ("i8", "f32"), result="f32"
    ),
    # Narrow floats.
    "from eight bits": Case(
        "mul(x0[p, f], x1[p, f])", lambda x, y: x * y, ["tensor_tensor"], ("f8E4M3", "f8E5M2"), result="bf16"
    ),
    "into eight bits": Case("mul(x0[p, f], 4)", lambda x: 4 * x, ["tensor_scalar"], ("bf16",), result="f8E4M3"),
    "between eight bits": Case("x0[p, f]", np.copy, ["tensor_copy"], ("f8E5M2",), result="f8E4M3"),
    # Functions beyond the range of their tables.
    "sine": Case(
        "sin(mul(x0[p, f], 20))",
        lambda x: np.sin(20 * x),
        [*["tensor_scalar"] * 2, *["scalar_tensor_tensor"] * 5, "activation"],
    ),
    "cosine": Case("cos(x0[p, f])", np.cos, [*["tensor_scalar"] * 2, *["scalar_tensor_tensor"] * 5, "activation"]),
    # Positions.
    "causal": Case("(if at_k + f <= at_m + p then x0[p, f] else 0)", np.tril, ["affine_select"], attributes=PLACES),
    "causal the other way": Case(
        "(if at_m + p < at_k + f then -1000 else x0[p, f])",
        lambda x: np.where(columns(x) > rows(x), -1000, x),
        ["affine_select"],
        attributes=PLACES,
    ),
    "window": Case(
        "(if at_k + f <= at_m + p and at_m + p - 3 < at_k + f then x0[p, f] else 0)",
        lambda x: np.tril(x) - np.tril(x, -3),
        ["affine_select", "affine_select"],
        attributes=PLACES,
    ),
    "position and value": Case(
        "(if at_k + f <= at_m + p and 0 < x0[p, f] then x0[p, f] else 0)",
        lambda x: np.where(x > 0, np.tril(x), 0),
        ["tensor_scalar", "select_reduce", "affine_select"],
        attributes=PLACES,
    ),
    "number": Case(
        "(at_m + p) * size_K + at_k + f",
        lambda x: rows(x) * x.shape[1] + columns(x),
        ["iota"],
        (),
        "<at_m: index, at_k: index, size_K: index>",
    ),
    "identity": Case(
        "(if at_m + p == at_k + f then 1 else 0)", lambda x: np.eye(*x.shape), ["iota", "tensor_scalar"], (), PLACES
    ),
    "constant": Case("5 / 2", lambda x: 0 * x + 2.5, ["memset"], ()),
    "place as a factor": Case(
        "mul(x0[p, f], at_m)",
        lambda x: x * (np.arange(ROWS) // 5 * 5)[:, None],
        ["tensor_scalar"],
        attributes="<at_m: index>",
    ),
    "maximum below the diagonal": Case(
        "max(q < F: (if q <= at_m + p then x0[p, q] else -1000))",
        lambda x: np.where(columns(x) <= rows(x), x, -1000).max(axis=1, keepdims=True),
        ["affine_select", "tensor_reduce"],
        attributes="<at_m: index>",
        narrow=True,
    ),
    # Scans.
    "prefix sum": Case(
        "sum(j < f + 1: x0[p, j])", lambda x: np.cumsum(x, axis=1), ["tensor_scalar_cumulative"], whole=True
    ),
    "prefix maximum": Case(
        "max(j < f + 1: x0[p, j])",
        lambda x: np.maximum.accumulate(x, axis=1),
        ["tensor_scalar_cumulative"],
        whole=True,
    ),
    "prefix sum with a start": Case(
        "add(x1[p, 0], sum(j < f + 1: x0[p, j]))",
        lambda x, y: y + np.cumsum(x, axis=1),
        ["tensor_scalar_cumulative", "tensor_scalar"],
        TWO,
        columns=(1,),
        whole=True,
    ),
    "prefix minimum with a start": Case(
        "min(x1[p, 0], min(j < f + 1: x0[p, j]))",
        lambda x, y: np.minimum(y, np.minimum.accumulate(x, axis=1)),
        ["tensor_scalar_cumulative", "tensor_scalar"],
        TWO,
        columns=(1,),
        whole=True,
    ),
    "affine recurrence": Case(
        "sum(k < f + 1: mul(x1[p, k], prod(j < f - k: x0[p, k + 1 + j])))",
        affine,
        ["tensor_tensor_scan"],
        TWO,
        whole=True,
    ),
    "affine recurrence with a start": Case(
        "add(mul(x2[p, 0], prod(k < f + 1: x0[p, k])), "
        "sum(k < f + 1: mul(x1[p, k], prod(j < f - k: x0[p, k + 1 + j]))))",
        affine,
        ["tensor_tensor_scan"],
        THREE,
        columns=(2,),
        whole=True,
    ),
    "affine recurrence of what is computed": Case(
        "sum(k < f + 1: mul(mul(2, x1[p, k]), prod(j < f - k: square(x0[p, k + 1 + j]))))",
        lambda x, y: affine(x * x, 2 * y),
        ["activation", "tensor_scalar", "tensor_tensor_scan"],
        TWO,
        whole=True,
    ),
}


def arrays(case: Case) -> list[Array]:
    rng = np.random.default_rng(7)
    out: list[Array] = []
    for n, dtype in enumerate(case.operands):
        shape = (ROWS, 1 if n in case.columns else COLUMNS)
        values = rng.integers(0, 2, shape) if dtype == "i1" else rng.integers(-3, 4, shape) / 2
        out.append(values.astype(DTYPES[dtype]))
    return out


@pytest.mark.parametrize("name", CASES)
def test_leaf(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    lowered = Lowered(case.text())
    assert lowered.instructions == case.instructions
    assert [v.verdict for v in lowered.proved()] == ["proved", "proved"]
    given = arrays(case)
    seen = given or [np.zeros((ROWS, COLUMNS), np.float32)]
    expected = np.asarray(case.numpy(*(x.astype(np.float64) for x in seen)), np.float64)
    (out,) = lowered.run(tmp_path, *seen).outputs
    np.testing.assert_allclose(out.astype(np.float64), expected, rtol=1e-5, atol=2e-7)


@pytest.mark.parametrize("constant", ["inf", "1 / 2", "x0[p, f]"])
def test_what_integers_do_not_hold_is_not_proved(constant: str) -> None:
    operands = ("f32",) if "x0" in constant else ()
    lowered = Lowered(Case(constant, np.copy, [], operands, result="i32").text())
    assert "proved" not in [v.verdict for v in lowered.proved()]


@pytest.mark.parametrize(
    ("element", "attributes"),
    [
        ("mul(p * f, x0[p, f])", ""),
        ("(if f // 2 == p then x0[p, f] else 0)", ""),
        ("sum(j < f + 2: x0[p, j])", ""),
        ("sum(j < size_K: x0[p, j])", "<size_K: index>"),
    ],
)
def test_what_no_instruction_computes_is_refused(element: str, attributes: str) -> None:
    with pytest.raises(UnsupportedError, match="no instructions of trn2 compute"):
        Lowered(Case(element, np.copy, [], attributes=attributes, whole=True).text())


ACROSS = """
func.func @f(%x: tensor<?x?xf32, ["M", "K"]>) -> tensor<?xf32, ["K"]> {
  %zero = tile.index "0"
  %one = tile.index "1"
  %M = tile.index "M"
  %K = tile.index "K"
  %out = tile.empty (%K) : tensor<?xf32, ["K"]>
  %r = tile.for k.tile (%k, %kn) = %zero to %K step "7" (collect %p = %out : tensor<?xf32, ["K"]>) {
    %a = tile.load %x[%zero along p, %k along f] (%M, %kn) : tensor<?x?xf32, ["M", "K"]> -> !tile.tile<["M", "7"], f32, sbuf>
    %y = tile.leaf "op leaf(a[K, F]) -> c[1, F] { c[0, f] = max(k < K: a[k, f]) }" (%a) : (!tile.tile<["M", "7"], f32, sbuf>) -> !tile.tile<["1", "7"], f32, sbuf>
    %q = tile.store %y into %p[%k along f] : !tile.tile<["1", "7"], f32, sbuf>, tensor<?xf32, ["K"]>
    tile.yield %q : tensor<?xf32, ["K"]>
  }
  func.return %r : tensor<?xf32, ["K"]>
}
"""  # noqa: E501


def test_maximum_over_partitions(tmp_path: Path) -> None:
    lowered = Lowered(ACROSS)
    assert lowered.instructions == ["tensor_partition_reduce"]
    assert [v.verdict for v in lowered.proved()] == ["proved", "proved"]
    x = np.random.default_rng(7).normal(size=(ROWS, COLUMNS)).astype(np.float32)
    (out,) = lowered.run(tmp_path, x).outputs
    np.testing.assert_array_equal(out, x.max(axis=0))


GATHER = """
func.func @f(%x: tensor<?x?xf32, ["N", "K"]>, %i: tensor<?x1xi32, ["M", "1"]>) -> tensor<?x?xf32, ["M", "K"]> {
  %zero = tile.index "0"
  %one = tile.index "1"
  %M = tile.index "M"
  %K = tile.index "K"
  %N = tile.index "N"
  %out = tile.empty (%M, %K) : tensor<?x?xf32, ["M", "K"]>
  %r = tile.for m.tile (%m, %mn) = %zero to %M step "5" (collect %o = %out : tensor<?x?xf32, ["M", "K"]>) {
    %r1 = tile.for k.tile (%k, %kn) = %zero to %K step "7" (collect %p = %o : tensor<?x?xf32, ["M", "K"]>) {
      %a = tile.load %x[%zero along p, %k along f] (%N, %kn) : tensor<?x?xf32, ["N", "K"]> -> !tile.tile<["N", "7"], f32, hbm>
      %b = tile.load %i[%m along p, %zero along f] (%mn, %one) : tensor<?x1xi32, ["M", "1"]> -> !tile.tile<["5", "1"], i32, sbuf>
      %y = tile.leaf "op leaf(x0[N, F], x1[P, 1]) -> c[P, F] { c[p, f] = sum(n < N: (if x1[p, 0] == n then x0[n, f] else 0)) }" (%a, %b) : (!tile.tile<["N", "7"], f32, hbm>, !tile.tile<["5", "1"], i32, sbuf>) -> !tile.tile<["5", "7"], f32, sbuf>
      %q = tile.store %y into %p[%m along p, %k along f] : !tile.tile<["5", "7"], f32, sbuf>, tensor<?x?xf32, ["M", "K"]>
      tile.yield %q : tensor<?x?xf32, ["M", "K"]>
    }
    tile.yield %r1 : tensor<?x?xf32, ["M", "K"]>
  }
  func.return %r : tensor<?x?xf32, ["M", "K"]>
}
"""  # noqa: E501


def test_rows_that_positions_choose(tmp_path: Path) -> None:
    lowered = Lowered(GATHER, "{K = 18 : index, M = 13 : index, N = 400 : index}")
    assert lowered.instructions == []
    assert "vector_offset=" in lowered.kernel
    assert [v.verdict for v in lowered.proved()] == ["proved", "proved"]
    rng = np.random.default_rng(7)
    x, i = rng.normal(size=(400, COLUMNS)).astype(np.float32), rng.integers(0, 400, (ROWS, 1)).astype(np.int32)
    result = lowered.run(tmp_path, x, i)
    np.testing.assert_array_equal(result.outputs[0], x[i[:, 0]])
    # Rows that are not chosen are not moved.
    assert result.dma_bytes == 4 * (2 * ROWS * COLUMNS + ROWS * 3)
    counted = counts(function(lowered.module), {"K": COLUMNS, "M": ROWS, "N": 400})
    assert (counted.instructions, counted.dma_bytes) == (result.instructions, result.dma_bytes)
    with pytest.raises(HardwareViolation, match="in 400 rows"):
        lowered.run(tmp_path, x, i + 400)


def test_places_in_a_row(tmp_path: Path) -> None:
    element = "sum(k < F: (if x1[p, f] == k then x0[p, k] else 0))"
    lowered = Lowered(Case(element, np.copy, [], ("f32", "i32"), whole=True).text())
    assert lowered.instructions == ["tensor_copy", "nc_n_gather"]
    assert [v.verdict for v in lowered.proved()] == ["proved", "proved"]
    rng = np.random.default_rng(7)
    x, i = rng.normal(size=(ROWS, COLUMNS)).astype(np.float32), rng.integers(0, COLUMNS, (ROWS, COLUMNS))
    (out,) = lowered.run(tmp_path, x, i.astype(np.int32)).outputs
    np.testing.assert_array_equal(out, np.take_along_axis(x, i, axis=1))
