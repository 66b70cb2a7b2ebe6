# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How often values are rounded on their way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.func import FuncOp

from axon_mlir.frontend.numpy_trace import trace
from axon_mlir.host.parsing import parse_module
from axon_mlir.host.registry import make_context
from axon_mlir.semantics.roundings import ledger

MOVES: dict[str, Callable[..., Any]] = {
    "zeros and a value": lambda x: np.zeros_like(x) + x,
    "a value and zeros": lambda x: x + np.zeros_like(x),
    "a value times ones": lambda x: x * np.ones_like(x),
    "one of two values": lambda x: np.where(x > 0, x, x[::-1]),
    "the larger of a value and nothing": lambda x: np.maximum(x, np.full_like(x, -np.inf)),
}
ROUNDS: dict[str, Callable[..., Any]] = {
    "ones and a value": lambda x: np.ones_like(x) + x,
    "a value times zeros": lambda x: x * np.zeros_like(x),
    "a value from zeros": lambda x: np.zeros_like(x) - x,
    "a value and itself": lambda x: x + x,
}
COLUMN = '!tile.tile<["M", "1"], bf16, sbuf>'
X, OUT = 'tensor<?x?xbf16, ["M", "K"]>', 'tensor<?x?xbf16, ["M", "1"]>'
ADD = '"op leaf(a[P, F], b[P, F]) -> c[P, F] { c[p, f] = a[p, f] + b[p, f] }"'
RUNNING = f"""
func.func @f(%x: {X}) -> {OUT} {{
  %zero = tile.index "0"
  %one = tile.index "1"
  %M = tile.index "M"
  %K = tile.index "K"
  %out = tile.empty (%M, %one) : {OUT}
  %start = tile.neutral "sum" (%M, %one) : {COLUMN}
  %r = tile.for k.tile (%k, %kn) = %zero to %K step "1" (sum %acc = %start : {COLUMN}) {{
    %a = tile.load %x[%zero along p, %k along f] (%M, %kn) : {X} -> {COLUMN}
    %s = tile.leaf {ADD} (%acc, %a) : ({COLUMN}, {COLUMN}) -> {COLUMN}
    tile.yield %s : {COLUMN}
  }}
  %o = tile.store %r into %out[%zero along p, %zero along f] : {COLUMN}, {OUT}
  func.return %o : {OUT}
}}
"""


def roundings(program: Callable[..., Any]) -> int:
    module = trace(program, ["bf16[4,6]"])
    (entry,) = ledger(next(op for op in module.walk() if isinstance(op, FuncOp)))
    return entry.roundings.get("bf16", 0)


@pytest.mark.parametrize("name", MOVES)
def test_neutral_elements_round_nothing(name: str) -> None:
    assert roundings(MOVES[name]) == 0


@pytest.mark.parametrize("name", ROUNDS)
def test_arithmetic_rounds(name: str) -> None:
    assert roundings(ROUNDS[name]) == 1


def test_only_the_first_iteration_adds_to_zeros() -> None:
    module = parse_module(RUNNING, "test.mlir", make_context())
    (entry,) = ledger(next(op for op in module.walk() if isinstance(op, FuncOp)))
    assert entry.roundings.get("bf16", 0) == 1
    assert entry.accumulator == 8
