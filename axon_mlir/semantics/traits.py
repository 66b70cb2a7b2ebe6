# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The trait by which an operation carries its meaning."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from xdsl.irdl import IRDLOperation
from xdsl.utils.exceptions import VerifyException

from axon_mlir.errors import AxonError
from axon_mlir.semantics.meaning import OpMeaning, Shape
from axon_mlir.semantics.shapes import shape_of


class HasMeaning(ABC):
    """Mixin of operations whose results are given by a meaning over their operands.

    The shape rule of the verifier is read off the meaning: `verify_meaning`. `TYPED_OPERANDS`: hardware takes the
    operands in their own type (factors of a contraction), whatever is computed in between. `TYPED_RESULTS`: the type of
    the results is what the operation is for (a conversion).
    """

    TYPED_OPERANDS: ClassVar[bool] = False
    TYPED_RESULTS: ClassVar[bool] = False

    @abstractmethod
    def meaning(self) -> OpMeaning: ...

    @abstractmethod
    def meaning_attributes(self) -> Mapping[str, Any]: ...

    def value_shape(self, type_: Any) -> Shape:
        """The symbolic shape of an operand or result type."""
        return shape_of(type_)


def verify_meaning(op: IRDLOperation) -> None:
    """Declared result shapes are the inferred ones; VerifyException otherwise."""
    if not isinstance(op, HasMeaning):
        raise TypeError(f"{op.name} has no meaning")
    try:
        operands = [op.value_shape(v.type) for v in op.operands]
        declared = [op.value_shape(v.type) for v in op.results]
        inferred = op.meaning().infer(operands, op.meaning_attributes())
    except AxonError as e:
        raise VerifyException(e.message) from e
    for n, (have, want) in enumerate(zip(declared, inferred, strict=True)):
        if tuple(have) != tuple(want):
            raise VerifyException(
                f"result {n} has shape [{', '.join(map(str, have))}], "
                f"but its meaning gives [{', '.join(map(str, want))}]"
            )
