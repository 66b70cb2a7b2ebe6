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


def test_what_only_some_readers_take_short_has_a_short_copy() -> None:
    """The deviations from a mean read what the product takes rounded, and what is returned rounded."""

    def centred(x: Any, y: Any) -> Any:
        s = x @ y
        return (s - s.mean(-1, keepdims=True)) @ s

    assert types(centred, "bf16[M,K]", "bf16[K,M]") == ["f32", "bf16", "f32", "f32", "bf16", "bf16"]
    assert types(lambda x: (a := x + x, np.exp(a)), "f16[M]") == ["f32", "f16", "f16"]
    assert types(lambda x, y: (x + x) @ y, "f16[M,K]", "f16[K,N]") == ["f16", "f16"]
    assert types(lambda x: (x + x)[::2], "f16[M]") == ["f16", "f16"]


def test_elements_that_positions_choose_are_no_factors() -> None:
    """A row that is taken is not rounded on its way; a mask has the type of what it is multiplied with."""
    assert types(lambda x, i: np.exp(np.take(x + x, i, axis=1)), "bf16[M,N]", "i32[K]") == ["f32", "f32", "f32", "bf16"]
    assert types(lambda x, i: np.exp(np.take(x, i, axis=1)), "bf16[M,N]", "i32[K]") == ["bf16", "f32", "bf16"]


def test_conversions_that_a_program_writes_stay() -> None:
    import ml_dtypes

    def rounded(x: Any) -> Any:
        return np.exp((x + x).astype(ml_dtypes.bfloat16)) * 2.0

    assert types(rounded, "f32[M,N]") == ["f32", "bf16", "f32", "bf16"]


def test_other_types_stay() -> None:
    assert types(lambda x, y: (x + y) * x, "f32[M]", "f32[M]") == ["f32", "f32"]
    assert types(lambda x, y: (x > y) & (x > 0), "f16[M]", "f16[M]")[-1] == "i1"
