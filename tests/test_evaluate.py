"""Real against synthetic, and what to expect before there is any data."""

from __future__ import annotations

import importlib
import json

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


def test_it_says_that_it_is_not_private() -> None:
    found = understudy.evaluate(table(100), quick(table(100)))
    assert NOT_PRIVATE in repr(found)
    described = found.describe()
    assert described["private"] is False
    assert described["rows"] == 100
    assert len(json.dumps(described, allow_nan=False)) > 100


def test_an_empty_table_can_be_released_and_evaluated() -> None:
    empty = table(0)
    release = quick(empty)
    found = understudy.evaluate(empty, release)
    assert found.rows == 0
    assert found.subsample is None


def test_a_plan_opens_no_data_and_keeps_arithmetic_apart() -> None:
    plan = understudy.plan(schema(), rows=1000, epsilon=1, workload="all-2way", rehearse=False)
    assert plan.rehearsal is None
    assert float(gaussian_cost(plan.sigma_single, Unit.ADD_REMOVE)) == pytest.approx(plan.rho)
    release = quick(table(100), epsilon=1, mechanism="aim", workload="all-2way")
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
