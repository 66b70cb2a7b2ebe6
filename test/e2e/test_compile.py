# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`axon compile` around the stages: what it writes, what it leaves alone, how it fails."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from e2e.command import axon

from axon_mlir.autotune import compilation
from axon_mlir.autotune.exact_check import Mismatch
from axon_mlir.semantics.functions import FUNCTIONS
from axon_mlir.sim import RunResult, run_here

PROGRAM = """
import numpy as np


def double(x):
    return x + x
"""
SPECS = ("--arg", "f32[4,6]")


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM, encoding="utf-8")
    return path


def texts(folder: Path) -> dict[str, str]:
    """The files of a folder."""
    return {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()}


@dataclass(frozen=True)
class Verdict:
    """A step verdict of our choice."""

    verdict: str

    def report(self) -> str:
        return f"tile-fuse: {self.verdict}"


def test_what_is_written_and_printed(program: Path, tmp_path: Path) -> None:
    out, report = tmp_path / "out", tmp_path / "report.json"
    code, stdout, stderr = axon("compile", f"{program}:double", *SPECS, "-o", str(out), "--json", str(report))
    assert code == 0, stderr
    assert stdout == ""
    result = json.loads((out / "result.json").read_text())
    assert result == json.loads(report.read_text())
    assert result["schema"] == 1 and result["device"] == "trn2" and result["runner"] == "sim"
    assert result["sizes"] == {"generic": ["x0", "x1"], "fixed": []}
    assert result["seconds"]["total"] > 0
    assert result["chosen"]["predicted_us"] <= result["chosen"]["predicted_order_us"]
    assert result["chosen"]["engines"]["sync"]["busy_us"] > 0
    assert 0 < result["bound_us"] <= result["chosen"]["predicted_us"]
    assert result["chosen"]["dma_bytes"] == 2 * 4 * 6 * 4
    names = [stage["name"] for stage in result["stages"]]
    assert names == ["trace", *compilation.ALGEBRA, *compilation.LOWERING, "kernel", "exact", "numeric"]
    passes = [f"{number:02d}-{name}.mlir" for number, name in enumerate(names[:-3])]
    assert sorted(path.name for path in out.iterdir()) == sorted([*passes, "kernel.py", "proofs", "result.json"])
    assert result["files"]["ir"] == passes
    proofs = [*(Path(name).stem for name in passes[1:]), "08-kernel"]
    assert result["files"]["proofs"] == [f"proofs/{name}" for name in proofs]
    for name in proofs:
        assert axon("recheck", str(out / "proofs" / name), "-q")[0] == 0
    assert all(f"{name}: " in stderr for name in names)
    assert "relative L2" in stderr and str(out / "kernel.py") in stderr


def test_a_second_compile_replaces_the_first_and_nothing_else(program: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "notes.txt").write_text("mine")
    assert axon("compile", str(program), *SPECS, "-o", str(out))[0] == 0
    stale = out / "99-old.mlir"
    stale.write_text("")
    result = json.loads((out / "result.json").read_text())
    result["files"]["all"] += [stale.name, "../program.py"]
    (out / "result.json").write_text(json.dumps(result))
    first = (out / "kernel.py").read_text()
    assert axon("compile", str(program), "--arg", "bf16[4,6]", "-o", str(out), "--seed", "3")[0] == 0
    assert (out / "kernel.py").read_text() != first
    assert not stale.exists()
    assert (out / "notes.txt").read_text() == "mine" and program.exists()


@pytest.mark.parametrize(("word", "expected"), [("refuted", 1), ("unknown", 2)])
def test_a_step_that_is_not_proved(
    word: str, expected: int, program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, report = tmp_path / "out", tmp_path / "report.json"
    assert axon("compile", str(program), *SPECS, "-o", str(out))[0] == 0
    before = texts(out)
    real = compilation.verify_step
    monkeypatch.setattr(
        compilation,
        "verify_step",
        lambda a, b, name, **kw: Verdict(word) if name == "tile-fuse" else real(a, b, name, **kw),
    )
    code, _, stderr = axon("compile", str(program), *SPECS, "-o", str(out), "--json", str(report))
    assert code == expected
    assert f"stage tile-fuse: tile-fuse: {word}" in stderr
    assert texts(out) == before
    failed = json.loads(report.read_text())
    assert failed["complete"] is False and failed["failed"]["stage"] == "tile-fuse"
    assert failed["stages"][-1]["verdict"] == word
    kept = tmp_path / "out.failed"
    assert (kept / "04-tile-fuse.mlir").is_file() and not (kept / "kernel.py").exists()


def test_a_kernel_that_is_not_the_program(program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compilation, "check_kernel", lambda *_, **__: [Mismatch({"x0": 2}, "output 0 differs")])
    code, _, stderr = axon("compile", str(program), *SPECS, "-o", str(tmp_path / "out"))
    assert code == 1
    assert "stage exact" in stderr and "x0 = 2: output 0 differs" in stderr
    assert not (tmp_path / "out").exists()
    assert [path.name for path in (tmp_path / "out.failed").rglob("kernel*")] == ["kernel.py.failed"]


def test_a_kernel_with_bad_numbers(program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = compilation.print_kernel
    monkeypatch.setattr(compilation, "check_kernel", lambda *_, **__: [])
    monkeypatch.setattr(compilation, "print_kernel", lambda module: real(module).replace("nl.add", "nl.subtract"))
    code, _, stderr = axon("compile", str(program), *SPECS, "-o", str(tmp_path / "out"))
    assert code == 1
    assert "stage numeric" in stderr and "normal, seed 0" in stderr and "tolerance" in stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("number", "expected"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_leaves_nothing_behind(number: signal.Signals, expected: int, program: Path, tmp_path: Path) -> None:
    out = tmp_path / "folder" / "out"
    command = [sys.executable, "-m", "axon_mlir.cli.axon", "compile", str(program), *SPECS, "-o", str(out)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("kernel: "):
                break
        process.send_signal(number)
        rest = process.stderr.read()
        assert process.wait(60) == expected
    assert "Traceback" not in rest
    assert not out.parent.exists()


def test_the_same_program_gives_the_same_files(program: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        assert axon("compile", str(program), *SPECS, "-o", str(tmp_path / name))[0] == 0
    a, b = texts(tmp_path / "a"), texts(tmp_path / "b")
    assert a.keys() == b.keys() and [name for name in a if a[name] != b[name]] == ["result.json"]


def test_a_file_of_ir_and_a_device_that_it_names(tmp_path: Path) -> None:
    source, out = tmp_path / "program.mlir", tmp_path / "out"
    source.write_text(
        'builtin.module attributes {axon.device = "trn3"} {\n'
        '  func.func @f(%x: tensor<?x?xf32, ["M", "N"]>) -> tensor<?x?xf32, ["M", "N"]>'
        " attributes {axon.values = {M = 5 : i64, N = 7 : i64}} {\n"
        '    %y = tensor_hl.mul %x, %x : tensor<?x?xf32, ["M", "N"]>\n'
        '    func.return %y : tensor<?x?xf32, ["M", "N"]>\n  }\n}\n'
    )
    code, _, stderr = axon("compile", str(source), "-o", str(out))
    assert code == 0, stderr
    result = json.loads((out / "result.json").read_text())
    assert result["device"] == "trn3" and result["stages"][0]["name"] == "source"
    assert axon("compile", str(source), "-o", str(out), "--device", "trn1", "-q")[0] == 0
    assert json.loads((out / "result.json").read_text())["device"] == "trn1"


SINES = """
import numpy as np


def sines(x, y):
    return np.sin(x), np.cos(y)
"""


def test_sines_are_exact_as_far_as_they_say(tmp_path: Path) -> None:
    """Up to half a million turns, each taken off without a rounding; a cosine up to where a quarter turn is added."""
    path, out = tmp_path / "program.py", tmp_path / "out"
    path.write_text(SINES, encoding="utf-8")
    code, _, stderr = axon("compile", f"{path}:sines", "--arg", "f32[16,32]", "--arg", "f32[16,32]", "-o", str(out))
    assert code == 0, stderr
    drawn = np.random.default_rng(0).uniform(-1, 1, (2, 16, 32))
    arrays = [
        np.asarray(part * FUNCTIONS[name].exact_to, np.float32)
        for name, part in zip(("sin", "cos"), drawn, strict=True)
    ]
    (result,) = run_here(out / "kernel.py", None, [arrays], device="trn2")
    assert isinstance(result, RunResult)
    sine, cosine = (np.asarray(o, np.float64) for o in result.outputs)
    np.testing.assert_allclose(sine, np.sin(arrays[0].astype(np.float64)), rtol=0, atol=1e-6)
    np.testing.assert_allclose(cosine, np.cos(arrays[1].astype(np.float64)), rtol=0, atol=2e-5)
