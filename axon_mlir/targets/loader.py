# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads description files and builds devices from them.

A device file states the device and lists `use <instruction>`; `instructions "nki.isa"` includes the descriptions,
looked for beside the device file first, then among the packaged ones. What another generation has is left out of the
result: gates (`requires gen3`, `until gen2`) are resolved here and nowhere else.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, TypeVar, cast

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedCharacters, UnexpectedEOF, UnexpectedInput, UnexpectedToken

from axon_mlir.errors import AxonError
from axon_mlir.semantics.functions import FUNCTIONS, MONOIDS
from axon_mlir.semantics.index import const
from axon_mlir.semantics.meaning import OpMeaning, parse_op
from axon_mlir.semantics.terms import tensor_input
from axon_mlir.targets import rules as r
from axon_mlir.targets.device import (
    CallArg,
    CallConstant,
    CallReference,
    CallRows,
    CallSequence,
    Device,
    Form,
    FunctionClass,
    FunctionRange,
    Instruction,
    OperandRule,
    Parameter,
    ResultRule,
)

FOLDER = Path(__file__).parent
FORMAT = 1
"""Version of the description language; a file of another version is refused."""

_FILES = sorted(p.stem for p in FOLDER.glob("*.target"))
DEVICES: tuple[str, ...] = tuple(_FILES)
"""Names of the packaged devices."""

Node = Tree[Token]
T = TypeVar("T")


def load_device(name: str) -> Device:
    """The device of this name, or described by the file at this path.

    A malformed description is an AxonError with file and line; an unknown name lists the known ones.
    """
    if name in DEVICES:
        return _packaged(name)
    path = Path(name)
    if path.suffix == ".target" or "/" in name or path.is_file():
        if not path.is_file():
            raise AxonError(f"no device description at {name}", accepted=_devices_accepted())
        return _Builder().device(path)
    raise AxonError(f"unknown device {name}", accepted=_devices_accepted())


def _devices_accepted() -> str:
    return f"{', '.join(DEVICES)}, or the path of a description file (*.target)"


@cache
def _packaged(name: str) -> Device:
    return _Builder().device(FOLDER / f"{name}.target")


# ---- text to trees ----------------------------------------------------------------------------------------------


@cache
def _grammar() -> Lark:
    text = (FOLDER / "grammar.lark").read_text(encoding="utf-8")
    return Lark(text, parser="lalr", lexer="contextual", propagate_positions=True, maybe_placeholders=True)


@cache
def _parse_text(text: str, shown: str) -> Node:
    try:
        parser: Any = _grammar()
        return cast(Node, parser.parse(text))
    except UnexpectedEOF as error:
        raise AxonError("unexpected end of file", where=shown, accepted=_expected(error)) from None
    except UnexpectedCharacters as error:
        where = f"{shown}:{error.line}:{error.column}"
        char = text[error.pos_in_stream or 0]
        raise AxonError(f"unexpected character {char!r}", where=where, accepted=_expected(error)) from None
    except UnexpectedToken as error:
        where = f"{shown}:{error.line}:{error.column}"
        token: Any = error.token
        found = "end of file" if token.type == "$END" else repr(str(token))
        raise AxonError(f"unexpected {found}", where=where, accepted=_expected(error)) from None


def _expected(error: UnexpectedInput) -> str:
    raw: Iterable[str] = getattr(error, "accepts", None) or getattr(error, "allowed", None) or ()
    raw = raw or getattr(error, "expected", ())
    patterns = {t.name: t.pattern.value for t in _grammar().terminals if t.pattern.type == "str"}
    return ", ".join(sorted(patterns.get(n, n.lower().lstrip("_")) for n in raw if n not in ("$END", "WS", "COMMENT")))


@dataclass(frozen=True)
class _Item:
    """A statement, the file it stands in, and the line."""

    node: Node
    shown: str

    @property
    def where(self) -> str:
        return f"{self.shown}:{self.node.meta.line}"

    def at(self, node: Node | Token) -> str:
        line = node.line if isinstance(node, Token) else node.meta.line
        return f"{self.shown}:{line}"

    def fail(self, message: str, node: Node | Token | None = None, accepted: str | None = None) -> AxonError:
        return AxonError(message, where=self.where if node is None else self.at(node), accepted=accepted)


def _named(items: Iterable[_Item], kind: str) -> Iterator[_Item]:
    return (i for i in items if i.node.data == kind)


def _tree(node: Node | Token | None) -> Node:
    assert isinstance(node, Tree), node
    return node


def _kids(node: Node) -> list[Node | Token | None]:
    """Children, with None for an optional part that is absent (Lark's types do not know)."""
    return cast("list[Node | Token | None]", node.children)


def _trees(node: Node, kind: str) -> list[Node]:
    return [c for c in _kids(node) if isinstance(c, Tree) and c.data == kind]


def _strings(node: Node) -> list[str]:
    return [str(c) for c in _kids(node) if isinstance(c, Token)]


def _quoted(token: Node | Token | None) -> str:
    return str(token)[1:-1]


# ---- trees to devices -------------------------------------------------------------------------------------------


@dataclass
class _Builder:
    """Builds one device: collects the statements of all its files, then resolves them for its generation."""

    items: list[_Item] = field(default_factory=list[_Item])
    digest: Any = field(default_factory=hashlib.sha256)
    generation: int = 0
    cites: dict[str, str] = field(default_factory=dict[str, str])
    dtype_sets: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    classes: dict[str, FunctionClass] = field(default_factory=dict[str, FunctionClass])
    hardware: r.Hardware | None = None

    def read(self, path: Path, shown: str) -> None:
        text = path.read_text(encoding="utf-8")
        self.digest.update(text.encode())
        self.digest.update(b"\0")
        root = _parse_text(text, shown)
        version = int(str(_kids(root)[0]))
        if version != FORMAT:
            message = f"description format {version} is not understood"
            raise AxonError(message, where=f"{shown}:1", accepted=f"format {FORMAT}")
        for child in _kids(root)[1:]:
            item = _Item(_tree(child), shown)
            if item.node.data != "include":
                self.items.append(item)
                continue
            name = _quoted(_kids(item.node)[0])
            found = next((p for p in (path.parent / name, FOLDER / name) if p.is_file()), None)
            if found is None:
                accepted = f"a file beside {shown}, or one of {', '.join(sorted(p.name for p in FOLDER.glob('*.isa')))}"
                raise item.fail(f"no instruction file {name}", accepted=accepted)
            self.read(found, str(found) if found.parent != FOLDER else found.name)

    def device(self, path: Path) -> Device:
        shown = path.name if path.parent == FOLDER else str(path)
        self.read(path, shown)
        head = self._single("device", shown)
        name = str(_kids(head.node)[0])
        self.generation = int(str(self._single("generation", shown).node.children[0]))
        override = _quoted(self._single("device_override", shown).node.children[0])
        for item in _named(self.items, "cite"):
            self.cites[str(_kids(item.node)[0])] = _quoted(_kids(item.node)[1])
        self.hardware = self._hardware()
        self._vocabulary()
        constants = self._unique("constant", self._constant)
        described = {str(_kids(i.node)[0]): i for i in _named(self.items, "instruction")}
        self._unique("instruction", lambda i: None)
        instructions: dict[str, Instruction] = {}
        for item in _named(self.items, "use"):
            wanted = str(_kids(item.node)[0])
            if wanted not in described:
                raise item.fail(f"unknown instruction {wanted}", accepted=", ".join(described))
            if not self._available(_tree(described[wanted].node.children[1])):
                raise item.fail(f"instruction {wanted} is not available on generation {self.generation}")
            instructions[wanted] = self._instruction(described[wanted])
        return Device(
            name=name,
            where=shown,
            generation=self.generation,
            override=override,
            limits=MappingProxyType({n: limit.value for n, limit in self.hardware.limits.items()}),
            limit_details=self.hardware.limits,
            constants=MappingProxyType(constants),
            engines=self.hardware.engines,
            starts=self.hardware.starts,
            dtypes=self.hardware.dtypes,
            instructions=MappingProxyType(instructions),
            sources=MappingProxyType(self.cites),
            fingerprint=self.digest.hexdigest(),
        )

    # ---- pieces ----

    def _single(self, kind: str, shown: str) -> _Item:
        found = list(_named(self.items, kind))
        word = "nki" if kind == "device_override" else kind
        if not found:
            raise AxonError(f"the description does not state `{word}`", where=shown)
        if len(found) > 1:
            raise found[1].fail(f"`{word}` is stated twice")
        return found[0]

    def _unique(self, kind: str, build: Callable[[_Item], T]) -> dict[str, T]:
        out: dict[str, T] = {}
        for item in _named(self.items, kind):
            name = str(_kids(item.node)[0])
            if name in out:
                raise item.fail(f"{kind.replace('device_', '')} {name} is described twice")
            out[name] = build(item)
        return out

    def _available(self, gate: Node) -> bool:
        low, high = _kids(gate)
        generation = self.generation
        return (low is None or generation >= int(str(low)[3:])) and (high is None or generation <= int(str(high)[3:]))

    def _source(self, item: _Item, node: Node) -> str:
        parts: list[str] = []
        for part in _trees(node, "source_item"):
            first, *rest = _kids(part)
            if str(first).startswith('"'):
                parts.append(_quoted(first))
                continue
            if str(first) not in self.cites:
                raise item.fail(f"source {first} is not cited", part, ", ".join(self.cites) or 'cite NAME "document"')
            note = f", {_quoted(rest[0])}" if rest and rest[0] is not None else ""
            parts.append(self.cites[str(first)] + note)
        return "; ".join(parts)

    def _constant(self, item: _Item) -> r.Constant:
        name, value, unit, source = _kids(item.node)
        return r.Constant(str(name), float(str(value)), str(unit), self._source(item, _tree(source)))

    def _limit(self, item: _Item) -> r.Limit:
        name, value, unit, source = _kids(item.node)
        return r.Limit(str(name), int(str(value)), str(unit), self._source(item, _tree(source)))

    def _spaces(self, item: _Item, node: Node) -> tuple[str, ...]:
        for token in _kids(node):
            if str(token) not in r.SPACES:
                raise item.fail(f"unknown memory space {token}", node, ", ".join(r.SPACES))
        return tuple(_strings(node))

    def _engine(self, item: _Item) -> r.Engine:
        name, nki, clock, reads, writes, unaligned, source = _kids(item.node)
        ghz = None if clock is None else float(str(_kids(_tree(clock))[0]))
        reading, writing = self._spaces(item, _tree(reads)), self._spaces(item, _tree(writes))
        origin = self._source(item, _tree(source))
        return r.Engine(str(name), str(nki), ghz, reading, writing, unaligned is None, origin)

    def _starts(self, item: _Item) -> r.StartRule:
        low, high, *starts, source = _kids(item.node)
        legal = tuple(int(str(s)) for s in starts)
        return r.StartRule(int(str(low)), int(str(high)), legal, self._source(item, _tree(source)))

    def _dtype(self, item: _Item) -> tuple[r.DType, bool]:
        name, nki, size, kind, gate = _kids(item.node)
        return r.DType(str(name), str(nki), int(str(size)), str(kind)), self._available(_tree(gate))

    def _hardware(self) -> r.Hardware:
        dtypes = self._unique("dtype", self._dtype)
        return r.Hardware(
            generation=self.generation,
            limits=MappingProxyType(self._unique("device_limit", self._limit)),
            engines=MappingProxyType(self._unique("engine", self._engine)),
            starts=tuple(map(self._starts, _named(self.items, "starts"))),
            dtypes=MappingProxyType({n: d for n, (d, there) in dtypes.items() if there}),
        )

    def _vocabulary(self) -> None:
        assert self.hardware is not None
        all_dtypes = {str(_kids(i.node)[0]) for i in _named(self.items, "dtype")}
        for name in all_dtypes:
            self.dtype_sets[name] = (name,) if name in self.hardware.dtypes else ()
        for item in _named(self.items, "dtype_set"):
            self.dtype_sets[str(_kids(item.node)[0])] = self._dtypes(item, _tree(_kids(item.node)[1]))
        for item in self.items:
            if item.node.data in ("functions", "monoids"):
                self._class(item)

    def _dtypes(self, item: _Item, node: Node) -> tuple[str, ...]:
        out: dict[str, None] = {}
        for name in _strings(node):
            if name not in self.dtype_sets:
                raise item.fail(f"unknown dtype {name}", node, ", ".join(self.dtype_sets))
            out.update(dict.fromkeys(self.dtype_sets[name]))
        return tuple(out)

    def _class(self, item: _Item) -> None:
        name, base, *rest = _kids(item.node)
        kind: Literal["function", "monoid"] = "function" if item.node.data == "functions" else "monoid"
        table: Mapping[str, object] = FUNCTIONS if kind == "function" else MONOIDS
        if str(name) in self.classes or str(name) in _ATTRIBUTE_KINDS:
            raise item.fail(f"class {name} is described twice")
        members: dict[str, str] = {}
        ranges: dict[str, FunctionRange] = {}
        if base is not None:
            if str(base) not in self.classes:
                raise item.fail(f"unknown class {base}", accepted=", ".join(self.classes))
            members.update(self.classes[str(base)].members)
            ranges.update(self.classes[str(base)].ranges)
        for member in (m for m in rest if isinstance(m, Tree) and m.data == "member"):
            function, nki, gate, valid = _kids(member)
            if str(function) not in table:
                raise item.fail(f"unknown {kind} {function}", member, ", ".join(table))
            if not self._available(_tree(gate)):
                members.pop(str(function), None)
                continue
            members[str(function)] = str(nki)
            if valid is not None:
                magnitude, low, high = _kids(_tree(valid))
                ranges[str(function)] = FunctionRange(_bound(_tree(low)), _bound(_tree(high)), magnitude is not None)
        self.classes[str(name)] = FunctionClass(str(name), kind, MappingProxyType(members), MappingProxyType(ranges))

    def _instruction(self, item: _Item) -> Instruction:
        assert self.hardware is not None
        name, _gate, *body = (_tree(c) if isinstance(c, Tree) else c for c in _kids(item.node))
        clauses = [c for c in body if isinstance(c, Tree) and c.data != "form"]
        form_nodes = [c for c in body if isinstance(c, Tree) and c.data == "form"]
        out = _InstructionBuilder(self, item, str(name), self.hardware, clauses)
        return out.build(form_nodes)

    # Used by the instruction builder.

    def available(self, gate: Node | Token | None) -> bool:
        return self._available(_tree(gate))

    def source(self, item: _Item, node: Node | Token | None) -> str:
        return self._source(item, _tree(node))

    def spaces(self, item: _Item, node: Node | Token | None) -> tuple[str, ...]:
        return self._spaces(item, _tree(node))

    def dtypes(self, item: _Item, node: Node | Token | None) -> tuple[str, ...]:
        return self._dtypes(item, _tree(node))


def _bound(node: Node) -> float:
    text = str(_kids(node)[0])
    sign = -1.0 if text.startswith("-") else 1.0
    text = text.lstrip("-")
    if text.startswith("pi"):
        return sign * math.pi / float(text[3:] or 1)
    base, _, power = text.partition("^")
    return sign * float(base) ** float(power or 1)


class _NotHere(AxonError):
    """A clause names something that the form has not; fine for an instruction-wide clause, if another form has it."""


@dataclass
class _Placement:
    """Where an operand or a result may lie, and its dtypes."""

    spaces: tuple[str, ...]
    dtypes: tuple[str, ...]


@dataclass
class _InstructionBuilder:
    owner: _Builder
    item: _Item
    name: str
    hardware: r.Hardware
    clauses: list[Node]
    applied: set[int] = field(default_factory=set[int])
    idle: dict[int, AxonError] = field(default_factory=dict[int, AxonError])

    def build(self, form_nodes: list[Node]) -> Instruction:
        nki = self._word("nki")
        signature: list[Parameter] = []
        opened = {"name", "engine"}
        for clause in self.clauses:
            if clause.data == "signature":
                for p in _trees(clause, "parameter"):
                    default = _kids(p)[1]
                    text = None if default is None else _value_text(_tree(default))
                    signature.append(Parameter(str(_kids(p)[0]), text))
            elif clause.data == "open":
                opened.update(_strings(clause))
            elif clause.data == "call":
                raise self.item.fail("`call` belongs to a form", clause)
        if not signature:
            raise self.item.fail(f"instruction {self.name} has no signature")
        forms: list[Form] = []
        names: set[str] = set()
        left_out = False
        for node in form_nodes:
            form_name = str(_kids(node)[0])
            if form_name in names:
                raise self.item.fail(f"form {form_name} is described twice", node)
            names.add(form_name)
            gate = next(c for c in _kids(node) if isinstance(c, Tree) and c.data == "gate")
            if self.owner.available(gate):
                forms.append(_FormBuilder(self, node, signature).build())
            else:
                left_out = True
        if not forms:
            raise self.item.fail(f"instruction {self.name} has no form on generation {self.hardware.generation}")
        for number, error in self.idle.items():
            if number not in self.applied and not left_out:
                raise AxonError(error.message, where=error.where, accepted=error.accepted)
        return Instruction(
            name=self.name,
            nki=nki,
            where=self.item.where,
            summary=next((_quoted(_kids(c)[0]) for c in self.clauses if c.data == "summary"), ""),
            sources=tuple(self.owner.source(self.item, _kids(c)[0]) for c in self.clauses if c.data == "sources"),
            remarks=tuple(_quoted(_kids(c)[0]) for c in self.clauses if c.data == "remark"),
            signature=tuple(signature),
            open_parameters=frozenset(opened),
            forms=tuple(forms),
            hardware=self.hardware,
        )

    def _word(self, kind: str) -> str:
        found = next((c for c in self.clauses if c.data == kind), None)
        if found is None:
            raise self.item.fail(f"instruction {self.name} does not state `{kind}`")
        return str(_kids(found)[0])


def _elaborate(
    meaning: OpMeaning,
    operands: Iterable[OperandRule],
    functions: Mapping[str, FunctionClass],
    plain: Mapping[str, str],
    free: Iterable[str],
) -> None:
    """Tries the meaning on small shapes, so that an unknown name in it is found when the file is read."""
    operands = list(operands)
    if (
        any(kind != "index" for kind in plain.values())
        or not all(a.isalnum() for o in operands for a in o.axes)
        or not all(c.members for c in functions.values())
    ):
        return
    shapes = [[const(int(a) if a.isdigit() else 2) for a in o.axes] for o in operands]
    inputs = [tensor_input(o.name, shape) for o, shape in zip(operands, shapes, strict=True)]
    attributes: dict[str, object] = {n: next(iter(c.members)) for n, c in functions.items()}
    meaning.denote(inputs, {**attributes, **{name: const(2) for name in (*free, *plain)}})


_ATTRIBUTE_KINDS = ("int", "ints", "real", "index")


class _FormBuilder:
    def __init__(self, owner: _InstructionBuilder, node: Node, signature: list[Parameter]):
        self.owner = owner
        self.builder = owner.owner
        self.item = owner.item
        self.node = node
        self.signature = signature
        self.where = self.item.at(node)
        own = [c for c in _kids(node) if isinstance(c, Tree) and c.data in _CLAUSES]
        self.own = own
        self.tiles: set[str] = set()
        self.sizes: set[str] = set()
        self.attributes: set[str] = set()
        self.immediates: set[str] = set()

    def build(self) -> Form:
        node, item = self.node, self.item
        name = str(_kids(node)[0])
        heads = _trees(node, "operand_head")
        result_heads = _trees(node, "result_head")
        attribute_block = next(iter(_trees(node, "attributes")), None)
        functions: dict[str, FunctionClass] = {}
        plain: dict[str, str] = {}
        attribute_texts: list[str] = []
        for attribute in [] if attribute_block is None else _trees(attribute_block, "attribute"):
            key, kind = map(str, _kids(attribute))
            if kind in _ATTRIBUTE_KINDS:
                plain[key] = kind
                attribute_texts.append(f"{key}: {kind}")
            elif kind in self.builder.classes:
                functions[key] = self.builder.classes[kind]
                attribute_texts.append(f"{key}: {functions[key].kind}")
            else:
                accepted = ", ".join((*self.builder.classes, *_ATTRIBUTE_KINDS))
                raise item.fail(f"unknown class {kind}", attribute, accepted)
        self.attributes = {*functions, *plain}
        placements = self._placements()
        results: list[ResultRule] = []
        for head in result_heads:
            key, axes = str(_kids(head)[0]), _axes(_kids(head)[1])
            results.append(ResultRule(key, axes, *self._placement(placements, key, head)))
        operands: list[OperandRule] = []
        for head in heads:
            outs, key_token, shape = _kids(head)
            key = str(key_token)
            if shape is None:
                dtypes = placements[key].dtypes if key in placements else ("float32",)
                operands.append(OperandRule(key, "immediate", (), (), dtypes))
                continue
            axes = _axes(shape)
            if outs is None:
                operands.append(OperandRule(key, "tile", axes, *self._placement(placements, key, head)))
                continue
            number = sum(o.outs for o in operands)
            if number >= len(results):
                raise item.fail(f"outs operand {key} has no result to go with", head)
            tied = results[number]
            operands.append(OperandRule(key, "tile", axes, tied.spaces, tied.dtypes, True, tied.name))
            results[number] = replace(tied, tied=key)
        tiles = [x for x in (*operands, *results) if not (isinstance(x, OperandRule) and x.kind == "immediate")]
        self.tiles = {x.name for x in tiles}
        self.sizes = {a for x in tiles for a in x.axes if a.isidentifier()}
        self.immediates = {o.name for o in operands if o.kind == "immediate"}
        bound = {a for o in operands for a in o.axes}
        free = tuple(dict.fromkeys(a for x in results for a in x.axes if a.isidentifier() and a not in bound))
        attribute_texts += [f"{size}: index" for size in free]
        text = self._meaning_text(name, heads, attribute_texts, result_heads)
        try:
            meaning = parse_op(text)
            _elaborate(meaning, operands, functions, plain, free)
        except AxonError as error:
            message = f"{error.message} (in the meaning of form {name})"
            raise AxonError(message, where=self.where, accepted=error.accepted) from error
        return Form(
            name=name,
            instruction=self.owner.name,
            text=text.removeprefix("op "),
            where=self.where,
            meaning=meaning,
            operands=tuple(operands),
            results=tuple(results),
            functions=MappingProxyType(functions),
            numbers=MappingProxyType(plain),
            free_sizes=free,
            engine_rules=self._engines(),
            exact_rules=tuple(self._each("exact", self._exact)),
            identities=tuple(self._each("identity", lambda clause: self._identity(clause, {o.name for o in operands}))),
            rules=tuple(self._rules()),
            costs=tuple(self._costs()),
            call=self._call({o.name: o for o in operands}, {x.name for x in results}),
            hardware=self.owner.hardware,
        )

    def _meaning_text(self, name: str, heads: list[Node], attributes: list[str], results: list[Node]) -> str:
        operands = ", ".join(f"{_kids(h)[1]}{'' if _kids(h)[2] is None else _kids(h)[2]}" for h in heads)
        shown = f" <{', '.join(attributes)}>" if attributes else ""
        outputs = ", ".join(f"{_kids(h)[0]}{_kids(h)[1]}" for h in results)
        equations = next(str(c) for c in _kids(self.node) if isinstance(c, Token) and c.type == "EQUATIONS")
        equations = " ".join(re.sub(r"#[^\n]*", "", equations).split())
        return f"op {name}({operands}){shown} -> {outputs} {equations}"

    def _placements(self) -> dict[str, _Placement]:
        """The last applicable statement of each level counts; the form's come after the instruction's."""
        out: dict[str, _Placement] = {}
        for clause in (*self.owner.clauses, *self.own):
            if clause.data in ("operand", "result"):
                key, spaces, dtypes, gate = _kids(clause)
                if self.builder.available(gate):
                    there = () if spaces is None else self.builder.spaces(self.item, spaces)
                    out[str(key)] = _Placement(there, self.builder.dtypes(self.item, dtypes))
        return out

    def _placement(
        self, placements: Mapping[str, _Placement], name: str, node: Node
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        found = placements.get(name)
        if found is None or not found.spaces:
            raise self.item.fail(f"no `operand` or `result` line says where {name} lies", node)
        return found.spaces, found.dtypes

    def _conditions(self, node: Node | Token | None) -> tuple[r.Condition, ...]:
        if node is None:
            return ()
        out: list[r.Condition] = []
        for c in _kids(_tree(node)):
            condition = _tree(c)
            negated, name, _word, names = _kids(condition)
            key = str(name)
            if condition.data == "in_space":
                self._need(key, self.tiles, "tile", condition)
                values = self.builder.spaces(self.item, names)
                out.append(r.Condition(key, "in", values, negated is not None))
                continue
            known = {*self.tiles, *self.attributes, *(p.name for p in self.signature)}
            self._need(key, known, "tile, attribute or parameter", condition)
            values = tuple(_strings(_tree(names)))
            if key in self.tiles:
                values = self.builder.dtypes(self.item, names)
            out.append(r.Condition(key, "is", values, negated is not None))
        return tuple(out)

    def _need(self, name: str, known: Iterable[str], what: str, node: Node) -> None:
        if name not in known:
            error = self.item.fail(f"unknown {what} {name}", node, ", ".join(sorted(known)))
            raise _NotHere(error.message, where=error.where, accepted=error.accepted)

    def _engine(self, name: str, node: Node) -> None:
        if name not in self.owner.hardware.engines:
            raise self.item.fail(f"unknown engine {name}", node, ", ".join(self.owner.hardware.engines))

    def _each(self, kind: str, build: Callable[[Node], T | None]) -> Iterator[T]:
        """Builds the clauses of a kind: the form's own, then those of the instruction that concern this form."""
        for clause in self.own:
            if clause.data == kind and (built := build(clause)) is not None:
                yield built
        for number, clause in enumerate(self.owner.clauses):
            if clause.data != kind:
                continue
            try:
                built = build(clause)
            except _NotHere as error:
                self.owner.idle.setdefault(number, error)
                continue
            self.owner.applied.add(number)
            if built is not None:
                yield built

    def _expression(self, node: Node | Token | None) -> r.Expr:
        tree = _tree(node)
        match tree.data:
            case "integer":
                return r.Number(float(str(_kids(tree)[0])))
            case "reference":
                name = str(_kids(tree)[0])
                self._need(name, {*self.sizes, *self.owner.hardware.limits}, "size or limit", tree)
                return r.Reference(name)
            case "function":
                function, *args = _kids(tree)
                if str(function) in r.TILE_FUNCTIONS:
                    arg = _tree(args[0])
                    key = str(_kids(arg)[0])
                    self._need(key, self.tiles, "tile", arg)
                    return r.Call(str(function), (r.Reference(key),))
                if str(function) not in r.NUMBER_FUNCTIONS:
                    accepted = ", ".join((*r.NUMBER_FUNCTIONS, *r.TILE_FUNCTIONS))
                    raise self.item.fail(f"unknown function {function}", tree, accepted)
                return r.Call(str(function), tuple(map(self._expression, args)))
            case _:
                out = self._expression(_kids(tree)[0])
                for sign, right in zip(_kids(tree)[1::2], _kids(tree)[2::2], strict=True):
                    out = r.Call(str(sign), (out, self._expression(right)))
                return out

    def _engines(self) -> tuple[r.EngineRule, ...]:
        def build(clause: Node) -> r.EngineRule | None:
            names, gate, when = _kids(clause)
            for engine in _strings(_tree(names)):
                self._engine(engine, clause)
            if not self.builder.available(gate):
                return None
            return r.EngineRule(tuple(_strings(_tree(names))), self._conditions(when))

        own = [c for c in self.own if c.data == "engines"]
        out = [x for c in own if (x := build(c))] if own else list(self._each("engines", build))
        if not out:
            raise self.item.fail("no `engines` line says where the form runs", self.node)
        return tuple(out)

    def _exact(self, clause: Node) -> r.ExactRule:
        names, engine, source = _kids(clause)
        self._engine(str(engine), clause)
        return r.ExactRule(
            self.builder.dtypes(self.item, _tree(names)), str(engine), self.builder.source(self.item, source)
        )

    def _identity(self, clause: Node, operands: set[str]) -> str:
        name, source = _kids(clause)
        self.builder.source(self.item, source)
        if str(name) not in operands:
            raise self.item.fail(f"{name} is no operand", clause)
        return str(name)

    def _rules(self) -> Iterator[r.Rule]:
        def build(clause: Node) -> r.Rule | None:
            rule = _tree(_kids(clause)[0])
            *parts, gate, when, source = _kids(rule)
            if not self.builder.available(gate):
                return None
            return self._rule(rule, parts, self._conditions(when), self.builder.source(self.item, source))

        return self._each("rule", build)

    def _rule(self, rule: Node, parts: list[Any], when: tuple[r.Condition, ...], source: str) -> r.Rule:
        names = tuple(str(p) for p in parts if isinstance(p, Token))
        for name in names[1:] if rule.data == "at_most_one" else names:
            self._need(name, self.tiles | self.immediates if rule.data == "kind" else self.tiles, "operand", rule)
        match rule.data:
            case "bound_rule":
                return r.BoundRule(self._expression(parts[0]), self._expression(parts[1]), when, source)
            case "at_most_one":
                if names[0] not in r.SPACES:
                    raise self.item.fail(f"unknown memory space {names[0]}", rule, ", ".join(r.SPACES))
                return r.AtMostOneRule(names[0], names[1:], when, source)
            case "same_dtype":
                return r.SameDTypeRule(names, when, source)
            case "pairs":
                return r.PairsRule(self.builder.dtypes(self.item, parts[0]), names, when, source)
            case "excludes":
                return r.ExcludesRule(self.builder.dtypes(self.item, parts[0]), names, when, source)
            case "kind":
                return r.KindRule(names[0], names[1], when, source)
            case _:
                return r.FreeSizeRule(names, when, source)

    def _costs(self) -> Iterator[r.CostRule]:
        def build(clause: Node) -> r.CostRule | None:
            engine, expression, gate, when, source = _kids(clause)
            self._engine(str(engine), clause)
            if not self.builder.available(gate):
                return None
            conditions, origin = self._conditions(when), self.builder.source(self.item, source)
            return r.CostRule(str(engine), self._expression(expression), conditions, origin)

        return self._each("cost", build)

    def _call(self, operands: Mapping[str, OperandRule], results: set[str]) -> tuple[tuple[str, CallArg], ...]:
        clause = next((c for c in self.own if c.data == "call"), None)
        if clause is None:
            raise self.item.fail("the form has no `call`", self.node)
        parameters = {p.name for p in self.signature}

        def reference(name: str) -> CallReference | None:
            if name in operands:
                return CallReference("operand", name)
            if name in results:
                return CallReference("result", name)
            if name in self.attributes:
                return CallReference("attribute", name)
            return CallReference("size", name) if name in self.sizes else None

        def value(node: Node) -> CallArg:
            match node.data:
                case "literal":
                    return CallConstant(str(_kids(node)[0]))
                case "word":
                    name = str(_kids(node)[0])
                    found = reference(name)
                    if found is None and name not in ("True", "False", "None"):
                        known = sorted({*operands, *results, *self.attributes, *self.sizes})
                        raise self.item.fail(f"unknown name {name} in the call", node, ", ".join(known))
                    return found or CallConstant(name)
                case "rows":
                    index, tensor = map(str, _kids(node))
                    for name in (index, tensor):
                        self._need(name, operands, "operand", node)
                    return CallRows(index, tensor)
                case _:
                    items = tuple(value(_tree(c)) for c in _kids(node) if c is not None)
                    if all(isinstance(i, CallConstant) for i in items):
                        return CallConstant(_value_text(node))
                    return CallSequence(items, "[]" if node.data == "list" else "()")

        out: list[tuple[str, CallArg]] = []
        for call_item in _trees(clause, "call_item"):
            keyword, given = _kids(call_item)
            key = str(keyword)
            self._need(key, parameters, "parameter", call_item)
            if given is None:
                found = reference(key)
                if found is None:
                    raise self.item.fail(f"{key} is no operand, result or attribute of the form", call_item)
                out.append((key, found))
                continue
            args = [value(_tree(c)) for c in _kids(_tree(given))]
            first, *others = args
            if others and isinstance(first, CallConstant):
                first = replace(first, others=tuple(o.text for o in others if isinstance(o, CallConstant)))
            out.append((key, first))
        passed = {a.name for _, a in out if isinstance(a, CallReference)}
        passed |= {i.name for _, a in out if isinstance(a, CallSequence) for i in _references(a)}
        passed |= {n for _, a in out if isinstance(a, CallRows) for n in (a.index, a.tensor)}
        for name in (*(n for n, o in operands.items() if not o.outs), *results, *self.attributes):
            if name not in passed:
                raise self.item.fail(f"the call does not pass {name}", clause)
        missing = [p.name for p in self.signature if p.default is None and p.name not in dict(out)]
        if missing:
            raise self.item.fail(f"the call lacks the argument {missing[0]}", clause)
        return tuple(out)


_CLAUSES = ("engines", "exact", "identity", "operand", "result", "rule", "cost", "call")
"""Clauses that a form may have; the others belong to the instruction."""


def _references(arg: CallArg) -> Iterator[CallReference]:
    match arg:
        case CallReference():
            yield arg
        case CallSequence(items):
            for item in items:
                yield from _references(item)
        case CallConstant() | CallRows():
            return


def _axes(shape: Node | Token | None) -> tuple[str, ...]:
    return tuple(part.strip() for part in str(shape)[1:-1].split(","))


def _value_text(node: Node) -> str:
    """Source text of a literal value."""
    if node.data in ("list", "tuple"):
        inner = [_value_text(_tree(c)) for c in _kids(node) if c is not None]
        if node.data == "list":
            return f"[{', '.join(inner)}]"
        return f"({', '.join(inner)}{',' if len(inner) == 1 else ''})"
    return str(_kids(node)[0])
