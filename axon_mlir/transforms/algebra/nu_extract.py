# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`nu-extract{k=4}`: the cheapest whole-function structures of each function with choices.

A structure is the function with one proved alternative inlined for each choice that is live in it, and nothing unused
left. `@f` becomes `@f_0`, `@f_1`, ..., cheapest first, each with the attributes `nu.origin = "f"` and
`nu.picks = {choice = "alternative", ...}`. The cost is the number of element operations at the sizes of the function's
`axon.values` (`DEFAULT_SIZE` for any other).

Structures are found best first: choices are decided from the function's end to its start, so that what is used is known
when a choice is decided, and an undecided choice counts what its cheapest alternative costs and what all its
alternatives use. That is a lower bound, hence the first k complete structures are the k cheapest.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp, StringAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.transforms.dead_code_elimination import region_dce, would_be_trivially_dead

from axon_mlir.dialects.nu import PROVED, ChoiceOp, YieldOp, choices_of, inline_alternative
from axon_mlir.errors import AxonError
from axon_mlir.host.verification import operation_error
from axon_mlir.semantics import terms as t
from axon_mlir.semantics.functions import FUNCTIONS
from axon_mlir.semantics.index import Index, Size, Var, evaluate
from axon_mlir.semantics.shapes import shape_of
from axon_mlir.semantics.traits import HasMeaning

DEFAULT_SIZE = 1024
"""What a size counts as that the function gives no value for."""

Picks = Mapping[ChoiceOp, int]


@dataclass(frozen=True)
class NuExtract(ModulePass):
    """Replace each function with choices by its k cheapest structures."""

    name = "nu-extract"

    k: int = 4

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Extract from every function of the module."""
        if self.k < 1:
            raise AxonError(f"nu-extract cannot extract {self.k} structures", accepted="k=1 or more")
        for function in [f for f in op.walk() if isinstance(f, FuncOp)]:
            if choices := choices_of(function):
                _replace(op, function, _structures(function, choices, self.k))


def _replace(module: ModuleOp, function: FuncOp, structures: list[FuncOp]) -> None:
    name = function.sym_name.data
    taken = {f.sym_name.data for f in module.walk() if isinstance(f, FuncOp)}
    for call in module.walk():
        if isinstance(call, CallOp) and call.callee.root_reference.data == name:
            raise operation_error(call, f"calls @{name}, which nu-extract replaces")
    block = function.parent
    assert block is not None
    for number, structure in enumerate(structures):
        structure.sym_name = StringAttr(f"{name}_{number}")
        if structure.sym_name.data in taken:
            raise operation_error(function, f"@{name}: there is a function @{name}_{number} already")
        block.insert_op_before(structure, function)
    block.erase_op(function)


def _structures(function: FuncOp, choices: Mapping[str, ChoiceOp], k: int) -> list[FuncOp]:
    """The k cheapest structures that differ."""
    region_dce(function.body)
    kept = set(_choices_in(function))
    live = {name: choice for name, choice in choices.items() if choice in kept}
    found: list[FuncOp] = []
    for picks in _best_first(function):
        structure = _structure(function, live, picks)
        if not any(structure.body.is_structurally_equivalent(other.body) for other in found):
            found.append(structure)
            if len(found) == k:
                break
    if not found:
        stuck = next((c for c in live.values() if not _proved(c)), None)
        raise operation_error(stuck or function, "leaves no structure: an alternative that is proved is needed")
    return found


def _structure(function: FuncOp, choices: Mapping[str, ChoiceOp], picks: Picks) -> FuncOp:
    """The function with its picks inlined and nothing unused left."""
    copy = function.clone()
    # Both walks meet the choices in the same order.
    copies = dict(zip(_choices_in(function), _choices_in(copy), strict=True))
    for choice in _choices_in(function):
        if choice in picks:
            inline_alternative(copies[choice], picks[choice])
    region_dce(copy.body)
    copy.attributes["nu.origin"] = function.sym_name
    taken = {name: choice.alternatives.data[picks[choice]].label for name, choice in choices.items() if choice in picks}
    copy.attributes["nu.picks"] = DictionaryAttr(taken)
    return copy


def _choices_in(function: FuncOp) -> list[ChoiceOp]:
    return [op for op in function.walk() if isinstance(op, ChoiceOp)]


def _proved(choice: ChoiceOp) -> list[int]:
    """The alternatives that may be taken."""
    return [n for n, a in enumerate(choice.alternatives.data) if a.verdict.data == PROVED]


# -- search -----------------------------------------------------------------------------------------------------------


def _best_first(function: FuncOp) -> Iterator[Picks]:
    """Every structure's picks, by cost; of equal cost, those that take earlier alternatives for later choices first."""
    costs = Costs(function)
    # Partial structures by lower bound; the sequence of decisions breaks ties, and is different for each.
    queue: list[tuple[int, tuple[int, ...], int]] = []
    partial: list[tuple[Picks, ChoiceOp | None]] = []

    def push(picks: Picks, decisions: tuple[int, ...]) -> None:
        walk = _Walk(costs, picks)
        bound = walk.region(function.body)
        if bound is not None:
            heapq.heappush(queue, (bound, decisions, len(partial)))
            partial.append((picks, walk.undecided))

    push({}, ())
    while queue:
        _, decisions, number = heapq.heappop(queue)
        picks, undecided = partial[number]
        if undecided is None:
            yield picks
            continue
        for n in _proved(undecided):
            push({**picks, undecided: n}, (*decisions, n))


@dataclass
class _Walk:
    """Adds up what is used, from the end of a function to its start; the cost is a lower bound under open choices."""

    costs: Costs
    picks: Picks
    undecided: ChoiceOp | None = None
    """The last live choice without a pick."""
    live: set[SSAValue] = field(default_factory=set[SSAValue])

    def region(self, region: Region) -> int | None:
        """The cost of what is live in a region; None when a live choice has no alternative that may be taken."""
        total = 0
        for op in (op for block in region.blocks for op in reversed(block.ops)):
            # What an alternative yields is live where the choice's result is: `alternative` has seen to that.
            if isinstance(op, YieldOp) or (would_be_trivially_dead(op) and self.live.isdisjoint(op.results)):
                continue
            cost = self.choice(op) if isinstance(op, ChoiceOp) else self.operation(op)
            if cost is None:
                return None
            total += cost
        return total

    def operation(self, op: Operation) -> int | None:
        """The cost of an operation that is live; its operands become live."""
        self.live.update(op.operands)
        total = self.costs.of(op)
        for region in op.regions:
            cost = self.region(region)
            if cost is None:
                return None
            total += cost
        return total

    def choice(self, choice: ChoiceOp) -> int | None:
        """The cost of a choice that is live: of its pick, or the least of any alternative."""
        if choice in self.picks:
            options = [self.picks[choice]]
        else:
            options = _proved(choice)
            self.undecided = self.undecided or choice
        bounds = [(cost, live) for n in options for cost, live in self.alternative(choice, n)]
        if not bounds:
            return None
        needed = set[int].intersection(*(live for _, live in bounds))
        self.live.update(choice.inputs[n] for n in needed)
        return min(cost for cost, _ in bounds)

    def alternative(self, choice: ChoiceOp, number: int) -> Iterator[tuple[int, set[int]]]:
        """The cost of an alternative and the operands that it uses; nothing when it cannot be taken."""
        inner = _Walk(self.costs, self.picks, self.undecided)
        yielded = choice.yielded(number)
        inner.live.update(v for result, v in zip(choice.outputs, yielded, strict=True) if result in self.live)
        cost = inner.region(choice.bodies[number])
        self.undecided = inner.undecided
        if cost is not None:
            yield cost, {n for n, argument in enumerate(choice.body(number).args) if argument in inner.live}


# -- cost -------------------------------------------------------------------------------------------------------------


class Costs:
    """The element operations of each operation, at the sizes of one function."""

    def __init__(self, function: FuncOp):
        values = function.attributes.get("axon.values")
        self._sizes: dict[str, int] = {}
        if isinstance(values, DictionaryAttr):
            for name, value in values.data.items():
                if isinstance(value, IntegerAttr):
                    self._sizes[name] = value.value.data
        self._known: dict[Operation, int] = {}

    def of(self, op: Operation) -> int:
        """The cost of one operation; what has no meaning is free."""
        if op not in self._known:
            self._known[op] = self._count(op)
        return self._known[op]

    def _count(self, op: Operation) -> int:
        if not isinstance(op, HasMeaning):
            return 0
        operands = [t.tensor_input(f"in{n}", shape_of(v.type)) for n, v in enumerate(op.operands)]
        results = op.meaning().denote(operands, op.meaning_attributes())
        return sum(element_operations(result, self._number) for result in results)

    def _number(self, extent: Index) -> int:
        env: dict[Size | Var, int] = {
            s: self._sizes.get(s.name, DEFAULT_SIZE) for s in extent.symbols() if isinstance(s, Size)
        }
        return cast(int, evaluate(extent, env))


def element_operations(value: t.Comprehension, number: Callable[[Index], int]) -> int:
    """How many scalar operations a tensor takes, `number` giving the value of an extent.

    Each distinct term counts once for each value of the variables in it: what does not depend on a fold's variable is
    not in the fold. A fold whose extent depends on an index is a running one, which takes one step an element. A tensor
    that only moves elements counts one for each, unless it repeats them.
    """
    extents: dict[Var, int] = dict(zip(value.variables, map(number, value.shape), strict=True))
    seen: set[t.Term] = set()
    total = 0

    def space(term: t.Term) -> int:
        return prod(extents[s] for s in t.free_symbols(term) if isinstance(s, Var))

    def visit(term: t.Term) -> None:
        nonlocal total
        if term in seen:
            return
        seen.add(term)
        match term:
            case t.Apply(function, arguments):
                for argument in arguments:
                    visit(argument)
                total += 0 if FUNCTIONS[function].copies else space(term)
            case t.Fold(_, variable, extent, body):
                running = any(isinstance(s, Var) for s in extent.symbols())
                extents[variable] = 1 if running else number(extent)
                visit(body)
                total += space(term) * extents[variable]
            case t.Select(condition, then, otherwise):
                for side in t.compared_terms(condition):
                    visit(side)
                visit(then)
                visit(otherwise)
                total += space(term)
            case _:
                pass

    visit(value.body)
    if total == 0:
        moved = {v for v, extent in zip(value.variables, value.shape, strict=True) if extent != 1}
        total = space(value.body) if moved <= t.free_symbols(value.body) else 0
    return total
