# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Constants are measured from profiles: here from one that the model itself has made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from axon_mlir.targets import load_device
from benchmarks.timing import fit
from benchmarks.timing.fit import Fit, best, bracket, engines, found, launch, packets, read, transfers

DEVICE = load_device("trn2")
SCALAR = DEVICE.engines["scalar"].clock_ghz or 1.0
COPY = "src=fp32@0x0[1,1,1,1][{n},1,1,1] dst=fp32@0x8000[1,1,1,1][{n},1,1,1] channels=128"
LOAD = (
    "src_elem_size=512 dst_elem_size=512 src_pattern=[512,1][128,1] dst_pattern=[262144,1][128,1] "
    "src_table_offset_imm=0x0 src_table_index=1 dst_addr_imm=0x802000000000"
)


def profile(folder: Path) -> Path:
    """A load, then copies on the scalar engine, one right behind the other."""
    instructions: list[dict[str, Any]] = []

    def ran(queue: str, opcode: str, text: str, start: float, duration: float) -> None:
        one = {"subgroup": queue, "opcode": opcode, "operands": text, "timestamp": start, "duration": duration}
        instructions.append({**one, "pc": len(instructions), "bir_instruction_name": f"I-{len(instructions)}"})

    ran("Sync", "DMA_DIRECT2D", LOAD, 13000, 500)
    for n in range(4):
        ran("Scalar", "COPY", COPY.format(n=480), 20000 + 460 * n, 400 + 200)
    moved = [
        {"dma_queue": "1", "dma_engine": str(e), "timestamp": at, "duration": long, "transfer_size": size}
        for e in range(16)
        for at, long, size in (
            *((14300 + 10 * e + 30 * k, 30, 512) for k in range(4)),
            *((14500 + 10 * e + 120 * k, 80, 2048) for k in range(2)),
            (15000, 9, 4),
        )
    ]
    path = folder / "profile.json"
    made = {
        "instruction": instructions,
        "dma": moved,
        "dma_queues_info": [{"q_idx": 1, "q_name": "qSyncDynamicHW"}],
        "summary": [{"total_time": 30e-6}],
    }
    path.write_text(json.dumps(made), encoding="utf-8")
    return path


def test_what_is_put_in_comes_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fit, "whole", lambda device: iter(()))  # pyright: ignore[reportUnknownLambdaType]
    made, seen = Fit(DEVICE, ends=[(0.5, 170.0), (1.0, 220.0)], lengths=[6826.0]), read(profile(tmp_path), DEVICE)
    for step in (engines, transfers, packets, launch):
        step(seen, made)
    measured = {one.name: one.measured for one in found(made)}
    assert measured["latency_scalar_tensor_copy"] == pytest.approx(600 - 480 / SCALAR)
    assert measured["interval_scalar_tensor_copy"] == pytest.approx(460 - 480 / SCALAR)
    assert measured["dma_hardware_issue"] == 500
    assert measured["dma_hardware_first_load"] == 1300
    assert measured["dma_spread_load"] == 150
    assert measured["dma_rate"] == pytest.approx((2048 - 512) / 50)
    assert measured["dma_packet"] == pytest.approx(30 - 512 / measured["dma_rate"])
    assert measured["kernel_start"] == 13000
    assert (measured["latency_tensor"], measured["drain"]) == (pytest.approx(120), pytest.approx(100))
    assert measured["tensor_window"] == 3413


def test_a_threshold_is_known_to_lie_between_windows() -> None:
    seen = [(0.1, False), (0.6, False), (0.8, True), (0.95, True)]
    between = bracket("tensor_rises", 0.75, seen)
    assert (between.low, between.high) == (0.6, 0.8) and between.agrees
    assert not bracket("tensor_rises", 0.3, seen).agrees


def test_a_window_is_what_times_are_multiples_of() -> None:
    assert best([6826, 20479, 3413], 3400) == pytest.approx(3413, abs=1)
