# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each lemma is proved, its hypotheses do not contradict each other, and a wrong variant is not proved."""

from __future__ import annotations

from dataclasses import replace

import pytest

from axon_mlir.semantics.normal import LEMMAS
from axon_mlir.smt.encode import Query
from axon_mlir.smt.lemmas import Lemma, lemma, names, unproved
from axon_mlir.smt.solver import solve


def test_every_lemma_of_the_normal_form_has_a_proof() -> None:
    assert set(LEMMAS) <= set(names())


@pytest.mark.parametrize("name", names())
def test_lemma_is_proved(name: str) -> None:
    one = lemma(name)
    assert one.obligations and one.statement
    assert unproved(one) == []
    for query in one.obligations:
        assert solve(query.premises) == "sat", query.kind


WRONG = {
    # Unequal summands.
    "congruence": ("(= (f n) (g n))", "(= (f n) (+ (g n) 1.0))"),
    # The factor is forgotten in one step.
    "scale": ("(* c (f n))", "(f n)"),
    "add": ("(+ (f n) (g n))", "(- (f n) (g n))"),
    "const": ("(* (to_real (+ n 1)) c)", "(* (to_real n) c)"),
    "fubini": ("(= q (+ p f))", "(= q p)"),
    # A last tile that is not cut.
    "tile": ("(<= e (- n (* s t)))", "true"),
    "single": ("(= (S 0) 0.0)", "(= (S 0) 1.0)"),
    # Any factor.
    "max-scale": ("(>= c 0.0)", "(<= c 0.0)"),
    "max-shift": ("(+ (f n) c)", "(- (f n) c)"),
    "power": ("(* (p b) x)", "(+ (p b) x)"),
    "exp": ("(= (E (+ n 1)) (* (E n) e))", "(= (E (+ n 1)) (+ (E n) e))"),
    "fraction": ("(= p (+ l r))", "(= p (- l r))"),
    # A last tile that is not cut.
    "cover": ("(ite (<= s (- n (* s t))) s (- n (* s t)))", "s"),
    "nonnegative": ("(>= (f n) 0.0)", "(<= (f n) 0.0)"),
    "select": ("(= n p)", "(<= n p)"),
    "max-negate": ("(- (f n))", "(f n)"),
    # A function that falls.
    "max-exp": ("(<= (e (S n)) (e (f n)))", "(>= (e (S n)) (e (f n)))"),
    "max-monotone": ("(<= (h (S n)) (h (f n)))", "(>= (h (S n)) (h (f n)))"),
    "whole": ("(= g (+ f n))", "(= g (+ f n 1))"),
    "parity": ("(> c 0.0)", "(< c 0.0)"),
    "max-join": (">= (f n) (g n)", "<= (f n) (g n)"),
    "max-exchange": ("(>= p f)", "(<= p f)"),
    # Not shifted.
    "split": ("(+ (U q) (f (+ p q)))", "(+ (U q) (f q))"),
    "indicator": ("(- a b)", "a"),
    "prod-mul": ("(* (f n) (g n))", "(+ (f n) (g n))"),
    "prod-exp": ("(* (e (S n)) (e (f n)))", "(+ (e (S n)) (e (f n)))"),
    "log": ("(* x y)", "(+ x y)"),
    # Counted twice, down.
    "any": ("(+ (T n) (ite (c n) 1.0 0.0))", "(- (T n) (ite (c n) 1.0 0.0))"),
    # Every element up to a position.
    "pick": ("(= (to_real n) p)", "(<= (to_real n) p)"),
}


def test_every_lemma_has_a_wrong_variant() -> None:
    assert set(WRONG) == set(names())


@pytest.mark.parametrize("name", names())
def test_wrong_variant_is_not_proved(name: str) -> None:
    old, new = WRONG[name]

    def changed(q: Query) -> Query:
        return replace(q, text=q.text.replace(old, new))

    right = lemma(name)
    wrong = Lemma(name, right.statement, tuple(map(changed, right.obligations)))
    assert any(q.text != p.text for q, p in zip(right.obligations, wrong.obligations, strict=True))
    assert unproved(wrong)
