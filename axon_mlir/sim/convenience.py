# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`nl.load`, `nl.add`, `nl.softmax`, ...: functions of the language that are made of instructions.

Each allocates its result and issues the instructions that compute it, so that they are checked, counted and timed as
any others are. Which ones the compiler would issue is documented for a few only (an elementwise function is one
instruction, `nl.rsqrt` runs on GpSimd, `nl.sin` reduces its argument to a period); the rest is a plain choice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from axon_mlir.sim.dtypes import DType, dtype_of
from axon_mlir.sim.failures import Misuse
from axon_mlir.sim.machine import Machine
from axon_mlir.sim.memory import Tensor

Instructions = Mapping[str, Callable[..., Any]]

BINARY = (
    "add subtract multiply maximum minimum power abs_max abs_min equal not_equal less less_equal greater greater_equal "
    "bitwise_and bitwise_or bitwise_xor left_shift right_shift logical_and logical_or logical_xor"
).split()
"""Operators that are functions of two tiles, or of a tile and a number."""

UNARY = (
    "abs square exp log sqrt tanh sigmoid relu gelu gelu_dx gelu_apprx_tanh gelu_apprx_sigmoid gelu_apprx_sigmoid_dx "
    "silu silu_dx softplus mish erf erf_dx sign arctan"
).split()
"""Activation functions that are functions of a tile."""

REDUCTIONS = {"sum": "add", "max": "maximum", "min": "minimum", "prod": "multiply"}
"""Function -> the operator of `nisa.tensor_reduce`."""

REFUSED = {
    "divide": "multiply by `nl.reciprocal`",
    "mod": "another formula: no engine divides",
    "fmod": "another formula: no engine divides",
    "rand": "numbers from an argument: random numbers are not simulated",
    "dropout": "a mask from an argument: random numbers are not simulated",
    "random_seed": "numbers from an argument: random numbers are not simulated",
}
"""Functions that the hardware cannot run, or that have no repeatable meaning, and what to write instead."""


class Convenience:
    """The functions, for one run. `symbols` are the operators by name."""

    def __init__(self, machine: Machine, instructions: Instructions, symbols: Mapping[str, Any]):
        self.machine = machine
        self.instructions = instructions
        self.symbols = symbols

    def functions(self) -> dict[str, Callable[..., Any]]:
        """Every function by its name in the language; those that are operators too among them."""
        found: dict[str, Callable[..., Any]] = {name: self._binary(name) for name in BINARY}
        found |= {name: self._unary(name) for name in UNARY}
        found |= {name: self._reduction(name, op) for name, op in REDUCTIONS.items()}
        found |= {name: _refused(name, accepted) for name, accepted in REFUSED.items()}
        own = (
            "load store load_transpose2d copy reciprocal rsqrt negative logical_not invert sin cos tan floor ceil "
            "trunc mean var all softmax rms_norm where matmul transpose broadcast_to expand_dims gather_flattened full "
            "zeros ones zeros_like empty_like shared_constant shared_identity_matrix"
        ).split()
        return found | {name: getattr(self, name) for name in own}

    # What all are made of.

    def isa(self, name: str, **arguments: Any) -> None:
        """Issue an instruction."""
        if name not in self.instructions:
            raise Misuse(f"the device does not use `nisa.{name}`")
        self.instructions[name](**arguments)

    def tile(self, shape: Sequence[int], dtype: Any, buffer: str = "sbuf") -> Tensor:
        """A fresh tensor."""
        return self.machine.allocate(tuple(shape), dtype, buffer)

    def like(self, x: Tensor, dtype: Any = None) -> Tensor:
        """A fresh tile of the shape and type of another."""
        return self.tile(x.shape, x.dtype if dtype is None else dtype)

    def _binary(self, name: str) -> Callable[..., Tensor]:
        op = self.symbols[name]

        def function(x: Any, y: Any, dtype: Any = None) -> Tensor:
            if isinstance(x, Tensor) and isinstance(y, Tensor):
                out = self.like(x, dtype)
                self.isa("tensor_tensor", dst=out, data1=x, data2=y, op=op)
                return out
            tile = x if isinstance(x, Tensor) else y
            if not isinstance(tile, Tensor):
                raise Misuse(f"`nl.{name}` of two numbers; accepted: a tile at least")
            out = self.like(tile, dtype)
            if tile is x:
                self.isa("tensor_scalar", dst=out, data=x, op0=op, operand0=y)
            else:
                self.isa("tensor_scalar", dst=out, data=y, op0=op, operand0=x, reverse0=True)
            return out

        return function

    def _unary(self, name: str) -> Callable[..., Tensor]:
        def function(x: Tensor, dtype: Any = None) -> Tensor:
            out = self.like(x, dtype)
            self.isa("activation", dst=out, op=self.symbols[name], data=x)
            return out

        return function

    def _reduction(self, name: str, op: str) -> Callable[..., Tensor]:
        def function(x: Tensor, axis: Any, dtype: Any = None, keepdims: bool = False) -> Tensor:
            axes = self._axes(x, axis)
            kept = x.shape[: axes[0]]
            shape = (*kept, *(1 for _ in axes)) if keepdims else kept
            out = self.tile(shape if len(shape) > 1 else (*shape, 1), x.dtype if dtype is None else dtype)
            self._reduce(op, x, axes, out)
            return out

        return function

    def _axes(self, x: Tensor, axis: Any) -> list[int]:
        """The axes that are reduced: the last ones."""
        given = [axis] if isinstance(axis, int) else list(axis)
        axes = sorted(a + x.ndim if a < 0 else a for a in given)
        if not axes or axes != list(range(x.ndim - len(axes), x.ndim)) or axes[0] < 1:
            raise Misuse(f"a reduction over axes {given} of a tile of rank {x.ndim}; accepted: the last free axes")
        return axes

    def _reduce(self, op: str, x: Tensor, axes: Sequence[int], out: Tensor) -> None:
        """The axes as one, since what an instruction reduces counts as one."""
        kept, reduced = prod(x.data.shape[1 : axes[0]]), prod(x.data.shape[axes[0] :])
        dense = x if len(axes) == 1 or x.is_contiguous() else self.copy(x)
        merged = dense.reshape((x.data.shape[0], kept, reduced) if axes[0] > 1 else (x.data.shape[0], reduced))
        flat = out.reshape((out.data.shape[0], kept if axes[0] > 1 else 1))
        self.isa("tensor_reduce", dst=flat, op=self.symbols[op], data=merged, axis=merged.ndim - 1)

    # Memory.

    def load(self, src: Tensor, dtype: Any = None) -> Tensor:
        """A tile with what lies in HBM."""
        out = self.like(src, dtype)
        self.isa("dma_copy", dst=out, src=src)
        return out

    def store(self, dst: Tensor, value: Tensor) -> None:
        """A tile to HBM."""
        self.isa("dma_copy", dst=dst, src=value)

    def load_transpose2d(self, src: Tensor, dtype: Any = None) -> Tensor:
        """A tile with the transpose of what lies in HBM."""
        rows, columns = src.shape
        out = self.tile((columns, rows), src.dtype if dtype is None else dtype)
        self.isa("dma_copy", dst=out, src=src.permute((1, 0)))
        return out

    def copy(self, x: Tensor, dtype: Any = None) -> Tensor:
        """A tile in SBUF with the same values."""
        out = self.like(x, dtype)
        self.isa("tensor_copy", dst=out, src=x)
        return out

    def full(self, shape: Any, fill_value: Any, dtype: Any, buffer: str = "sbuf", name: str = "") -> Tensor:
        """A tensor of one number; in HBM a tile of it is copied there."""
        out = self.machine.allocate(extents(shape), dtype, buffer, name)
        if out.on_chip:
            self.isa("memset", dst=out, value=fill_value)
            return out
        rows = out.data.shape[0]
        width = out.data.size // rows
        flat = out.reshape((rows, width))
        for first in range(0, rows, 128):
            count = min(128, rows - first)
            tile = self.full((count, width), fill_value, dtype)
            self.isa("dma_copy", dst=flat[first : first + count], src=tile)
        return out

    def zeros(self, shape: Any, dtype: Any, buffer: str = "sbuf", name: str = "") -> Tensor:
        """A tensor of zeros."""
        return self.full(shape, 0, dtype, buffer, name)

    def ones(self, shape: Any, dtype: Any, buffer: str = "sbuf", name: str = "") -> Tensor:
        """A tensor of ones."""
        return self.full(shape, 1, dtype, buffer, name)

    def zeros_like(self, x: Tensor, dtype: Any = None, buffer: Any = None, name: str = "") -> Tensor:
        """Zeros in the shape of another tensor."""
        return self.full(x.shape, 0, x.dtype if dtype is None else dtype, buffer or x.buffer, name)

    def empty_like(self, x: Tensor, dtype: Any = None, buffer: Any = None, name: str = "") -> Tensor:
        """An unwritten tensor in the shape of another."""
        return self.machine.allocate(x.shape, x.dtype if dtype is None else dtype, buffer or x.buffer, name)

    def shared_constant(self, constant: Any) -> Tensor:
        """An array that is part of the kernel, in HBM."""
        array = np.load(constant) if isinstance(constant, str) else np.asarray(constant)
        return self.machine.argument(array, dtype_of(array.dtype), "constant")

    def shared_identity_matrix(self, n: int, dtype: Any = "uint8", dst: Tensor | None = None) -> Tensor:
        """An identity matrix in SBUF, loaded from a constant."""
        kind = dtype_of(dtype)
        source = self.machine.argument(np.eye(int(n), dtype=np.float32), kind, "identity")
        out = dst if dst is not None else self.tile((n, n), kind)
        self.isa("dma_copy", dst=out, src=source)
        return out

    # Arithmetic.

    def reciprocal(self, x: Tensor, dtype: Any = None) -> Tensor:
        """1 / x, on the vector engine."""
        out = self.like(x, dtype)
        self.isa("reciprocal", dst=out, data=x)
        return out

    def rsqrt(self, x: Tensor, dtype: Any = None) -> Tensor:
        """1 / sqrt(x), on GpSimd."""
        out = self.like(x, dtype)
        self.isa("tensor_scalar", dst=out, data=x, op0=self.symbols["rsqrt"], operand0=0.0)
        return out

    def negative(self, x: Tensor, dtype: Any = None) -> Tensor:
        """-x."""
        return self._binary("multiply")(x, -1.0, dtype)

    def logical_not(self, x: Tensor, dtype: Any = None) -> Tensor:
        """1 where x is 0, else 0."""
        return self._binary("equal")(x, 0.0, dtype)

    def invert(self, x: Tensor, dtype: Any = None) -> Tensor:
        """Every bit of an integer turned."""
        return self._binary("bitwise_xor")(x, -1, dtype)

    def _period(self, x: Tensor, shift: float) -> Tensor:
        """x + shift less whole turns: between -pi and pi."""
        add, multiply = self._binary("add"), self._binary("multiply")
        turned = add(x, shift, "float32") if shift else x
        turns = self.copy(multiply(turned, 1 / (2 * math.pi), "float32"), "int32")
        away = multiply(self.copy(turns, "float32"), -2 * math.pi)
        out = add(turned, away, "float32")
        # A turn too few or too many by rounding.
        return self._binary("minimum")(self._binary("maximum")(out, -_PI), _PI)

    def sin(self, x: Tensor, dtype: Any = None) -> Tensor:
        """The sine of any number: the instruction knows one period."""
        reduced = self._period(x, 0.0)
        out = self.like(x, dtype)
        self.isa("activation", dst=out, op=self.symbols["sin"], data=reduced)
        return out

    def cos(self, x: Tensor, dtype: Any = None) -> Tensor:
        """The cosine of any number."""
        reduced = self._period(x, math.pi / 2)
        out = self.like(x, dtype)
        self.isa("activation", dst=out, op=self.symbols["sin"], data=reduced)
        return out

    def tan(self, x: Tensor, dtype: Any = None) -> Tensor:
        """Sine by cosine."""
        return self._binary("multiply")(self.sin(x, "float32"), self.reciprocal(self.cos(x, "float32")), dtype)

    def _nearest(self, x: Tensor) -> Tensor:
        """The nearest integers, as float32."""
        return self.copy(self.copy(x, "int32"), "float32")

    def floor(self, x: Tensor, dtype: Any = None) -> Tensor:
        """The nearest integer, less 1 where that is above x."""
        near = self._nearest(x)
        return self._binary("subtract")(near, self._binary("greater")(near, self.copy(x, "float32")), dtype or x.dtype)

    def ceil(self, x: Tensor, dtype: Any = None) -> Tensor:
        """The nearest integer, plus 1 where that is below x."""
        near = self._nearest(x)
        return self._binary("add")(near, self._binary("less")(near, self.copy(x, "float32")), dtype or x.dtype)

    def trunc(self, x: Tensor, dtype: Any = None) -> Tensor:
        """The floor of the magnitude, with x's sign."""
        sign = self._unary("sign")(x, "float32")
        return self._binary("multiply")(self.floor(self._unary("abs")(x, "float32")), sign, dtype or x.dtype)

    def where(self, condition: Tensor, x: Any, y: Any, dtype: Any = None) -> Tensor:
        """x where the condition is not 0, else y."""
        shape = next((v for v in (x, y) if isinstance(v, Tensor)), condition)
        out = self.like(shape, dtype)
        if isinstance(y, Tensor):
            self.isa("tensor_copy", dst=out, src=y)
        else:
            self.isa("memset", dst=out, value=_of_kind(y, out.dtype))
        chosen = self._binary("not_equal")(condition, 0.0, "uint8")
        src = self.copy(x, out.dtype) if isinstance(x, Tensor) and x.dtype != out.dtype else x
        src = src if isinstance(src, Tensor) else _of_kind(src, out.dtype)
        self.isa("tensor_copy_predicated", dst=out, src=src, predicate=chosen)
        return out

    # Reductions.

    def mean(self, x: Tensor, axis: Any, dtype: Any = None, keepdims: bool = False) -> Tensor:
        """The sum by the number of elements, in float32 until the end."""
        total = self._reduction("sum", "add")(x, axis, "float32", keepdims)
        count = self.machine.size(prod(x.data.shape[self._axes(x, axis)[0] :]))
        return self._binary("multiply")(total, 1 / count, dtype or x.dtype)

    def var(self, x: Tensor, axis: Any, dtype: Any = None, keepdims: bool = True) -> Tensor:
        """The mean square distance from the mean; axes are kept, as the reference says."""
        axes = self._axes(x, axis)
        rows, kept, count = x.data.shape[0], prod(x.data.shape[1 : axes[0]]), prod(x.data.shape[axes[0] :])
        flat = (x if x.is_contiguous() else self.copy(x)).reshape((rows, kept, count))
        middle = self.mean(flat, 2, "float32", keepdims=True)
        apart = self._binary("subtract")(flat, middle.broadcast(2, count), "float32")
        out = self.tile((*x.shape[: axes[0]], *(1 for _ in axes)), x.dtype if dtype is None else dtype)
        squares = self.mean(self._unary("square")(apart), 2, out.dtype, keepdims=True)
        self.isa("tensor_copy", dst=out, src=squares.reshape(out.data.shape))
        return out

    def all(self, x: Tensor, axis: Any, dtype: Any = None) -> Tensor:
        """1 where no element is 0."""
        true = self._binary("not_equal")(x, 0.0, "float32")
        return self._reduction("min", "minimum")(true, axis, dtype or x.dtype)

    def softmax(self, x: Tensor, axis: Any = -1, dtype: Any = None) -> Tensor:
        """Exponentials less the largest, by their sum."""
        axes = self._axes(x, axis)
        rows, kept, count = x.data.shape[0], prod(x.data.shape[1 : axes[0]]), prod(x.data.shape[axes[0] :])
        flat = (x if x.is_contiguous() else self.copy(x)).reshape((rows, kept, count))
        largest = self._reduction("max", "maximum")(flat, 2, "float32", keepdims=True)
        powers = self._unary("exp")(self._binary("subtract")(flat, largest.broadcast(2, count), "float32"))
        share = self.reciprocal(self._reduction("sum", "add")(powers, 2, "float32", keepdims=True))
        out = self.like(x, dtype)
        self.isa(
            "tensor_tensor",
            dst=out.reshape((rows, kept, count)),
            data1=powers,
            data2=share.broadcast(2, count),
            op=self.symbols["multiply"],
        )
        return out

    def rms_norm(
        self,
        x: Tensor,
        w: Tensor,
        axis: Any,
        n: int,
        epsilon: float = 1e-6,
        dtype: Any = None,
        compute_dtype: Any = None,
    ) -> Tensor:
        """x by its root mean square, times w."""
        (last,) = self._axes(x, axis)
        kind = "float32" if compute_dtype is None else compute_dtype
        squares = self._reduction("sum", "add")(self._unary("square")(x, kind), last, kind, keepdims=True)
        multiply, count = self._binary("multiply"), x.data.shape[last]
        scale = self.rsqrt(self._binary("add")(multiply(squares, 1 / self.machine.size(n)), epsilon))
        return multiply(multiply(x, scale.broadcast(last, count), kind), w, dtype or x.dtype)

    # Matrices and shapes.

    def matmul(self, x: Tensor, y: Tensor, transpose_x: bool = False) -> Tensor:
        """x @ y, or x.T @ y, in PSUM."""
        stationary = x if transpose_x else self.copy(self.transpose(x))
        out = self.tile((stationary.shape[1], y.shape[1]), "float32", "psum")
        self.isa("nc_matmul", dst=out, stationary=stationary, moving=y, accumulate=False)
        return out

    def transpose(self, x: Tensor, dtype: Any = None) -> Tensor:
        """The transpose, in PSUM."""
        rows, columns = x.shape
        out = self.tile((columns, rows), x.dtype if dtype is None else dtype, "psum")
        self.isa("nc_transpose", dst=out, data=x)
        return out

    def expand_dims(self, x: Tensor, axis: int) -> Tensor:
        """A view with a new axis of one element."""
        return x.expand_dim(axis + x.ndim + 1 if axis < 0 else axis)

    def broadcast_to(self, x: Tensor, shape: Sequence[int], dtype: Any = None) -> Tensor:
        """Axes of one element repeated. Partitions are repeated on the way through HBM, since no engine copies from one
        to all of them."""
        wanted = tuple(int(n) for n in shape)
        kind = x.dtype if dtype is None else dtype_of(dtype)
        if wanted == x.data.shape and kind == x.dtype:
            return x
        if len(wanted) != x.ndim:
            raise Misuse(f"a tile of rank {x.ndim} broadcast to rank {len(wanted)}; accepted: the same rank")
        if wanted[0] != x.data.shape[0]:
            inner = x.data.shape[1:]
            away = self.tile(x.shape, x.dtype, "hbm")
            self.isa("dma_copy", dst=away, src=self.copy(x) if x.buffer == "psum" else x)
            x = self.tile((wanted[0], *inner), x.dtype)
            self.isa("dma_copy", dst=x, src=away.broadcast(0, wanted[0]))
        for axis, (have, want) in enumerate(zip(x.data.shape, wanted, strict=True)):
            x = x.broadcast(axis, want) if have != want else x
        return x if kind == x.dtype and x.is_contiguous() else self.copy(x, kind)

    def gather_flattened(self, data: Tensor, indices: Tensor, axis: int = 0, dtype: Any = None) -> Tensor:
        """In each partition the elements at given places."""
        if axis != 0:
            raise Misuse("`nl.gather_flattened` along an axis; accepted: axis=0")
        out = self.tile(indices.shape, data.dtype)
        self.isa("nc_n_gather", dst=out, data=data, indices=indices)
        return out if dtype is None else self.copy(out, dtype)


_PI = float(np.nextafter(np.float32(math.pi), np.float32(0)))
"""The largest float32 that is not above pi."""


def extents(shape: Any) -> tuple[Any, ...]:
    """A shape as a kernel gives it: a sequence, or one number."""
    return tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def _of_kind(value: Any, dtype: DType) -> Any:
    """A number as a type of integers has it, if it is one of them."""
    return int(value) if dtype.is_integer and value == int(value) else value


def _refused(name: str, accepted: str) -> Callable[..., Any]:
    def function(*_: Any, **__: Any) -> Any:
        raise Misuse(f"`nl.{name}` is not simulated; accepted: {accepted}")

    return function


__all__ = ["Convenience", "Instructions", "extents"]
