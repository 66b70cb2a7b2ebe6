# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The checker's own encoder: questions about integers and about reals as SMT-LIB 2 text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from axon_mlir.semantics import normal as nf
from axon_mlir.semantics import terms as t
from axon_mlir.semantics.index import Div, Index, Min, Size, Var, const, of_var
from axon_mlir.smt.encode import Query


class Rejected(Exception):
    """The certificate does not say what it should."""


# -- integers ---------------------------------------------------------------------------------------------------------


def _symbol(name: str) -> str:
    plain = bool(name) and not name[0].isdigit() and all(c.isascii() and (c.isalnum() or c in "_.!") for c in name)
    return name if plain else "|" + name.replace("|", "/").replace("\\", "/") + "|"


def _comparisons(c: t.Condition) -> Iterable[t.IndexCompare]:
    if isinstance(c, t.IndexCompare):
        yield c
    elif isinstance(c, t.And | t.Or):
        for p in c.parts:
            yield from _comparisons(p)
    elif isinstance(c, t.Not):
        yield from _comparisons(c.part)


def about_integers(c: t.Condition) -> bool:
    if isinstance(c, t.And | t.Or):
        return all(map(about_integers, c.parts))
    return about_integers(c.part) if isinstance(c, t.Not) else isinstance(c, t.IndexCompare)


class _Integers:
    """One integer question as text."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.known: list[Index] = []
        self.stated: list[str] = []
        self.names: dict[Any, str] = {}
        self.products: dict[Any, str] = {}
        self.equations: list[str] = []
        self.counts = [0, 0]

    def fresh(self, key: Any, name: str) -> str:
        self.names[key] = name
        self.lines.append(f"(declare-const {name} Int)")
        return name

    def state(self, e: Index) -> None:
        self.known.append(e)
        self.stated.append(f"(>= {self.index(e)} 0)")

    def atom(self, a: Any) -> str:
        if a in self.names:
            return self.names[a]
        me = Index({(a,): 1})
        if isinstance(a, Size):
            name = self.fresh(a, _symbol(a.name))
            self.state(me - 1)
            return name
        if isinstance(a, Var):
            return self.fresh(a, _symbol(str(a)))
        if isinstance(a, Div):
            n, d = a.numerator, a.denominator
            self.index(n)
            self.index(d)
            name = f"quotient!{self.counts[0]}"
            self.counts[0] += 1
            self.fresh(a, name)
            bounds = (n - d * me, d * me + d - 1 - n)
            signs = [c > 0 or not m for m, c in d.terms] + [isinstance(x, Size) for m, _ in d.terms for x in m]
            if all(signs) and sum(c for _, c in d.terms) >= 1:
                for e in bounds:
                    self.state(e)
            else:
                self.stated += [f"(=> (>= {self.index(d)} 1) (>= {self.index(e)} 0))" for e in bounds]
            return name
        assert isinstance(a, Min)
        for x in a.args:
            self.index(x)
        name = f"minimum!{self.counts[1]}"
        self.counts[1] += 1
        self.fresh(a, name)
        for e in (-me, *(x - me for x in a.args)):
            self.state(e)
        cases = " ".join(f"(= {name} {self.index(x)})" for x in (const(0), *a.args))
        self.stated.append(f"(or {cases})")
        return name

    def index(self, i: Index) -> str:
        out: list[str] = []
        for m, c in i.terms:
            factors = " ".join([self.atom(a) for a in m])
            if len(m) > 1 and m not in self.products:
                self.products[m] = name = f"product!{len(self.products)}"
                self.lines.append(f"(declare-const {name} Int)")
                self.equations.append(f"(= {name} (* {factors}))")
            body = self.products[m] if len(m) > 1 else self.atom(m[0]) if m else ""
            scale = str(c) if c >= 0 else f"(- {-c})"
            out.append(f"(* {scale} {body})" if body and c != 1 else body or scale)
        return "0" if not out else out[0] if len(out) == 1 else f"(+ {' '.join(out)})"

    def condition(self, c: t.Condition) -> str:
        if isinstance(c, t.IndexCompare):
            return f"({'=' if c.relation == '==' else c.relation} {self.index(c.left)} {self.index(c.right)})"
        if isinstance(c, t.Not):
            return f"(not {self.condition(c.part)})"
        assert isinstance(c, t.And | t.Or)
        word, empty = ("and", "true") if isinstance(c, t.And) else ("or", "false")
        return f"({word} {' '.join(map(self.condition, c.parts))})" if c.parts else empty

    def scaled(self, of: Sequence[Index]) -> list[tuple[Index, Index]]:
        sizes = sorted({a for m in self.products for a in m if isinstance(a, Size)}, key=str)
        out: dict[Index, Index] = {}
        for e in of:
            for s in sizes:
                p = e * Index({(s,): 1})
                high = [m for m, _ in p.terms if len(m) > 1]
                if high and all(m in self.products for m in high):
                    out.setdefault(p, e)
        return [(e, p) for p, e in out.items()]


def _gaps(c: t.Condition, holds: bool) -> list[Index]:
    """Terms that are >= 0 when a condition holds; when it fails, one of the terms is."""
    if isinstance(c, t.Not):
        return [] if not holds and _is_equality(c.part) else _gaps(c.part, not holds) if _simple(c.part) else []
    if isinstance(c, t.And) and holds:
        return [e for p in c.parts for e in _gaps(p, True)]
    if not isinstance(c, t.IndexCompare):
        return []
    gap = c.right - c.left
    if c.relation == "==":
        return [gap, -gap] if holds else [-gap - 1, gap - 1]
    strict = c.relation == "<"
    return [gap - 1 if strict else gap] if holds else [-gap if strict else -gap - 1]


def _is_equality(c: t.Condition) -> bool:
    return isinstance(c, t.IndexCompare) and c.relation == "=="


def _simple(c: t.Condition) -> bool:
    return isinstance(c, t.IndexCompare) and c.relation != "=="


def integers(kind: str, hypotheses: Sequence[t.Condition], goal: t.Condition) -> Query:
    """The question whether an integer goal follows."""
    kept = [*(h for h in hypotheses if about_integers(h)), goal]
    names: dict[Size | Var, Index] = {}
    for c in kept:
        for k in _comparisons(c):
            for i in (k.left, k.right):
                for v in sorted((s for s in i.symbols() if isinstance(s, Var)), key=lambda v: (v.uid, v.name)):
                    names.setdefault(v, of_var(Var(f"{v.name}!{len(names)}")))
    *assumed, wanted = [t.substitute_condition(c, names) for c in kept]
    w = _Integers()
    premises = [w.condition(h) for h in assumed]
    conclusion = w.condition(wanted)
    parts = wanted.parts if isinstance(wanted, t.And) else (wanted,)
    direct = w.scaled([*w.known, *(e for h in assumed for e in _gaps(h, True))])
    guarded = w.scaled([e for p in parts for e in _gaps(p, False)])
    premises += [f"(>= {w.index(p)} 0)" for _, p in direct]
    premises += [f"(=> (>= {w.index(e)} 0) (>= {w.index(p)} 0))" for e, p in guarded]
    base = [*w.lines, *(f"(assert {s})" for s in (*w.stated, *premises))]
    exact = [f"(assert {e})" for e in w.equations]
    final = [f"(assert (not {conclusion}))"]
    texts = ["\n".join([*ls, "(check-sat)", ""]) for ls in (base + final, base + exact + final, base + exact)]
    return Query(kind, tuple(map(t.text, assumed)), t.text(wanted), *texts)


# -- reals ------------------------------------------------------------------------------------------------------------


def _rational(c: Fraction) -> str:
    body = f"{abs(c.numerator)}.0" if c.denominator == 1 else f"(/ {abs(c.numerator)}.0 {c.denominator}.0)"
    return body if c >= 0 else f"(- {body})"


def _never_negative(m: nf.Mono) -> bool:
    def atom(a: nf.Atom) -> bool:
        return _never_negative(a.mono) if isinstance(a, nf.Sum) else nf.positive(a)

    return all(e.denominator != 1 or e.numerator % 2 == 0 or atom(a) for a, e in m)


class Reals:
    """One question about reals as text."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.facts: list[str] = []
        self.atoms: dict[nf.Atom, str] = {}
        self.powers: dict[tuple[str, Fraction], str] = {}
        self.booleans: dict[str, str] = {}
        self.calls: dict[str, list[tuple[str, list[str]]]] = {}

    def name(self, text: str, sort: str = "Real") -> str:
        self.lines.append(f"(declare-const {_symbol(text)} {sort})")
        return _symbol(text)

    def poly(self, p: nf.Poly) -> str:
        out: list[str] = []
        for m, c in p.terms:
            factors = [x for a, e in m for x in self.power(self.atom(a), e)]
            factors = factors if c == 1 and factors else [_rational(c), *factors]
            out.append(factors[0] if len(factors) == 1 else f"(* {' '.join(factors)})")
        return "0.0" if not out else out[0] if len(out) == 1 else f"(+ {' '.join(out)})"

    def power(self, base: str, e: Fraction) -> list[str]:
        small = abs(e.numerator) <= 6
        if e.denominator == 1 and small and e:
            return [base if e > 0 else self.extra(base, Fraction(-1), "inverse")] * abs(int(e))
        if e.denominator in (2, 3, 4) and small:
            return self.power(self.extra(base, Fraction(1, e.denominator), "root"), Fraction(e.numerator))
        return [self.extra(base, e, "power")]

    def extra(self, base: str, e: Fraction, kind: str) -> str:
        if (base, e) not in self.powers:
            r = self.powers[base, e] = self.name(f"{kind}!{len(self.powers)}")
            if kind == "inverse":
                self.facts.append(f"(= (* {r} {base}) 1.0)")
            elif kind == "root":
                self.facts += [f"(>= {r} 0.0)", f"(= (* {' '.join([r] * e.denominator)}) {base})"]
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
                raise Rejected("an infinity is used as a number")
            case nf.Base(p):
                inner = self.poly(p)
                name = self.name(f"base!{len(self.atoms)}")
                self.facts.append(f"(= {name} {inner})")
            case nf.Extreme(kind, args):
                inside = [self.poly(x) for x in args]
                name = self.name(f"{kind}!{len(self.atoms)}")
                self.facts += [f"({'>=' if kind == 'max' else '<='} {name} {x})" for x in inside]
                self.facts.append(f"(or {' '.join(f'(= {name} {x})' for x in inside)})")
            case nf.Opaque(f, args):
                inside = [self.poly(x) for x in args]
                name = self.name(nf.atom_text(a))
                for other, others in self.calls.setdefault(f, []):
                    same = " ".join(f"(= {x} {y})" for x, y in zip(inside, others, strict=True))
                    self.facts.append(f"(=> (and {same}) (= {name} {other}))")
                self.calls[f].append((name, inside))
            case nf.Guarded(c, x, y):
                if c not in self.booleans:
                    self.booleans[c] = self.name(c, "Bool")
                return f"(ite {self.booleans[c]} {self.poly(x)} {self.poly(y)})"
            case _:
                name = self.name(nf.atom_text(a))
                if isinstance(a, nf.Integer) and isinstance(a.atom, Size):
                    self.facts.append(f"(>= {name} 1.0)")
                elif isinstance(a, nf.Exp):
                    self.facts.append(f"(> {name} 0.0)")
                elif isinstance(a, nf.Sum) and _never_negative(a.mono):
                    self.facts.append(f"(>= {name} 0.0)")
        return name

    def condition(self, c: t.Condition, n: nf.Normalizer) -> str | None:
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

    def query(self, kind: str, assumed: Sequence[str], readable: Sequence[str], goal: str, says: str) -> Query:
        lines = [*self.lines, *(f"(assert {f})" for f in (*self.facts, *assumed))]
        text = "\n".join([*lines, f"(assert (not {goal}))", "(check-sat)", ""])
        return Query(kind, tuple(readable), says, text, text, "\n".join([*lines, "(check-sat)", ""]))


def equality(kind: str, x: nf.Poly, y: nf.Poly) -> Query:
    """The question whether two normal forms are equal; facts about atoms are needed only where they differ."""
    w = Reals()
    goal = f"(= {w.poly(x)} {w.poly(y)})"
    w.facts = [] if x == y else w.facts
    return w.query(kind, (), (), goal, f"{nf.poly_text(x)} = {nf.poly_text(y)}")
