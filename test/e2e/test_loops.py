# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops over sizes down to kernels that are proved as text, at sizes that no tile divides."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from e2e.command import axon
from e2e.test_suite import check_result

PROGRAMS = Path(__file__).parent / "Inputs" / "loops.py"
SPECS = {
    "log_sum_exp": ("f32[37,300]",),
    "smoothed": ("f32[37,130]", "f32[37]"),
    "linear_attention": ("f32[19,5]", "f32[19,5]", "f32[19,6]"),
}


@pytest.mark.parametrize("name", SPECS)
def test_a_loop(name: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    args = [word for spec in SPECS[name] for word in ("--arg", spec)]
    code, _, stderr = axon("compile", f"{PROGRAMS}:{name}", *args, "-q", "-o", str(out))
    assert code == 0, stderr
    result = json.loads((out / "result.json").read_text())
    check_result(result)
    assert {s["name"]: s["verdict"] for s in result["stages"]}["kernel"] == "proved"
    assert result["sizes"]["fixed"] == []
    scans = (out / "kernel.py").read_text().count("op0=nl.multiply, op1=nl.add")
    assert scans == (name != "linear_attention")
