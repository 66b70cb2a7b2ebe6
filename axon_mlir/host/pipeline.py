# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pass pipelines in both spellings: `a,b{x=1}` and `builtin.module(a,func.func(b{x=1}))`.

```
pipeline := element (',' element)*
element  := anchor '(' pipeline? ')'  |  pass ('{' option* '}')?
anchor   := 'builtin.module' | 'func.func' | 'any'
option   := key ('=' value (',' value)*)?
value    := number | 'true' | 'false' | '"' text '"' | bare text
```

Blanks may stand between any two of these. Our passes run on modules, so an anchor only groups: the nest is
flattened in order.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, get_args, get_type_hints

from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import ArgSpec, ParameterListType, ParameterType
from xdsl.utils.hints import isa, type_repr

from axon_mlir.errors import AxonError
from axon_mlir.host import registry

ANCHORS = ("builtin.module", "func.func", "any")

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_BARE = re.compile(r'[^\s,{}="]+')
_INTEGER = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))([eE][-+]?[0-9]+)?")
_ESCAPE = re.compile(r"\\(.)")


@dataclass(frozen=True)
class PassInvocation:
    """One pass of a pipeline, as written."""

    spec: ArgSpec
    """The pass name and its options."""
    position: int
    """Where the name starts in the pipeline text, from 0."""
    option_positions: dict[str, int]
    """Where each option starts."""


def parse_pipeline(text: str) -> list[PassInvocation]:
    """The passes of a pipeline in the order in which they run."""
    reader = _Reader(text)
    passes = _parse_elements(reader, closing=False)
    reader.skip_blanks()
    if reader.position != len(text):
        raise reader.error("expected ',' or the end of the pipeline")
    return passes


def build_pipeline(text: str, load_pass: Callable[[str], type[ModulePass]] = registry.load_pass) -> list[ModulePass]:
    """Parse a pipeline and construct its passes, with errors that point into the text."""
    return [_build_pass(text, invocation, load_pass) for invocation in parse_pipeline(text)]


def option_names(pass_class: type[ModulePass]) -> dict[str, str]:
    """The options of a pass as they are written, each with its field's name."""
    return {field.name.replace("_", "-"): field.name for field in dataclasses.fields(pass_class) if field.init}


def _build_pass(text: str, invocation: PassInvocation, load_pass: Callable[[str], type[ModulePass]]) -> ModulePass:
    name = invocation.spec.name
    try:
        pass_class = load_pass(name)
    except AxonError as error:
        raise _error_at(text, invocation.position, error.message, error.accepted) from error
    options = {
        key.replace("-", "_"): _checked_option(text, invocation, pass_class, key) for key in invocation.spec.parameters
    }
    missing = [field for field in sorted(pass_class.required_fields()) if field not in options]
    if missing:
        accepted = " ".join(f"{field.replace('_', '-')}=..." for field in missing)
        raise _error_at(text, invocation.position, f"pass '{name}' needs more options", f"{name}{{{accepted}}}")
    return pass_class.from_pass_spec(ArgSpec(name, options))


def _checked_option(text: str, invocation: PassInvocation, pass_class: type[ModulePass], key: str) -> ParameterListType:
    name = invocation.spec.name
    position = invocation.option_positions[key]
    names = option_names(pass_class)
    field = names.get(key.replace("_", "-"))
    if field is None:
        accepted = ", ".join(names) or "no options"
        raise _error_at(text, position, f"pass '{name}' has no option '{key}'", accepted)
    expected = get_type_hints(pass_class)[field]
    value = _coerce(invocation.spec.parameters[key], expected)
    if not _fits(value, expected):
        raise _error_at(text, position, f"option '{key}' of pass '{name}' has the wrong type", type_repr(expected))
    return value


def _coerce(value: ParameterListType, expected: Any) -> ParameterListType:
    """A flag without a value is true, and an integer is a float where only a float will do."""
    members = {expected, *get_args(expected)}
    if not value and bool in members and type(None) not in members:
        return (True,)
    if float in members and int not in members:
        return tuple(float(item) if type(item) is int else item for item in value)
    return value


def _fits(value: ParameterListType, expected: Any) -> bool:
    if not value:
        return type(None) in get_args(expected)
    if len(value) == 1 and isinstance(value[0], bool) and bool not in {expected, *get_args(expected)}:
        return False
    return (len(value) == 1 and isa(value[0], expected)) or isa(value, expected)


def _parse_elements(reader: _Reader, *, closing: bool) -> list[PassInvocation]:
    """The elements of a pipeline, up to its end or (if `closing`) up to a `)`; an empty pipeline is fine."""
    passes: list[PassInvocation] = []
    if reader.at_end() or (closing and reader.sees(")")):
        return passes
    while True:
        passes.extend(_parse_element(reader))
        if not reader.accept(","):
            return passes


def _parse_element(reader: _Reader) -> list[PassInvocation]:
    reader.skip_blanks()
    start = reader.position
    name = reader.match(_NAME)
    if name is None:
        raise reader.error("expected a pass name")
    if name[0] in ANCHORS or reader.sees("("):
        return _parse_nest(reader, name[0], start)
    positions: dict[str, int] = {}
    options = _parse_options(reader, positions) if reader.accept("{") else {}
    return [PassInvocation(ArgSpec(name[0], options), start, positions)]


def _parse_nest(reader: _Reader, anchor: str, start: int) -> list[PassInvocation]:
    if anchor not in ANCHORS:
        raise _error_at(reader.text, start, f"'{anchor}' cannot hold a nested pipeline", ", ".join(ANCHORS))
    if not reader.accept("("):
        raise reader.error(f"expected '(' after '{anchor}'")
    passes = _parse_elements(reader, closing=True)
    if not reader.accept(")"):
        raise reader.error("expected ',' or ')'")
    return passes


def _parse_options(reader: _Reader, positions: dict[str, int]) -> dict[str, ParameterListType]:
    options: dict[str, ParameterListType] = {}
    while not reader.accept("}"):
        start = reader.position
        key = reader.match(_NAME)
        if key is None:
            raise reader.error("expected an option name or '}'")
        if key[0] in options:
            raise _error_at(reader.text, start, f"option '{key[0]}' is given twice")
        positions[key[0]] = start
        options[key[0]] = _parse_values(reader) if reader.accept("=") else ()
    return options


def _parse_values(reader: _Reader) -> ParameterListType:
    values = [_parse_value(reader)]
    while reader.accept(","):
        values.append(_parse_value(reader))
    return tuple(values)


def _parse_value(reader: _Reader) -> ParameterType:
    reader.skip_blanks()
    if (string := reader.match(_STRING)) is not None:
        return _ESCAPE.sub(r"\1", string[1])
    bare = reader.match(_BARE)
    if bare is None:
        raise reader.error("expected a value", accepted='a number, true, false, a word, or "any text"')
    return _bare_value(bare[0])


def _bare_value(word: str) -> ParameterType:
    if word in ("true", "false"):
        return word == "true"
    if _INTEGER.fullmatch(word):
        return int(word)
    if _FLOAT.fullmatch(word):
        return float(word)
    return word


class _Reader:
    """A position in the pipeline text."""

    def __init__(self, text: str):
        self.text = text
        self.position = 0

    def skip_blanks(self) -> None:
        while self.position < len(self.text) and self.text[self.position].isspace():
            self.position += 1

    def at_end(self) -> bool:
        self.skip_blanks()
        return self.position == len(self.text)

    def sees(self, character: str) -> bool:
        self.skip_blanks()
        return self.text.startswith(character, self.position)

    def accept(self, character: str) -> bool:
        if not self.sees(character):
            return False
        self.position += 1
        self.skip_blanks()
        return True

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.match(self.text, self.position)
        if found is not None:
            self.position = found.end()
        return found

    def error(self, message: str, accepted: str | None = None) -> AxonError:
        return _error_at(self.text, self.position, message, accepted)


def _error_at(text: str, position: int, message: str, accepted: str | None = None) -> AxonError:
    """An error with the offending line of the pipeline and a caret under the column."""
    line_start = text.rfind("\n", 0, position) + 1
    line = text[line_start:].split("\n", 1)[0]
    column = position - line_start
    number = text.count("\n", 0, position) + 1
    caret = f"{message}\n  {line}\n  {' ' * column}^"
    return AxonError(caret, where=f"pass-pipeline:{number}:{column + 1}", accepted=accepted)
