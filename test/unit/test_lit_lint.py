# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Check lines that check nothing are found, and no lit file of ours has any."""

from pathlib import Path

import pytest
from lit_lint import distance, lint, prefixes_of
from lit_runner import SUFFIXES

LIT = Path(__file__).parents[1] / "lit"
RUN = "// RUN: axon-opt %s | filecheck %s\n"


def test_a_clean_file_has_no_problems():
    text = (
        RUN + "// CHECK-LABEL: @f\n// CHECK-NEXT: a\n// CHECK-COUNT-2: b\n// CHECK{LITERAL}: [[\n// NOTE: prose: fine\n"
    )
    assert lint(text) == []


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("// CHECK-NXT: a", "CHECK-NXT: is no directive of CHECK"),
        ("// CHECKNEXT: a", "CHECKNEXT: is no directive of CHECK"),
        ("// CHEK: a", "CHEK: is misspelt, probably CHECK"),
        ("// CHEKC-NEXT: a", "CHEKC-NEXT: is misspelt, probably CHECK"),
        ("// check-next: a", "check-next: is misspelt, probably CHECK"),
        ("// CHECK-NEXT a", "CHECK-NEXT has no colon after it"),
        ("// OTHER-NEXT: a", "OTHER-NEXT: has a prefix that no RUN line names"),
        ("// RNU: axon-opt %s", "RNU: is misspelt, probably RUN"),
        ("// REQURIES: cvc5", "REQURIES: is misspelt, probably REQUIRES"),
        ("// TODO: a", None),
        ("// CHECK every line", "CHECK has no colon after it"),
        ("// RUNS: axon-opt %s", "RUNS: is misspelt, probably RUN"),
        ("func.call @f() // CHEK: a", "CHEK: is misspelt, probably CHECK"),
    ],
)
def test_misspelt_directives_are_found(line: str, message: str | None):
    problems = lint(RUN + "// CHECK: a\n" + line + "\n")
    assert problems == ([] if message is None else [f"3: {message}"])


def test_a_prefix_that_never_occurs_is_found():
    text = "// RUN: axon-opt %s | filecheck %s --check-prefixes=CHECK,NKI\n// CHECK: a\n"
    assert lint(text) == ["1: prefix NKI is in a RUN line but never occurs"]


def test_prefixes_are_read_from_every_call():
    text = "// RUN: axon-opt %s | filecheck %s --check-prefix=A && axon-opt %s \\\n// RUN: | filecheck %s\n"
    assert prefixes_of(text) == {"A", "CHECK"}


def test_a_file_without_run_line_is_found():
    assert lint("// CHECK: a\n") == ["1: no RUN line"]


def test_distance():
    assert distance("CHEK", "CHECK") == 1
    assert distance("NOTE", "CHECK") == 5


def test_our_files_have_no_problems():
    files = [path for path in LIT.rglob("*") if path.suffix in SUFFIXES and "Inputs" not in path.parts]
    problems = {str(path): lint(path.read_text(encoding="utf-8")) for path in files}
    assert {name: found for name, found in problems.items() if found} == {}
