# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What programs mean: terms, meanings, evaluators, normal form, denotation."""
