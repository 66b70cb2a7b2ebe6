# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`axon` in this process."""

from __future__ import annotations

import io

from axon_mlir.cli.axon import main


def axon(*arguments: str) -> tuple[int, str, str]:
    """The exit code, standard output and standard error of a command line."""
    stdout, stderr = io.StringIO(), io.StringIO()
    code = main(arguments, stdout=stdout, stderr=stderr)
    return code, stdout.getvalue(), stderr.getvalue()
