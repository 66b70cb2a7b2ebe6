# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions that NumPy's protocols do not reach, rebound while a program is loaded and traced.

`np.ones((n, 1))` never asks its arguments what to do, and `math.sqrt(n)` asks for a float. While a trace runs, these
names (in `numpy`, in `math` and in the program's own globals) stand for functions that accept sizes and traced values,
and do what they always did with anything else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from axon_mlir.frontend import numpy_functions
from axon_mlir.frontend import operations as ops
from axon_mlir.frontend.traced import UFUNCS, WRAPPED_FUNCTIONS, Traced, TracedTensor, invoke, unsupported
from axon_mlir.semantics import index as ix

_PLAIN_FROMPYFUNC: Callable[..., Any] = np.frompyfunc
_PLAIN_VECTORIZE_CALL: Callable[..., Any] = np.vectorize.__call__


def _touches(*values: Any) -> bool:
    """Whether a traced value is among the arguments, however deep in tuples and lists."""
    return any(isinstance(v, Traced) or (isinstance(v, tuple | list) and _touches(*v)) for v in values)


def _dtype(dtype: Any) -> str | None:
    return None if dtype is None or dtype is float else ops.dtype_of(dtype, "dtype")


def _ones(shape: Any, dtype: Any = None) -> Any:
    return ops.full(ops.read_shape(shape, "np.ones"), 1.0, _dtype(dtype))


def _zeros(shape: Any, dtype: Any = None) -> Any:
    return ops.full(ops.read_shape(shape, "np.zeros"), 0.0, _dtype(dtype))


def _full(shape: Any, fill_value: Any, dtype: Any = None) -> Any:
    return ops.full(ops.read_shape(shape, "np.full"), fill_value, _dtype(dtype))


def _empty(shape: Any, dtype: Any = None) -> Any:
    unsupported("np.empty (to be filled in place)", "np.concatenate, np.stack, np.zeros, np.where")


def _eye(N: Any, M: Any = None, k: Any = 0, dtype: Any = None) -> Any:
    shape = ops.read_shape((N, N if M is None else M), "np.eye")
    columns = ops.iota(shape, 1)
    rows: Any = ops.iota(shape, 0)
    diagonal = rows if k == 0 else ops.elementwise("add", rows, k)
    out = ops.select(ops.compare("eq", columns, diagonal), 1.0, 0.0)
    name = _dtype(dtype)
    return TracedTensor(out.node, weak=True) if name is None else ops.convert(out, name)


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
    name = _dtype(dtype)
    return out if name is None else ops.convert(out, name)


def _asarray(a: Any, dtype: Any = None) -> Any:
    if not isinstance(a, Traced):
        unsupported("an array made of traced values", "np.stack, np.concatenate")
    out = ops.as_tensor(a)
    return out if dtype is None else ops.convert(out, ops.dtype_of(dtype, "dtype"))


_CREATION: dict[str, Callable[..., Any]] = {
    "ones": _ones,
    "zeros": _zeros,
    "full": _full,
    "empty": _empty,
    "eye": _eye,
    "identity": _identity,
    "arange": _arange,
    "asarray": _asarray,
    "array": _asarray,
}
_MATH: dict[str, np.ufunc] = {
    "sqrt": np.sqrt,
    "exp": np.exp,
    "log": np.log,
    "tanh": np.tanh,
    "sin": np.sin,
    "cos": np.cos,
    "pow": np.power,
    "fabs": np.absolute,
}


def _rebound(name: str, plain: Callable[..., Any], traced: Callable[..., Any]) -> Callable[..., Any]:
    def function(*args: Any, **kwargs: Any) -> Any:
        if not _touches(*args, *kwargs.values()):
            return plain(*args, **kwargs)
        return invoke(name, traced, args, kwargs)

    function.__name__ = getattr(plain, "__name__", name)
    return function


def _frompyfunc(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    made: np.ufunc = _PLAIN_FROMPYFUNC(func, *args, **kwargs)
    WRAPPED_FUNCTIONS[id(made)] = func
    _KEPT.append(made)
    if func is math.erf:
        UFUNCS[made] = _erf
    return made


_KEPT: list[Any] = []
"""Ufuncs that programs made: kept alive so that their ids stay theirs."""


def _erf(x: Any) -> Any:
    return ops.elementwise("erf", x, floats=True)


def _vectorize_call(self: Any, *args: Any, **kwargs: Any) -> Any:
    if _touches(*args, *kwargs.values()):
        name = getattr(self.pyfunc, "__name__", "a function")
        unsupported(f"np.vectorize({name})", "NumPy's own functions on whole arrays")
    return _PLAIN_VECTORIZE_CALL(self, *args, **kwargs)


def _originals() -> list[tuple[dict[str, Any], str, Any, Any]]:
    """(names of a module, name, what it is, what it becomes)."""
    out: list[tuple[dict[str, Any], str, Any, Any]] = []
    for name, traced in _CREATION.items():
        plain: Callable[..., Any] = getattr(np, name)
        out.append((np.__dict__, name, plain, _rebound(f"np.{name}", plain, traced)))
    for name, ufunc in _MATH.items():
        scalar: Callable[..., Any] = getattr(math, name)
        out.append((math.__dict__, name, scalar, _rebound(f"math.{name}", scalar, numpy_functions.UFUNCS[ufunc])))
    out.append((np.__dict__, "frompyfunc", _PLAIN_FROMPYFUNC, _frompyfunc))
    return out


@contextmanager
def rebound(*namespaces: dict[str, Any]) -> Generator[None]:
    """Rebind for the duration of a block, in NumPy, in math and in the given globals of programs."""
    table = _originals()
    becomes: Mapping[int, Any] = {id(entry[2]): entry[3] for entry in table}
    saved: list[tuple[dict[str, Any], str, Any]] = []
    for module, name, plain, new in table:
        saved.append((module, name, plain))
        module[name] = new
    for namespace in namespaces:
        for name, value in list(namespace.items()):
            new = becomes.get(id(value))
            if new is not None:
                saved.append((namespace, name, value))
                namespace[name] = new
    setattr(np.vectorize, "__call__", _vectorize_call)
    try:
        yield
    finally:
        setattr(np.vectorize, "__call__", _PLAIN_VECTORIZE_CALL)
        for namespace, name, value in reversed(saved):
            namespace[name] = value
