"""Columns in order come back as far apart as they were: counted through the door, stored, drawn by every decode.

Runs are seeded: what passes, passes every time.
"""

from __future__ import annotations

import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import understudy
from understudy import Release
from understudy.errors import FormatError
from understudy.schema import parse_schema

MOMENT = """
[columns.{}]
kind = "datetime"
min = 2023-01-01T00:00:00
max = 2025-01-31T23:59:00
width = "1 month"
step = "1 minute"
nullable = true
"""
SEX = """
[columns.sex]
kind = "categorical"
values = ["F", "M"]
other = "F"
[[zeros]]
always = "{}"
"""
VISITS = MOMENT.format("arrived") + MOMENT.format("left") + SEX.format("arrived <= left")
CHAIN = MOMENT.format("called") + VISITS.replace("arrived <= left", "called <= arrived <= left")
HOUSES = """
[columns.children]
kind = "integer"
edges = [0, 3, 6, 12]
other = 0
[columns.household]
kind = "integer"
edges = [1, 4, 8, 20]
other = 1
""" + SEX.format("children <= household")
STAYS = """
[columns.admitted]
kind = "date"
min = 2015-01-01
max = 2024-12-31
width = "1 year"
nullable = true
[columns.discharged]
kind = "date"
min = 2015-01-01
max = 2025-12-31
width = "1 year"
nullable = true
""" + SEX.format("admitted <= discharged")
ROWS = 50_000


def visits() -> pd.DataFrame:
    """Calls to an ambulance, arrivals within the hour, stays of hours."""
    rng = np.random.default_rng(11)
    called = pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.integers(0, 731 * 1440, ROWS), unit="m")
    arrived = called + pd.to_timedelta(rng.gamma(2, 20, ROWS).astype(int), unit="m")
    left = arrived + pd.to_timedelta((rng.lognormal(np.log(4), 0.85, ROWS) * 60).astype(int), unit="m")
    table = pd.DataFrame({"called": called, "arrived": arrived, "left": left, "sex": rng.choice(["F", "M"], ROWS)})
    table.loc[rng.random(ROWS) < 0.02, "left"] = pd.NaT
    return table


def houses() -> pd.DataFrame:
    rng = np.random.default_rng(12)
    children = rng.poisson(1.2, ROWS) * (rng.random(ROWS) < 0.6)
    adults = 1 + rng.binomial(2, 0.5, ROWS) + rng.poisson(0.2, ROWS)
    return pd.DataFrame({"children": children, "household": children + adults, "sex": rng.choice(["F", "M"], ROWS)})


def stays() -> pd.DataFrame:
    rng = np.random.default_rng(13)
    admitted = rng.integers(0, 3653, ROWS)
    days = [
        (pd.Timestamp("2015-01-01") + pd.to_timedelta(d, unit="D")).date
        for d in (admitted, admitted + rng.geometric(0.15, ROWS) - 1)
    ]
    return pd.DataFrame({"admitted": days[0], "discharged": days[1], "sex": rng.choice(["F", "M"], ROWS)})


def numbers(column: pd.Series) -> np.ndarray[Any, Any]:
    """Return numbers as they are, moments in hours, and NaN where missing."""
    if pd.api.types.is_integer_dtype(column.dtype):
        return column.to_numpy(float)
    moments = pd.to_datetime(column)
    return ((moments - pd.Timestamp("2015-01-01")).dt.total_seconds() / 3600).to_numpy()


def made(table: pd.DataFrame, text: str, **options: Any) -> Release:
    settings: dict[str, Any] = {"epsilon": 1, "seed": 5, "workload": "all-2way", "progress": False, **options}
    return understudy.synthesize(table, parse_schema(text), **settings)


def apart(table: pd.DataFrame, low: str, high: str) -> np.ndarray[Any, Any]:
    found = numbers(table[high]) - numbers(table[low])
    return found[~np.isnan(found)]


@pytest.fixture(scope="module")
def release() -> Release:
    return made(visits()[["arrived", "left", "sex"]], VISITS)


CASES = {
    "visits": (visits, VISITS, [("arrived", "left")]),
    "a chain": (visits, CHAIN, [("called", "arrived"), ("arrived", "left")]),
    "households": (houses, HOUSES, [("children", "household")]),
    "days": (stays, STAYS, [("admitted", "discharged")]),
}


@pytest.mark.parametrize("case", CASES)
def test_distances_come_back(case: str) -> None:
    """In the table, and in a million other rows; none is out of order, and each column's ranks are as without gaps."""
    make, text, pairs = CASES[case]
    table = make()
    release = made(table, text)
    more = release.sample(1_000_000, rng=np.random.default_rng(0))
    for drawn in (release.table, more):
        for low, high in pairs:
            found, true = apart(drawn, low, high), apart(table, low, high)
            assert (found >= 0).all()
            assert abs(np.median(found) / np.median(true) - 1) < 0.05
            assert abs(found.mean() / true.mean() - 1) < 0.2
        for name in {name for pair in pairs for name in pair}:
            one, other = (np.sort(numbers(t[name].dropna())) for t in (table, drawn))
            ranks = np.unique(np.quantile(one, np.linspace(0.01, 0.99, 99), method="inverted_cdf"))
            assert np.abs(np.searchsorted(one, ranks) / len(one) - np.searchsorted(other, ranks) / len(other)).max() < 0.015


@pytest.mark.promise(8)
def test_it_costs_a_share_of_what_is_kept_for_numbers(release: Release) -> None:
    entries = release.manifest.inside
    assert [(e.column, e.above) for e in entries] == [("arrived", None), ("left", None), ("left", "arrived")]
    assert len({e.rho.fraction for e in entries}) == 1
    assert (
        0.99 * 0.06 * release.rho < sum(e.rho.fraction for e in entries) <= Fraction(6, 100) * release.rho
    )  # no sums of dates
    assert sum(c.rho for c in release.spend) == release.spent <= release.rho
    assert [c.purpose for c in release.spend if "above" in c.purpose] == [release.spend[2].purpose]
    assert "how far left above arrived lies" in release.card.replace("\n", " ")


def test_a_stored_release_draws_as_far_apart(release: Release, tmp_path: Path) -> None:
    again = understudy.load(release.save(tmp_path / "r"))
    np.testing.assert_array_equal(again.inside["left above arrived"], release.inside["left above arrived"])
    drawn = again.sample(5_000, {"sex": "F"}, rng=np.random.default_rng(0)).to_pandas()
    assert abs(np.median(apart(drawn, "arrived", "left")) / 4 - 1) < 0.1
    assert again.bootstrap_intervals("sex").confidence == 0.95
    values = next((tmp_path / "r" / "inside").glob("values*"))
    values.write_bytes(values.read_bytes()[:-8])
    with pytest.raises(FormatError, match="damaged"):
        understudy.load(tmp_path / "r")
    shutil.rmtree(tmp_path / "r" / "inside")
    with pytest.raises(FormatError, match="inside"):
        understudy.load(tmp_path / "r")


def test_values_that_are_given_keep_their_distance(release: Release) -> None:
    drawn = release.sample(2_000, {"left": "2024-03-15 02:00:00"}, rng=np.random.default_rng(0))
    found = apart(drawn, "arrived", "left")
    assert (found >= 0).all()
    assert 2 < np.median(found) < 6


def test_nothing_is_asked_where_nothing_is_declared_or_codes_tell_it() -> None:
    """Not a byte is different."""
    table = houses()[:2_000]
    exact = HOUSES.replace("edges = [0, 3, 6, 12]", "min = 0\nmax = 12").replace(
        "edges = [1, 4, 8, 20]", "min = 1\nmax = 20"
    )
    for text in (exact, HOUSES.split("[[zeros]]")[0]):
        assert not parse_schema(text).gaps
    release = made(table, exact)
    assert not release.fine
    assert not release.manifest.inside


@pytest.mark.parametrize("mechanism", ["independent", "mst", "mwem"])
def test_every_mechanism_counts_gaps(mechanism: str) -> None:
    release = made(houses()[:2_000], HOUSES, mechanism=mechanism)
    assert [e.above for e in release.manifest.inside] == [None, None, "children"]
    assert (apart(release.table, "children", "household") >= 0).all()
