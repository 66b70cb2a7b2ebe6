# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A long run's settings of the interpreter, and no longer than that."""

from __future__ import annotations

import gc
import sys

import pytest

from axon_mlir.host.interpreter import COLLECTION_THRESHOLDS, RECURSION_LIMIT, long_run


def test_the_settings_end_with_the_run_however_it_ends() -> None:
    before = sys.getrecursionlimit(), gc.get_threshold()
    with pytest.raises(ZeroDivisionError), long_run():
        assert sys.getrecursionlimit() >= RECURSION_LIMIT and gc.get_threshold() == COLLECTION_THRESHOLDS
        raise ZeroDivisionError
    assert (sys.getrecursionlimit(), gc.get_threshold()) == before
