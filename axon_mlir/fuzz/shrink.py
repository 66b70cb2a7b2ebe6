# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Smaller programs that fail in the same way: fewer outputs and statements, parameters for values, shorter axes.

What a smaller program has to be is well typed for NumPy and finite; whether it still fails is for the caller to say.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from axon_mlir.fuzz.program import PARAMETERS, Array, Input, Program, Step

SMALL = (1, 2, 3, 5)
"""Sizes that an axis is shortened to."""


def shrink(program: Program, fails: Callable[[Program], bool], *, seconds: float = 120.0, trials: int = 200) -> Program:
    """The smallest program found that fails, within a budget; nothing in the search is random."""
    ends = time.process_time() + seconds
    seen = {program.source()}
    while True:
        for candidate in _candidates(program):
            text = candidate.renamed().source(" ".join(candidate.specs))
            if text in seen or _runs(candidate) is None:
                continue
            seen.add(text)
            if trials <= 0 or time.process_time() > ends:
                return program.renamed()
            trials -= 1
            if fails(candidate.renamed()):
                program = candidate.renamed()
                break
        else:
            return program.renamed()


def _candidates(program: Program) -> Iterator[Program]:
    """Smaller programs, those that leave out most first."""
    known = _values(program)
    if len(program.outputs) > 1:
        for name in program.outputs:
            yield replace(program, outputs=(name,)).pruned()
    for step in program.steps[:-1]:
        yield replace(program, outputs=(step.out,)).pruned()
    for step in reversed(program.steps):
        if step.out in program.outputs and len(program.steps) == 1:
            continue
        found = _as_parameter(program, step, known)
        if found is not None:
            yield found
        for operand in step.operands:
            if _alike(known.get(operand), known.get(step.out)):
                yield _renamed_use(program, step.out, operand)
    for size in sorted({n for i in program.inputs for n in i.shape or () if n > 1}, reverse=True):
        for smaller in SMALL:
            if smaller < size:
                yield replace(program, inputs=tuple(_resized(i, size, smaller) for i in program.inputs))
    for n, given in enumerate(program.inputs):
        if given.dtype in ("bf16", "f16"):
            inputs = list(program.inputs)
            inputs[n] = replace(given, dtype="f32")
            yield replace(program, inputs=tuple(inputs))


def _as_parameter(program: Program, step: Step, known: dict[str, Array]) -> Program | None:
    """The program with a parameter in the place of a statement."""
    value = known.get(step.out)
    used = {i.name for i in program.inputs}
    free = [name for name in PARAMETERS if name not in used]
    if value is None or not free or step.out in program.outputs:
        return None
    floats = next((i.dtype for i in program.inputs if i.dtype in ("bf16", "f16")), "f32")
    dtype = {"f": floats, "i": "i32", "b": "i1"}.get(value.dtype.kind)
    if dtype is None:
        return None
    steps = tuple(s for s in program.steps if s is not step)
    inputs = (*program.inputs, Input(free[0], dtype, value.shape))
    return _renamed_use(replace(program, inputs=inputs, steps=steps), step.out, free[0])


def _renamed_use(program: Program, old: str, new: str) -> Program:
    """The program with another value in the place of one."""
    steps = tuple(replace(s, operands=tuple(new if o == old else o for o in s.operands)) for s in program.steps)
    outputs = tuple(dict.fromkeys(new if o == old else o for o in program.outputs))
    return replace(program, steps=steps, outputs=outputs).pruned()


def _resized(given: Input, size: int, smaller: int) -> Input:
    if given.shape is None:
        return given
    return replace(given, shape=tuple(smaller if n == size else n for n in given.shape))


def _alike(a: Array | None, b: Array | None) -> bool:
    return a is not None and b is not None and a.shape == b.shape and a.dtype.kind == b.dtype.kind


def _values(program: Program) -> dict[str, Array]:
    """Every value of the program, on its first arguments."""
    arrays = program.arguments(0)
    every = replace(program, outputs=tuple(s.out for s in program.steps))
    made = every.run(arrays) if program.steps else []
    known = dict(zip((s.out for s in program.steps), made, strict=True))
    return known | {i.name: a for i, a in zip(program.inputs, arrays, strict=True)}


def _runs(program: Program) -> list[Array] | None:
    """What the program returns; None when NumPy refuses it, or the result is not finite."""
    if not program.steps or not program.inputs:
        return None
    try:
        results = program.run(program.arguments(0))
    except (ValueError, IndexError, TypeError):
        return None
    return results if all(r.size and np.all(np.isfinite(r.astype(float))) for r in results) else None
