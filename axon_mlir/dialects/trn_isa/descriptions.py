# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The instruction descriptions behind the dialect, and what is known of a function when they are checked.

A form means the same on every device, so the operations are made from the union over the packaged devices; limits are
those of the device that the module names.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import cast

from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, IntegerType, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from axon_mlir.semantics.index import Index, Min, Size, evaluate
from axon_mlir.targets import DEVICES, Device, Form, load_device

DEVICE_ATTRIBUTE = "axon.device"
"""The module's device: a name or the path of a description."""

DEFAULT_DEVICE = "trn2"

VALUES_ATTRIBUTE = "axon.values"
"""The function's dictionary: size symbol -> the number it was given as."""

DTYPES = MappingProxyType(
    {
        "f32": "float32",
        "bf16": "bfloat16",
        "f16": "float16",
        "f8E4M3": "float8_e4m3",
        "f8E4M3FN": "float8_e4m3fn",
        "f8E5M2": "float8_e5m2",
        "i32": "int32",
        "i16": "int16",
        "i8": "int8",
        "ui32": "uint32",
        "ui16": "uint16",
        "ui8": "uint8",
        "i1": "bool_",
    }
)
"""Element type of the IR -> element type of the descriptions."""


def _union() -> Mapping[str, Mapping[str, Form]]:
    out: dict[str, dict[str, Form]] = {}
    for name in DEVICES:
        for instruction in load_device(name).instructions.values():
            forms = out.setdefault(instruction.name, {})
            for form in instruction.forms:
                forms.setdefault(form.name, form)
    return MappingProxyType(out)


FORMS = _union()
"""Instruction -> form -> its description, over all packaged devices."""


@cache
def _loaded(name: str, stamp: int) -> Device:
    return load_device(name)


def device_named(name: str) -> Device:
    """The device of a name or of a description file; a file is read again when it has changed."""
    path = Path(name)
    return _loaded(name, path.stat().st_mtime_ns if name not in DEVICES and path.is_file() else 0)


def device_of(op: Operation) -> Device:
    """The device of the module around an operation."""
    current: Operation | None = op
    while current is not None:
        found = current.attributes.get(DEVICE_ATTRIBUTE)
        if isinstance(current, ModuleOp) and isinstance(found, StringAttr):
            return device_named(found.data)
        current = current.parent_op()
    return device_named(DEFAULT_DEVICE)


def function_of(op: Operation) -> FuncOp | None:
    """The function around an operation."""
    current: Operation | None = op
    while current is not None and not isinstance(current, FuncOp):
        current = current.parent_op()
    return current


def size_values(func: FuncOp | None) -> dict[str, int]:
    """The numbers that a function's sizes were given as."""
    found = func.attributes.get(VALUES_ATTRIBUTE) if func is not None else None
    if not isinstance(found, DictionaryAttr):
        return {}
    numbers = {k: cast("IntegerAttr[IntegerType]", v) for k, v in found.data.items() if isinstance(v, IntegerAttr)}
    return {k: v.value.data for k, v in numbers.items()}


def upper_number(bound: Index, values: Mapping[str, int]) -> int | None:
    """A number that the bound does not exceed for these sizes; None where nothing is known.

    A minimum is at most each of its terms, so `min(128, M)` is at most 128 for every M.
    """
    if bound.constant is not None:
        return bound.constant
    symbols = bound.symbols()
    if all(isinstance(s, Size) and s.name in values for s in symbols):
        return int(evaluate(bound, {Size(s.name): values[s.name] for s in symbols}))
    best: int | None = None
    for monomial, coefficient in bound.terms:
        if coefficient == 1 and len(monomial) == 1 and isinstance(monomial[0], Min):
            rest = bound - Index({monomial: 1})
            for term in (Index({}), *monomial[0].args):
                found = upper_number(rest + term, values)
                best = found if best is None or (found is not None and found < best) else best
    return best
