# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The process that runs a kernel, once for each folder: `python -m axon_mlir.sim.child PARENT FOLDER...`.

PARENT is the descriptor of a pipe whose other end the parent holds: when that is closed, this process ends.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import threading
import traceback
from pathlib import Path
from typing import Any

from axon_mlir.errors import AxonError
from axon_mlir.sim import transport
from axon_mlir.sim.execute import execute
from axon_mlir.sim.failures import HardwareViolation, KernelFailure


def _failure(error: AxonError) -> dict[str, Any]:
    entry: dict[str, Any] = {"message": error.message, "where": error.where, "accepted": error.accepted}
    if isinstance(error, HardwareViolation):
        details = {"rule": error.rule, "instruction": error.instruction, "tensor": error.tensor, "source": error.source}
        return {"kind": "violation", **entry, **details}
    if isinstance(error, KernelFailure):
        return {"kind": "kernel", **entry, "reason": error.reason}
    return {"kind": "input", **entry}


def main(folder: Path) -> None:
    """Read the request, run the kernel under its memory limit, write the response."""
    request, arguments = transport.load(folder, transport.REQUEST)
    limit = int(request["memory_bytes"])
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        result = execute(
            Path(request["path"]),
            request["function"],
            arguments,
            device=request["device"],
            domain=request["domain"],
            seed=request["seed"],
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


def _end_with(parent: int) -> None:
    """End this process, and what it has started, with its parent, however that ends."""

    def wait() -> None:
        os.read(parent, 1)
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=wait, daemon=True).start()


if __name__ == "__main__":
    _end_with(int(sys.argv[1]))
    for argument in sys.argv[2:]:
        main(Path(argument))
