# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which hypotheses a question about integers is asked with."""

from __future__ import annotations

from axon_mlir.semantics import terms as t
from axon_mlir.semantics.hypotheses import connected, inequalities, quotients_within
from axon_mlir.semantics.index import Index, Var, const, floor_div, of_var, size

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


def quotients(number: Index, divisor: Index, *hypotheses: t.Condition) -> list[Index]:
    (((atoms, _),)) = floor_div(number, divisor).terms
    return list(quotients_within(atoms, [e for h in hypotheses for e in inequalities(h)]))


def test_a_number_below_a_multiple_has_a_quotient_below() -> None:
    q = floor_div(P, M)
    assert quotients(P, M, t.less(P, N * M)) == [N - 1 - q]
    assert quotients(P, M, t.at_most(3 * M, P)) == [q - 3]
    assert quotients(P, M, t.less(P, N)) == []
    assert quotients(P, M, t.less(P, N * M + 1)) == []


def test_nothing_is_said_of_what_may_be_divided_by_zero() -> None:
    assert quotients(P, M - 1, t.less(P, N * (M - 1))) == []
