# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The checker's table of lemmas says what the prover's says, though neither knows the other."""

from __future__ import annotations

import pytest

from axon_mlir.checker import lemmas as stated
from axon_mlir.checker.text import Rejected
from axon_mlir.smt.lemmas import lemma, names


@pytest.mark.parametrize("name", names())
def test_lemmas_are_stated_alike(name: str) -> None:
    mine = [(q.kind, q.hypotheses, q.goal, q.text, q.premises) for q in lemma(name).obligations]
    theirs = [(q.kind, q.hypotheses, q.goal, q.text, q.premises) for q in stated.questions(name)]
    assert theirs == mine


def test_an_unknown_lemma_is_no_lemma() -> None:
    with pytest.raises(Rejected, match="everything is zero"):
        stated.questions("everything is zero")
