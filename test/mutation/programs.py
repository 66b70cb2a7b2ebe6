# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The programs whose lowering is mutated, and what every pass makes of them.

Steps are small and sizes are no multiples of them: all loops run at least twice and end ragged on small tensors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from axon_mlir.frontend.numpy_trace import trace_file
from axon_mlir.host.parsing import parse_module
from axon_mlir.host.pipeline import build_pipeline
from axon_mlir.host.registry import make_context
from axon_mlir.host.verification import verify_module
from axon_mlir.printer_nki import print_kernel

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks" / "programs.py"
INPUTS = Path(__file__).parent / "Inputs"

KERNEL = "kernel"
"""The stage behind the last pass: the printed text."""

ANY_STEP = 16
"""What tile parameters are."""

LOWERING = ("tile-symbolic", "tile-fuse", "tile-instantiate", "isa-select", "isa-allocate")
STAGES = ("tensor-hl-decompose", "tensor-hl-canonicalize", "nu-extract", *LOWERING, KERNEL)


@dataclass(frozen=True)
class Program:
    """Where it comes from, the sizes it is evaluated at, and the steps of its loops."""

    source: Path
    function: str
    args: tuple[str, ...] = ()
    """Of NumPy functions."""
    sizes: Mapping[str, int] = field(default_factory=dict[str, int])
    steps: Mapping[str, int] = field(default_factory=dict[str, int])
    """Of parameters that are not `ANY_STEP`."""
    kernel: bool = False
    """Whether it is for its kernel: what `steps` does not say is the device's default."""


def _numpy(name: str, args: list[str], steps: Mapping[str, int] | None = None, kernel: bool = False) -> Program:
    return Program(BENCHMARKS, name, tuple(args), steps=steps or {}, kernel=kernel)


_RMS_STEPS = {"x1_free": 32}

PROGRAMS: Mapping[str, Program] = {
    "rms_mm": _numpy("ref_rms_mm", ["bf16[37,75]", "bf16[75]", "bf16[75,21]"], _RMS_STEPS),
    "late": _numpy("goal_rms_mm_2", ["bf16[37,75]", "bf16[75]", "bf16[75,21]"], _RMS_STEPS),
    "tmm": _numpy("ref_tmm", ["f32[37,41]", "f32[37,29]"]),
    "common": _numpy("ref_common", ["f32[37,41]"] * 3),
    "divrow": _numpy("ref_divrow", ["f32[37,41]", "f32[37,1]"]),
    "scale2": _numpy("ref_scale2", ["f32[37,41]", "f32[37,1]", "f32[1,41]"]),
    "rmsnorm": _numpy("ref_rmsnorm", ["f32[37,41]", "f32[41]"]),
    "softmax": Program(INPUTS / "composites.mlir", "softmax", sizes={"M": 5, "N": 7}),
    "rms_norm": Program(INPUTS / "composites.mlir", "rms_norm", sizes={"M": 5, "N": 7}),
    "layer_norm": Program(INPUTS / "composites.mlir", "layer_norm", sizes={"M": 5, "N": 7}),
    "gelu": Program(INPUTS / "composites.mlir", "gelu", sizes={"N": 7}),
    "tidy": Program(INPUTS / "bookkeeping.mlir", "tidy", sizes={"M": 5, "K": 7}),
    "cube": Program(INPUTS / "bookkeeping.mlir", "cube", sizes={"N": 5}),
    "graph": Program(ROOT / "examples" / "rms_mm_graph.mlir", "rms_mm", sizes={"M": 13, "K": 17, "N": 11}),
    "kernel_rms_mm": _numpy("ref_rms_mm", ["bf16[140,600]", "bf16[600]", "bf16[600,530]"], {}, kernel=True),
    "kernel_tmm": _numpy("ref_tmm", ["f32[140,150]", "f32[140,530]"], {}, kernel=True),
    "kernel_scale2": _numpy("ref_scale2", ["f32[140,600]", "f32[140,1]", "f32[1,600]"], {"x1_free": 64}, kernel=True),
}


def sizes_of(program: Program, func: FuncOp) -> dict[str, int]:
    """The sizes a program is evaluated at."""
    values = func.attributes.get("axon.values")
    traced = {k: v.value.data for k, v in values.data.items()} if values is not None else {}
    return {**traced, **program.sizes}


def parameters_of(program: Program, *functions: FuncOp) -> dict[str, int]:
    """A number for every tile parameter of the functions."""
    names: dict[str, int] = {}
    for func in functions:
        attribute = func.attributes.get("tile.parameters")
        names |= {k: program.steps.get(k, ANY_STEP) for k in attribute.data} if attribute is not None else {}
    return names


@cache
def source_of(name: str) -> ModuleOp:
    """The program as it is written."""
    program = PROGRAMS[name]
    if program.source.suffix == ".py":
        module = trace_file(str(program.source), program.function, list(program.args))
    else:
        module = parse_module(program.source.read_text(encoding="utf-8"), program.source.name, make_context())
        for func in [f for f in module.walk() if isinstance(f, FuncOp) and f.sym_name.data != program.function]:
            func.detach()
            func.erase()
    verify_module(module)
    return module


def spelled(stage: str, program: Program, before: ModuleOp) -> str:
    """A pass with its options."""
    if stage != "tile-instantiate":
        return stage
    steps = program.steps if program.kernel else parameters_of(program, function_of(before))
    text = ",".join(f"{name}={number}" for name, number in steps.items())
    return f'tile-instantiate{{steps="{text}"}}' if text else stage


@cache
def around(name: str, stage: str) -> tuple[ModuleOp, ModuleOp]:
    """A program before and after a pass. Both are shared: clone before changing."""
    earlier = LOWERING[: LOWERING.index(stage)] if stage in LOWERING else ()
    before = around(name, earlier[-1])[1] if earlier else source_of(name)
    after = before.clone()
    (module_pass,) = build_pipeline(spelled(stage, PROGRAMS[name], before))
    module_pass.apply(make_context(), after)
    verify_module(after)
    return before, after


@cache
def kernel_of(name: str) -> str:
    """The printed kernel of a program."""
    return print_kernel(around(name, LOWERING[-1])[1])


def function_of(module: ModuleOp, name: str | None = None) -> FuncOp:
    """The function of a name, or the first one."""
    return next(f for f in module.walk() if isinstance(f, FuncOp) and name in (None, f.sym_name.data))
