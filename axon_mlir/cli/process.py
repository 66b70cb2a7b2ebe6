# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What both tools share as processes: streams, exit codes, signals, reproducers, JSON.

A tool is a function from its arguments to an exit code. `run_tool` turns everything that can happen to it into one of
`axon_mlir.errors.ExitCode` and one message on standard error, and can run in-process over given streams.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Generator, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from types import FrameType
from typing import Any, TextIO

from axon_mlir import __version__
from axon_mlir.errors import AxonError, ExitCode
from axon_mlir.host.interpreter import abandon_memory, long_run

JSON_SCHEMA = 1

_inputs: ContextVar[list[tuple[str, str]] | None] = ContextVar("inputs", default=None)


class Terminated(BaseException):
    """SIGTERM arrived."""


def run_tool(
    name: str,
    tool: Callable[[Sequence[str]], int],
    argv: Sequence[str] | None,
    *,
    stdin: TextIO | None = None,
    stdout: TextIO | None = None,
    stderr: TextIO | None = None,
) -> int:
    """Run a tool over `argv` (default: the process's) and return its exit code; no exception leaves this function."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    with _streams(stdin, stdout, stderr), long_run(), _terminate_on_sigterm(), _recorded_inputs() as inputs:
        try:
            code = tool(arguments)
            sys.stdout.flush()
            return int(code)
        except AxonError as error:
            _report(str(error))
            return int(error.exit_code)
        except SystemExit as error:
            return _code_of_exit(error)
        except BrokenPipeError:
            _silence_stdout()
            return int(ExitCode.OK)
        except KeyboardInterrupt:
            _report(f"{name}: interrupted")
            return int(ExitCode.INTERRUPTED)
        except Terminated:
            _report(f"{name}: terminated")
            return int(ExitCode.TERMINATED)
        except Exception as error:
            _report(_describe_internal_error(name, arguments, inputs, error))
            return int(ExitCode.INTERNAL)
        finally:
            if argv is None:
                abandon_memory()


def _code_of_exit(error: SystemExit) -> int:
    """What Python itself makes of a `SystemExit`: a message is printed and is a failure."""
    if error.code is None or isinstance(error.code, int):
        return error.code or int(ExitCode.OK)
    _report(str(error.code))
    return int(ExitCode.FAILED)


def record_input(name: str, text: str) -> None:
    """Remember an input of this run, so that a reproducer can hold it."""
    inputs = _inputs.get()
    if inputs is not None:
        inputs.append((name, text))


def read_input(name: str) -> str:
    """The text of a file, or of standard input if the name is `-`."""
    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise AxonError(f"not a text file ({error.reason} at byte {error.start})", where=display_name(name)) from error
    except OSError as error:
        raise AxonError(f"cannot read: {error.strerror or error}", where=name) from error
    record_input(display_name(name), text)
    return text


def display_name(name: str) -> str:
    """How messages name an input."""
    return "<stdin>" if name == "-" else name


def write_output(name: str, text: str) -> None:
    """Write a result to a file in one step, or to standard output if the name is `-`."""
    if name == "-":
        sys.stdout.write(text)
        return
    path = Path(name)
    try:
        if path.exists() and not path.is_file():
            path.write_text(text, encoding="utf-8")
            return
        partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        raise AxonError(f"cannot write: {error.strerror or error}", where=name) from error


def emit_json(values: Mapping[str, Any], destination: str | None) -> None:
    """Write `values` with the schema version as JSON to a file or (`-`) to standard output; nothing if None."""
    if destination is None:
        return
    text = json.dumps({"schema": JSON_SCHEMA, **values}, indent=2, allow_nan=False)
    write_output(destination, text + "\n")


def wants_color(stream: TextIO) -> bool:
    """Whether to colour what goes to a stream: only a terminal, and never with NO_COLOR."""
    return not os.environ.get("NO_COLOR") and stream.isatty()


def _report(message: str) -> None:
    with contextlib.suppress(BrokenPipeError):
        print(message, file=sys.stderr, flush=True)


def _describe_internal_error(
    name: str, arguments: Sequence[str], inputs: Sequence[tuple[str, str]], error: Exception
) -> str:
    """Write the reproducer and say where it is."""
    reason = f"{type(error).__name__}: {error}".split("\n", 1)[0]
    text = reproducer(name, arguments, inputs, "".join(traceback.format_exception(error)))
    path = _write_reproducer(name, text)
    place = f"wrote {path}" if path else "could not write a reproducer"
    return f"{name}: internal error: {reason}\n  {place}; please report it"


def reproducer(name: str, arguments: Sequence[str], inputs: Sequence[tuple[str, str]], details: str) -> str:
    """A text that holds the command line, the version, the traceback and every input of a run."""
    header = [f"{name} {__version__} failed", shlex.join([name, *arguments]), "", *details.rstrip().split("\n")]
    parts = ["".join(f"// {line}".rstrip() + "\n" for line in header)]
    parts += [f"// input: {input_name}\n{text.rstrip()}\n" for input_name, text in inputs]
    return "".join(parts)


def _write_reproducer(name: str, text: str) -> Path | None:
    """Write into the current directory, or into the temporary one if that cannot be; never over an older file."""
    for directory in (Path.cwd(), Path(tempfile.gettempdir())):
        for number in range(1000):
            path = directory / f"{name}-reproducer{f'-{number}' if number else ''}.mlir"
            try:
                with path.open("x", encoding="utf-8") as file:
                    file.write(text)
            except FileExistsError:
                continue
            except OSError:
                break
            return path
    return None


@contextlib.contextmanager
def _streams(stdin: TextIO | None, stdout: TextIO | None, stderr: TextIO | None) -> Generator[None]:
    saved = sys.stdin, sys.stdout, sys.stderr
    sys.stdin, sys.stdout, sys.stderr = stdin or sys.stdin, stdout or sys.stdout, stderr or sys.stderr
    try:
        yield
    finally:
        sys.stdin, sys.stdout, sys.stderr = saved


@contextlib.contextmanager
def _terminate_on_sigterm() -> Generator[None]:
    """Turn SIGTERM into an exception, so that files are cleaned up and the exit code is ours."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def terminate(signum: int, frame: FrameType | None) -> None:
        raise Terminated

    saved = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, saved)


@contextlib.contextmanager
def _recorded_inputs() -> Generator[list[tuple[str, str]]]:
    inputs: list[tuple[str, str]] = []
    token = _inputs.set(inputs)
    try:
        yield inputs
    finally:
        _inputs.reset(token)


def _silence_stdout() -> None:
    """Point the process's standard output at nothing, so that the interpreter's last flush cannot fail."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
