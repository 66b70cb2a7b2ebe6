# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether two functions agree in wide floats on a few small inputs, digit by digit.

No proof rests on this alone. It guards the one step that is not about equal terms (`semantics.constants`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from xdsl.dialects.func import FuncOp

from axon_mlir.semantics.domains import Floats
from axon_mlir.semantics.index import Index, Size, Var, evaluate
from axon_mlir.semantics.interpret import argument_shapes, evaluate_function

DIGITS = 1e-9
"""The largest difference, relative to the largest element: four ulp of a double leave fifteen digits."""
SIZES = ((2, 3, 5, 4, 7, 6), (5, 4, 3, 2, 6, 7))
SCALES = (1.0, 0.125, 8.0)


def agree(before: FuncOp, after: FuncOp, mine: Mapping[Size | Var, Index], theirs: Mapping[Size | Var, Index]) -> bool:
    """Whether the functions agree wherever the first is finite; `mine` and `theirs` say what their sizes are."""
    with np.errstate(all="ignore"):
        for inputs, sizes in _samples(before, mine):
            env: dict[Size | Var, int] = {Size(n): v for n, v in sizes.items()}
            other = {str(s): int(evaluate(i, env)) for s, i in theirs.items() if i.symbols() <= set(env)}
            wide = Floats(np.longdouble)
            left = evaluate_function(before, inputs, wide, sizes=sizes)
            right = evaluate_function(after, inputs, wide, sizes={**sizes, **other})
            if not all(_near(a, b) for a, b in zip(left, right, strict=True)):
                return False
    return True


def _samples(func: FuncOp, mine: Mapping[Size | Var, Index]) -> Iterator[tuple[Sequence[np.ndarray], dict[str, int]]]:
    shapes = argument_shapes(func)
    names = sorted({s.name for shape in shapes for d in shape for s in d.symbols() if isinstance(s, Size)})
    for number, scale in enumerate(SCALES):
        values = SIZES[number % len(SIZES)]
        env: dict[Size | Var, int] = {Size(n): values[k % len(values)] for k, n in enumerate(names)}
        env |= {s: int(evaluate(i, env)) for s, i in mine.items() if i.symbols() <= set(env)}
        random = np.random.default_rng(number)
        inputs = [scale * random.standard_normal([int(evaluate(d, env)) for d in shape]) for shape in shapes]
        yield inputs, {str(s): v for s, v in env.items()}


def _near(a: np.ndarray, b: np.ndarray) -> bool:
    asked = np.isfinite(a)
    size = np.abs(a[asked]).max(initial=0.0)
    return bool(np.all(~asked | (np.isfinite(b) & (np.abs(a - b) <= DIGITS * size))))
