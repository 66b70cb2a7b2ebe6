# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Subscripts and access patterns as regions.

A region is an offset for every axis of the tensor and the tile axis that each runs along. A pattern is recognised by
its strides; because the region's elements have the very addresses of the pattern wherever it is in bounds, any way to
split the offset is right, and that it is in bounds is an obligation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from axon_mlir.errors import UnsupportedError
from axon_mlir.frontend.nki_text.values import Slice, Storage, Value, View
from axon_mlir.semantics.index import Index, Monomial, cofactor, const

Require = Callable[[Index, Index], None]
"""Records that the first term must be at most the second."""


def subscript(view: View, items: Sequence[Value], require: Require) -> View:
    """`tensor[items]`."""
    storage = view.storage
    if not view.whole:
        raise UnsupportedError("a region of a region is not read", accepted="a region of a whole tensor")
    shape = view.shape
    if len(items) > len(shape):
        raise UnsupportedError(f"{len(items)} subscripts for a tensor of rank {len(shape)}")
    full = [*items, *(Slice(None, None) for _ in range(len(shape) - len(items)))]
    starts: list[Index] = []
    sizes: list[Index | None] = []
    for item, extent in zip(full, shape, strict=True):
        match item:
            case Index():
                starts.append(item)
                sizes.append(None)
            case Slice(start, stop):
                starts.append(start if start is not None else const(0))
                sizes.append((stop if stop is not None else extent) - starts[-1])
            case _:
                raise UnsupportedError("a subscript that is neither an integer nor a slice", accepted="i, a:b")
    if storage.on_chip:
        return _on_chip(storage, starts, sizes, require)
    along = [n for n, s in enumerate(sizes) if s is not None]
    if len(along) != 2:
        raise UnsupportedError(f"{len(along)} slices of a tensor in HBM", accepted="two slices, else integers")
    first, second = sizes[along[0]], sizes[along[1]]
    assert first is not None and second is not None
    axes = tuple(along.index(n) if n in along else None for n in range(len(shape)))
    if storage.scalar:
        return _scalar(storage, starts, (first, second))
    return View(storage, tuple(starts), axes, (first, second), (first, second))


def _scalar(storage: Storage, starts: Sequence[Index], sizes: tuple[Index, Index]) -> View:
    if any(s != 0 for s in starts) or any(n != 1 for n in sizes):
        raise UnsupportedError("a region outside a tensor of shape (1, 1)", accepted="[0:1, 0:1]")
    return View(storage, (), (), sizes, sizes)


def _on_chip(storage: Storage, starts: Sequence[Index], sizes: Sequence[Index | None], require: Require) -> View:
    first, last = sizes[0], sizes[-1]
    if first is None or last is None:
        raise UnsupportedError("an integer along the partitions or the last axis", accepted="a slice such as i:i + 1")
    if len(starts) == 2:
        return View(storage, (starts[0], starts[1]), (0, 1), (first, last), (first, last))
    if len(starts) != 3 or sizes[1] is not None:
        raise UnsupportedError(
            "a region of several chunks", accepted="an integer for the middle axis of [partitions, chunks, free]"
        )
    partitions, chunks, _ = storage.shape
    # The row stands for partition and chunk only where both are in their ranges.
    require(const(0), starts[0])
    require(starts[0] + first, partitions)
    require(const(0), starts[1])
    require(starts[1] + 1, chunks)
    return View(storage, (starts[1] * partitions + starts[0], starts[2]), (0, 1), (first, last), (first, last))


def strides_of(shape: Sequence[Index]) -> list[Index]:
    """Elements from one index to the next, for every axis of a tensor in HBM."""
    out: list[Index] = []
    stride = const(1)
    for d in reversed(shape):
        out.insert(0, stride)
        stride = stride * d
    return out


def pattern(view: View, dims: Sequence[tuple[Index, Index]], offset: Index) -> View:
    """`tensor.ap(pattern=[[stride, count], [stride, count]], offset=...)`."""
    storage = view.storage
    if storage.on_chip or not view.whole:
        raise UnsupportedError("an access pattern of something else than a whole tensor in HBM")
    if len(dims) != 2:
        raise UnsupportedError(f"a pattern of {len(dims)} dimensions", accepted="two: partitions and the free axis")
    (_, first), (_, second) = dims
    if storage.scalar:
        for stride, count in dims:
            if stride != 0 and count != 1:
                raise UnsupportedError(f"a stride of {stride} in a tensor of one element", accepted="0")
        if offset != 0:
            raise UnsupportedError("an offset in a tensor of one element", accepted="0")
        return View(storage, (), (), (first, second), (first, second))
    strides = strides_of(view.shape)
    axes: list[int | None] = [None] * len(strides)
    steps = [1] * len(strides)
    for axis, (stride, count) in enumerate(dims):
        if stride == 0 or count == 1:
            continue
        fitting = {n: k for n, s in enumerate(strides) if axes[n] is None and (k := _times(stride, s)) is not None}
        if not fitting:
            raise UnsupportedError(
                f"a stride of {stride} in a tensor of strides {', '.join(map(str, strides))}",
                accepted="the stride of an axis, a multiple of it, or 0",
            )
        chosen = min(fitting, key=lambda n: (fitting[n], view.shape[n] == 1))
        axes[chosen], steps[chosen] = axis, fitting[chosen]
    offsets: list[Index] = []
    for extent, stride in zip(view.shape, strides, strict=True):
        if extent == 1 and len(strides) > 1:
            offsets.append(const(0))
            continue
        quotient, offset = divided(offset, stride)
        offsets.append(quotient)
    if offset != 0:
        raise UnsupportedError(f"{offset} of the offset belongs to no axis of the tensor")
    stepped = tuple(steps) if any(k != 1 for k in steps) else ()
    return View(storage, tuple(offsets), tuple(axes), (first, second), (first, second), steps=stepped)


def rows(view: View, dims: Sequence[tuple[Index, Index]], offset: Index) -> View:
    """All rows from `offset` on of which an index chooses: the first pair of the pattern only counts how many."""
    if view.storage.scalar or len(view.shape) < 2 or len(dims) != 2:
        raise UnsupportedError("an index for something else than rows of a tensor in HBM")
    stride = strides_of(view.shape)[0]
    found = pattern(view, [(stride, view.shape[0]), dims[1]], offset)
    if found.axes[0] != 0 or found.sizes is None:
        raise UnsupportedError("an index for another axis than the first", accepted="indirect_dim=0")
    left = (view.shape[0] - found.offsets[0], found.sizes[1])
    return replace(found, sizes=left, shape=left)


def _times(a: Index, b: Index) -> int | None:
    """The positive number k with `a = k * b`; None where there is none."""
    (_, x), (_, y) = a.terms[0], b.terms[0]
    k = x // y
    return k if k >= 1 and a == b * k else None


def divided(term: Index, stride: Index) -> tuple[Index, Index]:
    """(q, r) with `term = stride * q + r`, as much in q as the monomials show: the polynomial division by the greatest
    monomial of the stride."""
    factors, scale = max(stride.terms, key=_degree)
    quotient, rest = const(0), term
    while True:
        # A step takes a monomial away, and brings in smaller ones only.
        shown = [(m, left, c // scale) for m, c in rest.terms if (left := cofactor(m, factors)) is not None]
        fitting = [(m, left, times) for m, left, times in shown if times]
        if not fitting:
            break
        _, left, times = max(fitting, key=_degree)
        q = Index({left: times})
        quotient, rest = quotient + q, rest - q * stride
    if rest.terms and all(c < 0 for _, c in rest.terms):
        # No region begins before its row.
        return quotient - 1, rest + stride
    return quotient, rest


def _degree(term: tuple[Monomial, *tuple[object, ...]]) -> tuple[int, list[str]]:
    """The graded order of monomials; in each the atoms stand in their own order."""
    monomial = term[0]
    return len(monomial), [str(a) for a in monomial]
