# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The runner of public kernels, on a repository made for the test."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from benchmarks import public_kernels
from benchmarks.public_kernels import CASES, Case, Library

KERNEL = """import nki
import nki.isa as nisa
import nki.language as nl

from half.names import BUFFER


def doubled(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=BUFFER)
    nisa.dma_copy(dst=tile, src=x)
    nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=2.0)
    nisa.dma_copy(dst=out, src=tile)
    return out
"""


@pytest.fixture
def library(tmp_path: Path) -> Library:
    """A clone whose newest commit is broken; the one before is named."""
    clone = tmp_path / "me+half"
    package = clone / "src" / "half"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "names.py").write_text("import nki.language as nl\n\nBUFFER = nl.sbuf\n")
    (package / "kernels.py").write_text(KERNEL)

    def git(*command: str) -> str:
        identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
        return subprocess.run(
            ["git", "-C", str(clone), *identity, *command], check=True, capture_output=True, text=True
        ).stdout.strip()

    git("init", "-q")
    git("add", "-A")
    git("commit", "-q", "-m", "one")
    first = git("rev-parse", "--short", "HEAD")
    (package / "kernels.py").write_text("no Python\n")
    git("commit", "-q", "-a", "-m", "two")
    return Library("me/half", first, "src")


def case(library: Library, factor: float, name: str = "doubled") -> Case:
    text = "from half.kernels import doubled"
    return Case(name, library, text, "doubled(a0)", lambda r: [r(8, 5)], lambda x: factor * x)


def test_kernels_are_taken_at_their_commit_and_compared(
    library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = Library("me/other", library.commit, "src")
    found = (case(library, 2), case(library, 2.1, "not doubled"), case(missing, 2, "elsewhere"))
    monkeypatch.setattr(public_kernels, "CASES", found)
    assert public_kernels.main(["--sources", str(tmp_path)]) == 1
    text = capsys.readouterr().out
    assert "1 of 2 agree" in text and "elsewhere" in text and "not run: no clone of me/other" in text
    assert public_kernels.main(["--sources", str(tmp_path), "doubled"]) == 0


def test_cases_have_inputs_and_references() -> None:
    assert len({c.name for c in CASES}) == len(CASES) >= 30 and sum(c.grid == 2 for c in CASES) >= 5
    for c in CASES:
        wanted = c.wanted(*c.arguments(public_kernels.Random()))
        for part in wanted if isinstance(wanted, tuple) else (wanted,):
            assert np.isfinite(np.asarray(part, float)).all()
