# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The folder that a compile writes: filled elsewhere, put in place when everything is done.

A folder may hold other files too: only those that an older compile has written (its `result.json` lists them) are
replaced. Signals wait while files are moved.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Any, cast

from axon_mlir.errors import AxonError

RESULT = "result.json"


@contextmanager
def staging(target: Path) -> Generator[Path]:
    """An empty folder beside `target`, which is gone afterwards."""
    if target.exists() and not target.is_dir():
        raise AxonError("is not a folder", where=str(target), accepted="-o DIR")
    made = [folder for folder in target.parents if not folder.exists()]
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".partial", dir=target.parent))
    except OSError as error:
        raise AxonError(f"cannot write: {error.strerror or error}", where=str(target)) from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        # Folders around the target that hold nothing now.
        with suppress(OSError):
            for parent in made:
                parent.rmdir()


def files_in(folder: Path) -> list[str]:
    """The files of a folder, relative to it."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def install(folder: Path, target: Path) -> None:
    """Move everything from the staging folder to the target, in place of what an older compile has left there."""
    try:
        with _signals_wait():
            target.mkdir(parents=True, exist_ok=True)
            for name in _written_before(target):
                _remove(target, name)
            # The result says what is there, so it comes last.
            for name in sorted(files_in(folder), key=lambda name: name == RESULT):
                place = target / name
                place.parent.mkdir(parents=True, exist_ok=True)
                os.replace(folder / name, place)
    except OSError as error:
        raise AxonError(f"cannot write: {error.strerror or error}", where=str(error.filename or target)) from error


def _written_before(target: Path) -> list[str]:
    """The files that an older compile lists, the result first."""
    try:
        result: Any = json.loads((target / RESULT).read_text(encoding="utf-8"))
        listed: Any = result["files"]["all"]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    names = cast("list[Any]", listed) if isinstance(listed, list) else []
    inside = [n for n in names if isinstance(n, str) and not PurePosixPath(n).is_absolute() and ".." not in n]
    return [RESULT, *(n for n in inside if n != RESULT)]


def _remove(target: Path, name: str) -> None:
    """Remove a file, and the folders around it that are empty then."""
    with suppress(OSError):
        (target / name).unlink()
        for folder in PurePosixPath(name).parents[:-1]:
            (target / folder).rmdir()


@contextmanager
def _signals_wait() -> Generator[None]:
    """Hold back SIGINT and SIGTERM."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)
