# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays that the steps of a loop fill: each step writes a window at its position, or always the same elements.

Windows of different steps do not overlap, so after the loop the array holds what each step has written. What a step
reads of the array is what it has written itself, what was there before the loop, or, a window back, what the step
before has written (`y[t] = a * y[t - 1] + x[t]`), which is a carried value like others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from axon_mlir.frontend import operations as ops
from axon_mlir.frontend.all_steps import CARRIED, AllSteps, box, from_front
from axon_mlir.frontend.carried import Carried, Solution
from axon_mlir.frontend.recording import Node, current
from axon_mlir.frontend.traced import TracedTensor
from axon_mlir.semantics import index as ix
from axon_mlir.semantics.index import Index, Size, Var


@dataclass(frozen=True)
class Box:
    """A box of elements."""

    offsets: tuple[Index, ...]
    sizes: tuple[Index, ...]
    steps: tuple[int, ...]

    def apart(self, other: Box) -> bool:
        """Whether two boxes have no element in common."""
        at_least = current().sizes.at_least
        for a, n, s, b, m, r in zip(
            self.offsets, self.sizes, self.steps, other.offsets, other.sizes, other.steps, strict=True
        ):
            if at_least(a - b - (m - 1) * r, 1) or at_least(b - a - (n - 1) * s, 1):
                return True
        return False

    def shifted(self, axis: int, by: Index) -> Box:
        """Further along an axis."""
        return replace(self, offsets=tuple(o + by if n == axis else o for n, o in enumerate(self.offsets)))

    def offsets_in(self, other: Box) -> tuple[Index, ...]:
        """Where it begins in another box."""
        return tuple(a - b for a, b in zip(self.offsets, other.offsets, strict=True))

    def inside(self, other: Box) -> bool:
        """Whether it is a part of a box without gaps."""
        at_least = current().sizes.at_least
        return all(s == 1 for s in other.steps) and all(
            at_least(o, 0) and at_least(m - o - self.length(n), 0)
            for n, (o, m) in enumerate(zip(self.offsets_in(other), other.sizes, strict=True))
        )

    def length(self, axis: int) -> Index:
        """How many elements of an axis it spans."""
        return (self.sizes[axis] - 1) * self.steps[axis] + 1


def _box_of(x: Node) -> Box:
    sizes = current().sizes
    offsets = tuple(map(sizes.resolve, x.attributes["offsets"]))
    extents = x.attributes["sizes"] if x.kind == "slice" else x.operands[1].shape
    return Box(offsets, tuple(map(sizes.resolve, extents)), tuple(x.attributes["steps"]))


@dataclass(frozen=True, eq=False)
class Filled:
    """An array with what a step writes, in order; `axis` and `factor` say how the window moves, if it does."""

    carried: Carried
    writes: tuple[Node, ...]
    axis: int | None
    factor: Index
    low: Index
    """Where the window begins at position 0."""

    @property
    def states(self) -> tuple[Node, ...]:
        """The array before the step and after each of the writes."""
        return (self.carried.placeholder, *self.writes)


def filled_by(steps: AllSteps, c: Carried) -> Filled | None:
    """What a step writes into an array, when that is all that it does; None otherwise."""
    writes: list[Node] = []
    x = c.value
    while x.kind == "insert" and x in steps.body:
        writes.insert(0, x)
        x = x.operands[0]
    if x is not c.placeholder or not writes:
        return None
    boxes = [_box_of(w) for w in writes]
    moves = {(n, o.coefficient(steps.position)) for b in boxes for n, o in enumerate(b.offsets) if _moves(steps, o)}
    if not moves:
        alike = all(a == b or a.apart(b) for a in boxes for b in boxes)
        return Filled(c, tuple(writes), None, ix.const(0), ix.const(0)) if alike else None
    if len(moves) > 1 or not all(any(_moves(steps, o) for o in b.offsets) for b in boxes):
        return None
    ((axis, factor),) = moves
    if factor is None:
        return None
    at_least = current().sizes.at_least
    size = factor if at_least(factor, 1) else -factor
    starts = [_at_first(steps, b).offsets[axis] for b in boxes]
    low = next((a for a in starts if all(at_least(b - a, 0) for b in starts)), None)
    if low is None or not all(at_least(low + size - a - b.length(axis), 0) for a, b in zip(starts, boxes, strict=True)):
        # Steps write over each other.
        return None
    return Filled(c, tuple(writes), axis, factor, low)


def _moves(steps: AllSteps, i: Index) -> bool:
    return steps.position in i.symbols()


def _at_first(steps: AllSteps, b: Box) -> Box:
    first: dict[Size | Var, Index] = {steps.position: ix.const(0)}
    return replace(b, offsets=tuple(o.substitute(first) for o in b.offsets))


def read_through(steps: AllSteps, arrays: Sequence[Filled]) -> list[Carried]:
    """Make reads of the arrays reads of what has been written; what has to be carried for that."""
    handed_on: list[Carried] = []
    nodes, order = current().nodes, list[Node]()
    for x in steps.order:
        first = len(nodes)
        for f in arrays:
            if x.kind == "slice" and x.operands[0] in f.states:
                new = _read(steps, f, x, f.states.index(x.operands[0]))
                handed_on += [] if new is None else [new]
        order += [*nodes[first:], x]
    steps.order, steps.body = order, set(order)
    return handed_on


def _read(steps: AllSteps, f: Filled, x: Node, state: int) -> Carried | None:
    """Make one read that of what was written; what it reads of the step before."""
    own = _box_of(x)
    with current().at(x.place):
        written = _written(steps, f, own, state)
    if written is not None:
        x.kind, x.operands, x.attributes = "broadcast", (written,), {"dims": tuple(range(len(x.shape)))}
        return None
    if f.axis is None:
        return _previous(steps, f, x, own) if any(own == _box_of(w) for w in f.writes) else None
    moved = own.shifted(f.axis, f.factor)
    return _previous(steps, f, x, moved) if _in_window(steps, f, moved) else None


def _previous(steps: AllSteps, f: Filled, x: Node, now: Box) -> Carried | None:
    """What the step before has left in a box, which is `now` in this one."""
    what, first = f.carried.what, _at_first(steps, _box_of(x))
    with current().at(x.place):
        value = _written(steps, f, now, len(f.writes))
        start = box(f.carried.start, first.offsets, first.sizes, first.steps)
    if value is None:
        return None
    x.kind, x.operands, x.attributes = CARRIED, (), {"what": what}
    return Carried(what, start, x, value)


def _written(steps: AllSteps, f: Filled, own: Box, state: int) -> Node | None:
    """What stands in a box of the array in one of its states; None where that is not known."""
    if state == 0:
        known = f.axis is not None and _in_window(steps, f, own)
        return box(f.carried.start, own.offsets, own.sizes, own.steps) if known else None
    w = f.writes[state - 1]
    other, value = _box_of(w), w.operands[1]
    if own == other:
        return value
    if own.apart(other):
        return _written(steps, f, own, state - 1)
    if own.inside(other):
        return box(value, own.offsets_in(other), own.sizes, own.steps)
    if other.inside(own):
        before = _written(steps, f, own, state - 1)
        return before and ops.insert(TracedTensor(before), TracedTensor(value), other.offsets_in(own), other.steps).node
    return None


def _in_window(steps: AllSteps, f: Filled, own: Box) -> bool:
    """Whether a box lies in the part of the array that only the step itself writes."""
    assert f.axis is not None
    offset = own.offsets[f.axis]
    if offset.coefficient(steps.position) != f.factor:
        return False
    at_least = current().sizes.at_least
    start = _at_first(steps, own).offsets[f.axis] - f.low
    size = f.factor if at_least(f.factor, 1) else -f.factor
    return at_least(start, 0) and at_least(size - start - own.length(f.axis), 0)


def after_all(solution: Solution, f: Filled) -> Node:
    """The array after the last step."""
    steps, out = solution.steps, f.carried.start
    for w in f.writes:
        with current().at(w.place):
            value, own = w.operands[1], _at_first(steps, _box_of(w))
            if f.axis is None:
                out = _inserted(out, solution.last(value), own)
                continue
            count, number = steps.count, f.factor.constant
            apart = from_front(steps.along(value), f.axis)
            shape = current().shape(apart)
            before, after = shape[: f.axis], shape[f.axis + 2 :]
            length = own.sizes[f.axis]
            if length == f.factor and own.steps[f.axis] == 1:
                whole = ops.reshape(TracedTensor(apart), (*before, count * length, *after)).node
                out = _inserted(out, whole, own)
                continue
            if number is None or length.constant is None:
                steps.refuse(w, f"writing {length} elements, {f.factor} apart,")
            for k in range(length.constant):
                every = tuple(number if n == f.axis else s for n, s in enumerate(own.steps))
                line = _axis_at(apart, f.axis + 1, k)
                out = _inserted(out, line, replace(own, steps=every).shifted(f.axis, ix.const(k * own.steps[f.axis])))
    return out


def _axis_at(x: Node, axis: int, at: int) -> Node:
    """The elements at a position of an axis, which goes."""
    shape = current().shape(x)
    offsets = [ix.const(at if n == axis else 0) for n in range(len(shape))]
    sizes = [ix.const(1) if n == axis else m for n, m in enumerate(shape)]
    return ops.squeeze(TracedTensor(box(x, offsets, sizes, [1] * len(shape))), [axis]).node


def _inserted(base: Node, value: Node, own: Box) -> Node:
    if current().shape(base) == current().shape(value) and all(s == 1 for s in own.steps):
        return value
    return ops.insert(TracedTensor(base), TracedTensor(value), own.offsets, own.steps).node
