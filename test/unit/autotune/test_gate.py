# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The numeric gate: what it lets through, and what it says about the rest."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ml_dtypes import bfloat16
from xdsl.dialects.builtin import DictionaryAttr, StringAttr
from xdsl.dialects.func import FuncOp

from axon_mlir.autotune import inputs
from axon_mlir.autotune.gate import FEW, SMALLEST, GateReport, Program, Yardstick, check_numerics, relative_l2
from axon_mlir.autotune.runner import SimRunner, runner_named
from axon_mlir.errors import AxonError
from axon_mlir.frontend.numpy_trace import trace
from axon_mlir.sim import RunResult

HEAD = "import nki\nimport nki.isa as nisa\nimport nki.language as nl\n\n\n@nki.jit\ndef kernel(x):\n"
BUFFERS = (
    "    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)\n"
    "    a = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)\n"
    "    b = nl.ndarray(x.shape, dtype={dtype}, buffer=nl.sbuf)\n"
    "    nisa.dma_copy(dst=a, src=x)\n"
)
TAIL = "    nisa.dma_copy(dst=out, src=b)\n    return out\n"


def function(program: Callable[..., Any], *specs: str) -> FuncOp:
    return next(op for op in trace(program, specs).walk() if isinstance(op, FuncOp))


def gate(folder: Path, func: FuncOp, body: str, dtype: str = "x.dtype") -> GateReport:
    path = folder / "kernel.py"
    path.write_text(HEAD + BUFFERS.format(dtype=dtype) + f"    {body}\n" + TAIL)
    sizes = {"x0": 8, "x1": 16}
    return check_numerics(Program(func, path, "kernel", "trn2"), SimRunner(), full=sizes, proxy=sizes)


def double(x: Any) -> Any:
    return x + x


def test_a_good_kernel_passes_on_all_inputs(tmp_path: Path) -> None:
    report = gate(tmp_path, function(double, "f32[8,16]"), "nisa.tensor_tensor(dst=b, data1=a, data2=a, op=nl.add)")
    assert report.passed
    assert [o.name for o in report.outcomes] == [
        *(f"normal, seed {n}" for n in range(5)),
        "offset 100",
        "outlier columns",
        "constant row",
        "zero row",
    ]
    assert all(o.status == "passed" and o.full for o in report.outcomes)
    assert report.run is not None and report.run.instructions == 3
    assert report.to_json()["rel_l2"] == 0.0


def test_a_small_systematic_error_fails(tmp_path: Path) -> None:
    body = "nisa.activation(dst=b, op=nl.copy, data=a, scale=2.0001)"
    report = gate(tmp_path, function(double, "f32[8,16]"), body)
    assert not report.passed and report.count("failed") == 9
    assert "relative L2 4.995e-05, tolerance 2.000e-05" in report.failures[0].reason
    # In bf16 the same error is below what one rounding costs.
    assert gate(tmp_path, function(lambda x: x * 3.0, "bf16[8,16]"), body.replace("2.0001", "3.0003")).passed


def test_a_kernel_that_returns_no_number_fails(tmp_path: Path) -> None:
    body = "nisa.activation(dst=b, op=nl.exp, data=a, scale=1e30)"
    report = gate(tmp_path, function(double, "f32[8,16]"), body)
    assert not report.passed
    assert any("not finite" in o.reason for o in report.failures)
    assert report.to_json()["rel_l2"] is None


def test_inputs_outside_a_functions_range_are_recorded(tmp_path: Path) -> None:
    def root(x: Any) -> Any:
        return np.sqrt(x * x * 1e-38)

    func = function(root, "f32[8,16]")
    body = "nisa.activation(dst=a, op=nl.square, data=a)\n    nisa.activation(dst=b, op=nl.sqrt, data=a, scale=1e-38)"
    report = gate(tmp_path, func, body)
    assert not report.passed
    assert report.failures[0].status == "out of range" and "inputs of sqrt are outside" in report.failures[0].reason


def test_arguments_beyond_what_a_definition_is_for_are_recorded(tmp_path: Path) -> None:
    """A bad sine is a failure, and no more than out of range where fp32 cannot count the turns of any argument."""
    body = "nisa.activation(dst=b, op=nl.copy, data=a, scale=0.5)"
    within = gate(tmp_path, function(lambda x: np.sin(x), "bf16[8,16]"), body)
    assert within.count("failed") == 9 and within.count("out of range") == 0
    beyond = gate(tmp_path, function(lambda x: np.sin(x * 2.0**24), "bf16[8,16]"), body)
    assert not beyond.passed and beyond.count("failed") == 0
    (offset,) = [o for o in beyond.outcomes if o.name == "offset 100"]
    assert offset.status == "out of range"
    assert "; sin of 1.7e+09, in fp32 it is exact to 3.3e+06" in offset.reason


def test_inputs_on_which_the_program_is_not_finite_are_skipped(tmp_path: Path) -> None:
    def inverse(x: Any) -> Any:
        return 1.0 / x

    body = "nisa.reciprocal(dst=b, data=a)"
    report = gate(tmp_path, function(inverse, "f32[8,16]"), body)
    assert report.passed
    (skipped,) = [o for o in report.outcomes if o.status == "skipped"]
    assert skipped.name == "zero row" and skipped.reason == "the program is not finite in float64"


def test_a_program_of_negative_numbers_undefined_is_fed_with_magnitudes(tmp_path: Path) -> None:
    def root(x: Any) -> Any:
        return np.sqrt(x)

    report = gate(tmp_path, function(root, "f32[8,16]"), "nisa.activation(dst=b, op=nl.sqrt, data=a)")
    assert report.outcomes[0].name == "normal, seed 0, absolute values" and report.outcomes[0].status == "passed"


def test_the_largest_inputs_of_exp_are_tried_where_there_is_one() -> None:
    assert "largest for exp" not in inputs.adversarial_kinds(function(double, "f32[8,16]"))
    func = function(lambda x: np.exp(x), "f16[8,16]")
    assert "largest for exp" in inputs.adversarial_kinds(func)
    (made,) = inputs.adversarial(func, "largest for exp", {"x0": 8, "x1": 16}, 0)
    assert made.arrays[0].dtype == np.float16
    assert np.abs(made.arrays[0]).max() == 11
    assert np.isfinite(np.exp(made.arrays[0])).all()


def test_an_undefined_distortion_is_tried_on_one_argument_at_a_time() -> None:
    func = function(lambda x, d: x / d, "f32[8,16]", "f32[8,1]")
    found = [i.arguments for i in inputs.adversarial(func, "zero row", {"x0": 8, "x1": 16}, 0)]
    assert found == [("x", "d"), ("x",), ("d",)]


def scaled_weights() -> FuncOp:
    return function(lambda x, w, n: x @ w * n, "f32[40,30]", "f32[30,20]", "i32")


def test_an_argument_is_as_large_as_it_is_in_use() -> None:
    func, sizes = scaled_weights(), {"x0": 40, "x1": 30, "w1": 20}
    inputs.set_scales(func, {"w": 0.01})
    x, w, _ = inputs.normal(func, sizes, 3).arrays
    assert 0.9 < np.std(x) < 1.1 and 0.009 < np.std(w) < 0.011
    (_, offset, _), *_ = (found.arrays for found in inputs.adversarial(func, "offset 100", sizes, 3))
    assert 0.9 < np.mean(offset) < 1.1


@pytest.mark.parametrize(
    "scales, accepted",
    [({"v": 0.1}, "x, w"), ({"n": 0.1}, "x, w"), ({"w": 0.0}, "a positive"), ({"w": float("inf")}, "a positive")],
)
def test_what_cannot_be_scaled(scales: dict[str, float], accepted: str) -> None:
    with pytest.raises(AxonError) as error:
        inputs.set_scales(scaled_weights(), scales)
    assert accepted in (error.value.accepted or "")


def test_a_scale_in_ir_is_a_number() -> None:
    func = scaled_weights()
    func.attributes[inputs.MAGNITUDES] = DictionaryAttr({"w": StringAttr("small")})
    with pytest.raises(AxonError, match='w of @<lambda> cannot be scaled by "small"'):
        inputs.set_scales(func, {})


def test_few_elements_may_be_off_by_roundings_of_the_type() -> None:
    func = function(lambda x: x * 3.0, "bf16[1,1]")
    wide = function(lambda x: x * 3.0, "bf16[8,16]")
    assert FEW <= 8 * 16
    few = Yardstick.of(func, [np.ones((1, 1), np.float32)])
    many = Yardstick.of(wide, [np.ones((8, 16), np.float32)])
    assert few.tolerances == (2 * 2.0**-8,) and many.tolerances == (SMALLEST,)


def test_few_elements_may_be_off_by_roundings_of_what_they_are_computed_from() -> None:
    func = function(lambda x: (x * 3.0).astype(np.float32) + 1, "f16[1,1]")
    assert Yardstick.of(func, [np.ones((1, 1), np.float16)]).tolerances == (2 * 2.0**-11,)


def test_sums_may_be_added_up_one_term_after_the_other() -> None:
    """Large terms that cancel: how far off a sum is depends on its order."""
    func = function(lambda x, y: (x @ y)[1:] - (x @ y)[:-1], "f32[9,2000]", "f32[2000,8]")
    x, y = (np.random.default_rng(n).random(shape, np.float32) + 100 for n, shape in enumerate([(9, 2000), (2000, 8)]))
    yardstick = Yardstick.of(func, [x, y])
    product = np.zeros((9, 8), np.float32)
    for k in range(2000):
        product += np.outer(x[:, k], y[k])
    one_by_one = product[1:] - product[:-1]
    error, tolerance, reason = yardstick.judge([one_by_one])
    assert error > yardstick.tolerances[0] and error < tolerance and not reason
    assert yardstick.judge([yardstick.references[0] * (1 + 1.1 * tolerance)])[2]


def test_roundings_of_nothing_have_no_relative_error() -> None:
    yardstick = Yardstick.of(function(lambda x: (x + 1) - 1 - x, "f32[4]"), [np.full(4, 0.1, np.float32)])
    assert yardstick.undefined == "output 0 is zero, and the program in f32 is off by its roundings"


def test_a_result_that_is_roundings_is_not_judged() -> None:
    func = function(lambda x: np.diff(x + 1e8, axis=0) - np.diff(x, axis=0) * 0.999, "f32[80,2]")
    x = np.random.default_rng(0).standard_normal((80, 2)).astype(np.float32)
    assert Yardstick.of(func, [x]).undefined == "output 0 is nothing but roundings in f32"


def test_the_same_roundings_in_another_order_may_be_twice_as_far_off() -> None:
    x = np.random.default_rng(0).standard_normal((8, 16)).astype(np.float32)
    yardstick = Yardstick.of(function(lambda x: (x + 1e4) - 1e4, "f32[8,16]"), [x])
    other = yardstick.references[0] * (1 + 0.9 * yardstick.tolerances[0])
    assert yardstick.tolerances[0] > 2e-5 and not yardstick.judge([other])[2]
    assert yardstick.judge([yardstick.references[0] * (1 + 3 * yardstick.tolerances[0])])[2]


def test_a_conversion_that_the_program_writes_rounds() -> None:
    x = np.random.default_rng(0).standard_normal((8, 16)).astype(np.float32)

    stated = Yardstick.of(function(lambda x: np.exp((x * 3.0).astype(np.float16)), "f32[8,16]"), [x])
    plain = Yardstick.of(function(lambda x: np.exp(x * 3.0).astype(np.float16), "f32[8,16]"), [x])
    rounded = np.exp((x * np.float32(3)).astype(np.float16).astype(np.float64))
    assert not stated.judge([rounded])[2] and plain.judge([rounded])[2]


def test_what_a_rounding_of_the_inputs_changes_may_be_off() -> None:
    """A kernel that cubes a large number in two roundings returns the cosine of another number; a floor jumps."""
    large = np.array([11.3, 1.5], np.float32)
    yardstick = Yardstick.of(function(lambda x: np.cos(x**3), "f32[2]"), [large])
    off = np.cos((large.astype(np.float64) * (1 + 2.0**-24)) ** 3)
    error, tolerance, reason = yardstick.judge([off])
    assert yardstick.tolerances[0] < error < tolerance and not reason
    assert yardstick.judge([off + 1])[2]
    jumps = Yardstick.of(function(lambda x: np.floor(x), "f32[2]"), [np.array([3.0, 5.5], np.float32)])
    assert jumps.judge([np.array([2.0, 5.0])])[2]


def test_what_roundings_of_results_change_may_be_off() -> None:
    """A floor hides roundings of its input, and what is computed from it is rounded nevertheless."""
    x = np.full(80, 101.5, np.float32)
    yardstick = Yardstick.of(function(lambda x: np.cos(np.floor(x) ** 2 - 20.3), "f32[80]"), [x])
    off = np.cos((np.floor(x.astype(np.float64)) ** 2 - 20.3) * (1 + 2.0**-24))
    assert not yardstick.judge([off])[2]
    assert yardstick.judge([np.cos((np.floor(x.astype(np.float64)) ** 2 - 20.3) * (1 + 2.0**-20))])[2]
    counted = Yardstick.of(function(lambda x: np.cos(np.floor(x) ** 2), "f32[80]"), [x])
    assert counted.judge([np.cos(np.floor(x.astype(np.float64)) ** 2 * (1 + 2.0**-24))])[2], "what fp32 holds is exact"


def test_one_rounding_in_a_short_type_may_set_all_elements_off() -> None:
    """The mean of a tensor in bf16, times each element: what half a unit of it is, all may be off; not two units."""
    x = np.random.default_rng(0).standard_normal((16, 16)).astype(np.float32) + 2

    def scaled(x: Any) -> Any:
        return x * np.mean(x).astype(bfloat16)

    yardstick = Yardstick.of(function(scaled, "f32[16,16]"), [x])
    wide = x.astype(np.float64)
    off = wide * np.mean(wide) * (1 + 0.9 * 2.0**-8)
    error, tolerance, reason = yardstick.judge([off])
    assert yardstick.tolerances[0] < error < tolerance and not reason
    assert yardstick.judge([wide * np.mean(wide) * (1 + 2 * 2.0**-8)])[2]


def test_a_result_of_zero_may_be_off_by_roundings() -> None:
    """The variance of equal numbers, from a mean that is not quite theirs."""
    x = np.full((2, 7), 1.7, np.float32)
    yardstick = Yardstick.of(function(lambda x: np.var(x, axis=1), "f32[2,7]"), [x])
    assert not yardstick.judge([np.full(2, 1.7 * 2.0**-24) ** 2])[2]
    assert yardstick.judge([np.full(2, 1e-6)])[2]
    exact = Yardstick.of(function(lambda x: x - x, "f32[2,7]"), [x])
    assert not exact.judge([np.zeros((2, 7))])[2] and exact.judge([np.full((2, 7), 1e-20)])[2]


def test_a_quotient_may_be_off_where_it_is_a_number_of_its_type() -> None:
    """The sum of seven is exact, and a seventh of it; a kernel multiplies it by a seventh, which is not."""

    def centred(x: Any) -> Any:
        same = np.where(x < 2.0, 1.5, x)
        return same - np.mean(same, axis=1, keepdims=True)

    same = np.full((2, 7), 1.5, np.float32)
    yardstick = Yardstick.of(function(centred, "f32[2,7]"), [np.zeros((2, 7), np.float32)])
    kernel = same - np.sum(same, axis=1, keepdims=True) * np.float32(1 / 7)
    assert kernel.any()
    assert not yardstick.judge([kernel])[2]
    assert yardstick.judge([np.full((2, 7), 1e-5)])[2]


def test_what_saturates_in_a_short_type_may_be_smooth_in_fp32() -> None:
    """Roundings in bf16 of equal numbers' distance from their mean are all that is left of it; those in fp32 are small,
    and in a kernel there are no others."""

    def normalized(x: Any) -> Any:
        same = np.where(x < 2.0, 1.5, x)
        rest = same - np.mean(same, axis=1, keepdims=True)
        return rest / np.sqrt(np.mean(rest * rest, axis=1, keepdims=True) + 1e-8)

    same = np.full((2, 70), 1.5)
    yardstick = Yardstick.of(function(normalized, "bf16[2,70]"), [np.zeros((2, 70), bfloat16)])
    rest = same - same * (1 + 2.0**-24)
    kernel = rest / np.sqrt(np.mean(rest * rest) + 1e-8)
    assert kernel.any()
    assert not yardstick.judge([kernel])[2]
    assert yardstick.judge([np.full((2, 70), 0.5)])[2]


def test_the_wrong_shape_or_number_of_outputs_fails() -> None:
    yardstick = Yardstick((np.ones((2, 3)),), (1.0,))
    assert "output 0 is [3], not [2, 3]" in yardstick.judge([np.ones(3)])[2]
    assert "returns 2 outputs" in yardstick.judge([np.ones((2, 3))] * 2)[2]


def test_relative_l2() -> None:
    assert relative_l2(np.array([3.0, 4.0]), np.array([3.0, 4.0])) == 0
    assert relative_l2(np.array([3.0, 5.0]), np.array([3.0, 4.0])) == pytest.approx(0.2)
    assert relative_l2(np.array([np.nan]), np.array([1.0])) == np.inf
    assert relative_l2(np.array([0.0]), np.array([0.0])) == 0
    assert relative_l2(np.array([1e-30]), np.array([0.0])) == np.inf


def test_the_proxy_keeps_steps_and_ends_ragged() -> None:
    func = function(lambda a, b: a @ b, "bf16[4096,1024]", "bf16[1024,2048]")
    full = {"a0": 4096, "a1": 1024, "b1": 2048}
    steps = {"a0": [128], "a1": [128, 1024], "b1": [512]}
    proxy = inputs.proxy_sizes(func, full, steps)
    assert proxy == {"a0": 209, "a1": 209, "b1": 833}
    for name, step in (("a0", 128), ("a1", 128), ("b1", 512)):
        assert step < proxy[name] < 2 * step and proxy[name] % step
    small = {"a0": 40, "a1": 10, "b1": 20}
    assert inputs.proxy_sizes(func, small, steps) == small


class Recorder:
    """Doubles its argument, and keeps the shapes that it was run on."""

    name = "recorder"

    def __init__(self) -> None:
        self.shapes: list[list[tuple[int, ...]]] = []

    def run(self, kernel: Path, function: str, arrays: Any, device: str) -> RunResult:
        raise NotImplementedError

    def run_each(self, kernel: Path, function: str, inputs: Any, device: str) -> list[RunResult | AxonError]:
        self.shapes.append([arrays[0].shape for arrays in inputs])
        return [RunResult((arrays[0] + arrays[0],), ("float32",), 1, {}, 0, 0, 0, 0, ()) for arrays in inputs]


def test_large_inputs_are_held_a_few_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runner, sizes = Recorder(), {"x0": 9, "x1": 7}
    program = Program(function(double, "f32[8,16]"), tmp_path / "k.py", "k", "trn2")
    monkeypatch.setattr("axon_mlir.autotune.gate.ELEMENTS", 4 * 63)
    report = check_numerics(program, runner, full=sizes, proxy=sizes)
    assert report.passed and len(report.outcomes) == 9
    assert [len(shapes) for shapes in runner.shapes] == [4, 4, 1]
    monkeypatch.setattr("axon_mlir.autotune.gate.ELEMENTS", 1)
    assert check_numerics(program, runner, full=sizes, proxy=sizes).to_json() == report.to_json()
    assert [len(shapes) for shapes in runner.shapes[3:]] == [1] * 9


def test_the_full_shape_is_run_once_when_it_is_large(tmp_path: Path) -> None:
    runner = Recorder()
    program = Program(function(double, "f32[8,16]"), tmp_path / "k.py", "k", "trn2")
    report = check_numerics(program, runner, full={"x0": 300, "x1": 70}, proxy={"x0": 9, "x1": 7})
    assert report.passed
    assert runner.shapes == [[(9, 7)] * 9, [(300, 70)]]
    assert [o.full for o in report.outcomes] == [False] * 9 + [True]


def test_runners() -> None:
    assert runner_named("sim").name == "sim"
    with pytest.raises(AxonError, match="runner 'neuron' is not supported") as caught:
        runner_named("neuron")
    assert caught.value.exit_code == 3
    with pytest.raises(AxonError, match="unknown runner 'gpu'"):
        runner_named("gpu")
