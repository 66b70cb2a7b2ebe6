# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The printed text of a kernel, executed exactly and compared with the program it was made from.

Elements are members of a prime field, or rationals where the program needs an order; nothing rounds, so the two agree
in every element or the kernel is wrong. The sizes are chosen so that every loop runs at least twice and ends ragged.
"""

from __future__ import annotations

import ast
import math
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.func import FuncOp

from axon_mlir.autotune.inputs import shapes_at
from axon_mlir.dialects.trn_isa import size_values
from axon_mlir.errors import AxonError, UnsupportedError
from axon_mlir.printer_nki import kernel_name
from axon_mlir.semantics import terms as t
from axon_mlir.semantics.denotation import dtype_of, place
from axon_mlir.semantics.domains import Field, NotInDomain, Rationals
from axon_mlir.semantics.index import Index, Size, Var, const, evaluate
from axon_mlir.semantics.interpret import argument_shapes, evaluate_function
from axon_mlir.semantics.shapes import dtype_name
from axon_mlir.semantics.traits import HasMeaning
from axon_mlir.semantics.walk import folds
from axon_mlir.sim import HardwareViolation, RunResult, TypedArray, run_each

Array = NDArray[Any]
Execute = Callable[..., list[RunResult | AxonError]]
"""What `run_each` does."""


@dataclass(frozen=True)
class Work:
    """Most multiplications of one run when every size meets every other, in the field and in rationals."""

    field: int = 4_000_000_000
    rational: int = 3_000_000
    iterations: int = 8_000
    """Most iterations when all loops are nested: each is some interpreted instructions, however small."""


AT_ONCE = 5
"""How many times more multiplications one operation may take: it is evaluated at once."""

ELEMENTS = 50_000_000
"""Most elements of one argument; the kernel's process holds several tensors of that size."""

TAILS = (1, 37, 101)
"""How far the last iteration of a loop reaches in each run; one element shows a bound that is too small by one."""


RATIONAL_ELEMENTS, RATIONAL_PRODUCTS = 20_000_000, 200_000_000
"""Most elements of the arguments, and most multiplications of one operation, of a run in rationals whose sizes are not
chosen: each is an object, and takes a microsecond or more."""

CAPACITY = ("sbuf-capacity", "psum-banks", "psum-bank")
"""Rules of the device that a kernel may break at sizes beyond those that it was made for."""

TIMEOUT = 480.0
"""Seconds that all runs together may take."""


@dataclass(frozen=True)
class Mismatch:
    """One disagreement: the sizes, what differs, and the values."""

    sizes: Mapping[str, int]
    message: str

    def __str__(self) -> str:
        return f"{', '.join(f'{k} = {v}' for k, v in self.sizes.items())}: {self.message}"


def check_kernel(
    kernel: Path | str,
    func: FuncOp,
    device: str,
    sizes_list: Sequence[Mapping[str, int]] | None = None,
    *,
    seed: int = 0,
    execute: Execute = run_each,
    work: Work = Work(),
) -> list[Mismatch]:
    """Run a kernel (a file, or its text) and `func`, the program that it implements, on the same exact inputs.

    The kernel is the one named like the function. Sizes come from `sizes_list`, or are chosen from the kernel's loops.
    The result is empty when all elements of all outputs agree in every run. A kernel that raises or breaks a rule of
    the device is a mismatch too. `execute` runs the kernel, as `run_each` does; `work` bounds the sizes
    that are chosen.
    """
    text = kernel.read_text(encoding="utf-8") if isinstance(kernel, Path) else kernel
    with tempfile.TemporaryDirectory(prefix="axon-exact-") as name:
        path = kernel if isinstance(kernel, Path) else Path(name) / f"{kernel_name(func)}.py"
        if not isinstance(kernel, Path):
            path.write_text(text, encoding="utf-8")
        sizes = sizes_list or _distinct(ragged_sizes(text, func, work))
        most = work if sizes_list is None else None
        cases = [_case(text, func, at, seed + n, most) for n, at in enumerate(sizes)]
        runs = _run(path, func, device, cases, execute)
        if sizes_list is None:
            # A kernel that keeps whole rows on chip is made for rows up to the size that it was made for.
            for n, run in enumerate(runs):
                smaller = _no_larger(cases[n].sizes, func, n)
                if isinstance(run, HardwareViolation) and run.rule in CAPACITY and smaller != cases[n].sizes:
                    cases[n] = _case(text, func, smaller, seed + n, most)
                    runs[n : n + 1] = _run(path, func, device, cases[n : n + 1], execute)
        out = [m for case, run in zip(cases, runs, strict=True) for m in _compare(case, run)]
    return out


@dataclass(frozen=True)
class _Case:
    """One run: what the kernel is given and what it should return."""

    sizes: Mapping[str, int]
    domain: Literal["field", "rational"]
    given: Sequence[TypedArray]
    expected: Sequence[Array]


def _run(
    path: Path, func: FuncOp, device: str, cases: Sequence[_Case], execute: Execute
) -> list[RunResult | AxonError]:
    """One run for each case, those in one domain together."""
    out: dict[int, RunResult | AxonError] = {}
    for domain in ("field", "rational"):
        chosen = [n for n, case in enumerate(cases) if case.domain == domain]
        if chosen:
            given = [cases[n].given for n in chosen]
            runs = execute(path, kernel_name(func), given, device=device, domain=domain, timeout=TIMEOUT)
            out.update(zip(chosen, runs, strict=True))
    return [out[n] for n in range(len(cases))]


def _case(text: str, func: FuncOp, sizes: Mapping[str, int], seed: int, work: Work | None) -> _Case:
    """A case; where the program needs rationals, at sizes within so much work."""
    kind: Literal["field", "rational"] = "field"
    arrays = _inputs(func, sizes, kind, seed)
    try:
        expected = evaluate_function(func, arrays, Field())
    except NotInDomain as outside:
        kind = "rational"
        if work is not None:
            sizes = _within(sizes, ragged_steps(text, func), work, work.rational, seed, func)
        _check_rational(func, sizes, outside.message)
        arrays = _inputs(func, sizes, kind, seed)
        expected = evaluate_function(func, arrays, Rationals())
    given = [TypedArray(a.reshape(a.shape or (1, 1)), d) for a, d in zip(arrays, _element_types(func), strict=True)]
    return _Case(sizes, kind, given, expected)


def _check_rational(func: FuncOp, sizes: Mapping[str, int], reason: str) -> None:
    """Refuse a run in rationals that would not end, or not fit: of a program of large numbers no smaller one is run."""
    elements, products = sum(map(math.prod, shapes_at(func, sizes))), _largest(_spaces(func), sizes)
    for count, most, what in (
        (elements, RATIONAL_ELEMENTS, "elements of its arguments"),
        (products, RATIONAL_PRODUCTS, "multiplications of one operation"),
    ):
        if count > most:
            raise UnsupportedError(
                f"'{kernel_name(func)}' cannot be executed in a finite field ({reason}), and in rationals it takes "
                f"{count:,} {what}",
                where=place(func),
                accepted=f"up to {most:,}, or sizes that are symbols: they are given smaller numbers",
            )


def _compare(case: _Case, result: RunResult | AxonError) -> list[Mismatch]:
    sizes, expected = case.sizes, case.expected
    if isinstance(result, AxonError):
        place = f"{result.where}: " if result.where else ""
        return [Mismatch(sizes, f"{place}{result.message}")]
    if len(result.outputs) != len(expected):
        return [Mismatch(sizes, f"the kernel returns {len(result.outputs)} outputs, the program {len(expected)}")]
    out: list[Mismatch] = []
    for number, (have, want) in enumerate(zip(result.outputs, expected, strict=True)):
        want = want.reshape(want.shape or (1, 1))
        if have.shape != want.shape:
            out.append(Mismatch(sizes, f"output {number} has shape {have.shape}, in the program {want.shape}"))
            continue
        wrong = np.asarray(have != want)
        if wrong.any():
            first = tuple(int(i) for i in np.argwhere(wrong)[0])
            values = f"first at {first}: {have[first]}, in the program {want[first]}"
            out.append(Mismatch(sizes, f"output {number} differs in {np.count_nonzero(wrong)} elements, {values}"))
    return out


def _inputs(func: FuncOp, sizes: Mapping[str, int], kind: Literal["field", "rational"], seed: int) -> list[Array]:
    """Elements of each argument's kind: truth values are 0 and 1, and integers whole where there is an order."""
    source = np.random.default_rng(seed)
    out: list[Array] = []
    for dtype, extents in zip(_element_types(func), shapes_at(func, sizes), strict=True):
        if dtype == "i1":
            found = source.integers(0, 2, extents, dtype=np.int64)
        elif kind == "field":
            found = source.integers(1, Field.p, extents, dtype=np.int64)
        else:
            found = source.integers(-8, 8, extents)
            found = found + (found >= 0)
        out.append(found if kind == "field" else _rationals(found, 1 if dtype.startswith("i") else 4))
    return out


def _rationals(numerators: Array, denominator: int) -> Array:
    out = np.empty(numerators.size, object)
    out[:] = [Fraction(int(v), denominator) for v in numerators.reshape(-1)]
    return out.reshape(numerators.shape)


def _element_types(func: FuncOp) -> list[str]:
    return [dtype_of(a.type) or dtype_name(a.type) for a in func.body.block.args]


# -- sizes ------------------------------------------------------------------------------------------------------------


def ragged_sizes(text: str, func: FuncOp, work: Work = Work()) -> list[dict[str, int]]:
    """Three assignments in which every loop of the kernel runs at least twice and ends ragged, and one in which every
    loop ends even (a bound that is too large by one starts an empty iteration there); all within a cap of work."""
    steps = ragged_steps(text, func)
    given = size_values(func)
    out: list[dict[str, int]] = []
    for number, tail in enumerate((*TAILS, 0)):
        sizes: dict[str, int] = {}
        for position, (name, found) in enumerate(steps.items()):
            if not found:
                # No loop runs over it: it stays within what the program was made for.
                wish = (5, 3, 8, 6)[number] + position
                sizes[name] = min(wish, given.get(name, wish))
                continue
            least = min(found)
            if tail == 0:
                sizes[name] = max(found) * (1 if len(found) > 1 else 2)
                continue
            # One iteration of the longest loop more, where that is cheap, so that sizes differ in it too.
            more = max(found) if number == 1 and max(found) <= 512 else 0
            rest = tail if tail == 1 else (tail + 2 * position) % least or 1
            sizes[name] = sum(found) + more + (rest if least > 1 else 0)
        out.append(_within(sizes, steps, work, work.field, number, func))
    return out


def _distinct(assignments: Iterable[dict[str, int]]) -> list[dict[str, int]]:
    """The assignments, each once: a program of numbers has one."""
    return list({tuple(sizes.items()): sizes for sizes in assignments}.values())


def _within(
    sizes: Mapping[str, int], steps: Mapping[str, Sequence[int]], work: Work, products: int, turn: int, func: FuncOp
) -> dict[str, int]:
    """Shorten dimensions, another one first in every turn, until the product of all sizes and each operation are within
    `products`, the loops within the iterations of `work`, and no argument has more than `ELEMENTS`.

    First the loops over long steps run once; if that does not do, so do those over short ones.
    """
    out = dict(sizes)
    spaces = _spaces(func)
    names = [*list(out)[turn % (len(out) or 1) :], *list(out)[: turn % (len(out) or 1)]]
    for once in (False, True):
        for name in names:
            too_much = math.prod(out.values()) > products or _largest(spaces, out) > AT_ONCE * products
            too_much = too_much or _iterations(steps, out) > work.iterations
            if steps[name] and (too_much or _elements(func, out) > ELEMENTS):
                shortest = min(steps[name])
                out[name] = min(out[name], 3 if once else shortest + (out[name] % shortest or 1))
    return out


def _spaces(func: FuncOp) -> set[Index]:
    """How many elements each operation of a program computes, times what it folds for each."""
    out: set[Index] = set()
    for op in func.body.block.ops:
        if not isinstance(op, HasMeaning):
            continue
        operands = [t.tensor_input(f"x{n}", op.value_shape(v.type)) for n, v in enumerate(op.operands)]
        for value in op.meaning().denote(operands, op.meaning_attributes()):
            extents = [f.extent for _, f in folds(value.body, ())]
            numbers = [n for n in (*value.shape, *extents) if all(isinstance(s, Size) for s in n.symbols())]
            out.add(math.prod(numbers, start=const(1)))
    return out


def _largest(spaces: Iterable[Index], sizes: Mapping[str, int]) -> int:
    """The largest of some numbers of elements."""
    env: dict[Size | Var, int] = {Size(name): size for name, size in sizes.items()}
    return max((int(evaluate(space, env)) for space in spaces if space.symbols() <= env.keys()), default=0)


def _no_larger(sizes: Mapping[str, int], func: FuncOp, turn: int) -> dict[str, int]:
    """The sizes, none larger than what the program was made for, and ragged."""
    given = size_values(func)
    out = dict(sizes)
    for position, (name, size) in enumerate(sizes.items()):
        most = given.get(name, size)
        if size > most:
            out[name] = max(1, most - (*TAILS, 0)[turn] - 2 * position)
    return out


def _iterations(steps: Mapping[str, Sequence[int]], sizes: Mapping[str, int]) -> int:
    """How often the innermost body runs when the shortest loops over all sizes are nested."""
    return math.prod(-(-sizes[name] // min(found)) for name, found in steps.items() if found)


def _elements(func: FuncOp, sizes: Mapping[str, int]) -> int:
    """The elements of the largest argument."""
    return max((math.prod(shape) for shape in shapes_at(func, sizes)), default=0)


def ragged_steps(text: str, func: FuncOp) -> dict[str, list[int]]:
    """For each size of the program the steps of the kernel's loops over it, each once."""
    symbols = sorted({s.name for shape in argument_shapes(func) for d in shape for s in d.symbols()})
    found: dict[str, list[int]] = {name: [] for name in symbols}
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == kernel_name(func):
            _Loops(func, node, found).block(node.body)
    return found


class _Loops:
    """Follows which sizes a kernel's variables depend on."""

    def __init__(self, func: FuncOp, node: ast.FunctionDef, found: dict[str, list[int]]):
        self.found = found
        self.depends: dict[str, set[str]] = {name: {name} for name in found}
        self.shapes = dict(zip((a.arg for a in node.args.args), argument_shapes(func), strict=False))

    def block(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            match statement:
                case ast.Assign([target], value):
                    self.assign(target, value)
                case ast.For(ast.Name(name), ast.Call(ast.Name("range"), args), body):
                    self.loop(name, args)
                    self.block(body)
                case ast.For(_, _, body) | ast.If(_, body) | ast.With(_, body):
                    self.block(body)
                case _:
                    pass

    def assign(self, target: ast.expr, value: ast.expr) -> None:
        match target, value:
            case ast.Tuple(names), ast.Attribute(ast.Name(tensor), "shape") if tensor in self.shapes:
                for name, d in zip(names, self.shapes[tensor], strict=False):
                    if isinstance(name, ast.Name):
                        self.depends[name.id] = {s.name for s in d.symbols()}
            case ast.Name(name), _:
                self.depends[name] = self.reads(value)
            case _:
                pass

    def reads(self, value: ast.expr) -> set[str]:
        out: set[str] = set()
        for node in ast.walk(value):
            match node:
                case ast.Name(name):
                    out |= self.depends.get(name, set())
                case ast.Subscript(ast.Attribute(ast.Name(tensor), "shape"), ast.Constant(int(axis))):
                    shape = self.shapes.get(tensor, ())
                    if axis < len(shape):
                        out |= {s.name for s in shape[axis].symbols()}
                case _:
                    pass
        return out

    def loop(self, name: str, args: Sequence[ast.expr]) -> None:
        over = set[str]().union(*map(self.reads, args))
        self.depends[name] = over
        if len(args) == 3 and isinstance(args[2], ast.Constant) and isinstance(args[2].value, int):
            for size in over & set(self.found):
                if args[2].value not in self.found[size]:
                    self.found[size].append(args[2].value)


__all__ = ["Execute", "Mismatch", "Work", "check_kernel", "ragged_sizes", "ragged_steps"]
