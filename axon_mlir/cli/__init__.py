# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command-line tools `axon-opt` and `axon`."""
