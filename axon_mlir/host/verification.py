# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Verification of a whole module, operation by operation, with every error and its place.

xDSL stops at the first error, prints the whole module with it, and never checks SSA dominance; this does none of
the three.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import FileLineColLoc, ModuleOp, UnregisteredOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.traits import IsolatedFromAbove, IsTerminator, NoTerminator
from xdsl.utils.exceptions import DiagnosticException

from axon_mlir.errors import AxonError
from axon_mlir.host.registry import module_rules

_ISOLATION_MESSAGE = "Operation using value defined out of its IsolatedFromAbove parent"
"""How xDSL's trait reports what our own check reports at the use itself."""


class VerificationError(AxonError):
    """All that is wrong with one module: `errors` holds one AxonError for each problem, in program order."""

    def __init__(self, errors: Sequence[AxonError]):
        super().__init__(errors[0].message, where=errors[0].where, accepted=errors[0].accepted)
        self.errors = tuple(errors)

    def __str__(self) -> str:
        return "\n".join(str(error) for error in self.errors)


def verify_module(module: ModuleOp) -> None:
    """Raise a VerificationError that lists every problem of the module, if there is any."""
    if errors := find_errors(module):
        raise VerificationError(errors)


def find_errors(module: ModuleOp) -> list[AxonError]:
    """Every problem of the module: each operation's own rules, the block structure, dominance, isolation.

    If there is none, what dialects ask of a module as a whole.
    """
    errors = [error for op in module.walk() for error in _operation_errors(op)]
    dominance = _DominanceChecker()
    dominance.check_operation(module)
    errors += dominance.errors
    if not errors:
        dialects = {name_of(op).split(".")[0] for op in module.walk()}
        errors = [error for rule in module_rules(dialects) for error in rule(module)]
    return errors


def operation_error(op: Operation, message: str) -> AxonError:
    """An error that names an operation and its place."""
    return AxonError(f"'{name_of(op)}' op {message}", where=place_of(op))


def name_of(op: Operation) -> str:
    """The name of an operation as its text spells it."""
    return op.op_name.data if isinstance(op, UnregisteredOp) else op.name


def is_isolated(op: Operation) -> bool:
    """Whether the operation's regions may not use values from around it."""
    return op.has_trait(IsolatedFromAbove, value_if_unregistered=False)


def place_of(op: Operation) -> str | None:
    """The `file:line:col` of an operation, or of the nearest operation around it that has one."""
    current: Operation | None = op
    while current is not None:
        location = current.location
        if isinstance(location, FileLineColLoc):
            return f"{location.filename.data}:{location.line.data}:{location.column.data}"
        current = current.parent_op()
    return None


def _operation_errors(op: Operation) -> Iterator[AxonError]:
    yield from (operation_error(op, message) for message in _structure_problems(op))
    try:
        op.verify_()
    except AxonError as error:
        yield AxonError(
            f"'{name_of(op)}' op {error.message}", where=error.where or place_of(op), accepted=error.accepted
        )
    except DiagnosticException as error:
        if not str(error).startswith(_ISOLATION_MESSAGE):
            yield operation_error(op, _summary(op, str(error)))


def _summary(op: Operation, message: str) -> str:
    """An xDSL message on one line and without the operation's name, which the caller puts in front."""
    text = " ".join(message.split())
    for prefix in (f"'{op.name}' op ", f"'{op.name}' ", f"{op.name} op ", f"{op.name}: "):
        text = text.removeprefix(prefix)
    return text


def _structure_problems(op: Operation) -> Iterator[str]:
    """What xDSL's own `Operation.verify` and `Block.verify` check around an operation."""
    block = op.parent
    region = block.parent if block is not None else None
    if op.successors and block is not None:
        if block.last_op is not op:
            yield "has successors but is not the last operation of its block"
        if any(successor.parent is not region for successor in op.successors):
            yield "branches to a block of another region"
    if block is not None and region is not None and block.last_op is op and _needs_terminator(region):
        if not op.has_trait(IsTerminator):
            yield "ends its block but is not a terminator"
    for number, inner in enumerate(op.regions):
        if inner.parent is not op:
            yield f"region #{number} belongs to another operation"
        if _needs_terminator(inner) and any(inner_block.is_empty for inner_block in inner.blocks):
            yield f"region #{number} has an empty block where a terminator is required"


def _needs_terminator(region: Region) -> bool:
    if region.first_block is not region.last_block:
        return True
    parent = region.parent
    return parent is not None and not parent.has_trait(NoTerminator)


class _DominanceChecker:
    """Walks blocks in dominator-tree order and keeps the set of values that are defined on every path to here."""

    def __init__(self):
        self.errors: list[AxonError] = []
        self._visible: set[SSAValue] = set()

    def check_operation(self, op: Operation) -> None:
        """Check the operands of one operation and all its regions; its results become visible afterwards."""
        for number, operand in enumerate(op.operands):
            if operand not in self._visible:
                self.errors.append(operation_error(op, _invisible(op, number, operand)))
        if op.regions:
            self._check_regions(op)
        self._visible.update(op.results)

    def _check_regions(self, op: Operation) -> None:
        outside = self._visible
        if is_isolated(op):
            self._visible = set()
        for region in op.regions:
            self._check_region(region)
        self._visible = outside

    def _check_region(self, region: Region) -> None:
        entry = region.first_block
        if entry is None:
            return
        if entry is region.last_block:
            self._check_block(entry, {})
            return
        children = dominator_tree(region)
        self._check_block(entry, children)

    def _check_block(self, block: Block, children: dict[Block, list[Block]]) -> None:
        defined: list[SSAValue] = [*block.args]
        self._visible.update(block.args)
        for op in block.ops:
            self.check_operation(op)
            defined.extend(op.results)
        for child in children.get(block, ()):
            self._check_block(child, children)
        self._visible.difference_update(defined)


def dominator_tree(region: Region) -> dict[Block, list[Block]]:
    """The children of each block of a region in its dominator tree; blocks that nothing reaches are absent.

    The iterative algorithm of Cooper, Harvey and Kennedy over reverse postorder.
    """
    order = _reverse_postorder(region)
    number = {block: i for i, block in enumerate(order)}
    predecessors: dict[Block, list[Block]] = {block: [] for block in order}
    for block in order:
        for successor in _successors(block):
            predecessors[successor].append(block)
    dominator: dict[Block, Block] = {order[0]: order[0]}
    changed = True
    while changed:
        changed = False
        for block in order[1:]:
            candidates = [other for other in predecessors[block] if other in dominator]
            new = candidates[0]
            for other in candidates[1:]:
                new = _meet(new, other, dominator, number)
            if dominator.get(block) is not new:
                dominator[block] = new
                changed = True
    children: dict[Block, list[Block]] = {}
    for block in order[1:]:
        children.setdefault(dominator[block], []).append(block)
    return children


def _meet(a: Block, b: Block, dominator: dict[Block, Block], number: dict[Block, int]) -> Block:
    while a is not b:
        if number[a] > number[b]:
            a = dominator[a]
        else:
            b = dominator[b]
    return a


def _reverse_postorder(region: Region) -> list[Block]:
    entry = region.first_block
    assert entry is not None
    order: list[Block] = []
    seen = {entry}
    stack = [(entry, iter(_successors(entry)))]
    while stack:
        block, remaining = stack[-1]
        successor = next(remaining, None)
        if successor is None:
            order.append(block)
            stack.pop()
        elif successor not in seen:
            seen.add(successor)
            stack.append((successor, iter(_successors(successor))))
    return order[::-1]


def _successors(block: Block) -> Sequence[Block]:
    """The successors inside the block's own region (another region's are an error that is reported elsewhere)."""
    last = block.last_op
    return [] if last is None else [successor for successor in last.successors if successor.parent is block.parent]


def _invisible(op: Operation, number: int, operand: SSAValue) -> str:
    name = f"operand #{number}" + (f" (%{operand.name_hint})" if operand.name_hint else "")
    if _crosses_isolation(op, operand):
        return f"{name} uses a value from outside an isolated operation"
    return f"{name} does not dominate this use"


def _crosses_isolation(op: Operation, operand: SSAValue) -> bool:
    """Whether an isolated operation lies between the value's definition and its use."""
    owner = operand.owner
    home = owner if isinstance(owner, Block) else owner.parent
    region = home.parent if home is not None else None
    current = op.parent_op()
    while current is not None and region is not None:
        if any(inner is region for inner in current.regions):
            return False
        if is_isolated(current):
            return region.parent is not None and region.parent.is_ancestor(current)
        current = current.parent_op()
    return False
