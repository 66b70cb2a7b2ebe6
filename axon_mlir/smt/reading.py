# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A function as proofs read it, each view of it worked out once.

A function between two passes is the end of one step and the start of the next: what it denotes, how it rounds and how
it is written need not be found out twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from io import StringIO

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.printer import Printer

from axon_mlir.semantics.conversions import denote, is_lowered
from axon_mlir.semantics.denotation import Denotation
from axon_mlir.semantics.domains import Floats
from axon_mlir.semantics.interpret import evaluate_function
from axon_mlir.semantics.roundings import Entry, ledger

_RESULTS = 8
"""Of how many inputs the results are kept."""
_STEPS = 50_000
"""Operations that a run may execute: some seconds. Fixed sizes in a loop nest make many."""


class Reading:
    """A function, and what is known of it. It must not change as long as its reading is in use."""

    def __init__(self, function: FuncOp):
        self.function = function
        self._denotations: dict[bool, Denotation] = {}
        self._results: dict[tuple[object, ...], list[np.ndarray]] = {}

    def denotation(self, *, lowering: bool) -> Denotation:
        """The meaning in an algebraic or a lowering step; the errors of `denote`."""
        found = self._denotations.get(lowering)
        if found is None:
            found = self._denotations[lowering] = denote(self.function, lowering=lowering)
        return found

    def results(
        self, inputs: Sequence[np.ndarray], domain: Floats, sizes: Mapping[str, int], *, typed: bool = False
    ) -> list[np.ndarray]:
        """What it computes from inputs, at sizes; the errors of `evaluate_function`."""
        key = (typed, type(domain), domain.dtype, *sorted(sizes.items()), *((a.shape, a.tobytes()) for a in inputs))
        found = self._results.get(key)
        if found is None:
            found = evaluate_function(self.function, inputs, domain, sizes=sizes, typed=typed, most=_STEPS)
            if len(self._results) == _RESULTS:
                del self._results[next(iter(self._results))]
            self._results[key] = found
        return found

    @cached_property
    def lowered(self) -> bool:
        """Whether it holds operations of a lower level than tensors."""
        return is_lowered(self.function)

    @cached_property
    def ledger(self) -> list[Entry]:
        """How each result is rounded on its way."""
        return ledger(self.function)

    @cached_property
    def body(self) -> str:
        """The text of the body in generic form."""
        stream = StringIO()
        Printer(stream=stream, print_generic_format=True).print_region(self.function.body)
        return stream.getvalue()

    @cached_property
    def text(self) -> str:
        """The function as a module of its own, with the attributes of the module it stands in."""
        outer = self.function.parent_op()
        attributes = dict(outer.attributes) if isinstance(outer, ModuleOp) else {}
        stream = StringIO()
        Printer(stream=stream).print_op(ModuleOp([self.function.clone()], attributes))
        return stream.getvalue() + "\n"

    def same(self, other: Reading) -> bool:
        """Whether two functions have the same text, attributes of the function itself aside.

        xDSL's structural equivalence looks at no result types, which is not enough.
        """
        return self.function.function_type == other.function.function_type and self.body == other.body


def read(function: FuncOp | Reading) -> Reading:
    """The reading of a function."""
    return function if isinstance(function, Reading) else Reading(function)
