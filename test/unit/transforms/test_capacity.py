# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a nest holds on chip at once, and the steps that are chosen for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from unit.transforms.test_random_structures import function_of

from axon_mlir.dialects.trn_isa import device_of, size_values
from axon_mlir.frontend.numpy_trace import trace
from axon_mlir.host.registry import make_context
from axon_mlir.transforms.algebra.tensor_hl_canonicalize import TensorHlCanonicalize
from axon_mlir.transforms.tiling.capacity import default_steps, held_bytes
from axon_mlir.transforms.tiling.nest import Leaf, LoopKey, Nest, collect
from axon_mlir.transforms.tiling.tile_fuse import TileFuse
from axon_mlir.transforms.tiling.tile_instantiate import aligned, chosen_steps
from axon_mlir.transforms.tiling.tile_symbolic import TileSymbolic

SPECS = ["f32[256,4096]", "f32[300,4096]"]


def fused(program: Callable[..., Any], specs: list[str]) -> Any:
    module, context = trace(program, specs), make_context()
    for step in (TensorHlCanonicalize(), TileSymbolic(), TileFuse()):
        step.apply(context, module)
    return module


def held(program: Callable[..., Any]) -> dict[str, int]:
    module = fused(program, SPECS)
    func, device = function_of(module), device_of(module)
    nest = collect(func)
    found = held_bytes(nest, default_steps(nest, device, 512), size_values(func), device)
    assert found is not None
    return found


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def test_loops_beside_each_other_hold_one_after_the_other() -> None:
    first, second = held(lambda x, y: softmax(x)), held(lambda x, y: np.tanh(y))
    both = held(lambda x, y: (softmax(x), np.tanh(y)))
    assert both["sbuf"] == max(first["sbuf"], second["sbuf"]) > min(first["sbuf"], second["sbuf"]) > 0


def test_moving_axes_share_a_bank_where_nothing_fits_otherwise() -> None:
    module = fused(lambda x, w, v: (x @ w) * (x @ v), ["f32[256,130]", "f32[130,600]", "f32[130,600]"])
    func, device = function_of(module), device_of(module)
    small = replace(device, limits={**device.limits, "psum_banks": 1})
    usual, shared = (chosen_steps(collect(func), size_values(func), d, {}) for d in (device, small))
    moving = [p for p in usual if p.endswith("_moving")]
    assert [usual[p] for p in moving] == [512] and [shared[p] for p in moving] == [256]


def test_steps_of_three_nested_loops_divide_each_other() -> None:
    """The one in the middle gets smaller because of the outermost, and then the innermost because of it."""
    keys = [LoopKey("d", level, f"d_{level}") for level in ("part", "moving", "free")]
    part, moving, free = keys
    paths = [(moving, part), (free, moving)]
    leaves = [Leaf("fill", f"v{n}", ("d", ""), path) for n, path in enumerate(paths)]
    nest = Nest(leaves, {}, {}, {}, [])
    assert aligned({"d_part": 128, "d_moving": 512, "d_free": 16}, nest, {}) == dict.fromkeys(
        ("d_part", "d_moving", "d_free"), 16
    )


def test_no_step_along_a_free_axis_is_longer_than_a_short_dimension() -> None:
    module = fused(lambda x, w: (x @ w) * 2 + x.sum(axis=1, keepdims=True), ["f32[8,130]", "f32[130,9]"])
    func = function_of(module)
    steps = chosen_steps(collect(func), size_values(func), device_of(module), {})
    assert {p: n for p, n in steps.items() if p.endswith(("_moving", "_free")) and not p.startswith("x1")} != {}
    assert all(n == 16 for p, n in steps.items() if p.endswith(("_moving", "_free")) and not p.startswith("x1")), steps
