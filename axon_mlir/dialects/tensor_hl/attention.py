# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What attention is made of beside products: rotary positions, and attention itself with its masks."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping
from typing import ClassVar

from xdsl.dialects.builtin import StringAttr, TensorType, i1
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from axon_mlir.dialects.tensor_hl.base import TensorHlOp, Word, element_kind, element_of
from axon_mlir.semantics.meaning import OpMeaning, parse_op
from axon_mlir.semantics.shapes import shape_of

PAIRINGS: dict[str, str] = {
    "half": (
        "if d < H then x[p..., t, d] * c[t, d] - x[p..., t, d + H] * s[t, d] "
        "else x[p..., t, d - H] * s[t, d - H] + x[p..., t, d] * c[t, d - H]"
    ),
    "interleaved": (
        "if d % 2 == 0 then x[p..., t, d] * c[t, d // 2] - x[p..., t, d + 1] * s[t, d // 2] "
        "else x[p..., t, d - 1] * s[t, d // 2] + x[p..., t, d] * c[t, d // 2]"
    ),
}
"""Which elements are rotated together -> the rotated element: first with second half, or neighbours."""

MASKS: dict[str, str] = {
    "none": "",
    "causal": "{n} <= m + N - M",
}
"""Mask of `attention` -> when query m may look at key {n}. Causal: the last query is at the last key."""

_SCORE = "scale * sum(d < D: q[b..., m, d] * k[b..., {n}, d])"


@irdl_op_definition
class RopeOp(TensorHlOp):
    """Rotary positions: pairs of elements of each row, turned by the angles whose cosines and sines are given."""

    name = "tensor_hl.rope"
    MEANING: ClassVar[str] = (
        "op rope(x[P..., T, D], c[T, H], s[T, H]) -> z[P..., T, D] { z[p..., t, d] = " + PAIRINGS["half"] + " }"
    )
    """The meaning for halves."""
    WORDS: ClassVar[tuple[Word, ...]] = (Word("pairing", "name", choices=tuple(PAIRINGS), meant=False),)

    x = operand_def(TensorType)
    cosine = operand_def(TensorType)
    sine = operand_def(TensorType)
    y = result_def(TensorType)
    pairing = prop_def(StringAttr)
    traits = traits_def(Pure())

    @classmethod
    def meaning_of(cls, properties: Mapping[str, Attribute | None]) -> OpMeaning:
        """The text for the pairing."""
        pairing = properties["pairing"]
        assert isinstance(pairing, StringAttr)
        return parse_op(cls.MEANING.replace(PAIRINGS["half"], PAIRINGS[pairing.data]))

    def verify_conditions(self) -> None:
        """There is an angle for every pair."""
        row, angles = shape_of(self.operand_types[0])[-1], shape_of(self.operand_types[1])[-1]
        if row != 2 * angles:
            raise VerifyException(f"{angles} angles for rows of {row} elements: half as many are needed")


def _attention(name: str, operand: str, mask: str) -> str:
    """Softmax of the scores along the keys, times the values; scores behind the mask are minus infinity."""

    def score(n: str) -> str:
        text = _SCORE.format(n=n)
        return f"(if {mask.format(n=n)} then {text} else -inf)" if mask else text

    weight = "exp({} - max(j < N: {}))"
    return (
        f"op {name}(q[B..., M, D], k[B..., N, D], v[B..., N, E]{operand}) <scale: real> -> z[B..., M, E] "
        f"{{ z[b..., m, e] = sum(n < N: {weight.format(score('n'), score('j'))} * v[b..., n, e]) "
        f"/ sum(i < N: {weight.format(score('i'), score('j'))}) }}"
    )


class _Attending(TensorHlOp, ABC):
    q = operand_def(TensorType)
    k = operand_def(TensorType)
    v = operand_def(TensorType)


@irdl_op_definition
class AttentionOp(_Attending):
    """`softmax(scale * q @ k.T) @ v` over the last two axes; with the mask `causal` no query looks at later keys."""

    name = "tensor_hl.attention"
    MEANING: ClassVar[str] = _attention("attention", "", MASKS["none"])
    """The meaning without a mask."""
    WORDS: ClassVar[tuple[Word, ...]] = (
        Word("mask", "name", choices=tuple(MASKS), meant=False),
        Word("scale", "real", "scale"),
    )

    y = result_def(TensorType)
    mask = prop_def(StringAttr)
    scale = prop_def(StringAttr)
    traits = traits_def(Pure())

    @classmethod
    def meaning_of(cls, properties: Mapping[str, Attribute | None]) -> OpMeaning:
        """The text with the mask's condition."""
        mask = properties["mask"]
        assert isinstance(mask, StringAttr)
        return parse_op(_attention("attention", "", MASKS[mask.data]))


@irdl_op_definition
class MaskedAttentionOp(_Attending):
    """Attention in which query m looks at key n where the fourth operand is true."""

    name = "tensor_hl.masked_attention"
    MEANING: ClassVar[str] = _attention("masked_attention", ", a[M, N]", "a[m, {n}] == 1")
    WORDS: ClassVar[tuple[Word, ...]] = (Word("scale", "real", "scale"),)

    mask = operand_def(TensorType)
    y = result_def(TensorType)
    scale = prop_def(StringAttr)
    traits = traits_def(Pure())

    def verify_elements(self) -> None:
        """A mask of truth values, floats otherwise."""
        if element_of(self.operands[3]) != i1:
            raise VerifyException("masks by a tensor of i1")
        if any(element_kind(t) != "float" for t in (*self.operand_types[:3], *self.result_types)):
            raise VerifyException("attends over floats")
