# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a kernel asks of the engines: its instructions in source order, what each is, and what it reads and writes.

A trace holds no values. It is made by executing a kernel, or from anything else that knows instructions and tiles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Generation = Literal["hardware", "software", "static"]
"""How the descriptors of a DMA are made: by the issuing queue's hardware, by GpSimd's software, or before the run."""

Box = tuple[int, int, int, int]
"""Rows from and to, bytes of a row from and to: of partitions on chip, of the innermost axis in HBM."""


@dataclass(frozen=True)
class Transfer:
    """What a DMA moves: for each of the DMA engines that take part its number, descriptors and bytes."""

    load: bool
    """Into SBUF."""
    parts: tuple[tuple[int, int, int], ...]
    descriptors: int
    made: Generation | None = None
    """How its descriptors are made, where the kernel says so."""

    @property
    def size(self) -> int:
        """Bytes in all."""
        return sum(size for _, _, size in self.parts)


@dataclass(frozen=True)
class Work:
    """What all instructions of one kind and shape have in common.

    `queue`: the engine that runs it; a DMA's is the one that the kernel asks for, or nothing. `function`: the scalar
    function of an activation. `cycles`: of the engine, in a back-to-back stream, without any start-up. `space`: where
    what it reads lies. `wide`: the elements that stream have four bytes. `rows`: partitions of what streams.
    """

    instruction: str
    queue: str
    function: str = ""
    cycles: float = 0.0
    space: str = "sbuf"
    wide: bool = True
    rows: int = 128
    transfer: Transfer | None = None
    others: tuple[Work, ...] = ()
    """The same on the other engines that may run it, where the kernel leaves that to the compiler."""


class Access(NamedTuple):
    """Part of a tensor."""

    tensor: int
    box: Box

    def meets(self, other: Box) -> bool:
        """Whether two parts of one tensor share a byte."""
        a, b = self.box, other
        return a[0] < b[1] and b[0] < a[1] and a[2] < b[3] and b[2] < a[3]

    def covers(self, other: Box) -> bool:
        """Whether nothing of the other is outside."""
        a, b = self.box, other
        return a[0] <= b[0] and b[1] <= a[1] and a[2] <= b[2] and b[3] <= a[3]


@dataclass(frozen=True)
class Issued:
    """One instruction: the line of the kernel, and the parts of tensors that it reads and writes."""

    work: Work
    line: int
    reads: tuple[Access, ...]
    writes: tuple[Access, ...]


@dataclass(frozen=True)
class Buffer:
    """A tensor: what it is called, its memory, the bytes that it has of a partition, and, where the kernel chooses, its
    first partition and byte."""

    label: str
    space: str
    size: int = 0
    address: tuple[int, int] | None = None


@dataclass
class Trace:
    """Instructions in source order, and the tensors that they touch."""

    issued: list[Issued] = field(default_factory=list[Issued])
    tensors: dict[int, Buffer] = field(default_factory=dict[int, Buffer])


def box_of(start: int, shape: Sequence[int], strides: Sequence[int], item: int, row: int) -> Box:
    """The part of a tensor that a view shows: what lies between its first and last rows, and the bytes within rows.

    All in bytes: `start` from the tensor's first byte, `strides`, `item` of one element, `row` from one row to the
    next.
    """
    low = start + sum(stride * (extent - 1) for stride, extent in zip(strides, shape, strict=True) if stride < 0)
    rows = wide = 0
    for stride, extent in zip(strides, shape, strict=True):
        reach = abs(stride) * (extent - 1)
        if abs(stride) >= row:
            rows += reach // row
            wide += reach % row
        else:
            wide += reach
    first, inside = low // row, low % row
    if inside + wide + item > row:
        last = first + rows + (inside + wide + item - 1) // row
        return first, last + 1, 0, row
    return first, first + rows + 1, inside, inside + wide + item


__all__ = ["Access", "Box", "Buffer", "Generation", "Issued", "Trace", "Transfer", "Work", "box_of"]
