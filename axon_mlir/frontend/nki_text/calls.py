# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of instructions: the form by the device's description, operands read, results written.

A flag that depends on the iteration chooses between two forms, one that overwrites and one that accumulates. It is
understood where it is false exactly in the first iteration of loops inside of which nothing else has touched the
region: then the loops add to nothing, as long as they run at all, which is an obligation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import cast

from xdsl.ir import Operation, SSAValue

from axon_mlir.dialects.tile import PLACE_PREFIX
from axon_mlir.dialects.tile.recurrences import peel
from axon_mlir.dialects.tile.types import TileType
from axon_mlir.dialects.trn_isa import DTYPES, InstructionOp, instruction, upper_number
from axon_mlir.errors import UnsupportedError
from axon_mlir.frontend.nki_text.flags import past_first
from axon_mlir.frontend.nki_text.memory import Places, Scope
from axon_mlir.frontend.nki_text.values import Flag, Real, Symbol, Value, View, number_term
from axon_mlir.semantics import terms as t
from axon_mlir.semantics.functions import MONOIDS
from axon_mlir.semantics.index import Index, Var, const, of_var, size
from axon_mlir.semantics.normal import Normalizer
from axon_mlir.semantics.walk import reads_any
from axon_mlir.targets import Device, Facts, Instruction, OperandRule, Selection, TileFact


class Instructions:
    """The instructions of a device, as kernels call them."""

    def __init__(self, device: Device, places: Places, sizes: Mapping[str, int]):
        self.places = places
        self.sizes = sizes
        self._by_name = {i.nki: i for i in device.instructions.values()}
        self._device = device

    def call(self, scope: Scope, name: str, positional: Sequence[Value], keywords: Mapping[str, Value]) -> None:
        """Execute a call."""
        found = self._by_name.get(name)
        if found is None:
            raise self._fail(f"'{name}' is no instruction of {self._device.name}", ", ".join(sorted(self._by_name)))
        names = [p.name for p in found.signature]
        if len(positional) > len(names):
            raise self._fail(f"{len(positional)} arguments for {name}", ", ".join(names))
        given = dict(zip(names, positional, strict=False))
        for key, value in keywords.items():
            if key in given:
                raise self._fail(f"{name} is given '{key}' twice")
            given[key] = value
        given.pop("name", None)
        flags = {k: v.condition for k, v in given.items() if isinstance(v, Flag)}
        if not flags:
            selection = self._select(scope, found, given)
            self._check_accumulator(scope, found, selection)
            self._execute(scope, found, selection)
            return
        if len(flags) > 1:
            raise self._fail(f"{name} with several flags that depend on the iteration")
        ((keyword, condition),) = flags.items()
        first = self._select(scope, found, {**given, keyword: False})
        later = self._select(scope, found, {**given, keyword: True})
        self._restart(scope, condition, keyword, first, later)
        self._execute(scope, found, later)

    def _fail(self, message: str, accepted: str | None = None) -> UnsupportedError:
        return UnsupportedError(message, where=self.places.where, accepted=accepted)

    # -- accumulation -------------------------------------------------------------------------------------------------

    def _check_accumulator(self, scope: Scope, found: Instruction, selection: Selection) -> None:
        """What a call adds to in PSUM must be from the same instruction."""
        outs = next((o for o in selection.form.operands if o.outs), None)
        if outs is None or not selection.form.accumulates:
            return
        view = cast(View, selection.operands[outs.name])
        if view.storage.space == "psum":

            def same(op: Operation) -> bool:
                return isinstance(op, InstructionOp) and op.INSTRUCTION == found.name

            if not scope.accumulated(view, same):
                raise self._fail(
                    f"{found.nki} accumulates onto `{view.storage.label}`, which no {found.nki} has written",
                    "accumulate=(k > 0), false in the first iteration of the loops that accumulate",
                )

    def _restart(self, scope: Scope, condition: t.Condition, keyword: str, first: Selection, later: Selection) -> None:
        """Let the loops, in whose first iteration the flag is false, begin with nothing in the accumulator."""
        outs = next((o for o in later.form.operands if o.outs), None)
        if outs is None or not later.form.accumulates or any(o.outs for o in first.form.operands):
            raise self._fail(f"'{keyword}' depends on the iteration", "True or False, or whether to accumulate")
        if not _adds(first, later, outs.name):
            raise self._fail(f"'{keyword}' depends on the iteration", "a flag that says whether to add")
        view = cast(View, later.operands[outs.name])
        storage = view.storage
        inner: list[Scope] = []
        for around in scope.around():
            if storage in around.local:
                break
            inner.append(around)
        counters = [s.loop.counter for s in inner if s.loop is not None]
        loops = past_first(condition, counters)
        if loops is None:
            raise self._fail(
                f"'{keyword}' is {t.text(condition)}, which is not `past the first iteration` of loops that share "
                f"`{storage.label}`",
                "k > lower for every loop that accumulates, joined by `or`",
            )
        count = len(loops)
        if frozenset(counters[:count]) != loops:
            raise self._fail(
                f"'{keyword}' leaves out a loop inside of those that accumulate in `{storage.label}`",
                "k > lower for every loop that accumulates, joined by `or`",
            )
        frame = view.frame
        if frame.symbols() & loops:
            raise self._fail(f"the region of `{storage.label}` that is accumulated in moves with the loops")
        for around in inner[:count]:
            if not around.untouched(storage):
                raise self._fail(f"`{storage.label}` is written before its first product in the same iteration")
        # The flag says nothing about the loops further in when their first iteration is skipped.
        for around in inner[:count]:
            assert around.loop is not None
            around.loop.runs = True
        outermost = inner[count - 1].loop
        assert outermost is not None
        if not any(v.storage is storage and v.frame == frame for v in outermost.resets):
            outermost.resets.append(view)

    # -- one form -----------------------------------------------------------------------------------------------------

    def _select(self, scope: Scope, found: Instruction, given: Mapping[str, Value]) -> Selection:
        """The form of a call; of several that fit, the first that breaks no rule."""
        arguments = {k: _argument(v) for k, v in given.items()}
        selections = list(found.matches(arguments, is_tile=_is_tile, spell=_spell))
        if not selections:
            found.select(arguments, is_tile=_is_tile, spell=_spell)
            raise self._fail(f"no form of {found.nki} fits")
        problems: list[str] = []
        for selection in selections:
            violations = selection.form.check(self._facts(scope, selection), exact=False)
            if not violations:
                return selection
            problems.append(str(violations[0]))
        raise self._fail(problems[0])

    def _facts(self, scope: Scope, selection: Selection) -> Facts:
        tiles: dict[str, TileFact] = {}
        immediates: dict[str, float] = {}
        for name, value in (*selection.operands.items(), *selection.results.items()):
            if isinstance(value, View):
                if value.sizes is None:
                    raise self._fail(f"all of `{value.storage.label}` as {name}", "a region with two slices")
                shape = tuple(
                    upper_number(bound, self.sizes) or 1 for bound in scope.tile_type(value.sizes, "f32", "sbuf").upper
                )
                dtype = DTYPES.get(value.storage.dtype, value.storage.dtype)
                tiles[name] = TileFact(shape, value.storage.space, dtype)
            elif isinstance(value, Fraction | int):
                immediates[name] = float(value)
        return Facts(tiles, attributes={k: str(v) for k, v in selection.attributes.items()}, immediates=immediates)

    def _execute(self, scope: Scope, found: Instruction, selection: Selection) -> None:
        form = selection.form
        results = [cast(View, selection.results[r.name]) for r in form.results]
        for number, view in enumerate(results):
            if any(view.storage is other.storage for other in results[:number]):
                raise self._fail(f"two results in `{view.storage.label}`", "one storage for each result")
        tiles = [(rule, cast(View, selection.operands[rule.name])) for rule in form.operands if rule.kind == "tile"]
        values = {rule.name: scope.read(view) for rule, view in tiles}
        immediates = {
            rule.name: self._number(selection.operands[rule.name]) for rule in form.operands if rule.kind == "immediate"
        }
        indices = {name: self._index(selection.attributes[name]) for name in form.numbers}
        for rule, view in zip(form.results, results, strict=True):
            for axis, extent in zip(rule.axes, _sizes(view), strict=True):
                if axis in selection.sizes:
                    scope.require_equal(self._index(selection.sizes[axis]), extent)
        free: dict[str, Index] = {}
        for rule, view in zip(form.results, results, strict=True):
            for axis, extent in zip(rule.axes, _sizes(view), strict=True):
                if axis in form.free_sizes:
                    free.setdefault(axis, extent)
        comprehensions = self._meaning(
            form.operands, {rule.name: view for rule, view in tiles}, immediates, selection, {**free, **indices}
        )
        types: list[TileType] = []
        for view, value in zip(results, comprehensions, strict=True):
            sizes = _sizes(view)
            for have, want in zip(value.shape, sizes, strict=True):
                scope.require_equal(have, want)
            types.append(scope.tile_type(sizes, view.storage.dtype, view.storage.space))
        outs: SSAValue | None = None
        ins: list[SSAValue] = []
        for rule, _ in tiles:
            if rule.outs:
                outs = values[rule.name]
            else:
                ins.append(values[rule.name])
        texts, places = _placed({**{k: t.index_value(v) for k, v in indices.items()}, **immediates})
        op = instruction(
            found.name,
            form.name,
            ins,
            types,
            functions={k: str(selection.attributes[k]) for k in form.functions},
            immediates={k: t.text(v) for k, v in texts.items()},
            places={n: scope.index(i) for n, i in places.items()},
            sizes=[scope.index(free[n]) for n in form.free_sizes],
            outs=outs,
        )
        scope.add(op)
        for view, value, result in zip(results, comprehensions, op.results_, strict=True):
            scope.write(view, result, combines(value, view, tiles))

    def _number(self, value: object) -> t.Term:
        term = number_term(Fraction(value) if isinstance(value, int) else value)
        if term is None:
            raise self._fail("an immediate that is no number")
        return term

    def _index(self, value: object) -> Index:
        match value:
            case int():
                return const(value)
            case Fraction() if value.denominator == 1:
                return const(int(value))
            case Real(t.IndexValue(index)):
                return index
            case _:
                raise self._fail("a position that is no whole number", "integers over sizes and loop variables")

    def _meaning(
        self,
        rules: Sequence[OperandRule],
        tiles: Mapping[str, View],
        immediates: Mapping[str, t.Term],
        selection: Selection,
        free: Mapping[str, Index],
    ) -> list[t.Comprehension]:
        """What the results hold, over the operands by name. Shared sizes are those of the first operand that has them;
        that the others agree is an obligation of the operation."""
        bound: dict[str, Index] = {}
        operands: list[t.Comprehension] = []
        for rule in rules:
            if rule.kind == "immediate":
                operands.append(t.Comprehension((), (), immediates[rule.name]))
                continue
            shape: list[Index] = []
            for axis, extent in zip(rule.axes, _sizes(tiles[rule.name]), strict=True):
                wanted = extent
                if axis.isidentifier():
                    wanted = bound.setdefault(axis, extent)
                elif axis.isdigit():
                    wanted = const(int(axis))
                gap = (wanted - extent).constant
                if gap is not None and gap != 0:
                    raise self._fail(f"{rule.name} has an extent of {extent} where {wanted} is needed")
                shape.append(wanted)
            operands.append(t.tensor_input(rule.name, shape))
        return list(selection.form.meaning.denote(operands, {**selection.attributes, **free}))


def _placed(terms: Mapping[str, t.Term]) -> tuple[dict[str, t.Term], dict[str, Index]]:
    """Immediates in which the loops' counters occur only inside of places, and the places by name."""
    places: dict[str, Index] = {}

    def name_of(index: Index) -> Index:
        if not any(isinstance(s, Var) for s in index.symbols()):
            return index
        name = next((n for n, i in places.items() if i == index), f"{PLACE_PREFIX}{len(places)}")
        places[name] = index
        return of_var(Var(name))

    def go(x: t.Term) -> t.Term:
        match x:
            case t.IndexValue(index):
                return t.index_value(name_of(index))
            case t.Apply(f, args):
                return t.Apply(f, tuple(map(go, args)))
            case _:
                return x

    return {name: go(term) for name, term in terms.items()}, places


def _adds(first: Selection, later: Selection, outs: str) -> bool:
    """Whether the later form is the first one added to its accumulator."""
    values: list[t.Comprehension] = []
    for selection in (first, later):
        operands: list[t.Comprehension] = []
        for rule in selection.form.operands:
            shape = [size(a) if a.isidentifier() else const(int(a)) for a in rule.axes]
            operands.append(t.tensor_input(rule.name, shape))
        (value,) = selection.form.meaning.denote(operands, dict(selection.attributes))
        values.append(value)
    at = [of_var(Var(f"@{n}")) for n in range(len(values[0].variables))]
    expected = t.Apply("add", (t.Read(outs, tuple(at)), values[0].at(at)))
    return Normalizer().term(values[1].at(at)) == Normalizer().term(expected)


def combines(value: t.Comprehension, target: View, tiles: Sequence[tuple[OperandRule, View]]) -> str | None:
    """The monoid by which a result adds to what its region held before, if it does."""
    if not target.storage.on_chip:
        return None
    same = [r.name for r, v in tiles if v.storage is target.storage]
    if len(same) != 1:
        return None
    rule, view = next((r, v) for r, v in tiles if r.name == same[0])
    if view.frame != target.frame:
        return None
    own = t.Read(rule.name, tuple(of_var(v) for v in value.variables))
    return next((m for m in MONOIDS if _peels(value.body, own, m)), None)


def _peels(body: t.Term, own: t.Read, monoid: str) -> bool:
    rest = peel(body, own, monoid)
    return rest is not None and body is not own and not reads_any(rest, {own.tensor})


def _sizes(view: View) -> tuple[Index, Index]:
    assert view.sizes is not None
    return view.sizes


def _argument(value: Value) -> object:
    """A value as the description's matcher takes it."""
    if isinstance(value, Index):
        return value.constant if value.constant is not None else Real(t.index_value(value))
    if isinstance(value, tuple):
        return [_argument(v) for v in value]
    return value


def _is_tile(value: object) -> bool:
    return isinstance(value, View)


def _spell(value: object) -> str:
    return value.text if isinstance(value, Symbol) else repr(value)
