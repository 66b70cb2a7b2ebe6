# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Many trials in several processes, with results in a folder that an interrupted campaign goes on from.

`results.jsonl` has a line for each program that was tried, in the order of finishing; `campaign.json` says what the
programs are. A program that fails is written beside them, as small as it could be made, with the command that shows it.
"""

from __future__ import annotations

import json
import multiprocessing
import shlex
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from axon_mlir import __version__
from axon_mlir.errors import AxonError
from axon_mlir.fuzz.generate import generate
from axon_mlir.fuzz.program import FUNCTION
from axon_mlir.fuzz.trial import BAD, WORDS, Outcome, Word, generalised
from axon_mlir.fuzz.worker import Report, Settings, serve

FORMAT = 1
RESULTS, ABOUT = "results.jsonl", "campaign.json"

EACH = 60
"""Programs after which a worker makes place for a new one: terms are kept as long as a process lives."""
FULL = 0.25
"""The part of the memory it may take from which on a worker makes place for a new one."""
SLACK, GRACE = 10.0, 60.0
"""A worker that has kept no limit is ended after so many times all limits of its program, in real time, and seconds."""


@dataclass(frozen=True)
class Result:
    """A line of the results."""

    number: int
    verdict: Word
    stage: str
    reason: str
    detail: str
    seconds: float
    operations: int
    stages: tuple[tuple[str, str, float], ...]
    reproducer: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The line."""
        return {**self.__dict__, "stages": [list(s) for s in self.stages]}

    @staticmethod
    def from_json(entry: dict[str, Any]) -> Result:
        """From a line."""
        stages: list[tuple[str, str, float]] = [(s[0], s[1], s[2]) for s in entry["stages"]]
        values: dict[str, Any] = {**entry, "stages": tuple(stages)}
        return Result(**values)


@dataclass(frozen=True)
class Summary:
    """All results of a campaign."""

    results: tuple[Result, ...]

    @property
    def counts(self) -> dict[Word, int]:
        """How many programs had each verdict."""
        found = Counter(r.verdict for r in self.results)
        return {word: found[word] for word in WORDS}

    def reasons(self, verdict: Word) -> list[tuple[str, int, int]]:
        """Stage and reason, how often, and the number of the first program that shows it; frequent ones first."""
        groups: dict[str, list[int]] = {}
        for r in self.results:
            if r.verdict == verdict:
                groups.setdefault(f"{r.stage}: {generalised(r.reason)}", []).append(r.number)
        return sorted(((k, len(v), min(v)) for k, v in groups.items()), key=lambda entry: -entry[1])

    @property
    def undecided_texts(self) -> int:
        """Programs that passed though the proof of their kernel's text was given up."""
        texts = [dict((name, verdict) for name, verdict, _ in r.stages) for r in self.results if r.verdict == "passed"]
        return sum(t.get("kernel") == "undecided" for t in texts)

    @property
    def clean(self) -> bool:
        """Whether every program passed or was refused."""
        return all(r.verdict in ("passed", "refused") for r in self.results)

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "programs": len(self.results),
            "counts": self.counts,
            "undecided_texts": self.undecided_texts,
            "seconds": round(sum(r.seconds for r in self.results), 1),
            "reasons": {
                word: [
                    {"reason": reason, "count": count, "first": first} for reason, count, first in self.reasons(word)
                ]
                for word in WORDS
                if word != "passed"
            },
        }


def run_campaign(
    settings: Settings,
    numbers: Iterable[int],
    folder: Path,
    jobs: int,
    heard: Callable[[Result], None] = lambda result: None,
) -> Summary:
    """Try programs, those aside that the folder already has results of; `heard` is told each new result."""
    known = _resumed(folder, settings)
    wanted = list(numbers)
    with (folder / RESULTS).open("a", encoding="utf-8") as file:
        for report in _reports(settings, [n for n in wanted if n not in known], jobs):
            result = _result(report, folder, settings)
            known[result.number] = result
            file.write(json.dumps(result.to_json()) + "\n")
            file.flush()
            heard(result)
    return Summary(tuple(known[n] for n in wanted))


def _resumed(folder: Path, settings: Settings) -> dict[int, Result]:
    """The results that the folder has; AxonError when they are of another campaign."""
    folder.mkdir(parents=True, exist_ok=True)
    about = {"format": FORMAT, "seed": settings.seed, "counts": list(settings.counts), "device": settings.device}
    place = folder / ABOUT
    if not place.exists():
        place.write_text(json.dumps({**about, "version": __version__}, indent=2) + "\n", encoding="utf-8")
    found = json.loads(place.read_text(encoding="utf-8"))
    if {k: found.get(k) for k in about} != about:
        raise AxonError("the folder holds another campaign", where=str(place), accepted=f"{found}, or another folder")
    results = folder / RESULTS
    lines = results.read_text(encoding="utf-8").splitlines(keepends=True) if results.exists() else []
    whole = [line for line in lines if line.endswith("\n")]
    if len(whole) != len(lines):
        # The last line was being written when the campaign ended.
        results.write_text("".join(whole), encoding="utf-8")
    return {r.number: r for r in (Result.from_json(json.loads(line)) for line in whole)}


def _result(report: Report, folder: Path, settings: Settings) -> Result:
    outcome = report.outcome
    name: str | None = None
    if outcome.verdict in BAD:
        name = f"{outcome.verdict}-{report.number:06d}.py"
        (folder / name).write_text(_reproducer(report, name, settings), encoding="utf-8")
    return Result(
        report.number,
        outcome.verdict,
        outcome.stage,
        outcome.reason,
        outcome.detail,
        outcome.seconds,
        report.operations,
        outcome.stages,
        name,
    )


def _reproducer(report: Report, name: str, settings: Settings) -> str:
    """The text of a file that shows a failure, and how."""
    arguments = " ".join(f"--arg {shlex.quote(spec)}" for spec in report.shown.specs)
    lines = [
        f"{report.outcome.verdict} at {report.outcome.stage or 'unknown stage'}: program {report.number} of seed "
        f"{settings.seed}, {len(report.shown.steps)} of {report.operations} operations",
        "",
        f"axon compile {name}:{FUNCTION} {arguments} --device {settings.device}",
        "",
        *(report.shown_outcome.detail or report.shown_outcome.reason).strip().split("\n")[:40],
    ]
    text = "\n".join(line.replace("\\", "/").replace('"""', "'''") for line in lines)
    return report.shown.source(f"{text}\n")


# -- processes --------------------------------------------------------------------------------------------------------


@dataclass
class _Worker:
    """A process, and what it is at."""

    process: Any
    connection: Any
    number: int
    deadline: float
    left: int = EACH


def _reports(settings: Settings, numbers: Sequence[int], jobs: int) -> Iterator[Report]:
    """Reports as they come in; no process is left when this ends, however it ends."""
    pending = list(reversed(numbers))
    limit = SLACK * (settings.seconds * 2 + settings.shrink_seconds) + GRACE
    workers: dict[Any, _Worker] = {}
    try:
        while pending or workers:
            while pending and len(workers) < jobs:
                _start(workers, settings, pending.pop(), limit)
            soonest = min(w.deadline for w in workers.values())
            ready = wait(list(workers), max(0.0, soonest - time.monotonic()))
            for connection in ready:
                worker = workers[connection]
                try:
                    report: Report = worker.connection.recv()
                    yield report
                except (EOFError, ConnectionResetError):
                    worker.process.join()
                    code = worker.process.exitcode
                    yield _without_report(worker.number, settings, "crash", f"the process ended with status {code}")
                    _end(workers, worker)
                    continue
                worker.left -= 1
                full = report.memory_bytes > FULL * settings.memory_bytes
                if pending and worker.left > 0 and not full:
                    worker.number, worker.deadline = pending.pop(), time.monotonic() + limit
                    worker.connection.send(worker.number)
                else:
                    _end(workers, worker)
            for worker in [w for w in workers.values() if time.monotonic() > w.deadline]:
                yield _without_report(worker.number, settings, "timeout", "the process kept no limit and was ended")
                _end(workers, worker)
    finally:
        for worker in list(workers.values()):
            _end(workers, worker)


def _start(workers: dict[Any, _Worker], settings: Settings, number: int, limit: float) -> None:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=serve, args=(theirs, settings), daemon=True)
    # Ctrl-C is for this process: a worker inherits that it is blocked, from its first instruction on.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    theirs.close()
    ours.send(number)
    workers[ours] = _Worker(process, ours, number, time.monotonic() + limit)


def _end(workers: dict[Any, _Worker], worker: _Worker) -> None:
    del workers[worker.connection]
    worker.connection.close()
    worker.process.kill()
    worker.process.join()


def _without_report(number: int, settings: Settings, verdict: Word, reason: str) -> Report:
    program = generate(settings.seed, number, settings.counts)
    outcome = Outcome(verdict, "", reason)
    return Report(number, len(program.steps), outcome, program, outcome)


__all__ = ["Result", "Settings", "Summary", "run_campaign"]
