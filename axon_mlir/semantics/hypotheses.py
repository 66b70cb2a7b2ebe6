# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Hypotheses about integers: which of them bear on a question (a deep term stands under hundreds, and few say anything
of it), and what they say."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import product

from axon_mlir.semantics import terms as t
from axon_mlir.semantics.index import Div, Index, Monomial, Size, cofactor, nonnegative


def connected(hypotheses: Sequence[t.Condition], goal: t.Condition) -> list[t.Condition]:
    """The hypotheses about integers that share a size or a variable with the goal, or with one of these.

    What the others say does not bear on the goal, unless they contradict each other; where the goal has no symbols it
    is asked whether they do, and all of them count.
    """
    kept = [h for h in hypotheses if t.is_integer(h)]
    reached = t.free_symbols(goal)
    if not reached:
        return kept
    pending = {h: t.free_symbols(h) for h in kept}
    chosen: set[t.Condition] = set()
    while near := [h for h, symbols in pending.items() if not (symbols and symbols.isdisjoint(reached))]:
        chosen.update(near)
        reached = reached.union(*(pending.pop(h) for h in near))
    return [h for h in kept if h in chosen]


def inequalities(c: t.Condition) -> list[Index]:
    """Terms that are >= 0 because the condition holds (not all that it says, when it is a disjunction)."""
    match c:
        case t.IndexCompare("<", a, b):
            return [b - a - 1]
        case t.IndexCompare("<=", a, b):
            return [b - a]
        case t.IndexCompare(_, a, b):
            return [b - a, a - b]
        case t.And(parts):
            return [e for p in parts for e in inequalities(p)]
        case t.Not(t.IndexCompare("<", a, b)):
            return [a - b]
        case t.Not(t.IndexCompare("<=", a, b)):
            return [a - b - 1]
        case _:
            return []


def quotients_apart(a: Div, others: Iterable[object]) -> Iterator[Index]:
    """Terms that are >= 0 for quotients of one number: `n // (d * e)` is `(n // d) // e`, for d and e from 1 on."""
    for b in others:
        if not isinstance(b, Div) or b.numerator != a.numerator:
            continue
        for fine, coarse in ((a, b), (b, a)):
            d, e = fine.denominator, coarse.denominator // fine.denominator
            if e != 1 and d * e == coarse.denominator and nonnegative(d - 1) and nonnegative(e - 1):
                rest = Index({(fine,): 1}) - e * Index({(coarse,): 1})
                yield from (rest, e - 1 - rest)


def quotients_within(atoms: Iterable[object], known: Sequence[Index]) -> Iterator[Index]:
    """Terms that are >= 0 for quotients of numbers that terms known to be >= 0 keep between multiples: `n < d * c` says
    `n // d < c`, and `d * c <= n` says `c <= n // d`."""
    factors = [(e, dict(e.terms)) for e in known]
    for a in atoms:
        if not isinstance(a, Div) or not nonnegative(a.denominator - 1):
            continue
        n, d = a.numerator, a.denominator
        # What is no multiple has to leave: a product in which there is not only sizes.
        marks = [(m, c) for m, c in n.terms if not all(isinstance(x, Size) for x in m)]
        for (e, factor), (m, own) in product(factors, marks[:1]):
            c = factor.get(m, 0)
            if c == -own and d * (above := (e + n + 1) // d) == e + n + 1:
                yield above - 1 - Index({(a,): 1})
            if c == own and d * (below := (n - e) // d) == n - e:
                yield Index({(a,): 1}) - below


def multiples(e: Index, products: Collection[Monomial]) -> Iterator[Index]:
    """A term times sizes, where that holds no products of unknowns but these and such of sizes alone."""
    first: Monomial = next((m for m, _ in reversed(e.terms) if m), ())
    seen: set[Monomial] = set()
    for whole in products if first else ():
        factor = cofactor(whole, first)
        if not factor or factor in seen or not all(isinstance(a, Size) for a in factor):
            continue
        seen.add(factor)
        out = e * Index({factor: 1})
        if all(len(m) < 2 or m in products or all(isinstance(a, Size) for a in m) for m, _ in out.terms):
            yield out
