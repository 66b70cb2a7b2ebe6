# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of the instructions that choose, place, scan and search, against NumPy; and calls that hardware refuses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import indent
from typing import Any

import numpy as np
import pytest

from axon_mlir.errors import AxonError
from axon_mlir.sim import HardwareViolation, RunResult, execute

Array = np.ndarray[Any, Any]

HEAD = """import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x, y):
    P, F = x.shape
    xt = nl.ndarray((P, F), dtype=x.dtype, buffer=nl.sbuf)
    yt = nl.ndarray((P, 1), dtype=y.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=xt, src=x)
    nisa.dma_copy(dst=yt, src=y)

    def new(*shape, dtype=nl.float32):
        return nl.ndarray(shape, dtype=dtype, buffer=nl.sbuf)

    t = new(P, F)
    mask = new(P, F, dtype=nl.uint8)
    column = new(P, 1)
"""
TAIL = """
def store(value):
    out = nl.ndarray(value.shape, dtype=value.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=value)
    return out
return {result}
"""


def run(folder: Path, body: str, results: str = "t", columns: int = 24) -> RunResult:
    path = folder / "kernel.py"
    result = ", ".join(f"store({r})" for r in results.split(", "))
    path.write_text(HEAD + indent(body.strip() + TAIL.format(result=result), "    "), encoding="utf-8")
    x, y = inputs(columns)
    return execute(path, "kernel", [x, y], device="trn2")


def descending_places(x: Array) -> Array:
    """Where the eight largest of each row are; of equal ones the last has the first place."""
    out = np.zeros((len(x), 8), int)
    for row, places in zip(x, out, strict=True):
        order = np.argsort(-row, kind="stable")
        best = row[order[:8]]
        for value in set(best):
            slots = np.flatnonzero(best == value)
            places[slots[::-1]] = np.flatnonzero(row == value)[: len(slots)]
    return out


def inputs(columns: int = 24) -> tuple[Array, Array]:
    rng = np.random.default_rng(5)
    return rng.integers(-6, 7, (9, columns)).astype(np.float32), rng.integers(1, 5, (9, 1)).astype(np.float32)


def recurrence(x: Array, y: Array) -> Array:
    out, state = np.empty_like(x), y[:, 0]
    for f in range(x.shape[1]):
        state = x[:, f] / 8 * state + x[:, f]
        out[:, f] = state
    return out


ROW, COLUMN = np.arange(9)[:, None], np.arange(24)[None, :]
COMPUTED: dict[str, tuple[str, str, Callable[[Array, Array], list[Array]]]] = {
    "iota": (
        "nisa.iota(dst=t, pattern=[[2, F]], offset=-3, channel_multiplier=5)",
        "t",
        lambda x, y: [2 * COLUMN - 3 + 5 * ROW],
    ),
    "affine_select": (
        "nisa.affine_select(dst=t, pattern=[[-1, F]], channel_multiplier=2, on_true_tile=xt, on_false_value=-1.0,\n"
        "    cmp_op=nl.less, offset=1)",
        "t",
        lambda x, y: [np.where(1 + 2 * ROW - COLUMN < 0, x, -1)],
    ),
    "select_reduce": (
        "nisa.tensor_scalar(dst=mask, data=xt, op0=nl.less_equal, operand0=yt)\n"
        "nisa.select_reduce(dst=t, predicate=mask, on_true=xt, on_false=yt, reduce_res=column,\n"
        "    reduce_cmd=nisa.reduce_cmd.reset_reduce, reduce_op=nl.maximum)",
        "t, column",
        lambda x, y: [np.where(x <= y, x, y), np.where(x <= y, x, y).max(axis=1, keepdims=True)],
    ),
    "tensor_copy_predicated": (
        "nisa.tensor_scalar(dst=mask, data=xt, op0=nl.greater, operand0=0.0)\n"
        "nisa.tensor_scalar(dst=t, data=xt, op0=nl.multiply, operand0=10.0)\n"
        "nisa.tensor_copy_predicated(dst=t, src=1.5, predicate=mask, reverse_pred=True)\n"
        "nisa.tensor_copy_predicated(dst=t[0:4, 2:F], src=xt[0:4, 2:F], predicate=mask[0:4, 2:F])",
        "t",
        lambda x, y: [np.where(x > 0, np.where((ROW < 4) & (COLUMN > 1), x, 10 * x), 1.5)],
    ),
    "range_select": (
        "nisa.range_select(dst=t, on_true_tile=xt, comp_op0=nl.greater_equal, comp_op1=nl.less, bound0=low,\n"
        "    bound1=yt, range_start=-2, reduce_res=column)",
        "t, column",
        lambda x, y: (lambda z: [z, z.max(axis=1, keepdims=True)])(
            np.where((COLUMN - 2 >= 0) & (COLUMN - 2 < y), x, np.float32(-3.4028235e38))
        ),
    ),
    "logic": (
        "nisa.tensor_scalar(dst=mask, data=xt, op0=nl.greater, operand0=0.0, op1=nl.logical_xor, operand1=1.0)\n"
        "nisa.tensor_tensor(dst=t, data1=mask, data2=xt, op=nl.logical_or)",
        "t",
        lambda x, y: [1.0 * ((x <= 0) | (x != 0))],
    ),
    "tensor_scalar_reduce": (
        "nisa.tensor_scalar_reduce(dst=t, data=xt, op0=nl.equal, operand0=yt, reduce_op=nl.add, reduce_res=column)",
        "t, column",
        lambda x, y: [1.0 * (x == y), 1.0 * (x == y).sum(axis=1, keepdims=True)],
    ),
    "tensor_scalar_cumulative": (
        "nisa.tensor_scalar_cumulative(dst=t, src=xt, op0=nl.maximum, op1=nl.add, imm0=-2.0)",
        "t",
        lambda x, y: [np.cumsum(np.maximum(x, -2), axis=1)],
    ),
    "tensor_tensor_scan": (
        "nisa.tensor_scalar(dst=t, data=xt, op0=nl.multiply, operand0=0.125)\n"
        "nisa.tensor_tensor_scan(dst=t, data0=t, data1=xt, initial=yt, op0=nl.multiply, op1=nl.add)",
        "t",
        lambda x, y: [recurrence(x, y)],
    ),
    "tensor_partition_reduce": (
        "row = new(1, F)\nnisa.tensor_partition_reduce(dst=row, op=nl.maximum, data=xt)",
        "row",
        lambda x, y: [x.max(axis=0, keepdims=True)],
    ),
    "bn": (
        "stats = new(P, 6)\nboth = new(P, 2)\nnisa.bn_stats(dst=stats, data=xt)\nnisa.bn_aggr(dst=both, data=stats)",
        "both",
        lambda x, y: [np.stack([x.mean(axis=1), x.var(axis=1)], axis=1)],
    ),
    "search": (
        "best = new(P, 8)\nat = new(P, 8, dtype=nl.uint16)\nnisa.max8(dst=best, src=xt)\n"
        "nisa.nc_find_index8(dst=at, data=xt, vals=best)",
        "best, at",
        lambda x, y: [-np.sort(-x, axis=1)[:, :8], np.argsort(-x, axis=1, kind="stable")[:, :8]],
    ),
    "not found": (
        "vals = new(P, 8)\nat = new(P, 8, dtype=nl.uint16)\nnisa.memset(dst=vals, value=99.0)\n"
        "nisa.nc_find_index8(dst=at, data=xt, vals=vals)",
        "at",
        lambda x, y: [np.full((9, 8), 65535)],
    ),
    "replace": (
        "best = new(P, 8)\nat = new(P, 8, dtype=nl.uint16)\nnisa.max8(dst=best, src=xt)\n"
        "nisa.nc_match_replace8(dst=t, data=xt, vals=best, imm=-99.0, dst_idx=at)\n"
        "left = new(P, F)\nnisa.nc_match_replace8(dst=left, data=xt, vals=best, imm=-99.0)",
        "t, left, at",
        lambda x, y: [
            *[np.where(np.argsort(np.argsort(-x, axis=1, kind="stable"), axis=1) < 8, -99, x)] * 2,
            descending_places(x),
        ],
    ),
    "rows that are chosen": (
        "at = new(P, 1, dtype=nl.int32)\nsome = new(P, 5)\n"
        "nisa.iota(dst=at, pattern=[[0, 1]], offset=P - 1, channel_multiplier=-1)\n"
        "nisa.dma_copy(dst=some, src=x.ap(pattern=[[F, P], [2, 5]], offset=1, vector_offset=at, indirect_dim=0))",
        "some",
        lambda x, y: [x[::-1, 1:11:2]],
    ),
    "nc_n_gather": (
        "at = new(P, 3, dtype=nl.uint32)\nnisa.iota(dst=at, pattern=[[7, 3]], channel_multiplier=1)\n"
        "some = new(P, 3)\nnisa.nc_n_gather(dst=some, data=xt, indices=at)",
        "some",
        lambda x, y: [np.take_along_axis(x, ROW + 7 * np.arange(3), axis=1)],
    ),
    "rounding": (
        "nisa.tensor_scalar(dst=t, data=xt, op0=nl.multiply, operand0=0.25)\nwhole = new(P, F, dtype=nl.int32)\n"
        "nisa.tensor_copy(dst=whole, src=t)",
        "whole",
        lambda x, y: [np.rint(x / 4)],
    ),
}


@pytest.mark.parametrize("name", COMPUTED)
def test_computed(name: str, tmp_path: Path) -> None:
    body, results, expected = COMPUTED[name]
    low = "low = new(P, 1)\nnisa.memset(dst=low, value=0.0)\n" if "bound0=low" in body else ""
    found = run(tmp_path, low + body, results).outputs
    for out, want in zip(found, expected(*inputs()), strict=True):
        np.testing.assert_allclose(out.astype(np.float64), want, rtol=1e-5, atol=1e-5)


REFUSED = {
    "elements of a pattern": ("nisa.iota(dst=t, pattern=[[1, 5]])", "the pattern has 5 elements, `dst` has 24"),
    "fraction as a position": ("nisa.iota(dst=t, pattern=[[0.5, F]])", "pattern = "),
    "float as a predicate": (
        "nisa.select_reduce(dst=t, predicate=xt, on_true=xt, on_false=0.0)",
        "predicate is float32; select_reduce.value takes uint8",
    ),
    "types of a predicated copy": (
        "nisa.memset(dst=mask, value=1)\nnisa.tensor_copy_predicated(dst=mask, src=xt, predicate=mask)",
        "they must have one dtype",
    ),
    "engine in PSUM": (
        "p = nl.ndarray((P, F), dtype=nl.float32, buffer=nl.psum)\nnisa.iota(dst=p, pattern=[[1, F]])",
        "dst is in psum",
    ),
    "scan of wide integers": (
        "w = new(P, F, dtype=nl.int32)\nnisa.tensor_scalar_cumulative(dst=w, src=xt, op0=nl.add, op1=nl.add, imm0=0.0)",
        "dst is int32",
    ),
    "rows of another count": (
        "nisa.dma_copy(dst=t, src=x.ap(pattern=[[F, P], [1, F]], vector_offset=yt[0:3, 0:1], indirect_dim=0))",
        "an index of shape [3, 1] for 9 rows",
    ),
    "rows beyond the last": (
        "at = new(P, 1, dtype=nl.int32)\nnisa.iota(dst=at, pattern=[[0, 1]], offset=1, channel_multiplier=1)\n"
        "nisa.dma_copy(dst=t, src=x.ap(pattern=[[F, P], [1, F]], vector_offset=at, indirect_dim=0))",
        "position 9 of `index` in 9 rows",
    ),
    "rows of a tile": (
        "nisa.tensor_copy(dst=t, src=xt.ap(pattern=[[F, P], [1, F]], vector_offset=yt, indirect_dim=0))",
        "first axis of a tensor in HBM",
    ),
    "short row": ("b = new(P, 8)\nnisa.max8(dst=b, src=xt[0:P, 0:7])", "8 = 8 exceeds F = 7"),
    "unwritten": (
        "nisa.memset(dst=mask, value=1)\nnisa.tensor_copy_predicated(dst=t, src=xt, predicate=mask)",
        "reads 216 of 216 elements of `old` that nothing wrote",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str, tmp_path: Path) -> None:
    body, message = REFUSED[name]
    with pytest.raises((AxonError, HardwareViolation)) as caught:
        run(tmp_path, body)
    assert message in str(caught.value)


def test_a_choice_in_psum_is_no_product(tmp_path: Path) -> None:
    """What a predicated copy has written is nothing to accumulate onto."""
    body = """
p = nl.ndarray((F, F), dtype=nl.float32, buffer=nl.psum)
nisa.memset(dst=p, value=0.0)
nisa.tensor_copy_predicated(dst=p[0:P, 0:F], src=1.0, predicate=mask)
nisa.nc_matmul(dst=p, stationary=xt, moving=xt, accumulate=True)
"""
    with pytest.raises(HardwareViolation, match="accumulates onto"):
        run(tmp_path, "nisa.memset(dst=mask, value=1)\n" + body)


def test_a_long_scan(tmp_path: Path) -> None:
    found = run(tmp_path, COMPUTED["tensor_tensor_scan"][0], columns=4000).outputs[0]
    np.testing.assert_allclose(found, recurrence(*inputs(4000)), rtol=1e-4, atol=1e-4)


def test_wide_integers(tmp_path: Path) -> None:
    """32-bit integers alone are added exactly, unless the vector engine is asked for, which computes in fp32."""
    body = """
a = new(P, F, dtype=nl.int32)
nisa.iota(dst=a, pattern=[[1, F]], offset=2**24, channel_multiplier=1000)
exact = new(P, F, dtype=nl.int32)
nisa.tensor_tensor(dst=exact, data1=a, data2=a, op=nl.add)
fp32 = new(P, F, dtype=nl.int32)
nisa.tensor_tensor(dst=fp32, data1=a, data2=a, op=nl.add, engine=nisa.engine.vector)
"""
    exact, fp32 = run(tmp_path, body, "exact, fp32").outputs
    wanted = 2 * (2**24 + COLUMN + 1000 * ROW)
    np.testing.assert_array_equal(exact, wanted)
    rounded = (wanted // 2).astype(np.float32)
    np.testing.assert_array_equal(fp32, rounded + rounded)
    assert (fp32 != exact).any()
