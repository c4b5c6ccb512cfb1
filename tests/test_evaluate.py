"""Real against synthetic, and what to expect before there is any data."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import numpy as np
import pytest

import understudy
from release_tables import quick, schema, table
from understudy import example
from understudy.errors import UserError
from understudy.evaluate import NOT_PRIVATE
from understudy.metrics import subsampling_fraction, workload_error, workload_error_l2, workload_error_max
from understudy.planning import stand_in
from understudy.privacy import Unit, gaussian_cost
from understudy.report.evaluation_words import KNOWN
from understudy.schema import parse_schema
from understudy.source import MemorySource

evaluate_module = importlib.import_module("understudy.evaluate")
"""The module, whose name in the package is that of its function."""


def test_errors_are_those_of_the_definition() -> None:
    """Against a walk over the rows of both tables, for one marginal and for the workload."""
    real = table(300)
    release = quick(real, workload="all-2way", mechanism="aim")
    found = understudy.evaluate(real, release)
    names = ["sex", "level"]
    ours, theirs = ([tuple(row[n] for n in names) for row in t.select(names).to_pylist()] for t in (real, release.arrow))
    walked = sum(abs(ours.count(cell) - theirs.count(cell) * release.weight) for cell in {*ours, *theirs})
    (pair,) = [m for m in found.marginals if m.clique == ("sex", "level")]
    assert pair.error == pytest.approx(walked)
    assert pair.bound == release.bounds["sex", "level"]
    pairs = [m.error for m in found.marginals if len(m.clique) == 2]
    assert found.error == pytest.approx(np.mean(pairs) / 300)
    assert found.rows == 300
    assert found.error_max <= found.error_l2 * 10
    assert found.worst(1)[0].error == max(m.error for m in found.marginals)


def test_a_release_of_itself_is_nearly_right_and_far_budgets_are_not() -> None:
    real = table(3000)
    near = understudy.evaluate(real, quick(real, epsilon=50))
    far = understudy.evaluate(real, quick(real, epsilon=0.05))
    assert near.error < 0.02 < far.error
    assert near.subsample is not None
    assert far.subsample is not None
    assert near.subsample.fraction > far.subsample.fraction


def test_rows_asked_for_do_not_count_as_error() -> None:
    real = table(3000)
    found = understudy.evaluate(real, quick(real, epsilon=50, rows=600))
    assert found.error < 0.1


@pytest.mark.promise(26)
def test_it_says_that_it_is_not_private() -> None:
    found = understudy.evaluate(table(100), quick(table(100)))
    assert NOT_PRIVATE in repr(found)
    described = found.describe()
    assert described["private"] is False
    assert described["notice"] == NOT_PRIVATE
    assert described["rows"] == 100
    assert len(json.dumps(described, allow_nan=False)) > 100


@pytest.mark.promise(26)
def test_its_page_says_that_it_is_not_private(tmp_path: Path) -> None:
    found = understudy.evaluate(table(100), quick(table(100)))
    page = understudy.write_evaluation(found, tmp_path / "evaluation.html").read_text(encoding="utf-8")
    assert "<strong>INTERNAL: NOT PRIVATE" in page


def test_an_empty_table_can_be_released_and_evaluated() -> None:
    empty = table(0)
    release = quick(empty)
    found = understudy.evaluate(empty, release)
    assert found.rows == 0
    assert found.subsample is None


def test_a_plan_opens_no_data_and_keeps_arithmetic_apart() -> None:
    plan = understudy.plan(schema(), rows=1000, epsilon=1, workload="all-2way", mechanism="aim2", rehearse=False)
    assert plan.rehearsal is None
    assert float(gaussian_cost(plan.sigma_single, Unit.ADD_REMOVE)) == pytest.approx(plan.rho)
    release = quick(table(100), epsilon=1, mechanism="aim2", workload="all-2way")
    assert release.measurements[0].scale == plan.sigma_first
    assert len(release.rounds) <= plan.most_rounds
    assert release.manifest.model.size >= plan.least_size
    assert plan.marginals == len(release.bounds)


def test_a_rehearsal_scales_with_the_rows() -> None:
    settings = {"workload": "all-1way", "epsilon": 1.0}
    few = understudy.plan(schema(), rows=500, **settings).rehearsal  # type: ignore[arg-type]
    many = understudy.plan(schema(), rows=100_000, **settings).rehearsal  # type: ignore[arg-type]
    assert few is not None
    assert many is not None
    assert many.error < few.error / 5
    with pytest.raises(UserError, match="rows"):
        understudy.plan(schema(), rows=0, epsilon=1)


def test_a_stand_in_keeps_to_what_is_possible() -> None:
    declared = example.schema()
    codes = stand_in(declared, 2000, np.random.default_rng(0))
    assert len(codes) > 1000
    assert (codes.max(axis=0) < declared.domain.sizes).all()
    under_16, married = codes[:, declared.domain.index("age")] < 4, codes[:, declared.domain.index("marital")] != 0
    assert not (under_16 & married).any()


def test_a_part_of_a_wide_workload_has_about_the_error_of_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 84 triples 42 are compared, some at a time. The mean of half is off by a twentieth at most, at this seed."""
    real = table(600)
    release = quick(real, workload="all-3way")
    whole = understudy.evaluate(real, release)
    monkeypatch.setattr(evaluate_module, "MOST_COMPARED", 42)
    monkeypatch.setattr(evaluate_module, "AT_ONCE", 500)
    part = understudy.evaluate(real, release)
    assert (whole.compared, part.compared) == (84, 42)
    assert part.error == pytest.approx(whole.error, rel=0.05)
    assert part.error == pytest.approx(np.mean([m.error for m in part.marginals if len(m.clique) == 3]) / 600)
    assert part.error != whole.error
    assert part.rows == whole.rows == 600
    assert {m.clique for m in part.marginals if len(m.clique) == 1} == {(name,) for name in release.domain}
    assert {m.clique for m in part.marginals} < {m.clique for m in whole.marginals}


def test_errors_in_blocks_are_those_of_the_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    real, queries = table(300), [(("sex", "level"), 2.0), (("age",), 1.0), (("age", "pay"), 0.5)]
    release = quick(real, workload=queries)
    workload = release.workload
    ours = MemorySource.of_codes(schema().encode(real), release.domain).count(workload.cliques)
    theirs = release.table_marginals(workload.cliques)
    monkeypatch.setattr(evaluate_module, "AT_ONCE", 1)
    found = understudy.evaluate(real, release)
    assert found.error == pytest.approx(workload_error(workload, ours, theirs))
    assert found.error_l2 == pytest.approx(workload_error_l2(workload, ours, theirs))
    assert found.error_max == pytest.approx(workload_error_max(workload, ours, theirs))
    assert found.subsample == subsampling_fraction(workload, ours, found.error)
    assert [len(m.clique) for m in found.marginals] == sorted(len(c) for c in workload.closure)


def test_all_measures_of_one_evaluation_as_plain_data() -> None:
    real, release = table(600), quick(table(600), workload="all-2way")
    found = understudy.evaluate(real, release, holdout=table(300, seed=8), target="level", by=["sex", "owner"])
    described = json.loads(json.dumps(found.describe(), allow_nan=False))
    assert [m["name"] for m in described["columns"]] == list(release.domain)
    assert len(described["pairs"]) == 36
    assert [g["by"] for g in described["groups"]] == ["sex", "owner"]
    assert described["prediction"]["tested"] == described["held_out_rows"] == 300
    assert described["membership"]["limit"] == pytest.approx(found.membership.limit if found.membership else None)
    assert set(described["scores"]) == set(KNOWN)
    assert all(score is not None for score in described["scores"].values())
    pay = np.array([v for v in real["pay"].to_pylist() if v is not None])
    (measured,) = [m for m in described["columns"] if m["name"] == "pay"]
    assert measured["numbers"]["mean"]["real"] == pytest.approx(pay.mean())
    assert measured["numbers"]["total"]["real"] == pytest.approx(pay.sum())
    assert measured["numbers"]["quantiles"]["0.5"]["real"] == pytest.approx(np.median(pay))
    assert measured["missing"]["real"] == pytest.approx(1 - len(pay) / 600)


def test_columns_and_pairs_outside_the_workload_are_measured_but_are_none_of_its_marginals() -> None:
    real = table(200)
    found = understudy.evaluate(real, quick(real, workload=[("sex", "level")]))
    assert len(found.columns) == 9
    assert len(found.pairs) == 36
    assert {m.clique for m in found.marginals} == {("sex",), ("level",), ("sex", "level")}


@pytest.mark.parametrize("rows", [0, 1])
def test_tables_almost_without_rows_have_measures(rows: int) -> None:
    real = table(rows)
    described = understudy.evaluate(real, quick(real), holdout=real, by=["sex"]).describe()
    assert described["distinction"] is None
    assert described["nearest"] is None
    assert len(described["columns"]) == 9


def test_a_stream_is_read_once_and_an_array_of_codes_has_no_numbers() -> None:
    real = table(200)
    release = quick(real)
    streamed = understudy.evaluate(real.to_reader(), release)
    assert streamed.columns == understudy.evaluate(real, release).columns
    coded = understudy.evaluate(schema().encode(real), release)
    by_name = {m.name: m for m in coded.columns}
    assert by_name["pay"].numbers is None  # a bin holds many numbers
    assert by_name["visits"].numbers is not None  # a bin holds one


def test_what_cannot_be_measured_is_refused_before_the_table_is_read() -> None:
    release, unreadable = quick(table(50)), object()
    with pytest.raises(UserError, match="never saw"):
        understudy.evaluate(unreadable, release, target="sex")
    with pytest.raises(UserError, match="no column"):
        understudy.evaluate(unreadable, release, by=["sx"])
    with pytest.raises(UserError, match="at most 50"):
        understudy.evaluate(unreadable, wide_release(), holdout=unreadable, target="many")
    with pytest.raises(UserError, match="at most 100"):
        understudy.evaluate(unreadable, wide_release(), by="many")


def test_a_derived_column_is_no_target_and_has_no_groups() -> None:
    text = '[columns.size]\nkind = "integer"\nmin = 0\nmax = 9\nother = 0\n'
    text += '[columns.twice]\nkind = "derived"\nexpression = "size * 2"\n'
    settings = {"epsilon": 1, "workload": "all-1way", "mechanism": "independent", "seed": 1, "progress": False}
    release = understudy.synthesize({"size": [1, 2] * 20}, parse_schema(text), **settings)  # type: ignore[arg-type]
    for asked in ({"target": "twice"}, {"by": "twice"}):
        with pytest.raises(UserError, match=r'"twice" is derived.*ask for "size"'):
            understudy.evaluate(object(), release, holdout=object(), **asked)  # type: ignore[arg-type]


def wide_release() -> understudy.Release:
    declared = understudy.Schema.from_domain({"many": 200, "few": 2})
    settings = {"epsilon": 1, "workload": "all-1way", "mechanism": "independent", "seed": 1, "progress": False}
    return understudy.synthesize(np.zeros((10, 2), int), declared, **settings)  # type: ignore[arg-type]


def test_of_persons_the_rows_that_are_used_are_measured() -> None:
    declared = parse_schema(
        'person = "who"\nrows_per_person = 2\n[columns.age]\nkind = "integer"\nmin = 0\nmax = 99\nbins = 4\nother = 0\n'
        '[columns.sex]\nkind = "categorical"\nvalues = ["F", "M"]\nother = "F"\n'
    )
    ages, rows = np.arange(40) * 2, np.arange(40) % 5 + 1
    who = np.repeat(np.arange(40), rows)
    data = {"who": who, "age": np.repeat(ages, rows), "sex": ["F", "M"] * (len(who) // 2)}
    settings = {"epsilon": 5, "workload": "all-2way", "mechanism": "independent", "seed": 1, "progress": False}
    found = understudy.evaluate(data, understudy.synthesize(data, declared, **settings), holdout=data, target="sex")  # type: ignore[arg-type]
    used = np.minimum(rows, 2)
    assert found.tables.real.total == found.rows == used.sum()
    assert found.tables.real.codes.shape == (used.sum(), 2)
    assert found.columns[0].numbers is not None
    assert found.columns[0].numbers.mean.real == pytest.approx((ages * used).sum() / used.sum())
    assert found.describe()["prediction"]["tested"] == used.sum()
