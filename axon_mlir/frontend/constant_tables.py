# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays of numbers that a program has at hand, in pieces: constants, counting, pieces after each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from axon_mlir.frontend.element_types import constant, kind
from axon_mlir.frontend.recording import Node, Shape, current
from axon_mlir.frontend.traced import unsupported
from axon_mlir.semantics import index as ix

TABLE_PIECES = 256
"""The most pieces that a constant array may fall into."""


def table(array: np.ndarray[Any, Any], dtype: str) -> Node:
    """A constant array in pieces: one value, evenly spaced integers along one axis, or pieces after each other."""
    if kind(dtype) == 2 and bool(np.any(np.isnan(array.astype(np.float64)))):
        unsupported("not-a-number as a constant", "finite numbers and infinities")
    with np.errstate(invalid="ignore"):
        return _Pieces(dtype).node(array)


class _Pieces:
    def __init__(self, dtype: str):
        self.dtype = dtype
        self.count = 0

    def number(self, value: Any) -> Node:
        dtype = self.dtype
        return constant(bool(value) if dtype == "i1" else int(value) if kind(dtype) == 1 else float(value), dtype)

    def node(self, part: np.ndarray[Any, Any]) -> Node:
        shape = tuple(ix.const(n) for n in part.shape)
        first = part.reshape(-1)[0]
        if bool(np.all(part == first)):
            return _everywhere(self.number(first), shape)
        varying = [n for n in range(part.ndim) if bool(np.any(part != part.take([0], axis=n)))]
        axis = varying[0]
        if len(varying) == 1:
            line = part[tuple(slice(None) if n == axis else 0 for n in range(part.ndim))]
            lengths = self.runs(line)
            if len(lengths) == 1:
                return _spaced(shape, axis, self.number(line[0]), self.number(line[1] - line[0]), self.dtype)
        else:
            same = [bool(np.all(part.take(n, axis) == part.take(n - 1, axis))) for n in range(1, part.shape[axis])]
            ends = [n for n, unchanged in enumerate(same, start=1) if not unchanged]
            lengths = np.diff([0, *ends, part.shape[axis]]).tolist()
        node: Node | None = None
        start = 0
        for length in lengths:
            self.count += 1
            if self.count > TABLE_PIECES:
                unsupported(f"a constant array that falls into more than {TABLE_PIECES} pieces", "an argument")
            more = self.node(part[(slice(None),) * axis + (slice(start, start + length),)])
            node = more if node is None else _joined(node, more, axis)
            start += length
        assert node is not None
        return node

    def runs(self, line: np.ndarray[Any, Any]) -> list[int]:
        """The lengths of runs of equal numbers, and of three or more evenly spaced integers."""
        lengths: list[int] = []
        start = 0
        while start < line.size:
            stop = start + 1
            while stop < line.size and line[stop] == line[start]:
                stop += 1
            if stop == start + 1 < line.size and self.dtype != "i1":
                step = line[stop] - line[start]
                while stop < line.size and line[stop] - line[stop - 1] == step and line[stop] == np.floor(line[stop]):
                    stop += 1
                if stop - start < 3 or line[start] != np.floor(line[start]):
                    stop = start + 1
            lengths.append(stop - start)
            start = stop
        return lengths


def _spaced(shape: Shape, axis: int, first: Node, step: Node, dtype: str) -> Node:
    record = current().record
    node = record("iota", (), shape, dtype, {"axis": axis})
    if step.attributes["value"] != 1:
        node = record("mul", (node, _everywhere(step, shape)), shape, dtype)
    if first.attributes["value"] != 0:
        node = record("add", (node, _everywhere(first, shape)), shape, dtype)
    return node


def _joined(a: Node, b: Node, axis: int) -> Node:
    left, right = current().shape(a), current().shape(b)
    shape = tuple(m + n if k == axis else m for k, (m, n) in enumerate(zip(left, right, strict=True)))
    return current().record("concat", (a, b), shape, a.dtype, {"axis": axis})


def _everywhere(number: Node, shape: Shape) -> Node:
    return current().record("broadcast", (number,), shape, number.dtype, {"dims": ()}) if shape else number
