# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A choice means its reference, and alternatives can be built, read and inlined."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from axon_mlir.dialects.nu import NU, AlternativeAttr, ChoiceOp, YieldOp, choices_of, inline_alternative
from axon_mlir.dialects.tensor_hl import ELEMENTWISE
from axon_mlir.errors import AxonError
from axon_mlir.host.verification import verify_module
from axon_mlir.semantics import terms as t
from axon_mlir.semantics.denotation import denote_function
from axon_mlir.semantics.domains import Floats
from axon_mlir.semantics.index import size
from axon_mlir.semantics.interpret import evaluate_function
from axon_mlir.semantics.shapes import tensor_type

VECTOR = tensor_type([size("N")], f32)


def region(function: str) -> Region:
    """An alternative that applies one function to its one argument."""
    block = Block(arg_types=[VECTOR])
    op = ELEMENTWISE[function](block.args[0])
    block.add_ops([op, YieldOp(op)])
    return Region(block)


def choice_between(x: SSAValue, *functions: str) -> ChoiceOp:
    """A choice between functions of one argument, each called after itself."""
    return ChoiceOp([x], [VECTOR], [(AlternativeAttr.of(f), region(f)) for f in functions], label="pick")


@pytest.fixture
def function() -> FuncOp:
    """A function that negates the choice of exp or sqrt of its argument."""
    block = Block(arg_types=[VECTOR])
    choice = choice_between(block.args[0], "exp", "sqrt")
    result = ELEMENTWISE["neg"](choice)
    block.add_ops([choice, result, ReturnOp(result)])
    made = FuncOp("f", ([VECTOR], [VECTOR]), Region(block))
    verify_module(ModuleOp([made.clone()]))
    return made


def test_dialect_lists_everything():
    assert [op.name for op in NU.operations] == ["nu.choice", "nu.yield"]
    assert [a.name for a in NU.attributes] == ["nu.alternative"]


def test_denotes_the_reference(function: FuncOp):
    denoted = denote_function(function)
    (output,) = denoted.outputs
    assert output.shape == (size("N"),)
    at = [size("i")]
    assert output.at(at) is t.Apply("neg", (t.Apply("exp", (denoted.inputs[0].at(at),)),))
    assert denoted.obligations == ()


def test_runs_the_reference(function: FuncOp):
    x = np.array([0.25, 4.0, 9.0])
    (y,) = evaluate_function(function, [x], Floats())
    np.testing.assert_allclose(y, -np.exp(x))


@pytest.mark.parametrize(("number", "reference"), [(0, np.exp), (1, np.sqrt)])
def test_inlining_takes_the_place_of_the_choice(function: FuncOp, number: int, reference: np.ufunc):
    choices = choices_of(function)
    assert list(choices) == ["pick"]
    inline_alternative(choices["pick"], number)
    verify_module(ModuleOp([function.clone()]))
    assert not choices_of(function)
    x = np.array([0.25, 4.0, 9.0])
    np.testing.assert_allclose(evaluate_function(function, [x], Floats())[0], -reference(x))


def test_an_alternative_may_pass_its_operands_through():
    block = Block(arg_types=[VECTOR, VECTOR])
    inner = Block(arg_types=[VECTOR, VECTOR])
    inner.add_op(YieldOp(inner.args[1], inner.args[0]))
    choice = ChoiceOp(block.args, [VECTOR, VECTOR], [(AlternativeAttr.of("swap"), Region(inner))])
    block.add_ops([choice, ReturnOp(*choice.results)])
    function = FuncOp("f", ([VECTOR, VECTOR], [VECTOR, VECTOR]), Region(block))
    verify_module(ModuleOp([function.clone()]))
    x, y = np.array([1.0]), np.array([2.0])
    assert [float(v[0]) for v in evaluate_function(function, [x, y], Floats())] == [2.0, 1.0]
    inline_alternative(choices_of(function)["choice0"], 0)
    assert [float(v[0]) for v in evaluate_function(function, [x, y], Floats())] == [2.0, 1.0]


def test_two_choices_of_one_name(function: FuncOp):
    first = choices_of(function)["pick"]
    function.body.block.insert_op_after(choice_between(first.results[0], "abs"), first)
    with pytest.raises(AxonError, match="second choice called 'pick'"):
        choices_of(function)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"label": "a b"}, "cannot be a name"),
        ({"label": ""}, "cannot be a name"),
        ({"label": "a", "verdict": "sure"}, "unknown verdict 'sure'"),
        ({"label": "a", "numeric": "EE"}, "given twice"),
        ({"label": "a", "numeric": "Z"}, "unknown numeric class 'Z'"),
    ],
)
def test_illegal_alternatives(words: dict[str, str], message: str):
    with pytest.raises(VerifyException, match=message):
        AlternativeAttr.of(**words)
