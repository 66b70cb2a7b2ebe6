# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Running IR: what is kept, and for how long."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.func import FuncOp
from xdsl.parser import Parser

from axon_mlir.errors import AxonError
from axon_mlir.host.registry import make_context
from axon_mlir.semantics.domains import Float64
from axon_mlir.semantics.index import size
from axon_mlir.semantics.interpret import Interpreter, solve_sizes

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


def test_sizes_are_found_whichever_axis_says_them() -> None:
    """Of a quotient nothing can be solved for; another axis, though a later one, says what it is of."""
    n, m = size("N"), size("M")
    first = [((n + 3) // 4, n - 1), (2 * m + n,)]
    assert solve_sizes(first, [np.zeros((2, 4)), np.zeros(11)]) == {"N": 5, "M": 3}
    with pytest.raises(AxonError, match="axis 0 of argument 0 is 3, but must be"):
        solve_sizes(first, [np.zeros((3, 4)), np.zeros(11)])
    with pytest.raises(AxonError, match=r"axis 0 of argument 0: the sizes N of .* are not determined"):
        solve_sizes([((n + 3) // 4,)], [np.zeros(2)])
    with pytest.raises(AxonError, match=r"the sizes M, N of .* are not determined"):
        solve_sizes([(n * m,)], [np.zeros(6)])
    assert solve_sizes([(n * m,)], [np.zeros(6)], {"N": 2}) == {"N": 2, "M": 3}
