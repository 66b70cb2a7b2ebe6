# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The prover: obligations for an SMT solver, exact refutation, verdicts, certificates and their checker."""
