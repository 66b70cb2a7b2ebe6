# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs from a file, through the child process, compute what NumPy computes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.func import FuncOp

from axon_mlir.frontend.numpy_trace import trace_file
from axon_mlir.frontend.trace_child import load
from axon_mlir.semantics.domains import Float64
from axon_mlir.semantics.interpret import evaluate_function

PATH = Path(__file__).parent / "Inputs" / "whole_programs.py"
SPECS: dict[str, tuple[list[str], list[str]]] = {
    "closures": (["f32[4,6]"], []),
    "error_functions": (["f32[4,6]"], []),
    "softmaxes": (["f32[4,6]"], []),
    "causal_attention": (["f32[4,3]", "f32[5,3]", "f32[5,2]"], []),
    "lookup": (["i32[3]", "f32[5,4]"], []),
    "weighted_rows": (["f32[3,4]"], ["x0"]),
    "halving": (["f32[8,3]"], ["x0"]),
    "recurrence": (["f32[5,3]", "f32[5,3]"], []),
    "interleaved_rotation": (["f32[2,3,8]", "f32[3,4]", "f32[3,4]"], []),
    "grouped": (["f32[6,3,4]", "f32[2,5,4]"], []),
    "cross_entropy": (["f32[4,7]", "i32[4]"], []),
    "experts": (["f32[4,3]", "f32[4,2]", "f32[2,3,5]"], ["w0", "g1"]),
    "quantised": (["f32[4,3]", "f32[3,5]"], []),
}
"""Program -> its arguments, the sizes that loops fix."""


@pytest.mark.parametrize("name", SPECS)
def test_programs(name: str) -> None:
    specs, fixed = SPECS[name]
    rng = np.random.default_rng(2)
    arrays: list[Any] = []
    for spec in specs:
        shape = [int(n) for n in spec[4:-1].split(",")]
        arrays.append(rng.integers(0, 4, shape) if spec.startswith("i32") else rng.normal(size=shape))
    (traced,) = trace_file(str(PATH), name, specs).body.block.ops
    assert isinstance(traced, FuncOp)
    want = getattr(load(str(PATH)), name)(*arrays)
    want = want if isinstance(want, tuple) else (want,)
    for g, w in zip(evaluate_function(traced, arrays, Float64()), want, strict=True):
        assert np.shape(g) == np.shape(w)
        np.testing.assert_allclose(g, w, rtol=1e-9)
    sizes = str(traced.attributes["axon.sizes"])
    assert sorted(fixed) == sorted(part.split('"')[1] for part in sizes.split("name = ")[1:])
