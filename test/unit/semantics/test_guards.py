# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Folds that loops have cut are put together where that is right, and only there."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from axon_mlir.semantics import terms as t
from axon_mlir.semantics.denotation import range_of
from axon_mlir.semantics.domains import Rationals
from axon_mlir.semantics.evaluate import evaluate_comprehension
from axon_mlir.semantics.index import Index, Var, ceil_div, const, minimum, of_var, size
from axon_mlir.smt.guards import Resolver

N, B, OUT = size("N"), size("B"), Var("o")
V, W, X = Var("v", 9001), Var("w", 9002), Var("x", 9003)
v, w, o = of_var(V), of_var(W), of_var(OUT)
CONTEXT = range_of(OUT, N)


def read(i: Index) -> t.Term:
    return t.Read("in0", (i,))


def tiles(monoid: str, count: Index, extent: Index, body: t.Term) -> t.Term:
    return t.Fold(monoid, V, count, t.Fold(monoid, W, extent, body))


def values(x: t.Term) -> list[object]:
    """The term at sizes that divide and sizes that do not, for every o."""
    out: list[object] = []
    for n, b in product((1, 2, 5, 6), (1, 2, 3, 7)):
        value = t.Comprehension((N,), (OUT,), x)
        array = Rationals().integers(np.arange(1, 40) ** 2 % 17)
        out.append(evaluate_comprehension(value, {"in0": array}, {"N": n, "B": b}, Rationals()).tolist())
    return out


GUARDED = t.select(t.at_most(B * v + w, o), read(B * v + w), t.ZERO)
PREFIX = tiles("sum", o // B, minimum(B, N - B * v), read(B * v + w))
REST = t.Fold("sum", X, o - B * (o // B) + 1, read(B * (o // B) + of_var(X)))
Y, Z = Var("y", 9004), Var("z", 9005)


def product_of(first: Index, count: Index, variable: Var) -> t.Term:
    return t.Fold("prod", variable, count, read(first + of_var(variable)))


def recurrence(first: Index, last: Index, position: Var) -> t.Term:
    """`s = a * s + b` over a range, from 0: its last value."""
    at = first + of_var(position)
    return t.Fold(
        "sum", position, last - first, t.Apply("mul", (read(at + 2), product_of(at + 1, last - 1 - at, Var("i", 9006))))
    )


def after_tiles(count: Index, later: Index) -> t.Term:
    """What a recurrence has come to after some tiles, as the loop over them has it, times the factors of a range from
    there on."""
    inside = recurrence(B * v, minimum(N, B * v + B), W)
    since = t.Fold(
        "prod", Y, count - 1 - v, product_of(B * (v + 1 + of_var(Y)), minimum(B, N - B * (v + 1 + of_var(Y))), X)
    )
    return t.Apply(
        "mul", (t.Fold("sum", V, count, t.Apply("mul", (inside, since))), product_of(later, o + 1 - later, Z))
    )


DONE = B * (o // B)
GROUPED = [t.Apply("add", (read(v), t.Apply("add", (read(v + 1), read(v + 2)))))]
GROUPED.append(t.Apply("add", (t.Apply("add", (read(o + w + 2), read(o + w))), read(o + w + 1))))
LOW, HIGH = (product_of(const(0), o, V), product_of(o, N - o, W))
RIGHT = {
    "a sum twice, and what goes on": (
        t.Apply("add", (t.Apply("add", (t.Fold("sum", V, o, read(v)),) * 2), t.Fold("sum", W, N - o, read(o + w)))),
        2,
    ),
    "the tiles before and this one so far, twice": (t.Apply("add", (t.Apply("add", (PREFIX, REST)),) * 2), 2),
    "the tiles before, twice": (t.Apply("add", (t.Apply("add", (PREFIX,) * 2), t.Apply("add", (REST,) * 2))), 2),
    "a product twice, and what goes on": (t.Apply("mul", (t.Apply("mul", (LOW, LOW)), HIGH)), 2),
    "a recurrence twice, and its factors": (
        t.Apply("mul", (t.Apply("mul", (recurrence(const(0), o, V),) * 2), product_of(o, N - o, W))),
        4,
    ),
    "a recurrence over tiles, and this one so far": (
        t.Apply("add", (after_tiles(o // B, DONE), recurrence(DONE, o + 1, Var("j", 9007)))),
        2,
    ),
    "sums that are grouped in another way": (
        t.Apply("add", (t.Fold("sum", V, o, GROUPED[0]), t.Fold("sum", W, N - o, GROUPED[1]))),
        1,
    ),
    "ragged tiles": (tiles("max", ceil_div(N, B), minimum(B, N - B * v), read(B * v + w)), 1),
    "full tiles": (tiles("sum", N, B, read(B * v + w)), 1),
    "tiles under a guard": (tiles("sum", ceil_div(N, B), minimum(B, N - B * v), GUARDED), 1),
    "the tiles before": (PREFIX, 1),
    "the tiles before and this one so far": (t.Apply("add", (t.ZERO, t.Apply("add", (PREFIX, REST)))), 1),
    "in the other order": (t.Apply("add", (REST, PREFIX)), 1),
    "a fold between": (
        t.Fold(
            "sum",
            V,
            ceil_div(N, B),
            t.Fold("sum", X, const(3), t.Fold("sum", W, minimum(B, N - B * v), read(B * v + w + of_var(X)))),
        ),
        2,
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_put_together(name: str) -> None:
    x, folds = RIGHT[name]
    guards = Resolver()
    y = guards.term(x, CONTEXT)
    assert t.text(y).count(" < ") - t.text(y).count("if") <= folds
    assert guards.lemmas
    assert values(x) == values(y)


def test_what_is_neutral_or_said_twice_leaves() -> None:
    x, y = read(o), read(o + 1)
    low = t.Const("-inf")
    guards = Resolver()
    assert guards.term(t.Apply("max", (t.Apply("max", (low, x)), t.Apply("max", (x, x)))), CONTEXT) is x
    both = t.Apply("max", (x, y))
    assert guards.term(t.Apply("max", (both, t.Apply("max", (low, y)))), CONTEXT) is both
    twice = t.Apply("add", (x, x))
    assert guards.term(t.Apply("add", (t.ZERO, twice)), CONTEXT) is twice
    assert guards.term(t.Apply("max", (low, low)), CONTEXT) is not x


WRONG = {
    "tiles that overlap": tiles("sum", ceil_div(N, B), minimum(B, N - B * v), read(v + w)),
    "one tile too many": tiles("sum", ceil_div(N, B) + 1, B, read(v + B * w)),
    "a tile longer than the step": tiles("sum", ceil_div(N, B), minimum(B + 1, N - B * v), read(B * v + w)),
    "a factor of the tile": tiles(
        "sum", ceil_div(N, B), minimum(B, N - B * v), t.Apply("mul", (t.index_value(v), read(B * v + w)))
    ),
    "a gap between": t.Apply("add", (t.Fold("sum", V, o, read(v)), t.Fold("sum", W, N - o, read(o + w + 1)))),
    "a product that goes on one later": t.Apply("mul", (recurrence(const(0), o, V), product_of(o + 1, N - o - 1, X))),
    "a product that has gone on": t.Apply("mul", (recurrence(const(0), o, V), product_of(o - 1, N - o, X))),
    "another monoid": t.Apply("max", (t.Fold("sum", V, o, read(v)), t.Fold("sum", W, N - o, read(o + w)))),
    "a range that may be less than nothing": t.Apply(
        "add", (t.Fold("sum", V, o - 1, read(v)), t.Fold("sum", W, N - o, read(o - 1 + w)))
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_left_alone(name: str) -> None:
    guards = Resolver()
    assert guards.term(WRONG[name], CONTEXT) is WRONG[name]
    assert not guards.lemmas


@pytest.mark.parametrize("monoid", ["sum", "max", "min", "prod"])
def test_a_tiling_is_one_fold(monoid: str) -> None:
    guards = Resolver()
    found = guards.term(tiles(monoid, ceil_div(N, B), minimum(B, N - B * v), read(B * v + w)), CONTEXT)
    assert isinstance(found, t.Fold) and found.extent == N
    assert not isinstance(found.body, t.Fold)
    assert guards.lemmas == {"tile"}
    assert t.conj([t.at_most(const(0), N), t.at_most(const(1), B)]) in [goal for _, goal in guards.decided]


NO_TILINGS = {
    "another step": tiles("sum", ceil_div(N, B), minimum(B, N - B * v), read(B * v + 2 * w)),
    "an element missing": tiles("sum", ceil_div(N, B), minimum(B, N - B * v - 1), read(B * v + w)),
    "two folds": t.Fold("max", V, ceil_div(N, B), t.Fold("sum", W, minimum(B, N - B * v), read(B * v + w))),
}


@pytest.mark.parametrize("name", NO_TILINGS)
def test_what_is_no_tiling_stays(name: str) -> None:
    guards = Resolver()
    assert guards.term(NO_TILINGS[name], CONTEXT) is NO_TILINGS[name]
    assert not guards.lemmas


@pytest.mark.parametrize(
    ("count", "extent", "covered"),
    [
        (ceil_div(N, B) - 1, minimum(B, N - B * v), B * (ceil_div(N, B) - 1)),
        (ceil_div(N, B), B, B * ceil_div(N, B)),
    ],
    ids=["a tile missing", "a last tile not cut"],
)
def test_tiles_of_another_range_are_a_fold_over_that(count: Index, extent: Index, covered: Index) -> None:
    found = Resolver().term(tiles("sum", count, extent, read(B * v + w)), CONTEXT)
    assert isinstance(found, t.Fold) and found.extent == covered


CHOICE = t.select(t.less(o, B), t.ONE, t.ZERO)


@pytest.mark.parametrize(
    "relation,left,right,wanted",
    [
        ("==", CHOICE, t.ONE, t.less(o, B)),
        ("==", CHOICE, t.ZERO, t.negate(t.less(o, B))),
        ("<", t.ZERO, CHOICE, t.less(o, B)),
        ("<=", CHOICE, t.ZERO, t.negate(t.less(o, B))),
        ("<=", CHOICE, t.ONE, t.TRUE),
        ("<", CHOICE, t.ZERO, t.FALSE),
    ],
)
def test_a_choice_between_numbers_compared_with_a_number(
    relation: str, left: t.Term, right: t.Term, wanted: t.Condition
) -> None:
    assert Resolver().condition(t.RealCompare(relation, left, right), CONTEXT) == wanted


def test_a_choice_between_other_terms_stays_compared() -> None:
    c = t.RealCompare("==", t.select(t.less(o, B), read(o), t.ZERO), t.ZERO)
    assert Resolver().condition(c, CONTEXT) == c


K = Var("k", 9007)
k = of_var(K)
HALF = (k + 1) // 2
SAME_PLACES = (
    # Every second element, from the second on: by a remainder, by what a quotient leaves, in another order.
    t.conj([t.at_most(const(1), k), t.equal(k + 1 - 2 * HALF, const(0))]),
    t.conj([t.at_most(const(0), HALF - 1), t.less(k, 2 * HALF)]),
    t.conj([t.less(k, 2 * HALF), t.less(const(0), HALF)]),
    t.conj([t.at_most(k + 1, 2 * HALF), t.at_most(const(2), k + 1)]),
)


@pytest.mark.parametrize("places", SAME_PLACES, ids=t.text)
def test_comparisons_with_a_quotient_have_one_form(places: t.Condition) -> None:
    def resolved(c: t.Condition) -> t.Term:
        return Resolver().term(t.Fold("sum", K, 2 * N, t.select(c, read(k), t.ZERO)), CONTEXT)

    assert values(resolved(places)) == values(t.Fold("sum", K, 2 * N, t.select(SAME_PLACES[0], read(k), t.ZERO)))
    mine, first = (conditions(resolved(c)) for c in (places, SAME_PLACES[0]))
    assert mine == first


def conditions(x: t.Term) -> set[str]:
    """What the choice in a fold compares, by what lies between both sides."""
    assert isinstance(x, t.Fold) and isinstance(x.body, t.Select)
    return {f"{c.relation} {sorted((str(c.left - c.right), str(c.right - c.left)))}" for c in _compared(x.body)}


def _compared(x: t.Select) -> list[t.IndexCompare]:
    return [c for c in t.comparisons(x.condition) if isinstance(c, t.IndexCompare)]


def test_a_comparison_with_a_quotient_does_not_know_the_tile() -> None:
    """Elements by tiles of 4, each in terms of its tile: one fold over the range."""
    at = k + 4 * v
    inside = t.conj([t.at_most(const(0), 2 * v + HALF - 1), t.less(k, 2 * HALF)])
    x = t.Fold(
        "sum",
        V,
        ceil_div(2 * N, const(4)),
        t.Fold("sum", K, minimum(const(4), 2 * N - 4 * v), t.select(inside, read(at), t.ZERO)),
    )
    done = Resolver().term(x, CONTEXT)
    assert isinstance(done, t.Fold) and not isinstance(done.body, t.Fold)
    assert values(done) == values(x)
