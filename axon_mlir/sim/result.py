# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a run reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray


@dataclass(frozen=True)
class Check:
    """One kind of rule and how many times the run applied it; a run that ends has broken none."""

    rule: str
    applied: int


@dataclass(frozen=True)
class RunResult:
    """Outputs and counts of a finished run."""

    outputs: tuple[NDArray[Any], ...]
    """In the float domain arrays of the outputs' own types, else elements of the exact domain."""
    dtypes: tuple[str, ...]
    """The outputs' types as the kernel declares them."""
    instructions: int
    engines: Mapping[str, int]
    """Instructions by engine; `any` counts those whose engine the kernel leaves open among several."""
    dma_bytes: int
    dma_descriptors: int
    sbuf_peak_bytes: int
    """Bytes of a partition that live tensors hold at the worst instruction, in source order."""
    psum_peak_banks: int
    checks: tuple[Check, ...]
    time: Mapping[str, Any] | None = None
    """The predicted time as `sim.report` tells it, where it was asked for."""
