# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Edits of one side of proved pairs: none is proved, and nearly all are refuted.

The pairs are the goals of the benchmarks and a program for every operation, each with itself and with its form in
primitives. A mutant counts when it differs from what it was made of when both are run in float64: the edits that change
nothing are found by evaluation, there is no list of them. A conversion that stands elsewhere does not show there, since
conversions are the identity of the reals: such mutants are run with conversions that round, and nothing else that does
(softmax with its maximum rounded is softmax of the reals, whatever rounds).
"""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from audit import AUDIT
from mutation.operators import PROGRAMS, Builder, build, decomposed
from mutation.proof_edits import Mutant, mutated, places
from xdsl.dialects.func import FuncOp

from axon_mlir.dialects.tensor_hl import OPERATIONS
from axon_mlir.errors import AxonError
from axon_mlir.frontend.numpy_trace import trace
from axon_mlir.semantics.conversions import denote, is_conversion, target_of
from axon_mlir.semantics.denotation import UNDEFINED, dtype_of, input_name
from axon_mlir.semantics.domains import Float64, Floats
from axon_mlir.semantics.evaluate import evaluate_comprehension
from axon_mlir.semantics.index import Size, evaluate
from axon_mlir.semantics.interpret import argument_shapes, evaluate_function, round_to
from axon_mlir.smt.equivalence import prove_functions
from axon_mlir.smt.solver import clear_cache
from axon_mlir.smt.verdict import Verdict
from benchmarks.prove import goals, specs, traced

SIZES = (
    (2, 3, 5, 4, 6, 2, 3, 5),
    (3, 2, 4, 5, 7, 4, 2, 3),
    (5, 4, 3, 2, 2, 3, 5, 4),
    (1, 1, 1, 1, 1, 1, 1, 1),
    (4, 4, 4, 4, 4, 4, 4, 4),
)
SEEDS = 3
CASTS = ("cast inserted", "cast removed", "cast moved")
SQUARE = ("axis", "axes exchanged", "permutation", "broadcast", "contraction", "operands", "sizes confused")
"""What needs axes of one size."""
PER_OPERATOR, PER_GOAL = 2, 1
"""No pair gives more mutants of one kind."""
KINDS = {
    "operator", "function", "operands", "dropped", "doubled", "axes exchanged", "mask inverted", "mask shifted", "mask",
    "concat order", "monoid", "predicate", "strictness", "axis", "permutation", "broadcast", "contraction", "constant",
    "eps dropped", "size", "sizes confused", "padding", "offset", "step", "pairing", "position shifted",
    "range shortened", "scan exclusive", *CASTS,
}  # fmt: skip


@dataclass(frozen=True)
class Pair:
    """Two programs that are proved equal; the second is edited."""

    title: str
    before: FuncOp
    after: FuncOp


@dataclass(frozen=True)
class Case:
    """A mutant of the second program of a pair."""

    pair: str
    before: FuncOp
    mutant: Mutant

    def __str__(self) -> str:
        return f"{self.pair}: {self.mutant.kind}: {self.mutant.text}"


# -- pairs ------------------------------------------------------------------------------------------------------------


def _of_goal(name: str, square: bool) -> Pair | None:
    """Both programs of a goal, if they are proved equal; `square`: with one size for all axes, so that axes can be
    exchanged."""
    _, before, after, of = next(g for g in goals() if g[0] == name)
    if not square:
        pair = Pair(name, traced(before, of), traced(after, of))
    else:
        texts = specs(of)
        if any(re.search(r"[*+1=]", text.partition("[")[2]) or "=" in text for text in texts):
            return None
        texts = [re.sub(r"[A-Z](?=[\],])", "N", text) for text in texts]
        first, second = (next(op for op in trace(f, texts).walk() if isinstance(op, FuncOp)) for f in (before, after))
        pair = Pair(f"{name}, square", first, second)
    return pair if prove_functions(pair.before, pair.after).verdict == "proved" else None


def _of_operator(name: str, square: bool) -> Iterator[Pair]:
    function = build(name, square=square)
    title = f"operator {name}, square" if square else f"operator {name}"
    yield Pair(title, function, function)
    primitive = decomposed(function)
    if str(primitive) != str(function):
        yield Pair(f"{title}, in primitives", function, primitive)


def pairs() -> Iterator[Pair]:
    """Every pair, each operator first; few goals where time is short."""
    for square in (False, True):
        for name in PROGRAMS:
            yield from _of_operator(name, square)
    names = [n for n, *_ in goals()]
    for name in names if AUDIT else random.Random(11).sample(names, 5):
        for square in (False, True):
            pair = _of_goal(name, square)
            if pair is not None:
                yield pair


def test_every_operation_is_in_some_program() -> None:
    there = {op.name.removeprefix("tensor_hl.") for name in PROGRAMS for op in build(name).walk()}
    assert set(OPERATIONS) <= there


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_programs_are_proved_equal_to_their_forms(name: str) -> None:
    for pair in _of_operator(name, False):
        verdict = prove_functions(pair.before, pair.after.clone())
        assert verdict.verdict == "proved", verdict.report()


# -- whether a mutant differs -----------------------------------------------------------------------------------------


class _Rounding(Floats):
    """Float64 in which conversions round."""

    def apply(self, function: str, args: Sequence[np.ndarray]) -> np.ndarray:
        if is_conversion(function):
            return round_to(np.asarray(args[0], dtype=np.float64), target_of(function))
        return super().apply(function, args)


def _inputs(function: FuncOp, sizes: tuple[int, ...], seed: int) -> tuple[list[np.ndarray], dict[str, int]]:
    shapes = argument_shapes(function)
    names = list(dict.fromkeys(str(s) for shape in shapes for d in shape for s in sorted(d.symbols(), key=str)))
    dims = dict(zip(names, sizes, strict=False))
    generator = np.random.default_rng([seed, *sizes])
    out: list[np.ndarray] = []
    for arg, shape in zip(function.body.block.args, shapes, strict=True):
        extents = tuple(int(evaluate(d, {Size(k): v for k, v in dims.items()})) for d in shape)
        dtype = dtype_of(arg.type) or "f32"
        if dtype.startswith("i"):
            out.append(generator.integers(0 if dtype == "i1" else -1, 2 if dtype == "i1" else 5, extents).astype(float))
            continue
        # Small multiples of 1/4 of both signs; a few values, so that there are ties; anything.
        some = (
            generator.integers(-9, 10, extents) / 4.0,
            generator.integers(-1, 2, extents).astype(float),
            generator.standard_normal(extents),
        )
        out.append(np.asarray(some[seed % 3], dtype=np.float64))
    return out, dims


def _values(
    function: FuncOp, inputs: list[np.ndarray], dims: Mapping[str, int], rounding: bool
) -> tuple[list[np.ndarray] | None, bool]:
    """The results, and whether a number has left the range of float64 on the way."""
    left_range: list[str] = []
    with np.errstate(all="ignore", over="call", under="call", call=lambda kind, _: left_range.append(kind)):
        try:
            if rounding:
                arrays = {input_name(n): a for n, a in enumerate(inputs)} | {UNDEFINED: np.asarray(np.nan)}
                terms = denote(function, lowering=False).outputs
                return [evaluate_comprehension(c, arrays, dims, _Rounding()) for c in terms], bool(left_range)
            return evaluate_function(function, inputs, Float64(), sizes=dims), bool(left_range)
        except (AxonError, IndexError, ValueError, ZeroDivisionError):
            return None, False


def differs(original: FuncOp, mutant: FuncOp, *, rounding: bool = False) -> bool:
    """Whether a mutant computes something else on some input; `rounding`: with conversions that round.

    Where only the mutant leaves the range of float64 the run says nothing: softmax with the product of the scores taken
    off instead of their maximum is softmax of the reals.
    """
    for sizes in SIZES:
        for seed in range(SEEDS):
            inputs, dims = _inputs(original, sizes, seed)
            (left, wild), (right, wilder) = (_values(f, inputs, dims, rounding) for f in (original, mutant))
            if left is None or (wilder and not wild):
                continue
            if right is None or any(_apart(a, b) for a, b in zip(left, right, strict=True)):
                return True
    return False


def _apart(a: np.ndarray, b: np.ndarray) -> bool:
    if np.any(np.isfinite(a) & ~np.isfinite(b)):
        return True
    a, b = (np.where(np.isfinite(a), x, 0.0) for x in (a, b))
    return bool(np.any(np.abs(a - b) > 1e-7 * np.maximum(np.maximum(np.abs(a), np.abs(b)), 1.0)))


# -- mutants ----------------------------------------------------------------------------------------------------------


@cache
def everything() -> tuple[Case, ...]:
    """The mutants that count: all, or where time is short a sample in which every kind has its share."""
    order = random.Random(11)
    by_kind: dict[str, list[tuple[Pair, int, str]]] = defaultdict(list)
    for pair in pairs():
        square = ", square" in pair.title
        found: dict[str, list[tuple[int, str]]] = defaultdict(list)
        for position, kind, text in places(pair.after):
            if not square or kind in SQUARE:
                found[kind].append((position, text))
        for kind, mine in found.items():
            order.shuffle(mine)
            by_kind[kind] += [(pair, position, text) for position, text in mine]
    out: list[Case] = []
    for kind, mine in sorted(by_kind.items()):
        order.shuffle(mine)
        taken: Counter[str] = Counter()
        for pair, position, text in mine:
            share = PER_OPERATOR if pair.title.startswith("operator") else PER_GOAL
            if taken[pair.title] >= share or (not AUDIT and taken.total() >= 3):
                continue
            mutant = mutated(pair.after, position, kind, text)
            if mutant is not None and differs(pair.after, mutant.function, rounding=kind in CASTS):
                taken[pair.title] += 1
                out.append(Case(pair.title, pair.before, mutant))
    return tuple(out)


def _table(title: str, cases: tuple[Case, ...], verdicts: list[Verdict]) -> None:
    """The split, and each that is open."""
    counts = Counter((c.mutant.kind, v.verdict) for c, v in zip(cases, verdicts, strict=True))
    print(f"\n{title}: {len(cases)} mutants of {len({c.pair for c in cases})} pairs")
    for kind in sorted({k for k, _ in counts}):
        print(f"  {kind:<16} " + ", ".join(f"{v}: {counts[kind, v]}" for v in ("refuted", "unknown", "proved")))
    for case, verdict in zip(cases, verdicts, strict=True):
        if verdict.verdict != "refuted" and title == "with the filter":
            print(f"  {verdict.verdict}: {case}: {verdict.reason}")


def _verdicts(cases: tuple[Case, ...], *, use_filter: bool) -> list[Verdict]:
    out: list[Verdict] = []
    for case in cases:
        clear_cache()
        out.append(prove_functions(case.before, case.mutant.function, use_filter=use_filter))
    return out


def test_every_kind_of_edit_is_tried() -> None:
    assert {c.mutant.kind for c in everything()} == KINDS
    assert len(everything()) >= (1000 if AUDIT else 70)


def test_mutants_with_the_filter() -> None:
    cases = everything()
    verdicts = _verdicts(cases, use_filter=True)
    _table("with the filter", cases, verdicts)
    assert not [str(c) for c, v in zip(cases, verdicts, strict=True) if v.verdict == "proved"]
    missed = [str(c) for c, v in zip(cases, verdicts, strict=True) if v.verdict != "refuted"]
    assert len(missed) <= 0.03 * len(cases), missed


def test_mutants_without_the_filter() -> None:
    cases = everything()[:: 1 if AUDIT else 2]
    verdicts = _verdicts(cases, use_filter=False)
    _table("without the filter", cases, verdicts)
    assert not [str(c) for c, v in zip(cases, verdicts, strict=True) if v.verdict == "proved"]


DIFFERENT: dict[str, Callable[[], tuple[FuncOp, FuncOp]]] = {
    "other inputs": lambda: (build("add"), build("sub")),
    "a tie": lambda: (build("compare"), _first("compare", "strictness")),
    "a size of its own": lambda: (build("reduce sum"), _first("reduce sum", "range shortened")),
}


def _first(name: str, kind: str) -> FuncOp:
    function = build(name)
    position, _, text = next(p for p in places(function) if p[1] == kind)
    mutant = mutated(function, position, kind, text)
    assert mutant is not None
    return mutant.function


def test_a_number_out_of_range_is_no_difference() -> None:
    def shifted(b: Builder, monoid: str) -> FuncOp:
        x = b.arg("M,N")
        top = b("broadcast", b("reduce", x, monoid=monoid, axes=(1,)), dims=(0,), shape="M,N")
        e = b("exp", b("sub", b("mul", x, b.number(40.0, x)), b("mul", top, b.number(40.0, top))))
        total = b("broadcast", b("reduce", e, monoid="sum", axes=(1,)), dims=(0,), shape="M,N")
        return b.function(b("div", e, total))

    first, second = (shifted(Builder(), m) for m in ("max", "prod"))
    assert prove_functions(first, second, use_filter=False).verdict == "proved"
    assert not differs(first, second)


def test_a_conversion_that_cancels_is_no_difference() -> None:
    def shifted(b: Builder, *, rounded: bool) -> FuncOp:
        x = b.arg("M,N")
        top = b("reduce", x, monoid="max", axes=(1,))
        top = b("cast", b("cast", top, dtype="bf16"), dtype="f32") if rounded else top
        e = b("exp", b("sub", x, b("broadcast", top, dims=(0,), shape="M,N")))
        total = b("broadcast", b("reduce", e, monoid="sum", axes=(1,)), dims=(0,), shape="M,N")
        return b.function(b("div", e, total))

    first, second = (shifted(Builder(), rounded=r) for r in (False, True))
    assert prove_functions(first, second, use_filter=False).verdict == "proved"
    assert not differs(first, second, rounding=True)
    assert differs(build("softmax"), _first("softmax", "cast inserted"), rounding=True)


@pytest.mark.parametrize("programs", DIFFERENT.values(), ids=DIFFERENT)
def test_evaluation_tells_programs_apart(programs: Callable[[], tuple[FuncOp, FuncOp]]) -> None:
    first, second = programs()
    assert differs(first, second)
    assert not differs(first, first.clone())
