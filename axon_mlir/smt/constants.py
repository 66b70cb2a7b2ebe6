# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which constants of one program are roundings of what the other program's constants make.

Candidates are products of up to three constants of the other program, each also as its reciprocal, square roots of such
products, and short multiples of pi where the other program has functions that are defined by it. What counts is whether
the exact value is near (`semantics.constants`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from axon_mlir.semantics import terms as t
from axon_mlir.semantics.constants import (
    Exact,
    acceptable,
    constants_of,
    functions_of_pi,
    multiples_of_pi,
    products,
)

Meant = Mapping[Fraction, Exact]


def meanings(before: Sequence[t.Term], after: Sequence[t.Term]) -> Iterator[tuple[Meant, Meant]]:
    """What constants of the first and of the second program may stand for: one side moves, the other stays.

    The side whose values are shorter to write comes first, so that 0.7071067811865476 is sqrt(1/2) and 0.5 stays.
    """
    mine, theirs = constants_of(before), constants_of(after)
    turned = [bool(functions_of_pi(side)) for side in (before, after)]
    sides: list[tuple[Meant, Meant]] = [
        ({}, _moved(theirs - mine, mine, turned[0])),
        (_moved(mine - theirs, theirs, turned[1]), {}),
    ]
    fit = [s for s in sides if any(s) and acceptable(before, s[0]) and acceptable(after, s[1])]
    yield from sorted(fit, key=lambda s: sum(len(str(e)) for m in s for e in m.values()))


def _moved(constants: set[Fraction], source: set[Fraction], pi: bool) -> Meant:
    """What makes each constant, with as few factors as possible; those that are exactly made stay."""
    found: dict[Fraction, Exact] = {}
    exact: set[Fraction] = set()
    candidates = list(products(source))
    for c in sorted(constants):
        size = abs(c)
        for value in candidates:
            if abs(value - size) > size / 2**40 and abs(value - size * size) > size * size / 2**40:
                continue
            sign = 1 if c > 0 else -1
            if value == size:
                exact.add(c)
            for choice in (Exact(sign * value), Exact(value, root=True)):
                if choice.near(c):
                    found.setdefault(c, choice)
        for choice in multiples_of_pi(c) if pi else ():
            if choice.near(c):
                found.setdefault(c, choice)
    return {c: e for c, e in found.items() if c not in exact}
