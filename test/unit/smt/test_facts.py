# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Everything that a solver is told is true: each fact is computed, over the domain of what it is about.

Facts are looked at where they arise, not in a list of them: every line that states one has to be reached by a term
below (a test asserts it), and every assertion it makes is evaluated. So a new fact without a term that shows it fails,
as does one that is false.
"""

from __future__ import annotations

import inspect
import math
import random
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np
import pytest
from unit.smt.smt_text import Value, holds

from axon_mlir.semantics import signs
from axon_mlir.semantics import terms as t
from axon_mlir.semantics.conversions import ProofNormalizer, is_conversion, target_of
from axon_mlir.semantics.domains import Float64
from axon_mlir.semantics.evaluate import evaluate_comprehension
from axon_mlir.semantics.functions import FUNCTIONS
from axon_mlir.semantics.index import Index, Size, Var, ceil_div, const, evaluate, fresh_var, minimum, of_var, size
from axon_mlir.semantics.interpret import round_to
from axon_mlir.semantics.normal import (
    Atom,
    Base,
    Element,
    Exp,
    Extreme,
    Guarded,
    Infinity,
    Integer,
    Mono,
    Normalizer,
    Opaque,
    OtherFold,
    Poly,
    Prime,
    Sum,
    guard_condition,
    guard_gap,
    nonnegative_atom,
    positive,
)
from axon_mlir.semantics.partial import requirement
from axon_mlir.semantics.signs import same_form, sign
from axon_mlir.smt import encode, lemmas, reals
from axon_mlir.smt.encode import IntegerText, Query, integer_query
from axon_mlir.smt.reals import NotReal, RealText
from axon_mlir.smt.solver import solve

K, N, M = size("K"), size("N"), size("M")


def read(name: str, *indices: Index) -> t.Term:
    return t.Read(name, indices)


def apply(function: str, *args: t.Term) -> t.Term:
    return t.Apply(function, args)


def number(value: str | int) -> t.Term:
    return t.Const(Fraction(value))


def total(extent: Index, body: Callable[[Index], t.Term], monoid: str = "sum") -> t.Term:
    v = fresh_var("k")
    return t.Fold(monoid, v, extent, body(of_var(v)))


# -- the value of a normal form ---------------------------------------------------------------------------------------


class Valuation:
    """Numbers for everything that a form is made of, from a seed."""

    def __init__(self, seed: int, *, low: float = -2.0, high: float = 2.0):
        self.seed, self.low, self.high = seed, low, high
        draw = random.Random(seed)
        self.sizes: dict[str, int] = {n: draw.randint(1, 5) for n in ("K", "N", "M")}
        self.variables: dict[Size | Var, int] = {}

    def element(self, name: str, at: tuple[int, ...]) -> float:
        return random.Random(f"{self.seed} {name} {at}").uniform(self.low, self.high)

    def index(self, i: Index, bound: Mapping[Size | Var, int]) -> int:
        env: dict[Size | Var, int] = {Size(n): v for n, v in self.sizes.items()}
        for s in i.symbols():
            if isinstance(s, Var) and s not in bound:
                env[s] = self.variables.setdefault(s, random.Random(f"{self.seed} {s}").randint(0, 4))
        return int(evaluate(i, {**env, **bound}))

    def poly(self, p: Poly, bound: Mapping[Size | Var, int]) -> float:
        return math.fsum(float(c) * self.mono(m, bound) for m, c in p.terms)

    def mono(self, m: Mono, bound: Mapping[Size | Var, int]) -> float:
        return math.prod(self.power(self.atom(a, bound), e) for a, e in m)

    @staticmethod
    def power(base: float, e: Fraction) -> float:
        if e.denominator == 1:
            return base ** int(e) if base or e > 0 else math.nan
        return base ** float(e) if base >= 0 and (base or e > 0) else math.nan

    def atom(self, a: Atom, bound: Mapping[Size | Var, int]) -> float:
        match a:
            case Integer(x):
                return self.index(Index({(x,): 1}), bound)
            case Element(name, indices):
                return self.element(name, tuple(self.index(i, bound) for i in indices))
            case Prime(p):
                return p
            case Base(p):
                return self.poly(p, bound)
            case Exp(m):
                return math.exp(self.mono(m, bound))
            case Opaque(f, args):
                return self.opaque(f, [self.poly(x, bound) for x in args])
            case Extreme(kind, args):
                return (max if kind == "max" else min)(self.poly(x, bound) for x in args)
            case Sum(binders, m):
                return math.fsum(self.mono(m, inner) for inner in self.ranges(binders, bound))
            case OtherFold(monoid, v, n, body):
                values = [self.poly(body, inner) for inner in self.ranges(((v, n),), bound)]
                return {"max": max, "min": min, "prod": math.prod, "sum": math.fsum}[monoid](values)
            case Guarded(_, x, y):
                return self.poly(x if self.guard(a, bound) else y, bound)
            case Infinity():
                raise AssertionError("an infinity is no number")

    def ranges(
        self, binders: tuple[tuple[Var, Index], ...], bound: Mapping[Size | Var, int]
    ) -> Iterator[Mapping[Size | Var, int]]:
        if not binders:
            yield bound
            return
        (v, n), *rest = binders
        for k in range(self.index(n, bound)):
            yield from self.ranges(tuple(rest), {**bound, v: k})

    @staticmethod
    def opaque(f: str, args: list[float]) -> float:
        if is_conversion(f):
            return float(round_to(np.asarray(args[0]), target_of(f)))
        with np.errstate(all="ignore"):
            return float(np.asarray(FUNCTIONS[f].numpy(*map(np.float64, args))))

    def guard(self, a: Guarded, bound: Mapping[Size | Var, int]) -> bool:
        gap = guard_gap(a)
        if gap is not None:
            by = self.poly(gap[1], bound)
            return by > 0 if gap[0] == "<" else by == 0
        return self.condition(guard_condition(a), bound)

    def condition(self, c: t.Condition, bound: Mapping[Size | Var, int]) -> bool:
        match c:
            case t.IndexCompare(r, a, b):
                x, y = self.index(a, bound), self.index(b, bound)
                return x < y if r == "<" else x <= y if r == "<=" else x == y
            case t.And(parts):
                return all(self.condition(p, bound) for p in parts)
            case t.Or(parts):
                return any(self.condition(p, bound) for p in parts)
            case t.Not(p):
                return not self.condition(p, bound)
            case t.RealCompare(r, a, b):
                x, y = (self.poly(ProofNormalizer().term(side), bound) for side in (a, b))
                return x < y if r == "<" else x <= y if r == "<=" else x == y


# -- facts about reals ------------------------------------------------------------------------------------------------

X, Y, Z = read("x"), read("y"), read("z")
SQUARE = apply("add", apply("mul", X, X), number(1))
"""A term that is positive."""
DOMAIN = {None: Z, "nonzero": SQUARE, "positive": SQUARE, "nonnegative": apply("mul", X, X)}


EXPONENTS = ("3", "-2", "1/2", "-3/2", "1/3", "3/4", "1/5", "9", "-9")
ROOTS = (("2", "1/2"), ("6", "1/3"), ("3", "1/5"), ("1/2", "-1/2"))


def applications() -> Iterator[t.Term]:
    """Every function of the table, where it is defined, and twice: facts may relate applications."""
    for f in FUNCTIONS.values():
        for base, other in ((X, Y), (Y, X)):
            args = [base, other][: f.arity]
            if f.name == "power":
                yield from (
                    apply("power", SQUARE, number(e))
                    for e in ("3", "-2", "1/2", "-3/2", "1/3", "3/4", "1/5", "9", "-9")
                )
                yield apply("power", SQUARE, other)
                continue
            needed = requirement(f.name, args)
            if needed is not None:
                inner = apply("add", apply("mul", base, base), number(1))
                args = [inner if a is needed[1] else a for a in args]
            if not f.notation:
                yield apply(f.name, *args)
            if f.arity == 1 and needed is None:
                # What is said of one application may depend on another: of another argument, of its negation.
                yield from (apply("sub", apply(f.name, base), apply(f.name, a)) for a in (other, apply("neg", base)))
    for kind in ("bf16", "i32"):
        yield from (apply(f"convert to {kind}", a) for a in (X, Y, apply("add", X, Y)))


def others() -> Iterator[t.Term]:
    """What a form is made of beside functions: sizes, positions, constants' roots, folds, choices."""
    yield from (t.IndexValue(K * N), t.IndexValue(ceil_div(N, 2)), t.IndexValue(of_var(Var("i"))))
    yield from (apply("power", number(c), number(e)) for c, e in ROOTS)
    yield total(N, lambda k: read("a", k))
    yield total(N, lambda k: apply("mul", read("a", k), read("a", k)))
    yield total(N, lambda k: apply("exp", read("a", k)))
    yield total(N, lambda k: total(K, lambda q: apply("mul", read("b", k, q), apply("exp", read("a", k)))))
    yield from (total(N, lambda k: apply("sin", read("a", k)), m) for m in ("max", "min", "prod"))
    yield apply("reciprocal", total(N, lambda k: apply("exp", read("a", k))))
    yield apply("sqrt", total(N, lambda k: apply("square", read("a", k))))
    yield from (t.select(t.RealCompare(r, X, Y), apply("exp", X), Z) for r in ("<", "<=", "=="))
    yield t.select(t.less(of_var(Var("i")), N), X, Y)
    yield t.select(t.conj([t.RealCompare("<", X, Y), t.less(of_var(Var("i")), N)]), X, Y)
    yield apply("max", apply("max", X, Y), Z)
    yield apply("min", X, apply("min", apply("sin", Y), number(0)))


CORPUS = (*applications(), *others())


def asserted(x: t.Term) -> tuple[RealText, Poly]:
    """What is said about a term, in the form that the prover gives it."""
    text, form = RealText(), ProofNormalizer().term(x)
    text.poly(form)
    return text, form


def environment(text: RealText, at: Valuation) -> dict[str, Value]:
    """The values of all names."""
    env: dict[str, Value] = {}
    declared = {n for n, _ in text.declared}
    for a, name in text.names.items():
        if name in declared:
            env[name] = at.atom(a, {})
        elif isinstance(a, Guarded):
            env[text.guards[a.condition]] = at.guard(a, {})
    for (base, e), name in text.powers.items():
        env[name] = at.power(float(env[base] if base in env else base), e)
    assert declared <= set(env), declared - set(env)
    return env


def false_facts(terms: tuple[t.Term, ...]) -> list[str]:
    """The facts about terms that do not hold at some values."""
    found: list[str] = []
    computed = 0
    for x in terms:
        text, form = asserted(x)
        for seed in range(12):
            at = Valuation(seed, low=(-2.0, 0.25)[seed % 2])
            if math.isnan(at.poly(form, {})):
                continue
            env = environment(text, at)
            computed += 1
            found += [f"{t.text(x)}: {f}" for f in text.facts if not holds(f, env)]
    assert computed > 6 * len(terms)
    return found


def contradictory(terms: tuple[t.Term, ...]) -> list[str]:
    """The terms about which what is said has no model; the last is all of them together."""
    out: list[str] = []
    for x in terms:
        text, _ = asserted(x)
        if solve(text.query("consistency", (), (), "false", "false").premises, wall_clock=1.0) == "unsat":
            out.append(t.text(x))
    return out


def test_facts_about_terms_are_true() -> None:
    assert false_facts(CORPUS) == []


def test_facts_about_terms_have_a_model() -> None:
    assert contradictory(CORPUS) == []


def test_facts_about_all_terms_together_have_a_model() -> None:
    text = RealText()
    for x in CORPUS:
        text.poly(ProofNormalizer().term(x))
    assert all(holds(f, environment(text, Valuation(3, low=0.25))) for f in text.facts)
    assert solve(text.query("consistency", (), (), "false", "false").premises, wall_clock=2.0) != "unsat"


def test_an_infinity_is_no_number() -> None:
    with pytest.raises(NotReal):
        asserted(apply("add", X, t.Const("inf")))


# -- nothing is said elsewhere ----------------------------------------------------------------------------------------


def lines_of(code: CodeType) -> set[int]:
    """The lines of a function and of those inside, the one that defines it aside."""
    own = {line for _, _, line in code.co_lines() if line is not None and line != code.co_firstlineno}
    return own.union(*(lines_of(c) for c in code.co_consts if isinstance(c, CodeType)))


def unreached(kind: type[Any], run: Callable[[], object], leave_out: tuple[str, ...]) -> set[str]:
    """The lines of a class's methods that a run does not reach."""
    codes = {f.__code__ for name, f in vars(kind).items() if inspect.isfunction(f) and name not in leave_out}
    wanted = set[int]().union(*map(lines_of, codes))
    file = inspect.getsourcefile(kind)
    seen: set[int] = set()

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        if frame.f_code.co_filename != file:
            return None
        seen.add(frame.f_lineno)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(before)
    source = inspect.getsource(sys.modules[kind.__module__]).splitlines()
    return {source[n - 1].strip() for n in wanted - seen}


def test_every_line_that_may_say_something_about_reals_is_reached() -> None:
    """A fact that is added to `RealText` is made by some term above, or this fails."""
    left = unreached(RealText, lambda: [asserted(x) for x in CORPUS], ("condition", "query"))
    assert left == {'raise NotReal("an infinity is used as a number")'}


def test_nobody_else_adds_facts_about_reals() -> None:
    for path in sorted(Path(reals.__file__).parent.glob("*.py")):
        if path.name not in ("reals.py", "encode.py"):
            assert ".facts" not in path.read_text(encoding="utf-8"), path.name


# -- signs ------------------------------------------------------------------------------------------------------------

SIGNED = (
    X,
    number(-2),
    number(0),
    number("1/2"),
    apply("mul", X, X),
    apply("exp", Y),
    apply("abs", Y),
    apply("neg", SQUARE),
)


def signed_terms() -> Iterator[t.Term]:
    """Every function of every combination of arguments whose signs are known and unknown, and what else has a sign."""
    yield apply("pi")
    for f in FUNCTIONS.values():
        if f.notation or not f.arity:
            continue
        for a in SIGNED:
            if f.name == "power":
                yield from (apply("power", a, number(e)) for e in ("2", "3", "-1", "-2", "1/2", "-1/2", "0"))
            elif f.arity == 1:
                yield apply(f.name, a)
            else:
                yield from (apply(f.name, a, b) for b in SIGNED)
    for a in SIGNED:
        yield from (t.Fold(m, fresh_var("k"), n, a) for m in ("sum", "prod", "max", "min") for n in (N, N - 1))
        yield from (t.Select(t.RealCompare("<", X, Y), a, b) for b in SIGNED)
    yield from (t.IndexValue(i) for i in (N, N - 1, N - 2, const(0) - N, K * N))
    for m in ("sum", "prod", "max", "min"):
        positions = [fresh_var("k") for _ in range(4)]
        yield from (t.Fold(m, v, N, t.IndexValue(of_var(v) + c)) for v, c in zip(positions, (-1, 0, 1, 3), strict=True))


def values(x: t.Term) -> Iterator[float]:
    for seed in range(24):
        at = Valuation(seed)
        arrays = {n: np.asarray(0.0 if seed % 6 == k else at.element(n, ())) for k, n in enumerate("xyz")}
        with np.errstate(all="ignore"):
            found = evaluate_comprehension(t.Comprehension((), (), x), arrays, at.sizes, Float64())
        yield float(found)


def wrong_signs(terms: Iterator[t.Term]) -> list[str]:
    """Terms whose claimed sign a value contradicts; where a term is not finite nothing is claimed."""
    out: list[str] = []
    for x in terms:
        claimed = sign(x, same_form(Normalizer()))
        for v in values(x) if claimed is not None else ():
            if math.isfinite(v) and not (v > 0 if claimed == "positive" else v >= 0):
                out.append(f"{t.text(x)} is {v}, not {claimed}")
                break
    return out


def test_signs_are_true() -> None:
    assert wrong_signs(signed_terms()) == []


def test_positions_begin_at_zero() -> None:
    v = fresh_var("k")
    signs = [sign(t.IndexValue(of_var(v) + c), same_form(Normalizer())) for c in (-1, 0, 1)]
    assert signs == [None, "nonnegative", "positive"]


def test_the_signs_of_most_terms_are_known_or_unknown_for_a_reason() -> None:
    known = [sign(x, same_form(Normalizer())) for x in signed_terms()]
    assert {known.count(k) > 30 for k in ("positive", "nonnegative", None)} == {True}


def test_what_atoms_are_said_to_be_they_are() -> None:
    checked = 0
    for x in CORPUS:
        text, _ = asserted(x)
        for a in text.names:
            for seed in range(12):
                v = Valuation(seed).atom(a, {})
                if math.isnan(v):
                    continue
                assert not positive(a) or v > 0, a
                assert not nonnegative_atom(a) or v >= 0, a
                checked += positive(a)
    assert checked > 200


# -- facts about integers ---------------------------------------------------------------------------------------------

AT, TO = of_var(Var("i", 1)), of_var(Var("j", 2))
INTEGERS: tuple[tuple[tuple[t.Condition, ...], t.Condition], ...] = (
    ((), t.less(AT // 3, N)),
    ((), t.less(AT // N, M)),
    ((), t.less(AT // N - M * (AT // (N * M)), M)),
    ((), t.at_most(const(0), AT // 2 - 3 * (AT // 6))),
    ((), t.less(AT // (N + M), minimum(N, M, const(7)))),
    ((), t.less(AT // (N - 3), M)),
    ((), t.equal(AT % K, minimum(AT, TO) - minimum(K, M - AT))),
    ((t.less(AT, N),), t.less(AT * M + TO, N * M)),
    ((t.at_most(const(0), AT), t.less(AT, N), t.less(TO, M)), t.less(AT * M + TO, N * M)),
    ((t.less(AT, ceil_div(N, K)),), t.at_most(K * AT + minimum(K, N - K * AT), N)),
    ((t.equal(AT, TO),), t.equal(N * AT, N * TO)),
    ((t.negate(t.less(AT, N)),), t.at_most(N * K, AT * K)),
    ((t.conj([t.less(AT, N), t.at_most(const(2), AT)]),), t.conj([t.less(AT * N, N * N), t.at_most(AT, N)])),
    ((t.disj([t.less(AT, N), t.less(TO, M)]),), t.negate(t.equal(AT * N, TO * N))),
)


def integer_assignments(seed: int) -> dict[Size | Var, int]:
    draw = random.Random(seed)
    out: dict[Size | Var, int] = {Size(n): draw.randint(1, 6) for n in ("K", "N", "M")}
    return {**out, Var("i", 1): draw.randint(-4, 12), Var("j", 2): draw.randint(-4, 12)}


def integer_environment(query_text: IntegerText, env: Mapping[Size | Var, int]) -> dict[str, Value]:
    out: dict[str, Value] = {}
    for a, name in query_text.names.items():
        try:
            out[name] = float(int(evaluate(Index({(a,): 1}), env)))
        except ZeroDivisionError:
            # Whatever a solver takes for it.
            out[name] = 17.0
    for m, name in query_text.monomials.items():
        out[name] = math.prod(float(out[query_text.names[a]]) for a in m)  # pyright: ignore[reportArgumentType]
    return out


def false_integer_facts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Facts in questions about integers that do not hold where the hypotheses do."""
    made: list[IntegerText] = []
    real = IntegerText.__init__

    def remember(self: IntegerText) -> None:
        real(self)
        made.append(self)

    monkeypatch.setattr(IntegerText, "__init__", remember)
    monkeypatch.setattr(encode, "canonical", list)
    for remembered in ("asked", "written"):
        monkeypatch.setattr(encode, remembered, getattr(encode, remembered).__wrapped__)
    found: list[str] = []
    for hypotheses, goal in INTEGERS:
        query = integer_query("test", hypotheses, goal)
        facts = [
            line.removeprefix("(assert ")[:-1] for line in query.premises.splitlines() if line.startswith("(assert")
        ]
        held = 0
        for seed in range(400):
            env = integer_assignments(seed)
            at = Valuation(0)
            if not all(at.condition(h, env) for h in hypotheses):
                continue
            held += 1
            numbers = integer_environment(made[-1], env)
            found += [f"{t.text(goal)}: {f} at {env}" for f in facts if not holds(f, numbers)]
        assert held > 10, t.text(goal)
    monkeypatch.undo()
    return found


def test_facts_about_integers_are_true(monkeypatch: pytest.MonkeyPatch) -> None:
    assert false_integer_facts(monkeypatch) == []


def test_every_line_that_may_say_something_about_integers_is_reached() -> None:
    def run() -> None:
        encode.asked.cache_clear()
        encode.written.cache_clear()
        for hypotheses, goal in INTEGERS:
            integer_query("test", hypotheses, goal)

    left = unreached(IntegerText, run, ())
    refused = {"case t.RealCompare():", 'raise ValueError("a comparison of reals in an integer obligation")'}
    assert left - {"continue"} == refused


# -- facts in lemmas --------------------------------------------------------------------------------------------------


class Model:
    """What the symbols of a lemma about an analytic function stand for: numbers from a seed, and folds of them."""

    def __init__(self, seed: int, op: str):
        self.draw = random.Random(seed)
        self.op = op
        self.n = self.draw.randint(1, 4)
        self.elements = [self.draw.uniform(-1.5, 1.5) for _ in range(8)]

    def element(self, k: float) -> float:
        """The summand at k."""
        return self.elements[int(k)]

    def fold(self, values: list[float]) -> Callable[[float], float]:
        join: dict[str, Callable[[float, float], float]] = {
            "max": max, "min": min, "*": lambda a, b: a * b, "+": lambda a, b: a + b,
        }  # fmt: skip

        def at(n: float) -> float:
            out = {"+": 0.0, "*": 1.0}.get(self.op)
            for v in values[: int(n)]:
                out = v if out is None else join[self.op](out, v)
            return math.nan if out is None else out

        return at


def _congruence(m: Model) -> dict[str, Value]:
    v, f = m.draw.uniform(-2, 2), m.element
    both = m.fold(m.elements)
    return {"x": v, "y": v, "h": math.sin, "n": float(m.n), "f": f, "g": f, "S": both, "T": both}


def _max_exp(m: Model) -> dict[str, Value]:
    raised = m.fold([math.exp(v) for v in m.elements])
    return {"n": float(m.n), "f": m.element, "e": math.exp, "S": m.fold(m.elements), "T": raised}


def _prod_exp(m: Model) -> dict[str, Value]:
    m.op = "+"
    sums = m.fold(m.elements)
    return {"n": float(m.n), "f": m.element, "e": math.exp, "S": sums, "T": lambda n: math.exp(sums(n))}


def _exp(m: Model) -> dict[str, Value]:
    a = m.draw.uniform(-2, 2)
    raised: dict[str, Value] = {"E": lambda n: math.exp(n * a), "p": lambda n: math.exp(a) ** int(n)}
    return {"n": float(m.n), "a": a, "e": math.exp, "e:Real": math.exp(a), **raised}


def _log(m: Model) -> dict[str, Value]:
    a, b = m.draw.uniform(-2, 2), m.draw.uniform(-2, 2)
    x = math.exp(a)
    multiple: dict[str, Value] = {"n": float(m.n), "E": lambda n: math.exp(n * a), "p": lambda n: x ** int(n)}
    return {**multiple, "x": x, "y": math.exp(b), "a": a, "b": b, "e": math.exp, "l": a + b}


def _pick(m: Model) -> dict[str, Value]:
    p = m.draw.choice([-1.0, 0.0, 1.0, 2.0, 0.5, 7.0])
    chosen = [v if k == p else 0.0 for k, v in enumerate(m.elements)]
    raised = [math.exp(v) if k == p else 0.0 for k, v in enumerate(m.elements)]
    m.op = "+"
    number = m.fold([1.0 if k == p else 0.0 for k in range(len(m.elements))])
    sums = {"S": m.fold(raised), "T": m.fold(chosen), "C": number}
    terms: dict[str, Value] = {"f": lambda k: math.exp(m.element(k)), "l": m.element}
    return {"n": float(m.n), "p": p, "e": math.exp, **terms, **sums}


def _max_monotone(m: Model) -> dict[str, Value]:
    f, falls = m.element, (lambda v: math.exp(-v))
    opposite = Model(0, {"max": "min", "min": "max"}[m.op])
    opposite.elements = m.elements
    rising: dict[str, Value] = {"h": math.exp, "S": m.fold(m.elements), "T": m.fold(list(map(math.exp, m.elements)))}
    falling: dict[str, Value] = {"g": falls, "U": opposite.fold(m.elements), "V": m.fold(list(map(falls, m.elements)))}
    return {"n": float(m.n), "f": f, **rising, **falling}


def _parity(m: Model) -> dict[str, Value]:
    x = m.draw.uniform(-2, 2)
    return {"x": x, "y": -x, "c": m.draw.uniform(0.5, 2), "h": math.erf, "g": math.cos}


MODELS: dict[str, Callable[[Model], dict[str, Value]]] = {
    "congruence": _congruence,
    "max-exp": _max_exp,
    "prod-exp": _prod_exp,
    "exp": _exp,
    "log": _log,
    "pick": _pick,
    "max-monotone": _max_monotone,
    "parity": _parity,
}
"""Lemmas about functions of reals -> the functions that they are about; folds are defined by their recurrence."""


def is_analytic(query: Query) -> bool:
    """Whether something is presupposed of a function that is no fold."""
    return re.search(r"\(declare-fun (\S+ \(Real\)|E \(Int\)) Real\)", query.text) is not None


def false_hypotheses(name: str, obligations: tuple[Query, ...]) -> list[str]:
    """Hypotheses of a lemma that are not true of the functions that it is about."""
    found: list[str] = []
    for query in obligations:
        title = query.kind.partition(": ")[2]
        op = next((word for word in ("max", "min", "*") if word in title.split()), "+")
        for seed in range(40):
            env = MODELS[name](Model(seed, op))
            if "(declare-fun e () Real)" in query.text:
                env["e"] = env["e:Real"]
            if "inverse" in title and name == "log":
                env["l"] = env["a"]
            if not all(holds(h, env) for h in query.hypotheses if h.startswith(("(> (S n)", "(not (= (S n)"))):
                continue
            found += [f"{query.kind}: {h}" for h in query.hypotheses if not holds(h, env)]
            if not found:
                assert holds(query.goal, env), query.kind
    return found


def test_every_lemma_about_a_function_of_reals_has_a_model() -> None:
    assert {n for n in lemmas.names() if any(map(is_analytic, lemmas.lemma(n).obligations))} == set(MODELS)


@pytest.mark.parametrize("name", MODELS)
def test_what_lemmas_presuppose_of_functions_is_true(name: str) -> None:
    assert false_hypotheses(name, lemmas.lemma(name).obligations) == []


# -- wrong facts are found --------------------------------------------------------------------------------------------


def _planted(monkeypatch: pytest.MonkeyPatch, kind: type[Any], fact: str) -> None:
    real = RealText._atom  # pyright: ignore[reportPrivateUsage]

    def atom(self: RealText, a: Atom) -> str:
        name = real(self, a)
        if isinstance(a, kind):
            self.facts.append(fact.format(name))
        return name

    monkeypatch.setattr(RealText, "_atom", atom)


@pytest.mark.parametrize(
    ("kind", "fact"),
    [
        (Exp, "(< {} 0.0)"),
        (Exp, "(= {} 0.0)"),
        (Base, "(= {0} (+ {0} 1.0))"),
        (Integer, "(< {} 1.0)"),
    ],
)
def test_an_inconsistent_fact_is_found(monkeypatch: pytest.MonkeyPatch, kind: type[Any], fact: str) -> None:
    """By computing it, and since nothing can be as what is said then."""
    _planted(monkeypatch, kind, fact)
    assert false_facts(CORPUS)
    assert contradictory(CORPUS)


@pytest.mark.parametrize(
    ("kind", "fact"), [(Exp, "(>= {} 1.0)"), (Opaque, "(<= {} 1.0)"), (Sum, "(> {} 0.0)"), (Element, "(> {} 0.0)")]
)
def test_a_false_fact_is_found(monkeypatch: pytest.MonkeyPatch, kind: type[Any], fact: str) -> None:
    """A fact may be false and contradict no other."""
    _planted(monkeypatch, kind, fact)
    assert false_facts(CORPUS)


def test_a_fact_that_no_term_shows_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    class More(RealText):
        def _other_power(self, base: str, e: Fraction) -> str:
            if e == Fraction(1, 1009):
                self.facts.append("(= 0.0 1.0)")
            return super()._other_power(base, e)

    def run() -> None:
        for x in CORPUS:
            More().poly(ProofNormalizer().term(x))

    assert unreached(More, run, ()) == {'self.facts.append("(= 0.0 1.0)")'}
    assert reals.RealText is RealText


def test_a_wrong_sign_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    real = signs._sign_of_application  # pyright: ignore[reportPrivateUsage]

    def wrong(f: str, args: tuple[t.Term, ...], n: Normalizer) -> str | None:
        return "nonnegative" if f == "tanh" else real(f, args, n)

    monkeypatch.setattr(signs, "_sign_of_application", wrong)
    assert any("tanh" in w for w in wrong_signs(signed_terms()))


def test_a_wrong_fact_about_integers_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    real = IntegerText.products

    def more(self: IntegerText, known: list[Index]) -> list[tuple[Index, Index]]:
        found = real(self, known)
        return [*found, *((e, p - 1) for e, p in found)]

    monkeypatch.setattr(IntegerText, "products", more)
    assert false_integer_facts(monkeypatch)


@pytest.mark.parametrize("name", ["max-exp", "prod-exp", "log"])
def test_a_wrong_presupposition_is_found(name: str) -> None:
    wrong = {
        "max-exp": "(<= (e (f n)) 1.0)",
        "prod-exp": "(= (e (f n)) (f n))",
        "log": "(= (e (+ a b)) (+ (e a) (e b)))",
    }
    obligations = lemmas.lemma(name).obligations
    steps = [q for q in obligations if "step" in q.kind or "product" in q.kind]
    assert false_hypotheses(name, (replace(steps[0], hypotheses=(*steps[0].hypotheses, wrong[name])),))
