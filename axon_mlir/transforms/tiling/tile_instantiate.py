# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tile-instantiate`: give every tile parameter a number.

By default partition and moving axes take the device's limit; free axes the largest power of two with which everything
held on chip fits (moving axes a part of a bank, if nothing does). `tile-instantiate{steps="m_part=64,k_free=256"}` sets
parameters by hand.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import gcd

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from axon_mlir.dialects.trn_isa import device_of, size_values
from axon_mlir.errors import AxonError
from axon_mlir.semantics.denotation import place
from axon_mlir.semantics.index import Size, Var, evaluate
from axon_mlir.targets import Device
from axon_mlir.transforms.tiling.capacity import default_steps, fits, limit_of
from axon_mlir.transforms.tiling.nest import LoopKey, Nest, collect, emit, replace_functions
from axon_mlir.transforms.tiling.tile_symbolic import FREE, MOVING

LARGEST_FREE = 4096
"""Beyond this a longer free axis gains nothing: an instruction's fixed cost is below 2 % of its time."""
SMALLEST_FREE = 16
ALONG_FREE = (FREE, MOVING)
"""Roles of loops whose tiles lie along the free axis."""
SHARES = (1, 2, 4)
"""Moving axes that share a PSUM bank: with more than one where nothing fits otherwise."""


@dataclass(frozen=True)
class TileInstantiate(ModulePass):
    """Replace tile parameters by numbers."""

    name = "tile-instantiate"

    steps: str = ""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        device = device_of(op)

        def new(func: FuncOp) -> FuncOp:
            nest = collect(func)
            chosen = chosen_steps(nest, size_values(func), device, self.given(nest, device, func))
            check_nested(nest, chosen, func)
            return emit(func, instantiated(nest, chosen))

        replace_functions(op, new)

    def given(self, nest: Nest, device: Device, func: FuncOp) -> dict[str, int]:
        """The steps set by hand."""
        out: dict[str, int] = {}
        for item in filter(None, self.steps.replace(" ", "").split(",")):
            name, _, number = item.partition("=")
            if name not in nest.parameters or not number.isdigit() or int(number) < 1:
                raise AxonError(
                    f"tile-instantiate: '{item}' does not set a tile parameter",
                    where=place(func),
                    accepted=", ".join(f"{p}=N ({c})" for p, c in nest.parameters.items()),
                )
            if int(number) > limit_of(nest.parameters[name], device):
                raise AxonError(
                    f"tile-instantiate: {name} = {number} is too large",
                    where=place(func),
                    accepted=f"{name} <= {limit_of(nest.parameters[name], device)} on {device.name}",
                )
            out[name] = int(number)
        return out


def chosen_steps(nest: Nest, values: dict[str, int], device: Device, given: dict[str, int]) -> dict[str, int]:
    """A number for every parameter."""

    def steps_for(free: int, share: int) -> dict[str, int]:
        steps = clipped(default_steps(nest, device, free, share), nest, values)
        return aligned({**steps, **given}, nest, given)

    for share in SHARES:
        free = LARGEST_FREE
        while free > SMALLEST_FREE:
            steps = steps_for(free, share)
            if fits(nest, steps, values, device):
                return steps
            free //= 2
    return steps_for(SMALLEST_FREE, SHARES[0])


def nested(nest: Nest) -> list[tuple[LoopKey, LoopKey]]:
    """Pairs of loops over one dimension, one inside the other, outermost pairs first."""
    out: dict[tuple[LoopKey, LoopKey], None] = {}
    for leaf in nest.leaves:
        for n, outer in enumerate(leaf.path):
            for inner in leaf.path[n + 1 :]:
                if inner.dim == outer.dim:
                    out.setdefault((outer, inner))
    return list(out)


def aligned(steps: dict[str, int], nest: Nest, given: dict[str, int]) -> dict[str, int]:
    """Steps of nested loops made to divide each other, by changing what was not given."""
    out, pairs = dict(steps), nested(nest)
    # A step that gets smaller may no longer be a multiple of one inside of it.
    for outer, inner in pairs * len(pairs):
        if outer.step not in out or inner.step not in out or out[outer.step] % out[inner.step] == 0:
            continue
        if inner.step not in given:
            out[inner.step] = gcd(out[outer.step], out[inner.step])
        elif outer.step not in given:
            out[outer.step] = max(1, out[outer.step] // out[inner.step]) * out[inner.step]
    return out


def check_nested(nest: Nest, steps: dict[str, int], func: FuncOp) -> None:
    """A loop inside another one over the same dimension divides its step, so that tiles stay aligned."""
    for outer, inner in nested(nest):
        big, small = (steps.get(k.step) or int(k.step) for k in (outer, inner))
        if big % small:
            raise AxonError(
                f"tile-instantiate: {outer.step} = {big} is not a multiple of {inner.step} = {small}",
                where=place(func),
                accepted="steps of nested loops that divide each other",
            )


def clipped(steps: dict[str, int], nest: Nest, values: dict[str, int]) -> dict[str, int]:
    """Steps along free axes no longer than the dimension, rounded up to a power of two."""
    env: dict[Size | Var, int] = {Size(k): v for k, v in values.items()}
    out = dict(steps)
    for parameter, step in steps.items():
        dim, _, role = parameter.rpartition("_")
        size = nest.sizes.get(dim)
        if role in ALONG_FREE and size is not None and size.symbols() <= set(env):
            out[parameter] = min(step, max(SMALLEST_FREE, 1 << (int(evaluate(size, env)) - 1).bit_length()))
    return out


def instantiated(nest: Nest, steps: dict[str, int]) -> Nest:
    """The nest with numbers for steps."""

    def number(text: str) -> str:
        return str(steps.get(text, text))

    def key(k: LoopKey) -> LoopKey:
        return replace(k, step=number(k.step))

    def axis(d: str) -> str:
        return f"*{number(d[1:])}" if d.startswith("*") else d

    leaves = [
        replace(
            x,
            path=tuple(map(key, x.path)),
            red=frozenset(map(key, x.red)),
            dims=(axis(x.dims[0]), axis(x.dims[1])),
        )
        for x in nest.leaves
    ]
    return replace(nest, leaves=leaves, parameters={p: str(n) for p, n in steps.items()})
