# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A graph of choices becomes several kernels, all of them executed."""

from __future__ import annotations

import json
from pathlib import Path

from audit import AUDIT
from e2e.command import axon
from e2e.test_suite import check_numeric

from axon_mlir.autotune.compilation import LOWERING

EXAMPLE = Path(__file__).parents[2] / "examples" / "rms_mm_graph.mlir"


def test_all_four_structures_of_the_example(tmp_path: Path) -> None:
    text = EXAMPLE.read_text(encoding="utf-8")
    if not AUDIT:
        values = "{M = 4096 : i64, K = 1024 : i64, N = 2048 : i64}"
        assert values in text
        text = text.replace(values, "{M = 300 : i64, K = 517 : i64, N = 130 : i64}")
    source, out = tmp_path / "graph.mlir", tmp_path / "out"
    source.write_text(text, encoding="utf-8")
    code, stdout, stderr = axon("compile", str(source), "-o", str(out), "--json", "-", "-q")
    assert code == 0, stderr
    result = json.loads(stdout)
    assert result == json.loads((out / "result.json").read_text())
    structures = result["structures"]
    assert len(structures) == 4
    assert len({tuple(sorted(structure["variant"].items())) for structure in structures}) == 4
    for structure in structures:
        verdicts = {stage["name"]: stage["verdict"] for stage in structure["stages"]}
        assert all(verdicts[name] == "proved" for name in LOWERING), verdicts
        assert verdicts["exact"] == "checked"
        assert structure["passed"] is True
        check_numeric(structure["numeric"])
        assert (out / structure["kernel"]).is_file()
    least = min(structure["predicted_us"] for structure in structures)
    first = next(structure for structure in structures if structure["predicted_us"] == least)
    assert result["chosen"]["function"] == first["function"]
    assert (out / "kernel.py").read_text() == (out / first["kernel"]).read_text()
    assert sorted(result["files"]["all"]) == sorted(
        str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()
    )
