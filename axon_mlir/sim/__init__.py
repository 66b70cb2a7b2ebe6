# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels run here: look-alikes of the kernel language over NumPy, with the rules of the hardware checked."""

from axon_mlir.sim.dtypes import DTYPES, DType, dtype_of
from axon_mlir.sim.execute import execute
from axon_mlir.sim.failures import HardwareViolation, KernelFailure
from axon_mlir.sim.result import Check, RunResult
from axon_mlir.sim.runner import run_each, run_here, run_kernel
from axon_mlir.sim.transport import Argument, RandomArray, TypedArray

__all__ = [
    "DTYPES",
    "Argument",
    "Check",
    "DType",
    "HardwareViolation",
    "KernelFailure",
    "RandomArray",
    "RunResult",
    "TypedArray",
    "dtype_of",
    "execute",
    "run_each",
    "run_here",
    "run_kernel",
]
