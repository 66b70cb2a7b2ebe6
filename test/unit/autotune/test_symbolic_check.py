# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Printed kernels are proved as text, for all sizes; wrongly edited ones never are."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

import pytest
from audit import AUDIT, cases
from kernel_edits import mutants
from xdsl.dialects.func import FuncOp

from axon_mlir.autotune.exact_check import check_kernel
from axon_mlir.autotune.symbolic_check import prove_kernel
from axon_mlir.cli.axon import main
from axon_mlir.frontend.numpy_trace import trace_file
from axon_mlir.host.pipeline import build_pipeline
from axon_mlir.host.registry import make_context
from axon_mlir.printer_nki import print_kernel
from axon_mlir.smt.verdict import Verdict
from axon_mlir.transforms.tiling.structure import STRUCTURE, Structure, structure_attribute

SOURCE = str(Path(__file__).parents[3] / "benchmarks" / "programs.py")
PIPELINE = "tensor-hl-decompose,tensor-hl-canonicalize,tile-symbolic,tile-fuse,tile-instantiate,isa-select,isa-allocate"

X = "f32[300,517]"
NORM_PRODUCT = ("bf16[300,517]", "bf16[517]", "bf16[517,130]")
PROGRAMS: dict[str, tuple[str, ...]] = {
    "ref_axpby": ("f32", X, "f32", X),
    "ref_common": (X, X, X),
    "ref_divrow": (X, "f32[300,1]"),
    "ref_scale2": (X, "f32[300,1]", "f32[1,517]"),
    "ref_silu": (X,),
    "ref_softmax": (X,),
    "ref_rmsnorm": (X, "f32[517]"),
    "ref_transpose": (X,),
    "ref_transpose_pair": (X,),
    "ref_colsum": (X,),
    "ref_scaled_max": (X,),
    "ref_var": (X,),
    "ref_matmul": (X, "f32[517,130]"),
    "ref_tmm": (X, "f32[300,130]"),
    "ref_mmt": (X, "f32[130,517]"),
    "ref_tt": (X, "f32[130,300]"),
    "ref_rms_mm": NORM_PRODUCT,
    "goal_rms_mm_1": NORM_PRODUCT,
    "goal_rms_mm_2": NORM_PRODUCT,
    "goal_rms_mm_3": NORM_PRODUCT,
}
BATCHED: dict[str, tuple[str, ...]] = {
    "ref_matmul": ("f32[4,300,517]", "f32[4,517,130]"),
    "ref_softmax": ("f32[4,300,517]",),
}
STRUCTURES = {
    "nm": Structure(order="nm"),
    "unplanned": Structure(plan="none"),
    "strided": Structure(transpose="strided"),
    "sbuf": Structure(accumulate="sbuf"),
}
CONTRACTIONS = ("ref_matmul", "ref_tmm", "ref_mmt", "ref_tt", "ref_rms_mm", "goal_rms_mm_2")


@cache
def kernel(name: str, arguments: tuple[str, ...], structure: str = "") -> tuple[FuncOp, str]:
    """A program, and the kernel that is made of it."""
    module = trace_file(SOURCE, name, list(arguments))
    func = next(op for op in module.walk() if isinstance(op, FuncOp))
    reference = func.clone()
    if structure:
        func.attributes[STRUCTURE] = structure_attribute(STRUCTURES[structure])
    for module_pass in build_pipeline(PIPELINE):
        module_pass.apply(make_context(), module)
    return reference, print_kernel(module)


def verdict(func: FuncOp, text: str) -> Verdict:
    return prove_kernel(func, text, "trn2")


@pytest.mark.parametrize("name", PROGRAMS)
def test_proved(name: str) -> None:
    found = verdict(*kernel(name, PROGRAMS[name]))
    assert found.verdict == "proved", found.report()


@pytest.mark.parametrize("name", BATCHED)
def test_batched(name: str) -> None:
    found = verdict(*kernel(name, BATCHED[name]))
    assert found.verdict == "proved", found.report()


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("name", CONTRACTIONS if AUDIT else CONTRACTIONS[:3])
def test_structures(name: str, structure: str) -> None:
    found = verdict(*kernel(name, PROGRAMS[name], structure))
    assert found.verdict == "proved", found.report()


@pytest.mark.parametrize("structure", ["", "sbuf"])
def test_not_refuted(structure: str) -> None:
    """Run at small sizes the rebuilt function stops nowhere: loops in loops that run once, regions of one element."""
    func, text = kernel("ref_matmul", PROGRAMS["ref_matmul"], structure)
    found = prove_kernel(func, text, "trn2", use_filter=True)
    assert found.verdict == "proved", found.report()


MUTATED = (
    ("ref_tmm", ""),
    ("ref_axpby", ""),
    ("ref_rmsnorm", ""),
    ("ref_rms_mm", ""),
    ("ref_mmt", ""),
    ("ref_softmax", ""),
    ("ref_colsum", ""),
    ("ref_matmul", "sbuf"),
)


@pytest.mark.parametrize(("name", "structure"), MUTATED)
def test_mutants(name: str, structure: str) -> None:
    """An edit that is proved must not be one: it computes the same when executed exactly."""
    func, text = kernel(name, PROGRAMS[name], structure)
    edits = list(mutants(text))
    random.Random(name).shuffle(edits)
    chosen = edits[: cases(5, 20)]
    harmless = 0
    for label, edited in chosen:
        if verdict(func, edited).verdict == "proved":
            wrong = check_kernel(edited, func, "trn2")
            assert not wrong, f"{label}: {wrong[0]}"
            harmless += 1
    assert harmless <= len(chosen) // 2


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, text = kernel("ref_common", PROGRAMS["ref_common"])
    path = tmp_path / "kernel.py"
    arguments = [word for spec in PROGRAMS["ref_common"] for word in ("--arg", spec)]
    outcomes: list[tuple[int, str]] = []
    for edited in (
        text,
        text.replace("op=nl.add", "op=nl.multiply"),
        text.replace("    return", "    print(1)\n    return"),
    ):
        path.write_text(edited, encoding="utf-8")
        code = main(["prove", f"{SOURCE}:ref_common", f"{path}:ref_common", *arguments])
        outcomes.append((code, capsys.readouterr().out))
    assert [code for code, _ in outcomes] == [0, 1, 2]
    assert outcomes[0][1].startswith("proved")
    assert outcomes[1][1].startswith("refuted: value")
    assert "kernel text" in outcomes[2][1] and "unknown name 'print'" in outcomes[2][1]


def test_a_kernel_is_the_second_source(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "kernel.py"
    path.write_text("import nki\n", encoding="utf-8")
    code = main(["prove", str(path), str(path)])
    assert code == 3
    assert "is a kernel" in capsys.readouterr().err
