# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Refutation by running both programs: several small tensors at pairwise different sizes, both signs, zeros.

A disagreement counts when it stands in a wider float too (rounding shrinks there, a real difference does not). Where
the first program is not finite nothing is asked; where only the second is not, it is undefined or reads memory that
nobody has written.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

import numpy as np
from xdsl.dialects.func import FuncOp

from axon_mlir.errors import AxonError
from axon_mlir.semantics import terms as t
from axon_mlir.semantics.constants import constants_of
from axon_mlir.semantics.denotation import Denotation, dtype_of
from axon_mlir.semantics.domains import Float64, Floats, NotInDomain
from axon_mlir.semantics.index import Div, Index, Min, Size, Var, evaluate
from axon_mlir.semantics.interpret import TooManySteps, Unnumbered, argument_shapes
from axon_mlir.semantics.shapes import dtype_name
from axon_mlir.semantics.walk import subterms
from axon_mlir.smt.reading import Reading
from axon_mlir.smt.verdict import Counterexample

TOLERANCE = 1e-9
"""Relative; wide enough for roundings in float64, narrow enough for a constant that is right to single precision."""
_SMALL = (2, 3, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12)
_RAGGED = (3, 5, 1, 7, 2, 9, 4, 11)
_FEW = 4
_LONG = 30
"""A loop over at most so many elements is taken in steps of two or three."""
_TRIPS = 6
"""About how often a loop over a fixed length is taken."""
_POINTS = 2000
"""Sizes whose product is larger are tried with one input only."""
_ELEMENTS = 3_000_000
"""Sizes at which more elements than this would be read or written are left out."""
_LARGEST = 1 << 27
"""Programs with arguments of more elements, all in doubles, are not run."""


@dataclass(frozen=True)
class Refutation:
    """A disagreement that replays."""

    reason: str
    detail: str
    counterexample: Counterexample


def refute(
    before: Reading,
    after: Reading,
    binding: Mapping[Size | Var, Index],
    denotations: tuple[Denotation, Denotation] | None,
    *,
    narrowed: Mapping[Size | Var, Index] | None = None,
    large: bool = False,
    few: bool = False,
) -> Refutation | None:
    """Look for inputs on which the functions differ.

    `binding` maps the size symbols of the second function to those of the first, `narrowed` those of the first that
    the second fixes. `large`: at sizes that take every loop twice, which may be slow, instead of small ones.
    `few`: with one input at one assignment of sizes, for a pair that is expected to be equal.
    """
    samples = sample_sizes(before.function, denotations, large=large)
    for sampled in islice(samples, 1) if few else samples:
        dims = _narrowed(sampled, narrowed)
        shapes = shapes_at(before.function, dims)
        if shapes is None or sum(map(math.prod, shapes)) > _LARGEST:
            continue
        big = max((int(np.prod(s)) for s in shapes), default=0) > 10_000 or math.prod(dims.values()) > _POINTS
        for seed in range(1 if big or few else 4):
            inputs = sample_inputs(before.function, shapes, seed)
            found = compare(before, after, inputs, dims, binding)
            if found is not None:
                return found
    return None


def refute_specially(
    before: Reading,
    after: Reading,
    binding: Mapping[Size | Var, Index],
    denotations: tuple[Denotation, Denotation] | None,
    *,
    narrowed: Mapping[Size | Var, Index] | None = None,
) -> Refutation | None:
    """Look for inputs where programs differ that agree almost everywhere: zeros and rows of zeros, all combinations of
    signs, the programs' own constants as inputs, sizes of 1 and equal sizes, each small size."""
    pool = _pool(denotations)
    for count, sampled in enumerate(_special_sizes(before.function, denotations)):
        dims = _narrowed(sampled, narrowed)
        shapes = shapes_at(before.function, dims)
        if shapes is None or math.prod(dims.values()) > _POINTS:
            continue
        few = count >= _MANY_SIZES
        inputs = [
            sample_inputs(before.function, shapes, seed) for seed in (range(100, 101) if few else range(100, 116))
        ]
        inputs += [_from_pool(before.function, shapes, pool, seed) for seed in range(2 if few else 24)]
        for arrays in inputs:
            found = compare(before, after, arrays, dims, binding)
            if found is not None:
                return found
    return None


_MANY_SIZES = 4
"""Of how many assignments of sizes every kind of input is tried."""


def _special_sizes(before: FuncOp, denotations: tuple[Denotation, Denotation] | None) -> Iterator[dict[str, int]]:
    usual = list(sample_sizes(before, denotations))
    yield from usual[:2]
    if not usual:
        return
    for size in (1, 3):
        yield dict.fromkeys(usual[0], size)
    for name in usual[0]:
        yield from ({**usual[0], name: size} for size in range(1, 9))


def _pool(denotations: tuple[Denotation, Denotation] | None) -> list[float]:
    """Values at which something may happen: zero, one, the programs' constants, and what lies around them."""
    terms = [c.body for d in denotations or () for c in d.outputs]
    constants = sorted({float(c) for c in constants_of(terms) if abs(c) < 1e6})[:16]
    found = [0.0, 1.0, 2.0, *constants, *(c + 1 for c in constants), *(1 / c for c in constants)]
    return [*found, *(-x for x in found)]


def _from_pool(func: FuncOp, shapes: Sequence[tuple[int, ...]], pool: Sequence[float], seed: int) -> list[np.ndarray]:
    """Floats from a pool: each input one value, several, or some among the usual ones; other types stay as usual."""
    random = np.random.default_rng((seed, 77))
    out: list[np.ndarray] = []
    for arg, usual, shape in zip(func.body.block.args, sample_inputs(func, shapes, seed), shapes, strict=True):
        if (dtype_of(arg.type) or dtype_name(arg.type)).startswith("i"):
            out.append(usual)
            continue
        kind = random.integers(0, 4)
        value = random.choice(pool, shape if kind else ()) * np.ones(shape)
        if kind == 3:
            value = np.where(random.random(shape) < 0.5, value, usual)
        out.append(value)
    return out


def _narrowed(dims: dict[str, int], narrowed: Mapping[Size | Var, Index] | None) -> dict[str, int]:
    """The sizes, where the second function fixes some of them."""
    env: dict[Size | Var, int] = {Size(n): v for n, v in dims.items()}
    fixed: dict[str, int] = {}
    for symbol, term in (narrowed or {}).items():
        for s in term.symbols() - set(env):
            env[s] = _SMALL[len(env) % len(_SMALL)]
        fixed[str(symbol)] = int(evaluate(term, env))
    return dims | fixed


def sample_sizes(
    before: FuncOp, denotations: tuple[Denotation, Denotation] | None, *, large: bool = False
) -> Iterator[dict[str, int]]:
    """Numbers for the size symbols of both programs, pairwise different: small ones, or such as take loops twice."""
    arguments = [str(s) for shape in argument_shapes(before) for d in shape for s in _sorted(d)]
    names = list(dict.fromkeys(arguments))
    steps: dict[str, int] = {}
    lengths: dict[str, set[Index]] = {}
    parameters: set[str] = set()
    for d in denotations or ():
        for i in _indices(d):
            parameters |= {s.name for s in i.symbols() if isinstance(s, Size) and s.name not in names}
            _needed(i, steps, lengths)
    free = sorted(parameters)
    small = {n: _SMALL[k % len(_SMALL)] + 12 * (k // len(_SMALL)) for k, n in enumerate(names)}

    def tiles(least: int, dims: Mapping[str, int]) -> dict[str, int]:
        """A number for each step: small, but a loop over a length that is large for the numbers that the program has
        is taken a few times."""
        env: dict[Size | Var, int] = {Size(n): v for n, v in dims.items()}
        out: dict[str, int] = {}
        for n in free:
            found = [int(evaluate(i, env)) for i in lengths.get(n, ()) if i.symbols() <= env.keys()]
            length = max(found, default=0)
            out[n] = max(least, -(-length // _TRIPS)) if length > _LONG else least
        return out

    if not large:
        yield small | tiles(2, small)
        if len(names) > 1:
            turned = dict(zip(names, reversed(small.values()), strict=True))
            yield turned | tiles(3, turned)
        elif free:
            longer = {n: v + 3 for n, v in small.items()}
            yield longer | tiles(3, longer)
        if names:
            # Other sizes, or with many dimensions the same ones turned: all of them meet in one loop nest.
            others = [_SMALL[(k + 4) % len(_SMALL)] + 12 * (k // len(_SMALL)) for k in range(len(names))]
            if len(names) > _FEW:
                others = [*list(small.values())[2:], *list(small.values())[:2]]
            turned = dict(zip(names, others, strict=True))
            yield turned | tiles(2, turned)
        return
    if any(steps.get(n, 0) > 1 for n in names):
        twice = {n: steps.get(n, 1) + _RAGGED[k % len(_RAGGED)] + k // len(_RAGGED) for k, n in enumerate(names)}
        shapes = shapes_at(before, twice)
        if shapes is not None and sum(int(np.prod(s)) for s in shapes) <= _ELEMENTS:
            yield twice | {n: max(steps.values()) for n in free}


def _sorted(i: Index) -> list[Size | Var]:
    return sorted(i.symbols(), key=str)


def _indices(d: Denotation) -> Iterator[Index]:
    for c in d.outputs:
        for y in subterms(c.body):
            match y:
                case t.Fold(_, _, n, _):
                    yield n
                case t.Read(_, indices):
                    yield from indices
                case t.Select(condition, _, _):
                    yield from t.compared_indices(condition)
                case _:
                    pass
    for o in d.obligations:
        for h in (*o.hypotheses, o.goal):
            yield from t.compared_indices(h)


def _needed(i: Index, steps: dict[str, int], lengths: dict[str, set[Index]]) -> None:
    """For each size that is divided by a number, the largest such number; for each size that divides, what it does."""
    for m, _ in i.terms:
        for a in m:
            match a:
                case Div(n, d):
                    if d.constant is not None:
                        for s in n.symbols():
                            if isinstance(s, Size):
                                steps[s.name] = max(steps.get(s.name, 0), d.constant)
                    elif isinstance(d.atom, Size):
                        lengths.setdefault(d.atom.name, set()).add(n)
                    _needed(n, steps, lengths)
                case Min(args):
                    for x in args:
                        # A size that is compared with a number.
                        number = abs(dict(x.terms).get((), 0))
                        for s in x.symbols():
                            if isinstance(s, Size) and number > 1:
                                steps[s.name] = max(steps.get(s.name, 0), number)
                        _needed(x, steps, lengths)
                case _:
                    pass


def shapes_at(func: FuncOp, dims: Mapping[str, int]) -> list[tuple[int, ...]] | None:
    """The shapes of the arguments at these sizes; None where a size is missing."""
    env: dict[Size | Var, int] = {Size(n): v for n, v in dims.items()}
    try:
        return [tuple(int(evaluate(d, env)) for d in shape) for shape in argument_shapes(func)]
    except KeyError:
        return None


def sample_inputs(func: FuncOp, shapes: Sequence[tuple[int, ...]], seed: int) -> list[np.ndarray]:
    """Inputs of both signs with zeros; larger seeds give more special ones."""
    from axon_mlir.semantics.denotation import dtype_of
    from axon_mlir.semantics.shapes import dtype_name

    out: list[np.ndarray] = []
    for n, (arg, shape) in enumerate(zip(func.body.block.args, shapes, strict=True)):
        random = np.random.default_rng([seed, n])
        dtype = dtype_of(arg.type) or dtype_name(arg.type)
        if dtype == "i1":
            out.append(random.integers(0, 2, shape).astype(np.float64))
            continue
        if dtype.startswith("i"):
            out.append(random.integers(-3, 4, shape).astype(np.float64))
            continue
        scale = (1.0, 3.0, 0.01, 0.5)[seed % 4]
        value = random.integers(-64, 65, shape) / 32.0 * scale
        if seed % 4 == 1:
            value = np.abs(value) + 0.125
        if seed % 4 == 3:
            value = np.where(random.random(shape) < 0.25, 0.0, value)
        if seed >= 100:
            value = _special(value, shape, (seed - 100) % 8, random)
        out.append(np.asarray(value, dtype=np.float64))
    return out


def _special(value: np.ndarray, shape: tuple[int, ...], kind: int, random: np.random.Generator) -> np.ndarray:
    value = np.array(value, dtype=np.float64)
    match kind:
        case 0:
            return np.zeros(shape)
        case 1:
            if value.ndim:
                value[(0,) * (value.ndim - 1)] = 0.0
            return value
        case 2:
            if value.ndim:
                value[..., 0] = 0.0
            return value
        case 3:
            return np.ones(shape)
        case 4:
            return -np.abs(value) - 1
        case 5:
            return np.full(shape, -1.0)
        case 6:
            return np.asarray(np.where(random.random(shape) < 0.5, 0.0, value))
        case _:
            return np.abs(value) + 1


def compare(
    before: Reading,
    after: Reading,
    inputs: Sequence[np.ndarray],
    dims: Mapping[str, int],
    binding: Mapping[Size | Var, Index],
) -> Refutation | None:
    """Run both; the first confirmed disagreement. Where a run is too long nothing is said."""
    with np.errstate(all="ignore"), suppress(TooManySteps):
        left = run(before, inputs, dims, {}, Float64())
        if isinstance(left, str):
            # The first program cannot run here: nothing is asked of the second.
            return None
        right = run(after, inputs, dims, binding, Float64())
        if isinstance(right, str):
            example = Counterexample(dict(dims), tuple(inputs), 0, (), float(left[0].reshape(-1)[0]), float("nan"))
            return Refutation("stops", right, example)
        for n, (a, b) in enumerate(zip(left, right, strict=True)):
            if a.shape != b.shape:
                detail = f"result {n} has shape {a.shape} before and {b.shape} after"
                return Refutation("shape", detail, Counterexample(dict(dims), tuple(inputs), n, (), a.size, b.size))
            index = _difference(a, b)
            if index is None:
                continue
            if _through_infinity(before, inputs, dims):
                return None
            x, y = float(a[index]), float(b[index])
            example = Counterexample(dict(dims), tuple(inputs), n, index, x, y)
            if not np.isfinite(y):
                reason = "unwritten" if _has_garbage(after.function) else "definedness"
                return Refutation(reason, f"result {n} is {y} where it is {x} before", example)
            if _confirmed(before, after, inputs, dims, binding, n, index, x - y):
                return Refutation("value", "the results differ", example)
    return None


def _through_infinity(program: Reading, inputs: Sequence[np.ndarray], dims: Mapping[str, int]) -> bool:
    """Whether the first program divides by zero on the way to a finite result (`1 / (1 / x)` at 0): then it is not
    defined there. With choices in it nothing is said, since both branches are evaluated."""
    if any(op.name.endswith((".select", ".if")) for op in program.function.walk()):
        return False
    try:
        with np.errstate(divide="raise", invalid="raise"):
            # Anew: what is known of it says nothing of the way.
            run(Reading(program.function), inputs, dims, {}, Float64())
    except FloatingPointError:
        return True
    return False


def run(
    program: Reading,
    inputs: Sequence[np.ndarray],
    dims: Mapping[str, int],
    binding: Mapping[Size | Var, Index],
    domain: Floats,
    *,
    typed: bool = False,
) -> list[np.ndarray] | str:
    """The results, or why the program cannot run on these inputs; `typed`: every result is rounded to its type. A run
    that is too long is an error that says nothing of the program: TooManySteps."""
    env: dict[Size | Var, int] = {Size(n): v for n, v in dims.items()}
    sizes = dict(dims)
    for symbol, term in binding.items():
        if all(s in env for s in term.symbols()):
            sizes[str(symbol)] = int(evaluate(term, env))
    for _ in range(16):
        try:
            return program.results(inputs, domain, sizes, typed=typed)
        except Unnumbered as error:
            # A tile parameter that no denotation has named.
            if any(name in sizes for name in error.names):
                return error.message
            sizes |= dict.fromkeys(error.names, 2)
        except TooManySteps:
            raise
        except (AxonError, NotInDomain, ZeroDivisionError, IndexError, ValueError) as error:
            return error.message if isinstance(error, AxonError) else f"{type(error).__name__}: {error}"
    return "too many unknown sizes"


def _difference(a: np.ndarray, b: np.ndarray) -> tuple[int, ...] | None:
    """Where two results differ most, outside tolerance."""
    asked = np.isfinite(a)
    lost = asked & ~np.isfinite(b)
    if np.any(lost):
        return tuple(int(i) for i in np.argwhere(lost)[0])
    gap = np.where(asked, np.abs(a - b), 0.0)
    with np.errstate(all="ignore"):
        excess = gap - TOLERANCE * np.where(asked, np.maximum(np.abs(a), np.abs(b)), 0.0)
    if not np.any(excess > 1e-12):
        return None
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(excess)), excess.shape))


def _confirmed(
    before: Reading,
    after: Reading,
    inputs: Sequence[np.ndarray],
    dims: Mapping[str, int],
    binding: Mapping[Size | Var, Index],
    output: int,
    index: tuple[int, ...],
    gap: float,
) -> bool:
    """Whether the difference stands in long doubles: a rounding error would shrink about two thousand times."""
    wide = Floats(np.longdouble)
    left, right = run(before, inputs, dims, {}, wide), run(after, inputs, dims, binding, wide)
    if isinstance(left, str) or isinstance(right, str):
        return False
    again = float(left[output][index] - right[output][index])
    return bool(np.isfinite(again)) and abs(again - gap) <= 0.05 * abs(gap)


def _has_garbage(func: FuncOp) -> bool:
    """Whether the program has memory that starts unwritten."""
    return any(op.name.endswith((".empty", ".alloc", ".undefined")) for op in func.walk())
