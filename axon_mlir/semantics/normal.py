# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The normal form of scalar terms: sums of products over atoms, with sums pulled into canonical shape.

A `Poly` is a rational combination of monomials, a monomial a product of atoms with rational exponents. Atoms are input
elements, sizes, folds, opaque function applications, `exp` of a monomial, composite bases (under a negative or
fractional exponent), minima and maxima, guarded terms. Bound variables are renamed canonically.

Every identity used is a lemma of `LEMMAS`; a `Normalizer` records which ones, and with which instances, so that a
certificate can restate them. Two terms with equal normal forms are equal wherever both are defined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from itertools import permutations
from math import gcd, isqrt

from axon_mlir.errors import AxonError
from axon_mlir.semantics import bounds
from axon_mlir.semantics import terms as t
from axon_mlir.semantics.functions import FUNCTIONS, MONOIDS
from axon_mlir.semantics.index import (
    NO_SYMBOLS,
    Div,
    Index,
    Size,
    Var,
    branches,
    ceil_div,
    const,
    fresh_var,
    minimum,
    of_var,
)
from axon_mlir.semantics.index import Atom as IndexAtom
from axon_mlir.semantics.laws import EVEN, ODD, RISING, SCALE_FREE, WHOLE

LEMMAS: dict[str, str] = {
    "congruence": "equal arguments give equal values",
    "scale": "sum(k < n: c * f[k]) = c * sum(k < n: f[k])",
    "add": "sum(k < n: f[k] + g[k]) = sum(k < n: f[k]) + sum(k < n: g[k])",
    "const": "sum(k < n: c) = n * c, n >= 0",
    "fubini": "sum(k < n: sum(l < m: f[k, l])) = sum(l < m: sum(k < n: f[k, l]))",
    "tile": "sum(t < ceildiv(n, s): sum(j < min(s, n - s * t): f[s * t + j])) = sum(k < n: f[k])",
    "single": "fold(k < 1: f[k]) = f[0], sum(k < 0: f[k]) = 0, prod(k < 0: f[k]) = 1",
    "max-scale": "max(k < n: c * f[k]) = c * max(k < n: f[k]), c >= 0",
    "max-shift": "max(k < n: f[k] + c) = max(k < n: f[k]) + c",
    "max-negate": "max(k < n: -f[k]) = -min(k < n: f[k])",
    "max-exp": "max(k < n: exp(f[k])) = exp(max(k < n: f[k]))",
    "max-monotone": "max(k < n: h(f[k])) = h(max(k < n: f[k])), h rising; = h(min(k < n: f[k])), h falling",
    "parity": "h(-x) = -h(x), h odd; h(-x) = h(x), h even; sign(c * x) = sign(x), c > 0",
    "whole": "floor(x + n) = floor(x) + n, round(n) = n, n whole",
    "max-join": "max(k < n: max(f[k], g[k])) = max(max(k < n: f[k]), max(k < n: g[k]))",
    "max-exchange": "max(k < n: max(l < m: f[k, l])) = max(l < m: max(k < n: f[k, l]))",
    "split": "fold(k < p + q: f[k]) = fold(k < p: f[k]) + fold(k < q: f[p + k])",
    "prod-mul": "prod(k < n: f[k] * g[k]) = prod(k < n: f[k]) * prod(k < n: g[k])",
    "prod-exp": "prod(k < n: exp(f[k])) = exp(sum(k < n: f[k]))",
    "select": "sum(k < n: if k = p then f[k] else 0) = if 0 <= p < n then f[p] else 0",
    "indicator": "if c then a else b = b + [c] * (a - b), [c]^2 = [c]",
    "power": "x^a * x^b = x^(a + b)",
    "exp": "exp(a + b) = exp(a) * exp(b)",
    "log": "exp(c * log(x)) = x^c, log(x * y) = log(x) + log(y), log(exp(x)) = x, x > 0, y > 0",
    "nonnegative": "a fold of terms >= 0 is >= 0, of at least one term > 0 is > 0",
    "any": "max(k < n: if c[k] then 1 else 0) = if sum(k < n: if c[k] then 1 else 0) > 0 then 1 else 0",
    "pick": "log(sum(k < n: if k = p then f[k] else 0)) = sum(k < n: if k = p then log(f[k]) else 0), one k, if > 0",
    "fraction": "p = l + r: l * p^a = p^(a + 1) - r * p^a",
}
"""Name -> statement. `smt.lemmas` proves each by induction over ground recurrences."""


@dataclass(frozen=True, slots=True)
class Integer:
    """An integer index atom used as a real; sizes are positive."""

    atom: IndexAtom


@dataclass(frozen=True, slots=True)
class Element:
    """An element of an input tensor."""

    tensor: str
    indices: tuple[Index, ...]


@dataclass(frozen=True, slots=True)
class Prime:
    """A prime under a fractional exponent."""

    value: int


@dataclass(frozen=True, slots=True)
class Base:
    """A composite polynomial under a negative or fractional exponent."""

    poly: Poly


@dataclass(frozen=True, slots=True)
class Exp:
    """`exp` of a monomial; the monomial's coefficient is the exponent of the atom."""

    mono: Mono
    _hash: int = field(init=False, repr=False, compare=False, default=0)

    def __post_init__(self):
        # Hashing what is inside again and again is most of the cost of a normal form.
        object.__setattr__(self, "_hash", hash(("exp", self.mono)))

    def __hash__(self) -> int:
        return self._hash


@dataclass(frozen=True, slots=True)
class Opaque:
    """An uninterpreted function application."""

    function: str
    args: tuple[Poly, ...]


@dataclass(frozen=True, slots=True)
class Extreme:
    """An n-ary `max` or `min` of polynomials."""

    kind: str
    args: tuple[Poly, ...]


@dataclass(frozen=True, slots=True)
class Sum:
    """A sum over several variables of a product, connected through the variables."""

    binders: tuple[tuple[Var, Index], ...]
    mono: Mono
    _hash: int = field(init=False, repr=False, compare=False, default=0)

    def __post_init__(self):
        object.__setattr__(self, "_hash", hash(("sum", self.binders, self.mono)))

    def __hash__(self) -> int:
        return self._hash


@dataclass(frozen=True, slots=True)
class OtherFold:
    """A fold of any other monoid, or of a guarded body."""

    monoid: str
    var: Var
    extent: Index
    body: Poly


@dataclass(frozen=True, slots=True)
class Guarded:
    """`if condition then a else b`."""

    condition: str
    then: Poly
    otherwise: Poly


@dataclass(frozen=True, slots=True)
class Infinity:
    """A symbolic infinity; only minima and maxima make sense of it."""

    positive: bool


Atom = Integer | Element | Prime | Base | Exp | Opaque | Extreme | Sum | OtherFold | Guarded | Infinity
Number = int | Fraction
"""Coefficients and exponents; whole ones as `int`, which is hashed and added faster and is equal to the fraction."""

Mono = tuple[tuple[Atom, Number], ...]


@dataclass(frozen=True)
class Poly:
    """A rational combination of monomials, sorted by key; equality is structural."""

    terms: tuple[tuple[Mono, Number], ...]
    _hash: int = field(init=False, repr=False, compare=False, default=0)

    def __post_init__(self):
        object.__setattr__(self, "_hash", hash(self.terms))

    def __hash__(self) -> int:
        return self._hash

    @property
    def constant(self) -> Fraction | None:
        if not self.terms:
            return Fraction(0)
        if len(self.terms) == 1 and not self.terms[0][0]:
            return Fraction(self.terms[0][1])
        return None

    @property
    def single(self) -> tuple[Mono, Number] | None:
        return self.terms[0] if len(self.terms) == 1 else None

    def __str__(self) -> str:
        return poly_text(self)


@cache
def atom_text(a: Atom) -> str:
    match a:
        case Integer(x):
            return str(x)
        case Element(name, indices):
            return f"{name}[{', '.join(map(str, indices))}]"
        case Prime(p):
            return str(p)
        case Base(p):
            return f"({poly_text(p)})"
        case Exp(m):
            return f"exp({mono_text(m)})"
        case Opaque(f, args):
            return f"{f}({', '.join(map(poly_text, args))})"
        case Extreme(kind, args):
            return f"{kind}({', '.join(map(poly_text, args))})"
        case Sum(binders, m):
            return f"sum({', '.join(f'{v} < {n}' for v, n in binders)}: {mono_text(m)})"
        case OtherFold(monoid, v, n, body):
            return f"{monoid}({v} < {n}: {poly_text(body)})"
        case Guarded(c, a1, b1):
            return f"(if {c} then {poly_text(a1)} else {poly_text(b1)})"
        case Infinity(positive):
            return "inf" if positive else "-inf"


@cache
def mono_text(m: Mono) -> str:
    return " * ".join(atom_text(a) + ("" if e == 1 else f"^({e})") for a, e in m) or "1"


@cache
def poly_text(p: Poly) -> str:
    return " + ".join((f"{c} * " if c != 1 or not m else "") + mono_text(m) if m else str(c) for m, c in p.terms) or "0"


def plain(x: Number) -> Number:
    """The same number, as an `int` if it is one."""
    return x.numerator if x.denominator == 1 else x


def make_poly(terms: Mapping[Mono, Number]) -> Poly:
    kept = tuple((m, plain(c)) for m, c in terms.items() if c)
    return Poly(kept if len(kept) < 2 else tuple(sorted(kept, key=lambda x: mono_text(x[0]))))


_OTHER = {"max": "min", "min": "max"}


def lone(a: Atom) -> Poly:
    """The form that is one atom."""
    return make_poly({((a, 1),): 1})


def folds_over_one(p: Poly) -> dict[Atom, OtherFold]:
    """The factors that are folds over one variable, sums in the form of the others."""
    out: dict[Atom, OtherFold] = {}
    for a in (a for m, _ in p.terms for a, _ in m):
        if isinstance(a, OtherFold):
            out[a] = a
        elif isinstance(a, Sum) and len(a.binders) == 1:
            out[a] = OtherFold("sum", *a.binders[0], make_poly({a.mono: 1}))
    return out


ZERO = make_poly({})
ONE = make_poly({(): 1})


def constant(value: Fraction | int) -> Poly:
    return make_poly({(): Fraction(value)})


@cache
def atom_symbols(a: Atom) -> frozenset[Size | Var]:
    match a:
        case Integer(x):
            return Index({(x,): 1}).symbols()
        case Element(_, indices):
            return NO_SYMBOLS.union(*(i.symbols() for i in indices))
        case Base(p):
            return poly_symbols(p)
        case Exp(m):
            return mono_symbols(m)
        case Opaque(_, args) | Extreme(_, args):
            return NO_SYMBOLS.union(*map(poly_symbols, args))
        case Sum(binders, m):
            inside = mono_symbols(m).union(*(n.symbols() for _, n in binders))
            return inside - {v for v, _ in binders}
        case OtherFold(_, v, n, body):
            return n.symbols() | (poly_symbols(body) - {v})
        case Guarded(_, x, y):
            return poly_symbols(x) | poly_symbols(y) | _guard_symbols[a]
        case Prime() | Infinity():
            return frozenset()


_guard_symbols: dict[Guarded, frozenset[Size | Var]] = {}
_guard_conditions: dict[Guarded, t.Condition] = {}
_guard_gaps: dict[Guarded, tuple[str, Poly]] = {}
_guard_heights: dict[Guarded, int] = {}
"""The binder height of each guard's condition."""


def guard_condition(a: Guarded) -> t.Condition:
    """The condition of a guarded atom (the atom itself holds its canonical text)."""
    return _guard_conditions[a]


def guard_gap(a: Guarded) -> tuple[str, Poly] | None:
    """(`<` or `==`, the right side less the left) of a guard that compares reals."""
    return _guard_gaps.get(a)


@cache
def mono_symbols(m: Mono) -> frozenset[Size | Var]:
    return NO_SYMBOLS.union(*(atom_symbols(a) for a, _ in m))


@cache
def poly_symbols(p: Poly) -> frozenset[Size | Var]:
    return NO_SYMBOLS.union(*(mono_symbols(m) for m, _ in p.terms))


@cache
def positive(a: Atom) -> bool:
    """Whether the atom is known to be > 0 by its parts alone, wherever it is defined."""
    match a:
        case Integer(x):
            return isinstance(x, Size)
        case Prime() | Exp():
            return True
        case Opaque(f, _):
            return f in ("sigmoid", "pi")
        case Base(p):
            return all(c > 0 and nonnegative_mono(m) for m, c in p.terms) and any(positive_mono(m) for m, _ in p.terms)
        case Sum(binders, m):
            return positive_mono(m) and all(at_least(n, 1) for _, n in binders)
        case _:
            return False


def positive_mono(m: Mono) -> bool:
    """Whether a product is > 0 by its factors."""
    return all(positive(a) for a, _ in m)


def nonnegative_mono(m: Mono) -> bool:
    """Whether a product is >= 0 by its factors."""
    return all(e.denominator != 1 or e.numerator % 2 == 0 or nonnegative_atom(a) for a, e in m)


def nonnegative_atom(a: Atom) -> bool:
    """Whether an atom is >= 0 by its parts."""
    match a:
        case Sum(_, m):
            return nonnegative_mono(m)
        case Guarded(_, x, y):
            return (x, y) == (ONE, ZERO)
        case OtherFold(_, _, n, body):
            return at_least(n, 1) and all(c > 0 and nonnegative_mono(m) for m, c in body.terms)
        case Extreme("max", args):
            return any(_mirrored(p, q) or _mirrored(q, p) for p in args for q in args)
        case _:
            return positive(a)


def _mirrored(p: Poly, q: Poly) -> bool:
    """Whether one of two forms is at least minus the other: `-x` and `x`, or minus the least and the greatest."""
    if make_poly({m: -c for m, c in p.terms}) == q:
        return True
    a, b = _lone(make_poly({m: -c for m, c in p.terms})), _lone(q)
    if not (isinstance(a, OtherFold) and isinstance(b, OtherFold)):
        return False
    return (a.monoid, b.monoid) == ("min", "max") and (a.var, a.extent, a.body) == (b.var, b.extent, b.body)


@cache
def total(p: Poly) -> bool:
    """Whether a form means something for all values of its elements: no division, root, logarithm, infinity, and no
    fold whose range may be less than nothing."""
    return all(_total_mono(m) for m, _ in p.terms)


def _total_mono(m: Mono) -> bool:
    return all((positive(a) or (e > 0 and e.denominator == 1)) and _total_atom(a) for a, e in m)


def _total_atom(a: Atom) -> bool:
    match a:
        case Integer() | Element() | Prime():
            return True
        case Exp(m):
            return _total_mono(m)
        case Extreme(_, args):
            return all(map(total, args))
        case Opaque(f, args):
            return f != "power" and (f not in FUNCTIONS or FUNCTIONS[f].defined_when is None) and all(map(total, args))
        case Sum(binders, m):
            return all(at_least(n, 0) for _, n in binders) and _total_mono(m)
        case OtherFold(_, _, n, body):
            return at_least(n, 1) and total(body)
        case Guarded(_, x, y):
            gap = _guard_gaps.get(a)
            known = gap is not None or t.is_integer(_guard_conditions[a])
            return known and total(x) and total(y) and (gap is None or total(gap[1]))
        case Base() | Infinity():
            return False


@cache
def _infinite(p: Poly) -> bool:
    """Whether an infinity stands in it as a number."""
    return any(isinstance(a, Infinity) for m, _ in p.terms for a, _ in m)


def _is_bound(v: Size | Var) -> bool:
    return isinstance(v, Var) and v.name.startswith("#")


@cache
def _binder_height(a: Atom) -> int:
    """One more than the largest canonical binder number used inside."""
    match a:
        case Sum(binders, m):
            return max([_mono_height(m), *(int(v.name[1:]) + 1 for v, _ in binders if _is_bound(v))])
        case OtherFold(_, v, _, body):
            return max(_poly_height(body), int(v.name[1:]) + 1 if _is_bound(v) else 0)
        case Base(p):
            return _poly_height(p)
        case Exp(m):
            return _mono_height(m)
        case Opaque(_, args) | Extreme(_, args):
            return max(map(_poly_height, args), default=0)
        case Guarded(_, x, y):
            return max(_poly_height(x), _poly_height(y), _guard_heights[a])
        case _:
            return 0


def _mono_height(m: Mono) -> int:
    return max((_binder_height(a) for a, _ in m), default=0)


def _poly_height(p: Poly) -> int:
    return max((_mono_height(m) for m, _ in p.terms), default=0)


def _bound_var(n: int) -> Var:
    return Var(f"#{n}")


BUDGET = 100_000
"""Products of monomials that the normal forms of one proof may take: about half a minute."""
SHARE = 32
"""A product of monomials takes as long as so many terms that are looked through, a sum over one as so many products."""


class TooLarge(AxonError):
    """A term has no normal form of a size that is of use."""


LARGEST_DIVISOR = 1 << 12
"""Larger factors are not looked for (a constant of 17 digits may be a prime); their product then counts as a prime."""


def _factorise(n: int) -> dict[int, int]:
    out: dict[int, int] = {}
    d = 2
    while d * d <= n and d <= LARGEST_DIVISOR:
        while n % d == 0:
            out[d] = out.get(d, 0) + 1
            n //= d
        d += 1
    root = isqrt(n)
    if n > 1 and root * root == n:
        out[root] = out.get(root, 0) + 2
    elif n > 1:
        out[n] = out.get(n, 0) + 1
    return out


def at_least(i: Index, bound: int) -> bool:
    """Whether an extent is at least the bound (0 or 1) by signs, index variables being >= 0, or for all sizes."""
    return _at_least(i, bound) or bounds.at_least(i, bound)


def _at_least(i: Index, bound: int) -> bool:
    lowest = 0
    for m, c in i.terms:
        if c < 0 and m:
            return False
        lowest += c * min((_least(a) for a in m), default=1)
    return lowest >= bound


def _least(a: IndexAtom) -> int:
    match a:
        case Size():
            return 1
        case Div(n, _) if _at_least(n, 0):
            return 0
        case Var():
            return 0
        case _:
            return -(1 << 62)


@dataclass(frozen=True)
class Assumed:
    """What is positive where both programs are defined: atoms, and elements by tensor and index, None being any."""

    atoms: frozenset[Atom] = frozenset()
    patterns: frozenset[tuple[str, tuple[Index | None, ...]]] = frozenset()
    ones: frozenset[Atom] = frozenset()
    """What is 1: the number of elements at a position that must be inside."""

    def covers(self, a: Atom) -> bool:
        """Whether an atom is among them."""
        if a in self.atoms:
            return True
        return isinstance(a, Element) and any(
            a.tensor == tensor and all(p is None or p == i for p, i in zip(pattern, a.indices, strict=True))
            for tensor, pattern in self.patterns
        )


class Normalizer:
    """Computes normal forms and records the lemmas used. One per proof; the memo is its own.

    `joining`: folds over adjacent ranges become one fold. `assumed`: what is positive besides what is so by its parts.
    `kept`: functions that are not replaced by their definitions. `budget`: products that may be made, TooLarge then;
    a sum over a product counts for many.
    """

    def __init__(
        self,
        *,
        joining: bool = True,
        assumed: Assumed | None = None,
        kept: frozenset[str] = frozenset(),
        budget: int = BUDGET,
    ):
        self.joining = joining
        self.budget = budget
        self.kept = kept
        self.assumed = assumed or Assumed()
        self.lemmas: set[str] = set()
        self.tiles: set[tuple[Index, Index]] = set()
        """Instances (n, s) of the tile lemma."""
        self._memo: dict[t.Term, Poly] = {}

    def _spend(self, products: int) -> None:
        self.budget -= products
        if self.budget < 0:
            raise TooLarge("the normal form takes too many products")

    # -- ring operations -----------------------------------------------------------------------------------------

    def add(self, *polys: Poly) -> Poly:
        out: dict[Mono, Number] = {}
        for p in polys:
            for m, c in p.terms:
                out[m] = out.get(m, 0) + c
        return self._joined(self._reduced(make_poly(out)))

    def _joined(self, p: Poly) -> Poly:
        """Sums over adjacent ranges with the same factors as one sum."""
        if not self.joining:
            return p
        parts: dict[tuple[Mono, Number, str], list[tuple[Mono, Sum, bool]]] = {}
        for m, k in p.terms:
            for a, e in m:
                if isinstance(a, Sum) and e == 1:
                    rest = tuple(x for x in m if x[0] is not a)
                    parts.setdefault((rest, abs(k), _skeleton(a)), []).append((m, a, k > 0))
        for (rest, size, _), found in parts.items():
            for i, (m1, a, plus) in enumerate(found):
                for j, (m2, b, also) in enumerate(found):
                    if i == j or m1 == m2:
                        continue
                    c = size if plus else -size
                    whole = self._adjacent(a, b) if plus == also else self._longer_by(a, b)
                    if whole is not None:
                        self.lemmas.add("split")
                        others = make_poly({m: k for m, k in p.terms if m not in (m1, m2)})
                        return self.add(others, self.scale(self.mul(make_poly({rest: 1}), whole), c))
        present = dict(p.terms)
        if len(present) < 2:
            return p
        for (rest, size, _), found in parts.items():
            for m1, a, plus in found:
                whole = self._with_neighbour(present, make_poly({rest: size if plus else -size}), m1, a)
                if whole is not None:
                    return whole
        return p

    def _with_neighbour(self, present: Mapping[Mono, Number], factor: Poly, m: Mono, a: Sum) -> Poly | None:
        """A sum over a number of terms (the monomial m), with the next term or the one before, if that is there too."""
        for v, n in a.binders:
            if n.constant is None:
                continue
            z = fresh_var("z")
            for at, shift in ((n, 0), (const(-1), -1)):
                one, body = self._sliced(a, v, at), self._sliced(a, v, of_var(z) + shift)
                if one is None or body is None:
                    continue
                more = self.mul(factor, one)
                if more.terms and all(present.get(k) == c and k != m for k, c in more.terms):
                    self.lemmas |= {"split", "single"}
                    rest = make_poly({k: c for k, c in present.items() if k != m and k not in dict(more.terms)})
                    return self.add(rest, self.mul(factor, self.fold("sum", z, n + 1, body)))
        return None

    def _adjacent(self, a: Sum, b: Sum) -> Poly | None:
        """`sum(k < n: f[k]) + sum(k < m: f[n + k])` as a sum over n + m."""
        bound = {v for v, _ in (*a.binders, *b.binders)}
        for v, n in a.binders:
            for w, m in b.binders:
                if n.symbols() & bound or m.symbols() & bound:
                    continue
                z = fresh_var("z")
                one = self._sliced(a, v, of_var(z))
                if one is not None and one == self._sliced(b, w, of_var(z) - n):
                    return self.fold("sum", z, n + m, one)
        return None

    def _longer_by(self, a: Sum, b: Sum) -> Poly | None:
        """`sum(k < n: f[k]) - sum(k < m: f[j + k])` as the terms that only one has, where those are few."""
        bound = {v for v, _ in (*a.binders, *b.binders)}
        for v, n in a.binders:
            for w, m in b.binders:
                more = (n - m).constant
                if more is None or not 0 <= more <= 4 or (n.symbols() | m.symbols()) & bound:
                    continue
                z = fresh_var("z")
                short = self._sliced(b, w, of_var(z))
                for j in range(5):
                    if short is None or more == j == 0 or short != self._sliced(a, v, of_var(z) + j):
                        continue
                    self.lemmas.add("single")
                    mine = [*map(const, range(j)), *(m + k for k in range(j, more))]
                    theirs = [n + k for k in range(j - more)]
                    plus, minus = (self.add(*(self._sliced(a, v, k) or ZERO for k in ks)) for ks in (mine, theirs))
                    return self.add(plus, self.scale(minus, -1))
        return None

    def _sliced(self, a: Sum, v: Var, at: Index) -> Poly | None:
        """The sum over the other variables, with one at a given value."""
        others = [(w, n) for w, n in a.binders if w != v]
        if any(v in n.symbols() for _, n in others):
            return None
        inside: dict[Size | Var, Index] = {v: at, **{w: of_var(fresh_var("s")) for w, _ in others}}
        renamed = [(_as_var(inside[w]), n.substitute(inside)) for w, n in others]
        out = self.substitute(make_poly({a.mono: 1}), inside)
        while renamed:
            w, n = next(x for x in reversed(renamed) if not any(x[0] in k.symbols() for _, k in renamed))
            renamed.remove((w, n))
            out = self.fold("sum", w, n, out)
        return out

    def scale(self, p: Poly, c: Number) -> Poly:
        return make_poly({m: c * k for m, k in p.terms})

    def mul(self, a: Poly, b: Poly) -> Poly:
        if a.constant is not None:
            return self.scale(b, a.constant)
        if b.constant is not None:
            return self.scale(a, b.constant)
        self._spend(len(a.terms) * len(b.terms))
        parts: list[Poly] = []
        for m1, c1 in a.terms:
            for m2, c2 in b.terms:
                parts.append(self.scale(self._mono_product(m1, m2), c1 * c2))
        return self.add(*parts)

    def _mono_product(self, m1: Mono, m2: Mono) -> Poly:
        exponents: dict[Atom, Number] = dict(m1)
        for a, e in m2:
            if a in exponents:
                self.lemmas.add("power")
            exponents[a] = exponents.get(a, 0) + e
        return self._from_exponents(exponents)

    def _from_exponents(self, exponents: Mapping[Atom, Number]) -> Poly:
        """A product of powers; composite bases with whole positive exponents and primes are multiplied out."""
        coefficient = 1
        kept: dict[Atom, Number] = {}
        expand: list[tuple[Poly, int]] = []
        for a, e in exponents.items():
            if e == 0:
                continue
            if a in self.assumed.ones:
                self.lemmas.add("pick")
                continue
            if isinstance(a, Prime):
                whole = e.numerator // e.denominator
                coefficient *= Fraction(a.value) ** whole
                e -= whole
                if e == 0:
                    continue
            elif isinstance(a, Guarded) and (a.then, a.otherwise) == (ONE, ZERO) and e > 0:
                e = 1
            elif isinstance(a, Base) and e > 0:
                whole = e.numerator // e.denominator
                if whole:
                    expand.append((a.poly, whole))
                e -= whole
                if e == 0:
                    continue
            kept[a] = e
        out = make_poly({_sorted_mono(kept): coefficient})
        for p, n in expand:
            for _ in range(n):
                out = self.mul(out, p)
        return out

    def _reduced(self, p: Poly) -> Poly:
        """Rewrite `lead * base^e` (e < 0) to `base^(e + 1) - rest * base^e` until nothing changes."""
        for _ in range(64):
            self._spend(len(p.terms) // SHARE)
            for m, c in p.terms:
                step = self._reduce_mono(m)
                if step is not None:
                    self.lemmas.add("fraction")
                    rest = make_poly({k: v for k, v in p.terms if k != m})
                    p = self._plain_add(rest, self.scale(step, c))
                    break
            else:
                return p
        return p

    def _plain_add(self, *polys: Poly) -> Poly:
        out: dict[Mono, Number] = {}
        for p in polys:
            for m, c in p.terms:
                out[m] = out.get(m, 0) + c
        return make_poly(out)

    def _reduce_mono(self, m: Mono) -> Poly | None:
        exponents = dict(m)
        for a, e in m:
            if not (isinstance(a, Base) and e < 0 and a.poly.terms):
                continue
            lead, coefficient = _leading(a.poly)
            if not lead or any(exponents.get(x, 0) < k or k < 0 for x, k in lead):
                continue
            outer = dict(exponents)
            for x, k in lead:
                outer[x] = outer[x] - k
            raised = dict(outer)
            raised[a] = e + 1
            pieces = [self.scale(self._product_of(raised), 1 / Fraction(coefficient))]
            for r, k in a.poly.terms:
                if r != lead:
                    lowered = dict(outer)
                    for x, n in r:
                        lowered[x] = lowered.get(x, 0) + n
                    pieces.append(self.scale(self._product_of(lowered), -k / Fraction(coefficient)))
            return self._plain_add(*pieces)
        return None

    def _product_of(self, exponents: Mapping[Atom, Number]) -> Poly:
        return self._from_exponents(exponents)

    def power(self, p: Poly, e: Number) -> Poly:
        """`p ** e` where defined: p != 0 for negative e, p >= 0 for fractional e."""
        if e == 0:
            return ONE
        if e == 1:
            return p
        if p == ZERO:
            return ZERO if e > 0 else self._from_exponents({Base(ZERO): e})
        whole = e.denominator == 1
        if whole and e > 0 and len(p.terms) == 1:
            # At once: the exponent of an exponential may be a million.
            ((mono, number_),) = p.terms
            return self.scale(self._from_exponents({a: k * e for a, k in mono}), number_ ** int(e))
        if whole and e > 0 and e <= 4 and len(p.terms) <= 8:
            out = ONE
            for _ in range(int(e)):
                out = self.mul(out, p)
            return out
        content, rest = self._content(p, whole)
        outside: dict[Atom, Number] = {}
        coefficient = 1
        mono, number_ = content
        if whole:
            coefficient = number_ ** int(e)
        else:
            for prime, n in _factorise(number_.numerator).items():
                outside[Prime(prime)] = outside.get(Prime(prime), 0) + n * e
            for prime, n in _factorise(number_.denominator).items():
                outside[Prime(prime)] = outside.get(Prime(prime), 0) - n * e
        for a, k in mono:
            outside[a] = outside.get(a, 0) + k * e
        multiplied = self.add(*(self.scale(self._from_exponents(dict(m)), c) for m, c in rest.terms))
        if multiplied != rest:
            # A composite base left the denominators: 1 - 1 / (x + 1) is 1 / (x + 1) times (x + 1) - 1.
            return self.mul(self.scale(self._from_exponents(outside), coefficient), self.power(multiplied, e))
        if rest != ONE:
            lone = rest.single
            if lone is not None and lone[1] == 1 and len(lone[0]) == 1:
                (a, k) = lone[0][0]
                if whole or k.denominator != 1 or k.numerator % 2:
                    outside[a] = outside.get(a, 0) + k * e
                else:
                    outside[Base(rest)] = e
            else:
                outside[Base(rest)] = outside.get(Base(rest), 0) + e
        return self.scale(self._from_exponents(outside), coefficient)

    def positive(self, a: Atom) -> bool:
        """Whether an atom is positive, by its parts or by what is assumed."""
        if positive(a) or self.assumed.covers(a):
            return True
        if not self.assumed.atoms and not self.assumed.patterns:
            return False
        match a:
            case Base(p):
                return self.is_positive(p)
            case Sum(binders, m):
                return all(self.positive(x) for x, _ in m) and all(at_least(n, 1) for _, n in binders)
            case OtherFold(_, _, n, body):
                return at_least(n, 1) and self.is_positive(body)
            case Extreme("min", args):
                return all(map(self.is_positive, args))
            case _:
                return False

    def is_positive(self, p: Poly) -> bool:
        """Whether a form is a sum of terms that are not negative, one of them positive."""
        signs = [all(self.positive(a) for a, _ in m) for m, _ in p.terms]
        fit = [s or nonnegative_mono(m) for s, (m, _) in zip(signs, p.terms, strict=True)]
        return any(signs) and all(fit) and all(c > 0 for _, c in p.terms)

    def positive_content(self, p: Poly) -> tuple[tuple[Mono, Number], Poly]:
        """`p = content * rest`: a positive number and positive atoms to some power, and what is left."""
        return self._content(p, False) if p.terms else (((), 1), p)

    def _content(self, p: Poly, whole: bool) -> tuple[tuple[Mono, Number], Poly]:
        """Split `p = content * rest`: a rational and atoms that may leave the power (only positive ones if e is
        fractional); for whole exponents any common atom may."""
        numerator, denominator = 0, 1
        for _, c in p.terms:
            numerator = gcd(numerator, c.numerator)
            denominator = denominator * c.denominator // gcd(denominator, c.denominator)
        number_ = Fraction(numerator, denominator)
        if whole and _leading(p)[1] < 0:
            number_ = -number_
        lowest: dict[Atom, Number] = {}
        for a in {a for m, _ in p.terms for a, _ in m}:
            if whole or self.positive(a):
                k = min(dict(m).get(a, 0) for m, _ in p.terms)
                if k:
                    lowest[a] = k
                    if not whole and isinstance(a, Sum | Base | OtherFold):
                        self.lemmas.add("nonnegative")
        if len(p.terms) == 1 and whole:
            lowest = dict(p.terms[0][0])
        rest: dict[Mono, Number] = {}
        for m, c in p.terms:
            exponents = dict(m)
            for a, k in lowest.items():
                exponents[a] = exponents.get(a, 0) - k
            kept = tuple(sorted(((a, k) for a, k in exponents.items() if k), key=lambda x: (atom_text(x[0]), x[1])))
            rest[kept] = rest.get(kept, 0) + c / number_
        mono = tuple(sorted(lowest.items(), key=lambda x: (atom_text(x[0]), x[1])))
        return (mono, number_), make_poly(rest)

    # -- terms ---------------------------------------------------------------------------------------------------

    def index(self, i: Index) -> Poly:
        out: dict[Mono, Number] = {}
        for m, c in i.terms:
            exponents: dict[Atom, Number] = {}
            for a in m:
                exponents[Integer(a)] = exponents.get(Integer(a), 0) + 1
            mono = tuple(sorted(exponents.items(), key=lambda x: (atom_text(x[0]), x[1])))
            out[mono] = out.get(mono, 0) + c
        return make_poly(out)

    def term(self, x: t.Term) -> Poly:
        found = self._memo.get(x)
        if found is None:
            found = self._term(x)
            self._memo[x] = found
        return found

    def _atom(self, a: Atom) -> Poly:
        return lone(a)

    def _term(self, x: t.Term) -> Poly:
        match x:
            case t.Const(v):
                return self._atom(Infinity(v == "inf")) if isinstance(v, str) else constant(v)
            case t.IndexValue(i):
                return self.index(i)
            case t.Read(name, indices):
                return self._atom(Element(name, indices))
            case t.Apply("min" | "max", _) if (i := t.as_index(x)) is not None:
                return self.index(i)
            case t.Apply(f, args):
                return self.apply(f, [self.term(a) for a in args])
            case t.Fold(m, v, n, body):
                return self.fold(m, v, n, self.term(body))
            case t.Select(c, a, b):
                return self.guarded(c, self.term(a), self.term(b))

    def guarded(self, c: t.Condition, a: Poly, b: Poly) -> Poly:
        """`if c then a else b`; conjunctions are nested, a comparison stands the one way round that reads less."""
        if a == b:
            return a
        match c:
            case t.Not(p):
                return self.guarded(p, b, a)
            case t.And((first, *rest)):
                return self.guarded(first, self.guarded(t.conj(rest), a, b) if rest else a, b)
            case t.And():
                return a
            case t.Or(parts):
                return self.guarded(t.conj([t.negate(p) for p in parts]), b, a)
            case t.RealCompare("<=", x, y):
                return self.guarded(t.RealCompare("<", y, x), b, a)
            case t.RealCompare(relation, x, y):
                gap = self.add(self.term(y), self.scale(self.term(x), -1))
                if gap.constant is not None:
                    return a if (gap.constant > 0 if relation == "<" else gap.constant == 0) else b
            case t.IndexCompare("==", _, _):
                pass
            case t.IndexCompare(relation, x, y):
                gap = y - x if relation == "<" else y - x + 1
                c, opposite = (t.less(const(0), g) for g in (gap, 1 - gap))
                if str(1 - gap) < str(gap):
                    return self._guard(opposite, b, a)
        return self._guard(c, a, b)

    def _guard(self, c: t.Condition, a: Poly, b: Poly) -> Poly:
        """A guarded term, as a product with an indicator where nothing is asked of the branch that is not taken."""
        if c in (t.TRUE, t.FALSE):
            return a if c == t.TRUE else b
        if (a, b) == (ONE, ZERO) or not (b == ZERO or (total(a) and total(b))) or _infinite(a) or _infinite(b):
            return self._guard_atom(c, a, b)
        self.lemmas.add("indicator")
        return self.add(b, self.mul(self._guard_atom(c, ONE, ZERO), self.add(a, self.scale(b, -1))))

    def _guard_atom(self, c: t.Condition, a: Poly, b: Poly) -> Poly:
        atom = Guarded(condition_text(c, self), a, b)
        if isinstance(c, t.RealCompare):
            _guard_gaps[atom] = (c.relation, self.add(self.term(c.right), self.scale(self.term(c.left), -1)))
        _guard_symbols[atom] = t.free_symbols(c)
        _guard_conditions[atom] = c
        _guard_heights[atom] = self._condition_height(c)
        return self._atom(atom)

    def _condition_height(self, c: t.Condition) -> int:
        """The binder height of a condition: its folds must not capture the variables of folds around it."""
        return max((_poly_height(self.term(side)) for side in t.compared_terms(c)), default=0)

    def apply(self, function: str, args: list[Poly]) -> Poly:
        match function:
            case "add":
                return self.add(*args)
            case "mul":
                return self.mul(args[0], args[1])
            case "exp":
                return self.exp(args[0])
            case "power":
                if args[1].constant is not None:
                    return self.power(args[0], args[1].constant)
            case "max" | "min":
                return self.extreme(function, args)
            case _:
                definition = FUNCTIONS[function].definition
                if definition is not None and function not in self.kept:
                    if function in EVEN and self.kept and args[0].terms and _leading(args[0])[1] < 0:
                        # What its definition is made of stays, and knows nothing of the law.
                        self.lemmas |= {"congruence", "parity"}
                        args = [self.scale(args[0], -1)]
                    return self.term_over(_definition(function), dict(zip("xyz", args, strict=False)))
        if function == "log" and args[0].constant is None:
            return self._log(args[0])
        if function in WHOLE:
            return self._of_whole(function, args[0])
        if function == "round" and args[0].constant is not None:
            return constant(Fraction(round(args[0].constant)))
        if function == "round" and all(_is_whole_part(m, c) for m, c in args[0].terms):
            self.lemmas.add("whole")
            return args[0]
        if function in ODD | EVEN and args[0].terms:
            return self._with_parity(function, args[0])
        self.lemmas.add("congruence")
        return self._atom(Opaque(function, tuple(args)))

    def _of_whole(self, function: str, x: Poly) -> Poly:
        """A function that whole numbers leave: multiples of sizes, of indices and of what has been rounded, and the
        whole part of a constant."""
        whole: dict[Mono, Number] = {}
        for m, c in x.terms:
            if not m:
                whole[m] = c.numerator // c.denominator
            elif _is_whole_part(m, c):
                whole[m] = c
        outside = make_poly(whole)
        inside = self.add(x, self.scale(outside, -1))
        self.lemmas |= {"congruence", "whole"} if outside != ZERO else {"congruence"}
        return outside if inside.constant is not None else self.add(outside, self._atom(Opaque(function, (inside,))))

    def _with_parity(self, function: str, x: Poly) -> Poly:
        """An odd or even function, of the argument that starts with a positive number."""
        self.lemmas.add("congruence")
        sign = 1
        if _leading(x)[1] < 0:
            self.lemmas.add("parity")
            x, sign = self.scale(x, -1), Fraction(-1 if function in ODD else 1)
        if function in SCALE_FREE:
            content, rest = self.positive_content(x)
            if rest != x:
                self.lemmas.add("parity")
                if content[0]:
                    self.lemmas.add("nonnegative")
                x = rest
        if x.constant is not None and function == "sign":
            return constant(sign)
        return self.scale(self._atom(Opaque(function, (x,))), sign)

    def term_over(self, x: t.Term, env: Mapping[str, Poly]) -> Poly:
        """A term whose rank-0 reads are given as polynomials."""
        match x:
            case t.Read(name, ()):
                return env[name]
            case t.Apply(f, args):
                return self.apply(f, [self.term_over(a, env) for a in args])
            case _:
                return self.term(x)

    def _log(self, p: Poly) -> Poly:
        """The logarithm of a product: what is known to be positive leaves it; the number stays with the rest."""
        (mono, number_), rest = self._content(p, False)
        out = ZERO
        for a, e in mono:
            picked = self._log_of_pick(lone(a))
            if isinstance(a, Exp):
                self.lemmas.add("exp")
                out = self.add(out, make_poly({a.mono: e}))
            elif picked is not None:
                out = self.add(out, self.scale(picked, e))
            else:
                out = self.add(out, self.scale(self._atom(Opaque("log", (self._atom(a),))), e))
        rest = self.scale(rest, number_)
        if mono:
            self.lemmas.add("log")
        picked = self._log_of_pick(rest)
        if picked is not None:
            return self.add(out, picked)
        if rest != ONE:
            self.lemmas.add("congruence")
            out = self.add(out, self._atom(Opaque("log", (rest,))))
        return out

    def _log_of_pick(self, p: Poly) -> Poly | None:
        """The logarithm of the one element of a range at a position; without an element it is not defined."""
        lone = _lone(p)
        if not isinstance(lone, Sum) or len(lone.binders) != 1:
            return None
        ((v, n),) = lone.binders
        for g, e in lone.mono:
            if e == 1 and isinstance(g, Guarded) and (g.then, g.otherwise) == (ONE, ZERO) and _fixes(g, v):
                self.lemmas.add("pick")
                rest = self._log(make_poly({tuple(x for x in lone.mono if x[0] is not g): 1}))
                w = fresh_var("s")
                body = self.substitute(self.mul(self._atom(g), rest), {v: of_var(w)})
                return self.fold("sum", w, n, body)
        return None

    def exp(self, p: Poly) -> Poly:
        out: dict[Atom, Number] = {}
        powers = ONE
        for m, c in p.terms:
            if m == ((Infinity(False), 1),) and c == 1:
                return ZERO
            (a, e) = m[0] if m else (None, None)
            if len(m) == 1 and e == 1 and isinstance(a, Opaque) and a.function == "log":
                self.lemmas.add("log")
                powers = self.mul(powers, self.power(a.args[0], c))
            else:
                out[Exp(m)] = c
        if len(out) > 1:
            self.lemmas.add("exp")
        return self.mul(powers, self._from_exponents(out))

    def extreme(self, kind: str, args: Iterable[Poly]) -> Poly:
        flat: list[Poly] = []
        for a in args:
            lone = a.single
            inner = lone[0][0][0] if lone and lone[1] == 1 and len(lone[0]) == 1 and lone[0][0][1] == 1 else None
            flat.extend(inner.args if isinstance(inner, Extreme) and inner.kind == kind else [a])
        if len(set(flat)) > 1 and not any(map(_infinite, flat)):
            moved = self._extreme_moved(kind, list(dict.fromkeys(flat)))
            if moved is not None:
                return moved
        absorbing = self._atom(Infinity(kind == "max"))
        neutral = self._atom(Infinity(kind == "min"))
        if absorbing in flat:
            return absorbing
        numbers = [a.constant for a in flat if a.constant is not None]
        kept = sorted({a for a in flat if a.constant is None and a != neutral}, key=poly_text)
        if numbers:
            kept.append(constant(max(numbers) if kind == "max" else min(numbers)))
        if not kept:
            return neutral
        if len(kept) == 1:
            return kept[0]
        return self._atom(Extreme(kind, tuple(kept)))

    def _extreme_moved(self, kind: str, args: list[Poly]) -> Poly | None:
        """A common term or a common positive factor before a maximum; a maximum of exponentials."""
        joined = self._joined_extremes(kind, args)
        if joined is not None:
            return self.extreme(kind, joined)
        first = dict(args[0].terms)
        common = {m: c for m, c in first.items() if m and all(dict(a.terms).get(m) == c for a in args)}
        if common:
            self.lemmas.add("max-shift")
            shift = make_poly(common)
            rest = [self.add(a, self.scale(shift, -1)) for a in args]
            return self.add(shift, self.extreme(kind, rest))
        exponents = [x for x in map(_exponent, args) if x is not None]
        if len(exponents) == len(args):
            self.lemmas.add("max-exp")
            return self.exp(self.extreme(kind, exponents))
        applied = self._monotone(args)
        if applied is not None:
            inside, rises, outer = applied
            self.lemmas.add("max-monotone")
            return outer(self.extreme(kind if rises else _OTHER[kind], inside))
        contents = [self._content(a, False)[0] for a in args if a != ZERO]
        numerator, denominator = 0, 1
        for _, c in contents:
            numerator = gcd(numerator, c.numerator)
            denominator = denominator * c.denominator // gcd(denominator, c.denominator)
        lowest = dict(contents[0][0])
        for mono, _ in contents[1:]:
            there = dict(mono)
            lowest = {a: min(e, there[a]) for a, e in lowest.items() if a in there and e * there[a] > 0}
        number_ = Fraction(numerator, denominator)
        if number_ == 1 and not lowest:
            return None
        self.lemmas.add("max-scale")
        factor = make_poly({_sorted_mono(lowest): number_})
        inverse = make_poly({_sorted_mono({a: -e for a, e in lowest.items()}): 1 / number_})
        return self.mul(factor, self.extreme(kind, [self.mul(a, inverse) for a in args]))

    def _monotone(self, args: Sequence[Poly]) -> tuple[list[Poly], bool, Callable[[Poly], Poly]] | None:
        """(arguments, whether it rises, the function) when all forms are one monotone function of something."""
        lones = [p.single for p in args]
        if any(x is None or x[1] != 1 or len(x[0]) != 1 for x in lones):
            return None
        parts = [x[0][0] for x in lones if x is not None]
        (first, e), *_ = parts
        if isinstance(first, Opaque) and first.function in RISING and e == 1:
            function = first.function
            inside = [a.args[0] for a, k in parts if isinstance(a, Opaque) and a.function == function and k == 1]
            return (inside, True, lambda p: self.apply(function, [p])) if len(inside) == len(parts) else None
        if e == 1 or any(k != e or not self.positive(a) or isinstance(a, Prime | Exp) for a, k in parts):
            return None
        self.lemmas.add("nonnegative")
        inside = [a.poly if isinstance(a, Base) else lone(a) for a, _ in parts]
        return inside, e > 0, lambda p: self.power(p, e)

    def _joined_extremes(self, kind: str, args: list[Poly]) -> list[Poly] | None:
        """Two maxima over adjacent ranges as one."""
        if not self.joining:
            return None
        for i, a in enumerate(args):
            for j, b in enumerate(args):
                x, y = _lone(a), _lone(b)
                if i == j or not (isinstance(x, OtherFold) and isinstance(y, OtherFold)):
                    continue
                if x.monoid != kind or y.monoid != kind or not (at_least(x.extent, 1) and at_least(y.extent, 1)):
                    continue
                z = fresh_var("z")
                body = self.substitute(x.body, {x.var: of_var(z)})
                if body != self.substitute(y.body, {y.var: of_var(z) - x.extent}):
                    continue
                self.lemmas.add("split")
                rest = [p for n, p in enumerate(args) if n not in (i, j)]
                return [*rest, self.fold(kind, z, x.extent + y.extent, body)]
        return None

    # -- folds ---------------------------------------------------------------------------------------------------

    def fold(self, monoid: str, v: Var, extent: Index, body: Poly) -> Poly:
        if extent == 1:
            self.lemmas.add("single")
            return self.substitute(body, {v: const(0)})
        if extent == 0 and monoid in ("sum", "prod"):
            self.lemmas.add("single")
            return ZERO if monoid == "sum" else ONE
        if monoid == "prod" and body.single is not None and not _infinite(body):
            return self._product_fold(v, extent, *body.terms[0])
        if monoid == "sum":
            peeled = self._peeled(v, extent, body)
            if peeled is not None:
                return peeled
            if len(body.terms) > 1:
                self.lemmas.add("add")
            return self.add(*(self.scale(self._sum_of(v, extent, m), c) for m, c in body.terms))
        if v not in poly_symbols(body) and monoid in ("max", "min"):
            return body if at_least(extent, 1) else self._atom(self._named_fold(monoid, v, extent, body))
        flat = self._flatten_other(monoid, v, extent, body)
        if flat is not None:
            return flat
        if monoid in ("max", "min"):
            body = self.add(body)
            outside = make_poly({m: c for m, c in body.terms if v not in mono_symbols(m)})
            if outside != ZERO:
                self.lemmas.add("max-shift")
                inside = make_poly({m: c for m, c in body.terms if v in mono_symbols(m)})
                return self.add(outside, self.fold(monoid, v, extent, inside))
            content = self._positive_content(v, body)
            if content is not None:
                self.lemmas.add("max-scale")
                factor, rest = content
                return self.mul(factor, self.fold(monoid, v, extent, rest))
            if body.terms and not _infinite(body) and _leading(body)[1] < 0:
                self.lemmas.add("max-negate")
                other = "min" if monoid == "max" else "max"
                return self.scale(self.fold(other, v, extent, self.scale(body, -1)), -1)
            exponent = _exponent(body)
            if exponent is not None:
                self.lemmas.add("max-exp")
                return self.exp(self.fold(monoid, v, extent, exponent))
            applied = self._monotone([body])
            if applied is not None:
                (inside,), rises, outer = applied
                self.lemmas.add("max-monotone")
                return outer(self.fold(monoid if rises else _OTHER[monoid], v, extent, inside))
            inner = _lone(body)
            if isinstance(inner, Extreme) and inner.kind == monoid and not any(map(_infinite, inner.args)):
                self.lemmas.add("max-join")
                return self.extreme(monoid, [self.fold(monoid, v, extent, a) for a in inner.args])
            if isinstance(inner, OtherFold) and inner.monoid == monoid and v not in inner.extent.symbols():
                return self._exchanged(v, extent, inner)
        return self._atom(self._named_fold(monoid, v, extent, body))

    def _product_fold(self, v: Var, extent: Index, m: Mono, c: Number) -> Poly:
        """A product over a range, factor by factor."""
        if len(m) + (c != 1) > 1:
            self.lemmas.add("prod-mul")
        out = ONE if c == 1 else self._atom(self._named_fold("prod", v, extent, constant(c)))
        exponents = [make_poly({a.mono: e}) for a, e in m if isinstance(a, Exp)]
        if exponents:
            # Together: of a sum of differences the ends may be all that is left.
            self.lemmas.add("prod-exp")
            out = self.mul(out, self.exp(self.fold("sum", v, extent, self.add(*exponents))))
        for a, e in m:
            if isinstance(a, Exp):
                continue
            if e.denominator == 1:
                flat = self._flatten_other("prod", v, extent, self._atom(a))
                one = self._atom(self._named_fold("prod", v, extent, self._atom(a))) if flat is None else flat
                out = self.mul(out, self.power(one, e))
            else:
                power = make_poly({((a, e),): 1})
                out = self.mul(out, self._atom(self._named_fold("prod", v, extent, power)))
        return out

    def _peeled(self, v: Var, extent: Index, body: Poly) -> Poly | None:
        """`sum(k < n + c: f[k])` as `sum(k < n: f[k]) + f[n] + ...`, c being a small number."""
        extra = dict(extent.terms).get((), 0)
        rest = extent - extra
        if not 0 < extra <= 4 or rest == 0 or not all(isinstance(a, Size | Var) for m, _ in rest.terms for a in m):
            return None
        if not at_least(rest, 0):
            return None
        self.lemmas |= {"split", "single"}
        last = [self.substitute(body, {v: rest + k}) for k in range(extra)]
        return self.add(self.fold("sum", v, rest, body), *last)

    def _exchanged(self, v: Var, extent: Index, inner: OtherFold) -> Poly:
        """A maximum of maxima over independent ranges, in the order that reads less."""
        w = fresh_var("s")
        body = self.substitute(inner.body, {inner.var: of_var(w)})
        one = self._named_fold(inner.monoid, v, extent, self._atom(inner))
        row = self._atom(self._named_fold(inner.monoid, v, extent, body))
        other = self._named_fold(inner.monoid, w, inner.extent, row)
        if v in poly_symbols(body) and atom_text(other) < atom_text(one):
            self.lemmas.add("max-exchange")
            return self._atom(other)
        return self._atom(one)

    def _positive_content(self, v: Var, body: Poly) -> tuple[Poly, Poly] | None:
        (mono, number_), _ = self._content(body, False)
        kept = tuple((a, e) for a, e in mono if v not in atom_symbols(a))
        if number_ == 1 and not kept:
            return None
        factor = make_poly({kept: number_})
        inverse = make_poly({tuple((a, -e) for a, e in kept): 1 / Fraction(number_)})
        return factor, self.mul(body, inverse)

    def _named_fold(self, monoid: str, v: Var, extent: Index, body: Poly) -> OtherFold:
        name = _bound_var(max(_poly_height(body), 0))
        return OtherFold(monoid, name, extent, self.substitute(body, {v: of_var(name)}))

    def _flatten_other(self, monoid: str, v: Var, extent: Index, body: Poly) -> Poly | None:
        """The tile lemma for other monoids: the body is exactly one fold of the same monoid."""
        lone = body.single
        if lone is None or lone[1] != 1 or len(lone[0]) != 1 or lone[0][0][1] != 1:
            return None
        inner = lone[0][0][0]
        if not isinstance(inner, OtherFold) or inner.monoid != monoid:
            return None
        step = tile_step(v, extent, inner.extent)
        if step is None and {v, inner.var} <= poly_symbols(inner.body):
            step = self._whole_tiles(v, extent, inner.extent)
        if step is None:
            return None
        n, s = step
        u, k = fresh_var("u"), fresh_var("k")
        renamed = self.substitute(inner.body, {inner.var: of_var(u)})
        flat = self.substitute(renamed, {u: of_var(k) - s * of_var(v)})
        if v in poly_symbols(flat):
            return None
        self.lemmas.add("tile")
        self.tiles.add((n, s))
        return self.fold(monoid, k, n, flat)

    def _sum_of(self, v: Var, extent: Index, m: Mono) -> Poly:
        """`sum(v < extent: product)`."""
        self._spend(SHARE)
        outside = {a: e for a, e in m if v not in atom_symbols(a)}
        inside = [(a, e) for a, e in m if v in atom_symbols(a)]
        if outside and inside:
            self.lemmas.add("scale")
        if not inside and at_least(extent, 0):
            self.lemmas.add("const")
            return self.mul(self.index(extent), self._from_exponents(outside))
        binders: list[tuple[Var, Index]] = [(v, extent)]
        factors: dict[Atom, Number] = {}
        for a, e in inside:
            if isinstance(a, Sum) and e.denominator == 1 and e > 0:
                self.lemmas.add("fubini")
                for _ in range(int(e)):
                    fresh: dict[Size | Var, Index] = {w: of_var(fresh_var("s")) for w, _ in a.binders}
                    for w, n in a.binders:
                        binders.append((_as_var(fresh[w]), n.substitute(fresh)))
                    for b, k in self._substitute_mono(a.mono, fresh):
                        factors[b] = factors.get(b, 0) + k
            else:
                factors[a] = factors.get(a, 0) + e
        product = self._from_exponents(factors)
        if len(product.terms) != 1:
            # Merging made a base expand; sum the pieces one by one.
            out = product
            for w, n in reversed(binders):
                out = self.fold("sum", w, n, out)
            return self.mul(out, self._from_exponents(outside))
        mono, coefficient = product.terms[0]
        binders, mono = self._flatten(binders, mono)
        return self.mul(self.scale(self._connected(binders, mono), coefficient), self._from_exponents(outside))

    def _whole_tiles(self, v: Var, outer: Index, inner: Index) -> tuple[Index, Index] | None:
        """(n, s) for tiles that are all whole: n = outer * s."""
        if v in inner.symbols() or not (at_least(inner, 1) and at_least(outer, 0)):
            return None
        return outer * inner, inner

    def _flatten(self, binders: list[tuple[Var, Index]], mono: Mono) -> tuple[list[tuple[Var, Index]], Mono]:
        """Apply the tile lemma wherever a pair of binders is a tiling."""
        changed = True
        while changed:
            changed = False
            for v, outer in binders:
                for u, inner in binders:
                    if u is v:
                        continue
                    step = tile_step(v, outer, inner)
                    if step is None and {u, v} <= mono_symbols(mono):
                        step = self._whole_tiles(v, outer, inner)
                    if step is None:
                        continue
                    n, s = step
                    k = fresh_var("k")
                    flat = self._substitute_mono(mono, {u: of_var(k) - s * of_var(v)})
                    others = [(w, x.substitute({u: of_var(k) - s * of_var(v)})) for w, x in binders if w not in (u, v)]
                    if v in mono_symbols(flat) or any(v in x.symbols() for _, x in others):
                        continue
                    self.lemmas.add("tile")
                    self.tiles.add((n, s))
                    binders, mono, changed = [*others, (k, n)], flat, True
                    break
                if changed:
                    break
        return binders, mono

    def _connected(self, binders: list[tuple[Var, Index]], mono: Mono) -> Poly:
        """Split a multiple sum into factors that share no variable, and name the variables canonically."""
        groups: list[tuple[set[Var], list[tuple[Atom, Number]]]] = []
        names = {v for v, _ in binders}
        for a, e in mono:
            touched = {v for v in atom_symbols(a) if isinstance(v, Var) and v in names}
            merged: tuple[set[Var], list[tuple[Atom, Number]]] = (set(touched), [(a, e)])
            rest: list[tuple[set[Var], list[tuple[Atom, Number]]]] = []
            for g in groups:
                if g[0] & merged[0]:
                    merged = (g[0] | merged[0], g[1] + merged[1])
                else:
                    rest.append(g)
            groups = [*rest, merged]
        for v, n in binders:
            deps = {w for w in n.symbols() if isinstance(w, Var) and w in names}
            if deps:
                joined: tuple[set[Var], list[tuple[Atom, Number]]] = ({v, *deps}, [])
                rest = []
                for g in groups:
                    if g[0] & joined[0]:
                        joined = (g[0] | joined[0], g[1] + joined[1])
                    else:
                        rest.append(g)
                groups = [*rest, joined]
        extents = dict(binders)
        out = ONE
        used: set[Var] = set()
        for variables, factors in groups:
            used |= variables
            if not variables:
                out = self.mul(out, self._from_exponents(dict(factors)))
                continue
            product = tuple(sorted(factors, key=lambda x: (atom_text(x[0]), x[1])))
            out = self.mul(
                out, self._atom(self._named_sum([(v, extents[v]) for v, _ in binders if v in variables], product))
            )
        for v, n in binders:
            if v not in used and not at_least(n, 0):
                out = self.mul(out, self._atom(self._named_sum([(v, n)], ())))
            elif v not in used:
                self.lemmas.add("const")
                out = self.mul(out, self.index(n))
        return out

    def _named_sum(self, binders: list[tuple[Var, Index]], mono: Mono) -> Sum:
        """Rename binders to `#h, #h+1, ...` in the order that gives the least text."""
        height = _mono_height(mono)
        names = [_bound_var(height + n) for n in range(len(binders))]
        best: Sum | None = None
        orders = (
            permutations(binders)
            if len(binders) <= 4
            else [tuple(sorted(binders, key=lambda b: self._profile(b, mono)))]
        )
        for order in orders:
            rename: dict[Size | Var, Index] = {v: of_var(w) for (v, _), w in zip(order, names, strict=True)}
            candidate = Sum(
                tuple((w, n.substitute(rename)) for (_, n), w in zip(order, names, strict=True)),
                self._substitute_mono(mono, rename),
            )
            if best is None or atom_text(candidate) < atom_text(best):
                best = candidate
        assert best is not None
        return best

    def _profile(self, binder: tuple[Var, Index], mono: Mono) -> str:
        v, n = binder
        anonymous: dict[Size | Var, Index] = {v: of_var(Var("#x"))}
        return (
            f"{n} {sorted(atom_text(a) for a, _ in self._substitute_mono(mono, anonymous) if v in mono_symbols(mono))}"
        )

    # -- substitution --------------------------------------------------------------------------------------------

    def _substitute_mono(self, m: Mono, binding: Mapping[Size | Var, Index]) -> Mono:
        poly = self.substitute(make_poly({m: 1}), binding)
        lone = poly.single
        if lone is None or lone[1] != 1:
            # A substituted index became a sum (an Integer atom): keep it as a composite base of exponent one.
            return ((Base(poly), 1),)
        return lone[0]

    def substitute(self, p: Poly, binding: Mapping[Size | Var, Index]) -> Poly:
        if poly_symbols(p).isdisjoint(binding):
            return p
        parts: list[Poly] = []
        for m, c in p.terms:
            out = constant(c)
            for a, e in m:
                out = self.mul(out, self.power(self._substitute_atom(a, binding), e))
            parts.append(out)
        return self.add(*parts)

    def _substitute_atom(self, a: Atom, binding: Mapping[Size | Var, Index]) -> Poly:
        if atom_symbols(a).isdisjoint(binding):
            return self._atom(a)
        match a:
            case Integer(x):
                return self.index(Index({(x,): 1}).substitute(binding))
            case Element(name, indices):
                return self._atom(Element(name, tuple(i.substitute(binding) for i in indices)))
            case Base(p):
                return self.substitute(p, binding)
            case Exp(m):
                return self.exp(self.substitute(make_poly({m: 1}), binding))
            case Opaque(f, args):
                return self.apply(f, [self.substitute(x, binding) for x in args])
            case Extreme(kind, args):
                return self.extreme(kind, [self.substitute(x, binding) for x in args])
            case Sum(binders, m):
                inside: dict[Size | Var, Index] = {
                    **{k: v for k, v in binding.items() if k not in {b for b, _ in binders}},
                    **{v: of_var(fresh_var("s")) for v, _ in binders},
                }
                renamed = [(_as_var(inside[v]), n.substitute(inside)) for v, n in binders]
                out = self.substitute(make_poly({m: 1}), inside)
                while renamed:
                    # Innermost first: a variable that no other extent mentions.
                    v, n = next(b for b in reversed(renamed) if not any(b[0] in m.symbols() for _, m in renamed))
                    renamed.remove((v, n))
                    out = self.fold("sum", v, n, out)
                return out
            case OtherFold(monoid, v, n, body):
                fresh = fresh_var("s")
                inside = {**{k: w for k, w in binding.items() if k != v}, v: of_var(fresh)}
                return self.fold(monoid, fresh, n.substitute(inside), self.substitute(body, inside))
            case Guarded(_, x, y):
                condition = t.substitute_condition(_guard_conditions[a], binding)
                return self.guarded(condition, self.substitute(x, binding), self.substitute(y, binding))
            case _:
                return self._atom(a)


def _fixes(g: Guarded, v: Var) -> bool:
    """Whether a guard says `v = p`, p being the same for all v."""
    c, gap = _guard_conditions[g], _guard_gaps.get(g)
    if isinstance(c, t.IndexCompare):
        return c.relation == "==" and (c.left - c.right).coefficient(v) in (1, -1)
    if gap is None or gap[0] != "==":
        return False
    here = [(m, c) for m, c in gap[1].terms if v in mono_symbols(m)]
    return len(here) == 1 and here[0][0] == ((Integer(v), 1),) and abs(here[0][1]) == 1


def _sorted_mono(exponents: Mapping[Atom, Number]) -> Mono:
    found = tuple((a, plain(e)) for a, e in exponents.items())
    return found if len(found) < 2 else tuple(sorted(found, key=lambda x: (atom_text(x[0]), x[1])))


def _lone(p: Poly) -> Atom | None:
    """The atom, when the form is exactly one."""
    lone = p.single
    return lone[0][0][0] if lone and lone[1] == 1 and len(lone[0]) == 1 and lone[0][0][1] == 1 else None


def _exponent(p: Poly) -> Poly | None:
    """x in `exp(x)`, when the form is an exponential."""
    lone = p.single
    if lone is None or lone[1] != 1 or not lone[0]:
        return None
    out: dict[Mono, Number] = {}
    for a, e in lone[0]:
        if not isinstance(a, Exp):
            return None
        out[a.mono] = e
    return make_poly(out)


@cache
def _skeleton(a: Atom) -> str:
    """What substitutions of indices leave as it is, roughly: two sums that differ in it are no parts of one."""
    match a:
        case Element(name, indices):
            return f"{name}{len(indices)}"
        case Exp(m):
            return f"exp({_mono_skeleton(m)})"
        case Sum(binders, m):
            return f"sum{len(binders)}({_mono_skeleton(m)})"
        case OtherFold(monoid, _, _, _):
            return monoid
        case Opaque(f, args):
            return f"{f}{len(args)}"
        case _:
            return type(a).__name__


def _mono_skeleton(m: Mono) -> str:
    return " ".join(sorted(f"{_skeleton(a)}^{e}" for a, e in m))


def _as_var(i: Index) -> Var:
    atom = i.atom
    assert isinstance(atom, Var)
    return atom


def _leading(p: Poly) -> tuple[Mono, Number]:
    """The greatest monomial: total degree, then text."""
    return max(p.terms, key=lambda x: (sum(e for _, e in x[0]), len(x[0]), mono_text(x[0])))


def tile_step(v: Var, outer: Index, inner: Index) -> tuple[Index, Index] | None:
    """(n, s) with outer = ceildiv(n, s) and inner = min(s, n - s * v)."""
    if v not in inner.symbols():
        return None
    for s in _step_candidates(outer, inner, v):
        for n in _length_candidates(outer, inner, v, s):
            if ceil_div(n, s) == outer and minimum(s, n - s * of_var(v)) == inner and v not in n.symbols():
                return n, s
    return None


def _step_candidates(outer: Index, inner: Index, v: Var) -> list[Index]:
    out: list[Index] = []
    for m, c in outer.terms:
        if c == 1 and len(m) == 1 and isinstance(m[0], Div) and m[0].denominator not in out:
            out.append(m[0].denominator)
    for branch in branches(inner):
        if v not in branch.symbols() and branch not in out:
            out.append(branch)
    return out


def _length_candidates(outer: Index, inner: Index, v: Var, s: Index) -> list[Index]:
    """What n may be, given the step: the other branches of the inner extent, shifted back by s * v."""
    rest = [b + s * of_var(v) for b in branches(inner) if b != s]
    rest = [b for b in rest if v not in b.symbols()]
    out = [minimum(*rest)] if rest else []
    for m, c in outer.terms:
        if c == 1 and len(m) == 1 and isinstance(m[0], Div):
            out.append(m[0].numerator - m[0].denominator + 1 + (outer - Index({m: 1})) * m[0].denominator)
    return out


@cache
def _definition(function: str) -> t.Term:
    from axon_mlir.semantics.meaning import parse_scalar

    text = FUNCTIONS[function].definition
    assert text is not None
    return parse_scalar(text, lambda name: t.Read(name, ()) if name in "xyz" else None)


def _is_whole_part(m: Mono, c: Number) -> bool:
    """Whether so many times a monomial are a whole number."""
    return c.denominator == 1 and all(_is_whole(a) and e > 0 and e.denominator == 1 for a, e in m)


def _is_whole(a: Atom) -> bool:
    return isinstance(a, Integer) or (isinstance(a, Opaque) and a.function in {*WHOLE, "round"})


def definition_of(function: str, args: tuple[t.Term, ...]) -> t.Term | None:
    """The function's definition over given arguments, or None when it has none."""
    if FUNCTIONS[function].definition is None:
        return None
    env = dict(zip("xyz", args, strict=False))
    return t.substitute(_definition(function), {}, lambda r: env[r.tensor] if r.tensor in env else r)


def condition_text(c: t.Condition, n: Normalizer) -> str:
    """A canonical text of a condition."""
    match c:
        case t.IndexCompare("==", a, b):
            return f"{min(str(b - a), str(a - b))} == 0"
        case t.IndexCompare(r, a, b):
            return f"{b - a} {'>' if r == '<' else '>='} 0"
        case t.RealCompare(r, a, b):
            gap = n.add(n.term(b), n.scale(n.term(a), -1))
            if r == "==":
                # Either side may be on the left.
                return f"{min(poly_text(gap), poly_text(n.scale(gap, -1)))} == 0"
            return f"{poly_text(gap)} {'>' if r == '<' else '>='} 0"
        case t.And(parts):
            return "(" + " and ".join(sorted(condition_text(p, n) for p in parts)) + ")" if parts else "true"
        case t.Or(parts):
            return "(" + " or ".join(sorted(condition_text(p, n) for p in parts)) + ")" if parts else "false"
        case t.Not(p):
            return f"not ({condition_text(p, n)})"


__all__ = ["LEMMAS", "MONOIDS", "Normalizer", "Poly", "definition_of", "poly_text"]
