# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random programs through the whole pipeline: no kernel is wrong, nothing crashes, few programs come to no kernel.

`make test` takes sixty short ones, `make audit` five thousand of up to twenty operations.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from audit import cases

from axon_mlir.autotune.compilation import ALGEBRA, LOWERING
from axon_mlir.fuzz.campaign import Result, run_campaign
from axon_mlir.fuzz.worker import Settings

BATCHES = 10
EACH = cases(60, 5000) // BATCHES
SETTINGS = Settings(seed=0, counts=(2, cases(4, 20)), seconds=cases(20, 60), shrink_seconds=cases(0, 120))
WITHOUT_KERNEL = cases(2, EACH // 10)
"""Programs of a batch that may come to no kernel."""


@pytest.mark.parametrize("batch", range(BATCHES))
def test_random_programs(batch: int, tmp_path: Path) -> None:
    results = run_campaign(SETTINGS, range(batch * EACH, (batch + 1) * EACH), tmp_path, jobs=1).results
    assert len(results) == EACH
    stopped = [r for r in results if r.verdict in ("refused", "unproved", "timeout") or step_refuted(r)]
    failed = [r for r in results if r.verdict != "passed" and r not in stopped]
    assert not failed, "\n\n".join((tmp_path / str(r.reproducer)).read_text() for r in failed)
    assert all(r.reason for r in stopped)
    assert len(stopped) <= WITHOUT_KERNEL, [(r.number, r.stage, r.reason) for r in stopped]


def step_refuted(result: Result) -> bool:
    """Whether the prover has stopped a pass: there is no kernel that could be wrong."""
    return result.verdict == "wrong" and result.stage in (*ALGEBRA, *LOWERING)
