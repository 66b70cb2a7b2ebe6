# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors of a kernel run: storage in a memory space, views of it, and per element whether anything wrote it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from linecache import getline
from math import prod
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from axon_mlir.sim.dtypes import DType
from axon_mlir.sim.failures import Misuse, UnknownName
from axon_mlir.targets import Rows

UNWRITTEN, WRITTEN, ACCUMULATED = 0, 1, 2
"""State of an element: never written, written, or written by an instruction that accumulates."""

ON_CHIP = ("sbuf", "psum")

Refuse = Callable[..., NoReturn]
"""Raises a violation: `refuse(message, rule=..., tensor=...)`."""


class Lifetime:
    """What of a tensor outlives its elements: its description, and the instructions between which it is alive."""

    __slots__ = ("dtype", "first_use", "free_bytes", "last_use", "name", "place", "serial", "shape", "space")

    def __init__(
        self, shape: tuple[int, ...], dtype: DType, space: str, name: str, serial: int, place: tuple[str, int] | None
    ):
        self.shape = shape
        self.dtype = dtype
        self.space = space
        self.name = name
        self.serial = serial
        self.place = place
        self.first_use = -1
        self.last_use = -1
        self.free_bytes = prod(shape[1:]) * dtype.itemsize

    def describe(self) -> str:
        """The tensor in words; its name is the given one, else the variable that the allocation is assigned to."""
        name = self.name
        place = ""
        if self.place is not None:
            path, line = self.place
            place = f" of line {line}"
            if not name:
                assigned = re.match(r"\s*(\w+)\s*(?::[^=]+)?=[^=]", getline(path, line))
                name = assigned.group(1) if assigned else ""
        shape = ", ".join(map(str, self.shape))
        return f"`{name or f'#{self.serial}'}`{place}, {self.dtype.name}[{shape}] in {self.space}"


class Storage:
    """A tensor's memory: elements and their states."""

    __slots__ = ("_states", "data", "dtype", "life", "refuse", "size", "space", "uniform")

    def __init__(self, data: NDArray[Any], life: Lifetime, *, state: int, size: Callable[[int], Any], refuse: Refuse):
        self.data = data
        self.life = life
        self.dtype = life.dtype
        self.space = life.space
        self.uniform: int | None = state
        """The state of all elements, if they have the same."""
        self._states: NDArray[np.uint8] | None = None
        self.size = size
        self.refuse = refuse

    def states(self, view: NDArray[Any]) -> NDArray[np.uint8]:
        """The states of the elements that a view of the data shows; to be read."""
        if self._states is None:
            self._states = np.empty(self.data.shape, np.uint8)
        if self.uniform is not None:
            self._states.fill(self.uniform)
        item = self.data.itemsize
        start = (_address(view) - _address(self.data)) // item
        return _strided(self._states, start, view.shape, tuple(stride // item for stride in view.strides))

    def mark(self, view: NDArray[Any], state: int) -> None:
        """Give the elements that a view shows a state."""
        if self.uniform == state:
            return
        if view.size == self.data.size:
            self.uniform = state
        else:
            self.states(view)[...] = state
            self.uniform = None

    def lowest(self, view: NDArray[Any]) -> int:
        """The lowest state of the elements that a view shows."""
        return int(self.states(view).min()) if self.uniform is None else self.uniform

    def describe(self) -> str:
        """The tensor in words."""
        return self.life.describe()


class DynamicSlice:
    """`nl.ds(start, size)`: a range of a known size."""

    __slots__ = ("size", "start")

    def __init__(self, start: int, size: int):
        self.start = start
        self.size = size


class Tensor:
    """A view of a storage, as kernels hold it."""

    __slots__ = ("_facts", "data", "partition", "storage", "whole")

    def __init__(self, storage: Storage, data: NDArray[Any], partition: int, whole: bool):
        self.storage = storage
        self.data = data
        self.partition = partition
        self.whole = whole
        self._facts: tuple[Any, ...] | None = None

    @staticmethod
    def of(storage: Storage) -> Tensor:
        """The view of a whole storage."""
        return Tensor(storage, storage.data, 0, True)

    # What kernels read.

    @property
    def shape(self) -> tuple[Any, ...]:
        size = self.storage.size
        return tuple(size(extent) for extent in self.data.shape)

    @property
    def ndim(self) -> int:
        return self.data.ndim

    @property
    def dtype(self) -> DType:
        return self.storage.dtype

    @property
    def buffer(self) -> str:
        return self.storage.space

    @property
    def size(self) -> Any:
        return self.storage.size(self.data.size)

    @property
    def name(self) -> str:
        return self.storage.life.name

    def __len__(self) -> int:
        return self.data.shape[0]

    def __repr__(self) -> str:
        return self.storage.describe()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise UnknownName(
            f"tensor attribute `{name}` is not known; accepted: shape, dtype, buffer, ndim, size, name, slices, ap"
        )

    def __iter__(self) -> NoReturn:
        raise Misuse("a tensor cannot be iterated; slice it")

    def __bool__(self) -> NoReturn:
        raise Misuse("a tensor has no truth value while a kernel is traced")

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        raise Misuse("a tensor cannot be assigned to; write it with an instruction")

    def __getitem__(self, key: Any) -> Tensor:
        items: list[Any] = list(key) if isinstance(key, tuple) else [key]  # pyright: ignore[reportUnknownArgumentType]
        data = self.data
        on_chip = self.storage.space in ON_CHIP
        if Ellipsis in items:
            at = items.index(Ellipsis)
            items[at : at + 1] = [slice(None)] * (data.ndim - len(items) + 1)
        if len(items) > data.ndim:
            self._refuse(f"{len(items)} subscripts on a tensor of rank {data.ndim}", rule="subscript")
        index: list[slice | int] = []
        partition = self.partition
        for axis, item in enumerate(items):
            extent = data.shape[axis]
            if isinstance(item, slice):
                part = self._range(item, extent, axis, on_chip)  # pyright: ignore[reportUnknownArgumentType]
                if axis == 0:
                    partition += part.start
                index.append(part)
            elif isinstance(item, DynamicSlice):
                part = self._range(slice(item.start, item.start + item.size), extent, axis, on_chip)
                if axis == 0:
                    partition += part.start
                index.append(part)
            elif isinstance(item, int):
                position = int(item) + extent if item < 0 else int(item)
                if not 0 <= position < extent:
                    self._refuse(f"index {item} on axis {axis} of extent {extent}", rule="in-bounds")
                if axis == 0 and on_chip:
                    partition += position
                    index.append(slice(position, position + 1))
                else:
                    index.append(position)
            else:
                kind = type(item).__name__
                raise Misuse(f"subscript of type {kind}; accepted: slices, integers, nl.ds, ...")
        return Tensor(self.storage, data[tuple(index)], partition, False)

    def _range(self, item: slice, extent: int, axis: int, on_chip: bool) -> slice:
        step = 1 if item.step is None else int(item.step)
        start = 0 if item.start is None else int(item.start)
        stop = extent if item.stop is None else int(item.stop)
        if step < 1:
            self._refuse(f"step {step} on axis {axis}", rule="subscript", accepted="a positive step")
        if step != 1 and axis == 0 and on_chip:
            self._refuse(
                f"step {step} over partitions", rule="partition-stride", accepted="consecutive partitions (step 1)"
            )
        start = start + extent if start < 0 else start
        stop = stop + extent if stop < 0 else stop
        if not 0 <= start < stop <= extent:
            self._refuse(
                f"range {start}:{stop} on axis {axis} of extent {extent}",
                rule="in-bounds",
                accepted=f"a range that is not empty and lies within 0:{extent}",
            )
        return slice(start, stop, step)

    def ap(
        self,
        pattern: Sequence[Sequence[int]],
        offset: int | None = None,
        vector_offset: Tensor | None = None,
        indirect_dim: int = 0,
        **dynamic: Any,
    ) -> Tensor | Rows:
        """The view that an access pattern of (stride, count) pairs over the raw storage describes; with an index, the
        rows that it chooses."""
        for name, value in dynamic.items():
            if value is not None:
                raise Misuse(f"`.ap(..., {name}=)` is not simulated; accepted: pattern, offset, vector_offset")
        if vector_offset is not None:
            return self._rows(pattern, 0 if offset is None else int(offset), vector_offset, indirect_dim)
        if indirect_dim != 0:
            raise Misuse("`.ap(..., indirect_dim=)` without an index; accepted: vector_offset")
        if not self.whole:
            self._refuse("an access pattern on a view", rule="pattern-base", accepted="`.ap` of a whole tensor")
        storage = self.storage
        pairs = [(int(stride), int(count)) for stride, count in pattern]
        start = 0 if offset is None else int(offset)
        if any(count < 1 for _, count in pairs) or not pairs:
            self._refuse(f"pattern {pairs} has a count below 1", rule="in-bounds")
        partition = 0
        if storage.space in ON_CHIP:
            width = prod(storage.data.shape[1:])
            if pairs[0][0] != width:
                self._refuse(
                    f"the partition stride is {pairs[0][0]}", rule="partition-stride", accepted=f"{width} elements"
                )
            partition = start // width
            reach = start % width + sum(stride * (count - 1) for stride, count in pairs[1:] if stride > 0)
            if reach >= width or any(stride < 0 for stride, _ in pairs):
                self._refuse(f"pattern {pairs} at {start} leaves its partitions of {width} elements", rule="in-bounds")
        low = start + sum(stride * (count - 1) for stride, count in pairs if stride < 0)
        high = start + sum(stride * (count - 1) for stride, count in pairs if stride > 0)
        if low < 0 or high >= storage.data.size:
            self._refuse(
                f"pattern {pairs} at {start} touches elements {low} to {high}",
                rule="in-bounds",
                accepted=f"elements 0 to {storage.data.size - 1}",
            )
        counts = tuple(count for _, count in pairs)
        strides = tuple(stride for stride, _ in pairs)
        return Tensor(storage, _strided(storage.data, start, counts, strides), partition, False)

    def _rows(self, pattern: Sequence[Sequence[int]], offset: int, index: Tensor, dim: int) -> Rows:
        """Rows of a tensor in HBM: the pattern's first pair counts them, the others say what of a row is taken."""
        shape = self.storage.data.shape
        if self.storage.space in ON_CHIP or dim != 0 or len(pattern) != 2:
            raise Misuse(
                "an index for something else than the first axis of a tensor in HBM, with a pattern of two pairs"
            )
        count, row = int(pattern[0][1]), prod(shape[1:])
        if index.data.shape != (count, 1):
            self._refuse(
                f"an index of shape {list(index.data.shape)} for {count} rows",
                rule="vector-offset",
                accepted=f"[{count}, 1]",
            )
        first = offset // row
        reach = offset % row + int(pattern[1][0]) * (int(pattern[1][1]) - 1)
        if reach >= row:
            self._refuse(f"a pattern that reaches element {reach} of rows of {row}", rule="in-bounds")
        table = self.ap([[row, shape[0] - first], list(pattern[1])], offset)
        return Rows(index, table)

    def _refuse(self, message: str, *, rule: str, accepted: str | None = None) -> NoReturn:
        self.storage.refuse(message, rule=rule, tensor=self.storage.describe(), accepted=accepted)

    # What instructions read.

    def facts(self) -> tuple[Any, ...]:
        """What decides which checks hold, hashable: space, type, shape, strides, first partition."""
        if self._facts is None:
            data = self.data
            storage = self.storage
            item = data.itemsize
            strides = tuple(stride // item for stride in data.strides)
            self._facts = (storage.space, storage.dtype.name, data.shape, strides, self.partition)
        return self._facts


def _strided(array: NDArray[Any], start: int, counts: tuple[int, ...], strides: tuple[int, ...]) -> NDArray[Any]:
    """A view of a contiguous array, in elements."""
    item = array.itemsize
    return np.ndarray(counts, array.dtype, array, start * item, tuple(stride * item for stride in strides))


def _address(array: NDArray[Any]) -> int:
    return array.__array_interface__["data"][0]


def overlaps(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Does a view visit an element more than once?"""
    axes = sorted((abs(stride), extent) for stride, extent in zip(strides, shape, strict=True) if extent > 1)
    reach = 0
    for stride, extent in axes:
        if stride <= reach:
            break
        reach += stride * (extent - 1)
    else:
        return False
    positions = np.zeros(1, np.int64)
    for stride, extent in axes:
        positions = (positions[:, None] + stride * np.arange(extent)).reshape(-1)
    return np.unique(positions).size != positions.size


def contiguous_rows(shape: tuple[int, ...], strides: tuple[int, ...], *, on_chip: bool) -> int:
    """How many contiguous runs a view consists of; on chip, partitions never join."""
    run = 1
    for axis in range(len(shape) - 1, -1 if not on_chip else 0, -1):
        if shape[axis] == 1:
            continue
        if strides[axis] != run:
            break
        run *= shape[axis]
    return prod(shape) // run
