# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quotients of indices in simpler form, where the ranges of what is divided say so: `(K * i + j) // K` is i for
0 <= j < K."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import combinations

from axon_mlir.semantics import terms as t
from axon_mlir.semantics.bounds import nonnegative
from axon_mlir.semantics.index import ONE, Atom, Div, Index, Size, Var, cofactor, const, floor_div, of_var

Ends = tuple[Index, Index]
"""The least and the largest value of an index, or bounds of them, over sizes."""
Ranges = Mapping[Var, Ends]
"""What variables lie between, where a term stands."""

DIVISORS = 64
"""Divisors of a larger number than this are not looked for; those that an index has as factors are."""


def quotient(n: Index, d: Index, small: Callable[[Index, Index], bool]) -> Index | None:
    """`n // d` in simpler form: `(e * a + b) // (e * f) = a // f` for 0 <= b < e; None where none is found.

    `small(b, e)` says whether 0 <= b < e.
    """
    for e in dict.fromkeys((*scales(d), *_factors(n, d))):
        whole = const(0)
        for m, c in n.terms:
            part = Index({m: c})
            if (part // e) * e == part:
                whole = whole + part
        if whole != 0 and (f := d // e) * e == d and f != ONE and small(n - whole, e):
            return floor_div(whole // e, f)
    return None


def scales(d: Index) -> list[Index]:
    """The products of atoms that divide a product, smaller ones first; of a number, its divisors."""
    if len(d.terms) != 1:
        return []
    ((atoms, c),) = d.terms
    parts = [Index({chosen: 1}) for k in range(1, len(atoms) + 1) for chosen in combinations(atoms, k)]
    numbers = [const(k) for k in range(2, c + 1) if c % k == 0] if 1 < c <= DIVISORS else []
    return list(dict.fromkeys([*parts, *numbers, *(p * k for p in parts for k in numbers)]))


def _factors(n: Index, d: Index) -> list[Index]:
    """The numbers by which an index is multiplied that divide a number."""
    whole = d.constant
    if whole is None:
        return []
    return [const(c) for c in sorted({abs(c) for m, c in n.terms if m}) if c > 1 and whole % c == 0]


def replaced(i: Index, a: Atom, by: Index) -> Index:
    """An index with an atom replaced, where it is a factor."""
    out = const(0)
    for m, c in i.terms:
        product = const(c)
        for b in m:
            product = product * (by if b == a else Index({(b,): 1}))
        out = out + product
    return out


def settled(i: Index, ranges: Ranges) -> Index:
    """An index without the quotients that the ranges of its variables decide."""
    for a in dict.fromkeys(a for m, _ in i.terms for a in m if isinstance(a, Div)):
        if all(isinstance(s, Size) for s in a.numerator.symbols()):
            continue
        simpler = floor_div(settled(a.numerator, ranges), settled(a.denominator, ranges))
        if isinstance(simpler.atom, Div):
            simpler = _decided(simpler.atom, ranges)
        if simpler.atom != a:
            return settled(replaced(i, a, simpler), ranges)
    return i


def _decided(a: Div, ranges: Ranges) -> Index:
    """A quotient in simpler form; itself where none is found."""
    n, d = a.numerator, a.denominator
    found = ends(n, ranges)
    if found is not None:
        # From a multiple of d on, less than d of them.
        c = found[0] // d
        if nonnegative(found[0] - c * d) and nonnegative((c + 1) * d - 1 - found[1]):
            return c
    simpler = quotient(n, d, lambda b, e: is_within(b, e, ranges))
    return Index({(a,): 1}) if simpler is None else simpler


def is_within(i: Index, bound: Index, ranges: Ranges) -> bool:
    """Whether 0 <= i < bound everywhere (False: not known)."""
    found = ends(i, ranges)
    return found is not None and nonnegative(found[0]) and nonnegative(bound - 1 - found[1])


def ends(i: Index, ranges: Ranges) -> Ends | None:
    """Bounds of an index that hold everywhere; None where it depends on what has no range, or on a negative factor."""
    low = high = const(0)
    for rest, most in _remainders(i):
        i, high = rest, high + most
    for m, c in i.terms:
        least, most = const(c), const(c)
        for found in (_atom_ends(a, ranges) for a in m):
            if found is None or not nonnegative(found[0]):
                return None
            least, most = least * found[0], most * found[1]
        low, high = (low + least, high + most) if c > 0 else (low + most, high + least)
    return low, high


def _remainders(i: Index) -> Iterator[tuple[Index, Index]]:
    """The index without multiples of remainders `n - d * (n // d)` one after the other, and the most of each."""
    for a in dict.fromkeys(a for m, _ in i.terms for a in m if isinstance(a, Div)):
        d = a.denominator
        factor = sum((Index({rest: c}) for m, c in i.terms if (rest := cofactor(m, (a,))) is not None), const(0))
        times = (-factor // d).constant
        if times is not None and times > 0 and times * d == -factor:
            rest = i - times * (a.numerator - d * Index({(a,): 1}))
            if len(rest.terms) < len(i.terms):
                i = rest
                yield i, times * (d - 1)


def _atom_ends(a: Atom, ranges: Ranges) -> Ends | None:
    match a:
        case Size():
            return Index({(a,): 1}), Index({(a,): 1})
        case Var():
            return ranges.get(a)
        case Div(n, d) if d.constant is not None:
            found = ends(n, ranges)
            return None if found is None else (found[0] // d, found[1] // d)
        case _:
            return None


def below(extents: Mapping[Var, Index]) -> dict[Var, Ends]:
    """The ranges of variables from 0 to below their extents."""
    return {v: (const(0), n - 1) for v, n in extents.items()}


def narrowed(ranges: Ranges, c: t.Condition) -> Ranges:
    """The ranges where a condition holds."""
    match c:
        case t.And(parts):
            for part in parts:
                ranges = narrowed(ranges, part)
        case t.Not(t.IndexCompare(relation, a, b)) if relation != "==":
            # b <= a, or b < a.
            return _at_least(ranges, a - b if relation == "<" else a - b - 1)
        case t.IndexCompare(relation, a, b):
            gap = b - a
            if relation == "==":
                return _at_least(_at_least(ranges, gap), -gap)
            return _at_least(ranges, gap if relation == "<=" else gap - 1)
        case _:
            pass
    return ranges


def _at_least(ranges: Ranges, gap: Index) -> Ranges:
    """The ranges where `gap >= 0`, for a gap of one variable and sizes."""
    variables = [s for s in gap.symbols() if isinstance(s, Var)]
    if len(variables) != 1 or variables[0] not in ranges:
        return ranges
    (v,) = variables
    low, high = ranges[v]
    match gap.coefficient(v):
        case Index() as factor if factor == 1:
            least = of_var(v) - gap
            low = low if nonnegative(low - least) else least
        case Index() as factor if factor == -1:
            most = gap + of_var(v)
            high = high if nonnegative(most - high) else most
        case _:
            return ranges
    return {**ranges, v: (low, high)}


def settled_term(x: t.Term, ranges: Ranges) -> t.Term:
    """A term that reads elements at indices without quotients that the ranges of variables decide."""
    known: dict[tuple[t.Term, frozenset[tuple[Var, Ends]]], t.Term] = {}

    def go(x: t.Term, ranges: Ranges) -> t.Term:
        key = (x, frozenset((v, ranges[v]) for v in t.free_symbols(x) if isinstance(v, Var) and v in ranges))
        found = known.get(key)
        if found is None:
            found = known[key] = made(x, ranges)
        return found

    def made(x: t.Term, ranges: Ranges) -> t.Term:
        match x:
            case t.IndexValue(i):
                return t.index_value(settled(i, ranges))
            case t.Read(name, indices):
                return t.Read(name, tuple(settled(i, ranges) for i in indices))
            case t.Fold(m, v, n, body):
                n = settled(n, ranges)
                most = ends(n - 1, ranges)
                return t.fold(m, v, n, go(body, ranges if most is None else {**ranges, v: (const(0), most[1])}))
            case t.Select(c, a, b):
                chosen = t.with_comparisons(c, lambda one: compared(one, ranges))
                no = t.negate(chosen)
                return t.select(chosen, go(a, narrowed(ranges, chosen)), go(b, narrowed(ranges, no)))
            case _:
                return t.with_parts(x, lambda y: go(y, ranges), lambda c: compared(c, ranges))

    def compared(c: t.Comparison, ranges: Ranges) -> t.Condition:
        if isinstance(c, t.IndexCompare):
            return t.index_comparison(c.relation, settled(c.left, ranges), settled(c.right, ranges))
        return t.with_sides(c, lambda y: go(y, ranges))

    return go(x, ranges)


def settled_value(value: t.Comprehension) -> t.Comprehension:
    """A value that reads elements at indices without quotients that are decided in its range."""
    return replace(value, body=settled_term(value.body, below(value.extents)))


__all__ = [
    "Ends",
    "Ranges",
    "below",
    "ends",
    "is_within",
    "narrowed",
    "quotient",
    "replaced",
    "scales",
    "settled",
    "settled_term",
    "settled_value",
]
