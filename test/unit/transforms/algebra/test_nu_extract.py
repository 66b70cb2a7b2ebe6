# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The search finds what trying everything finds; the cost counts what it says."""

from __future__ import annotations

import random
from itertools import product
from math import prod

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.transforms.dead_code_elimination import region_dce

from axon_mlir.cli.opt import print_module
from axon_mlir.dialects.nu import ChoiceOp, choices_of, inline_alternative
from axon_mlir.host.parsing import parse_module
from axon_mlir.host.registry import make_context
from axon_mlir.host.verification import verify_module
from axon_mlir.semantics import terms as t
from axon_mlir.semantics.index import Index, Size, evaluate
from axon_mlir.semantics.meaning import parse_op
from axon_mlir.transforms.algebra.nu_extract import Costs, NuExtract, element_operations

SIZES = {"M": 3, "K": 7, "N": 5, "A": 4, "B": 6}


def count(text: str, *ranks: str, **attributes: object) -> int:
    """The element operations of a meaning for operands with the given sizes, such as "MK"."""
    operands = [
        t.tensor_input(f"in{n}", [Index({(Size(letter),): 1}) for letter in rank]) for n, rank in enumerate(ranks)
    ]

    def number(extent: Index) -> int:
        return int(evaluate(extent, {Size(name): value for name, value in SIZES.items()}))

    return sum(element_operations(r, number) for r in parse_op(text).denote(operands, attributes))


@pytest.mark.parametrize(
    ("text", "ranks", "expected"),
    [
        ("op mul(a[M, K], b[M, K]) -> c[M, K] { c[m, k] = a[m, k] * b[m, k] }", ["MK", "MK"], 3 * 7),
        (
            "op mm(a[M, K], b[K, N]) -> c[M, N] { c[m, n] = sum(k < K: a[m, k] * b[k, n]) }",
            ["MK", "KN"],
            2 * 3 * 5 * 7,
        ),
        ("op sum(a[M, K]) -> c[M] { c[m] = sum(k < K: a[m, k]) }", ["MK"], 3 * 7),
        # What a fold does not depend on is computed once: the row's sum, and its square root.
        ("op n(a[M, K]) -> c[M, K] { c[m, k] = a[m, k] / sqrt(sum(q < K: a[m, q])) }", ["MK"], 2 * 3 * 7 + 3),
        ("op scan(a[M, K]) -> c[M, K] { c[m, k] = sum(q <= k: a[m, q]) }", ["MK"], 3 * 7),
        ("op transpose(a[M, K]) -> c[K, M] { c[k, m] = a[m, k] }", ["MK"], 3 * 7),
        ("op cast(a[M, K]) -> c[M, K] { c[m, k] = identity(a[m, k]) }", ["MK"], 3 * 7),
        ("op rows(a[M], b[K]) -> c[M, K] { c[m, k] = a[m] }", ["M", "K"], 0),
        ("op pick(a[M], b[M]) -> c[M] { c[m] = if a[m] < b[m] then -a[m] else b[m] }", ["M", "M"], 2 * 3),
    ],
)
def test_element_operations(text: str, ranks: list[str], expected: int):
    assert count(text, *ranks) == expected


class GraphWriter:
    """Writes a random function with choices, nested ones too, that share operands and have dead results."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.names = 0

    def fresh(self) -> str:
        self.names += 1
        return f"%v{self.names}"

    def operation(self, values: list[str]) -> None:
        name = self.fresh()
        kind = self.random.choice(("exp", "neg", "abs"))
        self.lines.append(f"{name} = tensor_hl.{kind} {self.random.choice(values)} : tensor<f32>")
        values.append(name)

    def choice(self, values: list[str], depth: int) -> None:
        inputs = self.random.choices(values, k=2)
        results = [self.fresh(), self.fresh()]
        self.lines.append(
            f"{', '.join(results)} = nu.choice({', '.join(inputs)}) : "
            "(tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>) {"
        )
        for number in range(self.random.randint(1, 3)):
            verdict = self.random.choice(("proved", "proved", "proved", "unknown")) if number else "proved"
            inner = [self.fresh(), self.fresh()]
            self.lines.append(f'alternative a{number} {verdict} "E" ({", ".join(inner)}) {{')
            for _ in range(self.random.randint(0, 3)):
                self.operation(inner)
            if depth and self.random.random() < 0.4:
                self.choice(inner, depth - 1)
            yielded = self.random.choices(inner, k=2)
            self.lines += [f"nu.yield {', '.join(yielded)} : tensor<f32>, tensor<f32>", "}"]
        self.lines.append("}")
        values += results

    def function(self) -> str:
        values = ["%x"]
        for _ in range(self.random.randint(2, 4)):
            self.operation(values)
            self.choice(values, 1)
        results = self.random.choices(values[-3:], k=2)
        body = "\n".join(self.lines)
        return (
            "func.func @f(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>) {\n"
            f"{body}\nfunc.return {', '.join(results)} : tensor<f32>, tensor<f32>\n}}"
        )


def only_function(module: ModuleOp) -> FuncOp:
    (function,) = (op for op in module.ops if isinstance(op, FuncOp))
    return function


def cost(function: FuncOp) -> int:
    """What all operations of a function without choices cost."""
    costs = Costs(function)
    return sum(costs.of(op) for op in function.walk())


def key(function: FuncOp) -> str:
    """A text that is the same for structurally equal bodies."""
    copy = function.clone(clone_name_hints=False)
    copy.attributes.clear()
    copy.sym_name = StringAttr("f")
    return print_module(ModuleOp([copy]), generic=True)


def proved(choice: ChoiceOp) -> list[int]:
    return [n for n, a in enumerate(choice.alternatives.data) if a.verdict.data == "proved"]


def everything(text: str, context: Context) -> dict[str, int]:
    """Every structure with its cost, by trying all combinations."""
    structures: dict[str, int] = {}
    function = only_function(parse_module(text, "graph", context))
    options = [proved(c) for c in choices_of(function).values()]
    assert prod(map(len, options)) < 5000
    for picks in product(*options):
        copy = function.clone()
        for choice, number in zip(choices_of(copy).values(), picks, strict=True):
            # A choice in an alternative that was not taken is gone.
            if choice.parent is not None:
                inline_alternative(choice, number)
        region_dce(copy.body)
        structures[key(copy)] = cost(copy)
    return structures


@pytest.mark.parametrize("seed", range(25))
def test_extraction_finds_what_trying_everything_finds(seed: int):
    context = make_context()
    text = GraphWriter(seed).function()
    expected = everything(text, context)
    for k in (1, 3, 100000):
        module = parse_module(text, "graph", context)
        verify_module(module)
        NuExtract(k).apply(context, module)
        verify_module(module)
        found = [op for op in module.ops if isinstance(op, FuncOp)]
        keys = [key(f) for f in found]
        costs = [cost(f) for f in found]
        assert len(set(keys)) == len(keys) == min(k, len(expected))
        assert costs == sorted(expected.values())[: len(costs)]
        assert all(expected[text] == c for text, c in zip(keys, costs, strict=True))


def test_ties_are_broken_by_the_order_of_the_alternatives():
    lines = [f"%{n + 1} = nu.choice(%{n}) : (tensor<f32>) -> tensor<f32> {{{ALTERNATIVES}}}" for n in range(2)]
    body = "\n".join(lines).replace("#", "\n")
    text = f"func.func @f(%0: tensor<f32>) -> tensor<f32> {{\n{body}\nfunc.return %2 : tensor<f32>\n}}"
    context = make_context()
    module = parse_module(text, "graph", context)
    NuExtract(3).apply(context, module)
    picks = [f.attributes["nu.picks"] for f in module.ops if isinstance(f, FuncOp)]
    assert picks == [
        DictionaryAttr({"choice0": StringAttr(a), "choice1": StringAttr(b)})
        for a, b in (("exp", "exp"), ("abs", "exp"), ("exp", "abs"))
    ]


ALTERNATIVES = "#".join(
    f'alternative {f} proved "E" (%a) {{ %b = tensor_hl.{f} %a : tensor<f32> nu.yield %b : tensor<f32> }}'
    for f in ("exp", "abs")
)


def test_many_independent_choices_are_not_enumerated():
    lines: list[str] = []
    for n in range(24):
        lines.append(f"%{n + 1} = nu.choice(%{n}) : (tensor<f32>) -> tensor<f32> {{{ALTERNATIVES}}}")
    body = "\n".join(lines)
    text = f"func.func @f(%0: tensor<f32>) -> tensor<f32> {{\n{body}\nfunc.return %24 : tensor<f32>\n}}"
    context = make_context()
    module = parse_module(text.replace("#", "\n"), "graph", context)
    NuExtract(8).apply(context, module)
    assert len([f for f in module.ops if isinstance(f, FuncOp)]) == 8
