# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that the tracer must refuse; the line to name carries `# HERE: what the message says`."""

import os

import numpy as np


def unsupported_function(x):
    return np.linalg.inv(x)  # HERE: np.linalg.inv is not supported


def unsupported_ufunc(x):
    return np.arctan2(x, x)  # HERE: np.arctan2 is not supported


def unsupported_method(x):
    return x.argsort()  # HERE: the array attribute .argsort is not supported


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
    return [row for row in x.sum()]  # HERE: iterating over a scalar


def mask(x):
    return x[x > 0]  # HERE: indexing with truth values (the shape depends on data) is not supported


def bits(x):
    return (x * 4).astype(np.int32) & 1  # HERE: bitwise logic on i32 arrays is not supported


def float_positions(x):
    return x[x]  # HERE: indexing with an array of f32 is not supported


def text_index(x):
    return x["a"]  # HERE: indexing with str is not supported


def parted_assignment(x):
    y = np.zeros((3, 4, 5))
    i = np.arange(3)
    y[i, :, i] = x.sum()  # HERE: assigning through arrays of positions with a slice between them
    return y


def too_many_indices(x):
    return x[0, 1, 2]  # HERE: 3 indices into an array of rank 2


def two_ellipses(x):
    return x[..., ...]  # HERE: more than one ellipsis in an index


def no_step(x):
    return x[::0]  # HERE: a slice with step 0


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
    y = x[1:]
    y[0] = 2  # HERE: assigning to elements of argument 'x' (or a view of it) in place is not supported
    return y


def reshaped(x):
    y = (x + 1).reshape(-1)
    y[0] = 2  # HERE: assigning through a reshaped or broadcast array is not supported
    return y


def perhaps_a_copy(x):
    y = x[:, 0] + 1
    part = y[::2].ravel()
    part += 1  # HERE: assigning through a reshaped or broadcast array is not supported
    return y


def stale(x):
    y = x + 1
    flat = y.reshape(-1)
    y[0] = 2
    return flat + 1  # HERE: reading a reshaped array after the array it came from was assigned to


def repeated(x):
    y = np.broadcast_to(x.sum(), x.shape)
    y[0] = 2  # HERE: assigning through a reshaped or broadcast array is not supported
    return y


def cut_off(x):
    y = np.zeros(x.shape, dtype=np.int32)
    y[0] = x[0]  # HERE: storing f32 in an array of i32 (NumPy would cut it off) is not supported
    return y


def wrong_part(x):
    y = np.zeros((4, 3))
    y[...] = x  # HERE: np.broadcast_to: sizes differ, x1 (6) and 3
    return y


def pieces(x):
    return x + np.random.default_rng(1).uniform(size=(4, 6, 20))  # HERE: a constant array that falls into more than 256


def unequal_parts(x):
    return np.split(x, 4, axis=1)  # HERE: np.split into 4 equal parts: sizes differ, x1 (6) and 4 * ((x1) // (4)) (4)


def strange_norm(x):
    return np.linalg.norm(x, ord="nuc")  # HERE: np.linalg.norm with ord='nuc' over 2 axes is not supported


def padding(x):
    return np.pad(x, 1, mode="edge")  # HERE: np.pad with mode='edge' is not supported


def not_a_number(x):
    return x + np.array([0.0, np.nan, 1, 2, 3, 4])  # HERE: not-a-number as a constant is not supported


def product_of_terms(x):
    return np.einsum("ij,jk->ik", x)  # HERE: np.einsum: 2 terms for 1 operands


def diagonal_letters(x):
    return np.einsum("ii->i", x[:4, :4])  # HERE: np.einsum('ii->i') is not supported


def outer_method(x):
    return np.add.outer(x, x)  # HERE: np.add.outer is not supported


def repeats(x):
    return np.repeat(x, [1, 2, 3, 4], axis=0)  # HERE: np.repeat with a number for each element is not supported


def integer_quotient(x):
    return np.arange(x.shape[0]) // (np.arange(x.shape[0]) + 1)  # HERE: np.floor_divide of i32 arrays is not supported


def output(x):
    return np.exp(x, out=x)  # HERE: an update of argument 'x' (or a view of it) in place is not supported


def double_precision(x):
    return x.astype(np.float64)  # HERE: conversion to float64 is not supported


def double_ones(x):
    return np.ones(x.shape, dtype=np.float64)  # HERE: dtype float64 is not supported


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
