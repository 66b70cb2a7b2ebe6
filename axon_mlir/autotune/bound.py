# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The least time that any kernel of a program takes on a device: what must be moved, and what must be multiplied.

No structure is looked at. Bytes: every element of a result is written, every argument is read, of one that is only
sliced or gathered from, what that takes. Columns: of every product, with either operand as the moving one and whole
arrays of rows and columns. What the vector and scalar engines do depends on how operators are fused: it is left out, so
the bound is no estimate.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from axon_mlir.dialects.tensor_hl import GatherOp, MatmulOp, SliceOp
from axon_mlir.semantics.denotation import dtype_of
from axon_mlir.semantics.index import Size, Var, evaluate
from axon_mlir.semantics.interpret import NUMPY_DTYPES
from axon_mlir.semantics.shapes import dtype_name, shape_of
from axon_mlir.sim import dtype_of as named_dtype
from axon_mlir.sim.timing import TENSOR, is_modelled
from axon_mlir.targets import Device, Facts, TileFact, load_device

ROWS = 128
"""Of the matrix engine, and its columns."""
COLUMNS = 512
"""Of a moving operand of which the cost is asked: what one column takes is the same in all."""


def bound_us(func: FuncOp, sizes: Mapping[str, int], device: str) -> float | None:
    """Microseconds from the start of a kernel to its end; None where the device's time is not modelled."""
    target = load_device(device)
    if not is_modelled(target):
        return None
    env: dict[Size | Var, int] = {Size(name): value for name, value in sizes.items()}

    def shape(value: SSAValue) -> tuple[int, ...]:
        return tuple(int(evaluate(d, env)) for d in shape_of(value.type))

    def size(value: SSAValue) -> int:
        return prod(shape(value)) * _bytes(value)

    block = func.body.block
    moved = sum(map(size, block.last_op.operands)) if block.last_op is not None else 0
    for argument in block.args:
        users = [use.operation for use in argument.uses]
        some = [size(user.results[0]) for user in users if isinstance(user, (SliceOp, GatherOp))]
        whole = size(argument)
        moved += whole if len(some) < len(users) else min(whole, max(some, default=0))
    cycles = sum(
        _columns(op, shape(op.lhs), shape(op.rhs)) * min(_cycles(target, op.lhs), _cycles(target, op.rhs))
        for op in block.ops
        if isinstance(op, MatmulOp)
    )
    engines, rate = target.limits["dma_engines"], target.constants["dma_rate"].value
    work = max(moved / (engines * rate), cycles / (target.engines[TENSOR].clock_ghz or 1.0))
    return (target.constants["kernel_start"].value + work + target.constants["kernel_end"].value) / 1e3


def _dtype(value: SSAValue) -> str:
    return dtype_of(value.type) or dtype_name(value.type)


def _bytes(value: SSAValue) -> int:
    return NUMPY_DTYPES[_dtype(value)].itemsize


def _columns(op: MatmulOp, lhs: tuple[int, ...], rhs: tuple[int, ...]) -> int:
    """How many columns stream through the array, at least."""
    batch: int = op.value("batch")
    met: tuple[int, ...] = op.value("lhs_contract")
    other: tuple[int, ...] = op.value("rhs_contract")
    contracted = prod(lhs[a] for a in met)
    left = prod(n for a, n in enumerate(lhs) if a >= batch and a not in met)
    right = prod(n for a, n in enumerate(rhs) if a >= batch and a not in other)
    passes = min(-(-left // ROWS) * right, -(-right // ROWS) * left)
    return prod(lhs[:batch]) * -(-contracted // ROWS) * passes


def _cycles(device: Device, value: SSAValue) -> float:
    """What a column of elements like these takes. (Eight bits: two rows at a time, where the device can.)"""
    dtype = named_dtype(NUMPY_DTYPES[_dtype(value)]).name
    form = device.instructions["nc_matmul"].forms[0]
    tiles = {
        "stationary": TileFact((ROWS, ROWS), "sbuf", dtype),
        "moving": TileFact((ROWS, COLUMNS), "sbuf", dtype),
        "dst": TileFact((ROWS, COLUMNS), "psum", "float32"),
    }
    return (form.cycles(Facts(tiles), TENSOR) or 0.0) / COLUMNS / (2 if _bytes(value) == 1 else 1)


__all__ = ["bound_us"]
