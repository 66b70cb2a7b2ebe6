# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The loop that a running program is in, and its local variables."""

from __future__ import annotations

import ctypes
import inspect
import sys
from collections.abc import Mapping
from dis import get_instructions, hasjabs, hasjrel
from types import FrameType
from typing import Any, cast


def caller(depth: int) -> FrameType:
    """The frame that many calls out from the function that asks."""
    return sys._getframe(depth + 1)  # pyright: ignore[reportPrivateUsage]


def begins_loop(frame: FrameType) -> bool:
    """Whether a frame asks for the iterator of a `for` statement, and not in a generator."""
    code = frame.f_code
    lazy = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
    if code.co_flags & lazy:
        return False
    here, *rest = [i for i in get_instructions(code) if i.offset >= frame.f_lasti]
    if here.opname != "GET_ITER" or not rest or rest[0].opname != "FOR_ITER":
        # Somebody else asks: a function such as `list`, or a comprehension.
        return False
    # A comprehension may stand in the function itself: a list that only the stack holds takes the items.
    body = [i for i in rest[1:] if i.offset < rest[0].argval]
    return not any(i.opname in ("LIST_APPEND", "SET_ADD", "MAP_ADD") for i in body)


def is_assigned_first(frame: FrameType, name: str) -> bool:
    """Whether the body of the loop whose next item a frame asks for gives a variable a value before anything else."""
    head, *rest = [i for i in get_instructions(frame.f_code) if i.offset >= frame.f_lasti]
    for instruction in rest:
        if instruction.offset >= head.argval or instruction.opcode in hasjrel or instruction.opcode in hasjabs:
            break
        for kind, accessed in accesses(instruction.opname, instruction.argval):
            if accessed == name:
                return kind == "STORE"
    return False


def accesses(opname: str, argument: object) -> list[tuple[str, str]]:
    """What an instruction does to local variables, in order: from Python 3.13 on one may stand for two."""
    words = opname.split("_")
    if not {"FAST", "DEREF", "NAME"} & set(words):
        return []
    names = [str(n) for n in (cast("tuple[object, ...]", argument) if isinstance(argument, tuple) else (argument,))]
    kinds = [word for word in words if word in ("LOAD", "STORE", "DELETE")]
    # An instruction that is not known may read.
    return list(zip(kinds if len(kinds) == len(names) else ["LOAD"] * len(names), names, strict=True))


def rebind(frame: FrameType, values: Mapping[str, Any]) -> None:
    """Give local variables of a running function other values."""
    names = frame.f_locals
    for name, value in values.items():
        names[name] = value
    if sys.version_info < (3, 13):
        # The mapping is a copy there.
        ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(0))
