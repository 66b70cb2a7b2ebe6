# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A tensor program as computations over dimensions: what tiling starts from.

Operations that only place data (broadcasts, transposes, constants) are read through; every other operation becomes one
`Computation` or several (`separation`, `pieces`): a result, its element as a term over elements of inputs and of other
computations, and the dimension that each axis of the result runs over. Dimensions are shared where a computation reads
another one at its own index.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import permutations

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation

from axon_mlir.errors import UnsupportedError
from axon_mlir.semantics import terms as t
from axon_mlir.semantics.denotation import UNDEFINED, Denotable, Denoter, dtype_of, input_name, place
from axon_mlir.semantics.digits import folds_in_digits
from axon_mlir.semantics.index import Index, Size, Var, const, nonnegative
from axon_mlir.semantics.quotients import settled_value
from axon_mlir.semantics.scans import Scan, scan_of
from axon_mlir.semantics.shapes import dtype_name, shape_of
from axon_mlir.semantics.traits import HasMeaning
from axon_mlir.transforms.tiling.digits import axes_in_digits, flat, in_digits, rows_of
from axon_mlir.transforms.tiling.pieces import Piece, pieces_of
from axon_mlir.transforms.tiling.separation import Materialise, Separation, Spelling, Unbounded, is_mask

CAST = "tensor_hl.cast"
"""The operation that a program's conversions are."""
SHORT = ("bf16", "f16", "f8E4M3", "f8E5M2")
"""Types that round what fp32 holds."""
FEW = 8
"""A dimension of no more elements is rather taken one at a time than another one."""


@dataclass(frozen=True)
class Tensor:
    """An input, or the result of a computation, as it stands in HBM."""

    name: str
    shape: tuple[Index, ...]
    dtype: str


@dataclass(frozen=True)
class Computation:
    """An operation's work, or a part of it.

    `body` is over `variables` (one per axis of the result), folds inside; `dims` names the dimension of each axis, None
    for an axis of one element; `fold_dims` the dimension of each fold variable. `origin`, `steps`: where the result
    lies in its tensor, of which it may be a piece, and how far apart its elements. `single`: dimensions of which one
    index is taken at a time, since something is read at another function of them than a row of elements in steps.
    """

    result: Tensor
    variables: tuple[Var, ...]
    body: t.Term
    dims: tuple[str | None, ...]
    fold_dims: tuple[tuple[Var, str], ...]
    op: Operation
    origin: tuple[Index, ...] = ()
    steps: tuple[int, ...] = ()
    single: frozenset[str] = frozenset()
    around: tuple[tuple[Var, str], ...] = ()
    """Variables of the origin that are no axes, and their dimensions: a flattened axis is written row by row."""

    @property
    def scan(self) -> Scan | None:
        """The scan that the body is: the range of its fold ends with the element."""
        return scan_of(self.body, self.variables)

    @property
    def is_piece(self) -> bool:
        """Whether the result is only part of its tensor."""
        return bool(self.origin)

    def along(self, i: Index) -> tuple[str, int] | None:
        """The dimension that an index runs along, and its step; None where it takes one index at a time."""
        return next(((d, s) for d, s in _affine(i, self.dim_of) if d not in self.single), None)

    @property
    def dim_of(self) -> dict[Var, str | None]:
        return {**dict(self.around), **dict(zip(self.variables, self.dims, strict=True)), **dict(self.fold_dims)}


@dataclass
class Program:
    """Inputs, computations in order, which tensors are returned, and the size of each dimension."""

    inputs: list[Tensor]
    computations: list[Computation]
    outputs: list[str]
    sizes: dict[str, Index]


def _affine(i: Index, dim_of: Mapping[Var, str | None]) -> list[tuple[str, int]]:
    """The dimensions of an index whose factor is a positive number, with it."""
    out: list[tuple[str, int]] = []
    for v in sorted((s for s in i.symbols() if isinstance(s, Var)), key=str):
        d, factor = dim_of.get(v), i.coefficient(v)
        if d is not None and factor is not None and factor.constant is not None and factor.constant >= 1:
            out.append((d, factor.constant))
    return sorted(out, key=lambda found: -found[1])


def _is_data(body: t.Term) -> bool:
    """Whether a term only places elements: one, or several in a tensor that is not all written yet; or is a number
    known from the sizes."""
    if isinstance(body, t.Select):
        unwritten = any(r.tensor == UNDEFINED for r in reads_of(body))
        return unwritten and t.is_integer(body.condition) and all(_places(b) for b in (body.then, body.otherwise))
    return isinstance(body, t.Read) or not reads_of(body)


def _places(body: t.Term) -> bool:
    match body:
        case t.Select(c, a, b):
            return t.is_integer(c) and _places(a) and _places(b)
        case _:
            return isinstance(body, t.Read)


def reads_of(x: t.Term) -> list[t.Read]:
    """The tensor elements a term reads, each once, in order of appearance."""
    out: dict[t.Read, None] = {}

    def go(y: t.Term) -> None:
        match y:
            case t.Read():
                out.setdefault(y)
            case t.Apply(_, args):
                for a in args:
                    go(a)
            case t.Fold(_, _, _, body):
                go(body)
            case t.Select(c, a, b):
                for side in t.compared_terms(c):
                    go(side)
                go(a)
                go(b)
            case _:
                pass

    go(x)
    return list(out)


def folds_of(x: t.Term) -> tuple[list[t.Fold], t.Term]:
    """The folds at the root of a term, outermost first, and what they fold."""
    out: list[t.Fold] = []
    while isinstance(x, t.Fold):
        out.append(x)
        x = x.body
    return out, x


class _Dims:
    """Which dimension each (tensor, axis) runs over: a union-find that keeps a computation's dimensions apart."""

    def __init__(self):
        self.sizes: dict[str, Index] = {}
        self.parent: dict[str, str] = {}
        self.of_axis: dict[tuple[str, int], str] = {}
        self.together: list[list[str]] = []
        """The dimensions of each computation."""

    def fresh(self, size: Index) -> str:
        """A new dimension, named after its size symbol."""
        atom = size.atom
        stem = atom.name.lower() if isinstance(atom, Size) else "d"
        stem = "".join(c if c.isalnum() else "_" for c in stem)
        name, n = stem, 1
        while name in self.sizes:
            n += 1
            name = f"{stem}_{n}"
        self.sizes[name] = size
        self.parent[name] = name
        return name

    def find(self, name: str) -> str:
        while self.parent[name] != name:
            name = self.parent[name]
        return name

    def unify(self, a: str, b: str) -> str:
        """Make two dimensions one, unless their sizes differ or a computation runs over both; what stands for a."""
        a, b = self.find(a), self.find(b)
        if a == b or self.sizes[a] != self.sizes[b]:
            return a
        for dims in self.together:
            roots = [self.find(d) for d in dims]
            if a in roots and b in roots:
                return a
        self.parent[b] = a
        return a


def analyse(func: FuncOp) -> Program:
    """Read a tensor_hl function as computations; UnsupportedError where tiling cannot follow."""
    walk = Denoter()
    inputs: list[Tensor] = []
    tensors: dict[str, Tensor] = {}
    for n, arg in enumerate(func.body.block.args):
        shape = shape_of(arg.type) if hasattr(arg.type, "element_type") else ()
        dtype = dtype_of(arg.type) or dtype_name(arg.type)
        inputs.append(Tensor(input_name(n), shape, dtype))
        tensors[input_name(n)] = inputs[-1]
        walk.bind(arg, t.tensor_input(input_name(n), shape, dtype))
    dims = _Dims()
    computations: list[Computation] = []
    outputs: list[str] = []
    made: dict[tuple[Spelling, bool], t.Comprehension] = {}

    def materialise(value: t.Comprehension, op: Operation) -> t.Comprehension:
        value = settled_value(_without_units(value))
        value = replace(value, body=folds_in_digits(value.body))
        axes = axes_in_digits(value)
        if axes:
            return flat(value, axes, materialise(in_digits(value, axes), op))
        pieces = [
            _by_rows(replace(p, value=separated(p.value, partial(materialise, op=op), partial(in_a_row, op=op), op)))
            for p in map(_settled, pieces_of(value))
        ]
        tensor = Tensor(f"t{len(computations)}", value.shape, value.dtype or "f32")
        tensors[tensor.name] = tensor
        whole = len(pieces) == 1 and not pieces[0][1]
        for piece, around in pieces:
            computations.append(_computation(tensor, piece, dims, op, whole=whole, around=around))
        return t.tensor_input(tensor.name, value.shape, value.dtype)

    def in_a_row(value: t.Comprehension, op: Operation) -> t.Comprehension:
        placed = isinstance(value.body, t.Read)
        found = value if placed else materialise(value, op)
        rows = in_rows(found, op)
        if rows is not None:
            return t.tensor_input(rows.name, rows.shape, rows.dtype)
        return materialise(value, op) if placed else found

    def separated(value: t.Comprehension, make: Materialise, make_row: Materialise, op: Operation) -> t.Comprehension:
        try:
            return Separation(make, lambda name: tensors[name].dtype, make_row, made).separated(value)
        except Unbounded as e:
            raise UnsupportedError(
                f"'{op.name}' folds over a range that depends on the index, {e}, which cannot be tiled", where=place(op)
            ) from e

    def in_rows(value: t.Comprehension, op: Operation) -> Tensor | None:
        """A copy of a tensor with flattened axes, which is written row by row; None where there are none."""
        value = settled_value(_without_units(value))
        axes = axes_in_digits(value) if isinstance(value.body, t.Read) else {}
        if not axes:
            return None
        tensor = Tensor(f"t{len(computations)}", value.shape, value.dtype or "f32")
        tensors[tensor.name] = tensor
        piece, around = _by_rows(Piece(value, (const(0),) * len(value.shape), (1,) * len(value.shape)))
        computations.append(_computation(tensor, piece, dims, op, whole=False, around=around))
        return tensor

    for op in func.body.block.ops:
        if isinstance(op, ReturnOp):
            values = [walk.tensor(v) for v in op.operands]
            for n, value in enumerate(values):
                read = {r.tensor for other in values[:n] + values[n + 1 :] for r in reads_of(other.body)}
                outputs.append(_output(value, materialise, in_rows, op, computations, outputs, read))
            continue
        if isinstance(op, Denotable) or not isinstance(op, HasMeaning):
            raise UnsupportedError(
                f"'{op.name}' cannot be tiled", where=place(op), accepted="primitive operations of tensor_hl"
            )
        walk.operation(op)
        for r in op.results:
            value = walk.tensor(r)
            if not _is_data(value.body):
                walk.bind(r, materialise(value, op))
    kept = [_renamed(c, dims) for c in _widened(_used(computations, outputs), inputs, outputs, dims)]
    used = {d for c in kept for d in c.dim_of.values() if d is not None}
    return Program(inputs, kept, outputs, {d: n for d, n in dims.sizes.items() if d in used})


def _widened(
    computations: Sequence[Computation], inputs: Sequence[Tensor], outputs: list[str], dims: _Dims
) -> list[Computation]:
    """With fp32 results where a shorter type is only what NumPy's rules give: not of the program's results, of factors
    of products (a multiplier array takes them short) and of conversions that the program writes. What only some readers
    take short has a short copy, which they read; `outputs` then names the copy."""
    short, wide = set(outputs), set[str]()
    rounded: list[set[str]] = []
    for c in reversed(computations):
        read, name = {r.tensor for r in reads_of(c.body)}, c.result.name
        if isinstance(c.body, t.Read) and c.result.dtype in SHORT and name in short and name not in wide:
            # What is only placed elsewhere may be rounded before.
            rounded.append(read)
        else:
            rounded.append(set(_factors(c)) if isinstance(c.op, HasMeaning) and c.op.TYPED_OPERANDS else set())
        short |= rounded[-1]
        wide |= read - rounded[-1]
    results = {c.result.name: c for c in computations}
    kept = {n for n, c in results.items() if c.op.name == CAST or c.result.dtype not in SHORT}
    wider = {n for n in results if n not in kept and (n in wide or n not in short)}
    types = {x.name: x.dtype for x in inputs} | {n: c.result.dtype for n, c in results.items()}
    types |= dict.fromkeys(wider, "f32")
    # Zeros and ones are exact in every type: let them have that of what they are multiplied with.
    masks = results.keys() - {c.result.name for c in computations if not is_mask(c.body)} - set(outputs) - kept
    exact = {a: b for c in computations for a, b in permutations(_factors(c), 2) if a in masks}
    types |= {a: types[b] for a, b in exact.items()}
    copies: dict[str, str] = {}
    out: list[Computation] = []
    last = {c.result.name: c for c in computations}
    for c, of in zip(computations, reversed(rounded), strict=True):
        chosen = {n: copies[n] for n in of if n in copies}
        body = t.substitute(c.body, {}, lambda r, chosen=chosen: t.Read(chosen.get(r.tensor, r.tensor), r.indices))
        tensor = replace(c.result, dtype=types[c.result.name])
        out.append(replace(c, body=body, result=tensor))
        if tensor.name in short & wider - exact.keys() and last[tensor.name] is c:
            copy = replace(c.result, name=f"{tensor.name}_{c.result.dtype}")
            copies[tensor.name] = copy.name
            out.append(_copy(tensor, copy, dims, c.op))
    outputs[:] = [copies.get(n, n) for n in outputs]
    return out


def _factors(c: Computation) -> list[str]:
    """The tensors whose elements are multiplied before they are summed up."""
    folds, body = folds_of(c.body)
    if not folds or any(f.monoid != "sum" for f in folds) or not isinstance(body, t.Apply) or body.function != "mul":
        return []
    return [r.tensor for r in body.args if isinstance(r, t.Read)]


def _copy(tensor: Tensor, copy: Tensor, dims: _Dims, op: Operation) -> Computation:
    """A tensor's elements in another type."""
    value = t.tensor_input(tensor.name, tensor.shape, copy.dtype)
    (piece,) = pieces_of(_without_units(value))
    return _computation(copy, piece, dims, op, whole=True)


def _by_rows(piece: Piece) -> tuple[Piece, list[tuple[Var, Index]]]:
    """A piece with its flattened axes cut into rows, and the variables of where these begin, with their extents."""
    axes = {} if folds_of(piece.value.body)[0] else axes_in_digits(piece.value)
    row, starts = rows_of(piece.value, axes)
    origin = tuple(o + s * at for o, s, at in zip(piece.origin, piece.steps, starts, strict=True))
    return Piece(row, origin, piece.steps), [pair for digits in axes.values() for pair in digits.outer]


def _settled(piece: Piece) -> Piece:
    """A piece whose indices have no quotients that are decided inside it."""
    return replace(piece, value=settled_value(piece.value))


def _without_units(value: t.Comprehension) -> t.Comprehension:
    """The value with the only index there is on axes of one element."""
    unit: dict[Size | Var, Index] = {v: const(0) for v, n in zip(value.variables, value.shape, strict=True) if n == 1}
    return replace(value, body=t.substitute(value.body, unit))


def _renamed(c: Computation, dims: _Dims) -> Computation:
    """With every dimension replaced by its representative."""
    return replace(
        c,
        dims=tuple(None if d is None else dims.find(d) for d in c.dims),
        single=frozenset(map(dims.find, c.single)),
        fold_dims=tuple((v, dims.find(d)) for v, d in c.fold_dims),
        around=tuple((v, dims.find(d)) for v, d in c.around),
    )


def _output(
    value: t.Comprehension,
    materialise: Callable[[t.Comprehension, Operation], t.Comprehension],
    in_rows: Callable[[t.Comprehension, Operation], Tensor | None],
    op: Operation,
    computations: list[Computation],
    outputs: Sequence[str],
    others: Collection[str],
) -> str:
    """The tensor that is returned: a computation's own result, or a copy. `others`: what other results read."""
    body = value.body
    for n, c in enumerate(computations):
        if isinstance(body, t.Read) and body.tensor == c.result.name and body.tensor not in outputs:
            if c.is_piece:
                if value.shape == c.result.shape and all(
                    i.atom == v for i, v in zip(body.indices, value.variables, strict=True)
                ):
                    return c.result.name
                continue
            made = _in_shape(c, value, body)
            shared = any(r.tensor == body.tensor for other in computations for r in reads_of(other.body))
            shared = shared or body.tensor in others
            if made is not None and (made == c or not shared):
                computations[n] = made
                return c.result.name
    rows = in_rows(value, op)
    if rows is not None:
        return rows.name
    copied = materialise(value, op).body
    assert isinstance(copied, t.Read)
    return copied.tensor


def _in_shape(c: Computation, value: t.Comprehension, read: t.Read) -> Computation | None:
    """The computation with its result in the shape of a value that reads it, where only the order of axes differs, and
    axes of one element."""
    if c.result.dtype != value.dtype:
        return None
    axes = {v: k for k, (v, n) in enumerate(zip(value.variables, value.shape, strict=True)) if n != 1}
    of: dict[int, int] = {}
    for j, n in enumerate(c.result.shape):
        atom = read.indices[j].atom
        if n != 1:
            k = axes.pop(atom, None) if isinstance(atom, Var) else None
            if k is None or value.shape[k] != n:
                return None
            of[k] = j
    if axes:
        return None
    if value.shape == c.result.shape and all(k == j for k, j in of.items()):
        return c
    return replace(
        c,
        result=replace(c.result, shape=value.shape),
        variables=tuple(c.variables[of[k]] if k in of else v for k, v in enumerate(value.variables)),
        dims=tuple(c.dims[of[k]] if k in of else None for k in range(len(value.shape))),
    )


def _used(computations: list[Computation], outputs: Sequence[str]) -> list[Computation]:
    """Without the computations that no output needs."""
    needed = set(outputs)
    for c in reversed(computations):
        if c.result.name in needed:
            needed |= {r.tensor for r in reads_of(c.body)}
    return [c for c in computations if c.result.name in needed]


def _computation(
    tensor: Tensor,
    piece: Piece,
    dims: _Dims,
    op: Operation,
    *,
    whole: bool,
    around: Sequence[tuple[Var, Index]] = (),
) -> Computation:
    value = piece.value
    folds, inner = folds_of(value.body)
    variables = [(v, n) for v, n in zip(value.variables, value.shape, strict=True) if n != 1]
    scan = scan_of(value.body, value.variables)
    spaces = [*around, *variables, *((f.var, f.extent) for f in folds if scan is None)]
    chosen: dict[Var, str] = {v: dims.fresh(extent) for v, extent in spaces}
    dims.together.append(list(chosen.values()))
    reads = reads_of(inner)
    if scan is not None:
        chosen[scan.var] = chosen[scan.along]
        reads = [r for part in scan.parts for r in reads_of(part)]
    for r in reads:
        for axis, i in enumerate(r.indices):
            v = i.atom
            if isinstance(v, Var) and v in chosen:
                known = dims.of_axis.get((r.tensor, axis))
                if known is None:
                    dims.of_axis[(r.tensor, axis)] = chosen[v]
                else:
                    dims.unify(known, chosen[v])
    for axis, (v, n) in enumerate(zip(value.variables, tensor.shape, strict=True)):
        if v in chosen and value.shape[axis] == n:
            known = dims.of_axis.setdefault((tensor.name, axis), chosen[v])
            dims.unify(known, chosen[v])
    outer = [v for v, _ in around]
    scanned = None if scan is None else chosen[scan.along]
    dim_of: dict[Var, str | None] = {v: chosen.get(v) for v in (*outer, *value.variables, *(f.var for f in folds))}
    return Computation(
        tensor,
        value.variables,
        value.body,
        tuple(chosen.get(v) for v in value.variables),
        tuple((f.var, chosen[f.var]) for f in folds),
        op,
        () if whole else piece.origin,
        () if whole else piece.steps,
        frozenset(_single([i for r in reads for i in r.indices], dim_of, dims.sizes, scanned))
        | {chosen[v] for v in outer},
        tuple((v, chosen[v]) for v in outer),
    )


def _single(
    indices: Sequence[Index], dim_of: Mapping[Var, str | None], sizes: Mapping[str, Index], scanned: str | None
) -> set[str]:
    """The dimensions that some index depends on otherwise than by running along it."""
    out: set[str] = set()
    for i in indices:
        mine = {d for s in i.symbols() if isinstance(s, Var) and (d := dim_of.get(s)) is not None}
        along = [d for d, _ in _affine(i, dim_of) if d not in out]
        # One dimension that an index runs along keeps doing so: the one that is scanned, or of those that are not short
        # the one in the least steps.
        along.sort(key=lambda d: (d == scanned, not nonnegative(const(FEW) - sizes[d])))
        out |= mine - set(along[-1:])
    return out
