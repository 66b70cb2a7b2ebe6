# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Flattened axes: where elements are read at `(i // K, i % K)`, i over M * K, the value is made over (m, k),
i = K * m + k, and what reads it at i reads it at `(i // K, i % K)`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from axon_mlir.semantics import terms as t
from axon_mlir.semantics.digits import Digits, digits_of
from axon_mlir.semantics.index import Index, Var, const, of_var


def axes_in_digits(value: t.Comprehension) -> dict[Var, Digits]:
    """The axes of a value that it only takes apart."""
    found = {v: digits_of(v, n, value.body) for v, n in zip(value.variables, value.shape, strict=True)}
    return {v: digits for v, digits in found.items() if digits is not None}


def in_digits(value: t.Comprehension, axes: Mapping[Var, Digits]) -> t.Comprehension:
    """The value with an axis for each digit."""
    body = value.body
    for v, digits in axes.items():
        body = digits.term(body, v)
    spaces = list(_spaces(value, axes))
    return replace(value, shape=tuple(n for _, n in spaces), variables=tuple(v for v, _ in spaces), body=body)


def flat(value: t.Comprehension, axes: Mapping[Var, Digits], made: t.Comprehension) -> t.Comprehension:
    """What a value is when it has been made with an axis for each digit."""
    at = [i for v in value.variables for i in (axes[v].of(of_var(v)) if v in axes else [of_var(v)])]
    return replace(value, body=made.at(at))


def rows_of(value: t.Comprehension, axes: Mapping[Var, Digits]) -> tuple[t.Comprehension, tuple[Index, ...]]:
    """The rows of a value along the last digits of its axes, and where they begin."""
    body = value.body
    for v, digits in axes.items():
        body = digits.term(body, v)
    last = {v: (digits.variables[-1], digits.extents[-1]) for v, digits in axes.items()}
    spaces = [last.get(v, (v, n)) for v, n in zip(value.variables, value.shape, strict=True)]
    origin = [axes[v].whole - of_var(last[v][0]) if v in axes else const(0) for v in value.variables]
    row = replace(value, shape=tuple(n for _, n in spaces), variables=tuple(v for v, _ in spaces), body=body)
    return row, tuple(origin)


def _spaces(value: t.Comprehension, axes: Mapping[Var, Digits]) -> Iterator[tuple[Var, Index]]:
    for v, n in zip(value.variables, value.shape, strict=True):
        if v in axes:
            yield from zip(axes[v].variables, axes[v].extents, strict=True)
        else:
            yield v, n


__all__ = ["axes_in_digits", "flat", "in_digits", "rows_of"]
