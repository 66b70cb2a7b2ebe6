# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Traces from hardware: the instructions that a profiler saw, in the order of each queue, without their times.

A profile lists every instruction of a run with its operands as text: addresses, strides and sizes, and for a DMA the
patterns of both sides. What of that says what an instruction is becomes the trace of a kernel; when it ran is left out,
but for the order in which instructions began, since a reader comes after its writer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any

from axon_mlir.errors import AxonError
from axon_mlir.sim.trace import Access, Buffer, Issued, Trace, Transfer, Work
from axon_mlir.targets import Device, Facts, Form, TileFact

SBUF, PSUM, HBM = range(3)
"""Tensors of a trace: each memory is one. Arguments, which are known by their number only, follow."""
PARTITION = 1 << 18
"""Bytes from one partition to the next in addresses of on-chip memory, as DMA see it."""
SBUF_BASE = 0x802000000000
PSUM_BASE = 0x2000000
ROWS = 128
SEMAPHORE = 4
"""Bytes of the packet that says that a DMA is over."""

QUEUES = {"Tensor": "tensor", "Vector": "vector", "Scalar": "scalar", "GpSimd": "gpsimd", "Sync": "sync"}
ITEMS = {"fp32": ("float32", 4), "bfloat16": ("bfloat16", 2)}

OPERAND = re.compile(r"(\w+)=(\w+)@0x([0-9a-f]+)\[([-\d,]+)\]\[([\d,]+)\]")
PLACE = re.compile(r"dst=0x([0-9a-f]+)\[([-\d,]+)\]\[([\d,]+)\]")
"""The result of the matrix engine has no type."""
POINTER = re.compile(r"(?:bias_ptr=fp32@|imm=)0x([0-9a-f]+)")


@dataclass(frozen=True)
class Operand:
    """A tile as an instruction names it: element type, place, elements of a partition."""

    dtype: str
    memory: int
    begin: int
    end: int
    elements: int

    @property
    def access(self) -> Access:
        """The bytes between its first and its last."""
        return Access(self.memory, (0, ROWS, self.begin, self.end))

    @property
    def fact(self) -> TileFact:
        """What the rules of an instruction look at."""
        return TileFact((ROWS, self.elements), "psum" if self.memory == PSUM else "sbuf", self.dtype)


def numbers(text: str) -> list[int]:
    """Numbers between commas."""
    return [int(n) for n in text.split(",")]


def operand(dtype: str, address: int, strides: Sequence[int], sizes: Sequence[int]) -> Operand:
    """A tile at an address, strides in elements."""
    name, item = ITEMS[dtype]
    memory, at = (PSUM, address - PSUM_BASE) if address >= PSUM_BASE else (SBUF, address)
    reach = [stride * (size - 1) * item for stride, size in zip(strides, sizes, strict=True)]
    low, high = sum(r for r in reach if r < 0), sum(r for r in reach if r > 0)
    return Operand(name, memory, at + low, at + high + item, prod(sizes))


def operands(text: str) -> dict[str, Operand]:
    """The tiles of an instruction: `src` and `dst`."""
    found = {
        name: operand(dtype, int(address, 16), numbers(strides), numbers(sizes))
        for name, dtype, address, strides, sizes in OPERAND.findall(text)
    }
    if "dst" not in found and (place := PLACE.search(text)):
        address, strides, sizes = place.groups()
        found["dst"] = operand("fp32", int(address, 16), numbers(strides), numbers(sizes))
    return found


@dataclass(frozen=True)
class Hardware:
    """What makes the instructions of a device out of what a profile says."""

    device: Device

    def form(self, instruction: str, form: str) -> Form:
        """A form, without the least interval, which is no part of the work."""
        found = next(f for f in self.device.instructions[instruction].forms if f.name == form)
        limits = {**found.hardware.limits}
        limits["min_interval"] = replace(limits["min_interval"], value=0)
        return replace(found, hardware=replace(found.hardware, limits=limits))

    def computed(self, queue: str, opcode: str, text: str) -> Issued:
        """An instruction of the vector or scalar engine."""
        tiles = operands(text)
        src, dst = tiles["src"], tiles["dst"]
        extra = [Access(SBUF, (0, ROWS, at, at + 4)) for at in (int(a, 16) for a in POINTER.findall(text))]
        match opcode:
            case "COPY" | "CAST":
                instruction, form, named = "tensor_copy", "copy", {"src": src}
            case "ACTIVATE":
                instruction, form, named = "activation", "plain", {"data": src}
            case "TENSOR_REDUCE":
                instruction, form, named = "tensor_reduce", "row", {"data": src}
            case "TENSOR_SCALAR":
                instruction, form, named = "tensor_scalar", "immediate", {"data": src}
            case "RECIPROCAL":
                instruction, form, named = "reciprocal", "elementwise", {"data": src}
            case _:
                raise AxonError(f"an instruction that this reader does not know: {opcode} {text}")
        attributes = {"monoid": "max"} if opcode == "TENSOR_REDUCE" else {}
        facts = Facts({**{name: tile.fact for name, tile in named.items()}, "dst": dst.fact}, queue, attributes)
        work = Work(
            instruction=instruction,
            queue=queue,
            function="exp" if opcode == "ACTIVATE" else "",
            cycles=float(self.form(instruction, form).cycles(facts, queue) or 0),
            space=src.fact.space,
            wide=src.dtype == "float32",
        )
        return Issued(work, 0, (src.access, *extra), (dst.access,))

    def multiplied(self, loads: Sequence[str], multiplies: Sequence[str]) -> Issued:
        """One product or transpose: of fp32 the halves of the weights are two of the hardware's."""
        text = multiplies[0]
        tiles = operands(text)
        weights = [operands(load)["src"].access for load in loads]
        moving, dst = tiles["src"], tiles["dst"]
        turns = any("transpose_mode=ENABLED" in load for load in loads)
        wide = moving.dtype == "float32"
        # A pass over fp32 takes two cycles for a column.
        cycles = moving.elements * len(multiplies) * (2 if wide else 1)
        work = Work("nc_transpose" if turns else "nc_matmul", "tensor", cycles=float(cycles), wide=wide)
        return Issued(work, 0, (moving.access, *weights), (dst.access,))

    def moved(self, queue: str, text: str) -> tuple[Issued, tuple[int, ...]]:
        """A DMA, and the numbers of arguments that it names."""
        words = dict(word.split("=", 1) for word in text.split() if "=" in word)
        item = int(words["src_elem_size"])
        sides: list[Access] = []
        arguments: list[int] = []
        chip = (0, ROWS)
        count = 0
        for side in ("src", "dst"):
            strides, sizes = (numbers(part) for part in words[f"{side}_pattern"].strip("[]").split("]["))
            count = prod(sizes)
            size = int(words[f"{side}_elem_size"])
            reach = sum(stride * (n - 1) for stride, n in zip(strides, sizes, strict=True) if stride < PARTITION)
            address = int(words.get(f"{side}_addr_imm", "0"), 16)
            on_chip = SBUF_BASE <= address < SBUF_BASE + ROWS * PARTITION
            if on_chip:
                first, at = divmod(address - SBUF_BASE, PARTITION)
                rows = [n for stride, n in zip(strides, sizes, strict=True) if stride == PARTITION]
                chip = (first, first + prod(rows))
                sides.append(Access(SBUF, (*chip, at, at + reach + size)))
            elif f"{side}_table_index" in words:
                arguments.append(int(words[f"{side}_table_index"]))
                offset = int(words[f"{side}_table_offset_imm"], 16)
                sides.append(Access(HBM + 1 + arguments[-1], (0, 1, offset, offset + reach + size)))
            else:
                sides.append(Access(HBM, (0, 1, address, address + reach + size)))
        source, target = sides
        shares: dict[int, int] = {}
        for partition in range(*chip):
            shares[partition // 8] = shares.get(partition // 8, 0) + 1
        whole = chip[1] - chip[0]
        parts = tuple((e, count * n // whole, count * item * n // whole) for e, n in sorted(shares.items()))
        made = "software" if queue == "gpsimd" else "hardware"
        transfer = Transfer(target.tensor == SBUF, parts, count, made)
        work = Work("dma_copy", "" if queue == "gpsimd" else queue, transfer=transfer)
        return Issued(work, 0, (source,), (target,)), tuple(arguments)


@dataclass(frozen=True)
class Executed:
    """When an instruction ran: its start and end as the profiler has them, nanoseconds from the start of the run. Of a
    product: `start` is that of its first pass, `begun` that of loading its weights. Of a DMA: the queue is at work from
    `start` to `end`."""

    begun: float
    start: float
    end: float


@dataclass(frozen=True)
class Packet:
    """What one DMA engine moved at a time."""

    start: float
    end: float
    size: int


@dataclass(frozen=True)
class Profile:
    """What a profile says: the trace, when each instruction ran, and the packets of each DMA, by engine."""

    trace: Trace
    executed: tuple[Executed, ...]
    packets: dict[int, dict[int, list[Packet]]]
    total: float
    full_clock: tuple[tuple[float, float], ...]
    """From when to when the matrix engine's clock was full."""


def trace_of(path: Path, device: Device) -> Trace:
    """The trace of a profile; AxonError for an instruction that is not known here."""
    return profile_of(path, device).trace


def profile_of(path: Path, device: Device) -> Profile:
    """All of it that is of use here."""
    profile = json.loads(path.read_text(encoding="utf-8"))
    trace = Trace()
    trace.tensors = {SBUF: Buffer("sbuf", "sbuf", 0, (0, 0)), PSUM: Buffer("psum", "psum", 0, (0, 0))}
    trace.tensors[HBM] = Buffer("hbm", "hbm")
    hardware = Hardware(device)
    executed: list[Executed] = []
    for begun in _body(profile["instruction"]):
        executed.append(begun.executed)
        if begun.opcode == "MATMUL":
            trace.issued.append(hardware.multiplied(begun.texts("LDWEIGHTS"), begun.texts("MATMUL")))
        elif begun.opcode == "DMA_DIRECT2D":
            issued, arguments = hardware.moved(begun.queue, begun.texts(begun.opcode)[0])
            trace.issued.append(issued)
            for number in arguments:
                trace.tensors[HBM + 1 + number] = Buffer(f"argument {number}", "hbm")
        else:
            trace.issued.append(hardware.computed(begun.queue, begun.opcode, begun.texts(begun.opcode)[0]))
    return Profile(
        trace,
        tuple(executed),
        _packets(profile, trace.issued),
        max((s["total_time"] * 1e9 for s in profile.get("summary", ())), default=0.0),
        tuple((h["timestamp"], h["timestamp"] + h["duration"]) for h in profile.get("ham", ()) if h["k"] == h["n"]),
    )


@dataclass
class _Begun:
    """An instruction of the kernel, which may be several of the hardware's."""

    queue: str
    opcode: str
    parts: list[dict[str, Any]]

    def texts(self, opcode: str) -> list[str]:
        """The operands of those parts."""
        return [part["operands"] for part in self.parts if part["opcode"] == opcode]

    @property
    def executed(self) -> Executed:
        own = [part for part in self.parts if part["opcode"] == self.opcode]
        ends = [part["timestamp"] + part.get("duration", 0) for part in own]
        return Executed(self.parts[0]["timestamp"], own[0]["timestamp"], max(ends))


def _body(instructions: Sequence[dict[str, Any]]) -> list[_Begun]:
    """What the kernel asked for, in the order in which it began. A product is loads of weights and passes."""
    products: dict[str, _Begun] = {}
    found: list[_Begun] = []
    for one in sorted(instructions, key=lambda i: (i["timestamp"], i["pc"])):
        name, opcode, queue = one["bir_instruction_name"], one["opcode"], QUEUES.get(one["subgroup"], "")
        if not name or opcode in ("EVENT_SEMAPHORE", "NOP", "ACT_TABLE_LOAD"):
            continue
        product = products.get(name) if opcode in ("LDWEIGHTS", "MATMUL") else None
        if product is None:
            product = _Begun(queue, "MATMUL" if opcode == "LDWEIGHTS" else opcode, [])
            found.append(product)
            if product.opcode == "MATMUL":
                products[name] = product
        product.parts.append(one)
    return found


def _packets(profile: dict[str, Any], issued: Sequence[Issued]) -> dict[int, dict[int, list[Packet]]]:
    """The packets of each DMA: an engine ends what a queue asks of it with one of four bytes, the semaphore's."""
    names = {q["q_idx"]: q["q_name"] for q in profile.get("dma_queues_info", ()) if "Dynamic" in q["q_name"]}
    streams: dict[tuple[str, int], list[Packet]] = {}
    for one in sorted(profile.get("dma", ()), key=lambda d: d["timestamp"]):
        name = names.get(int(one["dma_queue"]), "")
        if name:
            queue = next(ours for theirs, ours in QUEUES.items() if theirs.lower() in name.lower())
            packet = Packet(one["timestamp"], one["timestamp"] + one["duration"], one["transfer_size"])
            streams.setdefault((queue, int(one["dma_engine"])), []).append(packet)
    asked: dict[str, list[int]] = {}
    for number, one in enumerate(issued):
        if one.work.transfer is not None:
            asked.setdefault(one.work.queue or "gpsimd", []).append(number)
    found: dict[int, dict[int, list[Packet]]] = {}
    for (queue, engine), stream in streams.items():
        numbers_left = iter(asked.get(queue, ()))
        group: list[Packet] = []
        for packet in stream:
            group.append(packet)
            if packet.size == SEMAPHORE:
                number = next(numbers_left, None)
                if number is not None:
                    found.setdefault(number, {})[engine] = group
                group = []
    return found


__all__ = ["Executed", "Packet", "Profile", "profile_of", "trace_of"]
