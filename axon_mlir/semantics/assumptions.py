# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a program's conditions of definedness say of single atoms: where it is defined, they are positive.

Only conditions that hold for every element of the result and do not depend on a choice count. One that a fold asks at
all positions of an axis is said of every element along it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from axon_mlir.semantics import terms as t
from axon_mlir.semantics.conversions import ProofNormalizer
from axon_mlir.semantics.denotation import Denotation, input_name, range_of
from axon_mlir.semantics.index import Index, Var
from axon_mlir.semantics.laws import PRIMITIVES
from axon_mlir.semantics.normal import (
    Assumed,
    Atom,
    Element,
    Normalizer,
    Poly,
    atom_symbols,
    nonnegative_atom,
    positive,
)
from axon_mlir.semantics.partial import Condition
from axon_mlir.semantics.pieces import Pieces, picks
from axon_mlir.semantics.walk import Context, subterms

Shapes = Mapping[str, Sequence[Index]]


def input_shapes(d: Denotation) -> Shapes:
    """The shapes of a function's arguments, by the names of their elements."""
    return {input_name(n): c.shape for n, c in enumerate(d.inputs)}


def normalizer(
    bodies: Sequence[t.Term], known: Sequence[Condition], context: Context, pieces: Pieces, shapes: Shapes
) -> ProofNormalizer:
    """A normal form for two terms where the conditions hold."""
    used = {y.function for x in bodies for y in subterms(x) if isinstance(y, t.Apply)}
    kept = frozenset(f for f, primitives in PRIMITIVES.items() if used.isdisjoint(primitives))
    plain = ProofNormalizer(kept=kept)
    found = ProofNormalizer(kept=kept, assumed=_assumed(known, context, plain, pieces, shapes))
    found.lemmas |= plain.lemmas
    found.tiles |= plain.tiles
    return found


def _assumed(
    known: Sequence[Condition], context: Context, normal: Normalizer, pieces: Pieces, shapes: Shapes
) -> Assumed:
    """What is positive wherever the conditions hold."""
    atoms: set[Atom] = set()
    ones: set[Atom] = set()
    patterns: set[tuple[str, tuple[Index | None, ...]]] = set()
    for c in known:
        ranges = {r for v, n in c.binders for r in range_of(v, n)}
        if any(k not in ranges and k not in context for k in c.context):
            continue
        count = _counted(c)
        number = None if count is None else normal.term(pieces.term(count, c.context)).single
        if number is not None and number[1] == 1 and len(number[0]) == 1 and number[0][0][1] == 1 and not c.binders:
            ones.add(number[0][0][0])
        atom = _atom(c.kind, normal.term(pieces.term(c.argument, c.context)))
        if atom is None:
            continue
        binders = dict(c.binders)
        if atom_symbols(atom).isdisjoint(binders):
            atoms.add(atom)
        elif isinstance(atom, Element):
            axes = [_everywhere(i, binders, n) for i, n in zip(atom.indices, shapes.get(atom.tensor, ()), strict=False)]
            if len(axes) == len(atom.indices) and all(i is None or i.symbols().isdisjoint(binders) for i in axes):
                patterns.add((atom.tensor, tuple(axes)))
    return Assumed(frozenset(atoms), frozenset(patterns), frozenset(ones))


def _counted(c: Condition) -> t.Term | None:
    """How many elements a sum of the one at a position has, if it may not be zero."""
    match c.argument:
        case t.Fold("sum", v, n, t.Select(chosen, _, other)) if other == t.ZERO and picks(chosen, v):
            return t.Fold("sum", v, n, t.Select(chosen, t.ONE, t.ZERO)) if c.kind != "nonnegative" else None
        case _:
            return None


def _everywhere(i: Index, binders: Mapping[Var, Index], extent: Index) -> Index | None:
    """None for an index that takes every value of its axis."""
    atom = i.atom
    return None if isinstance(atom, Var) and binders.get(atom) == extent else i


def _atom(kind: str, p: Poly) -> Atom | None:
    """The one atom that is positive because the form is positive, or not zero and the atom not negative."""
    lone = p.single
    if lone is None or kind == "nonnegative":
        return None
    left = [(a, e) for a, e in lone[0] if not positive(a)]
    if len(left) != 1:
        return None
    ((a, e),) = left
    odd = e.denominator != 1 or e.numerator % 2 == 1
    if nonnegative_atom(a) or (kind == "positive" and lone[1] > 0 and odd):
        return a
    return None
