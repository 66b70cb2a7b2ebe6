# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Index and scalar terms as Python expressions that are exact when their integers are."""

from __future__ import annotations

from fractions import Fraction

from axon_mlir.errors import UnsupportedError
from axon_mlir.semantics import terms as t
from axon_mlir.semantics.index import Atom, Div, Index, Min, extreme

SUM, PRODUCT, UNARY, POWER, ATOM = range(5)
"""Binding strength of an expression's outermost operator."""

Text = tuple[str, int]


def _wrapped(text: Text, least: int) -> str:
    return text[0] if text[1] >= least else f"({text[0]})"


def index_text(term: Index, least: int = SUM) -> str:
    """An index term whose sizes are named like the kernel's variables."""
    return _wrapped(_index(term), least)


def _index(term: Index) -> Text:
    if not term.terms:
        return "0", ATOM
    found = extreme(term)
    if found is not None:
        args = sorted(found[1], key=lambda a: (a.constant is None, str(a)))
        return f"{found[0]}({', '.join(map(index_text, args))})", ATOM
    pieces: list[str] = []
    single = len(term.terms) == 1
    # Positive terms first: `K - k`, not `-k + K`; numbers last: `k + 1`.
    for monomial, coefficient in sorted(term.terms, key=lambda pair: (pair[1] < 0, not pair[0])):
        factors = [_atom(a) for a in monomial]
        size = abs(coefficient)
        if size != 1 or not factors:
            factors.insert(0, (str(size), ATOM))
        if len(factors) == 1:
            text, strength = factors[0]
            strength = min(strength, PRODUCT) if coefficient < 0 else strength
        else:
            text, strength = " * ".join(_wrapped(f, UNARY) for f in factors), PRODUCT
        if single and coefficient > 0:
            return text, strength
        if pieces:
            pieces.append(f" {'-' if coefficient < 0 else '+'} {text}")
        else:
            pieces.append(f"-{text}" if coefficient < 0 else text)
    return "".join(pieces), SUM


def _atom(atom: Atom) -> Text:
    match atom:
        case Div(n, d):
            return f"{index_text(n, PRODUCT)} // {index_text(d, UNARY)}", PRODUCT
        case Min():
            return _index(Index({(atom,): 1}))
        case _:
            return str(atom), ATOM


def number_text(value: Fraction, *, whole: bool) -> Text:
    """A number: an integer, its decimal when it has a short one, else a quotient."""
    if value.denominator == 1 and whole:
        return (str(value.numerator), ATOM if value >= 0 else SUM)
    decimal = repr(float(value))
    if Fraction(decimal) == value:
        return decimal, ATOM if value >= 0 else SUM
    return f"{value.numerator} / {value.denominator}", PRODUCT if value >= 0 else SUM


def scalar_text(term: t.Term, *, integer: bool = False) -> str:
    """A scalar over sizes. A lone number is printed as a float, unless `integer`."""
    value = _number(term)
    return _scalar(term)[0] if value is None else number_text(value, whole=integer)[0]


def _number(term: t.Term) -> Fraction | None:
    """The value of a number or a quotient of two, as decimals are sometimes stored."""
    match term:
        case t.Const(Fraction() as value):
            return value
        case t.Apply("div", (t.Const(Fraction() as a), t.Const(Fraction() as b))) if b:
            return a / b
        case t.Apply("neg", (t.Const(Fraction() as a),)):
            return -a
        case _:
            return None


def _scalar(term: t.Term) -> Text:
    value = _number(term)
    if value is not None:
        return number_text(value, whole=True)
    match term:
        case t.Const(str() as infinity):
            return f'float("{infinity}")', ATOM
        case t.Apply("pi", ()):
            return "math.pi", ATOM
        case t.IndexValue(index):
            return _index(index)
        case t.Apply("add" | "sub" as f, (a, b)):
            right = _wrapped(_scalar(b), SUM if f == "add" else PRODUCT)
            return f"{_wrapped(_scalar(a), SUM)} {'+' if f == 'add' else '-'} {right}", SUM
        case t.Apply("mul" | "div" as f, (a, b)):
            return (
                f"{_wrapped(_scalar(a), PRODUCT)} {'*' if f == 'mul' else '/'} {_wrapped(_scalar(b), UNARY)}",
                PRODUCT,
            )
        case t.Apply("neg", (a,)):
            return f"-{_wrapped(_scalar(a), UNARY)}", SUM
        case t.Apply("reciprocal", (a,)):
            return f"1 / {_wrapped(_scalar(a), UNARY)}", PRODUCT
        case t.Apply("identity", (a,)):
            return _scalar(a)
        case t.Apply("square" | "sqrt" | "rsqrt" as f, (a,)):
            exponent = {"square": "2", "sqrt": "0.5", "rsqrt": "-0.5"}[f]
            return f"{_wrapped(_scalar(a), ATOM)} ** {exponent}", POWER
        case t.Apply("power", (a, t.Const() as b)):
            return f"{_wrapped(_scalar(a), ATOM)} ** {_wrapped(_scalar(b), ATOM)}", POWER
        case _:
            raise UnsupportedError(
                f"the immediate {t.text(term)} cannot be written in a kernel",
                accepted="numbers and sizes under + - * / and powers",
            )
