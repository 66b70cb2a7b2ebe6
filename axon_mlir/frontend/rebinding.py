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
from typing import Any, cast

import numpy as np

from axon_mlir.frontend.element_types import is_element_type
from axon_mlir.frontend.loops import Counted, backwards, count_steps, enumerated, zipped
from axon_mlir.frontend.numpy_creation import CREATION, FILLED
from axon_mlir.frontend.numpy_functions import FUNCTIONS, NAMED_UFUNCS, UFUNCS
from axon_mlir.frontend.recording import is_recording
from axon_mlir.frontend.scipy_special import TRACED, special_module
from axon_mlir.frontend.traced import (
    WRAPPED_FUNCTIONS,
    Each,
    Size,
    Traced,
    TracedTensor,
    as_size,
    invoke,
    numpy_name,
    unsupported,
)

_PLAIN_FROMPYFUNC: Callable[..., Any] = np.frompyfunc
_PLAIN_VECTORIZE_CALL: Callable[..., Any] = np.vectorize.__call__


def _touches(*values: Any) -> bool:
    """Whether a traced value is among the arguments, however deep in tuples and lists."""
    return any(isinstance(v, Traced | Each) or (isinstance(v, tuple | list) and _touches(*v)) for v in values)


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
        if _touches(*args, *kwargs.values()) or (is_recording() and is_element_type(kwargs.get("dtype"))):
            return invoke(name, traced, args, kwargs)
        return plain(*args, **kwargs)

    function.__name__ = name
    return function


def _len(value: Any, /) -> Any:
    if isinstance(value, Counted):
        return as_size(value.count)
    if isinstance(value, TracedTensor) and value.ndim:
        return value.shape[0]
    if not isinstance(value, list):
        return len(value)
    # What the steps of a loop have put into a list counts for each.
    entries = cast("list[Any]", value)
    return sum((e.values.shape[0] - 1 for e in entries if isinstance(e, Each)), len(entries))


def _range(*bounds: Any) -> Any:
    return count_steps(*bounds) if any(isinstance(b, Size) for b in bounds) and len(bounds) <= 3 else range(*bounds)


_BUILTINS: dict[str, Callable[..., Any]] = {
    "len": _len,
    "range": _range,
    "enumerate": enumerated,
    "zip": zipped,
    "reversed": backwards,
}
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
    for name, traced in CREATION.items():
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
        out.append((math.__dict__, name, scalar, _rebound(f"math.{name}", scalar, UFUNCS[ufunc])))
    out.append((math.__dict__, "erf", _PLAIN_ERF, _TRACED_ERF))
    out.append((np.__dict__, "frompyfunc", _PLAIN_FROMPYFUNC, _frompyfunc))
    return out


def _special() -> Sequence[tuple[str, Any, Any]]:
    """(name, what it is, what it becomes) in scipy.special, when the program has imported it."""
    names = vars(special_module()) if special_module() is not None else {}
    return [
        (name, names[name], _rebound(f"scipy.special.{name}", names[name], traced))
        for name, traced in TRACED.items()
        if name in names
    ]


@cache
def _in_programs() -> Mapping[int, Any]:
    """In the globals of programs: id of a value -> what it becomes. NumPy itself needs its own arrays."""
    becomes: dict[int, Any] = {}
    for _, name, plain, new in _rebindings():
        seen = _filling(f"np.{name}", plain, CREATION[name]) if name in FILLED else new
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

    becomes = dict(_in_programs())
    for module, name, _, new in _rebindings():
        bind(module, name, new)
    for name, plain, new in _special():
        becomes[id(plain)] = new
        bind(vars(special_module()), name, new)
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
