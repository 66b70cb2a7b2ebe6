# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Guards decided by the solver: nothing is assumed but ranges and the conditions on the way."""

from __future__ import annotations

from collections.abc import Sequence

from axon_mlir.semantics import terms as t
from axon_mlir.semantics.denotation import range_of
from axon_mlir.semantics.guards import Guards
from axon_mlir.semantics.index import Index
from axon_mlir.semantics.walk import Context
from axon_mlir.smt.encode import integer_query
from axon_mlir.smt.solver import solve


class Resolver(Guards):
    """Asks the solver; `decided` are the implications it used, for the certificate."""

    def __init__(self) -> None:
        super().__init__(self._follows)
        self.decided: dict[tuple[Context, t.Condition], None] = {}

    def _follows(self, context: Context, goal: t.Condition) -> bool:
        found = implied(context, goal)
        if found and goal not in context:
            self.decided[context, goal] = None
        return found


def implied(context: Sequence[t.Condition], goal: t.Condition) -> bool:
    """Whether an integer condition follows from the integer conditions of a context."""
    if goal == t.TRUE or goal in context:
        return True
    if not t.is_integer(goal):
        return False
    query = integer_query("guard", context, goal)
    answer = solve(query.text, obligation=f"guard: {query.goal}")
    if answer != "unsat" and query.exact != query.text:
        answer = solve(query.exact, rlimit=400_000, wall_clock=0.5, obligation=f"guard: {query.goal}")
    return answer == "unsat"


def extent_goal(fold: t.Fold) -> t.Condition:
    """What the lemmas about a fold presuppose of its extent: not negative; at least one for a maximum or minimum."""
    return t.at_most(Index({(): 1 if fold.monoid in ("max", "min") else 0}), fold.extent)


def output_context(value: t.Comprehension) -> Context:
    """`0 <= index < shape` on every axis."""
    return tuple(c for v, n in zip(value.variables, value.shape, strict=True) for c in range_of(v, n))
