# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Normal forms as SMT-LIB 2 text over reals: every atom a name, and beside it the ground facts about it.

Facts that presuppose definedness (`d * d^-1 = 1`, `r * r = x` for a root) are stated as they are: that the programs
are defined is an obligation of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from axon_mlir.semantics import terms as t
from axon_mlir.semantics.index import Size
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
    Number,
    Opaque,
    OtherFold,
    Poly,
    Prime,
    Sum,
    atom_text,
    condition_text,
    guard_gap,
    nonnegative_mono,
    poly_text,
    positive,
)
from axon_mlir.semantics.walk import Context
from axon_mlir.smt.encode import Query, sanitize, script


class NotReal(Exception):
    """The term holds an infinity where a number is needed."""


def number(value: Number) -> str:
    """A rational constant."""
    text = (
        f"{abs(value.numerator)}.0" if value.denominator == 1 else f"(/ {abs(value.numerator)}.0 {value.denominator}.0)"
    )
    return f"(- {text})" if value < 0 else text


class RealText:
    """Prints polynomials and collects declarations and facts."""

    def __init__(self) -> None:
        self.names: dict[Atom, str] = {}
        self.powers: dict[tuple[str, Number], str] = {}
        self.declared: list[tuple[str, str]] = []
        self.facts: list[str] = []
        self.guards: dict[str, str] = {}
        self.positive: set[str] = set()
        """Names of atoms that are positive by their kind."""
        self._applications: dict[str, list[tuple[str, list[str]]]] = {}

    def declare(self, name: str, sort: str = "Real") -> str:
        text = sanitize(name)
        self.declared.append((text, sort))
        return text

    def poly(self, p: Poly) -> str:
        pieces = [self._term(m, c) for m, c in p.terms]
        if not pieces:
            return "0.0"
        return pieces[0] if len(pieces) == 1 else f"(+ {' '.join(pieces)})"

    def _term(self, m: Mono, c: Number) -> str:
        factors: list[str] = []
        for a, e in m:
            factors += self.power(self.atom(a), e)
        if c != 1 or not factors:
            factors.insert(0, number(c))
        return factors[0] if len(factors) == 1 else f"(* {' '.join(factors)})"

    def power(self, base: str, e: Number) -> list[str]:
        """`base ^ e` as factors."""
        if e.denominator == 1 and 0 < e <= 6:
            return [base] * int(e)
        if e.denominator == 1 and e < 0:
            return [self._inverse(base)] * int(-e) if e >= -6 else [self._other_power(base, e)]
        if e.denominator in (2, 3, 4) and abs(e.numerator) <= 6:
            return self.power(self._root(base, e.denominator), e.numerator)
        return [self._other_power(base, e)]

    def _inverse(self, base: str) -> str:
        def facts(r: str) -> list[str]:
            return [f"(= (* {r} {base}) 1.0)"]

        return self._named((base, -1), "inverse", facts)

    def _root(self, base: str, q: int) -> str:
        def facts(r: str) -> list[str]:
            return [f"(>= {r} 0.0)", f"(= (* {' '.join([r] * q)}) {base})"]

        return self._named((base, Fraction(1, q)), "root", facts)

    def _other_power(self, base: str, e: Number) -> str:
        def facts(r: str) -> list[str]:
            return [f"(> {r} 0.0)"] if base in self.positive else []

        return self._named((base, e), "power", facts)

    def _named(self, key: tuple[str, Number], kind: str, facts: Callable[[str], list[str]]) -> str:
        found = self.powers.get(key)
        if found is None:
            found = self.declare(f"{kind}!{len(self.powers)}")
            self.powers[key] = found
            self.facts += facts(found)
        return found

    def atom(self, a: Atom) -> str:
        found = self.names.get(a)
        if found is None:
            found = self._atom(a)
            self.names[a] = found
            if positive(a):
                self.positive.add(found)
        return found

    def _atom(self, a: Atom) -> str:
        match a:
            case Prime(p):
                return f"{p}.0"
            case Infinity():
                raise NotReal("an infinity is used as a number")
            case Integer(x):
                name = self.declare(atom_text(a))
                if isinstance(x, Size):
                    self.facts.append(f"(>= {name} 1.0)")
                return name
            case Base(p):
                inner = self.poly(p)
                name = self.declare(f"base!{len(self.names)}")
                self.facts.append(f"(= {name} {inner})")
                return name
            case Exp():
                name = self.declare(atom_text(a))
                self.facts.append(f"(> {name} 0.0)")
                return name
            case Extreme(kind, args):
                inner = [self.poly(x) for x in args]
                name = self.declare(f"{kind}!{len(self.names)}")
                relation = ">=" if kind == "max" else "<="
                self.facts += [f"({relation} {name} {x})" for x in inner]
                self.facts.append(f"(or {' '.join(f'(= {name} {x})' for x in inner)})")
                return name
            case Opaque(f, args):
                inner = [self.poly(x) for x in args]
                name = self.declare(atom_text(a))
                for other, others in self._applications.get(f, []):
                    same = " ".join(f"(= {x} {y})" for x, y in zip(inner, others, strict=True))
                    self.facts.append(f"(=> (and {same}) (= {name} {other}))")
                self._applications.setdefault(f, []).append((name, inner))
                if f == "pi":
                    self.facts.append(f"(and (< 3.14159265 {name}) (< {name} 3.14159266))")
                if f == "sign":
                    signs = (("<", "(- 1.0)"), ("=", "0.0"), (">", "1.0"))
                    self.facts += [f"(=> ({r} {inner[0]} 0.0) (= {name} {value}))" for r, value in signs]
                return name
            case Sum(_, m):
                name = self.declare(atom_text(a))
                if nonnegative_mono(m):
                    self.facts.append(f"(>= {name} 0.0)")
                return name
            case Guarded(c, x, y):
                guard = self.guards.get(c)
                if guard is None:
                    guard = self.declare(c, "Bool")
                    self.guards[c] = guard
                    gap = guard_gap(a)
                    if gap is not None:
                        self.facts.append(f"(= {guard} ({'>' if gap[0] == '<' else '='} {self.poly(gap[1])} 0.0))")
                return f"(ite {guard} {self.poly(x)} {self.poly(y)})"
            case Element() | OtherFold():
                return self.declare(atom_text(a))

    def condition(self, c: t.Condition, n: Normalizer) -> str | None:
        """A condition about reals; None when it is one about indices only."""
        match c:
            case t.RealCompare(r, a, b):
                return f"({'=' if r == '==' else r} {self.poly(n.term(a))} {self.poly(n.term(b))})"
            case t.And(parts):
                inner = [x for x in (self.condition(p, n) for p in parts) if x is not None]
                return f"(and {' '.join(inner)})" if inner else None
            case t.Not(t.RealCompare() as p):
                return f"(not {self.condition(p, n)})"
            case t.Or() | t.Not() | t.IndexCompare():
                return None

    def query(self, kind: str, hypotheses: tuple[str, ...], readable: tuple[str, ...], goal: str, says: str) -> Query:
        """The question whether the goal follows from the facts and the hypotheses."""
        lines = [f"(declare-const {n} {s})" for n, s in self.declared]
        lines += [f"(assert {f})" for f in (*self.facts, *hypotheses)]
        text = script([*lines, f"(assert (not {goal}))"])
        return Query(kind, readable, says, text, text, script(lines))


def equality_text(
    kind: str, left: Poly, right: Poly, *, facts: bool = True, context: Context = (), normal: Normalizer | None = None
) -> Query:
    """Whether two normal forms are equal, by the facts about their atoms and the comparisons of numbers in a context;
    equal forms need none."""
    text = RealText()
    goal = f"(= {text.poly(left)} {text.poly(right)})"
    if not facts:
        text.facts.clear()
    known = {text.condition(c, normal): condition_text(c, normal) for c in context} if normal is not None else {}
    known.pop(None, None)
    held = [c for c in known if c is not None]
    says = f"{poly_text(left)} = {poly_text(right)}"
    return text.query(kind, tuple(held), tuple(known[c] for c in held), goal, says)
