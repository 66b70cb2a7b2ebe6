# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The benchmark suite: which programs, over which arguments, at which sizes.

A shape is written `300x517x130`: the sizes of the program's dimensions in the order in which `dims` names them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
DTYPES = ("f32", "bf16")
ALL_FLOATS = (*DTYPES, "f16")


@dataclass(frozen=True)
class Benchmark:
    """A program and its shapes.

    `arguments` are the axes of each argument, over the letters of `dims`: `MN`, or with commas `2*H,S`; `-` is a
    run-time scalar, `i32:` in front an element type of its own. `scaled` says what a real model has where the headline
    shape is smaller than that; `scales` how large the elements of an argument are there, `w=0.03`, where that matters.
    """

    name: str
    function: str
    dims: str
    arguments: str
    headline: tuple[str, ...]
    small: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = DTYPES
    file: str = "programs.py"
    scaled: str = ""
    scales: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        """What `axon compile` takes."""
        return f"{FOLDER / self.file}:{self.function}"

    def specs(self, shape: str, dtype: str) -> list[str]:
        """The `--arg` texts at a shape."""
        sizes = {d: int(n) for d, n in zip(self.dims, shape.split("x"), strict=True)}
        out: list[str] = []
        for text in self.arguments.split():
            own, _, axes = text.rpartition(":")
            listed = axes.removesuffix(",").split(",") if "," in axes else list(axes)
            numbers = ",".join(str(_number(axis, sizes)) for axis in listed if axes != "-")
            out.append(own or dtype if axes == "-" else f"{own or dtype}[{numbers}]")
        return out

    def command(self, shape: str, dtype: str) -> list[str]:
        """The arguments of `axon` that compile it, without output and device."""
        arguments = [word for spec in self.specs(shape, dtype) for word in ("--arg", spec)]
        return ["compile", self.source, *arguments, *(word for scale in self.scales for word in ("--scale", scale))]

    @property
    def ragged(self) -> tuple[str, ...]:
        """Shapes that no tile divides: odd sizes, one row, a size of 1 in any dimension, all of them 1.

        Batch dimensions (A, B) come first and are small: each of their indices is a pass of its own.
        """
        if self.small:
            return self.small
        batch = [d for d in self.dims if d in BATCH]
        prefix = "".join(f"{BATCH[d]}x" for d in batch)
        return tuple(prefix + shape for shape in RAGGED[len(self.dims) - len(batch)])


def _number(axis: str, sizes: Mapping[str, int]) -> int:
    """The number of an axis such as `N` or `2*H`."""
    return math.prod(sizes[factor] if factor in sizes else int(factor) for factor in axis.split("*"))


BATCH = {"A": 2, "B": 3}
"""Batch dimensions and their sizes in ragged shapes."""

RAGGED = {
    2: ("300x517", "129x1", "1x513", "1x1"),
    3: ("300x517x130", "129x1x513", "1x517x130", "300x517x1", "1x1x1"),
    4: ("300x517x130x70", "129x1x513x20", "1x517x130x70", "1x1x1x1"),
}


def _wide(name: str, function: str, dims: str, arguments: str, *headline: str) -> Benchmark:
    """In all float types; a second headline shape has rows that are longer than SBUF."""
    return Benchmark(name, function, dims, arguments, headline, dtypes=ALL_FLOATS)


BENCHMARKS = (
    Benchmark("S01 common", "ref_common", "MN", "MN MN MN", ("4096x4096",)),
    Benchmark("S01 axpby", "ref_axpby", "MN", "- MN - MN", ("4096x4096",)),
    Benchmark("S01 divrow", "ref_divrow", "MN", "MN M1", ("4096x4096",)),
    Benchmark("S01 scale2", "ref_scale2", "MN", "MN M1 1N", ("4096x4096",)),
    Benchmark("S01 square", "ref_sqmul", "MN", "MN", ("4096x4096",)),
    Benchmark("S02 silu", "ref_silu", "MN", "MN", ("4096x14336",)),
    Benchmark("S03 gelu, tanh", "ref_gelu_tanh", "MN", "MN", ("4096x14336",)),
    Benchmark("S03 gelu, erf", "ref_gelu_erf", "MN", "MN", ("4096x14336",)),
    _wide("S04 softmax", "ref_softmax", "MN", "MN", "4096x4096", "130x70001"),
    _wide("S04 softmax, rank 3", "ref_softmax", "BMN", "BMN", "4x1024x2048"),
    _wide("S04 softmax, rank 4", "ref_softmax", "ABMN", "ABMN", "2x4x512x1024"),
    Benchmark("S05 rmsnorm", "ref_rmsnorm", "MN", "MN N,", ("4096x4096",)),
    _wide("S06 layernorm", "ref_layernorm", "MN", "MN N, N,", "4096x4096", "130x70001"),
    _wide("S06 layernorm, rank 3", "ref_layernorm", "BMN", "BMN N, N,", "4x1024x2048"),
    Benchmark("S07 cumsum", "ref_cumsum", "MN", "MN", ("2048x2048", "2048x8192")),
    Benchmark("S08 rope", "ref_rope", "HS", "2*H,S HS HS", ("64x4096", "64x262144"), ("35x517", "1x129", "64x1")),
    Benchmark("S08 rope, interleaved", "ref_rope_inter", "HS", "2*H,S HS HS", ("64x4096",), ("35x517", "1x129")),
    _wide("S09 transpose", "ref_transpose", "MN", "MN", "4096x4096"),
    _wide("S09 transpose, rank 3", "ref_transpose", "BMN", "BMN", "4x1024x2048"),
    _wide("S09 transpose pair", "ref_transpose_pair", "MN", "MN", "4096x4096"),
    _wide("S10 matmul", "ref_matmul", "MKN", "MK KN", "2048x2048x2048"),
    _wide("S11 matmul, rank 3", "ref_bmm", "BMKN", "BMK BKN", "4x1024x512x1024"),
    _wide("S11 matmul, rank 4", "ref_bmm", "ABMKN", "ABMK ABKN", "2x4x512x256x512"),
    _wide("S12 column sum", "ref_colsum", "MN", "MN", "4096x4096"),
    _wide("S12 scaled maximum", "ref_scaled_max", "MN", "MN", "4096x4096"),
    _wide("S12 variance", "ref_var", "MN", "MN", "4096x4096", "130x70001"),
    _wide("S12 variance, rank 3", "ref_var", "BMN", "BMN", "4x1024x2048"),
    Benchmark("M01 tmm", "ref_tmm", "MKN", "KM KN", ("4096x2048x4096",)),
    _wide("M01 mmt", "ref_mmt", "MKN", "MK NK", "2048x2048x2048"),
    _wide("M01 tt", "ref_tt", "MKN", "KM NK", "2048x2048x2048"),
    Benchmark("M02 rms_mm", "ref_rms_mm", "MKN", "MK K, KN", ("4096x1024x2048",)),
    Benchmark("M02 rms_mm, x K-major", "ref_rms_mm_kmajor", "MKN", "KM K, KN", ("4096x1024x2048",), file="layouts.py"),
    _wide("M02 rms_mm, rank 3", "ref_rms_mm", "BMKN", "BMK K, KN", "4x1024x512x1024"),
    Benchmark("M03 add_rms_mm", "ref_add_rms_mm", "MKN", "MK MK K, KN", ("4096x1024x2048",)),
    _wide("M04 mm_add_rms", "ref_mm_add_rms", "MKN", "MK KN MN N,", "4096x2048x2048"),
    Benchmark("M04 unit_mm", "ref_unit_mm", "MKN", "MK KN", ("4096x2048x2048",)),
    Benchmark("M05 ln_mm", "ref_ln_mm", "MKN", "MK K, K, KN", ("4096x1024x3072",)),
    Benchmark(
        "M06 bmm_softmax",
        "ref_bmm_softmax",
        "BMKN",
        "BMK BKN",
        ("2x2048x64x4096",),
        scaled="16x4096x64x4096",
    ),
    Benchmark(
        "M07 gqa",
        "ref_gqa",
        "GRSLDE",
        "G*R,S,D GLD GLE",
        ("2x2x1024x1024x128x128",),
        ("2x3x37x141x20x30", "1x1x129x1x8x5"),
        scaled="8x2x4096x4096x128x128",
    ),
    Benchmark(
        "M07 gqa, causal",
        "ref_gqa_causal",
        "GRSDE",
        "G*R,S,D GSD GSE",
        ("2x4x1024x128x128",),
        ("2x3x141x20x30", "1x1x129x8x5"),
        scaled="8x4x4096x128x128",
    ),
    Benchmark(
        "M08 gqa_decode",
        "ref_gqa_decode",
        "GRLDE",
        "G*R,1,D GLD GLE",
        ("8x4x4096x128x128",),
        ("2x3x141x20x30", "1x2x517x8x5"),
    ),
    Benchmark(
        "M09 qknorm",
        "ref_qknorm",
        "GRSLDE",
        "G*R,S,D GLD GLE D, D,",
        ("2x2x1024x1024x128x128",),
        ("2x3x37x141x20x30", "1x1x129x3x8x5"),
        scaled="8x4x4096x4096x128x128",
    ),
    _wide("M10 gated_mlp", "ref_gated_mlp", "MKNL", "MK KN KN NL", "4096x1024x3072x1024"),
    _wide("M10 gated_mlp, rank 3", "ref_gated_mlp", "BMKNL", "BMK KN KN NL", "2x512x512x1024x512"),
    Benchmark("M10 gate_up", "ref_gate_up", "MKN", "MK KN KN", ("8x4096x4096",)),
    Benchmark(
        "M11 rms_gated",
        "ref_rms_gated",
        "MKNL",
        "MK K, KN KN NL",
        ("1024x1024x3072x1024",),
        scaled="4096x4096x14336x4096",
    ),
    Benchmark(
        "M12 lora",
        "ref_lora",
        "MKNR",
        "MK KN KR RN -",
        ("16x256x4096x16", "2048x2048x4096x128"),
        scaled="4096x5120x12288x128",
    ),
    Benchmark("M13 ntrans", "ref_ntrans", "MN", "MN MN N,", ("4096x4096",)),
    Benchmark("M13 ntrans, one weight", "ref_ntrans_scalar", "MN", "MN MN -", ("4096x4096",)),
    Benchmark(
        "M14 proj_rope",
        "ref_proj_rope",
        "MKH",
        "MK K,2*H HM HM",
        ("4096x4096x64",),
        ("300x517x35", "1x129x64", "129x1x1"),
    ),
    _wide("M15 mm_bias_gelu", "ref_mm_bias_gelu", "MKN", "MK KN N,", "2048x2048x4096"),
    _wide("M16 chain", "ref_chain", "MKNL", "MK KN NL", "4096x128x4096x64"),
    Benchmark("M16 chain, vector", "ref_chain_vec", "MKNL", "MK KN NL L,", ("4096x128x4096x64",)),
    Benchmark("M17 linattn", "ref_linattn", "MKLN", "MK LK LN", ("4096x128x4096x128",), scaled="8192x128x8192x128"),
    Benchmark(
        "M17 linattn, causal",
        "ref_linattn_causal",
        "SKN",
        "SK SK SN",
        ("2048x128x128",),
        scaled="8192x128x128",
    ),
    Benchmark(
        "M18 mla",
        "ref_mla",
        "HDCLE",
        "HD HDC LC HCE",
        ("16x128x512x2048x128",),
        ("3x20x37x141x30", "1x8x129x5x1"),
        scaled="128x128x512x32768x128",
    ),
    Benchmark("M19 dq_mm", "ref_dq_mm", "MKN", "MK M1 KN 1N", ("16x4096x14336",)),
    Benchmark("M19 dq_mm, int8", "ref_dq_mm", "MKN", "i8:MK M1 i8:KN 1N", ("16x4096x14336",)),
    Benchmark("M19 dq_mm, fp8", "ref_dq_mm", "MKN", "f8E4M3:MK M1 f8E4M3:KN 1N", ("16x4096x14336",)),
    Benchmark("M19 dq_zero", "ref_dq_zero", "MKN", "MK KN 1N 1N", ("16x4096x14336",)),
    Benchmark(
        "M20 moe",
        "ref_moe",
        "MKEN",
        "MK KE EKN ENK",
        ("8x2048x8x768",),
        ("37x141x3x70", "1x20x2x129"),
        scaled="8x4096x8x4096",
    ),
    Benchmark(
        "M21 scan",
        "ref_scan",
        "CTS",
        "CT CT CS ST ST",
        ("256x7168x16",),
        ("37x5x3", "130x2x16"),
    ),
    Benchmark("M22 adamw", "ref_adamw", "MN", "MN MN MN MN", ("10944x2048",)),
    Benchmark(
        "M23 xent",
        "ref_xent",
        "MKN",
        "MK KN i32:M,",
        ("512x1024x32064",),
        ("130x70x517", "1x129x20", "129x1x3"),
        scaled="4096x4096x128256",
        # Scores of a trained model's head: with weights of size 1 the probability of most classes is 0 in fp32.
        scales=("w=0.03",),
    ),
    Benchmark(
        "M24 decoder_layer",
        "ref_decoder_layer",
        "SEAGHN",
        "SE E, A,E,2*H G,E,2*H G,E,2*H A,2*H,E E, EN EN NE HS HS",
        ("256x1024x8x2x64x2048",),
        ("37x70x4x2x10x141", "129x20x2x1x4x30"),
        scaled="4096x4096x32x8x64x14336",
    ),
)


def cases(*, quick: bool, names: Sequence[str] = ()) -> Iterator[tuple[Benchmark, str, str]]:
    """Every program, shape and type; only small shapes if `quick`, only programs whose name holds one of `names`."""
    for benchmark in BENCHMARKS:
        if names and not any(name.lower() in f"{benchmark.name} {benchmark.function}".lower() for name in names):
            continue
        for shape in (*benchmark.ragged, *(() if quick else benchmark.headline)):
            for dtype in benchmark.dtypes:
                yield benchmark, shape, dtype
