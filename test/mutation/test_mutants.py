# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Wrong versions of what passes make: none may be proved, in whatever way it is asked.

A seeded sample in an ordinary run, all of them under `make audit`, which also writes how they were found out to
`out/audit/mutation.md` (`-s` prints it).
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from audit import AUDIT
from mutation.catalogue import MUTANTS, Mutant
from mutation.edits import Stale
from mutation.harness import TABLE, Outcome, differ, record, recorded, register_pass, run_mutant, table
from mutation.programs import (
    KERNEL,
    PROGRAMS,
    STAGES,
    around,
    function_of,
    kernel_of,
    parameters_of,
    sizes_of,
    source_of,
)

from axon_mlir.autotune.exact_check import check_kernel
from axon_mlir.host.verification import find_errors

SAMPLE, SEED = 20, 20240611

KINDS = {
    "index": "an offset",
    "bound": "a loop's bounds",
    "step": "a loop's step",
    "extent": "how much is read, written or made",
    "operator": "a scalar function",
    "operand order": "operands that do not commute, or another value",
    "accumulate": "whether and how a value is added to",
    "fold monoid": "what is folded by, and what a fold begins with",
    "layout": "which axis runs along which",
    "dropped store": "a result that nobody writes",
    "dropped term": "a part of the formula",
    "immediate": "a number or a size in an instruction",
    "constant": "a number or a size in a formula",
    "attribute": "axes, permutations",
    "storage": "addresses, banks, sizes of buffers",
}
"""What mutants change."""


def chosen() -> list[str]:
    """All mutants, or two of each pass and some more."""
    if AUDIT:
        return list(MUTANTS)
    source = random.Random(SEED)
    picked: set[str] = set()
    for stage in STAGES:
        picked |= set(source.sample(_verifying(stage), 2))
    rest = [m for m in MUTANTS if m not in picked]
    picked |= set(source.sample(rest, max(0, SAMPLE - len(picked))))
    return [m for m in MUTANTS if m in picked]


def _verifying(stage: str) -> list[str]:
    return [n for n, m in MUTANTS.items() if m.stage == stage and m.kind not in ("storage", "attribute")]


CHOSEN = chosen()
PAIRS = sorted({(m.program, m.stage) for m in map(MUTANTS.__getitem__, CHOSEN)})

_outcomes: list[Outcome] = []


@pytest.fixture(scope="module", autouse=True)
def report() -> Iterator[None]:
    """Write and print the split when a process is through with its mutants."""
    yield
    print("\n" + table(_outcomes))
    if AUDIT:
        TABLE.parent.mkdir(parents=True, exist_ok=True)
        TABLE.write_text(table(recorded()), encoding="utf-8")


@pytest.mark.parametrize("name", CHOSEN)
def test_a_mutant_is_found_out(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    register_pass(monkeypatch)
    outcome = run_mutant(MUTANTS[name], tmp_path)
    _outcomes.append(outcome)
    if AUDIT:
        record(outcome)
    assert outcome.difference or not outcome.verifies, "computes the same: no mutant"
    assert outcome.caught, "\n".join(f"{way}: {outcome.ways[way]}: {text}" for way, text in outcome.messages.items())


@pytest.mark.parametrize(("program", "stage"), PAIRS)
def test_what_is_mutated_is_right(program: str, stage: str) -> None:
    if stage == KERNEL:
        if AUDIT:
            assert not check_kernel(kernel_of(program), function_of(source_of(program)), "trn2")
        return
    spec = PROGRAMS[program]
    before, after = around(program, stage)
    source = function_of(before, spec.function)
    names = [f.sym_name.data for f in after.ops] if stage == "nu-extract" else [None]
    for name in names:
        target = function_of(after, name)
        assert differ(source, target, sizes_of(spec, source), parameters_of(spec, source, target)) is None


def test_there_are_enough() -> None:
    per_stage = Counter(m.stage for m in MUTANTS.values())
    assert sum(per_stage.values()) >= 70
    assert all(per_stage[stage] >= 3 for stage in STAGES)
    assert {m.kind for m in MUTANTS.values()} == set(KINDS)
    assert len(CHOSEN) >= SAMPLE


def test_every_mutant_finds_what_it_changes() -> None:
    """Passes change, and the sample would not tell of a mutant that has nothing left to change."""
    stale: list[str] = []
    for name, mutant in MUTANTS.items():
        try:
            if mutant.edit is not None:
                mutant.edit(around(mutant.program, mutant.stage)[1].clone())
            elif mutant.text is not None:
                mutant.text(kernel_of(mutant.program))
        except Stale as error:
            stale.append(f"{name}: {error}")
    assert not stale, "\n".join(stale)


@pytest.mark.skipif(not AUDIT, reason="runs every pass: make audit")
def test_enough_of_them_verify() -> None:
    verify: Counter[str] = Counter()
    for mutant in MUTANTS.values():
        verify[mutant.stage] += _verifies(mutant)
    assert sum(verify.values()) >= 60
    assert all(verify[stage] >= 3 for stage in STAGES if stage != KERNEL)


def _verifies(mutant: Mutant) -> bool:
    if mutant.edit is None:
        return False
    module = around(mutant.program, mutant.stage)[1].clone()
    mutant.edit(module)
    return not find_errors(module)
