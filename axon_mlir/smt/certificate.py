# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Certificates: a folder with both programs and every question that a proof asked, as text.

`manifest.json` holds the verdict, how sizes correspond, the lemmas and their instances, and the list of obligations;
each obligation is a file in SMT-LIB 2 that a solver answers with `unsat`.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from io import StringIO
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.printer import Printer

from axon_mlir.errors import AxonError
from axon_mlir.smt.encode import Query
from axon_mlir.smt.equivalence import Proof
from axon_mlir.smt.lemmas import lemma
from axon_mlir.smt.verdict import Verdict

FORMAT = 1
MANIFEST = "manifest.json"
BEFORE, AFTER = "a.mlir", "b.mlir"
ALWAYS = ("congruence",)
"""Lemmas that every proof rests on."""
_BY_KIND = {"disjoint": "cover", "is defined": "nonnegative"}
"""Obligations that rest on a lemma: part of their kind -> the lemma."""


def lemma_names(used: tuple[str, ...], kinds: list[str]) -> list[str]:
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


def entries(queries: list[Query]) -> dict[str, dict[str, Any]]:
    """File name -> entry of the manifest without the file name, for the distinct queries in order."""
    out: dict[str, dict[str, Any]] = {}
    seen: set[str] = set()
    for query in queries:
        text = file_text(query)
        if text in seen:
            continue
        seen.add(text)
        slug = "".join(c if c.isalnum() else "-" for c in query.kind)[:48].strip("-")
        out[f"{len(out):04d}-{slug}.smt2"] = {
            "kind": query.kind,
            "hypotheses": list(query.hypotheses),
            "goal": query.goal,
            "text": text,
        }
    return out


def manifest_of(
    sizes: Mapping[str, Any], lemmas: list[str], tiles: list[str], files: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """The manifest as JSON values."""
    obligations = [{"file": name, **{k: v for k, v in entry.items() if k != "text"}} for name, entry in files.items()]
    return {
        "format": FORMAT,
        "verdict": "proved",
        "sizes": dict(sizes),
        "lemmas": lemmas,
        "tiles": tiles,
        "obligations": obligations,
    }


def write_certificate(folder: Path, before: FuncOp, after: FuncOp, verdict: Verdict, proof: Proof) -> None:
    """Write the certificate of a proof. An older certificate at that place is replaced, anything else is not."""
    if verdict.verdict != "proved":
        raise ValueError("only a proof has a certificate")
    _prepare(folder)
    queries = [q for q, _ in proof.queries]
    names = lemma_names(verdict.lemmas, [q.kind for q in queries])
    for name in names:
        queries += lemma(name).obligations
    files = entries(queries)
    sizes = {
        "before": {str(k): str(v) for k, v in proof.before_sizes.items()},
        "after": {str(k): str(v) for k, v in proof.after_sizes.items()},
    }
    manifest = manifest_of(sizes, names, list(verdict.tiles), files)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / BEFORE).write_text(_function_text(before), encoding="utf-8")
        (folder / AFTER).write_text(_function_text(after), encoding="utf-8")
        for name, entry in files.items():
            (folder / name).write_text(entry["text"], encoding="utf-8")
        (folder / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise AxonError(f"cannot write: {error.strerror or error}", where=str(folder)) from error


def _prepare(folder: Path) -> None:
    if not folder.exists():
        return
    if folder.is_dir() and not any(folder.iterdir()):
        return
    if not (folder / MANIFEST).is_file():
        raise AxonError("exists and is no certificate", where=str(folder), accepted="a new or an empty folder")
    shutil.rmtree(folder)


def _function_text(function: FuncOp) -> str:
    stream = StringIO()
    Printer(stream=stream).print_op(ModuleOp([function.clone()]))
    return stream.getvalue() + "\n"
