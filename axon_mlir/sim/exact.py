# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numbers of a kernel in an exact run: integers divide exactly, literals are read as their shortest decimal."""

from __future__ import annotations

import ast
import math
from fractions import Fraction
from typing import Any

READ_LITERAL = "__axon_decimal__"
"""The name under which a kernel's module finds `literal` in an exact run."""


class ExactInt(int):
    """An integer whose true division is a fraction; its other arithmetic stays inside the class."""

    __slots__ = ()

    def __truediv__(self, other: Any) -> Any:
        return _divide(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _divide(other, self)

    def __add__(self, other: Any) -> Any:
        return _wrap(int.__add__(self, other))

    def __radd__(self, other: Any) -> Any:
        return _wrap(int.__radd__(self, other))

    def __sub__(self, other: Any) -> Any:
        return _wrap(int.__sub__(self, other))

    def __rsub__(self, other: Any) -> Any:
        return _wrap(int.__rsub__(self, other))

    def __mul__(self, other: Any) -> Any:
        return _wrap(int.__mul__(self, other))

    def __rmul__(self, other: Any) -> Any:
        return _wrap(int.__rmul__(self, other))

    def __floordiv__(self, other: Any) -> Any:
        return _wrap(int.__floordiv__(self, other))

    def __rfloordiv__(self, other: Any) -> Any:
        return _wrap(int.__rfloordiv__(self, other))

    def __mod__(self, other: Any) -> Any:
        return _wrap(int.__mod__(self, other))

    def __rmod__(self, other: Any) -> Any:
        return _wrap(int.__rmod__(self, other))

    def __pow__(self, other: Any, modulo: Any = None) -> Any:
        if modulo is None and isinstance(other, int) and other < 0:
            return Fraction(int(self)) ** int(other)
        return _wrap(int.__pow__(self, other, modulo))

    def __neg__(self) -> Any:
        return ExactInt(int.__neg__(self))


def _wrap(value: Any) -> Any:
    return ExactInt(value) if isinstance(value, int) else value


def _divide(left: Any, right: Any) -> Any:
    if isinstance(left, float):
        left = decimal(left)
    if isinstance(right, float):
        right = decimal(right)
    if isinstance(left, (int, Fraction)) and isinstance(right, (int, Fraction)):
        return Fraction(left) / Fraction(right)
    return left / right if not isinstance(left, ExactInt) else int(left) / right


def decimal(value: float | str) -> Fraction | float:
    """A double as the shortest decimal that reads back as it; infinities and not-a-number stay themselves."""
    number = float(value)
    return Fraction(repr(number)) if math.isfinite(number) else number


def exact_number(value: Any) -> Any:
    """A scalar argument as an exact run sees it."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return ExactInt(value)
    return decimal(value) if isinstance(value, float) else value


def literal(value: Any) -> Any:
    """What a kernel writes, as an exact run sees it: the text of a float, or a number that is divided."""
    return decimal(value) if isinstance(value, str) else exact_number(value)


class _Literals(ast.NodeTransformer):
    """Every floating literal, `math.pi`, and what is divided become calls that read them exactly."""

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if type(node.value) is not float or not math.isfinite(node.value):
            return node
        return _read(ast.Constant(repr(node.value)), node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.op, ast.Div):
            # The quotient of two integers is a fraction, as is that of a size and an integer.
            node.left = _read(node.left, node.left)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        match node:
            case ast.Attribute(ast.Name("math"), "pi"):
                return self.visit_Constant(ast.copy_location(ast.Constant(math.pi), node))
            case _:
                self.generic_visit(node)
                return node

    def visit_MatchValue(self, node: ast.MatchValue) -> ast.MatchValue:
        return node


def _read(value: ast.expr, at: ast.expr) -> ast.expr:
    call = ast.Call(ast.Name(READ_LITERAL, ast.Load()), [value], [])
    return ast.fix_missing_locations(ast.copy_location(call, at))


def exact_literals(tree: ast.Module) -> ast.Module:
    """The same program with every floating literal read as its shortest decimal."""
    return _Literals().visit(tree)
