# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The goals of the benchmark programs are proved for all sizes, the near misses refuted, and so are pairs of other
kinds of programs. `python -m benchmarks.prove` prints the table."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from unit.smt import program_pairs
from unit.smt.program_pairs import Pair, assert_proved
from xdsl.dialects.func import FuncOp

from axon_mlir.semantics.constants import Exact
from axon_mlir.semantics.domains import Float64
from axon_mlir.semantics.interpret import evaluate_function
from axon_mlir.smt.equivalence import prove_functions
from benchmarks.prove import goals, near_misses, traced

GOALS = {name: (before, after, of) for name, before, after, of in goals()}
NEAR_MISSES = {name: (before, after) for name, before, after, _ in near_misses()}


@pytest.mark.parametrize("name", GOALS)
def test_goal(name: str, tmp_path: Path) -> None:
    before, after, of = GOALS[name]
    first, second = traced(before, of), traced(after, of)
    assert "narrowed" not in assert_proved(first, second, tmp_path / "c").sizes


@pytest.mark.parametrize("name", NEAR_MISSES)
def test_near_miss(name: str) -> None:
    first, second = (traced(f, name) for f in NEAR_MISSES[name])
    verdict = prove_functions(first, second)
    assert verdict.verdict == "refuted", verdict.report()
    example = verdict.counterexample
    if verdict.reason != "shape":
        assert example is not None
        left, right = (evaluate_function(f, example.inputs, Float64(), sizes=example.dims) for f in (first, second))
        assert left[example.output][example.index] == example.left
        assert right[example.output][example.index] == example.right
    assert prove_functions(first, second, use_filter=False).verdict != "proved"


def row(fold: Callable[..., Any], x: Any) -> Any:
    return fold(x, axis=-1, keepdims=True)


def T(x: Any) -> Any:
    return np.swapaxes(x, -1, -2)


def softmax(x: Any) -> Any:
    e = np.exp(x - row(np.max, x))
    return e / row(np.sum, e)


def ones(n: Any, m: Any) -> Any:
    return np.ones((n, m))


def triangle(x: Any) -> Any:
    return np.ones((x.shape[-1], x.shape[-1]))


def unit(x: Any) -> Any:
    return x / np.sqrt(row(np.sum, x * x))


def _causal_by_prefixes(q: Any, k: Any, v: Any) -> Any:
    return np.einsum("sd,sde->se", q, np.cumsum(k[:, :, None] * v[:, None, :], axis=0))


def _unit_by_moments(x: Any, h: Any, a: Any) -> Any:
    hh = row(np.sum, h * h)
    r = 1 / np.sqrt(hh)
    total = (1 - a) ** 2 * row(np.sum, x * x) + 2 * a * (1 - a) * r * row(np.sum, h * x) + a * a
    return ((1 - a) * x + (a * r) * h) / np.sqrt(total)


def _attention_by_columns(q: Any, k: Any, v: Any) -> Any:
    s = k @ T(q)
    p = np.exp(s - s.max(axis=1, keepdims=True))
    return T((T(v) @ p) / p.sum(axis=1, keepdims=True))


def _attention_with_ones(q: Any, k: Any, v: Any) -> Any:
    s = q @ T(k)
    o = np.exp(s - row(np.max, s)) @ np.concatenate([v, np.ones((*v.shape[:2], 1))], axis=-1)
    return o[..., :-1] / o[..., -1:]


EQUAL: dict[str, Pair] = {
    "columns of a product": (
        "MK KN KP",
        lambda a, b, c: np.concatenate([a @ b, a @ c], axis=1),
        lambda a, b, c: a @ np.concatenate([b, c], axis=1),
    ),
    "three parts": ("MK KN", lambda a, b: a @ b, lambda a, b: a[:, :3] @ b[:3] + a[:, 3:7] @ b[3:7] + a[:, 7:] @ b[7:]),
    "maximum of two": (
        "MK MN",
        lambda a, b: np.maximum(row(np.max, a), row(np.max, b)),
        lambda a, b: row(np.max, np.concatenate([a, b], axis=1)),
    ),
    "logarithm of softmax": ("MK", lambda x: np.log(softmax(x)), lambda x: x - np.log(row(np.sum, np.exp(x)))),
    "softplus": ("MK", lambda x: np.log(1 + np.exp(x)), lambda x: x + np.log(1 + np.exp(-x))),
    "tanh by exp": ("MK", lambda x: np.tanh(x), lambda x: (np.exp(x) - np.exp(-x)) / (np.exp(x) + np.exp(-x))),
    "relu by a choice": ("MK", lambda x: np.maximum(x, 0), lambda x: np.where(x >= 0, x, 0.0)),
    "choice inside exp": (
        "MK",
        lambda x: np.where(x > 0, np.exp(x), np.exp(-x)),
        lambda x: np.exp(np.where(x > 0, x, -x)),
    ),
    "root of a square": ("MK", lambda x: np.sqrt(x * x), lambda x: np.abs(x)),
    "hard swish": ("MK", lambda x: x * np.clip(x + 3, 0, 6) / 6, lambda x: x * np.clip(x / 6 + 0.5, 0, 1)),
    "two triangles": ("MK", lambda x: x, lambda x: np.tril(x) + np.triu(x, 1)),
    "identity added": ("NN NK", lambda a, b: a @ b + b, lambda a, b: (a + np.eye(a.shape[0])) @ b),
    "centring matrix": (
        "MK",
        lambda x: x - row(np.mean, x),
        lambda x: x @ (np.eye(x.shape[1]) - triangle(x) / x.shape[1]),
    ),
    "sums from behind": (
        "MK",
        lambda x: row(np.sum, x) - np.cumsum(x, axis=-1) + x,
        lambda x: x @ np.tril(triangle(x)),
    ),
    "sums before": ("MK", lambda x: np.cumsum(x, axis=-1) - x, lambda x: x @ np.triu(triangle(x), 1)),
    "causal attention": ("SD SD SE", lambda q, k, v: np.tril(q @ T(k)) @ v, _causal_by_prefixes),
    "telescope": ("MK", lambda x: (x[1:] - x[:-1]).sum(0), lambda x: x[-1] - x[0]),
    "without the first": ("MK", lambda x: x[1:].sum(0), lambda x: x.sum(0) - x[0]),
    "flat sum": ("MN", lambda x: np.sum(x), lambda x: np.sum(x.reshape(-1))),
    "flat maximum": ("MGB", lambda x: x.reshape(x.shape[0], -1).max(-1), lambda x: x.max(-1).max(-1)),
    "there and back": ("MN", lambda x: x + 1, lambda x: (x.reshape(-1) + 1).reshape(x.shape)),
    "negative factor": ("MN", lambda x: row(np.max, -2 * x), lambda x: -2 * row(np.min, x)),
    "exp of a maximum": ("MN", lambda x: np.exp(row(np.max, x)), lambda x: row(np.max, np.exp(x))),
    "product of exps": ("MN", lambda x: np.prod(np.exp(x), axis=-1), lambda x: np.exp(np.sum(x, axis=-1))),
    "norm of two": ("MN MN -", lambda x, h, a: unit(x + a * (unit(h) - x)), _unit_by_moments),
    "scores by columns": ("BMK BNK BNV", lambda q, k, v: softmax(q @ T(k)) @ v, _attention_by_columns),
    "denominator as a column": ("BMK BNK BNV", lambda q, k, v: softmax(q @ T(k)) @ v, _attention_with_ones),
    "scales of weights": ("MK M1 KN 1N", lambda x, s, w, t: (x * s) @ (w * t), lambda x, s, w, t: (x @ w) * s * t),
    # Floats divide by zero on the left and still end at 0 there; the reals do not.
    "two resistors": ("MN MN", lambda x, y: 1 / (1 / x + 1 / y), lambda x, y: x * y / (x + y)),
    "distances": (
        "MK NK",
        lambda x, y: ((x[:, None, :] - y[None, :, :]) ** 2).sum(-1),
        lambda x, y: (x * x).sum(-1)[:, None] - 2 * (x @ T(y)) + (y * y).sum(-1)[None, :],
    ),
    "entropy": (
        "MK",
        lambda x: -row(np.sum, softmax(x) * np.log(softmax(x))),
        lambda x: np.log(row(np.sum, np.exp(x))) - row(np.sum, x * softmax(x)),
    ),
    "an inverse after an update of rank one": (
        "N N NP",
        lambda u, v, x: (np.eye(u.shape[0]) - np.outer(u, v) * (1 / (1 + v @ u))) @ x,
        lambda u, v, x: x - u[:, None] * (v @ x) * (1 / (1 + v @ u)),
    ),
    "a constant squared": ("MN", lambda x: x * math.sqrt(0.5) * math.sqrt(0.5), lambda x: x * 0.5),
    "a reciprocal in Python": ("MN", lambda x: x / 3.0, lambda x: x * (1 / 3.0)),
    "a root in front": ("MN", lambda x: np.sqrt(np.abs(x)) / math.sqrt(2), lambda x: np.sqrt(0.5 * np.abs(x))),
    "constants on both sides": ("MN", lambda x: np.exp(x / math.sqrt(3)), lambda x: np.exp(-x * -math.sqrt(1 / 3))),
    "a cosine is a shifted sine": ("MN", lambda x: np.cos(x), lambda x: np.sin(x + np.pi / 2)),
    "a shifted sine is a cosine": ("MN", lambda x: np.sin(np.pi / 2 + x), lambda x: np.cos(-x)),
}
DIFFERENT: dict[str, Pair] = {
    "a part missing": ("MK KN", lambda a, b: a @ b, lambda a, b: a[:, :3] @ b[:3] + a[:, 4:] @ b[4:]),
    "a part twice": ("MK KN", lambda a, b: a @ b, lambda a, b: a[:, :3] @ b[:3] + a[:, 2:] @ b[2:]),
    "parts exchanged": (
        "MK KN KP",
        lambda a, b, c: np.concatenate([a @ b, a @ c], axis=1),
        lambda a, b, c: a @ np.concatenate([c, b], axis=1),
    ),
    "diagonal twice": ("NN", lambda x: x, lambda x: np.tril(x) + np.triu(x)),
    "diagonal lost": ("NN", lambda x: x, lambda x: np.tril(x, -1) + np.triu(x, 1)),
    "one too far": ("MK", lambda x: np.cumsum(x, axis=-1), lambda x: x @ np.triu(triangle(x), 1)),
    "wrong end": ("MK", lambda x: x[1:].sum(0), lambda x: x.sum(0) - x[-1]),
    "flat the other way": ("MN", lambda x: x.reshape(-1), lambda x: T(x).reshape(-1)),
    "exp of a minimum": ("MN", lambda x: np.exp(row(np.max, x)), lambda x: row(np.min, np.exp(x))),
    "sign forgotten": ("MN", lambda x: row(np.max, -2 * x), lambda x: -2 * row(np.max, x)),
    "root of a square": ("MN", lambda x: np.sqrt(x * x), lambda x: x),
    "logarithm of a sum": ("MN", lambda x: np.log(row(np.sum, np.exp(x))), lambda x: row(np.sum, x)),
    "strict choice": ("MN", lambda x: np.where(x > 0, 1.0, 0.0), lambda x: np.where(x >= 0, 1.0, 0.0)),
    "product of sums": ("MN", lambda x: np.exp(np.prod(x, axis=-1)), lambda x: np.prod(np.exp(x), axis=-1)),
    "not causal": ("SD SD SE", lambda q, k, v: (q @ T(k)) @ v, _causal_by_prefixes),
    "surrogate of silu": ("MN", lambda x: x / (1 + np.exp(-x)), lambda x: x * np.exp(x)),
    "maximum of sums": ("MN MN", lambda x, y: row(np.max, x + y), lambda x, y: row(np.max, x) + row(np.max, y)),
    "a constant to single precision": (
        "MN",
        lambda x: x * math.sqrt(0.5),
        lambda x: x * float(np.float32(math.sqrt(0.5))),
    ),
    "two near constants": (
        "MN",
        lambda x: (x * 0.30000000000000004 - x * 0.3) * 1e17,
        lambda x: (x * 0.3 - x * 0.3) * 1e17,
    ),
    "a threshold": (
        "MN",
        lambda x: np.where(x >= 0.30000000000000004, 1.0, 0.0),
        lambda x: np.where(x >= 0.3, 1.0, 0.0),
    ),
    "a difference of large constants": (
        "MN",
        lambda x: (x + 9007199254740992.0) - 9007199254740990.0,
        lambda x: (x + 9007199254740992.0) - 9007199254740992.0,
    ),
    "a quarter of a turn to four digits": ("MN", lambda x: np.cos(x), lambda x: np.sin(x + 1.5707)),
    "three quarters of a turn": ("MN", lambda x: np.cos(x), lambda x: np.sin(x + 1.5 * np.pi)),
    "one more at a size of one": ("MN", lambda x: x, lambda x: x * (x.shape[1] - 1) / (x.shape[1] - 1)),
    "a zero among several inputs": ("MN MN", lambda x, y: np.sqrt(x * y), lambda x, y: y * np.sqrt(x / y)),
    "both negative": ("MN MN", lambda x, y: np.log(x * y), lambda x, y: np.log(x) + np.log(y)),
    "where a constant is": ("MN", lambda x: x, lambda x: x / (x - 7) * (x - 7)),
    "mean of one less": ("MN", lambda x: row(np.mean, x), lambda x: row(np.sum, x) / (x.shape[1] + 1)),
}


def _pair(pair: Pair) -> tuple[FuncOp, FuncOp]:
    """Both programs; each letter is an axis of f32, a dash a scalar."""
    arguments, before, after = pair
    specs = ["f32" if axes == "-" else f"f32[{','.join(axes)}]" for axes in arguments.split()]
    return program_pairs.traced((" ".join(specs), before, after))


@pytest.mark.parametrize("name", EQUAL)
def test_equal_programs(name: str, tmp_path: Path) -> None:
    assert_proved(*_pair(EQUAL[name]), tmp_path / "c")


@pytest.mark.parametrize("name", DIFFERENT)
def test_different_programs(name: str) -> None:
    first, second = _pair(DIFFERENT[name])
    assert prove_functions(first, second).verdict == "refuted"
    assert prove_functions(first, second, use_filter=False).verdict != "proved"


QUARTER = math.pi / 2
NEAR: dict[str, Pair] = {
    "a quarter of a turn to twelve digits": ("MN", lambda x: np.cos(x), lambda x: np.sin(x + 1.57079632679)),
    "eight ulp away": ("MN", lambda x: np.cos(x), lambda x: np.sin(x + (QUARTER + 8 * math.ulp(QUARTER)))),
    "a difference of nothing": ("MN", lambda x: np.cos(x) - np.sin(x + QUARTER), lambda x: 0 * x),
    "a difference, magnified": ("MN", lambda x: (np.cos(x) - np.sin(x + QUARTER)) * 1e6 + x, lambda x: x),
    "what is left of turns of floats": (
        "MN",
        lambda x: np.sin(x),
        lambda x: np.sin(np.clip(x - math.tau * np.round(x / math.tau), -3.1415925, 3.1415925)),
    ),
}


@pytest.mark.parametrize("use_filter", [True, False])
@pytest.mark.parametrize("name", NEAR)
def test_what_only_floats_make_equal_is_not_proved(name: str, use_filter: bool) -> None:
    assert prove_functions(*_pair(NEAR[name]), use_filter=use_filter).verdict != "proved"


@pytest.mark.parametrize("name", ["a cosine is a shifted sine", "a shifted sine is a cosine"])
def test_a_constant_that_is_taken_for_a_multiple_of_pi_is_named(name: str) -> None:
    verdict = prove_functions(*_pair(EQUAL[name]))
    assert verdict.constants == ("1.5707963267948966 as pi / 2",)
    assert "constant 1.5707963267948966 as pi / 2 (class P)" in verdict.report()
    assert prove_functions(*_pair(EQUAL[name]), same_domain=True).verdict != "proved"


@pytest.mark.parametrize("text", ["pi", "-pi", "pi / 2", "-3 * pi / 4", "2 * pi", "sqrt(1/2)", "-1/3"])
def test_what_constants_stand_for_as_text(text: str) -> None:
    assert str(Exact.parse(text)) == text


@pytest.mark.parametrize("text", ["2 * pie", "pi / 0", "* pi", "pi pi"])
def test_other_text_stands_for_nothing(text: str) -> None:
    with pytest.raises(ValueError):
        Exact.parse(text)


def test_a_program_that_is_defined_nowhere_proves_nothing() -> None:
    def nowhere(x: Any) -> Any:
        return np.log(-1 - x * x) * x

    first, second = _pair(("MN", nowhere, lambda x: nowhere(x) * (x / x)))
    verdict = prove_functions(first, second)
    assert (verdict.verdict, verdict.reason) == ("unknown", "contradiction")


def test_a_constant_that_the_program_s_others_make_is_not_moved() -> None:
    # In floats 0.1 * 3 is 0.30000000000000004 and both are zero; in reals they are not.
    first, second = _pair(("MN", lambda x: (x * 0.1 * 3 - x * 0.30000000000000004) * 1e17, lambda x: 0 * x * 0.1 * 3))
    assert prove_functions(first, second).verdict == "unknown"
