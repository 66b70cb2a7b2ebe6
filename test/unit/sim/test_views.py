# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Views by shape: what they show, and which are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from axon_mlir.sim import HardwareViolation, KernelFailure, RunResult, execute

HEAD = """import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(a):
    t = nl.load(a)
    r = {body}
    out = nl.ndarray(r.shape, dtype=r.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=r)
    return out
"""
A = np.arange(4 * 6 * 2, dtype=np.float32).reshape(4, 6, 2)


def run(folder: Path, body: str, domain: str = "float") -> RunResult:
    path = folder / "kernel.py"
    path.write_text(HEAD.format(body=body))
    return execute(path, "kernel", [A], device="trn2", domain=domain)


SHOWN: dict[str, Any] = {
    "t.permute((0, 2, 1))": A.transpose(0, 2, 1),
    "a.permute((2, 0, 1))": A.transpose(2, 0, 1),
    "t[:, 0:1].broadcast(1, 3)": np.repeat(A[:, :1], 3, 1),
    "a[0:1].broadcast(0, 3)": np.repeat(A[:1], 3, 0),
    "t.expand_dim(1)": A[:, None],
    "t.expand_dim(3)": A[..., None],
    "t.expand_dim(1).squeeze_dim(1)": A,
    "t.reshape_dim(1, (3, -1))": A.reshape(4, 3, 2, 2),
    "t.flatten_dims(1, 2)": A.reshape(4, 12),
    "a.flatten_dims(0, 1)": A.reshape(24, 2),
    "t.reshape((4, 3, 4))": A.reshape(4, 3, 4),
    "a.reshape((2, 24))": A.reshape(2, 24),
    "t.rearrange(('p', ('h', 'w'), 'c'), ('p', 'w', 'h', 'c'), {'h': 2})": A.reshape(4, 2, 3, 2).transpose(0, 2, 1, 3),
    "t.rearrange(('p', ('h', 'w'), 'c'), ('p', 'h', ('w', 'c')), {'w': 3})": A.reshape(4, 2, 6),
    "t.slice(1, 1, 6, 2)": A[:, 1:6:2],
    "t.select(1, 3)": A[:, 3],
    "a.select(0, 3)": A[3],
    "t.view(nl.int32)": A.view(np.int32),
    "t.view(nl.bfloat16)": A.view(ml_dtypes.bfloat16),
    "t.view(nl.uint8).view(nl.float32)": A,
    "t.ap(pattern=[[12, 4], [1, 3]], dtype=nl.int32)": A.reshape(4, 12)[:, :3].view(np.int32),
}


@pytest.mark.parametrize("body", SHOWN)
def test_a_view(body: str, tmp_path: Path) -> None:
    (out,) = run(tmp_path, body).outputs
    assert out.dtype == SHOWN[body].dtype and out.shape == SHOWN[body].shape
    assert out.tobytes() == np.ascontiguousarray(SHOWN[body]).tobytes()


REFUSED = {
    "t.permute((1, 0, 2))": "in place of the partitions",
    "t.permute((0, 0, 1))": "of rank 3",
    "t.broadcast(1, 3)": "one element",
    "t[0:1].broadcast(0, 3)": "the partition axis",
    "t.expand_dim(0)": "a new axis 0",
    "t.squeeze_dim(1)": "one element",
    "t.reshape_dim(1, (4, -1))": "a product of 6",
    "t.reshape((2, 24))": "as many partitions",
    "t.permute((0, 2, 1)).flatten_dims(1, 2)": "needs no copy",
    "t[:, 0:6:2].reshape((4, 6))": "needs no copy",
    "t.rearrange(('p', 'h', 'c'), ('h', 'p', 'c'))": "in place of the partitions",
    "t[:, :, 0:1].view(nl.int16).view(nl.float32)[:, :, 0:0]": "not empty",
    "t.permute((0, 2, 1)).view(nl.uint8)": "contiguous",
}


@pytest.mark.parametrize("body", REFUSED)
def test_a_view_that_is_not_possible(body: str, tmp_path: Path) -> None:
    with pytest.raises(HardwareViolation, match=REFUSED[body]):
        run(tmp_path, body)


def test_what_kernels_ask(tmp_path: Path) -> None:
    asked = "t if (t[:, 0:6:2].strides, t[:, 2].offset, t.permute((0, 2, 1)).is_contiguous(), t.is_contiguous(), "
    run(tmp_path, asked + "t.get_pattern()) == ((12, 4, 1), 4, False, True, [[12, 4], [2, 6], [1, 2]]) else None")


def test_bits_that_are_written_in_part_are_not_initialised(tmp_path: Path) -> None:
    """Half of the bytes of each element: through either type it is seen."""
    path = tmp_path / "kernel.py"
    text = HEAD.replace(
        "    t = nl.load(a)\n", "    t = nl.ndarray((4, 6), dtype=nl.float32, buffer=nl.sbuf)\n"
    ).replace(
        "    r = {body}\n",
        "    half = t.view(nl.uint16)\n    nisa.memset(dst=half[:, 0:12:2], value=0)\n    {body}\n    r = t\n",
    )
    path.write_text(text.format(body="pass"))
    with pytest.raises(HardwareViolation, match="24 of 24 elements"):
        execute(path, "kernel", [A], device="trn2")
    path.write_text(text.format(body="nisa.memset(dst=half[:, 1:12:2], value=0)"))
    (out,) = execute(path, "kernel", [A], device="trn2").outputs
    assert (out == 0).all()


def test_bits_mean_nothing_in_an_exact_run(tmp_path: Path) -> None:
    with pytest.raises(KernelFailure, match="no meaning in an exact run"):
        run(tmp_path, "t.view(nl.int32)", "field")
