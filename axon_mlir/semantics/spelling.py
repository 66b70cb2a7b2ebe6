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


def spelled(x: t.Term, names: Mapping[Size | Var, Index], *, grouped: bool = True) -> t.Term:
    """A term with its variables named by where they are bound: equal for terms that differ in names only.

    With `grouped` off also for sums, products, maxima and minima of the same in another order or grouping.
    """
    return _Scope(names, grouped).term(x)


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

    def __init__(self, names: Mapping[Size | Var, Index], grouped: bool):
        self.names = names
        self.grouped = grouped
        self.known: dict[t.Term, t.Term] = {}

    def term(self, x: t.Term) -> t.Term:
        found = self.known.get(x)
        if found is None:
            found = self.known[x] = self._term(x)
        return found

    def _term(self, x: t.Term) -> t.Term:
        match x:
            case t.Fold(m, v, n, body):
                bound = Var(f"folded{len(self.names)}")
                inside = _Scope({**self.names, v: of_var(bound)}, self.grouped)
                return t.Fold(m, bound, n.substitute(self.names), inside.term(body))
            case t.Apply(f, _) if f in _COMBINE and not self.grouped:
                # Equal terms are one object, so any order that objects have is one for all that are equal.
                parts = sorted(map(self.term, _operands(x, f)), key=id)
                return reduce(lambda a, b: t.Apply(f, (a, b)), parts)
            case t.Apply() | t.Select():
                return t.with_parts(x, self.term, self.comparison)
            case _:
                return t.substitute(x, self.names)

    def comparison(self, c: t.Comparison) -> t.Condition:
        if isinstance(c, t.IndexCompare):
            return t.substitute_condition(c, self.names)
        return t.with_sides(c, self.term)
