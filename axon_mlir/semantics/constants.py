# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Constants that are one number, rounded in different places.

A program that says `x / math.sqrt(2)` and one that says `x * math.sqrt(0.5)` mean the same, but their constants are two
doubles, and `1 / 1.4142135623730951` is not `0.7071067811865476`. Constants within 4 ulp of each other count as one:
a proof may take such a constant for the exact value that the other program's constants make, pi among them where that
program applies a function that is defined by it (`cos(x)` is `sin(x + pi / 2)`). It says so, since the
precision of stored constants changes (numeric class P).

A difference of two near constants is not near the difference of what they stand for. So no constant may become what the
program's own other constants are or make, none becomes a multiple of pi where the program's own functions differ by one
(`cos(x) - sin(x + 1.5707963267948966)`), none that is compared moves, and the two programs must agree as they are, in
wide floats, to far more digits than a lost rounding leaves.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement
from math import prod

from axon_mlir.semantics import terms as t
from axon_mlir.semantics.functions import FUNCTIONS, PI
from axon_mlir.semantics.walk import subterms

ULPS = 4
"""How far a constant may move, in units in the last place of a double."""
PI_BOUNDS = (Fraction(PI) - Fraction(1, 10**35), Fraction(PI) + Fraction(1, 10**35))
"""Pi lies between them."""
FACTORS = 3
SHORT = 64
"""The largest numerator and denominator of a multiple of pi."""
MOST_FACTORS = 40
"""More constants than this are not multiplied with each other."""


@dataclass(frozen=True)
class Exact:
    """What a constant stands for: a rational, the positive square root of one, or a rational multiple of pi."""

    value: Fraction
    root: bool = False
    pi: bool = False

    @property
    def term(self) -> t.Term:
        if self.pi:
            return t.Apply("mul", (t.Const(self.value), t.Apply("pi", ())))
        return t.Apply("sqrt", (t.Const(self.value),)) if self.root else t.Const(self.value)

    def near(self, constant: Fraction) -> bool:
        """Whether it is within `ULPS` of a constant, decided exactly."""
        slack = ULPS * Fraction(math.ulp(float(constant)))
        low, high = constant - slack, constant + slack
        if self.pi:
            return all(low <= self.value * p <= high for p in PI_BOUNDS)
        if not self.root:
            return low <= self.value <= high
        return 0 < low and low * low <= self.value <= high * high

    def __str__(self) -> str:
        if self.pi:
            n, d = self.value.numerator, self.value.denominator
            return {1: "", -1: "-"}.get(n, f"{n} * ") + "pi" + (f" / {d}" if d != 1 else "")
        return f"sqrt({self.value})" if self.root else str(self.value)

    @classmethod
    def parse(cls, text: str) -> Exact:
        """What `str` writes; ValueError otherwise."""
        multiple = re.fullmatch(r"(?:(-?\d+) \* |(-?))pi(?: / ([1-9]\d*))?", text)
        if multiple is not None:
            factor, sign, over = multiple.groups()
            return cls(Fraction(int(factor or f"{sign}1"), int(over or 1)), pi=True)
        root = text.startswith("sqrt(") and text.endswith(")")
        return cls(Fraction(text[5:-1] if root else text), root)


def constants_of(terms: Iterable[t.Term]) -> set[Fraction]:
    """The finite constants in terms, zero left out."""
    found = (y.value for x in terms for y in subterms(x) if isinstance(y, t.Const))
    return {v for v in found if isinstance(v, Fraction) and v != 0}


@cache
def _is_by_pi(function: str) -> bool:
    """Whether a function is pi, or defined by it."""
    inner = re.findall(r"(\w+)\(", FUNCTIONS[function].definition or "") if function in FUNCTIONS else []
    return function == "pi" or any(map(_is_by_pi, inner))


def functions_of_pi(terms: Iterable[t.Term]) -> set[str]:
    """The functions in terms that are defined by pi, and pi itself."""
    return {y.function for x in terms for y in subterms(x) if isinstance(y, t.Apply) and _is_by_pi(y.function)}


def multiples_of_pi(constant: Fraction) -> Iterator[Exact]:
    """The multiple by a short fraction that is nearest to a constant."""
    short = Exact((constant / Fraction(PI)).limit_denominator(SHORT), pi=True)
    if 0 < abs(short.value.numerator) <= SHORT:
        yield short


def products(source: Iterable[Fraction]) -> Iterator[Fraction]:
    """Products of up to `FACTORS` absolute values and reciprocals, those of fewer factors first."""
    factors = sorted({f for c in source for f in (abs(c), 1 / abs(c))})
    if len(factors) <= MOST_FACTORS:
        for count in range(1, FACTORS + 1):
            yield from dict.fromkeys(Fraction(prod(xs)) for xs in combinations_with_replacement(factors, count))


def acceptable(terms: Sequence[t.Term], meant: Mapping[Fraction, Exact]) -> bool:
    """Whether the constants of a program may stand for these values."""
    compared = [x for y in terms for s in subterms(y) if isinstance(s, t.Select) for x in t.compared_terms(s.condition)]
    others = constants_of(terms) - set(meant)
    own = {v for value in products(others) for v in (Exact(value), Exact(-value), Exact(value, root=True))}
    return (
        all(e.near(c) for c, e in meant.items())
        and len(set(meant.values())) == len(meant)
        and own.isdisjoint(meant.values())
        and not any(e.near(c) for e in meant.values() for c in others)
        and not (len(functions_of_pi(terms)) > 1 and any(e.pi for e in meant.values()))
        and constants_of(compared).isdisjoint(meant)
    )


def replaced(x: t.Term, meant: Mapping[Fraction, Exact]) -> t.Term:
    """A term whose constants stand for exact values."""
    return t.with_constants(x, {t.Const(c): e.term for c, e in meant.items()})
