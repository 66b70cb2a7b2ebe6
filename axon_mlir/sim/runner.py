# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Running a kernel in a child process with limits."""

from __future__ import annotations

import json
import signal
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from axon_mlir.errors import AxonError
from axon_mlir.host.forks import run_job
from axon_mlir.sim import transport
from axon_mlir.sim.execute import execute
from axon_mlir.sim.failures import HardwareViolation, KernelFailure
from axon_mlir.sim.result import Check, RunResult
from axon_mlir.sim.timing import Generation

DEFAULT_TIMEOUT = 120.0
DEFAULT_MEMORY_BYTES = 8 << 30


def run_kernel(
    path: Path,
    function: str | None,
    arrays: Sequence[transport.Argument],
    *,
    device: str,
    domain: Literal["float", "field", "rational", "shapes"] = "float",
    seed: int = 0,
    timeout: float = DEFAULT_TIMEOUT,
    memory_bytes: int = DEFAULT_MEMORY_BYTES,
    timed: Generation | None = None,
    trace: Path | None = None,
    grid: int = 1,
) -> RunResult:
    """Run the kernel `function` of a file (its only one when None) on `arrays`, in a child process.

    Raises `KernelFailure` when the kernel raises, is stopped by a limit, or (`HardwareViolation`) breaks a rule of the
    device. The caller's arrays are never modified. `seed` chooses the values of arguments given as `RandomArray`.
    `timed`: predict the time, with descriptors of DMA made so; `trace`: where the schedule goes. `grid`: on how many
    cores it is launched; the time is that of the first.
    """
    (result,) = run_each(
        path,
        function,
        [arrays],
        device=device,
        domain=domain,
        seed=seed,
        timeout=timeout,
        memory_bytes=memory_bytes,
        timed=timed,
        trace=trace,
        grid=grid,
    )
    if isinstance(result, AxonError):
        raise result
    return result


def run_each(
    path: Path,
    function: str | None,
    argument_lists: Sequence[Sequence[transport.Argument]],
    *,
    device: str,
    domain: Literal["float", "field", "rational", "shapes"] = "float",
    seed: int = 0,
    timeout: float = DEFAULT_TIMEOUT,
    memory_bytes: int = DEFAULT_MEMORY_BYTES,
    timed: Generation | None = None,
    trace: Path | None = None,
    grid: int = 1,
) -> list[RunResult | AxonError]:
    """Run a kernel on several lists of arguments, one after the other in one child process: its start is paid once.

    The file is loaded anew for each. What `run_kernel` would raise for a list stands in its place; `timeout` is for all
    runs together.
    """
    with tempfile.TemporaryDirectory(prefix="axon-run-") as name:
        folders: list[Path] = []
        for number, arrays in enumerate(argument_lists):
            folder = Path(name, str(number))
            folder.mkdir()
            folders.append(folder)
            request = {
                "path": str(path),
                "function": function,
                "device": device,
                "domain": domain,
                "seed": seed,
                "memory_bytes": memory_bytes,
                "timed": timed,
                "trace": None if trace is None else str(trace.resolve()),
                "grid": grid,
            }
            transport.save(folder, transport.REQUEST, request, arrays)
        job = json.dumps({"device": device, "folders": [str(folder) for folder in folders]})
        status = run_job("axon_mlir.sim.child", job, timeout).status
        return [_outcome(folder, path, status, timeout, memory_bytes) for folder in folders]


def run_here(
    path: Path,
    function: str | None,
    argument_lists: Sequence[Sequence[transport.Argument]],
    *,
    device: str,
    domain: Literal["float", "field", "rational", "shapes"] = "float",
    seed: int = 0,
    timeout: float = DEFAULT_TIMEOUT,
) -> list[RunResult | AxonError]:
    """`run_each` without a child, in a process that has limits of its own: `timeout` is not kept."""
    out: list[RunResult | AxonError] = []
    for arrays in argument_lists:
        given = [_copied(a) for a in arrays]
        try:
            out.append(execute(path, function, given, device=device, domain=domain, seed=seed))
        except AxonError as error:
            out.append(error)
    return out


def _copied(value: transport.Argument) -> transport.Argument:
    if isinstance(value, transport.TypedArray):
        return replace(value, values=value.values.copy())
    return value.copy() if isinstance(value, np.ndarray) else value


def _outcome(folder: Path, path: Path, status: int | None, timeout: float, memory_bytes: int) -> RunResult | AxonError:
    """What a run has left in its folder."""
    if not (folder / f"{transport.RESPONSE}.json").exists():
        if status is None:
            message = f"the kernel did not finish within {timeout:g} seconds"
            return KernelFailure(message, where=str(path), reason="timeout")
        return _vanished(path, status, memory_bytes)
    header, outputs = transport.load(folder, transport.RESPONSE)
    if "internal" in header:
        raise RuntimeError(f"the simulator failed:\n{header['internal']}")
    if "failure" in header:
        return _failure(header["failure"])
    result = header["result"]
    checks = tuple(Check(rule, applied) for rule, applied in result.pop("checks"))
    dtypes = tuple(result.pop("dtypes"))
    return RunResult(outputs=tuple(outputs), dtypes=dtypes, checks=checks, **result)


def _vanished(path: Path, status: int, memory_bytes: int) -> AxonError:
    if status < 0:
        name = signal.Signals(-status).name
        message = f"the kernel's process was ended by {name} (its memory limit is {memory_bytes} bytes)"
        return KernelFailure(message, where=str(path), reason="signal")
    message = (
        f"the kernel's process ended with status {status} and no result (its memory limit is {memory_bytes} bytes)"
    )
    return KernelFailure(message, where=str(path), reason="memory")


def _failure(entry: dict[str, Any]) -> AxonError:
    kind = entry.pop("kind")
    message = entry.pop("message")
    if kind == "violation":
        return HardwareViolation(message, **entry)
    if kind == "kernel":
        return KernelFailure(message, **entry)
    return AxonError(message, **entry)
