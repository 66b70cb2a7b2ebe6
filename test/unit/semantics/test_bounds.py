# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lower bounds of index terms: never above what the term is, and tight enough for slices."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from axon_mlir.semantics.bounds import at_least, nonnegative
from axon_mlir.semantics.index import Index, Size, const, evaluate, maximum, minimum, size

M, N = size("M"), size("N")


def terms() -> st.SearchStrategy[Index]:
    leaves = st.sampled_from([M, N, const(0), const(3), const(-2), 2 * M])

    def larger(inner: st.SearchStrategy[Index]) -> st.SearchStrategy[Index]:
        pairs = st.tuples(inner, inner)
        return st.one_of(
            pairs.map(lambda p: p[0] + p[1]),
            pairs.map(lambda p: p[0] - p[1]),
            pairs.map(lambda p: minimum(*p)),
            pairs.map(lambda p: maximum(*p)),
            inner.map(lambda x: x // 3),
            inner.map(lambda x: x * M),
            inner.map(lambda x: x // 3 * N),
        )

    return st.recursive(leaves, larger, max_leaves=5)


@given(terms(), st.integers(-6, 6))
def test_what_is_said_holds(term: Index, bound: int) -> None:
    if at_least(term, bound):
        for m, n in product(range(1, 9), repeat=2):
            assert int(evaluate(term, {Size("M"): m, Size("N"): n})) >= bound, (term, m, n)


def test_bounds_of_slices_are_in_order() -> None:
    low, high = minimum(22, M), minimum(45, M)
    assert nonnegative(high - low) and nonnegative(M - high) and nonnegative(low - 1)
    assert not nonnegative(low - high) and not nonnegative(M - 2)
    assert nonnegative(M - M // 2) and not nonnegative(M // 2 - 1)
    assert nonnegative(M - maximum(0, M - 24)) and nonnegative(minimum(5, maximum(1, N)) - 1)


def test_products_are_bounded_by_their_factors() -> None:
    """The joints of a concatenation of rows that are taken in steps."""
    whole = N * ((M + 1) // 2)
    assert nonnegative(whole) and nonnegative(2 * whole - whole) and at_least(whole, 1)
    assert nonnegative(N * minimum(M, 3) - N) and nonnegative(M * N - N * (M // 2))
    assert nonnegative(M * N - N) and not nonnegative(M * N - 2 * N)
    assert not nonnegative(whole - M * N) and not nonnegative(N * (M // 2) - 1)
