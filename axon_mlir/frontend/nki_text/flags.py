# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""When a flag of the kernel is false: in the first iteration of which loops, and only there."""

from __future__ import annotations

from collections.abc import Sequence

from axon_mlir.frontend.nki_text.values import positive
from axon_mlir.semantics import terms as t
from axon_mlir.semantics.index import Index, Var


def past_first(condition: t.Condition, counters: Sequence[Var]) -> frozenset[Var] | None:
    """The loops such that the condition is false exactly where all of them are in their first iteration.

    `counters` number the iterations of the loops around, from 0. None where the condition says something else.
    """
    parts = condition.parts if isinstance(condition, t.Or) else (condition,)
    out: set[Var] = set()
    for part in parts:
        found = next((v for v in counters if _is_past(part, v)), None)
        if found is None:
            return None
        out.add(found)
    return frozenset(out) if out else None


def _is_past(part: t.Condition, counter: Var) -> bool:
    """Whether the condition is `counter >= 1`."""
    match part:
        case t.IndexCompare("<", a, b):
            return _positive_from_one(b - a, counter)
        case t.IndexCompare("<=", a, b):
            return _positive_from_one(b - a + 1, counter)
        case t.Not(t.IndexCompare("<=", a, b)):
            return _positive_from_one(a - b, counter)
        case t.Not(t.IndexCompare("<", a, b)):
            return _positive_from_one(a - b + 1, counter)
        case t.Not(t.IndexCompare("==", a, b)):
            gap = b - a
            return _multiple(gap, counter) or _multiple(-gap, counter)
        case _:
            return False


def _multiple(gap: Index, counter: Var) -> bool:
    """Whether the term is the counter times something positive."""
    factor = gap.coefficient(counter)
    return factor is not None and gap == factor * Index({(counter,): 1}) and positive(factor)


def _positive_from_one(gap: Index, counter: Var) -> bool:
    """Whether `gap >= 1` exactly when `counter >= 1`."""
    if _multiple(gap, counter):
        return True
    factor = gap.coefficient(counter)
    if factor is None or factor.constant is None or factor.constant < 1:
        return False
    rest = (gap - factor * Index({(counter,): 1})).constant
    # Grows with the counter, so the first two iterations decide.
    return rest is not None and rest < 1 <= factor.constant + rest
