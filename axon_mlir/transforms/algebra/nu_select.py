# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`nu-select`: take one alternative of each choice.

* `nu-select{alternative=late}`: wherever there is an alternative of that name; other choices stay
* `nu-select{index=1}`: by position, for every choice; the reference is 0, and is what `nu-select` alone takes
* `nu-select{choices="product=late,scale=row_first"}`: choice by choice; others stay, unless one of the above
  says what to take for them

Only proved alternatives are taken; `allow=unknown` also admits those that are neither proved nor refuted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from axon_mlir.dialects.nu import PROVED, UNKNOWN, ChoiceOp, choices_of, inline_alternative
from axon_mlir.errors import AxonError
from axon_mlir.host.verification import operation_error


@dataclass(frozen=True)
class NuSelect(ModulePass):
    """Replace choices by one of their alternatives each."""

    name = "nu-select"

    alternative: str | None = None
    index: int | None = None
    choices: str | None = None
    allow: Literal["proved", "unknown"] = "proved"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Decide first, so that a wrong name changes nothing, then inline."""
        functions = [(f, choices_of(f)) for f in op.walk() if isinstance(f, FuncOp)]
        named = self._named()
        self._check_names(named, [choices for _, choices in functions])
        for function, choices in functions:
            plan = {choice: self._pick(choice, named.get(name)) for name, choice in choices.items()}
            self._take(function, {choice: number for choice, number in plan.items() if number is not None})
            _keep_names(function, choices)

    def _named(self) -> dict[str, str]:
        """The option `choices` as choice -> alternative."""
        if self.alternative is not None and self.index is not None:
            raise AxonError("nu-select takes an alternative or an index, not both")
        named: dict[str, str] = {}
        for part in (self.choices or "").split(",") if self.choices is not None else ():
            choice, equals, alternative = (text.strip() for text in part.partition("="))
            if not (choice and equals and alternative):
                raise AxonError(f"nu-select cannot read '{part}'", accepted='choices="choice0=late,choice1=early"')
            if choice in named:
                raise AxonError(f"nu-select is given '{choice}' twice")
            named[choice] = alternative
        return named

    def _check_names(self, named: dict[str, str], functions: Sequence[dict[str, ChoiceOp]]) -> None:
        known = list(dict.fromkeys(name for choices in functions for name in choices))
        for name in named:
            if name not in known:
                raise AxonError(f"there is no choice '{name}'", accepted=", ".join(known) or None)
        alternatives = list(dict.fromkeys(n for choices in functions for c in choices.values() for n in c.names))
        if self.alternative is not None and alternatives and self.alternative not in alternatives:
            raise AxonError(f"no choice has an alternative '{self.alternative}'", accepted=", ".join(alternatives))

    def _pick(self, choice: ChoiceOp, name: str | None) -> int | None:
        """The number of the alternative to take, None to leave the choice."""
        names = choice.names
        if name is not None:
            if name not in names:
                error = operation_error(choice, f"has no alternative '{name}'")
                raise AxonError(error.message, where=error.where, accepted=", ".join(names))
            return names.index(name)
        if self.alternative is not None:
            return names.index(self.alternative) if self.alternative in names else None
        if self.index is None:
            return 0 if self.choices is None else None
        if not 0 <= self.index < len(names):
            error = operation_error(choice, f"has no alternative number {self.index}")
            raise AxonError(error.message, where=error.where, accepted=f"0 to {len(names) - 1}")
        return self.index

    def _take(self, function: FuncOp, plan: dict[ChoiceOp, int]) -> None:
        """Inline from the outside in; choices in alternatives that are not taken vanish with them."""
        while (choice := next((c for c in function.walk() if isinstance(c, ChoiceOp) and c in plan), None)) is not None:
            number = plan.pop(choice)
            self._check_verdict(choice, number)
            inline_alternative(choice, number)

    def _check_verdict(self, choice: ChoiceOp, number: int) -> None:
        verdict = choice.alternatives.data[number].verdict.data
        if verdict == PROVED or (verdict == UNKNOWN and self.allow == UNKNOWN):
            return
        error = operation_error(choice, f"has alternative '{choice.names[number]}', but it is {verdict}")
        proved = [a.label.data for a in choice.alternatives.data if a.verdict.data == PROVED]
        accepted = ", ".join(proved) or "none is proved"
        if verdict == UNKNOWN:
            accepted += "; or allow=unknown"
        raise AxonError(error.message, where=error.where, accepted=accepted)


def _keep_names(function: FuncOp, before: dict[str, ChoiceOp]) -> None:
    """Choices that stay keep their names when those before them are gone."""
    after = choices_of(function)
    if len(after) == len(before):
        return
    for name, choice in before.items():
        if choice in after.values():
            choice.label = StringAttr(name)
