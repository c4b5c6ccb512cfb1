"""PrivMRF and PrivSyn: graphs and pairs by noisy dependence."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from understudy.domain import Domain, Zeros
from understudy.mechanism import mechanism, privsyn
from understudy.mechanism.privmrf import marginals_of, rounds_for
from understudy.mechanism.privsyn import joined
from understudy.model import junction_tree
from understudy.uncertainty import Evidence, bounds
from understudy.workload import Workload

from .conftest import SMALL, MakeDoor, correlated

CHAIN = Domain.of(dict.fromkeys("abcdef", 4))
NEXT = {("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("e", "f")}
TWO_WAY = Workload.all_kway(SMALL, 2)
BOTH = pytest.mark.parametrize("name", ["privmrf", "privsyn+pgm"])


@BOTH
def test_dependent_pairs_are_measured_and_the_model_knows_them(make_door: MakeDoor, name: str) -> None:
    codes = correlated(CHAIN, 5000, 1)
    door = make_door(domain=CHAIN, codes=codes, rho=1)
    outcome = mechanism(name).run(door, Workload.all_kway(CHAIN, 2))
    held = {p for m in outcome.measurements for p in combinations(m.clique, 2)}
    assert held >= NEXT
    assert outcome.model is not None
    for pair in NEXT:
        places = [CHAIN.index(a) for a in pair]
        counts = np.zeros((4, 4))
        np.add.at(counts, tuple(codes[:, places].T), 1)
        assert np.abs(outcome.model.marginal(pair) - counts).sum() < 0.1 * 5000
    assert set(bounds(Evidence.of(outcome))) >= NEXT


@BOTH
def test_the_shares_of_the_budget(make_door: MakeDoor, name: str) -> None:
    outcome = mechanism(name, check=0).run(make_door(rho=10), TWO_WAY)
    (compared,) = outcome.compared
    assert compared.cliques == tuple(combinations(SMALL, 2))
    assert float(compared.rho) == pytest.approx(1.0)
    assert float(sum(m.rho for m in outcome.measurements[:4])) == pytest.approx(1.0)
    chosen = float(sum(s.rho for s in outcome.selections))
    assert chosen == pytest.approx(1.0 if name == "privmrf" else 0.0)


@BOTH
def test_columns_without_dependence_are_left_alone(make_door: MakeDoor, name: str) -> None:
    domain = Domain.of({"a": 20, "b": 20, "c": 20})
    codes = np.random.default_rng(0).integers(0, 20, (300, 3))
    outcome = mechanism(name, check=0).run(
        make_door(domain=domain, codes=codes, rho=Fraction(1, 50)), Workload.all_kway(domain, 2)
    )
    assert len({m.clique for m in outcome.measurements if len(m.clique) > 1}) == 0
    assert float(outcome.spent) == pytest.approx(0.02)


@BOTH
def test_impossible_combinations_stay_so(make_door: MakeDoor, name: str) -> None:
    zeros = Zeros(("a", "b"), np.array([[0, 1], [1, 2]]))
    outcome = mechanism(name).run(make_door(rho=5), TWO_WAY, zeros=[zeros])
    assert outcome.model is not None
    assert (outcome.model.marginal(("a", "b"))[tuple(zeros.cells.T)] == 0).all()


@BOTH
def test_the_tree_stays_within_its_limit(make_door: MakeDoor, name: str) -> None:
    limit = 8 * (3 * 16 + 4 * 16)
    outcome = mechanism(name, max_size=limit).run(
        make_door(domain=CHAIN, codes=correlated(CHAIN, 5000, 1), rho=50), Workload.all_kway(CHAIN, 2)
    )
    assert junction_tree(CHAIN, [m.clique for m in outcome.measurements]).size <= limit


def test_overlapping_pairs_are_joined_within_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [("a", "b"), ("a", "c"), ("b", "c"), ("c", "d")]
    assert joined(SMALL, pairs) == [("a", "b", "c"), ("c", "d")]
    monkeypatch.setattr(privsyn, "MOST_CELLS", 23)
    assert sorted(joined(SMALL, pairs)) == pairs
    assert joined(SMALL, []) == []


def test_marginals_of_cliques_are_readable_ones() -> None:
    assert marginals_of(SMALL, [("a", "b", "c"), ("c", "d")], 11.0) == [("a", "b"), ("a", "c"), ("c", "d")]


@pytest.mark.parametrize(("alone", "rounds"), [(0.0, 1), (15.9, 1), (16.0, 1), (32.0, 4), (48.1, 9), (1e300, 12)])
def test_the_noise_decides_how_many_marginals_are_chosen(alone: float, rounds: int) -> None:
    """In the chain all pairs have 16 cells."""
    assert rounds_for(CHAIN, alone) == rounds
