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
from axon_mlir.checker.text import Question, Rejected, script

_NEUTRAL = {"+": "0.0", "*": "1.0"}


def _join(op: str, a: str, b: str) -> str:
    return f"(ite ({'>=' if op == 'max' else '<='} {a} {b}) {a} {b})" if op in ("max", "min") else f"({op} {a} {b})"


def _step(op: str, prefix: str, at: str, value: str) -> str:
    return f"(= ({prefix} (+ {at} 1)) {_join(op, f'({prefix} {at})', value)})"


def _expanded(text: str, op: str) -> str:
    """A line for an operator: `join<a, b>` is `a op b`, `step<S, n, v>` is S(n + 1) = S(n) op v."""
    text = re.sub(r"\b[A-Z]{3,}\b", lambda m: ABBREVIATIONS.get(m[0], m[0]), text)
    text = text.replace("{op}", op).replace("{neutral}", _NEUTRAL.get(op, ""))
    while found := re.search(r"(join|step)<([^<>]*)>", text.replace("(<", "(\0").replace("(>", "(\1")):
        parts = [p.replace("\0", "<").replace("\1", ">") for p in found[2].split(", ")]
        own = parts.pop() if len(parts) == 4 else op
        text = text[: found.start()] + (_join if found[1] == "join" else _step)(own, *parts) + text[found.end() :]
    return text


def _induction(fields: list[str], op: str) -> Iterator[list[str]]:
    """Base and step of a claim about prefix functions."""
    title, declared, folds, claim, *more = fields
    options = dict(entry.split(": ", 1) for entry in more)
    n, start = options.get("n", "n"), int(options.get("first", op not in _NEUTRAL))
    values = [fold.split(": ", 1) for fold in folds.split("; ")]
    began = [f"(= ({s} {start}) {v.replace('@', '0') if start else _NEUTRAL[op]})" for s, v in values]
    stepped = [_step(op, s, n, v.replace("@", n)) for s, v in values]
    about, late = options.get("summand", ""), options.get("late", "")
    base = [about.replace("@", "0") if start else "", *began]
    lower = [options.get("always", ""), f"(>= {n} {start})", about.replace("@", n)]
    step = [*lower, *stepped, late, claim.replace("@", n)]
    for word, held, at in (("base", base, str(start)), ("step", step, f"(+ {n} 1)")):
        yield [title.replace("{}", word), declared, "; ".join(h for h in held if h), claim.replace("@", at)]


@cache
def questions(name: str) -> tuple[Question, ...]:
    """What proves a lemma."""
    found = re.search(rf"^{re.escape(name)}\n((?: .*\n)+)", LEMMAS, re.M)
    if found is None:
        raise Rejected(f"lemmas: the checker does not know {name}")
    groups: list[tuple[list[str], list[str]]] = [(["+"], [])]
    for line in found[1].splitlines():
        if line.startswith(" for "):
            groups.append((line.split()[1:], []))
        else:
            groups[-1][1].append(line.strip())
    out: list[Question] = []
    for op, line in ((op, line) for ops, lines in groups for op in ops for line in lines):
        fields = _expanded(line.removeprefix("fold "), op).split(" | ")
        for title, declared, hypotheses, goal in _induction(fields, op) if line.startswith("fold ") else [fields]:
            lines: list[str] = []
            for symbol, _, sort in (item.partition(":") for item in declared.split()):
                *arguments, result = sort.split("->")
                lines.append(f"(declare-fun {symbol} ({' '.join(arguments)}) {result})")
            held = tuple(hypotheses.split("; "))
            lines += [f"(assert {h})" for h in held]
            text = script(lines, goal)
            out.append(Question(f"lemma {name}: {title}", held, goal, text, text, script(lines)))
    return tuple(out)
