"""Linear maps of a marginal: what they state about themselves is what they do to single cells."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from understudy.errors import FormatError, UserError, WorkloadError
from understudy.privacy import (
    Centred,
    Groups,
    LinearMap,
    Matrix,
    PrefixSums,
    Product,
    Unit,
    linear_scale_for,
    maps,
    stored_map,
)
from understudy.privacy.noise import INT64
from understudy.privacy.questions import Linear

RNG = np.random.default_rng(11)
MAPS: list[LinearMap] = [
    Matrix(np.eye(6, dtype=np.int64), (2, 3)),
    Matrix(RNG.integers(-4, 5, (7, 6)), (3, 2)),
    Matrix(np.ones((1, 4), np.int64), (4,)),
    Matrix(RNG.integers(-2, 3, (3, maps.PAIRS + 1)), (maps.PAIRS + 1,)),
    PrefixSums((5,)),
    PrefixSums((1,)),
    PrefixSums((2, 4)),
    Groups([[0, 1, 1, 0]]),
    Groups([[0, 0, 0]]),
    Groups([[1, 0, 1], [0, 0], [0, 1]]),
    Centred((5,)),
    Centred((3, 2)),
    Centred((4, 3, 3)),
    Product([np.tril(np.ones((4, 4), np.int64)), 3]),
    Product([2, RNG.integers(-3, 4, (2, 3)), 2]),
    Product([RNG.integers(0, 5, (5, 3)), RNG.integers(-2, 3, (2, 2))]),
    Product([np.tril(np.ones((30, 30), np.int64)), 20]),
    Product([RNG.integers(-2, 3, (3, 30)), 20]),
]
UNITS = [Unit(kind, rows) for kind in ("add-remove", "replace") for rows in (1, 2)]  # type: ignore[arg-type]


def matrix_of(one: LinearMap) -> np.ndarray:
    """Return the matrix of a map: what it does to each cell by itself."""
    cells = np.eye(prod(one.shape), dtype=np.int64)
    return np.array([one.apply(cell.reshape(one.shape)) for cell in cells]).T


@pytest.mark.parametrize("one", MAPS)
def test_the_adjoint_is_the_transpose(one: LinearMap) -> None:
    matrix = matrix_of(one)
    assert matrix.shape == (one.answers, prod(one.shape))
    assert matrix.dtype == np.int64
    weights = np.eye(one.answers)
    assert np.array_equal(np.array([one.adjoint(w).reshape(-1) for w in weights]), matrix)
    marginal = RNG.uniform(0, 9, one.shape)
    assert np.allclose(one.forward(marginal), matrix @ marginal.reshape(-1))


@pytest.mark.promise(8)
@pytest.mark.promise(11)
@pytest.mark.promise(17)
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("one", MAPS)
def test_the_stated_sensitivity_is_that_of_the_columns(one: LinearMap, unit: Unit) -> None:
    """Never below; and not above, but for an answer that nobody can move, where there are too many pairs to look at, and
    for the L1 of two columns of a centred map or a product, which is bounded by their sum.
    """
    columns = matrix_of(one).T
    moves = columns if unit.kind == "add-remove" else np.concatenate([columns - other for other in columns[:40]])
    l1 = unit.rows * int(np.abs(moves).sum(axis=1).max())
    l2 = unit.rows**2 * int((moves**2).sum(axis=1).max())
    assert l1 <= one.l1(unit)
    assert l2 <= one.l2_squared(unit)
    if len(columns) <= maps.PAIRS and len(columns) <= 40 and l1:
        assert l2 == one.l2_squared(unit)
        assert l1 == one.l1(unit) or (isinstance(one, Centred | Product) and unit.kind == "replace")


def test_a_marginal_is_the_simplest_query() -> None:
    identity = MAPS[0]
    for unit in UNITS:
        assert (identity.l1(unit), identity.l2_squared(unit)) == (unit.l1, unit.l2_squared)


@pytest.mark.promise(4)
@pytest.mark.promise(5)
@given(arrays(np.int64, (3, 2), elements=st.integers(0, 9) | st.integers(0, int(INT64.max)) | st.integers(2**60, 2**63 - 1)))
def test_exact_answers_are_exact_and_stop_at_the_ends(counts: np.ndarray) -> None:
    for one in (MAPS[1], PrefixSums((3, 2)), Centred((3, 2))):
        truth = [sum(int(w) * int(c) for w, c in zip(row, counts.flat, strict=True)) for row in matrix_of(one)]
        assert one.exact(counts).tolist() == [min(max(t, int(INT64.min)), int(INT64.max)) for t in truth]


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_the_least_scale_that_a_budget_buys(noise: str) -> None:
    from fractions import Fraction

    for one in MAPS:
        for unit in UNITS:
            scale = linear_scale_for(Fraction(1, 7), one, noise, unit)  # type: ignore[arg-type]
            cost = [Linear(("a",), one, s, noise).cost(unit) for s in (scale, np.nextafter(scale, 0.0))]  # type: ignore[arg-type]
            assert cost[0] <= Fraction(1, 7) < cost[1]


WRONG = [
    np.zeros((2, 4), np.int64),
    np.ones((2, 3), np.int64),
    np.ones((2, 4)),
    np.full((1, 4), 2**20 + 1),
    np.full((1, 4), -(2**63)),
    np.ones(4, np.int64),
]


@pytest.mark.parametrize("weights", WRONG, ids=range(len(WRONG)))
def test_what_is_no_query_is_refused(weights: np.ndarray) -> None:
    with pytest.raises(WorkloadError, match=r"whole numbers|at most"):
        Matrix(weights, (4,))


def test_prefix_sums_need_an_attribute() -> None:
    with pytest.raises(WorkloadError, match="need an attribute"):
        PrefixSums(())


@pytest.mark.parametrize("shape", [(), (4, 1), (2**16, 2**14 + 1)])
def test_a_residual_needs_attributes_that_have_one(shape: tuple[int, ...]) -> None:
    with pytest.raises(WorkloadError, match="two values or more"):
        Centred(shape)


def test_a_residual_is_what_no_smaller_marginal_says() -> None:
    counts = RNG.integers(0, 50, (3, 4))
    found = Centred((3, 4)).exact(counts).reshape(3, 4)
    assert (found.sum(axis=0) == 0).all()
    assert (found.sum(axis=1) == 0).all()
    even = counts - counts.mean(axis=0) - counts.mean(axis=1, keepdims=True) + counts.mean()
    assert np.allclose(found / 12, even)


@pytest.mark.parametrize("one", MAPS)
def test_a_map_on_record_is_the_same_map(one: LinearMap) -> None:
    again = stored_map(one.kind, one.shape, one.stored)
    assert type(again) is type(one)
    assert np.array_equal(matrix_of(again), matrix_of(one))


def test_an_unknown_query_on_record_is_refused() -> None:
    with pytest.raises((FormatError, UserError), match="no linear query"):
        stored_map("wavelet", (4,), None)


@pytest.mark.promise(11)
def test_products_of_large_weights_do_not_wrap_round() -> None:
    """Columns whose squared norms are beyond int64 as a product are charged for all the same."""
    large = np.array([[2**15, 0]] * 4, dtype=np.int64)
    farthest = 2 * (4 * 2**30) ** 2  # two records that share no cell with weight: here one of them is 0, so half of that
    stated = Product([large, large]).l2_squared(Unit.REPLACE)
    assert farthest // 2 <= stated <= farthest
