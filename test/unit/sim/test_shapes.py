# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs without values: the same instructions, in the same time, and nothing said of values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from axon_mlir.sim import KernelFailure, RandomArray, execute
from axon_mlir.sim.report import time_report
from axon_mlir.sim.timing import prepared
from axon_mlir.sim.trace import Trace
from axon_mlir.targets import load_device

KERNELS = Path(__file__).parent / "kernels.py"
CASES = {
    "gate": (RandomArray("bfloat16", (300, 70)), RandomArray("bfloat16", (300, 70))),
    "product": (RandomArray("float32", (130, 200)), RandomArray("float32", (200, 600))),
    "normalise": (RandomArray("bfloat16", (130, 64)), RandomArray("bfloat16", (1, 64)), 1e-5),
}
ACCUMULATES = """import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x, n):
    total = nl.ndarray((4, 5), dtype=nl.float32, buffer=nl.psum)
    a = nl.load(x)
    for k in range(3):
        nisa.nc_matmul(dst=total, stationary=a[0:8, 0:4], moving=a)
    out = nl.ndarray((4, 5), dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, value=nl.copy(total))
    {last}
    return out
"""


@pytest.mark.parametrize("name", CASES)
def test_the_instructions_are_those_of_a_run_with_values(name: str) -> None:
    traces = Trace(), Trace()
    real, bare = (
        execute(KERNELS, name, list(CASES[name]), device="trn2", domain=domain, trace=trace)
        for domain, trace in zip(("float", "shapes"), traces, strict=True)
    )
    assert traces[0] == traces[1]
    assert real.outputs and not bare.outputs
    assert (real.engines, real.dma_bytes, real.sbuf_peak_bytes) == (bare.engines, bare.dma_bytes, bare.sbuf_peak_bytes)
    device = load_device("trn2")
    assert time_report(traces[0], device)[0] == time_report(traces[1], device)[0]


def run(folder: Path, last: str) -> Trace:
    path, trace = folder / "kernel.py", Trace()
    path.write_text(ACCUMULATES.format(last=last))
    given = [RandomArray("float32", (8, 5)), np.ones((1, 1), np.int32)]
    execute(path, "kernel", given, device="trn2", domain="shapes", trace=trace)
    return trace


def test_what_is_added_to_is_known_without_values(tmp_path: Path) -> None:
    issued = run(tmp_path, "pass").issued
    products = [one for one in issued if one.work.instruction == "nc_matmul"]
    # The second and third add to what the first wrote: they read it, too.
    assert [len(one.reads) for one in products] == [2, 3, 3]


def test_a_kernel_that_asks_for_a_value_is_refused(tmp_path: Path) -> None:
    last = "nisa.register_load(nisa.register_alloc(), n)"
    with pytest.raises(KernelFailure, match=r"`n`.* holds decides how the kernel goes on") as caught:
        run(tmp_path, last)
    line = ACCUMULATES.format(last=last).split("\n").index(f"    {last}") + 1
    assert caught.value.where == f"{tmp_path / 'kernel.py'}:{line}"
    assert "a run with values" in str(caught.value)


DESCRIPTORS = """import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x, index):
    a = nl.ndarray((128, 16), dtype=x.dtype, buffer=nl.sbuf)
    rows = nl.ndarray((128, 1), dtype=index.dtype, buffer=nl.sbuf)
    out = nl.ndarray((128, 16), dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=rows, src=index)
    nisa.dma_copy(dst=a, src=x[0:128, 0:16], dge_mode=nisa.dge_mode.hwdge)
    nisa.dma_copy(dst=a, src=x.ap(pattern=[[16, 128], [1, 16]], vector_offset=rows, indirect_dim=0))
    nisa.dma_copy(dst=out, src=a, dge_mode=nisa.dge_mode.swdge)
    return out
"""


def test_a_kernel_may_say_how_descriptors_are_made(tmp_path: Path) -> None:
    """Rows that are chosen at run time need software; what a call leaves open is the run's to say."""
    path, trace = tmp_path / "kernel.py", Trace()
    path.write_text(DESCRIPTORS, encoding="utf-8")
    given = (RandomArray("float32", (200, 16)), np.zeros((128, 1), np.int32))
    execute(path, None, given, device="trn2", trace=trace)
    moved = [one.work.transfer for one in trace.issued]
    assert [m.made for m in moved if m is not None] == [None, "hardware", "software", "software"]
    ready = prepared(trace, load_device("trn2"), "static")
    assert ready.queues == ("sync", "sync", "gpsimd", "gpsimd")
