# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How to run the rows of `latencies.csv` whose kernels can be had."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from axon_mlir.sim import Argument, RandomArray
from axon_mlir.sim.timing import Generation

OURS = "kernels.py"
"""Kernels of this folder."""


@dataclass(frozen=True)
class Source:
    """A file of a public repository, at a commit."""

    repository: str
    commit: str
    path: str


@dataclass(frozen=True)
class Run:
    """One row: the kernel (of this folder, or of a repository), its arguments, and who makes descriptors of DMA; or the
    profile of a run (a file of JSON), which has it all.

    `stream`: whether the instructions that ran are those of the source (`known`), or a compiler has scheduled them.
    """

    row: str
    kernel: str | Source
    function: str | None
    arguments: tuple[Argument, ...]
    stream: Literal["known", "scheduled"]
    generation: Generation = "hardware"


def arrays(dtype: str, *shapes: tuple[int, ...]) -> tuple[RandomArray, ...]:
    """Arguments of these shapes."""
    return tuple(RandomArray(dtype, shape) for shape in shapes)


SQUARE = (2048, 2048)
AUTOTUNE = "awslabs/nki-autotune"


def _autotune(row: str, commit: str, path: str, count: int = 2) -> Run:
    source = Source(AUTOTUNE, commit, f"kernel_library/{path}")
    return Run(row, source, None, arrays("bfloat16", *[SQUARE] * count), "known")


def _attention(row: str, form: str, dtype: str, length: int) -> Run:
    return Run(row, OURS, form, arrays(dtype, *[(128, length)] * 3), "scheduled")


FUSION = "allenkchau/trainium-kernel-fusion"
FORMS = ("baseline", "fused")


def _profile(folder: str) -> str:
    form = folder.removeprefix("artifacts/").partition("_")[0]
    return f"profiling/{folder}/json_reports/{form}_exec_2_profile_full.json"


RUNS: tuple[Run, ...] = (
    *(
        Run(row, OURS, "add_in_chunks", (*arrays("float32", (25600, 1), (25600, 1)), n), "known", "software")
        for row, n in (("cs149-trn2-vadd-tiled-1", 1), ("cs149-trn2-vadd-tiled-128", 128))
    ),
    *(
        Run(row, OURS, "add_in_tiles", (*arrays("float32", (128, 200), (128, 200)), n), "known", "software")
        for row, n in (("cs149-trn2-vadd-stream-2", 2), ("cs149-trn2-vadd-stream-200", 200))
    ),
    Run(
        "doc-trn2-matmul-v3",
        OURS,
        "matmul_with_loads_hoisted",
        arrays("float32", (8192, 4096), (8192, 8192)),
        "known",
    ),
    _autotune("nkat-trn2-kernel-hand-90.92mfu-lhsT_rhs", "dcc23bb", "matmul/lhsT_rhs/kernel_hand_90.92mfu.py"),
    _autotune("nkat-trn2-kernel-30-60.21mfu-lhs_rhs", "1d9c2b9", "matmul/lhs_rhs/kernel_30_60.21mfu.py"),
    _autotune("nkat-trn2-kernel-4-54.73mfu-double_matmul", "1d9c2b9", "double_matmul/kernel_4_54.73mfu.py", 3),
    _autotune("nkat-trn2-kernel-83-61.73mfu-lhs_rhsT", "1d9c2b9", "matmul/lhs_rhsT/kernel_83_61.73mfu.py"),
    _autotune("nkat-trn2-kernel-handtuned-89.26mfu-lhs_rhs", "0b6f309", "matmul/lhs_rhs/kernel_handtuned_89.26mfu.py"),
    *(
        _attention(f"kf-trn2-attn-{name}-{short}-s{length}", form, dtype, length)
        for name, form, short, dtype, length in (
            ("fused", "attention_fused", "fp32", "float32", 512),
            ("fused", "attention_fused", "fp32", "float32", 1024),
            ("fused", "attention_fused", "bf16", "bfloat16", 2048),
            ("fused", "attention_fused", "bf16", "bfloat16", 4096),
            ("baseline", "attention_by_phases", "fp32", "float32", 512),
            ("baseline", "attention_by_phases", "fp32", "float32", 1024),
            ("baseline", "attention_by_phases", "bf16", "bfloat16", 1024),
            ("baseline", "attention_by_phases", "bf16", "bfloat16", 4096),
        )
    ),
    *(
        Run(f"kf-trn2-prof-attn-{row}", Source(FUSION, "d709ddf", _profile(folder)), None, (), "known")
        for row, folder in (
            *(
                (f"{f}-{t}-s{n}", f"artifacts/{f}_{t}_s{n}")
                for f in FORMS
                for t in ("fp32", "bf16")
                for n in (512, 1024)
            ),
            *((f"{form}-fp32-s512-again", f"{form}_attention") for form in FORMS),
        )
    ),
)

__all__ = ["RUNS", "Run", "Source"]
