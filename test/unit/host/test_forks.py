# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Jobs in processes of their own: how they end, what they leave, what they share."""

from __future__ import annotations

import importlib
import os
import signal
import time
from pathlib import Path

import pytest
from processes import gone

from axon_mlir.host.forks import Ended, run_job

JOBS = """
import ctypes, os, signal, subprocess, sys, time
PREPARED = []
def prepare(argument):
    PREPARED.append(os.getpid())
def main(argument):
    return str(eval(argument)).encode()
"""
"""A module whose job is an expression."""


@pytest.fixture
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a module of jobs that only the server's search path finds."""
    (tmp_path / "expression_jobs.py").write_text(JOBS)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return "expression_jobs"


def evaluate(jobs: str, expression: str, timeout: float = 30) -> Ended:
    return run_job(jobs, expression, timeout)


def test_answers_of_any_size_come_from_forks_of_one_server(jobs: str) -> None:
    assert evaluate(jobs, "6 * 7") == Ended(0, b"42")
    first, second = (evaluate(jobs, "(os.getpid(), os.getppid(), PREPARED[0])").answer for _ in range(2))
    (own, server, prepared), (other, same, _) = eval(first), eval(second)
    assert server == same == prepared and own != other and os.getpid() not in (own, server)
    large = repr("x" * 300_000)
    assert evaluate(jobs, f"{large} * 10") == Ended(0, b"x" * 3_000_000)


@pytest.mark.parametrize(
    ("expression", "status"),
    [
        ("os._exit(7)", 7),
        ("1 / 0", 1),
        ("sys.exit(3)", 1),
        ("os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM),
        ("ctypes.string_at(0)", -signal.SIGSEGV),
        ("os.close(3) or os._exit(0)", 0),
    ],
)
def test_a_job_that_ends_badly_ends_alone(jobs: str, expression: str, status: int) -> None:
    server = evaluate(jobs, "os.getppid()").answer
    assert evaluate(jobs, expression) == Ended(status, b"")
    assert evaluate(jobs, "os.getppid()").answer == server


def test_what_it_prints_goes_to_standard_error(jobs: str, capfd: pytest.CaptureFixture[str]) -> None:
    evaluate(jobs, "print('printed', flush=False), sys.stderr.write('said')")
    evaluate(jobs, "1 / 0")
    out, err = capfd.readouterr()
    assert out == "" and "printed" in err and "said" in err and "ZeroDivisionError" in err


START = "(lambda p: open({marker!r}, 'w').write(str(p.pid)))(subprocess.Popen(['sleep', '60']))"
BUSY = "10 ** 10 ** 9"
"""One step of the interpreter, which nothing in its process can stop."""


def test_a_job_that_takes_too_long_is_stopped_with_all_its_processes(jobs: str, tmp_path: Path) -> None:
    marker = str(tmp_path / "pid")
    start = time.monotonic()
    assert evaluate(jobs, f"({START.format(marker=marker)}, {BUSY})", timeout=2) == Ended(None, b"")
    assert time.monotonic() - start < 20 and gone(int(Path(marker).read_text()))
    assert evaluate(jobs, "1") == Ended(0, b"1")


def test_a_job_leaves_no_process(jobs: str, tmp_path: Path) -> None:
    marker = str(tmp_path / "pid")
    assert evaluate(jobs, START.format(marker=marker)).status == 0
    time.sleep(0.1)
    assert gone(int(Path(marker).read_text()))


def test_a_server_that_was_killed_is_replaced(jobs: str) -> None:
    assert evaluate(jobs, "os.kill(os.getppid(), signal.SIGKILL), time.sleep(1)").status == -signal.SIGKILL
    assert evaluate(jobs, "1") == Ended(0, b"1")
    os.kill(int(evaluate(jobs, "os.getppid()").answer), signal.SIGKILL)
    time.sleep(0.1)
    assert evaluate(jobs, "2") == Ended(0, b"2")


def test_it_runs_where_and_with_what_its_caller_does(
    jobs: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = evaluate(jobs, "os.getppid()").answer
    monkeypatch.chdir(tmp_path)
    assert evaluate(jobs, "os.getcwd()").answer == str(tmp_path).encode()
    monkeypatch.setenv("AXON_FORKS", "seen")
    assert evaluate(jobs, "os.environ['AXON_FORKS'], os.environ['OMP_NUM_THREADS']").answer == b"('seen', '1')"
    assert evaluate(jobs, "os.getppid()").answer == server
    monkeypatch.setenv("PYTHONUTF8", "1")
    assert evaluate(jobs, "sys.flags.utf8_mode").answer == b"1"
    assert gone(int(server)), "one server at a time"


def test_a_fork_of_the_caller_has_a_server_of_its_own(jobs: str) -> None:
    server = evaluate(jobs, "os.getppid()").answer
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.write(writer, evaluate(jobs, "os.getppid()").answer)
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reader, 99) not in (server, b"")
    assert evaluate(jobs, "os.getppid()").answer == server
    os.close(reader)
    os.close(writer)


def test_the_job_dies_with_a_caller_that_is_killed(jobs: str, tmp_path: Path) -> None:
    marker = tmp_path / "pid"
    expression = f"(open({str(marker)!r}, 'w').write(f'{{os.getpid()}} {{os.getppid()}}'), {BUSY})"
    child = os.fork()
    if not child:
        evaluate(jobs, expression)
        os._exit(0)
    deadline = time.monotonic() + 20
    while not (marker.exists() and marker.read_text()) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.1)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    for pid in map(int, marker.read_text().split()):
        while not gone(pid) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert gone(pid)


@pytest.mark.parametrize("name", ["axon_mlir.sim.child", "axon_mlir.frontend.trace_child"])
def test_modules_of_jobs_have_their_two_functions(name: str) -> None:
    module = importlib.import_module(name)
    assert callable(module.prepare) and callable(module.main)
