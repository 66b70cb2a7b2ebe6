# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What has to hold of two programs, stated a second time for the checker of certificates.

It searches for nothing: where a prover had to decide, it looks whether the certificate holds the question whose
answer decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import chain
from typing import Any

from xdsl.dialects.func import FuncOp

from axon_mlir.checker.text import Question, Reals, Rejected, equality, integers
from axon_mlir.semantics import normal as nf
from axon_mlir.semantics import terms as t
from axon_mlir.semantics.agreement import agree
from axon_mlir.semantics.assumptions import Shapes, input_shapes, normalizer
from axon_mlir.semantics.cases import Attempt, Case, attempts, tile_contexts
from axon_mlir.semantics.congruence import part_by_part
from axon_mlir.semantics.constants import Exact, acceptable, replaced
from axon_mlir.semantics.conversions import denote, is_lowered
from axon_mlir.semantics.denotation import Denotation, range_of
from axon_mlir.semantics.digits import plain
from axon_mlir.semantics.functions import MONOIDS
from axon_mlir.semantics.guards import Guards
from axon_mlir.semantics.index import Index, Size, Var, const, nonnegative, of_var, parse
from axon_mlir.semantics.infinite import stray, without
from axon_mlir.semantics.partial import Condition, choices, conditions
from axon_mlir.semantics.pieces import Pieces
from axon_mlir.semantics.remainders import by_remainder
from axon_mlir.semantics.signs import same_form, same_sign, sign
from axon_mlir.semantics.walk import Context, folds, reads_undefined, subterms


@dataclass
class Argument:
    """States the obligations again. `stored` are the scripts of the certificate, used to follow its decisions."""

    stored: frozenset[str]
    constants: Sequence[Mapping[Fraction, Exact]]
    questions: list[Question] = field(default_factory=list[Question])
    lemmas: set[str] = field(default_factory=set[str])
    tiles: set[tuple[Index, Index]] = field(default_factory=set[tuple[Index, Index]])

    def holds(self, q: Question) -> bool:
        """Whether the certificate has the question; it is noted if so."""
        text = next((x for x in (q.text, q.exact) if x in self.stored), None)
        if text is not None:
            self.questions.append(replace(q, text=text))
        return text is not None

    def must(self, q: Question) -> None:
        if not self.holds(q):
            raise Rejected(f"missing: {q.kind}: {q.goal}")

    def require(self, kind: str, context: Context, goal: t.Condition) -> None:
        if goal != t.TRUE:
            self.must(integers(kind, context, goal))

    def follows(self, context: Context, goal: t.Condition, kind: str) -> bool:
        return goal == t.TRUE or goal in context or (t.is_integer(goal) and self.holds(integers(kind, context, goal)))

    # -- one result ---------------------------------------------------------------------------------------------------

    def output(self, a: t.Comprehension, b: t.Comprehension, shapes: Shapes) -> None:
        """Everything about one result."""
        for d, e in zip(a.shape, b.shape, strict=True):
            self.require("shape", (), t.equal(d, e))
        context = tuple(c for k, d in enumerate(a.shape) for c in range_of(Var(f"o{k}"), d))
        bodies = [self.body(value, context) for value in (a, b)]
        pieces = Pieces(lambda around, goal: self.follows(around, goal, "instance"))
        known, wanted = (list(map(pieces.settled, conditions(z, context))) for z in bodies)
        x, y = (replaced(without(z), e) for z, e in zip(bodies, self.constants, strict=True))
        equal, wanted = part_by_part(x, y, known, wanted, self.lemmas)
        if equal and not (wanted or pieces.lemmas):
            return
        n = normalizer(bodies, known, context, pieces, shapes)
        if not equal and not any(self.equal(attempt, context) for attempt in attempts(x, y, context, n, pieces)):
            raise Rejected("missing: what makes the two normal forms equal")
        for c in wanted:
            self.defined(c, known, n, pieces)
        self.tiling(n.tiles, (Case(context, bodies[0], bodies[1]),), context)
        self.lemmas |= n.lemmas | pieces.lemmas

    def equal(self, attempt: Attempt, context: Context) -> bool:
        """Whether the certificate has what makes the forms of all cases equal."""
        n = attempt.normal
        for case, (x, y) in zip(attempt.cases, attempt.forms, strict=True):
            gap = attempt.gap(x, y)
            plain = ([equality(p, q, case.context, n)] for p, q in ((x, y), (gap, nf.ZERO)))
            if not any(all(map(self.holds, way)) for way in chain(plain, _inductions(gap, n))):
                return False
        self.tiling(n.tiles, attempt.cases, context)
        self.lemmas |= n.lemmas | attempt.lemmas
        return True

    def tiling(self, tiles: set[tuple[Index, Index]], cases: Sequence[Case], context: Context) -> None:
        """What every instance of the tile lemma presupposes."""
        for length, step in sorted(tiles, key=str):
            for around in tile_contexts(length, step, cases, context):
                self.require("tile", around, t.conj([t.at_most(const(0), length), t.at_most(const(1), step)]))
        self.tiles |= tiles

    def body(self, value: t.Comprehension, context: Context) -> t.Term:
        """A result at `o0`, `o1`, ... without the guards that are decided, and what must hold of it by itself."""
        at = [const(0) if d == 1 else of_var(Var(f"o{k}")) for k, d in enumerate(value.shape)]
        x = Guards(lambda where, c: self.follows(where, c, "guard"), self.lemmas).term(value.at(at), context)
        x = plain(x, {Var(f"o{k}"): d for k, d in enumerate(value.shape)}, self.lemmas)
        if reads_undefined(x):
            raise Rejected("unwritten: an element may be read before it is written")
        for around, f in folds(x, context):
            self.require("extent", around, t.at_most(const(1 if f.monoid in ("max", "min") else 0), f.extent))
        if stray(without(x)):
            raise Rejected("infinity: it takes part in arithmetic")
        return x

    # -- definedness --------------------------------------------------------------------------------------------------

    def defined(self, wanted: Condition, known: list[Condition], n: nf.Normalizer, pieces: Pieces) -> None:
        """A condition of the second program follows from a sign, is one of the first, up to a factor, or has a
        question of its own."""
        want = n.term(whole := pieces.term(wanted.argument, wanted.context))
        if n.is_positive(want) or sign(whole, same_form(n)) in ("positive", wanted.kind):
            self.lemmas.add("nonnegative")
            return
        texts = {nf.condition_text(c, n) for c in wanted.context}
        instances: list[tuple[str, t.Term, t.Condition]] = []
        for k in known:
            ranges = {c for v, e in k.binders for c in range_of(v, e)}
            more = t.conj([c for c in k.context if c not in ranges and nf.condition_text(c, n) not in texts])
            if more != t.TRUE and any(map(t.is_integer, more.parts if isinstance(more, t.And) else (more,))):
                continue
            for choice in choices(k, wanted.argument):
                goals = [t.substitute_condition(c, choice) for c in k.context if c in ranges]
                if all(self.follows(wanted.context, g, "instance") for g in goals):
                    instances.append((k.kind, t.substitute(k.argument, choice), t.substitute_condition(more, choice)))
        strong = [at for kind, at, more in instances if kind in ("positive", wanted.kind) and more == t.TRUE]
        if any(same_sign(want, n.term(pieces.term(at, wanted.context)), wanted.kind, n) for at in strong):
            return
        goal, says = (w := Reals()).claim(wanted.kind, want)
        parts = [pieces.term(x, wanted.context) for x in (wanted.argument, *(at for _, at, _ in instances))]
        facts: dict[str, str] = {}
        held = [(sign(y, same_form(n)), y, t.TRUE) for x in parts for y in subterms(x) if isinstance(y, t.Fold)]
        held += [(kind, x, more) for (kind, _, more), x in zip(instances, parts[1:], strict=True)]
        for kind, x, more in ((kind, x, more) for kind, x, more in held if kind is not None):
            fact, text = w.claim(kind, n.term(x))
            if more == t.TRUE:
                facts.setdefault(fact, text)
            elif (needs := w.condition(more, n)) is not None:
                facts.setdefault(f"(=> {needs} {fact})", f"{text} where {nf.condition_text(more, n)}")
        around = [(fact, c) for c in wanted.context if (fact := w.condition(c, n)) is not None]
        facts |= {fact: nf.condition_text(c, n) for fact, c in around if fact not in facts}
        self.must(w.question(f"{wanted.function} is defined", facts, goal, says))


# -- induction --------------------------------------------------------------------------------------------------------


def _inductions(gap: nf.Poly, n: nf.Normalizer) -> Iterator[list[Question]]:
    """Base and step of `gap = 0` by induction over a size: every fold over it becomes a prefix function."""
    parts = nf.folds_over_one(gap)
    for extent in dict.fromkeys(f.extent for f in parts.values()):
        size, chosen = extent.atom, {a: f for a, f in parts.items() if f.extent == extent}
        # The size is generalised: the other folds and the summands must not depend on it.
        fixed = [nf.lone(a) for a in parts if a not in chosen] + [f.body for f in chosen.values()]
        free = not any(size in nf.poly_symbols(p) for p in fixed)
        if isinstance(size, Size) and free and all(f.monoid != "prod" for f in chosen.values()):
            yield _base_and_step(gap, chosen, size, n)


def _base_and_step(gap: nf.Poly, chosen: dict[nf.Atom, nf.OtherFold], size: Size, n: nf.Normalizer) -> list[Question]:
    here = of_var(Var("count"))

    def state(w: Reals, values: Mapping[nf.Atom, nf.Poly], count: Index) -> str:
        total = nf.make_poly({})
        for m, c in gap.terms:
            term = nf.make_poly({(): c})
            for a, e in m:
                term = n.mul(term, n.power(values.get(a) or n.substitute(nf.lone(a), {size: count}), e))
            total = n.add(total, term)
        return f"(= {w.poly(total)} 0.0)"

    held = {a: nf.lone(nf.Element(f"prefix!{k}", ())) for k, a in enumerate(chosen)}
    # Sizes are at least one: the first prefix is the first summand.
    start = {a: n.substitute(f.body, {f.var: const(0)}) for a, f in chosen.items()}
    pairs = {a: [held[a], n.substitute(f.body, {f.var: here})] for a, f in chosen.items()}
    stepped = {a: n.apply(MONOIDS[f.monoid].function, pairs[a]) for a, f in chosen.items()}
    first, then = Reals(), Reals()
    base = first.question("induction base", {}, state(first, start, const(1)), f"{size} = 1")
    assumed = {f"(>= {then.poly(n.index(here))} 1.0)": "count >= 1", state(then, held, here): "at count"}
    return [base, then.question("induction step", assumed, state(then, stepped, here + 1), "at count + 1")]


# -- two programs -----------------------------------------------------------------------------------------------------


def _side(d: Denotation, manifest: Mapping[str, Any], side: str) -> tuple[t.Binding, Denotation]:
    """What a certificate takes sizes for, and the program with these sizes."""
    binding: t.Binding = {Size(k): parse(v) for k, v in manifest["sizes"][side].items()}
    if not all(nonnegative(i - 1) for i in binding.values()):
        raise Rejected("sizes: a size may be less than 1")
    return binding, d.substitute(binding)


def state(before: FuncOp, after: FuncOp, manifest: Mapping[str, Any], stored: frozenset[str]) -> Argument:
    """Everything that has to hold of the two programs, sizes matched and constants meant as the certificate says."""
    lowering = is_lowered(before) or is_lowered(after)
    original = denote(after, lowering=lowering)
    mine, left = _side(denote(before, lowering=lowering), manifest, "before")
    theirs, right = _side(original, manifest, "after")
    if len(left.inputs) != len(right.inputs) or len(left.outputs) != len(right.outputs):
        raise Rejected("programs: different numbers of arguments or results")
    for a, b in zip((*left.inputs, *left.outputs), (*right.inputs, *right.outputs), strict=True):
        if (a.dtype != b.dtype and a.dtype is not None and b.dtype is not None) or len(a.shape) != len(b.shape):
            raise Rejected("programs: different element types or ranks")
    if [c.shape for c in left.inputs] != [c.shape for c in right.inputs]:
        raise Rejected("sizes: they do not make the arguments' shapes equal")
    arguments, own = ({s for c in d.inputs for i in c.shape for s in i.symbols()} for d in (left, original))
    indices = [i for o in original.obligations for c in (*o.hypotheses, o.goal) for i in t.compared_indices(c)]
    indices += [i for c in original.outputs for i in c.shape]
    used = set(theirs).union(*(i.symbols() for i in indices), *(t.free_symbols(c.body) for c in original.outputs))
    free = [theirs.get(s, Index({(s,): 1})) for s in used - own if isinstance(s, Size)]
    if len(set(free)) != len(free) or any(i.atom is None or i.atom in arguments for i in free):
        raise Rejected("sizes: a tile parameter is not free")
    exact = [{Fraction(c): Exact.parse(e) for c, e in manifest["constants"][k].items()} for k in ("before", "after")]
    fit = [acceptable([c.body for c in d.outputs], e) for d, e in zip((left, right), exact, strict=True)]
    if any(exact) and not (all(fit) and agree(before, after, mine, theirs)):
        raise Rejected("constants: a constant is taken for what it may not stand for")
    argument = Argument(stored, exact)
    for o in (*right.obligations, *left.obligations):
        argument.must(integers(o.kind, o.hypotheses, o.goal))
    for a, b in chain.from_iterable(map(by_remainder, left.outputs, right.outputs)):
        argument.output(a, b, input_shapes(left))
    return argument
