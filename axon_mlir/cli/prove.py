# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`axon prove`: does a second program compute what a first one does, for all sizes?

A program is a NumPy function in a Python file, or a function of a file of IR. Numbers in `--arg` are fresh sizes. The
second may be the text of a kernel, recognised by its import of nki: it is executed symbolically, never run.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from xdsl.dialects.func import FuncOp

from axon_mlir.autotune.symbolic_check import not_read, rebuild
from axon_mlir.cli.arguments import DEFAULT_DEVICE, add_output_arguments
from axon_mlir.cli.process import display_name, emit_json, read_input
from axon_mlir.errors import AxonError, ExitCode, UnsupportedError
from axon_mlir.frontend.nki_text import device_in, is_kernel_text
from axon_mlir.host.parsing import parse_module
from axon_mlir.host.registry import make_context
from axon_mlir.host.verification import verify_module
from axon_mlir.smt.certificate import write_certificate
from axon_mlir.smt.equivalence import Proof, prove_functions

if TYPE_CHECKING:
    from argparse import Namespace

    from axon_mlir.cli.arguments import Subparsers

EXIT_CODES = {"proved": ExitCode.OK, "refuted": ExitCode.FAILED, "unknown": ExitCode.UNKNOWN}


def register(subparsers: Subparsers) -> None:
    """Add the subcommand's parser."""
    parser = subparsers.add_parser("prove", help="prove or refute that two programs are equal", description=__doc__)
    parser.add_argument("before", metavar="SOURCE_A[:F]", help="the first program, a .py or .mlir file")
    parser.add_argument("after", metavar="SOURCE_B[:G]", help="the second: must be defined wherever the first is")
    parser.add_argument(
        "--arg",
        dest="args",
        metavar="SPEC",
        action="append",
        default=[],
        help="an argument of both programs, such as bf16[4096,1024]; only for .py sources",
    )
    parser.add_argument("--certificate", metavar="DIR", help="where to write the certificate of a proof")
    parser.add_argument("--timeout", metavar="S", type=float, help="seconds after which the verdict is unknown")
    parser.add_argument("--no-filter", action="store_true", help="do not look for a counterexample by evaluation")
    add_output_arguments(parser)


def run(args: Namespace) -> int:
    """Prove, write what was asked for, and report."""
    before = load_function(args.before, args.args)
    proof = Proof() if args.certificate is not None else None
    try:
        after = load_kernel(args.after, before) or load_function(args.after, args.args)
    except UnsupportedError as error:
        if not is_kernel(split(args.after)[0]):
            raise
        after, verdict = before, not_read(error)
    else:
        verdict = prove_functions(before, after, use_filter=not args.no_filter, timeout=args.timeout, proof=proof)
    if args.certificate is not None and proof is not None and verdict.verdict == "proved":
        write_certificate(Path(args.certificate), before, after, verdict, proof)
    emit_json(verdict.to_json(), args.json)
    if not args.quiet:
        stream = sys.stderr if args.json == "-" else sys.stdout
        print(verdict.report(), file=stream)
        if args.verbose:
            kept = ", found in the cache" if verdict.cached else ""
            print(f"{verdict.seconds:.3f} s, {len(verdict.obligations)} obligations{kept}", file=stream)
            print(f"lemmas: {', '.join(verdict.lemmas) or 'none'}", file=stream)
        if args.certificate is not None and verdict.verdict == "proved":
            print(f"wrote {args.certificate}", file=stream)
    return EXIT_CODES[verdict.verdict]


def split(source: str) -> tuple[str, str]:
    """`FILE[:NAME]`: the file, and the name or nothing."""
    name, colon, function = source.rpartition(":")
    if not colon or "." in function or "/" in function:
        return source, ""
    return name, function


def is_kernel(name: str) -> bool:
    """Whether a file is the text of a kernel."""
    path = Path(name)
    return name.endswith(".py") and path.is_file() and is_kernel_text(path.read_text("utf-8", "replace"))


def load_kernel(source: str, before: FuncOp) -> FuncOp | None:
    """The function that a kernel's text describes, over the arguments of a program; None where it is no kernel."""
    name, function = split(source)
    if not is_kernel(name):
        return None
    text = Path(name).read_text(encoding="utf-8", errors="replace")
    device = device_in(text) or DEFAULT_DEVICE
    return rebuild(before, text, device, name=name, function=function or None)


def load_function(source: str, specs: list[str]) -> FuncOp:
    """The function that `FILE[:NAME]` names."""
    name, function = split(source)
    if name.endswith(".py"):
        return _traced(name, function or None, specs)
    if not name.endswith(".mlir") and name != "-":
        raise AxonError("neither a .py nor a .mlir file", where=name, accepted="SOURCE.py[:FUNC] or SOURCE.mlir[:FUNC]")
    module = parse_module(read_input(name), display_name(name), make_context())
    verify_module(module)
    functions = {op.sym_name.data: op for op in module.walk() if isinstance(op, FuncOp) and not op.is_declaration}
    if function:
        if function not in functions:
            raise AxonError(f"no function '{function}'", where=name, accepted=", ".join(functions) or "none there")
        return functions[function]
    public = [f for f in functions.values() if f.sym_visibility is None or f.sym_visibility.data == "public"]
    if len(public) != 1:
        found = ", ".join(functions) or "none"
        raise AxonError(f"which function? ({found})", where=name, accepted=f"{name}:FUNC")
    return public[0]


def _traced(name: str, function: str | None, specs: list[str]) -> FuncOp:
    from axon_mlir.frontend.numpy_trace import trace_file

    if is_kernel(name):
        raise AxonError("is a kernel", where=name, accepted="a program; the kernel as the second source")
    module = trace_file(name, function, specs)
    return next(op for op in module.walk() if isinstance(op, FuncOp))
