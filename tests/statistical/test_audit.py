"""The white-box audit: thousands of runs on worst-case neighbours bound the privacy loss from below, under every claim.

A bound above the claim would prove the claim false; a bound far below it would prove nothing, so for Gaussian noise it must
reach 0.7 of the claimed epsilon. The same audit of half the noise must exceed the claim. Every bound is wrong with
probability 1e-6 at most (``bounds.ALARM``); quick versions draw from a seeded generator and never vary.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import count
from math import sqrt
from typing import Any

import pytest

from privacy.mutants import HalfScale
from understudy.mechanism import MECHANISMS
from understudy.privacy import UNITS, Noise, ResearchNoise, SecureNoise, Unit, epsilon_of

from .attacks import Guess, MakeNoise, checking, choosing, measuring, running
from .bounds import ALARM, event_bound, gaussian_bound, gaussian_epsilon, range_bound

pytestmark = [pytest.mark.statistical, pytest.mark.promise(20), pytest.mark.promise(17)]
DELTA = 1e-9
RHO = Fraction(1)
CLAIM = epsilon_of(RHO, DELTA)
EPSILON = 3.0
"""Of a selection."""


def seeded(mutate: Any = None) -> MakeNoise:
    numbers = count()

    def make() -> Noise:
        noise = ResearchNoise(next(numbers))
        return noise if mutate is None else mutate(noise)

    return make


def secure(mutate: Any = None) -> MakeNoise:
    return lambda: None if mutate is None else mutate(SecureNoise())


def both(quick: int, thorough: int) -> Any:
    """Few seeded runs every day, many with the secure generator in the audit; and how sure a bound is."""
    cases = [
        pytest.param(seeded, quick, 1e-3, id="seeded"),
        pytest.param(secure, thorough, ALARM, id="secure", marks=pytest.mark.audit),
    ]
    return pytest.mark.parametrize(("kind", "runs", "alarm"), cases)


def bound_on(guess: Guess, alarm: float = ALARM) -> float:
    """Return the lower bound on epsilon at DELTA."""
    return gaussian_epsilon(gaussian_bound(*guess.errors(), guess.within.size, alarm), DELTA)


@pytest.mark.parametrize("unit", UNITS)
@both(1600, 4500)
def test_measurements_cost_what_is_claimed(kind: Any, runs: int, alarm: float, unit: Unit) -> None:
    assert 0.7 * CLAIM <= bound_on(measuring(unit, RHO, runs, kind()), alarm) <= CLAIM


@pytest.mark.parametrize("unit", UNITS)
@both(300, 1500)
def test_half_the_noise_exceeds_the_claim(kind: Any, runs: int, alarm: float, unit: Unit) -> None:
    assert bound_on(measuring(unit, RHO, runs, kind(HalfScale)), alarm) > CLAIM


@pytest.mark.parametrize("unit", UNITS)
@both(1600, 4500)
def test_checks_cost_what_is_claimed(kind: Any, runs: int, alarm: float, unit: Unit) -> None:
    assert 0.7 * CLAIM <= bound_on(checking(unit, RHO, runs, kind()), alarm) <= CLAIM


@pytest.mark.parametrize("unit", UNITS)
@both(300, 1500)
def test_a_check_with_half_the_noise_exceeds_the_claim(kind: Any, runs: int, alarm: float, unit: Unit) -> None:
    assert bound_on(checking(unit, RHO, runs, kind(HalfScale)), alarm) > CLAIM


@pytest.mark.parametrize("unit", UNITS)
@both(1500, 5000)
def test_selection_costs_what_is_claimed(kind: Any, runs: int, alarm: float, unit: Unit) -> None:
    assert 0.7 * EPSILON <= range_bound(*choosing(unit, EPSILON, runs, kind()), runs, alarm) <= EPSILON


@pytest.mark.parametrize("unit", UNITS)
@both(500, 1500)
def test_the_monotone_coefficient_exceeds_the_claim(kind: Any, runs: int, alarm: float, unit: Unit) -> None:
    assert range_bound(*choosing(unit, EPSILON, runs, kind(HalfScale)), runs, alarm) > EPSILON


PERSONS = [Unit("add-remove", 3, "who"), Unit("replace", 3, "who")]
"""The person who is attacked has forty rows."""
KINDS = [unit.kind for unit in PERSONS]


@pytest.mark.promise(16)
@pytest.mark.parametrize("unit", [PERSONS[0], pytest.param(PERSONS[1], marks=pytest.mark.audit)], ids=KINDS)
@both(1600, 4500)
def test_a_person_is_protected_as_claimed(kind: Any, runs: int, alarm: float, unit: Unit) -> None:
    assert 0.7 * CLAIM <= bound_on(measuring(unit, RHO, runs, kind()), alarm) <= CLAIM


@pytest.mark.promise(16)
@pytest.mark.parametrize("unit", [PERSONS[0], pytest.param(PERSONS[1], marks=pytest.mark.audit)], ids=KINDS)
@both(1500, 5000)
def test_a_person_is_protected_in_selections(kind: Any, runs: int, alarm: float, unit: Unit) -> None:
    assert 0.7 * EPSILON <= range_bound(*choosing(unit, EPSILON, runs, kind()), runs, alarm) <= EPSILON


@pytest.mark.promise(16)
@pytest.mark.audit
@pytest.mark.parametrize("unit", PERSONS, ids=KINDS)
def test_a_person_is_protected_in_a_whole_run(unit: Unit) -> None:
    assert 0.4 * CLAIM <= bound_on(running("aim", unit, RHO, 700, secure())) <= CLAIM


@pytest.mark.promise(16)
def test_half_the_noise_exceeds_the_claim_for_a_person() -> None:
    """Seeded."""
    assert bound_on(measuring(PERSONS[0], RHO, 300, seeded(HalfScale)), 1e-3) > CLAIM


def test_a_whole_run_of_measurements() -> None:
    """Seeded."""
    assert 0.7 * CLAIM <= bound_on(running("gaussian", Unit.REPLACE, RHO, 1600, seeded()), 1e-3) <= CLAIM


@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_the_attacker_reads_a_whole_run_with_choices(name: str) -> None:
    """Seeded, and few: the many runs of the audit must not fail for want of a reader of some answer."""
    guess = running(name, Unit.ADD_REMOVE, RHO, 12, seeded())
    assert guess.within.mean() > 0 > guess.without.mean()


RUNS = {"gaussian": 4500, "independent": 2000}
LEAST = {"gaussian": 0.7, "independent": 0.6, "mst": 0.15, "hdmm+pgm": 0.25}
"""How many runs, and what share of the claimed epsilon they must show. AIM and MWEM fit a model in every round: with fewer
runs an auditor is less sure. MST measures rare values as one, and in so small a table all are rare: a third of its budget
tells nothing of a replaced record. Of HDMM's residuals no one replacement moves all by the most that they can move: this one
moves them by 0.54 of what is paid.
"""


@pytest.mark.audit
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_a_whole_run_costs_what_is_claimed(name: str, unit: Unit) -> None:
    assert LEAST.get(name, 0.4) * CLAIM <= bound_on(running(name, unit, RHO, RUNS.get(name, 700), secure())) <= CLAIM


@pytest.mark.audit
@pytest.mark.parametrize("name", ["aim", "gaussian"])
def test_a_whole_run_with_half_the_noise_exceeds_the_claim(name: str) -> None:
    assert bound_on(running(name, Unit.ADD_REMOVE, RHO, 500, secure(HalfScale))) > CLAIM


# The auditor's own arithmetic.


def test_the_exact_epsilon_of_a_gaussian() -> None:
    """Against an independent accountant."""
    from dp_accounting import GaussianDpEvent
    from dp_accounting.pld import PLDAccountant

    for mu in (0.2, 1.0, 3.0):
        other = PLDAccountant().compose(GaussianDpEvent(1 / mu)).get_epsilon(1e-6)
        assert gaussian_epsilon(mu, 1e-6) == pytest.approx(other, rel=1e-3)
    assert gaussian_epsilon(0.0, 1e-6) == 0


def test_bounds_lie_below_the_truth_and_near_it() -> None:
    from scipy import stats

    runs, mu = 10**7, sqrt(2 * RHO)
    wrong = round(runs * stats.norm.cdf(-mu / 2))
    assert 0.98 * mu < gaussian_bound(wrong, wrong, runs) < mu
    assert gaussian_bound(runs // 2, runs // 2, runs) == 0
    high, low = round(runs * 0.7310586), round(runs * 0.2689414)
    assert 1.98 < range_bound(high, low, runs) < 2
    assert 0.98 < event_bound(high, low, runs, 0.0) < 1
    assert range_bound(0, 5, 10) == 0
