# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A schedule in the trace event format that Perfetto and Chrome read: a row a queue, transfers of DMA as rows of their
own, source lines as arguments, and an arrow from what each instruction waited for last."""

from __future__ import annotations

from typing import Any

from axon_mlir.sim.timing import Schedule

KERNEL = 1
"""The process that all rows belong to."""


def chrome_trace(run: Schedule, kernel: str) -> dict[str, Any]:
    """The document. Times are in microseconds from the start of the kernel's body."""
    names = sorted(set(run.queues))
    rows = {name: number for number, name in enumerate(names, 1)}
    events: list[dict[str, Any]] = [
        {"name": "process_name", "ph": "M", "pid": KERNEL, "tid": 0, "args": {"name": kernel}},
        *(
            {"name": "thread_name", "ph": "M", "pid": KERNEL, "tid": row, "args": {"name": name}}
            for name, row in rows.items()
        ),
    ]
    for number, (one, queue, span) in enumerate(zip(run.trace.issued, run.queues, run.spans, strict=True)):
        row, work = rows[queue], one.work
        told: dict[str, Any] = {"line": one.line, "number": number}
        if work.function:
            told["function"] = work.function
        touched = {access.tensor for access in (*one.reads, *one.writes)}
        told["tensors"] = ", ".join(run.trace.tensors[serial].label for serial in sorted(touched))
        place = {"pid": KERNEL, "tid": row}
        events.append(
            {
                "name": work.instruction,
                "cat": "instruction",
                "ph": "X",
                "ts": span.start / 1e3,
                "dur": (span.end - span.start) / 1e3,
                "args": told,
                **place,
            }
        )
        if work.transfer is not None:
            way = "load" if work.transfer.load else "store"
            moved = {"bytes": work.transfer.size, "descriptors": work.transfer.descriptors, **told}
            common = {"name": f"{way} of {queue}", "cat": "dma", "id": number, **place}
            events.append({"ph": "b", "ts": span.start / 1e3, "args": moved, **common})
            events.append({"ph": "e", "ts": span.visible / 1e3, **common})
        behind = run.waits[number]
        if behind >= 0:
            flow = {"name": "waits for", "cat": "dependency", "id": number, "pid": KERNEL}
            earlier = run.spans[behind]
            events.append({"ph": "s", "ts": earlier.start / 1e3, "tid": rows[run.queues[behind]], **flow})
            events.append({"ph": "f", "bp": "e", "ts": span.start / 1e3, "tid": row, **flow})
    return {"traceEvents": events, "displayTimeUnit": "ns"}


__all__ = ["chrome_trace"]
