# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`axon run`: what it prints, and its exit codes."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest

from axon_mlir.cli.axon import main
from axon_mlir.cli.run import parse_argument
from axon_mlir.errors import AxonError
from axon_mlir.sim import RandomArray

KERNELS = Path(__file__).parents[1] / "sim" / "kernels.py"


def axon(*arguments: str) -> tuple[int, str, str]:
    stdout, stderr = io.StringIO(), io.StringIO()
    code = main(["run", *arguments], stdout=stdout, stderr=stderr)
    return code, stdout.getvalue(), stderr.getvalue()


def test_a_kernel_that_runs(tmp_path: Path) -> None:
    out = tmp_path / "out.npy"
    arguments = (f"{KERNELS}:normalise", "bf16[130,64]", "bf16[1,64]", "1e-5")
    code, stdout, stderr = axon(*arguments, "--json", "-", "--out", str(out))
    report = json.loads(stdout)
    assert code == 0
    assert report["schema"] == 1
    assert report["engines"]["scalar"]["instructions"] == 4 and report["engines"]["scalar"]["busy_us"] > 0
    assert report["predicted_us"] <= report["predicted_order_us"]
    low, high = report["predicted_range_us"]
    assert low <= report["predicted_us"] <= high and report["binding"] in {*report["engines"], "dma engines"}
    assert "predicted" in stderr and "binds" in stderr
    assert report["instructions"] == sum(engine["instructions"] for engine in report["engines"].values())
    assert report["dma"]["bytes"] > 0 and report["dma"]["descriptors"] > 0
    assert report["sbuf_peak_bytes"] > 0 and report["psum_peak_banks"] == 0
    assert all(check["ok"] for check in report["checks"])
    assert "bfloat16[130, 64]" in stderr
    assert np.load(out).shape == (130, 64)
    again = tmp_path / "again.npy"
    axon(*arguments, "--out", str(again), "-q")
    assert np.array_equal(np.load(out), np.load(again))


def test_the_schedule_goes_to_a_file_that_perfetto_reads(tmp_path: Path) -> None:
    """Of the trace event format: complete slices, nested only, asynchronous pairs, flows with two ends."""
    file = tmp_path / "trace.json"
    code, _, stderr = axon(f"{KERNELS}:product", "bf16[130,64]", "bf16[64,70]", "--trace", str(file), "-q")
    assert (code, stderr) == (0, "")
    events = json.loads(file.read_text())["traceEvents"]
    by = {kind: [e for e in events if e["ph"] == kind] for kind in "MXbesf"}
    assert sum(map(len, by.values())) == len(events)
    assert all(set(e) >= {"name", "pid", "tid", "ts", "dur"} for e in by["X"])
    assert len(by["b"]) == len(by["e"]) and {e["id"] for e in by["b"]} == {e["id"] for e in by["e"]}
    assert {e["id"] for e in by["s"]} == {e["id"] for e in by["f"]} and by["s"]
    names = {e["args"]["name"] for e in by["M"] if e["name"] == "thread_name"}
    assert names >= {"tensor", "sync"}
    lines = KERNELS.read_text().split("\n")
    for e in by["X"]:
        assert e["name"] in lines[e["args"]["line"] - 1]


def test_a_device_whose_time_is_not_modelled_says_nothing_of_it(tmp_path: Path) -> None:
    arguments = (f"{KERNELS}:gate", "bf16[4,8]", "bf16[4,8]", "--device", "trn1")
    code, stdout, stderr = axon(*arguments, "--json", "-")
    assert code == 0 and "predicted_us" not in json.loads(stdout) and "predicted" not in stderr
    code, _, stderr = axon(*arguments, "--trace", str(tmp_path / "t.json"))
    assert code == 3 and "not modelled" in stderr and not (tmp_path / "t.json").exists()


def test_a_time_needs_no_values(tmp_path: Path) -> None:
    arguments = (f"{KERNELS}:product", "bf16[130,200]", "bf16[200,600]", "--json", "-", "-q")
    whole, bare = (json.loads(axon(*arguments, *more)[1]) for more in ((), ("--timing-only",)))
    assert {k: v for k, v in whole.items() if k != "checks"} == {k: v for k, v in bare.items() if k != "checks"}
    code, _, stderr = axon(*arguments, "--timing-only", "--out", str(tmp_path / "out.npy"))
    assert code == 3 and "--timing-only computes no outputs" in stderr and not (tmp_path / "out.npy").exists()
    code, _, stderr = axon(*arguments, "--timing-only", "--device", "trn1")
    assert code == 3 and "not modelled" in stderr


def test_who_makes_descriptors_is_an_input() -> None:
    arguments = (f"{KERNELS}:gate", "bf16[512,1024]", "bf16[512,1024]", "--json", "-", "-q")
    found = {mode: json.loads(axon(*arguments, "--dge", mode)[1])["predicted_us"] for mode in ("hw", "sw", "static")}
    assert found["static"] < found["hw"] < found["sw"]


def test_a_broken_rule_is_exit_code_1_and_in_the_report(tmp_path: Path) -> None:
    kernel = tmp_path / "k.py"
    kernel.write_text(
        "import nki\nimport nki.language as nl\n\n@nki.jit\ndef f(x):\n"
        "    return nl.ndarray((4, 4), dtype=x.dtype, buffer=nl.shared_hbm)\n"
    )
    code, stdout, stderr = axon(str(kernel), "f32[4,4]", "--json", "-")
    (check,) = json.loads(stdout)["checks"]
    assert code == 1
    assert check["rule"] == "output-written" and check["ok"] is False
    assert "never written" in stderr and "Traceback" not in stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["nowhere.py:f"], 3, "no file nowhere.py"),
        ([f"{KERNELS}:nothing"], 3, "no kernel"),
        ([str(KERNELS)], 3, "holds 3 kernels"),
        ([f"{KERNELS}:product", "f32[2,3]"], 3, "missing a required argument"),
        ([f"{KERNELS}:product", "f64[2,3]", "f32[3,2]"], 3, "f64"),
        ([f"{KERNELS}:product", "nowhere.npy", "f32[3,2]"], 3, "nowhere.npy"),
        ([f"{KERNELS}:product", "os.sep", "f32[3,2]"], 3, "argument 'os.sep'"),
        ([f"{KERNELS}:product", "f32[2,3]", "f32[3,2]", "--device", "trn9"], 3, "trn9"),
        ([f"{KERNELS}:product", "f32[2,3]", "f32[2,2]"], 1, "rule: in-bounds"),
        ([f"{KERNELS}:normalise", "f32[2,3]", "f32[1,3]", "'text'"], 1, "argument value = 'text'"),
    ],
)
def test_exit_codes(arguments: list[str], code: int, message: str) -> None:
    found, _, stderr = axon(*arguments)
    assert (found, message in stderr) == (code, True), stderr
    assert "Traceback" not in stderr


def test_arguments() -> None:
    assert parse_argument("bf16[128,512]") == RandomArray("bfloat16", (128, 512))
    assert parse_argument("uint8[3]") == RandomArray("uint8", (3,))
    assert parse_argument("(1, 2.5)") == (1, 2.5)
    with pytest.raises(AxonError):
        parse_argument("f32[0x]")
