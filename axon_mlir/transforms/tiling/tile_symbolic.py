# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tile-symbolic`: every operation becomes its own loop nest over symbolic tile sizes, its result stored to HBM.

```
%y = tensor_hl.mul %x, %z : tensor<?x?xf32, ["M", "K"]>
```
becomes
```
tile.for m.tile (%m, %mn) = %0 to %M step "m_part" (collect %o = ...) {
  tile.for k.tile (%k, %kn) = %0 to %K step "k_free" (collect %p = %o) {
    %a = tile.load %x[%m along p, %k along f] ...; %b = ...
    %c = tile.leaf "op leaf(a[P, F], b[P, F]) -> c[P, F] { c[p, f] = mul(a[p, f], b[p, f]) }" (%a, %b)
    %q = tile.store %c into %p[%m along p, %k along f] ...
```
A result has one dimension on partitions and one along the free axis; further ones are loops of step one. Contractions
take the layout of the device's matrix engine: a folded dimension on the partitions of both operands. Which operand is
stationary follows from what the readers of the result need on partitions.

Tile parameters are `<dim>_part` (a partition axis), `<dim>_free` (a free axis), `<dim>_moving` (the free axis of a
contraction), `<dim>_block`; their constraints stand in the function's attribute `tile.parameters`.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute
from xdsl.passes import ModulePass

from axon_mlir.dialects.tile import CARRY, PLACE_PREFIX, SIZE_PREFIX
from axon_mlir.dialects.trn_isa import device_of
from axon_mlir.semantics import terms as t
from axon_mlir.semantics.functions import MONOIDS
from axon_mlir.semantics.index import Index, Size, Var, const, of_var
from axon_mlir.semantics.index import size as size_index
from axon_mlir.semantics.scans import Scan
from axon_mlir.semantics.shapes import tensor_type
from axon_mlir.targets import Device
from axon_mlir.transforms.tiling.capacity import turned_dtype
from axon_mlir.transforms.tiling.nest import COPY, LAST, MATMUL, TRANSPOSE, Leaf, LoopKey, Nest, emit, replace_functions
from axon_mlir.transforms.tiling.program import Computation, Program, Tensor, analyse, folds_of, reads_of
from axon_mlir.transforms.tiling.structure import STRUCTURE, Structure, structure_attribute, structure_of

PART, FREE, MOVING, BLOCK = "part", "free", "moving", "block"
ROLES = {PART: "<= partitions", FREE: "<= free_elements_psum", MOVING: "<= moving_free", BLOCK: "any"}
"""The role of a step -> the constraint on it: a device limit, or none."""
REDUCE = "tensor_hl.reduce"
"""The operation that folds values which are no factors, though they may be products."""
FLOATS = ("f32", "bf16", "f16")
"""What the tensor engine multiplies."""


@dataclass(frozen=True)
class TileSymbolic(ModulePass):
    """Lower tensor_hl functions to unfused symbolic tile programs."""

    name = "tile-symbolic"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        device = device_of(op)

        def new(func: FuncOp) -> FuncOp:
            structure = structure_of(func)
            out = emit(func, tiled(analyse(func), device, structure))
            if structure != Structure():
                out.attributes[STRUCTURE] = structure_attribute(structure)
            return out

        replace_functions(op, new)


def tiled(program: Program, device: Device, structure: Structure | None = None) -> Nest:
    """The unfused nest: one per computation."""
    builder = _Builder(program, device, structure or Structure())
    for c in program.computations:
        builder.computation(c)
    tensors: dict[str, TensorType[Attribute]] = {
        c.result.name: tensor_type(c.result.shape, c.result.dtype) for c in program.computations
    }
    return Nest(builder.leaves, program.sizes, builder.parameters, tensors, program.outputs)


ONES = "op leaf() -> c[P, F] { c[p, f] = 1 }"
RUNNING = "op leaf(x0[P, F], x1[P, 1]) -> c[P, F] {{ c[p, f] = {function}(x1[p, 0], {monoid}(j < f + 1: x0[p, j])) }}"
RECURRENCE = (
    "op leaf(x0[P, F], x1[P, F], x2[P, 1]) -> c[P, F] { c[p, f] = add(mul(x2[p, 0], prod(j < f + 1: x0[p, j])), "
    "sum(j < f + 1: mul(x1[p, j], prod(i < f - j: x0[p, j + 1 + i])))) }"
)
"""The meanings of scans within a tile, from what the tiles before have left."""


@dataclass(frozen=True)
class _Contraction:
    """A contraction's dimensions: `m` only on the left, `n` only on the right, `k` folded, `batch` on both and kept.

    Of each group the last is tiled, the others are loops of step one.
    """

    left: t.Read
    right: t.Read
    m: tuple[str, ...]
    n: tuple[str, ...]
    k: tuple[str, ...]
    batch: tuple[str, ...]

    def swapped(self) -> _Contraction:
        return _Contraction(self.right, self.left, self.n, self.m, self.k, self.batch)


def contraction_of(c: Computation) -> _Contraction | None:
    """The contraction that a computation is: a sum of products of two elements that share what is folded."""
    folds, inner = folds_of(c.body)
    if not folds or any(f.monoid != "sum" for f in folds):
        return None
    if not (isinstance(inner, t.Apply) and inner.function == "mul"):
        return None
    left, right = inner.args
    if not (isinstance(left, t.Read) and isinstance(right, t.Read)):
        return None
    folded = [d for _, d in c.fold_dims]
    sides = [_dims_in(c, left), _dims_in(c, right)]
    if not all(d in s for s in sides for d in folded):
        return None
    # Of each group the last is tiled.
    kept = sorted((d for d in c.dims if d is not None), key=lambda d: d not in c.single)
    folded.sort(key=lambda d: d not in c.single)
    if folded[-1] in c.single:
        return None
    m = tuple(d for d in kept if d in sides[0] and d not in sides[1])
    n = tuple(d for d in kept if d in sides[1] and d not in sides[0])
    # What is spread along a dimension is made for each of its indices.
    both = tuple(d for d in kept if (d in sides[0]) == (d in sides[1]))
    # Those come last that may be tiled: where the last may not, none may.
    alone = [d for group in (m, n) if group and group[-1] in c.single for d in group]
    return _Contraction(
        left,
        right,
        tuple(d for d in m if d not in alone),
        tuple(d for d in n if d not in alone),
        tuple(folded),
        (*both, *alone),
    )


def _dims_in(c: Computation, r: t.Read) -> list[str]:
    """The dimensions that a read depends on, in the order of its axes."""
    variables = [s for i in r.indices for s in sorted(i.symbols(), key=str) if isinstance(s, Var)]
    return [d for v in variables if (d := c.dim_of.get(v)) is not None]


def _along(c: Computation, r: t.Read) -> list[str | None]:
    """The dimension that each axis of a read runs along."""
    found = [c.along(i) for i in r.indices]
    return [None if f is None else f[0] for f in found]


class _Builder:
    def __init__(self, program: Program, device: Device, structure: Structure):
        self.program = program
        self.device = device
        self.structure = structure
        self.leaves: list[Leaf] = []
        self.parameters: dict[str, str] = {}
        self.tensors: dict[str, Tensor] = {x.name: x for x in program.inputs}
        for c in program.computations:
            self.tensors[c.result.name] = c.result
        self.layout: dict[str, tuple[str | None, str | None]] = {}
        """Computed tensor -> the dimensions on its partition and free axis."""
        self.wanted = _wanted_partitions(program) if structure.plan == "layout" else {}
        self.beside = rows_beside_scans(program)
        self.count = 0

    def value(self) -> str:
        self.count += 1
        return f"v{self.count}"

    # -- loops ---------------------------------------------------------------------------------------------------

    def parameter(self, dim: str, role: str) -> str:
        name = f"{dim}_{role}"
        self.parameters[name] = ROLES[role]
        return name

    def loop(self, dim: str, role: str) -> LoopKey:
        return LoopKey(dim, "tile", self.parameter(dim, role))

    def path(self, *loops: LoopKey) -> tuple[LoopKey, ...]:
        """Loops with the block loops of their dimensions in front."""
        present = {k.dim for k in loops}
        blocks = [LoopKey(d, "block", self.parameter(d, BLOCK)) for d in self.structure.blocks if d in present]
        return (*blocks, *loops)

    def single(self, dims: tuple[str, ...] | list[str]) -> tuple[LoopKey, ...]:
        """Loops that take one index at a time."""
        return tuple(LoopKey(d, "tile", "1") for d in dims)

    def repeated(self, dim: str | None) -> str:
        """An axis of equal elements, as long as the tile of the dimension (one element without a dimension)."""
        if dim is None:
            return ""
        return f"*{self.parameter(dim, PART)}"

    # -- moves ---------------------------------------------------------------------------------------------------

    def load(
        self,
        c: Computation,
        read: t.Read,
        part: str | None,
        free: str | None,
        path: tuple[LoopKey, ...],
        turn: bool = False,
    ) -> str:
        """Load the elements that a computation reads, with `part` on the partitions and `free` along them.

        With `turn`, a tensor whose rows run along `part` is loaded as it lies and turned, and a computed column or row
        that all partitions need is spread on chip.
        """
        along = _along(c, read)
        named = [d for d in along if d is not None]
        first = part if part in named else None
        second = free if free in named else None
        lies = self.layout.get(read.tensor)
        how = self.structure.transpose
        if self.tensors[read.tensor].dtype not in FLOATS:
            # The tensor engine turns no integers.
            how = "strided"
        if turn and how != "strided" and first is not None and second is not None:
            if lies != (first, second) and named[-1] == first:
                return self.turned(c, read, first, second, path)
        if turn and how == "engine" and part is not None and first is None and second is not None and lies is not None:
            if named == [second] and second in lies:
                return self.spread(c, read, part, second, path, column=lies[0] is not None)
        return self.fetched(c, read, (first, second), path, repeated=part if first is None else None)

    def narrowed(self, path: tuple[LoopKey, ...], *dims: str, role: str = PART) -> tuple[LoopKey, ...]:
        """The path with loops over tiles of dimensions, partition tiles unless another role is given, where it has
        none yet."""
        return (
            *path,
            *(self.loop(d, role) for d in dims if not any(k == LoopKey(d, "tile", f"{d}_{role}") for k in path)),
        )

    def fetched(
        self,
        c: Computation,
        read: t.Read,
        dims: tuple[str | None, str | None],
        path: tuple[LoopKey, ...],
        space: str = "sbuf",
        *,
        repeated: str | None = None,
    ) -> str:
        """A tile loaded as it lies; without a dimension on partitions, the same for all of `repeated`."""
        name = self.value()
        steps = [f[1] if (f := c.along(i)) is not None and f[0] in dims else 1 for i in read.indices]
        self.leaves.append(
            Leaf(
                "load",
                name,
                (dims[0] or self.repeated(repeated), dims[1] or ""),
                path,
                tensor=read.tensor,
                axes=tuple(None if d is None or d not in dims else dims.index(d) for d in _along(c, read)),
                at=tuple(_place(c, i) for i in read.indices),
                steps=tuple(steps) if any(s != 1 for s in steps) else (),
                dtype=self.tensors[read.tensor].dtype,
                space=space,
            )
        )
        return name

    def moved(
        self,
        text: str,
        ins: tuple[str, ...],
        dims: tuple[str, str],
        path: tuple[LoopKey, ...],
        dtype: str,
        space: str = "sbuf",
    ) -> str:
        """A computation that only moves its last operand."""
        name = self.value()
        self.leaves.append(Leaf("compute", name, dims, path, ins, text, dtype=dtype, space=space))
        return name

    def turned(self, c: Computation, read: t.Read, part: str, free: str, path: tuple[LoopKey, ...]) -> str:
        """A tile loaded row by row, transposed on the tensor engine and copied back to SBUF, or transposed by the DMA
        on its way."""
        narrow, dtype = self.narrowed(path, free, part), self.tensors[read.tensor].dtype
        if self.structure.transpose == "dma":
            seen = self.fetched(c, read, (free, part), narrow, "hbm")
            return self.moved(TRANSPOSE, (seen,), (part, free), narrow, dtype)
        loaded = self.fetched(c, read, (free, part), narrow)
        wide = turned_dtype(self.device, dtype)
        psum = self.moved(TRANSPOSE, (loaded,), (part, free), narrow, wide, "psum")
        return self.moved(COPY, (psum,), (part, free), narrow, dtype)

    def spread(
        self, c: Computation, read: t.Read, part: str, free: str, path: tuple[LoopKey, ...], *, column: bool
    ) -> str:
        """A computed column or row, as the same row on every partition: turned into a row, times ones."""
        narrow, dtype = self.narrowed(path, free, role=PART if column else MOVING), self.tensors[read.tensor].dtype
        row = self.fetched(c, read, (free, None) if column else (None, free), narrow)
        if column:
            psum = self.moved(TRANSPOSE, (row,), ("", free), narrow, turned_dtype(self.device, dtype), "psum")
            row = self.moved(COPY, (psum,), ("", free), narrow, dtype)
        dims = (self.repeated(part), free)
        product = self.moved(MATMUL, (self.ones("", dims[0], dtype), row), dims, narrow, "f32", "psum")
        return self.moved(COPY, (product,), dims, narrow, "f32")

    def ones(self, part: str, free: str, dtype: str) -> str:
        """A tile of ones."""
        name = self.value()
        self.leaves.append(Leaf("fill", name, (part, free), (), monoid="prod", dtype=dtype))
        return name

    def store(self, c: Computation, value: str, part: str | None, free: str | None, path: tuple[LoopKey, ...]) -> None:
        if not c.is_piece:
            self.layout[c.result.name] = (part, free)
        along = [d is not None and d in (part, free) for d in c.dims]
        apart = c.steps or (1,) * len(c.dims)
        self.leaves.append(
            Leaf(
                "store",
                c.result.name,
                (part or "", free or ""),
                path,
                (value,),
                tensor=c.result.name,
                axes=tuple(None if d is None or d not in (part, free) else 0 if d == part else 1 for d in c.dims),
                at=tuple(
                    _place(c, o) + (const(0) if d is None else s * of_var(Var(d)))
                    for o, s, d in zip(c.origin or [const(0)] * len(c.dims), apart, c.dims, strict=True)
                ),
                steps=tuple(s if a else 1 for s, a in zip(apart, along, strict=True))
                if max(apart, default=1) > 1
                else (),
            )
        )

    # -- computations --------------------------------------------------------------------------------------------

    def computation(self, c: Computation) -> None:
        folds, inner = folds_of(c.body)
        contraction = contraction_of(c)
        if not folds:
            self.elementwise(c)
        elif c.scan is not None:
            self.scan(c, c.scan)
        elif contraction is not None and c.op.name != REDUCE:
            self.contraction(c, contraction)
        else:
            self.reduction(c, folds[0].monoid, inner)

    def orientation(self, c: Computation, kept: list[str]) -> tuple[str | None, str | None]:
        """Partition and free dimension of an elementwise result: as its operands lie, else the last two dimensions."""
        beside = self.beside.get(c.result.name)
        if beside is not None and set(beside) <= {*kept, None} - c.single:
            return beside
        for r in reads_of(c.body):
            layout = self.layout.get(r.tensor)
            if layout is None or not set(layout) <= {*kept, None} - c.single:
                continue
            # A column or row is followed by what has no other dimension to run along it.
            if None not in layout or set(kept) <= set(_dims_in(c, r)):
                return layout
        rows = [d for d in kept if d not in c.single]
        if len(rows) >= 2:
            return rows[-2], rows[-1]
        if len(c.dims) >= 2 and rows and c.dims[-1] is None:
            return rows[0], None
        return None, rows[0] if rows else None

    def elementwise(self, c: Computation) -> None:
        kept = [*(d for _, d in c.around), *(d for d in c.dims if d is not None)]
        part, free = self.orientation(c, kept)
        # The rows of a flattened axis are written one after the other, each as a whole.
        around = [d for _, d in c.around if d not in (part, free)]
        batch = self.single([d for d in kept if d not in (part, free, *around)])
        rows, columns = ([self.loop(d, r)] if d is not None else [] for d, r in ((part, PART), (free, FREE)))
        # Beside a scan, which carries along rows, each row is gone through before the next.
        scanned = c.result.name in self.beside
        inner = (*rows, *batch, *columns) if scanned else (*batch, *rows, *columns)
        path = self.path(*self.single(around), *inner)
        reads = reads_of(c.body)
        turn = not isinstance(c.body, t.Read)
        names = {r: self.load(c, r, part, free, path, turn) for r in reads}
        if isinstance(c.body, t.Read):
            value = names[c.body]
            loaded, lies = self.leaves[-1], _along(c, c.body)
            repeats = loaded.dims[0].startswith("*") or (free is not None and free not in lies)
            if repeats or self.tensors[c.body.tensor].dtype != c.result.dtype:
                value = self.compute(c, names, c.body, part, free, path)
        else:
            value = self.compute(c, names, c.body, part, free, path)
        self.store(c, value, part, free, path)

    def compute(
        self,
        c: Computation,
        names: dict[t.Read, str],
        body: t.Term,
        part: str | None,
        free: str | None,
        path: tuple[LoopKey, ...],
    ) -> str:
        reads, ins = list(names), tuple(names.values())
        text = leaf_text(c, body, reads, (part, free))
        value = self.value()
        dims = (part or "", free or "")
        self.leaves.append(Leaf("compute", value, dims, path, ins, text, dtype=c.result.dtype))
        return value

    def reduction(self, c: Computation, monoid: str, inner: t.Term) -> None:
        kept = [d for d in c.dims if d is not None]
        folded = [d for _, d in c.fold_dims]
        across = self.across_partitions(c, monoid, inner, kept, folded)
        if across is not None:
            self.partition_sum(c, inner, *across)
            return
        beside = self.beside.get(c.result.name)
        if beside is not None and not set(beside) & {*folded}:
            self.accumulation(c, monoid, inner, *beside)
            return
        rows, columns = ([d for d in ds if d not in c.single] for ds in (kept, folded))
        # Without a dimension that elements run along, one element is folded at a time.
        free = columns[-1] if columns else None
        part = rows[-1] if rows else None
        for r in reads_of(inner):
            # Follow an operand that lies with a kept dimension on partitions and a folded one along them.
            layout = self.layout.get(r.tensor)
            if layout is not None and layout[0] in rows and layout[1] in columns:
                part, free = layout[0], layout[1] or free
        outer = self.path(*self.single([d for d in kept if d != part]), *([self.loop(part, PART)] if part else []))
        red = (*self.single([d for d in folded if d != free]), *([self.loop(free, FREE)] if free else []))
        path = (*outer, *red)
        names = {r: self.load(c, r, part, free, path, turn=True) for r in reads_of(inner)}
        if free is not None and not any(free in _along(c, r) for r in names):
            # What is folded is as long as some operand.
            along = t.Read("ones", tuple(of_var(v) for v, d in c.dim_of.items() if d == free))
            names[along] = self.value()
            inside = tuple(key for key in path if key.dim in (part, free))
            self.leaves.append(Leaf("compute", names[along], (part or "", free), inside, (), ONES))
            inner = t.Apply("mul", (inner, along))
        reads = list(names)
        value = self.value()
        self.leaves.append(
            Leaf(
                "compute",
                value,
                (part or "", ""),
                path,
                tuple(names.values()),
                leaf_text(c, inner, reads, (part, free), fold=monoid),
                monoid,
                frozenset(red),
                dtype=_accumulator(monoid, c.result.dtype),
            )
        )
        self.store(c, self.rounded(c, value, (part or "", ""), outer), part, None, outer)

    def accumulation(self, c: Computation, monoid: str, inner: t.Term, part: str | None, free: str | None) -> None:
        """A fold over loops of rows that lie as a scan has left them: rows are added up, the loops outside of the tiles
        along them."""
        folded = self.single([d for _, d in c.fold_dims])
        rest = self.single([d for d in c.dims if d is not None and d not in (part, free)])
        rows, columns = ([self.loop(d, r)] if d is not None else [] for d, r in ((part, PART), (free, FREE)))
        path = self.path(*rows, *rest, *folded, *columns)
        names = {r: self.load(c, r, part, free, path, turn=True) for r in reads_of(inner)}
        value = self.value()
        dims, dtype = (part or "", free or ""), _accumulator(monoid, c.result.dtype)
        text = leaf_text(c, inner, list(names), (part, free))
        self.leaves.append(
            Leaf("compute", value, dims, path, tuple(names.values()), text, monoid, frozenset(folded), dtype=dtype)
        )
        outer = self.path(*rows, *rest, *columns)
        self.store(c, self.rounded(c, value, dims, outer), part, free, outer)

    def scan(self, c: Computation, scan: Scan) -> None:
        """A scan along rows: within each tile from what the tiles before have left. Of a running fold that is the fold
        of what they hold, which is made beside; of a recurrence it is their last element."""
        scanned = c.dim_of[scan.along]
        assert scanned is not None
        free = None if scanned in c.single else scanned
        part = self.beside[c.result.name][0]
        rest = self.single([d for d in c.dims if d is not None and d not in (part, scanned)])
        outer = self.path(*([self.loop(part, PART)] if part else []), *rest)
        inside = self.path(self.loop(free, FREE)) if free else self.single([scanned])
        path = (*outer, *inside)
        reads = [r for x in scan.parts for r in reads_of(x)]
        loaded = tuple(self.load(c, r, part, free, path, turn=True) for r in reads)
        before, value = self.value(), self.value()
        dtype = _accumulator(scan.monoid, c.result.dtype)
        column, row, red = (part or "", ""), (part or "", free or ""), frozenset(inside)
        ins, carried = (*loaded, before), frozenset({before})
        if scan.factor is not None:
            self.leaves.append(Leaf("compute", value, row, path, ins, RECURRENCE, dtype=dtype, carried=carried))
            self.leaves.append(Leaf("compute", before, column, path, (value,), LAST, CARRY, red, dtype=dtype))
        else:
            text = RUNNING.format(function=MONOIDS[scan.monoid].function, monoid=scan.monoid)
            self.leaves.append(Leaf("compute", value, row, path, ins, text, dtype=dtype, carried=carried))
            text = f"op leaf(x0[P, F]) -> c[P, 1] {{ c[p, 0] = {scan.monoid}(q < F: x0[p, q]) }}"
            self.leaves.append(Leaf("compute", before, column, path, loaded, text, scan.monoid, red, dtype=dtype))
        if dtype != c.result.dtype:
            value = self.moved(COPY, (value,), row, path, c.result.dtype)
        self.store(c, value, part, free, path)

    def across_partitions(
        self, c: Computation, monoid: str, inner: t.Term, kept: list[str], folded: list[str]
    ) -> tuple[str, str] | None:
        """(folded dimension, kept dimension) of a sum whose operands lie with the folded one on partitions."""
        if monoid != "sum" or self.structure.partition_sum != "engine" or self.structure.transpose == "strided":
            return None
        found: set[tuple[str, str]] = set()
        for r in reads_of(inner):
            named = [d for d in _along(c, r) if d is not None]
            lies = self.layout.get(r.tensor, tuple(named[-2:]))
            if self.tensors[r.tensor].dtype not in FLOATS:
                return None
            if len(named) >= 2:
                first, second = lies if len(lies) == 2 else (None, None)
                if first not in folded or second not in kept:
                    return None
                found.add((first, second))
        return found.pop() if len(found) == 1 else None

    def partition_sum(self, c: Computation, inner: t.Term, k: str, n: str) -> None:
        """A sum over partitions, as a product with ones: one row, its elements along the free axis."""
        kept = [d for d in c.dims if d is not None]
        outer = self.path(*self.single([d for d in kept if d != n]), self.loop(n, MOVING))
        red = (*self.single([d for _, d in c.fold_dims if d != k]), self.loop(k, PART))
        path = (*outer, *red)
        reads = reads_of(inner)
        names = {r: self.load(c, r, k, n, path, turn=True) for r in reads}
        if isinstance(inner, t.Read) and {k, n} <= set(_along(c, inner)):
            operand, dtype = names[inner], self.tensors[inner.tensor].dtype
        else:
            operand, dtype = self.value(), "f32"
            text = leaf_text(c, inner, reads, (k, n))
            self.leaves.append(Leaf("compute", operand, (k, n), path, tuple(names.values()), text, dtype=dtype))
        ones = self.ones(self.repeated(k), "", dtype)
        value = self.value()
        self.leaves.append(
            Leaf("compute", value, ("", n), path, (ones, operand), MATMUL, "sum", frozenset(red), space="psum")
        )
        self.store(c, self.rounded(c, value, ("", n), outer, copy=True), None, n, outer)

    def contraction(self, c: Computation, found: _Contraction) -> None:
        swap = c.result.name in self.structure.swap
        wanted = self.wanted.get(c.result.name)
        if wanted is not None and wanted in found.n:
            swap = not swap
        elif not found.m or (found.n and wanted is None and _first(c) in found.n):
            # The first axis of the result lies on partitions, unless there is a reason.
            swap = not swap
        if swap:
            found = found.swapped()
        m, n = found.m[-1] if found.m else None, found.n[-1] if found.n else None
        k = found.k[-1]
        single = [*found.batch, *found.m[:-1], *found.n[:-1]]
        rows = [self.loop(m, PART)] if m else []
        columns = [self.loop(n, MOVING)] if n else []
        tiles = [*rows, *columns] if self.structure.order == "mn" else [*columns, *rows]
        blocked = self.structure.accumulate == "sbuf"
        outer = self.path(*self.single(single), *tiles)
        key = self.loop(k, PART)
        block = [LoopKey(k, "block", self.parameter(k, BLOCK))] if blocked and k not in self.structure.blocks else []
        red = (*self.single(found.k[:-1]), key)
        path = (*outer, *block, *red)
        names = [self.load(c, r, k, d, path, turn=True) for r, d in ((found.left, m), (found.right, n))]
        value = self.value()
        dims = (m or "", n or "")
        folded = frozenset(red) if block else frozenset(x for x in path if x.dim in found.k)
        self.leaves.append(Leaf("compute", value, dims, path, tuple(names), MATMUL, "sum", folded, space="psum"))
        if block:
            total = self.value()
            self.leaves.append(Leaf("compute", total, dims, (*outer, *block), (value,), COPY, "sum", frozenset(block)))
            value = total
        self.store(c, self.rounded(c, value, dims, outer, copy=not block), m, n, outer)

    def rounded(
        self, c: Computation, value: str, dims: tuple[str, str], path: tuple[LoopKey, ...], copy: bool = False
    ) -> str:
        """The accumulated value in the result's type, in SBUF."""
        if not copy and self.leaves[-1].dtype == c.result.dtype:
            return value
        name = self.value()
        self.leaves.append(Leaf("compute", name, dims, path, (value,), COPY, dtype=c.result.dtype))
        return name


def _accumulator(monoid: str, dtype: str) -> str:
    """The type in which elements are folded: sums and products in fp32, as is what has no infinity to start from."""
    return dtype if monoid in ("max", "min") and dtype in FLOATS else "f32"


def _place(c: Computation, i: Index) -> Index:
    """An index over the starts of loops, one variable for each dimension."""
    starts: dict[Size | Var, Index] = {v: const(0) if d is None else of_var(Var(d)) for v, d in c.dim_of.items()}
    return i.substitute(starts)


def _first(c: Computation) -> str | None:
    return next((d for d in c.dims if d is not None), None)


Lies = tuple[str | None, str | None]
"""The dimensions on a tensor's partition and free axis."""


def rows_beside_scans(program: Program) -> dict[str, Lies]:
    """How scans lie, what they are made of element by element, and what is made of them so: rows run along the scan.

    On partitions is the last of the other dimensions that no reader folds.
    """
    lies: dict[str, Lies] = {}
    by_name = {c.result.name: c for c in program.computations}

    def back(tensor: str, mine: Lies) -> None:
        c = by_name.get(tensor)
        if c is None or tensor in lies or folds_of(c.body)[0] or not _has(c, mine):
            return
        lies[tensor] = mine
        for r in reads_of(c.body):
            back(r.tensor, mine)

    for c in program.computations:
        if c.scan is None:
            # What is made of rows follows them; what folds other dimensions adds rows up.
            found = [lies[r.tensor] for r in reads_of(c.body) if r.tensor in lies]
            folded = {d for _, d in c.fold_dims}
            if found and _has(c, found[0]) and not folded & set(found[0]) and _plain_fold(c):
                lies.setdefault(c.result.name, found[0])
            continue
        free = c.dim_of[c.scan.along]
        rows = [d for d in c.dims if d is not None and d != free and d not in c.single]
        later = _folded_later(program, c.result.name)
        part = next((d for d in reversed(rows) if d not in later), rows[-1] if rows else None)
        known = lies.get(c.result.name, (part, free))
        lies[c.result.name] = known if known[1] == free and known[0] in (*rows, None) else (part, free)
        for r in reads_of(c.body):
            back(r.tensor, lies[c.result.name])
    return lies


def _has(c: Computation, lies: Lies) -> bool:
    """Whether a result has these dimensions, to run along."""
    return set(lies) <= {*c.dims, None} - c.single


def _plain_fold(c: Computation) -> bool:
    """Whether a computation folds nothing, or values as they are: no products that the tensor engine sums up."""
    return not folds_of(c.body)[0] or c.op.name == REDUCE or contraction_of(c) is None


def _folded_later(program: Program, tensor: str) -> set[str]:
    """The dimensions that are folded of a tensor, or of what is made of it element by element."""
    made, out = {tensor}, set[str]()
    for c in program.computations:
        if any(r.tensor in made for r in reads_of(c.body)):
            out |= {d for _, d in c.fold_dims if c.scan is None}
            if not c.fold_dims:
                made.add(c.result.name)
    return out


def _wanted_partitions(program: Program) -> dict[str, str]:
    """For results that end up as an operand of a contraction: the dimension that is folded there.

    Looked for back through elementwise computations; not where one of their rows is also folded along that dimension,
    which takes them as they lie.
    """
    wanted: dict[str, str] = {}
    rows = _folded_rows(program)
    by_name = {c.result.name: c for c in program.computations}

    def behind(tensor: str, d: str) -> list[str]:
        """A tensor and those that it is made of element by element, as far as they run along a dimension."""
        c = by_name.get(tensor)
        out = [tensor]
        if c is not None and not folds_of(c.body)[0]:
            for r in reads_of(c.body):
                dims = _dims_in(c, r)
                out += behind(r.tensor, d) if d in dims and len(dims) >= 2 else []
        return out

    for c in reversed(program.computations):
        found = contraction_of(c)
        if found is not None and c.op.name != REDUCE:
            for r in (found.left, found.right):
                chain = behind(r.tensor, found.k[-1])
                if not any((x, found.k[-1]) in rows for x in chain):
                    wanted.update((x, found.k[-1]) for x in chain if x not in wanted)
    return wanted


def _folded_rows(program: Program) -> set[tuple[str, str]]:
    """(tensor, dimension) of rows that some reduction folds."""
    out: set[tuple[str, str]] = set()
    for c in program.computations:
        if contraction_of(c) is None or c.op.name == REDUCE:
            folded = [d for _, d in c.fold_dims]
            for r in reads_of(c.body):
                named = [d for d in _along(c, r) if d is not None]
                if len(named) >= 2 and named[-1] in folded:
                    out.add((r.tensor, named[-1]))
    return out


def leaf_text(
    c: Computation,
    body: t.Term,
    reads: list[t.Read],
    axes: tuple[str | None, str | None],
    fold: str | None = None,
) -> str:
    """A computation's element as the meaning of a leaf over tiles `[P, F]` (columns `[P, 1]`)."""
    part, free = axes
    rename: dict[Size | Var, Index] = {}
    inner = "q" if fold else "f"
    for v, d in c.dim_of.items():
        # Outside of operands an index is where the tile begins, and the place in the tile.
        at = const(0) if d is None else of_var(Var(PLACE_PREFIX + d))
        along = {part: "p", free: inner}.get(d) if d is not None else None
        rename[v] = at if along is None else at + of_var(Var(along))
    operands: dict[t.Read, t.Read] = {}
    signature: list[str] = []
    for n, r in enumerate(reads):
        name = f"x{n}"
        wide = free is not None and free in _along(c, r)
        # Without a free dimension the tile has one column; its extent is then the symbol F, which is 1.
        column = free is not None and not wide
        signature.append(f"{name}[P, 1]" if column else f"{name}[P, F]")
        second = Index({}) if column else of_var(Var(inner))
        operands[r] = t.Read(name, (of_var(Var("p")), second))
    renamed = t.substitute(body, {}, lambda r: operands[r])
    renamed = t.substitute(renamed, rename)
    renamed, attributes = spelled_sizes(renamed)
    if fold is not None:
        assert fold in MONOIDS
        return (
            f"op leaf({', '.join(signature)}){attributes} -> c[P, 1] {{ c[p, 0] = {fold}(q < F: {t.text(renamed)}) }}"
        )
    return f"op leaf({', '.join(signature)}){attributes} -> c[P, F] {{ c[p, f] = {t.text(renamed)} }}"


def spelled_sizes(body: t.Term) -> tuple[t.Term, str]:
    """A term with the program's sizes spelled as attributes of a leaf's meaning, and the list of its attributes: the
    places that it mentions, then the sizes."""
    free = t.free_symbols(body)
    places = sorted(v.name for v in free if isinstance(v, Var) and v.name.startswith(PLACE_PREFIX))
    sizes = sorted({s.name for s in free if isinstance(s, Size)})
    spelled: dict[Size | Var, Index] = {Size(s): size_index(SIZE_PREFIX + s) for s in sizes}
    attributes = [*places, *(SIZE_PREFIX + s for s in sizes)]
    listed = f" <{', '.join(f'{a}: index' for a in attributes)}>" if attributes else ""
    return t.substitute(body, spelled), listed
