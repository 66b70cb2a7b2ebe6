# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Collects every lit file as one pytest item."""

from __future__ import annotations

import gc
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from lit_lint import lint
from lit_runner import SUFFIXES, available_features, parse_script, run_file

from axon_mlir.host.interpreter import COLLECTION_THRESHOLDS

# Tests are about the prover, not about what it has proved before; children inherit it.
os.environ["AXON_CACHE"] = "off"

gc.set_threshold(*COLLECTION_THRESHOLDS)

settings.register_profile("axon", deadline=None, derandomize=True)
settings.load_profile("axon")

LIT = Path(__file__).parent / "lit"


class LitFailure(Exception):
    """A lit file failed; the message is all there is to say."""


class LitFile(pytest.File):
    """A file with RUN lines."""

    def collect(self) -> Iterator[pytest.Item]:
        yield LitItem.from_parent(self, name=self.path.name)


class LitItem(pytest.Item):
    """All the RUN lines of one file."""

    def runtest(self) -> None:
        text = self.path.read_text(encoding="utf-8")
        script = parse_script(text)
        features = available_features()
        if missing := [name for name in script.requires if name not in features]:
            pytest.skip(f"requires {', '.join(missing)}")
        if present := [name for name in script.unsupported if name in features]:
            pytest.skip(f"unsupported with {', '.join(present)}")
        if problems := lint(text):
            raise LitFailure("\n".join(f"{self.path}:{problem}" for problem in problems))
        with tempfile.TemporaryDirectory(prefix="axon-lit-") as scratch:
            outcomes = run_file(self.path, Path(scratch))
        failed = outcomes[-1].code != 0
        expected = "*" in script.xfail or any(name in features for name in script.xfail)
        if failed and expected:
            pytest.xfail(outcomes[-1].command)
        if failed != expected:
            raise LitFailure(str(outcomes[-1]) if failed else "passes, although the file says XFAIL")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> object:
        if isinstance(excinfo.value, LitFailure):
            return str(excinfo.value)
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, str(self.path.relative_to(LIT))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The long ones first."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Make an item of each lit file."""
    if file_path.suffix not in SUFFIXES or not file_path.is_relative_to(LIT) or "Inputs" in file_path.parts:
        return None
    return LitFile.from_parent(parent, path=file_path)
