# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Refutation of what evaluation over the reals cannot see: conversions that stand in other places.

Among tensor programs a conversion is an opaque function, about which a proof knows nothing. So one meaning of it for
which the programs differ is enough: rounding to the type. Since values of a narrow type are rounded already, a widening
that is left out would be told apart, too, though no run shows it: the programs must differ as well when every result is
rounded to its type. Rounding jumps, and a last bit may tip it: a difference counts when random inputs, which meet no
jump by chance, show it twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.dialects.func import FuncOp

from axon_mlir.semantics import terms as t
from axon_mlir.semantics.conversions import is_conversion, target_of
from axon_mlir.semantics.denotation import Denotation, dtype_of, input_name
from axon_mlir.semantics.domains import Floats
from axon_mlir.semantics.evaluate import evaluate_comprehension
from axon_mlir.semantics.index import Index, Size, Var
from axon_mlir.semantics.interpret import TooManySteps, round_to
from axon_mlir.semantics.shapes import dtype_name
from axon_mlir.semantics.walk import reads_undefined, subterms
from axon_mlir.smt.reading import read
from axon_mlir.smt.refute import Refutation, run, sample_sizes, shapes_at
from axon_mlir.smt.verdict import Counterexample

_NOISE = 1e-9
"""Relative; below the finest rounding's step (2 ** -24 for f32), well above what float64 loses on the way."""
_SEEDS = 8
_TWICE = 2


class _Rounding(Floats):
    """Float64 in which conversions round."""

    def apply(self, function: str, args: Sequence[np.ndarray]) -> np.ndarray:
        """As always; a conversion rounds to its type."""
        if is_conversion(function):
            return round_to(np.asarray(args[0], dtype=self.dtype), target_of(function))
        return super().apply(function, args)


def refute_conversions(
    before: FuncOp,
    after: FuncOp,
    binding: Mapping[Size | Var, Index],
    denotations: tuple[Denotation, Denotation],
    *,
    narrowed: Mapping[Size | Var, Index] | None = None,
) -> Refutation | None:
    """Look for inputs on which the programs differ, with conversions that round; arguments as those of `refute`."""
    bodies = [c.body for d in denotations for c in d.outputs]
    if not any(isinstance(x, t.Apply) and is_conversion(x.function) for b in bodies for x in subterms(b)):
        return None
    if any(map(reads_undefined, bodies)):
        return None
    dims = next(sample_sizes(before, denotations), None)
    if narrowed or dims is None:
        # Sizes that the second program fixes are met by the other ways.
        return None
    shapes = shapes_at(before, dims)
    if shapes is None:
        return None
    found: list[Refutation] = []
    for seed in range(_SEEDS):
        difference = _difference(before, after, binding, denotations, _inputs(before, shapes, seed), dims)
        found += [difference] if difference is not None else []
        if len(found) == _TWICE:
            return found[0]
    return None


def _inputs(func: FuncOp, shapes: Sequence[tuple[int, ...]], seed: int) -> list[np.ndarray]:
    """Numbers with all bits that their types have."""
    random = np.random.default_rng([seed, 5])
    out: list[np.ndarray] = []
    for arg, shape in zip(func.body.block.args, shapes, strict=True):
        dtype = dtype_of(arg.type) or dtype_name(arg.type)
        if dtype.startswith("i"):
            out.append(random.integers(0, 2 if dtype == "i1" else 4, shape).astype(np.float64))
        else:
            value = random.standard_normal(shape)
            out.append(round_to(np.abs(value) if seed % 2 else value, dtype))
    return out


def _difference(
    before: FuncOp,
    after: FuncOp,
    binding: Mapping[Size | Var, Index],
    denotations: tuple[Denotation, Denotation],
    inputs: list[np.ndarray],
    dims: Mapping[str, int],
) -> Refutation | None:
    """A difference in a result, as terms whose conversions round, and as programs all of whose results do."""
    arrays = {input_name(n): a for n, a in enumerate(inputs)}
    with np.errstate(all="ignore"):
        left, right = ([evaluate_comprehension(c, arrays, dims, _Rounding()) for c in d.outputs] for d in denotations)
        try:
            one = run(read(before), inputs, dims, {}, Floats(), typed=True)
            other = run(read(after), inputs, dims, binding, Floats(), typed=True)
        except TooManySteps:
            return None
    if isinstance(one, str) or isinstance(other, str):
        return None
    for n, (a, b, c, d) in enumerate(zip(left, right, one, other, strict=True)):
        at = _farthest(a, b)
        if at is not None and _farthest(c, d) is not None:
            example = Counterexample(dict(dims), tuple(inputs), n, at, float(a[at]), float(b[at]))
            return Refutation("conversion", "the results differ when conversions round", example)
    return None


def _farthest(a: np.ndarray, b: np.ndarray) -> tuple[int, ...] | None:
    """Where two results differ most, above noise."""
    asked = np.isfinite(a) & np.isfinite(b)
    a, b = np.where(asked, a, 0.0), np.where(asked, b, 0.0)
    gap = np.abs(a - b) / np.maximum(np.maximum(np.abs(a), np.abs(b)), 1e-3)
    if not a.size or np.max(gap) <= _NOISE:
        return None
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(gap)), a.shape))
