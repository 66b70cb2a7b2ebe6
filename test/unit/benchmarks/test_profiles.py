# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Profiles of hardware are read as traces."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from axon_mlir.errors import AxonError
from axon_mlir.sim.timing import prepared, replay
from axon_mlir.sim.trace import Trace
from axon_mlir.targets import load_device
from benchmarks.timing.profiles import trace_of

DEVICE = load_device("trn2")
LOAD = (
    "semaphore=8 src_elem_size=512 dst_elem_size=512 src_pattern=[512,1][128,1] dst_pattern=[262144,1][128,1] "
    "src_table_offset_imm=0x0 src_table_index=1 dst_addr_imm=0x802000000000"
)
STORE = (
    "semaphore=9 src_elem_size=512 dst_elem_size=512 src_pattern=[262144,1][128,1] dst_pattern=[512,1][128,1] "
    "src_addr_imm=0x802000001000 dst_addr_imm=0x800001000000"
)
WEIGHTS = "fp32_mode={} transpose_mode=DISABLED src=fp32@0x1fc[-1,0,0][128,1,1] 128*128"
PASS = "acc_flags=1 fp32_mode=LOW_HIGH src=fp32@0x0[1,0,0][128,1,1] dst=0x2000000[1,0,0][128,1,1] 128*128"
COPY = "S[5] (Tensor)>=2 src=fp32@0x2000000[1,1,1,1][128,1,1,1] dst=fp32@0x1000[1,1,1,1][128,1,1,1] channels=128"
EXP = (
    "EXP bias_ptr=fp32@0x800 src=fp32@0x1000[1,1,1][128,1,1] dst=fp32@0x2000[1,1,1][128,1,1] channels=128 "
    "scale=1.000000 imm=0.000000"
)
BODY = (
    ("Sync", "DMA_DIRECT2D", "I-1", LOAD),
    ("Tensor", "EVENT_SEMAPHORE", "I-2-wait", "S[8]>=16"),
    ("Tensor", "LDWEIGHTS", "I-2", WEIGHTS.format("LOW")),
    ("Tensor", "MATMUL", "I-2", PASS),
    ("Tensor", "LDWEIGHTS", "I-2", WEIGHTS.format("HIGH")),
    ("Tensor", "MATMUL", "I-2", PASS),
    ("Vector", "COPY", "I-3", COPY),
    ("Scalar", "ACTIVATE", "I-4", EXP),
    ("GpSimd", "DMA_DIRECT2D", "I-5", STORE),
    ("Sync", "DRAIN", "", ""),
)


def read(folder: Path, *body: tuple[str, str, str, str]) -> Trace:
    """The trace of a profile in which these instructions began one after the other."""
    path = folder / "profile.json"
    instructions: list[dict[str, Any]] = [
        {"subgroup": queue, "opcode": opcode, "bir_instruction_name": name, "operands": text, "timestamp": n, "pc": n}
        for n, (queue, opcode, name, text) in enumerate(body)
    ]
    path.write_text(json.dumps({"instruction": instructions[::-1]}), encoding="utf-8")
    return trace_of(path, DEVICE)


def test_what_an_instruction_is(tmp_path: Path) -> None:
    load, product, copy, power, store = read(tmp_path, *BODY).issued
    moved = load.work.transfer
    assert moved is not None and moved.load and moved.made == "hardware" and load.work.queue == "sync"
    assert moved.descriptors == 128 and moved.parts == tuple((e, 8, 8 * 512) for e in range(16))
    assert load.writes[0].box == (0, 128, 0, 512)
    # Two passes of two cycles for a column; the weights are read backwards.
    assert (product.work.instruction, product.work.cycles) == ("nc_matmul", 512)
    assert {access.box[2:] for access in product.reads} == {(0, 512)}
    assert (copy.work.instruction, copy.work.cycles, copy.work.space) == ("tensor_copy", 128, "psum")
    assert (power.work.function, power.reads[1].box[2:]) == ("exp", (0x800, 0x804))
    stored = store.work.transfer
    assert stored is not None and not stored.load and stored.made == "software"


def test_readers_wait_for_writers(tmp_path: Path) -> None:
    ready = prepared(read(tmp_path, *BODY), DEVICE)
    assert ready.queues == ("sync", "tensor", "vector", "scalar", "gpsimd")
    assert [list(w) for w in ready.waits_for] == [[], [0], [1], [2], [2]]
    assert replay(ready, reorder=False).total_ns > 13_000


def test_an_unknown_instruction_is_said(tmp_path: Path) -> None:
    with pytest.raises(AxonError, match="does not know: SHUFFLE"):
        read(tmp_path, ("Vector", "SHUFFLE", "I-1", COPY))
