# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is read off a running function's instructions, whatever Python's version spells them."""

from __future__ import annotations

from typing import Any

import pytest

from axon_mlir.frontend.frames import accesses

SPELLINGS: list[tuple[str, Any, list[tuple[str, str]]]] = [
    ("LOAD_FAST", "x", [("LOAD", "x")]),
    ("LOAD_FAST_CHECK", "x", [("LOAD", "x")]),
    ("STORE_FAST", "x", [("STORE", "x")]),
    ("STORE_DEREF", "x", [("STORE", "x")]),
    ("DELETE_FAST", "x", [("DELETE", "x")]),
    ("STORE_FAST_LOAD_FAST", ("t", "x"), [("STORE", "t"), ("LOAD", "x")]),
    ("LOAD_FAST_LOAD_FAST", ("x", "t"), [("LOAD", "x"), ("LOAD", "t")]),
    ("STORE_FAST_STORE_FAST", ("x", "t"), [("STORE", "x"), ("STORE", "t")]),
    # Attributes and globals are no local variables, whatever they are called.
    ("STORE_ATTR", "x", []),
    ("LOAD_GLOBAL", "x", []),
    ("BINARY_OP", 0, []),
    # Two variables in one that is not known: both may be read.
    ("LOAD_FAST_PAIR", ("x", "t"), [("LOAD", "x"), ("LOAD", "t")]),
]


@pytest.mark.parametrize(("name", "argument", "wanted"), SPELLINGS, ids=[s[0] for s in SPELLINGS])
def test_accesses(name: str, argument: Any, wanted: list[tuple[str, str]]) -> None:
    assert accesses(name, argument) == wanted
