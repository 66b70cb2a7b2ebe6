# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The benchmark suite: which programs, over which arguments, at which sizes.

A shape is written `300x517x130`: the sizes of the program's dimensions in the order in which `dims` names them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
DTYPES = ("f32", "bf16")
ALL_FLOATS = (*DTYPES, "f16")


@dataclass(frozen=True)
class Benchmark:
    """A program: `arguments` are the axes of each argument, in `dims`; None stands for a run-time scalar."""

    name: str
    file: str
    function: str
    dims: str
    arguments: tuple[str | None, ...]
    headline: tuple[str, ...]
    dtypes: tuple[str, ...] = DTYPES

    @property
    def source(self) -> str:
        """What `axon compile` takes."""
        return f"{FOLDER / self.file}:{self.function}"

    def specs(self, shape: str, dtype: str) -> list[str]:
        """The `--arg` texts at a shape."""
        sizes = dict(zip(self.dims, shape.split("x"), strict=True))
        return [
            dtype if axes is None else f"{dtype}[{','.join(sizes.get(axis, axis) for axis in axes)}]"
            for axes in self.arguments
        ]

    def command(self, shape: str, dtype: str) -> list[str]:
        """The arguments of `axon` that compile it, without output and device."""
        return ["compile", self.source, *(word for spec in self.specs(shape, dtype) for word in ("--arg", spec))]

    @property
    def ragged(self) -> tuple[str, ...]:
        """Shapes that no tile divides: odd sizes, one row, a size of 1 in any dimension, all of them 1.

        Batch dimensions (A, B) come first and are small: each of their indices is a pass of its own.
        """
        batch = [d for d in self.dims if d in BATCH]
        prefix = "".join(f"{BATCH[d]}x" for d in batch)
        return tuple(prefix + shape for shape in RAGGED[len(self.dims) - len(batch)])


BATCH = {"A": 2, "B": 3}
"""Batch dimensions and their sizes in ragged shapes."""

RAGGED = {
    2: ("300x517", "129x1", "1x513", "1x1"),
    3: ("300x517x130", "129x1x513", "1x517x130", "300x517x1", "1x1x1"),
    4: ("300x517x130x70", "129x1x513x20", "1x517x130x70", "1x1x1x1"),
}


def _wide(name: str, function: str, dims: str, arguments: tuple[str, ...], *headline: str) -> Benchmark:
    """In all float types; a second headline shape has rows that are longer than SBUF."""
    return Benchmark(name, "programs.py", function, dims, arguments, headline, ALL_FLOATS)


BENCHMARKS = (
    Benchmark("S01 common", "programs.py", "ref_common", "MN", ("MN", "MN", "MN"), ("4096x4096",)),
    Benchmark("S01 axpby", "programs.py", "ref_axpby", "MN", (None, "MN", None, "MN"), ("4096x4096",)),
    Benchmark("S01 divrow", "programs.py", "ref_divrow", "MN", ("MN", "M1"), ("4096x4096",)),
    Benchmark("S01 scale2", "programs.py", "ref_scale2", "MN", ("MN", "M1", "1N"), ("4096x4096",)),
    Benchmark("S05 rmsnorm", "programs.py", "ref_rmsnorm", "MN", ("MN", "N"), ("4096x4096",)),
    Benchmark("M01 tmm", "programs.py", "ref_tmm", "MKN", ("KM", "KN"), ("4096x2048x4096",)),
    Benchmark("M02 rms_mm", "programs.py", "ref_rms_mm", "MKN", ("MK", "K", "KN"), ("4096x1024x2048",)),
    Benchmark(
        "M02 rms_mm, x K-major", "layouts.py", "ref_rms_mm_kmajor", "MKN", ("KM", "K", "KN"), ("4096x1024x2048",)
    ),
    _wide("S04 softmax", "ref_softmax", "MN", ("MN",), "4096x4096", "130x70001"),
    _wide("S04 softmax, rank 3", "ref_softmax", "BMN", ("BMN",), "4x1024x2048"),
    _wide("S04 softmax, rank 4", "ref_softmax", "ABMN", ("ABMN",), "2x4x512x1024"),
    _wide("S06 layernorm", "ref_layernorm", "MN", ("MN", "N", "N"), "4096x4096", "130x70001"),
    _wide("S06 layernorm, rank 3", "ref_layernorm", "BMN", ("BMN", "N", "N"), "4x1024x2048"),
    _wide("S09 transpose", "ref_transpose", "MN", ("MN",), "4096x4096"),
    _wide("S09 transpose, rank 3", "ref_transpose", "BMN", ("BMN",), "4x1024x2048"),
    _wide("S09 transpose pair", "ref_transpose_pair", "MN", ("MN",), "4096x4096"),
    _wide("S10 matmul", "ref_matmul", "MKN", ("MK", "KN"), "2048x2048x2048"),
    _wide("S10 matmul, rank 3", "ref_bmm", "BMKN", ("BMK", "BKN"), "4x1024x512x1024"),
    _wide("S10 matmul, rank 4", "ref_bmm", "ABMKN", ("ABMK", "ABKN"), "2x4x512x256x512"),
    _wide("S12 column sum", "ref_colsum", "MN", ("MN",), "4096x4096"),
    _wide("S12 scaled maximum", "ref_scaled_max", "MN", ("MN",), "4096x4096"),
    _wide("S12 variance", "ref_var", "MN", ("MN",), "4096x4096", "130x70001"),
    _wide("S12 variance, rank 3", "ref_var", "BMN", ("BMN",), "4x1024x2048"),
    _wide("M01 mmt", "ref_mmt", "MKN", ("MK", "NK"), "2048x2048x2048"),
    _wide("M01 tt", "ref_tt", "MKN", ("KM", "NK"), "2048x2048x2048"),
    _wide("M02 rms_mm, rank 3", "ref_rms_mm", "BMKN", ("BMK", "K", "KN"), "4x1024x512x1024"),
    _wide("M04 mm_add_rms", "ref_mm_add_rms", "MKN", ("MK", "KN", "MN", "N"), "4096x2048x2048"),
    _wide("M10 gated_mlp", "ref_gated_mlp", "MKNL", ("MK", "KN", "KN", "NL"), "4096x1024x3072x1024"),
    _wide("M10 gated_mlp, rank 3", "ref_gated_mlp", "BMKNL", ("BMK", "KN", "KN", "NL"), "2x512x512x1024x512"),
    _wide("M15 mm_bias_gelu", "ref_mm_bias_gelu", "MKN", ("MK", "KN", "N"), "2048x2048x4096"),
    _wide("M16 chain", "ref_chain", "MKNL", ("MK", "KN", "NL"), "4096x128x4096x64"),
)


def cases(*, quick: bool, names: Sequence[str] = ()) -> Iterator[tuple[Benchmark, str, str]]:
    """Every program, shape and type; only small shapes if `quick`, only programs whose name holds one of `names`."""
    for benchmark in BENCHMARKS:
        if names and not any(name.lower() in f"{benchmark.name} {benchmark.function}".lower() for name in names):
            continue
        for shape in (*benchmark.ragged, *(() if quick else benchmark.headline)):
            for dtype in benchmark.dtypes:
                yield benchmark, shape, dtype
