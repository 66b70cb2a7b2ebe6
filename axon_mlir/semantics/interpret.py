# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Running IR on concrete arrays, over any domain: loops are executed, positions are real.

This is the reference that counterexamples replay in, and what the printed kernel is compared with.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeGuard, cast

import ml_dtypes
import numpy as np
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue

from axon_mlir.errors import AxonError
from axon_mlir.semantics.denotation import dtype_of, place
from axon_mlir.semantics.domains import Domain, Field, Floats, Rationals
from axon_mlir.semantics.index import Index, Size, Var, evaluate
from axon_mlir.semantics.meaning import OpMeaning, frozen
from axon_mlir.semantics.shapes import is_tensor, shape_of, strings_of
from axon_mlir.semantics.traits import HasMeaning

NUMPY_DTYPES: dict[str, np.dtype[Any]] = {
    "f64": np.dtype(np.float64),
    "f32": np.dtype(np.float32),
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f8E4M3": np.dtype(ml_dtypes.float8_e4m3),
    "f8E4M3FN": np.dtype(ml_dtypes.float8_e4m3fn),
    "f8E5M2": np.dtype(ml_dtypes.float8_e5m2),
    "i32": np.dtype(np.int32),
    "i16": np.dtype(np.int16),
    "i8": np.dtype(np.int8),
    "ui32": np.dtype(np.uint32),
    "ui16": np.dtype(np.uint16),
    "ui8": np.dtype(np.uint8),
    "i1": np.dtype(np.bool_),
}
"""Element type name -> NumPy dtype."""


class Interpretable(ABC):
    """An operation that runs itself (regions, destination passing, index arithmetic)."""

    @abstractmethod
    def interpret(self, run: Interpreter) -> None: ...


class Unnumbered(AxonError):
    """A size or step that a program uses was given no number."""

    def __init__(self, missing: Iterable[Size | Var]):
        self.names = sorted(map(str, missing))
        super().__init__(f"{', '.join(self.names)} has no number", accepted="a number for each size and step")


SMALL, KEPT = 1 << 17, 256
"""Elements of operands up to which what computes an operation is kept, and how many are: with the places that are read
it may be as large as the operands."""


class TooManySteps(AxonError):
    """A run has executed as many operations as it may."""


def round_to(array: np.ndarray, dtype: str | None) -> np.ndarray:
    """Round floats to an element type, and come back to the array's own dtype."""
    return array.astype(NUMPY_DTYPES[dtype]).astype(array.dtype) if _rounds(dtype) else array


def _rounds(dtype: str | None) -> TypeGuard[str]:
    """Whether an element type is a float that does not hold every number of a run."""
    return dtype is not None and dtype != "f64" and dtype.startswith(("f", "bf"))


@dataclass
class Interpreter:
    """One run. `typed`: every result is rounded to its element type, as the hardware rounds; or only what is `stated`
    is: the factors of contractions, and conversions. `most`: operations that it may execute."""

    domain: Domain
    sizes: Mapping[str, int]
    typed: bool | Literal["stated"] = False
    most: float = math.inf
    values: dict[SSAValue, np.ndarray | int] = field(default_factory=dict[SSAValue, Any])
    fresh: set[SSAValue] = field(default_factory=set[SSAValue])
    """Values whose arrays nothing else refers to."""
    staged: dict[Any, Callable[[Sequence[np.ndarray]], list[np.ndarray]]] = field(default_factory=dict[Any, Any])
    """What computes operations, by meaning, shapes and attributes: loops run them again and again."""
    steps: int = 0
    known: dict[Size | Var, int] = field(init=False)

    def __post_init__(self) -> None:
        self.known = {Size(n): v for n, v in self.sizes.items()}

    def array(self, v: SSAValue) -> np.ndarray:
        found = self.values[v]
        assert isinstance(found, np.ndarray)
        return found

    def integer(self, v: SSAValue) -> int:
        found = self.values[v]
        assert isinstance(found, int)
        return found

    def number(self, i: Index, env: Mapping[Size | Var, int] | None = None) -> int:
        """The value of an index term over the sizes (and `env`)."""
        known = {**self.known, **env} if env else self.known
        if not i.symbols() <= known.keys():
            raise Unnumbered(i.symbols() - known.keys())
        return int(evaluate(i, known))

    def bind(self, v: SSAValue, value: np.ndarray | int) -> None:
        if self.typed is True and isinstance(value, np.ndarray):
            value = self.held(value, dtype_of(v.type))
        self.values[v] = value

    def held(self, array: np.ndarray, dtype: str | None) -> np.ndarray:
        """What an element type holds of numbers, as the domain rounds; all of them where that is exact."""
        if isinstance(self.domain, Floats) and _rounds(dtype):
            return self.domain.held(array, NUMPY_DTYPES[dtype])
        return array

    def take(self, v: SSAValue) -> np.ndarray:
        """The array of a value, to be written over: its own where this is the only use that there will be of it, a
        copy otherwise."""
        array = self.array(v)
        user = v.get_user_of_unique_use()
        own = v in self.fresh and user is not None and user.parent is block_of(v)
        return array if own else array.copy()

    def give(self, v: SSAValue, array: np.ndarray) -> None:
        """Bind a value to an array that nothing else refers to."""
        self.bind(v, array)
        self.fresh.add(v)

    def garbage(self, shape: Sequence[int]) -> np.ndarray:
        """Unwritten memory: NaN in floats, an arbitrary odd value in exact domains."""
        if isinstance(self.domain, Floats):
            return np.full(shape, np.nan, dtype=self.domain.dtype)
        if isinstance(self.domain, Rationals):
            return np.broadcast_to(self.domain.integers(np.asarray(987654321)), shape).copy()
        return np.full(shape, 987654321, dtype=self.domain.dtype)

    def evaluate(
        self, meaning: OpMeaning, arrays: Sequence[np.ndarray], attributes: Mapping[str, Any]
    ) -> list[np.ndarray]:
        """Attributes that are index terms over sizes become numbers first."""
        concrete = {k: self._concrete(v) for k, v in attributes.items()}
        if sum(a.size for a in arrays) > SMALL:
            return meaning.evaluate(arrays, concrete, self.domain)
        shapes = tuple(a.shape for a in arrays)
        key = (meaning, shapes, frozen(concrete))
        found = self.staged.get(key)
        if found is None:
            if len(self.staged) >= KEPT:
                self.staged.clear()
            found = self.staged[key] = meaning.stage(shapes, concrete, self.domain)
        return found(arrays)

    def _concrete(self, value: Any) -> Any:
        if isinstance(value, Index):
            return self.number(value)
        if isinstance(value, list | tuple):
            return tuple(self._concrete(x) for x in cast("Sequence[Any]", value))
        return value

    def block(self, block: Block, *, once: bool = False) -> Sequence[np.ndarray | int]:
        """Run a block; the values its terminator passes on. `once`: it is not run again, and forgets each value after
        its last use."""
        dead = last_uses(block) if once else {}
        for op in block.ops:
            if op is block.last_op and not isinstance(op, Interpretable | HasMeaning):
                return [self.values[v] for v in op.operands]
            self.operation(op)
            for v in dead.get(op, ()):
                self.values.pop(v, None)
        return []

    def operation(self, op: Operation) -> None:
        self.steps += 1
        if self.steps > self.most:
            raise TooManySteps(f"the program executes more than {self.most:g} operations", where=place(op))
        if isinstance(op, Interpretable):
            op.interpret(self)
        elif isinstance(op, HasMeaning):
            arrays = [self.array(v) for v in op.operands]
            stated = self.typed == "stated"
            if stated and op.TYPED_OPERANDS:
                arrays = [self.held(a, dtype_of(v.type)) for a, v in zip(arrays, op.operands, strict=True)]
            for r, value in zip(op.results, self.evaluate(op.meaning(), arrays, op.meaning_attributes()), strict=True):
                self.bind(r, self.held(value, dtype_of(r.type)) if stated and op.TYPED_RESULTS else value)
        elif not isinstance(op, ReturnOp):
            raise AxonError(f"'{op.name}' cannot be executed", where=place(op))


def last_uses(block: Block) -> dict[Operation, list[SSAValue]]:
    """Operation of a block -> the values made in the block that nothing after it uses."""
    out: dict[Operation, list[SSAValue]] = {}
    seen: set[SSAValue] = set()
    for op in reversed(list(block.ops)):
        used = [v for inner in op.walk() for v in inner.operands if block_of(v) is block]
        fresh = [v for v in dict.fromkeys([*used, *op.results]) if v not in seen]
        seen.update(fresh)
        out[op] = fresh
    return out


def block_of(v: SSAValue) -> Block | None:
    """The block that a value is made in."""
    return v.owner if isinstance(v.owner, Block) else v.owner.parent


def solve_sizes(
    shapes: Sequence[Sequence[Index]], arrays: Sequence[np.ndarray], known: Mapping[str, int] | None = None
) -> dict[str, int]:
    """The numbers of the size symbols, read off the arrays' shapes; AxonError when they disagree.

    `known` are those that shapes need not say: of P + Q they say the sum only.
    """
    sizes: dict[str, int] = {}
    pending: list[tuple[Index, int, str]] = []
    for n, (shape, array) in enumerate(zip(shapes, arrays, strict=True)):
        if len(shape) != array.ndim:
            raise AxonError(f"argument {n} has rank {array.ndim}", accepted=f"rank {len(shape)}")
        for axis, (d, actual) in enumerate(zip(shape, array.shape, strict=True)):
            atom = d.atom
            if isinstance(atom, Size):
                if sizes.setdefault(atom.name, actual) != actual:
                    raise AxonError(f"axis {axis} of argument {n} is {actual}, but {atom.name} is {sizes[atom.name]}")
            else:
                pending.append((d, actual, f"axis {axis} of argument {n}"))
    sizes = {**(known or {}), **sizes}
    while pending:
        later: list[tuple[Index, int, str]] = []
        for d, actual, what in pending:
            missing = [s for s in d.symbols() if isinstance(s, Size) and s.name not in sizes]
            coefficient = d.coefficient(missing[0]) if len(missing) == 1 else None
            if missing and coefficient is None:
                # A quotient, say: another axis may say what it is of.
                later.append((d, actual, what))
                continue
            env: dict[Size | Var, int] = {Size(n): v for n, v in sizes.items()}
            if coefficient is not None:
                # A product such as 2*H: solve for its one unknown.
                rest = d.substitute({missing[0]: Index({})})
                size = (actual - int(evaluate(rest, env))) // int(evaluate(coefficient, env))
                sizes[missing[0].name] = env[missing[0]] = size
            if int(evaluate(d, env)) != actual:
                raise AxonError(f"{what} is {actual}, but must be {d}")
        if len(later) == len(pending):
            d, _, what = later[0]
            unknown = sorted(str(s) for s in d.symbols() if isinstance(s, Size) and s.name not in sizes)
            raise AxonError(f"{what}: the sizes {', '.join(unknown)} of {d} are not determined")
        pending = later
    return sizes


def argument_shapes(func: FuncOp) -> list[tuple[Index, ...]]:
    """The symbolic shapes of a function's arguments (rank 0 for scalars)."""
    return [shape_of(a.type) if is_tensor(a.type) else () for a in func.body.block.args]


def argument_names(func: FuncOp) -> list[str]:
    """What a function's arguments are called: in its source (`axon.arguments`), in the IR, or by their place."""
    arguments = func.body.block.args
    given = strings_of(func.attributes.get("axon.arguments")) or ()
    if len(given) == len(arguments):
        return list(given)
    return [a.name_hint or f"in{n}" for n, a in enumerate(arguments)]


def evaluate_function(
    func: FuncOp,
    arrays: Sequence[np.ndarray],
    domain: Domain,
    *,
    sizes: Mapping[str, int] | None = None,
    typed: bool | Literal["stated"] = False,
    most: float = math.inf,
) -> list[np.ndarray]:
    """Run a function on arrays that hold elements of the domain (floats are converted); TooManySteps where it executes
    more than `most` operations."""
    arrays = [np.asarray(a) for a in arrays]
    solved = solve_sizes(argument_shapes(func), arrays, sizes)
    run = Interpreter(domain, {**solved, **(sizes or {})}, typed, most)
    for arg, array in zip(func.body.block.args, arrays, strict=True):
        if isinstance(domain, Floats):
            array = array.astype(domain.dtype)
        elif isinstance(domain, Field):
            array = array.astype(np.int64)
        run.bind(arg, array)
    values = run.block(func.body.block, once=True)
    assert all(isinstance(v, np.ndarray) for v in values)
    return cast("list[np.ndarray]", list(values))
