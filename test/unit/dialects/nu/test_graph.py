# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The graph of the examples: every structure computes what NumPy computes, and all the same exactly."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects.builtin import DictionaryAttr, StringAttr
from xdsl.dialects.func import FuncOp

from axon_mlir.dialects.nu import choices_of
from axon_mlir.host.parsing import parse_module
from axon_mlir.host.registry import make_context
from axon_mlir.host.verification import verify_module
from axon_mlir.semantics.domains import Field, Floats
from axon_mlir.semantics.interpret import evaluate_function
from axon_mlir.transforms.algebra.nu_extract import NuExtract

GRAPH = Path(__file__).resolve().parents[4] / "examples" / "rms_mm_graph.mlir"
SHAPES = [(5, 7, 3), (1, 4, 2), (3, 1, 2), (2, 3, 1), (1, 1, 1)]


def functions(k: int | None) -> list[FuncOp]:
    """The graph, or its k best structures."""
    context = make_context()
    module = parse_module(GRAPH.read_text(encoding="utf-8"), GRAPH.name, context)
    if k is not None:
        NuExtract(k).apply(context, module)
    verify_module(module)
    return [op for op in module.ops if isinstance(op, FuncOp)]


def arguments(m: int, k: int, n: int) -> list[np.ndarray]:
    """Random x, g, w."""
    random = np.random.default_rng(7)
    return [random.standard_normal(shape) for shape in ((m, k), (k,), (k, n))]


def expected(x: np.ndarray, g: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What the graph's comment says."""
    r = 1 / np.sqrt(np.mean(x * x, axis=1, keepdims=True) + 1e-6)
    return (x * r * g) @ w, x + x * r * g


def test_the_graph_shares_an_operand():
    (graph,) = functions(None)
    choices = choices_of(graph)
    assert {name: choice.names for name, choice in choices.items()} == {
        "product": ["early", "late"],
        "normalised": ["row_first", "scales_first"],
    }
    shared = set(choices["product"].inputs) & set(choices["normalised"].inputs)
    assert {v.name_hint for v in shared} == {"x", "r", "g"}


@pytest.mark.parametrize("shape", SHAPES)
def test_structures_compute_what_numpy_computes(shape: tuple[int, int, int]):
    inputs = arguments(*shape)
    structures = functions(4)
    assert [f.sym_name.data for f in structures] == [f"rms_mm_{n}" for n in range(4)]
    for function in [*functions(None), *structures]:
        for have, want in zip(evaluate_function(function, inputs, Floats()), expected(*inputs), strict=True):
            np.testing.assert_allclose(have, want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("shape", SHAPES[:3])
def test_structures_are_equal_exactly(shape: tuple[int, int, int]):
    random = np.random.default_rng(11)
    m, k, n = shape
    inputs = [random.integers(1, 1 << 30, size) for size in ((m, k), (k,), (k, n))]
    (graph,) = functions(None)
    reference = evaluate_function(graph, inputs, Field())
    for function in functions(4):
        for have, want in zip(evaluate_function(function, inputs, Field()), reference, strict=True):
            np.testing.assert_array_equal(have, want)


def test_structures_are_accurate_in_bf16():
    inputs = [a.astype(ml_dtypes.bfloat16).astype(np.float64) for a in arguments(16, 64, 24)]
    for function in functions(4):
        results = evaluate_function(function, inputs, Floats(np.float32), typed=True)
        for have, want in zip(results, expected(*inputs), strict=True):
            assert np.linalg.norm(have - want) <= 1e-2 * np.linalg.norm(want)


@pytest.mark.parametrize("k", [1, 2, 3, 4, 9])
def test_the_k_best_are_the_first_of_all(k: int):
    best, all_ = functions(k), functions(100)
    assert len(best) == min(k, 4)
    for one, other in zip(best, all_, strict=False):
        assert one.attributes["nu.picks"] == other.attributes["nu.picks"]
        assert one.body.is_structurally_equivalent(other.body)


def test_what_a_structure_says_of_itself():
    (graph,) = functions(None)
    picks: list[dict[str, str]] = []
    for function in functions(4):
        assert function.attributes["nu.origin"] == StringAttr("rms_mm")
        assert function.attributes["axon.values"] == graph.attributes["axon.values"]
        taken = function.attributes["nu.picks"]
        assert isinstance(taken, DictionaryAttr)
        picks.append({name: str(value).strip('"') for name, value in taken.data.items()})
    # With twice as many columns as rows of w, scaling before the product is the cheaper.
    assert [p["product"] for p in picks] == ["early", "early", "late", "late"]
    assert [p["normalised"] for p in picks] == ["row_first", "scales_first"] * 2
