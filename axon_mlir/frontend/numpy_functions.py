# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What NumPy's functions do to traced values: the tables of `traced`, filled by the modules that this one imports."""

from axon_mlir.frontend import (
    numpy_assembly,
    numpy_creation,
    numpy_folds,
    numpy_indexing,
    numpy_products,
    numpy_rounding,
    numpy_selection,
    numpy_shapes,
    numpy_ufuncs,
)
from axon_mlir.frontend.traced import FUNCTIONS, METHODS, NAMED_UFUNCS, UFUNCS

__all__ = [
    "FUNCTIONS",
    "METHODS",
    "NAMED_UFUNCS",
    "UFUNCS",
    "numpy_assembly",
    "numpy_creation",
    "numpy_folds",
    "numpy_indexing",
    "numpy_products",
    "numpy_rounding",
    "numpy_selection",
    "numpy_shapes",
    "numpy_ufuncs",
]
