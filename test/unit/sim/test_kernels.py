# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Three kernels at ragged sizes against NumPy, in floats and in a prime field."""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from axon_mlir.semantics.domains import Field
from axon_mlir.sim import RandomArray, TypedArray, execute, run_kernel

KERNELS = Path(__file__).parent / "kernels.py"
DTYPES = {"float32": (np.float32, 2e-6), "bfloat16": (ml_dtypes.bfloat16, 4e-3)}
P = Field.p


def normal(shape: tuple[int, ...], dtype: Any, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def members(shape: tuple[int, ...], seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, P, shape)


def distance(found: np.ndarray, wanted: np.ndarray) -> float:
    return float(np.linalg.norm(found.astype(np.float64) - wanted) / np.linalg.norm(wanted))


@pytest.mark.parametrize("name", DTYPES)
def test_gate(name: str) -> None:
    dtype, tolerance = DTYPES[name]
    x, y = normal((130, 515), dtype, 1), normal((130, 515), dtype, 2)
    result = execute(KERNELS, "gate", [x, y], device="trn2")
    xs = x.astype(np.float64)
    assert result.outputs[0].dtype == dtype
    assert distance(result.outputs[0], xs / (1 + np.exp(-xs)) * y.astype(np.float64)) < tolerance
    assert result.engines == {"dma": 12, "scalar": 4, "vector": 4}
    assert result.instructions == 20
    size = x.dtype.itemsize
    assert result.dma_bytes == 3 * 130 * 515 * size
    assert result.dma_descriptors == 3 * 2 * 130
    assert result.sbuf_peak_bytes == 512 * (4 + 2 * size)
    assert result.psum_peak_banks == 0


@pytest.mark.parametrize("name", DTYPES)
def test_product(name: str) -> None:
    dtype, _ = DTYPES[name]
    a, b = normal((150, 260), dtype, 1), normal((260, 520), dtype, 2)
    result = execute(KERNELS, "product", [a, b], device="trn2")
    assert distance(result.outputs[0], a.astype(np.float64) @ b.astype(np.float64)) < 2e-6
    assert result.psum_peak_banks == 1


@pytest.mark.parametrize("name", DTYPES)
def test_normalise(name: str) -> None:
    dtype, tolerance = DTYPES[name]
    x, w = normal((140, 33), dtype, 1), normal((1, 33), dtype, 2)
    kept = x.copy(), w.copy()
    result = run_kernel(KERNELS, "normalise", [x, w, 1e-5], device="trn2")
    xs = x.astype(np.float64)
    scale = 1 / np.sqrt((xs * xs).mean(axis=1, keepdims=True) + 1e-5)
    assert distance(result.outputs[0], xs * scale * w.astype(np.float64)) < tolerance
    assert distance(result.outputs[1], scale) < 2e-6
    assert result.dtypes == (name, "float32")
    assert np.array_equal(x, kept[0]) and np.array_equal(w, kept[1])


def test_product_in_the_field() -> None:
    a, b = members((7, 131), 1), members((131, 5), 2)
    arguments = [TypedArray(a, "bfloat16"), TypedArray(b, "bfloat16")]
    result = run_kernel(KERNELS, "product", arguments, device="trn2", domain="field")
    wanted = (a.astype(object) @ b.astype(object)) % P
    assert np.array_equal(result.outputs[0], wanted.astype(np.int64))


def test_normalise_in_the_field() -> None:
    field = Field()
    x, w = members((5, 7), 1), members((1, 7), 2)
    arguments = [TypedArray(x, "bfloat16"), TypedArray(w, "bfloat16"), 1e-5]
    result = execute(KERNELS, "normalise", arguments, device="trn2", domain="field")
    total = (x * x % P).sum(axis=1, keepdims=True) % P
    mean = total * int(field.constant(Fraction(1, 7))) % P
    scale = field.apply("rsqrt", [(mean + int(field.constant(Fraction(1, 100000)))) % P])
    assert np.array_equal(result.outputs[1], scale)
    assert np.array_equal(result.outputs[0], x * scale % P * w % P)


def test_gate_in_the_field_hashes_what_is_opaque() -> None:
    x, y = members((3, 4), 1), members((3, 4), 2)
    arguments = [TypedArray(x, "bfloat16"), TypedArray(y, "bfloat16")]
    result = execute(KERNELS, "gate", arguments, device="trn2", domain="field")
    assert np.array_equal(result.outputs[0], Field().apply("silu", [x]) * y % P)


def test_product_in_rationals_is_exact() -> None:
    a = np.array([[Fraction(1, 3), Fraction(2, 7)]], dtype=object)
    b = np.array([[Fraction(3, 5)], [Fraction(-7, 2)]], dtype=object)
    arguments = [TypedArray(a, "float32"), TypedArray(b, "float32")]
    result = run_kernel(KERNELS, "product", arguments, device="trn2", domain="rational")
    assert result.outputs[0].tolist() == [[Fraction(1, 5) - 1]]


def test_quotients_of_literals_are_exact(tmp_path: Path) -> None:
    text = (KERNELS.read_text().split("@nki.jit")[0]) + (
        "@nki.jit\ndef parts(x):\n"
        "    out = nl.ndarray((1, 1), dtype=nl.float32, buffer=nl.shared_hbm)\n"
        "    tile = nl.ndarray((1, 1), dtype=nl.float32, buffer=nl.sbuf)\n"
        "    nisa.dma_copy(dst=tile, src=x)\n"
        "    nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=1 / 65)\n"
        "    nisa.dma_copy(dst=out, src=tile)\n"
        "    return out\n"
    )
    (tmp_path / "parts.py").write_text(text)
    ones = TypedArray(np.array([[Fraction(1)]], dtype=object), "float32")
    result = execute(tmp_path / "parts.py", "parts", [ones], device="trn2", domain="rational")
    assert result.outputs[0].tolist() == [[Fraction(1, 65)]]


def test_floats_enter_the_field_exactly() -> None:
    x, w = normal((4, 6), np.float32, 1), normal((1, 6), np.float32, 2)
    found = execute(KERNELS, "product", [x, w.reshape(6, 1)], device="trn2", domain="field")
    total = [sum(Fraction(float(v)) * Fraction(float(u)) for v, u in zip(row, w[0], strict=True)) for row in x]
    assert found.outputs[0][:, 0].tolist() == [t.numerator * pow(t.denominator, -1, P) % P for t in total]


def test_seed_decides_random_arguments() -> None:
    arguments = [RandomArray("bfloat16", (3, 5)), RandomArray("bfloat16", (5, 2))]
    first, again = (execute(KERNELS, "product", arguments, device="trn2", seed=7).outputs[0] for _ in range(2))
    other = execute(KERNELS, "product", arguments, device="trn2", seed=8).outputs[0]
    assert np.array_equal(first, again) and not np.array_equal(first, other)


def test_look_alikes_do_not_stay() -> None:
    execute(KERNELS, "product", [normal((2, 3), np.float32, 1), normal((3, 2), np.float32, 2)], device="trn2")
    assert not [name for name in sys.modules if name == "nki" or name.startswith("nki.")]
