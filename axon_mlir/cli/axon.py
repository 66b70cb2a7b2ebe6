# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`axon`: one subcommand for each thing it can do, each in a file of its own.

A subcommand is a module with `register(subparsers)`, which adds its parser, and `run(args)`, which returns an exit
code. Adding one is one line in `SUBCOMMANDS`. Only the one that is asked for is imported.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, Protocol, TextIO, cast

from axon_mlir import __version__
from axon_mlir.cli.arguments import ArgumentParser, configure_logging
from axon_mlir.cli.process import run_tool

if TYPE_CHECKING:
    from argparse import Namespace

    from axon_mlir.cli.arguments import Subparsers


class Subcommand(NamedTuple):
    """One line of `axon --help`."""

    module: str
    """The module with `register` and `run`."""
    summary: str


class SubcommandModule(Protocol):
    """What a subcommand's module offers."""

    register: Callable[[Subparsers], None]
    run: Callable[[Namespace], int]


SUBCOMMANDS: Mapping[str, Subcommand] = {
    "compile": Subcommand("axon_mlir.cli.compile", "make a kernel from a program"),
    "doctor": Subcommand("axon_mlir.cli.doctor", "show versions, optional tools and devices"),
    "fuzz": Subcommand("axon_mlir.cli.fuzz", "try random programs through the whole pipeline"),
    "prove": Subcommand("axon_mlir.cli.prove", "prove or refute that two programs are equal"),
    "recheck": Subcommand("axon_mlir.cli.recheck", "check a certificate again"),
    "run": Subcommand("axon_mlir.cli.run", "execute a kernel over NumPy with the device's rules checked"),
}
"""The subcommands that exist."""


def main(
    argv: Sequence[str] | None = None,
    *,
    stdin: TextIO | None = None,
    stdout: TextIO | None = None,
    stderr: TextIO | None = None,
) -> int:
    """Run `axon` and return its exit code; given streams replace the process's own."""
    return run_tool("axon", _dispatch, argv, stdin=stdin, stdout=stdout, stderr=stderr)


def _dispatch(argv: Sequence[str]) -> int:
    parser = ArgumentParser(prog="axon", description="A superoptimizing tensor compiler for tile-based accelerators.")
    parser.add_argument("--version", action="version", version=f"axon {__version__}")
    subparsers = parser.add_subparsers(dest="subcommand", metavar="SUBCOMMAND", required=True)
    chosen = next((word for word in argv if not word.startswith("-")), None)
    module: SubcommandModule | None = None
    for name, subcommand in SUBCOMMANDS.items():
        if name == chosen:
            module = cast(SubcommandModule, import_module(subcommand.module))
            module.register(subparsers)
        else:
            subparsers.add_parser(name, help=subcommand.summary)
    args = parser.parse_args(argv)
    configure_logging(getattr(args, "verbose", 0), getattr(args, "quiet", False))
    assert module is not None, "argparse refuses unknown subcommands"
    return module.run(args)


if __name__ == "__main__":
    sys.exit(main())
