# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions that NumPy's protocols do not reach, rebound while a program is loaded and traced.

`np.ones((n, 1))` never asks its arguments what to do, and `math.sqrt(n)` asks for a float. While a trace runs, these
names (in `numpy`, in `math` and in the program's own globals) stand for functions that accept sizes and traced values,
and do what they always did with anything else.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

from axon_mlir.frontend import numpy_functions
from axon_mlir.frontend import operations as ops
from axon_mlir.frontend.recording import current, is_recording
from axon_mlir.frontend.traced import (
    FUNCTIONS,
    NAMED_UFUNCS,
    UFUNCS,
    WRAPPED_FUNCTIONS,
    Size,
    Traced,
    TracedTensor,
    invoke,
    numpy_name,
    unsupported,
)
from axon_mlir.semantics import index as ix

_PLAIN_FROMPYFUNC: Callable[..., Any] = np.frompyfunc
_PLAIN_VECTORIZE_CALL: Callable[..., Any] = np.vectorize.__call__


def _touches(*values: Any) -> bool:
    """Whether a traced value is among the arguments, however deep in tuples and lists."""
    return any(isinstance(v, Traced) or (isinstance(v, tuple | list) and _touches(*v)) for v in values)


def _filled(value: Any, shape: Any, dtype: Any, what: str) -> TracedTensor:
    terms = ops.read_shape(shape, what)
    wide = ops.weak_type(dtype)
    if wide is None:
        return ops.full(terms, value, None if dtype is None else ops.dtype_of(dtype, "dtype"))
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
    wide = ops.weak_type(dtype)
    if dtype is None or wide is None:
        return ops.empty(terms, None if dtype is None else ops.dtype_of(dtype, "dtype"))
    out = ops.empty(terms, wide)
    return TracedTensor(out.node, weak=wide != "i1")


def _converted(x: TracedTensor, dtype: Any) -> TracedTensor:
    if dtype is None or dtype is float:
        return x
    return ops.convert(x, ops.weak_type(dtype) or ops.dtype_of(dtype, "dtype"))


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


def _array(object: Any, dtype: Any = None) -> Any:
    return _converted(numpy_functions.copy(object), dtype)


_CREATION: dict[str, Callable[..., Any]] = {
    "ones": _ones,
    "zeros": _zeros,
    "full": _full,
    "empty": _empty,
    "eye": _eye,
    "identity": _identity,
    "arange": _arange,
    "asarray": _asarray,
    "array": _array,
    "ascontiguousarray": _array,
}
_FILLED = ("ones", "zeros", "full", "empty")
"""Those whose arrays a program may fill with traced values: in a trace they are traced for plain sizes, too."""
_MATH: dict[str, np.ufunc] = {
    "sqrt": np.sqrt,
    "exp": np.exp,
    "log": np.log,
    "tanh": np.tanh,
    "sin": np.sin,
    "cos": np.cos,
    "pow": np.power,
    "fabs": np.absolute,
    "floor": np.floor,
    "ceil": np.ceil,
}


def _rebound(name: str, plain: Callable[..., Any], traced: Callable[..., Any]) -> Callable[..., Any]:
    def function(*args: Any, **kwargs: Any) -> Any:
        return invoke(name, traced, args, kwargs) if _touches(*args, *kwargs.values()) else plain(*args, **kwargs)

    function.__name__ = getattr(plain, "__name__", name)
    return function


def _filling(name: str, plain: Callable[..., Any], traced: Callable[..., Any]) -> Callable[..., Any]:
    """For plain sizes too: the program may assign traced values to elements."""

    def function(*args: Any, **kwargs: Any) -> Any:
        if _touches(*args, *kwargs.values()) or (is_recording() and ops.is_element_type(kwargs.get("dtype"))):
            return invoke(name, traced, args, kwargs)
        return plain(*args, **kwargs)

    function.__name__ = name
    return function


def _len(value: Any, /) -> Any:
    return value.shape[0] if isinstance(value, TracedTensor) and value.ndim else len(value)


def _range(*bounds: Any) -> range:
    """Loops are unrolled: a size in the bounds becomes its number."""
    numbers = [
        current().sizes.force(b.term, "a loop over a size (range), which is unrolled,") if isinstance(b, Size) else b
        for b in bounds
    ]
    return range(*numbers)


_BUILTINS: dict[str, Callable[..., Any]] = {"len": _len, "range": _range}
"""Builtins that the program's own globals see anew: Python insists on plain integers there."""


_PLAIN_ERF = math.erf
_TRACED_ERF = _rebound("math.erf", math.erf, NAMED_UFUNCS["erf"])


def _frompyfunc(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    made: np.ufunc = _PLAIN_FROMPYFUNC(func, *args, **kwargs)
    WRAPPED_FUNCTIONS[id(made)] = func
    _KEPT.append(made)
    if func in (_PLAIN_ERF, _TRACED_ERF):
        UFUNCS[made] = NAMED_UFUNCS["erf"]
    return made


_KEPT: list[Any] = []
"""Ufuncs that programs made: kept alive so that their ids stay theirs."""


def _vectorize_call(self: Any, *args: Any, **kwargs: Any) -> Any:
    if _touches(*args, *kwargs.values()):
        name = getattr(self.pyfunc, "__name__", "a function")
        unsupported(f"np.vectorize({name})", "NumPy's own functions on whole arrays")
    return _PLAIN_VECTORIZE_CALL(self, *args, **kwargs)


Rebinding = tuple[dict[str, Any], str, Any, Any]
"""(names of a module, name, what it is, what it becomes)."""


@cache
def _rebindings() -> Sequence[Rebinding]:
    """In modules: what NumPy itself may see, too."""
    out: list[Rebinding] = []
    for name, traced in _CREATION.items():
        plain: Callable[..., Any] = getattr(np, name)
        out.append((np.__dict__, name, plain, _rebound(f"np.{name}", plain, traced)))
    for module in (np, np.linalg):
        for name, function in list(vars(module).items()):
            handler = FUNCTIONS.get(function) if inspect.isroutine(function) else None
            if handler is not None:
                # NumPy asks arrays what to do, but not lists of them.
                out.append((module.__dict__, name, function, _rebound(numpy_name(function), function, handler)))
    for name, ufunc in _MATH.items():
        scalar: Callable[..., Any] = getattr(math, name)
        out.append((math.__dict__, name, scalar, _rebound(f"math.{name}", scalar, numpy_functions.UFUNCS[ufunc])))
    out.append((math.__dict__, "erf", _PLAIN_ERF, _TRACED_ERF))
    out.append((np.__dict__, "frompyfunc", _PLAIN_FROMPYFUNC, _frompyfunc))
    return out


@cache
def _in_programs() -> Mapping[int, Any]:
    """In the globals of programs: id of a value -> what it becomes. NumPy itself needs its own arrays."""
    becomes: dict[int, Any] = {}
    for _, name, plain, new in _rebindings():
        seen = _filling(f"np.{name}", plain, _CREATION[name]) if name in _FILLED else new
        becomes[id(plain)] = becomes[id(new)] = seen
    numpy = ModuleType("numpy")
    vars(numpy).update(vars(np))
    for name, value in vars(np).items():
        vars(numpy)[name] = becomes.get(id(value), value)
    becomes[id(np)] = numpy
    return becomes


@contextmanager
def rebound(*namespaces: dict[str, Any]) -> Generator[None]:
    """Rebind for the duration of a block, in NumPy, in math and in the given globals of programs."""
    absent = object()
    saved: list[tuple[dict[str, Any], str, Any]] = []

    def bind(names: dict[str, Any], name: str, new: Any) -> None:
        saved.append((names, name, names.get(name, absent)))
        names[name] = new

    becomes = _in_programs()
    for module, name, _, new in _rebindings():
        bind(module, name, new)
    for namespace in namespaces:
        for name, value in list(namespace.items()):
            if id(value) in becomes:
                bind(namespace, name, becomes[id(value)])
        for name, new in _BUILTINS.items():
            if name not in namespace:
                bind(namespace, name, new)
    setattr(np.vectorize, "__call__", _vectorize_call)
    try:
        yield
    finally:
        setattr(np.vectorize, "__call__", _PLAIN_VECTORIZE_CALL)
        for names, name, value in reversed(saved):
            if value is absent:
                del names[name]
            else:
                names[name] = value
