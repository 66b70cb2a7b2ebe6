# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How long a kernel would take on a device, without its values: the printed text is run on shapes alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from xdsl.dialects.func import FuncOp

from axon_mlir.autotune.inputs import arguments_of, shapes_at
from axon_mlir.semantics.interpret import NUMPY_DTYPES
from axon_mlir.sim import RandomArray, dtype_of, run_kernel
from axon_mlir.sim.timing import is_modelled
from axon_mlir.targets import load_device

TIMEOUT = 600.0
"""Seconds that it may take to find out."""


def predict(kernel: Path, function: str, func: FuncOp, sizes: Mapping[str, int], device: str) -> dict[str, Any] | None:
    """The entries of a time report (`TimeReport.to_json`) for a kernel of the program `func` at some sizes; None where
    the device's time is not modelled. AxonError where the kernel cannot be run."""
    if not is_modelled(load_device(device)):
        return None
    given = [
        RandomArray(dtype_of(NUMPY_DTYPES[argument.dtype]).name, shape or (1, 1))
        for argument, shape in zip(arguments_of(func), shapes_at(func, sizes), strict=True)
    ]
    run = run_kernel(kernel, function, given, device=device, domain="shapes", timeout=TIMEOUT, timed="hardware")
    assert run.time is not None
    return dict(run.time)


__all__ = ["predict"]
