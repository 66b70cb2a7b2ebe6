# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A small program for every operation of tensor_hl, each with a form that is proved equal to it.

Together they hold every operation of the dialect (a test asserts it), so that an edit of any of them is tried.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp, bf16, f32, i1, i32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue

from axon_mlir.dialects.tensor_hl import ELEMENTWISE, OPERATIONS
from axon_mlir.semantics.functions import FUNCTIONS
from axon_mlir.semantics.index import Index, const, parse
from axon_mlir.semantics.shapes import shape_of, tensor_type
from axon_mlir.transforms.algebra.tensor_hl_decompose import TensorHlDecompose

Value = SSAValue
TYPES: dict[str, Attribute] = {"f32": f32, "bf16": bf16, "i32": i32, "i1": i1}


class Builder:
    """Writes one function. `square`: all sizes are one, so that axes and sizes can be confused."""

    def __init__(self, *, square: bool = False):
        self.square = square
        self.block = Block()

    def shape(self, text: str) -> tuple[Index, ...]:
        """A shape such as `M,N+1`; sizes are single capitals."""
        if self.square:
            text = "".join("N" if c.isupper() else c for c in text)
        return tuple(parse(part) for part in text.split(",") if part)

    def arg(self, shape: str, dtype: str = "f32") -> Value:
        """An argument."""
        return self.block.insert_arg(tensor_type(self.shape(shape), TYPES[dtype]), len(self.block.args))

    def number(self, value: float, like: Value | None = None) -> Value:
        """A constant, of the shape of another value."""
        shape = shape_of(like.type) if like is not None else ()
        return self("constant", value=value, shape=shape, element_type=f32)

    def __call__(self, name: str, *operands: Value, dtype: str | None = None, **words: Any) -> Value:
        """An operation's result."""
        if dtype is not None:
            words["element_type"] = TYPES[dtype]
        for word in ("offsets", "sizes", "shape"):
            if isinstance(words.get(word), str):
                words[word] = self.shape(words[word])
        op = OPERATIONS[name](*operands, **words)
        self.block.add_op(op)
        return op.results[0]

    def function(self, *results: Value) -> FuncOp:
        """The function that returns the values."""
        self.block.add_op(ReturnOp(*results))
        inputs = [a.type for a in self.block.args]
        return FuncOp("f", FunctionType.from_lists(inputs, [r.type for r in results]), Region(self.block))


Program = Callable[[Builder], Value]


def _unary(name: str) -> Program:
    """`f(h(x)) * w + x`, where h(x) is in the domain of f."""

    def program(b: Builder) -> Value:
        x, w = b.arg("M,N"), b.arg("M,N")
        inner = x
        if FUNCTIONS[name].defined_when is not None:
            inner = b("add", b("mul", x, x), b.number(0.5, x))
        return b("add", b("mul", b(name, inner), w), x)

    return program


def _binary(name: str) -> Program:
    def program(b: Builder) -> Value:
        x, w = b.arg("M,N"), b.arg("M,N")
        if name == "power":
            x, w = b("add", b("square", x), b.number(0.5, x)), b.number(3.0, w)
        if FUNCTIONS[name].defined_when is not None:
            w = b("add", b("square", w), b.number(0.5, w))
        return b("sub", b(name, x, w), b("mul", x, b.number(0.25, x)))

    return program


def _causal(b: Builder, like: Value, predicate: str = "ge") -> Value:
    """Whether the row's index is at least the column's."""
    row, column = (b("iota", axis=axis, shape=shape_of(like.type), dtype="i32") for axis in (0, 1))
    return b("compare", row, column, predicate=predicate)


def _compare(b: Builder) -> Value:
    x, w = b.arg("M,N"), b.arg("M,N")
    return b("select", b("compare", x, w, predicate="lt"), b("mul", x, w), b("add", x, b.number(2.0, x)))


def _select(b: Builder) -> Value:
    x = b.arg("M,N")
    return b("select", _causal(b, x), x, b.number(0.5, x))


def _masked_softmax(b: Builder) -> Value:
    x = b.arg("M,M")
    return b("mul", b("select", _causal(b, x), b("exp", x), b.number(0.0, x)), x)


def _cast(b: Builder) -> Value:
    x = b.arg("M,N")
    narrow = b("exp", b("cast", x, dtype="bf16"))
    return b("add", b("cast", narrow, dtype="f32"), x)


def _cast_of_product(b: Builder) -> Value:
    x, w = b.arg("M,K"), b.arg("K,N")
    y = b("matmul", b("cast", x, dtype="bf16"), b("cast", w, dtype="bf16"), lhs_contract=(1,), rhs_contract=(0,))
    return b("square", b("cast", y, dtype="f32"))


def _truncate(b: Builder) -> Value:
    x = b.arg("M,N")
    return b("sub", x, b("cast", b("truncate", x, dtype="i32"), dtype="f32"))


def _clamp(b: Builder) -> Value:
    x = b.arg("M,N")
    return b("mul", b("clamp", x, b.number(-1.0), b.number(0.75)), x)


def _size(b: Builder) -> Value:
    x = b.arg("M,N")
    count = b("broadcast", b("size", term=b.shape("N")[0], dtype="f32"), dims=(), shape=b.shape("M,N"))
    return b("div", x, count)


def _iota(b: Builder) -> Value:
    x = b.arg("M,N")
    return b("mul", x, b("cast", b("iota", axis=1, shape=shape_of(x.type), dtype="i32"), dtype="f32"))


def _empty(b: Builder) -> Value:
    x, y = b.arg("M,N"), b.arg("K,N")
    room = b("empty", shape="M+K,N", dtype="f32")
    first = b("insert", room, x, offsets="0,0", steps=(1, 1))
    return b("insert", first, y, offsets="M,0", steps=(1, 1))


def _broadcast(b: Builder) -> Value:
    x, row = b.arg("M,N"), b.arg("N")
    return b("sub", x, b("broadcast", row, dims=(1,), shape="M,N"))


def _broadcast_column(b: Builder) -> Value:
    x = b.arg("M,N")
    total = b("reduce", x, monoid="max", axes=(1,))
    return b("sub", x, b("broadcast", total, dims=(0,), shape="M,N"))


def _transpose(b: Builder) -> Value:
    return b("exp", b("transpose", b.arg("B,M,N"), perm=(2, 0, 1)))


def _reshape(b: Builder) -> Value:
    x, w = b.arg("B,M,N"), b.arg("B*M,N")
    return b("mul", b("reshape", x, shape="B*M,N"), w)


def _squeeze(b: Builder) -> Value:
    return b("tanh", b("squeeze", b.arg("M,1,N,1"), axes=(1, 3)))


def _slice(b: Builder) -> Value:
    x = b.arg("M+3,N+2")
    return b("relu", b("slice", x, offsets="1,2", sizes="M,N", steps=(1, 1)))


def _slice_steps(b: Builder) -> Value:
    x = b.arg("2*M,N")
    even, odd = (b("slice", x, offsets=f"{n},0", sizes="M,N", steps=(2, 1)) for n in (0, 1))
    return b("sub", even, b("mul", odd, odd))


def _slice_backwards(b: Builder) -> Value:
    return b("slice", b.arg("M,N"), offsets="M-1,0", sizes="M,N", steps=(-1, 1))


def _insert(b: Builder) -> Value:
    x, y = b.arg("M+3,N"), b.arg("M,N")
    return b("insert", x, y, offsets="2,0", steps=(1, 1))


def _insert_steps(b: Builder) -> Value:
    x, y = b.arg("M,2*N"), b.arg("M,N")
    return b("insert", x, y, offsets="0,1", steps=(1, 2))


def _concat(b: Builder) -> Value:
    return b("concat", b.arg("M,N"), b.arg("K,N"), axis=0)


def _concat_same(b: Builder) -> Value:
    x, y = b.arg("M,N"), b.arg("M,N")
    return b("square", b("concat", x, b("neg", y), axis=1))


def _pad(b: Builder) -> Value:
    return b("pad", b.arg("M,N"), b.number(0.5), axis=1, low=const(2), high=const(1))


def _repeat(b: Builder) -> Value:
    return b("repeat", b.arg("M,N"), axis=1, times=const(3))


def _tile(b: Builder) -> Value:
    return b("tile", b.arg("M,N"), axis=1, times=const(3))


def _gather(b: Builder) -> Value:
    return b("gather", b.arg("N,K"), b.arg("M", "i32"), axis=0)


def _gather_batch(b: Builder) -> Value:
    return b("gather", b.arg("B,N,K"), b.arg("B,M", "i32"), batch=1, axis=1)


def _scatter(b: Builder) -> Value:
    return b("scatter", b.arg("N,K"), b.arg("M", "i32"), b.arg("M,K"), axis=0)


def _reduce(monoid: str) -> Program:
    def program(b: Builder) -> Value:
        x, w = b.arg("M,N"), b.arg("N")
        weights = b("broadcast", w, dims=(1,), shape="M,N")
        return b("reduce", b("mul", x, weights), monoid=monoid, axes=(1,))

    return program


def _reduce_two(b: Builder) -> Value:
    return b("reduce", b("square", b.arg("B,M,N")), monoid="sum", axes=(0, 2))


def _mean(b: Builder) -> Value:
    return b("mean", b("exp", b.arg("M,N")), axes=(1,))


def _variance(b: Builder) -> Value:
    x = b.arg("M,N")
    centred = b("sub", x, b("broadcast", b("mean", x, axes=(1,)), dims=(0,), shape="M,N"))
    inside = b("add", b("mean", b("square", centred), axes=(1,)), b("constant", value=1e-2, shape="M", dtype="f32"))
    return b("mul", centred, b("broadcast", b("rsqrt", inside), dims=(0,), shape="M,N"))


def _scan(monoid: str) -> Program:
    def program(b: Builder) -> Value:
        x = b.arg("M,N")
        return b("sub", b("scan", x, monoid=monoid, axis=1), b("mul", x, b.number(0.5, x)))

    return program


def _affine_scan(b: Builder) -> Value:
    return b("affine_scan", b.arg("M,N"), b.arg("M,N"), axis=1)


def _matmul(b: Builder) -> Value:
    return b("matmul", b.arg("M,K"), b.arg("K,N"), lhs_contract=(1,), rhs_contract=(0,))


def _matmul_batch(b: Builder) -> Value:
    return b("matmul", b.arg("B,M,K"), b.arg("B,N,K"), batch=1, lhs_contract=(2,), rhs_contract=(2,))


def _softmax(name: str) -> Program:
    def program(b: Builder) -> Value:
        return b(name, b("mul", b.arg("M,N"), b.arg("M,N")), axis=1)

    return program


def _rms_norm(b: Builder) -> Value:
    return b("rms_norm", b.arg("M,N"), b.arg("N"), eps=1e-2)


def _layer_norm(b: Builder) -> Value:
    return b("layer_norm", b.arg("M,N"), b.arg("N"), b.arg("N"), eps=1e-2)


def _gelu(name: str) -> Program:
    def program(b: Builder) -> Value:
        x = b.arg("M,N")
        return b("mul", b(name, x), x)

    return program


def _rope(pairing: str) -> Program:
    def program(b: Builder) -> Value:
        return b("rope", b.arg("B,T,2*H"), b.arg("T,H"), b.arg("T,H"), pairing=pairing)

    return program


def _attention(mask: str) -> Program:
    def program(b: Builder) -> Value:
        # Square, so that no query has all its keys behind the mask.
        return b("attention", b.arg("B,S,D"), b.arg("B,S,D"), b.arg("B,S,E"), mask=mask, scale=0.5)

    return program


def _masked_attention(b: Builder) -> Value:
    q, k, v = b.arg("B,S,D"), b.arg("B,S,D"), b.arg("B,S,E")
    like = b("constant", value=0.0, shape="S,S", dtype="f32")
    return b("masked_attention", q, k, v, _causal(b, like), scale=0.5)


PROGRAMS: dict[str, Program] = {
    **{name: (_unary if FUNCTIONS[name].arity == 1 else _binary)(name) for name in ELEMENTWISE},
    "compare": _compare,
    "select": _select,
    "select, causal": _masked_softmax,
    "cast": _cast,
    "cast of a product": _cast_of_product,
    "truncate": _truncate,
    "clamp": _clamp,
    "size": _size,
    "iota": _iota,
    "empty": _empty,
    "broadcast": _broadcast,
    "broadcast of a column": _broadcast_column,
    "transpose": _transpose,
    "reshape": _reshape,
    "squeeze": _squeeze,
    "slice": _slice,
    "slice in steps": _slice_steps,
    "slice backwards": _slice_backwards,
    "insert": _insert,
    "insert in steps": _insert_steps,
    "concat": _concat,
    "concat of equals": _concat_same,
    "pad": _pad,
    "repeat": _repeat,
    "tile": _tile,
    "gather": _gather,
    "gather in batches": _gather_batch,
    "scatter": _scatter,
    **{f"reduce {m}": _reduce(m) for m in ("sum", "prod", "max", "min")},
    "reduce of two axes": _reduce_two,
    "mean": _mean,
    "variance": _variance,
    **{f"scan {m}": _scan(m) for m in ("sum", "max", "min")},
    "affine_scan": _affine_scan,
    "matmul": _matmul,
    "matmul in batches": _matmul_batch,
    "softmax": _softmax("softmax"),
    "log_softmax": _softmax("log_softmax"),
    "rms_norm": _rms_norm,
    "layer_norm": _layer_norm,
    "gelu": _gelu("gelu"),
    "gelu_tanh": _gelu("gelu_tanh"),
    "rope": _rope("half"),
    "rope of neighbours": _rope("interleaved"),
    "attention": _attention("none"),
    "attention, causal": _attention("causal"),
    "masked_attention": _masked_attention,
}
"""What it shows -> the program."""


def build(name: str, *, square: bool = False) -> FuncOp:
    """One of the programs."""
    builder = Builder(square=square)
    return builder.function(PROGRAMS[name](builder))


def decomposed(function: FuncOp) -> FuncOp:
    """The same in primitives, where it is a composite."""
    copy = function.clone()
    TensorHlDecompose().apply(Context(), ModuleOp([copy]))
    return copy
