# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The checker of certificates.

From the two programs alone `restate` says again everything that has to hold; this compares it with the files of the
certificate, text by text, and asks a solver: `unsat` to each, and not `unsat` to its hypotheses.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

import z3  # pyright: ignore[reportMissingTypeStubs]
from xdsl.dialects.func import FuncOp

from axon_mlir.errors import AxonError
from axon_mlir.smt.certificate import AFTER, BEFORE, FORMAT, MANIFEST, entries, lemma_names, manifest_of
from axon_mlir.smt.lemmas import lemma
from axon_mlir.smt.restate import state
from axon_mlir.smt.restated_text import Rejected

Solver = Literal["z3", "cvc5"]
PREMISES_SECONDS = 2.0
"""How long a solver may look for values that fulfil hypotheses; only a contradiction counts."""


@dataclass(frozen=True)
class Recheck:
    """The outcome: what failed, and how many obligations there were."""

    ok: bool
    obligations: int
    failed: tuple[str, ...]
    seconds: float = 0.0
    narrowed: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The JSON form of `axon recheck --json`."""
        return {"ok": self.ok, "obligations": self.obligations, "failed": list(self.failed)}


def recheck(
    folder: Path, load: Callable[[str, str], FuncOp], *, solver: Solver = "z3", seconds: float = 20.0
) -> Recheck:
    """Check a certificate. `load(text, name)` reads the one function of a file of IR."""
    started = time.monotonic()
    manifest = _manifest(folder)
    listed = [str(o.get("file")) for o in manifest["obligations"]]
    failed: list[str] = []
    present = sorted(p.name for p in folder.iterdir() if p.name not in (MANIFEST, BEFORE, AFTER))
    contents = {p: (folder / p).read_text(encoding="utf-8") for p in present}
    stored = frozenset("\n".join(x for x in text.split("\n") if not x.startswith(";")) for text in contents.values())
    try:
        before, after = (load((folder / p).read_text(encoding="utf-8"), str(folder / p)) for p in (BEFORE, AFTER))
        checker, narrowed = state(before, after, manifest, stored)
    except Rejected as error:
        return Recheck(False, len(listed), (str(error),), time.monotonic() - started)
    except OSError as error:
        raise AxonError(f"cannot read: {error.strerror or error}", where=str(folder)) from error
    lemmas = lemma_names(tuple(sorted(checker.lemmas)), [q.kind for q in checker.queries])
    queries = [*checker.queries, *(q for name in lemmas for q in lemma(name).obligations)]
    wanted = {entry["text"]: entry for entry in entries(queries).values()}
    for name, text in contents.items():
        if text not in wanted:
            failed.append(f"{name}: not an obligation of these programs, or edited")
    missing = set(wanted) - set(contents.values())
    failed += [f"missing: {wanted[text]['kind']}: {wanted[text]['goal']}" for text in sorted(missing)]
    tiles = sorted(f"n = {n}, s = {s}" for n, s in checker.tiles)
    expected = manifest_of(manifest["sizes"], lemmas, tiles, {n: wanted.get(contents.get(n, ""), {}) for n in listed})
    if expected != manifest or sorted(listed) != present:
        failed.append(f"{MANIFEST}: does not list what is there")
    premises = {q.text: q.premises for q in queries}
    for name in present:
        text = "\n".join(x for x in contents[name].split("\n") if not x.startswith(";"))
        if answer(text, solver, seconds) != "unsat":
            failed.append(f"{name}: not proved by {solver}")
        if text in premises and answer(premises[text], solver, PREMISES_SECONDS) == "unsat":
            failed.append(f"{name}: its hypotheses contradict each other")
    return Recheck(not failed, len(listed), tuple(failed), time.monotonic() - started, tuple(narrowed))


def _manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    try:
        manifest: Any = json.loads(path.read_text(encoding="utf-8"))
        version = manifest["format"]
        obligations = manifest["obligations"]
        maps = [*manifest["sizes"]["before"].values(), *manifest["sizes"]["after"].values()]
        sound = isinstance(obligations, list) and all(isinstance(m, str) for m in maps)
    except OSError as error:
        raise AxonError(f"cannot read: {error.strerror or error}", where=str(path)) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise AxonError("not the manifest of a certificate", where=str(path)) from error
    if version != FORMAT:
        raise AxonError(f"a certificate of format {version}", where=str(path), accepted=f"format {FORMAT}")
    if not sound:
        raise AxonError("not the manifest of a certificate", where=str(path))
    return manifest


def answer(text: str, solver: Solver, seconds: float) -> str:
    """What a solver says to a script."""
    if solver == "z3":
        s: Any = z3.Solver(ctx=z3.Context())
        s.set("timeout", int(seconds * 1000))
        try:
            s.from_string(text)
        except z3.Z3Exception:
            return "malformed"
        return str(s.check())
    return _cvc5(text, seconds)


def _cvc5(text: str, seconds: float) -> str:
    try:
        import cvc5  # pyright: ignore[reportMissingTypeStubs]
    except ModuleNotFoundError as error:
        raise AxonError("cvc5 is not installed", accepted="pip install cvc5, or --solver z3") from error
    module = cast(Any, cvc5)
    s = module.Solver()
    s.setOption("tlimit-per", str(int(seconds * 1000)))
    s.setLogic("ALL")
    parser = module.InputParser(s)
    parser.setStringInput(module.InputLanguage.SMT_LIB_2_6, text, "obligation")
    symbols = parser.getSymbolManager()
    said = ""
    try:
        while True:
            command = parser.nextCommand()
            if command.isNull():
                break
            said = str(command.invoke(s, symbols)).strip() or said
    except Exception:  # cvc5 raises its own kinds for malformed input
        return "malformed"
    return said
