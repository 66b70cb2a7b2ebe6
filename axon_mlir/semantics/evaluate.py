# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values of terms: vectorised over the whole index space of a result.

Every index variable owns one axis. A fold's axis is put in front, so that arrays that do not depend on it broadcast.
Sums of products of plain reads go to `Domain.einsum`, running folds to `Domain.scan`, affine recurrences to
`Domain.recurrence`, and the one element at a position is looked up; all of this only accelerates what the general walk
computes.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np

from axon_mlir.semantics import terms as t
from axon_mlir.semantics.domains import Domain
from axon_mlir.semantics.functions import MONOIDS
from axon_mlir.semantics.index import Index, Size, Var, evaluate, of_var
from axon_mlir.semantics.scans import recurrence_of


def evaluate_comprehension(
    value: t.Comprehension, arrays: Mapping[str, np.ndarray], sizes: Mapping[str, int], domain: Domain
) -> np.ndarray:
    """The whole tensor. `arrays` are the inputs by name, `sizes` the symbols' numbers."""
    env: dict[Size | Var, int] = {Size(n): v for n, v in sizes.items()}
    shape = tuple(int(evaluate(d, env)) for d in value.shape)
    walk = _Walk(arrays, env, domain)
    rank = len(shape)
    for n, v in enumerate(value.variables):
        walk.axes[v] = (rank - n, shape[n])
    walk.depth = rank
    out = walk.term(value.body)
    return np.array(np.broadcast_to(out, shape), order="C")


class _Walk:
    def __init__(self, arrays: Mapping[str, np.ndarray], env: Mapping[Size | Var, int], domain: Domain):
        self.arrays = arrays
        self.env = dict(env)
        self.domain = domain
        self.axes: dict[Var, tuple[int, int]] = {}
        """Variable -> (axis counted from the end, extent)."""
        self.depth = 0
        self.memo: dict[tuple[t.Term, int], np.ndarray] = {}

    def grid(self, v: Var) -> np.ndarray:
        axis, extent = self.axes[v]
        return np.arange(extent).reshape((extent,) + (1,) * (axis - 1))

    def index(self, i: Index) -> int | np.ndarray:
        env: dict[Size | Var, int | np.ndarray] = {}
        for s in i.symbols():
            env[s] = self.grid(s) if isinstance(s, Var) and s in self.axes else self.env[s]
        return evaluate(i, env)

    def term(self, x: t.Term) -> np.ndarray:
        key = (x, self.depth)
        found = self.memo.get(key)
        if found is None:
            found = self._term(x)
            self.memo[key] = found
        return found

    def _term(self, x: t.Term) -> np.ndarray:
        match x:
            case t.Const(v):
                return self.domain.constant(v)
            case t.IndexValue(i):
                return self.domain.integers(self.index(i))
            case t.Read(name, indices):
                return self.read(self.arrays[name], indices)
            case t.Apply(f, args):
                return self.domain.apply(f, [self.term(a) for a in args])
            case t.Select(c, a, b):
                return self.select(c, a, b)
            case t.Fold():
                fast = self.contraction(x) if x.monoid == "sum" else None
                for quick in (self.running, self.pick):
                    fast = fast if fast is not None else quick(x)
                return fast if fast is not None else self.fold(x)

    def fold(self, x: t.Fold) -> np.ndarray:
        extent = self.index(x.extent)
        ragged = not isinstance(extent, int)
        longest = max(0, int(np.max(extent, initial=0)) if ragged else int(extent))
        with self.axis(x.var, longest):
            body = self.along(x.body, longest)
            if ragged:
                body = np.where(self.grid(x.var) < extent, body, self.neutral(x.monoid))
        return self.domain.fold(x.monoid, body)

    def running(self, x: t.Fold) -> np.ndarray | None:
        """A fold of all elements up to where the result stands, `fold(j < i + 1: ...)`, or before it; None when it is
        something else."""
        v = next((s for s in x.extent.symbols() if isinstance(s, Var) and s in self.axes), None)
        beyond = None if v is None else (x.extent - of_var(v)).constant
        if v is None or beyond not in (0, 1):
            return None
        axis, extent = self.axes[v]
        parts = recurrence_of(x, v)
        if parts is None and v in t.free_symbols(x.body):
            return None
        with self.axis(x.var, extent):
            if parts is None:
                scanned = self.domain.scan(x.monoid, self.along(x.body, extent))
            else:
                scanned = self.domain.recurrence(*(self.along(p, extent) for p in parts))
        if beyond == 0:
            scanned = np.concatenate([np.broadcast_to(self.neutral(x.monoid), scanned[:1].shape), scanned[:-1]])
        # What lies in front belongs where the result's index does.
        return np.swapaxes(scanned, 0, scanned.ndim - axis)[0]

    def pick(self, x: t.Fold) -> np.ndarray | None:
        """The element at a position, `sum(k < n: if position == k then ... else 0)`; None when it is something else."""
        extent = self.index(x.extent)
        at = _position(x)
        if at is None or not isinstance(extent, int) or extent < 1:
            return None
        position, element = at
        found = self.domain.positions(self.term(position))
        with self.axis(x.var, extent):
            elements = self.along(element, extent)
        rest = elements.shape[1:]
        # Axes along which all elements are the same are read at 0.
        places: Sequence[np.ndarray] = np.ogrid[tuple(slice(n) for n in rest)]
        grids = [place if n > 1 else 0 for place, n in zip(places, rest, strict=True)]
        inside = (found >= 0) & (found < extent)
        return np.where(inside, elements[(np.where(inside, found, 0), *grids)], self.neutral("sum"))

    def neutral(self, monoid: str) -> np.ndarray:
        """The value of a fold of nothing."""
        neutral = MONOIDS[monoid].neutral
        return self.domain.constant(str(neutral) if np.isinf(neutral) else t.decimal(neutral))

    @contextmanager
    def axis(self, v: Var, extent: int) -> Generator[None]:
        """An axis for a variable, in front of the others."""
        self.depth += 1
        self.axes[v] = (self.depth, extent)
        yield
        del self.axes[v]
        self.memo = {k: found for k, found in self.memo.items() if k[1] < self.depth}
        self.depth -= 1

    def along(self, x: t.Term, extent: int) -> np.ndarray:
        """A term with an axis of its own for the variable that was added last."""
        out = self.term(x)
        return np.broadcast_to(out, (extent, *np.broadcast_shapes(out.shape, (1,) * self.depth)[1:]))

    def select(self, c: t.Condition, a: t.Term, b: t.Term) -> np.ndarray:
        where = self.condition(c)
        if np.all(where):
            return self.term(a)
        if not np.any(where):
            return self.term(b)
        return np.where(where, self.term(a), self.term(b))

    def condition(self, c: t.Condition) -> np.ndarray:
        match c:
            case t.IndexCompare(r, a, b):
                x, y = np.asarray(self.index(a)), np.asarray(self.index(b))
                return x < y if r == "<" else x <= y if r == "<=" else x == y
            case t.RealCompare(r, a, b):
                return self.domain.compare(r, self.term(a), self.term(b))
            case t.And(parts):
                out = np.asarray(True)
                for p in parts:
                    out = out & self.condition(p)
                return out
            case t.Or(parts):
                out = np.asarray(False)
                for p in parts:
                    out = out | self.condition(p)
                return out
            case t.Not(p):
                return ~self.condition(p)

    def read(self, array: np.ndarray, indices: tuple[Index, ...]) -> np.ndarray:
        atoms = [i.atom for i in indices]
        plain = [a for a in atoms if isinstance(a, Var) and a in self.axes]
        numbers = all(
            isinstance(a, Var) or (i.constant is not None and 0 <= i.constant < n)
            for a, i, n in zip(atoms, indices, array.shape, strict=True)
        )
        if (
            numbers
            and len(set(plain)) == len(plain)
            and all(
                self.axes[a][1] == array.shape[n] for n, a in enumerate(atoms) if isinstance(a, Var) and a in self.axes
            )
            and len(plain) == sum(i.constant is None for i in indices)
        ):
            view = np.asarray(array[tuple(slice(None) if i.constant is None else i.constant for i in indices)])
            order = sorted(range(len(plain)), key=lambda n: -self.axes[plain[n]][0])
            shape = [1] * self.depth
            for a in plain:
                shape[self.depth - self.axes[a][0]] = self.axes[a][1]
            return view.transpose(order).reshape(shape)
        at = tuple(self.index(i) for i in indices)
        # An index outside the tensor is only legal in a branch that is not taken: clip, the select discards it.
        return array[tuple(np.clip(i, 0, n - 1) for i, n in zip(at, array.shape, strict=True))]

    def contraction(self, x: t.Fold) -> np.ndarray | None:
        """A sum of products of plain reads, as an einsum; None when it is something else."""
        summed: dict[Var, int] = {}
        body: t.Term = x
        while isinstance(body, t.Fold) and body.monoid == "sum":
            if body.extent.depends_on(set(summed)):
                return None
            extent = self.index(body.extent)
            if not isinstance(extent, int) or extent < 1:
                return None
            summed[body.var] = extent
            body = body.body
        factors: list[t.Read] = []
        if not _factors(body, factors):
            return None
        letters: dict[Var, str] = {}
        specs: list[str] = []
        views: list[np.ndarray] = []
        for f in factors:
            array = self.arrays[f.tensor]
            spec = ""
            for n, i in enumerate(f.indices):
                a = i.atom
                if i.constant is not None:
                    if not 0 <= i.constant < array.shape[n]:
                        return None
                    continue
                if not isinstance(a, Var) or (a not in summed and a not in self.axes):
                    return None
                if (summed[a] if a in summed else self.axes[a][1]) != array.shape[n]:
                    return None
                spec += letters.setdefault(a, chr(ord("a") + len(letters)))
            if len(set(spec)) != len(spec):
                return None
            views.append(array[tuple(slice(None) if i.constant is None else i.constant for i in f.indices)])
            specs.append(spec)
        if any(v not in letters for v in summed):
            return None
        kept = sorted((v for v in letters if v not in summed), key=lambda v: -self.axes[v][0])
        out = self.domain.einsum(f"{','.join(specs)}->{''.join(letters[v] for v in kept)}", views)
        shape = [1] * self.depth
        for v in kept:
            shape[self.depth - self.axes[v][0]] = self.axes[v][1]
        return out.reshape(shape)


def _position(x: t.Fold) -> tuple[t.Term, t.Term] | None:
    """(position, element) of `sum(k < n: if position == k then element else 0)`."""
    body = x.body
    if x.monoid != "sum" or not isinstance(body, t.Select) or body.otherwise is not t.ZERO:
        return None
    c = body.condition
    if not isinstance(c, t.RealCompare) or c.relation != "==":
        return None
    own = t.index_value(of_var(x.var))
    for position, other in ((c.left, c.right), (c.right, c.left)):
        if other is own and x.var not in t.free_symbols(position):
            return position, body.then
    return None


def _factors(x: t.Term, out: list[t.Read]) -> bool:
    match x:
        case t.Read():
            out.append(x)
            return True
        case t.Apply("mul", args):
            return all(_factors(a, out) for a in args)
        case t.Apply("square", (a,)):
            return _factors(a, out) and _factors(a, out)
        case _:
            return False
