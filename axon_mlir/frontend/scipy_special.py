# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`scipy.special`: what its functions do to traced values, and a stand-in where scipy is not installed."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import numpy as np

from axon_mlir.frontend import operations as ops
from axon_mlir.frontend.numpy_ufuncs import NAMED_UFUNCS


def softmax(x: Any, axis: Any = None) -> Any:
    """Exponentials over their sum, the maximum subtracted."""
    a = ops.as_tensor(x)
    axes = ops.axis_numbers(axis, a.ndim, "scipy.special.softmax")
    e = ops.elementwise("exp", ops.elementwise("sub", a, ops.reduce("max", a, axes, keepdims=True)), floats=True)
    return ops.elementwise("div", e, ops.reduce("sum", e, axes, keepdims=True))


def log_softmax(x: Any, axis: Any = None) -> Any:
    """The logarithm of softmax."""
    a = ops.as_tensor(x)
    axes = ops.axis_numbers(axis, a.ndim, "scipy.special.log_softmax")
    shifted = ops.elementwise("sub", a, ops.reduce("max", a, axes, keepdims=True))
    total = ops.reduce("sum", ops.elementwise("exp", shifted, floats=True), axes, keepdims=True)
    return ops.elementwise("sub", shifted, ops.elementwise("log", total))


TRACED: Mapping[str, Callable[..., Any]] = {
    "erf": NAMED_UFUNCS["erf"],
    "expit": NAMED_UFUNCS["expit"],
    "softmax": softmax,
    "log_softmax": log_softmax,
}
"""Name in scipy.special -> what it does to traced values."""


def _plain_softmax(x: Any, axis: Any = None) -> Any:
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


def _plain_log_softmax(x: Any, axis: Any = None) -> Any:
    return np.log(_plain_softmax(x, axis))


def _plain_expit(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


_PLAIN: Mapping[str, Callable[..., Any]] = {
    "erf": np.vectorize(math.erf, otypes=[float]),
    "expit": _plain_expit,
    "softmax": _plain_softmax,
    "log_softmax": _plain_log_softmax,
}


def stand_in() -> None:
    """Make `import scipy.special` work for the functions above where there is no scipy."""
    if "scipy" in sys.modules or find_spec("scipy") is not None:
        return
    scipy, special = ModuleType("scipy"), ModuleType("scipy.special")
    vars(special).update(_PLAIN)
    setattr(scipy, "special", special)
    sys.modules.update({"scipy": scipy, "scipy.special": special})


def special_module() -> ModuleType | None:
    """scipy.special, when the program has imported it."""
    return sys.modules.get("scipy.special")
