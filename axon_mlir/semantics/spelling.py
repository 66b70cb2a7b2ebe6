# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Terms with their variables named by where they are bound: what differs in names only is spelled alike."""

from __future__ import annotations

from collections.abc import Mapping

from axon_mlir.semantics import terms as t
from axon_mlir.semantics.index import Index, Size, Var, of_var


def spelled(x: t.Term, names: Mapping[Size | Var, Index]) -> t.Term:
    """A term with its variables named by where they are bound: equal for terms that differ in names only."""
    match x:
        case t.Fold(m, v, n, body):
            own = of_var(Var(f"folded{len(names)}"))
            bound = own.atom
            assert isinstance(bound, Var)
            return t.Fold(m, bound, n.substitute(names), spelled(body, {**names, v: own}))
        case t.Apply(f, args):
            return t.Apply(f, tuple(spelled(a, names) for a in args))
        case t.Select(c, a, b):
            return t.Select(_spelled(c, names), spelled(a, names), spelled(b, names))
        case _:
            return t.substitute(x, names)


def _spelled(c: t.Condition, names: Mapping[Size | Var, Index]) -> t.Condition:
    match c:
        case t.RealCompare(r, a, b):
            return t.RealCompare(r, spelled(a, names), spelled(b, names))
        case t.And(parts):
            return t.And(tuple(_spelled(p, names) for p in parts))
        case t.Or(parts):
            return t.Or(tuple(_spelled(p, names) for p in parts))
        case t.Not(p):
            return t.Not(_spelled(p, names))
        case t.IndexCompare():
            return t.substitute_condition(c, names)
