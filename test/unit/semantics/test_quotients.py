# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quotients that the ranges of what is divided decide."""

from __future__ import annotations

from itertools import product

import pytest
from audit import cases
from hypothesis import given, settings
from hypothesis import strategies as st

from axon_mlir.semantics import terms as t
from axon_mlir.semantics.index import Index, Size, Var, const, evaluate, of_var, size
from axon_mlir.semantics.quotients import below, ends, narrowed, settled, settled_term

ROW, COLUMN = Var("i"), Var("j")
K, M = size("K"), size("M")
BOTH = below({ROW: const(6), COLUMN: const(4)})


def test_what_is_less_than_one_period_is_zero() -> None:
    assert settled((4 * of_var(ROW) + of_var(COLUMN)) // 24, BOTH) == 0
    assert settled((4 * of_var(ROW) + of_var(COLUMN)) // 4, BOTH) == of_var(ROW)
    assert settled((4 * of_var(ROW) + of_var(COLUMN)) // 8, BOTH) == of_var(ROW) // 2


def test_sizes_need_no_numbers() -> None:
    ranges = below({ROW: M, COLUMN: K})
    assert settled((K * of_var(ROW) + of_var(COLUMN)) // (K * M), ranges) == 0
    assert settled((K * of_var(ROW) + of_var(COLUMN)) // K, ranges) == of_var(ROW)
    assert settled((K * of_var(ROW) + of_var(COLUMN) + 1) // K, ranges) != of_var(ROW)


def test_a_remainder_is_less_than_what_it_is_of() -> None:
    ranges = below({ROW: const(2048)})
    i = of_var(ROW)
    assert settled((i % 64 + 64 * (i // 256)) // 512, ranges) == 0
    assert ends(i % 64, ranges) == (const(0), const(63))


def test_conditions_narrow_ranges() -> None:
    below_two = t.less(of_var(COLUMN), const(2))
    assert narrowed(BOTH, below_two)[COLUMN] == (const(0), const(1))
    assert narrowed(BOTH, t.negate(below_two))[COLUMN] == (const(2), const(3))
    assert narrowed(BOTH, t.equal(of_var(COLUMN), const(2)))[COLUMN] == (const(2), const(2))
    # Of two variables nothing is said, and what is known is not widened.
    assert narrowed(BOTH, t.less(of_var(COLUMN), of_var(ROW))) == BOTH
    assert narrowed(BOTH, t.less(of_var(COLUMN), const(9)))[COLUMN] == BOTH[COLUMN]


def test_a_choice_settles_what_stands_in_it() -> None:
    """What the branches of a concatenation of two rows read, one row of two elements after the other."""
    low = t.Read("x", ((2 * of_var(ROW) + of_var(COLUMN)) // 12,))
    high = t.Read("x", ((12 + 2 * of_var(ROW) + of_var(COLUMN) - 2) // 12,))
    choice = t.select(t.less(of_var(COLUMN), const(2)), low, high)
    made = settled_term(choice, BOTH)
    assert isinstance(made, t.Select)
    assert made.then == t.Read("x", (const(0),))
    assert made.otherwise == t.Read("x", (const(1),))


def test_a_condition_is_settled_before_it_is_used() -> None:
    """`j - 4 * (j // 4) < 2` is `j < 2`."""
    choice = t.select(t.less(of_var(COLUMN) % 4, const(2)), t.Read("x", (of_var(COLUMN) // 2,)), t.ZERO)
    made = settled_term(choice, BOTH)
    assert isinstance(made, t.Select) and made.then == t.Read("x", (const(0),))


def test_a_variable_has_the_range_of_its_fold() -> None:
    read = t.Read("x", (of_var(COLUMN) // 3,))
    inside = settled_term(
        t.Apply("add", (t.Fold("sum", COLUMN, const(3), read), t.Fold("max", COLUMN, const(5), read))), {}
    )
    assert isinstance(inside, t.Apply)
    first, second = inside.args
    assert isinstance(first, t.Fold) and first.body == t.Read("x", (const(0),))
    assert isinstance(second, t.Fold) and second.body == read


NUMBERS = st.integers(1, 6)
TERMS = st.recursive(
    st.sampled_from([of_var(ROW), of_var(COLUMN), K, M]) | st.integers(0, 7).map(const),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda p: p[0] + p[1]),
        st.tuples(inner, inner).map(lambda p: p[0] - p[1]),
        st.tuples(st.integers(1, 5), inner).map(lambda p: p[0] * p[1]),
        st.tuples(inner, st.sampled_from([const(2), const(3), const(4), const(12), K, K * M, 2 * K])).map(
            lambda p: p[0] // p[1]
        ),
        inner.map(lambda i: K * i),
    ),
    max_leaves=8,
)


@settings(max_examples=cases(300, 5000))
@given(i=TERMS, k=NUMBERS, m=NUMBERS, extents=st.sampled_from([(const(6), const(4)), (M, K), (K * M, const(5))]))
def test_settling_changes_no_value(i: Index, k: int, m: int, extents: tuple[Index, Index]) -> None:
    ranges = below({ROW: extents[0], COLUMN: extents[1]})
    made, bounds = settled(i, ranges), ends(i, ranges)
    sizes: dict[Size | Var, int] = {Size("K"): k, Size("M"): m}
    most = [int(evaluate(n, sizes)) for n in extents]
    for a, b in product(range(most[0]), range(most[1])):
        env = {**sizes, ROW: a, COLUMN: b}
        assert evaluate(made, env) == evaluate(i, env)
        if bounds is not None:
            assert evaluate(bounds[0], sizes) <= evaluate(i, env) <= evaluate(bounds[1], sizes)


@settings(max_examples=cases(200, 3000))
@given(
    i=TERMS,
    relation=st.sampled_from([t.less, t.at_most, t.equal]),
    sign=st.sampled_from([1, -1]),
    at=st.integers(-2, 7),
    negated=st.booleans(),
)
def test_narrowing_keeps_where_the_condition_holds(
    i: Index, relation: object, sign: int, at: int, negated: bool
) -> None:
    assert callable(relation)
    condition = relation(sign * of_var(ROW), const(at))
    condition = t.negate(condition) if negated else condition
    made = settled(i, narrowed(BOTH, condition))
    for a, b, k, m in product(range(6), range(4), (1, 3), (1, 2)):
        env: dict[Size | Var, int] = {Size("K"): k, Size("M"): m, ROW: a, COLUMN: b}
        holds = {t.less: sign * a < at, t.at_most: sign * a <= at, t.equal: sign * a == at}[relation] != negated
        if holds:
            assert evaluate(made, env) == evaluate(i, env)


@pytest.mark.parametrize("extent", [const(0), const(1)])
def test_a_range_of_nothing_says_nothing_wrong(extent: Index) -> None:
    assert settled(of_var(ROW) // 4, below({ROW: extent})) == 0
