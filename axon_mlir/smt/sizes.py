# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two programs over the same sizes: symbols are matched by the arguments' axes.

Where one program unifies two axes (or fixes one) and the other does not, the two are compared on the common domain,
and that is recorded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from axon_mlir.semantics.index import Index, Size, Var
from axon_mlir.semantics.index import size as size_index

Binding = Mapping[Size | Var, Index]
Shapes = Sequence[Sequence[Index]]

_PRIME = "'"


@dataclass(frozen=True)
class Unified:
    """Substitutions of the symbols of each program into common ones; `narrowed` says what restricts the first."""

    before: Binding
    after: Binding
    narrowed: tuple[str, ...]

    def names(self) -> dict[str, str]:
        """Symbol of the second program -> the common term."""
        return {str(k): str(v) for k, v in self.after.items()}


class NoCommonSizes(Exception):
    """The argument shapes exclude each other, or this version cannot solve for their common sizes."""

    def __init__(self, message: str, *, differ: bool):
        super().__init__(message)
        self.differ = differ


def unify(before: Shapes, after: Shapes, free_after: frozenset[str]) -> Unified:
    """Match the shapes of the arguments axis by axis.

    `free_after` are the size symbols of the second program that occur in no argument (tile parameters): they keep
    their names, unless the first program's arguments use such a name for something else.
    """
    mine = {s.name for shape in before for d in shape for s in d.symbols() if isinstance(s, Size)}
    bound: dict[Size | Var, Index] = {}
    foreign = {s for shape in after for d in shape for s in d.symbols() if isinstance(s, Size)}
    renamed: dict[Size | Var, Index] = {s: size_index(s.name + _PRIME) for s in foreign}
    renamed |= {Size(n): size_index(n + _PRIME) for n in free_after if n in mine}
    narrowed: list[str] = []

    def resolve(term: Index) -> Index:
        while True:
            new = term.substitute(bound)
            if new == term:
                return term
            term = new

    pending = [
        (d, e.substitute(renamed)) for x, y in zip(before, after, strict=True) for d, e in zip(x, y, strict=True)
    ]
    # Plain symbols first: they determine the sizes inside products.
    pending.sort(key=lambda p: p[0].atom is None or p[1].atom is None)
    for first, second in pending:
        a, b = resolve(first), resolve(second)
        if a == b:
            continue
        solved = _solve(a, b)
        if solved is None and _by_name(b) == a:
            # Products of sizes of the same names: those are the same sizes.
            bound |= {s: size_index(_plain(s.name)) for s in b.symbols() if isinstance(s, Size) and _is_primed(s)}
            continue
        if solved is None:
            differ = a.constant is not None and b.constant is not None
            raise NoCommonSizes(f"{a} and {_plain(str(b))} are sizes of the same axis", differ=differ)
        symbol, term = solved
        if not symbol.name.endswith(_PRIME):
            narrowed.append(f"{symbol.name} = {_plain(str(term))}")
        bound[symbol] = term
    # Symbols of the second program that stay take their own names back where those are free.
    taken = {s.name for d in mine for s in resolve(size_index(d)).symbols() if isinstance(s, Size)}
    back: dict[Size | Var, Index] = {}
    for term in renamed.values():
        for s in sorted(resolve(term).symbols(), key=str):
            if isinstance(s, Size) and s.name.endswith(_PRIME) and s.name not in taken:
                plain = s.name.removesuffix(_PRIME)
                back[s] = size_index(plain if plain not in taken else s.name + "p")
                taken.add(plain)
    left: dict[Size | Var, Index] = {Size(n): resolve(size_index(n)).substitute(back) for n in sorted(mine)}
    right: dict[Size | Var, Index] = {s: resolve(r).substitute(back) for s, r in renamed.items()}
    return Unified(
        {k: v for k, v in left.items() if v != size_index(str(k))},
        dict(sorted(right.items(), key=lambda kv: str(kv[0]))),
        tuple(narrowed),
    )


def _is_primed(s: Size) -> bool:
    return s.name.endswith(_PRIME)


def _by_name(b: Index) -> Index:
    """The term with the sizes of the second program as those of the same name of the first."""
    return b.substitute({s: size_index(_plain(s.name)) for s in b.symbols() if isinstance(s, Size) and _is_primed(s)})


def _plain(text: str) -> str:
    return text.replace(_PRIME, "")


def _solve(a: Index, b: Index) -> tuple[Size, Index] | None:
    """Bind one symbol so that `a == b`; a symbol of the second program if there is one."""
    for left, right in ((b, a), (a, b)):
        atom = left.atom
        if isinstance(atom, Size) and atom not in right.symbols() and (left is b or not _has_prime(right)):
            return atom, right
    for left, right in ((a, b), (b, a)):
        atom = left.atom
        if isinstance(atom, Size) and atom not in right.symbols():
            return atom, right
    # `k * s = term` with term divisible by the monomial of k.
    for left, right in ((b, a), (a, b)):
        for s in sorted(left.symbols(), key=str):
            if not isinstance(s, Size) or s in right.symbols():
                continue
            factor = left.coefficient(s)
            if factor is None or left.substitute({s: Index({})}) != 0 or len(factor.terms) != 1:
                continue
            quotient = right // factor
            if quotient * factor == right:
                return s, quotient
    return None


def _has_prime(right: Index) -> bool:
    return any(str(s).endswith(_PRIME) for s in right.symbols())
