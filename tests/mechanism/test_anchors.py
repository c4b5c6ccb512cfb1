"""Anchors: what all measurements say of a column alone, as a distribution; the last fit is held to it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import understudy
from understudy.mechanism import running
from understudy.mechanism.anchors import FIRM, Known, anchored, distances, falling, on_simplex, settled
from understudy.model import Observation
from understudy.schema import parse_schema

ONE = Observation(("a",), np.array([50.0, -10.0, 0.0]), 2.0)
TWO = Observation(("a", "b"), np.array([[30.0, 10.0], [4.0, -4.0], [1.0, 1.0]]), 1.0)


def test_an_anchor_is_the_average_by_inverse_variance() -> None:
    """The variance of a sum over b is 2, of the marginal itself 4: two thirds of the weight against one."""
    *given, anchor = anchored([ONE, TWO], ["a"], 42.0)
    assert given == [ONE, TWO]
    mean = (np.array([50.0, -10.0, 0.0]) + 2 * np.array([40.0, 0.0, 2.0])) / 3
    sigma = (1 / 4 + 1 / 2) ** -0.5
    np.testing.assert_allclose(anchor.values, settled(mean, sigma, 42.0))
    assert anchor.sigma == pytest.approx(sigma / FIRM)
    assert anchor.clique == ("a",)


def test_a_column_that_was_not_measured_has_none() -> None:
    assert anchored([ONE], ["c"], 40.0) == [ONE]
    assert anchored([ONE, TWO], ["a"], 0.0) == [ONE, TWO]


def test_the_nearest_distribution() -> None:
    """By brute force over which cells are empty."""
    values = np.array([5.0, -3.0, 1.0, 0.2])
    found = on_simplex(values, 4.0)
    assert found.sum() == pytest.approx(4.0)
    assert found.min() >= 0
    tries = []
    for mask in range(1, 16):
        kept = np.array([bool(mask >> i & 1) for i in range(4)])
        one = np.where(kept, values + (4.0 - values[kept].sum()) / kept.sum(), 0.0)
        if (one >= 0).all():
            tries.append(float(((one - values) ** 2).sum()))
    assert ((found - values) ** 2).sum() == pytest.approx(min(tries))


FALLING = np.append(20_000 * 0.7 ** np.arange(20), np.zeros(20))
SIGMA = 60.0


def drawn(counts: np.ndarray[Any, Any], number: int = 200) -> list[np.ndarray[Any, Any]]:
    rng = np.random.default_rng(8)
    return [counts + rng.normal(0, SIGMA, len(counts)) for _ in range(number)]


def test_an_empty_tail_stays_nearly_empty() -> None:
    """Clipped at zero, half of the noise on twenty empty codes would be rows."""
    total = FALLING.sum()
    clipped, found = (
        np.mean([way(noisy)[20:].sum() for noisy in drawn(FALLING)])
        for way in (lambda y: on_simplex(y, total), lambda y: settled(y, SIGMA, total))
    )
    assert found < 0.4 * clipped


@pytest.mark.parametrize("place", [0, 30, 39])
def test_a_value_that_many_rows_share_is_kept(place: int) -> None:
    counts = FALLING.copy()
    counts[place] += 8 * SIGMA
    found = np.mean([settled(noisy, SIGMA, counts.sum())[place] for noisy in drawn(counts)])
    assert found == pytest.approx(counts[place], rel=0.05)


def test_a_value_at_the_end_does_not_take_what_others_lose() -> None:
    """Codes that drown in the noise are drawn together; the rows that they lose are not the last code's."""
    counts = np.concatenate([[20_000.0], np.full(28, 40.0), [500.0]])
    found = [settled(noisy, SIGMA, counts.sum())[-1] for noisy in drawn(counts)]
    assert np.mean(found) == pytest.approx(500, rel=0.2)
    assert np.std(found) < 1.3 * SIGMA


@pytest.mark.parametrize("total", [1e-3, 10.0, 1e9])
@pytest.mark.parametrize("values", [[0.0], [-5.0, -4.0], [1e9, -1e9, 3.0], [2.0, 1.0, 2.0, 1.0]])
@pytest.mark.parametrize("sigma", [1e-4, 1.0, 1e6])
def test_settled_counts_are_a_distribution(values: list[float], sigma: float, total: float) -> None:
    found = settled(np.array(values), sigma, total)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(total, abs=1e-6)


TEXT = '[columns.pay]\nkind = "integer"\nmin = 0\nmax = 3999\nbins = 40\nother = 0\n' + "".join(
    f'[columns.{name}]\nkind = "integer"\nmin = 0\nmax = 11\nother = 0\n' for name in "xyz"
)


def test_rare_values_are_not_made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Empty bins of a column that is in many measured marginals: their noise adds up to rows without an anchor."""
    rng = np.random.default_rng(2)
    group = rng.integers(0, 12, 4_000)
    data = {"pay": (rng.exponential(100, 4_000) + 120 * group).astype(int).clip(0, 3999)}
    data |= {name: (group + rng.integers(0, 3, 4_000)) % 12 for name in "xyz"}
    settings: dict[str, Any] = {"epsilon": 1, "seed": 5, "workload": "all-2way", "progress": False}

    def off() -> float:
        release = understudy.synthesize(data, parse_schema(TEXT), **settings)
        truth = np.bincount(data["pay"] // 100, minlength=40)
        return float(np.abs(release.marginal("pay").counts - truth).sum())

    held = off()
    monkeypatch.setattr(running, "anchored", lambda observations, *_: observations)
    free = off()
    assert held < 0.9 * free


class One:
    """One sum of a column's counts."""

    def __init__(self, weights: np.ndarray[Any, Any]) -> None:
        self.weights, self.answers, self.reach = weights, 1, float(np.abs(weights).max())

    def forward(self, marginal: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return np.array([self.weights @ marginal.ravel()])

    def adjoint(self, answers: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return np.asarray(self.weights * answers[0])


def test_counts_are_moved_to_a_sum_by_how_uncertain_they_are() -> None:
    """As the normal posterior says, by matrices: the variances as they are, given that the counts add up, and the noise."""
    counts, variances = np.array([100.0, 50.0, 30.0]), np.array([9.0, 4.0, 1.0])
    weights, variance = np.array([0.0, 1.0, 4.0]), 6.0
    held = np.diag(variances) - np.outer(variances, variances) / variances.sum()
    gain = held @ weights / (weights @ held @ weights + variance)
    found = Known(counts, variances, 1.0, 0.0).told(weights, 190.0, variance)
    np.testing.assert_allclose(found.counts, counts + gain * (190.0 - weights @ counts))
    assert found.counts.sum() == pytest.approx(180.0)


def test_no_count_is_moved_below_zero_and_a_far_sum_is_not_believed() -> None:
    counts, variances = np.array([100.0, 5.0, 1.0]), np.array([9.0, 4.0, 4.0])
    low = Known(counts, variances, 1.0, 0.0).told(np.array([0.0, 1.0, 4.0]), -100.0, 0.01)
    assert low.counts.min() >= 0
    assert low.counts.sum() == pytest.approx(106.0)
    still = Known(counts, variances, 1.0, 0.0).told(np.array([0.0, 1.0, 4.0]), 50.0, 1e12)
    np.testing.assert_allclose(still.counts, counts, atol=1e-6)


def test_a_sum_is_part_of_the_anchor_and_of_nothing_else() -> None:
    asked = Observation(("a",), np.array([30.0]), 0.5, One(np.array([0.0, 1.0, 2.0])))
    *given, anchor = anchored([ONE, TWO, asked], ["a"], 42.0)
    assert given == [ONE, TWO]
    without = anchored([ONE, TWO], ["a"], 42.0)[-1]
    assert without.values @ [0, 1, 2] < anchor.values @ [0, 1, 2] <= 30.0
    assert anchor.values.sum() == pytest.approx(42.0)
    assert anchored([ONE, asked], ["b"], 42.0) == [ONE, asked]  # another column's sums are left to the fit


def test_counts_without_any_noise_are_taken_as_they_are() -> None:
    """The largest budgets leave none; dividing by it made no number of an empty cell."""
    counts = np.array([30.0, 4.0, 0.0, 0.0, 7.0, 0.0])
    with np.errstate(divide="raise", invalid="raise", over="raise"):
        np.testing.assert_allclose(falling(counts, 0.0), counts, atol=1e-9)
        np.testing.assert_allclose(settled(counts, 0.0, 41.0), counts, atol=1e-9)


def spread_out(rows: float) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Amounts that are log-normally far apart, in 80 cells that widen; one more for rows without a distance."""
    cells = np.arange(80)
    found = np.exp(-0.5 * ((cells - 48) / 9) ** 2)
    return np.append(np.round(found * rows / found.sum()), 0.0)


def test_rows_that_no_cell_of_a_gap_tells_from_noise_are_told_by_several() -> None:
    """3,000 rows over 80 cells, each with noise of 40: four of five were taken for noise. Seeded."""
    exact = spread_out(3_000)
    for seed in range(20):
        noisy = exact + np.random.default_rng(seed).normal(0, 40, 81)
        found = distances(noisy, 40.0, 3_000.0)
        assert found is not None
        assert len(found) == 80
        assert 2_250 < found.sum() < 3_200
        assert falling(noisy[:-1], 40.0).sum() < 1_500
        assert float(np.arange(80) @ found / found.sum()) == pytest.approx(48, abs=5)


def test_gaps_that_little_is_known_of_say_nothing() -> None:
    noisy = spread_out(3_000) + np.random.default_rng(1).normal(0, 2_000, 81)
    assert distances(noisy, 2_000.0, 3_000.0) is None
    assert distances(np.append(np.zeros(80), 500.0), 1.0, 500.0) is None  # all rows are without a distance
    assert distances(np.zeros(81), 1.0, 0.0) is None


def test_cells_that_stand_out_stay_as_they_are() -> None:
    counts = np.append(np.append([900.0, 400.0, 150.0, 50.0], np.zeros(76)), 500.0)
    found = distances(counts, 5.0, 2_000.0)
    np.testing.assert_allclose(found, falling(counts[:-1], 5.0))
