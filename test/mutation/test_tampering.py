# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Certificates of the benchmark goals and of lowering steps re-check with both solvers; tampered ones do not.

A sample in an ordinary run, all of it under `make audit`.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from tempfile import mkdtemp

import pytest
from audit import AUDIT, cases
from mutation.programs import LOWERING, around, function_of
from mutation.tampering import REASONS, Folder, NotApplicable, apply
from xdsl.dialects.func import FuncOp

from axon_mlir.checker.recheck import Solver, recheck
from axon_mlir.cli.recheck import load
from axon_mlir.errors import AxonError
from axon_mlir.smt.certificate import write_certificate
from axon_mlir.smt.equivalence import Proof, prove_functions
from benchmarks.prove import goals, traced

SOLVERS: list[Solver] = ["z3", "cvc5"] if importlib.util.find_spec("cvc5") else ["z3"]
GOALS = {name: (before, after, of) for name, before, after, of in goals()}
LOWERED = ("rmsnorm", "tmm", "rms_mm", "late", "scale2", "common", "divrow")
STEPS = [(name, stage) for name in LOWERED for stage in LOWERING]


@pytest.fixture(scope="module", autouse=True)
def _clean() -> Iterator[None]:
    yield
    certificate.cache_clear()
    shutil.rmtree(_root(), ignore_errors=True)
    _root.cache_clear()


@cache
def _root() -> Path:
    return Path(mkdtemp(prefix=f"axon-certificates-{os.getpid()}-"))


def functions(name: str) -> tuple[FuncOp, FuncOp]:
    """The two programs of a goal, or of a step `program:pass`."""
    program, colon, stage = name.partition(":")
    if not colon:
        before, after, of = GOALS[name]
        return traced(before, of), traced(after, of)
    first, second = around(program, stage)
    return function_of(first), function_of(second)


@cache
def certificate(name: str) -> Path:
    """The folder of a certificate."""
    before, after = functions(name)
    proof = Proof()
    verdict = prove_functions(before, after, use_filter=False, proof=proof)
    assert verdict.verdict == "proved", verdict.report()
    folder = _root() / name.replace(":", "-")
    write_certificate(folder, before, after, verdict, proof)
    return folder


EVERY = [*GOALS, *(f"{name}:{stage}" for name, stage in STEPS)]
SAMPLE = ["common_1", "rms_mm_2", "softmax_1", "cumsum_2", "linattn_1", "tmm:tile-fuse", "rmsnorm:isa-select"]


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", EVERY if AUDIT else [name for name in SAMPLE if name in EVERY])
def test_certificate_holds(name: str, solver: Solver) -> None:
    result = recheck(certificate(name), load, solver=solver)
    assert result.ok, result.failed


TAMPERED = [
    "rms_mm_2",
    "tmm:tile-symbolic",
    "softmax_1",
    "rmsnorm:tile-fuse",
    "cumsum_2",
    "scale2:isa-select",
    "gelu_erf_1",
]
TAMPERINGS = list(REASONS)


@pytest.mark.parametrize("number", range(cases(24, 115)))
def test_tampered_certificate_does_not_hold(number: int, tmp_path: Path) -> None:
    tampering = TAMPERINGS[number % len(TAMPERINGS)]
    turn = number // len(TAMPERINGS)
    pairs = TAMPERED[:4] if not AUDIT else TAMPERED
    for attempt in range(len(pairs)):
        place = (number + 3 * turn + attempt) % len(pairs)
        name, other = pairs[place], pairs[(place + 1) % len(pairs)]
        folder = tmp_path / f"{attempt}"
        shutil.copytree(certificate(name), folder)
        try:
            apply(tampering, Folder(folder, certificate(other), Random(number)))
        except NotApplicable:
            continue
        _rejected(folder, REASONS[tampering])
        return
    pytest.fail(f"{tampering.__name__} applies to none of the certificates")


def _rejected(folder: Path, reasons: str) -> None:
    allowed = reasons.split("|")
    try:
        result = recheck(folder, load)
    except AxonError as error:
        assert allowed == ["format"] and "format" in error.message
        return
    assert not result.ok
    named = {failure.split(":")[0] for failure in result.failed}
    assert named & set(allowed), result.failed


def test_the_checker_imports_nothing_of_the_prover() -> None:
    folder = Path(__file__).parents[2] / "axon_mlir" / "checker"
    for path in folder.glob("*.py"):
        lines = [line for line in path.read_text().splitlines() if line.startswith(("from axon_mlir", "import axon"))]
        assert all(line.split()[1].split(".")[1] in ("checker", "errors", "semantics") for line in lines), path
