# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Traced values: `TracedTensor` stands for an array, `Size` for an axis length. Both answer NumPy's dispatch protocols.

What a NumPy function does to them is looked up in `UFUNCS` and `FUNCTIONS`, which `numpy_functions` fills.
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any, NoReturn, cast

import ml_dtypes
import numpy as np

from axon_mlir.errors import AxonError, UnsupportedError
from axon_mlir.frontend.places import here
from axon_mlir.frontend.recording import Node, Shape, current
from axon_mlir.semantics import index as ix
from axon_mlir.semantics.index import Index

Handler = Callable[..., Any]

UFUNCS: dict[np.ufunc, Handler] = {}
"""NumPy ufunc -> what it does to traced values."""
FUNCTIONS: dict[Callable[..., Any], Handler] = {}
"""NumPy function -> what it does to traced values."""
METHODS: dict[str, Handler] = {}
"""Array method (and property) -> what it does to a traced tensor."""
PROPERTIES = {"T", "mT"}
"""Those of them that are properties."""
UFUNC_METHODS: dict[tuple[np.ufunc, str], Handler] = {}
"""Ufunc and method, such as `np.add.reduce` -> what it does to traced values."""
NAMED_UFUNCS: dict[str, Handler] = {}
"""Name of a ufunc of another package (scipy.special) -> what it does to traced values."""
WRAPPED_FUNCTIONS: dict[int, Callable[..., Any]] = {}
"""id of an object that `np.frompyfunc` made while a program was loaded -> the Python function inside."""


def numpy_ufunc(*ufuncs: np.ufunc) -> Callable[[Handler], Handler]:
    """Register a handler of ufuncs."""

    def register(handler: Handler) -> Handler:
        UFUNCS.update(dict.fromkeys(ufuncs, handler))
        return handler

    return register


def numpy_function(*functions: Callable[..., Any], method: str | None = None) -> Callable[[Handler], Handler]:
    """Register a handler of NumPy functions, and of an array method."""

    def register(handler: Handler) -> Handler:
        FUNCTIONS.update(dict.fromkeys(functions, handler))
        if method is not None:
            METHODS[method] = handler
        return handler

    return register


DTYPES: dict[str, np.dtype[Any]] = {
    "f32": np.dtype(np.float32),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f16": np.dtype(np.float16),
    "f8E4M3": np.dtype(ml_dtypes.float8_e4m3),
    "f8E5M2": np.dtype(ml_dtypes.float8_e5m2),
    "i32": np.dtype(np.int32),
    "i8": np.dtype(np.int8),
    "i1": np.dtype(np.bool_),
}
"""Element type -> NumPy's."""


def as_items(value: Any) -> tuple[Any, ...]:
    """The entries of a tuple or list, or the value alone."""
    return tuple(cast("Sequence[Any]", value)) if isinstance(value, tuple | list) else (value,)


def as_integer(value: Any) -> int | None:
    """A plain or NumPy integer (not a truth value) as an int; None for anything else."""
    if isinstance(value, bool | np.bool_):
        return None
    return int(cast(int, value)) if isinstance(value, int | np.integer) else None


def numpy_name(function: Any) -> str:
    """`np.sum`, `np.linalg.norm`: how a program writes a NumPy function."""
    name = getattr(function, "__name__", str(function))
    module = str(getattr(function, "__module__", None) or "numpy")
    inner = module.removeprefix("numpy").strip(".")
    return f"np.{inner}.{name}" if inner and not inner.startswith("_") else f"np.{name}"


def unsupported(what: str, accepted: str) -> NoReturn:
    """Raise: `what` is not supported, at the user's current line."""
    raise UnsupportedError(f"{what} is not supported", where=str(here()), accepted=accepted)


def invoke(name: str, handler: Handler, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Call a handler; arguments that it does not take are unsupported by name."""
    if kwargs.get("out") is not None:
        unsupported(f"{name} with out=", f"the value: y = {name}(...)")
    kwargs = {k: v for k, v in kwargs.items() if not (k == "out" and v is None)}
    parameters = signature(handler).parameters
    unknown = [k for k in kwargs if k not in parameters]
    if unknown:
        unsupported(f"{name} with {', '.join(f'{k}=' for k in unknown)}", f"{name}({', '.join(parameters)})")
    try:
        signature(handler).bind(*args, **kwargs)
    except TypeError as error:
        raise AxonError(f"{name}: {error}", where=str(here()), accepted=f"{name}({', '.join(parameters)})") from None
    return handler(*args, **kwargs)


def call_ufunc(ufunc: np.ufunc, *inputs: Any) -> Any:
    """Apply a ufunc to operands of which one at least is traced."""
    handler = UFUNCS.get(ufunc) or NAMED_UFUNCS.get(ufunc.__name__)
    if handler is None:
        wrapped = WRAPPED_FUNCTIONS.get(id(ufunc))
        if wrapped is not None or "(vectorized)" in ufunc.__name__:
            name = getattr(wrapped, "__name__", None) or ufunc.__name__.removesuffix(" (vectorized)")
            unsupported(f"np.frompyfunc({name})", "NumPy's own functions, and np.frompyfunc(math.erf, 1, 1)")
        unsupported(numpy_name(ufunc), ", ".join(sorted(numpy_name(u) for u in UFUNCS)))
    return invoke(numpy_name(ufunc), handler, inputs, {})


def _is_operand(value: Any) -> bool:
    return isinstance(value, Traced | int | float | np.generic | np.ndarray)


def _binary(ufunc: np.ufunc) -> Callable[[Traced, Any], Any]:
    def method(self: Traced, other: Any) -> Any:
        return call_ufunc(ufunc, self, other) if _is_operand(other) else NotImplemented

    return method


def _reflected(ufunc: np.ufunc) -> Callable[[Traced, Any], Any]:
    def method(self: Traced, other: Any) -> Any:
        return call_ufunc(ufunc, other, self) if _is_operand(other) else NotImplemented

    return method


def _in_place_operator(ufunc: np.ufunc) -> Callable[[TracedTensor, Any], Any]:
    def method(self: TracedTensor, other: Any) -> Any:
        return self.update(ufunc, other) if _is_operand(other) else NotImplemented

    return method


def _unary(ufunc: np.ufunc) -> Callable[[Traced], Any]:
    def method(self: Traced) -> Any:
        return call_ufunc(ufunc, self)

    return method


class Traced:
    """A value that the trace records instead of computing it."""

    __slots__ = ()

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        name = numpy_name(ufunc)
        folding = UFUNC_METHODS.get((ufunc, method))
        if folding is not None:
            return invoke(f"{name}.{method}", folding, inputs, kwargs)
        (out,) = kwargs.pop("out", None) or (None,)
        if method != "__call__":
            unsupported(f"{name}.{method}", ", ".join(f"{numpy_name(u)}.{m}" for u, m in UFUNC_METHODS))
        dtype = kwargs.pop("dtype", None)
        if kwargs:
            unsupported(f"{name} with {', '.join(f'{k}=' for k in kwargs)}", f"{name} of its operands, out=, dtype=")
        value = call_ufunc(ufunc, *(inputs if dtype is None else METHODS["operands_in"](ufunc, inputs, dtype)))
        if out is None:
            return value
        if not isinstance(out, TracedTensor):
            unsupported(f"{name} of traced values with out= an array that is not", "an array made in the program")
        out.require_own("an update")
        METHODS["setitem"](out, Ellipsis, value)
        return out

    def __array_function__(
        self, function: Callable[..., Any], types: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:
        handler = FUNCTIONS.get(function)
        if handler is None:
            unsupported(numpy_name(function), ", ".join(sorted({numpy_name(f) for f in FUNCTIONS})))
        return invoke(numpy_name(function), handler, args, kwargs)

    __add__ = _binary(np.add)
    __radd__ = _reflected(np.add)
    __sub__ = _binary(np.subtract)
    __rsub__ = _reflected(np.subtract)
    __mul__ = _binary(np.multiply)
    __rmul__ = _reflected(np.multiply)
    __truediv__ = _binary(np.true_divide)
    __rtruediv__ = _reflected(np.true_divide)
    __floordiv__ = _binary(np.floor_divide)
    __rfloordiv__ = _reflected(np.floor_divide)
    __mod__ = _binary(np.remainder)
    __rmod__ = _reflected(np.remainder)
    __pow__ = _binary(np.power)
    __rpow__ = _reflected(np.power)
    __matmul__ = _binary(np.matmul)
    __rmatmul__ = _reflected(np.matmul)
    __and__ = _binary(np.bitwise_and)
    __rand__ = _reflected(np.bitwise_and)
    __or__ = _binary(np.bitwise_or)
    __ror__ = _reflected(np.bitwise_or)
    __xor__ = _binary(np.bitwise_xor)
    __rxor__ = _reflected(np.bitwise_xor)
    __lt__ = _binary(np.less)
    __le__ = _binary(np.less_equal)
    __gt__ = _binary(np.greater)
    __ge__ = _binary(np.greater_equal)
    __neg__ = _unary(np.negative)
    __pos__ = _unary(np.positive)
    __abs__ = _unary(np.absolute)
    __invert__ = _unary(np.invert)

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        unsupported("making a concrete array of a traced value", "NumPy functions of traced values")


_COMPARE: dict[np.ufunc, Callable[[Any, Any], bool]] = {
    np.less: operator.lt,
    np.less_equal: operator.le,
    np.greater: operator.gt,
    np.greater_equal: operator.ge,
    np.equal: operator.eq,
    np.not_equal: operator.ne,
}


class Size(Traced):
    """The length of an axis: an integer that is the same symbol in the whole program. Not an int."""

    __slots__ = ("term",)

    def __init__(self, term: Index):
        self.term = term

    @property
    def resolved(self) -> Index:
        """What the size is, as far as it is known now."""
        return current().sizes.resolve(self.term)

    def _number(self, why: str) -> int:
        return current().sizes.force(self.term, why)

    def __index__(self) -> int:
        return self._number("using a size as a plain integer")

    def __int__(self) -> int:
        return self._number("int() of a size")

    def __float__(self) -> float:
        return float(self._number("float() of a size"))

    def __bool__(self) -> bool:
        sizes = current().sizes
        if sizes.at_least(self.resolved, 1):
            return True
        return self._number("a branch on a size") != 0

    def __hash__(self) -> int:
        return hash(self.resolved)

    def __repr__(self) -> str:
        return str(self.resolved)

    def _compare(self, other: Any, relation: np.ufunc) -> Any:
        if isinstance(other, float):
            if not math.isfinite(other) or not other.is_integer():
                return _COMPARE[relation](self._number("comparing a size"), other)
            other = int(other)
        right = size_term(other)
        if right is None:
            return call_ufunc(relation, self, other) if _is_operand(other) else NotImplemented
        known = decide(relation, self.resolved, current().sizes.resolve(right))
        if known is not None:
            return known
        sizes = current().sizes
        left, right = self.resolved, sizes.resolve(right)
        number = sizes.value_of(left)
        if relation in (np.equal, np.not_equal) and number is not None and number == sizes.value_of(right):
            # The program goes on as for equal sizes, so they are made equal; only where that cannot be said, numbers.
            sizes.unify(left, right, "comparing sizes")
            return relation is np.equal
        return _COMPARE[relation](sizes.force(self.term, "comparing sizes"), sizes.force(right, "comparing sizes"))

    def __eq__(self, other: object) -> Any:
        return self._compare(other, np.equal)

    def __ne__(self, other: object) -> Any:
        return self._compare(other, np.not_equal)

    def __lt__(self, other: Any) -> Any:
        return self._compare(other, np.less)

    def __le__(self, other: Any) -> Any:
        return self._compare(other, np.less_equal)

    def __gt__(self, other: Any) -> Any:
        return self._compare(other, np.greater)

    def __ge__(self, other: Any) -> Any:
        return self._compare(other, np.greater_equal)


def decide(relation: np.ufunc, a: Index, b: Index) -> bool | None:
    """Whether `a relation b` holds for all sizes: True, False, or None when that depends."""
    sizes = current().sizes
    less, more = sizes.at_least(b - a, 1), sizes.at_least(a - b, 1)
    at_most, at_least = sizes.at_least(b - a, 0), sizes.at_least(a - b, 0)
    if relation in (np.equal, np.not_equal):
        known = True if a == b else False if less or more else None
        return known if known is None or relation is np.equal else not known
    if relation in (np.greater, np.less_equal):
        known = True if at_most else False if more else None
        return known if known is None or relation is np.less_equal else not known
    known = True if less else False if at_least else None
    return known if known is None or relation is np.less else not known


def size_term(value: Any) -> Index | None:
    """The index term of a size or a plain integer; None for anything else."""
    if isinstance(value, Size):
        return value.resolved
    number = as_integer(value)
    return None if number is None else ix.const(number)


def as_size(term: Index) -> Size | int:
    """A size for the program to see: a plain integer when it is one."""
    return Size(term) if term.constant is None else term.constant


@dataclass(frozen=True)
class View:
    """How a tensor shares elements with the one that it was made from."""

    base: TracedTensor
    redo: Callable[[TracedTensor], TracedTensor] | None
    """The view of the base as it is now; None where NumPy may have copied instead."""
    undo: Callable[[TracedTensor, TracedTensor], TracedTensor] | None
    """The base's new value, from the base and the view's new value; None where NumPy may have copied, or refuses."""


def _same_place(a: Any, b: Any) -> bool:
    """Whether two subscripts are one: from Python 3.12 on, `y[i:j] += z` makes its slice twice."""
    if isinstance(a, slice) and isinstance(b, slice):
        one, other = cast("slice[Any, Any, Any]", a), cast("slice[Any, Any, Any]", b)
        return one.start is other.start and one.stop is other.stop and one.step is other.step
    return a is b


class TracedTensor(Traced):
    """Stands for an array. `weak`: its type gives way to any other (Python scalars, and what comes from them alone).

    Assigning in place gives the object another node. A view is made anew from its base when that has changed, and an
    assignment to it is one to its base. Arguments never change.
    """

    __slots__ = ("_born", "_node", "_origin", "_seen", "_taken", "_version", "_view", "_weak")

    def __init__(self, node: Node, *, weak: bool = False, origin: str | None = None, view: View | None = None):
        self._node = node
        self._weak = weak
        self._origin = origin
        self._view = view
        self._version = 0
        self._born = current().born()
        self._seen = self.version
        self._taken: tuple[TracedTensor, Any] | None = None

    __eq__ = _binary(np.equal)  # pyright: ignore[reportAssignmentType]
    __ne__ = _binary(np.not_equal)  # pyright: ignore[reportAssignmentType]
    __hash__ = object.__hash__

    # -- views --------------------------------------------------------------------------------------------------------

    @property
    def version(self) -> int:
        """How often the elements have been assigned to."""
        return self._version if self._view is None else self._view.base.version

    def _refresh(self) -> None:
        view = self._view
        if view is None or self._seen == view.base.version:
            return
        if view.redo is None:
            unsupported(
                "reading a reshaped array after the array it came from was assigned to", "x.reshape(...).copy()"
            )
        new = view.redo(view.base)
        self._node, self._weak, self._seen = new.node, new.weak, view.base.version

    @property
    def node(self) -> Node:
        """The value as it is now."""
        self._refresh()
        return self._node

    @property
    def weak(self) -> bool:
        """Whether the element type gives way."""
        self._refresh()
        return self._weak

    @property
    def stands_alone(self) -> bool:
        """Whether it shares no elements with another array that it was made from."""
        return self._view is None

    @property
    def origin(self) -> str | None:
        """The argument that the elements belong to."""
        return self._origin if self._view is None else self._view.base.origin

    def require_own(self, what: str) -> None:
        """Refuse to change an argument in place."""
        if self.origin:
            unsupported(
                f"{what} of argument '{self.origin}' (or a view of it) in place", "a new value: y = x + 1, y = x.copy()"
            )

    def assign(self, value: TracedTensor) -> None:
        """Take the elements of a tensor of the same shape."""
        self.require_own("assigning to elements")
        view = self._view
        if view is None:
            current().changing(self, self._born, self._node, self._weak)
            self.become(value.node, weak=value.weak)
        elif view.undo is None:
            unsupported("assigning through a reshaped or broadcast array", "assigning to the array itself")
        else:
            view.base.assign(view.undo(view.base, value))

    def become(self, node: Node, *, weak: bool) -> None:
        """Have the elements of a node, whoever shares them."""
        self._node, self._weak = node, weak
        self._version += 1

    # -- what a program sees ------------------------------------------------------------------------------------------

    @property
    def terms(self) -> Shape:
        """The shape as index terms."""
        return current().shape(self.node)

    @property
    def shape(self) -> tuple[Size | int, ...]:
        """The shape as the program sees it."""
        return tuple(as_size(s) for s in self.terms)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.node.shape)

    @property
    def size(self) -> Size | int:
        """The number of elements."""
        return as_size(math.prod(self.terms, start=ix.const(1)))

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's element type."""
        return DTYPES[self.node.dtype]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        handler = METHODS.get(name)
        if handler is None:
            unsupported(f"the array attribute .{name}", ", ".join(f".{m}" for m in sorted(METHODS)))
        if name in PROPERTIES:
            return handler(self)

        def method(*args: Any, **kwargs: Any) -> Any:
            return invoke(f"ndarray.{name}", handler, (self, *args), kwargs)

        return method

    def __getitem__(self, key: Any) -> Any:
        out = METHODS["getitem"](self, key)
        if isinstance(out, TracedTensor) and out is not self:
            out._taken = (self, key)
        return out

    def __setitem__(self, key: Any, value: Any) -> None:
        self.require_own("assigning to elements")
        if isinstance(value, TracedTensor) and value._view is not None and value._taken is not None:
            # `y[key] += z` has assigned to the view `y[key]` already.
            whose, where = value._taken
            if whose is self and _same_place(where, key):
                return
        METHODS["setitem"](self, key, value)

    def update(self, ufunc: np.ufunc, other: Any) -> Any:
        """What an in-place operator does."""
        self.require_own("an update")
        if self.ndim == 0:
            # NumPy's scalars do not change either.
            return call_ufunc(ufunc, self, other)
        METHODS["setitem"](self, Ellipsis, call_ufunc(ufunc, self, other))
        return self

    __iadd__ = _in_place_operator(np.add)
    __isub__ = _in_place_operator(np.subtract)
    __imul__ = _in_place_operator(np.multiply)
    __itruediv__ = _in_place_operator(np.true_divide)
    __ifloordiv__ = _in_place_operator(np.floor_divide)
    __imod__ = _in_place_operator(np.remainder)
    __ipow__ = _in_place_operator(np.power)
    __imatmul__ = _in_place_operator(np.matmul)
    __iand__ = _in_place_operator(np.bitwise_and)
    __ior__ = _in_place_operator(np.bitwise_or)
    __ixor__ = _in_place_operator(np.bitwise_xor)

    def __bool__(self) -> NoReturn:
        unsupported("a branch on the data of a tensor", "np.where(condition, a, b)")

    def _refuse_number(self, *_: Any) -> Any:
        unsupported("taking a number out of a tensor (data-dependent control flow)", "np.where, tensor arithmetic")

    __float__ = __int__ = __index__ = __complex__ = __round__ = _refuse_number

    def __iter__(self) -> Iterator[Any]:
        if not self.ndim:
            raise AxonError("iterating over a scalar", where=str(here()), accepted="arrays of rank 1 or more")
        return METHODS["rows"](self, sys._getframe(1))  # pyright: ignore[reportPrivateUsage]

    def __len__(self) -> int:
        if not self.ndim:
            raise AxonError("len() of a scalar", where=str(here()))
        return current().sizes.force(self.terms[0], "len() of a tensor")

    def __contains__(self, value: Any) -> NoReturn:
        unsupported("`in` on the data of a tensor", "np.where(condition, a, b)")

    def __repr__(self) -> str:
        return f"<traced {self.node.dtype}[{', '.join(map(str, self.terms))}]>"


class Each:
    """What each step of a loop has put into a list: one entry for all, in the order of the steps.

    Only what makes an array of the list knows it; any other use of the entry refuses the loop.
    """

    __slots__ = ("refuse", "values")
    __array_ufunc__ = None
    __hash__ = object.__hash__

    def __init__(self, values: TracedTensor, refuse: Callable[[], NoReturn]):
        self.values = values
        """The entries, along a first axis."""
        self.refuse = refuse

    def __getattr__(self, name: str) -> NoReturn:
        self.refuse()

    def _refuse(self, *_: Any) -> Any:
        self.refuse()

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __neg__ = _refuse
    __matmul__ = __rmatmul__ = __pow__ = __rpow__ = __lt__ = __le__ = __gt__ = __ge__ = __getitem__ = __iter__ = _refuse
    __len__ = __bool__ = __float__ = __int__ = __array__ = _refuse

    def __eq__(self, other: object) -> bool:
        return self is other


def _size_arithmetic(name: str, ufunc: np.ufunc, combine: Callable[[Index, Index], Index]) -> None:
    """Give `Size` an operator that stays a size on sizes and integers, and is scalar arithmetic otherwise."""

    def forward(self: Size, other: Any) -> Any:
        right = size_term(other)
        if right is None or (ufunc in (np.floor_divide, np.remainder) and not current().sizes.at_least(right, 1)):
            return call_ufunc(ufunc, self, other) if _is_operand(other) else NotImplemented
        return as_size(combine(self.resolved, right))

    def reflected(self: Size, other: Any) -> Any:
        left = size_term(other)
        if left is None:
            return call_ufunc(ufunc, other, self) if _is_operand(other) else NotImplemented
        return as_size(combine(left, self.resolved))

    setattr(Size, f"__{name}__", forward)
    setattr(Size, f"__r{name}__", reflected)


_size_arithmetic("add", np.add, operator.add)
_size_arithmetic("sub", np.subtract, operator.sub)
_size_arithmetic("mul", np.multiply, operator.mul)
_size_arithmetic("floordiv", np.floor_divide, Index.__floordiv__)
_size_arithmetic("mod", np.remainder, Index.__mod__)


def _size_power(self: Size, exponent: Any) -> Any:
    if isinstance(exponent, int) and not isinstance(exponent, bool) and 0 <= exponent <= 8:
        out = ix.const(1)
        for _ in range(exponent):
            out = out * self.resolved
        return as_size(out)
    return call_ufunc(np.power, self, exponent) if _is_operand(exponent) else NotImplemented


def _size_negative(self: Size) -> Any:
    return as_size(-self.resolved)


setattr(Size, "__pow__", _size_power)
setattr(Size, "__neg__", _size_negative)
