# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the prover says: proved, refuted or unknown, each with its reason and what it rests on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

import numpy as np

Word = Literal["proved", "refuted", "unknown"]


@dataclass(frozen=True)
class Counterexample:
    """Concrete inputs on which the two programs differ; `left` and `right` are the elements at `index`.

    `dims` are the sizes and tile parameters that were used. `output` says which result differs.
    """

    dims: Mapping[str, int]
    inputs: tuple[np.ndarray, ...] = field(compare=False)
    output: int
    index: tuple[int, ...]
    left: float
    right: float

    def to_json(self) -> dict[str, Any]:
        """The JSON form; infinities and NaN as text."""

        def number(x: Any) -> Any:
            value = float(x)
            return value if np.isfinite(value) else str(value)

        def nested(x: Any) -> Any:
            return [nested(y) for y in cast("list[Any]", x)] if isinstance(x, list) else number(x)

        inputs: list[Any] = []
        for a in self.inputs:
            # Big inputs are described, not listed; they come from a seeded generator and replay through `dims`.
            small = a.size <= 4096
            inputs.append(nested(a.tolist()) if small else {"shape": list(a.shape), "omitted": True})
        return {
            "dims": dict(self.dims),
            "inputs": inputs,
            "output": self.output,
            "index": list(self.index),
            "left": number(self.left),
            "right": number(self.right),
        }


@dataclass(frozen=True)
class Discharged:
    """One obligation and how it went: `status` is `proved` or `unknown`; `why`: what the solver says of one that is
    open."""

    kind: str
    where: str
    text: str
    status: str
    why: str = ""


@dataclass(frozen=True)
class Verdict:
    """The outcome for one pair of functions.

    `constants`: roundings of one number that the proof took for that number (numeric class P). `cached`: the proof was
    found in the user's cache.
    """

    verdict: Word
    reason: str
    lemmas: tuple[str, ...] = ()
    tiles: tuple[str, ...] = ()
    obligations: tuple[Discharged, ...] = ()
    counterexample: Counterexample | None = None
    seconds: float = 0.0
    sizes: Mapping[str, str] = field(default_factory=dict[str, str])
    detail: str = ""
    constants: tuple[str, ...] = ()
    cached: bool = False

    def __post_init__(self):
        if self.verdict != "proved" and not self.reason:
            raise ValueError(f"{self.verdict} for no reason")
        if self.verdict == "unknown" and not self.detail:
            raise ValueError(f"unknown for the reason '{self.reason}', and nothing says what is open")

    def to_json(self) -> dict[str, Any]:
        """The JSON form of `axon prove --json`."""
        out: dict[str, Any] = {
            "verdict": self.verdict,
            "reason": self.reason,
            "sizes": dict(self.sizes),
            "lemmas": list(self.lemmas),
            "tiles": list(self.tiles),
            "constants": list(self.constants),
            "obligations": len(self.obligations),
            "cached": self.cached,
            "seconds": round(self.seconds, 4),
            "counterexample": self.counterexample.to_json() if self.counterexample is not None else None,
        }
        if self.detail:
            out["detail"] = self.detail
        return out

    def report(self) -> str:
        """A few lines for people."""
        lines = [f"{self.verdict}: {self.reason}" if self.reason else self.verdict]
        if self.detail:
            lines += [f"  {line}" for line in self.detail.split("\n")]
        lines += [f"  constant {c} (class P)" for c in self.constants]
        if self.counterexample is not None:
            c = self.counterexample
            dims = ", ".join(f"{k}={v}" for k, v in c.dims.items())
            at = ", ".join(map(str, c.index))
            lines.append(f"  at {dims}: result {c.output}[{at}] is {c.left!r} before and {c.right!r} after")
        for o in self.obligations:
            if o.status != "proved":
                lines.append(f"  not discharged: {o.kind} at {o.where}: {o.text} ({o.why})")
        return "\n".join(lines)
