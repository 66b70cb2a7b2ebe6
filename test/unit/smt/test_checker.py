# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The checker says what the prover says, though neither knows the other; it stays small, and asks its solvers well."""

from __future__ import annotations

import ast
import sys
from dataclasses import astuple
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import z3
from xdsl.dialects.func import FuncOp

from axon_mlir.checker import argument, recheck, text
from axon_mlir.checker import lemmas as stated
from axon_mlir.checker.text import Rejected, integers
from axon_mlir.cli.recheck import load
from axon_mlir.frontend.numpy_trace import trace
from axon_mlir.semantics import terms as t
from axon_mlir.semantics.index import Index, Var, const, minimum, of_var, size
from axon_mlir.smt import equivalence
from axon_mlir.smt.certificate import write_certificate
from axon_mlir.smt.encode import integer_query
from axon_mlir.smt.lemmas import lemma, names

LINES = 600
"""Of code, without blank lines, comments, docstrings and the table of lemmas."""


@pytest.mark.parametrize("name", names())
def test_lemmas_are_stated_alike(name: str) -> None:
    mine = [(q.kind, q.hypotheses, q.goal, q.text, q.premises) for q in lemma(name).obligations]
    theirs = [(q.kind, q.hypotheses, q.goal, q.text, q.premises) for q in stated.questions(name)]
    assert theirs == mine


def test_an_unknown_lemma_is_no_lemma() -> None:
    with pytest.raises(Rejected, match="everything is zero"):
        stated.questions("everything is zero")


def _index(r: Random, depth: int) -> Index:
    if depth == 0:
        return r.choice([size("M"), size("not"), of_var(Var("k", 3)), of_var(Var("k", 2)), const(r.randint(-2, 3))])
    a, b = _index(r, depth - 1), _index(r, depth - 1)
    divisor = r.choice([size("M"), size("M") * size("N") + 1, const(2), of_var(Var("j", 1))])
    return r.choice([a + b, a - b, a * b, a // divisor, minimum(a, b)])


def _condition(r: Random, depth: int) -> t.Condition:
    if depth == 0:
        return r.choice([t.less, t.at_most, t.equal])(_index(r, r.randint(0, 2)), _index(r, r.randint(0, 2)))
    parts = [_condition(r, depth - 1) for _ in range(2)]
    return r.choice([t.conj(parts), t.disj(parts), t.negate(parts[0])])


@pytest.mark.parametrize("seed", range(300))
def test_questions_about_integers_are_written_alike(seed: int) -> None:
    r = Random(seed)
    hypotheses = [_condition(r, r.randint(0, 2)) for _ in range(3)]
    goal = _condition(r, r.randint(0, 1))
    assert astuple(integers("test", hypotheses, goal)) == astuple(integer_query("test", hypotheses, goal))


def test_contradictory_hypotheses_prove_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A first program that is defined nowhere, and a prover that does not look."""

    def one(function: Any) -> FuncOp:
        return next(op for op in trace(function, ["f32[4,5]"]).walk() if isinstance(op, FuncOp))

    first = one(lambda x: np.sqrt(x) * np.sqrt(-x - 1))
    second = one(lambda x: np.sqrt(x) * np.sqrt(-x - 1) * ((x + 0.5) / (x + 0.5)))
    solve = equivalence.solve
    monkeypatch.setattr(equivalence, "solve", lambda q, **kw: solve(q, **kw) if "(assert (not" in q else "unknown")
    proof = equivalence.Proof()
    verdict = equivalence.prove_functions(first, second, use_filter=False, proof=proof)
    write_certificate(tmp_path / "c", first, second, verdict, proof)
    result = recheck.recheck(tmp_path / "c", load)
    assert not result.ok and all(failure.startswith("contradiction: ") for failure in result.failed)


ask = recheck._answer.__wrapped__  # pyright: ignore


@pytest.mark.parametrize("error", [KeyboardInterrupt, AttributeError, RuntimeError])
def test_only_errors_of_cvc5_are_malformed_input(error: type[BaseException], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> Any:
        raise error

    nothing = SimpleNamespace(setOption=lambda *_: None, setLogic=lambda *_: None)
    parser = SimpleNamespace(setStringInput=lambda *_: None, nextCommand=fail)
    words = SimpleNamespace(SMT_LIB_2_6=0)
    fake = SimpleNamespace(Solver=lambda: nothing, InputParser=lambda _: parser, InputLanguage=words)
    monkeypatch.setitem(sys.modules, "cvc5", fake)
    if error is RuntimeError:
        assert ask("(check-sat)", "cvc5", 1.0) == "malformed"
    else:
        with pytest.raises(error):
            ask("(check-sat)", "cvc5", 1.0)


def test_an_interrupt_that_z3_has_caught_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ask("(assert", "z3", 1.0) == "malformed"
    monkeypatch.setattr(z3.Solver, "check", lambda _: z3.unknown)
    monkeypatch.setattr(z3.Solver, "reason_unknown", lambda _: "interrupted from keyboard")
    with pytest.raises(KeyboardInterrupt):
        ask("(check-sat)", "z3", 1.0)


def _code_lines(path: Path) -> int:
    source = path.read_text(encoding="utf-8")
    documentation = {
        line
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    lines = enumerate(source.splitlines(), 1)
    return sum(n not in documentation and bool(x.strip()) and not x.strip().startswith("#") for n, x in lines)


def test_the_checker_is_small() -> None:
    modules = (argument, text, recheck, stated)
    assert sum(_code_lines(Path(module.__file__ or "")) for module in modules) <= LINES
