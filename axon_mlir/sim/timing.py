# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How long a trace takes: in-order queues that wait for each other, DMA engines, and the clock of the matrix engine.

Every number is a constant of the target description. An instruction starts when its queue is free and what it depends
on is visible to it; it lets its queue go after an interval, and its results are visible later. The model and its limits
are described in `docs/timing-model.md`.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from axon_mlir.errors import AxonError
from axon_mlir.sim.trace import Box, Issued, Trace, Transfer, Work
from axon_mlir.targets import Device

Generation = Literal["hardware", "software", "static"]
"""How the descriptors of a DMA are made: by the issuing queue's hardware, by GpSimd's software, or before the run."""

LOOKAHEAD = 48
"""Instructions of a queue that the compiler's scheduler looks at (the study's figure; 8 to 512 differ little)."""

TENSOR = "tensor"

FREE_FUNCTIONS = frozenset({"", "identity", "square", "abs", "relu", "sign"})
"""Functions that need no activation table of their own."""


@dataclass(frozen=True)
class Cost:
    """What one kind of work takes, in nanoseconds; `cycles` are those of the matrix engine, whose clock varies."""

    stream: float
    interval: float
    latency: float
    cycles: float = 0.0
    weight: float = 0.0
    """The part of the matrix engine's rows that is in use."""
    exposed: float = 0.0
    """Loading the weights when nothing streams."""
    table: str = ""
    """The activation table that it needs."""
    parts: tuple[tuple[int, float, float], ...] = ()
    """Of a DMA: engine, time from the first byte that the engine begins after the others, time of the engine."""


@dataclass(frozen=True)
class Model:
    """A device's constants, by what they are for."""

    device: Device
    generation: Generation = "hardware"

    def ns(self, *names: str) -> float:
        """The first constant of these names that the description has; AxonError when it has none."""
        for name in names:
            found = self.device.constants.get(name)
            if found is not None:
                return found.value
        raise AxonError(
            f"the description of {self.device.name} has no constant `{names[-1]}`",
            where=self.device.where,
            accepted="a device whose time is modelled: trn2",
        )

    @cached_property
    def clocks(self) -> dict[str, float]:
        """Cycles of a nanosecond, by engine."""
        return {name: engine.clock_ghz or 1.0 for name, engine in self.device.engines.items()}

    @cached_property
    def window(self) -> tuple[float, float, float]:
        """Length of a window of the matrix engine's clock, activity that raises it, and activity that keeps it."""
        return self.ns("tensor_window"), self.ns("tensor_rises"), self.ns("tensor_stays")

    def queue(self, work: Work) -> str:
        """The queue that work waits in: a DMA's is GpSimd's where software makes descriptors, else as it asks, or
        the synchronisation engine's."""
        if work.transfer is None:
            return work.queue
        if self.generation == "software":
            return "gpsimd"
        return work.queue or "sync"

    def cost(self, work: Work) -> Cost:
        """What work takes."""
        if work.transfer is not None:
            return self._transfer(work.transfer)
        interval, latency = self._fixed("interval", work), self._fixed("latency", work)
        if work.queue == TENSOR:
            return Cost(0.0, interval, latency, work.cycles, work.rows / 128, self._fixed("weights", work))
        stream = work.cycles / self.clocks[work.queue]
        table = work.function if work.queue == "scalar" and work.function not in FREE_FUNCTIONS else ""
        return Cost(stream, stream + interval, stream + latency, table=table)

    def _fixed(self, kind: str, work: Work) -> float:
        """What is beyond the cycles: of the instruction on its engine, or of the engine."""
        copies, half = work.function == "identity", not work.wide
        parts = ("copy" if copies else "", "half" if half else "", work.instruction, work.space)
        return self.ns(*(f"{kind}_{work.queue}_{part}" for part in parts if part), f"{kind}_{work.queue}")

    def _transfer(self, moved: Transfer) -> Cost:
        """A DMA: the queue issues it, the engines move their parts one after the other."""
        mode, way = self.generation, "load" if moved.load else "store"
        issue = self.ns(f"dma_{mode}_issue") + moved.descriptors * self.ns(f"dma_{mode}_descriptor")
        first = self.ns(f"dma_{mode}_first_{way}", f"dma_{mode}_first")
        spread = self.ns(f"dma_spread_{way}") / self.device.limits["dma_engines"]
        packet, most, rate = self.ns("dma_packet"), int(self.ns("dma_packet_bytes")), self.ns("dma_rate")
        parts = tuple(
            (engine, spread * engine, max(descriptors, -(-size // most)) * packet + size / rate)
            for engine, descriptors, size in moved.parts
        )
        return Cost(first, issue, self.ns("dma_wait"), parts=parts)


@dataclass(frozen=True)
class Span:
    """When an instruction starts, lets its queue go, and when its results are visible; nanoseconds."""

    start: float
    end: float
    visible: float


@dataclass(frozen=True)
class Schedule:
    """What a trace takes. `waits`: for each instruction the one that it waited for last, or -1; `moving`: how long each
    DMA engine is at work."""

    trace: Trace
    queues: tuple[str, ...]
    spans: tuple[Span, ...]
    waits: tuple[int, ...]
    moving: dict[int, float]
    core_ns: float
    total_ns: float
    latency_ns: float

    @cached_property
    def busy(self) -> dict[str, float]:
        """Nanoseconds that each queue is at work."""
        out: dict[str, float] = dict.fromkeys(self.queues, 0.0)
        for queue, span in zip(self.queues, self.spans, strict=True):
            out[queue] += span.end - span.start
        return out


def dependencies(issued: Sequence[Issued], queues: Sequence[str]) -> list[list[int]]:
    """For each instruction the earlier ones that it must wait for: what it reads was written by them, or, across queues
    and for DMA, what it writes was read or written. The matrix engine never waits for itself: it works in order."""
    histories: dict[int, dict[tuple[int, int], list[tuple[Box, int, bool]]]] = {}
    out: list[list[int]] = []
    for number, one in enumerate(issued):
        queue, moves = queues[number], one.work.transfer is not None
        found: set[int] = set()
        for access in one.reads:
            for rows, entries in histories.get(access.tensor, {}).items():
                if rows[0] < access.box[1] and access.box[0] < rows[1]:
                    for box, earlier, writes in entries:
                        if writes and access.meets(box) and not queue == queues[earlier] == TENSOR:
                            found.add(earlier)
        for access in one.writes:
            for rows, entries in histories.get(access.tensor, {}).items():
                if rows[0] < access.box[1] and access.box[0] < rows[1]:
                    for box, earlier, _ in entries:
                        apart = queue != queues[earlier] or moves or issued[earlier].work.transfer is not None
                        if apart and access.meets(box):
                            found.add(earlier)
        for access in one.reads:
            history = histories.setdefault(access.tensor, {})
            history.setdefault(access.box[:2], []).append((access.box, number, False))
        for access in one.writes:
            history = histories.setdefault(access.tensor, {})
            for rows in [r for r in history if access.box[0] <= r[0] and r[1] <= access.box[1]]:
                history[rows] = [entry for entry in history[rows] if not access.covers(entry[0])]
            history.setdefault(access.box[:2], []).append((access.box, number, True))
        out.append(sorted(found))
    return out


def replay(
    trace: Trace,
    device: Device,
    *,
    reorder: bool = True,
    generation: Generation = "hardware",
    phase: float = 0.0,
    waits_for: Sequence[Sequence[int]] | None = None,
) -> Schedule:
    """Run a trace through the queues.

    `reorder`: each queue takes the oldest instruction that is ready, as the compiler's scheduler does; else source
    order. `phase`: the part of a window of the clock that is over when the body begins. `waits_for`: the dependencies,
    where they are known already.
    """
    model = Model(device, generation)
    queues = tuple(model.queue(one.work) for one in trace.issued)
    known = dependencies(trace.issued, queues) if waits_for is None else waits_for
    run = _Run(model, [one.work for one in trace.issued], queues, known, phase)
    run.all(LOOKAHEAD if reorder else 1)
    spans = tuple(span for span in run.spans if span is not None)
    core = max((span.visible for span in spans), default=0.0)
    total = model.ns("kernel_start") + core + model.ns("kernel_end")
    return Schedule(trace, queues, spans, tuple(run.last), run.moving, core, total, core + model.ns("kernel_latency"))


class _Clock:
    """The matrix engine's clock: half or full, decided at the end of each window by how busy the array was in it."""

    def __init__(self, model: Model, phase: float):
        self.length, self.rises, self.stays = model.window
        self.full = model.clocks[TENSOR]
        self.fast = False
        self.began = -phase * self.length
        self.active = 0.0

    def until(self, now: float) -> None:
        """Close the windows that are over."""
        while now >= self.began + self.length:
            share = self.active / self.length
            self.fast = share >= (self.stays if self.fast else self.rises)
            self.active = 0.0
            self.began += self.length
            if not self.fast:
                # Without work nothing changes any more.
                self.began += max(0.0, (now - self.began) // self.length) * self.length

    @property
    def speed(self) -> float:
        """Cycles of a nanosecond."""
        return self.full if self.fast else self.full / 2

    def work(self, start: float, cycles: float, weight: float) -> float:
        """When so many cycles from a start are over; activity counts by the part of the rows that is in use."""
        now = start
        self.until(now)
        while True:
            end, boundary = now + cycles / self.speed, self.began + self.length
            if end <= boundary:
                self.active += (end - now) * weight
                return end
            cycles -= (boundary - now) * self.speed
            self.active += (boundary - now) * weight
            now = boundary
            self.until(now)


class _Run:
    """The state of all queues."""

    def __init__(
        self,
        model: Model,
        works: Sequence[Work],
        queues: Sequence[str],
        waits_for: Sequence[Sequence[int]],
        phase: float,
    ):
        # Works of one kind are one object most of the time, and hashing them is slow.
        known: dict[int, Cost] = {}
        self.costs = [known.get(id(work)) or known.setdefault(id(work), model.cost(work)) for work in works]
        self.queues = queues
        self.waits_for = waits_for
        self.clock = _Clock(model, phase)
        self.drain = model.ns("drain")
        self.load = model.ns("activation_table_load")
        self.free: dict[str, float] = dict.fromkeys(queues, 0.0)
        self.spans: list[Span | None] = [None] * len(works)
        self.last = [-1] * len(works)
        self.engines: dict[int, float] = {}
        """When each DMA engine is free."""
        self.moving: dict[int, float] = {}
        self.table = ""
        """The activation table that is loaded."""
        hop, into = model.ns("semaphore"), model.ns("semaphore_to_tensor")
        self.hops = {queue: into if queue == TENSOR else hop for queue in self.free}

    def all(self, lookahead: int) -> None:
        """Give every instruction its time, in the order of time."""
        members: dict[str, list[int]] = {queue: [] for queue in self.free}
        users: list[list[int]] = [[] for _ in self.costs]
        left = [len(found) for found in self.waits_for]
        for number, queue in enumerate(self.queues):
            members[queue].append(number)
            for earlier in self.waits_for[number]:
                users[earlier].append(number)
        lines = {queue: _Line(numbers, lookahead) for queue, numbers in members.items()}
        for line in lines.values():
            for number in line.admit():
                if left[number] == 0:
                    line.ready(number, self._ready(number))
        free = self.free
        for _ in self.costs:
            start, queue = min((line.start(free[q]), q) for q, line in lines.items() if line.able or line.waiting)
            line = lines[queue]
            number = line.take(start)
            self.spans[number] = span = self._span(number, queue, start)
            free[queue] = span.end
            for user in users[number]:
                left[user] -= 1
                if left[user] == 0:
                    other = lines[self.queues[user]]
                    if user in other.admitted:
                        other.ready(user, self._ready(user))
            for fresh in line.admit():
                if left[fresh] == 0:
                    line.ready(fresh, self._ready(fresh))

    def _ready(self, number: int) -> float:
        """When all that an instruction waits for is visible to its queue."""
        hop = self.hops[self.queues[number]]
        latest = 0.0
        for earlier in self.waits_for[number]:
            span = self.spans[earlier]
            assert span is not None
            at = span.visible if self.costs[earlier].parts else span.visible + hop
            if at > latest:
                latest, self.last[number] = at, earlier
        return latest

    def _span(self, number: int, queue: str, start: float) -> Span:
        cost = self.costs[number]
        if cost.parts:
            engines, first = self.engines, start + cost.stream
            finish = first
            for engine, after, takes in cost.parts:
                end = engines[engine] = max(engines.get(engine, 0.0), first + after) + takes
                self.moving[engine] = self.moving.get(engine, 0.0) + takes
                finish = max(finish, end)
            return Span(start, start + cost.interval, finish + cost.latency)
        if queue == TENSOR:
            if start > self.free[queue]:
                start += cost.exposed
            end = self.clock.work(start, cost.cycles, cost.weight) + cost.interval
            return Span(start, end, end + cost.latency + self.drain / self.clock.speed)
        if cost.table and cost.table != self.table:
            # The first one is loaded before the body begins.
            start += self.load if self.table else 0.0
            self.table = cost.table
        return Span(start, start + cost.interval, start + cost.latency)


class _Line:
    """What of one queue is not scheduled yet: the first so many may be taken once they are ready."""

    def __init__(self, numbers: Sequence[int], lookahead: int):
        self.numbers = numbers
        self.lookahead = lookahead
        self.admitted: set[int] = set()
        self.taken: set[int] = set()
        self.first = self.next = 0
        self.waiting: list[tuple[float, int]] = []
        """Ready at a time."""
        self.able: list[int] = []
        """Ready when the queue is free."""

    def admit(self) -> list[int]:
        """The instructions that come into view."""
        while self.first < len(self.numbers) and self.numbers[self.first] in self.taken:
            self.taken.discard(self.numbers[self.first])
            self.first += 1
        end = min(len(self.numbers), self.first + self.lookahead)
        fresh = list(self.numbers[self.next : end])
        self.next = max(self.next, end)
        self.admitted.update(fresh)
        return fresh

    def ready(self, number: int, at: float) -> None:
        """An instruction in view may start at a time."""
        heapq.heappush(self.waiting, (at, number))

    def start(self, free: float) -> float:
        """When the queue can go on."""
        return free if self.able else max(free, self.waiting[0][0])

    def take(self, start: float) -> int:
        """The oldest instruction that is ready by then."""
        while self.waiting and self.waiting[0][0] <= start:
            heapq.heappush(self.able, heapq.heappop(self.waiting)[1])
        number = heapq.heappop(self.able)
        self.admitted.discard(number)
        self.taken.add(number)
        return number


__all__ = ["LOOKAHEAD", "Cost", "Generation", "Model", "Schedule", "Span", "dependencies", "replay"]
