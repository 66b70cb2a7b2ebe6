# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the process that runs a kernel does, once for each folder."""

from __future__ import annotations

import json
import resource
import traceback
from pathlib import Path
from typing import Any

from axon_mlir.errors import AxonError
from axon_mlir.sim import transport
from axon_mlir.sim.chrome import chrome_trace
from axon_mlir.sim.execute import execute
from axon_mlir.sim.failures import HardwareViolation, KernelFailure
from axon_mlir.sim.report import time_report
from axon_mlir.sim.trace import Trace
from axon_mlir.targets.loader import DEVICES, load_device


def _failure(error: AxonError) -> dict[str, Any]:
    entry: dict[str, Any] = {"message": error.message, "where": error.where, "accepted": error.accepted}
    if isinstance(error, HardwareViolation):
        details = {"rule": error.rule, "instruction": error.instruction, "tensor": error.tensor, "source": error.source}
        return {"kind": "violation", **entry, **details}
    if isinstance(error, KernelFailure):
        return {"kind": "kernel", **entry, "reason": error.reason}
    return {"kind": "input", **entry}


def run(folder: Path) -> None:
    """Read the request, run the kernel under its memory limit, write the response."""
    request, arguments = transport.load(folder, transport.REQUEST)
    limit = int(request["memory_bytes"])
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    timed = request.get("timed")
    trace = Trace() if timed else None
    try:
        result = execute(
            Path(request["path"]),
            request["function"],
            arguments,
            device=request["device"],
            domain=request["domain"],
            seed=request["seed"],
            trace=trace,
            grid=request["grid"],
        )
        header = {
            "result": {
                "dtypes": result.dtypes,
                "instructions": result.instructions,
                "engines": dict(result.engines),
                "dma_bytes": result.dma_bytes,
                "dma_descriptors": result.dma_descriptors,
                "sbuf_peak_bytes": result.sbuf_peak_bytes,
                "psum_peak_banks": result.psum_peak_banks,
                "checks": [[check.rule, check.applied] for check in result.checks],
                "time": None if trace is None else _time(trace, request),
            }
        }
        transport.save(folder, transport.RESPONSE, header, result.outputs)
    except AxonError as error:
        transport.save(folder, transport.RESPONSE, {"failure": _failure(error)}, [])
    except MemoryError:
        message = f"the kernel needs more memory than its limit of {limit} bytes"
        failure = {"kind": "kernel", "message": message, "where": request["path"], "accepted": None, "reason": "memory"}
        transport.save(folder, transport.RESPONSE, {"failure": failure}, [])
    except Exception:
        transport.save(folder, transport.RESPONSE, {"internal": traceback.format_exc()}, [])


def _time(trace: Trace, request: dict[str, Any]) -> dict[str, Any]:
    """The report of a trace; the trace itself goes to a file, where one is named."""
    report, schedule = time_report(trace, load_device(request["device"]), request["timed"])
    if request["trace"] is not None:
        document = chrome_trace(schedule, request["function"] or Path(request["path"]).stem)
        try:
            Path(request["trace"]).write_text(json.dumps(document) + "\n", encoding="utf-8")
        except OSError as error:
            raise AxonError(f"cannot write: {error.strerror or error}", where=request["trace"]) from error
    return report.to_json()


def prepare(argument: str) -> None:
    """Load a packaged device, once for all its kernels."""
    if (device := json.loads(argument)["device"]) in DEVICES:
        load_device(device)


def main(argument: str) -> bytes:
    """Run a kernel once for each folder."""
    for folder in json.loads(argument)["folders"]:
        run(Path(folder))
    return b""
