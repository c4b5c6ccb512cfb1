"""Sums of columns at the end of a run: which are asked for, and for how much."""

from __future__ import annotations

import numpy as np
import pytest

from understudy.mechanism.anchors import Known
from understudy.mechanism.sums import Sums, shared

VALUES = np.array([0.0, 10.0, 20.0, 1000.0])
ALL = np.ones(4, np.bool_)
HEAVY = Known(np.array([9000.0, 600.0, 300.0, 100.0]), np.full(4, 900.0), 30.0, 100.0)
EVEN = Known(np.array([2500.0, 2500.0, 2500.0, 2500.0]), np.full(4, 900.0), 30.0, 100.0)
NOISE = 0.5


def sums(known: Known, values: np.ndarray[tuple[int], np.dtype[np.float64]] = VALUES) -> Sums:
    found = Sums.of(known, values, ALL, NOISE)
    assert found is not None
    return found


def test_the_deviation_that_is_left_is_that_of_simulated_tables() -> None:
    """Counts and the sum's noise drawn as they are taken to be; the mean after the sum is told."""
    known, rho = HEAVY, 1e-3
    left, best = sums(known).left(rho)
    weights, rng, off = sums(known).weights[best], np.random.default_rng(0), []
    mean = VALUES @ known.counts / known.counts.sum()
    for _ in range(4000):
        true = known.counts + rng.normal(0, 30, 4)
        true *= known.counts.sum() / true.sum()
        told = known.told(weights, float(weights @ true) + rng.normal(0, (NOISE / rho) ** 0.5), NOISE / rho)
        off.append((VALUES @ told.counts - VALUES @ true) / known.counts.sum() / mean)
    assert left == pytest.approx(np.std(off), rel=0.1)
    assert left < 0.6 * sums(known).left(0.0)[0]


def test_weights_are_at_most_one_and_missing_values_have_none() -> None:
    found = Sums.of(HEAVY, VALUES, np.array([True, True, False, True]), NOISE)
    assert found is not None
    assert np.abs(found.weights).max() == pytest.approx(1.0)
    assert not found.weights[:, 2].any()


def test_the_column_whose_mean_is_least_certain_gets_most() -> None:
    costs = shared({"even": sums(EVEN), "heavy": sums(HEAVY)}, 1e-3)
    assert sum(costs.values()) == pytest.approx(1e-3)
    assert costs["heavy"] > 2 * costs.get("even", 0.0)


def test_no_other_split_leaves_less() -> None:
    columns = {"even": sums(EVEN), "heavy": sums(HEAVY)}
    costs = shared(columns, 1e-3)
    least = sum(columns[name].left(costs.get(name, 0.0))[0] for name in columns)
    for part in np.linspace(0, 1, 21):
        assert least <= 1.001 * (columns["even"].left(part * 1e-3)[0] + columns["heavy"].left((1 - part) * 1e-3)[0])


def test_nothing_is_asked_of_a_column_of_one_value_or_of_no_rows() -> None:
    assert Sums.of(HEAVY, np.full(4, 7.0), ALL, NOISE) is None
    assert Sums.of(HEAVY, VALUES, np.zeros(4, np.bool_), NOISE) is None
    assert shared({}, 1.0) == {}
