# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The normal form is sound (equal forms, equal values) and knows the moves it promises."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from audit import cases
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from axon_mlir.semantics import terms as t
from axon_mlir.semantics.denotation import UNDEFINED, is_whole
from axon_mlir.semantics.domains import Floats
from axon_mlir.semantics.evaluate import evaluate_comprehension
from axon_mlir.semantics.index import Index, Size, Var, ceil_div, const, fresh_var, minimum, of_var, size
from axon_mlir.semantics.normal import LEMMAS, Normalizer, Poly, poly_text

Array = np.ndarray[Any, Any]
K, N, S = size("K"), size("N"), size("S")


def form(x: t.Term) -> Poly:
    return Normalizer().term(x)


def read(name: str, *indices: Index) -> t.Term:
    return t.Read(name, indices)


def apply(function: str, *args: t.Term) -> t.Term:
    return t.Apply(function, args)


def mul(*args: t.Term) -> t.Term:
    out = args[0]
    for a in args[1:]:
        out = apply("mul", out, a)
    return out


def add(*args: t.Term) -> t.Term:
    out = args[0]
    for a in args[1:]:
        out = apply("add", out, a)
    return out


def number(value: str | int) -> t.Term:
    return t.Const(Fraction(value))


def power(x: t.Term, e: str | int) -> t.Term:
    return apply("power", x, number(e))


def total(extent: Index, body: Callable[[Index], t.Term], monoid: str = "sum") -> t.Term:
    v = fresh_var("k")
    return t.Fold(monoid, v, extent, body(of_var(v)))


# Random terms over x, y, z (rank 0), a[k] and b[k, q], sizes, folds, guards. `scope` are the indices in reach.


@st.composite
def scalars(draw: st.DrawFn, depth: int, scope: tuple[Index, ...] = ()) -> t.Term:
    kind = draw(st.integers(0, 5 if depth == 0 else 24))
    if kind < 6:
        return draw(_atoms(scope))

    def inner() -> t.Term:
        return draw(scalars(depth - 1, scope))

    if kind < 10:
        return apply(draw(st.sampled_from(["add", "sub"])), inner(), inner())
    if kind < 14:
        return apply("mul", inner(), inner())
    if kind < 17:
        return power(inner(), draw(st.sampled_from(["2", "-1", "1/2", "-1/2", "3", "-2", "3/2", "1/3", "0"])))
    match kind:
        case 17:
            return apply(draw(st.sampled_from(["exp", "log", "neg", "abs", "relu", "tanh", "sigmoid", "sin"])), inner())
        case 18:
            return apply(draw(st.sampled_from(["max", "min"])), inner(), inner())
        case 19:
            return apply("div", inner(), inner())
        case 20:
            return apply(draw(st.sampled_from(["square", "sqrt", "rsqrt", "reciprocal", "exp"])), inner())
        case 21:
            relation = draw(st.sampled_from(["<", "<=", "=="]))
            condition: t.Condition = t.RealCompare(relation, inner(), inner())
            if scope and draw(st.booleans()):
                condition = t.less(draw(st.sampled_from(scope)), const(draw(st.integers(0, 3))))
            return t.select(condition, inner(), inner())
        case _:
            v = fresh_var("k")
            extents = [K, N, N, const(2), ceil_div(N, 2), *(s + 1 for s in scope), *scope, *(s - 1 for s in scope)]
            monoid = draw(st.sampled_from(["sum", "sum", "sum", "max", "min", "prod"]))
            body = draw(scalars(depth - 1, (*scope, of_var(v))))
            return t.fold(monoid, v, draw(st.sampled_from(extents)), body)


def _atoms(scope: tuple[Index, ...], positions: bool = True) -> st.SearchStrategy[t.Term]:
    fixed = [read("x"), read("y"), read("z"), number(2), number(-1), number("1/2"), number(0), number(1)]
    fixed += [t.IndexValue(K), t.IndexValue(N)]
    for s in scope:
        fixed += [read("a", s), read("a", s), read("b", s, s)]
        fixed += [t.IndexValue(s)] if positions else []
        fixed += [read("b", s, r) for r in scope]
    return st.sampled_from(fixed)


SIZES = {"K": 3, "N": 4, "S": 2}


def environments() -> list[dict[str, Array]]:
    """Arrays of positive elements, of both signs, and with zeros."""
    out: list[dict[str, Array]] = []
    for seed, (low, high) in enumerate([(0.3, 1.7), (-1.7, 1.7), (-1.2, 0.4), (1.1, 2.3)]):
        rng = np.random.default_rng(seed)
        out.append(
            {
                "x": np.asarray(rng.uniform(low, high)),
                "y": np.asarray(rng.uniform(low, high)),
                "z": np.asarray(rng.uniform(low, high)),
                "a": rng.uniform(low, high, 8),
                "b": rng.uniform(low, high, (8, 8)),
            }
        )
    out[1]["z"] = np.asarray(0.0)
    return out


ENVIRONMENTS = environments()


class Strict(Floats):
    """Doubles that notice a function applied outside its domain, or grown beyond what doubles tell apart."""

    undefined = False

    def apply(self, function: str, args: Sequence[Array]) -> Array:
        out = super().apply(function, args)
        # An infinite argument is the value of an empty maximum, a number like others for `max`, `min` and `exp`.
        from_infinite = np.isinf(out) & np.any([np.any(np.isinf(a)) for a in args])
        self.undefined |= bool(np.any(np.isnan(out) | ((np.abs(out) > 1e6) & ~from_infinite)))
        return out


def value(x: t.Term, arrays: dict[str, Array]) -> float:
    """The value of a term without free variables but `m`; NaN where a part of it is not defined."""
    strict = Strict()
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        closed = t.substitute(x, {Var("m"): const(1)})
        out = float(evaluate_comprehension(t.Comprehension((), (), closed), arrays, SIZES, strict))
    return np.nan if strict.undefined or not abs(out) < 1e6 else out


def defined(x: t.Term, arrays: dict[str, Array]) -> bool:
    return not np.isnan(value(x, arrays))


def agree(x: t.Term, y: t.Term) -> bool:
    """Whether the terms have one value wherever both are defined."""
    for arrays in ENVIRONMENTS:
        if defined(x, arrays) and defined(y, arrays):
            a, b = value(x, arrays), value(y, arrays)
            if abs(a - b) > 1e-6 * max(1, abs(a), abs(b)):
                return False
    return True


# What a form says, evaluated by itself: an independent reading of `Poly`.


class _Reading:
    def __init__(self, arrays: dict[str, Array]):
        self.arrays = arrays

    def index(self, i: Index, env: dict[Size | Var, int]) -> int:
        from axon_mlir.semantics.index import evaluate

        return int(evaluate(i, {**{Size(k): v for k, v in SIZES.items()}, **env}))

    def poly(self, p: Poly, env: dict[Size | Var, int]) -> float:
        return float(sum(float(c) * self.mono(m, env) for m, c in p.terms))

    def mono(self, m: Any, env: dict[Size | Var, int]) -> float:
        out = 1.0
        for a, e in m:
            out *= np.power(np.float64(self.atom(a, env)), float(e)) if e != 1 else self.atom(a, env)
        return float(out)

    def atom(self, a: Any, env: dict[Size | Var, int]) -> float:
        from axon_mlir.semantics import normal as nf
        from axon_mlir.semantics.functions import FUNCTIONS, MONOIDS

        match a:
            case nf.Integer(x):
                return self.index(Index({(x,): 1}), env)
            case nf.Element(name, indices):
                array = self.arrays[name]
                at = [min(max(self.index(i, env), 0), n - 1) for i, n in zip(indices, array.shape, strict=True)]
                return float(array[tuple(at)])
            case nf.Prime(p):
                return p
            case nf.Base(p):
                return self.poly(p, env)
            case nf.Exp(m):
                return float(np.exp(self.mono(m, env)))
            case nf.Opaque(f, args):
                return float(FUNCTIONS[f].numpy(*(np.float64(self.poly(x, env)) for x in args)))
            case nf.Extreme(kind, args):
                return {"max": np.max, "min": np.min}[kind]([self.poly(x, env) for x in args])
            case nf.Sum(binders, m):
                # A range may depend on any other variable: count all of them up, then ask each whether it is inside.
                return self.sum([*binders], m, env)
            case nf.OtherFold(monoid, v, n, body):
                values = [self.poly(body, {**env, v: k}) for k in range(self.index(n, env))]
                return float(MONOIDS[monoid].ufunc.reduce(values)) if values else MONOIDS[monoid].neutral
            case nf.Guarded():
                return self.poly(a.then if self.condition(nf.guard_condition(a), env) else a.otherwise, env)
            case nf.Infinity(positive):
                return np.inf if positive else -np.inf
            case _:
                raise AssertionError(a)

    def sum(self, binders: list[tuple[Var, Index]], m: Any, env: dict[Size | Var, int]) -> float:
        if not binders:
            return self.mono(m, env)
        v, n = next(b for b in binders if not any(w in b[1].symbols() for w, _ in binders))
        rest = [b for b in binders if b[0] != v]
        return float(sum(self.sum(rest, m, {**env, v: k}) for k in range(self.index(n, env))))

    def condition(self, c: t.Condition, env: dict[Size | Var, int]) -> bool:
        from axon_mlir.semantics.normal import Normalizer

        match c:
            case t.IndexCompare(r, a, b):
                x, y = self.index(a, env), self.index(b, env)
            case t.RealCompare(r, a, b):
                binding = {v: const(k) for v, k in env.items()}
                x, y = (self.poly(Normalizer().term(t.substitute(z, binding)), {}) for z in (a, b))
            case t.And(parts):
                return all(self.condition(p, env) for p in parts)
            case t.Or(parts):
                return any(self.condition(p, env) for p in parts)
            case t.Not(p):
                return not self.condition(p, env)
            case _:
                raise AssertionError(c)
        return x < y if r == "<" else x <= y if r == "<=" else x == y


def reading(p: Poly, arrays: dict[str, Array]) -> float:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _Reading(arrays).poly(p, {})


@settings(max_examples=cases(250, 6000))
@given(scalars(4))
def test_a_form_has_the_value_of_its_term(x: t.Term) -> None:
    p = form(x)
    for arrays in ENVIRONMENTS:
        if defined(x, arrays):
            want, got = value(x, arrays), reading(p, arrays)
            if np.isfinite(got) and abs(want) < 1e6:
                assert got == pytest.approx(want, rel=1e-5, abs=1e-6), (t.text(x), poly_text(p))


@settings(max_examples=cases(250, 6000))
@given(scalars(3), scalars(3))
def test_different_values_have_different_forms(x: t.Term, y: t.Term) -> None:
    normal = Normalizer()
    if normal.term(x) == normal.term(y):
        assert agree(x, y), (t.text(x), t.text(y), poly_text(normal.term(x)))


def test_small_terms_against_each_other() -> None:
    """All pairs of a few hundred small terms: equal forms only where the values are equal."""
    x, y, n = read("x"), read("y"), t.IndexValue(N)
    atoms = [x, y, number(2), number(-1), n, mul(x, x), apply("neg", x)]
    grown = list(atoms)
    for a in atoms:
        grown += [power(a, e) for e in ("2", "-1", "1/2", "-1/2", "3/2")]
        grown += [apply("exp", a), apply("abs", a), apply("log", a)]
    for a in atoms[:5]:
        for b in atoms:
            grown += [mul(a, b), add(a, b), apply("max", a, b), apply("min", a, b), power(mul(a, b), "1/2")]
            grown += [
                power(mul(a, b, b), "1/2"),
                mul(power(a, "1/2"), power(b, "1/2")),
                power(power(mul(a, b), "2"), "1/2"),
            ]
            grown += [apply("exp", add(a, b)), mul(apply("exp", a), apply("exp", b)), power(add(a, b), "-1")]
    normal = Normalizer()
    classes: dict[Poly, list[t.Term]] = {}
    for g in grown:
        classes.setdefault(normal.term(g), []).append(g)
    assert len(classes) < len(set(grown))
    for members in classes.values():
        for other in members[1:]:
            assert agree(members[0], other), (t.text(members[0]), t.text(other))


# Moves that hold, applied at random.


@st.composite
def moved(draw: st.DrawFn, depth: int, scope: tuple[Index, ...] = ()) -> tuple[t.Term, t.Term]:
    """Two spellings of one term."""
    kind = draw(st.integers(0, 13 if depth else 0))
    if kind == 0:
        # A position used as a number does not follow its tile: S * o + i is split into two sums.
        x = draw(_atoms(scope, positions=False))
        return x, x

    def pair() -> tuple[t.Term, t.Term]:
        return draw(moved(depth - 1, scope))

    def under(extent: Index) -> tuple[Var, Var, t.Term, t.Term]:
        v, w = fresh_var("v"), fresh_var("w")
        x, y = draw(moved(depth - 1, (*scope, of_var(v))))
        return v, w, x, t.substitute(y, {v: of_var(w)})

    match kind:
        case 1:
            (a, b), (c, d) = pair(), pair()
            return add(a, c), add(d, b)
        case 2:
            (a, b), (c, d) = pair(), pair()
            return mul(a, c), mul(d, b)
        case 3:
            (a, b), (c, d), (e, f) = pair(), pair(), pair()
            return mul(a, add(c, e)), add(mul(b, d), mul(f, b))
        case 4:
            (a, b), (c, d) = pair(), pair()
            return apply("sub", a, c), add(apply("neg", d), b)
        case 5:
            (a, b), (c, d) = pair(), pair()
            return apply("div", a, c), mul(apply("reciprocal", d), b)
        case 6:
            a, b = pair()
            return apply("square", a), mul(b, b)
        case 7:
            a, b = pair()
            return apply("rsqrt", a), power(apply("sqrt", b), -1)
        case 8:
            (a, b), (c, d) = pair(), pair()
            return apply("exp", add(a, c)), mul(apply("exp", d), apply("exp", b))
        case 9:
            (a, b), (c, d) = pair(), pair()
            return apply("max", a, apply("max", c, a)), apply("max", d, b)
        case 10:
            (c, d), (v, w, x, y) = pair(), under(N)
            return t.Fold("sum", v, N, mul(x, c)), mul(d, t.Fold("sum", w, N, y))
        case 11:
            (v, w, x, y), (v1, w1, x1, y1) = under(K), under(K)
            joined = t.Fold("sum", v, K, add(x, t.substitute(x1, {v1: of_var(v)})))
            return joined, add(t.Fold("sum", w1, K, y1), t.Fold("sum", w, K, y))
        case 12:
            v, w, x, y = under(N)
            o, i = fresh_var("o"), fresh_var("i")
            inner = t.Fold("sum", i, minimum(S, N - S * of_var(o)), t.substitute(x, {v: S * of_var(o) + of_var(i)}))
            return t.Fold("sum", o, ceil_div(N, S), inner), t.Fold("sum", w, N, y)
        case _:
            v, w, x, y = under(K)
            u, q = fresh_var("u"), fresh_var("q")
            other = draw(_atoms((*scope, of_var(u), of_var(q)), positions=False))
            one = t.Fold("sum", v, K, t.Fold("sum", u, N, mul(x, t.substitute(other, {q: of_var(v)}))))
            u2 = fresh_var("u")
            second = t.substitute(t.substitute(other, {q: of_var(w)}), {u: of_var(u2)})
            return one, t.Fold("sum", u2, N, t.Fold("sum", w, K, mul(y, second)))


@settings(max_examples=cases(200, 4000))
@given(moved(3))
def test_moves_that_hold(pair: tuple[t.Term, t.Term]) -> None:
    x, y = pair
    assert agree(x, y)
    assume(any(defined(x, arrays) for arrays in ENVIRONMENTS))
    normal = Normalizer()
    assert normal.term(x) == normal.term(y), (
        t.text(x),
        t.text(y),
        poly_text(normal.term(x)),
        poly_text(normal.term(y)),
    )
    assert normal.lemmas <= set(LEMMAS)


@settings(max_examples=cases(100, 2000))
@given(scalars(3), st.integers(0, 10**6))
def test_the_form_does_not_depend_on_names(x: t.Term, _: int) -> None:
    assert form(x) == form(t.refresh(x))


# Named moves, and moves that do not hold.

X, Y, Z = read("x"), read("y"), read("z")


def tiled(n: Index, s: Index, body: Callable[[Index], t.Term], monoid: str = "sum") -> t.Term:
    return total(ceil_div(n, s), lambda o: total(minimum(s, n - s * o), lambda i: body(s * o + i), monoid), monoid)


EQUAL: dict[str, tuple[t.Term, t.Term]] = {
    "scale": (total(N, lambda k: mul(X, read("a", k))), mul(total(N, lambda k: read("a", k)), X)),
    "const": (total(N, lambda k: X), mul(t.IndexValue(N), X)),
    "mean": (apply("div", total(N, lambda k: X), t.IndexValue(N)), X),
    "fubini": (
        total(N, lambda k: total(K, lambda q: read("b", k, q))),
        total(K, lambda q: total(N, lambda k: read("b", k, q))),
    ),
    "product of sums": (
        mul(total(N, lambda k: read("a", k)), total(K, lambda k: read("a", k))),
        total(K, lambda q: total(N, lambda k: mul(read("a", q), read("a", k)))),
    ),
    "tile": (tiled(N, S, lambda k: read("a", k)), total(N, lambda k: read("a", k))),
    "tile of a number": (tiled(N, const(128), lambda k: read("a", k)), total(N, lambda k: read("a", k))),
    "tile of ones": (tiled(N, S, lambda k: number(1)), t.IndexValue(N)),
    "tile of a maximum": (tiled(N, S, lambda k: read("a", k), "max"), total(N, lambda k: read("a", k), "max")),
    "tile of a product": (tiled(N, S, lambda k: read("a", k), "prod"), total(N, lambda k: read("a", k), "prod")),
    "two levels of tiles": (
        total(
            ceil_div(N, S),
            lambda o: total(
                ceil_div(minimum(S, N - S * o), 16),
                lambda i: total(minimum(16, minimum(S, N - S * o) - 16 * i), lambda j: read("a", S * o + 16 * i + j)),
            ),
        ),
        total(N, lambda k: read("a", k)),
    ),
    "tile of an offset range": (tiled(N - 3, S, lambda k: read("a", k + 3)), total(N - 3, lambda k: read("a", k + 3))),
    "tile beside a factor": (
        tiled(N, S, lambda k: mul(read("a", k), read("b", k, of_var(Var("m"))))),
        total(N, lambda k: mul(read("b", k, of_var(Var("m"))), read("a", k))),
    ),
    "max-scale": (
        total(N, lambda k: mul(number("1/8"), read("a", k)), "max"),
        mul(number("1/8"), total(N, lambda k: read("a", k), "max")),
    ),
    "max-scale by a size": (
        total(N, lambda k: mul(t.IndexValue(K), read("a", k)), "min"),
        mul(t.IndexValue(K), total(N, lambda k: read("a", k), "min")),
    ),
    "max-shift": (total(N, lambda k: add(read("a", k), X), "max"), add(X, total(N, lambda k: read("a", k), "max"))),
    "maximum of one": (total(N, lambda k: X, "max"), X),
    "softmax shift": (
        apply("exp", apply("sub", X, add(Y, Z))),
        apply("div", apply("div", apply("exp", X), apply("exp", Y)), apply("exp", Z)),
    ),
    "sigmoid": (apply("tanh", X), apply("sub", mul(number(2), apply("sigmoid", mul(number(2), X))), number(1))),
    "rsqrt squared": (mul(apply("rsqrt", X), apply("rsqrt", X)), apply("reciprocal", X)),
    "root of a size": (
        apply("rsqrt", mul(t.IndexValue(N), X)),
        mul(apply("rsqrt", t.IndexValue(N)), apply("rsqrt", X)),
    ),
    "root of a number": (apply("sqrt", mul(number(4), X)), mul(number(2), apply("sqrt", X))),
    "fraction": (apply("div", X, add(X, Y)), apply("sub", number(1), apply("div", Y, add(X, Y)))),
    "fraction of a fraction": (apply("div", X, apply("div", X, add(X, t.IndexValue(K)))), add(X, t.IndexValue(K))),
    "one minus a fraction": (
        apply("reciprocal", apply("sub", number(1), apply("reciprocal", add(X, number(1))))),
        apply("div", add(X, number(1)), X),
    ),
    "variance": (
        total(N, lambda k: apply("square", apply("sub", read("a", k), X))),
        add(
            total(N, lambda k: apply("square", read("a", k))),
            mul(number(-2), X, total(N, lambda k: read("a", k))),
            mul(t.IndexValue(N), X, X),
        ),
    ),
    "log of exp": (apply("log", apply("exp", X)), X),
    "negative base": (apply("reciprocal", apply("sub", X, Y)), apply("neg", apply("reciprocal", apply("sub", Y, X)))),
}  # fmt: skip


@pytest.mark.parametrize("name", EQUAL)
def test_equal(name: str) -> None:
    x, y = EQUAL[name]
    assert form(x) == form(y), (poly_text(form(x)), poly_text(form(y)))
    assert agree(x, y)


def _positive(body: Callable[[Index], t.Term]) -> t.Condition:
    return t.RealCompare("<", t.ZERO, total(K, body, "max"))


M = Var("m")
DIFFERENT: dict[str, tuple[t.Term, t.Term]] = {
    "root of a square": (apply("sqrt", mul(X, X)), X),
    "root of a product": (apply("sqrt", mul(X, Y)), mul(apply("sqrt", X), apply("sqrt", Y))),
    "root of two squares": (apply("sqrt", mul(X, X, Y, Y)), mul(X, Y)),
    "negative scale of a maximum": (
        total(N, lambda k: mul(X, read("a", k)), "max"),
        mul(X, total(N, lambda k: read("a", k), "max")),
    ),
    "minus in a maximum": (
        total(N, lambda k: apply("neg", read("a", k)), "max"),
        apply("neg", total(N, lambda k: read("a", k), "max")),
    ),
    "sum of products": (
        total(N, lambda k: mul(read("a", k), read("b", k, k))),
        mul(total(N, lambda k: read("a", k)), total(N, lambda k: read("b", k, k))),
    ),
    "diagonal": (total(N, lambda k: read("b", k, k)), total(N, lambda k: read("b", k, of_var(M)))),
    "another range": (total(N, lambda k: read("a", k)), total(K, lambda k: read("a", k))),
    "tiles that overlap": (
        total(ceil_div(N, S), lambda o: total(S, lambda i: read("a", S * o + i))),
        total(N, lambda k: read("a", k)),
    ),
    "tiles that leave a gap": (
        total(ceil_div(N, S), lambda o: total(minimum(S, N - S * o), lambda i: read("a", 2 * S * o + i))),
        total(N, lambda k: read("a", k)),
    ),
    "one tile too few": (
        total(N // S, lambda o: total(minimum(S, N - S * o), lambda i: read("a", S * o + i))),
        total(N, lambda k: read("a", k)),
    ),
    "a maximum over nothing": (total(of_var(M), lambda k: X, "max"), X),
    "a maximum over what may be nothing": (total(N - 1, lambda k: X, "min"), X),
    "a sum over less than nothing": (
        total(of_var(M) - 3, lambda k: X),
        mul(add(t.IndexValue(of_var(M)), number(-3)), X),
    ),
    "a fold in a condition keeps its own variable": (
        total(K, lambda k: t.Select(_positive(lambda q: read("b", q, k)), read("a", k), t.ZERO)),
        total(K, lambda k: t.Select(_positive(lambda q: read("b", q, q)), read("a", k), t.ZERO)),
    ),
    "prod is not sum": (total(N, lambda k: read("a", k), "prod"), total(N, lambda k: read("a", k))),
    "exp of a product": (apply("exp", mul(X, Y)), mul(apply("exp", X), apply("exp", Y))),
    "strict and weak": (
        t.Select(t.RealCompare("<", X, Y), X, Y),
        t.Select(t.RealCompare("<=", X, Y), Y, X),
    ),
    "identity and constant": (X, number(1)),
}  # fmt: skip


@pytest.mark.parametrize("name", DIFFERENT)
def test_different(name: str) -> None:
    x, y = DIFFERENT[name]
    assert form(x) != form(y), poly_text(form(x))


def test_lemmas_are_recorded() -> None:
    normal = Normalizer()
    normal.term(EQUAL["tile"][0])
    assert "tile" in normal.lemmas
    assert normal.tiles == {(N, S)}
    plain = Normalizer()
    plain.term(add(X, Y))
    assert plain.lemmas == set()


def test_dependent_ranges_survive_substitution() -> None:
    """A triangular sum inside another fold, and the same with the folds exchanged where that is legal."""
    m = fresh_var("m")
    triangle = total(N, lambda i: total(i + 1, lambda j: mul(read("a", i), read("b", j, of_var(m)))))
    normal = Normalizer()
    moved_form = normal.substitute(normal.term(triangle), {m: of_var(Var("z"))})
    assert moved_form == normal.term(t.substitute(triangle, {m: of_var(Var("z"))}))
    for arrays in ENVIRONMENTS:
        whole = t.fold("sum", m, K, mul(read("a", of_var(m)), triangle))
        assert reading(form(whole), arrays) == pytest.approx(value(whole, arrays))


def test_large_constants_are_quick() -> None:
    """The root of a number of 17 digits is not factored to the end."""
    x = apply("rsqrt", mul(t.number(0.12345678901234567), X))
    assert form(x) == form(mul(apply("rsqrt", t.number(0.12345678901234567)), apply("rsqrt", X)))


def test_a_wrong_lemma_would_be_noticed() -> None:
    """With sqrt(x * y) = sqrt(x) * sqrt(y) the comparison of values finds a counterexample."""

    class Wrong(Normalizer):
        def power(self, p: Poly, e: Fraction) -> Poly:
            lone = p.single
            if e == Fraction(1, 2) and lone is not None and len(lone[0]) == 1 and lone[0][0][1] == 2:
                return self._atom(lone[0][0][0])
            return super().power(p, e)

    x, y = DIFFERENT["root of a square"]
    assert Wrong().term(x) == Wrong().term(y)
    assert not agree(x, y)


def test_the_nearest_integer_of_a_number_is_one() -> None:
    for value in (0, 1, Fraction(5, 2), Fraction(7, 2), Fraction(-3, 4)):
        assert form(t.Apply("round", (t.number(value),))) == form(t.number(round(value)))


def test_what_is_whole_is_its_own_rounding() -> None:
    x = t.Apply("round", (read("a", K),))
    twice = t.Apply("add", (t.Apply("mul", (t.number(2), x)), t.index_value(K - 3)))
    for whole in (x, twice):
        assert form(t.Apply("round", (whole,))) == form(whole)
    for other in (t.Apply("mul", (t.number(Fraction(1, 2)), x)), read("a", K), t.Apply("exp", (x,))):
        assert form(t.Apply("round", (other,))) != form(other)


def test_what_nobody_has_written_does_not_make_an_integer_a_number() -> None:
    unwritten = t.Read(UNDEFINED, ())
    mask = t.Select(t.less(of_var(Var("i")), const(3)), t.ONE, unwritten)
    assert is_whole(t.Apply("max", (t.Const("-inf"), mask)), ())
    assert is_whole(mask, ()) and not is_whole(t.Read("x", ()), ())
