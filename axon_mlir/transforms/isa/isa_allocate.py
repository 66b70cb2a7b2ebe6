# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""isa-allocate: decides where every on-chip value is stored.

Values that share storage are found by `dialects.trn_isa.storage`; index arithmetic that says where a value goes moves
before the instruction that computes it. Each root then gets a byte address that holds in all partitions: first fit over
live ranges, in SBUF at multiples of the widest element type, in PSUM in whole banks. The program stays in SSA form: a
root's operation is annotated with `storage`. Addresses say that the program fits; kernels do not contain them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass

from axon_mlir.dialects.tile import EmptyOp, IndexOp, TileType
from axon_mlir.dialects.trn_isa import DTYPES, InstructionOp, StorageAttr, device_of, storage_attr
from axon_mlir.dialects.trn_isa.allocation import capacity, sbuf_unit, verify_allocation
from axon_mlir.dialects.trn_isa.storage import (
    STORAGE_ATTRIBUTE,
    Aliasing,
    Insertion,
    Root,
    describe,
    refuse,
)
from axon_mlir.errors import AxonError
from axon_mlir.semantics.denotation import place
from axon_mlir.targets import Device


@dataclass(frozen=True)
class IsaAllocate(ModulePass):
    """Decide the storage of every on-chip value."""

    name = "isa-allocate"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in op.body.block.ops:
            if isinstance(func, FuncOp) and any(isinstance(inner, InstructionOp) for inner in func.walk()):
                allocate(func, device_of(func))


def allocate(func: FuncOp, device: Device) -> None:
    """Hoist, place and annotate one function."""
    _hoist(Aliasing(func))
    aliasing = Aliasing(func)
    aliasing.check()
    ranges = live_ranges(aliasing)
    placed: dict[Root, StorageAttr] = {}
    names = _labels(ranges)
    for space, unit in (("sbuf", sbuf_unit(device)), ("psum", device.limits["psum_bank_bytes"])):
        chosen = {r: live for r, live in ranges.items() if r.space == space}
        sizes = {r: aliasing.bytes(r, device, DTYPES) for r in chosen}
        for root, address in _first_fit(chosen, sizes, unit).items():
            placed[root] = storage_attr(names[root], space, address, sizes[root])
        _check_capacity(func, device, space, placed)
    _annotate(placed)
    verify_allocation(func, device)


def _check_capacity(func: FuncOp, device: Device, space: str, placed: Mapping[Root, StorageAttr]) -> None:
    ends = [(s.address.data + s.bytes.data, s) for r, s in placed.items() if r.space == space]
    limit, name = capacity(device, space)
    if ends and max(e for e, _ in ends) > limit:
        needed, worst = max(ends, key=lambda pair: pair[0])
        largest = sorted((s for _, s in ends), key=lambda s: -s.bytes.data)[:4]
        shown = ", ".join(f"{s.label.data} {s.bytes.data}" for s in largest)
        raise AxonError(
            f"function {func.sym_name.data} needs {needed} bytes of a partition in {space} (the last for "
            f"'{worst.label.data}'; the largest are {shown}); {device.name} has {limit}",
            where=place(func),
            accepted=f"at most {limit} ({name}): smaller blocks",
        )


# -- hoisting ---------------------------------------------------------------------------------------------------------


def _hoist(aliasing: Aliasing) -> None:
    """Move index arithmetic (and buffers) that regions need before the first operation that writes into them."""
    for value, slot in aliasing.origins():
        origin = cast(Operation, value.owner)
        around: Root | Insertion = slot
        while isinstance(around, Insertion):
            for offset in around.op.offsets:
                _move_before(offset, origin, around.op)
            around = around.parent
        _move_before(around.value, origin, slot.op)


def _move_before(value: SSAValue, origin: Operation, user: Operation) -> None:
    """Make `value`, which `user` needs, available at `origin`, which comes before or lies in a loop before."""
    owner = value.owner
    if isinstance(owner, Block):
        return
    block = owner.parent
    anchor: Operation | None = origin
    while anchor is not None and anchor.parent is not block:
        anchor = anchor.parent_op()
    if anchor is None or block is None:
        refuse(user, f"its place depends on {describe(owner)}, which {describe(origin)} cannot see")
    if owner.is_before_in_block(anchor):
        return
    if not isinstance(owner, IndexOp | EmptyOp):
        refuse(user, f"its place depends on {describe(owner)}, which comes after {describe(origin)}")
    for operand in owner.operands:
        _move_before(operand, origin, user)
    owner.detach()
    block.insert_op_before(owner, anchor)


# -- live ranges ------------------------------------------------------------------------------------------------------


def live_ranges(aliasing: Aliasing) -> dict[Root, tuple[int, int]]:
    """First and last position of every on-chip storage; what a loop uses from outside lives to the end of the loop."""
    begin: dict[Operation, int] = {}
    end: dict[Operation, int] = {}

    def number(block: Block) -> None:
        for op in block.ops:
            begin[op] = len(begin)
            for region in op.regions:
                number(region.block)
            end[op] = len(begin) - 1

    number(aliasing.func.body.block)
    out = {r: (begin[r.op], end[r.op]) for r in aliasing.roots if r.on_chip and r.op is not None}
    for op in begin:
        for value in op.operands:
            if not isinstance(value.type, TileType):
                continue
            root = aliasing.root(value)
            if root in out:
                user = op
                while user.parent is not cast(Operation, root.op).parent:
                    user = cast(Operation, user.parent_op())
                out[root] = (out[root][0], max(out[root][1], end[user]))
    return out


def _first_fit(ranges: Mapping[Root, tuple[int, int]], sizes: Mapping[Root, int], unit: int) -> dict[Root, int]:
    """The lowest address that no storage alive at the same time holds, in the order of the program."""
    placed: dict[Root, int] = {}
    for root, (first, last) in sorted(ranges.items(), key=lambda item: item[1][0]):
        busy = sorted(
            (placed[other], placed[other] + sizes[other])
            for other in placed
            if ranges[other][0] <= last and first <= ranges[other][1]
        )
        address = 0
        for low, high in busy:
            if address + sizes[root] <= low:
                break
            address = max(address, -(-high // unit) * unit)
        placed[root] = address
    return placed


def _labels(roots: Iterable[Root]) -> dict[Root, str]:
    out: dict[Root, str] = {}
    used: set[str] = set()
    for root in roots:
        base = root.value.name_hint or "tile"
        name, n = base, 1
        while name in used:
            name, n = f"{base}_{n}", n + 1
        used.add(name)
        out[root] = name
    return out


def _annotate(placed: Mapping[Root, StorageAttr]) -> None:
    by_op: dict[Operation, dict[int, StorageAttr]] = {}
    for root, attribute in placed.items():
        assert isinstance(root.value, OpResult)
        by_op.setdefault(root.value.op, {})[root.value.index] = attribute
    for op, chosen in by_op.items():
        attributes: list[Attribute] = [chosen.get(n, UnitAttr()) for n in range(len(op.results))]
        op.attributes[STORAGE_ATTRIBUTE] = attributes[0] if len(attributes) == 1 else ArrayAttr(attributes)
