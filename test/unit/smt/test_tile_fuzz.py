# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random edits of small tile programs: what is proved must compute the same.

The prover is asked without its search for counterexamples, so that only the proof stands between a wrong edit and
`proved`. What it proves is executed, exactly and at many sizes, beside the original.
"""

from __future__ import annotations

import random
import re
from collections import Counter

import numpy as np
import pytest
from audit import cases
from xdsl.dialects.builtin import ArrayAttr, IntAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from axon_mlir.cli.opt import print_module
from axon_mlir.dialects.tile import ForOp, IndexOp, LeafOp, LoadOp, NeutralOp, StoreOp
from axon_mlir.errors import AxonError
from axon_mlir.host.parsing import parse_module
from axon_mlir.host.registry import make_context
from axon_mlir.host.verification import find_errors
from axon_mlir.semantics.domains import Field, NotInDomain
from axon_mlir.semantics.index import Size, evaluate
from axon_mlir.semantics.interpret import argument_shapes, evaluate_function
from axon_mlir.smt.equivalence import prove_functions

BATCHES, EACH = 10, cases(10, 100)

MATRIX = 'tensor<?x?xf32, ["M", "N"]>'


# -- programs ---------------------------------------------------------------------------------------------------------


def tile(p: object, f: object) -> str:
    return f'!tile.tile<["{p}", "{f}"], f32, sbuf>'


def scaled(s: int, u: int) -> str:
    """Twice a matrix, in tiles of s x u."""
    t = tile(s, u)
    return f"""
func.func @f(%x: {MATRIX}) -> {MATRIX} {{
  %m = tile.index "M"
  %n = tile.index "N"
  %zero = tile.index "0"
  %e = tile.empty(%m, %n) : {MATRIX}
  %r = tile.for m.tile (%i, %ih) = %zero to %m step "{s}" (collect %a = %e : {MATRIX}) {{
    %q = tile.for n.tile (%j, %jh) = %zero to %n step "{u}" (collect %b = %a : {MATRIX}) {{
      %v = tile.load %x[%i along p, %j along f] (%ih, %jh) : {MATRIX} -> {t}
      %w = tile.leaf "op leaf(a[P, F]) -> c[P, F] {{ c[p, f] = mul(a[p, f], 2) }}" (%v) : ({t}) -> {t}
      %s = tile.store %w into %b[%i along p, %j along f] : {t}, {MATRIX}
      tile.yield %s : {MATRIX}
    }}
    tile.yield %q : {MATRIX}
  }}
  func.return %r : {MATRIX}
}}"""


def transposed(s: int, u: int) -> str:
    """A matrix of tiles that are loaded the other way round."""
    t, out = tile(u, s), 'tensor<?x?xf32, ["N", "M"]>'
    return f"""
func.func @f(%x: {MATRIX}) -> {out} {{
  %m = tile.index "M"
  %n = tile.index "N"
  %zero = tile.index "0"
  %e = tile.empty(%n, %m) : {out}
  %r = tile.for m.tile (%i, %ih) = %zero to %m step "{s}" (collect %a = %e : {out}) {{
    %q = tile.for n.tile (%j, %jh) = %zero to %n step "{u}" (collect %b = %a : {out}) {{
      %v = tile.load %x[%i along f, %j along p] (%jh, %ih) : {MATRIX} -> {t}
      %s = tile.store %v into %b[%j along p, %i along f] : {t}, {out}
      tile.yield %s : {out}
    }}
    tile.yield %q : {out}
  }}
  func.return %r : {out}
}}"""


def row_sums(s: int, u: int) -> str:
    """The sum of each row, by partial sums over u columns."""
    t, one, out = tile(s, u), tile(s, 1), 'tensor<?xf32, ["M"]>'
    return f"""
func.func @f(%x: {MATRIX}) -> {out} {{
  %m = tile.index "M"
  %n = tile.index "N"
  %zero = tile.index "0"
  %one = tile.index "1"
  %e = tile.empty(%m) : {out}
  %r = tile.for m.tile (%i, %ih) = %zero to %m step "{s}" (collect %a = %e : {out}) {{
    %z = tile.neutral "sum"(%ih, %one) : {one}
    %q = tile.for n.tile (%j, %jh) = %zero to %n step "{u}" (sum %b = %z : {one}) {{
      %v = tile.load %x[%i along p, %j along f] (%ih, %jh) : {MATRIX} -> {t}
      %w = tile.leaf "op leaf(a[P, F]) -> c[P, 1] {{ c[p, 0] = sum(q < F: a[p, q]) }}" (%v) sum into %b : ({t}) -> {one}
      tile.yield %w : {one}
    }}
    %s = tile.store %q into %a[%i along p] : {one}, {out}
    tile.yield %s : {out}
  }}
  func.return %r : {out}
}}"""


def buffered(s: int, u: int) -> str:
    """A row block is collected on chip in pieces of u columns and read in pieces of s."""
    t, back, all_ = tile(s, u), tile(s, s), tile(s, "N")
    return f"""
func.func @f(%x: {MATRIX}) -> {MATRIX} {{
  %m = tile.index "M"
  %n = tile.index "N"
  %zero = tile.index "0"
  %e = tile.empty(%m, %n) : {MATRIX}
  %r = tile.for m.tile (%i, %ih) = %zero to %m step "{s}" (collect %a = %e : {MATRIX}) {{
    %buffer = tile.empty(%ih, %n) : {all_}
    %row = tile.for n.tile (%j, %jh) = %zero to %n step "{u}" (collect %b = %buffer : {all_}) {{
      %v = tile.load %x[%i along p, %j along f] (%ih, %jh) : {MATRIX} -> {t}
      %p = tile.insert %v into %b[%zero, %j] : {t}, {all_} -> {all_}
      tile.yield %p : {all_}
    }}
    %q = tile.for n.tile (%k, %kh) = %zero to %n step "{s}" (collect %c = %a : {MATRIX}) {{
      %g = tile.extract %row[%zero, %k] (%ih, %kh) : {all_} -> {back}
      %s = tile.store %g into %c[%i along p, %k along f] : {back}, {MATRIX}
      tile.yield %s : {MATRIX}
    }}
    tile.yield %q : {MATRIX}
  }}
  func.return %r : {MATRIX}
}}"""


def product(s: int, u: int) -> str:
    """The product of two matrices that are given with the contraction first."""
    left, right, out = 'tensor<?x?xf32, ["K", "M"]>', 'tensor<?x?xf32, ["K", "N"]>', MATRIX
    a, b, c = tile(u, s), tile(u, s), tile(s, s)
    text = "op leaf(a[K, M], b[K, N]) -> c[M, N] { c[m, n] = sum(k < K: mul(a[k, m], b[k, n])) }"
    return f"""
func.func @f(%x: {left}, %y: {right}) -> {out} {{
  %m = tile.index "M"
  %n = tile.index "N"
  %l = tile.index "K"
  %zero = tile.index "0"
  %e = tile.empty(%m, %n) : {out}
  %r = tile.for m.tile (%i, %ih) = %zero to %m step "{s}" (collect %d = %e : {out}) {{
    %q = tile.for n.tile (%j, %jh) = %zero to %n step "{s}" (collect %g = %d : {out}) {{
      %z = tile.neutral "sum"(%ih, %jh) : {c}
      %p = tile.for k.tile (%k, %kh) = %zero to %l step "{u}" (sum %h = %z : {c}) {{
        %v = tile.load %x[%k along p, %i along f] (%kh, %ih) : {left} -> {a}
        %w = tile.load %y[%k along p, %j along f] (%kh, %jh) : {right} -> {b}
        %t = tile.leaf "{text}" (%v, %w) sum into %h : ({a}, {b}) -> {c}
        tile.yield %t : {c}
      }}
      %s = tile.store %p into %g[%i along p, %j along f] : {c}, {out}
      tile.yield %s : {out}
    }}
    tile.yield %q : {out}
  }}
  func.return %r : {out}
}}"""


PROGRAMS = (scaled, transposed, row_sums, buffered, product)

NUMBERS = {"M": 10, "N": 7, "K": 9}
"""Sizes of static programs."""


def static(text: str) -> str:
    """The program for tensors whose sizes are numbers."""
    for shape, names in re.findall(r"tensor<([?x]+)xf32, \[([^]]*)\]>", text):
        numbers = "x".join(str(NUMBERS[n.strip(' "')]) for n in names.split(","))
        text = text.replace(f"tensor<{shape}xf32, [{names}]>", f"tensor<{numbers}xf32>")
    for name, number in NUMBERS.items():
        text = text.replace(f'"{name}"', f'"{number}"')
    return text


# -- edits ------------------------------------------------------------------------------------------------------------


def change_index(module: ModuleOp, source: random.Random) -> str:
    """Let one use of an index read another value: bounds, offsets and extents are all indices."""
    from xdsl.dialects.builtin import IndexType

    uses = [
        (op, n)
        for op in module.walk()
        if not isinstance(op, IndexOp)
        for n, v in enumerate(op.operands)
        if isinstance(v.type, IndexType)
    ]
    op, n = source.choice(uses)
    number = source.randint(1, 5)
    expression = source.choice(
        [
            "o + 1",
            "o - 1",
            "2 * o",
            f"o - o % {number}",
            f"o + {number}",
            f"{number}",
            f"min(o, {number})",
            "o - o % 2",
            "o // 2 * 2",
            "o // 2 + (o + 1) // 2",
            "0",
            "o + o % 2",
        ]
    )
    new = IndexOp(expression, ["o"], [op.operands[n]])
    block = op.parent
    assert block is not None
    block.insert_op_before(new, op)
    op.operands[n] = new.result
    return f"operand {n} of {op.name}: {expression}"


def change_step(module: ModuleOp, source: random.Random) -> str:
    """Another step; the iterations' extents follow it, or (often) stay what they were."""
    op = source.choice([op for op in module.walk() if isinstance(op, ForOp)])
    old, new = op.step.data, str(source.randint(1, 8))
    if source.random() < 0.6:
        first = op.body.block.first_op
        assert first is not None
        kept = IndexOp(f"min({old}, u - i)", ["u", "i"], [op.upper, op.start])
        op.body.block.insert_op_before(kept, first)
        for use in list(op.extent.uses):
            use.operation.operands[use.index] = kept.result
    op.properties["step"] = StringAttr(new)
    return f"step {old} -> {new}"


def change_structure(module: ModuleOp, source: random.Random) -> str:
    """Axes, monoids, dropped destinations, formulas."""
    op: Operation = source.choice([op for op in module.walk() if isinstance(op, LoadOp | StoreOp | LeafOp | NeutralOp)])
    match op:
        case LoadOp() | StoreOp():
            swapped = [1 - a.data if a.data >= 0 else a.data for a in op.axes.data]
            op.properties["axes"] = ArrayAttr([IntAttr(a) for a in swapped])
        case NeutralOp():
            op.properties["monoid"] = StringAttr("prod")
        case LeafOp():
            old, new = source.choice([("mul", "add"), ("2)", "3)"), ("sum(", "prod("), ("a[p, f]", "a[p, 0]")])
            op.properties["text"] = StringAttr(op.text.data.replace(old, new))
        case _:
            pass
    return f"structure of {op.name}"


def edited(module: ModuleOp, source: random.Random) -> list[str]:
    """One or two edits."""
    out: list[str] = []
    for _ in range(source.choice([1, 1, 1, 2])):
        edit = source.choices([change_index, change_step, change_structure], [5, 4, 1])[0]
        out.append(edit(module, source))
    return out


# -- the property -----------------------------------------------------------------------------------------------------


def function_of(module: ModuleOp) -> FuncOp:
    return next(f for f in module.ops if isinstance(f, FuncOp))


def difference(before: FuncOp, after: FuncOp, source: random.Random) -> str | None:
    """Sizes at which two functions differ."""
    for number in range(12):
        longest = (4, 12, 20)[number % 3]
        sizes = {name: source.randint(1, longest) for name in ("M", "N", "K")}
        random_ = np.random.default_rng(number)
        arrays: list[np.ndarray] = []
        for shape in argument_shapes(before):
            extents = tuple(int(evaluate(d, {Size(k): v for k, v in sizes.items()})) for d in shape)
            arrays.append(random_.integers(1, Field.p, extents, dtype=np.int64))
        want = evaluate_function(before, arrays, Field())
        try:
            have = evaluate_function(after, arrays, Field())
        except (AxonError, IndexError, ValueError) as error:
            assert not isinstance(error, NotInDomain)
            return f"{sizes}: stops: {error}"
        if any(a.shape != b.shape or np.any(a != b) for a, b in zip(have, want, strict=True)):
            return f"{sizes}: another value"
    return None


@pytest.mark.parametrize("batch", range(BATCHES))
def test_what_is_proved_computes_the_same(batch: int) -> None:
    source = random.Random(1000 + batch)
    seen: Counter[str] = Counter()
    for _ in range(EACH):
        text = source.choice(PROGRAMS)(source.randint(2, 5), source.randint(2, 6))
        if source.random() < 0.2:
            text = static(text)
        before = parse_module(text, "fuzz", make_context())
        after = before.clone()
        edits = edited(after, source)
        if find_errors(after):
            seen["invalid"] += 1
            continue
        verdict = prove_functions(function_of(before), function_of(after), use_filter=False)
        seen[verdict.verdict] += 1
        if verdict.verdict == "proved":
            found = difference(function_of(before), function_of(after), source)
            assert found is None, f"{edits}\n{print_module(before)}\n{print_module(after)}\n{found}"
    print(dict(seen))


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_are_proved_equal_under_other_steps(program) -> None:
    """Edits that are harmless are proved, so that the property above says something."""
    one = parse_module(program(3, 4), "one", make_context())
    other = parse_module(program(5, 2), "other", make_context())
    assert not find_errors(one)
    assert prove_functions(function_of(one), function_of(other), use_filter=False).verdict == "proved"
