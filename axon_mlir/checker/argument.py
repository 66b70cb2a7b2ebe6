# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What has to hold of two programs, stated a second time for the checker of certificates.

It searches for nothing: where a prover had to decide, it looks whether the certificate holds the question whose
answer decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from xdsl.dialects.func import FuncOp

from axon_mlir.checker.text import Question, Reals, Rejected, about_integers, equality, integers
from axon_mlir.semantics import normal as nf
from axon_mlir.semantics import terms as t
from axon_mlir.semantics.constants import Exact, replaced
from axon_mlir.semantics.conversions import ProofNormalizer, denote, is_lowered
from axon_mlir.semantics.denotation import range_of, unfinished
from axon_mlir.semantics.guards import Guards
from axon_mlir.semantics.index import Index, Size, Var, const, nonnegative, of_var, parse
from axon_mlir.semantics.partial import SYMBOL, Condition, conditions, infinities, sign
from axon_mlir.semantics.pieces import Pieces
from axon_mlir.semantics.walk import Context, folds, subterms

Binding = Mapping[Size | Var, Index]


@dataclass
class Argument:
    """States the obligations again. `stored` are the scripts of the certificate, used to follow its decisions."""

    stored: frozenset[str]
    questions: list[Question] = field(default_factory=list[Question])
    lemmas: set[str] = field(default_factory=set[str])
    tiles: set[tuple[Index, Index]] = field(default_factory=set[tuple[Index, Index]])

    def holds(self, q: Question) -> bool:
        """Whether the certificate has the question; it is noted if so."""
        for text in (q.text, q.exact):
            if text in self.stored:
                self.questions.append(replace(q, text=text))
                return True
        return False

    def must(self, q: Question) -> None:
        if not self.holds(q):
            raise Rejected(f"missing: {q.kind}: {q.goal}")

    def follows(self, context: Context, goal: t.Condition, kind: str) -> bool:
        if goal == t.TRUE or goal in context:
            return True
        return about_integers(goal) and self.holds(integers(kind, context, goal))

    # -- one result ---------------------------------------------------------------------------------------------------

    def output(self, a: t.Comprehension, b: t.Comprehension) -> None:
        """Everything about one result."""
        if len(a.shape) != len(b.shape):
            raise Rejected("programs: results of different rank")
        for d, e in zip(a.shape, b.shape, strict=True):
            if d != e:
                self.must(integers("shape", (), t.equal(d, e)))
        names = [Var(f"o{k}") for k in range(len(a.shape))]
        context = tuple(c for v, d in zip(names, a.shape, strict=True) for c in range_of(v, d))
        guards = Guards(lambda around, goal: self.follows(around, goal, "guard"))
        bodies: list[t.Term] = []
        for value in (a, b):
            at = [const(0) if d == 1 else of_var(v) for v, d in zip(names, value.shape, strict=True)]
            bodies.append(self.body(guards.term(value.at(at), context), context))
        pieces = Pieces(lambda around, goal: self.follows(around, goal, "instance"))
        forms = [pieces.whole(body, context) for body in bodies]
        n = ProofNormalizer()
        x, y = n.term(forms[0]), n.term(forms[1])
        gap = n.add(x, n.scale(y, Fraction(-1)))
        if x == y or gap == nf.ZERO:
            self.must(equality("normal form", *((x, y) if x == y else (gap, nf.ZERO))))
        elif not any(self.holds(equality("equality", *pair)) for pair in ((x, y), (gap, nf.ZERO))):
            for pair in _inductions(gap, n):
                if all(q.text in self.stored for q in pair):
                    self.questions += pair
                    break
            else:
                raise Rejected("missing: what closes the gap between the two normal forms")
        known = conditions(bodies[0], context)
        for wanted in conditions(bodies[1], context):
            self.defined(wanted, known, n, pieces)
        for length, step in sorted(n.tiles, key=str):
            inner = [f for body in forms for _, f in folds(body, ()) if f.var in length.symbols() | step.symbols()]
            around = (*context, *(c for f in inner for c in range_of(f.var, f.extent)))
            goal = t.conj([t.at_most(const(0), length), t.at_most(const(1), step)])
            if goal != t.TRUE:
                self.must(integers("tile", around, goal))
        self.lemmas |= n.lemmas | pieces.lemmas
        self.tiles |= n.tiles

    def body(self, x: t.Term, context: Context) -> t.Term:
        """What must hold of a body by itself."""
        if any(isinstance(y, t.Read) and unfinished(y) for y in subterms(x)):
            raise Rejected("unwritten: an element may be read before it is written")
        for around, f in folds(x, context):
            goal = t.at_most(const(1 if f.monoid in ("max", "min") else 0), f.extent)
            if goal != t.TRUE:
                self.must(integers("extent", around, goal))
        if infinities(x):
            raise Rejected("infinity: it takes part in arithmetic")
        return x

    # -- definedness --------------------------------------------------------------------------------------------------

    def defined(self, wanted: Condition, known: list[Condition], n: nf.Normalizer, pieces: Pieces) -> None:
        """A condition of the second program follows from a sign, is one of the first, up to a factor, or has a
        question of its own."""
        if sign(wanted.argument, n) in ("positive", wanted.kind):
            self.lemmas.add("nonnegative")
            return
        texts = {nf.condition_text(c, n) for c in wanted.context}
        instances: list[tuple[str, t.Term]] = []
        want = n.term(pieces.term(wanted.argument, wanted.context))
        for k in known:
            ranges = {c for v, e in k.binders for c in range_of(v, e)}
            if any(nf.condition_text(c, n) not in texts for c in k.context if c not in ranges):
                continue
            for choice in _choices(k, wanted.argument):
                goals = [t.substitute_condition(c, choice) for c in k.context if c in ranges]
                if all(self.follows(wanted.context, g, "instance") for g in goals):
                    instances.append((k.kind, t.substitute(k.argument, choice)))
        for kind, at in instances:
            if kind == wanted.kind or (kind == "positive" and wanted.kind != "positive"):
                if _same_sign(want, n.term(pieces.term(at, wanted.context)), wanted.kind, n):
                    return
        w = Reals()
        goal = _claim(wanted.kind, w.poly(want))
        facts: dict[str, str] = {}

        def assume(what: str, p: nf.Poly) -> None:
            facts.setdefault(_claim(what, w.poly(p)), f"{nf.poly_text(p)} {SYMBOL[what]}")

        parts = [pieces.term(x, wanted.context) for x in (wanted.argument, *(at for _, at in instances))]
        for y in (y for x in parts for y in subterms(x)):
            what = sign(y, n) if isinstance(y, t.Fold) else None
            if what is not None:
                assume(what, n.term(y))
        for (what, _), at in zip(instances, parts[1:], strict=True):
            assume(what, n.term(at))
        for c in wanted.context:
            fact = None if about_integers(c) else w.condition(c, n)
            if fact is not None:
                facts.setdefault(fact, nf.condition_text(c, n))
        says = f"{nf.poly_text(want)} {SYMBOL[wanted.kind]}"
        self.must(w.question(f"{wanted.function} is defined", facts, goal, says))


def _claim(kind: str, text: str) -> str:
    return f"(not (= {text} 0.0))" if kind == "nonzero" else f"({'>' if kind == 'positive' else '>='} {text} 0.0)"


def _same_sign(a: nf.Poly, b: nf.Poly, kind: str, n: nf.Normalizer) -> bool:
    if a == b or not a.terms or len(a.terms) != len(b.terms):
        return a == b
    ratio = a.terms[0][1] / b.terms[0][1]
    return (ratio > 0 or kind == "nonzero") and n.scale(b, ratio) == a


def _choices(known: Condition, wanted: t.Term) -> list[Binding]:
    """Values of the fold variables of a known condition, read off the elements that the wanted one reads."""
    reads = [r for r in subterms(wanted) if isinstance(r, t.Read)]
    out: list[Binding] = [{}]
    columns: list[list[Index]] = []
    for v, _ in known.binders:
        mine = [r for r in subterms(known.argument) if isinstance(r, t.Read)]
        axes = [(r.tensor, axis) for r in mine for axis, i in enumerate(r.indices) if i.atom == v]
        columns.append([o.indices[axis] for tensor, axis in axes for o in reads if o.tensor == tensor])
        columns[-1] = list(dict.fromkeys(columns[-1]))[:4] or [const(0)]
    total = 1
    for column in columns:
        total *= len(column)
    for (v, _), column in zip(known.binders, columns, strict=True):
        out = [{**d, v: i} for d in out for i in (column[:1] if total > 16 else column)]
    return out


# -- induction --------------------------------------------------------------------------------------------------------


def _one(a: nf.Atom) -> nf.Poly:
    return nf.make_poly({((a, Fraction(1)),): Fraction(1)})


def _inductions(gap: nf.Poly, n: nf.Normalizer) -> Iterator[tuple[Question, Question]]:
    """Base and step of `gap = 0` by induction over a size: every fold over it becomes a prefix function."""
    parts: dict[nf.Atom, tuple[Index, Var, nf.Poly, str]] = {}
    for a in (a for m, _ in gap.terms for a, _ in m):
        if isinstance(a, nf.OtherFold):
            parts[a] = (a.extent, a.var, a.body, a.monoid)
        elif isinstance(a, nf.Sum) and len(a.binders) == 1:
            parts[a] = (a.binders[0][1], a.binders[0][0], nf.make_poly({a.mono: Fraction(1)}), "sum")
    for extent in dict.fromkeys(e for e, *_ in parts.values()):
        size, chosen = extent.atom, {a: p for a, p in parts.items() if p[0] == extent}
        # The size is generalised: the other folds and the summands must not depend on it.
        fixed = [_one(a) for a in parts if a not in chosen] + [p[2] for p in chosen.values()]
        if not isinstance(size, Size) or any(size in nf.poly_symbols(p) for p in fixed):
            continue
        if all(p[3] != "prod" for p in chosen.values()):
            yield _base_and_step(gap, chosen, size, n)


def _base_and_step(
    gap: nf.Poly, chosen: Mapping[nf.Atom, tuple[Index, Var, nf.Poly, str]], size: Size, n: nf.Normalizer
) -> tuple[Question, Question]:
    here = of_var(Var("count"))

    def state(values: Mapping[nf.Atom, nf.Poly], count: Index) -> nf.Poly:
        total = nf.make_poly({})
        for m, c in gap.terms:
            product = nf.make_poly({(): c})
            for a, e in m:
                product = n.mul(product, n.power(values.get(a) or n.substitute(_one(a), {size: count}), e))
            total = n.add(total, product)
        return total

    held = {a: _one(nf.Element(f"prefix!{k}", ())) for k, a in enumerate(chosen)}
    start: dict[nf.Atom, nf.Poly] = {}
    stepped: dict[nf.Atom, nf.Poly] = {}
    for a, (_, v, body, monoid) in chosen.items():
        step = n.substitute(body, {v: here})
        # Sizes are at least one: the first prefix is the first summand.
        start[a] = n.substitute(body, {v: const(0)})
        stepped[a] = n.add(held[a], step) if monoid == "sum" else n.extreme(monoid, [held[a], step])
    w = Reals()
    base = w.question("induction base", {}, f"(= {w.poly(state(start, const(1)))} 0.0)", f"{size} = 1")
    w = Reals()
    before = f"(= {w.poly(state(held, here))} 0.0)"
    assumed = {f"(>= {w.poly(n.index(here))} 1.0)": "count >= 1", before: "at count"}
    goal = f"(= {w.poly(state(stepped, here + 1))} 0.0)"
    return base, w.question("induction step", assumed, goal, "at count + 1")


# -- two programs -----------------------------------------------------------------------------------------------------


def _holding(c: t.Condition) -> t.Term:
    return t.Select(c, t.ZERO, t.ONE)


Sides = Mapping[str, Mapping[str, str]]
"""What a certificate says of each program, by `before` and `after`."""


def state(before: FuncOp, after: FuncOp, sizes: Sides, constants: Sides, stored: frozenset[str]) -> Argument:
    """Everything that has to hold of the two programs, sizes matched and constants meant as the certificate says."""
    exact = [{Fraction(c): Exact.parse(e) for c, e in constants[side].items()} for side in ("before", "after")]
    if any(not e.near(c) for meant in exact for c, e in meant.items()):
        raise Rejected("constants: a constant is taken for a number too far away")
    lowering = is_lowered(before) or is_lowered(after)
    left, right = denote(before, lowering=lowering), denote(after, lowering=lowering)
    mine: dict[Size | Var, Index] = {Size(k): parse(v) for k, v in sizes["before"].items()}
    theirs: dict[Size | Var, Index] = {Size(k): parse(v) for k, v in sizes["after"].items()}
    if any(not nonnegative(i - 1) for i in (*mine.values(), *theirs.values())):
        raise Rejected("sizes: a size may be less than 1")
    if len(left.inputs) != len(right.inputs) or len(left.outputs) != len(right.outputs):
        raise Rejected("programs: different numbers of arguments or results")
    for a, b in (*zip(left.inputs, right.inputs, strict=True), *zip(left.outputs, right.outputs, strict=True)):
        if a.dtype != b.dtype and a.dtype is not None and b.dtype is not None:
            raise Rejected("programs: different element types")
    for a, b in zip(left.inputs, right.inputs, strict=True):
        if [d.substitute(mine) for d in a.shape] != [d.substitute(theirs) for d in b.shape]:
            raise Rejected("sizes: they do not make the arguments' shapes equal")
    arguments = {s for c in left.inputs for d in c.shape for s in d.substitute(mine).symbols()}
    own = {s for c in right.inputs for d in c.shape for s in d.symbols()}
    used = set(theirs).union(*(t.free_symbols(c.body) for c in right.outputs))
    used |= {s for o in right.obligations for c in (*o.hypotheses, o.goal) for s in t.free_symbols(_holding(c))}
    free = [theirs.get(s, Index({(s,): 1})) for s in used - own if isinstance(s, Size)]
    if len(set(free)) != len(free) or any(i.atom is None or i.atom in arguments for i in free):
        raise Rejected("sizes: a tile parameter is not free")
    argument = Argument(stored)

    def over(binding: Binding, meant: Mapping[Fraction, Exact], c: t.Comprehension) -> t.Comprehension:
        shape = tuple(d.substitute(binding) for d in c.shape)
        return replace(c, shape=shape, body=replaced(t.substitute(c.body, binding), meant))

    for side, binding in ((right, theirs), (left, mine)):
        for o in side.obligations:
            hypotheses = [t.substitute_condition(h, binding) for h in o.hypotheses]
            argument.must(integers(o.kind, hypotheses, t.substitute_condition(o.goal, binding)))
    for a, b in zip(left.outputs, right.outputs, strict=True):
        argument.output(over(mine, exact[0], a), over(theirs, exact[1], b))
    return argument
