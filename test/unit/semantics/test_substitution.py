# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is put in place of a variable stays free, and no variable is bound inside itself."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from axon_mlir.semantics import terms as t
from axon_mlir.semantics.index import Index, Size, Var, const, evaluate, of_var, size
from axon_mlir.semantics.walk import bound_twice

P, Q, R = (Var(name) for name in "pqr")
N = size("n")
MATRIX = {(row, column): 3 ** (4 * row + column) for row in range(4) for column in range(4)}
"""Numbers of which different sums are different."""


def value(x: t.Term, where: dict[Size | Var, int]) -> int:
    """The number that a term of elements of `MATRIX`, sums and sums of two is."""
    match x:
        case t.Read(_, (row, column)):
            return MATRIX[evaluate(row, where) % 4, evaluate(column, where) % 4]
        case t.Apply("add", (a, b)):
            return value(a, where) + value(b, where)
        case t.Fold("sum", v, n, body):
            return sum(value(body, {**where, v: k}) for k in range(evaluate(n, where)))
        case _:
            raise AssertionError(x)


def element(row: Index, column: Index) -> t.Term:
    return t.Read("in0", (row, column))


indices = st.sampled_from([of_var(P), of_var(Q), of_var(R), const(1), of_var(P) + of_var(R)])
terms = st.recursive(
    st.builds(element, indices, indices),
    lambda inner: st.one_of(
        st.builds(lambda a, b: t.Apply("add", (a, b)), inner, inner),
        st.builds(lambda v, n, body: t.Fold("sum", v, n, body), st.sampled_from([P, Q, R]), indices, inner),
    ),
    max_leaves=6,
)
bindings = st.dictionaries(st.sampled_from([P, Q, R]), indices, min_size=1)
places = st.fixed_dictionaries({v: st.integers(0, 3) for v in (P, Q, R)})


@given(terms, bindings, places)
def test_a_term_at_other_places(x: t.Term, binding: dict[Size | Var, Index], where: dict[Size | Var, int]) -> None:
    there = {**where, **{v: evaluate(i, where) for v, i in binding.items()}}
    assert value(t.substitute(x, binding), where) == value(x, there)


def test_a_variable_that_a_fold_binds_is_not_caught() -> None:
    row = t.Fold("sum", R, N, element(of_var(P), of_var(R)))
    moved = t.substitute(row, {P: of_var(R)})
    assert isinstance(moved, t.Fold) and moved.var != R and R in t.free_symbols(moved)
    assert t.substitute(row, {P: of_var(Q)}) == t.Fold("sum", R, N, element(of_var(Q), of_var(R)))


def test_folds_may_share_a_variable_beside_each_other_only() -> None:
    row = t.Fold("sum", R, N, element(of_var(P), of_var(R)))
    assert bound_twice(t.Apply("mul", (row, t.substitute(row, {P: const(0)})))) is None
    assert bound_twice(t.Fold("sum", R, N, t.Apply("exp", (row,)))) == R
    compared = t.select(t.RealCompare("<", row, t.ONE), t.ONE, t.ZERO)
    assert bound_twice(t.Fold("max", Q, N, compared)) is None
    assert bound_twice(t.Fold("max", R, N, compared)) == R
