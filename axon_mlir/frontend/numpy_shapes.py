# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Another shape or order for the same elements, and what a program asks about shapes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from axon_mlir.errors import AxonError
from axon_mlir.frontend import operations as ops
from axon_mlir.frontend.element_types import dtype_of, kind, weak_type
from axon_mlir.frontend.places import here
from axon_mlir.frontend.recording import current
from axon_mlir.frontend.traced import (
    FUNCTIONS,
    METHODS,
    TracedTensor,
    as_items,
    as_size,
    numpy_function,
    numpy_name,
    unsupported,
)
from axon_mlir.semantics import index as ix


@numpy_function(np.swapaxes, method="swapaxes")
def swapaxes(a: Any, axis1: Any, axis2: Any) -> Any:
    """Exchange two axes."""
    x = ops.as_tensor(a)
    i, j = (ops.axis_number(n, x.ndim, "np.swapaxes") for n in (axis1, axis2))
    perm = list(range(x.ndim))
    perm[i], perm[j] = perm[j], perm[i]
    return ops.transpose(x, perm)


@numpy_function(np.transpose, np.permute_dims)
def transpose(a: Any, axes: Any = None) -> Any:
    """Permute axes; all are reversed when none are named."""
    x = ops.as_tensor(a)
    perm = tuple(range(x.ndim))[::-1] if axes is None else ops.axis_numbers(axes, x.ndim, "np.transpose")
    if len(perm) != x.ndim:
        raise AxonError(f"np.transpose: {len(perm)} axes for an array of rank {x.ndim}", where=str(here()))
    return ops.transpose(x, perm)


METHODS["T"] = transpose


def _transpose_method(a: Any, *axes: Any) -> Any:
    if len(axes) == 1 and (axes[0] is None or isinstance(axes[0], tuple | list)):
        return transpose(a, axes[0])
    return transpose(a, axes or None)


METHODS["transpose"] = _transpose_method


@numpy_function(np.matrix_transpose)
def matrix_transpose(x: Any) -> Any:
    """Exchange the last two axes."""
    return swapaxes(x, -1, -2)


METHODS["mT"] = matrix_transpose


@numpy_function(np.moveaxis)
def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    """Move axes, the others keep their order."""
    x = ops.as_tensor(a)
    src = ops.axis_numbers(source, x.ndim, "np.moveaxis")
    dst = ops.axis_numbers(destination, x.ndim, "np.moveaxis")
    order = [n for n in range(x.ndim) if n not in src]
    for d, s in sorted(zip(dst, src, strict=True)):
        order.insert(d, s)
    return ops.transpose(x, order)


@numpy_function(np.reshape)
def reshape(a: Any, shape: Any) -> Any:
    """The same elements in row-major order; one size may be -1."""
    x = ops.as_tensor(a)
    items = as_items(shape)
    holes = [n for n, s in enumerate(items) if isinstance(s, int) and s == -1]
    if len(holes) > 1:
        raise AxonError("np.reshape: more than one -1", where=str(here()))
    if holes:
        rest = ops.read_shape([s for n, s in enumerate(items) if n != holes[0]], "np.reshape")
        total = math.prod(x.terms, start=ix.const(1))
        known = math.prod(rest, start=ix.const(1))
        items = (*items[: holes[0]], as_size(ix.floor_div(total, known)), *items[holes[0] + 1 :])
    return ops.reshape(x, ops.read_shape(items, "np.reshape"))


def _reshape_method(a: Any, *shape: Any) -> Any:
    return reshape(a, shape[0] if len(shape) == 1 else shape)


METHODS["reshape"] = _reshape_method


@numpy_function(np.ravel, method="ravel")
def ravel(a: Any) -> Any:
    """One axis."""
    return ops.perhaps_view(reshape(a, -1))


def _flatten(a: Any) -> Any:
    return copy(reshape(a, -1))


METHODS["flatten"] = _flatten


@numpy_function(np.expand_dims)
def expand_dims(a: Any, axis: Any) -> Any:
    """Insert unit axes."""
    x = ops.as_tensor(a)
    return ops.expand(x, ops.axis_numbers(axis, x.ndim + len(as_items(axis)), "np.expand_dims"))


@numpy_function(np.squeeze, method="squeeze")
def squeeze(a: Any, axis: Any = None) -> Any:
    """Drop unit axes."""
    x = ops.as_tensor(a)
    if axis is None:
        return ops.squeeze(x, [n for n, s in enumerate(x.terms) if current().sizes.value_of(s) == 1])
    return ops.squeeze(x, ops.axis_numbers(axis, x.ndim, "np.squeeze"))


@numpy_function(np.broadcast_to)
def broadcast_to(array: Any, shape: Any) -> Any:
    """Repeat to a shape."""
    return ops.broadcast_to(ops.as_tensor(array), ops.read_shape(shape, "np.broadcast_to"))


@numpy_function(np.flip)
def flip(m: Any, axis: Any = None) -> Any:
    """Backwards along axes."""
    x = ops.as_tensor(m)
    return ops.flip(x, ops.axis_numbers(axis, x.ndim, "np.flip"))


@numpy_function(np.copy, method="copy")
def copy(a: Any) -> Any:
    """The same value, which assignments to the array do not change."""
    x = ops.as_tensor(a)
    return TracedTensor(x.node, weak=x.weak)


def _astype(a: Any, dtype: Any, copy: Any = True) -> Any:
    x = ops.as_tensor(a)
    name = dtype_of(dtype, "conversion to") if weak_type(dtype) is None else None
    if name is None:
        # `astype(float)` asks for no more than a kind: what has it already stays.
        wide = cast(str, weak_type(dtype))
        name = x.node.dtype if kind(x.node.dtype) == kind(wide) else wide
    if name == x.node.dtype and not copy:
        return x
    return ops.convert(x, name)


METHODS["astype"] = _astype
FUNCTIONS[np.astype] = _astype


def _converted(ufunc: np.ufunc, operands: Sequence[Any], dtype: Any) -> list[Any]:
    """The operands in the type in which `dtype=` asks a function to compute."""
    name = numpy_name(ufunc)
    wanted = dtype_of(dtype, name)
    char = np.dtype(dtype).char
    if f"{char * ufunc.nin}->{char}" not in ufunc.types:
        unsupported(f"{name} with dtype={np.dtype(dtype)}", f"{name} of operands of the type wanted")
    out: list[Any] = []
    for x in operands:
        if isinstance(x, TracedTensor) and kind(x.node.dtype) > kind(wanted):
            raise AxonError(
                f"{name} with dtype={np.dtype(dtype)} does not take {x.node.dtype} operands (as in NumPy)",
                where=str(here()),
                accepted=f"x.astype(np.{np.dtype(dtype)})",
            )
        out.append(_astype(x, dtype) if isinstance(x, TracedTensor) and not x.weak else x)
    return out


METHODS["operands_in"] = _converted


@numpy_function(np.shape)
def shape(a: Any) -> Any:
    """The shape, as the program sees it."""
    return ops.as_tensor(a).shape


@numpy_function(np.ndim)
def ndim(a: Any) -> int:
    """The number of axes."""
    return ops.as_tensor(a).ndim


@numpy_function(np.size)
def size(a: Any, axis: Any = None) -> Any:
    """The number of elements, or the length of an axis."""
    x = ops.as_tensor(a)
    return x.size if axis is None else x.shape[ops.axis_number(axis, x.ndim, "np.size")]
