# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Running queries. A query is a text in SMT-LIB 2: what is cached, stored in certificates and solved is the same text.

The budget is Z3's `rlimit`, which is deterministic; a wall clock stands behind it, and an `unknown` that it caused is
never cached. `linter` looks at each query before it is solved.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Literal

import z3  # pyright: ignore[reportMissingTypeStubs]

from axon_mlir.smt.linter import lint_assertions, lint_text

_z3: Any = z3

Answer = Literal["unsat", "sat", "unknown"]

RLIMIT = 4_000_000
"""Resources of one query: well above what any provable obligation of ours has needed."""
WALL_CLOCK = 2.0
"""Seconds of one query."""


@dataclass
class Statistics:
    """Counters of this process."""

    queries: int = 0
    cached: int = 0
    seconds: float = 0.0


STATISTICS = Statistics()
_cache: dict[tuple[str, int], Answer] = {}


def version() -> str:
    """The solver's version."""
    return f"z3 {z3.get_version_string()}"


def solve(
    text: str, *, rlimit: int = RLIMIT, wall_clock: float = WALL_CLOCK, obligation: str = "a question on the way"
) -> Answer:
    """Whether a query is satisfiable; `unknown` when the budget ends first. `obligation`: what a refusal names."""
    key = (text, rlimit)
    found = _cache.get(key)
    if found is not None:
        STATISTICS.cached += 1
        return found
    lint_text(text, obligation)
    started = time.monotonic()
    # Real arithmetic gets a context of its own: the effort of its search must not depend on earlier queries.
    solver: Any = _z3.Solver(ctx=_z3.Context()) if " Real)" in text else _z3.Solver()
    solver.set("rlimit", rlimit)
    solver.set("timeout", int(wall_clock * 1000))
    solver.set("random_seed", 0)
    solver.from_string(text)
    lint_assertions(solver.assertions(), obligation)
    result = solver.check()
    if result == z3.unknown and "keyboard" in solver.reason_unknown():
        # Z3 has caught the SIGINT that was meant for us.
        raise KeyboardInterrupt
    elapsed = time.monotonic() - started
    STATISTICS.queries += 1
    STATISTICS.seconds += elapsed
    answer: Answer = "unsat" if result == z3.unsat else "sat" if result == z3.sat else "unknown"
    if answer != "unknown" or elapsed < 0.9 * wall_clock:
        _cache[key] = answer
    return answer


def clear_cache() -> None:
    """Forget every answer (tests measure without it)."""
    _cache.clear()
