# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`axon-opt` in-process: what the lit tests cannot see (exit codes, the prover's verdicts, reproducers)."""

from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import pytest
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from axon_mlir.cli import opt
from axon_mlir.host import registry

MODULE = "func.func @f(%a: i32) -> i32 {\n  %b = arith.addi %a, %a : i32\n  func.return %b : i32\n}\n"


def run(*argv: str, stdin: str = MODULE) -> tuple[int, str, str]:
    out, err = StringIO(), StringIO()
    code = opt.main(argv, stdin=StringIO(stdin), stdout=out, stderr=err)
    return code, out.getvalue(), err.getvalue()


@dataclass(frozen=True)
class Crash(ModulePass):
    name = "crash"

    def apply(self, ctx, op):
        raise IndexError("off by one")


@dataclass(frozen=True)
class Refuse(ModulePass):
    name = "refuse"

    def apply(self, ctx, op):
        raise PassFailedException("cannot do this")


@dataclass(frozen=True)
class Break(ModulePass):
    name = "break"

    def apply(self, ctx, op):
        function = op.body.block.first_op
        function.body.block.last_op.detach()


@pytest.fixture(autouse=True)
def sample_passes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.chdir(tmp_path)
    table = {cls.name: f"{__name__}:{cls.__name__}" for cls in (Crash, Refuse, Break)}
    classes = {cls.name: cls for cls in (Crash, Refuse, Break)}
    monkeypatch.setattr(registry, "PASSES", {**registry.PASSES, **table})
    resolve = registry.resolve
    monkeypatch.setattr(
        registry, "resolve", lambda target, what: classes.get(_name(table, target)) or resolve(target, what)
    )


def _name(table: dict[str, str], target: str) -> str:
    return next((name for name, value in table.items() if value == target), "")


def test_reads_standard_input_and_writes_standard_output():
    code, out, err = run()
    assert (code, err) == (0, "")
    assert out.startswith("builtin.module {\n  func.func @f")
    assert out.endswith("}\n")


def test_what_it_prints_it_reads():
    first = run()[1]
    assert run(stdin=first)[1] == first
    generic = run("--print-op-generic")[1]
    assert run(stdin=generic)[1] == first


@pytest.mark.parametrize(
    "argv",
    [
        ("-p", "nope"),
        ("-p", "cse{"),
        ("missing.mlir",),
        ("--target", "cuda"),
        ("--device", "trn0"),
        ("-p", "cse", "--pass-pipeline", "cse"),
        ("-o", "no/such/folder/out.mlir"),
        ("-p", "refuse"),
    ],
)
def test_bad_input_is_one_message_and_code_3(argv: tuple[str, ...], tmp_path: Path):
    code, out, err = run(*argv)
    assert (code, out) == (3, "")
    assert err.count("error:") == 1
    assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("name", "reason"), [("crash", "IndexError: off by one"), ("break", "pass 'break' left an")])
def test_our_own_bugs_leave_a_reproducer(name: str, reason: str, tmp_path: Path):
    code, out, err = run("-p", name)
    assert (code, out) == (4, "")
    assert reason in err
    text = (tmp_path / "axon-opt-reproducer.mlir").read_text()
    assert f"// axon-opt -p {name}\n" in text
    assert run("axon-opt-reproducer.mlir")[0] == 0, "a reproducer is a readable input"


def test_an_output_file_is_not_touched_on_failure(tmp_path: Path):
    (tmp_path / "out.mlir").write_text("old")
    assert run("-o", "out.mlir", "-p", "refuse")[0] == 3
    assert (tmp_path / "out.mlir").read_text() == "old"
    assert run("-o", "out.mlir")[0] == 0
    assert (tmp_path / "out.mlir").read_text().startswith("builtin.module")


@dataclass
class Verdict:
    verdict: str

    def report(self) -> str:
        return f"step {self.verdict}"


@pytest.mark.parametrize(("verdict", "code"), [("proved", 0), ("refuted", 1), ("unknown", 2)])
def test_each_step_is_proved(verdict: str, code: int, monkeypatch: pytest.MonkeyPatch):
    seen = []

    def verify_step(before, after, pass_name):
        seen.append((before is not after, pass_name))
        return Verdict(verdict)

    monkeypatch.setattr(opt, "resolve", lambda target, what: verify_step)
    result, out, err = run("-p", "cse,dce", "--smt-verify-each")
    assert result == code
    if code == 0:
        assert seen == [(True, "cse"), (True, "dce")]
    else:
        assert (out, err, seen) == ("", f"step {verdict}\n", [(True, "cse")])


def test_target_nki_prints_the_kernel(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(opt, "resolve", lambda target, what: lambda module: "import nki")
    assert run("--target", "nki") == (0, "import nki\n", "")


def test_hundreds_of_nested_regions():
    depth = 600
    text = '"t.op"() ({\n' * depth + '"t.end"() : () -> ()\n' + "}) : () -> ()\n" * depth
    assert run("--allow-unregistered-dialect", stdin=text)[0] == 0


def test_parts_keep_their_line_numbers():
    parts = opt.split_input("a\n// -----\nb\n  // -----  \nc\n")
    assert parts == ["a", "\n\nb", "\n\n\n\nc\n"]
