"""Sums that tell every cell are fitted with a parameter for each cell: the same model as with one for each sum."""

from __future__ import annotations

import numpy as np
import pytest

from understudy.domain import Domain
from understudy.model import MatrixQuery, Observation, fit
from understudy.model.correlated import Spread
from understudy.model.engine import NUMPY
from understudy.model.problem import Problem
from understudy.privacy import Product

DOMAIN = Domain.of({"a": 3, "b": 5})
PREFIXES = np.tril(np.ones((5, 5), np.int64))
LEVELS = np.vstack([np.eye(5, dtype=np.int64), np.array([[1, 1, 0, 0, 0], [0, 0, 1, 1, 1]])])


def noisy(axes: list[np.ndarray | int], seed: int = 4) -> tuple[Product, Observation]:
    rng = np.random.default_rng(seed)
    query = Product(axes)
    counts = rng.integers(20, 90, (3, 5)).astype(float)
    values = query.forward(counts) + rng.normal(0, 4, query.answers)
    return query, Observation(("a", "b"), values, 4.0, query)


def dense(query: Product) -> MatrixQuery:
    return MatrixQuery(np.array([query.forward(c.reshape(3, 5)) for c in np.eye(15)]).T.astype(float), (3, 5))


@pytest.mark.parametrize("axes", [[3, PREFIXES], [3, LEVELS], [np.tril(np.ones((3, 3), np.int64)), PREFIXES]])
def test_the_model_is_the_same_as_with_a_parameter_for_each_sum(axes: list[np.ndarray | int]) -> None:
    query, by_cells = noisy(axes)
    one_way = Observation(("a",), np.array([250.0, 260.0, 300.0]), 9.0)
    by_sums = Observation(("a", "b"), by_cells.values, 4.0, dense(query))
    found = [fit(DOMAIN, [one_way, o], total=810.0, target_loss=0.0).model.marginal(("a", "b")) for o in (by_cells, by_sums)]
    assert np.abs(found[0] - found[1]).max() < 1.0


def test_covariance_and_its_inverse() -> None:
    query, observation = noisy([3, LEVELS])
    spread, matrix = Spread.of(query), dense(query).matrix
    assert spread is not None
    covariance = np.linalg.inv(matrix.T @ matrix)
    some = np.random.default_rng(1).normal(size=15)
    np.testing.assert_allclose(spread.covered(some), covariance @ some)
    np.testing.assert_allclose(spread.weighed(some), matrix.T @ matrix @ some)
    np.testing.assert_allclose(spread.diagonal.ravel(), np.diag(covariance))
    np.testing.assert_allclose(spread.cells(observation.values).ravel(), np.linalg.pinv(matrix) @ observation.values)


def test_sums_that_do_not_tell_every_cell_stay_sums() -> None:
    assert Spread.of(Product([3, np.array([[1, 2, 3, 4, 5]])])) is None
    assert Spread.of(Product([3, np.vstack([np.ones((4, 5), np.int64), PREFIXES[:1]])])) is None
    assert Spread.of(MatrixQuery(np.eye(15), (3, 5))) is None


def test_a_fit_goes_on_from_where_the_last_one_was() -> None:
    _, observation = noisy([3, PREFIXES])
    given = [Observation(("a",), np.array([250.0, 260.0, 300.0]), 9.0), observation]
    first = fit(DOMAIN, given)
    again = fit(DOMAIN, given, start=first.model)
    assert first.iterations > 1
    assert again.iterations == 0
    problem = Problem(DOMAIN, given, (), None, NUMPY)
    assert [o.query for o in problem.layout.observations] == [None, None]
