# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""All errors of a module with their places; dominance against a definition by paths."""

import random

import pytest
from xdsl.dialects import test as test_dialect
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Region

from axon_mlir.host.parsing import parse_module
from axon_mlir.host.registry import make_context
from axon_mlir.host.verification import VerificationError, dominator_tree, find_errors, verify_module


def parse(text: str) -> ModuleOp:
    return parse_module(text, "file.mlir", make_context(allow_unregistered=True))


def test_a_valid_module_has_no_errors():
    verify_module(parse("func.func @f(%a: i32) -> i32 {\n  %b = arith.addi %a, %a : i32\n  func.return %b : i32\n}"))


def test_all_errors_are_reported_with_names_and_places():
    text = """func.func @f(%a: i32) -> i32 {
  "t.use"(%b) : (i64) -> ()
  %b = "t.def"() : () -> i64
  func.return
}
func.func @g(%a: i32) -> i32 {
  func.return %a, %a : i32, i32
}
"""
    with pytest.raises(VerificationError) as caught:
        verify_module(parse(text))
    assert sorted(error.where or "" for error in caught.value.errors) == [
        "file.mlir:2:3",
        "file.mlir:4:3",
        "file.mlir:7:3",
    ]
    assert "'t.use' op operand #0 (%b) does not dominate this use" in str(caught.value)
    assert "'func.return' op " in str(caught.value)
    assert "builtin.module" not in str(caught.value)


def test_a_block_that_needs_a_terminator():
    module = parse("func.func @f() {\n  %c = arith.constant 1 : i32\n}")
    (error,) = find_errors(module)
    assert str(error) == "file.mlir:2:3: error: 'arith.constant' op ends its block but is not a terminator"


def test_an_isolated_operation_sees_nothing_from_outside():
    text = '%a = arith.constant 1 : i32\nfunc.func @f() {\n  "t.use"(%a) : (i32) -> ()\n  func.return\n}'
    (error,) = find_errors(parse(text))
    assert error.message == "'t.use' op operand #0 (%a) uses a value from outside an isolated operation"


def test_a_use_in_a_loop_of_blocks():
    text = """func.func @f() {
  "t.br"() [^bb1] : () -> ()
^bb1:
  %x = "t.def"() : () -> i32
  "t.br"() [^bb2, ^bb3] : () -> ()
^bb2:
  "t.use"(%x) : (i32) -> ()
  "t.br"() [^bb1] : () -> ()
^bb3:
  "t.use"(%x) : (i32) -> ()
  func.return
}"""
    assert find_errors(parse(text)) == []


def random_region(seed: int) -> Region:
    random.seed(seed)
    blocks = [Block() for _ in range(random.randint(2, 8))]
    for block in blocks:
        block.add_op(test_dialect.TestTermOp(successors=random.choices(blocks[1:], k=random.randint(0, 2))))
    return Region(blocks)


def reachable(region: Region, without: Block | None) -> set[Block]:
    seen: set[Block] = set()
    stack = [block for block in [region.blocks.first] if block is not without]
    while stack:
        block = stack.pop()
        if block in seen or block is None:
            continue
        seen.add(block)
        stack += [other for other in block.last_op.successors if other is not without]
    return seen


@pytest.mark.parametrize("seed", range(60))
def test_the_dominator_tree_is_what_removing_a_block_says(seed: int):
    region = random_region(seed)
    children = dominator_tree(region)
    everything = reachable(region, None)

    def below(block: Block) -> set[Block]:
        return {block}.union(*(below(child) for child in children.get(block, [])))

    for block in everything:
        assert below(block) == everything - reachable(region, block)


def test_deep_nesting():
    op = test_dialect.TestOp()
    for _ in range(150):
        op = test_dialect.TestOp(regions=[Region(Block([op]))])
    module = ModuleOp([op])
    assert all("terminator" in error.message for error in find_errors(module))
