"""Anchors: what all measurements say of a column alone, as a distribution; the last fit is held to it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import understudy
from understudy.mechanism import running
from understudy.mechanism.anchors import FIRM, anchored, on_simplex
from understudy.model import Observation
from understudy.schema import parse_schema

ONE = Observation(("a",), np.array([50.0, -10.0, 0.0]), 2.0)
TWO = Observation(("a", "b"), np.array([[30.0, 10.0], [4.0, -4.0], [1.0, 1.0]]), 1.0)


def test_an_anchor_is_the_average_by_inverse_variance() -> None:
    """The variance of a sum over b is 2, of the marginal itself 4: two thirds of the weight against one."""
    *given, anchor = anchored([ONE, TWO], ["a"], 42.0)
    assert given == [ONE, TWO]
    mean = (np.array([50.0, -10.0, 0.0]) + 2 * np.array([40.0, 0.0, 2.0])) / 3
    np.testing.assert_allclose(anchor.values, on_simplex(mean, 42.0))
    assert anchor.sigma == pytest.approx((1 / 4 + 1 / 2) ** -0.5 / FIRM)
    assert anchor.clique == ("a",)


def test_a_column_that_was_not_measured_has_none() -> None:
    assert anchored([ONE], ["c"], 40.0) == [ONE]
    assert anchored([ONE, TWO], ["a"], 0.0) == [ONE, TWO]


def test_the_nearest_distribution() -> None:
    """By brute force over which cells are empty."""
    values = np.array([5.0, -3.0, 1.0, 0.2])
    found = on_simplex(values, 4.0)
    assert found.sum() == pytest.approx(4.0)
    assert found.min() >= 0
    tries = []
    for mask in range(1, 16):
        kept = np.array([bool(mask >> i & 1) for i in range(4)])
        one = np.where(kept, values + (4.0 - values[kept].sum()) / kept.sum(), 0.0)
        if (one >= 0).all():
            tries.append(float(((one - values) ** 2).sum()))
    assert ((found - values) ** 2).sum() == pytest.approx(min(tries))


TEXT = '[columns.pay]\nkind = "integer"\nmin = 0\nmax = 3999\nbins = 40\nother = 0\n' + "".join(
    f'[columns.{name}]\nkind = "integer"\nmin = 0\nmax = 11\nother = 0\n' for name in "xyz"
)


def test_rare_values_are_not_made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Empty bins of a column that is in many measured marginals: their noise adds up to rows without an anchor."""
    rng = np.random.default_rng(2)
    group = rng.integers(0, 12, 4_000)
    data = {"pay": (rng.exponential(100, 4_000) + 120 * group).astype(int).clip(0, 3999)}
    data |= {name: (group + rng.integers(0, 3, 4_000)) % 12 for name in "xyz"}
    settings: dict[str, Any] = {"epsilon": 1, "seed": 5, "workload": "all-2way", "progress": False}

    def off() -> float:
        release = understudy.synthesize(data, parse_schema(TEXT), **settings)
        truth = np.bincount(data["pay"] // 100, minlength=40)
        return float(np.abs(release.marginal("pay").counts - truth).sum())

    held = off()
    monkeypatch.setattr(running, "anchored", lambda observations, attributes, total: observations)
    free = off()
    assert held < 0.9 * free
