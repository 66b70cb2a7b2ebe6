# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations whose positions are data: the sum over an axis of the one element whose position is asked for.

A position outside the axis, a negative one too, selects nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from xdsl.dialects.builtin import IntegerAttr, TensorType
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from axon_mlir.dialects.tensor_hl.base import TensorHlOp, Word, element_kind
from axon_mlir.semantics.shapes import shape_of


def _verify_positions(op: TensorHlOp, data: Sequence[Attribute]) -> None:
    if element_kind(op.operand_types[1]) != "int":
        raise VerifyException("positions are integers")
    kinds = {element_kind(t) for t in data}
    if len(kinds) > 1:
        raise VerifyException(f"mixes {' and '.join(sorted(kinds))} elements: a cast is needed")


@irdl_op_definition
class GatherOp(TensorHlOp):
    """Elements of an axis at positions: embedding lookup, `x[..., i, :]`, and with batch axes `x[b, i[b]]`.

    The first `batch` axes of both operands are batch axes; `axis` is the gathered one, counted from the first axis of
    the operand. The further axes of the positions take its place.
    """

    name = "tensor_hl.gather"
    MEANING: ClassVar[str] = (
        "op gather(x[B...{batch}, P...{axis}, N, Q...], i[B..., R...]) <batch: int, axis: int> "
        "-> z[B..., P..., R..., Q...] "
        "{ z[b..., p..., r..., q...] = sum(k < N: if i[b..., r...] == k then x[b..., p..., k, q...] else 0) }"
    )
    """In the meaning the axis counts from the first axis after the batch."""
    WORDS: ClassVar[tuple[Word, ...]] = (Word("batch", "int", "batch", default=0), Word("axis", "int", "axis"))

    x = operand_def(TensorType)
    positions = operand_def(TensorType)
    y = result_def(TensorType)
    batch = prop_def(IntegerAttr)
    axis = prop_def(IntegerAttr)
    traits = traits_def(Pure())

    @classmethod
    def adjust(cls, attributes: dict[str, Any], operand_types: Sequence[Attribute]) -> None:
        """The axis counts from the batch axes on."""
        attributes["axis"] -= attributes["batch"]

    def verify_elements(self) -> None:
        """Integer positions, data of one kind."""
        _verify_positions(self, (self.operand_types[0], *self.result_types))
        batch, axis = self.value("batch"), self.value("axis")
        rank, positions = (len(shape_of(t)) for t in self.operand_types)
        if not 0 <= batch <= positions or not batch <= axis < rank:
            raise VerifyException(
                f"axis {axis} after {batch} batch axes, the operands have rank {rank} and {positions}"
            )


@irdl_op_definition
class ScatterOp(TensorHlOp):
    """The first operand with elements of an axis replaced: position `i[r]` takes element r of the third operand.

    Of several elements for one position the last stays.
    """

    name = "tensor_hl.scatter"
    MEANING: ClassVar[str] = (
        "op scatter(x[P...{axis}, N, Q...], i[R], y[P..., R, Q...]) <axis: int> -> z[P..., N, Q...] "
        "{ z[p..., n, q...] = if max(r < R: if i[r] == n then r + 1 else 0) > 0 "
        "then sum(s < R: if s + 1 == max(r < R: if i[r] == n then r + 1 else 0) then y[p..., s, q...] else 0) "
        "else x[p..., n, q...] }"
    )
    WORDS: ClassVar[tuple[Word, ...]] = (Word("axis", "int", "axis"),)

    x = operand_def(TensorType)
    positions = operand_def(TensorType)
    part = operand_def(TensorType)
    y = result_def(TensorType)
    axis = prop_def(IntegerAttr)
    traits = traits_def(Pure())

    def verify_elements(self) -> None:
        """Integer positions, data of one kind."""
        _verify_positions(self, (self.operand_types[0], self.operand_types[2], *self.result_types))
