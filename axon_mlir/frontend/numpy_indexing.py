# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reading and assigning elements: integers, slices, None and `...` make views, integer arrays gather and scatter."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from axon_mlir.errors import AxonError
from axon_mlir.frontend import operations as ops
from axon_mlir.frontend.element_types import kind
from axon_mlir.frontend.known_positions import Run, runs_inside, runs_of
from axon_mlir.frontend.places import here
from axon_mlir.frontend.recording import Node, Shape, current
from axon_mlir.frontend.traced import METHODS, TracedTensor, as_items, as_size, size_term, unsupported
from axon_mlir.semantics import index as ix
from axon_mlir.semantics.index import Index

_ACCEPTED = "integers, slices, None, ... and arrays of integers in an index"


def getitem(a: Any, key: Any) -> Any:
    """`a[key]`."""
    x = ops.as_tensor(a)
    items = _spread(key, x.ndim)
    if any(_is_mask(i) for i in items):
        unsupported("indexing with truth values (the shape depends on data)", "np.where(mask, x, 0)")
    if any(_is_array(i) for i in items):
        out = _gathered(_arrays_of(x, items))
        return TracedTensor(out.node, weak=out.weak)
    out = _view(x, items)
    # NumPy gives a scalar, which is no view.
    return TracedTensor(out.node, weak=out.weak) if out.ndim == 0 and key is not Ellipsis and x.ndim > 0 else out


def setitem(a: Any, key: Any, value: Any) -> None:
    """`a[key] = value`."""
    x = cast(TracedTensor, a)
    if _is_mask(key):
        mask = ops.as_tensor(key)
        kept = ops.expand(mask, range(mask.ndim, x.ndim))
        new = ops.stored(value, x, ())
        chosen = ops.select(kept, new, x)
        x.assign(ops.broadcast_to(chosen, x.terms))
        return
    items = _spread(key, x.ndim)
    if any(_is_array(i) for i in items):
        _scatter(_arrays_of(x, items), value)
        return
    target = _view(x, items)
    target.assign(ops.stored(value, target, target.terms))


METHODS["getitem"] = getitem
METHODS["setitem"] = setitem


def _is_mask(item: Any) -> bool:
    if isinstance(item, TracedTensor):
        return item.node.dtype == "i1"
    if isinstance(item, np.ndarray):
        return cast("np.ndarray[Any, np.dtype[Any]]", item).dtype == np.bool_
    return isinstance(item, bool | np.bool_)


def _is_array(item: Any) -> bool:
    return isinstance(item, TracedTensor | np.ndarray | list)


def _spread(key: Any, rank: int) -> list[Any]:
    """The items of an index, the ellipsis written out."""
    items = list(as_items(key)) if isinstance(key, tuple) else [key]
    taken = sum(1 for i in items if i is not None and i is not Ellipsis)
    if taken > rank:
        raise AxonError(f"{taken} indices into an array of rank {rank}", where=str(here()))
    dots = [n for n, i in enumerate(items) if i is Ellipsis]
    if len(dots) > 1:
        raise AxonError("more than one ellipsis in an index", where=str(here()))
    at = dots[0] if dots else len(items)
    items[at : at + 1] = [slice(None)] * (rank - taken)
    return items


# -- views -------------------------------------------------------------------------------------------------------------


def _view(x: TracedTensor, items: list[Any]) -> TracedTensor:
    """Basic indexing: every axis has an integer or a slice."""
    offsets: list[Index] = []
    lengths: list[Index] = []
    steps: list[int] = []
    dropped: list[int] = []
    inserted: list[int] = []
    position = 0
    for item in items:
        if item is None:
            inserted.append(position)
            position += 1
            continue
        extent = x.terms[len(offsets)]
        if isinstance(item, slice):
            offset, length, step = _span(cast("slice[Any, Any, Any]", item), extent)
            position += 1
        elif (term := size_term(item)) is not None:
            offset, length, step = _element(term, extent, len(offsets)), ix.const(1), 1
            dropped.append(len(offsets))
        else:
            unsupported(f"indexing with {type(item).__name__}", _ACCEPTED)
        offsets.append(offset)
        lengths.append(length)
        steps.append(step)
    out = ops.slice_box(x, offsets, lengths, steps)
    return ops.expand(ops.squeeze(out, dropped), inserted)


def _from_front(term: Index, extent: Index, why: str) -> Index:
    """A position that may count from the end, counted from the front."""
    sizes = current().sizes
    if sizes.at_least(term, 0):
        return term
    if not sizes.at_least(-term, 1):
        term = ix.const(sizes.force(term, f"{why} whose sign depends on a size"))
    return extent + term if term.constant is None or term.constant < 0 else term


def _element(term: Index, extent: Index, axis: int) -> Index:
    sizes = current().sizes
    term = _from_front(term, extent, "an index")
    number, bound = sizes.value_of(term), sizes.value_of(extent)
    if number is not None and bound is not None and not 0 <= number < bound:
        raise AxonError(f"index {number} is outside axis {axis} of size {bound}", where=str(here()))
    if sizes.at_least(term, 0) and sizes.at_least(extent - term, 1):
        return term
    if sizes.moving(term) is not None:
        _ends_at_last_step(term + 1, extent)
        if not (sizes.at_least(term, 0) and sizes.at_least(extent - term, 1)):
            sizes.force(term, "an index that may be outside")
        return sizes.resolve(term)
    last = number is not None and number + 1 == bound
    if last or not sizes.reach(term, 0) or not sizes.reach(extent - term, 1):
        # In bounds for the given sizes only, or all that there is for them: the axis is no longer generic.
        sizes.force(extent, "indexing an element")
    return sizes.resolve(term)


def _ends_at_last_step(stop: Index, extent: Index) -> None:
    """Where a loop comes to the end of an axis in its last step, or its first, the axis means that many."""
    sizes = current().sizes
    for end in sizes.ends(stop):
        if end != stop and sizes.value_of(end) == sizes.value_of(extent) is not None:
            sizes.unify(end, extent, "an axis that a loop goes through")


def _span(item: slice[Any, Any, Any], extent: Index) -> tuple[Index, Index, int]:
    """Offset, length and step of a slice, clamped to the axis as NumPy does where the given sizes are clamped."""
    step_term = ix.const(1) if item.step is None else ops.read_size(item.step, "a slice")
    step = current().sizes.force(step_term, "the step of a slice")
    if step == 0:
        raise AxonError("a slice with step 0", where=str(here()), accepted="a step that is not 0")
    low, high = (ix.const(0), extent) if step > 0 else (ix.const(-1), extent - 1)
    first, last = (low, high) if step > 0 else (high, low)
    start = first if item.start is None else _clamp(ops.read_size(item.start, "a slice"), extent, low, high)
    stop = last if item.stop is None else _clamp(ops.read_size(item.stop, "a slice"), extent, low, high)
    length = ix.ceil_div(stop - start if step > 0 else start - stop, abs(step))
    known = current().sizes.value_of(length)
    if known is not None and known < 1:
        unsupported("an empty slice", "slices of at least one element")
    if any(isinstance(bound, int) and bound for bound in (item.start, item.stop)):
        # The program counts on elements at a position that it names.
        current().sizes.reach(length, 1)
    if current().sizes.resolve(length) == 1:
        # One element lies in no steps.
        step = 1
    return start, length, step


def _clamp(term: Index, extent: Index, low: Index, high: Index) -> Index:
    sizes, named = current().sizes, term.constant is not None
    term = _from_front(term, extent, "a bound of a slice")
    if sizes.moving(term) is not None:
        for stop in (term, term + 1):
            if not sizes.at_least(extent - term, 0):
                _ends_at_last_step(stop, extent)
        high = sizes.resolve(high)
    least, number, most = (sizes.value_of(n) for n in (low, term, high))
    if named and least is not None and number is not None and most is not None and least <= number <= most:
        if not (sizes.reach(term - low, 0) and sizes.reach(high - term, 0)):
            # A number inside a product of sizes: inside for the given sizes only.
            sizes.force(extent, "a slice at a number")
        return sizes.resolve(term)
    if not sizes.reach(term - low, 0):
        term = ix.maximum(term, low)
    return term if sizes.reach(high - term, 0) else ix.minimum(term, high)


# -- arrays of positions -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Arrays:
    """An index with arrays: what basic indexing leaves, and the axes of it that arrays choose from."""

    base: TracedTensor
    axes: list[int]
    positions: list[TracedTensor]
    shape: Shape
    """What the arrays broadcast to."""
    together: bool
    """Whether no slice stands between the arrays: their axes then stay in place, otherwise they go first."""


def _arrays_of(x: TracedTensor, items: list[Any]) -> _Arrays:
    fancy = [n for n, i in enumerate(items) if _is_array(i) or size_term(i) is not None]
    arrays = [n for n in fancy if _is_array(items[n])]
    base = _view(x, [slice(None) if n in arrays else i for n, i in enumerate(items)])
    axes = [n - sum(1 for m in fancy if m < n and m not in arrays) for n in arrays]
    positions = [ops.as_tensor(items[n]) for n in arrays]
    for p in positions:
        if kind(p.node.dtype) != 1:
            unsupported(f"indexing with an array of {p.node.dtype}", _ACCEPTED)
    shape = ops.common_shape([p.terms for p in positions], "an index")
    return _Arrays(base, axes, positions, shape, fancy == list(range(fancy[0], fancy[0] + len(fancy))))


def _gathered(arrays: _Arrays) -> TracedTensor:
    runs = _one_vector(arrays)
    if runs is not None:
        axis = arrays.axes[0]
        return ops.concatenate([_run(arrays.base, axis, run) for run in runs], axis)
    place, rank = (arrays.axes[0] if arrays.together else 0), len(arrays.shape)
    arrays, batch = _counting(arrays)
    x, axes, positions = arrays.base, list(arrays.axes), list(arrays.positions)
    if batch is not None:
        # One array counts along the first of their axes: each position there has its own row.
        x = _axis_first(x, axes.pop(batch))
        positions.pop(batch)
        axes = [n + (n < arrays.axes[batch]) for n in axes]
    shared = 1 if batch is not None else 0
    x, axis, flat = _one_axis(x, axes, positions, arrays.shape)
    out = ops.gather(x, flat, shared, axis)
    if shared:
        order = list(range(1, axis))
        out = ops.transpose(out, [*order, 0, *(n for n in range(out.ndim) if n and n not in order)])
        axis -= 1
    rest = [n for n in range(out.ndim) if not axis <= n < axis + rank]
    return ops.transpose(out, [*rest[:place], *range(axis, axis + rank), *rest[place:]])


def _scatter(arrays: _Arrays, value: Any) -> None:
    x, axes = arrays.base, arrays.axes
    if not arrays.together:
        unsupported("assigning through arrays of positions with a slice between them", "arrays next to each other")
    rest = [s for n, s in enumerate(x.terms) if n not in axes]
    first = axes[0]
    new = ops.stored(value, x, (*rest[:first], *arrays.shape, *rest[first:]))
    runs = _one_vector(arrays)
    if runs is not None:
        start = ix.const(0)
        for run in runs:
            # Of a position that stands there several times, the last element stays.
            given = run if run.step else replace(run, first=run.last, count=ix.const(1))
            from_ = start if run.step else start + run.count - 1
            _run(x, first, replace(given, step=run.step or 1)).assign(_run(new, first, Run(from_, 1, given.count)))
            start = start + run.count
        return
    arrays, batch = _counting(arrays)
    x = arrays.base
    if batch is not None and len(arrays.shape) == 1 and len(axes) == 2:
        # One element a row: a choice at each column.
        column = axes[1 - batch]
        wanted = ops.broadcast_to(arrays.positions[1 - batch], arrays.shape)
        wanted = ops.expand(wanted, [n for n in range(x.ndim) if n != axes[batch]])
        chosen = ops.compare("eq", ops.iota(x.terms, column), wanted)
        x.assign(ops.select(chosen, ops.expand(new, [column]), x))
        return
    bare, axis, flat = _one_axis(x, axes, arrays.positions, arrays.shape)
    count = math.prod(arrays.shape, start=ix.const(1))
    part = ops.reshape(new, (*rest[:first], count, *rest[first:]))
    done = ops.reshape(ops.scatter(bare, ops.reshape(flat, (count,)), part, axis), x.terms)
    x.assign(done)


def _axis_first(x: TracedTensor, axis: int) -> TracedTensor:
    return ops.transpose(x, [axis, *(n for n in range(x.ndim) if n != axis)])


def _one_axis(
    x: TracedTensor, axes: list[int], positions: list[TracedTensor], shape: Shape
) -> tuple[TracedTensor, int, TracedTensor]:
    """Several indexed axes as one, in row-major order: the tensor, the axis, the positions along it."""
    first = axes[0]
    rest = [n for n in range(x.ndim) if n not in axes]
    before = sum(1 for n in rest if n < first)
    x = ops.transpose(x, [*rest[:before], *axes, *rest[before:]])
    terms = x.terms
    count = len(axes)
    flat = positions[0]
    for n, more in enumerate(positions[1:], start=1):
        flat = ops.elementwise("add", ops.elementwise("mul", flat, as_size(terms[before + n])), more)
    flat = TracedTensor(ops.broadcast_node(flat.node, shape))
    total = math.prod(terms[before : before + count], start=ix.const(1))
    return ops.reshape(x, (*terms[:before], total, *terms[before + count :])), before, flat


def _one_vector(arrays: _Arrays) -> list[Run] | None:
    """The slices that one vector of known positions chooses."""
    if len(arrays.positions) != 1 or arrays.positions[0].ndim != 1:
        return None
    return runs_inside(arrays.positions[0].node, arrays.base.terms[arrays.axes[0]])


def _run(x: TracedTensor, axis: int, run: Run) -> TracedTensor:
    """The elements of a run along an axis; a view, except of a run that stays where it is."""

    def along(value: Any, others: Sequence[Any]) -> list[Any]:
        return [value if n == axis else other for n, other in enumerate(others)]

    zeros, ones = [ix.const(0)] * x.ndim, [1] * x.ndim
    if run.step == 0:
        one = ops.slice_box(x, along(run.first, zeros), along(ix.const(1), x.terms), ones)
        return ops.broadcast_to(one, tuple(along(run.count, x.terms)))
    return ops.slice_box(x, along(run.first, zeros), along(run.count, x.terms), along(run.step, ones))


def _counting(arrays: _Arrays) -> tuple[_Arrays, int | None]:
    """Of several arrays, one that runs along the first of their axes: its number, in a base that it counts through."""
    if len(arrays.positions) < 2 or not arrays.shape:
        return arrays, None
    sizes = current().sizes
    for n, (axis, p) in enumerate(zip(arrays.axes, arrays.positions, strict=True)):
        line = _along_first(p.node) if p.ndim == len(arrays.shape) else None
        if line is None or sizes.resolve(line.shape[0]) != sizes.resolve(arrays.shape[0]):
            continue
        extent = arrays.base.terms[axis]
        runs = runs_of(line)
        number = sizes.value_of(line.shape[0])
        if runs == [Run(ix.const(0), 1, sizes.resolve(line.shape[0]))] and number == sizes.value_of(extent) is not None:
            sizes.unify(line.shape[0], extent, "an index")
        runs = runs_inside(line, arrays.base.terms[axis])
        if runs is not None and len(runs) == 1 and runs[0].step:
            return replace(arrays, base=_run(arrays.base, axis, runs[0])), n
    return arrays, None


def _along_first(node: Node) -> Node | None:
    """The vector of which an array holds an element along its first axis, and the same along the others."""
    if len(node.shape) == 1:
        return node
    if node.kind == "broadcast" and node.attributes["dims"] == (0,):
        return node.operands[0]
    return None
