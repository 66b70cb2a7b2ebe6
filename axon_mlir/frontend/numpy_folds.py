# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions and running folds of traced arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from axon_mlir.frontend import operations as ops
from axon_mlir.frontend.element_types import kind
from axon_mlir.frontend.numpy_shapes import ravel
from axon_mlir.frontend.traced import (
    UFUNC_METHODS,
    Handler,
    TracedTensor,
    as_size,
    numpy_function,
    unsupported,
)
from axon_mlir.semantics import index as ix
from axon_mlir.semantics.index import Index


def _reduction(monoid: str, what: str, default_axis: int | None = None) -> Handler:
    def handler(a: Any, axis: Any = default_axis, keepdims: Any = False) -> Any:
        x = ops.as_tensor(a)
        return ops.reduce(monoid, x, ops.axis_numbers(axis, x.ndim, what), keepdims=bool(keepdims))

    return handler


def _running(monoid: str, what: str, default_axis: int | None = None) -> Handler:
    def handler(a: Any, axis: Any = default_axis) -> Any:
        x = ops.as_tensor(a)
        if axis is None:
            x, axis = ravel(x), 0
        return ops.scan(monoid, x, ops.axis_number(axis, x.ndim, what))

    return handler


_REDUCTIONS: dict[str, tuple[Callable[..., Any], ...]] = {
    "sum": (np.sum,),
    "prod": (np.prod,),
    "max": (np.max, np.amax),
    "min": (np.min, np.amin),
}
"""Monoid -> the functions that reduce with it; the monoid's name is that of the array method."""
_RUNNING: dict[str, Callable[..., Any]] = {"sum": np.cumsum, "prod": np.cumprod}
"""Monoid -> the function of its running fold."""
_FOLDING: dict[str, np.ufunc] = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}
"""Monoid -> the ufunc whose methods `reduce` and `accumulate` fold with it."""

for _monoid, _functions in _REDUCTIONS.items():
    numpy_function(*_functions, method=_monoid)(_reduction(_monoid, f"np.{_monoid}"))
for _monoid, _function in _RUNNING.items():
    numpy_function(_function, method=_function.__name__)(_running(_monoid, f"np.{_function.__name__}"))
for _monoid, _ufunc in _FOLDING.items():
    UFUNC_METHODS[_ufunc, "reduce"] = _reduction(_monoid, f"np.{_ufunc.__name__}.reduce", 0)
    UFUNC_METHODS[_ufunc, "accumulate"] = _running(_monoid, f"np.{_ufunc.__name__}.accumulate", 0)


def _quantifier(monoid: str, what: str) -> Handler:
    def handler(a: Any, axis: Any = None, keepdims: Any = False) -> Any:
        x = ops.as_tensor(a)
        truth = x if x.node.dtype == "i1" else ops.compare("ne", x, 0)
        found = ops.reduce(
            monoid, ops.select(truth, 1, 0), ops.axis_numbers(axis, x.ndim, what), keepdims=bool(keepdims)
        )
        return ops.compare("ne", found, 0)

    return handler


numpy_function(np.any, method="any")(_quantifier("max", "np.any"))
numpy_function(np.all, method="all")(_quantifier("min", "np.all"))


def _first(monoid: str, what: str) -> Handler:
    """The first position of the largest or smallest element."""

    def handler(a: Any, axis: Any = None, keepdims: Any = False) -> Any:
        x = ops.as_tensor(a)
        at = 0 if axis is None else ops.axis_number(axis, x.ndim, what)
        flat = ravel(x) if axis is None else x
        best = ops.reduce(monoid, flat, [at], keepdims=True)
        extent = flat.terms[at]
        places = ops.select(ops.compare("eq", flat, best), ops.iota(flat.terms, at), as_size(extent))
        found = ops.reduce("min", places, [at], keepdims=bool(keepdims) and axis is not None)
        return ops.expand(found, range(x.ndim)) if keepdims and axis is None else found

    return handler


numpy_function(np.argmax, method="argmax")(_first("max", "np.argmax"))
numpy_function(np.argmin, method="argmin")(_first("min", "np.argmin"))


@numpy_function(np.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: Any = False) -> Any:
    """The root of the sum of squares; of vectors also ord=1 and ord=inf."""
    a = ops.as_tensor(x)
    axes = ops.axis_numbers(axis, a.ndim, "np.linalg.norm")
    vector = len(axes) == 1
    match ord:
        case None:
            pass
        case 2 if vector:
            pass
        case "fro" if len(axes) == 2:
            pass
        case 1 if vector:
            return ops.reduce("sum", ops.elementwise("abs", a), axes, keepdims=bool(keepdims))
        case math.inf if vector:
            return ops.reduce("max", ops.elementwise("abs", a), axes, keepdims=bool(keepdims))
        case _:
            unsupported(f"np.linalg.norm with ord={ord!r} over {len(axes)} axes", "ord=None, and 1, 2, inf of vectors")
    total = ops.reduce("sum", ops.elementwise("square", a), axes, keepdims=bool(keepdims))
    return ops.elementwise("sqrt", total, floats=True)


def _count(x: TracedTensor, axes: Sequence[int]) -> Index:
    return math.prod((x.terms[a] for a in axes), start=ix.const(1))


@numpy_function(np.mean, method="mean")
def mean(a: Any, axis: Any = None, keepdims: Any = False) -> Any:
    """Sum over count: the sum stays in f32, the quotient is rounded."""
    x = ops.as_tensor(a)
    axes = ops.axis_numbers(axis, x.ndim, "np.mean")
    return _average(x, axes, _count(x, axes), bool(keepdims))


def _average(x: TracedTensor, axes: Sequence[int], count: Index, keepdims: bool) -> TracedTensor:
    if kind(x.node.dtype) < 2:
        x = TracedTensor(ops.node_of(x, "f32"), weak=True)
    total = ops.reduce("sum", x, axes, keepdims=keepdims, dtype="f32")
    out = ops.elementwise("div", total, as_size(count), floats=True, dtype=x.node.dtype)
    return TracedTensor(out.node, weak=x.weak)


@numpy_function(np.var, method="var")
def var(a: Any, axis: Any = None, ddof: Any = 0, keepdims: Any = False) -> Any:
    """The mean of the squared deviations."""
    x = ops.as_tensor(a)
    axes = ops.axis_numbers(axis, x.ndim, "np.var")
    centred = ops.elementwise("sub", x, mean(x, axes, True))
    count = _count(x, axes) - ops.read_size(ddof, "np.var ddof")
    return _average(ops.elementwise("square", centred), axes, count, bool(keepdims))


@numpy_function(np.std, method="std")
def std(a: Any, axis: Any = None, ddof: Any = 0, keepdims: Any = False) -> Any:
    """The root of the variance."""
    return ops.elementwise("sqrt", var(a, axis, ddof, keepdims), floats=True)
