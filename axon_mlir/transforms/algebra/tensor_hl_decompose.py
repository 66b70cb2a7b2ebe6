# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tensor-hl-decompose`: write named composites in primitives.

A composite computes in f32 and rounds its result once, and so does what replaces it: every value inside is f32.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from axon_mlir.dialects.tensor_hl import (
    ELEMENTWISE,
    BroadcastOp,
    ConstantOp,
    ReduceOp,
    SizeOp,
    TensorHlOp,
    element_of,
)
from axon_mlir.semantics.index import Index, const
from axon_mlir.semantics.shapes import shape_of


@dataclass
class _Builder:
    """Collects the operations that replace one."""

    element: Attribute
    """The element type of the final result."""
    made: list[Operation] = field(default_factory=list[Operation])

    def add(self, op: TensorHlOp) -> SSAValue:
        self.made.append(op)
        return op.result

    def apply(self, function: str, *args: SSAValue, last: bool = False) -> SSAValue:
        """A scalar function, rounded to f32, or to the result's type when it is the last step."""
        return self.add(ELEMENTWISE[function](*args, element_type=self.element if last else f32))

    def number(self, value: Any, like: SSAValue) -> SSAValue:
        """A constant of the shape of `like`."""
        return self.spread(self.add(ConstantOp(element_type=f32, shape=(), value=value)), [], shape_of(like.type))

    def spread(self, x: SSAValue, dims: list[int], shape: tuple[Index, ...]) -> SSAValue:
        return self.add(BroadcastOp(x, dims=dims, shape=shape))

    def fold(self, monoid: str, x: SSAValue, axis: int) -> SSAValue:
        """A fold along an axis, repeated along it."""
        shape = shape_of(x.type)
        folded = self.add(ReduceOp(x, monoid=monoid, axes=[axis], element_type=f32))
        return self.spread(folded, [n for n in range(len(shape)) if n != axis], shape)

    def mean(self, x: SSAValue) -> SSAValue:
        """The mean along the last axis, which goes."""
        shape = shape_of(x.type)
        total = self.add(ReduceOp(x, monoid="sum", axes=[len(shape) - 1], element_type=f32))
        count = self.add(SizeOp(element_type=f32, term=shape[-1]))
        return self.apply("div", total, self.spread(count, [], shape[:-1]))

    def rows(self, x: SSAValue, shape: tuple[Index, ...]) -> SSAValue:
        """One number a row, repeated along the row."""
        return self.spread(x, list(range(len(shape) - 1)), shape)

    def columns(self, x: SSAValue, shape: tuple[Index, ...]) -> SSAValue:
        """A row, repeated for every row."""
        return self.spread(x, [len(shape) - 1], shape)

    def root(self, mean: SSAValue, eps: Any) -> SSAValue:
        """The root of a mean square plus eps."""
        return self.apply("sqrt", self.apply("add", mean, self.number(eps, mean)))


def _softmax(op: TensorHlOp, b: _Builder) -> SSAValue:
    x, axis = op.operands[0], op.value("axis")
    e = b.apply("exp", b.apply("sub", x, b.fold("max", x, axis)))
    return b.apply("div", e, b.fold("sum", e, axis), last=True)


def _log_softmax(op: TensorHlOp, b: _Builder) -> SSAValue:
    x, axis = op.operands[0], op.value("axis")
    shifted = b.apply("sub", x, b.fold("max", x, axis))
    total = b.fold("sum", b.apply("exp", shifted), axis)
    return b.apply("sub", shifted, b.apply("log", total), last=True)


def _mean(op: TensorHlOp, b: _Builder) -> SSAValue:
    (x,), axes = op.operands, cast("tuple[int, ...]", op.value("axes"))
    shape = shape_of(x.type)
    total = b.add(ReduceOp(x, monoid="sum", axes=list(axes), element_type=f32))
    count = b.add(SizeOp(element_type=f32, term=prod((shape[a] for a in axes), start=const(1))))
    return b.apply("div", total, b.spread(count, [], shape_of(total.type)), last=True)


def _rms_norm(op: TensorHlOp, b: _Builder) -> SSAValue:
    x, gain = op.operands
    shape = shape_of(x.type)
    root = b.root(b.mean(b.apply("mul", x, x)), op.value("eps"))
    return b.apply("mul", b.apply("div", x, b.rows(root, shape)), b.columns(gain, shape), last=True)


def _layer_norm(op: TensorHlOp, b: _Builder) -> SSAValue:
    x, gain, bias = op.operands
    shape = shape_of(x.type)
    centred = b.apply("sub", x, b.rows(b.mean(x), shape))
    root = b.root(b.mean(b.apply("square", centred)), op.value("eps"))
    scaled = b.apply("mul", b.apply("div", centred, b.rows(root, shape)), b.columns(gain, shape))
    return b.apply("add", scaled, b.columns(bias, shape), last=True)


def _gelu(op: TensorHlOp, b: _Builder) -> SSAValue:
    (x,) = op.operands
    inner = b.apply("erf", b.apply("div", x, b.apply("sqrt", b.number(2, x))))
    return b.apply("mul", b.apply("mul", b.number(0.5, x), x), b.apply("add", b.number(1, x), inner), last=True)


def _gelu_tanh(op: TensorHlOp, b: _Builder) -> SSAValue:
    (x,) = op.operands
    cube = b.apply("mul", b.apply("mul", x, x), x)
    inner = b.apply("add", x, b.apply("mul", b.number(0.044715, x), cube))
    tanh = b.apply("tanh", b.apply("mul", b.number(math.sqrt(2 / math.pi), x), inner))
    return b.apply("mul", b.apply("mul", b.number(0.5, x), x), b.apply("add", b.number(1, x), tanh), last=True)


def _sigmoid_denominator(x: SSAValue, b: _Builder) -> SSAValue:
    return b.apply("add", b.number(1, x), b.apply("exp", b.apply("neg", x)))


def _sigmoid(op: TensorHlOp, b: _Builder) -> SSAValue:
    (x,) = op.operands
    return b.apply("div", b.number(1, x), _sigmoid_denominator(x, b), last=True)


def _silu(op: TensorHlOp, b: _Builder) -> SSAValue:
    (x,) = op.operands
    return b.apply("div", x, _sigmoid_denominator(x, b), last=True)


def _relu(op: TensorHlOp, b: _Builder) -> SSAValue:
    (x,) = op.operands
    return b.apply("max", x, b.number(0, x), last=True)


EXPANSIONS: dict[str, Callable[[TensorHlOp, _Builder], SSAValue]] = {
    "tensor_hl.softmax": _softmax,
    "tensor_hl.log_softmax": _log_softmax,
    "tensor_hl.mean": _mean,
    "tensor_hl.rms_norm": _rms_norm,
    "tensor_hl.layer_norm": _layer_norm,
    "tensor_hl.gelu": _gelu,
    "tensor_hl.gelu_tanh": _gelu_tanh,
    "tensor_hl.sigmoid": _sigmoid,
    "tensor_hl.silu": _silu,
    "tensor_hl.relu": _relu,
}
"""Operation name -> how it is written in primitives."""


@dataclass(frozen=True)
class TensorHlDecompose(ModulePass):
    """Expand softmax, log_softmax, mean, rms_norm, layer_norm, gelu, gelu_tanh, sigmoid, silu and relu."""

    name = "tensor-hl-decompose"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Expand every composite of the module."""
        for inner in list(op.walk()):
            expand = EXPANSIONS.get(inner.name)
            if expand is None or not isinstance(inner, TensorHlOp):
                continue
            builder = _Builder(element_of(inner.results[0]))
            result = expand(inner, builder)
            for made in builder.made:
                made.location = inner.location
            Rewriter.replace_op(inner, builder.made, [result])
