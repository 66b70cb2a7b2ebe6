# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The constants of the timing model, measured anew from the rows marked `fit`.

python -m benchmarks.timing.fit --sources DIR

What a profile of hardware shows directly (when an instruction started, when the next one did, when packets moved) is
the median of what remains of each time when cycles by the clock are taken off; a few constants are searched for by the
times of whole kernels. Prints each constant as the device's description has it, as it is measured, and of how many
samples; exits with 1 where they differ by more than they may.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, zip_longest
from pathlib import Path

import numpy as np

from axon_mlir.sim import execute
from axon_mlir.sim.report import time_report
from axon_mlir.sim.timing import TENSOR, Cost, Model, Prepared, prepared
from axon_mlir.sim.trace import Trace, Work
from axon_mlir.targets import Device, load_device
from benchmarks.timing.profiles import SEMAPHORE, Packet, Profile, profile_of
from benchmarks.timing.runs import OURS, RUNS, Run
from benchmarks.timing.validate import HERE, Row, located, rows

APART = 0.1
"""A description may differ by this part of a constant from what is measured."""
FITTED = "fit of axon_mlir's timing model"
"""What the source of a fitted constant says."""
NEAR = 15.0
"""Or by so many nanoseconds (a tick of the device is about one)."""
QUICK = 0.9
"""A product that takes less than this part of its time at half clock ran at full clock."""

PREPARE = "software prepares"
"""Sample of the time from the end of what a DMA of software's descriptors waits for to its start: the description has
it in the time to the first byte."""
PACKET = "packet of "
PAUSE = 2000.0
"""An engine that starts later than this after what it waited for has waited for something else."""

Samples = dict[str, list[float]]


@dataclass
class Fit:
    """What the profiles show: samples of constants by name, and what share of a window raised or lowered the clock."""

    device: Device
    samples: Samples = field(default_factory=Samples)
    rose: list[tuple[float, bool]] = field(default_factory=list[tuple[float, bool]])
    """Of windows at half clock: their activity, and whether the clock was full after them."""
    stayed: list[tuple[float, bool]] = field(default_factory=list[tuple[float, bool]])
    """Of windows at full clock."""
    ends: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])
    """Of products: what a cycle takes, and how long after the last column the result is there."""
    lengths: list[float] = field(default_factory=list[float])
    """How long the clock was full at a time."""

    def add(self, name: str, value: float) -> None:
        """One sample of a constant."""
        self.samples.setdefault(name, []).append(value)


@dataclass(frozen=True)
class Read:
    """A profile with what the model makes of it."""

    profile: Profile
    ready: Prepared
    costs: tuple[Cost, ...]
    queues: dict[str, list[int]]
    """The instructions of each queue, in order."""
    speeds: dict[int, float]
    """The matrix engine's cycles of a nanosecond, of products whose clock is known."""

    @property
    def model(self) -> Model:
        """The constants that are described."""
        return self.ready.model


def read(path: Path, device: Device) -> Read:
    """Read a profile."""
    profile = profile_of(path, device)
    ready = prepared(profile.trace, device)
    costs = tuple(map(ready.model.cost, ready.works))
    queues: dict[str, list[int]] = {}
    for number, queue in enumerate(ready.queues):
        queues.setdefault(queue, []).append(number)
    full = ready.model.clocks[TENSOR]
    speeds: dict[int, float] = {}
    own = queues.get(TENSOR, [])
    for number, following in pairwise(own):
        taken = profile.executed[following].start - profile.executed[number].start
        for speed in (full, full / 2):
            if taken * QUICK <= costs[number].cycles / speed <= taken:
                speeds[number] = speed
    return Read(profile, ready, costs, queues, speeds)


def name_of(model: Model, kind: str, work: Work) -> str:
    """The constant of the description that the model takes for work."""
    return next(name for name in model.names(kind, work) if name in model.device.constants)


def engines(seen: Read, fit: Fit) -> None:
    """What instructions of the vector and the scalar engine take beyond their cycles."""
    model, executed = seen.model, seen.profile.executed
    for queue in ("vector", "scalar"):
        own = [n for n in seen.queues.get(queue, ()) if seen.ready.works[n].transfer is None]
        for number, following in zip_longest(own, own[1:]):
            work, ran = seen.ready.works[number], executed[number]
            stream = work.cycles / model.clocks[queue]
            fit.add(name_of(model, "latency", work), ran.end - ran.start - stream)
            if following is not None and executed[following].start < ran.end:
                fit.add(name_of(model, "interval", work), executed[following].start - ran.start - stream)


def products(seen: Read, fit: Fit) -> None:
    """The matrix engine: what is beyond the columns, when results are there, and loading weights after a pause."""
    executed, model = seen.profile.executed, seen.model
    own = seen.queues.get(TENSOR, [])
    over = 0.0
    for number, following in pairwise(own):
        ran, speed = executed[number], seen.speeds.get(number)
        if speed is None:
            over = ran.end
            continue
        stream = seen.costs[number].cycles / speed
        beyond = executed[following].start - ran.start - stream
        if ran.begun <= over + NEAR:
            fit.add("interval_tensor", beyond)
            fit.ends.append((1 / speed, ran.end - ran.start - stream - beyond))
        else:
            late = model.ns("latency_tensor") + model.ns("drain") / speed
            name = name_of(model, "weights", seen.ready.works[number])
            fit.add(name, ran.end - ran.begun - stream - late - model.ns("interval_tensor"))
        over = ran.start + stream


def hops(seen: Read, fit: Fit) -> None:
    """From the end of what an idle engine waited for to its start."""
    executed = seen.profile.executed
    for queue, own in seen.queues.items():
        for before, number in pairwise(own):
            work, waited = seen.ready.works[number], seen.ready.waits_for[number]
            if not waited:
                continue
            done = {earlier: seen_end(seen, earlier) for earlier in waited}
            last = max(done, key=lambda earlier: done[earlier])
            start = executed[number].begun
            if executed[before].end > done[last] or not 0 < start - done[last] < PAUSE:
                continue
            if work.transfer is not None:
                if work.transfer.made == "software" and seen.ready.works[last].transfer is None:
                    fit.add(PREPARE, start - done[last])
            elif seen.ready.works[last].transfer is not None:
                fit.add("dma_wait", start - done[last])
            else:
                fit.add("semaphore_to_tensor" if queue == TENSOR else "semaphore", start - done[last])


def seen_end(seen: Read, number: int) -> float:
    """When an instruction was over: a DMA with its last packet."""
    packets = seen.profile.packets.get(number)
    if packets is None:
        return seen.profile.executed[number].end
    return max(packet.end for each in packets.values() for packet in data(each))


def data(packets: Sequence[Packet]) -> list[Packet]:
    """Without the semaphore's."""
    return [packet for packet in packets if packet.size != SEMAPHORE]


def transfers(seen: Read, fit: Fit) -> None:
    """DMA: issuing, the first bytes, packets."""
    executed = seen.profile.executed
    for own in seen.queues.values():
        moving = [n for n in own if seen.ready.works[n].transfer is not None]
        for place, number in enumerate(moving):
            transfer = seen.ready.works[number].transfer
            assert transfer is not None
            mode, way = transfer.made, "load" if transfer.load else "store"
            ran = executed[number]
            if mode == "hardware":
                fit.add("dma_hardware_issue", ran.end - ran.start)
            elif place + 1 < len(moving) and not seen.ready.waits_for[moving[place + 1]]:
                gap = executed[moving[place + 1]].start - ran.start
                fit.add("dma_software_issue", gap - transfer.descriptors * seen.model.ns("dma_software_descriptor"))
            begun = sorted(data(each)[0].start for each in seen.profile.packets.get(number, {}).values() if data(each))
            if len(begun) < seen.model.device.limits["dma_engines"] or place:
                continue
            # Of later transfers the engines may still be at work on earlier ones.
            fit.add(f"dma_{mode}_first_{way}", begun[0] - ran.start)
            fit.add(f"dma_spread_{way}", begun[-1] - begun[0])


def packets(seen: Read, fit: Fit) -> None:
    """What a packet takes of a DMA engine, by its bytes, where hardware made its descriptor."""
    for number, each in seen.profile.packets.items():
        transfer = seen.ready.works[number].transfer
        for stream in each.values() if transfer is not None and transfer.made == "hardware" else ():
            for packet in data(stream):
                fit.add(f"{PACKET}{packet.size}", packet.end - packet.start)


def launch(seen: Read, fit: Fit) -> None:
    """Before the first instruction of the body, and after the last that is waited for."""
    fit.add("kernel_start", min(ran.begun for ran in seen.profile.executed))
    last = max(seen_end(seen, number) for number in seen.profile.packets)
    fit.add("kernel_end", seen.profile.total - last - seen.model.ns("dma_wait"))


def windows(seen: Read, fit: Fit) -> None:
    """The clock: how long its windows are, and how busy the array was in those that raised or kept it."""
    full = seen.profile.full_clock
    fit.lengths += [end - start for start, end in full]
    length = seen.model.ns("tensor_window")
    if not full:
        return
    own = seen.queues[TENSOR]
    busy: list[tuple[float, float]] = []
    for number, following in zip_longest(own, own[1:]):
        ran = seen.profile.executed[number]
        upto = ran.end if following is None else min(ran.end, seen.profile.executed[following].begun)
        busy.append((ran.begun, upto))
    at = full[0][0] - length * 8
    while at + 2 * length <= busy[-1][1]:
        share = sum(max(0.0, min(end, at + length) - max(start, at)) for start, end in busy) / length
        was, then = (any(a <= t < b for a, b in full) for t in (at + length / 2, at + 1.5 * length))
        (fit.stayed if was else fit.rose).append((share, then))
        at += length


STEPS: tuple[Callable[[Read, Fit], None], ...] = (engines, products, hops, transfers, packets, launch, windows)


@dataclass(frozen=True)
class Found:
    """One constant, measured."""

    name: str
    described: float
    measured: float
    low: float
    high: float
    count: int

    @property
    def agrees(self) -> bool:
        """Whether the description is near what is measured, or in the bracket that measurements leave open."""
        near = max(APART * abs(self.measured), NEAR if self.described > 1 else 0.0)
        return self.low - near <= self.described <= self.high + near


def found(fit: Fit) -> Iterator[Found]:
    """Every constant of which there are samples."""
    yield from whole(fit.device)
    for name, one in fit.device.constants.items():
        values = fit.samples.get(name)
        if values:
            # A queue that waits makes an interval longer, never shorter.
            middle = quarter(values) if name.startswith("interval_") else statistics.median(values)
            if name.startswith("dma_software_first"):
                middle += statistics.median(fit.samples[PREPARE])
            yield Found(name, one.value, middle, middle, middle, len(values))
        elif name in ("tensor_rises", "tensor_stays"):
            yield bracket(name, one.value, fit.rose if name == "tensor_rises" else fit.stayed)
        elif name == "tensor_window":
            length = best(fit.lengths, one.value)
            yield Found(name, one.value, length, length, length, len(fit.lengths))
    sizes, times = [], []
    for name, values in fit.samples.items():
        if name.startswith(PACKET):
            sizes.append(float(name.removeprefix(PACKET)))
            times.append(statistics.median(values))
    counted = sum(len(values) for name, values in fit.samples.items() if name.startswith(PACKET))
    slope, fixed = np.polyfit(sizes, times, 1)
    for name, value in (
        ("dma_packet", float(fixed)),
        ("dma_rate", 1 / float(slope)),
        ("dma_packet_bytes", max(sizes)),
    ):
        yield Found(name, fit.device.constants[name].value, value, value, value, counted)
    cycle, late = np.array(fit.ends).T
    slope, fixed = np.polyfit(cycle, late, 1)
    for name, value in (("latency_tensor", float(fixed)), ("drain", float(slope))):
        yield Found(name, fit.device.constants[name].value, value, value, value, len(late))


SEARCHED = {
    "kernel_latency": ("cs149-trn2-vadd-stream-200",),
    "dma_software_descriptor": ("cs149-trn2-vadd-tiled-1", "cs149-trn2-vadd-tiled-128"),
}
"""Constants that no profile shows, with the rows of whole kernels that depend on them."""
FACTORS = (0.5, 0.7, 0.8, 0.9, 0.95, 1.0, 1.05, 1.1, 1.2, 1.4, 2.0)
"""What a described constant is multiplied by, to see what fits best."""
AS_GOOD = 0.01
"""Values whose error is larger by no more than this are as good as the best: rows are known to about a percent."""


def whole(device: Device) -> Iterator[Found]:
    """Constants that only the time of whole kernels shows: the values with the least mean error."""
    known = rows()
    for name, members in SEARCHED.items():
        runs = [(run, known[run.row]) for run in RUNS if run.row in members and run.kernel == OURS]
        traces = [(recorded(run, row), run, row) for run, row in runs]
        described = device.constants[name]
        errors: dict[float, float] = {}
        for factor in FACTORS:
            value = described.value * factor
            changed = replace(device, constants={**device.constants, name: replace(described, value=value)})
            off = [abs(us(trace, run, row, changed) / row.measured_us - 1) for trace, run, row in traces]
            errors[value] = statistics.mean(off)
        least = min(errors.values())
        good = [value for value, error in errors.items() if error <= least + AS_GOOD]
        middle = min(errors, key=lambda value: (errors[value], value))
        yield Found(name, described.value, middle, min(good), max(good), len(traces))


def recorded(run: Run, row: Row) -> Trace:
    """The trace of a kernel of this folder."""
    trace = Trace()
    execute(HERE / OURS, run.function, run.arguments, device=row.device, domain="shapes", trace=trace)
    return trace


def us(trace: Trace, run: Run, row: Row, device: Device) -> float:
    """The predicted time of a row."""
    report, _ = time_report(trace, device, run.generation)
    return report.predicted_us if row.metric == "profile" else report.latency_us


def bracket(name: str, described: float, seen: Sequence[tuple[float, bool]]) -> Found:
    """Between the busiest window after which the clock was half and the least busy after which it was full."""
    below = max((share for share, then in seen if not then), default=0.0)
    above = min((share for share, then in seen if then), default=1.0)
    low, high = min(below, above), max(below, above)
    return Found(name, described, (low + high) / 2, low, high, len(seen))


def quarter(values: Sequence[float]) -> float:
    """The first quartile."""
    return float(np.quantile(values, 0.25))


def best(lengths: Sequence[float], near: float) -> float:
    """The length of which others are multiples, near a guess."""
    return statistics.median(length / round(length / near) for length in lengths if length > near / 2)


def main(arguments: Sequence[str]) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="benchmarks.timing.fit", description=__doc__)
    parser.add_argument("--sources", type=Path, required=True, metavar="DIR", help="clones of public repositories")
    args = parser.parse_args(arguments)
    device, known = load_device("trn2"), rows()
    fit = Fit(device)
    with tempfile.TemporaryDirectory(prefix="axon-fit-") as folder:
        for run in RUNS:
            path = located(run, args.sources, Path(folder)) if known[run.row].use == "fit" else None
            if path is not None and path.suffix == ".json":
                print(f"read {run.row}")
                seen = read(path, device)
                for step in STEPS:
                    step(seen, fit)
    if not fit.samples:
        print("no profile of a row marked `fit` is there", file=sys.stderr)
        return 2
    print(f"\n{'constant':<32} {'described':>10} {'measured':>10} {'samples':>8}")
    apart = 0
    shown: set[str] = set()
    for one in found(fit):
        shown.add(one.name)
        wide = f" ({one.low:.2f} .. {one.high:.2f})" if one.low != one.high else ""
        mark = "" if one.agrees else "  apart"
        apart += not one.agrees
        print(f"{one.name:<32} {one.described:>10.4g} {one.measured:>10.4g} {one.count:>8}{wide}{mark}")
    rest = sorted(c.name for c in device.constants.values() if FITTED in c.source and c.name not in shown)
    print(f"\nnot shown by these rows: {', '.join(rest)}")
    return 1 if apart else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
