# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays that a program makes: `np.zeros`, `np.arange`, their `_like` forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from axon_mlir.frontend import operations as ops
from axon_mlir.frontend.element_types import dtype_of, weak_type
from axon_mlir.frontend.numpy_shapes import copy
from axon_mlir.frontend.traced import (
    TracedTensor,
    numpy_function,
    unsupported,
)
from axon_mlir.semantics import index as ix


def _filled(value: Any, shape: Any, dtype: Any, what: str) -> TracedTensor:
    terms = ops.read_shape(shape, what)
    wide = weak_type(dtype)
    if wide is None:
        return ops.full(terms, value, None if dtype is None else dtype_of(dtype, "dtype"))
    out = ops.full(terms, value, wide)
    return TracedTensor(out.node, weak=wide != "i1")


def _ones(shape: Any, dtype: Any = None) -> Any:
    return _filled(1 if dtype is int else 1.0, shape, dtype, "np.ones")


def _zeros(shape: Any, dtype: Any = None) -> Any:
    return _filled(0 if dtype is int else 0.0, shape, dtype, "np.zeros")


def _full(shape: Any, fill_value: Any, dtype: Any = None) -> Any:
    return _filled(fill_value, shape, dtype, "np.full")


def _empty(shape: Any, dtype: Any = None) -> Any:
    terms = ops.read_shape(shape, "np.empty")
    wide = weak_type(dtype)
    if dtype is None or wide is None:
        return ops.empty(terms, None if dtype is None else dtype_of(dtype, "dtype"))
    out = ops.empty(terms, wide)
    return TracedTensor(out.node, weak=wide != "i1")


def _converted(x: TracedTensor, dtype: Any) -> TracedTensor:
    if dtype is None or dtype is float:
        return x
    return ops.convert(x, weak_type(dtype) or dtype_of(dtype, "dtype"))


def _eye(N: Any, M: Any = None, k: Any = 0, dtype: Any = None) -> Any:
    shape = ops.read_shape((N, N if M is None else M), "np.eye")
    columns = ops.iota(shape, 1)
    rows: Any = ops.iota(shape, 0)
    diagonal = rows if k == 0 else ops.elementwise("add", rows, k)
    out = ops.select(ops.compare("eq", columns, diagonal), 1.0, 0.0)
    return _converted(TracedTensor(out.node, weak=True), dtype)


def _identity(n: Any, dtype: Any = None) -> Any:
    return _eye(n, dtype=dtype)


def _arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> Any:
    if stop is None:
        start, stop = 0, start
    first, last, by = (ops.read_size(v, "np.arange") for v in (start, stop, step))
    if by.constant is None or by.constant < 1:
        unsupported("np.arange with this step", "a positive integer")
    out = ops.iota((ix.ceil_div(last - first, by),), 0)
    if by != 1:
        out = ops.elementwise("mul", out, by.constant)
    if first != 0:
        out = ops.elementwise("add", out, start)
    return _converted(out, None if dtype is int else dtype)


def _asarray(a: Any, dtype: Any = None) -> Any:
    return _converted(ops.as_tensor(a), dtype)


def _contiguous(a: Any, dtype: Any = None) -> Any:
    return ops.perhaps_view(_asarray(a, dtype))


def _array(object: Any, dtype: Any = None) -> Any:
    return _converted(copy(object), dtype)


CREATION: dict[str, Callable[..., Any]] = {
    "ones": _ones,
    "zeros": _zeros,
    "full": _full,
    "empty": _empty,
    "eye": _eye,
    "identity": _identity,
    "arange": _arange,
    "asarray": _asarray,
    "array": _array,
    "ascontiguousarray": _contiguous,
}
"""Name -> what it makes of sizes and traced values, which NumPy would not ask."""
FILLED = ("ones", "zeros", "full", "empty")
"""Those whose arrays a program may fill with traced values: in a trace they are traced for plain sizes, too."""


@numpy_function(np.ones_like)
def ones_like(a: Any, dtype: Any = None) -> Any:
    """Ones of the same shape and type."""
    return ops.filled_like(a, 1, dtype)


@numpy_function(np.zeros_like)
def zeros_like(a: Any, dtype: Any = None) -> Any:
    """Zeros of the same shape and type."""
    return ops.filled_like(a, 0, dtype)


@numpy_function(np.full_like)
def full_like(a: Any, fill_value: Any, dtype: Any = None) -> Any:
    """One value, of the same shape and type."""
    return ops.filled_like(a, fill_value, dtype)


@numpy_function(np.empty_like)
def empty_like(prototype: Any, dtype: Any = None) -> Any:
    """Elements that nobody has written, of the same shape and type."""
    x = ops.as_tensor(prototype)
    name = x.node.dtype if dtype is None else weak_type(dtype) or dtype_of(dtype, "dtype")
    return TracedTensor(ops.empty(x.terms, name).node, weak=x.weak and dtype is None)
