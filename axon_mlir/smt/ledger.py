# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The rounding ledgers of two programs, compared: a lowering step may drop a rounding or widen an accumulator, never
add one or narrow."""

from __future__ import annotations

from collections.abc import Sequence

from axon_mlir.semantics.roundings import BITS, NARROW, Entry


def compare_ledgers(before: Sequence[Entry], after: Sequence[Entry]) -> str | None:
    """What is worse afterwards, or None."""
    for n, (a, b) in enumerate(zip(before, after, strict=True)):
        for dtype in NARROW:
            mine, theirs = a.roundings.get(dtype, 0), b.roundings.get(dtype, 0)
            if theirs > mine:
                return f"result {n} is rounded to {dtype} up to {mine} times before and {theirs} times after"
        # A sum that was not there before may be kept in f32 (a transposition by a matrix product).
        if b.accumulator < min(a.accumulator, BITS["f32"]):
            return f"result {n} is summed with {b.accumulator} bits after, with {min(a.accumulator, 24)} before"
    return None
