# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What random programs are made of: tables of expressions, and rules for those whose text depends on shapes.

A rule looks at a draft and proposes a statement, or nothing where it does not fit. `{0}`, `{1}` are the operands, `{c}`
in a table is a positive constant.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from axon_mlir.fuzz.draft import Draft, Made, Value

Rule = Callable[[Draft], Made | None]

CONSTANTS = (0.1, 0.25, 0.5, 0.7, 1, 1.5, 2, 3)

UNARY = (
    "np.exp(-np.abs({0}))", "np.exp(np.minimum({0}, {c}))", "np.log(np.abs({0}) + {c})", "np.log1p(np.square({0}))",
    "np.sqrt(np.square({0}) + {c})", "1 / np.sqrt(np.square({0}) + {c})", "np.sqrt(np.abs({0}) + {c})", "np.tanh({0})",
    "np.sin({0})", "np.cos({0})", "np.square({0})", "1 / (1 + np.exp(-{0}))", "np.reciprocal(np.abs({0}) + {c})",
    "sigmoid({0})", "silu({0})", "gelu({0})", "gelu_tanh({0})", "relu({0})", "erf({0})", "np.expm1(np.minimum({0}, 1))",
    "(np.abs({0}) + {c}) ** -0.5", "(np.square({0}) + {c}) ** 1.5", "{0} ** 3", "{0} ** 2", "np.power({0}, 2)",
    "np.power(np.abs({0}) + {c}, -1)", "{0} / np.sqrt({c} + {0} * {0})", "{0} * {0}", "np.exp({0})",
    "np.where({0} > 0, {0}, {c} * {0})", "np.clip({0}, -{c}, {c})", "np.maximum({0}, {c})", "np.minimum(-{c}, {0})",
    "{0} * {c}", "{0} + {c}", "{c} - {0}", "{0} / {c}", "{c} / (1 + np.abs({0}))", "-{0}", "np.abs({0})", "abs({0})",
    "np.log2(np.abs({0}) + {c})", "np.exp2(-np.abs({0}))", "np.negative({0})", "+{0}", "{0}.clip(-{c}, {c})",
)  # fmt: skip
"""Expressions of one operand of floats."""
JUMPS = (
    "np.sign({0})", "np.floor({0})", "np.ceil({0})", "np.floor({0} * 2)", "np.where({0} > {c}, {0}, 0)",
    "np.where({0} <= -{c}, 0, {0} + 1)", "({0} > 0).astype(np.float32)", "np.where(np.abs({0}) < {c}, 1, {0} * 2)",
    "np.where(({0} > -{c}) & ({0} < {c}), {0}, -1)", "{0} // 0.5", "{0} % 0.75", "np.trunc({0})", "np.rint({0})",
    "np.where(({0} < -1) | ({0} >= 1), {0}, 0)", "np.where(~({0} > 0), 0, {0})", "{0} * ({0} > 0)",
    "np.where({0} == 0, 1, {0})", "{0} * ({0} != 0)", "{0} > {c}", "{0}.astype(np.int32)", "np.round({0})",
)  # fmt: skip
"""Expressions of one operand that jump."""
BINARY = (
    "{0} + {1}", "{0} - {1}", "{0} * {1}", "{0} + {1}", "{0} * {1}", "np.maximum({0}, {1})", "np.minimum({0}, {1})",
    "{0} / (np.abs({1}) + {c})", "{0} / (1 + np.square({1}))", "np.add({0}, {1})", "np.multiply({0}, np.tanh({1}))",
    "{0} * sigmoid({1})", "{0} * {c} + {1}", "np.subtract({1}, {0})", "silu({0}) * {1}", "({0} + {1}) / {c}",
    "{0} * np.exp(-np.abs({1}))", "np.sqrt(np.square({0}) + np.square({1}) + {c})",
)  # fmt: skip
"""Expressions of two operands of floats that broadcast."""
BINARY_JUMPS = (
    "np.where({0} > {1}, {0}, {1} * {c})", "np.where({0} < {1}, {c}, {1})", "{0} * ({0} >= {1})", "{0} > {1}",
    "np.where({0} > {1}, {1}, {0} - {c})",
)  # fmt: skip
INTEGERS = (
    "{0} + {1}", "{0} - {1}", "np.maximum({0}, {1})", "{0} * {1}", "np.abs({0}) + {1}", "np.where({0} > {1}, {0}, {1})",
)  # fmt: skip
"""Expressions of two operands of integers."""
FOLDS = ("sum", "mean", "max", "min", "var", "std", "sum", "max", "mean")
NORMS = ("softmax", "log_softmax", "rms_norm", "layer_norm")


def _constants(d: Draft, text: str) -> str:
    while "{c}" in text:
        text = text.replace("{c}", repr(d.choice(CONSTANTS)), 1)
    return text


def _from_table(table: tuple[str, ...], *, exact: bool) -> Rule:
    def rule(d: Draft) -> Made | None:
        x = d.real(accept=lambda v: v.exact or not exact)
        return x and Made(_constants(d, d.choice(table)), (x,), exact=exact and d.dtype == "f32")

    return rule


unary = _from_table(UNARY, exact=False)
jumps = _from_table(JUMPS, exact=True)


def plain(d: Draft) -> Made | None:
    """A function that rounds nothing."""
    x = d.real()
    table = (
        "-{0}",
        "np.abs({0})",
        "np.maximum({0}, {c})",
        "np.minimum({0}, {c})",
        "np.clip({0}, -1, {c})",
        "relu({0})",
    )
    return x and Made(_constants(d, d.choice(table)), (x,), exact=True)


# -- two operands -----------------------------------------------------------------------------------------------------


def _meets(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    return all(m == n or 1 in (m, n) for m, n in zip(reversed(a), reversed(b), strict=False))


def _pair(d: Draft, accept: Callable[[Value], bool] = lambda v: True) -> tuple[Value, Value] | None:
    """Two values of floats that broadcast; the second may be a new parameter."""
    a = d.real(accept=accept)
    if a is None:
        return None
    if not d.full and d.chance(0.25):
        kept = a.shape[d.source.randint(0, max(0, a.ndim - 1)) :]
        return a, d.input(tuple(1 if d.chance(0.2) else n for n in kept))
    b = d.real(accept=lambda v: _meets(v.shape, a.shape) and accept(v))
    return None if b is None else (a, b)


def binary(d: Draft) -> Made | None:
    """An operator between values that broadcast."""
    pair = _pair(d)
    if pair is None:
        return None
    text = d.choice(BINARY)
    return Made(_constants(d, text), pair if d.chance(0.5) else pair[::-1], exact=text.startswith("np.m"))


def binary_jumps(d: Draft) -> Made | None:
    """A comparison of values that broadcast."""
    pair = _pair(d, lambda v: v.exact)
    return pair and Made(_constants(d, d.choice(BINARY_JUMPS)), pair)


def aligned(d: Draft) -> Made | None:
    """A value of lower rank spread along an axis of another that has its size."""
    a = d.real(2)
    v = d.real(1, lambda v: v.ndim == 1)
    if a is None or v is None or v.shape[0] not in a.shape:
        return None
    axis = a.shape.index(v.shape[0])
    key = ", ".join([":", *["None"] * (a.ndim - axis - 1)])
    return Made(f"{{0}} {d.choice('+-*')} {{1}}[{key}]", (a, v))


def scalar(d: Draft) -> Made | None:
    """A number that is known at run time, or a size."""
    x = d.real(1)
    if x is None:
        return None
    if d.chance(0.5):
        axis = d.axis(x)
        text = d.choice(
            ("{0} / {0}.shape[A]", "{0} / math.sqrt({0}.shape[A])", "{0} * (1 / {0}.shape[A])", "{0} / {0}.size")
        )
        return Made(text.replace("A", str(axis)), (x,))
    numbers = [v for v in d.values.values() if v.shape == () and v.varies and v.kind == "f"]
    s = d.choice(numbers) if numbers else None if d.full else d.input(None, "f32")
    return s and Made(d.choice(("{0} * {1}", "{0} + {1}", "{1} - {0}", "np.maximum({0}, {1})")), (x, s))


def integers(d: Draft) -> Made | None:
    """Arithmetic of integers."""
    whole = [v for v in d.values.values() if v.kind == "i"]
    if not whole:
        return None if d.full else Made("{0} * 2", (d.input(d.shape(d.choice((1, 2))), d.choice(("i32", "i8"))),))
    a = d.choice(whole)
    b = d.choice([v for v in whole if _meets(a.shape, v.shape)])
    if d.chance(0.5):
        return Made(d.choice(("{0}.astype(np.float32)", "{0} * 0.5", "np.where({0} > 0, 1.5, 0.5)")), (a,), exact=True)
    return Made(d.choice(INTEGERS), (a, b), exact=True)


def logic(d: Draft) -> Made | None:
    """What truth values are for."""
    known = [v for v in d.values.values() if v.kind == "b"]
    x = d.real(1)
    if x is None:
        return None
    if not known:
        return None if d.full else Made("np.where({0}, {1}, 0)", (d.input(x.shape, "i1"), x), exact=True)
    m = d.choice(known)
    masked = ("np.where({0}, {1}, 0)", "{1} * {0}", "np.where(~{0}, -1, {1})")
    if _meets(m.shape, x.shape) and d.chance(0.8):
        return Made(d.choice(masked), (m, x), exact=True)
    others = ("{0}.any(axis=-1)", "np.all({0}, axis=0)", "{0}.astype(np.float32)", "~{0}", "np.sum({0}, axis=-1)")
    return Made(d.choice(others), (m,), exact=True) if m.ndim else None


# -- folds ------------------------------------------------------------------------------------------------------------


def fold(d: Draft) -> Made | None:
    """A reduction over some axes."""
    x = d.real(1)
    if x is None:
        return None
    axes = d.axes(x)
    axis = d.choice((None, axes, axes, axes[0], axes[0], axes[0]))
    name = d.choice(FOLDS)
    options = f"axis={axis}{', keepdims=True' if d.chance(0.5) else ''}"
    text = d.choice((f"np.{name}({{0}}, {options})", f"{{0}}.{name}({options})"))
    if name == "std":
        text = f"np.sqrt(np.var({{0}}, {options}) + {d.choice(CONSTANTS)})"
    return Made(text, (x,), exact=name in ("max", "min"))


def rare_fold(d: Draft) -> Made | None:
    """A product, a norm, a quantifier, a position."""
    x = d.real(1)
    if x is None:
        return None
    axis, keep = d.axis(x), d.choice(("", ", keepdims=True"))
    if d.chance(0.3) and x.shape[axis] <= 8:
        return Made(f"np.prod({{0}}, axis={axis}{keep})", (x,))
    if d.chance(0.5):
        order = d.choice(("", "ord=1, ", "ord=np.inf, ", "ord=2, "))
        return Made(f"np.linalg.norm({{0}}, {order}axis={axis}{keep}) + {d.choice(CONSTANTS)}", (x,))
    name = d.choice(("(X).any(axis=A)", "np.all(X, axis=A)", "np.sum(X, axis=A)", "X.mean(axis=A)", "argmax"))
    if not x.exact:
        return None
    if name == "argmax":
        return Made(f"np.{d.choice(('argmax', 'argmin'))}({{0}}, axis={axis})", (x,))
    return Made(name.replace("X", f"({{0}} > {d.choice(CONSTANTS)})").replace("A", str(axis)), (x,))


def running(d: Draft) -> Made | None:
    """A running fold."""
    x = d.real(1)
    if x is None:
        return None
    axis = d.axis(x)
    text = d.choice(
        ("np.cumsum({0}, axis=A)", "{0}.cumsum(axis=A)", "np.cumsum({0}, A)", "np.maximum.accumulate({0}, A)")
    )
    return Made(text.replace("A", str(axis)), (x,), exact="max" in text)


def normalised(d: Draft) -> Made | None:
    """Softmax and norms."""
    x = d.real(1)
    if x is None:
        return None
    name = d.choice(NORMS)
    axis = f", axis={d.axis(x)}" if "softmax" in name and d.chance(0.5) else ""
    return Made(f"{name}({{0}}{axis})", (x,))


# -- shapes -----------------------------------------------------------------------------------------------------------


def permuted(d: Draft) -> Made | None:
    """Axes in another order."""
    x = d.any(lambda v: v.ndim >= 2)
    if x is None:
        return None
    perm = d.source.sample(range(x.ndim), x.ndim)
    a, b = d.axis(x), d.axis(x)
    options = (
        "{0}.T",
        f"np.transpose({{0}}, {tuple(perm)})",
        f"{{0}}.transpose({', '.join(map(str, perm))})",
        f"np.swapaxes({{0}}, {a}, {b})",
        f"np.moveaxis({{0}}, {a}, {b})",
        "{0}.swapaxes(-1, -2)",
    )
    return Made(d.choice(options), (x,), exact=True)


def reshaped(d: Draft) -> Made | None:
    """Axes merged or split."""
    x = d.any(lambda v: v.ndim >= 1)
    if x is None:
        return None
    shape: list[Any] = list(x.shape)
    at = d.source.randrange(x.ndim)
    if x.ndim > 1 and d.chance(0.5):
        at = min(at, x.ndim - 2)
        shape[at : at + 2] = [shape[at] * shape[at + 1]]
    elif divisors := [n for n in range(2, 9) if shape[at] % n == 0 and shape[at] > n]:
        n = d.choice(divisors)
        shape[at : at + 1] = d.choice(([n, shape[at] // n], [shape[at] // n, n]))
    else:
        return Made(d.choice(("{0}.reshape(-1)", "np.ravel({0})", "{0}.flatten()")), (x,), exact=True)
    if d.chance(0.3):
        shape[d.source.randrange(len(shape))] = -1
    text = d.choice((f"{{0}}.reshape({', '.join(map(str, shape))})", f"np.reshape({{0}}, {tuple(shape)})"))
    return Made(text, (x,), exact=True)


def unit_axes(d: Draft) -> Made | None:
    """Unit axes made and dropped, values spread along them."""
    x = d.any()
    if x is None:
        return None
    if 1 in x.shape and d.chance(0.5):
        at = d.choice([n for n, size in enumerate(x.shape) if size == 1])
        wide = list(x.shape)
        wide[at] = d.choice(d.sizes)
        options = (
            f"np.squeeze({{0}}, axis={at})",
            f"{{0}}.squeeze({at - x.ndim})",
            f"np.broadcast_to({{0}}, {tuple(wide)})",
        )
        return Made(d.choice(options), (x,), exact=True)
    at = d.source.randint(-x.ndim - 1, x.ndim)
    key = [":"] * x.ndim
    key.insert(d.source.randint(0, x.ndim), "None")
    options = [
        f"np.expand_dims({{0}}, {at})",
        f"{{0}}[{', '.join(key)}]",
        f"np.broadcast_to({{0}}, {(d.choice(d.sizes), *x.shape)})",
    ]
    return Made(d.choice(options), (x,), exact=True)


def _key(d: Draft, x: Value, *, keep: bool = False) -> str:
    """A subscript: `keep` leaves the rank."""
    parts: list[str] = []
    for n in x.shape:
        a, b = sorted((d.source.randint(0, n - 1), d.source.randint(1, n)))
        b = max(b, a + 1)
        step = d.choice((2, 2, 3, -1, -2))
        options = [
            ":", ":", f"{a or ''}:{b if b < n else ''}", f"::{step}", f"{a}:", f":{b}", f"-{n - a}:",
            f":-{n - b}" if b < n else ":", f"{a}:{b}:{abs(step)}",
        ]  # fmt: skip
        if not keep:
            options += [str(a), str(a - n)]
        parts.append(d.choice(options))
    if parts and not keep and d.chance(0.15):
        parts.insert(d.source.randint(0, len(parts)), "None")
    if len(parts) > 1 and d.chance(0.25):
        at = d.source.randrange(len(parts))
        if parts[at] == ":":
            parts[at] = "..."
    return ", ".join(parts)


def sliced(d: Draft) -> Made | None:
    """A part."""
    x = d.any(lambda v: v.ndim >= 1)
    return x and Made(f"{{0}}[{_key(d, x)}]", (x,), exact=True)


def joined(d: Draft) -> Made | None:
    """Arrays one after the other, or along a new axis."""
    x = d.real(1)
    if x is None:
        return None
    if d.chance(0.3):
        other = d.partner(x.shape)
        return other and Made(
            f"np.stack([{{0}}, {{1}}], axis={d.source.randint(-x.ndim - 1, x.ndim)})", (x, other), exact=True
        )
    at = d.source.randrange(x.ndim)
    fit = d.real(1, lambda v: v.ndim == x.ndim and v.shape[:at] + v.shape[at + 1 :] == x.shape[:at] + x.shape[at + 1 :])
    other = fit or x
    texts = (
        f"np.concatenate([{{0}}, {{1}}], axis={at})",
        f"np.concatenate(({{1}}, {{0}}), {at - x.ndim})",
        f"np.concatenate([{{0}}, np.tanh({{1}}), {{0}}], axis={at})",
    )
    text = d.choice(texts)
    return Made(text, (x, other), exact="tanh" not in text)


def parted(d: Draft) -> Made | None:
    """Parts of an axis."""
    x = d.real(1)
    if x is None:
        return None
    axis = d.axis(x)
    n = x.shape[axis]
    if n < 2:
        return None
    whole = [k for k in (2, 3, 4) if n % k == 0]
    if whole and d.chance(0.6):
        k = d.choice(whole)
        if k == 2:
            a, b = "{out}_a", "{out}_b"
            both = d.choice((f"{a} * {b}", f"{a} + {b}", f"{b} - {a}"))
            return Made(f"{a}, {b} = np.split({{0}}, 2, axis={axis})\n{{out}} = {both}", (x,))
        return Made(f"np.split({{0}}, {k}, axis={axis})[{d.source.randrange(k)}]", (x,), exact=True)
    k = d.source.randint(2, min(n, 4))
    at = d.source.randint(1, n - 1)
    texts = (
        f"np.array_split({{0}}, {k}, axis={axis})[{d.source.randrange(k)}]",
        f"np.split({{0}}, [{at}], axis={axis})[{d.choice((0, 1))}]",
    )
    return Made(d.choice(texts), (x,), exact=True)


def repeated(d: Draft) -> Made | None:
    """Elements or axes several times, turned around, or with a border."""
    x = d.real(1)
    if x is None:
        return None
    axis, n = d.axis(x), d.choice((2, 2, 3))
    widths = tuple((d.choice((0, 1, 2)), d.choice((0, 0, 1, 3))) for _ in x.shape)
    value = d.choice(("", "", f", constant_values={d.choice(CONSTANTS)}"))
    times = tuple(d.choice((1, 1, 2)) for _ in x.shape)
    texts = (
        f"np.repeat({{0}}, {n}, axis={axis})",
        f"np.tile({{0}}, {times})",
        f"np.pad({{0}}, {widths}{value})",
        f"np.pad({{0}}, {widths}{value})",
        f"np.flip({{0}}, axis={axis})",
        f"np.roll({{0}}, {d.choice((1, -1, 2))}, axis={axis})",
        f"np.diff({{0}}, axis={axis})",
    )
    text = d.choice(texts)
    return Made(text, (x,), exact="diff" not in text)


def taken(d: Draft) -> Made | None:
    """Elements at positions: written out, or data."""
    x = d.real(1)
    if x is None:
        return None
    axis = d.source.randrange(x.ndim)
    n = x.shape[axis]
    if d.chance(0.6):
        places = [d.source.randrange(n) for _ in range(d.source.randint(1, 5))]
        key = ", ".join([*[":"] * axis, str(places)])
        return Made(d.choice((f"np.take({{0}}, {places}, axis={axis})", f"{{0}}[{key}]")), (x,), exact=True)
    known = [v for v in d.values.values() if v.kind == "i" and v.ndim == 1]
    i = d.choice(known) if known else None if d.full else d.input((d.choice(d.sizes),), "i32")
    return i and Made(f"np.take({{0}}, np.minimum(np.abs({{1}}), {n - 1}), axis={axis})", (x, i), exact=True)


# -- positions --------------------------------------------------------------------------------------------------------


def masked(d: Draft) -> Made | None:
    """What depends on where an element is."""
    x = d.real(1)
    if x is None:
        return None
    n = x.shape[-1]
    options = [
        f"np.where(np.arange({{0}}.shape[-1]) < {d.source.randint(1, n)}, {{0}}, {d.choice((0, -1, 1.5))})",
        f"{{0}} * (np.arange({n}) >= {d.source.randint(0, n - 1)})",
    ]
    if x.ndim >= 2:
        k = d.choice(("", "", ", k=1", ", k=-1", ", 2"))
        square = "np.tril(np.ones(({0}.shape[-2], {0}.shape[-1]), dtype=bool))"
        options += [f"np.tril({{0}}{k})", f"np.triu({{0}}{k})"] * 2
        options += [f"np.where({square}, {{0}}, {d.choice((0, -1, -3.0))})"]
    return Made(d.choice(options), (x,), exact=True)


# -- products ---------------------------------------------------------------------------------------------------------


def product(d: Draft) -> Made | None:
    """A product of matrices, with batch axes."""
    x = d.real(2)
    if x is None:
        return None
    batch = x.shape[:-2] if d.chance(0.5) else ()
    w = d.partner((*batch, x.shape[-1], d.choice(d.sizes)))
    if w is None:
        y = d.real(2, lambda v: v.shape[-1] == x.shape[-1] and (v.ndim == 2 or v.shape[:-2] == x.shape[:-2]))
        return y and Made(d.choice(("{0} @ {1}.swapaxes(-1, -2)", "np.matmul({0}, np.swapaxes({1}, -1, -2))")), (x, y))
    return Made(d.choice(("{0} @ {1}", "np.matmul({0}, {1})", "{0} @ {1} / math.sqrt({0}.shape[-1])")), (x, w))


def contracted(d: Draft) -> Made | None:
    """Sums of products, by letters or by axes."""
    x = d.real(1)
    if x is None:
        return None
    n = d.choice(d.sizes)
    if x.ndim == 1:
        y = d.partner(d.choice(((x.shape[0],), (x.shape[0], n), (n, x.shape[0]))))
        if y is None:
            return None
        if y.ndim == 1:
            return Made(d.choice(("np.dot({0}, {1})", "{0} @ {1}", "np.outer({0}, {1})", "np.inner({0}, {1})")), (x, y))
        right = "k,kn->n" if y.shape[0] == x.shape[0] else "k,nk->n"
        return Made(f"np.einsum('{right}', {{0}}, {{1}})", (x, y))
    letters = "abcde"[: x.ndim]
    summed = d.choice(letters)
    shared = [c for c in letters if c != summed and d.chance(0.3)]
    right = d.source.sample([*shared, summed, "n"], len(shared) + 2)
    sizes = {c: x.shape[letters.index(c)] for c in letters} | {"n": n}
    y = d.partner(tuple(sizes[c] for c in right))
    if y is None:
        return None
    out = [*(c for c in letters if c != summed), "n"]
    if d.chance(0.3):
        out = d.source.sample(out, len(out))
    if not shared and d.chance(0.3):
        axes = ([letters.index(summed)], [right.index(summed)])
        return Made(f"np.tensordot({{0}}, {{1}}, axes={axes})", (x, y))
    return Made(f"np.einsum('{letters},{''.join(right)}->{''.join(out)}', {{0}}, {{1}})", (x, y))


# -- assignment -------------------------------------------------------------------------------------------------------


def assigned(d: Draft) -> Made | None:
    """An array that the program makes and changes."""
    x = d.real(1)
    if x is None:
        return None
    key, c = _key(d, x, keep=True), d.choice(CONSTANTS)
    texts = (
        f"{{out}} = {{0}}.copy()\n{{out}}[{key}] {d.choice('+-*')}= {c}",
        f"{{out}} = {{0}} * {c}\n{{out}}[{key}] = {c}",
        f"{{out}} = np.zeros_like({{0}})\n{{out}}[{key}] = {{0}}[{key}] * {c}",
        f"{{out}} = np.empty_like({{0}})\n{{out}}[...] = {{0}}\n{{out}} *= {c}",
        "{out} = np.tanh({0})\n{out} += {0}\n{out} *= 0.5",
        f"{{out}} = np.ones({{0}}.shape, dtype={{0}}.dtype)\n{{out}}[{key}] -= {{0}}[{key}]",
        f"{{out}} = np.full({{0}}.shape, {c})\n{{out}} += {{0}}",
    )
    return Made(d.choice(texts), (x,))


def looped(d: Draft) -> Made | None:
    """A loop over numbers, which is unrolled."""
    x = d.real()
    if x is None:
        return None
    n = d.choice((2, 3))
    texts = (
        f"{{out}} = {{0}}\nfor i in range({n}):\n        {{out}} = np.tanh({{out}}) * (i + 1) + {{0}}",
        f"sum({{0}} * (i + 1) for i in range({n}))",
        f"{{out}} = {{0}}\nfor _ in range({n}):\n        {{out}} = {{out}} * 0.5 + 1",
    )
    return Made(d.choice(texts), (x,))


def rounded(d: Draft) -> Made | None:
    """Another float type."""
    x = d.real()
    return x and Made(f"{{0}}.astype({d.choice(('np.float32', 'np.float32', 'np.float16', 'bfloat16'))})", (x,))


RULES: Mapping[Rule, int] = {
    unary: 16,
    binary: 16,
    jumps: 4,
    binary_jumps: 2,
    plain: 2,
    aligned: 2,
    scalar: 3,
    integers: 1,
    logic: 2,
    fold: 10,
    rare_fold: 3,
    running: 2,
    normalised: 4,
    permuted: 4,
    reshaped: 4,
    unit_axes: 4,
    sliced: 5,
    joined: 4,
    parted: 3,
    repeated: 4,
    taken: 2,
    masked: 3,
    product: 6,
    contracted: 4,
    assigned: 3,
    looped: 1,
    rounded: 1,
}
"""Rule -> how often it is tried, in relation to the others."""
