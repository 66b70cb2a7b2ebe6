# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a trace records: a graph of nodes whose shapes stay open until every size is known."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from axon_mlir.frontend.places import Place, here
from axon_mlir.frontend.sizes import SizeTable, StepByStep
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


@dataclass(eq=False)
class Fence:
    """What the body of a loop records and changes while one step of it stands for all."""

    place: Place
    born: int
    """How many traced arrays there were before."""
    nodes: set[Node] = field(default_factory=set[Node])
    """What nobody may read once the loop is done: it is the value of one step."""
    changed: dict[int, tuple[Any, Node, bool]] = field(default_factory=dict[int, tuple[Any, Node, bool]])
    """id -> an array from outside that the step has assigned to; its node and whether that was weak."""


@dataclass
class Trace:
    """One run of the user's function."""

    sizes: SizeTable = field(default_factory=SizeTable)
    nodes: list[Node] = field(default_factory=list[Node])
    stepwise: Mapping[Place, str] = field(default_factory=dict[Place, str])
    """The loops over sizes that are traced step by step, and why."""
    fences: list[Fence] = field(default_factory=list[Fence])
    """The loops whose bodies are being traced, the innermost last."""
    closed: dict[Node, Place] = field(default_factory=dict[Node, Place])
    """Values of single steps -> the loop that they belong to."""
    _born: int = 0
    _place: Place | None = None

    def record(
        self, kind: str, operands: Sequence[Node], shape: Shape, dtype: str, attributes: Mapping[str, Any] | None = None
    ) -> Node:
        """Append a node; its place is the user's current line."""
        node = Node(kind, tuple(operands), shape, dtype, dict(attributes or {}), self._place or here())
        self.nodes.append(node)
        if self.fences:
            self.fences[-1].nodes.add(node)
            for n in shape:
                position = self.sizes.moving(n)
                if position is not None:
                    raise StepByStep(
                        self.sizes.positions[position].place,
                        f"the shape of a value differs from step to step (line {node.place.line})",
                    )
        return node

    @contextmanager
    def at(self, place: Place) -> Generator[None]:
        """Record for another line than the current one."""
        before, self._place = self._place, place
        try:
            yield
        finally:
            self._place = before

    def born(self) -> int:
        """The number of an array that is made now."""
        self._born += 1
        return self._born

    def changing(self, tensor: Any, born: int, node: Node, weak: bool) -> None:
        """An array is about to be assigned to."""
        for fence in self.fences:
            if born <= fence.born:
                fence.changed.setdefault(id(tensor), (tensor, node, weak))

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
