# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Running mutants: whether they differ, and what each way of checking says of them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import chdir
from dataclasses import asdict, dataclass
from fractions import Fraction
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mutation.catalogue import MUTANTS, Mutant
from mutation.programs import (
    KERNEL,
    PROGRAMS,
    ROOT,
    STAGES,
    around,
    function_of,
    kernel_of,
    parameters_of,
    sizes_of,
    source_of,
    spelled,
)
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from axon_mlir.autotune.exact_check import check_kernel
from axon_mlir.cli import axon, opt
from axon_mlir.errors import AxonError
from axon_mlir.host import registry
from axon_mlir.host.verification import find_errors
from axon_mlir.semantics.domains import Domain, Field, NotInDomain, Rationals
from axon_mlir.semantics.index import Size, evaluate
from axon_mlir.semantics.interpret import argument_shapes, evaluate_function

RESULTS = ROOT / "out" / "audit" / "mutation"
"""One file for each mutant: the processes of a run put them together."""
TABLE = RESULTS.with_suffix(".md")

REFUTED, RULE, UNKNOWN, SLIPPED, CRASHED = "refuted", "verifier rule", "unknown", "SLIPPED", "CRASHED"
VERDICTS = (REFUTED, RULE, UNKNOWN, SLIPPED, CRASHED)


# -- the test-only pass -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mutate(ModulePass):
    """Apply one mutant's edit."""

    name = "mutate"

    mutant: str

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        edit = MUTANTS[self.mutant].edit
        assert edit is not None
        edit(op)


def register_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `axon-opt` know the pass `mutate{mutant="..."}`."""
    monkeypatch.setattr(registry, "PASSES", {**registry.PASSES, Mutate.name: f"{__name__}:{Mutate.__name__}"})


# -- whether two functions differ -------------------------------------------------------------------------------------


def differ(before: FuncOp, after: FuncOp, sizes: Mapping[str, int], parameters: Mapping[str, int]) -> str | None:
    """Where two functions differ on one exact input, or None; a function that stops differs."""
    try:
        return _differ(before, after, sizes, parameters, Field())
    except NotInDomain:
        return _differ(before, after, sizes, parameters, Rationals())


def _differ(
    before: FuncOp, after: FuncOp, sizes: Mapping[str, int], parameters: Mapping[str, int], domain: Domain
) -> str | None:
    arrays = exact_inputs(before, sizes, domain)
    expected = evaluate_function(before, arrays, domain, sizes=parameters)
    try:
        found = evaluate_function(after, arrays, domain, sizes=parameters)
    except NotInDomain:
        raise
    except (AxonError, IndexError, ValueError) as error:
        return f"stops: {error}"
    for number, (have, want) in enumerate(zip(found, expected, strict=True)):
        if have.shape != want.shape:
            return f"result {number} has shape {have.shape}, not {want.shape}"
        if np.any(wrong := np.asarray(have != want)):
            return f"result {number} differs in {np.count_nonzero(wrong)} of {wrong.size} elements"
    return None


def exact_inputs(func: FuncOp, sizes: Mapping[str, int], domain: Domain) -> list[np.ndarray]:
    """Random members of a domain for every argument."""
    source = np.random.default_rng(7)
    out: list[np.ndarray] = []
    for shape in argument_shapes(func):
        extents = tuple(int(evaluate(d, {Size(k): v for k, v in sizes.items()})) for d in shape)
        if isinstance(domain, Field):
            out.append(source.integers(1, Field.p, extents, dtype=np.int64))
            continue
        numbers = source.integers(-8, 8, int(np.prod(extents)))
        array = np.empty(numbers.size, object)
        array[:] = [Fraction(int(v) + int(v >= 0), 4) for v in numbers]
        out.append(array.reshape(extents))
    return out


# -- the ways of checking ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """What became of one mutant: whether (and where) it differs, and the verdict of each way."""

    mutant: str
    stage: str
    kind: str
    difference: str | None
    ways: Mapping[str, str]
    messages: Mapping[str, str]

    @property
    def verifies(self) -> bool:
        """Whether no rule of the verifier (or of the device, for kernels) refuses it."""
        return RULE not in self.ways.values()

    @property
    def caught(self) -> bool:
        """Whether every way refuses it."""
        return all(w not in (SLIPPED, CRASHED) for w in self.ways.values())


def run_mutant(mutant: Mutant, scratch: Path) -> Outcome:
    """Check a mutant in every way there is."""
    return _run_kernel(mutant, scratch) if mutant.stage == KERNEL else _run_module(mutant, scratch)


def _run_kernel(mutant: Mutant, scratch: Path) -> Outcome:
    assert mutant.text is not None
    func = function_of(source_of(mutant.program))
    text = mutant.text(kernel_of(mutant.program))
    compile(text, mutant.name, "exec")
    mismatches = check_kernel(text, func, "trn2")
    words = [_word(m.message) for m in mismatches]
    verdict = RULE if RULE in words else REFUTED if words else SLIPPED
    shown = "\n".join(map(str, mismatches))
    difference = str(mismatches[0]) if mismatches else None
    ways, messages = {"exact check": verdict}, {"exact check": shown}
    (scratch / "program.mlir").write_text(opt.print_module(source_of(mutant.program)), encoding="utf-8")
    (scratch / "kernel.py").write_text(text, encoding="utf-8")
    code, message = _command(scratch, axon.main, ["prove", "program.mlir", "kernel.py"])
    if "not part of this version" not in message:
        ways["axon prove"], messages["axon prove"] = _verdict(code, message, refused=True), message
    return Outcome(mutant.name, mutant.stage, mutant.kind, difference, ways, messages)


def _command(scratch: Path, main: Any, argv: Sequence[str]) -> tuple[int, str]:
    """Run a tool in a folder: its exit code, and what it says."""
    out, err = StringIO(), StringIO()
    with chdir(scratch):
        code = main(argv, stdin=StringIO(), stdout=out, stderr=err)
    shown = "" if main is opt.main else out.getvalue()
    return code, f"exit {code}: {err.getvalue()}{shown}"[:2000]


def _word(message: str) -> str:
    return REFUTED if message.startswith(("output", "the kernel returns")) else RULE


def _run_module(mutant: Mutant, scratch: Path) -> Outcome:
    assert mutant.edit is not None
    program = PROGRAMS[mutant.program]
    before, original = around(mutant.program, mutant.stage)
    after = original.clone()
    mutant.edit(after)
    refused = bool(find_errors(after))
    source = function_of(before, program.function)
    sizes = sizes_of(program, source)
    difference: str | None = None
    if not refused:
        target = function_of(after, mutant.function)
        difference = differ(source, target, sizes, parameters_of(program, source, target))
    (scratch / "before.mlir").write_text(opt.print_module(before), encoding="utf-8")
    (scratch / "after.mlir").write_text(opt.print_module(after), encoding="utf-8")
    function = f":{mutant.function}" if mutant.function else ""
    pipeline = f'{spelled(mutant.stage, program, before)},mutate{{mutant="{mutant.name}"}}'
    commands: dict[str, tuple[Any, Sequence[str]]] = {
        "axon-opt": (opt.main, ["before.mlir", "-p", pipeline, "--smt-verify-each"]),
        "axon prove": (axon.main, ["prove", "before.mlir", f"after.mlir{function}"]),
        "no filter": (axon.main, ["prove", "--no-filter", "before.mlir", f"after.mlir{function}"]),
    }
    ways: dict[str, str] = {}
    messages: dict[str, str] = {}
    for way, (main, argv) in commands.items():
        code, messages[way] = _command(scratch, main, argv)
        ways[way] = _verdict(code, messages[way], refused)
    return Outcome(mutant.name, mutant.stage, mutant.kind, difference, ways, messages)


def _verdict(code: int, message: str, refused: bool) -> str:
    match code:
        case 0:
            return SLIPPED
        case 1:
            return REFUTED
        case 2:
            return UNKNOWN
        case 3 | 4 if refused:
            return RULE
        case _:
            return CRASHED


# -- the report -------------------------------------------------------------------------------------------------------


def record(outcome: Outcome) -> None:
    """Keep an outcome for the table."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / f"{outcome.mutant}.json").write_text(json.dumps(asdict(outcome), indent=1), encoding="utf-8")


def recorded() -> list[Outcome]:
    """The outcomes that were kept, in the order of the catalogue."""
    out: list[Outcome] = []
    for name in MUTANTS:
        path = RESULTS / f"{name}.json"
        if path.exists():
            out.append(Outcome(**json.loads(path.read_text(encoding="utf-8"))))
    return out


def table(outcomes: Sequence[Outcome]) -> str:
    """The split for each pass and way."""
    lines = [
        "| pass | mutants | verify | way | " + " | ".join(VERDICTS) + " |",
        "|---" * (4 + len(VERDICTS)) + "|",
    ]
    total: Counter[tuple[str, str]] = Counter()
    for stage in STAGES:
        mine = [o for o in outcomes if o.stage == stage]
        ways = dict.fromkeys(w for o in mine for w in o.ways)
        for n, way in enumerate(ways):
            counts = Counter(o.ways[way] for o in mine)
            total.update({(way, v): c for v, c in counts.items()})
            head = f"| {stage} | {len(mine)} | {sum(o.verifies for o in mine)}" if not n else "| | |"
            lines.append(f"{head} | {way} | " + " | ".join(str(counts[v]) for v in VERDICTS) + " |")
    for n, way in enumerate(dict.fromkeys(w for w, _ in total)):
        head = f"| all | {len(outcomes)} | {sum(o.verifies for o in outcomes)}" if not n else "| | |"
        lines.append(f"{head} | {way} | " + " | ".join(str(total[way, v]) for v in VERDICTS) + " |")
    return "\n".join(lines) + "\n"
