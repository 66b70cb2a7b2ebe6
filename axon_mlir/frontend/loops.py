# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops over sizes: one step is traced, with its position as an index, and stands for all of them.

While the body of `for t in range(n)` runs, variables and arrays that it changes hold *placeholders*, what the steps
before have made of them. The body runs again until their shapes and types are those that it gives them (`m = -inf`
becomes an array). Then each is brought into closed form (`carried`), and what the variables are after the last step
takes their place in the program's frame, which goes on behind the loop.

A loop whose steps differ in more than their position (`if t == 0`, blocks that are shorter at the end) is traced step
by step, for which its size has to be a number; the trace then starts again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, NoReturn, cast

import numpy as np

from axon_mlir.errors import AxonError
from axon_mlir.frontend import operations as ops
from axon_mlir.frontend.all_steps import AllSteps
from axon_mlir.frontend.carried import Carried, Solution, placeholder
from axon_mlir.frontend.element_types import kind
from axon_mlir.frontend.filled import after_all, filled_by, read_through
from axon_mlir.frontend.frames import begins_loop, caller, is_assigned_first, rebind
from axon_mlir.frontend.places import Place, here
from axon_mlir.frontend.recording import Fence, Node, Shape, current
from axon_mlir.frontend.sizes import StepByStep, Steps
from axon_mlir.frontend.traced import METHODS, Each, Size, Traced, TracedTensor, as_size, size_term
from axon_mlir.semantics import index as ix
from axon_mlir.semantics.index import Index

MOST_STEPS = 1024
"""The most steps of a loop that are traced one by one."""
MOST_RUNS = 6
"""How often a body runs until what it carries keeps its shape."""


@dataclass(frozen=True)
class Counted:
    """What a loop runs over: items that their position says."""

    count: Index
    item: Callable[[Index], Any]
    what: str

    def __iter__(self) -> Iterator[Any]:
        return self.begun(caller(1))

    def __getitem__(self, at: int) -> Any:
        term = ix.const(at)
        return self.item(term if at >= 0 else self.count + term)

    def begun(self, frame: FrameType) -> Iterator[Any]:
        """The iterator that a frame asks for."""
        place, sizes = here(), current().sizes
        reason = current().stepwise.get(place)
        if reason is None and frame.f_code.co_filename == place.file and begins_loop(frame):
            if not sizes.reach(self.count, 1):
                raise StepByStep(place, f"it may take no step ({sizes.show(self.count)})")
            return _Loop(_Step(self, frame, place))
        return iter(self.one_by_one(reason))

    def one_by_one(self, reason: str | None) -> list[Any]:
        """The items of a loop that is unrolled."""
        sizes, what = current().sizes, self.what
        number = sizes.value_of(self.count)
        if number is not None and number > MOST_STEPS:
            raise AxonError(
                f"{what} of {number} steps, too many to be traced one by one"
                + (f", and it cannot be taken as a whole: {reason}" if reason else ""),
                where=str(here()),
                accepted=f"at most {MOST_STEPS} steps, or a for statement whose steps differ in their position only",
            )
        why = f"{what}, which is unrolled" + (f" since {reason}" if reason else "") + ","
        return [self.item(ix.const(n)) for n in range(sizes.force(self.count, why, reason))]


class _Loop:
    """The items of a loop that is traced as one step: the position, as often as the body has to run."""

    def __init__(self, step: _Step):
        self.step = step

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self.step.runs and self.step.done():
            raise StopIteration
        return self.step.item()


@dataclass
class _Guess:
    """What stands for a changing variable or array during the step: by how much an integer grows with each step, or the
    shape and type of a tensor."""

    what: str
    grows: Index | None = None
    shape: Shape = ()
    dtype: str = ""
    weak: bool = False
    node: Node | None = field(default=None, compare=False)


class _Step:
    """The one step that is traced."""

    def __init__(self, over: Counted, frame: FrameType, place: Place):
        self.over = over
        self.frame = frame
        self.place = place
        self.position = ix.fresh_var("step")
        self.before = dict(frame.f_locals)
        self.held = _contents(self.before)
        self.fence = Fence(place, current().born())
        self.first = 0
        """Where the nodes of the run begin."""
        self.runs = 0
        self.names: dict[str, _Guess] = {}
        self.arrays: dict[int, _Guess] = {}
        self.starts: dict[int, tuple[TracedTensor, Node, bool]] = {}
        """id -> an array that the body assigns to, and what it is before the loop."""
        self.lists = {id(v): (v, len(v)) for v in map(_as_list, self.before.values()) if v is not None}
        """The lists that variables hold, and how long they are before the loop."""

    # -- runs of the body ----------------------------------------------------------------------------------------------

    def item(self) -> Any:
        """Begin a run of the body."""
        trace = current()
        self.runs += 1
        if self.runs > MOST_RUNS:
            self.refuse("what it carries never keeps its shape and type")
        self.first = len(trace.nodes)
        self.fence.changed.clear()
        trace.fences.append(self.fence)
        trace.sizes.positions[self.position] = Steps(self.over.count, self.place)
        rebind(self.frame, {**self.before, **{name: self.stand_in(name, g) for name, g in self.names.items()}})
        for key, guess in self.arrays.items():
            guess.node = placeholder(guess.what, guess.shape, guess.dtype)
            self.starts[key][0].become(guess.node, weak=guess.weak)
        return self.over.item(ix.of_var(self.position))

    def stand_in(self, name: str, guess: _Guess) -> Any:
        """What a variable holds during the step."""
        old = self.before[name]
        first = size_term(old)
        if guess.grows is not None and first is not None:
            return as_size(first + guess.grows * ix.of_var(self.position))
        guess.node = placeholder(guess.what, guess.shape, guess.dtype)
        return TracedTensor(guess.node, weak=guess.weak, origin=old.origin if isinstance(old, TracedTensor) else None)

    def done(self) -> bool:
        """End a run of the body; whether it was the last one."""
        trace = current()
        if trace.fences[-1] is not self.fence:
            raise StepByStep(trace.fences[-1].place, "it is left by break or return")
        after = dict(self.frame.f_locals)
        added = self.added()
        if _contents(self.before) != self.held:
            self.refuse("it changes a list, a dictionary or a set")
        arrays = {key: (tensor.node, tensor.weak) for key, (tensor, _, _) in self.fence.changed.items()}
        for key, (tensor, node, weak) in self.fence.changed.items():
            self.starts.setdefault(key, (tensor, node, weak))
        names = {name: g for name, new in after.items() if (g := self.name_guess(name, new)) is not None}
        guesses = {key: self.array_guess(key, *value, after) for key, value in arrays.items()}
        stable = names == self.names and guesses == self.arrays
        carried = self.carried(after, {key: node for key, (node, _) in arrays.items()}) if stable else []
        for tensor, node, weak in self.starts.values():
            tensor.become(node, weak=weak)
        trace.fences.pop()
        del trace.sizes.positions[self.position]
        if stable:
            self.finish(carried, after, added)
        else:
            self.names.update(names)
            self.arrays.update(guesses)
        return stable

    def added(self) -> list[tuple[list[Any], TracedTensor]]:
        """The lists that the run has put an entry into, which is taken out again."""
        out: list[tuple[list[Any], TracedTensor]] = []
        for values, length in self.lists.values():
            more = values[length:]
            if len(more) > 1 or not all(map(_is_number, more)):
                self.refuse("it puts several entries into a list, or what is no array")
            out += [(values, ops.as_tensor(x)) for x in more]
            del values[length:]
        return out

    def refuse(self, reason: str) -> NoReturn:
        """Raise: the loop cannot be taken as a whole."""
        raise StepByStep(self.place, reason)

    # -- what changes --------------------------------------------------------------------------------------------------

    def name_guess(self, name: str, new: Any) -> _Guess | None:
        """What has to stand for a variable, seen what a run has made of it; None where nothing has."""
        if name not in self.before or (new is self.before[name] and name not in self.names):
            return None
        if is_assigned_first(self.frame, name):
            return None
        old, what = self.before[name], f"'{name}'"
        if not (_is_number(old) and _is_number(new)):
            if type(old) is type(new) and not isinstance(old, Traced) and old == new:
                return None
            self.refuse(f"{what} is a {type(old).__name__} before it and a {type(new).__name__} after a step")
        known = self.names.get(name)
        first, last = size_term(old), size_term(new)
        if first is not None and last is not None:
            at = ix.const(0) if known is None else ix.of_var(self.position)
            grows = known.grows if known is not None else last - first
            if grows is not None and self.position not in grows.symbols() and last == first + grows * (at + 1):
                return _Guess(what, grows)
        return self.guess(what, ops.as_tensor(old), ops.as_tensor(new).node, ops.as_tensor(new).weak)

    def array_guess(self, key: int, node: Node, weak: bool, after: Mapping[str, Any]) -> _Guess:
        """What has to stand for an array, seen what a run has made of it."""
        tensor, start, was_weak = self.starts[key]
        names = [name for name, value in self.before.items() if value is tensor]
        for name in names:
            if after.get(name) is not tensor and name not in self.names:
                self.refuse(f"'{name}' is both assigned to in place and bound anew")
        what = f"'{names[0]}'" if names else "an array"
        return self.guess(what, TracedTensor(start, weak=was_weak), node, weak)

    def guess(self, what: str, old: TracedTensor, new: Node, weak: bool) -> _Guess:
        """A tensor of the shape and type that a step gives it, if what was there before can be repeated to it."""
        sizes = current().sizes
        have, want = old.terms, current().shape(new)
        axes = zip(have[::-1], want[::-1], strict=False)
        if len(have) > len(want) or any(n != 1 and n != m for n, m in axes):
            shapes = (", ".join(map(sizes.show, shape)) for shape in (have, want))
            self.refuse("{} has the shape ({}) before it and ({}) after a step".format(what, *shapes))
        if kind(old.node.dtype) > kind(new.dtype):
            self.refuse(f"{what} is {old.node.dtype} before it and {new.dtype} after a step")
        return _Guess(what, None, want, new.dtype, weak)

    def carried(self, after: Mapping[str, Any], arrays: Mapping[int, Node]) -> list[Carried]:
        """What the step hands on."""
        out: list[Carried] = []
        for name, guess in self.names.items():
            if guess.node is not None:
                out.append(self.handed_on(guess, ops.as_tensor(self.before[name]), ops.as_tensor(after[name]).node))
        for key, guess in self.arrays.items():
            out.append(self.handed_on(guess, TracedTensor(self.starts[key][1]), arrays[key]))
        return out

    def handed_on(self, guess: _Guess, old: TracedTensor, value: Node) -> Carried:
        assert guess.node is not None
        return Carried(guess.what, ops.broadcast_node(ops.node_of(old, guess.dtype), guess.shape), guess.node, value)

    # -- after the last step -------------------------------------------------------------------------------------------

    def finish(
        self, carried: list[Carried], after: Mapping[str, Any], added: list[tuple[list[Any], TracedTensor]]
    ) -> None:
        """Give variables, arrays and lists the values that they have after the last step."""
        trace = current()
        order = [x for x in trace.nodes[self.first :] if x in self.fence.nodes]
        steps = AllSteps(self.place, self.position, self.over.count, order)
        solution = Solution(steps)
        with trace.at(self.place):
            arrays = [f for c in carried if (f := filled_by(steps, c)) is not None]
            more = read_through(steps, arrays)
            solution.solve([*(c for c in carried if c not in [f.carried for f in arrays]), *more])
            for f in arrays:
                solution.final[f.carried.value] = after_all(solution, f)
            values = {c.placeholder: c.value for c in carried}
            for key, guess in self.arrays.items():
                assert guess.node is not None
                self.starts[key][0].become(solution.last(values[guess.node]), weak=guess.weak)
            for entries, x in added:
                every = TracedTensor(steps.along(x.node), weak=x.weak)
                entries.append(Each(every, lambda: self.refuse("an entry of a list that it fills is used alone")))
            new = {n: v for n, v in after.items() if n not in self.before or v is not self.before[n]}
            made: dict[int, Any] = {}
            for value in new.values():
                if id(value) not in made:
                    made[id(value)] = self.last(value, solution)
            final = {name: made[id(value)] for name, value in new.items()}
            for name, guess in self.names.items():
                first = size_term(self.before[name])
                if guess.grows is not None and first is not None:
                    final[name] = as_size(first + guess.grows * self.over.count)
        rebind(self.frame, final)
        kept = {x for x in order if not steps.moves(x)}
        if trace.fences:
            trace.fences[-1].nodes |= kept
        trace.closed.update(dict.fromkeys(self.fence.nodes - kept, self.place))

    def last(self, value: Any, solution: Solution) -> Any:
        """What a variable holds after the last step."""
        if isinstance(value, Size):
            return as_size(value.resolved.substitute({self.position: self.over.count - 1}))
        if not isinstance(value, TracedTensor):
            return value
        out = TracedTensor(solution.last(value.node), weak=value.weak, origin=value.origin)
        return out if value.stands_alone else ops.perhaps_view(out)


def _as_list(value: Any) -> list[Any] | None:
    return cast("list[Any]", value) if isinstance(value, list) else None


def _is_number(value: Any) -> bool:
    """Whether a variable holds numbers: one or an array of them."""
    return isinstance(value, Traced | int | float | np.generic | np.ndarray) and not isinstance(value, bool)


def _contents(values: Mapping[str, Any], depth: int = 3) -> tuple[Any, ...]:
    """Which objects the containers among some values hold."""
    out: list[Any] = []
    for value in cast("Iterable[object]", values.values()):
        items: Sequence[object] = ()
        if isinstance(value, list | set | frozenset | tuple):
            items = list(cast("Iterable[object]", value))
        elif isinstance(value, dict):
            items = [x for item in cast("dict[object, object]", value).items() for x in item]
        if items:
            inner = _contents({str(n): x for n, x in enumerate(items)}, depth - 1) if depth else ()
            out.append((id(cast(object, value)), tuple(map(id, items)), inner))
    return tuple(out)


def counted(values: Any) -> Counted | None:
    """What is iterated over, as items that their position says: rows of a tensor; None for what is none."""
    if isinstance(values, Counted):
        return values
    if isinstance(values, TracedTensor) and values.ndim and values.terms[0].constant is None:
        return Counted(values.terms[0], lambda at: values[as_size(at)], "a loop over the first axis of a tensor")
    return None


def _rows(x: TracedTensor, frame: FrameType) -> Iterator[Any]:
    rows = counted(x)
    return rows.begun(frame) if rows is not None else iter([x[n] for n in range(x.terms[0].constant or 0)])


METHODS["rows"] = _rows


def count_steps(*bounds: Any) -> Any:
    """`range` of bounds among which there are sizes."""
    first, last, by = bounds if len(bounds) == 3 else (*bounds, 1) if len(bounds) == 2 else (0, *bounds, 1)
    start, stop, step = (size_term(v) for v in (first, last, by))
    sizes = current().sizes
    if start is None or stop is None or step is None:
        return range(*bounds)
    every = sizes.force(step, "the step of a loop (range)")
    if every == 0:
        return range(0, 0, 0)
    count = sizes.resolve(ix.ceil_div(stop - start if every > 0 else start - stop, abs(every)))
    return Counted(count, lambda at: as_size(start + every * at), "a loop over a size (range)")


def enumerated(values: Any, start: Any = 0) -> Any:
    """`enumerate`."""
    over = counted(values)
    if over is None:
        return enumerate(values, start)
    return Counted(over.count, lambda at: (as_size(at) + start, over.item(at)), over.what)


def zipped(*values: Any, strict: bool = False) -> Any:
    """`zip`."""
    each = [counted(v) for v in values]
    over = [c for c in each if c is not None]
    sizes = current().sizes
    if not over or len(over) < len(each) or len({sizes.value_of(c.count) for c in over}) > 1:
        return zip(*values, strict=strict)
    for c in over[1:]:
        sizes.unify(over[0].count, c.count, "zip")
    return Counted(sizes.resolve(over[0].count), lambda at: tuple(c.item(at) for c in over), over[0].what)


def backwards(values: Any) -> Any:
    """`reversed`."""
    over = counted(values)
    return (
        reversed(values) if over is None else Counted(over.count, lambda at: over.item(over.count - 1 - at), over.what)
    )
