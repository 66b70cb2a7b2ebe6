# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Hand-written tile loops: what they denote, what they compute, and what has no denotation."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from audit import cases
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.func import FuncOp
from xdsl.parser import Parser

from axon_mlir.errors import AxonError
from axon_mlir.host.registry import make_context
from axon_mlir.semantics import terms as t
from axon_mlir.semantics.denotation import UNDEFINED, Denotation, Undenotable, denote_function, input_name
from axon_mlir.semantics.domains import Field, Float64
from axon_mlir.semantics.evaluate import evaluate_comprehension
from axon_mlir.semantics.index import Size, Var, evaluate, of_var
from axon_mlir.semantics.index import size as size_index
from axon_mlir.semantics.interpret import argument_shapes, evaluate_function, solve_sizes
from axon_mlir.semantics.normal import Normalizer

Array = np.ndarray[Any, Any]

MATMUL = """
func.func @mm(%x: tensor<?x?xbf16, ["K", "M"]>, %w: tensor<?x?xbf16, ["K", "N"]>) -> tensor<?x?xbf16, ["M", "N"]> {
  %zero = tile.index "0"
  %M = tile.index "M"
  %K = tile.index "K"
  %N = tile.index "N"
  %out = tile.empty (%M, %N) : tensor<?x?xbf16, ["M", "N"]>
  %r = tile.for m.block (%mb, %mbn) = %zero to %M step "mB" (collect %o = %out : tensor<?x?xbf16, ["M", "N"]>) {
    %mbe = tile.index "a + b" (a = %mb, b = %mbn)
    %r0 = tile.for m.tile (%m, %mn) = %mb to %mbe step "5" (collect %o0 = %o : tensor<?x?xbf16, ["M", "N"]>) {
      %r1 = tile.for n.tile (%n, %nn) = %zero to %N step "nT" (collect %o1 = %o0 : tensor<?x?xbf16, ["M", "N"]>) {
        %acc = tile.neutral "sum" (%mn, %nn) : !tile.tile<["5", "nT"], f32, psum>
        %s = tile.for k.tile (%k, %kn) = %zero to %K step "4" (sum %a = %acc : !tile.tile<["5", "nT"], f32, psum>) {
          %xt = tile.load %x[%k along p, %m along f] (%kn, %mn) : tensor<?x?xbf16, ["K", "M"]> -> !tile.tile<["4", "5"], bf16, sbuf>
          %wt = tile.load %w[%k along p, %n along f] (%kn, %nn) : tensor<?x?xbf16, ["K", "N"]> -> !tile.tile<["4", "nT"], bf16, sbuf>
          %a1 = tile.leaf "op leaf(a[K, M], b[K, N]) -> c[M, N] { c[m, n] = sum(k < K: a[k, m] * b[k, n]) }" (%xt, %wt) sum into %a : (!tile.tile<["4", "5"], bf16, sbuf>, !tile.tile<["4", "nT"], bf16, sbuf>) -> !tile.tile<["5", "nT"], f32, psum>
          tile.yield %a1 : !tile.tile<["5", "nT"], f32, psum>
        }
        %o2 = tile.store %s into %o1[%m along p, %n along f] : !tile.tile<["5", "nT"], f32, psum>, tensor<?x?xbf16, ["M", "N"]>
        tile.yield %o2 : tensor<?x?xbf16, ["M", "N"]>
      }
      tile.yield %r1 : tensor<?x?xbf16, ["M", "N"]>
    }
    tile.yield %r0 : tensor<?x?xbf16, ["M", "N"]>
  }
  func.return %r : tensor<?x?xbf16, ["M", "N"]>
}
"""  # noqa: E501

T = 'tensor<?x?xf32, ["M", "K"]>'
TILE = '!tile.tile<["3", "K"], f32, sbuf>'
COPY = "op leaf(a[P, F]) -> c[P, F] { c[p, f] = a[p, f] }"
DOUBLE = "op leaf(a[P, F]) -> c[P, F] { c[p, f] = 2 * a[p, f] }"
ROWS = "op leaf(a[P, F]) -> c[P, 1] { c[p, 0] = sum(q < F: a[p, q]) }"


def rows(
    *,
    leaf: str = DOUBLE,
    source: str = "%x",
    at: str = "%m",
    load_at: str = "%m",
    lower: str = "0",
    upper: str = "M",
    step: str = "3",
    length: str = "%mn",
    kind: str = "collect",
) -> str:
    """A loop over rows that maps each by a leaf."""
    return f"""
func.func @rows(%x: {T}) -> {T} {{
  %lower = tile.index "{lower}"
  %upper = tile.index "{upper}"
  %zero = tile.index "0"
  %three = tile.index "3"
  %two = tile.index "2"
  %M = tile.index "M"
  %K = tile.index "K"
  %out = tile.empty (%M, %K) : {T}
  %r = tile.for m.tile (%m, %mn) = %lower to %upper step "{step}" ({kind} %o = %out : {T}) {{
    %twice = tile.index "2 * a" (a = %m)
    %next = tile.index "a + 1" (a = %m)
    %v = tile.load {source}[{load_at} along p, %zero along f] ({length}, %K) : {T} -> {TILE}
    %w = tile.leaf "{leaf}" (%v) : ({TILE}) -> {TILE}
    %q = tile.store %w into %o[{at} along p, %zero along f] : {TILE}, {T}
    tile.yield %q : {T}
  }}
  func.return %r : {T}
}}
"""


def folded(*, kind: str = "sum", monoid: str = "sum", neutral: str = "sum", step: str = "3") -> str:
    """Row sums of a transposed view: a fold over columns in tiles."""
    column = '!tile.tile<["K", "1"], f32, sbuf>'
    return f"""
func.func @folded(%x: {T}) -> tensor<?x1xf32, ["K", "1"]> {{
  %zero = tile.index "0"
  %one = tile.index "1"
  %M = tile.index "M"
  %K = tile.index "K"
  %out = tile.empty (%K, %one) : tensor<?x1xf32, ["K", "1"]>
  %acc = tile.neutral "{neutral}" (%K, %one) : {column}
  %s = tile.for m.tile (%m, %mn) = %zero to %M step "{step}" ({kind} %a = %acc : {column}) {{
    %v = tile.load %x[%m along f, %zero along p] (%K, %mn) : {T} -> !tile.tile<["K", "3"], f32, sbuf>
    %a1 = tile.leaf "{ROWS}" (%v) {monoid} into %a : (!tile.tile<["K", "3"], f32, sbuf>) -> {column}
    tile.yield %a1 : {column}
  }}
  %r = tile.store %s into %out[%zero along p, %zero] : {column}, tensor<?x1xf32, ["K", "1"]>
  func.return %r : tensor<?x1xf32, ["K", "1"]>
}}
"""


def interleaved(at: str, by: int) -> str:
    """Rows of x, doubled, as every `by`-th row of the output from `at` on; its other rows are those of x."""
    out = f'tensor<?x?xf32, ["{by} * M", "K"]>'
    loops = ""
    for n, (leaf, offset) in enumerate([(COPY, r) for r in range(by) if str(r) != at] + [(DOUBLE, at)]):
        loops += f"""
  %r{n + 1} = tile.for m.tile (%m{n}, %mn{n}) = %zero to %M step "3" (collect %o{n} = %r{n} : {out}) {{
    %p{n} = tile.index "{by} * a + {offset}" (a = %m{n})
    %v{n} = tile.load %x[%m{n} along p, %zero along f] (%mn{n}, %K) : {T} -> {TILE}
    %w{n} = tile.leaf "{leaf}" (%v{n}) : ({TILE}) -> {TILE}
    %q{n} = tile.store %w{n} into %o{n}[%p{n} along p by {by}, %zero along f] : {TILE}, {out}
    tile.yield %q{n} : {out}
  }}"""
    return f"""
func.func @interleaved(%x: {T}) -> {out} {{
  %zero = tile.index "0"
  %M = tile.index "M"
  %K = tile.index "K"
  %N = tile.index "{by} * M"
  %r0 = tile.empty (%N, %K) : {out}{loops}
  func.return %r{by} : {out}
}}
"""


SO_FAR = f"""
func.func @so_far(%x: {T}) -> {T} {{
  %zero = tile.index "0"
  %one = tile.index "1"
  %M = tile.index "M"
  %K = tile.index "K"
  %out = tile.empty (%M, %K) : {T}
  %acc = tile.neutral "MONOID" (%one, %K) : !tile.tile<["1", "K"], f32, sbuf>
  %s, %r = tile.for m.tile (%m, %mn) = %zero to %M step "1" (MONOID %a = %acc : !tile.tile<["1", "K"], f32, sbuf>,
      collect %o = %out : {T}) {{
    %v = tile.load %x[%m along p, %zero along f] (%mn, %K) : {T} -> !tile.tile<["1", "K"], f32, sbuf>
    %b = tile.leaf "{DOUBLE}" (%a) : (!tile.tile<["1", "K"], f32, sbuf>) -> !tile.tile<["1", "K"], f32, sbuf>
    %q = tile.store %b into %o[%m along p, %zero along f] : !tile.tile<["1", "K"], f32, sbuf>, {T}
    %n = tile.leaf "{COPY}" (%v) MONOID into %a : (!tile.tile<["1", "K"], f32, sbuf>) -> !tile.tile<["1", "K"], f32, sbuf>
    tile.yield %n, %q : !tile.tile<["1", "K"], f32, sbuf>, {T}
  }}
  func.return %r : {T}
}}
"""  # noqa: E501


ROW = '!tile.tile<["1", "K"], f32, sbuf>'
STEP = "op leaf(x0[P, F], x1[P, F]) -> c[P, F] { c[p, f] = add(mul(x0[p, f], x1[p, f]), x0[p, f]) }"
AFFINE = f"""
func.func @affine(%x: {T}, %y: {T}) -> ({T}, {T}) {{
  %zero = tile.index "0"
  %one = tile.index "1"
  %M = tile.index "M"
  %K = tile.index "K"
  %out = tile.empty (%M, %K) : {T}
  %last = tile.empty (%M, %K) : {T}
  %acc = tile.load %y[%zero along p, %zero along f] (%one, %K) : {T} -> {ROW}
  %s, %r = tile.for m.tile (%m, %mn) = %zero to %M step "1" (carry %a = %acc : {ROW}, collect %o = %out : {T}) {{
    %v = tile.load %x[%m along p, %zero along f] (%one, %K) : {T} -> {ROW}
    %b = tile.leaf "{STEP}" (%v, %a) : ({ROW}, {ROW}) -> {ROW}
    %q = tile.store %a into %o[%m along p, %zero along f] : {ROW}, {T}
    tile.yield %b, %q : {ROW}, {T}
  }}
  %z = tile.store %s into %last[%zero along p, %zero along f] : {ROW}, {T}
  func.return %r, %z : {T}, {T}
}}
"""


def function(text: str) -> FuncOp:
    module = Parser(make_context(), text).parse_module()
    module.verify()
    (func,) = module.body.block.ops
    assert isinstance(func, FuncOp)
    return func


def values(
    found: Denotation, func: FuncOp, arrays: list[Array], unwritten: Array | None = None, **parameters: int
) -> list[Array]:
    """The outputs of a denotation on arrays; `unwritten` stands for what nobody has written."""
    sizes = {**solve_sizes(argument_shapes(func), arrays), **parameters}
    named = {input_name(n): a for n, a in enumerate(arrays)}
    if unwritten is not None:
        named[UNDEFINED] = unwritten
    return [evaluate_comprehension(o, named, sizes, Field()) for o in found.outputs]


def holds(c: t.Condition, env: dict[Size | Var, int]) -> bool:
    match c:
        case t.IndexCompare(r, a, b):
            x, y = int(evaluate(a, env)), int(evaluate(b, env))
            return x < y if r == "<" else x <= y if r == "<=" else x == y
        case t.And(parts):
            return all(holds(p, env) for p in parts)
        case t.Or(parts):
            return any(holds(p, env) for p in parts)
        case t.Not(p):
            return not holds(p, env)
        case _:
            raise AssertionError(c)


def violated(found: Denotation, sizes: dict[str, int], largest: int) -> set[str]:
    """The kinds of obligations that some values of the loop counters contradict."""
    out: set[str] = set()
    env: dict[Size | Var, int] = {Size(n): v for n, v in sizes.items()}
    for o in found.obligations:
        conditions = (*o.hypotheses, o.goal)
        symbols = {s for c in conditions for s in t.free_symbols(c) if isinstance(s, Var)}
        for point in product(range(largest), repeat=len(symbols)):
            full = {**env, **dict(zip(sorted(symbols, key=lambda v: v.uid), point, strict=True))}
            if all(holds(h, full) for h in o.hypotheses) and not holds(o.goal, full):
                out.add(o.kind)
                break
    return out


SHAPES = st.integers(1, 14)


@settings(max_examples=cases(40, 600))
@given(SHAPES, SHAPES, SHAPES, st.integers(1, 9), st.integers(1, 9))
def test_a_matmul_in_two_levels(m: int, k: int, n: int, block: int, tile: int) -> None:
    func = function(MATMUL)
    rng = np.random.default_rng(m + 20 * k + 400 * n)
    x, w = rng.integers(0, 100, (k, m)), rng.integers(0, 100, (k, n))
    parameters = {"mB": block, "nT": tile}
    (got,) = evaluate_function(func, [x, w], Field(), sizes=parameters)
    np.testing.assert_array_equal(got, x.T @ w)
    (denoted,) = values(denote_function(func), func, [x, w], **parameters)
    np.testing.assert_array_equal(denoted, x.T @ w)


def test_the_obligations_of_a_matmul_hold() -> None:
    found = denote_function(function(MATMUL))
    kinds = {o.kind for o in found.obligations}
    assert {"range", "disjoint", "load in bounds", "store in bounds"} <= kinds
    for m, k, n, block, tile in [(7, 3, 5, 2, 3), (1, 1, 1, 4, 4), (6, 8, 4, 6, 1)]:
        sizes = {"M": m, "K": k, "N": n, "mB": block, "nT": tile}
        assert violated(found, sizes, 8) == set()


def test_the_form_of_a_matmul() -> None:
    """Inside the guard of the stores stands the sum over the whole of K: the tile lemma has joined its tiles."""
    (out,) = denote_function(function(MATMUL)).outputs
    i, j, k = Var("i"), Var("j"), Var("q")
    body = out.at([of_var(i), of_var(j)])
    while isinstance(body, t.Select):
        body = body.then
    product = t.Apply("mul", (t.Read("in0", (of_var(k), of_var(i))), t.Read("in1", (of_var(k), of_var(j)))))
    normal = Normalizer()
    assert normal.term(body) == normal.term(t.Fold("sum", k, size_index("K"), product))
    assert "tile" in normal.lemmas


@settings(max_examples=cases(40, 400))
@given(SHAPES, st.integers(1, 5))
def test_rows(m: int, k: int) -> None:
    func = function(rows())
    x = np.arange(m * k).reshape(m, k) + 1
    for got in (evaluate_function(func, [x], Field())[0], values(denote_function(func), func, [x])[0]):
        np.testing.assert_array_equal(got, 2 * x)


@settings(max_examples=cases(20, 200))
@given(SHAPES, st.integers(1, 5))
def test_a_fold_of_columns(m: int, k: int) -> None:
    func = function(folded())
    x = np.arange(m * k).reshape(m, k)
    for got in (evaluate_function(func, [x], Field())[0], values(denote_function(func), func, [x])[0]):
        np.testing.assert_array_equal(got[:, 0], x.sum(0))


@settings(max_examples=cases(20, 200))
@given(SHAPES, st.integers(1, 4), st.integers(2, 4), st.integers(0, 3))
def test_stores_in_steps(m: int, k: int, by: int, at: int) -> None:
    at = at % by
    func = function(interleaved(str(at), by))
    x = np.arange(m * k).reshape(m, k) + 1
    want = np.stack([2 * x if r == at else x for r in range(by)], axis=1).reshape(by * m, k)
    (denoted,) = values(denote_function(func), func, [x], unwritten=np.array(0))
    for got in (evaluate_function(func, [x], Field())[0], denoted):
        np.testing.assert_array_equal(got, want)


@settings(max_examples=cases(20, 200))
@given(SHAPES, st.integers(1, 4))
def test_a_fold_is_read_as_it_stands_so_far(m: int, k: int) -> None:
    """Each row of the result is twice the sum of the rows before it."""
    func = function(SO_FAR.replace("MONOID", "sum"))
    x = np.arange(m * k).reshape(m, k) + 1
    for got in (evaluate_function(func, [x], Field())[0], values(denote_function(func), func, [x])[0]):
        np.testing.assert_array_equal(got, 2 * (np.cumsum(x, axis=0) - x))


@settings(max_examples=cases(20, 200))
@given(SHAPES, st.integers(1, 3))
def test_an_affine_recurrence(m: int, k: int) -> None:
    """`s' = x * s + x`, from the first row of y: what the iterations before have made, and what is left at the end."""
    func = function(AFFINE)
    x, y = np.arange(m * k).reshape(m, k) % 5, np.ones((m, k), dtype=int) * 3
    states = [y[0]]
    for row in x:
        states.append(row * states[-1] + row)
    for got in (evaluate_function(func, [x, y], Field()), values(denote_function(func), func, [x, y], np.array(0))):
        np.testing.assert_array_equal(got[0], np.stack(states[:-1]) % Field().p)
        np.testing.assert_array_equal(got[1][0], states[-1] % Field().p)


def test_what_is_not_written_is_undefined() -> None:
    """A loop that starts at row 3 leaves the rows before it as they were: nobody has written them."""
    func = function(rows(lower="3"))
    x = np.arange(14.0).reshape(7, 2)
    (got,) = evaluate_function(func, [x], Float64())
    assert np.isnan(got[:3]).all()
    np.testing.assert_array_equal(got[3:], 2 * x[3:])
    (out,) = denote_function(func).outputs
    assert "undefined" in t.text(out.body)
    with pytest.raises(KeyError):
        values(denote_function(func), func, [x.astype(int)])


@pytest.mark.parametrize(
    ("change", "kinds"),
    [
        ({}, set()),
        ({"upper": "M + 1"}, {"load in bounds", "store in bounds"}),
        ({"lower": "0 - 1"}, {"load in bounds", "store in bounds"}),
        ({"length": "%three"}, {"load in bounds", "store in bounds"}),
        ({"at": "%next"}, {"store in bounds"}),
        ({"step": "2", "length": "%three"}, {"disjoint", "load in bounds", "store in bounds"}),
        ({"upper": "M - 10"}, {"range"}),
    ],
)
def test_obligations(change: dict[str, str], kinds: set[str]) -> None:
    assert violated(denote_function(function(rows(**change))), {"M": 7, "K": 2}, 6) == kinds


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (SO_FAR.replace("MONOID into", "max into").replace("MONOID", "sum"), "does not combine its argument by sum"),
        (AFFINE.replace("add(mul(x0[p, f], x1[p, f]), x0[p, f])", "mul(x1[p, f], x1[p, f])"), "no affine recurrence"),
        (rows(at="%zero"), "does not move by its step"),
        (rows(source="%o", load_at="%next"), "reads elsewhere what it writes"),
        (folded(kind="max"), "does not combine its argument by max"),
        (folded(kind="collect"), "must replace regions in each iteration"),
        (folded(monoid="max"), "does not combine its argument by sum"),
    ],
)
def test_no_denotation(text: str, message: str) -> None:
    with pytest.raises(Undenotable, match=message):
        denote_function(function(text))


def test_a_fold_that_starts_elsewhere() -> None:
    """The initial value belongs to the result: a product that starts from zero is zero."""
    func = function(folded(kind="sum", neutral="prod"))
    x = np.arange(10).reshape(5, 2)
    for got in (evaluate_function(func, [x], Field())[0], values(denote_function(func), func, [x])[0]):
        np.testing.assert_array_equal(got[:, 0], x.sum(0) + 1)


@pytest.mark.parametrize(
    "change", [{"at": "%next"}, {"length": "%three"}, {"lower": "0 - 1"}, {"lower": "0 - 3"}, {"upper": "M + 1"}]
)
def test_regions_outside_are_noticed_when_run(change: dict[str, str]) -> None:
    with pytest.raises(AxonError, match="reaches outside a tensor of shape"):
        evaluate_function(function(rows(**change)), [np.arange(14.0).reshape(7, 2)], Float64())


REGIONS = """
func.func @regions(%x: tensor<6x8xf32>) -> tensor<6x8xf32> {{
  %zero = tile.index "0"
  %two = tile.index "2"
  %six = tile.index "6"
  %eight = tile.index "8"
  %o = tile.index "{offset}"
  %out = tile.empty (%six, %eight) : tensor<6x8xf32>
  %t = tile.load %x[%zero along p, %zero along f] (%six, %eight) : tensor<6x8xf32> -> !tile.tile<["6", "8"], f32, sbuf>
  %e = tile.extract %t[%two, %o] (%two, %two) : !tile.tile<["6", "8"], f32, sbuf> -> !tile.tile<["2", "2"], f32, sbuf>
  %i = tile.insert %e into %t[%zero, %{into}] : !tile.tile<["2", "2"], f32, sbuf>, !tile.tile<["6", "8"], f32, sbuf> -> !tile.tile<["6", "8"], f32, sbuf>
  %r = tile.store %i into %out[%zero along p, %zero along f] : !tile.tile<["6", "8"], f32, sbuf>, tensor<6x8xf32>
  func.return %r : tensor<6x8xf32>
}}
"""  # noqa: E501


WRITTEN_TWICE = f"""
func.func @twice(%x: {T}) -> ({T}, {T}) {{
  %zero = tile.index "0"
  %M = tile.index "M"
  %K = tile.index "K"
  %out = tile.for m.tile (%m, %mn) = %zero to %M step "3" (collect %o = %x : {T}) {{
    %a = tile.neutral "sum" (%mn, %K) : {TILE}
    %n = tile.store %a into %o[%m along p, %zero along f] : {TILE}, {T}
    tile.yield %n : {T}
  }}
  %last = tile.for m.tile (%m, %mn) = %zero to %M step "3" (carry %o = %out : {T}) {{
    %row = tile.load %x[%m along p, %zero along f] (%mn, %K) : {T} -> {TILE}
    %n = tile.store %row into %out[%m along p, %zero along f] : {TILE}, {T}
    tile.yield %n : {T}
  }}
  func.return %out, %last : {T}, {T}
}}
"""


def test_what_is_written_over_is_no_other_value() -> None:
    # An argument that a loop starts from, a value that is used again, and one from outside a loop stay what they are.
    x = np.arange(1.0, 15.0).reshape(7, 2)
    given_x = x.copy()
    zeros, last = evaluate_function(function(WRITTEN_TWICE), [x], Float64())
    np.testing.assert_array_equal(x, given_x)
    np.testing.assert_array_equal(zeros, np.zeros_like(x))
    np.testing.assert_array_equal(last, np.where(np.arange(7)[:, None] == 6, x, 0))


def test_regions_of_tiles() -> None:
    func = function(REGIONS.format(offset="5", into="six"))
    x = np.arange(48).reshape(6, 8)
    want = x.copy()
    want[:2, 6:] = x[2:4, 5:7]
    found = denote_function(func)
    for got in (evaluate_function(func, [x], Field())[0], values(found, func, [x])[0]):
        np.testing.assert_array_equal(got, want)
    assert found.obligations == ()


@pytest.mark.parametrize(
    ("offset", "into", "kind"), [("7", "six", "extract"), ("0 - 1", "six", "extract"), ("0", "o7", "insert")]
)
def test_regions_outside_a_tile(offset: str, into: str, kind: str) -> None:
    text = REGIONS.format(offset=offset, into=into.replace("o7", "seven"))
    text = text.replace("  %o =", '  %seven = tile.index "7"\n  %o =')
    func = function(text)
    with pytest.raises(AxonError, match="reaches outside a tile"):
        evaluate_function(func, [np.zeros((6, 8))], Float64())
    assert [o.kind for o in denote_function(func).obligations] == [f"{kind} in bounds"]
