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


@dataclass(frozen=True)
class Benchmark:
    """A program: `arguments` are the axes of each argument, in `dims`; None stands for a run-time scalar."""

    name: str
    file: str
    function: str
    dims: str
    arguments: tuple[str | None, ...]
    headline: tuple[str, ...]

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
        """Shapes that no tile divides: odd sizes, one row, a size of 1 in any dimension, all of them 1."""
        return RAGGED[len(self.dims)]


RAGGED = {
    2: ("300x517", "129x1", "1x513", "1x1"),
    3: ("300x517x130", "129x1x513", "1x517x130", "300x517x1", "1x1x1"),
}

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
)


def cases(*, quick: bool, names: Sequence[str] = ()) -> Iterator[tuple[Benchmark, str, str]]:
    """Every program, shape and type; only small shapes if `quick`, only programs whose name holds one of `names`."""
    for benchmark in BENCHMARKS:
        if names and not any(name.lower() in f"{benchmark.name} {benchmark.function}".lower() for name in names):
            continue
        for shape in (*benchmark.ragged, *(() if quick else benchmark.headline)):
            for dtype in DTYPES:
                yield benchmark, shape, dtype
