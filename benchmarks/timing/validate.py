# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Predicted against measured times, row by row, for kernels that can be had.

python -m benchmarks.timing.validate [--sources DIR] [--json FILE] [ROW ...]

Kernels of this folder are always run; those of a repository where DIR has it, as DIR/OWNER+NAME (a clone).
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from axon_mlir.errors import AxonError
from axon_mlir.sim import Argument, run_kernel
from axon_mlir.sim.report import PHASES
from axon_mlir.sim.timing import prepared, replay
from axon_mlir.targets import load_device
from benchmarks.timing import old_api
from benchmarks.timing.profiles import trace_of
from benchmarks.timing.runs import RUNS, Run, Source

HERE = Path(__file__).parent
ORDERED = (0.20, 0.10)
"""Of pairs of rows of one task, those that differ by more than this part should be ordered right."""
TIMEOUT = 900.0
TASKS = (
    *("add-rmsnorm-matmul", "matmul-add-rmsnorm", "rmsnorm-matmul", "bmm-softmax", "transpose-matmul"),
    *("double matmul", "swiglu", "adamw", "mamba", "silu", "rope", "lora", "gqa", "bmm", "mlp", "attn", "vadd"),
    "matmul",
)
"""Names of tasks, each before those that are a part of it."""


@dataclass(frozen=True)
class Row:
    """One measured time: microseconds, of the kernel alone (`latency`) or with its launch (`profile`)."""

    id: str
    kernel: str
    shapes: str
    dtype: str
    device: str
    measured_us: float
    metric: str
    use: str
    trust: str
    source: str

    @property
    def task(self) -> tuple[str, str, str]:
        """Rows that do the same: what their names say, on the same shapes, from and to the same type."""
        words = f"{self.id} {self.kernel}".lower().replace("_", "-")
        name = next((task for task in TASKS if task in words), self.id)
        return name, self.shapes, self.dtype.partition(",")[0].removesuffix(" io")


@dataclass(frozen=True)
class Found:
    """A row, and what is predicted of it."""

    row: Row
    stream: str
    predicted_us: float
    order_us: float
    binding: str

    @property
    def error(self) -> float:
        """Of the prediction, as a part of the measured time."""
        return self.predicted_us / self.row.measured_us - 1


def rows() -> dict[str, Row]:
    """The measured rows, by name."""
    with open(HERE / "latencies.csv", encoding="utf-8", newline="") as file:
        return {r["id"]: Row(**{**r, "measured_us": float(r["measured_us"])}) for r in csv.DictReader(file)}  # pyright: ignore[reportArgumentType]


def located(run: Run, sources: Path | None, folder: Path) -> Path | None:
    """The file of a run's kernel; None where its repository is not there."""
    if not isinstance(run.kernel, Source):
        return HERE / run.kernel
    if sources is None:
        return None
    clone = sources / run.kernel.repository.replace("/", "+")
    found = next((c for c in (clone, clone / "repo") if (c / "HEAD").exists() or (c / ".git").exists()), None)
    if found is None:
        return None
    blob = f"{run.kernel.commit}:{run.kernel.path}"
    shown = subprocess.run(["git", "-C", str(found), "show", blob], capture_output=True, check=False)
    if shown.returncode:
        return None
    name = Path(run.kernel.path)
    path = folder / f"{name.stem.replace('.', '_')}{name.suffix}"
    path.write_bytes(shown.stdout)
    return path


def predicted(run: Run, row: Row, path: Path) -> Found:
    """Run a kernel on shapes, or replay a profile; AxonError where that cannot be done."""
    if path.suffix == ".json":
        return replayed(run, row, path)
    times = [timed(run, row.device, path, function, arguments) for function, arguments in run.launches]
    launch = 0.0 if row.metric == "profile" else sum(time["latency_us"] - time["predicted_us"] for time in times)
    return Found(
        row,
        run.stream,
        sum(time["predicted_us"] for time in times) + launch,
        sum(time["predicted_order_us"] for time in times) + launch,
        str(max(times, key=lambda time: time["predicted_us"])["binding"]),
    )


def replayed(run: Run, row: Row, path: Path) -> Found:
    """A profile's instructions, each queue's in the order in which they were executed: nothing is scheduled."""
    device = load_device(row.device)
    ready = prepared(trace_of(path, device), device)
    schedules = [replay(ready, reorder=False, phase=n / PHASES) for n in range(PHASES)]
    middle = sorted(schedules, key=lambda s: s.total_ns)[PHASES // 2]
    us = middle.total_ns / 1e3
    return Found(row, run.stream, us, us, max(middle.busy, key=lambda queue: middle.busy[queue]))


def timed(
    run: Run, device: str, path: Path, function: str | None, arguments: tuple[Argument, ...]
) -> Mapping[str, Any]:
    """The report of one launch's time."""
    if run.api == "old":
        assert function is not None
        return old_api.timed(path, function, arguments, device, run.generation, TIMEOUT)
    time = run_kernel(
        path, function, arguments, device=device, domain="shapes", timeout=TIMEOUT, timed=run.generation
    ).time
    assert time is not None
    return time


def measured_runs(sources: Path | None, chosen: Sequence[str]) -> Iterator[Found | str]:
    """What is predicted of each row that can be run, or why it cannot."""
    known = rows()
    with tempfile.TemporaryDirectory(prefix="axon-timing-") as name:
        for run in RUNS:
            if chosen and run.row not in chosen:
                continue
            path = located(run, sources, Path(name))
            if path is None:
                assert isinstance(run.kernel, Source)
                yield f"{run.row}: not run: no clone of {run.kernel.repository} with {run.kernel.commit}"
                continue
            try:
                yield predicted(run, known[run.row], path)
            except AxonError as error:
                yield f"{run.row}: {error}"


def summary(found: Sequence[Found]) -> list[str]:
    """Errors by group, and how many pairs of one task are in order."""
    out: list[str] = []
    groups = {
        "fit": [f for f in found if f.row.use == "fit"],
        "check, stream known": [f for f in found if f.row.use == "check" and f.stream == "known"],
        "check, scheduled by a compiler": [f for f in found if f.row.use == "check" and f.stream == "scheduled"],
    }
    for name, members in groups.items():
        if members:
            errors = sorted(abs(f.error) for f in members)
            inside = ", ".join(f"{sum(e <= part for e in errors)} within {part:.0%}" for part in (0.12, 0.2))
            out.append(f"{name}: {len(errors)} rows, median error {statistics.median(errors):.1%}, {inside}")
    for part in ORDERED:
        pairs = [
            (a, b)
            for a, b in combinations(found, 2)
            if a.row.task == b.row.task
            and a.row.metric == b.row.metric
            and abs(math.log(a.row.measured_us / b.row.measured_us)) > math.log1p(part)
        ]
        right = sum((a.predicted_us < b.predicted_us) == (a.row.measured_us < b.row.measured_us) for a, b in pairs)
        if pairs:
            out.append(f"pairs more than {part:.0%} apart: {right} of {len(pairs)} in order")
    return out


def main(arguments: Sequence[str]) -> int:
    """Print the report."""
    parser = argparse.ArgumentParser(prog="benchmarks.timing.validate", description=__doc__)
    parser.add_argument("--sources", type=Path, metavar="DIR", help="clones of public repositories")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where to write the rows")
    parser.add_argument("rows", nargs="*", metavar="ROW", help="rows to run (default: all)")
    args = parser.parse_args(arguments)
    found: list[Found] = []
    print(f"{'row':<46} {'use':<6} {'measured':>10} {'predicted':>10} {'error':>7} {'in order':>10}  binds")
    for one in measured_runs(args.sources, args.rows):
        if isinstance(one, str):
            print(one, flush=True)
            continue
        found.append(one)
        row = one.row
        print(
            f"{row.id:<46} {row.use:<6} {row.measured_us:>10.1f} {one.predicted_us:>10.1f} {one.error:>+7.1%} "
            f"{one.order_us / row.measured_us - 1:>+10.1%}  {one.binding}",
            flush=True,
        )
    print("\n".join(["", *summary(found)]))
    if args.json is not None:
        args.json.write_text(json.dumps([asdict(f) for f in found], indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
