# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`axon compile`: from a program to a kernel that is proved, executed exactly, and checked in floats.

A NumPy source file is executed, in a process of its own with limits of time and memory; a file of IR is not.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.status import Status
from rich.table import Table
from rich.text import Text
from xdsl.dialects.builtin import ModuleOp, StringAttr

from axon_mlir.autotune.compilation import (
    DEVICE,
    PROOFS,
    Compilation,
    Compiler,
    Observer,
    Stage,
    StageFailed,
    Structure,
    function_of,
    size_values,
)
from axon_mlir.autotune.inputs import set_scales
from axon_mlir.autotune.output import RESULT, files_in, install, staging
from axon_mlir.autotune.runner import NAMES, runner_named
from axon_mlir.cli.arguments import DEFAULT_DEVICE, add_device_argument, add_output_arguments, device
from axon_mlir.cli.process import JSON_SCHEMA, emit_json, wants_color
from axon_mlir.cli.source import is_traced, load_program, split_source
from axon_mlir.errors import AxonError, ExitCode

if TYPE_CHECKING:
    from argparse import Namespace

    from axon_mlir.cli.arguments import Subparsers

OUTPUT = "out"
"""Where results go without -o: a folder named like the function, in here."""

GROUPS = {"tile": r"tile-.*", "isa": r"isa-.*|kernel", "exact": r"exact", "numeric": r"numeric"}
"""Name in `seconds` -> the stages that it adds up."""


def register(subparsers: Subparsers) -> None:
    """Add the subcommand's parser."""
    parser = subparsers.add_parser("compile", help="make a kernel from a program", description=__doc__)
    parser.add_argument("source", metavar="SOURCE[:FUNC]", help="a .py file with a NumPy function, or a .mlir file")
    parser.add_argument(
        "--arg",
        dest="args",
        metavar="SPEC",
        action="append",
        default=[],
        help="an argument of a NumPy function: bf16[4096,1024], f32 (run-time scalar), 2.5 (constant); "
        "name=SPEC for a certain parameter",
    )
    parser.add_argument(
        "--scale",
        dest="scales",
        metavar="NAME=NUMBER",
        action="append",
        default=[],
        help="how large the elements of an argument are in use, such as wq=0.02: the standard deviation of those that "
        "the kernel is checked on (default 1)",
    )
    add_device_argument(parser, default=None)
    parser.add_argument("--runner", choices=NAMES, default="sim", help="where the kernel is executed (default sim)")
    parser.add_argument("--seed", type=int, default=0, help="of the inputs that the kernel is checked on (default 0)")
    parser.add_argument("-o", dest="output", metavar="DIR", help=f"where to write (default: {OUTPUT}/FUNC)")
    add_output_arguments(parser)


def run(args: Namespace) -> int:
    """Compile, write the folder, report."""
    if args.seed < 0:
        raise AxonError("--seed must not be negative", accepted="0, 1, 2, ...")
    runner = runner_named(args.runner)
    view = View(quiet=args.quiet)
    with view:
        started = time.monotonic()
        traced = is_traced(split_source(args.source)[0])
        view.began("trace" if traced else "source", None)
        module = load_program(args.source, args.args)
        seconds = time.monotonic() - started if traced else None
        set_scales(function_of(module), _scales(args.scales))
        target = Path(args.output or Path(OUTPUT) / function_of(module).sym_name.data)
        size_values(function_of(module))
        with staging(target) as folder:
            compiler = Compiler(_device(module, args.device), runner, folder, args.seed, view)
            try:
                done = compiler.compile(module, seconds)
            except StageFailed as failure:
                view.stop()
                kept = _keep(folder, target)
                emit_json(_failed(args, compiler.device, failure, view.stages), args.json)
                raise _explained(failure, kept) from None
            result = result_of(done, args.source)
            (folder / RESULT).write_text(json.dumps(result, indent=2, allow_nan=False) + "\n", encoding="utf-8")
            install(folder, target)
    emit_json({k: v for k, v in result.items() if k != "schema"}, args.json)
    if not args.quiet:
        view.report(done, target)
    return ExitCode.OK


def _scales(texts: Sequence[str]) -> dict[str, float]:
    """Names of arguments, and numbers."""
    out: dict[str, float] = {}
    for text in texts:
        name, _, number = text.partition("=")
        try:
            out[name] = float(number)
        except ValueError:
            raise AxonError(f"--scale {text}: no number", accepted="NAME=NUMBER, such as wq=0.02") from None
    return out


def _device(module: ModuleOp, given: str | None) -> str:
    """The device that is asked for, else the one that the module names."""
    named = module.attributes.get(DEVICE)
    if given is not None:
        return given
    return device(named.data) if isinstance(named, StringAttr) else DEFAULT_DEVICE


# -- failure ----------------------------------------------------------------------------------------------------------


def _keep(folder: Path, target: Path) -> Path | None:
    """Put what a failed compile has written beside the target, kernels aside."""
    place = target.with_name(f"{target.name}.failed")
    try:
        shutil.rmtree(place, ignore_errors=True)
        for kernel in folder.rglob("kernel.py"):
            # What failed must not be taken for a kernel.
            kernel.rename(kernel.with_name("kernel.py.failed"))
        shutil.copytree(folder, place)
    except OSError:
        return None
    return place


def _explained(failure: StageFailed, kept: Path | None) -> StageFailed:
    """The failure with its stage, and where the evidence is."""
    where = f"\n  the program after each stage is in {kept}" if kept is not None else ""
    message = f"stage {failure.stage}: {failure.message}{where}"
    return StageFailed(failure.stage, message, failure.exit_code)


def _failed(args: Namespace, device_name: str, failure: StageFailed, stages: Sequence[Stage]) -> dict[str, Any]:
    """The JSON of a compile that came to nothing."""
    return {
        "program": args.source,
        "device": device_name,
        "runner": args.runner,
        "complete": False,
        "failed": {"stage": failure.stage, "report": failure.message},
        "stages": [stage.to_json() for stage in stages],
    }


# -- result -----------------------------------------------------------------------------------------------------------


def result_of(done: Compilation, source: str) -> dict[str, Any]:
    """`result.json`."""
    chosen = done.chosen
    assert chosen is not None and chosen.numeric is not None
    stages = done.all_stages()
    result: dict[str, Any] = {
        "schema": JSON_SCHEMA,
        "program": source,
        "function": done.function,
        "device": done.device,
        "runner": done.runner,
        "complete": True,
        "sizes": done.sizes,
        "seconds": seconds_of(done),
        "chosen": {
            "function": chosen.name,
            **({"variant": chosen.picks} if chosen.picks else {}),
            "parameters": dict(chosen.parameters),
            **chosen.counts(),
        },
        **({"bound_us": round(done.bound_us, 3)} if done.bound_us is not None else {}),
        "stages": [stage.to_json() for stage in stages],
        "numeric": chosen.numeric.to_json(),
    }
    if chosen.folder != done.folder:
        result["structures"] = [structure_entry(s, done.folder) for s in done.structures]
    # This file is written last and lists itself.
    listed = sorted({*files_in(done.folder), RESULT})
    result["files"] = {
        "kernel": "kernel.py",
        "ir": [name for name in listed if name.endswith(".mlir") and PROOFS not in Path(name).parts],
        "proofs": sorted(str(Path(name).parent) for name in listed if Path(name).name == "manifest.json"),
        "all": listed,
    }
    return result


def seconds_of(done: Compilation) -> dict[str, float]:
    """`seconds`: in total, and by what they were spent on, over all structures."""
    stages = [*done.stages, *(stage for structure in done.structures for stage in structure.stages)]
    seconds = {"total": done.seconds}
    for name, pattern in GROUPS.items():
        seconds[name] = sum(s.seconds for s in stages if re.fullmatch(pattern, s.name))
    seconds["prove"] = sum(s.proof_seconds for s in stages)
    return {name: round(value, 4) for name, value in seconds.items()}


def structure_entry(structure: Structure, folder: Path) -> dict[str, Any]:
    """The entry of `structures`."""
    entry: dict[str, Any] = {
        "function": structure.name,
        "variant": dict(structure.picks),
        "passed": structure.done,
        "parameters": dict(structure.parameters),
        **structure.counts(),
        "stages": [stage.to_json() for stage in structure.stages],
    }
    if structure.error is not None:
        entry["error"] = str(structure.error)
    if structure.numeric is not None:
        entry["numeric"] = structure.numeric.to_json()
    if structure.kernel is not None:
        entry["kernel"] = str(structure.kernel.relative_to(folder))
    return entry


# -- what people see --------------------------------------------------------------------------------------------------


class View(Observer):
    """Progress and the final table on standard error; only plain lines when that is no terminal."""

    def __init__(self, *, quiet: bool = False):
        self.console = Console(file=sys.stderr, no_color=not wants_color(sys.stderr), highlight=False)
        self.quiet = quiet
        self.stages: list[Stage] = []
        self._status: Status | None = None
        self._current = ""

    def __enter__(self) -> View:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Take the line that moves away."""
        if self._status is not None:
            self._status.stop()
            self._status = None

    def began(self, stage: str, structure: str | None) -> None:
        """Name the stage."""
        self._current = f"{structure}: {stage}" if structure else stage
        self._show(self._current)

    def detail(self, text: str) -> None:
        """Say what the stage is at."""
        self._show(f"{self._current}: {text}")

    def ended(self, stage: Stage, structure: str | None) -> None:
        """One line for a stage, where lines are all there is."""
        self.stages.append(stage)
        if not self.quiet and not self.console.is_terminal:
            label = f"{structure}: " if structure else ""
            seconds = stage.seconds + stage.proof_seconds
            print(f"{label}{stage.name}: {stage.verdict}, {seconds:.2f} s", file=sys.stderr, flush=True)

    def _show(self, text: str) -> None:
        if self.quiet or not self.console.is_terminal:
            return
        if self._status is None:
            self._status = self.console.status(Text(text))
            self._status.start()
        else:
            self._status.update(Text(text))

    def report(self, done: Compilation, target: Path) -> None:
        """The table of stages, the numeric check, the path of the kernel."""
        chosen = done.chosen
        assert chosen is not None and chosen.numeric is not None
        table = Table(box=None, pad_edge=False)
        for title in ("stage", "verdict"):
            table.add_column(title)
        table.add_column("seconds", justify="right")
        table.add_column("of which proof", justify="right")
        for stage in done.all_stages():
            proof = f"{stage.proof_seconds:.2f}" if stage.proof_seconds else ""
            style = "green" if stage.ok and stage.verdict != "given" else ""
            seconds = f"{stage.seconds + stage.proof_seconds:.2f}"
            table.add_row(stage.name, Text(stage.verdict, style), seconds, proof)
        self.console.print()
        self.console.print(table)
        self.console.print()
        if chosen.picks:
            self._structures(done, chosen)
        lines = [
            ("numeric", chosen.numeric.summary()),
            ("kernel", f"{_instructions(chosen.counts())}, {done.device}"),
            *([("time", _predicted(chosen.time, done.bound_us))] if chosen.time is not None else []),
            ("total", f"{done.seconds:.1f} s"),
            ("written", str(target / "kernel.py")),
        ]
        for name, text in lines:
            # A path stays on one line, so that it can be copied.
            self.console.print(Text(f"{name:<8} {text}"), soft_wrap=True)

    def _structures(self, done: Compilation, chosen: Structure) -> None:
        table = Table(box=None, pad_edge=False)
        for title in ("structure", "variant", "outcome"):
            table.add_column(title)
        table.add_column("instructions", justify="right")
        table.add_column("predicted us", justify="right")
        for structure in done.structures:
            variant = ", ".join(f"{k} {v}" for k, v in structure.picks.items())
            outcome = "passed" if structure.done else structure.error.message if structure.error else "failed"
            outcome = f"{outcome}, chosen" if structure is chosen else outcome
            time = f"{structure.time['predicted_us']:.1f}" if structure.time is not None else ""
            table.add_row(structure.name, variant, outcome, str(structure.counts().get("instructions", "")), time)
        self.console.print(table)
        self.console.print()


def _instructions(counts: Mapping[str, Any]) -> str:
    counted = {name: entry["instructions"] for name, entry in counts.get("engines", {}).items()}
    engines = ", ".join(f"{name} {count}" for name, count in counted.items() if count)
    return f"{counts.get('instructions', 0)} instructions ({engines}), {counts.get('dma_bytes', 0)} bytes moved"


def _predicted(time: Mapping[str, Any], bound_us: float | None) -> str:
    bound = f"; no kernel takes less than {bound_us:.1f} us" if bound_us is not None else ""
    return (
        f"predicted {time['predicted_us']:.1f} us, in source order {time['predicted_order_us']:.1f} us; "
        f"{time['binding']} binds{bound}"
    )
