# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Terms without the guards that cut a range into pieces, as a first step to the normal form.

Inside a fold, a comparison of its variable with a bound cuts the fold in two (lemma `split`), an equation selects one
term of a sum (lemma `select`). What compares only indices of the result then stands in front of the whole term.

Which conditions follow from where a term stands is asked of the caller. The walk forgets what terms that it drops need
to be defined, so definedness is read off the term before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from axon_mlir.semantics import terms as t
from axon_mlir.semantics.denotation import range_of
from axon_mlir.semantics.guards import Guards
from axon_mlir.semantics.index import (
    Atom,
    Div,
    Index,
    Size,
    Var,
    const,
    floor_div,
    fresh_var,
    maximum,
    minimum,
    nonnegative,
    of_var,
)
from axon_mlir.semantics.partial import infinities, requirement
from axon_mlir.semantics.walk import Context, subterms

CASES = 6
"""Conditions about indices that are put in front of a term."""


@dataclass
class Pieces(Guards):
    """One walk over the terms of a proof; `term` leaves no cuts inside folds."""

    lemmas: set[str] = field(default_factory=set[str])

    def whole(self, x: t.Term, context: Context) -> t.Term:
        """The term in pieces, with the conditions about the indices of the result in front."""
        return self._in_front(self.term(x, context), context, CASES)

    def _term(self, x: t.Term, context: Context) -> t.Term:
        match x:
            case t.Const() | t.IndexValue():
                return x
            case t.Read(name, indices):
                return t.Read(name, tuple(self._index(i, context) for i in indices))
            case t.Apply(f, args):
                return t.Apply(f, tuple(self.term(a, context) for a in args))
            case t.Fold(m, v, n, body):
                return self._fold(m, v, n, self.term(body, (*context, *range_of(v, n))), context)
            case t.Select(c, a, b):
                kept = self.condition(c, context)
                if kept in (t.TRUE, t.FALSE):
                    return self.term(a if kept == t.TRUE else b, context)
                if isinstance(kept, t.Not):
                    kept, a, b = kept.part, b, a
                return t.select(kept, self.term(a, (*context, kept)), self.term(b, (*context, t.negate(kept))))

    def _compare(self, relation: str, a: t.Term, b: t.Term, context: Context) -> t.Condition:
        return compared(relation, a, b)

    def _index(self, i: Index, context: Context) -> Index:
        """The index without quotients that are zero where it stands."""
        for a in (a for m, _ in i.terms for a in m if isinstance(a, Div)):
            inner = self._index(a.numerator, context)
            if inner != a.numerator:
                return self._index(replaced(i, a, floor_div(inner, a.denominator)), context)
            small = t.conj([t.at_most(const(0), inner), t.less(inner, a.denominator)])
            if small != t.FALSE and self.follows(context, small):
                return self._index(replaced(i, a, const(0)), context)
        return i

    # -- folds -------------------------------------------------------------------------------------------------------

    def _fold(self, m: str, v: Var, n: Index, body: t.Term, context: Context) -> t.Term:
        if m == "sum":
            one = selected_factor(v, n, body)
            if one is None and nonnegative(n - 1) and total_in(v, body):
                one = self._selected(v, n, body)
            if one is not None:
                self.lemmas.add("select")
                return self.term(one, context)
        rows = self._in_rows(m, v, n, body)
        if rows is not None:
            self.lemmas.add("tile")
            return self.term(rows, context)
        for c, below, at in cuts(v, body):
            pieces = self._cut(m, v, n, body, (c, below, at), context)
            if pieces is not None:
                self.lemmas.add("split")
                return self.term(pieces, context)
        return t.fold(m, v, n, body)

    def _selected(self, v: Var, n: Index, body: t.Term) -> t.Term | None:
        """`sum(k < n: g[k])` plus what is different at the one k = p; for the k that are left the body is defined."""
        for c in comparisons(body):
            at = solution(v, c)
            if at is None or not at.symbols().isdisjoint(bound_in(body)):
                continue
            there = t.refresh(assume(body, c, True))
            otherwise = assume(body, c, False)
            gap = t.Apply("sub", (there, t.refresh(otherwise)))
            more = t.select(t.within(at, n), t.substitute(gap, {v: at}), t.ZERO)
            return t.Apply("add", (t.fold("sum", v, n, otherwise), more))
        return None

    def _in_rows(self, m: str, v: Var, n: Index, body: t.Term) -> t.Term | None:
        """A fold over d * q elements as one over q rows of d, when its variable is divided by d."""
        for d in divisors(v, body):
            q = n // d
            if q * d == n and q != 1 and nonnegative(d - 1) and nonnegative(q):
                row, column = fresh_var(v.name), fresh_var(v.name)
                inside = t.substitute(body, {v: d * of_var(row) + of_var(column)})
                return t.fold(m, row, q, t.fold(m, column, d, inside))
        return None

    def _cut(
        self,
        m: str,
        v: Var,
        n: Index,
        body: t.Term,
        cut: tuple[t.Comparison, bool, Index],
        context: Context,
    ) -> t.Term | None:
        c, below, at = cut
        least = const(1 if m in ("max", "min") else 0)
        if not self.follows(context, t.at_most(least, at)):
            if least == 1:
                return None
            at = maximum(at, 0)
        if not self.follows(context, t.at_most(at, n - least)):
            if least == 1:
                return None
            at = minimum(at, n)
        first, second = assume(body, c, below), assume(body, c, not below)
        w = fresh_var(v.name)
        second = t.refresh(t.substitute(second, {v: of_var(w) + at}))
        parts = [
            t.ZERO if m == "sum" and part == t.ZERO else t.fold(m, u, extent, part)
            for u, extent, part in ((v, at, first), (w, n - at, second))
        ]
        if t.ZERO in parts:
            return parts[1] if parts[0] == t.ZERO else parts[0]
        return t.Apply({"sum": "add", "prod": "mul"}.get(m, m), tuple(parts))

    # -- the whole term ----------------------------------------------------------------------------------------------

    def _in_front(self, x: t.Term, context: Context, left: int) -> t.Term:
        bound = bound_in(x)
        indices = {canonical(c): None for c in comparisons(x) if symbols_of(c).isdisjoint(bound)}
        free: Sequence[t.Comparison] = sorted(indices, key=t.text) or real_comparisons(x, bound)[: max(left - 3, 0)]
        if not free or left == 0:
            return x
        c = free[0]
        parts: list[t.Term] = []
        for holds in (True, False):
            around = (*context, c if holds else t.negate(c))
            branch = self.term(assume(x, c, holds), around)
            parts.append(self._in_front(branch, around, left - 1))
        return t.select(c, *parts)


def compared(relation: str, a: t.Term, b: t.Term) -> t.Condition:
    """A comparison of reals; of integers, or of a 0/1 choice with 1, in simpler form."""
    left, right = as_index(a), as_index(b)
    if left is not None and right is not None:
        return {"<": t.less, "<=": t.at_most, "==": t.equal}[relation](left, right)
    if relation == "==" and b == t.ONE and isinstance(a, t.Select):
        if (a.then, a.otherwise) == (t.ONE, t.ZERO):
            return a.condition
        if (a.then, a.otherwise) == (t.ZERO, t.ONE):
            return t.negate(a.condition)
    return t.RealCompare(relation, a, b)


def as_index(x: t.Term) -> Index | None:
    """The index term that a term is."""
    match x:
        case t.IndexValue(i):
            return i
        case t.Const(v) if not isinstance(v, str) and v.denominator == 1:
            return const(int(v))
        case t.Apply("add", (a, b)) | t.Apply("sub", (a, b)) | t.Apply("mul", (a, b)):
            i, j = as_index(a), as_index(b)
            if i is None or j is None:
                return None
            return i + j if x.function == "add" else i - j if x.function == "sub" else i * j
        case _:
            return None


def selected_factor(v: Var, extent: Index, body: t.Term) -> t.Term | None:
    """`sum(v < n: if v = p then f else 0)`, also under further factors, as `if 0 <= p < n then f[p] else 0`."""
    for factor in factors(body):
        if not isinstance(factor, t.Select) or factor.otherwise != t.ZERO:
            continue
        for part in factor.condition.parts if isinstance(factor.condition, t.And) else (factor.condition,):
            at = solution(v, part)
            if at is not None:
                return t.select(t.within(at, extent), t.substitute(body, {v: at}), t.ZERO)
    return None


def factors(x: t.Term) -> Iterator[t.Term]:
    """The factors of a product."""
    if isinstance(x, t.Apply) and x.function == "mul":
        for a in x.args:
            yield from factors(a)
    else:
        yield x


def solution(v: Var, c: t.Condition) -> Index | None:
    """p in `v = p`, when the condition says that."""
    if not isinstance(c, t.IndexCompare) or c.relation != "==":
        return None
    found = _linear(v, c.left - c.right)
    return None if found is None else -found[1] if found[0] == 1 else found[1]


def _linear(v: Var, gap: Index) -> tuple[int, Index] | None:
    """(s, r) in `gap = s * v + r`, s being 1 or -1."""
    factor = gap.coefficient(v)
    if factor is None or factor.constant not in (1, -1):
        return None
    return factor.constant, gap - factor * of_var(v)


def cuts(v: Var, body: t.Term) -> Iterator[tuple[t.Comparison, bool, Index]]:
    """Conditions that hold for v < p and fail from p on, or the other way round: (condition, held below, p)."""
    bound = bound_in(body)
    for c in comparisons(body):
        if c.relation == "==":
            continue
        found = _linear(v, c.right - c.left)
        if found is None or not found[1].symbols().isdisjoint(bound):
            continue
        sign, rest = found
        strict = 0 if c.relation == "<" else 1
        if sign == -1:
            # rest - v > 0
            yield c, True, rest + strict
        else:
            # v + rest > 0
            yield c, False, 1 - strict - rest


def divisors(v: Var, body: t.Term) -> list[Index]:
    """What the variable is divided by in the indices of a term."""
    out: dict[Index, None] = {}
    for y in subterms(body):
        for i in y.indices if isinstance(y, t.Read) else ():
            for a in (a for m, _ in i.terms for a in m if isinstance(a, Div)):
                factor = a.numerator.coefficient(v)
                if factor == 1 and v not in a.denominator.symbols():
                    out[a.denominator] = None
    return sorted(out, key=str)


def replaced(i: Index, a: Atom, by: Index) -> Index:
    """An index with an atom replaced, where it is a factor."""
    out = const(0)
    for m, c in i.terms:
        product = const(c)
        for b in m:
            product = product * (by if b == a else Index({(b,): 1}))
        out = out + product
    return out


def comparisons(x: t.Term) -> list[t.IndexCompare]:
    """The comparisons of indices in the conditions of a term, each once."""
    return sorted(dict.fromkeys(c for c in _compared_in(x) if isinstance(c, t.IndexCompare)), key=t.text)


def real_comparisons(x: t.Term, bound: set[Var]) -> list[t.RealCompare]:
    """The comparisons of reals in the conditions of a term that are the same for all values of its fold variables."""
    out: dict[t.RealCompare, None] = {}
    for c in _compared_in(x):
        if isinstance(c, t.RealCompare):
            out[t.RealCompare("<", c.right, c.left) if c.relation == "<=" else c] = None
    return sorted((c for c in out if symbols_of(c).isdisjoint(bound) and not holds_fold(c)), key=t.text)


def _compared_in(x: t.Term) -> Iterator[t.Comparison]:
    """The comparisons in the conditions of a term."""
    for y in subterms(x):
        if isinstance(y, t.Select):
            yield from t.comparisons(y.condition)


def holds_fold(c: t.Condition) -> bool:
    """Whether there is a fold in a condition."""
    return any(isinstance(y, t.Fold) for y in subterms(t.Select(c, t.ZERO, t.ONE)))


def symbols_of(c: t.Condition) -> frozenset[Size | Var]:
    """The sizes and variables of a condition."""
    return t.free_symbols(t.Select(c, t.ZERO, t.ONE))


def bound_in(x: t.Term) -> set[Var]:
    """The variables of the folds inside."""
    return {y.var for y in subterms(x) if isinstance(y, t.Fold)}


def canonical(c: t.IndexCompare) -> t.IndexCompare:
    """One of a comparison and its opposite, with everything on one side."""
    if c.relation == "==":
        return c
    gap = c.right - c.left + (0 if c.relation == "<" else 1)
    return t.IndexCompare("<", const(0), min(gap, 1 - gap, key=str))


def assume(x: t.Term, c: t.Comparison, holds: bool) -> t.Term:
    """The term where a comparison holds, or fails."""
    known: dict[t.Condition, t.Condition] = {}
    reference = canonical(c) if isinstance(c, t.IndexCompare) else None
    opposite = t.RealCompare("<=", c.right, c.left) if isinstance(c, t.RealCompare) and c.relation == "<" else None

    def condition(d: t.Condition) -> t.Condition:
        if d == c:
            return t.TRUE if holds else t.FALSE
        if d == opposite:
            return t.FALSE if holds else t.TRUE
        match d:
            case t.IndexCompare():
                if (
                    isinstance(c, t.IndexCompare)
                    and c.relation != "=="
                    and d.relation != "=="
                    and canonical(d) == reference
                ):
                    same = _gap(d) == _gap(c)
                    return t.TRUE if same == holds else t.FALSE
                return d
            case t.RealCompare(r, a, b):
                return t.RealCompare(r, term(a), term(b))
            case t.And(parts):
                return t.conj([condition(p) for p in parts])
            case t.Or(parts):
                return t.disj([condition(p) for p in parts])
            case t.Not(p):
                return t.negate(condition(p))

    memo: dict[t.Term, t.Term] = {}

    def term(y: t.Term) -> t.Term:
        found = memo.get(y)
        if found is None:
            match y:
                case t.Apply(f, args):
                    found = t.Apply(f, tuple(map(term, args)))
                case t.Fold(m, v, n, body):
                    found = t.fold(m, v, n, term(body))
                case t.Select(d, a, b):
                    if d not in known:
                        known[d] = condition(d)
                    found = t.select(known[d], term(a), term(b))
                case _:
                    found = y
            memo[y] = found
        return found

    return simplified(term(x))


def _is_positive(x: t.Term) -> bool:
    i = as_index(x)
    return i is not None and nonnegative(i - 1)


def _gap(c: t.IndexCompare) -> Index:
    return c.right - c.left + (0 if c.relation == "<" else 1)


def simplified(x: t.Term) -> t.Term:
    """Zero for a product with the factor zero."""
    return t.ZERO if t.ZERO in factors(x) else x


def total(x: t.Term) -> bool:
    """Whether a term is defined for all values of its elements."""
    for y in subterms(x):
        match y:
            case t.Apply(f, args) if (needed := requirement(f, args)) is not None and not _is_positive(needed[1]):
                return False
            case t.Const(v) if isinstance(v, str):
                return False
            case t.Fold(m, _, n, _) if not nonnegative(n - (1 if m in ("max", "min") else 0)):
                return False
            case _:
                pass
    return True


def total_in(v: Var, x: t.Term) -> bool:
    """Whether a term is defined for every value of a variable, if it is for one.

    What does not mention the variable may be undefined, but not inside a choice, where it may never have been asked.
    """
    if v not in t.free_symbols(x):
        return not infinities(x)
    match x:
        case t.Apply(f, args):
            needed = requirement(f, args)
            asked = needed is not None and v in t.free_symbols(needed[1]) and not _is_positive(needed[1])
            return not asked and all(total_in(v, a) for a in args)
        case t.Fold(m, _, n, body):
            return nonnegative(n - (1 if m in ("max", "min") else 0)) and total_in(v, body)
        case _:
            return total(x)
