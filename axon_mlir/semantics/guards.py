# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Guards: what is decided where a term stands leaves the term.

A `Select` whose condition (or its negation) follows from where it stands is replaced by its branch; of a conjunction
the decided parts leave. Whether a condition follows is asked of the caller.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from axon_mlir.semantics import terms as t
from axon_mlir.semantics.denotation import range_of
from axon_mlir.semantics.index import Index
from axon_mlir.semantics.walk import Context


@dataclass
class Guards:
    """One walk over terms."""

    follows: Callable[[Context, t.Condition], bool]
    """Whether a condition about indices follows from a context."""
    _memo: dict[tuple[t.Term, Context], t.Term] = field(default_factory=dict[tuple[t.Term, Context], t.Term])

    def term(self, x: t.Term, context: Context) -> t.Term:
        """The term, simplified under the context."""
        key = (x, context)
        found = self._memo.get(key)
        if found is None:
            found = self._term(x, context)
            self._memo[key] = found
        return found

    def _term(self, x: t.Term, context: Context) -> t.Term:
        match x:
            case t.Const() | t.IndexValue() | t.Read():
                return x
            case t.Apply(f, args):
                return t.Apply(f, tuple(self.term(a, context) for a in args))
            case t.Fold(m, v, n, body):
                return t.fold(m, v, n, self.term(body, (*context, *range_of(v, n))))
            case t.Select(c, a, b):
                left = self.condition(c, context)
                if left == t.TRUE:
                    return self.term(a, context)
                if left == t.FALSE:
                    return self.term(b, context)
                return t.select(left, self.term(a, (*context, left)), self.term(b, (*context, t.negate(left))))

    def condition(self, c: t.Condition, context: Context) -> t.Condition:
        """The condition without what the context decides."""
        match c:
            case t.And(parts):
                out: list[t.Condition] = []
                for p in parts:
                    q = self.condition(p, (*context, *out))
                    if q == t.FALSE:
                        return t.FALSE
                    if q != t.TRUE:
                        out.append(q)
                return t.conj(out)
            case t.Or(parts):
                return t.disj([self.condition(p, context) for p in parts])
            case t.Not(p):
                return t.negate(self.condition(p, context))
            case t.RealCompare(r, a, b):
                return self._compare(r, self.term(a, context), self.term(b, context), context)
            case t.IndexCompare():
                if self.follows(context, c):
                    return t.TRUE
                if self.follows(context, t.negate(c)):
                    return t.FALSE
                return c

    def _compare(self, relation: str, a: t.Term, b: t.Term, context: Context) -> t.Condition:
        """A comparison of reals that is one of integers, or of a 0/1 choice with 1, in simpler form."""
        left, right = _as_index(a), _as_index(b)
        if left is not None and right is not None:
            make = {"<": t.less, "<=": t.at_most, "==": t.equal}[relation]
            made = make(left, right)
            return made if made in (t.TRUE, t.FALSE) else self.condition(made, context)
        if relation == "==" and b == t.ONE and isinstance(a, t.Select):
            if (a.then, a.otherwise) == (t.ONE, t.ZERO):
                return self.condition(a.condition, context)
            if (a.then, a.otherwise) == (t.ZERO, t.ONE):
                return t.negate(self.condition(a.condition, context))
        return t.RealCompare(relation, a, b)


def _as_index(x: t.Term) -> Index | None:
    match x:
        case t.IndexValue(i):
            return i
        case t.Const(v) if not isinstance(v, str) and v.denominator == 1:
            return Index({(): int(v)})
        case _:
            return None
