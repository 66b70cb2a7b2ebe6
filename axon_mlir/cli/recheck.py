# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`axon recheck`: check a certificate again, from its two programs alone, with a solver of choice."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from xdsl.dialects.func import FuncOp

from axon_mlir.checker.recheck import recheck
from axon_mlir.cli.arguments import add_output_arguments
from axon_mlir.cli.process import emit_json
from axon_mlir.errors import AxonError, ExitCode
from axon_mlir.host.parsing import parse_module
from axon_mlir.host.registry import make_context
from axon_mlir.host.verification import verify_module

if TYPE_CHECKING:
    from argparse import Namespace

    from axon_mlir.cli.arguments import Subparsers


def register(subparsers: Subparsers) -> None:
    """Add the subcommand's parser."""
    parser = subparsers.add_parser("recheck", help="check a certificate again", description=__doc__)
    parser.add_argument("certificate", metavar="DIR", help="the folder that 'axon prove --certificate' wrote")
    parser.add_argument("--solver", choices=["z3", "cvc5"], default="z3", help="who answers (default z3)")
    add_output_arguments(parser)


def run(args: Namespace) -> int:
    """Check and report."""
    folder = Path(args.certificate)
    if not folder.is_dir():
        raise AxonError("no such folder", where=args.certificate, accepted="the folder of a certificate")
    result = recheck(folder, load, solver=args.solver)
    emit_json(asdict(result), args.json)
    if not args.quiet:
        stream = sys.stderr if args.json == "-" else sys.stdout
        for line in result.failed:
            print(f"failed: {line}", file=stream)
        word = "holds" if result.ok else "does not hold"
        print(f"the certificate {word}: {result.obligations} obligations, {args.solver}", file=stream)
        if result.open_premises:
            print(f"hypotheses not decided by the solver: {result.open_premises}", file=stream)
        for line in result.narrowed:
            print(f"only for {line}", file=stream)
    return ExitCode.OK if result.ok else ExitCode.FAILED


def load(text: str, name: str) -> FuncOp:
    """The one function of a module."""
    module = parse_module(text, name, make_context())
    verify_module(module)
    functions = [op for op in module.walk() if isinstance(op, FuncOp)]
    if len(functions) != 1:
        raise AxonError(f"{len(functions)} functions", where=name, accepted="one function")
    return functions[0]
