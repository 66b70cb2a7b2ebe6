# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels as text: read, executed symbolically, rebuilt as a function that the prover compares with a program.

The text is parsed and never run. What its statements do to memory becomes values (`memory`), calls become instructions
(`calls`), subscripts and access patterns regions (`regions`); what is outside the subset is refused by line.
"""

from axon_mlir.frontend.nki_text.reading import read_kernel
from axon_mlir.frontend.nki_text.source import device_in, functions_in, is_kernel_text

__all__ = ["device_in", "functions_in", "is_kernel_text", "read_kernel"]
