# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random programs: the same for a seed, defined, typed, of all operators; smaller ones for failures."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from audit import cases

from axon_mlir.fuzz.draft import Draft, Made
from axon_mlir.fuzz.generate import generate
from axon_mlir.fuzz.operators import RULES
from axon_mlir.fuzz.program import FLOATS, Input, Program, Step, operations
from axon_mlir.fuzz.shrink import shrink
from axon_mlir.fuzz.trial import check_trace, run_trial

COUNT = cases(150, 5000)


@pytest.fixture(scope="module")
def programs() -> list[Program]:
    return [generate(7, number) for number in range(COUNT)]


def test_a_number_is_a_program(programs: list[Program]) -> None:
    assert [generate(7, n) for n in (3, 1, 2)] == [programs[n] for n in (3, 1, 2)]
    assert generate(8, 1) != programs[1]
    assert len({p.source() for p in programs}) > 0.95 * COUNT


def test_programs_are_finite_and_well_conditioned(programs: list[Program]) -> None:
    for program in programs[:150]:
        arrays = program.arguments(0)
        assert 2 <= len(program.steps) <= 20
        for wide, narrow in zip(program.run(arrays), program.run(arrays, np.float32), strict=True):
            assert np.all(np.isfinite(wide)) and wide.shape == narrow.shape and wide.dtype.kind == narrow.dtype.kind
            if wide.dtype.kind == "f":
                # Arguments of another position are other numbers than those that the draft was made with.
                assert np.linalg.norm(np.ravel(narrow - wide)) <= 1e-4 * np.linalg.norm(np.ravel(wide)) + 1e-6


def test_programs_are_of_all_operators_types_and_ranks(programs: list[Program]) -> None:
    called = Counter(name for p in programs for name in operations(p.steps))
    expected = (
        "exp log sqrt tanh sigmoid silu gelu erf sin cos abs sign square reciprocal power maximum minimum floor take "
        "where clip astype transpose reshape concatenate stack split pad repeat tile expand_dims squeeze broadcast_to "
        "cumsum tril triu sum mean max min prod var any all matmul einsum tensordot softmax norm copy zeros_like argmax"
    ).split()
    if COUNT >= 5000:
        assert not [name for name in expected if not called[name]]
    assert sum(called[name] > 0 for name in expected) > 0.6 * len(expected)
    assert {i.dtype for p in programs for i in p.inputs} >= {*FLOATS, "i1"}
    assert {len(i.shape or ()) for p in programs for i in p.inputs} >= {1, 2, 3, 4, 5}
    assert any(len(p.outputs) > 1 for p in programs)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_each_rule_makes_statements_that_numpy_takes(rule: object) -> None:
    taken = 0
    for seed in range(60):
        draft = Draft(random.Random(seed), "f32", (3, 4, 6))
        draft.input((4, 6))
        draft.input((6,))
        for _ in range(4):
            made = rule(draft)  # pyright: ignore[reportCallIssue]
            if made is not None:
                taken += draft.take(made)
    assert taken >= 40


def test_a_statement_that_does_not_fit_into_memory_is_not_taken() -> None:
    draft = Draft(random.Random(1), "f32", (3, 4, 6))
    x = draft.input((1 << 20,))
    # 2^40 elements.
    assert not draft.take(Made(f"np.outer({x.name}, {x.name})", (x,)))
    assert draft.take(Made(f"{x.name}[:4] + 1", (x,)))


def test_programs_are_traced_to_what_numpy_computes(programs: list[Program], tmp_path: Path) -> None:
    found = [(n, check_trace(program, tmp_path)) for n, program in enumerate(programs)]
    bad = [(n, outcome.verdict, outcome.reason) for n, outcome in found if outcome.verdict != "passed"]
    assert not [entry for entry in bad if entry[1] != "refused"]
    assert len(bad) <= 0.02 * COUNT, bad


def test_failures_are_made_smaller(programs: list[Program]) -> None:
    def fails(program: Program) -> bool:
        return "cumsum" in operations(program.steps)

    large = [p for p in programs if fails(p) and len(p.steps) > 4]
    assert large
    for program in large[:5]:
        small = shrink(program, fails)
        assert fails(small) and len(small.steps) == len(small.inputs) == len(small.outputs) == 1
        assert max(n for n in small.inputs[0].shape or ()) <= 3
        assert shrink(program, fails) == small


def test_a_kernel_is_judged_by_its_program(tmp_path: Path) -> None:
    # Factors of its product are rounded to f16, which the program says, and no longer what has become of it.
    found = run_trial(generate(7, 53), tmp_path, "trn2")
    assert found.verdict == "passed", found.detail


def test_a_program_that_is_judged_at_smaller_sizes_is_compared_at_its_own(tmp_path: Path) -> None:
    inputs = (Input("x", "f32", (300, 8)), Input("y", "f32", (300, 100)))
    steps = (Step("v0", "np.exp({0})", ("x",)), Step("v1", "np.exp({0})", ("y",)))
    found = run_trial(Program(inputs, steps, ("v0", "v1")), tmp_path, "trn2")
    assert found.verdict == "passed", found


def test_the_root_of_zero_is_refused(tmp_path: Path) -> None:
    steps = (Step("v0", "np.sqrt({0} * 0)", ("x",)),)
    found = run_trial(Program((Input("x", "f32", (4, 8)),), steps, ("v0",)), tmp_path, "trn2")
    assert (found.verdict, found.stage) == ("refused", "numeric") and "inputs of sqrt are outside" in found.reason
