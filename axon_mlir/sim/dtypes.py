# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Element types as a kernel sees them, their storage in NumPy, and the one rounding of a result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from axon_mlir.errors import AxonError


class DType:
    """An element type: a name, and the NumPy type that stores it."""

    __slots__ = ("is_float", "is_integer", "itemsize", "name", "numpy", "round")

    def __init__(self, name: str, storage: Any, rounding: Callable[[NDArray[Any]], NDArray[Any]]):
        self.name = name
        self.numpy: np.dtype[Any] = np.dtype(storage)
        self.itemsize = self.numpy.itemsize
        self.is_integer = self.numpy.kind in "iu"
        self.is_float = not self.is_integer
        self.round = rounding
        """From computed values to storage, rounding once."""

    def __repr__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        if isinstance(other, DType):
            return self.name == other.name
        if isinstance(other, str):
            return self.name == other
        return NotImplemented

    def __hash__(self) -> int:
        return hash(self.name)


def _float_rounding(storage: Any) -> Callable[[NDArray[Any]], NDArray[Any]]:
    target: np.dtype[Any] = np.dtype(storage)

    def rounding(values: NDArray[Any]) -> NDArray[Any]:
        return values.astype(target)

    return rounding


def _integer_rounding(storage: Any) -> Callable[[NDArray[Any]], NDArray[Any]]:
    """Round to nearest even and saturate; not-a-number becomes 0."""
    target: np.dtype[Any] = np.dtype(storage)
    low, high = int(np.iinfo(target).min), int(np.iinfo(target).max)

    def rounding(values: NDArray[Any]) -> NDArray[Any]:
        if values.dtype.kind in "iub":
            return np.clip(values.astype(np.int64), low, high).astype(target)
        wide = np.nan_to_num(np.rint(values.astype(np.float64)), nan=0.0)
        return np.clip(wide, low, high).astype(target)

    return rounding


def _round_tfloat32(values: NDArray[Any]) -> NDArray[Any]:
    """Keep ten bits of mantissa, to nearest even; stored in float32."""
    single = np.ascontiguousarray(values, dtype=np.float32)
    bits = single.view(np.uint32)
    kept = (bits + np.uint32(0xFFF) + ((bits >> np.uint32(13)) & np.uint32(1))) & np.uint32(0xFFFFE000)
    return np.where(np.isfinite(single), kept.view(np.float32), single)


def _table() -> dict[str, DType]:
    floats: dict[str, Any] = {
        "float8_e4m3": ml_dtypes.float8_e4m3,
        "float8_e5m2": ml_dtypes.float8_e5m2,
        "float8_e4m3fn": ml_dtypes.float8_e4m3fn,
        "float16": np.float16,
        "bfloat16": ml_dtypes.bfloat16,
        "float32": np.float32,
    }
    integers: dict[str, Any] = {
        "uint8": np.uint8,
        "int8": np.int8,
        "uint16": np.uint16,
        "int16": np.int16,
        "uint32": np.uint32,
        "int32": np.int32,
        "bool_": np.uint8,
    }
    table = {name: DType(name, storage, _float_rounding(storage)) for name, storage in floats.items()}
    table["tfloat32"] = DType("tfloat32", np.float32, _round_tfloat32)
    table.update({name: DType(name, storage, _integer_rounding(storage)) for name, storage in integers.items()})
    return table


DTYPES = _table()
"""Every element type the simulator stores, by its name in the kernel language."""

SHORT_NAMES = {
    "f32": "float32",
    "f16": "float16",
    "bf16": "bfloat16",
    "tf32": "tfloat32",
    "f8e4m3": "float8_e4m3",
    "f8e5m2": "float8_e5m2",
    "f8e4m3fn": "float8_e4m3fn",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "u8": "uint8",
    "u16": "uint16",
    "u32": "uint32",
    "bool": "bool_",
    "i1": "bool_",
}
"""Names of the command line and of IR types (`f8E4M3`, in any case of letters), beside the kernel language's own."""


def dtype_of(value: object) -> DType:
    """The element type that a name, a NumPy type or an array's type stands for."""
    if isinstance(value, DType):
        return value
    name = value if isinstance(value, str) else np.dtype(value).name  # pyright: ignore[reportArgumentType, reportCallIssue, reportUnknownMemberType, reportUnknownVariableType]
    name = SHORT_NAMES.get(str(name).lower(), str(name))  # pyright: ignore[reportUnknownArgumentType]
    found = DTYPES.get(name)
    if found is None:
        raise AxonError(f"element type {name} does not exist on the device", accepted=", ".join(DTYPES))
    return found
