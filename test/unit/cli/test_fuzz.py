# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`axon fuzz`: results in a folder that it goes on from, reproducers, limits."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from e2e.command import axon

from axon_mlir.fuzz import campaign
from axon_mlir.fuzz.campaign import run_campaign
from axon_mlir.fuzz.generate import generate
from axon_mlir.fuzz.program import Program
from axon_mlir.fuzz.trial import Outcome, generalised
from axon_mlir.fuzz.worker import Report, Settings

ARGUMENTS = ("--ops", "2", "--seed", "5", "--jobs", "2", "--shrink", "0")


def lines(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]


def test_a_campaign_goes_on_where_it_was(tmp_path: Path) -> None:
    folder, report = tmp_path / "fuzz", tmp_path / "report.json"
    code, stdout, stderr = axon("fuzz", "--count", "2", *ARGUMENTS, "--out", str(folder))
    assert code in (0, 1) and stdout == "" and "passed" in stderr, stderr
    first = lines(folder)
    assert sorted(str(r["number"]) for r in first) == ["0", "1"]
    # The last line was cut off when the machine went down.
    with (folder / "results.jsonl").open("a") as file:
        file.write('{"number": 2, "verd')
    axon("fuzz", "--count", "3", *ARGUMENTS, "--out", str(folder), "--json", str(report))
    assert lines(folder)[:2] == first and [r["number"] for r in lines(folder)[2:]] == [2]
    summary = json.loads(report.read_text())
    assert summary["programs"] == 3 and sum(summary["counts"].values()) == 3
    code, _, stderr = axon("fuzz", "--count", "1", "--seed", "6", "--out", str(folder))
    assert code == 3 and "another campaign" in stderr


def test_the_time_of_a_program_is_limited(tmp_path: Path) -> None:
    settings = Settings(seconds=0.01, shrink_seconds=0)
    (result,) = run_campaign(settings, [0], tmp_path, 1).results
    assert (result.verdict, result.reason) == ("timeout", "took longer than 0.01 s")
    text = (tmp_path / str(result.reproducer)).read_text()
    assert text.startswith('"""timeout at') and f"axon compile {result.reproducer}:program --arg" in text


def test_interrupting_leaves_results_and_no_process(tmp_path: Path) -> None:
    folder = tmp_path / "fuzz"
    command = [sys.executable, "-m", "axon_mlir.cli.axon", "fuzz", "--count", "5000", *ARGUMENTS, "--out", str(folder)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    deadline = time.monotonic() + 120
    while not (folder / "results.jsonl").exists() or not lines(folder):
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    deadline = time.monotonic() + 30
    _, stderr = process.communicate(timeout=30)
    assert process.returncode == 130 and "Traceback" not in stderr
    assert lines(folder)
    while group_lives(process.pid):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_failure_is_written_with_the_command_that_shows_it(tmp_path: Path) -> None:
    program = generate(0, 1)
    small: Program = generate(0, 2)
    report = Report(
        7, 9, Outcome("wrong", "exact", "differs", "first line"), small, Outcome("wrong", "exact", "", "it")
    )
    result = campaign._result(report, tmp_path, Settings())  # pyright: ignore[reportPrivateUsage]
    text = (tmp_path / "wrong-000007.py").read_text()
    assert result.reproducer == "wrong-000007.py" and "program 7 of seed 0" in text and "\nit\n" in text
    scope: dict[str, object] = {}
    exec(text, scope)
    assert callable(scope["program"]) and program != small


def test_bad_arguments(tmp_path: Path) -> None:
    for given in (("--count", "0"), ("--ops", "1"), ("--jobs", "0"), ("--timeout", "-1")):
        code, _, stderr = axon("fuzz", *given, "--out", str(tmp_path))
        assert code == 3 and given[0] in stderr


def test_programs_are_shown() -> None:
    code, stdout, _ = axon("fuzz", "--count", "2", "--show")
    assert code == 0 and stdout.count("def program(") == 2


def test_reasons_do_not_depend_on_the_program() -> None:
    a = "/x/program.py:3: no instructions of trn2 compute (if (v0[p, f] == 1) then v1[p, f] else 0)"
    b = "/y/program.py:9: no instructions of trn2 compute (if (v3[p, 0] == 1) then v7[p, 0] else 0)"
    assert generalised(a) == generalised(b)
