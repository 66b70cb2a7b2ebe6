# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Printed kernels run, and compute what the instructions they are printed from mean."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.func import FuncOp

from axon_mlir.host.parsing import parse_module
from axon_mlir.host.registry import make_context
from axon_mlir.host.verification import verify_module
from axon_mlir.printer_nki import print_kernel
from axon_mlir.semantics.domains import Field, Float32
from axon_mlir.semantics.index import Size, evaluate
from axon_mlir.semantics.interpret import NUMPY_DTYPES, argument_shapes, evaluate_function
from axon_mlir.sim import TypedArray, execute
from axon_mlir.transforms.isa.isa_allocate import IsaAllocate

PROGRAMS = Path(__file__).parents[2] / "lit" / "printer_nki"

SIZES = {
    "matmul": [{"M": 300, "K": 517, "N": 130}, {"M": 129, "K": 1, "N": 513}, {"M": 1, "K": 128, "N": 1}],
    "norm": [{"M": 300, "K": 517}, {"M": 1, "K": 1}, {"M": 129, "K": 256}],
    "regions": [{"G": 2, "H": 64, "S": 16, "D": 100}, {"G": 1, "H": 3, "S": 5, "D": 7}],
    "accumulate": [{"K": 517, "M": 100, "N": 300}, {"K": 100, "M": 3, "N": 5}],
}


def kernels(name: str, tmp_path: Path) -> list[tuple[FuncOp, Path]]:
    """Each function of a program, and the file with all its kernels."""
    source = PROGRAMS / f"{name}.mlir"
    module = parse_module(source.read_text(encoding="utf-8"), str(source), make_context())
    verify_module(module)
    IsaAllocate().apply(make_context(), module)
    verify_module(module)
    path = tmp_path / f"{name}.py"
    path.write_text(print_kernel(module), encoding="utf-8")
    return [(op, path) for op in module.body.block.ops if isinstance(op, FuncOp)]


def shapes(func: FuncOp, sizes: dict[str, int]) -> list[tuple[int, ...]]:
    numbers = {Size(k): v for k, v in sizes.items()}
    return [tuple(int(evaluate(d, numbers)) for d in shape) for shape in argument_shapes(func)]


CASES = [(name, n) for name, found in SIZES.items() for n in range(len(found))]


@pytest.mark.parametrize(("name", "n"), CASES)
def test_floats(name: str, n: int, tmp_path: Path) -> None:
    source = np.random.default_rng(n)
    for func, path in kernels(name, tmp_path):
        dtypes = [NUMPY_DTYPES[str(a.type.element_type)] for a in func.body.block.args]
        arrays = [
            source.standard_normal(s).astype(np.float32).astype(d)
            for s, d in zip(shapes(func, SIZES[name][n]), dtypes, strict=True)
        ]
        if name == "accumulate" and func.sym_name.data == "once" and SIZES[name][n]["K"] > 128:
            continue
        result = execute(path, func.sym_name.data, [a.reshape(a.shape or (1, 1)) for a in arrays], device="trn2")
        expected = evaluate_function(func, arrays, Float32(), typed=True)
        for have, want in zip(result.outputs, expected, strict=True):
            wide = have.astype(np.float32).reshape(want.shape)
            assert np.linalg.norm(wide - want) <= (4e-3 if have.dtype.itemsize == 2 else 2e-5) * np.linalg.norm(want)


@pytest.mark.parametrize(("name", "n"), CASES)
def test_exactly(name: str, n: int, tmp_path: Path) -> None:
    source = np.random.default_rng(n)
    for func, path in kernels(name, tmp_path):
        if func.sym_name.data == "once" and SIZES[name][n]["K"] > 128:
            continue
        arrays = [source.integers(1, Field.p, s, dtype=np.int64) for s in shapes(func, SIZES[name][n])]
        given = [TypedArray(a.reshape(a.shape or (1, 1)), "float32") for a in arrays]
        result = execute(path, func.sym_name.data, given, device="trn2", domain="field")
        for have, want in zip(result.outputs, evaluate_function(func, arrays, Field()), strict=True):
            assert np.array_equal(have.reshape(want.shape), want)


@pytest.mark.parametrize("name", list(SIZES))
def test_the_text_depends_on_nothing_else(name: str, tmp_path: Path) -> None:
    first = kernels(name, tmp_path)[0][1].read_text(encoding="utf-8")
    assert first == kernels(name, tmp_path)[0][1].read_text(encoding="utf-8")
    assert all(len(line) <= 120 for line in first.splitlines())
    # No trace-time `if`.
    assert " if " not in first
