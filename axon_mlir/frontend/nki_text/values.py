# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the expressions of a kernel stand for: integers as index terms, numbers as scalar terms, tensors as regions of
storages, names of the kernel language as symbols."""

from __future__ import annotations

import ast
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Union

from axon_mlir.errors import UnsupportedError
from axon_mlir.semantics import terms as t
from axon_mlir.semantics.index import Div, Index, Min, Size, Var, const, floor_div, minimum, of_var
from axon_mlir.targets import Rows


@dataclass(frozen=True)
class Symbol:
    """A name of the kernel language, dotted: `nl.add`, `nisa.engine.vector`."""

    text: str


@dataclass(frozen=True)
class Real:
    """A number that depends on sizes."""

    term: t.Term


numbers.Real.register(Real)


@dataclass(frozen=True)
class Flag:
    """A truth value that depends on sizes or on the iteration."""

    condition: t.Condition


@dataclass(frozen=True)
class Function:
    """A function of the kernel file."""

    node: ast.FunctionDef


@dataclass(frozen=True)
class Slice:
    """`start:stop` of an axis; None where it is left open."""

    start: Index | None
    stop: Index | None


@dataclass(frozen=True)
class Range:
    """What a loop runs over."""

    lower: Index
    upper: Index
    step: Index


@dataclass(frozen=True)
class Frame:
    """A region of an on-chip storage: offsets and sizes along partitions and the free axis."""

    offsets: tuple[Index, Index]
    sizes: tuple[Index, Index]

    def symbols(self) -> frozenset[Size | Var]:
        """All sizes and variables that occur."""
        return frozenset[Size | Var]().union(*(x.symbols() for x in (*self.offsets, *self.sizes)))


@dataclass(eq=False)
class Storage:
    """One piece of memory: an argument, or what one `nl.ndarray` makes.

    On chip a third axis in the middle counts chunks of `shape[0]` partitions each; `chunk * shape[0] + partition` is
    the row of the tile that stands for it.
    """

    label: str
    space: str
    shape: tuple[Index, ...]
    dtype: str
    scalar: bool = False
    """A tensor of rank 0 that the kernel sees as one of shape (1, 1)."""

    @property
    def on_chip(self) -> bool:
        return self.space != "hbm"

    @property
    def whole(self) -> Frame:
        """All of an on-chip storage."""
        rows = self.shape[0] * self.shape[1] if len(self.shape) == 3 else self.shape[0]
        return Frame((const(0), const(0)), (rows, self.shape[-1]))


@dataclass(frozen=True)
class View:
    """A region of a storage as an operand: an offset per axis (on chip: partition and free), the tile axis that each
    runs along, and the sizes along the two tile axes. `sizes` is None for a tensor that is no operand as it is. `steps`
    says how far the next element lies along each axis, if not everywhere 1."""

    storage: Storage
    offsets: tuple[Index, ...]
    axes: tuple[int | None, ...]
    sizes: tuple[Index, Index] | None
    shape: tuple[Index, ...]
    whole: bool = False
    steps: tuple[int, ...] = ()

    @property
    def frame(self) -> Frame:
        """The region of an on-chip storage."""
        assert self.sizes is not None and len(self.offsets) == 2
        return Frame((self.offsets[0], self.offsets[1]), self.sizes)


Value = Union[
    Index,
    Fraction,
    Real,
    Flag,
    bool,
    None,
    str,
    Symbol,
    View,
    Function,
    Slice,
    Range,
    Rows,
    "tuple[Value, ...]",
    "Poison",
]


@dataclass(frozen=True)
class Poison:
    """A variable whose value is another iteration's: it may not be read."""

    line: int


def whole_view(storage: Storage) -> View:
    """All of a storage."""
    shape = storage.shape
    if storage.on_chip:
        frame = storage.whole
        return View(storage, frame.offsets, (0, 1), frame.sizes if len(shape) == 2 else None, shape, whole=True)
    if storage.scalar:
        return View(storage, (), (), (const(1), const(1)), shape, whole=True)
    rank = len(shape)
    zero = tuple(const(0) for _ in shape)
    if rank == 2:
        return View(storage, zero, (0, 1), (shape[0], shape[1]), shape, whole=True)
    return View(storage, zero, (None,) * rank, None, shape, whole=True)


def upper_bound(term: Index, trips: Sequence[tuple[Var, Index]] = ()) -> Index | None:
    """A bound over sizes alone; None where none is seen. `trips`: how often the loops around run, innermost first."""
    if not any(isinstance(s, Var) for s in term.symbols()):
        return term
    choices = _larger(term)
    if choices:
        found = [c for c in (upper_bound(choice, trips) for choice in choices) if c is not None]
        return minimum(*found) if found else None
    for counter, count in trips:
        factor = term.coefficient(counter)
        if factor is None:
            return None
        if positive(factor):
            term = term + factor * (count - 1 - of_var(counter))
        elif positive(-factor):
            term = term - factor * of_var(counter)
    return None if any(isinstance(s, Var) for s in term.symbols()) else term


def _larger(term: Index) -> list[Index]:
    """Terms that are each at least this one: a minimum in it, also one that is divided, replaced by what it is of."""
    for monomial, coefficient in term.terms:
        if coefficient < 1 or len(monomial) != 1:
            continue
        rest = term - Index({monomial: coefficient})
        match monomial[0]:
            case Min(args):
                return [rest + coefficient * a for a in (const(0), *args)]
            case Div(numerator, denominator) if positive(denominator):
                return [rest + coefficient * floor_div(n, denominator) for n in _larger(numerator)]
            case _:
                pass
    return []


def positive(term: Index) -> bool:
    """Whether a term is at least 1 by signs alone, sizes being at least 1."""
    if not term.terms:
        return False
    total = 0
    for monomial, coefficient in term.terms:
        if any(not isinstance(a, Size) for a in monomial) or coefficient < 0:
            return False
        total += coefficient
    return total >= 1


def number_term(value: object) -> t.Term | None:
    """A Python number as a scalar term."""
    match value:
        case Real(term):
            return term
        case Index():
            return t.index_value(value)
        case Fraction():
            return t.Const(value)
        case _:
            return None


def settled(term: t.Term) -> Fraction | Real:
    """A number, as a fraction when it is constant."""
    if isinstance(term, t.Const) and isinstance(term.value, Fraction):
        return term.value
    return Real(term)


def unsupported(message: str, where: str, accepted: str | None = None) -> UnsupportedError:
    """The text is fine, but it is outside what is read."""
    return UnsupportedError(message, where=where, accepted=accepted)


SCALAR_NAMES: Mapping[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.Pow: "power",
}
"""Python operator -> scalar function."""
