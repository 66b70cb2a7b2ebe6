# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trace a NumPy function into a `func.func` of tensor_hl.

`trace` runs in this process; `trace_file` runs the user's file in a child process with limits. The function carries:

* `axon.arguments`: names of the run-time parameters, in order
* `axon.constants`: compile-time parameters and their values, as Python text
* `axon.sizes`: `{generic = ["x0", ...], fixed = [{name, value, where}, ...]}`; `least`, like `fixed`, where some are
* `axon.values`: the number of each generic size that was given as one
* `axon.source`: `file:line` of the function
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from axon_mlir.errors import AxonError
from axon_mlir.frontend import operations as ops
from axon_mlir.frontend.arg_spec import Axis, ConstantSpec, SizeSpec, TensorSpec, bind
from axon_mlir.frontend.emission import emit
from axon_mlir.frontend.places import Place, place_of_traceback
from axon_mlir.frontend.rebinding import rebound
from axon_mlir.frontend.recording import Node, Trace, recording
from axon_mlir.frontend.sandbox import run_child
from axon_mlir.frontend.sizes import StepByStep
from axon_mlir.frontend.traced import Traced, TracedTensor, as_items, as_size
from axon_mlir.host.parsing import parse_module
from axon_mlir.host.registry import make_context
from axon_mlir.host.verification import verify_module
from axon_mlir.semantics import index as ix
from axon_mlir.semantics.index import Index


def trace_file(path: str, function: str | None, args: Sequence[str], *, generic_numbers: bool = True) -> ModuleOp:
    """Trace a function of a file (its only public one, when no name is given) for the given `--arg` texts.

    With `generic_numbers`, each axis given as a number other than 1 becomes a fresh symbolic size; without, it stays a
    number. The user's code runs in a child process under limits of time and memory; any failure is an AxonError.
    """
    if not Path(path).is_file():
        raise AxonError("no such file", where=path, accepted="a Python file with a NumPy function")
    text = run_child(path, function, args, generic_numbers=generic_numbers)
    module = parse_module(text, path, make_context())
    verify_module(module)
    return module


def trace(function: Callable[..., Any], specs: Sequence[str], *, generic_numbers: bool = True) -> ModuleOp:
    """Trace a function object in this process."""
    place = _place_of(function)
    stepwise: dict[Place, str] = {}
    while True:
        try:
            module = _traced(function, specs, place, Trace(stepwise=stepwise), generic_numbers)
        except StepByStep as refused:
            if refused.loop in stepwise:
                raise
            stepwise[refused.loop] = refused.reason
            continue
        verify_module(module)
        return module


def _traced(
    function: Callable[..., Any], specs: Sequence[str], place: Place, record: Trace, generic_numbers: bool
) -> ModuleOp:
    """One run of the function."""
    parameters = bind(function, specs, place)
    arguments: list[tuple[str, Node]] = []
    constants: dict[str, str] = {}
    values: list[Any] = []
    _reserve_names(record, [spec for _, spec in parameters.bound])
    with recording(record), rebound(getattr(function, "__globals__", {})):
        for name, spec in parameters.bound:
            match spec:
                case TensorSpec():
                    argument = _argument(record, name, spec, generic_numbers)
                    arguments.append((name, argument.node))
                    values.append(argument)
                case ConstantSpec(value=value):
                    constants[name] = repr(value)
                    values.append(value)
                case SizeSpec(size=size, text=text):
                    constants[name] = text.rpartition("=")[2]
                    values.append(as_size(_total(record, size)))
                case _:
                    constants[name] = repr(spec)
                    values.append(spec)
        result = _call(function, values, place)
        results = _results(result, function.__name__, place)
        if record.fences:
            raise StepByStep(record.fences[-1].place, "it is left by break or return")
        return emit(record, function.__name__, arguments, results, constants, str(place))


def _place_of(function: Callable[..., Any]) -> Place:
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:
        raise AxonError(f"{function!r} is not a Python function", accepted="a function written with def")
    return Place(code.co_filename, code.co_firstlineno)


def _reserve_names(record: Trace, specs: Sequence[Any]) -> None:
    """Names that the user gave come first, so that ours never clash with them; `size[P]` is a size of a tensor."""
    for spec in specs:
        for axis in spec.axes or () if isinstance(spec, TensorSpec) else ():
            _total(record, axis)
    known = record.sizes.generic()
    for spec in specs:
        for name in spec.names if isinstance(spec, SizeSpec) else ():
            if name not in known:
                raise AxonError(
                    f"no tensor has the size {name}",
                    where=f"--arg {spec.text}",
                    accepted=f"sizes of the other arguments: {', '.join(known) or 'none is given by name'}",
                )


def _argument(record: Trace, name: str, spec: TensorSpec, generic_numbers: bool) -> TracedTensor:
    shape = tuple(
        _axis(record, f"{name}{n}", axis, generic_numbers) for n, axis in enumerate(spec.axes if spec.axes else ())
    )
    node = record.record("argument", (), shape, spec.dtype)
    # A bare type is a Python number that is known only at run time.
    return TracedTensor(node, weak=spec.axes is None, origin=name)


def _axis(record: Trace, hint: str, axis: Axis, generic_numbers: bool) -> Index:
    total = _total(record, axis)
    if isinstance(axis[0][0], int) and axis == ((axis[0][0],),):
        number = axis[0][0]
        return record.sizes.fresh(hint, number) if generic_numbers and number != 1 else total
    return total


def _total(record: Trace, axis: Axis) -> Index:
    """The sum of products that an axis is given as."""
    total = ix.const(0)
    for product in axis:
        term = ix.const(1)
        for factor in product:
            term = term * (ix.const(factor) if isinstance(factor, int) else record.sizes.named(factor))
        total = total + term
    return total


def _call(function: Callable[..., Any], values: Sequence[Any], place: Place) -> Any:
    try:
        return function(*values)
    except StepByStep:
        raise
    except AxonError as error:
        raise error.at(str(place)) from None
    except RecursionError:
        raise AxonError("the program recurses too deeply", where=str(place)) from None
    except (Exception, SystemExit) as error:
        where = place_of_traceback(error.__traceback__) or place
        raise AxonError(f"the program raised {type(error).__name__}: {error}", where=str(where)) from None


def _results(result: Any, name: str, place: Place) -> list[Node]:
    items = as_items(result)
    accepted = "a tensor, or a tuple of tensors"
    if not items:
        raise AxonError(f"{name} returns nothing", where=str(place), accepted=accepted)
    nodes: list[Node] = []
    for item in items:
        if not isinstance(item, Traced | int | float) and not hasattr(item, "dtype"):
            raise AxonError(f"{name} returns {type(item).__name__}", where=str(place), accepted=accepted)
        nodes.append(ops.as_tensor(item).node)
    return nodes
