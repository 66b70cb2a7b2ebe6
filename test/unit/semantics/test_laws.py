# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Laws of scalar functions are true, at many numbers; and a function that lacks one breaks it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from axon_mlir.semantics.functions import FUNCTIONS
from axon_mlir.semantics.laws import EVEN, ODD, PRIMITIVES, RISING, SCALE_FREE, WHOLE

X = np.concatenate([np.linspace(-7, 7, 1401), [0.0, 0.5, -0.5, 1.5, 2.5]])
POSITIVE = np.abs(X) + 1e-3


def _at(name: str) -> Callable[[Any], Any]:
    return lambda x: np.asarray(FUNCTIONS[name].numpy(x), dtype=np.float64)


@pytest.mark.parametrize("name", sorted(ODD))
def test_odd(name: str) -> None:
    f = _at(name)
    assert np.allclose(f(-X), -f(X), atol=1e-12)
    assert not np.allclose(f(X), 0)


@pytest.mark.parametrize("name", sorted(EVEN))
def test_even(name: str) -> None:
    f = _at(name)
    assert np.allclose(f(-X), f(X), atol=1e-12)


@pytest.mark.parametrize("name", sorted(RISING))
def test_rising(name: str) -> None:
    x = np.sort(POSITIVE if FUNCTIONS[name].defined_when == ("positive", "x") else X)
    assert np.all(np.diff(_at(name)(x)) >= -1e-12)


@pytest.mark.parametrize("name", sorted(SCALE_FREE))
def test_scale_free(name: str) -> None:
    f = _at(name)
    for c in (1e-3, 0.5, 3.0, 1e6):
        assert np.array_equal(f(c * X), f(X))


@pytest.mark.parametrize("name", sorted(WHOLE))
def test_whole_numbers_leave(name: str) -> None:
    f = _at(name)
    for n in (-3, 1, 17):
        assert np.array_equal(f(X + n), f(X) + n)
    assert not np.array_equal(_at("round")(X + 1), _at("round")(X) + 1)


def test_a_whole_number_is_the_nearest_to_itself() -> None:
    n = np.arange(-300.0, 300.0)
    assert np.array_equal(_at("round")(n), n)


def test_others_have_no_such_law() -> None:
    assert not np.allclose(_at("exp")(-X), -_at("exp")(X))
    assert not np.all(np.diff(_at("sin")(np.sort(X))) >= 0)
    assert not np.array_equal(_at("round")(3 * X), _at("round")(X))


@pytest.mark.parametrize("name", sorted(PRIMITIVES))
def test_what_stays_is_computed_by_its_primitive(name: str) -> None:
    seen, pending = set[str](), [name]
    while pending:
        text = FUNCTIONS[pending.pop()].definition or ""
        for f in FUNCTIONS:
            if f"{f}(" in text and f not in seen:
                seen.add(f)
                pending.append(f)
    assert PRIMITIVES[name] <= seen
