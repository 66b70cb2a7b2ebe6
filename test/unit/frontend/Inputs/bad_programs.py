# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that the tracer must refuse; the line to name carries `# HERE: what the message says`."""

import os

import numpy as np


def unsupported_function(x):
    return np.linalg.norm(x)  # HERE: np.linalg.norm is not supported


def unsupported_ufunc(x):
    return np.arctan2(x, x)  # HERE: np.arctan2 is not supported


def unsupported_method(x):
    return x.argmax()  # HERE: the array attribute .argmax is not supported


def unsupported_option(x):
    return np.sum(x, where=x > 0)  # HERE: np.sum with where= is not supported


def unsupported_exponent(x):
    return x**0.3  # HERE: np.power with the exponent 0.3 is not supported


def branch(x):
    if x.sum() > 0:  # HERE: a branch on the data of a tensor is not supported
        return x
    return -x


def number(x):
    return x * float(x.sum())  # HERE: taking a number out of a tensor


def iteration(x):
    return sum(row for row in x)  # HERE: iterating over a tensor is not supported


def mask(x):
    return x[x > 0]  # HERE: indexing with TracedTensor is not supported


def positions(x):
    return np.where(x > 0)  # HERE: np.where with one argument


def vectorized(x):
    step = np.vectorize(lambda v: v + 1)
    return step(x)  # HERE: np.vectorize(<lambda>) is not supported


def from_python(x):
    def double(v):
        return 2 * v

    return np.frompyfunc(double, 1, 1)(x)  # HERE: np.frompyfunc(double) is not supported


def update_argument(x):
    x += 1  # HERE: an update of argument 'x' (or a view of it) in place is not supported
    return x


def update_view(x):
    y = x.T
    y *= 2  # HERE: an update of argument 'x' (or a view of it) in place is not supported
    return y


def assignment(x):
    y = x + 1
    y[0] = 2  # HERE: assigning to elements in place is not supported
    return y


def output(x):
    return np.exp(x, out=x)  # HERE: np.exp with out= (or an in-place operator) is not supported


def double_precision(x):
    return x.astype(np.float64)  # HERE: conversion to float64 is not supported


def double_ones(x):
    return np.ones(x.shape, dtype=np.float64)  # HERE: dtype float64 is not supported


def table(x):
    return x + np.array([1.0, 2.0, 3.0])  # HERE: a constant array with different entries is not supported


def wrong_axis(x):
    return x.sum(axis=5)  # HERE: np.sum: axis 5 of an array of rank 2


def wrong_shapes(x):
    return x @ x  # HERE: np.matmul: contracted axes 1 and 0: sizes differ, x1 (6) and x0 (4)


def wrong_constant_shape(x):
    return x + np.zeros(3)  # HERE: add: axis 1: sizes differ, x1 (6) and 3


def out_of_bounds(x):
    return x[7]  # HERE: index 7 is outside axis 0 of size 4


def empty_slice(x):
    return x[5:]  # HERE: an empty slice is not supported


def raises(x):
    return [x][3]  # HERE: the program raised IndexError


def leaves(x):
    raise SystemExit(3)  # HERE: the program raised SystemExit


def nothing(x):  # HERE: nothing returns NoneType
    pass


def dies(x):
    os._exit(9)
