# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Proves every goal of the benchmark programs, refutes every near miss, and prints a table.

python -m benchmarks.prove [NAME ...]
"""

from __future__ import annotations

import inspect
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from xdsl.dialects.func import FuncOp

from axon_mlir.frontend.numpy_trace import trace
from axon_mlir.frontend.trace_child import load
from axon_mlir.smt.equivalence import prove_functions
from axon_mlir.smt.solver import clear_cache
from axon_mlir.smt.verdict import Verdict

PROGRAMS = load(str(Path(__file__).with_name("programs.py")))

ARGUMENTS: dict[str, str] = {
    "axpby": "- MN - MN",
    "common": "MN MN MN",
    "divrow": "MN M1",
    "scale2": "MN M1 1N",
    "sqmul": "MN",
    "silu": "MN",
    "gelu_tanh": "MN",
    "gelu_erf": "MN",
    "softmax": "MN",
    "rmsnorm": "MN N",
    "layernorm": "MN N N",
    "cumsum": "MN",
    "softmax_2": "M,P+Q at=P",
    "rmsnorm_2": "M,P+Q P+Q, at=P",
    "layernorm_2": "M,P+Q P+Q, P+Q, at=P",
    "cumsum_1": "M,P+Q at=P",
    "cumsum_3": "M,J*P size=P",
    "rope": "2*H,S HS HS",
    "rope_inter": "2*H,S HS HS",
    "transpose": "BMN",
    "transpose_2": "B,P+Q,R+S at=P across=R",
    "transpose_pair": "MN",
    "matmul": "MK KN",
    "matmul_3": "P+Q,R+S R+S,U+V at_m=P at_k=R at_n=U",
    "bmm": "BMK BKN",
    "bmm_1": "3,M,K 3,K,N",
    "colsum": "MN",
    "scaled_max": "MN",
    "var": "MN",
    "tmm": "KM KN",
    "mmt": "MK NK",
    "tt": "KM NK",
    "rms_mm": "MK K KN",
    "add_rms_mm": "MK MK K KN",
    "mm_add_rms": "MK KN MN N",
    "mm_add_rms_1": "MK K,P+Q M,P+Q P+Q, at=P",
    "ln_mm": "MK K K KN",
    "ln_mm_cast": "MK K K KN",
    "bmm_softmax": "BMK BKN",
    "bmm_softmax_1": "BMK B,K,P+Q at=P",
    "gqa": "G*R,S,D GLD GLE",
    "gqa_5": "G*R,S,D G,P+Q,D G,P+Q,E at=P",
    "gqa_decode": "G*R,1,D G,2*L,D G,2*L,E",
    "qknorm": "G*R,S,D GLD GLE D D",
    "gated_mlp": "MK KN KN NP",
    "gated_mlp_2": "MK K,P+Q K,P+Q P+Q,N at=P",
    "rms_gated": "MK K KN KN NP",
    "lora": "MK KN KR RN",
    "ntrans": "MN MN N",
    "ntrans_scalar": "MN MN -",
    "proj_rope": "MK K,2*H HM HM",
    "mm_bias_gelu": "MK KN N",
    "chain": "MK KN NP",
    "chain_vec": "MK KN NP P",
    "linattn": "MK LK LN",
    "linattn_causal": "SK SK SN",
    "linattn_causal_1": "P+Q,K P+Q,K P+Q,N at=P",
    "mla": "HD HDC LC HCE",
    "dq_mm": "MK M1 KN 1N",
    "dq_zero": "MK KN 1N 1N",
    "moe": "MK K,3 3,K,N 3,N,K",
    "scan": "C,4 C,4 CS S,4 S,4 size=2",
    "adamw": "MN MN MN MN",
    "xent": "MK KN i32:M",
    "xent_2": "MK K,P+Q i32:M at=P",
    "gqa_causal": "G*R,S,D GSD GSE",
    "gate_up": "MK KN KN",
    "unit_mm": "MK KN",
    "decoder_layer": "SE E, 4,E,2*H 2,E,2*H 2,E,2*H 4,2*H,E E, EN EN NE HS HS",
    "silu_scale": "MN M1",
    "softmax_scale": "MN",
    "online_norescale": "M,P+Q at=P",
    "rms_commute": "MK KN",
    "gelu_forms": "MN",
    "sum_product": "MN MN",
    "matmul_commute": "NN NN",
    "gain_rope": "2*H,S HS HS 2*H,1",
    "max_scale": "MN M1",
    "var_n1": "MN",
    "reshape": "MN",
    "mask_cumsum": "MN",
}
"""The axes of each argument, of all forms of a program or of one form alone; a letter is a symbolic size.

`-` is a run-time scalar, `i32:` in front another element type, `at=P` a size that only this form takes. Numbers are
sizes that a loop runs over.
"""

DTYPE = "f32"


def specs(name: str) -> list[str]:
    """The `--arg` texts of a program, or of one form of it."""
    out: list[str] = []
    for text in ARGUMENTS[name].split():
        parameter, _, size = text.rpartition("=")
        dtype, _, axes = text.rpartition(":")
        listed = axes.removesuffix(",") if "," in axes else ",".join(axes)
        if parameter:
            out.append(f"{parameter}=size[{size}]")
        else:
            out.append(DTYPE if axes == "-" else f"{dtype or DTYPE}[{listed}]")
    return out


def traced(function: Callable[..., Any], name: str) -> FuncOp:
    """A program over the arguments of that name; sizes that it does not take are left out."""
    known = inspect.signature(function).parameters
    texts = [text for text in specs(name) if "=" not in text or text.partition("=")[0] in known]
    return next(op for op in trace(function, texts, generic_numbers=False).walk() if isinstance(op, FuncOp))


def functions(prefix: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    """(name without the prefix, function), in the order of the file."""
    for name, value in vars(PROGRAMS).items():
        if name.startswith(prefix):
            yield name.removeprefix(prefix), value


def goals() -> list[tuple[str, Callable[..., Any], Callable[..., Any], str]]:
    """(name, program, goal, whose arguments)."""
    out: list[tuple[str, Callable[..., Any], Callable[..., Any], str]] = []
    for name, goal in functions("goal_"):
        of = name.rpartition("_")[0]
        out.append((name, getattr(PROGRAMS, f"ref_{of}"), goal, name if name in ARGUMENTS else of))
    return out


def near_misses() -> list[tuple[str, Callable[..., Any], Callable[..., Any], str]]:
    """(name, program, near miss, whose arguments)."""
    return [(name, getattr(PROGRAMS, f"base_{name}"), bad, name) for name, bad in functions("bad_")]


def prove_pair(
    before: Callable[..., Any], after: Callable[..., Any], of: str, *, use_filter: bool = True
) -> tuple[Verdict, float]:
    """The verdict and the seconds that it took."""
    first, second = traced(before, of), traced(after, of)
    clear_cache()
    started = time.monotonic()
    verdict = prove_functions(first, second, use_filter=use_filter)
    return verdict, time.monotonic() - started


def main(names: Sequence[str]) -> None:
    """Print the table."""
    for title, cases, wanted in (("goal", goals(), "proved"), ("near miss", near_misses(), "refuted")):
        right = total = 0
        print(f"{title:<18} {'verdict':<8} {'s':>6}  lemmas, or the reason")
        for name, before, after, of in cases:
            if names and not any(n in name for n in names):
                continue
            verdict, seconds = prove_pair(before, after, of)
            note = ", ".join(verdict.lemmas) if verdict.verdict == "proved" else verdict.reason
            if wanted == "refuted":
                without, _ = prove_pair(before, after, of, use_filter=False)
                note += f"; without evaluation: {without.verdict}, {without.reason}"
            elif verdict.verdict != "proved":
                note += ": " + verdict.detail.replace("\n", " ")[:400]
            print(f"{name:<18} {verdict.verdict:<8} {seconds:6.2f}  {note}", flush=True)
            total += 1
            right += verdict.verdict == wanted
        print(f"{right} of {total} {wanted}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
