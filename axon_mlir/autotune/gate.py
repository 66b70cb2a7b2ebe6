# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The numeric gate: what a kernel computes in floats, against the program in float64 on the same inputs.

The error is the relative L2 distance of each output. It may be

* for fp32 outputs: 2e-5, or twice the error of the program itself, each operation rounded to its type, where that is
  larger;
* for outputs of shorter floats: twice the error of the program with inputs, outputs, the factors of contractions (a
  multiplier array takes them so) and conversions in their types, and fp32 otherwise;
* for integers and truth values: zero.

Twice, since the same roundings in another order make another error of the same size; the program's own error is also
the one that it has where sums are added up one term after the other. The error of a few roundings is chance: an output
with fewer than `FEW` elements may also be off by two roundings of the shortest type that the program computes in, or by
as much as the program itself, each operation rounded to its type. Any output may be off by as much as the program in
float64 is when its inputs, or what its operations make, are off by roundings: the cosine of a large number is nothing
that fp32 knows, and one number in bf16 may set all the others off.

An input is skipped, and says so, when the program is not finite on it, or no better than its roundings. A kernel that
applies a function outside the range that its instruction documents, and one that is off where the program applies a
function outside the range in which fp32 can follow its definition, is recorded as `out of range`: on normal inputs that
is a failure.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.func import FuncOp

from axon_mlir.autotune.inputs import (
    InputSet,
    adversarial,
    adversarial_kinds,
    magnitudes,
    normal,
    scaled,
    shapes_at,
    sizes_text,
)
from axon_mlir.autotune.runner import Runner
from axon_mlir.errors import AxonError
from axon_mlir.semantics.denotation import dtype_of
from axon_mlir.semantics.domains import Float32, Float64, Floats, Inexact, InOrder, Watching
from axon_mlir.semantics.interpret import NUMPY_DTYPES, evaluate_function
from axon_mlir.semantics.roundings import BITS
from axon_mlir.semantics.shapes import dtype_name
from axon_mlir.sim import HardwareViolation, RunResult

SEEDS = 5
ELEMENTS = 1 << 27
"""Elements of the inputs that are held at a time, with what is computed from them; of a larger input, one."""

F32_TOLERANCE = 2e-5
FACTOR = 2.0
"""How much worse than the program itself a kernel may be."""
SCALES = (4, 16, 64)
"""What normal inputs are divided by where the results would overflow."""
FEW = 64
SMALLEST = float(np.finfo(np.float32).tiny)
"""What is no larger counts as zero."""
MOVES = 3
"""How often inputs and results are moved by their roundings, each way by chance."""
SMOOTH = 0.75
"""What an input's rounding does to a smooth program is half of what two do; more than this part is a jump."""
UNIT_ROUNDOFF = {name: 2.0**-bits for name, bits in BITS.items() if name != "f64"}

Array = NDArray[Any]
Status = Literal["passed", "failed", "skipped", "out of range"]


@dataclass(frozen=True)
class Outcome:
    """How one input went."""

    name: str
    sizes: Mapping[str, int]
    status: Status
    rel_l2: float | None = None
    tolerance: float | None = None
    reason: str = ""
    arguments: tuple[str, ...] = ()
    full: bool = False

    def to_json(self) -> dict[str, Any]:
        """The entry of `numeric.inputs`; an error that is not finite is null, and the reason says so."""
        out: dict[str, Any] = {
            "name": self.name,
            "sizes": dict(self.sizes),
            "full_shape": self.full,
            "status": self.status,
            "rel_l2": self.rel_l2 if self.rel_l2 is not None and math.isfinite(self.rel_l2) else None,
            "tolerance": self.tolerance,
        }
        if self.arguments:
            out["arguments"] = list(self.arguments)
        if self.reason:
            out["reason"] = self.reason
        return out


@dataclass(frozen=True)
class GateReport:
    """All inputs of one kernel, and what the run at the full shape counted."""

    outcomes: tuple[Outcome, ...]
    run: RunResult | None
    """Of the first input at the full shape."""

    @property
    def passed(self) -> bool:
        """No input failed, and some at the full shape could be judged."""
        return not self.failures and any(o.status == "passed" and o.full for o in self.outcomes)

    @property
    def failures(self) -> list[Outcome]:
        """The inputs that speak against the kernel."""
        return [
            o
            for o in self.outcomes
            if o.status == "failed" or (o.status == "out of range" and o.name.startswith("normal"))
        ]

    @property
    def worst(self) -> Outcome | None:
        """The input on which the error is largest, compared with its tolerance."""
        judged = [o for o in self.outcomes if o.rel_l2 is not None and o.tolerance is not None]
        return max(judged, key=lambda o: _ratio(o.rel_l2 or 0.0, o.tolerance or 0.0), default=None)

    def count(self, status: Status) -> int:
        """How many inputs went so."""
        return sum(o.status == status for o in self.outcomes)

    def to_json(self) -> dict[str, Any]:
        """`numeric` of the result."""
        worst = self.worst
        error = worst.rel_l2 if worst is not None else None
        return {
            "passed": self.passed,
            "rel_l2": error if error is not None and math.isfinite(error) else None,
            "tolerance": worst.tolerance if worst is not None else None,
            "inputs": [o.to_json() for o in self.outcomes],
        }

    def summary(self) -> str:
        """One line."""
        counts = [f"{self.count(s)} {s}" for s in ("passed", "failed", "skipped", "out of range") if self.count(s)]
        text = f"{', '.join(counts)} of {len(self.outcomes)} inputs"
        worst = self.worst
        if worst is None or worst.rel_l2 is None or worst.tolerance is None:
            return text
        return f"relative L2 {worst.rel_l2:.2e}, tolerance {worst.tolerance:.2e} ({worst.name}); {text}"


class GateFailed(AxonError):
    """The kernel's numbers are not good enough."""

    def __init__(self, report: GateReport):
        lines = [f"  {o.name} ({sizes_text(o.sizes)}): {o.reason}" for o in report.failures]
        super().__init__("\n".join(["the numeric check failed", *(lines or ["  no input could be judged"])]))
        self.exit_code = type(self).exit_code
        self.report = report


@dataclass(frozen=True)
class Program:
    """The reference, and the kernel that claims to compute it."""

    reference: FuncOp
    kernel: Path
    function: str
    device: str


def check_numerics(
    program: Program,
    runner: Runner,
    *,
    full: Mapping[str, int],
    proxy: Mapping[str, int],
    seed: int = 0,
    seeds: int = SEEDS,
    progress: Callable[[str], None] | None = None,
) -> GateReport:
    """Run the gate: every input at the proxy sizes, and one at the full sizes when those are larger."""
    say = progress or _silent
    func = program.reference
    elements = sum(math.prod(shape) for shape in shapes_at(func, proxy))
    judged = [
        _at(proxy, full, say, [_prepared(func, c, full, say) for c in some], program, runner)
        for some in _batched(_inputs(func, proxy, seed, seeds), max(1, ELEMENTS // max(1, elements)))
    ]
    if dict(full) != dict(proxy):
        large = _prepared(func, _normal(func, full, seed), full, say)
        judged.append(_at(full, full, say, [large], program, runner))
    outcomes = [outcome for pairs in judged for outcome, _ in pairs]
    counted = next((run for pairs in judged for outcome, run in pairs if outcome.full and run is not None), None)
    return GateReport(tuple(outcomes), counted)


def _batched(inputs: Iterator[Iterable[InputSet]], count: int) -> Iterator[list[Iterable[InputSet]]]:
    """So many of the inputs at a time."""
    while some := list(islice(inputs, count)):
        yield some


def _silent(text: str) -> None:
    pass


def _normal(func: FuncOp, sizes: Mapping[str, int], seed: int) -> Iterator[InputSet]:
    """A normal input, and what to take instead where the program is not defined on negative numbers, or overflows."""
    made = normal(func, sizes, seed)
    yield made
    yield magnitudes(made)
    yield from (scaled(made, part) for part in SCALES)


def _inputs(func: FuncOp, sizes: Mapping[str, int], seed: int, seeds: int) -> Iterator[Iterable[InputSet]]:
    """For each input of the gate: its forms, of which the first is taken on which the program is finite."""
    for number in range(seed, seed + seeds):
        yield _normal(func, sizes, number)
    for kind in adversarial_kinds(func):
        yield _named(kind, adversarial(func, kind, sizes, seed), sizes)


def _named(kind: str, found: Iterator[InputSet], sizes: Mapping[str, int]) -> Iterator[InputSet]:
    """The inputs of a kind, or one without arrays when there are none."""
    first = next(found, None)
    if first is None:
        yield InputSet(kind, (), sizes)
        return
    yield first
    yield from found


@dataclass(frozen=True)
class _Prepared:
    """An input with what the outputs should be; one without a yardstick is skipped."""

    inputs: InputSet
    full: bool
    yardstick: Yardstick | None
    reason: str = ""

    def outcome(
        self, status: Status, rel_l2: float | None = None, tolerance: float | None = None, reason: str = ""
    ) -> Outcome:
        """How it went."""
        i = self.inputs
        return Outcome(i.name, i.sizes, status, rel_l2, tolerance, reason, i.arguments, self.full)


def _prepared(
    func: FuncOp, candidates: Iterable[InputSet], full: Mapping[str, int], say: Callable[[str], None]
) -> _Prepared:
    """The first of an input's forms that can be judged."""
    skipped: _Prepared | None = None
    for inputs in candidates:
        at_full = dict(inputs.sizes) == dict(full)
        if not inputs.arrays:
            return _Prepared(inputs, at_full, None, "no argument of the program can be made so")
        say(f"reference for {inputs.name}{' at the full shape' if at_full else ''}")
        yardstick = Yardstick.of(func, inputs.arrays)
        if not yardstick.undefined:
            return _Prepared(inputs, at_full, yardstick)
        skipped = skipped or _Prepared(inputs, at_full, None, yardstick.undefined)
    assert skipped is not None
    return skipped


def _at(
    sizes: Mapping[str, int],
    full: Mapping[str, int],
    say: Callable[[str], None],
    prepared: Sequence[_Prepared],
    program: Program,
    runner: Runner,
) -> list[tuple[Outcome, RunResult | None]]:
    """Run the kernel on all inputs of one shape, and judge what it returns."""
    say(f"running the kernel{' at the full shape' if dict(sizes) == dict(full) else ''} ({sizes_text(sizes)})")
    runnable = [p for p in prepared if p.yardstick is not None]
    arrays = [_for_kernel(p.inputs.arrays) for p in runnable]
    runs = iter(runner.run_each(program.kernel, program.function, arrays, program.device))
    return [
        (p.outcome("skipped", reason=p.reason), None) if p.yardstick is None else _judged(p, p.yardstick, next(runs))
        for p in prepared
    ]


def _judged(prepared: _Prepared, yardstick: Yardstick, run: RunResult | AxonError) -> tuple[Outcome, RunResult | None]:
    if isinstance(run, AxonError):
        if isinstance(run, HardwareViolation) and run.rule == "function-range":
            return prepared.outcome("out of range", reason=run.message), None
        raise run
    error, tolerance, reason = yardstick.judge(run.outputs)
    if reason and yardstick.beyond:
        return prepared.outcome("out of range", reason=f"{reason}; {yardstick.beyond}"), run
    return prepared.outcome("failed" if reason else "passed", error, tolerance, reason), run


def _for_kernel(arrays: Sequence[Array]) -> list[Array]:
    """The arrays as kernels take them: a run-time scalar is a (1, 1) tensor."""
    return [a.reshape(1, 1) if a.ndim == 0 else a for a in arrays]


@dataclass(frozen=True)
class Yardstick:
    """What the outputs should be on one input, and how far off each may be."""

    references: tuple[Array, ...]
    tolerances: tuple[float, ...]
    undefined: str = ""
    """Why the input cannot be judged."""
    beyond: str = ""
    """The function that the program applies to a larger argument than its definition in fp32 is for."""
    others: tuple[_Other, ...] = ()
    """What else the program's error may be, for outputs that are further off."""

    @staticmethod
    def of(func: FuncOp, arrays: Sequence[Array]) -> Yardstick:
        """Evaluate the program in float64, and in its own types."""
        dtypes = result_types(func)
        with np.errstate(all="ignore"):
            exactly = Watching()
            references = [np.asarray(r) for r in evaluate_function(func, arrays, exactly)]
            if not all(_finite(r) for r in references):
                return Yardstick((), (), "the program is not finite in float64")
            inside, own = _Lazy(func, arrays, typed="stated"), _Lazy(func, arrays, typed=True)
            tolerances: list[float] = []
            for n, (dtype, reference) in enumerate(zip(dtypes, references, strict=True)):
                if dtype not in UNIT_ROUNDOFF:
                    tolerances.append(0.0)
                    continue
                candidate = own.output(n) if dtype == "f32" else inside.output(n).astype(NUMPY_DTYPES[dtype])
                if not _finite(candidate):
                    return Yardstick((), (), f"the program is not finite when evaluated in {dtype}")
                error = relative_l2(candidate, reference)
                tolerance = max(FACTOR * error, F32_TOLERANCE if dtype == "f32" else SMALLEST)
                if reference.size < FEW:
                    rounded = own.output(n)
                    if not _finite(rounded):
                        return Yardstick((), (), f"the program is not finite when each operation rounds to {dtype}")
                    tolerance = max(tolerance, FACTOR * _roundoff(func, dtype), relative_l2(rounded, reference))
                if not math.isfinite(tolerance):
                    return Yardstick((), (), f"output {n} is zero, and the program in {dtype} is off by its roundings")
                if error >= 1:
                    return Yardstick((), (), f"output {n} is nothing but roundings in {dtype}")
                tolerances.append(tolerance)
        others = (_Moved(func, arrays), _Ordered(func, arrays), _Inexact(func, arrays), _Stored(func, arrays))
        return Yardstick(tuple(references), tuple(tolerances), beyond=exactly.beyond, others=others)

    def judge(self, outputs: Sequence[Array]) -> tuple[float, float, str]:
        """The error and tolerance of the worst output, and what is wrong with it (nothing: '')."""
        worst: tuple[float, float, str] | None = None
        if len(outputs) != len(self.references):
            return math.inf, 0.0, f"the kernel returns {len(outputs)} outputs, the program {len(self.references)}"
        for n, (output, reference, tolerance) in enumerate(zip(outputs, self.references, self.tolerances, strict=True)):
            if output.size != reference.size:
                return math.inf, tolerance, f"output {n} is {list(output.shape)}, not {list(reference.shape)}"
            error = relative_l2(output.reshape(reference.shape), reference)
            if math.isinf(error) and tolerance > 0 and _finite(output) and not reference.any():
                # Of zero nothing is a part: the distances themselves are compared.
                error, tolerance = _distance(output, reference), SMALLEST
            reason = ""
            for other in self.others:
                if not error <= tolerance and tolerance > 0:
                    tolerance = max(tolerance, other.distance(n, reference))
            if not error <= tolerance:
                said = f"relative L2 {error:.3e}" if math.isfinite(error) else "not finite"
                reason = f"output {n}: {said}, tolerance {tolerance:.3e}"
            if worst is None or _ratio(error, tolerance) > _ratio(worst[0], worst[1]):
                worst = error, tolerance, reason
        assert worst is not None
        return worst


class _Lazy:
    """The program in fp32, evaluated when asked for: at large shapes that is dear. `typed`: what is rounded."""

    def __init__(
        self, func: FuncOp, arrays: Sequence[Array], *, typed: Literal[True, "stated"], domain: Floats | None = None
    ):
        self._func = func
        self._arrays = arrays
        self._typed: Literal[True, "stated"] = typed
        self._domain = domain or Float32()
        self._outputs: list[Array] | None = None

    def output(self, number: int) -> Array:
        """One output."""
        if self._outputs is None:
            self._outputs = evaluate_function(self._func, self._arrays, self._domain, typed=self._typed)
        return self._outputs[number]


class _Moved:
    """The program in float64 on inputs that are off by roundings of fp32, evaluated when asked for."""

    def __init__(self, func: FuncOp, arrays: Sequence[Array]):
        self._func = func
        self._arrays = arrays
        self._outputs: dict[tuple[int, int, bool], list[Array]] = {}

    def distance(self, number: int, reference: Array) -> float:
        """How far off an output is for two roundings. Zero where it is as far off for one: what jumps is no matter of
        precision."""
        return max(self._off(number, reference, seed) for seed in range(MOVES))

    def _off(self, number: int, reference: Array, seed: int) -> float:
        few = reference.size < FEW
        for key in ((roundings, seed, few) for roundings in (1, 2)):
            if key not in self._outputs:
                with np.errstate(all="ignore"):
                    self._outputs[key] = [np.asarray(out) for out in self._moved(*key)]
        moved = (self._outputs[roundings, seed, few][number] for roundings in (1, 2))
        near, far = (_distance(output, reference) for output in moved)
        return far if near <= SMOOTH * far and math.isfinite(far) else 0.0

    def _moved(self, roundings: int, seed: int, few: bool) -> list[Array]:
        signs = np.random.default_rng(seed)
        most = roundings * UNIT_ROUNDOFF["f32"]
        moved = [
            a.astype(np.float64) * (1 + most * signs.choice((-1.0, 1.0), a.shape)) if a.dtype.kind not in "iub" else a
            for a in map(np.asarray, self._arrays)
        ]
        return evaluate_function(self._func, moved, Float64())


class _Inexact(_Moved):
    """The same with what each operation makes off by two roundings of fp32, instead of the inputs."""

    def _moved(self, roundings: int, seed: int, few: bool) -> list[Array]:
        inexact = Inexact(roundings, self._shorter(roundings, few), seed)
        return evaluate_function(self._func, self._arrays, inexact, typed=True)

    def _shorter(self, roundings: int, few: bool) -> float:
        """How many roundings of the type that it is kept in, where that is shorter."""
        return 0.0


class _Stored(_Inexact):
    """The same with one rounding of the type that it is kept in: two where the output has few elements, and all may be
    off the same way. (What that saturates may still be smooth in fp32, which kernels compute in.)"""

    def _shorter(self, roundings: int, few: bool) -> float:
        return roundings if few else roundings / 2


class _Ordered:
    """The program in fp32 with its sums added up one term after the other, evaluated when asked for."""

    def __init__(self, func: FuncOp, arrays: Sequence[Array]):
        self._dtypes = result_types(func)
        self._program = _Lazy(func, arrays, typed=True, domain=InOrder(np.float32))

    def distance(self, number: int, reference: Array) -> float:
        """How far off an output of fp32 may be for that. Zero for others, and where the program is not finite."""
        if self._dtypes[number] != "f32":
            return 0.0
        with np.errstate(all="ignore"):
            error = _distance(self._program.output(number), reference)
        return FACTOR * error if math.isfinite(error) else 0.0


_Other = _Moved | _Ordered


def _roundoff(func: FuncOp, dtype: str) -> float:
    """The unit roundoff of the shortest type that a program computes in, or of its result's."""
    computed = {dtype_of(v.type) or dtype_name(v.type) for op in func.body.block.ops for v in op.results}
    return max(UNIT_ROUNDOFF[d] for d in {dtype, *computed} if d in UNIT_ROUNDOFF)


def result_types(func: FuncOp) -> list[str]:
    """The element types of a function's results."""
    return [dtype_of(x) or dtype_name(x) for x in func.function_type.outputs.data]


def relative_l2(value: Array, reference: Array) -> float:
    """The relative L2 distance; infinite when the value is not finite, or differs from a reference of zeros."""
    if not _finite(value):
        return math.inf
    wide = np.asarray(reference, np.float64)
    distance = float(np.linalg.norm((np.asarray(value).astype(np.float64) - wide).reshape(-1)))
    norm = float(np.linalg.norm(wide.reshape(-1)))
    if norm == 0.0:
        return 0.0 if distance == 0.0 else math.inf
    return distance / norm


def _distance(value: Array, reference: Array) -> float:
    """The relative L2 distance; from a reference of zeros the distance itself."""
    if reference.any() or not _finite(value):
        return relative_l2(value, reference)
    return float(np.linalg.norm(np.asarray(value).astype(np.float64).reshape(-1)))


def _finite(array: Array) -> bool:
    return bool(np.isfinite(array).all())


def _ratio(error: float, tolerance: float) -> float:
    if error <= 0:
        return 0.0
    return error / tolerance if tolerance > 0 else math.inf
