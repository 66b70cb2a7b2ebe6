# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The constraint and cost language of instruction descriptions: small, named, and all data.

A rule is checked against `Facts`: what is known of one use of an instruction, either exactly (a simulator has concrete
tiles) or as upper bounds (a verifier has bounds). Sources travel with rules, so that a message can say who demands it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

SPACES = ("hbm", "sbuf", "psum")
"""Memory spaces a description may name."""


@dataclass(frozen=True)
class Limit:
    """A size limit of a device: `value` in `unit` (bytes, partitions, elements, ...)."""

    name: str
    value: int
    unit: str
    source: str


@dataclass(frozen=True)
class Constant:
    """A timing or bandwidth constant: `value` in `unit` (ns, GB/s, cycles, ...)."""

    name: str
    value: float
    unit: str
    source: str


@dataclass(frozen=True)
class Engine:
    """One engine: its name in kernels, its clock, and the memory spaces it reads and writes.

    `clock_ghz` is None where the engine has no clock of its own. `aligned`: the start-partition rule applies to it.
    """

    name: str
    nki: str
    clock_ghz: float | None
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    aligned: bool
    source: str


@dataclass(frozen=True)
class StartRule:
    """A tile of `low..high` partitions may start at the partitions `starts` only."""

    low: int
    high: int
    starts: tuple[int, ...]
    source: str


@dataclass(frozen=True)
class DType:
    """An element type: the name used in descriptions, its spelling in kernels, size in bytes, kind (float, integer)."""

    name: str
    nki: str
    bytes: int
    kind: str


@dataclass(frozen=True)
class Hardware:
    """What rules look up about the device."""

    generation: int
    limits: Mapping[str, Limit]
    engines: Mapping[str, Engine]
    starts: tuple[StartRule, ...]
    dtypes: Mapping[str, DType]


@dataclass(frozen=True)
class TileFact:
    """What is known of one tile: extents (exact or upper bounds), space, dtype name, start partition or None."""

    shape: tuple[int, ...]
    space: str
    dtype: str
    start: int | None = None


@dataclass(frozen=True)
class Facts:
    """One use of an instruction.

    `tiles`: operand or result name -> fact (a tied operand may be left out). `engine`: the engine chosen, or None while
    it is open. `attributes`: attribute -> scalar function or monoid. `immediates`: operand -> number, where known.
    `options`: open parameters, spelled (`dge_mode` -> `nisa.dge_mode.hwdge`).
    """

    tiles: Mapping[str, TileFact]
    engine: str | None = None
    attributes: Mapping[str, str] = field(default_factory=dict[str, str])
    immediates: Mapping[str, float] = field(default_factory=dict[str, float])
    options: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class Violation:
    """A broken rule: its name, what is wrong in words, and who demands it."""

    rule: str
    message: str
    source: str

    def __str__(self) -> str:
        return f"{self.message} [{self.rule}; {self.source}]"


@dataclass(frozen=True)
class Case:
    """Facts with the sizes they bind, ready for rules to look at."""

    facts: Facts
    tiles: Mapping[str, TileFact]
    sizes: Mapping[str, int]
    hardware: Hardware

    def free_elements(self, name: str) -> int:
        """Elements per partition of a tile."""
        return math.prod(self.tiles[name].shape[1:])

    def free_bytes(self, name: str) -> int:
        """Bytes per partition of a tile."""
        return self.free_elements(name) * self.hardware.dtypes[self.tiles[name].dtype].bytes


# ---- expressions ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Number:
    value: float

    def __str__(self) -> str:
        return f"{self.value:g}"


@dataclass(frozen=True)
class Reference:
    """A size of the form's head, or a limit of the device."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Call:
    """`+ - * /`, `max`, `min`, or `elements` / `bytes` (per partition) of a tile."""

    function: str
    args: tuple[Expr, ...]

    def __str__(self) -> str:
        if self.function in "+-*/":
            left, right = map(str, self.args)
            return f"{left} {self.function} {right}" if self.function in "+-" else f"{left}{self.function}{right}"
        return f"{self.function}({', '.join(map(str, self.args))})"


Expr = Number | Reference | Call
TILE_FUNCTIONS = ("elements", "bytes")
NUMBER_FUNCTIONS = ("max", "min")


def evaluate(expr: Expr, case: Case) -> float:
    """The value of an expression in a case."""
    match expr:
        case Number(value):
            return value
        case Reference(name):
            return case.sizes[name] if name in case.sizes else case.hardware.limits[name].value
        case Call("elements", (Reference(name),)):
            return case.free_elements(name)
        case Call("bytes", (Reference(name),)):
            return case.free_bytes(name)
        case Call(function, args):
            values = [evaluate(a, case) for a in args]
            match function:
                case "max":
                    return max(values)
                case "min":
                    return min(values)
                case "+":
                    return values[0] + values[1]
                case "-":
                    return values[0] - values[1]
                case "*":
                    return values[0] * values[1]
                case "/":
                    return values[0] / values[1]
                case _:
                    raise ValueError(f"unknown function {function}")


def references(expr: Expr) -> Iterable[tuple[str, bool]]:
    """Names in an expression, with whether each stands for a tile."""
    match expr:
        case Number():
            return
        case Reference(name):
            yield name, False
        case Call(function, args):
            for arg in args:
                if function in TILE_FUNCTIONS and isinstance(arg, Reference):
                    yield arg.name, True
                else:
                    yield from references(arg)


# ---- conditions -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Condition:
    """`name in space | ...` (a tile) or `name is value | ...` (a tile's dtype, an attribute, an option)."""

    name: str
    relation: str
    values: tuple[str, ...]
    negated: bool

    def holds(self, case: Case) -> bool:
        if self.relation == "in":
            found = case.tiles[self.name].space
        elif self.name in case.tiles:
            found = case.tiles[self.name].dtype
        elif self.name in case.facts.attributes:
            found = case.facts.attributes[self.name]
        else:
            found = case.facts.options.get(self.name, "").rpartition(".")[2]
        return (found in self.values) != self.negated

    def __str__(self) -> str:
        return f"{'not ' if self.negated else ''}{self.name} {self.relation} {' or '.join(self.values)}"


def all_hold(conditions: Iterable[Condition], case: Case) -> bool:
    return all(c.holds(case) for c in conditions)


# ---- rules ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BoundRule:
    """`left <= right`."""

    left: Expr
    right: Expr
    when: tuple[Condition, ...]
    source: str
    name = "limit"

    def check(self, case: Case) -> str | None:
        left, right = evaluate(self.left, case), evaluate(self.right, case)
        if left <= right:
            return None
        limit = f"{self.right}" + ("" if isinstance(self.right, Number) else f" = {right:g}")
        return f"{self.left} = {left:g} exceeds {limit}"

    def __str__(self) -> str:
        return f"{self.left} <= {self.right}"


@dataclass(frozen=True)
class AtMostOneRule:
    """At most one of the tiles lies in the space."""

    space: str
    names: tuple[str, ...]
    when: tuple[Condition, ...]
    source: str
    name = "at_most_one"

    def check(self, case: Case) -> str | None:
        there = [n for n in self.names if case.tiles[n].space == self.space]
        return f"{' and '.join(there)} are all in {self.space}; at most one may be" if len(there) > 1 else None

    def __str__(self) -> str:
        return f"at most one of {', '.join(self.names)} in {self.space}"


@dataclass(frozen=True)
class SameDTypeRule:
    names: tuple[str, ...]
    when: tuple[Condition, ...]
    source: str
    name = "same_dtype"

    def check(self, case: Case) -> str | None:
        found = {n: case.tiles[n].dtype for n in self.names}
        if len(set(found.values())) == 1:
            return None
        return ", ".join(f"{n} is {d}" for n, d in found.items()) + "; they must have one dtype"

    def __str__(self) -> str:
        return f"{', '.join(self.names)} of one dtype"


@dataclass(frozen=True)
class PairsRule:
    """If one of the tiles has a dtype of the list, all have."""

    dtypes: tuple[str, ...]
    names: tuple[str, ...]
    when: tuple[Condition, ...]
    source: str
    name = "pairs"

    def check(self, case: Case) -> str | None:
        found = {n: case.tiles[n].dtype for n in self.names}
        if len({d in self.dtypes for d in found.values()}) == 1:
            return None
        tail = f"; {' and '.join(self.dtypes)} go only with each other"
        return ", ".join(f"{n} is {d}" for n, d in found.items()) + tail

    def __str__(self) -> str:
        return f"{', '.join(self.names)}: {' and '.join(self.dtypes)} only with each other"


@dataclass(frozen=True)
class ExcludesRule:
    """Two different dtypes of the list do not meet in one call."""

    dtypes: tuple[str, ...]
    names: tuple[str, ...]
    when: tuple[Condition, ...]
    source: str
    name = "excludes"

    def check(self, case: Case) -> str | None:
        met = sorted({case.tiles[n].dtype for n in self.names} & set(self.dtypes))
        return f"{' and '.join(met)} do not go together" if len(met) > 1 else None

    def __str__(self) -> str:
        return f"{', '.join(self.names)}: {' and '.join(self.dtypes)} never together"


@dataclass(frozen=True)
class KindRule:
    """An immediate is a whole number where the tile holds integers."""

    immediate: str
    tile: str
    when: tuple[Condition, ...]
    source: str
    name = "kind"

    def check(self, case: Case) -> str | None:
        value = case.facts.immediates.get(self.immediate)
        dtype = case.hardware.dtypes[case.tiles[self.tile].dtype]
        if value is None or dtype.kind != "integer" or isinstance(value, int):
            return None
        return f"{self.immediate} = {value!r} is not an integer, but {self.tile} is {dtype.name}"

    def __str__(self) -> str:
        return f"{self.immediate} is an integer exactly where {self.tile} holds integers"


@dataclass(frozen=True)
class FreeSizeRule:
    """Elements per partition of each tile are within the device limit `free_elements_<space>`, where there is one."""

    names: tuple[str, ...]
    when: tuple[Condition, ...]
    source: str
    name = "free_size"

    def check(self, case: Case) -> str | None:
        for n in self.names:
            limit = case.hardware.limits.get(f"free_elements_{case.tiles[n].space}")
            if limit is not None and case.free_elements(n) > limit.value:
                return f"{n} has {case.free_elements(n)} elements per partition, more than {limit.name} = {limit.value}"
        return None

    def __str__(self) -> str:
        return f"elements per partition of {', '.join(self.names)} within the limit of their space"


Rule = BoundRule | AtMostOneRule | SameDTypeRule | PairsRule | ExcludesRule | KindRule | FreeSizeRule


@dataclass(frozen=True)
class EngineRule:
    """Engines an instruction may run on, under conditions on attributes."""

    engines: tuple[str, ...]
    when: tuple[Condition, ...]


@dataclass(frozen=True)
class ExactRule:
    """On this engine tiles of these integer types alone are computed with exactly, unless another engine is chosen."""

    dtypes: tuple[str, ...]
    engine: str
    source: str


@dataclass(frozen=True)
class CostRule:
    """Engine cycles of one instruction in a back-to-back stream; the first rule whose conditions hold counts."""

    engine: str
    cycles: Expr
    when: tuple[Condition, ...]
    source: str
