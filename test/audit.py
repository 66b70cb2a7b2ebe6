# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How many random cases a property is tried with: few by default, many under `AXON_AUDIT=1`."""

from __future__ import annotations

import os

AUDIT = os.environ.get("AXON_AUDIT", "") not in ("", "0")


def cases(normal: int, audit: int) -> int:
    """The number of random cases of a property."""
    return audit if AUDIT else normal
