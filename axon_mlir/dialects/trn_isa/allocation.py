# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What must hold of the storages that a function is annotated with.

The rule of whole modules that is checked wherever a module is verified, so that a wrong address is an invalid module
whatever pass or hand wrote it. A function without annotations is not allocated yet and fine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from axon_mlir.dialects.tile import ForOp, TileType
from axon_mlir.dialects.trn_isa.attributes import StorageAttr
from axon_mlir.dialects.trn_isa.descriptions import DTYPES, device_of
from axon_mlir.dialects.trn_isa.storage import STORAGE_ATTRIBUTE, Aliasing, Root, describe, refuse, storage_of
from axon_mlir.errors import AxonError
from axon_mlir.semantics.denotation import place
from axon_mlir.targets import Device


def verify_storages(module: ModuleOp) -> list[AxonError]:
    """The first problem of every function that has storage annotations."""
    errors: list[AxonError] = []
    for func in module.walk():
        if isinstance(func, FuncOp) and any(STORAGE_ATTRIBUTE in op.attributes for op in func.walk()):
            try:
                verify_allocation(func, device_of(func))
            except AxonError as error:
                errors.append(error)
    return errors


def sbuf_unit(device: Device) -> int:
    """What addresses in SBUF are multiples of: the widest element type."""
    return max(d.bytes for d in device.dtypes.values())


def capacity(device: Device, space: str) -> tuple[int, str]:
    """Bytes of a partition in a memory, and the name of the limit."""
    if space == "sbuf":
        return device.limits["sbuf_bytes_per_partition"], "sbuf_bytes_per_partition"
    return device.limits["psum_banks"] * device.limits["psum_bank_bytes"], "psum_banks"


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
    limit, name = capacity(device, root.space)
    if first + size > limit:
        refuse(op, f"its storage ends at byte {first + size} of {root.space}; {device.name} has {limit} ({name})")
    unit = device.limits["psum_bank_bytes"] if root.space == "psum" else sbuf_unit(device)
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
