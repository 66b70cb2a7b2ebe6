# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Registers, device loops, indices that are known only while the kernel runs, and sums that a call leaves open."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from axon_mlir.sim import HardwareViolation, KernelFailure, RunResult, execute

HEAD = """import nki
import nki.isa as nisa
import nki.language as nl


def integer(tensor):
    t = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=tensor)
    return t


@nki.jit
def kernel(x, n):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=nl.load(x))
"""
X = np.arange(40, dtype=np.float32).reshape(8, 5)


def run(folder: Path, body: str, n: int = 3) -> RunResult:
    lines = "".join(f"    {line}\n" for line in f"{body.strip()}\nreturn out".split("\n"))
    path = folder / "kernel.py"
    path.write_text(HEAD + lines)
    return execute(path, "kernel", [X, np.full((1, 1), n, np.int32)], device="trn2")


def test_a_counted_loop_reads_rows_at_a_register(tmp_path: Path) -> None:
    body = """
upper = nisa.register_alloc()
nisa.register_load(upper, integer(n))
def body(i):
    t = nl.ndarray((1, 5), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=x.ap([[5, 1], [1, 5]], scalar_offset=i))
    nisa.tensor_scalar(dst=t, data=t, op0=nl.multiply, operand0=-1.0)
    nisa.dma_copy(dst=out.ap([[5, 1], [1, 5]], scalar_offset=i), src=t)
nl.fori_loop(0, upper, body)
"""
    (out,) = run(tmp_path, body).outputs
    assert (out[:3] == -X[:3]).all() and (out[3:] == X[3:]).all()


def test_a_loop_with_a_condition(tmp_path: Path) -> None:
    body = """
count, one = integer(n), nl.ones((1, 1), dtype=nl.int32)
total = nl.zeros((8, 5), dtype=nl.float32)
def body(r):
    nisa.tensor_tensor(dst=total, data1=total, data2=nl.load(x), op=nl.add)
    nisa.tensor_tensor(dst=count, data1=count, data2=one, op=nl.subtract)
    nisa.register_load(r, count)
    return r
reg = nisa.register_alloc()
nisa.register_load(reg, count)
nl.while_loop(reg, body)
nisa.dma_copy(dst=out, src=total)
"""
    assert (run(tmp_path, body).outputs[0] == 3 * X).all()
    assert (run(tmp_path, body, n=0).outputs[0] == 0).all()


def test_registers_are_stored_and_moved(tmp_path: Path) -> None:
    body = """
a, b = nisa.register_alloc(7), nisa.register_alloc()
nisa.register_move(b, a)
nisa.register_move(a, 9)
t = nl.ndarray((1, 2), dtype=nl.int32, buffer=nl.sbuf)
nisa.register_store(t[:, 0:1], a)
nisa.register_store(t[:, 1:2], b)
nisa.dma_copy(dst=out[0:1, 0:2], src=nl.copy(t, dtype=nl.float32))
"""
    assert run(tmp_path, body).outputs[0][0, :2].tolist() == [9, 7]


def test_a_place_in_a_tensor_and_rows_of_an_index(tmp_path: Path) -> None:
    body = """
at = integer(n)
nisa.dma_copy(dst=out[0], src=nl.load(x.select(0, at).expand_dim(0)))
rows = nl.ndarray((2, 1), dtype=nl.int32, buffer=nl.sbuf)
nisa.iota(dst=rows, pattern=[[1, 1]], offset=4, channel_multiplier=2)
picked = nl.ndarray((2, 5), dtype=nl.float32, buffer=nl.sbuf)
nisa.dma_copy(dst=picked, src=x.vector_select(0, rows))
nisa.dma_copy(dst=out[1:3], src=picked)
assert x.select(0, at).is_indirect() and not x.is_indirect()
"""
    (out,) = run(tmp_path, body).outputs
    assert (out[0] == X[3]).all() and (out[1:3] == X[[4, 6]]).all()


def test_the_first_matmul_that_leaves_it_open_overwrites_and_others_add(tmp_path: Path) -> None:
    body = """
acc = nl.ndarray((5, 5), dtype=nl.float32, buffer=nl.psum)
t = nl.load(x)
for k in range(3):
    nisa.nc_matmul(acc, t, t)
nisa.dma_copy(dst=out[0:5], src=nl.copy(acc))
"""
    assert (run(tmp_path, body).outputs[0][:5] == 3 * X.T @ X).all()


def test_a_record_of_the_kernel_and_where_it_runs(tmp_path: Path) -> None:
    body = """
class Shape(nl.NKIObject):
    pass
s = Shape(rows=8)
with nl.no_reorder():
    assert s.rows == 8 and nl.program_id(0) == 0 and nl.num_programs() == 1 and nl.program_ndim() == 1
assert nisa.get_nc_version() is nisa.nc_version.gen3
"""
    assert (run(tmp_path, body).outputs[0] == X).all()


@pytest.mark.parametrize(
    ("body", "kind", "message"),
    [
        (
            "nisa.register_move(nisa.register_alloc(), nisa.register_alloc())",
            KernelFailure,
            "before anything is written",
        ),
        ("nl.fori_loop(0, 2.5, print)", KernelFailure, "an integer or a register"),
        ("nl.fori_loop(0, 4, print, step=0)", KernelFailure, "from 1 on"),
        ("nl.while_loop(nisa.register_alloc(1), lambda r: 0)", KernelFailure, "accepted: a register"),
        (
            "x.ap([[5, 1], [1, 5]], scalar_offset=nisa.register_alloc(8))",
            HardwareViolation,
            "elements 40 to 44",
        ),
        ("x.ap([[5, 1], [1, 5]], scalar_offset=nl.load(x))", HardwareViolation, "one integer in SBUF"),
        (
            "x.ap([[5, 1], [1, 5]], scalar_offset=nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf))",
            HardwareViolation,
            "an index that nothing wrote",
        ),
        ("nisa.register_store(nl.load(x), nisa.register_alloc(1))", HardwareViolation, "one integer"),
        (
            "acc = nl.ndarray((5, 5), dtype=nl.float32, buffer=nl.psum)\nt = nl.load(x)\n"
            "nisa.nc_matmul(acc[:, 0:2], t, t[:, 0:2])\nnisa.nc_matmul(acc, t, t)",
            HardwareViolation,
            "10 of 25 elements would be added to",
        ),
    ],
)
def test_misuse_is_said(body: str, kind: type[Exception], message: str, tmp_path: Path) -> None:
    with pytest.raises(kind, match=message):
        run(tmp_path, body)


def test_a_kernel_of_a_package_imports_what_lies_beside_it_anew_each_time(tmp_path: Path) -> None:
    package = tmp_path / "library" / "kernels"
    package.mkdir(parents=True)
    for folder in (tmp_path / "library", package):
        (folder / "__init__.py").write_text("")
    (tmp_path / "library" / "sizes.py").write_text("import nki.language as nl\nROWS = nl.tile_size.pmax // 16\n")
    path = package / "twice.py"
    path.write_text(
        """from dataclasses import dataclass

import nki
import nki.isa as nisa
import nki.language as nl

from ..sizes import ROWS


@dataclass
class Sizes(nl.NKIObject):
    rows = None
    factor: float = 2.0


@nki.jit(mode="trace")
def kernel(x):
    sizes = Sizes(rows=ROWS)
    t = nl.multiply(nl.load(x[0 : sizes.rows]), sizes.factor)
    assert t[:, 2].shape == (8, 1)
    out = nl.ndarray(t.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=t)
    return out
"""
    )
    for _ in range(2):
        (out,) = execute(path, "kernel", [X], device="trn2").outputs
        assert (out == 2 * X).all()
        assert not [name for name in sys.modules if name.startswith("library")]


def test_addresses_place_tensors_and_may_be_used_again(tmp_path: Path) -> None:
    body = """
for r in range(0, 8, 4):
    t = nl.ndarray((4, 5), dtype=nl.float32, buffer=nl.sbuf, address=(32, 1024))
    nisa.dma_copy(dst=t, src=x[r : r + 4])
    nisa.tensor_scalar(dst=t, data=t, op0=nl.multiply, operand0=2.0)
    nisa.dma_copy(dst=out[r : r + 4], src=t)
"""
    assert (run(tmp_path, body).outputs[0] == 2 * X).all()


def test_positions_over_several_axes(tmp_path: Path) -> None:
    body = """
t = nl.ndarray((8, 6), dtype=nl.float32, buffer=nl.sbuf)
nisa.iota(dst=t, pattern=[[10, 2], [1, 3]], offset=100, channel_multiplier=1000)
where = dict(pattern=[[3, 2], [1, 3]], channel_multiplier=0, offset=-4, cmp_op=nl.less)
nisa.affine_select(dst=t, on_true_tile=t, on_false_value=-1.0, **where)
nisa.dma_copy(dst=out[:, 0:5], src=t[:, 0:5])
"""
    (out,) = run(tmp_path, body).outputs
    assert (out[:, :4] == 1000 * np.arange(8)[:, None] + [100, 101, 102, 110]).all() and (out[:, 4] == -1).all()
