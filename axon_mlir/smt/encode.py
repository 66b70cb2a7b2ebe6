# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Integer obligations as SMT-LIB 2 text: `hypotheses |- goal` over sizes (>= 1) and index variables.

Everything is ground and linear. A floor division gets a named quotient with `d * q <= n < d * q + d`, a minimum a named
value. A product of unknowns is a name too, about which the query knows what makes linear reasoning enough: every known
inequality times every size, as far as no new product appears. Leaving out what the product is makes a query weaker,
so an `unsat` stays true; `exact` is the same query with the products.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from axon_mlir.semantics import terms as t
from axon_mlir.semantics.hypotheses import connected, inequalities, multiples, quotients_apart, quotients_within
from axon_mlir.semantics.index import Atom, Div, Index, Min, Monomial, Size, Var, of_var


@dataclass(frozen=True)
class Query:
    """One question to a solver: `unsat` means that the goal holds.

    `hypotheses` and `goal` are readable; `text` is what is solved; `exact` the same with products defined (or the same
    text); `premises` is `exact` without the negated goal, which must be satisfiable.
    """

    kind: str
    hypotheses: tuple[str, ...]
    goal: str
    text: str
    exact: str
    premises: str


def sanitize(name: str) -> str:
    """A name as an SMT-LIB symbol, and no word of the language."""
    if name and all(c.isascii() and (c.isalnum() or c in "_.!") for c in name) and not name[0].isdigit():
        word = name.replace("_", "a")
        return f"{name}!" if word.isalpha() and word.islower() else name
    return "|" + name.replace("|", "/").replace("\\", "/") + "|"


def canonical(conditions: Sequence[t.Condition]) -> list[t.Condition]:
    """Rename variables by first occurrence, so that a text does not depend on how many variables a run has made."""
    order: dict[Var, int] = {}
    out: list[t.Condition] = []
    for c in conditions:
        places = tuple(order.setdefault(v, len(order)) for v in _variables(c))
        out.append(_renamed(c, places) if places else c)
    return out


@lru_cache(maxsize=1 << 16)
def _variables(c: t.Condition) -> tuple[Var, ...]:
    """The variables of a condition by first occurrence, each once."""
    found: dict[Var, None] = {}
    for i in t.compared_indices(c):
        inside = (s for s in i.symbols() if isinstance(s, Var))
        found |= dict.fromkeys(sorted(inside, key=lambda v: (v.uid, v.name)))
    return tuple(found)


@lru_cache(maxsize=1 << 16)
def _renamed(c: t.Condition, places: tuple[int, ...]) -> t.Condition:
    """The condition with its variables named by their places. Many questions share most of their hypotheses."""
    new = (of_var(Var(f"{v.name}!{n}")) for v, n in zip(_variables(c), places, strict=True))
    return t.substitute_condition(c, dict(zip(_variables(c), new, strict=True)))


def parts_of(c: t.Condition) -> tuple[t.Condition, ...]:
    """The conjuncts of a condition."""
    return c.parts if isinstance(c, t.And) else (c,)


class IntegerText:
    """Prints index terms and conditions, and collects what they need: declarations, quotients, minima."""

    def __init__(self) -> None:
        self.names: dict[Atom, str] = {}
        self.declared: list[str] = []
        self.definitions: list[str] = []
        self.facts: list[Index] = []
        """Terms known to be >= 0."""
        self.monomials: dict[Monomial, str] = {}
        """Products of unknowns, and their names."""
        self.products_defined: list[str] = []
        self._quotients = 0
        self._minima = 0

    def atom(self, a: Atom) -> str:
        found = self.names.get(a)
        if found is not None:
            return found
        match a:
            case Size(name):
                text = sanitize(name)
                self._declare(a, text)
                self.know(Index({(a,): 1}) - 1)
            case Var():
                text = sanitize(str(a))
                self._declare(a, text)
            case Div(n, d):
                self.index(n)
                self.index(d)
                text = f"quotient!{self._quotients}"
                self._quotients += 1
                self._declare(a, text)
                q = Index({(a,): 1})
                low, high = n - d * q, d * q + d - 1 - n
                if positive(d):
                    for e in (low, high, *quotients_apart(a, list(self.names))):
                        self.know(e)
                else:
                    guard = f"(>= {self.index(d)} 1)"
                    self.definitions += [f"(=> {guard} (>= {self.index(e)} 0))" for e in (low, high)]
            case Min(args):
                for x in args:
                    self.index(x)
                text = f"minimum!{self._minima}"
                self._minima += 1
                self._declare(a, text)
                m = Index({(a,): 1})
                self.know(-m)
                for x in args:
                    self.know(x - m)
                options = [f"(= {text} 0)", *(f"(= {text} {self.index(x)})" for x in args)]
                self.definitions.append(f"(or {' '.join(options)})")
        return text

    def _declare(self, a: Atom, text: str) -> None:
        self.names[a] = text
        self.declared.append(text)

    def know(self, e: Index) -> None:
        """State that a term is >= 0."""
        self.facts.append(e)
        self.definitions.append(f"(>= {self.index(e)} 0)")

    def index(self, i: Index) -> str:
        pieces: list[str] = []
        for m, c in i.terms:
            factors = [self.product(m)] if len(m) > 1 else [self.atom(a) for a in m]
            if c != 1 or not factors:
                factors.insert(0, str(c) if c >= 0 else f"(- {-c})")
            pieces.append(factors[0] if len(factors) == 1 else f"(* {' '.join(factors)})")
        if not pieces:
            return "0"
        return pieces[0] if len(pieces) == 1 else f"(+ {' '.join(pieces)})"

    def product(self, m: Monomial) -> str:
        # The facts about a factor may name this very product.
        factors = [self.atom(a) for a in m]
        found = self.monomials.get(m)
        if found is None:
            found = f"product!{len(self.monomials)}"
            self.monomials[m] = found
            self.declared.append(found)
            self.products_defined.append(f"(= {found} (* {' '.join(factors)}))")
        return found

    def condition(self, c: t.Condition) -> str:
        match c:
            case t.IndexCompare(r, a, b):
                return f"({'=' if r == '==' else r} {self.index(a)} {self.index(b)})"
            case t.And(parts):
                return f"(and {' '.join(map(self.condition, parts))})" if parts else "true"
            case t.Or(parts):
                return f"(or {' '.join(map(self.condition, parts))})" if parts else "false"
            case t.Not(p):
                return f"(not {self.condition(p)})"
            case t.RealCompare():
                raise ValueError("a comparison of reals in an integer obligation")

    def products(self, known: Sequence[Index]) -> list[tuple[Index, Index]]:
        """(inequality, its product with sizes) for products that hold no new product of other unknowns."""
        there = dict.fromkeys(self.monomials)
        out: dict[Index, Index] = {}
        for e in known:
            for scaled in multiples(e, there):
                out.setdefault(scaled, e)
        return [(e, scaled) for scaled, e in out.items()]


def positive(d: Index) -> bool:
    """Whether a divisor is >= 1 by its form: a number, or a product of sizes."""
    lowest = 0
    for m, c in d.terms:
        if (c < 0 and m) or any(not isinstance(a, Size) for a in m):
            return False
        lowest += c
    return lowest >= 1


def integer_query(kind: str, hypotheses: Sequence[t.Condition], goal: t.Condition) -> Query:
    """The question whether the goal follows; hypotheses about reals are left out, and those that have nothing to do
    with the goal."""
    return replace(asked(tuple(hypotheses), goal), kind=kind)


@lru_cache(maxsize=1 << 15)
def asked(hypotheses: Sequence[t.Condition], goal: t.Condition) -> Query:
    """The question of `integer_query`, of no kind. What a program presupposes is asked for in the step that makes it
    and in the step that takes it."""
    return written(tuple(canonical([*connected(hypotheses, goal), goal])))


@lru_cache(maxsize=1 << 14)
def written(conditions: Sequence[t.Condition]) -> Query:
    """The question whether the last condition follows from the others, of no kind. It is asked for again and again:
    when a choice is looked for, and when it is recorded."""
    assumed, wanted = conditions[:-1], conditions[-1]
    text = IntegerText()
    assumptions = [text.condition(h) for h in assumed]
    conclusion = text.condition(wanted)
    known = [e for h in assumed for e in inequalities(h)]
    for e in quotients_within(list(text.names), known):
        text.know(e)
    negated = [e for p in parts_of(wanted) for e in negations(p)]
    first = text.facts + known
    scaled = text.products(first)
    guarded = text.products(negated)
    facts = [f"(>= {text.index(p)} 0)" for _, p in scaled]
    facts += [f"(=> (>= {text.index(e)} 0) (>= {text.index(p)} 0))" for e, p in guarded]
    lines = [f"(declare-const {n} Int)" for n in text.declared]
    lines += [f"(assert {d})" for d in (*text.definitions, *assumptions, *facts)]
    defined = [f"(assert {d})" for d in text.products_defined]
    refuted = [f"(assert (not {conclusion}))"]
    return Query(
        "",
        tuple(map(t.text, assumed)),
        t.text(wanted),
        script([*lines, *refuted]),
        script([*lines, *defined, *refuted]),
        script([*lines, *defined]),
    )


def script(lines: Sequence[str]) -> str:
    """A complete SMT-LIB script."""
    return "\n".join([*lines, "(check-sat)", ""])


def negations(c: t.Condition) -> list[Index]:
    """Terms one of which is >= 0 when the condition fails."""
    match c:
        case t.IndexCompare("<", a, b):
            return [a - b]
        case t.IndexCompare("<=", a, b):
            return [a - b - 1]
        case t.IndexCompare(_, a, b):
            return [a - b - 1, b - a - 1]
        case t.Not(t.IndexCompare("==", _, _)):
            return []
        case t.Not(p):
            return inequalities(p)
        case _:
            return []
