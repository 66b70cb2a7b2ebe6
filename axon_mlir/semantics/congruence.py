# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Terms that are equal part by part: the same functions, folds and choices of equal parts (lemma `congruence`).

Only where the parts differ are normal forms compared, of terms in which what both sides have in common is opaque: an
equality that holds whatever the common parts are. So a change at one place of a deep program is judged at that place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from axon_mlir.semantics import terms as t
from axon_mlir.semantics.conversions import ProofNormalizer
from axon_mlir.semantics.functions import FUNCTIONS, MONOIDS
from axon_mlir.semantics.index import Index, Size, Var, const, fresh_var, of_var
from axon_mlir.semantics.normal import TooLarge, definition_of
from axon_mlir.semantics.partial import Condition
from axon_mlir.semantics.signs import sign
from axon_mlir.semantics.walk import subterms

LARGEST = 120
"""Terms with more parts than this are not put into normal form here."""
BUDGET = 5_000
"""Products that a normal form may take here: a second or two."""

Stated = tuple[str, tuple[Index, ...], frozenset[t.Condition], t.Term]
"""A condition: its kind, the extents of its variables, where it stands, its argument."""


def part_by_part(
    x: t.Term, y: t.Term, known: Sequence[Condition], wanted: Sequence[Condition], lemmas: set[str]
) -> tuple[bool, list[Condition]]:
    """Whether two terms are equal part by part, and which conditions wanted of the second neither hold for the form of
    their argument nor are the first's, where anything stands. The lemmas used are added to `lemmas`."""
    same = Congruence()
    equal = same.equal(x, y)
    left: list[Condition] = []
    given = {same.stated(k): None for k in known}
    for c in wanted:
        stated = same.stated(c)
        if t.FALSE in c.context or stated in given or same.holds(c):
            continue
        # What has most in common comes first: to tell two conditions apart takes long.
        parts = set(subterms(stated[-1]))
        candidates = [k for k in given if k[:-1] == stated[:-1]]
        candidates.sort(key=lambda k: len(parts.intersection(subterms(k[-1]))), reverse=True)
        if not any(same.equal(k[-1], stated[-1]) for k in candidates):
            left.append(c)
    lemmas |= same.lemmas
    return equal, left


@dataclass
class Congruence:
    """One comparison of terms."""

    lemmas: set[str] = field(default_factory=set[str])
    _keys: dict[t.Term, t.Term] = field(default_factory=dict[t.Term, t.Term])
    _heights: dict[t.Term, int] = field(default_factory=dict[t.Term, int])
    _known: dict[tuple[t.Term, t.Term], bool] = field(default_factory=dict[tuple[t.Term, t.Term], bool])
    _signs: dict[t.Term, str | None] = field(default_factory=dict[t.Term, str | None])

    def equal(self, x: t.Term, y: t.Term) -> bool:
        """Whether the terms are equal in this way, for all values of their free variables."""
        x, y = self.key(x), self.key(y)
        if x is y:
            return True
        if (x, y) not in self._known:
            self._known[(x, y)] = self._parts(x, y) or self._forms(x, y)
        return self._known[(x, y)]

    def holds(self, wanted: Condition) -> bool:
        """Whether a condition holds for the sign that its argument has wherever it stands."""
        argument = self.key(wanted.argument)
        if argument not in self._signs:
            self._signs[argument] = sign(argument, self.equal)
        if self._signs[argument] not in ("positive", wanted.kind):
            return False
        self.lemmas.add("nonnegative")
        return True

    def stated(self, c: Condition) -> Stated:
        """A condition of definedness with its variables named by where they are bound."""
        names: dict[Size | Var, Index] = {v: of_var(Var(f"bound {n}")) for n, (v, _) in enumerate(c.binders)}
        extents = tuple(n.substitute(names) for _, n in c.binders)
        context = frozenset(t.substitute_conditions(c.context, names))
        return c.kind, extents, context, self.key(t.substitute(c.argument, names))

    def key(self, x: t.Term) -> t.Term:
        """The term with its fold variables named by how deep their folds are nested, and comparisons of indices in one
        form."""
        found = self._keys.get(x)
        if found is None:
            found = self._key(x)
            self._keys[x] = found
        return found

    def _key(self, x: t.Term) -> t.Term:
        if isinstance(x, t.Fold):
            inner = self.key(x.body)
            own = Var(f"fold {self.height(inner)}")
            return t.fold(x.monoid, own, x.extent, t.substitute(inner, {x.var: of_var(own)}))
        return t.with_parts(x, self.key, self._comparison)

    def _comparison(self, c: t.Comparison) -> t.Condition:
        """Comparisons of indices by what lies between both sides."""
        match c:
            case t.IndexCompare("==", a, b):
                return min((t.equal(const(0), gap) for gap in (a - b, b - a)), key=t.text)
            case t.IndexCompare(r, a, b):
                return t.at_most(const(0), b - a - 1 if r == "<" else b - a)
            case t.RealCompare():
                return t.with_sides(c, self.key)

    def height(self, x: t.Term) -> int:
        """How many folds are nested in a term."""
        found = self._heights.get(x)
        if found is None:
            match x:
                case t.Apply(_, args):
                    found = max(map(self.height, args), default=0)
                case t.Fold(_, _, _, body):
                    found = self.height(body) + 1
                case t.Select(c, a, b):
                    found = max(map(self.height, (a, b, *t.compared_terms(c))))
                case _:
                    found = 0
            self._heights[x] = found
        return found

    def _parts(self, x: t.Term, y: t.Term) -> bool:
        match x, y:
            case t.Apply(f, a), t.Apply(g, b) if f == g and len(a) == len(b):
                # Conversions are functions beside the table.
                orders = [b, b[::-1]] if f in FUNCTIONS and FUNCTIONS[f].commutative else [b]
                return any(all(map(self.equal, a, order)) for order in orders)
            case t.Apply(f, a), t.Apply(g, b):
                # `x / y` beside `x * (1 / y)`, and `1 / y` beside the reciprocal.
                meant = _meant(x, g), _meant(y, f)
                return (meant[0] is not None and self._parts(self.key(meant[0]), y)) or (
                    meant[1] is not None and self._parts(x, self.key(meant[1]))
                )
            case t.Fold(m, v, n, a), t.Fold(k, w, e, b) if (m, n) == (k, e):
                if v == w:
                    # Named by its height: nothing inside is bound to it.
                    return self.equal(a, b)
                # One variable for both, which is bound nowhere.
                own = of_var(fresh_var("k"))
                return self.equal(t.substitute(a, {v: own}), t.substitute(b, {w: own}))
            case t.Select(c, a, b), t.Select(d, e, f):
                return self._same(c, d) and self.equal(a, e) and self.equal(b, f)
            case _:
                return False

    def _same(self, c: t.Condition, d: t.Condition) -> bool:
        match c, d:
            case t.RealCompare(r, a, b), t.RealCompare(s, e, f):
                return r == s and self.equal(a, e) and self.equal(b, f)
            case (t.And(a), t.And(b)) | (t.Or(a), t.Or(b)):
                return len(a) == len(b) and all(map(self._same, a, b))
            case t.Not(a), t.Not(b):
                return self._same(a, b)
            case _:
                return c == d

    def _forms(self, x: t.Term, y: t.Term) -> bool:
        """Whether the normal forms are equal, the common parts opaque."""
        mine = {part: f"part {n}" for n, part in enumerate(_opaque(x))}
        common: dict[t.Term, str] = {**mine}
        for part in _opaque(y):
            # Of the pair itself it is known that it is not equal part by part.
            others = (z for z in mine if not (z is x and part is y))
            same = (z for z in others if part is z or (self._alike(z, part) and self.equal(z, part)))
            found = next(same, None)
            if found is not None:
                common[part] = mine[found]
        x, y = (_abstracted(z, common) for z in (x, y))
        if any(len(list(subterms(z))) > LARGEST for z in (x, y)):
            return False
        normal = ProofNormalizer(joining=False, budget=BUDGET)
        try:
            same = normal.term(x) == normal.term(y)
        except TooLarge:
            return False
        if same and not normal.tiles:
            self.lemmas |= normal.lemmas
            return True
        return False

    def _alike(self, x: t.Fold, y: t.Fold) -> bool:
        """Whether folds look as if they were equal part by part: worth a comparison."""
        mine, theirs = ((z.monoid, z.extent, self.height(z), t.free_symbols(z)) for z in (x, y))
        return mine == theirs


def _meant(x: t.Apply, function: str) -> t.Term | None:
    """The definition of an application without neutral elements, where it is an application of that function."""
    meant = definition_of(x.function, x.args) if x.function in FUNCTIONS else None
    if isinstance(meant, t.Apply):
        units = [t.number(m.neutral) for m in MONOIDS.values() if m.function == meant.function]
        others = [a for a in meant.args if a not in units]
        meant = others[0] if units and len(others) == 1 else meant
    return meant if isinstance(meant, t.Apply) and meant.function == function else None


def _opaque(x: t.Term) -> Iterator[t.Fold]:
    """The parts of a term that it is worth not to look into."""
    return (y for y in subterms(x) if isinstance(y, t.Fold))


def _abstracted(x: t.Term, common: Mapping[t.Term, str]) -> t.Term:
    """A term with each common part as an element of the unknown tensor that is named, at the part's own free
    variables."""
    memo: dict[t.Term, t.Term] = {}

    def made(y: t.Term) -> t.Term:
        if y not in memo:
            if y in common:
                free = sorted((s for s in t.free_symbols(y) if isinstance(s, Var)), key=str)
                memo[y] = t.Read(common[y], tuple(map(of_var, free)))
            else:
                memo[y] = t.with_parts(y, made, lambda c: t.with_sides(c, made))
        return memo[y]

    return made(x)
