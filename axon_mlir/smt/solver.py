# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Running queries. A query is a text in SMT-LIB 2: what is cached, stored in certificates and solved is the same text.

The budget is Z3's `rlimit`, which is deterministic; a wall clock stands behind it, and an `unknown` that it caused is
never cached. No query may hold a quantifier, an array, a lambda or a recursive function: `lint` looks at each.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Literal

import z3  # pyright: ignore[reportMissingTypeStubs]

_z3: Any = z3

Answer = Literal["unsat", "sat", "unknown"]

RLIMIT = 4_000_000
"""Resources of one query: well above what any provable obligation of ours has needed."""
WALL_CLOCK = 2.0
"""Seconds of one query."""

_ALLOWED_SORTS = (z3.Z3_INT_SORT, z3.Z3_REAL_SORT, z3.Z3_BOOL_SORT)


class ForbiddenQuery(Exception):
    """A query holds something that the method forbids; a bug of the engine."""


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


def lint(assertions: Any) -> None:
    """Raise ForbiddenQuery unless every assertion is ground, over integers, reals and truth values."""
    seen: set[int] = set()
    pending: list[Any] = list(assertions)
    while pending:
        e = pending.pop()
        key = e.get_id()
        if key in seen:
            continue
        seen.add(key)
        if _z3.is_quantifier(e) or _z3.is_var(e):
            raise ForbiddenQuery("a quantifier or a lambda")
        if e.sort().kind() not in _ALLOWED_SORTS:
            raise ForbiddenQuery(f"an expression of sort {e.sort()}")
        declaration = e.decl()
        if declaration.kind() == z3.Z3_OP_RECURSIVE:
            raise ForbiddenQuery(f"a recursive function {declaration.name()}")
        pending.extend(e.children())


def solve(text: str, *, rlimit: int = RLIMIT, wall_clock: float = WALL_CLOCK) -> Answer:
    """Whether a query is satisfiable; `unknown` when the budget ends first."""
    key = (text, rlimit)
    found = _cache.get(key)
    if found is not None:
        STATISTICS.cached += 1
        return found
    started = time.monotonic()
    # Real arithmetic gets a context of its own: the effort of its search must not depend on earlier queries.
    solver: Any = _z3.Solver(ctx=_z3.Context()) if " Real)" in text else _z3.Solver()
    solver.set("rlimit", rlimit)
    solver.set("timeout", int(wall_clock * 1000))
    solver.set("random_seed", 0)
    solver.from_string(text)
    lint(solver.assertions())
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
