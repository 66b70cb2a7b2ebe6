# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Proofs that are found again: a folder of the user's, one file for each goal that was proved.

A goal is what two programs denote, without the names of sizes and variables; its key also holds the version of the
solver and a digest of the prover's own source, so that no proof outlives the argument that it rests on. Only proofs
are kept. A refutation replays in no time, and what was not proved may have been a matter of time.

`AXON_CACHE=off` turns it off, `AXON_CACHE=FOLDER` puts it elsewhere. The folder is trusted as the prover is; `axon
recheck` believes neither.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import logging
import os
import re
import tempfile
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import platformdirs
from xdsl.dialects.func import FuncOp
from xdsl.printer import Printer

from axon_mlir.semantics import terms as t
from axon_mlir.semantics.denotation import Denotation
from axon_mlir.semantics.functions import FUNCTIONS
from axon_mlir.semantics.index import Div, Index, Min, Size, Var, of_var
from axon_mlir.semantics.index import size as size_index
from axon_mlir.smt.encode import Query
from axon_mlir.smt.solver import version
from axon_mlir.smt.verdict import Discharged

FORMAT = 1
SWITCH = "AXON_CACHE"
_OFF = ("off", "0", "no")
_LOG = logging.getLogger(__name__)
_PER_FOLDER = 64
"""Files in each of the 256 folders; the ones that were not used for longest go."""
_ABANDONED = 3600.0
"""Seconds after which an unfinished file is what a killed process has left."""


def source_digest(folders: Sequence[Path]) -> str:
    """A digest of all Python files in folders, names included."""
    digest = hashlib.sha256()
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            digest.update(f"{path.relative_to(folder)}\n".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


_WORD = re.compile(r"[A-Za-z_]\w*")
_HERE = Path(__file__).parent
# At import, beside the modules themselves: a process that runs on while its files change must not sign for the new.
_PROVER = source_digest([_HERE, _HERE.parent / "semantics"])


# -- goals ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Goal:
    """`key`: what is to be proved, without names. `programs`: the very texts of both programs. `sizes`: the names of
    the sizes, in the order of the key's."""

    key: str
    programs: str
    sizes: tuple[str, ...]


def goal_of(before: FuncOp, after: FuncOp, left: Denotation, right: Denotation, *, solver: str | None = None) -> Goal:
    """The goal that the second denotation refines the first; `solver`: its version."""
    sizes = tuple(dict.fromkeys(_sizes_in_order((left, right))))
    names: dict[Size | Var, Index] = {s: size_index(f"${n}") for n, s in enumerate(sizes)}
    writer = _Digests(names)
    parts = [f"{FORMAT} {solver or version()} {_PROVER}"]
    for denotation in (left, right):
        parts += [writer.tensor(c) for c in denotation.inputs]
        parts.append("->")
        parts += [writer.tensor(c) for c in denotation.outputs]
        parts += sorted({writer.sequent(o.kind, o.hypotheses, o.goal) for o in denotation.obligations})
        parts.append(".")
    return Goal(_hash(*parts), _hash(_printed(before), _printed(after)), tuple(s.name for s in sizes))


def _hash(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _printed(function: FuncOp) -> str:
    stream = StringIO()
    Printer(stream=stream, print_generic_format=True).print_op(function)
    return stream.getvalue()


def _sizes_in_order(denotations: Sequence[Denotation]) -> Iterator[Size]:
    """The sizes, those of the arguments first."""
    for d in denotations:
        for c in (*d.inputs, *d.outputs):
            for n in c.shape:
                yield from _sizes_of(n)
    for d in denotations:
        rest = {s for c in d.outputs for s in t.free_symbols(c.body)}
        for o in d.obligations:
            rest |= {s for c in (*o.hypotheses, o.goal) for s in t.free_symbols(c)}
        yield from sorted((s for s in rest if isinstance(s, Size)), key=lambda s: s.name)


def _sizes_of(i: Index) -> Iterator[Size]:
    for m, _ in i.terms:
        for a in m:
            match a:
                case Size():
                    yield a
                case Div(n, d):
                    yield from _sizes_of(n)
                    yield from _sizes_of(d)
                case Min(args):
                    for x in args:
                        yield from _sizes_of(x)
                case Var():
                    pass


Names = Mapping[Size | Var, Index]


class _Digests:
    """Digests of terms that do not depend on names, nor on the order where it does not matter.

    A bound variable is called by its depth, a free one by its first occurrence, all by names that no program can
    choose. Terms share what they have in common: each node is looked at once for each way to call its variables.
    """

    def __init__(self, sizes: Names):
        self.sizes = sizes
        self._memo: dict[tuple[t.Term | t.Condition, int, tuple[Index | None, ...]], str] = {}
        self._variables: dict[t.Term | t.Condition, tuple[Var, ...]] = {}

    def tensor(self, c: t.Comprehension) -> str:
        names: Names = {**self.sizes, **{v: of_var(Var(f"$o{n}")) for n, v in enumerate(c.variables)}}
        shape = ", ".join(str(n.substitute(names)) for n in c.shape)
        return f"[{shape}] {c.dtype} {self.node(c.body, names, 0)}"

    def sequent(self, kind: str, hypotheses: Sequence[t.Condition], goal: t.Condition) -> str:
        names = dict(self.sizes)
        for c in (*hypotheses, goal):
            for v in self.variables(c):
                names.setdefault(v, of_var(Var(f"$v{len(names)}")))
        held = sorted(self.node(h, names, 0) for h in hypotheses)
        return f"{kind}: {' '.join(held)} |- {self.node(goal, names, 0)}"

    def variables(self, x: t.Term | t.Condition) -> tuple[Var, ...]:
        """The free variables of a node, older ones first."""
        found = self._variables.get(x)
        if found is None:
            ordered = sorted((s for s in t.free_symbols(x) if isinstance(s, Var)), key=lambda v: (v.uid, v.name))
            found = self._variables[x] = tuple(ordered)
        return found

    def node(self, x: t.Term | t.Condition, names: Names, depth: int) -> str:
        key = (x, depth, tuple(names.get(v) for v in self.variables(x)))
        found = self._memo.get(key)
        if found is None:
            found = self._memo[key] = _hash(*self._parts(x, names, depth))
        return found

    def _parts(self, x: t.Term | t.Condition, names: Names, depth: int) -> Iterator[str]:
        def index(i: Index) -> str:
            return str(i.substitute(names))

        def every(nodes: Sequence[t.Term | t.Condition], *, ordered: bool = True) -> list[str]:
            found = [self.node(y, names, depth) for y in nodes]
            return found if ordered else sorted(found)

        yield type(x).__name__
        match x:
            case t.Const(v):
                yield str(v)
            case t.IndexValue(i):
                yield index(i)
            case t.Read(name, indices):
                yield name
                yield from map(index, indices)
            case t.Apply(f, args):
                yield f
                yield from every(args, ordered=f not in FUNCTIONS or not FUNCTIONS[f].commutative)
            case t.Fold(monoid, v, n, body):
                yield monoid
                yield index(n)
                yield self.node(body, {**names, v: of_var(Var(f"$b{depth}"))}, depth + 1)
            case t.Select(c, a, b):
                yield from every((c, a, b))
            case t.IndexCompare(relation, a, b):
                yield from (relation, index(a), index(b))
            case t.RealCompare(relation, a, b):
                yield relation
                yield from every((a, b))
            case t.And(parts) | t.Or(parts):
                yield from every(parts, ordered=False)
            case t.Not(part):
                yield from every((part,))


# -- what is kept -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Remembered:
    """A proof as it is kept. `programs` and `sizes`: those of the goal that it was found for; `filtered`: whether a
    counterexample was looked for."""

    programs: str
    sizes: tuple[str, ...]
    filtered: bool
    lemmas: tuple[str, ...]
    tiles: tuple[str, ...]
    queries: tuple[tuple[Query, str], ...]
    discharged: tuple[Discharged, ...]

    def tiles_of(self, goal: Goal) -> tuple[str, ...]:
        """The instances of the tile lemma in the names of a goal."""
        names = dict(zip(self.sizes, goal.sizes, strict=True))
        return tuple(_WORD.sub(lambda w: names.get(w[0], w[0]), text) for text in self.tiles)

    def to_json(self) -> dict[str, Any]:
        """The form on disk."""
        return asdict(self)

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Remembered:
        """Read the form on disk; KeyError, TypeError or ValueError where it is another."""

        def query(q: Mapping[str, Any]) -> Query:
            given = tuple(q["hypotheses"])
            return Query(q["kind"], given, q["goal"], q["text"], q["exact"], q["premises"])

        return Remembered(
            data["programs"],
            tuple(data["sizes"]),
            bool(data["filtered"]),
            tuple(data["lemmas"]),
            tuple(data["tiles"]),
            tuple((query(q), where) for q, where in data["queries"]),
            tuple(Discharged(**d) for d in data["discharged"]),
        )


class VerdictCache:
    """A folder of proofs. Many processes may use it, and each may end at any time: a file appears whole or not."""

    def __init__(self, folder: Path):
        self.folder = folder

    def path(self, key: str) -> Path:
        """The file of a goal."""
        return self.folder / key[:2] / f"{key}.json.gz"

    def recall(self, goal: Goal, *, whole: bool) -> Remembered | None:
        """The proof of a goal. `whole`: of these very programs, so that its queries are theirs, too."""
        path = self.path(goal.key)
        try:
            data = json.loads(gzip.decompress(path.read_bytes()))
            if data["digest"] != _hash(goal.key, json.dumps(data["proof"], sort_keys=True)):
                raise ValueError("the digest is another")
            found = Remembered.from_json(data["proof"])
        except FileNotFoundError:
            return None
        except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError) as error:
            _LOG.warning("%s: a kept proof that cannot be read is made anew (%s)", path, error)
            return None
        if whole and found.programs != goal.programs:
            return None
        try:
            os.utime(path)
        except OSError as error:
            _LOG.debug("%s: %s", path, error)
        return found

    def keep(self, goal: Goal, proof: Remembered) -> None:
        """Keep a proof; where that is not possible the next run proves again."""
        path = self.path(goal.key)
        data = proof.to_json()
        # Through JSON once: what is signed is what will be read.
        data = json.loads(json.dumps(data))
        digest = _hash(goal.key, json.dumps(data, sort_keys=True))
        packed = gzip.compress(json.dumps({"digest": digest, "proof": data}).encode(), compresslevel=3, mtime=0)
        unfinished: str | None = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, unfinished = tempfile.mkstemp(prefix=".", suffix=".part", dir=path.parent)
            with os.fdopen(handle, "wb") as file:
                file.write(packed)
            os.replace(unfinished, path)
            unfinished = None
            self._thin_out(path.parent)
        except OSError as error:
            _LOG.warning("%s: a proof cannot be kept (%s)", path.parent, error.strerror or error)
        finally:
            if unfinished is not None:
                Path(unfinished).unlink(missing_ok=True)

    def _thin_out(self, folder: Path) -> None:
        """Remove what killed processes have left, and the oldest proofs where there are too many."""
        kept: list[tuple[float, Path]] = []
        for path in folder.iterdir():
            try:
                used = path.stat().st_mtime
            except FileNotFoundError:  # another process removes, too
                continue
            if path.suffix != ".part":
                kept.append((used, path))
            elif time.time() - used > _ABANDONED:
                path.unlink(missing_ok=True)
        for _, path in sorted(kept)[: max(0, len(kept) - _PER_FOLDER)]:
            path.unlink(missing_ok=True)


def users_cache() -> VerdictCache | None:
    """The cache that this process uses; None where it is turned off."""
    chosen = os.environ.get(SWITCH, "")
    if chosen.lower() in _OFF:
        return None
    return VerdictCache(Path(chosen) if chosen else platformdirs.user_cache_path("axon_mlir") / "proofs")
