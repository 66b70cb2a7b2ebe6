# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of the language that are made of instructions, against NumPy."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from axon_mlir.sim import KernelFailure, RunResult, execute

HEAD = """import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(a, b):
    x, y = nl.load(a), nl.load(b)
    r = {body}
    if r.buffer == "psum":
        r = nl.copy(r)
    out = nl.ndarray(r.shape, dtype=r.dtype, buffer=nl.shared_hbm)
    nl.store(out, r)
    return out
"""
SOURCE = np.random.default_rng(5)
A = SOURCE.uniform(-3, 3, (8, 12)).astype(np.float32)
B = SOURCE.uniform(0.5, 2, (8, 12)).astype(np.float32)


def run(folder: Path, body: str, a: Any = A, b: Any = B, domain: str = "float") -> RunResult:
    path = folder / "kernel.py"
    path.write_text(HEAD.format(body=body))
    return execute(path, "kernel", [a, b], device="trn2", domain=domain)


def softmax(x: Any) -> Any:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


erf = np.vectorize(math.erf)

VALUES: dict[str, Any] = {
    "nl.add(x, y)": A + B,
    "nl.add(x, 2.0)": A + 2,
    "nl.subtract(1.0, x)": 1 - A,
    "nl.multiply(x, y)": A * B,
    "nl.maximum(x, y)": np.maximum(A, B),
    "nl.minimum(x, 0.5)": np.minimum(A, 0.5),
    "nl.less(x, y)": (A < B) * 1.0,
    "nl.greater_equal(x, 0.0)": (A >= 0) * 1.0,
    "nl.exp(x)": np.exp(A),
    "nl.log(y)": np.log(B),
    "nl.sqrt(y)": np.sqrt(B),
    "nl.rsqrt(y)": 1 / np.sqrt(B),
    "nl.reciprocal(y)": 1 / B,
    "nl.square(x)": A**2,
    "nl.abs(x)": abs(A),
    "nl.sign(x)": np.sign(A),
    "nl.negative(x)": -A,
    "nl.tanh(x)": np.tanh(A),
    "nl.sigmoid(x)": 1 / (1 + np.exp(-A)),
    "nl.silu(x)": A / (1 + np.exp(-A)),
    "nl.relu(x)": np.maximum(A, 0),
    "nl.erf(x)": erf(A),
    "nl.sin(nl.multiply(x, 9.0))": np.sin(A * np.float32(9)),
    "nl.cos(nl.multiply(x, 9.0))": np.cos(A * np.float32(9)),
    "nl.tan(nl.multiply(y, 0.5))": np.tan(B / 2),
    "nl.floor(x)": np.floor(A),
    "nl.ceil(x)": np.ceil(A),
    "nl.trunc(x)": np.trunc(A),
    "nl.logical_not(nl.greater(x, 0.0))": (A <= 0) * 1.0,
    "nl.where(nl.greater(x, y), x, y)": np.maximum(A, B),
    "nl.where(nl.greater(x, 0.0), 1.0, y)": np.where(A > 0, 1, B),
    "nl.copy(x)": A,
    "nl.sum(x, axis=1, keepdims=True)": A.sum(1, keepdims=True),
    "nl.sum(x, axis=[1])": A.sum(1, keepdims=True),
    "nl.max(x.reshape((8, 3, 4)), axis=2)": A.reshape(8, 3, 4).max(2),
    "nl.min(x.reshape((8, 3, 4)), axis=[1, 2])": A.min(1, keepdims=True),
    "nl.prod(y, axis=-1)": B.prod(1, keepdims=True),
    "nl.mean(x, axis=1)": A.mean(1, keepdims=True),
    "nl.var(x, axis=1)": A.var(1, keepdims=True),
    "nl.var(x.reshape((8, 3, 4)), axis=2)": A.reshape(8, 3, 4).var(2, keepdims=True),
    "nl.all(nl.greater(x, -9.0), axis=1)": np.ones((8, 1)),
    "nl.all(nl.greater(x, 0.0), axis=1)": (A > 0).all(1, keepdims=True) * 1.0,
    "nl.softmax(x)": softmax(A),
    "nl.softmax(x.reshape((8, 3, 4)), axis=2)": softmax(A.reshape(8, 3, 4)),
    "nl.rms_norm(x, y, axis=1, n=12)": A / np.sqrt((A**2).mean(1, keepdims=True) + 1e-6) * B,
    "nl.matmul(x, y, transpose_x=True)": A.T @ B,
    "nl.matmul(x, nl.copy(nl.transpose(y)))": A @ B.T,
    "nl.transpose(x)": A.T,
    "nl.load_transpose2d(a)": A.T,
    "nl.expand_dims(x, 1)": A[:, None],
    "nl.broadcast_to(nl.sum(x, axis=1, keepdims=True), (8, 5))": np.repeat(A.sum(1, keepdims=True), 5, 1),
    "nl.broadcast_to(x[0:1, :], (70, 12))": np.repeat(A[:1], 70, 0),
    "nl.zeros_like(x)": np.zeros((8, 12)),
    "nl.full((4, 3), 2.5, dtype=nl.float32)": np.full((4, 3), 2.5),
    "nl.load(nl.full((150, 3), 2.5, dtype=nl.float32, buffer=nl.hbm)[149:150])": np.full((1, 3), 2.5),
    "nl.shared_identity_matrix(n=6, dtype=nl.float32)": np.eye(6),
    "nl.copy(nl.ones((2, 2), dtype=nl.int32), dtype=nl.float32)": np.ones((2, 2)),
    "nl.gather_flattened(x, nl.copy(nl.full((8, 2), 3, dtype=nl.int32), dtype=nl.uint32))": A[:, [3, 3]],
}


@pytest.mark.parametrize("body", VALUES)
def test_a_function(body: str, tmp_path: Path) -> None:
    (out,) = run(tmp_path, body).outputs
    assert out.shape == VALUES[body].shape
    np.testing.assert_allclose(out, VALUES[body], rtol=2e-5, atol=2e-6)


def test_a_result_has_the_type_that_is_asked_for(tmp_path: Path) -> None:
    assert run(tmp_path, "nl.add(x, y, dtype=nl.bfloat16)").dtypes == ("bfloat16",)
    assert run(tmp_path, "nl.sum(x, axis=1, dtype=nl.float16)").dtypes == ("float16",)


def test_functions_issue_instructions_that_are_counted(tmp_path: Path) -> None:
    result = run(tmp_path, "nl.add(nl.exp(x), y)")
    assert result.engines == {"dma": 3, "scalar": 1, "any": 1} and result.instructions == 5


def test_functions_are_exact_in_an_exact_run(tmp_path: Path) -> None:
    a = np.arange(96).reshape(8, 12)
    (out,) = run(tmp_path, "nl.mean(nl.multiply(x, y), axis=1)", a, a + 1, "rational").outputs
    assert (out * 12 == (a * (a + 1)).sum(1, keepdims=True)).all()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("nl.divide(x, y)", "`nl.divide` is not simulated"),
        ("nl.add(1.0, 2.0)", "a tile at least"),
        ("nl.sum(x, axis=0)", "the last free axes"),
        ("nl.average(x)", "as an operator of an instruction"),
        ("nl.broadcast_to(x, (8, 12, 1))", "the same rank"),
    ],
)
def test_misuse_is_said(body: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(KernelFailure, match=message):
        run(tmp_path, body)
