# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `axon compile` does not take: exit code 3, one message with its place, no traceback, nothing written."""

from __future__ import annotations

from pathlib import Path

import pytest
from e2e.command import axon

PROGRAM = """import numpy as np


def double(x):
    return x + x


def sort(x):
    return np.sort(x)


def branch(x):
    if x[0, 0] > 0:
        return x
    return -x


def raises(x):
    raise ValueError("no")


@np.vectorize
def each(x):
    return x + 1


def mapped(x):
    return each(x)


def product(a, b):
    return a @ b
"""

IR = """func.func @f(%x: tensor<?xf32, ["M"]>) -> tensor<?xf32, ["M"]> {
  %y = tensor_hl.mul %x, %x : tensor<?xf32, ["M"]>
  func.return %y : tensor<?xf32, ["M"]>
}
"""

BROKEN = """func.func @f(%x: tensor<?xf32, ["M"]>) -> tensor<?xf32, ["M"]> {
  func.return %z : tensor<?xf32, ["M"]>
}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "syntax.py").write_text("def f(x)\n    return x\n")
    (tmp_path / "empty.py").write_text("")
    (tmp_path / "f.mlir").write_text(IR)
    (tmp_path / "broken.mlir").write_text(BROKEN)
    (tmp_path / "text.txt").write_text("text")
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("missing.py --arg f32[4]", "missing.py: error: no such file"),
        ("missing.mlir", "missing.mlir: error: no such file"),
        ("text.txt", "text.txt: error: neither a .py nor a .mlir file"),
        ("syntax.py --arg f32[4]", "syntax.py:1: error: syntax error"),
        ("empty.py", "empty.py: error: 0 public functions"),
        ("program.py --arg f32[4]", "public functions"),
        ("program.py:nothing --arg f32[4]", "program.py: error: no function 'nothing'"),
        ("program.py:double", "program.py:4: error: parameter 'x' of double has no --arg"),
        ("program.py:double --arg f32[4,x", "--arg f32[4,x: error: cannot read"),
        ("program.py:double --arg f32[4,0]", "--arg f32[4,0]: error: an axis has size 0"),
        ("program.py:double --arg f64[4,4]", "--arg f64[4,4]: error: float64 programs are not supported"),
        ("program.py:double --arg i64[4,4]", "int64 programs are not supported"),
        ("program.py:double --arg f32[4] --arg f32[4]", "--arg f32[4]: error: double takes 1 arguments"),
        ("program.py:double --arg y=f32[4]", "--arg y=f32[4]: error: double has no parameter 'y'"),
        ("program.py:double --arg f32[M,4]", "no number is given for the size M"),
        ("program.py:sort --arg f32[4,4]", "program.py:9: error: np.sort is not supported"),
        ("program.py:branch --arg f32[4,4]", "program.py:13: error:"),
        ("program.py:raises --arg f32[4,4]", "program.py:19: error: the program raised ValueError: no"),
        ("program.py:mapped --arg f32[4,4]", "program.py:"),
        ("program.py:product --arg f32[4,5] --arg f32[6,4]", "program.py:32: error:"),
        ("program.py:double --arg f32[4,4] --device trn9", "unknown device 'trn9'"),
        ("program.py:double --arg f32[4,4] --device text.txt", "text.txt"),
        ("program.py:double --arg f32[4,4] --runner gpu", "invalid choice: 'gpu'"),
        ("program.py:double --arg f32[4,4] --runner neuron", "runner 'neuron' is not supported: missing here: "),
        ("program.py:double --arg f32[4,4] --seed -1", "--seed must not be negative"),
        ("program.py:double --arg f32[4,4] --scale x", "--scale x: no number"),
        ("program.py:double --arg f32[4,4] --scale y=0.1", "no argument of floats 'y'"),
        ("program.py:double --arg f32[4,4] --seed one", "invalid int value: 'one'"),
        ("program.py:double --arg f32[4,4] --budget 3", "unrecognized arguments: --budget 3"),
        ("program.py:double --arg f32[4,4] -o file", "file: error: is not a folder"),
        ("program.py:double --arg f32[4,4] -o file/out", "file/out: error: cannot write"),
        ("f.mlir", "no number is given for the size M"),
        ("f.mlir:g", "f.mlir: error: no function 'g'"),
        ("f.mlir --arg f32[4]", "--arg f32[4]: error: a file of IR takes no --arg"),
        ("broken.mlir", "broken.mlir:2:"),
        ("", "required: SOURCE"),
    ],
)
def test_bad_input(arguments: str, message: str, folder: Path) -> None:
    before = sorted(folder.rglob("*"))
    code, stdout, stderr = axon("compile", *arguments.split())
    assert code == 3, stderr
    assert message in stderr
    errors = [line for line in stderr.splitlines() if "error:" in line]
    assert len(errors) == 1, stderr
    assert "Traceback" not in stderr and stdout == ""
    after = sorted(path for path in folder.rglob("*") if "__pycache__" not in path.parts)
    assert after == before
