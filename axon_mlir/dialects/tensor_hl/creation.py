# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations without operands: constants, sizes as numbers, positions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar

from xdsl.dialects.builtin import IntegerAttr, StringAttr, TensorType
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from axon_mlir.dialects.tensor_hl.base import TensorHlOp, Word, element_kind
from axon_mlir.semantics import terms as t
from axon_mlir.semantics.denotation import UNDEFINED
from axon_mlir.semantics.index import Index
from axon_mlir.semantics.interpret import Interpretable, Interpreter
from axon_mlir.semantics.shapes import shape_of


@irdl_op_definition
class ConstantOp(TensorHlOp):
    """One number in every element, a double read as its shortest decimal. `tensor_hl.constant 2.5 : tensor<f32>`."""

    name = "tensor_hl.constant"
    MEANING: ClassVar[str] = "op constant() <value: real, shape: indices> -> z[shape...] { z[s...] = value }"
    WORDS: ClassVar[tuple[Word, ...]] = (Word("value", "real"),)

    y = result_def(TensorType)
    # `value` would clash with the reader of the base class, hence another Python name.
    number = prop_def(StringAttr, prop_name="value")
    traits = traits_def(Pure())

    def __init__(self, *, element_type: Attribute, value: float | Fraction, shape: Sequence[Index] = ()):
        """A number; in a float type it is stored as a float."""
        number = float(value) if element_kind(element_type) == "float" else int(value)
        super().__init__(element_type=element_type, shape=shape, value=number)

    def verify_elements(self) -> None:
        """An integer type holds an integer."""
        value = self.value("value")
        if element_kind(self.result_types[0]) != "float" and (isinstance(value, float) or value.denominator != 1):
            raise VerifyException(f"{self.number.data} is not an integer")


@irdl_op_definition
class SizeOp(TensorHlOp):
    """A size expression as a number, such as the N of `sum / N`. `tensor_hl.size "N" : tensor<f32>`."""

    name = "tensor_hl.size"
    MEANING: ClassVar[str] = "op size() <term: index> -> z[] { z[] = term }"
    WORDS: ClassVar[tuple[Word, ...]] = (Word("term", "index"),)

    y = result_def(TensorType)
    term = prop_def(StringAttr)
    traits = traits_def(Pure())


@irdl_op_definition
class IotaOp(TensorHlOp):
    """Each element is its position along an axis."""

    name = "tensor_hl.iota"
    MEANING: ClassVar[str] = "op iota() <axis: int, shape: indices> -> z[shape...] { z[s...] = at(s..., axis) }"
    WORDS: ClassVar[tuple[Word, ...]] = (Word("axis", "int", "axis"),)

    y = result_def(TensorType)
    axis = prop_def(IntegerAttr)
    traits = traits_def(Pure())


@irdl_op_definition
class EmptyOp(TensorHlOp, Interpretable):
    """Elements that nobody has written: a program that reads one is proved equal to nothing."""

    name = "tensor_hl.empty"
    MEANING: ClassVar[str] = "op empty() <unwritten: real, shape: indices> -> z[shape...] { z[s...] = unwritten }"

    y = result_def(TensorType)
    traits = traits_def(Pure())

    @classmethod
    def adjust(cls, attributes: dict[str, Any], operand_types: Sequence[Attribute]) -> None:
        """What is read is the tensor that stands for unwritten elements."""
        attributes["unwritten"] = t.Read(UNDEFINED, ())

    def interpret(self, run: Interpreter) -> None:
        """Garbage."""
        run.bind(self.result, run.garbage([run.number(n) for n in shape_of(self.y.type)]))
