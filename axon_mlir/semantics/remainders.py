# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two values that ask for the remainder of an index, as values for each remainder: `i = c * w + r` for all r < c.

What is interleaved (every second element is this, the others are that) is then said by plain indices.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import lcm

from axon_mlir.semantics import terms as t
from axon_mlir.semantics.index import Div, Var, fresh_var, of_var
from axon_mlir.semantics.walk import subterms

MOST = 16
"""An axis is split into at most so many remainders."""

Pair = tuple[t.Comprehension, t.Comprehension]


def by_remainder(a: t.Comprehension, b: t.Comprehension) -> Iterator[Pair]:
    """Pairs that are equal, all of them, exactly if the two values of one shape are."""
    for axis, (extent, left, right) in enumerate(zip(a.shape, a.variables, b.variables, strict=True)):
        count = lcm(divisor(a.body, left), divisor(b.body, right))
        if extent == 1 or not 1 < count <= MOST or a.shape != b.shape:
            continue
        for r in range(count):
            parts = [remainder(x, axis, r, count) for x in (a, b)]
            yield from by_remainder(parts[0], parts[1])
        return
    yield a, b


def divisor(x: t.Term, v: Var) -> int:
    """What conditions `v % c == r` divide a variable by; 1 where there are none."""
    out = 1
    for y in subterms(x):
        for c in t.comparisons(y.condition) if isinstance(y, t.Select) else ():
            if isinstance(c, t.IndexCompare) and c.relation == "==":
                out = lcm(out, *divides(c, v))
    return out


def divides(c: t.IndexCompare, v: Var) -> Iterator[int]:
    """The numbers that a comparison divides a variable by."""
    for a in (a for i in (c.left, c.right) for m, _ in i.terms for a in m if isinstance(a, Div)):
        if a.numerator.coefficient(v) == 1 and a.denominator.constant is not None:
            yield a.denominator.constant


def remainder(x: t.Comprehension, axis: int, r: int, count: int) -> t.Comprehension:
    """The elements whose index along an axis leaves a remainder."""
    w = fresh_var(x.variables[axis].name)
    extent = (x.shape[axis] - r + count - 1) // count
    at = [count * of_var(w) + r if n == axis else of_var(v) for n, v in enumerate(x.variables)]
    variables = tuple(w if n == axis else v for n, v in enumerate(x.variables))
    shape = tuple(extent if n == axis else d for n, d in enumerate(x.shape))
    return replace(x, shape=shape, variables=variables, body=x.at(at))


__all__ = ["MOST", "by_remainder", "divides", "divisor", "remainder"]
