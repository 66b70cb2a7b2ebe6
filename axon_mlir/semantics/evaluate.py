# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values of terms: vectorised over the whole index space of a result.

Every index variable owns one axis. A fold's axis is put in front, so that arrays that do not depend on it broadcast.
Sums of products of plain reads go to `Domain.einsum`, running folds to `Domain.scan`, affine recurrences to
`Domain.recurrence`, and the one element at a position is looked up; all of this only accelerates what the general walk
computes.

What follows from shapes alone (where elements are read, which conditions on indices hold) is found once, by `stage`;
its result is run as often as there are arrays of these shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np

from axon_mlir.semantics import terms as t
from axon_mlir.semantics.domains import Domain
from axon_mlir.semantics.functions import MONOIDS
from axon_mlir.semantics.index import Index, Size, Var, evaluate, of_var
from axon_mlir.semantics.scans import recurrence_of

Arrays = Mapping[str, np.ndarray]
"""The inputs by name."""


def evaluate_comprehension(
    value: t.Comprehension, arrays: Arrays, sizes: Mapping[str, int], domain: Domain
) -> np.ndarray:
    """The whole tensor. `arrays` are the inputs by name, `sizes` the symbols' numbers."""
    staged = stage(value, {name: array.shape for name, array in arrays.items()}, sizes, domain)
    return np.array(staged(arrays), order="C")


def stage(
    value: t.Comprehension, shapes: Mapping[str, tuple[int, ...]], sizes: Mapping[str, int], domain: Domain
) -> Callable[[Arrays], np.ndarray]:
    """What computes the whole tensor from inputs of these shapes; its result may be a view of an input."""
    env: dict[Size | Var, int] = {Size(n): v for n, v in sizes.items()}
    shape = tuple(int(evaluate(d, env)) for d in value.shape)
    walk = _Stage(shapes, env, domain)
    rank = len(shape)
    for n, v in enumerate(value.variables):
        walk.axes[v] = (rank - n, shape[n])
    walk.depth = rank
    code = walk.term(value.body)

    def staged(arrays: Arrays) -> np.ndarray:
        out = code(_Run(arrays))
        return out if out.shape == shape else np.broadcast_to(out, shape)

    return staged


class _Run:
    """One evaluation: the inputs, and what of several uses is known already."""

    __slots__ = ("arrays", "known")

    def __init__(self, arrays: Arrays):
        self.arrays = arrays
        self.known: dict[_Node, np.ndarray] = {}


Code = Callable[[_Run], np.ndarray]


class _Node:
    """What computes a term; one that several terms share is computed once a run."""

    __slots__ = ("code", "shared")

    def __init__(self, code: Code):
        self.code = code
        self.shared = False

    def __call__(self, run: _Run) -> np.ndarray:
        if not self.shared:
            return self.code(run)
        found = run.known.get(self)
        if found is None:
            found = run.known[self] = self.code(run)
        return found


def _always(value: np.ndarray) -> Code:
    return lambda run: value


class _Stage:
    def __init__(self, shapes: Mapping[str, tuple[int, ...]], env: Mapping[Size | Var, int], domain: Domain):
        self.shapes = shapes
        self.env = dict(env)
        self.domain = domain
        self.axes: dict[Var, tuple[int, int]] = {}
        """Variable -> (axis counted from the end, extent)."""
        self.depth = 0
        self.memo: dict[tuple[t.Term, int], _Node] = {}

    def grid(self, v: Var) -> np.ndarray:
        axis, extent = self.axes[v]
        return np.arange(extent).reshape((extent,) + (1,) * (axis - 1))

    def index(self, i: Index) -> int | np.ndarray:
        env: dict[Size | Var, int | np.ndarray] = {}
        for s in i.symbols():
            env[s] = self.grid(s) if isinstance(s, Var) and s in self.axes else self.env[s]
        return evaluate(i, env)

    def term(self, x: t.Term) -> Code:
        key = (x, self.depth)
        found = self.memo.get(key)
        if found is None:
            found = self.memo[key] = _Node(self._term(x))
        else:
            found.shared = True
        return found

    def _term(self, x: t.Term) -> Code:
        match x:
            case t.Const(v):
                return _always(self.domain.constant(v))
            case t.IndexValue(i):
                return _always(self.domain.integers(self.index(i)))
            case t.Read(name, indices):
                return self.read(name, indices)
            case t.Apply(f, args):
                apply = self.domain.apply
                codes = [self.term(a) for a in args]
                return lambda run: apply(f, [code(run) for code in codes])
            case t.Select(c, a, b):
                return self.select(c, a, b)
            case t.Fold():
                fast = self.contraction(x) if x.monoid == "sum" else None
                for quick in (self.running, self.pick):
                    fast = fast if fast is not None else quick(x)
                return fast if fast is not None else self.fold(x)

    def fold(self, x: t.Fold) -> Code:
        extent = self.index(x.extent)
        ragged = not isinstance(extent, int)
        longest = max(0, int(np.max(extent, initial=0)) if ragged else int(extent))
        with self.axis(x.var, longest):
            body, inside = self.along(x.body, longest), self.grid(x.var) < extent if ragged else None
        neutral, domain, monoid = self.neutral(x.monoid), self.domain, x.monoid
        if inside is not None:
            return lambda run: domain.fold(monoid, np.where(inside, body(run), neutral))
        return lambda run: domain.fold(monoid, body(run))

    def running(self, x: t.Fold) -> Code | None:
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
            along = [self.along(p, extent) for p in ((x.body,) if parts is None else parts)]
        domain, monoid, neutral = self.domain, x.monoid, self.neutral(x.monoid)

        def code(run: _Run) -> np.ndarray:
            values = [part(run) for part in along]
            scanned = domain.scan(monoid, *values) if len(values) == 1 else domain.recurrence(*values)
            if beyond == 0:
                scanned = np.concatenate([np.broadcast_to(neutral, scanned[:1].shape), scanned[:-1]])
            # What lies in front belongs where the result's index does.
            return np.swapaxes(scanned, 0, scanned.ndim - axis)[0]

        return code

    def pick(self, x: t.Fold) -> Code | None:
        """The element at a position, `sum(k < n: if position == k then ... else 0)`; None when it is something else."""
        extent = self.index(x.extent)
        at = _position(x)
        if at is None or not isinstance(extent, int) or extent < 1:
            return None
        position = self.term(at[0])
        with self.axis(x.var, extent):
            along = self.along(at[1], extent)
        domain, neutral = self.domain, self.neutral("sum")

        def code(run: _Run) -> np.ndarray:
            found, elements = domain.positions(position(run)), along(run)
            rest = elements.shape[1:]
            # Axes along which all elements are the same are read at 0.
            places: Sequence[np.ndarray] = np.ogrid[tuple(slice(n) for n in rest)]
            grids = [place if n > 1 else 0 for place, n in zip(places, rest, strict=True)]
            inside = (found >= 0) & (found < extent)
            return np.where(inside, elements[(np.where(inside, found, 0), *grids)], neutral)

        return code

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

    def along(self, x: t.Term, extent: int) -> Code:
        """A term with an axis of its own for the variable that was added last."""
        code, ones = self.term(x), (1,) * self.depth

        def broadcast(run: _Run) -> np.ndarray:
            out = code(run)
            return np.broadcast_to(out, (extent, *np.broadcast_shapes(out.shape, ones)[1:]))

        return broadcast

    def select(self, c: t.Condition, a: t.Term, b: t.Term) -> Code:
        where = self.condition(c)
        if not callable(where):
            if where.all():
                return self.term(a)
            if not where.any():
                return self.term(b)
            then, otherwise = self.term(a), self.term(b)
            return lambda run: np.where(where, then(run), otherwise(run))
        decide, then, otherwise = where, self.term(a), self.term(b)

        def code(run: _Run) -> np.ndarray:
            chosen = decide(run)
            # A branch that is taken nowhere may be undefined.
            if chosen.all():
                return then(run)
            return np.where(chosen, then(run), otherwise(run)) if chosen.any() else otherwise(run)

        return code

    def condition(self, c: t.Condition) -> np.ndarray | Code:
        """Where a condition holds: known already when it is one on indices."""
        match c:
            case t.IndexCompare(r, a, b):
                x, y = np.asarray(self.index(a)), np.asarray(self.index(b))
                return np.asarray(x < y if r == "<" else x <= y if r == "<=" else x == y)
            case t.RealCompare(r, a, b):
                left, right, compare = self.term(a), self.term(b), self.domain.compare
                return lambda run: np.asarray(compare(r, left(run), right(run)))
            case t.And(parts) | t.Or(parts):
                known, found = np.asarray(isinstance(c, t.And)), list[Code]()
                join: Callable[[np.ndarray, np.ndarray], np.ndarray]
                join = np.logical_and if isinstance(c, t.And) else np.logical_or
                for part in map(self.condition, parts):
                    if callable(part):
                        found.append(part)
                    else:
                        known = join(known, part)
                return (lambda run: _joined(join, known, [part(run) for part in found])) if found else known
            case t.Not(p):
                part = self.condition(p)
                return (lambda run: ~part(run)) if callable(part) else ~part

    def read(self, name: str, indices: tuple[Index, ...]) -> Code:
        shape = self.shapes[name]
        atoms = [i.atom for i in indices]
        plain = [a for a in atoms if isinstance(a, Var) and a in self.axes]
        numbers = all(
            isinstance(a, Var) or (i.constant is not None and 0 <= i.constant < n)
            for a, i, n in zip(atoms, indices, shape, strict=True)
        )
        if (
            numbers
            and len(set(plain)) == len(plain)
            and all(self.axes[a][1] == shape[n] for n, a in enumerate(atoms) if isinstance(a, Var) and a in self.axes)
            and len(plain) == sum(i.constant is None for i in indices)
        ):
            chosen = tuple(slice(None) if i.constant is None else i.constant for i in indices)
            order = sorted(range(len(plain)), key=lambda n: -self.axes[plain[n]][0])
            into = [1] * self.depth
            for a in plain:
                into[self.depth - self.axes[a][0]] = self.axes[a][1]
            if order == list(range(len(shape))) and tuple(into) == shape:
                return lambda run: run.arrays[name]
            return lambda run: np.asarray(run.arrays[name][chosen]).transpose(order).reshape(into)
        # An index outside the tensor is only legal in a branch that is not taken: clip, the select discards it.
        at = tuple(np.clip(self.index(i), 0, n - 1) for i, n in zip(indices, shape, strict=True))
        return lambda run: np.asarray(run.arrays[name][at])

    def contraction(self, x: t.Fold) -> Code | None:
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
        for f in factors:
            extents = self.shapes[f.tensor]
            spec = ""
            for n, i in enumerate(f.indices):
                a = i.atom
                if i.constant is not None:
                    if not 0 <= i.constant < extents[n]:
                        return None
                    continue
                if not isinstance(a, Var) or (a not in summed and a not in self.axes):
                    return None
                if (summed[a] if a in summed else self.axes[a][1]) != extents[n]:
                    return None
                spec += letters.setdefault(a, chr(ord("a") + len(letters)))
            if len(set(spec)) != len(spec):
                return None
            specs.append(spec)
        if any(v not in letters for v in summed):
            return None
        views = [
            (f.tensor, tuple(slice(None) if i.constant is None else i.constant for i in f.indices)) for f in factors
        ]
        kept = sorted((v for v in letters if v not in summed), key=lambda v: -self.axes[v][0])
        formula = f"{','.join(specs)}->{''.join(letters[v] for v in kept)}"
        shape = [1] * self.depth
        for v in kept:
            shape[self.depth - self.axes[v][0]] = self.axes[v][1]
        einsum = self.domain.einsum
        return lambda run: einsum(formula, [run.arrays[name][at] for name, at in views]).reshape(shape)


def _joined(
    join: Callable[[np.ndarray, np.ndarray], np.ndarray], known: np.ndarray, parts: Sequence[np.ndarray]
) -> np.ndarray:
    out = known
    for part in parts:
        out = join(out, part)
    return out


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
