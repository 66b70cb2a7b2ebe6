# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Translation validation: does a pass preserve the meaning of every function of a module?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp

from axon_mlir.smt.certificate import write_certificate
from axon_mlir.smt.equivalence import Proof, prove_functions
from axon_mlir.smt.reading import Reading
from axon_mlir.smt.verdict import Verdict, Word

ORIGIN = "nu.origin"
"""Attribute of a function: the name of the function that it is one form of."""

Readings = Mapping[str, Reading]
"""The functions of a module, by name."""


@dataclass(frozen=True)
class StepVerdict:
    """The verdicts of all functions of one step."""

    pass_name: str
    functions: tuple[tuple[str, Verdict], ...]

    @property
    def verdict(self) -> Word:
        """The worst one."""
        words = {v.verdict for _, v in self.functions}
        return "refuted" if "refuted" in words else "unknown" if "unknown" in words else "proved"

    def report(self) -> str:
        """A few lines for people: what is not proved, and why."""
        lines = [f"{self.pass_name}: {self.verdict}"]
        for name, verdict in self.functions:
            if verdict.verdict != "proved":
                lines += [f"  @{name}: {verdict.report()}".replace("\n", "\n  ")]
        return "\n".join(lines)


def verify_step(
    before: ModuleOp | Readings,
    after: ModuleOp | Readings,
    pass_name: str,
    *,
    use_filter: bool = True,
    certificates: Path | None = None,
) -> StepVerdict:
    """Compare a module with what a pass has made of it; either may be given as the readings of its functions.

    Functions are matched by name; a new function with the attribute `nu.origin` is compared with the function that it
    names. Every function must have a successor. `certificates` is the folder of the certificate, with a folder for
    each function where there are several.
    """
    old, new = (readings(m) if isinstance(m, ModuleOp) else m for m in (before, after))
    verdicts: list[tuple[str, Verdict]] = []
    matched: set[str] = set()
    for name, function in new.items():
        attribute = function.function.attributes.get(ORIGIN)
        origin = attribute.data if name not in old and isinstance(attribute, StringAttr) else name
        if origin not in old:
            verdicts.append((name, Verdict("refuted", "function", detail="no such function before the pass")))
            continue
        matched.add(origin)
        source = old[origin]
        same = source.same(function)
        if same and certificates is None:
            verdicts.append((name, Verdict("proved", "")))
            continue
        proof = Proof() if certificates is not None else None
        verdict = prove_functions(
            source, function, use_filter=use_filter and not same, check_ledger=True, same_domain=True, proof=proof
        )
        if certificates is not None and proof is not None and verdict.verdict == "proved":
            folder = certificates / name if len(new) > 1 else certificates
            write_certificate(folder, source, function, verdict, proof, ledgers=True)
        verdicts.append((name, Verdict("proved", "") if same else verdict))
    for name in old:
        if name not in matched:
            verdicts.append((name, Verdict("refuted", "function", detail="the pass has dropped the function")))
    return StepVerdict(pass_name, tuple(verdicts))


def readings(module: ModuleOp) -> dict[str, Reading]:
    """The functions of a module, by name."""
    return {op.sym_name.data: Reading(op) for op in module.walk() if isinstance(op, FuncOp) and not op.is_declaration}
