# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Target descriptions: what a device and its instructions are, as data with sources, and their loader."""

from axon_mlir.targets.device import (
    CallConstant,
    CallReference,
    CallSequence,
    Constant,
    Device,
    DType,
    Engine,
    Facts,
    Form,
    FunctionClass,
    FunctionRange,
    Instruction,
    Limit,
    OperandRule,
    Parameter,
    ResultRule,
    Selection,
    TileFact,
    Violation,
)
from axon_mlir.targets.loader import DEVICES, load_device

__all__ = [
    "DEVICES",
    "CallConstant",
    "CallReference",
    "CallSequence",
    "Constant",
    "DType",
    "Device",
    "Engine",
    "Facts",
    "Form",
    "FunctionClass",
    "FunctionRange",
    "Instruction",
    "Limit",
    "OperandRule",
    "Parameter",
    "ResultRule",
    "Selection",
    "TileFact",
    "Violation",
    "load_device",
]
