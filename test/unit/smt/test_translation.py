# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lowering steps: the tiled product is proved, mutants of it are not."""

from __future__ import annotations

from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp

from axon_mlir.host.parsing import parse_module
from axon_mlir.host.registry import make_context
from axon_mlir.host.verification import verify_module
from axon_mlir.smt.translation import verify_step

INPUTS = Path(__file__).parent / "Inputs"
BEFORE = (INPUTS / "matmul.mlir").read_text()
TILED = (INPUTS / "tiled_matmul.mlir").read_text()

EQUAL = [
    ('step "128" (sum', 'step "64" (sum'),
    ('step "512"', 'step "256"'),
    ('%mb to %mbe step "128"', '%mb to %mbe step "100"'),
]
WRONG = [
    # Extents and bounds of loops.
    ('%zero to %K step "128" (sum', '%zero to %M step "128" (sum'),
    ('%zero to %N step "512"', '%zero to %M step "512"'),
    ('%zero to %M step "mB"', '%zero to %K step "mB"'),
    ('"a + b" (a', '"a + b + 1" (a'),
    ('"a + b" (a', '"a + b - 1" (a'),
    # Steps beyond the room of a tile.
    ('step "512"', 'step "513"'),
    # Offsets and extents of regions.
    ("%w[%k along p, %n along f] (%kh, %nh)", "%w[%k along p, %m along f] (%kh, %nh)"),
    ("%x[%k along p, %m along f] (%kh, %mh)", "%x[%k along p, %m along f] (%kh, %nh)"),
    ("%x[%k along p, %m along f] (%kh, %mh)", "%x[%zero along p, %m along f] (%kh, %mh)"),
    ("%o1[%m along p, %n along f]", "%o1[%n along p, %m along f]"),
    ("%o1[%m along p, %n along f]", "%o1[%mb along p, %n along f]"),
    # A dropped store.
    ("tile.yield %o2", "tile.yield %o1"),
    # Monoids and operators.
    ('tile.neutral "sum"', 'tile.neutral "max"'),
    ("(sum %a = ", "(max %a = "),
    ("c[m, n] = sum(k < K", "c[m, n] = max(k < K"),
    ("a[k, m] * b[k, n]", "a[k, m] + b[k, n]"),
    ("a[k, m] * b[k, n]", "a[k, m] * a[k, m]"),
    ("c[p, f] = a[p, f]", "c[p, f] = a[p, f] * 1.0001"),
    ("(collect %o1 = ", "(sum %o1 = "),
]


def module(text: str) -> ModuleOp:
    parsed = parse_module(text, "test.mlir", make_context())
    verify_module(parsed)
    return parsed


def test_tiled_product_is_proved_for_all_sizes_and_blocks() -> None:
    verdict = verify_step(module(BEFORE), module(TILED), "tile")
    assert verdict.verdict == "proved", verdict.report()
    ((_, one),) = verdict.functions
    assert "tile" in one.lemmas
    assert {o.status for o in one.obligations} == {"proved"}


@pytest.mark.parametrize(("old", "new"), EQUAL)
def test_other_tilings_are_proved(old: str, new: str) -> None:
    assert old in TILED
    verdict = verify_step(module(BEFORE), module(TILED.replace(old, new, 1)), "tile")
    assert verdict.verdict == "proved", verdict.report()


@pytest.mark.parametrize("use_filter", [True, False])
@pytest.mark.parametrize(("old", "new"), WRONG)
def test_mutant_is_not_proved(old: str, new: str, use_filter: bool) -> None:
    if old.startswith("tile.neutral"):
        old, new = old.replace("tile.neutral ", "tile.neutral "), new
    assert old in TILED, old
    mutant = module(TILED.replace(old, new, 1))
    verdict = verify_step(module(BEFORE), mutant, "tile", use_filter=use_filter)
    assert verdict.verdict != "proved"
    assert "tile: " in verdict.report()


def test_a_sum_that_starts_from_unwritten_memory_is_not_proved() -> None:
    mutant = TILED.replace('tile.neutral "sum" (%mh, %nh)', "tile.empty (%mh, %nh)")
    assert mutant != TILED
    assert verify_step(module(BEFORE), module(mutant), "tile").verdict == "refuted"
    assert verify_step(module(BEFORE), module(mutant), "tile", use_filter=False).verdict == "unknown"


def test_unchanged_functions_are_proved_at_once() -> None:
    verdict = verify_step(module(TILED), module(TILED), "nothing")
    assert verdict.verdict == "proved"
    assert verdict.functions[0][1].obligations == ()


def test_a_dropped_function_is_refuted() -> None:
    both = BEFORE + BEFORE.replace("@mm", "@other")
    verdict = verify_step(module(both), module(BEFORE), "drop")
    assert verdict.verdict == "refuted"
    assert "@other" in verdict.report()


def test_a_new_function_needs_an_origin() -> None:
    new = BEFORE + BEFORE.replace("@mm", "@mm_0")
    assert verify_step(module(BEFORE), module(new), "add").verdict == "refuted"
    named = new.replace(
        '@mm_0(%x: tensor<?x?xbf16, ["K", "M"]>, %w: tensor<?x?xbf16, ["K", "N"]>) -> tensor<?x?xbf16, ["M", "N"]> {',
        '@mm_0(%x: tensor<?x?xbf16, ["K", "M"]>, %w: tensor<?x?xbf16, ["K", "N"]>) -> tensor<?x?xbf16, ["M", "N"]> '
        'attributes {nu.origin = "mm"} {',
    )
    assert named != new
    assert verify_step(module(BEFORE), module(named), "add").verdict == "proved"


def test_accumulating_in_a_narrow_type_is_not_proved() -> None:
    narrow = TILED.replace("f32, psum", "bf16, psum")
    verdict = verify_step(module(BEFORE), module(narrow), "tile")
    assert verdict.verdict == "refuted"
    assert verdict.functions[0][1].reason == "ledger"


def test_one_more_rounding_is_not_proved() -> None:
    text = """
    func.func @f(%x: tensor<?xbf16, ["M"]>) -> tensor<?xbf16, ["M"]> {
      %a = tensor_hl.exp %x : tensor<?xbf16, ["M"]> -> tensor<?xf32, ["M"]>
      %b = tensor_hl.neg %a : tensor<?xf32, ["M"]> -> tensor<?xbf16, ["M"]>
      func.return %b : tensor<?xbf16, ["M"]>
    }
    """
    rounded = text.replace("xf32", "xbf16")
    assert verify_step(module(rounded), module(text), "widen").verdict == "proved"
    verdict = verify_step(module(text), module(rounded), "narrow")
    assert (verdict.verdict, verdict.functions[0][1].reason) == ("refuted", "ledger")
