from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from understudy.domain import Domain
from understudy.errors import WorkloadError
from understudy.metrics import (
    mean_deviation,
    rescaled,
    subsampling_error,
    subsampling_fraction,
    workload_error,
    workload_error_l2,
    workload_error_max,
)
from understudy.workload import Workload

DOMAIN = Domain.of({"a": 2, "b": 3})
WORKLOAD = Workload.of(DOMAIN, [(["a"], 2), (["a", "b"], 1)])
REAL = [np.array([6, 4]), np.array([[1, 2, 3], [4, 0, 0]])]
SYNTHETIC = [np.array([5, 5]), np.array([[2, 2, 1], [2, 3, 0]])]


def test_the_three_norms_by_hand() -> None:
    assert workload_error(WORKLOAD, REAL, SYNTHETIC) == pytest.approx((2 * 2 + 8) / (2 * 10))
    assert workload_error_l2(WORKLOAD, REAL, SYNTHETIC) == pytest.approx((2 * 2**0.5 + 18**0.5) / (2 * 10))
    assert workload_error_max(WORKLOAD, REAL, SYNTHETIC) == pytest.approx(3 / 10)


def test_no_error_is_zero_and_disjoint_tables_are_two() -> None:
    one = Workload.of(DOMAIN, [(["a"], 1)])
    assert workload_error(one, [np.array([7, 0])], [np.array([7, 0])]) == 0
    assert workload_error(one, [np.array([7, 0])], [np.array([0, 7])]) == 2


def test_counts_are_compared_as_they_are_unless_rescaled() -> None:
    one = Workload.of(DOMAIN, [(["a"], 1)])
    real, synthetic = [np.array([6, 4])], [np.array([3, 2])]
    assert workload_error(one, real, synthetic) == pytest.approx(0.5)
    assert workload_error(one, real, rescaled(real, synthetic)) == 0


def test_duplicates_average_as_the_definition_says() -> None:
    twice = Workload.of(DOMAIN, [(["a"], 1), (["a"], 1)])
    once = Workload.of(DOMAIN, [(["a"], 1)])
    assert workload_error(twice, REAL[:1], SYNTHETIC[:1]) == workload_error(once, REAL[:1], SYNTHETIC[:1])


def test_empty_tables_have_finite_errors() -> None:
    none = [np.zeros(2, dtype=np.int64), np.zeros((2, 3), dtype=np.int64)]
    assert workload_error(WORKLOAD, none, none) == 0
    assert workload_error(WORKLOAD, none, rescaled(none, SYNTHETIC)) == 0
    assert np.isfinite(workload_error(WORKLOAD, none, SYNTHETIC))
    with pytest.raises(WorkloadError, match="without rows"):
        subsampling_fraction(WORKLOAD, none, 0.1)


def test_wrong_lists_are_refused() -> None:
    with pytest.raises(WorkloadError, match="2 marginals"):
        workload_error(WORKLOAD, REAL[:1], SYNTHETIC)
    with pytest.raises(WorkloadError, match="shape"):
        workload_error(WORKLOAD, REAL, SYNTHETIC[::-1])
    with pytest.raises(WorkloadError, match="at least 0"):
        subsampling_fraction(WORKLOAD, REAL, float("nan"))


@pytest.mark.parametrize("total", [7, 1000, 10**6])
@pytest.mark.parametrize("rows", [1, 2, 7, 999, 10**6, 2 * 10**6 + 3])
def test_mean_deviation_against_scipy(total: int, rows: int) -> None:
    counts = np.unique([0, 1, 2, 3, total // 3, total // 2, total - 2, total - 1, total])
    found = mean_deviation(rows, counts, total)
    p = counts / total
    s = np.array([-(-rows * int(c) // total) for c in counts])
    expected = 2 / rows * s * (1 - p) * stats.binom.pmf(s, rows, p)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("rows", [1, 3, 10])
def test_mean_deviation_against_the_definition(rows: int) -> None:
    p = 0.3
    k = np.arange(rows + 1)
    expected = float((np.abs(p - k / rows) * stats.binom.pmf(k, rows, p)).sum())
    assert mean_deviation(rows, np.array([3]), 10)[0] == pytest.approx(expected, rel=1e-12)


def test_subsampling_error_against_simulation() -> None:
    """Mean of 4000 samples; a false alarm needs a deviation of five standard errors, below 1e-6."""
    rng = np.random.default_rng(0)
    errors = []
    joint = REAL[1].reshape(-1) / 10
    for _ in range(4000):
        drawn = rng.multinomial(7, joint).reshape(2, 3) * 10 / 7
        errors.append(workload_error(WORKLOAD, REAL, [drawn.sum(axis=1), drawn]))
    spread = np.std(errors) / len(errors) ** 0.5
    assert abs(np.mean(errors) - subsampling_error(WORKLOAD, REAL, 7)) < 5 * spread


def test_fraction_inverts_the_expected_error() -> None:
    rng = np.random.default_rng(1)
    domain = Domain.of({"a": 40, "b": 50})
    workload = Workload.all_kway(domain, 2)
    real = [rng.multinomial(1_000_000, rng.dirichlet(np.full(2000, 0.3))).reshape(40, 50)]
    for rows in (1, 2, 10, 12_345, 370_000, 1_000_000, 3_000_000):
        found = subsampling_fraction(workload, real, subsampling_error(workload, real, rows))
        assert found.rows == rows
        assert found.fraction == pytest.approx(rows / 1_000_000)


def test_expected_error_falls_with_the_rows() -> None:
    real = [np.array([3, 4]), np.array([[1, 2, 0], [0, 0, 4]])]
    errors = [subsampling_error(WORKLOAD, real, rows) for rows in range(1, 200)]
    assert all(a >= b - 1e-15 for a, b in pairwise(errors))


def test_extremes() -> None:
    assert subsampling_fraction(WORKLOAD, REAL, 0.0).fraction == float("inf")
    assert subsampling_fraction(WORKLOAD, REAL, 10.0).rows == 1
    constant = [np.array([9, 0]), np.array([[0, 9, 0], [0, 0, 0]])]
    assert subsampling_fraction(WORKLOAD, constant, 0.0).rows == 1
