# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tables of names, and what stock xDSL tools see of them."""

import subprocess
import sys

import pytest
from xdsl.ir import Dialect
from xdsl.passes import ModulePass
from xdsl.universe import Universe

from axon_mlir.errors import AxonError
from axon_mlir.host import registry


def loaded_or_skip(load, name: str):
    try:
        return load(name)
    except AxonError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("name", [*registry.HOST_DIALECTS, *registry.DIALECTS])
def test_dialects_bear_their_names(name: str):
    dialect = loaded_or_skip(registry.load_dialect, name)
    assert isinstance(dialect, Dialect)
    assert dialect.name == name


@pytest.mark.parametrize("name", registry.pass_names())
def test_passes_bear_their_names(name: str):
    found = loaded_or_skip(registry.load_pass, name)
    assert issubclass(found, ModulePass)
    assert found.name == name


def test_a_missing_module_harms_only_its_own_users(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(registry, "PASSES", {"gone": "axon_mlir.nowhere:Gone"})
    assert "gone" in registry.pass_names()
    assert registry.load_pass("cse").name == "cse"
    with pytest.raises(AxonError, match="pass 'gone' is not part of this build"):
        registry.load_pass("gone")


def test_a_broken_module_is_not_taken_for_a_missing_one(tmp_path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "broken_pass_module.py").write_text("import no_such_module_anywhere\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError):
        registry.resolve("broken_pass_module:Pass", "pass 'broken'")


def test_an_unknown_pass_lists_the_known_ones():
    with pytest.raises(AxonError) as caught:
        registry.load_pass("nope")
    assert caught.value.accepted == ", ".join(registry.pass_names())


def test_the_universe_joins_xdsl_without_clashes():
    from axon_mlir.universe import AXON

    stock = Universe.get_multiverse()
    assert set(AXON.all_dialects) == set(registry.DIALECTS)
    assert set(AXON.all_passes) == set(registry.PASSES)
    assert set(AXON.all_dialects) <= set(stock.all_dialects), "the package's entry point is installed"


@pytest.mark.parametrize("name", registry.DIALECTS)
def test_stock_contexts_load_our_dialects(name: str):
    factory = Universe.get_multiverse().all_dialects[name]
    assert loaded_or_skip(lambda _: factory(), name).name == name


def test_the_universe_imports_nothing_heavy():
    code = "import sys, axon_mlir.universe; print([m for m in sys.modules if m in ('z3', 'lark', 'numpy')])"
    heavy = ("axon_mlir.dialects", "axon_mlir.transforms", "axon_mlir.smt", "axon_mlir.semantics")
    code += f"; print([m for m in sys.modules if m.startswith({heavy!r})])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[1] == "[]"
    assert "z3" not in done.stdout
    assert "lark" not in done.stdout


def test_stock_xdsl_opt_starts_and_knows_our_passes():
    done = subprocess.run(
        [sys.executable, "-m", "xdsl.tools.xdsl_opt", "--help"], capture_output=True, text=True, check=True
    )
    text = done.stdout.replace("\n", "").replace(" ", "")
    assert all(name in text for name in registry.PASSES)
