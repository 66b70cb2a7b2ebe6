# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Running a kernel inside this process: load its file against the look-alikes, call it, collect what it did."""

from __future__ import annotations

import ast
import sys
import traceback
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from axon_mlir.errors import AxonError
from axon_mlir.sim.cores import Cores, check_grid
from axon_mlir.sim.dtypes import DTYPES, DType, dtype_of
from axon_mlir.sim.elements import elements
from axon_mlir.sim.exact import READ_LITERAL, exact_literals, exact_number, literal
from axon_mlir.sim.failures import KernelFailure, Misuse, UnknownName
from axon_mlir.sim.instructions import bind_instructions
from axon_mlir.sim.limits import limits_of
from axon_mlir.sim.lookalike import Kernel, installed, look_alikes
from axon_mlir.sim.machine import Machine
from axon_mlir.sim.result import Check, RunResult
from axon_mlir.sim.trace import Trace
from axon_mlir.sim.transport import Argument, RandomArray, TypedArray
from axon_mlir.targets import load_device

_OURS = str(Path(__file__).resolve().parent.parent)


def execute(
    path: Path,
    function: str | None,
    arrays: Sequence[Argument],
    *,
    device: str,
    domain: str = "float",
    seed: int = 0,
    trace: Trace | None = None,
    grid: int = 1,
) -> RunResult:
    """Run a kernel in this process, without limits of time or memory; see `run_kernel`. Its instructions (those of the
    first core) are added to the trace, if there is one."""
    target = load_device(device)
    check_grid(grid, target.generation)
    machine = Machine(limits_of(target), elements(domain), str(path), target.generation)
    machine.trace = trace
    instructions = bind_instructions(machine, target)
    cores = Cores(machine, grid)
    between = {"core_barrier": cores.core_barrier, "sendrecv": cores.sendrecv}
    modules = look_alikes(machine, instructions, between)
    root, name = _package(path)
    with installed(modules), _importable(root, name), np.errstate(all="ignore"):
        module = _load(path, name, machine)
        kernel = _choose(module, function, path)
        arguments = [_argument(machine, kernel, position, value, seed) for position, value in enumerate(arrays)]
        _check_call(kernel, arguments, path)
        try:
            returned, *_ = cores.run(kernel.function, arguments)
        except (AxonError, MemoryError):
            raise
        except Exception as error:
            raise _raised(error, machine) from error
        count, sbuf, banks = cores.peaks()
        outputs = machine.outputs(returned) if machine.elements.computes else []
    return RunResult(
        outputs=tuple(output.data.copy() for output in outputs),
        dtypes=tuple(output.dtype.name for output in outputs),
        instructions=count,
        engines=dict(machine.engines),
        dma_bytes=machine.dma_bytes,
        dma_descriptors=machine.dma_descriptors,
        sbuf_peak_bytes=sbuf,
        psum_peak_banks=banks,
        checks=tuple(Check(rule, applied) for rule, applied in sorted(machine.applied.items())),
    )


def _package(path: Path) -> tuple[Path, str]:
    """The folder that a kernel's file is imported from, and its name there: dotted where it is part of a package."""
    folder, name = path.parent, path.stem
    while (folder / "__init__.py").exists():
        folder, name = folder.parent, f"{folder.name}.{name}"
    return folder, name


@contextmanager
def _importable(folder: Path, name: str) -> Generator[None]:
    """Let a kernel, the module of this name, import what lies beside its file. What it imported is forgotten
    afterwards, since it is bound to this run's look-alikes; compiled packages stay: they cannot be loaded twice."""
    sys.path.insert(0, str(folder))
    own = sys.modules.pop(name, None)
    known = set(sys.modules)
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        sys.modules.pop(name, None)
        if own is not None:
            sys.modules[name] = own
        fresh = {name for name in sys.modules if name not in known}
        tops = {name.partition(".")[0] for name in known} | sys.stdlib_module_names
        tops |= {name.partition(".")[0] for name in fresh if _compiled(sys.modules[name])}
        for other in fresh:
            if other.partition(".")[0] not in tops:
                del sys.modules[other]


def _compiled(module: ModuleType) -> bool:
    return str(getattr(module, "__file__", None)).endswith(tuple(EXTENSION_SUFFIXES))


def _load(path: Path, name: str, machine: Machine) -> ModuleType:
    """Run the kernel's file as a module, against the look-alikes."""
    try:
        source = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise AxonError(f"cannot read the kernel: {error}", where=str(path)) from error
    try:
        tree = ast.parse(source, str(path))
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        raise AxonError(f"not Python: {error}", where=f"{path}:{line}" if line else str(path)) from error
    module = ModuleType(name)
    module.__file__ = str(path)
    module.__package__ = name.rpartition(".")[0]
    # Dataclasses look themselves up there.
    sys.modules[name] = module
    if machine.elements.exact:
        tree = exact_literals(tree)
        module.__dict__[READ_LITERAL] = literal
    try:
        exec(compile(tree, str(path), "exec"), module.__dict__)
    except (AxonError, MemoryError):
        raise
    except Exception as error:
        raise _raised(error, machine) from error
    return module


def _choose(module: ModuleType, function: str | None, path: Path) -> Kernel:
    kernels = {name: value for name, value in vars(module).items() if isinstance(value, Kernel)}
    names = ", ".join(kernels) or "none: no function of the file is marked @nki.jit"
    if function is None:
        if len(kernels) != 1:
            raise AxonError(f"the file holds {len(kernels)} kernels", where=str(path), accepted=f"one of {names}")
        return next(iter(kernels.values()))
    if function not in kernels:
        raise AxonError(f"no kernel `{function}`", where=str(path), accepted=names)
    return kernels[function]


def _argument(machine: Machine, kernel: Kernel, position: int, value: Any, seed: int) -> Any:
    name = kernel.parameter(position)
    if isinstance(value, RandomArray):
        dtype = dtype_of(value.dtype)
        known = machine.elements.computes
        return machine.argument(value.values(seed, position) if known else value.empty(), dtype, name)
    if isinstance(value, TypedArray):
        return machine.argument(value.values, dtype_of(value.dtype), name)
    if isinstance(value, (np.ndarray, np.generic)):
        array = cast("NDArray[Any]", np.asarray(value))  # pyright: ignore[reportUnknownArgumentType]
        if array.ndim > 0:
            return machine.argument(array, _device_type(array, machine), name)
        value = array.item()
    return exact_number(value) if machine.elements.exact else _plain(value)


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, Fraction) else value


def _device_type(array: NDArray[Any], machine: Machine) -> DType:
    """An array's type on the device; an exact run takes any numbers, as float32 unless the device has their type."""
    if machine.elements.exact and array.dtype.name not in DTYPES:
        return DTYPES["float32"]
    return DTYPES["bool_"] if array.dtype == np.bool_ else dtype_of(array.dtype)


def _check_call(kernel: Kernel, arguments: Sequence[Any], path: Path) -> None:
    try:
        kernel.signature.bind(*arguments)
    except TypeError as error:
        where = f"{path}:{kernel.function.__code__.co_firstlineno}"
        raise AxonError(
            f"`{kernel.name}`: {error}", where=where, accepted=f"{kernel.name}{kernel.signature}"
        ) from error


def _raised(error: Exception, machine: Machine) -> Exception:
    """What a kernel's exception becomes; an exception that our own code did not mean to raise stays itself."""
    frames = traceback.extract_tb(error.__traceback__)
    line = next((frame.lineno for frame in reversed(frames) if frame.filename == machine.path), None)
    where = machine.path if line is None else f"{machine.path}:{line}"
    if isinstance(error, (UnknownName, Misuse)):
        return KernelFailure(str(error), where=where)
    for frame in reversed(frames):
        if frame.filename == machine.path:
            break
        if frame.filename.startswith(_OURS):
            return error
    return KernelFailure(f"{type(error).__name__}: {error}", where=where)
