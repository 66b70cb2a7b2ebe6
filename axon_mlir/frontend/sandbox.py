# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The child process in which a user's file is loaded and traced, under limits of time and memory."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from axon_mlir.errors import AxonError, UnsupportedError

_PACKAGE_FOLDER = str(Path(__file__).resolve().parents[2])

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
    reader, writer = os.pipe()
    # The child finds this package where we found it, and nothing in the current folder by accident.
    search = os.pathsep.join(filter(None, [_PACKAGE_FOLDER, os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": search}
    try:
        with subprocess.Popen(
            [sys.executable, "-P", "-m", "axon_mlir.frontend.trace_child", str(writer)],
            stdin=subprocess.PIPE,
            stdout=sys.stderr.fileno() if _has_descriptor(sys.stderr) else subprocess.DEVNULL,
            pass_fds=(writer,),
            env=environment,
            start_new_session=True,
        ) as child:
            os.close(writer)
            writer = -1
            return _converse(child, request, reader, path)
    finally:
        os.close(reader)
        if writer >= 0:
            os.close(writer)


def _has_descriptor(stream: Any) -> bool:
    try:
        stream.fileno()
    except (OSError, AttributeError, ValueError):
        return False
    return True


def _converse(child: subprocess.Popen[bytes], request: str, reader: int, path: str) -> str:
    assert child.stdin is not None
    try:
        child.stdin.write(request.encode())
        child.stdin.close()
    except BrokenPipeError:
        pass
    deadline = time.monotonic() + SECONDS
    chunks: list[bytes] = []
    try:
        with selectors.DefaultSelector() as selector:
            selector.register(reader, selectors.EVENT_READ)
            while True:
                left = deadline - time.monotonic()
                if left <= 0 or not selector.select(left):
                    raise _too_slow(path)
                chunk = os.read(reader, 1 << 16)
                if not chunk:
                    break
                chunks.append(chunk)
        child.wait(timeout=max(deadline - time.monotonic(), 1))
    finally:
        if child.poll() is None:
            child.kill()
            child.wait()
    return _answer(b"".join(chunks), child.returncode, path)


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
