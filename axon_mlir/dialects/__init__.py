# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The dialects, from what to compute (tensor_hl) to instructions (trn_isa)."""
