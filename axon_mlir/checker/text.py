# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The checker's own encoder: questions about integers and about reals as SMT-LIB 2 text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from axon_mlir.semantics import normal as nf
from axon_mlir.semantics import terms as t
from axon_mlir.semantics.index import Div, Index, Min, Size, Var, of_var


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


def script(lines: Sequence[str], goal: str | None = None) -> str:
    """A whole script: with the negation of a goal, or without one."""
    return "\n".join([*lines, *([] if goal is None else [f"(assert (not {goal}))"]), "(check-sat)", ""])


def _symbol(name: str) -> str:
    plain = bool(name) and not name[0].isdigit() and all(c.isascii() and (c.isalnum() or c in "_.!") for c in name)
    word = name.replace("_", "a")
    return (
        name + "!" * (word.isalpha() and word.islower())
        if plain
        else "|" + name.replace("|", "/").replace("\\", "/") + "|"
    )


def _join(pieces: Sequence[str], operator: str, empty: str) -> str:
    return empty if not pieces else pieces[0] if len(pieces) == 1 else f"({operator} {' '.join(pieces)})"


# -- integers ---------------------------------------------------------------------------------------------------------


def _comparisons(c: t.Condition) -> Iterable[t.Condition]:
    if isinstance(c, t.And | t.Or):
        for p in c.parts:
            yield from _comparisons(p)
    elif isinstance(c, t.Not):
        yield from _comparisons(c.part)
    else:
        yield c


def about_integers(c: t.Condition) -> bool:
    """Whether a condition compares only indices."""
    return all(isinstance(k, t.IndexCompare) for k in _comparisons(c))


class _Integers:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.known: list[Index] = []
        self.stated: list[str] = []
        self.names: dict[Any, str] = {}
        self.products: dict[Any, str] = {}
        self.equations: list[str] = []
        self.counts = {"quotient": 0, "minimum": 0}

    def declare(self, key: Any, name: str) -> str:
        self.names[key] = name
        self.lines.append(f"(declare-const {name} Int)")
        return name

    def number(self, key: Any, kind: str) -> str:
        self.counts[kind] += 1
        return self.declare(key, f"{kind}!{self.counts[kind] - 1}")

    def state(self, *terms: Index) -> None:
        for e in terms:
            self.known.append(e)
            self.stated.append(f"(>= {self.index(e)} 0)")

    def atom(self, a: Any) -> str:
        if a in self.names:
            return self.names[a]
        me = Index({(a,): 1})
        if isinstance(a, Size | Var):
            name = self.declare(a, _symbol(str(a)))
            self.state(*([me - 1] if isinstance(a, Size) else []))
        elif isinstance(a, Div):
            n, d = a.numerator, a.denominator
            inner = [self.index(n), self.index(d)]
            name = self.number(a, "quotient")
            bounds = (n - d * me, d * me + d - 1 - n)
            sizes = all(isinstance(x, Size) for m, _ in d.terms for x in m)
            if sizes and all(c > 0 or not m for m, c in d.terms) and sum(c for _, c in d.terms) >= 1:
                self.state(*bounds)
            else:
                self.stated += [f"(=> (>= {inner[1]} 1) (>= {self.index(e)} 0))" for e in bounds]
        else:
            assert isinstance(a, Min)
            inner = [self.index(x) for x in a.args]
            name = self.number(a, "minimum")
            self.state(-me, *(x - me for x in a.args))
            self.stated.append(f"(or {' '.join(f'(= {name} {x})' for x in ('0', *inner))})")
        return name

    def index(self, i: Index) -> str:
        out: list[str] = []
        for m, c in i.terms:
            factors = " ".join([self.atom(a) for a in m])
            if len(m) > 1 and m not in self.products:
                name = self.products[m] = f"product!{len(self.products)}"
                self.lines.append(f"(declare-const {name} Int)")
                self.equations.append(f"(= {name} (* {factors}))")
            body = self.products[m] if len(m) > 1 else factors
            scale = str(c) if c >= 0 else f"(- {-c})"
            out.append(f"(* {scale} {body})" if body and c != 1 else body or scale)
        return _join(out, "+", "0")

    def condition(self, c: t.Condition) -> str:
        if isinstance(c, t.Not):
            return f"(not {self.condition(c.part)})"
        if isinstance(c, t.And | t.Or):
            word, empty = ("and", "true") if isinstance(c, t.And) else ("or", "false")
            return f"({word} {' '.join(map(self.condition, c.parts))})" if c.parts else empty
        assert isinstance(c, t.IndexCompare)
        return f"({'=' if c.relation == '==' else c.relation} {self.index(c.left)} {self.index(c.right)})"

    def scaled(self, of: Sequence[Index]) -> list[tuple[Index, Index]]:
        """(term, the term times a size), where the product needs no new name."""
        sizes = sorted({a for m in self.products for a in m if isinstance(a, Size)}, key=str)
        out: dict[Index, Index] = {}
        for e, p in ((e, e * Index({(s,): 1})) for e in of for s in sizes):
            high = [m for m, _ in p.terms if len(m) > 1]
            if high and all(m in self.products for m in high):
                out.setdefault(p, e)
        return [(e, p) for p, e in out.items()]


def _gaps(c: t.Condition, holds: bool) -> list[Index]:
    """Terms that are >= 0 when a condition holds; when it fails, one of the terms is."""
    if isinstance(c, t.Not) and isinstance(c.part, t.IndexCompare):
        return [] if c.part.relation == "==" else _gaps(c.part, not holds)
    if isinstance(c, t.And) and holds:
        return [e for p in c.parts for e in _gaps(p, True)]
    if not isinstance(c, t.IndexCompare):
        return []
    gap, strict = c.right - c.left, int(c.relation == "<")
    if c.relation == "==":
        return [gap, -gap] if holds else [-gap - 1, gap - 1]
    return [gap - strict] if holds else [-gap - 1 + strict]


def integers(kind: str, hypotheses: Sequence[t.Condition], goal: t.Condition) -> Question:
    """The question whether an integer goal follows; hypotheses about reals are left out."""
    kept = [*(h for h in hypotheses if about_integers(h)), goal]
    names: dict[Size | Var, Index] = {}
    for k in (k for c in kept for k in _comparisons(c) if isinstance(k, t.IndexCompare)):
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
    full = base + [f"(assert {e})" for e in w.equations]
    texts = (script(base, conclusion), script(full, conclusion), script(full))
    return Question(kind, tuple(map(t.text, assumed)), t.text(wanted), *texts)


# -- reals ------------------------------------------------------------------------------------------------------------


def _rational(c: Fraction) -> str:
    body = f"{abs(c.numerator)}.0" if c.denominator == 1 else f"(/ {abs(c.numerator)}.0 {c.denominator}.0)"
    return body if c >= 0 else f"(- {body})"


class Reals:
    """One question about reals: every atom a name, with the ground facts about it."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.facts: list[str] = []
        self.atoms: dict[nf.Atom, str] = {}
        self.powers: dict[tuple[str, Fraction], str] = {}
        self.booleans: dict[str, str] = {}
        self.calls: dict[str, list[tuple[str, list[str]]]] = {}
        self.positive: set[str] = set()

    def name(self, text: str, sort: str = "Real") -> str:
        self.lines.append(f"(declare-const {_symbol(text)} {sort})")
        return _symbol(text)

    def poly(self, p: nf.Poly) -> str:
        out: list[str] = []
        for m, c in p.terms:
            factors = [x for a, e in m for x in self.power(self.atom(a), e)]
            out.append(_join(factors if c == 1 and factors else [_rational(c), *factors], "*", ""))
        return _join(out, "+", "0.0")

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
            elif base in self.positive:
                self.facts.append(f"(> {r} 0.0)")
        return self.powers[base, e]

    def atom(self, a: nf.Atom) -> str:
        if a not in self.atoms:
            self.atoms[a] = self._atom(a)
            self.positive |= {self.atoms[a]} if nf.positive(a) else set()
        return self.atoms[a]

    def _atom(self, a: nf.Atom) -> str:
        match a:
            case nf.Prime(p):
                return f"{p}.0"
            case nf.Infinity():
                raise Rejected("infinity: it is used as a number")
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
                    gap = nf.guard_gap(a)
                    if gap is not None:
                        holds = f"({'>' if gap[0] == '<' else '='} {self.poly(gap[1])} 0.0)"
                        self.facts.append(f"(= {self.booleans[c]} {holds})")
                return f"(ite {self.booleans[c]} {self.poly(x)} {self.poly(y)})"
            case _:
                name = self.name(nf.atom_text(a))
                if isinstance(a, nf.Integer) and isinstance(a.atom, Size):
                    self.facts.append(f"(>= {name} 1.0)")
                elif isinstance(a, nf.Exp):
                    self.facts.append(f"(> {name} 0.0)")
                elif isinstance(a, nf.Sum) and nf.nonnegative_mono(a.mono):
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

    def question(self, kind: str, assumed: dict[str, str], goal: str, says: str) -> Question:
        """Whether a goal follows; `assumed`: hypothesis -> how it reads."""
        lines = [*self.lines, *(f"(assert {f})" for f in (*self.facts, *assumed))]
        return Question(kind, tuple(assumed.values()), says, script(lines, goal), script(lines, goal), script(lines))


def equality(kind: str, x: nf.Poly, y: nf.Poly) -> Question:
    """The question whether two normal forms are equal; facts about atoms are needed only where they differ."""
    w = Reals()
    goal = f"(= {w.poly(x)} {w.poly(y)})"
    w.facts = [] if x == y else w.facts
    return w.question(kind, {}, goal, f"{nf.poly_text(x)} = {nf.poly_text(y)}")
