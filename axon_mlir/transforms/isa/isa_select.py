# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`isa-select`: cover the leaves of a tile program with instructions of the device.

Leaves of one block whose value has a single reader are composed first; the resulting term is covered by the fewest
instructions whose meanings, as tree patterns, match it (dynamic programming over subterms). A function that no
instruction offers is rewritten by its definition in the table of scalar functions. Operands in the wrong place or
type are copied by whichever instruction copies. Loads and stores become a view or placement of an HBM region and the
instruction that moves a tile between HBM and SBUF. The pass is generic over the description.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from axon_mlir.dialects.tile import (
    EmptyOp,
    ExtractOp,
    ForOp,
    IndexOp,
    InsertOp,
    LeafOp,
    LoadOp,
    NeutralOp,
    StoreOp,
    TileType,
    free_sizes,
    tile_type,
)
from axon_mlir.dialects.trn_isa import DTYPES, device_of, instruction, known_numbers, size_values, upper_number
from axon_mlir.errors import UnsupportedError
from axon_mlir.semantics import terms as t
from axon_mlir.semantics.denotation import is_integer_type, place
from axon_mlir.semantics.functions import MONOIDS
from axon_mlir.semantics.index import Index, Size, Var, const, of_var
from axon_mlir.semantics.index import size as size_index
from axon_mlir.semantics.interpret import argument_shapes
from axon_mlir.semantics.meaning import parse_op
from axon_mlir.semantics.normal import definition_of
from axon_mlir.semantics.shapes import is_tensor
from axon_mlir.semantics.walk import subterms
from axon_mlir.targets import Device, Facts, FunctionRange, OperandRule, TileFact
from axon_mlir.transforms.isa.patterns import (
    SIZE,
    F,
    Match,
    P,
    Pattern,
    immediate_text,
    is_constant,
    is_place,
    matches,
    normalised,
    pattern_table,
    unit_free,
)
from axon_mlir.transforms.tiling.tile_symbolic import spelled_sizes

LIMITED, NARROW = 0.5, 1.5
"""The cost, in instructions, of a function whose hardware table covers only some inputs, or less than half of the
exponents of fp32 (two exact instructions are better than one of those)."""
HALF_OF_EXPONENTS = 2.0**64
BESIDE, OVERWRITING = 0.001, 0.01
"""The cost of a result that nobody reads or that a column could say, and of a tile that is written over."""

ELEMENT_TYPES = {nki: own for own, nki in DTYPES.items()}
INTEGERS = ("i32",)
"""Integer types into which a number is rounded, as long as it fits."""


@dataclass(frozen=True)
class IsaSelect(ModulePass):
    """Select instructions for tile functions."""

    name = "isa-select"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in [f for f in op.body.block.ops if isinstance(f, FuncOp) and not f.is_declaration]:
            _Selector(device_of(op), func).block(func.body.block)


@dataclass(frozen=True)
class _Tile:
    """A tile value as terms read it."""

    value: SSAValue
    type_: TileType


@dataclass(frozen=True)
class _Plan:
    """How a term is produced: an existing value, or an instruction over plans."""

    cost: float
    value: SSAValue | None = None
    match: Match | None = None
    operands: tuple[tuple[str, _Plan], ...] = ()
    copies: tuple[tuple[str, tuple[str, str]], ...] = ()
    """Operands that are copied first: (name, (space, element type))."""
    dtype: str | None = None
    """The element type that the value must have, since it rounds."""


@dataclass
class _Site:
    """Where a plan is emitted: the operation it replaces, the values its term reads, the result's type."""

    op: Operation
    reads: dict[str, SSAValue]
    result: TileType
    wide: bool
    fold_bound: Index | None
    places: dict[str, SSAValue] = field(default_factory=dict[str, SSAValue])
    """What the term's places are."""
    emitted: dict[int, SSAValue] = field(default_factory=dict[int, SSAValue])


class _Selector:
    def __init__(self, device: Device, func: FuncOp):
        self.device = device
        self.func = func
        self.values = size_values(func)
        self.sizes = {
            s.name for shape in argument_shapes(func) for d in shape for s in d.symbols() if isinstance(s, Size)
        }
        self.patterns = pattern_table(device)
        self.extents: dict[SSAValue, tuple[SSAValue, SSAValue]] = {}

    # -- the walk ------------------------------------------------------------------------------------------------

    def block(self, block: Block) -> None:
        self.compose(block)
        for op in list(block.ops):
            match op:
                case ForOp():
                    for init, arg in zip(op.inits, op.carried, strict=True):
                        if init in self.extents:
                            self.extents[arg] = self.extents[init]
                    self.block(op.body.block)
                    for init, result in zip(op.inits, op.results_, strict=True):
                        if init in self.extents:
                            self.extents[result] = self.extents[init]
                case LoadOp():
                    self.load(op)
                case StoreOp():
                    self.store(op)
                case LeafOp():
                    self.leaf(op)
                case NeutralOp():
                    self.neutral(op)
                case EmptyOp() if isinstance(op.result.type, TileType):
                    self.extents[op.result] = (op.sizes[0], op.sizes[1])
                case ExtractOp():
                    self.extents[op.result] = (op.sizes[0], op.sizes[1])
                case InsertOp():
                    if op.into in self.extents:
                        self.extents[op.result] = self.extents[op.into]
                case _:
                    pass

    def compose(self, block: Block) -> None:
        """Substitute elementwise leaves with a single reader in the same block into their reader."""
        op = block.first_op
        while op is not None:
            # What comes next may be the reader that was replaced: restart behind the operation before.
            before = op.prev_op
            if self.compose_one(op, block):
                op = before.next_op if before is not None else block.first_op
            else:
                op = op.next_op

    def compose_one(self, op: Operation, block: Block) -> bool:
        """Substitute one leaf into its reader; whether that was possible."""
        if not isinstance(op, LeafOp) or op.outs is not None:
            return False
        uses = list(op.result.uses)
        if len(uses) != 1:
            return False
        reader = uses[0].operation
        if not isinstance(reader, LeafOp) or reader.parent is not block or uses[0].index >= len(reader.ins):
            return False
        composed = _composed(op, reader, uses[0].index)
        if composed is None:
            return False
        block.insert_op_before(composed, reader)
        composed.result.name_hint = reader.result.name_hint
        reader.result.replace_all_uses_with(composed.result)
        reader.detach()
        reader.erase()
        op.detach()
        op.erase()
        return True

    # -- moves ---------------------------------------------------------------------------------------------------

    def view(self, type_: TileType, space: str) -> TileType:
        return tile_type(type_.upper, type_.dtype, space)

    def load(self, op: LoadOp) -> None:
        type_ = op.result.type
        source = op.source.type
        assert isinstance(type_, TileType) and is_tensor(source)
        self.extents[op.result] = (op.sizes[0], op.sizes[1])
        if type_.space.data == "hbm":
            return
        seen = TileType(type_.bounds, source.element_type, self.view(type_, "hbm").space)
        view = LoadOp(op.source, list(op.offsets), list(op.sizes), op.axes, seen, op.dims, op.step_map())
        self.before(op, view)
        moved = self.copy(view.result, (op.sizes[0], op.sizes[1]), type_.space.data, type_.dtype, op)
        self.replace(op, moved)

    def store(self, op: StoreOp) -> None:
        value = op.value.type
        into = op.into.type
        assert isinstance(value, TileType) and is_tensor(into)
        if value.space.data == "hbm":
            return
        source = op.value
        element = tile_type(value.upper, value.dtype, "hbm")
        wanted = TileType(element.bounds, into.element_type, element.space)
        placed = self.copy(source, self.extents[source], "hbm", wanted.dtype, op)
        new = StoreOp(placed, op.into, list(op.offsets), op.axes, op.step_map())
        self.before(op, new)
        self.replace(op, new.result)

    def neutral(self, op: NeutralOp) -> None:
        type_ = op.result.type
        assert isinstance(type_, TileType)
        self.extents[op.result] = (op.sizes[0], op.sizes[1])
        if type_.space.data == "psum":
            return
        neutral = t.number(MONOIDS[op.monoid.data].neutral)
        site = _Site(op, {}, type_, True, None)
        self.replace(op, self.produce(neutral, site, (op.sizes[0], op.sizes[1])))

    def copy(
        self, value: SSAValue, extents: tuple[SSAValue, SSAValue], space: str, dtype: str, at: Operation
    ) -> SSAValue:
        """A value in another space or type, by the first instructions that copy (through SBUF where none reaches)."""
        source = value.type
        assert isinstance(source, TileType)
        result = tile_type(source.upper, dtype, space)
        made = self.try_copy(value, result, extents, at)
        if made is None and space == "hbm" and source.space.data != "sbuf":
            between = self.try_copy(value, tile_type(source.upper, dtype, "sbuf"), extents, at)
            made = self.try_copy(between, result, extents, at) if between is not None else None
        if made is None:
            raise UnsupportedError(f"no instruction of {self.device.name} copies {source} to {result}", where=place(at))
        return made

    def try_copy(
        self, value: SSAValue, result: TileType, extents: tuple[SSAValue, SSAValue], at: Operation
    ) -> SSAValue | None:
        source = value.type
        assert isinstance(source, TileType)
        for pattern in self.movers(on_chip="hbm" not in (result.space.data, source.space.data)):
            tiles = [o for o in pattern.form.operands if o.kind == "tile"]
            if len(tiles) != 1 or pattern.form.free_sizes or len(pattern.form.results) != 1:
                continue
            if not _reads_straight(pattern):
                continue
            facts = self.facts(pattern, {tiles[0].name: source}, [result])
            if pattern.form.check(facts, exact=False) or not pattern.form.engines_for(facts):
                continue
            new = instruction(
                pattern.instruction.name,
                pattern.form.name,
                [value],
                [result],
                functions=dict(pattern.functions),
                engines=pattern.form.engines_for(facts),
            )
            self.before(at, new)
            self.extents[new.results[0]] = extents
            return new.results[0]
        return None

    def movers(self, on_chip: bool) -> list[Pattern]:
        """Patterns that copy or fill: on chip an engine comes before a DMA queue, which has no clock of its own."""

        def queued(pattern: Pattern) -> bool:
            return all(self.device.engines[e].clock_ghz is None for e in pattern.form.engines)

        return sorted(self.patterns.bare, key=lambda p: queued(p) if on_chip else 0)

    def before(self, op: Operation, new: Operation) -> None:
        block = op.parent
        assert block is not None
        block.insert_op_before(new, op)

    def replace(self, op: Operation, value: SSAValue) -> None:
        old = op.results[0]
        value.name_hint = old.name_hint or value.name_hint
        if old in self.extents:
            self.extents[value] = self.extents[old]
        old.replace_all_uses_with(value)
        op.detach()
        op.erase()

    # -- leaves --------------------------------------------------------------------------------------------------

    def leaf(self, op: LeafOp) -> None:
        names = {f"v{n}": v for n, v in enumerate(op.ins)}
        term, shape = _leaf_term(op)
        term = self.columns(op, normalised(unit_free(term) or term), names)
        type_ = op.result.type
        assert isinstance(type_, TileType)
        if op.outs is not None and op.accumulate is not None:
            names["acc"] = op.outs
            acc = t.Read("acc", (of_var(P), of_var(F) if shape[1] != 1 else const(0)))
            term = t.Apply(MONOIDS[op.accumulate.data].function, (acc, term))
        wide = type_.upper[1] != 1
        if not wide:
            term = t.substitute(term, {F: const(0)})
        site = _Site(op, names, type_, wide, self.fold_bound(op), op.placed)
        extents = self.result_extents(op)
        self.extents[op.result] = extents
        self.replace(op, self.produce(term, site, extents))

    def columns(self, op: LeafOp, term: t.Term, names: dict[str, SSAValue]) -> t.Term:
        """A term in which the elements of rows at one place, known from their extents, are columns of their own."""
        extents: dict[str, SSAValue] = {}
        for access, v in zip(op.leaf_meaning.operands, op.ins, strict=True):
            extents |= zip((SIZE + _size_name(i) for i in access.items), self.extents[v], strict=True)
        found: dict[t.Read, t.Read] = {}
        for r in dict.fromkeys(x for x in subterms(term) if isinstance(x, t.Read)):
            value, at = names[r.tensor], r.indices[1]
            type_ = value.type
            assert isinstance(type_, TileType)
            used = sorted(s.name for s in at.symbols())
            if type_.upper[1] == 1 or not used or any(n not in extents for n in used):
                continue
            renamed: dict[Size | Var, Index] = {Size(n): of_var(Var(f"n{k}")) for k, n in enumerate(used)}
            place_of = IndexOp(
                str(at.substitute(renamed)), [f"n{k}" for k in range(len(used))], [extents[n] for n in used]
            )
            zero, one = IndexOp("0"), IndexOp("1")
            sizes = [self.extents[value][0], one.result]
            column = ExtractOp(
                value,
                [zero.result, place_of.result],
                sizes,
                tile_type([type_.upper[0], const(1)], type_.dtype, type_.space.data),
            )
            for new in (place_of, zero, one, column):
                self.before(op, new)
            name = f"column{len(found)}"
            names[name], self.extents[column.result] = column.result, (sizes[0], sizes[1])
            found[r] = t.Read(name, (r.indices[0], const(0)))
        return t.substitute(term, {}, lambda r: found.get(r, r)) if found else term

    def fold_bound(self, op: LeafOp) -> Index | None:
        """The upper bound of the free axis of the widest operand: that of values inside a fold."""
        bounds = [v.type.upper[1] for v in op.ins if isinstance(v.type, TileType)]
        wide = [b for b in bounds if b != 1]
        return wide[0] if wide else None

    def result_extents(self, op: LeafOp) -> tuple[SSAValue, SSAValue]:
        """The extents of a leaf's result, from those of its operands by the meaning's shape rule."""
        if op.outs is not None and op.outs in self.extents:
            return self.extents[op.outs]
        known: dict[str, SSAValue] = {}
        shapes: list[tuple[Index, ...]] = []
        for v in op.ins:
            shape: list[Index] = []
            for e in self.extents[v]:
                number = _number(e)
                if number is not None:
                    shape.append(const(number))
                    continue
                name = f"extent{len(known)}"
                name = next((k for k, w in known.items() if w is e), name)
                known[name] = e
                shape.append(size_index(name))
            shapes.append(tuple(shape))
        free: dict[str, Index] = {}
        for n, e in zip(free_sizes(op.leaf_meaning), op.sizes, strict=True):
            known[f"extent{len(known)}"] = e
            free[n] = size_index(f"extent{len(known) - 1}")
        (result,) = op.leaf_meaning.infer(shapes, {**op.attributes_of_meaning(), **free})
        out: list[SSAValue] = []
        for d in result:
            atom = d.atom
            if isinstance(atom, Size) and atom.name in known:
                out.append(known[atom.name])
            else:
                one = IndexOp(str(d))
                self.before(op, one)
                out.append(one.result)
        return out[0], out[1]

    def produce(self, term: t.Term, site: _Site, extents: tuple[SSAValue, SSAValue]) -> SSAValue:
        """Emit the cheapest instructions for a term; the value of the term."""
        plan = _Planner(self, site).plan(term, site.wide, site.result, root=True)
        if plan is None:
            raise UnsupportedError(
                f"no instructions of {self.device.name} compute {t.text(term)}",
                where=place(site.op),
                accepted=f"what {', '.join(self.device.instructions)} compute",
            )
        value = self.emit(plan, site, site.result, extents, site.wide)
        if value.type != site.result and plan.dtype is not None:
            value = self.copy(value, extents, site.result.space.data, site.result.dtype, site.op)
        return value

    def facts(
        self,
        pattern: Pattern,
        tiles: dict[str, TileType],
        results: Sequence[TileType],
        outs: TileType | None = None,
        immediates: Mapping[str, t.Term] = MappingProxyType({}),
    ) -> Facts:
        known: dict[str, TileFact] = {}

        def fact(type_: TileType, axes: tuple[str, ...]) -> TileFact:
            shape = tuple(
                1 if a == "1" else (upper_number(b, self.values) or 1) for a, b in zip(axes, type_.upper, strict=True)
            )
            return TileFact(shape, type_.space.data, DTYPES[type_.dtype])

        for o in pattern.form.operands:
            if o.kind == "tile" and o.name in tiles and not o.outs:
                known[o.name] = fact(tiles[o.name], o.axes)
            elif o.outs and outs is not None:
                known[o.name] = fact(outs, o.axes)
        for r, type_ in zip(pattern.form.results, results, strict=True):
            known[r.name] = fact(type_, r.axes)
        return Facts(known, attributes=dict(pattern.functions), immediates=known_numbers(immediates))

    def emit(
        self,
        plan: _Plan,
        site: _Site,
        type_: TileType,
        extents: tuple[SSAValue, SSAValue],
        wide: bool,
        *,
        shared: bool = True,
    ) -> SSAValue:
        if plan.value is not None:
            return plan.value
        if shared and id(plan) in site.emitted:
            return site.emitted[id(plan)]
        if plan.dtype is not None:
            type_ = tile_type(type_.upper, plan.dtype, "sbuf")
        found = plan.match
        assert found is not None
        form = found.pattern.form
        operands: dict[str, SSAValue] = {}
        copies = dict(plan.copies)
        for name, sub in plan.operands:
            operand_wide = found.wide[name]
            sub_type = self.temporary(found, name, site, type_, sub.dtype)
            sub_extents = self.operand_extents(found, name, site, extents)
            if form.operand(name).outs and not form.accumulates:
                operands[name] = self.overwritable(sub, site, type_, sub_type, sub_extents)
                continue
            value = self.emit(sub, site, sub_type, sub_extents, operand_wide)
            wanted = copies.get(name)
            if wanted is None and sub.value is None and value.type != sub_type:
                wanted = (sub_type.space.data, sub_type.dtype)
            if wanted is not None:
                value = self.copy(value, self.extents[value], *wanted, site.op)
            operands[name] = value
        outs = next((operands.pop(o.name) for o in form.operands if o.outs), None)
        results: list[TileType] = []
        for n in range(len(form.results)):
            results.append(type_ if n == found.pattern.result else self.byproduct(found, site))
        types = {k: v.type for k, v in operands.items() if isinstance(v.type, TileType)}
        places, immediates = self.immediates(found, site)
        facts = self.facts(
            found.pattern, types, results, outs.type if outs is not None and isinstance(outs.type, TileType) else None
        )
        new = instruction(
            found.pattern.instruction.name,
            form.name,
            [operands[o.name] for o in form.operands if o.kind == "tile" and not o.outs],
            results,
            functions=dict(found.pattern.functions),
            immediates=immediates,
            places=places,
            sizes=[extents[0 if s == form.results[0].axes[0] else 1] for s in form.free_sizes],
            outs=outs,
            engines=form.engines_for(facts),
        )
        self.before(site.op, new)
        for n, r in enumerate(new.results):
            self.extents[r] = (
                extents if n == found.pattern.result else self.extents.get(next(iter(operands.values())), extents)
            )
        out = new.results[found.pattern.result]
        if shared:
            site.emitted[id(plan)] = out
        return out

    def overwritable(
        self, plan: _Plan, site: _Site, type_: TileType, computed: TileType, extents: tuple[SSAValue, SSAValue]
    ) -> SSAValue:
        """A tile of its own, of this type, that an instruction may write over."""
        value = self.emit(plan, site, computed, extents, computed.upper[1] != 1, shared=False)
        if plan.value is None and value.type == type_:
            return value
        return self.copy(value, self.extents[value], type_.space.data, type_.dtype, site.op)

    def immediates(self, found: Match, site: _Site) -> tuple[dict[str, SSAValue], dict[str, str]]:
        """The places that the immediates of an instruction mention, and their texts."""
        terms = {**found.immediates, **{k: t.index_value(i) for k, i in found.positions.items()}}
        used = dict.fromkeys(s.name for x in terms.values() for s in sorted(t.free_symbols(x), key=str) if is_place(s))
        names = {n: n for n in used}
        for n in used:
            while names[n] in self.values or names[n] in self.sizes:
                names[n] += "_"
        renamed: dict[Size | Var, Index] = {Var(n): of_var(Var(new)) for n, new in names.items()}
        places = {names[n]: site.places[n] for n in used}
        return places, {k: immediate_text(t.substitute(x, renamed)) for k, x in terms.items()}

    def temporary(self, found: Match, name: str, site: _Site, type_: TileType, rounded: str | None = None) -> TileType:
        """The type of an operand that is computed: fp32 in SBUF unless it must or may stay an integer, as wide as it is
        read."""
        inside_fold = isinstance(found.pattern.body, t.Fold)
        free = (
            const(1) if not found.wide[name] else (site.fold_bound or type_.upper[1]) if inside_fold else type_.upper[1]
        )
        dtypes = found.pattern.form.operand(name).dtypes
        if rounded is not None and DTYPES[rounded] in dtypes:
            dtype = rounded
        else:
            dtype = "f32" if "float32" in dtypes else next(ELEMENT_TYPES[d] for d in dtypes if d in ELEMENT_TYPES)
        return tile_type([type_.upper[0], free], dtype, "sbuf")

    def operand_extents(
        self, found: Match, name: str, site: _Site, extents: tuple[SSAValue, SSAValue]
    ) -> tuple[SSAValue, SSAValue]:
        if not found.wide[name]:
            return extents[0], self.one(site)
        if isinstance(found.pattern.body, t.Fold):
            wide = next(
                (v for v in site.reads.values() if isinstance(v.type, TileType) and v.type.upper[1] == site.fold_bound),
                None,
            )
            if wide is not None:
                return extents[0], self.extents[wide][1]
        return extents

    def one(self, site: _Site) -> SSAValue:
        op = IndexOp("1")
        self.before(site.op, op)
        return op.result

    def byproduct(self, found: Match, site: _Site) -> TileType:
        """A result that nobody reads (the elements beside a row sum)."""
        name = next(o.name for o in found.pattern.form.operands if o.kind == "tile")
        bound = (site.fold_bound or const(1)) if found.wide[name] else const(1)
        return tile_type([site.result.upper[0], bound], "f32", "sbuf")


def _number(v: SSAValue) -> int | None:
    owner = v.owner
    if isinstance(owner, IndexOp) and not owner.operands_:
        text = owner.expression.data
        return int(text) if text.isdigit() else None
    return None


def _reads_straight(pattern: Pattern) -> bool:
    """Whether the pattern's term is its operand at the same index (a copy, not a transpose)."""
    body = pattern.body
    return isinstance(body, t.Read) and [i.atom for i in body.indices] == list(pattern.variables)


def _leaf_term(op: LeafOp) -> tuple[t.Term, tuple[Index, ...]]:
    """A leaf's term over (`p`, `f`), reading operand n as `v<n>`; and its symbolic shape."""
    meaning = op.leaf_meaning
    operands = [
        t.tensor_input(
            f"v{n}", [const(1) if (d := _size_name(i)) == "1" else size_index(SIZE + d) for i in access.items]
        )
        for n, access in enumerate(meaning.operands)
    ]
    free = {n: size_index(SIZE + n) for n in free_sizes(meaning)}
    (value,) = meaning.denote(operands, {**op.attributes_of_meaning(), **free})
    return value.at([of_var(P), of_var(F)]), value.shape


def _size_name(item: object) -> str:
    children = getattr(item, "children", None)
    return str(children[0]) if children else str(item)


def _composed(inner: LeafOp, reader: LeafOp, operand: int) -> LeafOp | None:
    """The reader with the inner leaf's term in place of one operand; None where the terms do not compose."""
    inner_term, _ = _leaf_term(inner)
    outer_term, outer_shape = _leaf_term(reader)
    if any(isinstance(x, t.Fold) for x in subterms(inner_term)):
        return None
    if not _straight(inner_term, None) or not _straight(outer_term, f"v{operand}"):
        return None
    if isinstance(outer_term, t.Fold) and reader.result.type.space.data == "psum":
        # An operand of a contraction has to exist as a tile.
        return None
    renamed, places = _merged_places(inner, reader)
    inner_term = t.substitute(inner_term, renamed)
    # Operands: the reader's own, without the inner value, then the inner leaf's.
    values: list[SSAValue] = []
    signature: list[str] = []
    inner_meaning, outer_meaning = inner.leaf_meaning, reader.leaf_meaning

    def add(v: SSAValue, shape: str) -> str:
        for n, (w, s) in enumerate(zip(values, signature, strict=True)):
            if w is v and s == shape:
                return f"x{n}"
        values.append(v)
        signature.append(shape)
        return f"x{len(values) - 1}"

    def shape_text(items: Sequence[object]) -> str:
        return f"[{', '.join(map(_size_name, items))}]"

    outer_names = {
        f"v{n}": add(v, shape_text(outer_meaning.operands[n].items)) for n, v in enumerate(reader.ins) if n != operand
    }
    column = shape_text(outer_meaning.operands[operand].items) == "[P, 1]"
    inner_names = {
        f"v{n}": add(v, "[P, 1]" if column else shape_text(inner_meaning.operands[n].items))
        for n, v in enumerate(inner.ins)
    }

    def read(r: t.Read) -> t.Term:
        if r.tensor == f"v{operand}":
            first, second = r.indices
            placed = t.substitute(inner_term, {P: first, F: second})
            return t.substitute(placed, {}, lambda q: t.Read(inner_names[q.tensor], q.indices))
        return t.Read(outer_names[r.tensor], r.indices)

    body = t.substitute(_plain(outer_term), {}, read)
    wide = outer_shape[1] != 1
    if not wide:
        body = t.substitute(body, {F: const(0)})
    axes = {
        s: s.name.removeprefix(SIZE) for s in t.free_symbols(body) if isinstance(s, Size) and s.name.startswith(SIZE)
    }
    if not all(any(re.search(rf"\b{n}\b", shape) for shape in signature) for n in axes.values()):
        # A fold over what no operand has.
        return None
    body, attributes = spelled_sizes(t.substitute(body, {s: of_var(Var(n)) for s, n in axes.items()}))
    head = ", ".join(f"x{n}{s}" for n, s in enumerate(signature))
    left, at = ("c[P, F]", "c[p, f]") if wide else ("c[P, 1]", "c[p, 0]")
    text = f"op leaf({head}){attributes} -> {left} {{ {at} = {t.text(body)} }}"
    known: dict[str, SSAValue] = {}
    for leaf in (inner, reader):
        known |= zip(free_sizes(leaf.leaf_meaning), leaf.sizes, strict=True)
    return LeafOp(
        text,
        values,
        reader.result.type,
        outs=reader.outs,
        accumulate=reader.accumulate.data if reader.accumulate is not None else None,
        dims=reader.dims,
        places={n: v for n, v in places.items() if Var(n) in t.free_symbols(body)},
        sizes=[known[n] for n in free_sizes(parse_op(text))],
    )


def _merged_places(inner: LeafOp, reader: LeafOp) -> tuple[dict[Size | Var, Index], dict[str, SSAValue]]:
    """The places of both leaves by name, and how the inner leaf's are renamed where a name means two of them."""
    merged = reader.placed
    renamed: dict[Size | Var, Index] = {}
    for name, value in inner.placed.items():
        new = next((n for n, v in merged.items() if v is value), name)
        count = 1
        while merged.get(new, value) is not value:
            count += 1
            new = f"{name}_{count}"
        merged[new] = value
        renamed[Var(name)] = of_var(Var(new))
    return renamed, merged


def _plain(x: t.Term, depth: int = 0) -> t.Term:
    """A term whose bound variables have names that a meaning can spell; nested ones differ."""
    match x:
        case t.Fold(m, v, n, body):
            new = Var(f"q{depth}" if depth else "q")
            return t.Fold(m, new, n, _plain(t.substitute(body, {v: of_var(new)}), depth + 1))
        case t.Apply(f, args):
            return t.Apply(f, tuple(_plain(a, depth) for a in args))
        case t.Select(c, a, b):
            return t.Select(c, _plain(a, depth), _plain(b, depth))
        case _:
            return x


def _straight(x: t.Term, tensor: str | None) -> bool:
    """Whether the elements of `tensor` (of every operand for None) are read at the partition of the result."""
    reads = [y for y in subterms(x) if isinstance(y, t.Read) and tensor in (None, y.tensor)]
    return all(not y.indices or y.indices[0] in (of_var(P), const(0)) for y in reads)


class _Planner:
    """Cheapest cover of one leaf's term."""

    def __init__(self, selector: _Selector, site: _Site):
        self.selector = selector
        self.site = site
        self.memo: dict[tuple[t.Term, bool], _Plan | None] = {}

    def plan(self, x: t.Term, wide: bool, result: TileType | None, root: bool = False) -> _Plan | None:
        key = (x, wide)
        if not root and key in self.memo:
            return self.memo[key]
        if not root:
            self.memo[key] = None
        best = self._plan(x, wide, result, root)
        if not root:
            self.memo[key] = best
        return best

    def existing(self, x: t.Term, wide: bool) -> _Plan | None:
        """The term is a tile that exists, read at its own index."""
        if not isinstance(x, t.Read) or x.tensor not in self.site.reads:
            return None
        first, second = x.indices
        value = self.site.reads[x.tensor]
        assert isinstance(value.type, TileType)
        if first != of_var(P) and not (first == 0 and value.type.upper[0] == 1):
            return None
        if second == of_var(F) and wide:
            return _Plan(0, value)
        if second == 0 and not wide and value.type.upper[1] == 1:
            return _Plan(0, value)
        return None

    def _plan(self, x: t.Term, wide: bool, result: TileType | None, root: bool) -> _Plan | None:
        if not root:
            found = self.existing(x, wide)
            if found is not None:
                return found
        best = self.rounded(x, wide, result)
        movers = self.selector.movers(on_chip=True)
        patterns = movers if isinstance(x, t.Read) else [*self.selector.patterns.of(x), *movers]
        if isinstance(x, t.Select):
            patterns = [*patterns, *self.selector.patterns.choices]
        for pattern in patterns:
            candidate = self.use(pattern, x, wide, result, root)
            if candidate is not None and (best is None or candidate.cost < best.cost):
                best = candidate
        if best is None and wide and F not in t.free_symbols(x) and not is_constant(x) and not _beside_zeros(x):
            # The same along the free axis: a column beside zeros.
            best = self._plan(t.Apply("add", (t.ZERO, x)), wide, result, root)
        for expanded in _expansions(x):
            if best is None or best.cost > 1:
                other = self._plan(expanded, wide, result, root)
                if other is not None and (best is None or other.cost < best.cost):
                    best = other
        return best

    def rounded(self, x: t.Term, wide: bool, result: TileType | None) -> _Plan | None:
        """The nearest integer: what computes its argument, into a tile of integers."""
        if not isinstance(x, t.Apply) or x.function != "round":
            return None
        like = result or self.site.result
        dtype = like.dtype if like.dtype in INTEGERS else INTEGERS[0]
        kept = result is not None and like.dtype == dtype and like.space.data == "sbuf"
        type_ = tile_type([like.upper[0], like.upper[1] if wide else const(1)], dtype, "sbuf")
        plan = self._plan(x.args[0], wide, type_, True)
        # In a float result the integer is copied once more.
        return None if plan is None else replace(plan, dtype=dtype, cost=plan.cost + (result is not None and not kept))

    def use(self, pattern: Pattern, x: t.Term, wide: bool, result: TileType | None, root: bool) -> _Plan | None:
        bare = isinstance(pattern.body, t.Read)
        if bare and not is_constant(x) and not (root and isinstance(x, t.Read)):
            return None
        index: dict[Var, Index] = {}
        for v, d, own in zip(pattern.variables, pattern.shape, (P, F), strict=True):
            if d == 1:
                if own == F and wide:
                    return None
                continue
            index[v] = of_var(own) if own == P or wide else const(0)
        made = (self.planned(pattern, found, wide, result) for found in matches(pattern, x, index))
        plans = (p for p in made if p is not None)
        if isinstance(x, t.Select):
            # Either branch may be the tile, the other the number.
            return min(plans, key=lambda p: p.cost, default=None)
        return next(plans, None)

    def planned(self, pattern: Pattern, found: Match, wide: bool, result: TileType | None) -> _Plan | None:
        """The plan of a match, if its operands have one."""
        operands: list[tuple[str, _Plan]] = []
        types: dict[str, TileType] = {}
        outs: TileType | None = None
        for o in pattern.form.operands:
            if o.kind != "tile":
                continue
            if o.name not in found.tiles:
                return None
            term = found.tiles[o.name]
            sub = self.plan(term, found.wide[o.name], None)
            if sub is None:
                return None
            operands.append((o.name, sub))
            if not o.outs:
                types[o.name] = self.type_of(found, o.name, sub, result)
        results = [
            (result if n == pattern.result and result is not None else self.default(found, n, result))
            for n in range(len(pattern.form.results))
        ]
        extra = 0
        for o, sub in ((o, dict(operands)[o.name]) for o in pattern.form.operands if o.outs):
            if pattern.form.accumulates:
                if sub.value is None:
                    return None
                outs = self.type_of(found, o.name, sub, result)
            else:
                # What is overwritten is a tile of its own: one that is computed for it, or a copy.
                outs = results[pattern.result]
                extra += sub.value is not None or self.type_of(found, o.name, sub, result) != outs
        plan = self.legal(pattern, found, operands, types, results, outs)
        # Of constants a column before a tile.
        extra += BESIDE if wide else 0
        return replace(plan, cost=plan.cost + extra) if plan is not None and extra else plan

    def type_of(self, found: Match, name: str, sub: _Plan, result: TileType | None) -> TileType:
        if sub.value is not None:
            assert isinstance(sub.value.type, TileType)
            return sub.value.type
        return self.selector.temporary(found, name, self.site, result or self.site.result, sub.dtype)

    def default(self, found: Match, n: int, result: TileType | None) -> TileType:
        like = result or self.site.result
        if n == found.pattern.result:
            axes = found.pattern.form.results[n].axes
            return tile_type([like.upper[0], const(1) if axes[-1] == "1" else like.upper[1]], "f32", "sbuf")
        return self.selector.byproduct(found, self.site)

    def legal(
        self,
        pattern: Pattern,
        found: Match,
        operands: list[tuple[str, _Plan]],
        types: dict[str, TileType],
        results: list[TileType],
        outs: TileType | None,
    ) -> _Plan | None:
        """The plan with whatever copies its operands need; None where the form cannot be used."""
        copies: dict[str, tuple[str, str]] = {}
        for o in pattern.form.operands:
            if o.kind != "tile" or o.outs:
                continue
            wanted = _wanted(o, types[o.name])
            if wanted is not None and "float32" not in o.dtypes and not is_integer_type(types[o.name].dtype):
                # A cast into integers rounds.
                return None
            if wanted is not None:
                copies[o.name] = wanted
                types = {**types, o.name: tile_type(types[o.name].upper, wanted[1], wanted[0])}
        if not self.accepted(found, types, results, outs):
            # Two operands in PSUM, say, or of two types: try with operands copied one by one.
            dtype = results[pattern.result].dtype
            for name, type_ in list(types.items()):
                wanted = ("sbuf" if type_.space.data == "psum" else type_.space.data, type_.dtype)
                choices = [c for c in (wanted, (wanted[0], dtype)) if c != (type_.space.data, type_.dtype)]
                moved = [
                    (c, {**types, name: tile_type(type_.upper, c[1], c[0])}) for c in choices if name not in copies
                ]
                found_one = next(((c, ts) for c, ts in moved if self.accepted(found, ts, results, outs)), None)
                if found_one is not None:
                    copies[name], types = found_one
                    break
            else:
                return None
        cost = 1 + sum(p.cost for _, p in operands) + len(copies)
        # Among equals prefer a function that takes every input, then what overwrites no tile (which must be one of its
        # own), then what has no result beside the one that is wanted.
        cost += sum(_limited(pattern.form.functions[a].ranges.get(m)) for a, m in pattern.functions)
        cost += OVERWRITING * any(o.outs and not pattern.form.accumulates for o in pattern.form.operands)
        cost += BESIDE * (len(pattern.form.results) - 1)
        return _Plan(cost, None, found, tuple(operands), tuple(copies.items()))

    def accepted(
        self, found: Match, types: dict[str, TileType], results: list[TileType], outs: TileType | None
    ) -> bool:
        pattern = found.pattern
        facts = self.selector.facts(pattern, types, results, outs, found.immediates)
        return not pattern.form.check(facts, exact=False) and bool(pattern.form.engines_for(facts))


def _expansions(x: t.Term) -> Iterator[t.Term]:
    """Other terms for the same: a function's definition, a choice by one condition after the other."""
    match x:
        case t.Apply(f, args):
            expanded = unit_free(definition_of(f, args))
            if expanded is not None:
                yield normalised(expanded)
        case t.Select(t.And((first, *rest)), a, b) if rest and not _is_truth(x):
            for one, others in ((first, rest), (rest[-1], [first, *rest[:-1]])):
                yield t.select(one, t.select(t.conj(others), a, b), b)
        case t.Select(t.Or((first, *rest)), a, b) if rest and not _is_truth(x):
            yield t.select(first, a, t.select(t.disj(rest), a, b))
        case _:
            return


def _beside_zeros(x: t.Term) -> bool:
    return isinstance(x, t.Apply) and x.function == "add" and x.args[0] is t.ZERO


def _is_truth(x: t.Select) -> bool:
    return isinstance(x.then, t.Const) and isinstance(x.otherwise, t.Const)


def _limited(valid: FunctionRange | None) -> float:
    """What a range of valid inputs costs."""
    if valid is None:
        return 0
    return NARROW if valid.high < HALF_OF_EXPONENTS else LIMITED


def _wanted(rule: OperandRule, type_: TileType) -> tuple[str, str] | None:
    """Where and in which type an operand must be copied first; None when it fits as it is."""
    space_fits = type_.space.data in rule.spaces
    dtype_fits = DTYPES[type_.dtype] in rule.dtypes
    if space_fits and dtype_fits:
        return None
    space = type_.space.data if space_fits and type_.space.data != "psum" else rule.spaces[0]
    dtype = type_.dtype if dtype_fits else next(ELEMENT_TYPES[d] for d in rule.dtypes if d in ELEMENT_TYPES)
    return space, dtype
