# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a trace's time consists of, for a reader: how long, which resource binds, and the longest waits."""

from __future__ import annotations

import gc
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from axon_mlir.sim.timing import TENSOR, Generation, Schedule, prepared, replay
from axon_mlir.sim.trace import Trace
from axon_mlir.targets import Device

PHASES = 4
"""Phases of the matrix engine's clock that are tried: which one a run meets cannot be known."""
REPLAYED = 50_000
"""About how many instructions are replayed for them: in a long kernel a phase matters little."""
STALLS = 5
"""How many of the longest waits are told."""

MOVING = "dma engines"


@dataclass(frozen=True)
class Stall:
    """What the instructions of one line wait for those of another, in sum, beyond what their queue is at work."""

    us: float
    queue: str
    instruction: str
    line: int
    behind: str
    behind_line: int


@dataclass(frozen=True)
class TimeReport:
    """Predicted times in microseconds, from the start of the kernel to its end.

    `predicted_us`: with the compiler's scheduler, the middle of those over the clock's phases, which span `range_us`;
    `order_us`: in source order; `latency_us`: what benchmarks report. `engines`: how long each queue is at work.
    """

    predicted_us: float
    order_us: float
    range_us: tuple[float, float]
    latency_us: float
    engines: Mapping[str, float]
    dma_us: float
    """How long a DMA engine is at work, of those that are the longest."""
    dma_efficiency: float
    """Bytes, by those that the DMA engines could have moved while the kernel ran."""
    binding: str
    stalls: tuple[Stall, ...]

    def to_json(self) -> dict[str, Any]:
        """For the report of a run."""
        return {
            "predicted_us": round(self.predicted_us, 3),
            "predicted_order_us": round(self.order_us, 3),
            "predicted_range_us": [round(us, 3) for us in self.range_us],
            "latency_us": round(self.latency_us, 3),
            "busy_us": {name: round(us, 3) for name, us in sorted(self.engines.items())},
            "dma_us": round(self.dma_us, 3),
            "dma_efficiency": round(self.dma_efficiency, 4),
            "binding": self.binding,
            "stalls": [{**vars(stall), "us": round(stall.us, 3)} for stall in self.stalls],
        }


def time_report(trace: Trace, device: Device, generation: Generation = "hardware") -> tuple[TimeReport, Schedule]:
    """The report, and the schedule of the middle phase; AxonError for a device whose time is not modelled."""
    # What is made here lives until the report is done: there is nothing for the collector to find.
    collects = gc.isenabled()
    gc.disable()
    try:
        ready = prepared(trace, device, generation)
        clocked = TENSOR in ready.queues
        phases = max(1, min(PHASES, REPLAYED // max(1, len(trace.issued)))) if clocked else 1
        runs = [replay(ready, phase=n / phases) for n in range(phases)]
        order = replay(ready, reorder=False)
    finally:
        if collects:
            gc.enable()
    runs.sort(key=lambda run: run.total_ns)
    middle = runs[phases // 2]
    engines = {name: ns / 1e3 for name, ns in middle.busy.items()}
    dma = max(middle.moving.values(), default=0.0) / 1e3
    size = sum(one.work.transfer.size for one in trace.issued if one.work.transfer is not None)
    possible = middle.core_ns * device.constants["dma_rate"].value * device.limits["dma_engines"]
    report = TimeReport(
        predicted_us=middle.total_ns / 1e3,
        order_us=order.total_ns / 1e3,
        range_us=(runs[0].total_ns / 1e3, runs[-1].total_ns / 1e3),
        latency_us=middle.latency_ns / 1e3,
        engines=engines,
        dma_us=dma,
        dma_efficiency=size / possible if possible else 0.0,
        binding=max([*engines.items(), (MOVING, dma)], key=lambda pair: pair[1])[0],
        stalls=tuple(_stalls(middle)),
    )
    return report, middle


def _stalls(run: Schedule) -> list[Stall]:
    """The longest waits, line by line."""
    issued, starts, ends = run.trace.issued, np.asarray(run.starts), np.asarray(run.ends)
    waits, queues = np.asarray(run.waits, np.int64), np.asarray(run.queues)
    sums: dict[tuple[str, str, int, str, int], float] = {}
    for queue in set(run.queues):
        own = np.flatnonzero(queues == queue)
        own = own[np.argsort(starts[own], kind="stable")]
        gaps = starts[own] - np.concatenate(([0.0], ends[own][:-1]))
        waited = (gaps > 0) & (waits[own] >= 0)
        for number, gap in zip(map(int, own[waited]), map(float, gaps[waited]), strict=True):
            mine, other = issued[number], issued[run.waits[number]]
            key = (queue, mine.work.instruction, mine.line, other.work.instruction, other.line)
            sums[key] = sums.get(key, 0.0) + gap
    longest = sorted(sums.items(), key=lambda pair: -pair[1])[:STALLS]
    return [Stall(gap / 1e3, *key) for key, gap in longest]


__all__ = ["Stall", "TimeReport", "time_report"]
