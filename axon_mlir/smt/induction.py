# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Induction over ground recurrences, for what normal forms and real arithmetic leave open.

Every fold over the same extent becomes a prefix function, of which only its value at the start and one step are
stated. Nothing but the definition of a prefix reduction is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from axon_mlir.semantics.index import Index, Size, Var, const, of_var
from axon_mlir.semantics.normal import (
    Atom,
    Element,
    Normalizer,
    OtherFold,
    Poly,
    folds_over_one,
    lone,
    make_poly,
    poly_symbols,
)
from axon_mlir.smt.encode import Query
from axon_mlir.smt.reals import RealText

_COUNT = Var("count")


def induction_queries(difference: Poly, normal: Normalizer) -> Iterator[list[Query]]:
    """For each size that is the extent of a fold: base and step of `difference = 0` by induction over it."""
    found = folds_over_one(difference)
    for extent in dict.fromkeys(f.extent for f in found.values()):
        size = extent.atom
        if not isinstance(size, Size):
            continue
        chosen = {a: f for a, f in found.items() if f.extent == extent}
        # The size is generalised: the other folds and the summands must not depend on it.
        if any(size in poly_symbols(lone(a)) for a in found if a not in chosen):
            continue
        if any(size in poly_symbols(f.body) or f.monoid == "prod" for f in chosen.values()):
            continue
        yield _base_and_step(difference, chosen, size, normal)


def _base_and_step(difference: Poly, chosen: Mapping[Atom, OtherFold], size: Size, normal: Normalizer) -> list[Query]:
    here = of_var(_COUNT)

    def state(values: Mapping[Atom, Poly], count: Index) -> Poly:
        """The difference with each fold replaced by a value, and the size by a count."""
        total = make_poly({})
        for m, c in difference.terms:
            product = make_poly({(): c})
            for a, e in m:
                inner = values.get(a)
                if inner is None:
                    inner = normal.substitute(lone(a), {size: count})
                product = normal.mul(product, normal.power(inner, e))
            total = normal.add(total, product)
        return total

    def prefix(k: int) -> Poly:
        return lone(Element(f"prefix!{k}", ()))

    start: dict[Atom, Poly] = {}
    held: dict[Atom, Poly] = {}
    stepped: dict[Atom, Poly] = {}
    for k, (a, f) in enumerate(chosen.items()):
        held[a] = prefix(k)
        step = normal.substitute(f.body, {f.var: here})
        # Sizes are at least one: the first prefix is the first summand.
        start[a] = normal.substitute(f.body, {f.var: const(0)})
        if f.monoid in ("max", "min"):
            stepped[a] = normal.extreme(f.monoid, [prefix(k), step])
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
