# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The least time that any kernel of a program takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from xdsl.dialects.func import FuncOp

from axon_mlir.autotune.bound import bound_us
from axon_mlir.autotune.compilation import size_values
from axon_mlir.frontend.numpy_trace import trace

LAUNCH = 13.39 + 1.7
"""Microseconds before and after the body."""
RATE = 16 * 27.3e3
"""Bytes of a microsecond."""


def bound(program: Callable[..., Any], *specs: str, device: str = "trn2") -> float | None:
    func = next(op for op in trace(program, specs).walk() if isinstance(op, FuncOp))
    return bound_us(func, size_values(func), device)


def test_every_argument_is_read_and_every_result_written() -> None:
    found = bound(lambda x, y: x + y, "f32[4096,512]", "f32[4096,512]")
    assert found == pytest.approx(LAUNCH + 3 * 4096 * 512 * 4 / RATE)


def test_of_what_is_sliced_only_that_is_read() -> None:
    found = bound(lambda x: x[:128] * 2.0, "f32[4096,512]")
    assert found == pytest.approx(LAUNCH + 2 * 128 * 512 * 4 / RATE)


@pytest.mark.parametrize(("dtype", "cycles"), [("f32", 4), ("bf16", 1)])
def test_a_product_streams_its_columns(dtype: str, cycles: int) -> None:
    """4096 columns, once for each 128 rows of either side."""
    found = bound(lambda x, y: x @ y, f"{dtype}[4096,4096]", f"{dtype}[4096,4096]")
    assert found == pytest.approx(LAUNCH + cycles * 32 * 32 * 4096 / 2.4e3)


def test_a_device_without_a_model_has_none() -> None:
    assert bound(lambda x: x + 1.0, "f32[8,8]", device="trn1") is None
