# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether two functions compute the same, for all sizes: the whole argument, step by step.

Refute first, at small sizes; then discharge the obligations of both denotations, resolve guards, compare normal forms,
close what is left by real arithmetic or induction, and show that the second function is defined wherever the first is.
What is not proved then is tried at sizes that take every loop twice.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import lru_cache, partial

from xdsl.dialects.func import FuncOp

from axon_mlir.errors import AxonError
from axon_mlir.semantics import terms as t
from axon_mlir.semantics.agreement import agree
from axon_mlir.semantics.assumptions import Shapes, input_shapes, normalizer
from axon_mlir.semantics.cases import Attempt, Case, attempts, tile_contexts
from axon_mlir.semantics.congruence import part_by_part
from axon_mlir.semantics.constants import Exact, replaced
from axon_mlir.semantics.denotation import Denotation, Undenotable, dtype_of
from axon_mlir.semantics.digits import plain
from axon_mlir.semantics.index import Index, Size, Var, const, evaluate, of_var
from axon_mlir.semantics.infinite import stray, without
from axon_mlir.semantics.normal import ZERO, Normalizer, Poly, TooLarge, poly_text
from axon_mlir.semantics.partial import Condition, conditions
from axon_mlir.semantics.pieces import Pieces
from axon_mlir.semantics.remainders import by_remainder
from axon_mlir.semantics.shapes import dtype_name, is_tensor, shape_of
from axon_mlir.semantics.walk import Context, bound_twice, folds, reads_undefined
from axon_mlir.smt.constants import Meant, meanings
from axon_mlir.smt.definedness import Definedness
from axon_mlir.smt.encode import Query, integer_query
from axon_mlir.smt.guards import Resolver, extent_goal, implied, output_context
from axon_mlir.smt.induction import induction_queries
from axon_mlir.smt.ledger import compare_ledgers
from axon_mlir.smt.reading import Reading, read
from axon_mlir.smt.reals import NotReal, equality_text
from axon_mlir.smt.refute import refute, refute_specially
from axon_mlir.smt.refute_conversions import refute_conversions
from axon_mlir.smt.sizes import Binding, NoCommonSizes, Unified, unify
from axon_mlir.smt.solver import solve
from axon_mlir.smt.verdict import Counterexample, Discharged, Verdict
from axon_mlir.smt.verdict_cache import Goal, Remembered, goal_of, users_cache

EXACT_RLIMIT = 1_500_000
_SAMPLES = ((2, 3, 5, 7, 11, 13), (3, 2, 7, 5, 13, 11), (1, 4, 2, 3, 6, 5), (128, 200, 130, 512, 96, 64))
"""Sizes at which two shapes that are not provably equal are compared."""


_WHY = {"sat": "it does not follow", "unknown": "the solver has not decided it within its budget"}
"""What an answer means for a goal that it does not prove."""


@dataclass
class Proof:
    """What a proof consists of: every query with its answer, and the lemma instances."""

    queries: list[tuple[Query, str]] = field(default_factory=list[tuple[Query, str]])
    """(query, where)."""
    lemmas: set[str] = field(default_factory=set[str])
    tiles: set[str] = field(default_factory=set[str])
    discharged: list[Discharged] = field(default_factory=list[Discharged])
    failed: list[Discharged] = field(default_factory=list[Discharged])
    before_sizes: Binding = field(default_factory=dict[Size | Var, Index])
    after_sizes: Binding = field(default_factory=dict[Size | Var, Index])
    before_constants: Meant = field(default_factory=dict[Fraction, Exact])
    after_constants: Meant = field(default_factory=dict[Fraction, Exact])

    @property
    def constants(self) -> tuple[str, ...]:
        """The constants that were taken for exact values, as text."""
        both = (*self.before_constants.items(), *self.after_constants.items())
        return tuple(f"{float(c)!r} as {e}" for c, e in both)

    def branch(self) -> Proof:
        """A copy to go on with another way."""
        return replace(
            self,
            queries=list(self.queries),
            lemmas=set(self.lemmas),
            tiles=set(self.tiles),
            discharged=list(self.discharged),
            failed=list(self.failed),
        )

    def adopt(self, other: Proof) -> None:
        """Become what another way has found."""
        for f in fields(self):
            setattr(self, f.name, getattr(other, f.name))

    def remembered(self, goal: Goal, *, filtered: bool) -> Remembered:
        """The proof as the cache keeps it."""
        return Remembered(
            goal.programs,
            goal.sizes,
            filtered,
            tuple(sorted(self.lemmas)),
            tuple(sorted(self.tiles)),
            tuple(self.queries),
            tuple(self.discharged),
        )

    def recall(self, known: Remembered, goal: Goal) -> None:
        """Become a proof that was kept; of programs with other names it has only what the verdict says."""
        self.lemmas = set(known.lemmas)
        self.tiles = set(known.tiles_of(goal))
        self.discharged = list(known.discharged)
        self.queries = list(known.queries) if known.programs == goal.programs else []

    def ask(self, query: Query, where: str) -> bool:
        """Solve a query and record it."""
        obligation = f"{query.kind} at {where}"
        answer = solve(query.text, obligation=obligation)
        used = query
        if answer != "unsat" and query.exact != query.text:
            answer = solve(query.exact, rlimit=EXACT_RLIMIT, obligation=obligation)
            used = replace(query, text=query.exact)
        if answer == "unsat":
            done = Discharged(query.kind, where, query.goal, "proved")
        else:
            done = Discharged(query.kind, where, query.goal, "unknown", _WHY[answer])
        self.discharged.append(done)
        if answer != "unsat":
            self.failed.append(done)
            return False
        self.queries.append((used, where))
        return True

    def why(self) -> str:
        """Why the obligation that was asked for last is open."""
        return self.discharged[-1].why if self.discharged else ""

    def decide(self, context: Context, goal: t.Condition, where: str) -> bool:
        """Whether an integer condition follows; recorded only when it does. Where nothing can be, nothing follows."""
        if goal == t.TRUE or goal in context:
            return True
        if not implied(context, goal):
            return False
        query = integer_query("instance", context, goal)
        return solve(query.premises) != "unsat" and self.ask(query, where)


class NotProved(Exception):
    """The proof stops here: the reason's name, and what is open."""

    def __init__(self, reason: str, detail: str):
        super().__init__(reason)
        self.reason = reason
        self.detail = detail


def prove_functions(
    before: FuncOp | Reading,
    after: FuncOp | Reading,
    *,
    use_filter: bool = True,
    check_ledger: bool | None = None,
    same_domain: bool = False,
    timeout: float | None = None,
    proof: Proof | None = None,
) -> Verdict:
    """Compare two functions. `use_filter`: look for a counterexample first. `check_ledger`: also compare roundings
    (by default where one of the functions is lowered).

    `same_domain`: the second function must accept all sizes that the first accepts, with the same constants.
    `timeout`: seconds after which no further query is started. `proof` receives what the proof consists of; without it
    a proof of the same programs under other names is as good.
    """
    started = time.monotonic()
    first, second = read(before), read(after)
    before, after = first.function, second.function
    whole = proof is not None
    proof = proof if proof is not None else Proof()
    sizes: dict[str, str] = {}

    def verdict(
        word: str, reason: str, detail: str = "", counterexample: Counterexample | None = None, *, cached: bool = False
    ) -> Verdict:
        return Verdict(
            "proved" if word == "proved" else "refuted" if word == "refuted" else "unknown",
            reason,
            tuple(sorted(proof.lemmas)),
            tuple(sorted(proof.tiles)),
            tuple(proof.discharged),
            counterexample,
            time.monotonic() - started,
            sizes,
            detail,
            proof.constants,
            cached,
        )

    mismatch = signature_mismatch(before, after)
    if mismatch is not None:
        return verdict("refuted", "signature", mismatch)
    try:
        unified, left, right = denote_pair(first, second)
    except NoCommonSizes as error:
        return verdict("refuted" if error.differ else "unknown", "sizes", str(error))
    except AxonError as error:
        found = refute(first, second, {}, None) if use_filter else None
        if found is not None:
            return verdict("refuted", found.reason, found.detail, found.counterexample)
        return verdict("unknown", "denotation", f"{error.where}: {error.message}" if error.where else error.message)
    sizes.update(unified.names())
    proof.before_sizes, proof.after_sizes = unified.before, unified.after
    if unified.narrowed:
        sizes["narrowed"] = "; ".join(unified.narrowed)
        if same_domain:
            return verdict("refuted", "sizes", f"only for {'; '.join(unified.narrowed)}")
    shapes = compare_shapes(left, right, proof)
    if shapes is not None:
        return verdict(shapes.word, "shape", shapes.detail, shapes.counterexample)
    cache = users_cache()
    goal = goal_of(before, after, left, right) if cache is not None else None
    known = cache.recall(goal, whole=whole) if cache is not None and goal is not None else None
    if use_filter and not (known is not None and known.filtered):
        # A program in loops is slow to run, and mostly right: other sizes and inputs are for where the proof fails.
        found = refute(first, second, dict(unified.after), (left, right), narrowed=unified.before, few=second.lowered)
        if found is not None:
            return verdict("refuted", found.reason, found.detail, found.counterexample)
    if check_ledger if check_ledger is not None else first.lowered or second.lowered:
        worse = compare_ledgers(first.ledger, second.ledger)
        if worse is not None:
            return verdict("refuted", "ledger", worse)
    if known is not None and goal is not None:
        proof.recall(known, goal)
        return verdict("proved", "", cached=True)
    deadline = None if timeout is None else started + timeout
    start = proof.branch()
    try:
        prove_pair(left, right, start, deadline)
        proof.adopt(start)
        if cache is not None and goal is not None:
            cache.keep(goal, proof.remembered(goal, filtered=use_filter))
    except NotProved as stop:
        if not same_domain and _prove_with_constants(before, after, left, right, proof, deadline):
            return verdict("proved", "")
        proof.adopt(start)
        if use_filter:
            ways = [refute if second.lowered else refute_specially, partial(refute, large=True)]
            for way in ways:
                found = way(first, second, dict(unified.after), (left, right), narrowed=unified.before)
                if found is not None:
                    return verdict("refuted", found.reason, found.detail, found.counterexample)
            found = refute_conversions(before, after, dict(unified.after), (left, right), narrowed=unified.before)
            if found is not None:
                return verdict("refuted", found.reason, found.detail, found.counterexample)
        return verdict("unknown", stop.reason, stop.detail)
    except Undenotable as error:
        return verdict("unknown", "denotation", str(error))
    except TooLarge as error:
        return verdict("unknown", "size", error.message)
    return verdict("proved", "")


def _prove_with_constants(
    before: FuncOp, after: FuncOp, left: Denotation, right: Denotation, proof: Proof, deadline: float | None
) -> bool:
    """Whether the proof goes through with constants taken for the exact values that they are roundings of."""
    for mine, theirs in meanings(*([c.body for c in d.outputs] for d in (left, right))):
        branch = replace(proof.branch(), before_constants=mine, after_constants=theirs)
        try:
            prove_pair(left, right, branch, deadline)
        except (NotProved, Undenotable, TooLarge):
            continue
        if agree(before, after, proof.before_sizes, proof.after_sizes):
            proof.adopt(branch)
            return True
    return False


def signature_mismatch(before: FuncOp, after: FuncOp) -> str | None:
    """What differs in the types of arguments and results, sizes aside."""
    for what, mine, theirs in (
        ("arguments", before.function_type.inputs.data, after.function_type.inputs.data),
        ("results", before.function_type.outputs.data, after.function_type.outputs.data),
    ):
        if len(mine) != len(theirs):
            return f"{len(mine)} {what} before, {len(theirs)} after"
        for n, (a, b) in enumerate(zip(mine, theirs, strict=True)):
            ranks = [len(shape_of(x)) if is_tensor(x) else 0 for x in (a, b)]
            kinds = [dtype_of(x) or dtype_name(x) for x in (a, b)]
            if ranks[0] != ranks[1]:
                return f"{what[:-1]} {n} has rank {ranks[0]} before and {ranks[1]} after"
            if kinds[0] != kinds[1]:
                return f"{what[:-1]} {n} is {kinds[0]} before and {kinds[1]} after"
    return None


def denote_pair(before: FuncOp | Reading, after: FuncOp | Reading) -> tuple[Unified, Denotation, Denotation]:
    """Both denotations over common sizes."""
    before, after = read(before), read(after)
    lowering = before.lowered or after.lowered
    left, right = before.denotation(lowering=lowering), after.denotation(lowering=lowering)
    foreign = {s.name for c in right.outputs for s in _sizes_of(c)}
    foreign |= {s.name for o in right.obligations for c in (*o.hypotheses, o.goal) for s in _condition_sizes(c)}
    arguments = {s.name for c in right.inputs for d in c.shape for s in d.symbols() if isinstance(s, Size)}
    unified = unify([c.shape for c in left.inputs], [c.shape for c in right.inputs], frozenset(foreign - arguments))
    return unified, left.substitute(unified.before), right.substitute(unified.after)


def _sizes_of(c: t.Comprehension) -> set[Size]:
    symbols = set(t.free_symbols(c.body)).union(*(d.symbols() for d in c.shape))
    return {s for s in symbols if isinstance(s, Size)}


def _condition_sizes(c: t.Condition) -> set[Size]:
    return {s for s in t.free_symbols(c) if isinstance(s, Size)}


@dataclass(frozen=True)
class _Shapes:
    word: str
    detail: str
    counterexample: Counterexample | None = None


def compare_shapes(left: Denotation, right: Denotation, proof: Proof) -> _Shapes | None:
    """None when the results' shapes agree for all sizes."""
    for n, (a, b) in enumerate(zip(left.outputs, right.outputs, strict=True)):
        for axis, (d, e) in enumerate(zip(a.shape, b.shape, strict=True)):
            if d == e:
                continue
            if proof.ask(integer_query("shape", (), t.equal(d, e)), f"result {n}"):
                continue
            proof.failed.clear()
            why = proof.why()
            detail = f"axis {axis} of result {n} is {d} before and {e} after"
            for sample in _SAMPLES:
                symbols = sorted({str(s) for s in d.symbols() | e.symbols()})
                env: dict[Size | Var, int] = {Size(s): sample[k % len(sample)] for k, s in enumerate(symbols)}
                x, y = int(evaluate(d, env)), int(evaluate(e, env))
                if x != y:
                    dims = {str(k): v for k, v in env.items()}
                    return _Shapes("refuted", detail, Counterexample(dims, (), n, (axis,), x, y))
            return _Shapes("unknown", f"{detail}: {why}")
    return None


def at_common_indices(value: t.Comprehension) -> t.Comprehension:
    """The comprehension over the variables `o0`, `o1`, ..., which both programs share; along a unit axis at 0."""
    names = tuple(Var(f"o{n}") for n in range(len(value.shape)))
    at = [const(0) if d == 1 else of_var(v) for v, d in zip(names, value.shape, strict=True)]
    return replace(value, variables=names, body=value.at(at))


def prove_pair(left: Denotation, right: Denotation, proof: Proof, deadline: float | None = None) -> None:
    """Prove that the second denotation refines the first; NotProved when some step does not go through."""

    def still(what: str) -> None:
        if deadline is not None and time.monotonic() > deadline:
            raise NotProved("timeout", f"time is over before {what}")

    for denotation in (right, left):
        for o in denotation.obligations:
            still(f"{o.kind} at {o.where}")
            if not proof.ask(integer_query(o.kind, o.hypotheses, o.goal), o.where):
                raise NotProved("obligation", f"{o.kind} at {o.where}: {t.text(o.goal)}: {proof.why()}")
    for n, outputs in enumerate(zip(left.outputs, right.outputs, strict=True)):
        for a, b in by_remainder(*outputs):
            still(f"equality of result {n}")
            _prove_output(n, at_common_indices(a), at_common_indices(b), input_shapes(left), proof)


@lru_cache(maxsize=16)
def _unguarded(
    body: t.Term, context: Context, extents: tuple[tuple[Var, Index], ...]
) -> tuple[t.Term, frozenset[str], tuple[tuple[Context, t.Condition], ...]]:
    """A body without decided guards, its indices not taken apart where that says nothing; the lemmas of that, and what
    was decided. What a step makes the next one takes."""
    resolver = Resolver()
    body = plain(resolver.term(body, context), dict(extents), resolver.lemmas)
    return body, frozenset(resolver.lemmas), tuple(resolver.decided)


def resolved(value: t.Comprehension, context: Context, where: str, proof: Proof) -> t.Term:
    """The body without decided guards; its folds have the extents that the lemmas presuppose."""
    assert bound_twice(value.body) is None
    body, lemmas, decided = _unguarded(value.body, context, tuple(value.extents.items()))
    assert bound_twice(body) is None
    proof.lemmas |= lemmas
    for around, goal in decided:
        proof.ask(integer_query("guard", around, goal), where)
    if reads_undefined(body):
        raise NotProved("unwritten", f"{where}: an element may be read before it is written")
    for around, fold in folds(body, context):
        goal = extent_goal(fold)
        if goal != t.TRUE and not proof.ask(integer_query("extent", around, goal), where):
            raise NotProved(
                "extent", f"{where}: the range of a {fold.monoid} may be empty: {fold.extent}: {proof.why()}"
            )
    if stray(without(body)):
        raise NotProved("infinity", f"{where}: an infinity takes part in arithmetic")
    return body


def _prove_output(n: int, a: t.Comprehension, b: t.Comprehension, shapes: Shapes, proof: Proof) -> None:
    where = f"result {n}"
    context = output_context(a)
    left, right = resolved(a, context, where, proof), resolved(b, context, where, proof)
    pieces = Pieces(lambda around, goal: proof.decide(around, goal, where))
    mine, theirs = (list(map(pieces.settled, conditions(z, context))) for z in (left, right))
    x, y = replaced(without(left), proof.before_constants), replaced(without(right), proof.after_constants)
    # What is equal part by part needs no look at the whole.
    equal, theirs = part_by_part(x, y, mine, theirs, proof.lemmas)
    if equal and not (theirs or pieces.lemmas):
        return
    normal = normalizer((left, right), mine, context, pieces, shapes)
    try:
        if not equal:
            _prove_equal(x, y, context, normal, pieces, where, proof)
    except NotProved as stop:
        # Where the second is not defined, it need not be equal.
        _prove_defined(mine, theirs, normal, pieces, where, proof.branch())
        raise stop
    _prove_defined(mine, theirs, normal, pieces, where, proof)
    _prove_tiles(normal.tiles, (Case(context, left, right),), context, where, proof)
    proof.lemmas |= normal.lemmas | pieces.lemmas
    proof.tiles |= tile_texts(normal.tiles)


def _prove_defined(
    mine: Sequence[Condition],
    theirs: Sequence[Condition],
    normal: Normalizer,
    pieces: Pieces,
    where: str,
    proof: Proof,
) -> None:
    """The second program is defined wherever the first is."""
    known = Definedness(mine, normal, lambda c, g: proof.decide(c, g, where), pieces=pieces.term)
    for wanted in theirs:
        done, query = known.follows(wanted)
        if done:
            continue
        if query is None or not proof.ask(query, where):
            text = query.goal if query is not None else t.text(wanted.argument)
            why = proof.why() if query is not None else "no question about reals says it"
            raise NotProved("definedness", f"{where}: {wanted.function} needs {text}: {why}")
        if solve(query.premises) == "unsat":
            raise NotProved("contradiction", f"{where}: the first program is defined nowhere")
    proof.lemmas |= known.lemmas


def _prove_equal(
    x: t.Term, y: t.Term, context: Context, normal: Normalizer, pieces: Pieces, where: str, proof: Proof
) -> None:
    """Both terms are equal where the context holds: their normal forms are, or what closes the difference is found.
    `normal` and `pieces` are used again for where the programs are defined."""
    stops: list[NotProved] = []
    for attempt in attempts(x, y, context, normal, pieces):
        branch = proof.branch()
        try:
            for case, (a, b) in zip(attempt.cases, attempt.forms, strict=True):
                _prove_residual(a, b, attempt, case.context, where, branch)
            _prove_tiles(attempt.normal.tiles, attempt.cases, context, where, branch)
        except NotProved as stop:
            stops.append(stop)
            continue
        proof.adopt(branch)
        proof.lemmas |= attempt.normal.lemmas | attempt.lemmas
        proof.tiles |= tile_texts(attempt.normal.tiles)
        return
    raise stops[0]


def tile_texts(tiles: Iterable[tuple[Index, Index]]) -> set[str]:
    """Instances of the tile lemma, as they are listed."""
    return {f"n = {n}, s = {s}" for n, s in tiles}


def _prove_tiles(
    tiles: Iterable[tuple[Index, Index]], cases: Sequence[Case], context: Context, where: str, proof: Proof
) -> None:
    """The side conditions of every instance of the tile lemma: a length >= 0, a step >= 1."""
    for n, s in sorted(tiles, key=str):
        goal = t.conj([t.at_most(const(0), n), t.at_most(const(1), s)])
        for around in tile_contexts(n, s, cases, context):
            if goal != t.TRUE and not proof.ask(integer_query("tile", around, goal), where):
                raise NotProved("tile", f"{where}: n = {n}, s = {s}: {proof.why()}")


def _prove_residual(x: Poly, y: Poly, attempt: Attempt, context: Context, where: str, proof: Proof) -> None:
    """Close what normal forms leave open: real arithmetic over the atoms, then induction."""
    normal, difference = attempt.normal, attempt.gap(x, y)
    for a, b in ((x, y), (difference, ZERO)):
        if a == b:
            proof.queries.append((equality_text("normal form", a, b, facts=False), where))
            return
    try:
        for a, b in ((x, y), (difference, ZERO)):
            query = equality_text("equality", a, b, context=context, normal=normal)
            if solve(query.premises) != "unsat" and proof.ask(query, where):
                return
            proof.failed.clear()
        for queries in induction_queries(difference, normal):
            if all(solve(q.premises) != "unsat" for q in queries) and all(proof.ask(q, where) for q in queries):
                return
            proof.failed.clear()
    except NotReal as error:
        raise NotProved("infinity", f"{where}: {error}") from error
    said = f"{where}: {_shortened(poly_text(x))}\nagainst {_shortened(poly_text(y))}"
    raise NotProved("different", f"{said}\nneither facts about their parts nor induction over a size close it")


def _shortened(text: str) -> str:
    return text if len(text) <= 600 else text[:600] + "..."
