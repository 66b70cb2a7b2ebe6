# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the size table decides holds for all sizes; slices are NumPy's."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from axon_mlir.frontend.numpy_trace import trace
from axon_mlir.frontend.sizes import SizeTable
from axon_mlir.semantics.domains import Float64
from axon_mlir.semantics.index import Index, Size, const, evaluate, maximum, minimum, size
from axon_mlir.semantics.interpret import argument_shapes, evaluate_function

M, N = Size("M"), Size("N")


def terms() -> st.SearchStrategy[Index]:
    leaves = st.sampled_from([size("M"), size("N")]) | st.integers(-4, 4).map(const)
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.tuples(inner, inner).map(lambda p: p[0] + p[1]),
            st.tuples(inner, inner).map(lambda p: p[0] - p[1]),
            st.tuples(inner, inner).map(lambda p: p[0] * p[1]),
            st.tuples(inner, st.integers(1, 4)).map(lambda p: p[0] // p[1]),
            st.tuples(inner, inner).map(lambda p: minimum(*p)),
            st.tuples(inner, inner).map(lambda p: maximum(*p)),
        ),
        max_leaves=6,
    )


@given(terms(), st.integers(-3, 3))
def test_decisions_hold(term: Index, bound: int) -> None:
    if SizeTable().at_least(term, bound):
        for m, n in itertools.product((1, 2, 3, 4, 7, 11), repeat=2):
            assert evaluate(term, {M: m, N: n}) >= bound


def test_useful_decisions() -> None:
    table = SizeTable()
    n = size("N")
    assert table.at_least(n - n // 2, 0)
    assert table.at_least((n + 1) // 2, 1)
    assert table.at_least(n - minimum(n, const(3)), 0)
    assert table.at_least(minimum(n, const(3)), 1)
    assert table.at_least(maximum(n - 5, const(0)), 0)
    assert not table.at_least(n - 2, 0)


bounds = st.none() | st.integers(-9, 9)


@given(st.integers(2, 9), bounds, bounds, st.integers(1, 3))
def test_slices_at_every_size(traced_at: int, start: int | None, stop: int | None, step: int) -> None:
    if np.empty(traced_at)[start:stop:step].size == 0:
        return
    module = trace(lambda x: x[start:stop:step], [f"f32[{traced_at}]"])
    (function,) = module.body.block.ops
    ((extent,),) = argument_shapes(function)  # pyright: ignore
    least = evaluate(extent, dict.fromkeys(extent.symbols(), 1))
    assert least <= traced_at
    for n in range(int(least), 13):
        want = np.arange(n, dtype=float)[start:stop:step]
        if want.size:
            (got,) = evaluate_function(function, [np.arange(n, dtype=float)], Float64())  # pyright: ignore
            np.testing.assert_array_equal(got, want)


def test_unification_binds_the_youngest_and_keeps_names() -> None:
    table = SizeTable()
    name = table.named("K")
    first, second = table.fresh("x0", 8), table.fresh("y0", 8)
    table.unify(first, second, "test")
    assert table.resolve(second) == first
    table.unify(first, name, "test")
    assert table.resolve(second) == name
    assert table.generic() == ["K"]
    assert table.values() == {"K": 8}


def test_products_are_bound_whole() -> None:
    table = SizeTable()
    g, r = table.named("G"), table.named("R")
    x = table.fresh("x0", 12)
    table.unify(x, g * r, "test")
    assert table.resolve(x + 1) == g * r + 1
