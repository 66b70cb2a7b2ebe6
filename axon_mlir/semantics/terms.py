# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scalar terms: what one element of a tensor is, as a function of its index.

Terms are interned (equal terms are the same object). The variable of a `Fold`, over `[0, extent)`, is bound nowhere
inside it (`walk.bound_twice`) and is free nowhere outside; copies of a term, side by side, share theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import cast

from axon_mlir.semantics.index import NO_SYMBOLS, Index, Size, Var, fresh_var, index, maximum, minimum, of_var
from axon_mlir.semantics.interned import Interned

NO_NAMES: frozenset[str] = frozenset()

Number = Fraction | str
"""An exact rational, or 'inf' / '-inf'."""


@dataclass(frozen=True, eq=False, slots=True)
class Const(Interned):
    value: Number


@dataclass(frozen=True, eq=False, slots=True)
class IndexValue(Interned):
    """An integer index term used as a real number (a size in `sum / N`)."""

    index: Index


@dataclass(frozen=True, eq=False, slots=True)
class Read(Interned):
    """An element of an input tensor."""

    tensor: str
    indices: tuple[Index, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Apply(Interned):
    """A scalar function of the table applied to terms."""

    function: str
    args: tuple[Term, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Fold(Interned):
    """`monoid over var in [0, extent) of body`."""

    monoid: str
    var: Var
    extent: Index
    body: Term


@dataclass(frozen=True, eq=False, slots=True)
class Select(Interned):
    """`if condition then a else b`; the other branch is not looked at."""

    condition: Condition
    then: Term
    otherwise: Term


@dataclass(frozen=True, eq=False, slots=True)
class IndexCompare(Interned):
    """`left < right`, `left <= right` or `left == right` on indices."""

    relation: str
    left: Index
    right: Index


@dataclass(frozen=True, eq=False, slots=True)
class RealCompare(Interned):
    """`left < right`, `left <= right` or `left == right` on reals."""

    relation: str
    left: Term
    right: Term


@dataclass(frozen=True, eq=False, slots=True)
class And(Interned):
    parts: tuple[Condition, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Or(Interned):
    parts: tuple[Condition, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Not(Interned):
    part: Condition


Term = Const | IndexValue | Read | Apply | Fold | Select
Comparison = IndexCompare | RealCompare
Condition = Comparison | And | Or | Not

TRUE = And(())
FALSE = Or(())
ZERO = Const(Fraction(0))
ONE = Const(Fraction(1))


def decimal(value: float | int | Fraction) -> Fraction:
    """A double read as its shortest decimal: 1e-5 is exactly 1/100000."""
    if isinstance(value, Fraction | int):
        return Fraction(value)
    return Fraction(repr(float(value)))


def number(value: float | int | Fraction) -> Const:
    """A constant term; infinities are kept as such."""
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return Const("inf" if value > 0 else "-inf")
    return Const(decimal(value))


def index_value(term: Index) -> Term:
    return IndexValue(term) if term.constant is None else Const(Fraction(term.constant))


_OF_INDICES: Mapping[str, Callable[[Index, Index], Index]] = {
    "add": Index.__add__,
    "sub": Index.__sub__,
    "mul": Index.__mul__,
    "min": minimum,
    "max": maximum,
}
"""Functions of whole numbers that are index terms."""


def as_index(x: Term) -> Index | None:
    """The index term that a term is: a position, a whole number, or a sum, difference, product or bound of such."""
    match x:
        case IndexValue(i):
            return i
        case Const(v) if not isinstance(v, str) and v.denominator == 1:
            return index(int(v))
        case Apply(f, (a, b)) if f in _OF_INDICES:
            i, j = as_index(a), as_index(b)
            return None if i is None or j is None else _OF_INDICES[f](i, j)
        case _:
            return None


def fold(monoid: str, var: Var, extent: Index, body: Term) -> Term:
    """A fold; over exactly one element it is the body."""
    if extent == 1:
        return substitute(body, {var: index(0)})
    return Fold(monoid, var, extent, body)


def conj(parts: Sequence[Condition]) -> Condition:
    """Conjunction, flattened; true and false decide at once."""
    out: list[Condition] = []
    for p in parts:
        for q in p.parts if isinstance(p, And) else (p,):
            if q == FALSE:
                return FALSE
            if q not in out:
                out.append(q)
    return out[0] if len(out) == 1 else And(tuple(out))


def disj(parts: Sequence[Condition]) -> Condition:
    out: list[Condition] = []
    for p in parts:
        for q in p.parts if isinstance(p, Or) else (p,):
            if q == TRUE:
                return TRUE
            if q not in out:
                out.append(q)
    return out[0] if len(out) == 1 else Or(tuple(out))


def negate(part: Condition) -> Condition:
    if isinstance(part, Not):
        return part.part
    if part == TRUE:
        return FALSE
    if part == FALSE:
        return TRUE
    return Not(part)


def comparisons(c: Condition) -> Iterator[Comparison]:
    """The comparisons that a condition is made of, in order."""
    match c:
        case IndexCompare() | RealCompare():
            yield c
        case And(parts) | Or(parts):
            for p in parts:
                yield from comparisons(p)
        case Not(p):
            yield from comparisons(p)


def with_comparisons(c: Condition, made: Callable[[Comparison], Condition]) -> Condition:
    """The condition with what is made of its comparisons in their place."""
    match c:
        case IndexCompare() | RealCompare():
            return made(c)
        case And(parts):
            return conj([with_comparisons(p, made) for p in parts])
        case Or(parts):
            return disj([with_comparisons(p, made) for p in parts])
        case Not(p):
            return negate(with_comparisons(p, made))


def with_parts(x: Term, made: Callable[[Term], Term], compared: Callable[[Comparison], Condition]) -> Term:
    """The term with what is made of its parts in their place, and of the comparisons in its condition."""
    match x:
        case Apply(f, args):
            return Apply(f, tuple(map(made, args)))
        case Fold(m, v, n, body):
            return fold(m, v, n, made(body))
        case Select(c, a, b):
            return select(with_comparisons(c, compared), made(a), made(b))
        case _:
            return x


def with_sides(c: Comparison, made: Callable[[Term], Term]) -> Comparison:
    """The comparison with what is made of the numbers that it compares."""
    return RealCompare(c.relation, made(c.left), made(c.right)) if isinstance(c, RealCompare) else c


def compared_indices(c: Condition) -> Iterator[Index]:
    """Both sides of the comparisons of indices in a condition."""
    for one in comparisons(c):
        if isinstance(one, IndexCompare):
            yield from (one.left, one.right)


def compared_terms(c: Condition) -> Iterator[Term]:
    """Both sides of the comparisons of reals in a condition."""
    for one in comparisons(c):
        if isinstance(one, RealCompare):
            yield from (one.left, one.right)


def is_integer(c: Condition) -> bool:
    """Whether a condition compares only indices."""
    return all(isinstance(one, IndexCompare) for one in comparisons(c))


def less(a: Index, b: Index) -> Condition:
    gap = b - a
    return IndexCompare("<", a, b) if gap.constant is None else (TRUE if gap.constant > 0 else FALSE)


def at_most(a: Index, b: Index) -> Condition:
    gap = b - a
    return IndexCompare("<=", a, b) if gap.constant is None else (TRUE if gap.constant >= 0 else FALSE)


def equal(a: Index, b: Index) -> Condition:
    gap = b - a
    return IndexCompare("==", a, b) if gap.constant is None else (TRUE if gap.constant == 0 else FALSE)


def index_comparison(relation: str, a: Index, b: Index) -> Condition:
    """`a < b`, `a <= b` or `a == b`; what it is, where their difference is a number."""
    return {"<": less, "<=": at_most, "==": equal}[relation](a, b)


def within(i: Index, extent: Index) -> Condition:
    """`0 <= i < extent`."""
    return conj([at_most(index(0), i), less(i, extent)])


def select(condition: Condition, then: Term, otherwise: Term) -> Term:
    if condition == TRUE or then is otherwise:
        return then
    if condition == FALSE:
        return otherwise
    return Select(condition, then, otherwise)


Binding = Mapping[Size | Var, Index]


class _Substitution:
    """One simultaneous replacement. What is put in place of a symbol stays free: a fold whose variable it mentions, or
    that binds a symbol which is replaced, gets a new variable."""

    def __init__(
        self,
        binding: Binding,
        read: Callable[[Read], Term] | None,
        constants: Mapping[Const, Term] | None = None,
        of: frozenset[str] | None = None,
    ):
        self.binding = binding
        self.read = read
        self.constants = constants or {}
        self.tensors = of if read is not None else NO_NAMES
        """The tensors whose elements are replaced; None for all."""
        self.bound = frozenset(binding)
        self.taken = self.bound.union(*(i.symbols() for i in binding.values()))
        self.terms: dict[Term, Term] = {}
        self.conditions: dict[Condition, Condition] = {}
        self.indices: dict[Index, Index] = {}

    def term(self, t: Term) -> Term:
        found = self.terms.get(t)
        if found is None:
            found = self.terms[t] = t if self.stays(t) else self._term(t)
        return found

    def stays(self, t: Term | Condition) -> bool:
        """Whether nothing in a term is replaced."""
        if self.tensors is None or self.constants or not free_symbols(t).isdisjoint(self.bound):
            return False
        return not self.tensors or tensors_of(t).isdisjoint(self.tensors)

    def index(self, i: Index) -> Index:
        found = self.indices.get(i)
        if found is None:
            found = self.indices[i] = i.substitute(self.binding)
        return found

    def _term(self, t: Term) -> Term:
        match t:
            case Const():
                return self.constants.get(t, t)
            case IndexValue(i):
                return index_value(self.index(i))
            case Read(name, indices):
                new = Read(name, tuple(map(self.index, indices)))
                return self.read(new) if self.read and (self.tensors is None or name in self.tensors) else new
            case Apply(f, args):
                return Apply(f, tuple(self.term(a) for a in args))
            case Fold(m, v, n, body):
                if v in self.taken:
                    new = fresh_var(v.name)
                    v, body = new, substitute(body, {v: of_var(new)})
                return fold(m, v, self.index(n), self.term(body))
            case Select(c, x, y):
                return select(self.condition(c), self.term(x), self.term(y))

    def condition(self, c: Condition) -> Condition:
        found = self.conditions.get(c)
        if found is None:
            found = self.conditions[c] = c if self.stays(c) else self._condition(c)
        return found

    def _condition(self, c: Condition) -> Condition:
        match c:
            case IndexCompare(r, x, y):
                return index_comparison(r, self.index(x), self.index(y))
            case RealCompare(r, x, y):
                return RealCompare(r, self.term(x), self.term(y))
            case And(parts):
                return conj([self.condition(p) for p in parts])
            case Or(parts):
                return disj([self.condition(p) for p in parts])
            case Not(p):
                return negate(self.condition(p))


def substitute(t: Term, binding: Binding, read: Callable[[Read], Term] | None = None) -> Term:
    """Replace variables and sizes, and, with `read`, every tensor element by a term."""
    return _Substitution(binding, read).term(t)


def replace_reads(t: Term, tensors: Iterable[str], made: Callable[[Read], Term]) -> Term:
    """Replace the elements of some tensors by terms."""
    return _Substitution({}, made, of=frozenset(tensors)).term(t)


def with_constants(t: Term, new: Mapping[Const, Term]) -> Term:
    """Replace constants."""
    return _Substitution({}, None, new).term(t) if new else t


def substitute_condition(c: Condition, binding: Binding) -> Condition:
    return _Substitution(binding, None).condition(c)


def substitute_conditions(conditions: Sequence[Condition], binding: Binding) -> list[Condition]:
    """Conditions with variables and sizes replaced."""
    return list(map(_Substitution(binding, None).condition, conditions))


def refresh(t: Term) -> Term:
    """The same term with every bound variable new, so that two copies can live in one term."""
    fresh: dict[Var, Var] = {}
    known: dict[tuple[Term, frozenset[Size | Var]], Term] = {}

    def go(x: Term, bound: frozenset[Size | Var]) -> Term:
        """`x` where these variables are bound around it."""
        bound &= free_symbols(x)
        found = known.get((x, bound))
        if found is None:
            found = known[(x, bound)] = made(x, bound)
        return found

    def made(x: Term, bound: frozenset[Size | Var]) -> Term:
        renamed: Binding = {v: of_var(fresh[v]) for v in bound if isinstance(v, Var)}
        match x:
            case Fold(m, v, n, body):
                new = fresh.setdefault(v, fresh_var(v.name))
                return Fold(m, new, n.substitute(renamed), go(body, bound | {v}))
            case Apply(f, args):
                return Apply(f, tuple(go(a, bound) for a in args))
            case Select(c, a, b):
                sides = with_comparisons(c, lambda one: with_sides(one, lambda side: go(side, bound)))
                return Select(substitute_condition(sides, renamed), go(a, bound), go(b, bound))
            case _:
                return substitute(x, renamed)

    return go(t, NO_SYMBOLS)


def free_symbols(t: Term | Condition) -> frozenset[Size | Var]:
    """Sizes and free variables of a term or a condition."""
    found = _free.get(t)
    if found is None:
        found = _free_of(t)
        _free[t] = found
    return found


_free: dict[Term | Condition, frozenset[Size | Var]] = {}


def _free_of(t: Term | Condition) -> frozenset[Size | Var]:
    match t:
        case Const():
            return NO_SYMBOLS
        case IndexValue(i):
            return i.symbols()
        case Read(_, indices):
            return NO_SYMBOLS.union(*(i.symbols() for i in indices))
        case Apply(_, args):
            return NO_SYMBOLS.union(*(free_symbols(a) for a in args))
        case Fold(_, v, n, body):
            return n.symbols() | (free_symbols(body) - {v})
        case Select(c, a, b):
            return free_symbols(c) | free_symbols(a) | free_symbols(b)
        case IndexCompare(_, a, b):
            return a.symbols() | b.symbols()
        case RealCompare(_, a, b):
            return free_symbols(a) | free_symbols(b)
        case And(parts) | Or(parts):
            return NO_SYMBOLS.union(*(free_symbols(p) for p in parts))
        case Not(p):
            return free_symbols(p)


def tensors_of(t: Term | Condition) -> frozenset[str]:
    """The tensors whose elements are in a term or a condition."""
    found = _tensors.get(t)
    if found is None:
        found = _tensors[t] = _tensors_of(t)
    return found


_tensors: dict[Term | Condition, frozenset[str]] = {}


def _tensors_of(t: Term | Condition) -> frozenset[str]:
    match t:
        case Const() | IndexValue() | IndexCompare():
            return NO_NAMES
        case Read(name, _):
            return frozenset((name,))
        case Apply(_, args):
            return NO_NAMES.union(*map(tensors_of, args))
        case Fold(_, _, _, body):
            return tensors_of(body)
        case Select(c, a, b):
            return _tensors_of(c) | tensors_of(a) | tensors_of(b)
        case RealCompare(_, a, b):
            return tensors_of(a) | tensors_of(b)
        case And(parts) | Or(parts):
            return NO_NAMES.union(*map(_tensors_of, parts))
        case Not(p):
            return _tensors_of(p)


def text(t: Term | Condition) -> str:
    """A readable form, also accepted by the meaning grammar."""
    match t:
        case Const(v):
            return str(v)
        case IndexValue(i):
            return f"({i})"
        case Read(name, indices):
            return f"{name}[{', '.join(map(str, indices))}]" if indices else name
        case Apply(f, args):
            return f"{f}({', '.join(text(a) for a in args)})"
        case Fold(m, v, n, body):
            return f"{m}({v} < {n}: {text(body)})"
        case Select(c, a, b):
            return f"(if {text(c)} then {text(a)} else {text(b)})"
        case IndexCompare(r, a, b):
            return f"{a} {r} {b}"
        case RealCompare(r, a, b):
            return f"({text(a)} {r} {text(b)})"
        case And(parts):
            return " and ".join(f"({text(p)})" for p in parts) or "true"
        case Or(parts):
            return " or ".join(f"({text(p)})" for p in parts) or "false"
        case Not(p):
            return f"not ({text(p)})"


@dataclass(frozen=True)
class Comprehension:
    """A tensor as a function of its index: `[vars] -> body`, for `0 <= vars < shape`.

    `dtype` is the element type's name (`f32`, `bf16`, ...), or None where it does not matter.
    """

    shape: tuple[Index, ...]
    variables: tuple[Var, ...]
    body: Term
    dtype: str | None = None

    @property
    def extents(self) -> dict[Var, Index]:
        """The extent of each variable."""
        return dict(zip(self.variables, self.shape, strict=True))

    def at(self, indices: Sequence[Index]) -> Term:
        """The element at these indices."""
        if len(indices) != len(self.variables):
            raise ValueError(f"a tensor of rank {len(self.variables)} read with {len(indices)} indices")
        return substitute(self.body, cast(Binding, dict(zip(self.variables, indices, strict=True))))

    def substitute(self, binding: Binding) -> Comprehension:
        """The tensor with sizes replaced."""
        return replace(
            self, shape=tuple(n.substitute(binding) for n in self.shape), body=substitute(self.body, binding)
        )


def tensor_input(name: str, shape: Sequence[Index], dtype: str | None = None) -> Comprehension:
    """An input tensor: its element is a `Read` of it."""
    variables = tuple(fresh_var(f"i{n}") for n in range(len(shape)))
    return Comprehension(tuple(shape), variables, Read(name, tuple(map(of_var, variables))), dtype)
