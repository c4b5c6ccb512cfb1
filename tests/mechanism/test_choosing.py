"""The choice of a mechanism: forecasts from public facts, which put the right one first where it is clear which that is."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import understudy
from release_tables import schema, table
from understudy.domain import Domain
from understudy.mechanism import MECHANISMS
from understudy.mechanism.choosing import FORECASTS, WIDE, Case, forecasts
from understudy.mechanism.need import dependence
from understudy.privacy import Unit, sigma_for
from understudy.request import Request, budget_of, options_of
from understudy.workload import Workload

DOMAIN = Domain.of({"a": 10, "b": 12, "c": 8, "d": 5, "e": 20, "f": 6, "g": 9, "h": 4, "i": 15})
SIZE = 80 * 2**20


def case(workload: Workload, rho: float, rows: int, size: int = SIZE) -> Case:
    return Case(workload, Fraction(rho), Unit.ADD_REMOVE, size, rows)


def first(workload: Workload, rho: float, rows: int) -> str:
    return next(iter(forecasts(case(workload, rho, rows))))


def test_columns_alone_are_nowhere_before_aim2_but_before_aim_where_they_drown() -> None:
    triples = Workload.all_kway(DOMAIN, 3)
    for rho in (1e-5, 1e-4, 1e-2):
        assert first(triples, rho, 1_000) == "aim2"
    drowned, clear = (forecasts(case(triples, rho, 1_000), ["aim", "independent"]) for rho in (1e-4, 1e-1))
    assert next(iter(drowned)) == "independent"
    assert next(iter(clear)) == "aim"


def test_a_workload_that_one_model_holds_is_measured_in_passes_unless_all_is_noise() -> None:
    few = Workload.of(DOMAIN, [["a", "b"], ["b", "c"], ["d"]])
    assert [first(few, rho, 100_000) for rho in (1e-6, 1e-3, 1e-1)] == ["residuals"] * 3
    assert first(Workload.all_kway(DOMAIN, 1), 1e-2, 20_000) == "residuals"
    pairs = Workload.target(DOMAIN, "d", 2)
    assert [first(pairs, rho, 1_300) for rho in (1e-3, 1e-1, 1e1)] == ["residuals"] * 3


def test_where_the_noise_on_a_count_is_as_large_as_the_table_nothing_is_measured_in_passes() -> None:
    columns, pairs = Workload.all_kway(DOMAIN, 1), Workload.target(DOMAIN, "d", 2)
    rows = sigma_for(Fraction(1, 100_000) / len(DOMAIN), Unit.ADD_REMOVE)
    for workload in (columns, pairs):
        assert first(workload, 1e-5, int(0.9 * rows)) != "residuals"
        assert first(workload, 1e-5, int(1.1 * rows)) == "residuals"


def test_the_least_comes_first_and_none_is_beyond_what_can_be() -> None:
    found = forecasts(case(Workload.all_kway(DOMAIN, 2), 1e-3, 500))
    assert list(found.values()) == sorted(found.values())
    assert all(0 < error <= 2.2 for error in found.values())


def test_more_rows_and_more_budget_are_never_worse() -> None:
    for workload in (Workload.all_kway(DOMAIN, 3), Workload.target(DOMAIN, "a", 2)):
        for name in FORECASTS:
            found = [forecasts(case(workload, rho, rows)) for rho, rows in ((1e-4, 1000), (1e-3, 1000), (1e-3, 10_000))]
            errors = [one[name] for one in found if name in one]
            assert errors == sorted(errors, reverse=True)


def test_twice_the_noise_is_half_the_rows() -> None:
    """All that matters is the noise beside the rows."""
    triples = Workload.all_kway(DOMAIN, 3)
    one, two = forecasts(case(triples, 4e-3, 5_000)), forecasts(case(triples, 1e-3, 10_000))
    assert one == pytest.approx(two)


def test_what_would_be_refused_is_not_forecast() -> None:
    triples = Workload.all_kway(DOMAIN, 3)
    whole = {"hdmm+pgm", "residuals"}
    assert whole.isdisjoint(forecasts(case(triples, 1e-2, 10_000)))
    pairs = Workload.of(DOMAIN, [["a", "b"]])
    assert whole <= set(forecasts(case(pairs, 1e-2, 10_000)))
    assert whole.isdisjoint(forecasts(case(pairs, 1e-2, 10_000, size=100)))


def test_a_wide_table_is_left_to_aim() -> None:
    wide = Domain.of({f"x{k}": 4 for k in range(WIDE + 1)})
    found = forecasts(case(Workload.all_kway(wide, 3), 1e-2, 20_000))
    assert "aim2" not in found
    assert next(iter(found)) == "aim"


def test_what_is_known_of_larger_marginals_leaves_less() -> None:
    assert dependence(3, 1) > dependence(3, 2) > dependence(3, 3) == 0
    assert dependence(4, 1) > dependence(3, 1) > dependence(2, 1) > dependence(1, 1) == 0


def test_all_that_are_forecast_make_tables() -> None:
    assert all(MECHANISMS[name].modelled for name in FORECASTS)


def asked(**settings: Any) -> Request:
    options = options_of(settings.pop("options", {}))
    budget = budget_of(settings.pop("epsilon", 1), None, None)
    return Request.of(schema(), budget, settings.pop("workload", "all-2way"), "auto", options, **settings)


def test_a_request_takes_the_first_and_keeps_the_forecasts() -> None:
    found = asked(rows=50_000, epsilon=10, workload="all-1way")
    assert found.mechanism.name == next(iter(found.forecasts))
    assert found.facts["mechanism"] == found.mechanism.name
    assert set(found.forecasts) == set(FORECASTS)


def test_only_those_that_take_the_options_and_the_public_data() -> None:
    assert set(asked(options={"rounds": 5}, rows=400).forecasts) == {"aim", "aim2"}
    assert set(asked(options={"initial": "uniform"}, rows=400).forecasts) == {"aim"}
    assert asked(rows=50_000, epsilon=10, workload="all-1way").mechanism.name == "residuals"
    beside = asked(rows=50_000, epsilon=10, workload="all-1way", public=True).with_public(table())
    assert set(beside.forecasts) == {"aim", "aim2"}
    assert beside.mechanism.name == "aim2"


def test_a_release_says_how_its_mechanism_was_chosen() -> None:
    release = understudy.synthesize(table(), schema(), epsilon=5, workload="all-1way", mechanism="auto", seed=1)
    entry = release.manifest.mechanism
    assert entry.name == next(iter(entry.forecasts))
    assert f"{entry.name} (chosen from public facts alone, before the table was opened, for the least error" in release.card
    named = understudy.synthesize(table(), schema(), epsilon=5, workload="all-1way", mechanism=entry.name, seed=1)
    assert named.table.equals(release.table)
    assert not named.manifest.mechanism.forecasts
