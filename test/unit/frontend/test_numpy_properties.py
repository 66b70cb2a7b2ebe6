# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""NumPy's functions over random shapes, axes, keys and keepdims: the traced program computes what NumPy computes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from xdsl.dialects.func import FuncOp

from axon_mlir.errors import AxonError
from axon_mlir.frontend.numpy_trace import trace
from axon_mlir.semantics.domains import Float64
from axon_mlir.semantics.interpret import evaluate_function

shapes = st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple)
seeds = st.integers(0, 9)


def array(shape: tuple[int, ...], seed: int) -> np.ndarray[Any, Any]:
    """Values with ties, halves and both signs."""
    return np.random.default_rng(seed).integers(-5, 6, shape) / 2 + 0.0


def agrees(function: Callable[..., Any], *arrays: Any) -> None:
    """Trace for the arrays' shapes, and compare with NumPy."""
    specs = [f"{'i32' if a.dtype.kind == 'i' else 'f32'}[{','.join(map(str, a.shape))}]" for a in arrays]
    with np.errstate(all="ignore"):
        want = function(*(a.copy() for a in arrays))
        want = list(want) if isinstance(want, tuple | list) else [want]
        (traced,) = trace(_fixed(function, len(specs)), specs).body.block.ops
        assert isinstance(traced, FuncOp)
        got = evaluate_function(traced, arrays, Float64())
    for g, w in zip(got, want, strict=True):
        assert np.shape(g) == np.shape(w)
        np.testing.assert_allclose(g, np.asarray(w, dtype=float), rtol=1e-12)


def _fixed(function: Callable[..., Any], count: int) -> Callable[..., Any]:
    """NumPy's own functions have parameters that a spec cannot give."""
    if count == 1:
        return lambda a: function(a)
    return (lambda a, b: function(a, b)) if count == 2 else lambda a, b, c: function(a, b, c)


def axes_of(rank: int) -> st.SearchStrategy[Any]:
    several = st.lists(st.integers(0, rank - 1), min_size=1, max_size=rank, unique=True).map(tuple)
    return st.none() | st.integers(-rank, rank - 1) | several


@settings(max_examples=80, deadline=None)
@given(
    st.sampled_from(["sum", "mean", "max", "min", "prod", "var", "std", "any", "all"]),
    shapes,
    seeds,
    st.booleans(),
    st.booleans(),
    st.data(),
)
def test_reductions(name: str, shape: Any, seed: int, keepdims: bool, method: bool, data: st.DataObject) -> None:
    axis = data.draw(axes_of(len(shape)))
    if method:
        agrees(lambda x: getattr(x, name)(axis=axis, keepdims=keepdims) * 1, array(shape, seed))
    else:
        agrees(lambda x: getattr(np, name)(x, axis=axis, keepdims=keepdims) * 1, array(shape, seed))


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(["argmax", "argmin"]), shapes, seeds, st.booleans(), st.data())
def test_positions_of_extremes(name: str, shape: Any, seed: int, keepdims: bool, data: st.DataObject) -> None:
    axis = data.draw(st.none() | st.integers(-len(shape), len(shape) - 1))
    agrees(lambda x: getattr(np, name)(x, axis=axis, keepdims=keepdims), array(shape, seed))


@settings(max_examples=40, deadline=None)
@given(shapes, seeds, st.sampled_from([None, 1, 2, math.inf]), st.booleans(), st.data())
def test_norms(shape: Any, seed: int, order: Any, keepdims: bool, data: st.DataObject) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    agrees(lambda x: np.linalg.norm(x, order, axis, keepdims), array(shape, seed))


@pytest.mark.parametrize(
    "function",
    [
        np.negative, np.absolute, np.square, np.sign, np.floor, np.ceil, np.trunc, np.rint, np.exp, np.tanh, np.sin,
        np.cos, np.positive, np.expm1, np.exp2,
        lambda x: np.round(x * 1.7, 1), lambda x: np.round(x * 17, -1), lambda x: x.round(),
        lambda x: np.log1p(abs(x)) + np.log2(abs(x) + 1) + np.log10(abs(x) + 1),
        lambda x: x // 0.75 + x % 0.75 - np.remainder(x, -2.0),
        lambda x: np.fmax(x, 0.5) - np.fmin(x, 1), lambda x: x.astype(int) + x.astype(np.int32) + x.astype(bool),
        lambda x: np.where((x > 0) ^ (x < 1), x, 2), lambda x: np.where(np.logical_xor(x > 0, x < 1) | (x == 0), 1, x),
        lambda x: np.clip(x, None, 1) + np.clip(x, 0, None) + x.clip(0, 1), lambda x: (x > 0).astype(float),
        lambda x: np.where(np.logical_not(x) | np.logical_and(x, x > 1), 2, 3), lambda x: ~x.astype(np.int32) + 1,
        lambda x: np.where(~(x > 0) & np.logical_or(x, 0), x, 1),
    ],
)  # fmt: skip
def test_elementwise(function: Callable[..., Any]) -> None:
    values = np.array([-7.5, -2.5, -2, -1.5, -0.5, -0.25, 0, 0.25, 0.5, 1, 1.5, 2.5, 3.5, 8])
    agrees(function, values)


@settings(max_examples=60, deadline=None)
@given(shapes, seeds, st.integers(1, 3), st.data())
def test_repetition(shape: Any, seed: int, times: int, data: st.DataObject) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    reps = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=4).map(tuple))
    x = array(shape, seed)
    agrees(lambda x: np.repeat(x, times, axis=axis), x)
    agrees(lambda x: x.repeat(times), x)
    agrees(lambda x: np.tile(x, reps), x)


@settings(max_examples=60, deadline=None)
@given(shapes, seeds, st.data())
def test_order_of_elements(shape: Any, seed: int, data: st.DataObject) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    other = data.draw(st.integers(-len(shape), len(shape) - 1))
    shift = data.draw(st.integers(-5, 5))
    width = data.draw(st.integers(0, 2))
    x = array(shape, seed)
    agrees(lambda x: np.flip(x, axis), x)
    agrees(lambda x: np.roll(x, shift, axis), x)
    agrees(lambda x: np.swapaxes(x, axis, other), x)
    agrees(lambda x: np.moveaxis(x, axis, other), x)
    agrees(lambda x: np.pad(x, [(width, 1)] * x.ndim, constant_values=2.5), x)
    if shape[axis] > 1:
        agrees(lambda x: np.diff(x, axis=axis), x)


@settings(max_examples=60, deadline=None)
@given(shapes, seeds, st.integers(1, 3), st.data())
def test_parts(shape: Any, seed: int, count: int, data: st.DataObject) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    assume(shape[axis] >= count)
    x = array(shape, seed)
    agrees(lambda x: tuple(np.array_split(x, count, axis)) if count > 1 else np.array_split(x, 1, axis)[0], x)
    agrees(lambda x: np.concatenate([2 * p for p in np.array_split(x, count, axis)], axis), x)
    if shape[axis] % count == 0:
        agrees(lambda x: np.stack(np.split(x, count, axis), axis), x)
    if shape[axis] > 2:
        agrees(lambda x: tuple(np.split(x, [1, 2], axis)), x)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 4), seeds, st.data())
def test_positions(n: int, m: int, k: int, seed: int, data: st.DataObject) -> None:
    rng = np.random.default_rng(seed)
    x = array((n, m, k), seed)
    rows, columns = rng.integers(0, n, (2, 3)), rng.integers(0, m, (3,))
    agrees(lambda x, i: x[i], x, rows)
    agrees(lambda x, i: x[:, i, None], x, columns)
    agrees(lambda x, i: x[0, i] + x[i * 0, 0, 0:1], x, columns)
    agrees(lambda x, i: x[..., 0, i * 0], x, columns)
    agrees(lambda x, i, j: x[i, j], x, rows, columns)
    agrees(lambda x, i: x[i, :, i * 0], x, rows)
    agrees(lambda x, i: x[0, :, i * 0], x, columns)
    agrees(lambda x, i: np.take(x, i, axis=1) - x.take(i, 1), x, columns)
    agrees(lambda x, i: np.take_along_axis(x, i, axis=1), x, rng.integers(0, m, (n, 2, k)))
    each = rng.integers(0, m, (n,))
    agrees(lambda x, i: x[np.arange(x.shape[0]), i], x, each)
    agrees(lambda x, i: x[np.arange(len(i)), i, 0], x, each)
    agrees(lambda x, i: x[:, np.arange(x.shape[1]), i], x, rng.integers(0, k, (m,)))
    agrees(lambda x, i: x[np.arange(x.shape[0])[:, None], i], x, rng.integers(0, m, (n, 2)))
    agrees(lambda x: x[[0, n - 1, 0]], x)
    agrees(lambda x: x[np.arange(m) * 0, np.arange(m)], x)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 3), st.integers(1, 4), st.integers(1, 3), seeds)
def test_products(n: int, k: int, m: int, seed: int) -> None:
    x, y = array((n, m, k), seed), array((k, n, m), seed + 1)
    agrees(lambda x, y: np.tensordot(x, y, 1), x, y)
    agrees(lambda x, y: np.tensordot(x, y, ([0, 2], [1, 0])), x, y)
    agrees(lambda x, y: np.tensordot(x[0, 0], y[0, 0], 0), x, y)
    agrees(lambda x: np.inner(x[0], x[-1]), x)
    agrees(lambda x: np.vdot(x, 2 * x) - np.vdot(x[0], x[0]), x)
    for text in ("ijk,kil->jl", "ijk,kij->kj", "ijk,kij->", "...k,km->m...", "ijk,kab", "ijk,kab->bki"):
        agrees(lambda x, y: np.einsum(text, x, y if "..." not in text else y[:, :, 0]), x, y)
    agrees(lambda x, y: np.einsum("ijk,kij,kj->ji", x, y[:, :, :1] + x.transpose(2, 0, 1), x[0].T), x, y)
    agrees(lambda x: np.einsum("i...->...i", x), x)


@settings(max_examples=40, deadline=None)
@given(shapes, seeds, st.sampled_from([np.add, np.multiply, np.maximum, np.minimum]), st.booleans(), st.data())
def test_folds_of_ufuncs(shape: Any, seed: int, ufunc: np.ufunc, keepdims: bool, data: st.DataObject) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    x = array(shape, seed)
    agrees(lambda x: ufunc.reduce(x, axis=axis, keepdims=keepdims) + ufunc.reduce(x).sum(), x)
    agrees(lambda x: ufunc.accumulate(x, axis) + ufunc.accumulate(x), x)
    agrees(lambda x: np.cumsum(x, axis) + x.cumprod(axis=axis) + np.cumsum(x).sum(), x)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-3, 3), min_size=1, max_size=8), st.integers(1, 3))
def test_constant_arrays(values: list[int], rank: int) -> None:
    table = np.array(values, dtype=float)
    for axis in range(1, rank):
        table = np.concatenate([table[..., None], (2 if axis == 1 else 1) * table[..., None] - 1, table[..., None]], -1)
    agrees(lambda x: x + table, np.zeros(table.shape))


@pytest.mark.parametrize(
    ("values", "pieces"),
    [
        ([0, 2, 4, 6, 1, 3, 5], 1), ([0, 0, 0, 1, 1], 1), ([5, 4, 3], 0), ([0.5, 1.5, 2.5], 2), ([1, 0, 0, 0], 1),
        ([[1, 0, 0], [1, 1, 0], [1, 1, 1]], 4), ([[1, 2, 3], [1, 2, 3]], 0), ([True, True, False], 1),
    ],
)  # fmt: skip
def test_constant_arrays_in_few_pieces(values: Any, pieces: int) -> None:
    text = str(trace(lambda x: np.where(x > 0, np.array(values), 0), [f"f32[{','.join(map(str, np.shape(values)))}]"]))
    assert text.count("tensor_hl.concat") == pieces


def test_lists_are_arrays() -> None:
    x = array((3, 4), 1)
    agrees(lambda x: np.max([x[0], x[1], x[2]], axis=0), x)
    agrees(lambda x: np.array([x[0, 0], 1.5, x[1, 1]]) + np.array([[x[0, 0]], [2]]), x)
    agrees(lambda x: np.vstack([x[0], x]) * 1, x)
    agrees(lambda x: np.hstack([x, x[:, :1]]), x)
    agrees(lambda x: np.concatenate(list(x)), x)
    agrees(lambda x: x @ np.array([1.0, 2, 4, 7]), x)


def test_sizes_stay_symbolic() -> None:
    def generic(function: Callable[..., Any], *specs: str) -> str:
        text = str(trace(function, list(specs)))
        assert "fixed = []" in text
        return text

    generic(lambda x: np.concatenate([x[x.shape[0] // 2 :], x[: x.shape[0] // 2]]) + x, "f32[6]")
    text = generic(lambda x: x[: x.shape[0] // 2] * x[x.shape[0] // 2 :], "f32[6]")
    assert 'tensor<?xf32, ["2 * x0_"]> -> tensor<?xf32, ["x0_"]>' in text
    text = generic(lambda x: np.stack(np.split(x, 2)), "f32[6]")
    assert 'tensor<?xf32, ["2 * x0_"]>' in text
    text = generic(lambda q, k: q @ np.repeat(k, q.shape[0] // k.shape[0], axis=0), "f32[6,4,5]", "f32[2,5,3]")
    assert 'times "q0_"' in text and '%q: tensor<?x?x?xf32, ["k0 * q0_",' in text
    generic(lambda x, i: x[np.arange(len(i)), i], "f32[5,7]", "i32[5]")
    generic(lambda x, y: x[-len(y) :].sum() + y, "f32[6]", "f32[2]")


def test_a_loop_over_a_named_size_is_refused_by_name() -> None:
    def over_range(x):
        return sum(x[t] for t in range(x.shape[0]))

    def over_rows(x):
        return sum(x)

    with pytest.raises(AxonError, match=r"a loop over a size \(range\), which is unrolled, needs the number of size T"):
        trace(over_range, ["f32[T,4]"])
    with pytest.raises(
        AxonError, match="a loop over the first axis of a tensor, which is unrolled, needs the number of size T"
    ) as caught:
        trace(over_rows, ["f32[T,4]"])
    assert (
        caught.value.accepted is not None
        and "an --arg with a number in place of T (the size is then fixed)" in caught.value.accepted
    )
    assert 'fixed = [{name = "x0", value = 3' in str(trace(over_range, ["f32[3,4]"]))


def test_how_a_named_size_is_made_up_is_for_the_user_to_say() -> None:
    def program(q, k):
        return q + np.repeat(k, q.shape[0] // k.shape[0])

    with pytest.raises(AxonError, match=r"cannot tell that H equals G \* \(\(H\) // \(G\)\)") as caught:
        trace(program, ["f32[H]", "f32[G]"])
    assert caught.value.accepted is not None and "an axis G*R is a multiple of G" in caught.value.accepted
    assert "fixed = []" in str(trace(program, ["f32[G*R]", "f32[G]"]))


def test_a_unit_slice_that_repeats_fixes_its_axis() -> None:
    text = str(trace(lambda x, p: x * p[:, 1:], ["f32[5,3]", "f32[5,2]"]))
    assert 'fixed = [{name = "p1", value = 2' in text
    text = str(trace(lambda x, p: sum(x * p[:, e : e + 1] for e in range(2)), ["f32[5,3]", "f32[5,2]"]))
    assert "fixed = []" in text and '%p: tensor<?x?xf32, ["x0", "1 + p1_"]>' in text


def backwards(x: Any) -> Any:
    y = np.zeros(x.shape)
    y[::-2] = x[::-2]
    return y


def test_what_a_program_names_a_position_of_has_it() -> None:
    text = str(trace(lambda x: x[5:23:2] + x[2], ["f32[33]"]))
    assert "fixed = []" in text and '%x: tensor<?xf32, ["22 + x0__"]>) -> tensor<9xf32>' in text
    assert 'least = [{name = "x0", value = 23' in text
    assert "least" not in str(trace(lambda x: x[: x.shape[0] // 2], ["f32[6]"]))
    # Where the given sizes are clamped too, so are all; a size with a name has no least number.
    assert '["min(x0, 8)"]' in str(trace(lambda x: x[:8], ["f32[6]"]))
    assert '["min(N, 8)"]' in str(trace(lambda x: x[:8], ["f32[N]"]))
    # All that there is for the given sizes.
    text = str(trace(lambda x: x[:, 0] + x[:, 1] + x[:, 2], ["f32[5,3]"]))
    assert 'fixed = [{name = "x1", value = 3' in text and "least" not in text
    assert 'fixed = [{name = "x0", value = 3' in str(trace(lambda x: x[[2, 0]], ["f32[3]"]))
    # A sum of sizes, a product of sizes.
    text = str(trace(lambda x, y: np.concatenate([x, y])[7:], ["f32[4]", "f32[5]"]))
    assert "fixed = []" in text and '["3 + x0_"]' in text and '["3 + y0__"]' in text
    assert "fixed = []" not in str(trace(lambda x: x.flatten()[7:], ["f32[4,5]"]))
    # No part is empty.
    text = str(trace(lambda x: np.array_split(x, 4)[3], ["f32[5]"]))
    assert '["3 + x0_"]' in text and 'least = [{name = "x0", value = 4' in text
    # Which elements of an axis are assigned depends on what remains of it.
    text = str(trace(backwards, ["f32[129]"]))
    assert "fixed = []" in text and '%x: tensor<?xf32, ["1 + 2 * x0_"]>' in text
    assert "fixed = []" not in str(trace(lambda x: backwards(x[::2]), ["f32[3]"]))
    # Halves of what has a least number.
    text = str(trace(lambda x, c: x[0::2] * c + x[1::2] * c, ["f32[8]", "f32[4]"]))
    assert "fixed = []" in text


def test_squeeze_of_what_is_one_for_the_numbers_given() -> None:
    x = array((2, 3), 3)
    agrees(lambda x: np.diff(x, axis=0).squeeze(0), x)
    agrees(lambda x: np.diff(x, axis=0).squeeze(), x)
    agrees(lambda x: np.squeeze(x[1:2:2], axis=-2), x)
    assert 'fixed = [{name = "x0", value = 2' in str(trace(lambda x: np.diff(x, axis=0).squeeze(0), ["f32[2,3]"]))
    with pytest.raises(AxonError, match=r"axis 0 is x0_ \(2\)"):
        trace(lambda x: np.diff(x, axis=0).squeeze(0), ["f32[3,3]"])


def test_results_have_the_types_of_the_values_returned() -> None:
    # The extent of the second slice is a bound within a bound, which an operation's type writes as one.
    agrees(lambda x: x[:-3, -1][9:], array((16, 2), 4))
    agrees(lambda x, y: (x[:-7, 4:6] @ y)[1:3, 1:], array((9, 8), 4), array((2, 5), 5))
