# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Everything that can happen to a tool, and the exit code and message it ends in."""

import json
import signal
import subprocess
import sys
import time
from io import StringIO
from pathlib import Path

import pytest

from axon_mlir.cli import process
from axon_mlir.errors import AxonError, ExitCode, UnsupportedError


def run(tool, argv=(), stdin=""):
    out, err = StringIO(), StringIO()
    code = process.run_tool("tool", tool, argv, stdin=StringIO(stdin), stdout=out, stderr=err)
    return code, out.getvalue(), err.getvalue()


def raising(error: BaseException):
    def tool(argv):
        raise error

    return tool


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (AxonError("bad", where="f:1:2", accepted="good"), 3, "f:1:2: error: bad\n  accepted: good\n"),
        (UnsupportedError("not yet"), 3, "error: not yet\n"),
        (SystemExit(0), 0, ""),
        (SystemExit(None), 0, ""),
        (SystemExit("stop"), 1, "stop\n"),
        (BrokenPipeError(), 0, ""),
        (KeyboardInterrupt(), 130, "tool: interrupted\n"),
        (process.Terminated(), 143, "tool: terminated\n"),
    ],
)
def test_exits(error: BaseException, code: int, message: str):
    assert run(raising(error)) == (code, "", message)


def test_an_internal_error_names_a_reproducer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)

    def tool(argv):
        process.read_input("-")
        raise KeyError("oops")

    for name in ("tool-reproducer.mlir", "tool-reproducer-1.mlir"):
        code, out, err = run(tool, ["-", "-p", "a b"], stdin="func.func @f\n")
        assert (code, out) == (ExitCode.INTERNAL, "")
        assert "Traceback" not in err
        assert str(tmp_path / name) in err
        text = (tmp_path / name).read_text()
        assert "// tool - -p 'a b'\n" in text
        assert "// Traceback" in text
        assert text.endswith("// input: <stdin>\nfunc.func @f\n")


def test_output_appears_whole_or_not_at_all(tmp_path: Path):
    process.write_output(str(tmp_path / "a"), "text")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    with pytest.raises(AxonError, match="cannot write"):
        process.write_output(str(tmp_path / "no" / "a"), "text")
    process.write_output("/dev/null", "text")


def test_unreadable_inputs(tmp_path: Path):
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    for name in ("missing", "binary", "."):
        with pytest.raises(AxonError) as caught:
            process.read_input(str(tmp_path / name))
        assert caught.value.where == str(tmp_path / name)


def test_json_has_a_schema(tmp_path: Path):
    process.emit_json({"a": 1}, str(tmp_path / "x.json"))
    assert json.loads((tmp_path / "x.json").read_text()) == {"schema": 1, "a": 1}
    process.emit_json({"a": 1}, None)


def test_no_color_for_files():
    assert not process.wants_color(StringIO())


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_signals(number: signal.Signals, code: int):
    script = (
        "import sys, time; from axon_mlir.cli.process import run_tool\n"
        "def tool(argv):\n    print('ready', flush=True)\n    time.sleep(60)\n    return 0\n"
        "sys.exit(run_tool('tool', tool, []))"
    )
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout is not None and child.stdout.readline() == "ready\n"
    time.sleep(0.1)
    child.send_signal(number)
    _, err = child.communicate(timeout=20)
    assert child.returncode == code
    assert "Traceback" not in err


def test_a_closed_pipe_is_no_error():
    script = "from axon_mlir.cli.process import run_tool; import sys\n"
    script += "def tool(argv):\n    print('x' * 1_000_000)\n    return 0\nsys.exit(run_tool('tool', tool, []))"
    command = f'{sys.executable} -c "$SCRIPT" | head -c 1; exit ${{PIPESTATUS[0]}}'
    done = subprocess.run(
        ["bash", "-c", command],
        capture_output=True,
        text=True,
        check=False,
        env={"SCRIPT": script, "PATH": "/usr/bin:/bin"},
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "x", "")
