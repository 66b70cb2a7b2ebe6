# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Assigning in place does what it does in NumPy: to the array, to what is a view of it, and to nothing else."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.func import FuncOp

from axon_mlir.frontend.numpy_trace import trace
from axon_mlir.semantics.domains import Float64
from axon_mlir.semantics.interpret import evaluate_function


def agrees(function: Callable[..., Any], *arrays: Any) -> str:
    """Trace for the arrays' shapes, and compare with NumPy; the text of the traced program."""
    arrays = tuple(np.asarray(a) for a in arrays)
    specs = [f"{'i32' if a.dtype.kind == 'i' else 'f32'}[{','.join(map(str, a.shape))}]" for a in arrays]
    module = trace(function, specs)
    (traced,) = module.body.block.ops
    assert isinstance(traced, FuncOp)
    want = function(*copy.deepcopy(arrays))
    want = want if isinstance(want, tuple) else (want,)
    for g, w in zip(evaluate_function(traced, arrays, Float64()), want, strict=True):
        assert np.shape(g) == np.shape(w)
        np.testing.assert_allclose(g, w, rtol=1e-12)
    return str(module)


RNG = np.random.default_rng(11)
X = RNG.uniform(0.5, 1.5, (4, 6))


def whole_update(x):
    y = x + 1
    z = y
    y *= 2
    y -= x
    y /= 3
    y **= 2
    return y + z


def scalars_do_not_change(x):
    total = x.sum()
    before = total
    total += 1
    return total, before


def rows_and_columns(x):
    y = np.zeros_like(x)
    y[0] = x[1]
    y[:, 2] = x[:, 0]
    y[1:3, ::2] = 7
    y[-1, -1] = x[0, 0]
    y[..., 1:2] += x[..., :1]
    return y


def through_views(x):
    y = x.copy()
    view = y.T[1:][..., None]
    view[0] = 5
    view += 1
    y[0, 2] = 9
    return y, view, y.swapaxes(0, 1)[::2]


def elements_are_no_views(x):
    y = x + 0
    first = y[0, 0]
    y[0, 0] = 3
    return y * first


def copies(x):
    y = x * 1
    z, w, v = y.copy(), y + 0, +y
    y[:] = 0
    return y, z, w, v, np.array(y)


def every_row(x):
    out = np.empty(x.shape)
    state = np.zeros(x.shape[1])
    for t in range(x.shape[0]):
        state = 0.5 * state + x[t]
        out[t] = state
    return out


def loop_over_rows(x):
    out = np.empty_like(x)
    for row, target in zip(x, out, strict=True):
        target[:] = row / row.sum()
    return out


def interleaved(x):
    out = np.empty((x.shape[0], 2 * x.shape[1]))
    out[:, 0::2] = x
    out[:, 1::2] = -x
    return out


def backwards(x):
    y = np.zeros(x.shape)
    y[::-1] = x
    y[3:0:-2, ::-2] += 1
    return y


def masked(x):
    y = x * 2
    y[y > 2] = 0
    y[x.sum(axis=1) > 6] = -1
    return y


def by_positions(x):
    y = np.zeros((5, 6))
    y[np.array([4, 0, 4, 2])] = x
    return y


def diagonal(x):
    y = np.zeros((x.shape[1], x.shape[1]))
    i = np.arange(x.shape[1])
    y[i, i] = x[0]
    h = np.arange(3)
    y[h, h + 3] = -1
    y[h + 3, h] -= 2
    return y


def update_of_positions(x):
    y = x + 1
    y[[0, 2]] *= 3
    y[:, [1, 0]] += x[:, :2]
    return y


def results_of_functions(x):
    y = x + 1
    views = [np.moveaxis(y, 0, 1), np.expand_dims(y, 0), *np.split(y, 2), np.flip(y, 1), np.einsum("ij->ji", y)]
    copies = [np.take(y, 0, axis=0), np.concatenate([y]), np.where(True, y, 0), y.flatten(), np.roll(y, 0, 0)]
    for n, part in enumerate([*views, *copies]):
        part += n
    return (y, *views, *copies)


def overlaps(x):
    y = x + 0
    y[1:] = y[:-1]
    y[:, 1:] += y[:, :-1]
    return y


def outputs(x):
    y = np.empty_like(x)
    np.multiply(x, 2, out=y)
    np.add(y[1:], 1, out=y[1:])
    return y


def list_of_values(x):
    y = np.zeros((2, 3))
    y[0] = [x[0, 0], 1, x[1, 1]]
    return y


def blocks(x):
    o = np.zeros((4, 4))
    for i in range(0, 4, 2):
        for k in range(0, 6, 4):
            o[i : i + 2] += x[i : i + 2, k : k + 4] @ x[:, k : k + 4].T
    return o


PROGRAMS = [
    whole_update, scalars_do_not_change, rows_and_columns, through_views, elements_are_no_views, copies, every_row,
    loop_over_rows, interleaved, backwards, masked, by_positions, diagonal, update_of_positions, outputs,
    results_of_functions, overlaps,
    list_of_values, blocks,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_programs(program: Callable[..., Any]) -> None:
    agrees(program, X)


def test_an_update_of_a_part_is_written_once() -> None:
    def program(x):
        y = x + 0
        y[1:] += 1
        return y

    assert agrees(program, X).count("tensor_hl.insert") == 1


def test_one_hot_is_a_choice() -> None:
    def program(x, i):
        y = np.zeros(x.shape)
        y[np.arange(len(i)), i] = 1
        return y + x

    text = agrees(program, X, np.array([3, 0, 5, 5]))
    assert "tensor_hl.scatter" not in text and "fixed = []" in text


def test_unwritten_elements_are_garbage() -> None:
    def program(x):
        y = np.empty_like(x)
        y[0] = x[0]
        return y

    (traced,) = trace(program, ["f32[4,6]"]).body.block.ops
    assert isinstance(traced, FuncOp)
    (got,) = evaluate_function(traced, [X], Float64())
    np.testing.assert_array_equal(got[0], X[0])
    assert np.all(np.isnan(got[1:]))


def test_arrays_take_the_type_of_what_is_written() -> None:
    def program(x):
        y = np.zeros(x.shape)
        y[0] = x[0]
        return y

    assert str(trace(program, ["bf16[4,6]"])).count("-> tensor<?x?xbf16") >= 1

    def rounded(x):
        y = np.zeros(x.shape, dtype=np.float16)
        y[0] = x[0]
        return y

    assert "tensor_hl.cast" in str(trace(rounded, ["f32[4,6]"]))


bounds = st.none() | st.integers(-9, 9)
keys = st.integers(-4, 3) | st.builds(slice, bounds, bounds, st.sampled_from([-3, -2, -1, None, 1, 2, 3]))


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.lists(keys, min_size=1, max_size=2), st.booleans()), min_size=1, max_size=3))
def test_any_sequence_of_assignments(writes: list[tuple[list[Any], bool]]) -> None:
    writes = [(key, update) for key, update in writes if np.empty((4, 6))[tuple(key)].size]

    def program(x):
        y = x * 1
        for key, update in writes:
            part = y[tuple(key)]
            if update:
                y[tuple(key)] += 2 * part
            else:
                y[tuple(key)] = part + x[tuple(key)]
        return y

    agrees(program, X)
