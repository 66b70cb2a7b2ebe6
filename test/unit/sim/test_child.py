# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that raise, run away, or ask for what does not exist; the numbers of an exact run."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from processes import gone

from axon_mlir.errors import AxonError
from axon_mlir.sim import KernelFailure, run_kernel
from axon_mlir.sim.exact import ExactInt

HEAD = "import nki\nimport nki.isa as nisa\nimport nki.language as nl\n\n@nki.jit\ndef kernel(x):\n    "


def failure(folder: Path, body: str, **limits: float) -> KernelFailure:
    path = folder / "kernel.py"
    path.write_text(HEAD + body + "\n")
    with pytest.raises(KernelFailure) as caught:
        run_kernel(path, "kernel", [np.ones((4, 4), np.float32)], device="trn2", **limits)  # type: ignore[arg-type]
    return caught.value


def test_a_kernel_that_raises(tmp_path: Path) -> None:
    error = failure(tmp_path, "return [1, 2][x.shape[0]]")
    assert error.where == f"{tmp_path / 'kernel.py'}:7"
    assert error.message == "IndexError: list index out of range"
    assert error.exit_code == 1 and error.reason == "raised"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("nisa.nc_matmull(x)", "nisa.nc_matmull"),
        ("nl.division", "nl.division"),
        ("nisa.engine.warp", "nisa.engine.warp"),
        ("nl.tile_size.qmax", "nl.tile_size.qmax"),
        ("x.rearranged('a b -> b a')", "rearranged"),
        ("nl.average(x)", "nl.average"),
        ("nisa.memset(dst=nl.ndarray((4, 4), dtype=nl.float32), valu=0)", "valu"),
        ("nisa.nc_matmul(dst=x, stationary=x, moving=x, accumulate=3)", "accumulate"),
        ("import neuronxcc.nki.language as old", "the interface before NKI 0.2"),
        ("from neuronxcc import nki", "the interface before NKI 0.2"),
        ("x[0:1] = 3", "cannot be assigned"),
        ("return 3", "output 0 is of type int"),
    ],
)
def test_what_is_not_there_is_named_with_what_is(body: str, message: str, tmp_path: Path) -> None:
    error = failure(tmp_path, body)
    assert message in error.message
    assert error.where is not None and error.where.startswith(str(tmp_path / "kernel.py"))
    assert error.accepted or "accepted" in error.message or "return" in body or "assigned" in message


def test_a_kernel_that_does_not_end_is_stopped(tmp_path: Path) -> None:
    marker = tmp_path / "pid"
    body = "import subprocess\n    p = subprocess.Popen(['sleep', '60'])\n"
    body += f"    open({str(marker)!r}, 'w').write(str(p.pid))"
    start = time.monotonic()
    error = failure(tmp_path, f"{body}\n    while True: pass", timeout=3)
    assert time.monotonic() - start < 20
    assert error.reason == "timeout" and "3 seconds" in error.message
    time.sleep(0.2)
    assert gone(int(marker.read_text()))


def test_a_kernel_that_takes_too_much_memory_is_stopped(tmp_path: Path) -> None:
    error = failure(tmp_path, "held = bytearray(4 << 30)", memory_bytes=2 << 30)
    assert error.reason == "memory" and str(2 << 30) in error.message
    assert error.exit_code == 1


def test_a_kernel_that_kills_its_process(tmp_path: Path) -> None:
    error = failure(tmp_path, "import os; os.abort()")
    assert error.reason == "signal" and "SIGABRT" in error.message


@pytest.mark.parametrize(
    ("text", "function", "count", "message"),
    [
        ("def f(:", None, 1, "not Python"),
        ("import nki\n", None, 1, "holds 0 kernels"),
        (HEAD + "return x\n", "other", 1, "no kernel `other`"),
        (HEAD + "return x\n", "kernel", 2, "too many positional arguments"),
    ],
)
def test_bad_input_is_not_a_failed_kernel(
    text: str, function: str | None, count: int, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(text)
    with pytest.raises(AxonError, match=message) as caught:
        run_kernel(path, function, [np.ones((4, 4), np.float32)] * count, device="trn2")
    assert caught.value.exit_code == 3


def test_numbers_of_an_exact_run(tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    body = """k = x.shape[1]
    from fractions import Fraction
    assert (1 / k, 1.0 / k, k / 6, 2 * k / 7) == (Fraction(1, 3), Fraction(1, 3), Fraction(1, 2), Fraction(6, 7))
    assert 0.1 + 0.2 == Fraction(3, 10) and -1e-5 == Fraction(-1, 100000)
    assert min(128, k - 1) / 4 == Fraction(1, 2) and eps == Fraction(1, 10)
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.memset(dst=t, value=0.1 + eps / k)
    nisa.dma_copy(dst=out, src=t)
    return out
"""
    path.write_text(HEAD.replace("(x)", "(x, eps)") + body)
    arguments = [np.ones((2, 3), np.float32), 0.1]
    result = run_kernel(path, "kernel", arguments, device="trn2", domain="rational")
    assert (result.outputs[0] == Fraction(1, 10) + Fraction(1, 30)).all()


def test_exact_integers_stay_exact() -> None:
    n = ExactInt(7)
    assert all(
        type(v) is ExactInt for v in (n + 1, 1 + n, n - 1, 1 - n, n * 2, 2 * n, n // 2, 15 // n, n % 4, 9 % n, -n)
    )
    assert n / 2 == Fraction(7, 2) and 2 / n == Fraction(2, 7) and n / 0.5 == 14 and n**-1 == Fraction(1, 7)


@pytest.mark.parametrize(
    ("dtype", "wanted"),
    [("int8", [-128, -2, 0, 2, 2, 4, 127]), ("uint8", [0, 0, 0, 2, 2, 4, 255])],
)
def test_floats_to_integers_round_to_even_and_saturate(dtype: str, wanted: list[int], tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    body = f"""out = nl.ndarray(x.shape, dtype=nl.{dtype}, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=x)
    return out
"""
    path.write_text(HEAD + body)
    x = np.array([[-1e9, -2.5, 0.5, 1.5, 2.5, 3.5, 300.0]], np.float32)
    assert run_kernel(path, "kernel", [x], device="trn2").outputs[0].tolist() == [wanted]


def test_copies_between_equal_types_keep_every_bit(tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    body = """out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=x)
    nisa.dma_copy(dst=out, src=t)
    return out
"""
    path.write_text(HEAD + body)
    x = np.array([[2**31 - 1, 2**24 + 1, -(2**31), 7]], np.int32)
    assert np.array_equal(run_kernel(path, "kernel", [x], device="trn2").outputs[0], x)


def test_a_kernel_may_import_what_lies_beside_it(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("import nki.language as nl\nTYPE = nl.float32\n")
    path = tmp_path / "kernel.py"
    path.write_text(HEAD + "from beside import TYPE\n    assert x.dtype == TYPE\n    return x\n")
    assert run_kernel(path, "kernel", [np.ones((4, 4), np.float32)], device="trn2").instructions == 0


def test_the_command_line(tmp_path: Path) -> None:
    kernels = Path(__file__).parent / "kernels.py"
    np.save(tmp_path / "a.npy", np.eye(3, dtype=np.float32))
    arguments = [f"{kernels}:product", "a.npy", "f32[3,5]", "--out", "c.npy", "--json", "-"]
    command = [sys.executable, "-m", "axon_mlir.cli.axon", "run"]
    done = subprocess.run([*command, *arguments], cwd=tmp_path, capture_output=True, text=True, env=dict(os.environ))
    assert done.returncode == 0, done.stderr
    assert "instructions" in done.stderr
    assert np.load(tmp_path / "c.npy").shape == (3, 5)


def test_the_child_ends_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    path = tmp_path / "kernel.py"
    path.write_text(f"import os\nopen({str(mark)!r}, 'w').write(str(os.getpid()))\n" + HEAD + "while True: pass\n")
    run = "from axon_mlir.sim import run_kernel; import numpy as np; "
    run += f"run_kernel({str(path)!r}, 'kernel', [np.ones((4, 4), np.float32)], device='trn2')"
    with subprocess.Popen([sys.executable, "-c", run]) as parent:
        _wait(lambda: mark.exists() and mark.read_text() != "")
        parent.kill()
    child = int(mark.read_text())
    _wait(lambda: gone(child))


def _wait(done: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end
        time.sleep(0.02)
