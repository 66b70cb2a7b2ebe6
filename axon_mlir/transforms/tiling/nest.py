# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loop nests as leaves with loop paths, and the one rule that derives the nest.

A tile program is a list of leaves: loads, computations of one instruction's size, stores. Each has a *path*, the loops
it runs under. The nest is never edited: `build` derives it from the paths by inserting leaf after leaf, sharing loops
where that is legal. Where a value's definition and its uses meet is its *scope*; what it holds on chip follows from
the loops around the scope. `emit` writes the nest as `tile` operations, `collect` reads leaves back from them.

So fusion is prefix sharing, and residency a common-ancestor rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from axon_mlir.dialects.tile import (
    CARRY,
    COLLECT,
    PLACE_PREFIX,
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
    YieldOp,
    dims_attribute,
    free_sizes,
    tile_type,
)
from axon_mlir.errors import AxonError
from axon_mlir.semantics.denotation import place
from axon_mlir.semantics.functions import MONOIDS
from axon_mlir.semantics.index import Index, Var, const, of_var, parse
from axon_mlir.semantics.index import size as size_index
from axon_mlir.semantics.meaning import parse_op
from axon_mlir.semantics.shapes import dtype_name, is_tensor, shape_of

SIZES = "tile.sizes"
"""Function attribute: dimension -> size expression."""
PARAMETERS = "tile.parameters"
"""Function attribute: tile parameter -> its constraint, such as `<= 128`."""


MATMUL = "op leaf(a[K, M], b[K, N]) -> c[M, N] { c[m, n] = sum(k < K: mul(a[k, m], b[k, n])) }"
COPY = "op leaf(a[P, F]) -> c[P, F] { c[p, f] = a[p, f] }"
TRANSPOSE = "op leaf(a[P, F]) -> c[F, P] { c[f, p] = a[p, f] }"
LAST = "op leaf(a[P, F]) -> c[P, 1] { c[p, 0] = a[p, F - 1] }"
"""The meanings of leaves that tiling itself introduces."""
PLACE = re.compile(rf"\b{PLACE_PREFIX}(\w+): index")
"""An attribute of a meaning that is where a dimension's tile begins."""


@dataclass(frozen=True)
class LoopKey:
    """A loop: the dimension it steps, its level, and its step (a tile parameter or a number)."""

    dim: str
    level: str
    step: str


@dataclass(frozen=True)
class Leaf:
    """One load, computation or store; or a `fill`, a tile of the monoid's neutral element (of ones for `prod`).

    `dims` says which dimension each tile axis runs over: a name, `*step` for an axis of `step` equal elements, or ''
    for one element. `red`: the loops of the path that the result folds over. Loads and stores name a `tensor` in HBM,
    the tile axis (or None) of each of its axes, where each axis begins (`at`: over sizes, and over a variable for each
    dimension, which stands for the start of its innermost loop), and the step of each (`steps`; empty: all are 1).
    `name` is the value defined (for a store: the tensor). Of `ins`, those in `carried` are folds over a loop around,
    read as they stand so far: what the iterations before have folded. With `carry` in the place of a monoid, a leaf
    makes anew what the loops `red` carry: the next iteration reads it.
    """

    kind: str
    name: str
    dims: tuple[str, str]
    path: tuple[LoopKey, ...]
    ins: tuple[str, ...] = ()
    text: str = ""
    monoid: str | None = None
    red: frozenset[LoopKey] = frozenset()
    tensor: str = ""
    axes: tuple[int | None, ...] = ()
    at: tuple[Index, ...] = ()
    steps: tuple[int, ...] = ()
    dtype: str = "f32"
    space: str = "sbuf"
    carried: frozenset[str] = frozenset()

    @property
    def is_move(self) -> bool:
        """Whether a computation only moves its last operand: a copy, a transpose, a product with a row of ones."""
        return self.kind == "compute" and self.monoid is None and self.text in (COPY, TRANSPOSE, MATMUL)

    @property
    def is_fetch(self) -> bool:
        """Whether it waits for its reader: a load or a fill."""
        return self.kind in ("load", "fill")

    @property
    def places(self) -> list[str]:
        """The dimensions whose place a computation's meaning mentions."""
        return PLACE.findall(self.text)

    @property
    def dims_at(self) -> set[str]:
        """The dimensions that a load or store depends on."""
        placed = {s.name for i in self.at for s in i.symbols() if isinstance(s, Var)}
        return placed.union(self.places) | {d for d in self.dims if d and not d.startswith("*")}

    @property
    def reads(self) -> tuple[str, ...]:
        """What must be complete before: values, and the tensor of a load."""
        return (self.tensor,) if self.kind == "load" else tuple(n for n in self.ins if n not in self.carried)

    @property
    def folded(self) -> frozenset[LoopKey]:
        """Loops inside which the result is not complete; a tensor is complete only after all of them."""
        return frozenset(self.path) if self.kind == "store" else self.red


class NotHeld(Exception):
    """A value is read where no tile can hold it."""

    def __init__(self, name: str, why: str):
        super().__init__(f"{name} {why}")
        self.name = name


@dataclass
class Nest:
    """The leaves of a function, in order, and what they are about."""

    leaves: list[Leaf]
    sizes: dict[str, Index]
    parameters: dict[str, str]
    tensors: dict[str, TensorType[Attribute]]
    outputs: list[str]


@dataclass(eq=False)
class _Loop:
    key: LoopKey | None
    parent: _Loop | None
    children: list[_Loop | Leaf] = field(default_factory=list["_Loop | Leaf"])
    names: set[str] = field(default_factory=set[str])
    """What the leaves inside define; kept, as are the next two, since building asks for every leaf."""
    reads: set[str] = field(default_factory=set[str])
    only_fetches: bool = True
    """Whether the leaves inside are all loads and moves."""

    def insert(self, position: int, leaf: Leaf) -> None:
        """Put a leaf among the children."""
        self.children.insert(position, leaf)
        node: _Loop | None = self
        while node is not None:
            node.names.add(leaf.name)
            node.reads.update(leaf.reads)
            node.only_fetches = node.only_fetches and (leaf.is_fetch or leaf.is_move)
            node = node.parent

    def chain(self) -> list[_Loop]:
        """From the root's child down to this loop."""
        out: list[_Loop] = []
        node: _Loop | None = self
        while node is not None and node.key is not None:
            out.append(node)
            node = node.parent
        return out[::-1]


def _leaves_in(node: _Loop | Leaf) -> Iterable[Leaf]:
    if isinstance(node, Leaf):
        yield node
    else:
        for c in node.children:
            yield from _leaves_in(c)


def _defines(node: _Loop | Leaf, names: Collection[str]) -> bool:
    """Whether something in `node` defines one of the names."""
    return node.name in names if isinstance(node, Leaf) else not node.names.isdisjoint(names)


def _needs(a: _Loop | Leaf, b: _Loop | Leaf) -> bool:
    """Whether something in `a` reads what `b` defines."""
    return _defines(b, a.reads)


def build_held(nest: Nest) -> _Loop:
    """The nest, each value in loops where its readers find it.

    A leaf that shares a loop with an earlier one may be cut off from its readers, which cannot enter that loop. It then
    has loops of its own, as have those that make its operands. Where that does not help the nest is as it would be
    without: the prover sees what comes of it.
    """
    apart: set[str] = set()
    while True:
        root = build(nest.leaves, apart)
        try:
            for _ in scopes(root, nest):
                pass
        except NotHeld as found:
            if found.name in apart:
                return build(nest.leaves)
            apart.add(found.name)
            continue
        return root


def build(leaves: Sequence[Leaf], apart: Collection[str] = ()) -> _Loop:
    """Insert the leaves one by one; those that are named share no loop with earlier ones, unless one of these is named
    and was the last.

    Loads, transposes, and moves of those, wait for their first reader and are placed in front of it: inside the loops
    that their paths share, in loops of their own from there on.
    """
    root = _Loop(None, None)
    waiting: dict[str, Leaf] = {}
    placed: set[str] = set()
    for leaf in leaves:
        if leaf.is_fetch or (leaf.is_move and (leaf.text != COPY or leaf.ins[-1] in waiting)):
            waiting[leaf.name] = leaf
            continue
        fetched = _closure(leaf, waiting)
        reads = set(leaf.reads).union(*(x.reads for x in fetched))
        node, path = root, leaf.path
        if leaf.name in apart and path and root.children and not _defines(root.children[-1], apart):
            node, path = _Loop(path[0], root), path[1:]
            root.children.append(node)
        for key in path:
            node = _enter(node, key, reads)
        node.insert(len(node.children), leaf)
        for x in fetched:
            if x.name not in placed:
                placed.add(x.name)
                _place_before(root, x, node.chain(), leaf)
    return root


def _closure(leaf: Leaf, waiting: Mapping[str, Leaf]) -> list[Leaf]:
    """The waiting leaves that a leaf needs, in order."""
    needed = {n for n in leaf.ins if n in waiting}
    for name in reversed(list(waiting)):
        if name in needed:
            needed |= {n for n in waiting[name].ins if n in waiting}
    return [x for name, x in waiting.items() if name in needed]


def _place_before(root: _Loop, leaf: Leaf, chain: Sequence[_Loop], reader: Leaf) -> None:
    node, level = root, 0
    while level < min(len(leaf.path), len(chain)) and chain[level].key == leaf.path[level]:
        node = chain[level]
        level += 1
    anchor: _Loop | Leaf = chain[level] if level < len(chain) else reader
    position = next(n for n, c in enumerate(node.children) if c is anchor)
    rest = leaf.path[level:]
    if rest and position > 0:
        before = node.children[position - 1]
        if isinstance(before, _Loop) and before.key == rest[0] and before.only_fetches:
            node, rest = before, rest[1:]
            while rest and isinstance(node.children[-1], _Loop) and node.children[-1].key == rest[0]:
                node, rest = node.children[-1], rest[1:]
            position = len(node.children)
    for key in rest:
        loop = _Loop(key, node)
        node.children.insert(position, loop)
        node, position = loop, 0
    node.insert(position, leaf)


def _enter(node: _Loop, key: LoopKey, reads: set[str]) -> _Loop:
    """The loop over `key` under `node` that a leaf goes into: an existing one where legal, else a new one.

    Legal: nothing that the leaf reads is folded over the loop inside it, and the later siblings that the leaf depends
    on do not themselves depend on the loop (they are moved before it).
    """
    for position in range(len(node.children) - 1, -1, -1):
        loop = node.children[position]
        if not isinstance(loop, _Loop) or loop.key != key or loop.only_fetches:
            continue
        if _defines(loop, reads) and any(key in x.folded and x.name in reads for x in _leaves_in(loop)):
            continue
        later = node.children[position + 1 :]
        needed: list[_Loop | Leaf] = []
        for sibling in reversed(later):
            if _defines(sibling, reads) or any(_needs(n, sibling) for n in needed):
                needed.insert(0, sibling)
        if any(_needs(n, loop) for n in needed):
            continue
        rest = [s for s in later if s not in needed]
        node.children[position:] = [*needed, loop, *rest]
        return loop
    loop = _Loop(key, node)
    node.children.append(loop)
    return loop


@dataclass(frozen=True)
class _Region:
    """Where a tile axis stands: its first index and its extent as SSA values (None: 0 and 1), and the bound."""

    start: SSAValue | None
    extent: SSAValue | None
    bound: str


@dataclass
class _Scope:
    """What is known inside a block: the active loops of each dimension and the current value of each name."""

    loops: dict[str, list[tuple[LoopKey, SSAValue, SSAValue]]]
    values: dict[str, SSAValue]
    fresh: dict[str, tuple[SSAValue, tuple[_Region, _Region]]]

    def inner(self) -> _Scope:
        return _Scope({d: list(ls) for d, ls in self.loops.items()}, dict(self.values), dict(self.fresh))


class _Emitter:
    def __init__(self, nest: Nest, root: _Loop, entry: Block):
        self.nest = nest
        self.root = root
        self.entry = entry
        self.home: dict[str, _Loop] = {}
        """Leaf name -> the loop (or root) it stands in."""
        self.leaf: dict[str, Leaf] = {}
        self.scope_of: dict[str, _Loop] = {}
        self.index_cache: dict[tuple[Block, str, tuple[SSAValue, ...]], SSAValue] = {}
        self.held: dict[str, tuple[_Region, _Region]] = {}
        self._analyse(root)

    def _analyse(self, root: _Loop) -> None:
        users: dict[str, list[list[_Loop]]] = {}
        carriers: list[tuple[str, _Loop]] = []

        def walk(node: _Loop) -> None:
            for c in node.children:
                if isinstance(c, _Loop):
                    walk(c)
                else:
                    if c.kind != "store":
                        self.home[c.name] = node
                        self.leaf[c.name] = c
                    for r in c.ins:
                        if r in c.carried:
                            carriers.append((r, node))
                        else:
                            users.setdefault(r, []).append(node.chain())

        walk(root)
        for name, node in carriers:
            # A fold that is read while it is made lives outside of the loops that it folds over.
            chain, red = node.chain(), self.leaf[name].red
            first = next((n for n, loop in enumerate(chain) if loop.key in red), len(chain))
            if chain[first:] and chain[first] not in self.home[name].chain():
                raise NotHeld(name, "is read in another loop than it is folded over")
            users.setdefault(name, []).append(chain[:first])
        for name, node in self.home.items():
            chain = node.chain()
            for other in users.get(name, []):
                shared = 0
                while shared < min(len(chain), len(other)) and chain[shared] is other[shared]:
                    shared += 1
                chain = chain[:shared]
            self.scope_of[name] = chain[-1] if chain else root

    def crossed(self, name: str) -> list[_Loop]:
        """The loops between a value's scope and its definition."""
        scope, out = self.scope_of[name], list[_Loop]()
        node = self.home[name]
        while node is not scope:
            out.append(node)
            assert node.parent is not None
            node = node.parent
        return out[::-1]

    # -- index arithmetic ----------------------------------------------------------------------------------------

    def index(
        self, block: Block, expression: str, names: Sequence[str] = (), operands: Sequence[SSAValue] = ()
    ) -> SSAValue:
        where = self.entry if not operands else block
        key = (where, expression, tuple(operands))
        if key not in self.index_cache:
            op = IndexOp(expression, names, operands)
            if where is self.entry and where is not block:
                first = next((o for o in where.ops if not isinstance(o, IndexOp)), None)
                if first is not None:
                    where.insert_op_before(op, first)
                else:
                    where.add_op(op)
            else:
                where.add_op(op)
            self.index_cache[key] = op.result
        return self.index_cache[key]

    def region(self, block: Block, dim: str, loops: Mapping[str, list[tuple[LoopKey, SSAValue, SSAValue]]]) -> _Region:
        if dim == "":
            return _Region(None, None, "1")
        if dim.startswith("*"):
            return _Region(None, self.index(block, dim[1:]), dim[1:])
        active = loops.get(dim)
        if active:
            key, start, extent = active[-1]
            return _Region(start, extent, key.step)
        return _Region(None, self.index(block, str(self.nest.sizes[dim])), str(self.nest.sizes[dim]))

    def start(self, block: Block, r: _Region) -> SSAValue:
        return r.start if r.start is not None else self.index(block, "0")

    def extent(self, block: Block, r: _Region) -> SSAValue:
        return r.extent if r.extent is not None else self.index(block, "1")

    def offset(self, block: Block, inner: _Region, outer: _Region) -> SSAValue:
        if inner.start is outer.start or inner.start is None:
            return self.index(block, "0")
        if outer.start is None:
            return inner.start
        return self.index(block, "a - b", ("a", "b"), (inner.start, outer.start))

    # -- the walk ------------------------------------------------------------------------------------------------

    def body(self, node: _Loop, block: Block, scope: _Scope) -> None:
        for child in node.children:
            if isinstance(child, Leaf):
                self.emit_leaf(child, block, scope)
                continue
            self.prepare(node, child, block, scope)
            self.emit_loop(child, block, scope)

    def fold_of(self, name: str) -> _Loop | None:
        """The outermost loop around a definition, inside its scope, that the value folds over."""
        red = self.leaf[name].red
        return next((x for x in self.crossed(name) if x.key in red), None)

    def prepare(self, node: _Loop, child: _Loop, block: Block, scope: _Scope) -> None:
        """Create the buffers whose scope is here and whose definition is inside `child`, and the accumulators of the
        folds that `child` is the outermost loop of."""
        for leaf in _leaves_in(child):
            if leaf.kind == "store":
                continue
            fold = self.fold_of(leaf.name)
            if fold is child:
                held = self.held_here(leaf, block, scope)
                self.held[_accumulator(leaf.name)] = held
                scope.values[_accumulator(leaf.name)] = self.neutral(leaf, held, block, _type_of(held, leaf))
            elif self.scope_of[leaf.name] is node and leaf.name not in scope.values:
                held = self.held_here(leaf, block, scope)
                self.held[leaf.name] = held
                empty = EmptyOp([self.extent(block, r) for r in held], _type_of(held, leaf))
                block.add_op(empty)
                scope.values[leaf.name] = empty.result

    def held_here(self, leaf: Leaf, block: Block, scope: _Scope) -> tuple[_Region, _Region]:
        return (self.region(block, leaf.dims[0], scope.loops), self.region(block, leaf.dims[1], scope.loops))

    def emit_loop(self, loop: _Loop, block: Block, scope: _Scope) -> None:
        key = loop.key
        assert key is not None
        carried: list[tuple[str, str]] = []
        for leaf in _leaves_in(loop):
            if leaf.kind == "store":
                if (leaf.tensor, COLLECT) not in carried:
                    carried.append((leaf.tensor, COLLECT))
            elif loop in self.crossed(leaf.name):
                fold = self.fold_of(leaf.name)
                inside = fold is not None and (loop is fold or fold in loop.chain())
                kind = leaf.monoid if key in leaf.red and leaf.monoid else COLLECT
                carried.append((_accumulator(leaf.name) if inside else leaf.name, kind))
        active = scope.loops.get(key.dim)
        if active:
            _, start, extent = active[-1]
            lower, upper = start, self.index(block, "a + b", ("a", "b"), (start, extent))
        else:
            lower, upper = self.index(block, "0"), self.index(block, str(self.nest.sizes[key.dim]))
        inits = [scope.values[name] for name, _ in carried]
        inside = Block(arg_types=[lower.type, lower.type, *(v.type for v in inits)])
        inside.args[0].name_hint, inside.args[1].name_hint = key.dim, f"{key.dim}_n"
        inner = scope.inner()
        inner.loops.setdefault(key.dim, []).append((key, inside.args[0], inside.args[1]))
        for (name, _), arg in zip(carried, inside.args[2:], strict=True):
            inner.values[name] = arg
        self.body(loop, inside, inner)
        inside.add_op(YieldOp([inner.values[name] for name, _ in carried]))
        op = ForOp(key.dim, key.level, lower, upper, key.step, inits, [k for _, k in carried], Region([inside]))
        block.add_op(op)
        for (name, _), result in zip(carried, op.results_, strict=True):
            scope.values[name] = result
        for leaf in _leaves_in(loop):
            if leaf.kind != "store" and self.fold_of(leaf.name) is loop:
                self.folded(leaf, block, scope)

    def folded(self, leaf: Leaf, block: Block, scope: _Scope) -> None:
        """A fold is complete: its accumulator is the value, or a region of the buffer that holds it."""
        result, here = scope.values[_accumulator(leaf.name)], self.held[_accumulator(leaf.name)]
        scope.fresh[leaf.name] = (result, here)
        if leaf.name not in scope.values:
            scope.values[leaf.name] = result
            self.held[leaf.name] = here
            return
        offsets = [self.offset(block, h, o) for h, o in zip(here, self.held[leaf.name], strict=True)]
        placed = InsertOp(result, scope.values[leaf.name], offsets)
        block.add_op(placed)
        scope.values[leaf.name] = placed.result

    def emit_leaf(self, leaf: Leaf, block: Block, scope: _Scope) -> None:
        here = (self.region(block, leaf.dims[0], scope.loops), self.region(block, leaf.dims[1], scope.loops))
        if leaf.kind == "store":
            (name,) = leaf.ins
            value = self.operand(name, leaf, block, scope)
            starts = self.starts(leaf, block, scope)
            op = StoreOp(value, scope.values[leaf.tensor], starts, leaf.axes, leaf.steps)
            block.add_op(op)
            scope.values[leaf.tensor] = op.result
            return
        type_ = _type_of(here, leaf)
        dims = dims_attribute(leaf.dims)
        if leaf.kind == "fill":
            self.defined(leaf, self.neutral(leaf, here, block, type_), here, block, scope)
            return
        if leaf.kind == "load":
            starts = self.starts(leaf, block, scope)
            sizes = [self.extent(block, r) for r in here]
            made = LoadOp(scope.values[leaf.tensor], starts, sizes, leaf.axes, type_, dims, leaf.steps)
            block.add_op(made)
            self.defined(leaf, made.result, here, block, scope)
            return
        operands = [self.operand(n, leaf, block, scope) for n in leaf.ins]
        if self.fold_of(leaf.name) is not None:
            accumulator = _accumulator(leaf.name)
            held = self.held[accumulator]
            whole = held == here
            outs = scope.values[accumulator] if whole else self.part(scope.values[accumulator], here, held, block)
            outs = None if leaf.monoid == CARRY else outs
            computed = self.computed(leaf, operands, here, type_, block, scope, outs)
            computed.result.name_hint = leaf.name
            result: SSAValue = computed.result
            if not whole:
                placed = InsertOp(
                    result,
                    scope.values[accumulator],
                    [self.offset(block, h, o) for h, o in zip(here, held, strict=True)],
                )
                block.add_op(placed)
                result = placed.result
            scope.values[accumulator] = result
            return
        outs = self.neutral(leaf, here, block, type_) if leaf.red and leaf.monoid != CARRY else None
        computed = self.computed(leaf, operands, here, type_, block, scope, outs)
        self.defined(leaf, computed.result, here, block, scope)

    def computed(
        self,
        leaf: Leaf,
        operands: Sequence[SSAValue],
        here: tuple[_Region, _Region],
        type_: TileType,
        block: Block,
        scope: _Scope,
        outs: SSAValue | None,
    ) -> LeafOp:
        """The operation of a computation, with where it stands and the extents that no operand has."""
        axes = dict(zip("PF", here, strict=True))
        op = LeafOp(
            leaf.text,
            operands,
            type_,
            outs=outs,
            accumulate=leaf.monoid if outs is not None else None,
            dims=dims_attribute(leaf.dims),
            places={PLACE_PREFIX + d: self.start(block, self.region(block, d, scope.loops)) for d in leaf.places},
            sizes=[self.extent(block, axes[n]) for n in free_sizes(parse_op(leaf.text))],
        )
        block.add_op(op)
        return op

    def defined(self, leaf: Leaf, result: SSAValue, here: tuple[_Region, _Region], block: Block, scope: _Scope) -> None:
        """A value is made: it stands on its own, or is a region of the buffer that holds it."""
        result.name_hint = leaf.name
        scope.fresh[leaf.name] = (result, here)
        if self.crossed(leaf.name):
            held = self.held[leaf.name]
            offsets = [self.offset(block, h, o) for h, o in zip(here, held, strict=True)]
            placed = InsertOp(result, scope.values[leaf.name], offsets)
            block.add_op(placed)
            scope.values[leaf.name] = placed.result
        else:
            scope.values[leaf.name] = result
            self.held[leaf.name] = here

    def starts(self, leaf: Leaf, block: Block, scope: _Scope) -> list[SSAValue]:
        """Where a load or store begins, per axis of its tensor."""
        out: list[SSAValue] = []
        for i in leaf.at:
            starts = {v: self.region(block, v.name, scope.loops).start for v in i.symbols() if isinstance(v, Var)}
            moving = {v: start for v, start in starts.items() if start is not None}
            i = i.substitute({v: const(0) for v in starts if v not in moving})
            if len(moving) == 1 and i == of_var(next(iter(moving))):
                out.append(next(iter(moving.values())))
                continue
            names = {v: f"{v.name}_at" for v in sorted(moving, key=str)}
            text = str(i.substitute({v: of_var(Var(name)) for v, name in names.items()}))
            out.append(self.index(block, text, list(names.values()), [moving[v] for v in names]))
        return out

    def neutral(self, leaf: Leaf, here: tuple[_Region, _Region], block: Block, type_: TileType) -> SSAValue:
        monoid = leaf.monoid if leaf.monoid in MONOIDS else "sum"
        op = NeutralOp(monoid, [self.extent(block, r) for r in here], type_)
        block.add_op(op)
        return op.result

    def part(
        self, value: SSAValue, here: tuple[_Region, _Region], held: tuple[_Region, _Region], block: Block
    ) -> SSAValue:
        source = value.type
        assert isinstance(source, TileType)
        type_ = tile_type([parse(r.bound) for r in here], source.dtype, source.space.data)
        op = ExtractOp(
            value,
            [self.offset(block, h, o) for h, o in zip(here, held, strict=True)],
            [self.extent(block, r) for r in here],
            type_,
        )
        block.add_op(op)
        return op.result

    def operand(self, name: str, reader: Leaf, block: Block, scope: _Scope) -> SSAValue:
        """A value as its reader sees it: the region of the reader's innermost loops.

        Of an axis of equal elements the reader takes as many as its own axis has.
        """
        regions: list[_Region] = []
        for own, d in zip(self.axes_of(name, reader), self.leaf[name].dims, strict=True):
            if d.startswith("*"):
                mine = self.region(block, own, scope.loops)
                regions.append(_Region(None, mine.extent, mine.bound))
            else:
                regions.append(self.region(block, d, scope.loops))
        here = (regions[0], regions[1])
        if name in reader.carried:
            accumulator = _accumulator(name)
            held = self.held[accumulator]
            value = scope.values[accumulator]
            return value if here == held else self.part(value, here, held, block)
        found = scope.fresh.get(name)
        if found is not None and found[1] == here:
            return found[0]
        held = self.held[name]
        if here == held:
            return scope.values[name]
        return self.part(scope.values[name], here, held, block)

    def axes_of(self, name: str, reader: Leaf) -> tuple[str, str]:
        """The dimensions of a reader that the axes of one of its operands run over."""
        if reader.text == TRANSPOSE:
            return reader.dims[1], reader.dims[0]
        if reader.text == MATMUL:
            firsts = [self.leaf[n].dims[0] for n in reader.ins]
            folded = next((d for d in firsts if not d.startswith("*")), firsts[0])
            return folded, reader.dims[reader.ins.index(name)]
        return reader.dims


def _accumulator(name: str) -> str:
    return f"{name} in the making"


def _type_of(regions: tuple[_Region, _Region], leaf: Leaf) -> TileType:
    return tile_type([parse(r.bound) for r in regions], leaf.dtype, leaf.space)


def scopes(root: _Loop, nest: Nest) -> Iterable[tuple[Leaf, tuple[str, str], tuple[int, ...]]]:
    """Every value with the bounds of what it holds, as texts over parameters and sizes, and the loops (numbered) around
    its scope, outermost first: it lives in one iteration of them.

    Raises NotHeld for a value that would have to be kept over a dimension outside its tile.
    """
    emitter = _Emitter(nest, root, Block())
    numbers: dict[int, int] = {}
    for name, leaf in emitter.leaf.items():
        for loop in emitter.crossed(name):
            if loop.key is not None and loop.key.dim not in leaf.dims and loop.key not in leaf.red:
                raise NotHeld(name, f"is read outside the loop over {loop.key.dim}")
        fold = emitter.fold_of(name)
        many = fold is not None and any(fold in x.chain() and x.key not in leaf.red for x in emitter.crossed(name))
        if many and leaf.space == "psum":
            raise NotHeld(name, "would be folded for many tiles at once")
        chain = emitter.scope_of[name].chain()
        if emitter.scope_of[name] is emitter.home[name]:
            chain = emitter.home[name].chain()
        bounds: list[str] = []
        for d in leaf.dims:
            if d == "" or d.startswith("*"):
                bounds.append(d[1:] or "1")
                continue
            steps = [x.key.step for x in chain if x.key is not None and x.key.dim == d]
            bounds.append(steps[-1] if steps else str(nest.sizes[d]))
        yield leaf, (bounds[0], bounds[1]), tuple(numbers.setdefault(id(x), len(numbers)) for x in chain)


def replace_functions(module: ModuleOp, new: Callable[[FuncOp], FuncOp]) -> None:
    """Put another function in the place of each that has a body."""
    for func in [f for f in module.body.block.ops if isinstance(f, FuncOp) and not f.is_declaration]:
        block = func.parent
        assert block is not None
        block.insert_op_before(new(func), func)
        func.detach()
        func.erase()


def emit(func: FuncOp, nest: Nest) -> FuncOp:
    """The function with its body replaced by the nest."""
    entry = Block(arg_types=[a.type for a in func.body.block.args])
    for new, old in zip(entry.args, func.body.block.args, strict=True):
        new.name_hint = old.name_hint
    root = build_held(nest)
    emitter = _Emitter(nest, root, entry)
    scope = _Scope({}, {}, {})
    for n, arg in enumerate(entry.args):
        scope.values[f"in{n}"] = arg
    written = [leaf.tensor for leaf in nest.leaves if leaf.kind == "store"]
    for name in dict.fromkeys(written):
        type_ = nest.tensors[name]
        sizes = [emitter.index(entry, str(d)) for d in shape_of(type_)]
        op = EmptyOp(sizes, type_)
        entry.add_op(op)
        scope.values[name] = op.result
    emitter.body(root, entry, scope)
    entry.add_op(ReturnOp(*(scope.values[name] for name in nest.outputs)))
    out = FuncOp(func.sym_name.data, func.function_type, Region([entry]), func.sym_visibility)
    out.attributes.update(func.attributes)
    out.location = func.location
    out.attributes[SIZES] = DictionaryAttr({d: StringAttr(str(n)) for d, n in nest.sizes.items()})
    out.attributes[PARAMETERS] = DictionaryAttr({p: StringAttr(c) for p, c in nest.parameters.items()})
    return out


def collect(func: FuncOp) -> Nest:
    """Read the leaves of a tile function back; AxonError where it is not such a nest."""
    sizes_attr, parameters_attr = func.attributes.get(SIZES), func.attributes.get(PARAMETERS)
    if not isinstance(sizes_attr, DictionaryAttr) or not isinstance(parameters_attr, DictionaryAttr):
        raise AxonError(
            f"function @{func.sym_name.data} is not a tile program",
            where=place(func),
            accepted="the output of tile-symbolic",
        )
    sizes = {d: parse(v.data) for d, v in sizes_attr.data.items() if isinstance(v, StringAttr)}
    parameters = {p: v.data for p, v in parameters_attr.data.items() if isinstance(v, StringAttr)}
    reader = _Reader()
    for n, arg in enumerate(func.body.block.args):
        reader.tensor[arg] = f"in{n}"
    reader.block(func.body.block, ())
    leaves = [reader.resolved(x) for x in reader.leaves]
    last = func.body.block.last_op
    outputs = [reader.tensor[v] for v in last.operands] if last is not None else []
    return Nest(leaves, sizes, parameters, reader.types, outputs)


class _Reader:
    def __init__(self):
        self.leaves: list[Leaf] = []
        self.tensor: dict[SSAValue, str] = {}
        self.types: dict[str, TensorType[Attribute]] = {}
        self.value: dict[SSAValue, str] = {}
        """Tile value -> the leaf value it is, or holds."""
        self.starts: dict[SSAValue, str] = {}
        """Start of a loop -> its dimension."""
        self.named: dict[str, str] = {}
        """Provisional buffer name -> the leaf value that it turned out to hold."""

    def name_of(self, v: SSAValue) -> str:
        return self.final(self.value[v])

    def resolved(self, leaf: Leaf) -> Leaf:
        """With the folds that it reads while they are made by the names that they turned out to have."""
        return replace(leaf, ins=tuple(map(self.final, leaf.ins)), carried=frozenset(map(self.final, leaf.carried)))

    def final(self, name: str) -> str:
        while name in self.named:
            name = self.named[name]
        return name

    def block(self, block: Block, path: tuple[tuple[ForOp, LoopKey], ...]) -> None:
        keys = tuple(k for _, k in path)
        for op in block.ops:
            match op:
                case ForOp():
                    self.loop(op, path)
                case EmptyOp() if is_tensor(op.result.type):
                    name = f"t{len(self.types)}"
                    self.tensor[op.result] = name
                    self.types[name] = op.result.type
                case NeutralOp() if _is_operand(op.result):
                    self.leaves.append(self.fill(op, keys))
                case EmptyOp() | NeutralOp():
                    self.value[op.result] = f"buffer{len(self.value)}"
                case LoadOp():
                    self.leaves.append(self.load(op, keys))
                case LeafOp():
                    self.leaves.append(self.computation(op, path))
                case InsertOp():
                    if self.value[op.into] != self.value[op.value]:
                        self.named.setdefault(self.value[op.into], self.value[op.value])
                    self.value[op.result] = self.value[op.value]
                case ExtractOp():
                    self.value[op.result] = self.value[op.source]
                case StoreOp():
                    name = self.tensor[op.into]
                    self.tensor[op.result] = name
                    source = self.name_of(op.value)
                    dims = next(x.dims for x in self.leaves if x.name == source)
                    self.leaves.append(
                        Leaf(
                            "store",
                            name,
                            dims,
                            keys,
                            (source,),
                            tensor=name,
                            axes=op.axis_map(),
                            at=self.at(op),
                            steps=op.step_map() if op.steps is not None else (),
                        )
                    )
                case _:
                    pass

    def loop(self, op: ForOp, path: tuple[tuple[ForOp, LoopKey], ...]) -> None:
        key = LoopKey(op.dim.data, op.level.data, op.step.data)
        self.starts[op.start] = key.dim
        for init, arg in zip(op.inits, op.carried, strict=True):
            if init in self.tensor:
                self.tensor[arg] = self.tensor[init]
            else:
                self.value[arg] = self.value[init]
        self.block(op.body.block, (*path, (op, key)))
        for kind, arg, v, result in zip(op.kinds.data, op.carried, op.yielded, op.results_, strict=True):
            if v in self.tensor:
                self.tensor[result] = self.tensor[v]
                continue
            self.value[result] = self.value[v]
            if kind.data == CARRY:
                self.carried_by(key, self.value[arg], self.value[v])

    def carried_by(self, key: LoopKey, held: str, name: str) -> None:
        """A loop carries what a leaf makes: the buffer that it starts from is that leaf's."""
        if held != name:
            self.named.setdefault(held, name)
        number = next(n for n, x in enumerate(self.leaves) if x.name == name)
        leaf = self.leaves[number]
        self.leaves[number] = replace(leaf, monoid=CARRY, red=leaf.red | {key})

    def dims(self, op: LoadOp | LeafOp) -> tuple[str, str]:
        if op.dims is None or len(op.dims.data) != 2:
            raise AxonError(
                f"'{op.name}' does not say which dimensions it runs over", where=place(op), accepted='dims ["m", "k"]'
            )
        return (op.dims.data[0].data, op.dims.data[1].data)

    def at(self, op: LoadOp | StoreOp) -> tuple[Index, ...]:
        """Where each tensor axis begins."""
        return tuple(map(self.place, op.offsets))

    def place(self, v: SSAValue) -> Index:
        if v in self.starts:
            return of_var(Var(self.starts[v]))
        owner = v.owner
        if not isinstance(owner, IndexOp) or any(x not in self.starts for x in owner.operands_):
            raise AxonError(
                "an offset is not made of loop starts", where=place(owner) if isinstance(owner, Operation) else None
            )
        names = {n.data: self.starts[x] for n, x in zip(owner.names.data, owner.operands_, strict=True)}
        return parse(owner.expression.data, lambda n: of_var(Var(names[n])) if n in names else size_index(n))

    def load(self, op: LoadOp, keys: tuple[LoopKey, ...]) -> Leaf:
        name = f"v{len(self.leaves)}"
        self.value[op.result] = name
        type_ = op.result.type
        assert isinstance(type_, TileType)
        return Leaf(
            "load",
            name,
            self.dims(op),
            keys,
            tensor=self.tensor[op.source],
            axes=op.axis_map(),
            at=self.at(op),
            steps=op.step_map() if op.steps is not None else (),
            dtype=dtype_name(type_.element_type),
            space=type_.space.data,
        )

    def fill(self, op: NeutralOp, keys: tuple[LoopKey, ...]) -> Leaf:
        name = f"v{len(self.leaves)}"
        self.value[op.result] = name
        type_ = op.result.type
        assert isinstance(type_, TileType)
        first, second = ("" if b.data == "1" else f"*{b.data}" for b in type_.bounds.data)
        return Leaf("fill", name, (first, second), keys, monoid=op.monoid.data, dtype=type_.dtype)

    def computation(self, op: LeafOp, path: tuple[tuple[ForOp, LoopKey], ...]) -> Leaf:
        name = f"v{len(self.leaves)}"
        type_ = op.result.type
        assert isinstance(type_, TileType)
        red: set[LoopKey] = set()
        if op.outs is not None:
            # The loops that carry the accumulator as a fold.
            held = self.value[op.outs]
            for loop, key in path:
                for kind, arg in zip(loop.kinds.data, loop.carried, strict=True):
                    if kind.data != COLLECT and self.value.get(arg) == held:
                        red.add(key)
            self.named[held] = name
        # What the loops around fold is not named yet where it is read as it stands so far.
        folds = {
            self.value[arg]
            for loop, _ in path
            for kind, arg in zip(loop.kinds.data, loop.carried, strict=True)
            if kind.data != COLLECT
        }
        carried = frozenset(n for v in op.ins if (n := self.value[v]) in folds)
        ins = tuple(n if (n := self.value[v]) in carried else self.name_of(v) for v in op.ins)
        self.value[op.result] = name
        monoid = op.accumulate.data if op.accumulate is not None else None
        return Leaf(
            "compute",
            name,
            self.dims(op),
            tuple(k for _, k in path),
            ins,
            op.text.data,
            monoid,
            frozenset(red),
            dtype=dtype_name(type_.element_type),
            space=type_.space.data,
            carried=carried,
        )


def _is_operand(v: SSAValue) -> bool:
    """Whether a computation reads the value, or a region of it, as an operand."""
    for use in v.uses:
        op = use.operation
        if isinstance(op, LeafOp) and use.index < len(op.ins):
            return True
        if isinstance(op, ExtractOp) and _is_operand(op.result):
            return True
    return False


__all__ = [
    "COPY",
    "LAST",
    "MATMUL",
    "PARAMETERS",
    "SIZES",
    "TRANSPOSE",
    "Leaf",
    "LoopKey",
    "Nest",
    "NotHeld",
    "build",
    "build_held",
    "collect",
    "emit",
    "scopes",
]
