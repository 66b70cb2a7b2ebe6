# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Terms with their variables named by where they are bound: what differs in names only is spelled alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache, reduce

from axon_mlir.semantics import terms as t
from axon_mlir.semantics.functions import MONOIDS
from axon_mlir.semantics.index import Index, Size, Var, of_var

_COMBINE = frozenset(m.function for m in MONOIDS.values())
"""Functions of which order and grouping do not matter."""


Names = Mapping[Size | Var, Index]


def spelled(x: t.Term, names: Names) -> t.Term:
    """A term with its variables named by where they are bound: equal for terms that differ in names only."""
    return _Scope(names, grouped=True).term(x)


def alike(x: t.Term, mine: Names, y: t.Term, theirs: Names) -> bool:
    """Whether two terms, each with names of its own, are the same but for the names of bound variables and the order
    and grouping of sums, products, maxima and minima. As many names are given of both."""
    return _Both(_Scope(mine, grouped=False), _Scope(theirs, grouped=False)).term(x, y)


@lru_cache(maxsize=1 << 16)
def outline(x: t.Term) -> int:
    """A number that terms share which differ in indices, or in order or grouping, only; most terms that differ
    otherwise have different ones."""
    match x:
        case t.Fold(m, _, _, body):
            return hash((m, outline(body)))
        case t.Apply(f, _) if f in _COMBINE:
            return hash((f, *sorted(map(outline, _operands(x, f)))))
        case t.Apply(f, args):
            return hash((f, *map(outline, args)))
        case t.Select(_, a, b):
            return hash(("select", outline(a), outline(b)))
        case t.Read(tensor, _):
            return hash(tensor)
        case t.Const(v):
            return hash(v)
        case t.IndexValue():
            return 0


def _operands(x: t.Term, function: str) -> Iterator[t.Term]:
    if isinstance(x, t.Apply) and x.function == function:
        for a in x.args:
            yield from _operands(a, function)
    else:
        yield x


class _Scope:
    """The names that are known at one depth; what a term has in several places is spelled once."""

    def __init__(self, names: Names, grouped: bool):
        self.names = names
        self.grouped = grouped
        self.known: dict[t.Term, t.Term] = {}

    def term(self, x: t.Term) -> t.Term:
        found = self.known.get(x)
        if found is None:
            found = self.known[x] = self._term(x)
        return found

    def within(self, v: Var) -> tuple[Var, _Scope]:
        """The name of a variable that is bound here, and the names where it is."""
        bound = Var(f"folded{len(self.names)}")
        return bound, _Scope({**self.names, v: of_var(bound)}, self.grouped)

    def _term(self, x: t.Term) -> t.Term:
        match x:
            case t.Fold(m, v, n, body):
                bound, inside = self.within(v)
                return t.Fold(m, bound, n.substitute(self.names), inside.term(body))
            case t.Apply(f, _) if f in _COMBINE and not self.grouped:
                # Equal terms are one object, so any order that objects have is one for all that are equal.
                parts = sorted(map(self.term, _operands(x, f)), key=id)
                return reduce(lambda a, b: t.Apply(f, (a, b)), parts)
            case t.Apply() | t.Select():
                return t.with_parts(x, self.term, self.comparison)
            case _:
                return t.substitute(x, self.names)

    def condition(self, c: t.Condition) -> t.Condition:
        return t.with_comparisons(c, self.comparison)

    def comparison(self, c: t.Comparison) -> t.Condition:
        if isinstance(c, t.IndexCompare):
            return t.substitute_condition(c, self.names)
        return t.with_sides(c, self.term)


class _Both:
    """Two terms side by side. What differs is mostly seen at the first element that is read: nothing is put together
    for it."""

    def __init__(self, mine: _Scope, theirs: _Scope):
        self.mine = mine
        self.theirs = theirs
        self.named = frozenset(mine.names) | frozenset(theirs.names)
        self.known: dict[tuple[t.Term, t.Term], bool] = {}

    def term(self, x: t.Term, y: t.Term) -> bool:
        if x is y and t.free_symbols(x).isdisjoint(self.named):
            return True
        found = self.known.get((x, y))
        if found is None:
            found = self.known[x, y] = self._term(x, y)
        return found

    def _term(self, x: t.Term, y: t.Term) -> bool:
        match x, y:
            case t.Fold(m, v, n, body), t.Fold(m2, v2, n2, body2):
                if m != m2 or not self.index(n, n2):
                    return False
                return _Both(self.mine.within(v)[1], self.theirs.within(v2)[1]).term(body, body2)
            case t.Apply(f, args), t.Apply(f2, args2):
                if f != f2:
                    return False
                if f in _COMBINE:
                    return self._matched(list(_operands(x, f)), list(_operands(y, f)))
                return len(args) == len(args2) and all(map(self.term, args, args2))
            case t.Read(name, at), t.Read(name2, at2):
                return name == name2 and len(at) == len(at2) and all(map(self.index, at, at2))
            case (t.Select(), _) | (_, t.Select()):
                return self._chosen(x, y)
            case _:
                return self.mine.term(x) is self.theirs.term(y)

    def index(self, i: Index, j: Index) -> bool:
        return i.substitute(self.mine.names) == j.substitute(self.theirs.names)

    def _matched(self, ours: list[t.Term], others: list[t.Term]) -> bool:
        """Whether there is one of the others for each of ours. To be alike is an equivalence: the first that is will
        do."""
        if len(ours) != len(others):
            return False
        for x in ours:
            place = next((n for n, y in enumerate(others) if outline(x) == outline(y) and self.term(x, y)), None)
            if place is None:
                return False
            del others[place]
        return True

    def _chosen(self, x: t.Term, y: t.Term) -> bool:
        """Choices, of which those leave that the names decide."""
        c, d = (
            side.condition(z.condition) if isinstance(z, t.Select) else None
            for side, z in ((self.mine, x), (self.theirs, y))
        )
        if isinstance(x, t.Select) and c in (t.TRUE, t.FALSE):
            return self.term(x.then if c == t.TRUE else x.otherwise, y)
        if isinstance(y, t.Select) and d in (t.TRUE, t.FALSE):
            return self.term(x, y.then if d == t.TRUE else y.otherwise)
        if not (isinstance(x, t.Select) and isinstance(y, t.Select)):
            return False
        return c == d and self.term(x.then, y.then) and self.term(x.otherwise, y.otherwise)
