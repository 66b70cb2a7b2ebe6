# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The sign of a term, wherever it is defined; what is said of a function follows from its kind."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from axon_mlir.semantics import terms as t
from axon_mlir.semantics.index import nonnegative
from axon_mlir.semantics.normal import Normalizer, Poly, at_least

Same = Callable[[t.Term, t.Term], bool]
"""Whether two terms are known to be equal."""


def same_form(n: Normalizer) -> Same:
    """Equality of normal forms."""
    return lambda x, y: n.term(x) == n.term(y)


def sign(x: t.Term, same: Same) -> str | None:
    """`positive`, `nonnegative` or None (not known), wherever the term is defined."""
    match x:
        case t.Const(v):
            if isinstance(v, str):
                return None
            return "positive" if v > 0 else "nonnegative" if v == 0 else None
        case t.IndexValue(i):
            # Variables of results and folds begin at 0.
            if nonnegative(i - 1) or at_least(i, 1):
                return "positive"
            return "nonnegative" if nonnegative(i) or at_least(i, 0) else None
        case t.Apply(f, args):
            return _sign_of_application(f, args, same)
        case t.Fold(m, _, extent, body):
            inner = sign(body, same)
            if inner is None:
                return None
            # A sum of positive terms is positive if there is one.
            return "nonnegative" if m == "sum" and not at_least(extent, 1) else inner
        case t.Select(_, a, b):
            return _weaker(sign(a, same), sign(b, same))
        case t.Read():
            return None


def positive(x: t.Term) -> bool:
    """Whether a term is positive wherever it is defined, as far as its normal form tells."""
    return sign(x, same_form(Normalizer())) == "positive"


def _weaker(a: str | None, b: str | None) -> str | None:
    if a is None or b is None:
        return None
    return "positive" if a == b == "positive" else "nonnegative"


def _sign_of_application(f: str, args: tuple[t.Term, ...], same: Same) -> str | None:
    match f:
        case "square" | "abs" | "relu":
            return "nonnegative"
        case "sqrt":
            return "positive" if sign(args[0], same) == "positive" else "nonnegative"
        case "exp" | "sigmoid" | "rsqrt" | "pi":
            return "positive"
        case "power":
            e = args[1].value if isinstance(args[1], t.Const) and not isinstance(args[1].value, str) else None
            if sign(args[0], same) == "positive":
                return "positive"
            if e is None or e.denominator != 1:
                return "nonnegative"
            return "nonnegative" if e.numerator % 2 == 0 else sign(args[0], same)
        case "mul":
            known = _weaker(sign(args[0], same), sign(args[1], same))
            if known is None and (args[0] is args[1] or same(args[0], args[1])):
                return "nonnegative"
            return known
        case "add":
            signs = [sign(a, same) for a in args]
            if None in signs:
                return None
            return "positive" if "positive" in signs else "nonnegative"
        case "max":
            signs = [sign(a, same) for a in args]
            return "positive" if "positive" in signs else "nonnegative" if "nonnegative" in signs else None
        case "min":
            return _weaker(sign(args[0], same), sign(args[1], same))
        case "div":
            return _weaker(sign(args[0], same), sign(args[1], same))
        case "reciprocal" | "identity":
            return sign(args[0], same)
        case _:
            return None


def same_sign(a: Poly, b: Poly, kind: str, n: Normalizer) -> bool:
    """Whether `a = c * b` with a factor that keeps a condition: a positive one (any number but zero for `nonzero`)."""
    (_, mine), (_, theirs) = n.positive_content(a), n.positive_content(b)
    if not mine.terms or len(mine.terms) != len(theirs.terms):
        return mine == theirs
    ratio = Fraction(mine.terms[0][1]) / theirs.terms[0][1]
    return (ratio > 0 or kind == "nonzero") and n.scale(theirs, ratio) == mine
