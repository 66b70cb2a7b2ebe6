# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How a kernel run fails: the kernel raised, was stopped, or asked for what the hardware cannot do."""

from __future__ import annotations

from axon_mlir.errors import AxonError, ExitCode


class KernelFailure(AxonError):
    """The kernel raised, was stopped, or returned something that is no output."""

    exit_code = ExitCode.FAILED

    def __init__(self, message: str, *, where: str | None = None, accepted: str | None = None, reason: str = "raised"):
        super().__init__(message, where=where, accepted=accepted)
        self.reason = reason
        """`raised`, `timeout`, `memory`, `signal`, `output` or `violation`."""


class HardwareViolation(KernelFailure):
    """The kernel breaks a rule of the device: which rule, where it is written, and by which instruction and tensor."""

    def __init__(
        self,
        message: str,
        *,
        rule: str,
        where: str | None = None,
        instruction: str | None = None,
        tensor: str | None = None,
        source: str | None = None,
        accepted: str | None = None,
    ):
        super().__init__(message, where=where, accepted=accepted, reason="violation")
        self.rule = rule
        self.instruction = instruction
        self.tensor = tensor
        self.source = source

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        subject = f"{self.instruction}: " if self.instruction else ""
        operand = f" (tensor {self.tensor})" if self.tensor else ""
        lines = [f"{place}error: {subject}{self.message}{operand}"]
        if self.accepted:
            lines.append(f"  accepted: {self.accepted}")
        lines.append(f"  rule: {self.rule}" + (f" [{self.source}]" if self.source else ""))
        return "\n".join(lines)


class UnknownName(AttributeError):
    """The kernel names something that the look-alikes do not have."""


class Misuse(TypeError):
    """The kernel uses a tensor or an instruction in a way that has no meaning while it is traced."""
