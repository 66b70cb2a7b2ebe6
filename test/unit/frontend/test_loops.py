# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops over sizes are taken as a whole: folds, scans, recurrences, arrays that the steps fill."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from unit.frontend.test_numpy_trace import agrees, function_of

from axon_mlir.errors import AxonError
from axon_mlir.frontend.numpy_trace import trace

X = ["f32[5,4]"]


def total(x):
    s = 0.0
    for t in range(x.shape[0]):
        s = s + x[t]
    return s


def total_in_place(x):
    s = np.zeros(x.shape[1])
    for t in range(x.shape[0]):
        s += x[t] * x[t]
    return s


def from_something(x):
    s = x[0] * 2
    for t in range(x.shape[0]):
        s = s - x[t]
    return s


def largest(x):
    m = -np.inf
    for t in range(x.shape[1]):
        m = np.maximum(m, x[:, t])
    return m


def smallest_and_product(x):
    m, p = x[:, 0], np.ones(x.shape[0])
    for t in range(x.shape[1]):
        m = np.minimum(x[:, t], np.minimum(m, 1.2))
        p = p * x[:, t] / 2
    return m, p


def running(x):
    out = np.empty_like(x)
    m, s = np.full(x.shape[0], -np.inf), np.zeros(x.shape[0])
    for t in range(x.shape[1]):
        m = np.maximum(m, x[:, t])
        s = s + x[:, t] / (t + 1)
        out[:, t] = m + s
    return out, m, s


def affine(x):
    out = np.zeros(x.shape)
    s = np.full(x.shape[1], 0.25)
    for t in range(x.shape[0]):
        s = (s * 0.5 + x[t]) * x[t] - s / (1 + x[t])
        out[t] = s
    return out


def average(x, beta=0.9):
    s = np.zeros(x.shape[1])
    for t in range(x.shape[0]):
        s = beta * s + (1 - beta) * x[t]
    return s / (1 - beta)


def gated(x):
    s = np.zeros(x.shape[1])
    for t in range(x.shape[0]):
        s = np.where(x[t] > 1, -s, s + x[t])
    return s


def reset(x):
    s = np.zeros(x.shape[1])
    m = np.zeros(x.shape[1])
    for t in range(x.shape[0]):
        s = np.where(x[t] > 1, 0, s + x[t])
        m = np.where(x[t] > 1, np.maximum(m, x[t]), m)
    return s, m


def online(x):
    m, n = np.full(x.shape[0], -np.inf), np.zeros(x.shape[0])
    for t in range(x.shape[1]):
        m_new = np.maximum(m, x[:, t])
        n = n * np.exp(m - m_new) + np.exp(x[:, t] - m_new)
        m = m_new
    return m + np.log(n)


def online_rows(x, v):
    m = np.full((x.shape[0], 1), -np.inf)
    o, n = np.zeros((x.shape[0], v.shape[1])), np.zeros((x.shape[0], 1))
    for t in range(x.shape[1]):
        new = np.maximum(m, x[:, t : t + 1])
        p, scale = np.exp(x[:, t : t + 1] - new), np.exp(m - new)
        o = o * scale + p * v[t]
        n = n * scale + p
        m = new
    return o / n


def selective(delta, u, a, b, c):
    state, out = np.zeros(a.shape), np.empty(u.shape)
    for t in range(u.shape[1]):
        state = np.exp(delta[:, t : t + 1] * a) * state + (delta[:, t] * u[:, t])[:, None] * b[None, :, t]
        out[:, t] = (state * c[None, :, t]).sum(-1)
    return out, state


def linear_attention(q, k, v):
    s, z = np.zeros((k.shape[1], v.shape[1])), np.zeros(k.shape[1])
    out = np.empty(v.shape)
    for t in range(q.shape[0]):
        s = s + k[t][:, None] * v[t][None, :]
        z += k[t]
        out[t] = q[t] @ s / (q[t] @ z)
    return out


def per_head(q, k, v):
    out = np.empty(q.shape)
    for h in range(q.shape[0]):
        s = q[h] @ k[h].T
        e = np.exp(s - s.max(axis=-1, keepdims=True))
        out[h] = e / e.sum(axis=-1, keepdims=True) @ v[h]
    return out


def shared_products(x, w):
    out = np.zeros((x.shape[0], x.shape[1], w.shape[1]))
    more = np.zeros((x.shape[0], w.shape[0], x.shape[1]))
    for b in range(x.shape[0]):
        out[b] = x[b] @ w
        more[b] = (w @ w.T) @ x[b].T
    return out, more


def by_array(x):
    y = np.empty_like(x)
    y[:, 0] = x[:, 0]
    for t in range(1, x.shape[1]):
        y[:, t] = 0.5 * y[:, t - 1] + x[:, t]
    return y


def updates(x):
    y = x + 1
    for t in range(x.shape[0]):
        y[t] += x[t]
        y[t, 0] = 3
        y[t] *= 2
    return y


def differences(x):
    y = np.zeros(x.shape)
    for t in range(x.shape[0] - 1):
        y[t] = x[t + 1] - x[t]
    return y


def interleaved(x):
    y = np.empty((x.shape[0], 2 * x.shape[1]))
    for t in range(x.shape[1]):
        y[:, 2 * t] = x[:, t]
        y[:, 2 * t + 1] = -x[:, t]
    return y


def pairs(x):
    y = np.empty((3 * x.shape[0], x.shape[1]))
    for t in range(x.shape[0]):
        y[3 * t : 3 * t + 2] = x[t]
        y[3 * t + 2] = t
    return y


def one_accumulator(x):
    acc = np.zeros((2, x.shape[1]))
    for t in range(x.shape[0]):
        acc[0] += x[t]
        acc[1] = np.maximum(acc[1], x[t])
    return acc


def backwards(x):
    out, s = np.empty_like(x), np.zeros(x.shape[1])
    for t in range(x.shape[0] - 1, -1, -1):
        s = s * 0.5 + x[t]
        out[t] = s
    return out


def shift(x):
    out, last = np.empty_like(x), np.zeros(x.shape[1])
    for t in range(x.shape[0]):
        out[t] = last
        last = x[t] * 2
    return out


def last_values(x):
    k = 3
    for t in range(x.shape[0]):
        y = x[t] * t
        k += 2
    return y * k + t


def counter(x):
    out, k = np.empty_like(x), 0
    for t in range(x.shape[0]):
        out[k] = x[t] * k
        k += 1
    return out * k


def nested(x):
    out = np.zeros((x.shape[0], x.shape[0]))
    for i in range(x.shape[0]):
        for j in range(x.shape[0]):
            out[i, j] = (x[i] * x[j]).sum() + i - j
    return out


def nested_scan(x):
    out = np.zeros(x.shape)
    whole = 0.0
    for i in range(x.shape[0]):
        s = 0.0
        for j in range(x.shape[1]):
            s = s * 0.5 + x[i, j]
            out[i, j] = s
        whole = whole + s
    return out, whole


def inside_numbers(x):
    out = x * 0
    for p in range(2):
        s = 0.0
        for t in range(x.shape[0]):
            for q in range(3):
                s = s * 0.5 + x[t] * q
            out[t] += s * (p + 1)
    return out


def helper(s, row):
    return s * 0.5 + row


def through_functions(x):
    s = np.zeros(x.shape[1])
    state = [1]
    for t in range(x.shape[0]):
        s = helper(s, x[t]) * state[0]
    return s


def gathered(x, i):
    out = np.zeros((i.shape[0], x.shape[1]))
    for t in range(i.shape[0]):
        out[t] = x[i[t]]
    return out


def windows(x):
    out = np.zeros((x.shape[0] - 2, x.shape[1]))
    for t in range(x.shape[0] - 2):
        out[t] = x[t : t + 3].sum(axis=0)
    return out


def shapes(x):
    total = np.zeros(x.shape[1] * 2)
    for t in range(x.shape[0]):
        row = np.concatenate([x[t], np.tile(x[t], 2)[: x.shape[1]]])
        pair = np.stack([row, row * t]).T.reshape(-1)
        total = total + pair[: 2 * x.shape[1]] + np.cumsum(np.repeat(x[t], 2)) + np.pad(x[t], (0, x.shape[1]))
    return total


def swapped(x):
    s = np.zeros((1, x.shape[1]))
    for t in range(x.shape[0]):
        s = (s.T + x[t][:, None]).T
    return s


def listed(x):
    rows, sums, s = [x[0] * 0], [], 0.0
    for t in range(x.shape[0]):
        s = 0.5 * s + x[t]
        rows.append(s * t)
        sums.append(s.sum())
    return np.stack(rows, axis=1), np.array(sums) / len(rows), np.concatenate(rows)


def columns(x):
    out, rows = [], []
    for t in range(x.shape[1]):
        out.append(x[:, t : t + 1] * 2)
        rows.append(x[:, t])
    whole = np.concatenate(out, axis=1) + np.hstack(out) + np.concatenate(out, axis=-1)
    return whole, np.vstack(rows), np.hstack(rows), np.vstack(out)


def over_rows(x):
    s = 0.0
    for row in x:
        s = s + row
    return s


def numbered(x):
    s = 0.0
    for n, row in enumerate(x, 1):
        s = s + row * n
    return s


def together(x):
    y = np.empty_like(x)
    for row, target in zip(x, y, strict=True):
        target[:] = row / row.sum()
    return y


def reverse(x):
    out, s = np.empty_like(x), np.zeros(x.shape[1])
    for t in reversed(range(len(x))):
        s = s * 0.5 + x[t]
        out[t] = s
    return out


PROGRAMS: list[tuple[Callable[..., Any], list[str]]] = [
    *((f, X) for f in (
        total, total_in_place, from_something, largest, smallest_and_product, running, affine, average, gated, reset,
        online, by_array, updates, differences, interleaved, pairs, one_accumulator, backwards, shift, last_values,
        counter, nested, nested_scan, inside_numbers, through_functions, windows, shapes, swapped, over_rows,
        numbered, together, reverse, listed, columns,
    )),
    (online_rows, ["f32[3,5]", "f32[5,4]"]),
    (selective, ["f32[3,7]", "f32[3,7]", "f32[3,2]", "f32[2,7]", "f32[2,7]"]),
    (linear_attention, ["f32[7,3]", "f32[7,3]", "f32[7,4]"]),
    (per_head, ["f32[3,5,4]", "f32[3,6,4]", "f32[3,6,4]"]),
    (shared_products, ["f32[3,5,4]", "f32[4,4]"]),
    (gathered, ["f32[5,4]", "i32[3]"]),
]  # fmt: skip


@pytest.mark.parametrize(("program", "specs"), PROGRAMS, ids=lambda p: getattr(p, "__name__", ""))
def test_a_loop_is_taken_as_a_whole(program: Callable[..., Any], specs: list[str]) -> None:
    module = agrees(program, specs)
    assert "fixed = []" in str(function_of(module).attributes["axon.sizes"])


def appended_twice(x):
    rows = []
    for t in range(x.shape[0]):
        rows.append(x[t] * 2)
        rows.append(x[t])
    return np.stack(rows)


def one_entry(x):
    rows = []
    for t in range(x.shape[0]):
        rows.append(x[t] * 2)
    return rows[0] + x[0]


def first_step(x):
    s = np.zeros(x.shape[1])
    for t in range(x.shape[0]):
        s = x[t] if t == 0 else s + x[t]
    return s


def left(x):
    s = np.zeros(x.shape[1])
    for t in range(x.shape[0]):
        s = s + x[t]
        break
    return s


def returned(x):
    for t in range(x.shape[0]):
        return x[t]


def not_affine(x):
    s = np.zeros(x.shape[1])
    for t in range(x.shape[0]):
        s = np.tanh(s + x[t])
    return s


def squared(x):
    s = np.ones(x.shape[1])
    for t in range(x.shape[0]):
        s = s * s + x[t]
    return s


def fibonacci(x):
    a, b = x[0], x[0] * 2
    for t in range(x.shape[0]):
        a, b = b, a + b
    return a


def neighbours(x):
    s = np.zeros(x.shape[1])
    for t in range(x.shape[0]):
        s = np.roll(s, 1) + x[t]
    return s


def prefixes(x):
    s = np.zeros(x.shape[1])
    for t in range(x.shape[0]):
        s = s + x[: t + 1].sum(axis=0)
    return s


def blocks(x):
    s = np.zeros(x.shape[1])
    for t in range(0, x.shape[0], 2):
        s = s + x[t : t + 2].sum(axis=0)
    return s


def growing(x):
    s = x[0]
    for t in range(x.shape[0]):
        s = np.concatenate([s, x[t]])
    return s


def hidden(x):
    state = {"s": np.zeros(x.shape[1])}
    for t in range(x.shape[0]):
        state["s"] = state["s"] * 0.5
    return state["s"] + x[0]


def counted_in_a_list(x):
    k = [0]
    for t in range(x.shape[0]):
        k[0] += 1
    return x * k[0]


def starts_as_nothing(x):
    s = None
    for t in range(x.shape[0]):
        s = x[t] if s is None else s + x[t]
    return s


def overwritten(x):
    y = np.zeros((x.shape[0] + 1, x.shape[1]))
    for t in range(x.shape[0]):
        y[t : t + 2] = x[t]
    return y


def wraps_around(x):
    s = np.zeros(x.shape[1])
    for t in range(x.shape[0]):
        s = s + x[t - 1] * x[t]
    return s


def of_data(x):
    s = np.zeros(x.shape[1])
    for t in range(x.shape[0]):
        if t % 2 == 0:
            s = s + x[t]
    return s


REFUSALS: list[tuple[Callable[..., Any], str]] = [
    (appended_twice, "it puts several entries into a list"),
    (one_entry, "an entry of a list that it fills is used alone"),
    (first_step, r"comparing sizes needs the number of a step \(line \d+\)"),
    (left, "it is left by break or return"),
    (returned, "it is left by break or return"),
    (not_affine, "'s' is no recurrence a \\* 's' \\+ b, max"),
    (squared, "'s' is no recurrence a"),
    (fibonacci, "'a' and 'b' are no recurrence"),
    (neighbours, "'s' is no recurrence"),
    (prefixes, "the shape of a value differs from step to step"),
    (blocks, "the shape of a value differs from step to step"),
    (growing, r"'s' has the shape \(x1 \(4\)\) before it and \(2 \* x1 \(8\)\) after a step"),
    (hidden, "it changes a list, a dictionary or a set"),
    (counted_in_a_list, "it changes a list, a dictionary or a set"),
    (starts_as_nothing, "'s' is a NoneType before it and a TracedTensor after a step"),
    (overwritten, "'y' is no recurrence"),
    (wraps_around, "an index whose sign"),
    (of_data, "comparing sizes needs the number of a step"),
]


@pytest.mark.parametrize(("program", "reason"), REFUSALS, ids=lambda p: getattr(p, "__name__", ""))
def test_a_loop_whose_steps_differ_is_unrolled_and_says_why(program: Callable[..., Any], reason: str) -> None:
    sizes = str(function_of(agrees(program, X)).attributes["axon.sizes"])
    assert 'fixed = [{name = "x0", value = 5' in sizes
    (why,) = re.findall(r'why = "((?:[^"\\]|\\.)*)"', sizes)
    assert re.search(reason, why.replace("\\'", "'")), why
    with pytest.raises(AxonError, match=r"which is unrolled since .*, needs the number of size M") as caught:
        trace(program, ["f32[M,N]"])
    loop = next(n for n, text in enumerate(lines(program)) if text.strip().startswith("for "))
    assert caught.value.where == f"{__file__}:{program.__code__.co_firstlineno + loop}"
    assert caught.value.accepted is not None and "an --arg with a number in place of M" in caught.value.accepted


def lines(program: Callable[..., Any]) -> list[str]:
    return inspect.getsource(program).splitlines()


def test_many_steps_are_not_unrolled() -> None:
    with pytest.raises(AxonError, match=r"of 7168 steps, too many to be traced one by one, and .*'s' is no recurrence"):
        trace(not_affine, ["f32[7168,4]"])
    assert "fixed = []" in str(trace(total, ["f32[7168,4]"]))


def test_sizes_by_name() -> None:
    assert "tensor_hl.affine_scan" in str(trace(affine, ["f32[M,N]"]))
    with pytest.raises(AxonError, match="since the shape of a value differs from step to step"):
        trace(selective, ["f32[C,T]", "f32[C,U]", "f32[C,S]", "f32[S,T]", "f32[S,T]"])


def test_what_a_loop_becomes() -> None:
    text = str(trace(total, X))
    assert "tensor_hl.reduce sum" in text and "scan" not in text
    text = str(trace(running, X))
    assert text.count("tensor_hl.scan") == 2
    assert "tensor_hl.empty" not in text, "every element is written"
    text = str(trace(average, X))
    assert "tensor_hl.affine_scan" in text


def test_values_of_one_step_do_not_leak() -> None:
    class Kept:
        value: Any = None

    def keep(value):
        Kept.value = value
        return value

    def leaking(x):
        s = 0.0
        for t in range(x.shape[0]):
            s = s + keep(x[t])
        return s + Kept.value

    assert 'why = "a value of one step is used after it' in str(agrees(leaking, X))


def test_other_users_of_a_range() -> None:
    def program(x):
        n = x.shape[0]
        return x * sum(range(n)) + list(range(1, n))[-1] + len(range(n)) + max(t for t in range(n)) + range(n)[2]

    assert 'fixed = [{name = "x0", value = 5' in str(agrees(program, X))


def test_an_argument_does_not_change_in_a_loop() -> None:
    def in_place(x):
        for t in range(x.shape[0]):
            x[t] = x[t] * 2
        return x

    def bound_anew(x):
        y = x
        for t in range(x.shape[0]):
            y = y + x[t]
        return y, x

    with pytest.raises(AxonError, match="of argument 'x'"):
        trace(in_place, X)
    agrees(bound_anew, X)


def test_aliases_see_what_changes_in_place() -> None:
    def program(x):
        s = np.zeros(x.shape[1])
        alias, view = s, s[:2]
        for t in range(x.shape[0]):
            s += x[t]
        return alias + s, view * 2

    agrees(program, X)


def test_bf16() -> None:
    text = str(trace(running, ["bf16[5,4]"]))
    assert '-> (tensor<?x?xbf16, ["x0", "x1"]>, tensor<?xbf16, ["x0"]>, tensor<?xbf16' in text
