# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""isa-allocate: decides where every on-chip value is stored.

Values that share storage are found by `dialects.trn_isa.storage`; index arithmetic that says where a value goes moves
before the instruction that computes it. Each root then gets a byte address that holds in all partitions: first fit over
live ranges, in SBUF at multiples of the widest element type, in PSUM in whole banks. The program stays in SSA form: a
root's operation is annotated with `storage`. Addresses say that the program fits; kernels do not contain them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass

from axon_mlir.dialects.tile import EmptyOp, ForOp, IndexOp, TileType
from axon_mlir.dialects.trn_isa import DTYPES, InstructionOp, StorageAttr, device_of, storage_attr
from axon_mlir.dialects.trn_isa.storage import (
    STORAGE_ATTRIBUTE,
    Aliasing,
    Insertion,
    Root,
    describe,
    refuse,
    storage_of,
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
    for space, unit in (("sbuf", _sbuf_unit(device)), ("psum", device.limits["psum_bank_bytes"])):
        chosen = {r: live for r, live in ranges.items() if r.space == space}
        sizes = {r: aliasing.bytes(r, device, DTYPES) for r in chosen}
        for root, address in _first_fit(chosen, sizes, unit).items():
            placed[root] = storage_attr(names[root], space, address, sizes[root])
        _check_capacity(func, device, space, placed)
    _annotate(placed)
    verify_allocation(func, device)


def _sbuf_unit(device: Device) -> int:
    return max(d.bytes for d in device.dtypes.values())


def _capacity(device: Device, space: str) -> tuple[int, str]:
    if space == "sbuf":
        return device.limits["sbuf_bytes_per_partition"], "sbuf_bytes_per_partition"
    return device.limits["psum_banks"] * device.limits["psum_bank_bytes"], "psum_banks"


def _check_capacity(func: FuncOp, device: Device, space: str, placed: Mapping[Root, StorageAttr]) -> None:
    ends = [(s.address.data + s.bytes.data, s) for r, s in placed.items() if r.space == space]
    limit, name = _capacity(device, space)
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


# -- verification -----------------------------------------------------------------------------------------------------


def verify_allocation(func: FuncOp, device: Device) -> None:
    """AxonError unless every storage is large enough, within its memory, and apart from all that are alive with it.

    What is alive is found by going backwards through the program, not from the ranges that placed the storages.
    """
    aliasing = Aliasing(func)
    aliasing.check()
    found: dict[Root, StorageAttr] = {}
    for root in aliasing.roots:
        if not root.on_chip or root.op is None:
            continue
        attribute = storage_of(root)
        if attribute is None:
            refuse(root.op, "its storage is not decided; run isa-allocate")
        found[root] = attribute
        _verify_one(aliasing, root, attribute, device)

    def visit(op: Operation, alive: Sequence[Root]) -> None:
        for n, one in enumerate(alive):
            for other in alive[:n]:
                if _overlap(found[one], found[other], device):
                    a, b = found[one], found[other]
                    raise AxonError(
                        f"{describe(op)}: the storages '{b.label.data}' and '{a.label.data}' are alive together and "
                        f"overlap in {a.space.data} ({_shown(b)} and {_shown(a)})",
                        where=place(op),
                    )

    _Liveness(aliasing, visit).function()


def _verify_one(aliasing: Aliasing, root: Root, attribute: StorageAttr, device: Device) -> None:
    op = cast(Operation, root.op)
    first, size = attribute.address.data, attribute.bytes.data
    if attribute.space.data != root.space:
        refuse(op, f"a value in {root.space} is stored in {attribute.space.data}")
    needed = aliasing.bytes(root, device, DTYPES)
    if size < needed:
        refuse(op, f"its storage of {size} bytes of a partition is too small for {needed}")
    limit, name = _capacity(device, root.space)
    if first + size > limit:
        refuse(op, f"its storage ends at byte {first + size} of {root.space}; {device.name} has {limit} ({name})")
    unit = device.limits["psum_bank_bytes"] if root.space == "psum" else _sbuf_unit(device)
    if first % unit:
        what = "a bank" if root.space == "psum" else "an element"
        refuse(op, f"its storage begins at byte {first}, which is not the start of {what} ({unit} bytes)")


def _overlap(a: StorageAttr, b: StorageAttr, device: Device) -> bool:
    if a.space != b.space:
        return False
    unit = device.limits["psum_bank_bytes"] if a.space.data == "psum" else 1
    spans = [(s.address.data // unit, -(-(s.address.data + s.bytes.data) // unit)) for s in (a, b)]
    return spans[0][0] < spans[1][1] and spans[1][0] < spans[0][1]


def _shown(attribute: StorageAttr) -> str:
    return f"{attribute.address.data}..{attribute.address.data + attribute.bytes.data}"


class _Liveness:
    """Backward liveness of storages; calls `visit` with what is alive at each operation."""

    def __init__(self, aliasing: Aliasing, visit: Callable[[Operation, Sequence[Root]], None]):
        self.aliasing = aliasing
        self.visit = visit

    def function(self) -> None:
        self.block(self.aliasing.func.body.block, {}, report=True)

    def touched(self, values: Iterable[SSAValue]) -> dict[Root, None]:
        out: dict[Root, None] = {}
        for value in values:
            if isinstance(value.type, TileType):
                root = self.aliasing.root(value)
                if root.on_chip:
                    out[root] = None
        return out

    def block(self, block: Block, after: dict[Root, None], *, report: bool) -> dict[Root, None]:
        """What is alive before the block when `after` is alive behind it."""
        alive = dict(after)
        for op in reversed(list(block.ops)):
            alive |= self.touched(op.results)
            if isinstance(op, ForOp):
                inner = self.block(op.body.block, alive, report=False)
                alive |= inner
                self.block(op.body.block, alive, report=report)
            alive |= self.touched(op.operands)
            if report:
                self.visit(op, list(alive))
            for result in op.results:
                for root in [r for r in alive if r.value is result]:
                    del alive[root]
        return alive
