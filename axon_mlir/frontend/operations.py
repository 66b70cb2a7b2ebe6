# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recording operations of tensor_hl: element types, broadcasting, sizes.

A value that NumPy would make float64 because no array says otherwise (`np.ones(n)`, a Python float) is *weak* and takes
the type of what it meets.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import reduce as fold
from typing import Any, cast

import numpy as np

from axon_mlir.errors import AxonError
from axon_mlir.frontend.constant_tables import table
from axon_mlir.frontend.element_types import NAMES, WIDE, constant, dtype_of, kind, promote, type_names, weak_type
from axon_mlir.frontend.places import here
from axon_mlir.frontend.recording import Node, Shape, current
from axon_mlir.frontend.traced import Each, Size, TracedTensor, View, as_integer, as_items, size_term, unsupported
from axon_mlir.semantics import index as ix
from axon_mlir.semantics.index import Index

Operand = TracedTensor | Size | int | float | bool
"""What an elementwise operation takes: numbers stay Python numbers until the type they meet is known."""


def as_operand(value: Any) -> Operand:
    """Whatever a program mixes with traced values, as an operand."""
    if isinstance(value, TracedTensor | Size):
        return value
    if isinstance(value, Each):
        value.refuse()
    if isinstance(value, bool | np.bool_):
        return bool(cast(bool, value))
    if isinstance(value, float):
        # np.float64 is one: the type of NumPy's own scalars, not a wish for double precision.
        return float(value)
    if isinstance(value, int):
        return value
    if isinstance(value, list | tuple):
        return stacked(cast("Sequence[Any]", value))
    if isinstance(value, np.generic | np.ndarray):
        array: np.ndarray[Any, Any] = np.asarray(cast(Any, value))
        return int(array) if array.dtype == np.int64 and array.ndim == 0 else _constant_array(array)
    unsupported(f"an operand of type {type(value).__name__}", "arrays and numbers")


def _constant_array(array: np.ndarray[Any, Any]) -> Operand:
    weak = array.dtype in WIDE
    dtype = WIDE.get(array.dtype) or NAMES.get(array.dtype)
    if dtype is None:
        unsupported(f"a constant array of {array.dtype}", type_names())
    if array.size == 0:
        unsupported("an empty array", "sizes >= 1")
    return TracedTensor(table(array, dtype), weak=weak)


def stacked(values: Sequence[Any]) -> TracedTensor:
    """An array of what a list holds, along a new first axis; an entry for each step of a loop is as many."""
    if not values:
        unsupported("an empty list as an array", "sizes >= 1")
    parts = [v.values if isinstance(v, Each) else expand(as_tensor(v), [0]) for v in values]
    shape = common_shape([p.terms[1:] for p in parts], "an array of a list")
    return concatenate([broadcast_to(p, (p.terms[0], *shape)) for p in parts], 0)


def as_tensor(value: Any) -> TracedTensor:
    """A tensor; numbers and sizes become scalars."""
    operand = as_operand(value)
    if isinstance(operand, TracedTensor):
        return operand
    dtype = "i1" if isinstance(operand, bool) else "f32" if isinstance(operand, float) else "i32"
    return TracedTensor(node_of(operand, dtype), weak=True)


# -- promotion ------------------------------------------------------------------------------------------


def result_type(operands: Sequence[Operand]) -> tuple[str, bool]:
    """The element type of a result, and whether it is weak."""
    strong = [o.node.dtype for o in operands if isinstance(o, TracedTensor) and not o.weak]
    weak = max((_weak_kind(o) for o in operands if not (isinstance(o, TracedTensor) and not o.weak)), default=0)
    if not strong:
        return ("i1", "i32", "f32")[weak], True
    dtype = fold(promote, strong)
    if kind(dtype) >= weak:
        return dtype, False
    return ("f32", True) if weak == 2 else ("i32", True)


def _weak_kind(operand: Operand) -> int:
    if isinstance(operand, TracedTensor):
        return kind(operand.node.dtype)
    return 0 if isinstance(operand, bool) else 2 if isinstance(operand, float) else 1


def node_of(operand: Operand, dtype: str) -> Node:
    """The node of an operand of an operation that computes in the kind of `dtype`."""
    if isinstance(operand, TracedTensor):
        if kind(operand.node.dtype) == kind(dtype):
            return operand.node
        return current().record("cast", (operand.node,), operand.node.shape, dtype)
    # Numbers that meet floats stay as they are written: an operation computes in f32 and rounds its result only.
    scalar = "f32" if kind(dtype) == 2 else dtype
    if isinstance(operand, Size):
        return current().record("size", (), (), scalar, {"term": operand.term})
    return constant(operand, scalar)


# -- shapes ------------------------------------------------------------------------------------------


def shape_terms(operand: Operand) -> Shape:
    """The shape of an operand."""
    return operand.terms if isinstance(operand, TracedTensor) else ()


def common_shape(shapes: Sequence[Shape], what: str) -> Shape:
    """NumPy's broadcasting: a literal 1 repeats, anything else must be equal and becomes so."""
    rank = max((len(s) for s in shapes), default=0)
    out: list[Index] = []
    for axis in range(-rank, 0):
        size = ix.const(1)
        present = [shape[axis] for shape in shapes if -axis <= len(shape)]
        widest = max(present, key=lambda n: current().sizes.value_of(n) or 0)
        for have in present:
            if _repeats(have, widest):
                continue
            if size == 1:
                size = have
            else:
                current().sizes.unify(size, have, f"{what}: axis {axis + rank}")
        out.append(size)
    return tuple(map(current().sizes.resolve, out))


def broadcast_node(node: Node, shape: Shape) -> Node:
    """Repeat a node to a shape that it fits."""
    have, shape = current().shape(node), tuple(map(current().sizes.resolve, shape))
    if have == shape:
        return node
    first = len(shape) - len(have)
    return current().record("broadcast", (node,), shape, node.dtype, {"dims": tuple(range(first, len(shape)))})


def _view(
    node: Node,
    base: TracedTensor,
    redo: Callable[[TracedTensor], TracedTensor] | None,
    undo: Callable[[TracedTensor, TracedTensor], TracedTensor] | None,
) -> TracedTensor:
    return TracedTensor(node, weak=base.weak, view=View(base, redo, undo))


def perhaps_view(x: TracedTensor) -> TracedTensor:
    """What NumPy makes a view or a copy of, as the elements lie in memory: nothing may depend on which."""
    return _view(x.node, x, None, None)


def _repeats(have: Index, want: Index) -> bool:
    """Whether an axis repeats to `want`: it is literally 1, or 1 for the numbers given where `want` is not.

    In the second case the program is for these numbers only.
    """
    sizes = current().sizes
    have = sizes.resolve(have)
    if have == 1:
        return True
    if sizes.value_of(have) == 1 and sizes.value_of(want) not in (1, None):
        return sizes.force(have, "an axis of size 1 that repeats") == 1
    return False


def broadcast_to(x: TracedTensor, shape: Shape) -> TracedTensor:
    """`np.broadcast_to`."""
    if len(shape) < x.ndim:
        raise AxonError(f"np.broadcast_to: rank {x.ndim} to rank {len(shape)}", where=str(here()))
    sizes = current().sizes
    for have, want in zip(x.terms, shape[len(shape) - x.ndim :], strict=True):
        if not _repeats(have, want):
            sizes.unify(have, want, "np.broadcast_to")
    return _view(broadcast_node(x.node, shape), x, lambda base: broadcast_to(base, shape), None)


def read_size(value: Any, what: str) -> Index:
    """A size that a program passes in a shape."""
    term = size_term(value)
    if term is None:
        raise AxonError(
            f"{what}: {value!r} is not a size", where=str(here()), accepted="integers and entries of x.shape"
        )
    return term


def read_shape(value: Any, what: str) -> Shape:
    """A shape that a program passes: a size or a sequence of them."""
    terms = tuple(read_size(v, what) for v in as_items(value))
    for t in terms:
        if t.constant is not None and t.constant < 1:
            unsupported(f"{what} with a size of {t.constant}", "sizes >= 1")
    return terms


def axis_number(axis: Any, rank: int, what: str) -> int:
    """An axis, counted from the front."""
    number = as_integer(axis)
    if number is None:
        unsupported(f"{what} with axis {axis!r}", "an integer")
    if not -rank <= number < rank:
        raise AxonError(
            f"{what}: axis {axis} of an array of rank {rank}", where=str(here()), accepted=f"{-rank}..{rank - 1}"
        )
    return number % rank


def axis_numbers(axis: Any, rank: int, what: str) -> tuple[int, ...]:
    """Axes, counted from the front: None is all of them."""
    if axis is None:
        return tuple(range(rank))
    axes = tuple(axis_number(a, rank, what) for a in as_items(axis))
    if len(set(axes)) != len(axes):
        raise AxonError(f"{what}: an axis is named twice", where=str(here()))
    return axes


# -- operations ------------------------------------------------------------------------------------------


def elementwise(function: str, *values: Any, floats: bool = False, dtype: str | None = None) -> TracedTensor:
    """A scalar function of the table on each element.

    `floats`: integers are converted first (as NumPy's true_divide, exp and so on do). `dtype`: the result's type.
    """
    operands = [as_operand(v) for v in values]
    found, weak = result_type(operands)
    if floats and kind(found) < 2:
        found, weak = "f32", True
    if kind(found) == 0:
        unsupported(f"arithmetic ({function}) on truth values", "np.where, x.astype(np.float32)")
    shape = common_shape([shape_terms(o) for o in operands], function)
    nodes = [broadcast_node(node_of(o, found), shape) for o in operands]
    node = current().record(function, nodes, shape, dtype or found)
    return TracedTensor(node, weak=weak)


def compare(predicate: str, a: Any, b: Any) -> TracedTensor:
    """A comparison element by element."""
    operands = [as_operand(a), as_operand(b)]
    dtype, _ = result_type(operands)
    shape = common_shape([shape_terms(o) for o in operands], f"comparison {predicate}")
    nodes = [broadcast_node(node_of(o, dtype), shape) for o in operands]
    return TracedTensor(current().record("compare", nodes, shape, "i1", {"predicate": predicate}))


def select(condition: Any, a: Any, b: Any) -> TracedTensor:
    """`np.where` with three arguments."""
    test = as_tensor(condition)
    if test.node.dtype != "i1":
        test = compare("ne", test, 0)
    operands = [as_operand(a), as_operand(b)]
    dtype, weak = result_type(operands)
    shape = common_shape([test.terms, *(shape_terms(o) for o in operands)], "np.where")
    nodes = [broadcast_node(test.node, shape), *(broadcast_node(node_of(o, dtype), shape) for o in operands)]
    return TracedTensor(current().record("select", nodes, shape, dtype), weak=weak)


def convert(x: TracedTensor, dtype: str) -> TracedTensor:
    """`x.astype`: a conversion that the program writes. Floats lose their fraction, numbers that are not 0 are true."""
    if x.node.dtype == dtype and not x.weak:
        return TracedTensor(x.node)
    if kind(dtype) == 0:
        return compare("ne", x, 0)
    if kind(dtype) < kind(x.node.dtype):
        if dtype == "i8":
            unsupported(f"a conversion of {x.node.dtype} to {dtype}", "int32, float types, bool")
        return TracedTensor(current().record("truncate", (x.node,), x.node.shape, dtype))
    return TracedTensor(current().record("cast", (x.node,), x.node.shape, dtype))


def reduce(
    monoid: str, x: TracedTensor, axes: Sequence[int], *, keepdims: bool, dtype: str | None = None
) -> TracedTensor:
    """Fold axes away; with `keepdims` they become literal 1."""
    node = x.node
    if kind(node.dtype) == 0:
        if monoid not in ("sum", "prod"):
            unsupported(f"{monoid} of truth values", "x.astype(np.float32)")
        node = current().record("cast", (node,), node.shape, "i32")
    shape = x.terms
    rest = tuple(s for n, s in enumerate(shape) if n not in axes)
    if axes:
        node = current().record(
            "reduce", (node,), rest, dtype or node.dtype, {"monoid": monoid, "axes": tuple(sorted(axes))}
        )
    out = TracedTensor(node, weak=x.weak)
    return expand(out, sorted(axes)) if keepdims else out


def expand(x: TracedTensor, axes: Sequence[int]) -> TracedTensor:
    """Insert literal 1 axes; `axes` are positions in the result."""
    if not axes:
        return x
    rank = x.ndim + len(axes)
    dims = tuple(n for n in range(rank) if n not in axes)
    rest = iter(x.terms)
    shape = tuple(ix.const(1) if n in axes else next(rest) for n in range(rank))
    node = current().record("broadcast", (x.node,), shape, x.node.dtype, {"dims": dims})
    where = tuple(axes)
    return _view(node, x, lambda base: expand(base, where), lambda _, new: squeeze(new, where))


def squeeze(x: TracedTensor, axes: Sequence[int]) -> TracedTensor:
    """Drop axes that are literally 1, or 1 for the numbers given: the program is for these numbers only then."""
    if not axes:
        return x
    for a in axes:
        if current().sizes.value_of(x.terms[a]) == 1:
            current().sizes.force(x.terms[a], "np.squeeze of an axis of size 1")
    shape = x.terms
    for a in axes:
        if shape[a] != 1:
            raise AxonError(
                f"np.squeeze: axis {a} is {current().sizes.show(shape[a])}",
                where=str(here()),
                accepted="axes of size 1",
            )
    rest = tuple(s for n, s in enumerate(shape) if n not in axes)
    where = tuple(sorted(axes))
    node = current().record("squeeze", (x.node,), rest, x.node.dtype, {"axes": where})
    return _view(node, x, lambda base: squeeze(base, where), lambda _, new: expand(new, where))


def transpose(x: TracedTensor, perm: Sequence[int]) -> TracedTensor:
    """Permute axes: result axis i is axis perm[i]."""
    if list(perm) == list(range(x.ndim)):
        return x
    shape = x.terms
    order = tuple(perm)
    back = tuple(order.index(n) for n in range(len(order)))
    node = current().record("transpose", (x.node,), tuple(shape[p] for p in order), x.node.dtype, {"perm": order})
    return _view(node, x, lambda base: transpose(base, order), lambda _, new: transpose(new, back))


def reshape(x: TracedTensor, shape: Shape) -> TracedTensor:
    """The same elements, in row-major order, under a shape with as many elements."""
    sizes = current().sizes
    have = x.terms
    total, want = math.prod(have, start=ix.const(1)), math.prod(shape, start=ix.const(1))
    sizes.unify(total, want, "np.reshape: numbers of elements")
    have, shape = x.terms, tuple(map(sizes.resolve, shape))
    if have == shape:
        return x
    if [s for s in have if s != 1] == [s for s in shape if s != 1]:
        # Only unit axes come or go.
        bare = squeeze(x, [n for n, s in enumerate(have) if s == 1])
        return expand(bare, [n for n, s in enumerate(shape) if s == 1])
    # Whether NumPy makes a view here depends on how the elements lie in memory.
    return _view(current().record("reshape", (x.node,), shape, x.node.dtype), x, None, None)


def slice_box(
    x: TracedTensor, offsets: Sequence[Index], lengths: Sequence[Index], steps: Sequence[int]
) -> TracedTensor:
    """`lengths` elements along each axis, from `offsets` on, every `steps`-th."""
    if all(o == 0 and s == 1 and n == m for o, s, n, m in zip(offsets, steps, lengths, x.terms, strict=True)):
        return x
    first, count, every = tuple(offsets), tuple(lengths), tuple(steps)
    attributes = {"offsets": first, "sizes": count, "steps": every}
    node = current().record("slice", (x.node,), count, x.node.dtype, attributes)
    return _view(
        node, x, lambda base: slice_box(base, first, count, every), lambda base, new: insert(base, new, first, every)
    )


def flip(x: TracedTensor, axes: Sequence[int]) -> TracedTensor:
    """The elements along some axes in reverse order."""
    last = [n - 1 if axis in axes else ix.const(0) for axis, n in enumerate(x.terms)]
    return slice_box(x, last, x.terms, [-1 if axis in axes else 1 for axis in range(x.ndim)])


def insert(x: TracedTensor, part: TracedTensor, offsets: Sequence[Index], steps: Sequence[int]) -> TracedTensor:
    """`x` with a box of elements replaced."""
    backwards = [n for n, step in enumerate(steps) if step < 0]
    if backwards:
        part = flip(part, backwards)
        offsets = [o + (n - 1) * s if s < 0 else o for o, n, s in zip(offsets, part.terms, steps, strict=True)]
        steps = [abs(s) for s in steps]
    for offset, step in zip(offsets, steps, strict=True):
        # Which elements stay is a question of remainders.
        current().sizes.remainder(offset, step, "assigning in steps")
    attributes = {"offsets": tuple(offsets), "steps": tuple(steps)}
    node = current().record("insert", (x.node, part.node), x.terms, part.node.dtype, attributes)
    return TracedTensor(node, weak=x.weak and part.weak)


def stored(value: Any, target: TracedTensor, shape: Shape) -> TracedTensor:
    """What becomes of a value that is assigned to elements of `target` that form `shape`."""
    operand = as_operand(value)
    dtype, weak = (target.node.dtype, False) if not target.weak else result_type([target, operand])
    have = as_tensor(operand).node.dtype
    if kind(have) > kind(target.node.dtype):
        unsupported(
            f"storing {have} in an array of {target.node.dtype} (NumPy would cut it off)",
            "arrays made with a dtype that holds the values",
        )
    if isinstance(operand, TracedTensor):
        node = operand.node
        if node.dtype != dtype:
            node = current().record("cast", (node,), node.shape, dtype)
    else:
        node = node_of(operand, dtype) if isinstance(operand, Size) else constant(operand, dtype)
    x = TracedTensor(node, weak=weak)
    extra = x.ndim - len(shape)
    if extra > 0:
        x = squeeze(x, range(extra))
    return TracedTensor(broadcast_to(x, shape).node, weak=weak)


def gather(x: TracedTensor, positions: TracedTensor, batch: int, axis: int) -> TracedTensor:
    """The elements of an axis at integer positions, whose axes (after the batch axes) take the place of the axis."""
    have, at = x.terms, positions.terms
    shape = (*have[:axis], *at[batch:], *have[axis + 1 :])
    node = current().record("gather", (x.node, positions.node), shape, x.node.dtype, {"batch": batch, "axis": axis})
    return TracedTensor(node, weak=x.weak)


def scatter(x: TracedTensor, positions: TracedTensor, part: TracedTensor, axis: int) -> TracedTensor:
    """`x` with the elements at integer positions of an axis replaced."""
    operands = (x.node, positions.node, part.node)
    return TracedTensor(
        current().record("scatter", operands, x.terms, part.node.dtype, {"axis": axis}), weak=x.weak and part.weak
    )


def repeat(kind_: str, x: TracedTensor, times: Index, axis: int) -> TracedTensor:
    """Every element `times` times (`repeat`), or the axis `times` times over (`tile`)."""
    if times == 1:
        return TracedTensor(x.node, weak=x.weak)
    shape = tuple(s * times if n == axis else s for n, s in enumerate(x.terms))
    node = current().record(kind_, (x.node,), shape, x.node.dtype, {"axis": axis, "times": times})
    return TracedTensor(node, weak=x.weak)


def pad(x: TracedTensor, value: TracedTensor, axis: int, low: Index, high: Index) -> TracedTensor:
    """`low` elements before and `high` after along an axis, all of one value."""
    shape = tuple(n + low + high if k == axis else n for k, n in enumerate(x.terms))
    attributes = {"axis": axis, "low": low, "high": high}
    return TracedTensor(
        current().record("pad", (x.node, value.node), shape, value.node.dtype, attributes), weak=x.weak and value.weak
    )


def empty(shape: Shape, dtype: str | None) -> TracedTensor:
    """Elements that nobody has written."""
    return TracedTensor(current().record("empty", (), shape, dtype or "f32"), weak=dtype is None)


def concatenate(parts: Sequence[TracedTensor], axis: int) -> TracedTensor:
    """Parts after each other along an axis."""
    dtype, weak = result_type(list(parts))
    sizes = current().sizes
    for part in parts[1:]:
        if part.ndim != parts[0].ndim:
            raise AxonError("np.concatenate: arrays of different rank", where=str(here()))
        for n, (a, b) in enumerate(zip(parts[0].terms, part.terms, strict=True)):
            if n != axis:
                sizes.unify(a, b, f"np.concatenate: axis {n}")
    node = node_of(parts[0], dtype)
    for part in parts[1:]:
        left, right = current().shape(node), part.terms
        shape = tuple(a + b if n == axis else a for n, (a, b) in enumerate(zip(left, right, strict=True)))
        node = current().record("concat", (node, node_of(part, dtype)), shape, dtype, {"axis": axis})
    return TracedTensor(node, weak=weak)


def scan(monoid: str, x: TracedTensor, axis: int) -> TracedTensor:
    """The running fold along an axis."""
    node = current().record("scan", (x.node,), x.terms, x.node.dtype, {"monoid": monoid, "axis": axis})
    return TracedTensor(node, weak=x.weak)


def iota(shape: Shape, axis: int) -> TracedTensor:
    """Positions along an axis."""
    return TracedTensor(current().record("iota", (), shape, "i32", {"axis": axis}), weak=True)


def contract(
    a: TracedTensor, b: TracedTensor, batch: int, left: Sequence[int], right: Sequence[int], what: str
) -> TracedTensor:
    """Batch axes first, the free axes of a, the free axes of b; `left[i]` is summed with `right[i]`."""
    dtype, weak = result_type([a, b])
    if kind(dtype) < 2:
        unsupported(f"{what} of {dtype} arrays", "float arrays: x.astype(np.float32)")
    sizes = current().sizes
    for n in range(batch):
        sizes.unify(a.terms[n], b.terms[n], f"{what}: batch axis {n}")
    for i, j in zip(left, right, strict=True):
        sizes.unify(a.terms[i], b.terms[j], f"{what}: contracted axes {i} and {j}")
    sa, sb = a.terms, b.terms
    shape = (
        *sa[:batch],
        *(s for n, s in enumerate(sa) if n >= batch and n not in left),
        *(s for n, s in enumerate(sb) if n >= batch and n not in right),
    )
    attributes: Mapping[str, Any] = {"batch": batch, "lhs_contract": tuple(left), "rhs_contract": tuple(right)}
    node = current().record("matmul", (node_of(a, dtype), node_of(b, dtype)), shape, dtype, attributes)
    return TracedTensor(node, weak=weak)


def full(shape: Shape, value: Any, dtype: str | None) -> TracedTensor:
    """One value everywhere; without a dtype it takes the type of what it meets."""
    scalar = as_tensor(value)
    if dtype is not None:
        node = constant(value, dtype) if isinstance(value, int | float) else node_of(scalar, dtype)
        scalar = TracedTensor(node)
    return TracedTensor(broadcast_node(scalar.node, shape), weak=scalar.weak)


def filled_like(a: Any, value: Any, dtype: Any = None) -> TracedTensor:
    """One value, of the shape (and unless `dtype` says otherwise, of the type) of an array."""
    x = as_tensor(a)
    name = x.node.dtype if dtype is None else weak_type(dtype) or dtype_of(dtype, "dtype")
    return TracedTensor(full(x.terms, value, name).node, weak=x.weak and dtype is None)
