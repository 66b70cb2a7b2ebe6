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

from axon_mlir.sim.dtypes import DType, dtype_of
from axon_mlir.sim.failures import Misuse, UnknownName
from axon_mlir.sim.views import Views, reinterpreted
from axon_mlir.targets import Rows

UNWRITTEN, WRITTEN, ACCUMULATED = 0, 1, 2
"""State of an element: never written, written, or written by an instruction that accumulates."""

ON_CHIP = ("sbuf", "psum")

Refuse = Callable[..., NoReturn]
"""Raises a violation: `refuse(message, rule=..., tensor=...)`."""


class SharedSpace(str):
    """HBM that all cores of a launch share."""


class Lifetime:
    """What of a tensor outlives its elements: its description, and the instructions between which it is alive."""

    __slots__ = ("address", "dtype", "first_use", "free_bytes", "last_use", "name", "place", "serial", "shape", "space")

    def __init__(
        self,
        shape: tuple[int, ...],
        dtype: DType,
        space: str,
        name: str,
        serial: int,
        place: tuple[str, int] | None,
        address: tuple[int, int] | None = None,
    ):
        self.shape = shape
        self.dtype = dtype
        self.space = space
        self.name = name
        self.serial = serial
        self.place = place
        self.address = address
        """(first partition, bytes from its start), where the kernel chooses."""
        self.first_use = -1
        self.last_use = -1
        self.free_bytes = prod(shape[1:]) * dtype.itemsize

    def meets(self, other: Lifetime) -> bool:
        """Whether two tensors with addresses share a byte."""
        if self.address is None or other.address is None or self.space != other.space:
            return False
        (p, b), (q, c) = self.address, other.address
        return p < q + other.shape[0] and q < p + self.shape[0] and b < c + other.free_bytes and c < b + self.free_bytes

    @property
    def label(self) -> str:
        """The given name, else the variable that the allocation is assigned to, else a number."""
        if not self.name and self.place is not None:
            assigned = re.match(r"\s*(\w+)\s*(?::[^=]+)?=[^=]", getline(*self.place))
            if assigned:
                return assigned.group(1)
        return self.name or f"#{self.serial}"

    def describe(self) -> str:
        """The tensor in words."""
        place = f" of line {self.place[1]}" if self.place is not None else ""
        shape = ", ".join(map(str, self.shape))
        return f"`{self.label}`{place}, {self.dtype.name}[{shape}] in {self.space}"


class Storage:
    """A tensor's memory: elements and their states."""

    __slots__ = ("_fine", "_states", "data", "dtype", "known", "life", "refuse", "size", "space", "uniform")

    def __init__(
        self,
        data: NDArray[Any],
        life: Lifetime,
        *,
        state: int,
        size: Callable[[int], Any],
        refuse: Refuse,
        known: bool = True,
    ):
        self.data = data
        self.life = life
        self.dtype = life.dtype
        self.space = life.space
        self.uniform: int | None = state
        """The state of all elements, if they have the same."""
        self._states: NDArray[np.uint8] | None = None
        self._fine: NDArray[np.uint8] | None = None
        self.size = size
        self.refuse = refuse
        self.known = known
        """Whether elements have values."""

    def states(self, view: NDArray[Any]) -> NDArray[np.uint8]:
        """The states of the elements that a view of the data shows; to be read."""
        if self._states is None:
            self._states = np.empty(self.data.shape, np.uint8)
        if self.uniform is not None:
            self._states.fill(self.uniform)
        if self._fine is not None or view.itemsize != self.data.itemsize:
            return self._bytes(view).min(axis=-1)
        item = self.data.itemsize
        start = (address(view) - address(self.data)) // item
        return _strided(self._states, start, view.shape, tuple(stride // item for stride in view.strides))

    def _bytes(self, view: NDArray[Any]) -> NDArray[np.uint8]:
        """The states of the bytes of elements, along a last axis. Where bits are seen as another type, bytes count."""
        if self._fine is None:
            assert self._states is not None
            self._fine = np.repeat(self._states.reshape(-1), self.data.itemsize)
        if self.uniform is not None:
            self._fine.fill(self.uniform)
        start = address(view) - address(self.data)
        return _strided(self._fine, start, (*view.shape, view.itemsize), (*view.strides, 1))

    def mark(self, view: NDArray[Any], state: int) -> None:
        """Give the elements that a view shows a state."""
        if self.uniform == state:
            return
        if view.nbytes == self.data.nbytes:
            self.uniform = state
        else:
            states = self.states(view)
            (states if self._fine is None else self._bytes(view))[...] = state
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


class Register:
    """A number that is known only while the kernel runs."""

    __slots__ = ("value",)

    def __init__(self, value: int | None = None):
        self.value = value

    def __repr__(self) -> str:
        return "a register"

    def read(self) -> int:
        """The number."""
        if self.value is None:
            raise Misuse("a register is read before anything is written to it")
        return self.value


class Tensor(Views):
    """A view of a storage, as kernels hold it."""

    __slots__ = ("_facts", "data", "dtype", "indirect", "partition", "storage")

    def __init__(
        self, storage: Storage, data: NDArray[Any], partition: int, dtype: DType | None = None, indirect: bool = False
    ):
        self.storage = storage
        self.data = data
        self.partition = partition
        self.dtype = dtype or storage.dtype
        """What the bits are seen as."""
        self.indirect = indirect
        """An index that is known only while the kernel runs chose what is seen."""
        self._facts: tuple[Any, ...] | None = None

    @staticmethod
    def of(storage: Storage) -> Tensor:
        """The view of a whole storage."""
        given = storage.life.address
        return Tensor(storage, storage.data, 0 if given is None else given[0])

    @property
    def on_chip(self) -> bool:
        """Whether the first axis is the partitions."""
        return self.storage.space in ON_CHIP

    def shown(self, data: NDArray[Any]) -> Tensor:
        """A tensor of the same storage that shows these elements of it."""
        return Tensor(self.storage, data, self.partition, self.dtype, self.indirect)

    def refuse(self, message: str, *, rule: str, accepted: str | None = None) -> NoReturn:
        """Stop the run: the view is not possible."""
        self.storage.refuse(message, rule=rule, tensor=self.storage.describe(), accepted=accepted)

    # What kernels read.

    @property
    def shape(self) -> tuple[Any, ...]:
        size = self.storage.size
        return tuple(size(extent) for extent in self.data.shape)

    @property
    def ndim(self) -> int:
        return self.data.ndim

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
        raise UnknownName(f"tensor attribute `{name}` is not known; accepted: {', '.join(_ATTRIBUTES)}")

    def __iter__(self) -> NoReturn:
        raise Misuse("a tensor cannot be iterated; slice it")

    def __bool__(self) -> NoReturn:
        raise Misuse("a tensor has no truth value while a kernel is traced")

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        raise Misuse("a tensor cannot be assigned to; write it with an instruction")

    def __getitem__(self, key: Any) -> Tensor:
        items: list[Any] = list(key) if isinstance(key, tuple) else [key]  # pyright: ignore[reportUnknownArgumentType]
        data = self.data
        on_chip = self.on_chip
        if Ellipsis in items:
            at = items.index(Ellipsis)
            items[at : at + 1] = [slice(None)] * (data.ndim - len(items) + 1)
        if len(items) > data.ndim:
            self.refuse(f"{len(items)} subscripts on a tensor of rank {data.ndim}", rule="subscript")
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
                    self.refuse(f"index {item} on axis {axis} of extent {extent}", rule="in-bounds")
                if axis == 0 and on_chip:
                    partition += position
                    index.append(slice(position, position + 1))
                else:
                    index.append(position)
            else:
                kind = type(item).__name__
                raise Misuse(f"subscript of type {kind}; accepted: slices, integers, nl.ds, ...")
        if on_chip and all(isinstance(i, int) for i in index[1:]) and len(index) == data.ndim and len(index) > 1:
            # What is seen on chip has two axes at least.
            last = index[-1]
            assert isinstance(last, int)
            index[-1] = slice(last, last + 1)
        return Tensor(self.storage, data[tuple(index)], partition, self.dtype, self.indirect)

    def _range(self, item: slice, extent: int, axis: int, on_chip: bool) -> slice:
        step = 1 if item.step is None else int(item.step)
        start = 0 if item.start is None else int(item.start)
        stop = extent if item.stop is None else int(item.stop)
        if step < 1:
            self.refuse(f"step {step} on axis {axis}", rule="subscript", accepted="a positive step")
        if step != 1 and axis == 0 and on_chip:
            self.refuse(
                f"step {step} over partitions", rule="partition-stride", accepted="consecutive partitions (step 1)"
            )
        start = start + extent if start < 0 else start
        stop = stop + extent if stop < 0 else stop
        if not 0 <= start < stop <= extent:
            self.refuse(
                f"range {start}:{stop} on axis {axis} of extent {extent}",
                rule="in-bounds",
                accepted=f"a range that is not empty and lies within 0:{extent}",
            )
        return slice(start, stop, step)

    def slice(self, dim: int, start: int, end: int, step: int = 1) -> Tensor:
        """A range of one axis."""
        return self[(*(slice(None),) * dim, slice(start, end, step))]

    def select(self, dim: int, index: int | Register | Tensor) -> Tensor:
        """One place of an axis, which is gone then; the place may be known only while the kernel runs."""
        found = self.shown(self.data)
        found.indirect = not isinstance(index, int)
        return found[(*(slice(None),) * dim, index if isinstance(index, int) else dynamic(index))]

    def vector_select(self, dim: int, vector_offset: Tensor) -> Rows:
        """For each partition the place of the first axis that its element of an index says."""
        shape = self.data.shape
        if not self.is_contiguous():
            self.refuse("rows of a tensor whose elements do not lie one after the other", rule="vector-offset")
        row = prod(shape[1:])
        return self._rows([[row, vector_offset.data.shape[0]], [1, row]], self.offset, vector_offset, dim)

    def view(self, dtype: Any) -> Tensor:
        """The same bits as another type; the last axis is longer or shorter then."""
        kind = dtype_of(dtype)
        data = reinterpreted(self.data, self.dtype.numpy, kind.numpy)
        if data is None:
            self.refuse(
                f"{self.dtype.name} as {kind.name}: the last axis is not contiguous, or no multiple of it",
                rule="view",
                accepted=f"{kind.itemsize} contiguous bytes for each element",
            )
        return Tensor(self.storage, data, self.partition, kind, self.indirect)

    reinterpret_cast = view

    def is_indirect(self) -> bool:
        """Whether an index that is known only while the kernel runs chooses what is seen."""
        return self.indirect

    @property
    def offset(self) -> int:
        """Elements from the start of the storage."""
        return (address(self.data) - address(self.storage.data)) // self.data.itemsize

    def ap(
        self,
        pattern: Sequence[Sequence[int]],
        offset: int | None = None,
        scalar_offset: Register | Tensor | None = None,
        vector_offset: Tensor | None = None,
        indirect_dim: int = 0,
        dtype: Any = None,
    ) -> Tensor | Rows:
        """The view that an access pattern of (stride, count) pairs over the raw storage describes; with an index, the
        rows that it chooses.

        `scalar_offset` is added in units of the tensor's own stride of `indirect_dim`.
        """
        start = 0 if offset is None else int(offset)
        if vector_offset is not None:
            if scalar_offset is not None or dtype is not None:
                raise Misuse("`.ap` with `vector_offset` takes no `scalar_offset` and no `dtype`")
            return self._rows(pattern, start, vector_offset, indirect_dim)
        if indirect_dim != 0 and scalar_offset is None:
            raise Misuse("`.ap(..., indirect_dim=)` without an index; accepted: scalar_offset, vector_offset")
        if self.offset != 0:
            # One page of the reference adds a view's offset, another ignores it.
            self.refuse(
                "an access pattern on a view that begins elsewhere than its tensor",
                rule="pattern-base",
                accepted="`.ap` of a whole tensor",
            )
        storage = self.storage
        if scalar_offset is not None:
            start += dynamic(scalar_offset) * self.strides[indirect_dim]
        kind = self.dtype if dtype is None else dtype_of(dtype)
        base = storage.data if kind is storage.dtype else reinterpreted(storage.data, storage.dtype.numpy, kind.numpy)
        if base is None:
            self.refuse(f"{storage.dtype.name} as {kind.name}", rule="view", accepted="rows of whole elements")
        pairs = [(int(stride), int(count)) for stride, count in pattern]
        if any(count < 1 for _, count in pairs) or not pairs:
            self.refuse(f"pattern {pairs} has a count below 1", rule="in-bounds")
        partition = 0
        if storage.space in ON_CHIP:
            width = prod(base.shape[1:])
            if pairs[0][0] != width:
                self.refuse(
                    f"the partition stride is {pairs[0][0]}", rule="partition-stride", accepted=f"{width} elements"
                )
            partition = start // width + (storage.life.address or (0, 0))[0]
            reach = start % width + sum(stride * (count - 1) for stride, count in pairs[1:] if stride > 0)
            if reach >= width or any(stride < 0 for stride, _ in pairs):
                self.refuse(f"pattern {pairs} at {start} leaves its partitions of {width} elements", rule="in-bounds")
        low = start + sum(stride * (count - 1) for stride, count in pairs if stride < 0)
        high = start + sum(stride * (count - 1) for stride, count in pairs if stride > 0)
        if low < 0 or high >= base.size:
            self.refuse(
                f"pattern {pairs} at {start} touches elements {low} to {high}",
                rule="in-bounds",
                accepted=f"elements 0 to {base.size - 1}",
            )
        counts = tuple(count for _, count in pairs)
        strides = tuple(stride for stride, _ in pairs)
        data = _strided(base, start, counts, strides)
        return Tensor(storage, data, partition, kind, scalar_offset is not None)

    def _rows(self, pattern: Sequence[Sequence[int]], offset: int, index: Tensor, dim: int) -> Rows:
        """Rows of a tensor in HBM: the pattern's first pair counts them, the others say what of a row is taken."""
        shape = self.storage.data.shape
        if self.storage.space in ON_CHIP or dim != 0 or len(pattern) != 2:
            raise Misuse(
                "an index for something else than the first axis of a tensor in HBM, with a pattern of two pairs"
            )
        count, row = int(pattern[0][1]), prod(shape[1:])
        if index.data.shape != (count, 1):
            self.refuse(
                f"an index of shape {list(index.data.shape)} for {count} rows",
                rule="vector-offset",
                accepted=f"[{count}, 1]",
            )
        first = offset // row
        reach = offset % row + int(pattern[1][0]) * (int(pattern[1][1]) - 1)
        if reach >= row:
            self.refuse(f"a pattern that reaches element {reach} of rows of {row}", rule="in-bounds")
        table = self.ap([[row, shape[0] - first], list(pattern[1])], offset)
        return Rows(index, table)

    # What instructions read.

    def facts(self) -> tuple[Any, ...]:
        """What decides which checks hold, hashable: space, type, shape, strides, first partition."""
        if self._facts is None:
            data = self.data
            storage = self.storage
            item = data.itemsize
            strides = tuple(stride // item for stride in data.strides)
            self._facts = (storage.space, self.dtype.name, data.shape, strides, self.partition)
        return self._facts


_ATTRIBUTES = sorted(name for name in dir(Tensor) if not name.startswith("_") and name not in ("of", "shown", "facts"))


def dynamic(value: Register | Tensor) -> int:
    """What a register or a tensor of one integer in SBUF holds."""
    if isinstance(value, Register):
        return value.read()
    if value.data.size != 1 or value.storage.space != "sbuf" or not value.dtype.is_integer:
        value.refuse("as an index", rule="scalar-offset", accepted="one integer in SBUF")
    if value.storage.lowest(value.data) == UNWRITTEN:
        value.refuse("an index that nothing wrote", rule="initialised")
    return integer_of(value)


def integer_of(value: Tensor) -> int:
    """The integer of a tensor of one element; refused in a run without values."""
    if not value.storage.known:
        raise Misuse(
            f"what {value.storage.describe()} holds decides how the kernel goes on, but this run computes no values; "
            "accepted: a run with values"
        )
    return int(value.data.reshape(-1)[0])


def _strided(array: NDArray[Any], start: int, counts: tuple[int, ...], strides: tuple[int, ...]) -> NDArray[Any]:
    """A view of a contiguous array, in elements."""
    item = array.itemsize
    return np.ndarray(counts, array.dtype, array, start * item, tuple(stride * item for stride in strides))


def address(array: NDArray[Any]) -> int:
    """Where an array's first element lies."""
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
