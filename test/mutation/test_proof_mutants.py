# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Edits of one side of proved pairs: none is proved, and nearly all are refuted.

A mutant counts when it differs from what it was made of on small exact tensors at one of three sizes. Casts do not
show in the values, since the programs are evaluated over the reals: they are only required to stay unproved.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from audit import AUDIT
from mutation.proof_edits import Mutant, mutated, places
from xdsl.dialects.func import FuncOp

from axon_mlir.errors import AxonError
from axon_mlir.frontend.numpy_trace import trace
from axon_mlir.semantics.domains import Float64
from axon_mlir.semantics.index import Size, evaluate
from axon_mlir.semantics.interpret import argument_shapes, evaluate_function
from axon_mlir.smt.equivalence import prove_functions
from axon_mlir.smt.solver import clear_cache
from benchmarks.prove import goals, specs

SIZES = ((2, 3, 5, 4, 6, 2, 3, 5), (3, 2, 4, 5, 7, 4, 2, 3), (5, 4, 3, 2, 2, 3, 5, 4))


@dataclass(frozen=True)
class Case:
    """A mutant of the second program of a pair."""

    pair: str
    before: FuncOp
    mutant: Mutant


def _functions(name: str, square: bool) -> tuple[FuncOp, FuncOp] | None:
    """Both programs of a goal; `square`: with one size for all axes, so that axes can be exchanged."""
    _, before, after, of = next(g for g in goals() if g[0] == name)
    texts = specs(of)
    if square:
        if any("*" in text or "1" in text for text in texts):
            return None
        texts = [re.sub(r"[A-Z](?=[\],])", "N", text) for text in texts]
    first, second = (next(op for op in trace(f, texts).walk() if isinstance(op, FuncOp)) for f in (before, after))
    return first, second


def _inputs(function: FuncOp, sizes: tuple[int, ...], seed: int) -> tuple[list[np.ndarray], dict[str, int]]:
    shapes = argument_shapes(function)
    names = list(dict.fromkeys(str(s) for shape in shapes for d in shape for s in sorted(d.symbols(), key=str)))
    dims = dict(zip(names, sizes, strict=False))
    generator = np.random.default_rng(seed)
    out: list[np.ndarray] = []
    for shape in shapes:
        extents = tuple(int(evaluate(d, {Size(k): v for k, v in dims.items()})) for d in shape)
        # Small multiples of 1/4 of both signs.
        out.append(np.asarray(generator.integers(-9, 10, extents) / 4.0, dtype=np.float64))
    return out, dims


def _values(function: FuncOp, inputs: list[np.ndarray], dims: Mapping[str, int]) -> list[np.ndarray] | None:
    with np.errstate(all="ignore"):
        try:
            return evaluate_function(function, inputs, Float64(), sizes=dims)
        except (AxonError, IndexError, ValueError, ZeroDivisionError):
            return None


def differs(original: FuncOp, mutant: FuncOp) -> bool:
    """Whether a mutant computes something else on small exact tensors."""
    for seed, sizes in enumerate(SIZES):
        inputs, dims = _inputs(original, sizes, seed)
        left, right = _values(original, inputs, dims), _values(mutant, inputs, dims)
        if left is None or right is None:
            return True
        for a, b in zip(left, right, strict=True):
            finite = np.isfinite(a) & np.isfinite(b)
            scale = np.maximum(np.maximum(np.abs(a), np.abs(b)), 1.0)
            gap = np.where(finite, np.abs(a - b), 0.0)
            if np.any(gap[finite] > 1e-7 * scale[finite]) or np.any(np.isfinite(a) & ~np.isfinite(b)):
                return True
    return False


@cache
def everything() -> tuple[Case, ...]:
    """Every mutant of every proved pair that counts, in a fixed random order."""
    return tuple(_all_cases())


def _all_cases() -> Iterator[Case]:
    order = random.Random(11)
    names = [n for n, *_ in goals()]
    if not AUDIT:
        names = order.sample(names, 20)
    pairs: dict[str, tuple[FuncOp, FuncOp]] = {}
    edits: list[tuple[str, tuple[int, str, str]]] = []
    for name in names:
        for title, square in ((name, False), (f"{name}, square", True)):
            pair = _functions(name, square)
            if pair is not None:
                pairs[title] = pair
                edits += [(title, p) for p in places(pair[1]) if not square or p[1] in SQUARE]
    order.shuffle(edits)
    taken: Counter[tuple[str, str]] = Counter()
    for title, (position, kind, text) in edits:
        before, after = pairs[title]
        # No kind and no pair takes more than its share.
        if taken[title, kind] >= PER_KIND:
            continue
        mutant = mutated(after, position, kind, text)
        if mutant is not None and (kind == CAST or differs(after, mutant.function)):
            taken[title, kind] += 1
            yield Case(title, before, mutant)
            if not AUDIT and sum(taken.values()) >= 60:
                return


CAST = "cast inserted"
SQUARE = ("axis", "permutation", "broadcast", "contraction", "operands")
PER_KIND = 3


@pytest.fixture(scope="module")
def cases() -> tuple[Case, ...]:
    return everything()


def _split(title: str, verdicts: list[tuple[str, str]]) -> None:
    counts = Counter(verdicts)
    print(f"\n{title}")
    for kind in sorted({k for k, _ in counts}):
        print(f"  {kind:<14} " + ", ".join(f"{v}: {counts[kind, v]}" for v in ("refuted", "unknown", "proved")))


def test_mutants_with_the_filter(cases: tuple[Case, ...]) -> None:
    counted = [c for c in cases if c.mutant.kind != CAST]
    assert len(counted) >= (500 if AUDIT else 40)
    verdicts: list[tuple[str, str]] = []
    missed: list[str] = []
    for case in counted:
        clear_cache()
        verdict = prove_functions(case.before, case.mutant.function)
        verdicts.append((case.mutant.kind, verdict.verdict))
        assert verdict.verdict != "proved", (case.pair, case.mutant.text)
        if verdict.verdict != "refuted":
            missed.append(f"{case.pair}: {case.mutant.text}: {verdict.reason}")
    _split("with the filter", verdicts)
    print("\n".join(missed))
    assert len(missed) <= 0.03 * len(counted), missed


def test_mutants_without_the_filter(cases: tuple[Case, ...]) -> None:
    verdicts: list[tuple[str, str]] = []
    for case in cases:
        clear_cache()
        verdict = prove_functions(case.before, case.mutant.function, use_filter=False)
        verdicts.append((case.mutant.kind, verdict.verdict))
        assert verdict.verdict != "proved", (case.pair, case.mutant.text)
    _split("without the filter", verdicts)
