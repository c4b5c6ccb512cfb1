"""Every event that might serve a marginal has a share of the failure probability, and the shares add up to no more than it.

Coverage is too loose to see a share that is taken twice; so the shares themselves are recorded and added up.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
import pytest

from understudy.domain import Clique
from understudy.uncertainty import Evidence, bounds, cell_intervals
from understudy.uncertainty.rounds import FINAL_SHARE
from understudy.uncertainty.supported import AVERAGE, FIRST

from .runs import DETERMINED, WEIGHTED, Run, determined_run, one_run

MODULE = "understudy.uncertainty"
TAILS = {
    f"{MODULE}.supported": ("l1_radius", "average_radius", "cell_radius"),
    f"{MODULE}.bounds": ("cell_radius",),
    f"{MODULE}.rounds": ("distance_bound", "selection_margin"),
}
"""Everything that takes a failure probability, in the modules that hand it out; it is always the last argument."""


@dataclass
class Spy:
    """The failure probabilities that were handed out, by function."""

    seen: dict[str, list[float]] = field(default_factory=dict)

    def wrap(self, name: str, inner: Callable[..., float]) -> Callable[..., float]:
        def noted(*arguments: object) -> float:
            self.seen.setdefault(name, []).append(float(arguments[-1]))  # type: ignore[arg-type]
            return inner(*arguments)

        return noted

    def total(self) -> float:
        """The check's radius is asked at twice its share, for it has one side."""
        return sum(sum(betas) / (2 if name == "bounds.cell_radius" else 1) for name, betas in self.seen.items())


@pytest.fixture
def spy(monkeypatch: pytest.MonkeyPatch) -> Spy:
    found = Spy()
    for module, names in TAILS.items():
        home = importlib.import_module(module)
        for name in names:
            key = f"{module.rpartition('.')[2]}.{name}"
            monkeypatch.setattr(home, name, found.wrap(key, getattr(home, name)))
    return found


@cache
def served(seed: int = 2) -> Run:
    """A run with a check, rounds, and marginals that several measurements contain."""
    return one_run(seed, check=0.2)


def two_runs(evidence: Evidence, clique: Clique) -> tuple[Evidence, Evidence]:
    """The run, and the same had ``clique`` not been measured: both are possible, so a bound pays for what either uses."""
    without = [m for m in evidence.measurements if not set(clique) <= set(m.clique)]
    return evidence, replace(evidence, measurements=tuple(without))


@pytest.mark.promise(37)
@pytest.mark.parametrize("confidence", [0.95, 0.5])
def test_all_that_might_serve_a_marginal_adds_up_to_the_failure_probability(spy: Spy, confidence: float) -> None:
    run = served()
    for r in WEIGHTED.closure:
        spy.seen.clear()
        _, bare = two_runs(run.evidence, r)
        bounds(run.evidence, cliques=[r], confidence=confidence)
        if any(set(r) <= set(m.clique) for m in run.evidence.measurements):
            once = {name: list(betas) for name, betas in spy.seen.items()}
            spy.seen.clear()
            bounds(bare, cliques=[r], confidence=confidence)
            rounds = {name: betas for name, betas in spy.seen.items() if name.startswith("rounds.")}
            spy.seen = {**once, **rounds}
        assert set(spy.seen) >= {"bounds.cell_radius", "supported.cell_radius", "rounds.selection_margin"}, r
        assert 0.3 * (1 - confidence) < spy.total() <= (1 - confidence) * (1 + 1e-12), r


@pytest.mark.promise(37)
def test_the_shares_are_settled_beforehand_and_make_up_the_whole(spy: Spy) -> None:
    """From the shares that two runs use, all that were set aside are found: nothing is spent twice, nothing is lost."""
    run, r = served(), ("b", "c")
    measured = next(m for m in run.evidence.measurements if "b" in m.clique)
    once = replace(measured, clique=r, values=np.ones((4, 5), dtype=np.int64))
    _, bare = two_runs(run.evidence, r)
    bounds(replace(bare, measurements=(*bare.measurements, once)), cliques=[r])
    rows = spy.seen["supported.cell_radius"][0] / FIRST
    check = spy.seen["bounds.cell_radius"][0] / 2
    supported = spy.seen["supported.l1_radius"][0] / FIRST
    spy.seen.clear()
    final = [one for one in bare.rounds if one.final and r in one.candidates]
    bounds(replace(bare, rounds=tuple(final)), cliques=[r])
    rounds = (spy.seen["rounds.distance_bound"][0] + spy.seen["rounds.selection_margin"][0]) / FINAL_SHARE
    assert rows + check + supported + rounds == pytest.approx(0.05, rel=1e-9)


@pytest.mark.promise(37)
def test_a_part_that_determines_the_rest_has_its_share_too(spy: Spy) -> None:
    run = determined_run(0)
    for r in DETERMINED.closure:
        spy.seen.clear()
        bounds(run.evidence, cliques=[r])
        assert 0.01 < spy.total() <= 0.05 * (1 + 1e-12), r


@pytest.mark.promise(37)
def test_a_bound_from_many_measurements_pays_for_each_and_for_their_average(spy: Spy) -> None:
    run, r = served(), ("b", "c")
    measured = next(m for m in run.evidence.measurements if "b" in m.clique)
    once = replace(measured, clique=r, values=np.ones((4, 5), dtype=np.int64))
    bounds(replace(run.evidence, measurements=(once,) * 500, rounds=(), distances=None), cliques=[r])
    used = sum(spy.seen["supported.l1_radius"]) + sum(spy.seen["supported.average_radius"])
    whole = spy.seen["supported.l1_radius"][0] / FIRST
    rows = sum(spy.seen["supported.cell_radius"])
    assert 0.99 * whole < used - 0.04 * 0.05 * AVERAGE <= whole  # the rows have an average too
    assert rows <= 0.04 * 0.05 * (1 - AVERAGE) * (1 + 1e-12)


@pytest.mark.promise(37)
def test_without_a_check_nothing_is_lost_on_it(spy: Spy) -> None:
    """The shares of the measurements and the rounds are then twice as large."""
    run, r = served(), ("a",)
    bounds(run.evidence, cliques=[r])
    kept = spy.seen["supported.l1_radius"][0]
    spy.seen.clear()
    bounds(replace(run.evidence, distances=None), cliques=[r])
    assert spy.seen["supported.l1_radius"][0] == pytest.approx(2 * kept)


@pytest.mark.promise(37)
@pytest.mark.parametrize("simultaneous", [False, True])
def test_intervals_pay_for_every_measurement_that_they_may_rest_on(spy: Spy, simultaneous: bool) -> None:
    run = served()
    cell_intervals(run.evidence, ["b"], confidence=0.9, simultaneous=simultaneous)
    assert len(spy.seen["supported.cell_radius"]) > 1
    assert "supported.average_radius" in spy.seen
    assert 0.05 < spy.total() * (4 if simultaneous else 1) <= 0.1 * (1 + 1e-12)


@pytest.mark.promise(37)
def test_a_distance_has_a_third_for_each_slope(monkeypatch: pytest.MonkeyPatch) -> None:
    home = importlib.import_module(f"{MODULE}.distance")
    spy = Spy()
    monkeypatch.setattr(home, "_margin", spy.wrap("margin", home._margin))
    measurement = served().evidence.measurements[-1]
    home.distance_bound(measurement, np.maximum(measurement.values, 0), 0.03)
    assert sum(spy.seen["margin"]) <= 0.03 * (1 + 1e-12)
    assert len(spy.seen["margin"]) == 3
