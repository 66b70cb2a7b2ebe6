# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Passes on tensor_hl and νGraph: what is computed, not how."""
