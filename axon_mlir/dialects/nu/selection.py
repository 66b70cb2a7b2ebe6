# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Taking alternatives: how the choices of a function are called, and how an alternative takes its choice's place."""

from __future__ import annotations

from xdsl.dialects.func import FuncOp
from xdsl.rewriter import InsertPoint, Rewriter

from axon_mlir.dialects.nu.choice import ChoiceOp, YieldOp
from axon_mlir.errors import AxonError
from axon_mlir.host.verification import operation_error


def choices_of(function: FuncOp) -> dict[str, ChoiceOp]:
    """The choices of a function in program order, those inside alternatives after the one around them.

    A choice is called by its label, or `choice<n>`, n being its place in this order. AxonError when two have one name.
    """
    found: dict[str, ChoiceOp] = {}
    choices = [op for op in function.walk() if isinstance(op, ChoiceOp)]
    for number, choice in enumerate(choices):
        name = choice.label.data if choice.label is not None else f"choice{number}"
        if name in found:
            error = operation_error(choice, f"is the second choice called '{name}' in @{function.sym_name.data}")
            raise AxonError(error.message, where=error.where, accepted="a label of its own for each choice")
        found[name] = choice
    return found


def inline_alternative(choice: ChoiceOp, number: int) -> None:
    """Replace a choice by one of its alternatives; choices inside it stay, now in the block around."""
    block = choice.body(number)
    yielded = block.last_op
    assert isinstance(yielded, YieldOp)
    Rewriter.inline_block(block, InsertPoint.before(choice), choice.inputs)
    for result, value in zip(choice.outputs, yielded.operands, strict=True):
        result.replace_all_uses_with(value)
    home = choice.parent
    assert home is not None
    home.erase_op(yielded)
    home.erase_op(choice)
