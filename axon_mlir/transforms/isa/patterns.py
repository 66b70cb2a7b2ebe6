# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Instruction meanings as tree patterns, and how a term is matched with one.

Every form of every instruction of a device is a pattern once its function attributes are fixed. A pattern's tile
operands stand for subterms, its immediates for numbers known from the sizes. Nothing here knows an instruction by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product

from axon_mlir.semantics import terms as t
from axon_mlir.semantics.functions import FUNCTIONS
from axon_mlir.semantics.index import Index, Size, Var, of_var
from axon_mlir.semantics.index import size as size_index
from axon_mlir.semantics.normal import definition_of
from axon_mlir.targets import Device, Form, Instruction

RATIONAL = frozenset({"add", "sub", "mul", "div", "neg", "reciprocal", "identity"})
"""What an immediate may be computed with at trace time, exactly."""


@dataclass(frozen=True)
class Pattern:
    """One form with its function attributes fixed: the term of one of its results."""

    instruction: Instruction
    form: Form
    functions: tuple[tuple[str, str], ...]
    result: int
    """Which result the term is."""
    variables: tuple[Var, ...]
    shape: tuple[Index, ...]
    body: t.Term


@dataclass
class Match:
    """What a pattern's operands stand for: subterms over the operand's own index (`p`, `f`), and immediates."""

    pattern: Pattern
    tiles: dict[str, t.Term] = field(default_factory=dict[str, t.Term])
    immediates: dict[str, t.Term] = field(default_factory=dict[str, t.Term])
    wide: dict[str, bool] = field(default_factory=dict[str, bool])
    """Whether an operand is read along its free axis."""
    index: dict[Var, Index] = field(default_factory=dict[Var, Index])

    def copy(self) -> Match:
        return Match(self.pattern, dict(self.tiles), dict(self.immediates), dict(self.wide), dict(self.index))


P, F = Var("p"), Var("f")
"""The canonical index of a tile: partition, free."""


def root_of(x: t.Term) -> str:
    """What kind of pattern can produce a term: the function or monoid at its root."""
    match x:
        case t.Apply(f, _):
            return f
        case t.Fold(m, _, _, _):
            return f"fold {m}"
        case _:
            return "leaf"


@dataclass(frozen=True)
class PatternTable:
    """The patterns of a device by root."""

    by_root: Mapping[str, tuple[Pattern, ...]]

    def of(self, x: t.Term) -> tuple[Pattern, ...]:
        """Patterns that may produce the term, those with a bare operand at the root last."""
        return self.by_root.get(root_of(x), ())

    @property
    def bare(self) -> tuple[Pattern, ...]:
        """Patterns whose whole term is one operand: copies and fills."""
        return self.by_root.get("leaf", ())


_TABLES: dict[str, PatternTable] = {}


def pattern_table(device: Device) -> PatternTable:
    """All patterns of a device, in the order of its description; made once per description."""
    if device.fingerprint not in _TABLES:
        _TABLES[device.fingerprint] = _build_table(device)
    return _TABLES[device.fingerprint]


def _build_table(device: Device) -> PatternTable:
    table: dict[str, list[Pattern]] = {}
    for instruction in device.instructions.values():
        for form in instruction.forms:
            if any(len(o.axes) > 2 for o in form.operands) or form.numbers:
                continue
            for pattern in _patterns(instruction, form):
                for variant in _spellings(pattern):
                    table.setdefault(root_of(variant.body), []).append(variant)
    return PatternTable({k: tuple(v) for k, v in table.items()})


def _patterns(instruction: Instruction, form: Form) -> Iterator[Pattern]:
    operands = [
        t.tensor_input(o.name, [Index({(): 1}) if a == "1" else size_index(a) for a in o.axes]) for o in form.operands
    ]
    names = list(form.functions)
    for members in product(*(form.functions[n].members for n in names)):
        attributes: dict[str, object] = dict(zip(names, members, strict=True))
        attributes |= {s: size_index(s) for s in form.free_sizes}
        values = form.meaning.denote(operands, attributes)
        for n, value in enumerate(values):
            yield Pattern(
                instruction, form, tuple(zip(names, members, strict=True)), n, value.variables, value.shape, value.body
            )


def _spellings(pattern: Pattern) -> Iterator[Pattern]:
    """The pattern, and with the one function at the heart of its term written by its definition."""
    yield pattern
    expanded = _expand_inside(pattern.body)
    if expanded is not None:
        yield Pattern(
            pattern.instruction,
            pattern.form,
            pattern.functions,
            pattern.result,
            pattern.variables,
            pattern.shape,
            expanded,
        )


def _expand_inside(x: t.Term) -> t.Term | None:
    match x:
        case t.Apply("identity", (a,)):
            return a
        case t.Apply(f, args) if f not in ("add", "mul", "sub", "div", "neg"):
            return definition_of(f, args)
        case t.Fold(m, v, n, body):
            inner = _expand_inside(body)
            return None if inner is None else t.Fold(m, v, n, inner)
        case _:
            return None


def is_constant(x: t.Term) -> bool:
    """Whether a term reads nothing and depends on no index."""
    return not any(isinstance(s, Var) for s in t.free_symbols(x)) and not _has_read(x)


def is_immediate(x: t.Term) -> bool:
    """Whether a constant is a number (possibly infinite), or exact arithmetic on numbers and sizes."""
    match x:
        case t.Const():
            return True
        case t.IndexValue():
            return is_constant(x)
        case t.Apply(f, args):
            return f in RATIONAL and all(map(is_immediate, args))
        case _:
            return False


def _has_read(x: t.Term) -> bool:
    match x:
        case t.Read():
            return True
        case t.Apply(_, args):
            return any(map(_has_read, args))
        case t.Fold(_, _, _, body):
            return _has_read(body)
        case t.Select(_, a, b):
            return _has_read(a) or _has_read(b)
        case _:
            return False


def unit_free(x: t.Term | None) -> t.Term | None:
    """A term without the neutral elements of sums and products."""
    match x:
        case t.Apply(f, args):
            inner = tuple(y for a in args if (y := unit_free(a)) is not None)
            neutral = {"mul": t.ONE, "add": t.ZERO}.get(f)
            if neutral is not None and neutral in inner:
                return inner[1] if inner[0] is neutral else inner[0]
            return t.Apply(f, inner)
        case t.Fold(m, v, n, body):
            return t.Fold(m, v, n, unit_free(body))
        case _:
            return x


def match(pattern: Pattern, target: t.Term, index: Mapping[Var, Index]) -> Match | None:
    """Match a pattern's term with a target; `index` maps the pattern's result variables to the target's indices."""
    found = Match(pattern, index=dict(index))
    outs = {o.name for o in pattern.form.operands if o.outs}
    immediates = {o.name for o in pattern.form.operands if o.kind == "immediate"}
    return next(_unify(pattern.body, target, found, immediates, outs), None)


def _unify(p: t.Term, x: t.Term, m: Match, immediates: set[str], outs: set[str]) -> Iterator[Match]:
    match p:
        case t.Read(name, ()) if name in immediates:
            if is_immediate(x) and m.immediates.get(name, x) is x:
                out = m.copy()
                out.immediates[name] = x
                yield out
        case t.Read(name, indices):
            yield from _bind(name, indices, x, m, outs)
        case t.Const():
            if p is x:
                yield m
        case t.Apply(f, args):
            if not isinstance(x, t.Apply):
                return
            if x.function != f:
                expanded = unit_free(definition_of(x.function, x.args))
                if expanded is not None:
                    yield from _unify(p, expanded, m, immediates, outs)
                return
            orders = [x.args] if not FUNCTIONS[f].commutative else [x.args, x.args[::-1]]
            for order in orders:
                states = [m]
                for a, b in zip(args, order, strict=True):
                    states = [s for state in states for s in _unify(a, b, state, immediates, outs)]
                yield from states
        case t.Fold(monoid, v, _, body):
            if isinstance(x, t.Fold) and x.monoid == monoid:
                out = m.copy()
                out.index[v] = of_var(x.var)
                yield from _unify(body, x.body, out, immediates, outs)
        case _:
            return


def _bind(name: str, indices: tuple[Index, ...], x: t.Term, m: Match, outs: set[str]) -> Iterator[Match]:
    """Let a tile operand stand for a term, rewritten over the operand's own index."""
    rename: dict[Size | Var, Index] = {}
    wide = False
    for i, own in zip(indices, (P, F), strict=True):
        if i.constant is not None:
            continue
        v = i.atom
        if not isinstance(v, Var) or v not in m.index:
            return
        actual = m.index[v].atom
        if isinstance(actual, Var):
            rename[actual] = of_var(own)
            wide = wide or own == F
    free = {s for s in t.free_symbols(x) if isinstance(s, Var)}
    if not free <= set(rename):
        return
    term = t.substitute(x, rename)
    if name in outs and not isinstance(term, t.Read):
        return
    if name in m.tiles and m.tiles[name] is not term:
        return
    out = m.copy()
    out.tiles[name] = term
    out.wide[name] = wide
    yield out


def immediate_text(x: t.Term) -> str:
    """An immediate as an expression over sizes."""
    match x:
        case t.Const(v):
            return str(v) if isinstance(v, str) or v.denominator == 1 else f"({v})"
        case t.IndexValue(i):
            return str(i) if i.atom is not None else f"({i})"
        case t.Apply("identity", (a,)):
            return immediate_text(a)
        case t.Apply("neg", (a,)):
            return f"(-{immediate_text(a)})"
        case t.Apply("reciprocal", (a,)):
            return f"(1 / {immediate_text(a)})"
        case t.Apply(f, (a, b)) if f in ("add", "sub", "mul", "div"):
            symbol = {"add": "+", "sub": "-", "mul": "*", "div": "/"}[f]
            return f"({immediate_text(a)} {symbol} {immediate_text(b)})"
        case _:
            raise ValueError(f"{t.text(x)} is not an immediate")
