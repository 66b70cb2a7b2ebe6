# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Laws of single scalar functions that the normal form uses; each is tested numerically."""

from __future__ import annotations

from axon_mlir.semantics.functions import FUNCTIONS

ODD = frozenset({"erf", "sin", "sine", "sign", "round"})
"""`f(-x) = -f(x)`."""
EVEN = frozenset({"cos"})
"""`f(-x) = f(x)`."""
RISING = frozenset({"round", "sign", "floor"}) | {f.name for f in FUNCTIONS.values() if f.monotone}
"""`f(x) <= f(y)` for x <= y."""
SCALE_FREE = frozenset({"sign"})
"""`f(c * x) = f(x)` for c > 0."""
WHOLE = frozenset({"floor"})
"""`f(x + n) = f(x) + n` for whole n."""
PRIMITIVES = {"sin": frozenset({"sine"}), "cos": frozenset({"sine", "sin"})}
"""Functions whose definition says how they are computed; where no function behind it is used by itself, they stay what
they are."""
