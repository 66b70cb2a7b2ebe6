# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every operation computes what its NumPy counterpart computes, and decomposition changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp, f32, i32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

from axon_mlir.dialects.tensor_hl import ELEMENTWISE, OPERATIONS, TensorHlOp
from axon_mlir.host.registry import make_context
from axon_mlir.semantics.denotation import denote_function
from axon_mlir.semantics.domains import Float64
from axon_mlir.semantics.functions import FUNCTIONS
from axon_mlir.semantics.index import const, size
from axon_mlir.semantics.interpret import evaluate_function
from axon_mlir.semantics.shapes import tensor_type
from axon_mlir.semantics.walk import reads_undefined
from axon_mlir.transforms.algebra.tensor_hl_canonicalize import TensorHlCanonicalize
from axon_mlir.transforms.algebra.tensor_hl_decompose import EXPANSIONS, TensorHlDecompose

M, N = size("M"), size("N")


def build(name: str, shapes: list[tuple[Any, ...]], **attributes: Any) -> tuple[ModuleOp, FuncOp]:
    """A module with a function that is one operation."""
    other = {"gather": {1: "i32"}, "scatter": {1: "i32"}, "masked_attention": {3: "i1"}}.get(name, {})
    types = [tensor_type(s, other.get(n, "f32")) for n, s in enumerate(shapes)]
    block = Block(arg_types=types)
    op = OPERATIONS[name](*block.args, element_type=attributes.pop("element_type", f32), **attributes)
    assert isinstance(op, TensorHlOp)
    block.add_ops([op, ReturnOp(op.result)])
    function = FuncOp("f", (types, [op.result.type]), Region(block))
    module = ModuleOp([function])
    module.verify()
    return module, function


def run(function: FuncOp, *arrays: np.ndarray[Any, Any], **sizes: int) -> np.ndarray[Any, Any]:
    return evaluate_function(function, arrays, Float64(), sizes={"M": 4, "N": 7, **sizes})[0]


RNG = np.random.default_rng(5)
X = RNG.uniform(0.5, 1.5, (4, 7))
Y = RNG.uniform(0.5, 1.5, (4, 7))


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise(name: str) -> None:
    arity = FUNCTIONS[name].arity
    _, function = build(name, [(M, N)] * arity)
    np.testing.assert_allclose(run(function, *[X, Y][:arity]), FUNCTIONS[name].numpy(*[X, Y][:arity]), rtol=1e-12)


def _softmax(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    e = np.exp(x - x.max(axis=0, keepdims=True))
    return e / e.sum(axis=0, keepdims=True)


def _layer_norm(x: Any, g: Any, b: Any) -> Any:
    c = x - x.mean(axis=-1, keepdims=True)
    return c / np.sqrt((c * c).mean(axis=-1, keepdims=True) + 0.25) * g + b


WIDE = RNG.normal(size=(4, 14))
HEADS: list[tuple[Any, ...]] = [(const(2), M, const(3)), (const(2), N, const(3)), (const(2), N, const(5))]
QKV = [RNG.normal(size=(2, 4, 3)), RNG.normal(size=(2, 7, 3)), RNG.normal(size=(2, 7, 5))]


def _rope(x: Any, c: Any, s: Any) -> Any:
    a, b = np.split(x, 2, axis=1)
    return np.concatenate([a * c - b * s, a * s + b * c], axis=1)


def _attention(q: Any, k: Any, v: Any, mask: Any = True) -> Any:
    scores = np.where(mask, 0.5 * q @ k.swapaxes(-1, -2), -np.inf)
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True) @ v


PLACES = np.array([[0, 6, 3], [3, 3, 1]])
LABELS = np.array([6, 0, 2, 2])
ROW = np.array([5, 0, 5])


def _backwards(x: Any) -> Any:
    return x[::-1, ::-3]


def _inserted(x: Any, y: Any) -> Any:
    out = x.copy()
    out[1:3, ::2] = y
    return out


def _scattered(x: Any, i: Any, y: Any) -> Any:
    out = x.copy()
    out[:, i] = y
    return out


def _recurrence(a: Any, b: Any) -> Any:
    out = np.zeros_like(b)
    for n in range(b.shape[1]):
        out[:, n] = (a[:, n] * out[:, n - 1] if n else 0) + b[:, n]
    return out


CASES: list[tuple[str, list[tuple[Any, ...]], dict[str, Any], list[Any], Callable[..., Any]]] = [
    ("transpose", [(M, N)], {"perm": [1, 0]}, [X], lambda x: x.T),
    (
        "transpose",
        [(M, N, const(3))],
        {"perm": [2, 0, 1]},
        [RNG.normal(size=(4, 7, 3))],
        lambda x: x.transpose(2, 0, 1),
    ),
    ("reshape", [(M, N)], {"shape": (N * M,)}, [X], lambda x: x.reshape(-1)),
    ("reshape", [(const(28),)], {"shape": (const(4), const(7))}, [X.reshape(-1)], lambda x: x.reshape(4, 7)),
    ("broadcast", [(N,)], {"dims": [1], "shape": (M, N)}, [X[0]], lambda x: np.broadcast_to(x, (4, 7))),
    ("broadcast", [(const(1), N)], {"dims": [0, 1], "shape": (M, N)}, [X[:1]], lambda x: np.broadcast_to(x, (4, 7))),
    ("squeeze", [(const(1), N)], {"axes": [0]}, [X[:1]], lambda x: x[0]),
    (
        "slice",
        [(M, N)],
        {"offsets": [const(1), const(0)], "sizes": [M - 2, (N + 1) // 2], "steps": [1, 2]},
        [X],
        lambda x: x[1:-1, ::2],
    ),
    ("concat", [(M, N), (M, N)], {"axis": 1}, [X, Y], lambda x, y: np.concatenate([x, y], axis=1)),
    (
        "pad",
        [(M, N), ()],
        {"axis": 0, "low": 1, "high": 2},
        [X, np.float64(9)],
        lambda x, v: np.pad(x, ((1, 2), (0, 0)), constant_values=v),
    ),
    ("reduce", [(M, N)], {"monoid": "sum", "axes": [0, 1]}, [X], lambda x: x.sum()),
    ("reduce", [(M, N)], {"monoid": "max", "axes": [0]}, [X], lambda x: x.max(axis=0)),
    ("reduce", [(M, N)], {"monoid": "prod", "axes": [1]}, [X], lambda x: x.prod(axis=1)),
    ("scan", [(M, N)], {"monoid": "sum", "axis": 0}, [X], lambda x: x.cumsum(axis=0)),
    ("scan", [(M, N)], {"monoid": "max", "axis": 1}, [X], lambda x: np.maximum.accumulate(x, axis=1)),
    ("matmul", [(M, N), (M, N)], {"lhs_contract": [1], "rhs_contract": [1]}, [X, Y], lambda x, y: x @ y.T),
    (
        "matmul",
        [(M, N), (M, N)],
        {"batch": 1, "lhs_contract": [1], "rhs_contract": [1]},
        [X, Y],
        lambda x, y: (x * y).sum(-1),
    ),
    ("matmul", [(M, N), (M, N)], {"lhs_contract": [1, 0], "rhs_contract": [1, 0]}, [X, Y], lambda x, y: (x * y).sum()),
    ("slice", [(M, N)], {"offsets": [M - 1, N - 1], "sizes": [M, (N + 2) // 3], "steps": [-1, -3]}, [X], _backwards),
    ("insert", [(M, N), (M - 2, (N + 1) // 2)], {"offsets": [1, 0], "steps": [1, 2]}, [X, Y[:2, :4]], _inserted),
    ("repeat", [(M, N)], {"axis": 1, "times": 3}, [X], lambda x: np.repeat(x, 3, axis=1)),
    ("tile", [(M, N)], {"axis": 0, "times": 2}, [X], lambda x: np.tile(x, (2, 1))),
    ("gather", [(M, N), (const(2), const(3))], {"axis": 1}, [X, PLACES], lambda x, i: x[:, i]),
    ("gather", [(M, N), (M,)], {"batch": 1, "axis": 1}, [X, LABELS], lambda x, i: x[np.arange(4), i]),
    ("scatter", [(M, N), (const(3),), (M, const(3))], {"axis": 1}, [X, ROW, Y[:, :3]], _scattered),
    ("clamp", [(M, N), (), ()], {}, [X, np.float64(0.8), np.float64(1.2)], np.clip),
    ("mean", [(M, N)], {"axes": [0, 1]}, [X], lambda x: x.mean()),
    ("mean", [(M, N)], {"axes": [0]}, [X], lambda x: x.mean(axis=0)),
    ("affine_scan", [(M, N), (M, N)], {"axis": 1}, [X, Y], _recurrence),
    ("softmax", [(M, N)], {"axis": 0}, [X], _softmax),
    ("log_softmax", [(M, N)], {"axis": 0}, [X], lambda x: np.log(_softmax(x))),
    ("rope", [(M, 2 * N), (M, N), (M, N)], {"pairing": "half"}, [WIDE, X, Y], _rope),
    (
        "rope",
        [(M, 2 * N), (M, N), (M, N)],
        {"pairing": "interleaved"},
        [WIDE, X, Y],
        lambda x, c, s: (
            _rope(np.concatenate([x[:, 0::2], x[:, 1::2]], 1), c, s).reshape(4, 2, 7).swapaxes(1, 2).reshape(4, 14)
        ),
    ),
    ("attention", HEADS, {"mask": "none", "scale": 0.5}, QKV, _attention),
    (
        "attention",
        HEADS,
        {"mask": "causal", "scale": 0.5},
        QKV,
        lambda q, k, v: _attention(q, k, v, np.tri(4, 7, 3) == 1),
    ),
    ("masked_attention", [*HEADS, (M, N)], {"scale": 0.5}, [*QKV, X > 0.9], _attention),
    (
        "rms_norm",
        [(M, N), (N,)],
        {"eps": 0.5},
        [X, Y[0]],
        lambda x, g: x / np.sqrt((x * x).mean(-1, keepdims=True) + 0.5) * g,
    ),
    ("layer_norm", [(M, N), (N,), (N,)], {"eps": 0.25}, [X, Y[0], Y[1]], _layer_norm),
    ("gelu", [(M, N)], {}, [X], lambda x: 0.5 * x * (1 + FUNCTIONS["erf"].numpy(x / np.sqrt(2)))),
    ("gelu_tanh", [(M, N)], {}, [X], lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))),
]


@pytest.mark.parametrize(("name", "shapes", "attributes", "arrays", "want"), CASES, ids=[c[0] for c in CASES])
def test_operations(
    name: str, shapes: list[tuple[Any, ...]], attributes: dict[str, Any], arrays: list[Any], want: Callable[..., Any]
) -> None:
    module, function = build(name, shapes, **attributes)
    expected = want(*arrays)
    got = run(function, *arrays)
    assert np.shape(got) == np.shape(expected)
    np.testing.assert_allclose(got, expected, rtol=1e-12)
    for step in (TensorHlDecompose(), TensorHlCanonicalize()):
        step.apply(make_context(), module)
        module.verify()
        np.testing.assert_allclose(run(function, *arrays), expected, rtol=1e-12)


def test_creation() -> None:
    _, function = build("iota", [], axis=1, shape=(const(2), const(3)))
    np.testing.assert_array_equal(run(function), [[0, 1, 2], [0, 1, 2]])
    _, function = build("constant", [], value=0.1, shape=(const(2),))
    np.testing.assert_array_equal(run(function), [0.1, 0.1])
    _, function = build("size", [], term=2 * N + 1)
    assert run(function, N=4) == 9


def test_truncate() -> None:
    _, function = build("truncate", [(M, N)], element_type=i32)
    x = np.linspace(-3.5, 3.5, 28).reshape(4, 7)
    np.testing.assert_array_equal(run(function, x), np.trunc(x))


def test_empty() -> None:
    _, function = build("empty", [], shape=(M, N))
    assert np.all(np.isnan(run(function)))
    (output,) = denote_function(function).outputs
    assert reads_undefined(output.body)


@pytest.mark.parametrize("name", ["silu", "sigmoid", "relu"])
def test_activations_decompose(name: str) -> None:
    assert f"tensor_hl.{name}" in EXPANSIONS
    module, function = build(name, [(M, N)])
    TensorHlDecompose().apply(make_context(), module)
    assert f"tensor_hl.{name}" not in str(module)
    np.testing.assert_allclose(run(function, X), FUNCTIONS[name].numpy(X), rtol=1e-12)


def test_compare_and_select() -> None:
    for predicate, relation in (("lt", np.less), ("ge", np.greater_equal), ("ne", np.not_equal)):
        types = [tensor_type((M, N), "f32")] * 2
        block = Block(arg_types=types)
        test = OPERATIONS["compare"](*block.args, predicate=predicate)
        chosen = OPERATIONS["select"](test, *block.args)
        block.add_ops([test, chosen, ReturnOp(chosen)])
        function = FuncOp("f", (types, [chosen.results[0].type]), Region(block))
        ModuleOp([function]).verify()
        np.testing.assert_array_equal(run(function, X, Y), np.where(relation(X, Y), X, Y))
