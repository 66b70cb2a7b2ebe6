# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Positions that the program counts out are slices, at all sizes; positions that are data are searched for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.func import FuncOp

from axon_mlir.errors import AxonError
from axon_mlir.frontend.numpy_trace import trace
from axon_mlir.semantics.domains import Float64
from axon_mlir.semantics.interpret import evaluate_function

SEARCHES = ("tensor_hl.gather", "tensor_hl.scatter")


def compare(function: Callable[..., Any], traced_at: int, *sizes: int) -> str:
    """Trace a program of one square at one size, and compare with NumPy at others; the traced text."""
    module = trace(function, [f"f32[{traced_at},{traced_at}]"])
    (traced,) = module.body.block.ops
    assert isinstance(traced, FuncOp)
    for n in sizes:
        x = np.random.default_rng(n).normal(size=(n, n))
        (got,) = evaluate_function(traced, [x], Float64())
        np.testing.assert_allclose(got, function(x), rtol=1e-12)
    return str(module)


def evens_first(x):
    n = x.shape[0]
    return x[np.concatenate([np.arange(0, n, 2), np.arange(1, n, 2)])]


def evens_back(x):
    n = x.shape[0]
    y = np.empty_like(x)
    y[np.concatenate([np.arange(0, n, 2), np.arange(1, n, 2)])] = x
    return y


def halves_turned(x):
    n = x.shape[0]
    h = n // 2
    p = np.zeros((n, n))
    p[np.arange(h), np.arange(h) + h] = -1
    p[np.arange(h) + h, np.arange(h)] = 1
    return p @ x


def diagonal(x):
    i = np.arange(len(x))
    y = x + 1
    y[i, i] = 2 * x[i, i]
    return y


def backwards(x):
    return x[:, x.shape[1] - 1 - np.arange(x.shape[1])]


@pytest.mark.parametrize("program", [evens_first, evens_back, halves_turned, diagonal, backwards])
def test_counted_positions_are_slices(program: Callable[..., Any]) -> None:
    text = compare(program, 6, 2, 4, 6, 8)
    assert not any(name in text for name in SEARCHES[1:])
    assert program is diagonal or SEARCHES[0] not in text
    assert "fixed = []" in text


@settings(max_examples=80, deadline=None)
@given(st.lists(st.integers(-5, 4), min_size=1, max_size=7), st.booleans())
def test_numbers_as_positions(positions: list[int], array: bool) -> None:
    key: Any = np.array(positions) if array else positions

    def program(x):
        y = x[key] + 1
        z = 2 * x
        z[:, key] = y.T
        z[key] += 3
        return z

    text = compare(program, 5, 5)
    assert not any(name in text for name in SEARCHES)


def test_numbers_outside() -> None:
    with pytest.raises(AxonError, match="index 5 is outside an axis of size 5"):
        compare(lambda x: x[[0, 5]], 5)
    with pytest.raises(AxonError, match="index -1 is outside an axis of size 5"):
        compare(lambda x: x[[0, -6]], 5)


def test_a_named_size_is_not_assumed_to_be_large() -> None:
    assert SEARCHES[0] in str(trace(lambda x: x[[0, 3]], ["f32[N,4]"]))
