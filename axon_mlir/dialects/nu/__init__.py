# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""nu: choices between equal computations, kept open until selection."""

from xdsl.ir import Dialect

from axon_mlir.dialects.nu.alternative import CLASSES, PROVED, REFUTED, UNKNOWN, VERDICTS, AlternativeAttr
from axon_mlir.dialects.nu.choice import ChoiceOp, YieldOp
from axon_mlir.dialects.nu.selection import choices_of, inline_alternative

NU = Dialect("nu", [ChoiceOp, YieldOp], [AlternativeAttr])

__all__ = [
    "CLASSES",
    "NU",
    "PROVED",
    "REFUTED",
    "UNKNOWN",
    "VERDICTS",
    "AlternativeAttr",
    "ChoiceOp",
    "YieldOp",
    "choices_of",
    "inline_alternative",
]
