"""RAP and GEM choose and measure as their papers say, AIM's estimator is a choice; what no mixture can be is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ledger.small import BUDGET, FACTS, Stop, fresh, play, stopping_after
from understudy.domain import Domain, Zeros
from understudy.errors import CapacityError, UserError
from understudy.mechanism import Aim, aim, mechanism
from understudy.model import GraphicalModel, Mixture
from understudy.privacy import ResearchNoise
from understudy.workload import Workload

from .conftest import SMALL, MakeDoor

TWO_WAY = Workload.all_kway(SMALL, 2)
MIXED: list[tuple[str, dict[str, Any]]] = [
    ("rap", {}),
    ("gem", {}),
    ("aim", {"estimator": "relaxed"}),
    ("aim", {"estimator": "generator"}),
]
each = pytest.mark.parametrize(("name", "options"), MIXED)


def test_rap_measures_the_rows_then_the_worst_marginals(make_door: MakeDoor) -> None:
    outcome = mechanism("rap", rounds=3, each=2, check=0.0).run(make_door(rho=1), TWO_WAY)
    cliques = [m.clique for m in outcome.measurements]
    assert cliques[0] == ()
    assert len(cliques) == 7
    assert [s.clique for s in outcome.selections] == cliques[1:]
    assert all(first != second for first, second in zip(cliques[1::2], cliques[2::2], strict=True))
    assert set(cliques[1:]) <= set(TWO_WAY.cliques)
    assert outcome.spent == pytest.approx(1, abs=1e-9)
    chosen, measured = (sum(float(one.rho) for one in part) for part in (outcome.selections, outcome.measurements[1:]))
    assert chosen == pytest.approx(measured, rel=1e-9)


@pytest.mark.fitted
def test_rap_finds_what_depends(make_door: MakeDoor) -> None:
    """With next to no noise, the error of the model that is handed out is a small part of a uniform one's."""
    door = make_door(rho=1e4, rows=3000)
    outcome = mechanism("rap").run(door, TWO_WAY)
    real = door._read(list(TWO_WAY.cliques))
    assert outcome.model is not None
    off = sum(np.abs(m - r).sum() for m, r in zip(outcome.model.marginals(TWO_WAY.cliques), real, strict=True))
    even = sum(np.abs(r.sum() / r.size - r).sum() for r in real)
    assert off < 0.1 * even


def test_gem_has_equal_rounds_on_the_workload_alone(make_door: MakeDoor) -> None:
    outcome = mechanism("gem", rounds=4, check=0.0).run(make_door(rho=1), TWO_WAY)
    assert outcome.measurements[0].clique == ()
    assert len(outcome.rounds) == 4
    assert all(r.candidates == tuple(TWO_WAY.cliques) for r in outcome.rounds)
    assert all(penalty == 0 for r in outcome.rounds for penalty in r.penalties)
    scales = [m.scale for m in outcome.measurements]
    assert max(scales) / min(scales) < 1.001
    assert float(outcome.rounds[0].selection.rho / outcome.rounds[0].measurement.rho) == pytest.approx(1, rel=1e-6)
    assert outcome.spent == pytest.approx(1, abs=1e-9)
    assert len(mechanism("gem").run(make_door(rho=1), TWO_WAY).rounds) == 75


@pytest.mark.fitted
def test_gem_finds_what_depends(make_door: MakeDoor) -> None:
    door = make_door(rho=1e4, rows=3000)
    outcome = mechanism("gem", rounds=8).run(door, TWO_WAY)
    real = door._read(list(TWO_WAY.cliques))
    assert outcome.model is not None
    off = sum(np.abs(m - r).sum() for m, r in zip(outcome.model.marginals(TWO_WAY.cliques), real, strict=True))
    even = sum(np.abs(r.sum() / r.size - r).sum() for r in real)
    assert off < 0.1 * even


def test_each_round_has_no_more_than_there_are(make_door: MakeDoor) -> None:
    one = Workload.all_kway(Domain.of({"a": 3, "b": 2}), 2)
    outcome = mechanism("rap", rounds=2, each=5).run(make_door(domain=one.domain), one)
    assert [m.clique for m in outcome.measurements] == [(), ("a", "b"), ("a", "b")]


@each
def test_models_are_mixtures(make_door: MakeDoor, name: str, options: dict[str, Any]) -> None:
    outcome = mechanism(name, **options).run(make_door(), TWO_WAY)
    assert isinstance(outcome.model, Mixture)
    rows = outcome.draw(np.random.default_rng(0), 50)
    assert rows.shape == (50, len(SMALL))
    assert all(isinstance(r.before, Mixture | None) for r in outcome.rounds)


@each
def test_impossible_combinations_are_refused_before_any_spend(
    make_door: MakeDoor, name: str, options: dict[str, Any]
) -> None:
    door, zeros = make_door(), [Zeros(("a", "b"), np.array([[0, 1]]))]
    with pytest.raises(UserError, match=r"cannot keep combinations impossible.*Nothing was spent"):
        mechanism(name, **options).run(door, TWO_WAY, zeros=zeros)
    assert not door.filter.charges
    assert mechanism(name, zeros=False, **options).run(door, TWO_WAY, zeros=zeros).model is not None


@each
def test_a_mixture_that_is_too_large_is_refused_before_any_spend(
    make_door: MakeDoor, name: str, options: dict[str, Any]
) -> None:
    door = make_door()
    with pytest.raises(CapacityError, match=r"A mixture takes .* but max_size is .* Nothing was spent"):
        mechanism(name, max_size=1000, **options).run(door, TWO_WAY)
    assert not door.filter.charges


def test_a_relaxed_aim_is_not_held_to_a_tree(make_door: MakeDoor) -> None:
    """All pairs of a circle and more would be one large clique; a mixture takes any of them."""
    outcome = Aim(mechanism("aim", estimator="relaxed", rounds=30, adaptive=False).config).run(make_door(rho=10), TWO_WAY)  # type: ignore[arg-type]
    assert all(set(r.candidates) == set(outcome.rounds[0].candidates) for r in outcome.rounds)
    assert not isinstance(outcome.model, GraphicalModel)


def test_of_several_that_are_chosen_together_a_mixture_takes_all(
    make_door: MakeDoor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A graphical model of 2,000 bytes has no room for all of them."""
    monkeypatch.setattr(aim, "together", lambda pool: 4)
    runs = {
        name: mechanism("aim", estimator=name, max_size=2000).run(make_door(rho=5), Workload.all_kway(SMALL, 3))
        for name in ("pgm", "relaxed")
    }
    for name, outcome in runs.items():
        measured = len(outcome.measurements) - len(SMALL)
        assert (measured == len(outcome.selections)) is (name == "relaxed")


@each
@pytest.mark.parametrize("answers", [2, 6])
def test_a_resumed_run_ends_with_the_same_model(tmp_path: Path, name: str, options: dict[str, Any], answers: int) -> None:
    """Its first relaxed table is drawn at random, but from the answers: the same is found again, to the last digit."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    whole = play(fresh(tmp_path / "a").begin("people", BUDGET, FACTS), name=name, noise=ResearchNoise(5), **options)
    ledger, noise = fresh(tmp_path / "b"), ResearchNoise(5)  # which goes on where it was when the run stopped
    with pytest.raises(Stop):
        play(ledger.begin("people", BUDGET, FACTS), stopping_after(answers), name=name, noise=noise, **options)
    again = play(ledger.resume("people", FACTS), name=name, noise=noise, **options)
    assert [m.values.tolist() for m in again.measurements] == [m.values.tolist() for m in whole.measurements]
    assert isinstance(again.model, Mixture)
    assert isinstance(whole.model, Mixture)
    assert list(again.model.told()) == list(whole.model.told())
