# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Leaves that know where they stand: what they denote is what they compute, tile by tile."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.func import FuncOp
from xdsl.parser import Parser

from axon_mlir.host.registry import make_context
from axon_mlir.semantics.denotation import denote_function, input_name
from axon_mlir.semantics.domains import Float64
from axon_mlir.semantics.evaluate import evaluate_comprehension
from axon_mlir.semantics.interpret import argument_shapes, evaluate_function, solve_sizes

Array = np.ndarray[Any, Any]

TILED = """
func.func @f(%x: tensor<?x?xf32, ["M", "K"]>) -> tensor<?x?xf32, ["M", "K"]> {{
  %zero = tile.index "0"
  %M = tile.index "M"
  %K = tile.index "K"
  %out = tile.empty (%M, %K) : tensor<?x?xf32, ["M", "K"]>
  %r = tile.for m.tile (%m, %mn) = %zero to %M step "4" (collect %o = %out : tensor<?x?xf32, ["M", "K"]>) {{
    %r1 = tile.for k.tile (%k, %kn) = %zero to %K step "3" (collect %p = %o : tensor<?x?xf32, ["M", "K"]>) {{
      %t = tile.load %x[%m along p, %k along f] (%mn, %kn) : tensor<?x?xf32, ["M", "K"]> -> !tile.tile<["4", "3"], f32, sbuf>
      %a = {leaf} -> !tile.tile<["4", "3"], f32, sbuf>
      %q = tile.store %a into %p[%m along p, %k along f] : !tile.tile<["4", "3"], f32, sbuf>, tensor<?x?xf32, ["M", "K"]>
      tile.yield %q : tensor<?x?xf32, ["M", "K"]>
    }}
    tile.yield %r1 : tensor<?x?xf32, ["M", "K"]>
  }}
  func.return %r : tensor<?x?xf32, ["M", "K"]>
}}
"""  # noqa: E501

ONE_TILE = '(!tile.tile<["4", "3"], f32, sbuf>)'
LEAVES = {
    "causal": (
        'tile.leaf "op leaf(x0[P, F]) <at_m: index, at_k: index> -> c[P, F] '
        '{ c[p, f] = (if at_k + f <= at_m + p then x0[p, f] else 0) }" (%t) at (at_m = %m, at_k = %k) : ' + ONE_TILE,
        np.tril,
    ),
    "positions": (
        'tile.leaf "op leaf() <at_m: index, at_k: index, size_K: index> -> c[P, F] '
        '{ c[p, f] = (at_m + p) * size_K + at_k + f }" () at (at_m = %m, at_k = %k) sizes (%mn, %kn) : ()',
        lambda x: np.arange(x.size, dtype=float).reshape(x.shape),
    ),
    "constant": ('tile.leaf "op leaf() -> c[P, F] { c[p, f] = 3 }" () sizes (%mn, %kn) : ()', lambda x: x * 0 + 3),
}


def function(leaf: str) -> FuncOp:
    module = Parser(make_context(), TILED.format(leaf=leaf)).parse_module()
    module.verify()
    return next(op for op in module.body.block.ops if isinstance(op, FuncOp))


@pytest.mark.parametrize("name", LEAVES)
@pytest.mark.parametrize("shape", [(1, 1), (4, 3), (9, 7), (3, 11)])
def test_denoted_and_run(name: str, shape: tuple[int, int]):
    leaf, expected = LEAVES[name]
    func = function(leaf)
    x: Array = np.random.default_rng(1).normal(size=shape)
    assert np.array_equal(evaluate_function(func, [x], Float64())[0], expected(x))
    meaning = denote_function(func)
    sizes = solve_sizes(argument_shapes(func), [x])
    (out,) = meaning.outputs
    assert np.array_equal(evaluate_comprehension(out, {input_name(0): x}, sizes, Float64()), expected(x))
