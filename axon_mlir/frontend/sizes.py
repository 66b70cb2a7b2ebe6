# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Symbolic sizes of a trace: what is known equal, what had to become a number, and what can be decided for all sizes.

Every axis of an argument that is given as a number other than 1 gets a fresh symbol. The program's operations unify
symbols (a substitution, as in unification); forcing a size to a number *specialises* it, which is recorded with its
line. A size that has to be at least a number, since a position or a slice is inside for the given numbers, stays
generic from there on: it becomes a number and a symbol (`x0 = 4 + x0_`), which is recorded too.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, replace

from axon_mlir.errors import AxonError
from axon_mlir.frontend.places import Place, here
from axon_mlir.semantics import index as ix
from axon_mlir.semantics.bounds import at_least
from axon_mlir.semantics.index import Div, Index, Var
from axon_mlir.semantics.index import Size as Symbol


@dataclass(frozen=True)
class Specialisation:
    """A symbol that the program forced to a number, or to be at least one, where, and why if that is not plain."""

    symbol: str
    value: int
    place: Place
    why: str | None = None


@dataclass(frozen=True)
class Steps:
    """How often a loop runs that is traced as one step, and where it stands."""

    count: Index
    place: Place


class StepByStep(AxonError):
    """A loop whose steps differ in more than their position: it is traced step by step, if that is possible."""

    def __init__(self, loop: Place, reason: str):
        super().__init__(f"a loop over a size cannot be taken as a whole: {reason}", where=str(loop))
        self.loop = loop
        self.reason = reason


class SizeTable:
    """All sizes of one trace."""

    def __init__(self) -> None:
        self._bound: dict[Symbol | Var, Index] = {}
        self._rank: dict[Symbol, tuple[int, int]] = {}
        self._values: dict[Symbol | Var, int] = {}
        self._least: dict[Symbol, Specialisation] = {}
        """Representative -> the size that it is the rest of, with its least number."""
        self.fixed: list[Specialisation] = []
        self.positions: dict[Var, Steps] = {}
        """The position of each loop whose one step is being traced."""

    # -- symbols ------------------------------------------------------------------------------------------------------

    def named(self, name: str) -> Index:
        """The size that the user called `name`."""
        symbol = Symbol(name)
        self._rank.setdefault(symbol, (0, len(self._rank)))
        return ix.size(name)

    def fresh(self, hint: str, value: int) -> Index:
        """A new symbol for an axis given as the number `value`."""
        name = hint
        while Symbol(name) in self._rank:
            name += "_"
        symbol = Symbol(name)
        self._rank[symbol] = (1, len(self._rank))
        self._values[symbol] = value
        return ix.size(name)

    def resolve(self, term: Index) -> Index:
        """The term in terms of representatives."""
        while True:
            new = term.substitute(self._bound)
            if new is term or new == term:
                return new
            term = new

    def value_of(self, term: Index) -> int | None:
        """The number a term stands for under the numbers that were given, or None."""
        term = self.resolve(term)
        if any(s not in self._values for s in term.symbols()):
            return None
        return int(ix.evaluate(term, self._values))

    def values(self) -> Mapping[str, int]:
        """The numbers given, by representative symbol."""
        known: dict[str, int] = {}
        for symbol in self._rank:
            value = self._values.get(symbol)
            if symbol not in self._bound and value is not None:
                known[symbol.name] = value
        return known

    @property
    def least(self) -> list[Specialisation]:
        """Sizes that have to be at least a number other than 1, in order of appearance."""
        return [known for symbol, known in self._least.items() if symbol not in self._bound]

    def generic(self) -> list[str]:
        """The symbols that stayed symbolic and are their own representatives, in order of appearance."""
        return [s.name for s in self._rank if s not in self._bound]

    # -- equality -----------------------------------------------------------------------------------------------------

    def unify(self, a: Index, b: Index, what: str) -> None:
        """Make two sizes equal, or raise an error that names the program's line and both sizes."""
        whole = self.resolve(a), self.resolve(b)
        va, vb = map(self.value_of, whole)
        a, b = _without_common_factors(*whole)
        if a == b:
            return
        if va is not None and vb is not None and va != vb:
            raise AxonError(
                f"{what}: sizes differ, {self._show(whole[0])} and {self._show(whole[1])}", where=str(here())
            )
        for symbol, term in self._solutions(a, b):
            self._bind(symbol, term)
            return
        for pairs in (self._renaming(a, b, n) for n in (1, 2, 3)):
            if pairs is not None:
                for pair in pairs:
                    self._bind(*pair)
                return
        if va is not None and va == vb:
            if self._as_multiple(a, b):
                return
            # Equal for the given numbers only.
            self.force(a, what)
            self.force(b, what)
            return
        raise AxonError(
            f"{what}: cannot tell that {self._show(whole[0])} equals {self._show(whole[1])}",
            where=str(here()),
            accepted="equal sizes: axes that share a name in --arg are equal, an axis G*R is a multiple of G",
        )

    def _solutions(self, a: Index, b: Index) -> list[tuple[Symbol, Index]]:
        """Ways to make a == b by binding one symbol, best first: the youngest, unnamed symbols go."""
        candidates: list[tuple[tuple[int, int], Symbol, Index]] = []
        for left, right in ((a, b), (b, a)):
            atom = left.atom
            if isinstance(atom, Symbol) and atom not in right.symbols() and self._may_be(right):
                candidates.append((self._rank[atom], atom, right))
        if not candidates:
            difference = a - b
            for symbol in difference.symbols():
                factor = difference.coefficient(symbol) if isinstance(symbol, Symbol) else None
                if isinstance(symbol, Symbol) and factor is not None and factor.constant in (1, -1):
                    rest = difference - factor * ix.size(symbol.name)
                    solved = rest * -1 if factor.constant == 1 else rest
                    if self.at_least(solved, 1) and self._may_be(solved):
                        candidates.append((self._rank[symbol], symbol, solved))
        return [(s, t) for _, s, t in sorted(candidates, key=lambda c: c[0], reverse=True)]

    def _renaming(self, a: Index, b: Index, count: int) -> list[tuple[Symbol, Index]] | None:
        """Pairs of a symbol of one term and one of the other, given as the same number, whose equality makes the terms
        equal.

        That is enough and may be more than needed (`min(3, x1) = min(3, y0)`, `x1 + a1 = w0 + b0`), but keeps the
        sizes generic.
        """
        pairs = [
            (s, t)
            for s in a.symbols()
            for t in b.symbols()
            if s != t and isinstance(s, Symbol) and isinstance(t, Symbol) and s in self._values
            if self._values[s] == self._values.get(t)
        ]
        for s, t in sorted(pairs, key=str):
            young, old = (s, t) if self._rank[s] > self._rank[t] else (t, s)
            pair = (young, ix.size(old.name))
            left, right = (x.substitute({young: pair[1]}) for x in (a, b))
            if left == right:
                return [pair]
            rest = self._renaming(left, right, count - 1) if count > 1 else None
            if rest is not None:
                return [pair, *rest]
        return None

    def _as_multiple(self, a: Index, b: Index) -> bool:
        """Make terms equal that are so for multiples of a size, such as `N = d * (N // d)` and `N - N // 2 = N // 2`.

        Of the sizes given as numbers; how a size that the user has named is made up is for the user to say.
        """
        for atom in {atom for monomial, _ in (a - b).terms for atom in monomial if isinstance(atom, Div)}:
            symbols, divisor = atom.numerator.symbols(), atom.denominator
            symbol = next(iter(symbols)) if len(symbols) == 1 else None
            value, by = self._values.get(symbol) if isinstance(symbol, Symbol) else None, self.value_of(divisor)
            if not isinstance(symbol, Symbol) or value is None or not by or self._rank[symbol][0] == 0:
                continue
            more = (atom.numerator - ix.size(symbol.name)).constant
            if more is None or (value + more) % by:
                continue
            quotient, number = ix.of_var(ix.fresh_var("quotient")), (value + more) // by
            if symbol in divisor.symbols() or (a - b).substitute({symbol: divisor * quotient - more}) != 0:
                continue
            whole = self.fresh(symbol.name, number) if number != 1 else ix.const(1)
            self._bind(symbol, divisor * whole - more)
            return True
        return False

    @staticmethod
    def _may_be(term: Index) -> bool:
        # A symbol never turns into the literal 1: that would be another program (it broadcasts).
        return term.constant is None or term.constant > 1

    def _bind(self, symbol: Symbol, term: Index) -> None:
        value = self._values.get(symbol)
        atom = term.atom
        if value is not None and isinstance(atom, Symbol):
            self._values.setdefault(atom, value)
        if term.constant is not None:
            self.fixed.append(self._fixed(symbol, term.constant))
        self._bound[symbol] = term

    def _fixed(self, symbol: Symbol, value: int) -> Specialisation:
        """What is recorded of a symbol that becomes a number: the size that it is the rest of, if it is."""
        known = self._least.get(symbol)
        return Specialisation(
            *((symbol.name, value) if known is None else (known.symbol, known.value - 1 + value)), here()
        )

    def _show(self, term: Index) -> str:
        value = self.value_of(term)
        return str(term) if value is None or term.constant is not None else f"{term} ({value})"

    def show(self, term: Index) -> str:
        """A size as an error message shows it."""
        return self._show(self.resolve(term))

    # -- decisions ----------------------------------------------------------------------------------------------------

    def at_least(self, term: Index, bound: int) -> bool:
        """Whether `term >= bound` holds for all sizes >= 1 and all steps of loops (False: not known)."""
        return all(at_least(end, bound) for end in self.ends(term))

    def ends(self, term: Index) -> list[Index]:
        """A term at the first and the last step of each loop that it depends on: in between it is in between."""
        ends = [self.resolve(term)]
        for v, steps in self.positions.items():
            if v in term.symbols() and term.coefficient(v) is not None:
                last = self.resolve(steps.count) - 1
                ends = [self.resolve(e.substitute({v: at})) for e in ends for at in (ix.const(0), last)]
        return ends

    def moving(self, term: Index) -> Var | None:
        """The position of a loop that a term depends on."""
        return next((v for v in self.positions if v in term.symbols()), None)

    def reach(self, term: Index, bound: int) -> bool:
        """Whether `term >= bound` holds for all sizes, if need be from a least number of one of them on.

        A number is given up as the least one only where the term reaches the bound for the numbers that were given.
        """
        term = self.resolve(term)
        if self.at_least(term, bound):
            return True
        given = self.value_of(term)
        if given is None or given < bound:
            return False
        symbols = sorted((s for s in term.symbols() if isinstance(s, Symbol)), key=self._rank.__getitem__)
        for symbol in symbols:
            if self._raised(term, symbol, bound):
                return True
        sums = all(not m or (c > 0 and len(m) == 1 and m[0] in symbols) for m, c in term.terms)
        if len(symbols) < 2 or not sums:
            return False
        # A sum of sizes: all but the last have at least what is given.
        for symbol in symbols[:-1]:
            if self._values[symbol] > 1:
                self._raise(symbol, self._values[symbol] - 1)
        return self._raised(self.resolve(term), symbols[-1], bound) or self.at_least(term, bound)

    def _raised(self, term: Index, symbol: Symbol, bound: int) -> bool:
        """Whether `term >= bound` holds with a least number of one size, which it then has."""

        def enough(more: int) -> bool:
            return self.at_least(term.substitute({symbol: ix.size(symbol.name) + more}), bound)

        most = self._values[symbol] - 1
        if most < 1 or not enough(most):
            return False
        self._raise(symbol, bisect_left(range(1, most), True, key=enough) + 1)
        return True

    def _raise(self, symbol: Symbol, more: int) -> None:
        """Let a size be a number and a symbol."""
        rest = self.fresh(symbol.name, self._values[symbol] - more)
        known = self._least.pop(symbol, Specialisation(symbol.name, 1, here()))
        self._bind(symbol, rest + more)
        (new,) = rest.symbols()
        assert isinstance(new, Symbol)
        self._least[new] = Specialisation(known.symbol, known.value + more, here())

    def remainder(self, term: Index, by: int, why: str) -> None:
        """Make `term % by` a number: sizes of it become multiples and their own remainder (`x0 = 2 * x0_ + 1`)."""
        divided: set[Symbol] = set()
        while True:
            term = self.resolve(term)
            if all(not monomial or factor % by == 0 for monomial, factor in term.terms):
                return
            symbols = [s for s in term.symbols() if isinstance(s, Symbol) and self._values.get(s, 0) >= by]
            # A size is divided once.
            symbol = max((s for s in symbols if s not in divided), key=self._rank.__getitem__, default=None)
            if symbol is None:
                self.force(term, why)
                return
            value = self._values[symbol]
            quotient = self.fresh(symbol.name, value // by)
            divided |= {s for s in quotient.symbols() if isinstance(s, Symbol)}
            self._bind(symbol, by * quotient + value % by)

    def force(self, term: Index, why: str, because: str | None = None) -> int:
        """The number of a size, specialising every symbol in it; `because` is recorded with each."""
        term = self.resolve(term)
        if term.constant is not None:
            return term.constant
        place = here()
        position = self.moving(term)
        if position is not None:
            raise StepByStep(self.positions[position].place, f"{why} needs the number of a step (line {place.line})")
        for symbol in sorted(term.symbols(), key=str):
            value = self._values.get(symbol)
            if value is None:
                raise AxonError(
                    f"{why} needs the number of size {symbol}, which was given by name",
                    where=str(place),
                    accepted=f"an --arg with a number in place of {symbol} (the size is then fixed), "
                    "or a program that is generic in it",
                )
            if isinstance(symbol, Symbol):
                self.fixed.append(replace(self._fixed(symbol, value), why=because))
                self._bound[symbol] = ix.const(value)
        number = self.resolve(term).constant
        assert number is not None
        return number


def _without_common_factors(a: Index, b: Index) -> tuple[Index, Index]:
    """Two products without the sizes that both have: `G * R = G * S` says `R = S`."""
    if len(a.terms) != 1 or len(b.terms) != 1:
        return a, b
    (left, ca), (right, cb) = a.terms[0], b.terms[0]
    rest = list(right)
    kept: list[ix.Atom] = []
    for atom in left:
        if isinstance(atom, Symbol) and atom in rest:
            rest.remove(atom)
        else:
            kept.append(atom)
    return Index({tuple(kept): ca}), Index({tuple(rest): cb})
