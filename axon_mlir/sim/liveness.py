# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How much memory the tensors of a run hold at the same time, in source order: from first write to last access."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from axon_mlir.sim.memory import Lifetime


def live_totals(lives: Sequence[Lifetime], instructions: int, amount: Callable[[Lifetime], int]) -> NDArray[np.int64]:
    """Per instruction, the total of `amount` over the tensors alive at it."""
    change = np.zeros(instructions + 2, np.int64)
    for life in lives:
        if life.first_use >= 0:
            held = amount(life)
            change[life.first_use] += held
            change[life.last_use + 1] -= held
    return np.cumsum(change)


def live_at(lives: Sequence[Lifetime], instruction: int, amount: Callable[[Lifetime], int]) -> list[Lifetime]:
    """The tensors alive at an instruction, largest first."""
    live = [life for life in lives if 0 <= life.first_use <= instruction <= life.last_use]
    return sorted(live, key=amount, reverse=True)
