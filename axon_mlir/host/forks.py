# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Jobs in processes of their own, forked from one that has loaded what they need.

A user's file, and a kernel, run in a process that a limit, a crash or a kill ends alone. To start Python and to load
NumPy and the descriptions of devices takes longer than most of them run, so one process, the server, does that once and
forks for each job. It starts with the first job, and ends with this process, however that ends: when the other end of
its socket is closed it kills the job that runs and is gone.

A module whose jobs are run here has two functions. `prepare(argument)` is called in the server, which must not run
anything of the user's; `main(argument)` is called in the fork, and its bytes are the answer.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn, Protocol, cast

_ROOT = str(Path(__file__).resolve().parents[2])
"""Where the server finds this package."""

_MESSAGE_BYTES = 1 << 16
_ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


class JobModule(Protocol):
    """What a module of jobs has."""

    def prepare(self, argument: str) -> None: ...
    def main(self, argument: str) -> bytes: ...


@dataclass(frozen=True)
class Ended:
    """How a job ended."""

    status: int | None
    """Exit status, minus the signal that ended it, None when it took too long."""
    answer: bytes
    """What `main` returned; empty when it did not come to that."""


def run_job(module: str, argument: str, timeout: float) -> Ended:
    """Run `main(argument)` of a module in a process of its own, for at most `timeout` seconds.

    What it prints goes to standard error. None of its processes is left when this returns, or is left by an exception.
    """
    started_with = tuple(sorted((name, value) for name, value in os.environ.items() if name.startswith("PYTHON")))
    return _server(os.getpid(), started_with).run(module, argument, timeout)


@lru_cache(maxsize=1)
def _server(owner: int, started_with: tuple[tuple[str, str], ...]) -> _Server:
    """The server of this process (a fork of it gets one of its own) under settings that Python reads when it starts."""
    return _Server()


class _Server:
    """This end of a server, which ends with this object."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._started: tuple[subprocess.Popen[bytes], socket.socket] | None = None
        self._finish: Callable[[], object] = lambda: None

    def run(self, module: str, argument: str, timeout: float) -> Ended:
        with self._lock:
            finished = False
            try:
                ended = self._run(module, argument, timeout)
                finished = ended.status is not None
            finally:
                if not finished:
                    self.close()
            return ended

    def _run(self, module: str, argument: str, timeout: float) -> Ended:
        connection = self._connection()
        deadline = time.monotonic() + timeout
        answers = self._send(connection, module, argument)
        received: list[bytes] = []
        sources: list[Any] = [connection, answers]
        with os.fdopen(answers, "rb", buffering=0):
            while True:
                ready, _, _ = select.select(sources, [], [], max(deadline - time.monotonic(), 0))
                if answers in ready:
                    received.append(_available(answers))
                    if not received[-1]:
                        sources.remove(answers)
                if connection in ready:
                    status = connection.recv(_MESSAGE_BYTES)
                    received.append(_available(answers))
                    if not status:
                        self.close()  # Somebody has killed the server.
                    return Ended(int(status) if status else -signal.SIGKILL, b"".join(received))
                if not ready:
                    return Ended(None, b"")

    @staticmethod
    def _send(connection: socket.socket, module: str, argument: str) -> int:
        """Ask for a job; the descriptor from which its answer is read."""
        given, giver = os.pipe()
        answers, answerer = os.pipe()
        os.set_blocking(answers, False)
        output = _output()
        try:
            socket.send_fds(connection, [module.encode()], [given, answerer, output])
        except BrokenPipeError:
            pass  # The server has been killed, which is seen next.
        finally:
            for descriptor in (given, answerer, output):
                os.close(descriptor)
        try:
            with os.fdopen(giver, "w", encoding="utf-8") as stream:
                json.dump({"argument": argument, "folder": _folder(), "environment": _environment()}, stream)
        except BrokenPipeError:
            pass
        return answers

    def _connection(self) -> socket.socket:
        if self._started is not None and self._started[0].poll() is not None:
            self.close()  # Somebody has killed it between two jobs.
        if self._started is None:
            ours, theirs = socket.socketpair()
            with theirs:
                process = subprocess.Popen(
                    [sys.executable, "-P", "-m", "axon_mlir.host.forks", str(theirs.fileno())],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    pass_fds=(theirs.fileno(),),
                    env=_environment(),
                    start_new_session=True,
                )
            self._started = process, ours
            self._finish = weakref.finalize(self, _finish, process, ours, os.getpid())
        return self._started[1]

    def close(self) -> None:
        """End the server, and the job that runs."""
        self._finish()
        self._started = None


def _finish(process: subprocess.Popen[bytes], connection: socket.socket, owner: int) -> None:
    """End a server; in a fork of the process that started it, only let go of it."""
    connection.close()
    if os.getpid() == owner:
        process.wait()


def _available(descriptor: int) -> bytes:
    """What can be read without waiting."""
    chunks: list[bytes] = []
    try:
        while chunk := os.read(descriptor, 1 << 16):
            chunks.append(chunk)
    except BlockingIOError:
        pass
    return b"".join(chunks)


def _output() -> int:
    """A descriptor for what a job prints: standard error if it is open."""
    try:
        return os.dup(2)
    except OSError:
        return os.open(os.devnull, os.O_WRONLY)


def _environment() -> dict[str, str]:
    """This process's, with this package on the search path, and one thread for each job."""
    search = os.pathsep.join(filter(None, (_ROOT, os.environ.get("PYTHONPATH"))))
    return {**os.environ, **dict.fromkeys(_ONE_THREAD, "1"), "PYTHONPATH": search}


def _folder() -> str:
    """The current folder, which may have been removed."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return "/"


def serve(connection: socket.socket) -> None:
    """Fork for each job that is asked for, until the other end is closed."""
    ended, child_ended = os.pipe()
    os.set_blocking(ended, False)
    os.set_blocking(child_ended, False)
    signal.signal(signal.SIGCHLD, _notice)
    signal.set_wakeup_fd(child_ended)
    while True:
        message, descriptors, _, _ = socket.recv_fds(connection, _MESSAGE_BYTES, 3)
        if not message:
            return
        given, answerer, output = descriptors
        with os.fdopen(given, encoding="utf-8") as stream:
            request: dict[str, Any] = json.load(stream)
        module = cast("JobModule", importlib.import_module(message.decode()))
        module.prepare(request["argument"])
        gc.freeze()  # A fork that collects would copy what it looks through.
        child = os.fork()
        if not child:
            connection.close()
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _work(module, request, answerer, output)
        _own_group(child)
        os.close(answerer)
        os.close(output)
        while True:
            ready, _, _ = select.select([connection, ended], [], [])
            _available(ended)
            over, status = os.waitpid(child, os.WNOHANG)
            if over or connection in ready:
                _kill_group(child)
                if not over:
                    os.waitpid(child, 0)
                    return
                connection.send(str(os.waitstatus_to_exitcode(status)).encode())
                break


def _notice(signum: int, frame: FrameType | None) -> None:
    """That a child has ended wakes the server up, which is all."""


def _kill_group(child: int) -> None:
    """Kill a job, and what it has started, as far as there is anything left."""
    try:
        os.killpg(child, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


def _own_group(child: int) -> None:
    """Both sides do this, whichever comes first."""
    try:
        os.setpgid(child, child)
    except (ProcessLookupError, PermissionError):
        pass


def _work(module: JobModule, request: dict[str, Any], answerer: int, output: int) -> NoReturn:
    """What the fork does."""
    status = 1
    try:
        _own_group(os.getpid())
        os.chdir(request["folder"])
        os.environ.clear()
        os.environ.update(request["environment"])
        os.dup2(output, 1)
        os.dup2(output, 2)
        answer = module.main(request["argument"])
        with os.fdopen(answerer, "wb") as stream:
            stream.write(answer)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
