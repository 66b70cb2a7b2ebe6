# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs lit files inside this process: a hundred times faster than a process for each command.

Understood are `axon-opt`, `axon`, `filecheck`, `not` and `true`, pipes, `&&`, `2>&1`, `< file`, `> file`, the
substitutions `%s %S %t %T %%`, and the keywords RUN (with `\\` at the end of a line), REQUIRES, UNSUPPORTED and XFAIL.
A RUN line with anything else runs in bash, with our tools on the PATH. The files stay valid for stock lit.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import chdir
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path

SUFFIXES = (".mlir", ".test")
INTERNAL_ERROR = 4
ROOT = Path(__file__).resolve().parents[1]

_KEYWORD = re.compile(r"\b(RUN|REQUIRES|UNSUPPORTED|XFAIL):(.*)")
_SUBSTITUTION = re.compile(r"%(%|[sStT](?![A-Za-z0-9_]))")


@dataclass
class LitScript:
    """What a file asks for."""

    commands: list[str] = field(default_factory=list)
    requires: list[str] = field(default_factory=list)
    unsupported: list[str] = field(default_factory=list)
    xfail: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Outcome:
    """What a command line did."""

    command: str
    code: int
    stdout: str
    stderr: str

    def __str__(self) -> str:
        parts = [f"RUN: {self.command}", f"exit code {self.code}"]
        parts += [f"{name}:\n{text}" for name, text in (("stdout", self.stdout), ("stderr", self.stderr)) if text]
        return "\n".join(parts)


@dataclass
class Stage:
    """One command of a pipe."""

    words: list[str] = field(default_factory=list)
    merge_stderr: bool = False
    input_file: str | None = None
    output_file: str | None = None


class NeedsShell(Exception):
    """The command line is more than this runner understands."""


def available_features() -> set[str]:
    """The features that REQUIRES may name."""
    return {name for name in ("cvc5",) if importlib.util.find_spec(name) is not None}


def parse_script(text: str) -> LitScript:
    """Read the keywords of a file."""
    script = LitScript()
    continued = False
    for keyword, rest in _KEYWORD.findall(text):
        rest = rest.strip()
        if keyword != "RUN":
            target = {"REQUIRES": script.requires, "UNSUPPORTED": script.unsupported, "XFAIL": script.xfail}[keyword]
            target.extend(word.strip() for word in rest.split(","))
            continue
        line = rest.removesuffix("\\").rstrip()
        if continued:
            script.commands[-1] += " " + line
        else:
            script.commands.append(line)
        continued = rest.endswith("\\")
    return script


def substitute(command: str, source: Path, scratch: Path) -> str:
    """Replace `%s` and its like."""
    values = {
        "%": "%",
        "s": str(source),
        "S": str(source.parent),
        "t": f"{scratch / source.name}.tmp",
        "T": str(scratch),
    }
    return _SUBSTITUTION.sub(lambda found: values[found[1]], command)


def run_file(source: Path, scratch: Path) -> list[Outcome]:
    """Run a file's commands up to the first that fails."""
    outcomes: list[Outcome] = []
    for command in parse_script(source.read_text(encoding="utf-8")).commands:
        outcomes.append(run_command(substitute(command, source, scratch), scratch))
        if outcomes[-1].code != 0:
            break
    return outcomes


def run_command(command: str, scratch: Path) -> Outcome:
    """Run one command line in the scratch folder."""
    with chdir(scratch):
        try:
            pipes = parse_command(command)
        except NeedsShell:
            return run_in_bash(command)
        outcome = Outcome(command, 0, "", "")
        for pipe in pipes:
            outcome = run_pipe(command, pipe)
            if outcome.code != 0:
                break
        return outcome


def run_in_bash(command: str) -> Outcome:
    """Run one command line in bash, with our tools on its PATH."""
    path = os.pathsep.join([str(ROOT / "tools"), str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    environment = os.environ | {"PATH": path, "AXON_PYTHON": sys.executable, "NO_COLOR": "1"}
    script = 'not() { if "$@"; then return 1; else return 0; fi; }\nset -o pipefail\n' + command
    done = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True, check=False)
    return Outcome(command, done.returncode, done.stdout, done.stderr)


def parse_command(command: str) -> list[list[Stage]]:
    """The pipes of a command line, joined by `&&`; NeedsShell if it is anything more."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError as error:
        raise NeedsShell from error
    pipes = [[Stage()]]
    position = 0
    while position < len(words):
        word, stage = words[position], pipes[-1][-1]
        if words[position : position + 3] == ["2", ">&", "1"]:
            stage.merge_stderr = True
            position += 3
            continue
        position += 1
        if word == "|":
            pipes[-1].append(Stage())
        elif word == "&&":
            pipes.append([Stage()])
        elif word in ("<", ">"):
            _redirect(stage, word, words[position : position + 1])
            position += 1
        elif set(word) <= set("();<>|&") or "$" in word or "`" in word:
            raise NeedsShell
        else:
            stage.words.append(word)
    if not all(is_known(stage.words) for pipe in pipes for stage in pipe):
        raise NeedsShell
    return pipes


def _redirect(stage: Stage, operator: str, target: Sequence[str]) -> None:
    numbered = bool(stage.words) and stage.words[-1].isdigit()
    if not target or numbered:
        raise NeedsShell
    if operator == "<":
        stage.input_file = target[0]
    else:
        stage.output_file = target[0]


def is_known(words: Sequence[str]) -> bool:
    """Whether this process can run a command itself."""
    while words and words[0] == "not":
        words = words[1:]
    return bool(words) and words[0] in COMMANDS


def run_pipe(command: str, stages: Sequence[Stage]) -> Outcome:
    """Run a pipe; its code is that of the last command that fails (as with bash's pipefail)."""
    data, errors, code = "", "", 0
    for stage in stages:
        if stage.input_file is not None:
            data = Path(stage.input_file).read_text(encoding="utf-8")
        stdout = StringIO()
        stderr = stdout if stage.merge_stderr else StringIO()
        result = run_words(stage.words, StringIO(data), stdout, stderr)
        code = result or code
        data = stdout.getvalue()
        errors += "" if stage.merge_stderr else stderr.getvalue()
        if stage.output_file is not None:
            Path(stage.output_file).write_text(data, encoding="utf-8")
            data = ""
    return Outcome(command, code, data, errors)


def run_words(words: Sequence[str], stdin: StringIO, stdout: StringIO, stderr: StringIO) -> int:
    """Run one command. An internal error is a failure under `not`, too, as a crash is for LLVM's `not`."""
    if words[0] != "not":
        return COMMANDS[words[0]](list(words[1:]), stdin, stdout, stderr)
    code = run_words(words[1:], stdin, stdout, stderr)
    return code if code == INTERNAL_ERROR else int(code == 0)


def run_axon_opt(arguments: list[str], stdin: StringIO, stdout: StringIO, stderr: StringIO) -> int:
    """`axon-opt`."""
    from axon_mlir.cli import opt

    return opt.main(arguments, stdin=stdin, stdout=stdout, stderr=stderr)


def run_axon(arguments: list[str], stdin: StringIO, stdout: StringIO, stderr: StringIO) -> int:
    """`axon`."""
    from axon_mlir.cli import axon

    return axon.main(arguments, stdin=stdin, stdout=stdout, stderr=stderr)


def run_filecheck(arguments: list[str], stdin: StringIO, stdout: StringIO, stderr: StringIO) -> int:
    """`filecheck`."""
    from filecheck.matcher import Matcher
    from filecheck.options import parse_argv_options

    saved = sys.stdin, sys.stdout, sys.stderr
    sys.stdin, sys.stdout, sys.stderr = stdin, stdout, stderr
    try:
        return Matcher.from_opts(parse_argv_options(["filecheck", *arguments])).run()
    except (OSError, RuntimeError) as error:
        print(f"filecheck: {error}", file=stderr)
        return 2
    finally:
        sys.stdin, sys.stdout, sys.stderr = saved


def run_true(arguments: list[str], stdin: StringIO, stdout: StringIO, stderr: StringIO) -> int:
    """`true`."""
    return 0


COMMANDS: dict[str, Callable[[list[str], StringIO, StringIO, StringIO], int]] = {
    "axon-opt": run_axon_opt,
    "axon": run_axon,
    "filecheck": run_filecheck,
    "true": run_true,
}
"""The commands that run in this process."""
