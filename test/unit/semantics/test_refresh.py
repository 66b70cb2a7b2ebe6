# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Copies of a term with bound variables of their own."""

from __future__ import annotations

from axon_mlir.semantics import terms as t
from axon_mlir.semantics.index import Var, of_var, size
from axon_mlir.semantics.walk import subterms

K, ROW = Var("k"), Var("o")
ELEMENT = t.Read("in0", (of_var(K),))


def test_bound_variables_are_new_and_free_ones_stay() -> None:
    x = t.fold("sum", K, size("n"), t.Read("in0", (of_var(K), of_var(ROW))))
    made = t.refresh(x)
    assert isinstance(made, t.Fold) and made.var != K
    assert made.body == t.Read("in0", (of_var(made.var), of_var(ROW)))


def test_a_variable_that_is_free_at_one_place_and_bound_at_another() -> None:
    made = t.refresh(t.Apply("add", (ELEMENT, t.fold("sum", K, size("n"), ELEMENT))))
    assert isinstance(made, t.Apply) and made.args[0] == ELEMENT and t.free_symbols(made) >= {K}


def test_bound_variables_in_comparisons_of_reals_are_new() -> None:
    total = t.fold("sum", K, size("n"), ELEMENT)
    made = t.refresh(t.select(t.RealCompare("<", total, t.ONE), t.ONE, t.ZERO))
    assert all(y.var != K for y in subterms(made) if isinstance(y, t.Fold))


def test_what_is_shared_stays_shared() -> None:
    """A term of 2 ** 60 paths and 61 parts takes 61 steps."""
    x: t.Term = t.fold("sum", K, size("n"), ELEMENT)
    for _ in range(60):
        x = t.Apply("add", (x, x))
    assert len(list(subterms(t.refresh(x)))) == len(list(subterms(x)))
