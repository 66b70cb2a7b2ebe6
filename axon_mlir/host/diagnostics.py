# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`expected-error` comments: what a test file says its errors are, checked against what they were.

```mlir
// expected-error@+1 {{does not dominate this use}}
"test.op"(%later) : (i32) -> ()
"test.bad"() : () -> ()  // expected-error {{needs an operand}}
```

The place is this line, `@+N`, `@-N`, `@above`, `@below`, `@N` (an absolute line) or `@unknown` (no place); the text is
a part of the message. `expected-error 2 {{...}}` expects two of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from axon_mlir.errors import AxonError

_DIRECTIVE = re.compile(
    r"expected-(?P<kind>[a-z-]+)(?P<place>@(?:[+-]?\d+|above|below|unknown))?(?:\s+(?P<count>\d+))?\s*\{\{(?P<text>.*?)\}\}"
)
_ATTEMPT = re.compile(r"//.*?expected-(?:error|warning|remark|note)")
_PLACE = re.compile(r":(\d+)(?::\d+)?$")


@dataclass(frozen=True)
class ExpectedError:
    """One error that a file announces."""

    line: int | None
    """The line it is expected on; None for an error without a place."""
    text: str
    """A part of its message."""
    written_on: int
    """The line of the comment."""


def parse_expectations(text: str, name: str) -> list[ExpectedError]:
    """The errors that a file's comments announce; a comment that only looks like one is an error itself."""
    expectations: list[ExpectedError] = []
    for number, line in enumerate(text.split("\n"), start=1):
        found = list(_DIRECTIVE.finditer(line))
        if not found and _ATTEMPT.search(line):
            raise AxonError("malformed expectation", where=f"{name}:{number}", accepted="expected-error@+1 {{text}}")
        for directive in found:
            if directive["kind"] != "error":
                raise AxonError(
                    f"unknown expectation 'expected-{directive['kind']}'",
                    where=f"{name}:{number}",
                    accepted="expected-error",
                )
            expected = ExpectedError(_resolve_place(directive["place"], number), directive["text"], number)
            expectations.extend([expected] * int(directive["count"] or 1))
    return expectations


def check_expectations(expected: Iterable[ExpectedError], actual: Iterable[AxonError], name: str) -> list[AxonError]:
    """What differs: errors that nothing announced, and announcements that nothing fulfilled."""
    open_expectations = list(expected)
    problems: list[AxonError] = []
    for error in actual:
        match = next((item for item in open_expectations if _matches(item, error)), None)
        if match is None:
            problems.append(AxonError(f"unexpected error: {error.message}", where=error.where or name))
        else:
            open_expectations.remove(match)
    for item in open_expectations:
        where = f"{name}:{item.line or item.written_on}"
        problems.append(AxonError(f"expected error was not produced: {item.text}", where=where))
    return problems


def line_of(error: AxonError) -> int | None:
    """The line of an error's place, if it has one."""
    found = _PLACE.search(error.where or "")
    return int(found[1]) if found else None


def _matches(expected: ExpectedError, error: AxonError) -> bool:
    return expected.line == line_of(error) and expected.text in error.message


def _resolve_place(place: str | None, number: int) -> int | None:
    match place:
        case None:
            return number
        case "@unknown":
            return None
        case "@above":
            return number - 1
        case "@below":
            return number + 1
        case _ if place[1] in "+-":
            return number + int(place[1:])
        case _:
            return int(place[1:])
