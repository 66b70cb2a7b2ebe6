# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A value whose element depends on where its index lies, as pieces that do not: what concatenation and padding mean.

`if i < M then x[i] else y[i - M]` for i < M + N is two pieces: x[w] for w < M at offset 0, y[w] for w < N at offset M.
Breakpoints are sums of sizes; they must be in a known order. `if i % 2 == 0 then ... else ...` is a piece for every
remainder, whose elements lie in steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from axon_mlir.semantics import terms as t
from axon_mlir.semantics.bounds import nonnegative
from axon_mlir.semantics.guards import Guards
from axon_mlir.semantics.index import Index, Size, Var, ceil_div, const, fresh_var, of_var
from axon_mlir.semantics.remainders import MOST, divides, remainder
from axon_mlir.semantics.walk import subterms


@dataclass(frozen=True)
class Piece:
    """Part of a value: a box of its own shape, where the box begins in the value, and in which steps it lies there."""

    value: t.Comprehension
    origin: tuple[Index, ...]
    steps: tuple[int, ...]


def pieces_of(value: t.Comprehension) -> list[Piece]:
    """The pieces of a value; the value itself where nothing depends on the place, or no order is known."""
    return list(_split(Piece(value, tuple(const(0) for _ in value.shape), (1,) * len(value.shape))))


def _split(piece: Piece) -> Iterator[Piece]:
    for axis, v in enumerate(piece.value.variables):
        count = _remainders(piece.value, v)
        if count is not None:
            for r in range(count):
                yield from _split(_remainder(piece, axis, r, count))
            return
    for axis, v in enumerate(piece.value.variables):
        points = _breakpoints(piece.value, v)
        ordered = _ordered([const(0), *points, piece.value.shape[axis]]) if points else None
        if ordered is None:
            continue
        for low, high in pairwise(ordered):
            if low != high:
                yield from _split(_part(piece, axis, low, high))
        return
    yield piece


def _remainders(value: t.Comprehension, v: Var) -> int | None:
    """The number that a condition on the variable alone divides it by."""
    return next((n for c in _conditions(value) for n in divides(c, v) if n <= MOST), None)


def _remainder(piece: Piece, axis: int, r: int, count: int) -> Piece:
    """The part of a piece whose index along an axis leaves a remainder."""
    value = remainder(piece.value, axis, r, count)
    body = _decided(value.body, value.variables[axis], value.shape[axis])
    start = [piece.steps[axis] * r if n == axis else 0 for n in range(len(piece.origin))]
    return Piece(
        replace(value, body=body),
        tuple(o + s for o, s in zip(piece.origin, start, strict=True)),
        tuple(s * count if n == axis else s for n, s in enumerate(piece.steps)),
    )


def _conditions(value: t.Comprehension) -> Iterator[t.IndexCompare]:
    for x in subterms(value.body):
        if isinstance(x, t.Select):
            yield from (c for c in t.comparisons(x.condition) if isinstance(c, t.IndexCompare))


def _breakpoints(value: t.Comprehension, v: Var) -> list[Index]:
    """Where conditions on the variable alone change: `v < p` holds below p."""
    found: dict[Index, None] = {}
    for c in _conditions(value):
        gap = c.right - c.left
        factor = gap.coefficient(v)
        by = factor.constant if factor is not None else None
        if factor is None or not by or not _sizes_only(gap - factor * of_var(v)):
            continue
        rest = gap - factor * of_var(v)
        # The gap is zero at v = -rest / by; the relation changes at the first whole number from there on, or behind it.
        strict = c.relation == "<"
        if c.relation == "==":
            zero = ceil_div(-rest if by > 0 else rest, abs(by))
            found |= {zero: None, zero + 1: None}
        elif by > 0:
            found[(-rest // by) + 1 if strict else ceil_div(-rest, by)] = None
        else:
            found[ceil_div(rest, -by) if strict else rest // -by + 1] = None
    return list(found)


def _sizes_only(i: Index) -> bool:
    return all(isinstance(s, Size) for s in i.symbols())


def _ordered(points: list[Index]) -> list[Index] | None:
    """The points from the first to the last, in ascending order, each once; None where their order is not known."""
    first, last = points[0], points[-1]
    inner = [p for p in dict.fromkeys(points) if not nonnegative(first - p) and not nonnegative(p - last)]
    out: list[Index] = []
    for p in inner:
        if not nonnegative(p - first) or not nonnegative(last - p):
            return None
        below = [q for q in out if nonnegative(p - q)]
        if any(not nonnegative(q - p) for q in out if q not in below):
            return None
        out.insert(len(below), p)
    return [first, *out, last]


def _part(piece: Piece, axis: int, low: Index, high: Index) -> Piece:
    """The part of a piece with one variable between two points."""
    value = piece.value
    w = fresh_var(value.variables[axis].name)
    extent = high - low
    body = _decided(t.substitute(value.body, {value.variables[axis]: low + of_var(w)}), w, extent)
    variables = tuple(w if n == axis else v for n, v in enumerate(value.variables))
    shape = tuple(extent if n == axis else d for n, d in enumerate(value.shape))
    origin = tuple(
        o + s * low if n == axis else o for n, (o, s) in enumerate(zip(piece.origin, piece.steps, strict=True))
    )
    return Piece(replace(value, shape=shape, variables=variables, body=body), origin, piece.steps)


def _decided(body: t.Term, w: Var, extent: Index) -> t.Term:
    """A term without the choices that are the same for all `0 <= w < extent`."""
    return Guards(lambda _, c: _holds(c, w, extent)).term(body, ())


def _holds(c: t.Condition, w: Var, extent: Index) -> bool:
    """Whether a comparison of indices, or its negation, holds for all `0 <= w < extent`."""
    compared = c.part if isinstance(c, t.Not) else c
    if not isinstance(compared, t.IndexCompare):
        return False
    gap = compared.right - compared.left
    factor = gap.coefficient(w)
    if factor is None or factor.constant is None:
        return False
    ends = [gap.substitute({w: const(0)}), gap.substitute({w: extent - 1})]
    low, high = ends if factor.constant >= 0 else ends[::-1]
    if compared.relation == "==":
        apart = nonnegative(low - 1) or nonnegative(-high - 1)
        return apart if compared is not c else low == high == const(0)
    strict = int(compared.relation == "<")
    return nonnegative(-high - 1 + strict) if compared is not c else nonnegative(low - strict)
