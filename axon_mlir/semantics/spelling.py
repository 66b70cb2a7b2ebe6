# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Terms with their variables named by where they are bound: what differs in names only is spelled alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce

from axon_mlir.semantics import terms as t
from axon_mlir.semantics.functions import MONOIDS
from axon_mlir.semantics.index import Index, Size, Var, of_var

_COMBINE = frozenset(m.function for m in MONOIDS.values())
"""Functions of which order and grouping do not matter."""


def spelled(x: t.Term, names: Mapping[Size | Var, Index], *, grouped: bool = True) -> t.Term:
    """A term with its variables named by where they are bound: equal for terms that differ in names only.

    With `grouped` off also for sums, products, maxima and minima of the same in another order or grouping.
    """
    match x:
        case t.Fold(m, v, n, body):
            bound = Var(f"folded{len(names)}")
            inner = spelled(body, {**names, v: of_var(bound)}, grouped=grouped)
            return t.Fold(m, bound, n.substitute(names), inner)
        case t.Apply(f, _) if f in _COMBINE and not grouped:
            parts = [spelled(y, names, grouped=False) for y in _operands(x, f)]
            # Equal terms are one object, so any order that objects have is one for all that are equal.
            return reduce(lambda a, b: t.Apply(f, (a, b)), sorted(parts, key=id))
        case t.Apply() | t.Select():
            return t.with_parts(
                x, lambda y: spelled(y, names, grouped=grouped), lambda c: _comparison(c, names, grouped=grouped)
            )
        case _:
            return t.substitute(x, names)


def _operands(x: t.Term, function: str) -> Iterator[t.Term]:
    if isinstance(x, t.Apply) and x.function == function:
        for a in x.args:
            yield from _operands(a, function)
    else:
        yield x


def _comparison(c: t.Comparison, names: Mapping[Size | Var, Index], *, grouped: bool) -> t.Condition:
    if isinstance(c, t.IndexCompare):
        return t.substitute_condition(c, names)
    return t.with_sides(c, lambda y: spelled(y, names, grouped=grouped))
