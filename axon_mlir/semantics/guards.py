# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Guards: what is decided where a term stands leaves the term.

A `Select` whose condition (or its negation) follows from where it stands is replaced by its branch; of a conjunction
the decided parts leave. Folds that loops have cut are put together: tiles of one range (lemma `tile`), and a range and
the one that begins where it ends (lemma `split`). Whether a condition follows is asked of the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import permutations

from axon_mlir.semantics import terms as t
from axon_mlir.semantics.denotation import range_of
from axon_mlir.semantics.functions import MONOIDS, Monoid
from axon_mlir.semantics.index import (
    Div,
    Index,
    Size,
    Var,
    branches,
    ceil_div,
    const,
    extreme,
    fresh_var,
    minimum,
    nonnegative,
    of_var,
)
from axon_mlir.semantics.spelling import alike, outline
from axon_mlir.semantics.walk import Context, subterms


@dataclass
class Guards:
    """One walk over terms."""

    follows: Callable[[Context, t.Condition], bool]
    """Whether a condition about indices follows from a context."""
    lemmas: set[str] = field(default_factory=set[str])
    _memo: dict[tuple[t.Term, Context], t.Term] = field(default_factory=dict[tuple[t.Term, Context], t.Term])

    def term(self, x: t.Term, context: Context) -> t.Term:
        """The term, simplified under the context."""
        key = (x, context)
        found = self._memo.get(key)
        if found is None:
            found = self._term(x, context)
            self._memo[key] = found
        return found

    def _term(self, x: t.Term, context: Context) -> t.Term:
        match x:
            case t.Const() | t.IndexValue() | t.Read():
                return x
            case t.Apply(f, args):
                # What is decided in one of two folds hides that they have one body.
                whole = self._whole(x, context)
                if whole is not None:
                    return self.term(whole, context)
                return self._joined(t.Apply(f, tuple(self.term(a, context) for a in args)), context)
            case t.Fold(m, v, n, body):
                return self._untiled(t.fold(m, v, n, self.term(body, (*context, *range_of(v, n)))), context)
            case t.Select(c, a, b):
                left = self.condition(c, context)
                if left == t.TRUE:
                    return self.term(a, context)
                if left == t.FALSE:
                    return self.term(b, context)
                return t.select(left, self.term(a, (*context, left)), self.term(b, (*context, t.negate(left))))

    def _untiled(self, x: t.Term, context: Context) -> t.Term:
        """A fold over tiles and inside them as one over the range that they tile."""
        if not isinstance(x, t.Fold):
            return x
        between: list[t.Fold] = []
        inner = x.body
        while isinstance(inner, t.Fold) and inner.monoid == x.monoid:
            apart = inner.extent.symbols().isdisjoint(f.var for f in between)
            for length, step in _tilings(x, inner.extent) if apart else ():
                k = fresh_var(inner.var.name)
                body = t.substitute(inner.body, {inner.var: of_var(k) - step * of_var(x.var)})
                covered = None if x.var in t.free_symbols(body) else self._covered(x.extent, length, step, context)
                if covered is None:
                    continue
                self.lemmas.add("tile")
                for f in reversed(between):
                    body = t.Fold(f.monoid, f.var, f.extent, body)
                return t.fold(x.monoid, k, covered, body)
            if x.var in inner.extent.symbols():
                break
            between.append(inner)
            inner = inner.body
        return x

    def _covered(self, count: Index, length: Index, step: Index, context: Context) -> Index | None:
        """What so many tiles cover: all of a length, or a part that full tiles fill; None where neither is known."""
        if not self.follows(context, t.conj([t.at_most(const(0), length), t.at_most(const(1), step)])):
            return None
        if count == ceil_div(length, step):
            return length
        full = count * step
        return full if full == length or self.follows(context, t.at_most(full, length)) else None

    def _joined(self, x: t.Apply, context: Context) -> t.Term:
        """Two folds of one body, one from 0 on and one from where that ends, as one.

        Neutral elements leave, and what is said twice of a maximum or minimum.
        """
        monoid = next((m for m in MONOIDS.values() if m.function == x.function), None)
        if monoid is None:
            return x
        operands = list(_operands(x, monoid))
        parts = [p for p in operands if p != t.number(monoid.neutral) and not self._empty(p, monoid, context)]
        for (n, a), (m, b) in permutations(_folds(parts, monoid), 2):
            whole = self._adjacent(a, b, context)
            if whole is not None:
                return reduce(lambda p, q: t.Apply(x.function, (p, q)), _without(parts, n, m), whole)
        if monoid.name == "prod":
            for n, d in _folds(parts, monoid):
                moved = self._continued(_without(parts, n), d, context)
                if moved is not None:
                    return moved
        once = list(dict.fromkeys(parts)) if monoid.name in ("max", "min") else parts
        if not once or len(once) == len(operands):
            return x
        return reduce(lambda p, q: t.Apply(x.function, (p, q)), once)

    def _whole(self, x: t.Apply, context: Context) -> t.Term | None:
        """A fold over tiles and one over the range beside, as they are written, as one; None where there are none."""
        monoid = next((m for m in MONOIDS.values() if m.function == x.function), None)
        if monoid is None:
            return None
        operands = list(_operands(x, monoid))
        for (n, a), (m, b) in permutations(_folds(operands, monoid), 2):
            first, second = self._untiled(a, context), self._untiled(b, context)
            if first is a and second is b:
                continue
            if isinstance(first, t.Fold) and isinstance(second, t.Fold):
                whole = self._adjacent(first, second, context)
                if whole is not None:
                    return reduce(lambda p, q: t.Apply(x.function, (p, q)), _without(operands, n, m), whole)
        return None

    def _adjacent(self, a: t.Fold, b: t.Fold, context: Context) -> t.Term | None:
        """A fold, and one that begins where it ends, as one; None where the second does not."""
        if outline(a.body) != outline(b.body):
            return None
        shorter = branches(a.extent) if extreme(a.extent) is not None else []
        for length in dict.fromkeys((*_distances(a, b), *shorter, a.extent)):
            here: dict[Size | Var, Index] = {b.var: of_var(Var("k"))}
            there: dict[Size | Var, Index] = {a.var: length + of_var(Var("k"))}
            if not alike(b.body, here, a.body, there):
                continue
            ranges = [t.at_most(const(0), a.extent), t.at_most(const(0), b.extent), t.equal(length, a.extent)]
            if self.follows(context, t.conj(ranges)):
                self.lemmas.add("split")
                return t.fold(a.monoid, a.var, length + b.extent, a.body)
        return None

    def _continued(self, factors: list[t.Term], d: t.Fold, context: Context) -> t.Term | None:
        """A product of factors and of d, which goes on where a product inside of one of them ends: the recurrence of a
        loop over tiles, whose tiles each have a product of their own. None where there is no such product."""
        for n, p in enumerate(factors):
            moved = self._with_factor(p, d, context)
            if moved is not None:
                return reduce(lambda q, r: t.Apply("mul", (q, r)), _without(factors, n), moved)
        return None

    def _with_factor(self, x: t.Term, d: t.Fold, context: Context) -> t.Term | None:
        """`x * d` as a sum whose products contain d."""
        match x:
            case t.Fold("prod", _, _, _):
                return self._adjacent(x, d, context) or self._adjacent(d, x, context)
            case t.Fold("sum", v, n, body):
                within = (*context, *range_of(v, n))
                # Where the sum has elements, more may be known of the factor.
                factor = self.term(d, within)
                inner = self._with_factor(body, factor, within) if isinstance(factor, t.Fold) else None
                if inner is None:
                    return None
                self.lemmas.add("scale")
                return self._untiled(t.fold("sum", v, n, inner), context)
            case t.Apply("add", (a, b)):
                left, right = self._with_factor(a, d, context), self._with_factor(b, d, context)
                if left is None and right is None:
                    return None
                return self._joined(
                    t.Apply("add", (left or t.Apply("mul", (a, d)), right or t.Apply("mul", (b, d)))), context
                )
            case t.Apply("mul", _):
                return self._continued(list(_operands(x, MONOIDS["prod"])), d, context)
            case _:
                return None

    def _empty(self, x: t.Term, monoid: Monoid, context: Context) -> bool:
        """Whether a term is a fold over what whole tiles before this place cover, where there are none."""
        if not isinstance(x, t.Fold) or x.monoid != monoid.name or not _divided(x.extent):
            return False
        return self.follows(context, t.at_most(x.extent, const(0)))

    def condition(self, c: t.Condition, context: Context) -> t.Condition:
        """The condition without what the context decides."""
        match c:
            case t.And(parts):
                out: list[t.Condition] = []
                for p in parts:
                    q = self.condition(p, (*context, *out))
                    if q == t.FALSE:
                        return t.FALSE
                    if q != t.TRUE:
                        out.append(q)
                # What a remainder decides leaves wherever it stands.
                known = [q for q in out if isinstance(q, t.IndexCompare) and q.relation == "==" and _by_numbers(q)]
                rest = [q for q in out if q in known or not self.follows((*context, *known), q)] if known else out
                return t.conj(rest)
            case t.Or(parts):
                return t.disj([self.condition(p, context) for p in parts])
            case t.Not(p):
                return t.negate(self.condition(p, context))
            case t.RealCompare(r, a, b):
                return self._compare(r, self.term(a, context), self.term(b, context), context)
            case t.IndexCompare():
                for known in (c, undivided(c)):
                    if known is not None and self.follows(context, known):
                        return t.TRUE
                    if known is not None and self.follows(context, t.negate(known)):
                        return t.FALSE
                return self._plain(c, context)

    def _plain(self, c: t.IndexCompare, context: Context) -> t.Condition:
        """A comparison with a quotient by a number in one form: what a remainder is at least, it is; `q <= n // d` as
        `q * d <= n`."""
        gap = c.right - c.left - (c.relation == "<")
        if c.relation == "==" or not _by_numbers(c):
            return c
        if self.follows(context, t.at_most(gap, const(0))):
            return t.equal(gap, const(0))
        plain = undivided(c)
        if not isinstance(plain, t.IndexCompare):
            return c
        # On one side: what a loop's variable leaves there must not be seen on the other.
        return t.at_most(const(0), plain.right - plain.left - (plain.relation == "<"))

    def _compare(self, relation: str, a: t.Term, b: t.Term, context: Context) -> t.Condition:
        """A comparison of reals that is one of integers, or of a choice between numbers with a number, in simpler
        form."""
        left, right = t.as_index(a), t.as_index(b)
        if left is not None and right is not None:
            made = t.index_comparison(relation, left, right)
            return made if made in (t.TRUE, t.FALSE) else self.condition(made, context)
        for chosen, first in ((a, True), (b, False)):
            if isinstance(chosen, t.Select):
                ways = chosen.then, chosen.otherwise
                then, otherwise = (_decided(relation, *((v, b) if first else (a, v))) for v in ways)
                if then is not None and otherwise is not None:
                    c = self.condition(chosen.condition, context)
                    return then if then == otherwise else c if then == t.TRUE else t.negate(c)
        return t.RealCompare(relation, a, b)


def _by_numbers(c: t.IndexCompare) -> bool:
    """Whether a comparison holds a quotient of a variable by a number."""
    return any(
        isinstance(a, Div)
        and a.denominator.constant is not None
        and any(isinstance(s, Var) for s in a.numerator.symbols())
        for m, _ in (c.right - c.left).terms
        for a in m
    )


def undivided(c: t.IndexCompare) -> t.Condition | None:
    """A comparison with a quotient, without it: `q <= n // d` is `q * d <= n`, and `n // d < q` is `n < q * d`, for d
    from 1 on. None for other comparisons."""
    gap = c.right - c.left - (c.relation == "<")
    quotients = [(a, k) for m, k in gap.terms for a in m if isinstance(a, Div)]
    if c.relation == "==" or len(quotients) != 1:
        return None
    (a, k), n, d = quotients[0], quotients[0][0].numerator, quotients[0][0].denominator
    rest = gap - k * Index({(a,): 1})
    if k not in (1, -1) or len(rest.terms) == len(gap.terms) or not nonnegative(d - 1):
        return None
    return t.at_most(-rest * d, n) if k == 1 else t.less(n, (rest + 1) * d)


def _decided(relation: str, a: t.Term, b: t.Term) -> t.Condition | None:
    """The truth of a comparison of numbers; None for other terms."""
    match a, b:
        case t.Const(v), t.Const(w) if not isinstance(v, str) and not isinstance(w, str):
            holds = {"<": v < w, "<=": v <= w, "==": v == w}[relation]
            return t.TRUE if holds else t.FALSE
        case _:
            return None


def _tilings(x: t.Fold, extent: Index) -> Iterator[tuple[Index, Index]]:
    """(n, s) for an inner extent `min(s, n - s * v)`, v being the variable of the outer fold; n = count * s for s."""
    terms = branches(extent)
    for step in terms:
        if x.var in step.symbols():
            continue
        rest = [b + step * of_var(x.var) for b in terms if b is not step]
        length = minimum(*rest) if rest else x.extent * step
        if x.var not in length.symbols():
            yield length, step


def _distances(a: t.Fold, b: t.Fold) -> Iterator[Index]:
    """How far behind the elements of one fold those of another may begin, seen from what both read."""
    mine = [r for r in subterms(a.body) if isinstance(r, t.Read) and any(i.coefficient(a.var) == 1 for i in r.indices)]
    for r in mine[:1]:
        for other in subterms(b.body):
            if isinstance(other, t.Read) and other.tensor == r.tensor:
                for i, j in zip(r.indices, other.indices, strict=True):
                    if i.coefficient(a.var) == 1 and j.coefficient(b.var) == 1:
                        yield (j - of_var(b.var)) - (i - of_var(a.var))


def _divided(i: Index) -> bool:
    """Whether an index is a multiple of a quotient."""
    return len(i.terms) == 1 and any(isinstance(a, Div) for a in i.terms[0][0])


def _folds(parts: Sequence[t.Term], monoid: Monoid) -> list[tuple[int, t.Fold]]:
    """The folds of a monoid among operands, with their places."""
    return [(n, p) for n, p in enumerate(parts) if isinstance(p, t.Fold) and p.monoid == monoid.name]


def _without(parts: Sequence[t.Term], *places: int) -> list[t.Term]:
    """The operands at other places: what is written twice is one term, and is there twice."""
    return [p for n, p in enumerate(parts) if n not in places]


def _operands(x: t.Term, monoid: Monoid) -> Iterator[t.Term]:
    """What a monoid's function combines."""
    if isinstance(x, t.Apply) and x.function == monoid.function:
        for a in x.args:
            yield from _operands(a, monoid)
    else:
        yield x
