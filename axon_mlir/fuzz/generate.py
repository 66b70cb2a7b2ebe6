# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The sequence of random programs that a seed stands for."""

from __future__ import annotations

import random

from axon_mlir.fuzz.draft import Draft
from axon_mlir.fuzz.operators import RULES
from axon_mlir.fuzz.program import Program

SIZES = (1, 2, 3, 4, 5, 7, 8, 16, 17, 33, 64, 65, 128, 129, 130)
"""Sizes of axes, around what a tile holds; few in one program, so that shapes meet."""
RANKS = (1, 2, 2, 2, 2, 2, 2, 3, 3, 3, 4, 5)
TYPES = ("f32", "f32", "f32", "bf16", "bf16", "f16")
COUNTS = (2, 20)
"""How many operations a program may have."""
ATTEMPTS = 40
"""How many statements may be tried for one."""


def generate(seed: int, number: int, counts: tuple[int, int] = COUNTS) -> Program:
    """The program of that number in the sequence that a seed stands for."""
    source = random.Random(f"{seed}:{number}")
    while True:
        program = _grow(source, min(source.randint(*counts), source.randint(*counts)))
        if program is not None and len(program.steps) >= counts[0]:
            return program


def _grow(source: random.Random, count: int) -> Program | None:
    draft = Draft(source, source.choice(TYPES), tuple(source.choice(SIZES) for _ in range(3)))
    for _ in range(source.choice((1, 1, 2))):
        draft.input(draft.shape(source.choice(RANKS)))
    rules, weights = zip(*RULES.items(), strict=True)
    for _ in range(count * ATTEMPTS):
        if len(draft.steps) >= count:
            break
        (rule,) = source.choices(rules, weights)
        made = rule(draft)
        if made is not None:
            draft.take(made)
    used = {name for step in draft.steps for name in step.operands}
    ends = [s.out for s in draft.steps if s.out not in used and draft.values[s.out].varies]
    if not ends:
        return None
    chosen = [*source.sample(ends[:-1], min(len(ends) - 1, source.choice((0, 0, 1, 2)))), ends[-1]]
    return Program(tuple(draft.inputs), tuple(draft.steps), tuple(chosen)).pruned().renamed()
