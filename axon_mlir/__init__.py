# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""axon_mlir: a superoptimizing tensor compiler for tile-based accelerators."""

__version__ = "0.1.0"
