# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every form of every instruction: its printed call, run on a NumPy model of NKI written from the NKI reference, gives
what its meaning says; and the call read back is the form."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from axon_mlir.errors import AxonError
from axon_mlir.semantics.domains import Floats
from axon_mlir.targets import DEVICES, CallRows, Rows, load_device

EXTENTS = {"P": 4, "F": 12, "K": 5, "M": 3, "N": 7, "I": 5, "A": 2, "B": 3, "C": 2, "D": 5, "1": 1}
NUMBER = 0.75
POSITION = {"step": 2, "offset": -5, "channel_multiplier": 3, "range_start": -1, "a": 3, "b": -2, "c": 1, "d": 4}
POOL = np.array([0.0, 0.75, 1.25, 2.0])


class Dotted:
    """An operator or an enum member of NKI."""

    def __init__(self, text):
        self.text = text

    def __getattr__(self, name):
        return Dotted(f"{self.text}.{name}")


class Tile:
    def __init__(self, array):
        self.array = np.asarray(array)


NAMES = {"nl": Dotted("nl"), "nisa": Dotted("nisa")}


def is_tile(value):
    return isinstance(value, Tile)


def spell(value):
    assert isinstance(value, Dotted)
    return value.text


# ---- NKI over NumPy, from its reference ----


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


BINARY = {
    "nl.add": np.add,
    "nl.subtract": np.subtract,
    "nl.multiply": np.multiply,
    "nl.maximum": np.maximum,
    "nl.minimum": np.minimum,
    "nl.power": np.power,
    "nl.equal": np.equal,
    "nl.not_equal": np.not_equal,
    "nl.less": np.less,
    "nl.less_equal": np.less_equal,
    "nl.greater": np.greater,
    "nl.greater_equal": np.greater_equal,
    "nl.logical_and": np.logical_and,
    "nl.logical_or": np.logical_or,
    "nl.logical_xor": np.logical_xor,
}
UNARY = {
    "nl.copy": lambda x: x,
    "nl.square": lambda x: x * x,
    "nl.abs": np.abs,
    "nl.sign": np.sign,
    "nl.relu": lambda x: np.maximum(x, 0),
    "nl.exp": np.exp,
    "nl.tanh": np.tanh,
    "nl.sigmoid": sigmoid,
    "nl.silu": lambda x: x * sigmoid(x),
    "nl.erf": lambda x: np.vectorize(__import__("math").erf)(x),
    "nl.log": np.log,
    "nl.sqrt": np.sqrt,
    "nl.rsqrt": lambda x: x**-0.5,
    "nl.reciprocal": lambda x: 1 / x,
    "nl.sin": np.sin,
}


def value(x):
    return x.array if isinstance(x, Tile) else x


def apply(op, a, b, reverse=False):
    if op.text in UNARY:
        return UNARY[op.text](a)
    return 1.0 * (BINARY[op.text](b, a) if reverse else BINARY[op.text](a, b))


def copy(dst, src, **_):
    return {"dst": value(src)}


def dma_copy(dst, src):
    return {"dst": value(src.tensor)[value(src.index)[:, 0].astype(int)] if isinstance(src, Rows) else value(src)}


def nc_n_gather(dst, data, indices):
    return {"dst": np.take_along_axis(value(data), value(indices).astype(int), axis=1)}


def memset(dst, value, **_):
    return {"dst": np.full(dst.array.shape, value)}


def nc_matmul(dst, stationary, moving, accumulate, is_transpose=False):
    if is_transpose:
        # The moving operand is the identity.
        return {"dst": value(stationary).T}
    product = value(stationary).T @ value(moving)
    return {"dst": product + (value(dst) if accumulate else 0)}


def nc_transpose(dst, data, engine):
    return {"dst": value(data).T}


def dma_transpose(dst, src, axes):
    return {"dst": value(src).transpose(axes)}


def tensor_tensor(dst, data1, data2, op):
    return {"dst": apply(op, value(data1), value(data2))}


def tensor_scalar(dst, data, op0, operand0, reverse0=False, op1=None, operand1=None, reverse1=False, engine=None):
    out = apply(op0, value(data), value(operand0), reverse0)
    return {"dst": out if op1 is None else apply(op1, out, value(operand1), reverse1)}


def scalar_tensor_tensor(dst, data, op0, operand0, op1, operand1, reverse0=False, reverse1=False):
    return {"dst": apply(op1, apply(op0, value(data), value(operand0), reverse0), value(operand1), reverse1)}


def activation(dst, op, data, bias=0.0, scale=1.0, reduce_op=None, reduce_res=None, reduce_cmd=None):
    out = UNARY[op.text](value(data) * value(scale) + value(bias))
    if reduce_res is None:
        return {"dst": out}
    assert (reduce_op.text, reduce_cmd.text) == ("nl.add", "nisa.reduce_cmd.reset_reduce")
    return {"dst": out, "reduce_res": out.sum(axis=1, keepdims=True)}


def reciprocal(dst, data):
    return {"dst": 1 / value(data)}


def tensor_reduce(dst, op, data, axis, negate=False):
    out = BINARY[op.text].reduce(value(data), axis=axis)
    out = out[:, None] if axis == 1 else out
    return {"dst": -out if negate else out}


def along(shape, pattern, offset, channel_multiplier):
    """Where each element lies, as an affine number."""
    steps = sum(np.ix_(*(step * np.arange(count) for step, count in pattern))).reshape(-1)
    assert steps.size == np.prod(shape[1:])
    return (offset + channel_multiplier * np.arange(shape[0])[:, None] + steps).reshape(shape)


def iota(dst, pattern, offset=0, channel_multiplier=0):
    return {"dst": along(dst.array.shape, pattern, offset, channel_multiplier)}


def affine_select(dst, pattern, channel_multiplier, on_true_tile, on_false_value, cmp_op, offset=0):
    where = apply(cmp_op, along(dst.array.shape, pattern, offset, channel_multiplier), 0)
    return {"dst": np.where(where, value(on_true_tile), on_false_value)}


def tensor_copy_predicated(dst, src, predicate, reverse_pred=False):
    out = np.broadcast_to(value(src), value(dst).shape).copy()
    kept = (value(predicate) != 0) == reverse_pred
    out[kept] = value(dst)[kept]
    return {"dst": out}


def select_reduce(
    dst, predicate, on_true, on_false, reduce_res=None, reduce_cmd=None, reduce_op=None, reverse_pred=False
):
    predicates = value(predicate) == 0 if reverse_pred else value(predicate) != 0
    out = np.where(predicates, value(on_true), value(on_false))
    if reduce_res is None:
        return {"dst": out}
    assert (reduce_op.text, reduce_cmd.text) == ("nl.maximum", "nisa.reduce_cmd.reset_reduce")
    return {"dst": out, "reduce_res": out.max(axis=1, keepdims=True)}


def tensor_scalar_reduce(dst, data, op0, operand0, reduce_op, reduce_res, reduce_cmd):
    assert reduce_cmd.text == "nisa.reduce_cmd.reset_reduce"
    out = apply(op0, value(data), value(operand0))
    return {"dst": out, "reduce_res": BINARY[reduce_op.text].reduce(out, axis=1)[:, None]}


def tensor_scalar_cumulative(dst, src, op0, op1, imm0, reduce_cmd):
    assert reduce_cmd.text == "nisa.reduce_cmd.reset_reduce"
    return {"dst": BINARY[op1.text].accumulate(apply(op0, value(src), imm0), axis=1)}


def tensor_tensor_scan(dst, data0, data1, initial, op0, op1):
    state, out = value(initial), np.empty_like(dst.array)
    for f in range(out.shape[1]):
        column = slice(f, f + 1)
        state = apply(op1, apply(op0, value(data0)[:, column], state), value(data1)[:, column])
        out[:, column] = state
    return {"dst": out}


def range_select(
    dst, on_true_tile, comp_op0, comp_op1, bound0, bound1, range_start, reduce_cmd=None, reduce_res=None, reduce_op=None
):
    place = range_start + np.arange(dst.array.shape[1])
    kept = (apply(comp_op0, place, value(bound0)) != 0) & (apply(comp_op1, place, value(bound1)) != 0)
    out = np.where(kept, value(on_true_tile), -3.4028235e38)
    if reduce_res is None:
        return {"dst": out}
    assert (reduce_op.text, reduce_cmd.text) == ("nl.maximum", "nisa.reduce_cmd.reset_reduce")
    return {"dst": out, "reduce_res": out.max(axis=1, keepdims=True)}


def tensor_partition_reduce(dst, op, data):
    out = value(data).mean(axis=0) if op.text == "nl.average" else BINARY[op.text].reduce(value(data), axis=0)
    return {"dst": out[None, :]}


def bn_stats(dst, data):
    halves = value(data)[:, 0::2], value(data)[:, 1::2]
    columns = [f(h) for h in halves for f in (lambda h: np.full(len(h), h.shape[1]), np_mean, np_deviations)]
    return {"dst": np.stack(columns, axis=1)}


def np_mean(x):
    return x.mean(axis=1)


def np_deviations(x):
    return x.shape[1] * x.var(axis=1)


def bn_aggr(dst, data):
    counts, means, squares = (value(data)[:, k::3] for k in range(3))
    total = counts.sum(axis=1)
    mean = (counts * means).sum(axis=1) / total
    return {"dst": np.stack([mean, (squares + counts * (means - mean[:, None]) ** 2).sum(axis=1) / total], axis=1)}


def max8(dst, src):
    return {"dst": -np.sort(-value(src), axis=1)[:, :8]}


def nc_find_index8(dst, data, vals):
    out = np.full(dst.array.shape, 2.0**32 - 1)
    for p, row in enumerate(value(vals)):
        free = list(value(data)[p])
        for k, v in enumerate(row):
            if v in free:
                out[p, k] = free.index(v)
                free[free.index(v)] = None
    return {"dst": out}


def nc_match_replace8(dst, data, vals, imm, dst_idx=None):
    out, at = value(data).copy(), np.full((len(value(vals)), 8), 2.0**32 - 1)
    for p, row in enumerate(value(vals)):
        free = list(value(data)[p])
        for k in reversed(range(8)):
            if row[k] in free:
                place = free.index(row[k])
                free[place] = None
                out[p, place], at[p, k] = imm, place
    return {"dst": out} if dst_idx is None else {"dst": out, "dst_idx": at}


NKI = {
    "nisa.dma_copy": dma_copy,
    "nisa.nc_n_gather": nc_n_gather,
    "nisa.dma_transpose": dma_transpose,
    "nisa.tensor_copy": copy,
    "nisa.memset": memset,
    "nisa.nc_matmul": nc_matmul,
    "nisa.nc_transpose": nc_transpose,
    "nisa.tensor_tensor": tensor_tensor,
    "nisa.tensor_scalar": tensor_scalar,
    "nisa.scalar_tensor_tensor": scalar_tensor_tensor,
    "nisa.activation": activation,
    "nisa.reciprocal": reciprocal,
    "nisa.tensor_reduce": tensor_reduce,
    "nisa.iota": iota,
    "nisa.affine_select": affine_select,
    "nisa.tensor_copy_predicated": tensor_copy_predicated,
    "nisa.select_reduce": select_reduce,
    "nisa.tensor_scalar_reduce": tensor_scalar_reduce,
    "nisa.range_select": range_select,
    "nisa.tensor_partition_reduce": tensor_partition_reduce,
    "nisa.bn_stats": bn_stats,
    "nisa.bn_aggr": bn_aggr,
    "nisa.max8": max8,
    "nisa.nc_find_index8": nc_find_index8,
    "nisa.nc_match_replace8": nc_match_replace8,
    "nisa.tensor_scalar_cumulative": tensor_scalar_cumulative,
    "nisa.tensor_tensor_scan": tensor_tensor_scan,
}

FORMS = [
    pytest.param(device, name, form.name, id=f"{device}-{name}-{form.name}")
    for device in DEVICES
    for name, instruction in load_device(device).instructions.items()
    for form in instruction.forms
]


def shape_of(rule):
    return tuple(int(a) if a.isdigit() else EXTENTS[a] for a in rule.axes)


def example(form, rng):
    """Values for the names of a form: tiles of a few numbers, and a number for each immediate. Activations are given
    positive numbers, other operators zeros too."""
    pool = POOL if all(m in BINARY for c in form.functions.values() for m in c.members.values()) else POOL[1:]
    pool = POOL[1:] if form.instruction == "reciprocal" else pool
    operands = {
        o.name: Tile(rng.choice(pool, shape_of(o))) if o.kind == "tile" else NUMBER + 0.5 * i
        for i, o in enumerate(form.operands)
    }
    for o in form.operands:
        if o.name in ("index", "indices"):
            operands[o.name] = Tile(rng.integers(0, 7, shape_of(o)))
    results = {r.name: Tile(np.full(shape_of(r), np.nan)) for r in form.results}
    for r in form.results:
        if r.tied:
            results[r.name] = operands[r.tied]
    return operands, results


def keyword_arguments(form, operands, results, attributes):
    """The printed call, evaluated."""
    values = {n: f"v[{n!r}]" for n in (*operands, *results)}
    values |= {str(a): f"Rows(v[{a.index!r}], v[{a.tensor!r}])" for _, a in form.call if isinstance(a, CallRows)}
    scope = {**NAMES, "Rows": Rows, "v": {**operands, **results}}
    sizes = {a: str(EXTENTS[a]) for r in form.results for a in r.axes if a.isidentifier()}
    return {k: eval(text, scope) for k, text in form.spelled_arguments(values, attributes, sizes)}


def choices(form):
    names = list(form.functions)
    for members in itertools.product(*(form.functions[n].members for n in names)):
        yield {**dict(zip(names, members, strict=True)), **{n: POSITION[n] for n in form.numbers}}


@pytest.mark.parametrize(("device", "name", "form_name"), FORMS)
def test_call_computes_the_meaning_and_reads_back(device, name, form_name):
    instruction = load_device(device).instruction(name)
    form = instruction.form(form_name)
    operands, results = example(form, np.random.default_rng(1))
    arrays = [value(operands[o.name]) for o in form.operands]
    sizes = {s: EXTENTS[s] for s in form.free_sizes}
    tried = 0
    for attributes in choices(form):
        given = keyword_arguments(form, operands, results, attributes)
        expected = NKI[instruction.nki](**given)
        found = form.meaning.evaluate([np.asarray(a, dtype=float) for a in arrays], {**attributes, **sizes}, Floats())
        for rule, array in zip(form.results, found, strict=True):
            np.testing.assert_allclose(array, expected[rule.name], rtol=1e-12)
        selected = instruction.select(given, is_tile=is_tile, spell=spell)
        assert selected.form is form
        assert selected.attributes == attributes
        assert selected.operands == operands
        assert selected.results == results
        assert all(EXTENTS[n] == v for n, v in selected.sizes.items())
        tried += 1
    assert tried


def select(instruction, device="trn2", **arguments):
    return load_device(device).instruction(instruction).select(arguments, is_tile=is_tile, spell=spell)


TILE = Tile(np.zeros((2, 2)))
NL, NISA = NAMES["nl"], NAMES["nisa"]


def test_defaults_may_be_passed_and_open_parameters_are_ignored():
    chosen = select("activation", dst=TILE, op=NL.exp, data=TILE, bias=None, scale=1.0, name="softmax")
    assert chosen.form.name == "plain"
    chosen = select("dma_copy", dst=TILE, src=TILE, dge_mode=NISA.dge_mode.hwdge, engine=NISA.engine.unknown)
    assert chosen.form.name == "copy"
    assert select("tensor_reduce", dst=TILE, op=NL.add, data=TILE, axis=[1], keepdims=True).form.name == "row"


def test_the_engine_argument_chooses_among_forms():
    arguments = dict(dst=TILE, data=TILE)
    assert select("nc_transpose", **arguments).form.name == "tensor"
    assert select("nc_transpose", **arguments, engine=NISA.engine.vector).form.name == "vector"
    found = load_device("trn2").instruction("nc_transpose").matches(arguments, is_tile=is_tile, spell=spell)
    assert [s.form.name for s in found] == ["tensor", "vector"]


@pytest.mark.parametrize(
    ("instruction", "arguments", "message", "accepted"),
    [
        ("tensor_copy", dict(dst=TILE, source=TILE), "no parameter source", "dst, src"),
        ("tensor_copy", dict(dst=TILE), "needs the argument src", "dst, src"),
        ("tensor_tensor", dict(dst=TILE, data1=TILE, data2=TILE, op=NL.divide), "op = nl.divide", "nl.add"),
        ("tensor_tensor", dict(dst=TILE, data1=TILE, data2=2.0, op=NL.add), "data2 = 2.0", "a tile [P, F]"),
        ("activation", dict(dst=TILE, op=NL.exp, data=TILE, reduce_op=NL.maximum), "reduce_op = nl.maximum", "nl.add"),
        ("nc_matmul", dict(dst=TILE, stationary=TILE, moving=TILE), "accumulate = None", "False or True"),
        ("tensor_copy", dict(dst=TILE, src=TILE, engine=NISA.engine.tensor), "engine = nisa.engine.tensor", "vector"),
    ],
)
def test_a_call_that_fits_no_form_says_what_would(instruction, arguments, message, accepted):
    with pytest.raises(AxonError) as caught:
        select(instruction, **arguments)
    assert message in caught.value.message
    assert accepted in (caught.value.accepted or "")


def test_generations_differ_where_the_reference_says_so():
    arguments = dict(dst=TILE, op=NL.exp, data=TILE, bias=0.5)
    assert select("activation", "trn2", **arguments).form.name == "bias_value"
    with pytest.raises(AxonError, match="bias"):
        select("activation", "trn1", **arguments)
    assert "reciprocal" in load_device("trn1").instruction("activation").form("plain").functions["fn"].members
    assert "reciprocal" not in load_device("trn1").instruction("activation").form("bias").functions["fn"].members
    assert load_device("trn1").instruction("tensor_copy").engines == ("vector", "gpsimd")
    assert load_device("trn2").instruction("tensor_copy").engines == ("vector", "scalar", "gpsimd")
    assert SimpleNamespace(**load_device("trn3").limits).moving_free == 4096
