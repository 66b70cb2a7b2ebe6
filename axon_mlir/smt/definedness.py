# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Definedness: the second program must be defined wherever the first is, element by element.

Every application of a partial function gives a condition on one argument, under the conditions around it and for all
values of the fold variables around it. A condition of the second program follows when the first has the same one, or
by real arithmetic from the facts about its parts and the conditions of the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from axon_mlir.semantics import terms as t
from axon_mlir.semantics.denotation import range_of
from axon_mlir.semantics.index import Index, Size, Var, index
from axon_mlir.semantics.normal import Normalizer, Poly, condition_text, poly_text
from axon_mlir.semantics.partial import SYMBOL, Condition, sign
from axon_mlir.semantics.walk import Context, subterms
from axon_mlir.smt.encode import Query
from axon_mlir.smt.guards import implied
from axon_mlir.smt.reals import NotReal, RealText


def _state(kind: str, text: str) -> str:
    match kind:
        case "nonzero":
            return f"(not (= {text} 0.0))"
        case "positive":
            return f"(> {text} 0.0)"
        case _:
            return f"(>= {text} 0.0)"


def _positive_scaled(a: Poly, b: Poly, kind: str, n: Normalizer) -> bool:
    """Whether `a = c * b` with a factor that keeps the condition: positive (any but zero for `nonzero`)."""
    if a == b:
        return True
    if not a.terms or len(a.terms) != len(b.terms):
        return False
    ratio = a.terms[0][1] / b.terms[0][1]
    return (ratio > 0 or kind == "nonzero") and n.scale(b, ratio) == a


_IMPLIES = {
    "nonzero": ("nonzero", "positive"),
    "positive": ("positive",),
    "nonnegative": ("nonnegative", "positive"),
}


@dataclass
class Definedness:
    """The conditions of the first program, against which those of the second are checked."""

    known: Sequence[Condition]
    normal: Normalizer
    implies: Callable[[Context, t.Condition], bool] = implied
    """Decides conditions about indices."""
    lemmas: set[str] = field(default_factory=set[str])
    pieces: Callable[[t.Term, Context], t.Term] | None = None
    """A term without the guards that cut its ranges."""

    def form(self, x: t.Term, context: Context) -> Poly:
        """The normal form of a term, where it stands."""
        return self.normal.term(x if self.pieces is None else self.pieces(x, context))

    def instances(self, wanted: Condition) -> Iterator[tuple[Condition, t.Term]]:
        """Conditions of the first program at the variables of the wanted one: (condition, its argument there)."""
        texts = {condition_text(c, self.normal) for c in wanted.context}
        for known in self.known:
            ranges = {c for v, e in known.binders for c in range_of(v, e)}
            around = [c for c in known.context if c not in ranges]
            if any(condition_text(c, self.normal) not in texts for c in around):
                continue
            for binding in _bindings(known, wanted):
                goals = [t.substitute_condition(c, binding) for c in known.context if c in ranges]
                if all(self.implies(wanted.context, g) for g in goals):
                    yield known, t.substitute(known.argument, binding)

    def follows(self, wanted: Condition) -> tuple[bool, Query | None]:
        """Whether a condition of the second program holds; the query that shows it, when one was needed."""
        if sign(wanted.argument, self.normal) in _IMPLIES[wanted.kind]:
            self.lemmas.add("nonnegative")
            return True, None
        argument = self.form(wanted.argument, wanted.context)
        instances = list(self.instances(wanted))
        for known, at in instances:
            if known.kind in _IMPLIES[wanted.kind]:
                if _positive_scaled(argument, self.form(at, wanted.context), wanted.kind, self.normal):
                    return True, None
        try:
            return False, self.query(wanted, instances)
        except NotReal:
            return False, None

    def query(self, wanted: Condition, instances: Sequence[tuple[Condition, t.Term]]) -> Query:
        """The condition as a question about reals."""
        text = RealText()
        argument = self.form(wanted.argument, wanted.context)
        goal = _state(wanted.kind, text.poly(argument))
        hypotheses: list[str] = []
        readable: list[str] = []

        def assume(fact: str, says: str) -> None:
            if fact not in hypotheses:
                hypotheses.append(fact)
                readable.append(says)

        arguments = [wanted.argument, *(at for _, at in instances)]
        for x in arguments:
            for y in subterms(x if self.pieces is None else self.pieces(x, wanted.context)):
                known = sign(y, self.normal) if isinstance(y, t.Fold) else None
                if known is not None:
                    poly = self.normal.term(y)
                    assume(_state(known, text.poly(poly)), f"{poly_text(poly)} {SYMBOL[known]}")
        for known, at in instances:
            poly = self.form(at, wanted.context)
            assume(_state(known.kind, text.poly(poly)), f"{poly_text(poly)} {SYMBOL[known.kind]}")
        for c in wanted.context:
            fact = None if t.is_integer(c) else text.condition(c, self.normal)
            if fact is not None:
                assume(fact, condition_text(c, self.normal))
        says = f"{poly_text(argument)} {SYMBOL[wanted.kind]}"
        return text.query(f"{wanted.function} is defined", tuple(hypotheses), tuple(readable), goal, says)


def _bindings(known: Condition, wanted: Condition) -> Iterator[dict[Size | Var, Index]]:
    """Values for the fold variables of a known condition, read off the tensor elements of the wanted one."""
    if not known.binders:
        yield {}
        return
    candidates: list[list[Index]] = []
    theirs = [r for r in subterms(wanted.argument) if isinstance(r, t.Read)]
    for v, _ in known.binders:
        options: list[Index] = []
        for r in subterms(known.argument):
            if not isinstance(r, t.Read):
                continue
            for axis, i in enumerate(r.indices):
                if i.atom == v:
                    options += [o.indices[axis] for o in theirs if o.tensor == r.tensor]
        if not options:
            # The argument does not name the variable by itself: any value will do that is in range.
            options = [index(0)]
        candidates.append(list(dict.fromkeys(options))[:4])
    count = 1
    for options in candidates:
        count *= len(options)
    if count > 16:
        candidates = [options[:1] for options in candidates]
    yield from _product([v for v, _ in known.binders], candidates)


def _product(variables: list[Var], candidates: list[list[Index]]) -> Iterator[dict[Size | Var, Index]]:
    if not variables:
        yield {}
        return
    for value in candidates[0]:
        for rest in _product(variables[1:], candidates[1:]):
            yield {variables[0]: value, **rest}
