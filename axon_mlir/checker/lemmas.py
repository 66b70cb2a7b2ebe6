# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What proves a lemma, generated from the table of statements.

A prefix function S of f is S(n + 1) = S(n) `op` f(n), from the neutral element or, where there is none, from the first
summand. A claim about prefix functions is proved at the start, and at n + 1 if it holds at n. Nothing else is assumed
of a fold.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from axon_mlir.checker.statements import ABBREVIATIONS, LEMMAS
from axon_mlir.checker.text import Question, Rejected, question

_NEUTRAL = {"+": "0.0", "*": "1.0"}


def _join(op: str, a: str, b: str) -> str:
    return f"(ite ({'>=' if op == 'max' else '<='} {a} {b}) {a} {b})" if op in ("max", "min") else f"({op} {a} {b})"


def _step(op: str, prefix: str, at: str, value: str) -> str:
    return f"(= ({prefix} (+ {at} 1)) {_join(op, f'({prefix} {at})', value)})"


def _expanded(text: str, op: str) -> str:
    """A line for an operator: `join[a, b]` is `a op b`, `step[S, n, v]` is S(n + 1) = S(n) op v."""

    def call(found: re.Match[str]) -> str:
        parts = found[2].split(", ")
        own = parts.pop() if len(parts) == 4 else op
        return (_join if found[1] == "join" else _step)(own, *parts)

    text = re.sub(r"\b[A-Z]{3,}\b", lambda m: ABBREVIATIONS.get(m[0], m[0]), text)
    text = re.sub(r"(join|step)\[(.*?)\]", call, text)
    return text.replace("{op}", op).replace("{neutral}", _NEUTRAL.get(op, ""))


def _induction(fields: list[str], op: str) -> Iterator[list[str]]:
    """Base and step of a claim about prefix functions."""
    title, declared, folds, claim, *more = fields
    options = dict(entry.split(": ", 1) for entry in more)
    n, start = options.get("n", "n"), int(options.get("first", op not in _NEUTRAL))
    values = [fold.split(": ", 1) for fold in folds.split("; ")]
    began = [f"(= ({s} {start}) {v.replace('@', '0') if start else _NEUTRAL[op]})" for s, v in values]
    stepped = [_step(op, s, n, v.replace("@", n)) for s, v in values]
    always, about, late = (options.get(key, "") for key in ("always", "summand", "late"))
    base = [about.replace("@", "0") if start else "", *began]
    step = [always, f"(>= {n} {start})", about.replace("@", n), *stepped, late, claim.replace("@", n)]
    for word, held, at in (("base", base, str(start)), ("step", step, f"(+ {n} 1)")):
        yield [title.replace("{}", word), declared, "; ".join(h for h in held if h), claim.replace("@", at)]


@cache
def questions(name: str) -> tuple[Question, ...]:
    """What proves a lemma."""
    if (found := re.search(rf"^{re.escape(name)}\n((?: .*\n)+)", LEMMAS, re.M)) is None:
        raise Rejected(f"lemmas: the checker does not know {name}")
    groups = ["+", *re.split(r"^ for (.*)\n", found[1], flags=re.M)]
    pairs = zip(groups[::2], groups[1::2], strict=True)
    out: list[Question] = []
    for op, line in ((op, line.strip()) for ops, lines in pairs for op in ops.split() for line in lines.splitlines()):
        fields = _expanded(line.removeprefix("fold "), op).split(" | ")
        for title, declared, hypotheses, goal in _induction(fields, op) if line.startswith("fold ") else [fields]:
            symbols = re.sub(r"(\S+):(?:(\S+)->)?(\w+) ?", r"(declare-fun \1 (\2) \3)\n", declared).splitlines()
            held = hypotheses.split("; ")
            out.append(question(f"lemma {name}: {title}", held, symbols, held, goal, goal))
    return tuple(out)
