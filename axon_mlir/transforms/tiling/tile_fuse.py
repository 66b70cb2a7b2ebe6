# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tile-fuse`: merge nests, keep intermediates on chip, load once.

The leaves are regrouped and the nest is rebuilt; no loop is edited. Step by step, each kept only if the rebuilt nest
fits the device:

1. a load of an intermediate, in the layout it was stored in, becomes the stored value itself; an elementwise reader of
   a contraction takes over the contraction's loops;
2. a store that nothing needs any more goes; values that stay on chip are widened to fp32, except operands of the
   tensor engine; a sole copy out of PSUM before an elementwise reader goes;
3. equal loads and moves become one;
4. a load, with the moves that only it feeds, leaves the loops over dimensions that it does not have, and then takes
   longer rows.

What cannot be merged (a fold that is read inside its own loop, another layout) keeps its way through HBM.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from axon_mlir.dialects.trn_isa import device_of, size_values
from axon_mlir.targets import Device
from axon_mlir.transforms.tiling.capacity import FREE_STEP, default_steps, fits
from axon_mlir.transforms.tiling.nest import COPY, TRANSPOSE, Leaf, LoopKey, Nest, collect, emit, replace_functions
from axon_mlir.transforms.tiling.program import SHORT
from axon_mlir.transforms.tiling.structure import Structure, structure_of
from axon_mlir.transforms.tiling.tile_symbolic import FREE, ROLES


@dataclass(frozen=True)
class TileFuse(ModulePass):
    """Fuse the nests of tile functions into one grouping."""

    name = "tile-fuse"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        device = device_of(op)

        def new(func: FuncOp) -> FuncOp:
            return emit(func, fused(collect(func), size_values(func), device, structure_of(func)))

        replace_functions(op, new)


def fused(nest: Nest, values: dict[str, int], device: Device, structure: Structure | None = None) -> Nest:
    """The fused nest."""
    return _Fuser(values, device, structure or Structure()).run(nest)


def on_engine(leaf: Leaf) -> bool:
    """Whether a leaf runs on the tensor engine: its operands are tiles in SBUF, its result is in PSUM."""
    return leaf.kind == "compute" and leaf.space == "psum"


def is_copy(leaf: Leaf) -> bool:
    return leaf.is_move and leaf.text == COPY


class _Fuser:
    def __init__(self, values: dict[str, int], device: Device, structure: Structure):
        self.values = values
        self.device = device
        self.structure = structure

    def acceptable(self, nest: Nest) -> bool:
        return fits(nest, default_steps(nest, self.device, FREE_STEP), self.values, self.device)

    def run(self, nest: Nest) -> Nest:
        for reader in [x for x in nest.leaves if x.kind == "compute"]:
            # All operands of a reader together, since one that comes through HBM keeps it out of the others' loops.
            loads = [x.name for x in nest.leaves if x.kind == "load" and x.name in reader.ins and self.fusible(x)]
            for group in (loads, *([name] for name in loads)):
                tried = self.all_forwarded(nest, group)
                if tried is not None and self.acceptable(self.tidied(tried)):
                    nest = tried
        nest = self.tidied(nest)
        nest = self.shared(nest)
        for leaf in [x for x in nest.leaves if x.kind != "store"]:
            if leaf.kind == "load" and leaf.tensor in self.structure.fixed:
                continue
            for change in (self.hoisted, self.lengthened):
                tried = change(nest, leaf.name)
                if tried is not None and self.acceptable(tried):
                    nest = tried
        return self.tidied(nest)

    def fusible(self, load: Leaf) -> bool:
        """Whether a load reads an intermediate that may stay on chip (one that is turned on its way may not)."""
        return not load.tensor.startswith("in") and load.tensor not in self.structure.apart and load.space != "hbm"

    def all_forwarded(self, nest: Nest, names: list[str]) -> Nest | None:
        """The nest with each of these loads (those still there) replaced by the value that was stored."""
        out: Nest | None = None
        for name in names:
            load = next((x for x in (out or nest).leaves if x.name == name and x.kind == "load"), None)
            if load is not None:
                out = self.forwarded(out or nest, load) or out
        return out

    def forwarded(self, nest: Nest, load: Leaf) -> Nest | None:
        """The nest with one load of an intermediate replaced by the value that was stored."""
        stores = [x for x in nest.leaves if x.kind == "store" and x.tensor == load.tensor]
        if len(stores) != 1:
            # The tensor is made of pieces.
            return None
        store = stores[0]
        source = next(x for x in nest.leaves if x.name == store.ins[0])
        if (store.axes, store.at, store.steps) != (load.axes, load.at, load.steps) or source.dims != load.dims:
            return None
        readers = [x for x in nest.leaves if load.name in x.ins]
        if any(on_engine(x) for x in readers) and source.space != "sbuf":
            return None
        rename: dict[LoopKey, LoopKey] = {}
        members: set[str] = set()
        if not any(on_engine(x) for x in readers):
            # Run the readers under the producer's loops: same dimension, the producer's step.
            for key in load.path:
                theirs = [k for k in store.path if (k.dim, k.level) == (key.dim, key.level)]
                if theirs and theirs[0] != key:
                    rename[key] = theirs[0]
            members = self.computation_of(nest, load)
        leaves: list[Leaf] = []
        for leaf in nest.leaves:
            if leaf.name == load.name:
                continue
            if leaf.name in members and rename:
                leaf = replace(
                    leaf,
                    path=tuple(rename.get(k, k) for k in leaf.path),
                    red=frozenset(rename.get(k, k) for k in leaf.red),
                )
            leaves.append(replace(leaf, ins=tuple(source.name if n == load.name else n for n in leaf.ins)))
        return replace(nest, leaves=leaves)

    def computation_of(self, nest: Nest, load: Leaf) -> set[str]:
        """The names of the leaves that belong together with a load: its readers, their other loads, their stores."""
        members = {load.name}
        changed = True
        while changed:
            changed = False
            for leaf in nest.leaves:
                linked = bool(members & set(leaf.ins)) if leaf.kind != "load" else False
                if leaf.kind == "load":
                    linked = any(leaf.name in x.ins and x.name in members for x in nest.leaves if x.kind == "compute")
                if leaf.name not in members and linked and not on_engine(leaf):
                    members.add(leaf.name)
                    changed = True
        return members

    def tidied(self, nest: Nest) -> Nest:
        """Without stores and values that nothing needs; on-chip values widened; copies out of PSUM merged."""
        leaves = list(nest.leaves)
        loaded = {x.tensor for x in leaves if x.kind == "load"}
        leaves = [x for x in leaves if x.kind != "store" or x.tensor in loaded or x.tensor in nest.outputs]
        leaves = self.without_copies(leaves)
        while True:
            used = {n for x in leaves for n in x.ins}
            kept = [x for x in leaves if x.kind == "store" or x.name in used]
            if len(kept) == len(leaves):
                break
            leaves = kept
        fixed = {n for x in leaves if x.kind == "store" or on_engine(x) or x.text == TRANSPOSE for n in x.ins}
        leaves = [
            replace(x, dtype="f32")
            if x.kind == "compute" and x.name not in fixed and x.text != TRANSPOSE and x.dtype in SHORT
            else x
            for x in leaves
        ]
        used_steps = {k.step for x in leaves for k in x.path} | {
            d[1:] for x in leaves for d in x.dims if d.startswith("*")
        }
        parameters = {p: c for p, c in nest.parameters.items() if p in used_steps}
        tensors = {n: ty for n, ty in nest.tensors.items() if n in {x.tensor for x in leaves if x.kind == "store"}}
        return replace(nest, leaves=leaves, parameters=parameters, tensors=tensors)

    def without_copies(self, leaves: list[Leaf]) -> list[Leaf]:
        """Let elementwise readers take a value in PSUM directly; at most one operand of an instruction may be there."""
        by_name = {x.name: x for x in leaves}
        for copy in [x for x in leaves if is_copy(x) and by_name[x.ins[0]].space == "psum"]:
            source = copy.ins[0]
            for n, leaf in enumerate(leaves):
                if leaf.kind != "compute" or copy.name not in leaf.ins or on_engine(leaf) or leaf.dims != copy.dims:
                    continue
                if any(by_name[i].space == "psum" for i in leaf.ins):
                    continue
                leaves[n] = replace(leaf, ins=tuple(source if i == copy.name else i for i in leaf.ins))
        return leaves

    def shared(self, nest: Nest) -> Nest:
        """Equal leaves as one, where the shared value fits."""
        for leaf in [x for x in nest.leaves if x.kind != "store" and x.space != "hbm"]:
            now = next((x for x in nest.leaves if x.name == leaf.name), None)
            if now is None:
                continue
            # Two leaves are equal when they differ in nothing but their name.
            first = next(x for x in nest.leaves if x.kind == now.kind and replace(x, name=now.name) == now)
            if first.name == now.name:
                continue
            leaves = [
                replace(
                    x,
                    ins=tuple(first.name if i == now.name else i for i in x.ins),
                    carried=frozenset(first.name if i == now.name else i for i in x.carried),
                )
                for x in nest.leaves
                if x.name != now.name
            ]
            tried = replace(nest, leaves=leaves)
            if self.acceptable(tried):
                nest = tried
        return nest

    def hoisted(self, nest: Nest, name: str) -> Nest | None:
        """A load or move, with the moves that only it feeds, taken out of the loops over dimensions it has not."""
        leaf = next(x for x in nest.leaves if x.name == name and x.kind != "store")
        if not leaf.is_fetch and not leaf.is_move:
            return None
        group = {name}
        for x in nest.leaves:
            if x.is_move and x.ins[-1] in group and all(y is x or x.ins[-1] not in y.ins for y in nest.leaves):
                group.add(x.name)
        needed = leaf.dims_at
        changed = False
        leaves: list[Leaf] = []
        for x in nest.leaves:
            if x.name in group and x.kind != "store":
                path = tuple(k for k in x.path if k.dim in needed)
                changed = changed or path != x.path
                x = replace(x, path=path)
            leaves.append(x)
        return replace(nest, leaves=leaves) if changed else None

    def lengthened(self, nest: Nest, name: str) -> Nest | None:
        """A load whose rows follow the tiles of its reader, with rows of their own length instead."""
        leaf = next(x for x in nest.leaves if x.name == name and x.kind != "store")
        dim = leaf.dims[1]
        if leaf.kind != "load" or leaf.space == "hbm" or not dim or not _rows_run_along(leaf, 1):
            return None
        keys = [k for k in leaf.path if k.dim == dim and k.level == "tile"]
        parameter = f"{dim}_{FREE}"
        if not keys or keys[-1].step == parameter:
            return None
        path = [k for k in leaf.path if k not in keys]
        position = next(n for n, k in enumerate(leaf.path) if k == keys[0])
        path.insert(min(position, len(path)), LoopKey(dim, "tile", parameter))
        leaves = [replace(x, path=tuple(path)) if x.name == name and x.kind == "load" else x for x in nest.leaves]
        return replace(nest, leaves=leaves, parameters={**nest.parameters, parameter: ROLES[FREE]})


def _rows_run_along(leaf: Leaf, axis: int) -> bool:
    """Whether the tensor's last axis is this axis of the tile, so that longer tiles mean longer rows in HBM."""
    return bool(leaf.axes) and leaf.axes[-1] == axis
