# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Description files: what loads, what is refused and where, and the page rendered from them."""

from pathlib import Path

import numpy as np
import pytest

from axon_mlir.errors import AxonError
from axon_mlir.semantics.domains import Floats
from axon_mlir.targets import DEVICES, load_device
from axon_mlir.targets.loader import FOLDER
from axon_mlir.targets.reference import render

TRN2 = (FOLDER / "trn2.target").read_text(encoding="utf-8")


def write(folder: Path, text: str) -> str:
    path = folder / "mine.target"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_the_packaged_devices_load():
    assert DEVICES == ("trn1", "trn2", "trn3")
    assert [load_device(n).generation for n in DEVICES] == [2, 3, 4]
    device = load_device("trn2")
    assert device.name == device.override == "trn2"
    assert device.limits["partitions"] == 128
    assert device.limits["sbuf_bytes_per_partition"] == 212984
    assert device.engines["tensor"].clock_ghz == 2.4
    assert device.constants["hbm_bandwidth"].unit == "GB/s"
    assert device.dtypes["bfloat16"].bytes == 2
    assert "float8_e4m3fn" not in device.dtypes and "float8_e4m3fn" in load_device("trn3").dtypes


def test_every_fact_has_a_source():
    for name in DEVICES:
        device = load_device(name)
        facts = [*device.limit_details.values(), *device.constants.values(), *device.engines.values(), *device.starts]
        for instruction in device.instructions.values():
            assert instruction.summary and instruction.sources
            facts += [rule for form in instruction.forms for rule in form.rules]
            facts += instruction.cost
        assert all(fact.source for fact in facts)


def test_a_copy_without_two_instructions(tmp_path: Path):
    lines = [line for line in TRN2.splitlines() if line not in ("use activation", "use scalar_tensor_tensor")]
    device = load_device(write(tmp_path, "\n".join(lines)))
    missing = set(load_device("trn2").instructions) - set(device.instructions)
    assert missing == {"activation", "scalar_tensor_tensor"}
    assert device.fingerprint != load_device("trn2").fingerprint
    with pytest.raises(AxonError, match="does not use an instruction activation"):
        device.instruction("activation")


def test_an_unchanged_copy_has_the_same_fingerprint(tmp_path: Path):
    assert load_device(write(tmp_path, TRN2)).fingerprint == load_device("trn2").fingerprint


def test_an_instruction_file_beside_the_device_file_comes_first(tmp_path: Path):
    text = (FOLDER / "nki.isa").read_text(encoding="utf-8")
    (tmp_path / "nki.isa").write_text(text.replace("Copies a tile,", "Moves a tile,"), encoding="utf-8")
    device = load_device(write(tmp_path, TRN2))
    assert device.instruction("tensor_copy").summary.startswith("Moves")
    assert device.fingerprint != load_device("trn2").fingerprint


def test_unknown_names():
    with pytest.raises(AxonError) as caught:
        load_device("trn9")
    assert "trn1, trn2, trn3" in (caught.value.accepted or "")
    with pytest.raises(AxonError, match="no device description"):
        load_device("nowhere/x.target")
    with pytest.raises(AxonError) as caught:
        load_device("trn2").instruction("tensor_copy").form("paste")
    assert caught.value.accepted == "copy"


EXTRA = """
instruction twice {
  nki nisa.twice
  signature dst, src
  summary "Doubles."
  source NKI
  engines vector
  operand src : sbuf ; any
  result dst : sbuf ; any
  limit P <= partitions source A2
  form double(src[P, F]) -> dst[P, F] { dst[p, f] = 2 * src[p, f] }
    call dst, src
}
use twice
"""


def test_a_device_file_may_describe_instructions_itself(tmp_path: Path):
    assert "twice" in load_device(write(tmp_path, TRN2 + EXTRA)).instructions


@pytest.mark.parametrize(
    ("old", "new", "line_of", "message"),
    [
        ("generation 3", "generation three", "generation three", "unexpected 'three'"),
        ("use dma_copy", "use dma_copi", "use dma_copi", "unknown instruction dma_copi"),
        ("format 1", "format 7", None, "format 7 is not understood"),
        ("device trn2", "# none", None, "does not state `device`"),
        ("generation 3", "generation 3\ngeneration 4", "generation 4", "stated twice"),
        ('instructions "nki.isa"', 'instructions "no.isa"', 'instructions "no.isa"', "no instruction file no.isa"),
        ("A3, DGE", "A3 DGE", "A3 DGE", "unexpected 'DGE'"),
        ("= 2 * src[p, f]", "= twice(src[p, f])", "form double", "twice"),
        ("BANDWIDTH, DMA", "BANDWITH, DMA", "BANDWITH", "source BANDWITH is not cited"),
        ("reads sbuf writes psum", "reads sram writes psum", "reads sram", "unknown memory space sram"),
        ("= 2 * src", "= twice(src", "form double", "meaning"),
        ("dst[p, f] =", "dst[p] =", "form double", "another rank"),
        ("engines vector", "engines victor", "engines victor", "unknown engine victor"),
        ("sbuf ; any", "sbuf ; float33", "operand src", "unknown dtype float33"),
        ("P <= partitions", "Q <= partitions", "limit Q", "unknown size or limit Q"),
        ("    call dst, src", "    call dst", "    call dst", "does not pass src"),
        ("    call dst, src", "", "form double", "no `call`"),
        ("    call dst, src", "    call dst, src, mode=1", "    call dst", "unknown parameter mode"),
        ("  operand src : sbuf ; any", "", "form double", "says where src lies"),
        ("double(src[P, F])", "double(src[P, F]) <op0: alus>", "form double", "unknown class alus"),
        ("use twice", EXTRA, None, "described twice"),
    ],
)
def test_a_malformed_description_is_refused_with_its_line(tmp_path, old, new, line_of, message):
    text = TRN2 + EXTRA
    assert old in text
    text = text.replace(old, new, 1)
    with pytest.raises(AxonError) as caught:
        load_device(write(tmp_path, text))
    assert message in caught.value.message
    where = caught.value.where or ""
    assert where.startswith(str(tmp_path / "mine.target"))
    if line_of is not None:
        number = next(i for i, line in enumerate(text.splitlines(), 1) if line_of in line)
        assert int(where.split(":")[1]) == number


def test_an_instruction_of_a_later_generation_cannot_be_used(tmp_path: Path):
    text = TRN2 + EXTRA.replace("instruction twice {", "instruction twice requires gen4 {")
    with pytest.raises(AxonError, match="not available on generation 3"):
        load_device(write(tmp_path, text))
    text = text.replace("generation 3", "generation 4", 1)
    with pytest.raises(AxonError, match="moving_free_bfloat16"):
        load_device(write(tmp_path, text))  # nc_matmul of generation 4 asks for a limit that the file does not give


def test_the_reference_page_is_current():
    page = Path(__file__).parents[3] / "docs" / "isa.md"
    assert page.read_text(encoding="utf-8") == render([load_device(n) for n in DEVICES])


LATER = """
instruction ramp {
  nki nisa.ramp
  signature dst, pattern, offset=0, channel_multiplier=0, name=None
  summary "Numbers the elements."
  source NKI
  engines gpsimd
  result dst : sbuf ; any
  cost gpsimd gpsimd_startup + F source NKI226
  form rows() <offset: int, step: int, channel_multiplier: int> -> dst[P, F] {
    dst[p, f] = offset + p * channel_multiplier + f * step
  }
    call dst, pattern=[[step, F]], offset, channel_multiplier
}
instruction cumulate {
  nki nisa.cumulate
  signature dst, data, op, mask=None, name=None
  summary "A running fold; and a triangle of a tile."
  source NKI
  engines vector
  operand data : sbuf ; float
  result dst : sbuf ; float
  form scan(data[P, F]) <m: reduction> -> dst[P, F] { dst[p, f] = fold<m>(q < f + 1: data[p, q]) }
    call dst, data, op=m
  form select(data[P, F], other) -> dst[P, F] { dst[p, f] = if f <= p then data[p, f] else other }
    call dst, data, op=nl.less_equal, mask=other
}
use ramp
use cumulate
"""


def test_the_language_fits_scans_selections_and_patterns(tmp_path: Path):
    device = load_device(write(tmp_path, TRN2 + LATER))
    ramp = device.instruction("ramp")
    form = ramp.form("rows")
    numbers = {"offset": 5, "step": 2, "channel_multiplier": 10}
    (found,) = form.meaning.evaluate([], {**numbers, "P": 2, "F": 3}, Floats())
    np.testing.assert_array_equal(found, [[5, 7, 9], [15, 17, 19]])
    text = dict(form.spelled_arguments({"dst": "t"}, numbers, {"F": "3"}))
    assert text == {"dst": "t", "pattern": "[[2, 3]]", "offset": "5", "channel_multiplier": "10"}
    tile = object()
    arguments = {"dst": tile, "pattern": [[2, 3]], "offset": 5, "channel_multiplier": 10}
    assert ramp.select(arguments, is_tile=lambda v: v is tile, spell=str).attributes == numbers
    data = np.arange(6.0).reshape(2, 3)
    scan, select = device.instruction("cumulate").forms
    np.testing.assert_array_equal(scan.meaning.evaluate([data], {"m": "sum"}, Floats())[0], np.cumsum(data, axis=1))
    (found,) = select.meaning.evaluate([data, np.array(-1.0)], {}, Floats())
    np.testing.assert_array_equal(found, np.where(np.tri(2, 3, dtype=bool), data, -1))
