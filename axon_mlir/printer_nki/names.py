# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names of a kernel's variables: readable, legal, and not taken by anything around them."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Generator
from contextlib import contextmanager

RESERVED = frozenset({"math", "nki", "nisa", "nl", *dir(builtins)})
"""The modules that a kernel uses, and Python's own functions."""


class Names:
    """Scopes of names: an inner one never hides an outer one, neighbours may use the same."""

    def __init__(self) -> None:
        self._scopes: list[set[str]] = [set(RESERVED)]

    def take(self, wish: str) -> str:
        """The wished name, made legal and unique."""
        base = re.sub(r"\W", "_", wish) or "v"
        if base[0].isdigit() or keyword.iskeyword(base):
            base = f"v_{base}"
        name, n = base, 1
        while any(name in scope for scope in self._scopes):
            n += 1
            name = f"{base}_{n}" if base[-1].isdigit() else f"{base}{n}"
        self._scopes[-1].add(name)
        return name

    @contextmanager
    def scope(self) -> Generator[None]:
        """Names taken inside are free again afterwards."""
        self._scopes.append(set())
        try:
            yield
        finally:
            self._scopes.pop()
