# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Infinities as what they are written for: the neutral element of a maximum or minimum, and masks.

A mask is a choice between a number and an infinity. It passes through sums with numbers and products with positive
ones, and `exp` makes 0 of minus infinity; so `exp((if c then s else -inf) - m)` is `if c then exp(s - m) else 0`. Any
other arithmetic needs a finite number. A maximum is finite when one of its elements is, which is a condition about a
count: `max(k < n: if c[k] then s[k] else -inf)` needs `sum(k < n: if c[k] then 1 else 0) > 0`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from axon_mlir.semantics import terms as t
from axon_mlir.semantics.signs import positive

NEUTRAL = {"max": "-inf", "min": "inf"}
_OPPOSITE = {"-inf": "inf", "inf": "-inf"}
_NEVER: frozenset[str] = frozenset()


@cache
def infinite(x: t.Term) -> frozenset[str]:
    """The infinities that a term may be, where what has to be finite is."""
    match x:
        case t.Const(v):
            return frozenset({v}) if isinstance(v, str) else _NEVER
        case t.Select(_, a, b):
            return infinite(a) | infinite(b)
        case t.Fold("max" | "min", _, _, body):
            return infinite(body)
        case t.Apply("max" | "min" as f, args):
            found = [infinite(a) for a in args]
            neutral = {NEUTRAL[f]} if not all(NEUTRAL[f] in v for v in found) else _NEVER
            return _NEVER.union(*found) - neutral
        case t.Apply("identity", (a,)):
            return infinite(a)
        case t.Apply(f, args):
            through = passing(f, args)
            return _NEVER if f == "exp" else _NEVER.union(*(_turned(f, n, args) for n in through))
        case _:
            return _NEVER


def _turned(f: str, n: int, args: Sequence[t.Term]) -> frozenset[str]:
    """What an infinity among the arguments makes of the result."""
    found = infinite(args[n])
    others = [a for k, a in enumerate(args) if k != n]
    opposite = f == "neg" or (f == "sub" and n == 1) or (f in ("mul", "div") and _direction(others[0]) == -1)
    return frozenset(_OPPOSITE[v] for v in found) if opposite else found


@cache
def _direction(x: t.Term) -> int:
    """1 or -1 for a factor of a known sign, else 0."""
    if isinstance(x, t.Const) and not isinstance(x.value, str) and x.value < 0:
        return -1
    return 1 if not infinite(x) and positive(x) else 0


@cache
def _is_mask(x: t.Term) -> bool:
    """Whether a term is a choice between numbers and one infinity."""
    if len(infinite(x)) > 1:
        return False
    match x:
        case t.Const():
            return True
        case t.Select(_, a, b):
            return all(_is_mask(y) for y in (a, b) if infinite(y))
        case t.Apply("max" | "min", _) | t.Fold():
            return False
        case t.Apply(f, args):
            return all(_is_mask(args[n]) for n in passing(f, args) if infinite(args[n]))
        case _:
            return False


def passing(f: str, args: Sequence[t.Term]) -> list[int]:
    """Which arguments may be infinite."""
    masks = [n for n, a in enumerate(args) if infinite(a) and _is_mask(a)]
    match f:
        case "max" | "min" | "identity":
            return list(range(len(args)))
        case "neg":
            return masks
        case "exp":
            return [n for n in masks if infinite(args[n]) <= {"-inf"}]
        case "add" | "sub":
            return masks if len(_NEVER.union(*(_turned(f, n, args) for n in masks))) <= 1 else masks[:1]
        case "mul":
            return [n for n in masks if _direction(args[1 - n]) != 0]
        case "div":
            return [n for n in masks if n == 0 and _direction(args[1]) != 0]
        case _:
            return []


def needed(x: t.Term) -> list[t.Term]:
    """Direct parts of a term that must be finite."""
    match x:
        case t.Apply(f, args):
            through = passing(f, args)
            return [a for n, a in enumerate(args) if infinite(a) and n not in through]
        case t.Fold(m, _, _, body):
            return [body] if m not in NEUTRAL and infinite(body) else []
        case _:
            return []


def finite(x: t.Term) -> t.Condition:
    """That a term is a number, when it is an infinity of its kind or a number."""
    found = support(x)
    if isinstance(found, t.Select) and (found.then, found.otherwise) == (t.ONE, t.ZERO):
        return found.condition
    return t.RealCompare("<", t.ZERO, found)


@cache
def support(x: t.Term) -> t.Term:
    """A number that is positive when the term is finite, and otherwise 0: of how many elements is it made?"""
    if not infinite(x):
        return t.ONE
    match x:
        case t.Select(c, a, b):
            return t.select(finite_condition(c), support(a), support(b))
        case t.Fold("max" | "min" as m, v, n, body) if infinite(body) <= {NEUTRAL[m]}:
            return t.fold("sum", v, n, support(body))
        case t.Apply("max" | "min" as f, (a, b)) if infinite(x) <= {NEUTRAL[f]}:
            return t.Apply("add", (support(a), support(b)))
        case t.Apply() if _is_mask(x):
            return t.select(_masked(x)[0], t.ONE, t.ZERO)
        case _:
            return t.ZERO


def _masked(x: t.Term) -> tuple[t.Condition, t.Term]:
    """(c, v) of a mask: v where c holds."""
    if not infinite(x):
        return t.TRUE, without(x)
    match x:
        case t.Select(c, a, b):
            c = finite_condition(c)
            (here, first), (there, second) = _masked(a), _masked(b)
            holds = t.disj([t.conj([c, here]), t.conj([t.negate(c), there])])
            if here == t.FALSE or there == t.FALSE:
                return (t.conj([t.negate(c), there]), second) if here == t.FALSE else (t.conj([c, here]), first)
            return holds, t.select(c, first, second)
        case t.Apply(f, args):
            through = passing(f, args)
            parts = [_masked(a) if n in through else (t.TRUE, without(a)) for n, a in enumerate(args)]
            return t.conj([c for c, _ in parts]), t.Apply(f, tuple(v for _, v in parts))
        case _:
            return t.FALSE, t.ZERO


@cache
def without(x: t.Term) -> t.Term:
    """The term with infinities only as choices of what a maximum or minimum is taken over."""
    match x:
        case t.Apply("exp", (a,)) if infinite(a) and _is_mask(a):
            holds, value = _masked(a)
            return t.select(holds, t.Apply("exp", (value,)), t.ZERO)
        case t.Apply(f, args):
            if infinite(x) and _is_mask(x):
                holds, value = _masked(x)
                return t.select(holds, value, t.Const(*infinite(x)))
            return t.Apply(f, tuple(map(without, args)))
        case t.Fold(m, v, n, body):
            return t.fold(m, v, n, without(body))
        case t.Select(c, a, b):
            return t.select(finite_condition(c), without(a), without(b))
        case _:
            return x


def finite_condition(c: t.Condition) -> t.Condition:
    """A condition; whether something is infinite is said without infinities."""
    return t.with_comparisons(c, _finite_comparison)


def _finite_comparison(c: t.Comparison) -> t.Condition:
    match c:
        case t.RealCompare("==", a, t.Const("-inf" | "inf" as v)) | t.RealCompare(
            "==", t.Const("-inf" | "inf" as v), a
        ):
            return t.negate(finite(a)) if infinite(a) == frozenset({v}) else t.FALSE if not infinite(a) else c
        case t.RealCompare("<", t.Const("-inf"), a) if infinite(a) <= {"-inf"}:
            return finite(a) if infinite(a) else t.TRUE
        case t.RealCompare(r, a, b):
            return t.RealCompare(r, without(a), without(b))
        case t.IndexCompare():
            return c


def stray(x: t.Term) -> bool:
    """Whether an infinity stands where it is no choice of a maximum or minimum."""
    seen: set[tuple[t.Term, str | None]] = set()

    def go(y: t.Term, neutral: str | None) -> bool:
        if (y, neutral) in seen:
            return False
        seen.add((y, neutral))
        match y:
            case t.Const(v):
                return isinstance(v, str) and v != neutral
            case t.Apply(f, args):
                return any(go(a, NEUTRAL.get(f)) for a in args)
            case t.Fold(m, _, _, body):
                return go(body, NEUTRAL.get(m))
            case t.Select(c, a, b):
                return any(go(side, None) for side in t.compared_terms(c)) or go(a, neutral) or go(b, neutral)
            case _:
                return False

    return go(x, None)
