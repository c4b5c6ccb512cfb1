"""Real against synthetic, and what to expect before there is any data."""

from __future__ import annotations

import json

import numpy as np
import pytest

import understudy
from release_tables import quick, schema, table
from understudy import example
from understudy.errors import UserError
from understudy.evaluate import NOT_PRIVATE
from understudy.planning import stand_in
from understudy.privacy import Unit, gaussian_cost


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
