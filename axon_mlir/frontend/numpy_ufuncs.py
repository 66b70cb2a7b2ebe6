# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""NumPy's ufuncs on traced values: arithmetic, comparisons, logic."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from axon_mlir.frontend import operations as ops
from axon_mlir.frontend.element_types import kind
from axon_mlir.frontend.numpy_shapes import copy
from axon_mlir.frontend.traced import (
    NAMED_UFUNCS,
    UFUNCS,
    Handler,
    Size,
    TracedTensor,
    numpy_ufunc,
    unsupported,
)

_ANY_NUMBERS: dict[np.ufunc, str] = {
    np.add: "add", np.subtract: "sub", np.multiply: "mul",
    np.maximum: "max", np.minimum: "min", np.fmax: "max", np.fmin: "min",
    np.negative: "neg", np.absolute: "abs", np.square: "square", np.sign: "sign", np.floor: "floor",
}  # fmt: skip
"""Ufunc -> scalar function, for integers and floats."""
_FLOATS: dict[np.ufunc, str] = {
    np.true_divide: "div", np.exp: "exp", np.log: "log", np.sqrt: "sqrt", np.tanh: "tanh", np.sin: "sin",
    np.cos: "cos", np.reciprocal: "reciprocal",
}  # fmt: skip
"""Ufunc -> scalar function of floats: integers are converted first."""
_NAMED: dict[str, str] = {"erf": "erf", "expit": "sigmoid"}
"""The same for ufuncs of scipy.special, by name."""
_PREDICATES: dict[np.ufunc, str] = {
    np.less: "lt", np.less_equal: "le", np.greater: "gt", np.greater_equal: "ge", np.equal: "eq", np.not_equal: "ne",
}  # fmt: skip
"""Ufunc -> predicate of a comparison."""


def _scalar_function(function: str, arity: int, floats: bool) -> Handler:
    def unary(x: Any) -> Any:
        return ops.elementwise(function, x, floats=floats)

    def binary(x1: Any, x2: Any) -> Any:
        return ops.elementwise(function, x1, x2, floats=floats)

    return unary if arity == 1 else binary


def _comparison(predicate: str) -> Handler:
    def handler(x1: Any, x2: Any) -> Any:
        return ops.compare(predicate, x1, x2)

    return handler


UFUNCS.update({u: _scalar_function(f, u.nin, floats=False) for u, f in _ANY_NUMBERS.items()})
UFUNCS.update({u: _scalar_function(f, u.nin, floats=True) for u, f in _FLOATS.items()})
UFUNCS.update({u: _comparison(p) for u, p in _PREDICATES.items()})
NAMED_UFUNCS.update({name: _scalar_function(f, 1, floats=True) for name, f in _NAMED.items()})


@numpy_ufunc(np.positive)
def _positive(x: Any) -> Any:
    return copy(x)


@numpy_ufunc(np.log1p)
def log1p(x: Any) -> Any:
    """The logarithm of one more."""
    return ops.elementwise("log", ops.elementwise("add", x, 1.0), floats=True)


@numpy_ufunc(np.expm1)
def expm1(x: Any) -> Any:
    """One less than the exponential."""
    return ops.elementwise("sub", ops.elementwise("exp", x, floats=True), 1.0)


@numpy_ufunc(np.log2)
def log2(x: Any) -> Any:
    """The logarithm to base 2."""
    return ops.elementwise("div", ops.elementwise("log", x, floats=True), math.log(2))


@numpy_ufunc(np.log10)
def log10(x: Any) -> Any:
    """The logarithm to base 10."""
    return ops.elementwise("div", ops.elementwise("log", x, floats=True), math.log(10))


@numpy_ufunc(np.exp2)
def exp2(x: Any) -> Any:
    """A power of two."""
    return ops.elementwise("exp", ops.elementwise("mul", x, math.log(2)), floats=True)


@numpy_ufunc(np.power)
def power(x1: Any, x2: Any) -> Any:
    """Powers with a constant integer or half exponent."""
    exponent = ops.as_operand(x2)
    if isinstance(exponent, Size | TracedTensor) or not (2 * exponent == int(2 * exponent)):
        unsupported(f"np.power with the exponent {x2!r}", "a constant integer or half: x**2, x**3, x**0.5, x**-0.5")
    floats = isinstance(exponent, float) or exponent < 0
    match exponent:
        case 0:
            return ops.filled_like(x1, 1)
        case 1:
            return copy(x1)
        case 2:
            return ops.elementwise("square", x1, floats=floats)
        case 0.5:
            return ops.elementwise("sqrt", x1, floats=True)
        case -0.5:
            return ops.elementwise("rsqrt", x1, floats=True)
        case -1:
            return ops.elementwise("reciprocal", x1, floats=True)
        case _:
            return ops.elementwise("power", x1, exponent, floats=floats)


@numpy_ufunc(np.logical_and)
def _and(x1: Any, x2: Any) -> Any:
    return ops.select(_truth(x1), _truth(x2), False)


@numpy_ufunc(np.logical_or)
def _or(x1: Any, x2: Any) -> Any:
    return ops.select(_truth(x1), True, _truth(x2))


@numpy_ufunc(np.logical_xor)
def _xor(x1: Any, x2: Any) -> Any:
    return ops.compare("ne", _truth(x1), _truth(x2))


@numpy_ufunc(np.logical_not)
def _not(x: Any) -> Any:
    return ops.select(_truth(x), False, True)


@numpy_ufunc(np.bitwise_and)
def _bitwise_and(x1: Any, x2: Any) -> Any:
    return _and(_bit(x1), _bit(x2))


@numpy_ufunc(np.bitwise_or)
def _bitwise_or(x1: Any, x2: Any) -> Any:
    return _or(_bit(x1), _bit(x2))


@numpy_ufunc(np.bitwise_xor)
def _bitwise_xor(x1: Any, x2: Any) -> Any:
    return _xor(_bit(x1), _bit(x2))


@numpy_ufunc(np.invert)
def _invert(x: Any) -> Any:
    if kind(ops.as_tensor(x).node.dtype) == 1:
        # Two's complement.
        return ops.elementwise("sub", -1, x)
    return _not(_bit(x))


def _truth(x: Any) -> TracedTensor:
    """What is not zero."""
    t = ops.as_tensor(x)
    return TracedTensor(t.node) if t.node.dtype == "i1" else ops.compare("ne", t, 0)


def _bit(x: Any) -> TracedTensor:
    """A truth value, which is a single bit."""
    t = ops.as_tensor(x)
    if t.node.dtype != "i1":
        unsupported(f"bitwise logic on {t.node.dtype} arrays", "truth values: (x > 0) & (y > 0), np.logical_and(x, y)")
    return t
