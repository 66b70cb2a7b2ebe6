# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The mutants: each is a wrong version of what a pass makes of a program.

All of them compute something else; `test_mutants.py` checks that too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mutation.edits import (
    Edit,
    TextEdit,
    accumulate,
    axes,
    both,
    bound,
    exchange,
    extent,
    function,
    immediate,
    instruction_overwrites,
    isa,
    iteration_extent,
    leaf,
    meaning,
    monoid,
    neutral,
    offset,
    operand,
    overwrite,
    placed,
    resub,
    skip,
    step,
    storage,
    sub,
    swap_axes,
    swap_offsets,
    written,
    yields_argument,
)

from axon_mlir.dialects.tile import EmptyOp, ExtractOp, InsertOp, LeafOp, LoadOp, NeutralOp, StoreOp


@dataclass(frozen=True)
class Mutant:
    """One wrong version of one pass's output."""

    stage: str
    program: str
    kind: str
    label: str
    edit: Edit | None = None
    """Of the module behind the pass; None for kernels."""
    text: TextEdit | None = None
    """Of the printed kernel."""
    function: str | None = None
    """The function that is changed, if there are several."""

    @property
    def name(self) -> str:
        """Unique."""
        return f"{self.stage}-{self.program}-{self.label}"


def _decompose(program: str, kind: str, label: str, *edits: TextEdit) -> Mutant:
    return Mutant("tensor-hl-decompose", program, kind, label, written(*edits))


def _tidy(program: str, kind: str, label: str, *edits: TextEdit) -> Mutant:
    return Mutant("tensor-hl-canonicalize", program, kind, label, written(*edits))


def _extract(function: int, kind: str, label: str, edit: Edit) -> Mutant:
    return Mutant("nu-extract", "graph", kind, label, edit, function=f"rms_mm_{function}")


def _kernel(program: str, kind: str, label: str, text: TextEdit) -> Mutant:
    return Mutant("kernel", f"kernel_{program}", kind, label, text=text)


def _twice(old: str) -> str:
    return f"2 * {old}" if not old.isdigit() else str(2 * int(old))


def _half(old: str) -> str:
    return str(int(old) // 2)


ALGEBRA = [
    # Operators, constants, attributes, operands of tensor programs.
    _decompose("softmax", "dropped term", "sum-of-what-is-not-raised", sub("reduce sum %3", "reduce sum %2")),
    _decompose("softmax", "fold monoid", "max-for-sum", sub("reduce sum", "reduce max")),
    _decompose("softmax", "dropped term", "unnormalised", sub("tensor_hl.div %3, %5", "tensor_hl.mul %3, %5")),
    _decompose("softmax", "operand order", "shift-reversed", sub(
        'sub %x, %1 : (tensor<?x?xbf16, ["M", "N"]>, tensor<?x?xf32, ["M", "N"]>)',
        'sub %1, %x : (tensor<?x?xf32, ["M", "N"]>, tensor<?x?xbf16, ["M", "N"]>)',
    )),
    _decompose("softmax", "attribute", "other-axis", sub("axes [1]", "axes [0]")),
    _decompose("rms_norm", "constant", "eps-ten-times", sub("1.0e-05", "1.0e-04")),
    _decompose("rms_norm", "constant", "other-size", sub('size "N"', 'size "M"')),
    _decompose("rms_norm", "operator", "no-root", sub("tensor_hl.sqrt", "tensor_hl.square")),
    _decompose("rms_norm", "dropped term", "no-gain", sub("func.return %12", "func.return %10")),
    _decompose("rms_norm", "operand order", "root-over-x", sub("div %x, %9", "div %9, %x")),
    _decompose("layer_norm", "dropped term", "no-bias", sub("func.return %20", "func.return %18")),
    _decompose("layer_norm", "dropped term", "not-centred", sub("tensor_hl.square %5", "tensor_hl.square %x")),
    _decompose("layer_norm", "constant", "unbiased-variance", sub('size "N"', 'size "N - 1"', nth=1)),
    _decompose("gelu", "operator", "tanh-for-erf", sub("tensor_hl.erf", "tensor_hl.tanh")),
    _decompose("gelu", "constant", "divided-by-root-of-three", sub("constant 2.0", "constant 3.0")),
    _tidy("tidy", "operand order", "difference-reversed", sub("sub %x, %y", "sub %y, %x")),
    _tidy("tidy", "operator", "sum-for-difference", sub("tensor_hl.sub", "tensor_hl.add")),
    _tidy("tidy", "constant", "three-tenths-plus", sub("constant 0.3", "constant 0.3001")),
    _tidy("tidy", "constant", "size-not-reduced", sub('"K - 1" : tensor<f32>', '"K" : tensor<f32>')),
    _tidy("tidy", "dropped term", "no-constant", sub("div %4, %5", "div %2, %5")),
    _tidy("tidy", "attribute", "broadcast-along-the-other-axis", sub("broadcast %v dims [0]", "broadcast %v dims [1]")),
    _tidy("cube", "attribute", "permutation-inverted", sub("perm [2, 0, 1]", "perm [1, 2, 0]")),
    _tidy("cube", "attribute", "permutation-dropped", sub("perm [2, 0, 1]", "perm [0, 1, 2]")),
    _tidy("cube", "attribute", "reduced-axis", sub("axes [1]", "axes [2]")),
    _tidy("cube", "attribute", "contracted-axis", sub("rhs [0]", "rhs [1]")),
    _tidy("cube", "attribute", "broadcast-axes", sub("broadcast %2 dims [0, 1]", "broadcast %2 dims [1, 2]")),
    _extract(0, "operator", "sqrt-for-rsqrt", written(sub("tensor_hl.rsqrt", "tensor_hl.sqrt"))),
    _extract(0, "dropped term", "no-scale", written(sub("mul %scaled, %gains", "mul %x, %gains"))),
    _extract(1, "dropped term", "no-residual", written(sub(
        "func.return %early, %z", "func.return %early, %normal_1", 1
    ))),
    _extract(1, "constant", "eps", written(sub("1.0e-06", "1.0e-03", 1))),
    _extract(2, "dropped term", "no-normalised-rows", written(sub(
        'func.return %late, %z : tensor<?x?xbf16, ["M", "N"]>', 'func.return %late, %x : tensor<?x?xbf16, ["M", "N"]>'
    ))),
    _extract(2, "attribute", "sum-over-rows", written(sub("axes [1]", "axes [0]", 2))),
    _extract(3, "operator", "difference-for-sum", written(sub("%z = tensor_hl.add", "%z = tensor_hl.sub", 3))),
    _extract(3, "constant", "other-size", written(sub('size "K"', 'size "N"', 3))),
]  # fmt: skip


def _symbolic(program: str, kind: str, label: str, edit: Edit) -> Mutant:
    return Mutant("tile-symbolic", program, kind, label, edit)


def _fused(program: str, kind: str, label: str, edit: Edit) -> Mutant:
    return Mutant("tile-fuse", program, kind, label, edit)


def _steps(program: str, kind: str, label: str, edit: Edit) -> Mutant:
    return Mutant("tile-instantiate", program, kind, label, edit)


TILING = [
    _symbolic("tmm", "index", "load-one-further", offset(LoadOp, 0, 0, "o + 1")),
    _symbolic("tmm", "index", "load-always-first", offset(LoadOp, 1, 1, "0")),
    _symbolic("tmm", "index", "store-always-first", offset(StoreOp, 0, 1, "0")),
    _symbolic("tmm", "index", "offsets-exchanged", swap_offsets(LoadOp, 0)),
    _symbolic("tmm", "bound", "last-summand-missing", bound("a0", "upper", "b - 1")),
    _symbolic("tmm", "bound", "first-summand-missing", bound("a0", "lower", "b + 1")),
    _symbolic("tmm", "bound", "last-row-missing", bound("a1", "upper", "b - 1")),
    _symbolic("tmm", "step", "every-other-tile", step("a0", _twice)),
    _symbolic("tmm", "extent", "one-short", iteration_extent("a0", "n - 1")),
    _symbolic("tmm", "accumulate", "last-tile-only", overwrite()),
    _symbolic("tmm", "fold monoid", "product-for-sum", monoid("prod")),
    _symbolic("tmm", "fold monoid", "begins-with-one", neutral("prod")),
    _symbolic("tmm", "operand order", "operands-exchanged", exchange(lambda m: leaf(m, "K, M"))),
    _symbolic("tmm", "layout", "axes-exchanged", swap_axes(LoadOp, 0)),
    _symbolic("tmm", "operator", "sum-of-sums", meaning("K, M", "mul(", "add(")),
    _symbolic("divrow", "operator", "product-for-quotient", meaning("div(", "div(", "mul(")),
    _symbolic("divrow", "operand order", "quotient-reversed", meaning(
        "div(", "div(x0[p, f], x1[p, 0])", "div(x1[p, 0], x0[p, f])"
    )),
    _symbolic("divrow", "dropped store", "inner-loop", yields_argument("x1")),
    _symbolic("divrow", "dropped store", "store", skip(StoreOp, 0, 1)),
    _symbolic("rms_mm", "constant", "eps", meaning("1/100000", "1/100000", "1/10000")),
    _symbolic("rms_mm", "constant", "other-size", meaning("size_x1", "size_x1", "size_x0")),
    _symbolic("rms_mm", "index", "gain-at-the-start", offset(LoadOp, 8, 0, "0")),
    _symbolic("scale2", "dropped term", "second-factor", skip(LeafOp, 1, 0)),
    _fused("rms_mm", "index", "insert-at-the-start", offset(InsertOp, 1, 1, "0")),
    _fused("rms_mm", "index", "extract-at-the-start", offset(ExtractOp, 1, 1, "0")),
    _fused("rms_mm", "index", "extract-swapped-operand", offset(ExtractOp, 3, 0, "0")),
    _fused("rms_mm", "bound", "buffer-not-filled", bound("x1", "upper", "b - 1")),
    _fused("rms_mm", "bound", "first-column-not-summed", bound("x1", "lower", "b + 1", 1)),
    _fused("rms_mm", "step", "every-other-tile", step("x1", _twice, 5)),
    _fused("rms_mm", "extent", "reused-extent", extent(LoadOp, 1, 1, "n - 1")),
    _fused("rms_mm", "accumulate", "statistics-of-the-last-tile", overwrite(0)),
    _fused("rms_mm", "accumulate", "monoids-disagree", accumulate("prod", 0)),
    _fused("rms_mm", "fold monoid", "maximum-for-sum", monoid("max", 0)),
    _fused("rms_mm", "fold monoid", "begins-with-one", neutral("prod", 1)),
    _fused("rms_mm", "layout", "axes-exchanged", swap_axes(LoadOp, -1)),
    _fused("rms_mm", "operator", "cube-for-square", meaning("mul(x0[p, f], x0[p, f])", "mul(x0[p, f], x0[p, f])",
                                                            "mul(x0[p, f], mul(x0[p, f], x0[p, f]))")),
    _fused("rms_mm", "operand order", "root-not-inverted", meaning("div(1,", "div(1, x0[p, f])", "div(x0[p, f], 1)")),
    _fused("rms_mm", "dropped term", "no-gain", skip(LeafOp, 0, 0, lambda op: "x1[P, F]" in op.text.data)),
    _fused("rms_mm", "dropped store", "intermediate", skip(StoreOp, 0, 1)),
    _fused("late", "index", "scale-of-the-first-rows", offset(ExtractOp, -1, 0, "0")),
    _fused("late", "dropped store", "scales-not-kept", skip(InsertOp, -1, 1)),
    _fused("common", "operand order", "other-operand", operand(
        lambda m: leaf(m, "mul", 1), 0, lambda m: leaf(m, "mul", 0).operands[0]
    )),
    _steps("rms_mm", "step", "gaps", step("x1", _twice, 1)),
    _steps("rms_mm", "step", "summed-twice", step("x1", _half, 0, "sum")),
    _steps("tmm", "step", "gaps-in-the-contraction", step("a0", _twice, 0, "sum")),
    _steps("tmm", "step", "rows-skipped", step("a1", lambda old: str(int(old) + 1))),
    _steps("tmm", "bound", "last-summand-missing", bound("a0", "upper", "b - 1", 0, "sum")),
    _steps("tmm", "bound", "whole-tiles-only", bound("a0", "upper", "b - b % 16", 0, "sum")),
    _steps("tmm", "bound", "one-too-far", bound("a0", "upper", "b + 1", 0, "sum")),
    _steps("tmm", "bound", "constant-bound", bound("b1", "upper", "16", -1)),
    _steps("tmm", "extent", "never-ragged", iteration_extent("a1", "n * 0 + 16")),
    _steps("tmm", "extent", "at-most-fifteen", iteration_extent("b1", "min(n, 15)", -1)),
    _steps("tmm", "extent", "accumulator-too-narrow", extent(NeutralOp, 0, 1, "n - 1")),
    _steps("tmm", "index", "tile-before", offset(ExtractOp, 0, 0, "16 * (o // 32)")),
    _steps("rms_mm", "index", "off-by-one-insert", offset(InsertOp, 1, 1, "o + 1")),
    _steps("rms_mm", "extent", "buffer-too-small", extent(EmptyOp, 3, 1, "n - 1")),
    _steps("rms_mm", "fold monoid", "minimum-for-sum", monoid("min", 0)),
    _steps("rms_mm", "accumulate", "last-tile-only", overwrite(1)),
    _steps("rms_mm", "layout", "gain-down-the-partitions", axes(LoadOp, 0, [0])),
    _steps("rms_mm", "operand order", "operands-exchanged", exchange(lambda m: leaf(m, "K, M"))),
    _steps("scale2", "index", "column-scale-at-the-start", offset(ExtractOp, 0, 1, "0")),
    _steps("divrow", "dropped store", "outer-loop", yields_argument("x0")),
    _steps("divrow", "index", "divisor-of-the-first-row", offset(LoadOp, 0, 0, "0")),
]  # fmt: skip


def _selected(program: str, kind: str, label: str, edit: Edit) -> Mutant:
    return Mutant("isa-select", program, kind, label, edit)


def _allocated(program: str, kind: str, label: str, edit: Edit) -> Mutant:
    return Mutant("isa-allocate", program, kind, label, edit)


INSTRUCTIONS = [
    _selected("rms_mm", "operator", "abs-for-square", function("activation", "fn", "abs", 0)),
    _selected("rms_mm", "operator", "rsqrt-for-sqrt", function("activation", "fn", "rsqrt", 1)),
    _selected("rms_mm", "operator", "sum-for-product", function("scalar_tensor_tensor", "op1", "add")),
    _selected("rms_mm", "operator", "unknown-function", function("activation", "fn", "reduce_max", 1)),
    _selected("rms_mm", "fold monoid", "product-of-partial-sums", function("tensor_tensor", "fn", "mul")),
    _selected("rms_mm", "immediate", "eps", immediate("activation", "bias", "(1 / 10000)")),
    _selected("rms_mm", "immediate", "other-size", immediate("activation", "scale", "(1 / x0)")),
    _selected("rms_mm", "immediate", "no-size", immediate("activation", "scale", "(1 / q)")),
    _selected("rms_mm", "immediate", "begins-with-one", immediate("memset", "value", "1")),
    _selected("rms_mm", "accumulate", "last-tile-only", instruction_overwrites("nc_matmul", "overwrite")),
    _selected("rms_mm", "fold monoid", "psum-begins-with-one", neutral("prod")),
    _selected("rms_mm", "operand order", "operands-exchanged", exchange(lambda m: isa(m, "nc_matmul"))),
    _selected("rms_mm", "layout", "axes-exchanged", swap_axes(LoadOp, -1)),
    _selected("rms_mm", "index", "load-always-first", offset(LoadOp, 1, 1, "0")),
    _selected("rms_mm", "bound", "last-summand-missing", bound("x1", "upper", "b - 1", -1)),
    _selected("rms_mm", "dropped store", "result", skip(StoreOp, -1, 1)),
    _selected("rms_mm", "dropped term", "root-not-inverted", operand(
        lambda m: isa(m, "scalar_tensor_tensor"), 1, lambda m: isa(m, "activation", 1).results[0]
    )),
    _selected("divrow", "operator", "sum-for-product", function("tensor_scalar", "op0", "add")),
    _selected("divrow", "operator", "difference-for-product", function("tensor_scalar", "op0", "subtract")),
    _selected("divrow", "dropped term", "divisor-not-inverted", operand(
        lambda m: isa(m, "tensor_scalar"), 1, lambda m: isa(m, "tensor_scalar").operands[1].owner.operands[0]
    )),
    _selected("common", "operand order", "other-factor", operand(
        lambda m: isa(m, "tensor_tensor", 1), 0, lambda m: isa(m, "tensor_tensor", 0).operands[0]
    )),
    _allocated("rms_mm", "storage", "same-address", storage(1, lambda old, all_: placed(old, all_[0].address.data))),
    _allocated("rms_mm", "storage", "overlapping-end", storage(1, lambda old, all_: placed(
        old, all_[0].bytes.data // 8 * 4
    ))),
    _allocated("rms_mm", "storage", "two-results-in-one-place", storage(
        4, lambda old, all_: placed(old, all_[3].address.data)
    )),
    _allocated("rms_mm", "storage", "operand-under-result", storage(
        -2, lambda old, all_: placed(old, all_[-3].address.data)
    )),
    _allocated("rms_mm", "storage", "too-small", storage(0, lambda old, _: placed(
        old, old.address.data, old.bytes.data // 2
    ))),
    _allocated("rms_mm", "storage", "beyond-the-end", storage(-1, lambda old, _: placed(old, 1 << 20))),
    _allocated("rms_mm", "storage", "between-elements", storage(-1, lambda old, _: placed(old, old.address.data + 2))),
    _allocated("rms_mm", "storage", "not-decided", storage(2, lambda old, _: None)),
    _allocated("rms_mm", "storage", "other-memory", storage(0, lambda old, _: placed(old, 0, 2048, "psum"))),
    _allocated("tmm", "storage", "middle-of-a-bank", storage(0, lambda old, _: placed(old, 1024), "psum")),
    _allocated("tmm", "storage", "live-across-the-loop", storage(1, lambda old, all_: placed(
        old, all_[0].address.data
    ))),
    _allocated("common", "storage", "last-use-too-early", storage(4, lambda old, all_: placed(
        old, all_[1].address.data
    ))),
    _allocated("tmm", "index", "insert-at-the-start", offset(InsertOp, 0, 0, "0")),
    _allocated("tmm", "bound", "whole-tiles-only", bound("a0", "upper", "b - b % 16", -1)),
    _allocated("rms_mm", "operator", "sum-for-product", function("scalar_tensor_tensor", "op0", "add")),
    _allocated("rms_mm", "immediate", "begins-with-one", immediate("memset", "value", "1")),
    _allocated("divrow", "dropped store", "inner-loop", yields_argument("x1")),
    _allocated("late", "index", "scale-of-the-first-rows", offset(ExtractOp, -1, 0, "0")),
    _allocated("late", "operand order", "operands-exchanged", both(exchange(lambda m: isa(m, "nc_matmul")))),
]  # fmt: skip


KERNELS = [
    _kernel("rms_mm", "index", "load-one-further", sub("x1_i:x1_i + x1_n]", "x1_i + 1:x1_i + x1_n + 1]", 1)),
    _kernel("rms_mm", "index", "store-always-first", sub(
        "out[x0_i:x0_i + x0_n, w1_i:w1_i + w1_n]", "out[x0_i:x0_i + x0_n, 0:w1_n]"
    )),
    _kernel("rms_mm", "index", "other-chunk", resub(
        r"(stationary=\w+\[[^,]*, )x1_i // 128", r"\g<1>0"
    )),
    _kernel("scale2", "layout", "strides-exchanged", sub("[[0, 128], [1, x1_n]]", "[[1, 128], [0, x1_n]]")),
    _kernel("rms_mm", "index", "transposes-the-first-tile", resub(
        r"(nc_transpose\(\s*dst=\w+, data=\w+)\[[^]]*\]", r"\1[0:x0_n, 0:x1_n]"
    )),
    _kernel("rms_mm", "immediate", "eps", sub("bias=1e-05", "bias=1e-04")),
    _kernel("rms_mm", "immediate", "other-size", sub("scale=1 / x1", "scale=1 / x0")),
    _kernel("rms_mm", "immediate", "begins-with-one", sub("value=0.0", "value=1.0")),
    _kernel("rms_mm", "operator", "sum-for-product", sub("op1=nl.multiply", "op1=nl.add")),
    _kernel("rms_mm", "operator", "abs-for-square", sub("op=nl.square", "op=nl.abs")),
    _kernel("rms_mm", "dropped term", "partial-sum-forgotten", sub("data1=total", "data1=square_res")),
    _kernel("rms_mm", "accumulate", "reduction-not-reset", sub("reset_reduce", "reduce")),
    _kernel("tmm", "accumulate", "never", sub("accumulate=(a0_i > 0)", "accumulate=False")),
    _kernel("tmm", "accumulate", "always", sub("accumulate=(a0_i > 0)", "accumulate=True")),
    _kernel("tmm", "accumulate", "from-the-second", sub("accumulate=(a0_i > 0)", "accumulate=(a0_i > 128)")),
    _kernel("tmm", "step", "gaps", sub("range(0, a0, 128)", "range(0, a0, 256)", -1)),
    _kernel("tmm", "step", "overlaps", sub("range(0, a0, 128)", "range(0, a0, 64)", -1)),
    _kernel("tmm", "bound", "last-summand-missing", sub("range(0, a0, 128)", "range(0, a0 - a0 % 128, 128)", -1)),
    _kernel("tmm", "bound", "first-tile-missing", sub("range(0, b1, 512)", "range(512, b1, 512)", -1)),
    _kernel("tmm", "extent", "one-short", sub("min(512, b1 - b1_i)", "min(512, b1 - b1_i - 1)", -1)),
    _kernel("tmm", "extent", "never-ragged", sub("min(128, a1 - a1_i)", "128")),
    _kernel("tmm", "operand order", "operands-exchanged", lambda text: sub("MOVING", "stationary=")(
        sub("stationary=", "moving=")(sub("moving=", "MOVING")(text))
    )),
    _kernel("tmm", "dropped store", "result", sub("nisa.dma_copy(dst=out", "dict(dst=out", -1)),
    _kernel("tmm", "storage", "accumulator-too-early", lambda text: sub(
        "            acc = nl.ndarray((a1_n, b1_n)", "            acc = nl.ndarray((a1_n, 1)"
    )(text)),
    _kernel("scale2", "operand order", "factors-exchanged", lambda text: sub("operand0=x_t", "operand0=c_t")(
        sub("operand0=c_t", "operand0=x_t")(sub("data=x_t", "data=c_t")(text))
    )),
    _kernel("scale2", "index", "row-scale-of-the-first-rows", sub("src=c[x0_i:x0_i + x0_n", "src=c[0:x0_n")),
    _kernel("scale2", "index", "column-scale-shifted", sub("offset=x1_i", "offset=0")),
]  # fmt: skip

MUTANTS: Mapping[str, Mutant] = {m.name: m for m in (*ALGEBRA, *TILING, *INSTRUCTIONS, *KERNELS)}
"""By name."""

assert len(MUTANTS) == len(ALGEBRA) + len(TILING) + len(INSTRUCTIONS) + len(KERNELS), "names must differ"
