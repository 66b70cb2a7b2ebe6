# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is known of a function is worked out once, and is what it would be anew."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.func import FuncOp

from axon_mlir.frontend.numpy_trace import trace
from axon_mlir.semantics.conversions import denote
from axon_mlir.semantics.denotation import Denotation
from axon_mlir.semantics.domains import Float64
from axon_mlir.smt import equivalence, reading
from axon_mlir.smt.reading import Reading
from axon_mlir.smt.refute import compare
from axon_mlir.smt.translation import readings, verify_step


def shifted(x: np.ndarray) -> np.ndarray:
    return x * 2 + 1


def reciprocal_twice(x: np.ndarray) -> np.ndarray:
    return 1 / (1 / x)


def same(x: np.ndarray) -> np.ndarray:
    return x + 1 - 1


def of(program: Callable[..., Any]) -> Reading:
    (found,) = readings(trace(program, ["f32[4,6]"])).values()
    return found


def test_a_module_between_two_steps_is_denoted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    module = trace(shifted, ["f32[4,6]"])
    states = [readings(module.clone()) for _ in range(3)]
    denoted: list[object] = []

    def count(func: FuncOp, *, lowering: bool) -> Denotation:
        denoted.append(func)
        return denote(func, lowering=lowering)

    monkeypatch.setattr(reading, "denote", count)
    for before, after in pairwise(states):
        assert verify_step(before, after, "nothing", use_filter=False).verdict == "proved"
        (first,), (second,) = before.values(), after.values()
        assert equivalence.prove_functions(first, second, use_filter=False).verdict == "proved"
    assert len(denoted) == len(states)


def test_results_are_kept_by_inputs_and_sizes() -> None:
    program = of(shifted)
    sizes = {"x0": 2, "x1": 3}
    for value in (0.0, 1.0, 0.0):
        (result,) = program.results([np.full((2, 3), value)], Float64(), sizes)
        assert np.array_equal(result, np.full((2, 3), 2 * value + 1))
    (other,) = program.results([np.zeros((3, 2))], Float64(), {"x0": 3, "x1": 2})
    assert other.shape == (3, 2)


def test_a_division_by_zero_on_the_way_is_seen_behind_known_results() -> None:
    before, after = of(reciprocal_twice), of(same)
    inputs, sizes = [np.zeros((2, 3))], {"x0": 2, "x1": 3}
    with np.errstate(all="ignore"):
        (result,) = before.results(inputs, Float64(), sizes)
    assert np.array_equal(result, np.zeros((2, 3)))
    assert compare(before, after, inputs, sizes, {}) is None
    assert compare(before, of(shifted), inputs, sizes, {}) is None
    assert compare(before, of(shifted), [np.ones((2, 3))], sizes, {}) is not None
