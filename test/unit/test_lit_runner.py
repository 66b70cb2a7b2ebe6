# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The in-process runner does what lit does."""

from pathlib import Path

import pytest
from lit_runner import NeedsShell, parse_command, parse_script, run_command, run_file, run_words, substitute

MODULE = "func.func @f() {\n  func.return\n}\n"


def write(folder: Path, text: str) -> Path:
    path = folder / "case.mlir"
    path.write_text(text)
    return path


def test_keywords_and_continued_lines():
    text = "// RUN: a b \\\n// RUN:   c\n// RUN: d\n// REQUIRES: x, y\n// XFAIL: *\n// UNSUPPORTED: z\n"
    script = parse_script(text)
    assert script.commands == ["a b c", "d"]
    assert (script.requires, script.xfail, script.unsupported) == (["x", "y"], ["*"], ["z"])


def test_substitutions():
    source, scratch = Path("/a/b.mlir"), Path("/s/x")
    assert substitute("%s %S %t %T 50%% %shape", source, scratch) == "/a/b.mlir /a /s/x/b.mlir.tmp /s/x 50% %shape"


def test_command_lines():
    (first, second), (third,) = parse_command("not axon-opt 'a b' 2>&1 | filecheck x < in && axon-opt > out")
    assert (first.words, first.merge_stderr) == (["not", "axon-opt", "a b"], True)
    assert (second.words, second.input_file) == (["filecheck", "x"], "in")
    assert (third.words, third.output_file) == (["axon-opt"], "out")


def test_quoted_pipelines_are_one_word():
    ((stage,),) = parse_command("axon-opt -p 'a{x=\"(1)\"}' --pass-pipeline='builtin.module(a,b)'")
    assert stage.words == ["axon-opt", "-p", 'a{x="(1)"}', "--pass-pipeline=builtin.module(a,b)"]


@pytest.mark.parametrize("command", ["cat x", "axon-opt; true", "axon-opt 2> x", "axon-opt $HOME", "axon-opt || true"])
def test_what_needs_a_shell(command: str):
    with pytest.raises(NeedsShell):
        parse_command(command)


def test_a_file_that_passes(tmp_path: Path):
    source = write(tmp_path, "// RUN: axon-opt %s | filecheck %s\n// CHECK: func.func @f\n" + MODULE)
    assert [outcome.code for outcome in run_file(source, tmp_path)] == [0]


def test_a_check_that_fails_says_so_and_stops(tmp_path: Path):
    text = "// RUN: axon-opt %s | filecheck %s\n// RUN: axon-opt %s\n// CHECK: func.func @g\n" + MODULE
    (outcome,) = run_file(write(tmp_path, text), tmp_path)
    assert outcome.code == 1
    assert "func.func @g" in str(outcome)


def test_a_failure_anywhere_in_a_pipe_counts(tmp_path: Path):
    source = write(tmp_path, "// RUN: axon-opt -p nope %s | filecheck --allow-empty %s\n// CHECK-NOT: func\n")
    assert run_file(source, tmp_path)[-1].code == 3


def test_not(monkeypatch: pytest.MonkeyPatch):
    import lit_runner

    for code, expected in [(0, 1), (1, 0), (3, 0), (4, 4)]:
        monkeypatch.setitem(lit_runner.COMMANDS, "sample", lambda *_, code=code: code)
        assert run_words(["not", "sample"], None, None, None) == expected


def test_files_are_written_in_the_scratch_folder(tmp_path: Path):
    assert run_command("axon-opt --version > here && axon-opt < here", tmp_path).code == 3
    assert (tmp_path / "here").read_text().startswith("axon-opt")


def test_bash_knows_our_tools(tmp_path: Path):
    outcome = run_command("axon-opt --version | cat; not false", tmp_path)
    assert outcome.code == 0
    assert outcome.stdout.startswith("axon-opt")
