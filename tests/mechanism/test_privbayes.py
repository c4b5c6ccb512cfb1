"""PrivBayes+PGM: a network grown by dependence, each part of it readable in spite of the noise."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from understudy.domain import Domain, Zeros
from understudy.mechanism import mechanism
from understudy.mechanism.privbayes import COLUMNS, SELECT, families
from understudy.uncertainty import Evidence, bounds
from understudy.workload import Workload

from .conftest import SMALL, MakeDoor, correlated

TWO_WAY = Workload.all_kway(SMALL, 2)


def test_shares_are_those_that_are_stated(make_door: MakeDoor) -> None:
    outcome = mechanism("privbayes+pgm", check=0).run(make_door(rho=10), TWO_WAY)
    columns = sum(m.rho for m in outcome.measurements if len(m.clique) == 1)
    assert float(columns) == pytest.approx(10 * COLUMNS)
    assert float(sum(s.rho for s in outcome.selections)) == pytest.approx(10 * SELECT)
    assert len(outcome.selections) == 3
    pairs = {p for m in outcome.measurements for p in combinations(m.clique, 2)}
    assert set(bounds(Evidence.of(outcome))) == {(a,) for a in SMALL} | pairs


def test_families_are_new_attributes_with_parents_of_the_network() -> None:
    assert families(SMALL, set(), 2) == [("a", "b"), ("a", "c"), ("a", "d"), ("b", "c"), ("b", "d"), ("c", "d")]
    assert set(families(SMALL, {"b", "d"}, 2)) == {
        ("a", "b"),
        ("a", "d"),
        ("a", "b", "d"),
        ("b", "c"),
        ("c", "d"),
        ("b", "c", "d"),
    }


def test_a_pattern_of_three_columns_is_found(make_door: MakeDoor) -> None:
    """c is a xor b: no pair shows it. d is on its own."""
    domain = Domain.of(dict.fromkeys("abcd", 2))
    rng = np.random.default_rng(4)
    a, b, d = rng.integers(0, 2, (3, 4000))
    codes = np.column_stack([a, b, a ^ b, d])
    outcome = mechanism("privbayes+pgm").run(make_door(domain=domain, codes=codes, rho=5), Workload.all_kway(domain, 3))
    assert ("a", "b", "c") in {m.clique for m in outcome.measurements}
    assert outcome.model is not None
    found = outcome.model.marginal(("a", "b", "c")).ravel()
    assert found[[0, 3, 5, 6]].sum() > 0.97 * found.sum()


def test_what_drowns_in_noise_is_not_measured(make_door: MakeDoor) -> None:
    domain = Domain.of({"a": 30, "b": 30, "c": 30})
    door = make_door(domain=domain, codes=correlated(domain, 200, 1), rho=Fraction(1, 100))
    outcome = mechanism("privbayes+pgm", check=0).run(door, Workload.all_kway(domain, 2))
    assert {m.clique for m in outcome.measurements} == {("a",), ("b",), ("c",)}
    assert float(outcome.spent) == pytest.approx(0.01)


def test_impossible_combinations_stay_so(make_door: MakeDoor) -> None:
    zeros = Zeros(("a", "b"), np.array([[0, 1], [1, 2]]))
    outcome = mechanism("privbayes+pgm").run(make_door(rho=5), TWO_WAY, zeros=[zeros])
    assert outcome.model is not None
    assert (outcome.model.marginal(("a", "b"))[tuple(zeros.cells.T)] == 0).all()
