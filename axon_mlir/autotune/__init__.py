# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checking and choosing kernels."""
