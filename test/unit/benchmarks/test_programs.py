# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The benchmark programs compute, in NumPy, what their names say: goals agree with their program, near misses differ.

Sizes are pairwise different and mostly odd, elements of both signs unless the program is not defined for them.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from axon_mlir.frontend.arg_spec import SizeSpec, TensorSpec, parse_spec
from benchmarks.prove import ARGUMENTS, PROGRAMS, functions, goals, near_misses, specs

SIZES = {"B": 3, "C": 3, "D": 4, "E": 6, "G": 2, "H": 4, "J": 2, "K": 7, "L": 9, "M": 5, "N": 8, "P": 5, "Q": 3, "R": 3}
SIZES |= {"S": 5, "U": 2, "V": 5}
POSITIVE = {"divrow": (1,), "adamw": (3,), "scan": (0,), "wide_unit": (0,), "narrow_unit": (0,)}
"""Arguments that have to be positive: divisors, what a root is taken of, steps of time."""

REFERENCES = dict(functions("ref_"))
GOALS = {name: (before, after, of) for name, before, after, of in goals()}
NEAR_MISSES = {name: (before, after) for name, before, after, _ in near_misses()}


def arguments(name: str, *functions: Callable[..., Any]) -> list[list[Any]]:
    """For each function its arguments, the same arrays for all; `name` is a key of the table of arguments."""
    rng = np.random.default_rng(7)
    base = name if name in POSITIVE else name.rpartition("_")[0]
    arrays: list[Any] = []
    sizes: dict[str, int] = {}
    for text in specs(name):
        parameter, spec = parse_spec(text)
        match spec:
            case SizeSpec(size=size):
                sizes[parameter or ""] = total(size)
            case TensorSpec(axes=axes):
                shape = [total(axis) for axis in axes or ()]
                if spec.dtype == "i32":
                    arrays.append(rng.integers(0, arrays[-1].shape[-1], shape))
                elif len(arrays) in POSITIVE.get(base, ()):
                    arrays.append(rng.uniform(0.5, 1.5, shape))
                else:
                    arrays.append(rng.standard_normal(shape))
            case _:
                raise AssertionError(text)
    return [[*arrays, *rest(f, len(arrays), sizes)] for f in functions]


def rest(function: Callable[..., Any], given: int, sizes: dict[str, int]) -> list[Any]:
    """The parameters after the arrays: sizes, or their defaults."""
    parameters = list(inspect.signature(function).parameters.values())[given:]
    return [sizes.get(p.name, p.default) for p in parameters]


def total(axis: tuple[tuple[int | str, ...], ...]) -> int:
    return sum(math.prod(SIZES[f] if isinstance(f, str) else f for f in product) for product in axis)


def outputs(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def agree(got: Any, want: Any) -> bool:
    """Shapes agree, and elements within 1e-9 of the largest."""
    return np.shape(got) == np.shape(want) and bool(np.max(np.abs(got - want)) < 1e-9 * np.max(np.abs(want)))


@pytest.mark.parametrize("name", GOALS)
def test_a_goal_is_its_program(name: str) -> None:
    before, after, of = GOALS[name]
    mine, theirs = arguments(of, before, after)
    assert agree(after(*theirs), before(*mine))


@pytest.mark.parametrize("name", NEAR_MISSES)
def test_a_near_miss_is_another_program(name: str) -> None:
    before, after = NEAR_MISSES[name]
    if name == "max_scale":
        (x, _), _ = arguments(name, before, after)
        assert not agree(after(x, -0.5), before(x, -0.5))
        return
    mine, theirs = arguments(name, before, after)
    got, want = after(*theirs), before(*mine)
    assert np.shape(got) != np.shape(want) or np.max(np.abs(got - want)) > 1e-6


@pytest.mark.parametrize("name", REFERENCES)
def test_a_program_is_finite(name: str) -> None:
    assert name in ARGUMENTS, "the table of arguments lacks it"
    (mine,) = arguments(name, REFERENCES[name])
    assert all(np.all(np.isfinite(output)) for output in outputs(REFERENCES[name](*mine)))


@pytest.mark.parametrize("at", [1, 5, 9, (2, 5), (1, 2, 3, 8)])
def test_borders_may_be_anywhere(at: Any) -> None:
    """Forms in blocks, for one axis of ten elements and other borders than the table's."""
    rng = np.random.default_rng(1)
    x, g, w, m = (rng.standard_normal(shape) for shape in ((5, 10), 10, (10, 4), (6, 5)))
    y, k = rng.integers(0, 10, 6), rng.standard_normal((2, 10, 5))
    cases = {
        "softmax_2": (x,),
        "rmsnorm_2": (x, g),
        "layernorm_2": (x, g, g),
        "cumsum_1": (x,),
        "mm_add_rms_1": (m, x, m @ x, g),
        "bmm_softmax_1": (m[None], x[None]),
        "gqa_5": (rng.standard_normal((4, 3, 5)), k, k),
        "gated_mlp_2": (m, x, x, w),
        "linattn_causal_1": (w, w, w),
        "xent_2": (m, x, y),
    }
    in_blocks = {name for name, (_, after, _) in GOALS.items() if "at" in inspect.signature(after).parameters}
    assert set(cases) == in_blocks - {"transpose_2"}
    for name, arrays in cases.items():
        before, after, _ = GOALS[name]
        assert agree(after(*arrays, at=at), before(*arrays)), name


def test_partial_functions_agree_where_they_are_defined() -> None:
    x = np.random.default_rng(1).standard_normal((4, 7))
    for name, wide in functions("wide_"):
        assert agree(getattr(PROGRAMS, f"narrow_{name}")(x), wide(x))
