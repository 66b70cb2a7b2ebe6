# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tensor_hl: what to compute, on tensor values with symbolic sizes."""

from xdsl.ir import Dialect

from axon_mlir.dialects.tensor_hl.base import TensorHlOp, Word, decimal_text, element_kind, element_of, read_decimal
from axon_mlir.dialects.tensor_hl.composites import (
    COMPOSITES,
    CompositeOp,
    GeluOp,
    GeluTanhOp,
    LayerNormOp,
    RmsNormOp,
    SoftmaxOp,
)
from axon_mlir.dialects.tensor_hl.creation import ConstantOp, IotaOp, SizeOp
from axon_mlir.dialects.tensor_hl.elementwise import (
    ELEMENTWISE,
    PREDICATES,
    BinaryOp,
    CastOp,
    CompareOp,
    ElementwiseOp,
    SelectOp,
    UnaryOp,
)
from axon_mlir.dialects.tensor_hl.folds import MatmulOp, ReduceOp, ScanOp
from axon_mlir.dialects.tensor_hl.movement import (
    BroadcastOp,
    ConcatOp,
    PadOp,
    ReshapeOp,
    SliceOp,
    SqueezeOp,
    TransposeOp,
)

OPERATIONS: dict[str, type[TensorHlOp]] = {
    op.name.removeprefix("tensor_hl."): op
    for op in (
        *ELEMENTWISE.values(),
        CompareOp,
        SelectOp,
        CastOp,
        ConstantOp,
        SizeOp,
        IotaOp,
        BroadcastOp,
        TransposeOp,
        ReshapeOp,
        SqueezeOp,
        SliceOp,
        ConcatOp,
        PadOp,
        ReduceOp,
        ScanOp,
        MatmulOp,
        *COMPOSITES,
    )
}
"""Name without the dialect -> operation."""

TENSOR_HL = Dialect("tensor_hl", list(OPERATIONS.values()), [])

__all__ = [
    "COMPOSITES",
    "ELEMENTWISE",
    "OPERATIONS",
    "PREDICATES",
    "TENSOR_HL",
    "BinaryOp",
    "BroadcastOp",
    "CastOp",
    "CompareOp",
    "CompositeOp",
    "ConcatOp",
    "ConstantOp",
    "ElementwiseOp",
    "GeluOp",
    "GeluTanhOp",
    "IotaOp",
    "LayerNormOp",
    "MatmulOp",
    "PadOp",
    "ReduceOp",
    "ReshapeOp",
    "RmsNormOp",
    "ScanOp",
    "SelectOp",
    "SizeOp",
    "SliceOp",
    "SoftmaxOp",
    "SqueezeOp",
    "TensorHlOp",
    "TransposeOp",
    "UnaryOp",
    "Word",
    "decimal_text",
    "element_kind",
    "element_of",
    "read_decimal",
]
