# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversions in other places are told apart where rounding shows them, and not where it cannot."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from mutation.operators import Builder, Value
from xdsl.dialects.func import FuncOp

from axon_mlir.smt.equivalence import denote_pair, prove_functions
from axon_mlir.smt.refute_conversions import refute_conversions

Program = Callable[[Builder, Value], Value]


def function(program: Program) -> FuncOp:
    b = Builder()
    return b.function(program(b, b.arg("M,N")))


def narrow_first(b: Builder, x: Value) -> Value:
    return b("cast", b("exp", b("cast", x, dtype="bf16"), dtype="f32"), dtype="bf16")


DIFFERENT: dict[str, tuple[Program, Program]] = {
    "removed": (narrow_first, lambda b, x: b("cast", b("exp", x), dtype="bf16")),
    "moved": (
        lambda b, x: b("cast", b("cast", b("exp", x), dtype="bf16"), dtype="f32"),
        lambda b, x: b("exp", b("cast", b("cast", x, dtype="bf16"), dtype="f32")),
    ),
    "of a sum": (
        lambda b, x: b("cast", b("cast", b("reduce", x, monoid="sum", axes=(1,)), dtype="bf16"), dtype="f32"),
        lambda b, x: b("reduce", b("cast", b("cast", x, dtype="bf16"), dtype="f32"), monoid="sum", axes=(1,)),
    ),
}


@pytest.mark.parametrize("pair", DIFFERENT.values(), ids=DIFFERENT)
def test_refuted(pair: tuple[Program, Program]) -> None:
    first, second = map(function, pair)
    verdict = prove_functions(first, second)
    assert (verdict.verdict, verdict.reason) == ("refuted", "conversion"), verdict.report()
    example = verdict.counterexample
    assert example is not None and example.left != example.right and np.isfinite(example.right)
    assert prove_functions(first, second, use_filter=False).verdict == "unknown"


def test_a_widening_that_no_run_shows_is_no_difference() -> None:
    """The result of exp is rounded to bf16 as it is; whether it is widened then makes none."""
    first = function(lambda b, x: b("add", b("cast", b("exp", x, dtype="bf16"), dtype="f32"), x))
    second = function(lambda b, x: b("add", b("exp", x, dtype="bf16"), x, dtype="f32"))
    assert prove_functions(first, second).verdict == "unknown"


def test_without_conversions_there_is_nothing_to_look_at() -> None:
    first, second = function(lambda b, x: b("exp", x)), function(lambda b, x: b("neg", x))
    unified, left, right = denote_pair(first, second)
    assert refute_conversions(first, second, dict(unified.after), (left, right)) is None


def test_a_power_of_two_commutes_with_rounding() -> None:
    """An opaque function would not; the prover does not know, and no run refutes it."""

    def doubled(b: Builder, x: Value) -> Value:
        return b("mul", x, b.number(2.0, x))

    first = function(lambda b, x: doubled(b, b("cast", b("cast", x, dtype="bf16"), dtype="f32")))
    second = function(lambda b, x: b("cast", b("cast", doubled(b, x), dtype="bf16"), dtype="f32"))
    assert prove_functions(first, second).verdict == "unknown"
