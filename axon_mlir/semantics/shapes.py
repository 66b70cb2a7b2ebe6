# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sizes in tensor types: `tensor<?x1xbf16, ["M", "1"]>`, a string per axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeGuard, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    BFloat16Type,
    Float8E4M3FNType,
    Float8E4M3Type,
    Float8E5M2Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
    NoneAttr,
    Signedness,
    StringAttr,
    TensorType,
)
from xdsl.ir import Attribute

from axon_mlir.errors import AxonError
from axon_mlir.semantics.index import Index, const, parse

_FLOATS: tuple[tuple[str, type[Attribute]], ...] = (
    ("f64", Float64Type),
    ("f32", Float32Type),
    ("bf16", BFloat16Type),
    ("f16", Float16Type),
    ("f8E4M3", Float8E4M3Type),
    ("f8E4M3FN", Float8E4M3FNType),
    ("f8E5M2", Float8E5M2Type),
)
_ACCEPTED = f"{', '.join(name for name, _ in _FLOATS)}, i1, i8, i32, ui8, .."


def dtype_name(element: Attribute) -> str:
    """`f32`, `bf16`, `f16`, `f8E4M3`, `f64`, `i32`, `i1`, `ui8`, `index`."""
    for name, cls in _FLOATS:
        if isinstance(element, cls):
            return name
    if isinstance(element, IntegerType):
        one = cast(IntegerType, element)
        unsigned = one.signedness.data == Signedness.UNSIGNED
        return f"{'u' if unsigned else ''}i{one.width.data}"
    if isinstance(element, IndexType):
        return "index"
    raise AxonError(f"element type {element} is not supported", accepted=_ACCEPTED)


def element_type(name: str) -> Attribute:
    """The inverse of `dtype_name`."""
    for known, cls in _FLOATS:
        if known == name:
            return cls()
    for prefix, signedness in (("ui", Signedness.UNSIGNED), ("i", Signedness.SIGNLESS)):
        width = name.removeprefix(prefix)
        if width != name and width.isdigit():
            return IntegerType(int(width), signedness)
    raise AxonError(f"element type '{name}' is not supported", accepted=_ACCEPTED)


def is_tensor(type_: object) -> TypeGuard[TensorType]:
    return isinstance(type_, TensorType)


def strings_of(attribute: Attribute | None) -> tuple[str, ...] | None:
    """The strings in an array attribute; None for what is no array."""
    if not isinstance(attribute, ArrayAttr):
        return None
    return tuple(a.data for a in cast("ArrayAttr[Attribute]", attribute).data if isinstance(a, StringAttr))


def shape_of(t: Attribute) -> tuple[Index, ...]:
    """The symbolic shape of a tensor type. A dynamic axis without a name raises AxonError."""
    if not is_tensor(t):
        raise AxonError(f"{t} is not a tensor type")
    dims = t.get_shape()
    texts = strings_of(t.encoding)
    if texts is not None:
        if len(texts) != len(dims):
            raise AxonError(f"{t}: the encoding names {len(texts)} sizes for {len(dims)} axes")
        try:
            shape = tuple(parse(s) for s in texts)
        except ValueError as e:
            raise AxonError(str(e), accepted='one size expression per axis, such as ["M", "2*K", "1"]') from e
        for d, s in zip(dims, shape, strict=True):
            if d != DYNAMIC_INDEX and s.constant != d:
                raise AxonError(f"{t}: the static axis {d} is called {s}", accepted=f'"{d}"')
        return shape
    if any(d == DYNAMIC_INDEX for d in dims):
        raise AxonError(f"{t}: a dynamic axis needs a name", accepted='tensor<?x?xf32, ["M", "K"]>')
    return tuple(const(d) for d in dims)


def tensor_type(shape: Sequence[Index], element: Attribute | str) -> TensorType:
    """A tensor type with sizes in its encoding (no encoding when every axis is a number)."""
    element = element_type(element) if isinstance(element, str) else element
    dims = [s.constant if s.constant is not None else DYNAMIC_INDEX for s in shape]
    if all(s.constant is not None for s in shape):
        return TensorType(element, dims, NoneAttr())
    return TensorType(element, dims, ArrayAttr([StringAttr(str(s)) for s in shape]))
