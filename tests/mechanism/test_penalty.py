"""The penalty of aim2 is the error that is left after a fit: against a simulation, and at its ends."""

from __future__ import annotations

from math import pi, sqrt

import numpy as np
import pytest
from numpy.typing import NDArray

from understudy.mechanism.config import NoiseName
from understudy.mechanism.penalty import DROWNED, fitted_errors, penalties

Floats = NDArray[np.float64]
SCALE = 30.0


def marginal(cells: int, rows: float, concentration: float, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).dirichlet(np.full(cells, concentration)) * rows


def projected(values: Floats, total: float) -> Floats:
    """The nearest vector (in squares) that is not negative and sums to ``total``: by sorting."""
    falling = np.sort(values)[::-1]
    level = (np.cumsum(falling) - total) / np.arange(1, values.size + 1)
    return np.maximum(values - level[np.nonzero(falling > level)[0][-1]], 0.0)


def simulated(m: Floats, noise: NoiseName, draws: int = 60) -> float:
    rng = np.random.default_rng(1)
    drawn = [rng.normal(0, SCALE, m.size) if noise == "gaussian" else rng.laplace(0, SCALE, m.size) for _ in range(draws)]
    return float(np.mean([np.abs(projected(m + z, float(m.sum())) - m).sum() for z in drawn]))


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
@pytest.mark.parametrize(("cells", "rows", "concentration"), [(2000, 5e3, 0.05), (2000, 1e5, 0.02), (8000, 4e4, 0.01)])
def test_it_is_the_error_of_a_projection(cells: int, rows: float, concentration: float, noise: NoiseName) -> None:
    """The mean of 60 draws has a standard error below 0.5 %."""
    m = marginal(cells, rows, concentration)
    assert fitted_errors([m], SCALE, noise)[0] == pytest.approx(simulated(m, noise), rel=0.025)


@pytest.mark.parametrize(("noise", "expected"), [("gaussian", sqrt(2 / pi)), ("laplace", 1.0)])
def test_where_no_cell_is_near_zero_it_is_the_papers(noise: NoiseName, expected: float) -> None:
    m = np.full(50, 100 * SCALE)
    assert fitted_errors([m], SCALE, noise)[0] == pytest.approx(expected * SCALE * 50, rel=1e-3)


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_it_is_never_more_than_the_noise_or_than_both_tables(noise: NoiseName) -> None:
    by_noise = sqrt(2 / pi) if noise == "gaussian" else 1.0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        cells, rows = int(rng.integers(1, 3000)), float(rng.uniform(1, 1e5))
        m = marginal(cells, rows, float(rng.uniform(0.01, 2)), seed)
        found = fitted_errors([m], SCALE, noise)[0]
        assert 0 <= found <= min(by_noise * SCALE * cells, 2 * rows) * 1.001


def test_a_sparser_marginal_costs_less_and_more_noise_costs_more() -> None:
    sparse, even = marginal(4000, 5e4, 0.01), np.full(4000, 12.5)
    small, large = fitted_errors([sparse, even], SCALE, "gaussian")
    assert small < 0.7 * large
    assert fitted_errors([sparse], 2 * SCALE, "gaussian")[0] > small


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_a_marginal_costs_at_least_as_much_as_what_it_holds(noise: NoiseName) -> None:
    """So what holds a drowned marginal is drowned. Gathering cells by size is good to a hundredth."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        joint = marginal(240, float(rng.uniform(100, 1e5)), float(rng.uniform(0.01, 1)), seed).reshape(8, 5, 6)
        whole, pair, column = fitted_errors([joint, joint.sum(axis=2), joint.sum(axis=(1, 2))], SCALE, noise)
        assert whole * 1.01 >= pair
        assert pair * 1.01 >= column


def test_shape_precision_and_company_do_not_matter() -> None:
    m = marginal(600, 1e4, 0.1)
    alone = fitted_errors([m], SCALE, "gaussian")[0]
    others = fitted_errors([np.zeros(5), m.reshape(20, 30), m.astype(np.float32), np.ones(1)], SCALE, "gaussian")
    assert others[1] == alone
    assert others[2] == pytest.approx(alone, rel=1e-5)
    assert np.isfinite(others).all()


def test_what_would_drown_has_the_papers_penalty() -> None:
    found = penalties(np.array([DROWNED * 99, DROWNED * 101]), np.array([500.0, 700.0]), rows=100)
    assert found.tolist() == [DROWNED * 99, 700.0]
