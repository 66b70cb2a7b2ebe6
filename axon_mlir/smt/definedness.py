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
from axon_mlir.semantics.normal import Normalizer, Poly, condition_text, poly_text
from axon_mlir.semantics.partial import SYMBOL, Condition, choices
from axon_mlir.semantics.signs import same_form, same_sign, sign
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

    def instances(self, wanted: Condition) -> Iterator[tuple[Condition, t.Term, t.Condition]]:
        """Conditions of the first program at the variables of the wanted one: (condition, its argument there, what
        must hold of numbers for it)."""
        texts = {condition_text(c, self.normal) for c in wanted.context}
        for known in self.known:
            ranges = {c for v, e in known.binders for c in range_of(v, e)}
            around = [c for c in known.context if c not in ranges]
            more = t.conj([c for c in around if condition_text(c, self.normal) not in texts])
            if any(map(t.is_integer, more.parts if isinstance(more, t.And) else (more,))) and more != t.TRUE:
                continue
            for binding in choices(known, wanted.argument):
                goals = [t.substitute_condition(c, binding) for c in known.context if c in ranges]
                if all(self.implies(wanted.context, g) for g in goals):
                    yield known, t.substitute(known.argument, binding), t.substitute_condition(more, binding)

    def follows(self, wanted: Condition) -> tuple[bool, Query | None]:
        """Whether a condition of the second program holds; the query that shows it, when one was needed."""
        if t.FALSE in wanted.context:
            return True, None
        whole = wanted.argument if self.pieces is None else self.pieces(wanted.argument, wanted.context)
        argument = self.normal.term(whole)
        if self.normal.is_positive(argument) or sign(whole, same_form(self.normal)) in _IMPLIES[wanted.kind]:
            self.lemmas.add("nonnegative")
            return True, None
        instances = list(self.instances(wanted))
        for known, at, more in instances:
            if known.kind in _IMPLIES[wanted.kind] and more == t.TRUE:
                if same_sign(argument, self.form(at, wanted.context), wanted.kind, self.normal):
                    return True, None
        try:
            return False, self.query(wanted, instances)
        except NotReal:
            return False, None

    def query(self, wanted: Condition, instances: Sequence[tuple[Condition, t.Term, t.Condition]]) -> Query:
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

        arguments = [wanted.argument, *(at for _, at, _ in instances)]
        for x in arguments:
            for y in subterms(x if self.pieces is None else self.pieces(x, wanted.context)):
                known = sign(y, same_form(self.normal)) if isinstance(y, t.Fold) else None
                if known is not None:
                    poly = self.normal.term(y)
                    assume(_state(known, text.poly(poly)), f"{poly_text(poly)} {SYMBOL[known]}")
        for known, at, more in instances:
            poly = self.form(at, wanted.context)
            fact, says = _state(known.kind, text.poly(poly)), f"{poly_text(poly)} {SYMBOL[known.kind]}"
            if more == t.TRUE:
                assume(fact, says)
            elif (needs := text.condition(more, self.normal)) is not None:
                assume(f"(=> {needs} {fact})", f"{says} where {condition_text(more, self.normal)}")
        for c in wanted.context:
            fact = None if t.is_integer(c) else text.condition(c, self.normal)
            if fact is not None:
                assume(fact, condition_text(c, self.normal))
        says = f"{poly_text(argument)} {SYMBOL[wanted.kind]}"
        return text.query(f"{wanted.function} is defined", tuple(hypotheses), tuple(readable), goal, says)
