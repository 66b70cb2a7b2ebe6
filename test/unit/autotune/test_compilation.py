# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which of several structures is chosen."""

from __future__ import annotations

from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from axon_mlir.autotune.compilation import Compilation, Structure
from axon_mlir.autotune.gate import GateReport, Outcome
from axon_mlir.sim import RunResult


def structure(name: str, instructions: int, predicted_us: float | None, status: str = "passed") -> Structure:
    run = RunResult((), (), instructions, {"vector": instructions}, 0, 0, 0, 0, ())
    outcome = Outcome("normal", {}, "passed" if status == "passed" else "failed", 0.0, 1.0, full=True)
    made = Structure(name, Path(name), ModuleOp([]), numeric=GateReport((outcome,), run))
    made.time = None if predicted_us is None else {"predicted_us": predicted_us, "busy_us": {"vector": 3.0}}
    return made


def chosen(*structures: Structure) -> str | None:
    found = Compilation("f", "trn2", "sim", Path("out"), structures=list(structures)).chosen
    return None if found is None else found.name


def test_the_fastest_is_chosen_not_the_one_with_the_fewest_instructions() -> None:
    assert chosen(structure("few", 10, 50.0), structure("fast", 99, 20.0)) == "fast"
    assert chosen(structure("wrong", 9, 1.0, "failed"), structure("right", 99, 20.0)) == "right"
    assert chosen(structure("first", 9, 20.0), structure("second", 9, 20.0)) == "first"


def test_without_a_time_of_each_instructions_are_counted() -> None:
    assert chosen(structure("few", 10, None), structure("fast", 99, 20.0)) == "few"
    assert chosen() is None


def test_counts_tell_instructions_and_times_by_engine() -> None:
    counts = structure("one", 7, 20.0).counts()
    assert counts["engines"] == {"vector": {"instructions": 7, "busy_us": 3.0}} and counts["predicted_us"] == 20.0
    assert "predicted_us" not in structure("one", 7, None).counts()
