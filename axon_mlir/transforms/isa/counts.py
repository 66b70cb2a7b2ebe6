# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Closed forms of what a kernel does: how many instructions it issues and how many bytes it moves.

Every loop is `range(lower, upper, step)` with the extent `min(step, upper - start)`, so the trips of nested loops over
one dimension of size D follow one recursion, and the extents of a loop over a whole dimension add up to D whatever the
step. Nothing is executed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from axon_mlir.dialects.tile import ForOp, IndexOp, LoadOp, StoreOp, TileType
from axon_mlir.dialects.trn_isa import InstructionOp
from axon_mlir.dialects.trn_isa.storage import Aliasing, loop_at
from axon_mlir.semantics.index import Size, Var, evaluate, parse
from axon_mlir.semantics.interpret import NUMPY_DTYPES
from axon_mlir.semantics.shapes import dtype_name
from axon_mlir.targets import CallRows


@dataclass(frozen=True)
class Counts:
    """Instructions issued, and bytes moved between HBM and SBUF (the larger side where a move changes the type)."""

    instructions: int
    dma_bytes: int


def trips(size: int, steps: Sequence[int]) -> int:
    """Iterations of nested loops over one dimension: `tr(D, s, ...) = (D // s) * tr(s, ...) + tr(D % s, ...)`."""
    if size <= 0:
        return 0
    if not steps:
        return 1
    step, rest = steps[0], steps[1:]
    return (size // step) * trips(step, rest) + trips(size % step, rest)


def counts(func: FuncOp, sizes: Mapping[str, int]) -> Counts:
    """The counts of an instruction program at these sizes."""
    env: dict[Size | Var, int] = {Size(k): v for k, v in sizes.items()}

    def number(text: str) -> int:
        return int(evaluate(parse(text), env))

    instructions = moved = 0
    for op in func.walk():
        if not isinstance(op, InstructionOp):
            continue
        loops = _loops_around(op)
        size_of = {d: number(_expression(ls[0].upper)) for d, ls in loops.items()}
        steps = {d: [number(loop.step.data) for loop in ls] for d, ls in loops.items()}
        instructions += prod(trips(size_of[d], steps[d]) for d in loops)
        region = _hbm_region(op)
        if region is None:
            continue
        extents = _loaded_extents(func, op, region) if isinstance(region, LoadOp) else _placed_extents(region)
        elements, covered = 1, set[str]()
        for e in extents:
            loop = _extent_of(e, loops)
            if loop is not None:
                # Over all its iterations a loop's extents add up to the dimension.
                covered.add(loop.dim.data)
                elements *= size_of[loop.dim.data]
            else:
                elements *= number(_expression(e))
        elements *= prod(trips(size_of[d], steps[d]) for d in loops if d not in covered)
        types = [v.type for v in (*op.operands, *op.results) if isinstance(v.type, TileType)]
        moved += elements * max(NUMPY_DTYPES[dtype_name(ty.element_type)].itemsize for ty in types)
    return Counts(instructions, moved)


def _loops_around(op: Operation) -> dict[str, list[ForOp]]:
    """Dimension -> its loops around an operation, outermost first."""
    chain: list[ForOp] = []
    parent = op.parent_op()
    while parent is not None:
        if isinstance(parent, ForOp):
            chain.append(parent)
        parent = parent.parent_op()
    out: dict[str, list[ForOp]] = {}
    for loop in reversed(chain):
        out.setdefault(loop.dim.data, []).append(loop)
    return out


def _expression(v: SSAValue) -> str:
    owner = v.owner
    assert isinstance(owner, IndexOp) and not owner.operands_, "an extent is a loop's or a size"
    return owner.expression.data


def _extent_of(v: SSAValue, loops: Mapping[str, Sequence[ForOp]]) -> ForOp | None:
    return next((loop for ls in loops.values() for loop in ls if loop.extent is v), None)


def _hbm_region(op: InstructionOp) -> LoadOp | StoreOp | None:
    """The region of HBM that an instruction reads or writes."""
    for v in op.operands:
        if isinstance(v.owner, LoadOp) and isinstance(v.owner.source.type, TensorType):
            return v.owner
    for r in op.results:
        for use in r.uses:
            if isinstance(use.operation, StoreOp):
                return use.operation
    return None


def _loaded_extents(func: FuncOp, op: InstructionOp, load: LoadOp) -> list[SSAValue]:
    """The extents of what is moved: of rows that an index chooses, those of the result."""
    if not any(isinstance(arg, CallRows) for _, arg in op.description.call):
        return list(load.sizes)
    return [e for e in Aliasing(func).extents(op.results_[0]) if not isinstance(e, int)]


def _placed_extents(store: StoreOp) -> list[SSAValue]:
    """The extents of a stored tile: those of the loops at whose starts it is placed, else the tensor's own."""
    out: list[SSAValue] = []
    for offset, axis in zip(store.offsets, store.axis_map(), strict=True):
        loop = loop_at(offset)
        if axis is not None and loop is not None:
            out.append(loop.extent)
    return out
