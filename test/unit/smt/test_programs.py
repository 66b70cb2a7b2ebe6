# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The benchmark programs: goals are proved, near misses are refuted and stay unproved without evaluation."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.func import FuncOp

from axon_mlir.frontend.numpy_trace import trace
from axon_mlir.semantics.domains import Float64
from axon_mlir.semantics.interpret import evaluate_function
from axon_mlir.smt.equivalence import prove_functions
from axon_mlir.smt.solver import clear_cache

FILE = Path(__file__).parents[3] / "benchmarks" / "programs.py"

MATRIX = ["f32[4,5]"]
ARGUMENTS: dict[str, Sequence[str]] = {
    "axpby": ["f32", "f32[4,5]", "f32", "f32[4,5]"],
    "common": MATRIX * 3,
    "divrow": ["f32[4,5]", "f32[4,1]"],
    "scale2": ["f32[4,5]", "f32[4,1]", "f32[1,5]"],
    "sqmul": MATRIX,
    "rmsnorm": ["f32[4,5]", "f32[5]"],
    "tmm": ["f32[4,5]", "f32[4,6]"],
    "mmt": ["f32[4,5]", "f32[6,5]"],
    "tt": ["f32[4,5]", "f32[6,4]"],
    "rms_mm": ["f32[4,5]", "f32[5]", "f32[5,6]"],
    "matmul": ["f32[4,5]", "f32[5,6]"],
    "transpose": MATRIX,
    "transpose_pair": MATRIX,
    "colsum": MATRIX,
    "scaled_max": MATRIX,
    "var": MATRIX,
    "silu_scale": ["f32[4,5]", "f32[4,1]"],
    "softmax_scale": MATRIX,
    "rms_commute": ["f32[4,5]", "f32[5,6]"],
    "sum_product": MATRIX * 2,
    "max_scale": ["f32[4,5]", "f32[4,1]"],
    "var_n1": MATRIX,
}
GOALS = [
    ("common", 1),
    ("divrow", 1),
    ("scale2", 1),
    ("sqmul", 1),
    ("rmsnorm", 1),
    ("rmsnorm", 3),
    ("transpose", 1),
    ("transpose_pair", 1),
    ("matmul", 1),
    ("colsum", 1),
    ("scaled_max", 1),
    ("var", 1),
    ("tmm", 1),
    ("tmm", 2),
    ("mmt", 1),
    ("tt", 1),
    ("rms_mm", 1),
    ("rms_mm", 2),
    ("rms_mm", 3),
]
NEAR_MISSES = ["silu_scale", "softmax_scale", "rms_commute", "sum_product", "max_scale", "var_n1"]


def _programs() -> Any:
    spec = importlib.util.spec_from_file_location("programs_under_proof", FILE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PROGRAMS = _programs()


def traced(function: Callable[..., Any], arguments: Sequence[str], dtype: str = "f32") -> FuncOp:
    module = trace(function, [a.replace("f32", dtype) for a in arguments])
    return next(op for op in module.walk() if isinstance(op, FuncOp))


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
@pytest.mark.parametrize(("name", "number"), GOALS)
def test_goal_is_proved(name: str, number: int, dtype: str) -> None:
    before = traced(getattr(PROGRAMS, f"ref_{name}"), ARGUMENTS[name], dtype)
    after = traced(getattr(PROGRAMS, f"goal_{name}_{number}"), ARGUMENTS[name], dtype)
    clear_cache()
    started = time.monotonic()
    verdict = prove_functions(before, after)
    assert verdict.verdict == "proved", verdict.report()
    assert time.monotonic() - started < 2
    assert "narrowed" not in verdict.sizes
    assert prove_functions(after, before).verdict == "proved"


@pytest.mark.parametrize("name", NEAR_MISSES)
def test_near_miss_is_refuted_with_replay(name: str) -> None:
    before = traced(getattr(PROGRAMS, f"base_{name}"), ARGUMENTS[name])
    after = traced(getattr(PROGRAMS, f"bad_{name}"), ARGUMENTS[name])
    verdict = prove_functions(before, after)
    assert verdict.verdict == "refuted", verdict.report()
    example = verdict.counterexample
    assert example is not None
    left = evaluate_function(before, example.inputs, Float64(), sizes=example.dims)[example.output][example.index]
    right = evaluate_function(after, example.inputs, Float64(), sizes=example.dims)[example.output][example.index]
    assert left == example.left and right == example.right
    assert abs(left - right) > 1e-6 * max(abs(left), abs(right))
    dims = list(example.dims.values())
    assert len(set(dims)) == len(dims) and min(dims) >= 2


@pytest.mark.parametrize("name", NEAR_MISSES)
def test_near_miss_is_not_proved_without_evaluation(name: str) -> None:
    before = traced(getattr(PROGRAMS, f"base_{name}"), ARGUMENTS[name])
    after = traced(getattr(PROGRAMS, f"bad_{name}"), ARGUMENTS[name])
    assert prove_functions(before, after, use_filter=False).verdict == "unknown"


def _ones(x: Any) -> Any:
    return np.ones_like(x)


def _quotient_of_itself(x: Any) -> Any:
    return x * (1 / x)


def _same(x: Any) -> Any:
    return x * 1.0


def _through_the_norm(x: Any) -> Any:
    q = np.sum(x * x, axis=-1, keepdims=True)
    return x * (1 / np.sqrt(q)) * np.sqrt(q)


def _normalised(x: Any) -> Any:
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True))


def _normalised_by_sum(x: Any) -> Any:
    return x * np.sqrt(1.0 * x.shape[-1]) / np.sqrt(np.sum(x * x, axis=-1, keepdims=True))


def _guarded_root(x: Any) -> Any:
    return np.where(x > 0, np.sqrt(x), 0.0)


def _guarded_quotient(x: Any) -> Any:
    return np.where(x > 0, x / np.sqrt(x), 0.0)


def _centred(x: Any) -> Any:
    mean = np.mean(x, axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(np.mean((x - mean) ** 2, axis=-1, keepdims=True) + 1e-5)


def _centred_from_moments(x: Any) -> Any:
    mean = np.mean(x, axis=-1, keepdims=True)
    scale = 1 / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) - mean * mean + 1e-5)
    return x * scale - mean * scale


def _stable_softmax(x: Any) -> Any:
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def _plain_softmax(x: Any) -> Any:
    e = np.exp(x)
    return e / np.sum(e, axis=-1, keepdims=True)


def _relu(x: Any) -> Any:
    return np.maximum(x, 0)


def _relu_by_abs(x: Any) -> Any:
    return (x + np.abs(x)) * 0.5


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (_quotient_of_itself, _ones),
        (_through_the_norm, _same),
        (_normalised, _normalised_by_sum),
        (_normalised_by_sum, _normalised),
        (_guarded_root, _guarded_quotient),
        (_centred, _centred_from_moments),
        (_centred_from_moments, _centred),
        (_stable_softmax, _plain_softmax),
        (_plain_softmax, _stable_softmax),
        (_relu, _relu_by_abs),
    ],
)
def test_defined_wherever_the_first_is(before: Callable[[Any], Any], after: Callable[[Any], Any]) -> None:
    verdict = prove_functions(traced(before, MATRIX), traced(after, MATRIX))
    assert verdict.verdict == "proved", verdict.report()


def _second_of(x: Any) -> Any:
    return x + 0.0


def _second_by_a_product(x: Any) -> Any:
    return (x * (1 / x) * x) @ np.eye(x.shape[-1])


@pytest.mark.parametrize(
    ("before", "after"),
    [(_ones, _quotient_of_itself), (_same, _through_the_norm), (_second_of, _second_by_a_product)],
)
def test_less_defined_is_not_proved(before: Callable[[Any], Any], after: Callable[[Any], Any]) -> None:
    first, second = traced(before, MATRIX), traced(after, MATRIX)
    verdict = prove_functions(first, second)
    assert (verdict.verdict, verdict.reason) == ("refuted", "definedness")
    example = verdict.counterexample
    assert example is not None and np.isfinite(example.left) and not np.isfinite(example.right)
    without = prove_functions(first, second, use_filter=False)
    assert (without.verdict, without.reason) == ("unknown", "definedness")


def test_nothing_moves_through_a_conversion() -> None:
    def first(x: Any) -> Any:
        return x.astype(np.float16) * 2

    def second(x: Any) -> Any:
        return (x * 2).astype(np.float16)

    assert prove_functions(traced(first, MATRIX), traced(first, MATRIX)).verdict == "proved"
    assert prove_functions(traced(first, MATRIX), traced(second, MATRIX)).verdict != "proved"


def test_shapes_that_can_differ_are_refuted() -> None:
    first, second = (
        traced(lambda x: x @ np.swapaxes(x, 0, 1), MATRIX),
        traced(lambda x: np.swapaxes(x, 0, 1) @ x, MATRIX),
    )
    verdict = prove_functions(first, second)
    assert (verdict.verdict, verdict.reason) == ("refuted", "shape")
    assert verdict.counterexample is not None


def test_common_domain_is_recorded() -> None:
    square = traced(lambda x: x + np.swapaxes(x, 0, 1), ["f32[4,4]"])
    verdict = prove_functions(traced(lambda x: x + x, MATRIX), square, use_filter=False)
    assert "=" in verdict.sizes["narrowed"]
    assert verdict.verdict == "unknown"
    strict = prove_functions(traced(lambda x: x + x, MATRIX), square, use_filter=False, same_domain=True)
    assert (strict.verdict, strict.reason) == ("refuted", "sizes")


def test_json_form() -> None:
    verdict = prove_functions(traced(_relu, MATRIX), traced(lambda x: x + 1, MATRIX))
    form = verdict.to_json()
    assert set(form) >= {"verdict", "reason", "sizes", "lemmas", "obligations", "seconds", "counterexample"}
    assert set(form["counterexample"]) >= {"dims", "inputs", "index", "left", "right"}
