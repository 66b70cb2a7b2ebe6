# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The lemmas, as statements about prefix functions from which base and step of an induction are generated.

`S: (f @)` says that S is the prefix function of f: S(n + 1) = S(n) `op` f(n), from the neutral element or, where there
is none, from the first summand. A claim is proved at the start, and at n + 1 if it holds at n; `@` is the count.
What is no induction is listed with its hypotheses. Nothing else is assumed of a fold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from axon_mlir.checker.text import Question, script

Stated = Iterator[tuple[str, str, str, str]]
"""(title, declarations, hypotheses separated by semicolons, goal)."""

_NEUTRAL = {"+": "0.0", "*": "1.0"}
_OPS = ("+", "*", "max", "min")


def _step(prefix: str, at: str, op: str, value: str) -> str:
    old = f"({prefix} {at})"
    choice = {"max": f"(ite (>= {old} {value}) {old} {value})", "min": f"(ite (<= {old} {value}) {old} {value})"}
    return f"(= ({prefix} (+ {at} 1)) {choice.get(op) or f'({op} {old} {value})'})"


def _induct(
    folds: Mapping[str, str],
    declared: str,
    claim: str,
    op: str = "+",
    *,
    title: str = "{}",
    n: str = "n",
    first: int | None = None,
    always: str = "",
    summand: str = "",
    late: str = "",
) -> Stated:
    """`always`, `late`: further hypotheses of the step; `summand`: what is assumed of each summand."""
    start = first if first is not None else 0 if op in _NEUTRAL else 1
    began = [f"(= ({s} {start}) {v.replace('@', '0') if start else _NEUTRAL[op]})" for s, v in folds.items()]
    base = [summand.replace("@", "0") if start else "", *began]
    stepped = [_step(s, n, op, v.replace("@", n)) for s, v in folds.items()]
    step = [always, f"(>= {n} {start})", summand.replace("@", n), *stepped, late, claim.replace("@", n)]
    for word, held, at in (("base", base, str(start)), ("step", step, f"(+ {n} 1)")):
        yield title.format(word), declared, ";".join(h for h in held if h), claim.replace("@", at)


_F = "n:Int S:Int->Real T:Int->Real f:Int->Real"
_F_C, _F_G = f"{_F} c:Real", f"{_F} g:Int->Real"
_C = "n:Int S:Int->Real c:Real"
_TILING = "(>= n 1);(>= s 1);(< (* s (- c 1)) n);(<= n (* s c))"
_SHORT = "(ite (<= s (- n (* s t))) s (- n (* s t)))"
_EXTENT = "(or (= e s) (= e (- n (* s t))));(<= e s);(<= e (- n (* s t)))"
_BOUND = "(<= (* s t) (* s (- c 1)))"
_FLOOR = "(<= (* s t) i);(< i (+ (* s t) s))"


def _congruence() -> Stated:
    yield "function", "x:Real y:Real h:Real->Real", "(= x y)", "(= (h x) (h y))"
    yield "base", _F_G, "(= (S 0) 0.0);(= (T 0) 0.0)", "(= (S 0) (T 0))"
    for op in _OPS:
        held = f"(>= n 0);(= (f n) (g n));{_step('S', 'n', op, '(f n)')};{_step('T', 'n', op, '(g n)')};(= (S n) (T n))"
        yield f"step of {op}", _F_G, held, "(= (S (+ n 1)) (T (+ n 1)))"


def _const() -> Stated:
    yield from _induct({"S": "c"}, _C, "(= (S @) (* (to_real @) c))")
    for op in ("max", "min"):
        yield from _induct({"S": "c"}, _C, "(= (S @) c)", op, title=f"{{}} of {op}")


def _fubini() -> Stated:
    yield from _induct({"Z": "0.0"}, "l:Int Z:Int->Real", "(= (Z @) 0.0)", title="no rows, {}", n="l")
    # C and D: columns summed over n and n + 1 rows, R: row n; p and q: column l over n and n + 1 rows.
    row = "l:Int C:Int->Real D:Int->Real R:Int->Real p:Real q:Real f:Real"
    claim, columns = "(= (D @) (+ (C @) (R @)))", {"C": "p", "D": "q", "R": "f"}
    yield from _induct(columns, row, claim, title="one more row, {}", n="l", late="(= q (+ p f))")
    main = "n:Int rows:Int->Real columns:Int->Real row:Int->Real"
    yield from _induct({"rows": "(row @)", "columns": "(row @)"}, main, "(= (rows @) (columns @))")


def _tile() -> Stated:
    quotient = "(>= n 1);(>= s 1);(= c (+ q 1));(<= (* s q) (- n 1));(< (- n 1) (+ (* s q) s))"
    yield "count", "n:Int s:Int c:Int q:Int", quotient, "(and (< (* s (- c 1)) n) (<= n (* s c)))"
    yield "order", "s:Int t:Int c:Int", "(>= s 1);(<= t (- c 1))", _BOUND
    d, p = "n:Int s:Int c:Int t:Int j:Int S:Int->Real I:Int->Real f:Int->Real", "(* s t)"
    for op in _OPS:
        first, tiles, at = int(op not in _NEUTRAL), f"{d} T:Int->Real e:Int", f"(+ {p} j)"
        inside = _step("S", p, op, "(I @)").replace(f"(S (+ {p} 1))", f"(S (+ {p} @))")
        covered = "(S (ite (<= (* s @) n) (* s @) n))"
        start = f"(= (I 1) (f (* s t)));{_step('S', p, op, f'(f {p})')}" if first else f"(= (I 0) {_NEUTRAL[op]})"
        yield f"inside, base of {op}", d, start, inside.replace("@", str(first))
        both = f"{_step('I', 'j', op, f'(f {at})')};{_step('S', at, op, f'(f {at})')}"
        held = f"(>= j {first});{both};{inside.replace('@', 'j')}"
        yield f"inside, step of {op}", d, held, inside.replace("@", "(+ j 1)")
        zero = f"(= (T 0) {_NEUTRAL.get(op)});(= (S 0) {_NEUTRAL.get(op)});(= (* s 0) 0)"
        start = f"(= t 0);{_EXTENT};(= (T 1) (I e));(= (I e) (S e))" if first else zero
        yield f"base of {op}", tiles, f"{_TILING};{start}", f"(= (T {first}) {covered.replace('@', str(first))})"
        held = f"(>= t {first});(< t c);{_BOUND};(= (* s (+ t 1)) (+ (* s t) s));{_EXTENT};{inside.replace('@', 'e')}"
        held = f"{_TILING};{held};{_step('T', 't', op, '(I e)')};(= (T t) {covered.replace('@', 't')})"
        yield f"step of {op}", tiles, held, f"(= (T (+ t 1)) {covered.replace('@', '(+ t 1)')})"
    yield "all tiles", "n:Int s:Int c:Int", _TILING, "(= (ite (<= (* s c) n) (* s c) n) n)"
    held = f"{_TILING};(>= t 0);(< t c);{_BOUND};(>= (* s t) 0)"
    yield "no empty tile", "n:Int s:Int c:Int t:Int", held, f"(and (>= {_SHORT} 1) (>= (* s t) 0))"


def _cover() -> Stated:
    d, inside = "n:Int s:Int c:Int i:Int t:Int", f"(< i (+ (* s t) {_SHORT}))"
    yield "order", "s:Int t:Int c:Int", "(>= s 1);(>= t c)", "(>= (* s t) (* s c))"
    yield "negative", "s:Int t:Int", "(>= s 1);(<= t (- 1))", "(<= (* s t) (- s))"
    far = "(=> (>= t c) (>= (* s t) (* s c)));(=> (<= t (- 1)) (<= (* s t) (- s)))"
    goal = f"(and (<= 0 t) (< t c) (<= (* s t) i) {inside})"
    yield "every index is in its tile", d, f"{_TILING};(<= 0 i);(< i n);{_FLOOR};{far}", goal
    held = f"{_TILING};(<= 0 t);(< t c);(<= (* s t) i);{inside};(>= (* s t) 0)"
    yield "tiles hold only indices", d, held, "(and (<= 0 i) (< i n))"
    yield "distance", "s:Int t:Int u:Int", "(>= s 1);(> t u)", "(>= (* s t) (+ (* s u) s))"
    apart = "(=> (> t u) (>= (* s t) (+ (* s u) s)));(=> (< t u) (>= (* s u) (+ (* s t) s)))"
    held = f"(>= s 1);{_FLOOR};(<= (* s u) i);(< i (+ (* s u) s));{apart}"
    yield "an index is in one tile", f"{d} u:Int", held, "(= t u)"


def _power() -> Stated:
    d = "a:Int b:Int x:Real p:Int->Real"
    yield "base", d, "(= (p 0) 1.0)", "(= (* (p a) (p 0)) (p (+ a 0)))"
    held = f"(>= a 0);(>= b 0);{_step('p', 'b', '*', 'x')};{_step('p', '(+ a b)', '*', 'x')}"
    yield "step", d, f"{held};(= (* (p a) (p b)) (p (+ a b)))", "(= (* (p a) (p (+ b 1))) (p (+ a b 1)))"
    yield "inverse, base", f"{d} r:Real q:Int->Real", "(= (q 0) 1.0)", "(= (* (p a) (q 0)) (p (- a 0)))"
    # P = p(a), Q = q(b), D = p(a - b), E = p(a - b - 1), q(b + 1) = Q * r.
    yield "inverse, regrouped", "E:Real x:Real r:Real U:Real", "(= U (* r x));(= U 1.0)", "(= (* (* E x) r) E)"
    named = "P:Real Q:Real D:Real E:Real x:Real r:Real U:Real"
    yield "inverse, step", named, "(= (* P Q) D);(= (* D r) E)", "(= (* P Q r) E)"
    product = "n:Int x:Real y:Real X:Int->Real Y:Int->Real Z:Int->Real"
    folds, claim = {"X": "x", "Y": "y", "Z": "(* x y)"}, "(= (Z @) (* (X @) (Y @)))"
    yield from _induct(folds, product, claim, "*", title="product, {}")
    yield "one root", "y:Real z:Real", "(>= y 0.0);(>= z 0.0);(= (* y y) (* z z))", "(= y z)"


def _exp() -> Stated:
    # E(n) = exp(n * a), p(n) = exp(a)^n; the functional equation and exp(0) = 1 are facts about exp.
    d = "n:Int E:Int->Real p:Int->Real e:Real"
    yield from _induct({"E": "e", "p": "e"}, d, "(= (E @) (p @))", "*", title="multiple, {}")
    held = "(= (e 0.0) 1.0);(= (e (+ a (- a))) (* (e a) (e (- a))))"
    yield "inverse", "a:Real e:Real->Real", held, "(= (* (e a) (e (- a))) 1.0)"


def _nonnegative() -> Stated:
    d = "n:Int S:Int->Real f:Int->Real"
    yield from _induct({"S": "(f @)"}, d, "(>= (S @) 0.0)", title="{} of +", summand="(>= (f @) 0.0)")
    for op in _OPS:
        for r in (">=", ">") if op != "+" else (">",):
            about, title = f"({r} (f @) 0.0)", f"{{}} of {op}, {r}"
            yield from _induct({"S": "(f @)"}, d, f"({r} (S @) 0.0)", op, title=title, first=1, summand=about)


def _extremes(value: str, claim: str, always: str = "") -> Stated:
    for op in ("max", "min"):
        yield from _induct({"S": "(f @)", "T": value}, _F_C, claim, op, title=f"{{}} of {op}", always=always)


def _single() -> Stated:
    for name, op in (("sum", "+"), ("prod", "*")):
        held = f"(= (S 0) {_NEUTRAL[op]});(= (S 1) ({op} (S 0) (f 0)))"
        yield name, "S:Int->Real f:Int->Real", held, "(= (S 1) (f 0))"


def _fraction() -> Stated:
    yield "step", "p:Real l:Real r:Real u:Real v:Real", "(= p (+ l r));(= v (* u p))", "(= (* l u) (- v (* r u)))"


def _select() -> Stated:
    d, claim = "n:Int p:Int S:Int->Real f:Int->Real", "(= (S @) (ite (and (<= 0 p) (< p @)) (f p) 0.0))"
    yield from _induct({"S": "(ite (= @ p) (f @) 0.0)"}, d, claim)


def _max_negate() -> Stated:
    for op, other in (("max", "min"), ("min", "max")):
        yield f"base of {op}", _F, "(= (S 1) (- (f 0)));(= (T 1) (f 0))", "(= (S 1) (- (T 1)))"
        held = f"(>= n 1);{_step('S', 'n', op, '(- (f n))')};{_step('T', 'n', other, '(f n)')};(= (S n) (- (T n)))"
        yield f"step of {op}", _F, held, "(= (S (+ n 1)) (- (T (+ n 1))))"


def _max_exp() -> Stated:
    # That exp increases is a fact about exp.
    rises = "(=> (<= (S n) (f n)) (<= (e (S n)) (e (f n))));(=> (<= (f n) (S n)) (<= (e (f n)) (e (S n))))"
    for op in ("max", "min"):
        folds, claim = {"S": "(f @)", "T": "(e (f @))"}, "(= (T @) (e (S @)))"
        yield from _induct(folds, f"{_F} e:Real->Real", claim, op, title=f"{{}} of {op}", late=rises)


def _both(op: str, a: str, b: str) -> str:
    return f"(ite ({'>=' if op == 'max' else '<='} {a} {b}) {a} {b})"


def _max_join() -> Stated:
    for op in ("max", "min"):
        folds = {"S": "(f @)", "T": "(g @)", "U": _both(op, "(f @)", "(g @)")}
        claim = f"(= (U @) {_both(op, '(S @)', '(T @)')})"
        yield from _induct(folds, f"{_F_G} U:Int->Real", claim, op, title=f"{{}} of {op}")


def _max_exchange() -> Stated:
    # As in fubini. C and D: columns over n and n + 1 rows, R: row n; p and q: column l over n and n + 1 rows.
    row = "l:Int C:Int->Real D:Int->Real R:Int->Real p:Real q:Real f:Real"
    main = "n:Int rows:Int->Real columns:Int->Real row:Int->Real"
    for op in ("max", "min"):
        more, claim = f"(= q {_both(op, 'p', 'f')})", f"(= (D @) {_both(op, '(C @)', '(R @)')})"
        yield f"one more row, base of {op}", row, f"(= (C 1) p);(= (D 1) q);(= (R 1) f);{more}", claim.replace("@", "1")
        steps = f"{_step('C', 'l', op, 'p')};{_step('D', 'l', op, 'q')};{_step('R', 'l', op, 'f')}"
        held = f"(>= l 1);{steps};{more};{claim.replace('@', 'l')}"
        yield f"one more row, step of {op}", row, held, claim.replace("@", "(+ l 1)")
        folds = {"rows": "(row @)", "columns": "(row @)"}
        yield from _induct(folds, main, "(= (rows @) (columns @))", op, title=f"{{}} of {op}")


def _prod_exp() -> Stated:
    d = f"{_F} e:Real->Real"
    yield "base", d, "(= (S 0) 0.0);(= (T 0) 1.0);(= (e 0.0) 1.0)", "(= (T 0) (e (S 0)))"
    # The functional equation is a fact about exp.
    law = "(= (e (+ (S n) (f n))) (* (e (S n)) (e (f n))))"
    steps = f"{_step('S', 'n', '+', '(f n)')};{_step('T', 'n', '*', '(e (f n))')}"
    yield "step", d, f"(>= n 0);{steps};{law};(= (T n) (e (S n)))", "(= (T (+ n 1)) (e (S (+ n 1))))"


def _split() -> Stated:
    d, at = "p:Int q:Int S:Int->Real U:Int->Real f:Int->Real", "(+ p q)"
    for op in _OPS:
        claim = (
            f"(= (S (+ p @)) ({op} (S p) (U @)))"
            if op in _NEUTRAL
            else f"(= (S (+ p @)) {_both(op, '(S p)', '(U @)')})"
        )
        first = int(op not in _NEUTRAL)
        start = f"(= (U 1) (f (+ p 0)));{_step('S', 'p', op, '(f (+ p 0))')}" if first else f"(= (U 0) {_NEUTRAL[op]})"
        yield f"base of {op}", d, start, claim.replace("@", str(first))
        steps = f"{_step('S', at, op, f'(f {at})')};{_step('U', 'q', op, f'(f {at})')}"
        held = f"(>= q {first});(>= p 0);{steps};{claim.replace('@', 'q')}"
        yield f"step of {op}", d, held, claim.replace("@", "(+ q 1)")


def _indicator() -> Stated:
    one = "(ite c 1.0 0.0)"
    yield "choice", "c:Bool a:Real b:Real", "true", f"(= (ite c a b) (+ b (* {one} (- a b))))"
    yield "square", "c:Bool", "true", f"(= (* {one} {one}) {one})"
    yield "opposite", "n:Int m:Int", "(= m (- 1 n))", "(= (not (> n 0)) (> m 0))"


def _log() -> Stated:
    # log(x) is the number whose exp is x; exp takes every value once, a fact about exp.
    d = "x:Real y:Real a:Real b:Real l:Real e:Real->Real"
    once = "(=> (= (e l) (e (+ a b))) (= l (+ a b)))"
    held = f"(= (e a) x);(= (e b) y);(= (e (+ a b)) (* (e a) (e b)));(= (e l) (* x y));{once}"
    yield "product", d, held, "(= l (+ a b))"
    yield "inverse", d, "(= (e l) (e a));(=> (= (e l) (e a)) (= l a))", "(= l a)"
    # E(n) = exp(n * log(x)), p(n) = x^n.
    many = "n:Int E:Int->Real p:Int->Real x:Real"
    yield from _induct({"E": "x", "p": "x"}, many, "(= (E @) (p @))", "*", title="multiple, {}")


_MULTIPLIED = {"S": "(f @)", "T": "(g @)", "U": "(* (f @) (g @))"}
_ADDED = {"S": "(f @)", "T": "(g @)", "U": "(+ (f @) (g @))"}
LEMMAS: Mapping[str, Callable[[], Stated]] = {
    "congruence": _congruence,
    "scale": lambda: _induct({"S": "(f @)", "T": "(* c (f @))"}, _F_C, "(= (T @) (* c (S @)))"),
    "add": lambda: _induct(_ADDED, f"{_F_G} U:Int->Real", "(= (U @) (+ (S @) (T @)))"),
    "const": _const,
    "fubini": _fubini,
    "tile": _tile,
    "single": _single,
    "max-scale": lambda: _extremes("(* c (f @))", "(= (T @) (* c (S @)))", "(>= c 0.0)"),
    "max-shift": lambda: _extremes("(+ (f @) c)", "(= (T @) (+ (S @) c))"),
    "power": _power,
    "exp": _exp,
    "fraction": _fraction,
    "cover": _cover,
    "nonnegative": _nonnegative,
    "select": _select,
    "max-negate": _max_negate,
    "max-exp": _max_exp,
    "max-join": _max_join,
    "max-exchange": _max_exchange,
    "split": _split,
    "prod-mul": lambda: _induct(_MULTIPLIED, f"{_F_G} U:Int->Real", "(= (U @) (* (S @) (T @)))", "*"),
    "prod-exp": _prod_exp,
    "indicator": _indicator,
    "log": _log,
}


def questions(name: str) -> list[Question]:
    """What proves a lemma."""
    out: list[Question] = []
    for title, declared, hypotheses, goal in LEMMAS[name]():
        lines: list[str] = []
        for symbol, _, sort in (item.partition(":") for item in declared.split()):
            *arguments, result = sort.split("->")
            lines.append(f"(declare-fun {symbol} ({' '.join(arguments)}) {result})")
        held = hypotheses.split(";")
        lines += [f"(assert {h})" for h in held]
        text = script(lines, goal)
        out.append(Question(f"lemma {name}: {title}", tuple(held), goal, text, text, script(lines)))
    return out
