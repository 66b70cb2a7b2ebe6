# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Running IR: what is kept, and for how long."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.func import FuncOp
from xdsl.parser import Parser

from axon_mlir.host.registry import make_context
from axon_mlir.semantics.domains import Float64
from axon_mlir.semantics.interpret import Interpreter

T = 'tensor<?xf32, ["M"]>'
CHAIN = f"""
func.func @chain(%x: {T}) -> {T} {{
  %a = tensor_hl.exp %x : {T}
  %b = tensor_hl.exp %a : {T}
  %c = tensor_hl.add %b, %a : {T}
  func.return %c : {T}
}}
"""


def test_a_value_is_forgotten_after_its_last_use() -> None:
    (func,) = Parser(make_context(), CHAIN).parse_module().body.block.ops
    assert isinstance(func, FuncOp)
    run = Interpreter(Float64(), {"M": 3})
    x = np.array([0.0, 0.5, 1.0])
    run.bind(func.body.block.args[0], x)
    (result,) = run.block(func.body.block, once=True)
    np.testing.assert_array_equal(result, np.exp(np.exp(x)) + np.exp(x))
    left = [array for array in run.values.values() if array is not x]
    assert len(left) == 1
    assert left[0] is result
