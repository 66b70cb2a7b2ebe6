# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From the text of a kernel to a function whose meaning is the text's."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import FunctionType, ModuleOp, StringAttr, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Region, SSAValue

from axon_mlir.dialects.tile import EmptyOp, LoadOp, StoreOp, tile_type
from axon_mlir.dialects.trn_isa import DEVICE_ATTRIBUTE, VALUES_ATTRIBUTE, size_values
from axon_mlir.errors import AxonError
from axon_mlir.frontend.nki_text.execution import Execution
from axon_mlir.frontend.nki_text.memory import Places, Scope
from axon_mlir.frontend.nki_text.source import parse_kernel_file
from axon_mlir.frontend.nki_text.values import Storage, Value, View, unsupported, whole_view
from axon_mlir.host.verification import VerificationError, verify_module
from axon_mlir.semantics.denotation import dtype_of
from axon_mlir.semantics.index import const
from axon_mlir.semantics.shapes import dtype_name, is_tensor, shape_of, tensor_type
from axon_mlir.targets import DEVICES, Device


def read_kernel(source: str, name: str, device: Device, function: str | None, signature: FuncOp) -> FuncOp:
    """The function that a kernel's text describes, in tile and trn_isa, in a module of its own.

    `name` is the file's, for messages. `function`: which kernel (None: the only one). The arguments are those of
    `signature`, the program that the kernel is compared with: sizes by position; a scalar of rank 0, and a result of
    rank 0, is a tensor of shape (1, 1) in the kernel. Nothing of the text is executed. UnsupportedError names the line
    that is not read.
    """
    file = parse_kernel_file(source, name)
    places = Places(name)
    node = file.kernel(function)
    places.line = node.lineno
    execution = Execution(file, device, places, size_values(signature))
    scope = execution.scope
    types = [_argument_type(a.type) for a in signature.body.block.args]
    parameters = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
    if len(parameters) < len(types):
        raise AxonError(
            f"'{node.name}' takes {len(parameters)} arguments, the program {len(types)}",
            where=f"{name}:{node.lineno}",
            accepted=f"{len(types)} tensors",
        )
    arguments: list[View] = []
    for parameter, type_ in zip(parameters, types, strict=False):
        shape = shape_of(type_)
        storage = Storage(parameter, "hbm", shape or (const(1), const(1)), dtype_of(type_) or "f32", scalar=not shape)
        value = scope.block.insert_arg(type_, len(scope.block.args))
        value.name_hint = parameter
        scope.declare(storage, value)
        arguments.append(whole_view(storage))
    try:
        returned = execution.run(node, arguments)
    except RecursionError as error:
        raise unsupported("is nested too deeply", places.where) from error
    wanted = [_argument_type(o) for o in signature.function_type.outputs.data]
    results = _results(scope, places, returned, wanted)
    scope.add(ReturnOp(*results))
    func = FuncOp(
        signature.sym_name.data, FunctionType.from_lists(types, [r.type for r in results]), Region(scope.block)
    )
    if VALUES_ATTRIBUTE in signature.attributes:
        func.attributes[VALUES_ATTRIBUTE] = signature.attributes[VALUES_ATTRIBUTE]
    func.location = places.location()
    module = ModuleOp([func], {DEVICE_ATTRIBUTE: StringAttr(device.name if device.name in DEVICES else device.where)})
    try:
        verify_module(module)
    except VerificationError as error:
        raise unsupported(error.message, error.where or name) from error
    return func


def _argument_type(type_: Attribute) -> TensorType:
    """The type of an argument; a scalar is a tensor of rank 0."""
    if is_tensor(type_):
        return type_
    return tensor_type((), dtype_name(type_))


def _results(scope: Scope, places: Places, returned: Value, wanted: Sequence[TensorType]) -> list[SSAValue]:
    """The values of the tensors that a kernel returns."""
    items = returned if isinstance(returned, tuple) else (returned,)
    if len(items) != len(wanted):
        raise unsupported(f"{len(items)} results, the program has {len(wanted)}", places.where)
    out: list[SSAValue] = []
    for item, type_ in zip(items, wanted, strict=True):
        if not isinstance(item, View) or not item.whole or item.storage.on_chip:
            raise unsupported("a result that is no whole tensor in HBM", places.where, "nl.shared_hbm")
        value = scope.value(item.storage)
        rank = len(shape_of(type_))
        if rank == 0 and not item.storage.scalar:
            value = _scalar(scope, places, item, value)
        elif rank != len(item.storage.shape) and rank:
            raise unsupported(
                f"a result of rank {len(item.storage.shape)}, the program's has rank {rank}", places.where
            )
        out.append(value)
    return out


def _scalar(scope: Scope, places: Places, view: View, value: SSAValue) -> SSAValue:
    """The one element of a tensor of shape (1, 1), as a tensor of rank 0."""
    storage = view.storage
    if any(d != 1 for d in storage.shape) or len(storage.shape) != 2:
        raise unsupported("a result of rank 0 that is no tensor of shape (1, 1)", places.where)
    zero, one = scope.index(const(0)), scope.index(const(1))
    tile = LoadOp(value, [zero, zero], [one, one], (0, 1), tile_type([const(1), const(1)], storage.dtype, "hbm"))
    scope.add(tile)
    empty = EmptyOp([], tensor_type((), storage.dtype))
    scope.add(empty)
    store = StoreOp(tile.result, empty.result, [], ())
    scope.add(store)
    return store.result
