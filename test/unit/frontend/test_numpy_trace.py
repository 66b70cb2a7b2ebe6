# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Traced programs compute what NumPy computes, and keep their sizes symbolic."""

from __future__ import annotations

import importlib.util
import math
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects.builtin import IntegerType, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp

from axon_mlir.errors import AxonError
from axon_mlir.frontend.arg_spec import TensorSpec, parse_spec
from axon_mlir.frontend.numpy_trace import trace, trace_file
from axon_mlir.frontend.trace_child import load
from axon_mlir.host.parsing import parse_module
from axon_mlir.host.registry import make_context
from axon_mlir.semantics.domains import Float32, Float64
from axon_mlir.semantics.index import evaluate
from axon_mlir.semantics.interpret import argument_shapes, evaluate_function
from axon_mlir.transforms.algebra.tensor_hl_canonicalize import TensorHlCanonicalize
from benchmarks.prove import ARGUMENTS, specs

ROOT = Path(__file__).resolve().parents[3]


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PROGRAMS = load(str(ROOT / "benchmarks" / "programs.py"))

SPECS: dict[str, list[str]] = {
    "axpby": ["f32", "f32[4,5]", "f32", "f32[4,5]"],
    "common": ["f32[4,5]", "f32[4,5]", "f32[4,5]"],
    "divrow": ["f32[4,5]", "f32[4,1]"],
    "scale2": ["f32[4,5]", "f32[4,1]", "f32[1,5]"],
    "sqmul": ["f32[4,5]"],
    "silu": ["f32[4,5]"],
    "softmax": ["f32[4,7]"],
    "cumsum": ["f32[4,10]"],
    "xent": ["f32[5,3]", "f32[3,9]", "i32[5]"],
    "ones": ["f32[4,5]"],
    "unit": ["f32[4,5]"],
    "rmsnorm": ["f32[4,7]", "f32[7]"],
    "transpose": ["f32[3,5,7]"],
    "transpose_pair": ["f32[5,7]"],
    "matmul": ["f32[5,7]", "f32[7,4]"],
    "colsum": ["f32[5,7]"],
    "scaled_max": ["f32[5,7]"],
    "var": ["f32[5,7]"],
    "tmm": ["f32[7,5]", "f32[7,4]"],
    "mmt": ["f32[5,7]", "f32[4,7]"],
    "tt": ["f32[7,5]", "f32[4,7]"],
    "rms_mm": ["f32[5,7]", "f32[7]", "f32[7,4]"],
    "silu_scale": ["f32[4,5]", "f32[4,1]"],
    "softmax_scale": ["f32[4,7]"],
    "rms_commute": ["f32[5,7]", "f32[7,4]"],
    "sum_product": ["f32[4,2]", "f32[4,2]"],
    "max_scale": ["f32[4,7]", "f32"],
    "var_n1": ["f32[4,7]"],
}
NUMBERS = dict(zip("BCDEGHKLMNPQRS", (3, 3, 4, 3, 2, 4, 7, 6, 5, 4, 3, 4, 2, 5), strict=True))


def at_numbers(text: str) -> str:
    """An `--arg` text whose sizes are numbers."""
    _, spec = parse_spec(text)
    assert isinstance(spec, TensorSpec)
    if spec.axes is None:
        return text
    axes = [
        sum(math.prod(NUMBERS[f] if isinstance(f, str) else f for f in product) for product in axis)
        for axis in spec.axes
    ]
    return f"{spec.dtype}[{','.join(map(str, axes))}]"


for _name in ARGUMENTS:
    # The others as the table of goals has them, at numbers.
    if not re.search(r"_\d+$", _name):
        SPECS.setdefault(_name, [at_numbers(text) for text in specs(_name) if "=" not in text])


FIXED = re.compile("rope|goal_bmm_1|moe|goal_scan|decoder_layer")
"""Programs that fix sizes: the halves of an axis are equal only for even sizes, and some loops are unrolled."""


def _programs() -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for name in vars(PROGRAMS):
        match = re.fullmatch(r"(?:ref|base|bad|wide|narrow)_(\w+)|goal_(\w+)_\d+", name)
        if match:
            found.append((name, match[1] or match[2]))
    return found


def function_of(module: ModuleOp) -> FuncOp:
    (function,) = module.body.block.ops
    assert isinstance(function, FuncOp)
    return function


def _arrays(specs: list[str]) -> list[np.ndarray[Any, Any]]:
    rng = np.random.default_rng(7)
    shapes = [(s, [int(n) for n in re.findall(r"\d+", s.partition("[")[2])]) for s in specs]
    return [rng.integers(0, 3, shape) if s[0] == "i" else rng.uniform(0.5, 1.5, shape) for s, shape in shapes]


def agrees(function: Callable[..., Any], specs: list[str], module: ModuleOp | None = None) -> ModuleOp:
    """Trace, and compare with NumPy in float64, before and after canonicalisation and a trip through text."""
    module = module or trace(function, specs)
    arrays = _arrays(specs)
    want = function(*arrays)
    want = list(want) if isinstance(want, tuple) else [want]
    again = parse_module(str(module), "text", make_context())
    canonical = again.clone()
    TensorHlCanonicalize().apply(make_context(), canonical)
    canonical.verify()
    for variant in (module, again, canonical):
        compare(evaluate_function(function_of(variant), arrays, Float64()), want)
    if "f32[" in " ".join(specs):
        at_other_sizes(function, function_of(canonical))
    return module


def compare(got: Any, want: Any) -> None:
    for g, w in zip(got, want, strict=True):
        assert np.shape(g) == np.shape(w)
        np.testing.assert_allclose(g, w, rtol=1e-9, atol=1e-12)


def at_other_sizes(function: Callable[..., Any], traced: FuncOp) -> None:
    """The traced program is the program at sizes that it was not traced for, 1 included."""
    rng = np.random.default_rng(3)
    shapes = argument_shapes(traced)
    symbols = sorted({s for shape in shapes for d in shape for s in d.symbols()}, key=str)
    for _ in range(6):
        env = {s: int(rng.choice([1, 2, 3, 5, 8])) for s in symbols}
        arrays = [rng.uniform(0.5, 1.5, [int(evaluate(d, env)) for d in shape]) for shape in shapes]
        for n, type_ in enumerate(traced.function_type.inputs.data):
            if isinstance(type_, TensorType) and isinstance(type_.get_element_type(), IntegerType):
                # Positions that every axis has.
                arrays[n] = np.zeros(arrays[n].shape, dtype=int)
        with np.errstate(all="ignore"):
            try:
                want = function(*arrays)
            except ValueError:
                # Sizes that NumPy refuses too: halves of an odd axis.
                continue
            got = evaluate_function(traced, arrays, Float64())
        compare(got, list(want) if isinstance(want, tuple) else [want])


@pytest.mark.parametrize(("name", "key"), _programs(), ids=lambda v: v)
def test_benchmark_programs(name: str, key: str) -> None:
    module = agrees(getattr(PROGRAMS, name), SPECS[key])
    sizes = function_of(module).attributes["axon.sizes"]
    assert FIXED.search(name) or "fixed = []" in str(sizes)


@pytest.mark.parametrize(("name", "key"), _programs(), ids=lambda v: v)
def test_bf16_programs_return_bf16(name: str, key: str) -> None:
    specs = [s.replace("f32[", "bf16[") for s in SPECS[key]]
    function = function_of(trace(getattr(PROGRAMS, name), specs))
    for type_ in function.function_type.outputs.data:
        assert isinstance(type_, TensorType)
        assert str(type_.get_element_type()) == "bf16"


def test_the_example_through_a_child_process() -> None:
    path = ROOT / "examples" / "rms_mm.py"
    module = trace_file(str(path), None, ["f32[5,7]", "f32[7]", "f32[7,4]"])
    agrees(_load(path).rms_mm, ["f32[5,7]", "f32[7]", "f32[7,4]"], module)
    attributes = function_of(module).attributes
    assert str(attributes["axon.arguments"]) == '["x", "g", "w"]'
    assert str(attributes["axon.constants"]) == '{eps = "1e-05"}'
    assert str(attributes["axon.values"]) == "{x0 = 5 : i64, x1 = 7 : i64, w1 = 4 : i64}"
    assert str(attributes["axon.sizes"]) == '{generic = ["x0", "x1", "w1"], fixed = []}'


def _numpy_functions() -> list[tuple[str, Callable[..., Any], list[str]]]:
    m = "f32[4,6]"
    return [
        ("power_3", lambda x: x**3, [m]),
        ("power_half", lambda x: x**0.5 + x**-0.5 + x**-1 + x**1 + x**0, [m]),
        ("in_a_type", lambda x: np.add(np.multiply(x > 1, 3, dtype=np.int32), 1, dtype=np.float32) * x, [m]),
        ("rsub", lambda x: 2 - x / 3 + (-x) - abs(x), [m]),
        ("where", lambda x: np.where(x > 1, x, 0.5), [m]),
        ("where_both", lambda x, y: np.where((x > y) & ~(x >= 1.2), x, -y), [m, m]),
        ("max_min", lambda x, y: np.maximum(x, 1.0) * np.minimum(x, y), [m, m]),
        ("mean_all", lambda x: x.mean(), [m]),
        ("mean_axes", lambda x: np.mean(x, axis=(0, -1)), ["f32[4,6,3]"]),
        ("prod_min", lambda x: x.prod(axis=0) + x.min(axis=0), [m]),
        ("std", lambda x: x.std(axis=-1) + x.var(axis=-1, ddof=-1), [m]),
        ("cumsum", lambda x: np.cumsum(x, axis=-1), [m]),
        ("triangles", lambda x: np.triu(x) + np.tril(x, -1), ["f32[5,5]"]),
        ("triangular_product", lambda x: x @ np.triu(np.ones((x.shape[-1], x.shape[-1]))), [m]),
        ("moveaxis", lambda x: np.moveaxis(x, 0, -1), ["f32[4,6,3]"]),
        ("transposes", lambda x: x.transpose(2, 0, 1) + np.transpose(x, (2, 0, 1)), ["f32[4,6,3]"]),
        ("reshape_split", lambda x: x.reshape(x.shape[0] * x.shape[1], -1), ["f32[4,6,3]"]),
        ("reshape_unit", lambda x: x.reshape(x.shape[0], 1, x.shape[1]), [m]),
        ("ravel", lambda x: x.ravel() * 2, [m]),
        ("expand", lambda x: np.expand_dims(x, (0, 2)) + x[None, :, None], [m]),
        ("squeeze", lambda x: np.squeeze(x.sum(axis=1, keepdims=True), axis=-1), [m]),
        ("index", lambda x: x[0] + x[-1] + x[:1], [m]),
        ("slice_half", lambda x: np.concatenate([x[x.shape[0] // 2 :], x[: x.shape[0] // 2]]), [m]),
        ("slice_step", lambda x: x[::2, 1::2], [m]),
        ("slice_ends", lambda x: x[..., -2:] + x[..., :2], [m]),
        ("stack", lambda x: np.stack([x, 2 * x], axis=1), [m]),
        ("broadcast", lambda x: np.broadcast_to(x, (3, *x.shape)), [m]),
        ("dot", lambda x, y: np.dot(x, y), ["f32[4,6]", "f32[6]"]),
        ("vector_matrix", lambda x, y: x @ y, ["f32[6]", "f32[6,3]"]),
        ("batched", lambda x, y: x @ y, ["f32[2,4,6]", "f32[2,6,3]"]),
        ("batch_left", lambda x, y: x @ y, ["f32[2,4,6]", "f32[6,3]"]),
        ("batch_right", lambda x, y: x @ y, ["f32[4,6]", "f32[2,6,3]"]),
        ("batch_unit", lambda x, y: x @ y, ["f32[1,4,6]", "f32[5,6,3]"]),
        ("batch_vector", lambda x, y: x @ y, ["f32[6]", "f32[5,6,3]"]),
        ("einsum_batch", lambda q, k: np.einsum("bhd,bkd->bhk", q, k), ["f32[2,4,6]", "f32[2,3,6]"]),
        ("einsum_order", lambda q, k: np.einsum("mk,kn->nm", q, k), ["f32[4,6]", "f32[6,3]"]),
        ("einsum_sum", lambda q, k: np.einsum("mk,jn->mn", q, k), ["f32[4,6]", "f32[5,3]"]),
        ("einsum_one", lambda x: np.einsum("ij->j", x), [m]),
        ("einsum_outer", lambda a, b: np.einsum("i,j", a, b), ["f32[4]", "f32[3]"]),
        ("outer", lambda a, b: np.outer(a, b), ["f32[4]", "f32[3]"]),
        ("eye", lambda x: x @ np.eye(x.shape[1]) + np.identity(6).sum(), [m]),
        ("arange", lambda x: x * np.arange(x.shape[1]) + np.arange(1, x.shape[1] + 1), [m]),
        ("sizes", lambda x: x * x.shape[0] / (2 * x.shape[1] - 1) + x.size % 5, [m]),
        ("math_of_size", lambda x: x * math.sqrt(x.shape[1]) / np.sqrt(x.shape[0]), [m]),
        ("size_power", lambda x: x / x.shape[0] ** 0.5 + x.shape[0] ** 2, [m]),
        ("full", lambda x: x + np.full(x.shape, 2.5) + np.zeros_like(x) - np.full_like(x, 3), [m]),
        ("clip", lambda x: np.clip(x, 0.7, 1.1), [m]),
        ("elementwise", lambda x: np.sin(x) + np.cos(x) + np.log(x) * np.tanh(x) + np.reciprocal(x), [m]),
        ("two_results", lambda x: (x + 1, x.sum(axis=0)), [m]),
        ("constant_array", lambda x: x * np.float32(0.5) + np.ones((4, 6)), [m]),
        ("decided_branch", lambda x: x if x.shape[0] >= 1 and x.shape[0] + 1 > x.shape[0] else -x, [m]),
        ("unit_axis", lambda x, y: x + y, ["f32[4,1]", "f32[1,6]"]),
    ]


@pytest.mark.parametrize(
    ("name", "function", "specs"), _numpy_functions(), ids=lambda v: v if isinstance(v, str) else ""
)
def test_numpy_functions(name: str, function: Callable[..., Any], specs: list[str]) -> None:
    agrees(function, specs)


def test_erf_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "gelu.py"
    path.write_text(
        "import math\nimport numpy as np\n_erf = np.frompyfunc(math.erf, 1, 1)\n"
        "def gelu(x): return 0.5 * x * (1 + _erf(x / math.sqrt(2)))\n"
    )
    module = trace_file(str(path), None, ["f32[4]"])
    assert "tensor_hl.erf" in str(module)


def test_names_imported_from_math_and_numpy(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(
        "from math import sqrt\nfrom numpy import ones\ndef f(x): return x @ ones((x.shape[1], 1)) / sqrt(x.shape[1])\n"
    )
    text = str(trace_file(str(path), "f", ["f32[4,6]"]))
    assert 'tensor_hl.size "x1"' in text and "fixed = []" in text


def test_a_loop_specialises_and_says_where() -> None:
    def f(x, b=2):
        return sum(x[..., t : t + b].sum(axis=-1) for t in range(0, x.shape[-1], b))

    module = agrees(f, ["f32[4,7]"])
    line = f.__code__.co_firstlineno + 1
    assert f'fixed = [{{name = "x1", value = 7 : i64, where = "{__file__}:{line}"}}]' in str(module)


def test_sizes_given_as_names_and_products() -> None:
    def f(x, y):
        return x.reshape(y.shape) + y

    text = str(trace(f, ["f32[G*R,S]", "f32[G,R,S]"]))
    assert 'tensor_hl.reshape %x : tensor<?x?xf32, ["G * R", "S"]> -> tensor<?x?x?xf32, ["G", "R", "S"]>' in text
    assert "axon.values = {}" in text


def test_sums_of_sizes_and_a_size_as_a_number() -> None:
    def f(x, at):
        return x[:, :at].sum(axis=1, keepdims=True) * x[:, at:]

    module = trace(f, ["f32[M,P+2*Q]", "at=size[P]"])
    text = str(module)
    assert '%x: tensor<?x?xf32, ["M", "P + 2 * Q"]>' in text and '["M", "2 * Q"]' in text
    assert 'axon.constants = {at = "size[P]"}' in text
    x = np.random.default_rng(1).standard_normal((3, 9))
    (got,) = evaluate_function(function_of(module), [x], Float64(), sizes={"M": 3, "P": 5, "Q": 2})
    np.testing.assert_allclose(got, f(x, 5))


def test_our_names_avoid_the_users() -> None:
    text = str(trace(lambda x, y: (x, y), ["f32[4]", "f32[x0]"]))
    assert 'generic = ["x0_", "x0"]' in text or 'generic = ["x0", "x0_"]' in text


def test_common_factors_cancel() -> None:
    text = str(trace(lambda x, y: x + y, ["f32[G*R]", "f32[G*S]"]))
    assert 'generic = ["G", "R"]' in text


def test_a_comparison_that_holds_makes_sizes_equal() -> None:
    def f(x, y):
        assert x.shape[1] == y.shape[0] and x.shape[0] != 0.0
        return x.sum() + y.sum()

    text = str(trace(f, ["f32[4,6]", "f32[6]"]))
    assert 'generic = ["x0", "x1"], fixed = []' in text


def test_a_comparison_that_does_not_hold_specialises() -> None:
    def f(x, y):
        return x if x.shape[0] == y.shape[0] else y

    text = str(trace(f, ["f32[4]", "f32[6]"]))
    assert "generic = []" in text and 'name = "x0", value = 4' in text and 'name = "y0", value = 6' in text


def test_numbers_can_stay_numbers() -> None:
    text = str(trace(lambda x: x.sum(axis=1), ["f32[4,6]"], generic_numbers=False))
    assert "tensor<4x6xf32> -> tensor<4xf32>" in text


def test_equal_numbers_are_different_sizes_until_they_meet() -> None:
    text = str(trace(lambda x, y: (x, y), ["f32[4]", "f32[4]"]))
    assert 'generic = ["x0", "y0"]' in text
    text = str(trace(lambda x, y: x + y, ["f32[4]", "f32[4]"]))
    assert 'generic = ["x0"]' in text


def test_a_name_of_the_user_wins_over_ours() -> None:
    text = str(trace(lambda x, y: x + y, ["f32[4]", "f32[N]"]))
    assert 'generic = ["N"]' in text and "axon.values = {N = 4 : i64}" in text


def test_promotion() -> None:
    def element(function: Callable[..., Any], *specs: str) -> str:
        type_ = function_of(trace(function, list(specs))).function_type.outputs.data[0]
        assert isinstance(type_, TensorType)
        return str(type_.get_element_type())

    assert element(lambda x, y: x + y, "bf16[4]", "f32[4]") == "f32"
    assert element(lambda x, y: x + y, "bf16[4]", "f16[4]") == "f32"
    assert element(lambda x, a: x * a, "bf16[4]", "f32") == "bf16"
    assert element(lambda x: x * 2.5 + 1, "bf16[4]") == "bf16"
    assert element(lambda x: x * 2, "i32[4]") == "i32"
    assert element(lambda x, y: x + y, "i8[4]", "i32[4]") == "i32"
    assert element(lambda x, y: x * y, "i8[4]", "bf16[4]") == "bf16"
    assert element(lambda x: x > 1, "bf16[4]") == "i1"
    assert element(lambda x: x, "float8_e4m3[4]") == element(lambda x: x, "f8e4m3[4]") == "f8E4M3"
    assert element(lambda x, y: x + y, "f8E4M3[4]", "f8E5M2[4]") == "f32"
    assert element(lambda x: x.astype(ml_dtypes.float8_e5m2), "f32[4]") == "f8E5M2"
    assert element(lambda x: x.astype(np.float32), "bf16[4]") == "f32"
    assert element(lambda x: x @ np.ones((x.shape[1], 1)), "bf16[4,3]") == "bf16"
    assert element(lambda x: x.mean(), "bf16[4,3]") == "bf16"


@pytest.mark.parametrize("name", ["rms_mm", "rmsnorm", "axpby", "divrow", "var", "softmax"])
def test_bf16_runs_are_near(name: str) -> None:
    """Element types are those that a run with one rounding a step needs: no step is far from the reals."""
    specs = [s.replace("f32[", "bf16[") for s in SPECS[name]]
    function = getattr(PROGRAMS, f"ref_{name}")
    arrays = [a.astype(ml_dtypes.bfloat16).astype(np.float64) for a in _arrays(specs)]
    got = evaluate_function(function_of(trace(function, specs)), arrays, Float32(), typed=True)[0]
    want = function(*arrays)
    assert np.linalg.norm(got - want) < 0.02 * np.linalg.norm(want)
    assert np.array_equal(got, got.astype(ml_dtypes.bfloat16).astype(got.dtype))


def test_dtype_of_a_function_does_not_narrow() -> None:
    with pytest.raises(AxonError, match="does not take f32 operands"):
        trace(lambda x: np.add(x, 1, dtype=np.int32), ["f32[4]"])
    with pytest.raises(AxonError, match="with dtype=float32 is not supported"):
        trace(lambda x: np.greater(x, 1, dtype=np.float32), ["f32[4]"])


def test_means_round_once() -> None:
    text = str(trace(lambda x: np.mean(x, axis=0), ["bf16[4,3]"]))
    assert '-> tensor<?xf32, ["x1"]>' in text


def test_nothing_stays_rebound() -> None:
    before = (np.ones, np.eye, math.sqrt, np.frompyfunc, np.vectorize.__call__)
    trace(lambda x: x * math.sqrt(x.shape[0]), ["f32[4]"])
    with pytest.raises(Exception, match="needs the number"):
        trace(lambda x: x * int(x.shape[0]), ["f32[N]"])
    assert before == (np.ones, np.eye, math.sqrt, np.frompyfunc, np.vectorize.__call__)
