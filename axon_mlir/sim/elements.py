# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the elements of tensors are: floats of the tensors' own types, or members of an exact domain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from axon_mlir.errors import AxonError
from axon_mlir.semantics import domains
from axon_mlir.semantics.domains import Domain
from axon_mlir.sim.dtypes import DType
from axon_mlir.targets.device import FunctionRange


class Elements(Protocol):
    """How a run stores, computes with, and hands out elements."""

    exact: bool
    """No float type rounds; numbers of the kernel are exact."""
    computes: bool
    """Elements have values: without them a run only finds out which instructions there are."""

    def within(self, ranges: Mapping[str, FunctionRange], *, wide: bool) -> Domain:
        """The domain in which a meaning is evaluated, where these functions are valid only in these ranges.

        `wide`: nothing rounds before the result, since only numbers of the kernel are read, or integers as such.
        """
        ...

    def storage(self, dtype: DType) -> np.dtype[Any]:
        """The NumPy type that stores elements of `dtype`."""
        ...

    def load(self, values: NDArray[Any], dtype: DType) -> NDArray[Any]:
        """Elements for an argument that the caller gives."""
        ...

    def read(self, stored: NDArray[Any], dtype: DType, domain: Domain) -> NDArray[Any]:
        """Stored elements as the domain computes with them."""
        ...

    def write(self, values: NDArray[Any], dtype: DType) -> NDArray[Any]:
        """Computed values as they are stored; the one rounding."""
        ...


class OutOfRange(Exception):
    """A function is applied where the device's result is invalid."""


class _RangedFloats(domains.Floats):
    """float32 in which some functions have a range of valid inputs."""

    def __init__(self, ranges: Mapping[str, FunctionRange]):
        super().__init__(np.float32)
        self._ranges = ranges

    def apply(self, function: str, args: Sequence[NDArray[Any]]) -> NDArray[Any]:
        valid = self._ranges.get(function)
        if valid is not None:
            seen = np.abs(args[0]) if valid.magnitude else args[0]
            wrong = (seen < valid.low) | (seen > valid.high)
            if wrong.any():
                count, example = int(np.count_nonzero(wrong)), float(args[0][wrong].reshape(-1)[0])
                sign = "+-" if valid.magnitude else ""
                raise OutOfRange(
                    f"{count} of {wrong.size} inputs of {function} are outside {sign}[{valid.low:g}, {valid.high:g}], "
                    f"where its result is invalid; one is {example:g}"
                )
        return super().apply(function, args)


class FloatElements:
    """Storage in the tensors' types, arithmetic in float32, one rounding of a result."""

    exact = False
    computes = True

    def __init__(self) -> None:
        self._domain = domains.Floats(np.float32)
        self._wide = domains.Floats(np.float64)

    def within(self, ranges: Mapping[str, FunctionRange], *, wide: bool) -> Domain:
        if wide:
            return self._wide
        return _RangedFloats(ranges) if ranges else self._domain

    def storage(self, dtype: DType) -> np.dtype[Any]:
        return dtype.numpy

    def load(self, values: NDArray[Any], dtype: DType) -> NDArray[Any]:
        return values.copy() if values.dtype == dtype.numpy else dtype.round(values)

    def read(self, stored: NDArray[Any], dtype: DType, domain: Domain) -> NDArray[Any]:
        return stored if stored.dtype == domain.dtype else stored.astype(domain.dtype)

    def write(self, values: NDArray[Any], dtype: DType) -> NDArray[Any]:
        if values.dtype == np.float32 and dtype.name == "float32":
            return values
        return dtype.round(values)


class ShapeElements(FloatElements):
    """Storage in the tensors' types, and nothing in it."""

    computes = False

    def load(self, values: NDArray[Any], dtype: DType) -> NDArray[Any]:
        return np.zeros(values.shape, dtype.numpy)


class FieldElements:
    """Members of a prime field: a rational is its numerator over its denominator. Integer types do not round: a
    program that rounds is not evaluated in a field."""

    exact = True
    computes = True

    def __init__(self) -> None:
        self._domain = domains.Field()
        self._prime = domains.Field.p

    def within(self, ranges: Mapping[str, FunctionRange], *, wide: bool) -> Domain:
        return self._domain

    def storage(self, dtype: DType) -> np.dtype[Any]:
        return np.dtype(np.int64)

    def load(self, values: NDArray[Any], dtype: DType) -> NDArray[Any]:
        prime = self._prime
        if values.dtype.kind in "iub":
            return np.remainder(values, prime, dtype=np.int64)
        if values.dtype == object:
            flat = [_residue(Fraction(number), prime) for number in values.reshape(-1)]
            return np.array(flat, np.int64).reshape(values.shape)
        doubles = values.astype(np.float64)
        if not np.isfinite(doubles).all():
            raise AxonError("infinities and not-a-number are no members of a finite field")
        mantissas, exponents = np.frexp(doubles)
        whole = np.ldexp(mantissas, 53).astype(np.int64) % prime
        powers, at = np.unique(exponents, return_inverse=True)
        scales = np.array([_residue(Fraction(2) ** (int(power) - 53), prime) for power in powers], np.int64)
        return whole * scales[at].reshape(whole.shape) % prime

    def read(self, stored: NDArray[Any], dtype: DType, domain: Domain) -> NDArray[Any]:
        return stored

    def write(self, values: NDArray[Any], dtype: DType) -> NDArray[Any]:
        return values


class RationalElements:
    """Exact rationals, one Python object an element."""

    exact = True
    computes = True

    def __init__(self) -> None:
        self._domain = domains.Rationals()

    def within(self, ranges: Mapping[str, FunctionRange], *, wide: bool) -> Domain:
        return self._domain

    def storage(self, dtype: DType) -> np.dtype[Any]:
        return np.dtype(object)

    def load(self, values: NDArray[Any], dtype: DType) -> NDArray[Any]:
        out = np.empty(values.size, object)
        out[:] = _fractions(values)
        return out.reshape(values.shape)

    def read(self, stored: NDArray[Any], dtype: DType, domain: Domain) -> NDArray[Any]:
        return stored

    def write(self, values: NDArray[Any], dtype: DType) -> NDArray[Any]:
        return self._domain.nearest(values) if dtype.is_integer else values


def _fractions(values: NDArray[Any]) -> list[Fraction]:
    if values.dtype == object:
        return [Fraction(value) for value in values.reshape(-1)]
    if values.dtype.kind in "iub":
        return [Fraction(int(value)) for value in values.reshape(-1)]
    return [Fraction(value) for value in values.astype(np.float64).reshape(-1).tolist()]


def _residue(number: Fraction, prime: int) -> int:
    return number.numerator * pow(number.denominator, -1, prime) % prime


def elements(name: str) -> Elements:
    """The elements of a run's domain: `float`, `field`, `rational`, or `shapes`, which have no values."""
    if name == "float":
        return FloatElements()
    if name == "field":
        return FieldElements()
    if name == "rational":
        return RationalElements()
    if name == "shapes":
        return ShapeElements()
    raise ValueError(f"domain {name!r}; accepted: float, field, rational, shapes")
