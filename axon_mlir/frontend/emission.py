# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From a finished trace to a `func.func` of tensor_hl."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FileLineColLoc,
    FunctionType,
    IntAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from axon_mlir.dialects.tensor_hl import OPERATIONS
from axon_mlir.frontend.places import Place
from axon_mlir.frontend.recording import Node, Trace
from axon_mlir.frontend.sizes import Specialisation, StepByStep
from axon_mlir.semantics.index import Index
from axon_mlir.semantics.shapes import element_type, tensor_type


def emit(
    trace: Trace,
    name: str,
    arguments: Sequence[tuple[str, Node]],
    results: Sequence[Node],
    constants: Mapping[str, str],
    source: str,
) -> ModuleOp:
    """The module with the one function; nodes that no result needs are left out."""
    types = [_type(trace, node) for _, node in arguments]
    block = Block(arg_types=types)
    values: dict[Node, SSAValue] = {}
    for (parameter, node), value in zip(arguments, block.args, strict=True):
        value.name_hint = parameter
        values[node] = value
    needed = _needed(results)
    for node in needed:
        if node in trace.closed:
            raise StepByStep(trace.closed[node], f"a value of one step is used after it (line {node.place.line})")
    for node in trace.nodes:
        if node in needed and node not in values:
            op = _operation(trace, node, [values[o] for o in node.operands])
            block.add_op(op)
            values[node] = op.results[0]
    block.add_op(ReturnOp(*(values[r] for r in results)))
    function = FuncOp(name, FunctionType.from_lists(types, [values[r].type for r in results]), Region(block))
    function.attributes.update(_describe(trace, arguments, constants, source))
    return ModuleOp([function])


def _needed(results: Sequence[Node]) -> set[Node]:
    seen: set[Node] = set()
    stack = list(results)
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            stack.extend(node.operands)
    return seen


def _type(trace: Trace, node: Node) -> Attribute:
    return tensor_type(trace.shape(node), element_type(node.dtype))


def _operation(trace: Trace, node: Node, operands: Sequence[SSAValue]) -> Operation:
    attributes = {k: _resolved(trace, v) for k, v in node.attributes.items()}
    op = OPERATIONS[node.kind](*operands, element_type=element_type(node.dtype), shape=trace.shape(node), **attributes)
    op.location = _location(node.place)
    return op


def _resolved(trace: Trace, value: Any) -> Any:
    if isinstance(value, Index):
        return trace.sizes.resolve(value)
    if isinstance(value, tuple):
        return tuple(_resolved(trace, v) for v in cast("tuple[Any, ...]", value))
    return value


def _location(place: Place) -> FileLineColLoc:
    return FileLineColLoc(StringAttr(place.file), IntAttr(place.line), IntAttr(1))


def _describe(
    trace: Trace, arguments: Sequence[tuple[str, Node]], constants: Mapping[str, str], source: str
) -> dict[str, Attribute]:
    sizes = trace.sizes
    used = {s.name for _, node in arguments for term in trace.shape(node) for s in term.symbols()}
    generic = [n for n in sizes.generic() if n in used]
    return {
        "axon.arguments": ArrayAttr([StringAttr(n) for n, _ in arguments]),
        "axon.constants": DictionaryAttr({k: StringAttr(v) for k, v in constants.items()}),
        "axon.sizes": DictionaryAttr(
            {
                "generic": ArrayAttr([StringAttr(n) for n in generic]),
                "fixed": _specialised(sizes.fixed),
                **({"least": _specialised(sizes.least)} if sizes.least else {}),
            }
        ),
        "axon.values": DictionaryAttr({k: IntegerAttr(v, i64) for k, v in sizes.values().items() if k in used}),
        "axon.source": StringAttr(source),
    }


def _specialised(found: Sequence[Specialisation]) -> ArrayAttr[Attribute]:
    """Sizes, each with its number and where it was needed."""
    return ArrayAttr(
        [
            DictionaryAttr(
                {
                    "name": StringAttr(f.symbol),
                    "value": IntegerAttr(f.value, i64),
                    "where": StringAttr(str(f.place)),
                    **({"why": StringAttr(f.why)} if f.why else {}),
                }
            )
            for f in found
        ]
    )
