# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the elements of a tensor are when a program is evaluated: floats, exact rationals, a prime field.

In the exact domains opaque functions (exp, erf, ...) are hashed: equal arguments give equal values and nothing else
is promised, so a disagreement is real only for programs that apply the same functions to the same arguments.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, cast

import numpy as np
from ml_dtypes import finfo

from axon_mlir.errors import AxonError
from axon_mlir.semantics.functions import FUNCTIONS, MONOIDS, Elementwise


class NotInDomain(AxonError):
    """The domain cannot evaluate this (an order in a finite field, a division by zero)."""


class Domain(ABC):
    """Elements, scalar functions and folds over NumPy arrays."""

    name: str
    dtype: Any

    @abstractmethod
    def constant(self, value: Fraction | str) -> np.ndarray: ...

    @abstractmethod
    def integers(self, values: np.ndarray | int) -> np.ndarray:
        """Integer index values as elements."""

    @abstractmethod
    def apply(self, function: str, args: Sequence[np.ndarray]) -> np.ndarray: ...

    @abstractmethod
    def fold(self, monoid: str, array: np.ndarray) -> np.ndarray:
        """Reduce the leading axis."""

    def scan(self, monoid: str, array: np.ndarray) -> np.ndarray:
        """The folds of the first element, of the first two, ... along the leading axis."""
        out = np.array(array)
        for k in range(1, len(out)):
            out[k] = self.apply(MONOIDS[monoid].function, [out[k - 1], array[k]])
        return out

    def recurrence(self, factor: np.ndarray, summand: np.ndarray) -> np.ndarray:
        """`s[k] = factor[k] * s[k - 1] + summand[k]` from `s[-1] = 0`, along the leading axis."""
        out = np.array(np.broadcast_arrays(summand, factor)[0])
        for k in range(1, len(out)):
            out[k] = self.apply("add", [self.apply("mul", [factor[k], out[k - 1]]), summand[k]])
        return out

    @abstractmethod
    def einsum(self, spec: str, arrays: Sequence[np.ndarray]) -> np.ndarray:
        """A sum of products; only accelerates what `apply` and `fold` define."""

    def nearest(self, array: np.ndarray) -> np.ndarray:
        """What an integer type holds of values."""
        return self.apply("round", [array])

    def positions(self, array: np.ndarray) -> np.ndarray:
        """Elements as integers, and -1 for what is no integer of some 60 bits."""
        rounded = np.rint(array)
        return np.where((rounded == array) & (np.abs(rounded) < 2**62), rounded, -1).astype(np.int64)

    def compare(self, relation: str, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        match relation:
            case "<":
                return a < b
            case "<=":
                return a <= b
            case _:
                return a == b


class Floats(Domain):
    """IEEE arithmetic of one width; functions are NumPy's."""

    def __init__(self, dtype: Any = np.float64):
        self.dtype = np.dtype(dtype)
        self.name = self.dtype.name

    def constant(self, value: Fraction | str) -> np.ndarray:
        return np.asarray(float(value), dtype=self.dtype)

    def held(self, array: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
        """What a type holds of numbers."""
        return array.astype(dtype).astype(array.dtype)

    def integers(self, values: np.ndarray | int) -> np.ndarray:
        return np.asarray(values).astype(self.dtype)

    def apply(self, function: str, args: Sequence[np.ndarray]) -> np.ndarray:
        return np.asarray(FUNCTIONS[function].numpy(*args), dtype=self.dtype)

    def fold(self, monoid: str, array: np.ndarray) -> np.ndarray:
        m = MONOIDS[monoid]
        if array.shape[0] == 0:
            return np.full(array.shape[1:], m.neutral, dtype=self.dtype)
        return np.asarray(m.ufunc.reduce(array, axis=0), dtype=self.dtype)

    def scan(self, monoid: str, array: np.ndarray) -> np.ndarray:
        return np.asarray(MONOIDS[monoid].ufunc.accumulate(array, axis=0), dtype=self.dtype)

    def einsum(self, spec: str, arrays: Sequence[np.ndarray]) -> np.ndarray:
        return _einsum(spec, arrays)


def Float64() -> Floats:
    return Floats(np.float64)


def Float32() -> Floats:
    return Floats(np.float32)


class Watching(Floats):
    """Float64 that keeps an eye on what functions are applied to."""

    def __init__(self) -> None:
        super().__init__(np.float64)
        self._largest: dict[str, float] = {}

    def apply(self, function: str, args: Sequence[np.ndarray]) -> np.ndarray:
        if math.isfinite(FUNCTIONS[function].exact_to):
            largest = max((float(np.abs(a).max(initial=0)) for a in args), default=0.0)
            self._largest[function] = max(largest, self._largest.get(function, 0.0))
        return super().apply(function, args)

    @property
    def beyond(self) -> str:
        """The functions that were applied beyond `exact_to`; nothing where all was within."""
        return "; ".join(
            f"{name} of {largest:.1e}, in fp32 it is exact to {FUNCTIONS[name].exact_to:.1e}"
            for name, largest in self._largest.items()
            if largest > FUNCTIONS[name].exact_to
        )


class Inexact(Floats):
    """Float64 in which what fp32, or a shorter type, cannot hold is off by some of its roundings, each way by chance:
    how far off a program may be for its roundings (Monte Carlo arithmetic: Parker, UCLA CSD-970002, 1997)."""

    def __init__(self, roundings: float, shorter: float, seed: int):
        super().__init__(np.float64)
        self._roundings = roundings
        self._shorter = shorter
        self._signs = np.random.default_rng(seed)

    def _off(self, array: np.ndarray) -> np.ndarray:
        return self._moved(array, self._inexact(array), np.dtype(np.float32), self._roundings)

    def _inexact(self, array: np.ndarray, dtype: np.dtype[Any] = np.dtype(np.float32)) -> np.ndarray:
        with np.errstate(all="ignore"):
            return np.asarray(super().held(array, dtype) != array)

    def _moved(self, array: np.ndarray, where: np.ndarray, dtype: np.dtype[Any], roundings: float) -> np.ndarray:
        most = roundings * float(cast("Any", finfo(dtype)).eps) / 2
        return np.asarray(np.where(where, array * (1 + most * self._signs.choice((-1.0, 1.0), array.shape)), array))

    def held(self, array: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
        """What fp32 cannot hold is off already."""
        return array if dtype == np.float32 else self._moved(array, self._inexact(array, dtype), dtype, self._shorter)

    def constant(self, value: Fraction | str) -> np.ndarray:
        return self._off(super().constant(value))

    def apply(self, function: str, args: Sequence[np.ndarray]) -> np.ndarray:
        value = super().apply(function, args)
        if function == "div":
            # What divides may multiply by a reciprocal, which is off even where the quotient is exact.
            where = self._inexact(value) | self._inexact(super().apply("reciprocal", args[1:]))
            return self._moved(value, where, np.dtype(np.float32), self._roundings)
        return self._off(value)

    def fold(self, monoid: str, array: np.ndarray) -> np.ndarray:
        return self._off(super().fold(monoid, array))

    def scan(self, monoid: str, array: np.ndarray) -> np.ndarray:
        return self._off(super().scan(monoid, array))

    def einsum(self, spec: str, arrays: Sequence[np.ndarray]) -> np.ndarray:
        return self._off(super().einsum(spec, arrays))


class InOrder(Floats):
    """Floats whose sums are added up one term after the other, as an accumulator does it."""

    def fold(self, monoid: str, array: np.ndarray) -> np.ndarray:
        return self.scan(monoid, array)[-1] if array.shape[0] else super().fold(monoid, array)

    def einsum(self, spec: str, arrays: Sequence[np.ndarray]) -> np.ndarray:
        left, out = spec.split("->")
        ins = left.split(",")
        sizes = {c: n for letters, a in zip(ins, arrays, strict=True) for c, n in zip(letters, a.shape, strict=True)}
        summed = [c for c in sizes if c not in out]
        kept = ",".join("".join(c for c in letters if c not in summed) for letters in ins)
        total = np.zeros([sizes[c] for c in out], self.dtype)
        for places in np.ndindex(*(sizes[c] for c in summed)):
            at = dict(zip(summed, places, strict=True))
            views = [a[tuple(at.get(c, slice(None)) for c in letters)] for letters, a in zip(ins, arrays, strict=True)]
            total += np.einsum(f"{kept}->{out}", *views)
        return total


def _einsum(spec: str, arrays: Sequence[np.ndarray]) -> np.ndarray:
    left, out = spec.split("->")
    ins = left.split(",")
    if len(ins) == 2 and all(len(set(i)) == len(i) for i in ins):
        a, b = ins
        summed = [c for c in a if c in b and c not in out]
        batch = [c for c in a if c in b and c in out]
        free_a, free_b = [c for c in a if c not in b], [c for c in b if c not in a]
        if summed and all(c in out for c in free_a + free_b):
            x = arrays[0].transpose([a.index(c) for c in batch + free_a + summed])
            y = arrays[1].transpose([b.index(c) for c in batch + summed + free_b])
            head = x.shape[: len(batch)]
            m, n = x.shape[len(batch) : len(batch) + len(free_a)], y.shape[len(batch) + len(summed) :]
            k = int(np.prod(x.shape[len(batch) + len(free_a) :]))
            product = x.reshape((*head, int(np.prod(m)), k)) @ y.reshape((*head, k, int(np.prod(n))))
            order = batch + free_a + free_b
            return product.reshape((*head, *m, *n)).transpose([order.index(c) for c in out])
    return np.asarray(np.einsum(spec, *arrays))


def _by_definition(domain: Domain, function: str, args: Sequence[np.ndarray]) -> np.ndarray:
    """What a function is in terms of others (silu: of exp), so that two spellings of it agree in an exact domain."""
    from axon_mlir.semantics import terms as t
    from axon_mlir.semantics.normal import definition_of

    names = "xyz"[: len(args)]
    known: dict[t.Term, np.ndarray] = {t.Read(name, ()): a for name, a in zip(names, args, strict=True)}

    def value(term: t.Term) -> np.ndarray:
        if term not in known:
            known[term] = computed(term)
        return known[term]

    def computed(term: t.Term) -> np.ndarray:
        match term:
            case t.Const(number):
                return domain.constant(number)
            case t.Apply(inner, inner_args):
                return domain.apply(inner, [value(a) for a in inner_args])
            case _:
                raise AxonError(f"the definition of {function} is more than scalar arithmetic")

    definition = definition_of(function, tuple(t.Read(name, ()) for name in names))
    assert definition is not None
    return value(definition)


def _hash_seed(function: str) -> int:
    """FNV-1a of the name: stable over runs."""
    h = 0xCBF29CE484222325
    for byte in function.encode():
        h = ((h ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return h


def _mix(x: np.ndarray) -> np.ndarray:
    """The finaliser of splitmix64 (Steele, Lea, Flood 2014)."""
    x = x.astype(np.uint64)
    x ^= x >> np.uint64(30)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(27)
    x *= np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return x


class Field(Domain):
    """Integers modulo the prime 2^31 - 1; products of two elements fit 64 bits.

    A finite field has no order that goes with its arithmetic. Maxima, minima and comparisons are those of the residues
    nearest to zero: a lattice with the laws that regrouping needs, so that two programs that take the same maxima of
    the same values agree, as with a hashed function; and integers as small as positions compare as integers. The
    infinities are the least and the greatest residue.
    """

    p = (1 << 31) - 1
    AT_ONCE = 1 << 24
    """Elements of an operand that a sum of products takes at a time: it needs several arrays of their number."""
    name = "field"
    dtype = np.dtype(np.int64)

    def constant(self, value: Fraction | str) -> np.ndarray:
        if isinstance(value, str):
            return np.asarray(self.p // 2 + (value == "-inf"), dtype=np.int64)
        return np.asarray(value.numerator * pow(value.denominator, -1, self.p) % self.p, dtype=np.int64)

    def integers(self, values: np.ndarray | int) -> np.ndarray:
        return np.asarray(values, dtype=np.int64) % self.p

    def signed(self, x: np.ndarray) -> np.ndarray:
        """The residues nearest to zero."""
        return np.asarray(np.where(x > self.p // 2, x - self.p, x))

    def compare(self, relation: str, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return super().compare(relation, self.signed(a), self.signed(b))

    def power(self, x: np.ndarray, n: int) -> np.ndarray:
        out, base = np.ones_like(x), x % self.p
        while n:
            if n & 1:
                out = out * base % self.p
            base = base * base % self.p
            n >>= 1
        return out

    def inverse(self, x: np.ndarray) -> np.ndarray:
        if np.any(x % self.p == 0):
            raise NotInDomain("a division by zero")
        return self._inverses(x.reshape(-1) % self.p).reshape(x.shape)

    def _inverses(self, x: np.ndarray) -> np.ndarray:
        """From the inverses of products of two: three products for each element (Montgomery 1987)."""
        if x.size <= 16:
            return np.asarray([pow(int(v), -1, self.p) for v in x], np.int64)
        half = x.size // 2
        low, high = x[:half], x[half : 2 * half]
        both = self._inverses(np.concatenate((low * high % self.p, x[2 * half :])))
        pairs, rest = both[:half], both[half:]
        return np.concatenate((pairs * high % self.p, pairs * low % self.p, rest))

    def hashed(self, function: str, args: Sequence[np.ndarray]) -> np.ndarray:
        h = np.asarray(_hash_seed(function), dtype=np.uint64)
        with np.errstate(over="ignore"):
            for a in args:
                h = _mix(h + np.uint64(0x9E3779B97F4A7C15) + a.astype(np.uint64))
        return (h % np.uint64(self.p - 1)).astype(np.int64) + 1

    def apply(self, function: str, args: Sequence[np.ndarray]) -> np.ndarray:
        p = self.p
        match function:
            case "identity":
                return args[0]
            case "add":
                return (args[0] + args[1]) % p
            case "sub":
                return (args[0] - args[1]) % p
            case "mul":
                return args[0] * args[1] % p
            case "neg":
                return -args[0] % p
            case "square":
                return args[0] * args[0] % p
            case "reciprocal":
                return self.inverse(args[0])
            case "div":
                return args[0] * self.inverse(args[1]) % p
            case "sqrt":
                return args[0] * self.hashed("rsqrt", args) % p
            case "rsqrt":
                return self.hashed("rsqrt", args)
            case "power":
                return self._power(args[0], args[1])
            case "max" | "min":
                order = np.maximum if function == "max" else np.minimum
                return order(self.signed(args[0]), self.signed(args[1])) % p
            case "round":
                raise NotInDomain("rounding in a finite field")
            case "pi":
                return self.constant(_PI)
            case _ if FUNCTIONS[function].definition is not None:
                return _by_definition(self, function, args)
            case _:
                return self.hashed(function, args)

    def positions(self, array: np.ndarray) -> np.ndarray:
        return array

    def nearest(self, array: np.ndarray) -> np.ndarray:
        """The values themselves: a program that rounds is not evaluated here, and what others store are integers."""
        return array

    def _power(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        if y.size == 0 or np.any(y != y.reshape(-1)[0]):
            return self.hashed("power", [x, y])
        exponent = int(y.reshape(-1)[0])
        for twice in range(-16, 17):
            if (twice * pow(2, -1, self.p)) % self.p == exponent:
                if twice % 2 == 0:
                    n = twice // 2
                    return self.power(x, n) if n >= 0 else self.power(self.inverse(x), -n)
                root = self.hashed("rsqrt", [x])
                n = (twice + 1) // 2
                whole = self.power(x, n) if n >= 0 else self.power(self.inverse(x), -n)
                return whole * root % self.p
        return self.hashed("power", [x, y])

    def fold(self, monoid: str, array: np.ndarray) -> np.ndarray:
        if monoid == "sum":
            # 2^31 elements below 2^31 fit 63 bits.
            return np.asarray(array.sum(axis=0) % self.p)
        if monoid == "prod":
            out = np.ones(array.shape[1:], dtype=np.int64)
            for row in array:
                out = out * row % self.p
            return out
        if array.shape[0] == 0:
            return np.broadcast_to(self.constant("-inf" if monoid == "max" else "inf"), array.shape[1:]).copy()
        return np.asarray(MONOIDS[monoid].ufunc.reduce(self.signed(array), axis=0) % self.p)

    def einsum(self, spec: str, arrays: Sequence[np.ndarray]) -> np.ndarray:
        left, out = spec.split("->")
        ins = left.split(",")
        largest = max(range(len(ins)), key=lambda n: arrays[n].size)
        kept = [(arrays[largest].shape[n], c) for n, c in enumerate(ins[largest]) if c in out]
        if arrays[largest].size > self.AT_ONCE and kept and max(kept)[0] > 1:
            extent, letter = max(kept)
            step = max(1, extent * self.AT_ONCE // arrays[largest].size)
            parts: list[np.ndarray] = []
            for start in range(0, extent, step):
                at = slice(start, start + step)
                cut = [
                    a[tuple(at if c == letter else slice(None) for c in letters)]
                    for letters, a in zip(ins, arrays, strict=True)
                ]
                parts.append(self.einsum(spec, cut))
            return np.concatenate(parts, axis=out.index(letter))
        if len(arrays) == 2:
            # Exact in doubles: halves below 2^16, products below 2^32, up to 2^21 summands below 2^53.
            (a, b), half = arrays, np.int64(16)
            a0, a1 = (a & 0xFFFF).astype(np.float64), (a >> half).astype(np.float64)
            b0, b1 = (b & 0xFFFF).astype(np.float64), (b >> half).astype(np.float64)

            def mod(x: np.ndarray) -> np.ndarray:
                return x.astype(np.int64) % self.p

            low, high = mod(_einsum(spec, (a0, b0))), mod(_einsum(spec, (a1, b1)))
            middle = (mod(_einsum(spec, (a0, b1))) + mod(_einsum(spec, (a1, b0)))) % self.p
            return (low + (middle << half) % self.p + (high << np.int64(32)) % self.p) % self.p
        letters = sorted(set("".join(ins)))
        summed = [c for c in letters if c not in out]
        order = summed + list(out)
        product: np.ndarray | None = None
        for letters_in, array in zip(ins, arrays, strict=True):
            unique = "".join(dict.fromkeys(letters_in))
            diagonal = np.asarray(np.einsum(f"{letters_in}->{unique}", array))
            view = diagonal.transpose(sorted(range(len(unique)), key=lambda n: order.index(unique[n])))
            shape = [1] * len(order)
            for c in unique:
                shape[order.index(c)] = diagonal.shape[unique.index(c)]
            view = view.reshape(shape)
            product = view if product is None else product * view % self.p
        assert product is not None
        total: np.ndarray = product
        for _ in summed:
            total = total.sum(axis=0) % self.p
        return total


class Rationals(Domain):
    """Exact fractions in object arrays; opaque functions are hashed to small positive fractions."""

    name = "rational"
    dtype = np.dtype(object)

    def constant(self, value: Fraction | str) -> np.ndarray:
        return np.asarray(float(value) if isinstance(value, str) else value, dtype=object)

    def integers(self, values: np.ndarray | int) -> np.ndarray:
        return np.asarray(np.frompyfunc(lambda v: Fraction(int(v)), 1, 1)(np.asarray(values, dtype=object)))

    def apply(self, function: str, args: Sequence[np.ndarray]) -> np.ndarray:
        if function not in _RATIONAL and FUNCTIONS[function].definition is not None:
            return _by_definition(self, function, args)
        return np.asarray((_RATIONAL.get(function) or _hashed(function))(*args), dtype=object)

    def positions(self, array: np.ndarray) -> np.ndarray:
        def one(x: Any) -> int:
            return int(x) if isinstance(x, Fraction) and x.denominator == 1 and abs(x) < 2**62 else -1

        return np.asarray(np.frompyfunc(one, 1, 1)(array)).astype(np.int64)

    def fold(self, monoid: str, array: np.ndarray) -> np.ndarray:
        m = MONOIDS[monoid]
        if array.shape[0] == 0:
            neutral = Fraction(int(m.neutral)) if abs(m.neutral) != float("inf") else m.neutral
            return np.full(array.shape[1:], neutral, dtype=object)
        out = array[0]
        for row in array[1:]:
            out = self.apply(m.function, [out, row])
        return np.asarray(out, dtype=object)

    def einsum(self, spec: str, arrays: Sequence[np.ndarray]) -> np.ndarray:
        return np.asarray(np.einsum(spec, *arrays), dtype=object)


def _exact_power(x: Any, y: Any) -> Any:
    y = Fraction(y)
    if y.denominator == 1:
        if x == 0 and y < 0:
            raise NotInDomain("a division by zero")
        return Fraction(x) ** int(y)
    if y.denominator == 2:
        root = _hashed("rsqrt")(Fraction(x))
        return Fraction(x) ** int(y + Fraction(1, 2)) * root
    return _hashed("power")(Fraction(x), y)


def _exact_div(x: Any, y: Any) -> Any:
    if y == 0:
        raise NotInDomain("a division by zero")
    return Fraction(x) / Fraction(y)


def _hashed(function: str) -> Any:
    def one(*args: Any) -> Fraction:
        h = _hash_seed(function)
        for a in args:
            f = Fraction(a)
            for part in (int(f.numerator) & 0xFFFFFFFFFFFF, int(f.denominator) & 0xFFFFFFFFFFFF):
                with np.errstate(over="ignore"):
                    h = int(_mix(np.asarray((h + part + 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF, dtype=np.uint64)))
        return Fraction(h % 1009 + 1, 16)

    return np.frompyfunc(one, FUNCTIONS[function].arity, 1)


_ZERO: Any = Fraction(0)

_PI = Fraction(repr(math.pi))
"""What pi is in an exact domain: any number does, as long as it is the same one that a kernel's text is read with."""

_RATIONAL: dict[str, Elementwise] = {
    "pi": lambda: _PI,
    "identity": lambda x: x,
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "neg": lambda x: -x,
    "square": lambda x: x * x,
    "max": np.maximum,
    "min": np.minimum,
    "abs": np.abs,
    "relu": lambda x: np.maximum(x, _ZERO),
    "div": np.frompyfunc(_exact_div, 2, 1),
    "reciprocal": np.frompyfunc(lambda x: _exact_div(1, x), 1, 1),
    "power": np.frompyfunc(_exact_power, 2, 1),
    "sqrt": np.frompyfunc(lambda x: _exact_power(x, Fraction(1, 2)), 1, 1),
    "rsqrt": np.frompyfunc(lambda x: _exact_power(x, Fraction(-1, 2)), 1, 1),
    "sign": np.frompyfunc(lambda x: Fraction((x > 0) - (x < 0)), 1, 1),
    "round": np.frompyfunc(lambda x: Fraction(round(x)), 1, 1),
}
