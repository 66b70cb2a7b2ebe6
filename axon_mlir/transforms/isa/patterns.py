# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Instruction meanings as tree patterns, and how a term is matched with one.

Every form of every instruction of a device is a pattern once its function attributes are fixed. A pattern's tile
operands stand for subterms, its immediates for numbers known from the sizes and from where the tile lies, its index
attributes for the coefficients of affine positions. A tile that is a predicate stands for a condition, as the term that
is 1 where it holds and 0 elsewhere. Nothing here knows an instruction by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, product

from axon_mlir.dialects.tile import PLACE_PREFIX
from axon_mlir.semantics import terms as t
from axon_mlir.semantics.functions import FUNCTIONS, MONOIDS
from axon_mlir.semantics.index import Index, Size, Var, const, of_var
from axon_mlir.semantics.index import size as size_index
from axon_mlir.semantics.meaning import OPEN, filled
from axon_mlir.semantics.normal import definition_of
from axon_mlir.semantics.walk import subterms
from axon_mlir.targets import Device, Form, Instruction

RATIONAL = frozenset({"add", "sub", "mul", "div", "neg", "reciprocal", "identity", "pi"})
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
    fixed: tuple[tuple[str, t.Const], ...] = ()
    """Operands that are given as a constant, which the body has been simplified by."""


@dataclass
class Match:
    """What a pattern's operands stand for: subterms over the operand's own index (`p`, `f`), immediates, and indices
    for the form's index attributes."""

    pattern: Pattern
    tiles: dict[str, t.Term] = field(default_factory=dict[str, t.Term])
    immediates: dict[str, t.Term] = field(default_factory=dict[str, t.Term])
    positions: dict[str, Index] = field(default_factory=dict[str, Index])
    wide: dict[str, bool] = field(default_factory=dict[str, bool])
    """Whether an operand is read along its free axis."""
    index: dict[Var, Index] = field(default_factory=dict[Var, Index])

    def copy(self) -> Match:
        copies = (dict(self.tiles), dict(self.immediates), dict(self.positions), dict(self.wide), dict(self.index))
        return Match(self.pattern, *copies)


P, F = Var("p"), Var("f")
"""The canonical index of a tile: partition, free."""
OWN = {P: of_var(P), F: of_var(F)}


SIZE, POSITION = "@", "?"
"""Prefixes of the sizes of a pattern's or a leaf's tiles, and of a pattern's index attributes, which no size of a
program has."""


def root_of(x: t.Term) -> str:
    """What kind of pattern can produce a term: the function, monoid or kind of choice at its root."""
    match x:
        case t.Apply(f, _):
            return f
        case t.Fold(m, _, n, _):
            return f"scan {m}" if any(isinstance(s, Var) for s in n.symbols()) else f"fold {m}"
        case t.Select(c, t.Const(), t.Const()):
            return f"truth {_kind_of(c)}"
        case t.Select():
            return "choice"
        case t.IndexValue():
            return "position"
        case _:
            return "leaf"


def _kind_of(c: t.Condition) -> str:
    match c:
        case t.RealCompare(relation, _, _) | t.IndexCompare(relation, _, _):
            return relation
        case t.Not(p):
            return f"not {_kind_of(p)}"
        case t.And():
            return "and"
        case t.Or():
            return "or"


@dataclass(frozen=True)
class PatternTable:
    """The patterns of a device by root."""

    by_root: Mapping[str, tuple[Pattern, ...]]

    def of(self, x: t.Term) -> tuple[Pattern, ...]:
        """Patterns that may produce the term, those with a bare operand at the root last."""
        return self.by_root.get(root_of(x), ())

    @property
    def choices(self) -> tuple[Pattern, ...]:
        """Patterns that choose between two operands."""
        return self.by_root.get("choice", ())

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
            tiles = (*form.operands, *form.results)
            if form.identities or any(len(o.axes) > 2 or any(a.isdigit() and a != "1" for a in o.axes) for o in tiles):
                continue
            for pattern in _patterns(instruction, form):
                for variant in _spellings(pattern):
                    table.setdefault(root_of(variant.body), []).append(variant)
    return PatternTable({k: tuple(v) for k, v in table.items()})


def _patterns(instruction: Instruction, form: Form) -> Iterator[Pattern]:
    operands = [t.tensor_input(o.name, [_axis(a) for a in o.axes]) for o in form.operands]
    names = list(form.functions)
    attributes: dict[str, object] = {n: OPEN + n for n in names}
    attributes |= {s: _axis(s) for s in form.free_sizes}
    attributes |= {n: size_index(POSITION + n) for n in form.numbers}
    values = form.meaning.denote(operands, attributes)
    for members in product(*(form.functions[n].members for n in names)):
        functions = tuple(zip(names, members, strict=True))
        chosen = {OPEN + n: m for n, m in functions}
        for n, value in enumerate(values):
            body = normalised(filled(value.body, chosen))
            yield Pattern(instruction, form, functions, n, value.variables, value.shape, body)


def _axis(a: str) -> Index:
    return Index({(): 1}) if a == "1" else size_index(SIZE + a)


def _spellings(pattern: Pattern) -> Iterator[Pattern]:
    """The pattern, with the one function at the heart of its term written by its definition, and, for scans, with
    operands given as constants that take them out of the term."""
    yield pattern
    expanded = _expand_inside(pattern.body)
    if expanded is not None:
        yield replace(pattern, body=expanded)
    if any(isinstance(x, t.Fold) and root_of(x).startswith("scan") for x in subterms(pattern.body)):
        yield from _with_constants(pattern)


NEUTRAL = (t.ZERO, t.ONE, t.Const("-inf"), t.Const("inf"))


def _with_constants(pattern: Pattern) -> Iterator[Pattern]:
    operands = [o.name for o in pattern.form.operands]
    seen = {pattern.body}
    for count in range(1, len(operands)):
        for names in combinations(operands, count):
            for values in product(NEUTRAL, repeat=count):
                given = dict(zip(names, values, strict=True))
                body = simplified(t.substitute(pattern.body, {}, lambda r, g=given: g.get(r.tensor, r)))
                if body in seen or any(x in NEUTRAL for x in subterms(body)):
                    continue
                if {x.tensor for x in subterms(body) if isinstance(x, t.Read)} != {*operands} - {*names}:
                    continue
                seen.add(body)
                yield replace(pattern, body=body, fixed=tuple(given.items()))


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
    """Whether a term reads nothing and depends on no index but on where the tile lies."""
    return not any(isinstance(s, Var) and not is_place(s) for s in t.free_symbols(x)) and not _has_read(x)


def is_place(s: Size | Var) -> bool:
    """Whether a variable stands for an index that a leaf is given."""
    return isinstance(s, Var) and s.uid == 0 and s.name.startswith(PLACE_PREFIX)


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
    return any(isinstance(y, t.Read) for y in subterms(x))


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
        case t.Select(c, a, b):
            return t.select(c, unit_free(a) or a, unit_free(b) or b)
        case _:
            return x


def simplified(x: t.Term) -> t.Term:
    """A term without neutral and absorbing elements of sums, products, maxima and minima."""
    match x:
        case t.Apply(f, args):
            inner = tuple(map(simplified, args))
            neutral = next((m.neutral for m in MONOIDS.values() if m.function == f), None)
            if neutral is None or len(inner) != 2:
                return t.Apply(f, inner)
            first, second = inner
            if f == "mul" and t.ZERO in inner:
                return t.ZERO
            unit = t.number(neutral)
            return second if first is unit else first if second is unit else t.Apply(f, inner)
        case t.Fold(m, v, n, body):
            inside = simplified(body)
            return inside if inside is t.number(MONOIDS[m].neutral) else t.Fold(m, v, n, inside)
        case t.Select(c, a, b):
            return t.select(c, simplified(a), simplified(b))
        case _:
            return x


def matches(pattern: Pattern, target: t.Term, index: Mapping[Var, Index]) -> Iterator[Match]:
    """The ways in which a pattern's term becomes a target; `index` maps the pattern's result variables to the target's
    indices."""
    if not _possible(pattern.body, target):
        return
    found = Match(pattern, index=dict(index))
    fixed = dict(pattern.fixed)
    for o in pattern.form.operands:
        if o.name in fixed and o.kind == "immediate":
            found.immediates[o.name] = fixed[o.name]
        elif o.name in fixed:
            found.tiles[o.name] = fixed[o.name]
            found.wide[o.name] = o.axes[-1] != "1"
    yield from _Unification(pattern).terms(pattern.body, target, found)


def _possible(p: t.Term, x: t.Term) -> bool:
    """Whether a pattern's term can become a given one, as far as their functions tell. Most patterns fail here."""
    match p:
        case t.Apply(f, args):
            if not isinstance(x, t.Apply):
                return False
            if x.function != f:
                return FUNCTIONS[x.function].definition is not None
            if all(map(_possible, args, x.args)):
                return True
            return FUNCTIONS[f].commutative and all(map(_possible, args, x.args[::-1]))
        case t.Select():
            return isinstance(x, t.Select)
        case t.Fold(m, _, _, body):
            return isinstance(x, t.Fold) and x.monoid == m and _possible(body, x.body)
        case t.Const():
            return p is x
        case _:
            return True


class _Unification:
    """The ways in which a pattern's term becomes a given one."""

    def __init__(self, pattern: Pattern):
        operands = pattern.form.operands
        self.immediates = {o.name for o in operands if o.kind == "immediate"}
        self.accumulators = {o.name for o in operands if o.outs and pattern.form.accumulates}
        self.integers = {o.name for o in operands if o.kind == "tile" and "float32" not in o.dtypes}

    def terms(self, p: t.Term, x: t.Term, m: Match) -> Iterator[Match]:
        """Ways for a term."""
        match p:
            case t.Read(name, ()) if name in self.immediates:
                if is_immediate(x) and m.immediates.get(name, x) is x:
                    out = m.copy()
                    out.immediates[name] = x
                    yield out
            case t.Read(name, indices):
                yield from self.tile(name, indices, x, m)
            case t.Const():
                if p is x:
                    yield m
            case t.IndexValue(i):
                if isinstance(x, t.IndexValue):
                    yield from self.index(i, x.index, m)
            case t.Apply(f, args):
                if not isinstance(x, t.Apply):
                    return
                if x.function != f:
                    expanded = unit_free(definition_of(x.function, x.args))
                    if expanded is not None:
                        yield from self.terms(p, expanded, m)
                    return
                orders = [x.args] if not FUNCTIONS[f].commutative else [x.args, x.args[::-1]]
                for order in orders:
                    yield from self.each(list(zip(args, order, strict=True)), m)
            case t.Fold(monoid, v, n, body):
                if isinstance(x, t.Fold) and x.monoid == monoid and self.same_extent(n, x.extent, m):
                    out = m.copy()
                    out.index[v] = of_var(x.var)
                    yield from self.terms(body, x.body, out)
            case t.Select(c, a, b):
                if isinstance(x, t.Select):
                    for condition, then, otherwise in ((x.condition, x.then, x.otherwise), _swapped(x)):
                        for state in self.condition(c, condition, m):
                            yield from self.each([(a, then), (b, otherwise)], state)

    def each(self, pairs: Sequence[tuple[t.Term, t.Term]], m: Match) -> Iterator[Match]:
        """Ways for all pairs at once."""
        if not pairs:
            yield m
            return
        (p, x), *rest = pairs
        for state in self.terms(p, x, m):
            yield from self.each(rest, state)

    def same_extent(self, p: Index, x: Index, m: Match) -> bool:
        """Whether two ranges agree: of all elements of an axis, or up to where the result stands."""
        if not any(isinstance(s, Var) for s in p.symbols()):
            return isinstance(x.atom, Size) and x.atom.name.startswith(SIZE)
        return p.substitute({**m.index}) == x

    # -- conditions --------------------------------------------------------------------------------------------------

    def condition(self, p: t.Condition, c: t.Condition, m: Match) -> Iterator[Match]:
        """Ways for a condition."""
        tested = p.left if isinstance(p, t.RealCompare) and p.relation == "==" and p.right is t.ZERO else None
        if isinstance(tested, t.Read) and tested.tensor in self.integers:
            # A predicate, which is 0 where the condition holds.
            yield from self.terms(tested, truth(opposite(c)), m)
            return
        match p, c:
            case t.Not(q), _:
                yield from self.condition(q, opposite(c), m)
                return
            case t.And((first, *others)), t.And((head, *tail)) if len(others) == 1:
                rest = t.conj(tail)
                for one, other in ((head, rest), (rest, head)):
                    for state in self.condition(first, one, m):
                        yield from self.condition(others[0], other, state)
            case t.Or((first, *others)), t.Or((head, *tail)) if len(others) == 1:
                rest = t.disj(tail)
                for one, other in ((head, rest), (rest, head)):
                    for state in self.condition(first, one, m):
                        yield from self.condition(others[0], other, state)
            case t.IndexCompare(relation, a, b), t.IndexCompare(other, x, y):
                if relation == other:
                    yield from self.index(b - a, y - x, m)
                    if relation == "==":
                        yield from self.index(b - a, x - y, m)
            case t.RealCompare(relation, a, b), t.RealCompare(other, x, y):
                if relation == other:
                    yield from self.each([(a, x), (b, y)], m)
                    if relation == "==":
                        yield from self.each([(a, y), (b, x)], m)
            case t.RealCompare(relation, a, b), t.IndexCompare(other, x, y):
                if relation == other:
                    yield from self.each([(a, t.index_value(x - y)), (b, t.ZERO)], m)
                    yield from self.each([(b, t.index_value(y - x)), (a, t.ZERO)], m)
            case _:
                pass
        if isinstance(tested, t.Read):
            yield from self.terms(tested, truth(opposite(c)), m)

    # -- positions ---------------------------------------------------------------------------------------------------

    def index(self, p: Index, x: Index, m: Match) -> Iterator[Match]:
        """The coefficients that make an affine index with unknown ones a given one."""
        if not any(isinstance(s, Size) and s.name.startswith(POSITION) for s in p.symbols()):
            if p.substitute({**m.index}) == x:
                yield m
            return
        out = m.copy()
        rest = x
        for v in (v for v in m.index if v in p.symbols()):
            found = m.index[v].atom
            actual = found if isinstance(found, Var) else None
            unknown = _unknown(p.coefficient(v))
            factor = const(0) if actual is None else rest.coefficient(actual)
            if unknown is None or factor is None or not _settled(factor):
                return
            if out.positions.setdefault(unknown, factor) != factor:
                return
            rest = rest if actual is None else rest.substitute({actual: const(0)})
        unknown = _unknown(p.substitute({v: const(0) for v in m.index}))
        if unknown is None or not _settled(rest) or out.positions.setdefault(unknown, rest) != rest:
            return
        yield out

    # -- operands ----------------------------------------------------------------------------------------------------

    def tile(self, name: str, indices: tuple[Index, ...], x: t.Term, m: Match) -> Iterator[Match]:
        """Let a tile operand stand for a term, rewritten over the operand's own index."""
        rename: dict[Size | Var, Index] = {}
        wide = False
        for i, own in zip(indices, (P, F), strict=True):
            atom = i.atom
            if i.constant is not None:
                continue
            if isinstance(atom, Var) and isinstance(actual := m.index[atom].atom, Var) and actual not in rename:
                rename[actual] = OWN[own]
                wide = wide or own == F
                continue
            at = i.substitute({**m.index})
            found = next((s for s in at.symbols() if isinstance(s, Var) and at.coefficient(s) == const(1)), None)
            if found is None:
                if at.constant is None:
                    return
                continue
            # Where the operand is read beside a variable, the variable is what is left of the operand's index.
            rest = at - of_var(found)
            if found in rename or own in rest.symbols():
                return
            rename[found] = of_var(own) - rest
            wide = wide or own == F
        if not {s for s in t.free_symbols(x) if isinstance(s, Var) and not is_place(s)} <= {*rename, *_others(rename)}:
            return
        term = t.substitute(x, rename)
        if {s for s in t.free_symbols(term) if isinstance(s, Var) and not is_place(s)} <= {P, F}:
            yield from self.bound(name, term, wide, m)

    def bound(self, name: str, term: t.Term, wide: bool, m: Match) -> Iterator[Match]:
        """Bind an operand, unless it is bound to something else."""
        if name in self.accumulators and not isinstance(term, t.Read):
            return
        if name in self.integers and not isinstance(term, t.Read) and _condition_of(term) is None:
            return
        if name in m.tiles and m.tiles[name] is not term:
            return
        out = m.copy()
        out.tiles[name] = term
        out.wide[name] = wide
        yield out


def _others(rename: Mapping[Size | Var, Index]) -> set[Size | Var]:
    return {s for i in rename.values() for s in i.symbols()} - {P, F}


def _swapped(x: t.Select) -> tuple[t.Condition, t.Term, t.Term]:
    return opposite(x.condition), x.otherwise, x.then


def _unknown(coefficient: Index | None) -> str | None:
    """The index attribute that a coefficient of a pattern is."""
    atom = coefficient.atom if coefficient is not None else None
    return atom.name.removeprefix(POSITION) if isinstance(atom, Size) and atom.name.startswith(POSITION) else None


def _settled(i: Index) -> bool:
    """Whether an index is known once it is known where the tile lies."""
    return all(not isinstance(s, Var) or is_place(s) for s in i.symbols())


def truth(c: t.Condition) -> t.Term:
    """1 where a condition holds, 0 elsewhere."""
    return t.select(c, t.ONE, t.ZERO)


def opposite(c: t.Condition) -> t.Condition:
    """The condition that holds where another does not, with negation only at equalities."""
    match c:
        case t.Not(p):
            return p
        case t.And(parts):
            return t.disj([opposite(p) for p in parts])
        case t.Or(parts):
            return t.conj([opposite(p) for p in parts])
        case t.RealCompare("<", a, b):
            return t.RealCompare("<=", b, a)
        case t.RealCompare("<=", a, b):
            return t.RealCompare("<", b, a)
        case t.IndexCompare("<", a, b):
            return t.at_most(b, a)
        case t.IndexCompare("<=", a, b):
            return t.less(b, a)
        case _:
            return t.negate(c)


def normalised(x: t.Term) -> t.Term:
    """A term whose choices between truth values are conditions: `(if a then (if b then 1 else 0) else 0)` is
    `(if a and b then 1 else 0)`, and `(if a then 1 else 0) == 1` is `a`."""
    match x:
        case t.Apply(f, args):
            return t.Apply(f, tuple(map(normalised, args)))
        case t.Fold(m, v, n, body):
            return t.Fold(m, v, n, normalised(body))
        case t.Select(c, a, b):
            made = t.select(_normalised(c), normalised(a), normalised(b))
            found = _condition_of(made)
            return made if found is None else truth(found)
        case _:
            return x


def _normalised(c: t.Condition) -> t.Condition:
    match c:
        case t.And(parts):
            return t.conj([_normalised(p) for p in parts])
        case t.Or(parts):
            return t.disj([_normalised(p) for p in parts])
        case t.Not(p):
            return opposite(_normalised(p))
        case t.RealCompare("==", a, b):
            left, right = normalised(a), normalised(b)
            for one, other in ((left, right), (right, left)):
                holds = _condition_of(one)
                if holds is not None and isinstance(one, t.Select) and other in (t.ZERO, t.ONE):
                    return holds if other is t.ONE else opposite(holds)
            return t.RealCompare("==", left, right)
        case t.RealCompare(r, a, b):
            return t.RealCompare(r, normalised(a), normalised(b))
        case t.IndexCompare():
            return c


def _condition_of(x: t.Term) -> t.Condition | None:
    """Where a term of truth values is 1."""
    match x:
        case t.Const():
            return {t.ONE: t.TRUE, t.ZERO: t.FALSE}.get(x)
        case t.Select(c, a, b):
            then, otherwise = _condition_of(a), _condition_of(b)
            if then is None or otherwise is None:
                return None
            if otherwise == t.FALSE:
                return t.conj([c, then])
            if then == t.TRUE:
                return t.disj([c, otherwise])
            if then == t.FALSE:
                return t.conj([opposite(c), otherwise])
            if otherwise == t.TRUE:
                return t.disj([opposite(c), then])
            return t.disj([t.conj([c, then]), t.conj([opposite(c), otherwise])])
        case _:
            return None


def immediate_text(x: t.Term) -> str:
    """An immediate as an expression over sizes."""
    match x:
        case t.Const(v):
            return str(v) if isinstance(v, str) or v.denominator == 1 else f"({v})"
        case t.IndexValue(i):
            return str(i) if i.atom is not None else f"({i})"
        case t.Apply("pi", ()):
            return "pi()"
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
