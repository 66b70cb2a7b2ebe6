# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`nu.choice`: several computations of the same values, of which one will be taken.

```
%y = nu.choice product(%a, %r, %w) : (T, S, W) -> Y {
  alternative early proved "E" derived "as written" (%a0, %r0, %w0) {
    ...
    nu.yield %0 : Y
  }
  alternative late proved "R" derived "scale moved past the matmul" certificate "9f3c" (%a1, %r1, %w1) {
    ...
    nu.yield %1 : Y
  }
}
```

Each region is closed: it sees its block arguments only, which stand for the operands. What alternatives of different
choices share is therefore an ordinary SSA value outside. The first alternative is the reference: it is what the choice
means, and what the verdicts of the others are about.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    lazy_traits_def,
    opt_prop_def,
    prop_def,
    traits_def,
    var_operand_def,
    var_region_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import HasParent, IsolatedFromAbove, IsTerminator, NoMemoryEffect, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from axon_mlir.dialects.nu.alternative import AlternativeAttr, name_problem
from axon_mlir.semantics.denotation import Denotable, Denoter
from axon_mlir.semantics.interpret import Interpretable, Interpreter


@irdl_op_definition
class ChoiceOp(IRDLOperation, Denotable, Interpretable):
    """One of several closed regions that yield the same types."""

    name = "nu.choice"
    inputs = var_operand_def()
    outputs = var_result_def()
    label = opt_prop_def(StringAttr)
    alternatives = prop_def(ArrayAttr[AlternativeAttr])
    bodies = var_region_def("single_block")
    traits = traits_def(IsolatedFromAbove(), RecursiveMemoryEffect())

    def __init__(
        self,
        inputs: Sequence[SSAValue | Operation],
        result_types: Sequence[Attribute],
        alternatives: Sequence[tuple[AlternativeAttr, Region]],
        label: str | None = None,
        attributes: Mapping[str, Attribute] | None = None,
    ):
        super().__init__(
            operands=[list(inputs)],
            result_types=[list(result_types)],
            properties={
                "label": None if label is None else StringAttr(label),
                "alternatives": ArrayAttr([a for a, _ in alternatives]),
            },
            attributes=dict(attributes or {}),
            regions=[[region for _, region in alternatives]],
        )

    @property
    def names(self) -> list[str]:
        """The names of the alternatives, the reference first."""
        return [a.label.data for a in self.alternatives.data]

    def body(self, number: int) -> Block:
        """The block of an alternative."""
        return self.bodies[number].block

    def yielded(self, number: int) -> Sequence[SSAValue]:
        """What an alternative yields."""
        last = self.body(number).last_op
        return last.operands if isinstance(last, YieldOp) else ()

    # -- verification -------------------------------------------------------------------------------------------------

    def verify_(self) -> None:
        """There is a reference, and every alternative takes the operands and yields the results."""
        if not self.bodies:
            raise VerifyException("needs at least one alternative")
        if len(self.alternatives.data) != len(self.bodies):
            raise VerifyException(f"describes {len(self.alternatives.data)} alternatives in {len(self.bodies)} regions")
        if self.label is not None and (problem := name_problem(self.label.data)):
            raise VerifyException(problem)
        names = self.names
        for number, name in enumerate(names):
            if name in names[:number]:
                raise VerifyException(f"two alternatives are called '{name}'")
            self._verify_body(name, self.body(number))

    def _verify_body(self, name: str, block: Block) -> None:
        inputs, arguments = [v.type for v in self.inputs], [a.type for a in block.args]
        if inputs != arguments:
            raise VerifyException(
                f"alternative '{name}' takes {_types(arguments)}, but the choice's operands are {_types(inputs)}"
            )
        last = block.last_op
        if not isinstance(last, YieldOp):
            end = "is empty" if last is None else f"ends with {last.name}"
            raise VerifyException(f"alternative '{name}' {end}, it must end with nu.yield")
        outputs, yielded = [v.type for v in self.outputs], [v.type for v in last.operands]
        if outputs != yielded:
            raise VerifyException(
                f"alternative '{name}' yields {_types(yielded)}, but the choice's results are {_types(outputs)}"
            )

    # -- meaning: that of the reference -------------------------------------------------------------------------------

    def denote(self, walk: Denoter) -> None:
        """What the reference computes."""
        block = self.body(0)
        for argument, value in zip(block.args, self.inputs, strict=True):
            walk.bind(argument, walk.values[value])
        for result, value in zip(self.outputs, walk.block(block), strict=True):
            walk.bind(result, walk.values[value])

    def interpret(self, run: Interpreter) -> None:
        """Run the reference."""
        block = self.body(0)
        for argument, value in zip(block.args, self.inputs, strict=True):
            run.bind(argument, run.values[value])
        for result, value in zip(self.outputs, run.block(block), strict=True):
            run.bind(result, value)

    # -- syntax -------------------------------------------------------------------------------------------------------

    def print(self, printer: Printer) -> None:
        """Print the operands, the types, and the alternatives one below the other."""
        if self.label is not None:
            printer.print_string(" ")
            printer.print_identifier_or_string_literal(self.label.data)
        with printer.in_parens():
            printer.print_list(self.inputs, printer.print_ssa_value)
        if self.attributes:
            printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" : ")
        printer.print_function_type([v.type for v in self.inputs], [v.type for v in self.outputs])
        printer.print_string(" {")
        with printer.indented():
            for alternative, region in zip(self.alternatives.data, self.bodies, strict=True):
                printer.print_string("\nalternative ")
                alternative.print_words(printer)
                if region.block.args:
                    printer.print_string(" ")
                    with printer.in_parens():
                        printer.print_list(region.block.args, printer.print_ssa_value)
                printer.print_string(" ")
                printer.print_region(region, print_entry_block_args=False, print_empty_block=False)
        printer.print_string("\n}")

    @classmethod
    def parse(cls, parser: Parser) -> ChoiceOp:
        """Parse what `print` prints."""
        label = parser.parse_optional_identifier_or_str_literal()
        position = parser.pos
        unresolved = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        parser.parse_punctuation(":")
        type_ = parser.parse_function_type()
        inputs = parser.resolve_operands(unresolved, type_.inputs.data, position)
        parser.parse_punctuation("{")
        alternatives: list[tuple[AlternativeAttr, Region]] = []
        while parser.parse_optional_keyword("alternative"):
            alternative = AlternativeAttr.parse_words(parser)
            start = parser.pos
            arguments = parser.parse_optional_comma_separated_list(
                parser.Delimiter.PAREN, lambda: parser.parse_argument(expect_type=False)
            )
            arguments = arguments or []
            if len(arguments) != len(inputs):
                counts = f"{len(arguments)} arguments for {len(inputs)} operands"
                parser.raise_error(f"alternative '{alternative.label.data}' names {counts}", start, parser.pos)
            typed = [a.resolve(v.type) for a, v in zip(arguments, inputs, strict=True)]
            alternatives.append((alternative, parser.parse_region(typed)))
        parser.parse_punctuation("}", " or 'alternative'")
        return cls(inputs, type_.outputs.data, alternatives, label, attributes.data if attributes else None)


@irdl_op_definition
class YieldOp(IRDLOperation):
    """Ends an alternative: the values it computes."""

    name = "nu.yield"
    values = var_operand_def()
    traits = lazy_traits_def(lambda: (IsTerminator(), NoMemoryEffect(), HasParent(ChoiceOp)))
    assembly_format = "attr-dict ($values^ `:` type($values))?"

    def __init__(self, *values: SSAValue | Operation):
        super().__init__(operands=[list(values)])


def _types(types: Sequence[Attribute]) -> str:
    return f"({', '.join(map(str, types))})"
