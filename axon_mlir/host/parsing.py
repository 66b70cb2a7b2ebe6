# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""xDSL's parser, repaired: hexadecimal float elements, a location on every operation, errors with a place.

This is the one file that overrides private hooks of xDSL; an upgrade of the pin is a diff of this file.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import re
from bisect import bisect_right
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    AnyFloat,
    ComplexType,
    FileLineColLoc,
    IndexType,
    IntAttr,
    IntegerType,
    LocationAttr,
    ModuleOp,
    StringAttr,
)
from xdsl.ir import AttributeInvT, Operation, SSAValue
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.parser.attribute_parser import AttrParser
from xdsl.utils.exceptions import DiagnosticException, ParseError, UnregisteredConstructException
from xdsl.utils.lexer import Span
from xdsl.utils.mlir_lexer import MLIRTokenKind

from axon_mlir.errors import AxonError

TensorElement = AttrParser._TensorLiteralElement


class HexElement(TensorElement):
    """A hexadecimal element of a tensor literal: the bit pattern of a float, or an ordinary integer."""

    def to_type(self, parser: AttrParser, type: AnyFloat | IntegerType | IndexType | ComplexType):
        """The element's value in the literal's element type."""
        if isinstance(type, AnyFloat):
            return self._from_bits(parser, type)
        return super().to_type(parser, type)

    def _from_bits(self, parser: AttrParser, type: AnyFloat) -> float:
        bits = cast(int, self.value)
        if self.is_negative:
            parser.raise_error("a hexadecimal float literal cannot have a minus sign", self.span)
        if bits.bit_length() > type.bitwidth:
            parser.raise_error(f"hexadecimal float literal does not fit {type}", self.span)
        return next(type.iter_unpack(bits.to_bytes(type.compile_time_size, "little")))


class AxonParser(Parser):
    """The parser of our tools."""

    def __init__(self, ctx: Context, text: str, name: str):
        super().__init__(ctx, text, name)
        self._file = StringAttr(name)
        self._first_uses: dict[str, Span] = {}
        self._line_starts = [0, *(newline.end() for newline in re.finditer("\n", text))]

    def line_and_column(self, position: int) -> tuple[int, int]:
        """The line and column, both from 1, of a position in the text."""
        line = bisect_right(self._line_starts, position)
        return line, position - self._line_starts[line - 1] + 1

    def parse_module(self, allow_implicit_module: bool = True) -> ModuleOp:
        """Parse the whole text; one without operations is an empty module."""
        if self._current_token.kind is MLIRTokenKind.EOF:
            return ModuleOp([])
        try:
            return super().parse_module(allow_implicit_module)
        except ParseError:
            self._check_forward_references()
            raise

    def resolve_operand(self, operand: UnresolvedOperand, type: AttributeInvT) -> SSAValue[AttributeInvT]:
        """Find or announce an operand's value, and remember where each name is used first."""
        self._first_uses.setdefault(operand.operand_name, operand.span)
        return super().resolve_operand(operand, type)

    def _check_forward_references(self) -> None:
        """At the end of the text, report a name without definition where it is first used, not where the text ends."""
        if self._current_token.kind is MLIRTokenKind.EOF:
            for name in self.forward_ssa_references:
                self.raise_error(f"value %{name} is used but not defined", self._first_uses[name])

    def parse_operation(self) -> Operation:
        """Parse an operation and give it the place where it starts, unless the text says `loc(...)`."""
        start = self.pos
        op = super().parse_operation()
        if op.location == UNKNOWN_LOC:
            op.location = self._location(start)
        return op

    def _location(self, position: int) -> LocationAttr:
        line, column = self.line_and_column(position)
        return FileLineColLoc(self._file, IntAttr(line), IntAttr(column))

    def _parse_tensor_literal_element(self) -> TensorElement:
        start = self.pos
        element = super()._parse_tensor_literal_element()
        text = self.lexer.input.content[start : element.span.end].lower()
        if "0x" not in text:
            return element
        if isinstance(element.value, tuple):
            self.raise_error("hexadecimal elements of complex tensors are not supported", element.span)
        return HexElement(element.is_negative, element.value, element.span)


def parse_module(text: str, name: str, context: Context) -> ModuleOp:
    """Parse a file's text into a module; operations that stand alone are wrapped in one.

    Whatever is wrong with the text is an AxonError at `file:line:col`. Nothing is verified but what parsing
    itself checks.
    """
    parser: AxonParser | None = None
    try:
        parser = AxonParser(context, text, name)
        module = parser.parse_module()
    except ParseError as error:
        raise AxonError(_first_line(error.msg), where=_place_of(error)) from error
    except AxonError as error:
        raise error.at(_current_place(parser, name)) from None
    except RecursionError as error:
        raise AxonError("nested too deeply", where=_current_place(parser, name)) from error
    except (DiagnosticException, UnregisteredConstructException, ValueError) as error:
        raise AxonError(_first_line(str(error)), where=_current_place(parser, name)) from error
    except Exception as error:
        reason = f"{type(error).__name__}: {_first_line(str(error))}"
        raise AxonError(f"cannot parse this ({reason})", where=_current_place(parser, name)) from error
    if module.location == UNKNOWN_LOC:
        module.location = FileLineColLoc(StringAttr(name), IntAttr(1), IntAttr(1))
    return module


def _first_line(message: str) -> str:
    return message.strip().split("\n", 1)[0]


def _place_of(error: ParseError) -> str:
    location = error.span.get_location()
    return f"{location.file}:{location.line}:{location.col}"


def _current_place(parser: AxonParser | None, name: str) -> str:
    if parser is None:
        return name
    line, column = parser.line_and_column(parser.pos)
    return f"{name}:{line}:{column}"
