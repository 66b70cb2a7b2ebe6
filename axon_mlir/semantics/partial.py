# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where a term is defined, and what sign it has there.

Every application of a partial function gives a condition on one argument, under the conditions around it and for all
values of the fold variables around it. What is said of a function here follows from its entry in the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from axon_mlir.semantics import terms as t
from axon_mlir.semantics.conversions import is_conversion
from axon_mlir.semantics.denotation import range_of
from axon_mlir.semantics.functions import FUNCTIONS
from axon_mlir.semantics.index import Index, Var, nonnegative
from axon_mlir.semantics.normal import Normalizer, at_least
from axon_mlir.semantics.walk import Context, subterms

_PARAMETERS = "xyz"
SYMBOL = {"nonzero": "!= 0", "positive": "> 0", "nonnegative": ">= 0"}


@dataclass(frozen=True)
class Condition:
    """`kind argument` must hold under `context` (ranges of `binders` among it)."""

    kind: str
    argument: t.Term
    binders: tuple[tuple[Var, Index], ...]
    context: Context
    function: str


def requirement(function: str, args: Sequence[t.Term]) -> tuple[str, t.Term] | None:
    """What an application needs to be defined: (kind, argument)."""
    if function == "power":
        base, exponent = args
        e = exponent.value if isinstance(exponent, t.Const) and not isinstance(exponent.value, str) else None
        if e is None:
            return "positive", base
        if e.denominator == 1:
            return ("nonzero", base) if e < 0 else None
        return ("positive" if e < 0 else "nonnegative"), base
    if is_conversion(function):
        return None
    when = FUNCTIONS[function].defined_when
    if when is None:
        return None
    kind, parameter = when
    return kind, args[_PARAMETERS.index(parameter)]


def conditions(x: t.Term, context: Context) -> list[Condition]:
    """Every condition of a term, inner ones first."""
    out: dict[tuple[str, t.Term, Context], Condition] = {}
    seen: set[tuple[t.Term, Context]] = set()

    def go(y: t.Term, binders: tuple[tuple[Var, Index], ...], around: Context) -> None:
        if (y, around) in seen:
            return
        seen.add((y, around))
        match y:
            case t.Apply(f, args):
                for a in args:
                    go(a, binders, around)
                needed = requirement(f, args)
                if needed is not None:
                    key = (*needed, around)
                    out.setdefault(key, Condition(*needed, binders, around, f))
            case t.Fold(_, v, n, body):
                go(body, (*binders, (v, n)), (*around, *range_of(v, n)))
            case t.Select(c, a, b):
                for side in t.compared_terms(c):
                    go(side, binders, around)
                go(a, binders, (*around, c))
                go(b, binders, (*around, t.negate(c)))
            case _:
                return

    go(x, (), context)
    return list(out.values())


def infinities(x: t.Term) -> bool:
    """Whether an infinity stands anywhere but as an operand of a maximum or minimum, where it is the neutral one."""
    allowed: set[t.Term] = set()
    for y in subterms(x):
        if isinstance(y, t.Apply) and y.function in ("max", "min"):
            neutral = "-inf" if y.function == "max" else "inf"
            bad = [a for a in y.args if isinstance(a, t.Const) and isinstance(a.value, str) and a.value != neutral]
            if bad:
                return True
            allowed |= {a for a in y.args if isinstance(a, t.Const)}
    # Interned constants: an allowed one that also stands elsewhere is found by looking at the other parents.
    for y in subterms(x):
        match y:
            case t.Apply(f, args) if f not in ("max", "min"):
                children: Sequence[t.Term] = args
            case t.Fold(_, _, _, body):
                children = (body,)
            case t.Select(_, a, b):
                children = (a, b)
            case _:
                continue
        if any(isinstance(a, t.Const) and isinstance(a.value, str) for a in children):
            return True
    return isinstance(x, t.Const) and isinstance(x.value, str)


def sign(x: t.Term, n: Normalizer) -> str | None:
    """`positive`, `nonnegative` or None (not known), wherever the term is defined."""
    match x:
        case t.Const(v):
            if isinstance(v, str):
                return None
            return "positive" if v > 0 else "nonnegative" if v == 0 else None
        case t.IndexValue(i):
            return "positive" if nonnegative(i - 1) else "nonnegative" if nonnegative(i) else None
        case t.Apply(f, args):
            return _sign_of_application(f, args, n)
        case t.Fold(m, _, extent, body):
            inner = sign(body, n)
            if inner is None:
                return None
            # A sum of positive terms is positive if there is one.
            return "nonnegative" if m == "sum" and not at_least(extent, 1) else inner
        case t.Select(_, a, b):
            return _weaker(sign(a, n), sign(b, n))
        case t.Read():
            return None


def _weaker(a: str | None, b: str | None) -> str | None:
    if a is None or b is None:
        return None
    return "positive" if a == b == "positive" else "nonnegative"


def _sign_of_application(f: str, args: tuple[t.Term, ...], n: Normalizer) -> str | None:
    match f:
        case "square" | "abs" | "relu" | "sqrt":
            return "nonnegative"
        case "exp" | "sigmoid" | "rsqrt":
            return "positive"
        case "power":
            e = args[1].value if isinstance(args[1], t.Const) and not isinstance(args[1].value, str) else None
            if e is None or e.denominator != 1:
                return "nonnegative"
            return "nonnegative" if e.numerator % 2 == 0 else sign(args[0], n)
        case "mul":
            if args[0] is args[1] or n.term(args[0]) == n.term(args[1]):
                return "nonnegative"
            return _weaker(sign(args[0], n), sign(args[1], n))
        case "add":
            signs = [sign(a, n) for a in args]
            if None in signs:
                return None
            return "positive" if "positive" in signs else "nonnegative"
        case "max":
            signs = [sign(a, n) for a in args]
            return "positive" if "positive" in signs else "nonnegative" if "nonnegative" in signs else None
        case "min":
            return _weaker(sign(args[0], n), sign(args[1], n))
        case "div":
            return _weaker(sign(args[0], n), sign(args[1], n))
        case "reciprocal" | "identity":
            return sign(args[0], n)
        case _:
            return None
