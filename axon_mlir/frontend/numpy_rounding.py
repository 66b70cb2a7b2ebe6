# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rounding of traced values, and division with it."""

from __future__ import annotations

from typing import Any

import numpy as np

from axon_mlir.frontend import operations as ops
from axon_mlir.frontend.element_types import kind
from axon_mlir.frontend.traced import (
    as_integer,
    numpy_function,
    numpy_ufunc,
    unsupported,
)


@numpy_ufunc(np.ceil)
def ceil(x: Any) -> Any:
    """The least integer that is not below."""
    return ops.elementwise("neg", ops.elementwise("floor", ops.elementwise("neg", x)))


@numpy_ufunc(np.trunc)
def trunc(x: Any) -> Any:
    """Towards zero."""
    return ops.select(ops.compare("lt", x, 0), ceil(x), ops.elementwise("floor", x))


@numpy_ufunc(np.rint)
def rint(x: Any) -> Any:
    """The nearest integer, of two equally near ones the even one."""
    return ops.elementwise("round", x)


@numpy_function(np.round, np.around, method="round")
def round_(a: Any, decimals: Any = 0) -> Any:
    """The nearest number with so many decimals."""
    places = as_integer(decimals)
    if places is None:
        unsupported(f"np.round with decimals={decimals!r}", "an integer")
    if places == 0:
        return rint(a)
    scaled = ops.elementwise("mul" if places > 0 else "div", a, float(10 ** abs(places)))
    return ops.elementwise("div" if places > 0 else "mul", rint(scaled), float(10 ** abs(places)))


@numpy_ufunc(np.floor_divide)
def floor_divide(x1: Any, x2: Any) -> Any:
    """The floor of the quotient, of floats."""
    _floats(x1, x2, "np.floor_divide")
    return ops.elementwise("floor", ops.elementwise("div", x1, x2))


@numpy_ufunc(np.remainder, np.mod)
def remainder(x1: Any, x2: Any) -> Any:
    """What the floor of the quotient leaves, of floats."""
    return ops.elementwise("sub", x1, ops.elementwise("mul", floor_divide(x1, x2), x2))


def _floats(x1: Any, x2: Any, what: str) -> None:
    dtype, _ = ops.result_type([ops.as_operand(x1), ops.as_operand(x2)])
    if kind(dtype) < 2:
        unsupported(f"{what} of {dtype} arrays", "float arrays: x.astype(np.float32)")
