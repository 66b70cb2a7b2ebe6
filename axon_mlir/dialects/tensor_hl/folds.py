# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions, scans and matrix products. Sums accumulate in f32 and round once, to the result's type."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, ClassVar, cast

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, StringAttr, TensorType
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from axon_mlir.dialects.tensor_hl.base import TensorHlOp, Word
from axon_mlir.semantics.functions import MONOIDS
from axon_mlir.semantics.index import const
from axon_mlir.semantics.shapes import shape_of

_MONOID = Word("monoid", "name", choices=tuple(MONOIDS))


@irdl_op_definition
class ReduceOp(TensorHlOp):
    """Fold axes away. `tensor_hl.reduce sum %x axes [1] : T -> R`."""

    name = "tensor_hl.reduce"
    MEANING: ClassVar[str] = (
        "op reduce(x[S...]) <monoid: monoid, axes: ints> -> z[drop(S..., axes)...] "
        "{ z[s...] = fold<monoid>(r... < pick(S..., axes)...: x[weave(s..., r..., axes)...]) }"
    )
    WORDS: ClassVar[tuple[Word, ...]] = (_MONOID, Word("axes", "ints", "axes"))

    x = operand_def(TensorType)
    y = result_def(TensorType)
    monoid = prop_def(StringAttr)
    axes = prop_def(DenseArrayBase)
    traits = traits_def(Pure())


@irdl_op_definition
class MeanOp(TensorHlOp):
    """The sum over axes, divided by the number of elements. `tensor_hl.mean %x axes [1] : T -> R`."""

    name = "tensor_hl.mean"
    MEANING: ClassVar[str] = (
        "op mean(x[S...]) <axes: ints, count: index> -> z[drop(S..., axes)...] "
        "{ z[s...] = sum(r... < pick(S..., axes)...: x[weave(s..., r..., axes)...]) / count }"
    )
    WORDS: ClassVar[tuple[Word, ...]] = (Word("axes", "ints", "axes"),)

    x = operand_def(TensorType)
    y = result_def(TensorType)
    axes = prop_def(DenseArrayBase)
    traits = traits_def(Pure())

    @classmethod
    def adjust(cls, attributes: dict[str, Any], operand_types: Sequence[Attribute]) -> None:
        """The count is the product of the folded axes."""
        shape, axes = shape_of(operand_types[0]), cast("tuple[int, ...]", attributes["axes"])
        attributes["count"] = prod((shape[a] for a in axes if a < len(shape)), start=const(1))


@irdl_op_definition
class AffineScanOp(TensorHlOp):
    """The recurrence `z[n] = a[n] * z[n - 1] + b[n]` along an axis, from zero."""

    name = "tensor_hl.affine_scan"
    MEANING: ClassVar[str] = (
        "op affine_scan(a[P...{axis}, N, Q...], b[P..., N, Q...]) <axis: int> -> z[P..., N, Q...] "
        "{ z[p..., n, q...] = sum(k <= n: b[p..., k, q...] * prod(j < n - k: a[p..., k + 1 + j, q...])) }"
    )
    WORDS: ClassVar[tuple[Word, ...]] = (Word("axis", "int", "axis"),)

    factor = operand_def(TensorType)
    summand = operand_def(TensorType)
    y = result_def(TensorType)
    axis = prop_def(IntegerAttr)
    traits = traits_def(Pure())


@irdl_op_definition
class ScanOp(TensorHlOp):
    """The running fold along an axis, the element itself included."""

    name = "tensor_hl.scan"
    MEANING: ClassVar[str] = (
        "op scan(x[P...{axis}, N, Q...]) <monoid: monoid, axis: int> -> z[P..., N, Q...] "
        "{ z[p..., n, q...] = fold<monoid>(k <= n: x[p..., k, q...]) }"
    )
    WORDS: ClassVar[tuple[Word, ...]] = (_MONOID, Word("axis", "int", "axis"))

    x = operand_def(TensorType)
    y = result_def(TensorType)
    monoid = prop_def(StringAttr)
    axis = prop_def(IntegerAttr)
    traits = traits_def(Pure())


@irdl_op_definition
class MatmulOp(TensorHlOp):
    """Products summed over the contracted axes; the result has the batch axes, the left's free axes, the right's.

    The first `batch` axes of both operands are batch axes; `lhs_contract[i]` meets `rhs_contract[i]` (axes of the whole
    operand). `acc` is the type in which the sum is accumulated.
    """

    name = "tensor_hl.matmul"
    TYPED_OPERANDS: ClassVar[bool] = True
    MEANING: ClassVar[str] = (
        "op matmul(x[B...{batch}, P...], y[B..., Q...]) <batch: int, lhs_contract: ints, rhs_contract: ints> "
        "-> z[B..., drop(P..., lhs_contract)..., drop(Q..., rhs_contract)...] "
        "{ z[b..., p..., q...] = sum(k... < pick(P..., lhs_contract)...: "
        "x[b..., weave(p..., k..., lhs_contract)...] * y[b..., weave(q..., k..., rhs_contract)...]) }"
    )
    """In the meaning the contracted axes count from the first axis after the batch."""
    WORDS: ClassVar[tuple[Word, ...]] = (
        Word("batch", "int", "batch", default=0),
        Word("lhs_contract", "ints", "lhs"),
        Word("rhs_contract", "ints", "rhs"),
        Word("acc", "name", "acc", default="f32", choices=("f32",), meant=False),
    )

    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    y = result_def(TensorType)
    batch = prop_def(IntegerAttr)
    lhs_contract = prop_def(DenseArrayBase)
    rhs_contract = prop_def(DenseArrayBase)
    acc = prop_def(StringAttr)
    traits = traits_def(Pure())

    @classmethod
    def adjust(cls, attributes: dict[str, Any], operand_types: Sequence[Attribute]) -> None:
        """Contracted axes count from the batch axes on."""
        for side in ("lhs_contract", "rhs_contract"):
            attributes[side] = tuple(a - attributes["batch"] for a in attributes[side])

    def verify_elements(self) -> None:
        """Floats."""
        super().verify_elements()
        batch = self.value("batch")
        left, right = self.value("lhs_contract"), self.value("rhs_contract")
        shapes = [shape_of(t) for t in self.operand_types]
        if batch < 0 or any(batch > len(s) for s in shapes):
            raise VerifyException(f"{batch} batch axes, the operands have rank {len(shapes[0])} and {len(shapes[1])}")
        if len(left) != len(right):
            raise VerifyException("contracts as many axes of the left as of the right operand")
        for a, b in zip(left, right, strict=True):
            if not batch <= a < len(shapes[0]) or not batch <= b < len(shapes[1]):
                raise VerifyException("contracts axes of the operands that are not batch axes")
            if shapes[0][a] != shapes[1][b]:
                raise VerifyException(f"contracts axes of different sizes: {shapes[0][a]} and {shapes[1][b]}")
