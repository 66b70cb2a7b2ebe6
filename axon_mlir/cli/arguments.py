# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arguments that both tools share."""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TypeAlias

from axon_mlir.errors import AxonError

if TYPE_CHECKING:
    Subparsers: TypeAlias = argparse._SubParsersAction["ArgumentParser"]  # pyright: ignore[reportPrivateUsage]

DEFAULT_DEVICE = "trn2"

TARGETS_FOLDER = Path(__file__).parents[1] / "targets"


class ArgumentParser(argparse.ArgumentParser):
    """argparse whose usage errors are our errors, with our exit code."""

    def error(self, message: str) -> NoReturn:
        """Report a usage error."""
        usage = " ".join(self.format_usage().split()).removeprefix("usage: ")
        raise AxonError(f"{self.prog}: {message}", accepted=usage)


def add_output_arguments(parser: argparse.ArgumentParser) -> None:
    """Add `-v`, `-q` and `--json`, which every subcommand of `axon` has."""
    parser.add_argument("-v", "--verbose", action="count", default=0, help="say more (twice: still more)")
    parser.add_argument("-q", "--quiet", action="store_true", help="say nothing but errors")
    parser.add_argument("--json", metavar="FILE", help="write the result as JSON ('-': to standard output)")


def add_device_argument(parser: argparse.ArgumentParser, default: str | None = DEFAULT_DEVICE) -> None:
    """Add `--device`."""
    names = ", ".join(device_names())
    parser.add_argument("--device", default=default, type=device, help=f"{names} or a description file")


def device(text: str) -> str:
    """A device's name or the path of its description, checked."""
    names = device_names()
    if text not in names and not Path(text).is_file():
        raise AxonError(f"unknown device '{text}'", accepted=", ".join(names) + " or a description file")
    return text


def device_names() -> list[str]:
    """The devices that have a description in this package (`*.target` files of devices are named after them)."""
    found = sorted(path.stem for path in TARGETS_FOLDER.glob("**/trn*.target"))
    return found or ["trn1", "trn2", "trn3"]


def configure_logging(verbose: int, quiet: bool) -> None:
    """Send the package's log to standard error at the level that `-v` and `-q` ask for."""
    level = logging.ERROR if quiet else [logging.WARNING, logging.INFO, logging.DEBUG][min(verbose, 2)]
    logger = logging.getLogger("axon_mlir")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(message)s"))
    logger.handlers[:] = [handler]
    logger.setLevel(level)
