# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where tensors lie on chip, and what waits for a place."""

from __future__ import annotations

from collections.abc import Sequence

from audit import cases
from hypothesis import given, settings
from hypothesis import strategies as st

from axon_mlir.sim.placement import addresses
from axon_mlir.sim.timing import dependencies
from axon_mlir.sim.trace import Access, Buffer, Issued, Trace, Work
from axon_mlir.targets import load_device

DEVICE = load_device("trn2")
BANK = DEVICE.limits["psum_bank_bytes"]
MATMUL = Work("nc_matmul", "tensor", cycles=512.0)
COPY = Work("tensor_copy", "vector", cycles=512.0)


def access(tensor: int, size: int = 2048) -> Access:
    return Access(tensor, (0, 128, 0, size))


def products(count: int, size: int = 2048) -> list[Issued]:
    """Products into fresh tensors of PSUM, each copied out."""
    out: list[Issued] = []
    for n in range(count):
        out.append(Issued(MATMUL, 1, (access(-1),), (access(2 * n + 1, size),)))
        out.append(Issued(COPY, 2, (access(2 * n + 1, size),), (access(2 * n + 2, size),)))
    return out


def traced(issued: Sequence[Issued], **buffers: Buffer) -> Trace:
    tensors = {a.tensor: a.box[3] for one in issued for a in (*one.reads, *one.writes)}
    spaces = {t: "hbm" if t < 0 else "psum" if t % 2 else "sbuf" for t in tensors}
    return Trace(
        list(issued),
        {t: buffers.get(f"t{t}", Buffer(f"t{t}", spaces[t], size)) for t, size in tensors.items()},
    )


def test_banks_are_taken_in_turn_and_the_ninth_product_waits_for_the_first() -> None:
    trace = traced(products(10))
    at = addresses(trace, DEVICE)
    assert [at[2 * n + 1] for n in range(10)] == [(0, n % 8 * BANK) for n in range(10)]
    assert -1 not in at
    waits = dependencies(trace, ["tensor", "vector"] * 10, DEVICE)
    assert waits[14] == [] and waits[16] == [1] and waits[18] == [3]


def test_a_tensor_of_two_banks_takes_two() -> None:
    trace = traced(products(5, 2 * BANK))
    at = addresses(trace, DEVICE)
    assert [at[2 * n + 1][1] // BANK for n in range(5)] == [0, 2, 4, 6, 0]


def test_what_the_kernel_places_lies_there() -> None:
    given = Buffer("mine", "psum", 2048, (32, 3 * BANK))
    trace = traced(products(2), t1=given)
    assert addresses(trace, DEVICE)[1] == (32, 3 * BANK)
    both = [Issued(COPY, 1, (), (access(2),)), Issued(MATMUL, 2, (), (access(4),))]
    same = {f"t{t}": Buffer(f"t{t}", "sbuf", 2048, (0, 1024 * t)) for t in (2, 4)}
    # 2048 bytes from byte 2048 on, and from byte 4096 on; then from bytes that the first has.
    assert dependencies(traced(both, **same), ["vector", "tensor"], DEVICE) == [[], []]
    same["t4"] = Buffer("t4", "sbuf", 2048, (0, 3072))
    assert dependencies(traced(both, **same), ["vector", "tensor"], DEVICE) == [[], [0]]


def test_arguments_are_no_part_of_a_memory() -> None:
    """Their numbers are negative, as memories' are."""
    issued = [Issued(COPY, 1, (access(-1),), (access(2),)), Issued(MATMUL, 2, (), (access(-1),))]
    assert dependencies(traced(issued), ["vector", "tensor"], DEVICE) == [[], [0]]
    issued = [Issued(COPY, 1, (access(-2),), (access(2),)), Issued(MATMUL, 2, (), (access(1),))]
    assert dependencies(traced(issued), ["vector", "tensor"], DEVICE) == [[], []]


def test_a_memory_that_is_full_makes_nothing_wait() -> None:
    size = DEVICE.limits["sbuf_bytes_per_partition"] * 2 // 3
    issued = [Issued(COPY, 1, (), (access(2 * n + 2, size),)) for n in range(3)]
    issued.append(Issued(COPY, 2, tuple(access(2 * n + 2, size) for n in range(3)), (access(1),)))
    at = addresses(traced(issued), DEVICE)
    assert len({at[2], at[4], at[6]}) == 3


@settings(max_examples=cases(60, 1000), deadline=None)
@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 80_000)), min_size=1, max_size=40))
def test_what_lives_at_one_time_lies_apart(made: list[tuple[int, int]]) -> None:
    """Each tensor is written, and read some instructions later."""
    events: list[tuple[int, int, bool]] = []
    for n, (length, _) in enumerate(made):
        events += [(2 * n, n, True), (2 * n + 2 * length + 1, n, False)]
    issued = [
        Issued(
            COPY,
            1,
            () if write else (access(2 * n + 2, made[n][1]),),
            (access(2 * n + 2, made[n][1]),) if write else (),
        )
        for _, n, write in sorted(events)
    ]
    at = addresses(traced(issued), DEVICE)
    alive: dict[int, tuple[int, int]] = {}
    for one in issued:
        for a in one.writes:
            start = at[a.tensor][1]
            span = start, start + a.box[3]
            assert all(span[1] <= low or high <= span[0] for low, high in alive.values())
            alive[a.tensor] = span
        for a in one.reads:
            del alive[a.tensor]
