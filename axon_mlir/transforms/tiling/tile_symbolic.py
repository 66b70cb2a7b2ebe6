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
Contractions take the layout of the device's matrix engine: the folded dimension on the partitions of both operands.
Tile parameters are `<dim>_part` (a partition axis), `<dim>_free` (a free axis), `<dim>_moving` (the free axis of a
contraction); their constraints stand in the function's attribute `tile.parameters`.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute
from xdsl.passes import ModulePass

from axon_mlir.dialects.tile import SIZE_PREFIX
from axon_mlir.errors import UnsupportedError
from axon_mlir.semantics import terms as t
from axon_mlir.semantics.denotation import place
from axon_mlir.semantics.functions import MONOIDS
from axon_mlir.semantics.index import Index, Size, Var, of_var
from axon_mlir.semantics.index import size as size_index
from axon_mlir.semantics.shapes import tensor_type
from axon_mlir.transforms.tiling.nest import Leaf, LoopKey, Nest, emit
from axon_mlir.transforms.tiling.program import Computation, Program, Tensor, analyse, folds_of, reads_of

PART, FREE, MOVING = "part", "free", "moving"
ROLES = {PART: "partitions", FREE: "free_elements_psum", MOVING: "moving_free"}
"""The role of a tile axis -> the device limit that bounds its step."""


@dataclass(frozen=True)
class TileSymbolic(ModulePass):
    """Lower tensor_hl functions to unfused symbolic tile programs."""

    name = "tile-symbolic"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in [f for f in op.body.block.ops if isinstance(f, FuncOp) and not f.is_declaration]:
            new = emit(func, tiled(analyse(func)))
            block = func.parent
            assert block is not None
            block.insert_op_before(new, func)
            func.detach()
            func.erase()


class _Builder:
    def __init__(self, program: Program):
        self.program = program
        self.leaves: list[Leaf] = []
        self.parameters: dict[str, str] = {}
        self.tensors: dict[str, Tensor] = {x.name: x for x in program.inputs}
        for c in program.computations:
            self.tensors[c.result.name] = c.result
        self.columns: dict[str, str] = {}
        """Tensors made as one element per partition -> the dimension on partitions."""
        self.count = 0

    def value(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def loop(self, dim: str, role: str) -> LoopKey:
        parameter = f"{dim}_{role}"
        self.parameters[parameter] = f"<= {ROLES[role]}"
        return LoopKey(dim, "tile", parameter)

    def repeated(self, dim: str | None) -> str:
        """An axis of equal elements, as long as the tile of the dimension (one element without a dimension)."""
        if dim is None:
            return ""
        self.loop(dim, PART)
        return f"*{dim}_{PART}"

    def load(self, read: t.Read, part: str | None, free: str | None, dims: dict[Var, str | None], path: tuple[LoopKey, ...]) -> str:
        """Load the elements that a computation reads, with `part` on the partitions and `free` along them."""
        axes: list[int | None] = []
        used: set[str] = set()
        for i in read.indices:
            d = dims.get(i.atom) if isinstance(i.atom, Var) else None
            axes.append(0 if d is not None and d == part else 1 if d is not None and d == free else None)
            if d is not None:
                used.add(d)
        first = part if part in used else None
        second = free if free in used else None
        name = self.value()
        self.leaves.append(
            Leaf(
                "load",
                name,
                (first if first is not None else self.repeated(part), second or ""),
                path,
                tensor=read.tensor,
                axes=tuple(axes),
                dtype=self.tensors[read.tensor].dtype,
            )
        )
        return name

    def computation(self, c: Computation) -> None:
        folds, inner = folds_of(c.body)
        if len([d for d in c.dims if d is not None]) > 2 or len(folds) > 1:
            raise UnsupportedError(
                f"'{c.op.name}' has more dimensions than can be tiled yet",
                where=place(c.op),
                accepted="results of at most two axes, one folded axis",
            )
        if not folds:
            self.elementwise(c)
        elif isinstance(inner, t.Apply) and inner.function == "mul" and self.is_contraction(c, inner):
            self.contraction(c, inner)
        else:
            self.reduction(c, folds[0], inner)

    def is_contraction(self, c: Computation, inner: t.Apply) -> bool:
        if c.op.name == "tensor_hl.reduce" or not all(isinstance(a, t.Read) for a in inner.args):
            return False
        folded = c.fold_dims[0][0]
        sides = [{i.atom for i in a.indices if isinstance(i.atom, Var)} for a in inner.args if isinstance(a, t.Read)]
        return all(folded in s for s in sides) and not ((sides[0] & sides[1]) - {folded})

    def store(self, c: Computation, value: str, part: str | None, free: str | None, path: tuple[LoopKey, ...]) -> None:
        axes = tuple(None if d is None else 0 if d == part else 1 for d in c.dims)
        if part is not None and free is None:
            self.columns[c.result.name] = part
        self.leaves.append(
            Leaf("store", c.result.name, (part or "", free or ""), path, (value,), tensor=c.result.name, axes=axes)
        )

    def elementwise(self, c: Computation) -> None:
        named = [d for d in c.dims if d is not None]
        if len(named) == 2:
            part, free = named[0], named[1]
        elif len(c.dims) == 2 and c.dims[0] is not None:
            part, free = c.dims[0], None
        elif named and any(self.columns.get(r.tensor) == named[0] for r in reads_of(c.body)):
            part, free = named[0], None
        else:
            part, free = None, named[0] if named else None
        path = tuple(self.loop(d, r) for d, r in ((part, PART), (free, FREE)) if d is not None)
        reads = reads_of(c.body)
        names = {r: self.load(r, part, free, c.dim_of, path) for r in reads}
        if isinstance(c.body, t.Read):
            value = names[c.body]
            if self.tensors[c.body.tensor].dtype != c.result.dtype or self.leaves[-1].dims[0].startswith("*"):
                value = self.compute(c, names, c.body, part, free, path)
        else:
            value = self.compute(c, names, c.body, part, free, path)
        self.store(c, value, part, free, path)

    def compute(
        self, c: Computation, names: dict[t.Read, str], body: t.Term, part: str | None, free: str | None, path: tuple[LoopKey, ...]
    ) -> str:
        value = self.value()
        self.leaves.append(
            Leaf(
                "compute",
                value,
                (part or "", free or ""),
                path,
                tuple(names.values()),
                leaf_text(body, list(names), c.dim_of, (part, free)),
                dtype=c.result.dtype,
            )
        )
        return value

    def reduction(self, c: Computation, fold: t.Fold, inner: t.Term) -> None:
        kept = [d for d in c.dims if d is not None]
        part = kept[0] if kept else None
        if len(kept) > 1:
            raise UnsupportedError(f"'{c.op.name}' keeps two axes, which cannot be tiled yet", where=place(c.op))
        free = c.fold_dims[0][1]
        outer = tuple(self.loop(d, PART) for d in kept)
        key = self.loop(free, FREE)
        path = (*outer, key)
        reads = reads_of(inner)
        names = {r: self.load(r, part, free, c.dim_of, path) for r in reads}
        value = self.value()
        text = leaf_text(inner, reads, c.dim_of, (part, free), fold=fold.monoid)
        self.leaves.append(
            Leaf(
                "compute",
                value,
                (part or "", ""),
                path,
                tuple(names.values()),
                text,
                fold.monoid,
                frozenset({key}),
                dtype="f32" if fold.monoid in ("sum", "prod") else c.result.dtype,
            )
        )
        self.store(c, self.rounded(c, value, (part or "", ""), outer), part, None, outer)

    def contraction(self, c: Computation, inner: t.Apply) -> None:
        folded = c.fold_dims[0][0]
        k = c.fold_dims[0][1]
        left, right = (a for a in inner.args if isinstance(a, t.Read))
        sides = [[c.dim_of[v] for i in r.indices if isinstance(v := i.atom, Var) and v != folded] for r in (left, right)]
        result_dims = [d for d in c.dims if d is not None]
        if any(len(s) > 1 for s in sides):
            raise UnsupportedError(f"'{c.op.name}' contracts tensors of rank > 2, which cannot be tiled yet", where=place(c.op))
        m, n = (s[0] if s else None for s in sides)
        if result_dims and m is not None and result_dims[0] != m:
            # The first axis of the result lies on partitions: it belongs to the stationary operand.
            left, right, m, n = right, left, n, m
        outer = tuple(
            key for key in (self.loop(m, PART) if m else None, self.loop(n, MOVING) if n else None) if key is not None
        )
        key = self.loop(k, PART)
        path = (*outer, key)
        names = [self.load(r, k, d, c.dim_of, path) for r, d in ((left, m), (right, n))]
        value = self.value()
        self.leaves.append(
            Leaf(
                "compute",
                value,
                (m or "", n or ""),
                path,
                tuple(names),
                "op leaf(a[K, M], b[K, N]) -> c[M, N] { c[m, n] = sum(k < K: mul(a[k, m], b[k, n])) }",
                "sum",
                frozenset({key}),
                space="psum",
            )
        )
        self.store(c, self.rounded(c, value, (m or "", n or ""), outer, copy=True), m, n, outer)

    def rounded(self, c: Computation, value: str, dims: tuple[str, str], path: tuple[LoopKey, ...], copy: bool = False) -> str:
        """The accumulated value in the result's type, in SBUF."""
        if not copy and self.leaves[-1].dtype == c.result.dtype:
            return value
        name = self.value()
        text = "op leaf(a[P, F]) -> c[P, F] { c[p, f] = a[p, f] }"
        self.leaves.append(Leaf("compute", name, dims, path, (value,), text, dtype=c.result.dtype))
        return name


def leaf_text(
    body: t.Term, reads: list[t.Read], dims: dict[Var, str | None], axes: tuple[str | None, str | None], fold: str | None = None
) -> str:
    """A computation's element as the meaning of a leaf over tiles `[P, F]` (columns `[P, 1]`)."""
    part, free = axes
    rename: dict[Size | Var, Index] = {}
    inner = "q" if fold else "f"
    for v, d in dims.items():
        if d is not None and d == part:
            rename[v] = of_var(Var("p"))
        elif d is not None and d == free:
            rename[v] = of_var(Var(inner))
    operands: dict[t.Read, t.Read] = {}
    signature: list[str] = []
    for n, r in enumerate(reads):
        name = f"x{n}"
        touched = {dims.get(i.atom) for i in r.indices if isinstance(i.atom, Var)}
        wide = free is not None and free in touched
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
            f"op leaf({', '.join(signature)}){attributes} -> c[P, 1] "
            f"{{ c[p, 0] = {fold}(q < F: {t.text(renamed)}) }}"
        )
    return f"op leaf({', '.join(signature)}){attributes} -> c[P, F] {{ c[p, f] = {t.text(renamed)} }}"


def spelled_sizes(body: t.Term) -> tuple[t.Term, str]:
    """A term with the program's sizes spelled as attributes of a leaf's meaning, and the attribute list."""
    sizes = sorted({s.name for s in t.free_symbols(body) if isinstance(s, Size)})
    spelled: dict[Size | Var, Index] = {Size(s): size_index(SIZE_PREFIX + s) for s in sizes}
    attributes = f" <{', '.join(f'{SIZE_PREFIX}{s}: index' for s in sizes)}>" if sizes else ""
    return t.substitute(body, spelled), attributes


def tiled(program: Program) -> Nest:
    """The unfused nest: one per computation."""
    builder = _Builder(program)
    for c in program.computations:
        builder.computation(c)
    tensors: dict[str, TensorType[Attribute]] = {
        c.result.name: tensor_type(c.result.shape, c.result.dtype) for c in program.computations
    }
    return Nest(builder.leaves, program.sizes, builder.parameters, tensors, program.outputs)
