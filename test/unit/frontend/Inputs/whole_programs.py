# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs as people write them: helpers, closures, keywords, loops, masks, lookups, another module's functions."""

import math
from math import erf as scalar_erf

import numpy as np
from scipy import special
from scipy.special import log_softmax, softmax

vector_erf = np.frompyfunc(math.erf, 1, 1)
other_erf = np.frompyfunc(scalar_erf, 1, 1)


def _scaled_by(scale):
    def inner(x, *, shift=1.0):
        return x * scale + shift

    return inner


def closures(x, eps=1e-5):
    f = _scaled_by(2.0)
    return (lambda z: f(z, shift=eps))(x) + _scaled_by(3)(x)


def error_functions(x):
    return special.erf(x) + vector_erf(x).astype(float) + other_erf(x).astype(float) + special.expit(x)


def softmaxes(x):
    return softmax(x, axis=-1) + special.softmax(x, axis=0) + log_softmax(x, 1)


def causal_attention(q, k, v, causal=True):
    s = q @ k.T / math.sqrt(q.shape[-1])
    if causal:
        s = np.where(np.arange(k.shape[0])[None] <= np.arange(q.shape[0])[:, None], s, -np.inf)
    return softmax(s, axis=-1) @ v


def lookup(i, w):
    return w[i] + (i[:, None] == np.arange(w.shape[0])).astype(w.dtype) @ w


def weighted_rows(x):
    total = np.zeros(x.shape[1:])
    for n, row in enumerate(x):
        total += (n + 1) * row
    return total, [r.sum() for r in x][-1]


def halving(x):
    n = x.shape[0]
    while n > 1:
        x = x[: n // 2] + x[n // 2 :]
        n //= 2
    return x[0]


def recurrence(x, a):
    h = np.zeros(x.shape[1])
    out = np.empty_like(x)
    for t in range(len(x)):
        h = a[t] * h + x[t]
        out[t] = h
    return out


def interleaved_rotation(x, c, s):
    out = np.empty_like(x)
    out[..., 0::2] = x[..., 0::2] * c - x[..., 1::2] * s
    out[..., 1::2] = x[..., 0::2] * s + x[..., 1::2] * c
    return out


def grouped(q, k):
    r = q.shape[0] // k.shape[0]
    return q @ np.swapaxes(np.repeat(k, r, axis=0), 1, 2)


def cross_entropy(z, y):
    p = softmax(z, axis=-1)
    return -np.log(p[np.arange(len(y)), y]).mean()


def experts(x, g, w):
    return sum(g[:, e : e + 1] * (x @ w[e]) for e in range(w.shape[0]))


def quantised(x, w):
    return x @ (np.round(w * 16) / 16)
