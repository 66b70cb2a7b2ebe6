# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Answers are cached, and integer obligations need no non-linear reasoning."""

from __future__ import annotations

import pytest

from axon_mlir.semantics import terms as t
from axon_mlir.semantics.denotation import range_of
from axon_mlir.semantics.index import Index, Var, ceil_div, const, fresh_var, minimum, of_var, size
from axon_mlir.smt.encode import integer_query
from axon_mlir.smt.solver import STATISTICS, solve


def test_answers_are_cached() -> None:
    text = "(declare-const cached Int)(assert (> cached 41))(check-sat)"
    assert solve(text) == "sat"
    before = STATISTICS.queries
    assert solve(text) == "sat"
    assert STATISTICS.queries == before


M, N, S, P = size("M"), size("N"), size("s"), size("p")


def _counter(name: str, extent: Index) -> tuple[Var, tuple[t.Condition, ...]]:
    v = fresh_var(name)
    return v, range_of(v, extent)


def _tiles() -> list[tuple[str, tuple[t.Condition, ...], t.Condition]]:
    k, in_tiles = _counter("t", ceil_div(N, S))
    start = S * of_var(k)
    extent = minimum(S, N - start)
    j, in_tile = _counter("j", extent)
    i, in_range = _counter("i", N)
    chosen = of_var(i) // S
    u, in_blocks = _counter("u", ceil_div(extent, P))
    inner = start + P * of_var(u)
    past = inner + minimum(P, N - inner, S - P * of_var(u))
    m, in_rows = _counter("m", M)
    flat = of_var(m) * N + of_var(i)
    return [
        ("tiles are not empty", in_tiles, t.at_most(const(1), extent)),
        ("tiles are inside", in_tiles, t.at_most(start + extent, N)),
        ("elements of tiles are inside", (*in_tiles, *in_tile), t.within(start + of_var(j), N)),
        ("tiles of tiles are inside", (*in_tiles, *in_blocks), t.at_most(past, N)),
        ("the tile of an index exists", in_range, t.within(chosen, ceil_div(N, S))),
        ("an index is in its tile", in_range, t.at_most(S * chosen, of_var(i))),
        ("a row-major position is inside", (*in_rows, *in_range), t.within(flat, M * N)),
    ]


@pytest.mark.parametrize(("hypotheses", "goal"), [x[1:] for x in _tiles()], ids=[x[0] for x in _tiles()])
def test_symbolic_tiles(hypotheses: tuple[t.Condition, ...], goal: t.Condition) -> None:
    query = integer_query("test", hypotheses, goal)
    assert solve(query.text) == "unsat", query.text
    assert solve(query.premises) == "sat"


@pytest.mark.parametrize(
    ("hypotheses", "goal"),
    [(h, t.negate(g)) for _, h, g in _tiles()]
    + [((), t.less(M, N)), ((), t.at_most(const(2), M)), ((), t.equal(M // 2 * 2, M))],
)
def test_what_does_not_follow_is_not_proved(hypotheses: tuple[t.Condition, ...], goal: t.Condition) -> None:
    query = integer_query("test", hypotheses, goal)
    assert solve(query.text) != "unsat"
    assert solve(query.exact) != "unsat"


def test_texts_do_not_depend_on_how_many_variables_a_run_has_made() -> None:
    texts: set[str] = set()
    for _ in range(3):
        texts.add(integer_query("test", *_tiles()[3][1:]).text)
        for _ in range(97):
            fresh_var("x")
    assert len(texts) == 1
