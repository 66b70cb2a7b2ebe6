# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run the benchmark suite: `python -m benchmarks.run [NAME...] [--quick] [--json FILE]`.

Each program is compiled at each shape and type as `axon compile` does it; a row says what came of it.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from axon_mlir.cli.arguments import DEFAULT_DEVICE
from axon_mlir.cli.axon import main as axon
from axon_mlir.cli.process import JSON_SCHEMA, wants_color, write_output
from benchmarks.suite import Benchmark, cases

SECONDS = ("total", "tile", "isa", "prove", "exact", "numeric")
"""The columns of seconds: parts of the result's `seconds`."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the suite and print the table; 0 when every row is fine."""
    parser = argparse.ArgumentParser(prog="benchmarks.run", description="Run the benchmark suite.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only programs whose name contains one of these")
    parser.add_argument("--quick", action="store_true", help="small ragged shapes only")
    parser.add_argument("--device", default=DEFAULT_DEVICE, help=f"the device (default {DEFAULT_DEVICE})")
    parser.add_argument("--json", metavar="FILE", help="write the rows as JSON ('-': to standard output)")
    args = parser.parse_args(argv)
    rows: list[dict[str, Any]] = []
    started = time.monotonic()
    for benchmark, shape, dtype in cases(quick=args.quick, names=args.names):
        row = run_case(benchmark, shape, dtype, args.device)
        rows.append(row)
        print(line_of(row), file=sys.stderr, flush=True)
    if args.json is not None:
        write_output(args.json, json.dumps({"schema": JSON_SCHEMA, "rows": rows}, indent=2) + "\n")
    stream = sys.stderr if args.json == "-" else sys.stdout
    width = None if stream.isatty() else 160
    console = Console(file=stream, no_color=not wants_color(stream), highlight=False, width=width)
    console.print(table_of(rows))
    fine = sum(row["ok"] for row in rows)
    console.print(f"{fine} of {len(rows)} rows fine, {time.monotonic() - started:.0f} s")
    return 0 if rows and fine == len(rows) else 1


def run_case(benchmark: Benchmark, shape: str, dtype: str, device: str = DEFAULT_DEVICE) -> dict[str, Any]:
    """Compile one program at one shape: a row."""
    row: dict[str, Any] = {"name": benchmark.name, "shapes": shape, "dtype": dtype, "device": device}
    errors = io.StringIO()
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="axon-bench-") as folder:
        command = [*benchmark.command(shape, dtype), "--device", device, "-q", "-o", f"{folder}/out"]
        code = axon(command, stdout=io.StringIO(), stderr=errors)
        result = Path(folder, "out", "result.json")
        found: dict[str, Any] = json.loads(result.read_text()) if result.exists() else {}
    row["exit"] = code
    row["ok"] = code == 0 and found.get("numeric", {}).get("passed") is True
    row["scaled_from"] = benchmark.scaled if shape in benchmark.headline and benchmark.scaled else None
    row["error"] = None if row["ok"] else errors.getvalue().strip()
    row["seconds"] = found.get("seconds", {"total": round(time.monotonic() - started, 4)})
    for key in ("sizes", "chosen", "stages", "numeric"):
        if key in found:
            row[key] = found[key]
    return row


def line_of(row: dict[str, Any]) -> str:
    """One line of progress."""
    outcome = "ok" if row["ok"] else f"exit {row['exit']}: {row['error'].splitlines()[0] if row['error'] else ''}"
    return f"{row['name']} {row['shapes']} {row['dtype']}: {outcome}, {row['seconds']['total']:.1f} s"


def table_of(rows: Sequence[dict[str, Any]]) -> Table:
    """Program, shape (for what, where it is scaled down), type, instructions, error against tolerance, seconds."""
    table = Table(box=None, pad_edge=False)
    for title in ("program", "shape", "type", "outcome"):
        table.add_column(title, no_wrap=True)
    for title in ("instructions", "error", "tolerance", *SECONDS):
        table.add_column(title, justify="right", no_wrap=True)
    for row in rows:
        numeric = row.get("numeric", {})
        seconds = row["seconds"]
        table.add_row(
            row["name"],
            f"{row['shapes']} for {row['scaled_from']}" if row.get("scaled_from") else row["shapes"],
            row["dtype"],
            Text("ok", "green") if row["ok"] else Text(f"exit {row['exit']}", "red"),
            str(row.get("chosen", {}).get("instructions", "")),
            *(f"{numeric[key]:.1e}" if numeric.get(key) is not None else "" for key in ("rel_l2", "tolerance")),
            *(f"{seconds[name]:.2f}" if name in seconds else "" for name in SECONDS),
        )
    return table


if __name__ == "__main__":
    sys.exit(main())
