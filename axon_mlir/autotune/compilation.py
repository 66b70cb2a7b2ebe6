# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From a program in tensor_hl to a kernel: every stage in order, each one proved or checked before the next.

A stage that is refuted or unknown raises `StageFailed`; there is no kernel then. A program with choices is compiled
once for each of its structures, each with a folder and kernel of its own; of those that pass, the one that is predicted
to be the fastest is chosen, or, where the device's time is not modelled, the one with the fewest instructions.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute
from xdsl.printer import Printer
from xdsl.utils.exceptions import PassFailedException

from axon_mlir.autotune.bound import bound_us
from axon_mlir.autotune.exact_check import Execute, Work, check_kernel
from axon_mlir.autotune.gate import GateFailed, GateReport, Program, check_numerics
from axon_mlir.autotune.inputs import integers_of, proxy_sizes, tile_steps
from axon_mlir.autotune.prediction import predict
from axon_mlir.autotune.runner import Runner
from axon_mlir.autotune.symbolic_check import prove_kernel
from axon_mlir.dialects.nu import ChoiceOp
from axon_mlir.errors import AxonError, ExitCode
from axon_mlir.host.pipeline import build_pipeline
from axon_mlir.host.registry import make_context
from axon_mlir.host.verification import VerificationError, verify_module
from axon_mlir.printer_nki import kernel_name, print_kernel
from axon_mlir.semantics.index import Size
from axon_mlir.semantics.interpret import argument_shapes
from axon_mlir.sim import RunResult, run_each
from axon_mlir.smt.translation import Readings, readings, verify_step

DEVICE = "axon.device"
VALUES = "axon.values"
PARAMETERS = "tile.parameters"

ALGEBRA = ("tensor-hl-decompose", "tensor-hl-canonicalize")
EXTRACT = "nu-extract{k=4}"
LOWERING = ("tile-symbolic", "tile-fuse", "tile-instantiate", "isa-select", "isa-allocate")

PROOFS = "proofs"
"""The folder with the certificate of each pass, and of the kernel's text."""

KERNEL, EXACT, NUMERIC = "kernel", "exact", "numeric"
"""The stages after the last pass: printing, exact execution of the text, the numeric gate."""

TIMED_INSTRUCTIONS = 1_000_000
"""The time of a longer kernel is not predicted: a trace of it would need gigabytes."""

TEXT_TIMEOUT = 60.0
"""Seconds after which the proof of a kernel's text is given up."""
TEXT_VERDICTS = {"proved": "proved", "refuted": "refuted", "unknown": "undecided"}


@dataclass(frozen=True)
class Stage:
    """One finished stage: `seconds` of work, and of proving (or checking) what it did."""

    name: str
    verdict: str
    seconds: float
    proof_seconds: float = 0.0
    ok: bool = True

    def to_json(self) -> dict[str, Any]:
        """The entry of `stages`."""
        return {
            "name": self.name,
            "verdict": self.verdict,
            "seconds": round(self.seconds + self.proof_seconds, 4),
            "proof_seconds": round(self.proof_seconds, 4),
        }


class StageFailed(AxonError):
    """A stage whose result is not what it should be: no kernel comes of it."""

    def __init__(self, stage: str, report: str, exit_code: ExitCode):
        super().__init__(report)
        self.exit_code = exit_code
        self.stage = stage


class Observer:
    """Hears what happens; this one does nothing with it."""

    def began(self, stage: str, structure: str | None) -> None:
        """A stage begins, of the whole program or of one structure."""

    def detail(self, text: str) -> None:
        """What the stage is at."""

    def ended(self, stage: Stage, structure: str | None) -> None:
        """A stage has ended."""


@dataclass
class Structure:
    """One kernel: `picks` are the alternatives taken, if the program has choices."""

    name: str
    folder: Path
    module: ModuleOp
    picks: Mapping[str, str] = field(default_factory=dict[str, str])
    stages: list[Stage] = field(default_factory=list[Stage])
    parameters: Mapping[str, int] = field(default_factory=dict[str, int])
    kernel: Path | None = None
    numeric: GateReport | None = None
    time: Mapping[str, Any] | None = None
    """What the kernel is predicted to take, where the device's time is modelled."""
    error: AxonError | None = None

    @property
    def run(self) -> RunResult | None:
        """What the run at the full shape counted."""
        return self.numeric.run if self.numeric is not None else None

    @property
    def done(self) -> bool:
        """Whether there is a kernel that passed everything."""
        return self.error is None and self.numeric is not None and self.numeric.passed

    def counts(self) -> dict[str, Any]:
        """What the kernel consists of."""
        run = self.run
        if run is None:
            return {}
        times = dict(self.time or {})
        busy: Mapping[str, float] = times.pop("busy_us", {})
        return {
            "instructions": run.instructions,
            "dma_bytes": run.dma_bytes,
            "dma_descriptors": run.dma_descriptors,
            "engines": engines_entry(run.engines, busy),
            "sbuf_peak_bytes": run.sbuf_peak_bytes,
            "psum_peak_banks": run.psum_peak_banks,
            **times,
        }


def engines_entry(counts: Mapping[str, int], busy_us: Mapping[str, float]) -> dict[str, dict[str, float]]:
    """`engines` of a report: instructions of each, and how long it is at work, where that is known."""
    return {
        name: {"instructions": counts.get(name, 0), **({"busy_us": busy_us[name]} if name in busy_us else {})}
        for name in sorted({*counts, *busy_us})
    }


@dataclass
class Compilation:
    """What became of one program."""

    function: str
    device: str
    runner: str
    folder: Path
    stages: list[Stage] = field(default_factory=list[Stage])
    structures: list[Structure] = field(default_factory=list[Structure])
    sizes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    seconds: float = 0.0
    bound_us: float | None = None
    """The least time that any kernel of the program takes."""

    @property
    def chosen(self) -> Structure | None:
        """The structure that passed and is predicted to take least; or has the fewest instructions, where the time of
        one is not predicted. The first of equals."""
        done = [s for s in self.structures if s.done]
        times = [s.time["predicted_us"] for s in done if s.time is not None]
        if len(times) < len(done):
            times = [s.run.instructions if s.run is not None else 0 for s in done]
        return min(zip(times, done, strict=True), key=lambda pair: pair[0], default=(0, None))[1]

    def all_stages(self) -> list[Stage]:
        """The stages that led to the chosen kernel (or to the first structure, if there is none)."""
        last = self.chosen or (self.structures[0] if self.structures else None)
        return [*self.stages, *(last.stages if last is not None else [])]


@dataclass
class Compiler:
    """Compiles one program into a folder."""

    device: str
    runner: Runner
    folder: Path
    seed: int = 0
    observer: Observer = field(default_factory=Observer)
    execute: Execute = run_each
    """How the kernel is executed exactly."""
    work: Work = field(default_factory=Work)
    """How large the sizes of that may be."""
    timed: bool = True
    """Whether the time of kernels is predicted."""

    def compile(self, module: ModuleOp, trace_seconds: float | None = None) -> Compilation:
        """Compile a module with one function in tensor_hl; `trace_seconds` is what it took to get it.

        Raises `StageFailed`, or the error of a pass, unless it is about one of several structures.
        """
        started = time.monotonic()
        module.attributes[DEVICE] = StringAttr(self.device)
        verify_module(module)
        func = function_of(module)
        values = size_values(func)
        result = Compilation(func.sym_name.data, self.device, self.runner.name, self.folder, sizes=sizes_of(func))
        self.folder.mkdir(parents=True, exist_ok=True)
        reference = _copy_of(func)
        first = "source" if trace_seconds is None else "trace"
        self._write(module, self.folder, 0, first)
        self._note(result.stages, None, Stage(first, "given", trace_seconds or 0.0))
        known = readings(module.clone())
        for text in ALGEBRA:
            known = self._pass(text, module, known, result.stages, self.folder, len(result.stages))
        if any(isinstance(op, ChoiceOp) for op in module.walk()):
            self._pass(EXTRACT, module, known, result.stages, self.folder, len(result.stages))
            result.structures = [_structure(f, self.device, self.folder) for f in functions_of(module)]
        else:
            result.structures = [Structure(result.function, self.folder, module)]
        several = len(result.structures) > 1
        bounds = [bound_us(f, values, self.device) for f in functions_of(module)]
        result.bound_us = min((bound for bound in bounds if bound is not None), default=None)
        for structure in result.structures:
            try:
                self._lower(structure, reference, values, len(result.stages), several)
            except StageFailed:
                raise
            except AxonError as error:
                # One of several structures may not fit the device; that is no reason to give up the others.
                if not several or error.exit_code != ExitCode.BAD_INPUT:
                    raise
                structure.error = error
        chosen = result.chosen
        if chosen is None:
            raise next((s.error for s in result.structures if s.error), AxonError("no structure could be compiled"))
        if chosen.folder != self.folder:
            assert chosen.kernel is not None
            shutil.copyfile(chosen.kernel, self.folder / "kernel.py")
        result.seconds = time.monotonic() - started + (trace_seconds or 0.0)
        return result

    # -- one structure ------------------------------------------------------------------------------------------------

    def _lower(
        self, structure: Structure, reference: FuncOp, values: Mapping[str, int], number: int, several: bool
    ) -> None:
        label = structure.name if several else None
        program = _copy_of(function_of(structure.module))
        structure.folder.mkdir(parents=True, exist_ok=True)
        proxy = values
        known = readings(structure.module.clone())
        for position, text in enumerate(LOWERING):
            known = self._pass(
                text, structure.module, known, structure.stages, structure.folder, number + position, label
            )
            if text == "tile-instantiate":
                tiled = function_of(structure.module)
                structure.parameters = integers_of(tiled.attributes.get(PARAMETERS))
                proxy = proxy_sizes(reference, values, tile_steps(tiled))
        kernel = structure.folder / "kernel.py"
        with self._stage(KERNEL, structure.stages, label) as stage:
            text = print_kernel(structure.module)
            kernel.write_text(text if text.endswith("\n") else text + "\n", encoding="utf-8")
            self.observer.detail("proving the text")
            started = time.monotonic()
            folder = structure.folder / PROOFS / f"{number + len(LOWERING):02d}-{KERNEL}"
            name = kernel_name(program)
            proof = prove_kernel(program, text, self.device, function=name, timeout=TEXT_TIMEOUT, certificate=folder)
            stage.proof_seconds = time.monotonic() - started
            # A text that cannot be decided is left to the exact execution.
            stage.ok, stage.verdict = proof.verdict == "proved", TEXT_VERDICTS[proof.verdict]
        if proof.verdict == "refuted":
            raise StageFailed(KERNEL, proof.report(), ExitCode.FAILED)
        with self._stage(EXACT, structure.stages, label) as stage:
            self.observer.detail("the text of the kernel, executed exactly")
            mismatches = check_kernel(
                kernel, program, self.device, seed=self.seed, execute=self.execute, work=self.work
            )
            stage.ok, stage.verdict = not mismatches, "refuted" if mismatches else "checked"
        if mismatches:
            report = "\n".join(["the kernel does not compute the program:", *(f"  {m}" for m in mismatches)])
            raise StageFailed(EXACT, report, ExitCode.FAILED)
        with self._stage(NUMERIC, structure.stages, label) as stage:
            structure.numeric = self._numeric(
                Program(reference, kernel, kernel_name(program), self.device),
                values,
                proxy,
            )
            stage.ok, stage.verdict = structure.numeric.passed, "passed" if structure.numeric.passed else "failed"
        if not structure.numeric.passed:
            failed = GateFailed(structure.numeric)
            raise StageFailed(NUMERIC, failed.message, ExitCode.FAILED) from failed
        structure.kernel = kernel
        if self.timed and structure.run is not None and structure.run.instructions <= TIMED_INSTRUCTIONS:
            self.observer.detail("predicting the time")
            structure.time = predict(kernel, kernel_name(program), program, values, self.device)

    def _numeric(self, program: Program, full: Mapping[str, int], proxy: Mapping[str, int]) -> GateReport:
        """The gate; a kernel that does not even run fails it."""
        try:
            return check_numerics(
                program, self.runner, full=full, proxy=proxy, seed=self.seed, progress=self.observer.detail
            )
        except AxonError as error:
            if error.exit_code != ExitCode.FAILED:
                raise
            raise StageFailed(NUMERIC, f"the kernel does not run:\n{error}", ExitCode.FAILED) from error

    def _pass(
        self,
        text: str,
        module: ModuleOp,
        before: Readings,
        stages: list[Stage],
        folder: Path,
        number: int,
        structure: str | None = None,
    ) -> Readings:
        """Run a pass, write what it made, and prove it equal to what was read before; what is read now."""
        (module_pass,) = build_pipeline(text)
        name = module_pass.name
        self.observer.began(name, structure)
        started = time.monotonic()
        try:
            module_pass.apply(make_context(), module)
        except PassFailedException as error:
            raise AxonError(f"{name}: {error}") from error
        seconds = time.monotonic() - started
        try:
            verify_module(module)
        except VerificationError as error:
            raise RuntimeError(f"pass '{name}' left an invalid module: {error.message}") from error
        self._write(module, folder, number, name)
        self.observer.detail("proving the step")
        started = time.monotonic()
        after = readings(module.clone())
        step = verify_step(before, after, name, certificates=folder / PROOFS / f"{number:02d}-{name}")
        proved = step.verdict == "proved"
        self._note(stages, structure, Stage(name, step.verdict, seconds, time.monotonic() - started, proved))
        if not proved:
            code = ExitCode.FAILED if step.verdict == "refuted" else ExitCode.UNKNOWN
            raise StageFailed(name, step.report(), code)
        return after

    @contextmanager
    def _stage(self, name: str, stages: list[Stage], structure: str | None) -> Generator[_Open]:
        self.observer.began(name, structure)
        started = time.monotonic()
        current = _Open()
        yield current
        work = time.monotonic() - started - current.proof_seconds
        self._note(stages, structure, Stage(name, current.verdict, work, current.proof_seconds, current.ok))

    def _note(self, stages: list[Stage], structure: str | None, stage: Stage) -> None:
        stages.append(stage)
        self.observer.ended(stage, structure)

    def _write(self, module: ModuleOp, folder: Path, number: int, name: str) -> None:
        (folder / f"{number:02d}-{name}.mlir").write_text(_text(module), encoding="utf-8")


@dataclass
class _Open:
    """A stage that is not over."""

    verdict: str = ""
    ok: bool = True
    proof_seconds: float = 0.0


def _text(module: ModuleOp) -> str:
    stream = StringIO()
    Printer(stream).print_op(module)
    return stream.getvalue() + "\n"


def _copy_of(func: FuncOp) -> FuncOp:
    """A function that no later pass changes."""
    return func.clone()


def _structure(func: FuncOp, device: str, folder: Path) -> Structure:
    name = func.sym_name.data
    picks = func.attributes.get("nu.picks")
    taken = {k: _plain(v) for k, v in picks.data.items()} if isinstance(picks, DictionaryAttr) else {}
    module = ModuleOp([func.clone()], {DEVICE: StringAttr(device)})
    return Structure(name, folder / name, module, taken)


def functions_of(module: ModuleOp) -> list[FuncOp]:
    """The functions of a module that have a body."""
    return [op for op in module.body.block.ops if isinstance(op, FuncOp) and not op.is_declaration]


def function_of(module: ModuleOp) -> FuncOp:
    """The one function of a module."""
    found = functions_of(module)
    if len(found) != 1:
        raise AxonError(f"{len(found)} functions, where one is compiled", accepted="a module with one function")
    return found[0]


def size_values(func: FuncOp) -> dict[str, int]:
    """The number of each generic size; AxonError when one has none."""
    values = integers_of(func.attributes.get(VALUES))
    sizes = sizes_of(func)
    missing = [name for name in sizes["generic"] if name not in values]
    if missing:
        raise AxonError(
            f"@{func.sym_name.data}: no number is given for the size{'s' * (len(missing) > 1)} {', '.join(missing)}",
            accepted="numbers: --arg bf16[4096,1024] for a NumPy function, the attribute axon.values in IR",
        )
    return {name: values[name] for name in sizes["generic"]}


def sizes_of(func: FuncOp) -> dict[str, Any]:
    """`axon.sizes` of a function (a function without it: every size of its arguments is generic)."""
    attribute = func.attributes.get("axon.sizes")
    if isinstance(attribute, DictionaryAttr):
        found = {k: _plain(v) for k, v in attribute.data.items()}
        return {
            "generic": list(found.get("generic") or []),
            "fixed": list(found.get("fixed") or []),
            **({"least": list(found["least"])} if "least" in found else {}),
        }
    names = {s.name for shape in argument_shapes(func) for d in shape for s in d.symbols() if isinstance(s, Size)}
    return {"generic": sorted(names), "fixed": []}


def _plain(attribute: Attribute) -> Any:
    """An attribute as Python has it."""
    data: Any = getattr(attribute, "data", None)
    if isinstance(attribute, DictionaryAttr):
        return {k: _plain(v) for k, v in attribute.data.items()}
    if isinstance(attribute, StringAttr):
        return attribute.data
    if isinstance(data, (list, tuple)):
        items: list[Any] = list(data)  # pyright: ignore[reportUnknownArgumentType]
        return [_plain(item) for item in items]
    value: Any = getattr(attribute, "value", None)
    return getattr(value, "data", str(attribute))
