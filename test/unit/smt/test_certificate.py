# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Certificates re-check with both solvers; edited ones do not."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.func import FuncOp

from axon_mlir.checker.recheck import Solver, recheck
from axon_mlir.cli.recheck import load
from axon_mlir.errors import AxonError
from axon_mlir.frontend.numpy_trace import trace
from axon_mlir.smt.certificate import MANIFEST, write_certificate
from axon_mlir.smt.equivalence import Proof, prove_functions

INPUTS = Path(__file__).parent / "Inputs"
SOLVERS: list[Solver] = ["z3", "cvc5"] if importlib.util.find_spec("cvc5") else ["z3"]


def traced(function: Callable[..., Any], *arguments: str) -> FuncOp:
    return next(op for op in trace(function, arguments).walk() if isinstance(op, FuncOp))


def certify(folder: Path, before: FuncOp, after: FuncOp) -> Path:
    proof = Proof()
    verdict = prove_functions(before, after, proof=proof)
    assert verdict.verdict == "proved", verdict.report()
    write_certificate(folder, before, after, verdict, proof)
    return folder


def _tiled(folder: Path) -> Path:
    before, after = (load((INPUTS / name).read_text(), name) for name in ("matmul.mlir", "tiled_matmul.mlir"))
    return certify(folder, before, after)


def _norm(folder: Path) -> Path:
    def before(x: Any, w: Any) -> Any:
        return (x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + 1e-5)) @ w

    def after(x: Any, w: Any) -> Any:
        return (x @ w) * (1 / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + 1e-5))

    return certify(folder, traced(before, "f32[4,5]", "f32[5,6]"), traced(after, "f32[4,5]", "f32[5,6]"))


def _residual(folder: Path) -> Path:
    def before(x: Any) -> Any:
        return np.where(x > 0, np.sqrt(x), 0.0) + np.maximum(x, 0)

    def after(x: Any) -> Any:
        return np.where(x > 0, x / np.sqrt(x), 0.0) + (x + np.abs(x)) * 0.5

    return certify(folder, traced(before, "f32[4,5]"), traced(after, "f32[4,5]"))


MAKERS = [_tiled, _norm, _residual]


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("make", MAKERS)
def test_certificate_holds(make: Callable[[Path], Path], solver: Solver, tmp_path: Path) -> None:
    result = recheck(make(tmp_path / "c"), load, solver=solver)
    assert result.ok, result.failed
    manifest = json.loads((tmp_path / "c" / MANIFEST).read_text())
    assert result.obligations == len(manifest["obligations"]) > 5


def _edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.smt2"))


def _weakened(folder: Path) -> None:
    _edit(_files(folder)[0], "(assert (not", "(assert false)\n(assert (not")


def _missing(folder: Path) -> None:
    _files(folder)[3].unlink()


def _missing_and_unlisted(folder: Path) -> None:
    path = _files(folder)[3]
    path.unlink()
    manifest = json.loads((folder / MANIFEST).read_text())
    manifest["obligations"] = [o for o in manifest["obligations"] if o["file"] != path.name]
    (folder / MANIFEST).write_text(json.dumps(manifest))


def _extra(folder: Path) -> None:
    (folder / "9999-extra.smt2").write_text("(check-sat)\n")


def _other_program(folder: Path) -> None:
    text = (folder / "b.mlir").read_text()
    for old, new in (("tile.load %x[%k along p", "tile.load %x[%zero along p"), ("matmul", "matmul"), ("0.5", "0.25")):
        if old != new and old in text:
            (folder / "b.mlir").write_text(text.replace(old, new, 1))
            return
    (folder / "b.mlir").write_text(text.replace("1.0e-05", "2.0e-05", 1))
    assert (folder / "b.mlir").read_text() != text


def _renamed_sizes(folder: Path) -> None:
    manifest = json.loads((folder / MANIFEST).read_text())
    after = manifest["sizes"]["after"]
    first = next(iter(after))
    after[first] = "somethingelse"
    (folder / MANIFEST).write_text(json.dumps(manifest))


def _fewer_lemmas(folder: Path) -> None:
    manifest = json.loads((folder / MANIFEST).read_text())
    manifest["lemmas"] = manifest["lemmas"][:-1]
    (folder / MANIFEST).write_text(json.dumps(manifest))


def _other_goal(folder: Path) -> None:
    manifest = json.loads((folder / MANIFEST).read_text())
    manifest["obligations"][0]["goal"] = "true"
    (folder / MANIFEST).write_text(json.dumps(manifest))


EDITS = [
    _weakened,
    _missing,
    _missing_and_unlisted,
    _extra,
    _other_program,
    _renamed_sizes,
    _fewer_lemmas,
    _other_goal,
]


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("make", MAKERS)
def test_edited_certificate_does_not_hold(
    make: Callable[[Path], Path], edit: Callable[[Path], None], tmp_path: Path
) -> None:
    folder = make(tmp_path / "c")
    edit(folder)
    result = recheck(folder, load)
    assert not result.ok and result.failed


def test_another_format_is_refused(tmp_path: Path) -> None:
    folder = _residual(tmp_path / "c")
    _edit(folder / MANIFEST, '"format": 3', '"format": 1')
    with pytest.raises(AxonError, match="format 1"):
        recheck(folder, load)


def test_nothing_else_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("text")
    with pytest.raises(AxonError, match="no certificate"):
        _residual(tmp_path)
    assert (tmp_path / "precious").exists()


@pytest.mark.parametrize("names", [("and", "not"), ("_", "let"), ("abs", "Int"), ("select", "forall")])
def test_sizes_may_be_named_like_words_of_the_solver(names: tuple[str, str], tmp_path: Path) -> None:
    def program(last: str) -> FuncOp:
        kind = f'tensor<?x?xf32, ["{names[0]}", "{names[1]}"]>'
        lines = [f"%s = tensor_hl.mul %x, %x : {kind}", f"{last} : {kind}", f"func.return %y : {kind}"]
        return load(f"func.func @f(%x: {kind}) -> {kind} {{\n" + "\n".join(lines) + "\n}", "program")

    before, after = program("%y = tensor_hl.add %s, %x"), program("%y = tensor_hl.add %x, %s")
    folder = certify(tmp_path / "c", before, after)
    for solver in SOLVERS:
        assert recheck(folder, load, solver=solver).ok
