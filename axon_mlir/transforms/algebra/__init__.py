# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Passes on tensor_hl and nu: what is computed, not how."""
