# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Nests whose values are held where their readers are."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.func import FuncOp

from axon_mlir.autotune.compilation import function_of, size_values
from axon_mlir.frontend.numpy_trace import trace
from axon_mlir.host.registry import make_context
from axon_mlir.smt.equivalence import prove_functions
from axon_mlir.targets import load_device
from axon_mlir.transforms.algebra.tensor_hl_canonicalize import TensorHlCanonicalize
from axon_mlir.transforms.algebra.tensor_hl_decompose import TensorHlDecompose
from axon_mlir.transforms.tiling.nest import NotHeld, build, build_held, collect, scopes
from axon_mlir.transforms.tiling.tile_fuse import TileFuse
from axon_mlir.transforms.tiling.tile_instantiate import TileInstantiate, chosen_steps, instantiated
from axon_mlir.transforms.tiling.tile_symbolic import TileSymbolic


def program(x: Any, y: Any) -> Any:
    """Two reductions of one operand. Once steps along partitions and along rows are one number, what is reduced second
    is made in loops of the first reduction, which its reader cannot enter."""
    first = np.linalg.norm(x, ord=np.inf, axis=-2, keepdims=True) + 1
    larger = np.maximum(first, first)
    second = np.reshape(np.matmul((x % 0.75).min(axis=-2), y), (2, 4, 8, 8))
    return second, np.expand_dims(np.sum(larger @ y / math.sqrt(larger.shape[-1]), axis=-2), -3)


@pytest.fixture(scope="module")
def fused() -> tuple[FuncOp, Any]:
    module, context = trace(program, ["f32[8,8,8,33]", "f32[33,8]"]), make_context()
    TensorHlDecompose().apply(context, module)
    TensorHlCanonicalize().apply(context, module)
    source = function_of(module).clone()
    for step in (TileSymbolic(), TileFuse()):
        step.apply(context, module)
    return source, module


def test_loops_that_become_one_do_not_cut_values_off(fused: tuple[FuncOp, Any]) -> None:
    source, module = fused
    module = module.clone()
    TileInstantiate().apply(make_context(), module)
    assert prove_functions(source, function_of(module), same_domain=True).verdict == "proved"


def test_leaves_that_would_be_cut_off_have_loops_of_their_own(fused: tuple[FuncOp, Any]) -> None:
    func = function_of(fused[1])
    nest = collect(func)
    numbers = instantiated(nest, chosen_steps(nest, size_values(func), load_device("trn2"), {}))
    with pytest.raises(NotHeld, match="is read outside the loop over"):
        list(scopes(build(numbers.leaves), numbers))
    root = build_held(numbers)
    assert {leaf.name for leaf, _, _ in scopes(root, numbers)} == {x.name for x in nest.leaves if x.kind != "store"}
