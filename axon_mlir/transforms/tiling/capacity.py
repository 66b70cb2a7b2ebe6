# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a nest holds on chip: bytes per partition, by the loops around each value's scope."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from axon_mlir.dialects.trn_isa import DTYPES as NKI_DTYPES
from axon_mlir.semantics.index import Index, Size, Var, evaluate, parse
from axon_mlir.semantics.interpret import NUMPY_DTYPES
from axon_mlir.targets import Device, Facts, TileFact
from axon_mlir.transforms.tiling.nest import Leaf, Nest, NotHeld, build, scopes

FREE_STEP = 512
"""The free step that capacity is judged with before `tile-instantiate` chooses: one PSUM bank of fp32, and a DMA row
of 1 KiB in bf16, below which descriptors lose efficiency."""


BLOCK_STEP = 1024
"""The block step that capacity is judged with before a search chooses: eight partition tiles."""


UNLIMITED = 1 << 30


def turned_dtype(device: Device, dtype: str) -> str:
    """The element type in PSUM of a tile that the tensor engine turns: its own, or fp32 where only that is written."""
    full = (device.limits["partitions"], device.limits["partitions"])
    for wanted in (dtype, "f32"):
        for instruction in device.instructions.values():
            for form in instruction.forms:
                operands, results = form.operands, form.results
                if len(operands) != 1 or len(results) != 1 or operands[0].axes != results[0].axes[::-1]:
                    continue
                facts = Facts(
                    {
                        operands[0].name: TileFact(full, "sbuf", NKI_DTYPES[dtype]),
                        results[0].name: TileFact(full, "psum", NKI_DTYPES[wanted]),
                    }
                )
                if len(set(operands[0].axes)) == 2 and not form.check(facts, exact=False):
                    return wanted
    return dtype


def limit_of(constraint: str, device: Device) -> int:
    """The number that a parameter's constraint stands for: `<= limit` of the device, `any`, or a chosen number."""
    name = constraint.removeprefix("<=").strip()
    if name == "any":
        return UNLIMITED
    return int(name) if name.isdigit() else device.limits[name]


def default_steps(nest: Nest, device: Device, free: int, share: int = 1) -> dict[str, int]:
    """A step for every parameter: the device's limit; free axes at most `free`, moving ones one PSUM bank of fp32, of
    which `share` moving axes take a part each."""
    bank = device.limits["psum_bank_bytes"] // NUMPY_DTYPES["f32"].itemsize
    largest = {"free": free, "moving": bank // share, "block": BLOCK_STEP}
    return {
        p: min(limit_of(c, device), largest.get(p.rpartition("_")[2], limit_of(c, device)))
        for p, c in nest.parameters.items()
    }


def held_bytes(
    nest: Nest, steps: Mapping[str, int], values: Mapping[str, int], device: Device
) -> dict[str, int] | None:
    """The most bytes per partition that values in SBUF (`sbuf`) and PSUM (`psum`) take at once: loops beside each other
    run one after the other, what stands in one loop is counted at once.

    None when a value holds a whole dimension whose size is not known, or more of one in PSUM than a tile.
    """
    env: dict[Size | Var, int] = {Size(k): v for k, v in {**steps, **values}.items()}
    sizes = {Size(k) for k in values}
    partitions = device.limits["partitions"]
    held = {"sbuf": _Held(), "psum": _Held()}
    for leaf, bounds, around in scopes(build(nest.leaves), nest):
        if leaf.space == "hbm":
            continue
        extents: list[int] = []
        for b in bounds:
            term = parse(b)
            if not term.symbols() <= set(env):
                return None
            if leaf.space == "psum" and any(s in term.symbols() for s in sizes):
                # The kernel must fit PSUM for all sizes, not only for those it is compiled for.
                return None
            extents.append(int(evaluate(term, env)))
        # A tile never holds more than its dimension has.
        for n, d in enumerate(leaf.dims):
            size = nest.sizes.get(d)
            if size is not None and size.symbols() <= set(env):
                extents[n] = min(extents[n], int(evaluate(size, env)))
        chunks = -(-extents[0] // partitions)
        if leaf.space == "psum" and chunks > 1:
            return None
        held[leaf.space].add(around, chunks * extents[1] * NUMPY_DTYPES[leaf.dtype].itemsize)
        if leaf.space == "psum" and extents[1] * NUMPY_DTYPES[leaf.dtype].itemsize > device.limits["psum_bank_bytes"]:
            return None
    return {space: h.most for space, h in held.items()}


@dataclass
class _Held:
    """Bytes that stand in a loop itself, and in the loops inside."""

    own: int = 0
    inside: dict[int, _Held] = field(default_factory=dict[int, "_Held"])

    def add(self, around: tuple[int, ...], count: int) -> None:
        """Count bytes that stand inside of so many loops."""
        if around:
            self.inside.setdefault(around[0], _Held()).add(around[1:], count)
        else:
            self.own += count

    @property
    def most(self) -> int:
        """The most at one time."""
        return self.own + max((h.most for h in self.inside.values()), default=0)


def fits(nest: Nest, steps: Mapping[str, int], values: Mapping[str, int], device: Device) -> bool:
    """Whether everything held fits the device (live ranges inside of a loop only make it better)."""
    try:
        held = held_bytes(nest, steps, values, device)
    except NotHeld:
        return False
    return (
        held is not None
        and held["sbuf"] <= device.limits["sbuf_bytes_per_partition"]
        and held["psum"] <= device.limits["psum_banks"] * device.limits["psum_bank_bytes"]
    )


__all__ = [
    "FREE_STEP",
    "Index",
    "Leaf",
    "default_steps",
    "fits",
    "held_bytes",
    "limit_of",
]
