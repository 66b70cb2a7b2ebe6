# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Certificates: a folder with both programs and every question that a proof asked, as text.

`manifest.json` holds the verdict, how sizes correspond, the rounding ledgers, the lemmas and their instances, and the
list of obligations; each obligation is a file in SMT-LIB 2 that a solver answers with `unsat`, named by its content.
`axon_mlir.checker` reads it; the two share no code.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from xdsl.dialects.func import FuncOp

from axon_mlir.errors import AxonError
from axon_mlir.semantics.roundings import BITS, Entry
from axon_mlir.smt.encode import Query
from axon_mlir.smt.equivalence import Proof
from axon_mlir.smt.lemmas import lemma
from axon_mlir.smt.linter import lint_text
from axon_mlir.smt.reading import Reading, read
from axon_mlir.smt.verdict import Verdict

FORMAT = 3
MANIFEST = "manifest.json"
BEFORE, AFTER = "a.mlir", "b.mlir"
ALWAYS = ("congruence",)
"""Lemmas that every proof rests on."""
_BY_KIND = {"disjoint": "cover", "is defined": "nonnegative"}
"""Obligations that rest on a lemma: part of their kind -> the lemma."""


def write_certificate(
    folder: Path,
    before: FuncOp | Reading,
    after: FuncOp | Reading,
    verdict: Verdict,
    proof: Proof,
    *,
    ledgers: bool | None = None,
) -> None:
    """Write the certificate of a proof. An older certificate at that place is replaced, anything else is not.

    `ledgers`: whether roundings were compared (by default where one of the functions is lowered).
    """
    if verdict.verdict != "proved":
        raise ValueError("only a proof has a certificate")
    before, after = read(before), read(after)
    queries = [q for q, _ in proof.queries]
    names = lemma_names(verdict.lemmas, [q.kind for q in queries])
    for name in names:
        queries += lemma(name).obligations
    for query in queries:
        # Among them are some that no solver has seen: equal normal forms, and lemmas.
        lint_text(query.text, query.kind)
    _prepare(folder)
    programs = {BEFORE: before.text, AFTER: after.text}
    files = {file_name(q): q for q in queries}
    if ledgers is None:
        ledgers = before.lowered or after.lowered
    manifest: dict[str, Any] = {
        "format": FORMAT,
        "verdict": "proved",
        "programs": {name: _digest(text) for name, text in programs.items()},
        "sizes": {
            "before": {str(k): str(v) for k, v in proof.before_sizes.items()},
            "after": {str(k): str(v) for k, v in proof.after_sizes.items()},
        },
        "constants": {
            "before": {str(c): str(e) for c, e in sorted(proof.before_constants.items())},
            "after": {str(c): str(e) for c, e in sorted(proof.after_constants.items())},
        },
        "narrowed": [f"{k} = {v}" for k, v in sorted((str(k), str(v)) for k, v in proof.before_sizes.items())],
        "ledger": {"before": _entries(before.ledger), "after": _entries(after.ledger)} if ledgers else None,
        "lemmas": names,
        "tiles": sorted(verdict.tiles),
        "obligations": [
            {"file": name, "kind": q.kind, "hypotheses": list(q.hypotheses), "goal": q.goal}
            for name, q in sorted(files.items())
        ],
    }
    sealed = {**manifest, "digest": _digest(json.dumps(manifest, sort_keys=True))}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in programs.items():
            (folder / name).write_text(text, encoding="utf-8")
        for name, query in files.items():
            (folder / name).write_text(file_text(query), encoding="utf-8")
        (folder / MANIFEST).write_text(json.dumps(sealed, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise AxonError(f"cannot write: {error.strerror or error}", where=str(folder)) from error


def lemma_names(used: Sequence[str], kinds: Sequence[str]) -> list[str]:
    """The lemmas of a proof: those of the normal form, and those that kinds of obligations rest on."""
    names = {*used, *ALWAYS}
    for part, name in _BY_KIND.items():
        if any(part in kind for kind in kinds):
            names.add(name)
    return sorted(names)


def file_text(query: Query) -> str:
    """The content of an obligation's file."""
    lines = [f"; {query.kind}", *(f"; given {h}" for h in query.hypotheses), f"; goal {query.goal}"]
    return "\n".join(line.replace("\n", " ") for line in lines) + "\n" + query.text


def file_name(query: Query) -> str:
    """The name of an obligation's file: its kind and what it says."""
    slug = "".join(c if c.isalnum() else "-" for c in query.kind)[:48].strip("-")
    return f"{slug}.{_digest(file_text(query))[:16]}.smt2"


def _entries(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """The rounding ledger of a function, result by result."""
    return [
        {
            "roundings": dict(sorted(e.roundings.items())),
            "accumulator_bits": e.accumulator if e.accumulator <= max(BITS.values()) else None,
        }
        for e in entries
    ]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _prepare(folder: Path) -> None:
    if not folder.exists():
        return
    if folder.is_dir() and not any(folder.iterdir()):
        return
    if not (folder / MANIFEST).is_file():
        raise AxonError("exists and is no certificate", where=str(folder), accepted="a new or an empty folder")
    shutil.rmtree(folder)
