# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every lowering step computes what the program computes: at ragged sizes, with small random steps, on every device."""

from __future__ import annotations

import re
import runpy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from audit import cases
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp

from axon_mlir.dialects.tile import IndexOp, LeafOp, LoadOp, NeutralOp, StoreOp
from axon_mlir.dialects.trn_isa import size_values
from axon_mlir.errors import AxonError
from axon_mlir.frontend.numpy_trace import trace
from axon_mlir.host.registry import make_context
from axon_mlir.host.verification import verify_module
from axon_mlir.semantics.domains import Domain, Field, Float64
from axon_mlir.semantics.index import Size, Var, evaluate
from axon_mlir.semantics.interpret import argument_shapes, evaluate_function, solve_sizes
from axon_mlir.targets import load_device
from axon_mlir.transforms.isa.isa_select import IsaSelect
from axon_mlir.transforms.tiling.capacity import limit_of
from axon_mlir.transforms.tiling.nest import Leaf, Nest, collect, emit
from axon_mlir.transforms.tiling.tile_fuse import TileFuse, fused
from axon_mlir.transforms.tiling.tile_instantiate import TileInstantiate
from axon_mlir.transforms.tiling.tile_symbolic import TileSymbolic

Array = np.ndarray[Any, Any]
ROOT = Path(__file__).resolve().parents[3]
PROGRAMS = runpy.run_path(str(ROOT / "benchmarks" / "programs.py"))

MK, KN = "{m},{k}", "{k},{n}"
SIGNATURES: dict[str, tuple[str, ...]] = {
    "ref_common": (MK, MK, MK),
    "goal_common_1": (MK, MK, MK),
    "ref_axpby": ("", MK, "", MK),
    "ref_divrow": (MK, "{m},1"),
    "goal_divrow_1": (MK, "{m},1"),
    "ref_scale2": (MK, "{m},1", "1,{k}"),
    "goal_scale2_1": (MK, "{m},1", "1,{k}"),
    "ref_sqmul": (MK,),
    "goal_sqmul_1": (MK,),
    "ref_rmsnorm": (MK, "{k}"),
    "goal_rmsnorm_1": (MK, "{k}"),
    "goal_rmsnorm_3": (MK, "{k}"),
    "ref_transpose": (MK,),
    "ref_colsum": (MK,),
    "goal_colsum_1": (MK,),
    "ref_tmm": (MK, "{m},{n}"),
    "goal_tmm_1": (MK, "{m},{n}"),
    "goal_tmm_2": (MK, "{m},{n}"),
    "ref_mmt": (MK, "{n},{k}"),
    "goal_mmt_1": (MK, "{n},{k}"),
    "ref_tt": (MK, "{n},{m}"),
    "goal_tt_1": (MK, "{n},{m}"),
    "ref_matmul": (MK, KN),
    "ref_rms_mm": (MK, "{k}", KN),
    "goal_rms_mm_1": (MK, "{k}", KN),
    "goal_rms_mm_2": (MK, "{k}", KN),
    "goal_rms_mm_3": (MK, "{k}", KN),
}
"""Program -> the shape of each argument ('' for a run-time number)."""

WITHOUT = ("use activation", "use scalar_tensor_tensor")


@pytest.fixture(scope="module")
def smaller(tmp_path_factory: pytest.TempPathFactory) -> str:
    """trn2 without the instructions that do several things at once."""
    source = ROOT / "axon_mlir" / "targets"
    folder = tmp_path_factory.mktemp("device")
    lines = (source / "trn2.target").read_text().splitlines()
    assert set(WITHOUT) <= set(lines)
    text = "\n".join("" if line in WITHOUT else line for line in lines)
    (folder / "nki.isa").write_text((source / "nki.isa").read_text())
    path = folder / "smaller.target"
    path.write_text(text + "\n")
    return str(path)


def traced(name: str, sizes: dict[str, int], dtype: str, device: str) -> ModuleOp:
    args = [f"{dtype}[{s.format(**sizes)}]" if s else dtype for s in SIGNATURES[name]]
    module = trace(PROGRAMS[name], args)
    module.attributes["axon.device"] = StringAttr(device)
    return module


def the_function(module: ModuleOp) -> FuncOp:
    (func,) = module.body.block.ops
    assert isinstance(func, FuncOp)
    return func


def numbers_of(func: FuncOp) -> dict[Size | Var, int]:
    return {Size(k): v for k, v in size_values(func).items()}


def inputs(func: FuncOp, domain: Domain, seed: int) -> list[Array]:
    rng = np.random.default_rng(seed)
    numbers = numbers_of(func)
    shapes = [tuple(int(evaluate(d, numbers)) for d in shape) for shape in argument_shapes(func)]
    if isinstance(domain, Field):
        return [rng.integers(1, domain.p, s) for s in shapes]
    return [rng.uniform(0.5, 1.5, s) * rng.choice([-1, 1], s) for s in shapes]


class Lowering:
    """A program with what it computes; `check` compares a lowered form of it."""

    def __init__(self, module: ModuleOp):
        func = the_function(module)
        self.domains: list[Domain] = [Float64(), Field()]
        self.inputs = [inputs(func, d, 3) for d in self.domains]
        self.wanted = [evaluate_function(func, x, d) for x, d in zip(self.inputs, self.domains, strict=True)]

    def check(self, module: ModuleOp, what: str, parameters: dict[str, int]) -> None:
        verify_module(module)
        func = the_function(module)
        for domain, arrays, want in zip(self.domains, self.inputs, self.wanted, strict=True):
            got = evaluate_function(func, arrays, domain, sizes=parameters)
            for g, w in zip(got, want, strict=True):
                if isinstance(domain, Field):
                    np.testing.assert_array_equal(g, w, err_msg=f"{what}, exactly")
                else:
                    np.testing.assert_allclose(g, w, rtol=1e-9, atol=1e-9, err_msg=what)


def small_step(nest: Nest, parameter: str, func: FuncOp, draw: st.DataObject, what: str) -> int:
    """A step that takes a loop one to three times."""
    size = nest.sizes.get(parameter.rpartition("_")[0])
    length = int(evaluate(size, numbers_of(func))) if size is not None else 1
    least = -(-length // 3)
    return draw.draw(st.integers(least, least + 5), label=f"{parameter}{what}")


def symbolic_steps(module: ModuleOp, known: dict[str, int], draw: st.DataObject) -> dict[str, int]:
    """Numbers for the parameters of a symbolic program."""
    func = the_function(module)
    nest = collect(func)
    return {p: known.get(p) or small_step(nest, p, func, draw, ", symbolic") for p in nest.parameters}


def random_steps(func: FuncOp, device: str, draw: st.DataObject) -> dict[str, int]:
    """Small steps for most of the parameters."""
    nest = collect(func)
    out: dict[str, int] = {}
    for p, constraint in nest.parameters.items():
        if draw.draw(st.integers(0, 5), label=f"{p}?") > 0:
            limit = limit_of(constraint, load_device(device)) if constraint.startswith("<=") else 1 << 20
            out[p] = min(limit, small_step(nest, p, func, draw, ""))
    return out


def lower(
    name: str, sizes: dict[str, int], dtype: str, device: str, draw: st.DataObject
) -> tuple[ModuleOp, dict[str, int]]:
    module = traced(name, sizes, dtype, device)
    lowering = Lowering(module)
    context = make_context()
    TileSymbolic().apply(context, module)
    parameters = symbolic_steps(module, {}, draw)
    lowering.check(module, f"{name} {sizes} tile-symbolic {parameters}", parameters)
    TileFuse().apply(context, module)
    parameters = symbolic_steps(module, parameters, draw)
    lowering.check(module, f"{name} {sizes} tile-fuse {parameters}", parameters)
    steps = random_steps(the_function(module), device, draw)
    what = f"{name} {sizes} {dtype} {device} {steps}"
    try:
        TileInstantiate(",".join(f"{p}={n}" for p, n in steps.items())).apply(context, module)
    except AxonError as error:
        # Steps of nested loops must divide each other.
        assert "is not a multiple of" in error.message
        TileInstantiate().apply(context, module)
    lowering.check(module, f"{what} tile-instantiate", {})
    IsaSelect().apply(context, module)
    lowering.check(module, f"{what} isa-select", {})
    return module, steps


LENGTHS = st.sampled_from([1, 1, *range(1, 41)])
SIZES = st.fixed_dictionaries({"m": LENGTHS, "k": LENGTHS, "n": LENGTHS})


# A failing case is small enough as it is: shrinking it would take minutes.
QUICK = [Phase.explicit, Phase.reuse, Phase.generate]


@settings(max_examples=cases(50, 500), phases=QUICK)
@given(
    name=st.sampled_from(sorted(SIGNATURES)),
    sizes=SIZES,
    dtype=st.sampled_from(["f32", "bf16"]),
    device=st.sampled_from(["trn1", "trn2", "trn3"]),
    draw=st.data(),
)
def test_every_step(name: str, sizes: dict[str, int], dtype: str, device: str, draw: st.DataObject) -> None:
    module, _ = lower(name, sizes, dtype, device, draw)
    left = {type(op) for op in module.walk() if isinstance(op, LeafOp)}
    assert not left


@pytest.mark.parametrize("name", sorted(SIGNATURES))
def test_default_steps(name: str) -> None:
    """Each program once with the steps that the passes choose, at sizes beyond one tile."""
    module = traced(name, {"m": 131, "k": 150, "n": 129}, "f32", "trn2")
    lowering = Lowering(module)
    for step in (TileSymbolic(), TileFuse(), TileInstantiate(), IsaSelect()):
        step.apply(make_context(), module)
    lowering.check(module, name, {})


@settings(max_examples=cases(12, 100), phases=QUICK)
@given(name=st.sampled_from(sorted(SIGNATURES)), sizes=SIZES, draw=st.data())
def test_fewer_instructions(smaller: str, name: str, sizes: dict[str, int], draw: st.DataObject) -> None:
    module, _ = lower(name, sizes, "bf16", smaller, draw)
    names = {op.name for op in module.walk()}
    assert "trn_isa.dma_copy" in names
    assert not names & {"trn_isa.activation", "trn_isa.scalar_tensor_tensor"}


def anonymous(func: FuncOp) -> str:
    """The text without the names of values, which come from the leaves' numbers."""
    return re.sub(r"%v\d+", "%v", str(func))


def described(nest: Nest) -> list[str]:
    """The leaves without names: a value is what it is computed from."""
    by_name = {x.name: x for x in nest.leaves if x.kind != "store"}
    stores = {x.tensor: x for x in nest.leaves if x.kind == "store"}
    known: dict[tuple[str, str], str] = {}

    def of(x: Leaf) -> str:
        key = (x.kind, x.name)
        if key not in known:
            ins = [of(by_name[i]) for i in x.ins]
            tensor = of(stores[x.tensor]) if x.kind == "load" and x.tensor in stores else x.tensor
            told = replace(x, name="", ins=tuple(ins), tensor="" if x.kind == "store" else tensor)
            parts = (told.dims, told.path, sorted(map(str, told.red)), told.ins, told.text, told.monoid)
            rest = (told.tensor, told.axes, told.dtype, told.space)
            known[key] = f"{x.kind} {hash((str(parts), str(rest)))}"
        return known[key]

    return sorted(map(of, nest.leaves))


@pytest.mark.parametrize("name", sorted(SIGNATURES))
def test_leaves_read_back(name: str) -> None:
    """Reading a function back gives the leaves that it was written from, and writing them settles at once."""
    module = traced(name, {"m": 30, "k": 20, "n": 10}, "bf16", "trn2")
    values = size_values(the_function(module))
    for step in (TileSymbolic(), TileFuse(), TileInstantiate()):
        before = the_function(module)
        if isinstance(step, TileFuse):
            merged = fused(collect(before), values, load_device("trn2"))
            assert described(collect(emit(before, merged))) == described(merged)
        step.apply(make_context(), module)
        func = the_function(module)
        nest = collect(func)
        once = emit(func, nest)
        assert described(collect(once)) == described(nest)
        twice = emit(once, collect(once))
        assert anonymous(twice) == anonymous(once)
        assert [x.kind for x in collect(twice).leaves] == [x.kind for x in collect(once).leaves]


def test_steps_show_in_the_type_bounds() -> None:
    module = traced("ref_common", {"m": 30, "k": 20, "n": 10}, "f32", "trn2")
    for step in (TileSymbolic(), TileFuse(), TileInstantiate("x0_part=7,x1_free=5")):
        step.apply(make_context(), module)
    loads = [op for op in module.walk() if isinstance(op, LoadOp)]
    assert loads
    assert {b.data for op in loads for b in op.result.type.bounds.data} == {"7", "5"}  # pyright: ignore


@pytest.mark.parametrize(
    ("steps", "message", "accepted"),
    [
        ("q_part=3", "'q_part=3' does not set a tile parameter", "x0_part=N (<= partitions)"),
        ("x0_part=0", "'x0_part=0' does not set a tile parameter", "x0_part=N"),
        ("x0_part", "'x0_part' does not set a tile parameter", "x0_part=N"),
        ("x0_part=129", "x0_part = 129 is too large", "x0_part <= 128 on trn2"),
    ],
)
def test_steps_that_are_refused(steps: str, message: str, accepted: str) -> None:
    module = traced("ref_common", {"m": 30, "k": 20, "n": 10}, "f32", "trn2")
    TileSymbolic().apply(make_context(), module)
    with pytest.raises(AxonError) as error:
        TileInstantiate(steps).apply(make_context(), module)
    assert message in error.value.message
    assert accepted in (error.value.accepted or "")


# The comparison must be able to fail.


def _broken(module: ModuleOp, what: str) -> None:
    ops = list(module.walk())
    match what:
        case "operator":
            leaf = next(op for op in ops if isinstance(op, LeafOp) and "mul(" in op.text.data)
            leaf.properties["text"] = StringAttr(leaf.text.data.replace("mul(", "add(", 1))
        case "offset":
            store = next(op for op in ops if isinstance(op, StoreOp) and not isinstance(op.offsets[0].owner, IndexOp))
            shifted = IndexOp("max(0, a - 1)", ["a"], [store.offsets[0]])
            assert store.parent is not None
            store.parent.insert_op_before(shifted, store)
            store.operands[2] = shifted.result
        case "dropped store":
            store = next(op for op in ops if isinstance(op, StoreOp))
            store.result.replace_all_uses_with(store.into)
        case "neutral":
            neutral = next(op for op in ops if isinstance(op, NeutralOp))
            neutral.properties["monoid"] = StringAttr("prod")
        case _:
            leaf = next(op for op in ops if isinstance(op, LeafOp) and len(op.ins) > 1)
            leaf.operands[0], leaf.operands[1] = leaf.operands[1], leaf.operands[0]


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("ref_common", "operator"),
        ("ref_common", "offset"),
        ("ref_common", "dropped store"),
        ("ref_tmm", "neutral"),
        ("goal_tmm_1", "operands"),
        ("ref_rms_mm", "operator"),
        ("ref_rms_mm", "offset"),
    ],
)
def test_a_wrong_step_would_be_noticed(name: str, what: str) -> None:
    module = traced(name, {"m": 9, "k": 7, "n": 9}, "f32", "trn2")
    lowering = Lowering(module)
    TileSymbolic().apply(make_context(), module)
    TileFuse().apply(make_context(), module)
    rows = "x0_part=4" if "x0_part" in collect(the_function(module)).parameters else ""
    TileInstantiate(rows).apply(make_context(), module)
    lowering.check(module, name, {})
    _broken(module, what)
    with pytest.raises((AssertionError, AxonError)):
        lowering.check(module, name, {})


def test_sizes_are_read_off_the_arrays() -> None:
    func = the_function(traced("ref_matmul", {"m": 3, "k": 4, "n": 5}, "f32", "trn2"))
    sizes = solve_sizes(argument_shapes(func), [np.zeros((6, 7)), np.zeros((7, 8))])
    assert sorted(sizes.values()) == [6, 7, 8]
    with pytest.raises(AxonError, match="is 9, but"):
        solve_sizes(argument_shapes(func), [np.zeros((6, 7)), np.zeros((9, 8))])
