"""Values inside bins: measured under the same budget, stored, drawn by every decode; nothing of it where there are none."""

from __future__ import annotations

import json
import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import understudy
from release_tables import quick, schema, table
from understudy import Release
from understudy.errors import BudgetError, FormatError
from understudy.schema import parse_schema
from understudy.schema.column import fine_name

SHAPED = """
[columns.pay]
kind = "integer"
min = 0
max = 100000
bins = 4
other = 0
[columns.sex]
kind = "categorical"
values = ["F", "M"]
other = "F"
"""


def payrolls(rows: int = 20_000) -> dict[str, Any]:
    """Most are paid little, and one in five exactly 10,000."""
    rng = np.random.default_rng(1)
    pay = np.minimum(rng.lognormal(9, 1, rows), 100_000).astype(int)
    pay[rng.random(rows) < 0.2] = 10_000
    return {"pay": pay, "sex": rng.choice(["F", "M"], rows)}


def paid(**options: Any) -> Release:
    settings: dict[str, Any] = {"epsilon": 1, "seed": 3, "workload": "all-2way", "progress": False, **options}
    return understudy.synthesize(payrolls(), parse_schema(SHAPED), **settings)


@pytest.fixture(scope="module")
def release() -> Release:
    return paid()


def off(made: np.ndarray[Any, Any]) -> float:
    return abs(float(np.mean(made)) / float(np.mean(payrolls()["pay"])) - 1)


def test_means_and_spikes_survive(release: Release) -> None:
    evenly, made = (r.arrow.column("pay").to_numpy() for r in (paid(inside=0), release))
    assert off(evenly) > 0.2  # what drawing evenly does
    assert off(made) < 0.03
    assert abs((made == 10_000).mean() - 0.2) < 0.03
    assert (evenly == 10_000).mean() < 0.01


def test_a_spike_at_no_round_number_stays_where_it_is(tmp_path: Path) -> None:
    """Finer bins of few numbers and many rows are looked at number by number: without that it was spread from 131 to 139."""
    rng = np.random.default_rng(5)
    far = np.where(rng.random(20_000) < 0.1, 137, rng.integers(0, 1000, 20_000))
    declared = parse_schema(SHAPED.replace("pay", "far").replace("100000", "999"))
    made = understudy.synthesize(
        {"far": far, "sex": payrolls()["sex"]}, declared, epsilon=1, seed=3, workload="all-2way", progress=False
    )
    found = made.arrow.column("far").to_numpy()
    assert abs((found == 137).mean() - 0.1) < 0.02
    assert abs(((found > 137) & (found < 140)).mean() - 0.002) < 0.004
    assert len(made.manifest.inside) == 2
    again = understudy.load(made.save(tmp_path / "r"))
    np.testing.assert_array_equal(again.inside["far"], made.inside["far"])
    answer = again.answer("quantile(far, 0.2)")
    assert answer.lower[0].as_py() <= np.quantile(far, 0.2) <= answer.upper[0].as_py()


def test_rows_drawn_later_follow_the_same_weights(release: Release, tmp_path: Path) -> None:
    again = understudy.load(release.save(tmp_path / "r"))
    for name, weights in release.inside.items():
        np.testing.assert_array_equal(again.inside[name], weights)
    rows = again.sample(20_000, {"sex": "F"}, rng=np.random.default_rng(0))
    pay = rows.column("pay").to_numpy()
    assert off(pay) < 0.05
    assert abs((pay == 10_000).mean() - 0.2) < 0.03


@pytest.mark.promise(8)
def test_it_costs_its_share_and_no_more(release: Release) -> None:
    (entry,) = release.manifest.inside
    assert entry.column == "pay"
    assert 0.999 * 0.03 * release.rho < entry.rho.fraction <= Fraction(3, 100) * release.rho
    assert release.spend[0].purpose.startswith(f"measure ({fine_name('pay')})")
    assert sum(c.rho for c in release.spend) == release.spent <= release.rho
    assert "inside the bins of pay" in release.card.replace("\n", " ")


@pytest.mark.promise(8)
def test_a_sum_costs_as_much_and_is_charged_like_any_question(release: Release) -> None:
    (asked,) = (m for m in release.fine if m.query is not None)
    assert asked.clique == (fine_name("pay"),)
    assert asked.values.shape == (1,)
    assert 0.999 * 0.03 * release.rho < asked.rho <= Fraction(3, 100) * release.rho
    assert asked.rho in [c.rho for c in release.spend if "sum (matrix)" in c.purpose]
    weights = asked.query.stored
    assert asked.rho == Fraction(int(np.abs(weights).max()) ** 2) / (2 * Fraction(asked.scale) ** 2)
    (entry,) = release.manifest.sums
    assert (entry.column, entry.rho.fraction) == ("pay", asked.rho)


def test_model_and_weights_are_held_to_the_sum(release: Release) -> None:
    """Nearer than its noise, finer bin by finer bin: the counts alone are much farther off."""
    (asked,) = (m for m in release.fine if m.query is not None)
    weights = asked.query.adjoint(np.ones(1))
    told = float(weights[: len(release.inside["pay"])] @ release.inside["pay"])
    assert abs(told - int(asked.values[0])) < asked.sigma


@pytest.mark.promise(25)
@pytest.mark.parametrize("lost", ["listed", "stored", "counts"])
def test_a_sum_that_is_not_listed_or_not_there_is_refused(release: Release, tmp_path: Path, lost: str) -> None:
    folder = release.save(tmp_path / "r")
    path = folder / "inside" / "measurements.json" if lost == "stored" else folder / "release.json"
    document = json.loads(path.read_text())
    if lost == "listed":
        document["sums"] = []
    elif lost == "counts":
        document["inside"] = []
    else:
        document["measurements"][-1].pop("query")
    path.write_text(json.dumps(document))
    with pytest.raises(FormatError, match="damaged"):
        understudy.load(folder)


def test_no_sum_is_asked_of_dates_or_without_looks() -> None:
    made = quick(table())
    assert {entry.column for entry in made.manifest.sums} <= {"age", "pay"}
    assert not quick(table(), mechanism="independent", inside=0).fine


@pytest.mark.parametrize("name", ["aim2", "residuals"])
def test_draws_are_held_to_the_columns_that_the_last_fit_was_held_to(name: str, tmp_path: Path) -> None:
    made = understudy.load(quick(table(), mechanism=name).save(tmp_path / "r"))
    held, numeric = made.bootstrap.held, {entry.column for entry in made.manifest.inside}
    assert set(held.firmly) == numeric
    assert set(held.loosely) == {name for name in made.domain if name not in numeric and made.domain[name] > 2}
    assert held.loosely
    assert not quick(table(), mechanism="aim").bootstrap.held.loosely


@pytest.mark.parametrize("name", ["hdmm+pgm", "residuals"])
def test_sums_are_asked_beside_residuals_too(name: str) -> None:
    assert [entry.column for entry in paid(mechanism=name).manifest.sums] == ["pay"]


def test_columns_without_bins_cost_nothing() -> None:
    """The same to the last digit, whatever the share."""
    plain = parse_schema(
        '[columns.a]\nkind = "integer"\nmin = 0\nmax = 9\nother = 0\n[columns.b]\nkind = "boolean"\nother = true'
    )
    rng = np.random.default_rng(0)
    data = {"a": rng.integers(0, 10, 500), "b": rng.random(500) < 0.3}
    settings: dict[str, Any] = {"epsilon": 1, "seed": 1, "workload": "all-2way", "progress": False}
    one, other = (understudy.synthesize(data, plain, inside=share, **settings) for share in (0.0, 0.3))
    assert one.arrow.equals(other.arrow)
    assert one.spend == other.spend
    assert (other.fine, other.manifest.inside, other.inside) == ((), [], {})


def test_an_array_of_codes_has_no_values_inside_its_bins() -> None:
    declared = parse_schema(SHAPED)
    codes = declared.encode(pa.table(payrolls(200)))
    made = understudy.synthesize(codes, declared, epsilon=1, seed=0, workload="all-1way", progress=False)
    assert made.arrow.num_columns == 2
    assert not made.fine


@pytest.mark.parametrize("mechanism", ["independent", "mst", "mwem"])
def test_every_mechanism_looks_inside(mechanism: str) -> None:
    made = quick(table(), mechanism=mechanism)
    assert [entry.column for entry in made.manifest.inside] == ["age", "pay", "born", "seen"]
    assert made.spent <= made.rho


@pytest.mark.promise(25)
def test_what_is_not_whole_is_refused(release: Release, tmp_path: Path) -> None:
    folder = release.save(tmp_path / "r")
    (values,) = (folder / "inside").glob("values*")
    values.write_bytes(values.read_bytes()[:-8])
    with pytest.raises(FormatError, match="damaged"):
        understudy.load(folder)
    shutil.rmtree(folder / "inside")
    with pytest.raises(FormatError, match="inside"):
        understudy.load(folder)


@pytest.mark.promise(25)
@pytest.mark.parametrize("scale", [1e-300, 1e154, 1e300])
def test_noise_that_no_run_can_have_is_refused(release: Release, tmp_path: Path, scale: float) -> None:
    """Its square is no number: the release ended with a traceback when it was drawn from."""
    path = release.save(tmp_path / "r") / "inside" / "measurements.json"
    document = json.loads(path.read_text())
    for measured in document["measurements"]:
        measured["scale"] = scale
    path.write_text(json.dumps(document))
    with pytest.raises(FormatError, match="scale"):
        understudy.load(tmp_path / "r")


@pytest.mark.parametrize("share", [-0.1, 1, float("nan"), True])
def test_a_share_that_makes_no_sense_is_refused(share: Any) -> None:
    with pytest.raises(BudgetError, match="inside must be"):
        quick(table(), inside=share)


def test_every_value_is_one_that_the_schema_allows() -> None:
    """Also at the edges, in the tails, of dates and with steps."""
    made = quick(table(), epsilon=0.1)
    for column in schema().columns:
        faults = column.faults(made.arrow.column(column.name))
        assert set(faults.tolist()) <= {0, 1}
    assert (schema().encode(made.arrow) == made.codes).all()
