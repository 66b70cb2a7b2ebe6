# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From a NumPy function to tensor_hl: the function is called on traced tensors that answer NumPy's protocols."""
