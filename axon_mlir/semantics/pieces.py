# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Terms without the guards that cut a range into pieces, as a first step to the normal form.

Inside a fold, a comparison of its variable with a bound cuts the fold in two (lemma `split`), an equation selects one
term of a sum (lemma `select`). What compares only indices of the result is left, see `cases`.

Which conditions follow from where a term stands is asked of the caller. The walk forgets what terms that it drops need
to be defined, so definedness is read off the term before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import reduce

from axon_mlir.semantics import terms as t
from axon_mlir.semantics.denotation import range_of
from axon_mlir.semantics.functions import MONOIDS
from axon_mlir.semantics.guards import Guards
from axon_mlir.semantics.hypotheses import inequalities
from axon_mlir.semantics.index import (
    Div,
    Index,
    Min,
    Var,
    const,
    floor_div,
    fresh_var,
    maximum,
    minimum,
    nonnegative,
    of_var,
)
from axon_mlir.semantics.infinite import NEUTRAL, stray
from axon_mlir.semantics.partial import Condition, requirement
from axon_mlir.semantics.quotients import quotient, replaced
from axon_mlir.semantics.remainders import divisor
from axon_mlir.semantics.signs import positive
from axon_mlir.semantics.walk import Context, subterms

Windows = Mapping[tuple[str, int], Collection[Index]]
"""Where the ranges begin and end over which folds read an axis of a tensor: (tensor, axis) -> positions."""
Places = Mapping[tuple[str, int], Collection[Index]]
"""Where a term reads an axis of a tensor, the places of folds aside: (tensor, axis) -> indices."""
FEW = 8
"""A fold over no more elements than this may be written out."""


@dataclass
class Pieces(Guards):
    """One walk over the terms of a proof; `term` leaves no cuts inside folds.

    `windows`: folds are also cut where others begin or end; minima that are decided leave. `written_out`: folds over
    few elements become what they are made of. `strides`: sums that ask for the remainder of their variable are cut into
    rows of all remainders. `places`: elements are read at these where they are equal to their own.
    """

    lemmas: set[str] = field(default_factory=set[str])
    windows: Windows | None = None
    written_out: bool = False
    strides: bool = False
    places: Places = field(default_factory=dict[tuple[str, int], Collection[Index]])
    strided: bool = False
    """Whether there was such a sum."""

    def _term(self, x: t.Term, context: Context) -> t.Term:
        match x:
            case t.Const():
                return x
            case t.IndexValue(i):
                return t.index_value(self._index(i, context))
            case t.Read(name, indices):
                found = (self._index(i, context) for i in indices)
                return t.Read(name, tuple(self._place((name, n), i, context) for n, i in enumerate(found)))
            case t.Apply("log", (t.Fold("sum", v, n, t.Select(c, value, other)),)) if other == t.ZERO and picks(c, v):
                return self.term(self._log_of_pick(v, n, c, value), context)
            case t.Apply(f, args):
                return t.Apply(f, tuple(self.term(a, context) for a in args))
            case t.Fold(m, v, n, body):
                n = self._index(n, context)
                inside = (*context, *range_of(v, n))
                if n == 0 and m not in NEUTRAL:
                    self.lemmas.add("single")
                    return t.ZERO if m == "sum" else t.ONE
                if n == 1:
                    return self.term(t.substitute(body, {v: const(0)}), context)
                return self._fold(m, v, n, self.term(body, inside), context)
            case t.Select(c, a, b):
                kept = self.condition(c, context)
                if kept in (t.TRUE, t.FALSE):
                    return self.term(a if kept == t.TRUE else b, context)
                if isinstance(kept, t.Not):
                    kept, a, b = kept.part, b, a
                return t.select(kept, self.term(a, (*context, kept)), self.term(b, (*context, t.negate(kept))))

    def _log_of_pick(self, v: Var, n: Index, c: t.Condition, value: t.Term) -> t.Term:
        """The logarithm of the one element at a position; without one the sum is zero and its logarithm not defined."""
        match value:
            case t.Apply("div", (a, b)) if v not in t.free_symbols(b) and positive(b):
                self.lemmas |= {"log", "nonnegative", "scale"}
                return t.Apply("sub", (self._log_of_pick(v, n, c, a), t.Apply("log", (b,))))
            case _:
                self.lemmas.add("pick")
                return t.Fold("sum", v, n, t.Select(c, t.Apply("log", (value,)), t.ZERO))

    def settled(self, c: Condition) -> Condition:
        """A condition of definedness, the comparisons of numbers around it in simple form."""
        around = tuple(x if t.is_integer(x) else self.condition(x, ()) for x in c.context)
        return replace(c, context=around)

    def _compare(self, relation: str, a: t.Term, b: t.Term, context: Context) -> t.Condition:
        found = compared(relation, a, b)
        return self.condition(found, context) if t.is_integer(found) else found

    def condition(self, c: t.Condition, context: Context) -> t.Condition:
        """The condition without what the context decides."""
        if self.windows is not None and isinstance(c, t.IndexCompare):
            c = t.index_comparison(c.relation, self._index(c.left, context), self._index(c.right, context))
        return super().condition(c, context)

    def _index(self, i: Index, context: Context) -> Index:
        """The index without quotients and minima that are decided where it stands."""
        for a in dict.fromkeys(a for m, _ in i.terms for a in m):
            match a:
                case Div(n, d) if any(isinstance(s, Var) for s in n.symbols()):
                    found = self._quotient(n, d, context)
                case Min(args) if self.windows is not None:
                    found = self._minimum(args, context)
                case _:
                    continue
            if found is not None:
                return self._index(replaced(i, a, found), context)
        return i

    def _place(self, axis: tuple[str, int], i: Index, context: Context) -> Index:
        """An index, as the other term has it."""
        known = self.places.get(axis, ())
        for other in known if i not in known else ():
            same = t.equal(i, other)
            if same != t.FALSE and self.follows(context, same):
                return other
        return i

    def _quotient(self, n: Index, d: Index, context: Context) -> Index | None:
        """`n // d` in simpler form: inside, `(e * a + b) // (e * f) = a // f` for 0 <= b < e, or c for
        `d * c <= n < d * (c + 1)`."""
        inner = self._index(n, context)
        if inner != n:
            return floor_div(inner, d)
        simpler = quotient(n, d, lambda b, e: self._small(b, e, context))
        if simpler is not None:
            return simpler
        for least in dict.fromkeys((const(0), *(n - e for c in context for e in inequalities(c)))):
            # From a multiple of d on, less than d of them.
            c = floor_div(least, d)
            fixed = not any(isinstance(s, Var) for s in least.symbols())
            if fixed and c * d == least and self._small(n - least, d, context):
                return c
        return None

    def _small(self, i: Index, bound: Index, context: Context) -> bool:
        small = t.conj([t.at_most(const(0), i), t.less(i, bound)])
        return small == t.TRUE or (small != t.FALSE and self.follows(context, small))

    def _minimum(self, args: Sequence[Index], context: Context) -> Index | None:
        """`min(0, *args)` where the context says which is the least."""
        for a in (const(0), *args):
            goals = t.conj([t.at_most(a, b) for b in (const(0), *args) if b != a])
            if goals != t.FALSE and self.follows(context, goals):
                return self._index(a, context)
        return None

    # -- folds -------------------------------------------------------------------------------------------------------

    def _fold(self, m: str, v: Var, n: Index, body: t.Term, context: Context) -> t.Term:
        if m == "sum":
            one = selected_factor(v, n, body)
            if one is None and nonnegative(n - 1) and total_in(v, body):
                one = self._selected(v, n, body)
            if one is not None:
                self.lemmas.add("select")
                return self.term(one, context)
        chosen = any_of(m, v, n, body)
        if chosen is not None:
            self.lemmas.add("any")
            return self.term(chosen, context)
        rows = self._in_rows(m, v, n, body)
        if rows is not None:
            self.lemmas.add("tile")
            return self.term(rows, context)
        if self.strides and m == "sum" and 1 < (d := divisor(body, v)) <= FEW:
            self.strided = True
            self.lemmas |= {"split", "tile", "single"}
            return self.term(by_strides(v, n, body, d), context)
        for c, below, at in cuts(v, body):
            pieces = self._cut(m, v, n, body, (c, below, at), context)
            if pieces is not None:
                self.lemmas.add("split")
                return self.term(pieces, context)
        if self.written_out and n.constant is not None and 1 < n.constant <= FEW:
            self.lemmas |= {"split", "single"}
            function = MONOIDS[m].function
            one, *rest = (t.refresh(t.substitute(body, {v: const(k)})) for k in range(n.constant))
            return self.term(reduce(lambda x, y: t.Apply(function, (x, y)), rest, one), context)
        for at in self._borders(v, n, body, context):
            self.lemmas.add("split")
            pieces = self._divided(m, v, n, (body, body), at, context)
            if pieces is not None:
                return self.term(pieces, context)
        return t.fold(m, v, n, body)

    def _borders(self, v: Var, n: Index, body: t.Term, context: Context) -> Iterator[Index]:
        """Positions inside a range at which another fold that reads the same axis begins or ends."""
        for tensor, axis, start in reads_at(v, body) if self.windows is not None else ():
            for p in self.windows.get((tensor, axis), ()) if self.windows is not None else ():
                inside = t.conj([t.less(start, p), t.less(p, start + n)])
                if v not in p.symbols() and (inside == t.TRUE or (inside != t.FALSE and self.follows(context, inside))):
                    yield p - start

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
        first, second = assume(body, c, below), assume(body, c, not below)
        return self._divided(m, v, n, (first, second), at, context)

    def _divided(
        self, m: str, v: Var, n: Index, bodies: tuple[t.Term, t.Term], at: Index, context: Context
    ) -> t.Term | None:
        """A fold whose body is one term below a bound and another from there on. A part of neutral elements leaves; a
        maximum or minimum has no empty part."""
        neutral = t.Const(NEUTRAL[m]) if m in NEUTRAL else t.ZERO if m == "sum" else None
        low, high = (1 if m in NEUTRAL and part != neutral else 0 for part in bodies)
        if not self.follows(context, t.at_most(const(low), at)):
            if low:
                return None
            at = maximum(at, 0)
        if not self.follows(context, t.at_most(at, n - high)):
            if high:
                return None
            at = minimum(at, n)
        first, second = bodies
        w = fresh_var(v.name)
        second = t.refresh(t.substitute(second, {v: of_var(w) + at}))
        parts = [
            neutral if neutral is not None and part == neutral else t.fold(m, u, extent, part)
            for u, extent, part in ((v, at, first), (w, n - at, second))
        ]
        if neutral is not None and neutral in parts:
            return parts[1] if parts[0] == neutral else parts[0]
        return t.Apply(MONOIDS[m].function, tuple(parts))


def by_strides(v: Var, n: Index, body: t.Term, d: int) -> t.Term:
    """A sum as one over rows of d elements, written out, and the elements beside them, fewer than d."""
    row, q = fresh_var(v.name), n // d
    rows = [t.refresh(t.substitute(body, {v: d * of_var(row) + r})) for r in range(d)]
    whole = t.fold("sum", row, q, reduce(lambda x, y: t.Apply("add", (x, y)), rows))
    rest = [
        t.select(t.less(const(r), n - d * q), t.refresh(t.substitute(body, {v: d * q + r})), t.ZERO)
        for r in range(d - 1)
    ]
    return reduce(lambda x, y: t.Apply("add", (x, y)), rest, whole)


def compared(relation: str, a: t.Term, b: t.Term) -> t.Condition:
    """A comparison of reals; of integers, or of a 0/1 choice with 1, in simpler form."""
    if isinstance(a, t.Const) and isinstance(b, t.Const) and not isinstance(a.value, str) | isinstance(b.value, str):
        gap = Fraction(b.value) - Fraction(a.value)
        return t.TRUE if (gap > 0 if relation == "<" else gap >= 0 if relation == "<=" else gap == 0) else t.FALSE
    left, right = t.as_index(a), t.as_index(b)
    if left is not None and right is not None:
        return t.index_comparison(relation, left, right)
    for x, y in ((a, b), (b, a)):
        whether = truth(x) if isinstance(y, t.Const) and not isinstance(x, t.Const) else None
        if whether is not None:
            one, zero = ((t.ONE, b), (t.ZERO, b)) if x is a else ((a, t.ONE), (a, t.ZERO))
            here, there = compared(relation, *one), compared(relation, *zero)
            return t.disj([t.conj([whether, here]), t.conj([t.negate(whether), there])])
    one = a if isinstance(a, t.Select) else b
    if isinstance(one, t.Select) and all(isinstance(x, t.Const) for x in (one.then, one.otherwise, *({a, b} - {one}))):
        # A choice of numbers against a number: each of them is more, or not.
        here, there = (compared(relation, *(x if z is one else z for z in (a, b))) for x in (one.then, one.otherwise))
        c = one.condition
        return t.disj([t.conj([c, here]), t.conj([t.negate(c), there])])
    return t.RealCompare(relation, a, b)


def truth(x: t.Term) -> t.Condition | None:
    """The condition under which a term is 1, where it is 0 otherwise."""
    match x:
        case t.Const():
            return t.TRUE if x == t.ONE else t.FALSE if x == t.ZERO else None
        case t.Select(c, a, b):
            first, second = truth(a), truth(b)
            if first is None or second is None:
                return None
            return t.disj([t.conj([c, first]), t.conj([t.negate(c), second])])
        case t.Apply("identity", (a,)):
            return truth(a)
        case t.Apply("mul" | "min" | "max" as f, (a, b)):
            first, second = truth(a), truth(b)
            if first is None or second is None:
                return None
            return t.disj([first, second]) if f == "max" else t.conj([first, second])
        case _:
            return None


def any_of(m: str, v: Var, n: Index, body: t.Term) -> t.Term | None:
    """Whether a condition holds for some value of a variable (a maximum of 0 and 1), or for all (a minimum): by the
    number of those for which it does, or does not."""
    if m not in NEUTRAL or not isinstance(body, t.Select) or {body.then, body.otherwise} != {t.ONE, t.ZERO}:
        return None
    best, other = (t.ONE, t.ZERO) if m == "max" else (t.ZERO, t.ONE)
    counted = t.select(body.condition, *((t.ONE, t.ZERO) if body.then is best else (t.ZERO, t.ONE)))
    return t.select(t.RealCompare("<", t.ZERO, t.fold("sum", v, n, counted)), best, other)


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


def picks(c: t.Condition, v: Var) -> bool:
    """Whether a condition says `v = p`, p being an index or a number that does not depend on v."""
    if isinstance(c, t.RealCompare) and c.relation == "==":
        sides = (c.left, c.right) if t.as_index(c.left) is not None else (c.right, c.left)
        i = t.as_index(sides[0])
        return i is not None and i.coefficient(v) in (1, -1) and v not in t.free_symbols(sides[1])
    return solution(v, c) is not None


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


def reads_at(v: Var, body: t.Term) -> list[tuple[str, int, Index]]:
    """(tensor, axis, r) for each element that a term reads at `r + v`, r being free of inner fold variables."""
    bound = bound_in(body)
    out: dict[tuple[str, int, Index], None] = {}
    for y in (y for y in subterms(body) if isinstance(y, t.Read)):
        for axis, i in enumerate(y.indices):
            if i.coefficient(v) == 1 and (i - of_var(v)).symbols().isdisjoint(bound):
                out[y.tensor, axis, i - of_var(v)] = None
    return sorted(out, key=str)


def windows_of(x: t.Term, y: t.Term) -> Windows:
    """Where the ranges of all folds begin and end."""
    out: dict[tuple[str, int], dict[Index, None]] = {}
    for fold in (z for part in (x, y) for z in subterms(part) if isinstance(z, t.Fold)):
        for tensor, axis, start in reads_at(fold.var, fold.body):
            out.setdefault((tensor, axis), {}).update({start: None, start + fold.extent: None})
    for read in (z for part in (x, y) for z in subterms(part) if isinstance(z, t.Read)):
        for axis, i in enumerate(read.indices):
            # A single element ends a range, too.
            out.setdefault((read.tensor, axis), {}).update({i: None, i + 1: None})
    bound = bound_in(x) | bound_in(y)
    return {k: sorted((i for i in found if i.symbols().isdisjoint(bound)), key=str) for k, found in out.items()}


def places_of(x: t.Term) -> Places:
    """Where a term reads, the same for all values of its fold variables."""
    out: dict[tuple[str, int], dict[Index, None]] = {}
    bound = bound_in(x)
    for read in (y for y in subterms(x) if isinstance(y, t.Read)):
        for axis, i in enumerate(read.indices):
            if i.symbols().isdisjoint(bound):
                out.setdefault((read.tensor, axis), {})[i] = None
    return out


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


def comparisons(x: t.Term) -> list[t.IndexCompare]:
    """The comparisons of indices in the conditions of a term, each once."""
    return sorted(dict.fromkeys(c for c in _compared_in(x) if isinstance(c, t.IndexCompare)), key=t.text)


def real_comparisons(x: t.Term, bound: set[Var]) -> list[t.RealCompare]:
    """The comparisons of reals in the conditions of a term that are the same for all values of its fold variables."""
    out: dict[t.RealCompare, None] = {}
    for c in _compared_in(x):
        if isinstance(c, t.RealCompare):
            out[t.RealCompare("<", c.right, c.left) if c.relation == "<=" else c] = None
    return sorted((c for c in out if t.free_symbols(c).isdisjoint(bound) and not holds_fold(c)), key=t.text)


def _compared_in(x: t.Term) -> Iterator[t.Comparison]:
    """The comparisons in the conditions of a term."""
    for y in subterms(x):
        if isinstance(y, t.Select):
            yield from t.comparisons(y.condition)


def holds_fold(c: t.Condition) -> bool:
    """Whether there is a fold in a condition."""
    return any(isinstance(y, t.Fold) for y in subterms(t.Select(c, t.ZERO, t.ONE)))


def indices_in(x: t.Term) -> Iterator[Index]:
    """The index terms of a term: of elements, extents and numbers."""
    for y in subterms(x):
        match y:
            case t.Read(_, indices):
                yield from indices
            case t.Fold(_, _, n, _):
                yield n
            case t.IndexValue(i):
                yield i
            case _:
                pass


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

    def comparison(d: t.Comparison) -> t.Condition:
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
                        known[d] = t.with_comparisons(d, comparison)
                    found = t.select(known[d], term(a), term(b))
                case _:
                    found = y
            memo[y] = found
        return found

    return simplified(term(x))


def _is_positive(x: t.Term) -> bool:
    i = t.as_index(x)
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
        return not stray(x)
    match x:
        case t.Apply(f, args):
            needed = requirement(f, args)
            asked = needed is not None and v in t.free_symbols(needed[1]) and not _is_positive(needed[1])
            return not asked and all(total_in(v, a) for a in args)
        case t.Fold(m, _, n, body):
            return nonnegative(n - (1 if m in ("max", "min") else 0)) and total_in(v, body)
        case _:
            return total(x)
