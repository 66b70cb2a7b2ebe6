# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs as the command line names them: `FILE.py[:FUNC]` or `FILE.mlir[:FUNC]`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from axon_mlir.cli.process import display_name, read_input, record_input
from axon_mlir.errors import AxonError
from axon_mlir.host.parsing import parse_module
from axon_mlir.host.registry import make_context
from axon_mlir.host.verification import verify_module

ACCEPTED = "SOURCE.py[:FUNC] or SOURCE.mlir[:FUNC]"


def split_source(source: str) -> tuple[str, str | None]:
    """The file and the function (None: the only public one)."""
    name, colon, function = source.rpartition(":")
    if not colon or not function.isidentifier():
        return source, None
    return name, function


def is_traced(name: str) -> bool:
    """Whether a file holds NumPy functions (else IR); AxonError when it holds neither, or is not there."""
    if not name.endswith((".py", ".mlir")):
        raise AxonError("neither a .py nor a .mlir file", where=name, accepted=ACCEPTED)
    if not Path(name).is_file():
        raise AxonError("no such file", where=name, accepted=ACCEPTED)
    return name.endswith(".py")


def load_program(source: str, args: Sequence[str]) -> ModuleOp:
    """A module with the one function that is asked for. A Python file is executed, in a child process."""
    name, function = split_source(source)
    if is_traced(name):
        from axon_mlir.frontend.numpy_trace import trace_file

        record_input(name, Path(name).read_text(encoding="utf-8", errors="replace"))
        return trace_file(name, function, args)
    if args:
        raise AxonError(
            "a file of IR takes no --arg",
            where=f"--arg {args[0]}",
            accepted="numbers in the attribute axon.values = {M = 4096 : i64} of the function",
        )
    module = parse_module(read_input(name), display_name(name), make_context())
    verify_module(module)
    _keep_only(module, name, function)
    return module


def _keep_only(module: ModuleOp, name: str, function: str | None) -> None:
    """Leave one function in a module."""
    functions = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, FuncOp)}
    bodies = {k: f for k, f in functions.items() if not f.is_declaration}
    if function is not None and function not in bodies:
        raise AxonError(f"no function '{function}'", where=name, accepted=", ".join(bodies) or "none there")
    public = [k for k, f in bodies.items() if f.sym_visibility is None or f.sym_visibility.data == "public"]
    if function is None and len(public) != 1:
        raise AxonError(f"{len(public)} public functions", where=name, accepted=f"{name}:FUNC, of {', '.join(bodies)}")
    chosen = function or public[0]
    for other, op in functions.items():
        if other != chosen:
            op.detach()
            op.erase()
