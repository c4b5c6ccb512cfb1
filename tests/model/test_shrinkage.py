"""Answers are drawn towards what was expected where that explains them, and left alone where it does not."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from understudy.domain import Domain
from understudy.model import CLOSER, MatrixQuery, Observation, fit, shrunk
from understudy.model.shrinkage import FEWEST, PART

Floats = NDArray[np.float64]
CELLS = 400
PAIR = ("a", "b")
SIGMA = 20.0
EXPECTED = np.random.default_rng(0).dirichlet(np.full(CELLS, 0.2)).reshape(20, 20) * 10_000


def observed(truth: Floats, seed: int = 1, sigma: float = SIGMA) -> Observation:
    return Observation(PAIR, truth + np.random.default_rng(seed).normal(0, sigma, truth.shape), sigma)


def test_where_the_model_was_right_most_of_the_noise_goes() -> None:
    one = observed(EXPECTED)
    (found,) = shrunk([one], {PAIR: EXPECTED})
    before, after = (float(np.abs(o.values - EXPECTED).sum()) for o in (one, found))
    assert after < (1 - 0.8 * PART) * before


def test_departures_that_stand_out_are_kept() -> None:
    truth = EXPECTED.copy()
    truth[3, 4] += 50 * SIGMA
    one = observed(truth)
    (found,) = shrunk([one], {PAIR: EXPECTED})
    assert abs(found.values[3, 4] - one.values[3, 4]) < SIGMA


def test_a_model_that_was_wrong_everywhere_changes_little() -> None:
    truth = EXPECTED[::-1, ::-1] * 3
    one = observed(truth)
    (found,) = shrunk([one], {PAIR: EXPECTED})
    assert float(np.abs(found.values - truth).sum()) < 1.1 * float(np.abs(one.values - truth).sum())


def test_the_sum_and_the_noise_level_stay() -> None:
    one = observed(EXPECTED)
    (found,) = shrunk([one], {PAIR: EXPECTED})
    assert found.values.sum() == pytest.approx(one.values.sum())
    assert found.sigma == one.sigma
    assert found.clique == one.clique


def test_a_constant_in_every_cell_moves_no_fit() -> None:
    """So that spreading what was taken off changes nothing."""
    domain, truth = Domain.of({"a": 3, "b": 4}), np.arange(1.0, 13.0).reshape(3, 4)
    one, other = (
        fit(domain, [Observation(PAIR, truth + shift, 1.0)], total=78.0, solver=CLOSER).model.marginal(PAIR)
        for shift in (0.0, 5.0)
    )
    assert np.allclose(one, other, atol=0.1)


def test_repeated_answers_are_combined_first() -> None:
    one, two = observed(EXPECTED, 1), observed(EXPECTED, 2, SIGMA / 2)
    (found,) = shrunk([one, two], {PAIR: EXPECTED})
    assert found.sigma == pytest.approx(SIGMA / 5**0.5)


def test_what_is_small_unexpected_or_a_query_is_left_alone() -> None:
    small = Observation(("a",), np.ones(FEWEST - 1), 1.0)
    query = Observation(PAIR, np.ones(1), 1.0, MatrixQuery(np.ones((1, CELLS)), (20, 20)))
    unexpected = observed(EXPECTED)
    found = shrunk([small, unexpected, query], {("a",): np.zeros(FEWEST - 1)})
    for now, then in zip(found, [small, unexpected, query], strict=True):
        assert np.array_equal(now.values, then.values)
