# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How much memory the tensors of a run hold at the same time, in source order: from first write to last access."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from axon_mlir.sim.memory import Storage


def live_totals(storages: Sequence[Storage], instructions: int, amount: Callable[[Storage], int]) -> NDArray[np.int64]:
    """Per instruction, the total of `amount` over the tensors alive at it."""
    change = np.zeros(instructions + 2, np.int64)
    for storage in storages:
        if storage.first_use >= 0:
            held = amount(storage)
            change[storage.first_use] += held
            change[storage.last_use + 1] -= held
    return np.cumsum(change)


def live_at(storages: Sequence[Storage], instruction: int, amount: Callable[[Storage], int]) -> list[Storage]:
    """The tensors alive at an instruction, largest first."""
    live = [storage for storage in storages if 0 <= storage.first_use <= instruction <= storage.last_use]
    return sorted(live, key=amount, reverse=True)
