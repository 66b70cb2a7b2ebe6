# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of traced arrays."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

import numpy as np

from axon_mlir.errors import AxonError
from axon_mlir.frontend import operations as ops
from axon_mlir.frontend.numpy_shapes import ravel
from axon_mlir.frontend.places import here
from axon_mlir.frontend.traced import (
    TracedTensor,
    as_integer,
    as_items,
    numpy_function,
    numpy_ufunc,
    unsupported,
)


@numpy_ufunc(np.matmul)
def matmul(x1: Any, x2: Any) -> Any:
    """The product over the last axis of the left and the last but one of the right, batch axes in front."""
    a, b = ops.as_tensor(x1), ops.as_tensor(x2)
    if a.ndim == 0 or b.ndim == 0:
        raise AxonError("np.matmul of a scalar", where=str(here()), accepted="arrays of rank 1 or more; * for scalars")
    right = 0 if b.ndim == 1 else b.ndim - 2
    if (a.ndim <= 2 and b.ndim <= 2) or b.ndim <= 2:
        return ops.contract(a, b, 0, [a.ndim - 1], [right], "np.matmul")
    if a.ndim == 1:
        # Batch axes of b alone: they come first, as they do in NumPy.
        return ops.contract(b, a, 0, [right], [0], "np.matmul")
    batch = ops.common_shape([a.terms[:-2], b.terms[:-2]], "np.matmul: batch")
    a = ops.broadcast_to(a, (*batch, *a.terms[-2:]))
    b = ops.broadcast_to(b, (*batch, *b.terms[-2:]))
    return ops.contract(a, b, len(batch), [a.ndim - 1], [b.ndim - 2], "np.matmul")


@numpy_function(np.dot, method="dot")
def dot(a: Any, b: Any) -> Any:
    """`np.dot`: over the last axis of a and the last but one of b."""
    x, y = ops.as_tensor(a), ops.as_tensor(b)
    if x.ndim == 0 or y.ndim == 0:
        return ops.elementwise("mul", x, y)
    return ops.contract(x, y, 0, [x.ndim - 1], [max(y.ndim - 2, 0)], "np.dot")


@numpy_function(np.tensordot)
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """Products summed over pairs of axes."""
    x, y = ops.as_tensor(a), ops.as_tensor(b)
    count = as_integer(axes)
    if count is not None:
        left, right = tuple(range(x.ndim - count, x.ndim)), tuple(range(count))
    else:
        pair = as_items(axes)
        if len(pair) != 2:
            unsupported(f"np.tensordot with axes={axes!r}", "a number, or two lists of axes")
        left, right = pair
    lhs = ops.axis_numbers(left, x.ndim, "np.tensordot")
    rhs = ops.axis_numbers(right, y.ndim, "np.tensordot")
    if len(lhs) != len(rhs):
        raise AxonError(f"np.tensordot: {len(lhs)} axes of a and {len(rhs)} of b", where=str(here()))
    if not lhs:
        return ops.elementwise("mul", ops.expand(x, range(x.ndim, x.ndim + y.ndim)), y)
    return ops.contract(x, y, 0, lhs, rhs, "np.tensordot")


@numpy_function(np.vdot)
def vdot(a: Any, b: Any) -> Any:
    """The sum of products of all elements."""
    return inner(ravel(a), ravel(b))


@numpy_function(np.inner)
def inner(a: Any, b: Any) -> Any:
    """Of two vectors, the sum of products; otherwise over both last axes."""
    x, y = ops.as_tensor(a), ops.as_tensor(b)
    return ops.contract(x, y, 0, [x.ndim - 1], [y.ndim - 1], "np.inner")


@numpy_function(np.outer)
def outer(a: Any, b: Any) -> Any:
    """Every product of two vectors."""
    x, y = ravel(ops.as_tensor(a)), ravel(ops.as_tensor(b))
    return ops.elementwise("mul", ops.expand(x, [1]), ops.expand(y, [0]))


_EINSUM = "np.einsum('mk,kn->mn', a, b): a letter for each axis, none twice in one operand, ... for the first axes"


@numpy_function(np.einsum)
def einsum(subscripts: Any, *operands: Any) -> Any:
    """Sums of products of elements; more than two operands are taken from the left."""
    if not isinstance(subscripts, str) or not operands:
        unsupported("np.einsum of this form", _EINSUM)
    values = [ops.as_tensor(o) for o in operands]
    terms, out = _letters(subscripts, values)
    wide = {c for t, x in zip(terms, values, strict=True) for c, size in zip(t, x.terms, strict=True) if size != 1}
    for n, letters in enumerate(terms):
        # An axis of size 1 repeats: the operand is as if it had no such axis.
        units = [axis for axis, c in enumerate(letters) if values[n].terms[axis] == 1 and c in wide]
        values[n] = ops.squeeze(values[n], units)
        terms[n] = "".join(c for axis, c in enumerate(letters) if axis not in units)
    while len(values) > 1:
        a, b, *rest = values
        ta, tb, *others = terms
        # Letters that nobody else has are summed first.
        last = out + "".join(others)
        a, ta = _without(a, ta, last + tb)
        b, tb = _without(b, tb, last + ta)
        made, letters = _pair(a, ta, b, tb, last, f"np.einsum('{subscripts}')")
        values, terms = [made, *rest], [letters, *others]
    x, letters = _without(values[0], terms[0], out)
    return ops.transpose(x, [letters.index(c) for c in out])


def _letters(subscripts: str, values: Sequence[TracedTensor]) -> tuple[list[str], str]:
    """The letters of each operand and of the result, an ellipsis written out."""
    left, arrow, out = subscripts.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(values):
        raise AxonError(f"np.einsum: {len(terms)} terms for {len(values)} operands", where=str(here()))
    spare = [c for c in string.ascii_letters if c not in left + out]
    hidden = 0
    for n, (term, x) in enumerate(zip(terms, values, strict=True)):
        if "..." in term:
            count = x.ndim - len(term) + 3
            hidden = max(hidden, count)
            terms[n] = term.replace("...", "".join(spare[-count:]) if count > 0 else "", 1)
    for term, x in zip(terms, values, strict=True):
        if len(term) != x.ndim:
            raise AxonError(
                f"np.einsum: '{term}' names {len(term)} axes of an array of rank {x.ndim}", where=str(here())
            )
    ellipsis = "".join(spare[-hidden:]) if hidden else ""
    if not arrow:
        joined = "".join(terms)
        once = sorted(c for c in set(joined) if joined.count(c) == 1 and c not in ellipsis)
        out = "..." + "".join(once)
    out = out.replace("...", ellipsis, 1)
    if (
        not all(t.isalpha() or not t for t in [*terms, out])
        or any(len(set(t)) != len(t) for t in [*terms, out])
        or any(c not in "".join(terms) for c in out)
    ):
        unsupported(f"np.einsum('{subscripts}')", _EINSUM)
    return terms, out


def _without(x: TracedTensor, letters: str, needed: str) -> tuple[TracedTensor, str]:
    gone = [n for n, c in enumerate(letters) if c not in needed]
    if not gone:
        return x, letters
    return ops.reduce("sum", x, gone, keepdims=False), "".join(c for c in letters if c in needed)


def _pair(a: TracedTensor, ta: str, b: TracedTensor, tb: str, out: str, what: str) -> tuple[TracedTensor, str]:
    """The product of two operands: shared letters that are needed later are batch axes, the others are summed."""
    batch = [c for c in ta if c in tb and c in out]
    summed = [c for c in ta if c in tb and c not in out]
    if batch:
        a, ta = _batch_first(a, ta, batch)
        b, tb = _batch_first(b, tb, batch)
    product = ops.contract(a, b, len(batch), [ta.index(c) for c in summed], [tb.index(c) for c in summed], what)
    free = [c for c in ta + tb if c not in batch + summed]
    return product, "".join([*batch, *free])


def _batch_first(x: TracedTensor, letters: str, batch: Sequence[str]) -> tuple[TracedTensor, str]:
    order = "".join([*batch, *(c for c in letters if c not in batch)])
    return ops.transpose(x, [letters.index(c) for c in order]), order
