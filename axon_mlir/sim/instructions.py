# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Instructions as kernels call them: bound to a target's description, checked against it, computed from its meaning."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod
from operator import itemgetter
from typing import Any, NoReturn

import numpy as np

from axon_mlir.errors import AxonError
from axon_mlir.semantics import terms
from axon_mlir.semantics.domains import Domain
from axon_mlir.semantics.evaluate import stage
from axon_mlir.semantics.functions import FUNCTIONS
from axon_mlir.semantics.index import const
from axon_mlir.sim.dtypes import DType
from axon_mlir.sim.elements import OutOfRange
from axon_mlir.sim.failures import KernelFailure, Misuse
from axon_mlir.sim.lookalike import Symbol
from axon_mlir.sim.machine import Machine
from axon_mlir.sim.memory import ACCUMULATED, ON_CHIP, UNWRITTEN, WRITTEN, Tensor, contiguous_rows, overlaps
from axon_mlir.sim.trace import Generation, Issued, Transfer, Work
from axon_mlir.targets import (
    CallReference,
    CallRows,
    CallSequence,
    Device,
    Facts,
    Form,
    Instruction,
    Rows,
    Selection,
    TileFact,
    Violation,
)
from axon_mlir.targets.device import CallArg, CallConstant, FunctionRange

MIN_INTERVAL = "min_interval"
"""The limit that says how far apart instructions start at least: part of what cost rules say, not of the work."""

DMA = "dma"
"""The engine that moves data between memories, by its name in descriptions."""

GENERATIONS: Mapping[str, Generation] = {"hwdge": "hardware", "swdge": "software", "none": "static"}
"""How descriptors are made, by what `dge_mode` calls it."""

Getter = Callable[[Mapping[str, Any]], Any]


@dataclass(frozen=True)
class _Tile:
    """An operand or result that is a tile: where the call passes it, and its shape as the meaning sees it."""

    get: Getter
    shape: tuple[int, ...]
    dtype: DType


@dataclass(frozen=True)
class _Plan:
    """Everything about a call that its signature decides: the form, that it breaks no rule, what to count."""

    operands: tuple[tuple[str, _Tile], ...]
    """The tiles that are read, by name; immediates are part of the values."""
    results: tuple[_Tile, ...]
    codes: tuple[Callable[[Mapping[str, Any]], Any], ...]
    """What computes each result from the operands."""
    domain: Domain
    engine: str
    state: int
    accumulates: tuple[bool, ...]
    """Per operand: its elements must come from accumulating instructions."""
    copies: bool
    """The instruction moves elements of one type: no conversion."""
    dma: tuple[int, int]
    """Bytes and descriptors."""
    work: Work
    """What it is to the engines."""
    identities: tuple[str, ...] = ()
    """Operands that must be identity matrices."""
    rows: tuple[str, int] | None = None
    """The operand that chooses rows, and how many there are."""


class BoundInstruction:
    """One instruction of the device in one run."""

    def __init__(self, machine: Machine, device: Device, instruction: Instruction):
        self.machine = machine
        self.device = device
        self.instruction = instruction
        self.__name__ = instruction.name
        self._parameters = [parameter.name for parameter in instruction.signature]
        self._plans: dict[Any, _Plan] = {}
        self._dtypes = {dtype.nki.rpartition(".")[2]: dtype.name for dtype in device.dtypes.values()}
        self._engines = {engine.nki: name for name, engine in device.engines.items()}
        self._source = ", ".join(instruction.sources) or None
        self._can_accumulate = any(form.accumulates for form in instruction.forms)
        self._left_open = _accumulation(instruction)

    def __repr__(self) -> str:
        return self.instruction.nki

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        for name, value in zip(self._parameters, args, strict=False):
            if name in kwargs:
                raise Misuse(f"`{self.instruction.nki}` is given `{name}` twice")
            kwargs[name] = value
        kwargs.pop("name", None)
        if self._left_open is not None and kwargs.get(self._left_open[0]) is None:
            flag, result = self._left_open
            kwargs[flag] = self._continues(result(kwargs))
        key = tuple((name, _key(value)) for name, value in kwargs.items())
        try:
            plan = self._plans.get(key)
        except TypeError as error:
            raise Misuse(f"`{self.instruction.nki}`: an argument that instructions do not take: {error}") from error
        if plan is None:
            plan = self._plan(kwargs, len(args))
            self._plans[key] = plan
        self._run(plan, kwargs)

    # Running a call that breaks no static rule.

    def _run(self, plan: _Plan, arguments: Mapping[str, Any]) -> None:
        machine = self.machine
        elements = machine.elements
        number = machine.begin()
        machine.engines[plan.engine] += 1
        machine.applied["instruction"] += 1
        if elements.computes:
            self._compute(plan, arguments)
        for _, operand in plan.operands:
            operand.get(arguments).storage.life.last_use = number
        for result in plan.results:
            tensor: Tensor = result.get(arguments)
            tensor.storage.mark(tensor.data, plan.state)
            life = tensor.storage.life
            if life.first_use < 0:
                life.first_use = number
            life.last_use = number
        size, descriptors = plan.dma
        if descriptors:
            machine.transfer(size, descriptors)
        if machine.trace is not None:
            reads = tuple(machine.access(tile.get(arguments)) for _, tile in plan.operands)
            writes = tuple(machine.access(tile.get(arguments)) for tile in plan.results)
            machine.trace.issued.append(Issued(plan.work, machine.lines[number], reads, writes))

    def _compute(self, plan: _Plan, arguments: Mapping[str, Any]) -> None:
        """Read the operands, which something must have written, and write the results."""
        machine, elements = self.machine, self.machine.elements
        values: dict[str, Any] = {}
        for (name, operand), accumulates in zip(plan.operands, plan.accumulates, strict=True):
            tensor: Tensor = operand.get(arguments)
            self._check_written(tensor, name, accumulates)
            data = tensor.data if plan.copies else elements.read(tensor.data, operand.dtype, plan.domain)
            values[name] = data.reshape(operand.shape)
        for name in plan.identities:
            self._check_identity(name, values[name])
        if plan.rows is not None:
            self._check_rows(plan, values, arguments)
        try:
            computed = [code(values) for code in plan.codes]
            if len(computed) > 1:
                # What is a view of an operand must not see what another result writes there.
                computed = [np.array(value) for value in computed]
        except OutOfRange as error:
            machine.refuse(str(error), rule="function-range", instruction=self.instruction.nki, source=self._source)
        except AxonError as error:
            raise error.at(machine.where()) from error
        for result, value in zip(plan.results, computed, strict=True):
            tensor = result.get(arguments)
            stored = value if plan.copies else elements.write(value, result.dtype)
            tensor.data[...] = stored.reshape(tensor.data.shape)

    def _check_identity(self, name: str, value: Any) -> None:
        """Refuse another matrix where the instruction computes something else with it than it says."""
        self.machine.applied["identity"] += 1
        if not (value == np.eye(*value.shape)).all():
            self.machine.refuse(
                f"`{name}` is no identity matrix",
                rule="identity",
                instruction=self.instruction.nki,
                source=self._source,
            )

    def _check_rows(self, plan: _Plan, values: Mapping[str, Any], arguments: Mapping[str, Any]) -> None:
        """Refuse positions beyond the rows that they choose from."""
        assert plan.rows is not None
        name, count = plan.rows
        found = plan.domain.positions(np.asarray(values[name]))
        self.machine.applied["row"] += 1
        if ((found < 0) | (found >= count)).any():
            wrong = found[(found < 0) | (found >= count)][0]
            self.machine.refuse(
                f"position {wrong} of `{name}` in {count} rows",
                rule="row",
                instruction=self.instruction.nki,
                source=self._source,
                accepted=f"positions from 0 to {count - 1}",
            )

    def _check_written(self, tensor: Tensor, name: str, accumulates: bool) -> None:
        """Refuse to read what nothing wrote, and to accumulate onto what no accumulating instruction wrote."""
        machine = self.machine
        lowest = tensor.storage.lowest(tensor.data)
        machine.applied["initialised"] += 1
        if accumulates:
            machine.applied["accumulate"] += 1
        if lowest >= (ACCUMULATED if accumulates else WRITTEN):
            return
        states = tensor.storage.states(tensor.data)
        wrong = states < ACCUMULATED if accumulates else states == UNWRITTEN
        count = int(np.count_nonzero(wrong))
        first = tuple(int(i) for i in np.argwhere(wrong)[0])
        if accumulates:
            message = f"accumulates onto {count} of {wrong.size} elements that no `{self.instruction.nki}` wrote"
            rule = "accumulate"
        else:
            message = f"reads {count} of {wrong.size} elements of `{name}` that nothing wrote"
            rule = "initialised"
        machine.refuse(
            f"{message}, first {first}",
            rule=rule,
            instruction=self.instruction.nki,
            tensor=tensor.storage.describe(),
            source=self._source,
        )

    def _continues(self, result: Any) -> bool:
        """Whether a call that leaves it open adds to its result: whether such an instruction wrote it before."""
        if not isinstance(result, Tensor):
            return False
        states = result.storage.states(result.data)
        written = states == ACCUMULATED
        if written.any() and not written.all():
            self.machine.refuse(
                f"{np.count_nonzero(written)} of {written.size} elements would be added to, the others overwritten",
                rule="accumulate",
                instruction=self.instruction.nki,
                tensor=result.storage.describe(),
                source=self._source,
                accepted="accumulate=True or accumulate=False",
            )
        return bool(written.all())

    # Understanding a call for the first time.

    def _plan(self, arguments: Mapping[str, Any], positional: int) -> _Plan:
        if positional > len(self._parameters):
            raise Misuse(f"`{self.instruction.nki}` takes {len(self._parameters)} arguments, not {positional}")
        try:
            selections = list(self.instruction.matches(arguments, is_tile=_is_tile, spell=_spell))
            if not selections:
                self.instruction.select(arguments, is_tile=_is_tile, spell=_spell)
        except AxonError as error:
            raise KernelFailure(
                error.message, where=self.machine.where(), accepted=error.accepted, reason="raised"
            ) from error
        broken: list[tuple[Selection, list[Violation]]] = []
        for selection in selections:
            facts = self._facts(selection, arguments)
            violations = selection.form.check(facts)
            if not violations:
                return self._accept(selection, facts)
            broken.append((selection, violations))
        selection, violations = min(broken, key=lambda pair: len(pair[1]))
        self._refuse(selection, violations)

    def _facts(self, selection: Selection, arguments: Mapping[str, Any]) -> Facts:
        shapes = _shapes(selection)
        tiles: dict[str, TileFact] = {}
        for name, value in _tiles(selection).items():
            start = value.partition if value.storage.space in ON_CHIP else None
            dtype = self._dtypes.get(value.dtype.name, value.dtype.name)
            tiles[name] = TileFact(shapes[name], value.storage.space, dtype, start)
        named = selection.operands.items()
        immediates: dict[str, Any] = {name: value for name, value in named if not isinstance(value, Tensor)}
        engine = arguments.get("engine")
        chosen = self._engines.get(engine.text) if isinstance(engine, Symbol) else None
        options = {
            name: value.text
            for name, value in arguments.items()
            if name in self.instruction.open_parameters and isinstance(value, Symbol)
        }
        attributes = {name: str(value) for name, value in selection.attributes.items()}
        return Facts(tiles, chosen, attributes, immediates, options)

    def _refuse(self, selection: Selection, violations: Sequence[Violation]) -> NoReturn:
        first = violations[0]
        named = {**selection.operands, **selection.results}
        words = first.message.split()
        tile = next((v for name, v in named.items() if isinstance(v, Tensor) and name in words), None)
        self.machine.refuse(
            "; ".join(violation.message for violation in violations),
            rule=first.rule,
            instruction=self.instruction.nki,
            tensor=None if tile is None else tile.storage.describe(),
            source=first.source,
        )

    def _accept(self, selection: Selection, facts: Facts) -> _Plan:
        form = selection.form
        machine = self.machine
        getters = _getters(form)
        operands: dict[str, _Tile] = {}
        accumulates: list[bool] = []
        for rule in form.operands:
            value = selection.operands[rule.name]
            if isinstance(value, Tensor):
                shape = _flat(facts.tiles[rule.name].shape, len(rule.axes))
                operands[rule.name] = _Tile(getters[rule.tied or rule.name], shape, value.dtype)
                accumulates.append(rule.outs and form.accumulates)
        results: list[_Tile] = []
        for rule in form.results:
            value = selection.results[rule.name]
            assert isinstance(value, Tensor)
            _, _, extents, strides, _ = value.facts()
            machine.applied["written-once"] += 1
            if overlaps(extents, strides):
                machine.refuse(
                    f"`{rule.name}` visits an element more than once",
                    rule="written-once",
                    instruction=self.instruction.nki,
                    tensor=value.storage.describe(),
                    accepted="a pattern that visits each element once",
                )
            shape = _flat(facts.tiles[rule.name].shape, len(rule.axes))
            results.append(_Tile(getters[rule.name], shape, value.dtype))
        for rule, result in zip(form.results, results, strict=True):
            for axis, extent in zip(rule.axes, result.shape, strict=False):
                stated = selection.sizes.get(axis, extent)
                if stated != extent:
                    machine.refuse(
                        f"the pattern has {stated} elements, `{rule.name}` has {extent} per partition",
                        rule="shape",
                        instruction=self.instruction.nki,
                        tensor=repr(selection.results[rule.name]),
                        source=form.where,
                    )
        tiles = _tiles(selection)
        engines = (facts.engine,) if facts.engine else form.engines_for(facts)
        engine = engines[0] if len(engines) == 1 else "any"
        values = self._values(selection, operands, results)
        rows = [arg for _, arg in form.call if isinstance(arg, CallRows)]
        # Of rows that are chosen only the result's are moved.
        chosen = {r.tensor for r in rows}
        one_type = len({tile.dtype.name for tile in tiles.values()}) == 1
        domain = machine.elements.within(_ranges(selection), wide=not operands or form.is_exact(facts))
        shapes = {name: tile.shape for name, tile in operands.items()}
        return _Plan(
            operands=tuple(operands.items()),
            results=tuple(results),
            codes=tuple(stage(value, shapes, {}, domain) for value in values),
            domain=domain,
            engine=engine,
            state=ACCUMULATED if self._can_accumulate else WRITTEN,
            accumulates=tuple(accumulates),
            copies=one_type and all(_moves_only(value.body) for value in values),
            dma=_transfer([v for n, v in tiles.items() if n not in chosen]) if engine == DMA else (0, 0),
            work=self._work(selection, facts, engine),
            identities=form.identities,
            rows=next(((r.index, facts.tiles[r.tensor].shape[0]) for r in rows), None),
        )

    def _work(self, selection: Selection, facts: Facts, engine: str) -> Work:
        """What the call is to the engines: where the choice is open, to each."""
        form, tiles = selection.form, _tiles(selection)
        streams = [tiles[o.name] for o in form.operands if o.name in tiles and not o.outs]
        streams = streams or [tile for tile in tiles.values()]
        moving = streams[-1]
        hardware = form.hardware
        free = {**hardware.limits, MIN_INTERVAL: replace(hardware.limits[MIN_INTERVAL], value=0)}
        lean = replace(form, hardware=replace(hardware, limits=free))
        functions = [str(selection.attributes[name]) for name in form.functions]

        def on(queue: str) -> Work:
            return Work(
                instruction=self.instruction.name,
                queue=self._queue(facts) if engine == DMA else queue,
                function=functions[0] if functions and queue == "scalar" else "",
                cycles=float(lean.cycles(facts, queue) or 0),
                space="psum" if any(tile.storage.space == "psum" for tile in streams) else "sbuf",
                wide=moving.dtype.itemsize == 4,
                rows=moving.data.shape[0],
                transfer=_moved(tiles, _made(selection, facts)) if engine == DMA else None,
            )

        if engine != "any":
            return on(engine)
        first, *others = map(on, form.engines_for(facts))
        return replace(first, others=tuple(others))

    def _queue(self, facts: Facts) -> str:
        """The queue that a DMA asks for, if it does."""
        return facts.engine if facts.engine in ("sync", "scalar") else ""

    def _values(
        self, selection: Selection, operands: Mapping[str, _Tile], results: Sequence[_Tile]
    ) -> tuple[terms.Comprehension, ...]:
        """The instruction's meaning at these shapes, attributes and immediates."""
        attributes = dict(selection.attributes)
        free = set(selection.form.free_sizes)
        for rule, result in zip(selection.form.results, results, strict=True):
            # Sizes that no operand has, as in a fill, are the result's.
            attributes.update({axis: n for axis, n in zip(rule.axes, result.shape, strict=False) if axis in free})
        inputs: list[terms.Comprehension] = []
        for name, value in ((rule.name, selection.operands[rule.name]) for rule in selection.form.operands):
            if name in operands:
                inputs.append(terms.tensor_input(name, [const(extent) for extent in operands[name].shape]))
            else:
                inputs.append(terms.Comprehension((), (), self._constant(name, value)))
        try:
            values = tuple(selection.form.meaning.denote(inputs, attributes))
        except AxonError as error:
            raise KernelFailure(
                f"{self.instruction.nki}: {error.message}", where=self.machine.where(), accepted=error.accepted
            ) from error
        for rule, value, result in zip(selection.form.results, values, results, strict=True):
            shape = [extent.constant or 0 for extent in value.shape]
            if prod(shape) != prod(result.shape):
                self.machine.refuse(
                    f"`{rule.name}` is {list(result.shape)}; the instruction writes {shape}",
                    rule="shape",
                    instruction=self.instruction.nki,
                    tensor=repr(selection.results[rule.name]),
                    source=selection.form.where,
                )
        return values

    def _constant(self, name: str, value: Any) -> terms.Const:
        number = value if isinstance(value, (int, Fraction)) else float(value)
        if number != number:
            raise Misuse(f"`{self.instruction.nki}`: {name} is not a number")
        return terms.number(number)


def bind_instructions(machine: Machine, device: Device) -> dict[str, BoundInstruction]:
    """Every instruction of the device, by its name in kernels."""
    return {
        instruction.nki.rpartition(".")[2]: BoundInstruction(machine, device, instruction)
        for instruction in device.instructions.values()
    }


def _accumulation(instruction: Instruction) -> tuple[str, Getter] | None:
    """The parameter that says whether a result is added to, and how to get the result, where there is a choice."""
    for form in instruction.forms:
        flag = next((k for k, arg in form.call if isinstance(arg, CallConstant) and arg.text == "True"), None)
        if form.accumulates and flag is not None:
            return flag, _getters(form)[form.results[0].name]
    return None


def _is_tile(value: object) -> bool:
    return isinstance(value, Tensor)


def _spell(value: object) -> str:
    if isinstance(value, Symbol):
        return value.text
    if isinstance(value, DType):
        return f"nl.{value.name}"
    return repr(value)


def _key(value: Any) -> Any:
    """What decides, of an argument, which form a call has and which rules it breaks."""
    if isinstance(value, Tensor):
        return value.facts()
    if isinstance(value, Rows):
        return (Rows, _key(value.index), _key(value.tensor))
    if isinstance(value, (list, tuple)):
        return tuple(_key(item) for item in value)  # pyright: ignore[reportUnknownVariableType]
    return (type(value), value)


def _ranges(selection: Selection) -> dict[str, FunctionRange]:
    """The valid inputs of the functions that a call chooses, where the description limits them."""
    ranges: dict[str, FunctionRange] = {}
    for attribute, functions in selection.form.functions.items():
        function = str(selection.attributes[attribute])
        if function in functions.ranges:
            ranges[function] = functions.ranges[function]
    return ranges


def _tiles(selection: Selection) -> dict[str, Tensor]:
    """The tiles of a call, by the form's name of each."""
    named = (*selection.operands.items(), *selection.results.items())
    return {name: value for name, value in named if isinstance(value, Tensor)}


def _shapes(selection: Selection) -> dict[str, tuple[int, ...]]:
    """The shape of each tile as the form sees it.

    A DMA that copies matches elements in row-major order whatever the shapes: each tile is seen in the shape of the
    one on chip.
    """
    tiles = _tiles(selection)
    shapes = {name: tile.data.shape for name, tile in tiles.items()}
    rules = (*selection.form.operands, *selection.form.results)
    if selection.form.engines == (DMA,) and len({rule.axes for rule in rules if rule.name in tiles}) == 1:
        on_chip = [tile for tile in tiles.values() if tile.storage.space in ON_CHIP]
        seen = (on_chip or list(tiles.values()))[-1].data.shape
        shapes = {name: seen if prod(shape) == prod(seen) else shape for name, shape in shapes.items()}
    for rule in rules:
        # A call that says how many elements each axis has takes a tile that has them in one.
        given = [selection.sizes.get(axis) for axis in rule.axes[1:]]
        stated = [n if isinstance(n, int) else 0 for n in given]
        shape = shapes.get(rule.name, ())
        if shape and len(shape) != len(rule.axes) and prod(stated) == prod(shape[1:]):
            shapes[rule.name] = (shape[0], *stated)
    return shapes


def _flat(shape: tuple[int, ...], rank: int) -> tuple[int, ...]:
    """A shape as a form of this rank sees it: trailing axes merged."""
    if len(shape) <= rank or rank == 0:
        return shape
    return (*shape[: rank - 1], prod(shape[rank - 1 :]))


def _getters(form: Form) -> dict[str, Getter]:
    """Operand or result name -> how to get it from a call's arguments."""
    getters: dict[str, Getter] = {}

    def visit(arg: CallArg, get: Getter) -> None:
        if isinstance(arg, CallReference):
            getters[arg.name] = get
        elif isinstance(arg, CallRows):
            getters[arg.index] = lambda arguments: get(arguments).index
            getters[arg.tensor] = lambda arguments: get(arguments).tensor
        elif isinstance(arg, CallSequence):
            for position, item in enumerate(arg.items):
                visit(item, _item(get, position))

    for keyword, arg in form.call:
        visit(arg, itemgetter(keyword))
    return getters


def _item(get: Getter, position: int) -> Getter:
    return lambda arguments: get(arguments)[position]


def _transfer(tiles: Sequence[Tensor]) -> tuple[int, int]:
    """Bytes and descriptors of a DMA: one descriptor for each contiguous row, counted on the side that has more."""
    rows = 0
    for tile in tiles:
        space, _, shape, strides, _ = tile.facts()
        rows = max(rows, contiguous_rows(shape, strides, on_chip=space in ON_CHIP))
    return max(tile.data.size * tile.dtype.itemsize for tile in tiles), rows


def _made(selection: Selection, facts: Facts) -> Generation | None:
    """How the descriptors of a DMA are made, where the call says so: rows that are chosen at run time need software."""
    if any(isinstance(arg, CallRows) for _, arg in selection.form.call):
        return "software"
    return GENERATIONS.get(facts.options.get("dge_mode", "").rpartition(".")[2])


def _moved(tiles: Mapping[str, Tensor], made: Generation | None) -> Transfer:
    """Which DMA engines move what: partition p belongs to engine p / 8; between tensors in HBM rows go round."""
    size, descriptors = _transfer(list(tiles.values()))
    results = list(tiles.values())[-1:]
    load = bool(results) and results[0].on_chip
    chip = next((tile for tile in reversed(list(tiles.values())) if tile.on_chip), None)
    if chip is None:
        shares = {engine: 1 for engine in range(min(16, descriptors))}
    else:
        shares: dict[int, int] = {}
        for partition in range(chip.partition, chip.partition + chip.data.shape[0]):
            shares[partition // 8] = shares.get(partition // 8, 0) + 1
    whole = sum(shares.values())
    parts = tuple((e, -(-descriptors * n // whole), -(-size * n // whole)) for e, n in sorted(shares.items()))
    return Transfer(load, parts, descriptors, made)


def _moves_only(body: terms.Term) -> bool:
    """Does a term only say where its value is read?"""
    match body:
        case terms.Read():
            return True
        case terms.Apply(function, (argument,)):
            return FUNCTIONS[function].copies and _moves_only(argument)
        case terms.Select(_, left, right):
            return _moves_only(left) and _moves_only(right)
        case _:
            return False
