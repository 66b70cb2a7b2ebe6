# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Choices between traced values."""

from __future__ import annotations

from typing import Any

import numpy as np

from axon_mlir.errors import AxonError
from axon_mlir.frontend import operations as ops
from axon_mlir.frontend.numpy_shapes import copy
from axon_mlir.frontend.places import here
from axon_mlir.frontend.traced import (
    TracedTensor,
    numpy_function,
    size_term,
    unsupported,
)


@numpy_function(np.where)
def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """Three arguments only."""
    if x is None or y is None:
        unsupported("np.where with one argument (its shape depends on data)", "np.where(condition, a, b)")
    return ops.select(condition, x, y)


@numpy_function(np.clip, method="clip")
def clip(a: Any, a_min: Any = None, a_max: Any = None) -> Any:
    """Between two bounds."""
    x = ops.as_tensor(a)
    if a_min is not None:
        x = ops.elementwise("max", x, a_min)
    return copy(x) if a_max is None else ops.elementwise("min", x, a_max)


@numpy_function(np.triu)
def triu(m: Any, k: Any = 0) -> Any:
    """The upper triangle."""
    return _triangle(m, "ge", k)


@numpy_function(np.tril)
def tril(m: Any, k: Any = 0) -> Any:
    """The lower triangle."""
    return _triangle(m, "le", k)


def _triangle(m: Any, predicate: str, k: Any) -> TracedTensor:
    x = ops.as_tensor(m)
    if x.ndim < 2:
        raise AxonError("a triangle of an array of rank below 2", where=str(here()))
    rows, columns = ops.iota(x.terms, x.ndim - 2), ops.iota(x.terms, x.ndim - 1)
    bound = rows if size_term(k) == 0 else ops.elementwise("add", rows, k)
    zero: Any = False if x.node.dtype == "i1" else 0
    return ops.select(ops.compare(predicate, columns, bound), x, zero)
