# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Walks over terms: what is inside, and what stands around it."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from axon_mlir.semantics import terms as t
from axon_mlir.semantics.denotation import is_unfinished, range_of
from axon_mlir.semantics.index import Var

Context = tuple[t.Condition, ...]
"""The conditions that hold where a term stands."""


def subterms(x: t.Term) -> Iterator[t.Term]:
    """All terms inside, each once, those in conditions too."""
    seen: set[t.Term] = set()
    pending: list[t.Term | t.Condition] = [x]
    while pending:
        y = pending.pop()
        match y:
            case t.IndexCompare():
                continue
            case t.RealCompare(_, a, b):
                pending += [a, b]
                continue
            case t.And(parts) | t.Or(parts):
                pending += parts
                continue
            case t.Not(p):
                pending.append(p)
                continue
            case _:
                pass
        if y in seen:
            continue
        seen.add(y)
        yield y
        match y:
            case t.Apply(_, args):
                pending += args
            case t.Fold(_, _, _, body):
                pending.append(body)
            case t.Select(c, a, b):
                pending += [c, a, b]
            case _:
                pass


def bound_twice(x: t.Term) -> Var | None:
    """A variable that one fold binds inside another that binds it: what is known of the outer would be said of the
    inner. Beside each other, folds may share a variable. None when there is no such."""
    known: dict[t.Term, frozenset[Var]] = {}
    twice: list[Var] = []

    def bound(y: t.Term) -> frozenset[Var]:
        found = known.get(y)
        if found is None:
            found = known[y] = _NONE.union(*map(bound, _parts(y)))
            if isinstance(y, t.Fold):
                if y.var in found:
                    twice.append(y.var)
                found = known[y] = found | {y.var}
        return found

    bound(x)
    return twice[0] if twice else None


_NONE: frozenset[Var] = frozenset()


def _parts(x: t.Term) -> Iterator[t.Term]:
    match x:
        case t.Apply(_, args):
            yield from args
        case t.Fold(_, _, _, body):
            yield body
        case t.Select(c, a, b):
            yield from (a, b, *t.compared_terms(c))
        case _:
            return


def reads_any(x: t.Term, tensors: Collection[str]) -> bool:
    """Whether an element of one of the tensors is in a term."""
    return not t.tensors_of(x).isdisjoint(tensors)


def reads_undefined(x: t.Term) -> bool:
    """Whether an unwritten element may be read."""
    return any(map(is_unfinished, t.tensors_of(x)))


def folds(x: t.Term, context: Context) -> list[tuple[Context, t.Fold]]:
    """Every fold with the conditions around it."""
    out: list[tuple[Context, t.Fold]] = []
    seen: set[tuple[t.Term, Context]] = set()

    def go(y: t.Term, around: Context) -> None:
        if (y, around) in seen:
            return
        seen.add((y, around))
        match y:
            case t.Apply(_, args):
                for a in args:
                    go(a, around)
            case t.Fold(_, v, n, body):
                out.append((around, y))
                go(body, (*around, *range_of(v, n)))
            case t.Select(c, a, b):
                for side in t.compared_terms(c):
                    go(side, around)
                go(a, (*around, c))
                go(b, (*around, t.negate(c)))
            case _:
                return

    go(x, context)
    return out
