# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The exact domains: spellings of one function agree in them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from axon_mlir.semantics.domains import Domain, Field, Rationals


@pytest.mark.parametrize("domain", [Field(), Rationals()], ids=lambda d: d.name)
def test_functions_are_what_their_definitions_say(domain: Domain) -> None:
    x = domain.integers(np.array([3, 5, 7]))
    one, two = domain.constant(Fraction(1)), domain.constant(Fraction(2))

    def sigmoid(v: np.ndarray) -> np.ndarray:
        return domain.apply("reciprocal", [domain.apply("add", [one, domain.apply("exp", [domain.apply("neg", [v])])])])

    assert (domain.apply("sigmoid", [x]) == sigmoid(x)).all()
    assert (domain.apply("silu", [x]) == domain.apply("mul", [x, sigmoid(x)])).all()
    doubled = domain.apply("mul", [two, sigmoid(domain.apply("mul", [two, x]))])
    assert (domain.apply("tanh", [x]) == domain.apply("sub", [doubled, one])).all()
    assert (domain.apply("erf", [x]) != domain.apply("exp", [x])).all()


def test_hashes_take_numpy_integers() -> None:
    value = np.empty(1, object)
    value[0] = Fraction(int(np.int64(7)))
    of_numpy = np.empty(1, object)
    of_numpy[0] = Fraction(np.int64(7), 1)
    domain = Rationals()
    assert (domain.apply("exp", [value]) == domain.apply("exp", [of_numpy])).all()


@pytest.mark.parametrize("shape", [(), (1,), (16,), (17,), (33, 3), (2, 0), (1001,)])
def test_inverses_in_the_field(shape: tuple[int, ...]) -> None:
    field = Field()
    x = np.asarray(np.random.default_rng(3).integers(1, field.p, shape), np.int64)
    assert field.inverse(x).shape == shape
    assert (field.inverse(x) * x % field.p == 1).all()
    assert (field.inverse(x - field.p) == field.inverse(x)).all()


@pytest.mark.parametrize("spec", ["ab,bc->ac", "ab,cb->ca", "gab,gcb->gac", "ab,bc->ca", "ab,b->a", "ab,ab->"])
def test_sums_of_products_in_pieces(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    source, extents = np.random.default_rng(5), {"a": 3, "b": 7, "c": 11, "g": 2}
    left, _ = spec.split("->")
    arrays = [
        np.asarray(source.integers(0, Field.p, [extents[c] for c in letters]), np.int64) for letters in left.split(",")
    ]
    whole = Field().einsum(spec, arrays)
    exact = np.einsum(spec, *(a.astype(object) for a in arrays))
    assert (whole == exact % Field.p).all()
    for most in (1, 10, 40):
        monkeypatch.setattr(Field, "AT_ONCE", most)
        pieces = Field().einsum(spec, arrays)
        assert pieces.shape == whole.shape and (pieces == whole).all()
