"""Sums of columns at the end of a run: which are asked for, and for how much."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from understudy.mechanism.anchors import Known
from understudy.mechanism.sums import FINE, Finer, Sums, of_codes, shared
from understudy.privacy import Matrix, Measurement
from understudy.schema.within import Within

VALUES = np.array([0.0, 10.0, 20.0, 1000.0])
ALL = np.ones(4, np.bool_)
HEAVY = Known(np.array([9000.0, 600.0, 300.0, 100.0]), np.full(4, 900.0), 30.0, 100.0)
EVEN = Known(np.array([2500.0, 2500.0, 2500.0, 2500.0]), np.full(4, 900.0), 30.0, 100.0)
NOISE = 0.5


def sums(known: Known, values: np.ndarray[tuple[int], np.dtype[np.float64]] = VALUES) -> Sums:
    found = Sums.of(alone(known), values, ALL, NOISE)
    assert found is not None
    return found


def alone(known: Known) -> Finer:
    """Each code is one finer code."""
    return Finer(known, Within(np.arange(4), known.counts, np.full(4, 50.0)))


def test_the_deviation_that_is_left_is_that_of_simulated_tables() -> None:
    """Counts and the sum's noise drawn as they are taken to be; the mean after the sum is told."""
    known, rho = HEAVY, 1e-3
    left = sums(known).left(rho)[0]
    weights, rng, off = sums(known).best(rho), np.random.default_rng(0), []
    mean = VALUES @ known.counts / known.counts.sum()
    for _ in range(4000):
        true = known.counts + rng.normal(0, 30, 4)
        true *= known.counts.sum() / true.sum()
        told = known.told(weights, float(weights @ true) + rng.normal(0, (NOISE / rho) ** 0.5), NOISE / rho)
        off.append((VALUES @ told.counts - VALUES @ true) / known.counts.sum() / mean)
    assert left == pytest.approx(np.std(off), rel=0.1)
    assert left < 0.6 * sums(known).left(0.0)[0]


BINS = np.array([0, 0, 0, 1, 1, 1, 2])
INSIDE = Within(BINS, np.array([6000.0, 2000.0, 1000.0, 400.0, 300.0, 200.0, 100.0]), np.full(7, 900.0))
FINER = Finer(Known(np.array([9000.0, 900.0, 100.0]), np.full(3, 400.0), 20.0, 0.0), INSIDE)
FINE_VALUES = np.array([0.0, 5.0, 10.0, 100.0, 300.0, 500.0, 1000.0])


def test_told_first_of_codes_and_then_inside_them_nothing_is_lost() -> None:
    """What is left is what was forecast for both together; drawn as taken to be, in three steps as in a run."""
    found, rho = Sums.of(FINER, FINE_VALUES, np.ones(7, np.bool_), NOISE), 1e-2
    assert found is not None
    weights = np.rint(FINE * found.best(rho))
    scale, rng, off = FINE * (NOISE / rho) ** 0.5, np.random.default_rng(1), []
    mean = FINE_VALUES @ INSIDE.rows / INSIDE.rows.sum()
    for _ in range(3000):
        true = drawn(rng)
        answer = np.rint(weights @ true + rng.normal(0, scale, 1)).astype(np.int64)
        asked = Measurement(
            ("x",), answer, "gaussian", scale, Fraction(1, 100), True, Matrix(weights[None].astype(int), (7,))
        )
        seen = of_codes("x", INSIDE, weights, asked)
        assert seen.query is not None
        codes = FINER.known.told(seen.query.adjoint(np.ones(1)), float(answer[0]), seen.sigma**2).counts
        within = Within(BINS, INSIDE.rows * (codes / FINER.known.counts)[BINS], INSIDE.variances)
        rows = within.told(weights, float(answer[0]), scale**2).rows
        off.append(FINE_VALUES @ (rows - true) / INSIDE.rows.sum() / mean)
    assert found.left(rho)[0] == pytest.approx(np.std(off), rel=0.1)
    assert found.left(rho)[0] < 0.6 * found.left(0.0)[0]


def drawn(rng: np.random.Generator) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Draw the rows of codes, and how they lie inside, with the variances that are taken for true."""
    codes = FINER.known.counts + rng.normal(0, 20, 3)
    codes += (10_000 - codes.sum()) / 3
    rows = INSIDE.rows * (codes / FINER.known.counts)[BINS] + rng.normal(0, 30, 7)
    return np.asarray(rows + ((codes - np.bincount(BINS, rows)) / np.bincount(BINS))[BINS])


def test_weights_are_at_most_one_and_missing_values_have_none() -> None:
    found = Sums.of(alone(HEAVY), VALUES, np.array([True, True, False, True]), NOISE)
    assert found is not None
    np.testing.assert_allclose(np.abs(found.clips.weights()).max(axis=1), 1.0)
    assert not found.clips.weights()[:, 2].any()


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
    assert Sums.of(alone(HEAVY), np.full(4, 7.0), ALL, NOISE) is None
    assert Sums.of(alone(HEAVY), VALUES, np.zeros(4, np.bool_), NOISE) is None
    assert shared({}, 1.0) == {}
