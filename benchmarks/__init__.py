# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The benchmark programs, and what runs them."""
