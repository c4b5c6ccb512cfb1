"""Cells that do not stand out of the noise are shrunk to their mean, and nothing else is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Domain
from understudy.model import CLOSER, NUMPY, Observation, fit
from understudy.model.problem import Problem, shrinkage
from understudy.model.solvers import Dual

ROWS = np.concatenate([[260.0], np.repeat([4.0, 10.0, 16.0], 30)])
"""A spike, and ninety small counts."""
DOMAIN = Domain.of({"age": ROWS.size, "sex": 2})


def noisy(sigma: float, seed: int) -> NDArray[np.float64]:
    return np.rint(ROWS + sigma * np.random.default_rng(seed).normal(size=ROWS.size))


def error(solver: Dual, sigma: float, seed: int) -> float:
    observed = [Observation(("age",), noisy(sigma, seed), sigma)]
    fitted = fit(DOMAIN, observed, total=float(ROWS.sum()), solver=solver).model
    return float(np.abs(fitted.marginal(["age"]) - ROWS).sum() / ROWS.sum())


def test_small_counts_under_large_noise_are_closer_together_and_to_the_truth() -> None:
    plain = np.mean([error(Dual(smoothing=0.1), 60.0, seed) for seed in range(8)])
    shrunk = np.mean([error(CLOSER, 60.0, seed) for seed in range(8)])
    assert shrunk < 0.7 * plain  # measured: about 0.5 against 1.1


def test_without_noise_to_speak_of_nothing_is_drawn_anywhere() -> None:
    assert error(CLOSER, 0.5, 0) < 0.05


def test_a_cell_that_stands_out_is_left_alone() -> None:
    pull = shrinkage(Observation(("age",), ROWS, 20.0))
    assert pull[0] == 0
    assert (pull[1:] > 0).all()


def test_only_lone_one_way_marginals_are_shrunk() -> None:
    one = Observation(("age",), noisy(60.0, 1), 60.0)
    two = Observation(("age", "sex"), np.ones((ROWS.size, 2)), 60.0)
    assert not shrinkage(two).any()
    assert Problem(DOMAIN, [one], (), None, NUMPY).shrinkage.any()
    assert not Problem(DOMAIN, [one, two], (), None, NUMPY).shrinkage.any()


def test_too_few_cells_to_tell_are_left_alone() -> None:
    assert not shrinkage(Observation(("sex",), np.array([5.0, 7.0]), 60.0)).any()


def test_a_start_fitted_without_shrinking_does_not_hold_the_last_fit_up() -> None:
    observed = [Observation(("age",), noisy(1000.0, 0), 1000.0)]
    start = fit(DOMAIN, observed, total=float(ROWS.sum())).model
    assert max(float(np.abs(table).max()) for table in start.parameters.values()) > 1000  # as logarithms: far from anything
    again = fit(DOMAIN, observed, start=start, total=float(ROWS.sum()), solver=CLOSER)
    assert again.reason == "converged"
    assert again.iterations < 20  # from there it took 503
