# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One operation per instruction, on tile values, made from the instruction descriptions.

```
%r = trn_isa.tensor_scalar immediate<op0 = mul> (%a) {operand0 = "1 / K"} [vector] : (!tile.tile<..>) -> !tile.tile<..>
%b = trn_isa.nc_matmul accumulate (%s, %m) outs %a [tensor] : (!tile.tile<..>, !tile.tile<..>) -> !tile.tile<..>
%z = trn_isa.memset fill () sizes (%p, %f) {value = "0"} [vector, gpsimd] : () -> !tile.tile<..>
%i = trn_isa.iota rows () at (at_k = %k) sizes (%p, %f) {step = "1", offset = "at_k", ...} [gpsimd] : () -> ..
```

After the instruction's name comes the form; `< >` chooses the functions of the form's attributes, `( )` are its tiles,
`outs` is the accumulator that the result replaces, or a tile that is written over in part, `at` names indices for the
immediates, `sizes` are the sizes that no tile has, `{ }` the immediates (scalar expressions over program sizes, numbers
and the names of `at`; where the form has an index, index expressions), `[ ]` the engines that are still possible.
Values are tiles of dialect tile; there is no second tile type.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, ClassVar, Self, cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IndexType, StringAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    opt_operand_def,
    prop_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import NoMemoryEffect
from xdsl.utils.exceptions import VerifyException

from axon_mlir.dialects.tile import PLACE_PREFIX, TileType, parse_places, print_places
from axon_mlir.dialects.trn_isa.descriptions import DTYPES, FORMS, device_of, function_of, size_values, upper_number
from axon_mlir.errors import AxonError
from axon_mlir.semantics import terms as t
from axon_mlir.semantics.denotation import Denotable, Denoter, is_integer_type
from axon_mlir.semantics.evaluate import evaluate_comprehension
from axon_mlir.semantics.functions import FUNCTIONS, MONOIDS
from axon_mlir.semantics.index import Index, Size, Var, const, of_var, parse
from axon_mlir.semantics.index import size as size_index
from axon_mlir.semantics.interpret import Interpretable, Interpreter, argument_shapes
from axon_mlir.semantics.meaning import parse_scalar
from axon_mlir.targets import Facts, Form, OperandRule, TileFact


def immediate_term(text: str, places: Collection[str] = ()) -> t.Term:
    """The value of an immediate: a scalar expression whose names are places (as variables) or program sizes."""
    return parse_scalar(text, lambda name: t.index_value(_named(name, places)))


def immediate_index(text: str, places: Collection[str] = ()) -> Index:
    """The same for an index."""
    return parse(text, lambda name: _named(name, places))


def _named(name: str, places: Collection[str]) -> Index:
    return of_var(Var(name)) if name in places else size_index(name)


def _strings(values: Mapping[str, str]) -> DictionaryAttr:
    return DictionaryAttr({k: StringAttr(v) for k, v in values.items()})


def _texts(attribute: DictionaryAttr) -> dict[str, str]:
    return {k: v.data for k, v in attribute.data.items() if isinstance(v, StringAttr)}


def known_numbers(immediates: Mapping[str, t.Term]) -> dict[str, float]:
    """The immediates that are numbers, whole ones as integers."""
    out: dict[str, float] = {}
    for name, term in immediates.items():
        if isinstance(term, t.Const):
            whole = not isinstance(term.value, str) and term.value.denominator == 1
            out[name] = int(term.value) if whole else float(term.value)
    return out


class InstructionOp(IRDLOperation, Denotable, Interpretable, ABC):
    """The base of all instructions."""

    INSTRUCTION: ClassVar[str]
    """The instruction's name in the descriptions."""

    ins = var_operand_def(TileType)
    outs = opt_operand_def(TileType)
    places = var_operand_def(IndexType)
    sizes = var_operand_def(IndexType)
    form = prop_def(StringAttr)
    place_names = prop_def(ArrayAttr[StringAttr])
    functions = prop_def(DictionaryAttr)
    immediates = prop_def(DictionaryAttr)
    engines = prop_def(ArrayAttr[StringAttr])
    results_ = var_result_def(TileType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(NoMemoryEffect())

    def __init__(
        self,
        form: str,
        ins: Sequence[SSAValue],
        result_types: Sequence[Attribute],
        *,
        functions: Mapping[str, str] | None = None,
        immediates: Mapping[str, str] | None = None,
        places: Mapping[str, SSAValue] = MappingProxyType({}),
        sizes: Sequence[SSAValue] = (),
        outs: SSAValue | None = None,
        engines: Sequence[str] = (),
    ):
        super().__init__(
            operands=[list(ins), [] if outs is None else [outs], list(places.values()), list(sizes)],
            properties={
                "form": StringAttr(form),
                "place_names": ArrayAttr([StringAttr(n) for n in places]),
                "functions": _strings(functions or {}),
                "immediates": _strings(immediates or {}),
                "engines": ArrayAttr([StringAttr(e) for e in engines]),
            },
            result_types=[list(result_types)],
        )

    # -- what it is ---------------------------------------------------------------------------------------------------

    @property
    def description(self) -> Form:
        """The form; VerifyException when there is none of this name."""
        found = FORMS[self.INSTRUCTION].get(self.form.data)
        if found is None:
            accepted = ", ".join(FORMS[self.INSTRUCTION])
            raise VerifyException(f"unknown form '{self.form.data}'; accepted: {accepted}")
        return found

    @property
    def chosen_functions(self) -> dict[str, str]:
        """Attribute of the form -> scalar function or monoid."""
        return _texts(self.functions)

    @property
    def placed(self) -> dict[str, SSAValue]:
        """Name of a place in the immediates -> the index that it is."""
        return {n.data: v for n, v in zip(self.place_names.data, self.places, strict=True)}

    @property
    def immediate_terms(self) -> dict[str, t.Term]:
        """Immediate operand -> its value over the program's sizes and the places, as variables of their name."""
        numbers, places = self.description.numbers, self.placed
        return {k: immediate_term(v, places) for k, v in _texts(self.immediates).items() if k not in numbers}

    @property
    def immediate_indices(self) -> dict[str, Index]:
        """Index attribute of the form -> its value, likewise."""
        numbers, places = self.description.numbers, self.placed
        return {k: immediate_index(v, places) for k, v in _texts(self.immediates).items() if k in numbers}

    @property
    def engine_set(self) -> tuple[str, ...]:
        """The engines that are still possible."""
        return tuple(e.data for e in self.engines.data)

    def tile_operands(self) -> list[tuple[OperandRule, SSAValue]]:
        """The form's tile operands, the accumulator included, and their values, in the form's order."""
        inputs = iter(self.ins)
        out: list[tuple[OperandRule, SSAValue]] = []
        for rule in self.description.operands:
            if rule.kind == "tile":
                value = self.outs if rule.outs else next(inputs, None)
                if value is not None:
                    out.append((rule, value))
        return out

    # -- meaning ------------------------------------------------------------------------------------------------------

    def denote(self, walk: Denoter) -> None:
        """The form's meaning; where two operands share a size, that their extents agree is an obligation."""
        form = self.description
        tiles = {rule.name: walk.tensor(value) for rule, value in self.tile_operands()}
        places: dict[Size | Var, Index] = {Var(n): walk.index(v) for n, v in self.placed.items()}
        immediates = {n: t.substitute(term, places) for n, term in self.immediate_terms.items()}
        indices = {n: term.substitute(places) for n, term in self.immediate_indices.items()}
        bound: dict[str, Index] = {}
        operands: list[t.Comprehension] = []
        for rule in form.operands:
            if rule.kind == "immediate":
                operands.append(t.Comprehension((), (), immediates[rule.name]))
                continue
            value = tiles[rule.name]
            shape: list[Index] = []
            for axis, extent in zip(rule.axes, value.shape, strict=True):
                if axis.isidentifier():
                    wanted = bound.setdefault(axis, extent)
                else:
                    wanted = const(int(axis)) if axis.isdigit() else extent
                walk.require("operand shape", t.equal(extent, wanted), self)
                shape.append(wanted)
            operands.append(replace(value, shape=tuple(shape)))
        free = {name: walk.index(v) for name, v in zip(form.free_sizes, self.sizes, strict=True)}
        values = form.meaning.denote(operands, {**self.chosen_functions, **indices, **free})
        for result, value in zip(self.results_, values, strict=True):
            walk.bind(result, walk.stored(value, result.type.dtype))

    def interpret(self, run: Interpreter) -> None:
        """Evaluate the form's meaning."""
        form = self.description
        tiles = {rule.name: run.array(value) for rule, value in self.tile_operands()}
        places: dict[Size | Var, Index] = {Var(n): const(run.integer(v)) for n, v in self.placed.items()}
        immediates = {n: t.substitute(term, places) for n, term in self.immediate_terms.items()}
        indices = {n: term.substitute(places) for n, term in self.immediate_indices.items()}
        arrays = [
            tiles[rule.name]
            if rule.kind == "tile"
            else evaluate_comprehension(t.Comprehension((), (), immediates[rule.name]), {}, run.sizes, run.domain)
            for rule in form.operands
        ]
        free = {name: run.integer(v) for name, v in zip(form.free_sizes, self.sizes, strict=True)}
        values = run.evaluate(form.meaning, arrays, {**self.chosen_functions, **indices, **free})
        for result, value in zip(self.results_, values, strict=True):
            run.bind(result, run.domain.nearest(value) if is_integer_type(result.type.dtype) else value)

    # -- verification -------------------------------------------------------------------------------------------------

    def verify_(self) -> None:
        """The form exists and is used as described, and no limit of the module's device is broken."""
        form = self.description
        self._verify_counts(form)
        device = self._device_form()
        self._verify_functions(device)
        self._verify_immediates(form)
        self._verify_limits(device)

    def _verify_counts(self, form: Form) -> None:
        tiles = [o for o in form.operands if o.kind == "tile"]
        wanted = [o.name for o in tiles if not o.outs]
        if len(self.ins) != len(wanted):
            raise VerifyException(
                f"form {form.name} takes {len(wanted)} tiles ({', '.join(wanted)}), not {len(self.ins)}"
            )
        if any(len(o.axes) > 2 for o in tiles):
            raise VerifyException(f"form {form.name} takes tiles of more than two axes, which a tile has not")
        accumulators = [o.name for o in tiles if o.outs]
        if (self.outs is not None) != bool(accumulators):
            raise VerifyException(f"form {form.name} takes {'an' if accumulators else 'no'} accumulator (outs)")
        if len(self.sizes) != len(form.free_sizes):
            names = f" ({', '.join(form.free_sizes)})" if form.free_sizes else ""
            raise VerifyException(f"form {form.name} takes {len(form.free_sizes)} sizes{names}, not {len(self.sizes)}")
        if len(self.results_) != len(form.results):
            raise VerifyException(f"form {form.name} has {len(form.results)} results, not {len(self.results_)}")
        for rule, result in zip(form.results, self.results_, strict=True):
            if rule.tied is not None and self.outs is not None and self.outs.type != result.type:
                raise VerifyException(f"result {rule.name} has the type of the accumulator it replaces")

    def _verify_functions(self, form: Form) -> None:
        chosen = self.chosen_functions
        for name in self.functions.data:
            if name not in form.functions or name not in chosen:
                raise VerifyException(f"form {form.name} has no function attribute '{name}'")
        for name, members in form.functions.items():
            if name not in chosen:
                raise VerifyException(f"form {form.name} needs the attribute '{name}'")
            known = FUNCTIONS if members.kind == "function" else MONOIDS
            if chosen[name] not in members.members or chosen[name] not in known:
                accepted = ", ".join(members.members)
                raise VerifyException(f"'{name}' cannot be '{chosen[name]}'; accepted: {accepted}")

    def _verify_immediates(self, form: Form) -> None:
        wanted = [*(o.name for o in form.operands if o.kind == "immediate"), *form.numbers]
        if sorted(self.immediates.data) != sorted(wanted):
            have = ", ".join(self.immediates.data) or "none"
            raise VerifyException(f"form {form.name} takes the immediates {', '.join(wanted) or 'none'}, not {have}")
        places = [n.data for n in self.place_names.data]
        if len(set(places)) != len(places) or len(places) != len(self.places):
            raise VerifyException(f"{len(self.places)} places for the names {', '.join(places) or 'none'}")
        for name in places:
            if not name.startswith(PLACE_PREFIX):
                raise VerifyException(f"'{name}' is not the name of a place; accepted: {PLACE_PREFIX}m")
        func = function_of(self)
        known: set[str] | None = None
        if func is not None:
            symbols = [s for shape in argument_shapes(func) for d in shape for s in d.symbols()]
            known = {s.name for s in symbols if isinstance(s, Size)} | set(size_values(func))
        for name, text in self.immediates.data.items():
            if not isinstance(text, StringAttr):
                raise VerifyException(f"immediate {name} must be the text of a scalar expression, it is {text}")
            try:
                if name in form.numbers:
                    symbols_of = immediate_index(text.data, places).symbols()
                else:
                    symbols_of = t.free_symbols(immediate_term(text.data, places))
            except AxonError as error:
                raise VerifyException(f"immediate {name}: {error.message}") from error
            except ValueError as error:
                raise VerifyException(f"immediate {name}: {error}") from error
            free = {s.name for s in symbols_of if isinstance(s, Size)}
            if known is not None and free - known:
                names = ", ".join(sorted(free - known))
                raise VerifyException(f"immediate {name}: {names} is no size of the function")

    def facts(self, values: Mapping[str, int]) -> Facts:
        """What is known for the device's rules: upper bounds, spaces, element types.

        A bound without a number is given as 1, so that no limit is checked on it.
        """
        tiles: dict[str, TileFact] = {}
        pairs: list[tuple[str, SSAValue]] = [(rule.name, value) for rule, value in self.tile_operands()]
        pairs += [(rule.name, v) for rule, v in zip(self.description.results, self.results_, strict=True)]
        for name, value in pairs:
            type_ = cast(TileType, value.type)
            shape = tuple(upper_number(b, values) or 1 for b in type_.upper)
            tiles[name] = TileFact(shape, type_.space.data, DTYPES.get(type_.dtype, type_.dtype))
        return Facts(tiles, attributes=self.chosen_functions, immediates=known_numbers(self.immediate_terms))

    def _device_form(self) -> Form:
        """The form as the module's device has it: functions, engines and limits depend on the device."""
        try:
            return device_of(self).instruction(self.INSTRUCTION).form(self.form.data)
        except AxonError as error:
            tail = f"; accepted: {error.accepted}" if error.accepted else ""
            raise VerifyException(f"{error.message}{tail}") from error

    def _verify_limits(self, form: Form) -> None:
        facts = self.facts(size_values(function_of(self)))
        for violation in form.check(facts, exact=False):
            raise VerifyException(f"{violation.message} [{violation.rule}; {violation.source}]")
        if not self.engine_set:
            return
        possible = form.engines_for(facts)
        for engine in self.engine_set:
            if engine not in possible:
                accepted = ", ".join(possible)
                raise VerifyException(
                    f"does not run on engine '{engine}' of {device_of(self).name}; accepted: {accepted}"
                )

    # -- text ---------------------------------------------------------------------------------------------------------

    def print(self, printer: Printer) -> None:
        """Print what `parse` reads."""
        printer.print_string(f" {self.form.data}")
        if chosen := self.chosen_functions:
            printer.print_string(f"<{', '.join(f'{k} = {v}' for k, v in chosen.items())}>")
        printer.print_string(" (")
        printer.print_list(self.ins, printer.print_ssa_value)
        printer.print_string(")")
        if self.outs is not None:
            printer.print_string(" outs ")
            printer.print_ssa_value(self.outs)
        print_places(printer, self.placed, self.sizes)
        if self.immediates.data:
            printer.print_string(" {")
            for n, (name, text) in enumerate(_texts(self.immediates).items()):
                printer.print_string(f"{', ' if n else ''}{name} = ")
                printer.print_string_literal(text)
            printer.print_string("}")
        printer.print_string(f" [{', '.join(self.engine_set)}]")
        if self.attributes:
            printer.print_string(" attributes ")
            printer.print_attr_dict(self.attributes)
        printer.print_string(" : (")
        printer.print_list([v.type for v in self.ins], printer.print_attribute)
        printer.print_string(") -> ")
        types = [r.type for r in self.results_]
        if len(types) == 1:
            printer.print_attribute(types[0])
        else:
            printer.print_string("(")
            printer.print_list(types, printer.print_attribute)
            printer.print_string(")")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse what `print` prints."""

        def pair() -> tuple[str, str]:
            name = parser.parse_identifier()
            parser.parse_punctuation("=")
            return name, parser.parse_identifier()

        def immediate() -> tuple[str, str]:
            name = parser.parse_identifier()
            parser.parse_punctuation("=")
            return name, parser.parse_str_literal()

        delimiter = parser.Delimiter
        form = parser.parse_identifier()
        functions = dict(parser.parse_optional_comma_separated_list(delimiter.ANGLE, pair) or [])
        position = parser.pos
        ins = parser.parse_comma_separated_list(delimiter.PAREN, parser.parse_unresolved_operand)
        outs = parser.parse_unresolved_operand() if parser.parse_optional_keyword("outs") else None
        places, sizes = parse_places(parser)
        immediates = dict(parser.parse_optional_comma_separated_list(delimiter.BRACES, immediate) or [])
        engines = parser.parse_optional_comma_separated_list(delimiter.SQUARE, parser.parse_identifier) or []
        attributes: Mapping[str, Attribute] = {}
        if parser.parse_optional_keyword("attributes"):
            attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(delimiter.PAREN, parser.parse_type)
        parser.parse_punctuation("->")
        results = parser.parse_optional_comma_separated_list(delimiter.PAREN, parser.parse_type)
        if results is None:
            results = [parser.parse_type()]
        op = cls(
            form,
            parser.resolve_operands(ins, types, position),
            results,
            functions=functions,
            immediates=immediates,
            places=places,
            sizes=sizes,
            outs=parser.resolve_operand(outs, results[0]) if outs is not None and results else None,
            engines=engines,
        )
        op.attributes.update(attributes)
        return op


def _operation(instruction: str) -> type[InstructionOp]:
    words = "".join(part.capitalize() for part in instruction.split("_"))
    members: dict[str, Any] = {
        "__module__": __name__,
        "__doc__": f"The instruction {instruction}.",
        "__annotations__": {"INSTRUCTION": ClassVar[str]},
        "INSTRUCTION": instruction,
        "name": f"trn_isa.{instruction}",
    }
    made: Any = type(InstructionOp)
    return irdl_op_definition(made(f"{words}Op", (InstructionOp,), members))


OPERATIONS: Mapping[str, type[InstructionOp]] = {name: _operation(name) for name in FORMS}
"""Instruction -> operation."""


def instruction(
    name: str,
    form: str,
    ins: Sequence[SSAValue],
    result_types: Sequence[Attribute],
    *,
    functions: Mapping[str, str] | None = None,
    immediates: Mapping[str, str] | None = None,
    places: Mapping[str, SSAValue] = MappingProxyType({}),
    sizes: Sequence[SSAValue] = (),
    outs: SSAValue | None = None,
    engines: Sequence[str] = (),
) -> InstructionOp:
    """One use of an instruction."""
    if name not in OPERATIONS:
        raise AxonError(f"no instruction {name}", accepted=", ".join(OPERATIONS))
    return OPERATIONS[name](
        form,
        ins,
        result_types,
        functions=functions,
        immediates=immediates,
        places=places,
        sizes=sizes,
        outs=outs,
        engines=engines,
    )
