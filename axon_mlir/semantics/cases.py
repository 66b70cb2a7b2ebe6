# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two terms case by case: what compares only indices of the result divides the result, and each part is looked at by
itself, its terms in pieces.

There are several ways to take terms apart, each finer than the one before: folds as they are; cut wherever a
fold of either term begins or ends; written out where they are short; in rows of all remainders that they ask for; once
for each order of what maxima and minima are taken of. At last `floor` is read as a function of its own. In each way one
term may read an element where the other does, when the case says that the places are the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from axon_mlir.semantics import terms as t
from axon_mlir.semantics.congruence import Congruence
from axon_mlir.semantics.denotation import range_of
from axon_mlir.semantics.guards import Guards
from axon_mlir.semantics.index import Index, Min, Size, Var, const, of_var
from axon_mlir.semantics.normal import ZERO, Normalizer, Poly, TooLarge, poly_text
from axon_mlir.semantics.pieces import (
    Pieces,
    assume,
    bound_in,
    canonical,
    comparisons,
    indices_in,
    places_of,
    real_comparisons,
    solution,
    windows_of,
)
from axon_mlir.semantics.walk import Context, folds, subterms

DEPTH = 16
"""Conditions about indices that are taken one way and the other."""
MOST = 48
"""Cases that one pair of terms is divided into."""
REAL = 3
"""Conditions about numbers that are put in front of a term."""


@dataclass(frozen=True)
class Case:
    """Both terms where the context holds."""

    context: Context
    left: t.Term
    right: t.Term


@dataclass(frozen=True)
class Attempt:
    """Two terms taken apart in one way: the normal forms in each case, and the lemmas of the taking apart."""

    cases: tuple[Case, ...]
    forms: tuple[tuple[Poly, Poly], ...]
    normal: Normalizer
    lemmas: set[str]

    @property
    def equal(self) -> bool:
        """Whether the forms are the same in every case."""
        return all(a == b or self.gap(a, b) == ZERO for a, b in self.forms)

    def gap(self, a: Poly, b: Poly) -> Poly:
        """The difference of two forms."""
        return self.normal.add(a, self.normal.scale(b, Fraction(-1)))


def attempts(x: t.Term, y: t.Term, context: Context, normal: Normalizer, pieces: Pieces) -> list[Attempt]:
    """The way that makes the terms equal; without one, the coarsest way and the finest. `normal` and `pieces` belong to
    the coarsest."""
    tried: list[Attempt] = []
    same = Congruence()
    for cases, lemmas in _ways(x, y, context, pieces):
        # What is equal part by part needs no form, which may be large.
        met = tuple(case if same.equal(case.left, case.right) else _met(case, pieces, lemmas) for case in cases)
        alike = {case for case in met if same.equal(case.left, case.right)}
        if alike.issuperset(met):
            return [Attempt(met, ((ZERO, ZERO),) * len(met), normal, lemmas | same.lemmas | {"congruence"})]
        own = type(normal)(joining=False, assumed=normal.assumed, kept=normal.kept) if tried else normal
        try:
            forms = tuple(
                (ZERO, ZERO) if case in alike else (own.term(case.left), own.term(case.right)) for case in met
            )
        except TooLarge:
            continue
        tried.append(Attempt(met, forms, own, lemmas | same.lemmas))
        if tried[-1].equal:
            return tried[-1:]
    if not tried:
        raise TooLarge("the normal forms are too large in every way to take the terms apart")
    try:
        sized = tuple(case for one in tried[0].cases for case in _by_size(one, normal))
        if sized != tried[0].cases:
            forms = tuple((normal.term(case.left), normal.term(case.right)) for case in sized)
            tried.append(Attempt(sized, forms, normal, pieces.lemmas))
        written = with_floors(x), with_floors(y)
        if written != (x, y):
            own = type(normal)(assumed=normal.assumed, kept=normal.kept | {"floor"})
            cases = tuple(_Division(pieces, Guards(pieces.follows)).cases(*written, context))
            forms = tuple((own.term(case.left), own.term(case.right)) for case in cases)
            if (found := Attempt(cases, forms, own, pieces.lemmas)).equal:
                return [found]
    except TooLarge:
        # The ways before stand, of which none makes the terms equal.
        return tried[:1]
    return [tried[0], *tried[1:][-1:]]


def with_floors(x: t.Term) -> t.Term:
    """The term with `floor(x)` where its definition by the nearest whole number stands."""
    match x:
        case t.Apply("sub", (t.Apply("round", (a,)) as near, t.Select(t.RealCompare("<", b, c), one, other))) if (
            b is a and c is near and one is t.ONE and other is t.ZERO
        ):
            return t.Apply("floor", (with_floors(a),))
        case _:
            return t.with_parts(x, with_floors, lambda c: c)


def _ways(x: t.Term, y: t.Term, context: Context, pieces: Pieces) -> Iterator[tuple[tuple[Case, ...], set[str]]]:
    """The ways to take two terms apart, coarse ones first."""
    cases = tuple(_Division(pieces, Guards(pieces.follows)).cases(x, y, context))
    yield cases, pieces.lemmas
    for written_out in (False, True):
        finer: list[Case] = []
        lemmas = set(pieces.lemmas)
        for case in cases:
            windows = windows_of(case.left, case.right)
            walk = Pieces(pieces.follows, lemmas=lemmas, windows=windows, written_out=written_out)
            finer += _Division(walk, minima=True).cases(case.left, case.right, case.context)
        if tuple(finer) != cases:
            yield tuple(finer), lemmas
    # Rows of remainders are made of whole ranges.
    rows = Pieces(pieces.follows, lemmas=set(pieces.lemmas), strides=True)
    finest = tuple(_Division(rows, Guards(pieces.follows)).cases(x, y, context))
    if rows.strided:
        yield finest, rows.lemmas


def _met(case: Case, pieces: Pieces, lemmas: set[str]) -> Case:
    """A case whose terms read at the places of the other one that are equal to their own in this case."""

    def meeting(x: t.Term, y: t.Term) -> t.Term:
        return Pieces(pieces.follows, lemmas=lemmas, places=places_of(y)).term(x, case.context)

    left = meeting(case.left, case.right)
    return Case(case.context, left, meeting(case.right, left))


def _by_size(case: Case, normal: Normalizer) -> Iterator[Case]:
    """A case for each order of what maxima and minima are taken of, where that does not depend on a fold variable."""
    questions: dict[Poly, t.RealCompare] = {}
    for x in (case.left, case.right):
        bound = bound_in(x)
        for y in subterms(x):
            choice = _choice(y)
            if choice is not None and t.free_symbols(y).isdisjoint(bound):
                a, b, _, _ = choice
                key, direction = _order(a, b, normal)
                if key.constant is None:
                    questions.setdefault(key, t.RealCompare("<", *((a, b) if direction == 1 else (b, a))))
    chosen = sorted(questions, key=poly_text)[:REAL]
    for truth in product((True, False), repeat=len(chosen)):
        known = dict(zip(chosen, truth, strict=True))
        more = [questions[k] if holds else t.Not(questions[k]) for k, holds in known.items()]
        yield Case((*case.context, *more), *(_sized(x, known, normal) for x in (case.left, case.right)))


def _choice(y: t.Term) -> tuple[t.Term, t.Term, t.Term, t.Term] | None:
    """(a, b, x, y) for a term that is x where a < b, and y elsewhere."""
    match y:
        case t.Apply("max", (a, b)):
            return a, b, b, a
        case t.Apply("min", (a, b)):
            return a, b, a, b
        case t.Apply("abs", (a,)):
            opposite = t.Apply("neg", (a,))
            return opposite, a, a, opposite
        case t.Apply("relu", (a,)):
            return t.ZERO, a, a, t.ZERO
        case _:
            return None


def _order(a: t.Term, b: t.Term, normal: Normalizer) -> tuple[Poly, int]:
    """What is positive exactly when `a < b` (1), or `b < a` (-1), up to a positive factor."""
    gap = normal.add(normal.term(b), normal.scale(normal.term(a), Fraction(-1)))
    _, rest = normal.positive_content(gap)
    opposite = normal.scale(rest, Fraction(-1))
    return (rest, 1) if poly_text(rest) <= poly_text(opposite) else (opposite, -1)


def _sized(x: t.Term, known: Mapping[Poly, bool], normal: Normalizer) -> t.Term:
    """A term without the maxima, minima and choices that known orders decide."""

    def comparison(c: t.Comparison) -> t.Condition:
        match c:
            case t.RealCompare("<" | "<=" as r, a, b):
                key, direction = _order(a, b, normal)
                decided = {(True, 1): t.TRUE, (True, -1): t.FALSE}
                decided |= {(False, 1): t.FALSE} if r == "<" else {(False, -1): t.TRUE}
                found = decided.get((known[key], direction)) if key in known else None
                return t.RealCompare(r, term(a), term(b)) if found is None else found
            case t.RealCompare(r, a, b):
                return t.RealCompare(r, term(a), term(b))
            case t.IndexCompare():
                return c

    def term(y: t.Term) -> t.Term:
        choice = _choice(y)
        if choice is not None:
            a, b, here, there = choice
            key, direction = _order(a, b, normal)
            if key in known:
                # Where the numbers are equal both are right.
                return term(here if known[key] == (direction == 1) else there)
        return t.with_parts(y, term, comparison)

    return term(x)


@dataclass
class _Division:
    pieces: Pieces
    guards: Guards | None = None
    minima: bool = False
    """Whether it matters which is the least of a minimum."""
    count: int = 0

    def cases(self, x: t.Term, y: t.Term, context: Context, depth: int = DEPTH) -> Iterator[Case]:
        c: t.IndexCompare | None = None
        # What is decided by the index of the result is asked before folds are cut.
        for walk in (self.guards, self.pieces) if self.guards is not None else (self.pieces,):
            x, y = walk.term(x, context), walk.term(y, context)
            c = self._question(x, y) if depth and self.count < MOST else None
            if c is not None:
                break
        if c is None:
            yield self._last(x, y, context)
            return
        self.count += 1
        for holds in (True, False):
            around = (*context, c if holds else t.negate(c))
            yield from self.cases(assume(x, c, holds), assume(y, c, holds), around, depth - 1)

    def _question(self, x: t.Term, y: t.Term) -> t.IndexCompare | None:
        """A comparison of indices that is the same for all values of the fold variables."""
        found: dict[t.IndexCompare, None] = {}
        for part in (x, y):
            bound = bound_in(part)
            found |= {canonical(c): None for c in comparisons(part) if t.free_symbols(c).isdisjoint(bound)}
            for i in indices_in(part) if self.minima else ():
                for a in (a for m, _ in i.terms for a in m if isinstance(a, Min)):
                    for d in (b - e for b in (const(0), *a.args) for e in (const(0), *a.args)):
                        c = t.at_most(const(0), d)
                        if isinstance(c, t.IndexCompare) and d.symbols().isdisjoint(bound):
                            found[canonical(c)] = None
        return min(found, key=t.text, default=None)

    def _last(self, x: t.Term, y: t.Term, context: Context) -> Case:
        """A case with all questions answered; an index that can have one value only has it."""
        for v, at in _pinned(context).items():
            if v in t.free_symbols(x) | t.free_symbols(y):
                x, y = (self.pieces.term(t.substitute(z, {v: at}), context) for z in (x, y))
        return Case(context, *(self._in_front(z, context, REAL) for z in (x, y)))

    def _in_front(self, x: t.Term, context: Context, left: int) -> t.Term:
        """Comparisons of numbers that concern a whole term, in front of it."""
        free = real_comparisons(x, bound_in(x))[:left]
        if not free:
            return x
        c = free[0]
        parts: list[t.Term] = []
        for holds in (True, False):
            around = (*context, c if holds else t.negate(c))
            branch = self.pieces.term(assume(x, c, holds), around)
            parts.append(self._in_front(branch, around, left - 1))
        return t.select(c, *parts)


def _pinned(context: Context) -> dict[Size | Var, Index]:
    """Variables that a context leaves one value."""
    out: dict[Size | Var, Index] = {}
    low: dict[Var, set[Index]] = {}
    high: dict[Var, set[Index]] = {}
    for c in context:
        compared = c.part if isinstance(c, t.Not) else c
        if not isinstance(compared, t.IndexCompare):
            continue
        for v in sorted((s for s in t.free_symbols(c) if isinstance(s, Var)), key=str):
            if compared.relation == "==":
                if c is compared and (at := solution(v, c)) is not None and v not in at.symbols():
                    out.setdefault(v, at)
                continue
            gap = compared.right - compared.left - (1 if compared.relation == "<" else 0)
            if c is not compared:
                gap = -gap - 1
            factor = gap.coefficient(v)
            if factor == 1:
                low.setdefault(v, set()).add(of_var(v) - gap)
            elif factor == -1:
                high.setdefault(v, set()).add(gap + of_var(v))
    for v in low:
        for at in sorted(low[v] & high.get(v, set()), key=str)[:1]:
            out.setdefault(v, at)
    return out


def tile_contexts(n: Index, s: Index, cases: Sequence[Case], context: Context) -> list[Context]:
    """Where an instance of the tile lemma may stand: with the ranges of the fold variables that it mentions, and in
    each case, if it depends on where the result is."""
    mentioned = n.symbols() | s.symbols()
    inner = [f for case in cases for x in (case.left, case.right) for _, f in folds(x, ()) if f.var in mentioned]
    ranges = [c for f in inner for c in range_of(f.var, f.extent)]
    outer = {v for c in context for v in t.free_symbols(c) if isinstance(v, Var)}
    around = [case.context for case in cases] if outer & mentioned else [context]
    return list(dict.fromkeys((*c, *ranges) for c in around))
