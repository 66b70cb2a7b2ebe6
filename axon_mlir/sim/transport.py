# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files between the caller and the child that runs a kernel: JSON and plain arrays, nothing that executes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from axon_mlir.sim.dtypes import dtype_of

REQUEST, RESPONSE = "request", "response"


@dataclass(frozen=True)
class TypedArray:
    """An argument whose elements are not stored in its type: field members or rationals that stand for a `dtype`."""

    values: NDArray[Any]
    dtype: str


@dataclass(frozen=True)
class RandomArray:
    """An argument that is made where the kernel runs, from the run's seed and the argument's position."""

    dtype: str
    shape: tuple[int, ...]

    def empty(self) -> NDArray[Any]:
        """Its shape, without values: one element is all that is stored."""
        return np.broadcast_to(np.zeros((), dtype_of(self.dtype).numpy), self.shape)

    def values(self, seed: int, position: int) -> NDArray[Any]:
        """Normal floats, or small integers."""
        dtype = dtype_of(self.dtype)
        source = np.random.default_rng((seed, position))
        if dtype.name == "bool_":
            return source.integers(0, 2, self.shape).astype(np.uint8)
        if dtype.is_integer:
            low = 0 if dtype.numpy.kind == "u" else -8
            return source.integers(low, 9, self.shape).astype(dtype.numpy)
        return dtype.round(source.standard_normal(self.shape, np.float32))


Argument = NDArray[Any] | TypedArray | RandomArray | int | float | bool | Fraction | str | None | tuple[Any, ...]
"""What a kernel can be given."""


def _pack(values: NDArray[Any]) -> tuple[NDArray[Any], str]:
    """An array of a type that any NumPy file holds, and the name of the type it stands for."""
    if values.dtype == object:
        return np.array([str(Fraction(value)) for value in values.reshape(-1)], np.str_).reshape(
            values.shape
        ), "fraction"
    if values.dtype.kind in "biuf" and values.dtype.type.__module__ == "numpy":
        return values, values.dtype.name
    bits = np.dtype(f"u{values.dtype.itemsize}")
    return np.ascontiguousarray(values).view(bits), values.dtype.name


def _unpack(values: NDArray[Any], name: str) -> NDArray[Any]:
    if name == "fraction":
        out = np.empty(values.size, object)
        out[:] = [Fraction(str(value)) for value in values.reshape(-1)]
        return out.reshape(values.shape)
    if values.dtype.name == name:
        return values
    return values.view(np.dtype(getattr(ml_dtypes, name)))


def _describe(value: Any, arrays: list[NDArray[Any]]) -> Any:
    if isinstance(value, TypedArray):
        packed, kind = _pack(value.values)
        arrays.append(packed)
        return {"array": len(arrays) - 1, "stored": kind, "dtype": value.dtype}
    if isinstance(value, RandomArray):
        return {"random": value.dtype, "shape": list(value.shape)}
    if isinstance(value, (np.ndarray, np.generic)):
        array = cast("NDArray[Any]", np.asarray(value))  # pyright: ignore[reportUnknownArgumentType]
        if array.ndim == 0:
            return _describe(array.item(), arrays)
        packed, kind = _pack(array)
        arrays.append(packed)
        return {"array": len(arrays) - 1, "stored": kind}
    if isinstance(value, Fraction):
        return {"fraction": str(value)}
    if isinstance(value, float):
        return {"float": repr(value)}
    if isinstance(value, tuple):
        return {"tuple": [_describe(item, arrays) for item in value]}  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, list):
        return {"list": [_describe(item, arrays) for item in value]}  # pyright: ignore[reportUnknownVariableType]
    if value is None or isinstance(value, (bool, int, str)):
        return value
    raise TypeError(f"a kernel cannot be given a {type(value).__name__}")


def _restore(value: Any, arrays: Any) -> Any:
    if not isinstance(value, dict):
        return value
    entry: dict[str, Any] = value  # pyright: ignore[reportUnknownVariableType]
    if "array" in entry:
        restored = _unpack(arrays[str(entry["array"])], entry["stored"])
        return TypedArray(restored, entry["dtype"]) if "dtype" in entry else restored
    if "random" in entry:
        return RandomArray(entry["random"], tuple(entry["shape"]))
    if "fraction" in entry:
        return Fraction(entry["fraction"])
    if "float" in entry:
        return float(entry["float"])
    if "tuple" in entry:
        return tuple(_restore(item, arrays) for item in entry["tuple"])
    return [_restore(item, arrays) for item in entry["list"]]


def save(folder: Path, name: str, header: dict[str, Any], values: Sequence[Any]) -> None:
    """Write a message: `name.npz` first, then `name.json`, which names what is in it."""
    arrays: list[NDArray[Any]] = []
    described = [_describe(value, arrays) for value in values]
    with open(folder / f"{name}.npz", "wb") as file:
        np.savez(file, **{str(i): array for i, array in enumerate(arrays)})  # pyright: ignore[reportArgumentType]
    text = json.dumps({"header": header, "values": described})
    (folder / f"{name}.json").write_text(text, encoding="utf-8")


def load(folder: Path, name: str) -> tuple[dict[str, Any], list[Any]]:
    """Read a message."""
    message = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    with np.load(folder / f"{name}.npz", allow_pickle=False) as arrays:
        values = [_restore(value, arrays) for value in message["values"]]
    return message["header"], values
