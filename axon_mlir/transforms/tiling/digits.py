# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Flattened axes: an index that is only taken apart again is several.

Where elements are read at `(i // K, i % K)`, i over M * K, the value is made over (m, k), i = K * m + k, and what reads
it at i reads it at `(i // K, i % K)`. A fold over i is one over m and one over k (the tile lemma, with whole tiles).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from axon_mlir.semantics import terms as t
from axon_mlir.semantics.index import Atom, Div, Index, Size, Var, const, fresh_var, of_var, rebuilt
from axon_mlir.semantics.pieces import comparisons
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
    """The term with a fold for each digit where the variable of a fold is taken apart."""
    match x:
        case t.Fold(m, v, n, body):
            body = folds_in_digits(body)
            digits = digits_of(v, n, body)
            if digits is None:
                return t.fold(m, v, n, body)
            body = digits.term(body, v)
            for w, extent in reversed(list(zip(digits.variables, digits.extents, strict=True))):
                body = t.fold(m, w, extent, body)
            return body
        case _:
            return t.with_parts(x, folds_in_digits, lambda c: t.with_sides(c, folds_in_digits))


def axes_in_digits(value: t.Comprehension) -> dict[Var, Digits]:
    """The axes of a value that it only takes apart."""
    found = {v: digits_of(v, n, value.body) for v, n in zip(value.variables, value.shape, strict=True)}
    return {v: digits for v, digits in found.items() if digits is not None}


def in_digits(value: t.Comprehension, axes: Mapping[Var, Digits]) -> t.Comprehension:
    """The value with an axis for each digit."""
    body = value.body
    for v, digits in axes.items():
        body = digits.term(body, v)
    spaces = list(_spaces(value, axes))
    return replace(value, shape=tuple(n for _, n in spaces), variables=tuple(v for v, _ in spaces), body=body)


def flat(value: t.Comprehension, axes: Mapping[Var, Digits], made: t.Comprehension) -> t.Comprehension:
    """What a value is when it has been made with an axis for each digit."""
    at = [i for v in value.variables for i in (axes[v].of(of_var(v)) if v in axes else [of_var(v)])]
    return replace(value, body=made.at(at))


def rows_of(value: t.Comprehension, axes: Mapping[Var, Digits]) -> tuple[t.Comprehension, tuple[Index, ...]]:
    """The rows of a value along the last digits of its axes, and where they begin."""
    body = value.body
    for v, digits in axes.items():
        body = digits.term(body, v)
    last = {v: (digits.variables[-1], digits.extents[-1]) for v, digits in axes.items()}
    spaces = [last.get(v, (v, n)) for v, n in zip(value.variables, value.shape, strict=True)]
    origin = [axes[v].whole - of_var(last[v][0]) if v in axes else const(0) for v in value.variables]
    row = replace(value, shape=tuple(n for _, n in spaces), variables=tuple(v for v, _ in spaces), body=body)
    return row, tuple(origin)


def _spaces(value: t.Comprehension, axes: Mapping[Var, Digits]) -> Iterator[tuple[Var, Index]]:
    for v, n in zip(value.variables, value.shape, strict=True):
        if v in axes:
            yield from zip(axes[v].variables, axes[v].extents, strict=True)
        else:
            yield v, n


def _divides(d: Index, n: Index) -> bool:
    return (n // d) * d == n


def _with_indices(x: t.Term, made: Callable[[Index], Index]) -> t.Term:
    """A term with other indices."""

    def compared(c: t.Comparison) -> t.Condition:
        if isinstance(c, t.IndexCompare):
            make = {"<": t.less, "<=": t.at_most, "==": t.equal}[c.relation]
            return make(made(c.left), made(c.right))
        return t.with_sides(c, lambda y: _with_indices(y, made))

    match x:
        case t.IndexValue(i):
            return t.index_value(made(i))
        case t.Read(name, indices):
            return t.Read(name, tuple(map(made, indices)))
        case _:
            return t.with_parts(x, lambda y: _with_indices(y, made), compared)


__all__ = ["Digits", "axes_in_digits", "digits_of", "flat", "folds_in_digits", "in_digits", "rows_of"]
