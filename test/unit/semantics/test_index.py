# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Index terms: canonical arithmetic agrees with integers, and the text form reads back."""

from __future__ import annotations

import math
import pickle
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from audit import cases
from hypothesis import given, settings
from hypothesis import strategies as st

from axon_mlir.semantics.index import (
    Index,
    Size,
    Var,
    ceil_div,
    const,
    evaluate,
    floor_div,
    fresh_var,
    maximum,
    minimum,
    nonnegative,
    of_var,
    parse,
    size,
)

K, M, N = size("K"), size("M"), size("N")
V, W = Var("i"), Var("j")
SYMBOLS: tuple[Size | Var, ...] = (Size("K"), Size("M"), Size("N"), V, W)

Formula = tuple[Any, ...]
"""An expression as a tree: a symbol, a number, or (operator, operands...)."""

_leaves = st.sampled_from([("symbol", s) for s in SYMBOLS]) | st.integers(-9, 9).map(lambda n: ("number", n))
_divisors = st.sampled_from([("symbol", s) for s in SYMBOLS[:3]]) | st.integers(1, 9).map(lambda n: ("number", n))


def _larger(inner: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
    return (
        st.tuples(st.sampled_from(["+", "-", "*"]), inner, inner)
        | st.tuples(st.sampled_from(["//", "%", "ceil"]), inner, _divisors)
        | st.tuples(st.sampled_from(["min", "max"]), inner, inner)
        | st.tuples(st.sampled_from(["min", "max"]), inner, inner, inner)
    )


FORMULAS = st.recursive(_leaves, _larger, max_leaves=8)
ENVIRONMENTS = st.fixed_dictionaries(
    {s: st.integers(1, 60) if isinstance(s, Size) else st.integers(-20, 60) for s in SYMBOLS}
)


def term_of(formula: Formula) -> Index:
    match formula:
        case ("symbol", Size() as s):
            return size(s.name)
        case ("symbol", v):
            return of_var(v)
        case ("number", n):
            return const(n)
        case (op, *parts):
            args = [term_of(p) for p in parts]
            if op in ("min", "max"):
                return minimum(*args) if op == "min" else maximum(*args)
            a, b = args
            return {
                "+": lambda: a + b,
                "-": lambda: a - b,
                "*": lambda: a * b,
                "//": lambda: a // b,
                "%": lambda: a % b,
                "ceil": lambda: ceil_div(a, b),
            }[op]()
        case _:
            raise AssertionError(formula)


def value_of(formula: Formula, env: Mapping[Size | Var, int]) -> int:
    match formula:
        case ("symbol", s):
            return env[s]
        case ("number", n):
            return n
        case (op, *parts):
            args = [value_of(p, env) for p in parts]
            if op in ("min", "max"):
                return min(args) if op == "min" else max(args)
            a, b = args
            return {
                "+": lambda: a + b,
                "-": lambda: a - b,
                "*": lambda: a * b,
                "//": lambda: a // b,
                "%": lambda: a % b,
                "ceil": lambda: math.ceil(a / b),
            }[op]()
        case _:
            raise AssertionError(formula)


@settings(max_examples=cases(400, 8000))
@given(FORMULAS, ENVIRONMENTS)
def test_arithmetic_is_that_of_integers(formula: Formula, env: Mapping[Size | Var, int]) -> None:
    assert evaluate(term_of(formula), env) == value_of(formula, env)


@settings(max_examples=cases(300, 6000))
@given(FORMULAS, FORMULAS, st.lists(ENVIRONMENTS, min_size=3, max_size=3))
def test_equal_terms_have_equal_values(a: Formula, b: Formula, envs: list[Mapping[Size | Var, int]]) -> None:
    x, y = term_of(a), term_of(b)
    if x == y:
        assert hash(x) == hash(y)
        assert all(value_of(a, e) == value_of(b, e) for e in envs)
    if any(value_of(a, e) != value_of(b, e) for e in envs):
        assert x != y
        assert x - y != 0


@settings(max_examples=cases(300, 6000))
@given(FORMULAS, ENVIRONMENTS)
def test_the_text_reads_back(formula: Formula, env: Mapping[Size | Var, int]) -> None:
    term = term_of(formula)
    names = {str(s): s for s in SYMBOLS}
    again = parse(str(term), lambda n: size(n) if isinstance(names[n], Size) else of_var(names[n]))
    assert evaluate(again, env) == evaluate(term, env)
    assert str(again) == str(term)


@settings(max_examples=cases(200, 3000))
@given(FORMULAS, FORMULAS, ENVIRONMENTS)
def test_substitution_commutes_with_evaluation(a: Formula, b: Formula, env: Mapping[Size | Var, int]) -> None:
    x, y = term_of(a), term_of(b)
    inner = int(evaluate(y, env))
    assert evaluate(x.substitute({V: y}), env) == evaluate(x, {**env, V: inner})
    assert x.substitute({V: y}).symbols() <= (x.symbols() - {V}) | y.symbols()


@settings(max_examples=cases(200, 3000))
@given(FORMULAS, ENVIRONMENTS)
def test_signs_and_coefficients(formula: Formula, env: Mapping[Size | Var, int]) -> None:
    term = term_of(formula)
    if nonnegative(term):
        assert evaluate(term, env) >= 0
    found = term.coefficient(V)
    if found is not None:
        assert V not in found.symbols()
        rest = term - found * of_var(V)
        assert V not in rest.symbols()
        assert evaluate(found * of_var(V) + rest, env) == evaluate(term, env)


@settings(max_examples=cases(100, 1000))
@given(st.permutations([K, M + 3, N - of_var(V), const(7)]))
def test_minima_do_not_depend_on_order(parts: list[Index]) -> None:
    assert minimum(*parts) is minimum(K, M + 3, N - of_var(V), 7)
    assert maximum(*parts) is maximum(K, M + 3, N - of_var(V), 7)
    assert minimum(minimum(*parts[:2]), *parts[2:]) is minimum(*parts)


def test_arrays_evaluate_elementwise() -> None:
    term = minimum(of_var(V) * 3, K) + of_var(V) // 2
    got = evaluate(term, {V: np.arange(9), Size("K"): 10})
    np.testing.assert_array_equal(got, [min(3 * i, 10) + i // 2 for i in range(9)])


def test_positions_cancel() -> None:
    i = of_var(V)
    assert M + (i - M) is i
    assert (K * i + 5) // K == i + 5 // K
    assert (128 * i) // 128 is i
    assert (6 * i + 7) // 3 == 2 * i + 2
    assert i % 4 == i - 4 * (i // 4)
    assert ceil_div(M, 1) is M
    assert floor_div(M * K, M) is K
    assert minimum(5, K + 5, M) == minimum(5, M)
    assert minimum(M, M + K) is M
    assert maximum(M, M + K) is M + K
    assert minimum(K, M) - K == minimum(0, M - K)


def test_interning_and_pickling() -> None:
    assert (K + M) * 2 is 2 * M + 2 * K
    assert pickle.loads(pickle.dumps(minimum(K, M) // 3)) is minimum(K, M) // 3
    assert fresh_var("a") != fresh_var("a")
    assert K != M
    assert K == size("K")
    assert const(3) == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("M +", "unexpected 'end'"),
        ("min(M, ", "unexpected 'end'"),
        ("(M", r"expected '\)', found 'the end'"),
        ("M K", "found 'K'"),
        ("ceildiv(M)", "ceildiv takes two arguments"),
        ("M $ K", "is not an index expression"),
        ("M // 0", "divides by 0; a divisor is positive"),
        ("4 % 0", "divides by 0"),
        ("ceildiv(M, 0 - 2)", "divides by -2"),
        ("", "unexpected 'end'"),
    ],
)
def test_malformed_text(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse(text)


def test_a_wrong_rule_would_be_noticed() -> None:
    """The property above tells truncating division from floor division."""
    formula = ("//", ("symbol", V), ("number", 2))
    assert any(int(i / 2) != value_of(formula, {V: i}) for i in range(-20, 60))


_SUMS = st.dictionaries(
    st.lists(st.sampled_from([Size("K"), Size("M"), Size("N")]), max_size=3).map(lambda m: tuple(sorted(m, key=str))),
    st.integers(1, 4),
    min_size=1,
    max_size=3,
).map(Index)
"""Sums of products of sizes, from 1 on."""


@settings(max_examples=cases(200, 5000))
@given(_SUMS, _SUMS, _SUMS, ENVIRONMENTS)
def test_multiples_of_a_sum_of_sizes_leave_a_division(
    d: Index, p: Index, q: Index, env: Mapping[Size | Var, int]
) -> None:
    assert floor_div(d * q, d) == q
    assert floor_div(d * (q - p) * of_var(V), d) == (q - p) * of_var(V)
    n = of_var(W) + d * q * of_var(V) - p
    assert evaluate(floor_div(n, d), env) == evaluate(n, env) // evaluate(d, env)


def test_what_is_no_multiple_of_a_sum_stays() -> None:
    d = K + 2
    assert str(floor_div(of_var(V) + 3 * d, d)) == "3 + ((i) // (2 + K))"
    for n in (K, K + 1, 2 * K + 3, K * K, of_var(V)):
        assert floor_div(n, d) * d != n
    assert floor_div(K * K - 4, d) == K - 2
