# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The one vocabulary of failure that every layer shares."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes of both command-line tools."""

    OK = 0
    """Done, or proved."""
    FAILED = 1
    """Refuted, a numeric or hardware check failed, or a kernel raised or was stopped."""
    UNKNOWN = 2
    """Unknown, or nothing found."""
    BAD_INPUT = 3
    """Bad input, or a missing optional tool."""
    INTERNAL = 4
    """A bug of ours; a reproducer is written and named."""
    INTERRUPTED = 130
    TERMINATED = 143


class AxonError(Exception):
    """Bad input: what is wrong, where, and what would be accepted.

    `where` is `file:line:col`, `file:line` or `file`; `accepted` says what would have been fine.
    """

    exit_code = ExitCode.BAD_INPUT

    def __init__(self, message: str, *, where: str | None = None, accepted: str | None = None):
        super().__init__(message)
        self.message = message
        self.where = where
        self.accepted = accepted

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        tail = f"\n  accepted: {self.accepted}" if self.accepted else ""
        return f"{place}error: {self.message}{tail}"

    def at(self, where: str) -> AxonError:
        """The same error with a place, unless it has one already."""
        if self.where is None:
            self.where = where
        return self


class UnsupportedError(AxonError):
    """A well-formed input that this version cannot handle."""
