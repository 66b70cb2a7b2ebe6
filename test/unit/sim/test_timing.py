# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The timing model on traces made by hand: queues, dependencies, DMA engines, the matrix engine's clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from axon_mlir.errors import AxonError
from axon_mlir.sim.chrome import chrome_trace
from axon_mlir.sim.report import time_report
from axon_mlir.sim.timing import Model, Schedule, _Run, dependencies, prepared, replay  # pyright: ignore[reportPrivateUsage]
from axon_mlir.sim.trace import Access, Buffer, Issued, Trace, Transfer, Work, box_of
from axon_mlir.targets import load_device

DEVICE = load_device("trn2")
MODEL = Model(DEVICE)
WHOLE = (0, 128, 0, 2048)

VECTOR = Work("tensor_copy", "vector", cycles=512.0)
SCALAR = Work("activation", "scalar", "exp", cycles=512.0)
MATMUL = Work("nc_matmul", "tensor", cycles=2048.0)


def dma(load: bool = True, partitions: int = 128, size: int = 2048) -> Work:
    parts = tuple((e, 8, 8 * size) for e in range(partitions // 8))
    return Work("dma_copy", "", transfer=Transfer(load, parts, partitions))


def issue(work: Work, reads: Sequence[int], writes: Sequence[int], line: int = 1) -> Issued:
    return Issued(work, line, tuple(Access(t, WHOLE) for t in reads), tuple(Access(t, WHOLE) for t in writes))


def traced(issued: Sequence[Issued], **buffers: Buffer) -> Trace:
    """A trace of tensors of 2 KiB a partition in SBUF, but those that are named by their numbers."""
    touched = {access.tensor for one in issued for access in (*one.reads, *one.writes)}
    return Trace(list(issued), {t: buffers.get(f"t{t}", Buffer(f"t{t}", "sbuf", 2048)) for t in touched})


def run(*issued: Issued, reorder: bool = False, phase: float = 0.0, **buffers: Buffer) -> Schedule:
    return replay(prepared(traced(issued, **buffers), DEVICE), reorder=reorder, phase=phase)


def test_an_instruction_waits_for_what_it_reads_and_a_hop() -> None:
    made = run(issue(VECTOR, [1], [2]), issue(SCALAR, [2], [3]))
    first, second = made.spans
    assert first.visible == pytest.approx(157 + 512 / 0.96)
    assert second.start == pytest.approx(first.visible + 36) and tuple(made.waits) == (-1, 0)
    assert made.total_ns == pytest.approx(13390 + second.visible + 1700)


def test_a_queue_goes_on_after_the_interval() -> None:
    one, two = run(issue(VECTOR, [1], [2]), issue(VECTOR, [1], [3])).spans
    assert two.start == one.end == pytest.approx(70 + 512 / 0.96) and one.end < one.visible


def test_what_is_written_waits_for_readers_in_other_queues_only() -> None:
    across = run(issue(SCALAR, [1], [2]), issue(VECTOR, [3], [1]))
    assert across.spans[1].start > across.spans[0].end and tuple(across.waits) == (-1, 0)
    within = run(issue(VECTOR, [1], [2]), issue(VECTOR, [3], [1]))
    assert within.spans[1].start == within.spans[0].end and tuple(within.waits) == (-1, -1)


def test_the_matrix_engine_never_waits_for_itself() -> None:
    made = run(*(issue(MATMUL, [1, 2, 3], [3]) for _ in range(3)))
    assert tuple(made.waits) == (-1, -1, -1)
    assert made.spans[1].start == made.spans[0].end


def test_parts_of_a_tensor_that_do_not_meet_are_independent() -> None:
    left, right = Access(1, (0, 128, 0, 1024)), Access(1, (0, 128, 1024, 2048))
    issued = [Issued(VECTOR, 1, (), (left,)), Issued(SCALAR, 2, (right,), ()), Issued(SCALAR, 3, (left,), ())]
    assert dependencies(traced(issued), ["vector", "scalar", "scalar"], DEVICE) == [[], [], [0]]


def test_what_a_write_covers_is_no_longer_waited_for() -> None:
    issued = [issue(VECTOR, [], [1]), issue(SCALAR, [], [1]), issue(VECTOR, [1], [])]
    assert dependencies(traced(issued), ["vector", "scalar", "vector"], DEVICE) == [[], [0], [1]]


def test_a_load_takes_issue_first_byte_transfer_and_completion() -> None:
    (span,) = run(issue(dma(), [1], [2])).spans
    assert span.end == 560
    last = 1340 + 280 * 15 / 16 + 8 * 8 + 8 * 2048 / 27.3
    assert span.visible == pytest.approx(last + 395)


def test_engines_of_dma_are_shared_and_half_the_partitions_take_as_long_for_half_the_bytes() -> None:
    one, two = run(issue(dma(), [1], [2]), issue(dma(), [1], [3])).spans
    assert two.start == 560 and two.visible > one.visible
    half = run(issue(dma(partitions=64), [1], [2])).spans[0]
    assert half.visible == pytest.approx(one.visible, rel=0.2)


def test_who_makes_descriptors_decides_the_queue() -> None:
    trace = traced([issue(dma(size=64), [1], [2 + n]) for n in range(9)])
    found = {g: replay(prepared(trace, DEVICE, g)) for g in ("hardware", "software", "static")}
    assert set(found["hardware"].queues) == set(found["static"].queues) == {"sync"}
    assert set(found["software"].queues) == {"gpsimd"}
    assert found["static"].core_ns < found["hardware"].core_ns < found["software"].core_ns


def test_the_clock_of_the_matrix_engine_rises_while_it_is_busy_and_falls_after_a_pause() -> None:
    made = run(*(issue(MATMUL, [1], [2]) for _ in range(20)))
    spans = [span.end - span.start for span in made.spans]
    assert spans[0] == pytest.approx(2048 / 1.2 + 2.5) and spans[-1] == pytest.approx(2048 / 2.4 + 2.5)
    thin = replace(MATMUL, rows=64)
    slow = run(*(issue(thin, [1], [2]) for _ in range(20)))
    assert all(s.end - s.start == pytest.approx(2048 / 1.2 + 2.5) for s in slow.spans)
    pause = [issue(VECTOR, [2], [3]) for _ in range(20)]
    after = run(*(issue(MATMUL, [1], [2]) for _ in range(20)), *pause, issue(MATMUL, [3], [4]))
    assert after.spans[-1].end - after.spans[-1].start == pytest.approx(2048 / 1.2 + 2.5)


def test_activation_tables_are_loaded_when_the_function_changes() -> None:
    tanh = replace(SCALAR, function="tanh")
    same = run(issue(SCALAR, [1], [2]), issue(replace(SCALAR, function="identity"), [1], [3]), issue(SCALAR, [1], [4]))
    other = run(issue(SCALAR, [1], [2]), issue(tanh, [1], [3]))
    assert same.spans[2].start == same.spans[1].end
    assert other.spans[1].start == pytest.approx(other.spans[0].end + 1283)


def test_a_scheduler_takes_the_oldest_instruction_that_is_ready() -> None:
    issued = [
        issue(dma(), [1], [2]),
        issue(VECTOR, [2], [3]),
        issue(VECTOR, [4], [5]),
        issue(VECTOR, [4], [6]),
    ]
    ordered, moved = run(*issued), run(*issued, reorder=True)
    assert ordered.spans[2].start > ordered.spans[1].start
    assert moved.spans[2].start == 0 and moved.spans[3].start == moved.spans[2].end
    assert moved.core_ns < ordered.core_ns


def test_what_may_run_on_several_engines_is_balanced() -> None:
    either = replace(VECTOR, others=(replace(VECTOR, queue="scalar"),))
    made = run(*(issue(either, [1], [2 + n]) for n in range(6)))
    assert sorted(made.queues) == ["scalar"] * 3 + ["vector"] * 3
    busy = [issue(SCALAR, [1], [2 + n]) for n in range(3)]
    assert run(*busy, issue(either, [1], [9])).queues[-1] == "vector"
    assert run(*busy, *(issue(VECTOR, [1], [9 + n]) for n in range(9)), issue(either, [1], [20])).queues[-1] == "scalar"


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from([VECTOR, SCALAR, MATMUL, dma(), dma(False)]), st.integers(0, 5), st.integers(0, 5)),
        max_size=40,
    ),
    st.booleans(),
    st.floats(0, 1),
)
def test_whatever_the_trace_order_is_kept_where_it_must_be(
    made: list[tuple[Work, int, int]], reorder: bool, phase: float
) -> None:
    """Everything runs, no queue does two things at a time, and nothing starts before what it waits for is visible."""
    schedule = run(*(issue(work, [a], [b]) for work, a, b in made), reorder=reorder, phase=phase)
    assert len(schedule.spans) == len(made)
    waits = dependencies(schedule.trace, schedule.queues, DEVICE)
    for number, span in enumerate(schedule.spans):
        assert span.start <= span.end <= span.visible or span.start <= span.visible
        for earlier in waits[number]:
            assert earlier < number and schedule.spans[earlier].visible <= span.start
    for queue in set(schedule.queues):
        own = sorted((s.start, s.end) for s, q in zip(schedule.spans, schedule.queues, strict=True) if q == queue)
        assert all(a[1] <= b[0] + 1e-6 for a, b in pairwise(own))
        if not reorder:
            starts = [s.start for s, q in zip(schedule.spans, schedule.queues, strict=True) if q == queue]
            assert starts == sorted(starts)


def test_the_part_of_a_tensor_that_a_view_shows() -> None:
    # [8, 16] of 4 bytes: rows 2 to 5, columns 4 to 9, every second row, transposed, the last rows backwards.
    assert box_of(2 * 64 + 16, (3, 6), (64, 4), 4, 64) == (2, 5, 16, 40)
    assert box_of(16, (4, 6), (128, 4), 4, 64) == (0, 7, 16, 40)
    assert box_of(16, (6, 3), (4, 64), 4, 64) == (0, 3, 16, 40)
    assert box_of(7 * 64, (2, 16), (-64, 4), 4, 64) == (6, 8, 0, 64)
    # All elements in one run of several rows.
    assert box_of(32, (24,), (4,), 4, 64) == (0, 2, 0, 64)


def test_the_report_tells_what_binds_and_what_waits() -> None:
    lines = [issue(dma(), [1], [2], 5), issue(VECTOR, [2], [3], 6), issue(dma(False), [3], [4], 7)]
    trace = traced(lines, t2=Buffer("t", "sbuf", 2048))
    report, schedule = time_report(trace, DEVICE)
    assert report.range_us == (report.predicted_us, report.predicted_us) and report.order_us == report.predicted_us
    assert report.binding == "dma engines" and set(report.engines) == {"sync", "vector"}
    assert 0 < report.dma_efficiency < 1
    assert [(s.line, s.behind_line, s.instruction) for s in report.stalls] == [
        (7, 6, "dma_copy"),
        (6, 5, "tensor_copy"),
    ]
    document = chrome_trace(schedule, "kernel")
    events = document["traceEvents"]
    assert {e["args"]["name"] for e in events if e["name"] == "thread_name"} == {"sync", "vector"}
    slices = [e for e in events if e["ph"] == "X"]
    assert [e["args"]["line"] for e in slices] == [5, 6, 7] and "t" in slices[0]["args"]["tensors"]
    assert [e["ph"] for e in events if e.get("cat") == "dependency"] == ["s", "f"] * 2
    assert all(e["ts"] >= 0 for e in events if "ts" in e)


def test_a_device_without_a_model_is_said() -> None:
    with pytest.raises(AxonError, match="has no constant"):
        replay(prepared(traced([issue(VECTOR, [1], [2])]), load_device("trn1")))


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 4), st.integers(0, 30), st.integers(1, 9)), max_size=12))
def test_parts_that_share_a_byte_are_found(boxes: list[tuple[int, int, int, int]]) -> None:
    """Whatever their rows: each part depends on the last that wrote what it reads."""
    accesses = [Access(1, (low, low + rows, begin, begin + size)) for low, rows, begin, size in boxes]
    issued = [Issued(VECTOR, 1, (), (a,)) for a in accesses]
    reading = [Issued(SCALAR, 1, (Access(1, (0, 16, 0, 64)),), ())]
    trace = Trace([*issued, *reading], {1: Buffer("t", "hbm")})
    queues = ("vector",) * len(issued) + ("scalar",)
    alive = [n for n, a in enumerate(accesses) if not any(b.covers(a.box) for b in accesses[n + 1 :])]
    assert dependencies(trace, queues, DEVICE)[-1] == alive


def test_engines_in_step_are_what_they_are_one_by_one() -> None:
    """All sixteen, equally long: the same as if each had a time of its own."""
    even = [issue(dma(size=size), [1], [n + 2]) for n, size in enumerate((2048, 512, 4096, 4096))]
    others = [issue(dma(partitions=64), [1], [9]), issue(dma(load=False), [9], [1]), *even]
    together = replay(prepared(traced([*even, *others]), DEVICE), reorder=False)
    ready = prepared(traced([*even, *others]), DEVICE)
    alone = _Run(ready.model, ready.works, ready.queues, ready.waits_for, 0.0)
    alone.costs = [replace(cost, even=None) for cost in alone.costs]
    alone.in_order()
    assert list(together.visible) == pytest.approx(list(alone.visible))
