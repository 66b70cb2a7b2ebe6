# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The meaning of an operation, as text, and what is read off it: result shapes, terms, values.

```
op matmul(a[M, K], b[K, N]) -> c[M, N] { c[m, n] = sum(k < K: a[m, k] * b[k, n]) }
op transpose(a[S...]) <perm: ints> -> c[S... @ perm] { c[s...] = a[s... @ inverse perm] }
op reduce(a[S...]) <m: monoid, axes: ints> -> c[drop(S, axes)...]
    { c[s...] = fold<m>(r... < pick(S, axes)...: a[weave(s, r, axes)...]) }
```

Capitals in operand shapes are sizes, bound by the operands; `S...` is a pack of sizes (`B...{n}` has as many as the
attribute n says, a pack without a length takes the axes that are left); a number is a literal axis. Left-hand sides
name the index of every axis, `0` at a literal unit axis. In expressions a name is a size, an index, an attribute or a
rank-0 operand; scalar functions are called by their name in the table or through an attribute of kind `function`.
Packs: `S... @ perm`, `S... @ inverse perm`, `drop(S, axes)`, `pick(S, axes)`, `weave(s, r, axes)` (r at the axes, s
elsewhere), `unit(s, S)` (0 where the size is literally 1), `linear(s, S)` (row-major position, an index),
`unlinear(i, S)` (its inverse, a pack), `put(s, axis, i)` (index i at the axis), `at(s, axis)`, elementwise + - * // %.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from importlib import resources
from typing import Any, cast

import numpy as np
from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedInput

from axon_mlir.errors import AxonError
from axon_mlir.semantics import terms as t
from axon_mlir.semantics.domains import Domain
from axon_mlir.semantics.evaluate import stage
from axon_mlir.semantics.functions import FUNCTIONS, MONOIDS
from axon_mlir.semantics.index import Index, Size, Var, const, fresh_var, index, maximum, minimum, of_var

Shape = tuple[Index, ...]
Attributes = Mapping[str, Any]
Node = Tree[Token] | Token

ATTRIBUTE_KINDS = ("int", "ints", "real", "function", "monoid", "index", "indices")
"""int: an axis or count; ints: a tuple of them; real: a number or scalar term; function, monoid: a name of the tables;
index: an index term; indices: a tuple of them (a shape, offsets)."""


class MeaningError(AxonError):
    """A meaning that is malformed, or operands that do not fit it."""


@dataclass(frozen=True)
class Access:
    """A tensor name with one shape or index item per axis."""

    name: str
    items: tuple[Node, ...]


@dataclass(frozen=True)
class OpMeaning:
    """A parsed meaning."""

    name: str
    operands: tuple[Access, ...]
    attributes: tuple[tuple[str, str], ...]
    """(name, kind)."""
    results: tuple[Access, ...]
    equations: tuple[tuple[Access, Node], ...]
    text: str

    def __hash__(self) -> int:
        return hash(self.text)

    def infer(self, shapes: Sequence[Shape], attributes: Attributes) -> list[Shape]:
        """Result shapes; raises MeaningError when the operands do not fit."""
        scope = _Scope(self, shapes, attributes)
        return [scope.shape(r) for r in self.results]

    def denote(self, operands: Sequence[t.Comprehension], attributes: Attributes) -> list[t.Comprehension]:
        """One comprehension per result; element types are left open."""
        scope = _Scope(self, [o.shape for o in operands], attributes)
        for access, value in zip(self.operands, operands, strict=True):
            scope.reads[access.name] = value.at
        return [self._result(scope, i) for i in range(len(self.results))]

    def _result(self, scope: _Scope, number: int) -> t.Comprehension:
        access, expression = self.equations[number]
        shape = scope.shape(self.results[number])
        variables = scope.bind_indices(access, self.results[number])
        return t.Comprehension(shape, variables, scope.scalar(expression))

    def evaluate(self, arrays: Sequence[np.ndarray], attributes: Attributes, domain: Domain) -> list[np.ndarray]:
        """Result values over a domain. Arrays hold elements of the domain."""
        return self.stage(tuple(a.shape for a in arrays), attributes, domain)(arrays)

    def stage(
        self, shapes: tuple[tuple[int, ...], ...], attributes: Attributes, domain: Domain
    ) -> Callable[[Sequence[np.ndarray]], list[np.ndarray]]:
        """What computes the result values from arrays of these shapes."""
        names = [o.name for o in self.operands]
        known = dict(zip(names, shapes, strict=True))
        codes = [stage(r, known, {}, domain) for r in _concrete(self, shapes, frozen(attributes))]

        def staged(arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
            named = dict(zip(names, arrays, strict=True))
            return [np.array(code(named), order="C") for code in codes]

        return staged


def frozen(attributes: Attributes) -> tuple[tuple[str, Any], ...]:
    """Attributes as a key."""
    return tuple(sorted((k, tuple(cast("list[Any]", v)) if isinstance(v, list) else v) for k, v in attributes.items()))


@lru_cache(maxsize=65536)
def _concrete(
    meaning: OpMeaning, shapes: tuple[tuple[int, ...], ...], attributes: tuple[tuple[str, Any], ...]
) -> list[t.Comprehension]:
    operands = [
        t.tensor_input(o.name, [const(int(n)) for n in shape])
        for o, shape in zip(meaning.operands, shapes, strict=True)
    ]
    return meaning.denote(operands, dict(attributes))


@lru_cache(maxsize=1)
def _parser() -> Lark:
    grammar = resources.files("axon_mlir.semantics").joinpath("meaning.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", start=["op", "expr"], maybe_placeholders=True)


def _syntax_error(text: str, e: UnexpectedInput) -> MeaningError:
    return MeaningError(
        f"meaning '{' '.join(text.split())}' does not parse at line {e.line}, column {e.column}: {e.get_context(text)}"
    )


def _parse(text: str, start: str) -> Tree[Token]:
    parser: Any = _parser()
    try:
        return cast("Tree[Token]", parser.parse(text, start=start))
    except UnexpectedInput as e:
        raise _syntax_error(text, e) from e


def _access(tree: Node) -> Access:
    assert isinstance(tree, Tree)
    name, items = tree.children
    return Access(str(name), tuple(items.children) if isinstance(items, Tree) else ())


def _children(tree: Node | None) -> list[Node]:
    return list(tree.children) if isinstance(tree, Tree) else []


@cache
def parse_op(text: str) -> OpMeaning:
    """Parse `op name(operands) <attributes> -> results { equations }`; MeaningError when malformed."""
    tree = _parse(text, "op")
    name, operands, attributes, results, equations = tree.children
    kinds = tuple((str(a.children[0]), str(a.children[1])) for a in _children(attributes) if isinstance(a, Tree))
    for attribute, kind in kinds:
        if kind not in ATTRIBUTE_KINDS:
            raise MeaningError(
                f"op {name}: attribute '{attribute}' has unknown kind '{kind}'", accepted=", ".join(ATTRIBUTE_KINDS)
            )
    parsed = tuple((_access(e.children[0]), e.children[1]) for e in _children(equations) if isinstance(e, Tree))
    declared = tuple(_access(r) for r in _children(results))
    if [r.name for r in declared] != [e[0].name for e in parsed]:
        raise MeaningError(
            f"op {name}: one equation per result, in order", accepted=", ".join(r.name for r in declared)
        )
    for result, (left, _) in zip(declared, parsed, strict=True):
        if len(result.items) != len(left.items):
            raise MeaningError(f"op {name}: the equation of {left.name} indexes another rank than its result")
        named = [str(i.children[0]) for i in left.items if isinstance(i, Tree) and i.data == "name"]
        if len(set(named)) != len(named):
            raise MeaningError(f"op {name}: the equation of {left.name} names an index twice")
    given = tuple(_access(o) for o in _children(operands))
    if len({o.name for o in given}) != len(given):
        raise MeaningError(f"op {name}: two operands have one name")
    return OpMeaning(str(name), given, kinds, declared, parsed, text)


def parse_scalar(text: str, names: Callable[[str], t.Term | None]) -> t.Term:
    """A scalar expression on its own; `names` says what a name is."""
    tree = _parse(text, "expr")
    scope = _Scope(None, [], {})
    scope.outer = names
    return scope.scalar(tree)


OPEN = "?"
"""Prefix of a function or monoid that is given for an attribute and left open: `filled` puts one in its place."""


def applied(function: str, args: tuple[t.Term, ...]) -> t.Term:
    """A scalar function of arguments; notation is its definition."""
    known = FUNCTIONS[function]
    if not known.notation:
        return t.Apply(function, args)
    env = dict(zip("xyz", args, strict=False))
    return t.substitute(_notation(function), {}, lambda r: env.get(r.tensor, r))


def filled(x: t.Term, chosen: Mapping[str, str]) -> t.Term:
    """A term with functions and monoids in place of what was left open."""
    match x:
        case t.Apply(f, args):
            inner = tuple(filled(a, chosen) for a in args)
            return applied(chosen[f], inner) if f.startswith(OPEN) else t.Apply(f, inner)
        case t.Fold(m, v, n, body):
            return t.Fold(chosen.get(m, m), v, n, filled(body, chosen))
        case t.Select(c, a, b):
            condition = t.with_comparisons(c, lambda one: _filled(one, chosen))
            return t.select(condition, filled(a, chosen), filled(b, chosen))
        case _:
            return x


def _filled(c: t.Comparison, chosen: Mapping[str, str]) -> t.Condition:
    match c:
        case t.RealCompare(r, a, b):
            return t.RealCompare(r, filled(a, chosen), filled(b, chosen))
        case t.IndexCompare():
            return c


@cache
def _notation(function: str) -> t.Term:
    """The definition of a function that is notation, over reads of x, y and z."""
    return parse_scalar(FUNCTIONS[function].definition or "", lambda name: t.Read(name, ()))


_Pack = tuple[Index, ...]


class _Scope:
    """Elaboration of the syntax tree under bound sizes, indices and attributes."""

    def __init__(self, meaning: OpMeaning | None, shapes: Sequence[Shape], attributes: Attributes):
        self.meaning = meaning
        self.name = meaning.name if meaning else "expression"
        self.sizes: dict[str, Index | _Pack] = {}
        self.indices: dict[str, Index | _Pack] = {}
        self.reads: dict[str, Callable[[Sequence[Index]], t.Term]] = {}
        self.attributes = attributes
        self.outer: Callable[[str], t.Term | None] | None = None
        if meaning:
            for attribute, _ in meaning.attributes:
                if attribute not in attributes:
                    raise self.error(f"attribute '{attribute}' is missing")
            if len(shapes) != len(meaning.operands):
                raise self.error(f"{len(meaning.operands)} operands expected, {len(shapes)} given")
            for access, shape in zip(meaning.operands, shapes, strict=True):
                self.bind_shape(access, shape)

    def error(self, message: str, accepted: str | None = None) -> MeaningError:
        return MeaningError(f"{self.name}: {message}", accepted=accepted)

    # -- binding -------------------------------------------------------------------------------------------------

    def bind_shape(self, access: Access, shape: Shape) -> None:
        rest = list(shape)

        def refuse(why: str) -> MeaningError:
            dims = ", ".join(map(str, shape))
            return self.error(f"operand {access.name} of shape [{dims}] does not fit: {why}")

        for position, item in enumerate(access.items):
            if isinstance(item, Tree) and item.data in ("pack", "sized_pack"):
                name = _name_of(item.children[0])
                known = self.sizes.get(name)
                if item.data == "sized_pack":
                    length = int(self.attribute(str(item.children[1])))
                elif isinstance(known, tuple):
                    length = len(known)
                else:
                    length = len(rest) - (len(access.items) - position - 1)
                if length < 0 or length > len(rest):
                    raise refuse(f"its rank is {len(shape)}")
                found = tuple(rest[:length])
                del rest[:length]
                if known is not None and known != found:
                    expected = ", ".join(map(str, known)) if isinstance(known, tuple) else str(known)
                    raise refuse(f"[{expected}] expected")
                self.sizes[name] = found
                continue
            if not rest:
                raise refuse(f"its rank is {len(shape)}, {len(access.items)} expected")
            actual = rest.pop(0)
            if isinstance(item, Tree) and item.data == "name":
                name = str(item.children[0])
                known = self.sizes.setdefault(name, actual)
                if known != actual:
                    raise refuse(f"axis {position} is {actual}, but {name} is {known}")
            elif self.index_of(item) != actual:
                raise refuse(f"axis {position} is {actual}, but must be {self.index_of(item)}")
        if rest:
            raise refuse(f"its rank is {len(shape)}")

    def shape(self, access: Access) -> Shape:
        return tuple(d for item in access.items for d in self.items_of(item))

    def bind_indices(self, left: Access, result: Access) -> tuple[Var, ...]:
        out: list[Var] = []
        for item, size_item in zip(left.items, result.items, strict=True):
            length = len(self.items_of(size_item))
            if isinstance(item, Tree) and item.data == "pack":
                name = _name_of(item.children[0])
                made = tuple(fresh_var(f"{name}{n}") for n in range(length))
                self.indices[name] = tuple(map(of_var, made))
                out.extend(made)
            elif isinstance(item, Tree) and item.data == "name":
                made_one = fresh_var(str(item.children[0]))
                self.indices[str(item.children[0])] = of_var(made_one)
                out.append(made_one)
            else:
                if self.items_of(item) != (const(0),) or self.items_of(size_item) != (const(1),):
                    raise self.error(
                        f"the equation of {left.name} names no index of an axis", accepted="0 at an axis of size 1"
                    )
                out.append(fresh_var("u"))
        return tuple(out)

    def attribute(self, name: str) -> Any:
        if name not in self.attributes:
            raise self.error(f"'{name}' is not an attribute")
        return self.attributes[name]

    # -- indices and packs ---------------------------------------------------------------------------------------

    def items_of(self, node: Node) -> _Pack:
        """One index, or a pack spread out."""
        if isinstance(node, Tree) and node.data in ("pack", "sized_pack", "permute", "permute_inverse"):
            return self.pack_of(node)
        return (self.index_of(node),)

    def pack_of(self, node: Node) -> _Pack:
        value = self.value_of(node)
        if not isinstance(value, tuple):
            raise self.error(f"a pack is expected, not '{value}'")
        return value

    def index_of(self, node: Node) -> Index:
        value = self.value_of(node)
        if not isinstance(value, Index):
            raise self.error("an index is expected, not a pack")
        return value

    def value_of(self, node: Node) -> Index | _Pack:
        if not isinstance(node, Tree):
            raise self.error(f"unexpected '{node}'")
        kids = node.children
        match node.data:
            case "number":
                return const(int(str(kids[0])))
            case "name":
                return self.named(str(kids[0]))
            case "pack" | "sized_pack":
                return self.value_of(kids[0])
            case "permute" | "permute_inverse":
                source = self.pack_of(kids[0])
                perm: tuple[int, ...] = tuple(self.attribute(str(kids[1])))
                if sorted(perm) != list(range(len(source))):
                    raise self.error(f"{list(perm)} does not permute {len(source)} axes")
                if node.data == "permute":
                    return tuple(source[p] for p in perm)
                return tuple(source[perm.index(p)] for p in range(len(perm)))
            case "neg":
                value = self.value_of(kids[0])
                return tuple(-v for v in value) if isinstance(value, tuple) else -value
            case "add" | "sub" | "mul" | "floordiv" | "mod":
                return self.arithmetic(str(node.data), self.value_of(kids[0]), self.value_of(kids[1]))
            case "call":
                try:
                    return self.pack_call(str(kids[0]), _children(kids[1]))
                except (IndexError, ValueError) as e:
                    raise self.error(f"'{kids[0]}' does not fit its arguments: {e}") from e
            case other:
                raise self.error(f"'{other}' is not index arithmetic")

    def arithmetic(self, op: str, a: Index | _Pack, b: Index | _Pack) -> Index | _Pack:
        if isinstance(a, tuple) or isinstance(b, tuple):
            n = len(a) if isinstance(a, tuple) else len(b) if isinstance(b, tuple) else 0
            left = a if isinstance(a, tuple) else (a,) * n
            right = b if isinstance(b, tuple) else (b,) * n
            if len(left) != len(right):
                raise self.error("packs of different lengths meet")
            return tuple(_INDEX_OPERATORS[op](x, self.divisor(op, y)) for x, y in zip(left, right, strict=True))
        b = self.divisor(op, b)
        return _INDEX_OPERATORS[op](a, b)

    def divisor(self, op: str, b: Index) -> Index:
        """The right operand; of a division it is positive."""
        if op in ("floordiv", "mod") and b.constant is not None and b.constant < 1:
            raise self.error(f"a division by {b}; a divisor is positive")
        return b

    def named(self, name: str) -> Index | _Pack:
        found = self.outer(name) if self.outer is not None else None
        if isinstance(found, t.IndexValue):
            return found.index
        for table in (self.indices, self.sizes):
            if name in table:
                return table[name]
        if name in self.attributes:
            value = self.attributes[name]
            if isinstance(value, list | tuple):
                return tuple(index(v) for v in cast("Sequence[Index | int]", value))
            if isinstance(value, int | Index):
                return index(value)
        raise self.error(f"'{name}' is not a size, an index or an index attribute")

    def ints(self, node: Node) -> tuple[int, ...]:
        """Axis numbers: an attribute of kind ints or int, or a literal."""
        if isinstance(node, Tree) and node.data == "number":
            return (int(str(node.children[0])),)
        value = self.attribute(_name_of(node))
        return tuple(cast("Sequence[int]", value)) if isinstance(value, list | tuple) else (int(value),)

    def pack_call(self, function: str, args: list[Node]) -> Index | _Pack:
        match function:
            case "min" | "max":
                values = [self.index_of(a) for a in args]
                return minimum(*values) if function == "min" else maximum(*values)
            case "drop":
                pack, axes = self.pack_of(args[0]), self.ints(args[1])
                return tuple(d for n, d in enumerate(pack) if n not in axes)
            case "pick":
                pack = self.pack_of(args[0])
                try:
                    return tuple(pack[a] for a in self.ints(args[1]))
                except IndexError as e:
                    raise self.error(f"axes {self.ints(args[1])} of a tensor of rank {len(pack)}") from e
            case "weave":
                outer, inner, axes = list(self.pack_of(args[0])), self.pack_of(args[1]), self.ints(args[2])
                for axis, i in sorted(zip(axes, inner, strict=True)):
                    outer.insert(axis, i)
                return tuple(outer)
            case "unit":
                pack, sizes = self.pack_of(args[0]), self.pack_of(args[1])
                return tuple(const(0) if d == 1 else i for i, d in zip(pack, sizes, strict=True))
            case "linear":
                total = const(0)
                for i, d in zip(self.pack_of(args[0]), self.pack_of(args[1]), strict=True):
                    total = total * d + i
                return total
            case "unlinear":
                rest, out = self.index_of(args[0]), list[Index]()
                sizes = self.pack_of(args[1])
                for d in reversed(sizes[1:]):
                    out.append(rest % d)
                    rest = rest // d
                return tuple([rest, *reversed(out)][: len(sizes)]) if sizes else ()
            case "put":
                pack, (axis,) = list(self.pack_of(args[0])), self.ints(args[1])
                pack[axis] = self.index_of(args[2])
                return tuple(pack)
            case "at":
                pack, (axis,) = self.pack_of(args[0]), self.ints(args[1])
                return pack[axis]
            case _:
                raise self.error(f"'{function}' is not a function of indices or packs")

    # -- scalars -------------------------------------------------------------------------------------------------

    def scalar(self, node: Node) -> t.Term:
        if not isinstance(node, Tree):
            raise self.error(f"unexpected '{node}'")
        kids = node.children
        match node.data:
            case "number":
                return t.Const(Fraction(str(kids[0])))
            case "infinity":
                return t.Const("inf")
            case "name":
                return self.scalar_name(str(kids[0]))
            case "read":
                name = str(kids[0])
                if name not in self.reads:
                    raise self.error(f"'{name}' is not an operand")
                return self.read(name, [i for item in _children(kids[1]) for i in self.items_of(item)])
            case "add" | "sub" | "mul" if (found := self.position(node)) is not None:
                return found
            case "add" | "sub" | "mul" | "div":
                return t.Apply(str(node.data), (self.scalar(kids[0]), self.scalar(kids[1])))
            case "floordiv" | "mod":
                return t.index_value(self.index_of(node))
            case "neg":
                inner = self.scalar(kids[0])
                if isinstance(inner, t.Const):
                    return t.Const(
                        {"inf": "-inf", "-inf": "inf"}[inner.value] if isinstance(inner.value, str) else -inner.value
                    )
                return t.Apply("neg", (inner,))
            case "call":
                return self.call(str(kids[0]), _children(kids[1]))
            case "fold" | "attribute_fold":
                return self.fold_of(node)
            case "select":
                condition, then, otherwise = kids
                return t.select(self.condition(condition), self.scalar(then), self.scalar(otherwise))
            case other:
                raise self.error(f"'{other}' is not a scalar expression")

    def position(self, node: Node) -> t.Term | None:
        """Arithmetic of nothing but sizes, indices and whole numbers, as the one index that it is."""
        if self.outer is not None or not _may_be_index(node):
            return None
        try:
            return t.index_value(self.index_of(node))
        except MeaningError:
            return None

    def read(self, name: str, indices: list[Index]) -> t.Term:
        try:
            return self.reads[name](indices)
        except ValueError as e:
            raise self.error(f"operand {name}: {e}") from e

    def scalar_name(self, name: str) -> t.Term:
        if self.outer is not None:
            found = self.outer(name)
            if found is not None:
                return found
        if name in self.reads:
            return self.read(name, [])
        if name in self.attributes and name not in self.indices and name not in self.sizes:
            value = self.attributes[name]
            if isinstance(value, Index):
                return t.index_value(value)
            if isinstance(value, float | int | Fraction):
                return t.number(value)
            if isinstance(value, t.Const | t.IndexValue | t.Read | t.Apply | t.Fold | t.Select):
                return value
        value = self.named(name)
        if isinstance(value, tuple):
            raise self.error(f"the pack '{name}' is not a scalar")
        return t.index_value(value)

    def call(self, name: str, args: list[Node]) -> t.Term:
        if name in ("at", "linear"):
            return t.index_value(self.index_of(Tree("call", [Token("NAME", name), Tree("items", list(args))])))
        function = self.attributes.get(name, name)
        if isinstance(function, str) and function.startswith(OPEN):
            return t.Apply(function, tuple(self.scalar(a) for a in args))
        if not isinstance(function, str) or function not in FUNCTIONS:
            raise self.error(f"'{function}' is not a scalar function", accepted=", ".join(FUNCTIONS))
        if len(args) != FUNCTIONS[function].arity:
            raise self.error(f"'{function}' takes {FUNCTIONS[function].arity} arguments, {len(args)} given")
        return applied(function, tuple(self.scalar(a) for a in args))

    def fold_of(self, node: Tree[Token]) -> t.Term:
        head, range_, body = node.children
        monoid = str(head) if node.data == "fold" else str(self.attribute(str(head)))
        if monoid not in MONOIDS and not monoid.startswith(OPEN):
            raise self.error(f"'{monoid}' is not a monoid", accepted=", ".join(MONOIDS))
        if not (isinstance(range_, Tree) and range_.data == "compare" and str(range_.children[1]) in ("<", "<=")):
            raise self.error("a fold needs a range", accepted="sum(k < K: ...), sum(k <= n: ...)")
        left, relation, right = range_.children
        if isinstance(left, Tree) and left.data == "pack":
            extents = self.pack_of(right)
            name = _name_of(left.children[0])
            made = tuple(fresh_var(f"{name}{n}") for n in range(len(extents)))
            value: Index | _Pack = tuple(map(of_var, made))
        else:
            extents = (self.index_of(right),)
            name = _name_of(left)
            made = (fresh_var(name),)
            value = of_var(made[0])
        outside = self.indices.get(name)
        self.indices[name] = value
        result = self.scalar(body)
        if outside is None:
            del self.indices[name]
        else:
            self.indices[name] = outside
        for v, n in reversed(list(zip(made, extents, strict=True))):
            result = t.fold(monoid, v, n + 1 if str(relation) == "<=" else n, result)
        return result

    def condition(self, node: Node) -> t.Condition:
        assert isinstance(node, Tree)
        match node.data:
            case "and_":
                return t.conj([self.condition(k) for k in node.children])
            case "or_":
                return t.disj([self.condition(k) for k in node.children])
            case "not_":
                return t.negate(self.condition(node.children[0]))
            case "compare":
                left, relation, right = node.children
                return self.compare(str(relation), left, right)
            case other:
                raise self.error(f"'{other}' is not a condition")

    def compare(self, relation: str, left: Node, right: Node) -> t.Condition:
        try:
            a, b = self.index_of(left), self.index_of(right)
        except MeaningError:
            x, y = self.scalar(left), self.scalar(right)
            match relation:
                case "<" | "<=" | "==":
                    return t.RealCompare(relation, x, y)
                case ">" | ">=":
                    return t.RealCompare("<" if relation == ">" else "<=", y, x)
                case _:
                    return t.negate(t.RealCompare("==", x, y))
        match relation:
            case "<":
                return t.less(a, b)
            case "<=":
                return t.at_most(a, b)
            case ">":
                return t.less(b, a)
            case ">=":
                return t.at_most(b, a)
            case "==":
                return t.equal(a, b)
            case _:
                return t.negate(t.equal(a, b))


def _may_be_index(node: Node) -> bool:
    """Whether a scalar expression has the form of an index."""
    if not isinstance(node, Tree):
        return False
    match node.data:
        case "number":
            return str(node.children[0]).isdigit()
        case "name":
            return True
        case "add" | "sub" | "mul" | "floordiv" | "mod" | "neg":
            return all(map(_may_be_index, node.children))
        case _:
            return False


def _name_of(node: Node) -> str:
    if isinstance(node, Tree) and node.data == "name":
        return str(node.children[0])
    raise MeaningError(f"a name is expected, not '{node}'")


_INDEX_OPERATORS: dict[str, Callable[[Index, Index], Index]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
}

__all__ = [
    "ATTRIBUTE_KINDS",
    "OPEN",
    "Access",
    "MeaningError",
    "OpMeaning",
    "Shape",
    "Size",
    "applied",
    "filled",
    "parse_op",
    "parse_scalar",
]
