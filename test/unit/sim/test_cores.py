# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launches on two cores: shared tensors, barriers, tiles that are sent."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from axon_mlir.errors import AxonError
from axon_mlir.sim import KernelFailure, RunResult, execute

HEAD = """import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    rows, columns = x.shape
    core, cores = nl.program_id(0), nl.num_programs(0)
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    part = rows // cores
    mine = slice(core * part, core * part + part)
    tile = nl.ndarray((part, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x[mine, 0:columns])
"""
X = np.arange(40, dtype=np.float32).reshape(8, 5)


def run(folder: Path, body: str, grid: int = 2, device: str = "trn2", domain: str = "float") -> RunResult:
    path = folder / "kernel.py"
    path.write_text(HEAD + "".join(f"    {line}\n" for line in body.strip().split("\n")))
    return execute(path, "kernel", [X], device=device, grid=grid, domain=domain)


HALVES = """
nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=2.0)
nisa.dma_copy(dst=out[mine, 0:columns], src=tile)
return out
"""
OTHERS = """
half = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
nisa.dma_copy(dst=half[mine, 0:columns], src=tile)
nisa.core_barrier(half, (0, 1))
other = (1 - core) * part
nisa.dma_copy(dst=tile, src=half[other:other + part, 0:columns])
nisa.dma_copy(dst=out[mine, 0:columns], src=tile)
return out
"""
SENT = """
got = nl.ndarray((part, columns), dtype=x.dtype, buffer=nl.sbuf)
for turn in range(3):
    nisa.sendrecv(src=tile, dst=got, send_to_rank=1 - core, recv_from_rank=1 - core, pipe_id=0)
    nisa.tensor_tensor(dst=tile, data1=tile, data2=got, op=nl.add)
nisa.dma_copy(dst=out[mine, 0:columns], src=tile)
return out
"""


@pytest.mark.parametrize("domain", ["float", "field"])
def test_each_core_makes_its_part(domain: str, tmp_path: Path) -> None:
    one, two = run(tmp_path, HALVES, 1, domain=domain), run(tmp_path, HALVES, domain=domain)
    assert np.array_equal(two.outputs[0], 2 * X) and np.array_equal(one.outputs[0], 2 * X)
    assert two.instructions == 2 * one.instructions == sum(two.engines.values())
    assert one.sbuf_peak_bytes == two.sbuf_peak_bytes


def test_a_barrier_lets_a_core_read_what_another_wrote(tmp_path: Path) -> None:
    assert np.array_equal(run(tmp_path, OTHERS).outputs[0], np.concatenate([X[4:], X[:4]]))
    with pytest.raises(KernelFailure, match="that nothing wrote"):
        run(tmp_path, OTHERS.replace("nisa.core_barrier(half, (0, 1))\n", ""))


def test_tiles_are_sent_and_taken_in_order(tmp_path: Path) -> None:
    total = 4 * (X[:4] + X[4:])
    assert np.array_equal(run(tmp_path, SENT).outputs[0], np.concatenate([total, total]))


def test_the_time_of_a_core_is_that_of_its_part(tmp_path: Path) -> None:
    from axon_mlir.sim.trace import Trace

    run(tmp_path, HALVES)
    trace = Trace()
    execute(tmp_path / "kernel.py", "kernel", [X], device="trn2", grid=2, trace=trace, domain="shapes")
    assert len(trace.issued) == 3


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "if core == 0:\n    nisa.core_barrier(tile, (0, 1))\nreturn out",
            r"wait for each other, or for one that has ended: core 0 at a barrier, .*kernel.py:16",
        ),
        ("nisa.core_barrier(tile, (0, 2))\nreturn out", r"a barrier of cores \(0, 2\); accepted: \(0, 1\)"),
        ("nisa.sendrecv(src=tile, dst=tile, send_to_rank=2, recv_from_rank=0)\nreturn out", "with core 2 of 2"),
        (
            "nisa.sendrecv(src=tile, dst=tile[0:2], send_to_rank=1 - core, recv_from_rank=1 - core)\nreturn out",
            r"float32\[4, 5\] is sent, float32\[2, 5\] taken",
        ),
        (
            "if core == 1:\n    raise ValueError('no')\nnisa.core_barrier(tile, (0, 1))\nreturn out",
            "kernel.py:16: error: ValueError: no",
        ),
        (
            "nl.ndarray((4, 5 + core), dtype=x.dtype, buffer=nl.shared_hbm)\nreturn out",
            r"core 1 allocates float32\[4, 6\] where another allocates",
        ),
    ],
)
def test_a_launch_that_comes_to_nothing_is_said(body: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(KernelFailure, match=message):
        run(tmp_path, body)


def test_a_device_has_so_many_cores(tmp_path: Path) -> None:
    with pytest.raises(AxonError, match="a launch on 2 cores"):
        run(tmp_path, HALVES, device="trn1")
    with pytest.raises(AxonError, match="a launch on 3 cores"):
        run(tmp_path, HALVES, 3)
