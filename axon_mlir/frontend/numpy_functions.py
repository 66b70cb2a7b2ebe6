# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What NumPy's functions do to traced values. Importing this module fills the tables of `traced`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

import numpy as np

from axon_mlir.errors import AxonError
from axon_mlir.frontend import operations as ops
from axon_mlir.frontend.numpy_indexing import getitem
from axon_mlir.frontend.places import here
from axon_mlir.frontend.recording import current
from axon_mlir.frontend.traced import (
    FUNCTIONS,
    METHODS,
    NAMED_UFUNCS,
    UFUNCS,
    Handler,
    Size,
    TracedTensor,
    as_integer,
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
    for ufunc, function in ((np.maximum, "max"), (np.minimum, "min"), (np.fmax, "max"), (np.fmin, "min")):
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
    for name, function in (("erf", "erf"), ("expit", "sigmoid")):
        NAMED_UFUNCS[name] = unary(function, True)
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
    return copy(x)


# -- rounding ------------------------------------------------------------------------------------------


@_ufunc(np.ceil)
def ceil(x: Any) -> Any:
    """The least integer that is not below."""
    return ops.elementwise("neg", ops.elementwise("floor", ops.elementwise("neg", x)))


@_ufunc(np.trunc)
def trunc(x: Any) -> Any:
    """Towards zero."""
    return ops.select(ops.compare("lt", x, 0), ceil(x), ops.elementwise("floor", x))


@_ufunc(np.rint)
def rint(x: Any) -> Any:
    """The nearest integer, of two equally near ones the even one."""
    below = ops.elementwise("floor", x)
    rest = ops.elementwise("sub", x, below)
    half = ops.elementwise("floor", ops.elementwise("mul", below, 0.5))
    odd = ops.elementwise("sub", below, ops.elementwise("mul", half, 2))
    up = ops.select(ops.compare("lt", 0.5, rest), 1.0, ops.select(ops.compare("eq", rest, 0.5), odd, 0.0))
    return ops.elementwise("add", below, up)


@_function(np.round, np.around, method="round")
def round_(a: Any, decimals: Any = 0) -> Any:
    """The nearest number with so many decimals."""
    places = as_integer(decimals)
    if places is None:
        unsupported(f"np.round with decimals={decimals!r}", "an integer")
    if places == 0:
        return rint(a)
    scaled = ops.elementwise("mul" if places > 0 else "div", a, float(10 ** abs(places)))
    return ops.elementwise("div" if places > 0 else "mul", rint(scaled), float(10 ** abs(places)))


@_ufunc(np.floor_divide)
def floor_divide(x1: Any, x2: Any) -> Any:
    """The floor of the quotient, of floats."""
    _floats(x1, x2, "np.floor_divide")
    return ops.elementwise("floor", ops.elementwise("div", x1, x2))


@_ufunc(np.remainder, np.mod)
def remainder(x1: Any, x2: Any) -> Any:
    """What the floor of the quotient leaves, of floats."""
    return ops.elementwise("sub", x1, ops.elementwise("mul", floor_divide(x1, x2), x2))


def _floats(x1: Any, x2: Any, what: str) -> None:
    dtype, _ = ops.result_type([ops.as_operand(x1), ops.as_operand(x2)])
    if ops.kind(dtype) < 2:
        unsupported(f"{what} of {dtype} arrays", "float arrays: x.astype(np.float32)")


# -- compositions --------------------------------------------------------------------------------------


@_ufunc(np.log1p)
def log1p(x: Any) -> Any:
    """The logarithm of one more."""
    return ops.elementwise("log", ops.elementwise("add", x, 1.0), floats=True)


@_ufunc(np.expm1)
def expm1(x: Any) -> Any:
    """One less than the exponential."""
    return ops.elementwise("sub", ops.elementwise("exp", x, floats=True), 1.0)


@_ufunc(np.log2)
def log2(x: Any) -> Any:
    """The logarithm to base 2."""
    return ops.elementwise("div", ops.elementwise("log", x, floats=True), math.log(2))


@_ufunc(np.log10)
def log10(x: Any) -> Any:
    """The logarithm to base 10."""
    return ops.elementwise("div", ops.elementwise("log", x, floats=True), math.log(10))


@_ufunc(np.exp2)
def exp2(x: Any) -> Any:
    """A power of two."""
    return ops.elementwise("exp", ops.elementwise("mul", x, math.log(2)), floats=True)


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
            return copy(x1)
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


@_ufunc(np.bitwise_xor, np.logical_xor)
def _xor(x1: Any, x2: Any) -> Any:
    return ops.compare("ne", _truth(x1), _truth(x2))


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


@_function(np.tensordot)
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


@_function(np.vdot, np.inner)
def inner(a: Any, b: Any) -> Any:
    """Of two vectors, the sum of products; otherwise over both last axes."""
    x, y = ops.as_tensor(a), ops.as_tensor(b)
    return ops.contract(x, y, 0, [x.ndim - 1], [y.ndim - 1], "np.inner")


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


def _quantifier(monoid: str, what: str) -> Handler:
    def handler(a: Any, axis: Any = None, keepdims: Any = False) -> Any:
        x = ops.as_tensor(a)
        truth = x if x.node.dtype == "i1" else ops.compare("ne", x, 0)
        found = ops.reduce(
            monoid, ops.select(truth, 1, 0), ops.axis_numbers(axis, x.ndim, what), keepdims=bool(keepdims)
        )
        return ops.compare("ne", found, 0)

    return handler


_function(np.any, method="any")(_quantifier("max", "np.any"))
_function(np.all, method="all")(_quantifier("min", "np.all"))


def _first(monoid: str, what: str) -> Handler:
    """The first position of the largest or smallest element."""

    def handler(a: Any, axis: Any = None, keepdims: Any = False) -> Any:
        x = ops.as_tensor(a)
        at = 0 if axis is None else ops.axis_number(axis, x.ndim, what)
        flat = ravel(x) if axis is None else x
        best = ops.reduce(monoid, flat, [at], keepdims=True)
        extent = flat.terms[at]
        places = ops.select(ops.compare("eq", flat, best), ops.iota(flat.terms, at), as_size(extent))
        found = ops.reduce("min", places, [at], keepdims=bool(keepdims) and axis is not None)
        return ops.expand(found, range(x.ndim)) if keepdims and axis is None else found

    return handler


_function(np.argmax, method="argmax")(_first("max", "np.argmax"))
_function(np.argmin, method="argmin")(_first("min", "np.argmin"))


@_function(np.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: Any = False) -> Any:
    """The root of the sum of squares; of vectors also ord=1 and ord=inf."""
    a = ops.as_tensor(x)
    axes = ops.axis_numbers(axis, a.ndim, "np.linalg.norm")
    vector = len(axes) == 1
    match ord:
        case None:
            pass
        case 2 if vector:
            pass
        case "fro" if len(axes) == 2:
            pass
        case 1 if vector:
            return ops.reduce("sum", ops.elementwise("abs", a), axes, keepdims=bool(keepdims))
        case math.inf if vector:
            return ops.reduce("max", ops.elementwise("abs", a), axes, keepdims=bool(keepdims))
        case _:
            unsupported(f"np.linalg.norm with ord={ord!r} over {len(axes)} axes", "ord=None, and 1, 2, inf of vectors")
    total = ops.reduce("sum", ops.elementwise("square", a), axes, keepdims=bool(keepdims))
    return ops.elementwise("sqrt", total, floats=True)


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
    return copy(x) if a_max is None else ops.elementwise("min", x, a_max)


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


METHODS["mT"] = matrix_transpose


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


def _flatten(a: Any) -> Any:
    return copy(reshape(a, -1))


METHODS["flatten"] = _flatten


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


@_function(np.array_split)
def array_split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> Any:
    """Parts along an axis, the first ones one longer where the axis does not divide."""
    x = ops.as_tensor(ary)
    at = ops.axis_number(axis, x.ndim, "np.array_split")
    count, extent = as_integer(indices_or_sections), x.terms[at]
    if count is None:
        bounds = list(as_items(indices_or_sections))
    else:
        if count < 1:
            raise AxonError(f"np.array_split into {count} parts", where=str(here()), accepted="1 or more")
        least, more = extent // count, extent % count
        bounds = [as_size(least * n + ix.minimum(more, n)) for n in range(1, count)]
    return [
        getitem(x, (*(slice(None),) * at, slice(start, stop)))
        for start, stop in zip([None, *bounds], [*bounds, None], strict=True)
    ]


@_function(np.split)
def split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> Any:
    """Equal parts along an axis, or parts between positions."""
    x = ops.as_tensor(ary)
    at, count = ops.axis_number(axis, x.ndim, "np.split"), as_integer(indices_or_sections)
    if count is not None and count > 0:
        extent = x.terms[at]
        current().sizes.unify(extent, (extent // count) * count, f"np.split into {count} equal parts")
    return array_split(x, indices_or_sections, at)


@_function(np.repeat, method="repeat")
def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    """Each element so many times."""
    x = ops.as_tensor(a)
    if axis is None:
        x, axis = ravel(x), 0
    (times,) = ops.read_shape(repeats, "np.repeat") if not isinstance(repeats, tuple | list) else (None,)
    if times is None:
        unsupported("np.repeat with a number for each element", "one number")
    return ops.repeat("repeat", x, times, ops.axis_number(axis, x.ndim, "np.repeat"))


@_function(np.tile)
def tile(A: Any, reps: Any) -> Any:
    """Whole axes so many times over."""
    x = ops.as_tensor(A)
    times = ops.read_shape(reps, "np.tile")
    x = ops.expand(x, range(len(times) - x.ndim)) if len(times) > x.ndim else x
    out = TracedTensor(x.node, weak=x.weak)
    for axis, n in enumerate(times, start=x.ndim - len(times)):
        out = ops.repeat("tile", out, n, axis)
    return out


@_function(np.flip)
def flip(m: Any, axis: Any = None) -> Any:
    """Backwards along axes."""
    x = ops.as_tensor(m)
    return ops.flip(x, ops.axis_numbers(axis, x.ndim, "np.flip"))


@_function(np.roll)
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """Turned around along an axis."""
    x = ops.as_tensor(a)
    if axis is None:
        return reshape(roll(ravel(x), shift, 0), x.shape)
    at = ops.axis_number(axis, x.ndim, "np.roll")
    extent = x.terms[at]
    first = (extent - ops.read_size(shift, "np.roll")) % extent
    offsets = [first if n == at else ix.const(0) for n in range(x.ndim)]
    return copy(ops.slice_box(ops.repeat("tile", x, ix.const(2), at), offsets, x.terms, [1] * x.ndim))


@_function(np.pad)
def pad(array: Any, pad_width: Any, mode: Any = "constant", constant_values: Any = 0) -> Any:
    """With one value on both sides of each axis."""
    x = ops.as_tensor(array)
    if mode != "constant" or isinstance(constant_values, tuple | list):
        unsupported(f"np.pad with mode={mode!r}", "mode='constant' with one value")
    widths = [as_items(w) for w in as_items(pad_width)]
    if len(widths) == 2 and all(len(w) == 1 for w in widths):
        widths = [(widths[0][0], widths[1][0])]
    widths = widths * x.ndim if len(widths) == 1 else widths
    if len(widths) != x.ndim:
        raise AxonError(f"np.pad: {len(widths)} widths for an array of rank {x.ndim}", where=str(here()))
    out = TracedTensor(x.node, weak=x.weak)
    for axis, width in enumerate(widths):
        low, high = (ops.read_size(w, "np.pad") for w in (width[0], width[-1]))
        if low != 0 or high != 0:
            out = ops.pad(out, ops.stored(constant_values, out, ()), axis, low, high)
    return out


@_function(np.diff)
def diff(a: Any, n: Any = 1, axis: Any = -1) -> Any:
    """Differences of neighbours."""
    x = ops.as_tensor(a)
    before = (slice(None),) * ops.axis_number(axis, x.ndim, "np.diff")
    for _ in range(as_integer(n) or 0):
        x = ops.elementwise("sub", getitem(x, (*before, slice(1, None))), getitem(x, (*before, slice(None, -1))))
    return x


@_function(np.take, method="take")
def take(a: Any, indices: Any, axis: Any = None) -> Any:
    """Elements of an axis at positions."""
    x = ops.as_tensor(a)
    if axis is None:
        x, axis = ravel(x), 0
    return getitem(x, (*(slice(None),) * ops.axis_number(axis, x.ndim, "np.take"), indices))


@_function(np.take_along_axis)
def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    """Along an axis, elements at positions of their own for each place on the other axes."""
    x, i = ops.as_tensor(arr), ops.as_tensor(indices)
    at = ops.axis_number(axis, x.ndim, "np.take_along_axis")
    if i.ndim != x.ndim or ops.kind(i.node.dtype) != 1:
        unsupported(
            f"np.take_along_axis with {i.node.dtype} positions of rank {i.ndim}", "integers of the array's rank"
        )
    others = tuple(n for n in range(x.ndim) if n != at)
    common = ops.common_shape([tuple(v.terms[n] for n in others) for v in (x, i)], "np.take_along_axis")
    moved = [ops.transpose(v, (*others, at)) for v in (x, i)]
    x, i = (ops.broadcast_to(v, (*common, v.terms[-1])) for v in moved)
    out = ops.gather(x, i, len(others), len(others))
    return ops.transpose(out, [*range(at), x.ndim - 1, *range(at, x.ndim - 1)])


def _joined(name: str, axis: int, rank: int) -> Handler:
    """Along a fixed axis, after filling up the rank with unit axes in front (of vectors, as `name` does)."""

    def handler(tup: Any) -> Any:
        parts = [ops.as_tensor(p) for p in as_items(tup)]
        if rank == 2:
            parts = [ops.expand(p, range(2 - p.ndim)) if p.ndim < 2 else p for p in parts]
        at = 0 if parts[0].ndim == 1 else axis
        return ops.concatenate([ops.expand(p, [0]) if p.ndim == 0 else p for p in parts], at)

    handler.__name__ = name
    return handler


_function(np.vstack)(_joined("vstack", 0, 2))
_function(np.hstack)(_joined("hstack", 1, 1))


@_function(np.concatenate)
def concatenate(arrays: Any, axis: Any = 0) -> Any:
    """After each other along an axis."""
    parts = _parts(arrays, "np.concatenate")
    if parts[0].ndim == 0:
        raise AxonError("np.concatenate of scalars", where=str(here()), accepted="arrays of rank 1 or more")
    return ops.concatenate(parts, ops.axis_number(axis, parts[0].ndim, "np.concatenate"))


def _parts(arrays: Any, what: str) -> list[TracedTensor]:
    parts: list[Any] = list(cast("Iterable[Any]", arrays)) if isinstance(arrays, tuple | list | TracedTensor) else []
    if not parts:
        unsupported(f"{what} of this", "a list of arrays")
    return [ops.as_tensor(p) for p in parts]


@_function(np.stack)
def stack(arrays: Any, axis: Any = 0) -> Any:
    """Along a new axis."""
    parts = _parts(arrays, "np.stack")
    position = ops.axis_number(axis, parts[0].ndim + 1, "np.stack")
    return ops.concatenate([ops.expand(p, [position]) for p in parts], position)


@_function(np.copy, method="copy")
def copy(a: Any) -> Any:
    """The same value, which assignments to the array do not change."""
    x = ops.as_tensor(a)
    return TracedTensor(x.node, weak=x.weak)


def _astype(a: Any, dtype: Any, copy: Any = True) -> Any:
    x = ops.as_tensor(a)
    name = ops.dtype_of(dtype, "conversion to") if ops.weak_type(dtype) is None else None
    if name is None:
        # `astype(float)` asks for no more than a kind: what has it already stays.
        wide = cast(str, ops.weak_type(dtype))
        name = x.node.dtype if ops.kind(x.node.dtype) == ops.kind(wide) else wide
    if name == x.node.dtype and not copy:
        return x
    return ops.convert(x, name)


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
def empty_like(prototype: Any, dtype: Any = None) -> Any:
    """Elements that nobody has written, of the same shape and type."""
    x = ops.as_tensor(prototype)
    name = x.node.dtype if dtype is None else ops.dtype_of(dtype, "dtype")
    out = ops.empty(x.terms, name)
    return TracedTensor(out.node, weak=x.weak and dtype is None)
