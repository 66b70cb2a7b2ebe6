# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pairs of programs that tests prove or must not prove."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from xdsl.dialects.func import FuncOp

from axon_mlir.checker.recheck import recheck
from axon_mlir.cli.recheck import load
from axon_mlir.frontend.numpy_trace import trace
from axon_mlir.smt.certificate import write_certificate
from axon_mlir.smt.equivalence import Proof, prove_functions
from axon_mlir.smt.verdict import Verdict

Pair = tuple[str, Callable[..., Any], Callable[..., Any]]
"""Specs of the arguments, separated by spaces, and the two programs."""


def traced(pair: Pair) -> tuple[FuncOp, FuncOp]:
    """Both programs of a pair."""
    arguments, *programs = pair
    modules = [trace(f, arguments.split()) for f in programs]
    first, second = (next(op for op in m.walk() if isinstance(op, FuncOp)) for m in modules)
    return first, second


def assert_proved(first: FuncOp, second: FuncOp, folder: Path) -> Verdict:
    """The programs are equal for all sizes, and the checker accepts the certificate."""
    proof = Proof()
    verdict = prove_functions(first, second, proof=proof)
    assert verdict.verdict == "proved", verdict.report()
    write_certificate(folder, first, second, verdict, proof)
    result = recheck(folder, load)
    assert result.ok, result.failed
    return verdict
