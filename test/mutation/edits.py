# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The edits that mutants consist of: small changes of a module in place, or of a text.

An edit that finds nothing to change raises `Stale`: passes change, and a mutant must not become harmless in silence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntAttr, ModuleOp, StringAttr
from xdsl.ir import Operation, SSAValue

from axon_mlir.cli.opt import print_module
from axon_mlir.dialects.tile import (
    ExtractOp,
    ForOp,
    IndexOp,
    InsertOp,
    LeafOp,
    LoadOp,
    NeutralOp,
    StoreOp,
    YieldOp,
)
from axon_mlir.dialects.trn_isa import InstructionOp, StorageAttr, storage_attr
from axon_mlir.host.parsing import parse_module
from axon_mlir.host.registry import make_context

Edit = Callable[[ModuleOp], None]
TextEdit = Callable[[str], str]

FIRST_OFFSET: dict[type[Operation], int] = {LoadOp: 1, StoreOp: 2, ExtractOp: 1, InsertOp: 2}
"""Where the offsets begin among the operands."""


class Stale(Exception):
    """There is nothing that the edit could change."""


# -- finding ----------------------------------------------------------------------------------------------------------


def pick(module: ModuleOp, kind: type[Any], nth: int = 0, where: Callable[[Any], bool] = lambda op: True) -> Any:
    """The nth operation of a kind that satisfies a condition, in program order; negative counts from the end."""
    found = [op for op in module.walk() if isinstance(op, kind) and where(op)]
    try:
        return found[nth]
    except IndexError:
        raise Stale(f"{len(found)} of {kind.__name__}, not {nth}") from None


def leaf(module: ModuleOp, text: str, nth: int = 0) -> LeafOp:
    """The nth leaf whose meaning contains a text."""
    return pick(module, LeafOp, nth, lambda op: text in op.text.data)


def loop(module: ModuleOp, dim: str, nth: int = 0, kind: str | None = None) -> ForOp:
    """The nth loop over a dimension (with a result of a kind)."""
    return pick(
        module,
        ForOp,
        nth,
        lambda op: op.dim.data == dim and (kind is None or kind in [k.data for k in op.kinds.data]),
    )


def isa(module: ModuleOp, name: str, nth: int = 0, form: str | None = None) -> InstructionOp:
    """The nth instruction of a name (and a form)."""
    return pick(
        module,
        InstructionOp,
        nth,
        lambda op: op.INSTRUCTION == name and (form is None or op.form.data == form),
    )


def index(before: Operation, expression: str, **names: SSAValue) -> SSAValue:
    """A new index value computed in front of an operation."""
    op = IndexOp(expression, list(names), list(names.values()))
    block = before.parent
    assert block is not None
    block.insert_op_before(op, before)
    return op.result


def redirect(old: SSAValue, new: SSAValue) -> None:
    """Let everything read a new value that is made of an old one."""
    for use in list(old.uses):
        if use.operation is not new.owner:
            use.operation.operands[use.index] = new


# -- text -------------------------------------------------------------------------------------------------------------


def sub(old: str, new: str, nth: int = 0) -> TextEdit:
    """Replace the nth occurrence of a text."""

    def edit(text: str) -> str:
        parts = text.split(old)
        if len(parts) - 1 <= (nth if nth >= 0 else -nth - 1):
            raise Stale(f"'{old}' occurs {len(parts) - 1} times")
        cut = nth + 1 if nth >= 0 else len(parts) + nth
        return old.join(parts[:cut]) + new + old.join(parts[cut:])

    return edit


def resub(pattern: str, new: str, nth: int = 0) -> TextEdit:
    """Replace the nth match of a pattern; for texts in which names may change."""

    def edit(text: str) -> str:
        found = list(re.finditer(pattern, text))
        if not -len(found) <= nth < len(found):
            raise Stale(f"'{pattern}' occurs {len(found)} times")
        match = found[nth]
        return text[: match.start()] + match.expand(new) + text[match.end() :]

    return edit


def written(*edits: TextEdit) -> Edit:
    """Text edits of the printed module."""

    def edit(module: ModuleOp) -> None:
        text = print_module(module)
        for one in edits:
            text = one(text)
        replace_module(module, parse_module(text, "mutant", make_context()))

    return edit


def replace_module(module: ModuleOp, other: ModuleOp) -> None:
    """Let a module hold what another one holds."""
    for op in list(module.body.block.ops):
        module.body.block.erase_op(op, safe_erase=False)
    for op in list(other.body.block.ops):
        op.detach()
        module.body.block.add_op(op)


def both(*edits: Edit) -> Edit:
    """One edit after the other."""

    def edit(module: ModuleOp) -> None:
        for one in edits:
            one(module)

    return edit


# -- regions and loops ------------------------------------------------------------------------------------------------


def offset(kind: type[Operation], nth: int, axis: int, expression: str) -> Edit:
    """Change one offset of a region; `o` is the old one."""

    def edit(module: ModuleOp) -> None:
        op = pick(module, kind, nth)
        position = FIRST_OFFSET[kind] + axis
        op.operands[position] = index(op, expression, o=op.operands[position])

    return edit


def swap_offsets(kind: type[Operation], nth: int) -> Edit:
    """Exchange the first two offsets of a region."""

    def edit(module: ModuleOp) -> None:
        op, first = pick(module, kind, nth), FIRST_OFFSET[kind]
        op.operands[first], op.operands[first + 1] = op.operands[first + 1], op.operands[first]

    return edit


def extent(kind: type[Operation], nth: int, axis: int, expression: str) -> Edit:
    """Change one extent of what an operation makes; `n` is the old one."""

    def edit(module: ModuleOp) -> None:
        op = pick(module, kind, nth)
        sizes: Sequence[SSAValue] = op.sizes
        position = len(op.operands) - len(sizes) + axis
        op.operands[position] = index(op, expression, n=op.operands[position])

    return edit


def axes(kind: type[Operation], nth: int, new: Sequence[int]) -> Edit:
    """Let the axes of a tensor run along others of the tile (0 partition, 1 free, -1 none)."""

    def edit(module: ModuleOp) -> None:
        op = pick(module, kind, nth)
        if [a.data for a in op.axes.data] == list(new):
            raise Stale("the axes are those already")
        op.properties["axes"] = ArrayAttr([IntAttr(a) for a in new])

    return edit


def swap_axes(kind: type[Operation], nth: int) -> Edit:
    """Let the nth region with two axes run along the tile's axes the other way round."""

    def edit(module: ModuleOp) -> None:
        op = pick(module, kind, nth, lambda op: sorted(a.data for a in op.axes.data) == [0, 1])
        op.properties["axes"] = ArrayAttr([IntAttr(1 - a.data) for a in op.axes.data])

    return edit


def bound(dim: str, which: str, expression: str, nth: int = 0, kind: str | None = None) -> Edit:
    """Change the lower or upper bound of a loop; `b` is the old one."""

    def edit(module: ModuleOp) -> None:
        op = loop(module, dim, nth, kind)
        position = ("lower", "upper").index(which)
        op.operands[position] = index(op, expression, b=op.operands[position])

    return edit


def step(dim: str, new: Callable[[str], str], nth: int = 0, kind: str | None = None) -> Edit:
    """Change the step of a loop whose iterations keep their extent: they overlap, or leave gaps."""

    def edit(module: ModuleOp) -> None:
        op = loop(module, dim, nth, kind)
        old = op.step.data
        first = op.body.block.first_op
        assert first is not None
        kept = index(first, f"min({old}, u - i)", u=op.upper, i=op.start)
        redirect(op.extent, kept)
        op.properties["step"] = StringAttr(new(old))

    return edit


def iteration_extent(dim: str, expression: str, nth: int = 0, kind: str | None = None) -> Edit:
    """Change the extent of a loop's iterations; `n` is the real one."""

    def edit(module: ModuleOp) -> None:
        op = loop(module, dim, nth, kind)
        first = op.body.block.first_op
        assert first is not None
        changed = index(first, expression, n=op.extent)
        redirect(op.extent, changed)

    return edit


# -- values -----------------------------------------------------------------------------------------------------------


def skip(kind: type[Operation], nth: int, operand: int, where: Callable[[Any], bool] = lambda op: True) -> Edit:
    """Drop an operation: an operand takes the place of its result."""

    def edit(module: ModuleOp) -> None:
        op = pick(module, kind, nth, where)
        op.results[0].replace_all_uses_with(op.operands[operand])
        op.detach()
        op.erase()

    return edit


def exchange(find: Callable[[ModuleOp], Operation], i: int = 0, j: int = 1) -> Edit:
    """Exchange two operands."""

    def edit(module: ModuleOp) -> None:
        op = find(module)
        op.operands[i], op.operands[j] = op.operands[j], op.operands[i]

    return edit


def operand(find: Callable[[ModuleOp], Operation], position: int, value: Callable[[ModuleOp], SSAValue]) -> Edit:
    """Read another value."""

    def edit(module: ModuleOp) -> None:
        op, new = find(module), value(module)
        if op.operands[position] is new:
            raise Stale("it is that operand already")
        op.operands[position] = new

    return edit


def yields_argument(dim: str, nth: int = 0, result: int = 0) -> Edit:
    """Let a loop pass on what it got: what the iterations do is lost."""

    def edit(module: ModuleOp) -> None:
        op = loop(module, dim, nth)
        last = op.body.block.last_op
        assert isinstance(last, YieldOp)
        last.operands[result] = op.carried[result]

    return edit


# -- leaves and folds -------------------------------------------------------------------------------------------------


def meaning(text: str, old: str, new: str, nth: int = 0) -> Edit:
    """Change the meaning of the nth leaf that contains a text."""

    def edit(module: ModuleOp) -> None:
        op = leaf(module, text, nth)
        if old not in op.text.data:
            raise Stale(f"no '{old}' in {op.text.data}")
        op.properties["text"] = StringAttr(op.text.data.replace(old, new))

    return edit


def monoid(new: str, nth: int = 0) -> Edit:
    """Fold by another monoid: the neutral element, the loop and the leaf agree on it."""

    def edit(module: ModuleOp) -> None:
        op = pick(module, LeafOp, nth, lambda op: op.accumulate is not None)
        op.properties["accumulate"] = StringAttr(new)
        around = op.parent_op()
        assert isinstance(around, ForOp)
        position = [a is op.outs for a in around.carried].index(True)
        kinds = list(around.kinds.data)
        kinds[position] = StringAttr(new)
        around.properties["kinds"] = ArrayAttr(kinds)
        start = around.inits[position].owner
        assert isinstance(start, NeutralOp)
        start.properties["monoid"] = StringAttr(new)

    return edit


def neutral(new: str, nth: int = 0) -> Edit:
    """Begin a fold with the neutral element of another monoid."""

    def edit(module: ModuleOp) -> None:
        pick(module, NeutralOp, nth).properties["monoid"] = StringAttr(new)

    return edit


def accumulate(new: str, nth: int = 0) -> Edit:
    """Combine by another monoid than the loop says."""

    def edit(module: ModuleOp) -> None:
        pick(module, LeafOp, nth, lambda op: op.accumulate is not None).properties["accumulate"] = StringAttr(new)

    return edit


def overwrite(nth: int = 0) -> Edit:
    """Let a leaf replace its destination instead of adding to it."""

    def edit(module: ModuleOp) -> None:
        op = pick(module, LeafOp, nth, lambda op: op.accumulate is not None)
        new = LeafOp(op.text.data, list(op.ins), op.result.type, dims=op.dims)
        block = op.parent
        assert block is not None
        block.insert_op_before(new, op)
        op.result.replace_all_uses_with(new.result)
        op.detach()
        op.erase()

    return edit


# -- instructions -----------------------------------------------------------------------------------------------------


def function(name: str, attribute: str, new: str, nth: int = 0) -> Edit:
    """Choose another function of an instruction."""

    def edit(module: ModuleOp) -> None:
        op = pick(module, InstructionOp, nth, lambda op: op.INSTRUCTION == name and attribute in op.chosen_functions)
        chosen = op.chosen_functions
        if chosen[attribute] == new:
            raise Stale(f"{attribute} is {new} already")
        op.properties["functions"] = DictionaryAttr({k: StringAttr(v) for k, v in (chosen | {attribute: new}).items()})

    return edit


def immediate(name: str, attribute: str, new: str, nth: int = 0) -> Edit:
    """Change an immediate of an instruction."""

    def edit(module: ModuleOp) -> None:
        op = pick(module, InstructionOp, nth, lambda op: op.INSTRUCTION == name and attribute in op.immediates.data)
        op.properties["immediates"] = DictionaryAttr({**op.immediates.data, attribute: StringAttr(new)})

    return edit


def instruction_overwrites(name: str, form: str, nth: int = 0) -> Edit:
    """Drop the accumulator of an instruction; `form` is the one that overwrites."""

    def edit(module: ModuleOp) -> None:
        op = pick(module, InstructionOp, nth, lambda op: op.INSTRUCTION == name and op.outs is not None)
        new = type(op)(
            form,
            list(op.ins),
            [r.type for r in op.results_],
            functions=op.chosen_functions,
            engines=op.engine_set,
        )
        new.attributes.update(op.attributes)
        block = op.parent
        assert block is not None
        block.insert_op_before(new, op)
        for old, result in zip(op.results_, new.results_, strict=True):
            old.replace_all_uses_with(result)
        op.detach()
        op.erase()

    return edit


# -- storage ----------------------------------------------------------------------------------------------------------


def storages(module: ModuleOp) -> dict[str, StorageAttr]:
    """Label -> annotation."""
    out: dict[str, StorageAttr] = {}
    for op in module.walk():
        found = op.attributes.get("storage")
        for item in found.data if isinstance(found, ArrayAttr) else [found]:
            if isinstance(item, StorageAttr):
                out[item.label.data] = item
    return out


def storage(
    nth: int,
    change: Callable[[StorageAttr, Sequence[StorageAttr]], StorageAttr | None],
    space: str = "sbuf",
) -> Edit:
    """Change the nth storage of a space, knowing them all; None removes the annotation."""

    def edit(module: ModuleOp) -> None:
        known = [s for s in storages(module).values() if s.space.data == space]
        if not -len(known) <= nth < len(known):
            raise Stale(f"{len(known)} storages in {space}")
        old = known[nth]
        new = change(old, known)
        if new == old:
            raise Stale("the storage is that already")
        for op in module.walk():
            found = op.attributes.get("storage")
            if found == old and new is None:
                del op.attributes["storage"]
            elif found == old and new is not None:
                op.attributes["storage"] = new
            elif isinstance(found, ArrayAttr) and new is not None:
                op.attributes["storage"] = ArrayAttr([new if item == old else item for item in found.data])

    return edit


def placed(old: StorageAttr, address: int, size: int | None = None, space: str | None = None) -> StorageAttr:
    """The same storage elsewhere."""
    return storage_attr(
        old.label.data,
        space if space is not None else old.space.data,
        address,
        old.bytes.data if size is None else size,
    )
