# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is known of one alternative of a choice: `#nu.alternative<late proved "R" derived "..." certificate "...">`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

PROVED, REFUTED, UNKNOWN = "proved", "refuted", "unknown"
VERDICTS = (PROVED, REFUTED, UNKNOWN)
"""What the prover said of an alternative against the choice's reference."""

CLASSES = {
    "E": "exact",
    "R": "reassociated",
    "P": "other precision of stored constants",
    "C": "may cancel",
    "O": "may overflow",
}
"""The letters of a numeric class: how the floats may differ from the reference's."""

_NAME = re.compile(r'[^\s,;=#"\\{}()\[\]<>]+')


@irdl_attr_definition
class AlternativeAttr(ParametrizedAttribute):
    """One alternative: its name, verdict, numeric class, derivation and certificate.

    The numeric class is a set of letters of `CLASSES`. The derivation says which steps led here from the reference; the
    certificate is the hash of the proof. Both may be empty, and are not printed then.
    """

    name = "nu.alternative"

    label: StringAttr
    verdict: StringAttr
    numeric: StringAttr
    derivation: StringAttr
    certificate: StringAttr

    @classmethod
    def of(
        cls, label: str, verdict: str = PROVED, numeric: str = "E", derivation: str = "", certificate: str = ""
    ) -> AlternativeAttr:
        """Build from plain text."""
        return cls(*map(StringAttr, (label, verdict, numeric, derivation, certificate)))

    def verify(self) -> None:
        """The name can be written in a pass option, the verdict and the numeric class are legal."""
        for problem in (
            name_problem(self.label.data),
            _verdict_problem(self.verdict.data),
            _numeric_problem(self.numeric.data),
        ):
            if problem:
                raise VerifyException(problem)

    def print_parameters(self, printer: Printer) -> None:
        """Print between angle brackets."""
        with printer.in_angle_brackets():
            self.print_words(printer)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        """Parse what `print_parameters` prints."""
        with parser.in_angle_brackets():
            return cls.parse_words(parser).parameters

    def print_words(self, printer: Printer) -> None:
        """Print the bare words, as a choice shows them in front of an alternative's region."""
        printer.print_identifier_or_string_literal(self.label.data)
        printer.print_string(f" {self.verdict.data} ")
        printer.print_string_literal(self.numeric.data)
        for keyword, text in (("derived", self.derivation.data), ("certificate", self.certificate.data)):
            if text:
                printer.print_string(f" {keyword} ")
                printer.print_string_literal(text)

    @classmethod
    def parse_words(cls, parser: AttrParser) -> AlternativeAttr:
        """Parse what `print_words` prints."""
        start = parser.pos
        label = parser.parse_identifier_or_str_literal()
        _refuse(parser, start, name_problem(label))
        start = parser.pos
        verdict = parser.parse_identifier()
        _refuse(parser, start, _verdict_problem(verdict))
        start = parser.pos
        numeric = parser.parse_str_literal()
        _refuse(parser, start, _numeric_problem(numeric))
        derivation = parser.parse_str_literal() if parser.parse_optional_keyword("derived") else ""
        certificate = parser.parse_str_literal() if parser.parse_optional_keyword("certificate") else ""
        return cls.of(label, verdict, numeric, derivation, certificate)


def name_problem(name: str) -> str | None:
    """Why a text cannot name a choice or an alternative, if it cannot."""
    if _NAME.fullmatch(name):
        return None
    return f"'{name}' cannot be a name: blanks, commas, '=', quotes and brackets are not allowed"


def _verdict_problem(verdict: str) -> str | None:
    return None if verdict in VERDICTS else f"unknown verdict '{verdict}', not one of {', '.join(VERDICTS)}"


def _numeric_problem(numeric: str) -> str | None:
    for letter in numeric:
        if letter not in CLASSES:
            return f"unknown numeric class '{letter}', not one of {', '.join(CLASSES)}"
        if numeric.count(letter) > 1:
            return f"numeric class '{letter}' is given twice"
    return None


def _refuse(parser: AttrParser, start: int, problem: str | None) -> None:
    if problem:
        parser.raise_error(problem, start, parser.pos)
