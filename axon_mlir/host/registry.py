# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The dialects and passes by name, each imported when it is first used.

An entry is a `module:attribute` string, so that listing names costs nothing and one broken module harms only its own
users. xDSL is imported lazily too: this module is loaded by every xDSL tool on the machine (see `axon_mlir.universe`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from axon_mlir.errors import AxonError

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Dialect
    from xdsl.passes import ModulePass

DIALECTS: Mapping[str, str] = {
    "nu": "axon_mlir.dialects.nu:NU",
    "tensor_hl": "axon_mlir.dialects.tensor_hl:TENSOR_HL",
    "tile": "axon_mlir.dialects.tile:TILE",
    "trn_isa": "axon_mlir.dialects.trn_isa:TRN_ISA",
}
"""Our dialects: an attribute of type `xdsl.ir.Dialect` each."""

HOST_DIALECTS: Mapping[str, str] = {
    "arith": "xdsl.dialects.arith:Arith",
    "builtin": "xdsl.dialects.builtin:Builtin",
    "func": "xdsl.dialects.func:Func",
}
"""xDSL's dialects that our tools read."""

MODULE_RULES: Mapping[str, str] = {
    "trn_isa": "axon_mlir.dialects.trn_isa.allocation:verify_storages",
}
"""What must hold of a module as a whole when it has operations of a dialect: a function from a module to its errors."""

PASSES: Mapping[str, str] = {
    "tensor-hl-decompose": "axon_mlir.transforms.algebra.tensor_hl_decompose:TensorHlDecompose",
    "tensor-hl-canonicalize": "axon_mlir.transforms.algebra.tensor_hl_canonicalize:TensorHlCanonicalize",
    "nu-select": "axon_mlir.transforms.algebra.nu_select:NuSelect",
    "nu-extract": "axon_mlir.transforms.algebra.nu_extract:NuExtract",
    "tile-symbolic": "axon_mlir.transforms.tiling.tile_symbolic:TileSymbolic",
    "tile-fuse": "axon_mlir.transforms.tiling.tile_fuse:TileFuse",
    "tile-instantiate": "axon_mlir.transforms.tiling.tile_instantiate:TileInstantiate",
    "isa-select": "axon_mlir.transforms.isa.isa_select:IsaSelect",
    "isa-allocate": "axon_mlir.transforms.isa.isa_allocate:IsaAllocate",
}
"""Our passes: a frozen dataclass derived from `xdsl.passes.ModulePass` each."""

HOST_PASSES: Mapping[str, str] = {
    "canonicalize": "xdsl.transforms.canonicalize:CanonicalizePass",
    "cse": "xdsl.transforms.common_subexpression_elimination:CommonSubexpressionElimination",
    "dce": "xdsl.transforms.dead_code_elimination:DeadCodeElimination",
}
"""xDSL's passes that `axon-opt` offers beside ours."""


def resolve(target: str, what: str) -> Any:
    """The object that a `module:attribute` string names; `what` names it in the error."""
    module_name, attribute = target.split(":")
    try:
        return getattr(import_module(module_name), attribute)
    except ModuleNotFoundError as error:
        if error.name is None or not module_name.startswith(error.name):
            raise
        raise AxonError(f"{what} is not part of this build (no module {error.name})") from error


def load_dialect(name: str) -> Dialect:
    """Import one dialect of the tables."""
    target = HOST_DIALECTS.get(name) or DIALECTS[name]
    return cast("Dialect", resolve(target, f"dialect '{name}'"))


def load_pass(name: str) -> type[ModulePass]:
    """Import one pass of the tables; an unknown name is an error that lists the known ones."""
    target = PASSES.get(name) or HOST_PASSES.get(name)
    if target is None:
        raise AxonError(f"unknown pass '{name}'", accepted=", ".join(pass_names()))
    return cast("type[ModulePass]", resolve(target, f"pass '{name}'"))


def pass_names() -> list[str]:
    """The names that a pipeline may use, ours first."""
    return [*PASSES, *HOST_PASSES]


def module_rules(dialects: Collection[str]) -> list[Callable[[ModuleOp], list[AxonError]]]:
    """The rules of modules in which these dialects occur."""
    return [resolve(target, f"the rule of '{name}'") for name, target in MODULE_RULES.items() if name in dialects]


def dialect_factories() -> dict[str, Callable[[], Dialect]]:
    """A lazy factory for each of our dialects, as `xdsl.universe.Universe` wants them."""
    return {name: partial(load_dialect, name) for name in DIALECTS}


def pass_factories() -> dict[str, Callable[[], type[ModulePass]]]:
    """A lazy factory for each of our passes, as `xdsl.universe.Universe` wants them."""
    return {name: partial(load_pass, name) for name in PASSES}


def make_context(*, allow_unregistered: bool = False) -> Context:
    """A context in which builtin is loaded and every other dialect of the tables loads on first use."""
    from xdsl.context import Context

    context = Context(allow_unregistered=allow_unregistered)
    for name in [*HOST_DIALECTS, *DIALECTS]:
        context.register_dialect(name, partial(load_dialect, name))
    context.load_registered_dialect("builtin")
    return context
