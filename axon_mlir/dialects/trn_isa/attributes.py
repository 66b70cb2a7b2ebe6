# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where a value is stored, once storage is decided."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntAttr, StringAttr
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

SPACES = ("sbuf", "psum")
"""On-chip memories."""


@irdl_attr_definition
class StorageAttr(ParametrizedAttribute):
    """`#trn_isa.storage<"acc", psum, 2048, 2048>`: name, space, first byte and bytes in every partition."""

    name = "trn_isa.storage"
    label: StringAttr = param_def()
    space: StringAttr = param_def()
    address: IntAttr = param_def()
    bytes: IntAttr = param_def()

    def verify(self) -> None:
        if self.space.data not in SPACES:
            raise VerifyException(f"storage in unknown space '{self.space.data}'; accepted: {', '.join(SPACES)}")
        if self.address.data < 0 or self.bytes.data < 1:
            raise VerifyException("storage needs an address of at least 0 and at least one byte")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            label = parser.parse_str_literal()
            parser.parse_punctuation(",")
            space = parser.parse_identifier()
            parser.parse_punctuation(",")
            address = parser.parse_integer(allow_boolean=False, allow_negative=False)
            parser.parse_punctuation(",")
            size = parser.parse_integer(allow_boolean=False, allow_negative=False)
        return (StringAttr(label), StringAttr(space), IntAttr(address), IntAttr(size))

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string_literal(self.label.data)
            printer.print_string(f", {self.space.data}, {self.address.data}, {self.bytes.data}")


def storage_attr(label: str, space: str, address: int, size: int) -> StorageAttr:
    """A storage attribute from Python values."""
    return StorageAttr(StringAttr(label), StringAttr(space), IntAttr(address), IntAttr(size))
