# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each rule that the simulator checks, broken once."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import indent

import numpy as np
import pytest

import axon_mlir.sim
from axon_mlir.sim import HardwareViolation, RunResult, execute

HEAD = """import nki
import nki.isa as nisa
import nki.language as nl


def sbuf(*shape, dtype=nl.float32):
    return nl.ndarray(shape, dtype=dtype, buffer=nl.sbuf)


def psum(*shape, dtype=nl.float32):
    return nl.ndarray(shape, dtype=dtype, buffer=nl.psum)


def filled(*shape, dtype=nl.float32):
    return nl.zeros(shape, dtype=dtype, buffer=nl.sbuf)


@nki.jit
def kernel(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
"""
FIRST_LINE = HEAD.count("\n") + 1


def run(folder: Path, body: str, device: str = "trn2", domain: str = "float") -> RunResult:
    path = folder / "kernel.py"
    path.write_text(HEAD + indent(body.strip() + "\nreturn out\n", "    "))
    x = np.ones((128, 256), np.float32)
    return execute(path, "kernel", [x], device=device, domain=domain)


REFUSED = {
    # Memories.
    "partitions": ("sbuf(129, 4)", "129 partitions"),
    "shape rank": ("sbuf(4)", "rank 1"),
    "shape empty": ("sbuf(4, 0)", "below 1"),
    "psum-bank": ("psum(128, 513)", "2052 bytes"),
    "sbuf-capacity": (
        "ts = [filled(128, 16384) for _ in range(4)]\nt = sbuf(128, 16384)\n"
        "for s in ts: nisa.tensor_copy(dst=t, src=s)",
        "262144 bytes",
    ),
    "psum-banks": (
        "ts = [psum(1, 512) for _ in range(9)]\nfor t in ts + ts: nisa.memset(dst=t, value=0.0)",
        "9 banks",
    ),
    # Views.
    "in-bounds slice": ("x[0:128, 200:257]", "200:257"),
    "in-bounds index": ("x[128]", "128"),
    "in-bounds empty": ("x[4:4]", "4:4"),
    "in-bounds pattern": ("x.ap(pattern=[[256, 128], [2, 129]])", "32768"),
    "in-bounds offset": ("x.ap(pattern=[[256, 128], [1, 256]], offset=1)", "32768"),
    "in-bounds partition": ("sbuf(8, 4).ap(pattern=[[4, 8], [1, 5]])", "leaves"),
    "partition-stride": ("sbuf(8, 4)[0:8:2]", "step 2"),
    "partition-stride pattern": ("sbuf(8, 4).ap(pattern=[[8, 4], [1, 4]])", "8"),
    "pattern-base": ("x[4:8].ap(pattern=[[1, 4]])", "view"),
    "subscript": ("x[0, 0, 0]", "3 subscripts"),
    "view axes": ("x.permute((0, 0))", "axes"),
    "view partitions": ("sbuf(8, 4).reshape((4, 8))", "8 partitions as 4"),
    "row": (
        "at = sbuf(4, 1, dtype=nl.int32)\nnisa.memset(dst=at, value=128)\n"
        "nisa.dma_copy(dst=sbuf(4, 256), src=x.ap(pattern=[[256, 4], [1, 256]], vector_offset=at, indirect_dim=0))",
        "position 128",
    ),
    "scalar-offset": (
        "nisa.dma_copy(dst=sbuf(1, 256), src=x.ap(pattern=[[256, 1], [1, 256]], scalar_offset=sbuf(2, 1), "
        "indirect_dim=0))",
        "as an index",
    ),
    "initialised offset": (
        "nisa.dma_copy(dst=sbuf(1, 256), src=x.ap(pattern=[[256, 1], [1, 256]], "
        "scalar_offset=sbuf(1, 1, dtype=nl.int32), indirect_dim=0))",
        "an index that nothing wrote",
    ),
    "vector-offset": (
        "at = sbuf(3, 1, dtype=nl.int32)\nnisa.memset(dst=at, value=1)\n"
        "nisa.dma_copy(dst=sbuf(4, 256), src=x.ap(pattern=[[256, 4], [1, 256]], vector_offset=at, indirect_dim=0))",
        "[3, 1]",
    ),
    # Addresses.
    "address partitions": ("nl.ndarray((64, 4), dtype=nl.float32, buffer=nl.sbuf, address=(96, 0))", "96 to 159"),
    "address bytes": ("nl.ndarray((4, 4), dtype=nl.float32, buffer=nl.sbuf, address=(0, 212980))", "212980 to 212995"),
    "address bank": ("nl.ndarray((4, 4), dtype=nl.float32, buffer=nl.psum, address=(0, 512))", "where a bank starts"),
    "address-overlap": (
        "a, b = (nl.ndarray((4, 4), dtype=nl.float32, buffer=nl.sbuf, address=(0, n)) for n in (0, 12))\n"
        "nisa.memset(dst=a, value=0.0)\nnisa.memset(dst=b, value=0.0)\nnisa.tensor_copy(dst=b, src=a)",
        "in the place of",
    ),
    "identity": (
        "nisa.nc_matmul(dst=psum(4, 8), stationary=filled(8, 4), moving=filled(8, 8), is_transpose=True)",
        "no identity matrix",
    ),
    # What is written.
    "initialised": ("nisa.tensor_copy(dst=sbuf(4, 4), src=sbuf(4, 4))", "reads 16 of 16 elements of `src`"),
    "initialised half": (
        "t = sbuf(4, 4)\nnisa.memset(dst=t[:, 0:2], value=0.0)\nnisa.tensor_copy(dst=sbuf(4, 4), src=t)",
        "reads 8 of 16",
    ),
    "initialised hbm": ("nisa.dma_copy(dst=sbuf(128, 256), src=out)", "reads 32768"),
    "output-written": ("nisa.dma_copy(dst=out[0:128, 0:255], src=x[0:128, 0:255])", "128 of 32768"),
    "output-space": ("return sbuf(4, 4)", "in sbuf"),
    "written-once": ("nisa.dma_copy(dst=out.ap(pattern=[[0, 2], [1, 4]]), src=x[0:2, 0:4])", "more than once"),
    "accumulate nothing": (
        "nisa.nc_matmul(dst=psum(4, 8), stationary=filled(2, 4), moving=filled(2, 8), accumulate=True)",
        "32 of 32",
    ),
    "accumulate half": (
        "p = psum(4, 8)\nnisa.nc_matmul(dst=p[:, 0:4], stationary=filled(2, 4), moving=filled(2, 4))\n"
        "nisa.nc_matmul(dst=p, stationary=filled(2, 4), moving=filled(2, 8))",
        "16 of 32 elements would be added to",
    ),
    "accumulate memset": (
        "p = psum(4, 8)\nnisa.memset(dst=p, value=0.0)\n"
        "nisa.nc_matmul(dst=p, stationary=filled(2, 4), moving=filled(2, 8), accumulate=True)",
        "32 of 32",
    ),
    # What the description says.
    "same_dtype": (
        "nisa.nc_transpose(dst=psum(4, 4), data=filled(4, 4, dtype=nl.bfloat16), engine=nisa.engine.tensor)",
        "one dtype",
    ),
    "pairs": (
        "nisa.nc_matmul(dst=psum(4, 8), stationary=filled(2, 4), moving=filled(2, 8, dtype=nl.bfloat16))",
        "only with each other",
    ),
    "free_size": (
        "nisa.memset(dst=sbuf(1, 65537, dtype=nl.uint8), value=0)",
        "65537 elements per partition",
    ),
    "space": ("nisa.dma_copy(dst=psum(128, 256), src=x)", "psum"),
    "engine_access": (
        "p = psum(4, 4)\nnisa.memset(dst=p, value=0.0)\n"
        "nisa.tensor_copy(dst=sbuf(4, 4), src=p, engine=nisa.engine.gpsimd)",
        "gpsimd cannot read",
    ),
    "shape": ("nisa.tensor_copy(dst=sbuf(4, 5), src=filled(4, 4))", "axis 1"),
    "dtype": (
        "p = psum(4, 8, dtype=nl.int32)\n"
        "nisa.nc_matmul(dst=p, stationary=filled(2, 4), moving=filled(2, 8), accumulate=False)",
        "int32",
    ),
    "limit": (
        "nisa.nc_transpose(dst=psum(33, 4), data=filled(4, 33), engine=nisa.engine.vector)",
        "33",
    ),
    "start_partition": ("nisa.tensor_copy(dst=sbuf(64, 4)[32:64], src=filled(64, 4)[1:33])", "partition 1"),
    "at_most_one": (
        "p, q = psum(4, 4), psum(4, 4)\nfor t in (p, q): nisa.memset(dst=t, value=0.0)\n"
        "nisa.tensor_tensor(dst=sbuf(4, 4), data1=p, data2=q, op=nl.add)",
        "at most one",
    ),
    "kind": ("nisa.memset(dst=sbuf(4, 4, dtype=nl.int32), value=0.5)", "0.5"),
    "function-range": (
        "t = sbuf(4, 4)\nnisa.memset(dst=t, value=9.0)\nnisa.activation(dst=sbuf(4, 4), op=nl.sin, data=t)",
        "16 of 16 inputs of sin",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_broken_rule_stops_the_run(name: str, tmp_path: Path) -> None:
    body, message = REFUSED[name]
    with pytest.raises(HardwareViolation) as caught:
        run(tmp_path, body)
    violation = caught.value
    assert violation.rule == name.split()[0]
    assert message in violation.message
    assert violation.exit_code == 1
    assert violation.where is not None and violation.where.startswith(str(tmp_path / "kernel.py"))
    assert f"rule: {violation.rule}" in str(violation)


def test_every_rule_is_broken_once() -> None:
    """The rules that the simulator's modules refuse by, and those of the description's classes."""
    package = Path(axon_mlir.sim.__file__ or "").parent
    text = "".join(file.read_text() for file in package.glob("*.py"))
    text += "".join(file.read_text() for file in (package.parent / "targets").glob("*.py"))
    found = set(re.findall(r'rule="([\w-]+)"', text)) | set(re.findall(r'Violation\("(\w+)"', text))
    found |= set(re.findall(r'^    name = "(\w+)"$', (package.parent / "targets" / "rules.py").read_text(), re.M))
    # Types that only a later device has: below. A run finds no form of an instruction on another engine.
    assert found - {name.split()[0] for name in REFUSED} == {"excludes", "engine"}


def test_types_that_do_not_go_together(tmp_path: Path) -> None:
    types = "dtype=nl.float8_e4m3", "dtype=nl.float8_e4m3fn"
    body = "nisa.nc_matmul(dst=psum(4, 8), stationary=filled(2, 4, {}), moving=filled(2, 8, {}))".format(*types)
    with pytest.raises(HardwareViolation, match="do not go together") as caught:
        run(tmp_path, body, "trn3")
    assert caught.value.rule == "excludes"


def test_a_report_names_line_instruction_tensor_and_source(tmp_path: Path) -> None:
    body = "t = sbuf(4, 600)\np = psum(4, 600, dtype=nl.bfloat16)\nnisa.memset(dst=t, value=0.0)\n"
    body += "s = filled(4, 4, dtype=nl.int32)\nnisa.nc_matmul(dst=p, stationary=s, moving=t, accumulate=False)"
    with pytest.raises(HardwareViolation) as caught:
        run(tmp_path, body)
    violation = caught.value
    assert violation.where == f"{tmp_path / 'kernel.py'}:{FIRST_LINE + 4}"
    assert violation.instruction == "nisa.nc_matmul"
    assert violation.tensor is not None and "int32[4, 4] in sbuf" in violation.tensor
    assert violation.source
    assert "int32" in violation.message and "bfloat16" in violation.message


def test_a_half_written_tensor_is_fine_where_it_is_written(tmp_path: Path) -> None:
    body = "t = sbuf(128, 256)\nnisa.memset(dst=t[:, 0:128], value=3.0)\n"
    body += "nisa.dma_copy(dst=out[:, 0:128], src=t[:, 0:128])\nnisa.dma_copy(dst=out[:, 128:256], src=t[:, 0:128])"
    assert np.all(run(tmp_path, body).outputs[0] == 3)


def test_the_same_rules_hold_in_the_field(tmp_path: Path) -> None:
    with pytest.raises(HardwareViolation, match="reads 16 of 16"):
        run(tmp_path, "nisa.tensor_copy(dst=sbuf(4, 4), src=sbuf(4, 4))", domain="field")


def test_a_device_without_an_engine_refuses_it(tmp_path: Path) -> None:
    body = "t = filled(4, 4)\nnisa.tensor_copy(dst=sbuf(4, 4), src=t, engine=nisa.engine.scalar)"
    body += "\nnisa.dma_copy(dst=out, src=x)"
    run(tmp_path, body, "trn2")
    with pytest.raises(Exception, match="scalar"):
        run(tmp_path, body, "trn1")
