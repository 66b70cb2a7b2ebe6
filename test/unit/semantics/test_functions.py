# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every entry of the tables of scalar functions and monoids is what NumPy computes, and its facts are true."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from audit import cases
from hypothesis import given, settings
from hypothesis import strategies as st

from axon_mlir.semantics import terms as t
from axon_mlir.semantics.domains import Float64, Floats
from axon_mlir.semantics.evaluate import evaluate_comprehension
from axon_mlir.semantics.functions import FUNCTIONS, MONOIDS, ScalarFunction
from axon_mlir.semantics.meaning import applied, parse_scalar
from axon_mlir.semantics.normal import definition_of
from axon_mlir.semantics.walk import subterms

Array = np.ndarray[Any, Any]

POINTS = np.array([-30.0, -3.5, -2.0, -1.0, -0.25, 0.0, 0.25, 1.0, 2.0, 3.5, 30.0])
DOMAINS = {"nonzero": lambda x: x != 0, "positive": lambda x: x > 0, "nonnegative": lambda x: x >= 0}
NAMES = "xyz"


def value(term: t.Term, *arrays: Array) -> Array:
    """A term over rank-0 reads x, y, z at arrays of points."""
    named = dict(zip(NAMES, arrays, strict=False))
    out = [
        evaluate_comprehension(t.Comprehension((), (), term), {n: a[k] for n, a in named.items()}, {}, Float64())
        for k in range(arrays[0].size)
    ]
    return np.array(out)


def arguments(f: ScalarFunction, points: Array) -> list[Array]:
    """All tuples of points inside the function's domain, as one array per argument."""
    grid = [g.ravel() for g in np.meshgrid(*[points] * f.arity)]
    keep = np.ones(grid[0].shape if grid else (), bool)
    if f.defined_when is not None:
        what, which = f.defined_when
        keep &= DOMAINS[what](grid[NAMES.index(which)])
    return [g[keep] for g in grid]


def sample_term(f: ScalarFunction) -> t.Term:
    return t.Apply(f.name, tuple(t.Read(n, ()) for n in NAMES[: f.arity]))


@pytest.mark.parametrize("name", [f.name for f in FUNCTIONS.values() if f.definition is not None])
def test_definitions(name: str) -> None:
    f = FUNCTIONS[name]
    args = arguments(f, POINTS)
    with np.errstate(over="ignore"):
        want = np.asarray(f.numpy(*args), dtype=float)
        definition = definition_of(name, tuple(t.Read(n, ()) for n in NAMES[: f.arity]))
        assert definition is not None
        got = value(definition, *args)
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(value(sample_term(f), *args), want, rtol=1e-12)


@pytest.mark.parametrize("name", [f.name for f in FUNCTIONS.values() if f.definition is not None])
def test_definitions_hold_no_rounded_number(name: str) -> None:
    """They are identities of the reals: what is no short fraction is the rounding of something."""
    numbers = [c.value for c in subterms(applied(name, sample_term(FUNCTIONS[name]).args)) if isinstance(c, t.Const)]
    expanded = definition_of(name, tuple(t.Read(n, ()) for n in NAMES[: FUNCTIONS[name].arity]))
    assert expanded is not None
    numbers += [c.value for c in subterms(expanded) if isinstance(c, t.Const)]
    assert all(isinstance(v, Fraction) and v.denominator <= 512 for v in numbers)


def test_the_sine_is_that_of_its_definition_in_wide_floats() -> None:
    """Far beyond the digits of a double: a double's pi in the definition would be seen."""
    x = np.linspace(-20, 20, 1001).astype(np.longdouble)
    for name in ("sin", "cos"):
        term = definition_of(name, (t.Read("x", ()),))
        assert term is not None
        while isinstance(term, t.Apply) and term.function != "sine":
            term = definition_of(term.function, term.args)
        assert isinstance(term, t.Apply)
        wide = Floats(np.longdouble)
        within = [evaluate_comprehension(t.Comprehension((), (), term.args[0]), {"x": v}, {}, wide) for v in x]
        np.testing.assert_allclose(np.sin(np.array(within)), getattr(np, name)(x), rtol=0, atol=2e-18)
        assert np.max(np.abs(np.array(within))) < 1.58


@pytest.mark.parametrize("name", FUNCTIONS)
def test_definitions_are_not_circular(name: str) -> None:
    """Unfolding definitions ends, in functions without one."""

    def primitive(x: t.Term, depth: int) -> bool:
        assert depth < 40
        if not isinstance(x, t.Apply):
            return True
        expanded = definition_of(x.function, x.args)
        return all(primitive(a, depth + 1) for a in (x.args if expanded is None else (expanded,)))

    assert primitive(sample_term(FUNCTIONS[name]), 0)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_domains(name: str) -> None:
    """Finite inside the domain; outside it NumPy gives no finite value."""
    f = FUNCTIONS[name]
    if name == "power":
        pytest.skip("a number's domain depends on the exponent")
    small = POINTS[np.abs(POINTS) < 10]
    with np.errstate(all="ignore"):
        assert np.all(np.isfinite(np.asarray(f.numpy(*arguments(f, small)), dtype=float)))
        if f.defined_when is not None:
            what, which = f.defined_when
            grid = [g.ravel() for g in np.meshgrid(*[small] * f.arity)]
            outside = ~DOMAINS[what](grid[NAMES.index(which)])
            assert outside.any()
            assert not np.any(np.isfinite(np.asarray(f.numpy(*[g[outside] for g in grid]), dtype=float)))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_flags(name: str) -> None:
    f = FUNCTIONS[name]
    args = arguments(f, POINTS[np.abs(POINTS) < 10])
    with np.errstate(all="ignore"):
        result = np.asarray(f.numpy(*args), dtype=float)
        if f.arity == 2 and f.defined_when is None:
            swapped = np.asarray(f.numpy(*args[::-1]), dtype=float)
            assert f.commutative == bool(np.array_equal(result, swapped, equal_nan=True))
        if f.arity == 1:
            assert f.copies == bool(np.array_equal(result, args[0]))
            if f.monotone:
                assert np.all(np.diff(result[np.argsort(args[0])]) > 0)


_numbers = st.floats(-8, 8).filter(lambda x: abs(x) > 1e-3)


@pytest.mark.parametrize(
    ("name", "fact"), [(f.name, fact) for f in FUNCTIONS.values() for fact in f.facts], ids=lambda x: str(x)
)
@settings(max_examples=cases(100, 2000))
@given(a=_numbers, b=_numbers)
def test_facts(name: str, fact: str, a: float, b: float) -> None:
    assert name in fact
    assert is_true(fact, a, b)


def is_true(fact: str, a: float, b: float) -> bool:
    """Whether a fact of the table holds at two numbers."""
    known = {"a": a, "b": b}
    relation = next(r for r in (">=", ">", "=") if f" {r} " in fact)
    sides = [parse_scalar(s, lambda n: t.number(known[n]) if n in known else None) for s in fact.split(f" {relation} ")]
    left, right = (float(value(s, np.zeros(1))[0]) for s in sides)
    if relation == "=":
        return left == pytest.approx(right, rel=1e-9)
    return left > right if relation == ">" else left >= right


@pytest.mark.parametrize("fact", ["exp(a + b) = exp(a) + exp(b)", "exp(a) >= 1", "exp(0) = 0", "erf(a) > 0"])
def test_a_wrong_fact_would_be_noticed(fact: str) -> None:
    assert not all(is_true(fact, a, b) for a in (-2.0, 0.5, 3.0) for b in (-1.0, 2.0))


def test_a_wrong_definition_would_be_noticed() -> None:
    wrong = parse_scalar("reciprocal(add(1, exp(x)))", lambda n: t.Read(n, ()) if n == "x" else None)
    got = value(wrong, POINTS[2:-2])
    assert not np.allclose(got, FUNCTIONS["sigmoid"].numpy(POINTS[2:-2]))


@pytest.mark.parametrize("name", MONOIDS)
def test_monoids(name: str) -> None:
    m = MONOIDS[name]
    x, y, z = (g.ravel() for g in np.meshgrid(*[POINTS[1:-1]] * 3))
    f = FUNCTIONS[m.function].numpy
    np.testing.assert_allclose(f(f(x, y), z), f(x, f(y, z)), rtol=1e-12)
    np.testing.assert_array_equal(f(x, y), f(y, x))
    np.testing.assert_array_equal(f(np.full_like(x, m.neutral), x), x)
    np.testing.assert_allclose(m.ufunc.reduce(np.stack([x, y, z])), f(f(x, y), z), rtol=1e-12)


def test_the_tables_name_each_entry_once() -> None:
    assert all(name == f.name for name, f in FUNCTIONS.items())
    assert all(m.function in FUNCTIONS and FUNCTIONS[m.function].commutative for m in MONOIDS.values())


@pytest.mark.parametrize("shape", [(), (3, 5), (2, 70001)])
def test_erf_of_any_shape(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).standard_normal(shape)
    y = FUNCTIONS["erf"].numpy(x)
    assert y.shape == shape
    assert np.array_equal(y, np.vectorize(math.erf, otypes=[float])(x))
