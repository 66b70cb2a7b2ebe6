# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Expressions of kernels have the value of the terms they are printed from."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from axon_mlir.errors import AxonError
from axon_mlir.printer_nki.expressions import index_text, scalar_text
from axon_mlir.printer_nki.names import Names
from axon_mlir.semantics import terms as t
from axon_mlir.semantics.index import Index, Size, const, evaluate, maximum, minimum, parse, size
from axon_mlir.semantics.meaning import parse_scalar

NAMES = ("K", "M", "k", "kh")

leaves = st.one_of(st.integers(-300, 300).map(const), st.sampled_from(NAMES).map(size))


def grow(inner: st.SearchStrategy[Index]) -> st.SearchStrategy[Index]:
    pairs = st.tuples(inner, inner)
    return st.one_of(
        pairs.map(lambda p: p[0] + p[1]),
        pairs.map(lambda p: p[0] - p[1]),
        pairs.map(lambda p: p[0] * p[1]),
        pairs.map(lambda p: minimum(p[0], p[1])),
        pairs.map(lambda p: maximum(p[0], p[1])),
        st.tuples(inner, st.integers(1, 128)).map(lambda p: p[0] // p[1]),
        st.tuples(inner, st.sampled_from(NAMES)).map(lambda p: p[0] // size(p[1])),
    )


@given(st.recursive(leaves, grow, max_leaves=8), st.tuples(*(st.integers(1, 700) for _ in NAMES)))
def test_indices(term: Index, values: tuple[int, ...]) -> None:
    env = dict(zip(NAMES, values, strict=True))
    assert eval(index_text(term), {}, dict(env)) == evaluate(term, {Size(k): v for k, v in env.items()})


@pytest.mark.parametrize(
    ("term", "text"),
    [
        ("min(128, M - m)", "min(128, M - m)"),
        ("ceildiv(K, 128)", "(K + 127) // 128"),
        ("K - 1", "K - 1"),
        ("128 * (m // 128)", "128 * (m // 128)"),
        ("2 * S * H", "2 * H * S"),
    ],
)
def test_indices_read_well(term: str, text: str) -> None:
    assert index_text(parse(term)) == text


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("0", "0.0"),
        ("1e-5", "1e-05"),
        ("1 / 100000", "1e-05"),
        ("1 / 3", "1 / 3"),
        ("1 / K", "1 / K"),
        ("2 * pi() - 6.28125", "2 * math.pi - 6.28125"),
        ("-pi()", "-math.pi"),
        ("1 / (2 * pi())", "1 / (2 * math.pi)"),
        ("1 / (K - 1)", "1 / (K - 1)"),
        ("-(K + 1)", "-(K + 1)"),
        ("-0.5", "-0.5"),
        ("2 / (3 / K)", "2 / (3 / K)"),
        ("(1 / K) * 0.5", "1 / K * 0.5"),
        ("1 - (K - M)", "1 - (K - M)"),
        ("-inf", 'float("-inf")'),
        ("reciprocal(K)", "1 / K"),
        ("rsqrt(K)", "K ** -0.5"),
    ],
)
def test_scalars(expression: str, text: str) -> None:
    assert scalar_text(parse_scalar(expression, lambda name: t.index_value(size(name)))) == text


def test_a_whole_number_stays_one_where_integers_are_stored() -> None:
    assert scalar_text(t.Const(Fraction(3)), integer=True) == "3"


def test_what_a_kernel_cannot_compute_is_refused() -> None:
    with pytest.raises(AxonError, match="cannot be written in a kernel"):
        scalar_text(parse_scalar("exp(K)", lambda name: t.index_value(size(name))))


def test_names() -> None:
    names = Names()
    assert [names.take(w) for w in ("x", "x", "x0", "x0", "nl", "for", "1a", "a.b")] == [
        "x",
        "x2",
        "x0",
        "x0_2",
        "nl2",
        "v_for",
        "v_1a",
        "a_b",
    ]
    with names.scope():
        assert names.take("k") == "k"
    with names.scope():
        assert names.take("k") == "k"
        assert names.take("x") == "x3"
