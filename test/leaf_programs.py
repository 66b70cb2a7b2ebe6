# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tile programs of one leaf inside two loops, and what becomes of them: instructions, a kernel, its proof, its run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from axon_mlir.autotune.symbolic_check import prove_kernel
from axon_mlir.dialects.trn_isa import InstructionOp
from axon_mlir.host.parsing import parse_module
from axon_mlir.host.registry import make_context
from axon_mlir.printer_nki import print_kernel
from axon_mlir.sim import RunResult, execute
from axon_mlir.smt.equivalence import prove_functions
from axon_mlir.smt.verdict import Verdict
from axon_mlir.transforms.isa.isa_allocate import IsaAllocate
from axon_mlir.transforms.isa.isa_select import IsaSelect

Array = np.ndarray[Any, Any]

ROWS, COLUMNS = 5, 7
"""The steps of the loops: every run below has a last tile that is short, and more than one tile before it."""


def program(
    leaf: str,
    operands: Sequence[str] = ("f32",),
    *,
    columns: Sequence[int] = (),
    result: str = "f32",
    narrow: bool = False,
    whole: bool = False,
) -> str:
    """A function of tensors `a0`, `a1`, ... that computes `leaf` for every tile.

    `operands`: their element types; those in `columns` have one element in each row. `narrow`: the result is a column;
    `whole`: a tile has whole rows. In the leaf's text operands are called x0, x1, ...; the places are at_m and at_k.
    """
    step, upper = ("K", '"K"') if whole or narrow else (str(COLUMNS), f'"{COLUMNS}"')
    width, bound = ("1", '"1"') if narrow else ("K", upper)
    tensors = [f'tensor<?x{"1" if n in columns else "?"}x{e}, ["M", "{"1" if n in columns else "K"}"]>' for n, e in
               enumerate(operands)]  # fmt: skip
    tiles = [f'!tile.tile<["{ROWS}", {chr(34) + "1" + chr(34) if n in columns else upper}], {e}, sbuf>' for n, e in
             enumerate(operands)]  # fmt: skip
    out, tile = (
        f'tensor<?x{"1" if narrow else "?"}x{result}, ["M", "{width}"]>',
        f'!tile.tile<["{ROWS}", {bound}], {result}, sbuf>',
    )
    arguments = ", ".join(f"%a{n}: {ty}" for n, ty in enumerate(tensors))
    loads = [
        f"%x{n} = tile.load %a{n}[%m along p, {'%zero' if n in columns else '%k'} along f] "
        f"(%mn, {'%one' if n in columns else '%kn'}) : {tensors[n]} -> {tiles[n]}"
        for n in range(len(operands))
    ]
    ins = ", ".join(f"%x{n}" for n in range(len(operands)))
    places = [f"at_{d} = %{d}" for d in "mk" if f"at_{d}" in leaf]
    at = f" at ({', '.join(places)})" if places else ""
    known = [len(operands) > 0, any(n not in columns for n in range(len(operands)))]
    missing = [s for s, there in zip(("%mn", "%kn"), known, strict=True) if not there]
    sizes = f" sizes ({', '.join(missing)})" if missing else ""
    newline = "\n      "
    return f"""
func.func @f({arguments or '%a: tensor<?x?xf32, ["M", "K"]>'}) -> {out} {{
  %zero = tile.index "0"
  %one = tile.index "1"
  %M = tile.index "M"
  %K = tile.index "K"
  %W = tile.index "{width}"
  %out = tile.empty (%M, %W) : {out}
  %r = tile.for m.tile (%m, %mn) = %zero to %M step "{ROWS}" (collect %o = %out : {out}) {{
    %r1 = tile.for k.tile (%k, %kn) = %zero to %K step "{step}" (collect %p = %o : {out}) {{
      {newline.join(loads)}
      %y = tile.leaf "{leaf}" ({ins}){at}{sizes} : ({", ".join(tiles)}) -> {tile}
      %q = tile.store %y into %p[%m along p, %k along f] : {tile}, {out}
      tile.yield %q : {out}
    }}
    tile.yield %r1 : {out}
  }}
  func.return %r : {out}
}}
"""


def function(module: ModuleOp) -> FuncOp:
    return next(op for op in module.body.block.ops if isinstance(op, FuncOp))


class Lowered:
    """A program, its instructions, and its kernel."""

    def __init__(self, text: str, values: str = "{K = 18 : index, M = 13 : index}"):
        context = make_context()
        text = text.replace(" {\n", f" attributes {{axon.values = {values}}} {{\n", 1)
        self.source = parse_module(text, "source.mlir", context)
        self.source.verify()
        self.module = self.source.clone()
        IsaSelect().apply(context, self.module)
        self.module.verify()
        IsaAllocate().apply(context, self.module)
        self.module.verify()
        self.kernel = print_kernel(self.module)

    @property
    def instructions(self) -> list[str]:
        """What is not a move between memories, in order."""
        ops = [op for op in self.module.walk() if isinstance(op, InstructionOp)]
        return [op.INSTRUCTION for op in ops if op.INSTRUCTION != "dma_copy"]

    def proved(self) -> list[Verdict]:
        """The verdicts of selection and of the kernel's text."""
        before = function(self.source)
        return [prove_functions(before, function(self.module)), prove_kernel(before, self.kernel, "trn2")]

    def run(self, folder: Path, *arrays: Array, domain: Any = "float") -> RunResult:
        """Run the kernel on the simulator."""
        path = folder / "kernel.py"
        path.write_text(self.kernel, encoding="utf-8")
        return execute(path, None, [a.copy() for a in arrays], device="trn2", domain=domain)
