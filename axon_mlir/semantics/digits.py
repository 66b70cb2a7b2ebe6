# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The digits of an index: what is only taken apart again is several.

Where elements are read at `(i // K, i % K)`, i over M * K, a fold over i is one over m and one over k, i = K * m + k
(the tile lemma, with whole tiles).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from axon_mlir.semantics import terms as t
from axon_mlir.semantics.index import Atom, Div, Index, Size, Var, const, fresh_var, of_var, rebuilt
from axon_mlir.semantics.pieces import comparisons
from axon_mlir.semantics.quotients import below, settled_term
from axon_mlir.semantics.walk import subterms


@dataclass(frozen=True)
class Digits:
    """An index in a mixed radix, the first digit being the most significant one."""

    variables: tuple[Var, ...]
    extents: tuple[Index, ...]
    strides: tuple[Index, ...]

    quotients: Mapping[Atom, Index]
    """The quotients of the index that are known, and what it is divided by."""

    @property
    def whole(self) -> Index:
        """The index."""
        return self.divided(const(1))

    @property
    def outer(self) -> list[tuple[Var, Index]]:
        """All digits but the last, and their extents."""
        return list(zip(self.variables[:-1], self.extents[:-1], strict=True))

    def divided(self, by: Index) -> Index:
        """The index divided by one of its strides, or by its extent."""
        total = const(0)
        for v, stride in zip(self.variables, self.strides, strict=True):
            total = total + of_var(v) * (stride // by if _divides(by, stride) else 0)
        return total

    def of(self, i: Index) -> list[Index]:
        """The digits of an index."""
        quotients = [i // s for s in self.strides]
        return [q if n == 0 else q - self.extents[n] * quotients[n - 1] for n, q in enumerate(quotients)]

    def term(self, x: t.Term, v: Var) -> t.Term:
        """A term with the digits in place of their index."""
        known: dict[Atom, Index] = {a: self.divided(by) for a, by in self.quotients.items()} | {v: self.whole}
        return _with_indices(x, lambda i: rebuilt(i, known))


def digits_of(v: Var, extent: Index, x: t.Term) -> Digits | None:
    """The digits in which a term reads elements at an index; None where it also reads elsewhere, or asks where it is:
    there it is cut in pieces first."""
    quotients: dict[Atom, Index] = {}
    if any(v in t.free_symbols(c) for c in comparisons(x)):
        return None
    for y in subterms(x):
        if isinstance(y, t.Fold) and v in y.extent.symbols():
            return None
        for i in y.indices if isinstance(y, t.Read) else ():
            for a in (a for m, _ in i.terms for a in m if a != v and v in Index({(a,): 1}).symbols()):
                by = _divisor(a, v)
                if by is None:
                    return None
                quotients[a] = by
    found = {by: None for by in quotients.values() if not _divides(extent, by)}
    strides = [const(1)]
    while found:
        least = next((d for d in found if all(_divides(d, e) for e in found)), None)
        if least is None or not _divides(strides[0], least):
            return None
        del found[least]
        strides.insert(0, least)
    if not quotients or not _divides(strides[0], extent):
        return None
    tops = [extent, *strides[:-1]]
    extents = tuple(top // s for top, s in zip(tops, strides, strict=True))
    return Digits(tuple(fresh_var(v.name) for _ in strides), extents, tuple(strides), quotients)


def plain(x: t.Term, extents: Mapping[Var, Index], lemmas: set[str]) -> t.Term:
    """A term that takes no index apart whose parts are known or can be folded over; the extents are those of its free
    variables. The lemma used is added to `lemmas`."""
    settled = settled_term(x, below(extents))
    out = folds_in_digits(settled)
    if out is not settled:
        lemmas.add("tile")
    return out


def _divisor(a: Atom, v: Var) -> Index | None:
    """What a quotient, of a quotient perhaps, divides a variable by."""
    if not isinstance(a, Div) or not all(isinstance(s, Size) for s in a.denominator.symbols()):
        return None
    if a.numerator == of_var(v):
        return a.denominator
    inner = a.numerator.atom
    by = None if inner is None else _divisor(inner, v)
    return None if by is None else by * a.denominator


def folds_in_digits(x: t.Term) -> t.Term:
    """The term with a fold for each digit where the variable of a fold is taken apart (lemma `tile`)."""
    known: dict[t.Term, t.Term] = {}

    def go(x: t.Term) -> t.Term:
        found = known.get(x)
        if found is None:
            found = known[x] = made(x)
        return found

    def made(x: t.Term) -> t.Term:
        match x:
            case t.Fold(m, v, n, body):
                body = go(body)
                digits = digits_of(v, n, body)
                if digits is None:
                    return t.fold(m, v, n, body)
                body = digits.term(body, v)
                for w, extent in reversed(list(zip(digits.variables, digits.extents, strict=True))):
                    body = t.fold(m, w, extent, body)
                return body
            case _:
                return t.with_parts(x, go, lambda c: t.with_sides(c, go))

    return go(x)


def _divides(d: Index, n: Index) -> bool:
    return (n // d) * d == n


def _with_indices(x: t.Term, made: Callable[[Index], Index]) -> t.Term:
    """A term with other indices."""
    known: dict[t.Term, t.Term] = {}

    def go(x: t.Term) -> t.Term:
        found = known.get(x)
        if found is None:
            found = known[x] = remade(x)
        return found

    def remade(x: t.Term) -> t.Term:
        match x:
            case t.IndexValue(i):
                return t.index_value(made(i))
            case t.Read(name, indices):
                return t.Read(name, tuple(map(made, indices)))
            case _:
                return t.with_parts(x, go, compared)

    def compared(c: t.Comparison) -> t.Condition:
        if isinstance(c, t.IndexCompare):
            return t.index_comparison(c.relation, made(c.left), made(c.right))
        return t.with_sides(c, go)

    return go(x)


__all__ = ["Digits", "digits_of", "folds_in_digits", "plain"]
