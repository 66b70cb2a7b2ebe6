# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Running folds are computed in one pass, and are what the general walk computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from axon_mlir.semantics import evaluate
from axon_mlir.semantics.domains import Domain, Field, Float64, Rationals
from axon_mlir.semantics.meaning import parse_op

TEXTS = [
    "c[p, f] = sum(j < f + 1: a[p, j])",
    "c[p, f] = max(j < f + 1: a[p, j] + j)",
    "c[p, f] = prod(j <= f: a[p, j] * b[j, 0])",
    "c[p, f] = min(j < p + 1: a[j, f])",
    "c[p, f] = a[p, f] * sum(j < f + 1: if j < 2 then a[p, j] else b[j, 0])",
    "c[p, f] = sum(k < f + 1: b[k, 0] * prod(j < f - k: a[p, k + 1 + j]))",
    "c[p, f] = sum(k <= p: prod(j < p - k: a[k + 1 + j, f] + b[f, 0]) * a[k, f])",
    "c[p, f] = b[f, 0] * prod(j < f + 1: a[p, j]) + sum(k < f + 1: a[p, k] * prod(j < f - k: a[p, j + 1 + k]))",
    "c[p, f] = sum(j < f: a[p, j])",
    "c[p, f] = max(j < p: a[j, f])",
    "c[p, f] = min(i < F: if a[p, i] == a[p, f] and sum(m < i: less(a[p, m], a[p, f])) == 0 then i else 9)",
    # Not running: the body depends on where the result stands.
    "c[p, f] = sum(j < f + 1: a[p, j] * f)",
    "c[p, f] = sum(k < f + 1: b[k, 0] * prod(j < f - k: a[p, k + j]))",
    "c[p, f] = sum(k < f: b[k, 0] * prod(j < f - k: a[p, k + 1 + j]))",
]


def test_a_long_scan_takes_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    meaning = parse_op(
        "op f(a[P, F]) -> c[P, F] { c[p, f] = sum(k < f + 1: prod(j < f - k: a[p, k + 1 + j]) * a[p, k]) }"
    )
    a = np.random.default_rng(3).uniform(0, 1, (3, 2000))
    monkeypatch.setattr(evaluate._Stage, "fold", lambda *_: pytest.fail("the general walk"))
    (out,) = meaning.evaluate([a], {}, Float64())
    state = np.zeros(3)
    for f in range(2000):
        state = a[:, f] * state + a[:, f]
    np.testing.assert_allclose(out[:, -1], state)


PICKS = [
    "c[p, f] = sum(k < P: if b[p, 0] == k then a[k, f] else 0)",
    "c[p, f] = sum(k < F: if k == b[f, 0] + 1 then a[p, k] * f else 0)",
    "c[p, f] = b[p, 0] * sum(k < 3: if a[p, f] == k then b[k, 0] else 0)",
    "c[p, f] = sum(k < 9: if a[p, f] / 2 == k then 1 else 0)",
    # Not picks: the position depends on the fold, or something is added elsewhere.
    "c[p, f] = sum(k < P: if b[k, 0] == k then a[k, f] else 0)",
    "c[p, f] = sum(k < P: if b[p, 0] == k then a[k, f] else 1)",
]


SHORTCUTS = [*(("running", range(1, 4), x) for x in TEXTS), *(("pick", range(-1, 7), x) for x in PICKS)]
"""The method, what elements are, and the meaning."""


@pytest.mark.parametrize(("shortcut", "elements", "text"), SHORTCUTS)
@pytest.mark.parametrize("domain", [Float64(), Field(), Rationals()], ids=lambda d: d.name)
def test_shortcuts(shortcut: str, elements: range, text: str, domain: Domain, monkeypatch: pytest.MonkeyPatch) -> None:
    meaning = parse_op(f"op f(a[P, F], b[F, G]) -> c[P, F] {{ {text} }}")
    rng = np.random.default_rng(3)
    given: list[Any] = [domain.integers(rng.choice(elements, shape)) for shape in ((5, 5), (5, 1))]
    (fast,) = meaning.evaluate(given, {}, domain)
    monkeypatch.setattr(evaluate._Stage, shortcut, lambda *_: None)
    (general,) = meaning.evaluate(given, {}, domain)
    assert fast.shape == general.shape == (5, 5)
    assert (fast == general).all()


def test_a_pick_from_many_takes_little() -> None:
    meaning = parse_op(
        "op f(a[N, F], b[P, 1]) -> c[P, F] { c[p, f] = sum(n < N: if b[p, 0] == n then a[n, f] else 0) }"
    )
    a, b = np.random.default_rng(3).normal(size=(50_000, 64)), np.array([[49_999], [0], [-1], [50_000], [7.5]])
    (out,) = meaning.evaluate([a, b], {}, Float64())
    np.testing.assert_array_equal(out, [a[-1], a[0], *[0 * a[0]] * 3])
