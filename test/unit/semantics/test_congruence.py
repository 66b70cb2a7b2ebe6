# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is equal part by part, and what is not."""

from __future__ import annotations

import pytest

from axon_mlir.semantics import terms as t
from axon_mlir.semantics.congruence import Congruence, part_by_part
from axon_mlir.semantics.denotation import range_of
from axon_mlir.semantics.index import Index, Var, const, of_var, size
from axon_mlir.semantics.partial import conditions

N, M = size("N"), size("M")
OUT = Var("o")
o = of_var(OUT)
CONTEXT = range_of(OUT, N)


def read(*indices: Index) -> t.Term:
    return t.Read("x", indices)


def apply(f: str, *args: t.Term) -> t.Term:
    return t.Apply(f, args)


def total(body: object, extent: Index = N, monoid: str = "sum", name: str = "k") -> t.Term:
    """A fold over a new variable."""
    v = Var(name, 70_000 + total.count)
    total.count += 1
    assert callable(body)
    return t.Fold(monoid, v, extent, body(of_var(v)))


total.count = 0


def softmax_like(s: t.Term) -> t.Term:
    """Something deep: the fold of s stands in several places."""
    rows = total(lambda k: apply("exp", apply("mul", read(o, k), s)))
    return apply("div", apply("exp", apply("mul", read(o, o), s)), rows)


def nested(order: bool) -> t.Term:
    """`sum over i of sum over j`, the inner one at i or not."""
    return total(lambda i: total(lambda j: read(i, j) if order else read(j, i), M), N)


EQUAL = {
    "other names": (nested(True), nested(True)),
    "the sum of a mean": (
        softmax_like(apply("div", total(lambda k: read(o, k)), t.index_value(N))),
        softmax_like(apply("mul", total(lambda k: read(o, k)), apply("reciprocal", t.index_value(N)))),
    ),
    "operands in the other order": (
        softmax_like(apply("add", read(o), total(lambda k: read(k)))),
        softmax_like(apply("add", total(lambda k: read(k)), read(o))),
    ),
    "what is equal inside of what is spelled otherwise": (
        apply("div", softmax_like(apply("div", total(lambda k: read(o, k)), t.index_value(N))), read(o)),
        apply(
            "mul",
            softmax_like(apply("mul", total(lambda k: read(o, k)), apply("reciprocal", t.index_value(N)))),
            apply("reciprocal", read(o)),
        ),
    ),
    "comparisons by what lies between": (
        softmax_like(t.select(t.less(o, M), read(o), t.ZERO)),
        softmax_like(t.select(t.at_most(o + 1 - M, const(0)), read(o), t.ZERO)),
    ),
    "equalities from either side": (
        softmax_like(t.select(t.equal(o, M), read(o), t.ZERO)),
        softmax_like(t.select(t.equal(M - o, const(0)), read(o), t.ZERO)),
    ),
    "a function as its definition": (
        apply("sigmoid", softmax_like(total(lambda k: read(o, k)))),
        apply(
            "reciprocal",
            apply("add", t.ONE, apply("exp", apply("mul", t.number(-1), softmax_like(total(lambda k: read(o, k)))))),
        ),
    ),
    "a fraction of one": (apply("div", t.ONE, nested(True)), apply("reciprocal", nested(True))),
    "under a choice": (
        t.select(t.less(o, M), apply("square", total(lambda k: read(o, k))), t.ZERO),
        t.select(t.less(o, M), apply("mul", total(lambda k: read(o, k)), total(lambda k: read(o, k))), t.ZERO),
    ),
}
DIFFERENT = {
    "transposed": (nested(True), nested(False)),
    "another extent": (total(lambda k: read(k), N), total(lambda k: read(k), M)),
    "another monoid": (total(lambda k: read(k)), total(lambda k: read(k), N, "prod")),
    "a fold at another index": (
        total(lambda i: total(lambda j: apply("mul", read(i, j), total(lambda k: read(k, i)))), M),
        total(lambda i: total(lambda j: apply("mul", read(i, j), total(lambda k: read(k, j)))), M),
    ),
    "operands of a difference": (
        softmax_like(apply("sub", read(o), total(lambda k: read(k)))),
        softmax_like(apply("sub", total(lambda k: read(k)), read(o))),
    ),
    "what differs inside of what is spelled otherwise": (
        apply("div", softmax_like(total(lambda k: read(o, k))), read(o)),
        apply("mul", softmax_like(total(lambda k: read(k, o))), apply("reciprocal", read(o))),
    ),
    "a comparison that is off by one": (
        softmax_like(t.select(t.less(o, M), read(o), t.ZERO)),
        softmax_like(t.select(t.at_most(o - M, const(0)), read(o), t.ZERO)),
    ),
    "another condition": (t.select(t.less(o, M), read(o), t.ZERO), t.select(t.less(M, o), read(o), t.ZERO)),
    "inside and outside of an inner fold": (
        total(lambda i: total(lambda j: total(lambda k: read(i, k)), M), M),
        total(lambda i: total(lambda j: total(lambda k: read(j, k)), M), const(3)),
    ),
    "a function and its argument": (apply("reciprocal", nested(True)), nested(True)),
    "a fraction of something else": (apply("div", read(o), nested(True)), apply("reciprocal", nested(True))),
    "another function's definition": (
        apply("sigmoid", nested(True)),
        apply("reciprocal", apply("add", t.ONE, apply("exp", nested(True)))),
    ),
    "shallow against deep": (
        total(lambda i: read(i, o), M),
        total(lambda i: total(lambda j: total(lambda k: read(i, o), N), N), M),
    ),
}


@pytest.mark.parametrize("name", EQUAL)
def test_equal(name: str) -> None:
    x, y = EQUAL[name]
    assert Congruence().equal(x, y) and Congruence().equal(y, x)


@pytest.mark.parametrize("name", DIFFERENT)
def test_different(name: str) -> None:
    x, y = DIFFERENT[name]
    assert not Congruence().equal(x, y) and not Congruence().equal(y, x)


def test_a_variable_is_not_taken_for_another() -> None:
    """Folds of different depth name their variables alike; the one is not to be caught by the other."""
    inner = total(lambda k: read(k, o), N)
    deep = total(lambda i: apply("add", read(i, o), total(lambda j: apply("mul", read(i, j), inner), N)), M)
    flat = total(lambda i: apply("add", read(i, o), total(lambda j: apply("mul", read(j, i), inner), N)), M)
    assert not Congruence().equal(deep, flat)


def test_conditions_of_the_first_are_those_of_the_second() -> None:
    def program(divisor: t.Term) -> t.Term:
        return total(lambda k: apply("div", read(o, k), apply("add", divisor, read(k))))

    x, y, z = program(read(o)), program(read(o)), program(read(o + 1))
    lemmas: set[str] = set()
    known = conditions(x, CONTEXT)
    assert len(known) == 1
    assert part_by_part(x, y, known, conditions(y, CONTEXT), lemmas) == (True, [])
    wanted = conditions(z, CONTEXT)
    assert part_by_part(x, z, known, wanted, lemmas) == (False, wanted)
    # The same argument in a narrower place is another condition.
    narrow = conditions(t.select(t.less(o, M), y, t.ZERO), CONTEXT)
    assert part_by_part(x, y, narrow, conditions(y, CONTEXT), lemmas)[1] == conditions(y, CONTEXT)


def test_conditions_that_hold_for_their_form_are_not_left() -> None:
    """A square root of a mean of squares is defined, in whatever place it stands."""
    mean = apply("div", total(lambda k: apply("square", read(o, k))), t.index_value(N))
    y = t.select(t.less(o, M), apply("sqrt", mean), t.ZERO)
    lemmas: set[str] = set()
    assert part_by_part(t.ZERO, y, [], conditions(y, CONTEXT), lemmas) == (False, [])
    assert "nonnegative" in lemmas
    z = apply("sqrt", total(lambda k: read(o, k)))
    assert part_by_part(t.ZERO, z, [], conditions(z, CONTEXT), lemmas)[1] == conditions(z, CONTEXT)


def test_a_definition_is_not_put_into_normal_form(monkeypatch: pytest.MonkeyPatch) -> None:
    """Division beside multiplication by the reciprocal is common, and its operands may be large."""
    monkeypatch.setattr(Congruence, "_forms", lambda *_: False)
    for name in ("a function as its definition", "a fraction of one"):
        x, y = EQUAL[name]
        assert Congruence().equal(x, y) and Congruence().equal(y, x)
