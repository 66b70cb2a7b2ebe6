# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One program through the whole pipeline, in this process, and what becomes of it.

The program is traced, its trace compared with NumPy, compiled with every stage proved, executed exactly and in floats;
what the kernel returned is compared with NumPy once more. A trial has no limits: that is for who runs it in a process.
"""

from __future__ import annotations

import math
import re
import sys
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from axon_mlir.autotune.compilation import EXACT, KERNEL, NUMERIC, Compiler, Observer, Stage, StageFailed, function_of
from axon_mlir.autotune.exact_check import Work
from axon_mlir.autotune.gate import GateFailed, Yardstick, relative_l2
from axon_mlir.errors import AxonError, ExitCode, UnsupportedError
from axon_mlir.frontend.numpy_trace import trace
from axon_mlir.frontend.trace_child import load
from axon_mlir.fuzz.program import FUNCTION, Program
from axon_mlir.semantics.domains import Float64
from axon_mlir.semantics.interpret import evaluate_function
from axon_mlir.sim import RunResult, run_here

Array = NDArray[Any]
Word = Literal["passed", "refused", "wrong", "crash", "unproved", "timeout"]

WORDS: tuple[Word, ...] = ("passed", "refused", "wrong", "crash", "unproved", "timeout")
"""Verdicts; a timeout is a program that exceeded a limit of time or memory."""
BAD: tuple[Word, ...] = ("wrong", "crash", "unproved", "timeout")
"""Those that ask for a reproducer."""

WORK = Work(field=20_000_000, rational=10_000, iterations=1_000)
"""Sizes of the exact execution: small ones, since there are many programs."""

TRACE = "trace"
TRACE_TOLERANCE = 1e-9
"""Relative L2 distance that a traced program may have from NumPy, both in float64."""
SEEDS = (0, 1)
"""Of the arguments that the trace is compared on."""


@dataclass(frozen=True)
class Outcome:
    """What became of a program: the verdict, at which stage, why, and the processor time; stages with their time."""

    verdict: Word
    stage: str = ""
    reason: str = ""
    detail: str = ""
    seconds: float = 0.0
    stages: tuple[tuple[str, str, float], ...] = ()

    @property
    def kind(self) -> tuple[str, str, str]:
        """What tells failures apart: programs and numbers left out."""
        return self.verdict, self.stage, generalised(self.reason)


def generalised(message: str) -> str:
    """A message without the names and numbers of one program."""
    line = message.strip().split("\n", 1)[0]
    line = re.sub(r"^\S+\.py:\d+: |@\w+", "", line)
    line = re.sub(r"'[^']*'|\[[^\]]*\]|\([^)]*\)|\{[^}]*\}", "..", line)
    return re.sub(r"%?\b\w*\d[\w.+-]*", "#", line)[:160]


@dataclass
class _Inline:
    """Runs kernels in this process and keeps what they returned in floats."""

    runs: list[tuple[Sequence[Array], RunResult]] = field(default_factory=list[tuple[Sequence[Array], RunResult]])

    @property
    def name(self) -> str:
        """As the simulator is called."""
        return "sim"

    def run(self, kernel: Path, function: str, arrays: Sequence[Array], device: str) -> RunResult:
        """One run."""
        (result,) = self.run_each(kernel, function, [arrays], device)
        if isinstance(result, AxonError):
            raise result
        return result

    def run_each(
        self, kernel: Path, function: str, inputs: Sequence[Sequence[Array]], device: str
    ) -> list[RunResult | AxonError]:
        """Several runs."""
        results = run_here(kernel, function, inputs, device=device)
        pairs = zip(inputs, results, strict=True)
        self.runs += [(given, result) for given, result in pairs if isinstance(result, RunResult)]
        return results


class Progress(Observer):
    """Knows which stage is at work, and what the finished ones took."""

    def __init__(self) -> None:
        self.stage = TRACE
        self.stages: list[Stage] = []

    def began(self, stage: str, structure: str | None) -> None:
        """Remember it."""
        self.stage = stage

    def ended(self, stage: Stage, structure: str | None) -> None:
        """Keep it."""
        self.stages.append(stage)

    def report(self) -> tuple[tuple[str, str, float], ...]:
        """Name, verdict, seconds of each."""
        return tuple((s.name, s.verdict, round(s.seconds + s.proof_seconds, 3)) for s in self.stages)


def run_trial(program: Program, folder: Path, device: str, progress: Progress | None = None) -> Outcome:
    """Take a program through the pipeline; files go to `folder`. `progress` says how far it came."""
    started = time.process_time()
    progress = progress or Progress()
    try:
        found = _verdict(program, folder, device, progress)
    except MemoryError:
        found = Outcome("timeout", progress.stage, "out of memory")
    except RecursionError as error:
        found = Outcome("crash", progress.stage, "RecursionError", _traceback(error))
    except Exception as error:
        found = Outcome("crash", progress.stage, _said(error), _traceback(error))
    seconds = round(time.process_time() - started, 3)
    return Outcome(found.verdict, found.stage, found.reason, found.detail, seconds, progress.report())


def _said(error: Exception) -> str:
    """The error and where in the package it was raised."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "axon_mlir" in f.filename]
    where = f" in {Path(frames[-1].filename).stem}.{frames[-1].name}" if frames else ""
    return f"{type(error).__name__}{where}: {error}"


def _traceback(error: Exception) -> str:
    return "".join(traceback.format_exception(error)[-12:])[-6000:]


def check_trace(program: Program, folder: Path) -> Outcome:
    """Whether the front-end makes of a program what NumPy computes."""
    found = _trace(program, folder)
    return found if isinstance(found, Outcome) else Outcome("passed")


def _trace(program: Program, folder: Path) -> ModuleOp | Outcome:
    """The traced program, if it is what NumPy computes."""
    try:
        module = _traced(program, folder)
    except UnsupportedError as error:
        return Outcome("refused", TRACE, error.message, str(error))
    except AxonError as error:
        # The program is right, so a front-end that calls it wrong is not.
        return Outcome("crash", TRACE, error.message, str(error))
    difference = _differs_from_numpy(program, module)
    if difference:
        return Outcome("wrong", TRACE, "the traced program is not what NumPy computes", difference)
    return module


def _verdict(program: Program, folder: Path, device: str, progress: Progress) -> Outcome:
    module = _trace(program, folder)
    if isinstance(module, Outcome):
        return module
    runner = _Inline()
    # Compiling changes the module.
    source = function_of(module).clone()
    # Everything is in this process, which has limits: no time is predicted, which takes another one.
    folder = folder / "out"
    compiler = Compiler(device, runner, folder, observer=progress, execute=run_here, work=WORK, timed=False)
    try:
        compiler.compile(module)
    except StageFailed as failure:
        return _failed(failure)
    except AxonError as error:
        if error.exit_code != ExitCode.BAD_INPUT:
            raise
        return Outcome("refused", progress.stage, error.message, str(error))
    difference = _kernel_differs(program, source, runner)
    if difference:
        return Outcome("wrong", NUMERIC, "the kernel is not what NumPy computes", difference)
    return Outcome("passed")


def _failed(failure: StageFailed) -> Outcome:
    """A stage whose check did not come out right."""
    cause = failure.__cause__
    if isinstance(cause, GateFailed) and all(o.status == "out of range" for o in cause.report.failures):
        # The root of a zero is right in NumPy; the instruction promises nothing there.
        return Outcome("refused", failure.stage, _summary(failure), failure.message)
    word: Word = "unproved" if failure.exit_code == ExitCode.UNKNOWN else "wrong"
    return Outcome(word, failure.stage, _summary(failure), failure.message)


def _summary(failure: StageFailed) -> str:
    """What failed, without the terms of one program: which obligation, of which function."""
    lines = [line.strip() for line in failure.message.split("\n")]
    if failure.stage == NUMERIC:
        return " ".join(lines[:2])
    if failure.stage in (KERNEL, EXACT) or len(lines) < 2:
        return lines[1] if failure.stage == EXACT and len(lines) > 1 else lines[0]
    needs = re.search(r"result \d+: (\w+ needs|the range [^:]*)", " ".join(lines[2:4]))
    rest = needs[1] if needs else lines[2][:60] if "unknown: different" not in lines[1] and len(lines) > 2 else ""
    return f"{lines[1].partition(': ')[2]} {rest}".strip()


def _traced(program: Program, folder: Path) -> ModuleOp:
    path = folder / f"{FUNCTION}.py"
    path.write_text(program.source(), encoding="utf-8")
    search = list(sys.path)
    try:
        return trace(getattr(load(str(path)), FUNCTION), program.specs)
    finally:
        sys.path[:] = search


def _differs_from_numpy(program: Program, module: ModuleOp) -> str:
    """How the traced program differs from NumPy in float64 on the same arguments; nothing if it does not."""
    func = function_of(module)
    for seed in SEEDS:
        arrays = program.arguments(seed)
        want = program.run(arrays)
        with np.errstate(all="ignore"):
            have = evaluate_function(func, arrays, Float64())
        if len(have) != len(want):
            return f"{len(have)} results, in NumPy {len(want)}"
        for n, (h, w) in enumerate(zip(have, want, strict=True)):
            if np.shape(h) != w.shape:
                return f"result {n} has shape {np.shape(h)}, in NumPy {w.shape}"
            error = relative_l2(np.asarray(h), w)
            if not error <= TRACE_TOLERANCE:
                return f"result {n}: relative L2 {error:.3e} on arguments of seed {seed}"
    return ""


def _kernel_differs(program: Program, source: FuncOp, runner: _Inline) -> str:
    """How what the kernel returned for the first arguments of the program's sizes differs from NumPy in float64."""
    shapes = [i.shape or () for i in program.inputs]
    sizes = [math.prod(shape) for shape in shapes]
    given, result = next(run for run in runner.runs if [np.size(a) for a in run[0]] == sizes)
    arrays = [np.asarray(a).reshape(shape) for a, shape in zip(given, shapes, strict=True)]
    yardstick = Yardstick.of(source, arrays)
    if yardstick.undefined:
        return ""
    want = tuple(np.asarray(w) for w in program.run(arrays))
    wider = tuple(tolerance + TRACE_TOLERANCE for tolerance in yardstick.tolerances)
    _, _, reason = replace(yardstick, references=want, tolerances=wider).judge(result.outputs)
    return reason


__all__ = ["BAD", "WORDS", "Outcome", "Progress", "Word", "check_trace", "generalised", "run_trial"]
