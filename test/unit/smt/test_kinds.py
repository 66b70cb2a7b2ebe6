# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kinds of identities, each with near misses: blocks of an axis as parts side by side, scans in blocks, logarithms
where they are defined, monotone, odd and piecewise functions, positions as data."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from unit.smt.program_pairs import Pair, assert_proved, traced

from axon_mlir.smt.equivalence import prove_functions


def row(fold: Callable[..., Any], x: Any) -> Any:
    return fold(x, axis=-1, keepdims=True)


def T(x: Any) -> Any:
    return np.swapaxes(x, -1, -2)


def cat(*parts: Any) -> Any:
    return np.concatenate(parts, axis=-1)


def softmax(x: Any) -> Any:
    e = np.exp(x - row(np.max, x))
    return e / row(np.sum, e)


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def log_sum(x: Any) -> Any:
    m = row(np.max, x)
    return m + np.log(row(np.sum, np.exp(x - m)))


def statistics(parts: list[Any]) -> tuple[Any, Any]:
    """Running maximum and sum of exponentials."""
    m = np.full((*parts[0].shape[:-1], 1), -np.inf)
    total = np.zeros_like(m)
    for b in parts:
        new = np.maximum(m, row(np.max, b))
        total = total * np.exp(m - new) + row(np.sum, np.exp(b - new))
        m = new
    return m, total


def moments(parts: list[Any], *, between: float = 1.0) -> tuple[Any, Any]:
    """Running mean and variance, after Chan; `between`: how the distance of means counts."""
    n, mean, squares = 0, 0.0, 0.0
    for c in parts:
        k, mine = c.shape[-1], row(np.mean, c)
        d, total = mine - mean, n + c.shape[-1]
        squares = squares + row(np.sum, (c - mine) ** 2) + between * d * d * n * k / total
        mean, n = mean + d * k / total, total
    return mean, squares / n


def flash(q: Any, keys: list[Any], values: list[Any], *, rescaled: bool = True) -> Any:
    m = np.full((*q.shape[:-1], 1), -np.inf)
    total, out = np.zeros_like(m), np.zeros((*q.shape[:-1], values[0].shape[-1]))
    for k, v in zip(keys, values, strict=True):
        s = q @ T(k)
        new = np.maximum(m, row(np.max, s))
        p, c = np.exp(s - new), np.exp(m - new)
        total = total * c + row(np.sum, p)
        out = out * (c if rescaled else 1) + p @ v
        m = new
    return out / total


def scanned(a: Any, b: Any, n: int) -> Any:
    state, out = np.zeros_like(a[:, 0]), []
    for k in range(n):
        state = a[:, k] * state + b[:, k]
        out.append(state)
    return np.stack(out, 1)


def scanned_in_blocks(a: Any, b: Any, n: int, size: int, *, carried: bool = True) -> Any:
    state, out = np.zeros_like(a[:, 0]), []
    for first in range(0, n, size):
        mine, decay = np.zeros_like(state), np.ones_like(state)
        for k in range(first, min(n, first + size)):
            mine, decay = a[:, k] * mine + b[:, k], decay * a[:, k]
            out.append(mine + decay * state if carried else mine)
        state = out[-1]
    return np.stack(out, 1)


def longest(x: Any) -> Any:
    """The norm of rows, scaled by the largest element."""
    m = row(np.max, np.abs(x))
    return m * np.sqrt(row(np.sum, (x / m) ** 2))


def rows(y: Any) -> Any:
    return np.arange(len(y))


def halves(q: Any, r: Any) -> Any:
    return np.concatenate([q, r])


EQUAL: dict[str, Pair] = {
    "variance of parts": (
        "f32[M,P] f32[M,Q] f32[M,R]",
        lambda x, y, z: row(np.var, cat(x, y, z)),
        lambda x, y, z: moments([x, y, z])[1],
    ),
    "mean of parts": (
        "f32[M,P] f32[M,Q]",
        lambda x, y: row(np.mean, cat(x, y)),
        lambda x, y: moments([x, y])[0],
    ),
    "attention over parts": (
        "f32[M,D] f32[P,D] f32[Q,D] f32[P,E] f32[Q,E]",
        lambda q, k, n, v, w: softmax(q @ T(halves(k, n))) @ halves(v, w),
        lambda q, k, n, v, w: flash(q, [k, n], [v, w]),
    ),
    "running sums of parts": (
        "f32[M,P] f32[M,Q]",
        lambda x, y: np.cumsum(cat(x, y), -1),
        lambda x, y: cat(np.cumsum(x, -1), np.cumsum(y, -1) + np.cumsum(x, -1)[:, -1:]),
    ),
    "linear attention in chunks": (
        "f32[P,D] f32[Q,D] f32[P,D] f32[Q,D] f32[P,E] f32[Q,E]",
        lambda q, r, k, n, v, w: np.tril(halves(q, r) @ T(halves(k, n))) @ halves(v, w),
        lambda q, r, k, n, v, w: halves(np.tril(q @ T(k)) @ v, r @ (T(k) @ v) + np.tril(r @ T(n)) @ w),
    ),
    "a scan in blocks": (
        "f32[M,6] f32[M,6]",
        lambda a, b: scanned(a, b, 6),
        lambda a, b: scanned_in_blocks(a, b, 6, 4),
    ),
    "sum of squared differences": (
        "f32[M,4]",
        lambda x: np.var(x, -1),
        lambda x: sum((x[:, i] - x[:, j]) ** 2 for i in range(4) for j in range(i)) / 16,
    ),
    "logarithm of a product": (
        "f32[M,N] f32[M,N]",
        lambda x, y: np.log(x) - 2 * np.log(y),
        lambda x, y: np.log(x / (y * y)),
    ),
    "logarithms of a row": (
        "f32[M,N]",
        lambda x: row(np.sum, np.log(x)) + row(np.max, np.log(x)),
        lambda x: row(np.sum, np.log(2 * x) - np.log(x * 0 + 2)) + np.log(row(np.max, x)),
    ),
    "stable softplus": (
        "f32[M,N]",
        lambda x: np.log(1 + np.exp(x)),
        lambda x: np.maximum(x, 0) + np.log(1 + np.exp(-np.abs(x))),
    ),
    "stable sum of two": (
        "f32[M,N] f32[M,N]",
        lambda x, y: np.log(np.exp(x) + np.exp(y)),
        lambda x, y: np.maximum(x, y) + np.log(1 + np.exp(-np.abs(x - y))),
    ),
    "the least of two": (
        "f32[M,N] f32[M,N]",
        lambda x, y: np.exp(np.minimum(x, y)) * np.exp(np.maximum(x, y)),
        lambda x, y: np.exp(x + y),
    ),
    "scaled norm": ("f32[M,N]", longest, lambda x: np.sqrt(row(np.sum, x * x))),
    "a rising function": ("f32[M,N]", lambda x: row(np.max, sigmoid(x)), lambda x: sigmoid(row(np.max, x))),
    "a falling function": (
        "f32[M,N]",
        lambda x: row(np.max, 1 / (2 + np.exp(x))),
        lambda x: 1 / (2 + np.exp(row(np.min, x))),
    ),
    "a function of the table": (
        "f32[M,N]",
        lambda x: row(np.min, np.sign(2 * x)),
        lambda x: np.sign(2 * row(np.min, x)),
    ),
    "odd": ("f32[M,N] f32[M,N]", lambda x, y: np.sin(x - y), lambda x, y: -np.sin(y - x)),
    "even": ("f32[M,N] f32[M,N]", lambda x, y: np.cos(x - y), lambda x, y: np.cos(y - x)),
    "sign and size": ("f32[M,N]", lambda x: np.sign(3 * x) * np.abs(x), lambda x: -np.sign(-x) * np.abs(x)),
    "sign times size": ("f32[M,N]", lambda x: np.sign(x) * np.abs(x), lambda x: x),
    "cross entropy over parts": (
        "f32[M,P] f32[M,Q] i32[M]",
        lambda a, b, y: -np.log(softmax(cat(a, b))[rows(y), y]),
        lambda a, b, y: (statistics([a, b])[0] + np.log(statistics([a, b])[1]))[:, 0] - cat(a, b)[rows(y), y],
    ),
    "groups of heads": (
        "f32[G*R,S,D] f32[G,L,D]",
        lambda q, k: softmax(q @ T(np.repeat(k, q.shape[0] // k.shape[0], axis=0))),
        lambda q, k: softmax(q.reshape(k.shape[0], -1, q.shape[2]) @ T(k)).reshape(*q.shape[:2], k.shape[1]),
    ),
    "whole numbers leave": (
        "f32[M,N]",
        lambda x: np.floor(x + 1.5) - np.floor(x - x.shape[0]),
        lambda x: np.floor(x + 0.5) + 1 - np.floor(x) + x.shape[0],
    ),
    "whole numbers that were rounded before": (
        "f32[M,N]",
        lambda x: np.floor(2 * np.floor(x) + np.ceil(x) * np.rint(x) - 3),
        lambda x: 2 * np.floor(x) + np.ceil(x) * np.rint(x) - 3,
    ),
    "the largest whole number": ("f32[M,N]", lambda x: row(np.max, np.floor(x)), lambda x: np.floor(row(np.max, x))),
    "one of the rows": (
        "f32[K,N] i32[M]",
        lambda e, y: e[y],
        lambda e, y: (y[:, None] == np.arange(e.shape[0])).astype(np.float32) @ e,
    ),
    "any and all": (
        "i1[M,N]",
        lambda m: np.where(np.any(m, -1), 1.0, 0.0),
        lambda m: 1.0 - np.where(np.all(~m, -1), 1.0, 0.0),
    ),
}
DIFFERENT: dict[str, Pair] = {
    "means not weighted": (
        "f32[M,P] f32[M,Q]",
        lambda x, y: row(np.var, cat(x, y)),
        lambda x, y: moments([x, y], between=0.5)[1],
    ),
    "numerator not rescaled": (
        "f32[M,D] f32[P,D] f32[Q,D] f32[P,E] f32[Q,E]",
        lambda q, k, n, v, w: softmax(q @ T(halves(k, n))) @ halves(v, w),
        lambda q, k, n, v, w: flash(q, [k, n], [v, w], rescaled=False),
    ),
    "carry of the wrong element": (
        "f32[M,P] f32[M,Q]",
        lambda x, y: np.cumsum(cat(x, y), -1),
        lambda x, y: cat(np.cumsum(x, -1), np.cumsum(y, -1) + x[:, -1:]),
    ),
    "the diagonal of the second chunk": (
        "f32[P,D] f32[Q,D] f32[P,D] f32[Q,D] f32[P,E] f32[Q,E]",
        lambda q, r, k, n, v, w: np.tril(halves(q, r) @ T(halves(k, n))) @ halves(v, w),
        lambda q, r, k, n, v, w: halves(np.tril(q @ T(k)) @ v, r @ (T(k) @ v) + np.tril(r @ T(n), -1) @ w),
    ),
    "a scan without carry": (
        "f32[M,6] f32[M,6]",
        lambda a, b: scanned(a, b, 6),
        lambda a, b: scanned_in_blocks(a, b, 6, 4, carried=False),
    ),
    "one difference missing": (
        "f32[M,4]",
        lambda x: np.var(x, -1),
        lambda x: sum((x[:, i] - x[:, j]) ** 2 for i in range(4) for j in range(i) if i + j != 5) / 16,
    ),
    "logarithm of a product alone": (
        "f32[M,N] f32[M,N]",
        lambda x, y: np.log(x * y),
        lambda x, y: np.log(x) + np.log(y),
    ),
    "logarithm of a square": ("f32[M,N]", lambda x: np.log(x * x), lambda x: 2 * np.log(x)),
    "logarithm of another element": (
        "f32[M,N]",
        lambda x: np.log(x[:, :1]) + np.log(x * x),
        lambda x: np.log(x[:, :1]) + 2 * np.log(x),
    ),
    "where a choice is defined": (
        "f32[M,N] f32[M,N]",
        lambda x, y: np.where(y > 0, np.log(x), 0.0) + np.log(x * x),
        lambda x, y: np.where(y > 0, np.log(x), 0.0) + 2 * np.log(x),
    ),
    "softplus of the other side": (
        "f32[M,N]",
        lambda x: np.log(1 + np.exp(x)),
        lambda x: np.minimum(x, 0) + np.log(1 + np.exp(-np.abs(x))),
    ),
    "least for greatest": ("f32[M,N] f32[M,N]", lambda x, y: np.maximum(x, y), lambda x, y: np.minimum(x, y)),
    "size for number": ("f32[M,N]", lambda x: x + np.abs(x) - np.abs(x), lambda x: np.abs(x)),
    "scaled by any number": (
        "f32[M,N] f32[M,1]",
        lambda x, m: np.sqrt(row(np.sum, x * x)),
        lambda x, m: m * np.sqrt(row(np.sum, (x / m) ** 2)),
    ),
    "a function that does not rise": ("f32[M,N]", lambda x: row(np.max, np.cos(x)), lambda x: np.cos(row(np.max, x))),
    "a falling function as a rising one": (
        "f32[M,N]",
        lambda x: row(np.max, 1 / (2 + np.exp(x))),
        lambda x: 1 / (2 + np.exp(row(np.max, x))),
    ),
    "a power of any number": ("f32[M,N]", lambda x: row(np.max, x * x), lambda x: row(np.max, x) ** 2),
    "even for odd": ("f32[M,N]", lambda x: np.cos(-x), lambda x: -np.cos(x)),
    "odd for even": ("f32[M,N]", lambda x: np.sin(-x), lambda x: np.sin(x)),
    "sign of a product": ("f32[M,N] f32[M,N]", lambda x, y: np.sign(x * y), lambda x, y: np.sign(x)),
    "logarithm of a chosen sum": (
        "f32[M,N] i32[M]",
        lambda x, y: np.log(np.exp(x)[rows(y), y] + 1),
        lambda x, y: x[rows(y), y],
    ),
    "another position": (
        "f32[M,N] i32[M] i32[M]",
        lambda x, y, z: -np.log(softmax(x)[rows(y), y]) + 0.0 * z,
        lambda x, y, z: log_sum(x)[:, 0] - x[rows(y), z] + 0.0 * z,
    ),
    "a position of another row": (
        "f32[M,N] i32[M]",
        lambda x, y: x[rows(y), y] * 1.0,
        lambda x, y: x[rows(y), y] * (softmax(x)[rows(y), y] ** 0 + 1),
    ),
    "heads in the other order": (
        "f32[G*R,S,D] f32[G,L,D]",
        lambda q, k: q @ T(np.tile(k, (q.shape[0] // k.shape[0], 1, 1))),
        lambda q, k: (q.reshape(k.shape[0], -1, q.shape[2]) @ T(k)).reshape(*q.shape[:2], k.shape[1]),
    ),
    "half of a whole number does not leave": (
        "f32[M,N]",
        lambda x: np.floor(0.5 * np.floor(x)),
        lambda x: 0.5 * np.floor(x),
    ),
    "a fraction of a whole number does not leave": (
        "f32[M,N]",
        lambda x: np.floor(1 / (np.floor(x * x) + 1)),
        lambda x: 1 / (np.floor(x * x) + 1),
    ),
    "a half does not leave": ("f32[M,N]", lambda x: np.floor(x + 0.5), lambda x: np.floor(x) + 0.5),
    "nearest for below": ("f32[M,N]", lambda x: np.round(x + 1), lambda x: np.round(x) + 1),
    "the row after": (
        "f32[K,N] i32[M]",
        lambda e, y: e[y],
        lambda e, y: (y[:, None] + 1 == np.arange(e.shape[0])).astype(np.float32) @ e,
    ),
    "any for all": (
        "i1[M,N]",
        lambda m: np.where(np.any(m, -1), 1.0, 0.0),
        lambda m: np.where(np.all(m, -1), 1.0, 0.0),
    ),
}


@pytest.mark.parametrize("name", EQUAL)
def test_equal(name: str, tmp_path: Path) -> None:
    assert_proved(*traced(EQUAL[name]), tmp_path / "c")


@pytest.mark.parametrize("name", DIFFERENT)
def test_different(name: str) -> None:
    assert prove_functions(*traced(DIFFERENT[name]), use_filter=False).verdict != "proved"
