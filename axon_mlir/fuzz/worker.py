# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The process in which trials run, under limits of time and memory."""

from __future__ import annotations

import os
import resource
import signal
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType

from axon_mlir.fuzz.generate import generate
from axon_mlir.fuzz.program import Program
from axon_mlir.fuzz.shrink import shrink
from axon_mlir.fuzz.trial import BAD, Outcome, Progress, run_trial
from axon_mlir.host.interpreter import long_run
from axon_mlir.smt.verdict_cache import SWITCH


@dataclass(frozen=True)
class Settings:
    """What a campaign's trials are: programs of a seed, limits, and what is done with failures."""

    seed: int = 0
    device: str = "trn2"
    counts: tuple[int, int] = (2, 20)
    seconds: float = 60.0
    """Processor time that a program may take."""
    memory_bytes: int = 6 << 30
    shrink_seconds: float = 120.0
    """Time that a failure is made smaller in; 0: not at all."""


@dataclass(frozen=True)
class Report:
    """What a worker says of one program: the outcome, and the program that shows it, made smaller if it failed."""

    number: int
    operations: int
    outcome: Outcome
    shown: Program
    shown_outcome: Outcome
    memory_bytes: int = 0
    """The most that the process has taken so far."""


class _TooLong(BaseException):
    """The time of a trial is over; not an error that anything may catch."""


@contextmanager
def _limited(seconds: float) -> Generator[None]:
    """Processor time, so that a busy machine changes no verdict."""

    def stop(signum: int, frame: FrameType | None) -> None:
        raise _TooLong

    saved = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, saved)


def limited_trial(program: Program, settings: Settings) -> Outcome:
    """A trial in a folder of its own that may take so long."""
    progress = Progress()
    try:
        with tempfile.TemporaryDirectory(prefix="axon-fuzz-") as name, _limited(settings.seconds):
            return run_trial(program, Path(name), settings.device, progress)
    except _TooLong:
        reason = f"took longer than {settings.seconds:g} s"
        return Outcome("timeout", progress.stage, reason, seconds=settings.seconds, stages=progress.report())


def try_number(number: int, settings: Settings) -> Report:
    """Generate a program, try it, and make it smaller if it fails."""
    program = generate(settings.seed, number, settings.counts)
    outcome = limited_trial(program, settings)
    shown, last = program, outcome
    if outcome.verdict in BAD and outcome.verdict != "timeout" and settings.shrink_seconds > 0:

        def fails(candidate: Program) -> bool:
            nonlocal last
            found = limited_trial(candidate, settings)
            if (found.verdict, found.stage) != (outcome.verdict, outcome.stage):
                return False
            last = found
            return True

        shown = shrink(program, fails, seconds=settings.shrink_seconds)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    return Report(number, len(program.steps), outcome, shown, last, peak)


def serve(connection: Connection, settings: Settings) -> None:
    """Answer numbers with reports until there are no more."""
    resource.setrlimit(resource.RLIMIT_AS, (settings.memory_bytes, settings.memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # What is proved here is of no use to the user.
    os.environ[SWITCH] = "off"
    with long_run():
        while True:
            try:
                number: int | None = connection.recv()
            except EOFError:
                # The campaign has another worker in this one's place, and ends it.
                return
            if number is None:
                return
            connection.send(try_number(number, settings))
