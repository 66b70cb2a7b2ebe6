# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rules of fusion, switched off one at a time: what comes out wrong is not proved.

A rule keeps fusion from building a nest that cannot be proved; the proof does not rest on the rule.
"""

from __future__ import annotations

import inspect
import textwrap
from collections import Counter
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from audit import AUDIT
from unit.transforms import structured_programs as programs
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from axon_mlir.errors import AxonError
from axon_mlir.frontend.numpy_trace import trace
from axon_mlir.host.registry import make_context
from axon_mlir.host.verification import verify_module
from axon_mlir.semantics.domains import Float64
from axon_mlir.semantics.index import Size, Var, evaluate
from axon_mlir.semantics.interpret import argument_shapes, evaluate_function
from axon_mlir.smt.equivalence import prove_functions
from axon_mlir.transforms.algebra.tensor_hl_canonicalize import TensorHlCanonicalize
from axon_mlir.transforms.tiling import nest, tile_fuse
from axon_mlir.transforms.tiling.structure import STRUCTURE, Structure, structure_attribute
from axon_mlir.transforms.tiling.tile_fuse import TileFuse
from axon_mlir.transforms.tiling.tile_symbolic import TileSymbolic

RULES: dict[str, tuple[ModuleType | type, str, str, str]] = {
    "what is folded over a loop is not read inside it": (
        nest,
        "_enter",
        "if _defines(loop, reads) and any(key in x.folded and x.name in reads for x in _leaves_in(loop)):",
        "if False:",
    ),
    "no path of dependences leaves the loop and comes back": (
        nest,
        "_enter",
        "if _defines(sibling, reads) or any(_needs(n, sibling) for n in needed):",
        "if False:",
    ),
    "a value is read in the layout in which it stands": (
        tile_fuse._Fuser,  # pyright: ignore[reportPrivateUsage]
        "forwarded",
        "if (store.axes, store.at, store.steps) != (load.axes, load.at, load.steps) or source.dims != load.dims:",
        "if False:",
    ),
    "a load stays in the loops over its own dimensions": (
        tile_fuse._Fuser,  # pyright: ignore[reportPrivateUsage]
        "hoisted",
        "needed = leaf.dims_at",
        "needed = set()",
    ),
    "what another nest loads is stored": (
        tile_fuse._Fuser,  # pyright: ignore[reportPrivateUsage]
        "tidied",
        "x.tensor in loaded or x.tensor in nest.outputs",
        "x.tensor in nest.outputs",
    ),
    "leaves are equal only with equal operands": (
        tile_fuse._Fuser,  # pyright: ignore[reportPrivateUsage]
        "shared",
        "replace(x, name=now.name) == now)",
        "replace(x, name=now.name, ins=now.ins, tensor=now.tensor) == now)",
    ),
}
SMALL = (programs.softmax, programs.variance, programs.add_norm_product, programs.gated_mlp, programs.side_by_side)
PROGRAMS = tuple(programs.SHAPES) if AUDIT else SMALL
STRIDED = Structure(transpose="strided", plan="none")
"""Loads that turn what they load: only with them does a layout differ between a store and a load."""
SIZES = {"M": 3, "K": 5, "N": 4, "L": 2, "B": 2}


def switch_off(monkeypatch: pytest.MonkeyPatch, rule: str) -> None:
    """Replace a function by one without the rule's line."""
    owner, name, line, instead = RULES[rule]
    source = textwrap.dedent(inspect.getsource(getattr(owner, name)))
    assert source.count(line) == 1, f"the rule's line is not in {name}"
    module = owner if isinstance(owner, ModuleType) else inspect.getmodule(owner)
    assert module is not None
    made: dict[str, Any] = {}
    exec(source.replace(line, instead), module.__dict__, made)
    monkeypatch.setattr(owner, name, made[name])


def function_of(module: ModuleOp) -> FuncOp:
    return next(op for op in module.body.block.ops if isinstance(op, FuncOp))


def fused(program: Any, shapes: list[str], structure: Structure) -> tuple[FuncOp, FuncOp]:
    """The program before tiling, and after fusion."""
    module = trace(program, [f"f32[{','.join(shape)}]" for shape in shapes])
    TensorHlCanonicalize().apply(make_context(), module)
    before = function_of(module).clone()
    function_of(module).attributes[STRUCTURE] = structure_attribute(structure)
    for step in (TileSymbolic(), TileFuse()):
        step.apply(make_context(), module)
    verify_module(module)
    return before, function_of(module)


def agree(before: FuncOp, after: FuncOp) -> bool:
    """Whether both compute the same on small inputs, with steps that take every loop several times."""
    random = np.random.default_rng(3)
    symbols = {s.name for shape in argument_shapes(before) for d in shape for s in d.symbols()}
    sizes = {name: SIZES.get(name, 3) for name in symbols}
    env: dict[Size | Var, int] = {Size(name): size for name, size in sizes.items()}
    inputs = [random.normal(size=[int(evaluate(d, env)) for d in shape]) for shape in argument_shapes(before)]
    parameters: Any = after.attributes["tile.parameters"]
    steps = dict.fromkeys(parameters.data, 2)
    left = evaluate_function(before, inputs, Float64())
    right = evaluate_function(after, inputs, Float64(), sizes={**sizes, **steps})
    return all(np.allclose(a, b) for a, b in zip(left, right, strict=True))


def outcome(program: Any, structure: Structure) -> tuple[str, FuncOp | None, FuncOp | None]:
    """What fusion makes of a program: the text, and both functions; the kind of error where it cannot go on."""
    try:
        before, after = fused(program, programs.SHAPES[program], structure)
    except (AxonError, KeyError, StopIteration, AssertionError, ValueError) as error:
        return type(error).__name__, None, None
    return str(after), before, after


@pytest.mark.parametrize("rule", RULES)
def test_without_a_rule_nothing_wrong_is_proved(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Whether a nest fits the device is asked only of legal ones.
    monkeypatch.setattr(tile_fuse, "fits", lambda *_: True)
    structure = STRIDED if "layout" in rule else Structure()
    usual = {program: outcome(program, structure)[0] for program in PROGRAMS}
    switch_off(monkeypatch, rule)
    counted: Counter[str] = Counter()
    for program in PROGRAMS:
        text, before, after = outcome(program, structure)
        if text == usual[program]:
            continue
        verdict = "not built"
        if before is not None and after is not None:
            verdict = prove_functions(before, after, use_filter=False, same_domain=True).verdict
            assert verdict != "proved" or agree(before, after), program.__name__
        counted[verdict] += 1
    print(f"\n{rule}: {dict(counted)}")
    assert counted["unknown"] + counted["not built"] > 0, counted


def test_with_all_rules_everything_is_proved() -> None:
    for program, shapes in programs.SHAPES.items():
        before, after = fused(program, shapes, Structure())
        assert prove_functions(before, after, use_filter=False, same_domain=True).verdict == "proved", program.__name__
        assert agree(before, after)
