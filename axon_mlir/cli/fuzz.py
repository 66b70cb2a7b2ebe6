# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`axon fuzz`: random NumPy programs through the whole pipeline.

Each program must come out proved, executed exactly and right in floats, or be refused with a reason. Programs that fail
are made smaller and written to the folder; a campaign that was interrupted goes on where it was.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from axon_mlir.cli.arguments import add_device_argument, add_output_arguments
from axon_mlir.cli.process import emit_json, wants_color
from axon_mlir.errors import AxonError, ExitCode
from axon_mlir.fuzz.campaign import Result, Summary, run_campaign
from axon_mlir.fuzz.generate import COUNTS, generate
from axon_mlir.fuzz.trial import WORDS
from axon_mlir.fuzz.worker import Settings

if TYPE_CHECKING:
    from argparse import Namespace

    from axon_mlir.cli.arguments import Subparsers

EVERY = 50
"""Programs after which a line is written where there is no terminal."""
REASONS = 12
"""Most reasons that the report lists for a verdict."""


def register(subparsers: Subparsers) -> None:
    """Add the subcommand's parser."""
    parser = subparsers.add_parser("fuzz", help="try random programs through the whole pipeline", description=__doc__)
    parser.add_argument("--count", type=int, default=100, metavar="N", help="how many programs (default 100)")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="the number of the first one (default 0)")
    parser.add_argument("--seed", type=int, default=0, help="of the sequence of programs (default 0)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="processes (default: cores)")
    parser.add_argument(
        "--ops", type=int, default=COUNTS[1], metavar="N", help=f"most operations (default {COUNTS[1]})"
    )
    parser.add_argument(
        "--timeout", type=float, default=60.0, metavar="S", help="processor time for a program (default 60)"
    )
    parser.add_argument("--shrink", type=float, default=120.0, metavar="S", help="seconds to make a failure smaller in")
    parser.add_argument("--show", action="store_true", help="print the programs instead of trying them")
    add_device_argument(parser)
    parser.add_argument("--out", dest="output", metavar="DIR", default="out/fuzz", help="results (default out/fuzz)")
    add_output_arguments(parser)


def run(args: Namespace) -> int:
    """Try the programs, report; 1 when some were neither compiled nor refused."""
    for name in ("count", "first", "seed", "ops", "jobs", "timeout", "shrink"):
        least = {"count": 1, "ops": COUNTS[0], "jobs": 1}.get(name, 0)
        if getattr(args, name) < least:
            raise AxonError(f"--{name} must be at least {least}")
    settings = Settings(
        seed=args.seed,
        device=args.device,
        counts=(COUNTS[0], args.ops),
        seconds=args.timeout,
        shrink_seconds=args.shrink,
    )
    numbers = range(args.first, args.first + args.count)
    if args.show:
        for number in numbers:
            program = generate(settings.seed, number, settings.counts)
            print(program.source(f"{number}: {' '.join(program.specs)}"))
        return ExitCode.OK
    folder = Path(args.output)
    with View(len(numbers), quiet=args.quiet) as view:
        summary = run_campaign(settings, numbers, folder, args.jobs, view.heard)
    emit_json(summary.to_json(), args.json)
    if not args.quiet:
        view.report(summary, folder)
    return ExitCode.OK if summary.clean else ExitCode.FAILED


class View:
    """Progress and the report on standard error: a line that moves on a terminal, else a line now and then."""

    def __init__(self, total: int, *, quiet: bool):
        self.console = Console(file=sys.stderr, no_color=not wants_color(sys.stderr), highlight=False)
        self.total = total
        self.quiet = quiet
        self.results: list[Result] = []
        self.started = time.monotonic()
        self.status = None if quiet or not self.console.is_terminal else self.console.status(Text("starting"))

    def __enter__(self) -> View:
        if self.status is not None:
            self.status.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.status is not None:
            self.status.stop()

    def heard(self, result: Result) -> None:
        """Show a new result."""
        self.results.append(result)
        if self.quiet:
            return
        if result.reproducer is not None:
            self._say(f"{result.reproducer}: {result.stage}: {result.reason.splitlines()[0] if result.reason else ''}")
        if self.status is not None:
            self.status.update(Text(self._line()))
        elif len(self.results) % EVERY == 0:
            self._say(self._line())

    def _say(self, text: str) -> None:
        self.console.print(Text(text), soft_wrap=True)

    def _line(self) -> str:
        counts = Summary(tuple(self.results)).counts
        rate = (time.monotonic() - self.started) / len(self.results)
        parts = [f"{count} {word}" for word, count in counts.items() if count]
        return f"{len(self.results)} of {self.total}: {', '.join(parts)}; {rate:.2f} s each"

    def report(self, summary: Summary, folder: Path) -> None:
        """The counts, and the reasons of what did not pass."""
        total = len(summary.results)
        table = Table(box=None, pad_edge=False)
        table.add_column("verdict")
        table.add_column("programs", justify="right")
        table.add_column("share", justify="right")
        for word, count in summary.counts.items():
            table.add_row(word, str(count), f"{100 * count / total:.1f} %")
        self.console.print(table)
        for word in WORDS[1:]:
            for reason, count, first in summary.reasons(word)[:REASONS]:
                self._say(f"{word} {count}, first {first}: {reason}")
        if summary.undecided_texts:
            self._say(f"the text of {summary.undecided_texts} kernels was checked, not proved")
        self._say(f"results  {folder}")
