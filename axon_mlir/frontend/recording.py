# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a trace records: a graph of nodes whose shapes stay open until every size is known."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from axon_mlir.frontend.places import Place, here
from axon_mlir.frontend.sizes import SizeTable
from axon_mlir.semantics.index import Index

Shape = tuple[Index, ...]


@dataclass(eq=False)
class Node:
    """One operation of tensor_hl to be; `kind` is its name, or `argument`."""

    kind: str
    operands: tuple[Node, ...]
    shape: Shape
    dtype: str
    attributes: Mapping[str, Any]
    place: Place


@dataclass
class Trace:
    """One run of the user's function."""

    sizes: SizeTable = field(default_factory=SizeTable)
    nodes: list[Node] = field(default_factory=list[Node])

    def record(
        self, kind: str, operands: Sequence[Node], shape: Shape, dtype: str, attributes: Mapping[str, Any] | None = None
    ) -> Node:
        """Append a node; its place is the user's current line."""
        node = Node(kind, tuple(operands), shape, dtype, dict(attributes or {}), here())
        self.nodes.append(node)
        return node

    def shape(self, node: Node) -> Shape:
        """The node's shape as far as it is known now."""
        return tuple(self.sizes.resolve(s) for s in node.shape)


_current: ContextVar[Trace | None] = ContextVar("current_trace", default=None)


def current() -> Trace:
    """The trace that is running."""
    trace = _current.get()
    if trace is None:
        raise RuntimeError("a traced value was used outside its trace")
    return trace


def is_recording() -> bool:
    """Whether a trace is running."""
    return _current.get() is not None


@contextmanager
def recording(trace: Trace) -> Generator[Trace]:
    """Make `trace` the one that traced values record into."""
    token = _current.set(trace)
    try:
        yield trace
    finally:
        _current.reset(token)
