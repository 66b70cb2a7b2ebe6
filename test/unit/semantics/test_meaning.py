# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The meaning grammar: what is read off a text (shapes, terms, values), and what is refused and how."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from audit import cases
from hypothesis import given, settings
from hypothesis import strategies as st

from axon_mlir.semantics import terms as t
from axon_mlir.semantics.domains import Domain, Field, Float64, NotInDomain, Rationals
from axon_mlir.semantics.index import Index, Var, const, of_var, size
from axon_mlir.semantics.meaning import MeaningError, parse_op, parse_scalar

Array = np.ndarray[Any, Any]
K, M, N = size("K"), size("M"), size("N")

MATMUL = "op matmul(a[M, K], b[K, N]) -> c[M, N] { c[m, n] = sum(k < K: a[m, k] * b[k, n]) }"
TRANSPOSE = "op transpose(a[S...]) <perm: ints> -> c[S... @ perm] { c[s...] = a[s... @ inverse perm] }"
REDUCE = (
    "op reduce(a[S...]) <m: monoid, axes: ints> -> c[drop(S, axes)...] "
    "{ c[s...] = fold<m>(r... < pick(S, axes)...: a[weave(s, r, axes)...]) }"
)
CUMSUM = "op cumsum(a[M, N]) -> c[M, N] { c[m, n] = sum(q <= n: a[m, q]) }"
RESHAPE = "op reshape(a[S...]) <shape: indices> -> c[shape...] { c[i...] = a[unlinear(linear(i, shape), S)...] }"


def shapes_of(text: str, *shapes: tuple[Index, ...], **attributes: Any) -> list[tuple[Index, ...]]:
    return parse_op(text).infer(shapes, attributes)


def elements(text: str, *shapes: tuple[Index, ...], **attributes: Any) -> list[str]:
    """The results' elements as text, with index variables named by position."""
    meaning = parse_op(text)
    inputs = [t.tensor_input(o.name, s) for o, s in zip(meaning.operands, shapes, strict=True)]
    out: list[str] = []
    for value in meaning.denote(inputs, attributes):
        named = t.text(value.body)
        for n, v in enumerate(value.variables):
            named = re.sub(rf"\b{re.escape(str(v))}\b", f"i{n}", named)
        out.append(re.sub(r"\.\d+", "", named))
    return out


def test_shapes() -> None:
    assert shapes_of(MATMUL, (M, K), (K, N)) == [(M, N)]
    assert shapes_of(TRANSPOSE, (M, K, N), perm=[2, 0, 1]) == [(N, M, K)]
    assert shapes_of(REDUCE, (M, K, N), m="sum", axes=[0, 2]) == [(K,)]
    assert shapes_of(REDUCE, (M, K), m="max", axes=[0, 1]) == [()]
    assert shapes_of("op f(a[M]) -> c[2 * M + 1] { c[m] = 0 }", (K,)) == [(2 * K + 1,)]
    assert shapes_of("op f(a[B...{n}, M]) <n: int> -> c[M, B...] { c[m, b...] = a[b..., m] }", (K, M, N), n=2) == [
        (N, K, M)
    ]
    assert shapes_of(
        "op f(a[S...], b[S...]) -> c[S...], d[S...] { c[s...] = a[s...]; d[s...] = b[s...] }", (M,), (M,)
    ) == [
        (M,),
        (M,),
    ]


def test_elements() -> None:
    assert elements(MATMUL, (M, K), (K, N)) == ["sum(k < K: mul(a[i0, k], b[k, i1]))"]
    assert elements(TRANSPOSE, (M, K, N), perm=[2, 0, 1]) == ["a[i1, i2, i0]"]
    assert elements(CUMSUM, (M, N)) == ["sum(q < 1 + i1: a[i0, q])"]
    assert elements(REDUCE, (M, K), m="max", axes=[0]) == ["max(r0 < M: a[r0, i0])"]
    assert elements(RESHAPE, (M, K), shape=(K * M,)) == ["a[((i0) // (K)), i0 - K * ((i0) // (K))]"]
    assert elements("op f(x[]) <e: real> -> c[] { c = x * e + 1/2 - inf }", (), e=0.1) == [
        "sub(add(mul(x, 1/10), div(1, 2)), inf)"
    ]
    assert elements(
        "op f(a[M]) -> c[M] { c[m] = if m < 3 and not (m == 1) or m >= M - 1 then a[m] else -2 }", (K,)
    ) == ["(if ((i0 < 3) and (not (i0 == 1))) or (K - 1 <= i0) then a[i0] else -2)"]
    assert elements("op f(a[M]) -> c[M] { c[m] = if a[m] != 0 then 1e-5 else 2.5 }", (K,)) == [
        "(if not ((a[i0] == 0)) then 1/100000 else 5/2)"
    ]
    assert elements("op f(a[M]) <g: function> -> c[M] { c[m] = g(a[m]) }", (K,), g="exp") == ["exp(a[i0])"]
    assert elements("op f(a[M]) -> c[M] { c[m] = m % 4 + M / 2 }", (K,)) == [
        "add((i0 - 4 * ((i0) // (4))), div((K), 2))"
    ]


def test_a_text_of_a_term_reads_back() -> None:
    term = parse_scalar("if x < 1 then exp(-x) * 3 else max(x, 2 / 7)", lambda n: t.Read(n, ()))
    assert parse_scalar(t.text(term), lambda n: t.Read(n, ())) is term


def test_names_in_divisions_of_a_scalar_are_asked_for() -> None:
    """A count of elements in steps is an immediate of an instruction."""
    term = parse_scalar(
        "1 / ((K + 2) // 3 + n % 2)", lambda name: t.index_value(K if name == "K" else of_var(Var(name)))
    )
    assert t.text(term) == "div(1, add((((2 + K) // (3))), (n - 2 * ((n) // (2)))))"
    with pytest.raises(MeaningError, match="'x' is not a size"):
        parse_scalar("x // 2", lambda name: t.Read(name, ()))


def test_a_literal_one_is_not_a_symbol() -> None:
    text = "op f(a[M, 1]) -> c[M] { c[m] = a[m, 0] }"
    assert shapes_of(text, (K, const(1))) == [(K,)]
    with pytest.raises(MeaningError, match="axis 1 is N, but must be 1"):
        shapes_of(text, (K, N))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("op f(a[M] -> c[M] { c[m] = a[m] }", "does not parse at line 1, column 11"),
        ("op f(a[M]) -> c[M] { c[m] = sum(k < : a[k]) }", "does not parse"),
        ("op f(a[M]) <g: colour> -> c[M] { c[m] = a[m] }", "attribute 'g' has unknown kind 'colour'"),
        ("op f(a[M]) -> c[M] { d[m] = a[m] }", "one equation per result, in order"),
        ("op f(a[M]) -> c[M], d[M] { c[m] = a[m] }", "one equation per result"),
        ("op f(a[M]) -> c[M] { c[m, n] = a[m] }", "the equation of c indexes another rank"),
        ("op f(a[M]) -> c[M, M] { c[m, m] = a[m] }", "the equation of c names an index twice"),
        ("op f(a[M], a[N]) -> c[M] { c[m] = a[m] }", "two operands have one name"),
    ],
)
def test_malformed(text: str, message: str) -> None:
    with pytest.raises(MeaningError, match=message):
        parse_op(text)


@pytest.mark.parametrize(
    ("equation", "message"),
    [
        ("c[0] = a[0]", "the equation of c names no index of an axis"),
        ("c[m] = b[m]", "'b' is not an operand"),
        ("c[m] = a[m, m]", "operand a: a tensor of rank 1 read with 2 indices"),
        ("c[m] = a", "operand a: a tensor of rank 1 read with 0 indices"),
        ("c[m] = a[q]", "'q' is not a size, an index or an index attribute"),
        ("c[m] = foo(a[m])", "'foo' is not a scalar function"),
        ("c[m] = exp(a[m], 2)", "'exp' takes 1 arguments, 2 given"),
        ("c[m] = median(k < M: a[k])", "'median' is not a monoid"),
        ("c[m] = sum(k == M: a[k])", "a fold needs a range"),
        ("c[m] = m < 3", "'compare' is not a scalar expression"),
        ("c[m] = if a[m] then 1 else 2", "'read' is not a condition"),
        ("c[m] = a[m] % 2", "'read' is not index arithmetic"),
        ("c[m] = a[m // 0]", "a division by 0; a divisor is positive"),
        ("c[m] = linear()", "'linear' does not fit its arguments"),
        ("c[m] = a[tail(m)]", "'tail' is not a function of indices or packs"),
        ("c[m] = a[m...]", "a pack is expected, not 'm"),
    ],
)
def test_bad_equations(equation: str, message: str) -> None:
    meaning = parse_op(f"op f(a[M]) -> c[M] {{ {equation} }}")
    with pytest.raises(MeaningError, match=re.escape(message)):
        meaning.denote([t.tensor_input("a", (K,))], {})


@pytest.mark.parametrize(
    ("text", "shapes", "attributes", "message"),
    [
        (MATMUL, [(M, K), (N, M)], {}, "operand b of shape [N, M] does not fit: axis 0 is N, but K is K"),
        (MATMUL, [(M, K), (K,)], {}, "operand b of shape [K] does not fit: its rank is 1, 2 expected"),
        (MATMUL, [(M, K), (K, N, M)], {}, "does not fit: its rank is 3"),
        (MATMUL, [(M, K)], {}, "2 operands expected, 1 given"),
        (TRANSPOSE, [(M, K)], {}, "attribute 'perm' is missing"),
        (TRANSPOSE, [(M, K)], {"perm": [0, 0]}, "[0, 0] does not permute 2 axes"),
        (TRANSPOSE, [(M, K)], {"perm": [1]}, "[1] does not permute 2 axes"),
        (REDUCE, [(M, K)], {"m": "sum", "axes": [2]}, "axes (2,) of a tensor of rank 2"),
        ("op f(a[S...], b[S...]) -> c[S...] { c[s...] = a[s...] }", [(M, K), (K, M)], {}, "[M, K] expected"),
        ("op f(a[B...{n}, M]) <n: int> -> c[M] { c[m] = 0 }", [(M, K)], {"n": 3}, "its rank is 2"),
        (
            "op f(a[S...], b[T...]) -> c[S... + T...] { c[s...] = 0 }",
            [(M, K), (K,)],
            {},
            "packs of different lengths meet",
        ),
    ],
)
def test_operands_that_do_not_fit(
    text: str, shapes: list[tuple[Index, ...]], attributes: dict[str, Any], message: str
) -> None:
    meaning = parse_op(text)
    with pytest.raises(MeaningError, match=re.escape(message)):
        inputs = [t.tensor_input(o.name, s) for o, s in zip(meaning.operands, shapes, strict=False)]
        meaning.infer(shapes, attributes)
        meaning.denote(inputs, attributes)


# Values: one meaning, three domains.


def exact(array: Array, domain: Domain) -> Array:
    """Small integers as elements of a domain."""
    return domain.integers(array)


def back(array: Array, domain: Domain) -> Array:
    """Elements that stand for small integers, as such."""
    if isinstance(domain, Field):
        return np.where(array > domain.p // 2, array - domain.p, array)
    return array.astype(np.float64)


def _axes(rank: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(0, rank - 1), min_size=1, max_size=rank, unique=True).map(sorted)


@st.composite
def integer_problems(draw: st.DrawFn) -> tuple[str, list[Array], dict[str, Any], Array]:
    """A meaning without functions, integer operands, and what NumPy computes."""
    dims = draw(st.lists(st.integers(1, 6), min_size=3, max_size=3))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))

    def integers(*shape: int) -> Array:
        return rng.integers(-9, 10, shape)

    m, k, n = dims
    x = integers(m, k, n)
    a, b = integers(m, k), integers(k, n)
    kind = draw(st.integers(0, 11))
    match kind:
        case 0:
            return MATMUL, [a, b], {}, a @ b
        case 1:
            perm = draw(st.permutations([0, 1, 2]))
            return TRANSPOSE, [x], {"perm": tuple(perm)}, x.transpose(perm)
        case 2:
            axes = draw(_axes(3))
            monoid, f = draw(st.sampled_from([("sum", np.sum), ("prod", np.prod)]))
            return REDUCE, [x % 3], {"m": monoid, "axes": tuple(axes)}, np.asarray(f(x % 3, axis=tuple(axes)))
        case 3:
            return CUMSUM, [a], {}, np.cumsum(a, axis=1)
        case 4:
            return RESHAPE, [x], {"shape": (m * k, n)}, x.reshape(m * k, n)
        case 5:
            text = "op f(a[M, K], b[K]) -> c[M, K] { c[m, k] = a[m, k] * b[k] - 3 * a[m, 0] }"
            return text, [a, b[:, 0]], {}, a * b[:, 0] - 3 * a[:, :1]
        case 6:
            text = "op f(a[M, K]) <n: int> -> c[M, K] { c[m, k] = if k < n then a[m, k - n + K] else a[m, k - n] }"
            shift = draw(st.integers(0, k))
            return text, [a], {"n": shift}, np.roll(a, shift, axis=1)
        case 7:
            text = "op f(a[M, K]) -> c[M] { c[m] = sum(k < K: sum(q < K: a[m, k] * a[m, q] * a[0, q])) }"
            return text, [a], {}, (a.sum(1, keepdims=True) * a * a[:1]).sum(1)
        case 8:
            text = "op f(a[M, K]) -> c[] { c = sum(q < min(M, K): a[q, q]) }"
            return text, [a], {}, np.asarray(np.trace(a))
        case 9:
            text = "op f(a[M, K]) -> c[K] { c[k] = sum(q < k: a[0, q] * (k - q)) + prod(q < k: a[0, q]) }"
            want = [sum(a[0, q] * (j - q) for q in range(j)) + np.prod(a[0, :j]) for j in range(k)]
            return text, [a], {}, np.array(want)
        case 10:
            text = "op f(a[M, K]) -> c[M, K] { c[m, k] = sum(q < k - m: a[m, q]) }"
            want = [[a[i, : max(0, j - i)].sum() for j in range(k)] for i in range(m)]
            return text, [a], {}, np.array(want)
        case _:
            text = "op f(a[M, K], b[K, N]) -> c[M, N] { c[m, n] = sum(k < K: square(a[m, k]) * (b[k, n] + n)) }"
            return text, [a, b], {}, a**2 @ (b + np.arange(n))


@pytest.mark.parametrize("domain", [Float64(), Field(), Rationals()], ids=lambda d: d.name)
@settings(max_examples=cases(120, 2000))
@given(problem=integer_problems())
def test_values_are_those_of_numpy(domain: Domain, problem: tuple[str, list[Array], dict[str, Any], Array]) -> None:
    text, arrays, attributes, want = problem
    (got,) = parse_op(text).evaluate([exact(a, domain) for a in arrays], attributes, domain)
    assert got.shape == want.shape
    np.testing.assert_array_equal(back(got, domain), want)


@pytest.mark.parametrize("domain", [Float64(), Rationals()], ids=lambda d: d.name)
@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("op f(a[M, K]) -> c[M] { c[m] = max(k < K: a[m, k]) }", lambda a: a.max(1)),
        ("op f(a[M, K]) -> c[K] { c[k] = min(m < M: a[m, k] * 2) }", lambda a: a.min(0) * 2),
        ("op f(a[M, K]) -> c[M, K] { c[m, k] = max(q <= k: a[m, q]) }", lambda a: np.maximum.accumulate(a, 1)),
        ("op f(a[M, K]) -> c[M, K] { c[m, k] = relu(a[m, k]) - abs(a[m, k]) }", lambda a: np.maximum(a, 0) - abs(a)),
        ("op f(a[M, K]) -> c[M, K] { c[m, k] = sign(a[m, k]) + max(a[m, k], min(a[m, 0], 1)) }",
         lambda a: np.sign(a) + np.maximum(a, np.minimum(a[:, :1], 1))),
        ("op f(a[M, K]) -> c[M, K] { c[m, k] = if a[m, k] < 0 and m > 0 then 7 else floor(a[m, k] / 2) }",
         lambda a: np.where((a < 0) & (np.arange(4)[:, None] > 0), 7, np.floor(a / 2))),
    ],
)  # fmt: skip
def test_order(domain: Domain, text: str, want: Callable[[Array], Array]) -> None:
    a = np.random.default_rng(3).integers(-9, 10, (4, 5))
    (got,) = parse_op(text).evaluate([exact(a, domain)], {}, domain)
    np.testing.assert_array_equal(got.astype(float), want(a))


def test_a_maximum_over_nothing_is_minus_infinity() -> None:
    text = "op f(a[M]) -> c[M] { c[m] = max(q < m: a[q]) }"
    (got,) = parse_op(text).evaluate([np.array([3.0, 1.0, 4.0])], {}, Float64())
    np.testing.assert_array_equal(got, [-np.inf, 3, 3])


def test_what_a_field_has_not() -> None:
    a = np.arange(4)
    with pytest.raises(NotInDomain):
        parse_op("op f(a[M]) -> c[M] { c[m] = 1 / a[m] }").evaluate([a], {}, Field())


def test_maxima_in_a_field_are_a_lattice() -> None:
    """Regrouping a maximum changes nothing, its neutral element neither; what it is of does."""
    a = np.random.default_rng(5).integers(0, Field.p, 9)

    def value(text: str) -> np.ndarray:
        (got,) = parse_op(f"op f(a[M]) -> c[M] {{ c[m] = {text} }}").evaluate([a], {}, Field())
        return got

    whole = value("max(q < M: a[q])")
    np.testing.assert_array_equal(whole, value("max(max(q < 4: a[q]), max(q < M - 4: a[q + 4]))"))
    np.testing.assert_array_equal(whole, value("max(-inf, max(q < M: a[q]))"))
    assert np.any(whole != value("max(q < M: a[q] * a[q])"))


def test_a_branch_not_taken_is_not_read() -> None:
    """An index outside the tensor is legal where another branch is taken."""
    a = np.array([1.0, 2.0, 3.0])
    text = "op f(a[M]) -> c[M] { c[m] = if m < 1 then 0 else if m < 2 then a[m - 1] else if m < M then a[2] else a[9] }"
    (got,) = parse_op(text).evaluate([a], {}, Float64())
    np.testing.assert_array_equal(got, [0, 1, 3])
    text = "op f(a[M]) -> c[M] { c[m] = if m > 0 and m < M - 1 then a[m - 1] + a[7] else a[m] }"
    (got,) = parse_op(text).evaluate([a[:1]], {}, Float64())
    np.testing.assert_array_equal(got, a[:1])


def test_fractions_stay_exact() -> None:
    text = "op f(a[M]) -> c[] { c = sum(m < M: a[m] / 3) * 3 }"
    values = np.array([Fraction(1, 7), Fraction(2, 3), Fraction(5, 11)], dtype=object)
    (got,) = parse_op(text).evaluate([values], {}, Rationals())
    assert got[()] == sum(values)


@pytest.mark.parametrize("domain", [Field(), Rationals()], ids=lambda d: d.name)
def test_opaque_functions_keep_powers(domain: Domain) -> None:
    """Functions are hashed, but powers multiply as they should: sqrt(x) = x * rsqrt(x), x^2 = x * x."""
    x = exact(np.arange(1, 9), domain)
    apply = domain.apply
    half, minus = domain.constant(Fraction(1, 2)), domain.constant(Fraction(-1, 2))
    np.testing.assert_array_equal(apply("sqrt", [x]), apply("mul", [x, apply("rsqrt", [x])]))
    np.testing.assert_array_equal(apply("power", [x, half]), apply("sqrt", [x]))
    np.testing.assert_array_equal(apply("power", [x, minus]), apply("rsqrt", [x]))
    np.testing.assert_array_equal(
        apply("power", [x, domain.constant(Fraction(3))]), apply("mul", [x, apply("square", [x])])
    )
    np.testing.assert_array_equal(
        apply("power", [x, domain.constant(Fraction(-2))]), apply("reciprocal", [apply("square", [x])])
    )
    assert len({str(v) for v in apply("exp", [x])}) == 8
    assert not np.array_equal(apply("exp", [x]), apply("log", [x]))


@settings(max_examples=cases(60, 1000))
@given(st.integers(0, 10**6))
def test_contractions_of_a_field_are_exact(seed: int) -> None:
    rng = np.random.default_rng(seed)
    domain = Field()
    a, b = rng.integers(0, domain.p, (3, 5)), rng.integers(0, domain.p, (5, 2))
    want = (a.astype(object) @ b.astype(object)) % domain.p
    (got,) = parse_op(MATMUL).evaluate([a, b], {}, domain)
    np.testing.assert_array_equal(got, want.astype(np.int64))


def test_a_wrong_meaning_would_be_noticed() -> None:
    wrong = MATMUL.replace("b[k, n]", "b[n, k]").replace("b[K, N]", "b[N, K]")
    a = np.arange(4).reshape(2, 2)
    (got,) = parse_op(wrong).evaluate([a, a], {}, Field())
    assert not np.array_equal(got, a @ a)
