# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What tiling reads of a program: the element types of values on the way."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.dialects.func import FuncOp

from axon_mlir.frontend.numpy_trace import trace
from axon_mlir.transforms.tiling.program import analyse


def types(function: Any, *specs: str) -> list[str]:
    """The element type of each computation's result."""
    func = next(op for op in trace(function, specs).walk() if isinstance(op, FuncOp))
    return [c.result.dtype for c in analyse(func).computations]


def test_values_between_are_wide() -> None:
    """Scores, exponentials and their sum are read by nothing that rounds them; the quotient is a factor."""

    def attention(q: Any, k: Any, v: Any) -> Any:
        s = q @ np.swapaxes(k, -1, -2)
        e = np.exp(s - s.max(-1, keepdims=True))
        return (e / e.sum(-1, keepdims=True)) @ v

    *between, weights, result = types(attention, "bf16[M,K]", "bf16[N,K]", "bf16[N,L]")
    assert set(between) == {"f32"} and (weights, result) == ("bf16", "bf16")


def test_conversions_that_a_program_writes_stay() -> None:
    import ml_dtypes

    def rounded(x: Any) -> Any:
        return np.exp((x + x).astype(ml_dtypes.bfloat16)) * 2.0

    assert types(rounded, "f32[M,N]") == ["f32", "bf16", "f32", "bf16"]


def test_other_types_stay() -> None:
    assert types(lambda x, y: (x + y) * x, "f32[M]", "f32[M]") == ["f32", "f32"]
    assert types(lambda x, y: (x > y) & (x > 0), "f16[M]", "f16[M]")[-1] == "i1"
