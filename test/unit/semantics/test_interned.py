# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Equal values are one object, whichever way they come about."""

from __future__ import annotations

import pickle

import pytest

from axon_mlir.semantics import terms as t
from axon_mlir.semantics.index import Div, Min, Size, Var, const, of_var, size

VALUES = (
    Size("n"),
    Var("k"),
    Var("k", 3),
    Div(size("n"), const(2)),
    Min((size("n") - 1, of_var(Var("k")))),
    t.Read("in0", (of_var(Var("k")), size("n"))),
    t.number(3),
)


def test_a_default_is_what_says_it() -> None:
    assert Var("k") is Var("k", 0) is Var("k")
    assert Var("k") is not Var("k", 1)


def test_values_of_other_classes_with_the_same_parts_differ() -> None:
    one = of_var(Var("k"))
    assert t.And((t.TRUE,)) is not t.Or((t.TRUE,))
    assert t.less(one, size("n")) is not t.at_most(one, size("n"))


@pytest.mark.parametrize("value", VALUES, ids=str)
def test_what_is_stored_and_read_again_is_the_same_object(value: object) -> None:
    assert pickle.loads(pickle.dumps(value)) is value


def test_an_index_is_equal_to_its_number_only() -> None:
    assert size("n") - size("n") == 0 and const(3) == 3
    assert const(3) != 4 and size("n") != 1
    assert pickle.loads(pickle.dumps(size("n") * 2)) is size("n") * 2
