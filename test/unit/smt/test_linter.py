# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Queries that are not ground are refused before a solver sees them, by name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import z3  # pyright: ignore[reportMissingTypeStubs]

from axon_mlir.smt import solver
from axon_mlir.smt.certificate import write_certificate
from axon_mlir.smt.encode import Query
from axon_mlir.smt.equivalence import Proof, prove_functions
from axon_mlir.smt.lemmas import lemma, names
from axon_mlir.smt.linter import ForbiddenQuery, lint_assertions, lint_text
from benchmarks.prove import goals, traced

ANY: Any = z3
FORBIDDEN = {
    "quantifier": ("(declare-fun f (Int) Int)(assert (forall ((x Int)) (= (f x) 0)))(check-sat)", "a quantifier"),
    "hidden": ("(declare-const p Bool)(assert (or p (not (exists ((x Int)) (= x x)))))(check-sat)", "a quantifier"),
    "array": ("(declare-const a (Array Int Int))(assert (= (select a 0) 1))(check-sat)", "an array"),
    "lambda": ("(assert (= (select (lambda ((x Int)) x) 1) 1))(check-sat)", "a lambda"),
    "array-lambda": (
        "(declare-const a (Array Int Int))(assert (= a (lambda ((x Int)) (+ x 1))))(check-sat)",
        "an array",
    ),
    "recursion": (
        "(define-fun-rec f ((n Int)) Int (ite (<= n 0) 0 (f (- n 1))))(assert (= (f 3) 1))(check-sat)",
        "a recursive function",
    ),
    "recursions": (
        "(define-funs-rec ((f ((n Int)) Int)) ((ite (<= n 0) 0 (f (- n 1)))))(assert (= (f 3) 1))(check-sat)",
        "a recursive function",
    ),
}
TEXT_ONLY = {
    # Z3 reads these, and nothing of them is left in its assertions, or nothing that looks wrong.
    "macro": "(define-fun f ((n Int)) Int (+ n 1))(assert (= (f 3) 1))(check-sat)",
    "vacuous": "(assert (forall ((x Int)) true))(check-sat)",
    "datatype": "(declare-datatypes ((T 0)) (((c))))(check-sat)",
    "bits": "(declare-const b (_ BitVec 8))(assert (= b b))(check-sat)",
    "option": "(set-option :smt.mbqi true)(check-sat)",
    "let": "(declare-const p Bool)(assert (let ((q p)) q))(check-sat)",
    "string": '(assert (= "a" "b"))(check-sat)',
    "word": "(declare-const ite Int)(assert (= ite 0))(check-sat)",
}


@pytest.mark.parametrize(("text", "kind"), FORBIDDEN.values(), ids=FORBIDDEN)
def test_forbidden(text: str, kind: str) -> None:
    with pytest.raises(ForbiddenQuery, match=f"^tile at result 3: .*{kind}"):
        solver.solve(text, obligation="tile at result 3")


@pytest.mark.parametrize("text", TEXT_ONLY.values(), ids=TEXT_ONLY)
def test_forbidden_words(text: str) -> None:
    with pytest.raises(ForbiddenQuery, match=r"^here: "):
        lint_text(text, "here")


@pytest.mark.parametrize("text", [text for text, _ in FORBIDDEN.values()], ids=FORBIDDEN)
def test_forbidden_assertions(text: str) -> None:
    """What Z3 makes of a query is refused by itself: the two ways do not rely on each other."""
    read = ANY.Solver(ctx=ANY.Context())
    read.from_string(text)
    with pytest.raises(ForbiddenQuery, match=r"^here: holds"):
        lint_assertions(read.assertions(), "here")


def test_names_in_bars_and_comments_are_no_words() -> None:
    text = "; forall (exists)\n(declare-const |forall k < n| Real)(assert (> |forall k < n| 0.5))(check-sat)"
    lint_text(text, "here")
    assert solver.solve(text) == "sat"


def test_nothing_forbidden_is_solved() -> None:
    """Neither an earlier answer nor another budget is a way round."""
    text = FORBIDDEN["quantifier"][0]
    for _ in range(2):
        with pytest.raises(ForbiddenQuery):
            solver.solve(text, rlimit=1)


@pytest.mark.parametrize("name", names())
def test_lemmas_pass(name: str) -> None:
    for query in lemma(name).obligations:
        lint_text(query.text, query.kind)
        lint_text(query.premises, query.kind)


def _proof(name: str) -> tuple[Any, Any, Any, Proof]:
    _, before, after, of = next(g for g in goals() if g[0] == name)
    first, second = traced(before, of), traced(after, of)
    proof = Proof()
    return first, second, prove_functions(first, second, proof=proof), proof


def test_a_certificate_with_a_quantifier_is_not_written(tmp_path: Path) -> None:
    """Not all of a certificate has been solved: equal normal forms are an obligation too."""
    first, second, verdict, proof = next(found for g in goals() if (found := _proof(g[0]))[3].queries)
    query, where = proof.queries[0]
    bad: Query = replace(query, kind="planted", text="(assert (forall ((x Int)) (= x x)))\n(check-sat)\n")
    proof.queries.append((bad, where))
    with pytest.raises(ForbiddenQuery, match="planted: holds a quantifier"):
        write_certificate(tmp_path / "c", first, second, verdict, proof)
    assert not (tmp_path / "c").exists()
