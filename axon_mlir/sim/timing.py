# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How long a trace takes: in-order queues that wait for each other, DMA engines, and the clock of the matrix engine.

Every number is a constant of the target description. An instruction starts when its queue is free and what it depends
on is visible to it; it lets its queue go after an interval, and its results are visible later. The model and its limits
are described in `docs/timing-model.md`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush
from typing import NamedTuple

from axon_mlir.errors import AxonError
from axon_mlir.sim.placement import mover
from axon_mlir.sim.trace import Access, Generation, Trace, Transfer, Work
from axon_mlir.targets import Device

LOOKAHEAD = 48
"""Instructions of a queue that the compiler's scheduler looks at (the study's figure; 8 to 512 differ little)."""

TENSOR = "tensor"
INFINITE = float("inf")

FREE_FUNCTIONS = frozenset({"", "identity", "square", "abs", "relu", "sign"})
"""Functions that need no activation table of their own."""


MODELLED = (
    *("semaphore", "semaphore_to_tensor", "drain", "tensor_window", "tensor_rises", "tensor_stays"),
    *("activation_table_load", "kernel_start", "kernel_end", "kernel_latency"),
    *("dma_hardware_issue", "dma_hardware_descriptor", "dma_wait", "dma_packet", "dma_packet_bytes", "dma_rate"),
)
"""Constants without which no time is predicted."""


def is_modelled(device: Device) -> bool:
    """Whether a device's description has what the time of its kernels consists of."""
    return all(name in device.constants for name in MODELLED)


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
    even: float | None = None
    """Of a DMA on which all engines are at work equally long: how much later than the one before it each begins."""


@dataclass(frozen=True)
class Model:
    """A device's constants, by what they are for."""

    device: Device
    generation: Generation = "hardware"
    """How descriptors are made where the kernel does not say so."""

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
        if (work.transfer.made or self.generation) == "software":
            return "gpsimd"
        return work.queue or "sync"

    def chosen(self, works: Sequence[Work]) -> list[Work]:
        """Works with an engine for each that leaves it open: in source order, the one on which it is over first when
        all that came before is done without waiting. (Compilers balance the copies out of PSUM so, more or less: public
        traces have 14 on the scalar engine and 10 on the vector engine.)"""
        load: dict[str, float] = {}
        known: dict[int, tuple[tuple[Work, str, float], ...]] = {}
        out: list[Work] = []
        for work in works:
            options = known.get(id(work))
            if options is None:
                each = (work, *work.others)
                options = known[id(work)] = tuple((w, self.queue(w), self.cost(w).interval) for w in each)
            taken, queue, interval = options[0]
            if len(options) > 1:
                taken, queue, interval = min(options, key=lambda option: load.get(option[1], 0.0) + option[2])
            load[queue] = load.get(queue, 0.0) + interval
            out.append(taken)
        return out

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

    def names(self, kind: str, work: Work) -> tuple[str, ...]:
        """Constants for what is beyond the cycles, the most specific first: of a copy, of short elements, of the
        instruction, of where operands lie, of the engine."""
        copies, half = work.function == "identity", not work.wide
        parts = ("copy" if copies else "", "half" if half else "", work.instruction, work.space)
        return *(f"{kind}_{work.queue}_{part}" for part in parts if part), f"{kind}_{work.queue}"

    def _fixed(self, kind: str, work: Work) -> float:
        return self.ns(*self.names(kind, work))

    @cached_property
    def _known(self) -> dict[Transfer, Cost]:
        return {}

    def _transfer(self, moved: Transfer) -> Cost:
        found = self._known.get(moved)
        if found is None:
            found = self._known[moved] = self._moved(moved)
        return found

    def _moved(self, moved: Transfer) -> Cost:
        """A DMA: the queue issues it, the engines move their parts one after the other."""
        mode, way = moved.made or self.generation, "load" if moved.load else "store"
        issue = self.ns(f"dma_{mode}_issue") + moved.descriptors * self.ns(f"dma_{mode}_descriptor")
        first = self.ns(f"dma_{mode}_first_{way}", f"dma_{mode}_first")
        spread = self.ns(f"dma_spread_{way}") / self.device.limits["dma_engines"]
        packet, most, rate = self.ns("dma_packet"), int(self.ns("dma_packet_bytes")), self.ns("dma_rate")
        parts = tuple(
            (engine, spread * engine, max(descriptors, -(-size // most)) * packet + size / rate)
            for engine, descriptors, size in moved.parts
        )
        whole = len(parts) == self.device.limits["dma_engines"] and len({takes for _, _, takes in parts}) == 1
        return Cost(first, issue, self.ns("dma_wait"), parts=parts, even=spread if whole else None)


class Span(NamedTuple):
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
    starts: Sequence[float]
    ends: Sequence[float]
    visible: Sequence[float]
    waits: Sequence[int]
    moving: dict[int, float]
    core_ns: float
    total_ns: float
    latency_ns: float

    @cached_property
    def spans(self) -> tuple[Span, ...]:
        """The times of each instruction."""
        return tuple(map(Span, self.starts, self.ends, self.visible))

    @cached_property
    def busy(self) -> dict[str, float]:
        """Nanoseconds that each queue is at work."""
        out: dict[str, float] = dict.fromkeys(self.queues, 0.0)
        for queue, start, end in zip(self.queues, self.starts, self.ends, strict=True):
            out[queue] += end - start
        return out


@dataclass(frozen=True)
class Prepared:
    """A trace before it is replayed: what each instruction is, its queue, and what it waits for."""

    trace: Trace
    model: Model
    works: Sequence[Work]
    queues: tuple[str, ...]
    waits_for: Sequence[Sequence[int]]


def prepared(trace: Trace, device: Device, generation: Generation = "hardware") -> Prepared:
    """What all replays of a trace have in common."""
    model = Model(device, generation)
    works = model.chosen([one.work for one in trace.issued])
    queues = tuple(map(model.queue, works))
    return Prepared(trace, model, works, queues, dependencies(trace, queues, device))


def dependencies(trace: Trace, queues: Sequence[str], device: Device) -> list[list[int]]:
    """For each instruction the earlier ones that it must wait for: what it reads was written by them, or, across queues
    and for DMA, what it writes was read or written. The matrix engine never waits for itself: it works in order."""
    moves = [one.work.transfer is not None for one in trace.issued]
    written = {access.tensor for one in trace.issued for access in one.writes}
    moved, parts = mover(trace, device), _Parts()
    writer, readers, meeting, covered = parts.writer, parts.readers, parts.meeting, parts.covered
    # A part of a tensor is one object most of the time, and hashing it is slow. What nothing writes has no part.
    known: dict[int, int] = {}
    out: list[list[int]] = []
    for number, one in enumerate(trace.issued):
        queue, moving = queues[number], moves[number]
        found: set[int] = set()
        read: list[int] = []
        for access in one.reads:
            part = known.get(id(access))
            if part is None:
                part = known[id(access)] = parts.number(moved(access)) if access.tensor in written else -1
            if part >= 0:
                read.append(part)
                for other in meeting[part]:
                    found.add(writer[other])
        if queue == TENSOR:
            found = {earlier for earlier in found if earlier < 0 or queues[earlier] != TENSOR}
        target: list[int] = []
        for access in one.writes:
            part = known.get(id(access))
            if part is None:
                part = known[id(access)] = parts.number(moved(access))
            target.append(part)
            for other in meeting[part]:
                earlier, reading = writer[other], readers[other]
                if moving:
                    found.add(earlier)
                    found.update(reading)
                    continue
                if earlier >= 0 and (moves[earlier] or queues[earlier] != queue):
                    found.add(earlier)
                for earlier in reading:
                    if moves[earlier] or queues[earlier] != queue:
                        found.add(earlier)
        found.discard(-1)
        for part in read:
            readers[part].append(number)
        for part in target:
            for other in covered[part]:
                writer[other] = -1
                if readers[other]:
                    readers[other] = []
            writer[part] = number
        out.append(sorted(found))
    return out


class _Parts:
    """The parts of tensors that a trace touches, each once, and who touched them last."""

    def __init__(self) -> None:
        self.numbers: dict[Access, int] = {}
        self.by_rows: dict[int, _Rows] = {}
        self.meeting: list[list[int]] = []
        """The parts that share a byte with each, itself among them."""
        self.covered: list[list[int]] = []
        """Those of them of which nothing is outside."""
        self.writer: list[int] = []
        self.readers: list[list[int]] = []
        """Who read a part since it was written."""

    def number(self, access: Access) -> int:
        """The number of a part."""
        found = self.numbers.get(access)
        return self._add(access) if found is None else found

    def _add(self, access: Access) -> int:
        number = self.numbers[access] = len(self.writer)
        meeting = self.by_rows.setdefault(access.tensor, _Rows()).add(number, access)
        for n, other in meeting:
            if n != number:
                self.meeting[n].append(number)
                if other.covers(access.box):
                    self.covered[n].append(number)
        self.meeting.append([n for n, _ in meeting])
        self.covered.append([n for n, other in meeting if access.covers(other.box)])
        self.writer.append(-1)
        self.readers.append([])
        return number


class _Rows:
    """Parts of one tensor: those over the same rows together, by where their rows begin."""

    def __init__(self) -> None:
        self.begins: list[tuple[int, int]] = []
        self.columns: dict[tuple[int, int], _Columns] = {}
        self.tallest = 0

    def add(self, number: int, access: Access) -> list[tuple[int, Access]]:
        """One more part: it and those that share a byte with it."""
        low, high, _, _ = access.box
        rows = low, high
        if rows not in self.columns:
            self.columns[rows] = _Columns()
            insort(self.begins, rows)
            self.tallest = max(self.tallest, high - low)
        self.columns[rows].add(number, access)
        some = self.begins[bisect_right(self.begins, (low - self.tallest, 0)) : bisect_left(self.begins, (high, 0))]
        return [pair for key in some if key[1] > low for pair in self.columns[key].meeting(access)]


class _Columns:
    """Parts over the same rows, by where their bytes begin."""

    def __init__(self) -> None:
        self.begins: list[int] = []
        self.parts: list[tuple[int, Access]] = []
        self.widest = 0

    def add(self, number: int, access: Access) -> None:
        """One more part."""
        _, _, begin, end = access.box
        at = bisect_right(self.begins, begin)
        self.begins.insert(at, begin)
        self.parts.insert(at, (number, access))
        self.widest = max(self.widest, end - begin)

    def meeting(self, access: Access) -> list[tuple[int, Access]]:
        """Those that share a byte of a row with another part."""
        _, _, begin, end = access.box
        some = self.parts[bisect_right(self.begins, begin - self.widest) : bisect_left(self.begins, end)]
        return [pair for pair in some if pair[1].box[3] > begin]


def replay(ready: Prepared, *, reorder: bool = True, phase: float = 0.0) -> Schedule:
    """Run a trace through the queues.

    `reorder`: each queue takes the oldest instruction that is ready, as the compiler's scheduler does; else source
    order. `phase`: the part of a window of the clock that is over when the body begins.
    """
    model, queues = ready.model, ready.queues
    run = _Run(model, ready.works, queues, ready.waits_for, phase)
    if reorder or len({queue for queue, work in zip(queues, ready.works, strict=True) if work.transfer}) > 1:
        run.all(LOOKAHEAD if reorder else 1)
    else:
        run.in_order()
    core = max(run.visible, default=0.0)
    total = model.ns("kernel_start") + core + model.ns("kernel_end")
    latency = core + model.ns("kernel_latency")
    return Schedule(ready.trace, queues, run.starts, run.ends, run.visible, run.last, run.moving, core, total, latency)


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
    """The state of all queues.

    Each queue looks at its first `lookahead` instructions that are not taken yet. Those of them that are ready wait in
    one of two heaps: by the time at which they may start, or, once the queue could start them, by their place.
    """

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
        self.by_id = {id(cost): cost for cost in known.values()}
        self.names = sorted(set(queues))
        at = {name: n for n, name in enumerate(self.names)}
        self.queue_of = [at[name] for name in queues]
        self.waits_for = waits_for
        self.clock = _Clock(model, phase)
        self.drain = model.ns("drain")
        self.load = model.ns("activation_table_load")
        hop, into = model.ns("semaphore"), model.ns("semaphore_to_tensor")
        self.hops = [into if name == TENSOR else hop for name in self.names]
        self.starts, self.ends, self.visible = ([0.0] * len(works) for _ in range(3))
        self.last = [-1] * len(works)
        self.engines = [0.0] * model.device.limits["dma_engines"]
        """When each DMA engine is free, where they are not in step."""
        self.even: float | None = None
        """While they are: how much later than the one before it each is free; `base`: when the first is."""
        self.base = 0.0
        self.table = ""
        """The activation table that is loaded."""

    def in_order(self) -> None:
        """Give every instruction its time, in source order: no two queues share the DMA engines."""
        costs, last, hops = self.costs, self.last, self.hops
        free = [0.0] * len(self.names)
        # When each instruction is seen, by the hop of who waits for it.
        seen = {hop: [0.0] * len(costs) for hop in hops}
        for number, queue in enumerate(self.queue_of):
            start = own = free[queue]
            waits = self.waits_for[number]
            if waits:
                times = list(map(seen[hops[queue]].__getitem__, waits))
                latest = max(times)
                last[number] = waits[times.index(latest)]
                if latest > own:
                    start = latest
            cost = costs[number]
            free[queue] = self._take(number, cost, start, own)
            visible = self.visible[number]
            for hop, times in seen.items():
                times[number] = visible if cost.parts else visible + hop

    def all(self, lookahead: int) -> None:
        """Give every instruction its time, in the order of time; of two queues that go on at once, by their names."""
        queue_of, costs, waits_for = self.queue_of, self.costs, self.waits_for
        visible, last, hops = self.visible, self.last, self.hops
        count = len(self.names)
        members: list[list[int]] = [[] for _ in range(count)]
        place = [0] * len(costs)
        users: list[list[int]] = [[] for _ in costs]
        left = list(map(len, waits_for))
        latest = [0.0] * len(costs)
        """When what an instruction waits for is seen, as far as it is over."""
        for number, queue in enumerate(queue_of):
            place[number] = len(members[queue])
            members[queue].append(number)
            for earlier in waits_for[number]:
                users[earlier].append(number)
        free = [0.0] * count
        first = [0] * count
        """Place of the first instruction that is not taken."""
        taken = [bytearray(len(own) + 1) for own in members]
        waiting: list[list[tuple[float, int]]] = [[] for _ in range(count)]
        able: list[list[int]] = [[] for _ in range(count)]
        # When each queue can go on: infinite while nothing in view is ready.
        ahead = [INFINITE] * count

        def ready(number: int, queue: int) -> None:
            heappush(waiting[queue], (latest[number], number))
            if not able[queue]:
                ahead[queue] = max(free[queue], waiting[queue][0][0])

        for queue, own in enumerate(members):
            for number in own[:lookahead]:
                if not left[number]:
                    ready(number, queue)
        for _ in costs:
            start = min(ahead)
            queue = ahead.index(start)
            mine, late = able[queue], waiting[queue]
            while late and late[0][0] <= start:
                heappush(mine, heappop(late)[1])
            number = heappop(mine)
            cost = costs[number]
            end = self._take(number, cost, start, free[queue])
            free[queue] = end
            ahead[queue] = end if mine else max(end, late[0][0]) if late else INFINITE
            own, gone, head = members[queue], taken[queue], first[queue]
            gone[place[number]] = 1
            before = head
            while gone[head]:
                head += 1
            first[queue] = head
            over, moves = visible[number], cost.parts
            for user in users[number]:
                other = queue_of[user]
                at = over if moves else over + hops[other]
                if at > latest[user]:
                    latest[user], last[user] = at, number
                left[user] -= 1
                if not left[user] and place[user] < (before if other == queue else first[other]) + lookahead:
                    ready(user, other)
            for fresh in own[before + lookahead : head + lookahead]:
                if not left[fresh]:
                    ready(fresh, queue)

    def _take(self, number: int, cost: Cost, start: float, free: float) -> float:
        """Run an instruction from a start on; when its queue may go on."""
        if cost.parts:
            finish = self._move(cost, start + cost.stream)
            end, seen = start + cost.interval, finish + cost.latency
        elif cost.cycles:
            if start > free:
                start += cost.exposed
            end = self.clock.work(start, cost.cycles, cost.weight) + cost.interval
            seen = end + cost.latency + self.drain / self.clock.speed
        else:
            if cost.table and cost.table != self.table:
                # The first one is loaded before the body begins.
                start += self.load if self.table else 0.0
                self.table = cost.table
            end, seen = start + cost.interval, start + cost.latency
        self.starts[number], self.ends[number], self.visible[number] = start, end, seen
        return end

    def _move(self, cost: Cost, first: float) -> float:
        """Give a DMA to the engines; when the last of them is done. In step they are one: what all do equally long,
        each a bit later than the one before it, keeps them so."""
        engines = self.engines
        if cost.even is not None and cost.even == self.even:
            self.base = (first if first > self.base else self.base) + cost.parts[0][2]
            return self.base + cost.even * (len(engines) - 1)
        if self.even is not None:
            engines[:] = [self.base + self.even * engine for engine in range(len(engines))]
            self.even = None
        finish, idle = first, True
        for engine, after, takes in cost.parts:
            begin = first + after
            if engines[engine] > begin:
                begin, idle = engines[engine], False
            end = engines[engine] = begin + takes
            if end > finish:
                finish = end
        if idle and cost.even is not None:
            self.even, self.base = cost.even, engines[0]
        return finish

    @property
    def moving(self) -> dict[int, float]:
        """How long each DMA engine is at work."""
        out: dict[int, float] = {}
        for key, count in Counter(map(id, self.costs)).items():
            for engine, _, takes in self.by_id[key].parts:
                out[engine] = out.get(engine, 0.0) + count * takes
        return out


__all__ = [
    "LOOKAHEAD",
    "Cost",
    "Generation",
    "Model",
    "Prepared",
    "Schedule",
    "Span",
    "dependencies",
    "is_modelled",
    "prepared",
    "replay",
]
