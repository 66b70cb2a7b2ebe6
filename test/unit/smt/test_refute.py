# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The numbers at which programs are run when a counterexample is looked for."""

from __future__ import annotations

import pytest
from xdsl.dialects.func import FuncOp
from xdsl.parser import Parser

from axon_mlir.host.registry import make_context
from axon_mlir.semantics.denotation import Denotation, denote_function
from axon_mlir.smt.reading import read
from axon_mlir.smt.refute import refute, sample_sizes

FIXED = 'tensor<2048x?xf32, ["2048", "K"]>'
ROWS = '!tile.tile<["s", "K"], f32, sbuf>'
LOOP = f"""
func.func @rows(%x: {FIXED}) -> {FIXED} {{
  %zero = tile.index "0"
  %M = tile.index "2048"
  %K = tile.index "K"
  %out = tile.empty (%M, %K) : {FIXED}
  %r = tile.for m.tile (%m, %mn) = %zero to %M step "s" (collect %o = %out : {FIXED}) {{
    %a = tile.load %x[%m along p, %zero along f] (%mn, %K) : {FIXED} -> {ROWS}
    %n = tile.store %a into %o[%m along p, %zero along f] : {ROWS}, {FIXED}
    tile.yield %n : {FIXED}
  }}
  func.return %r : {FIXED}
}}
"""


def denoted(text: str) -> tuple[FuncOp, Denotation]:
    (func,) = Parser(make_context(), text).parse_module().body.block.ops
    assert isinstance(func, FuncOp)
    return func, denote_function(func)


def test_a_loop_over_a_fixed_length_is_taken_a_few_times() -> None:
    func, denotation = denoted(LOOP)
    for sizes in sample_sizes(func, (denotation, denotation)):
        assert 1 < 2048 / sizes["s"] < 10


def test_steps_over_symbolic_lengths_stay_small() -> None:
    func, denotation = denoted(LOOP.replace("2048x?", "?x?").replace("2048", "M"))
    found = list(sample_sizes(func, (denotation, denotation)))
    assert found
    assert all(sizes["s"] in (2, 3) for sizes in found)


def test_a_loop_over_a_length_with_a_large_number_in_it_is_taken_a_few_times() -> None:
    func, denotation = denoted(LOOP.replace("2048x?", "?x?").replace("2048", "118 + M"))
    found = list(sample_sizes(func, (denotation, denotation)))
    assert found
    assert all(1 < (118 + sizes["M"]) / sizes["s"] < 10 for sizes in found)


def test_what_is_too_large_to_run_is_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def program(op: str) -> str:
        return f"func.func @f(%x: tensor<4x5xf32>) -> tensor<4x5xf32> {{ %r = tensor_hl.{op} %x : tensor<4x5xf32> " + (
            "func.return %r : tensor<4x5xf32> }"
        )

    (first, a), (second, b) = denoted(program("exp")), denoted(program("tanh"))
    found = refute(read(first), read(second), {}, (a, b))
    assert found is not None
    monkeypatch.setattr("axon_mlir.smt.refute._LARGEST", 19)
    assert refute(read(first), read(second), {}, (a, b)) is None
