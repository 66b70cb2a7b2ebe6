# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`axon-opt`: read a module, run passes over it, print it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version
from io import StringIO
from typing import TextIO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.passes import ModulePass
from xdsl.printer import Printer
from xdsl.utils.exceptions import PassFailedException

from axon_mlir import __version__
from axon_mlir.cli.arguments import ArgumentParser, add_device_argument
from axon_mlir.cli.process import display_name, read_input, run_tool, write_output
from axon_mlir.errors import AxonError, ExitCode
from axon_mlir.host.diagnostics import check_expectations, parse_expectations
from axon_mlir.host.parsing import parse_module
from axon_mlir.host.pipeline import build_pipeline
from axon_mlir.host.registry import make_context, pass_names, resolve
from axon_mlir.host.verification import VerificationError, verify_module

SEPARATOR = "// -----"
DEVICE_ATTRIBUTE = "axon.device"

VERIFY_STEP = "axon_mlir.smt.translation:verify_step"
PRINT_KERNEL = "axon_mlir.printer_nki:print_kernel"


class StepNotProved(AxonError):
    """A pass whose result the prover did not prove equal to its input."""

    def __init__(self, verdict: str, report: str):
        super().__init__(report)
        self.exit_code = ExitCode.FAILED if verdict == "refuted" else ExitCode.UNKNOWN

    def __str__(self) -> str:
        return self.message


def main(
    argv: Sequence[str] | None = None,
    *,
    stdin: TextIO | None = None,
    stdout: TextIO | None = None,
    stderr: TextIO | None = None,
) -> int:
    """Run `axon-opt` and return its exit code; given streams replace the process's own."""
    return run_tool("axon-opt", _optimize, argv, stdin=stdin, stdout=stdout, stderr=stderr)


def argument_parser() -> ArgumentParser:
    """The command line of `axon-opt`."""
    parser = ArgumentParser(
        prog="axon-opt",
        description="Read a module, run passes over it and print it.",
        epilog="passes: " + ", ".join(pass_names()),
    )
    parser.add_argument("file", nargs="?", default="-", metavar="FILE", help="the module (default '-': standard input)")
    pipeline = parser.add_mutually_exclusive_group()
    pipeline.add_argument("-p", dest="passes", metavar="PASSES", help="passes to run: 'a,b{x=1}'")
    pipeline.add_argument(
        "--pass-pipeline", dest="passes", metavar="PIPELINE", help="the same as 'builtin.module(a,func.func(b{x=1}))'"
    )
    parser.add_argument(
        "-o", dest="output", default="-", metavar="OUT", help="where to write (default: standard output)"
    )
    parser.add_argument("--target", choices=["mlir", "nki"], default="mlir", help="what to print (default: mlir)")
    add_device_argument(parser, default=None)
    parser.add_argument("--smt-verify-each", action="store_true", help="prove that each pass preserves the meaning")
    parser.add_argument(
        "--verify-diagnostics", action="store_true", help="check errors against expected-error comments"
    )
    parser.add_argument("--split-input-file", action="store_true", help=f"run on each part between '{SEPARATOR}' lines")
    parser.add_argument("--print-ir-after-all", action="store_true", help="print the module to stderr after each pass")
    parser.add_argument("--print-op-generic", action="store_true", help="print operations in their generic form")
    parser.add_argument("--allow-unregistered-dialect", action="store_true", help="accept operations of any dialect")
    parser.add_argument("--version", action="version", version=f"axon-opt {__version__} (xDSL {version('xdsl')})")
    return parser


def _optimize(argv: Sequence[str]) -> int:
    options = argument_parser().parse_args(argv)
    passes = build_pipeline(options.passes or "")
    text = read_input(options.file)
    name = display_name(options.file)
    parts = split_input(text) if options.split_input_file else [text]
    if options.verify_diagnostics:
        return _verify_diagnostics(parts, name, passes, options)
    outputs = [_run_part(part, name, passes, options) for part in parts]
    write_output(options.output, f"{SEPARATOR}\n".join(outputs))
    return ExitCode.OK


def split_input(text: str) -> list[str]:
    """The parts between `// -----` lines, each behind blank lines that keep its line numbers those of the file."""
    parts: list[str] = []
    current: list[str] = []
    lines = text.split("\n")
    for number, line in enumerate(lines, start=1):
        if line.strip() == SEPARATOR:
            parts.append("\n".join(current))
            current = [""] * number
        else:
            current.append(line)
    return [*parts, "\n".join(current)]


def _verify_diagnostics(
    parts: Sequence[str], name: str, passes: Sequence[ModulePass], options: argparse.Namespace
) -> int:
    """Run every part, compare its errors with its comments, and print the parts that had none."""
    problems: list[AxonError] = []
    outputs: list[str] = []
    for part in parts:
        expected = parse_expectations(part, name)
        errors: Sequence[AxonError] = ()
        try:
            outputs.append(_run_part(part, name, passes, options))
        except VerificationError as error:
            errors = error.errors
        except AxonError as error:
            errors = [error]
        problems += check_expectations(expected, errors, name)
    write_output(options.output, f"{SEPARATOR}\n".join(outputs))
    for problem in problems:
        print(problem, file=sys.stderr)
    return ExitCode.FAILED if problems else ExitCode.OK


def _run_part(text: str, name: str, passes: Sequence[ModulePass], options: argparse.Namespace) -> str:
    """Parse one module, verify it, run the passes and print the result."""
    context = make_context(allow_unregistered=options.allow_unregistered_dialect)
    module = parse_module(text, name, context)
    if options.device is not None:
        module.attributes[DEVICE_ATTRIBUTE] = StringAttr(options.device)
    verify_module(module)
    for module_pass in passes:
        _run_pass(module_pass, module, context, name, options)
    return _print_result(module, options)


def _run_pass(
    module_pass: ModulePass, module: ModuleOp, context: Context, name: str, options: argparse.Namespace
) -> None:
    before = module.clone() if options.smt_verify_each else None
    try:
        module_pass.apply(context, module)
    except AxonError as error:
        raise error.at(name) from None
    except PassFailedException as error:
        raise AxonError(f"{module_pass.name}: {error}", where=name) from error
    if options.print_ir_after_all:
        header = f"// -----// IR Dump After {module_pass} //----- //"
        print(f"{header}\n{print_module(module, generic=options.print_op_generic)}", file=sys.stderr)
    try:
        verify_module(module)
    except VerificationError as error:
        raise RuntimeError(f"pass '{module_pass.name}' left an invalid module: {error.message}") from error
    if before is not None:
        _prove_step(before, module, module_pass.name)


def _prove_step(before: ModuleOp, after: ModuleOp, pass_name: str) -> None:
    verify_step: Callable[[ModuleOp, ModuleOp, str], object] = resolve(VERIFY_STEP, "the prover")
    verdict = verify_step(before, after, pass_name)
    word: str = getattr(verdict, "verdict")
    report: Callable[[], str] = getattr(verdict, "report")
    if word != "proved":
        raise StepNotProved(word, report())


def _print_result(module: ModuleOp, options: argparse.Namespace) -> str:
    if options.target == "mlir":
        return print_module(module, generic=options.print_op_generic)
    print_kernel: Callable[[ModuleOp], str] = resolve(PRINT_KERNEL, "target 'nki'")
    text = print_kernel(module)
    return text if text.endswith("\n") else text + "\n"


def print_module(module: ModuleOp, *, generic: bool = False) -> str:
    """The text of a module, with a newline at its end."""
    stream = StringIO()
    Printer(stream=stream, print_generic_format=generic).print_op(module)
    return stream.getvalue() + "\n"


if __name__ == "__main__":
    sys.exit(main())
