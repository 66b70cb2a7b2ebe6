# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Registers, device loops, and what a kernel asks of where it runs.

A run is eager, so a register holds its number, and a device loop runs its body once for each trip.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any

from axon_mlir.sim.failures import Misuse
from axon_mlir.sim.memory import WRITTEN, Register, Tensor, dynamic, integer_of


def register_alloc(x: int | None = None) -> Register:
    """A new register; a number, if it is given one, else nothing that may be read."""
    return Register(None if x is None else int(x))


def register_move(dst: Register, src: int | Register) -> None:
    """A number, or what another register holds, into a register."""
    dst.value = number(src)


def register_load(dst: Register, src: Tensor) -> None:
    """The one integer of a tensor into a register."""
    if src.storage.space == "hbm" and src.data.size == 1:
        dst.value = integer_of(src)
    else:
        dst.value = dynamic(src)


def register_store(dst: Tensor, src: Register) -> None:
    """What a register holds into a tensor of one element."""
    if dst.data.size != 1 or not dst.dtype.is_integer:
        dst.refuse("a register stored", rule="shape", accepted="one integer")
    dst.data[...] = number(src)
    dst.storage.mark(dst.data, WRITTEN)


def number(value: Any) -> int:
    """A bound of a loop: a number, or what a register holds."""
    if isinstance(value, Register):
        return value.read()
    if isinstance(value, int):
        return int(value)
    raise Misuse(f"a bound of type {type(value).__name__}; accepted: an integer or a register")


def fori_loop(lower: Any, upper: Any, body_fun: Callable[[Register], Any], step: int = 1) -> None:
    """A loop on the device: its body is given a register with the index."""
    for index in dynamic_range(lower, upper, step):
        body_fun(index)


def while_loop(init: Register, body_fun: Callable[[Register], Any]) -> None:
    """A loop on the device while a register is not 0; the body returns the next one."""
    condition = init
    while number(condition) != 0:
        condition = body_fun(Register(number(condition)))
        if not isinstance(condition, Register):
            raise Misuse(f"a loop's body returns a {type(condition).__name__}; accepted: a register")


def dynamic_range(start: Any, stop: Any = None, step: int = 1) -> Iterator[Register]:
    """The registers that a loop on the device runs over."""
    if not isinstance(step, int) or step < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise Misuse("a loop's step is no positive integer; accepted: an integer from 1 on")
    first, end = (0, number(start)) if stop is None else (number(start), number(stop))
    for index in range(first, end, step):
        yield Register(index)


@contextmanager
def no_reorder() -> Generator[None]:
    """Instructions that the compiler must leave in order; a run keeps the order anyhow."""
    yield


class NKIObject:
    """The base of a kernel's own records. Class attributes are fields of a dataclass, annotated or not."""

    def __init_subclass__(cls) -> None:
        fields = dict(inspect.get_annotations(cls))
        for name, value in list(cls.__dict__.items()):
            plain = value is None or isinstance(value, (bool, int, float, str, tuple))
            if plain and not name.startswith("__") and name not in fields:
                fields[name] = Any
        cls.__annotations__ = fields

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)


REGISTERS: dict[str, Callable[..., Any]] = {
    "register_alloc": register_alloc,
    "register_move": register_move,
    "register_load": register_load,
    "register_store": register_store,
}
"""What `nisa` has of them."""
LOOPS: dict[str, Any] = {
    "fori_loop": fori_loop,
    "while_loop": while_loop,
    "dynamic_range": dynamic_range,
    "no_reorder": no_reorder,
    "NKIObject": NKIObject,
}
"""What `nl` has."""
