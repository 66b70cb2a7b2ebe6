# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The benchmark programs from NumPy to a kernel: every stage proved, the text checked exactly, the numbers good.

A selection by default; with AXON_AUDIT=1 every program, shape and type, those of real models included.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from audit import AUDIT
from e2e.command import axon

from axon_mlir.autotune.compilation import ALGEBRA, LOWERING
from axon_mlir.cli.arguments import TARGETS_FOLDER
from benchmarks.prove import PROGRAMS
from benchmarks.suite import BENCHMARKS, DTYPES, Benchmark, cases

Case = tuple[Benchmark, str, str]


def selection() -> Iterator[Case]:
    """Of each program its general ragged shape in one type, and one with a size of 1 in another; of programs that are
    there at several ranks only one of these for each rank."""
    for number, benchmark in enumerate(BENCHMARKS):
        first, second, *_ = benchmark.ragged
        if "rank" in benchmark.name:
            yield benchmark, (first, second)[number % 2], benchmark.dtypes[number % len(benchmark.dtypes)]
            continue
        one, other = DTYPES if number % 2 else reversed(DTYPES)
        yield from ((benchmark, first, one), (benchmark, second, other))


CASES = list(cases(quick=False) if AUDIT else selection())


def test_every_program_of_the_list_is_there() -> None:
    """S01 to S12 and M01 to M24, each at two shapes and in two types at least."""
    names = {f"S{n:02}" for n in range(1, 13)} | {f"M{n:02}" for n in range(1, 25)}
    assert {b.name.split()[0] for b in BENCHMARKS} == names
    for name in names:
        own = [(shape, dtype) for b, shape, dtype in CASES if b.name.startswith(name)]
        assert len({shape for shape, _ in own}) > 1 and {dtype for _, dtype in own} >= {"f32", "bf16"}, name
    functions = {name for name in vars(PROGRAMS) if name.startswith("ref_")}
    assert functions <= {b.function for b in BENCHMARKS} | {"ref_ln_mm_cast"}, "programs without a benchmark"


def check_result(result: dict[str, Any]) -> None:
    """What every compile that ends well promises."""
    verdicts = {stage["name"]: stage["verdict"] for stage in result["stages"]}
    assert all(verdicts[name] == "proved" for name in (*ALGEBRA, *LOWERING)), verdicts
    assert verdicts["kernel"] in ("proved", "undecided")
    assert verdicts["exact"] == "checked" and verdicts["numeric"] == "passed"
    check_numeric(result["numeric"])
    assert result["complete"] is True and result["chosen"]["instructions"] > 0


def check_numeric(numeric: dict[str, Any]) -> None:
    """No input failed; those that were not judged say why."""
    assert numeric["passed"] is True
    assert sum(entry["name"].startswith("normal") for entry in numeric["inputs"]) >= 5
    assert any(entry["full_shape"] and entry["status"] == "passed" for entry in numeric["inputs"])
    for entry in numeric["inputs"]:
        assert entry["status"] != "failed"
        assert entry["status"] == "passed" or entry["reason"]


DEEP = "ref_decoder_layer"
"""The program with the most operators, by a factor of three."""


def parameters() -> Iterator[Any]:
    """The cases with their names."""
    for benchmark, shape, dtype in CASES:
        marks = [pytest.mark.long] if benchmark.function == DEEP else []
        yield pytest.param((benchmark, shape, dtype), id=f"{benchmark.function}-{shape}-{dtype}", marks=marks)


@pytest.mark.parametrize("case", list(parameters()))
def test_a_benchmark(case: Case, tmp_path: Path) -> None:
    benchmark, shape, dtype = case
    out = tmp_path / "out"
    code, _, stderr = axon(*benchmark.command(shape, dtype), "-q", "-o", str(out))
    assert code == 0, stderr
    assert stderr == ""
    check_result(json.loads((out / "result.json").read_text()))


@pytest.mark.parametrize("device", ["trn1", "trn3"])
def test_the_demo_on_other_devices(device: str, tmp_path: Path) -> None:
    sizes = (4096, 1024, 2048) if AUDIT else (300, 517, 130)
    m, k, n = sizes
    specs = [word for spec in (f"bf16[{m},{k}]", f"bf16[{k}]", f"bf16[{k},{n}]") for word in ("--arg", spec)]
    example = Path(__file__).parents[2] / "examples" / "rms_mm.py"
    out = tmp_path / "out"
    code, _, stderr = axon("compile", str(example), *specs, "--device", device, "-q", "-o", str(out))
    assert code == 0, stderr
    result = json.loads((out / "result.json").read_text())
    assert result["device"] == device
    check_result(result)


def test_the_gated_example(tmp_path: Path) -> None:
    """Of several functions in a file one is asked for; `exp` brings its largest inputs into the gate."""
    specs = [word for spec in ("bf16[130,70]", "bf16[70,200]", "bf16[70,200]") for word in ("--arg", spec)]
    example = Path(__file__).parents[2] / "examples" / "gate_up.py"
    out = tmp_path / "out"
    code, _, stderr = axon("compile", f"{example}:gate_up", *specs, "-q", "-o", str(out))
    assert code == 0, stderr
    result = json.loads((out / "result.json").read_text())
    check_result(result)
    assert "largest for exp" in [entry["name"] for entry in result["numeric"]["inputs"]]


def test_a_device_without_some_instructions(tmp_path: Path) -> None:
    """What `activation` and `scalar_tensor_tensor` would do is done by other instructions."""
    described = (TARGETS_FOLDER / "trn2.target").read_text(encoding="utf-8").splitlines(keepends=True)
    missing = ("use activation", "use scalar_tensor_tensor")
    device, out = tmp_path / "small.target", tmp_path / "out"
    device.write_text("".join(line for line in described if not line.startswith(missing)))
    (benchmark,) = (b for b in BENCHMARKS if b.name == "M02 rms_mm")
    command = benchmark.command("130x70x60", "bf16")
    code, _, stderr = axon(*command, "--device", str(device), "-q", "-o", str(out))
    assert code == 0, stderr
    check_result(json.loads((out / "result.json").read_text()))
    kernel = (out / "kernel.py").read_text()
    assert "nisa.activation(" not in kernel and "nisa.scalar_tensor_tensor(" not in kernel
