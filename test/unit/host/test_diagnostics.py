# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The checker of expected-error comments."""

import pytest

from axon_mlir.errors import AxonError
from axon_mlir.host.diagnostics import ExpectedError, check_expectations, line_of, parse_expectations


@pytest.mark.parametrize(
    ("place", "line"),
    [("", 2), ("@+1", 3), ("@-1", 1), ("@above", 1), ("@below", 3), ("@7", 7), ("@unknown", None)],
)
def test_places(place: str, line: int | None):
    text = f"\n// expected-error{place} {{{{some text}}}}\n"
    assert parse_expectations(text, "f") == [ExpectedError(line, "some text", 2)]


def test_several_on_a_line_and_a_count():
    found = parse_expectations("// expected-error {{a}} expected-error 2 {{b}}", "f")
    assert [item.text for item in found] == ["a", "b", "b"]


@pytest.mark.parametrize("text", ["// expected-error: a", "// expected-error {a}", "// expected-warning {{a}}"])
def test_malformed_expectations_are_errors(text: str):
    with pytest.raises(AxonError) as caught:
        parse_expectations("\n" + text, "f")
    assert caught.value.where == "f:2"


def test_all_fulfilled():
    expected = [ExpectedError(3, "bad", 2), ExpectedError(None, "worse", 4)]
    actual = [AxonError("really bad", where="f.mlir:3:1"), AxonError("worse")]
    assert check_expectations(expected, actual, "f.mlir") == []


def test_each_expectation_is_fulfilled_once():
    actual = [AxonError("bad", where="f.mlir:3:1"), AxonError("bad", where="f.mlir:3:9")]
    (problem,) = check_expectations([ExpectedError(3, "bad", 2)], actual, "f.mlir")
    assert str(problem) == "f.mlir:3:9: error: unexpected error: bad"


def test_wrong_line_is_two_problems():
    actual = [AxonError("bad", where="f.mlir:4:1")]
    problems = check_expectations([ExpectedError(3, "bad", 2)], actual, "f.mlir")
    assert [problem.where for problem in problems] == ["f.mlir:4:1", "f.mlir:3"]


def test_line_of():
    assert line_of(AxonError("", where="a:3:4")) == 3
    assert line_of(AxonError("", where="a:3")) == 3
    assert line_of(AxonError("", where="a")) is None
    assert line_of(AxonError("")) is None
