# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The repaired parser: bit patterns, locations, errors with a place."""

import math
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FileLineColLoc, UnregisteredOp

from axon_mlir.errors import AxonError
from axon_mlir.host.parsing import parse_module
from axon_mlir.host.registry import make_context


def parse(text: str):
    return parse_module(text, "file.mlir", make_context(allow_unregistered=True))


def parse_elements(literal: str) -> tuple:
    module = parse(f'"t.op"() {{value = {literal}}} : () -> ()')
    op = module.body.block.first_op
    value = op.attributes["value"]
    assert isinstance(value, DenseIntOrFPElementsAttr)
    return tuple(value.get_values())


@pytest.mark.parametrize(
    ("literal", "expected"),
    [
        ("dense<0xFF800000> : tensor<2xf32>", (-math.inf, -math.inf)),
        ("dense<[0x7F800000, 1.5]> : tensor<2xf32>", (math.inf, 1.5)),
        ("dense<0x3f800000> : vector<1xf32>", (1.0,)),
        ("dense<[[0x7C00], [0xFC00]]> : tensor<2x1xf16>", (math.inf, -math.inf)),
        ("dense<0xFF80> : tensor<1xbf16>", (-math.inf,)),
        ("dense<0x3FC0> : tensor<1xbf16>", (1.5,)),
        ("dense<0xFFF0000000000000> : tensor<1xf64>", (-math.inf,)),
        ("dense<[0x10, -0x10]> : tensor<2xi32>", (16, -16)),
        ("dense<[1, 2]> : tensor<2xf32>", (1.0, 2.0)),
        ("dense<true> : tensor<1xi1>", (-1,)),
    ],
)
def test_tensor_elements(literal: str, expected: tuple):
    assert parse_elements(literal) == expected


def test_a_bit_pattern_may_be_nan():
    assert math.isnan(parse_elements("dense<0x7FC00000> : tensor<1xf32>")[0])


@given(st.integers(0, 2**32 - 1))
def test_every_f32_bit_pattern_is_read_as_such(bits: int):
    expected = struct.unpack("<f", bits.to_bytes(4, "little"))[0]
    (actual,) = parse_elements(f"dense<0x{bits:08X}> : tensor<1xf32>")
    assert np.array_equal(actual, expected, equal_nan=True)


def test_every_operation_has_its_place():
    module = parse('"t.a"() : () -> ()\n\n  %x = "t.b"() ({\n    "t.c"() : () -> ()\n  }) : () -> i32\n')
    places = {
        op.op_name.data: (op.location.line.data, op.location.column.data)
        for op in module.walk()
        if isinstance(op, UnregisteredOp) and isinstance(op.location, FileLineColLoc)
    }
    assert places == {"t.a": (1, 1), "t.b": (3, 3), "t.c": (4, 5)}
    assert isinstance(module.location, FileLineColLoc)


def test_a_written_location_wins():
    module = parse('"t.a"() : () -> () loc("other.py":7:9)')
    assert str(module.body.block.first_op.location) == 'loc("other.py":7:9)'


def test_a_text_without_operations_is_an_empty_module():
    assert not list(parse("// nothing\n").body.block.ops)


@pytest.mark.parametrize(
    ("text", "where", "message"),
    [
        ("func.func @f(", "file.mlir:1:14", "Expected"),
        ("\n  nowhere.op", "file.mlir:2:13", "nowhere.op"),
        ('"t.a"(%x) : (i32) -> ()\n"t.b"() : () -> ()', "file.mlir:1:7", "value %x is used but not defined"),
        ('"t.a"() {v = dense<[1, 2]> : tensor<3xi32>} : () -> ()', "file.mlir:1:", "Shape mismatch"),
        ("func.func @f() {\n  func.return\n", "file.mlir:3:1", ""),
        ('"t.a"() {v = #nowhere.attr} : () -> ()', "file.mlir:1:", ""),
        ("%0:2 = arith.constant 1 : i32", "file.mlir:1:1", "1 results"),
        ("%", "file.mlir:1:", ""),
        ("\x00", "file.mlir", ""),
    ],
)
def test_errors_have_a_place(text: str, where: str, message: str):
    with pytest.raises(AxonError) as caught:
        parse_module(text, "file.mlir", make_context()) if "nowhere" in text else parse(text)
    assert caught.value.where is not None
    assert caught.value.where.startswith(where)
    assert message in caught.value.message
    assert "\n" not in caught.value.message


@given(st.text(alphabet='%@#!^"(){}<>[]=:,->x01 \n', max_size=40))
def test_no_text_makes_anything_but_an_error_with_a_place(text: str):
    try:
        parse(text)
    except AxonError as error:
        assert error.where is not None and error.where.startswith("file.mlir")
