# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The printed text of a kernel, executed symbolically and compared with the program it was made from.

Where this decides, the kernel is proved for all sizes, as text. Where it does not, the exact check stands.
"""

from __future__ import annotations

from pathlib import Path

from xdsl.dialects.func import FuncOp

from axon_mlir.dialects.trn_isa import device_named
from axon_mlir.errors import AxonError
from axon_mlir.frontend.nki_text import functions_in, read_kernel
from axon_mlir.smt.certificate import write_certificate
from axon_mlir.smt.equivalence import Proof, prove_functions
from axon_mlir.smt.verdict import Verdict

KERNEL_TEXT = "kernel text"
"""The reason of a verdict where the text could not be read."""


def prove_kernel(
    func: FuncOp,
    kernel_text: str,
    device: str,
    *,
    name: str = "kernel.py",
    function: str | None = None,
    use_filter: bool = False,
    timeout: float | None = None,
    certificate: Path | None = None,
) -> Verdict:
    """Whether the text of a kernel computes `func`, for all sizes.

    `name` is the file's, for messages; `function`: which kernel of the file (None: the one named like the program, or
    the only one). The verdict is `unknown` for the reason `kernel text` where the text holds something that is not
    read; its detail names the line. `use_filter`: look for a counterexample too.
    `certificate`: the folder that the certificate of a proof is written to.
    """
    try:
        rebuilt = rebuild(func, kernel_text, device, name=name, function=function)
    except AxonError as error:
        return not_read(error)
    proof = Proof() if certificate is not None else None
    verdict = prove_functions(
        func, rebuilt, use_filter=use_filter, check_ledger=True, same_domain=True, timeout=timeout, proof=proof
    )
    if certificate is not None and proof is not None and verdict.verdict == "proved":
        write_certificate(certificate, func, rebuilt, verdict, proof)
    return verdict


def rebuild(func: FuncOp, kernel_text: str, device: str, *, name: str, function: str | None) -> FuncOp:
    """The function that the text describes, over the arguments of `func`; see `read_kernel`."""
    if function is None and func.sym_name.data in functions_in(kernel_text, name):
        function = func.sym_name.data
    return read_kernel(kernel_text, name, device_named(device), function, func)


def not_read(error: AxonError) -> Verdict:
    """The verdict for a text that holds something that is not read."""
    where = f"{error.where}: " if error.where else ""
    accepted = f"\naccepted: {error.accepted}" if error.accepted else ""
    return Verdict("unknown", KERNEL_TEXT, detail=f"{where}{error.message}{accepted}")
