# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What tests ask of processes that they did not start."""

from __future__ import annotations

from pathlib import Path


def gone(pid: int) -> bool:
    """Whether a process has ended, if perhaps nobody has asked how."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True
