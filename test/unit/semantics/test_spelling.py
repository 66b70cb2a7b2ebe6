# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Terms that differ in the names of bound variables, or in order and grouping, only."""

from __future__ import annotations

import random

import pytest
from audit import cases
from hypothesis import given, settings
from hypothesis import strategies as st

from axon_mlir.semantics import terms as t
from axon_mlir.semantics.functions import MONOIDS
from axon_mlir.semantics.index import Index, Size, Var, const, fresh_var, of_var, size
from axon_mlir.semantics.spelling import alike, spelled

N, K = size("n"), Var("k")
COMBINE = sorted(m.function for m in MONOIDS.values())
Binding = dict[Size | Var, Index]


def term(rng: random.Random, variables: tuple[Var, ...], depth: int) -> t.Term:
    def index() -> Index:
        v = of_var(rng.choice(variables))
        return rng.choice((v, v + 1, N - v, 2 * v))

    kind = (
        rng.choice(("read", "read", "value")) if depth == 0 else rng.choice(("fold", "apply", "apply", "select", "exp"))
    )
    if kind == "read":
        return t.Read(rng.choice(("in0", "in1")), (index(), index()))
    if kind == "value":
        return rng.choice((t.index_value(index()), t.number(rng.randrange(3))))
    if kind == "fold":
        v = fresh_var("b")
        return t.Fold(rng.choice(("sum", "max")), v, rng.choice((N, index())), term(rng, (*variables, v), depth - 1))
    if kind == "exp":
        return t.Apply("exp", (term(rng, variables, depth - 1),))
    parts = term(rng, variables, depth - 1), term(rng, variables, depth - 1)
    if kind == "apply":
        return t.Apply(rng.choice((*COMBINE, "sub")), parts)
    chosen = t.less(index(), index())
    if rng.random() < 0.3:
        chosen = t.conj([chosen, t.RealCompare("<", parts[0], t.ONE)])
    return t.select(chosen, *parts)


def shuffled(rng: random.Random, x: t.Term) -> t.Term:
    """The same with operands of sums, products, maxima and minima exchanged."""
    made = t.with_parts(x, lambda y: shuffled(rng, y), lambda c: c)
    if isinstance(made, t.Apply) and made.function in COMBINE and rng.random() < 0.5:
        return t.Apply(made.function, made.args[::-1])
    return made


@settings(max_examples=cases(150, 3000))
@given(st.integers(0, 1 << 30), st.integers(1, 4))
def test_other_names_and_another_order_are_alike(seed: int, depth: int) -> None:
    rng = random.Random(seed)
    x = term(rng, (K,), depth)
    j = Var("j")
    y = t.substitute(t.refresh(shuffled(rng, x)), {K: of_var(j)})
    assert alike(x, {K: of_var(Var("z"))}, y, {j: of_var(Var("z"))})
    assert spelled(x, {K: of_var(Var("z"))}) is spelled(t.refresh(x), {K: of_var(Var("z"))})


@settings(max_examples=cases(150, 3000))
@given(st.integers(0, 1 << 30), st.integers(1, 4))
def test_what_has_an_element_of_another_tensor_is_not(seed: int, depth: int) -> None:
    rng = random.Random(seed)
    x = term(rng, (K,), depth)
    tensors = sorted(t.tensors_of(x))
    if not tensors:
        return
    y = shuffled(rng, t.replace_reads(x, tensors[:1], lambda r: t.Read("other", r.indices)))
    assert not alike(x, {}, y, {})


A, B = t.Read("in0", (of_var(K),)), t.Read("in0", (of_var(K) + 1,))
LEFT, RIGHT = t.less(of_var(K), N), t.less(const(0), of_var(K))


@pytest.mark.parametrize(
    "x, y",
    [
        (A, B),
        (t.Apply("add", (A, A)), t.Apply("add", (A, B))),
        (t.Apply("add", (A, t.Apply("add", (A, B)))), t.Apply("add", (t.Apply("add", (A, B)), B))),
        (t.Apply("add", (A, B)), t.Apply("mul", (A, B))),
        (t.Apply("sub", (A, B)), t.Apply("sub", (B, A))),
        (t.select(LEFT, A, B), t.select(RIGHT, A, B)),
        (t.select(LEFT, A, B), t.select(LEFT, B, A)),
        (t.Fold("sum", K, N, A), t.Fold("max", K, N, A)),
        (t.Fold("sum", K, N, A), t.Fold("sum", K, N + 1, A)),
        (t.Fold("sum", K, N, A), A),
    ],
    ids=str,
)
def test_what_differs_is_not_alike(x: t.Term, y: t.Term) -> None:
    assert not alike(x, {}, y, {}) and not alike(y, {}, x, {})


def test_a_shift_is_a_matter_of_names() -> None:
    j = Var("j")
    one, other = t.Fold("sum", j, N, t.Read("in0", (of_var(j), of_var(K)))), t.Fold("sum", K, N, A)
    assert alike(A, {K: of_var(K) + 1}, B, {K: of_var(K)})
    assert alike(one, {K: of_var(j)}, one, {K: of_var(j)}) and not alike(one, {K: of_var(j)}, other, {K: of_var(j)})


def test_a_choice_that_the_names_decide_is_what_it_chooses() -> None:
    x = t.select(t.less(of_var(K), const(3)), A, B)
    two: Binding = {K: const(2)}
    assert alike(x, two, A, two) and alike(A, two, x, two) and not alike(x, two, B, two)
