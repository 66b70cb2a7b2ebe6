# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations that move elements and compute nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, ClassVar, cast

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, IntegerAttr, StringAttr, TensorType
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from axon_mlir.dialects.tensor_hl.base import TensorHlOp, Word
from axon_mlir.semantics.index import Index, const
from axon_mlir.semantics.meaning import OpMeaning, parse_op
from axon_mlir.semantics.shapes import shape_of


@irdl_op_definition
class BroadcastOp(TensorHlOp):
    """Repeat: operand axis i becomes result axis dims[i]; an axis that is literally 1 repeats."""

    name = "tensor_hl.broadcast"
    MEANING: ClassVar[str] = (
        "op broadcast(x[S...]) <dims: ints, shape: indices> -> z[shape...] "
        "{ z[s...] = x[unit(pick(s..., dims)..., S...)...] }"
    )
    WORDS: ClassVar[tuple[Word, ...]] = (Word("dims", "ints", "dims"),)

    x = operand_def(TensorType)
    y = result_def(TensorType)
    dims = prop_def(DenseArrayBase)
    traits = traits_def(Pure())

    def verify_conditions(self) -> None:
        """Each operand axis is 1 or the result axis; axes keep their order."""
        dims: tuple[int, ...] = self.value("dims")
        have, want = shape_of(self.operand_types[0]), shape_of(self.result_types[0])
        if len(dims) != len(have):
            raise VerifyException(f"dims has {len(dims)} entries for an operand of rank {len(have)}")
        if list(dims) != sorted(dims):
            raise VerifyException("dims must increase: a broadcast does not transpose")
        for n, (axis, size) in enumerate(zip(dims, have, strict=True)):
            if size != 1 and size != want[axis]:
                raise VerifyException(f"operand axis {n} is {size}, result axis {axis} is {want[axis]}")


@irdl_op_definition
class TransposeOp(TensorHlOp):
    """Permute axes: result axis i is operand axis perm[i]."""

    name = "tensor_hl.transpose"
    MEANING: ClassVar[str] = "op transpose(x[S...]) <perm: ints> -> z[S... @ perm] { z[s...] = x[s... @ inverse perm] }"
    WORDS: ClassVar[tuple[Word, ...]] = (Word("perm", "ints", "perm"),)

    x = operand_def(TensorType)
    y = result_def(TensorType)
    perm = prop_def(DenseArrayBase)
    traits = traits_def(Pure())

    def verify_conditions(self) -> None:
        """All axes are named."""
        if len(self.value("perm")) != len(shape_of(self.operand_types[0])):
            raise VerifyException("perm must name every axis")


@irdl_op_definition
class ReshapeOp(TensorHlOp):
    """The same elements in row-major order under another shape."""

    name = "tensor_hl.reshape"
    MEANING: ClassVar[str] = (
        "op reshape(x[S...]) <shape: indices> -> z[shape...] { z[s...] = x[unlinear(linear(s..., shape), S...)...] }"
    )

    x = operand_def(TensorType)
    y = result_def(TensorType)
    traits = traits_def(Pure())

    def verify_conditions(self) -> None:
        """The number of elements stays."""
        have = prod(shape_of(self.operand_types[0]), start=const(1))
        want = prod(shape_of(self.result_types[0]), start=const(1))
        if have != want:
            raise VerifyException(f"reshapes {have} elements to {want}")


@irdl_op_definition
class SqueezeOp(TensorHlOp):
    """Drop axes that are literally 1."""

    name = "tensor_hl.squeeze"
    MEANING: ClassVar[str] = (
        "op squeeze(x[S...]) <axes: ints, zeros: indices> -> z[drop(S..., axes)...] "
        "{ z[s...] = x[weave(s..., zeros, axes)...] }"
    )
    WORDS: ClassVar[tuple[Word, ...]] = (Word("axes", "ints", "axes"),)

    x = operand_def(TensorType)
    y = result_def(TensorType)
    axes = prop_def(DenseArrayBase)
    traits = traits_def(Pure())

    @classmethod
    def adjust(cls, attributes: dict[str, Any], operand_types: Sequence[Attribute]) -> None:
        """The dropped axes are read at 0."""
        attributes["zeros"] = tuple(const(0) for _ in attributes["axes"])

    def verify_conditions(self) -> None:
        """Dropped axes are literally 1."""
        shape = shape_of(self.operand_types[0])
        for axis in self.value("axes"):
            if shape[axis] != 1:
                raise VerifyException(f"axis {axis} is {shape[axis]}, not 1")


@irdl_op_definition
class SliceOp(TensorHlOp):
    """A box of elements: `sizes` of them along each axis, from `offsets` on, every `steps`-th; negative: backwards."""

    name = "tensor_hl.slice"
    MEANING: ClassVar[str] = (
        "op slice(x[S...]) <offsets: indices, sizes: indices, steps: ints> -> z[(sizes + 0 * S)...] "
        "{ z[s...] = x[(s * steps + offsets)...] }"
    )
    WORDS: ClassVar[tuple[Word, ...]] = (
        Word("offsets", "indices", "offsets"),
        Word("sizes", "indices", "sizes"),
        Word("steps", "ints", "steps"),
    )

    x = operand_def(TensorType)
    y = result_def(TensorType)
    offsets = prop_def(ArrayAttr)
    sizes = prop_def(ArrayAttr)
    steps = prop_def(DenseArrayBase)
    traits = traits_def(Pure())

    def verify_conditions(self) -> None:
        """Every axis has an offset and a step that is not 0; what is decidable of the bounds holds."""
        shape = shape_of(self.operand_types[0])
        offsets, steps = self.value("offsets"), self.value("steps")
        if len(offsets) != len(shape) or len(steps) != len(shape):
            raise VerifyException(f"needs {len(shape)} offsets, sizes and steps")
        if any(s == 0 for s in steps):
            raise VerifyException("a step of 0")
        _verify_box("reads", shape, offsets, self.value("sizes"), steps)


def _verify_box(
    what: str, shape: Sequence[Index], offsets: Sequence[Index], sizes: Sequence[Index], steps: Sequence[int]
) -> None:
    """What is decidable of the bounds holds."""
    for axis, (offset, size, step, extent) in enumerate(zip(offsets, sizes, steps, shape, strict=True)):
        for end in (offset, offset + (size - 1) * step):
            below, above = end.constant, (extent - 1 - end).constant
            if (below is not None and below < 0) or (above is not None and above < 0):
                raise VerifyException(f"{what} outside axis {axis} of size {extent}")


@irdl_op_definition
class InsertOp(TensorHlOp):
    """The first operand with a box of elements replaced by the second: from `offsets` on, every `steps`-th."""

    name = "tensor_hl.insert"
    MEANING: ClassVar[str] = (
        "op insert(x[N0], y[L0]) <offsets: indices, steps: ints> -> z[N0] "
        "{ z[i0] = if at(offsets, 0) <= i0 and i0 < at(offsets, 0) + L0 * at(steps, 0) "
        "and (i0 - at(offsets, 0)) % at(steps, 0) == 0 then y[(i0 - at(offsets, 0)) // at(steps, 0)] else x[i0] }"
    )
    """The meaning for one axis; for more, the condition holds for each of them."""
    WORDS: ClassVar[tuple[Word, ...]] = (Word("offsets", "indices", "offsets"), Word("steps", "ints", "steps"))

    x = operand_def(TensorType)
    part = operand_def(TensorType)
    y = result_def(TensorType)
    offsets = prop_def(ArrayAttr)
    steps = prop_def(DenseArrayBase)
    traits = traits_def(Pure())

    @classmethod
    def meaning_of(cls, properties: Mapping[str, Attribute | None]) -> OpMeaning:
        """The text with an index per axis."""
        offsets = properties["offsets"]
        assert isinstance(offsets, ArrayAttr)
        rank = len(cast("ArrayAttr[Attribute]", offsets).data)

        def each(text: str, separator: str = ", ") -> str:
            return separator.join(text.replace("0", str(n)) for n in range(rank))

        inside = [
            f"at(offsets, {n}) <= i{n} and i{n} < at(offsets, {n}) + L{n} * at(steps, {n}) "
            f"and (i{n} - at(offsets, {n})) % at(steps, {n}) == 0"
            for n in range(rank)
        ]
        return parse_op(
            f"op insert(x[{each('N0')}], y[{each('L0')}]) <offsets: indices, steps: ints> -> z[{each('N0')}] "
            f"{{ z[{each('i0')}] = if {' and '.join(inside)} "
            f"then y[{each('(i0 - at(offsets, 0)) // at(steps, 0)')}] else x[{each('i0')}] }}"
        )

    def verify_conditions(self) -> None:
        """Steps are positive; what is decidable of the bounds holds."""
        steps = self.value("steps")
        if len(steps) != len(self.value("offsets")):
            raise VerifyException("as many steps as offsets")
        if any(s < 1 for s in steps):
            raise VerifyException("steps must be positive")
        shape, sizes = (shape_of(t) for t in self.operand_types)
        _verify_box("writes", shape, self.value("offsets"), sizes, steps)


@irdl_op_definition
class RepeatOp(TensorHlOp):
    """Every element `times` times in a row along an axis."""

    name = "tensor_hl.repeat"
    MEANING: ClassVar[str] = (
        "op repeat(x[P...{axis}, N, Q...]) <axis: int, times: index> -> z[P..., N * times, Q...] "
        "{ z[p..., i, q...] = x[p..., i // times, q...] }"
    )
    WORDS: ClassVar[tuple[Word, ...]] = (Word("axis", "int", "axis"), Word("times", "index", "times"))

    x = operand_def(TensorType)
    y = result_def(TensorType)
    axis = prop_def(IntegerAttr)
    times = prop_def(StringAttr)
    traits = traits_def(Pure())


@irdl_op_definition
class TileOp(TensorHlOp):
    """The whole axis `times` times over."""

    name = "tensor_hl.tile"
    MEANING: ClassVar[str] = (
        "op tile(x[P...{axis}, N, Q...]) <axis: int, times: index> -> z[P..., N * times, Q...] "
        "{ z[p..., i, q...] = x[p..., i % N, q...] }"
    )
    WORDS: ClassVar[tuple[Word, ...]] = (Word("axis", "int", "axis"), Word("times", "index", "times"))

    x = operand_def(TensorType)
    y = result_def(TensorType)
    axis = prop_def(IntegerAttr)
    times = prop_def(StringAttr)
    traits = traits_def(Pure())


@irdl_op_definition
class ConcatOp(TensorHlOp):
    """The second operand after the first along an axis."""

    name = "tensor_hl.concat"
    MEANING: ClassVar[str] = (
        "op concat(x[P...{axis}, M, Q...], y[P..., N, Q...]) <axis: int> -> z[P..., M + N, Q...] "
        "{ z[p..., i, q...] = if i < M then x[p..., i, q...] else y[p..., i - M, q...] }"
    )
    WORDS: ClassVar[tuple[Word, ...]] = (Word("axis", "int", "axis"),)

    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    y = result_def(TensorType)
    axis = prop_def(IntegerAttr)
    traits = traits_def(Pure())


@irdl_op_definition
class PadOp(TensorHlOp):
    """Add `low` elements before and `high` after along an axis, all equal to the second operand (a scalar)."""

    name = "tensor_hl.pad"
    MEANING: ClassVar[str] = (
        "op pad(x[P...{axis}, N, Q...], v[]) <axis: int, low: index, high: index> -> z[P..., N + low + high, Q...] "
        "{ z[p..., i, q...] = if low <= i and i < low + N then x[p..., i - low, q...] else v }"
    )
    WORDS: ClassVar[tuple[Word, ...]] = (
        Word("axis", "int", "axis"),
        Word("low", "index", "low"),
        Word("high", "index", "high"),
    )

    x = operand_def(TensorType)
    fill = operand_def(TensorType)
    y = result_def(TensorType)
    axis = prop_def(IntegerAttr)
    low = prop_def(StringAttr)
    high = prop_def(StringAttr)
    traits = traits_def(Pure())
