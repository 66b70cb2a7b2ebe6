# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a loop carries, in closed form: as the fold of a monoid over the iterations, or as an affine recurrence.

`x' = a[t] * x + b[t]` from x0 is, after n iterations, `x0 * prod(t < n: a[t]) + sum(s < n: b[s] * prod(t < n - 1 - s:
a[s + 1 + t]))`. The same form says what a value is inside the loop: what the iterations before have made of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from axon_mlir.semantics import terms as t
from axon_mlir.semantics.functions import MONOIDS
from axon_mlir.semantics.index import Index, Size, Var, const, fresh_var, of_var
from axon_mlir.semantics.walk import reads_any


@dataclass(frozen=True)
class Carried:
    """A value that a loop carries: its name inside the body, its kind, what it starts from, what is yielded."""

    name: str
    kind: str
    initial: t.Comprehension
    value: t.Comprehension

    @property
    def own(self) -> t.Read:
        """The element of the value before, at the index of what is yielded."""
        return t.Read(self.name, tuple(map(of_var, self.value.variables)))


@dataclass(frozen=True)
class Recurrence:
    """The rule of one carried value: `(+)` of a monoid with `summand`, or `factor * x + summand`; over `variables` and
    the iteration `counter`."""

    variables: tuple[Var, ...]
    counter: Var
    initial: t.Comprehension
    monoid: str | None
    factor: t.Term
    summand: t.Term

    def after(self, trips: Index, indices: Sequence[Index]) -> t.Term:
        """The element after so many iterations."""
        initial = self.initial.at(indices)
        if self.monoid is not None:
            v = fresh_var(self.counter.name)
            folded = t.fold(self.monoid, v, trips, self._at(self.summand, indices, of_var(v)))
            return t.Apply(MONOIDS[self.monoid].function, (initial, folded))
        first, s, later = (fresh_var(self.counter.name) for _ in range(3))
        kept = t.fold("prod", first, trips, self._at(self.factor, indices, of_var(first)))
        since = of_var(s) + 1 + of_var(later)
        decayed = t.fold("prod", later, trips - 1 - of_var(s), self._at(self.factor, indices, since))
        added = t.fold("sum", s, trips, t.Apply("mul", (self._at(self.summand, indices, of_var(s)), decayed)))
        return t.Apply("add", (t.Apply("mul", (initial, kept)), added))

    def _at(self, x: t.Term, indices: Sequence[Index], iteration: Index) -> t.Term:
        place: dict[Size | Var, Index] = dict(zip(self.variables, indices, strict=True))
        return t.substitute(x, {**place, self.counter: iteration})


def recurrences(carried: Sequence[Carried], counter: Var) -> dict[str, Recurrence]:
    """The rules of the values that have one, by name; values may read others as they stand so far."""
    found: dict[str, Recurrence] = {}
    pending = list(carried)
    while True:
        for c in pending:
            others = {x.name for x in pending if x is not c}
            body = so_far(c.value.body, {n: r for n, r in found.items() if n != c.name})
            if reads_any(body, others):
                continue
            rule = _rule(c, body, counter)
            if rule is not None:
                found[c.name] = rule
        left = [c for c in pending if c.name not in found]
        if len(left) == len(pending):
            return found
        pending = left


def so_far(x: t.Term, found: dict[str, Recurrence]) -> t.Term:
    """A term of a loop's body in which carried values are what the iterations before have made of them."""
    return t.replace_reads(x, found, lambda r: found[r.tensor].after(of_var(found[r.tensor].counter), r.indices))


def _rule(c: Carried, body: t.Term, counter: Var) -> Recurrence | None:
    # Along an axis of one element the index is 0.
    unit: dict[Size | Var, Index] = {
        v: const(0) for v, n in zip(c.value.variables, c.initial.shape, strict=True) if n == 1
    }
    own, body = t.substitute(c.own, unit), t.substitute(body, unit)
    if c.kind in MONOIDS:
        rest = peel(body, own, c.kind)
        if rest is None or reads_any(rest, {c.name}):
            return None
        return Recurrence(c.value.variables, counter, c.initial, c.kind, t.ONE, rest)
    parts = affine(body, own)
    if parts is None or any(reads_any(x, {c.name}) for x in parts):
        return None
    return Recurrence(c.value.variables, counter, c.initial, None, *parts)


def peel(x: t.Term, own: t.Term, monoid: str) -> t.Term | None:
    """g such that `x = own (+) g`; None when x is not of that form."""
    function = MONOIDS[monoid].function
    neutral = t.number(MONOIDS[monoid].neutral)
    if x is own:
        return neutral
    match x:
        case t.Apply(f, (a, b)) if f == function:
            for first, second in ((a, b), (b, a)):
                rest = peel(first, own, monoid)
                if rest is not None:
                    return second if rest is neutral else t.Apply(function, (rest, second))
            return None
        case t.Select(c, a, b):
            left, right = peel(a, own, monoid), peel(b, own, monoid)
            return None if left is None or right is None else t.select(c, left, right)
        case _:
            return None


def affine(x: t.Term, own: t.Term) -> tuple[t.Term, t.Term] | None:
    """(a, b) in `x = a * own + b`; None when x is not of that form."""
    if x is own:
        return t.ONE, t.ZERO
    assert isinstance(own, t.Read)
    if not reads_any(x, {own.tensor}):
        return t.ZERO, x
    match x:
        case t.Apply("identity", (a,)):
            return affine(a, own)
        case t.Apply("neg", (a,)):
            return _scaled(affine(a, own), t.number(-1))
        case t.Apply("add", (a, b)):
            return _added(affine(a, own), affine(b, own))
        case t.Apply("sub", (a, b)):
            return _added(affine(a, own), _scaled(affine(b, own), t.number(-1)))
        case t.Apply("mul", (a, b)) if not reads_any(b, {own.tensor}):
            return _scaled(affine(a, own), b)
        case t.Apply("mul", (a, b)) if not reads_any(a, {own.tensor}):
            return _scaled(affine(b, own), a)
        case t.Apply("div", (a, b)) if not reads_any(b, {own.tensor}):
            return _scaled(affine(a, own), t.Apply("reciprocal", (b,)))
        case t.Select(c, a, b):
            parts = affine(a, own), affine(b, own)
            if parts[0] is None or parts[1] is None:
                return None
            return t.select(c, parts[0][0], parts[1][0]), t.select(c, parts[0][1], parts[1][1])
        case _:
            return None


def _scaled(parts: tuple[t.Term, t.Term] | None, by: t.Term) -> tuple[t.Term, t.Term] | None:
    return None if parts is None else (_product(parts[0], by), _product(parts[1], by))


def _added(a: tuple[t.Term, t.Term] | None, b: tuple[t.Term, t.Term] | None) -> tuple[t.Term, t.Term] | None:
    return None if a is None or b is None else (_sum(a[0], b[0]), _sum(a[1], b[1]))


def _product(a: t.Term, b: t.Term) -> t.Term:
    if t.ZERO in (a, b):
        return t.ZERO
    return b if a is t.ONE else a if b is t.ONE else t.Apply("mul", (a, b))


def _sum(a: t.Term, b: t.Term) -> t.Term:
    return b if a is t.ZERO else a if b is t.ZERO else t.Apply("add", (a, b))
