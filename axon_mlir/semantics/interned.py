# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values of which equal ones are one object: comparing and hashing them looks at nothing inside."""

from __future__ import annotations

from typing import Any, ClassVar


class _Once(type):
    """Metaclass: constructing an equal value twice gives the same object."""

    _table: ClassVar[dict[tuple[Any, ...], Any]] = {}

    def __call__(cls, *args: Any) -> Any:
        key = (cls, *args)
        found = _Once._table.get(key)
        if found is None:
            found = super().__call__(*args)
            if len(args) < len(_names(cls)):
                # What is left to a default is the same value as what says it.
                found = _Once._table.setdefault((cls, *_parts(found)), found)
            _Once._table[key] = found
        return found


class Interned(metaclass=_Once):
    """A dataclass with `eq=False` whose equal values are one object; its arguments are given by place."""

    __slots__ = ()

    def __reduce__(self) -> tuple[type[Interned], tuple[Any, ...]]:
        return type(self), _parts(self)


def _names(cls: Any) -> tuple[str, ...]:
    """The names of a dataclass's fields."""
    return cls.__match_args__


def _parts(value: Any) -> tuple[Any, ...]:
    return tuple(getattr(value, name) for name in _names(value))
