# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementwise operations: one for each scalar function of the table, comparison, selection, conversion.

All operands have the result's shape; broadcasting is an operation of its own. Operands may be of different float types:
an operation computes in f32 and rounds once, to the result's type.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from typing import ClassVar, cast

from xdsl.dialects.builtin import StringAttr, TensorType, i1
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from axon_mlir.dialects.tensor_hl.base import TensorHlOp, Word, element_kind, element_of
from axon_mlir.semantics.functions import FUNCTIONS
from axon_mlir.semantics.meaning import OpMeaning, parse_op


class ElementwiseOp(TensorHlOp, ABC):
    """A scalar function applied to each element; `FUNCTION` is its name in the table."""

    FUNCTION: ClassVar[str]


class UnaryOp(ElementwiseOp, ABC):
    """A function of one argument."""

    x = operand_def(TensorType)
    y = result_def(TensorType)
    traits = traits_def(Pure())


class BinaryOp(ElementwiseOp, ABC):
    """A function of two arguments."""

    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    y = result_def(TensorType)
    traits = traits_def(Pure())


def _make(function: str) -> type[ElementwiseOp]:
    binary = FUNCTIONS[function].arity == 2
    text = (
        f"op {function}(x[S...], y[S...]) -> z[S...] {{ z[s...] = {function}(x[s...], y[s...]) }}"
        if binary
        else f"op {function}(x[S...]) -> z[S...] {{ z[s...] = {function}(x[s...]) }}"
    )
    base = BinaryOp if binary else UnaryOp
    namespace = {
        "name": f"tensor_hl.{function}",
        "FUNCTION": function,
        "MEANING": text,
        "__doc__": f"`{function}` of each element.",
        "__module__": __name__,
        "__annotations__": {"FUNCTION": ClassVar[str], "MEANING": ClassVar[str]},
    }
    made = cast("type[ElementwiseOp]", type(f"{function.title().replace('_', '')}Op", (base,), namespace))
    return irdl_op_definition(made)


ELEMENTWISE: dict[str, type[ElementwiseOp]] = {
    f.name: _make(f.name) for f in FUNCTIONS.values() if f.name != "identity" and f.arity and not f.truth
}
"""Scalar function -> its operation; comparisons are `compare`."""

AddOp = ELEMENTWISE["add"]
SubOp = ELEMENTWISE["sub"]
MulOp = ELEMENTWISE["mul"]
DivOp = ELEMENTWISE["div"]
MaxOp = ELEMENTWISE["max"]
MinOp = ELEMENTWISE["min"]
PowerOp = ELEMENTWISE["power"]
NegOp = ELEMENTWISE["neg"]
ReciprocalOp = ELEMENTWISE["reciprocal"]
SquareOp = ELEMENTWISE["square"]
SqrtOp = ELEMENTWISE["sqrt"]
RsqrtOp = ELEMENTWISE["rsqrt"]
ExpOp = ELEMENTWISE["exp"]
LogOp = ELEMENTWISE["log"]
TanhOp = ELEMENTWISE["tanh"]
ErfOp = ELEMENTWISE["erf"]
SigmoidOp = ELEMENTWISE["sigmoid"]
SiluOp = ELEMENTWISE["silu"]
ReluOp = ELEMENTWISE["relu"]

PREDICATES: dict[str, str] = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
"""Predicate of `compare` -> its relation."""


@irdl_op_definition
class CompareOp(TensorHlOp):
    """Compare element by element: `tensor_hl.compare lt %a, %b : (...) -> tensor<..xi1>`."""

    name = "tensor_hl.compare"
    MEANING: ClassVar[str] = "op compare(x[S...], y[S...]) -> z[S...] { z[s...] = if x[s...] < y[s...] then 1 else 0 }"
    """The meaning for the predicate lt; the others differ in the relation."""
    WORDS: ClassVar[tuple[Word, ...]] = (Word("predicate", "name", choices=tuple(PREDICATES), meant=False),)

    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    y = result_def(TensorType)
    predicate = prop_def(StringAttr)
    traits = traits_def(Pure())

    @classmethod
    def default_element(cls, operands: Sequence[SSAValue]) -> Attribute:
        """A truth value."""
        return i1

    @classmethod
    def meaning_of(cls, properties: Mapping[str, Attribute | None]) -> OpMeaning:
        """The text with the predicate's relation."""
        predicate = properties["predicate"]
        assert isinstance(predicate, StringAttr)
        return parse_op(cls.MEANING.replace("] < y[", f"] {PREDICATES[predicate.data]} y["))

    def verify_elements(self) -> None:
        """Operands of one kind, truth values as the result."""
        if element_of(self.results[0]) != i1:
            raise VerifyException("compares to i1")
        kinds = {element_kind(t) for t in self.operand_types}
        if len(kinds) > 1:
            raise VerifyException(f"mixes {' and '.join(sorted(kinds))} elements: a cast is needed")


@irdl_op_definition
class SelectOp(TensorHlOp):
    """The second operand where the first is true, the third elsewhere."""

    name = "tensor_hl.select"
    MEANING: ClassVar[str] = (
        "op select(p[S...], x[S...], y[S...]) -> z[S...] { z[s...] = if p[s...] == 1 then x[s...] else y[s...] }"
    )

    condition = operand_def(TensorType)
    then = operand_def(TensorType)
    otherwise = operand_def(TensorType)
    y = result_def(TensorType)
    traits = traits_def(Pure())

    @classmethod
    def default_element(cls, operands: Sequence[SSAValue]) -> Attribute:
        """That of the data."""
        return element_of(operands[1])

    def verify_elements(self) -> None:
        """A condition of truth values, data of one kind."""
        if element_of(self.operands[0]) != i1:
            raise VerifyException("selects by a tensor of i1")
        kinds = {element_kind(t) for t in (*self.operand_types[1:], *self.result_types)}
        if len(kinds) > 1:
            raise VerifyException(f"mixes {' and '.join(sorted(kinds))} elements: a cast is needed")


@irdl_op_definition
class CastOp(TensorHlOp):
    """Convert to another element type; stands only where the program writes a conversion.

    To a float type, or from i1 to an integer: conversions that the reals do not see.
    """

    name = "tensor_hl.cast"
    TYPED_RESULTS: ClassVar[bool] = True
    MEANING: ClassVar[str] = "op cast(x[S...]) -> z[S...] { z[s...] = identity(x[s...]) }"
    SAME_KIND: ClassVar[bool] = False

    x = operand_def(TensorType)
    y = result_def(TensorType)
    traits = traits_def(Pure())

    def verify_elements(self) -> None:
        """Nothing is cut off: a float never becomes an integer."""
        order = ("bool", "int", "float")
        source, target = (element_kind(t) for t in (self.operand_types[0], self.result_types[0]))
        if order.index(source) > order.index(target):
            raise VerifyException(f"from {source} to {target} elements is not supported")


@irdl_op_definition
class TruncateOp(TensorHlOp):
    """Floats to integers: towards zero, as NumPy's `astype`."""

    name = "tensor_hl.truncate"
    MEANING: ClassVar[str] = (
        "op truncate(x[S...]) -> z[S...] { z[s...] = if x[s...] < 0 then -floor(-x[s...]) else floor(x[s...]) }"
    )

    x = operand_def(TensorType)
    y = result_def(TensorType)
    traits = traits_def(Pure())
    SAME_KIND: ClassVar[bool] = False

    def verify_elements(self) -> None:
        """From floats to integers."""
        if [element_kind(t) for t in (*self.operand_types, *self.result_types)] != ["float", "int"]:
            raise VerifyException("converts floats to integers")


@irdl_op_definition
class ClampOp(TensorHlOp):
    """Between two bounds, which are scalars: the least of the upper one and what is at least the lower one."""

    name = "tensor_hl.clamp"
    MEANING: ClassVar[str] = "op clamp(x[S...], a[], b[]) -> z[S...] { z[s...] = min(max(x[s...], a), b) }"

    x = operand_def(TensorType)
    low = operand_def(TensorType)
    high = operand_def(TensorType)
    y = result_def(TensorType)
    traits = traits_def(Pure())
