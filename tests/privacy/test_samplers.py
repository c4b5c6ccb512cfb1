"""Noise and selection have exactly the distributions claimed; the kept mutants fail the same checks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from understudy.domain import Domain
from understudy.privacy import UNITS, Budget, Candidate, Door, Noise, ResearchNoise, SecureNoise, Unit
from understudy.privacy.scoring import scores

from .fakes import TableSource
from .fits import (
    exact_noise,
    fits_counts,
    fits_moments,
    fits_noise,
    gaussian_weights,
    laplace_weights,
)
from .mutants import HalfScale, PermuteAndFlip

pytestmark = pytest.mark.statistical

DRAWS = {"secure": 30_000, "research": 300_000}
SCORES = np.array([0, 3, 5, 5, -2, 9], np.int64)
CHOICES = 8_000


def noise_of(kind: str) -> Noise:
    return SecureNoise() if kind == "secure" else ResearchNoise(20260713)


def draw(noise: Noise, law: str, size: int, scale: float) -> NDArray[np.int64]:
    zeros = np.zeros(size, np.int64)
    return noise.gaussian(zeros, scale) if law == "gaussian" else noise.laplace(zeros, scale)


def check_noise(noise: Noise, law: str, size: int, scale: float) -> tuple[bool, bool]:
    k, probabilities = exact_noise(gaussian_weights if law == "gaussian" else laplace_weights, scale)
    draws = draw(noise, law, size, scale)
    return fits_noise(draws, k, probabilities), fits_moments(draws, k, probabilities)


@pytest.mark.promise(1)
@pytest.mark.parametrize("law", ["gaussian", "laplace"])
@pytest.mark.parametrize("scale", [0.5, 1.0, 10.0, 200.0])
@pytest.mark.parametrize("kind", ["secure", "research"])
def test_noise_is_the_one_claimed(kind: str, scale: float, law: str) -> None:
    """False alarm: 1e-8 for the secure generator (χ² and moments, below 5e-9 each); none for the seeded one."""
    assert check_noise(noise_of(kind), law, DRAWS[kind], scale) == (True, True)


@pytest.mark.promise(1)
@pytest.mark.parametrize("law", ["gaussian", "laplace"])
@pytest.mark.parametrize("scale", [0.5, 1.0, 10.0, 200.0])
@pytest.mark.parametrize("kind", ["secure", "research"])
def test_half_the_scale_is_rejected(kind: str, scale: float, law: str) -> None:
    """Mutant. Both checks reject it; the chance that either misses it is below 1e-100 at these sizes."""
    assert check_noise(HalfScale(noise_of(kind)), law, DRAWS[kind], scale) == (False, False)


def softmax(values: NDArray[np.int64], scale: float) -> NDArray[np.float64]:
    weights: NDArray[np.float64] = np.exp((values - values.max()) / scale)
    return np.asarray(weights / weights.sum())


def check_choice(noise: Noise, values: NDArray[np.int64], scale: float, times: int = CHOICES) -> bool:
    chosen = [noise.select(values, scale) for _ in range(times)]
    return fits_counts(np.bincount(chosen, minlength=values.size), softmax(values, scale))


@pytest.mark.promise(2)
@pytest.mark.parametrize(("values", "scale"), [(SCORES, 4.0), (SCORES * 2**40, 4.0 * 2**40), (np.array([1, -1]), 1.0)])
@pytest.mark.parametrize("kind", ["secure", "research"])
def test_selection_is_the_exact_softmax(kind: str, values: NDArray[np.int64], scale: float) -> None:
    """False alarm: below 5e-9 for the secure generator; none for the seeded one."""
    assert check_choice(noise_of(kind), values, scale)


@pytest.mark.promise(2)
@pytest.mark.parametrize("mutant", [HalfScale, PermuteAndFlip])
@pytest.mark.parametrize(("values", "scale"), [(SCORES, 4.0), (np.array([1, -1]), 1.0)])
@pytest.mark.parametrize("kind", ["secure", "research"])
def test_other_selections_are_rejected(
    kind: str, values: NDArray[np.int64], scale: float, mutant: Callable[[Noise], Noise]
) -> None:
    """Mutants: half the scale (the coefficient for monotone scores) and permute-and-flip; a miss is below
    1e-12.
    """
    assert not check_choice(mutant(noise_of(kind)), values, scale)


DOMAIN = Domain.of({"a": 2, "b": 3})
ROWS = [(0, 0)] * 4 + [(1, 2)] * 6 + [(1, 1)] * 2
CANDIDATES = [
    Candidate(("a",), 2.0, 1.0, np.array([5.2, 6.9])),
    Candidate(("b",), 1.5, 0.5, np.array([4.0, 4.0, 4.0])),
    Candidate(("a", "b"), 1.0, 2.0, np.full((2, 3), 2.0)),
]


def check_door(unit: Unit, noise: Noise, times: int = 4000) -> bool:
    """Compare what a door chooses with the softmax of epsilon · q / (2 Δ), written out from the paper."""
    source = TableSource(DOMAIN, ROWS)
    door = Door(source, Budget.of(rho=10_000), unit=unit, noise=noise)
    chosen = [door.select(CANDIDATES, epsilon=1.5).index for _ in range(times)]
    quality = np.array([2.0 * (2 - 1.0), 1.5 * (4 - 0.5), 1.0 * (12 - 2.0)])
    weights = np.exp(1.5 * quality / (2 * 2.0 * unit.score))
    return fits_counts(np.bincount(chosen, minlength=3), weights / weights.sum())


@pytest.mark.promise(2)
@pytest.mark.promise(17)
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("kind", ["secure", "research"])
def test_a_door_selects_by_epsilon_over_twice_the_sensitivity(kind: str, unit: Unit) -> None:
    """False alarm: below 5e-9 for the secure generator; none for the seeded one."""
    assert check_door(unit, noise_of(kind))


@pytest.mark.promise(2)
@pytest.mark.parametrize("unit", UNITS)
def test_a_door_with_half_the_scale_is_rejected(unit: Unit) -> None:
    """Mutant: the coefficient that only monotone scores allow. Seeded, so it never varies."""
    assert not check_door(unit, HalfScale(ResearchNoise(1)))


def test_the_qualities_written_out_above_are_those_of_the_table() -> None:
    exact = TableSource(DOMAIN, ROWS).count([c.clique for c in CANDIDATES])
    top = 2**20 / 2.0
    assert scores(exact, CANDIDATES).tolist() == [2.0 * top, 5.25 * top, 10.0 * top]


def test_the_seeded_noise_repeats_and_the_secure_one_does_not() -> None:
    """False alarm: below 1e-200 (a hundred equal draws at sigma 1000)."""
    zeros = np.zeros(100, np.int64)
    assert np.array_equal(ResearchNoise(3).gaussian(zeros, 1000.0), ResearchNoise(3).gaussian(zeros, 1000.0))
    assert not np.array_equal(SecureNoise().gaussian(zeros, 1000.0), SecureNoise().gaussian(zeros, 1000.0))
