# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that exercise every part of tiling: row folds that depend on each other, epilogues, chains, batches."""

import math

import numpy as np


def turned(x):
    return np.swapaxes(x, -1, -2)


def row_sum(x):
    return np.sum(x, axis=-1, keepdims=True)


def row_mean(x):
    return np.mean(x, axis=-1, keepdims=True)


def rms_scale(x, eps):
    return 1 / np.sqrt(row_mean(x * x) + eps)


def silu(x):
    return x / (1 + np.exp(-x))


def softmax(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / row_sum(e)


def layer_norm(x, g, b, eps=1e-5):
    c = x - row_mean(x)
    return c / np.sqrt(row_mean(c * c) + eps) * g + b


def variance(x):
    return row_mean((x - row_mean(x)) ** 2)


def column_sum(x):
    return x.sum(axis=0, keepdims=True)


def column_norm(x):
    return x / np.sqrt(np.sum(x * x, axis=0, keepdims=True) + 1.0)


def column_softmax(x):
    e = np.exp(x - np.max(x, axis=0, keepdims=True))
    return e / e.sum(axis=0, keepdims=True)


def centred_product(x, w):
    c = x - x.mean(axis=0, keepdims=True)
    return c @ w, c.sum(axis=-1)


def row_maxima_as_bias(x, y):
    return y @ x - np.max(x, axis=0) + np.sum(y, axis=1, keepdims=True)


def transpose_pair(x):
    return turned(turned(x) * 2.0)


def side_by_side(x, y):
    return np.tanh(np.concatenate((np.exp(x), y), axis=1))


def product_of_transposes(a, b):
    return turned(a) @ turned(b)


def product_with_transpose(a, b):
    return a @ turned(b)


def batched_product(a, b):
    return a @ b


def chain_left(a, b, c):
    return (a @ b) @ c


def chain_right(a, b, c):
    return a @ (b @ c)


def product_add_norm(x, w, z, g, eps=1e-5):
    y = x @ w + z
    return y * g * rms_scale(y, eps)


def add_norm_product(x, z, g, w, eps=1e-5):
    y = x + z
    return (y * rms_scale(y, eps) * g) @ w, y


def product_bias_gelu(x, w, b):
    u = x @ w + b
    return 0.5 * u * (1 + np.tanh(math.sqrt(2 / math.pi) * (u + 0.044715 * u**3)))


def gated_mlp(x, wg, wu, wd):
    return (silu(x @ wg) * (x @ wu)) @ wd


SHAPES = {
    softmax: ["MK"],
    layer_norm: ["MK", "K", "K"],
    variance: ["MK"],
    column_sum: ["MK"],
    column_norm: ["MK"],
    column_softmax: ["MK"],
    centred_product: ["MK", "KN"],
    row_maxima_as_bias: ["MK", "NM"],
    transpose_pair: ["MK"],
    side_by_side: ["MK", "MN"],
    product_of_transposes: ["KM", "NK"],
    product_with_transpose: ["MK", "NK"],
    batched_product: ["BMK", "BKN"],
    chain_left: ["MK", "KN", "NL"],
    chain_right: ["MK", "KN", "NL"],
    product_add_norm: ["MK", "KN", "MN", "N"],
    add_norm_product: ["MK", "MK", "K", "KN"],
    product_bias_gelu: ["MK", "KN", "N"],
    gated_mlp: ["MK", "KN", "KN", "NL"],
}
"""Program -> the sizes of its arguments, a letter an axis."""
