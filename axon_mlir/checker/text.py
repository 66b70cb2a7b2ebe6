# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The checker's own encoder: questions about integers and about reals as SMT-LIB 2 text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from axon_mlir.semantics import normal as nf
from axon_mlir.semantics import terms as t
from axon_mlir.semantics.hypotheses import connected, multiples, quotients_apart, quotients_within
from axon_mlir.semantics.index import Atom, Div, Index, Min, Monomial, Size, Var, nonnegative, of_var
from axon_mlir.semantics.partial import SYMBOL


class Rejected(Exception):
    """The certificate does not say what it should; the first word is the reason's name."""


@dataclass(frozen=True)
class Question:
    """`text` must have no model; `exact` is the same with products defined; `premises` is without the goal."""

    kind: str
    hypotheses: tuple[str, ...]
    goal: str
    text: str
    exact: str
    premises: str


def question(
    kind: str, given: Iterable[str], declared: list[str], facts: Iterable[str], goal: str, says: str, *products: str
) -> Question:
    """The question whether a goal follows from facts; `given` and `says` are how it reads."""
    weak = [*declared, *(f"(assert {f})" for f in facts)]
    exact = [*weak, *(f"(assert {p})" for p in products)]
    refuted = f"(assert (not {goal}))"
    texts = ("\n".join([*lines, "(check-sat)", ""]) for lines in ([*weak, refuted], [*exact, refuted], exact))
    return Question(kind, tuple(given), says, *texts)


def _symbol(name: str) -> str:
    """A name that is no word of the language: those are of small letters alone."""
    if re.fullmatch(r"[A-Za-z_.!][\w.!]*", name, re.ASCII):
        return f"{name}!" if re.fullmatch("[a-z_]+", name) else name
    return "|" + re.sub(r"[|\\]", "/", name) + "|"


def _apply(operator: str, arguments: Sequence[str]) -> str:
    return arguments[0] if len(arguments) == 1 else f"({operator} {' '.join(arguments)})"


def _sum(terms: Sequence[tuple[Sequence[str], int | Fraction]], point: str) -> str:
    """A sum of products, each with a coefficient; `point` ends a number."""
    out: list[str] = []
    for factors, c in terms:
        size = f"{abs(c)}{point}" if c.denominator == 1 else f"(/ {abs(c.numerator)}.0 {c.denominator}.0)"
        number = size if c >= 0 else f"(- {size})"
        out.append(_apply("*", factors if c == 1 and factors else [number, *factors]))
    return _apply("+", out or [f"0{point}"])


# -- integers ---------------------------------------------------------------------------------------------------------


class _Integers:
    """One question about integers: every quotient, minimum and product a name."""

    def __init__(self) -> None:
        self.declared: list[str] = []
        self.facts: list[str] = []
        self.known: list[Index] = []
        self.names: dict[Atom | Monomial, str] = {}

    def declare(self, key: Atom | Monomial, kind: str = "") -> str:
        number = sum(isinstance(k, type(key)) for k in self.names)
        name = self.names[key] = f"{kind}!{number}" if kind else _symbol(str(key))
        self.declared.append(f"(declare-const {name} Int)")
        return name

    def state(self, *terms: Index) -> None:
        """Terms are >= 0."""
        for e in terms:
            self.known.append(e)
            self.facts.append(f"(>= {self.index(e)} 0)")

    def atom(self, a: Atom) -> str:
        if a not in self.names:
            me = Index({(a,): 1})
            match a:
                case Div(n, d):
                    _, divisor = self.index(n), self.index(d)
                    self.declare(a, "quotient")
                    bounds = (n - d * me, d * me + d - 1 - n)
                    if nonnegative(d - 1):
                        self.state(*bounds, *quotients_apart(a, list(self.names)))
                    else:
                        self.facts += [f"(=> (>= {divisor} 1) (>= {self.index(e)} 0))" for e in bounds]
                case Min(args):
                    options = ["0", *map(self.index, args)]
                    name = self.declare(a, "minimum")
                    self.state(-me, *(x - me for x in args))
                    self.facts.append(f"(or {' '.join(f'(= {name} {x})' for x in options)})")
                case _:
                    self.declare(a)
                    self.state(*([me - 1] if isinstance(a, Size) else []))
        return self.names[a]

    def factors(self, m: Monomial) -> list[str]:
        atoms = [self.atom(a) for a in m]
        return atoms if len(m) < 2 else [self.names.get(m) or self.declare(m, "product")]

    def index(self, i: Index) -> str:
        return _sum([(self.factors(m), c) for m, c in i.terms], "")

    def condition(self, c: t.Condition) -> str:
        if isinstance(c, t.Not):
            return f"(not {self.condition(c.part)})"
        if isinstance(c, t.And | t.Or):
            word, empty = ("and", "true") if isinstance(c, t.And) else ("or", "false")
            return f"({word} {' '.join(map(self.condition, c.parts))})" if c.parts else empty
        assert isinstance(c, t.IndexCompare)
        return f"({'=' if c.relation == '==' else c.relation} {self.index(c.left)} {self.index(c.right)})"

    def scaled(self, of: Iterable[Index]) -> dict[Index, Index]:
        """A term times sizes -> the term, where only sizes need new names."""
        there = {m: None for m in self.names if isinstance(m, tuple)}
        out: dict[Index, Index] = {}
        for e, p in ((e, p) for e in of for p in multiples(e, there)):
            out.setdefault(p, e)
        return out


def _gaps(c: t.Condition, holds: bool) -> list[Index]:
    """Terms that are >= 0 when a condition holds; when it fails, one of the terms is."""
    match c:
        case t.IndexCompare("==", a, b):
            return [b - a, a - b] if holds else [a - b - 1, b - a - 1]
        case t.IndexCompare(r, a, b):
            return [b - a - int(r == "<")] if holds else [a - b - int(r == "<=")]
        case t.Not(p) if not isinstance(p, t.IndexCompare) or p.relation != "==":
            return _gaps(p, not holds)
        case t.And(parts) if holds:
            return [e for p in parts for e in _gaps(p, True)]
        case _:
            return []


def integers(kind: str, hypotheses: Sequence[t.Condition], goal: t.Condition) -> Question:
    """The question whether an integer goal follows from what bears on it; hypotheses about reals are left out."""
    kept = [*connected(hypotheses, goal), goal]
    names: dict[Size | Var, Index] = {}
    for i in (i for c in kept for i in t.compared_indices(c)):
        for v in sorted((s for s in i.symbols() if isinstance(s, Var)), key=lambda v: (v.uid, v.name)):
            names.setdefault(v, of_var(Var(f"{v.name}!{len(names)}")))
    *assumed, wanted = [t.substitute_condition(c, names) for c in kept]
    w = _Integers()
    premises, conclusion = [w.condition(h) for h in assumed], w.condition(wanted)
    w.state(*quotients_within(list(w.names), told := [e for h in assumed for e in _gaps(h, True)]))
    guarded = w.scaled(e for p in (wanted.parts if isinstance(wanted, t.And) else (wanted,)) for e in _gaps(p, False))
    premises += [f"(>= {w.index(p)} 0)" for p in w.scaled([*w.known, *told])]
    premises += [f"(=> (>= {w.index(e)} 0) (>= {w.index(p)} 0))" for p, e in guarded.items()]
    products = [f"(= {name} (* {' '.join(map(w.atom, m))}))" for m, name in w.names.items() if isinstance(m, tuple)]
    return question(kind, map(t.text, assumed), w.declared, w.facts + premises, conclusion, t.text(wanted), *products)


# -- reals ------------------------------------------------------------------------------------------------------------


class Reals:
    """One question about reals: every atom a name, with the ground facts about it."""

    def __init__(self) -> None:
        self.declared: list[str] = []
        self.facts: list[str] = []
        self.atoms: dict[nf.Atom, str] = {}
        self.powers: dict[tuple[str, nf.Number], str] = {}
        self.booleans: dict[str, str] = {}

    def declare(self, text: str, sort: str = "Real") -> str:
        self.declared.append(f"(declare-const {_symbol(text)} {sort})")
        return _symbol(text)

    def poly(self, p: nf.Poly) -> str:
        return _sum([([x for a, e in m for x in self.power(a, e)], c) for m, c in p.terms], ".0")

    def power(self, a: nf.Atom, e: nf.Number) -> list[str]:
        """The factors of `a ^ e`."""
        base = self.atom(a)
        if not 1 <= abs(e.numerator) <= 6 or e.denominator > 4:
            return [self.extra(base, e, "power", nf.positive(a))]
        if e.denominator > 1:
            base = self.extra(base, Fraction(1, e.denominator), "root")
        if e < 0:
            base = self.extra(base, -1, "inverse")
        return [base] * abs(e.numerator)

    def extra(self, base: str, e: nf.Number, kind: str, positive: bool = False) -> str:
        if (base, e) not in self.powers:
            r = self.powers[base, e] = self.declare(f"{kind}!{len(self.powers)}")
            if kind == "inverse":
                self.facts.append(f"(= (* {r} {base}) 1.0)")
            elif kind == "root":
                self.facts += [f"(>= {r} 0.0)", f"(= (* {' '.join([r] * e.denominator)}) {base})"]
            elif positive:
                self.facts.append(f"(> {r} 0.0)")
        return self.powers[base, e]

    def atom(self, a: nf.Atom) -> str:
        if a not in self.atoms:
            self.atoms[a] = self._atom(a)
        return self.atoms[a]

    def _atom(self, a: nf.Atom) -> str:
        match a:
            case nf.Prime(p):
                return f"{p}.0"
            case nf.Infinity():
                raise Rejected("infinity: it is used as a number")
            case nf.Base(p):
                inner = self.poly(p)
                name = self.declare(f"base!{len(self.atoms)}")
                self.facts.append(f"(= {name} {inner})")
            case nf.Extreme(kind, args):
                inside = [self.poly(x) for x in args]
                name = self.declare(f"{kind}!{len(self.atoms)}")
                self.facts += [f"({'>=' if kind == 'max' else '<='} {name} {x})" for x in inside]
                self.facts.append(f"(or {' '.join(f'(= {name} {x})' for x in inside)})")
            case nf.Opaque(f, args):
                inside = [self.poly(x) for x in args]
                name = self.declare(nf.atom_text(a))
                for other in (b for b in self.atoms if isinstance(b, nf.Opaque) and b.function == f):
                    same = " ".join(f"(= {x} {self.poly(y)})" for x, y in zip(inside, other.args, strict=True))
                    self.facts.append(f"(=> (and {same}) (= {name} {self.atoms[other]}))")
                self.facts += [f"(and (< 3.14159265 {name}) (< {name} 3.14159266))"] * (f == "pi")
                if f == "sign":
                    signs = {"<": "(- 1.0)", "=": "0.0", ">": "1.0"}
                    self.facts += [f"(=> ({r} {inside[0]} 0.0) (= {name} {value}))" for r, value in signs.items()]
            case nf.Guarded(c, x, y):
                if c not in self.booleans:
                    self.booleans[c] = self.declare(c, "Bool")
                    if (gap := nf.guard_gap(a)) is not None:
                        holds = f"({'>' if gap[0] == '<' else '='} {self.poly(gap[1])} 0.0)"
                        self.facts.append(f"(= {self.booleans[c]} {holds})")
                return f"(ite {self.booleans[c]} {self.poly(x)} {self.poly(y)})"
            case _:
                name = self.declare(nf.atom_text(a))
                if isinstance(a, nf.Integer) and isinstance(a.atom, Size):
                    self.facts.append(f"(>= {name} 1.0)")
                elif isinstance(a, nf.Exp):
                    self.facts.append(f"(> {name} 0.0)")
                elif isinstance(a, nf.Sum) and nf.nonnegative_mono(a.mono):
                    self.facts.append(f"(>= {name} 0.0)")
        return name

    def condition(self, c: t.Condition, n: nf.Normalizer) -> str | None:
        """What a condition says of reals."""
        match c:
            case t.RealCompare(r, a, b):
                return f"({'=' if r == '==' else r} {self.poly(n.term(a))} {self.poly(n.term(b))})"
            case t.And(parts):
                inner = [x for x in (self.condition(p, n) for p in parts) if x is not None]
                return f"(and {' '.join(inner)})" if inner else None
            case t.Not(t.RealCompare() as p):
                return f"(not {self.condition(p, n)})"
            case _:
                return None

    def claim(self, kind: str, p: nf.Poly) -> tuple[str, str]:
        """That a value is `nonzero`, `positive`, `nonnegative`, and how that reads."""
        x = self.poly(p)
        text = f"(not (= {x} 0.0))" if kind == "nonzero" else f"({SYMBOL[kind][:-2]} {x} 0.0)"
        return text, f"{nf.poly_text(p)} {SYMBOL[kind]}"

    def question(self, kind: str, assumed: Mapping[str, str], goal: str, says: str) -> Question:
        """Whether a goal follows; `assumed`: hypothesis -> how it reads."""
        return question(kind, assumed.values(), self.declared, (*self.facts, *assumed), goal, says)


def equality(x: nf.Poly, y: nf.Poly, context: Iterable[t.Condition], n: nf.Normalizer) -> Question:
    """The question whether two normal forms are equal; facts about atoms, and what a context says of reals, are needed
    only where they differ."""
    w = Reals()
    kind, goal = ("normal form" if x == y else "equality"), f"(= {w.poly(x)} {w.poly(y)})"
    says = f"{nf.poly_text(x)} = {nf.poly_text(y)}"
    if x == y:
        return question(kind, (), w.declared, (), goal, says)
    told = {w.condition(c, n): nf.condition_text(c, n) for c in context}
    return w.question(kind, {fact: text for fact, text in told.items() if fact is not None}, goal, says)
