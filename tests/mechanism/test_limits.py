"""Bins that no row is as far apart as: what is declared impossible is no reason to forbid all that is left."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import understudy
from understudy.domain import Zeros
from understudy.mechanism import running
from understudy.mechanism.limits import _followed, too_far
from understudy.privacy import Measurement
from understudy.schema import Schema, parse_schema

COLUMN = '[columns.{}]\nkind = "integer"\nmin = 0\nmax = 99\nbins = 5\nother = {}\n'
NEVER = '[[zeros]]\nnever = "a >= {} and a < {} and b >= {} and b < {}"\n'


def declared(*more: tuple[int, int]) -> Schema:
    """Return a schema of two columns in order, in five bins each, without these pairs of bins."""
    never = "".join(NEVER.format(20 * i, 20 * i + 20, 20 * j, 20 * j + 20) for i, j in more)
    return parse_schema(COLUMN.format("a", 0) + COLUMN.format("b", 99) + '[[zeros]]\nalways = "a <= b"\n' + never)


FAR = declared(*((i, j) for i in range(5) for j in (i, i + 1) if j < 5))
"""What is left is at least a bin apart."""


def test_each_bin_keeps_the_nearest_of_those_that_may_be() -> None:
    (gap,) = FAR.gaps
    values = np.zeros(gap.size, np.int64)
    values[0] = 400  # all rows break the declaration: they have no distance
    counted = Measurement((gap.name,), values, "gaussian", 2.0, Fraction(1, 8), False)
    found = too_far(FAR.domain, FAR.gaps, [counted], [("a", "b")], FAR.zeros, total=400.0)
    left = np.ones(FAR.domain.shape(("a", "b")), bool)
    for zeros in (*FAR.zeros, *found):
        left[tuple(zeros.cells.T)] = False
    assert np.argwhere(left).tolist() == [[0, 2], [1, 3], [2, 4]]


@pytest.mark.promise(30)
def test_limits_that_leave_nothing_end_no_run_that_was_paid_for(monkeypatch: pytest.MonkeyPatch) -> None:
    table = pd.DataFrame({"a": np.arange(300) % 50, "b": np.arange(300) % 50 + 40})
    whole = Zeros(("a", "b"), np.argwhere(np.ones((5, 5), bool)))
    monkeypatch.setattr(running, "too_far", lambda *_, **__: [whole])
    found = understudy.synthesize(table, declared(), epsilon=1.0, mechanism="mst", workload="all-2way", seed=0)
    assert len(found.table) > 100


def test_gaps_that_follow_each_other_reach_as_far_as_all_together() -> None:
    """Of a long chain, too: pairs of pairs would be millions, time and again."""
    ends = {(f"c{i:03}", f"c{i + 1:03}"): float(i) for i in range(120)} | {("c000", "c002"): 7.0}
    found = _followed(ends)
    assert len(found) == 121 * 120 / 2
    assert (found["c000", "c002"], found["c001", "c003"], found["c100", "c120"]) == (7.0, 3.0, sum(range(100, 120)))
