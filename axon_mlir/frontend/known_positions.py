# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Positions that do not depend on data: `np.arange`, sums and multiples of it, such arrays after each other.

What they choose are slices, so indexing with them needs no search through an axis.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from axon_mlir.errors import AxonError
from axon_mlir.frontend.places import here
from axon_mlir.frontend.recording import Node, current
from axon_mlir.semantics import index as ix
from axon_mlir.semantics.index import Index


@dataclass(frozen=True)
class Run:
    """`first`, `first + step`, ...: `count` positions."""

    first: Index
    step: int
    count: Index

    @property
    def last(self) -> Index:
        """The last position."""
        return self.first + (self.count - 1) * self.step


def runs_of(node: Node) -> list[Run] | None:
    """The runs of a vector of positions, in order; None when they depend on data."""
    sizes = current().sizes
    (count,) = current().shape(node)
    match node.kind:
        case "iota":
            return [Run(ix.const(0), 1, count)]
        case "broadcast" if (number := _number(node)) is not None:
            return [Run(number, 0, count)]
        case "cast":
            return runs_of(node.operands[0])
        case "concat":
            parts = [runs_of(operand) for operand in node.operands]
            return None if None in parts else [run for part in parts for run in part or []]
        case "add" | "sub" | "mul":
            a, b = node.operands
            sign = 1
            if _number(b) is None:
                # The number first: `n - 1 - np.arange(n)`.
                a, b = b, a
                sign = -1 if node.kind == "sub" else 1
            runs, number = runs_of(a), _number(b)
            if runs is None or number is None:
                return None
            factor = sizes.resolve(number).constant if node.kind == "mul" else sign
            if factor is None:
                return None
            shift = number if node.kind == "add" or sign < 0 else -number if node.kind == "sub" else ix.const(0)
            return [Run(r.first * factor + shift, r.step * factor, r.count) for r in runs]
        case _:
            return None


def _number(node: Node) -> Index | None:
    """The number that is in every element."""
    match node.kind:
        case "broadcast" | "cast":
            return _number(node.operands[0])
        case "size":
            return current().sizes.resolve(node.attributes["term"])
        case "constant" if isinstance(node.attributes["value"], int):
            return ix.const(node.attributes["value"])
        case _:
            return None


def runs_inside(node: Node, extent: Index) -> list[Run] | None:
    """The runs of positions along an axis, counted from its start; None when that cannot be said for all sizes."""
    runs = runs_of(node)
    if runs is None:
        return None
    out: list[Run] = []
    for run in runs:
        for part in _parted(run):
            if part.last.constant is not None and part.last.constant < 0:
                part = replace(part, first=part.first + extent)
            if not _inside(part, extent):
                return None
            out.append(part)
    return out


def _parted(run: Run) -> list[Run]:
    """The negative positions of a run, which count from the end, apart from the others."""
    first, count = run.first.constant, run.count.constant
    if first is None or count is None or run.step == 0:
        return [run]
    before = sum(1 for n in range(count) if (first + n * run.step < 0) == (first < 0))
    if before == count:
        return [run]
    return [
        replace(run, count=ix.const(before)),
        Run(ix.const(first + before * run.step), run.step, ix.const(count - before)),
    ]


def _inside(run: Run, extent: Index) -> bool:
    sizes = current().sizes
    low, high = (run.first, run.last) if run.step >= 0 else (run.last, run.first)
    if sizes.at_least(low, 0) and sizes.at_least(extent - high, 1):
        return True
    least, most, bound = (sizes.value_of(n) for n in (low, high, extent))
    if least is None or most is None or bound is None:
        return False
    if least < 0 or most >= bound:
        outside = least if least < 0 else most
        raise AxonError(f"index {outside} is outside an axis of size {bound}", where=str(here()))
    if most + 1 < bound and sizes.reach(low, 0) and sizes.reach(extent - high, 1):
        return True
    # In bounds for the given sizes only, or all that there is for them.
    for term in (low, high, extent):
        sizes.force(term, "indexing with known positions")
    return True
