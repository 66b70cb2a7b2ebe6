# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where a term is defined.

Every application of a partial function gives a condition on one argument, under the conditions around it and for all
values of the fold variables around it. What is said of a function here follows from its entry in the table. Where an
infinity may take part that is no mask, what may be infinite must be finite.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from axon_mlir.semantics import terms as t
from axon_mlir.semantics.conversions import is_conversion
from axon_mlir.semantics.denotation import range_of
from axon_mlir.semantics.functions import FUNCTIONS
from axon_mlir.semantics.index import Index, Var, const
from axon_mlir.semantics.infinite import finite_condition, infinite, needed, support, without
from axon_mlir.semantics.walk import Context, subterms

_PARAMETERS = "xyz"
SYMBOL = {"nonzero": "!= 0", "positive": "> 0", "nonnegative": ">= 0"}
FINITE = "a finite number"
"""What stands for the function where an infinity may not take part."""


@dataclass(frozen=True)
class Condition:
    """`kind argument` must hold under `context` (ranges of `binders` among it)."""

    kind: str
    argument: t.Term
    binders: tuple[tuple[Var, Index], ...]
    context: Context
    function: str


def requirement(function: str, args: Sequence[t.Term]) -> tuple[str, t.Term] | None:
    """What an application needs to be defined: (kind, argument)."""
    if function == "power":
        base, exponent = args
        e = exponent.value if isinstance(exponent, t.Const) and not isinstance(exponent.value, str) else None
        if e is None:
            return "positive", base
        if e.denominator == 1:
            return ("nonzero", base) if e < 0 else None
        return ("positive" if e < 0 else "nonnegative"), base
    if is_conversion(function):
        return None
    when = FUNCTIONS[function].defined_when
    if when is None:
        return None
    kind, parameter = when
    return kind, args[_PARAMETERS.index(parameter)]


def conditions(x: t.Term, context: Context) -> list[Condition]:
    """Every condition of a term, inner ones first."""
    out: dict[tuple[str, t.Term, Context], Condition] = {}
    seen: set[tuple[t.Term, Context]] = set()

    def note(
        kind: str, argument: t.Term, binders: tuple[tuple[Var, Index], ...], around: Context, function: str
    ) -> None:
        out.setdefault((kind, argument, around), Condition(kind, argument, binders, around, function))

    def go(y: t.Term, binders: tuple[tuple[Var, Index], ...], around: Context) -> None:
        if (y, around) in seen:
            return
        seen.add((y, around))
        match y:
            case t.Apply(f, args):
                for a in args:
                    go(a, binders, around)
                for a in needed(y):
                    note("positive", support(a), binders, around, FINITE)
                asked = requirement(f, args)
                if asked is not None:
                    note(asked[0], without(asked[1]), binders, around, f)
            case t.Fold(_, v, n, body):
                inside = (*around, *range_of(v, n))
                for a in needed(y):
                    note("positive", support(a), (*binders, (v, n)), inside, FINITE)
                go(body, (*binders, (v, n)), inside)
            case t.Select(c, a, b):
                for side in t.compared_terms(c):
                    go(side, binders, around)
                c = finite_condition(c)
                go(a, binders, (*around, c))
                go(b, binders, (*around, t.negate(c)))
            case _:
                return

    if infinite(x):
        note("positive", support(x), (), context, FINITE)
    go(x, (), context)
    return list(out.values())


def choices(known: Condition, wanted: t.Term) -> list[t.Binding]:
    """Values of the fold variables of a known condition that may make it a wanted one: where a tensor is read at a
    variable, the positions at which the wanted argument reads that axis."""
    mine, theirs = ([r for r in subterms(x) if isinstance(r, t.Read)] for x in (known.argument, wanted))
    columns: list[list[Index]] = []
    for v, _ in known.binders:
        axes = [(r.tensor, axis) for r in mine for axis, i in enumerate(r.indices) if i.atom == v]
        values = [r.indices[axis] for tensor, axis in axes for r in theirs if r.tensor == tensor]
        columns.append(list(dict.fromkeys(values))[:4] or [const(0)])
    if prod(map(len, columns)) > 16:
        columns = [column[:1] for column in columns]
    return [{v: i for (v, _), i in zip(known.binders, row, strict=True)} for row in product(*columns)]
