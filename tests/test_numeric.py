"""A workload of prefixes and totals from its file to the release: run, saved, loaded, planned and evaluated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import understudy
from understudy import Release
from understudy.errors import WorkloadError
from understudy.evaluate import evaluate
from understudy.schema import parse_schema
from understudy.workload.wanted import workload_of

SCHEMA = parse_schema(
    """
[columns.pay]
kind = "integer"
min = 0
max = 160000
bins = 16
other = 0
[columns.sex]
kind = "categorical"
values = ["F", "M"]
other = "F"
[columns.job]
kind = "categorical"
values = ["a", "b", "c", "d"]
other = "a"
"""
)
ASKED = """
[[query]]
attributes = ["sex", "pay"]
prefixes = "pay"

[[query]]
attributes = ["job", "pay"]
totals = "pay"
weight = 2
"""


def staff(rows: int = 3000) -> dict[str, Any]:
    rng = np.random.default_rng(4)
    job = rng.integers(0, 4, rows)
    pay = np.minimum(rng.lognormal(9.5 + 0.3 * job, 0.7), 160_000).astype(int)
    return {"pay": pay, "sex": rng.choice(["F", "M"], rows), "job": np.array(["a", "b", "c", "d"])[job]}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "asked.toml"
    path.write_text(ASKED)
    return path


def test_a_release_is_made_of_it_and_comes_back(file: Path, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"epsilon": 2, "workload": file, "seed": 1, "progress": False}
    made = understudy.synthesize(staff(), SCHEMA, out=tmp_path / "r", **settings)
    again = understudy.load(tmp_path / "r")
    asked = workload_of(str(file), SCHEMA)[0]
    for release in (made, again):
        assert isinstance(release, Release)
        assert release.workload == asked
    queries = {m.query.parts for m in made.measurements if m.query is not None}  # type: ignore[attr-defined]
    assert queries & {(16, 2), (16,), (1, 4), (1,)}
    assert [m.query and m.query.described for m in again.measurements] == [
        m.query and m.query.described for m in made.measurements
    ]
    assert again.bounds.keys() == made.bounds.keys()
    found = evaluate(staff(), again)
    assert 0 < found.error < 0.2
    assert found.subsample is None


def test_the_totals_of_a_column_are_those_of_the_middles_of_its_bins(file: Path) -> None:
    workload = workload_of(str(file), SCHEMA)[0]
    query = workload.query(("pay", "job"))
    assert query is not None
    assert query.parts == (1, 4)
    weights = query.axes[0]
    assert not isinstance(weights, int)
    assert np.allclose(weights[0, :16] / weights.max(), np.arange(0.5, 16) / 15.5, atol=2e-4)


def test_texts_have_no_totals(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match="no totals"):
        workload_of([{"attributes": ["sex"], "totals": "sex"}], SCHEMA)


def test_a_plan_forecasts_the_error_of_the_sums(file: Path) -> None:
    asked, cells = (
        understudy.plan(SCHEMA, rows=3000, epsilon=1, workload=workload, rehearse=True).rehearsal
        for workload in (str(file), [["sex", "pay"], (["job", "pay"], 2)])
    )
    assert asked is not None
    assert cells is not None
    assert 0 < asked.error < cells.error
