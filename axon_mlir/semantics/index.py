# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Integer index terms: interned polynomials over sizes, variables, floor divisions and minima (a maximum is a negated
minimum).

An `Index` is a sum of monomials with integer coefficients; a monomial is a product of atoms. Because the form is
canonical, positional arithmetic such as `start + (i - start)` cancels by construction, and structural equality is
equality of polynomials. `a % b` is written `a - b * (a // b)`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import count
from typing import Any, ClassVar, TypeAlias

import numpy as np

from axon_mlir.semantics.interned import Interned

IndexLike: TypeAlias = "Index | int"


@dataclass(frozen=True, eq=False, slots=True)
class Size(Interned):
    """A symbolic size: an integer >= 1."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, eq=False, slots=True)
class Var(Interned):
    """An index variable; `uid` makes bound variables globally unique, 0 is for free variables of a meaning."""

    name: str
    uid: int = 0

    def __str__(self) -> str:
        return self.name if self.uid == 0 else f"{self.name}.{self.uid}"


@dataclass(frozen=True, eq=False, slots=True)
class Div(Interned):
    """Floor division."""

    numerator: Index
    denominator: Index

    def __str__(self) -> str:
        return f"(({self.numerator}) // ({self.denominator}))"


@dataclass(frozen=True, eq=False, slots=True)
class Min(Interned):
    """`min(0, *args)`: a minimum up to translation, so that `min(a, b) - a` and `min(0, b - a)` are one term."""

    args: tuple[Index, ...]

    def __str__(self) -> str:
        return f"min(0, {', '.join(map(str, self.args))})"


Atom = Size | Var | Div | Min
Monomial = tuple[Atom, ...]
NO_SYMBOLS: frozenset[Size | Var] = frozenset()

_fresh = count(1)


def fresh_var(name: str) -> Var:
    """A variable that occurs nowhere else."""
    return Var(name, next(_fresh))


def _atom_key(atom: Atom) -> tuple[int, str, int]:
    match atom:
        case Size(name):
            return (0, name, 0)
        case Var(name, uid):
            return (1, name, uid)
        case Div():
            return (2, str(atom), 0)
        case Min():
            return (3, str(atom), 0)


class _Keys(dict[Monomial, tuple[tuple[int, str, int], ...]]):
    """By what the monomials of an index are sorted."""

    def __missing__(self, m: Monomial) -> tuple[tuple[int, str, int], ...]:
        found = self[m] = tuple(map(_atom_key, m))
        return found


_keys = _Keys()


def _monomial_key(term: tuple[Monomial, int]) -> tuple[tuple[int, str, int], ...]:
    return _keys[term[0]]


class Index:
    """An integer polynomial. Build with `const`, `size`, `of_var`, operators, `minimum`, `maximum`."""

    __slots__ = ("_symbols", "_text", "terms")
    terms: tuple[tuple[Monomial, int], ...]
    _text: str | None
    _symbols: frozenset[Size | Var] | None
    _interned: ClassVar[dict[tuple[tuple[Monomial, int], ...], Index]] = {}

    def __new__(cls, terms: Mapping[Monomial, int]) -> Index:
        items = tuple(term for term in terms.items() if term[1])
        if len(items) > 1:
            items = tuple(sorted(items, key=_monomial_key))
        found = cls._interned.get(items)
        if found is None:
            found = object.__new__(cls)
            found.terms = items
            found._text = None
            found._symbols = None
            cls._interned[items] = found
        return found

    def __reduce__(self):
        return (Index, (dict(self.terms),))

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, int) and self is const(other))

    def __add__(self, other: IndexLike) -> Index:
        more = index(other).terms
        if not more:
            return self
        out = dict(self.terms)
        for m, c in more:
            out[m] = out.get(m, 0) + c
        return Index(out)

    __radd__ = __add__

    def __neg__(self) -> Index:
        return Index({m: -c for m, c in self.terms})

    def __sub__(self, other: IndexLike) -> Index:
        less = index(other).terms
        if not less:
            return self
        out = dict(self.terms)
        for m, c in less:
            out[m] = out.get(m, 0) - c
        return Index(out)

    def __rsub__(self, other: IndexLike) -> Index:
        return index(other) - self

    def __mul__(self, other: IndexLike) -> Index:
        factor = index(other)
        if factor == ONE:
            return self
        if self == ONE:
            return factor
        out: dict[Monomial, int] = {}
        for m1, c1 in self.terms:
            for m2, c2 in factor.terms:
                m = product_of(m1, m2)
                out[m] = out.get(m, 0) + c1 * c2
        return Index(out)

    __rmul__ = __mul__

    def __floordiv__(self, other: IndexLike) -> Index:
        return floor_div(self, index(other))

    def __rfloordiv__(self, other: IndexLike) -> Index:
        return floor_div(index(other), self)

    def __mod__(self, other: IndexLike) -> Index:
        d = index(other)
        return self - d * floor_div(self, d)

    def __repr__(self) -> str:
        return f"Index({self})"

    def __str__(self) -> str:
        if self._text is None:
            self._text = _text(self)
        return self._text

    @property
    def constant(self) -> int | None:
        """The value, when the term is a number."""
        if not self.terms:
            return 0
        if len(self.terms) == 1 and self.terms[0][0] == ():
            return self.terms[0][1]
        return None

    @property
    def atom(self) -> Atom | None:
        """The atom, when the term is exactly one."""
        if len(self.terms) == 1 and self.terms[0][1] == 1 and len(self.terms[0][0]) == 1:
            return self.terms[0][0][0]
        return None

    def symbols(self) -> frozenset[Size | Var]:
        """All sizes and variables that occur, however deep."""
        if self._symbols is None:
            out: set[Size | Var] = set()
            for m, _ in self.terms:
                for a in m:
                    match a:
                        case Size() | Var():
                            out.add(a)
                        case Div(n, d):
                            out |= n.symbols() | d.symbols()
                        case Min(args):
                            for x in args:
                                out |= x.symbols()
            self._symbols = frozenset(out)
        return self._symbols

    def depends_on(self, variables: frozenset[Size | Var] | set[Var]) -> bool:
        return not self.symbols().isdisjoint(variables)

    def coefficient(self, v: Size | Var) -> Index | None:
        """c in `c * v + rest` with `v` neither in c nor in rest; None when `v` occurs otherwise."""
        out: dict[Monomial, int] = {}
        for m, c in self.terms:
            n = m.count(v)
            rest = tuple(a for a in m if a != v)
            if n > 1 or any(_mentions(a, v) for a in rest):
                return None
            if n:
                out[rest] = out.get(rest, 0) + c
        return Index(out)

    def substitute(self, binding: Mapping[Size | Var, Index]) -> Index:
        if self.symbols().isdisjoint(binding):
            return self
        return rebuilt(self, binding)


def _mentions(a: Atom, v: Size | Var) -> bool:
    match a:
        case Div(n, d):
            return v in n.symbols() or v in d.symbols()
        case Min(args):
            return any(v in x.symbols() for x in args)
        case _:
            return False


def rebuilt(term: Index, known: Mapping[Any, Index]) -> Index:
    """The index with other terms in place of atoms, put together anew where it mentions one."""
    out: dict[Monomial, int] = {}
    for m, c in term.terms:
        if not any(_is_in(a, known) for a in m):
            out[m] = out.get(m, 0) + c
            continue
        product = const(c)
        for a in m:
            product = product * _atom_rebuilt(a, known)
        for n, d in product.terms:
            out[n] = out.get(n, 0) + d
    return Index(out)


def _is_in(a: Atom, known: Mapping[Any, Index]) -> bool:
    inside: tuple[Index, ...] = ()
    match a:
        case Div(n, d):
            inside = (n, d)
        case Min(args):
            inside = tuple(args)
        case _:
            pass
    return a in known or any(_is_in(b, known) for i in inside for m, _ in i.terms for b in m)


def _atom_rebuilt(a: Atom, known: Mapping[Any, Index]) -> Index:
    new = known.get(a)
    if new is not None:
        return new
    match a:
        case Div(n, d):
            return floor_div(rebuilt(n, known), rebuilt(d, known))
        case Min(args):
            return minimum(0, *(rebuilt(x, known) for x in args))
        case _:
            return Index({(a,): 1})


def _text(term: Index) -> str:
    if not term.terms:
        return "0"
    found = extreme(term)
    if found is not None:
        return f"{found[0]}({', '.join(map(str, found[1]))})"
    out: list[str] = []
    # Positive terms first, so that `K - k` does not print as `-k + K`.
    for m, c in sorted(term.terms, key=lambda t: t[1] < 0):
        factors = [str(a) for a in m]
        if abs(c) != 1 or not factors:
            factors.insert(0, str(abs(c)))
        piece = " * ".join(factors)
        out.append((" - " if c < 0 else " + ") + piece if out else ("-" if c < 0 else "") + piece)
    return "".join(out)


@cache
def const(value: int) -> Index:
    return Index({(): value})


ONE = const(1)


def index(value: IndexLike) -> Index:
    return value if isinstance(value, Index) else const(int(value))


def size(name: str) -> Index:
    return Index({(Size(name),): 1})


def of_var(v: Var) -> Index:
    return Index({(v,): 1})


def product_of(a: Monomial, b: Monomial) -> Monomial:
    """The product of two monomials."""
    return tuple(sorted(a + b, key=_atom_key)) if a and b else a or b


def cofactor(whole: Monomial, part: Monomial) -> Monomial | None:
    """What a product is to be multiplied with to be another; None where it does not divide that."""
    rest = list(whole)
    for a in part:
        if a not in rest:
            return None
        rest.remove(a)
    return tuple(rest)


def _divide_exactly(n: Index, d: Index) -> tuple[Index, Index]:
    """Split `n = d * q + r` with every monomial that `d` divides in q; where d is a sum, with every multiple of it."""
    if len(d.terms) != 1:
        return _divide_by_sum(n, d)
    dm, dc = d.terms[0]
    q: dict[Monomial, int] = {}
    r: dict[Monomial, int] = {}
    for m, c in n.terms:
        rest = cofactor(m, dm)
        if rest is not None:
            quotient, remainder = divmod(c, dc)
            if not dm and not m:
                if quotient:
                    q[m] = q.get(m, 0) + quotient
                if remainder:
                    r[m] = remainder
                continue
            if remainder == 0:
                q[rest] = q.get(rest, 0) + quotient
                continue
        r[m] = r.get(m, 0) + c
    return Index(q), Index(r)


def _divide_by_sum(n: Index, d: Index) -> tuple[Index, Index]:
    parts: dict[Monomial, dict[Monomial, int]] = {}
    for m, c in n.terms:
        sizes = tuple(a for a in m if isinstance(a, Size))
        parts.setdefault(tuple(a for a in m if not isinstance(a, Size)), {})[sizes] = c
    q = r = const(0)
    for others, terms in parts.items():
        part, factor = Index(terms), Index({others: 1})
        multiple = _exact_quotient(part, d)
        if multiple is None:
            r = r + part * factor
        else:
            q = q + multiple * factor
    return q, r


def _exact_quotient(n: Index, d: Index) -> Index | None:
    """q with `n = d * q`, by long division; None where there is none with whole coefficients."""
    (lead, c), q = max(d.terms, key=_order), const(0)
    while n.terms:
        monomial, k = max(n.terms, key=_order)
        rest = cofactor(monomial, lead)
        if rest is None or k % c:
            return None
        step = Index({rest: k // c})
        q, n = q + step, n - step * d
    return q


def _order(term: tuple[Monomial, int]) -> tuple[int, tuple[tuple[int, str, int], ...]]:
    """By degree, then by atoms: an order that products keep."""
    return len(term[0]), _keys[term[0]]


def floor_div(n: Index, d: Index) -> Index:
    """`n // d`, d >= 1. Multiples of d leave the division."""
    if d == 1:
        return n
    if n.constant is not None and d.constant is not None:
        return const(n.constant // d.constant)
    quotient, rest = _divide_exactly(n, d)
    if rest.constant == 0:
        return quotient
    if isinstance(rest.atom, Div):
        # (n // a) // b = n // (a * b)
        return quotient + floor_div(rest.atom.numerator, rest.atom.denominator * d)
    if rest.constant is not None and d.constant is not None:
        return quotient + const(rest.constant // d.constant)
    return quotient + Index({(Div(rest, d),): 1})


def ceil_div(n: IndexLike, d: IndexLike) -> Index:
    d = index(d)
    return floor_div(index(n) + d - 1, d)


def nonnegative(term: Index) -> bool:
    """Whether the term is >= 0 by signs alone, sizes being >= 1."""
    lowest = 0
    for m, c in term.terms:
        if any(not isinstance(a, Size) for a in m) or (c < 0 and m):
            return False
        lowest += c
    return lowest >= 0


def extreme(i: Index) -> tuple[str, list[Index]] | None:
    """`min` or `max` and its terms: `r + min(0, d)` is min(r, r + d), `r - min(0, d)` is max(r, r - d)."""
    for sign, name in ((1, "min"), (-1, "max")):
        minima = [m[0] for m, c in i.terms if c == sign and len(m) == 1 and isinstance(m[0], Min)]
        if len(minima) == 1:
            rest = i - Index({(minima[0],): sign})
            return name, [rest, *(rest + sign * d for d in minima[0].args)]
    return None


def branches(i: Index) -> list[Index]:
    """The terms of a minimum; of anything else, the term itself."""
    found = extreme(i)
    return found[1] if found is not None and found[0] == "min" else [i]


def minimum(*args: IndexLike) -> Index:
    """The least of the terms, in canonical form: a pivot plus `Min` of the differences."""
    flat = list(dict.fromkeys(index(a) for a in args))
    kept = [a for a in flat if not any(b is not a and nonnegative(a - b) and not (nonnegative(b - a)) for b in flat)]
    if len(kept) == 1:
        return kept[0]
    spread = [b for a in kept for b in branches(a)]
    if len(spread) > len(kept):
        return minimum(*spread)
    best: tuple[str, Index, tuple[Index, ...]] | None = None
    for pivot in kept:
        differences = tuple(sorted((a - pivot for a in kept if a is not pivot), key=str))
        label = ", ".join(map(str, differences))
        if best is None or (len(label), label) < (len(best[0]), best[0]):
            best = (label, pivot, differences)
    assert best is not None
    return best[1] + Index({(Min(best[2]),): 1})


def maximum(*args: IndexLike) -> Index:
    return -minimum(*(-index(a) for a in args))


def evaluate(term: Index, env: Mapping[Size | Var, int | np.ndarray]) -> int | np.ndarray:
    """The value of a term; array values broadcast against each other."""
    total: int | np.ndarray = 0
    for m, c in term.terms:
        product: int | np.ndarray = c
        for a in m:
            match a:
                case Size() | Var():
                    product = product * env[a]
                case Div(n, d):
                    product = product * (evaluate(n, env) // evaluate(d, env))
                case Min(args):
                    best: int | np.ndarray = 0
                    for x in args:
                        v = evaluate(x, env)
                        best = min(best, v) if isinstance(best, int) and isinstance(v, int) else np.minimum(best, v)
                    product = product * best
        total = total + product
    return total


_TOKEN = re.compile(r"\s*(?:(\d+)|([A-Za-z_][\w.]*)|(//|[-+*%(),]))")


def parse(text: str, names: Callable[[str], Index] = size) -> Index:
    """Read the text form back: `min(128, M - m) // 2 * K`. Names become what `names` says (sizes by default).

    Raises ValueError on malformed text.
    """
    return _of_sizes(text) if names is size else _parsed(text, names)


@lru_cache(maxsize=4096)
def _of_sizes(text: str) -> Index:
    # Types of tiles are asked for their bounds all the time.
    return _parsed(text, size)


def _parsed(text: str, names: Callable[[str], Index]) -> Index:
    tokens: list[str] = []
    at = 0
    text = text.rstrip()
    while at < len(text):
        found = _TOKEN.match(text, at)
        if not found:
            raise ValueError(f"'{text}' is not an index expression (at column {at + 1})")
        tokens.append(found.group().strip())
        at = found.end()
    tokens.append("")
    position = 0

    def peek() -> str:
        return tokens[position]

    def take(expected: str | None = None) -> str:
        nonlocal position
        token = tokens[position]
        if expected is not None and token != expected:
            raise ValueError(
                f"'{text}' is not an index expression: expected '{expected}', found '{token or 'the end'}'"
            )
        position += 1
        return token

    def primary() -> Index:
        token = take()
        if token.isdigit():
            return const(int(token))
        if token == "-":
            return -primary()
        if token == "(":
            inner = sum_()
            take(")")
            return inner
        if token in ("min", "max", "ceildiv") and peek() == "(":
            take("(")
            args = [sum_()]
            while peek() == ",":
                take(",")
                args.append(sum_())
            take(")")
            if token == "ceildiv":
                if len(args) != 2:
                    raise ValueError(f"'{text}': ceildiv takes two arguments")
                if args[1].constant is not None and args[1].constant < 1:
                    raise ValueError(f"'{text}' divides by {args[1]}; a divisor is positive")
                return ceil_div(args[0], args[1])
            return minimum(*args) if token == "min" else maximum(*args)
        if token and (token[0].isalpha() or token[0] == "_"):
            return names(token)
        raise ValueError(f"'{text}' is not an index expression: unexpected '{token or 'end'}'")

    def product() -> Index:
        left = primary()
        while peek() in ("*", "//", "%"):
            op = take()
            right = primary()
            if op != "*" and right.constant is not None and right.constant < 1:
                raise ValueError(f"'{text}' divides by {right}; a divisor is positive")
            left = left * right if op == "*" else left // right if op == "//" else left % right
        return left

    def sum_() -> Index:
        left = product()
        while peek() in ("+", "-"):
            op = take()
            right = product()
            left = left + right if op == "+" else left - right
        return left

    result = sum_()
    take("")
    return result
