# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Imports point one way: the table of layers in docs/design.md, as a test."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2] / "axon_mlir"

MAY_IMPORT = {
    "semantics": set(),
    "host": set(),
    "targets": {"semantics"},
    "smt": {"semantics"},
    "checker": {"semantics"},
    "dialects": {"semantics", "targets", "host"},
    "frontend": {"semantics", "targets", "host", "dialects"},
    "transforms": {"semantics", "targets", "host", "dialects", "smt"},
    "printer_nki": {"semantics", "targets", "host", "dialects"},
    "sim": {"semantics", "targets", "host"},
    "autotune": {
        "semantics", "targets", "host", "dialects", "smt", "checker", "frontend", "transforms", "printer_nki", "sim",
    },
    "fuzz": {
        "semantics", "targets", "host", "dialects", "smt", "checker", "frontend", "transforms", "printer_nki", "sim",
        "autotune",
    },
}  # fmt: skip
"""Layer -> the layers it may import beside itself, `errors` and the package's version. The command line sees all."""


def imports(tree: ast.AST) -> set[str]:
    """The second component of every `axon_mlir.x` that a file imports."""
    out: set[str] = set()
    for node in ast.walk(tree):
        names = (
            [a.name for a in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom) and node.level == 0
            else []
        )
        out |= {n.split(".")[1] for n in names if n.startswith("axon_mlir.")}
    return out


def crossings(layer: str, text: str) -> set[str]:
    """Layers that a file of `layer` imports against the arrows."""
    return imports(ast.parse(text)) - {layer, "errors"} - MAY_IMPORT[layer]


def test_imports_point_one_way() -> None:
    wrong = {
        str(path.relative_to(ROOT)): found
        for layer in MAY_IMPORT
        for path in (ROOT / layer).rglob("*.py")
        if (found := crossings(layer, path.read_text(encoding="utf-8")))
    }
    assert not wrong, wrong


def test_every_folder_has_a_layer() -> None:
    folders = {p.name for p in ROOT.iterdir() if p.is_dir() and any(p.rglob("*.py"))}
    assert folders == {*MAY_IMPORT, "cli"}


def test_a_crossing_is_seen() -> None:
    assert crossings("semantics", "from axon_mlir.smt import solver") == {"smt"}
    assert not crossings("smt", "import axon_mlir.semantics.terms")
