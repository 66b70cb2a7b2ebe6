# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The checker of certificates: it imports the semantics and nothing of the prover."""
