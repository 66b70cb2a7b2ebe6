# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The symbolic execution of a kernel's statements: each loop for one iteration, each instruction as its operation."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from axon_mlir.dialects.trn_isa import DTYPES
from axon_mlir.errors import AxonError, UnsupportedError
from axon_mlir.frontend.nki_text.calls import Instructions
from axon_mlir.frontend.nki_text.memory import Places, Scope
from axon_mlir.frontend.nki_text.regions import pattern, rows, subscript
from axon_mlir.frontend.nki_text.source import KernelFile
from axon_mlir.frontend.nki_text.values import (
    SCALAR_NAMES,
    Flag,
    Frame,
    Function,
    Poison,
    Range,
    Real,
    Slice,
    Storage,
    Symbol,
    Value,
    View,
    number_term,
    positive,
    settled,
    unsupported,
    whole_view,
)
from axon_mlir.semantics import terms as t
from axon_mlir.semantics.index import Index, const, floor_div, maximum, minimum
from axon_mlir.targets import Device, Rows

BUFFERS = {
    "nl.sbuf": "sbuf",
    "nl.psum": "psum",
    "nl.hbm": "hbm",
    "nl.private_hbm": "hbm",
    "nl.shared_hbm": "hbm",
}
TILE_SIZES = {
    "pmax": "partitions",
    "gemm_stationary_fmax": "stationary_free",
    "gemm_moving_fmax": "moving_free",
    "psum_num_banks": "psum_banks",
    "psum_bank_fmax_bytes": "psum_bank_bytes",
}
"""Member of `nl.tile_size` -> limit of the device."""
RANGES = ("nl.affine_range", "nl.sequential_range", "nl.static_range")
FILLED = {"nl.zeros": Fraction(0), "nl.ones": Fraction(1), "nl.full": None}
BUILTINS = ("min", "max", "range", "len", "float", "int", "abs", "slice", "tuple", "list")
DEPTH = 16
"""Most calls of functions of the file inside each other."""


@dataclass
class Returned(Exception):
    """A function is over."""

    value: Value


class Execution:
    """Executes one kernel."""

    def __init__(self, file: KernelFile, device: Device, places: Places, sizes: Mapping[str, int]):
        self.file = file
        self.device = device
        self.places = places
        self.sizes = sizes
        self.scope = Scope(places, None, None, {})
        self.instructions = Instructions(device, places, sizes)
        self.variables: dict[str, Value] = {}
        self.globals: dict[str, Value] = {name: Function(f) for name, f in file.functions.items()}
        self.depth = 0
        self._dtypes = {d.nki: name for name, d in device.dtypes.items()}
        self._names = {described: name for name, described in DTYPES.items()}
        for node in file.constants:
            self.statement(node)
        self.globals |= self.variables
        self.variables = {}

    def fail(self, message: str, accepted: str | None = None) -> UnsupportedError:
        """What is not read, at the current line."""
        return unsupported(message, self.places.where, accepted)

    # -- statements ---------------------------------------------------------------------------------------------------

    def run(self, node: ast.FunctionDef, arguments: Sequence[Value]) -> Value:
        """Execute a function; what it returns."""
        self._bind_parameters(node, arguments, {})
        return self._body(node)

    def _bind_parameters(
        self, node: ast.FunctionDef, arguments: Sequence[Value], keywords: Mapping[str, Value]
    ) -> None:
        args = node.args
        for decorator in node.decorator_list:
            called = decorator.func if isinstance(decorator, ast.Call) else decorator
            if self.file.dotted(called) != "nki.jit":
                raise self.fail(f"a decorator of '{node.name}'", "nki.jit")
        if args.vararg is not None or args.kwarg is not None:
            raise self.fail(f"'{node.name}' takes any number of arguments", "named parameters")
        positional = [a.arg for a in (*args.posonlyargs, *args.args)]
        if len(arguments) > len(positional):
            raise self.fail(f"'{node.name}' takes {len(positional)} arguments, not {len(arguments)}")
        bound: dict[str, Value] = dict(zip(positional, arguments, strict=False))
        for name, value in keywords.items():
            if name in bound or name not in [*positional, *(a.arg for a in args.kwonlyargs)]:
                raise self.fail(f"'{node.name}' has no parameter '{name}' to give")
            bound[name] = value
        defaults = dict(zip(positional[len(positional) - len(args.defaults) :], args.defaults, strict=True))
        for a, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
            if default is not None:
                defaults[a.arg] = default
        for name in [*positional, *(a.arg for a in args.kwonlyargs)]:
            if name not in bound:
                if name not in defaults:
                    raise self.fail(f"'{node.name}' needs the argument '{name}'")
                bound[name] = self.value(defaults[name])
        for name in bound:
            self.check_name(name)
        self.variables = bound

    def _body(self, node: ast.FunctionDef) -> Value:
        around = self.scope
        try:
            self.block(node.body)
        except Returned as returned:
            if self.scope is not around:
                raise self.fail("a return inside a loop", "a return at the end of the function") from None
            return returned.value
        return None

    def block(self, statements: Sequence[ast.stmt]) -> None:
        """Execute statements."""
        for node in statements:
            self.statement(node)

    def statement(self, node: ast.stmt) -> None:
        """Execute one statement."""
        self.places.line = node.lineno
        try:
            self._statement(node)
        except AxonError as error:
            raise error.at(f"{self.file.name}:{node.lineno}")

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign(targets, value):
                found = self.value(value)
                for target in targets:
                    self.assign(target, found)
            case ast.AnnAssign(target, _, value) if value is not None:
                self.assign(target, self.value(value))
            case ast.AugAssign(ast.Name(name), op, value):
                self.variables[name] = self.arithmetic(op, self.name(name), self.value(value))
            case ast.Expr(ast.Constant()) | ast.Pass():
                pass
            case ast.Expr(ast.Call() as call):
                self.call(call)
            case ast.For(ast.Name(name), over, body, []):
                self.loop(name, over, body)
            case ast.If(test, body, orelse):
                self.block(body if self.truth(test) else orelse)
            case ast.Assert(test):
                if self.truth(test) is not True:
                    raise self.fail("an assertion that fails")
            case ast.Return(value):
                raise Returned(self.value(value) if value is not None else None)
            case _:
                raise self.fail(
                    f"a statement that is not read ({type(node).__name__.lower()})",
                    "assignments to names, for over range, calls of nki.isa, return",
                )

    def check_name(self, name: str) -> None:
        """A variable must not hide what a module is imported as."""
        if name in self.file.modules or name in self.file.members:
            raise self.fail(f"'{name}' is an import and a variable", "names that differ")

    def truth(self, node: ast.expr) -> bool:
        """A condition that does not depend on sizes."""
        found = self.value(node)
        if isinstance(found, bool):
            return found
        raise self.fail("a condition that depends on sizes or on the iteration", "straight code; min and max for ends")

    def assign(self, target: ast.expr, value: Value) -> None:
        """Bind a name, or several."""
        match target:
            case ast.Name(name):
                self.check_name(name)
                if isinstance(value, View) and value.whole and value.storage.label == "":
                    value.storage.label = name
                self.variables[name] = value
            case ast.Tuple(targets) | ast.List(targets):
                if not isinstance(value, tuple) or len(value) != len(targets):
                    raise self.fail(f"{len(targets)} names for something else", "a tuple of as many values")
                for one, part in zip(targets, value, strict=True):
                    self.assign(one, part)
            case _:
                raise self.fail("an assignment to something else than names", "nisa.dma_copy(dst=..., src=...)")

    def loop(self, name: str, over: ast.expr, body: Sequence[ast.stmt]) -> None:
        """Execute one iteration that stands for all."""
        line = self.places.line
        self.check_name(name)
        space = self.value(over)
        if not isinstance(space, Range):
            raise self.fail("a loop over something else than a range", "range(lower, upper, step)")
        if not positive(space.step):
            raise self.fail(f"a step of {space.step}", "a positive number")
        around, before = self.scope, dict(self.variables)
        poisoned = {n: Poison(line) for n in (name, *_assigned(body))}
        narrowed: dict[Storage, Frame] = {}
        stride: Index | None = None
        while True:
            self.places.line = line
            self.scope = around.enter(name, space, narrowed, stride)
            assert self.scope.loop is not None
            self.variables = {**before, **poisoned, name: self.scope.loop.value}
            try:
                self.block(body)
            except Returned:
                raise self.fail("a return inside a loop", "a return at the end of the function") from None
            again, moved = self.scope.to_narrow(), stride or self.scope.stride()
            if again == narrowed and moved == stride:
                break
            narrowed, stride = again, moved
        self.places.line = line
        self.scope.leave()
        self.scope = around
        self.variables = {**before, **poisoned}

    # -- expressions --------------------------------------------------------------------------------------------------

    def name(self, name: str) -> Value:
        """The value of a variable."""
        if name in self.variables:
            found = self.variables[name]
        elif name in self.globals:
            found = self.globals[name]
        else:
            raise self.fail(f"an unknown name '{name}'")
        if isinstance(found, Poison):
            raise self.fail(
                f"'{name}' holds what another iteration of the loop of line {found.line} has left",
                "a variable that is assigned in the iteration that reads it",
            )
        return found

    def value(self, node: ast.expr) -> Value:
        """The value of an expression."""
        dotted = self.file.dotted(node) if isinstance(node, ast.Attribute | ast.Name) else None
        if dotted is not None and not (isinstance(node, ast.Name) and node.id in self.variables):
            return self.symbol(dotted)
        match node:
            case ast.Constant(bool() | None | str() as constant):
                return constant
            case ast.Constant(int() as constant):
                return const(constant)
            case ast.Constant(float() as constant):
                return settled(t.number(constant))
            case ast.Name(name):
                return self.name(name)
            case ast.Tuple(items) | ast.List(items):
                return tuple(map(self.value, items))
            case ast.UnaryOp(op, operand):
                return self.unary(op, self.value(operand))
            case ast.BinOp(left, op, right):
                return self.arithmetic(op, self.value(left), self.value(right))
            case ast.BoolOp(op, parts):
                conditions = [self.condition(self.value(p)) for p in parts]
                return _flag(t.conj(conditions) if isinstance(op, ast.And) else t.disj(conditions))
            case ast.Compare(left, ops, rights):
                return self.comparison([left, *rights], ops)
            case ast.IfExp(test, body, orelse):
                return self.value(body if self.truth(test) else orelse)
            case ast.Attribute(inner, attribute):
                return self.attribute(self.value(inner), attribute)
            case ast.Subscript(inner, item):
                return self.subscript(self.value(inner), item)
            case ast.Call():
                return self.call(node)
            case _:
                raise self.fail(f"an expression that is not read ({type(node).__name__.lower()})")

    def symbol(self, dotted: str) -> Value:
        """A name of the kernel language; sizes of the device are numbers."""
        member = dotted.removeprefix("nl.tile_size.")
        if member != dotted:
            if member == "psum_bank_fmax":
                return const(self.device.limits["psum_bank_bytes"] // 4)
            if member not in TILE_SIZES:
                raise self.fail(f"'{dotted}' is not known", ", ".join(f"nl.tile_size.{m}" for m in TILE_SIZES))
            return const(self.device.limits[TILE_SIZES[member]])
        if dotted == "math.pi":
            return settled(t.Apply("pi", ()))
        return Symbol(dotted)

    def attribute(self, value: Value, name: str) -> Value:
        """`value.name`."""
        if isinstance(value, View):
            if name == "shape":
                return value.shape
            if name == "dtype":
                return Symbol(self.device.dtypes[DTYPES[value.storage.dtype]].nki)
            if name == "ndim":
                return const(len(value.shape))
        raise self.fail(f"an attribute '{name}'", "shape, dtype, ap of a tensor")

    def subscript(self, value: Value, item: ast.expr) -> Value:
        """`value[item]`."""
        if isinstance(value, View):
            nodes = item.elts if isinstance(item, ast.Tuple) else [item]
            return subscript(value, [self.item(n) for n in nodes], self.scope.require_at_most)
        if isinstance(value, tuple):
            at = self.value(item)
            number = at.constant if isinstance(at, Index) else None
            if number is None or not -len(value) <= number < len(value):
                raise self.fail("a position of a tuple that is no number in its range")
            return value[number]
        raise self.fail("a subscript of something else than a tensor or a tuple")

    def item(self, node: ast.expr) -> Value:
        """One subscript."""
        if not isinstance(node, ast.Slice):
            return self.value(node)
        if node.step is not None and self.value(node.step) != const(1):
            raise self.fail("a slice with a step", "slices of consecutive elements; `.ap` for others")
        return Slice(
            self.integer(node.lower) if node.lower is not None else None,
            self.integer(node.upper) if node.upper is not None else None,
        )

    def integer(self, node: ast.expr) -> Index:
        """An expression that must be an integer."""
        return self.as_integer(self.value(node))

    def as_integer(self, value: Value) -> Index:
        """A value that must be an integer."""
        if isinstance(value, Index):
            return value
        raise self.fail("something else than an integer over sizes and loop variables")

    def unary(self, op: ast.unaryop, value: Value) -> Value:
        """A unary operator."""
        match op, value:
            case ast.UAdd(), Index() | Fraction() | Real():
                return value
            case ast.USub(), Index() | Fraction():
                return -value
            case ast.USub(), Real(term):
                return Real(t.Apply("neg", (term,)))
            case ast.Not(), _:
                return _flag(t.negate(self.condition(value)))
            case _:
                raise self.fail("an operator on something else than a number")

    def arithmetic(self, op: ast.operator, a: Value, b: Value) -> Value:
        """A binary operator."""
        if isinstance(a, tuple) and isinstance(b, tuple) and isinstance(op, ast.Add):
            return (*a, *b)
        if isinstance(a, Index) and isinstance(b, Index):
            match op:
                case ast.Add():
                    return a + b
                case ast.Sub():
                    return a - b
                case ast.Mult():
                    return a * b
                case ast.FloorDiv() | ast.Mod():
                    if not positive(b):
                        raise self.fail(f"a division by {b}, which may not be positive")
                    return floor_div(a, b) if isinstance(op, ast.FloorDiv) else a % b
                case ast.Pow() if a.constant is not None and b.constant is not None and 0 <= b.constant < 64:
                    return const(a.constant**b.constant)
                case _:
                    pass
        x, y = number_term(a), number_term(b)
        if x is None or y is None or type(op) not in SCALAR_NAMES:
            raise self.fail("an operator on something else than numbers")
        return self.scalar(op, x, y)

    def scalar(self, op: ast.operator, x: t.Term, y: t.Term) -> Value:
        """An operator on numbers."""
        if isinstance(x, t.Const) and isinstance(y, t.Const):
            p, q = x.value, y.value
            if isinstance(p, Fraction) and isinstance(q, Fraction):
                match op:
                    case ast.Add():
                        return p + q
                    case ast.Sub():
                        return p - q
                    case ast.Mult():
                        return p * q
                    case ast.Div() if q:
                        return p / q
                    case ast.Pow() if q.denominator == 1 and abs(q) < 64 and p:
                        return p ** int(q)
                    case _:
                        pass
        if isinstance(op, ast.Pow) and isinstance(y, t.Const):
            named = {Fraction(2): "square", Fraction(1, 2): "sqrt", Fraction(-1, 2): "rsqrt"}
            if isinstance(y.value, Fraction) and y.value in named:
                return Real(t.Apply(named[y.value], (x,)))
        return settled(t.Apply(SCALAR_NAMES[type(op)], (x, y)))

    def condition(self, value: Value) -> t.Condition:
        """A truth value as a condition."""
        match value:
            case bool():
                return t.TRUE if value else t.FALSE
            case Flag(condition):
                return condition
            case _:
                raise self.fail("something else than a comparison of integers as a truth value")

    def comparison(self, nodes: Sequence[ast.expr], ops: Sequence[ast.cmpop]) -> Value:
        """`a < b`, also chained."""
        values = list(map(self.value, nodes))
        parts: list[t.Condition] = []
        for op, a, b in zip(ops, values, values[1:], strict=False):
            if isinstance(op, ast.Is | ast.IsNot):
                if a is not None and b is not None:
                    raise self.fail("an identity of values", "is None")
                parts.append(t.TRUE if (a is b) == isinstance(op, ast.Is) else t.FALSE)
                continue
            if isinstance(a, Symbol | str | tuple) and isinstance(b, Symbol | str | tuple):
                if not isinstance(op, ast.Eq | ast.NotEq) or type(a) is not type(b) or isinstance(a, tuple):
                    raise self.fail("a comparison of something else than integers")
                parts.append(t.TRUE if (a == b) == isinstance(op, ast.Eq) else t.FALSE)
                continue
            x, y = self.as_integer(a), self.as_integer(b)
            match op:
                case ast.Lt():
                    parts.append(t.less(x, y))
                case ast.Gt():
                    parts.append(t.less(y, x))
                case ast.LtE():
                    parts.append(t.at_most(x, y))
                case ast.GtE():
                    parts.append(t.at_most(y, x))
                case ast.Eq():
                    parts.append(t.equal(x, y))
                case ast.NotEq():
                    parts.append(t.negate(t.equal(x, y)))
                case _:
                    raise self.fail("a comparison that is not read")
        return _flag(t.conj(parts))

    # -- calls --------------------------------------------------------------------------------------------------------

    def call(self, node: ast.Call) -> Value:
        """A call: of an instruction, of the kernel language, of a builtin, of a function of the file."""
        if any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords):
            raise self.fail("arguments that are unpacked")
        if isinstance(node.func, ast.Attribute) and self.file.dotted(node.func) is None:
            return self.method(self.value(node.func.value), node.func.attr, node)
        positional = list(map(self.value, node.args))
        keywords = {str(k.arg): self.value(k.value) for k in node.keywords}
        dotted = self.file.dotted(node.func)
        if dotted is not None:
            return self.language(dotted, positional, keywords)
        if isinstance(node.func, ast.Name):
            name = node.func.id
            if name in BUILTINS and name not in self.globals and name not in self.variables:
                return self.builtin(name, positional, keywords)
            function = self.name(name)
            if isinstance(function, Function):
                return self.inline(function.node, positional, keywords)
        raise self.fail("a call of something else than a function", "nki.isa, nki.language, functions of the file")

    def inline(self, node: ast.FunctionDef, arguments: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
        """Execute a function of the file where it is called."""
        if self.depth >= DEPTH:
            raise self.fail(f"more than {DEPTH} calls inside each other")
        before, line = self.variables, self.places.line
        self.depth += 1
        try:
            self._bind_parameters(node, arguments, keywords)
            return self._body(node)
        finally:
            self.variables, self.places.line = before, line
            self.depth -= 1

    def method(self, value: Value, name: str, node: ast.Call) -> Value:
        """`tensor.ap(...)`."""
        if not isinstance(value, View) or name != "ap":
            raise self.fail(f"a method '{name}'", "ap of a tensor in HBM")
        given = dict(zip(("pattern", "offset"), map(self.value, node.args), strict=False))
        given |= {str(k.arg): self.value(k.value) for k in node.keywords}
        dims = given.pop("pattern", None)
        offset = self.as_integer(given.pop("offset", const(0)))
        index, along = given.pop("vector_offset", None), given.pop("indirect_dim", const(0))
        if given or along != const(0):
            raise self.fail(f"an access pattern with {', '.join(given)}", "pattern, offset, vector_offset")
        if not isinstance(dims, tuple):
            raise self.fail("a pattern that is no list", "[[stride, count], [stride, count]]")
        pairs: list[tuple[Index, Index]] = []
        for pair in dims:
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise self.fail("a pattern that is no list of pairs", "[[stride, count], [stride, count]]")
            pairs.append((self.as_integer(pair[0]), self.as_integer(pair[1])))
        if index is None:
            return pattern(value, pairs, offset)
        if not isinstance(index, View) or index.sizes is None:
            raise self.fail("an index that is no tile", "vector_offset=a column of positions in SBUF")
        self.scope.require_equal(index.sizes[0], pairs[0][1] if pairs else const(0))
        return Rows(index, rows(value, pairs, offset))

    def language(self, dotted: str, positional: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
        """A function of nki.language or nki.isa."""
        if dotted.startswith("nisa."):
            self.instructions.call(self.scope, dotted, positional, keywords)
            return None
        if dotted in RANGES:
            return self.builtin("range", positional, keywords)
        if dotted == "nl.ds" and len(positional) == 2 and not keywords:
            start, length = map(self.as_integer, positional)
            return Slice(start, start + length)
        if dotted == "nl.ndarray":
            given = self._named(dotted, ("shape", "dtype", "buffer", "name"), positional, keywords)
            return self.allocate(given)
        if dotted in FILLED:
            fixed = FILLED[dotted]
            names = (
                ("shape", "dtype", "buffer", "name")
                if fixed is not None
                else ("shape", "fill_value", "dtype", "buffer")
            )
            given = self._named(dotted, names, positional, keywords)
            tensor = self.allocate(given)
            value: Value = fixed if fixed is not None else given.get("fill_value")
            self.instructions.call(self.scope, "nisa.memset", (), {"dst": tensor, "value": value})
            return tensor
        raise self.fail(f"'{dotted}' as a function", "nl.ndarray, nl.zeros, nl.ds, nl.affine_range, nisa.*")

    def _named(
        self, function: str, names: Sequence[str], positional: Sequence[Value], keywords: Mapping[str, Value]
    ) -> dict[str, Value]:
        out = dict(zip(names, positional, strict=False))
        for name, value in keywords.items():
            if name not in names or name in out:
                raise self.fail(f"'{function}' with '{name}'", ", ".join(names))
            out[name] = value
        if len(positional) > len(names):
            raise self.fail(f"'{function}' with {len(positional)} arguments", ", ".join(names))
        return out

    def allocate(self, given: Mapping[str, Value]) -> View:
        """`nl.ndarray(shape, dtype, buffer)`."""
        shape = given.get("shape")
        extents = tuple(map(self.as_integer, shape if isinstance(shape, tuple) else (shape,)))
        dtype = given.get("dtype")
        described = self._dtypes.get(dtype.text) if isinstance(dtype, Symbol) else None
        if described is None or described not in self._names:
            raise self.fail(
                "an element type that is not known",
                ", ".join(self.device.dtypes[d].nki for d in self._names if d in self.device.dtypes),
            )
        buffer = given.get("buffer", Symbol("nl.sbuf"))
        space = BUFFERS.get(buffer.text) if isinstance(buffer, Symbol) else None
        if space is None:
            raise self.fail("a buffer that is not known", ", ".join(BUFFERS))
        if space != "hbm":
            if len(extents) not in (2, 3):
                raise self.fail(
                    f"an on-chip tensor of rank {len(extents)}", "[partitions, free] or [partitions, chunks, free]"
                )
            self.scope.require_partitions(extents[0], self.device.limits["partitions"], self.sizes)
        self.scope.require_region(extents)
        label = given.get("name")
        storage = Storage(label if isinstance(label, str) else "", space, extents, self._names[described])
        self.scope.declare(storage)
        return whole_view(storage)

    def builtin(self, name: str, positional: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
        """A builtin function."""
        if keywords:
            raise self.fail(f"'{name}' with keyword arguments")
        match name:
            case "min" | "max" if positional:
                values = positional[0] if len(positional) == 1 and isinstance(positional[0], tuple) else positional
                terms = [self.as_integer(v) for v in values]
                return minimum(*terms) if name == "min" else maximum(*terms)
            case "range" if 1 <= len(positional) <= 3:
                numbers = [self.as_integer(v) for v in positional]
                if len(numbers) == 1:
                    numbers.insert(0, const(0))
                return Range(numbers[0], numbers[1], numbers[2] if len(numbers) == 3 else const(1))
            case "len" if len(positional) == 1 and isinstance(positional[0], tuple):
                return const(len(positional[0]))
            case "float" if positional in (["inf"], ["-inf"]):
                return settled(t.number(float(str(positional[0]))))
            case "float" if len(positional) == 1 and (term := number_term(positional[0])) is not None:
                return settled(term)
            case "int" if len(positional) == 1 and isinstance(positional[0], Index):
                return positional[0]
            case "slice" if len(positional) == 2:
                return Slice(self.as_integer(positional[0]), self.as_integer(positional[1]))
            case "tuple" | "list" if len(positional) == 1 and isinstance(positional[0], tuple):
                return positional[0]
            case _:
                raise self.fail(f"'{name}' of these arguments")


def _flag(condition: t.Condition) -> Value:
    if condition == t.TRUE:
        return True
    return False if condition == t.FALSE else Flag(condition)


def _assigned(statements: Sequence[ast.stmt]) -> list[str]:
    """The names that statements bind."""
    return [
        node.id
        for statement in statements
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]
