# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Folds over tiles are put together before a choice inside cuts them, and only where they are tilings."""

from __future__ import annotations

import pytest

from axon_mlir.semantics import terms as t
from axon_mlir.semantics.index import Index, Var, ceil_div, minimum, of_var, size
from axon_mlir.semantics.pieces import Pieces

N, S, P = size("N"), size("S"), size("P")
TILE, INSIDE = Var("t", 1001), Var("j", 1002)
T, J = of_var(TILE), of_var(INSIDE)


def _tiled(at: Index, inside: Index, tiles: Index, outer: str = "sum", inner: str = "sum") -> t.Term:
    chosen = t.select(t.less(at, P), t.Read("in0", (at,)), t.Read("in1", (at - P,)))
    return t.Fold(outer, TILE, tiles, t.Fold(inner, INSIDE, inside, chosen))


def _undecided(_context: object, _goal: t.Condition) -> bool:
    return False


@pytest.mark.parametrize("monoid", ["sum", "max", "min", "prod"])
def test_a_tiling_is_one_fold(monoid: str) -> None:
    pieces = Pieces(_undecided)
    found = pieces.merged(_tiled(S * T + J, minimum(S, N - S * T), ceil_div(N, S), monoid, monoid))
    assert isinstance(found, t.Fold) and found.extent == N
    assert not isinstance(found.body, t.Fold)
    assert pieces.tiles == {(N, S)} and pieces.lemmas == {"tile"}


@pytest.mark.parametrize(
    "term",
    [
        _tiled(S * T + 2 * J, minimum(S, N - S * T), ceil_div(N, S)),
        _tiled(T + J, minimum(S, N - S * T), ceil_div(N, S)),
        _tiled(S * T + J, minimum(S, N - S * T), ceil_div(N, S) - 1),
        _tiled(S * T + J, minimum(S, N - S * T - 1), ceil_div(N, S)),
        _tiled(S * T + J, S, ceil_div(N, S)),
        _tiled(S * T + J, minimum(S, N - S * T), ceil_div(N, S), "max", "sum"),
    ],
    ids=["another step", "overlapping", "a tile missing", "an element missing", "a last tile not cut", "two folds"],
)
def test_what_is_no_tiling_stays(term: t.Term) -> None:
    pieces = Pieces(_undecided)
    assert pieces.merged(term) is term
    assert not pieces.tiles and not pieces.lemmas
