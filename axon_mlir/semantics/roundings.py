# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The rounding ledger: how often a value is rounded to a narrow type on its way, and how wide sums are accumulated.

A lowering step may drop a rounding or widen an accumulator, never add one or narrow. The walk knows no dialect: an
operation rounds when its result's element type is narrow, unless it only moves elements of that very type; loops are
operations with `inits`, `carried`, `yielded` and `kinds`; `outs` with `accumulate` is a destination that is added to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from xdsl.dialects.builtin import IndexType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from axon_mlir.errors import AxonError
from axon_mlir.semantics import terms as t
from axon_mlir.semantics.denotation import Denoter, dtype_of
from axon_mlir.semantics.functions import FUNCTIONS, MONOIDS
from axon_mlir.semantics.index import Index, size
from axon_mlir.semantics.shapes import shape_of
from axon_mlir.semantics.walk import subterms

NARROW = ("bf16", "f16", "f8E4M3", "f8E4M3FN", "f8E5M2")
"""Float types whose rounding is counted."""
BITS = {"f64": 53, "f32": 24, "f16": 11, "bf16": 8, "f8E4M3": 4, "f8E4M3FN": 4, "f8E5M2": 3}
_EXACT = 1 << 30
ACCUMULATING = ("sum", "prod")
"""Folds that round at each step."""


@dataclass(frozen=True)
class Entry:
    """Roundings per narrow type on the worst path, and the bits of the narrowest accumulator on any.

    `fits`: narrow types that hold the value exactly, whatever type it is kept in; rounding to them changes nothing.
    `constant`: the number that every element is, where that is known.
    """

    roundings: Mapping[str, int] = field(default_factory=dict[str, int])
    accumulator: int = _EXACT
    fits: frozenset[str] = frozenset(NARROW)
    constant: t.Const | None = None

    def join(self, other: Entry) -> Entry:
        """The worse of both."""
        keys = sorted({*self.roundings, *other.roundings})
        worst = {k: max(self.roundings.get(k, 0), other.roundings.get(k, 0)) for k in keys}
        return Entry(worst, min(self.accumulator, other.accumulator), self.fits & other.fits)

    def rounded(self, dtype: str | None) -> Entry:
        """After one more rounding to a type."""
        if dtype not in NARROW:
            return Entry(self.roundings, self.accumulator, frozenset())
        return Entry({**self.roundings, dtype: self.roundings.get(dtype, 0) + 1}, self.accumulator, frozenset({dtype}))

    def accumulated(self, dtype: str | None) -> Entry:
        """After a sum that is kept in a type."""
        return Entry(self.roundings, min(self.accumulator, BITS.get(dtype or "f32", _EXACT)), frozenset())


def ledger(func: FuncOp) -> list[Entry]:
    """The entry of each result of a function."""
    walk = _Walk()
    for arg in func.body.block.args:
        walk.values[arg] = Entry(fits=frozenset({dtype_of(arg.type) or ""} & set(NARROW)))
    return walk.block(func.body.block)


class _Walk:
    def __init__(self) -> None:
        self.values: dict[SSAValue, Entry] = {}

    def entry(self, v: SSAValue) -> Entry:
        return self.values.get(v, Entry())

    def block(self, block: Block) -> list[Entry]:
        """Walk a block; the entries of what its terminator passes on."""
        for op in block.ops:
            if op is block.last_op and (isinstance(op, ReturnOp) or not op.results):
                return [self.entry(v) for v in op.operands]
            self.operation(op)
        return []

    def operation(self, op: Operation) -> None:
        if op.regions and hasattr(op, "inits"):
            self.loop(op)
            return
        joined = Entry()
        for v in op.operands:
            joined = joined.join(self.entry(v))
        if op.regions:
            for region in op.regions:
                for block in region.blocks:
                    for passed in self.block(block):
                        joined = joined.join(passed)
            for r in op.results:
                self.values[r] = joined
            return
        elements = _elements(op)
        for n, r in enumerate(op.results):
            dtype = dtype_of(r.type)
            if dtype is None:
                continue
            element = elements[n] if elements is not None else None
            if element is not None:
                element = self.known(element, op)
            result = joined
            if element is not None and _sums(element):
                # Inside one operation sums are kept in f32.
                result = result.accumulated("f32")
            if element is None or _accumulates(element, op):
                result = result.accumulated(dtype)
            moved = _moved(element) if element is not None else None
            if moved is None:
                result = result.rounded(dtype)
            else:
                # What a choice is made by is not passed on.
                sources = [v for n, v in enumerate(op.operands) if _name(n) in moved]
                fits = frozenset(NARROW).intersection(*(self.entry(v).fits for v in sources))
                same = all(dtype_of(v.type) in (dtype, "index", None) for v in sources)
                if dtype not in NARROW:
                    result = replace(result, fits=fits)
                elif not (same or dtype in fits):
                    result = result.rounded(dtype)
                else:
                    result = replace(result, fits=fits | {dtype})
            self.values[r] = replace(result, constant=element) if isinstance(element, t.Const) else result

    def known(self, element: t.Term, op: Operation) -> t.Term:
        """An element with operands that are constants as numbers: a sum with zeros moves the other operand."""
        constants = {_name(n): c for n, v in enumerate(op.operands) if (c := self.entry(v).constant) is not None}
        return t.replace_reads(element, constants, lambda r: constants[r.tensor])

    def loop(self, op: Operation) -> None:
        """Carried values pass through the body; a body that rounds what it carries does so in every iteration."""
        parts = cast(Any, op)
        inits: Sequence[SSAValue] = tuple(parts.inits)
        carried: Sequence[SSAValue] = tuple(parts.carried)
        kinds = [k.data for k in parts.kinds.data] if hasattr(parts, "kinds") else ["carry"] * len(inits)
        start = [self.entry(v) for v in inits]
        for arg, e in zip(carried, start, strict=True):
            # Only the first iteration finds what the value was before the loop.
            self.values[arg] = replace(e, constant=None)
        body: Block = parts.body.block
        first = self.block(body)
        for r, e, kind, init in zip(op.results, first, kinds, inits, strict=True):
            dtype = dtype_of(init.type)
            if kind in ACCUMULATING:
                e = e.accumulated(dtype)
            self.values[r] = e


def _elements(op: Operation) -> list[t.Term] | None:
    """What the elements of the results are, as terms over reads of the operands; None when that is not known."""
    for shape_of_type in (_declared, _uniform):
        walk = Denoter()
        for n, v in enumerate(op.operands):
            if dtype_of(v.type) is None:
                walk.values[v] = (
                    size(f"operand{n}") if isinstance(v.type, IndexType) else walk.input(_name(n), (), None)
                )
            else:
                walk.values[v] = walk.input(_name(n), shape_of_type(v.type), dtype_of(v.type))
        try:
            walk.operation(op)
            return [c.body if isinstance(c := walk.values.get(r), t.Comprehension) else t.ZERO for r in op.results]
        except (AxonError, ValueError, KeyError):
            # The operands' extents are not in their types, and the bounds there do not fit each other.
            continue
    return None


def _name(n: int) -> str:
    return f"operand{n}"


def _declared(type_: Attribute) -> tuple[Index, ...]:
    upper: tuple[Index, ...] | None = getattr(type_, "upper", None)
    return shape_of(type_) if upper is None else upper


def _uniform(type_: Attribute) -> tuple[Index, ...]:
    """One size for every axis that is not 1."""
    return tuple(d if d == 1 else size("any") for d in _declared(type_))


def _sums(x: t.Term) -> bool:
    return any(isinstance(y, t.Fold) and y.monoid in ACCUMULATING for y in subterms(x))


def _accumulates(x: t.Term, op: Operation) -> bool:
    """Whether a result is a destination to which something is added."""
    outs = getattr(op, "outs", None)
    if not isinstance(outs, SSAValue):
        return False
    own = {_name(n) for n, v in enumerate(op.operands) if v is outs}
    functions = {MONOIDS[m].function for m in ACCUMULATING}
    return (
        isinstance(x, t.Apply)
        and x.function in functions
        and any(isinstance(a, t.Read) and a.tensor in own for a in x.args)
    )


def _moved(x: t.Term) -> frozenset[str] | None:
    """The operands of which a term is an element, if it is one (or a number); None where it computes."""
    match x:
        case t.Read(name):
            return frozenset({name})
        case t.Const() | t.IndexValue() | t.Apply("div", (t.Const(), t.Const())):
            # A fraction, as a meaning spells it, is a number.
            return frozenset()
        case t.Apply(f, (a, b)) if (unit := _neutral(f)) is not None and unit in (a, b):
            return _moved(b if a is unit else a)
        case t.Apply(f, (a,)) if FUNCTIONS[f].copies:
            return _moved(a)
        case t.Select(_, a, b):
            here, there = _moved(a), _moved(b)
            return None if here is None or there is None else here | there
        case _:
            return None


def _neutral(function: str) -> t.Const | None:
    """The number that a function leaves its other argument alone with."""
    return next((t.number(m.neutral) for m in MONOIDS.values() if m.function == function), None)
