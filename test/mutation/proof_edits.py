# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small edits of tensor programs: every one that is well-formed, for every operation of a function."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import permutations
from typing import Any

from xdsl.dialects.builtin import ModuleOp, bf16
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint, Rewriter

from axon_mlir.dialects.tensor_hl.base import TensorHlOp, element_kind, element_of
from axon_mlir.dialects.tensor_hl.elementwise import ELEMENTWISE, PREDICATES, CastOp
from axon_mlir.errors import AxonError
from axon_mlir.host.verification import verify_module
from axon_mlir.semantics.functions import FUNCTIONS, MONOIDS

BINARY = ("add", "sub", "mul", "div", "max", "min")
UNARY = ("exp", "tanh", "neg", "square", "sigmoid", "abs")
ROOTS = {"sqrt": "rsqrt", "rsqrt": "sqrt", "reciprocal": "square", "log": "sqrt", "exp": "log"}
Edit = Callable[[Any], None]
"""Changes an operation in place."""


@dataclass(frozen=True)
class Mutant:
    """An edited function: what was done to which operation."""

    kind: str
    text: str
    function: FuncOp


def edits(op: Operation) -> Iterator[tuple[str, str, Edit]]:
    """(kind, what it does, the edit) for an operation of tensor_hl."""
    if not isinstance(op, TensorHlOp):
        return
    name = op.name.split(".")[1]
    yield from _functions(op, name)
    yield from _operands(op, name)
    yield from _words(op, name)
    if element_kind(op.results[0].type) == "float" and element_of(op.results[0]) != bf16:
        yield "cast inserted", f"{name}: a cast to bf16 and back", _round


def _functions(op: TensorHlOp, name: str) -> Iterator[tuple[str, str, Edit]]:
    if name in BINARY:
        for other in BINARY:
            if other != name:
                yield "operator", f"{name} -> {other}", _become(other)
    elif name in FUNCTIONS and FUNCTIONS[name].arity == 1:
        for other in (*UNARY[:4], ROOTS.get(name)):
            if other is not None and other != name:
                yield "function", f"{name} -> {other}", _become(other)


def _operands(op: TensorHlOp, name: str) -> Iterator[tuple[str, str, Edit]]:
    types = [o.type for o in op.operands]
    if len(types) >= 2 and types[-1] == types[-2] and name not in ("add", "mul", "max", "min"):
        yield "operands", f"{name}: operands exchanged", _exchange
    if name in BINARY:
        for n in range(2):
            if types[n] == op.results[0].type:
                yield "dropped", f"{name}: operand {n} alone", _keep(n)


def _words(op: TensorHlOp, name: str) -> Iterator[tuple[str, str, Edit]]:
    for word in op.WORDS:
        old = op.value(word.name)

        def to(kind: str, value: Any, word: Any = word, old: Any = old) -> tuple[str, str, Edit]:
            return kind, f"{name}: {word.name} {old} -> {value}", _word(word.name, word.encode(value))

        rank = max(len(getattr(o.type, "shape", ())) for o in (*op.operands, *op.results))
        match word.name:
            case "monoid":
                yield from (to("monoid", m) for m in MONOIDS if m != old)
            case "predicate":
                yield from (to("predicate", p) for p in PREDICATES if p != old)
            case "axis":
                yield from (to("axis", n) for n in range(rank) if n != old)
            case "axes":
                yield from (to("axis", (n,)) for n in range(rank) if (n,) != tuple(old) and len(old) == 1)
            case "perm":
                yield from (to("permutation", p) for p in permutations(old) if p != tuple(old))
            case "dims" | "lhs_contract" | "rhs_contract":
                kind = "broadcast" if word.name == "dims" else "contraction"
                yield from (to(kind, p) for p in permutations(range(rank), len(old)) if p != tuple(old))
            case "value":
                yield from (to("constant", float(v)) for v in (2 * old + 1, -old, old + 1, old / 2))
            case "term":
                yield from (to("size", v) for v in (old + 1, 2 * old))
            case "offsets":
                for n in range(len(old)):
                    yield from (to("slice", (*old[:n], old[n] + d, *old[n + 1 :])) for d in (1, -1))
            case _:
                pass


def _become(function: str) -> Edit:
    def edit(op: Any) -> None:
        new = ELEMENTWISE[function].create(operands=op.operands, result_types=[op.results[0].type])
        Rewriter().replace_op(op, new)

    return edit


def _exchange(op: Any) -> None:
    n = len(op.operands)
    op.operands = (*op.operands[: n - 2], op.operands[n - 1], op.operands[n - 2])


def _keep(n: int) -> Edit:
    def edit(op: Any) -> None:
        op.results[0].replace_all_uses_with(op.operands[n])

    return edit


def _word(name: str, value: Any) -> Edit:
    def edit(op: Any) -> None:
        op.properties[name] = value

    return edit


def _round(op: Any) -> None:
    narrow = CastOp(op.results[0], element_type=bf16)
    wide = CastOp(narrow, element_type=element_of(op.results[0]))
    uses = list(op.results[0].uses)
    Rewriter().insert_op([narrow, wide], InsertPoint.after(op))
    for use in uses:
        use.operation.operands[use.index] = wide.results[0]


def places(function: FuncOp) -> list[tuple[int, str, str]]:
    """(which operation, kind, what it does) for every edit of a function, the ill-formed ones too."""
    return [(n, kind, text) for n, op in enumerate(function.walk()) for kind, text, _ in edits(op)]


def mutated(function: FuncOp, position: int, kind: str, text: str) -> Mutant | None:
    """The edited function; None when it is ill-formed."""
    copy = function.clone()
    module = ModuleOp([copy])
    op = list(copy.walk())[position]
    edit = next(e for k, t, e in edits(op) if (k, t) == (kind, text))
    edit(op)
    try:
        verify_module(module)
    except AxonError:
        return None
    return Mutant(kind, text, copy)
