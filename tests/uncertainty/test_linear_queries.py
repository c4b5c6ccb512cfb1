"""Bounds from measurements of which some are linear queries: those are left out, for no theorem speaks of them."""

from __future__ import annotations

import numpy as np
import pytest

from privacy.fakes import TableSource
from understudy.domain import Domain
from understudy.privacy import Budget, Door, Linear, Marginal, PrefixSums
from understudy.uncertainty.estimator import seen, weighted_average
from understudy.uncertainty.supported import reading


@pytest.mark.promise(37)
def test_no_bound_rests_on_a_linear_query() -> None:
    door = Door(TableSource(Domain.of({"age": 4}), [(1,), (3,)]), Budget.of(rho=10))
    sums = door.ask(Linear(("age",), PrefixSums((4,)), 3.0))
    cells = door.ask(Marginal(("age",), 3.0))
    assert seen([sums], ("age",)) == []
    assert seen([sums], ()) == []
    assert reading([sums], ("age",), 0.05) is None
    both = weighted_average([sums, cells], ("age",))
    assert both is not None
    np.testing.assert_allclose(both.values, cells.values, rtol=1e-12)
