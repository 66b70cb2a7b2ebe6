# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels in the interface that NKI had first (`neuronxcc.nki`), recorded as the instructions they ask for.

There instructions return their results, tiles are indexed with grids of integers, and operators work on tiles. A kernel
is run on shapes alone; each function issues the instruction of the current interface that the simulator knows, into the
place that the kernel assigns its result to, or into a fresh tile. What follows is a choice where the old compiler had
one:

* an array of tiles (axes before `par_dim`) is a tensor for each tile;
* `tensor_tensor` runs on the vector engine, `tensor_scalar` on it or the scalar one, whichever has less to do: so rows
  marked `fit` have the engines at work (rope 92 % and mamba 97 % vector; bmm_softmax 49 % scalar);
* zeros in PSUM cost nothing, since the first product that is added overwrites;
* a row repeated over partitions is a product with ones, copied out of PSUM, made once for each tile;
* an operand of `nl.matmul` that must be transposed first is transposed by the matrix engine and copied out of PSUM, at
  each call: as many transposes as the profiler counted for two kernels of zhang677/AccelOpt that call it in a loop;
* the first turn of `nl.loop_reduce` copies, the others run the operator on what is there;
* a quotient is a product with one over the number, or with the reciprocal of the tile;
* loads are issued where they stand: none is moved out of a loop;
* `gelu` is an activation as `silu` is: the simulator does not know what it computes, and it takes as long.
"""

from __future__ import annotations

import importlib.util
import json
import resource
import sys
import traceback
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from math import prod
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from axon_mlir.errors import AxonError
from axon_mlir.host.forks import run_job
from axon_mlir.sim.dtypes import DTYPES, DType, dtype_of
from axon_mlir.sim.elements import elements
from axon_mlir.sim.instructions import bind_instructions
from axon_mlir.sim.limits import limits_of
from axon_mlir.sim.lookalike import ACTIVATIONS, ENUMS, OPERATORS, Kernel, LookAlike, Names, Symbol
from axon_mlir.sim.machine import Machine
from axon_mlir.sim.memory import ON_CHIP, Tensor
from axon_mlir.sim.report import time_report
from axon_mlir.sim.timing import Generation
from axon_mlir.sim.trace import Trace
from axon_mlir.sim.transport import Argument, RandomArray
from axon_mlir.targets import load_device

COLUMNS = 512
"""Columns of a product that fill a bank of PSUM."""
MEMORY_BYTES = 8 << 30
ADDED = object()
"""What `part += value` becomes: the sum is in its place already, and the assignment that follows does nothing."""


class Partitions(int):
    """`nl.par_dim(n)`: the axis that is the partitions."""


class Turn(int):
    """A turn of a loop of the language: the index, and whether it is the first."""

    is_first: bool

    @staticmethod
    def of(*bounds: int) -> Generator[Turn]:
        """All turns of a loop."""
        for n, index in enumerate(range(*bounds)):
            turn = Turn(index)
            turn.is_first = n == 0
            yield turn


# Indices.


@dataclass(frozen=True)
class Mask:
    """Which places of a grid count: for an axis, those before an extent."""

    extents: tuple[tuple[int, int], ...]

    def __and__(self, other: Mask) -> Mask:
        return Mask((*self.extents, *other.extents))

    def cut(self, shape: Sequence[int]) -> tuple[int, ...]:
        """What is left of a shape."""
        left = list(shape)
        for axis, extent in self.extents:
            left[axis] = min(left[axis], extent)
        return tuple(left)


@dataclass(frozen=True)
class Grid:
    """`nl.arange` and what kernels make of it: at each place `start` plus, for each axis, its step times the position.
    Of each axis: extent, step."""

    start: int
    axes: tuple[tuple[int, int], ...]

    def __getitem__(self, key: Any) -> Grid:
        items = iter(self.axes)
        new = [(1, 0) if item is None else next(items) for item in (key if isinstance(key, tuple) else (key,))]
        return Grid(self.start, (*new, *items))

    def __add__(self, other: Any) -> Grid:
        if not isinstance(other, Grid):
            return replace(self, start=self.start + int(other))
        rank = max(len(self.axes), len(other.axes))
        pairs = zip(self._of_rank(rank), other._of_rank(rank), strict=True)
        return Grid(self.start + other.start, tuple((max(n, m), a + b) for (n, a), (m, b) in pairs))

    def __mul__(self, factor: int) -> Grid:
        return Grid(self.start * factor, tuple((n, step * factor) for n, step in self.axes))

    __radd__ = __add__
    __rmul__ = __mul__

    def __neg__(self) -> Grid:
        return self * -1

    def __sub__(self, other: Any) -> Grid:
        return self + -other

    def __rsub__(self, other: Any) -> Grid:
        return -self + other

    def _of_rank(self, rank: int) -> tuple[tuple[int, int], ...]:
        return (*((1, 0),) * (rank - len(self.axes)), *self.axes)

    def __lt__(self, bound: Any) -> Mask:
        apart = self - bound
        moving = [axis for axis, (_, step) in enumerate(apart.axes) if step]
        if len(moving) != 1 or apart.axes[moving[0]][1] < 0:
            raise AxonError("a mask that does not keep the first places of one axis", accepted="start + step * i < n")
        extent, step = apart.axes[moving[0]]
        return Mask(((moving[0], max(0, min(extent, -(apart.start // step)))),))

    def __le__(self, bound: Any) -> Mask:
        return self < bound + 1

    def __gt__(self, bound: Any) -> Mask:
        return -self < -bound

    def __ge__(self, bound: Any) -> Mask:
        return -self <= -bound


# Tiles.


class Operand:
    """What operators and functions of tiles take: an array or a part of one."""

    recorder: Recorder
    dtype: DType

    @property
    def shape(self) -> tuple[int, ...]:
        """Its extents."""
        raise NotImplementedError

    def part(self) -> Part:
        """The elements, all of which have a place now."""
        raise NotImplementedError

    def broadcast_to(self, shape: Sequence[int]) -> Operand:
        """The same elements repeated along axes of extent 1."""
        return self.recorder.broadcast(self, tuple(shape))

    def __add__(self, other: Any) -> Operand:
        return self.recorder.binary("add", self, other)

    def __sub__(self, other: Any) -> Operand:
        return self.recorder.binary("subtract", self, other)

    def __mul__(self, other: Any) -> Operand:
        return self.recorder.binary("multiply", self, other)

    def __truediv__(self, other: Any) -> Operand:
        return self.recorder.divide(self, other)

    def __radd__(self, other: Any) -> Operand:
        return self.recorder.binary("add", other, self)

    def __rsub__(self, other: Any) -> Operand:
        return self.recorder.binary("subtract", other, self)

    def __rmul__(self, other: Any) -> Operand:
        return self.recorder.binary("multiply", other, self)


class Array(Operand):
    """A tensor of the old interface: in HBM, or tiles on chip, one for each place of the axes before the partitions."""

    def __init__(self, recorder: Recorder, shape: tuple[int, ...], dtype: DType, blocks: int, tiles: list[Tensor]):
        self.recorder = recorder
        self.dtype = dtype
        self.blocks = blocks
        """How many axes come before the partitions."""
        self._shape = shape
        self._tiles = tiles
        self.repeated: dict[tuple[int, ...], Operand] = {}
        """What it is, repeated over partitions: until it is written again."""
        self.views: dict[Any, Tensor] = {}
        """Its parts that have been looked at."""

    @property
    def shape(self) -> tuple[int, ...]:
        return self._shape

    @property
    def tiles(self) -> list[Tensor]:
        """Its tensors, in the order of their places."""
        return self._tiles

    def part(self) -> Part:
        return self[...]

    def reshape(self, shape: Sequence[int]) -> Array:
        """The same elements in the same order."""
        if self.blocks or prod(shape) != prod(self.shape):
            raise AxonError(f"{list(self.shape)} as {list(shape)}", accepted="as many elements of one tensor")
        return Array(self.recorder, tuple(shape), self.dtype, 0, self.tiles)

    def __getitem__(self, key: Any) -> Part:
        items: list[Any] = list(key) if isinstance(key, tuple) else [key]
        if any(item is Ellipsis for item in items):
            at = next(n for n, item in enumerate(items) if item is Ellipsis)
            items[at : at + 1] = [slice(None)] * (len(self.shape) - len(items) + 1)
        items += [slice(None)] * (len(self.shape) - len(items))
        block = 0
        for item, extent in zip(items[: self.blocks], self.shape, strict=False):
            if not isinstance(item, int | np.integer) or not 0 <= item < extent:
                raise AxonError(f"tile {item} of {extent}", accepted="one tile: a number for each axis before par_dim")
            block = block * extent + int(item)
        return Part.of(self, self.tiles[block], self.shape[self.blocks :], items[self.blocks :])

    def __setitem__(self, key: Any, value: Any) -> None:
        if value is not ADDED:
            self.recorder.assign(self[key], value)

    def __iadd__(self, value: Any) -> Array:
        self.recorder.accumulate(self[...], value)
        return self


class Value(Array):
    """What an instruction returns. It is issued when its result is assigned to a place, or else, into a fresh tile,
    when the result is used or the next instruction comes."""

    def __init__(
        self,
        recorder: Recorder,
        shape: tuple[int, ...],
        dtype: DType,
        space: str,
        issue: Callable[..., None],
        adds: bool = False,
    ):
        super().__init__(recorder, shape, dtype, 0, [])
        self.space = space
        self.issue = issue
        self.adds = adds
        """It can add to its place: a product."""
        self.place: Part | None = None

    @property
    def is_issued(self) -> bool:
        return self.place is not None

    def settle(self, place: Part | None = None, **how: Any) -> Part:
        """Issue the instruction, unless it has been."""
        if self.place is None:
            if place is None:
                shape = self.shape if len(self.shape) > 1 else (*self.shape, 1)
                place = self.recorder.fresh(shape, self.dtype, self.space).part()
            self.place = place
            self.issue(place, **how)
        return self.place

    @property
    def tiles(self) -> list[Tensor]:
        place = self.settle()
        if not place.is_whole:
            raise AxonError("a part of a result that was assigned to a part of a tile", accepted="a part of the tile")
        return [place.whole]

    def part(self) -> Part:
        return self.settle()


@dataclass(frozen=True, eq=False)
class Part(Operand):
    """Elements of one tensor: where the first lies, and for each axis its extent and stride; in elements."""

    array: Array
    whole: Tensor
    offset: int
    axes: tuple[tuple[int, int], ...]
    ends: tuple[tuple[int, tuple[tuple[int, int], ...], int], ...]
    """For each axis of the tensor first index, extents and steps, and the tensor's extent: to check once masked."""

    @staticmethod
    def of(array: Array, whole: Tensor, shape: Sequence[int], items: Sequence[Any]) -> Part:
        """The part that subscripts choose."""
        ranges = sum(isinstance(item, slice) for item in items)
        grids = [item for item in items if isinstance(item, Grid)]
        if ranges and grids:
            raise AxonError("ranges and grids in one subscript", accepted="either")
        rank = max((len(grid.axes) for grid in grids), default=ranges)
        extents, strides = [1] * rank, [0] * rank
        ends: list[tuple[int, tuple[tuple[int, int], ...], int]] = []
        offset, stride, seen = 0, prod(shape), 0
        for item, extent in zip(items, shape, strict=True):
            stride //= extent
            if isinstance(item, slice):
                start, stop, step = item.indices(extent)
                axes = [(1, 0)] * rank
                axes[seen] = len(range(start, stop, step)), step
                seen += 1
                item = Grid(start, tuple(axes))
            elif not isinstance(item, Grid):
                item = Grid(int(item), ())
            offset += item.start * stride
            aligned = (*((1, 0),) * (rank - len(item.axes)), *item.axes)
            ends.append((item.start, aligned, extent))
            for axis, (n, step) in enumerate(aligned):
                extents[axis] = max(extents[axis], n)
                strides[axis] += step * stride
        return Part(array, whole, offset, tuple(zip(extents, strides, strict=True)), tuple(ends))

    @property
    def recorder(self) -> Recorder:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.array.recorder

    @property
    def dtype(self) -> DType:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.array.dtype

    @property
    def space(self) -> str:
        return self.whole.storage.space

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(extent for extent, _ in self.axes)

    @property
    def is_whole(self) -> bool:
        return self.offset == 0 and prod(self.shape) == self.whole.data.size

    def part(self) -> Part:
        return self

    def __iadd__(self, value: Any) -> Any:
        self.recorder.accumulate(self, value)
        return ADDED

    def cut(self, extents: Sequence[int]) -> Part:
        """The first places of each axis."""
        axes = tuple((min(n, extent), stride) for (n, stride), extent in zip(self.axes, extents, strict=True))
        ends = tuple(
            (start, tuple((min(n, e), step) for (n, step), e in zip(own, extents, strict=True)), extent)
            for start, own, extent in self.ends
        )
        return replace(self, axes=axes, ends=ends)

    def tensor(self) -> Tensor:
        """The view of the simulator's tensor, of rank 2 at least, partitions first on chip."""
        key = id(self.whole), self.offset, self.axes
        found = self.array.views.get(key)
        if found is None:
            found = self.array.views[key] = self._viewed()
        return found

    def _viewed(self) -> Tensor:
        for start, axes, extent in self.ends:
            reach = [step * (n - 1) for n, step in axes]
            low, high = start + sum(r for r in reach if r < 0), start + sum(r for r in reach if r > 0)
            if low < 0 or high >= extent:
                raise AxonError(f"indices {low} to {high} of an axis of {extent}", where=self.recorder.machine.where())
        pattern = [[stride, extent] for extent, stride in self.axes]
        if self.space in ON_CHIP:
            width = prod(self.whole.data.shape[1:])
            if not pattern or (pattern[0][0] != width and pattern[0][1] != 1):
                pattern.insert(0, [width, 1])
            pattern[0][0] = width
        while len(pattern) < 2:
            pattern.append([1, 1])
        found = self.whole.ap(pattern, self.offset)
        assert isinstance(found, Tensor)
        return found


# The recorder.


class Recorder:
    """One kernel's run on shapes. Its methods are functions of the language and of the instruction module."""

    def __init__(self, machine: Machine, instructions: Mapping[str, Callable[..., Any]]):
        self.machine = machine
        self.instructions = instructions
        self.symbols = {name: Symbol(f"nl.{name}") for name in (*OPERATORS, *ACTIVATIONS)}
        self.symbols |= {"max": self.symbols["maximum"], "min": self.symbols["minimum"]}
        self.symbols |= {"gelu": self.symbols["silu"], "sum": self.symbols["add"]}
        self.commuting = {self.symbols[name].text for name in ("add", "multiply", "maximum", "minimum")}
        self.waiting: Value | None = None
        """The result whose place is not known yet."""
        self.ones: dict[tuple[str, int], Part] = {}

    # What all are made of.

    def isa(self, name: str, **arguments: Any) -> None:
        """Issue an instruction on parts."""
        if isinstance(dst := arguments.get("dst"), Part):
            dst.array.repeated.clear()
        engine = arguments.pop("engine", None)
        if engine is not None:
            arguments["engine"] = engine if isinstance(engine, Symbol) else Symbol(f"nisa.engine.{engine}")
        self.instructions[name](**{key: _argument(value) for key, value in arguments.items() if value is not None})

    def masked(self, mask: Mask | None, name: str, **arguments: Any) -> None:
        """Issue an instruction on those places of its parts that count."""
        if mask is not None:
            left = mask.cut(arguments["dst"].shape)
            if not prod(left):
                return
            arguments = {key: _cut(value, left) for key, value in arguments.items()}
        self.isa(name, **arguments)

    def value(self, shape: Sequence[int], dtype: Any, issue: Callable[..., None], **more: Any) -> Value:
        """The result of the next instruction."""
        self.settle()
        self.waiting = Value(self, tuple(shape), dtype_of(dtype), more.pop("space", "sbuf"), issue, **more)
        return self.waiting

    def settle(self) -> None:
        """Issue what waits."""
        if self.waiting is not None:
            self.waiting.settle()
            self.waiting = None

    def read(self, value: Any) -> Any:
        """An operand: a part that something has written or will have, or a number."""
        if isinstance(value, Operand):
            return value.part()
        return value.item() if isinstance(value, np.generic) else value

    def fresh(self, shape: Sequence[int], dtype: Any, space: str) -> Array:
        """A new tensor, or tiles."""
        at = next((n for n, extent in enumerate(shape) if isinstance(extent, Partitions)), 0)
        blocks = at if space in ON_CHIP else 0
        own = tuple(int(extent) for extent in shape)
        tile = own[blocks:] if len(own) > blocks + 1 or space not in ON_CHIP else (*own[blocks:], 1)
        tiles = [self.machine.allocate(tile, dtype, space) for _ in product(*map(range, own[:blocks]))]
        return Array(self, own, dtype_of(dtype), blocks, tiles)

    def assign(self, place: Part, value: Any) -> None:
        """`tile[...] = value`: an instruction writes its result there, anything else is copied."""
        if isinstance(value, Value) and not value.is_issued:
            value.settle(place)
            return
        if isinstance(value, Operand):
            self.settle()
            self.isa("tensor_copy", dst=place, src=self.read(value))
        else:
            self.settle()
            self.isa("memset", dst=place, value=float(value))

    def accumulate(self, place: Part, value: Any) -> None:
        """`tile[...] += value`: a product adds to its place in PSUM."""
        if isinstance(value, Value) and value.adds and not value.is_issued and place.space == "psum":
            value.settle(place, accumulate=None)
            return
        self.binary("add", place, value).settle(place)

    # Memory.

    def ndarray(self, shape: Sequence[int], dtype: Any, buffer: str = "sbuf", **_: Any) -> Array:
        """A new tensor."""
        return self.fresh(shape, dtype, buffer)

    def zeros(self, shape: Sequence[int], dtype: Any, buffer: str = "sbuf", **_: Any) -> Array:
        """Zeros; in PSUM nothing is written."""
        return self.full(shape, 0, dtype, buffer)

    def full(self, shape: Sequence[int], fill_value: Any, dtype: Any, buffer: str = "sbuf", **_: Any) -> Array:
        """One number everywhere."""
        self.settle()
        out = self.fresh(shape, dtype, buffer)
        number = self.read(fill_value)
        if buffer == "sbuf" or (buffer == "psum" and number):
            for block in product(*map(range, out.shape[: out.blocks])):
                self.isa("memset", dst=out[(*block, ...)], value=number)
        return out

    def shared_constant(self, constant: Any, **_: Any) -> Array:
        """An array in HBM."""
        return self.argument(RandomArray(np.asarray(constant).dtype.name, np.asarray(constant).shape), "constant")

    def argument(self, value: Any, name: str) -> Any:
        """What the caller gives: a tensor in HBM, or a number."""
        if not isinstance(value, RandomArray):
            return value
        tensor = self.machine.argument(value.empty(), dtype_of(value.dtype), name)
        return Array(self, value.shape, dtype_of(value.dtype), 0, [tensor])

    def load(self, src: Operand, *, mask: Mask | None = None, dtype: Any = None, **_: Any) -> Value:
        """A tile with what lies in HBM."""
        part = src.part()

        def issue(dst: Part) -> None:
            left = part.shape if mask is None else mask.cut(part.shape)
            if prod(left):
                place = dst.cut(left) if len(dst.axes) == len(left) else dst
                self.isa("dma_copy", dst=place, src=part.cut(left))

        return self.value(part.shape, dtype or part.dtype, issue)

    def store(self, dst: Operand, value: Operand, *, mask: Mask | None = None, **_: Any) -> None:
        """A tile to HBM."""
        self.settle()
        place, part = dst.part(), self.read(value)
        if part.space == "psum":
            part = self.copy(part).settle()
        left = place.shape if mask is None else mask.cut(place.shape)
        if prod(left):
            self.isa("dma_copy", dst=place.cut(left), src=part.cut(left) if mask is not None else part)

    def load_transpose2d(self, src: Operand, *, dtype: Any = None, **_: Any) -> Value:
        """A tile with the transpose of what lies in HBM, by DMA."""
        part = src.part()
        rows, columns = part.shape

        def issue(dst: Part) -> None:
            self.isa("dma_transpose", dst=dst, src=part)

        return self.value((columns, rows), dtype or part.dtype, issue)

    def copy(self, x: Operand, dtype: Any = None, mask: Mask | None = None, **_: Any) -> Value:
        """The same elements in another place."""
        return self.tensor_copy(x, dtype=dtype, mask=mask)

    def broadcast(self, x: Operand, shape: tuple[int, ...]) -> Operand:
        """A row on each partition: a product with ones. Along other axes elements are read again."""
        part = self.read(x)
        if part.shape[0] == shape[0]:
            axes = tuple((n, stride if n == m else 0) for n, (m, stride) in zip(shape, part.axes, strict=True))
            return replace(part, axes=axes, ends=())
        if part.shape != (1, *shape[1:]) or len(shape) != 2:
            raise AxonError(f"{list(part.shape)} broadcast to {list(shape)}", accepted="[1, n] to [partitions, n]")
        known = part.array.repeated if part.is_whole else {}
        if shape not in known:
            ones = self._ones(part.dtype, shape[0])

            def issue(dst: Part) -> None:
                for first in range(0, shape[1], COLUMNS):
                    columns = slice(first, min(first + COLUMNS, shape[1]))
                    bank = self.fresh((shape[0], columns.stop - first), "float32", "psum").part()
                    moving, place = _columns(part, columns), _columns(dst, columns)
                    self.isa("nc_matmul", dst=bank, stationary=ones, moving=moving, accumulate=False)
                    self.isa("tensor_copy", dst=place, src=bank)

            known[shape] = self.value(shape, part.dtype, issue)
        return known[shape]

    def _ones(self, dtype: DType, count: int) -> Part:
        if (dtype.name, count) not in self.ones:
            self.settle()
            row = self.ones[dtype.name, count] = self.fresh((1, count), dtype, "sbuf").part()
            self.isa("memset", dst=row, value=1.0)
        return self.ones[dtype.name, count]

    # Functions of tiles.

    def binary(self, op: str, x: Any, y: Any, **how: Any) -> Value:
        """An operator on two tiles, or on a tile and a number or a column."""
        if isinstance(x, Operand) and isinstance(y, Operand) and _is_column(x) == _is_column(y):
            return self.tensor_tensor(x, y, self.symbols[op], **how)
        is_turned = not isinstance(x, Operand) or (isinstance(y, Operand) and _is_column(x))
        tile, other = (y, x) if is_turned else (x, y)
        turned = is_turned and op == "subtract"
        return self.tensor_scalar(tile, op0=self.symbols[op], operand0=other, reverse0=turned, **how)

    def divide(self, x: Operand, y: Any, **how: Any) -> Value:
        """A quotient."""
        return self.binary("multiply", x, self.reciprocal(y) if isinstance(y, Operand) else 1 / y, **how)

    def unary(self, op: str, x: Operand, dtype: Any = None, mask: Mask | None = None, **_: Any) -> Value:
        """A function of a tile."""
        return self.activation(op=self.symbols[op], data=x, dtype=dtype, mask=mask)

    def loop_reduce(
        self,
        x: Operand,
        op: Any,
        loop_indices: Sequence[Any],
        *,
        dtype: Any = None,
        mask: Mask | None = None,
        **_: Any,
    ) -> Value:
        """What is there and a tile, by an operator; in the first turn of the loops the tile."""
        if not all(isinstance(index, Turn) for index in loop_indices):
            raise AxonError("nl.loop_reduce over no loop of the language", accepted="indices of nl.affine_range")
        part, is_first = self.read(x), all(index.is_first for index in loop_indices)

        def issue(dst: Part) -> None:
            if is_first:
                self.masked(mask, "tensor_copy", dst=dst, src=part)
            else:
                chosen = _operator(op, self.symbols)
                self.masked(mask, "tensor_tensor", dst=dst, data1=dst, data2=part, op=chosen, engine="vector")

        return self.value(part.shape, dtype or part.dtype, issue)

    def reduction(self, op: str, x: Operand, axis: Any, dtype: Any = None, **_: Any) -> Value:
        """A reduction over the last axis."""
        return self.tensor_reduce(self.symbols[op], x, axis=axis, dtype=dtype)

    def matmul(self, x: Operand, y: Operand, *, transpose_x: bool = False, **_: Any) -> Value:
        """A product."""
        return self.nc_matmul(x if transpose_x else self.copy(self.nc_transpose(x)), y)

    # Instructions.

    def nc_matmul(self, stationary: Operand, moving: Operand, *, is_transpose: bool = False, **_: Any) -> Value:
        """A product in PSUM; with an identity as moving operand, a transpose."""
        left, right = self.read(stationary), self.read(moving)
        shape = left.shape[1], right.shape[1]

        def multiply(dst: Part, accumulate: bool | None = False) -> None:
            self.isa("nc_matmul", dst=dst, stationary=left, moving=right, accumulate=accumulate)

        def transpose(dst: Part) -> None:
            self.isa("nc_transpose", dst=dst, data=left, engine="tensor")

        if is_transpose:
            return self.value(shape, left.dtype, transpose, space="psum")
        return self.value(shape, "float32", multiply, space="psum", adds=True)

    def nc_transpose(self, data: Operand, *, dtype: Any = None, engine: Any = None, **_: Any) -> Value:
        """A transpose: on the matrix engine into PSUM, unless the kernel says otherwise."""
        part = self.read(data)
        vector = engine is not None and engine.text.endswith("vector")

        def issue(dst: Part) -> None:
            self.isa("nc_transpose", dst=dst, data=part, engine="vector" if vector else "tensor")

        return self.value(part.shape[::-1], dtype or part.dtype, issue, space="sbuf" if vector else "psum")

    def memset(
        self, shape: Sequence[int], value: Any, dtype: Any, *, mask: Mask | None = None, engine: Any = None, **_: Any
    ) -> Value:
        """One number everywhere."""
        number = self.read(value)

        def issue(dst: Part) -> None:
            self.masked(mask, "memset", dst=dst, value=number, engine=engine)

        return self.value(shape, dtype, issue)

    def tensor_copy(
        self, src: Operand, *, dtype: Any = None, engine: Any = None, mask: Mask | None = None, **_: Any
    ) -> Value:
        """A copy."""
        part = self.read(src)

        def issue(dst: Part) -> None:
            self.masked(mask, "tensor_copy", dst=dst, src=part, engine=engine)

        return self.value(part.shape, dtype or part.dtype, issue)

    def activation(
        self,
        op: Any,
        data: Operand,
        *,
        bias: Any = None,
        scale: Any = None,
        dtype: Any = None,
        reduce_op: Any = None,
        reduce_res: Operand | None = None,
        reduce_cmd: Any = None,
        mask: Mask | None = None,
        **_: Any,
    ) -> Value:
        """A function on the scalar engine."""
        part, given, factor = self.read(data), self.read(bias), self.read(scale)
        sums: dict[str, Any] = {}
        if reduce_res is not None:
            sums = {"reduce_op": _operator(reduce_op, self.symbols), "reduce_res": reduce_res.part()}
            sums["reduce_cmd"] = reduce_cmd or Symbol("nisa.reduce_cmd.reset_reduce")

        def issue(dst: Part) -> None:
            function = _operator(op, self.symbols)
            self.masked(mask, "activation", dst=dst, op=function, data=part, bias=given, scale=factor, **sums)

        return self.value(part.shape, dtype or part.dtype, issue)

    def activation_reduce(self, op: Any, data: Operand, **given: Any) -> Value:
        """A function and its sum."""
        return self.activation(op, data, **given)

    def tensor_tensor(
        self, data1: Operand, data2: Operand, op: Any, *, dtype: Any = None, mask: Mask | None = None, **_: Any
    ) -> Value:
        """An operator on two tiles."""
        left, right = self.read(data1), self.read(data2)
        wider = max(left.dtype, right.dtype, key=lambda kind: kind.itemsize)

        def issue(dst: Part) -> None:
            chosen = _operator(op, self.symbols)
            self.masked(mask, "tensor_tensor", dst=dst, data1=left, data2=right, op=chosen, engine="vector")

        return self.value(left.shape, dtype or wider, issue)

    def tensor_scalar(self, data: Operand, op0: Any, operand0: Any, *, dtype: Any = None, **more: Any) -> Value:
        """One or two operators on a tile and numbers or columns."""
        part, first, second = self.read(data), self.read(operand0), self.read(more.get("operand1"))
        op1 = None if more.get("op1") is None else _operator(more["op1"], self.symbols)
        # Operators that commute have no sides: so the scalar engine, which has no reversed forms, may run them too.
        sides = {"reverse0": _operator(op0, self.symbols), "reverse1": op1}
        reversed_ = {
            name: True for name, op in sides.items() if op and more.get(name) and op.text not in self.commuting
        }
        engine, mask = more.get("engine"), more.get("mask")

        def issue(dst: Part) -> None:
            arguments = {"op0": _operator(op0, self.symbols), "operand0": first, "op1": op1, "operand1": second}
            self.masked(mask, "tensor_scalar", dst=dst, data=part, **arguments, **reversed_, engine=engine)

        return self.value(part.shape, dtype or part.dtype, issue)

    def scalar_tensor_tensor(
        self, *, data: Operand, op0: Any, operand0: Any, op1: Any, operand1: Operand, dtype: Any = None, **_: Any
    ) -> Value:
        """An operator on a tile and a number or a column, then one with another tile."""
        part, first, second = self.read(data), self.read(operand0), self.read(operand1)
        ops = {"op0": _operator(op0, self.symbols), "op1": _operator(op1, self.symbols)}

        def issue(dst: Part) -> None:
            self.isa("scalar_tensor_tensor", dst=dst, data=part, operand0=first, operand1=second, **ops)

        return self.value(part.shape, dtype or part.dtype, issue)

    def tensor_reduce(
        self, op: Any, data: Operand, axis: Any = 1, *, negate: bool = False, dtype: Any = None, **_: Any
    ) -> Value:
        """A reduction over the free axis."""
        part = self.read(data)
        axes = [axis] if isinstance(axis, int) else list(axis)
        if [n % len(part.shape) for n in axes] != [len(part.shape) - 1]:
            raise AxonError(f"a reduction over axes {axes}", accepted="the last axis")

        def issue(dst: Part) -> None:
            last = len(part.shape) - 1
            self.isa(
                "tensor_reduce", dst=dst, op=_operator(op, self.symbols), data=part, axis=last, negate=negate or None
            )

        shape = part.shape[:-1] if len(part.shape) > 2 else (part.shape[0], 1)
        return self.value(shape, dtype or part.dtype, issue)

    def reciprocal(self, data: Operand, *, dtype: Any = None, mask: Mask | None = None, **_: Any) -> Value:
        """One over each element."""
        part = self.read(data)

        def issue(dst: Part) -> None:
            self.masked(mask, "reciprocal", dst=dst, data=part)

        return self.value(part.shape, dtype or part.dtype, issue)

    def tensor_tensor_scan(
        self, data0: Operand, data1: Operand, *, initial: Any, op0: Any, op1: Any, dtype: Any = None, **_: Any
    ) -> Value:
        """A recurrence along each row."""
        left, right, first = self.read(data0), self.read(data1), self.read(initial)
        ops = {"op0": _operator(op0, self.symbols), "op1": _operator(op1, self.symbols)}

        def issue(dst: Part) -> None:
            self.isa("tensor_tensor_scan", dst=dst, data0=left, data1=right, initial=first, **ops)

        return self.value(left.shape, dtype or left.dtype, issue)

    def dma_copy(self, *, dst: Operand, src: Operand, **_: Any) -> None:
        """A transfer."""
        self.settle()
        self.isa("dma_copy", dst=dst.part(), src=self.read(src))

    # The modules.

    def modules(self) -> dict[str, ModuleType]:
        """The stand-ins that kernels import, by name."""
        functions: dict[str, Callable[..., Any]] = {
            **{name: partial(self.unary, name) for name in (*ACTIVATIONS, "square", "rsqrt", "abs", "relu")},
            **{name: partial(self.binary, name) for name in ("add", "subtract", "multiply", "maximum", "minimum")},
            **{name: partial(self.reduction, name) for name in ("max", "min", "sum")},
            "copy": self.copy,
            "reciprocal": self.reciprocal,
        }
        language: dict[str, Any] = dict(self.symbols)
        for name, function in functions.items():
            # Some names stand for one operator and are functions of their own.
            symbol = language[name] = Symbol(self.symbols[name].text)
            symbol.function = function
        limits = self.machine.limits
        sizes = {
            "pmax": limits.partitions.value,
            "psum_fmax": limits.psum_bank_bytes.value // 4,
            "gemm_stationary_fmax": limits.stationary_free.value,
            "gemm_moving_fmax": limits.moving_free.value,
        }
        own = "ndarray zeros full shared_constant load store load_transpose2d matmul loop_reduce divide".split()
        language |= {name: getattr(self, name) for name in own}
        language |= {name: Turn.of for name in ("affine_range", "sequential_range", "static_range")} | DTYPES
        language |= {"sbuf": "sbuf", "psum": "psum", "hbm": "hbm", "shared_hbm": "hbm", "private_hbm": "hbm"}
        language |= {"par_dim": Partitions, "arange": _arange, "tile_size": Names("nl.tile_size", sizes)}
        issued = (
            "nc_matmul nc_transpose tensor_copy activation activation_reduce tensor_tensor tensor_scalar dma_copy "
            "scalar_tensor_tensor tensor_reduce reciprocal tensor_tensor_scan memset"
        ).split()
        enums = {
            name: Names(f"nisa.{name}", {member: Symbol(f"nisa.{name}.{member}") for member in members})
            for name, members in ENUMS.items()
        }
        nl = LookAlike("neuronxcc.nki.language", "nl", language)
        enums |= {f"{name}_engine": getattr(enums["engine"], name) for name in ENUMS["engine"]}
        nisa = LookAlike("neuronxcc.nki.isa", "nisa", {**enums, **{name: getattr(self, name) for name in issued}})
        typing = LookAlike("neuronxcc.nki.typing", "nt", {"tensor": Names("nt.tensor", {})})
        nki = LookAlike(
            "neuronxcc.nki",
            "nki",
            {"jit": _jit, "trace": _jit, "benchmark": _jit, "language": nl, "isa": nisa, "typing": typing},
        )
        neuronxcc = LookAlike("neuronxcc", "neuronxcc", {"nki": nki})
        return {module.__name__: module for module in (neuronxcc, nki, nl, nisa, typing)}


def _jit(function: Callable[..., Any] | None = None, **_: Any) -> Any:
    return Kernel if function is None else Kernel(function)


def _arange(count: int) -> Grid:
    return Grid(0, ((count, 1),))


def _columns(part: Part, columns: slice) -> Part:
    """Some columns of a part of two axes."""
    rows, (_, stride) = part.axes
    axes = rows, (columns.stop - columns.start, stride)
    return replace(part, offset=part.offset + columns.start * stride, axes=axes, ends=())


def _cut(value: Any, extents: Sequence[int]) -> Any:
    """The first places of a part that has as many axes; anything else as it is."""
    return value.cut(extents) if isinstance(value, Part) and len(value.axes) == len(extents) else value


def _is_column(tile: Operand) -> bool:
    return prod(tile.shape[1:]) == 1


def _operator(op: Any, symbols: Mapping[str, Symbol]) -> Symbol:
    """An operator of the language, or NumPy's of that name."""
    return op if isinstance(op, Symbol) else symbols[op.__name__]


def _argument(value: Any) -> Any:
    """What an instruction of the simulator takes."""
    return value.tensor() if isinstance(value, Part) else value


@contextmanager
def _importable(modules: Mapping[str, ModuleType]) -> Generator[None]:
    """Let kernels import the stand-ins, and put back what was there."""
    saved = {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] == "neuronxcc"}
    sys.modules.update(modules)
    try:
        yield
    finally:
        for name in modules:
            del sys.modules[name]
        sys.modules.update(saved)


def recorded(path: Path, function: str, arguments: Sequence[Argument], device: str) -> Trace:
    """The instructions of a kernel, run in this process."""
    target = load_device(device)
    machine = Machine(limits_of(target), elements("shapes"), str(path), target.generation)
    machine.trace = Trace()
    recorder = Recorder(machine, bind_instructions(machine, target))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with _importable(recorder.modules()):
        spec.loader.exec_module(module)
        kernel = getattr(module, function)
        kernel.function(*(recorder.argument(value, kernel.parameter(n)) for n, value in enumerate(arguments)))
        recorder.settle()
    return machine.trace


# A kernel is somebody else's text: it runs in a process of its own, as a job of `axon_mlir.host.forks`.


def timed(
    path: Path, function: str, arguments: Sequence[Argument], device: str, generation: Generation, timeout: float
) -> Mapping[str, Any]:
    """The report of a kernel's time; AxonError where it cannot be run."""
    described = [[a.dtype, a.shape] if isinstance(a, RandomArray) else a for a in arguments]
    job = json.dumps([str(path), function, described, device, generation])
    ended = run_job(__name__, job, timeout)
    if not ended.answer:
        raise AxonError(f"the kernel's process ended with status {ended.status} and no result", where=str(path))
    answer = json.loads(ended.answer)
    if "error" in answer:
        raise AxonError(answer["error"], where=str(path))
    return answer


def prepare(argument: str) -> None:
    """Load the device, once for all jobs."""
    load_device(json.loads(argument)[3])


def main(argument: str) -> bytes:
    """The report of a job's time, or why there is none."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    path, function, described, device, generation = json.loads(argument)
    arguments = [RandomArray(a[0], tuple(a[1])) if isinstance(a, list) else a for a in described]
    try:
        trace = recorded(Path(path), function, arguments, device)
        report, _ = time_report(trace, load_device(device), generation)
    except AxonError as error:
        return json.dumps({"error": str(error)}).encode()
    except Exception:
        # The kernel's own, or a name that no stand-in has: what it says is all there is to know.
        return json.dumps({"error": traceback.format_exc()}).encode()
    return json.dumps(report.to_json()).encode()


__all__ = ["Recorder", "main", "prepare", "recorded", "timed"]
