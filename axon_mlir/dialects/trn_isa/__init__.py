# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""trn_isa: instructions of the device on tile values, one operation each, made from their descriptions."""

from xdsl.ir import Dialect

from axon_mlir.dialects.trn_isa.attributes import StorageAttr, storage_attr
from axon_mlir.dialects.trn_isa.descriptions import (
    DEFAULT_DEVICE,
    DEVICE_ATTRIBUTE,
    DTYPES,
    FORMS,
    VALUES_ATTRIBUTE,
    device_named,
    device_of,
    function_of,
    size_values,
    upper_number,
)
from axon_mlir.dialects.trn_isa.ops import OPERATIONS, InstructionOp, immediate_term, instruction, known_numbers

TRN_ISA = Dialect("trn_isa", list(OPERATIONS.values()), [StorageAttr])

__all__ = [
    "DEFAULT_DEVICE",
    "DEVICE_ATTRIBUTE",
    "DTYPES",
    "FORMS",
    "OPERATIONS",
    "TRN_ISA",
    "VALUES_ATTRIBUTE",
    "InstructionOp",
    "StorageAttr",
    "device_named",
    "device_of",
    "function_of",
    "immediate_term",
    "instruction",
    "known_numbers",
    "size_values",
    "storage_attr",
    "upper_number",
]
