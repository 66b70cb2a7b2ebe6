# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Look-alikes of the kernel language's modules, put before the interpreter only while a kernel runs."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from axon_mlir.sim.control import LOOPS, REGISTERS
from axon_mlir.sim.convenience import Convenience, extents
from axon_mlir.sim.dtypes import DTYPES, DType
from axon_mlir.sim.failures import Misuse, UnknownName
from axon_mlir.sim.machine import Machine
from axon_mlir.sim.memory import DynamicSlice, SharedSpace, Tensor

OPERATORS = (
    "invert left_shift right_shift bitwise_and bitwise_or bitwise_xor add subtract multiply maximum minimum "
    "logical_and logical_or logical_xor equal not_equal greater_equal greater less_equal less power abs_max abs_min "
    "abs square relu rsqrt reciprocal bypass average"
).split()
"""Operators of the language; what each computes is in the target's description."""

ACTIVATIONS = (
    "copy sigmoid prelu gelu gelu_dx gelu_apprx_tanh gelu_apprx_sigmoid gelu_apprx_sigmoid_dx silu silu_dx tanh "
    "softplus mish erf erf_dx exp sign log sqrt sin arctan"
).split()
"""Activation functions of the language that are no operators."""

ENUMS: Mapping[str, tuple[str, ...]] = {
    "engine": ("tensor", "vector", "scalar", "gpsimd", "dma", "sync", "unknown"),
    "reduce_cmd": ("idle", "reset", "reduce", "reset_reduce", "load_reduce"),
    "dge_mode": ("unknown", "swdge", "hwdge", "none"),
    "oob_mode": ("error", "skip"),
    "matmul_perf_mode": ("none", "double_row"),
    "nc_version": ("gen2", "gen3", "gen4"),
    "dma_engine": ("dma", "gpsimd_dma"),
}
"""Enumerations of the instruction module."""


class Symbol:
    """A name of the kernel language that stands for itself: an operator, a member of an enumeration. Many operators are
    functions of tiles too."""

    __slots__ = ("function", "text")

    def __init__(self, text: str):
        self.text = text
        self.function: Callable[..., Any] | None = None

    def __repr__(self) -> str:
        return self.text

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.function is None:
            raise Misuse(f"`{self.text}` is not simulated as a function; accepted: as an operator of an instruction")
        return self.function(*args, **kwargs)


@functools.total_ordering
class Version(Symbol):
    """A generation of the device: later ones are greater."""

    __slots__ = ("number",)

    def __init__(self, text: str, number: int):
        super().__init__(text)
        self.number = number

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Version) and self.number == other.number)

    def __lt__(self, other: object) -> bool:
        return self.number < other.number if isinstance(other, Version) else NotImplemented

    __hash__ = Symbol.__hash__


class Names:
    """A namespace whose unknown names are refused in words."""

    def __init__(self, text: str, members: Mapping[str, Any]):
        self._text = text
        self._members = dict(members)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        members: dict[str, Any] = self.__dict__["_members"]
        if name not in members:
            raise UnknownName(f"`{self._text}.{name}` is not simulated; accepted: {', '.join(members)}")
        return members[name]


class LookAlike(ModuleType):
    """A module whose unknown names are refused in words."""

    def __init__(self, name: str, short: str, members: Mapping[str, Any]):
        super().__init__(name)
        self.__path__ = []
        self._short = short
        self.__dict__.update(members)
        self._accepted = sorted(members)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise UnknownName(f"`{self._short}.{name}` is not simulated; accepted: {', '.join(self._accepted)}")


class Kernel:
    """What `@nki.jit` makes of a function."""

    def __init__(self, function: Callable[..., Any]):
        self.function = function
        self.name = function.__name__
        self.signature = inspect.signature(function)
        functools.update_wrapper(self, function)

    def parameter(self, position: int) -> str:
        """The name of a positional parameter, or nothing."""
        names = list(self.signature.parameters)
        return names[position] if position < len(names) else ""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __getitem__(self, cores: Any) -> Kernel:
        # How many there are is said where the kernel is launched.
        if cores not in (1, (1,), 2, (2,)):
            raise Misuse(f"a launch on {cores} cores; accepted: 1 or 2")
        return self


JIT_OPTIONS = (
    "mode compile_config specialization_config platform_target debug_kernel show_compiler_tb experimental_flags"
).split()
"""Options of `nki.jit` that say how a kernel is compiled, not what it computes."""


def _jit(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    for name in options:
        if name not in JIT_OPTIONS:
            raise Misuse(f"`nki.jit` has no option {name}; accepted: {', '.join(JIT_OPTIONS)}")
    return Kernel if function is None else Kernel(function)


COLLECTIVES = (
    "ReplicaGroup all_gather all_reduce all_to_all collective_permute collective_permute_implicit reduce_scatter "
    "rank_id send recv"
).split()
"""Names of `nki.collectives`, which may be imported."""

NOT_SIMULATED = ("float8_e8m0fnu float8_e5m2_x4 float8_e4m3fn_x4 float4_e2m1fn_x4").split()
"""Element types that kernels may name, to tell them from others."""


class _Absent:
    """Something that kernels import but that has no meaning on one core."""

    def __init__(self, name: str):
        self._name = name

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise Misuse(f"`nki.collectives.{self._name}` is not simulated; accepted: a kernel of one device")


class _Annotation:
    """`nt.tensor[128, 512]`: says something to a reader, nothing to a run."""

    def __getitem__(self, _: Any) -> _Annotation:
        return self


def look_alikes(
    machine: Machine, instructions: Mapping[str, Callable[..., Any]], between: Mapping[str, Callable[..., Any]]
) -> dict[str, ModuleType]:
    """The modules of the kernel language for one run; `between`: what cores do with each other."""
    language = LookAlike("nki.language", "nl", _language(machine, instructions))
    enums = {name: Names(f"nisa.{name}", _symbols(f"nisa.{name}", members)) for name, members in ENUMS.items()}
    generations = {name: Version(f"nisa.nc_version.{name}", n) for n, name in enumerate(ENUMS["nc_version"])}
    enums["nc_version"] = version = Names("nisa.nc_version", generations)
    about = {"get_nc_version": lambda: getattr(version, f"gen{machine.generation}")}
    instructions = {**instructions, **_older(instructions, enums)}
    aliases = {f"{name}_engine": getattr(enums["engine"], name) for name in ENUMS["engine"]}
    isa = LookAlike("nki.isa", "nisa", {**enums, **aliases, **instructions, **REGISTERS, **between, **about})
    constants = LookAlike("nki.isa.constants", "nisa.constants", {**enums, **aliases})
    collectives = LookAlike("nki.collectives", "nki.collectives", {name: _Absent(name) for name in COLLECTIVES})
    typing = LookAlike("nki.typing", "nt", {"tensor": _Annotation()})
    parts = {"language": language, "isa": isa, "typing": typing, "collectives": collectives}
    nki = LookAlike("nki", "nki", {"jit": _jit, "dtype": DType, **parts})
    return {
        "nki": nki,
        "nki.language": language,
        "nki.isa": isa,
        "nki.isa.constants": constants,
        "nki.collectives": collectives,
        "nki.typing": typing,
    }


def _older(instructions: Mapping[str, Callable[..., Any]], enums: Mapping[str, Names]) -> dict[str, Callable[..., Any]]:
    """Instructions that are others under an earlier name."""
    if "activation" not in instructions:
        return {}

    def activation_reduce(dst: Any, op: Any, data: Any, reduce_op: Any, reduce_res: Any, **rest: Any) -> None:
        command = enums["reduce_cmd"].reset_reduce
        given = {"reduce_op": reduce_op, "reduce_res": reduce_res, "reduce_cmd": command, **rest}
        instructions["activation"](dst=dst, op=op, data=data, **given)

    return {"activation_reduce": activation_reduce}


def _symbols(prefix: str, names: Iterable[str]) -> dict[str, Symbol]:
    return {name: Symbol(f"{prefix}.{name}") for name in names}


def _language(machine: Machine, instructions: Mapping[str, Callable[..., Any]]) -> dict[str, Any]:
    def ndarray(shape: Any, dtype: Any, buffer: str = "sbuf", name: str = "", address: Any = None) -> Tensor:
        return machine.allocate(extents(shape), dtype, buffer, name, address)

    symbols = _symbols("nl", [*OPERATORS, *ACTIVATIONS])
    functions = Convenience(machine, instructions, symbols).functions()
    for name, symbol in symbols.items():
        symbol.function = functions.pop(name, None)
    members: dict[str, Any] = {
        **functions,
        **symbols,
        **DTYPES,
        **_symbols("nl", NOT_SIMULATED),
        **LOOPS,
        "sbuf": "sbuf",
        "psum": "psum",
        "hbm": "hbm",
        "private_hbm": "hbm",
        "shared_hbm": SharedSpace("hbm"),
        "ndarray": ndarray,
        "program_id": lambda axis=0: machine.size(machine.core),
        "num_programs": lambda axes=0: machine.size(machine.cores),
        "program_ndim": lambda: 1,
        "ds": DynamicSlice,
        "tile_size": Names("nl.tile_size", _tile_sizes(machine)),
        "affine_range": range,
        "sequential_range": range,
        "static_range": range,
    }
    return members


def _tile_sizes(machine: Machine) -> dict[str, Any]:
    limits = machine.limits
    size = machine.size
    bank = limits.psum_bank_bytes.value
    return {
        "pmax": size(limits.partitions.value),
        "psum_bank_fmax": size(bank // 4),
        "psum_bank_fmax_bytes": size(bank),
        "psum_num_banks": size(limits.psum_banks.value),
        "gemm_stationary_fmax": size(limits.stationary_free.value),
        "gemm_moving_fmax": size(limits.moving_free.value),
        "psum_fmax": size(bank // 4),
        "bn_stats_fmax": size(limits.bn_stats_free.value),
        "sbuf_size_bytes": size(limits.sbuf_bytes.value * limits.partitions.value),
        "sbuf_fmax": size(limits.sbuf_bytes.value // 4),
        "sbuf_fmax_bytes": size(limits.sbuf_bytes.value),
        "total_available_sbuf_size": size(limits.sbuf_bytes.value),
        "sbuf_min_align": size(1),
        "psum_min_align": size(4),
    }


class _Superseded:
    """Stops the import of the interface that NKI had first."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> None:
        """Nothing, or the message."""
        if name.partition(".")[0] == "neuronxcc":
            raise Misuse(
                f"the kernel imports `{name}`, the interface before NKI 0.2, in which instructions return their "
                "results; accepted: `nki`, `nki.isa` and `nki.language`, whose instructions take `dst` (see the NKI "
                "migration guide)"
            )


@contextmanager
def installed(modules: Mapping[str, ModuleType]) -> Generator[None]:
    """Put the modules where `import` finds them, and whatever was there back afterwards."""
    saved = {name: module for name, module in sys.modules.items() if name == "nki" or name.startswith("nki.")}
    for name in saved:
        del sys.modules[name]
    sys.modules.update(modules)
    superseded: Any = _Superseded()
    sys.meta_path.insert(0, superseded)
    try:
        yield
    finally:
        sys.meta_path.remove(superseded)
        for name in [name for name in sys.modules if name == "nki" or name.startswith("nki.")]:
            del sys.modules[name]
        sys.modules.update(saved)
