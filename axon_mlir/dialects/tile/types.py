# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The type of values in tile programs."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from axon_mlir.semantics.index import Index, parse
from axon_mlir.semantics.shapes import dtype_name, element_type

SPACES = ("hbm", "sbuf", "psum")
"""Where a tile lives: a region of HBM, state buffer, partial-sum buffer."""


@irdl_attr_definition
class TileType(ParametrizedAttribute, TypeAttribute):
    """`!tile.tile<["min(128, M)", "K"], bf16, sbuf>`: partition axis first, then the free axis.

    The sizes are *upper bounds* over the program's sizes and tile parameters; the real extents follow from loops.
    A tile whose partition bound exceeds the partitions of the device is stored in chunks.
    """

    name = "tile.tile"
    bounds: ArrayAttr[StringAttr] = param_def()
    element_type: Attribute = param_def()
    space: StringAttr = param_def()

    def verify(self) -> None:
        if self.space.data not in SPACES:
            raise VerifyException(f"unknown space '{self.space.data}'; accepted: {', '.join(SPACES)}")
        if len(self.bounds.data) != 2:
            raise VerifyException("a tile has a partition axis and a free axis")
        for b in self.bounds.data:
            try:
                parse(b.data)
            except ValueError as e:
                raise VerifyException(str(e)) from e

    @property
    def upper(self) -> tuple[Index, ...]:
        """The bounds as index terms."""
        return tuple(parse(b.data) for b in self.bounds.data)

    @property
    def dtype(self) -> str:
        return dtype_name(self.element_type)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        start = parser.pos
        with parser.in_angle_brackets():
            bounds = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_str_literal)
            parser.parse_punctuation(",")
            element = parser.parse_type()
            parser.parse_punctuation(",")
            space = parser.parse_identifier()
            end = parser.pos
        parameters = (ArrayAttr([StringAttr(b) for b in bounds]), element, StringAttr(space))
        try:
            cls(*parameters)
        except VerifyException as e:
            # Said here, the message points at the type and not behind it.
            parser.raise_error(str(e), start, end)
        return parameters

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string("[")
            printer.print_list(self.bounds.data, lambda b: printer.print_string_literal(b.data))
            printer.print_string("], ")
            printer.print_attribute(self.element_type)
            printer.print_string(f", {self.space.data}")


def tile_type(bounds: Sequence[Index], dtype: str, space: str) -> TileType:
    """A tile type from index terms."""
    return TileType(ArrayAttr([StringAttr(str(b)) for b in bounds]), element_type(dtype), StringAttr(space))
