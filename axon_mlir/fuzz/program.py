# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A program as the fuzzer handles it: statements over named values, which print as a NumPy function.

A program knows nothing of what its statements mean: NumPy says that, by running the text in the precision asked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from axon_mlir.frontend.scipy_special import stand_in
from axon_mlir.frontend.traced import DTYPES, as_items

Array = NDArray[Any]

FUNCTION = "program"
"""What the function is called."""

FLOATS = ("f32", "bf16", "f16")

PARAMETERS = "xyzwuvst"
"""Names of parameters."""

IMPORTS: Mapping[str, str] = {
    "np": "import numpy as np",
    "math": "import math",
    "erf": "from scipy.special import erf",
    "bfloat16": "from ml_dtypes import bfloat16",
}
"""Name that a program uses -> the line that it comes from."""

HELPERS: Mapping[str, str] = {
    "sigmoid": "def sigmoid(x):\n    return 1 / (1 + np.exp(-x))",
    "silu": "def silu(x):\n    return x / (1 + np.exp(-x))",
    "relu": "def relu(x):\n    return np.maximum(x, 0)",
    "gelu": "def gelu(x):\n    return 0.5 * x * (1 + erf(x / math.sqrt(2)))",
    "gelu_tanh": (
        "def gelu_tanh(x):\n    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)\n"
        "    return 0.5 * x * (1 + np.tanh(inner))"
    ),
    "softmax": (
        "def softmax(x, axis=-1):\n    e = np.exp(x - x.max(axis=axis, keepdims=True))\n"
        "    return e / e.sum(axis=axis, keepdims=True)"
    ),
    "log_softmax": (
        "def log_softmax(x, axis=-1):\n    shifted = x - np.max(x, axis=axis, keepdims=True)\n"
        "    return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))"
    ),
    "rms_norm": (
        "def rms_norm(x, eps=1e-5):\n    return x / np.sqrt(np.mean(np.square(x), axis=-1, keepdims=True) + eps)"
    ),
    "layer_norm": (
        "def layer_norm(x, eps=1e-3):\n    mean = x.mean(axis=-1, keepdims=True)\n"
        "    return (x - mean) / np.sqrt(np.var(x, axis=-1, keepdims=True) + eps)"
    ),
}
"""Function that a program may call -> its definition."""


@dataclass(frozen=True)
class Input:
    """A parameter: its element type, and its shape (None: a Python number that is known at run time)."""

    name: str
    dtype: str
    shape: tuple[int, ...] | None

    @property
    def spec(self) -> str:
        """The text of `--arg`."""
        return self.dtype if self.shape is None else f"{self.dtype}[{','.join(map(str, self.shape))}]"


@dataclass(frozen=True)
class Step:
    """A statement that makes the value `out`.

    `text` is an expression with `{0}`, `{1}`, ... for the operands, or, where it mentions `{out}`, lines that
    assign it.
    """

    out: str
    text: str
    operands: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """As it is printed."""
        text = self.text if "{out}" in self.text else "{out} = " + self.text
        return text.format(*self.operands, out=self.out).split("\n")


@dataclass(frozen=True)
class Program:
    """A function of NumPy."""

    inputs: tuple[Input, ...]
    steps: tuple[Step, ...]
    outputs: tuple[str, ...]

    # -- text ---------------------------------------------------------------------------------------------------------

    @property
    def specs(self) -> list[str]:
        """The texts of `--arg`."""
        return [i.spec for i in self.inputs]

    def source(self, header: str = "") -> str:
        """The text of a Python file."""
        body = "\n".join(line for step in self.steps for line in step.lines())
        used = _names(body)
        helpers = [text for name, text in HELPERS.items() if name in used]
        for text in helpers:
            used |= _names(text)
        parts = [f'"""{header}"""'] if header else []
        parts += ["\n".join(text for name, text in IMPORTS.items() if name in used)]
        parts += [f"\n{text}\n" for text in helpers]
        parameters = ", ".join(i.name for i in self.inputs)
        lines = [f"def {FUNCTION}({parameters}):", *body.split("\n"), f"return {', '.join(self.outputs)}"]
        parts += ["\n" + "\n    ".join(line for line in lines if line) + "\n"]
        return "\n".join(parts).strip() + "\n"

    def pruned(self) -> Program:
        """Without the statements and parameters that no output depends on."""
        needed = set(self.outputs)
        kept: list[Step] = []
        for step in reversed(self.steps):
            if step.out in needed:
                needed |= set(step.operands)
                kept.append(step)
        inputs = tuple(i for i in self.inputs if i.name in needed)
        return replace(self, inputs=inputs, steps=tuple(reversed(kept)))

    def renamed(self) -> Program:
        """With parameters and values named in order."""
        names = {i.name: name for i, name in zip(self.inputs, PARAMETERS, strict=False)}
        names |= {step.out: f"v{n}" for n, step in enumerate(self.steps)}
        return Program(
            tuple(replace(i, name=names[i.name]) for i in self.inputs),
            tuple(Step(names[s.out], s.text, tuple(names[o] for o in s.operands)) for s in self.steps),
            tuple(names[o] for o in self.outputs),
        )

    # -- meaning ------------------------------------------------------------------------------------------------------

    def run(self, arrays: Sequence[Array], precision: type[np.floating[Any]] = np.float64) -> list[Array]:
        """What the program returns for arguments; every float type in its text is `precision`."""
        given = [convert(a, precision) for a in arrays]
        with np.errstate(all="ignore"):
            result: Any = compiled(self.source(), precision)(*given)
        return [np.asarray(r) for r in as_items(result)]

    def arguments(self, seed: int) -> list[Array]:
        """Standard normal floats, small integers, truth values."""
        return [sample(i, seed, n) for n, i in enumerate(self.inputs)]


def sample(given: Input, seed: int, position: int) -> Array:
    """An argument for a parameter."""
    source = np.random.default_rng((seed, position))
    shape, dtype = given.shape or (), DTYPES[given.dtype]
    if given.dtype in FLOATS:
        return np.asarray(source.standard_normal(shape, np.float32).astype(dtype))
    low, high = (0, 2) if given.dtype == "i1" else (-8, 9)
    return np.asarray(source.integers(low, high, shape).astype(dtype))


def convert(array: Array, precision: type[np.floating[Any]]) -> Array:
    """Floats in another precision; a rank 0 array is a number, as Python has it."""
    floats = array.dtype in [DTYPES[name] for name in FLOATS] or array.dtype == np.float64
    out = array.astype(precision) if floats else array.copy()
    return out if out.ndim else out[()]


class _Precision:
    """NumPy, with one float type in the place of all."""

    def __init__(self, precision: type[np.floating[Any]]):
        self._floats: Mapping[str, Any] = {"float16": precision, "float32": precision}

    def __getattr__(self, name: str) -> Any:
        return self._floats.get(name) or getattr(np, name)


def compiled(source: str, precision: type[np.floating[Any]]) -> Callable[..., Any]:
    """The function of a program's text."""
    stand_in()
    scope: dict[str, Any] = {}
    exec(compile(source, "<program>", "exec"), scope)
    scope["np"] = _Precision(precision)
    if "bfloat16" in scope:
        scope["bfloat16"] = precision
    return scope[FUNCTION]


def _names(text: str) -> set[str]:
    return set(re.findall(r"\b[A-Za-z_]\w*\b", text))


def operations(steps: Iterable[Step]) -> list[str]:
    """What a program consists of, for statistics: the functions and methods that its text calls."""
    return sorted({name for step in steps for name in re.findall(r"(\w+)\(", step.text)})


__all__ = ["FLOATS", "FUNCTION", "Array", "Input", "Program", "Step", "compiled", "operations", "sample"]
