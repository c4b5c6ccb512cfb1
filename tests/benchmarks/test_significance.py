"""The statistics of the ablation study against known values."""

from __future__ import annotations

from math import log10

import pytest
from scipy import stats

from benchmarks.conftest import BENCHMARKS  # noqa: F401  (puts the benchmarks on the path)
from grid.paper import scientific
from grid.significance import LEAST_P, geometric_mean, larger, score, stouffer


def test_geometric_mean() -> None:
    assert geometric_mean([1.0, 4.0]) == pytest.approx(2.0)
    assert geometric_mean([0.5, 2.0, 8.0]) == pytest.approx(2.0)
    assert geometric_mean([3.7]) == pytest.approx(3.7)


def scores(*p_values: float) -> list[float]:
    return [score(p, 1 - p) for p in p_values]


def test_stouffer_against_scipy_and_by_hand() -> None:
    p_values = [0.01, 0.2, 0.7, 0.04]
    assert 10 ** stouffer(scores(*p_values)) == pytest.approx(stats.combine_pvalues(p_values, method="stouffer").pvalue)
    # z = 1.6449 each: four of them combine to 2 × 1.6449, whose tail is 0.000501
    assert 10 ** stouffer(scores(*[0.05] * 4)) == pytest.approx(0.000501, rel=2e-3)
    assert 10 ** stouffer(scores(*[0.5] * 9)) == pytest.approx(0.5)


def test_stouffer_beyond_the_least_float() -> None:
    combined = stouffer(scores(*[1e-100] * 9))
    assert combined == pytest.approx(float(stats.norm.logsf(3 * stats.norm.isf(1e-100))) / 2.302585, rel=1e-6)
    assert combined < -800
    assert scientific(combined).startswith("10^-8")


@pytest.mark.parametrize("p", [0.0, 1e-200, 1e-20, 0.3])
def test_what_speaks_against_weighs_as_much_as_what_speaks_for(p: float) -> None:
    assert score(1.0, p) == -score(p, 1.0)
    assert 10 ** stouffer([score(p, 1 - p), score(1 - p, p)] * 2) == pytest.approx(0.5)


def test_the_t_test_is_welchs_and_one_sided() -> None:
    worse, better = [1.2, 1.3, 1.25, 1.4], [1.0, 1.1, 1.05]
    found, half = larger(worse, better), stats.ttest_ind(worse, better, equal_var=False).pvalue / 2
    assert found is not None
    assert stats.norm.sf(found) == pytest.approx(half)
    assert larger(better, worse) == pytest.approx(-found)
    assert larger([1.0], better) is None
    assert larger([1.0, 1.0], [1.0, 1.0]) is None
    assert larger([2.0, 2.0], [1.0, 1.0]) == pytest.approx(stats.norm.isf(LEAST_P))
    assert larger([1.0, 1.0], [2.0, 2.0]) == pytest.approx(-stats.norm.isf(LEAST_P))


def test_a_number_by_its_logarithm() -> None:
    assert scientific(-166.2) == "10^-166"
    assert scientific(log10(0.034)) == "0.034"
