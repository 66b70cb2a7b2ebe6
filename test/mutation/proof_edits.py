# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small edits of tensor programs: every one that is well-formed, for every operation of a function."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import permutations
from typing import Any

from xdsl.dialects.builtin import ModuleOp, bf16
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from axon_mlir.dialects.tensor_hl import OPERATIONS
from axon_mlir.dialects.tensor_hl.base import TensorHlOp, Word, element_kind, element_of
from axon_mlir.dialects.tensor_hl.elementwise import PREDICATES, CastOp
from axon_mlir.errors import AxonError
from axon_mlir.host.verification import verify_module
from axon_mlir.semantics.functions import FUNCTIONS, MONOIDS
from axon_mlir.semantics.index import Size, const
from axon_mlir.semantics.index import size as size_index
from axon_mlir.semantics.shapes import shape_of

BINARY = ("add", "sub", "mul", "div", "max", "min")
UNARY = ("exp", "tanh", "neg", "square", "sigmoid", "abs")
ROOTS = {"sqrt": "rsqrt", "rsqrt": "sqrt", "reciprocal": "square", "log": "sqrt", "exp": "log"}
TWINS = (("softmax", "log_softmax"), ("gelu", "gelu_tanh"), ("repeat", "tile"), ("sin", "cos"))
"""Operations of one signature that are easily taken for each other."""
STRICT = ({"lt", "le"}, {"gt", "ge"})
COMMUTE = ("add", "mul", "max", "min")
Edit = Callable[[Any], None]
"""Changes an operation in place."""
Edits = Iterator[tuple[str, str, Edit]]
"""(kind, what it does, the edit)."""


@dataclass(frozen=True)
class Mutant:
    """An edited function: what was done to which operation."""

    kind: str
    text: str
    function: FuncOp


def edits(op: Operation) -> Edits:
    """The edits of an operation of tensor_hl."""
    if not isinstance(op, TensorHlOp):
        return
    name = op.name.split(".")[1]
    yield from _functions(op, name)
    yield from _operands(op, name)
    for word in op.WORDS:
        yield from _word(op, name, word)
    yield from _casts(op, name)
    yield from _positions(op, name)
    yield from _folds(op, name)


# -- what an operation is ---------------------------------------------------------------------------------------------


def _functions(op: TensorHlOp, name: str) -> Edits:
    if name in BINARY:
        for other in BINARY:
            if other != name:
                yield "operator", f"{name} -> {other}", _become(other)
    elif name in FUNCTIONS and FUNCTIONS[name].arity == 1:
        for other in (*UNARY[:4], ROOTS.get(name)):
            if other is not None and other != name:
                yield "function", f"{name} -> {other}", _become(other)
    for pair in TWINS:
        for old, new in (pair, pair[::-1]):
            if name == old:
                yield "function", f"{old} -> {new}", _become(new)


def _become(function: str) -> Edit:
    def edit(op: Any) -> None:
        new = OPERATIONS[function].create(
            operands=op.operands, result_types=[op.results[0].type], properties=op.properties
        )
        Rewriter().replace_op(op, new)

    return edit


# -- operands ---------------------------------------------------------------------------------------------------------


def _operands(op: TensorHlOp, name: str) -> Edits:
    types = [o.type for o in op.operands]
    if name == "concat" or (len(types) >= 2 and types[-1] == types[-2] and name not in COMMUTE):
        kind = {"select": "mask inverted", "concat": "concat order"}.get(name, "operands")
        yield kind, f"{name}: operands exchanged", _exchange
    for n, type_ in enumerate(types):
        if type_ == op.results[0].type:
            yield "dropped", f"{name}: operand {n} alone", _keep(n)
        if name in COMMUTE[:2]:
            yield "doubled", f"{name}: operand {n} twice", _twice(n, name)
        shape = shape_of(type_)
        if len(shape) >= 2 and shape[-1] == shape[-2]:
            order = (*range(len(shape) - 2), len(shape) - 1, len(shape) - 2)
            yield "axes exchanged", f"{name}: operand {n} transposed", _through(n, "transpose", perm=order)


def _exchange(op: Any) -> None:
    n = len(op.operands)
    op.operands = (*op.operands[: n - 2], op.operands[n - 1], op.operands[n - 2])


def _keep(n: int) -> Edit:
    def edit(op: Any) -> None:
        op.results[0].replace_all_uses_with(op.operands[n])

    return edit


def _twice(n: int, name: str) -> Edit:
    """An operand that is combined twice."""

    def edit(op: Any) -> None:
        _set_operand(op, n, OPERATIONS[name](op.operands[n], op.operands[n]))

    return edit


def _through(n: int, name: str, **words: Any) -> Edit:
    """Another operation on one operand."""

    def edit(op: Any) -> None:
        _set_operand(op, n, OPERATIONS[name](op.operands[n], **words))

    return edit


def _set_operand(op: Any, n: int, *new: Operation) -> None:
    """The result of the last of the new operations takes an operand's place."""
    Rewriter().insert_op(new, InsertPoint.before(op))
    op.operands = (*op.operands[:n], new[-1].results[0], *op.operands[n + 1 :])


# -- attributes -------------------------------------------------------------------------------------------------------


def _word(op: TensorHlOp, name: str, word: Word) -> Edits:
    old = op.value(word.name)

    def to(kind: str, value: Any) -> tuple[str, str, Edit]:
        return kind, f"{name}: {word.name} {old} -> {value}", _set_words({word.name: word.encode(value)})

    rank = max(len(getattr(o.type, "shape", ())) for o in (*op.operands, *op.results))
    match word.name:
        case "monoid":
            yield from (to("monoid", m) for m in MONOIDS if m != old)
        case "predicate":
            for p in PREDICATES:
                if p != old:
                    yield to("strictness" if {p, old} in STRICT else "predicate", p)
        case "axis":
            yield from (to("axis", n) for n in range(rank) if n != old)
        case "axes":
            yield from (to("axis", (n,)) for n in range(rank) if (n,) != tuple(old) and len(old) == 1)
        case "perm":
            yield from (to("permutation", p) for p in permutations(old) if p != tuple(old))
        case "dims" | "lhs_contract" | "rhs_contract":
            kind = "broadcast" if word.name == "dims" else "contraction"
            yield from (to(kind, p) for p in permutations(range(rank), len(old)) if p != tuple(old))
        case "value" | "scale":
            yield from (to("constant", float(v)) for v in (2 * old + 1, -old, old + 1, old / 2))
            if 0 < abs(old) <= 0.1:
                yield to("eps dropped", 0.0)
        case "eps":
            yield from (to("eps dropped", v) for v in (0.0, float(2 * old)))
        case "term":
            yield from (to("size", v) for v in (old + 1, 2 * old))
            yield from (to("sizes confused", size_index(s)) for s in _sizes(op) if size_index(s) != old)
        case "low":
            for d in (1, -1):
                moved = {"low": old + d, "high": op.value("high") - d}
                encoded = {w.name: w.encode(moved[w.name]) for w in op.WORDS if w.name in moved}
                yield "padding", f"{name}: shifted by {d}", _set_words(encoded)
        case "offsets":
            for n in range(len(old)):
                yield from (to("offset", (*old[:n], old[n] + d, *old[n + 1 :])) for d in (1, -1))
        case "steps":
            for n in range(len(old)):
                yield from (to("step", (*old[:n], s, *old[n + 1 :])) for s in (old[n] + 1, old[n] - 1, -old[n]) if s)
        case "mask" | "pairing":
            yield from (to("mask" if word.name == "mask" else "pairing", c) for c in word.choices if c != old)
        case _:
            pass


def _set_words(words: dict[str, Any]) -> Edit:
    def edit(op: Any) -> None:
        op.properties.update(words)

    return edit


def _sizes(op: Operation) -> list[str]:
    """The sizes of the arguments of the function around an operation."""
    block = op.parent
    assert block is not None
    return sorted({s.name for a in block.args for d in shape_of(a.type) for s in d.symbols() if isinstance(s, Size)})


# -- conversions ------------------------------------------------------------------------------------------------------


def _casts(op: TensorHlOp, name: str) -> Edits:
    if element_kind(op.results[0].type) == "float" and element_of(op.results[0]) != bf16:
        yield "cast inserted", f"{name}: a cast to bf16 and back", _round
    if isinstance(op, CastOp):
        yield "cast removed", "cast removed", _keep(0)
        made = op.operands[0].owner
        if isinstance(made, TensorHlOp) and _is_unary(made):
            yield "cast moved", f"cast before {made.name}", _earlier
        users = [use.operation for use in op.results[0].uses]
        if len(users) == 1 and _is_unary(users[0]):
            yield "cast moved", f"cast after {users[0].name}", _later


def _is_unary(op: Operation) -> bool:
    name = op.name.removeprefix("tensor_hl.")
    return name in FUNCTIONS and FUNCTIONS[name].arity == 1


def _round(op: Any) -> None:
    uses = list(op.results[0].uses)
    narrow = CastOp(op.results[0], element_type=bf16)
    wide = CastOp(narrow, element_type=element_of(op.results[0]))
    Rewriter().insert_op([narrow, wide], InsertPoint.after(op))
    for use in uses:
        use.operation.operands[use.index] = wide.results[0]


def _earlier(op: Any) -> None:
    made: Any = op.operands[0].owner
    first = CastOp(made.operands[0], element_type=element_of(op.results[0]))
    then = type(made)(first, element_type=element_of(op.results[0]))
    Rewriter().replace_op(op, [first, then])


def _later(op: Any) -> None:
    user: Any = next(iter(op.results[0].uses)).operation
    first = type(user)(op.operands[0], element_type=element_of(op.operands[0]))
    then = CastOp(first, element_type=element_of(user.results[0]))
    Rewriter().replace_op(user, [first, then])


# -- positions --------------------------------------------------------------------------------------------------------


def _positions(op: TensorHlOp, name: str) -> Edits:
    if name == "compare":
        for d in (1, -1):
            yield "mask shifted", f"compare: the left side plus {d}", _plus(0, d)
    if name in ("gather", "scatter"):
        for d in (1, -1):
            yield "position shifted", f"{name}: positions plus {d}", _plus(1, d)


def _plus(n: int, number: int) -> Edit:
    def edit(op: Any) -> None:
        operand: SSAValue = op.operands[n]
        constant = OPERATIONS["constant"](element_type=element_of(operand), value=number, shape=shape_of(operand.type))
        _set_operand(op, n, constant, OPERATIONS["add"](operand, constant.results[0]))

    return edit


# -- folds ------------------------------------------------------------------------------------------------------------


def _folds(op: TensorHlOp, name: str) -> Edits:
    match name:
        case "reduce" | "mean":
            axis = op.value("axes")[-1]
            yield "range shortened", f"{name}: the last element left out", _without_last({0: axis})
            yield "range shortened", f"{name}: the first element left out", _without_last({0: axis}, first=True)
            if name == "mean" or op.value("monoid") == "sum":
                yield "monoid", f"{name}: mean for sum or sum for mean", _mean_or_sum
        case "matmul" if op.value("lhs_contract"):
            axes = {0: op.value("lhs_contract")[0], 1: op.value("rhs_contract")[0]}
            yield "range shortened", f"{name}: the last element left out", _without_last(axes)
        case "scan":
            yield "scan exclusive", "scan: without the element itself", _exclusive
        case _:
            return


def _without_last(axes: dict[int, int], *, first: bool = False) -> Edit:
    """Operands that are one shorter along an axis."""

    def edit(op: Any) -> None:
        for n, axis in axes.items():
            shape = shape_of(op.operands[n].type)
            sizes = [d - 1 if k == axis else d for k, d in enumerate(shape)]
            offsets = [const(int(first and k == axis)) for k in range(len(shape))]
            _set_operand(
                op, n, OPERATIONS["slice"](op.operands[n], offsets=offsets, sizes=sizes, steps=[1] * len(shape))
            )

    return edit


def _mean_or_sum(op: Any) -> None:
    axes = op.value("axes")
    mean = op.name.endswith("mean")
    new = (
        OPERATIONS["reduce"](op.operands[0], monoid="sum", axes=axes)
        if mean
        else OPERATIONS["mean"](op.operands[0], axes=axes)
    )
    Rewriter().replace_op(op, new)


def _exclusive(op: Any) -> None:
    uses = list(op.results[0].uses)
    less = OPERATIONS["sub"](op.results[0], op.operands[0])
    Rewriter().insert_op(less, InsertPoint.after(op))
    for use in uses:
        use.operation.operands[use.index] = less.results[0]


# -- mutants ----------------------------------------------------------------------------------------------------------


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
