# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The cores of one launch: each runs the kernel with on-chip memories of its own, and all share HBM.

One core runs at a time, in a thread of its own, until it waits for another: at a barrier, or for what that sends. So a
run is the same every time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from axon_mlir.errors import AxonError
from axon_mlir.sim.failures import KernelFailure, Misuse
from axon_mlir.sim.machine import Machine
from axon_mlir.sim.memory import WRITTEN, Tensor


class _Stopped(BaseException):
    """Ends a core whose launch has failed elsewhere."""


class Cores:
    """The programs of a launch."""

    def __init__(self, machine: Machine, count: int):
        self.machine = machine
        self.count = machine.cores = count
        self._states = [machine.core_state(n) for n in range(count)]
        self._turn = threading.Condition()
        self._running = 0
        self._ended = [False] * count
        self._waits: list[Callable[[], bool] | None] = [None] * count
        self._where = [""] * count
        self._failure: BaseException | None = None
        self._barriers = [0] * count
        """How many barriers each core has come to."""
        self._sent: dict[tuple[int, int, Any], list[Any]] = {}
        """Sender, receiver, pipe -> what is on its way."""

    def run(self, function: Callable[..., Any], arguments: Sequence[Any]) -> list[Any]:
        """What the kernel returns on each core; the first exception of any, once all have ended."""
        if self.count == 1:
            return [function(*arguments)]
        returned: list[Any] = [None] * self.count
        threads = [
            threading.Thread(target=self._core, args=(n, function, arguments, returned), daemon=True)
            for n in range(self.count)
        ]
        self.machine.enter_core(0, self._states[0])
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self._failure is not None:
            raise self._failure
        self.machine.enter_core(0, self._states[0])
        return returned

    def peaks(self) -> tuple[int, int, int]:
        """Instructions of all cores, and the peaks of SBUF and PSUM on the core where they are highest."""
        if self.count == 1:
            return len(self.machine.lines), *self.machine.peaks()
        total = sbuf = banks = 0
        for number, state in reversed(list(enumerate(self._states))):
            self.machine.enter_core(number, state)
            mine = self.machine.peaks()
            total, sbuf, banks = total + len(self.machine.lines), max(sbuf, mine[0]), max(banks, mine[1])
        return total, sbuf, banks

    def _core(self, number: int, function: Callable[..., Any], arguments: Sequence[Any], returned: list[Any]) -> None:
        with self._turn:
            self._turn.wait_for(lambda: self._running == number or self._failure is not None)
        try:
            if self._failure is None:
                with np.errstate(all="ignore"):
                    returned[number] = function(*arguments)
        except _Stopped:
            pass
        except BaseException as error:
            self._failure = self._failure or error
        self._ended[number] = True
        with self._turn:
            self._next()

    def _next(self) -> None:
        """Let the first core go on that can; a launch in which none can has come to nothing."""
        left = [n for n in range(self.count) if not self._ended[n]]
        for n in left:
            wait = self._waits[n]
            if wait is None or wait():
                self._running = n
                self.machine.enter_core(n, self._states[n])
                break
        else:
            if left and self._failure is None:
                what = "; ".join(f"core {n} at {self._where[n]}" for n in left)
                self._failure = KernelFailure(f"the cores wait for each other, or for one that has ended: {what}")
        self._turn.notify_all()

    def _until(self, ready: Callable[[], bool], what: str) -> None:
        """Let the other cores run until something holds."""
        core = self.machine.core
        self._waits[core], self._where[core] = ready, f"{what}, {self.machine.where()}"
        with self._turn:
            self._next()
            self._turn.wait_for(lambda: self._running == core or self._failure is not None)
        self._waits[core] = None
        if self._failure is not None:
            raise _Stopped

    # What kernels call.

    def core_barrier(self, data: Any, cores: Any, engine: Any = None, name: Any = None) -> None:
        """Wait for the other cores."""
        if self.count == 1:
            return
        if tuple(cores) != tuple(range(self.count)):
            raise Misuse(f"a barrier of cores {cores!r}; accepted: {tuple(range(self.count))}")
        self._barriers[self.machine.core] += 1
        number = self._barriers[self.machine.core]
        self._until(lambda: all(n >= number for n in self._barriers), "a barrier")

    def sendrecv(
        self,
        src: Tensor,
        dst: Tensor,
        send_to_rank: int,
        recv_from_rank: int,
        pipe_id: Any = 0,
        dma_engine: Any = None,
        name: Any = None,
    ) -> None:
        """Send a tile to another core, and take what that sends."""
        machine, core = self.machine, self.machine.core
        for rank in (send_to_rank, recv_from_rank):
            if not 0 <= rank < self.count:
                raise Misuse(f"`nisa.sendrecv` with core {rank} of {self.count}")
        if src.data.shape != dst.data.shape or src.dtype is not dst.dtype:
            machine.refuse(
                f"{src.dtype.name}{list(src.data.shape)} is sent, {dst.dtype.name}{list(dst.data.shape)} taken",
                rule="shape",
                instruction="nisa.sendrecv",
                accepted="one shape and dtype",
            )
        if src.storage.lowest(src.data) < WRITTEN:
            src.refuse("sends what nothing wrote", rule="initialised")
        machine.begin()
        self._sent.setdefault((core, int(send_to_rank), pipe_id), []).append(src.data.copy())
        box = self._sent.setdefault((int(recv_from_rank), core, pipe_id), [])
        if not box:
            self._until(lambda: bool(box), "a tile that another core sends")
        dst.data[...] = box.pop(0).reshape(dst.data.shape)
        dst.storage.mark(dst.data, WRITTEN)


def check_grid(grid: int, generation: int) -> None:
    """AxonError for a launch on more cores than a device has in one."""
    most = 2 if generation >= 3 else 1
    if not 1 <= grid <= most:
        raise AxonError(f"a launch on {grid} cores", accepted=f"1 to {most} on this device")


__all__ = ["Cores", "check_grid"]
