# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which values share storage: the analysis that `isa-allocate` and the printer have in common.

Values are in destination-passing style, so most share the storage of what they update: an inserted or stored region is
written by the instruction that computes it, loops carry one storage, an accumulation replaces its accumulator, a value
that a loop yields is written over the carried one. What is left are *roots*: tensors in HBM and on-chip buffers.
`check` walks the program with the value that each storage holds and refuses a read of anything else: such a program
would need a copy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn, cast

from xdsl.dialects.builtin import ArrayAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue

from axon_mlir.dialects.tile import (
    EmptyOp,
    ExtractOp,
    ForOp,
    IndexOp,
    InsertOp,
    LoadOp,
    NeutralOp,
    StoreOp,
    TileType,
    YieldOp,
)
from axon_mlir.dialects.trn_isa.attributes import StorageAttr
from axon_mlir.dialects.trn_isa.descriptions import size_values, upper_number
from axon_mlir.dialects.trn_isa.ops import InstructionOp
from axon_mlir.errors import AxonError
from axon_mlir.semantics.denotation import place
from axon_mlir.semantics.index import Index, ceil_div, const, fresh_var, minimum, of_var, parse
from axon_mlir.semantics.index import size as size_index
from axon_mlir.targets import Device

STORAGE_ATTRIBUTE = "storage"
"""Of an operation that begins a storage: a StorageAttr, or for several results an array with one (or unit) each."""


@dataclass(frozen=True, eq=False)
class Root:
    """A storage of its own: an argument, or what an operation's result begins."""

    value: SSAValue

    @property
    def op(self) -> Operation | None:
        """The operation that begins it; None for arguments."""
        return self.value.owner if isinstance(self.value, OpResult) else None

    @property
    def space(self) -> str:
        """hbm, sbuf or psum."""
        return self.value.type.space.data if isinstance(self.value.type, TileType) else "hbm"

    @property
    def on_chip(self) -> bool:
        return self.space != "hbm"

    @property
    def tile(self) -> TileType:
        """The type of an on-chip root."""
        return cast(TileType, self.value.type)


@dataclass(frozen=True, eq=False)
class Insertion:
    """The region of another storage that `op` puts a value into; the value is written there from the start."""

    op: InsertOp | StoreOp
    parent: Root | Insertion

    @property
    def root(self) -> Root:
        """The storage around it."""
        return self.parent if isinstance(self.parent, Root) else self.parent.root


Slot = Root | Insertion
Extent = SSAValue | int


@dataclass(frozen=True)
class Region:
    """Where an on-chip value lies in its root: offsets to add up, extents; both by tile axis."""

    root: Root
    offsets: tuple[tuple[SSAValue, ...], tuple[SSAValue, ...]]
    extents: tuple[Extent, Extent]


@dataclass(frozen=True)
class HbmRegion:
    """A region of a tensor: an offset per tensor axis, the tile axis that each runs along, in which steps, extents by
    tile axis."""

    root: Root
    offsets: tuple[SSAValue, ...]
    axes: tuple[int | None, ...]
    steps: tuple[int, ...]
    extents: tuple[Extent, Extent]


def root_of(slot: Slot) -> Root:
    """The storage around a slot."""
    return slot if isinstance(slot, Root) else slot.root


def describe(op: Operation) -> str:
    """An operation in words."""
    names = ", ".join(f"%{r.name_hint}" for r in op.results if r.name_hint)
    return f"'{op.name}'" + (f" ({names})" if names else "")


def refuse(op: Operation, why: str) -> NoReturn:
    """The program needs something that no instruction does."""
    raise AxonError(f"{describe(op)}: {why}", where=place(op))


def instructions_of(func: FuncOp) -> list[InstructionOp]:
    """Every instruction of a function in program order."""
    return [op for op in func.walk() if isinstance(op, InstructionOp)]


class IndexTerms:
    """Index values as terms: loop arguments are variables, index arithmetic is followed."""

    def __init__(self, bound: Mapping[SSAValue, Index] | None = None):
        self.bound: dict[SSAValue, Index] = dict(bound or {})

    def __call__(self, value: Extent) -> Index:
        if isinstance(value, int):
            return const(value)
        found = self.bound.get(value)
        if found is None:
            found = self._term(value)
            self.bound[value] = found
        return found

    def total(self, values: Sequence[SSAValue]) -> Index:
        """The sum of the values."""
        out = const(0)
        for v in values:
            out = out + self(v)
        return out

    def name(self, name: str) -> Index:
        """The term of a program size or parameter."""
        return size_index(name)

    def _term(self, value: SSAValue) -> Index:
        owner = value.owner
        if isinstance(owner, IndexOp):
            names = dict(zip((n.data for n in owner.names.data), map(self, owner.operands_), strict=True))
            return parse(owner.expression.data, lambda n: names[n] if n in names else self.name(n))
        if isinstance(owner, Block):
            loop = owner.parent_op()
            if isinstance(loop, ForOp) and value is loop.extent:
                return minimum(parse(loop.step.data, self.name), self(loop.upper) - self(loop.start))
        return of_var(fresh_var(value.name_hint or "i"))


class Aliasing:
    """The storage of every value of a function.

    AxonError where a value would have to be in two places, or would have to be copied.
    """

    def __init__(self, func: FuncOp):
        self.func = func
        self._slots: dict[SSAValue, Slot] = {}
        self._extents: dict[SSAValue, tuple[Extent, Extent]] = {}
        self._insertions: dict[Operation, Insertion] = {}
        self._active: set[SSAValue] = set()
        self._chunked: dict[tuple[Root, str], bool] = {}
        self._chunk_rows: dict[Root, int] = {}
        self.terms = IndexTerms()
        self.roots: list[Root] = []
        """Every storage, in the order of the program."""
        for arg in func.body.block.args:
            self.roots.append(cast(Root, self.slot(arg)))
        for op in func.walk():
            for result in op.results:
                if isinstance(op, InstructionOp | EmptyOp | NeutralOp | ForOp | InsertOp | StoreOp):
                    slot = self.slot(result)
                    if isinstance(slot, Root) and slot.value is result:
                        self.roots.append(slot)

    # -- slots --------------------------------------------------------------------------------------------------------

    def slot(self, value: SSAValue) -> Slot:
        """The storage of a value that is no view."""
        found = self._slots.get(value)
        if found is None:
            if value in self._active:
                refuse(cast(Operation, value.owner), "its storage depends on itself")
            self._active.add(value)
            found = self._slot(value)
            self._active.discard(value)
            self._slots[value] = found
        return found

    def _slot(self, value: SSAValue) -> Slot:
        if isinstance(value, BlockArgument):
            loop = value.block.parent_op()
            if isinstance(loop, ForOp):
                return self.slot(loop.inits[value.index - 2])
            return Root(value)
        assert isinstance(value, OpResult)
        op = value.op
        match op:
            case ForOp():
                return self.slot(op.inits[value.index])
            case InsertOp() | StoreOp():
                return self.slot(op.into)
            case InstructionOp() if op.outs is not None and op.description.results[value.index].tied is not None:
                return self.slot(op.outs)
            case InstructionOp() | EmptyOp() | NeutralOp():
                target = self._destination(value)
                if target is None:
                    if isinstance(value.type, TileType) and value.type.space.data == "hbm":
                        refuse(op, "a result in HBM must be placed by a tile.store")
                    return Root(value)
                return target if isinstance(target, Insertion) else self.slot(target)
            case _:
                refuse(op, "has no storage at this level")

    def _destination(self, value: SSAValue) -> Insertion | SSAValue | None:
        """Where a new value has to be written: a region, over a value that a loop carries, or (None) anywhere."""
        found: list[Insertion | SSAValue] = []
        for use in value.uses:
            op = use.operation
            target: Insertion | SSAValue | None = None
            match op:
                case InsertOp() | StoreOp() if use.index == 0:
                    target = self._insertion(op)
                case InsertOp() | StoreOp():
                    target = self._destination(op.result)
                case ForOp() if use.index >= 2:
                    target = self._destination(op.results_[use.index - 2])
                case YieldOp():
                    loop = op.parent_op()
                    assert isinstance(loop, ForOp)
                    target = loop.carried[use.index]
                case InstructionOp() if op.outs is value:
                    tied = next(n for n, r in enumerate(op.description.results) if r.tied is not None)
                    target = self._destination(op.results_[tied])
                case _:
                    pass
            if target is not None and all(target is not f for f in found):
                found.append(target)
        if len(found) > 1:
            refuse(cast(Operation, value.owner), "its result is needed in two places, which needs a copy")
        return found[0] if found else None

    def _insertion(self, op: InsertOp | StoreOp) -> Insertion:
        if isinstance(op, StoreOp) and cast(TileType, op.value.type).space.data != "hbm":
            refuse(op, "an on-chip tile reaches HBM only by an instruction that moves it")
        found = self._insertions.get(op)
        if found is None:
            found = Insertion(op, self.slot(op.into))
            self._insertions[op] = found
        return found

    def root(self, value: SSAValue) -> Root:
        """The storage that a value, or the value it views, lies in."""
        return root_of(self.slot(self.viewed(value)))

    @staticmethod
    def viewed(value: SSAValue) -> SSAValue:
        """What an extract or a load looks at; other values are themselves."""
        while isinstance(value.owner, ExtractOp | LoadOp):
            value = value.owner.source
        return value

    def origins(self) -> list[tuple[SSAValue, Insertion]]:
        """Every value that begins in a region of another storage."""
        return [
            (v, s)
            for v, s in self._slots.items()
            if isinstance(s, Insertion)
            and isinstance(v.owner, InstructionOp | EmptyOp | NeutralOp)
            and not (isinstance(v.owner, InstructionOp) and v.owner.outs is not None)
        ]

    # -- extents and regions ------------------------------------------------------------------------------------------

    def extents(self, value: SSAValue) -> tuple[Extent, Extent]:
        """The real extents of a tile."""
        found = self._extents.get(value)
        if found is None:
            found = self._extents_of(value)
            self._extents[value] = found
        return found

    def _extents_of(self, value: SSAValue) -> tuple[Extent, Extent]:
        if isinstance(value, BlockArgument):
            loop = value.block.parent_op()
            assert isinstance(loop, ForOp)
            return self.extents(loop.inits[value.index - 2])
        assert isinstance(value, OpResult)
        op = value.op
        match op:
            case ForOp():
                return self.extents(op.inits[value.index])
            case InsertOp():
                return self.extents(op.into)
            case ExtractOp() | LoadOp() | EmptyOp() | NeutralOp():
                return (op.sizes[0], op.sizes[1])
            case InstructionOp():
                form = op.description
                known: dict[str, Extent] = dict(zip(form.free_sizes, op.sizes, strict=True))
                for rule, operand in op.tile_operands():
                    for axis, extent in zip(rule.axes, self.extents(operand), strict=True):
                        known.setdefault(axis, extent)
                first, second = form.results[value.index].axes
                numbers: dict[str, Extent] = {a: int(a) for a in (first, second) if a.isdigit()}
                return (numbers.get(first) or known.get(first, 1), numbers.get(second) or known.get(second, 1))
            case _:
                refuse(op, "has no extents at this level")

    def region(self, value: SSAValue) -> Region | HbmRegion:
        """Where a tile lies."""
        extents = self.extents(value)
        owner = value.owner
        if isinstance(owner, LoadOp):
            return HbmRegion(self.root(owner.source), tuple(owner.offsets), owner.axis_map(), owner.step_map(), extents)
        if isinstance(owner, ExtractOp):
            around = self.region(owner.source)
            if isinstance(around, HbmRegion):
                refuse(owner, "extracts from a region of HBM, which a tile.load can give directly")
            (p, f), offsets = around.offsets, owner.offsets
            return Region(around.root, ((*p, offsets[0]), (*f, offsets[1])), extents)
        return self._slot_region(self.slot(value), extents)

    def _slot_region(self, slot: Slot, extents: tuple[Extent, Extent]) -> Region | HbmRegion:
        if isinstance(slot, Root):
            return Region(slot, ((), ()), extents)
        op = slot.op
        if isinstance(op, StoreOp):
            return HbmRegion(slot.root, tuple(op.offsets), op.axis_map(), op.step_map(), extents)
        around = self._slot_region(slot.parent, extents)
        assert isinstance(around, Region)
        (p, f), offsets = around.offsets, op.offsets
        return Region(around.root, ((*p, offsets[0]), (*f, offsets[1])), extents)

    # -- chunks -------------------------------------------------------------------------------------------------------

    def chunked(self, root: Root, device: Device) -> bool:
        """Whether a buffer is stored in chunks of at most all partitions.

        It is when no number of the program keeps its partition bound within the device. A bound that only this
        program's sizes keep within it does not count, unless an instruction takes the buffer whole.
        """
        key = (root, device.name)
        if key not in self._chunked:
            self._chunked[key] = self._in_chunks(root, device.limits["partitions"])
        return self._chunked[key]

    def _in_chunks(self, root: Root, partitions: int) -> bool:
        bound = root.tile.upper[0]
        least = upper_number(bound, {})
        if least is not None and least <= partitions:
            return False
        number = upper_number(bound, size_values(self.func))
        return number is None or number > partitions or not self._taken_whole(root)

    def _taken_whole(self, root: Root) -> bool:
        for op in instructions_of(self.func):
            for value in (*(v for _, v in op.tile_operands()), *op.results_):
                if self.viewed(value) is value and isinstance(value.type, TileType) and self.slot(value) is root:
                    return True
        return False

    def chunk_rows(self, root: Root, device: Device) -> int:
        """Partitions of one chunk: the step of the loops that fill and read the buffer along its partition axis.

        A region of a chunked buffer is one chunk, so all these loops must have the same step; AxonError otherwise.
        """
        if root not in self._chunk_rows:
            steps: dict[int, Operation] = {}
            for op in self.func.walk():
                if isinstance(op, InsertOp | ExtractOp):
                    buffer = op.into if isinstance(op, InsertOp) else op.source
                    loop = loop_at(op.offsets[0])
                    if loop is not None and self.root(buffer) is root:
                        steps.setdefault(int(loop.step.data), op)
                        if any(int(outer.step.data) % int(loop.step.data) for outer in _same_dimension(loop)):
                            refuse(op, "a buffer in chunks is used in steps that are not aligned with the loops around")
            if len(steps) > 1:
                refuse(next(reversed(steps.values())), f"a buffer in chunks is used in steps of {sorted(steps)} rows")
            self._chunk_rows[root] = next(iter(steps), device.limits["partitions"])
        return self._chunk_rows[root]

    def bytes(self, root: Root, device: Device, dtypes: Mapping[str, str]) -> int:
        """Bytes that an on-chip storage needs in every partition; AxonError when the sizes have no numbers."""
        values = size_values(self.func)
        tile = root.tile
        bounds = [upper_number(b, values) for b in tile.upper]
        if any(b is None for b in bounds):
            shown = ", ".join(map(str, tile.upper))
            raise AxonError(
                f"{describe(cast(Operation, root.op))}: no number bounds a tile of [{shown}]",
                where=place(cast(Operation, root.op)),
                accepted="bounds that the function's axon.values determine",
            )
        first, second = cast("list[int]", bounds)
        partitions = device.limits["partitions"]
        chunks = -(-first // self.chunk_rows(root, device)) if self.chunked(root, device) else 1
        if first > partitions and chunks == 1:
            refuse(cast(Operation, root.op), f"has {first} partitions; {device.name} has {partitions}")
        return chunks * second * device.dtypes[dtypes[tile.dtype]].bytes

    def physical_shape(self, root: Root, device: Device, extents: tuple[Index, Index]) -> tuple[Index, ...]:
        """The shape that is allocated, for extents of the whole value."""
        if not self.chunked(root, device):
            return extents
        rows = self.chunk_rows(root, device)
        return (const(rows), ceil_div(extents[0], rows), extents[1])

    # -- accumulation -------------------------------------------------------------------------------------------------

    def accumulated_before(self, value: SSAValue) -> bool | tuple[ForOp, ...]:
        """Whether an accumulator already holds something: always, never, or when some of these loops are not at their
        start."""
        owner = value.owner
        if isinstance(owner, NeutralOp):
            return False
        if isinstance(owner, InstructionOp) and owner.description.accumulates:
            return True
        if isinstance(value, BlockArgument):
            loop = value.block.parent_op()
            if isinstance(loop, ForOp):
                k = value.index - 2
                before = self.accumulated_before(loop.inits[k])
                if before is True:
                    return True
                if loop.yielded[k] is value:
                    return before
                return (*(before or ()), loop)
        if isinstance(owner, ForOp):
            assert isinstance(value, OpResult)
            # Sizes are at least 1, so that a loop has an iteration.
            yielded = owner.yielded[value.index]
            carried = owner.carried[value.index]
            if yielded is carried:
                return self.accumulated_before(owner.inits[value.index])
            return True
        op = owner if isinstance(owner, Operation) else self.func
        refuse(op, "accumulates onto a value that is no accumulator; it must begin with tile.neutral")

    # -- reads see what was meant -------------------------------------------------------------------------------------

    def check(self) -> None:
        """AxonError where an operation reads a value whose storage was overwritten, or reads what is half written."""
        _Walk(self).function()

    def same_place(self, a: Region | HbmRegion, b: Region | HbmRegion) -> bool:
        """Whether two regions of one storage certainly coincide."""
        if isinstance(a, Region) and isinstance(b, Region):
            return all(
                self.terms.total(x) == self.terms.total(y) for x, y in zip(a.offsets, b.offsets, strict=True)
            ) and all(self.terms(x) == self.terms(y) for x, y in zip(a.extents, b.extents, strict=True))
        return False


def _same_dimension(loop: ForOp) -> Iterator[ForOp]:
    """The loops around a loop that step the same dimension."""
    parent = loop.parent_op()
    while parent is not None:
        if isinstance(parent, ForOp) and parent.dim == loop.dim:
            yield parent
        parent = parent.parent_op()


def loop_at(offset: SSAValue) -> ForOp | None:
    """The loop that an offset moves with: its start, or its start and those of loops around it."""
    if isinstance(offset.owner, IndexOp):
        found = [loop for v in offset.owner.operands_ if (loop := loop_at(v)) is not None]
        return next((loop for loop in found if not any(o is not loop and loop.is_ancestor(o) for o in found)), None)
    loop = offset.owner.parent_op() if not isinstance(offset.owner, Operation) else None
    return loop if isinstance(loop, ForOp) and offset is loop.start else None


def storage_of(root: Root) -> StorageAttr | None:
    """The annotation of a storage."""
    if not isinstance(root.value, OpResult):
        return None
    found = root.value.op.attributes.get(STORAGE_ATTRIBUTE)
    if isinstance(found, ArrayAttr):
        items = cast("ArrayAttr[Attribute]", found).data
        found = items[root.value.index] if root.value.index < len(items) else None
    return found if isinstance(found, StorageAttr) else None


class _Walk:
    """Follows the program with the value that each slot holds."""

    def __init__(self, aliasing: Aliasing):
        self.aliasing = aliasing
        self.current: dict[Slot, SSAValue] = {}
        self.open: list[Insertion] = []
        """Regions written ahead of the operation that puts them in place, in order."""
        self.put_in: dict[SSAValue, InsertOp | StoreOp] = {}
        """Values that were put in place; they can be read until the storage around them changes again."""

    def function(self) -> None:
        func = self.aliasing.func
        for arg in func.body.block.args:
            self.current[self.aliasing.slot(arg)] = arg
        self.block(func.body.block)

    def block(self, block: Block) -> None:
        for op in block.ops:
            self.operation(op)

    def operation(self, op: Operation) -> None:
        match op:
            case InstructionOp():
                self.instruction(op)
            case EmptyOp() | NeutralOp():
                self.write(op, op.result)
            case InsertOp() | StoreOp():
                self.put(op)
            case ForOp():
                self.loop(op)
            case ReturnOp():
                for value in op.operands:
                    self.read(op, value)
            case IndexOp() | ExtractOp() | LoadOp() | YieldOp():
                pass
            case _:
                refuse(op, "is not an operation of this level")

    def read(self, op: Operation, value: SSAValue) -> None:
        base = self.aliasing.viewed(value)
        slot = self.aliasing.slot(base)
        if self.current.get(slot) is not base:
            placed = self.put_in.get(base)
            if placed is None or not isinstance(slot, Insertion) or self.current.get(slot.parent) is not placed.result:
                refuse(op, f"reads {_named(base)} after its storage was overwritten, which needs a copy")
            slot = slot.parent
        for child in self.open:
            if child.parent is slot:
                refuse(op, f"reads {_named(base)} while {describe(child.op)} is being written into its storage")

    def write(self, op: Operation, value: SSAValue) -> None:
        slot = self.aliasing.slot(value)
        if isinstance(slot, Insertion) and slot not in self.current:
            self.open.append(slot)
        elif any(child.parent is slot for child in self.open):
            refuse(op, f"overwrites the storage that {describe(slot_op(self.open, slot))} is being written into")
        self.current[slot] = value

    def instruction(self, op: InstructionOp) -> None:
        form = op.description
        for _, value in op.tile_operands():
            self.read(op, value)
        for rule, result in zip(form.results, op.results_, strict=True):
            root = self.aliasing.root(result)
            for operand, value in op.tile_operands():
                if operand.outs and operand.tied == rule.name:
                    continue
                if self.aliasing.root(value) is root and not self.in_place(operand.axes, rule.axes, value, result):
                    refuse(op, f"would overwrite its operand {operand.name} while it reads it, which needs a copy")
            self.write(op, result)

    def in_place(self, read: Sequence[str], written: Sequence[str], value: SSAValue, result: SSAValue) -> bool:
        """Whether an element is only ever read at the place where it is written."""
        if tuple(read) != tuple(written):
            bounds = [cast(TileType, v.type).upper[1].constant for v in (value, result)]
            if read[0] != written[0] or bounds != [1, 1]:
                return False
        return self.aliasing.same_place(self.aliasing.region(value), self.aliasing.region(result))

    def put(self, op: InsertOp | StoreOp) -> None:
        slot = self.aliasing.slot(self.aliasing.viewed(op.value))
        if not isinstance(slot, Insertion) or slot.op is not op or isinstance(op.value.owner, ExtractOp | LoadOp):
            refuse(op, "places a value that lives elsewhere, which needs a copy")
        if self.current.get(slot) is not op.value:
            refuse(op, f"places {_named(op.value)} after its storage was overwritten")
        parent = slot.parent
        siblings = [child for child in self.open if child.parent is parent]
        if siblings[0] is not slot:
            refuse(op, "is placed in another order than the values are computed, which needs a copy")
        if self.current.get(parent) is not op.into:
            refuse(op, f"updates {_named(op.into)} after its storage was overwritten, which needs a copy")
        self.open.remove(slot)
        del self.current[slot]
        self.put_in[op.value] = op
        self.current[parent] = op.result

    def loop(self, op: ForOp) -> None:
        slots = [self.aliasing.slot(v) for v in op.inits]
        if len(set(slots)) != len(slots):
            refuse(op, "carries two values in one storage, which needs a copy")
        for slot, init, arg in zip(slots, op.inits, op.carried, strict=True):
            if self.current.get(slot) is not init:
                refuse(op, f"begins with {_named(init)} after its storage was overwritten, which needs a copy")
            self.current[slot] = arg
        before, opened = dict(self.current), list(self.open)
        self.block(op.body.block)
        for slot, value in zip(slots, op.yielded, strict=True):
            if self.aliasing.slot(self.aliasing.viewed(value)) is not slot or self.current.get(slot) is not value:
                refuse(op, f"carries {_named(value)} on, which is not in the carried storage and needs a copy")
        for slot, value in before.items():
            if slot not in slots and self.current.get(slot) is not value:
                refuse(op, f"its body overwrites {_named(value)} of outside without carrying it")
        if self.open != opened:
            refuse(op, "a value is written ahead in the body and placed outside of it")
        self.current = before
        for slot, result in zip(slots, op.results_, strict=True):
            self.current[slot] = result


def slot_op(opened: Sequence[Insertion], parent: Slot) -> Operation:
    """The operation that places the first open region of a slot."""
    return next(child.op for child in opened if child.parent is parent)


def _named(value: SSAValue) -> str:
    if value.name_hint:
        return f"%{value.name_hint}"
    return f"the result of {describe(value.owner)}" if isinstance(value.owner, Operation) else "an argument"
