# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The values that one traced step of a loop makes, for all steps at once.

A step is recorded with its position as an index (`x[:, t]` is a slice at t). Here each of its values that depends on
the position becomes a value with one more axis, the first, along which the steps lie; what does not depend on it stays
what it is. One rule for each operation of tensor_hl says how.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn, cast

from axon_mlir.frontend import operations as ops
from axon_mlir.frontend.places import Place
from axon_mlir.frontend.recording import Node, Shape, current
from axon_mlir.frontend.sizes import StepByStep
from axon_mlir.frontend.traced import TracedTensor
from axon_mlir.semantics import index as ix
from axon_mlir.semantics.functions import FUNCTIONS
from axon_mlir.semantics.index import Index, Size, Var

CARRIED = "carried"
"""The kind of a node that stands for what the steps before have made."""
WINDOW = 64
"""The most elements of a slice that moves by less than its length."""


@dataclass
class AllSteps:
    """The values of a loop's body."""

    place: Place
    position: Var
    count: Index
    order: list[Node]
    """The body, operands first."""
    before: dict[Node, Callable[[], Node]] = field(default_factory=dict[Node, Callable[[], Node]])
    """What a step reads of what the steps before have made -> it at all steps."""
    known: dict[Node, Node] = field(default_factory=dict[Node, Node])
    """A value of one step -> it at all steps."""
    moving: dict[Node, bool] = field(default_factory=dict[Node, bool])

    def __post_init__(self) -> None:
        self.body = set(self.order)

    def add(self, more: Sequence[Node]) -> None:
        """Count more nodes as values of the step."""
        self.order += more
        self.body |= set(more)

    def moves(self, node: Node) -> bool:
        """Whether a value depends on the step."""
        for x in _in_order(node, lambda x: x not in self.moving and x in self.body):
            own = any(self.position in i.symbols() for i in indices_of(x.attributes))
            self.moving[x] = own or x.kind == CARRIED or any(self.moving.get(o, False) for o in x.operands)
        return self.moving.get(node, False)

    def of(self, node: Node) -> Node:
        """A value at all steps; what does not depend on the step, as it is."""
        if not self.moves(node):
            return node
        for x in _in_order(node, lambda x: x not in self.known and self.moves(x)):
            rule = RULES.get(x.kind)
            if rule is None:
                self.refuse(x, f"{x.kind} of what differs from step to step")
            with current().at(x.place):
                self.known[x] = rule(self, x)
        return self.known[node]

    def along(self, node: Node) -> Node:
        """A value with the axis of the steps in front, also if it is the same at each."""
        x = self.of(node)
        if self.moves(node):
            return x
        shape = current().shape(x)
        return broadcast(x, (self.count, *shape), range(1, len(shape) + 1))

    def shape(self, node: Node) -> Shape:
        """The shape at all steps."""
        return (self.count, *current().shape(node))

    def refuse(self, node: Node, why: str) -> NoReturn:
        """Raise: the loop cannot be taken as a whole."""
        raise StepByStep(self.place, f"{why} (line {node.place.line})")


def indices_of(value: Any) -> list[Index]:
    """The index terms among the attributes of a node."""
    if isinstance(value, Index):
        return [value]
    if isinstance(value, Mapping):
        return [i for v in cast("Mapping[str, Any]", value).values() for i in indices_of(v)]
    return [i for v in cast("tuple[Any, ...]", value) for i in indices_of(v)] if isinstance(value, tuple) else []


def _in_order(node: Node, wanted: Callable[[Node], bool]) -> list[Node]:
    """The nodes that a node is made of and that are wanted, operands first; what is not wanted is not looked into."""
    out: list[Node] = []
    seen: set[Node] = set()
    stack = [(node, False)]
    while stack:
        x, done = stack.pop()
        if done:
            out.append(x)
        elif x not in seen and wanted(x):
            seen.add(x)
            stack.append((x, True))
            stack.extend((o, False) for o in x.operands)
    return out


# -- nodes -------------------------------------------------------------------------------------------------------------


def broadcast(x: Node, shape: Shape, dims: Sequence[int]) -> Node:
    """Repeat: axis i becomes axis dims[i]."""
    return current().record("broadcast", (x,), shape, x.dtype, {"dims": tuple(dims)})


def to_front(x: Node, axis: int) -> Node:
    """Put an axis in front of the others."""
    order = [axis, *(n for n in range(len(x.shape)) if n != axis)]
    return ops.transpose(TracedTensor(x), order).node


def from_front(x: Node, axis: int) -> Node:
    """Put the first axis elsewhere."""
    order = list(range(1, len(x.shape)))
    order.insert(axis, 0)
    return ops.transpose(TracedTensor(x), order).node


def box(x: Node, offsets: Sequence[Index], sizes: Sequence[Index], steps: Sequence[int]) -> Node:
    """A box of elements."""
    return ops.slice_box(TracedTensor(x), offsets, sizes, steps).node


def expand(x: Node, axis: int) -> Node:
    """Insert an axis of one element."""
    return ops.expand(TracedTensor(x), [axis]).node


def part(x: Node, first: Index | int, count: Index | int) -> Node:
    """Some of the steps."""
    shape = current().shape(x)
    zeros = [ix.const(0)] * (len(shape) - 1)
    return box(x, [ix.index(first), *zeros], [ix.index(count), *shape[1:]], [1] * len(shape))


def one(x: Node, at: Index) -> Node:
    """The value of one step."""
    return ops.squeeze(TracedTensor(part(x, at, 1)), [0]).node


# -- rules -------------------------------------------------------------------------------------------------------------

Rule = Callable[[AllSteps, Node], Node]
RULES: dict[str, Rule] = {}
"""Kind of a node -> the node for all steps."""


def _rule(*kinds: str) -> Callable[[Rule], Rule]:
    def register(rule: Rule) -> Rule:
        RULES.update(dict.fromkeys(kinds, rule))
        return rule

    return register


def _shifted(s: AllSteps, node: Node, **attributes: Any) -> Node:
    """The same operation on operands that all have the axis in front."""
    operands = [s.along(o) for o in node.operands]
    return current().record(node.kind, operands, s.shape(node), node.dtype, {**node.attributes, **attributes})


@_rule(*(f.name for f in FUNCTIONS.values()), "compare", "select", "cast", "truncate")
def _elementwise(s: AllSteps, node: Node) -> Node:
    return _shifted(s, node)


@_rule("concat", "repeat", "tile", "scan", "affine_scan")
def _along_an_axis(s: AllSteps, node: Node) -> Node:
    return _shifted(s, node, axis=node.attributes["axis"] + 1)


@_rule("reduce", "squeeze")
def _over_axes(s: AllSteps, node: Node) -> Node:
    return _shifted(s, node, axes=tuple(a + 1 for a in node.attributes["axes"]))


@_rule("reshape")
def _reshape(s: AllSteps, node: Node) -> Node:
    return _shifted(s, node)


@_rule("broadcast")
def _broadcast(s: AllSteps, node: Node) -> Node:
    return _shifted(s, node, dims=(0, *(d + 1 for d in node.attributes["dims"])))


@_rule("transpose")
def _transpose(s: AllSteps, node: Node) -> Node:
    return _shifted(s, node, perm=(0, *(p + 1 for p in node.attributes["perm"])))


@_rule(CARRIED)
def _carried(s: AllSteps, node: Node) -> Node:
    made = s.before.get(node)
    if made is None:
        s.refuse(node, f"{node.attributes['what']} is read as it was before the step")
    return made()


@_rule("pad")
def _pad(s: AllSteps, node: Node) -> Node:
    x, value = node.operands
    if s.moves(value):
        s.refuse(node, "np.pad with a value that differs from step to step")
    operands = (s.along(x), value)
    axis = node.attributes["axis"] + 1
    return current().record("pad", operands, s.shape(node), node.dtype, {**node.attributes, "axis": axis})


@_rule("insert")
def _insert(s: AllSteps, node: Node) -> Node:
    offsets, steps = node.attributes["offsets"], node.attributes["steps"]
    if any(s.position in o.symbols() for o in offsets):
        s.refuse(node, "assigning to an array of one step at the step's position")
    return _shifted(s, node, offsets=(ix.const(0), *offsets), steps=(1, *steps))


@_rule("size")
def _size(s: AllSteps, node: Node) -> Node:
    """A number that is made of the position."""
    record, shape = current().record, (s.count,)
    term = current().sizes.resolve(node.attributes["term"])
    factor = term.coefficient(s.position)
    if factor is None:
        s.refuse(node, f"the number {term}")
    out = record("iota", (), shape, node.dtype, {"axis": 0})
    for kind, number in (("mul", factor), ("add", term - factor * ix.of_var(s.position))):
        if number != {"mul": 1, "add": 0}[kind]:
            scalar = record("size", (), (), node.dtype, {"term": number})
            out = record(kind, (out, broadcast(scalar, shape, ())), shape, node.dtype)
    return out


@_rule("slice")
def _slice(s: AllSteps, node: Node) -> Node:
    (x,) = node.operands
    offsets: tuple[Index, ...] = node.attributes["offsets"]
    sizes: tuple[Index, ...] = node.attributes["sizes"]
    steps: tuple[int, ...] = node.attributes["steps"]
    axes = [n for n, o in enumerate(offsets) if s.position in current().sizes.resolve(o).symbols()]
    if not axes:
        own = {"offsets": (ix.const(0), *offsets), "sizes": (s.count, *sizes), "steps": (1, *steps)}
        return _shifted(s, node, **own)
    if s.moves(x) or len(axes) > 1:
        s.refuse(node, "a slice of a value of the step at the step's position")
    (axis,) = axes
    offset, length = current().sizes.resolve(offsets[axis]), current().sizes.resolve(sizes[axis])
    step: int = steps[axis]
    factor = offset.coefficient(s.position)
    if factor is None:
        s.refuse(node, f"a slice at {offset}")
    first = offset - factor * ix.of_var(s.position)

    def line(start: Index, count: Index, every: int) -> Node:
        return box(
            x,
            [start if n == axis else o for n, o in enumerate(offsets)],
            [count if n == axis else m for n, m in enumerate(sizes)],
            [every if n == axis else m for n, m in enumerate(steps)],
        )

    number = factor.constant
    if length.constant == 1 and number is not None:
        return expand(to_front(line(first, s.count, number), axis), axis + 1)
    if step == 1 and length == factor:
        # Block after block.
        whole = line(first, s.count * length, 1)
        shape = current().shape(whole)
        apart = ops.reshape(TracedTensor(whole), (*shape[:axis], s.count, length, *shape[axis + 1 :]))
        return to_front(apart.node, axis)
    if number is None or length.constant is None or length.constant > WINDOW:
        s.refuse(node, f"slices of {length} elements, {factor} apart,")
    window = [expand(to_front(line(first + k * step, s.count, number), axis), axis + 1) for k in range(length.constant)]
    return ops.concatenate([TracedTensor(w) for w in window], axis + 1).node


@_rule("gather")
def _gather(s: AllSteps, node: Node) -> Node:
    x, positions = node.operands
    batch, axis = node.attributes["batch"], node.attributes["axis"]
    if not s.moves(x) and batch == 0:
        # The axis of the steps is one of the positions.
        out = ops.gather(TracedTensor(x), TracedTensor(s.of(positions)), 0, axis).node
        return to_front(out, axis)
    return _shifted(s, node, batch=batch + 1, axis=axis + 1)


@_rule("matmul")
def _matmul(s: AllSteps, node: Node) -> Node:
    x, y = node.operands
    batch = node.attributes["batch"]
    left, right = node.attributes["lhs_contract"], node.attributes["rhs_contract"]
    if batch or (s.moves(x) and s.moves(y)):
        more = {"lhs_contract": tuple(a + 1 for a in left), "rhs_contract": tuple(a + 1 for a in right)}
        return _shifted(s, node, batch=batch + 1, **more)
    # Of one operand the axis of the steps is an axis like others.
    a, b = TracedTensor(s.of(x)), TracedTensor(s.of(y))
    if s.moves(x):
        return ops.contract(a, b, 0, [n + 1 for n in left], right, "np.matmul").node
    out = ops.contract(a, b, 0, left, [n + 1 for n in right], "np.matmul").node
    return to_front(out, len(x.shape) - len(left))


def at_last(s: AllSteps, node: Node, done: Mapping[Node, Node]) -> Node:
    """A value at the last step; `done`: what is known of it there."""
    made = dict(done)
    last: dict[Size | Var, Index] = {s.position: s.count - 1}
    for x in _in_order(node, lambda x: x not in made and s.moves(x)):
        with current().at(x.place):
            if x.kind == CARRIED:
                made[x] = one(s.of(x), s.count - 1)
                continue
            operands = [made.get(o, o) for o in x.operands]
            attributes = {k: _at(v, last) for k, v in x.attributes.items()}
            made[x] = current().record(x.kind, operands, current().shape(x), x.dtype, attributes)
    return made.get(node, node)


def _at(value: Any, binding: Mapping[Size | Var, Index]) -> Any:
    if isinstance(value, Index):
        return current().sizes.resolve(value).substitute(binding)
    return tuple(_at(v, binding) for v in cast("tuple[Any, ...]", value)) if isinstance(value, tuple) else value
