# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Masks and running statistics: minus infinity as a mask and as the start of a maximum, and where that is undefined."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from unit.smt.program_pairs import Pair, assert_proved, traced

from axon_mlir.smt.equivalence import prove_functions
from axon_mlir.smt.verdict import Verdict


def row(fold: Callable[..., Any], x: Any) -> Any:
    return fold(x, axis=-1, keepdims=True)


def softmax(x: Any) -> Any:
    e = np.exp(x - row(np.max, x))
    return e / row(np.sum, e)


def masked(mask: Any, x: Any) -> Any:
    return np.where(mask, x, -np.inf)


def start(x: Any) -> tuple[Any, Any]:
    m = np.full((*x.shape[:-1], 1), -np.inf)
    return m, np.zeros_like(m)


def online(parts: list[Any], *, rescaled: bool = True) -> Any:
    """Softmax of the parts side by side, with running statistics."""
    m, total = start(parts[0])
    for b in parts:
        new = np.maximum(m, row(np.max, b))
        total = total * (np.exp(m - new) if rescaled else 1) + row(np.sum, np.exp(b - new))
        m = new
    return np.exp(np.concatenate(parts, axis=-1) - m) / total


def causal(x: Any) -> Any:
    n = x.shape[-1]
    return np.tril(np.ones((n, n), dtype=bool))


EQUAL: dict[str, Pair] = {
    "in two parts": ("f32[M,P] f32[M,Q]", lambda x, y: softmax(np.concatenate([x, y], 1)), lambda x, y: online([x, y])),
    "in three parts": (
        "f32[M,P] f32[M,Q] f32[M,R]",
        lambda x, y, z: softmax(np.concatenate([x, y, z], 1)),
        lambda x, y, z: online([x, y, z]),
    ),
    "mask by sums of exponentials": (
        "f32[M,N] i1[M,N]",
        lambda x, mask: softmax(masked(mask, x)),
        lambda x, mask: np.where(mask, np.exp(x), 0.0) / row(np.sum, np.where(mask, np.exp(x), 0.0)),
    ),
    "mask added": (
        "f32[M,N] i1[M,N]",
        lambda x, mask: softmax(masked(mask, 2 * x)),
        lambda x, mask: softmax(2 * x + np.where(mask, 0.0, -np.inf)),
    ),
    "scale after the mask": (
        "f32[M,N] i1[M,N]",
        lambda x, mask: softmax(masked(mask, x / np.sqrt(x.shape[1]))),
        lambda x, mask: softmax(masked(mask, x) / np.sqrt(x.shape[1])),
    ),
    "causal attention": (
        "f32[N,D] f32[N,D] f32[N,E]",
        lambda q, k, v: softmax(masked(causal(q @ k.T), q @ k.T)) @ v,
        lambda q, k, v: (np.tril(np.exp(q @ k.T)) @ v) / row(np.sum, np.tril(np.exp(q @ k.T))),
    ),
    "a guarded row": (
        "f32[M,N] i1[M,N]",
        lambda x, mask: np.where(row(np.any, mask), softmax(masked(mask, x)), 0.0),
        lambda x, mask: (
            np.where(row(np.any, mask), np.exp(masked(mask, x) - row(np.max, masked(mask, x))), 0.0)
            / np.where(row(np.any, mask), row(np.sum, np.exp(masked(mask, x) - row(np.max, masked(mask, x)))), 1.0)
        ),
    ),
    "the least, from infinity": (
        "f32[M,P] f32[M,Q]",
        lambda x, y: row(np.min, np.concatenate([x, y], 1)),
        lambda x, y: np.minimum(np.minimum(np.full((x.shape[0], 1), np.inf), row(np.min, x)), row(np.min, y)),
    ),
    "logarithm of the sum": (
        "f32[M,N] i1[M,N]",
        lambda x, mask: (
            row(np.max, masked(mask, x)) + np.log(row(np.sum, np.exp(masked(mask, x) - row(np.max, masked(mask, x)))))
        ),
        lambda x, mask: np.log(row(np.sum, np.exp(masked(mask, x)))),
    ),
}
DIFFERENT: dict[str, Pair] = {
    "not rescaled": (
        "f32[M,P] f32[M,Q]",
        lambda x, y: softmax(np.concatenate([x, y], 1)),
        lambda x, y: online([x, y], rescaled=False),
    ),
    "the other mask": (
        "f32[M,N] i1[M,N]",
        lambda x, mask: softmax(masked(mask, x)),
        lambda x, mask: softmax(masked(~mask, x)),
    ),
    "a mask of zeros": (
        "f32[M,N] i1[M,N]",
        lambda x, mask: softmax(masked(mask, x)),
        lambda x, mask: softmax(np.where(mask, x, 0.0)),
    ),
    "before the causal edge": (
        "f32[N,D] f32[N,D] f32[N,E]",
        lambda q, k, v: softmax(masked(causal(q @ k.T), q @ k.T)) @ v,
        lambda q, k, v: (np.tril(np.exp(q @ k.T), -1) @ v) / row(np.sum, np.tril(np.exp(q @ k.T))),
    ),
    "plus infinity": (
        "f32[M,N] i1[M,N]",
        lambda x, mask: row(np.max, masked(mask, x)),
        lambda x, mask: -row(np.min, masked(mask, -x)),
    ),
}
UNDEFINED: dict[str, Pair] = {
    "a wholly masked row": (
        "f32[M,N] i1[M,N]",
        lambda x, mask: np.where(row(np.any, mask), softmax(masked(mask, x)), 0.0),
        lambda x, mask: softmax(masked(mask, x)),
    ),
    "a wholly masked first part": (
        "f32[M,P] f32[M,Q] i1[M,P] i1[M,Q]",
        lambda x, y, m, n: softmax(np.concatenate([masked(m, x), masked(n, y)], 1)),
        lambda x, y, m, n: online([masked(m, x), masked(n, y)]),
    ),
    "one unmasked element": (
        "f32[M,P] f32[M,Q] i1[M,P]",
        lambda x, y, m: softmax(np.concatenate([masked(m, x), y], 1)),
        lambda x, y, m: online([masked(m, x), y]),
    ),
    "before any element": (
        "f32[M,N]",
        softmax,
        lambda x: softmax(x) + 0 * (1 / start(x)[1]),
    ),
    "the maximum of a masked row": (
        "f32[M,N] i1[M,N]",
        lambda x, mask: x,
        lambda x, mask: x + 0 * row(np.max, masked(mask, x)),
    ),
}


def _verdict(pair: Pair, *, use_filter: bool) -> Verdict:
    return prove_functions(*traced(pair), use_filter=use_filter)


@pytest.mark.parametrize("name", EQUAL)
def test_equal(name: str, tmp_path: Path) -> None:
    assert_proved(*traced(EQUAL[name]), tmp_path / "c")


@pytest.mark.parametrize("name", DIFFERENT)
def test_different(name: str) -> None:
    assert _verdict(DIFFERENT[name], use_filter=False).verdict != "proved"


@pytest.mark.parametrize("name", UNDEFINED)
def test_the_second_is_not_defined_wherever_the_first_is(name: str) -> None:
    for use_filter in (True, False):
        verdict = _verdict(UNDEFINED[name], use_filter=use_filter)
        assert verdict.verdict != "proved"
        assert verdict.reason == "definedness", verdict.report()
