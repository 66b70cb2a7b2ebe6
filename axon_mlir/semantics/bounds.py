# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lower bounds of index terms for all sizes: what has minima and divisions, each bounded in every sound way."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from itertools import combinations

from axon_mlir.semantics.index import Atom, Div, Index, Min, Monomial, Size, product_of
from axon_mlir.semantics.index import nonnegative as nonnegative_by_signs

Terms = dict[Monomial, Fraction]


@lru_cache(maxsize=1 << 14)
def at_least(term: Index, bound: int) -> bool:
    """Whether `term >= bound` holds for all sizes >= 1 (False: not known)."""
    return _lower_bound_reaches(_terms(term), Fraction(bound), 0)


def nonnegative(term: Index) -> bool:
    """Whether a term is >= 0 for all sizes (False: not known)."""
    return at_least(term, 0)


def _terms(term: Index) -> Terms:
    return {m: Fraction(c) for m, c in term.terms}


def _lower_bound_reaches(terms: Terms, bound: Fraction, depth: int) -> bool:
    """Whether a polynomial with rational coefficients is at least `bound` when all sizes are at least 1."""
    terms = {m: c for m, c in terms.items() if c}
    if all(isinstance(a, Size) for m in terms for a in m):
        beyond = _beyond_one(terms)
        return all(c >= 0 for m, c in beyond.items() if m) and beyond.get((), Fraction(0)) >= bound
    if depth > 6:
        return False
    # Replace one division or minimum by a bound of it, in every sound way: times what is not negative.
    for m, c in terms.items():
        place = next((n for n, atom in enumerate(m) if isinstance(atom, (Div, Min))), None)
        if place is None:
            continue
        others = (*m[:place], *m[place + 1 :])
        if not all(map(_is_nonnegative, others)):
            continue

        def replaced(by: Terms, monomial: Monomial = m, factor: Fraction = c, times: Monomial = others) -> bool:
            new = {k: v for k, v in terms.items() if k != monomial}
            for k, v in by.items():
                product = product_of(k, times)
                new[product] = new.get(product, Fraction(0)) + factor * v
            return _lower_bound_reaches(new, bound, depth + 1)

        match m[place]:
            case Div(n, d) if d.constant is not None and d.constant > 0:
                exact = {k: v / d.constant for k, v in _terms(n).items()}
                if c > 0:
                    exact[()] = exact.get((), Fraction(0)) - Fraction(d.constant - 1, d.constant)
                if replaced(exact):
                    return True
                for least in (1, 0) if c > 0 else ():
                    enough = _lower_bound_reaches(_terms(n), Fraction(least * d.constant), depth + 1)
                    if enough and replaced({(): Fraction(least)}):
                        return True
            case Div(n, _) if c > 0 and nonnegative_by_signs(n) and replaced({}):
                return True
            case Min(args):
                alternatives: list[Terms] = [{}, *map(_terms, args)]
                if (all if c > 0 else any)(map(replaced, alternatives)):
                    return True
            case _:
                pass
    return False


def _beyond_one(terms: Terms) -> Terms:
    """A polynomial of sizes in what each is beyond one: `M * N - N` is `m * n + m`."""
    out: Terms = {}
    for m, c in terms.items():
        for count in range(len(m) + 1):
            for part in combinations(m, count):
                out[part] = out.get(part, Fraction(0)) + c
    return out


def _is_nonnegative(atom: Atom) -> bool:
    match atom:
        case Size():
            return True
        case Div(n, d):
            return nonnegative_by_signs(n) and nonnegative_by_signs(d)
        case Min(args):
            return all(map(nonnegative_by_signs, args))
        case _:
            return False
