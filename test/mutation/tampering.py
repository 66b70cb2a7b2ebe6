# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ways to tamper with a certificate.

Each edits a folder; afterwards everything that can be made consistent again (names by content, hashes, the list of
files) is, unless the tampering is just that.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

MANIFEST, BEFORE, AFTER = "manifest.json", "a.mlir", "b.mlir"


class NotApplicable(Exception):
    """There is nothing in this certificate to do it to."""


@dataclass
class Folder:
    """A certificate to tamper with; `other` is one of another pair."""

    path: Path
    other: Path
    random: Random

    @property
    def manifest(self) -> dict[str, Any]:
        return json.loads((self.path / MANIFEST).read_text())

    def write(self, manifest: dict[str, Any]) -> None:
        (self.path / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n")

    def set(self, key: str, value: Any) -> None:
        self.write({**self.manifest, key: value})

    def obligations(self, pattern: str = "") -> list[Path]:
        found = [p for p in sorted(self.path.glob("*.smt2")) if re.search(pattern, p.read_text(), re.M)]
        if not found:
            raise NotApplicable(pattern)
        return found

    def any(self, pattern: str = "", lemmas: bool = False) -> Path:
        paths = [p for p in self.obligations(pattern) if p.name.startswith("lemma-") == lemmas]
        if not paths:
            raise NotApplicable(pattern)
        return self.random.choice(paths)

    def edit(self, path: Path, old: str, new: str) -> None:
        """Change an obligation, with its name, its comments and its entry in the manifest."""
        text = re.sub(old, new, path.read_text(), count=1, flags=re.M)
        assert text != path.read_text()
        path.unlink()
        name = f"{path.name.rsplit('.', 2)[0]}.{_digest(text)[:16]}.smt2"
        (self.path / name).write_text(text)
        manifest = self.manifest
        for entry in manifest["obligations"]:
            if entry["file"] == path.name:
                entry["file"] = name
                (entry["goal"],) = re.findall("^; goal (.*)$", text, re.M)
                entry["hypotheses"] = re.findall("^; given (.*)$", text, re.M)
        self.write(manifest)

    def program(self, name: str, edits: list[tuple[str, str]]) -> None:
        text = (self.path / name).read_text()
        applicable = [(old, new) for old, new in edits if old in text]
        if not applicable:
            raise NotApplicable(name)
        old, new = self.random.choice(applicable)
        (self.path / name).write_text(text.replace(old, new, 1))

    def seal(self) -> None:
        """Make hashes and the order of the list consistent."""
        manifest = self.manifest
        manifest["programs"] = {p: _digest((self.path / p).read_text()) for p in (BEFORE, AFTER)}
        manifest["obligations"] = sorted(manifest["obligations"], key=lambda entry: entry["file"])
        manifest.pop("digest", None)
        self.write({**manifest, "digest": _digest(json.dumps(manifest, sort_keys=True))})


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def removed(f: Folder) -> None:
    f.any().unlink()


def removed_and_unlisted(f: Folder) -> None:
    path = f.any()
    path.unlink()
    f.set("obligations", [o for o in f.manifest["obligations"] if o["file"] != path.name])


def all_of_a_kind_removed(f: Folder) -> None:
    kind = f.any().name.rsplit(".", 2)[0]
    gone = {p.name for p in f.obligations() if p.name.startswith(f"{kind}.")}
    for name in gone:
        (f.path / name).unlink()
    f.set("obligations", [o for o in f.manifest["obligations"] if o["file"] not in gone])


def goal_true(f: Folder) -> None:
    f.edit(f.any(r"^\(assert \(not "), r"^\(assert \(not .*\)\)$", "(assert (not true))")


def goal_weaker(f: Folder) -> None:
    f.edit(f.any(r"\(assert \(not \((<|<=|=|and|>=) "), r"\(assert \(not (.*)\)\)$", r"(assert (not (or true \1)))")


def false_assumed(f: Folder) -> None:
    f.edit(f.any(), r"^\(assert \(not ", "(assert false)\n(assert (not ")


def goal_assumed(f: Folder) -> None:
    f.edit(f.any(r"\(assert \(not "), r"^\(assert \(not (.*)\)\)$", r"(assert \1)\n(assert (not \1))")


def harmless_hypothesis(f: Folder) -> None:
    f.edit(f.any(), r"^\(assert \(not ", "(assert (= 1 1))\n(assert (not ")


def contradictory(f: Folder) -> None:
    path = f.any(r"^\(declare-const \S+ (Int|Real)\)")
    f.edit(path, r"^\(declare-const (\S+) (\w+)\)$", r"(declare-const \1 \2)\n(assert (> \1 \1))")


def hypothesis_strengthened(f: Folder) -> None:
    f.edit(f.any(r"^\(assert \(>= \S+ [01]"), r"^\(assert \(>= (\S+) ([01].*)\)\)$", r"(assert (= \1 \2))")


def constant_changed(f: Folder) -> None:
    f.edit(f.any(r"\(assert .* 1(\.0)?[ )]"), r"^(\(assert .* )1((\.0)?[ )])", r"\g<1>2\2")


def solver_told_to_stop(f: Folder) -> None:
    f.edit(f.any(), r"\(check-sat\)", '(echo "unsat")\n(exit)\n(check-sat)')


def logic_set(f: Folder) -> None:
    path = f.any()
    f.edit(path, r"\A", "(set-logic QF_UF)\n")


def comment_edited(f: Folder) -> None:
    f.edit(f.any(), r"^; goal .*$", "; goal true")


def lemma_instance_weakened(f: Folder) -> None:
    f.edit(f.any(lemmas=True), r"\(assert \(not .*\)\)$", "(assert (not true))")


def lemma_hypothesis_added(f: Folder) -> None:
    f.edit(f.any(lemmas=True), r"^\(assert \(not (.*)\)\)$", r"(assert \1)\n(assert (not \1))")


def lemma_removed(f: Folder) -> None:
    name = f.random.choice(f.manifest["lemmas"])
    for path in f.path.glob(f"lemma-{name}--*.smt2"):
        path.unlink()
    manifest = f.manifest
    manifest["lemmas"].remove(name)
    manifest["obligations"] = [o for o in manifest["obligations"] if not o["kind"].startswith(f"lemma {name}:")]
    f.write(manifest)


def lemma_claimed(f: Folder) -> None:
    f.set("lemmas", sorted([*f.manifest["lemmas"], "max-scale" if "max-scale" not in f.manifest["lemmas"] else "x"]))


def lemma_invented(f: Folder) -> None:
    f.set("lemmas", [*f.manifest["lemmas"], "everything is zero"])


def tile_instance_edited(f: Folder) -> None:
    tiles = f.manifest["tiles"]
    f.set("tiles", [t.replace("s = ", "s = 2 * ") for t in tiles] if tiles else ["n = M, s = 2"])


def programs_swapped(f: Folder) -> None:
    texts = [(f.path / p).read_text() for p in (BEFORE, AFTER)]
    (f.path / BEFORE).write_text(texts[1])
    (f.path / AFTER).write_text(texts[0])
    raise Unsealed


def program_of_another_pair(f: Folder) -> None:
    name = f.random.choice((BEFORE, AFTER))
    (f.path / name).write_text((f.other / name).read_text())


EDITS = [
    ("tensor_hl.add ", "tensor_hl.sub "),
    ("tensor_hl.mul ", "tensor_hl.add "),
    ("tensor_hl.exp ", "tensor_hl.tanh "),
    ("1.0e-05", "2.0e-05"),
    ("lhs [1] rhs [0]", "lhs [0] rhs [1]"),
    ("mul(x0[", "add(x0["),
    ("add(x0[", "mul(x0["),
    ("fn = square", "fn = abs"),
    ("fn = mul", "fn = max"),
    ("fn = add", "fn = max"),
    ('tile.index "0"', 'tile.index "1"'),
    ('tile.index "128"', 'tile.index "64"'),
]
"""What changes the meaning of a program, or makes it none."""


def program_edited(f: Folder) -> None:
    f.program(AFTER, EDITS)


def first_program_edited(f: Folder) -> None:
    f.program(BEFORE, EDITS)


def element_type_narrowed(f: Folder) -> None:
    text = (f.path / AFTER).read_text()
    if "xf32" not in text:
        raise NotApplicable
    (f.path / AFTER).write_text(text.replace("xf32", "xbf16"))


def program_cut(f: Folder) -> None:
    text = (f.path / AFTER).read_text()
    (f.path / AFTER).write_text(text[: len(text) // 2])


def renamed(f: Folder) -> None:
    path = f.any()
    name = f"{path.name.rsplit('.', 2)[0]}.0123456789abcdef.smt2"
    path.rename(f.path / name)
    obligations = f.manifest["obligations"]
    f.set("obligations", [{**o, "file": name} if o["file"] == path.name else o for o in obligations])


def contents_exchanged(f: Folder) -> None:
    first, second = f.random.sample(f.obligations(), 2)
    texts = first.read_text(), second.read_text()
    first.write_text(texts[1])
    second.write_text(texts[0])


def extra_obligation(f: Folder) -> None:
    (f.path / "extra.0123456789abcdef.smt2").write_text("(assert false)\n(check-sat)\n")


def extra_file(f: Folder) -> None:
    (f.path / "notes.txt").write_text("believe me")


def obligation_of_another_pair(f: Folder) -> None:
    here = {p.name for p in f.obligations()}
    strange = [p for p in sorted(f.other.glob("*.smt2")) if p.name not in here]
    if not strange:
        raise NotApplicable
    path = f.random.choice(strange)
    (f.path / path.name).write_text(path.read_text())
    entry = next(o for o in json.loads((f.other / MANIFEST).read_text())["obligations"] if o["file"] == path.name)
    f.set("obligations", [*f.manifest["obligations"], entry])


def listed_twice(f: Folder) -> None:
    f.set("obligations", [*f.manifest["obligations"], f.manifest["obligations"][0]])


def verdict_edited(f: Folder) -> None:
    f.set("verdict", f.random.choice(["refuted", "proved for all floats", None]))


def readable_goal_edited(f: Folder) -> None:
    manifest = f.manifest
    f.random.choice(manifest["obligations"])["goal"] = "0 <= 1"
    f.write(manifest)


def version_edited(f: Folder) -> None:
    f.set("format", f.random.choice([1, 2, "3"]))


def program_hash_edited(f: Folder) -> None:
    f.set("programs", {**f.manifest["programs"], AFTER: "0" * 64})
    raise Unsealed


def digest_edited(f: Folder) -> None:
    f.set("digest", "0" * 64)
    raise Unsealed


def key_added(f: Folder) -> None:
    f.set("trusted", True)


def ledger_entry_edited(f: Folder) -> None:
    ledger = f.manifest["ledger"]
    if ledger is None:
        entry = {"roundings": {}, "accumulator_bits": 53}
        f.set("ledger", {"before": [entry], "after": [entry]})
        return
    entry = ledger[f.random.choice(("before", "after"))][0]
    entry["roundings"] = {**entry["roundings"], "bf16": entry["roundings"].get("bf16", 0) + 1}
    f.set("ledger", ledger)


def accumulator_edited(f: Folder) -> None:
    ledger = f.manifest["ledger"]
    if ledger is None:
        raise NotApplicable
    ledger["after"][0]["accumulator_bits"] = 53
    f.set("ledger", ledger)


def ledger_dropped(f: Folder) -> None:
    if f.manifest["ledger"] is None:
        raise NotApplicable
    f.set("ledger", None)


def size_renamed(f: Folder) -> None:
    sizes = f.manifest["sizes"]
    sizes["after"][next(iter(sizes["after"]))] = "another"
    f.set("sizes", sizes)


def size_forgotten(f: Folder) -> None:
    sizes = f.manifest["sizes"]
    name = next(iter(sizes["after"]))
    sizes["after"] = {k: v for k, v in sizes["after"].items() if k != name} | {name: f"{name} + 1"}
    f.set("sizes", sizes)


def size_fixed(f: Folder) -> None:
    sizes = f.manifest["sizes"]
    name = next(iter(sizes["after"].values()))
    fixed = f.random.choice(["1", "0", "-1"])
    sizes["before"] = {name: fixed}
    sizes["after"] = {k: fixed if v == name else v for k, v in sizes["after"].items()}
    f.set("sizes", sizes)


def narrowing_hidden(f: Folder) -> None:
    size_fixed(f)
    f.set("narrowed", [])


class Unsealed(Exception):
    """Leave it as it is."""


def constant_meant_otherwise(f: Folder) -> None:
    """A constant of a program is taken for another number, far from it or near."""
    constants = f.manifest["constants"]
    side = constants[f.random.choice(["before", "after"])]
    if side:
        constant = f.random.choice(sorted(side))
        side[constant] = f.random.choice(["2", "1/3", f"{constant}1"])
    else:
        side[f.random.choice(["1/2", "7"])] = "3"
    f.set("constants", constants)


def constants_forgotten(f: Folder) -> None:
    if not any(f.manifest["constants"].values()):
        raise NotApplicable
    f.set("constants", {"before": {}, "after": {}})


MISSING = "missing|foreign|unwritten|infinity"
"""What the reason is called where an obligation is not there: what it decides, or it, is named."""

REASONS: dict[Callable[[Folder], None], str] = {
    removed: MISSING,
    goal_true: MISSING,
    contradictory: MISSING,
    programs_swapped: "constants|programs|missing|foreign|unwritten|infinity",
    program_edited: "constants|programs|missing|foreign|unwritten|infinity|sizes|unwritten|ledger",
    ledger_entry_edited: "ledger",
    renamed: MISSING,
    lemma_instance_weakened: MISSING,
    verdict_edited: "verdict",
    version_edited: "format",
    extra_file: "foreign",
    size_fixed: "sizes|missing|foreign|unwritten|infinity|programs",
    false_assumed: MISSING,
    removed_and_unlisted: MISSING,
    constant_changed: MISSING,
    program_of_another_pair: "constants|programs|missing|foreign|unwritten|infinity|sizes|unwritten|ledger",
    ledger_dropped: "ledger",
    tile_instance_edited: "tiles",
    digest_edited: "digest",
    obligation_of_another_pair: "foreign|obligations",
    all_of_a_kind_removed: MISSING,
    goal_weaker: MISSING,
    goal_assumed: MISSING,
    harmless_hypothesis: MISSING,
    hypothesis_strengthened: MISSING,
    solver_told_to_stop: MISSING,
    logic_set: MISSING,
    comment_edited: MISSING,
    lemma_hypothesis_added: MISSING,
    lemma_removed: "missing|lemmas",
    lemma_claimed: "lemmas",
    lemma_invented: "lemmas",
    first_program_edited: "constants|programs|missing|foreign|unwritten|infinity|sizes|unwritten|ledger",
    element_type_narrowed: "constants|programs|ledger|missing|foreign|unwritten|infinity",
    program_cut: "programs",
    contents_exchanged: "edited|missing|foreign|unwritten|infinity",
    extra_obligation: "foreign",
    listed_twice: "obligations",
    readable_goal_edited: "obligations",
    program_hash_edited: "programs",
    key_added: "trusted",
    accumulator_edited: "ledger",
    size_renamed: "sizes",
    size_forgotten: "sizes",
    constant_meant_otherwise: "constants|missing|foreign",
    constants_forgotten: "missing|foreign",
    narrowing_hidden: "sizes|narrowed|missing|foreign|unwritten|infinity|programs",
}
"""Tampering -> what the reason may be named."""


def apply(tampering: Callable[[Folder], None], folder: Folder) -> None:
    """Tamper, and cover the traces."""
    try:
        tampering(folder)
    except Unsealed:
        return
    folder.seal()
