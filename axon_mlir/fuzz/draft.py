# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs in the making: every statement is well typed, defined and well conditioned by construction.

The values of a draft are known on sample inputs, in float64 and in float32. NumPy types a statement, by running it; one
whose result is not finite, or grows, or differs between the two precisions is not taken. What jumps (a floor, a
comparison) is applied to values that no rounding has touched, so that a jump is the program's.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from axon_mlir.fuzz.program import PARAMETERS, Array, Input, Program, Step, compiled, convert, sample

SAMPLES = (0, 1)
"""Seeds of the inputs that a draft is evaluated on."""

ELEMENTS = 20_000
"""Most elements of a value."""
RANK = 5
"""Most axes of a value."""
LARGEST = {"f32": 2000.0, "bf16": 500.0, "f16": 100.0}
"""Largest magnitude of a value on the samples."""
SMALLEST = 1e-6
"""Smallest magnitude that some element of a value must have."""
SPREAD = 3e-6
"""Most relative L2 distance between a value in float32 and in float64."""

PRECISIONS: tuple[type[np.floating[Any]], ...] = (np.float64, np.float32)


@dataclass(frozen=True)
class Value:
    """A value of a draft: on each sample, in each precision."""

    name: str
    arrays: tuple[tuple[Array, ...], ...]
    exact: bool
    """Whether no operation that rounds has touched it."""
    varies: bool
    """Whether it depends on an input."""

    @property
    def array(self) -> Array:
        """On the first sample in float64."""
        return self.arrays[0][0]

    @property
    def shape(self) -> tuple[int, ...]:
        """Its shape."""
        return np.shape(self.array)

    @property
    def ndim(self) -> int:
        """How many axes it has."""
        return len(self.shape)

    @property
    def kind(self) -> str:
        """`f`, `i` or `b`, as NumPy has it."""
        return np.asarray(self.array).dtype.kind

    @property
    def most(self) -> float:
        """The largest magnitude on the samples."""
        return max(float(np.max(np.abs(np.asarray(a[0], dtype=float)), initial=0)) for a in self.arrays)


@dataclass(frozen=True)
class Made:
    """A statement that a rule proposes; `exact`: it does not round."""

    text: str
    operands: tuple[Value, ...]
    exact: bool = False


@dataclass
class Draft:
    """A program in the making."""

    source: random.Random
    dtype: str
    sizes: tuple[int, ...]
    inputs: list[Input] = field(default_factory=list[Input])
    steps: list[Step] = field(default_factory=list[Step])
    values: dict[str, Value] = field(default_factory=dict[str, Value])

    # -- choices ------------------------------------------------------------------------------------------------------

    def choice(self, options: Sequence[Any]) -> Any:
        """One of several."""
        return options[self.source.randrange(len(options))]

    def chance(self, probability: float) -> bool:
        """True, with a probability."""
        return self.source.random() < probability

    def shape(self, rank: int) -> tuple[int, ...]:
        """A shape of the program's sizes."""
        while True:
            found = tuple(self.choice(self.sizes) for _ in range(rank))
            if np.prod(found) <= ELEMENTS:
                return found
            rank = max(1, rank - self.source.randrange(2))

    def any(self, accept: Callable[[Value], bool] = lambda v: True) -> Value | None:
        """A value that is fit, rather one of the last."""
        fit = [v for v in self.values.values() if accept(v)]
        if not fit:
            return None
        used = {name for step in self.steps for name in step.operands}
        fresh = [v for v in fit if v.name not in used]
        if fresh and self.chance(0.75):
            fit = fresh
        return fit[-1] if self.chance(0.5) else self.choice(fit)

    def real(self, rank: int = 0, accept: Callable[[Value], bool] = lambda v: True) -> Value | None:
        """A value of floats with so many axes at least."""
        return self.any(lambda v: v.kind == "f" and v.ndim >= rank and accept(v))

    def axis(self, value: Value) -> int:
        """An axis, counted from either end."""
        return self.source.randrange(-value.ndim, value.ndim)

    def axes(self, value: Value) -> tuple[int, ...]:
        """Some axes, in any order."""
        count = self.source.randint(1, value.ndim)
        found = self.source.sample(range(value.ndim), count)
        return tuple(a - value.ndim if self.chance(0.3) else a for a in found)

    # -- growth -------------------------------------------------------------------------------------------------------

    def input(self, shape: tuple[int, ...] | None, dtype: str | None = None) -> Value:
        """A new parameter."""
        given = Input(PARAMETERS[len(self.inputs)], dtype or self.dtype, shape)
        position = len(self.inputs)
        drawn = [sample(given, seed, position) for seed in SAMPLES]
        arrays = tuple(tuple(convert(a, p) for p in PRECISIONS) for a in drawn)
        self.inputs.append(given)
        value = Value(given.name, arrays, exact=True, varies=True)
        self.values[given.name] = value
        return value

    @property
    def full(self) -> bool:
        """Whether it has parameters enough."""
        return len(self.inputs) >= 5

    def partner(self, shape: tuple[int, ...], accept: Callable[[Value], bool] = lambda v: True) -> Value | None:
        """A value of floats of a certain shape: one that there is, else a new parameter."""
        fit = [v for v in self.values.values() if v.kind == "f" and v.shape == shape and accept(v)]
        if fit and (self.full or self.chance(0.7)):
            return self.choice(fit)
        return None if self.full else self.input(shape)

    def take(self, made: Made) -> bool:
        """Add a statement, if its value is fit."""
        step = Step(f"v{len(self.steps)}", made.text, tuple(v.name for v in made.operands))
        arrays = _evaluate(step, made.operands)
        if arrays is None:
            return False
        exact = made.exact and all(v.exact for v in made.operands)
        value = Value(step.out, arrays, exact, any(v.varies for v in made.operands))
        if not _fit(value, LARGEST[self.dtype]):
            return False
        self.steps.append(step)
        self.values[step.out] = value
        return True


def _evaluate(step: Step, operands: Sequence[Value]) -> tuple[tuple[Array, ...], ...] | None:
    """The value on each sample in each precision; None where NumPy refuses, or it is too large."""
    names = tuple(dict.fromkeys(step.operands))
    program = Program(tuple(Input(n, "f32", ()) for n in names), (step,), (step.out,)).source()
    known = {v.name: v for v in operands}
    out: list[tuple[Array, ...]] = []
    with np.errstate(all="ignore"):
        for number in range(len(SAMPLES)):
            row: list[Array] = []
            for position, precision in enumerate(PRECISIONS):
                given = [_copied(known[n].arrays[number][position]) for n in names]
                try:
                    row.append(compiled(program, precision)(*given))
                except (ValueError, IndexError, TypeError, OverflowError, MemoryError):
                    # What does not fit into the process is not fit, either: it has too many elements.
                    return None
            out.append(tuple(row))
    return tuple(out)


def _copied(array: Array) -> Array:
    # A rank 0 value is a NumPy scalar, which has a copy too.
    return array.copy()


def _fit(value: Value, largest: float) -> bool:
    """Whether a value is small, finite and the same in both precisions."""
    if value.ndim > RANK or not 0 < np.size(value.array) <= ELEMENTS or value.kind not in "fib":
        return False
    if value.kind != "f":
        return value.most <= 100
    for wide, narrow in value.arrays:
        # A value that is nothing but the noise of roundings has no relative error.
        if not np.all(np.isfinite(wide)) or not SMALLEST <= np.max(np.abs(wide)) <= largest:
            return False
        norm = float(np.linalg.norm(np.ravel(wide)))
        if np.asarray(narrow).dtype.kind != "f" or float(np.linalg.norm(np.ravel(narrow - wide))) > SPREAD * norm:
            return False
    return True
