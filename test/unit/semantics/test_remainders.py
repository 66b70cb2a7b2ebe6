# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values split by the remainder of an index: all their elements, each once, without the question for the remainder."""

from __future__ import annotations

import numpy as np
from audit import cases
from hypothesis import given, settings
from hypothesis import strategies as st

from axon_mlir.semantics import terms as t
from axon_mlir.semantics.domains import Field
from axon_mlir.semantics.evaluate import evaluate_comprehension
from axon_mlir.semantics.index import Index, Var, const, of_var, size
from axon_mlir.semantics.pieces import by_strides
from axon_mlir.semantics.remainders import MOST, by_remainder, divisor
from axon_mlir.semantics.walk import subterms

ROW = Var("i")


def interleaved(count: int, r: int, extent: Index) -> t.Comprehension:
    """`x[i // count]` where i leaves the remainder r, `y[i]` elsewhere."""
    i = of_var(ROW)
    body = t.select(t.equal(i % count, const(r)), t.Read("x", (i // count,)), t.Read("y", (i,)))
    return t.Comprehension((extent,), (ROW,), body)


@settings(max_examples=cases(40, 400))
@given(st.integers(2, 5), st.integers(2, 3), st.integers(0, 4), st.integers(0, 2), st.integers(1, 13))
def test_every_element_once(c: int, d: int, r: int, s: int, n: int) -> None:
    a, b = interleaved(c, r % c, size("N")), interleaved(d, s % d, size("N"))
    arrays = {"x": np.arange(100, 120), "y": np.arange(20)}
    whole = [evaluate_comprehension(v, arrays, {"N": n}, Field()) for v in (a, b)]
    pairs = list(by_remainder(a, b))
    count = len(pairs)
    assert count % c == 0 and count % d == 0
    for k, pair in enumerate(pairs):
        for part, full in zip(pair, whole, strict=True):
            np.testing.assert_array_equal(evaluate_comprehension(part, arrays, {"N": n}, Field()), full[k::count])
            assert divisor(part.body, part.variables[0]) == 1


@settings(max_examples=cases(40, 400))
@given(st.integers(2, 5), st.integers(0, 4), st.integers(1, 13))
def test_a_sum_in_rows_of_all_remainders(c: int, r: int, n: int) -> None:
    value = interleaved(c, r % c, size("N"))
    (v,) = value.variables
    arrays = {"x": np.arange(100, 120), "y": np.arange(20)}
    whole, rows = t.fold("sum", v, size("N"), value.body), by_strides(v, size("N"), value.body, c)
    one, other = (evaluate_comprehension(t.Comprehension((), (), x), arrays, {"N": n}, Field()) for x in (whole, rows))
    assert one == other
    assert all(divisor(x.body, x.var) == 1 for x in subterms(rows) if isinstance(x, t.Fold))


def test_what_is_left_alone() -> None:
    plain = t.Comprehension((size("N"),), (ROW,), t.Read("x", (of_var(ROW) // 2,)))
    assert list(by_remainder(plain, plain)) == [(plain, plain)]
    many = interleaved(MOST + 1, 0, size("N"))
    assert list(by_remainder(many, many)) == [(many, many)]
    a, b = interleaved(2, 0, size("N")), interleaved(2, 0, size("M"))
    assert list(by_remainder(a, b)) == [(a, b)]
