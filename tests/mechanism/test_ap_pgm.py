"""AP-PGM measures the whole workload, whatever tree that would take, and keeps to what is impossible; AIM can use it too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ledger.small import BUDGET, FACTS, Stop, fresh, play, stopping_after
from understudy.domain import Domain, Zeros
from understudy.errors import CapacityError, FormatError
from understudy.mechanism import Aim, mechanism
from understudy.mechanism.snapshot import packed, unpacked
from understudy.model import RegionModel
from understudy.privacy import ResearchNoise
from understudy.uncertainty import Evidence, bounds
from understudy.workload import Workload

from .conftest import SMALL, MakeDoor, correlated

TWO_WAY = Workload.all_kway(SMALL, 2)
WIDE = Domain.of(dict.fromkeys("abcdefgh", 10))
REGIONS: list[tuple[str, dict[str, Any]]] = [("ap-pgm", {}), ("aim", {"estimator": "regions"})]
each = pytest.mark.parametrize(("name", "options"), REGIONS)


def test_every_marginal_is_measured_and_every_one_has_a_bound(make_door: MakeDoor) -> None:
    codes = correlated(SMALL, 3000, 1)
    door = make_door(codes=codes, rho=5)
    outcome = mechanism("ap-pgm").run(door, TWO_WAY)
    assert [m.clique for m in outcome.measurements] == list(TWO_WAY.cliques)
    assert outcome.spent == pytest.approx(5, abs=1e-9)
    assert not outcome.selections
    assert isinstance(outcome.model, RegionModel)
    real = door._read(list(TWO_WAY.closure))
    off = [np.abs(m - r).sum() for m, r in zip(outcome.model.marginals(TWO_WAY.closure), real, strict=True)]
    assert max(off) < 0.03 * 3000
    found = bounds(Evidence.of(outcome))
    assert set(found) == set(TWO_WAY.closure)
    assert all(o <= found[c].value for c, o in zip(TWO_WAY.closure, off, strict=True))


def test_what_no_tree_holds_is_not_refused(make_door: MakeDoor) -> None:
    """``gaussian+pgm`` and ``hdmm+pgm`` would need 763 MB."""
    workload = Workload.all_kway(WIDE, 2)
    with pytest.raises(CapacityError, match="takes 763 MB"):
        mechanism("gaussian+pgm").run(make_door(domain=WIDE), workload)
    outcome = mechanism("ap-pgm").run(make_door(domain=WIDE, rows=2000, rho=1), workload)
    assert outcome.draw(np.random.default_rng(0), 100).shape == (100, 8)


def test_marginals_that_are_too_large_side_by_side_are_refused_before_any_spend(make_door: MakeDoor) -> None:
    door = make_door(domain=WIDE)
    with pytest.raises(
        CapacityError, match=r"A table for each of these marginals takes .* max_size is .* Nothing was spent"
    ):
        mechanism("ap-pgm", max_size=10_000).run(door, Workload.all_kway(WIDE, 2))
    assert not door.filter.charges


@each
def test_combinations_stay_impossible(make_door: MakeDoor, name: str, options: dict[str, Any]) -> None:
    zeros = [Zeros(("a", "c"), np.array([[0, 1], [1, 3]])), Zeros(("b", "d"), np.array([[2, 0]]))]
    outcome = mechanism(name, **options).run(make_door(rho=5), Workload.all_kway(SMALL, 3), zeros=zeros)
    rows = outcome.draw(np.random.default_rng(0), 400)
    assert outcome.model is not None
    for zero in zeros:
        assert (outcome.model.marginal(zero.clique)[tuple(zero.cells.T)] == 0).all()
        places = [SMALL.index(a) for a in zero.clique]
        assert not any((rows[:, places] == cell).all(axis=1).any() for cell in zero.cells)


@each
def test_zeros_that_no_tree_holds_are_refused_before_any_spend(
    make_door: MakeDoor, name: str, options: dict[str, Any]
) -> None:
    door, zeros = make_door(), [Zeros(("a", "b"), np.array([[0, 1]]))]
    with pytest.raises(CapacityError, match=r"The model of the declared structural zeros takes .* Nothing was spent"):
        mechanism(name, max_size=50, **options).run(door, TWO_WAY, zeros=zeros)
    assert not door.filter.charges


def test_aim_with_regions_is_held_to_their_size_alone(make_door: MakeDoor) -> None:
    """No tree of 2,000 bytes holds more than two of these pairs of 800; tables side by side do not overlap."""
    config = mechanism("aim", estimator="regions", max_size=6_500, rounds=30, adaptive=False, check=0.0).config
    outcome = Aim(config).run(make_door(domain=WIDE, rows=2000, rho=10), Workload.all_kway(WIDE, 2))  # type: ignore[arg-type]
    assert isinstance(outcome.model, RegionModel)
    pairs = {m.clique for m in outcome.measurements if len(m.clique) == 2}
    assert 3 <= len(pairs) <= 8
    assert outcome.model.size <= 6_500
    assert all(isinstance(r.before, RegionModel | None) for r in outcome.rounds)


@each
@pytest.mark.parametrize("answers", [2, 3])
def test_a_resumed_run_ends_with_the_same_model(tmp_path: Path, name: str, options: dict[str, Any], answers: int) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    whole = play(fresh(tmp_path / "a").begin("people", BUDGET, FACTS), name=name, noise=ResearchNoise(5), **options)
    ledger, noise = fresh(tmp_path / "b"), ResearchNoise(5)
    with pytest.raises(Stop):
        play(ledger.begin("people", BUDGET, FACTS), stopping_after(answers), name=name, noise=noise, **options)
    again = play(ledger.resume("people", FACTS), name=name, noise=noise, **options)
    assert [m.values.tolist() for m in again.measurements] == [m.values.tolist() for m in whole.measurements]
    assert isinstance(again.model, RegionModel)
    assert isinstance(whole.model, RegionModel)
    assert list(again.model.told()) == list(whole.model.told())


def test_a_model_on_record_comes_back(make_door: MakeDoor) -> None:
    model = mechanism("ap-pgm").run(make_door(), TWO_WAY).model
    assert isinstance(model, RegionModel)
    again = unpacked(packed(model), SMALL, ())
    assert isinstance(again, RegionModel)
    assert list(again.told()) == list(model.told())
    with pytest.raises(FormatError):
        unpacked(packed(model)[:-8], SMALL, ())
