# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a compile leaves in `proofs/` re-checks, step by step, from the files alone."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest
from e2e.command import axon

from axon_mlir.autotune.compilation import ALGEBRA, LOWERING

PROGRAMS = Path(__file__).parents[2] / "benchmarks" / "programs.py"
SOLVERS = ["z3", "cvc5"] if importlib.util.find_spec("cvc5") else ["z3"]


def test_every_step_has_a_certificate_that_holds(tmp_path: Path) -> None:
    out = tmp_path / "out"
    specs = ("--arg", "bf16[37,141]", "--arg", "bf16[37,29]")
    code, _, stderr = axon("compile", f"{PROGRAMS}:ref_tmm", *specs, "-o", str(out), "-q")
    assert code == 0, stderr
    proofs = json.loads((out / "result.json").read_text())["files"]["proofs"]
    steps = [Path(proof).name.partition("-")[2] for proof in proofs]
    assert [step for step in steps if step != "kernel"] == [*ALGEBRA, *LOWERING]
    for solver in SOLVERS:
        for proof in proofs:
            code, stdout, stderr = axon("recheck", str(out / proof), "--solver", solver, "--json", "-", "-q")
            answer = json.loads(stdout)
            assert code == 0 and answer["ok"] and not answer["narrowed"], (proof, answer, stderr)
    victim = next((out / proofs[-1]).glob("*.smt2"))
    victim.write_text(victim.read_text().replace("(assert (not ", "(assert false)\n(assert (not ", 1))
    code, stdout, _ = axon("recheck", str(out / proofs[-1]), "--json", "-", "-q")
    assert code == 1 and not json.loads(stdout)["ok"]


def test_a_folder_that_is_no_certificate(tmp_path: Path) -> None:
    code, _, stderr = axon("recheck", str(tmp_path))
    assert code == 3 and "not the manifest of a certificate" in stderr


@pytest.mark.parametrize("text", ["", "[]", '{"format": 2}', '{"format": 2, "obligations": 3, "sizes": {}}'])
def test_a_broken_manifest(text: str, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(text)
    code, _, stderr = axon("recheck", str(tmp_path))
    assert code == 3 and "not the manifest of a certificate" in stderr


ROWS, PRODUCT = ["f32[T,N]"], ["f32[T,K]", "f32[K,N]", "f32[T,N]"]


@pytest.mark.parametrize(
    ("before", "after", "specs", "said"),
    [
        ("log_sum_exp", "log_sum_exp_at_once", ROWS, "proved"),
        ("log_sum_exp_at_once", "log_sum_exp", ROWS, "proved"),
        ("log_sum_exp", "log_sum_exp_without_maximum", ROWS, "refuted: value"),
        ("masked", "masked_at_once", ROWS * 2, "proved"),
        # Where the first element is masked the loop takes infinities from each other.
        ("masked_at_once", "masked", ROWS * 2, "refuted: definedness"),
        ("attention", "attention_at_once", PRODUCT, "proved"),
        ("running", "running_at_once", ROWS * 2, "proved"),
        ("running", "running_of_all", ROWS * 2, "refuted: value"),
    ],
)
def test_statistics_that_a_loop_carries(before: str, after: str, specs: list[str], said: str) -> None:
    source = Path(__file__).parent / "Inputs" / "online.py"
    arguments = [word for spec in specs for word in ("--arg", spec)]
    code, stdout, _ = axon("prove", f"{source}:{before}", f"{source}:{after}", *arguments)
    assert stdout.startswith(said)
    assert (code == 0) == (said == "proved")
