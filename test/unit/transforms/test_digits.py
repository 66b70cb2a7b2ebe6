# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Flattened axes: the digits of an index, and values and folds over them."""

from __future__ import annotations

from typing import Any

import numpy as np
from audit import cases
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import DictionaryAttr
from xdsl.dialects.func import FuncOp

from axon_mlir.dialects.tile import ForOp
from axon_mlir.frontend.numpy_trace import trace
from axon_mlir.host.registry import make_context
from axon_mlir.semantics import terms as t
from axon_mlir.semantics.digits import digits_of, folds_in_digits
from axon_mlir.semantics.domains import Field
from axon_mlir.semantics.evaluate import evaluate_comprehension
from axon_mlir.semantics.index import Index, Var, const, of_var, size
from axon_mlir.semantics.walk import subterms
from axon_mlir.smt.equivalence import prove_functions
from axon_mlir.transforms.tiling.digits import axes_in_digits, flat, in_digits, rows_of
from axon_mlir.transforms.tiling.program import Computation, analyse
from axon_mlir.transforms.tiling.tile_symbolic import TileSymbolic

A, B, C = size("A"), size("B"), size("C")
FLAT = Var("i")
SIZES = st.fixed_dictionaries({"A": st.integers(1, 4), "B": st.integers(1, 4), "C": st.integers(1, 4)})


def flattened(*shape: Index) -> t.Comprehension:
    """A tensor as one row, and where each element lies in it."""
    rest, indices = of_var(FLAT), list[Index]()
    for n in reversed(shape[1:]):
        indices.insert(0, rest % n)
        rest = rest // n
    total = const(1)
    for n in shape:
        total = total * n
    body = t.Apply("add", (t.Read("x", (rest, *indices)), t.Read("y", (of_var(FLAT),))))
    return t.Comprehension((total,), (FLAT,), body)


def evaluated(x: t.Comprehension, sizes: dict[str, int]) -> Any:
    total = sizes["A"] * sizes["B"] * sizes["C"]
    arrays = {"x": np.arange(total).reshape(*sizes.values()), "y": 7 * np.arange(total)}
    return evaluate_comprehension(x, arrays, sizes, Field())


@settings(max_examples=cases(30, 300))
@given(SIZES)
def test_a_value_over_digits(sizes: dict[str, int]) -> None:
    value = flattened(A, B, C)
    axes = axes_in_digits(value)
    made = in_digits(value, axes)
    assert made.shape == (A, B, C)
    assert t.Read("x", tuple(map(of_var, made.variables))) in set(subterms(made.body))
    whole = evaluated(value, sizes)
    np.testing.assert_array_equal(evaluated(made, sizes).reshape(-1), whole)
    total = t.fold("sum", FLAT, value.shape[0], value.body)
    again = flat(value, axes, made)
    np.testing.assert_array_equal(evaluated(again, sizes), whole)
    for x in (total, folds_in_digits(total)):
        assert evaluated(t.Comprehension((), (), x), sizes) == whole.sum()
    row, (origin,) = rows_of(value, axes)
    (digits,) = axes.values()
    assert row.shape == (C,) and origin + of_var(row.variables[0]) == digits.whole
    assert [n for _, n in digits.outer] == [A, B]


def test_what_is_left_alone() -> None:
    i = of_var(FLAT)
    for n, index in ((A * B, (i + 1) // B), (A * B + 1, i // B), (A, i), (A * B, i // (B + of_var(Var("j"))))):
        assert digits_of(FLAT, n, t.Read("x", (index,))) is None
    # A fold whose range ends with the index.
    scan = t.fold("sum", Var("k"), i + 1, t.Read("x", (i // B,)))
    assert digits_of(FLAT, A * B, scan) is None
    # A quotient that is always zero.
    found = digits_of(FLAT, A * B, t.Read("x", (i // B // A, i)))
    assert found is not None and found.term(t.Read("x", (i // B // A, i)), FLAT) == t.Read("x", (const(0), found.whole))


def computations(function: Any, *specs: str) -> list[Computation]:
    func = next(op for op in trace(function, specs).walk() if isinstance(op, FuncOp))
    return analyse(func).computations


def test_a_flattened_matrix_is_computed_as_it_is() -> None:
    computed, row = computations(lambda x: np.exp(x.reshape(-1)), "f32[M,N]")
    assert len(computed.dims) == 2 and not computed.single
    assert len(row.dims) == 1 and len(row.around) == 1 and row.single == {d for _, d in row.around}


def test_of_two_factors_the_longer_dimension_is_taken_in_a_row() -> None:
    *_, product = computations(lambda x, w: np.repeat(x, 2, axis=1) @ w, "f32[M,K]", "f32[D,N]")
    assert product.single == {product.fold_dims[1][1]}
    *_, product = computations(lambda x, w: x.reshape(x.shape[0], -1) @ w, "f32[M,K,64]", "f32[D,N]")
    assert product.single == {product.fold_dims[0][1]}


def tiled(program: Any, *specs: str) -> tuple[FuncOp, FuncOp]:
    """The program, and its tiles."""
    module = trace(program, list(specs))
    func = next(op for op in module.walk() if isinstance(op, FuncOp))
    before = func.clone()
    TileSymbolic().apply(make_context(), module)
    return before, next(op for op in module.walk() if isinstance(op, FuncOp))


def test_of_a_factor_whose_dimensions_are_all_taken_one_at_a_time_none_is_tiled() -> None:
    """The elements of a reshaped operand lie where a quotient of two of its dimensions says."""

    def program(x: Any, y: Any) -> Any:
        return np.take(np.reshape(x, (10, 4, -1)), np.minimum(np.abs(y), 9), axis=0)

    before, after = tiled(program, "f32[10,12]", "i32[6]")
    assert prove_functions(before, after, same_domain=True).verdict == "proved"


def test_heads_are_read_where_they_lie() -> None:
    """Projections cut into heads, rotated half by half, and put together for the next projection: each head's rows are
    taken whole, however many axes of one element the reshapes went through."""

    def program(x: Any, w: Any, c: Any, o: Any) -> Any:
        heads = np.reshape(np.reshape(x @ w, (1, 7, 128)), (1, 7, -1, 32)).transpose(0, 2, 1, 3)
        turned = np.concatenate([-heads[..., 16:], heads[..., :16]], axis=-1)
        rotated = heads + turned * np.expand_dims(c, 1)
        return np.reshape(rotated.transpose(0, 2, 1, 3), (1, 7, 128)).reshape(7, 128) @ o

    before, after = tiled(program, "f32[7,48]", "f32[48,128]", "f32[1,7,32]", "f32[128,24]")
    assert prove_functions(before, after, same_domain=True).verdict == "proved"
    steps = {(op.dim.data, op.step.data) for op in after.walk() if isinstance(op, ForOp)}
    single = {dim for dim, step in steps if step == "1"}
    # One loop over the four heads: an index of all others is a row's.
    sizes = after.attributes["tile.sizes"]
    assert isinstance(sizes, DictionaryAttr)
    assert {str(sizes.data[dim]) for dim in single} == {'"4"'}


def test_rows_of_a_flattened_axis_are_written_whole_beside_a_scan() -> None:
    def program(x: Any) -> Any:
        return (np.maximum.accumulate(x.swapaxes(-1, -2), 2) / 1.5).reshape(2, 2, 5, 4).reshape(2, 10, 4)

    before, after = tiled(program, "bf16[4,4,5]")
    assert prove_functions(before, after, same_domain=True).verdict == "proved"
