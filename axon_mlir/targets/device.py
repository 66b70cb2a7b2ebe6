# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a description says once it is loaded: devices, instructions, their forms, and the two directions of a call.

An instruction has several *forms*: each is one fixed pattern with its own meaning and its own NKI call. A printer goes
from a form to keyword arguments (`Form.spelled_arguments`), a simulator from keyword arguments to a form
(`Instruction.select`).
"""

from __future__ import annotations

import ast
import math
import numbers
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, cast

from axon_mlir.errors import AxonError
from axon_mlir.semantics.meaning import OpMeaning
from axon_mlir.targets.rules import (
    Case,
    Constant,
    CostRule,
    DType,
    Engine,
    EngineRule,
    ExactRule,
    Facts,
    Hardware,
    Limit,
    Rule,
    StartRule,
    TileFact,
    Violation,
    all_hold,
    evaluate,
)

__all__ = [
    "CallArg",
    "CallConstant",
    "CallReference",
    "CallRows",
    "CallSequence",
    "Constant",
    "DType",
    "Device",
    "Engine",
    "Facts",
    "Form",
    "FunctionClass",
    "FunctionRange",
    "Instruction",
    "Limit",
    "OperandRule",
    "Parameter",
    "ResultRule",
    "Rows",
    "Selection",
    "StartRule",
    "TileFact",
    "Violation",
]


@dataclass(frozen=True)
class OperandRule:
    """An operand of a form.

    `kind`: a tile, or a number fixed at trace time. `axes`: the extent of each axis as written in the head (`P`, `1`).
    `outs`: the operand is the earlier value of the result `tied`; it is not passed in a call.
    """

    name: str
    kind: Literal["tile", "immediate"]
    axes: tuple[str, ...]
    spaces: tuple[str, ...]
    dtypes: tuple[str, ...]
    outs: bool = False
    tied: str | None = None


@dataclass(frozen=True)
class ResultRule:
    """A result of a form; `tied` names the `outs` operand it replaces, if any."""

    name: str
    axes: tuple[str, ...]
    spaces: tuple[str, ...]
    dtypes: tuple[str, ...]
    tied: str | None = None


@dataclass(frozen=True)
class FunctionRange:
    """Valid input of a function: `low <= x <= high`, or `low <= |x| <= high` where `magnitude`."""

    low: float
    high: float
    magnitude: bool = False


@dataclass(frozen=True)
class FunctionClass:
    """The functions (or monoids) an attribute may stand for: name in the semantics -> name in kernels."""

    name: str
    kind: Literal["function", "monoid"]
    members: Mapping[str, str]
    ranges: Mapping[str, FunctionRange]

    def member_of(self, nki: str) -> str | None:
        """The function with this name in kernels."""
        return next((name for name, spelled in self.members.items() if spelled == nki), None)


@dataclass(frozen=True)
class Parameter:
    """A parameter of the NKI function, in order; `default` is source text, None where it must be passed."""

    name: str
    default: str | None


@dataclass(frozen=True)
class CallReference:
    """The argument is an operand, a result, an attribute, or a size of the form."""

    kind: Literal["operand", "result", "attribute", "size"]
    name: str


@dataclass(frozen=True)
class CallConstant:
    """The argument is this source text; `others` are spellings of the same that are understood but not printed."""

    text: str
    others: tuple[str, ...] = ()


@dataclass(frozen=True)
class CallSequence:
    """The argument is a list or a tuple."""

    items: tuple[CallArg, ...]
    brackets: Literal["[]", "()"]


@dataclass(frozen=True)
class CallRows:
    """The argument is the rows of a tensor in HBM that a column of positions chooses: `index of tensor`."""

    index: str
    tensor: str

    def __str__(self) -> str:
        return f"{self.index} of {self.tensor}"


CallArg = CallReference | CallConstant | CallSequence | CallRows


@dataclass(frozen=True)
class Rows:
    """Rows of a tensor that an index chooses, as a call passes them."""

    index: object
    tensor: object


@dataclass(frozen=True)
class _Name:
    """A default written as a dotted name."""

    text: str


class Selection(NamedTuple):
    """A call understood: the form, attribute -> function (or number), operand and result name -> value passed; size ->
    the extent that the call states beside its tiles."""

    form: Form
    attributes: Mapping[str, object]
    operands: Mapping[str, object]
    results: Mapping[str, object]
    sizes: Mapping[str, object]


@dataclass(frozen=True)
class Form:
    """One fixed pattern of an instruction.

    `meaning` is the equation over the operands, attributes and results named here (`text` is the same as text).
    `functions`: attribute -> what it may be; `numbers`: plain attributes (`int`, `ints`, `real`, `index`).
    `free_sizes`: sizes that no operand binds; the meaning takes them as attributes of kind `index`. `engine_rules`:
    where it may run; `exact_rules`: where it computes with integers as such.
    """

    name: str
    instruction: str
    text: str
    where: str
    meaning: OpMeaning
    operands: tuple[OperandRule, ...]
    results: tuple[ResultRule, ...]
    functions: Mapping[str, FunctionClass]
    numbers: Mapping[str, str]
    free_sizes: tuple[str, ...]
    engine_rules: tuple[EngineRule, ...]
    exact_rules: tuple[ExactRule, ...]
    identities: tuple[str, ...]
    """Operands that must be identity matrices: known only when a kernel runs, so such a form is not selected."""
    rules: tuple[Rule, ...]
    costs: tuple[CostRule, ...]
    call: tuple[tuple[str, CallArg], ...]
    hardware: Hardware = field(repr=False, compare=False)

    @property
    def accumulates(self) -> bool:
        """Whether the form adds, in the memory of the matrix engine, to what an earlier one of its kind has written."""
        return any(o.outs and o.spaces == ("psum",) for o in self.operands)

    @property
    def engines(self) -> tuple[str, ...]:
        """Every engine that may run the form for some attributes, in the order of the description."""
        return tuple(dict.fromkeys(e for rule in self.engine_rules for e in rule.engines))

    def engines_for(self, facts: Facts) -> tuple[str, ...]:
        """Engines that may run it with these attributes and tiles: allowed, and able to reach every tile's space."""
        case = self._case(facts)
        allowed = dict.fromkeys(e for r in self.engine_rules if all_hold(r.when, case) for e in r.engines)
        return tuple(e for e in allowed if not self._unreachable(e, case))

    def is_exact(self, facts: Facts) -> bool:
        """Whether it computes with integers as such, not through fp32."""
        engines = (facts.engine,) if facts.engine else self.engines_for(facts)
        dtypes = {tile.dtype for tile in facts.tiles.values()}
        return any(rule.engine in engines and dtypes <= set(rule.dtypes) for rule in self.exact_rules)

    def operand(self, name: str) -> OperandRule:
        return next(o for o in self.operands if o.name == name)

    def result(self, name: str) -> ResultRule:
        return next(r for r in self.results if r.name == name)

    def cycles(self, facts: Facts, engine: str | None = None) -> float | None:
        """Engine cycles in a back-to-back stream on `engine` (default: `facts.engine`); None where no source says."""
        case = self._case(facts)
        engine = engine or facts.engine
        for rule in self.costs:
            if rule.engine == engine and all_hold(rule.when, case):
                return evaluate(rule.cycles, case)
        return None

    def spelled_arguments(
        self, values: Mapping[str, str], attributes: Mapping[str, object], sizes: Mapping[str, str] | None = None
    ) -> tuple[tuple[str, str], ...]:
        """The keyword arguments of the call, as source text.

        `values`: operand or result -> text, and `index of tensor` -> text of rows; `attributes`: attribute -> scalar
        function, monoid, number or text of one.
        """

        def spell(arg: CallArg) -> str:
            match arg:
                case CallConstant(text):
                    return text
                case CallSequence(items, brackets):
                    inner = ", ".join(map(spell, items))
                    return f"[{inner}]" if brackets == "[]" else f"({inner}{',' if len(items) == 1 else ''})"
                case CallRows():
                    return values[str(arg)]
                case CallReference("attribute", name) if name in self.functions:
                    return self.functions[name].members[str(attributes[name])]
                case CallReference("attribute", name):
                    return str(attributes[name])
                case CallReference("size", name):
                    return (sizes or {})[name]
                case CallReference(_, name):
                    return values[name]

        return tuple((keyword, spell(arg)) for keyword, arg in self.call)

    # ---- checking ----

    def _case(self, facts: Facts) -> Case:
        tiles: dict[str, TileFact] = {}
        sizes: dict[str, int] = {}
        for rule in (*self.results, *self.operands):
            if isinstance(rule, OperandRule) and rule.kind == "immediate":
                continue
            tied = rule.tied if isinstance(rule, OperandRule) else None
            fact = facts.tiles.get(rule.name) or (facts.tiles.get(tied) if tied else None)
            if fact is None:
                continue
            shape = _flatten(fact.shape, len(rule.axes))
            tiles[rule.name] = TileFact(shape, fact.space, fact.dtype, fact.start)
            for axis, extent in zip(rule.axes, shape, strict=False):
                if axis.isidentifier():
                    sizes[axis] = max(extent, sizes.get(axis, 0))
        return Case(facts, tiles, sizes, self.hardware)

    def _unreachable(self, engine: str, case: Case) -> list[str]:
        """Tiles that an engine cannot reach, in words."""
        description = self.hardware.engines[engine]
        out: list[str] = []
        for o in self.operands:
            if not o.outs and o.name in case.tiles and case.tiles[o.name].space not in description.reads:
                out.append(f"{engine} cannot read {o.name} from {case.tiles[o.name].space}")
        for r in self.results:
            if r.name in case.tiles and case.tiles[r.name].space not in description.writes:
                out.append(f"{engine} cannot write {r.name} to {case.tiles[r.name].space}")
        return out

    def check(self, facts: Facts, *, exact: bool = True) -> list[Violation]:
        """Every rule that one use breaks. With `exact` false, extents are upper bounds and need not agree."""
        case = self._case(facts)
        where = f"{self.instruction}.{self.name}"
        out: list[Violation] = []
        known = self.hardware.dtypes
        for rule in (*self.operands, *self.results):
            fact = case.tiles.get(rule.name)
            if fact is None or (rule.tied is not None and rule.name not in facts.tiles):
                continue
            if fact.space not in rule.spaces:
                text = f"{rule.name} is in {fact.space}; {where} takes it in {' or '.join(rule.spaces)}"
                out.append(Violation("space", text, self.where))
            if fact.dtype not in rule.dtypes:
                text = f"{rule.name} is {fact.dtype}; {where} takes {', '.join(rule.dtypes)}"
                out.append(Violation("dtype", text, self.where))
            if len(fact.shape) != len(rule.axes):
                text = f"{rule.name} has rank {len(fact.shape)}; {where} takes [{', '.join(rule.axes)}]"
                out.append(Violation("shape", text, self.where))
                return out
        if any(t.dtype not in known for t in case.tiles.values()):
            return out
        out += self._check_shapes(case, exact)
        out += self._check_engine(case)
        for rule in self.rules:
            if all_hold(rule.when, case):
                message = rule.check(case)
                if message is not None:
                    out.append(Violation(rule.name, f"{where}: {message}", rule.source))
        return out

    def _check_shapes(self, case: Case, exact: bool) -> list[Violation]:
        out: list[Violation] = []
        for rule in (*self.operands, *self.results):
            fact = case.tiles.get(rule.name)
            if fact is None:
                continue
            for number, (axis, extent) in enumerate(zip(rule.axes, fact.shape, strict=True)):
                if axis.isidentifier():
                    wanted = case.sizes[axis] if exact else extent
                elif axis.isdigit():
                    wanted = int(axis)
                else:
                    continue  # a size computed from others: the meaning's shape rule checks it
                if extent != wanted:
                    axis_name = axis if not axis.isidentifier() else f"{axis} = {wanted}"
                    text = f"axis {number} of {rule.name} is {extent}; {self.instruction}.{self.name} takes {axis_name}"
                    out.append(Violation("shape", text, self.where))
        return out

    def _check_engine(self, case: Case) -> list[Violation]:
        where = f"{self.instruction}.{self.name}"
        allowed = tuple(dict.fromkeys(e for r in self.engine_rules if all_hold(r.when, case) for e in r.engines))
        chosen = case.facts.engine
        if chosen is not None and chosen not in allowed:
            return [Violation("engine", f"{where} does not run on {chosen}; {_either(allowed)} would do", self.where)]
        candidates = (chosen,) if chosen is not None else allowed
        if not candidates:
            return [Violation("engine", f"{where} runs on no engine with these attributes", self.where)]
        reaching = [e for e in candidates if not self._unreachable(e, case)]
        if not reaching:
            first = self.hardware.engines[candidates[0]]
            text = f"{where}: {'; '.join(self._unreachable(candidates[0], case))}"
            return [Violation("engine_access", text, first.source)]
        if not all(self.hardware.engines[e].aligned for e in reaching):
            return []
        out: list[Violation] = []
        for name, fact in case.tiles.items():
            if fact.start is None or fact.space == "hbm":
                continue
            rule = next((r for r in self.hardware.starts if r.low <= fact.shape[0] <= r.high), None)
            if rule is not None and fact.start not in rule.starts:
                text = f"{name} of {fact.shape[0]} partitions starts at partition {fact.start}"
                legal = _either(tuple(map(str, rule.starts)))
                out.append(Violation("start_partition", f"{where}: {text}; {legal} would do", rule.source))
        return out


@dataclass(frozen=True)
class Instruction:
    """One NKI instruction on one device.

    `signature` is the NKI function's parameters in order; `open_parameters` do not change what it computes.
    """

    name: str
    nki: str
    where: str
    summary: str
    sources: tuple[str, ...]
    remarks: tuple[str, ...]
    signature: tuple[Parameter, ...]
    open_parameters: frozenset[str]
    forms: tuple[Form, ...]
    hardware: Hardware = field(repr=False, compare=False)

    @property
    def engines(self) -> tuple[str, ...]:
        """Every engine that may run some form."""
        return tuple(dict.fromkeys(e for f in self.forms for e in f.engines))

    @property
    def cost(self) -> tuple[CostRule, ...]:
        """Every cost rule of the forms, each once."""
        return tuple(dict.fromkeys(c for f in self.forms for c in f.costs))

    def form(self, name: str) -> Form:
        """The form of this name; AxonError lists the known ones."""
        found = next((f for f in self.forms if f.name == name), None)
        if found is None:
            accepted = ", ".join(f.name for f in self.forms)
            raise AxonError(f"instruction {self.name} has no form {name}", where=self.where, accepted=accepted)
        return found

    def check(self, form: Form | str, facts: Facts, *, exact: bool = True) -> list[Violation]:
        """See `Form.check`."""
        return (self.form(form) if isinstance(form, str) else form).check(facts, exact=exact)

    def matches(
        self, arguments: Mapping[str, object], *, is_tile: Callable[[object], bool], spell: Callable[[object], str]
    ) -> Iterator[Selection]:
        """Every form that a call fits, in the order of the description (they differ in engines, spaces or dtypes)."""
        values = self._complete(arguments)
        for form in self.forms:
            found = _Matcher(self, form, is_tile, spell).match(values)
            if isinstance(found, Selection):
                yield found

    def select(
        self, arguments: Mapping[str, object], *, is_tile: Callable[[object], bool], spell: Callable[[object], str]
    ) -> Selection:
        """The form of a call given by keyword arguments, and what each of its names stands for.

        `is_tile` tells tiles from other values; `spell` gives the dotted name of an enum member, an operator or a
        dtype (`nl.add`, `nisa.engine.vector`). A call that no form fits is an AxonError that names the argument.
        """
        values = self._complete(arguments)
        best: _Mismatch | None = None
        accepted: list[str] = []
        for form in self.forms:
            found = _Matcher(self, form, is_tile, spell).match(values)
            if isinstance(found, Selection):
                return found
            if best is None or found.matched > best.matched:
                best, accepted = found, []
            if found.argument == best.argument and found.matched == best.matched and found.accepted not in accepted:
                accepted.append(found.accepted)
        if best is None:
            raise AxonError(f"instruction {self.name} has no form on this device", where=self.where)
        message = f"{self.nki}: argument {best.argument} = {best.shown} fits no form of the instruction"
        raise AxonError(message, accepted=f"{best.argument} = {' or '.join(accepted)}")

    def _complete(self, arguments: Mapping[str, object]) -> dict[str, object]:
        """Arguments with defaults filled in."""
        names = [p.name for p in self.signature]
        for name in arguments:
            if name not in names:
                raise AxonError(f"{self.nki} has no parameter {name}", accepted=", ".join(names))
        out: dict[str, object] = {}
        for p in self.signature:
            if p.name in arguments:
                out[p.name] = arguments[p.name]
            elif p.default is not None:
                out[p.name] = _from_text(p.default)
            else:
                raise AxonError(f"{self.nki} needs the argument {p.name}", accepted=", ".join(names))
        return out


@dataclass(frozen=True)
class _Mismatch:
    matched: int
    argument: str
    shown: str
    accepted: str


class _Matcher:
    """Matches one form's call pattern against argument values."""

    def __init__(
        self,
        instruction: Instruction,
        form: Form,
        is_tile: Callable[[object], bool],
        spell: Callable[[object], str],
    ):
        self.instruction = instruction
        self.form = form
        self.is_tile = is_tile
        self.spell_value = spell
        self.attributes: dict[str, object] = {}
        self.operands: dict[str, object] = {}
        self.results: dict[str, object] = {}
        self.sizes: dict[str, object] = {}

    def match(self, values: Mapping[str, object]) -> Selection | _Mismatch:
        call = dict(self.form.call)
        matched = 0
        for parameter in self.instruction.signature:
            name, value = parameter.name, values[parameter.name]
            if name == "engine":
                if not self._engine(value, call.get(name)):
                    accepted = _either(tuple(self.form.hardware.engines[e].nki for e in self.form.engines))
                    return _Mismatch(matched, name, self._show(value), accepted)
            elif name in call:
                if not self._fits(call[name], value):
                    return _Mismatch(matched, name, self._show(value), self._describe(call[name]))
            elif name not in self.instruction.open_parameters:
                default = parameter.default
                if default is not None and not self._same(default, value):
                    return _Mismatch(matched, name, self._show(value), default)
            matched += 1
        for operand in self.form.operands:
            if operand.tied is not None and operand.tied in self.results:
                self.operands[operand.name] = self.results[operand.tied]
        return Selection(self.form, self.attributes, self.operands, self.results, self.sizes)

    def _engine(self, value: object, pinned: CallArg | None) -> bool:
        text = self._spell(value)
        if text is None or text.endswith(".unknown"):
            return True
        if isinstance(pinned, CallConstant):
            return text == pinned.text
        return any(self.form.hardware.engines[e].nki == text for e in self.form.engines)

    def _fits(self, arg: CallArg, value: object) -> bool:
        match arg:
            case CallConstant(text, others):
                return any(self._same(t, value) for t in (text, *others))
            case CallSequence(items):
                if not isinstance(value, list | tuple):
                    return False
                parts = tuple(cast("list[object]", value))
                return len(parts) == len(items) and all(map(self._fits, items, parts))
            case CallRows(index, tensor):
                if not isinstance(value, Rows):
                    return False
                self.operands |= {index: value.index, tensor: value.tensor}
                return self.is_tile(value.index) and self.is_tile(value.tensor)
            case CallReference("size", name):
                self.sizes[name] = value
                return _is_number(value)
            case CallReference("attribute", name):
                if name not in self.form.functions:
                    self.attributes[name] = value
                    whole = self.form.numbers[name] != "index" or not isinstance(value, float)
                    return _is_number(value) and whole
                text = self._spell(value)
                function = None if text is None else self.form.functions[name].member_of(text)
                if function is None:
                    return False
                self.attributes[name] = function
                return True
            case CallReference("result", name):
                self.results[name] = value
                return self.is_tile(value)
            case CallReference(_, name):
                self.operands[name] = value
                if self.form.operand(name).kind == "tile":
                    return self.is_tile(value)
                return not self.is_tile(value) and _is_number(value)

    def _spell(self, value: object) -> str | None:
        """The dotted name of a value that has one."""
        if isinstance(value, _Name):
            return value.text
        if value is None or isinstance(value, bool | list | tuple | Rows) or _is_number(value) or self.is_tile(value):
            return None
        return self.spell_value(value)

    def _same(self, text: str, value: object) -> bool:
        wanted = _from_text(text)
        if isinstance(wanted, _Name):
            return self._spell(value) == wanted.text
        if self.is_tile(value) or isinstance(value, Rows):
            return False
        if isinstance(wanted, list | tuple):
            return isinstance(value, list | tuple) and list(cast("list[object]", value)) == list(
                cast("list[object]", wanted)
            )
        if wanted is None or isinstance(wanted, bool):
            return value is wanted
        return _is_number(value) and value == wanted

    def _show(self, value: object) -> str:
        if isinstance(value, Rows):
            return "rows that an index chooses"
        if not isinstance(value, _Name) and self.is_tile(value):
            return "a tile"
        return self._spell(value) or repr(value)

    def _describe(self, arg: CallArg) -> str:
        match arg:
            case CallConstant(text, others):
                return _either((text, *others))
            case CallSequence(items, brackets):
                return f"{brackets[0]}{', '.join(map(self._describe, items))}{brackets[1]}"
            case CallRows():
                return f"tensor.ap(pattern, vector_offset={arg.index}, indirect_dim=0)"
            case CallReference("attribute", name) if name in self.form.functions:
                return _either(tuple(self.form.functions[name].members.values()))
            case CallReference("operand", name) if self.form.operand(name).kind == "tile":
                return f"a tile [{', '.join(self.form.operand(name).axes)}]"
            case CallReference("result", name):
                return f"a tile [{', '.join(self.form.result(name).axes)}]"
            case CallReference():
                return "a number"


@dataclass(frozen=True)
class Device:
    """A target: what kernels for it may use.

    `limits` are integers by name (units in `limit_details`); `constants` carry value, unit and source; `fingerprint`
    identifies the text of the description and of everything it includes; `override` is the value that makes the NKI
    compiler aim at this device (environment variable NEURON_PLATFORM_TARGET_OVERRIDE).
    """

    name: str
    where: str
    generation: int
    override: str
    limits: Mapping[str, int]
    limit_details: Mapping[str, Limit]
    constants: Mapping[str, Constant]
    engines: Mapping[str, Engine]
    starts: tuple[StartRule, ...]
    dtypes: Mapping[str, DType]
    instructions: Mapping[str, Instruction]
    sources: Mapping[str, str]
    fingerprint: str

    def instruction(self, name: str) -> Instruction:
        """The instruction of this name; AxonError lists those in use."""
        if name not in self.instructions:
            message = f"device {self.name} does not use an instruction {name}"
            raise AxonError(message, where=self.where, accepted=", ".join(self.instructions))
        return self.instructions[name]


def _flatten(shape: tuple[int, ...], rank: int) -> tuple[int, ...]:
    """Trailing axes merged, so that a tile with several free axes fits a form over one."""
    if len(shape) <= rank or rank == 0:
        return shape
    return (*shape[: rank - 1], math.prod(shape[rank - 1 :]))


def _is_number(value: object) -> bool:
    return not isinstance(value, bool) and isinstance(value, numbers.Real)


def _from_text(text: str) -> object:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return _Name(text)


def _either(names: tuple[str, ...]) -> str:
    return " or ".join(names) if len(names) <= 2 else f"{', '.join(names[:-1])} or {names[-1]}"
