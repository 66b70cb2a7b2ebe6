# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Element types of traced values: NumPy's names for ours, what mixes to what, constants.

Promotion is NumPy's, with bf16 in the place of float16; there is no float64 and no int64.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from axon_mlir.errors import AxonError
from axon_mlir.frontend.places import here
from axon_mlir.frontend.recording import Node, current
from axon_mlir.frontend.traced import DTYPES, unsupported

NAMES: dict[np.dtype[Any], str] = {v: k for k, v in DTYPES.items()}
"""NumPy's type -> ours."""
WIDE = {np.dtype(np.float64): "f32", np.dtype(np.int64): "i32"}
"""NumPy's types of numbers that say no more than their kind -> ours."""


def kind(dtype: str) -> int:
    """0 truth values, 1 integers, 2 floats."""
    return 0 if dtype == "i1" else 1 if dtype.startswith("i") else 2


def dtype_of(value: Any, what: str) -> str:
    """The element type that a program asks for with `dtype=` or `astype`."""
    try:
        dtype = np.dtype(value)
    except TypeError:
        raise AxonError(f"{what}: '{value}' is not an element type", where=str(here()), accepted=type_names()) from None
    if dtype not in NAMES:
        unsupported(f"{what} {dtype}", type_names())
    return NAMES[dtype]


def weak_type(dtype: Any) -> str | None:
    """The element type of Python's own `float`, `int`, `bool`, which say no more than the kind; None for others."""
    return {float: "f32", int: "i32", bool: "i1"}.get(dtype) if isinstance(dtype, type) else None


def is_element_type(dtype: Any) -> bool:
    """Whether a `dtype=` is one that traced values have; None is."""
    return dtype is None or weak_type(dtype) is not None or np.dtype(dtype) in NAMES


def type_names() -> str:
    """All of NumPy's types that we have, for messages."""
    return ", ".join(str(d) for d in DTYPES.values())


def promote(a: str, b: str) -> str:
    """The common type of two arrays."""
    if a == b:
        return a
    ka, kb = kind(a), kind(b)
    if ka == kb == 2:
        return "f32"
    if ka == kb == 1:
        return "i32"
    low, high = (a, b) if ka < kb else (b, a)
    if kind(low) == 1 and low != "i8":
        unsupported(f"mixing {low} and {high} arrays (NumPy would compute in float64)", "x.astype(np.float32)")
    return high


def constant(value: float | int | bool, dtype: str) -> Node:
    """A scalar constant."""
    if isinstance(value, float) and math.isnan(value):
        unsupported("not-a-number as a constant", "finite numbers and infinities")
    number: float | int = float(value) if kind(dtype) == 2 else int(value)
    return current().record("constant", (), (), dtype, {"value": number})
