# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels in the interface that NKI had first are recorded as the instructions they ask for."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from axon_mlir.errors import AxonError
from axon_mlir.sim import RandomArray
from benchmarks.timing import old_api

ROOT = Path(__file__).parents[3]

KERNELS = '''
import numpy as np
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
from neuronxcc.nki.language import par_dim

ROWS, COLUMNS, INNER = 128, 512, 256


@nki.jit
def product(lhs_t, rhs):
    """The last columns are no whole tile."""
    _, n = rhs.shape
    out = nl.ndarray((ROWS, n), dtype=np.float32, buffer=nl.shared_hbm)
    p, f, m = nl.arange(128)[:, None], nl.arange(COLUMNS)[None, :], nl.arange(ROWS)[None, :]
    for c in nl.affine_range((n + COLUMNS - 1) // COLUMNS):
        inside = COLUMNS * c + f < n
        total = nl.zeros((par_dim(ROWS), COLUMNS), dtype=np.float32, buffer=nl.psum)
        both = nl.ndarray((2, par_dim(128), COLUMNS), dtype=np.float32, buffer=nl.sbuf)
        for k in nl.affine_range(INNER // 128):
            left = nl.load(lhs_t[128 * k + p, m])
            both[k, p, f] = nl.load(rhs[128 * k + p, COLUMNS * c + f], mask=inside)
            total[nl.arange(ROWS)[:, None], f] += nisa.nc_matmul(left, both[k, p, f])
        kept = nl.copy(total, dtype=np.float32)
        nl.store(out[p, COLUMNS * c + f], value=kept[p, f], mask=(n - 1) - (COLUMNS * c + f) >= 0)
    return out


@nki.jit
def activated(x, bias):
    """A function of 0.5 * x + x, and what is left of a row."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile, column = nl.load(x), nl.load(bias[0:128, 1])
    wide = nl.ndarray((par_dim(128), 2, 64), dtype=x.dtype, buffer=nl.sbuf)
    wide[0:128, 1, 0:64] = nisa.activation(op=nl.exp, data=0.5 * tile + tile, bias=column, scale=2.0)
    sums = nl.sum(wide[0:128, 1, 0:64], axis=[1])
    wide[0:128, 0, 0:64] = nisa.tensor_scalar(data=wide[0:128, 1, 0:64], op0=np.multiply, operand0=sums)
    nl.store(out, value=wide[0:128, 0, 0:64])
    return out


@nki.jit
def biased(x, row):
    """The row is repeated once, however often it is added."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    one = nl.load(row)
    for n in range(2):
        total = nl.load(x) + one.broadcast_to((128, 64))
        nl.store(out, value=total)
    return out


@nki.jit
def masked(x, y):
    """Of the second tile half the rows."""
    rows, n = x.shape
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    p, f = nl.arange(128)[:, None], nl.arange(64)[None, :]
    zero = nl.ndarray((par_dim(128), 1), dtype=np.float32, buffer=nl.sbuf)
    zero[p, 0] = nisa.memset(shape=(128, 1), value=np.float32(0), dtype=np.float32, engine=nki.isa.unknown_engine)
    for i in nl.affine_range(3):
        here = -128 * i - p + (rows - 1) >= 0
        tile = nl.load(x[128 * i + p, f], mask=here)
        other = nl.load(y[p, f])
        total = nl.add(tile, other, mask=here, dtype=np.float32)
        root = nisa.activation(op=nl.sqrt, data=total[p, f], bias=zero[p, 0], scale=2.0, mask=here)
        once = nisa.reciprocal(data=root[p, f], mask=here)
        nl.store(out[128 * i + p, f], value=nl.copy(once, mask=here), mask=here)
    return out


@nki.jit
def reduced(x):
    """The first turn of both loops begins, whatever their bounds."""
    best = nl.full((2, par_dim(128), 1), fill_value=-1.0, dtype=np.float32, buffer=nl.sbuf)
    p, f = nl.arange(128)[:, None], nl.arange(32)[None, :]
    for i in nl.affine_range(2):
        for j in nl.sequential_range(1, 3):
            one = nisa.tensor_reduce(nl.max, data=nl.load(x[p, 32 * (j - 1) + f]), axis=[1], dtype=np.float32)
            best[1, p, 0] = nl.loop_reduce(one, op=np.max, loop_indices=[i, j], dtype=np.float32)
    return best


@nki.jit
def reversed_(x):
    tile = nl.load(x)
    one = nisa.tensor_scalar(data=tile, op0=nl.multiply, operand0=2.0, reverse0=True)
    two = nisa.tensor_scalar(data=one, op0=np.subtract, operand0=2.0, reverse0=True)
    return nisa.tensor_scalar(data=two, op0=nl.multiply, operand0=2.0, op1=nl.add, operand1=1.0, reverse1=True)


@nki.jit
def of_no_loop(x):
    return nl.loop_reduce(nl.load(x), op=np.add, loop_indices=[0])


@nki.jit
def normalized(x, w):
    """The rows of x by their means, transposed to be multiplied."""
    tile, weights = nl.load(x), nl.load(w)
    mean = nl.sum(tile, axis=[1]) / 64
    scaled = nl.multiply(tile, mean)
    apart = nl.subtract(mean, scaled)
    total = nl.zeros((128, 32), nl.float32, buffer=nl.psum)
    for _ in nl.affine_range(2):
        total += nl.matmul(apart / tile, weights)
    out = nl.ndarray((128, 32), dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, value=nl.copy(total))
    return out


@nki.jit
def beyond(x):
    return nl.load(x[nl.arange(128)[:, None], 8 + nl.arange(64)[None, :]])


@nki.jit
def unknown(x):
    return nl.fft(x)
'''

RECORD = """
import json, sys
from pathlib import Path
from axon_mlir.sim import RandomArray
from benchmarks.timing.old_api import recorded
path, function, *shapes = sys.argv[1:]
trace = recorded(Path(path), function, [RandomArray("float32", tuple(map(int, s.split("x")))) for s in shapes], "trn2")
assert not any(name.startswith("neuronxcc") for name in sys.modules)
spaces = {serial: buffer.space for serial, buffer in trace.tensors.items()}
print(json.dumps([
    {
        "name": one.work.instruction, "queue": one.work.queue, "cycles": one.work.cycles, "line": one.line,
        "size": one.work.transfer.size if one.work.transfer else 0, "others": [o.queue for o in one.work.others],
        "reads": [[spaces[a.tensor], a.tensor, a.box] for a in one.reads],
        "writes": [[spaces[a.tensor], a.tensor, a.box] for a in one.writes],
    } for one in trace.issued
]))
"""


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("old") / "kernels.py"
    path.write_text(KERNELS, encoding="utf-8")
    return path


def recorded(kernels: Path, function: str, *shapes: str) -> list[dict[str, Any]]:
    """In a process of its own: the stand-ins are modules while a kernel is recorded."""
    command = [sys.executable, "-c", RECORD, str(kernels), function, *shapes]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def test_products_add_up_in_one_place_and_the_tail_moves_what_is_inside(kernels: Path) -> None:
    found = recorded(kernels, "product", "256x128", "256x600")
    chunk = ["dma_copy", "dma_copy", "nc_matmul"] * 2 + ["tensor_copy", "dma_copy"]
    assert [one["name"] for one in found] == chunk * 2
    moved = [one["size"] for one in found if one["size"]]
    square, whole, tail = 128 * 128 * 4, 128 * 512 * 4, 128 * 88 * 4
    assert moved == [square, whole, square, whole, whole, square, tail, square, tail, tail]
    first, second = (one for one in found[:8] if one["name"] == "nc_matmul")
    assert first["writes"] == second["writes"] and second["writes"][0][0] == "psum"
    assert first["cycles"] == 4 * 512
    # Only the second product reads what it adds to.
    assert [len(one["reads"]) for one in (first, second)] == [2, 3]
    # The tiles of an array lie apart, and a load goes to the tile that it is assigned to.
    loads = [one["writes"][0] for one in found[:8] if one["size"] == whole and one["writes"][0][0] == "sbuf"]
    assert [box for _, _, box in loads] == [[0, 128, 0, 2048]] * 2 and loads[0][1] != loads[1][1]
    assert found[-1]["writes"][0][2] == [0, 128, 2048, 2400]


def test_operators_are_instructions_and_results_go_where_they_are_assigned(kernels: Path) -> None:
    found = recorded(kernels, "activated", "128x64", "128x2")
    names = ["dma_copy", "dma_copy", "tensor_scalar", "tensor_tensor", "activation", "tensor_reduce", "tensor_scalar"]
    assert [one["name"] for one in found] == [*names, "dma_copy"]
    assert [one["queue"] for one in found[2:7]] == ["vector", "vector", "scalar", "vector", "vector"]
    assert [one["others"] for one in found[2:7]] == [["scalar"], [], [], [], ["scalar"]]
    activation, scaled = found[4], found[6]
    assert activation["writes"][0][2] == [0, 128, 256, 512] and scaled["writes"][0][2] == [0, 128, 0, 256]
    assert activation["writes"][0][1] == scaled["writes"][0][1] == found[-1]["reads"][0][1]
    lines = [one["line"] for one in found]
    assert lines == sorted(lines) and KERNELS.splitlines()[lines[4] - 1].strip().startswith("wide[0:128, 1, 0:64]")


def test_a_row_is_repeated_by_a_product_once(kernels: Path) -> None:
    names = [one["name"] for one in recorded(kernels, "biased", "128x64", "1x64")]
    begin = ["dma_copy", "dma_copy", "memset", "nc_matmul", "tensor_copy", "tensor_tensor", "dma_copy"]
    assert names == [*begin, "dma_copy", "tensor_tensor", "dma_copy"]


def test_a_mask_cuts_instructions_to_the_places_that_count(kernels: Path) -> None:
    found = recorded(kernels, "masked", "192x64", "128x64")
    turn = ["dma_copy", "dma_copy", "tensor_tensor", "activation", "reciprocal", "tensor_copy", "dma_copy"]
    # In the third turn no place counts.
    assert [one["name"] for one in found] == ["memset", *turn, *turn, "dma_copy"]
    assert [one["writes"][0][2][:2] for one in found[1:8]] == [[0, 128]] * 7
    assert [one["writes"][0][2][:2] for one in found[8:15]] == [[0, 64], [0, 128], *[[0, 64]] * 4, [128, 192]]
    # Columns are cut as tiles are.
    assert [box[:2] for _, _, box in found[11]["reads"]] == [[0, 64]] * 2


def test_the_first_turn_of_a_reduction_over_loops_copies(kernels: Path) -> None:
    found = recorded(kernels, "reduced", "128x64")
    names = [one["name"] for one in found]
    assert names[:2] == ["memset"] * 2 and names[4::3] == ["tensor_copy", *["tensor_tensor"] * 3]
    place = found[1]["writes"][0]
    assert all(one["writes"][0] == place for one in found[4::3])
    assert [place in one["reads"] for one in found[4::3]] == [False, True, True, True]


def test_operators_that_commute_have_no_sides(kernels: Path) -> None:
    found = recorded(kernels, "reversed_", "128x64")
    assert [one["others"] for one in found] == [[], ["scalar"], [], ["scalar"]]


def test_quotients_columns_and_operands_that_must_be_transposed(kernels: Path) -> None:
    found = recorded(kernels, "normalized", "128x64", "64x32")
    turn = ["reciprocal", "tensor_tensor", "nc_transpose", "tensor_copy", "nc_matmul"]
    begin = ["dma_copy", "dma_copy", "tensor_reduce", *["tensor_scalar"] * 3]
    assert [one["name"] for one in found] == [*begin, *turn, *turn, "tensor_copy", "dma_copy"]
    # A column less a tile is no job for the scalar engine; a tile by a column is.
    assert [one["others"] for one in found[3:6]] == [["scalar"], ["scalar"], []]
    transposed, copied, product = found[8:11]
    assert transposed["writes"][0][0] == "psum" and copied["writes"][0][2] == [0, 64, 0, 512]
    assert copied["writes"][0] in product["reads"] and found[15]["writes"] == product["writes"]


def test_a_kernel_is_timed_and_what_cannot_be_run_is_said(kernels: Path) -> None:
    shapes = [RandomArray("float32", (128, 64)), RandomArray("float32", (128, 2))]
    report = old_api.timed(kernels, "activated", shapes, "trn2", "hardware", 60.0)
    assert 0 < report["predicted_us"] <= report["predicted_order_us"]
    for function, words in (
        ("beyond", "indices 8 to 71 of an axis of 64"),
        ("of_no_loop", "over no loop of the language"),
        ("unknown", "nl.fft"),
    ):
        with pytest.raises(AxonError, match=words):
            old_api.timed(kernels, function, shapes[:1], "trn2", "hardware", 60.0)
    assert not any(name.startswith("neuronxcc") for name in sys.modules)
