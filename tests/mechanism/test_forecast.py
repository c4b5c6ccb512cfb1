"""The model of cost: measured on the machine in a second or so, and in proportion to the work that it counts."""

from __future__ import annotations

from dataclasses import fields, replace
from time import process_time

import pytest

from understudy.domain import Domain
from understudy.mechanism.calibration import Rates, calibrated
from understudy.mechanism.forecast import Forecast, rounds_to_come, standing_out, typical_tree
from understudy.workload import Workload

DOMAIN = Domain.of({f"c{i}": 4 + i for i in range(12)})
WORKLOAD = Workload.all_kway(DOMAIN, 3)
ROWS = 50_000


def test_calibration_takes_about_a_second_and_finds_each_rate() -> None:
    calibrated.cache_clear()
    began = process_time()
    rates = calibrated()
    assert process_time() - began < 5  # 0.6 where nothing else runs
    for field in fields(Rates):
        assert 1e-12 < getattr(rates, field.name) < 1e-2, field.name
    assert calibrated() is rates


@pytest.mark.parametrize("slower", [field.name for field in fields(Rates)])
def test_each_rate_counts_and_a_machine_half_as_fast_takes_twice_as_long(slower: str) -> None:
    rates, forecast = calibrated(), Forecast.of(WORKLOAD, ROWS, 50.0, 180.0, 80 * 2**20)
    base = forecast.seconds(WORKLOAD, ROWS, rates)
    assert forecast.seconds(WORKLOAD, ROWS, replace(rates, **{slower: 2 * getattr(rates, slower)})) > base
    every = Rates(**{field.name: 2 * getattr(rates, field.name) for field in fields(Rates)})
    assert forecast.seconds(WORKLOAD, ROWS, every) == pytest.approx(2 * base, rel=0.2)  # but for what depends on nothing


def test_candidates_are_weighed_in_every_round() -> None:
    """Made-up, 26 columns of 50,000 rows: 14 of 57 seconds went into which candidates fit, and into scores at the door."""
    only = Rates(clique=0.0, byte=0.0, marginal=1e-3, look=0.0, value=0.0)
    few, many = (Forecast(rounds, 10_000, 1.0).seconds(WORKLOAD, ROWS, only) for rounds in (10.0, 20.0))
    assert many - few == pytest.approx(10 * len(WORKLOAD.closure) * 4e-3)


@pytest.mark.parametrize(("affordable", "rounds"), [(3.0, 3.0), (10.0, 10.0), (14.0, 11.0), (50.0, 20.0), (54.0, 20.25)])
def test_rounds_become_dearer(affordable: float, rounds: float) -> None:
    assert rounds_to_come(affordable, 10.0) == pytest.approx(rounds)


def test_less_noise_or_more_rows_let_more_stand_out() -> None:
    shares = [standing_out(WORKLOAD, rows, noise) for rows, noise in ((1000, 50.0), (10_000, 50.0), (10_000, 5.0))]
    assert 0 < shares[0] < shares[1] < shares[2] <= 1


def test_a_tree_is_no_larger_than_its_limit_or_the_whole_table() -> None:
    assert typical_tree(DOMAIN, 20, 2**40) < typical_tree(DOMAIN, 40, 2**40) <= 8 * DOMAIN.cells()
    assert typical_tree(DOMAIN, 400, 80 * 2**20) == pytest.approx(80 * 2**20, abs=1)
    assert typical_tree(Domain.of({"a": 2, "b": 3}), 50, 2**30) == pytest.approx(48, abs=1)
