# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`axon doctor`: what this installation consists of and what it can do."""

from __future__ import annotations

import platform
import shutil
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from axon_mlir import __version__
from axon_mlir.cli.arguments import DEFAULT_DEVICE, add_output_arguments, device_names
from axon_mlir.cli.process import emit_json
from axon_mlir.errors import ExitCode

if TYPE_CHECKING:
    from argparse import Namespace

    from axon_mlir.cli.arguments import Subparsers

REQUIRED = ("xdsl", "z3-solver", "numpy", "lark", "ml_dtypes", "rich")
"""The packages that axon_mlir needs."""

OPTIONAL_PACKAGES = {
    "cvc5": "a second solver for `axon recheck --solver cvc5`",
    "neuronx-cc": "compiles kernels for a Neuron device",
}
OPTIONAL_PROGRAMS = {"neuron-ls": "lists the Neuron devices of this machine"}


def register(subparsers: Subparsers) -> None:
    """Add the subcommand's parser."""
    parser = subparsers.add_parser("doctor", help="show versions, optional tools and devices", description=__doc__)
    add_output_arguments(parser)


def run(args: Namespace) -> int:
    """Print the table or the JSON; a missing required package is bad input."""
    required = {name: installed_version(name) for name in REQUIRED}
    optional = {name: installed_version(name) for name in OPTIONAL_PACKAGES}
    programs = {name: shutil.which(name) for name in OPTIONAL_PROGRAMS}
    devices = device_names()
    emit_json(
        {
            "version": __version__,
            "python": platform.python_version(),
            "required": required,
            "optional": optional | programs,
            "devices": devices,
        },
        args.json,
    )
    stream = sys.stderr if args.json == "-" else sys.stdout
    if not args.quiet:
        print(f"axon_mlir {__version__}, Python {platform.python_version()} on {platform.platform()}", file=stream)
        for name, found in required.items():
            print(f"  {name:<12} {found or 'MISSING'}", file=stream)
        for name, found in (optional | programs).items():
            purpose = (OPTIONAL_PACKAGES | OPTIONAL_PROGRAMS)[name]
            print(f"  {name:<12} {found or 'not installed'} (optional: {purpose})", file=stream)
        print(f"  devices      {', '.join(devices)} (default: {DEFAULT_DEVICE})", file=stream)
    return ExitCode.OK if all(required.values()) else ExitCode.BAD_INPUT


def installed_version(package: str) -> str | None:
    """The version of an installed package."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None
