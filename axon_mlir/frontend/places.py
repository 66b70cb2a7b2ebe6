# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where in the user's program something happened."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import numpy as np

_OURS = str(Path(__file__).resolve().parent)
_NUMPY = str(Path(np.__file__).resolve().parent)
_SKIPPED = (_OURS, _NUMPY, "<__array_function__", "<frozen")


@dataclass(frozen=True)
class Place:
    """A line of a file."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def _is_users(filename: str) -> bool:
    return not filename.startswith(_SKIPPED)


def here() -> Place:
    """The innermost line on the call stack that is neither ours nor NumPy's."""
    frame = inspect.currentframe()
    while frame is not None:
        if _is_users(frame.f_code.co_filename):
            return Place(frame.f_code.co_filename, frame.f_lineno)
        frame = frame.f_back
    return Place("<unknown>", 0)


def place_of_traceback(traceback: TracebackType | None, prefer: str | None = None) -> Place | None:
    """The innermost line of a traceback in the file `prefer`, or in any file that is neither ours nor NumPy's."""
    found: Place | None = None
    while traceback is not None:
        filename = traceback.tb_frame.f_code.co_filename
        if filename == prefer if prefer is not None else _is_users(filename):
            found = Place(filename, traceback.tb_lineno)
        traceback = traceback.tb_next
    return found
