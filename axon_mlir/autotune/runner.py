# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where kernels run: the protocol, the simulator, and by which name a runner is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import Any, Protocol

from numpy.typing import NDArray

from axon_mlir.errors import AxonError
from axon_mlir.sim import RunResult, run_each, run_kernel

Array = NDArray[Any]

NAMES = ("sim", "neuron")
"""What `--runner` accepts."""

TIMEOUT = 900.0
"""Seconds that the runs of one child may take."""


class Runner(Protocol):
    """Executes kernels."""

    @property
    def name(self) -> str:
        """What `--runner` calls it."""
        ...

    def run(self, kernel: Path, function: str, arrays: Sequence[Array], device: str) -> RunResult:
        """Run a kernel of a file once; AxonError when it raises, is stopped, or breaks a rule of the device."""
        ...

    def run_each(
        self, kernel: Path, function: str, inputs: Sequence[Sequence[Array]], device: str
    ) -> list[RunResult | AxonError]:
        """Run it on each of several inputs; what `run` would raise for one stands in its place."""
        ...


@dataclass(frozen=True)
class SimRunner:
    """The functional simulator, in a child process with limits."""

    timeout: float = TIMEOUT

    @property
    def name(self) -> str:
        """The simulator's name."""
        return "sim"

    def run(self, kernel: Path, function: str, arrays: Sequence[Array], device: str) -> RunResult:
        """Run over NumPy with the device's rules checked."""
        return run_kernel(kernel, function, arrays, device=device, timeout=self.timeout)

    def run_each(
        self, kernel: Path, function: str, inputs: Sequence[Sequence[Array]], device: str
    ) -> list[RunResult | AxonError]:
        """The same for several inputs, all in one child."""
        return run_each(kernel, function, inputs, device=device, timeout=self.timeout)


def runner_named(name: str) -> Runner:
    """The runner that a name stands for; AxonError when it cannot work here."""
    if name == "sim":
        return SimRunner()
    if name != "neuron":
        raise AxonError(f"unknown runner '{name}'", accepted=", ".join(NAMES))
    missing = [what for what, found in _neuron_parts().items() if not found]
    reason = f"missing here: {', '.join(missing)}" if missing else "this version cannot drive a device yet"
    raise AxonError(f"runner 'neuron' is not supported: {reason}", accepted="--runner sim")


def _neuron_parts() -> dict[str, bool]:
    """What it takes to run on a Neuron device, and whether this machine has it."""
    return {
        "a Neuron device (/dev/neuron0)": Path("/dev/neuron0").exists(),
        "the package nki": find_spec("nki") is not None,
        "the program neuron-ls": which("neuron-ls") is not None,
    }
