# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The check of an allocation finds what is wrong with one."""

from __future__ import annotations

from pathlib import Path

import pytest
from xdsl.dialects.func import FuncOp

from axon_mlir.dialects.trn_isa import StorageAttr, device_of, storage_attr
from axon_mlir.dialects.trn_isa.storage import Aliasing, Root, storage_of
from axon_mlir.errors import AxonError
from axon_mlir.host.parsing import parse_module
from axon_mlir.host.registry import make_context
from axon_mlir.transforms.isa.isa_allocate import allocate, live_ranges, verify_allocation

PROGRAMS = Path(__file__).parents[3] / "lit" / "printer_nki"


def allocated(name: str) -> FuncOp:
    source = PROGRAMS / f"{name}.mlir"
    module = parse_module(source.read_text(encoding="utf-8"), str(source), make_context())
    func = next(op for op in module.body.block.ops if isinstance(op, FuncOp))
    allocate(func, device_of(func))
    return func


def roots(func: FuncOp) -> dict[str, Root]:
    found = {storage_of(r): r for r in Aliasing(func).roots if r.on_chip}
    return {s.label.data: r for s, r in found.items() if s is not None}


def move(root: Root, address: int, size: int | None = None) -> StorageAttr:
    old = storage_of(root)
    assert old is not None and root.op is not None
    new = storage_attr(old.label.data, old.space.data, address, old.bytes.data if size is None else size)
    root.op.attributes["storage"] = new
    return new


def test_a_good_one_passes_twice() -> None:
    func = allocated("matmul")
    verify_allocation(func, device_of(func))


@pytest.mark.parametrize(
    ("name", "label", "address", "size", "message"),
    [
        ("matmul", "wt", 128, None, "the storages 'xt' and 'wt' are alive together and overlap in sbuf"),
        ("matmul", "xt", 0, 8, "its storage of 8 bytes of a partition is too small for 256"),
        ("matmul", "xt", 212984, None, "its storage ends at byte 213240 of sbuf; trn2 has 212984"),
        ("matmul", "acc", 1024, None, "begins at byte 1024, which is not the start of a bank"),
        ("matmul", "acc", 16384, None, "ends at byte 18432 of psum; trn2 has 16384"),
        ("matmul", "xt", 2, None, "begins at byte 2, which is not the start of an element"),
        ("norm", "buf0", 2560, None, "the storages 'buf0' and 'h' are alive together and overlap"),
        # An accumulator lives through the loop that carries it.
        ("norm", "ss0", 8, None, "overlap in sbuf"),
    ],
)
def test_a_bad_one_is_named(name: str, label: str, address: int, size: int | None, message: str) -> None:
    func = allocated(name)
    move(roots(func)[label], address, size)
    with pytest.raises(AxonError, match=message):
        verify_allocation(func, device_of(func))


def test_a_missing_one_is_named() -> None:
    func = allocated("matmul")
    root = roots(func)["xt"]
    assert root.op is not None
    del root.op.attributes["storage"]
    with pytest.raises(AxonError, match="its storage is not decided"):
        verify_allocation(func, device_of(func))


def test_ranges_reach_the_end_of_a_loop() -> None:
    func = allocated("norm")
    aliasing = Aliasing(func)
    ranges = {r.value.name_hint: live for r, live in live_ranges(aliasing).items()}
    assert ranges["ss0"][0] < ranges["part"][0] < ranges["part"][1] <= ranges["ss0"][1]
