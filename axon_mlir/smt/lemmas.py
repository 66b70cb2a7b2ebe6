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


def _pointwise(b: _Builder, op: str, neutral: str) -> None:
    """A fold of `f op g` is the two folds, combined by op."""
    d = f"{_F} g:Int->Real U:Int->Real"
    b.add("base", d, [f"(= ({x} 0) {neutral})" for x in "STU"], f"(= (U 0) ({op} (S 0) (T 0)))")
    held = [
        _N0,
        _step("S", "n", op, "(f n)"),
        _step("T", "n", op, "(g n)"),
        _step("U", "n", op, f"({op} (f n) (g n))"),
        f"(= (U n) ({op} (S n) (T n)))",
    ]
    b.add("step", d, held, f"(= (U (+ n 1)) ({op} (S (+ n 1)) (T (+ n 1))))")


def _add(b: _Builder) -> None:
    _pointwise(b, "+", "0.0")


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
    b.add("empty sum", "S:Int->Real", ["(= (S 0) 0.0)"], "(= 0.0 (S 0))")
    b.add("empty prod", "S:Int->Real", ["(= (S 0) 1.0)"], "(= 1.0 (S 0))")


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
    for op, relation in (("+", ">"), ("*", ">="), ("*", ">"), ("max", ">="), ("max", ">"), ("min", ">="), ("min", ">")):
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


def _max_negate(b: _Builder) -> None:
    for op, other in (("max", "min"), ("min", "max")):
        b.add(f"base of {op}", _F, ["(= (S 1) (- (f 0)))", "(= (T 1) (f 0))"], "(= (S 1) (- (T 1)))")
        held = [_N1, _step("S", "n", op, "(- (f n))"), _step("T", "n", other, "(f n)"), "(= (S n) (- (T n)))"]
        b.add(f"step of {op}", _F, held, "(= (S (+ n 1)) (- (T (+ n 1))))")


def _max_exp(b: _Builder) -> None:
    d = f"{_F} e:Real->Real"
    # That exp increases is a fact about exp.
    rises = [
        "(=> (<= (S n) (f n)) (<= (e (S n)) (e (f n))))",
        "(=> (<= (f n) (S n)) (<= (e (f n)) (e (S n))))",
    ]
    for op in ("max", "min"):
        b.add(f"base of {op}", d, ["(= (S 1) (f 0))", "(= (T 1) (e (f 0)))"], "(= (T 1) (e (S 1)))")
        held = [_N1, _step("S", "n", op, "(f n)"), _step("T", "n", op, "(e (f n))"), *rises, "(= (T n) (e (S n)))"]
        b.add(f"step of {op}", d, held, "(= (T (+ n 1)) (e (S (+ n 1))))")


def _max_join(b: _Builder) -> None:
    d = f"{_F} g:Int->Real U:Int->Real"
    for op in ("max", "min"):
        start = ["(= (S 1) (f 0))", "(= (T 1) (g 0))", f"(= (U 1) {_join(op, '(f 0)', '(g 0)')})"]
        b.add(f"base of {op}", d, start, f"(= (U 1) {_join(op, '(S 1)', '(T 1)')})")
        held = [
            _N1,
            _step("S", "n", op, "(f n)"),
            _step("T", "n", op, "(g n)"),
            _step("U", "n", op, _join(op, "(f n)", "(g n)")),
            f"(= (U n) {_join(op, '(S n)', '(T n)')})",
        ]
        b.add(f"step of {op}", d, held, f"(= (U (+ n 1)) {_join(op, '(S (+ n 1))', '(T (+ n 1))')})")


def _max_exchange(b: _Builder) -> None:
    # As in fubini. C and D: columns over n and n + 1 rows, R: row n; p and q: column l over n and n + 1 rows.
    row = "l:Int C:Int->Real D:Int->Real R:Int->Real p:Real q:Real f:Real"
    main = "n:Int rows:Int->Real columns:Int->Real row:Int->Real"
    for op in ("max", "min"):
        more = f"(= q {_join(op, 'p', 'f')})"
        start = ["(= (C 1) p)", "(= (D 1) q)", "(= (R 1) f)", more]
        b.add(f"one more row, base of {op}", row, start, f"(= (D 1) {_join(op, '(C 1)', '(R 1)')})")
        held = [
            "(>= l 1)",
            _step("C", "l", op, "p"),
            _step("D", "l", op, "q"),
            _step("R", "l", op, "f"),
            more,
            f"(= (D l) {_join(op, '(C l)', '(R l)')})",
        ]
        goal = f"(= (D (+ l 1)) {_join(op, '(C (+ l 1))', '(R (+ l 1))')})"
        b.add(f"one more row, step of {op}", row, held, goal)
        start = ["(= (rows 1) (row 0))", "(= (columns 1) (row 0))"]
        b.add(f"base of {op}", main, start, "(= (rows 1) (columns 1))")
        held = [
            _N1,
            _step("rows", "n", op, "(row n)"),
            _step("columns", "n", op, "(row n)"),
            "(= (rows n) (columns n))",
        ]
        b.add(f"step of {op}", main, held, "(= (rows (+ n 1)) (columns (+ n 1)))")


def _prod_mul(b: _Builder) -> None:
    _pointwise(b, "*", "1.0")


def _prod_exp(b: _Builder) -> None:
    d = f"{_F} e:Real->Real"
    b.add("base", d, ["(= (S 0) 0.0)", "(= (T 0) 1.0)", "(= (e 0.0) 1.0)"], "(= (T 0) (e (S 0)))")
    # The functional equation is a fact about exp.
    law = "(= (e (+ (S n) (f n))) (* (e (S n)) (e (f n))))"
    held = [_N0, _step("S", "n", "+", "(f n)"), _step("T", "n", "*", "(e (f n))"), law, "(= (T n) (e (S n)))"]
    b.add("step", d, held, "(= (T (+ n 1)) (e (S (+ n 1))))")


def _split(b: _Builder) -> None:
    d = "p:Int q:Int S:Int->Real U:Int->Real f:Int->Real"
    for op in ("+", "*", "max", "min"):

        def parts(q: str, op: str = op) -> str:
            return f"(= (S (+ p {q})) {_join(op, '(S p)', f'(U {q})')})"

        if op in ("+", "*"):
            b.add(f"base of {op}", d, [f"(= (U 0) {'0.0' if op == '+' else '1.0'})"], parts("0"))
            first = "(>= q 0)"
        else:
            b.add(f"base of {op}", d, ["(= (U 1) (f (+ p 0)))", _step("S", "p", op, "(f (+ p 0))")], parts("1"))
            first = "(>= q 1)"
        at = "(+ p q)"
        held = [first, "(>= p 0)", _step("S", at, op, f"(f {at})"), _step("U", "q", op, f"(f {at})"), parts("q")]
        b.add(f"step of {op}", d, held, parts("(+ q 1)"))


def _indicator(b: _Builder) -> None:
    one = "(ite c 1.0 0.0)"
    b.add("choice", "c:Bool a:Real b:Real", ["true"], f"(= (ite c a b) (+ b (* {one} (- a b))))")
    b.add("square", "c:Bool", ["true"], f"(= (* {one} {one}) {one})")
    b.add("opposite", "n:Int m:Int", ["(= m (- 1 n))"], "(= (not (> n 0)) (> m 0))")


def _log(b: _Builder) -> None:
    # log(x) is the number whose exp is x; exp takes every value once, a fact about exp.
    d = "x:Real y:Real a:Real b:Real l:Real e:Real->Real"
    once = "(=> (= (e l) (e (+ a b))) (= l (+ a b)))"
    held = ["(= (e a) x)", "(= (e b) y)", "(= (e (+ a b)) (* (e a) (e b)))", "(= (e l) (* x y))", once]
    b.add("product", d, held, "(= l (+ a b))")
    b.add("inverse", d, ["(= (e l) (e a))", "(=> (= (e l) (e a)) (= l a))"], "(= l a)")
    # E(n) = exp(n * log(x)), p(n) = x^n.
    many = "n:Int E:Int->Real p:Int->Real x:Real"
    b.add("multiple, base", many, ["(= (E 0) 1.0)", "(= (p 0) 1.0)"], "(= (E 0) (p 0))")
    held = [_N0, "(= (E (+ n 1)) (* (E n) x))", _step("p", "n", "*", "x"), "(= (E n) (p n))"]
    b.add("multiple, step", many, held, "(= (E (+ n 1)) (p (+ n 1)))")


def _pick(b: _Builder) -> None:
    # f(k) = exp(l(k)); either nothing was picked so far, or p < n and S(n) = exp(T(n)). p need not be whole.
    d = "n:Int p:Real S:Int->Real T:Int->Real f:Int->Real l:Int->Real e:Real->Real"

    def picked(n: str) -> str:
        nothing = f"(and (= (S {n}) 0.0) (= (T {n}) 0.0))"
        return f"(or {nothing} (and (< p (to_real {n})) (= (S {n}) (e (T {n})))))"

    b.add("base", d, ["(= (S 0) 0.0)", "(= (T 0) 0.0)"], picked("0"))
    chosen = "(ite (= (to_real n) p) ({} n) 0.0)"
    steps = [_step("S", "n", "+", chosen.format("f")), _step("T", "n", "+", chosen.format("l"))]
    b.add("step", d, [_N0, "(= (f n) (e (l n)))", *steps, picked("n")], picked("(+ n 1)"))
    counted = "n:Int p:Real S:Int->Real C:Int->Real f:Int->Real"

    def number(n: str) -> str:
        return f"(or (and (= (S {n}) 0.0) (= (C {n}) 0.0)) (and (< p (to_real {n})) (= (C {n}) 1.0)))"

    b.add("number, base", counted, ["(= (S 0) 0.0)", "(= (C 0) 0.0)"], number("0"))
    steps = [_step("S", "n", "+", chosen.format("f")), _step("C", "n", "+", "(ite (= (to_real n) p) 1.0 0.0)")]
    b.add("number, step", counted, [_N0, *steps, number("n")], number("(+ n 1)"))
    b.add("number, one", counted, [number("n"), "(not (= (S n) 0.0))"], "(= (C n) 1.0)")
    b.add("one element", d, [picked("n"), "(> (S n) 0.0)"], "(= (S n) (e (T n)))")


def _any(b: _Builder) -> None:
    d = "n:Int S:Int->Real T:Int->Real c:Int->Bool"
    for op, counted, value in (
        ("max", "(ite (c {}) 1.0 0.0)", "(ite (> (T {0}) 0.0) 1.0 0.0)"),
        ("min", "(ite (c {}) 0.0 1.0)", "(ite (> (T {0}) 0.0) 0.0 1.0)"),
    ):
        claim = f"(and (>= (T {{0}}) 0.0) (= (S {{0}}) {value}))"
        start = ["(= (S 1) (ite (c 0) 1.0 0.0))", f"(= (T 1) {counted.format('0')})"]
        b.add(f"base of {op}", d, start, claim.format("1"))
        steps = [_step("S", "n", op, "(ite (c n) 1.0 0.0)"), _step("T", "n", "+", counted.format("n"))]
        b.add(f"step of {op}", d, [_N1, *steps, claim.format("n")], claim.format("(+ n 1)"))


def _max_monotone(b: _Builder) -> None:
    ways = (("rising", "S", "T", "h", "<="), ("falling", "U", "V", "g", ">="))
    for op, other in (("max", "min"), ("min", "max")):
        for word, inner, outer, h, relation in ways:
            d = f"n:Int {inner}:Int->Real {outer}:Int->Real f:Int->Real {h}:Real->Real"
            start = [f"(= ({inner} 1) (f 0))", f"(= ({outer} 1) ({h} (f 0)))"]
            b.add(f"{word}, base of {op}", d, start, f"(= ({outer} 1) ({h} ({inner} 1)))")
            steps = [
                _step(inner, "n", op if word == "rising" else other, "(f n)"),
                _step(outer, "n", op, f"({h} (f n))"),
            ]
            # That the function rises or falls is a law about it.
            pairs = ((f"({inner} n)", "(f n)"), ("(f n)", f"({inner} n)"))
            law = [f"(=> (<= {x} {y}) ({relation} ({h} {x}) ({h} {y})))" for x, y in pairs]
            held = [_N1, *steps, *law, f"(= ({outer} n) ({h} ({inner} n)))"]
            b.add(f"{word}, step of {op}", d, held, f"(= ({outer} (+ n 1)) ({h} ({inner} (+ n 1))))")


def _parity(b: _Builder) -> None:
    # That the function is odd or even is a law about it.
    d = "x:Real y:Real h:Real->Real"
    b.add("odd", d, ["(= y (- x))", "(= (h (- x)) (- (h x)))"], "(= (h y) (- (h x)))")
    b.add("even", d.replace("h", "g"), ["(= y (- x))", "(= (g (- x)) (g x))"], "(= (g y) (g x))")
    sign = "(ite (> {0} 0.0) 1.0 (ite (< {0} 0.0) (- 1.0) 0.0))"
    b.add("sign", "x:Real c:Real", ["(> c 0.0)"], f"(= {sign.format('(* c x)')} {sign.format('x')})")


def _whole(b: _Builder) -> None:
    # f and g are the whole numbers below x and x + n.
    held = [f"(<= (to_real {f}) {x})" for f, x in (("f", "x"), ("g", "(+ x (to_real n))"))]
    held += [f"(< {x} (+ (to_real {f}) 1.0))" for f, x in (("f", "x"), ("g", "(+ x (to_real n))"))]
    b.add("floor", "x:Real n:Int f:Int g:Int", held, "(= g (+ f n))")
    # f is a whole number nearest to n.
    near = [f"(<= (* 2 (- {a} {b})) 1)" for a, b in (("f", "n"), ("n", "f"))]
    b.add("round", "n:Int f:Int", near, "(= f n)")


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
    "max-negate": _max_negate,
    "max-exp": _max_exp,
    "max-monotone": _max_monotone,
    "parity": _parity,
    "whole": _whole,
    "max-join": _max_join,
    "max-exchange": _max_exchange,
    "prod-mul": _prod_mul,
    "prod-exp": _prod_exp,
    "split": _split,
    "indicator": _indicator,
    "power": _power,
    "exp": _exp,
    "log": _log,
    "fraction": _fraction,
    "cover": _cover,
    "nonnegative": _nonnegative,
    "select": _select,
    "pick": _pick,
    "any": _any,
}

_MORE = {
    "cover": "i is in [s*t, s*t + min(s, n - s*t)) for one t < ceildiv(n, s), t = i // s, iff 0 <= i < n",
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
    return [q for q in of.obligations if solve(q.text, obligation=q.kind) != "unsat"]
