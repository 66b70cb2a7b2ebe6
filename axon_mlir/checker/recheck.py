# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The checker of certificates.

From the two programs alone `argument` says again everything that has to hold; this compares it with the certificate,
byte by byte, and asks a solver: `unsat` to each question, and not `unsat` to its hypotheses. Every failure begins with
the name of its reason.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, cast

import z3  # pyright: ignore[reportMissingTypeStubs]
from xdsl.dialects.func import FuncOp

from axon_mlir.checker.argument import state
from axon_mlir.checker.lemmas import questions
from axon_mlir.checker.text import Question, Rejected
from axon_mlir.errors import AxonError
from axon_mlir.semantics.conversions import is_lowered
from axon_mlir.semantics.roundings import BITS, NARROW, Entry, ledger

FORMAT = 3
MANIFEST, BEFORE, AFTER = "manifest.json", "a.mlir", "b.mlir"
PREMISES_SECONDS = 2.0
"""How long a solver may look for values that fulfil hypotheses; only a contradiction counts."""
Solver = Literal["z3", "cvc5"]
Load = Callable[[str, str], FuncOp]
"""Reads the one function of a text of IR; (text, name of the file)."""


@dataclass(frozen=True)
class Recheck:
    """The outcome. `open_premises`: hypotheses of which the solver has shown neither a model nor a contradiction."""

    ok: bool
    obligations: int
    failed: tuple[str, ...]
    narrowed: tuple[str, ...] = ()
    open_premises: int = 0


def recheck(folder: Path, load: Load, *, solver: Solver = "z3", seconds: float = 20.0) -> Recheck:
    """Check a certificate."""
    files, manifest = _read(folder)
    try:
        wanted, expected = _wanted(files, manifest, load)
    except Rejected as error:
        return Recheck(False, len(manifest["obligations"]), (str(error),))
    failed: list[str] = []
    for name in sorted({*files, *wanted} - {MANIFEST, BEFORE, AFTER}):
        if name not in files:
            failed.append(f"missing: {name}: {wanted[name].kind}: {wanted[name].goal}")
        elif name not in wanted:
            failed.append(f"foreign: {name}: no obligation of these programs, or edited")
        elif files[name] != _file(wanted[name]):
            failed.append(f"edited: {name}: does not say what its name stands for")
    for key in sorted({*manifest, *expected}):
        if manifest.get(key) != expected.get(key) or (key in manifest) != (key in expected):
            failed.append(f"{key}: the manifest does not say what follows from the programs")
    open_premises = 0
    for name, question in wanted.items():
        if _answer(question.text, solver, seconds) != "unsat":
            failed.append(f"unproved: {name}: not by {solver}")
        premises = _answer(question.premises, solver, PREMISES_SECONDS)
        open_premises += premises not in ("sat", "unsat")
        if premises == "unsat":
            failed.append(f"contradiction: {name}: its hypotheses exclude each other")
    return Recheck(not failed, len(manifest["obligations"]), tuple(failed), tuple(expected["narrowed"]), open_premises)


def _read(folder: Path) -> tuple[dict[str, str], dict[str, Any]]:
    """The files of a certificate, and what its manifest says."""
    where = str(folder / MANIFEST)
    try:
        files = {p.name: p.read_text(encoding="utf-8") for p in sorted(folder.iterdir())}
        manifest: Any = json.loads(files[MANIFEST])
        version, sound = manifest["format"], isinstance(manifest["obligations"], list) and {BEFORE, AFTER} <= set(files)
        maps = [manifest[key][side].values() for key in ("sizes", "constants") for side in ("before", "after")]
        if not sound or not all(isinstance(x, str) for values in maps for x in values):
            raise TypeError("a field of another kind, or no programs")
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise AxonError(f"not the manifest of a certificate, or cannot be read: {error!r}", where=where) from error
    if version != FORMAT:
        raise AxonError(f"a certificate of format {version}", where=where, accepted=f"format {FORMAT}")
    return files, manifest


def _file(q: Question) -> str:
    lines = [f"; {q.kind}", *(f"; given {h}" for h in q.hypotheses), f"; goal {q.goal}"]
    return "\n".join(line.replace("\n", " ") for line in lines) + "\n" + q.text


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _name(q: Question) -> str:
    slug = "".join(c if c.isalnum() else "-" for c in q.kind)[:48].strip("-")
    return f"{slug}.{_digest(_file(q))[:16]}.smt2"


def _wanted(files: dict[str, str], manifest: dict[str, Any], load: Load) -> tuple[dict[str, Question], dict[str, Any]]:
    """What the certificate of the two programs holds: the questions by file, and the manifest."""
    scripts = [[line for line in text.split("\n") if not line.startswith(";")] for text in files.values()]
    try:
        before, after = (load(files[p], p) for p in (BEFORE, AFTER))
        argument = state(before, after, manifest, frozenset(map("\n".join, scripts)))
    except (AxonError, ValueError, ArithmeticError) as error:
        raise Rejected(f"programs: no meaning with these sizes and constants: {error}") from error
    resting = (("disjoint", "cover"), ("is defined", "nonnegative"))
    by_kind = {lemma for kind, lemma in resting for q in argument.questions if kind in q.kind}
    lemmas = sorted({*argument.lemmas, *by_kind, "congruence"})
    every = [*argument.questions, *(q for name in lemmas for q in questions(name))]
    wanted = dict(sorted({_name(q): q for q in every}.items()))
    expected = {
        "format": FORMAT,
        "verdict": "proved",
        "programs": {p: _digest(files[p]) for p in (BEFORE, AFTER)},
        "sizes": manifest["sizes"],
        "constants": manifest["constants"],
        "narrowed": [f"{k} = {v}" for k, v in sorted(manifest["sizes"]["before"].items())],
        "ledger": _ledgers(before, after, manifest.get("ledger") is not None),
        "lemmas": lemmas,
        "tiles": sorted(f"n = {n}, s = {s}" for n, s in argument.tiles),
        "obligations": [
            {"file": name, "kind": q.kind, "hypotheses": list(q.hypotheses), "goal": q.goal}
            for name, q in wanted.items()
        ],
    }
    return wanted, {**expected, "digest": _digest(json.dumps(expected, sort_keys=True))}


def _ledgers(before: FuncOp, after: FuncOp, claimed: bool) -> dict[str, Any] | None:
    """The rounding ledgers; Rejected where the second program rounds more, or sums in fewer bits."""
    if not (claimed or is_lowered(before) or is_lowered(after)):
        return None
    entries = {"before": ledger(before), "after": ledger(after)}
    for n, (a, b) in enumerate(zip(*entries.values(), strict=True)):
        if any(b.roundings.get(d, 0) > a.roundings.get(d, 0) for d in NARROW):
            raise Rejected(f"ledger: result {n} is rounded more often after than before")
        if b.accumulator < min(a.accumulator, BITS["f32"]):
            raise Rejected(f"ledger: result {n} is summed in fewer bits after than before")

    def told(e: Entry) -> dict[str, Any]:
        return {"roundings": dict(e.roundings), "accumulator_bits": {b: b for b in BITS.values()}.get(e.accumulator)}

    return {side: list(map(told, found)) for side, found in entries.items()}


# -- solvers ----------------------------------------------------------------------------------------------------------


@cache
def _answer(text: str, solver: Solver, seconds: float) -> str:
    """What a solver says to a script."""
    if solver == "cvc5":
        return _cvc5(text, seconds)
    s: Any = z3.Solver(ctx=z3.Context())
    s.set("timeout", int(seconds * 1000))
    try:
        s.from_string(text)
    except z3.Z3Exception:
        return "malformed"
    answer = str(s.check())
    if answer == "unknown" and "keyboard" in s.reason_unknown():
        raise KeyboardInterrupt  # Z3 has caught the SIGINT that was meant for us
    return answer


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
    said = ""
    try:
        while not (command := parser.nextCommand()).isNull():
            said = str(command.invoke(s, parser.getSymbolManager())).strip() or said
    except RuntimeError:  # of cvc5, about the text
        return "malformed"
    return said
