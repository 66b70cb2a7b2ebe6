# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The choices that shape a nest before its steps are numbers: block loops, loop order, operand roles, fusion.

A function may carry them in its attribute `tile.structure`; without it the passes take the defaults here.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from axon_mlir.errors import AxonError
from axon_mlir.semantics.denotation import place
from axon_mlir.semantics.shapes import strings_of

STRUCTURE = "tile.structure"
"""Function attribute: the choices of this module, as a dictionary."""


@dataclass(frozen=True)
class Structure:
    """One point of the space of nests of a program.

    `blocks`: dimensions with a block loop, outermost first. `order`: `mn` runs the rows of a contraction outside its
    columns, `nm` inside. `swap`: contractions (by result) whose operands exchange the roles of stationary and moving,
    beside those that the layout of their readers asks for; `plan` switches that planning. `transpose`: how an operand
    with the wrong axis on partitions is turned: on the tensor `engine`, on its way by the `dma`, or by a `strided` load
    of single elements. `partition_sum`: a sum over partitions is a product with ones on the tensor `engine`, or its
    operand is `turned` first.
    `accumulate`: partial sums stay in `psum` over all of a contraction, or are added up in `sbuf` block by block.
    `apart`: tensors that stay in HBM although they could be fused. `fixed`: loads (by tensor) that are not hoisted.
    """

    blocks: tuple[str, ...] = ()
    order: str = "mn"
    swap: tuple[str, ...] = ()
    plan: str = "layout"
    transpose: str = "engine"
    accumulate: str = "psum"
    partition_sum: str = "engine"
    apart: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()


CHOICES = {
    "order": ("mn", "nm"),
    "plan": ("layout", "none"),
    "transpose": ("engine", "dma", "strided"),
    "accumulate": ("psum", "sbuf"),
    "partition_sum": ("engine", "turned"),
}


def structure_of(func: FuncOp) -> Structure:
    """The choices that a function carries; AxonError where they are none."""
    attribute = func.attributes.get(STRUCTURE)
    if attribute is None:
        return Structure()
    known = {f.name: f for f in fields(Structure)}
    values: dict[str, str | tuple[str, ...]] = {}
    entries = attribute.data if isinstance(attribute, DictionaryAttr) else {"": attribute}
    for name, value in entries.items():
        if name not in known:
            raise AxonError(f"{STRUCTURE}: '{name}' is not a choice", where=place(func), accepted=", ".join(known))
        strings = strings_of(value)
        if strings is not None and name not in CHOICES:
            values[name] = strings
        elif isinstance(value, StringAttr) and value.data in CHOICES.get(name, ()):
            values[name] = value.data
        else:
            raise AxonError(
                f"{STRUCTURE}: {name} cannot be {value}",
                where=place(func),
                accepted=" or ".join(CHOICES.get(name, ("a list of names",))),
            )
    return Structure(**values)  # pyright: ignore[reportArgumentType] (checked name by name above)


def structure_attribute(structure: Structure) -> DictionaryAttr:
    """The attribute that carries a structure; defaults are left out."""
    out: dict[str, Attribute] = {}
    for f in fields(Structure):
        value: str | tuple[str, ...] = getattr(structure, f.name)
        if value == f.default:
            continue
        out[f.name] = ArrayAttr([StringAttr(v) for v in value]) if isinstance(value, tuple) else StringAttr(value)
    return DictionaryAttr(out)
