# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What NumPy's functions do to traced values. Importing this module fills the tables of `traced`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from axon_mlir.errors import AxonError
from axon_mlir.frontend import operations as ops
from axon_mlir.frontend.places import here
from axon_mlir.frontend.recording import current
from axon_mlir.frontend.traced import (
    FUNCTIONS,
    METHODS,
    UFUNCS,
    Handler,
    Size,
    TracedTensor,
    as_items,
    as_size,
    size_term,
    unsupported,
)
from axon_mlir.semantics import index as ix
from axon_mlir.semantics.index import Index


def _ufunc(*ufuncs: np.ufunc) -> Callable[[Handler], Handler]:
    def register(handler: Handler) -> Handler:
        for u in ufuncs:
            UFUNCS[u] = handler
        return handler

    return register


def _function(*functions: Callable[..., Any], method: str | None = None) -> Callable[[Handler], Handler]:
    def register(handler: Handler) -> Handler:
        for f in functions:
            FUNCTIONS[f] = handler
        if method is not None:
            METHODS[method] = handler
        return handler

    return register


# -- ufuncs ------------------------------------------------------------------------------------------


def _register_simple_ufuncs() -> None:
    def binary(function: str, floats: bool) -> Handler:
        def handler(x1: Any, x2: Any) -> Any:
            return ops.elementwise(function, x1, x2, floats=floats)

        return handler

    def unary(function: str, floats: bool) -> Handler:
        def handler(x: Any) -> Any:
            return ops.elementwise(function, x, floats=floats)

        return handler

    for ufunc, function in ((np.add, "add"), (np.subtract, "sub"), (np.multiply, "mul")):
        UFUNCS[ufunc] = binary(function, False)
    for ufunc, function in ((np.maximum, "max"), (np.minimum, "min")):
        UFUNCS[ufunc] = binary(function, False)
    UFUNCS[np.true_divide] = binary("div", True)
    for ufunc, function in (
        (np.negative, "neg"),
        (np.absolute, "abs"),
        (np.square, "square"),
        (np.sign, "sign"),
        (np.floor, "floor"),
    ):
        UFUNCS[ufunc] = unary(function, False)
    for ufunc, function in (
        (np.exp, "exp"),
        (np.log, "log"),
        (np.sqrt, "sqrt"),
        (np.tanh, "tanh"),
        (np.sin, "sin"),
        (np.cos, "cos"),
        (np.reciprocal, "reciprocal"),
    ):
        UFUNCS[ufunc] = unary(function, True)
    for ufunc, predicate in (
        (np.less, "lt"),
        (np.less_equal, "le"),
        (np.greater, "gt"),
        (np.greater_equal, "ge"),
        (np.equal, "eq"),
        (np.not_equal, "ne"),
    ):
        UFUNCS[ufunc] = _comparison(predicate)


def _comparison(predicate: str) -> Handler:
    def handler(x1: Any, x2: Any) -> Any:
        return ops.compare(predicate, x1, x2)

    return handler


_register_simple_ufuncs()


@_ufunc(np.positive)
def _positive(x: Any) -> Any:
    return ops.as_tensor(x)


@_ufunc(np.power)
def power(x1: Any, x2: Any) -> Any:
    """Powers with a constant integer or half exponent."""
    exponent = ops.as_operand(x2)
    if isinstance(exponent, Size | TracedTensor) or not (2 * exponent == int(2 * exponent)):
        unsupported(f"np.power with the exponent {x2!r}", "a constant integer or half: x**2, x**3, x**0.5, x**-0.5")
    floats = isinstance(exponent, float) or exponent < 0
    match exponent:
        case 0:
            return ones_like(ops.as_tensor(x1))
        case 1:
            return ops.as_tensor(x1)
        case 2:
            return ops.elementwise("square", x1, floats=floats)
        case 0.5:
            return ops.elementwise("sqrt", x1, floats=True)
        case -0.5:
            return ops.elementwise("rsqrt", x1, floats=True)
        case -1:
            return ops.elementwise("reciprocal", x1, floats=True)
        case _:
            return ops.elementwise("power", x1, exponent, floats=floats)


@_ufunc(np.bitwise_and, np.logical_and)
def _and(x1: Any, x2: Any) -> Any:
    return ops.select(_truth(x1), _truth(x2), False)


@_ufunc(np.bitwise_or, np.logical_or)
def _or(x1: Any, x2: Any) -> Any:
    return ops.select(_truth(x1), True, _truth(x2))


@_ufunc(np.invert, np.logical_not)
def _not(x: Any) -> Any:
    return ops.select(_truth(x), False, True)


def _truth(x: Any) -> TracedTensor:
    t = ops.as_tensor(x)
    if t.node.dtype != "i1":
        unsupported(f"logic on {t.node.dtype} arrays", "comparisons: (x > 0) & (y > 0)")
    return TracedTensor(t.node)


@_ufunc(np.matmul)
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


# -- products ------------------------------------------------------------------------------------------


@_function(np.dot, method="dot")
def dot(a: Any, b: Any) -> Any:
    """`np.dot`: over the last axis of a and the last but one of b."""
    x, y = ops.as_tensor(a), ops.as_tensor(b)
    if x.ndim == 0 or y.ndim == 0:
        return ops.elementwise("mul", x, y)
    return ops.contract(x, y, 0, [x.ndim - 1], [max(y.ndim - 2, 0)], "np.dot")


@_function(np.outer)
def outer(a: Any, b: Any) -> Any:
    """Every product of two vectors."""
    x, y = ravel(ops.as_tensor(a)), ravel(ops.as_tensor(b))
    return ops.elementwise("mul", ops.expand(x, [1]), ops.expand(y, [0]))


@_function(np.einsum)
def einsum(subscripts: Any, *operands: Any) -> Any:
    """One or two operands, no repeated letters within one."""
    accepted = "np.einsum('mk,kn->mn', a, b): one or two operands, letters only, none twice in one operand"
    if not isinstance(subscripts, str) or len(operands) not in (1, 2):
        unsupported("np.einsum of this form", accepted)
    text = subscripts.replace(" ", "")
    left, arrow, out = text.partition("->")
    terms = left.split(",")
    if not arrow:
        joined = left.replace(",", "")
        out = "".join(sorted(c for c in set(joined) if joined.count(c) == 1))
    if (
        len(terms) != len(operands)
        or not all(t.isalpha() or not t for t in [*terms, out])
        or any(len(set(t)) != len(t) for t in [*terms, out])
        or any(c not in left for c in out)
    ):
        unsupported(f"np.einsum('{subscripts}')", accepted)
    values = [ops.as_tensor(o) for o in operands]
    for t, v in zip(terms, values, strict=True):
        if len(t) != v.ndim:
            raise AxonError(f"np.einsum: '{t}' names {len(t)} axes of an array of rank {v.ndim}", where=str(here()))
    # Letters of one operand that the result lacks are summed first.
    for n, t in enumerate(terms):
        others = out + "".join(terms[:n] + terms[n + 1 :])
        gone = [i for i, c in enumerate(t) if c not in others]
        if gone:
            values[n] = ops.reduce("sum", values[n], gone, keepdims=False)
            terms[n] = "".join(c for c in t if c in others)
    if len(values) == 1:
        return ops.transpose(values[0], [terms[0].index(c) for c in out])
    a, b = values
    ta, tb = terms
    batch = [c for c in ta if c in tb and c in out]
    summed = [c for c in ta if c in tb and c not in out]
    if batch:
        a, ta = _batch_first(a, ta, batch)
        b, tb = _batch_first(b, tb, batch)
    product = ops.contract(
        a, b, len(batch), [ta.index(c) for c in summed], [tb.index(c) for c in summed], f"np.einsum('{subscripts}')"
    )
    have = "".join([*batch, *(c for c in ta if c not in batch + summed), *(c for c in tb if c not in batch + summed)])
    return ops.transpose(product, [have.index(c) for c in out])


def _batch_first(x: TracedTensor, letters: str, batch: Sequence[str]) -> tuple[TracedTensor, str]:
    order = "".join([*batch, *(c for c in letters if c not in batch)])
    return ops.transpose(x, [letters.index(c) for c in order]), order


# -- reductions ------------------------------------------------------------------------------------------


def _reduction(monoid: str, what: str) -> Handler:
    def handler(a: Any, axis: Any = None, keepdims: Any = False) -> Any:
        x = ops.as_tensor(a)
        return ops.reduce(monoid, x, ops.axis_numbers(axis, x.ndim, what), keepdims=bool(keepdims))

    return handler


_function(np.sum, method="sum")(_reduction("sum", "np.sum"))
_function(np.prod, method="prod")(_reduction("prod", "np.prod"))
_function(np.max, method="max")(_reduction("max", "np.max"))
_function(np.amax)(_reduction("max", "np.amax"))
_function(np.min, method="min")(_reduction("min", "np.min"))
_function(np.amin)(_reduction("min", "np.amin"))


def _count(x: TracedTensor, axes: Sequence[int]) -> Index:
    return math.prod((x.terms[a] for a in axes), start=ix.const(1))


@_function(np.mean, method="mean")
def mean(a: Any, axis: Any = None, keepdims: Any = False) -> Any:
    """Sum over count: the sum stays in f32, the quotient is rounded."""
    x = ops.as_tensor(a)
    axes = ops.axis_numbers(axis, x.ndim, "np.mean")
    return _average(x, axes, _count(x, axes), bool(keepdims))


def _average(x: TracedTensor, axes: Sequence[int], count: Index, keepdims: bool) -> TracedTensor:
    if ops.kind(x.node.dtype) < 2:
        x = TracedTensor(ops.node_of(x, "f32"), weak=True)
    total = ops.reduce("sum", x, axes, keepdims=keepdims, dtype="f32")
    out = ops.elementwise("div", total, as_size(count), floats=True, dtype=x.node.dtype)
    return TracedTensor(out.node, weak=x.weak)


@_function(np.var, method="var")
def var(a: Any, axis: Any = None, ddof: Any = 0, keepdims: Any = False) -> Any:
    """The mean of the squared deviations."""
    x = ops.as_tensor(a)
    axes = ops.axis_numbers(axis, x.ndim, "np.var")
    centred = ops.elementwise("sub", x, mean(x, axes, True))
    count = _count(x, axes) - ops.read_size(ddof, "np.var ddof")
    return _average(ops.elementwise("square", centred), axes, count, bool(keepdims))


@_function(np.std, method="std")
def std(a: Any, axis: Any = None, ddof: Any = 0, keepdims: Any = False) -> Any:
    """The root of the variance."""
    return ops.elementwise("sqrt", var(a, axis, ddof, keepdims), floats=True)


@_function(np.cumsum, method="cumsum")
def cumsum(a: Any, axis: Any = None) -> Any:
    """Running sums."""
    x = ops.as_tensor(a)
    if axis is None:
        x, axis = ravel(x), 0
    return ops.scan("sum", x, ops.axis_number(axis, x.ndim, "np.cumsum"))


# -- selection ------------------------------------------------------------------------------------------


@_function(np.where)
def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """Three arguments only."""
    if x is None or y is None:
        unsupported("np.where with one argument (its shape depends on data)", "np.where(condition, a, b)")
    return ops.select(condition, x, y)


@_function(np.clip, method="clip")
def clip(a: Any, a_min: Any = None, a_max: Any = None) -> Any:
    """Between two bounds."""
    x = ops.as_tensor(a)
    if a_min is not None:
        x = ops.elementwise("max", x, a_min)
    return x if a_max is None else ops.elementwise("min", x, a_max)


@_function(np.triu)
def triu(m: Any, k: Any = 0) -> Any:
    """The upper triangle."""
    return _triangle(m, "ge", k)


@_function(np.tril)
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


# -- shapes ------------------------------------------------------------------------------------------


@_function(np.swapaxes, method="swapaxes")
def swapaxes(a: Any, axis1: Any, axis2: Any) -> Any:
    """Exchange two axes."""
    x = ops.as_tensor(a)
    i, j = (ops.axis_number(n, x.ndim, "np.swapaxes") for n in (axis1, axis2))
    perm = list(range(x.ndim))
    perm[i], perm[j] = perm[j], perm[i]
    return ops.transpose(x, perm)


@_function(np.transpose, np.permute_dims)
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


@_function(np.matrix_transpose)
def matrix_transpose(x: Any) -> Any:
    """Exchange the last two axes."""
    return swapaxes(x, -1, -2)


@_function(np.moveaxis)
def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    """Move axes, the others keep their order."""
    x = ops.as_tensor(a)
    src = ops.axis_numbers(source, x.ndim, "np.moveaxis")
    dst = ops.axis_numbers(destination, x.ndim, "np.moveaxis")
    order = [n for n in range(x.ndim) if n not in src]
    for d, s in sorted(zip(dst, src, strict=True)):
        order.insert(d, s)
    return ops.transpose(x, order)


@_function(np.reshape)
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


@_function(np.ravel, method="ravel")
def ravel(a: Any) -> Any:
    """One axis."""
    return reshape(a, -1)


METHODS["flatten"] = ravel


@_function(np.expand_dims)
def expand_dims(a: Any, axis: Any) -> Any:
    """Insert unit axes."""
    x = ops.as_tensor(a)
    return ops.expand(x, ops.axis_numbers(axis, x.ndim + len(as_items(axis)), "np.expand_dims"))


@_function(np.squeeze, method="squeeze")
def squeeze(a: Any, axis: Any = None) -> Any:
    """Drop unit axes."""
    x = ops.as_tensor(a)
    if axis is None:
        return ops.squeeze(x, [n for n, s in enumerate(x.terms) if s == 1])
    return ops.squeeze(x, ops.axis_numbers(axis, x.ndim, "np.squeeze"))


@_function(np.broadcast_to)
def broadcast_to(array: Any, shape: Any) -> Any:
    """Repeat to a shape."""
    return ops.broadcast_to(ops.as_tensor(array), ops.read_shape(shape, "np.broadcast_to"))


@_function(np.concatenate)
def concatenate(arrays: Any, axis: Any = 0) -> Any:
    """After each other along an axis."""
    if not isinstance(arrays, tuple | list) or not arrays:
        unsupported("np.concatenate of this", "a list of arrays")
    parts = [ops.as_tensor(p) for p in as_items(arrays)]
    if parts[0].ndim == 0:
        raise AxonError("np.concatenate of scalars", where=str(here()), accepted="arrays of rank 1 or more")
    return ops.concatenate(parts, ops.axis_number(axis, parts[0].ndim, "np.concatenate"))


@_function(np.stack)
def stack(arrays: Any, axis: Any = 0) -> Any:
    """Along a new axis."""
    if not isinstance(arrays, tuple | list) or not arrays:
        unsupported("np.stack of this", "a list of arrays")
    parts = [ops.as_tensor(p) for p in as_items(arrays)]
    position = ops.axis_number(axis, parts[0].ndim + 1, "np.stack")
    return ops.concatenate([ops.expand(p, [position]) for p in parts], position)


@_function(np.copy, method="copy")
def copy(a: Any) -> Any:
    """The same value: traced values never change."""
    return TracedTensor(ops.as_tensor(a).node, weak=ops.as_tensor(a).weak)


def _astype(a: Any, dtype: Any, copy: Any = True) -> Any:
    return ops.convert(ops.as_tensor(a), ops.dtype_of(dtype, "conversion to"))


METHODS["astype"] = _astype
FUNCTIONS[np.astype] = _astype


@_function(np.shape)
def shape(a: Any) -> Any:
    """The shape, as the program sees it."""
    return ops.as_tensor(a).shape


@_function(np.ndim)
def ndim(a: Any) -> int:
    """The number of axes."""
    return ops.as_tensor(a).ndim


@_function(np.size)
def size(a: Any, axis: Any = None) -> Any:
    """The number of elements, or the length of an axis."""
    x = ops.as_tensor(a)
    return x.size if axis is None else x.shape[ops.axis_number(axis, x.ndim, "np.size")]


# -- indexing ------------------------------------------------------------------------------------------


def getitem(a: Any, key: Any) -> Any:
    """Basic indexing: integers, slices, None and the ellipsis."""
    x = ops.as_tensor(a)
    items = list(as_items(key)) if isinstance(key, tuple) else [key]
    taken = sum(1 for i in items if i is not None and i is not Ellipsis)
    if taken > x.ndim:
        raise AxonError(f"{taken} indices into an array of rank {x.ndim}", where=str(here()))
    dots = [n for n, i in enumerate(items) if i is Ellipsis]
    if len(dots) > 1:
        raise AxonError("more than one ellipsis in an index", where=str(here()))
    at = dots[0] if dots else len(items)
    items[at : at + 1] = [slice(None)] * (x.ndim - taken)
    offsets: list[Index] = []
    lengths: list[Index] = []
    steps: list[int] = []
    dropped: list[int] = []
    inserted: list[int] = []
    position = 0
    for item in items:
        if item is None:
            inserted.append(position)
            position += 1
            continue
        extent = x.terms[len(offsets)]
        if isinstance(item, slice):
            offset, length, step = _span(cast("slice[Any, Any, Any]", item), extent)
            position += 1
        elif (term := size_term(item)) is not None:
            offset, length, step = _element(term, extent, len(offsets)), ix.const(1), 1
            dropped.append(len(offsets))
        else:
            unsupported(f"indexing with {type(item).__name__}", "integers, slices, None and ... in an index")
        offsets.append(offset)
        lengths.append(length)
        steps.append(step)
    out = ops.slice_box(x, offsets, lengths, steps)
    return ops.expand(ops.squeeze(out, dropped), inserted)


METHODS["getitem"] = getitem


def _element(term: Index, extent: Index, axis: int) -> Index:
    sizes = current().sizes
    if term.constant is not None and term.constant < 0:
        term = extent + term
    if sizes.at_least(term, 0) and sizes.at_least(extent - term, 1):
        return term
    number, bound = sizes.value_of(term), sizes.value_of(extent)
    if number is not None and bound is not None and not 0 <= number < bound:
        raise AxonError(f"index {number} is outside axis {axis} of size {bound}", where=str(here()))
    # In bounds for the given sizes only: the axis is no longer generic.
    sizes.force(extent, "indexing an element")
    return sizes.resolve(term)


def _span(item: slice[Any, Any, Any], extent: Index) -> tuple[Index, Index, int]:
    """Offset, length and step of a slice, clamped to the axis as NumPy does."""
    step_term = ix.const(1) if item.step is None else ops.read_size(item.step, "a slice")
    step = current().sizes.force(step_term, "the step of a slice")
    if step < 1:
        unsupported(f"a slice with step {step}", "positive steps")
    start = ix.const(0) if item.start is None else _clamp(ops.read_size(item.start, "a slice"), extent)
    stop = extent if item.stop is None else _clamp(ops.read_size(item.stop, "a slice"), extent)
    length = ix.ceil_div(stop - start, step)
    known = current().sizes.value_of(length)
    if known is not None and known < 1:
        unsupported("an empty slice", "slices of at least one element")
    return start, length, step


def _clamp(term: Index, extent: Index) -> Index:
    sizes = current().sizes
    if term.constant is not None and term.constant < 0:
        term = extent + term
        return term if sizes.at_least(term, 0) else ix.maximum(term, 0)
    return term if sizes.at_least(extent - term, 0) else ix.minimum(term, extent)


# -- creation ------------------------------------------------------------------------------------------


@_function(np.ones_like)
def ones_like(a: Any, dtype: Any = None) -> Any:
    """Ones of the same shape and type."""
    return _like(a, 1, dtype)


@_function(np.zeros_like)
def zeros_like(a: Any, dtype: Any = None) -> Any:
    """Zeros of the same shape and type."""
    return _like(a, 0, dtype)


@_function(np.full_like)
def full_like(a: Any, fill_value: Any, dtype: Any = None) -> Any:
    """One value, of the same shape and type."""
    return _like(a, fill_value, dtype)


def _like(a: Any, value: Any, dtype: Any) -> TracedTensor:
    x = ops.as_tensor(a)
    name = x.node.dtype if dtype is None else ops.dtype_of(dtype, "dtype")
    out = ops.full(x.terms, value, name)
    return TracedTensor(out.node, weak=x.weak and dtype is None)


@_function(np.empty_like)
def empty_like(a: Any, dtype: Any = None) -> Any:
    """Refused: it asks for in-place assignment."""
    unsupported("np.empty_like (to be filled in place)", "np.concatenate, np.stack, np.zeros_like, np.where")
