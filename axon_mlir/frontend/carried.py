# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the steps of a loop hand on, in closed form: running folds, affine recurrences.

One step makes of what is carried, x, a new value. If that is `max(x, f)`, the values of all steps are a running
maximum; if it is `a * x + b`, they are an affine scan (a sum where a is 1, a product where b is 0). Here a, b and f may
read other carried values, old or new, as long as these have such a form without x.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from axon_mlir.frontend.all_steps import CARRIED, AllSteps, at_last, broadcast, expand, one, part
from axon_mlir.frontend.element_types import constant, kind
from axon_mlir.frontend.recording import Node, Shape, current
from axon_mlir.semantics.functions import MONOIDS


@dataclass(frozen=True, eq=False)
class Carried:
    """A value that is handed on: before the first step, as one step finds it, and as that step leaves it."""

    what: str
    start: Node
    placeholder: Node
    value: Node


def placeholder(what: str, shape: Shape, dtype: str) -> Node:
    """What stands for a carried value while one step is traced."""
    return current().record(CARRIED, (), shape, dtype, {"what": what})


@dataclass(frozen=True)
class Form:
    """A value of a step as `factor * x + rest`, or `x (+) rest` of a monoid; None is the neutral element.

    `axes`: which axis of x each of its axes is, if any.
    """

    axes: tuple[int | None, ...]
    factor: Node | None = None
    rest: Node | None = None


Forms = Mapping[Node, Form]
FormRule = Callable[[Node, Forms], Form | None]


@dataclass
class Solution:
    """The carried values of a loop, solved one after the other."""

    steps: AllSteps
    final: dict[Node, Node] = field(default_factory=dict[Node, Node])
    """A value of one step -> it after the last one, where that is not just its value at the last position."""

    def solve(self, carried: Sequence[Carried]) -> None:
        """Find the form of each; StepByStep where one has none."""
        pending = list(carried)
        while pending:
            left = [c for c in pending if not self._solved(c, {x.placeholder for x in pending if x is not c})]
            if len(left) == len(pending):
                names, x = " and ".join(c.what for c in left), left[0].what
                self.steps.refuse(
                    left[0].value,
                    f"{names} {'is' if len(left) == 1 else 'are'} no recurrence a * {x} + b, max({x}, b) or "
                    f"min({x}, b) with a and b that do not depend on {x}",
                )
            pending = left

    def last(self, node: Node) -> Node:
        """A value of the body after the last step."""
        return at_last(self.steps, node, self.final)

    def _solved(self, c: Carried, unknown: Collection[Node]) -> bool:
        path = self._path(c.value, {c.placeholder, *unknown})
        if any(x in path for x in unknown):
            return False
        if not path:
            self.steps.before[c.placeholder] = partial(self._exclusive, c, lambda: self.steps.along(c.value))
            return True
        with current().at(c.value.place):
            return self._running(c, path) or self._affine(c, path)

    def _path(self, node: Node, placeholders: Collection[Node]) -> list[Node]:
        """The nodes, operands first, through which a value depends on placeholders."""
        out: dict[Node, bool] = {}
        stack = [(node, False)]
        while stack:
            x, done = stack.pop()
            if done:
                out[x] = x in placeholders or any(out.get(o, False) for o in x.operands)
            elif x not in out and x in self.steps.body:
                out[x] = False
                stack.append((x, True))
                stack.extend((o, False) for o in x.operands)
        # In the order of their last visit, which is after their operands.
        return [x for x in self.steps.order if out.get(x, False)]

    def _form(self, c: Carried, path: Sequence[Node], rule: FormRule) -> Form | None:
        nodes = current().nodes
        first = len(nodes)
        form = _form_of(c, path, rule)
        # Coefficients are values of the step, too.
        self.steps.add(nodes[first:])
        return form

    # -- closed forms --------------------------------------------------------------------------------------------------

    def _running(self, c: Carried, path: Sequence[Node]) -> bool:
        """`max(x, f)` and `min(x, f)`."""
        for monoid in ("max", "min"):
            form = self._form(c, path, partial(_with_monoid, monoid))
            if form is not None and form.rest is not None:
                self._fold(c, monoid, form.rest)
                return True
        return False

    def _affine(self, c: Carried, path: Sequence[Node]) -> bool:
        """`a * x + b`."""
        form = self._form(c, path, _affinely)
        match form:
            case Form(_, None, None):
                self._is(c, self.steps.along(c.start), c.start)
            case Form(_, None, Node() as b):
                self._fold(c, "sum", b)
            case Form(_, Node() as a, None):
                self._fold(c, "prod", a)
            case Form(_, Node() as a, Node() as b) if kind(c.placeholder.dtype) == 2:
                self._scan(c, a, b)
            case _:
                return False
        return True

    def _scan(self, c: Carried, factor: Node, summand: Node) -> None:
        record, shape, dtype = current().record, self.steps.shape(c.value), c.value.dtype
        a, b = self.steps.along(factor), self.steps.along(summand)
        every = record("affine_scan", (a, b), shape, dtype, {"axis": 0})
        if number_of(c.start) != 0:
            kept = record("scan", (a,), shape, dtype, {"monoid": "prod", "axis": 0})
            start = broadcast(c.start, shape, range(1, len(shape)))
            every = record("add", (record("mul", (kept, start), shape, dtype), every), shape, dtype)
        self._is(c, every, one(every, self.steps.count - 1))

    def _fold(self, c: Carried, monoid: str, rest: Node) -> None:
        """A fold and its running values, from what was there before the first step."""
        record, dtype, function = current().record, c.value.dtype, MONOIDS[monoid].function
        shape, inner = self.steps.shape(c.value), current().shape(c.value)
        given = self.steps.along(rest)
        every = record("scan", (given,), shape, dtype, {"monoid": monoid, "axis": 0})
        last = record("reduce", (given,), inner, dtype, {"monoid": monoid, "axes": (0,)})
        if number_of(c.start) != MONOIDS[monoid].neutral:
            every = record(function, (broadcast(c.start, shape, range(1, len(shape))), every), shape, dtype)
            last = record(function, (c.start, last), inner, dtype)
        self._is(c, every, last)

    def _is(self, c: Carried, every: Node, last: Node) -> None:
        self.steps.known[c.value] = every
        self.final[c.value] = last
        self.steps.before[c.placeholder] = partial(self._exclusive, c, lambda: every)

    def _exclusive(self, c: Carried, every: Callable[[], Node]) -> Node:
        """What each step finds: the start, then what the steps but the last have made."""
        steps = self.steps
        current().sizes.reach(steps.count - 1, 1)
        made = part(every(), 0, steps.count - 1)
        return current().record("concat", (expand(c.start, 0), made), steps.shape(c.value), made.dtype, {"axis": 0})


def number_of(x: Node) -> float | int | None:
    """The number that is in every element."""
    while x.kind in ("broadcast", "cast"):
        (x,) = x.operands
    return x.attributes["value"] if x.kind == "constant" else None


# -- a step as a function of what it finds -----------------------------------------------------------------------------


def _form_of(c: Carried, path: Sequence[Node], rule: FormRule) -> Form | None:
    """The form of what a step makes; None where it has none."""
    shape = current().shape(c.placeholder)
    forms = {c.placeholder: Form(tuple(range(len(shape))))}
    for x in path:
        if x is c.placeholder:
            continue
        made = _placed(x, forms) if x.kind in _PLACING else rule(x, forms)
        if made is None:
            return None
        forms[x] = made
    found = forms[c.value]
    return found if all(a == n or shape[n] == 1 for n, a in enumerate(found.axes)) else None


_PLACING = ("broadcast", "transpose", "squeeze")
"""Operations after which an element still depends on one element of x."""


def _placed(x: Node, forms: Forms) -> Form:
    form = forms[x.operands[0]]
    axes: tuple[int | None, ...]
    match x.kind:
        case "broadcast":
            have, want = current().shape(x.operands[0]), current().shape(x)
            at = {d: form.axes[n] for n, d in enumerate(x.attributes["dims"]) if have[n] == want[d]}
            axes = tuple(at.get(d) for d in range(len(want)))
        case "transpose":
            perm: tuple[int, ...] = x.attributes["perm"]
            axes = tuple(form.axes[p] for p in perm)
        case _:
            axes = tuple(a for n, a in enumerate(form.axes) if n not in x.attributes["axes"])

    def moved(y: Node | None) -> Node | None:
        return None if y is None else current().record(x.kind, (y,), x.shape, y.dtype, x.attributes)

    return Form(axes, moved(form.factor), moved(form.rest))


def _both(x: Node, forms: Forms) -> tuple[Form | None, Form | None] | None:
    """The forms of two operands (None: free of what is carried); None where they lie differently."""
    a, b = (forms.get(o) for o in x.operands[-2:])
    return None if a is not None and b is not None and a.axes != b.axes else (a, b)


def _made(x: Node, function: str, *operands: Node) -> Node:
    return current().record(function, operands, x.shape, "f32" if kind(x.dtype) == 2 else x.dtype)


def _number(x: Node, value: float) -> Node:
    return broadcast(constant(value, "f32" if kind(x.dtype) == 2 else x.dtype), current().shape(x), ())


def _joined(x: Node, function: str, a: Node | None, b: Node | None) -> Node | None:
    return b if a is None else a if b is None else _made(x, function, a, b)


def _chosen(x: Node, a: Node | None, b: Node | None, *, neutral: float) -> Node | None:
    """A choice between parts of which None is the neutral element."""
    if a is None and b is None:
        return None
    return _made(x, "select", x.operands[0], a or _number(x, neutral), b or _number(x, neutral))


def _with_monoid(monoid: str, x: Node, forms: Forms) -> Form | None:
    """`x (+) rest`."""
    function, neutral = MONOIDS[monoid].function, MONOIDS[monoid].neutral
    found = _both(x, forms) if x.kind in (function, "select") else None
    if found is None:
        return None
    a, b = found
    if x.kind == function:
        rests = [o if f is None else f.rest for o, f in zip(x.operands, found, strict=True)]
        return Form((a or b or Form(())).axes, None, _joined(x, function, *rests))
    if a is None or b is None or x.operands[0] in forms or kind(x.dtype) != 2:
        return None
    return Form(a.axes, None, _chosen(x, a.rest, b.rest, neutral=neutral))


def _affinely(x: Node, forms: Forms) -> Form | None:
    """`factor * x + rest`."""
    if x.kind == "neg":
        return _negated(x, forms[x.operands[0]])
    found = _both(x, forms) if x.kind in ("add", "sub", "mul", "div", "select") else None
    if found is None:
        return None
    a, b = found
    first, second = x.operands[-2:]
    match x.kind:
        case "add":
            return _added(x, a or first, b or second)
        case "sub":
            return _added(x, a or first, _negated(x, b) if b is not None else _made(x, "neg", second))
        case "mul" if a is None or b is None:
            form, by = (b, first) if a is None else (a, second)
            assert form is not None
            rest = None if form.rest is None else _made(x, "mul", form.rest, by)
            return Form(form.axes, _joined(x, "mul", form.factor, by), rest)
        case "div" if a is not None and b is None:
            factor = _made(x, "reciprocal", second) if a.factor is None else _made(x, "div", a.factor, second)
            return Form(a.axes, factor, None if a.rest is None else _made(x, "div", a.rest, second))
        case "select" if x.operands[0] not in forms:
            factors = [_number(x, 0) if f is None else f.factor for f in (a, b)]
            rests = [o if f is None else f.rest for o, f in ((first, a), (second, b))]
            axes = a.axes if a is not None else b.axes if b is not None else ()
            return Form(axes, _chosen(x, *factors, neutral=1), _chosen(x, *rests, neutral=0))
        case _:
            return None


def _added(x: Node, a: Form | Node, b: Form | Node) -> Form:
    rest = _joined(x, "add", *(f.rest if isinstance(f, Form) else f for f in (a, b)))
    if isinstance(a, Form) and isinstance(b, Form):
        return Form(a.axes, _made(x, "add", a.factor or _number(x, 1), b.factor or _number(x, 1)), rest)
    form = a if isinstance(a, Form) else b
    assert isinstance(form, Form)
    return Form(form.axes, form.factor, rest)


def _negated(x: Node, form: Form) -> Form:
    factor = _number(x, -1) if form.factor is None else _made(x, "neg", form.factor)
    return Form(form.axes, factor, None if form.rest is None else _made(x, "neg", form.rest))
