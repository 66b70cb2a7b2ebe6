# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Traced arrays put together, taken apart, repeated, and their elements at positions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

import numpy as np

from axon_mlir.errors import AxonError
from axon_mlir.frontend import operations as ops
from axon_mlir.frontend.element_types import kind
from axon_mlir.frontend.numpy_indexing import getitem
from axon_mlir.frontend.numpy_shapes import copy, ravel, reshape
from axon_mlir.frontend.places import here
from axon_mlir.frontend.recording import current
from axon_mlir.frontend.traced import (
    Each,
    Handler,
    TracedTensor,
    as_integer,
    as_items,
    as_size,
    numpy_function,
    unsupported,
)
from axon_mlir.semantics import index as ix


@numpy_function(np.array_split)
def array_split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> Any:
    """Parts along an axis, the first ones one longer where the axis does not divide."""
    x = ops.as_tensor(ary)
    at = ops.axis_number(axis, x.ndim, "np.array_split")
    count, extent = as_integer(indices_or_sections), x.terms[at]
    if count is None:
        bounds = list(as_items(indices_or_sections))
    else:
        if count < 1:
            raise AxonError(f"np.array_split into {count} parts", where=str(here()), accepted="1 or more")
        # The program counts on parts that have elements.
        current().sizes.reach(extent, count)
        extent = current().sizes.resolve(extent)
        least, more = extent // count, extent % count
        bounds = [as_size(least * n + ix.minimum(more, n)) for n in range(1, count)]
    return [
        getitem(x, (*(slice(None),) * at, slice(start, stop)))
        for start, stop in zip([None, *bounds], [*bounds, None], strict=True)
    ]


@numpy_function(np.split)
def split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> Any:
    """Equal parts along an axis, or parts between positions."""
    x = ops.as_tensor(ary)
    at, count = ops.axis_number(axis, x.ndim, "np.split"), as_integer(indices_or_sections)
    if count is not None and count > 0:
        extent = x.terms[at]
        current().sizes.unify(extent, (extent // count) * count, f"np.split into {count} equal parts")
    return array_split(x, indices_or_sections, at)


@numpy_function(np.repeat, method="repeat")
def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    """Each element so many times."""
    x = ops.as_tensor(a)
    if axis is None:
        x, axis = ravel(x), 0
    (times,) = ops.read_shape(repeats, "np.repeat") if not isinstance(repeats, tuple | list) else (None,)
    if times is None:
        unsupported("np.repeat with a number for each element", "one number")
    return ops.repeat("repeat", x, times, ops.axis_number(axis, x.ndim, "np.repeat"))


@numpy_function(np.tile)
def tile(A: Any, reps: Any) -> Any:
    """Whole axes so many times over."""
    x = ops.as_tensor(A)
    times = ops.read_shape(reps, "np.tile")
    x = ops.expand(x, range(len(times) - x.ndim)) if len(times) > x.ndim else x
    out = TracedTensor(x.node, weak=x.weak)
    for axis, n in enumerate(times, start=x.ndim - len(times)):
        out = ops.repeat("tile", out, n, axis)
    return out


@numpy_function(np.roll)
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """Turned around along an axis."""
    x = ops.as_tensor(a)
    if axis is None:
        return reshape(roll(ravel(x), shift, 0), x.shape)
    at = ops.axis_number(axis, x.ndim, "np.roll")
    extent = x.terms[at]
    first = (extent - ops.read_size(shift, "np.roll")) % extent
    offsets = [first if n == at else ix.const(0) for n in range(x.ndim)]
    return copy(ops.slice_box(ops.repeat("tile", x, ix.const(2), at), offsets, x.terms, [1] * x.ndim))


@numpy_function(np.pad)
def pad(array: Any, pad_width: Any, mode: Any = "constant", constant_values: Any = 0) -> Any:
    """With one value on both sides of each axis."""
    x = ops.as_tensor(array)
    if mode != "constant" or isinstance(constant_values, tuple | list):
        unsupported(f"np.pad with mode={mode!r}", "mode='constant' with one value")
    widths = [as_items(w) for w in as_items(pad_width)]
    if len(widths) == 2 and all(len(w) == 1 for w in widths):
        widths = [(widths[0][0], widths[1][0])]
    widths = widths * x.ndim if len(widths) == 1 else widths
    if len(widths) != x.ndim:
        raise AxonError(f"np.pad: {len(widths)} widths for an array of rank {x.ndim}", where=str(here()))
    out = TracedTensor(x.node, weak=x.weak)
    for axis, width in enumerate(widths):
        low, high = (ops.read_size(w, "np.pad") for w in (width[0], width[-1]))
        if low != 0 or high != 0:
            out = ops.pad(out, ops.stored(constant_values, out, ()), axis, low, high)
    return out


@numpy_function(np.diff)
def diff(a: Any, n: Any = 1, axis: Any = -1) -> Any:
    """Differences of neighbours."""
    x = ops.as_tensor(a)
    before = (slice(None),) * ops.axis_number(axis, x.ndim, "np.diff")
    for _ in range(as_integer(n) or 0):
        x = ops.elementwise("sub", getitem(x, (*before, slice(1, None))), getitem(x, (*before, slice(None, -1))))
    return x


@numpy_function(np.take, method="take")
def take(a: Any, indices: Any, axis: Any = None) -> Any:
    """Elements of an axis at positions."""
    x = ops.as_tensor(a)
    if axis is None:
        x, axis = ravel(x), 0
    return copy(getitem(x, (*(slice(None),) * ops.axis_number(axis, x.ndim, "np.take"), indices)))


@numpy_function(np.take_along_axis)
def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    """Along an axis, elements at positions of their own for each place on the other axes."""
    x, i = ops.as_tensor(arr), ops.as_tensor(indices)
    at = ops.axis_number(axis, x.ndim, "np.take_along_axis")
    if i.ndim != x.ndim or kind(i.node.dtype) != 1:
        unsupported(
            f"np.take_along_axis with {i.node.dtype} positions of rank {i.ndim}", "integers of the array's rank"
        )
    others = tuple(n for n in range(x.ndim) if n != at)
    common = ops.common_shape([tuple(v.terms[n] for n in others) for v in (x, i)], "np.take_along_axis")
    moved = [ops.transpose(v, (*others, at)) for v in (x, i)]
    x, i = (ops.broadcast_to(v, (*common, v.terms[-1])) for v in moved)
    out = ops.gather(x, i, len(others), len(others))
    return ops.transpose(out, [*range(at), x.ndim - 1, *range(at, x.ndim - 1)])


def _in_place_of(each: Each, axis: int, rank: int) -> TracedTensor:
    """The entries of the steps of a loop as one part of what `np.vstack` and `np.hstack` join."""
    own = each.values.ndim - 1
    if own < rank:
        # Vectors become rows, numbers a vector.
        return each.values
    return _in_a_row(each, 0 if own == 1 else axis)


def _joined(name: str, axis: int, rank: int) -> Handler:
    """Along a fixed axis, after filling up the rank with unit axes in front (of vectors, as `name` does)."""

    def handler(tup: Any) -> Any:
        parts = [_in_place_of(p, axis, rank) if isinstance(p, Each) else ops.as_tensor(p) for p in as_items(tup)]
        if rank == 2:
            parts = [ops.expand(p, range(2 - p.ndim)) if p.ndim < 2 else p for p in parts]
        at = 0 if parts[0].ndim == 1 else axis
        return ops.concatenate([ops.expand(p, [0]) if p.ndim == 0 else p for p in parts], at)

    handler.__name__ = name
    return handler


numpy_function(np.vstack)(_joined("vstack", 0, 2))
numpy_function(np.hstack)(_joined("hstack", 1, 1))


@numpy_function(np.concatenate)
def concatenate(arrays: Any, axis: Any = 0) -> Any:
    """After each other along an axis."""
    found = list(cast("Sequence[Any]", arrays)) if isinstance(arrays, tuple | list) else []
    for n, part in enumerate(found):
        if isinstance(part, Each):
            at = ops.axis_number(axis, part.values.ndim - 1, "np.concatenate")
            found[n] = _in_a_row(part, at)
    parts = _parts(found or arrays, "np.concatenate")
    if parts[0].ndim == 0:
        raise AxonError("np.concatenate of scalars", where=str(here()), accepted="arrays of rank 1 or more")
    return ops.concatenate(parts, ops.axis_number(axis, parts[0].ndim, "np.concatenate"))


def _parts(arrays: Any, what: str) -> list[TracedTensor]:
    parts: list[Any] = list(cast("Iterable[Any]", arrays)) if isinstance(arrays, tuple | list | TracedTensor) else []
    if not parts:
        unsupported(f"{what} of this", "a list of arrays")
    return [ops.as_tensor(p) for p in parts]


def _in_a_row(each: Each, axis: int = 0) -> TracedTensor:
    """The entries of the steps of a loop after each other along an axis of theirs."""
    x = each.values
    shape = x.terms
    order = list(range(1, x.ndim))
    order.insert(axis, 0)
    moved = ops.transpose(x, order)
    return ops.reshape(moved, (*shape[1 : 1 + axis], shape[0] * shape[1 + axis], *shape[2 + axis :]))


@numpy_function(np.stack)
def stack(arrays: Any, axis: Any = 0) -> Any:
    """Along a new axis."""
    if isinstance(arrays, tuple | list) and any(isinstance(p, Each) for p in cast("Sequence[Any]", arrays)):
        out = ops.stacked(cast("Sequence[Any]", arrays))
        order = list(range(1, out.ndim))
        order.insert(ops.axis_number(axis, out.ndim, "np.stack"), 0)
        return ops.transpose(out, order)
    parts = _parts(arrays, "np.stack")
    position = ops.axis_number(axis, parts[0].ndim + 1, "np.stack")
    return ops.concatenate([ops.expand(p, [position]) for p in parts], position)
