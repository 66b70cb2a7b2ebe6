# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random programs through the whole pipeline: no kernel and no step is wrong, nothing crashes, fewer than one program
in ten comes to no kernel.

`make test` takes sixty short ones, `make audit` five thousand of up to twenty operations.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from audit import cases

from axon_mlir.fuzz.campaign import run_campaign
from axon_mlir.fuzz.worker import Settings

BATCHES = 5
EACH = cases(60, 5000) // BATCHES
SETTINGS = Settings(seed=0, counts=(2, cases(4, 20)), seconds=cases(20, 60), shrink_seconds=cases(0, 120))
WITHOUT_KERNEL = (EACH - 1) // 10
"""Programs of a batch that may come to no kernel: fewer than one in ten."""


@pytest.mark.parametrize("batch", range(BATCHES))
def test_random_programs(batch: int, tmp_path: Path) -> None:
    results = run_campaign(SETTINGS, range(batch * EACH, (batch + 1) * EACH), tmp_path, jobs=1).results
    assert len(results) == EACH
    stopped = [r for r in results if r.verdict in ("refused", "unproved", "timeout")]
    failed = [r for r in results if r.verdict != "passed" and r not in stopped]
    assert not failed, "\n\n".join((tmp_path / str(r.reproducer)).read_text() for r in failed)
    assert all(r.reason for r in stopped)
    assert len(stopped) <= WITHOUT_KERNEL, [(r.number, r.stage, r.reason) for r in stopped]
