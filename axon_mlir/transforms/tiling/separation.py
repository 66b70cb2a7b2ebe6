# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A value as computations that each fold once, at their root: what nested folds and products of expressions become.

`sum(k: exp(s[m, k] - max(j: s[m, j])) * v[k, e]) / sum(i: ...)` is four computations: the maximum, the exponentials (an
operand of a contraction has to exist), the contraction, the quotient. Folds that differ in the names of their variables
are one computation. A fold over a range that depends on the index runs over the longest one, and elements beyond the
range are the neutral element (the guard lemma).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce

from axon_mlir.semantics import terms as t
from axon_mlir.semantics.functions import MONOIDS
from axon_mlir.semantics.guards import Guards
from axon_mlir.semantics.index import Index, Size, Var, const, of_var
from axon_mlir.semantics.scans import scan_of
from axon_mlir.semantics.spelling import spelled

Extents = Mapping[Var, Index]
"""The variables around a term, outermost first, and their extents."""

Materialise = Callable[[t.Comprehension], t.Comprehension]
"""Makes a value a tensor of its own; the value that reads it."""


Spelling = tuple[tuple[Index, ...], str, t.Term]
"""Shape, element type and element of a value, with its variables named by their axes."""


class Unbounded(Exception):
    """The longest range of a fold is not known."""


@dataclass
class Separation:
    """What has been made a tensor so far, by the value it is."""

    materialise: Materialise
    dtype_of: Callable[[str], str]
    """The element type of a tensor."""
    in_a_row: Materialise
    """The same, as a tensor whose elements lie in a row."""
    made: dict[tuple[Spelling, bool], t.Comprehension] = field(
        default_factory=dict[tuple[Spelling, bool], t.Comprehension]
    )

    def separated(self, value: t.Comprehension) -> t.Comprehension:
        """The value with folds at its root only, over expressions of elements; Unbounded where a range has no bound."""
        extents = dict(zip(value.variables, value.shape, strict=True))
        # Truth values that are compared with truth values are conditions.
        plain = Guards(lambda _, c: False).term(value.body, ())
        scan = scan_of(plain, extents)
        if scan is not None:
            inside = {**extents, scan.var: extents[scan.along]}
            around = [v for v in inside if v != scan.along]
            rows = [self.row(self.flat(part, inside), inside, scan.var, around) for part in scan.parts]
            return replace(value, body=scan.with_parts(tuple(rows)).term)
        body, inside = self.root(plain, extents)
        return replace(value, body=self.factored(value, body, inside))

    def root(self, x: t.Term, extents: Extents) -> tuple[t.Term, Extents]:
        """A term whose folds at the root stay; and what its innermost body stands in."""
        if isinstance(x, t.Fold):
            extent, guard = bounded(x, extents)
            inner = {**extents, x.var: extent}
            body, inside = x.body, inner
            if isinstance(body, t.Fold) and body.monoid == x.monoid and guard == t.TRUE:
                body, inside = self.root(body, inner)
            else:
                body = t.select(guard, self.flat(body, inner), neutral(x.monoid))
            return t.Fold(x.monoid, x.var, extent, body), inside
        return self.flat(x, extents), extents

    def flat(self, x: t.Term, extents: Extents) -> t.Term:
        """A term whose folds are tensors."""
        match x:
            case t.Fold():
                return self.read(x, extents, "f32")
            case _:
                made = t.with_parts(
                    x, lambda y: self.flat(y, extents), lambda c: t.with_sides(c, lambda y: self.flat(y, extents))
                )
                return positional(made) if isinstance(made, t.Apply) else made

    def row(self, x: t.Term, extents: Extents, v: Var, around: Sequence[Var]) -> t.Term:
        """A term as an element of a row along a variable, made for each place around it where it is none yet."""
        return x if _runs_along(x, v) else self.read(x, extents, "f32", *around, in_a_row=True)

    def read(self, x: t.Term, extents: Extents, dtype: str, *along: Var, in_a_row: bool = False) -> t.Term:
        """A term as an element of a tensor over the variables that it depends on, and over those along which it is to
        lie."""
        free = {*t.free_symbols(x), *along}
        variables = tuple(v for v in extents if v in free)
        shape = tuple(extents[v] for v in variables)
        names: dict[Size | Var, Index] = {v: of_var(Var(f"axis{n}")) for n, v in enumerate(variables)}
        key = (shape, dtype, spelled(x, names)), in_a_row
        if key not in self.made:
            make = self.in_a_row if in_a_row else self.materialise
            self.made[key] = make(t.Comprehension(shape, variables, x, dtype))
        return self.made[key].at([of_var(v) for v in variables])

    def factored(self, value: t.Comprehension, x: t.Term, inside: Extents) -> t.Term:
        """A sum of products whose factors depend on different kept variables, with two elements as factors."""
        folds: list[t.Fold] = []
        inner = x
        while isinstance(inner, t.Fold):
            folds.append(inner)
            inner = inner.body
        if not folds or any(f.monoid != "sum" for f in folds):
            return x
        factors = _factors(inner)
        kept = [v for v, n in zip(value.variables, value.shape, strict=True) if n != 1]
        sides = _sides(factors, kept)
        if sides is None or not all(_depend(side, [f.var for f in folds]) for side in sides):
            return x
        types = [self.dtype_of(s[0].tensor) if len(s) == 1 and isinstance(s[0], t.Read) else None for s in sides]
        operands: list[t.Term] = []
        for side, own, other in zip(sides, types, types[::-1], strict=True):
            product = reduce(lambda a, b: t.Apply("mul", (a, b)), side)
            # Zeros and ones are exact in every type: let a mask have that of the other operand.
            exact = other if other is not None and is_mask(product) else "f32"
            operands.append(product if own is not None else self.read(product, inside, exact))
        body: t.Term = t.Apply("mul", tuple(operands))
        for f in reversed(folds):
            body = t.Fold("sum", f.var, f.extent, body)
        return body


def _runs_along(x: t.Term, v: Var) -> bool:
    """Whether a term is an element whose neighbours in a row are those of the next values of a variable."""
    if not isinstance(x, t.Read):
        return False
    moving = [i for i in x.indices if v in i.symbols()]
    return len(moving) == 1 and v not in (moving[0] - of_var(v)).symbols()


def positional(x: t.Apply) -> t.Term:
    """Sums and products of positions as one position."""
    match x:
        case t.Apply("identity", (a,)):
            i = t.as_index(a)
        case t.Apply("neg", (a,)):
            i = t.as_index(t.Apply("sub", (t.ZERO, a)))
        case _:
            i = t.as_index(x)
    return x if i is None else t.index_value(i)


def bounded(x: t.Fold, extents: Extents) -> tuple[Index, t.Condition]:
    """The longest extent of a fold, over the variables around it, and when an element is in the fold's own range."""
    longest = x.extent
    for v in reversed(tuple(extents)):
        factor = longest.coefficient(v)
        if factor is None or factor.constant is None:
            raise Unbounded(str(x.extent))
        longest = longest.substitute({v: extents[v] - 1 if factor.constant > 0 else const(0)})
    return longest, t.TRUE if longest == x.extent else t.less(of_var(x.var), x.extent)


def neutral(monoid: str) -> t.Term:
    """The neutral element."""
    return t.number(MONOIDS[monoid].neutral)


def _factors(x: t.Term) -> list[t.Term]:
    """The factors of a product; a choice between a term and zero is a mask times the term."""
    match x:
        case t.Apply("mul", (a, b)):
            return [*_factors(a), *_factors(b)]
        case t.Apply("identity", (a,)):
            return _factors(a)
        case t.Select(c, a, b) if b is t.ZERO and a is not t.ONE:
            return [t.Select(c, t.ONE, t.ZERO), *_factors(a)]
        case t.Select(c, a, b) if a is t.ZERO and b is not t.ONE:
            return [t.Select(c, t.ZERO, t.ONE), *_factors(b)]
        case _:
            return [x]


def _sides(factors: list[t.Term], kept: list[Var]) -> tuple[list[t.Term], list[t.Term]] | None:
    """The factors in two groups that share no kept variable but those that all have; None where there are none."""
    own = [{v for v in kept if v in t.free_symbols(f)} for f in factors]
    placed = [o for o in own if o]
    if len(placed) < 2:
        return None
    batch = set[Var].intersection(*placed)
    groups: list[tuple[set[Var], list[int]]] = []
    for n, variables in enumerate(own):
        alone = variables - batch
        if not alone:
            continue
        met = [g for g in groups if g[0] & alone]
        groups = [g for g in groups if g not in met]
        groups.append((alone.union(*(g[0] for g in met)), [i for g in met for i in g[1]] + [n]))
    if len(groups) < 2:
        return None
    groups.sort(key=lambda g: min(g[1]))
    left = set(groups[0][1])
    rest = {i for _, members in groups[1:] for i in members}
    # What depends on no kept variable but the common ones goes with the left.
    return [f for n, f in enumerate(factors) if n in left or n not in rest], [factors[n] for n in sorted(rest)]


def _depend(side: list[t.Term], variables: list[Var]) -> bool:
    return all(any(v in t.free_symbols(f) for f in side) for v in variables)


def is_mask(x: t.Term) -> bool:
    """Whether a term is always 0 or 1."""
    match x:
        case t.Const():
            return x in (t.ZERO, t.ONE)
        case t.Select(_, a, b):
            return is_mask(a) and is_mask(b)
        case t.Apply("mul", (a, b)):
            return is_mask(a) and is_mask(b)
        case _:
            return False
