# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lower bounds of index terms for all sizes: what has minima and divisions, each bounded in every sound way."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from axon_mlir.semantics.index import Div, Index, Min, Monomial, Size
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
    if all(c > 0 or not m for m, c in terms.items()) and all(isinstance(a, Size) for m in terms for a in m):
        return sum(terms.values(), Fraction(0)) >= bound
    if depth > 6:
        return False
    # Replace one division or minimum by a bound of it, in every sound way.
    for m, c in terms.items():
        if len(m) != 1:
            continue

        def replaced(by: Terms, monomial: Monomial = m, factor: Fraction = c) -> bool:
            new = {k: v for k, v in terms.items() if k != monomial}
            for k, v in by.items():
                new[k] = new.get(k, Fraction(0)) + factor * v
            return _lower_bound_reaches(new, bound, depth + 1)

        match m[0]:
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
