# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From IR to terms: what a function computes, as comprehensions over its inputs.

The walk knows no dialect. An operation with a meaning is denoted by it; any other operation implements `Denotable`.
Denotation is positional: loop bounds, steps, offsets and extents appear in the terms. What has to hold for the terms to
be the truth (regions in bounds, iterations disjoint) is collected as obligations, each under the conditions of the
loops around it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from xdsl.dialects.builtin import IndexType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, OpResult, SSAValue

from axon_mlir.errors import AxonError
from axon_mlir.semantics import terms as t
from axon_mlir.semantics.index import Index, Var, fresh_var, of_var
from axon_mlir.semantics.shapes import dtype_name, is_tensor, shape_of
from axon_mlir.semantics.traits import HasMeaning

UNDEFINED = "undefined"
"""The tensor that stands for elements nobody has written; a term that reads it is not proved equal to anything."""


Conversion = Callable[[t.Term, str | None, str | None], t.Term]


CARRIED = "carried."
"""Prefix of the tensors that stand for what a loop has done so far. Guards decide most such reads away (an element that
the same iteration has just written); one that is left is a read of an unfinished value."""


def is_unfinished(tensor: str) -> bool:
    """Whether the elements of a tensor are such as nobody has written, or as a loop has not finished."""
    return tensor == UNDEFINED or tensor.startswith(CARRIED)


def unfinished(read: t.Read) -> bool:
    """Whether a term's element is one that nobody has written, or that a loop has not finished."""
    return is_unfinished(read.tensor)


class Undenotable(AxonError):
    """The program has a meaning, but this version cannot state it as a term; the verdict is `unknown`."""


@dataclass(frozen=True)
class Obligation:
    """`hypotheses |- goal`, for all values of the sizes and variables in it."""

    kind: str
    hypotheses: tuple[t.Condition, ...]
    goal: t.Condition
    where: str

    def substitute(self, binding: t.Binding) -> Obligation:
        """The obligation with sizes replaced."""
        hypotheses = tuple(t.substitute_condition(h, binding) for h in self.hypotheses)
        return replace(self, hypotheses=hypotheses, goal=t.substitute_condition(self.goal, binding))


@dataclass(frozen=True)
class Denotation:
    """A function as comprehensions over its inputs."""

    inputs: tuple[t.Comprehension, ...]
    outputs: tuple[t.Comprehension, ...]
    obligations: tuple[Obligation, ...]

    def substitute(self, binding: t.Binding) -> Denotation:
        """The function with sizes replaced."""
        binding = {s: i for s, i in binding.items() if i.atom != s}
        if not binding:
            return self
        return Denotation(
            tuple(c.substitute(binding) for c in self.inputs),
            tuple(c.substitute(binding) for c in self.outputs),
            tuple(o.substitute(binding) for o in self.obligations),
        )


class Denotable(ABC):
    """An operation that states its own term (regions, destination passing, index arithmetic)."""

    @abstractmethod
    def denote(self, walk: Denoter) -> None: ...


@dataclass
class Denoter:
    """The walk over one function."""

    values: dict[SSAValue, Index | t.Comprehension] = field(default_factory=dict[SSAValue, Any])
    context: list[t.Condition] = field(default_factory=list[t.Condition])
    obligations: list[Obligation] = field(default_factory=list[Obligation])
    returned: tuple[t.Comprehension, ...] | None = None
    conversion: Conversion | None = None
    """What an element becomes when an operation only changes its type; None: it stays."""
    integers: set[str] = field(default_factory=set[str])
    """The tensors whose elements are integers, by their types."""

    def index(self, v: SSAValue) -> Index:
        found = self.values[v]
        if not isinstance(found, Index):
            raise Undenotable(f"a tensor is used as an index ({v.type})")
        return found

    def tensor(self, v: SSAValue) -> t.Comprehension:
        found = self.values[v]
        if isinstance(found, Index):
            raise Undenotable(f"an index is used as a tensor ({v.type})")
        return found

    def bind(self, v: SSAValue, value: Index | t.Comprehension) -> None:
        self.values[v] = value
        upper: tuple[Index, ...] | None = getattr(v.type, "upper", None)
        if upper is not None and isinstance(value, t.Comprehension) and isinstance(v, OpResult):
            # The type promises how much room the value takes.
            self.require("size", t.conj([t.at_most(n, u) for n, u in zip(value.shape, upper, strict=True)]), v.op)

    def require(self, kind: str, goal: t.Condition, op: Operation, *extra: t.Condition) -> None:
        """Record that `goal` must hold here."""
        if goal != t.TRUE:
            self.obligations.append(Obligation(kind, (*self.context, *extra), goal, place(op)))

    @contextmanager
    def assuming(self, *conditions: t.Condition):
        """Denote under more conditions (the range of a loop's counter)."""
        self.context.extend(conditions)
        try:
            yield
        finally:
            del self.context[len(self.context) - len(conditions) :]

    def input(self, name: str, shape: Sequence[Index], dtype: str | None) -> t.Comprehension:
        """A tensor of which only the type is known."""
        if is_integer_type(dtype):
            self.integers.add(name)
        return t.tensor_input(name, shape, dtype)

    def stored(self, value: t.Comprehension, dtype: str | None) -> t.Comprehension:
        """What an instruction leaves in a tile of a type: an integer type takes the nearest integer, ties to even."""
        body = value.body
        if is_integer_type(dtype) and not is_whole(body, self.integers):
            body = t.Apply("round", (body,))
        return replace(value, body=body, dtype=dtype)

    def block(self, block: Block) -> Sequence[SSAValue]:
        """Denote a block; the operands of its terminator."""
        for op in block.ops:
            if op is block.last_op and not isinstance(op, Denotable | HasMeaning):
                return tuple(op.operands)
            self.operation(op)
        return ()

    def operation(self, op: Operation) -> None:
        if isinstance(op, Denotable):
            op.denote(self)
        elif isinstance(op, HasMeaning):
            operands = [self.tensor(v) for v in op.operands]
            for r, value in zip(op.results, op.meaning().denote(operands, op.meaning_attributes()), strict=True):
                self.bind(r, self._converted(replace(value, dtype=dtype_of(r.type)), operands))
        elif isinstance(op, ReturnOp):
            self.returned = tuple(self.tensor(v) for v in op.operands)
        else:
            raise Undenotable(f"'{op.name}' has no meaning", where=place(op))

    def _converted(self, value: t.Comprehension, operands: Sequence[t.Comprehension]) -> t.Comprehension:
        body = value.body
        if self.conversion is None or len(operands) != 1 or operands[0].dtype == value.dtype:
            return value
        if not isinstance(body, t.Apply) or body.function != "identity":
            return value
        return replace(value, body=self.conversion(body.args[0], operands[0].dtype, value.dtype))


def is_integer_type(dtype: str | None) -> bool:
    """Whether elements of a type are integers; truth values are."""
    return dtype is not None and dtype.removeprefix("u").startswith("i") and dtype != "index"


WHOLE = frozenset({"add", "sub", "mul", "neg", "max", "min", "abs", "relu", "square", "sign", "identity"})
"""Scalar functions of integers that give integers."""


def is_whole(x: t.Term, integers: Container[str]) -> bool:
    """Whether a term is an integer for its form alone, where the elements of some tensors are."""
    match x:
        case t.Const(v):
            # An infinity is its own nearest integer.
            return isinstance(v, str) or v.denominator == 1
        case t.IndexValue():
            return True
        case t.Read(name, _):
            # What nobody has written is no number at all, and nothing is proved of it.
            return name in integers or unfinished(x)
        case t.Apply(f, args):
            return f == "round" or (f in WHOLE and all(is_whole(a, integers) for a in args))
        case t.Fold(_, _, _, body):
            return is_whole(body, integers)
        case t.Select(_, a, b):
            return is_whole(a, integers) and is_whole(b, integers)


def place(op: Operation) -> str:
    """Where an operation stands, for messages: its location when known, else its name."""
    text = str(op.location)
    if '"' in text:
        name, _, rest = text.split('"', 2)[1:][0], None, text.split('"', 2)[2]
        return f"{name}{rest.rstrip(')')}" if rest.startswith(":") else name
    return f"'{op.name}'"


def dtype_of(type_: Any) -> str | None:
    """The element type's name of a tensor-like type."""
    element = getattr(type_, "element_type", None)
    return dtype_name(element) if element is not None else None


def input_name(n: int) -> str:
    """Inputs are named by position, so that two programs name them alike."""
    return f"in{n}"


def denote_function(func: FuncOp, conversion: Conversion | None = None) -> Denotation:
    """The meaning of a function; Undenotable when some operation cannot state it.

    `conversion(element, from, to)` says what operations that only change the element type do (default: nothing).
    """
    walk = Denoter(conversion=conversion)
    inputs: list[t.Comprehension] = []
    for n, arg in enumerate(func.body.block.args):
        if is_tensor(arg.type):
            value = walk.input(input_name(n), shape_of(arg.type), dtype_of(arg.type))
        elif isinstance(arg.type, IndexType):
            raise Undenotable("index arguments are not supported")
        else:
            value = walk.input(input_name(n), (), dtype_name(arg.type))
        inputs.append(value)
        walk.bind(arg, value)
    walk.block(func.body.block)
    if walk.returned is None:
        operands = func.body.block.last_op.operands if func.body.block.last_op else ()
        walk.returned = tuple(walk.tensor(v) for v in operands)
    for value, type_ in zip(walk.returned, func.function_type.outputs.data, strict=True):
        declared = shape_of(type_)
        for have, want in zip(value.shape, declared, strict=True):
            walk.require("shape", t.equal(have, want), func)
    return Denotation(tuple(inputs), walk.returned, tuple(walk.obligations))


def undefined(shape: Sequence[Index], dtype: str | None) -> t.Comprehension:
    """A tensor nobody has written."""
    variables = tuple(fresh_var(f"i{n}") for n in range(len(shape)))
    return t.Comprehension(tuple(shape), variables, t.Read(UNDEFINED, ()), dtype)


def in_region(indices: Sequence[Index], offsets: Sequence[Index], sizes: Sequence[Index]) -> t.Condition:
    """`offset <= index < offset + size` on every axis."""
    parts: list[t.Condition] = []
    for i, o, n in zip(indices, offsets, sizes, strict=True):
        parts += [t.at_most(o, i), t.less(i, o + n)]
    return t.conj(parts)


def region_inside(offsets: Sequence[Index], sizes: Sequence[Index], shape: Sequence[Index]) -> t.Condition:
    """`0 <= offset` and `offset + size <= extent` on every axis."""
    parts: list[t.Condition] = []
    for o, n, d in zip(offsets, sizes, shape, strict=True):
        parts += [t.at_most(Index({}), o), t.at_most(o + n, d)]
    return t.conj(parts)


def insert(value: t.Comprehension, into: t.Comprehension, offsets: Sequence[Index]) -> t.Comprehension:
    """`into` with a region replaced."""
    variables = tuple(fresh_var(f"i{n}") for n in range(len(into.shape)))
    at = tuple(map(of_var, variables))
    body = t.select(
        in_region(at, offsets, value.shape),
        value.at([i - o for i, o in zip(at, offsets, strict=True)]),
        into.at(at),
    )
    return t.Comprehension(into.shape, variables, body, into.dtype)


def extract(source: t.Comprehension, offsets: Sequence[Index], sizes: Sequence[Index]) -> t.Comprehension:
    """A region of `source`."""
    variables = tuple(fresh_var(f"i{n}") for n in range(len(sizes)))
    body = source.at([of_var(v) + o for v, o in zip(variables, offsets, strict=True)])
    return t.Comprehension(tuple(sizes), variables, body, source.dtype)


def range_of(v: Var, extent: Index) -> tuple[t.Condition, t.Condition]:
    """`0 <= v < extent`."""
    return t.at_most(Index({}), of_var(v)), t.less(of_var(v), extent)
