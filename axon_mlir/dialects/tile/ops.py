# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The operations of tile programs: loops over symbolic steps, regions of HBM and of tiles, leaves.

Everything is a value: `store` and `insert` give the destination with a region replaced, loops carry what they write as
iteration arguments. A leaf is one instruction's worth of work and carries its meaning as text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any, cast

import numpy as np
from lark import Tree
from xdsl.dialects.builtin import ArrayAttr, IndexType, IntAttr, StringAttr, TensorType
from xdsl.ir import Attribute, BlockArgument, Operation, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, NoMemoryEffect, Pure
from xdsl.utils.exceptions import VerifyException

from axon_mlir.dialects.tile.recurrences import Carried, Recurrence, recurrences, so_far
from axon_mlir.dialects.tile.types import TileType
from axon_mlir.errors import AxonError
from axon_mlir.semantics import terms as t
from axon_mlir.semantics.denotation import (
    CARRIED,
    Denotable,
    Denoter,
    Undenotable,
    extract,
    insert,
    range_of,
    region_inside,
    undefined,
)
from axon_mlir.semantics.functions import MONOIDS
from axon_mlir.semantics.index import Index, Size, Var, ceil_div, const, fresh_var, minimum, of_var, parse
from axon_mlir.semantics.index import size as size_index
from axon_mlir.semantics.interpret import Interpretable, Interpreter
from axon_mlir.semantics.meaning import MeaningError, Node, OpMeaning, parse_op
from axon_mlir.semantics.walk import reads_any

SIZE_PREFIX = "size_"
"""How the meaning of a leaf spells a size of the program, so that it cannot be taken for a tile axis or an operand."""

PLACE_PREFIX = "at_"
"""How a leaf's meaning, or an immediate of an instruction, spells an index that it is given: where a tile begins."""

LEVELS = ("strip", "block", "tile")
"""strip: one pass over HBM; block: resident on chip; tile: one instruction."""


@lru_cache(maxsize=65536)
def _parsed(expression: str, names: tuple[str, ...] = ()) -> Index:
    """An index term with some names as variables; a loop asks for it each time that it is taken."""
    return parse(expression, lambda n: of_var(Var(n)) if n in names else size_index(n))


def _indices(walk: Denoter, values: Sequence[SSAValue]) -> list[Index]:
    return [walk.index(v) for v in values]


@irdl_op_definition
class IndexOp(IRDLOperation, Denotable, Interpretable):
    """`%r = tile.index "min(a, K - b)" (a = %i, b = %j)`: index arithmetic; other names are sizes and parameters."""

    name = "tile.index"
    operands_ = var_operand_def(IndexType)
    expression = prop_def(StringAttr)
    names = prop_def(ArrayAttr[StringAttr])
    result = result_def(IndexType)
    traits = traits_def(Pure())

    def __init__(self, expression: str, names: Sequence[str] = (), operands: Sequence[SSAValue] = ()):
        super().__init__(
            operands=[list(operands)],
            properties={"expression": StringAttr(expression), "names": ArrayAttr([StringAttr(n) for n in names])},
            result_types=[IndexType()],
        )

    def verify_(self) -> None:
        if len(self.names.data) != len(self.operands_):
            raise VerifyException(f"{len(self.names.data)} names for {len(self.operands_)} operands")
        if len(set(self.names.data)) != len(self.names.data):
            raise VerifyException("two operands have one name")
        try:
            parse(self.expression.data)
        except ValueError as e:
            raise VerifyException(str(e)) from e

    def denote(self, walk: Denoter) -> None:
        bound = dict(zip((n.data for n in self.names.data), _indices(walk, self.operands_), strict=True))
        walk.bind(self.result, parse(self.expression.data, lambda n: bound[n] if n in bound else size_index(n)))

    def interpret(self, run: Interpreter) -> None:
        env: dict[Size | Var, int] = {
            Var(n.data): run.integer(v) for n, v in zip(self.names.data, self.operands_, strict=True)
        }
        run.bind(self.result, run.number(_parsed(self.expression.data, tuple(n.data for n in self.names.data)), env))

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_string_literal(self.expression.data)
        if self.operands_:
            printer.print_string(" (")
            for n, (name, v) in enumerate(zip(self.names.data, self.operands_, strict=True)):
                printer.print_string(f"{', ' if n else ''}{name.data} = ")
                printer.print_ssa_value(v)
            printer.print_string(")")

    @classmethod
    def parse(cls, parser: Parser) -> IndexOp:
        expression = parser.parse_str_literal()

        def pair() -> tuple[str, SSAValue]:
            name = parser.parse_identifier()
            parser.parse_punctuation("=")
            return name, parser.resolve_operand(parser.parse_unresolved_operand(), IndexType())

        pairs = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, pair) or []
        return cls(expression, [p[0] for p in pairs], [p[1] for p in pairs])


@irdl_op_definition
class YieldOp(IRDLOperation):
    """Ends the body of a loop."""

    name = "tile.yield"
    values = var_operand_def()
    traits = traits_def(IsTerminator(), NoMemoryEffect())
    assembly_format = "attr-dict ($values^ `:` type($values))?"

    def __init__(self, values: Sequence[SSAValue]):
        super().__init__(operands=[list(values)])


COLLECT, CARRY = "collect", "carry"


@irdl_op_definition
class ForOp(IRDLOperation, Denotable, Interpretable):
    """A loop over `start = lower, lower + step, ... < upper`, with the extent `min(step, upper - start)`.

    ```
    %r = tile.for m.tile (%m, %mh) = %lower to %upper step "128" [collect] (%out = %init) : type { ... tile.yield %new }
    ```
    A result is `collect` (iterations write disjoint regions), a monoid's name (iterations combine with the argument)
    or `carry` (any recurrence; an affine one has a meaning). The step is a number or a tile parameter.
    """

    name = "tile.for"
    lower = operand_def(IndexType)
    upper = operand_def(IndexType)
    inits = var_operand_def()
    dim = prop_def(StringAttr)
    level = prop_def(StringAttr)
    step = prop_def(StringAttr)
    kinds = prop_def(ArrayAttr[StringAttr])
    body = region_def("single_block")
    results_ = var_result_def()
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self,
        dim: str,
        level: str,
        lower: SSAValue,
        upper: SSAValue,
        step: str,
        inits: Sequence[SSAValue],
        kinds: Sequence[str],
        body: Region,
    ):
        super().__init__(
            operands=[lower, upper, list(inits)],
            properties={
                "dim": StringAttr(dim),
                "level": StringAttr(level),
                "step": StringAttr(step),
                "kinds": ArrayAttr([StringAttr(k) for k in kinds]),
            },
            regions=[body],
            result_types=[[v.type for v in inits]],
        )

    @property
    def start(self) -> BlockArgument:
        return self.body.block.args[0]

    @property
    def extent(self) -> BlockArgument:
        return self.body.block.args[1]

    @property
    def carried(self) -> Sequence[BlockArgument]:
        return self.body.block.args[2:]

    @property
    def key(self) -> tuple[str, str]:
        return (self.dim.data, self.level.data)

    @property
    def yielded(self) -> Sequence[SSAValue]:
        last = self.body.block.last_op
        return last.operands if isinstance(last, YieldOp) else ()

    def verify_(self) -> None:
        if self.level.data not in LEVELS:
            raise VerifyException(f"unknown level '{self.level.data}'; accepted: {', '.join(LEVELS)}")
        if not self.dim.data.isidentifier():
            raise VerifyException(f"'{self.dim.data}' is not the name of a dimension; accepted: m.tile, k_2.block")
        try:
            step = parse(self.step.data)
        except ValueError as e:
            raise VerifyException(str(e)) from e
        if step.constant is not None and step.constant < 1:
            raise VerifyException(f"the step must be positive, not {step}")
        if len(self.kinds.data) != len(self.inits):
            raise VerifyException(f"{len(self.kinds.data)} kinds for {len(self.inits)} results")
        for k in self.kinds.data:
            if k.data not in (COLLECT, CARRY, *MONOIDS):
                raise VerifyException(f"unknown kind '{k.data}'; accepted: collect, carry, {', '.join(MONOIDS)}")
        args = self.body.block.args
        wanted = [IndexType(), IndexType(), *(v.type for v in self.inits)]
        if [a.type for a in args] != wanted:
            raise VerifyException("the body takes the start, the extent, and one argument per result")
        if not isinstance(self.body.block.last_op, YieldOp):
            raise VerifyException("the body must end with tile.yield")
        if [v.type for v in self.yielded] != [v.type for v in self.inits]:
            raise VerifyException("the body must yield one value of each result's type")

    # -- meaning -------------------------------------------------------------------------------------------------

    def denote(self, walk: Denoter) -> None:
        lower, upper = walk.index(self.lower), walk.index(self.upper)
        step = parse(self.step.data)
        length = upper - lower
        trips = ceil_div(length, step)
        counter = fresh_var(f"t_{self.dim.data}")
        start = lower + step * of_var(counter)
        walk.require("range", t.at_most(const(0), length), self)
        walk.bind(self.start, start)
        walk.bind(self.extent, minimum(step, upper - start))
        inits = [walk.tensor(v) for v in self.inits]
        names = [f"{CARRIED}{fresh_var('c').uid}" for _ in inits]
        for arg, init, name in zip(self.carried, inits, names, strict=True):
            walk.bind(arg, walk.input(name, init.shape, init.dtype))
        with walk.assuming(*range_of(counter, trips)):
            yielded = [cast(t.Comprehension, walk.values[v]) for v in walk.block(self.body.block)]
            parts = [
                Carried(name, kind.data, init, value)
                for name, kind, init, value in zip(names, self.kinds.data, inits, yielded, strict=True)
            ]
            found = recurrences([c for c in parts if c.kind != COLLECT], counter)
            bodies = [
                self._collected(walk, c, found, counter, (lower, length, step))
                if c.kind == COLLECT
                else self._combined(c, found, trips)
                for c in parts
            ]
        for result, c, body in zip(self.results_, parts, bodies, strict=True):
            walk.bind(result, t.Comprehension(c.initial.shape, c.value.variables, body, c.initial.dtype))

    def _combined(self, c: Carried, found: dict[str, Recurrence], trips: Index) -> t.Term:
        """A carried value's element after the loop."""
        if c.name in found:
            return found[c.name].after(trips, c.own.indices)
        if c.kind == CARRY:
            raise Undenotable(f"the loop over {self.dim.data} carries a value that is no affine recurrence")
        raise Undenotable(f"the loop over {self.dim.data} does not combine its argument by {c.kind}")

    def _collected(
        self,
        walk: Denoter,
        c: Carried,
        found: dict[str, Recurrence],
        counter: Var,
        space: tuple[Index, Index, Index],
    ) -> t.Term:
        """An element after the loop, of what iterations write in regions of their own."""
        own, value = c.own, replace(c.value, body=so_far(c.value.body, found))
        writes: list[tuple[t.Condition, t.Term]] = []
        """What is written last comes first."""
        rest = value.body
        while isinstance(rest, t.Select):
            writes.append((rest.condition, rest.then))
            rest = rest.otherwise
        if rest is not own or not writes:
            raise Undenotable(f"the loop over {self.dim.data} must replace regions in each iteration")
        parts = [self._written(walk, own, value, region, new, counter, space) for region, new in writes]
        for n, (cover, _) in enumerate(parts):
            for other, _ in parts[n + 1 :]:
                # Regions of one tensor that one loop writes have no element in common.
                with walk.assuming(*_inside(value), cover):
                    walk.require("regions apart", t.negate(other), self)

        out = initial = c.initial.at(own.indices)
        for cover, element in reversed(parts):
            out = t.select(cover, t.replace_reads(element, {own.tensor}, lambda r: initial if r is own else r), out)
        return out

    def _written(
        self,
        walk: Denoter,
        own: t.Read,
        value: t.Comprehension,
        region: t.Condition,
        new: t.Term,
        counter: Var,
        space: tuple[Index, Index, Index],
    ) -> tuple[t.Condition, t.Term]:
        """What all iterations together write through one store: where, and which element."""
        _, length, step = space
        elsewhere = t.replace_reads(new, {own.tensor}, lambda r: t.ZERO if r is own else r)
        if reads_any(elsewhere, {own.tensor}):
            raise Undenotable(f"the loop over {self.dim.data} reads elsewhere what it writes")
        found = written_axis(region, value.variables, counter, step)
        if found is None:
            raise Undenotable(f"the region written by the loop over {self.dim.data} does not move by its step")
        axis, low, extent, rest, apart = found
        position = of_var(value.variables[axis])
        move = step * apart
        base = low - move * of_var(counter)
        # Iterations are disjoint when no region is longer than the move.
        walk.require("disjoint", t.at_most(extent, move), self)
        chosen = (position - base) // move
        if t.equal(position % apart, base % apart) in rest:
            # Only elements that leave the remainder of the base are written: i - b = apart * (i // apart - b // apart).
            chosen = (position // apart - base // apart) // step
        # Of a loop in steps of one, no iteration is short.
        taken = const(1) if step == 1 else minimum(step, length - step * of_var(counter))
        if taken * apart == extent:
            # The cover lemma: the union of [base + s*t, base + s*t + min(s, n - s*t)) over t < ceildiv(n, s).
            cover = t.conj([t.at_most(base, position), t.less(position, base + length * apart)])
        else:
            low_at, high_at = low.substitute({counter: chosen}), (low + extent).substitute({counter: chosen})
            trips = ceil_div(length, step)
            cover = t.conj(
                [
                    t.at_most(const(0), chosen),
                    t.less(chosen, trips),
                    t.at_most(low_at, position),
                    t.less(position, high_at),
                ]
            )
        others = t.substitute_condition(t.conj(rest), {counter: chosen})
        return t.conj([cover, others]), t.substitute(new, {counter: chosen})

    # -- running -------------------------------------------------------------------------------------------------

    def interpret(self, run: Interpreter) -> None:
        lower, upper = run.integer(self.lower), run.integer(self.upper)
        step = run.number(_parsed(self.step.data))
        # What iterations write into is copied once, not each time that something is written.
        carried = [run.take(v) for v in self.inits]
        for start in range(lower, upper, step):
            run.bind(self.start, start)
            run.bind(self.extent, min(step, upper - start))
            for arg, value in zip(self.carried, carried, strict=True):
                run.give(arg, value)
            run.block(self.body.block)
            carried = [run.take(v) for v in self.yielded]
        for result, value in zip(self.results_, carried, strict=True):
            run.give(result, value)

    # -- text ----------------------------------------------------------------------------------------------------

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.dim.data}.{self.level.data} (")
        printer.print_ssa_value(self.start)
        printer.print_string(", ")
        printer.print_ssa_value(self.extent)
        printer.print_string(") = ")
        printer.print_ssa_value(self.lower)
        printer.print_string(" to ")
        printer.print_ssa_value(self.upper)
        printer.print_string(" step ")
        printer.print_string_literal(self.step.data)
        for n, (kind, arg, init) in enumerate(zip(self.kinds.data, self.carried, self.inits, strict=True)):
            printer.print_string(", " if n else " (")
            printer.print_string(f"{kind.data} ")
            printer.print_ssa_value(arg)
            printer.print_string(" = ")
            printer.print_ssa_value(init)
            printer.print_string(" : ")
            printer.print_attribute(init.type)
        printer.print_string(") " if self.inits else " ")
        printer.print_region(self.body, print_entry_block_args=False)

    @classmethod
    def parse(cls, parser: Parser) -> ForOp:
        # The lexer reads `m.tile` as one bare identifier.
        dim, _, level = parser.parse_identifier().rpartition(".")
        parser.parse_punctuation("(")
        start = parser.parse_argument(expect_type=False).resolve(IndexType())
        parser.parse_punctuation(",")
        extent = parser.parse_argument(expect_type=False).resolve(IndexType())
        parser.parse_punctuation(")")
        parser.parse_punctuation("=")
        lower = parser.resolve_operand(parser.parse_unresolved_operand(), IndexType())
        parser.parse_characters("to")
        upper = parser.resolve_operand(parser.parse_unresolved_operand(), IndexType())
        parser.parse_characters("step")
        step = parser.parse_str_literal()

        def carried() -> tuple[str, Parser.Argument, SSAValue]:
            kind = parser.parse_identifier()
            arg = parser.parse_argument(expect_type=False)
            parser.parse_punctuation("=")
            init: UnresolvedOperand = parser.parse_unresolved_operand()
            parser.parse_punctuation(":")
            type_ = parser.parse_type()
            return kind, arg.resolve(type_), parser.resolve_operand(init, type_)

        items = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, carried) or []
        body = parser.parse_region([start, extent, *(i[1] for i in items)])
        return cls(dim, level, lower, upper, step, [i[2] for i in items], [i[0] for i in items], body)


def _inside(value: t.Comprehension) -> list[t.Condition]:
    """The ranges of a value's index variables."""
    return [c for v, n in zip(value.variables, value.shape, strict=True) for c in range_of(v, n)]


def written_axis(
    region: t.Condition, variables: Sequence[Var], counter: Var, step: Index
) -> tuple[int, Index, Index, list[t.Condition], Index] | None:
    """The axis along which a written region moves: (axis, low end, extent, the other conditions, how far apart its
    elements are, in which it moves by the step)."""
    parts = list(region.parts) if isinstance(region, t.And) else [region]
    for axis, v in enumerate(variables):
        for low_part, low in _ends(parts, v, "<="):
            move = low.coefficient(counter)
            apart = const(1) if move is None else move // step
            if move != step * apart or apart == 0:
                continue
            for high_part, high in _ends(parts, v, "<"):
                rest = [p for p in parts if p is not low_part and p is not high_part]
                return axis, low, high - low, rest, apart
    return None


def _ends(parts: Sequence[t.Condition], v: Var, relation: str) -> Iterator[tuple[t.Condition, Index]]:
    """The conditions that bound a variable from below (`<=`) or above (`<`), and the bounds."""
    for p in parts:
        if isinstance(p, t.IndexCompare) and p.relation == relation:
            gap = p.right - p.left
            bound = of_var(v) - gap if relation == "<=" else of_var(v) + gap
            if v not in bound.symbols():
                yield p, bound


def _type_shape(type_: Attribute) -> int:
    return len(type_.get_shape()) if isinstance(type_, TensorType) else 2


@irdl_op_definition
class EmptyOp(IRDLOperation, Denotable, Interpretable):
    """`tile.empty (%a, %b) : type`: memory nobody has written; reading it proves nothing."""

    name = "tile.empty"
    sizes = var_operand_def(IndexType)
    result = result_def()
    traits = traits_def(NoMemoryEffect())
    assembly_format = "`(` $sizes `)` attr-dict `:` type($result)"

    def __init__(self, sizes: Sequence[SSAValue], type_: Attribute):
        super().__init__(operands=[list(sizes)], result_types=[type_])

    def verify_(self) -> None:
        if _type_shape(self.result.type) != len(self.sizes):
            raise VerifyException(f"{len(self.sizes)} sizes for a value of rank {_type_shape(self.result.type)}")

    def denote(self, walk: Denoter) -> None:
        dtype = self.result.type.dtype if isinstance(self.result.type, TileType) else None
        walk.bind(self.result, undefined(_indices(walk, self.sizes), dtype))

    def interpret(self, run: Interpreter) -> None:
        run.values[self.result] = run.garbage([run.integer(v) for v in self.sizes])
        run.fresh.add(self.result)


@irdl_op_definition
class NeutralOp(IRDLOperation, Denotable, Interpretable):
    """`tile.neutral sum (%p, %f) : type`: every element is the monoid's neutral element."""

    name = "tile.neutral"
    sizes = var_operand_def(IndexType)
    monoid = prop_def(StringAttr)
    result = result_def(TileType)
    traits = traits_def(NoMemoryEffect())
    assembly_format = "$monoid `(` $sizes `)` attr-dict `:` type($result)"

    def __init__(self, monoid: str, sizes: Sequence[SSAValue], type_: Attribute):
        super().__init__(operands=[list(sizes)], properties={"monoid": StringAttr(monoid)}, result_types=[type_])

    def verify_(self) -> None:
        if self.monoid.data not in MONOIDS:
            raise VerifyException(f"unknown monoid '{self.monoid.data}'; accepted: {', '.join(MONOIDS)}")
        if len(self.sizes) != 2:
            raise VerifyException("a tile has two sizes")

    def denote(self, walk: Denoter) -> None:
        variables = (fresh_var("p"), fresh_var("f"))
        body = t.number(MONOIDS[self.monoid.data].neutral)
        walk.bind(self.result, t.Comprehension(tuple(_indices(walk, self.sizes)), variables, body))

    def interpret(self, run: Interpreter) -> None:
        neutral = MONOIDS[self.monoid.data].neutral
        value = run.domain.constant(str(neutral) if np.isinf(neutral) else t.decimal(neutral))
        run.bind(self.result, np.broadcast_to(value, [run.integer(v) for v in self.sizes]).copy())


def _map_of(attribute: ArrayAttr[IntAttr]) -> tuple[int | None, ...]:
    return tuple(None if a.data < 0 else a.data for a in attribute.data)


def _verify_region(tensor: Attribute, offsets: Sequence[SSAValue], axes: ArrayAttr[IntAttr]) -> None:
    if not isinstance(tensor, TensorType):
        raise VerifyException(f"a tensor in HBM is expected, not {tensor}")
    rank = len(tensor.get_shape())
    if len(offsets) != rank or len(axes.data) != rank:
        raise VerifyException(f"{len(offsets)} offsets and {len(axes.data)} axes for a tensor of rank {rank}")
    used = [a for a in _map_of(axes) if a is not None]
    if any(a > 1 for a in used) or len(set(used)) != len(used):
        raise VerifyException("each tensor axis runs along tile axis 0, 1, or -1 for none, each at most once")


def _print_region(
    printer: Printer, offsets: Sequence[SSAValue], axes: ArrayAttr[IntAttr], steps: Sequence[int] = ()
) -> None:
    printer.print_string("[")
    for n, (o, a) in enumerate(zip(offsets, axes.data, strict=True)):
        printer.print_string(", " if n else "")
        printer.print_ssa_value(o)
        printer.print_string({0: " along p", 1: " along f"}.get(a.data, ""))
        if steps and steps[n] != 1:
            printer.print_string(f" by {steps[n]}")
    printer.print_string("]")


def _parse_region(parser: Parser) -> tuple[list[SSAValue], ArrayAttr[IntAttr], list[int]]:
    def item() -> tuple[SSAValue, int, int]:
        v = parser.resolve_operand(parser.parse_unresolved_operand(), IndexType())
        if parser.parse_optional_keyword("along") is None:
            return v, -1, 1
        axis = 0 if parser.parse_identifier() == "p" else 1
        return v, axis, parser.parse_integer() if parser.parse_optional_keyword("by") is not None else 1

    items = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, item)
    return [i[0] for i in items], ArrayAttr([IntAttr(i[1]) for i in items]), [i[2] for i in items]


def _step_map(steps: ArrayAttr[IntAttr] | None, axes: ArrayAttr[IntAttr]) -> tuple[int, ...]:
    return tuple(s.data for s in steps.data) if steps is not None else (1,) * len(axes.data)


def _verify_steps(steps: Sequence[int], axes: ArrayAttr[IntAttr]) -> None:
    if len(steps) != len(axes.data) or any(s < 1 for s in steps):
        raise VerifyException("a positive step for each tensor axis is expected")


def _steps_attribute(steps: Sequence[int]) -> ArrayAttr[IntAttr] | None:
    """Steps as an attribute; none where all are 1."""
    return ArrayAttr([IntAttr(s) for s in steps]) if any(s != 1 for s in steps) else None


def dims_attribute(dims: Sequence[str]) -> ArrayAttr[StringAttr]:
    """Which dimension each tile axis runs over: a name, `*name` where it repeats over it, or the empty string."""
    return ArrayAttr([StringAttr(d) for d in dims])


def _print_dims(printer: Printer, dims: ArrayAttr[StringAttr] | None) -> None:
    if dims is not None:
        printer.print_string(" dims [")
        printer.print_list(dims.data, lambda d: printer.print_string_literal(d.data))
        printer.print_string("]")


def _parse_dims(parser: Parser) -> ArrayAttr[StringAttr] | None:
    if parser.parse_optional_keyword("dims") is None:
        return None
    return dims_attribute(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_str_literal))


@irdl_op_definition
class LoadOp(IRDLOperation, Denotable, Interpretable):
    """`tile.load %x[%m along p, %k along f] (%mh, %kh) : tensor -> tile`: a region of an HBM tensor as a tile.

    A tile axis that no tensor axis runs along repeats the element. `%m along p by 2` takes every second element. A
    result in space `hbm` is only a view.
    """

    name = "tile.load"
    source = operand_def(TensorType)
    offsets = var_operand_def(IndexType)
    sizes = var_operand_def(IndexType)
    axes = prop_def(ArrayAttr[IntAttr])
    steps = opt_prop_def(ArrayAttr[IntAttr])
    dims = opt_prop_def(ArrayAttr[StringAttr])
    result = result_def(TileType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(NoMemoryEffect())

    def __init__(
        self,
        source: SSAValue,
        offsets: Sequence[SSAValue],
        sizes: Sequence[SSAValue],
        axes: Sequence[int | None] | ArrayAttr[IntAttr],
        type_: Attribute,
        dims: ArrayAttr[StringAttr] | None = None,
        steps: Sequence[int] = (),
    ):
        encoded = axes if isinstance(axes, ArrayAttr) else ArrayAttr([IntAttr(-1 if a is None else a) for a in axes])
        super().__init__(
            operands=[source, list(offsets), list(sizes)],
            properties={"axes": encoded, "dims": dims, "steps": _steps_attribute(steps)},
            result_types=[type_],
        )

    def step_map(self) -> tuple[int, ...]:
        """For each tensor axis how far the next element of the tile lies."""
        return _step_map(self.steps, self.axes)

    def axis_map(self) -> tuple[int | None, ...]:
        """For each tensor axis the tile axis (0 partition, 1 free) it runs along, or None: fixed at its offset."""
        return _map_of(self.axes)

    def verify_(self) -> None:
        _verify_region(self.source.type, self.offsets, self.axes)
        if len(self.sizes) != 2:
            raise VerifyException("a tile has two sizes")
        _verify_steps(self.step_map(), self.axes)

    def denote(self, walk: Denoter) -> None:
        source, sizes = walk.tensor(self.source), _indices(walk, self.sizes)
        offsets, axes, steps = _indices(walk, self.offsets), self.axis_map(), self.step_map()
        lengths = [const(1) if a is None else (sizes[a] - 1) * s + 1 for a, s in zip(axes, steps, strict=True)]
        walk.require("load in bounds", region_inside(offsets, lengths, source.shape), self)
        variables = (fresh_var("p"), fresh_var("f"))
        at = [o if a is None else o + of_var(variables[a]) * s for o, a, s in zip(offsets, axes, steps, strict=True)]
        walk.bind(self.result, t.Comprehension(tuple(sizes), variables, source.at(at), self.result.type.dtype))

    def interpret(self, run: Interpreter) -> None:
        sizes = [run.integer(v) for v in self.sizes]
        axes = self.axis_map()
        array = run.array(self.source)
        offsets, steps = [run.integer(v) for v in self.offsets], self.step_map()
        lengths = [1 if a is None else sizes[a] for a in axes]
        part = array[tuple(slice(o, o + n * s, s) for o, n, s in zip(offsets, lengths, steps, strict=True))]
        if min(offsets, default=0) < 0 or list(part.shape) != lengths:
            raise AxonError(f"a load of {lengths} at {offsets} reaches outside a tensor of shape {array.shape}")
        order = [n for n, a in enumerate(axes) if a is None] + sorted(
            (n for n, a in enumerate(axes) if a is not None), key=lambda n: cast(int, axes[n])
        )
        part = part.transpose(order)
        shape = [1, 1]
        for a in axes:
            if a is not None:
                shape[a] = sizes[a]
        run.bind(self.result, np.broadcast_to(part.reshape(shape), sizes).copy())

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        _print_region(printer, self.offsets, self.axes, self.step_map())
        printer.print_string(" (")
        printer.print_list(self.sizes, printer.print_ssa_value)
        printer.print_string(") : ")
        printer.print_attribute(self.source.type)
        printer.print_string(" -> ")
        printer.print_attribute(self.result.type)
        _print_dims(printer, self.dims)

    @classmethod
    def parse(cls, parser: Parser) -> LoadOp:
        source = parser.parse_unresolved_operand()
        offsets, axes, steps = _parse_region(parser)
        sizes = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, lambda: parser.resolve_operand(parser.parse_unresolved_operand(), IndexType())
        )
        parser.parse_punctuation(":")
        tensor = parser.parse_type()
        parser.parse_punctuation("->")
        type_ = parser.parse_type()
        dims = _parse_dims(parser)
        return cls(parser.resolve_operand(source, tensor), offsets, sizes, axes, type_, dims, steps)


@irdl_op_definition
class StoreOp(IRDLOperation, Denotable, Interpretable):
    """`tile.store %v into %out[%m along p, %n along f] : tile, tensor`: the tensor with a region replaced.

    `%m along p by 2` writes every second element. A value in space `hbm` is only placed: the instruction that moves it
    is its producer.
    """

    name = "tile.store"
    value = operand_def(TileType)
    into = operand_def(TensorType)
    offsets = var_operand_def(IndexType)
    axes = prop_def(ArrayAttr[IntAttr])
    steps = opt_prop_def(ArrayAttr[IntAttr])
    result = result_def(TensorType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(NoMemoryEffect())

    def __init__(
        self,
        value: SSAValue,
        into: SSAValue,
        offsets: Sequence[SSAValue],
        axes: Sequence[int | None] | ArrayAttr[IntAttr],
        steps: Sequence[int] = (),
    ):
        encoded = axes if isinstance(axes, ArrayAttr) else ArrayAttr([IntAttr(-1 if a is None else a) for a in axes])
        super().__init__(
            operands=[value, into, list(offsets)],
            properties={"axes": encoded, "steps": _steps_attribute(steps)},
            result_types=[into.type],
        )

    def step_map(self) -> tuple[int, ...]:
        """For each tensor axis how far the next element of the tile goes."""
        return _step_map(self.steps, self.axes)

    def axis_map(self) -> tuple[int | None, ...]:
        """For each tensor axis the tile axis (0 partition, 1 free) it runs along, or None: fixed at its offset."""
        return _map_of(self.axes)

    def verify_(self) -> None:
        _verify_region(self.into.type, self.offsets, self.axes)
        _verify_steps(self.step_map(), self.axes)
        if self.result.type != self.into.type:
            raise VerifyException("the result has the type of the destination")

    def denote(self, walk: Denoter) -> None:
        value, into = walk.tensor(self.value), walk.tensor(self.into)
        offsets, axes, steps = _indices(walk, self.offsets), self.axis_map(), self.step_map()
        sizes = [const(1) if a is None else (value.shape[a] - 1) * s + 1 for a, s in zip(axes, steps, strict=True)]
        for a, n in enumerate(value.shape):
            if a not in axes:
                # An axis that the tensor lacks must be a single element.
                walk.require("store shape", t.equal(n, const(1)), self)
        walk.require("store in bounds", region_inside(offsets, sizes, into.shape), self)
        variables = tuple(fresh_var(f"i{n}") for n in range(len(into.shape)))
        at = tuple(map(of_var, variables))
        inside: list[Index] = [const(0), const(0)]
        written: list[t.Condition] = []
        for i, o, a, s in zip(at, offsets, axes, steps, strict=True):
            if a is None:
                written += [t.at_most(o, i), t.less(i, o + 1)]
                continue
            # Every s-th element from o on: those that leave the same remainder.
            inside[a] = i // s - o // s
            written += [t.at_most(o, i), t.less(i, o + value.shape[a] * s), t.equal(i % s, o % s)]
        body = t.select(t.conj(written), value.at(inside), into.at(at))
        walk.bind(self.result, t.Comprehension(into.shape, variables, body, into.dtype))

    def interpret(self, run: Interpreter) -> None:
        value, out = run.array(self.value), run.take(self.into)
        axes = self.axis_map()
        used = [a for a in axes if a is not None]
        if any(value.shape[a] != 1 for a in range(2) if a not in used):
            raise AxonError(f"a tile of shape {value.shape} does not fit its destination")
        part = value[tuple(slice(None) if a in used else 0 for a in range(2))]
        part = part.transpose([sorted(used).index(a) for a in used])
        sizes = [1 if a is None else value.shape[a] for a in axes]
        offsets = [run.integer(v) for v in self.offsets]
        steps = self.step_map()
        slices = tuple(slice(o, o + n * s, s) for o, n, s in zip(offsets, sizes, steps, strict=True))
        if min(offsets, default=0) < 0 or out[slices].shape != tuple(sizes):
            raise AxonError(f"a store of {sizes} at {offsets} reaches outside a tensor of shape {out.shape}")
        out[slices] = part.reshape(sizes)
        run.give(self.result, out)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.value)
        printer.print_string(" into ")
        printer.print_ssa_value(self.into)
        _print_region(printer, self.offsets, self.axes, self.step_map())
        printer.print_string(" : ")
        printer.print_attribute(self.value.type)
        printer.print_string(", ")
        printer.print_attribute(self.into.type)

    @classmethod
    def parse(cls, parser: Parser) -> StoreOp:
        value = parser.parse_unresolved_operand()
        parser.parse_characters("into")
        into = parser.parse_unresolved_operand()
        offsets, axes, steps = _parse_region(parser)
        parser.parse_punctuation(":")
        value_type = parser.parse_type()
        parser.parse_punctuation(",")
        into_type = parser.parse_type()
        tile, tensor = parser.resolve_operand(value, value_type), parser.resolve_operand(into, into_type)
        return cls(tile, tensor, offsets, axes, steps)


@irdl_op_definition
class ExtractOp(IRDLOperation, Denotable, Interpretable):
    """`tile.extract %t[%p, %f] (%ph, %fh) : tile -> tile`: a region of a tile; no data moves."""

    name = "tile.extract"
    source = operand_def(TileType)
    offsets = var_operand_def(IndexType)
    sizes = var_operand_def(IndexType)
    result = result_def(TileType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure())
    assembly_format = "$source `[` $offsets `]` `(` $sizes `)` attr-dict `:` type($source) `->` type($result)"

    def __init__(self, source: SSAValue, offsets: Sequence[SSAValue], sizes: Sequence[SSAValue], type_: Attribute):
        super().__init__(operands=[source, list(offsets), list(sizes)], result_types=[type_])

    def verify_(self) -> None:
        source, result = cast(TileType, self.source.type), self.result.type
        if (source.element_type, source.space) != (result.element_type, result.space):
            raise VerifyException("a region has the element type and the space of its source")
        if len(self.offsets) != 2 or len(self.sizes) != 2:
            raise VerifyException("a tile has two axes")

    def denote(self, walk: Denoter) -> None:
        source = walk.tensor(self.source)
        offsets, sizes = _indices(walk, self.offsets), _indices(walk, self.sizes)
        walk.require("extract in bounds", region_inside(offsets, sizes, source.shape), self)
        walk.bind(self.result, extract(source, offsets, sizes))

    def interpret(self, run: Interpreter) -> None:
        offsets, sizes = [run.integer(v) for v in self.offsets], [run.integer(v) for v in self.sizes]
        array = run.array(self.source)
        part = array[offsets[0] : offsets[0] + sizes[0], offsets[1] : offsets[1] + sizes[1]]
        if min(offsets) < 0 or part.shape != tuple(sizes):
            raise AxonError(f"a region of {sizes} at {offsets} reaches outside a tile of shape {array.shape}")
        run.bind(self.result, part)


@irdl_op_definition
class InsertOp(IRDLOperation, Denotable, Interpretable):
    """`tile.insert %v into %t[%p, %f] : tile, tile`: the tile with a region replaced."""

    name = "tile.insert"
    value = operand_def(TileType)
    into = operand_def(TileType)
    offsets = var_operand_def(IndexType)
    result = result_def(TileType)
    traits = traits_def(Pure())
    assembly_format = (
        "$value `into` $into `[` $offsets `]` attr-dict `:` type($value) `,` type($into) `->` type($result)"
    )

    def __init__(self, value: SSAValue, into: SSAValue, offsets: Sequence[SSAValue]):
        super().__init__(operands=[value, into, list(offsets)], result_types=[into.type])

    def verify_(self) -> None:
        value, into = cast(TileType, self.value.type), cast(TileType, self.into.type)
        if (value.element_type, value.space) != (into.element_type, into.space):
            raise VerifyException("a region has the element type and the space of its destination")
        if self.result.type != into:
            raise VerifyException("the result has the type of the destination")
        if len(self.offsets) != 2:
            raise VerifyException("a tile has two axes")

    def denote(self, walk: Denoter) -> None:
        value, into = walk.tensor(self.value), walk.tensor(self.into)
        offsets = _indices(walk, self.offsets)
        walk.require("insert in bounds", region_inside(offsets, value.shape, into.shape), self)
        walk.bind(self.result, insert(value, into, offsets))

    def interpret(self, run: Interpreter) -> None:
        value, out = run.array(self.value), run.take(self.into)
        o = [run.integer(v) for v in self.offsets]
        if any(a < 0 or a + n > d for a, n, d in zip(o, value.shape, out.shape, strict=True)):
            raise AxonError(f"a region of {value.shape} at {o} reaches outside a tile of shape {out.shape}")
        out[o[0] : o[0] + value.shape[0], o[1] : o[1] + value.shape[1]] = value
        run.give(self.result, out)


def _axis_size(item: Node) -> Index:
    """What an axis of an operand of a leaf's meaning is: a size of its own, or a number."""
    if not isinstance(item, Tree) or item.data not in ("name", "number"):
        raise MeaningError("an operand of a leaf has two axes, each a name or a number")
    text = str(item.children[0])
    return const(int(text)) if item.data == "number" else size_index(text)


def _verify_leaf_meaning(meaning: OpMeaning) -> None:
    """A leaf maps tiles to one tile; all it knows beside them are sizes of the program and where it stands."""
    if len(meaning.results) != 1:
        raise MeaningError(f"a leaf has one result, not {len(meaning.results)}")
    for access in (*meaning.operands, *meaning.results):
        if len(access.items) != 2 or any(getattr(i, "data", None) in ("pack", "sized_pack") for i in access.items):
            raise MeaningError(f"'{access.name}' is a tile, which has two axes")
    for name, kind in meaning.attributes:
        if not name.startswith((SIZE_PREFIX, PLACE_PREFIX)) or kind != "index":
            raise MeaningError(
                f"the attribute '{name}: {kind}' is not a size or a place; "
                f"accepted: {SIZE_PREFIX}K: index, {PLACE_PREFIX}k: index"
            )


def free_sizes(meaning: OpMeaning) -> tuple[str, ...]:
    """The axes of a leaf's result whose extent no operand has, in order."""
    bound = {str(_axis_size(i)) for o in meaning.operands for i in o.items}
    named = [str(i.children[0]) for i in meaning.results[0].items if isinstance(i, Tree) and i.data == "name"]
    return tuple(dict.fromkeys(n for n in named if n not in bound))


@irdl_op_definition
class LeafOp(IRDLOperation, Denotable, Interpretable):
    """One instruction's worth of work, with its meaning as text.

    ```
    %r = tile.leaf "op leaf(a[P, F], b[P, 1]) -> c[P, F] { c[p, f] = mul(a[p, f], b[p, 0]) }" (%a, %b) : (..) -> tile
    %s = tile.leaf "..." (%a, %b) sum into %acc : (..) -> tile
    %m = tile.leaf "op leaf(a[P, F]) <at_m: index, at_k: index> -> c[P, F] {
           c[p, f] = (if at_k + f <= at_m + p then a[p, f] else 0) }" (%a) at (at_m = %m, at_k = %k) : (..) -> tile
    %i = tile.leaf "op leaf() <at_m: index> -> c[P, F] { c[p, f] = at_m + p }" () at (at_m = %m) sizes (%mn, %kn) : ..
    ```
    With a destination the result is the destination combined with the meaning's value by the monoid. An attribute
    `size_K` of the meaning is the program's size K, an attribute `at_k` the index that `at` gives: where a tile
    begins. `sizes` are the extents of the result's axes that no operand has.
    """

    name = "tile.leaf"
    ins = var_operand_def(TileType)
    outs = opt_operand_def(TileType)
    places = var_operand_def(IndexType)
    sizes = var_operand_def(IndexType)
    text = prop_def(StringAttr)
    place_names = prop_def(ArrayAttr[StringAttr])
    accumulate = opt_prop_def(StringAttr)
    dims = opt_prop_def(ArrayAttr[StringAttr])
    result = result_def(TileType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(NoMemoryEffect())

    def __init__(
        self,
        text: str,
        ins: Sequence[SSAValue],
        type_: Attribute,
        *,
        outs: SSAValue | None = None,
        accumulate: str | None = None,
        dims: ArrayAttr[StringAttr] | None = None,
        places: Mapping[str, SSAValue] = MappingProxyType({}),
        sizes: Sequence[SSAValue] = (),
    ):
        super().__init__(
            operands=[list(ins), [outs] if outs is not None else [], list(places.values()), list(sizes)],
            properties={
                "text": StringAttr(text),
                "place_names": ArrayAttr([StringAttr(n) for n in places]),
                "accumulate": StringAttr(accumulate) if accumulate else None,
                "dims": dims,
            },
            result_types=[type_],
        )

    @property
    def leaf_meaning(self) -> OpMeaning:
        return parse_op(self.text.data)

    @property
    def placed(self) -> dict[str, SSAValue]:
        """Attribute of the meaning -> the index that it is."""
        return {n.data: v for n, v in zip(self.place_names.data, self.places, strict=True)}

    def attributes_of_meaning(self) -> Mapping[str, Any]:
        """The sizes of the program; places as variables of their own name."""
        return {
            name: of_var(Var(name)) if name.startswith(PLACE_PREFIX) else size_index(name.removeprefix(SIZE_PREFIX))
            for name, _ in self.leaf_meaning.attributes
        }

    def verify_(self) -> None:
        try:
            meaning = parse_op(self.text.data)
            _verify_leaf_meaning(meaning)
            operands = [t.tensor_input(o.name, [_axis_size(i) for i in o.items]) for o in meaning.operands]
            free = free_sizes(meaning)
            meaning.denote(operands, {**self.attributes_of_meaning(), **{n: size_index(n) for n in free}})
        except MeaningError as e:
            raise VerifyException(e.message) from e
        if len(meaning.operands) != len(self.ins):
            raise VerifyException(f"the meaning takes {len(meaning.operands)} operands")
        wanted = [n for n, _ in meaning.attributes if n.startswith(PLACE_PREFIX)]
        if sorted(n.data for n in self.place_names.data) != sorted(wanted) or len(self.places) != len(wanted):
            raise VerifyException(f"the meaning takes the places {', '.join(wanted) or 'none'}")
        if len(self.sizes) != len(free):
            raise VerifyException(f"the meaning takes the sizes {', '.join(free) or 'none'}, in this order")
        if (self.outs is None) != (self.accumulate is None):
            raise VerifyException("a destination and a monoid go together")
        if self.accumulate is not None and self.accumulate.data not in MONOIDS:
            raise VerifyException(f"unknown monoid '{self.accumulate.data}'; accepted: {', '.join(MONOIDS)}")
        if self.outs is not None and self.outs.type != self.result.type:
            raise VerifyException("the result has the type of the destination")

    def denote(self, walk: Denoter) -> None:
        operands = [walk.tensor(v) for v in self.ins]
        meaning = self.leaf_meaning
        places = {n: walk.index(v) for n, v in self.placed.items()}
        free = {n: walk.index(v) for n, v in zip(free_sizes(meaning), self.sizes, strict=True)}
        (value,) = meaning.denote(operands, {**self.attributes_of_meaning(), **places, **free})
        if self.outs is not None and self.accumulate is not None:
            into = walk.tensor(self.outs)
            for have, want in zip(value.shape, into.shape, strict=True):
                walk.require("destination shape", t.equal(have, want), self)
            at = [of_var(v) for v in value.variables]
            function = MONOIDS[self.accumulate.data].function
            value = replace(value, body=t.Apply(function, (into.at(at), value.body)))
        walk.bind(self.result, replace(value, dtype=self.result.type.dtype))

    def interpret(self, run: Interpreter) -> None:
        meaning = self.leaf_meaning
        places = {n: run.integer(v) for n, v in self.placed.items()}
        free = {n: run.integer(v) for n, v in zip(free_sizes(meaning), self.sizes, strict=True)}
        attributes = {**self.attributes_of_meaning(), **places, **free}
        (value,) = run.evaluate(meaning, [run.array(v) for v in self.ins], attributes)
        if self.outs is not None and self.accumulate is not None:
            into = run.array(self.outs)
            if into.shape != value.shape:
                raise AxonError(f"a value of shape {value.shape} does not fit a destination of shape {into.shape}")
            value = run.domain.apply(MONOIDS[self.accumulate.data].function, [into, value])
        run.bind(self.result, value)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_string_literal(self.text.data)
        printer.print_string(" (")
        printer.print_list(self.ins, printer.print_ssa_value)
        printer.print_string(")")
        print_places(printer, self.placed, self.sizes)
        if self.outs is not None and self.accumulate is not None:
            printer.print_string(f" {self.accumulate.data} into ")
            printer.print_ssa_value(self.outs)
        printer.print_string(" : (")
        printer.print_list([v.type for v in self.ins], printer.print_attribute)
        printer.print_string(") -> ")
        printer.print_attribute(self.result.type)
        _print_dims(printer, self.dims)

    @classmethod
    def parse(cls, parser: Parser) -> LeafOp:
        text = parser.parse_str_literal()
        ins = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
        places, sizes = parse_places(parser)
        accumulate = parser.parse_optional_identifier()
        outs = None
        if accumulate is not None:
            parser.parse_characters("into")
            outs = parser.parse_unresolved_operand()
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        parser.parse_punctuation("->")
        type_ = parser.parse_type()
        return cls(
            text,
            parser.resolve_operands(ins, types, parser.pos),
            type_,
            outs=parser.resolve_operand(outs, type_) if outs is not None else None,
            accumulate=accumulate,
            dims=_parse_dims(parser),
            places=places,
            sizes=sizes,
        )


def print_places(printer: Printer, places: Mapping[str, SSAValue], sizes: Sequence[SSAValue]) -> None:
    """Print `at (at_m = %m) sizes (%p, %f)`, each where there is one."""
    if places:
        printer.print_string(" at (")
        for n, (name, v) in enumerate(places.items()):
            printer.print_string(f"{', ' if n else ''}{name} = ")
            printer.print_ssa_value(v)
        printer.print_string(")")
    if sizes:
        printer.print_string(" sizes (")
        printer.print_list(sizes, printer.print_ssa_value)
        printer.print_string(")")


def parse_places(parser: Parser) -> tuple[dict[str, SSAValue], list[SSAValue]]:
    """Parse what `print_places` prints."""

    def value() -> SSAValue:
        return parser.resolve_operand(parser.parse_unresolved_operand(), IndexType())

    def pair() -> tuple[str, SSAValue]:
        name = parser.parse_identifier()
        parser.parse_punctuation("=")
        return name, value()

    pairs: list[tuple[str, SSAValue]] = []
    if parser.parse_optional_keyword("at"):
        at = parser.pos
        pairs = parser.parse_comma_separated_list(parser.Delimiter.PAREN, pair)
        if len({n for n, _ in pairs}) != len(pairs):
            parser.raise_error("two places have one name", at)
    sizes: list[SSAValue] = []
    if parser.parse_optional_keyword("sizes"):
        sizes = parser.parse_comma_separated_list(parser.Delimiter.PAREN, value)
    return dict(pairs), sizes


OPERATIONS: tuple[type[Operation], ...] = (
    IndexOp,
    YieldOp,
    ForOp,
    EmptyOp,
    NeutralOp,
    LoadOp,
    StoreOp,
    ExtractOp,
    InsertOp,
    LeafOp,
)
