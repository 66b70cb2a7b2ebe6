# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tensor-hl-canonicalize`: one spelling for programs that differ in bookkeeping only.

Folds scalar constants and sizes where that is exact, composes data movement with data movement, removes what does
nothing, shares equal operations and drops unused ones. It does no algebra: nothing is factored, distributed or moved
past anything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.traits import is_side_effect_free

from axon_mlir.dialects.tensor_hl import (
    BroadcastOp,
    CastOp,
    ConstantOp,
    ElementwiseOp,
    ReshapeOp,
    SizeOp,
    SliceOp,
    SqueezeOp,
    TensorHlOp,
    TransposeOp,
    element_of,
)
from axon_mlir.semantics.index import Index, const
from axon_mlir.semantics.shapes import shape_of

Replacement = SSAValue | TensorHlOp | None
"""An existing value, a new operation, or nothing to do."""


def _source(op: TensorHlOp, kind: type[TensorHlOp]) -> TensorHlOp | None:
    owner = op.operands[0].owner
    return owner if isinstance(owner, kind) else None


def _broadcast(op: TensorHlOp) -> Replacement:
    x = op.operands[0]
    if x.type == op.results[0].type:
        return x
    inner = _source(op, BroadcastOp)
    if inner is None:
        return None
    outer: tuple[int, ...] = op.value("dims")
    first: tuple[int, ...] = inner.value("dims")
    dims = [outer[d] for d in first]
    return BroadcastOp(inner.operands[0], dims=dims, shape=shape_of(op.results[0].type))


def _transpose(op: TensorHlOp) -> Replacement:
    perm: tuple[int, ...] = op.value("perm")
    if perm == tuple(range(len(perm))):
        return op.operands[0]
    inner = _source(op, TransposeOp)
    if inner is None:
        return None
    first: tuple[int, ...] = inner.value("perm")
    return TransposeOp(inner.operands[0], perm=[first[p] for p in perm])


def _reshape(op: TensorHlOp) -> Replacement:
    if op.operands[0].type == op.results[0].type:
        return op.operands[0]
    inner = _source(op, ReshapeOp)
    return None if inner is None else ReshapeOp(inner.operands[0], shape=shape_of(op.results[0].type))


def _squeeze(op: TensorHlOp) -> Replacement:
    axes: tuple[int, ...] = op.value("axes")
    if not axes:
        return op.operands[0]
    inner = _source(op, BroadcastOp)
    if inner is None:
        return None
    dims: tuple[int, ...] = inner.value("dims")
    if set(dims) & set(axes):
        return None
    moved = [d - sum(1 for a in axes if a < d) for d in dims]
    return BroadcastOp(inner.operands[0], dims=moved, shape=shape_of(op.results[0].type))


def _slice(op: TensorHlOp) -> Replacement:
    whole = all(o == 0 for o in op.value("offsets")) and all(s == 1 for s in op.value("steps"))
    return op.operands[0] if whole and op.operands[0].type == op.results[0].type else None


def _cast(op: TensorHlOp) -> Replacement:
    return op.operands[0] if op.operands[0].type == op.results[0].type else None


def _size(op: TensorHlOp) -> Replacement:
    number = op.value("term").constant
    return None if number is None else ConstantOp(element_type=element_of(op.results[0]), shape=(), value=number)


def _exact(function: str, args: Sequence[Any]) -> Any:
    """The value of a function that numbers and sizes are folded through; None for any other function."""
    match function, args:
        case "add", [a, b]:
            return a + b
        case "sub", [a, b]:
            return a - b
        case "mul", [a, b]:
            return a * b
        case "neg", [a]:
            return -a
        case "square", [a]:
            return a * a
        case "div", [Fraction() as a, Fraction() as b] if b != 0:
            return a / b
        case _:
            return None


def _scalar(value: SSAValue) -> Fraction | Index | None:
    """What a scalar of type f32 is, when it is known: an exact number, or a size expression."""
    owner = value.owner
    if element_of(value) != f32 or shape_of(value.type):
        return None
    if isinstance(owner, ConstantOp):
        number = owner.value("value")
        return number if isinstance(number, Fraction) else None
    return owner.value("term") if isinstance(owner, SizeOp) else None


def _elementwise(op: TensorHlOp) -> Replacement:
    assert isinstance(op, ElementwiseOp)
    if shape_of(op.results[0].type) or element_of(op.results[0]) != f32:
        return None
    args = [_scalar(x) for x in op.operands]
    if any(a is None for a in args):
        return None
    if all(isinstance(a, Fraction) for a in args):
        found = _exact(op.FUNCTION, args)
        return None if found is None else _number(found)
    if any(isinstance(a, Fraction) and a.denominator != 1 for a in args):
        return None
    term = _exact(op.FUNCTION, [const(int(a)) if isinstance(a, Fraction) else a for a in args])
    return None if term is None else SizeOp(element_type=f32, term=term)


def _number(value: Fraction) -> Replacement:
    """A constant, if the number is the shortest decimal of a double."""
    try:
        double = float(value)
    except OverflowError:
        return None
    if Fraction(repr(double)) != value:
        return None
    return ConstantOp(element_type=f32, shape=(), value=double)


RULES: tuple[tuple[type[TensorHlOp], Callable[[TensorHlOp], Replacement]], ...] = (
    (BroadcastOp, _broadcast),
    (TransposeOp, _transpose),
    (ReshapeOp, _reshape),
    (SqueezeOp, _squeeze),
    (SliceOp, _slice),
    (CastOp, _cast),
    (SizeOp, _size),
    (ElementwiseOp, _elementwise),
)
"""Operation -> what replaces it."""


def _rewrite(block: Block) -> bool:
    """Apply the rules once from top to bottom; since operands come first, one pass reaches the end of every chain."""
    changed = False
    for op in list(block.ops):
        while isinstance(op, TensorHlOp):
            new = next(
                (found for kind, rule in RULES if isinstance(op, kind) and (found := rule(op)) is not None), None
            )
            if new is None:
                break
            changed = True
            if isinstance(new, SSAValue):
                Rewriter.replace_op(op, [], [new])
                break
            new.location = op.location
            Rewriter.replace_op(op, new)
            op = new
    return changed


def _share(block: Block) -> bool:
    """Use the first of several equal operations."""
    known: dict[tuple[Any, ...], Operation] = {}
    changed = False
    for op in list(block.ops):
        if not isinstance(op, TensorHlOp):
            continue
        properties = tuple(sorted(op.properties.items(), key=lambda item: item[0]))
        key = (op.name, tuple(op.operands), properties, tuple(op.result_types), tuple(op.attributes.items()))
        first = known.setdefault(key, op)
        if first is not op:
            Rewriter.replace_op(op, [], first.results)
            changed = True
    return changed


def _drop_unused(block: Block) -> bool:
    changed = False
    for op in reversed(list(block.ops)):
        if isinstance(op, TensorHlOp) and is_side_effect_free(op) and not any(r.uses for r in op.results):
            op.detach()
            op.erase()
            changed = True
    return changed


@dataclass(frozen=True)
class TensorHlCanonicalize(ModulePass):
    """Fold scalars, compose data movement, share equal operations, drop unused ones."""

    name = "tensor-hl-canonicalize"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Canonicalise every block of the module, alternatives included."""
        blocks = [block for inner in op.walk() for region in inner.regions for block in region.blocks]
        for block in blocks:
            while any((_rewrite(block), _share(block), _drop_unused(block))):
                pass
