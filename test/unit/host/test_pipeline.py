# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Both pipeline spellings, option types, and errors that point into the text."""

from dataclasses import dataclass

import pytest
from xdsl.passes import ModulePass

from axon_mlir.errors import AxonError
from axon_mlir.host.pipeline import build_pipeline, parse_pipeline


@dataclass(frozen=True)
class Sample(ModulePass):
    name = "sample"
    count: int = 1
    scale: float = 1.0
    label: str | None = None
    sizes: tuple[int, ...] = ()
    keep_all: bool = False

    def apply(self, ctx, op):
        pass


@dataclass(frozen=True)
class Needy(ModulePass):
    name = "needy"
    tile_size: int

    def apply(self, ctx, op):
        pass


def load(name: str) -> type[ModulePass]:
    try:
        return {"sample": Sample, "needy": Needy}[name]
    except KeyError:
        raise AxonError(f"unknown pass '{name}'", accepted="sample, needy") from None


def names(text: str) -> list[str]:
    return [str(invocation.spec) for invocation in parse_pipeline(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("a", ["a"]),
        ("a,b", ["a", "b"]),
        (" a , b{ x=1 } ", ["a", "b{x=1}"]),
        ("builtin.module()", []),
        ("builtin.module(a,func.func(b{x=1},c))", ["a", "b{x=1}", "c"]),
        ("any(a),builtin.module(b)", ["a", "b"]),
        ("a{x=1 y=2.5 z=word w=true v flag=false}", ['a{x=1 y=2.5 z="word" w=true v flag=false}']),
        ('a{x="two words, and } a brace" y=1,2,3}', ['a{x="two words, and } a brace" y=1,2,3}']),
        ("a{path=dir/file.target}", ['a{path="dir/file.target"}']),
        ("a{\n  x=1\n}", ["a{x=1}"]),
    ],
)
def test_spellings(text: str, expected: list[str]):
    assert names(text) == expected


def test_a_string_may_hold_a_quote():
    assert parse_pipeline(r'a{x="say \"hi\" \\"}')[0].spec.parameters == {"x": ('say "hi" \\',)}


def test_numbers():
    values = parse_pipeline("a{x=1,-2,+3,1.5,-.5,1e3,2E-1,1x}")[0].spec.parameters["x"]
    assert values == (1, -2, 3, 1.5, -0.5, 1000.0, 0.2, "1x")
    assert [type(value) for value in values[:4]] == [int, int, int, float]


def test_options_reach_the_fields():
    (built,) = build_pipeline("sample{count=3 scale=2 label=x sizes=1,2 keep-all}", load)
    assert built == Sample(3, 2.0, "x", (1, 2), True)


def test_a_tuple_of_one_and_both_spellings_of_a_dash():
    assert build_pipeline("sample{sizes=4}", load) == [Sample(sizes=(4,))]
    assert build_pipeline("sample{keep_all=true}", load) == [Sample(keep_all=True)]


@pytest.mark.parametrize(
    ("text", "column", "message", "accepted"),
    [
        ("sample,other", 8, "unknown pass 'other'", "sample, needy"),
        ("sample{speed=1}", 8, "has no option 'speed'", "count, scale, label, sizes, keep-all"),
        ("sample{count=1.5}", 8, "option 'count' of pass 'sample' has the wrong type", "int"),
        ("sample{count=true}", 8, "wrong type", "int"),
        ("sample{count=1,2}", 8, "wrong type", "int"),
        ("sample{count}", 8, "wrong type", "int"),
        ("sample{keep-all=3}", 8, "wrong type", "bool"),
        ("sample{count=1 count=2}", 16, "given twice", None),
        ("needy", 1, "needs more options", "needy{tile-size=...}"),
        ("sample{", 8, "expected an option name or '}'", None),
        ("sample{count=}", 14, "expected a value", 'a number, true, false, a word, or "any text"'),
        ("sample,,needy", 8, "expected a pass name", None),
        ("sample needy", 8, "expected ',' or the end", None),
        ("sample)", 7, "expected ',' or the end", None),
        ("builtin.module(sample", 22, "expected ',' or ')'", None),
        ("builtin.module", 15, "expected '('", None),
        ("sample(needy)", 1, "cannot hold a nested pipeline", "builtin.module, func.func, any"),
    ],
)
def test_errors_point_into_the_text(text: str, column: int, message: str, accepted: str | None):
    with pytest.raises(AxonError) as caught:
        build_pipeline(text, load)
    error = caught.value
    assert error.where == f"pass-pipeline:1:{column}"
    first, line, caret = error.message.split("\n")
    assert message in first
    assert line == f"  {text}"
    assert caret == "  " + " " * (column - 1) + "^"
    assert error.accepted == accepted
