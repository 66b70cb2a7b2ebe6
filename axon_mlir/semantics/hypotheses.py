# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which hypotheses bear on a question about integers: a deep term stands under hundreds, and few say anything of it."""

from __future__ import annotations

from collections.abc import Sequence

from axon_mlir.semantics import terms as t


def connected(hypotheses: Sequence[t.Condition], goal: t.Condition) -> list[t.Condition]:
    """The hypotheses about integers that share a size or a variable with the goal, or with one of these.

    What the others say does not bear on the goal, unless they contradict each other; where the goal has no symbols it
    is asked whether they do, and all of them count.
    """
    kept = [h for h in hypotheses if t.is_integer(h)]
    reached = t.free_symbols(goal)
    if not reached:
        return kept
    pending = {h: t.free_symbols(h) for h in kept}
    chosen: set[t.Condition] = set()
    while near := [h for h, symbols in pending.items() if not (symbols and symbols.isdisjoint(reached))]:
        chosen.update(near)
        reached = reached.union(*(pending.pop(h) for h in near))
    return [h for h in kept if h in chosen]
