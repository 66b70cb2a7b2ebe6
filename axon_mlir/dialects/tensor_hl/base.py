# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What all operations of tensor_hl share: a meaning, a verifier that follows from it, and one short syntax.

An operation lists its attributes as `Word`s; their storage, spelling and reading are derived from the word's kind,
which is the kind of the attribute in the meaning's text:

```
%r = tensor_hl.reduce sum %x axes [1] : tensor<?x?xf32, ["M", "K"]> -> tensor<?xf32, ["M"]>
```
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self, cast

from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    DenseArrayBase,
    IntegerAttr,
    IntegerType,
    StringAttr,
    TensorType,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from axon_mlir.semantics.index import Index, index, parse
from axon_mlir.semantics.meaning import OpMeaning, parse_op
from axon_mlir.semantics.shapes import shape_of, tensor_type
from axon_mlir.semantics.traits import HasMeaning, verify_meaning

AnyTensor = TensorType[Attribute]


def _numbers(attribute: DenseArrayBase[Any]) -> tuple[int, ...]:
    return tuple(int(v) for v in cast("DenseArrayBase[IntegerType]", attribute).get_values())


def decimal_text(value: float | int) -> str:
    """How a number is stored: its shortest decimal, in a form that MLIR's lexer reads as a number."""
    if isinstance(value, int):
        return str(value)
    if value != value:
        raise ValueError("not a number cannot be a constant")
    text = repr(float(value))
    mantissa, e, exponent = text.partition("e")
    return f"{mantissa}.0e{exponent}" if e and "." not in mantissa else text


def read_decimal(text: str) -> Fraction | float:
    """The exact value of a stored number; infinities as floats."""
    return float(text) if text in ("inf", "-inf") else Fraction(text)


@dataclass(frozen=True)
class Word:
    """One attribute: stored as the property `name`, spelt after `keyword` (None: bare, before the operands).

    `kind`: int, ints, index, indices, real, or name (a word such as a monoid or a predicate).
    A word with a `default` is not printed when it has that value. `meant`: the meaning reads it.
    """

    name: str
    kind: str
    keyword: str | None = None
    default: Any = None
    choices: tuple[str, ...] = ()
    meant: bool = True

    def encode(self, value: Any) -> Attribute:
        """The attribute that stores a Python value."""
        match self.kind:
            case "int":
                return IntegerAttr(int(value), i64)
            case "ints":
                return DenseArrayBase.from_list(i64, [int(v) for v in value])
            case "index":
                return StringAttr(str(index(value)))
            case "indices":
                return ArrayAttr([StringAttr(str(index(v))) for v in value])
            case "real":
                return StringAttr(value if isinstance(value, str) else decimal_text(value))
            case _:
                return StringAttr(str(value))

    def decode(self, attribute: Attribute) -> Any:
        """The Python value that an attribute stores; VerifyException when it is of another kind."""
        try:
            match self.kind, attribute:
                case "int", IntegerAttr():
                    return attribute.value.data
                case "ints", DenseArrayBase():
                    return _numbers(attribute)
                case "index", StringAttr():
                    return parse(attribute.data)
                case "indices", ArrayAttr():
                    return tuple(parse(cast(StringAttr, a).data) for a in attribute.data)
                case "real", StringAttr():
                    return read_decimal(attribute.data)
                case "name", StringAttr():
                    return attribute.data
                case _:
                    pass
        except (ValueError, AttributeError, ZeroDivisionError) as error:
            raise VerifyException(f"attribute '{self.name}': {error}") from error
        raise VerifyException(f"attribute '{self.name}' must be of kind {self.kind}, it is {attribute}")

    def print(self, attribute: Attribute, printer: Printer) -> None:
        """Print the value."""
        match attribute:
            case IntegerAttr():
                printer.print_string(str(attribute.value.data))
            case DenseArrayBase():
                printer.print_string(f"[{', '.join(map(str, _numbers(attribute)))}]")
            case StringAttr() if self.kind in ("real", "name"):
                printer.print_string(attribute.data)
            case _:
                printer.print_attribute(attribute)

    def parse(self, parser: Parser) -> Attribute:
        """Parse the value."""
        match self.kind:
            case "int":
                return IntegerAttr(parser.parse_integer(allow_boolean=False), i64)
            case "ints":
                numbers = parser.parse_comma_separated_list(
                    parser.Delimiter.SQUARE, lambda: parser.parse_integer(allow_boolean=False)
                )
                return DenseArrayBase.from_list(i64, numbers)
            case "index":
                return StringAttr(parser.parse_str_literal())
            case "indices":
                texts = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_str_literal)
                return ArrayAttr([StringAttr(t) for t in texts])
            case "real":
                if parser.parse_optional_keyword("inf"):
                    return StringAttr("inf")
                if parser.parse_optional_punctuation("-"):
                    if parser.parse_optional_keyword("inf"):
                        return StringAttr("-inf")
                    return StringAttr(decimal_text(-parser.parse_number()))
                return StringAttr(decimal_text(parser.parse_number()))
            case _:
                return StringAttr(parser.parse_identifier())


def element_kind(type_: Attribute) -> str:
    """`float`, `int` or `bool`: operations do not mix kinds."""
    element = cast(AnyTensor, type_).get_element_type() if isinstance(type_, TensorType) else type_
    if isinstance(element, AnyFloat):
        return "float"
    if isinstance(element, IntegerType):
        return "bool" if cast(IntegerType, element).width.data == 1 else "int"
    raise VerifyException(f"element type {element} is not supported")


def element_of(value: SSAValue) -> Attribute:
    """The element type of a tensor value."""
    assert isinstance(value.type, TensorType)
    return cast(AnyTensor, value.type).get_element_type()


class TensorHlOp(IRDLOperation, HasMeaning, ABC):
    """The base of all operations of tensor_hl."""

    MEANING: ClassVar[str]
    """What the operation computes."""
    WORDS: ClassVar[tuple[Word, ...]] = ()
    """Its attributes."""
    SAME_KIND: ClassVar[bool] = True
    """Whether operands and results must all be float, or all int, or all bool."""

    def __init__(
        self,
        *operands: SSAValue | Operation,
        element_type: Attribute | None = None,
        shape: Sequence[Index] | None = None,
        **attributes: Any,
    ):
        """Build with Python values for the attributes; the result's shape is inferred from the meaning.

        `element_type` is that of the result, the first operand's by default; `shape` is the result's shape where the
        meaning does not determine it (constant, iota, broadcast, reshape).
        """
        values = [SSAValue.get(o) for o in operands]
        words = {w.name: w for w in self.WORDS}
        unknown = set(attributes) - set(words)
        if unknown:
            raise TypeError(f"{self.name} has no attribute {sorted(unknown)}")
        properties: dict[str, Attribute | None] = {}
        for word in self.WORDS:
            value = attributes.get(word.name, word.default)
            if value is None:
                raise TypeError(f"{self.name} needs the attribute '{word.name}'")
            properties[word.name] = word.encode(value)
        meant = self._meant(properties, [v.type for v in values], tuple(shape or ()))
        meaning = self.meaning_of(properties)
        shapes = meaning.infer([shape_of(v.type) for v in values], meant)
        element = element_type if element_type is not None else self.default_element(values)
        super().__init__(operands=values, result_types=[tensor_type(s, element) for s in shapes], properties=properties)

    @classmethod
    def default_element(cls, operands: Sequence[SSAValue]) -> Attribute:
        """The element type of the result when none is asked for."""
        return element_of(operands[0])

    # -- meaning ------------------------------------------------------------------------------------------------------

    @classmethod
    def meaning_of(cls, properties: Mapping[str, Attribute | None]) -> OpMeaning:
        """The meaning for given attributes."""
        return parse_op(cls.MEANING)

    def meaning(self) -> OpMeaning:
        """What the operation computes."""
        return self.meaning_of(self.properties)

    def meaning_attributes(self) -> Mapping[str, Any]:
        """The values of the meaning's attributes."""
        return self._meant(self.properties, self.operand_types, shape_of(self.result_types[0]))

    @classmethod
    def _meant(
        cls, properties: Mapping[str, Attribute | None], operand_types: Sequence[Attribute], shape: tuple[Index, ...]
    ) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for word in cls.WORDS:
            attribute = properties.get(word.name)
            if word.meant and attribute is not None:
                out[word.name] = word.decode(attribute)
        if any(name == "shape" for name, _ in cls.meaning_of(properties).attributes):
            out["shape"] = shape
        cls.adjust(out, operand_types)
        return out

    @classmethod
    def adjust(cls, attributes: dict[str, Any], operand_types: Sequence[Attribute]) -> None:
        """Turn the stored attributes into those of the meaning, where they differ."""

    def value(self, name: str) -> Any:
        """The Python value of an attribute: an int, a tuple of ints, an index term, a name, a Fraction."""
        word = next(w for w in self.WORDS if w.name == name)
        return word.decode(self.properties[name])

    @property
    def result(self) -> SSAValue:
        """The one result."""
        return self.results[0]

    # -- verification -------------------------------------------------------------------------------------------------

    def verify_(self) -> None:
        """The meaning fits the operands, and the declared shape is the one it gives."""
        for type_ in (*self.operand_types, *self.result_types):
            if not isinstance(type_, TensorType):
                raise VerifyException(f"works on tensors, not on {type_}")
        for word in self.WORDS:
            value = word.decode(self.properties[word.name])
            if word.choices and value not in word.choices:
                raise VerifyException(f"'{value}' is not one of {', '.join(word.choices)}")
        self._verify_axes()
        self.verify_elements()
        verify_meaning(self)
        self.verify_conditions()

    def _verify_axes(self) -> None:
        rank = max((len(cast(AnyTensor, t).get_shape()) for t in (*self.operand_types, *self.result_types)), default=0)
        for word in self.WORDS:
            if word.name in ("axis", "axes", "perm", "dims", "lhs_contract", "rhs_contract"):
                value = word.decode(self.properties[word.name])
                axes = cast("tuple[int, ...]", value) if isinstance(value, tuple) else (value,)
                if len(set(axes)) != len(axes):
                    raise VerifyException(f"{word.name} [{', '.join(map(str, axes))}] names an axis twice")
                if any(not 0 <= a < rank for a in axes):
                    raise VerifyException(f"{word.name} [{', '.join(map(str, axes))}] of tensors of rank {rank}")

    def verify_elements(self) -> None:
        """Element types fit together."""
        kinds = {element_kind(t) for t in (*self.operand_types, *self.result_types)}
        if self.SAME_KIND and len(kinds) > 1:
            raise VerifyException(f"mixes {' and '.join(sorted(kinds))} elements: a cast is needed")

    def verify_conditions(self) -> None:
        """What a meaning presupposes beyond the result's shape."""

    # -- syntax -------------------------------------------------------------------------------------------------------

    def print(self, printer: Printer) -> None:
        """Print `words operands keyword value ... : types`."""
        for word in self.WORDS:
            if word.keyword is None:
                printer.print_string(" ")
                word.print(self.properties[word.name], printer)
        if self.operands:
            printer.print_string(" ")
            printer.print_list(self.operands, printer.print_ssa_value)
        for word in self.WORDS:
            if word.keyword is not None:
                attribute = self.properties[word.name]
                if word.default is not None and attribute == word.encode(word.default):
                    continue
                printer.print_string(f" {word.keyword} ")
                word.print(attribute, printer)
        if self.attributes:
            printer.print_attr_dict(self.attributes)
        printer.print_string(" : ")
        types = [*self.operand_types, *self.result_types]
        if all(t == types[0] for t in types):
            printer.print_attribute(types[0])
            return
        if len(self.operands) == 1:
            printer.print_attribute(self.operand_types[0])
        else:
            printer.print_string("(")
            printer.print_list(self.operand_types, printer.print_attribute)
            printer.print_string(")")
        printer.print_string(" -> ")
        printer.print_attribute(self.result_types[0])

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse what `print` prints."""
        properties: dict[str, Attribute] = {}
        for word in cls.WORDS:
            if word.keyword is None:
                properties[word.name] = word.parse(parser)
        count = len(cls.get_irdl_definition().operands)
        position = parser.pos
        operands = [parser.parse_unresolved_operand() for _ in range(min(count, 1))]
        for _ in range(count - 1):
            parser.parse_punctuation(",")
            operands.append(parser.parse_unresolved_operand())
        for word in cls.WORDS:
            if word.keyword is None:
                continue
            if parser.parse_optional_keyword(word.keyword):
                properties[word.name] = word.parse(parser)
            elif word.default is not None:
                properties[word.name] = word.encode(word.default)
            else:
                parser.raise_error(f"'{word.keyword}' expected")
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        if parser.parse_optional_punctuation("("):
            types = [parser.parse_type()]
            while parser.parse_optional_punctuation(","):
                types.append(parser.parse_type())
            parser.parse_punctuation(")")
            parser.parse_punctuation("->")
            result = parser.parse_type()
        else:
            first = parser.parse_type()
            result = parser.parse_type() if parser.parse_optional_punctuation("->") else first
            types = [first] * count
        return cls.create(
            operands=parser.resolve_operands(operands, types, position),
            result_types=[result],
            properties=properties,
            attributes=attributes,
        )


__all__ = ["TensorHlOp", "Word", "decimal_text", "element_kind", "element_of", "read_decimal"]
