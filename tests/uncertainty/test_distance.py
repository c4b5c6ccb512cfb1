from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from understudy.privacy import Measurement
from understudy.uncertainty.distance import distance_bound
from understudy.uncertainty.tails import half

CELLS = 200


def measured(truth: NDArray[np.int64], noise, scale: float, rng: np.random.Generator) -> Measurement:  # type: ignore[no-untyped-def]
    k, p = half(noise, scale)
    z = rng.choice(k, truth.size, p=p) * rng.choice([-1, 1], truth.size)
    return Measurement(("a",), truth + z.astype(np.int64), noise, scale, Fraction(1), False)


def truths() -> dict[str, tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Pairs of a table and its estimate that stress the bound in different ways."""
    rng = np.random.default_rng(1)
    flat = np.full(CELLS, 50)
    return {
        "exact": (flat, flat),
        "all off by a deviation": (flat + rng.choice([-6, 6], CELLS), flat),
        "all off by half of one": (flat + rng.choice([-3, 3], CELLS), flat),
        "few far off": (flat + 100 * (np.arange(CELLS) < 10), flat),
        "far off everywhere": (flat * 3, flat),
        "empty estimate": (rng.poisson(2.0, CELLS), np.zeros(CELLS, dtype=np.int64)),
        "half empty": (rng.poisson(3.0, CELLS), np.where(np.arange(CELLS) % 2, 3, 0)),
    }


@pytest.mark.statistical
@pytest.mark.parametrize("case", truths())
@pytest.mark.parametrize(("noise", "scale"), [("gaussian", 6.0), ("gaussian", 0.8), ("laplace", 4.0)])
def test_the_bound_holds(case: str, noise: str, scale: float) -> None:
    """1,000 draws at 10 %: a false alarm needs 13 %, three standard errors above a bound met exactly; seed
    fixed.
    """
    truth, estimate = truths()[case]
    rng = np.random.default_rng(3)
    distance = int(np.abs(truth - estimate).sum())
    missed = [distance > distance_bound(measured(truth, noise, scale, rng), estimate, 0.1) for _ in range(1000)]
    assert np.mean(missed) < 0.13


@pytest.mark.parametrize("case", truths())
def test_it_is_no_looser_than_the_printed_form_by_much_and_often_tighter(case: str) -> None:
    truth, estimate = truths()[case]
    found = measured(truth, "gaussian", 6.0, np.random.default_rng(4))
    printed = np.abs(found.values - estimate).sum() + np.sqrt(2 * np.log(10)) * 6.0 * np.sqrt(CELLS)
    bound = distance_bound(found, estimate, 0.1)
    assert bound < 1.05 * printed
    if case in ("exact", "empty estimate"):
        assert bound < 0.8 * printed


@pytest.mark.statistical
def test_a_bound_without_its_margin_fails() -> None:
    """The mutant: take the noisy distance for the distance. It misses about half the time."""
    truth, estimate = truths()["far off everywhere"]
    rng = np.random.default_rng(5)
    distance = int(np.abs(truth - estimate).sum())
    missed = [distance > np.abs(measured(truth, "gaussian", 6.0, rng).values - estimate).sum() for _ in range(300)]
    assert np.mean(missed) > 0.3


def test_a_huge_scale_needs_no_sums() -> None:
    truth = np.full(10, 1000)
    values = truth + np.arange(10) * 10**5
    found = Measurement(("a",), values, "gaussian", 1e6, Fraction(1), False)
    assert np.isfinite(distance_bound(found, truth, 0.05))
