# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Constants that are one number, rounded in different places.

A program that says `x / math.sqrt(2)` and one that says `x * math.sqrt(0.5)` mean the same, but their constants are two
doubles, and `1 / 1.4142135623730951` is not `0.7071067811865476`. Constants within 4 ulp of each other count as one:
a proof may take such a constant for the exact value that the other program's constants make. It says so, since the
precision of stored constants changes (numeric class P).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from axon_mlir.semantics import terms as t
from axon_mlir.semantics.walk import subterms

ULPS = 4
"""How far a constant may move, in units in the last place of a double."""


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


def replaced(x: t.Term, meant: Mapping[Fraction, Exact]) -> t.Term:
    """A term whose constants stand for exact values."""
    return t.with_constants(x, {t.Const(c): e.term for c, e in meant.items()})
