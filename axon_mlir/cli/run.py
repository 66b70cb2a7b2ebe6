# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`axon run`: execute a kernel over NumPy with the rules of the device checked.

The kernel's file is executed as Python, in a process of its own with limits of time and memory.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.table import Table

from axon_mlir.autotune.compilation import engines_entry
from axon_mlir.cli.arguments import add_device_argument, add_output_arguments
from axon_mlir.cli.process import emit_json, wants_color
from axon_mlir.errors import AxonError, ExitCode
from axon_mlir.sim import Argument, HardwareViolation, RandomArray, RunResult, dtype_of, run_kernel
from axon_mlir.sim.runner import DEFAULT_MEMORY_BYTES, DEFAULT_TIMEOUT
from axon_mlir.sim.timing import Generation, is_modelled
from axon_mlir.targets.loader import load_device

if TYPE_CHECKING:
    from argparse import Namespace

    from axon_mlir.cli.arguments import Subparsers

ACCEPTED = "a .npy file, dtype[shape] such as bf16[128,512], or a Python literal"


def register(subparsers: Subparsers) -> None:
    """Add the subcommand's parser."""
    parser = subparsers.add_parser(
        "run", help="execute a kernel over NumPy with the device's rules checked", description=__doc__
    )
    parser.add_argument("kernel", metavar="KERNEL.py:FUNC", help="the file and the kernel in it (FUNC: the only one)")
    parser.add_argument("arguments", metavar="ARG", nargs="*", help=ACCEPTED)
    add_device_argument(parser)
    parser.add_argument("--seed", type=int, default=0, help="of the arguments given as dtype[shape] (default 0)")
    parser.add_argument(
        "--timeout", metavar="S", type=float, default=DEFAULT_TIMEOUT, help="seconds the kernel may take (default 120)"
    )
    parser.add_argument(
        "--grid", metavar="N", type=int, default=1, help="cores that the kernel is launched on (1 or 2, default 1)"
    )
    parser.add_argument(
        "--dge",
        choices=tuple(GENERATIONS),
        default="hw",
        help="how descriptors of DMA are made, for the predicted time: by hardware on the issuing queue (default), by "
        "software on GpSimd, or before the kernel runs",
    )
    parser.add_argument(
        "--trace", metavar="FILE.json", type=Path, help="where to write the predicted schedule, for Perfetto or Chrome"
    )
    parser.add_argument(
        "--timing-only",
        action="store_true",
        help="predict the time from the shapes: no values are computed, and no rule about values is checked",
    )
    parser.add_argument(
        "--out", metavar="FILE.npy", action="append", default=[], help="where to write an output (in order, repeatable)"
    )
    add_output_arguments(parser)


def run(args: Namespace) -> int:
    """Run the kernel, write what was asked for, and report."""
    path, function = _kernel(args.kernel)
    timed = _generation(args)
    if args.timing_only and (args.out or timed is None):
        option = "--out" if args.out else f"--device {args.device}, whose time is not modelled"
        raise AxonError(
            f"--timing-only computes no outputs, and nothing but a time: {option}", accepted="--device trn2"
        )
    arguments = [parse_argument(text) for text in args.arguments]
    try:
        result = run_kernel(
            path,
            function,
            arguments,
            device=args.device,
            domain="shapes" if args.timing_only else "float",
            seed=args.seed,
            timeout=args.timeout,
            memory_bytes=DEFAULT_MEMORY_BYTES,
            timed=timed,
            trace=args.trace,
            grid=args.grid,
        )
    except HardwareViolation as violation:
        emit_json({"checks": [_violation(violation)]}, args.json)
        raise
    _write_outputs(result, args.out)
    emit_json(_report(result), args.json)
    if not args.quiet:
        _print(result)
    return ExitCode.OK


GENERATIONS: dict[str, Generation] = {"hw": "hardware", "sw": "software", "static": "static"}
"""How `--dge` spells who makes the descriptors of DMA."""


def _generation(args: Namespace) -> Generation | None:
    """Who makes descriptors; None where the device's time is not modelled."""
    modelled = is_modelled(load_device(args.device))
    if args.trace is not None and not modelled:
        raise AxonError("--trace: the time of this device is not modelled", where=args.device, accepted="--device trn2")
    return GENERATIONS[args.dge] if modelled else None


def _kernel(text: str) -> tuple[Path, str | None]:
    name, colon, function = text.rpartition(":")
    if not colon or function.endswith(".py"):
        name, function = text, ""
    path = Path(name)
    if not path.is_file():
        raise AxonError(f"no file {name}", accepted="KERNEL.py:FUNC")
    return path, function or None


def parse_argument(text: str) -> Argument:
    """What an ARG of the command line stands for."""
    if text.endswith(".npy"):
        try:
            return np.load(text, allow_pickle=False)
        except (OSError, ValueError) as error:
            raise AxonError(f"cannot read an array: {error}", where=text, accepted=ACCEPTED) from error
    spec = re.fullmatch(r"(\w+)\[\s*(\d+(?:\s*,\s*\d+)*)\s*,?\s*\]", text)
    if spec:
        dtype = dtype_of(spec.group(1))
        return RandomArray(dtype.name, tuple(int(extent) for extent in spec.group(2).split(",")))
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError) as error:
        raise AxonError(f"argument {text!r}", accepted=ACCEPTED) from error


def _write_outputs(result: RunResult, files: Sequence[str]) -> None:
    if len(files) > len(result.outputs):
        raise AxonError(f"--out is given {len(files)} times, but the kernel returns {len(result.outputs)} outputs")
    for file, output in zip(files, result.outputs, strict=False):
        plain = output.dtype.type.__module__ == "numpy"
        try:
            # NumPy files have no bfloat16 or float8: those are written as float32, which holds each of their values.
            np.save(file, output if plain else output.astype(np.float32))
        except OSError as error:
            raise AxonError(f"cannot write: {error.strerror or error}", where=file) from error


def _report(result: RunResult) -> dict[str, Any]:
    return {
        "instructions": result.instructions,
        "engines": engines_entry(result.engines, {} if result.time is None else result.time["busy_us"]),
        "dma": {"bytes": result.dma_bytes, "descriptors": result.dma_descriptors},
        "sbuf_peak_bytes": result.sbuf_peak_bytes,
        "psum_peak_banks": result.psum_peak_banks,
        "checks": [{"rule": check.rule, "ok": True, "applied": check.applied} for check in result.checks],
        **_times(result),
    }


def _times(result: RunResult) -> dict[str, Any]:
    """The predicted time, with what each engine is at work added to its instructions."""
    return {} if result.time is None else {key: value for key, value in result.time.items() if key != "busy_us"}


def _violation(violation: HardwareViolation) -> dict[str, Any]:
    return {
        "rule": violation.rule,
        "ok": False,
        "where": violation.where,
        "instruction": violation.instruction,
        "tensor": violation.tensor,
        "message": violation.message,
        "source": violation.source,
    }


def _print(result: RunResult) -> None:
    table = Table(show_header=False, box=None)
    table.add_column(style="bold")
    table.add_column()
    engines = ", ".join(f"{name} {count}" for name, count in sorted(result.engines.items()))
    table.add_row("instructions", f"{result.instructions} ({engines})")
    table.add_row("dma", f"{result.dma_bytes} bytes in {result.dma_descriptors} descriptors")
    table.add_row("sbuf peak", f"{result.sbuf_peak_bytes} bytes of a partition")
    table.add_row("psum peak", f"{result.psum_peak_banks} banks")
    for output, dtype in zip(result.outputs, result.dtypes, strict=True):
        table.add_row("output", f"{dtype}[{', '.join(map(str, output.shape))}]")
    if result.time is not None:
        _add_time(table, result.time)
    table.add_row("checks", f"{sum(check.applied for check in result.checks)} applied, all hold")
    console = Console(file=sys.stderr, no_color=not wants_color(sys.stderr), highlight=False)
    console.print(table)


def _add_time(table: Table, time: Mapping[str, Any]) -> None:
    low, high = time["predicted_range_us"]
    spread = f", {low:.1f} to {high:.1f} by the clock's phase" if high - low > 0.01 * high else ""
    table.add_row(
        "predicted", f"{time['predicted_us']:.1f} us{spread}; in source order {time['predicted_order_us']:.1f} us"
    )
    busy = ", ".join(f"{name} {us:.1f}" for name, us in time["busy_us"].items())
    table.add_row("busy, us", f"{busy}, dma engines {time['dma_us']:.1f}; {time['binding']} binds")
    table.add_row("dma efficiency", f"{time['dma_efficiency']:.0%}")
    for stall in time["stalls"]:
        table.add_row(
            "waits",
            f"{stall['us']:.1f} us: {stall['instruction']} of line {stall['line']} on {stall['queue']} for "
            f"{stall['behind']} of line {stall['behind_line']}",
        )
