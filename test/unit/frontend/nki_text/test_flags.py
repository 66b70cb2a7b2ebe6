# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which conditions say `past the first iteration`, and of which loops."""

from __future__ import annotations

import pytest

from axon_mlir.frontend.nki_text.flags import past_first
from axon_mlir.semantics import terms as t
from axon_mlir.semantics.index import Var, const, of_var, size

A, B = Var("a", 1), Var("b", 2)
COUNTERS = (A, B)
a, b = of_var(A), of_var(B)
k = 128 * a
S = size("S")


@pytest.mark.parametrize(
    "condition",
    [
        t.less(const(0), k),
        t.less(const(0), a),
        t.less(S, S + k),
        t.less(const(0), S * a),
        t.at_most(const(128), k),
        t.at_most(const(1), k),
        t.at_most(const(1), a),
        t.less(const(127), k),
        t.negate(t.equal(k, const(0))),
        t.negate(t.equal(const(0), a)),
        t.negate(t.at_most(k, const(0))),
        t.negate(t.less(a, const(1))),
        t.less(k - 128, 2 * k - 128),
    ],
)
def test_one_loop(condition: t.Condition) -> None:
    assert past_first(condition, COUNTERS) == {A}


@pytest.mark.parametrize(
    "condition",
    [
        t.disj([t.less(const(0), a), t.less(const(0), b)]),
        t.disj([t.less(S, S + k), t.negate(t.equal(b, const(0)))]),
        t.less(const(0), 512 * a + 128 * b),
        t.negate(t.equal(512 * a + 128 * b, const(0))),
        t.disj([t.less(const(0), a + b), t.less(const(0), b)]),
    ],
)
def test_two_loops(condition: t.Condition) -> None:
    assert past_first(condition, COUNTERS) == {A, B}


@pytest.mark.parametrize(
    "condition",
    [
        t.less(const(128), k),
        t.at_most(const(129), k),
        t.at_most(const(0), k),
        t.less(const(-1), k),
        t.less(k, const(128)),
        t.less(k, S),
        t.equal(k, const(0)),
        t.negate(t.equal(k, const(128))),
        t.conj([t.less(const(0), a), t.less(const(0), b)]),
        t.disj([t.less(const(0), a), t.less(const(1), b)]),
        t.less(b, a),
        t.less(const(0), a - b),
        t.less(const(0), a * b),
        t.less(const(0), a * a),
        t.negate(t.equal(a, b)),
        t.less(const(0), (S - 1) * a),
        t.less(const(0), S),
        t.less(const(0), of_var(Var("c", 3))),
        t.less(const(100), 64 * a + 128 * b),
    ],
)
def test_neither(condition: t.Condition) -> None:
    assert past_first(condition, COUNTERS) is None


def test_decided() -> None:
    assert past_first(t.TRUE, COUNTERS) is None
    assert past_first(t.FALSE, COUNTERS) is None
