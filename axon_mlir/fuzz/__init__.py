# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random NumPy programs through the whole pipeline: what comes out must be right, or refused with a reason."""
