# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scans as terms: folds of all elements up to where the result stands.

`fold(k <= v: x[k])` is a running fold. `sum(k <= v: b[k] * prod(j < v - k: a[k + 1 + j]))` is the recurrence
`s[v] = a[v] * s[v - 1] + b[v]` from 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from axon_mlir.semantics import terms as t
from axon_mlir.semantics.index import Var, fresh_var, of_var


@dataclass(frozen=True)
class Scan:
    """A scan along the variable `along`: of `element`, over the scan's own variable, with a monoid, or as an affine
    recurrence whose factor is `factor`."""

    along: Var
    var: Var
    monoid: str
    element: t.Term
    factor: t.Term | None = None

    @property
    def parts(self) -> tuple[t.Term, ...]:
        """What runs along the scan's variable: the factor first, where there is one."""
        return (self.element,) if self.factor is None else (self.factor, self.element)

    def with_parts(self, parts: tuple[t.Term, ...]) -> Scan:
        """The scan of other parts."""
        return replace(self, element=parts[-1], factor=None if len(parts) == 1 else parts[0])

    @property
    def term(self) -> t.Term:
        """The scan as a fold."""
        body = self.element
        if self.factor is not None:
            j = fresh_var("j")
            since = t.substitute(self.factor, {self.var: of_var(self.var) + 1 + of_var(j)})
            decayed = t.Fold("prod", j, of_var(self.along) - of_var(self.var), since)
            body = t.Apply("mul", (body, decayed))
        return t.Fold(self.monoid, self.var, of_var(self.along) + 1, body)


def scan_of(x: t.Term, variables: Iterable[Var]) -> Scan | None:
    """The scan that a term is, along one of these variables; None where it is none."""
    if not isinstance(x, t.Fold):
        return None
    v = next((v for v in variables if x.extent == of_var(v) + 1), None)
    if v is None:
        return None
    parts = recurrence_of(x, v)
    if parts is not None:
        return Scan(v, x.var, "sum", parts[1], parts[0])
    return None if v in t.free_symbols(x.body) else Scan(v, x.var, x.monoid, x.body)


def recurrence_of(x: t.Fold, v: Var) -> tuple[t.Term, t.Term] | None:
    """(factor, summand), both over the fold's variable k, of `sum(k < v + 1: summand * prod(j < v - k: factor at
    k + 1 + j))`."""
    k = of_var(x.var)
    if x.monoid != "sum" or not isinstance(x.body, t.Apply) or x.body.function != "mul" or x.extent != of_var(v) + 1:
        return None
    for product, summand in (x.body.args, x.body.args[::-1]):
        if not isinstance(product, t.Fold) or product.monoid != "prod" or product.extent != of_var(v) - k:
            continue
        if v in t.free_symbols(product.body) or v in t.free_symbols(summand):
            continue
        place = Var("@place")
        factor = t.substitute(product.body, {product.var: of_var(place) - k - 1})
        if not {x.var, product.var} & t.free_symbols(factor):
            return t.substitute(factor, {place: k}), summand
    return None
