# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import numpy as np


def divide(x, d):
    return x / d


def multiply(x, d):
    return x * (1 / d)


def scaled(x, k):
    return np.max(x * k, axis=-1, keepdims=True)


def scaled_after(x, k):
    return k * np.max(x, axis=-1, keepdims=True)


def ones(x):
    return np.ones_like(x)


def itself(x):
    return x * (1 / x)
