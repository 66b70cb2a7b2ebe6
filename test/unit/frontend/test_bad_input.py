# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whatever is wrong with a program or an argument is one AxonError with a place."""

from __future__ import annotations

from pathlib import Path

import pytest

from axon_mlir.errors import AxonError, ExitCode, UnsupportedError
from axon_mlir.frontend import sandbox
from axon_mlir.frontend.numpy_trace import trace, trace_file

PROGRAMS = Path(__file__).parent / "Inputs" / "bad_programs.py"


def _marked() -> list[tuple[str, int, str]]:
    """(function, line, what the message says) for each mark of the file."""
    found: list[tuple[str, int, str]] = []
    name = ""
    for number, line in enumerate(PROGRAMS.read_text().splitlines(), start=1):
        if line.startswith("def "):
            name = line[4:].partition("(")[0]
        if "# HERE: " in line and not line.startswith('"""'):
            found.append((name, number, line.partition("# HERE: ")[2]))
    return found


def _namespace() -> dict[str, object]:
    names: dict[str, object] = {}
    exec(compile(PROGRAMS.read_text(), str(PROGRAMS), "exec"), names)
    return names


@pytest.mark.parametrize(("name", "line", "message"), _marked(), ids=lambda v: v if isinstance(v, str) else "")
def test_refused_with_its_line(name: str, line: int, message: str) -> None:
    function = _namespace()[name]
    assert callable(function)
    with pytest.raises(AxonError) as caught:
        trace(function, ["f32[4,6]"])
    assert message in caught.value.message
    assert caught.value.where == f"{PROGRAMS}:{line}"
    assert caught.value.exit_code == ExitCode.BAD_INPUT


@pytest.mark.parametrize("name", ["unsupported_function", "vectorized", "from_python", "branch", "leaves"])
def test_the_same_from_a_child_process(name: str) -> None:
    (_, line, message) = next(m for m in _marked() if m[0] == name)
    with pytest.raises(AxonError) as caught:
        trace_file(str(PROGRAMS), name, ["f32[4,6]"])
    assert message in caught.value.message
    assert caught.value.where == f"{PROGRAMS}:{line}"
    assert isinstance(caught.value, UnsupportedError) == (name != "leaves")


def test_a_program_that_ends_its_process() -> None:
    with pytest.raises(AxonError, match=r"ended its process .*status 9"):
        trace_file(str(PROGRAMS), "dies", ["f32[4,6]"])


def test_a_program_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "SECONDS", 2)
    path = tmp_path / "endless.py"
    path.write_text("def f(x):\n    while True:\n        pass\n")
    with pytest.raises(AxonError, match=r"endless.py: error: tracing took longer than 2 s"):
        trace_file(str(path), None, ["f32[4]"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def f(x:\n    return x\n", ":1: error: syntax error"),
        ("import no_such_module_here\n", ":1: error: loading the program raised ModuleNotFoundError"),
        ("import math\nmath.sqrt(-1)\n", ":2: error: .*math domain error"),
        ("def f(x): return x\ndef g(x): return x\n", "2 public functions\n  accepted: FILE:FUNC with one of f, g"),
        ("x = 1\n", "0 public functions"),
    ],
)
def test_files_that_do_not_load(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "program.py"
    path.write_text(text)
    with pytest.raises(AxonError, match=message):
        trace_file(str(path), None, ["f32[4]"])


def test_binary_file(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_bytes(b"\xff\x00\x01")
    with pytest.raises(AxonError, match=r"program.py.*error"):
        trace_file(str(path), None, ["f32[4]"])


def test_missing_file_and_function() -> None:
    with pytest.raises(AxonError, match=r"nowhere.py: error: no such file"):
        trace_file("nowhere.py", None, ["f32[4]"])
    with pytest.raises(AxonError, match="no function 'nothere'"):
        trace_file(str(PROGRAMS), "nothere", ["f32[4]"])


@pytest.mark.parametrize(
    ("specs", "message"),
    [
        (["f32[0,4]"], r"--arg f32\[0,4\]: error: an axis has size 0: empty tensors are not supported"),
        (["f64[4,4]"], "float64 programs are not supported"),
        (["i64[4]"], "int64 programs are not supported"),
        (["float64[4]"], "float64 programs are not supported"),
        (["q32[4]"], "'q32' is not an element type"),
        (["f32[4"], r"cannot read the argument 'f32\[4'"),
        (["f32[4,]"], "'' is not a size"),
        (["f32[a-b]"], "'a-b' is not a size"),
        (["f32[a+]"], "'a\\+' is not a size"),
        (["f32[P+Q]", "size[R]"], r"--arg size\[R\]: error: no tensor has the size R\n.*: P, Q"),
        (["f32[4]", "size[]"], "'size' is not an element type"),
        (["x="], "cannot read the argument ''"),
        (["3x=f32"], "'3x' is not a parameter name"),
        ([], "parameter 'x' of f has no --arg and no default"),
        (["f32[4]", "1e-5", "2.0"], "--arg 2.0: error: f takes 2 arguments, 3 were given"),
        (["z=f32[4]"], "f has no parameter 'z'"),
        (["x=f32[4]", "x=f32[4]"], "parameter 'x' is given twice"),
    ],
)
def test_bad_arguments(specs: list[str], message: str) -> None:
    def f(x, eps=1e-5):  # pyright: ignore
        return x + eps  # pyright: ignore

    with pytest.raises(AxonError, match=message) as caught:
        trace(f, specs)
    assert caught.value.where is not None


def test_a_size_without_a_number_cannot_be_forced() -> None:
    def f(x):  # pyright: ignore
        return sum(x[..., t : t + 1] for t in range(x.shape[-1]))  # pyright: ignore

    with pytest.raises(AxonError, match="needs the number of size K, which was given by name") as caught:
        trace(f, ["f32[M,K]"])
    assert caught.value.where is not None and caught.value.where.startswith(__file__)


def test_named_sizes_that_cannot_be_equal() -> None:
    def f(a, b):  # pyright: ignore
        return a[:3] + b[:3]  # pyright: ignore

    with pytest.raises(
        AxonError, match=r"cannot tell that min\(3, A\) equals min\(3, B\)|min\(A, 3\) equals min\(B, 3\)"
    ):
        trace(f, ["f32[A]", "f32[B]"])
