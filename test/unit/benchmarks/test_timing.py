# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernels whose measured times are known compute what they say, and their predictions are reported."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import benchmarks.timing
from axon_mlir.sim import execute
from benchmarks.timing import validate
from benchmarks.timing.runs import RUNS, Source

KERNELS = Path(benchmarks.timing.__file__ or "").with_name("kernels.py")
RANDOM = np.random.default_rng(11)


def array(*shape: int) -> NDArray[np.float32]:
    return RANDOM.standard_normal(shape).astype(np.float32)


def attention(q: NDArray[np.float32], k: NDArray[np.float32], v: NDArray[np.float32]) -> NDArray[np.float32]:
    scores = q.T @ k
    weights = np.exp(scores - scores.max(1, keepdims=True))
    return weights / weights.sum(1, keepdims=True) @ v.T


X, Y = array(512, 1), array(512, 1)
A, B = array(128, 40), array(128, 40)
L, R = array(256, 256), array(256, 1024)
HEADS = [array(128, 512) * np.float32(0.1) for _ in range(3)]
CASES = {
    "add_in_chunks": ([X, Y, 128], X + Y),
    "add_in_tiles": ([A, B, 8], A + B),
    "matmul_with_loads_hoisted": ([L, R], L.T @ R),
    "attention_fused": (HEADS, attention(*HEADS)),
    "attention_by_phases": (HEADS, attention(*HEADS)),
}


@pytest.mark.parametrize("name", CASES)
def test_a_kernel_computes_what_it_says(name: str) -> None:
    given, wanted = CASES[name]
    (found,) = execute(KERNELS, name, given, device="trn2").outputs
    assert np.linalg.norm(found - wanted) <= 1e-5 * np.linalg.norm(wanted)


def test_every_run_has_a_row_that_is_measured_on_a_modelled_device() -> None:
    known = validate.rows()
    assert len(known) > 200 and {row.use for row in known.values()} == {"fit", "check", "bound"}
    for run in RUNS:
        assert known[run.row].device == "trn2" and known[run.row].use in ("fit", "check")
        assert known[run.row].metric in ("latency", "profile")
    assert len({run.row for run in RUNS}) == len(RUNS)


def test_a_prediction_is_reported_with_its_error(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "rows.json"
    names = ["cs149-trn2-vadd-stream-200", "kf-trn2-attn-fused-fp32-s512"]
    assert validate.main(["--json", str(file), *names]) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in names) and "fit: 1 rows, median error" in text
    assert "check, scheduled by a compiler: 1 rows" in text and '"predicted_us"' in file.read_text()


def test_a_source_that_is_not_there_is_said(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    run = next(run for run in RUNS if isinstance(run.kernel, Source))
    for sources in ([], ["--sources", str(tmp_path)]):
        assert validate.main([*sources, run.row]) == 0
        assert f"{run.row}: not run: no clone of awslabs/nki-autotune" in capsys.readouterr().out
