# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Induction over ground recurrences, for what normal forms and real arithmetic leave open.

Every fold over the same extent becomes a prefix function, of which only its value at the start and one step are
stated. Nothing but the definition of a prefix reduction is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

from axon_mlir.semantics.index import Index, Size, Var, const, of_var
from axon_mlir.semantics.normal import Atom, Element, Normalizer, OtherFold, Poly, Sum, make_poly, poly_symbols
from axon_mlir.smt.encode import Query
from axon_mlir.smt.reals import RealText

_COUNT = Var("count")


def induction_queries(difference: Poly, normal: Normalizer) -> Iterator[list[Query]]:
    """For each size that is the extent of a fold: base and step of `difference = 0` by induction over it."""
    atoms = _folds_of(difference)
    for extent in dict.fromkeys(_extent(a) for a in atoms):
        size = extent.atom
        if not isinstance(size, Size):
            continue
        chosen = [a for a in atoms if _extent(a) == extent]
        others = [a for a in atoms if a not in chosen]
        # The size is generalised: the other folds and the summands must not depend on it.
        if any(size in _symbols(a) for a in others) or any(size in _inner_symbols(a) for a in chosen):
            continue
        if any(isinstance(a, OtherFold) and a.monoid == "prod" for a in chosen):
            continue
        yield _base_and_step(difference, chosen, size, normal)


def _folds_of(p: Poly) -> list[Sum | OtherFold]:
    out: dict[Sum | OtherFold, None] = {}
    for m, _ in p.terms:
        for a, _e in m:
            if isinstance(a, OtherFold) or (isinstance(a, Sum) and len(a.binders) == 1):
                out[a] = None
    return list(out)


def _extent(a: Sum | OtherFold) -> Index:
    return a.extent if isinstance(a, OtherFold) else a.binders[0][1]


def _symbols(a: Atom) -> frozenset[Size | Var]:
    return poly_symbols(make_poly({((a, Fraction(1)),): Fraction(1)}))


def _inner_symbols(a: Sum | OtherFold) -> frozenset[Size | Var]:
    return poly_symbols(a.body) if isinstance(a, OtherFold) else poly_symbols(make_poly({a.mono: Fraction(1)}))


def _summand(a: Sum | OtherFold, at: Index, normal: Normalizer) -> Poly:
    if isinstance(a, OtherFold):
        return normal.substitute(a.body, {a.var: at})
    return normal.substitute(make_poly({a.mono: Fraction(1)}), {a.binders[0][0]: at})


def _base_and_step(difference: Poly, chosen: list[Sum | OtherFold], size: Size, normal: Normalizer) -> list[Query]:
    here = of_var(_COUNT)

    def state(values: Mapping[Atom, Poly], count: Index) -> Poly:
        """The difference with each fold replaced by a value, and the size by a count."""
        total = make_poly({})
        for m, c in difference.terms:
            product = make_poly({(): c})
            for a, e in m:
                inner = values.get(a)
                if inner is None:
                    inner = normal.substitute(make_poly({((a, Fraction(1)),): Fraction(1)}), {size: count})
                product = normal.mul(product, normal.power(inner, e))
            total = normal.add(total, product)
        return total

    def prefix(k: int) -> Poly:
        return make_poly({((Element(f"prefix!{k}", ()), Fraction(1)),): Fraction(1)})

    start: dict[Atom, Poly] = {}
    held: dict[Atom, Poly] = {}
    stepped: dict[Atom, Poly] = {}
    for k, a in enumerate(chosen):
        held[a] = prefix(k)
        step = _summand(a, here, normal)
        # Sizes are at least one: the first prefix is the first summand.
        start[a] = _summand(a, const(0), normal)
        if isinstance(a, OtherFold) and a.monoid in ("max", "min"):
            stepped[a] = normal.extreme(a.monoid, [prefix(k), step])
        else:
            stepped[a] = normal.add(prefix(k), step)
    base_text, step_text = RealText(), RealText()
    base_goal = f"(= {base_text.poly(state(start, const(1)))} 0.0)"
    base = base_text.query("induction base", (), (), base_goal, f"{size} = 1")
    before = f"(= {step_text.poly(state(held, here))} 0.0)"
    count = step_text.poly(normal.index(here))
    lower = f"(>= {count} 1.0)"
    step_goal = f"(= {step_text.poly(state(stepped, here + 1))} 0.0)"
    step_query = step_text.query(
        "induction step", (lower, before), ("count >= 1", "at count"), step_goal, "at count + 1"
    )
    return [base, step_query]
