# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`unknown` always says which obligation is open, and why; every reason that the prover knows is met here."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import reduce
from pathlib import Path

import pytest
from mutation.operators import Builder, Value
from unit.smt.test_translation import BEFORE, TILED, module
from xdsl.dialects.func import FuncOp

from axon_mlir.autotune.symbolic_check import KERNEL_TEXT, not_read
from axon_mlir.errors import AxonError
from axon_mlir.semantics.index import parse
from axon_mlir.smt import equivalence, sizes, solver
from axon_mlir.smt.equivalence import prove_functions
from axon_mlir.smt.verdict import Discharged, Verdict, Word

Program = Callable[[Builder], Value]


def written(program: Program) -> FuncOp:
    b = Builder()
    return b.function(program(b))


def only(text: str) -> FuncOp:
    return next(op for op in module(text).walk() if isinstance(op, FuncOp))


def _tail(monoid: str) -> Program:
    def program(b: Builder) -> Value:
        x = b.arg("M,N")
        rest = b("slice", x, offsets="0,1", sizes="M,N-1", steps=(1, 1))
        return b("reduce", rest, monoid=monoid, axes=(1,))

    return program


def _half_written(b: Builder) -> Value:
    x = b.arg("M,N")
    room = b("empty", shape="M+1,N", dtype="f32")
    return b("insert", room, x, offsets="0,0", steps=(1, 1))


def _reflexive(b: Builder) -> Value:
    x = b.arg("M,N")
    return b("mul", x, b("div", x, x))


def _nowhere(b: Builder) -> Value:
    x = b.arg("M,N")
    return b("log", b("sub", b.number(-1.0, x), b("square", x)))


def _nowhere_either(b: Builder) -> Value:
    x = b.arg("M,N")
    one = b("div", x, x)
    return b("mul", b("log", b("sub", b.number(-1.0, x), b("square", x))), one)


def _masked(fill: float) -> Program:
    def program(b: Builder) -> Value:
        x = b.arg("M,N")
        return b("sin", b("select", b("compare", x, b.number(0.0, x), predicate="lt"), x, b.number(fill, x)))

    return program


def _padded(low: str) -> Program:
    return lambda b: b("pad", b.arg("M"), b.number(0.0), axis=0, low=parse(low), high=parse("0"))


def _powers(*, grouped: bool) -> Program:
    """A product of two sums to the power of four, which has a term for each choice of eight summands."""

    def program(b: Builder) -> Value:
        arguments = [[b.arg("M") for _ in range(8)] for _ in range(2)]
        x, y = (reduce(lambda p, q: b("add", p, q), summands) for summands in arguments)
        x, y = (b("mul", s, s) for s in (x, y))
        y = b("mul", y, y)
        return b("mul", b("mul", x, x), y) if grouped else b("mul", x, b("mul", x, y))

    return program


PAIRS: dict[str, tuple[FuncOp, FuncOp]] = {
    "different": (written(lambda b: b("exp", b.arg("M"))), written(lambda b: b("erf", b.arg("M")))),
    "timeout": (written(lambda b: b("exp", b.arg("M"))), written(lambda b: b("erf", b.arg("M")))),
    "definedness": (written(lambda b: b.arg("M,N")), written(_reflexive)),
    "contradiction": (written(_nowhere), written(_nowhere_either)),
    "unwritten": (written(_half_written), written(_half_written)),
    "extent": (written(_tail("max")), written(_tail("max"))),
    "infinity": (written(_masked(float("inf"))), written(_masked(float("inf")))),
    "shape": (written(_padded("M*M*M + 5*M")), written(_padded("(M*M*M + 5*M) // 6 * 6"))),
    "sizes": (written(lambda b: b("exp", b.arg("M*N+1"))), written(lambda b: b("exp", b.arg("2*A")))),
    "obligation": (only(BEFORE), only(TILED.replace('step "512"', 'step "513"', 1))),
    "size": (written(_powers(grouped=False)), written(_powers(grouped=True))),
    "denotation": (only("func.func @f(%i: index) -> index { func.return %i : index }"),) * 2,
}
"""Reason -> programs that are open for it, without a search for counterexamples."""
ELSEWHERE = {"tile"}
"""A tiling whose ranges are not known to be whole is not recognised as one, so this stops nothing that is known."""


def verdict_of(reason: str) -> Verdict:
    before, after = PAIRS[reason]
    return prove_functions(before, after, use_filter=False, timeout=0.0 if reason == "timeout" else None)


@pytest.mark.parametrize("reason", PAIRS)
def test_the_reason_and_what_is_open(reason: str) -> None:
    verdict = verdict_of(reason)
    assert (verdict.verdict, verdict.reason) == ("unknown", reason), verdict.report()
    assert len(verdict.detail) > 10
    assert verdict.to_json()["reason"] == reason and verdict.to_json()["detail"] == verdict.detail
    assert verdict.report().startswith(f"unknown: {reason}\n  {verdict.detail.splitlines()[0]}")
    for o in verdict.obligations:
        assert (o.status == "proved") == (o.why == ""), o


DETAILS = {
    "different": r"result 0: exp\(in0\[o0\]\).*\nagainst erf\(in0\[o0\]\)\nneither",
    "timeout": r"time is over before equality of result 0",
    "definedness": r"result 0: div needs in0\[o0, o1\] != 0: it does not follow",
    "extent": r"result 0: the range of a max may be empty: N - 1: it does not follow",
    "obligation": r"at .*: .*: (it does not follow|the solver has not decided it)",
    "size": r"^the normal forms are too large in every way to take the terms apart$",
    "shape": r"axis 0 of result 0 is .* before and .* after: ",
}


@pytest.mark.parametrize("reason", DETAILS)
def test_details(reason: str) -> None:
    assert re.search(DETAILS[reason], verdict_of(reason).detail), verdict_of(reason).detail


def test_every_reason_of_the_source_is_met() -> None:
    """A new way to be unknown needs a test here."""
    text = "\n".join(Path(m.__file__ or "").read_text(encoding="utf-8") for m in (equivalence, sizes))
    named = set(re.findall(r'NotProved\(\s*"(\w+)"', text)) | set(re.findall(r'"unknown", "(\w+)"', text))
    assert named | {"shape", "sizes"} == set(PAIRS) | ELSEWHERE


def test_a_text_that_is_not_read_is_unknown_for_its_line() -> None:
    verdict = not_read(AxonError("no such call", where="kernel.py:7", accepted="nki.isa"))
    assert (verdict.verdict, verdict.reason) == ("unknown", KERNEL_TEXT)
    assert "kernel.py:7: no such call" in verdict.detail


@pytest.mark.parametrize(
    ("word", "reason", "detail"), [("unknown", "", "x"), ("unknown", "x", ""), ("refuted", "", "x")]
)
def test_a_verdict_without_a_reason_cannot_be_made(word: Word, reason: str, detail: str) -> None:
    with pytest.raises(ValueError, match="reason"):
        Verdict(word, reason, detail=detail)


def test_what_the_solver_does_not_decide_is_told_from_what_does_not_follow(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "it does not follow" in verdict_of("extent").detail
    solver.clear_cache()
    monkeypatch.setattr(equivalence, "solve", lambda *args, **options: "unknown")
    assert "not decided it within its budget" in verdict_of("extent").detail


def test_open_obligations_are_listed_with_what_they_say() -> None:
    done = (Discharged("in bounds", "'tile.load'", "i < N", "unknown", "it does not follow"),)
    report = Verdict("unknown", "obligation", obligations=done, detail="in bounds").report()
    assert "not discharged: in bounds at 'tile.load': i < N (it does not follow)" in report
