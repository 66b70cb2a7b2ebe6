# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which hypotheses a question about integers is asked with."""

from __future__ import annotations

from axon_mlir.semantics import terms as t
from axon_mlir.semantics.hypotheses import connected
from axon_mlir.semantics.index import Var, const, of_var, size

P, Q, R = (of_var(Var(name)) for name in "ijk")
N, M = size("n"), size("m")


def test_what_shares_nothing_with_the_goal_is_left_out() -> None:
    inside, apart = [t.at_most(const(0), P), t.less(P, N)], [t.at_most(const(0), Q), t.less(Q, M)]
    assert connected([*apart, *inside], t.less(P, N + 1)) == inside


def test_what_is_reached_over_others_is_kept_in_order() -> None:
    chain = [t.less(R, M), t.less(Q, R), t.less(P, Q)]
    assert connected(chain, t.less(P, N)) == chain


def test_a_goal_without_symbols_is_asked_of_all() -> None:
    everything = [t.less(P, N), t.less(Q, M)]
    assert connected(everything, t.FALSE) == everything


def test_a_contradiction_by_itself_is_kept() -> None:
    assert connected([t.FALSE, t.less(Q, M)], t.less(P, N)) == [t.FALSE]


def test_comparisons_of_reals_are_no_hypotheses() -> None:
    assert connected([t.RealCompare("<", t.Read("in0", (P,)), t.ONE)], t.less(P, N)) == []
