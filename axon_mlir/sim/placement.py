# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where tensors on chip lie, when a kernel leaves that to the compiler: what is reused makes later work wait.

A tensor lives from its first access to its last, in source order. PSUM is given bank by bank, SBUF byte by byte of a
partition, each time the place that has been free for longest: a pointer goes round the memory and takes the first gap
behind it that is large enough. What a kernel places itself lies where it says. What does not fit any more lies beyond
the memory, by itself: compilers would spill it.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Callable, Mapping, Sequence
from heapq import heappop, heappush

from axon_mlir.sim.trace import Access, Issued, Trace
from axon_mlir.targets import Device


def mover(trace: Trace, device: Device) -> Callable[[Access], Access]:
    """What says where in its memory a part of a tensor lies; of tensors in HBM, the part itself."""
    bases = addresses(trace, device)
    # Memories are tensors with numbers of their own.
    lowest = min(trace.tensors, default=0)
    memory = {"sbuf": lowest - 1, "psum": lowest - 2}

    def moved(access: Access) -> Access:
        base = bases.get(access.tensor)
        if base is None:
            return access
        (row, byte), (low, high, begin, end) = base, access.box
        box = (low + row, high + row, begin + byte, end + byte)
        return Access(memory[trace.tensors[access.tensor].space], box)

    return moved


def addresses(trace: Trace, device: Device) -> dict[int, tuple[int, int]]:
    """First partition and byte of each tensor on chip."""
    limits = device.limits
    bank = limits["psum_bank_bytes"]
    capacity = {"sbuf": limits["sbuf_bytes_per_partition"], "psum": limits["psum_banks"] * bank}
    unit = {"sbuf": 1, "psum": bank}
    spans = _spans(trace.issued)
    rings = {space: _Ring(size) for space, size in capacity.items()}
    out: dict[int, tuple[int, int]] = {}
    living: list[tuple[int, int]] = []
    """Last access, tensor."""
    for serial, (first, last) in spans.items():
        buffer = trace.tensors[serial]
        if buffer.space not in rings:
            continue
        while living and living[0][0] < first:
            _, gone = heappop(living)
            rings[trace.tensors[gone].space].free(out[gone][1])
        if buffer.address is not None:
            out[serial] = buffer.address
            continue
        size = -(-buffer.size // unit[buffer.space]) * unit[buffer.space]
        out[serial] = 0, rings[buffer.space].take(size)
        heappush(living, (last, serial))
    return out


def _spans(issued: Sequence[Issued]) -> Mapping[int, tuple[int, int]]:
    """Tensor -> its first and last instruction, in the order of the first."""
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for number, one in enumerate(issued):
        for access in (*one.reads, *one.writes):
            last[access.tensor] = number
            if access.tensor not in first:
                first[access.tensor] = number
    return {tensor: (number, last[tensor]) for tensor, number in first.items()}


class _Ring:
    """One memory: what is taken, and a pointer behind what was taken last."""

    def __init__(self, size: int):
        self.size = size
        self.pointer = 0
        self.beyond = size
        self.begins: list[int] = []
        self.ends: dict[int, int] = {}

    def take(self, size: int) -> int:
        """The start of a gap of this size: the first behind the pointer, from the front again at the end."""
        for start in (self.pointer, 0):
            at = bisect_right(self.begins, start)
            if at:
                start = max(start, self.ends[self.begins[at - 1]])
            for begin in (*self.begins[at:], self.size):
                if start + size <= begin:
                    insort(self.begins, start)
                    self.ends[start] = self.pointer = start + size
                    return start
                start = max(start, self.ends.get(begin, begin))
        start = self.beyond
        self.beyond += size
        self.ends[start] = self.beyond
        return start

    def free(self, start: int) -> None:
        """Give a gap back."""
        del self.ends[start]
        at = bisect_right(self.begins, start) - 1
        if at >= 0 and self.begins[at] == start:
            del self.begins[at]


__all__ = ["addresses", "mover"]
