# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The value of an SMT-LIB expression, by its definition: what facts are compared with that solvers are told."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

Value = float | bool | Callable[..., Any]
Expression = str | list[Any]

_TOKEN = re.compile(r"\|[^|]*\||[()]|[^\s()|]+")
_CLOSE = 1e-9


def parse(text: str) -> Expression:
    """One expression as nested lists."""
    stack: list[list[Any]] = [[]]
    for token in _TOKEN.findall(text):
        if token == "(":
            stack.append([])
        elif token == ")":
            done = stack.pop()
            stack[-1].append(done)
        else:
            stack[-1].append(token)
    assert len(stack) == 1 and len(stack[0]) == 1, text
    return stack[0][0]


def same(a: Any, b: Any) -> bool:
    """Equality of computed numbers; floats lose the last digits on the way."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    return math.isclose(a, b, rel_tol=_CLOSE, abs_tol=_CLOSE)


def value(x: Expression, env: Mapping[str, Value]) -> Any:
    """The value of an expression; `env` says what its symbols are."""
    if isinstance(x, str):
        if x in ("true", "false"):
            return x == "true"
        return env[x] if x in env else float(x)
    head, *rest = x
    if head == "ite":
        return value(rest[1] if value(rest[0], env) else rest[2], env)
    args = [value(a, env) for a in rest]
    match head:
        case "+":
            return math.fsum(args)
        case "-":
            return -args[0] if len(args) == 1 else args[0] - math.fsum(args[1:])
        case "*":
            return math.prod(args)
        case "/":
            return args[0] / args[1]
        case "=":
            return same(args[0], args[1])
        case "<":
            return args[0] < args[1] and not same(args[0], args[1])
        case ">":
            return args[0] > args[1] and not same(args[0], args[1])
        case "<=":
            return args[0] <= args[1] or same(args[0], args[1])
        case ">=":
            return args[0] >= args[1] or same(args[0], args[1])
        case "and":
            return all(args)
        case "or":
            return any(args)
        case "not":
            return not args[0]
        case "=>":
            return not args[0] or args[1]
        case "to_real":
            return args[0]
        case _:
            return env[head](*args)  # pyright: ignore[reportCallIssue]


def holds(text: str, env: Mapping[str, Value]) -> bool:
    """Whether an assertion is true."""
    found = value(parse(text), env)
    assert isinstance(found, bool), text
    return found
