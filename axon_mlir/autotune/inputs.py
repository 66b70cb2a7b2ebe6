# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a kernel is fed with: normal inputs, and inputs that are known to break kernels.

Where the elements of an argument are smaller or larger in use (weights), its inputs are scaled by what `axon.scales`
says. An adversarial input is a normal one distorted in all its arguments; where the program is not defined on that (a
row of zeros as a divisor), in one argument only. The kinds: an offset of 100, a few columns a hundred times as large,
a row of equal elements, a row of zeros, and (for programs with `exp`) the largest magnitudes that `exp` allows in the
type.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import AnyFloat, DictionaryAttr, FloatAttr, StringAttr, f64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from axon_mlir.errors import AxonError
from axon_mlir.semantics import terms as t
from axon_mlir.semantics.denotation import dtype_of
from axon_mlir.semantics.index import Size, Var, evaluate, parse
from axon_mlir.semantics.interpret import NUMPY_DTYPES, argument_names, argument_shapes
from axon_mlir.semantics.shapes import dtype_name, shape_of
from axon_mlir.semantics.traits import HasMeaning

FLOATS = ("f32", "bf16", "f16", "f8E4M3", "f8E5M2")

MAGNITUDES = "axon.scales"
"""Attribute of a function: how large the elements of some arguments are in use."""

OFFSET = 100.0
OUTLIER = 100.0
CONSTANT = 1.5
"""The elements of the constant row."""

EXP_LIMIT = {"f32": 88.0, "bf16": 88.0, "f16": 11.0, "f8E4M3": 5.0, "f8E5M2": 10.0}
"""The largest whole number whose exponential the type holds."""

Array = NDArray[Any]
Distortion = Callable[[Array, np.random.Generator, str], Array]


@dataclass(frozen=True)
class Argument:
    """One run-time argument of a program."""

    name: str
    dtype: str
    rank: int
    scale: float = 1.0
    """The standard deviation of its elements, where it is an argument of floats."""

    @property
    def is_float(self) -> bool:
        """Whether it can be distorted."""
        return self.dtype in FLOATS


@dataclass(frozen=True)
class InputSet:
    """Arrays for one run: `arguments` are the distorted ones."""

    name: str
    arrays: tuple[Array, ...]
    sizes: Mapping[str, int]
    arguments: tuple[str, ...] = ()


def arguments_of(func: FuncOp) -> list[Argument]:
    """The run-time arguments of a function."""
    names, scales = argument_names(func), _scales(func)
    return [
        Argument(name, dtype_of(value.type) or dtype_name(value.type), len(shape), scales.get(name, 1.0))
        for name, value, shape in zip(names, func.body.block.args, argument_shapes(func), strict=True)
    ]


def set_scales(func: FuncOp, scales: Mapping[str, float]) -> None:
    """Say how large the elements of arguments are in use; AxonError for what is no argument of floats, or no scale."""
    if scales:
        given: dict[str, Attribute] = {name: FloatAttr(scale, f64) for name, scale in scales.items()}
        func.attributes[MAGNITUDES] = DictionaryAttr(given)
    floats = [a.name for a in arguments_of(func) if a.is_float]
    for name in _scales(func):
        if name not in floats:
            accepted = f"the arguments of floats: {', '.join(floats) or 'there are none'}"
            raise AxonError(f"@{func.sym_name.data} has no argument of floats {name!r}", accepted=accepted)


def _scales(func: FuncOp) -> dict[str, float]:
    found = func.attributes.get(MAGNITUDES)
    out: dict[str, float] = {}
    for name, value in found.data.items() if isinstance(found, DictionaryAttr) else ():
        number = cast("FloatAttr[AnyFloat]", value).value.data if isinstance(value, FloatAttr) else math.nan
        if not 0 < number < math.inf:
            text = f"{number:g}" if isinstance(value, FloatAttr) else str(value)
            raise AxonError(f"{name} of @{func.sym_name.data} cannot be scaled by {text}", accepted="a positive number")
        out[name] = number
    return out


def shapes_at(func: FuncOp, sizes: Mapping[str, int]) -> list[tuple[int, ...]]:
    """The shapes of a function's arguments at given sizes."""
    env: dict[Size | Var, int] = {Size(name): value for name, value in sizes.items()}
    return [tuple(int(evaluate(d, env)) for d in shape) for shape in argument_shapes(func)]


def normal(func: FuncOp, sizes: Mapping[str, int], seed: int) -> InputSet:
    """Normal floats and small integers, rounded to the arguments' types."""
    return InputSet(f"normal, seed {seed}", tuple(_normal(func, sizes, seed)), sizes)


def magnitudes(found: InputSet) -> InputSet:
    """The absolute values of an input, for programs that are not defined on negative numbers."""
    arrays = tuple(np.abs(a) if a.dtype != np.bool_ else a for a in found.arrays)
    return InputSet(f"{found.name}, absolute values", arrays, found.sizes)


def scaled(found: InputSet, part: int) -> InputSet:
    """An input with its floats divided by `part`, for programs whose results leave the range of a short type."""
    floats = [np.issubdtype(a.dtype, np.inexact) or a.dtype.kind == "V" for a in found.arrays]
    arrays = tuple((a / part).astype(a.dtype) if real else a for a, real in zip(found.arrays, floats, strict=True))
    return InputSet(f"{found.name}, divided by {part}", arrays, found.sizes)


def adversarial_kinds(func: FuncOp) -> list[str]:
    """The kinds of adversarial inputs that have a meaning for a program."""
    return [kind for kind in DISTORTIONS if kind != "largest for exp" or _applies(func, "exp")]


def adversarial(func: FuncOp, kind: str, sizes: Mapping[str, int], seed: int) -> Iterator[InputSet]:
    """The inputs of one kind, the most adversarial first; none when no argument can be distorted so."""
    distort, rank = DISTORTIONS[kind]
    arguments = arguments_of(func)
    fit = [n for n, a in enumerate(arguments) if a.is_float and a.rank >= rank]
    choices = [fit, *([n] for n in fit if len(fit) > 1)]
    for chosen in filter(None, choices):
        arrays = _normal(func, sizes, seed)
        source = np.random.default_rng((seed, len(kind)))
        for n in chosen:
            dtype, scale = arguments[n].dtype, np.float32(arguments[n].scale)
            distorted = distort(arrays[n].astype(np.float32) / scale, source, dtype)
            arrays[n] = (distorted * scale).astype(NUMPY_DTYPES[dtype])
        yield InputSet(kind, tuple(arrays), sizes, tuple(arguments[n].name for n in chosen))


def _normal(func: FuncOp, sizes: Mapping[str, int], seed: int) -> list[Array]:
    arrays: list[Array] = []
    for n, (argument, shape) in enumerate(zip(arguments_of(func), shapes_at(func, sizes), strict=True)):
        source = np.random.default_rng((seed, n))
        dtype = NUMPY_DTYPES[argument.dtype]
        if argument.is_float:
            drawn = source.standard_normal(shape, np.float32)
            arrays.append((drawn * np.float32(argument.scale)).astype(dtype))
        elif argument.dtype == "i1":
            arrays.append(source.integers(0, 2, shape).astype(dtype))
        else:
            arrays.append(source.integers(-8, 9, shape).astype(dtype))
    return [np.asarray(a) for a in arrays]


def _offset(x: Array, source: np.random.Generator, dtype: str) -> Array:
    return x + np.float32(OFFSET)


def _outliers(x: Array, source: np.random.Generator, dtype: str) -> Array:
    columns = source.choice(x.shape[-1], max(1, x.shape[-1] // 64), replace=False)
    x = x.copy()
    x[..., columns] *= np.float32(OUTLIER)
    return x


def _constant_row(x: Array, source: np.random.Generator, dtype: str) -> Array:
    x = x.copy()
    x[..., 0, :] = CONSTANT
    return x


def _zero_row(x: Array, source: np.random.Generator, dtype: str) -> Array:
    x = x.copy()
    x[..., 0, :] = 0
    return x


def _largest_for_exp(x: Array, source: np.random.Generator, dtype: str) -> Array:
    largest = float(np.max(np.abs(x)))
    return x * np.float32(EXP_LIMIT[dtype] / largest) if largest > 0 else x


DISTORTIONS: dict[str, tuple[Distortion, int]] = {
    "offset 100": (_offset, 1),
    "outlier columns": (_outliers, 1),
    "constant row": (_constant_row, 2),
    "zero row": (_zero_row, 2),
    "largest for exp": (_largest_for_exp, 1),
}
"""Kind of adversarial input -> how an argument is distorted, and the least rank for which that means something."""


def _applies(func: FuncOp, function: str) -> bool:
    """Whether some operation of a program applies a scalar function."""
    for op in func.walk():
        if isinstance(op, HasMeaning):
            operands = [t.tensor_input(f"in{n}", shape_of(v.type)) for n, v in enumerate(op.operands)]
            results = op.meaning().denote(operands, op.meaning_attributes())
            if any(_mentions(result.body, function) for result in results):
                return True
    return False


def _mentions(term: t.Term, function: str) -> bool:
    match term:
        case t.Apply(name, arguments):
            return name == function or any(_mentions(a, function) for a in arguments)
        case t.Fold(_, _, _, body):
            return _mentions(body, function)
        case t.Select(_, a, b):
            return _mentions(a, function) or _mentions(b, function)
        case _:
            return False


# -- sizes ------------------------------------------------------------------------------------------------------------

SMALL_WORK, SMALL_ARRAYS = 1 << 26, 1 << 21
"""Up to this product of all sizes, and this many elements of all arguments, every input is run at the full shape."""


def integers_of(attribute: object) -> dict[str, int]:
    """A dictionary of integers, or of their texts, as Python has it."""
    if not isinstance(attribute, DictionaryAttr):
        return {}
    out: dict[str, int] = {}
    for name, value in attribute.data.items():
        text = value.data if isinstance(value, StringAttr) else str(getattr(getattr(value, "value", None), "data", ""))
        if text.lstrip("-").isdigit():
            out[name] = int(text)
    return out


def tile_steps(func: FuncOp) -> dict[str, list[int]]:
    """For each size of a tiled function the steps of the loops over it.

    Steps are the function's `tile.parameters`, called `<dim>_<role>`; `tile.sizes` says which sizes a dimension has.
    """
    dims = func.attributes.get("tile.sizes")
    out: dict[str, list[int]] = {}
    for parameter, step in integers_of(func.attributes.get("tile.parameters")).items():
        extent = dims.data.get(parameter.rpartition("_")[0]) if isinstance(dims, DictionaryAttr) else None
        for symbol in parse(extent.data).symbols() if isinstance(extent, StringAttr) else ():
            if isinstance(symbol, Size):
                out.setdefault(symbol.name, []).append(step)
    return out


def proxy_sizes(func: FuncOp, full: Mapping[str, int], steps: Mapping[str, Sequence[int]]) -> dict[str, int]:
    """Sizes for quick runs of a tiled program: every loop that takes several trips takes two, the last a ragged one.

    A size that no step divides keeps its number.
    """
    elements = sum(math.prod(shape) for shape in shapes_at(func, full))
    if math.prod(full.values()) <= SMALL_WORK and elements <= SMALL_ARRAYS:
        return dict(full)
    out: dict[str, int] = {}
    for name, value in full.items():
        largest = max((step for step in steps.get(name, ()) if step < value), default=value)
        out[name] = min(value, largest + (largest * 5) // 8 + 1)
    return out


def sizes_text(sizes: Mapping[str, int]) -> str:
    """Sizes as people write them."""
    return ", ".join(f"{name}={value}" for name, value in sizes.items())
