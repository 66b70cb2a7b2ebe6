# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Constants that are one number, rounded in different places.

A program that says `x / math.sqrt(2)` and one that says `x * math.sqrt(0.5)` mean the same, but their constants are two
doubles, and `1 / 1.4142135623730951` is not `0.7071067811865476`. Constants within 4 ulp of each other count as one:
a proof may take such a constant for the exact value that the other program's constants make. It says so, since the
precision of stored constants changes (numeric class P).

A difference of two near constants is not near the difference of what they stand for. So no constant may become what the
program's own other constants are or make, none that is compared moves, and the two programs must agree as they are, in
wide floats, to far more digits than a lost rounding leaves.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement
from math import prod

from axon_mlir.semantics import terms as t
from axon_mlir.semantics.walk import subterms

ULPS = 4
"""How far a constant may move, in units in the last place of a double."""
FACTORS = 3
MOST_FACTORS = 40
"""More constants than this are not multiplied with each other."""


@dataclass(frozen=True)
class Exact:
    """What a constant stands for: a rational, or the positive square root of one."""

    value: Fraction
    root: bool = False

    @property
    def term(self) -> t.Term:
        return t.Apply("sqrt", (t.Const(self.value),)) if self.root else t.Const(self.value)

    def near(self, constant: Fraction) -> bool:
        """Whether it is within `ULPS` of a constant, decided exactly."""
        slack = ULPS * Fraction(math.ulp(float(constant)))
        low, high = constant - slack, constant + slack
        if not self.root:
            return low <= self.value <= high
        return 0 < low and low * low <= self.value <= high * high

    def __str__(self) -> str:
        return f"sqrt({self.value})" if self.root else str(self.value)

    @classmethod
    def parse(cls, text: str) -> Exact:
        """What `str` writes; ValueError otherwise."""
        root = text.startswith("sqrt(") and text.endswith(")")
        return cls(Fraction(text[5:-1] if root else text), root)


def constants_of(terms: Iterable[t.Term]) -> set[Fraction]:
    """The finite constants in terms, zero left out."""
    found = (y.value for x in terms for y in subterms(x) if isinstance(y, t.Const))
    return {v for v in found if isinstance(v, Fraction) and v != 0}


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
        and constants_of(compared).isdisjoint(meant)
    )


def replaced(x: t.Term, meant: Mapping[Fraction, Exact]) -> t.Term:
    """A term whose constants stand for exact values."""
    return t.with_constants(x, {t.Const(c): e.term for c, e in meant.items()})
