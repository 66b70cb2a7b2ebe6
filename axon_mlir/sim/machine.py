# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The state of one kernel run: memory, counts, checks, and where in the kernel it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from inspect import currentframe
from types import CodeType
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from axon_mlir.sim.dtypes import DType, dtype_of
from axon_mlir.sim.elements import Elements
from axon_mlir.sim.exact import ExactInt
from axon_mlir.sim.failures import HardwareViolation, KernelFailure
from axon_mlir.sim.limits import Limits
from axon_mlir.sim.liveness import live_at, live_totals
from axon_mlir.sim.memory import ON_CHIP, UNWRITTEN, WRITTEN, Lifetime, SharedSpace, Storage, Tensor, address
from axon_mlir.sim.trace import Access, Buffer, Trace, box_of
from axon_mlir.targets import Limit

SPACES = ("sbuf", "psum", "hbm")


class Machine:
    """One device running one kernel, eagerly and in order."""

    def __init__(self, limits: Limits, elements: Elements, path: str, generation: int = 3):
        self.limits = limits
        self.generation = generation
        self.elements = elements
        self.path = path
        self.size: Callable[[int], Any] = ExactInt if elements.exact else int
        self.lives: list[Lifetime] = []
        self.lines: list[int] = []
        """The kernel's line of each instruction."""
        self.engines: Counter[str] = Counter()
        self.applied: Counter[str] = Counter()
        """How many times each kind of rule was applied."""
        self.dma_bytes = 0
        self.dma_descriptors = 0
        self.trace: Trace | None = None
        """What is recorded, if anything is."""
        self._accesses: dict[tuple[int, int, tuple[int, ...], tuple[int, ...]], Access] = {}
        self._line_at: dict[tuple[CodeType, int], int] = {}
        self._state: dict[str, Any] | None = None
        self.core, self.cores = 0, 1
        """Which of how many cores of the launch runs."""
        self._shared: list[Tensor] = []
        """Tensors in HBM that all cores allocate, in order."""
        self._taken = 0
        """How many of them this core has allocated."""
        self._serial = 0
        self._arguments = 0

    # Where the kernel is.

    def line(self) -> int | None:
        """The line of the kernel that is being run."""
        frame = currentframe()
        path = self.path
        while frame is not None:
            code = frame.f_code
            if code.co_filename == path:
                # Python finds a line by reading the table of its function from the start, every time.
                at = (code, frame.f_lasti)
                found = self._line_at.get(at)
                if found is None:
                    found = self._line_at[at] = frame.f_lineno
                return found
            frame = frame.f_back
        return None

    def where(self) -> str:
        """The place that messages carry."""
        line = self.line()
        return self.path if line is None else f"{self.path}:{line}"

    def refuse(
        self,
        message: str,
        *,
        rule: str,
        tensor: str | None = None,
        instruction: str | None = None,
        source: str | None = None,
        accepted: str | None = None,
        where: str | None = None,
    ) -> NoReturn:
        """Stop the run: the kernel breaks a rule."""
        raise HardwareViolation(
            message,
            rule=rule,
            where=where or self.where(),
            instruction=instruction,
            tensor=tensor,
            source=source,
            accepted=accepted,
        )

    # Memory.

    def argument(self, values: NDArray[Any], dtype: DType, name: str) -> Tensor:
        """A tensor in HBM that the caller gives, fully written."""
        data = np.ascontiguousarray(self.elements.load(values, dtype))
        self._arguments += 1
        return self._tensor(data, Lifetime(data.shape, dtype, "hbm", name, -self._arguments, None), WRITTEN)

    def allocate(self, shape: Sequence[Any], dtype: Any, space: str, name: str = "", address: Any = None) -> Tensor:
        """A fresh tensor of a kernel, nothing of it written; where its address says, if it is given one."""
        kind = dtype_of(dtype)
        extents = tuple(int(extent) for extent in shape)
        line = self.line()
        self._serial += 1
        if isinstance(space, SharedSpace) and self.cores > 1:
            return self._shared_tensor(extents, kind, name)
        if space not in SPACES:
            raise KernelFailure(f"buffer {space!r} is not known", where=self.where(), accepted="sbuf, psum, hbm")
        given = None if address is None or space not in ON_CHIP else (int(address[0]), int(address[1]))
        life = Lifetime(extents, kind, space, name, self._serial, None if line is None else (self.path, line), given)
        if not extents or min(extents) < 1:
            self.refuse("an extent below 1", rule="shape", tensor=life.describe(), accepted="positive extents")
        if space in ON_CHIP:
            self._check_on_chip(life)
            self.lives.append(life)
        data = np.zeros(extents, self.elements.storage(kind))
        return self._tensor(data, life, UNWRITTEN)

    def _shared_tensor(self, shape: tuple[int, ...], dtype: DType, name: str) -> Tensor:
        """The tensor that the first core to come here allocates, for all of them."""
        self._taken += 1
        if self._taken > len(self._shared):
            self._shared.append(self.allocate(shape, dtype, "hbm", name))
        found = self._shared[self._taken - 1]
        if found.data.shape != shape or found.dtype is not dtype:
            raise KernelFailure(
                f"core {self.core} allocates {dtype.name}{list(shape)} where another allocates "
                f"{found.storage.describe()}",
                where=self.where(),
                accepted="the same shared tensors in the same order on all cores",
            )
        return found

    def core_state(self, number: int) -> dict[str, Any]:
        """What a core has for itself, before it runs. The first one is traced."""
        return {"lives": [], "lines": [], "_taken": 0, "_accesses": {}, "trace": None if number else self.trace}

    def enter_core(self, number: int, state: dict[str, Any]) -> None:
        """Go on as another core: what the present one has is kept in its state."""
        if self._state is not None:
            self._state.update({name: getattr(self, name) for name in self._state})
        self.core, self._state = number, state
        for name, value in state.items():
            setattr(self, name, value)

    def _tensor(self, data: NDArray[Any], life: Lifetime, state: int) -> Tensor:
        known = self.elements.computes
        return Tensor.of(Storage(data, life, state=state, size=self.size, refuse=self.refuse, known=known))

    def _check_on_chip(self, life: Lifetime) -> None:
        partitions = self.limits.partitions
        self.applied["partitions"] += 1
        if len(life.shape) < 2:
            self.refuse(
                "rank 1 on chip",
                rule="shape",
                tensor=life.describe(),
                accepted="[partitions, free...]: rank 2 or more",
            )
        if life.shape[0] > partitions.value:
            self.refuse(
                f"{life.shape[0]} partitions",
                rule="partitions",
                tensor=life.describe(),
                source=partitions.source,
                accepted=f"at most {partitions.value}",
            )
        if life.space == "psum":
            most = self.limits.psum_tile_bytes
            self.applied["psum-bank"] += 1
            if life.free_bytes > most:
                self.refuse(
                    f"{life.free_bytes} bytes of a partition are more than a tile in PSUM holds",
                    rule="psum-bank",
                    tensor=life.describe(),
                    source=self.limits.psum_bank_bytes.source,
                    accepted=f"at most {most} bytes of a partition",
                )
        if life.address is not None:
            self._check_address(life, *life.address)

    def _check_address(self, life: Lifetime, partition: int, start: int) -> None:
        """An address is (partition, bytes): the reference counts elements on one page and bytes on others."""
        limits = self.limits
        most = limits.sbuf_bytes if life.space == "sbuf" else limits.psum_bytes
        self.applied["address"] += 1
        if partition < 0 or partition + life.shape[0] > limits.partitions.value:
            self.refuse(
                f"partitions {partition} to {partition + life.shape[0] - 1}",
                rule="address",
                tensor=life.describe(),
                source=limits.partitions.source,
                accepted=f"partitions 0 to {limits.partitions.value - 1}",
            )
        if start < 0 or start + life.free_bytes > most.value:
            self.refuse(
                f"bytes {start} to {start + life.free_bytes - 1} of a partition",
                rule="address",
                tensor=life.describe(),
                source=most.source,
                accepted=f"bytes 0 to {most.value - 1}",
            )
        bank = limits.psum_bank_bytes
        if life.space == "psum" and start % bank.value:
            self.refuse(
                f"byte {start} of PSUM is not where a bank starts",
                rule="address",
                tensor=life.describe(),
                source=bank.source,
                accepted=f"a multiple of {bank.value}",
            )

    # Instructions.

    def begin(self) -> int:
        """Open the next instruction and return its number."""
        self.lines.append(self.line() or 0)
        return len(self.lines) - 1

    def transfer(self, size: int, descriptors: int) -> None:
        """Count a DMA."""
        self.dma_bytes += size
        self.dma_descriptors += descriptors

    def access(self, tensor: Tensor) -> Access:
        """The part of a tensor that a view shows."""
        life, data, whole = tensor.storage.life, tensor.data, tensor.storage.data
        assert self.trace is not None
        if life.serial not in self.trace.tensors:
            self.trace.tensors[life.serial] = Buffer(life.label, life.space, life.free_bytes, life.address)
        outer = whole.strides[0] if tensor.on_chip or whole.ndim < 2 else whole.strides[-2]
        key = (life.serial, address(data) - address(whole), data.shape, data.strides)
        found = self._accesses.get(key)
        if found is None:
            box = box_of(*key[1:], data.itemsize, outer or whole.nbytes)
            found = self._accesses[key] = Access(life.serial, box)
        return found

    # The end of a run.

    def outputs(self, returned: Any) -> list[Tensor]:
        """The tensors that a kernel returns, each in HBM and fully written."""
        values: list[Any] = list(returned) if isinstance(returned, (tuple, list)) else [returned]  # pyright: ignore[reportUnknownArgumentType]
        outputs: list[Tensor] = []
        for position, value in enumerate(values):
            if not isinstance(value, Tensor):
                kind = type(value).__name__
                raise KernelFailure(
                    f"output {position} is of type {kind}",
                    where=self.path,
                    accepted="a tensor in HBM, or a tuple of them",
                    reason="output",
                )
            label = value.storage.describe()
            if value.storage.space != "hbm":
                self.refuse(
                    f"output {position} is in {value.storage.space}", rule="output-space", tensor=label, where=self.path
                )
            self.applied["output-written"] += 1
            if value.storage.lowest(value.data) == UNWRITTEN:
                unwritten = value.storage.states(value.data) == UNWRITTEN
                missing = int(np.count_nonzero(unwritten))
                first = tuple(int(i) for i in np.argwhere(unwritten)[0])
                self.refuse(
                    f"{missing} of {unwritten.size} elements of output {position} are never written, first {first}",
                    rule="output-written",
                    tensor=label,
                    where=self.path,
                )
            outputs.append(value)
        return outputs

    def peaks(self) -> tuple[int, int]:
        """Peak bytes of a partition in SBUF and peak banks of PSUM, both within the device."""
        self._check_overlap()
        sbuf = [life for life in self.lives if life.space == "sbuf"]
        psum = [life for life in self.lives if life.space == "psum"]
        bank = self.limits.psum_bank_bytes.value

        def size(life: Lifetime) -> int:
            return life.free_bytes

        def banks(life: Lifetime) -> int:
            return -(-life.free_bytes // bank)

        sbuf_peak = self._peak(sbuf, size, self.limits.sbuf_bytes, "sbuf-capacity", "bytes of a partition")
        psum_peak = self._peak(psum, banks, self.limits.psum_banks, "psum-banks", "banks")
        return sbuf_peak, psum_peak

    def _check_overlap(self) -> None:
        """No two tensors are alive in one place, where the kernel chooses places."""
        placed = [life for life in self.lives if life.address is not None and life.first_use >= 0]
        self.applied["address-overlap"] += len(placed)
        alive: list[Lifetime] = []
        for life in sorted(placed, key=lambda x: x.first_use):
            alive = [other for other in alive if other.last_use >= life.first_use]
            for other in alive:
                if life.meets(other):
                    self.refuse(
                        f"in the place of {other.describe()}, which is read or written later still",
                        rule="address-overlap",
                        tensor=life.describe(),
                        where=f"{self.path}:{self.lines[life.first_use]}",
                        accepted="places apart, or lifetimes that do not meet",
                    )
            alive.append(life)

    def _peak(
        self, lives: list[Lifetime], amount: Callable[[Lifetime], int], limit: Limit, rule: str, unit: str
    ) -> int:
        totals = live_totals(lives, len(self.lines), amount)
        self.applied[rule] += len(self.lines)
        worst = int(totals.max())
        if worst > limit.value:
            at = int(np.argmax(totals > limit.value))
            live = live_at(lives, at, amount)
            listed = "; ".join(f"{life.describe()}: {amount(life)}" for life in live[:4])
            rest = f"; and {len(live) - 4} more" if len(live) > 4 else ""
            self.refuse(
                f"{int(totals[at])} {unit} are live at once: {listed}{rest}",
                rule=rule,
                source=limit.source,
                accepted=f"at most {limit.value} {unit}",
                where=f"{self.path}:{self.lines[at]}",
            )
        return worst
