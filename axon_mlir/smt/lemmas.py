# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The lemmas that the normal form uses, each proved by induction over ground recurrences.

A fold over `k < n` is a prefix function of which a query knows the start and one step at one symbolic `n`. Nothing
else is assumed: no quantifier, no axiom about sums. `exp` alone rests on its functional equation, a named fact of the
table of functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from axon_mlir.semantics.normal import LEMMAS
from axon_mlir.smt.encode import Query, script
from axon_mlir.smt.solver import solve


@dataclass(frozen=True)
class Lemma:
    """A statement and the obligations that prove it together."""

    name: str
    statement: str
    obligations: tuple[Query, ...]


class _Builder:
    """Collects obligations; every one is `declarations, hypotheses |- goal`."""

    def __init__(self, name: str):
        self.name = name
        self.out: list[Query] = []

    def add(self, title: str, declarations: str, hypotheses: Sequence[str], goal: str) -> None:
        """One obligation. `declarations`: `n:Int x:Real f:Int->Real`, separated by blanks."""
        lines: list[str] = []
        for item in declarations.split():
            symbol, _, sort = item.partition(":")
            *arguments, result = sort.split("->")
            lines.append(f"(declare-fun {symbol} ({' '.join(arguments)}) {result})")
        lines += [f"(assert {h})" for h in hypotheses]
        text = script([*lines, f"(assert (not {goal}))"])
        self.out.append(Query(f"lemma {self.name}: {title}", tuple(hypotheses), goal, text, text, script(lines)))


def _join(op: str, a: str, b: str) -> str:
    match op:
        case "max":
            return f"(ite (>= {a} {b}) {a} {b})"
        case "min":
            return f"(ite (<= {a} {b}) {a} {b})"
        case _:
            return f"({op} {a} {b})"


def _step(prefix: str, at: str, op: str, value: str) -> str:
    """`prefix(at + 1) = prefix(at) op value`."""
    return f"(= ({prefix} (+ {at} 1)) {_join(op, f'({prefix} {at})', value)})"


_F = "n:Int S:Int->Real T:Int->Real f:Int->Real"
_N0, _N1 = "(>= n 0)", "(>= n 1)"


def _congruence(b: _Builder) -> None:
    b.add("function", "x:Real y:Real h:Real->Real", ["(= x y)"], "(= (h x) (h y))")
    d = f"{_F} g:Int->Real"
    b.add("base", d, ["(= (S 0) 0.0)", "(= (T 0) 0.0)"], "(= (S 0) (T 0))")
    for op in ("+", "*", "max", "min"):
        held = [_N0, "(= (f n) (g n))", _step("S", "n", op, "(f n)"), _step("T", "n", op, "(g n)"), "(= (S n) (T n))"]
        b.add(f"step of {op}", d, held, "(= (S (+ n 1)) (T (+ n 1)))")


def _scale(b: _Builder) -> None:
    d = f"{_F} c:Real"
    b.add("base", d, ["(= (S 0) 0.0)", "(= (T 0) 0.0)"], "(= (T 0) (* c (S 0)))")
    held = [_N0, _step("S", "n", "+", "(f n)"), _step("T", "n", "+", "(* c (f n))"), "(= (T n) (* c (S n)))"]
    b.add("step", d, held, "(= (T (+ n 1)) (* c (S (+ n 1))))")


def _add(b: _Builder) -> None:
    d = f"{_F} g:Int->Real U:Int->Real"
    b.add("base", d, ["(= (S 0) 0.0)", "(= (T 0) 0.0)", "(= (U 0) 0.0)"], "(= (U 0) (+ (S 0) (T 0)))")
    held = [
        _N0,
        _step("S", "n", "+", "(f n)"),
        _step("T", "n", "+", "(g n)"),
        _step("U", "n", "+", "(+ (f n) (g n))"),
        "(= (U n) (+ (S n) (T n)))",
    ]
    b.add("step", d, held, "(= (U (+ n 1)) (+ (S (+ n 1)) (T (+ n 1))))")


def _const(b: _Builder) -> None:
    d = "n:Int S:Int->Real c:Real"
    b.add("base", d, ["(= (S 0) 0.0)"], "(= (S 0) (* (to_real 0) c))")
    held = [_N0, _step("S", "n", "+", "c"), "(= (S n) (* (to_real n) c))"]
    b.add("step", d, held, "(= (S (+ n 1)) (* (to_real (+ n 1)) c))")
    for op in ("max", "min"):
        b.add(f"base of {op}", d, ["(= (S 1) c)"], "(= (S 1) c)")
        b.add(f"step of {op}", d, [_N1, _step("S", "n", op, "c"), "(= (S n) c)"], "(= (S (+ n 1)) c)")


def _fubini(b: _Builder) -> None:
    zero = "l:Int Z:Int->Real"
    b.add("no rows, base", zero, ["(= (Z 0) 0.0)"], "(= (Z 0) 0.0)")
    b.add("no rows, step", zero, ["(>= l 0)", _step("Z", "l", "+", "0.0"), "(= (Z l) 0.0)"], "(= (Z (+ l 1)) 0.0)")
    # C and D: columns summed over n and n + 1 rows, R: row n; p and q: column l over n and n + 1 rows.
    row = "l:Int C:Int->Real D:Int->Real R:Int->Real p:Real q:Real f:Real"
    start = ["(= (C 0) 0.0)", "(= (D 0) 0.0)", "(= (R 0) 0.0)"]
    b.add("one more row, base", row, start, "(= (D 0) (+ (C 0) (R 0)))")
    held = [
        "(>= l 0)",
        _step("C", "l", "+", "p"),
        _step("D", "l", "+", "q"),
        _step("R", "l", "+", "f"),
        "(= q (+ p f))",
        "(= (D l) (+ (C l) (R l)))",
    ]
    b.add("one more row, step", row, held, "(= (D (+ l 1)) (+ (C (+ l 1)) (R (+ l 1))))")
    main = "n:Int rows:Int->Real columns:Int->Real row:Int->Real"
    b.add("base", main, ["(= (rows 0) 0.0)", "(= (columns 0) 0.0)"], "(= (rows 0) (columns 0))")
    held = [
        _N0,
        _step("rows", "n", "+", "(row n)"),
        "(= (columns (+ n 1)) (+ (columns n) (row n)))",
        "(= (rows n) (columns n))",
    ]
    b.add("step", main, held, "(= (rows (+ n 1)) (columns (+ n 1)))")


_TILING = ["(>= n 1)", "(>= s 1)", "(< (* s (- c 1)) n)", "(<= n (* s c))"]
"""c = ceildiv(n, s)."""


def _tile(b: _Builder) -> None:
    b.add("count", "n:Int s:Int c:Int q:Int", _QUOTIENT, "(and (< (* s (- c 1)) n) (<= n (* s c)))")
    monotone = ["(>= s 1)", "(<= t (- c 1))"]
    b.add("order", "s:Int t:Int c:Int", monotone, "(<= (* s t) (* s (- c 1)))")
    d = "n:Int s:Int c:Int t:Int j:Int S:Int->Real I:Int->Real f:Int->Real"
    p = "(* s t)"
    for op, first in (("+", 0), ("*", 0), ("max", 1), ("min", 1)):
        neutral = "0.0" if op == "+" else "1.0"

        def inside(j: str, op: str = op) -> str:
            return f"(= (S (+ {p} {j})) {_join(op, f'(S {p})', f'(I {j})')})"

        if first == 0:
            b.add(f"inside, base of {op}", d, [f"(= (I 0) {neutral})"], inside("0"))
        else:
            held = ["(= (I 1) (f (* s t)))", _step("S", p, op, f"(f {p})")]
            b.add(f"inside, base of {op}", d, held, inside("1"))
        at = f"(+ {p} j)"
        held = [f"(>= j {first})", _step("I", "j", op, f"(f {at})"), _step("S", at, op, f"(f {at})"), inside("j")]
        b.add(f"inside, step of {op}", d, held, inside("(+ j 1)"))
        tiles = f"{d} T:Int->Real e:Int"
        extent = ["(or (= e s) (= e (- n (* s t))))", "(<= e s)", "(<= e (- n (* s t)))"]
        covered = "(ite (<= (* s {0}) n) (* s {0}) n)"
        if first == 0:
            start = [*_TILING, f"(= (T 0) {neutral})", f"(= (S 0) {neutral})", "(= (* s 0) 0)"]
            b.add(f"base of {op}", tiles, start, f"(= (T 0) (S {covered.format('0')}))")
        else:
            # The first tile: T(1) is its own fold, which from 0 is S itself.
            start = [*_TILING, "(= t 0)", *extent, "(= (T 1) (I e))", "(= (I e) (S e))"]
            b.add(f"base of {op}", tiles, start, f"(= (T 1) (S {covered.format('1')}))")
        held = [
            *_TILING,
            f"(>= t {first})",
            "(< t c)",
            "(<= (* s t) (* s (- c 1)))",
            "(= (* s (+ t 1)) (+ (* s t) s))",
            *extent,
            inside("e"),
            _step("T", "t", op, "(I e)"),
            f"(= (T t) (S {covered.format('t')}))",
        ]
        b.add(f"step of {op}", tiles, held, f"(= (T (+ t 1)) (S {covered.format('(+ t 1)')}))")
    b.add("all tiles", "n:Int s:Int c:Int", _TILING, "(= (ite (<= (* s c) n) (* s c) n) n)")
    extent = ["(>= t 0)", "(< t c)", "(<= (* s t) (* s (- c 1)))"]
    inside_goal = "(and (>= (ite (<= s (- n (* s t))) s (- n (* s t))) 1) (>= (* s t) 0))"
    b.add("no empty tile", "n:Int s:Int c:Int t:Int", [*_TILING, *extent, "(>= (* s t) 0)"], inside_goal)


_QUOTIENT = ["(>= n 1)", "(>= s 1)", "(= c (+ q 1))", "(<= (* s q) (- n 1))", "(< (- n 1) (+ (* s q) s))"]
"""c = ceildiv(n, s) = (n - 1) // s + 1."""


def _cover(b: _Builder) -> None:
    d = "n:Int s:Int c:Int i:Int t:Int"
    floor = ["(<= (* s t) i)", "(< i (+ (* s t) s))"]
    inside = ["(<= 0 i)", "(< i n)"]
    up = "(=> (>= t c) (>= (* s t) (* s c)))"
    b.add("order", "s:Int t:Int c:Int", ["(>= s 1)", "(>= t c)"], "(>= (* s t) (* s c))")
    b.add("negative", "s:Int t:Int", ["(>= s 1)", "(<= t (- 1))"], "(<= (* s t) (- s))")
    down = "(=> (<= t (- 1)) (<= (* s t) (- s)))"
    goal = "(and (<= 0 t) (< t c) (<= (* s t) i) (< i (+ (* s t) (ite (<= s (- n (* s t))) s (- n (* s t))))))"
    b.add("every index is in its tile", d, [*_TILING, *inside, *floor, up, down], goal)
    extent = "(< i (+ (* s t) (ite (<= s (- n (* s t))) s (- n (* s t)))))"
    held = [*_TILING, "(<= 0 t)", "(< t c)", "(<= (* s t) i)", extent, "(>= (* s t) 0)"]
    b.add("tiles hold only indices", d, held, "(and (<= 0 i) (< i n))")
    two = f"{d} u:Int"
    apart = ["(=> (> t u) (>= (* s t) (+ (* s u) s)))", "(=> (< t u) (>= (* s u) (+ (* s t) s)))"]
    b.add("distance", "s:Int t:Int u:Int", ["(>= s 1)", "(> t u)"], "(>= (* s t) (+ (* s u) s))")
    held = ["(>= s 1)", *floor, "(<= (* s u) i)", "(< i (+ (* s u) s))", *apart]
    b.add("an index is in one tile", two, held, "(= t u)")


def _single(b: _Builder) -> None:
    d = "S:Int->Real f:Int->Real"
    b.add("sum", d, ["(= (S 0) 0.0)", "(= (S 1) (+ (S 0) (f 0)))"], "(= (S 1) (f 0))")
    b.add("prod", d, ["(= (S 0) 1.0)", "(= (S 1) (* (S 0) (f 0)))"], "(= (S 1) (f 0))")


def _max_scale(b: _Builder) -> None:
    d = f"{_F} c:Real"
    for op in ("max", "min"):
        b.add(f"base of {op}", d, ["(= (S 1) (f 0))", "(= (T 1) (* c (f 0)))"], "(= (T 1) (* c (S 1)))")
        held = [
            "(>= c 0.0)",
            _N1,
            _step("S", "n", op, "(f n)"),
            _step("T", "n", op, "(* c (f n))"),
            "(= (T n) (* c (S n)))",
        ]
        b.add(f"step of {op}", d, held, "(= (T (+ n 1)) (* c (S (+ n 1))))")


def _max_shift(b: _Builder) -> None:
    d = f"{_F} c:Real"
    for op in ("max", "min"):
        b.add(f"base of {op}", d, ["(= (S 1) (f 0))", "(= (T 1) (+ (f 0) c))"], "(= (T 1) (+ (S 1) c))")
        held = [_N1, _step("S", "n", op, "(f n)"), _step("T", "n", op, "(+ (f n) c)"), "(= (T n) (+ (S n) c))"]
        b.add(f"step of {op}", d, held, "(= (T (+ n 1)) (+ (S (+ n 1)) c))")


def _power(b: _Builder) -> None:
    d = "a:Int b:Int x:Real p:Int->Real"
    b.add("base", d, ["(= (p 0) 1.0)"], "(= (* (p a) (p 0)) (p (+ a 0)))")
    held = [
        "(>= a 0)",
        "(>= b 0)",
        _step("p", "b", "*", "x"),
        _step("p", "(+ a b)", "*", "x"),
        "(= (* (p a) (p b)) (p (+ a b)))",
    ]
    b.add("step", d, held, "(= (* (p a) (p (+ b 1))) (p (+ a b 1)))")
    inverse = f"{d} r:Real q:Int->Real"
    b.add("inverse, base", inverse, ["(= (q 0) 1.0)"], "(= (* (p a) (q 0)) (p (- a 0)))")
    # Over reals alone: P = p(a), Q = q(b), D = p(a - b) = p(a - b - 1) * x, E = p(a - b - 1), q(b + 1) = Q * r.
    named = "P:Real Q:Real D:Real E:Real x:Real r:Real U:Real"
    b.add("inverse, regrouped", "E:Real x:Real r:Real U:Real", ["(= U (* r x))", "(= U 1.0)"], "(= (* (* E x) r) E)")
    held = ["(= (* P Q) D)", "(= (* D r) E)"]
    b.add("inverse, step", named, held, "(= (* P Q r) E)")
    product = "n:Int x:Real y:Real X:Int->Real Y:Int->Real Z:Int->Real"
    ones = ["(= (X 0) 1.0)", "(= (Y 0) 1.0)", "(= (Z 0) 1.0)"]
    b.add("product, base", product, ones, "(= (Z 0) (* (X 0) (Y 0)))")
    held = [
        _N0,
        _step("X", "n", "*", "x"),
        _step("Y", "n", "*", "y"),
        _step("Z", "n", "*", "(* x y)"),
        "(= (Z n) (* (X n) (Y n)))",
    ]
    b.add("product, step", product, held, "(= (Z (+ n 1)) (* (X (+ n 1)) (Y (+ n 1))))")
    roots = ["(>= y 0.0)", "(>= z 0.0)", "(= (* y y) (* z z))"]
    b.add("one root", "y:Real z:Real", roots, "(= y z)")


def _exp(b: _Builder) -> None:
    # E(n) = exp(n * a), p(n) = exp(a)^n; the functional equation and exp(0) = 1 are facts about exp.
    d = "n:Int E:Int->Real p:Int->Real e:Real"
    b.add("multiple, base", d, ["(= (E 0) 1.0)", "(= (p 0) 1.0)"], "(= (E 0) (p 0))")
    held = [_N0, "(= (E (+ n 1)) (* (E n) e))", _step("p", "n", "*", "e"), "(= (E n) (p n))"]
    b.add("multiple, step", d, held, "(= (E (+ n 1)) (p (+ n 1)))")
    inverse = "a:Real e:Real->Real"
    held = ["(= (e 0.0) 1.0)", "(= (e (+ a (- a))) (* (e a) (e (- a))))"]
    b.add("inverse", inverse, held, "(= (* (e a) (e (- a))) 1.0)")


def _fraction(b: _Builder) -> None:
    d = "p:Real l:Real r:Real u:Real v:Real"
    b.add("step", d, ["(= p (+ l r))", "(= v (* u p))"], "(= (* l u) (- v (* r u)))")


def _nonnegative(b: _Builder) -> None:
    d = "n:Int S:Int->Real f:Int->Real"
    b.add("base of +", d, ["(= (S 0) 0.0)"], "(>= (S 0) 0.0)")
    held = [_N0, "(>= (f n) 0.0)", _step("S", "n", "+", "(f n)"), "(>= (S n) 0.0)"]
    b.add("step of +", d, held, "(>= (S (+ n 1)) 0.0)")
    for op, relation in (("*", ">="), ("*", ">"), ("max", ">="), ("max", ">"), ("min", ">="), ("min", ">")):
        first = [f"({relation} (f 0) 0.0)", "(= (S 1) (f 0))"]
        b.add(f"base of {op}, {relation}", d, first, f"({relation} (S 1) 0.0)")
        held = [_N1, f"({relation} (f n) 0.0)", _step("S", "n", op, "(f n)"), f"({relation} (S n) 0.0)"]
        b.add(f"step of {op}, {relation}", d, held, f"({relation} (S (+ n 1)) 0.0)")


def _select(b: _Builder) -> None:
    d = "n:Int p:Int S:Int->Real f:Int->Real"
    value = "(ite (and (<= 0 p) (< p {0})) (f p) 0.0)"
    b.add("base", d, ["(= (S 0) 0.0)"], f"(= (S 0) {value.format('0')})")
    held = [_N0, _step("S", "n", "+", "(ite (= n p) (f n) 0.0)"), f"(= (S n) {value.format('n')})"]
    b.add("step", d, held, f"(= (S (+ n 1)) {value.format('(+ n 1)')})")


_PROOFS = {
    "congruence": _congruence,
    "scale": _scale,
    "add": _add,
    "const": _const,
    "fubini": _fubini,
    "tile": _tile,
    "single": _single,
    "max-scale": _max_scale,
    "max-shift": _max_shift,
    "power": _power,
    "exp": _exp,
    "fraction": _fraction,
    "cover": _cover,
    "nonnegative": _nonnegative,
    "select": _select,
}

_MORE = {
    "cover": "i is in [s*t, s*t + min(s, n - s*t)) for one t < ceildiv(n, s), t = i // s, iff 0 <= i < n",
    "nonnegative": "a fold of terms >= 0 is >= 0",
    "select": "sum(k < n: if k = p then f[k] else 0) = if 0 <= p < n then f[p] else 0",
}


def lemma(name: str) -> Lemma:
    """A lemma with the obligations that prove it."""
    builder = _Builder(name)
    _PROOFS[name](builder)
    statement = LEMMAS[name] if name in LEMMAS else _MORE[name]
    return Lemma(name, statement, tuple(builder.out))


def names() -> tuple[str, ...]:
    """Every lemma."""
    return tuple(_PROOFS)


def unproved(of: Lemma) -> list[Query]:
    """The obligations of a lemma that the solver does not prove (none, for every lemma of the table)."""
    return [q for q in of.obligations if solve(q.text) != "unsat"]
