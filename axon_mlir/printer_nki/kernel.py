# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One function of trn_isa as one kernel.

Loops and buffers are printed where the program has them, regions as slices or access patterns, instructions from the
call that their description gives. Sizes are read from the shapes of the arguments; a run-time scalar is a tensor in HBM
of shape (1, 1), and so is a result of rank 0. There is no trace-time `if`: the only thing that depends on an iteration
is whether a matrix product overwrites or accumulates, which is an argument.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from axon_mlir.dialects.tile import EmptyOp, ForOp, LoadOp, NeutralOp, StoreOp, TileType
from axon_mlir.dialects.trn_isa import DTYPES, InstructionOp, device_of
from axon_mlir.dialects.trn_isa.storage import (
    Aliasing,
    HbmRegion,
    IndexTerms,
    Region,
    Root,
    describe,
    refuse,
    storage_of,
)
from axon_mlir.errors import AxonError
from axon_mlir.printer_nki.expressions import UNARY, index_text, scalar_text
from axon_mlir.printer_nki.names import Names
from axon_mlir.semantics import terms as t
from axon_mlir.semantics.denotation import dtype_of, place
from axon_mlir.semantics.functions import MONOIDS
from axon_mlir.semantics.index import Index, Size, Var, const, parse, size
from axon_mlir.semantics.interpret import argument_names
from axon_mlir.semantics.shapes import dtype_name, is_tensor, shape_of
from axon_mlir.targets import CallConstant, CallRows, DType, Form
from axon_mlir.targets.rules import KindRule

WIDTH = 100
"""Longest line of a call before it is broken."""

INDENT = "    "


class _Terms(IndexTerms):
    """Index terms over the kernel's variables."""

    def __init__(self, func: FuncOp):
        super().__init__()
        self.func = func
        self.sizes: dict[str, Index] = {}

    def name(self, name: str) -> Index:
        found = self.sizes.get(name)
        if found is None:
            accepted = ", ".join(self.sizes) or "none"
            raise AxonError(f"the size '{name}' is not known in the kernel", where=place(self.func), accepted=accepted)
        return found

    def renamed(self, term: Index) -> Index:
        """A term over program sizes in the kernel's variables."""
        names = [s.name for s in term.symbols() if isinstance(s, Size)]
        return term.substitute({Size(n): self.name(n) for n in names})

    def scalar(self, term: t.Term) -> t.Term:
        """A scalar over program sizes in the kernel's variables."""
        names = [s.name for s in t.free_symbols(term) if isinstance(s, Size)]
        return t.substitute(term, {Size(n): self.name(n) for n in names})


class KernelPrinter:
    """Prints one function."""

    def __init__(self, func: FuncOp):
        self.func = func
        self.device = device_of(func)
        self.aliasing = Aliasing(func)
        self.aliasing.check()
        self.names = Names()
        self.terms = _Terms(func)
        self.variables: dict[Root, str] = {}
        self.lines: list[str] = []
        self.depth = 0
        last = func.body.block.last_op
        self.returned = [self.aliasing.root(v) for v in last.operands] if isinstance(last, ReturnOp) else []

    def text(self) -> str:
        """The kernel, without imports."""
        func = self.func
        parameters = [self.names.take(name) for name in argument_names(func)]
        for arg, parameter in zip(func.body.block.args, parameters, strict=True):
            self.variables[cast(Root, self.aliasing.slot(arg))] = parameter
        self.emit("@nki.jit")
        self.emit(f"def {kernel_name(func)}({', '.join(parameters)}):")
        self.depth = 1
        self.sizes(parameters)
        self.block(func.body.block)
        return "\n".join(self.lines) + "\n"

    def emit(self, line: str) -> None:
        if not line and not self.lines[-1]:
            return
        self.lines.append(f"{INDENT * self.depth}{line}" if line else "")

    # -- sizes --------------------------------------------------------------------------------------------------------

    def sizes(self, parameters: Sequence[str]) -> None:
        """Read every size from an axis of an argument."""
        waiting: list[tuple[str, Index]] = []
        for arg, parameter in zip(self.func.body.block.args, parameters, strict=True):
            shape = _shape(arg.type)
            fresh = [d.atom.name for d in shape if isinstance(d.atom, Size) and d.atom.name not in self.terms.sizes]
            if fresh and len(fresh) == len(shape) and len(set(fresh)) == len(shape):
                self.emit(f"{', '.join(map(self.bind_size, fresh))}{',' * (len(fresh) == 1)} = {parameter}.shape")
                continue
            for axis, d in enumerate(shape):
                if isinstance(d.atom, Size):
                    if d.atom.name not in self.terms.sizes:
                        self.emit(f"{self.bind_size(d.atom.name)} = {parameter}.shape[{axis}]")
                elif d.constant is None:
                    waiting.append((f"{parameter}.shape[{axis}]", d))
        while waiting:
            left = [item for item in waiting if not self.solve(*item)]
            if len(left) == len(waiting):
                break
            waiting = left

    def bind_size(self, symbol: str) -> str:
        name = self.names.take(symbol)
        self.terms.sizes[symbol] = size(name)
        return name

    def solve(self, axis: str, d: Index) -> bool:
        """Bind the one unknown size of an axis such as 2*H; False while it has several."""
        missing = [s for s in d.symbols() if isinstance(s, Size) and s.name not in self.terms.sizes]
        if not missing:
            return True
        coefficient = d.coefficient(missing[0])
        if len(missing) > 1 or coefficient is None:
            return False
        rest = self.terms.renamed(d.substitute({missing[0]: const(0)}))
        taken = axis if rest == 0 else f"({axis} - {index_text(rest, UNARY)})"
        divisor = self.terms.renamed(coefficient)
        value = taken if divisor == 1 else f"{taken} // {index_text(divisor, UNARY)}"
        self.emit(f"{self.bind_size(missing[0].name)} = {value}")
        return True

    # -- statements ---------------------------------------------------------------------------------------------------

    def block(self, block: Block) -> None:
        for op in block.ops:
            match op:
                case EmptyOp() | NeutralOp():
                    self.allocate(op, op.result)
                case InstructionOp():
                    for result in op.results_:
                        self.allocate(op, result)
                    self.call(op)
                case ForOp():
                    self.loop(op)
                case ReturnOp():
                    self.emit(f"return {', '.join(self.variables[r] for r in self.returned)}")
                case _:
                    pass

    def loop(self, op: ForOp) -> None:
        if isinstance(op.parent_op(), FuncOp):
            self.emit("")
            for line in textwrap.wrap(self.summary(op), WIDTH):
                self.emit(f"# {line}")
        lower, upper = index_text(self.terms(op.lower)), index_text(self.terms(op.upper))
        step = parse(op.step.data, self.terms.name)
        with self.names.scope():
            wish = op.start.name_hint or op.dim.data
            start = self.names.take(f"{wish}_i" if wish in self.terms.sizes else wish)
            hint = op.extent.name_hint
            length = self.names.take(f"{wish}_n" if hint is None or hint.endswith("_n") else hint)
            self.emit(f"for {start} in range({lower}, {upper}, {index_text(step)}):")
            self.depth += 1
            before = len(self.lines)
            if op.extent.uses:
                rest = index_text(self.terms(op.upper) - size(start))
                self.emit(f"{length} = min({index_text(step)}, {rest})")
            self.terms.bound[op.start] = size(start)
            self.terms.bound[op.extent] = size(length)
            self.block(op.body.block)
            if len(self.lines) == before:
                self.emit("pass")
            self.depth -= 1
        if isinstance(op.parent_op(), FuncOp):
            self.emit("")

    def summary(self, op: ForOp) -> str:
        """What a group of loops does, in a line."""
        dims = dict.fromkeys(inner.dim.data for inner in op.walk() if isinstance(inner, ForOp))
        work = dict.fromkeys(
            inner.INSTRUCTION for inner in op.walk() if isinstance(inner, InstructionOp) and not self.moves(inner)
        )
        stored = dict.fromkeys(
            self.variables[self.aliasing.root(inner.into)] for inner in op.walk() if isinstance(inner, StoreOp)
        )
        text = f"over {', '.join(dims)}: {', '.join(work) or 'copies'}"
        return f"{text}; into {', '.join(stored)}" if stored else text

    @staticmethod
    def moves(op: InstructionOp) -> bool:
        """Whether an instruction has one end in HBM."""
        return any(cast(TileType, v.type).space.data == "hbm" for v in (*op.ins, *op.results_))

    def allocate(self, op: Operation, value: SSAValue) -> None:
        root = self.aliasing.slot(value)
        if not isinstance(root, Root) or root.value is not value:
            return
        name = self.names.take(self.wish(op, value, root))
        self.variables[root] = name
        dtype = self.dtype(value)
        if not root.on_chip:
            shape = [self.terms.renamed(d) for d in shape_of(value.type)] or [const(1), const(1)]
            space = "shared_hbm" if root in self.returned else "private_hbm"
        else:
            if storage_of(root) is None:
                raise AxonError(
                    f"{describe(op)}: its storage is not decided",
                    where=place(op),
                    accepted="the output of isa-allocate",
                )
            if isinstance(op, NeutralOp) and root.space != "psum":
                refuse(op, f"a neutral value in {root.space} must be written by an instruction")
            first, second = self.aliasing.extents(value)
            shape = self.aliasing.physical_shape(root, self.device, (self.terms(first), self.terms(second)))
            space = root.space
        dims = ", ".join(map(index_text, shape)) + ("," if len(shape) == 1 else "")
        self.emit(f"{name} = nl.ndarray(({dims}), dtype={dtype}, buffer=nl.{space})")

    def wish(self, op: Operation, value: SSAValue, root: Root) -> str:
        """A name for a storage: the value's own, else what it holds."""
        if value.name_hint and not re.fullmatch(r"v\d+", value.name_hint):
            return value.name_hint
        if root.space == "hbm":
            return "out" if root in self.returned else "part"
        if isinstance(op, NeutralOp):
            return "acc"
        if isinstance(op, InstructionOp):
            folds = [u.operation.kinds.data[u.index - 2].data for u in value.uses if isinstance(u.operation, ForOp)]
            if any(kind in MONOIDS for kind in folds):
                return "total"
            base = self.kind(op)
            others = op.description.results[1:]
            rest = next((r.name for r, v in zip(others, op.results_[1:], strict=True) if v is value), "")
            return f"{base}_{rest.rpartition('_')[2]}" if rest else base
        writers = (w for w in self.func.walk() if isinstance(w, InstructionOp))
        first = next((w for w in writers if any(self.aliasing.root(r) is root for r in w.results_)), None)
        return "buffer" if first is None else f"{self.kind(first, whole=True)}_all"

    def kind(self, op: InstructionOp, *, whole: bool = False) -> str:
        """What an instruction computes, in a word: the tensor it loads, its last function, or its own name."""
        source = self.loaded(op)
        if source:
            return source if whole else f"{source}_t"
        functions = list(op.chosen_functions.values())
        return functions[-1] if functions else op.INSTRUCTION.rpartition("_")[2]

    def loaded(self, op: InstructionOp) -> str | None:
        """The tensor that an instruction copies from."""
        owner = op.ins[0].owner if op.ins else None
        if isinstance(owner, LoadOp):
            return self.variables.get(self.aliasing.root(owner.source))
        return None

    def dtype(self, value: SSAValue) -> str:
        return self.element(value).nki

    def element(self, value: SSAValue) -> DType:
        """The device's description of a value's element type."""
        name = dtype_of(value.type) or dtype_name(value.type)
        found = self.device.dtypes.get(DTYPES.get(name, name))
        if found is None:
            accepted = ", ".join(k for k, v in DTYPES.items() if v in self.device.dtypes)
            raise AxonError(f"{self.device.name} has no element type {name}", where=place(self.func), accepted=accepted)
        return found

    # -- instructions -------------------------------------------------------------------------------------------------

    def call(self, op: InstructionOp) -> None:
        instruction = self.device.instruction(op.INSTRUCTION)
        form = instruction.form(op.form.data)
        values: dict[str, str] = {}
        for rule, value in op.tile_operands():
            if not rule.outs:
                values[rule.name] = self.operand(value)
        for rule, result in zip(form.results, op.results_, strict=True):
            values[rule.name] = self.operand(result)
        tiles = {rule.name: v for rule, v in op.tile_operands()}
        values |= {
            str(a): self.rows(op, tiles[a.tensor], tiles[a.index]) for _, a in form.call if isinstance(a, CallRows)
        }
        places: dict[Size | Var, Index] = {Var(n): self.terms(v) for n, v in op.placed.items()}
        for name, term in op.immediate_terms.items():
            whole = self.is_whole(op, form, name)
            values[name] = scalar_text(t.substitute(self.terms.scalar(term), places), integer=whole)
        attributes: dict[str, str] = dict(op.chosen_functions)
        for name, index in op.immediate_indices.items():
            attributes[name] = index_text(self.terms.renamed(index).substitute(places))
        sizes: dict[str, str] = {}
        for rule, result in zip(form.results, op.results_, strict=True):
            for axis, extent in zip(rule.axes, self.aliasing.extents(result), strict=True):
                sizes[axis] = index_text(self.terms(extent))
        arguments = dict(form.spelled_arguments(values, attributes, sizes))
        if op.outs is not None and form.accumulates:
            arguments.update(self.accumulation(op, form, op.outs))
        self.statement(instruction.nki, [f"{k}={v}" for k, v in arguments.items()])

    def is_whole(self, op: InstructionOp, form: Form, immediate: str) -> bool:
        """Whether an immediate must be written as an integer, since it goes with a tile of integers."""
        tiles = [r.tile for r in form.rules if isinstance(r, KindRule) and r.immediate == immediate]
        results = {rule.name: v for rule, v in zip(form.results, op.results_, strict=True)}
        return any(self.element(results[name]).kind == "integer" for name in tiles if name in results)

    def statement(self, function: str, arguments: Sequence[str]) -> None:
        line = f"{function}({', '.join(arguments)})"
        if len(INDENT) * self.depth + len(line) <= WIDTH:
            self.emit(line)
            return
        self.emit(f"{function}(")
        room = WIDTH - len(INDENT) * (self.depth + 1)
        current = ""
        for argument in arguments:
            if current and len(current) + len(argument) + 2 > room:
                self.emit(f"{INDENT}{current}")
                current = ""
            current += f"{' ' if current else ''}{argument},"
        self.emit(f"{INDENT}{current}")
        self.emit(")")

    def accumulation(self, op: InstructionOp, form: Form, accumulator: SSAValue) -> dict[str, str]:
        """The argument that says whether this is the first write: False, True, or past the start of a fold's loops."""
        first = _overwriting(form, self.device.instruction(op.INSTRUCTION).forms)
        before = self.aliasing.accumulated_before(accumulator)
        if before is True:
            return {}
        if first is None:
            refuse(op, f"form {form.name} only accumulates, and its accumulator is empty at first")
        keyword, text = first
        if before is False:
            return {keyword: text}
        past = [f"{index_text(self.terms(loop.start))} > {index_text(self.terms(loop.lower))}" for loop in before]
        return {keyword: f"({' or '.join(past)})"}

    def operand(self, value: SSAValue) -> str:
        region = self.aliasing.region(value)
        return self.on_chip(region) if isinstance(region, Region) else self.in_hbm(region)

    def rows(self, op: InstructionOp, tensor: SSAValue, index: SSAValue) -> str:
        """Rows of a tensor in HBM that an index chooses: the first axis runs along the partitions."""
        region = self.aliasing.region(tensor)
        if not isinstance(region, HbmRegion) or not region.axes or region.axes[0] != 0 or region.steps[0] != 1:
            refuse(op, "chooses along another axis than the first of a tensor in HBM")
        count = self.aliasing.extents(index)[0]
        chosen = replace(region, extents=(count, region.extents[1]))
        return f"{self.pattern(chosen)[:-1]}, vector_offset={self.operand(index)}, indirect_dim=0)"

    def on_chip(self, region: Region) -> str:
        root, terms = region.root, self.terms
        name = self.variables[root]
        (p, f), (ph, fh) = map(terms.total, region.offsets), map(terms, region.extents)
        if self.aliasing.chunked(root, self.device):
            chunk = index_text(p // self.aliasing.chunk_rows(root, self.device))
            return f"{name}[{_range(const(0), ph)}, {chunk}, {_range(f, fh)}]"
        whole = tuple(map(terms, self.aliasing.extents(root.value)))
        if p == 0 and f == 0 and (ph, fh) == whole:
            return name
        return f"{name}[{_range(p, ph)}, {_range(f, fh)}]"

    def in_hbm(self, region: HbmRegion) -> str:
        terms = self.terms
        name = self.variables[region.root]
        shape = [terms.renamed(d) for d in _shape(region.root.value.type)]
        offsets, extents, axes = [terms(o) for o in region.offsets], [terms(e) for e in region.extents], region.axes
        if not shape and all(e == 1 for e in extents):
            return name
        slices = _slices(offsets, extents, axes) if all(s == 1 for s in region.steps) else None
        if slices is not None:
            return f"{name}[{', '.join(slices)}]"
        return self.pattern(region)

    def pattern(self, region: HbmRegion) -> str:
        """A region as an access pattern."""
        terms = self.terms
        shape = [terms.renamed(d) for d in _shape(region.root.value.type)]
        offsets, extents, axes = [terms(o) for o in region.offsets], [terms(e) for e in region.extents], region.axes
        strides: list[Index] = []
        stride = const(1)
        for d in reversed(shape):
            strides.insert(0, stride)
            stride = stride * d
        offset = const(0)
        along = [const(0), const(0)]
        for o, a, s, step in zip(offsets, axes, strides, region.steps, strict=True):
            offset = offset + o * s
            if a is not None:
                along[a] = s * step
        pattern = ", ".join(f"[{index_text(s)}, {index_text(n)}]" for s, n in zip(along, extents, strict=True))
        return f"{self.variables[region.root]}.ap(pattern=[{pattern}], offset={index_text(offset)})"


def _shape(type_: Attribute) -> tuple[Index, ...]:
    """The shape of a tensor, or of a scalar."""
    return shape_of(type_) if is_tensor(type_) else ()


def _range(start: Index, extent: Index) -> str:
    end = index_text(start + extent)
    if start.atom is not None and extent.atom is not None:
        end = f"{index_text(start)} + {index_text(extent)}"
    return f"{index_text(start)}:{end}"


def _slices(offsets: Sequence[Index], extents: Sequence[Index], axes: Sequence[int | None]) -> list[str] | None:
    """Subscripts of a region whose tile axes run in the order of the tensor's; None when only a pattern says it."""
    used = [a for a in axes if a is not None]
    if len(axes) < 2 or used != sorted(used):
        return None
    out: list[str] = []
    if len(axes) == 2:
        # An axis of the tile that no axis of the tensor runs along is one element.
        for axis, (o, a) in enumerate(zip(offsets, axes, strict=True)):
            if a is not None and a != axis:
                return None
            if a is None and extents[axis] != 1:
                return None
            out.append(_range(o, extents[axis]))
        return out
    if used != [0, 1]:
        return None
    return [index_text(o) if a is None else _range(o, extents[a]) for o, a in zip(offsets, axes, strict=True)]


def _overwriting(form: Form, forms: Sequence[Form]) -> tuple[str, str] | None:
    """The argument by which a form that writes the same without an accumulator differs: its keyword and text."""
    names = [o.name for o in form.operands if not o.outs]
    call = dict(form.call)
    for other in forms:
        if [o.name for o in other.operands] != names or [k for k, _ in other.call] != list(call):
            continue
        different = [(k, a) for k, a in other.call if a != call[k]]
        if len(different) == 1:
            keyword, argument = different[0]
            if isinstance(argument, CallConstant) and argument.text in ("True", "False"):
                return keyword, argument.text
    return None


def kernel_name(func: FuncOp) -> str:
    """The Python name of a function's kernel."""
    return Names().take(func.sym_name.data)
