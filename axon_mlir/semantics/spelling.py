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
            bound = Var(f"folded{len(names)}")
            return t.Fold(m, bound, n.substitute(names), spelled(body, {**names, v: of_var(bound)}))
        case t.Apply() | t.Select():
            return t.with_parts(x, lambda y: spelled(y, names), lambda c: _comparison(c, names))
        case _:
            return t.substitute(x, names)


def _comparison(c: t.Comparison, names: Mapping[Size | Var, Index]) -> t.Condition:
    if isinstance(c, t.IndexCompare):
        return t.substitute_condition(c, names)
    return t.with_sides(c, lambda y: spelled(y, names))
