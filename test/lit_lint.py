# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds check lines that check nothing: a prefix that never occurs, a misspelt directive, a missing colon.

The pip package `filecheck` says nothing about any of these.
"""

from __future__ import annotations

import re

from lit_runner import parse_script

SUFFIX = re.compile(r"NEXT|SAME|LABEL|NOT|DAG|EMPTY|COUNT-[0-9]+")
KEYWORDS = {"RUN", "REQUIRES", "UNSUPPORTED", "XFAIL"}

_FILECHECK = re.compile(r"\bfilecheck\b([^|&]*)")
_PREFIX_OPTION = re.compile(r"--?check-prefix(?:es)?[= ]([A-Za-z0-9_,-]+)")
_COMMENT = re.compile(r"//\s*([A-Za-z][A-Za-z0-9_-]*)(\{LITERAL\})?\s*(:?)")


def prefixes_of(text: str) -> set[str]:
    """The prefixes that a file's RUN lines give to filecheck."""
    prefixes: set[str] = set()
    for command in parse_script(text).commands:
        for call in _FILECHECK.findall(command):
            named = [name for group in _PREFIX_OPTION.findall(call) for name in group.split(",")]
            prefixes.update(named or ["CHECK"])
    return prefixes


def lint(text: str) -> list[str]:
    """The problems of a lit file, each as `line: what`."""
    if not parse_script(text).commands:
        return ["1: no RUN line"]
    prefixes = prefixes_of(text)
    problems: list[str] = []
    used: set[str] = set()
    for number, line in enumerate(text.split("\n"), start=1):
        for word, _, colon in _COMMENT.findall(line):
            prefix = _directive_prefix(word, prefixes)
            if prefix is not None and colon:
                used.add(prefix)
            elif (problem := _problem(word, bool(colon), prefix, prefixes)) is not None:
                problems.append(f"{number}: {problem}")
    problems += [f"1: prefix {prefix} is in a RUN line but never occurs" for prefix in sorted(prefixes - used)]
    return problems


def _directive_prefix(word: str, prefixes: set[str]) -> str | None:
    """The prefix of a well-formed directive."""
    for prefix in prefixes:
        if word == prefix or (word.startswith(prefix + "-") and SUFFIX.fullmatch(word[len(prefix) + 1 :])):
            return prefix
    return None


def _problem(word: str, colon: bool, prefix: str | None, prefixes: set[str]) -> str | None:
    if word in KEYWORDS or word == "COM" or (not colon and word != word.upper()):
        return None
    if prefix is not None:
        return f"{word} has no colon after it"
    if not colon:
        return None
    for known in sorted(prefixes):
        if word.startswith(known) and word != known:
            return f"{word}: is no directive of {known}"
    head, _, suffix = word.partition("-")
    for known in sorted(prefixes | KEYWORDS):
        base = word if "-" in known else head
        if is_misspelt(base.upper(), known):
            return f"{word}: is misspelt, probably {known}"
    if suffix and SUFFIX.fullmatch(suffix.upper()):
        return f"{word}: has a prefix that no RUN line names"
    return None


def is_misspelt(word: str, known: str) -> bool:
    """Whether a word looks like another one with a slip."""
    return sorted(word) == sorted(known) or distance(word, known) <= (2 if len(known) > 4 else 1)


def distance(a: str, b: str) -> int:
    """The number of letters to insert, delete or replace to get from one word to the other."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, start=1):
        previous, row[0] = row[0], i
        for j, y in enumerate(b, start=1):
            previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (x != y))
    return row[-1]
