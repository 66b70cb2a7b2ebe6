# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory as values: one scope per loop, in it the value that every storage holds.

A storage is read where it stands; a write makes a new value. A loop is executed for one iteration: a storage of
outside that it touches becomes an argument of its body, and what the iteration did to it says what kind of result it
is. `collect`: it wrote regions that move with the loop. A monoid: it combined. `carry`: it made all of it anew from
what it was. Anything else leaves undefined contents behind, which is less than what is known, never more.

A storage of which the iterations touch one and the same region only is carried as that region.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import FileLineColLoc, IndexType, IntAttr, StringAttr
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue

from axon_mlir.dialects.tile import EmptyOp, ExtractOp, ForOp, IndexOp, InsertOp, LoadOp, NeutralOp, StoreOp
from axon_mlir.dialects.tile.ops import CARRY, COLLECT, YieldOp
from axon_mlir.dialects.tile.types import TileType, tile_type
from axon_mlir.dialects.trn_isa import upper_number
from axon_mlir.errors import UnsupportedError
from axon_mlir.frontend.nki_text.values import Frame, Range, Storage, View, positive, upper_bound
from axon_mlir.semantics.functions import MONOIDS
from axon_mlir.semantics.index import Div, Index, Size, Var, ceil_div, const, fresh_var, maximum, minimum, of_var
from axon_mlir.semantics.shapes import tensor_type

OVERWRITE = "overwrite"
"""The whole storage was replaced."""


@dataclass(frozen=True)
class Update:
    """What happened to a storage: a monoid's name, `collect` (a region was replaced) or `overwrite`; where."""

    kind: str
    offsets: tuple[Index, ...]
    sizes: tuple[Index, ...]


@dataclass(frozen=True)
class Written:
    """The last write of a region: the storage's value before and after it, and the region's."""

    frame: Frame
    before: SSAValue
    value: SSAValue
    after: SSAValue
    update: Update


@dataclass
class Loop:
    """The loop of a scope. `start = lower + step * counter`, the counter running from 0; `value` is what the loop's
    variable holds, over the same counter."""

    name: str
    lower: Index
    upper: Index
    step: Index
    counter: Var
    value: Index
    bounds: tuple[SSAValue, SSAValue]
    counter_value: SSAValue | None = None
    runs: bool = False
    """It must run at least once."""
    resets: list[View] = field(default_factory=list[View])
    """Regions that its first iteration overwrites and that later ones add to."""

    @property
    def start(self) -> Index:
        return self.lower + self.step * of_var(self.counter)

    @property
    def extent(self) -> Index:
        return minimum(self.step, self.upper - self.start)


class Places:
    """Where operations come from: the line of the statement that is executed."""

    def __init__(self, name: str):
        self.name = name
        self.line = 0

    @property
    def where(self) -> str:
        return f"{self.name}:{self.line}"

    def location(self) -> FileLineColLoc:
        """The line as a location."""
        return FileLineColLoc(StringAttr(self.name), IntAttr(self.line), IntAttr(1))


class Scope:
    """A block under construction: the function's, or the body of a loop."""

    def __init__(self, places: Places, parent: Scope | None, loop: Loop | None, narrowed: dict[Storage, Frame]):
        self.places = places
        self.parent = parent
        self.loop = loop
        self.narrowed = narrowed
        self.block = Block(arg_types=[IndexType(), IndexType()] if loop is not None else [])
        self.local: set[Storage] = set()
        self.values: dict[Storage, SSAValue] = {}
        self.updates: dict[Storage, list[Update]] = {}
        self.touched: dict[Storage, Frame | None] = {}
        """The one region of an outer storage that was touched so far; None: several, or one that moves."""
        self._arguments: dict[Storage, BlockArgument] = {}
        self._last: dict[Storage, Written] = {}
        self._indices: dict[Index, SSAValue] = {}
        self._checked: set[Index] = set()

    # -- operations ---------------------------------------------------------------------------------------------------

    def add(self, op: Operation) -> Operation:
        """Append an operation of the current line."""
        op.location = self.places.location()
        self.block.add_op(op)
        return op

    def around(self) -> list[Scope]:
        """This scope and those around it, innermost first."""
        out: list[Scope] = [self]
        while out[-1].parent is not None:
            out.append(out[-1].parent)
        return out

    def index(self, term: Index) -> SSAValue:
        """The value of an index term."""
        for scope in self.around():
            found = scope._indices.get(term)
            if found is not None:
                return found
        value = self._index(term)
        self._indices[term] = value
        return value

    def _index(self, term: Index) -> SSAValue:
        loops = {s.loop.counter: s for s in self.around() if s.loop is not None}
        for scope in loops.values():
            assert scope.loop is not None
            if term == scope.loop.start:
                return scope.block.args[0]
            if term == scope.loop.extent:
                return scope.block.args[1]
        names: list[str] = []
        operands: list[SSAValue] = []
        binding: dict[Size | Var, Index] = {}
        taken = {str(s) for s in term.symbols()}
        for v in sorted((s for s in term.symbols() if isinstance(s, Var)), key=str):
            scope = loops.get(v)
            if scope is None:
                raise UnsupportedError("an index of a loop that is over", where=self.places.where)
            name = f"i{len(names)}"
            while name in taken:
                name += "_"
            names.append(name)
            operands.append(scope.counter_value())
            # A variable, not a size: it may be 0.
            binding[v] = of_var(Var(name))
        op = IndexOp(str(term.substitute(binding)), names, operands)
        self.add(op)
        return op.result

    def counter_value(self) -> SSAValue:
        """The number of the iteration, from the loop's start."""
        loop = self.loop
        assert loop is not None
        if loop.counter_value is None:
            names, operands = ["start"], [self.block.args[0]]
            numerator = "start"
            if loop.lower != 0:
                names, operands = [*names, "lower"], [*operands, loop.bounds[0]]
                numerator = "(start - lower)"
            op = IndexOp(f"{numerator} // ({loop.step})", names, operands)
            op.location = self.places.location()
            first = self.block.first_op
            if first is None:
                self.block.add_op(op)
            else:
                self.block.insert_op_before(op, first)
            loop.counter_value = op.result
        return loop.counter_value

    def require_at_most(self, a: Index, b: Index) -> None:
        """`a <= b` must hold here: an obligation, in the shape of a region that is read and not used."""
        gap = b - a
        if gap.constant is not None:
            if gap.constant < 0:
                raise UnsupportedError(f"{a} is more than {b}", where=self.places.where)
            return
        # Of one row, take as many as must not be more than one.
        one, zero = self.index(const(1)), self.index(const(0))
        kind = tile_type([const(1), const(1)], "f32", "sbuf")
        row = EmptyOp([one, one], kind)
        self.add(row)
        self.add(ExtractOp(row.result, [zero, zero], [self.index(maximum(0, a - b + 1)), one], kind))

    def require_region(self, sizes: Sequence[Index]) -> None:
        """A region has elements: the kernel language refuses those of none."""
        for n in sizes:
            if n.constant is not None and n.constant < 1:
                raise UnsupportedError(f"a region or a tensor with an extent of {n}", where=self.places.where)
            if not positive(n) and all(n not in scope._checked for scope in self.around()):
                self.require_at_most(const(1), n)
                self._checked.add(n)

    def require_partitions(self, extent: Index, limit: int, sizes: Mapping[str, int]) -> None:
        """An on-chip tensor has no more partitions than there are, at the given sizes; where none are, at all."""
        bound = upper_number(self.tile_type([extent, const(1)], "f32", "sbuf").upper[0], sizes)
        if bound is None:
            self.require_at_most(extent, const(limit))
        elif bound > limit:
            raise UnsupportedError(f"{bound} partitions", where=self.places.where, accepted=f"at most {limit}")

    def require_equal(self, a: Index, b: Index) -> None:
        """`a == b` must hold here."""
        gap = b - a
        if gap.constant is None:
            self.require_at_most(a, b)
            self.require_at_most(b, a)
        elif gap.constant != 0:
            raise UnsupportedError(f"an extent of {a} where {b} is written", where=self.places.where)

    def tile_type(self, sizes: Sequence[Index], dtype: str, space: str) -> TileType:
        """The type of a tile of these sizes."""
        loops = [s.loop for s in self.around() if s.loop is not None]
        trips = [(loop.counter, ceil_div(loop.upper - loop.lower, loop.step)) for loop in loops]
        bounds: list[Index] = []
        for n in sizes:
            bound = upper_bound(n, trips)
            if bound is None:
                raise UnsupportedError(f"an extent of {n}, of which no bound is seen", where=self.places.where)
            bounds.append(bound)
        return tile_type(bounds, dtype, space)

    # -- storages -----------------------------------------------------------------------------------------------------

    def declare(self, storage: Storage, value: SSAValue | None = None) -> None:
        """A new storage; nothing of it is written unless a value is given."""
        if value is None:
            value = self._empty(storage, storage.whole if storage.on_chip else None)
        self.local.add(storage)
        self.values[storage] = value

    def owner(self, storage: Storage) -> Scope:
        """The scope in which a storage was made."""
        return next(s for s in self.around() if storage in s.local)

    def frame(self, storage: Storage) -> Frame:
        """The region of an on-chip storage that its value in this scope stands for."""
        for scope in self.around():
            found = scope.narrowed.get(storage)
            if found is not None:
                return found
            if storage in scope.local:
                break
        return storage.whole

    def value_type(self, storage: Storage) -> Attribute:
        """The type of the value of a storage in this scope."""
        if storage.on_chip:
            return self.tile_type(self.frame(storage).sizes, storage.dtype, storage.space)
        return tensor_type(storage.shape if not storage.scalar else (), storage.dtype)

    def _empty(self, storage: Storage, frame: Frame | None) -> SSAValue:
        if frame is None:
            shape = () if storage.scalar else storage.shape
            op = EmptyOp([self.index(d) for d in shape], tensor_type(shape, storage.dtype))
        else:
            kind = self.tile_type(frame.sizes, storage.dtype, storage.space)
            op = EmptyOp([self.index(d) for d in frame.sizes], kind)
        self.add(op)
        return op.result

    def value(self, storage: Storage) -> SSAValue:
        """What a storage holds here."""
        found = self.values.get(storage)
        if found is None:
            assert self.parent is not None
            argument = self.block.insert_arg(self.value_type(storage), len(self.block.args))
            self._arguments[storage] = argument
            self.values[storage] = argument
            found = argument
        return found

    def untouched(self, storage: Storage) -> bool:
        """Whether this iteration has not written the storage so far."""
        return self.value(storage) is self._arguments.get(storage)

    def _touch(self, storage: Storage, frame: Frame | None) -> None:
        if storage in self.local:
            return
        if storage in self.touched and self.touched[storage] != frame:
            frame = None
        self.touched[storage] = frame

    # -- reading and writing ------------------------------------------------------------------------------------------

    def read(self, view: View) -> SSAValue:
        """The value of a region."""
        storage, sizes = view.storage, view.sizes
        if sizes is None:
            raise UnsupportedError(
                f"all of `{storage.label}` as an operand, of rank {len(storage.shape)}",
                where=self.places.where,
                accepted="a region with two slices",
            )
        self.require_region(sizes)
        current = self.value(storage)
        if not storage.on_chip:
            self._touch(storage, None)
            load = LoadOp(
                current,
                [self.index(o) for o in view.offsets],
                [self.index(n) for n in sizes],
                view.axes,
                self.tile_type(sizes, storage.dtype, "hbm"),
                steps=view.steps,
            )
            self.add(load)
            return load.result
        self._touch(storage, view.frame)
        around = self.frame(storage)
        if view.frame == around:
            return current
        last = self._last.get(storage)
        if last is not None and last.after is current and last.frame == view.frame:
            return last.value
        offsets = [self.index(o - b) for o, b in zip(view.offsets, around.offsets, strict=True)]
        kind = self.tile_type(sizes, storage.dtype, storage.space)
        region = ExtractOp(current, offsets, [self.index(n) for n in sizes], kind)
        self.add(region)
        return region.result

    def write(self, view: View, value: SSAValue, combined: str | None = None) -> None:
        """A region gets a value; `combined`: by this monoid with what it held."""
        storage, sizes = view.storage, view.sizes
        assert sizes is not None
        self.require_region(sizes)
        current = self.value(storage)
        if not storage.on_chip:
            self._touch(storage, None)
            store = StoreOp(value, current, [self.index(o) for o in view.offsets], view.axes, view.steps)
            self.add(store)
            self.values[storage] = store.result
            along = tuple(
                const(1) if a is None else (sizes[a] - 1) * s + 1
                for a, s in zip(view.axes, view.steps or (1,) * len(view.axes), strict=True)
            )
            self._note(storage, Update(COLLECT, view.offsets, along))
            return
        frame = view.frame
        self._touch(storage, frame)
        around = self.frame(storage)
        if frame == around:
            self.values[storage] = value
            self._note(storage, Update(combined or OVERWRITE, frame.offsets, frame.sizes))
            return
        update = Update(combined or COLLECT, frame.offsets, frame.sizes)
        before = current
        last = self._last.get(storage)
        if last is not None and last.after is current and last.frame == frame:
            # Nothing of the last write is left.
            before = last.before
            self.updates[storage].pop()
            if combined is not None:
                update = Update(combined if last.update.kind == combined else COLLECT, frame.offsets, frame.sizes)
                if last.update.kind not in (combined, COLLECT):
                    update = Update(OVERWRITE, frame.offsets, frame.sizes)
        offsets = [self.index(o - b) for o, b in zip(view.offsets, around.offsets, strict=True)]
        insert = InsertOp(value, before, offsets)
        self.add(insert)
        self.values[storage] = insert.result
        self._last[storage] = Written(frame, before, value, insert.result, update)
        self._note(storage, update)

    def _note(self, storage: Storage, update: Update) -> None:
        self.updates.setdefault(storage, []).append(update)

    def accumulated(self, view: View, is_source: Callable[[Operation], bool]) -> bool:
        """Whether all of a region was written by operations that may be accumulated onto."""
        storage = view.storage
        value = self.value(storage)
        if view.frame != self.frame(storage):
            last = self._last.get(storage)
            if last is None or last.after is not value or last.frame != view.frame:
                return False
            value = last.value
        return self._accumulated(storage, value, is_source)

    def _accumulated(self, storage: Storage, value: SSAValue, is_source: Callable[[Operation], bool]) -> bool:
        for scope in self.around():
            if value is scope._arguments.get(storage):
                parent = scope.parent
                assert parent is not None
                frame = scope.frame(storage)
                return parent.accumulated(View(storage, frame.offsets, (0, 1), frame.sizes, frame.sizes), is_source)
        owner = value.owner
        if isinstance(owner, ForOp):
            number = next(n for n, r in enumerate(owner.results_) if r is value)
            return self._accumulated(storage, owner.inits[number], is_source)
        return isinstance(owner, NeutralOp) or (isinstance(owner, Operation) and is_source(owner))

    # -- loops --------------------------------------------------------------------------------------------------------

    def enter(self, name: str, space: Range, narrowed: dict[Storage, Frame], stride: Index | None) -> Scope:
        """The scope of a loop's body. `stride`: how far a region moves in one iteration, where that is not the step:
        the loop then runs as often over another range, of that step."""
        counter = fresh_var(f"t_{name}")
        value = space.lower + space.step * of_var(counter)
        lower, upper, step = space.lower, space.upper, space.step
        if stride is not None:
            trips = ceil_div(upper - lower, step)
            lower, upper, step = const(0), stride * trips, stride
            if isinstance(trips.atom, Div) and trips.atom.denominator == stride:
                upper = trips.atom.numerator - (stride - 1)
        values = (self.index(lower), self.index(upper))
        return Scope(self.places, self, Loop(name, lower, upper, step, counter, value, values), narrowed)

    def stride(self) -> Index | None:
        """By how much the regions that this iteration wrote move, where that is not the step."""
        assert self.loop is not None
        for storage, updates in self.updates.items():
            if storage in self.local or self.kind(storage) is not None:
                continue
            for update in updates:
                for offset in update.offsets:
                    factor = offset.coefficient(self.loop.counter)
                    if factor is not None and positive(factor) and factor != self.loop.step:
                        return factor
        return None

    def to_narrow(self) -> dict[Storage, Frame]:
        """Storages of outside that are better carried as the one region that this iteration touched."""
        assert self.loop is not None
        out = dict(self.narrowed)
        for storage, frame in self.touched.items():
            if frame is None or not storage.on_chip or storage in self.narrowed or not self.updates.get(storage):
                continue
            if frame == self.frame(storage) or self.kind(storage) == COLLECT or self.loop.counter in frame.symbols():
                continue
            out[storage] = frame
        return out

    def kind(self, storage: Storage) -> str | None:
        """What kind of result the loop has in a storage; None: nothing that can be said of all iterations."""
        assert self.loop is not None
        updates = self.updates[storage]
        kinds = {u.kind for u in updates}
        if len(kinds) != 1:
            return None
        (kind,) = kinds
        if kind in (COLLECT, *MONOIDS) and all(self._moves(u) for u in updates):
            return COLLECT
        return kind if kind in MONOIDS else None

    def _recurrence(self, storage: Storage, argument: BlockArgument) -> str | None:
        """`carry` where an iteration makes a storage anew from what the one before has left in it."""
        renewed = all(u.kind == OVERWRITE for u in self.updates[storage])
        return CARRY if storage.on_chip and renewed and argument.uses.get_length() else None

    def _moves(self, update: Update) -> bool:
        assert self.loop is not None
        return any(o.coefficient(self.loop.counter) == self.loop.step for o in update.offsets)

    def leave(self) -> None:
        """Close the body and put the loop into the scope around it."""
        loop, parent = self.loop, self.parent
        assert loop is not None and parent is not None
        if not positive(loop.step):
            raise UnsupportedError(f"a step of {loop.step}", where=self.places.where, accepted="a positive number")
        if loop.runs:
            parent.require_at_most(loop.lower + 1, loop.upper)
        for view in loop.resets:
            assert view.sizes is not None
            kind = parent.tile_type(view.sizes, view.storage.dtype, view.storage.space)
            neutral = NeutralOp("sum", [parent.index(n) for n in view.sizes], kind)
            parent.add(neutral)
            parent.write(view, neutral.result)
        carried: list[Storage] = []
        kinds: list[str] = []
        forgotten: list[Storage] = []
        for storage, argument in list(self._arguments.items()):
            if self.values[storage] is argument:
                argument.replace_all_uses_with(self._outer(storage))
            else:
                kind = self.kind(storage) or self._recurrence(storage, argument)
                if kind is not None:
                    carried.append(storage)
                    kinds.append(kind)
                    continue
                forgotten.append(storage)
                frame = self.frame(storage) if storage.on_chip else None
                argument.replace_all_uses_with(parent._empty(storage, frame))
            self.block.erase_arg(argument)
        inits = [self._outer(s) for s in carried]
        yielded = YieldOp([self.values[s] for s in carried])
        self.add(yielded)
        op = ForOp(loop.name, "tile", loop.bounds[0], loop.bounds[1], str(loop.step), inits, kinds, Region(self.block))
        parent.add(op)
        for storage, frame in self.touched.items():
            moves = frame is not None and loop.counter in frame.symbols()
            parent._touch(storage, None if moves else frame)
        for storage, kind, result in zip(carried, kinds, op.results_, strict=True):
            self._hand_over(parent, storage, kind, result)
        for storage in forgotten:
            frame = self.frame(storage) if storage.on_chip else None
            self._hand_over(parent, storage, OVERWRITE, parent._empty(storage, frame))

    def _outer(self, storage: Storage) -> SSAValue:
        """The value of a storage before the loop, as this scope sees it."""
        assert self.parent is not None
        frame = self.narrowed.get(storage)
        if frame is None:
            return self.parent.value(storage)
        return self.parent.read(View(storage, frame.offsets, (0, 1), frame.sizes, frame.sizes))

    def _hand_over(self, parent: Scope, storage: Storage, kind: str, result: SSAValue) -> None:
        frame = self.narrowed.get(storage)
        if frame is not None:
            view = View(storage, frame.offsets, (0, 1), frame.sizes, frame.sizes)
            parent.write(view, result, kind if kind in MONOIDS else None)
            return
        parent.values[storage] = result
        if kind in (OVERWRITE, CARRY):
            whole = self.frame(storage) if storage.on_chip else None
            offsets = whole.offsets if whole is not None else tuple(const(0) for _ in storage.shape)
            parent._note(storage, Update(OVERWRITE, offsets, ()))
            return
        for update in self.updates[storage]:
            parent._note(storage, update)
