# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The text of `--arg`: `bf16[4096,1024]`, `f32[M,1]`, `f32`, `2.5`, each optionally `name=`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from inspect import Parameter, signature
from typing import Any

from axon_mlir.errors import AxonError
from axon_mlir.frontend.places import Place

ACCEPTED = (
    "bf16[4096,1024], f32[M,1], f32[G*R,S,2*H], f32[M,P+Q], f32 (run-time scalar), 2.5 (constant), "
    "size[P] (a size as a number), each optionally name=..."
)
DTYPES = ("f32", "bf16", "f16", "f8E4M3", "f8E5M2", "i32", "i8", "i1")
"""Element types that a program may have as inputs."""

_REFUSED = {"f64": "float64", "i64": "int64", "float64": "float64", "int64": "int64", "double": "float64"}
_SPELLINGS = {
    "float32": "f32", "bfloat16": "bf16", "float16": "f16", "float8_e4m3": "f8E4M3", "float8_e5m2": "f8E5M2",
    "f8e4m3": "f8E4M3", "f8e5m2": "f8E5M2", "int32": "i32", "int8": "i8", "bool": "i1",
}  # fmt: skip
_NAME = re.compile(r"[A-Za-z_]\w*")
_TENSOR = re.compile(r"([A-Za-z]\w*)\s*(?:\[(.*)\])?")

Factor = int | str
Axis = tuple[tuple[Factor, ...], ...]
"""One axis, a sum of products of numbers and names."""


@dataclass(frozen=True)
class TensorSpec:
    """A run-time argument: its element type and axes; `axes` is None for a bare type, a run-time Python scalar."""

    dtype: str
    axes: tuple[Axis, ...] | None
    text: str


@dataclass(frozen=True)
class ConstantSpec:
    """A compile-time constant."""

    value: int | float | bool
    text: str


@dataclass(frozen=True)
class SizeSpec:
    """A size of the other arguments that the program takes as a number: where a block begins, how long it is."""

    size: Axis
    text: str

    @property
    def names(self) -> list[str]:
        """The names in it."""
        return [factor for product in self.size for factor in product if isinstance(factor, str)]


Spec = TensorSpec | ConstantSpec | SizeSpec


def parse_spec(text: str) -> tuple[str | None, Spec]:
    """The parameter name (or None) and what it stands for."""
    place = f"--arg {text}"
    name, _, rest = text.rpartition("=")
    name = name.strip()
    if "=" in text and not _NAME.fullmatch(name):
        raise AxonError(f"'{name}' is not a parameter name", where=place, accepted=ACCEPTED)
    rest = rest.strip()
    constant = _constant(rest)
    if constant is not None:
        return name or None, ConstantSpec(constant, text)
    match = _TENSOR.fullmatch(rest)
    if match is None:
        raise AxonError(f"cannot read the argument '{rest}'", where=place, accepted=ACCEPTED)
    if match[1] == "size" and match[2]:
        return name or None, SizeSpec(_axis(match[2], place), text)
    dtype = _dtype(match[1], place)
    axes = None if match[2] is None else _axes(match[2], place)
    return name or None, TensorSpec(dtype, axes, text)


def _constant(text: str) -> int | float | bool | None:
    if text in ("True", "False"):
        return text == "True"
    if re.fullmatch(r"[-+]?\d+", text):
        return int(text)
    if re.fullmatch(r"[-+]?(\d+\.\d*|\.\d+|\d+(?=[eE]))([eE][-+]?\d+)?", text) or re.fullmatch(r"[-+]?inf", text):
        return float(text)
    return None


def _dtype(text: str, place: str) -> str:
    name = _SPELLINGS.get(text, text)
    if name in DTYPES:
        return name
    if name in _REFUSED:
        raise AxonError(
            f"{_REFUSED[name]} programs are not supported: the device has no such type",
            where=place,
            accepted=", ".join(DTYPES),
        )
    raise AxonError(f"'{text}' is not an element type", where=place, accepted=", ".join(DTYPES))


def _axes(text: str, place: str) -> tuple[Axis, ...]:
    if not text.strip():
        return ()
    return tuple(_axis(axis, place) for axis in text.split(","))


def _axis(text: str, place: str) -> Axis:
    return tuple(tuple(_factor(piece.strip(), text, place) for piece in part.split("*")) for part in text.split("+"))


def _factor(piece: str, text: str, place: str) -> Factor:
    if piece.isdigit():
        if int(piece) == 0:
            raise AxonError("an axis has size 0: empty tensors are not supported", where=place, accepted="sizes >= 1")
        return int(piece)
    if not _NAME.fullmatch(piece):
        raise AxonError(
            f"'{text.strip()}' is not a size", where=place, accepted="a number, a name, a product G*R, or a sum P+Q"
        )
    return piece


@dataclass(frozen=True)
class Parameters:
    """What each parameter of a function is bound to, in order: a spec, or a plain Python value (a kept default)."""

    bound: tuple[tuple[str, Spec | Any], ...]


def bind(function: Any, specs: Sequence[str], place: Place) -> Parameters:
    """Match `--arg` texts with the parameters of a function; parameters with defaults may be left out."""
    parameters = list(signature(function).parameters.values())
    name = function.__name__
    for p in parameters:
        if p.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD):
            raise AxonError(
                f"{name} has a parameter *{p.name}", where=str(place), accepted="a fixed list of parameters"
            )
    known = [p.name for p in parameters]
    given: dict[str, Spec] = {}
    unnamed: list[Spec] = []
    for text in specs:
        key, spec = parse_spec(text)
        if key is None:
            unnamed.append(spec)
        elif key not in known:
            raise AxonError(
                f"{name} has no parameter '{key}'", where=f"--arg {text}", accepted=f"parameters {', '.join(known)}"
            )
        elif key in given:
            raise AxonError(f"parameter '{key}' is given twice", where=f"--arg {text}", accepted="one --arg each")
        else:
            given[key] = spec
    open_names = [n for n in known if n not in given]
    if len(unnamed) > len(open_names):
        raise AxonError(
            f"{name} takes {len(known)} arguments, {len(given) + len(unnamed)} were given",
            where=f"--arg {unnamed[len(open_names)].text}",
            accepted=f"parameters {', '.join(known)}",
        )
    given.update(zip(open_names, unnamed, strict=False))
    bound: list[tuple[str, Spec | Any]] = []
    for p in parameters:
        if p.name in given:
            bound.append((p.name, given[p.name]))
        elif p.default is not Parameter.empty:
            bound.append((p.name, p.default))
        else:
            raise AxonError(
                f"parameter '{p.name}' of {name} has no --arg and no default",
                where=str(place),
                accepted=f"--arg {p.name}=SPEC, where SPEC is one of {ACCEPTED}",
            )
    return Parameters(tuple(bound))
