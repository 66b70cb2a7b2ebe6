# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tensor_hl: what to compute, on tensor values with symbolic sizes."""

from xdsl.ir import Dialect

from axon_mlir.dialects.tensor_hl.attention import AttentionOp, MaskedAttentionOp, RopeOp
from axon_mlir.dialects.tensor_hl.base import TensorHlOp, Word, decimal_text, element_kind, element_of, read_decimal
from axon_mlir.dialects.tensor_hl.composites import (
    COMPOSITES,
    CompositeOp,
    GeluOp,
    GeluTanhOp,
    LayerNormOp,
    LogSoftmaxOp,
    RmsNormOp,
    SoftmaxOp,
)
from axon_mlir.dialects.tensor_hl.creation import ConstantOp, EmptyOp, IotaOp, SizeOp
from axon_mlir.dialects.tensor_hl.elementwise import (
    ELEMENTWISE,
    PREDICATES,
    BinaryOp,
    CastOp,
    ClampOp,
    CompareOp,
    ElementwiseOp,
    SelectOp,
    TruncateOp,
    UnaryOp,
)
from axon_mlir.dialects.tensor_hl.folds import AffineScanOp, MatmulOp, MeanOp, ReduceOp, ScanOp
from axon_mlir.dialects.tensor_hl.indexing import GatherOp, ScatterOp
from axon_mlir.dialects.tensor_hl.movement import (
    BroadcastOp,
    ConcatOp,
    InsertOp,
    PadOp,
    RepeatOp,
    ReshapeOp,
    SliceOp,
    SqueezeOp,
    TileOp,
    TransposeOp,
)

OPERATIONS: dict[str, type[TensorHlOp]] = {
    op.name.removeprefix("tensor_hl."): op
    for op in (
        *ELEMENTWISE.values(),
        CompareOp,
        SelectOp,
        CastOp,
        TruncateOp,
        ClampOp,
        ConstantOp,
        SizeOp,
        IotaOp,
        EmptyOp,
        BroadcastOp,
        TransposeOp,
        ReshapeOp,
        SqueezeOp,
        SliceOp,
        InsertOp,
        ConcatOp,
        PadOp,
        RepeatOp,
        TileOp,
        GatherOp,
        ScatterOp,
        ReduceOp,
        MeanOp,
        ScanOp,
        AffineScanOp,
        MatmulOp,
        *COMPOSITES,
        LogSoftmaxOp,
        RopeOp,
        AttentionOp,
        MaskedAttentionOp,
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
    "AffineScanOp",
    "AttentionOp",
    "BinaryOp",
    "BroadcastOp",
    "CastOp",
    "ClampOp",
    "CompareOp",
    "CompositeOp",
    "ConcatOp",
    "ConstantOp",
    "ElementwiseOp",
    "EmptyOp",
    "GatherOp",
    "GeluOp",
    "GeluTanhOp",
    "InsertOp",
    "IotaOp",
    "LayerNormOp",
    "LogSoftmaxOp",
    "MaskedAttentionOp",
    "MatmulOp",
    "MeanOp",
    "PadOp",
    "ReduceOp",
    "RepeatOp",
    "ReshapeOp",
    "RmsNormOp",
    "RopeOp",
    "ScanOp",
    "ScatterOp",
    "SelectOp",
    "SizeOp",
    "SliceOp",
    "SoftmaxOp",
    "SqueezeOp",
    "TensorHlOp",
    "TileOp",
    "TransposeOp",
    "TruncateOp",
    "UnaryOp",
    "Word",
    "decimal_text",
    "element_kind",
    "element_of",
    "read_decimal",
]
