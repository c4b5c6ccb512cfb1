"""The statistics of the ablation study against known values."""

from __future__ import annotations

from math import log10

import pytest
from scipy import stats

from benchmarks.conftest import BENCHMARKS  # noqa: F401  (puts the benchmarks on the path)
from grid.paper import scientific
from grid.significance import LEAST_P, geometric_mean, larger, stouffer


def test_geometric_mean() -> None:
    assert geometric_mean([1.0, 4.0]) == pytest.approx(2.0)
    assert geometric_mean([0.5, 2.0, 8.0]) == pytest.approx(2.0)
    assert geometric_mean([3.7]) == pytest.approx(3.7)


def test_stouffer_against_scipy_and_by_hand() -> None:
    p_values = [0.01, 0.2, 0.7, 0.04]
    assert 10 ** stouffer(p_values) == pytest.approx(stats.combine_pvalues(p_values, method="stouffer").pvalue)
    # z = 1.6449 each: four of them combine to 2 × 1.6449, whose tail is 0.000501
    assert 10 ** stouffer([0.05] * 4) == pytest.approx(0.000501, rel=2e-3)
    assert 10 ** stouffer([0.5] * 9) == pytest.approx(0.5)


def test_stouffer_beyond_the_least_float() -> None:
    assert stouffer([1e-100] * 9) == pytest.approx(float(stats.norm.logsf(3 * stats.norm.isf(1e-100))) / 2.302585, rel=1e-6)
    assert stouffer([1e-100] * 9) < -800
    assert scientific(stouffer([1e-100] * 9)).startswith("10^-8")


def test_a_p_value_of_one_or_none_does_not_decide_alone() -> None:
    assert abs(stouffer([0.0, 1.0] * 2 + [0.3])) < 1000


def test_the_t_test_is_welchs_and_one_sided() -> None:
    worse, better = [1.2, 1.3, 1.25, 1.4], [1.0, 1.1, 1.05]
    assert larger(worse, better) == pytest.approx(stats.ttest_ind(worse, better, equal_var=False).pvalue / 2)
    assert larger(better, worse) == pytest.approx(1 - stats.ttest_ind(worse, better, equal_var=False).pvalue / 2)
    assert larger([1.0], better) is None
    assert larger([1.0, 1.0], [1.0, 1.0]) is None
    assert larger([2.0, 2.0], [1.0, 1.0]) == LEAST_P


def test_a_number_by_its_logarithm() -> None:
    assert scientific(-166.2) == "10^-166"
    assert scientific(log10(0.034)) == "0.034"
