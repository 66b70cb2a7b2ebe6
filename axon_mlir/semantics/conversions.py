# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Changes of the element type, as proofs read them.

Among tensor programs a conversion is an opaque function: nothing moves through it. In lowering, conversions between
floats, and of integers into types that hold them, are erased (the rounding ledger counts what floats lose); what
truncates or wraps stays opaque.
"""

from __future__ import annotations

from xdsl.dialects.func import FuncOp

from axon_mlir.semantics import terms as t
from axon_mlir.semantics.denotation import Denotation, denote_function
from axon_mlir.semantics.normal import Normalizer, Opaque, Poly

_PREFIX = "convert to "
_DIALECTS = ("func", "tensor_hl", "builtin")


def is_conversion(function: str) -> bool:
    """Whether the function is an opaque conversion."""
    return function.startswith(_PREFIX)


def target_of(function: str) -> str:
    """The type that an opaque conversion converts to."""
    return function.removeprefix(_PREFIX)


def opaque(x: t.Term, source: str | None, target: str | None) -> t.Term:
    """Every change of type is a function of its own, but for truth values: each type holds 0 and 1."""
    if source == "i1":
        return x
    return t.Apply(f"{_PREFIX}{target}", (x,))


def erased(x: t.Term, source: str | None, target: str | None) -> t.Term:
    """Between floats, into floats, and into integers of more bits, a conversion is the identity of the reals."""
    if target is None or target.startswith(("f", "bf")) or _holds(target, source):
        return x
    return opaque(x, source, target)


def _holds(target: str, source: str | None) -> bool:
    """Whether an integer type holds all values of another: signed ones have a bit less for the magnitude."""
    if source is None or not all(d.removeprefix("u").startswith("i") for d in (source, target)):
        return False
    (wide, signed), (narrow, negative) = (_integer(d) for d in (target, source))
    return wide >= narrow and (signed or not negative)


def _integer(dtype: str) -> tuple[int, bool]:
    """Bits of the magnitude, and whether there are negative values. A truth value has one bit and no sign."""
    bits = int(dtype.removeprefix("u").removeprefix("i"))
    signed = not dtype.startswith("u") and bits > 1
    return bits - signed, signed


def is_lowered(func: FuncOp) -> bool:
    """Whether a function holds operations of a lower level than tensors."""
    return any(op.name.split(".")[0] not in _DIALECTS for op in func.walk())


def denote(func: FuncOp, *, lowering: bool) -> Denotation:
    """The denotation of a function for an algebraic step or for a lowering step."""
    return denote_function(func, erased if lowering else opaque)


class ProofNormalizer(Normalizer):
    """The normal form with conversions as uninterpreted functions."""

    def apply(self, function: str, args: list[Poly]) -> Poly:
        """As always; a conversion is an atom."""
        if is_conversion(function):
            self.lemmas.add("congruence")
            return self._atom(Opaque(function, tuple(args)))
        return super().apply(function, args)
