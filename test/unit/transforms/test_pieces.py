# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Slices are read where they lie, in steps; concatenations are made piece by piece; folds inside expressions, masks and
positions, running folds: for all sizes, and in numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from unit.transforms.test_random_structures import function_of, relative
from xdsl.dialects.func import FuncOp

from axon_mlir import sim
from axon_mlir.autotune.symbolic_check import prove_kernel
from axon_mlir.frontend.numpy_trace import trace
from axon_mlir.host.registry import make_context
from axon_mlir.host.verification import verify_module
from axon_mlir.printer_nki import print_kernel
from axon_mlir.semantics.denotation import denote_function
from axon_mlir.semantics.index import const
from axon_mlir.semantics.index import size as size_index
from axon_mlir.smt.equivalence import prove_functions
from axon_mlir.transforms.algebra.tensor_hl_canonicalize import TensorHlCanonicalize
from axon_mlir.transforms.isa.counts import counts
from axon_mlir.transforms.isa.isa_allocate import IsaAllocate
from axon_mlir.transforms.isa.isa_select import IsaSelect
from axon_mlir.transforms.tiling.pieces import pieces_of
from axon_mlir.transforms.tiling.tile_fuse import TileFuse
from axon_mlir.transforms.tiling.tile_instantiate import TileInstantiate
from axon_mlir.transforms.tiling.tile_symbolic import TileSymbolic

Program = tuple[list[str], Callable[..., Any]]


def rotated(x: Any, c: Any, s: Any) -> Any:
    a, b = x[: x.shape[0] // 2], x[x.shape[0] // 2 :]
    return np.concatenate([a * c - b * s, a * s + b * c])


def assigned(x: Any) -> Any:
    y = np.zeros_like(x)
    y[22:45] = x[22:45] * 3.0
    return y


def stepped(x: Any) -> Any:
    y = x.copy()
    y[5:23:2] += 1
    return np.tanh(y)


def backwards(x: Any) -> Any:
    y = np.ones(x.shape, dtype=x.dtype)
    y[:, ::-2] -= x[:, ::-2]
    return y


def changed(x: Any, place: Any, by: float) -> Any:
    y = x.copy()
    y[place] += by
    return y


def assigned_to(x: Any, place: Any) -> Any:
    y = np.zeros_like(x)
    y[place] = x[place] * 2
    return y


def table(x: Any) -> Any:
    return np.where(
        np.arange(x.shape[1]) >= 3, np.take(x, np.minimum(np.abs(np.arange(4) - 2), 7), axis=0).sum(0), x[2]
    )


def heads(x: Any, w: Any) -> Any:
    s = np.exp(x).transpose(1, 0, 2)
    return s.reshape(s.shape[0], -1) @ w


def interleaved(x: Any, y: Any) -> Any:
    z = np.empty((2 * x.shape[0], x.shape[1]))
    z[0::2] = x + y
    z[1::2] = x - y
    return z


def attention(q: Any, k: Any, v: Any) -> Any:
    s = np.where(np.tril(np.ones((q.shape[0], k.shape[0]))) == 1, q @ k.T, -np.inf)
    e = np.exp(s - s.max(axis=1, keepdims=True))
    return (e / e.sum(axis=1, keepdims=True)) @ v


PROGRAMS: dict[str, Program] = {
    "rows in the middle, if there are so many": (["f32[70,130]"], assigned),
    "every second column from the end": (["f32[5,9]"], backwards),
    "a product with every second column from the end": (
        ["f32[5,9]", "f32[9,3]"],
        lambda x, y: backwards(x) @ y,
    ),
    "a row of some, by steps": (["f32[16,16]"], lambda x: changed(x, np.s_[3:6:2], -0.7)),
    "every second row, flattened": (["f32[65,65]"], lambda x: changed(x * 0.5, np.s_[::2], 0.5).reshape(4225)),
    "steps along two axes, three times": (
        ["f32[2,2]", "f32[2,2]"],
        lambda x, y: np.concatenate([changed(x, np.s_[::2, ::-2], 1.5), np.tanh(y), x], axis=1),
    ),
    "chosen columns, flattened": (["f32[5,17]"], lambda x: np.take(x, [4, 0, 16, 15, 1], axis=1).reshape(25)),
    "a product, flattened, up to a place": (
        ["f32[2,2]", "f32[2,2]"],
        lambda x, y: np.where(np.arange(x.shape[0] * y.shape[1]) < 3457, (x @ y).reshape(-1), 1.5),
    ),
    "the sum of what is repeated, flattened": (
        ["f32[5,2,2,2]"],
        lambda x: np.sum(np.repeat(np.exp(x.ravel()) * np.max(x), 2), axis=0, keepdims=True),
    ),
    "a flattened matrix": (["f32[140,130]"], lambda x: np.exp(x.reshape(-1))),
    "a flattened matrix and a row": (["f32[14,13]", "f32[182]"], lambda x, y: np.exp(x.ravel() * y)),
    "the sum of a flattened matrix": (["f32[140,130]"], lambda x: np.exp(x.reshape(-1)).sum(keepdims=True)),
    "many axes in one": (["f32[2,3,2,5]"], lambda x: np.maximum(x.ravel(), 3.0)),
    "rows twice": (["f32[9,4,2]"], lambda x: np.concatenate([x.reshape(x.shape[0], -1)] * 2, axis=-1)),
    "every element twice, in a row": (["f16[4,8]"], lambda x: np.maximum(np.repeat(x, 3, axis=1), 0)),
    "two flattened matrices": (
        ["f32[14,13]", "f32[5]"],
        lambda x, y: np.concatenate([np.exp(x).reshape(-1), x.reshape(-1), y]),
    ),
    "heads side by side": (["f32[3,5,64]", "f32[192,20]"], heads),
    "a product with every element twice": (["f32[5,60]", "f32[120,7]"], lambda x, y: np.repeat(x, 2, axis=1) @ y),
    "a fraction in another type": (["f32[5,9]"], lambda x: np.full(x.shape, 1.5, x.dtype).astype(np.float16)),
    "a column in steps": (["f32[5,9]"], lambda x: assigned_to(x, np.s_[:, 2:4:2])),
    "products spread along dimensions of neither": (
        ["f32[1,2,4]", "f32[2,1,3]"],
        lambda y, x: np.einsum("abcd,cbn->abdn", np.broadcast_to(y, (5, 3, 2, 4)), x),
    ),
    "running maxima in one tile": (["f32[1]"], lambda x: np.maximum.accumulate(x * (np.arange(448) >= 36), 0)),
    "every second row of some": (["f32[33,130]"], stepped),
    "a mask of known truth": (["f32[33,64]"], table),
    "every second row": (["f32[70,30]", "f32[70,30]"], interleaved),
    "side by side": (["f32[5,130]"], lambda x: np.stack([x, np.exp(x)], axis=2)),
    "twice side by side": (["f32[5,130]"], lambda x: np.stack([x, x], axis=2)),
    "running sums": (["f32[130,3000]"], lambda x: np.cumsum(x, axis=1)),
    "running sums down": (["f32[300,20]"], lambda x: np.cumsum(x, axis=0)),
    "running sums of rows in a row": (["f32[7,5]"], lambda x: np.cumsum(x.reshape(-1))),
    "running sums within parts of rows": (["f32[65,5]"], lambda x: np.cumsum(x.reshape(13, 5, 5), axis=1)),
    "running sums of every element twice": (["f32[5,9]"], lambda x: np.cumsum(np.repeat(x, 2, axis=1), axis=1)),
    "running maxima": (["f32[5,1100]"], lambda x: np.maximum.accumulate(x, axis=1)),
    "a triangle": (["f32[150,140]"], lambda x: np.triu(x, 1) * 2.0),
    "positions": (["f32[150,140]"], lambda x: x * np.arange(x.shape[1]) + np.arange(x.shape[0])[:, None]),
    "deviations": (["f32[150,140]"], lambda x: x.std(axis=1) * x.mean(axis=1)),
    "attention to what was before": (["f32[150,20]", "f32[150,20]", "f32[150,30]"], attention),
    "a later part": (["f32[70,130]"], lambda x: np.exp(x[3:, 2:])),
    "every second": (["f32[70,130]"], lambda x: x[::2, ::2] * 2.0),
    "neighbours": (["f32[70,130]"], lambda x: x[1:] - x[:-1]),
    "halves of the columns": (["f32[70,130]", "f32[65,20]"], lambda x, w: x[:, : x.shape[1] // 2] @ w),
    "one below the other": (["f32[70,130]", "f32[30,130]"], lambda x, y: np.concatenate([np.exp(x), y * 2.0])),
    "beside each other": (["f32[70,130]", "f32[70,20]"], lambda x, y: np.concatenate([x, y], axis=1) * 3.0),
    "three of them": (
        ["f32[70,130]", "f32[30,130]"],
        lambda x, y: np.concatenate([x, y, np.abs(x)]) - 1.0,
    ),
    "a frame of zeros": (["f32[70,130]"], lambda x: np.pad(x, ((1, 2), (0, 3)))),
    "a column of ones": (["f32[70,130]"], lambda x: np.concatenate([x, np.ones((x.shape[0], 1))], axis=1)),
    "a rotation": (["f32[140,130]", "f32[70,130]", "f32[70,130]"], rotated),
}

UNDECIDED = {"many axes in one", "rows twice", "every second row, flattened", "running sums within parts of rows"}
"""Programs whose steps are proved, but not their text: regions in three loops, a quotient that a slice decides."""

MAY_BE_EMPTY = ("rows in the middle, if there are so many", "a later part", "neighbours", "halves of the columns")
"""Some tensor of theirs has no element at a size of one; there is no kernel then."""


def built(specs: list[str], program: Callable[..., Any]) -> tuple[FuncOp, Any]:
    """The program before tiling, and the allocated module."""
    module, context = trace(program, specs), make_context()
    TensorHlCanonicalize().apply(context, module)
    source = function_of(module).clone()
    for step in (TileSymbolic(), TileFuse(), TileInstantiate(), IsaSelect(), IsaAllocate()):
        step.apply(context, module)
        verify_module(module)
    return source, module


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program(name: str, tmp_path: Path) -> None:
    specs, program = PROGRAMS[name]
    source, module = built(specs, program)
    func = function_of(module)
    assert prove_functions(source, func, use_filter=False, same_domain=True).verdict == "proved"
    path = tmp_path / "kernel.py"
    path.write_text(print_kernel(module))
    if name not in MAY_BE_EMPTY:
        verdict = prove_kernel(source, path.read_text(), "trn2").verdict
        assert verdict in (("proved", "unknown") if name in UNDECIDED else ("proved",))
    random = np.random.default_rng(1)
    shapes = [[int(d) for d in spec[4:-1].split(",")] for spec in specs]
    types = [np.float16 if spec.startswith("f16") else np.float32 for spec in specs]
    inputs = [random.standard_normal(shape).astype(dtype) for shape, dtype in zip(shapes, types, strict=True)]
    got = sim.execute(path, None, inputs, device="trn2", domain="float", seed=0)
    wanted = program(*inputs)
    assert relative(np.asarray(got.outputs[0]).reshape(wanted.shape), wanted) < 1e-5
    values: Any = func.attributes["axon.values"]
    expected = counts(func, {k: v.value.data for k, v in values.data.items()})
    assert (got.instructions, got.dma_bytes) == (expected.instructions, expected.dma_bytes)


def value_of(specs: list[str], program: Callable[..., Any]) -> Any:
    return denote_function(function_of(trace(program, specs))).outputs[0]


def test_pieces_of_a_concatenation() -> None:
    value = value_of(["f32[M,K]", "f32[N,K]"], lambda x, y: np.concatenate([x, y]))
    first, second = pieces_of(value)
    assert (first.origin, first.value.shape) == ((const(0), const(0)), (size_index("M"), size_index("K")))
    assert (second.origin, second.value.shape) == ((size_index("M"), const(0)), (size_index("N"), size_index("K")))


def test_a_value_without_a_break_is_one_piece() -> None:
    value = value_of(["f32[M,K]"], lambda x: x[1:] * 2.0)
    (piece,) = pieces_of(value)
    assert piece.value is value and piece.origin == (const(0), const(0))
