# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of scalar functions: the one place that says what each function is.

A function is either *arithmetic* (the normal form computes with it) or *opaque* (an uninterpreted function with named
facts); `definition` rewrites it in terms of others, which every reader may use: it is an identity of the reals, never
an approximation; `defined_when` is its domain. A function of nothing is a number that is no fraction.
Comparisons, logic and `floor` are *notation*: a meaning that applies one is read as its definition, and no term ever
holds it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

Elementwise = Callable[[], Any] | Callable[[Any], Any] | Callable[[Any, Any], Any]


@dataclass(frozen=True)
class ScalarFunction:
    """One scalar function.

    `numpy`: how floats compute it. `definition`: text over arguments `x`, `y`, `z` in other functions, or None.
    `defined_when`: 'nonzero x', 'positive x', 'nonnegative x', ... on one argument, or None for everywhere.
    `commutative`: arguments may swap. `copies`: the result is the argument, bit for bit.
    `facts`: named facts about the function that proofs may use; each is tested numerically.
    `notation`: the definition takes its place wherever it is written. `truth`: the result is 0 or 1.
    `exact_to`: the size of argument up to which the definition, in fp32, is the function.
    """

    name: str
    arity: int
    numpy: Elementwise
    definition: str | None = None
    defined_when: tuple[str, str] | None = None
    commutative: bool = False
    copies: bool = False
    monotone: bool = False
    facts: tuple[str, ...] = ()
    notation: bool = False
    truth: bool = False
    exact_to: float = math.inf


_erf: Any = np.frompyfunc(math.erf, 1, 1)
_PART = 1 << 16


def _erf_array(x: Any) -> np.ndarray[Any, Any]:
    array: np.ndarray[Any, Any] = np.asarray(x)
    flat = array.reshape(-1)
    out: np.ndarray[Any, Any] = np.empty(array.size, dtype=array.dtype)
    # In parts, since NumPy has an object for each value on the way.
    for start in range(0, array.size, _PART):
        out[start : start + _PART] = _erf(flat[start : start + _PART])
    return out.reshape(array.shape)


def _sigmoid(x: Any) -> Any:
    # exp of a negative number only: no overflow on either side.
    e = np.exp(-np.abs(x))
    return cast(Any, np.where(np.asarray(x) >= 0, 1 / (1 + e), e / (1 + e)))


PI = "3.14159265358979323846264338327950288"
"""Digits of pi, more than any float holds."""

_TURNS = "round(1 / (2 * pi()) * x)"
_REST = f"(x - 25/4 * {_TURNS} - 17/512 * {_TURNS} - (2 * pi() - 25/4 - 17/512) * {_TURNS})"
_SIN = f"sine(max(min({_REST}, pi() - {_REST}), -pi() - {_REST}))"
"""The sine of what is left of whole turns, between -pi and pi, reflected to between -pi/2 and pi/2: devices have a
table of it between -pi and pi, and rounding does not lead out of that. A turn is taken off in three parts (Cody and
Waite, Software Manual for the Elementary Functions, 1980): multiples of the first two, of five bits each, are exact in
fp32 for up to 2^19 turns, and what is left of a turn is so small that its multiples are off by no more than 3e-7."""

TURNED = 2.0**19 * 2 * math.pi
"""The largest argument from which all turns can be taken off so."""
SHIFTED = 2.0**8
"""The largest argument to which a quarter turn can be added in fp32 with an error of less than 2e-5."""

_AND = "if x != 0 and y != 0 then 1 else 0"
_OR = "if x != 0 or y != 0 then 1 else 0"
_XOR = "if x != 0 and y == 0 or x == 0 and y != 0 then 1 else 0"

_TABLE = (
    ScalarFunction("identity", 1, lambda x: x, definition="x", copies=True),
    ScalarFunction("add", 2, np.add, commutative=True),
    ScalarFunction("sub", 2, np.subtract, definition="add(x, mul(-1, y))"),
    ScalarFunction("mul", 2, np.multiply, commutative=True),
    ScalarFunction("neg", 1, np.negative, definition="mul(-1, x)"),
    ScalarFunction("div", 2, np.divide, definition="mul(x, reciprocal(y))", defined_when=("nonzero", "y")),
    ScalarFunction("reciprocal", 1, lambda x: 1 / x, definition="power(x, -1)", defined_when=("nonzero", "x")),
    ScalarFunction("square", 1, np.square, definition="mul(x, x)"),
    ScalarFunction("power", 2, np.power),
    ScalarFunction("sqrt", 1, np.sqrt, definition="power(x, 1/2)", defined_when=("nonnegative", "x")),
    ScalarFunction("rsqrt", 1, lambda x: 1 / np.sqrt(x), definition="power(x, -1/2)", defined_when=("positive", "x")),
    ScalarFunction("max", 2, np.maximum, commutative=True),
    ScalarFunction("min", 2, np.minimum, commutative=True),
    ScalarFunction("abs", 1, np.abs, definition="max(x, mul(-1, x))"),
    ScalarFunction("relu", 1, lambda x: np.maximum(x, 0), definition="max(x, 0)"),
    ScalarFunction("exp", 1, np.exp, monotone=True, facts=("exp(a + b) = exp(a) * exp(b)", "exp(a) > 0", "exp(0) = 1")),
    ScalarFunction("log", 1, np.log, defined_when=("positive", "x"), monotone=True),
    ScalarFunction("sigmoid", 1, _sigmoid, definition="reciprocal(add(1, exp(mul(-1, x))))"),
    ScalarFunction("silu", 1, lambda x: x * _sigmoid(x), definition="mul(x, sigmoid(x))"),
    ScalarFunction("tanh", 1, np.tanh, definition="add(mul(2, sigmoid(mul(2, x))), -1)"),
    ScalarFunction("erf", 1, _erf_array, monotone=True),
    ScalarFunction("pi", 0, lambda: np.longdouble(PI), facts=("pi() > 3.14159265", "3.14159266 > pi()")),
    ScalarFunction("sine", 1, np.sin),
    ScalarFunction("sin", 1, np.sin, _SIN, exact_to=TURNED),
    ScalarFunction("cos", 1, np.cos, "sin(x + pi() / 2)", exact_to=SHIFTED),
    ScalarFunction("sign", 1, np.sign),
    ScalarFunction("round", 1, np.rint),
    ScalarFunction("floor", 1, np.floor, "round(x) - (if x < round(x) then 1 else 0)", notation=True),
    ScalarFunction("less", 2, np.less, "if x < y then 1 else 0", notation=True, truth=True),
    ScalarFunction("less_equal", 2, np.less_equal, "if x <= y then 1 else 0", notation=True, truth=True),
    ScalarFunction("greater", 2, np.greater, "if x > y then 1 else 0", notation=True, truth=True),
    ScalarFunction("greater_equal", 2, np.greater_equal, "if x >= y then 1 else 0", notation=True, truth=True),
    ScalarFunction("equal", 2, np.equal, "if x == y then 1 else 0", commutative=True, notation=True, truth=True),
    ScalarFunction(
        "not_equal", 2, np.not_equal, "if x != y then 1 else 0", commutative=True, notation=True, truth=True
    ),
    ScalarFunction("logical_and", 2, np.logical_and, _AND, commutative=True, notation=True, truth=True),
    ScalarFunction("logical_or", 2, np.logical_or, _OR, commutative=True, notation=True, truth=True),
    ScalarFunction("logical_xor", 2, np.logical_xor, _XOR, commutative=True, notation=True, truth=True),
)

FUNCTIONS: dict[str, ScalarFunction] = {f.name: f for f in _TABLE}
"""Name -> scalar function."""


@dataclass(frozen=True)
class Monoid:
    """A reduction operator: the binary scalar function and its neutral element."""

    name: str
    function: str
    neutral: float
    ufunc: np.ufunc


MONOIDS: dict[str, Monoid] = {
    m.name: m
    for m in (
        Monoid("sum", "add", 0.0, np.add),
        Monoid("prod", "mul", 1.0, np.multiply),
        Monoid("max", "max", -math.inf, np.maximum),
        Monoid("min", "min", math.inf, np.minimum),
    )
}
"""Name -> monoid."""
