# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The child process in which a user's file is loaded and traced, under limits of time and memory."""

from __future__ import annotations

import json
import signal
from collections.abc import Sequence
from typing import Any, cast

from axon_mlir.errors import AxonError, UnsupportedError
from axon_mlir.host.forks import run_job

SECONDS = 60
"""Wall-clock limit of a trace."""
MEMORY_BYTES = 8 << 30
"""Address-space limit of a trace."""


def run_child(path: str, function: str | None, args: Sequence[str], *, generic_numbers: bool) -> str:
    """The text of the traced module; whatever goes wrong in the child is raised here as an AxonError."""
    request = json.dumps(
        {
            "path": path,
            "function": function,
            "args": list(args),
            "generic_numbers": generic_numbers,
            "memory_bytes": MEMORY_BYTES,
            "seconds": SECONDS,
        }
    )
    ended = run_job("axon_mlir.frontend.trace_child", request, SECONDS)
    if ended.status is None:
        raise _too_slow(path)
    return _answer(ended.answer, ended.status, path)


def _too_slow(path: str) -> AxonError:
    return AxonError(f"tracing took longer than {SECONDS} s and was stopped", where=path)


def _answer(data: bytes, status: int, path: str) -> str:
    try:
        answer = cast("dict[str, Any]", json.loads(data))
    except ValueError:
        if status == -signal.SIGXCPU:
            raise _too_slow(path) from None
        reason = f"signal {-status}" if status < 0 else f"exit status {status}"
        raise AxonError(f"the program ended its process while it was traced ({reason})", where=path) from None
    if "ir" in answer:
        return str(answer["ir"])
    if answer.get("internal"):
        raise RuntimeError(f"internal error while tracing {path}:\n{answer['internal']}")
    kind = UnsupportedError if answer.get("unsupported") else AxonError
    raise kind(answer["message"], where=answer.get("where") or path, accepted=answer.get("accepted"))
