# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tile-fuse`: merge nests, keep intermediates on chip, load once.

The leaves are regrouped and the nest is rebuilt; no loop is edited. Step by step, each kept only if the rebuilt nest
fits the device:

1. a load of an intermediate, in the layout it was stored in, becomes the stored value itself; an elementwise reader of
   a contraction takes over the contraction's loops;
2. a store that nothing needs any more goes; values that stay on chip are widened to fp32, except operands of
   contractions; a sole copy out of PSUM before an elementwise reader goes;
3. equal loads become one;
4. a load leaves the loops over dimensions that it does not have.

What cannot be merged (a fold that is read inside its own loop, another layout) keeps its way through HBM.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from axon_mlir.targets import Device
from axon_mlir.transforms.tiling.capacity import FREE_STEP, default_steps, device_of, fits, values_of
from axon_mlir.transforms.tiling.nest import Leaf, LoopKey, Nest, collect, emit


@dataclass(frozen=True)
class TileFuse(ModulePass):
    """Fuse the nests of tile functions into one grouping."""

    name = "tile-fuse"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        device = device_of(op)
        for func in [f for f in op.body.block.ops if isinstance(f, FuncOp) and not f.is_declaration]:
            new = emit(func, fused(collect(func), values_of(func), device))
            block = func.parent
            assert block is not None
            block.insert_op_before(new, func)
            func.detach()
            func.erase()


def fused(nest: Nest, values: dict[str, int], device: Device) -> Nest:
    """The fused nest."""
    return _Fuser(values, device).run(nest)


def is_contraction(leaf: Leaf) -> bool:
    """Whether a leaf works on the matrix engine: its operands lie with the folded dimension on partitions."""
    return leaf.kind == "compute" and leaf.space == "psum"


def is_copy(leaf: Leaf) -> bool:
    """Whether a computation only moves its one operand."""
    if leaf.kind != "compute" or len(leaf.ins) != 1 or leaf.monoid is not None:
        return False
    body = leaf.text.rpartition("=")[2].strip(" }")
    return body in ("a[p, f]", "x0[p, f]")


class _Fuser:
    def __init__(self, values: dict[str, int], device: Device):
        self.values = values
        self.device = device

    def acceptable(self, nest: Nest) -> bool:
        return fits(nest, default_steps(nest, self.device, FREE_STEP), self.values, self.device)

    def run(self, nest: Nest) -> Nest:
        for load in [x for x in nest.leaves if x.kind == "load" and not x.tensor.startswith("in")]:
            tried = self.forwarded(nest, load)
            if tried is not None and self.acceptable(self.tidied(tried)):
                nest = tried
        nest = self.tidied(nest)
        nest = self.shared_loads(nest)
        for load in [x for x in nest.leaves if x.kind == "load"]:
            tried = self.hoisted(nest, load)
            if tried is not None and self.acceptable(tried):
                nest = tried
        return nest

    def forwarded(self, nest: Nest, load: Leaf) -> Nest | None:
        """The nest with one load of an intermediate replaced by the value that was stored."""
        store = next(x for x in nest.leaves if x.kind == "store" and x.tensor == load.tensor)
        source = next(x for x in nest.leaves if x.name == store.ins[0])
        if store.axes != load.axes or source.dims != load.dims:
            return None
        readers = [x for x in nest.leaves if load.name in x.ins]
        if any(is_contraction(x) for x in readers) and source.space != "sbuf":
            return None
        rename: dict[LoopKey, LoopKey] = {}
        members: set[str] = set()
        if not any(is_contraction(x) for x in readers):
            # Run the readers under the producer's loops: same dimension, the producer's step.
            for key in load.path:
                theirs = [k for k in store.path if k.dim == key.dim]
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
                if leaf.name not in members and linked and not is_contraction(leaf):
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
        fixed = {n for x in leaves if x.kind == "store" or is_contraction(x) for n in x.ins}
        leaves = [
            replace(x, dtype="f32") if x.kind == "compute" and x.name not in fixed and x.dtype in ("bf16", "f16") else x
            for x in leaves
        ]
        used_steps = {k.step for x in leaves for k in x.path} | {d[1:] for x in leaves for d in x.dims if d.startswith("*")}
        parameters = {p: c for p, c in nest.parameters.items() if p in used_steps}
        tensors = {n: ty for n, ty in nest.tensors.items() if n in {x.tensor for x in leaves if x.kind == "store"}}
        return replace(nest, leaves=leaves, parameters=parameters, tensors=tensors)

    def without_copies(self, leaves: list[Leaf]) -> list[Leaf]:
        """Let elementwise readers take a value in PSUM directly; at most one operand of an instruction may be there."""
        by_name = {x.name: x for x in leaves}
        for copy in [x for x in leaves if is_copy(x) and by_name[x.ins[0]].space == "psum"]:
            source = copy.ins[0]
            for n, leaf in enumerate(leaves):
                if leaf.kind != "compute" or copy.name not in leaf.ins or is_contraction(leaf) or leaf.dims != copy.dims:
                    continue
                if any(by_name[i].space == "psum" for i in leaf.ins):
                    continue
                leaves[n] = replace(leaf, ins=tuple(source if i == copy.name else i for i in leaf.ins))
        return leaves

    def shared_loads(self, nest: Nest) -> Nest:
        """Equal loads as one, where the shared value fits."""
        seen: list[Leaf] = []
        for load in [x for x in nest.leaves if x.kind == "load"]:
            for first in seen:
                if (first.tensor, first.axes, first.dims, first.path, first.dtype) == (
                    load.tensor, load.axes, load.dims, load.path, load.dtype,
                ):  # fmt: skip
                    leaves = [
                        replace(x, ins=tuple(first.name if i == load.name else i for i in x.ins))
                        for x in nest.leaves
                        if x.name != load.name
                    ]
                    tried = replace(nest, leaves=leaves)
                    if self.acceptable(tried):
                        nest = tried
                        break
            else:
                seen.append(load)
        return nest

    def hoisted(self, nest: Nest, load: Leaf) -> Nest | None:
        """One load taken out of the loops over dimensions it has not."""
        path = tuple(k for k in load.path if k.dim in load.dims)
        if path == load.path:
            return None
        return replace(nest, leaves=[replace(x, path=path) if x.name == load.name else x for x in nest.leaves])
