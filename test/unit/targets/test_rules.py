# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Constraints: each rule accepts what the NKI reference allows and names what it forbids; costs pick the right line."""

import pytest

from axon_mlir.targets import Facts, TileFact, load_device


def tile(*shape, space="sbuf", dtype="float32", start=0):
    return TileFact(shape, space, dtype, start)


def psum(*shape, dtype="float32", start=0):
    return tile(*shape, space="psum", dtype=dtype, start=start)


def broken(instruction, form, tiles, device="trn2", exact=True, **facts):
    found = load_device(device).instruction(instruction).check(form, Facts(tiles, **facts), exact=exact)
    assert all(v.source for v in found)
    return [v.rule for v in found]


def matmul(k=128, m=128, n=512, a="bfloat16", b="bfloat16", c="float32", **where):
    return {"stationary": tile(k, m, dtype=a), "moving": tile(k, n, dtype=b), "dst": psum(m, n, dtype=c), **where}


@pytest.mark.parametrize(
    ("tiles", "device", "rules"),
    [
        (matmul(), "trn2", []),
        (matmul(k=256), "trn2", ["limit"]),
        (matmul(m=256), "trn2", ["limit"]),
        (matmul(n=513), "trn2", ["limit", "limit"]),  # the free size, and the bank
        (matmul(n=4096), "trn3", []),
        (matmul(n=8192), "trn3", ["limit"]),
        (matmul(n=8192, c="bfloat16"), "trn3", []),
        (matmul(c="bfloat16"), "trn2", ["dtype"]),
        (matmul(a="float32"), "trn2", ["pairs"]),
        (matmul(a="float32", b="tfloat32"), "trn2", []),
        (matmul(a="int8", b="int8"), "trn2", ["dtype", "dtype"]),
        (matmul(a="float8_e4m3", b="float8_e4m3fn"), "trn3", ["excludes"]),
        (matmul(a="float8_e4m3", b="float8_e5m2"), "trn3", []),
        (matmul(dst=tile(128, 512)), "trn2", ["space", "engine_access"]),
        (matmul(stationary=psum(128, 128, dtype="bfloat16")), "trn2", ["space", "engine_access"]),
        (matmul(moving=tile(64, 512, dtype="bfloat16")), "trn2", ["shape"]),
    ],
)
def test_matmul(tiles, device, rules):
    assert broken("nc_matmul", "overwrite", tiles, device) == rules
    assert broken("nc_matmul", "accumulate", tiles, device) == rules


def test_a_tied_operand_has_the_facts_of_its_result():
    assert broken("nc_matmul", "accumulate", matmul()) == []
    assert set(broken("nc_matmul", "accumulate", matmul(dst=tile(128, 512)))) == {"space", "engine_access"}


def test_bounds_need_not_agree():
    tiles = matmul(dst=psum(128, 256))
    assert broken("nc_matmul", "overwrite", tiles) == ["shape"]
    assert broken("nc_matmul", "overwrite", tiles, exact=False) == []
    assert broken("nc_matmul", "overwrite", matmul(k=200), exact=False) == ["limit"]


@pytest.mark.parametrize(
    ("partitions", "start", "fine"),
    [(128, 0, True), (128, 32, False), (65, 64, False), (64, 64, True), (64, 32, False), (32, 96, True), (1, 1, False)],
)
def test_start_partitions(partitions, start, fine):
    tiles = {"src": tile(partitions, 4, start=start), "dst": tile(partitions, 4)}
    assert broken("tensor_copy", "copy", tiles) == ([] if fine else ["start_partition"])
    assert broken("dma_copy", "copy", tiles) == []  # DMA starts anywhere
    tiles = {"src": tile(partitions, 4, start=None), "dst": tile(partitions, 4)}
    assert broken("tensor_copy", "copy", tiles) == []


def test_engines():
    tiles = {"src": psum(128, 4), "dst": tile(128, 4)}
    assert broken("tensor_copy", "copy", tiles, engine="vector") == []
    assert broken("tensor_copy", "copy", tiles, engine="gpsimd") == ["engine_access"]
    assert broken("tensor_copy", "copy", tiles, engine="tensor") == ["engine"]
    assert broken("tensor_copy", "copy", tiles, "trn1", engine="scalar") == ["engine"]
    form = load_device("trn2").instruction("tensor_copy").form("copy")
    assert form.engines_for(Facts(tiles)) == ("vector", "scalar")


def test_engines_by_attribute():
    tiles = {"data": tile(128, 8), "dst": tile(128, 8)}

    def engines(device, form, **attributes):
        return load_device(device).instruction("tensor_scalar").form(form).engines_for(Facts(tiles, None, attributes))

    assert engines("trn1", "immediate", op0="mul") == ("vector",)
    assert engines("trn2", "immediate", op0="mul") == ("vector", "scalar")
    assert engines("trn2", "immediate", op0="max") == ("vector",)
    assert engines("trn2", "immediate_immediate", op0="mul", op1="add") == ("vector", "scalar")
    assert engines("trn2", "immediate_immediate", op0="add", op1="mul") == ("vector",)
    assert engines("trn3", "immediate", op0="max") == ("vector", "scalar")


def test_dma():
    hbm = tile(4096, 64, space="hbm", start=None)
    assert broken("dma_copy", "copy", {"src": hbm, "dst": hbm}) == []
    assert broken("dma_copy", "copy", {"src": hbm, "dst": tile(4096, 64)}) == ["limit"]
    assert broken("dma_copy", "copy", {"src": psum(128, 64), "dst": tile(128, 64)}) == ["space", "engine_access"]
    cast = {"src": tile(128, 64), "dst": tile(128, 64, dtype="bfloat16")}
    assert broken("dma_copy", "copy", cast) == []
    assert broken("dma_copy", "copy", cast, options={"dge_mode": "nisa.dge_mode.hwdge"}) == ["same_dtype"]


def test_two_inputs_from_psum():
    one = {"data1": psum(128, 8), "data2": tile(128, 8), "dst": tile(128, 8)}
    assert broken("tensor_tensor", "binary", one) == []
    assert broken("tensor_tensor", "binary", {**one, "data2": psum(128, 8)}) == ["at_most_one"]


def test_transposes():
    def both(shape, dtype, out, form, device="trn2"):
        place = psum(*shape[::-1], dtype=out) if form == "tensor" else tile(*shape[::-1], dtype=out)
        return broken("nc_transpose", form, {"data": tile(*shape, dtype=dtype), "dst": place}, device)

    assert both((128, 128), "bfloat16", "bfloat16", "tensor") == []
    assert both((128, 128), "bfloat16", "float32", "tensor") == ["same_dtype"]
    assert both((128, 128), "bfloat16", "float32", "tensor", "trn1") == []
    assert both((128, 128), "bfloat16", "bfloat16", "tensor", "trn1") == ["dtype"]
    assert both((128, 256), "bfloat16", "bfloat16", "tensor") == ["limit"]
    assert both((32, 32), "int32", "int32", "vector") == []
    assert both((32, 64), "int32", "int32", "vector") == ["limit"]


def test_column_operands_and_scales():
    tiles = {"data": tile(128, 8), "operand0": tile(128, 1), "dst": tile(128, 8)}
    assert broken("tensor_scalar", "tensor", tiles, attributes={"op0": "add"}) == []
    wide = {**tiles, "operand0": tile(128, 2)}
    assert broken("tensor_scalar", "tensor", wide, attributes={"op0": "add"}) == ["shape"]
    half = {**tiles, "operand0": tile(128, 1, dtype="bfloat16")}
    assert broken("tensor_scalar", "tensor", half, attributes={"op0": "add"}) == ["dtype"]


def test_fill_kind_and_free_sizes():
    assert broken("memset", "fill", {"dst": tile(128, 8)}, immediates={"value": 0.5}) == []
    integers = {"dst": tile(128, 8, dtype="int32")}
    assert broken("memset", "fill", integers, immediates={"value": 0.5}) == ["kind"]
    assert broken("memset", "fill", integers, immediates={"value": 3}) == []
    assert broken("memset", "fill", {"dst": tile(128, 65537)}) == ["free_size"]
    assert broken("memset", "fill", {"dst": psum(128, 4097)}) == ["free_size"]


def test_several_free_axes_count_as_one():
    tiles = {"src": tile(128, 4, 8), "dst": tile(128, 32)}
    assert broken("tensor_copy", "copy", tiles) == []
    assert broken("tensor_reduce", "inner", {"data": tile(128, 4), "dst": tile(128, 4)}) == ["shape"]


def cycles(device, instruction, form, engine, tiles, **attributes):
    return load_device(device).instruction(instruction).form(form).cycles(Facts(tiles, engine, attributes))


def test_costs():
    def copied(dtype, space="sbuf", device="trn2", f=4096, engine="vector"):
        tiles = {"src": tile(128, f, dtype=dtype, space=space), "dst": tile(128, f, dtype=dtype)}
        return cycles(device, "tensor_copy", "copy", engine, tiles)

    assert copied("bfloat16") == 1024
    assert copied("bfloat16", "psum") == 2048
    assert copied("float32") == 2048
    assert copied("float32", "psum") == 4096
    assert copied("bfloat16", device="trn1") == 4096
    assert copied("float32", f=1) == 64
    assert copied("float32", engine="gpsimd") == 4246
    assert copied("float32", engine="tensor") is None
    assert cycles("trn2", "nc_matmul", "overwrite", "tensor", matmul()) == 512
    assert cycles("trn2", "nc_matmul", "overwrite", "tensor", matmul(a="float32", b="float32")) == 2048
    row = {"data": tile(128, 512), "dst": tile(128, 512), "reduce_res": tile(128, 1)}
    assert cycles("trn2", "activation", "plain", "scalar", row, fn="exp") == 512
    assert cycles("trn2", "activation", "plain_sum", "scalar", row, fn="exp") == 576
    two = {"data1": tile(128, 512), "data2": tile(128, 512), "dst": tile(128, 512)}
    assert cycles("trn1", "tensor_tensor", "binary", "vector", two, fn="add") == 1024
    assert cycles("trn2", "tensor_tensor", "binary", "vector", two, fn="add") == 512
