# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small wrong edits of a kernel's text, one at a time."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

OPERATORS = {"add": "multiply", "multiply": "add", "subtract": "add", "maximum": "minimum"}


def mutants(text: str) -> Iterator[tuple[str, str]]:
    """(what was edited, the text) for every edit."""
    tree = ast.parse(text)
    nodes = list(ast.walk(tree))
    for number, node in enumerate(nodes):
        for label, edit in _edits(node):
            changed = copy.deepcopy(tree)
            edit(list(ast.walk(changed))[number])
            yield f"line {getattr(node, 'lineno', 0)}: {label}", ast.unparse(ast.fix_missing_locations(changed))


Edit = Callable[[Any], None]


def _edits(node: ast.AST) -> Iterator[tuple[str, Edit]]:
    match node:
        case ast.For(iter=ast.Call(args=[_, _, _])):
            yield from _of_range()
        case ast.Call(func=ast.Name("min"), args=[ast.Constant(int()), _]):
            yield "min with half the step", lambda n: _set(n.args, 0, ast.Constant(n.args[0].value // 2))
            yield "min with one more", lambda n: _set(n.args, 0, ast.Constant(n.args[0].value + 1))
            yield "no min", lambda n: _become(n, n.args[0])
        case ast.Slice():
            yield "slice starts one later", lambda n: setattr(n, "lower", _plus(n.lower, 1))
            yield "slice ends one later", lambda n: setattr(n, "upper", _plus(n.upper, 1))
            yield "slice moved by one", _moved
        case ast.Subscript(slice=ast.Tuple(elts=[ast.Slice(), ast.BinOp(), ast.Slice()])):
            yield "wrong chunk", lambda n: _set(n.slice.elts, 1, _plus(n.slice.elts[1], 1))
            yield "chunk 0", lambda n: _set(n.slice.elts, 1, ast.Constant(0))
        case ast.Subscript(slice=ast.Tuple(elts=[ast.Slice(), ast.Slice()])):
            yield "axes swapped", lambda n: n.slice.elts.reverse()
        case ast.BinOp(op=ast.FloorDiv(), right=ast.Constant(int())):
            yield "divided by half", lambda n: setattr(n, "right", ast.Constant(n.right.value // 2))
        case ast.keyword(arg="accumulate"):
            yield "always accumulates", lambda n: setattr(n, "value", ast.Constant(True))
            yield "never accumulates", lambda n: setattr(n, "value", ast.Constant(False))
            yield "accumulates at first only", lambda n: setattr(n, "value", ast.UnaryOp(ast.Not(), n.value))
            if isinstance(node.value, ast.Compare):
                yield "accumulates from the third", _later
                yield "accumulates with >=", lambda n: setattr(n.value, "ops", [ast.GtE()])
        case ast.keyword(arg="offset"):
            yield "offset one later", lambda n: setattr(n, "value", _plus(n.value, 1))
            yield "no offset", lambda n: setattr(n, "value", ast.Constant(0))
        case ast.keyword(arg="pattern", value=ast.List(elts=[_, _])):
            yield "strides swapped", _strides
            yield "counts swapped", _counts
            yield (
                "stride doubled",
                lambda n: _set(
                    n.value.elts[1].elts, 0, ast.BinOp(n.value.elts[1].elts[0], ast.Mult(), ast.Constant(2))
                ),
            )
        case ast.keyword(arg="op" | "op0" | "op1" | "reduce_op", value=ast.Attribute(attr=name)) if name in OPERATORS:
            yield "another operator", lambda n: setattr(n.value, "attr", OPERATORS[n.value.attr])
        case ast.keyword(arg="value" | "scale" | "bias" | "operand0", value=ast.Constant(float() | int())):
            yield "another number", lambda n: setattr(n, "value", ast.Constant(n.value.value + 1))
        case ast.keyword(arg="scale", value=ast.BinOp()):
            yield "another scale", lambda n: setattr(n, "value", ast.Constant(1.0))
        case ast.Call(func=ast.Attribute(value=ast.Name("nisa"))):
            yield from _of_call(node)
        case _:
            pass
    body = getattr(node, "body", None)
    if isinstance(body, list):
        yield from _of_body(body)


def _of_range() -> Iterator[tuple[str, Edit]]:
    def argument(at: int, value: Callable[[Any], ast.expr]) -> Edit:
        return lambda n: _set(n.iter.args, at, value(n.iter.args[at]))

    yield "range starts later", argument(0, lambda a: _plus(a, 128))
    yield "range ends one early", argument(1, lambda a: _plus(a, -1))
    yield "range ends one late", argument(1, lambda a: _plus(a, 1))
    yield "half the step", argument(2, lambda a: ast.BinOp(a, ast.FloorDiv(), ast.Constant(2)))
    yield "twice the step", argument(2, lambda a: ast.BinOp(a, ast.Mult(), ast.Constant(2)))


def _of_call(node: ast.Call) -> Iterator[tuple[str, Edit]]:
    given = {k.arg: n for n, k in enumerate(node.keywords)}
    for a, b in (
        ("data1", "data2"),
        ("stationary", "moving"),
        ("data", "operand0"),
        ("data", "operand1"),
        ("dst", "src"),
    ):
        if a in given and b in given:
            yield f"{a} and {b} swapped", lambda n, a=a, b=b: _exchange(n.keywords[given[a]], n.keywords[given[b]])


def _of_body(body: list[Any]) -> Iterator[tuple[str, Edit]]:
    calls = [n for n, s in enumerate(body) if isinstance(s, ast.Expr) and isinstance(s.value, ast.Call)]
    for n in calls:
        line = body[n].lineno
        yield f"the call of line {line} dropped", lambda node, n=n: _set(node.body, n, ast.Pass())
    for a, b in pairwise(calls):
        line = body[b].lineno
        yield f"the calls before line {line} and there swapped", lambda node, a=a, b=b: _swap(node.body, a, b)


def _set(items: list[Any], at: int, value: Any) -> None:
    items[at] = value


def _swap(items: list[Any], a: int, b: int) -> None:
    items[a], items[b] = items[b], items[a]


def _exchange(a: Any, b: Any) -> None:
    a.value, b.value = b.value, a.value


def _become(node: Any, other: Any) -> None:
    """Turn a call of min into its first argument: min of it alone."""
    node.args = [other, other]


def _plus(node: Any, number: int) -> ast.expr:
    if node is None:
        return ast.Constant(number)
    return ast.BinOp(node, ast.Add() if number >= 0 else ast.Sub(), ast.Constant(abs(number)))


def _moved(node: Any) -> None:
    node.lower, node.upper = _plus(node.lower, 1), _plus(node.upper, 1)


def _later(node: Any) -> None:
    node.value.comparators[0] = _plus(node.value.comparators[0], 128)


def _strides(node: Any) -> None:
    first, second = node.value.elts
    first.elts[0], second.elts[0] = second.elts[0], first.elts[0]


def _counts(node: Any) -> None:
    first, second = node.value.elts
    first.elts[1], second.elts[1] = second.elts[1], first.elts[1]


__all__ = ["mutants"]
