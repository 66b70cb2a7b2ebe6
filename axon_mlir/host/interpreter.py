# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What long runs need of the Python interpreter: a deep stack, and few collections of cycles."""

from __future__ import annotations

import gc
import sys
from collections.abc import Generator
from contextlib import contextmanager

RECURSION_LIMIT = 20_000
"""Enough for some thousand nested regions."""

COLLECTION_THRESHOLDS = 100_000, 20, 20
"""How many objects are made between collections of cycles. Terms live as long as the process, since equal ones are one
object; Python's own numbers had them looked through again and again, a third of the time of a large proof. IR does hold
cycles: a process that reads module after module gives them back now and then."""


@contextmanager
def long_run() -> Generator[None]:
    """Settings for work that nests deeply and makes millions of terms; the caller's come back at the end."""
    depth, thresholds = sys.getrecursionlimit(), gc.get_threshold()
    sys.setrecursionlimit(max(depth, RECURSION_LIMIT))
    gc.set_threshold(*COLLECTION_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        sys.setrecursionlimit(depth)


def abandon_memory() -> None:
    """Leave what a process holds at its end to the system: to look for cycles in it would take seconds."""
    gc.freeze()
