# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Named composites: each is what its meaning says, and `tensor-hl-decompose` writes `COMPOSITES` in primitives."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, StringAttr, TensorType
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from axon_mlir.dialects.tensor_hl.base import TensorHlOp, Word


class CompositeOp(TensorHlOp, ABC):
    """An operation that `tensor-hl-decompose` expands."""


@irdl_op_definition
class SoftmaxOp(CompositeOp):
    """Softmax along an axis, the maximum subtracted."""

    name = "tensor_hl.softmax"
    MEANING: ClassVar[str] = (
        "op softmax(x[P...{axis}, N, Q...]) <axis: int> -> z[P..., N, Q...] "
        "{ z[p..., n, q...] = exp(x[p..., n, q...] - max(k < N: x[p..., k, q...])) "
        "/ sum(j < N: exp(x[p..., j, q...] - max(k < N: x[p..., k, q...]))) }"
    )
    WORDS: ClassVar[tuple[Word, ...]] = (Word("axis", "int", "axis"),)

    x = operand_def(TensorType)
    y = result_def(TensorType)
    axis = prop_def(IntegerAttr)
    traits = traits_def(Pure())


@irdl_op_definition
class LogSoftmaxOp(CompositeOp):
    """The logarithm of softmax along an axis, the maximum subtracted."""

    name = "tensor_hl.log_softmax"
    MEANING: ClassVar[str] = (
        "op log_softmax(x[P...{axis}, N, Q...]) <axis: int> -> z[P..., N, Q...] "
        "{ z[p..., n, q...] = x[p..., n, q...] - max(k < N: x[p..., k, q...]) "
        "- log(sum(j < N: exp(x[p..., j, q...] - max(k < N: x[p..., k, q...])))) }"
    )
    WORDS: ClassVar[tuple[Word, ...]] = (Word("axis", "int", "axis"),)

    x = operand_def(TensorType)
    y = result_def(TensorType)
    axis = prop_def(IntegerAttr)
    traits = traits_def(Pure())


@irdl_op_definition
class RmsNormOp(CompositeOp):
    """Each row divided by the root of its mean square, times a gain."""

    name = "tensor_hl.rms_norm"
    MEANING: ClassVar[str] = (
        "op rms_norm(x[S..., N], g[N]) <eps: real> -> z[S..., N] "
        "{ z[s..., n] = x[s..., n] / sqrt(sum(k < N: x[s..., k] * x[s..., k]) / N + eps) * g[n] }"
    )
    WORDS: ClassVar[tuple[Word, ...]] = (Word("eps", "real", "eps"),)

    x = operand_def(TensorType)
    gain = operand_def(TensorType)
    y = result_def(TensorType)
    eps = prop_def(StringAttr)
    traits = traits_def(Pure())


@irdl_op_definition
class LayerNormOp(CompositeOp):
    """Each row centred and divided by its standard deviation, times a gain, plus a bias."""

    name = "tensor_hl.layer_norm"
    MEANING: ClassVar[str] = (
        "op layer_norm(x[S..., N], g[N], b[N]) <eps: real> -> z[S..., N] "
        "{ z[s..., n] = (x[s..., n] - sum(k < N: x[s..., k]) / N) "
        "/ sqrt(sum(j < N: square(x[s..., j] - sum(k < N: x[s..., k]) / N)) / N + eps) * g[n] + b[n] }"
    )
    WORDS: ClassVar[tuple[Word, ...]] = (Word("eps", "real", "eps"),)

    x = operand_def(TensorType)
    gain = operand_def(TensorType)
    bias = operand_def(TensorType)
    y = result_def(TensorType)
    eps = prop_def(StringAttr)
    traits = traits_def(Pure())


@irdl_op_definition
class GeluOp(CompositeOp):
    """GELU by the error function."""

    name = "tensor_hl.gelu"
    MEANING: ClassVar[str] = "op gelu(x[S...]) -> z[S...] { z[s...] = 0.5 * x[s...] * (1 + erf(x[s...] / sqrt(2))) }"

    x = operand_def(TensorType)
    y = result_def(TensorType)
    traits = traits_def(Pure())


@irdl_op_definition
class GeluTanhOp(CompositeOp):
    """GELU by the hyperbolic tangent: another function, about 5e-4 away."""

    name = "tensor_hl.gelu_tanh"
    MEANING: ClassVar[str] = (
        "op gelu_tanh(x[S...]) -> z[S...] { z[s...] = 0.5 * x[s...] "
        "* (1 + tanh(0.7978845608028654 * (x[s...] + 0.044715 * (x[s...] * x[s...] * x[s...])))) }"
    )

    x = operand_def(TensorType)
    y = result_def(TensorType)
    traits = traits_def(Pure())


COMPOSITES: tuple[type[CompositeOp], ...] = (SoftmaxOp, LogSoftmaxOp, RmsNormOp, LayerNormOp, GeluOp, GeluTanhOp)
"""Those that have an expansion."""
