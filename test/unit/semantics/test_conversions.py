# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What integer types do to values: which conversions lose nothing, which terms are integers, what is rounded."""

from __future__ import annotations

import pytest

from axon_mlir.semantics import terms as t
from axon_mlir.semantics.conversions import erased, is_conversion
from axon_mlir.semantics.denotation import Denoter, is_whole
from axon_mlir.semantics.index import const
from axon_mlir.semantics.meaning import parse_op

X = t.Read("x", ())


@pytest.mark.parametrize(
    ("source", "target", "kept"),
    [
        ("i1", "i32", True),
        ("i1", "ui8", True),
        ("i8", "i32", True),
        ("ui8", "i16", True),
        ("i32", "f32", True),
        ("f32", "bf16", True),
        ("ui8", "i8", False),
        ("i8", "ui8", False),
        ("i8", "ui32", False),
        ("i32", "i8", False),
        ("i8", "i1", False),
        ("f32", "i32", False),
        (None, "i32", False),
    ],
)
def test_conversions_that_lose_nothing(source: str | None, target: str, kept: bool) -> None:
    made = erased(X, source, target)
    assert (made is X) == kept
    assert kept or (isinstance(made, t.Apply) and is_conversion(made.function))


@pytest.mark.parametrize(
    ("element", "whole"),
    [
        ("n[i] * 3 - i", True),
        ("sum(k < K: if x[k] < n[k] then n[k] else 2)", True),
        ("max(round(x[i]), n[i])", True),
        ("less(x[i], n[i])", True),
        ("floor(x[i])", True),
        ("x[i]", False),
        ("n[i] / 2", False),
        ("n[i] * 0.5", False),
        ("if x[i] < n[i] then n[i] else x[i]", False),
        ("sum(k < K: x[k])", False),
    ],
)
def test_integers_by_form(element: str, whole: bool) -> None:
    meaning = parse_op(f"op f(x[K], n[K]) -> c[K] {{ c[i] = {element} }}")
    (value,) = meaning.denote([t.tensor_input("x", [const(3)]), t.tensor_input("n", [const(3)])], {})
    assert is_whole(value.body, {"n"}) == whole
    walk = Denoter(integers={"n"})
    assert walk.stored(value, "f32").body is value.body
    stored = walk.stored(value, "i32").body
    assert stored is (value.body if whole else t.Apply("round", (value.body,)))
