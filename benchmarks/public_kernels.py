# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Public NKI kernels on the simulator, unmodified, against what NumPy computes.

python -m benchmarks.public_kernels --sources DIR [NAME ...]

DIR has clones of the repositories, as OWNER+NAME; each kernel is taken at the commit that its case names.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from axon_mlir.errors import AxonError
from axon_mlir.sim import execute

Array = NDArray[Any]
BF16 = np.dtype(ml_dtypes.bfloat16)


@dataclass(frozen=True)
class Library:
    """A repository at a commit, and the folder that modules are imported from."""

    repository: str
    commit: str
    folder: str


SDK = Library("aws-neuron/aws-neuron-sdk", "81ce03ae", "nki/examples")
NKILIB = Library("aws-neuron/nki-library", "d2ad3a5", "src/nkilib_src")
NKILIB_OF_JANUARY = Library("aws-neuron/nki-library", "1edc7bb", "src/nkilib_src")
"""One file of the newer release is no Python."""


@dataclass(frozen=True)
class Case:
    """A call of a kernel: `call` in terms of `a0`, `a1`, ..., after `imports`; what it should return (None: not
    compared); the largest error, as a part of the largest element; on how many cores."""

    name: str
    origin: Library
    imports: str
    call: str
    arguments: Callable[[Random], Sequence[Any]]
    wanted: Callable[..., Any]
    tolerance: float = 1e-5
    grid: int = 1
    seen: Callable[[Array], Array] = np.asarray
    """What an output stands for."""


class Random:
    """Inputs."""

    def __init__(self) -> None:
        self.source = np.random.default_rng(0)

    def __call__(self, *shape: int, scale: float = 1.0) -> Array:
        return (self.source.standard_normal(shape) * scale).astype(np.float32)

    def integers(self, most: int, *shape: int) -> Array:
        """Integers below a number."""
        return self.source.integers(0, most, shape).astype(np.int32)


def softmax(x: Array) -> Array:
    """Along the last axis."""
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def halves_turned(x: Array) -> Array:
    """The two halves of the last axis, the second one first and negated."""
    half = x.shape[-1] // 2
    return np.concatenate([-x[..., half:], x[..., :half]], -1)


def rope(x: Array, cos: Array, sin: Array) -> Array:
    """Of [dim, batch, heads, length]."""
    a, b = np.split(x, 2)
    c, s = cos[:, :, None], sin[:, :, None]
    return np.concatenate([a * c - b * s, b * c + a * s])


def causal_attention(q: Array, k: Array, v: Array) -> Array:
    """Of [batch, dim, length] twice and [batch, length, dim]."""
    scores = np.einsum("bds,bdt->bst", q, k) * 0.125
    return softmax(np.where(np.tril(np.ones(scores.shape[1:])) > 0, scores, -1e30)) @ v


def attention_gradients(q: Array, k: Array, v: Array, out: Array, gradient: Array, lse: Array) -> tuple[Array, ...]:
    """Of [batch, heads, dim, length]."""
    weights = softmax(np.einsum("bhds,bhdt->bhst", q, k) / 8)
    inner = np.einsum("bhds,bhdt->bhst", gradient, v)
    scores = weights * (inner - (inner * weights).sum(-1, keepdims=True)) / 8
    return (
        np.einsum("bhst,bhdt->bhds", scores, k),
        np.einsum("bhst,bhds->bhdt", scores, q),
        np.einsum("bhst,bhds->bhdt", weights, gradient),
    )


def attention_backward_inputs(r: Random) -> Sequence[Array]:
    """Queries, keys, values, the result, its gradient, and the logarithms of the sums."""
    q, k, v, gradient = (r(1, 1, 64, 512) for _ in range(4))
    scores = np.einsum("bhds,bhdt->bhst", q, k) / 8
    lse = np.log(np.exp(scores).sum(-1)).reshape(1, 1, 4, 128).transpose(0, 1, 3, 2)
    out = np.einsum("bhst,bhdt->bhds", softmax(scores), v)
    return q, k, v, out.astype(np.float32), gradient, np.ascontiguousarray(lse).astype(np.float32)


def cross_entropy(logits: Array, targets: Array) -> tuple[Array, Array]:
    """The loss of each row, and the logarithm of its sum."""
    lse = np.log(np.exp(logits).sum(1))
    return lse - logits[np.arange(len(targets)), targets], lse


def cross_entropy_inputs(r: Random) -> Sequence[Array]:
    """Logits, targets, logarithms of sums."""
    logits, targets = r(64, 1000), r.integers(1000, 64)
    return logits, targets, cross_entropy(logits, targets)[1].astype(np.float32)


def convolution(x: Array, w: Array) -> Array:
    """Of [batch, channels, length] with [taps, channels, outputs]."""
    taps, length = len(w), x.shape[2] - len(w) + 1
    return np.asarray(sum(np.einsum("bcl,co->bol", x[:, :, k : k + length], w[k]) for k in range(taps)))


def depthwise(x: Array, w: Array) -> Array:
    """Each channel of [batch, channels, 1, length] with its own taps."""
    length = x.shape[3] - w.shape[3] + 1
    return np.asarray(sum(x[..., k : k + length] * w[None, :, 0, :, k, None] for k in range(w.shape[3])))


def gated(x: Array, gate: Array, up: Array, down: Array) -> Array:
    """silu(x gate) * (x up), times down."""
    x, gate, up, down = (np.asarray(a, np.float32) for a in (x, gate, up, down))
    opened = x @ gate
    return (opened / (1 + np.exp(-opened)) * (x @ up)) @ down


def selective_scan(delta: Array, u: Array, a: Array, b: Array, c: Array) -> Array:
    """The state-space recurrence of Mamba."""
    state = np.zeros((*u.shape[:2], a.shape[1]))
    out = np.zeros(u.shape)
    for t in range(u.shape[2]):
        step = delta[:, :, t, None]
        state = np.exp(step * a) * state + step * u[:, :, t, None] * b[:, None, :, t]
        out[:, :, t] = (state * c[:, None, :, t]).sum(-1)
    return out


def dequantised(rows: Array) -> Array:
    """Rows of eight bits times their scales: the last four elements are the bits of a float."""
    scales = np.ascontiguousarray(rows[..., -4:]).view(np.float32)
    return rows[..., :-4].astype(np.float32) * scales


def rms_normalised(x: Array, w: Array) -> Array:
    """Of bf16, clipped."""
    x, w = np.asarray(x, np.float32), np.asarray(w, np.float32)
    return np.clip(x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * w, -240, 240)


def by_partitions(x: Array) -> Array:
    """[batch, length, 128 * n] as [128, batch * length, n]."""
    return x.reshape(-1, 128, x.shape[-1] // 128).transpose(1, 0, 2)


def normalised(x: Array, w: Array, centred: bool) -> Array:
    """RMS or layer normalisation, by partitions."""
    x = x - x.mean(-1, keepdims=True) if centred else x
    return by_partitions(x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * w)


def _norm(name: str) -> str:
    """Calls a kernel whose result is in SBUF."""
    return (
        f"from nkilib.core.subkernels.{name}_tkg import {name}_tkg\n\n\ndef stored(x, w):\n"
        f"    o = nl.ndarray((128, 8, 4), dtype=nl.float32, buffer=nl.sbuf)\n    {name}_tkg(x, w, o)\n"
        "    out = nl.ndarray((128, 8, 4), dtype=nl.float32, buffer=nl.shared_hbm)\n"
        "    nisa.dma_copy(dst=out, src=o)\n    return out\n"
    )


def _sdk(module: str, function: str, arguments: Callable[[Random], Sequence[Any]], wanted: Callable[..., Any]) -> Case:
    names = ", ".join(f"a{n}" for n in range(len(arguments(Random()))))
    return Case(function, SDK, f"from {module} import {function}", f"{function}({names})", arguments, wanted)


MATMUL = "matrix_multiplication_nki_kernels"
CORE, NEW = "nkilib.core.", "nkilib.experimental."
TOPK = f"from {CORE}topk.rotational_topk import rotational_topk\nfrom {CORE}topk.rotational_topk_utils import "
CASES: tuple[Case, ...] = (
    _sdk("tensor_addition_nki_kernels", "nki_tensor_add", lambda r: [r(256, 1024), r(256, 1024)], np.add),
    _sdk(MATMUL, "nki_matmul_basic_", lambda r: [r(128, 64), r(128, 512)], lambda a, b: a.T @ b),
    *(
        _sdk(MATMUL, f"nki_matmul_{name}_", lambda r: [r(1024, 2048), r(1024, 1024)], lambda a, b: a.T @ b)
        for name in ("tiled", "hoist_load", "block_free_dimension", "fully_optimized")
    ),
    _sdk(
        "transpose2d_nki_kernels",
        "tensor_transpose2D_kernel_",
        lambda r: [r(5, 12), (3, 4)],
        lambda x, _: x.reshape(5, 3, 4).transpose(0, 2, 1).reshape(5, 12),
    ),
    _sdk(
        "average_pool2d_nki_kernels",
        "tensor_avgpool_kernel",
        lambda r: [r(2, 6, 6), 2],
        lambda x, _: x.reshape(2, 3, 2, 3, 2).mean((2, 4)),
    ),
    *(
        _sdk(
            "mamba_nki_kernels",
            f"mamba_v{n}",
            lambda r: [np.abs(r(1, 128, 512)) / 10, r(1, 128, 512), -np.abs(r(128, 16)), r(1, 16, 512), r(1, 16, 512)],
            selective_scan,
        )
        for n in (1, 2, 3)
    ),
    Case(
        "cumsum",
        NKILIB,
        f"from {CORE}cumsum.cumsum import cumsum",
        "cumsum(a0)",
        lambda r: [r(70, 3000)],
        lambda x: np.cumsum(x, -1),
    ),
    Case(
        "cascaded_max",
        NKILIB,
        f"from {CORE}max.cascaded_max import cascaded_max",
        "cascaded_max(a0)",
        lambda r: [r(8, 2048)],
        lambda x: (x.max(-1, keepdims=True), x.argmax(-1)[:, None]),
        grid=2,
    ),
    Case(
        "rotational_topk",
        NKILIB,
        f"{TOPK}create_rotational_topk_config, create_topk_config",
        "rotational_topk(a0, create_rotational_topk_config(a0.shape, create_topk_config(a0.shape, a0.dtype, 8, "
        "num_programs=1)))",
        lambda r: [r(4, 2048)],
        lambda x: (-np.sort(-x, -1)[:, :8], np.argsort(-x, -1)[:, :8]),
    ),
    Case(
        "RoPE",
        NKILIB,
        f"from {CORE}embeddings.rope import RoPE",
        "RoPE(a0, a1, a2)",
        lambda r: [r(64, 1, 2, 40), r(32, 1, 40), r(32, 1, 40)],
        rope,
        grid=2,
    ),
    Case(
        "rope_hf",
        NKILIB,
        f"from {CORE}embeddings.rope_hf import rope_hf",
        "rope_hf(a0, a1, nl.ndarray(a0.shape, dtype=a0.dtype, buffer=nl.shared_hbm), "
        "nl.ndarray(a1.shape, dtype=a1.dtype, buffer=nl.shared_hbm), a2, a3)",
        lambda r: [r(1, 2, 256, 64), r(1, 1, 256, 64), r(1, 256, 64), r(1, 256, 64)],
        lambda q, k, c, s: tuple(x * c[:, None] + halves_turned(x) * s[:, None] for x in (q, k)),
        grid=2,
    ),
    Case(
        "attention_cte",
        NKILIB,
        f"from {CORE}attention.attention_cte import attention_cte",
        "attention_cte(a0, a1, a2, scale=0.125, tp_q=False)",
        lambda r: [r(1, 64, 256), r(1, 64, 256), r(1, 256, 64)],
        causal_attention,
        1e-2,
    ),
    Case(
        "attention_bwd",
        NKILIB,
        f"from {CORE}attention.attention_bwd import attention_bwd",
        "attention_bwd(a0, a1, a2, a3, a4, a5)",
        attention_backward_inputs,
        attention_gradients,
        grid=2,
    ),
    Case(
        "cross_entropy_forward",
        NKILIB,
        f"from {NEW}loss.cross_entropy import cross_entropy_forward",
        "cross_entropy_forward(a0, a1, positions_per_batch=32, chunk_size=1000, dtype=nl.float32)",
        lambda r: cross_entropy_inputs(r)[:2],
        cross_entropy,
        grid=2,
    ),
    Case(
        "cross_entropy_backward",
        NKILIB,
        f"from {NEW}loss.cross_entropy import cross_entropy_backward",
        "cross_entropy_backward(a0, a1, a2, positions_per_batch=32, chunk_size=1000, dtype=nl.float32, inplace=False)",
        cross_entropy_inputs,
        lambda x, t, lse: (np.exp(x - lse[:, None]) - np.eye(x.shape[1])[t]) / len(t),
        grid=2,
    ),
    Case(
        "output_projection_cte",
        NKILIB,
        f"from {CORE}output_projection.output_projection_cte.output_projection_cte import output_projection_cte",
        "output_projection_cte(a0, a1)",
        lambda r: [r(1, 2, 64, 256), r(128, 512)],
        lambda a, w: np.einsum("bnds,ndh->bsh", a, w.reshape(2, 64, 512)),
        grid=2,
    ),
    Case(
        "output_projection_tkg",
        NKILIB,
        f"from {CORE}output_projection.output_projection_tkg import output_projection_tkg",
        "output_projection_tkg(a0, a1)",
        lambda r: [r(64, 2, 2, 4), r(128, 512)],
        lambda a, w: np.einsum("dbns,ndh->bsh", a, w.reshape(2, 64, 512)).reshape(8, 512),
        grid=2,
    ),
    Case(
        "dynamic_elementwise_add",
        NKILIB,
        f"from {NEW}dynamic_shapes.dynamic_elementwise_add import dynamic_elementwise_add",
        "dynamic_elementwise_add(a0, a1, a2)",
        lambda r: [r(256, 512), r(256, 512), np.full((1, 1), 2, np.int32)],
        lambda a, b, _: a + b,
        grid=2,
    ),
    Case(
        "conv1d",
        NKILIB,
        f"from {NEW}conv.conv1d import conv1d",
        "conv1d(a0, a1)",
        lambda r: [r(1, 16, 40), r(3, 16, 8)],
        convolution,
        grid=2,
    ),
    Case(
        "depthwise_conv1d",
        NKILIB,
        f"from {NEW}conv.depthwise_conv1d import depthwise_conv1d_implicit_gemm",
        "depthwise_conv1d_implicit_gemm(a0, a1, feature_group_count=16)",
        lambda r: [r(1, 16, 1, 40), r(16, 1, 1, 3)],
        depthwise,
        grid=2,
    ),
    *(
        Case(
            f"qkv ({length} rows)",
            NKILIB,
            f"from {CORE}qkv.qkv import qkv",
            "qkv(a0, a1)",
            lambda r, length=length: [r(2, length // 2, 512), r(512, 768, scale=0.05)],
            lambda x, w: x @ w,
            1e-2,
            grid=2,
        )
        for length in (512, 8)
    ),
    Case(
        "mlp",
        NKILIB_OF_JANUARY,
        f"from {CORE}mlp.mlp import mlp",
        "mlp(a0, a1, a2, a3)",
        lambda r: [
            a.astype(BF16)
            for a in (r(1, 512, 512), *(r(*s, scale=0.05) for s in ((512, 1024), (512, 1024), (1024, 512))))
        ],
        gated,
        2e-2,
    ),
    Case(
        "rmsnorm_quant",
        NKILIB,
        f"from {CORE}rmsnorm.rmsnorm_quant import rmsnorm_quant_kernel, RmsNormQuantKernelArgs",
        "rmsnorm_quant_kernel(a0, a1, RmsNormQuantKernelArgs(lower_bound=240.0, eps=1e-6))",
        lambda r: [r(1, 130, 512).astype(BF16), r(1, 512).astype(BF16)],
        rms_normalised,
        # Of a number in eight bits the rounding is up to 2^-4 of it.
        4e-2,
        seen=dequantised,
    ),
    *(
        Case(
            f"{name}_tkg",
            NKILIB,
            _norm(name),
            "stored(a0, a1)",
            lambda r: [r(2, 4, 512), r(1, 512)],
            lambda x, w, centred=name == "layernorm": normalised(x, w, centred),
        )
        for name in ("rmsnorm", "layernorm")
    ),
)


def unpacked(library: Library, sources: Path, folder: Path) -> Path | None:
    """The folder of a library at its commit; None where there is no such clone."""
    name = library.repository.replace("/", "+")
    clone = sources / name / "repo" if (sources / name / "repo").exists() else sources / name
    target = folder / f"{name}-{library.commit}"
    if not target.exists():
        command = ["git", "-C", str(clone), "archive", library.commit, library.folder]
        packed = subprocess.run(command, capture_output=True, check=False)
        if packed.returncode:
            return None
        with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
            archive.extractall(target, filter="data")
    return target / library.folder


def errors(case: Case, library: Path, folder: Path) -> tuple[list[float], int]:
    """The error of each output, and how many instructions there were; AxonError where the kernel cannot be run."""
    given = case.arguments(Random())
    names = ", ".join(f"a{n}" for n in range(len(given)))
    path = folder / "called.py"
    path.write_text(
        f"import nki\nimport nki.isa as nisa\nimport nki.language as nl\n{case.imports}\n\n\n"
        f"@nki.jit\ndef called({names}):\n    return {case.call}\n",
        encoding="utf-8",
    )
    roots = [str(library), *(str(p) for p in library.iterdir() if p.is_dir())]
    sys.path[:0] = roots
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            run = execute(path, "called", given, device="trn2", grid=case.grid)
    finally:
        del sys.path[: len(roots)]
    wanted = case.wanted(*given)
    parts = wanted if isinstance(wanted, tuple) else (wanted,)
    return [
        float(np.abs(np.asarray(case.seen(a), float) - w).max() / np.abs(w).max())
        for a, w in zip(run.outputs, parts, strict=True)
    ], run.instructions


def main(arguments: Sequence[str]) -> int:
    """Print the table; 1 if a kernel disagrees or cannot be run."""
    parser = argparse.ArgumentParser(prog="benchmarks.public_kernels", description=__doc__)
    parser.add_argument("--sources", type=Path, required=True, metavar="DIR", help="clones of public repositories")
    parser.add_argument("names", nargs="*", metavar="NAME", help="kernels to run (default: all)")
    args = parser.parse_args(arguments)
    good = tried = 0
    print(f"{'kernel':<38} {'cores':>5} {'instructions':>12} {'error':>9} {'allowed':>9}")
    with tempfile.TemporaryDirectory(prefix="axon-public-") as name:
        for case in CASES:
            if args.names and case.name not in args.names:
                continue
            library = unpacked(case.origin, args.sources, Path(name))
            if library is None:
                print(f"{case.name:<38} not run: no clone of {case.origin.repository} with {case.origin.commit}")
                continue
            tried += 1
            try:
                found, count = errors(case, library, Path(name))
            except AxonError as error:
                print(f"{case.name:<38} {error}")
                continue
            good += max(found) <= case.tolerance
            print(f"{case.name:<38} {case.grid:>5} {count:>12} {max(found):>9.1e} {case.tolerance:>9.0e}", flush=True)
    print(f"\n{good} of {tried} agree")
    return int(good < tried)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
