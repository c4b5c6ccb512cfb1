"""Each measure against its definition, by hand or by another library."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from understudy.domain import Zeros
from understudy.errors import UserError
from understudy.measures import rows as rows_module
from understudy.measures.columns import kolmogorov_smirnov, measure_column, total_variation
from understudy.measures.combinations import broken, k_marginal
from understudy.measures.distinction import distinguish
from understudy.measures.groups import measure_groups
from understudy.measures.nearest import advantage, allowed, attack, nearest, nearest_records
from understudy.measures.pairs import both_correlations, correlations, cramers_v, measure_pair
from understudy.measures.prediction import predict
from understudy.measures.rows import Rows, Sums, Tables, rows_of_codes
from understudy.schema import Schema
from understudy.schema.zeros import DeclaredZeros

SIZES = {"a": 4, "b": 6, "c": 3}


def codes(rows: int, seed: int = 0) -> np.ndarray:
    """Dependent codes: b follows a, c follows nothing."""
    rng = np.random.default_rng(seed)
    a = rng.choice(4, rows, p=[0.4, 0.3, 0.2, 0.1])
    return np.column_stack([a, (a + rng.integers(0, 3, rows)) % 6, rng.integers(0, 3, rows)])


def rows(found: np.ndarray, by: tuple[str, ...] = ()) -> Rows:
    return rows_of_codes(found, Schema.from_domain(SIZES), by)


def tables(real: np.ndarray, made: np.ndarray, held: np.ndarray | None = None, weight: float = 1.0, by: Any = ()) -> Tables:
    return Tables(rows(real, by), rows(made, by), None if held is None else rows(held), weight)


def test_total_variation_is_the_share_in_the_wrong_place() -> None:
    assert total_variation(np.array([6, 4]), np.array([3.0, 2.0])) == 0
    assert total_variation(np.array([10, 0]), np.array([5, 5])) == pytest.approx(0.5)
    assert total_variation(np.array([0, 0]), np.array([5, 5])) == 1
    assert total_variation(np.array([0, 0]), np.array([0, 0])) == 0


def test_kolmogorov_smirnov_is_scipys() -> None:
    rng = np.random.default_rng(0)
    for real, made in ((rng.normal(size=50), rng.normal(0.3, 1, 70)), (rng.integers(0, 4, 30), rng.integers(0, 5, 31))):
        expected = stats.ks_2samp(real, made).statistic
        assert kolmogorov_smirnov(real.astype(float), made.astype(float)) == pytest.approx(expected)


def test_sums_in_parts_are_those_of_the_whole() -> None:
    rng = np.random.default_rng(0)
    numbers, groups = rng.normal(1e6, 1, 900), rng.integers(0, 3, 900)
    numbers[:50] = np.nan
    parts = [Sums.of(numbers[i : i + 300], groups[i : i + 300], 4) for i in (0, 300, 600)]
    found = parts[0] + parts[1] + parts[2]
    for g in range(3):
        mine = numbers[(groups == g) & ~np.isnan(numbers)]
        assert found.number[g] == len(mine)
        assert found.mean[g] == pytest.approx(mine.mean(), rel=1e-12)
        assert found.stddev[g] == pytest.approx(mine.std(ddof=1), rel=1e-9)
    assert (found.number[3], found.mean[3], found.stddev[3]) == (0, 0, 0)


def test_a_sample_has_each_row_as_often_and_sums_are_of_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """60 of 500 rows; the mean place of the sample is off by more than 5 standard errors once in a million."""
    monkeypatch.setattr(rows_module, "MOST_ROWS", 60)
    monkeypatch.setattr(rows_module, "AT_ONCE", 50)
    schema = Schema.from_domain({"place": 500})
    found = rows_of_codes(np.arange(500)[:, None], schema)
    assert (found.total, found.sampled) == (500, 60)
    assert found.sums["place"].mean[0] == pytest.approx(249.5)
    assert (np.diff(found.codes[:, 0]) > 0).all()
    assert abs(found.codes.mean() - 249.5) < 5 * 500 / (12 * 60) ** 0.5
    np.testing.assert_array_equal(found.numbers["place"], found.codes[:, 0])


def test_a_column_by_hand() -> None:
    real, made = np.array([[0], [0], [1], [3]]), np.array([[0], [1], [1], [2]])
    schema = Schema.from_domain({"a": 4})
    both = Tables(rows_of_codes(real, schema), rows_of_codes(made, schema), None, 2.0)
    found = measure_column(schema["a"], (np.bincount(real[:, 0], minlength=4), np.bincount(made[:, 0], minlength=4)), both)
    assert (found.tvd, found.tv_complement) == (0.5, 0.5)
    assert found.coverage == pytest.approx(2 / 3)
    assert found.missing.real == found.missing.synthetic == 0
    numbers = found.numbers
    assert numbers is not None
    assert (numbers.mean.real, numbers.mean.synthetic, numbers.mean.difference, numbers.mean.relative) == (1, 1, 0, 0)
    assert (numbers.total.real, numbers.total.synthetic) == (4, 8)  # a synthetic row stands for two
    assert (numbers.ks, numbers.boundary) == (0.25, 1)
    assert [b.real for b in numbers.quantiles] == pytest.approx(
        np.quantile([0, 0, 1, 3], [0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99]).tolist()
    )


def test_association_is_scipys_and_correlation_numpys() -> None:
    found = codes(500)
    counts = np.zeros((5, 6), int)  # with a value that does not occur
    np.add.at(counts, (found[:, 0], found[:, 1]), 1)
    assert cramers_v(counts) == pytest.approx(stats.contingency.association(counts[:4]))
    assert cramers_v(np.array([[5, 5]])) == 0
    names, matrix = correlations(rows(found))
    assert names == ["a", "b", "c"]
    np.testing.assert_allclose(matrix, np.corrcoef(found.T), atol=1e-12)


def test_correlations_are_over_rows_that_have_both(monkeypatch: pytest.MonkeyPatch) -> None:
    found = rows(codes(300))
    found.numbers["a"][:100] = np.nan
    found.numbers["c"][:] = 1.0
    _, matrix = correlations(found)
    assert matrix[0, 1] == pytest.approx(np.corrcoef(found.numbers["a"][100:], found.numbers["b"][100:])[0, 1])
    assert np.isnan(matrix[0, 2])
    assert set(both_correlations(found, found)) == {("a", "b")}


def test_a_pair_by_hand() -> None:
    found = measure_pair(("a", "b"), np.array([[5, 0], [0, 5]]), np.array([[4.0, 1.0], [0.0, 5.0]]))
    assert found.contingency_similarity == pytest.approx(0.9)
    assert found.unseen == pytest.approx(0.1)
    assert found.cramers_v.real == pytest.approx(1)
    assert found.cramers_v.synthetic < 1
    assert found.correlation_similarity is None


def test_groups_are_those_of_a_walk_over_the_rows() -> None:
    real, made = codes(400), codes(300, seed=1)
    schema, both = Schema.from_domain(SIZES), tables(real, made, weight=4 / 3, by=("c",))
    counts = {}
    for i, name in enumerate(("a", "b")):
        one, two = np.zeros((3, SIZES[name])), np.zeros((3, SIZES[name]))
        np.add.at(one, (real[:, 2], real[:, i]), 1)
        np.add.at(two, (made[:, 2], made[:, i]), 4 / 3)
        counts[name] = one, two
    found = measure_groups(schema["c"], counts, both)
    assert [g.label for g in found.groups] == ["0", "1", "2"]
    ours, theirs = real[real[:, 2] == 1], made[made[:, 2] == 1]
    group = found.groups[1]
    assert group.rows.real == len(ours)
    assert group.rows.synthetic == pytest.approx(len(theirs) * 4 / 3)
    b = group.columns[1]
    assert b.mean is not None
    assert b.total is not None
    assert b.stddev is not None
    assert b.median is not None
    assert b.mean.real == pytest.approx(ours[:, 1].mean())
    assert b.mean.synthetic == pytest.approx(theirs[:, 1].mean())
    assert b.total.synthetic == pytest.approx(theirs[:, 1].sum() * 4 / 3)
    assert b.stddev.real == pytest.approx(ours[:, 1].std(ddof=1))
    assert b.median.real == np.median(ours[:, 1])
    assert b.tvd == pytest.approx(total_variation(*(np.bincount(t[:, 1], minlength=6) for t in (ours, theirs))))


@pytest.mark.statistical
def test_pmse_is_what_is_expected_of_right_draws_and_twice_that_of_independent_samples() -> None:
    """Means of 20 ratios, with 10 degrees of freedom each: standard errors 0.1 and 0.2. False alarm below 1 in 10,000."""
    rng, real = np.random.default_rng(0), codes(1500)
    drawn = [distinguish(rows(real), rows(real[rng.integers(0, 1500, 1500)])) for _ in range(20)]
    fresh = [distinguish(rows(codes(1500, seed=2 * i)), rows(codes(1500, seed=2 * i + 1))) for i in range(20)]
    assert abs(np.mean([d.pmse_ratio for d in drawn if d]) - 1) < 0.4
    assert abs(np.mean([d.pmse_ratio for d in fresh if d]) - 2) < 0.8
    assert abs(np.mean([d.auc for d in fresh if d]) - 0.5) < 0.02


def test_a_classifier_sees_columns_and_pairs_that_differ() -> None:
    real = codes(2000)
    shuffled = real.copy()
    shuffled[:, 1] = np.random.default_rng(0).permutation(shuffled[:, 1])
    pairs = distinguish(rows(real), rows(shuffled))
    assert pairs is not None
    assert pairs.pmse_ratio < 1  # no column differs
    assert pairs.auc > 0.7  # a pair does
    column = distinguish(rows(real), rows(np.zeros_like(real)))
    assert column is not None
    assert column.pmse > 0.15
    assert column.pmse_ratio > 10
    assert distinguish(rows(real[:1]), rows(real)) is None


def test_what_is_learnt_from_a_copy_is_what_is_learnt_from_the_table() -> None:
    real, held = codes(2000), codes(500, seed=5)
    noise = np.random.default_rng(0).permuted(real, axis=0)
    copy, poor = (predict("a", rows(real), rows(made), rows(held)) for made in (real, noise))
    assert copy.synthetic == copy.real
    assert copy.real.auc is not None
    assert poor.synthetic.auc is not None
    assert copy.real.accuracy > copy.most_frequent == (held[:, 0] == 0).mean()
    assert copy.real.auc > 0.7
    assert poor.synthetic.auc < 0.6
    with pytest.raises(UserError, match="without rows"):
        predict("a", rows(real), rows(real[:0]), rows(held))


def test_the_nearest_row_is_that_of_a_walk() -> None:
    asked, among = codes(40), codes(60, seed=1)
    walked = [min(int((a != b).sum()) for b in among) for a in asked]
    assert nearest(asked.astype(np.int32), among.astype(np.int32)).tolist() == walked
    own = [min(int((a != b).sum()) for j, b in enumerate(asked) if j != i) for i, a in enumerate(asked)]
    assert nearest(asked.astype(np.int32), asked.astype(np.int32), themselves=True).tolist() == own


def wide(rows: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 8, (rows, 12))


def test_a_copied_table_is_noticed_and_a_fresh_one_is_not() -> None:
    schema = Schema.from_domain({f"c{i}": 8 for i in range(12)})
    real, held, fresh = (rows_of_codes(wide(300, seed), schema) for seed in range(3))
    copied, honest = attack(real, real, held, 1.0, 1e-9), attack(real, fresh, held, 1.0, 1e-9)
    assert copied is not None
    assert honest is not None
    assert (copied.auc, copied.advantage, copied.noticeable) == (1.0, 1.0, True)
    assert not honest.noticeable
    assert abs(honest.auc - 0.5) < 4 * honest.error
    distances = nearest_records(real, real, held)
    assert distances is not None
    assert (distances.copies, distances.median, distances.copies_compared) == (1, 0, 0)
    assert distances.nearer == 1
    alone = nearest_records(real, fresh, None)
    assert alone is not None
    assert (alone.compared, alone.nearer) == ("real", None)
    assert nearest_records(rows_of_codes(wide(1, 0), schema), fresh, None) is None


def test_advantage_and_what_the_promise_allows() -> None:
    assert advantage(np.array([3.0, 2.0, 1.0, 0.0]), np.array([True, False, True, False])) == pytest.approx(0.5)
    assert advantage(np.array([0.0, 1.0]), np.array([True, False])) == 0
    assert allowed(0.0, 0.0) == 0
    assert allowed(1.0, 0.0) == pytest.approx((np.e - 1) / (np.e + 1))
    assert allowed(10_000.0, 1e-9) == pytest.approx(1)


def test_rules_and_the_score_of_nist() -> None:
    domain = Schema.from_domain(SIZES).domain
    zeros = DeclaredZeros(("a", "c"), np.array([[0, 1]]), "never a and c")
    assert isinstance(zeros, Zeros)
    counts = np.ones((4, 3))
    found = broken(zeros, domain, np.zeros((4, 3)), counts)
    assert (found.rule, found.rows.real) == ("never a and c", 0)
    assert found.rows.synthetic == pytest.approx(1 / 12)
    assert k_marginal([1.0, 0.5]) == 750
    assert k_marginal([]) is None
