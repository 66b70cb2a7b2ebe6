# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Statistics that a loop carries, one element at a time, and what they are at the end."""

import numpy as np


def log_sum_exp(x):
    m, s = np.full(x.shape[1], -np.inf, np.float32), np.zeros(x.shape[1], np.float32)
    for t in range(x.shape[0]):
        n = np.maximum(m, x[t])
        s = s * np.exp(m - n) + np.exp(x[t] - n)
        m = n
    return m + np.log(s)


def log_sum_exp_at_once(x):
    m = x.max(0)
    return m + np.log(np.exp(x - m).sum(0))


def log_sum_exp_without_maximum(x):
    return np.log(np.exp(x).sum(0)) + x.max(0)


def masked(x, c):
    return log_sum_exp(np.where(c > 0, x, -np.inf))


def masked_at_once(x, c):
    return log_sum_exp_at_once(np.where(c > 0, x, -np.inf))


def attention(x, w, v):
    p, columns = x @ w, w.shape[1]
    m, s = np.full(columns, -np.inf, np.float32), np.zeros(columns, np.float32)
    o = np.zeros(columns, np.float32)
    for t in range(x.shape[0]):
        n = np.maximum(m, p[t])
        s = s * np.exp(m - n) + np.exp(p[t] - n)
        o = o * np.exp(m - n) + np.exp(p[t] - n) * v[t]
        m = n
    return o / s


def attention_at_once(x, w, v):
    e = np.exp(x @ w)
    return (e * v).sum(0) / e.sum(0)


def running(x, y):
    s, o = np.zeros(x.shape[1], np.float32), np.zeros(x.shape[1], np.float32)
    for t in range(x.shape[0]):
        s = s + x[t]
        o = o + s * y[t]
    return o


def running_at_once(x, y):
    return (np.cumsum(x, axis=0) * y).sum(0)


def running_of_all(x, y):
    return (x.sum(0) * y).sum(0)
