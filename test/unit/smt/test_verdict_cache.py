# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A proof is found again for the same goal under any names, for no other goal, and never half of it."""

from __future__ import annotations

import gzip
import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from audit import AUDIT
from xdsl.dialects.func import FuncOp

from axon_mlir.checker.recheck import recheck
from axon_mlir.cli import axon
from axon_mlir.cli.recheck import load
from axon_mlir.frontend.numpy_trace import trace
from axon_mlir.smt import equivalence, verdict_cache
from axon_mlir.smt.certificate import write_certificate
from axon_mlir.smt.equivalence import Proof, denote_pair, prove_functions
from axon_mlir.smt.verdict import Verdict
from axon_mlir.smt.verdict_cache import Goal, Remembered, VerdictCache, goal_of, source_digest, users_cache
from benchmarks.prove import goals, near_misses, traced

ROOT = Path(__file__).parents[3]


def function(program: Callable[..., Any], *specs: str) -> FuncOp:
    return next(op for op in trace(program, list(specs)).walk() if isinstance(op, FuncOp))


def rows(x: Any, w: Any) -> Any:
    return (x / np.sqrt((x * x).sum(axis=1, keepdims=True) + 1)) @ w


def columns(x: Any, w: Any) -> Any:
    return (x @ w) / np.sqrt((x * x).sum(axis=1, keepdims=True) + 1)


def pair(*sizes: str) -> tuple[FuncOp, FuncOp]:
    m, k, n = sizes
    specs = (f"f32[{m},{k}]", f"f32[{k},{n}]")
    return function(rows, *specs), function(columns, *specs)


def goal(before: FuncOp, after: FuncOp, solver: str | None = None) -> Goal:
    return goal_of(before, after, *denote_pair(before, after)[1:], solver=solver)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> VerdictCache:
    monkeypatch.setenv(verdict_cache.SWITCH, str(tmp_path / "cache"))
    found = users_cache()
    assert found is not None
    return found


def files(cache: VerdictCache) -> list[Path]:
    return sorted(p for p in cache.folder.rglob("*") if p.is_file())


# -- keys -------------------------------------------------------------------------------------------------------------


def test_names_do_not_matter() -> None:
    keys = [goal(*pair(*names)) for names in ("MKN", "ABC", "KMN", ("x0", "x1", "w1"), "NKM")]
    assert len({g.key for g in keys}) == 1
    assert len({g.programs for g in keys}) == 5
    assert keys[2].sizes == ("K", "M", "N")


def test_order_does_not_matter_where_it_means_nothing() -> None:
    def other(x: Any, w: Any) -> Any:
        return (x @ w) / np.sqrt(1 + (x * x).sum(axis=1, keepdims=True))

    specs = ("f32[M,K]", "f32[K,N]")
    assert goal(*pair(*"MKN")).key == goal(function(rows, *specs), function(other, *specs)).key


DIFFERENT: dict[str, Callable[..., Any]] = {
    "a constant": lambda x, w: (x @ w) / np.sqrt((x * x).sum(axis=1, keepdims=True) + 2),
    "a monoid": lambda x, w: (x @ w) / np.sqrt((x * x).max(axis=1, keepdims=True) + 1),
    "an axis": lambda x, w: (x @ w) / np.sqrt((x * x).sum() + 1),
    "operands": lambda x, w: np.sqrt((x * x).sum(axis=1, keepdims=True) + 1) / (x @ w),
    "a function": lambda x, w: (x @ w) / np.exp((x * x).sum(axis=1, keepdims=True) + 1),
    "a shift": lambda x, w: (x @ w) - np.sqrt((x * x).sum(axis=1, keepdims=True) + 1),
}


@pytest.mark.parametrize("program", DIFFERENT.values(), ids=DIFFERENT)
def test_other_programs_are_other_goals(program: Callable[..., Any]) -> None:
    specs = ("f32[M,K]", "f32[K,N]")
    assert goal(*pair(*"MKN")).key != goal(function(rows, *specs), function(program, *specs)).key


def test_other_shapes_and_directions_are_other_goals() -> None:
    before, after = pair(*"MKN")
    found = [goal(before, after), goal(after, before), goal(*pair(*"MMN")), goal(*pair(*"MM1")), goal(*pair(*"M1N"))]
    half = [function(p, "bf16[M,K]", "bf16[K,N]") for p in (rows, columns)]
    assert len({g.key for g in (*found, goal(half[0], half[1]))}) == 6


def test_the_goals_of_the_benchmarks_are_all_different() -> None:
    """A key that said too little would be the key of two of them; near misses are what it must tell apart."""
    keys: dict[str, str] = {}
    for name, before, after, of in [*goals(), *near_misses()][:: 1 if AUDIT else 4]:
        first, second = traced(before, of), traced(after, of)
        key = goal(first, second).key
        other = keys.setdefault(key, name)
        assert other == name or prove_functions(first, second).verdict == "proved", (name, other)
    assert len(keys) > (60 if AUDIT else 12)


def test_the_solver_and_the_prover_are_part_of_the_key(tmp_path: Path) -> None:
    before, after = pair(*"MKN")
    assert goal(before, after, "z3 4.13").key != goal(before, after, "z3 4.14").key
    digests: list[str] = []
    for text in ('LEMMAS = {"a": 1}', 'LEMMAS = {"a": 2}'):
        (tmp_path / "normal.py").write_text(text, encoding="utf-8")
        digests.append(source_digest([tmp_path]))
    (tmp_path / "normal.py").rename(tmp_path / "abnormal.py")
    digests.append(source_digest([tmp_path]))
    assert len(set(digests)) == 3


def test_every_file_of_the_prover_is_in_the_digest(tmp_path: Path) -> None:
    package = Path(verdict_cache.__file__).parents[1]
    for part in ("smt", "semantics"):
        shutil.copytree(package / part, tmp_path / part, ignore=shutil.ignore_patterns("__pycache__"))
    folders = [tmp_path / "smt", tmp_path / "semantics"]
    seen = {source_digest(folders)}
    for name in ("smt/lemmas.py", "smt/reals.py", "semantics/normal.py", "semantics/functions.py"):
        path = tmp_path / name
        path.write_text(path.read_text(encoding="utf-8") + "\n# changed\n", encoding="utf-8")
        seen.add(source_digest(folders))
    assert len(seen) == 5


# -- hits and misses --------------------------------------------------------------------------------------------------


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was done: `pair` for a proof, `filter` for a search for counterexamples."""
    done: list[str] = []
    for name, word in (("prove_pair", "pair"), ("refute", "filter")):
        real = getattr(equivalence, name)

        def wrapped(*args: Any, real: Any = real, word: str = word, **options: Any) -> Any:
            done.append(word)
            return real(*args, **options)

        monkeypatch.setattr(equivalence, name, wrapped)
    return done


def same(a: Verdict, b: Verdict) -> bool:
    return replace(a, seconds=0.0, cached=False) == replace(b, seconds=0.0, cached=False)


def test_a_proof_is_found_again(cache: VerdictCache, counted: list[str]) -> None:
    first = prove_functions(*pair(*"MKN"))
    assert (first.verdict, first.cached, counted) == ("proved", False, ["filter", "pair"])
    again = prove_functions(*pair(*"MKN"))
    assert (again.verdict, again.cached, counted) == ("proved", True, ["filter", "pair"])
    assert same(first, again)
    assert len(files(cache)) == 1


def test_a_proof_is_found_again_under_other_names(cache: VerdictCache, counted: list[str]) -> None:
    prove_functions(*pair(*"MKN"))
    renamed = prove_functions(*pair(*"KNM"))
    assert (renamed.verdict, renamed.cached, len(counted)) == ("proved", True, 2)


def test_tiles_are_said_in_the_goal_s_own_names() -> None:
    kept = Remembered("", ("M", "K"), True, (), ("n = K, s = 4*M + K1",), (), ())
    assert kept.tiles_of(Goal("", "", ("K", "M"))) == ("n = M, s = 4*K + K1",)


def test_another_goal_is_not_found(cache: VerdictCache, counted: list[str]) -> None:
    prove_functions(*pair(*"MKN"))
    specs = ("f32[M,K]", "f32[K,N]")
    for program in DIFFERENT.values():
        verdict = prove_functions(function(rows, *specs), function(program, *specs), use_filter=False)
        assert (verdict.verdict, verdict.cached) == ("unknown", False)
    assert len(files(cache)) == 1


def test_another_solver_proves_again(cache: VerdictCache, counted: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    prove_functions(*pair(*"MKN"))
    monkeypatch.setattr(verdict_cache, "version", lambda: "z3 0.0")
    assert not prove_functions(*pair(*"MKN")).cached
    assert counted == ["filter", "pair"] * 2


def test_only_proofs_are_kept(cache: VerdictCache) -> None:
    before, after = pair(*"MKN")
    assert prove_functions(before, after, timeout=0.0).reason == "timeout"
    wrong = function(DIFFERENT["a constant"], "f32[M,K]", "f32[K,N]")
    assert prove_functions(before, wrong).verdict == "refuted"
    assert prove_functions(before, wrong, use_filter=False).verdict == "unknown"
    assert files(cache) == []
    assert prove_functions(before, after).verdict == "proved"


def test_a_proof_that_no_evaluation_has_tried_to_refute_spares_none(cache: VerdictCache, counted: list[str]) -> None:
    prove_functions(*pair(*"MKN"), use_filter=False)
    assert prove_functions(*pair(*"MKN")).cached
    assert counted == ["pair", "filter"]


def test_the_ledger_is_compared_all_the_same(cache: VerdictCache, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two programs that denote the same over the reals may round differently."""
    wide = function(lambda x: x + 1, "bf16[M,N]")
    assert prove_functions(wide, wide, check_ledger=True).verdict == "proved"

    def twice(x: Any) -> Any:
        return (x + 1).astype(x.dtype)

    rounded = function(twice, "bf16[M,N]")
    kept = [prove_functions(wide, other, check_ledger=True).verdict for other in (wide, rounded)]
    monkeypatch.setenv(verdict_cache.SWITCH, "off")
    assert kept == [prove_functions(wide, other, check_ledger=True).verdict for other in (wide, rounded)]


@pytest.mark.parametrize("word", ["off", "0", "OFF"])
def test_it_can_be_turned_off(word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(verdict_cache.SWITCH, word)
    assert users_cache() is None
    assert not prove_functions(*pair(*"MKN")).cached


def test_it_is_the_user_s(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(verdict_cache.SWITCH)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    found = users_cache()
    assert found is not None and "axon_mlir" in str(found.folder)
    if sys.platform == "linux":
        assert found.folder.is_relative_to(tmp_path)


def test_the_command_says_so(cache: VerdictCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.py").write_text(
        "import numpy as np\n\ndef f(x):\n    return x * 2\n\ndef g(x):\n    return x + x\n", encoding="utf-8"
    )
    said: list[bool] = []
    for sizes in ("M,N", "A,B"):
        out = StringIO()
        argv = ["prove", "p.py:f", "p.py:g", "--arg", f"f32[{sizes}]", "--json", "-"]
        assert axon.main(argv, stdin=StringIO(), stdout=out, stderr=StringIO()) == 0
        said.append(json.loads(out.getvalue())["cached"])
    assert said == [False, True]


# -- certificates -----------------------------------------------------------------------------------------------------


def certificate(before: FuncOp, after: FuncOp, folder: Path) -> tuple[dict[str, bytes], Verdict]:
    proof = Proof()
    verdict = prove_functions(before, after, proof=proof)
    write_certificate(folder, before, after, verdict, proof)
    assert recheck(folder, load).ok
    return {p.name: p.read_bytes() for p in folder.iterdir()}, verdict


def test_certificates_are_whole(cache: VerdictCache, tmp_path: Path, counted: list[str]) -> None:
    """What is found again has every obligation, to the letter; names are the program's own."""
    first, one = certificate(*pair(*"MKN"), tmp_path / "1")
    second, two = certificate(*pair(*"MKN"), tmp_path / "2")
    assert (one.cached, two.cached, counted.count("pair")) == (False, True, 1)
    assert first == second
    renamed, three = certificate(*pair(*"ABC"), tmp_path / "3")
    assert not three.cached
    assert set(renamed) != set(first)
    # One of the two is kept, and either is as good for a verdict.
    assert prove_functions(*pair(*"MKN")).cached


# -- damage -----------------------------------------------------------------------------------------------------------


def _signed(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    data = json.loads(gzip.decompress(path.read_bytes()))
    change(data)
    path.write_bytes(gzip.compress(json.dumps(data).encode()))


DAMAGE: dict[str, Callable[[Path], object]] = {
    "empty": lambda p: p.write_bytes(b""),
    "cut": lambda p: p.write_bytes(p.read_bytes()[:-20]),
    "noise": lambda p: p.write_bytes(os.urandom(200)),
    "one bit": lambda p: p.write_bytes(p.read_bytes()[:40] + bytes([p.read_bytes()[40] ^ 4]) + p.read_bytes()[41:]),
    "another text": lambda p: p.write_bytes(gzip.compress(b"[1, 2")),
    "another form": lambda p: p.write_bytes(gzip.compress(b"[1, 2]")),
    "edited": lambda p: _signed(p, lambda d: d["proof"].update(lemmas=["invented"])),
    "unsigned": lambda p: _signed(p, lambda d: d.pop("digest")),
    "a folder": lambda p: (p.unlink(), p.mkdir()),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_what_is_damaged_is_made_anew(
    damage: Callable[[Path], object], cache: VerdictCache, caplog: pytest.LogCaptureFixture
) -> None:
    prove_functions(*pair(*"MKN"))
    (path,) = files(cache)
    damage(path)
    with caplog.at_level(logging.WARNING, "axon_mlir"):
        verdict = prove_functions(*pair(*"MKN"))
    assert (verdict.verdict, verdict.cached) == ("proved", False)
    assert "made anew" in caplog.text and str(path) in caplog.text
    if path.is_file():
        assert prove_functions(*pair(*"MKN")).cached


def test_the_proof_of_another_goal_is_no_proof(cache: VerdictCache, caplog: pytest.LogCaptureFixture) -> None:
    prove_functions(*pair(*"MKN"))
    (path,) = files(cache)
    before = function(rows, "f32[M,K]", "f32[K,N]")
    wrong = function(DIFFERENT["a constant"], "f32[M,K]", "f32[K,N]")
    other = cache.path(goal(before, wrong).key)
    other.parent.mkdir(parents=True)
    other.write_bytes(path.read_bytes())
    assert prove_functions(before, wrong, use_filter=False).verdict == "unknown"
    assert "the digest is another" in caplog.text


def test_a_place_that_cannot_be_written_is_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("no folder", encoding="utf-8")
    monkeypatch.setenv(verdict_cache.SWITCH, str(tmp_path / "file"))
    assert prove_functions(*pair(*"MKN")).verdict == "proved"
    assert "cannot be kept" in caplog.text


def test_it_does_not_grow_without_end(cache: VerdictCache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdict_cache, "_PER_FOLDER", 4)
    kept = Remembered("p", (), True, (), (), (), ())
    keys = [f"ab{n}" for n in range(9)]
    left = cache.folder / "ab"
    left.mkdir(parents=True)
    for name, age in ((".new.part", 0), (".old.part", 10_000)):
        (left / name).touch()
        os.utime(left / name, (time.time() - age,) * 2)
    for n, key in enumerate(keys):
        cache.keep(Goal(key, "p", ()), kept)
        os.utime(cache.path(key), (1000.0 + n,) * 2)
    cache.keep(Goal("abz", "p", ()), kept)
    assert [p.name for p in files(cache)] == [".new.part", *(f"ab{n}.json.gz" for n in (6, 7, 8)), "abz.json.gz"]


_WRITER = """
import sys
from pathlib import Path
from axon_mlir.smt.verdict_cache import Goal, Remembered, VerdictCache
from axon_mlir.smt.verdict import Discharged
cache = VerdictCache(Path(sys.argv[1]))
goal = Goal("cd" * 32, "p", ("M",))
done = tuple(Discharged("kind", "where", "x" * 4000, "proved") for _ in range(40))
print("ready", flush=True)
while True:
    found = cache.recall(goal, whole=True)
    assert found is None or found.discharged == done, found
    cache.keep(goal, Remembered("p", ("M",), True, ("scale",), (), (), done))
"""


def test_many_processes_and_kill_9(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Writers that end in the middle of a file, again and again: a reader sees all of a proof, or none."""
    folder = tmp_path / "cache"
    reader = VerdictCache(folder)
    goal = Goal("cd" * 32, "p", ("M",))
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    seen = 0
    for round_ in range(3):
        writers = [
            subprocess.Popen(
                [sys.executable, "-c", _WRITER, str(folder)],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
            )
            for _ in range(2)
        ]
        try:
            for w in writers:
                assert w.stdout is not None and w.stdout.readline() == b"ready\n"
            until = time.monotonic() + 0.4
            while time.monotonic() < until:
                found = reader.recall(goal, whole=True)
                assert found is None or len(found.discharged) == 40
                seen += found is not None
            assert all(w.poll() is None for w in writers), "a writer has failed"
        finally:
            for w in writers:
                w.send_signal(signal.SIGKILL)
                w.communicate()
        assert reader.recall(goal, whole=True) is not None or round_ == 0
    assert seen and caplog.text == ""


def test_entries_are_the_same_bytes(cache: VerdictCache) -> None:
    """Nothing of a run is in them: which of two processes comes last makes no difference."""
    written: list[bytes] = []
    for _ in range(2):
        prove_functions(*pair(*"MKN"))
        (path,) = files(cache)
        written.append(path.read_bytes())
        path.unlink()
    assert all(a == b for a, b in pairwise(written))
