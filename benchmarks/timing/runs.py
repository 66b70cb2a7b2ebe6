# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How to run the rows of `latencies.csv` whose kernels can be had."""

from __future__ import annotations

from collections.abc import Iterator
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
    `api`: the interface that the kernel is written in. `then`: functions of the same file that are launched after it,
    with their arguments: the row is the sum of their times.
    """

    row: str
    kernel: str | Source
    function: str | None
    arguments: tuple[Argument, ...]
    stream: Literal["known", "scheduled"]
    generation: Generation = "hardware"
    api: Literal["current", "old"] = "current"
    then: tuple[tuple[str, tuple[Argument, ...]], ...] = ()

    @property
    def launches(self) -> tuple[tuple[str | None, tuple[Argument, ...]], ...]:
        """Functions and arguments, in the order in which they are launched."""
        return (self.function, self.arguments), *self.then


def arrays(dtype: str, *shapes: tuple[int, ...]) -> tuple[RandomArray, ...]:
    """Arguments of these shapes."""
    return tuple(RandomArray(dtype, shape) for shape in shapes)


def float32(*shapes: tuple[int, ...]) -> tuple[RandomArray, ...]:
    """Arguments of these shapes in single precision."""
    return arrays("float32", *shapes)


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


EPSILON = 1e-5
BATCHED = float32((16, 4096, 64), (16, 64, 4096))
KDA_TASKS: tuple[tuple[str, tuple[Argument, ...], str], ...] = (
    ("adamw", float32(*[(10944, 2048)] * 4), "adamw_v2_ch{512,608,768,1152,1216,1536}"),
    (
        "add_rmsnorm_matmul",
        (*float32((4096, 1024), (1024, 2048)), EPSILON, *float32((4096, 1024), (1024,))),
        "add_rmsnorm_matmul_{v2_postscale,v3b_bf16_split4}",
    ),
    ("bmm", BATCHED, "bmm_{d1_bblk2,d1_stage_a_g2,d1_stage_b_g4,d1_twophase_m16,probe_bf16_calib}"),
    (
        "bmm_softmax",
        BATCHED,
        "bmm_softmax_{v1,v3_fused_reduce_reject,v3b_negate_only,v5_copy_scalar,v5_copy_vector,v5_norm_scalar}",
    ),
    (
        "gqa_full",
        float32((32, 128, 16, 128), (1, 8, 4, 128, 8, 128), (1, 32, 128, 1024)),
        "gqa_full_{v3a_scalefold,v3c_scalefold_defernorm,v4_msub2,v4_msub8,v6_nomax,v7a_msub4,v8_ctxsplit}",
    ),
    (
        "lora",
        float32((8, 4, 128, 40, 128), (40, 128, 12288), (40, 128, 128), (128, 12288)),
        "lora_v3_bf16_split",
    ),
    (
        "mamba",
        float32((256, 7168), (256, 7168), (256, 16), (16, 7168), (16, 7168)),
        "mamba_{v2,v2_w256,v2_w896,v3,v4,v4_w448}",
    ),
    ("matmul", float32((32, 128, 40, 128), (40, 128, 12288)), "matmul_v2_{b2,b4,b16}"),
    (
        "matmul_add_rmsnorm",
        (*float32((4096, 2048), (2048, 2048)), EPSILON, *float32((4096, 2048), (2048,))),
        "matmul_add_rmsnorm_{v2_bf16_split,v3_stationary_reorder}",
    ),
    (
        "rmsnorm_matmul",
        float32((32, 128, 1024), (8, 128, 2048)),
        "rmsnorm_matmul_{probe_loadtranspose,v1,v2_postscale}",
    ),
    (
        "rope_single_freq_apply",
        float32((128, 262144), (64, 262144), (64, 262144)),
        "rope_{v1,v1_w4096,v2_layoutB_scalar,v2_layoutB_scalar_w256,v3_layoutB_pe_w128}",
    ),
    ("silu", float32((128, 32, 7168)), "silu_{v1,v2_k2,v2_k4,v3_s2,v3_s7,v3_s8}"),
    (
        "swiglu",
        float32((8, 4, 128, 8, 128), (8, 128, 3072), (24, 128, 1024), (8, 128, 3072)),
        "swiglu_{v2,v3_mblock}",
    ),
    (
        "transpose_matmul",
        float32((128, 16, 4096), (128, 16, 10944)),
        "tmm_{v1,v2b_bf16_split_tight,v5_mblk16_nchunk512_masked_tail,v7_dbuf_rhs}",
    ),
)
"""Folder, arguments, and the names of files with what tells them apart in braces."""


def _kda(folder: str, arguments: tuple[Argument, ...], names: str) -> Iterator[Run]:
    """The runs of one task of Jerry2423/kda-for-trainium, whose file names are the rows' names. All are compiled with
    `--disable-dge` (`adapter/nkibench_case.py`): descriptors are made before the run."""
    before, _, variants = names.rstrip("}").partition("{")
    for variant in variants.split(","):
        name = before + variant
        source = Source("Jerry2423/kda-for-trainium", "90770f2", f"workspaces/{folder}/runs/{name}.py")
        row = f"kda-trn2-{name.replace('_', '-')}"
        yield Run(row, source, "kernel", arguments, "scheduled", "static", "old")


BASELINES = {
    "adamw": "M10944_N2048",
    "add_rmsnorm_matmul": "M4096_N2048_K1024",
    "bmm_softmax": "B16_K64_M4096_N4096",
    "lora": "M4096_N12288_K5120_R128",
    "mamba": "M7168_C256_S16",
    "matmul": "M4096_N12288_K5120",
    "matmul_add_rmsnorm": "M4096_N2048_K2048",
    "rmsnorm_matmul": "M4096_N2048_K1024",
    "rope_single_freq_apply": "B1_H64_N4096_D128",
}
"""What tells sizes in the names of files of zhang677/AccelOpt: the kernels that those of tasks are measured against."""


def _baseline(task: str, arguments: tuple[Argument, ...]) -> Run:
    """The kernel that a task began with: it takes what the others take, and is compiled as they are."""
    source = Source("zhang677/AccelOpt", "47e29a7", f"NKIBench/kernels/{task}_{BASELINES[task]}_0.py")
    return Run(f"kda-trn2-{task}-base", source, "kernel", arguments, "scheduled", "static", "old")


def _mlp(form: str, short: str, m: int, k: int, n: int) -> Run:
    """A layer of allenkchau/trainium-kernel-fusion: product, bias and gelu in one kernel, or the latter in another."""
    dtype = {"fp32": "float32", "bf16": "bfloat16"}[short]
    file = "baseline/mlp_gemm.py" if form == "baseline" else "fused/mlp.py"
    return Run(
        f"kf-trn2-mlp-{form}-{short}-{m}x{k}x{n}",
        Source("allenkchau/trainium-kernel-fusion", "d709ddf", f"kernels/{file}"),
        "gemm_kernel" if form == "baseline" else form.replace("fused_", "fused_mlp_"),
        arrays(dtype, (k, m), (k, n), (1, n)),
        "scheduled",
        api="old",
        then=(("gelu_kernel", arrays(dtype, (m, n))),) if form == "baseline" else (),
    )


MLP_SIZES = ((128, 128, 512), (256, 512, 1024), (512, 1024, 2048), (1024, 2048, 4096), (2048, 4096, 4096))
MLP_ROWS = (
    *(("baseline", "fp32", *size) for size in MLP_SIZES[:2]),
    *(("baseline", "bf16", *size) for size in MLP_SIZES[2:]),
    *(("fused_taylor", short, *size) for short in ("fp32", "bf16") for size in MLP_SIZES[:2]),
    *(("fused_pwl", "fp32", *size) for size in MLP_SIZES[2:]),
    *(("fused_pwl", "bf16", *size) for size in MLP_SIZES[3:]),
)


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
    *(run for task in KDA_TASKS for run in _kda(*task)),
    *(_baseline(task, arguments) for task, arguments, _ in KDA_TASKS if task in BASELINES),
    *(_mlp(*row) for row in MLP_ROWS),
)

__all__ = ["RUNS", "Run", "Source"]
