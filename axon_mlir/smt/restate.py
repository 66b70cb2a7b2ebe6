# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What has to hold of two programs, stated a second time for the checker of certificates.

An encoder, a walk over guards and definedness rules of its own: nothing here is shared with the prover but the
semantics (denotation and normal form). It searches for nothing: where a prover had to decide, it looks whether the
certificate holds the question whose answer decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, cast

from xdsl.dialects.func import FuncOp

from axon_mlir.semantics import normal as nf
from axon_mlir.semantics import terms as t
from axon_mlir.semantics.conversions import ProofNormalizer, denote, is_conversion, is_lowered
from axon_mlir.semantics.denotation import range_of, unfinished
from axon_mlir.semantics.functions import FUNCTIONS
from axon_mlir.semantics.index import Index, Size, Var, const, nonnegative, of_var, parse
from axon_mlir.smt.encode import Query
from axon_mlir.smt.induction import induction_queries
from axon_mlir.smt.restated_text import Reals, Rejected, about_integers, equality, integers

Context = tuple[t.Condition, ...]
Binders = tuple[tuple[Var, Index], ...]


# -- the argument -----------------------------------------------------------------------------------------------------


def _children(x: t.Term | t.Condition) -> tuple[t.Term | t.Condition, ...]:
    match x:
        case t.Apply(_, args):
            return args
        case t.Fold(_, _, _, body):
            return (body,)
        case t.Select(c, a, b):
            return (c, a, b)
        case t.RealCompare(_, a, b):
            return (a, b)
        case t.And(parts) | t.Or(parts):
            return parts
        case t.Not(p):
            return (p,)
        case _:
            return ()


def _inside(x: t.Term | t.Condition) -> list[t.Term]:
    """All terms inside, each once, in the order of the walk that takes the last child first."""
    seen: set[Any] = set()
    out: list[t.Term] = []
    pending: list[t.Term | t.Condition] = [x]
    while pending:
        y = pending.pop()
        if isinstance(y, t.Const | t.IndexValue | t.Read | t.Apply | t.Fold | t.Select):
            if y in seen:
                continue
            seen.add(y)
            out.append(y)
        pending += _children(y)
    return out


def _visit(x: t.Term, context: Context, see: Callable[[t.Term, Context, Binders], None]) -> None:
    """Every place of a term with the conditions and fold variables around it, parts before the whole."""
    seen: set[tuple[Any, Context]] = set()

    def go(y: t.Term | t.Condition, around: Context, binders: Binders) -> None:
        if (y, around) in seen:
            return
        seen.add((y, around))
        if isinstance(y, t.Fold):
            go(y.body, (*around, *range_of(y.var, y.extent)), (*binders, (y.var, y.extent)))
        elif isinstance(y, t.Select):
            go(y.condition, around, binders)
            go(y.then, (*around, y.condition), binders)
            go(y.otherwise, (*around, t.negate(y.condition)), binders)
        else:
            for child in _children(y):
                go(child, around, binders)
        if isinstance(y, t.Const | t.IndexValue | t.Read | t.Apply | t.Fold | t.Select):
            see(y, around, binders)

    go(x, context, ())


@dataclass
class Checker:
    """States the obligations again. `stored` are the texts of the certificate, used to follow its decisions."""

    stored: frozenset[str]
    queries: list[Query] = field(default_factory=list[Query])
    lemmas: set[str] = field(default_factory=set[str])
    tiles: set[tuple[Index, Index]] = field(default_factory=set[tuple[Index, Index]])
    memo: dict[Any, t.Term] = field(default_factory=dict[Any, t.Term])
    select: bool = False
    """Whether the lemma `select` is applied now."""

    def holds(self, query: Query) -> bool:
        """Whether the certificate has the question; it is noted if so."""
        for text in (query.text, query.exact):
            if text in self.stored:
                self.queries.append(Query(query.kind, query.hypotheses, query.goal, text, text, query.premises))
                return True
        return False

    def must(self, query: Query) -> None:
        if not self.holds(query):
            raise Rejected(f"an obligation is missing: {query.kind}: {query.goal}")

    def follows(self, context: Context, goal: t.Condition, kind: str) -> bool:
        if goal == t.TRUE or goal in context:
            return True
        return about_integers(goal) and self.holds(integers(kind, context, goal))

    def term(self, x: t.Term, context: Context) -> t.Term:
        """The term with its guards resolved as the certificate says."""
        key = (x, context, self.select)
        if key not in self.memo:
            self.memo[key] = self._term(x, context)
        return self.memo[key]

    def _term(self, x: t.Term, context: Context) -> t.Term:
        if isinstance(x, t.Apply):
            return t.Apply(x.function, tuple(self.term(a, context) for a in x.args))
        if isinstance(x, t.Fold):
            inner = self.term(x.body, (*context, *range_of(x.var, x.extent)))
            one = _selection(x.var, x.extent, inner) if self.select and x.monoid == "sum" else None
            if one is not None:
                self.lemmas.add("select")
                return self.term(one, context)
            return t.fold(x.monoid, x.var, x.extent, inner)
        if not isinstance(x, t.Select):
            return x
        c = self.guard(x.condition, context)
        if c in (t.TRUE, t.FALSE):
            return self.term(x.then if c == t.TRUE else x.otherwise, context)
        return t.select(c, self.term(x.then, (*context, c)), self.term(x.otherwise, (*context, t.negate(c))))

    def guard(self, c: t.Condition, context: Context) -> t.Condition:
        match c:
            case t.And(parts):
                kept: list[t.Condition] = []
                for p in parts:
                    q = self.guard(p, (*context, *kept))
                    if q == t.FALSE:
                        return q
                    kept += [] if q == t.TRUE else [q]
                return t.conj(kept)
            case t.Or(parts):
                return t.disj([self.guard(p, context) for p in parts])
            case t.Not(p):
                return t.negate(self.guard(p, context))
            case t.RealCompare(r, a, b):
                return self.compare(r, self.term(a, context), self.term(b, context), context)
            case t.IndexCompare():
                for goal, value in ((c, t.TRUE), (t.negate(c), t.FALSE)):
                    if self.follows(context, goal, "guard"):
                        return value
                return c

    def compare(self, relation: str, a: t.Term, b: t.Term, context: Context) -> t.Condition:
        whole = [
            x.index
            if isinstance(x, t.IndexValue)
            else const(int(x.value))
            if isinstance(x, t.Const) and not isinstance(x.value, str) and x.value.denominator == 1
            else None
            for x in (a, b)
        ]
        if whole[0] is not None and whole[1] is not None:
            made = {"<": t.less, "<=": t.at_most, "==": t.equal}[relation](whole[0], whole[1])
            return made if made in (t.TRUE, t.FALSE) else self.guard(made, context)
        if relation == "==" and b == t.ONE and isinstance(a, t.Select) and {a.then, a.otherwise} == {t.ONE, t.ZERO}:
            inner = self.guard(a.condition, context)
            return inner if a.then == t.ONE else t.negate(inner)
        return t.RealCompare(relation, a, b)

    def output(self, a: t.Comprehension, b: t.Comprehension) -> None:
        """Everything about one result."""
        if len(a.shape) != len(b.shape):
            raise Rejected("results of different rank")
        for d, e in zip(a.shape, b.shape, strict=True):
            if d != e:
                self.must(integers("shape", (), t.equal(d, e)))
        names = [Var(f"o{k}") for k in range(len(a.shape))]
        context = tuple(c for v, d in zip(names, a.shape, strict=True) for c in range_of(v, d))
        bodies: list[t.Term] = []
        for value in (a, b):
            at = [const(0) if d == 1 else of_var(v) for v, d in zip(names, value.shape, strict=True)]
            bodies.append(self.body(self.term(value.at(at), context), context))
        self.select = True
        forms = [self.term(body, context) for body in bodies]
        self.select = False
        n = ProofNormalizer()
        x, y = n.term(forms[0]), n.term(forms[1])
        if x == y:
            self.must(equality("normal form", x, y))
        elif not self.holds(equality("equality", x, y)):
            for pair in induction_queries(n.add(x, n.scale(y, Fraction(-1))), n):
                if all(q.text in self.stored for q in pair):
                    self.queries += pair
                    break
            else:
                raise Rejected("the programs differ, and nothing in the certificate closes the gap")
        self.definedness(bodies[0], bodies[1], context, n)
        for length, step in sorted(n.tiles, key=str):
            around = list(context)
            for body in forms:
                for f, _ in self.folds(body, ()):
                    if f.var in length.symbols() | step.symbols():
                        around += range_of(f.var, f.extent)
            goal = t.conj([t.at_most(const(0), length), t.at_most(const(1), step)])
            if goal != t.TRUE:
                self.must(integers("tile", around, goal))
        self.lemmas |= n.lemmas
        self.tiles |= n.tiles

    def folds(self, x: t.Term, context: Context) -> list[tuple[t.Fold, Context]]:
        """Every fold with what stands around it, outer ones first."""
        out: list[tuple[t.Fold, Context]] = []

        def go(y: t.Term | t.Condition, around: Context, seen: set[Any]) -> None:
            if (y, around) in seen:
                return
            seen.add((y, around))
            if isinstance(y, t.Fold):
                out.append((y, around))
                go(y.body, (*around, *range_of(y.var, y.extent)), seen)
            elif isinstance(y, t.Select):
                go(y.condition, around, seen)
                go(y.then, (*around, y.condition), seen)
                go(y.otherwise, (*around, t.negate(y.condition)), seen)
            else:
                for child in _children(y):
                    go(child, around, seen)

        go(x, context, set())
        return out

    def body(self, x: t.Term, context: Context) -> t.Term:
        """What must hold of a body by itself."""
        if any(isinstance(y, t.Read) and unfinished(y) for y in _inside(x)):
            raise Rejected("an element may be read before it is written")
        for f, around in self.folds(x, context):
            goal = t.at_most(const(1 if f.monoid in ("max", "min") else 0), f.extent)
            if goal != t.TRUE:
                self.must(integers("extent", around, goal))
        for y in [t.Apply("identity", (x,)), *_inside(x)]:
            for z in _children(y):
                if isinstance(z, t.Const) and isinstance(z.value, str):
                    neutral = {"max": "-inf", "min": "inf"}.get(y.function if isinstance(y, t.Apply) else "")
                    if z.value != neutral:
                        raise Rejected("an infinity takes part in arithmetic")
        return x

    # -- definedness --------------------------------------------------------------------------------------------------

    def needs(self, x: t.Term, context: Context) -> list[tuple[str, t.Term, Context, Binders, str]]:
        out: dict[Any, tuple[str, t.Term, Context, Binders, str]] = {}

        def see(y: t.Term, around: Context, binders: Binders) -> None:
            if isinstance(y, t.Apply) and not is_conversion(y.function):
                need = _need(y)
                if need is not None:
                    out.setdefault((*need, around), (*need, around, binders, y.function))

        _visit(x, context, see)
        return list(out.values())

    def definedness(self, a: t.Term, b: t.Term, context: Context, n: nf.Normalizer) -> None:
        known = self.needs(a, context)
        for kind, argument, around, _, function in self.needs(b, context):
            texts = {nf.condition_text(c, n) for c in around}
            instances: list[tuple[str, t.Term]] = []
            proved = False
            want = n.term(argument)
            for other, theirs, where, binders, _ in known:
                ranges = {c for v, e in binders for c in range_of(v, e)}
                if any(nf.condition_text(c, n) not in texts for c in where if c not in ranges):
                    continue
                for choice in _choices(theirs, binders, argument):
                    goals = [t.substitute_condition(c, choice) for c in where if c in ranges]
                    if all(self.follows(around, g, "instance") for g in goals):
                        instances.append((other, t.substitute(theirs, choice)))
            for other, at in instances:
                strong = other == kind or (other == "positive" and kind != "positive")
                if strong and _same_sign(want, n.term(at), kind, n):
                    proved = True
                    break
            if not proved:
                self.must(self.question(kind, argument, around, function, instances, n))

    def question(
        self,
        kind: str,
        argument: t.Term,
        around: Context,
        function: str,
        instances: Sequence[tuple[str, t.Term]],
        n: nf.Normalizer,
    ) -> Query:
        w = Reals()
        goal = _claim(kind, w.poly(n.term(argument)))
        facts: dict[str, str] = {}

        def assume(what: str, p: nf.Poly) -> None:
            facts.setdefault(_claim(what, w.poly(p)), f"{nf.poly_text(p)} {_SIGNS[what]}")

        for x in (argument, *(at for _, at in instances)):
            for y in _inside(x):
                what = _sign(y, n) if isinstance(y, t.Fold) else None
                if what is not None:
                    assume(what, n.term(y))
        for what, at in instances:
            assume(what, n.term(at))
        for c in around:
            fact = None if about_integers(c) else w.condition(c, n)
            if fact is not None:
                facts.setdefault(fact, nf.condition_text(c, n))
        says = f"{nf.poly_text(n.term(argument))} {_SIGNS[kind]}"
        return w.query(f"{function} is defined", list(facts), list(facts.values()), goal, says)


def _selection(v: Var, extent: Index, body: t.Term) -> t.Term | None:
    """The lemma `select`: a product with a factor `if v = p then .. else 0`, summed over v."""
    pending, found = [body], list[t.Term]()
    while pending:
        x = pending.pop(0)
        if isinstance(x, t.Apply) and x.function == "mul":
            pending = [*x.args, *pending]
        else:
            found.append(x)
    for x in found:
        if isinstance(x, t.Select) and x.otherwise == t.ZERO:
            for c in x.condition.parts if isinstance(x.condition, t.And) else (x.condition,):
                gap = c.left - c.right if isinstance(c, t.IndexCompare) and c.relation == "==" else const(0)
                sign = gap.coefficient(v)
                if sign is not None and sign.constant in (1, -1):
                    at = of_var(v) - sign * gap
                    return t.select(t.within(at, extent), t.substitute(body, {v: at}), t.ZERO)
    return None


_SIGNS = {"nonzero": "!= 0", "positive": "> 0", "nonnegative": ">= 0"}


def _claim(kind: str, text: str) -> str:
    return f"(not (= {text} 0.0))" if kind == "nonzero" else f"({'>' if kind == 'positive' else '>='} {text} 0.0)"


def _number(x: t.Term) -> Fraction | None:
    return x.value if isinstance(x, t.Const) and not isinstance(x.value, str) else None


def _need(y: t.Apply) -> tuple[str, t.Term] | None:
    if y.function == "power":
        e = _number(y.args[1])
        if e is None:
            return "positive", y.args[0]
        if e.denominator == 1:
            return ("nonzero", y.args[0]) if e < 0 else None
        return ("positive" if e < 0 else "nonnegative"), y.args[0]
    when = FUNCTIONS[y.function].defined_when
    return None if when is None else (when[0], y.args["xyz".index(when[1])])


def _sign(x: t.Term, n: nf.Normalizer) -> str | None:
    """`positive`, `nonnegative` or None, by the lemma on folds and the rules of signs."""

    def least(*xs: t.Term) -> str | None:
        signs = [_sign(y, n) for y in xs]
        return None if None in signs else "positive" if set(signs) == {"positive"} else "nonnegative"

    match x:
        case t.Const(v):
            return None if isinstance(v, str) or v < 0 else "positive" if v else "nonnegative"
        case t.IndexValue(i):
            return "positive" if nonnegative(i - 1) else "nonnegative" if nonnegative(i) else None
        case t.Fold(m, _, _, body):
            inner = _sign(body, n)
            return "nonnegative" if inner and m == "sum" else inner
        case t.Select(_, a, b):
            return least(a, b)
        case t.Read():
            return None
        case t.Apply(f, args):
            pass
    if f in ("square", "abs", "relu", "sqrt"):
        return "nonnegative"
    if f in ("exp", "sigmoid", "rsqrt"):
        return "positive"
    if f == "power":
        e = _number(args[1])
        odd = e is not None and e.denominator == 1 and e.numerator % 2
        return _sign(args[0], n) if odd else "nonnegative"
    if f == "mul" and (args[0] is args[1] or n.term(args[0]) == n.term(args[1])):
        return "nonnegative"
    if f in ("mul", "div", "min"):
        return least(*args)
    if f in ("reciprocal", "identity"):
        return _sign(args[0], n)
    signs = [_sign(a, n) for a in args] if f in ("add", "max") else []
    if not signs or (f == "add" and None in signs):
        return None
    return "positive" if "positive" in signs else "nonnegative" if "nonnegative" in signs else None


def _same_sign(a: nf.Poly, b: nf.Poly, kind: str, n: nf.Normalizer) -> bool:
    if a == b:
        return True
    if not a.terms or len(a.terms) != len(b.terms):
        return False
    ratio = a.terms[0][1] / b.terms[0][1]
    return (ratio > 0 or kind == "nonzero") and n.scale(b, ratio) == a


def _choices(known: t.Term, binders: Binders, wanted: t.Term) -> list[dict[Size | Var, Index]]:
    """Values of the fold variables of a known condition, read off the elements that the wanted one reads."""
    reads = [r for r in _inside(wanted) if isinstance(r, t.Read)]
    columns: list[list[Index]] = []
    for v, _ in binders:
        found: dict[Index, None] = {}
        for r in _inside(known):
            if isinstance(r, t.Read):
                for axis, i in enumerate(r.indices):
                    if i.atom == v:
                        found.update(dict.fromkeys(o.indices[axis] for o in reads if o.tensor == r.tensor))
        columns.append(list(found)[:4] or [const(0)])
    total = 1
    for c in columns:
        total *= len(c)
    out: list[dict[Size | Var, Index]] = [{}]
    for (v, _), column in zip(binders, columns, strict=True):
        out = [{**d, v: i} for d in out for i in (column[:1] if total > 16 else column)]
    return out


# -- two programs -----------------------------------------------------------------------------------------------------


def _size_maps(manifest: Mapping[str, Any]) -> tuple[dict[Size | Var, Index], dict[Size | Var, Index]]:
    maps = cast("Mapping[str, Mapping[str, str]]", manifest["sizes"])
    left, right = ({Size(k): parse(v) for k, v in maps[side].items()} for side in ("before", "after"))
    return cast(Any, left), cast(Any, right)


def state(
    before: FuncOp, after: FuncOp, manifest: Mapping[str, Any], stored: frozenset[str]
) -> tuple[Checker, list[str]]:
    """Everything that has to hold of the two programs; (the checker with the questions, what is narrowed)."""
    lowering = is_lowered(before) or is_lowered(after)
    left, right = denote(before, lowering=lowering), denote(after, lowering=lowering)
    mine, theirs = _size_maps(manifest)
    if len(left.inputs) != len(right.inputs) or len(left.outputs) != len(right.outputs):
        raise Rejected("the programs have different numbers of arguments or results")
    for a, b in (*zip(left.inputs, right.inputs, strict=True), *zip(left.outputs, right.outputs, strict=True)):
        if a.dtype != b.dtype and a.dtype is not None and b.dtype is not None:
            raise Rejected("the programs have different element types")
    for a, b in zip(left.inputs, right.inputs, strict=True):
        if [d.substitute(mine) for d in a.shape] != [d.substitute(theirs) for d in b.shape]:
            raise Rejected("the sizes of the certificate do not make the arguments' shapes equal")
    arguments = {s for c in left.inputs for d in c.shape for s in d.substitute(mine).symbols()}
    own = {s for c in right.inputs for d in c.shape for s in d.symbols()}
    free = [i for s, i in theirs.items() if s not in own]
    if len(set(free)) != len(free) or any(i.atom is None or i.atom in arguments for i in free):
        raise Rejected("a tile parameter is not free")
    checker = Checker(stored)

    def over(binding: Mapping[Size | Var, Index], value: t.Comprehension) -> t.Comprehension:
        shape = tuple(d.substitute(binding) for d in value.shape)
        return t.Comprehension(shape, value.variables, t.substitute(value.body, binding), value.dtype)

    for side, binding in ((right, theirs), (left, mine)):
        for o in side.obligations:
            hypotheses = [t.substitute_condition(h, binding) for h in o.hypotheses]
            checker.must(integers(o.kind, hypotheses, t.substitute_condition(o.goal, binding)))
    for a, b in zip(left.outputs, right.outputs, strict=True):
        checker.output(over(mine, a), over(theirs, b))
    return checker, [f"{k} = {v}" for k, v in mine.items()]
