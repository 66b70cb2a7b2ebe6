# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""When a flag of the kernel is false: in the first iteration of which loops, and only there."""

from __future__ import annotations

from collections.abc import Sequence

from axon_mlir.frontend.nki_text.values import positive
from axon_mlir.semantics import terms as t
from axon_mlir.semantics.index import Index, Var, const, of_var


def past_first(condition: t.Condition, counters: Sequence[Var]) -> frozenset[Var] | None:
    """The loops such that the condition is false exactly where all of them are in their first iteration.

    `counters` number the iterations of the loops around, from 0. None where the condition says something else.
    """
    parts = condition.parts if isinstance(condition, t.Or) else (condition,)
    out: set[Var] = set()
    for part in parts:
        found = _past(part, frozenset(counters))
        if found is None:
            return None
        out |= found
    return frozenset(out) if out else None


def _past(part: t.Condition, counters: frozenset[Var]) -> frozenset[Var] | None:
    """The counters such that the condition is `one of them is at least 1`."""
    match part:
        case t.IndexCompare("<", a, b):
            return _positive_past_zero(b - a, counters)
        case t.IndexCompare("<=", a, b):
            return _positive_past_zero(b - a + 1, counters)
        case t.Not(t.IndexCompare("<=", a, b)):
            return _positive_past_zero(a - b, counters)
        case t.Not(t.IndexCompare("<", a, b)):
            return _positive_past_zero(a - b + 1, counters)
        case t.Not(t.IndexCompare("==", a, b)):
            # A sum of multiples is 0 only where all of them are.
            gap = b - a
            zero = gap.substitute({v: const(0) for v in counters}) == 0
            return (_positive_past_zero(gap, counters) or _positive_past_zero(-gap, counters)) if zero else None
        case _:
            return None


def _positive_past_zero(gap: Index, counters: frozenset[Var]) -> frozenset[Var] | None:
    """The counters such that `gap >= 1` exactly when one of them is at least 1: a number below 1 and a positive
    multiple of each that is, with that number, at least 1."""
    used = frozenset(s for s in gap.symbols() if isinstance(s, Var))
    if not used or not used <= counters:
        return None
    rest = gap.substitute({v: const(0) for v in used})
    total = rest
    for v in used:
        factor = gap.coefficient(v)
        if factor is None or not positive(factor + rest) or not positive(factor):
            return None
        total = total + factor * of_var(v)
    if rest.constant is None or rest.constant >= 1 or total != gap:
        return None
    return used
