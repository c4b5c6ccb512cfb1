"""Means, totals, quantiles, counts and shares by group: against brute force on the rows that a release draws."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from release_tables import quick, table
from understudy import Release, Schema, synthesize
from understudy.cli import main
from understudy.errors import UserError
from understudy.quantities import supported
from understudy.report import render_report
from understudy.schema import parse_schema


@pytest.fixture(scope="module")
def release() -> Release:
    return quick(table(2_000), epsilon=5)


@pytest.fixture(scope="module")
def rows(release: Release) -> Any:
    """Many rows of the same model and weights: what the figures are the limit of."""
    return release.sample(60_000, rng=np.random.default_rng(0)).to_pandas()


def close(found: Any, truth: Any, within: float) -> None:
    assert abs(found - truth) <= within, (found, truth)


@pytest.mark.parametrize("column", ["age", "pay"])
def test_figures_are_those_of_the_rows(release: Release, rows: Any, column: str) -> None:
    wide = float(rows[column].std())
    for function, at in (("mean", None), ("median", 0.5), ("quantile", 0.9), ("quantile", 0.05)):
        query = f"{function}({column}, {at})" if function == "quantile" else f"{function}({column})"
        found = release.answer(f"{query} by sex").to_arrow().to_pylist()
        for line in found:
            group = rows[rows["sex"].isna() if line["sex"] == "null" else rows["sex"] == line["sex"]][column].dropna()
            truth = group.mean() if function == "mean" else group.quantile(at)
            close(line["value"], truth, 0.06 * wide)
    (total,) = release.answer(f"sum({column})").values.to_pylist()
    assert total == pytest.approx(rows[column].sum() * release.model.total / len(rows), rel=0.01)


def test_counts_and_shares(release: Release, rows: Any) -> None:
    by = release.answer("count() by sex")
    np.testing.assert_allclose(by.values.to_numpy(), release.marginal("sex").counts)
    assert sum(release.answer("share() by level, sex").values.to_pylist()) == pytest.approx(1)
    (share,) = release.answer("share(level = high)").values.to_pylist()
    close(share, (rows["level"] == "high").mean(), 0.01)
    (count,) = release.answer('count("age" = "40 to 49")').values.to_pylist()
    assert count == pytest.approx(release.marginal("age").counts[4])


def test_moments_come_as_moments(release: Release, rows: Any) -> None:
    found = release.answer("median(born)")
    assert pa.types.is_date32(found.values.type)
    (day,) = found.values.to_pylist()
    ordered = sorted(rows["born"].dropna())
    close((day - ordered[len(ordered) // 2]).days, 0, 200)
    with pytest.raises(UserError, match="no numbers to make a total of"):
        release.answer("total(born)")


@pytest.mark.parametrize("kind", ["int64", "float64"])
def test_times_of_day_that_are_held_as_numbers_come_as_times(kind: str) -> None:
    """1403 is three minutes past two: a mean is no number of minutes, is not rounded as numbers are, and nothing adds up."""
    schema = parse_schema(f"""
[columns.left]
kind = "time"
format = "%H%M"
type = "{kind}"
nullable = true
[columns.sex]
kind = "categorical"
values = ["F", "M"]
nullable = true
""")
    late = np.random.default_rng(1).random(2_000) < 0.5
    left = pa.array(np.where(late, 1959, 801), pa.int64()).cast(kind)
    rows = pa.table({"left": left, "sex": np.where(late, "F", "M")})
    release = synthesize(rows, schema, epsilon=5, workload=[["left", "sex"]], seed=1, progress=False)
    for query in ("mean(left) by sex", "median(left) by sex"):
        found = release.answer(query)
        assert pa.types.is_int64(found.values.type)
        late_one, early_one, _ = found.values.to_pylist()
        close(late_one, 1959, 60)
        close(early_one, 801, 60)
        assert [line[1] for line in found.lines()][:2] == [str(late_one), str(early_one)]
        assert found.lower.to_pylist()[0] <= late_one <= found.upper.to_pylist()[0]
    with pytest.raises(UserError, match="no numbers to make a total of"):
        release.answer("total(left)")
    expected = release.expected("left")
    assert "Total" not in expected
    assert all(re.fullmatch(r"\d\d:\d\d to \d\d:\d\d", text) for text in expected.values())
    assert not release.manifest.sums


SCORES = """
[columns.score]
kind = "ordinal"
values = [5, 1, 2, 4]
other = 3
nullable = true
nulls = ["9"]
[columns.ward]
kind = "categorical"
values = [10, 20, 410]
other = 10
[columns.grade]
kind = "ordinal"
values = ["low", "high"]
other = "low"
"""


@pytest.fixture(scope="module")
def scores() -> pa.Table:
    rng = np.random.default_rng(3)
    ward = rng.choice([10, 20, 410], 4_000)
    score = np.where(rng.random(4_000) < 0.1, 9, np.clip(rng.integers(1, 5, 4_000) + (ward == 410), 1, 5))
    return pa.table({"score": score, "ward": ward, "grade": rng.choice(["low", "high"], 4_000)})


@pytest.fixture(scope="module")
def scored(scores: pa.Table) -> Release:
    return synthesize(scores, parse_schema(SCORES), epsilon=50, workload="all-2way", seed=1, progress=False)


def test_scores_have_figures(scored: Release, scores: pa.Table) -> None:
    """An ordinal column of whole numbers has those of its numbers, in their own order; 9 is a missing answer."""
    known = scores.to_pandas().query("score != 9")
    groups = known.groupby("ward")["score"]
    found = scored.answer("mean(score) by ward")
    np.testing.assert_allclose(found.values.to_numpy(), groups.mean(), atol=0.03)
    for value, low, high in zip(*(part.to_pylist() for part in (found.values, found.lower, found.upper)), strict=True):
        assert 1 <= low < value < high <= 5
    np.testing.assert_allclose(scored.answer("total(score) by ward").values.to_numpy(), groups.sum(), rtol=0.02)
    for at in (0.01, 0.1, 0.4, 0.9, 0.99):
        assert scored.answer(f"quantile(score, {at}) by ward").values.to_pylist() == groups.quantile(at).tolist()
    assert scored.answer("median(score)").values.to_pylist() == [known["score"].median()]


@pytest.mark.parametrize(
    ("query", "says"),
    [
        (
            "mean(ward)",
            'The numbers of "ward" are codes .categorical., of which there is no mean; use count or share. .*"ordinal"',
        ),
        ("median(ward)", "are codes .categorical., of which there is no median"),
        ("mean(grade)", 'Column "grade" has no numbers to make a mean of; use count or share.$'),
    ],
)
def test_codes_have_no_figures(scored: Release, query: str, says: str) -> None:
    with pytest.raises(UserError, match=says):
        scored.answer(query)


def test_small_groups_can_be_left_out(release: Release) -> None:
    every, some = release.answer("mean(age) by sex"), release.answer("mean(age) by sex", least=1_000_000)
    assert len(every.groups) == 3
    assert (len(some.groups), len(some.values), len(some.rows)) == (0, 0, 0)


WRONG = {
    "mean age": "is not a query",
    "meen(age)": 'no "meen".*Did you mean "mean"',
    "mean(agee)": 'no column "agee".*Did you mean "age"',
    "mean(age) by sexx": 'no column "sexx"',
    "mean(age) by age": "at once",
    "mean(age) by sex, sex": "twice",
    "mean(sex)": "no numbers",
    "quantile(age)": 'needs a column and a share.*not "age"',
    "quantile(age, 2)": "strictly between 0 and 1",
    "share(sex)": "needs a value",
    "share(sex = X)": 'no value "X"',
    "count(age = 41)": "name the bin",
}


@pytest.mark.parametrize("query", WRONG)
def test_what_cannot_be_answered_says_why(release: Release, query: str) -> None:
    with pytest.raises(UserError, match=WRONG[query]):
        release.answer(query)


def test_without_weights_values_lie_evenly(release: Release) -> None:
    plain = quick(table(500), inside=0)
    (mean,) = plain.answer("mean(age)").values.to_pylist()
    counts = plain.marginal("age").counts
    assert mean == pytest.approx(float((counts * (np.arange(10) * 10 + 4.5)).sum() / counts.sum()))


@pytest.mark.parametrize(
    "query",
    [
        "mean(age) by sex",
        "total(age)",
        "median(born) by sex",
        "quantile(pay, 0.9) by level",
        "count() by sex",
        "share(level = high) by sex",
        "count(level = high)",
    ],
)
def test_every_figure_lies_in_its_interval(release: Release, query: str) -> None:
    found = release.answer(query)
    narrow, wide = (release.answer(query, confidence=level) for level in (0.5, 0.99))
    for value, low, high, lowest, highest in zip(
        *(part.to_pylist() for part in (found.values, found.lower, found.upper, wide.lower, wide.upper)), strict=True
    ):
        assert lowest <= low <= value <= high <= highest
        assert lowest < highest
    assert narrow.lower.to_pylist() >= found.lower.to_pylist()
    assert "95% bootstrap" in repr(found)


def test_without_intervals_nothing_is_drawn(release: Release) -> None:
    fresh = replace(release)
    found = fresh.answer("mean(age) by sex", confidence=None)
    assert found.lower is None
    assert found.to_arrow().column_names == ["sex", "value", "rows"]
    assert "bootstrap" not in repr(found)
    assert "refits" not in fresh.bootstrap.__dict__


def test_shares_and_counts_are_possible_ones(release: Release) -> None:
    shares, counts = release.answer("share(level = high) by visits, sex"), release.answer("count() by visits, sex")
    assert all(0 <= low <= high <= 1 for low, high in zip(shares.lower.to_pylist(), shares.upper.to_pylist(), strict=True))
    assert all(low >= 0 and float(low).is_integer() for low in counts.lower.to_pylist())


def test_a_column_that_was_never_measured_has_no_intervals(tmp_path: Path) -> None:
    """The model takes its values for equally frequent, and so would every draw: the interval would be far too narrow."""
    release = quick(table(500), workload=[["sex", "level"]], mechanism="aim", epsilon=5)
    assert release.answer("mean(age) by sex").lower is None
    assert release.answer("count() by sex").lower is not None
    with pytest.raises(UserError, match='"age" was never measured'):
        release.bootstrap_intervals("age")
    folder = str(release.save(tmp_path / "r"))
    for query in ("age", "mean(age) by sex"):
        said = CliRunner().invoke(main, ["query", folder, query])
        assert said.exit_code == 0
        assert 'Column "age" was never measured' in said.output
        assert "95% bootstrap" not in said.output


def test_a_column_of_one_value_is_known_as_well_as_the_number_of_rows(tmp_path: Path) -> None:
    """Nothing measures it, since there is nothing to tell: that makes its count no guess."""
    rows = {"land": ["DE"] * 400, "sex": ["F", "M"] * 200}
    land = '[columns.land]\nkind = "categorical"\nvalues = ["DE"]\nother = "DE"\n'
    sex = '[columns.sex]\nkind = "categorical"\nvalues = ["F", "M"]\nother = "M"\n'
    release = synthesize(rows, parse_schema(land + sex), epsilon=1, workload="all-2way", seed=0, progress=False)
    found = release.bootstrap_intervals("land")
    assert found.lower.shape == (1,)
    assert found.lower.sum() < release.marginal("land").counts.sum() < found.upper.sum()
    assert found.upper.sum() - found.lower.sum() < 400
    both = release.bootstrap_intervals("land", "sex")
    assert np.array_equal(both.lower.ravel(), release.bootstrap_intervals("sex").lower)
    said = CliRunner().invoke(main, ["query", str(release.save(tmp_path / "r")), "land"])
    assert "never measured" not in said.output
    assert "95% bootstrap" in said.output
    assert "never measured" not in render_report(release)


def test_the_number_of_rows_has_an_interval_that_holds() -> None:
    """It is a noisy number as any other: 95 of 100 intervals hold it, so 17 of 20 all but always."""
    releases = [quick(table(400), workload=[["sex", "level"]], epsilon=1, seed=seed) for seed in range(20)]
    found = [release.answer("count()") for release in releases]
    held = [a.lower[0].as_py() <= 400 <= a.upper[0].as_py() for a in found if a.lower is not None and a.upper is not None]
    assert sum(held) >= 17


def test_a_comparison_is_refused_in_words(release: Release) -> None:
    for query in ("count(age >= 65)", "share(age < 18) by sex", "count(sex != F)"):
        with pytest.raises(UserError, match="knows = alone"):
            release.answer(query)


def test_means_and_totals_are_possible_ones() -> None:
    """With much noise an interval would leave what the schema declares; ages are 0 to 99."""
    release = quick(table(300), epsilon=0.05)
    means, totals = release.answer("mean(age) by level", confidence=0.999), release.answer("total(age)", confidence=0.999)
    low, high = release.schema["age"].bins.lowest.min(), release.schema["age"].bins.highest.max()
    assert min(means.lower.to_pylist()) == low
    assert max(means.upper.to_pylist()) == high
    assert totals.lower.to_pylist() == [0]


def test_figures_of_the_private_table_lie_where_they_are_expected() -> None:
    """Figures by group at epsilon 1: 5 % may fail; of these, which are correlated, up to 15 % do not surprise."""
    private = table(2_000)
    release, frame, held = quick(private, epsilon=1), private.to_pandas(), []
    for column in ("age", "pay"):
        for group in ("sex", "level"):
            for function in ("mean", "median", "count"):
                query = f"count() by {group}" if function == "count" else f"{function}({column}) by {group}"
                found = release.answer(query).to_arrow().to_pylist()
                grouped = frame.groupby(group, dropna=False)[column]
                truth = {"mean": grouped.mean, "median": grouped.median, "count": grouped.size}[function]()
                named = {"null" if not isinstance(k, str) else k: v for k, v in truth.items()}
                held += [one["lower"] <= named[one[group]] <= one["upper"] for one in found if one[group] in named]
    assert len(held) > 30
    assert np.mean(held) > 0.85


@pytest.mark.promise(26)
def test_the_command(release: Release, tmp_path: Path) -> None:
    folder = str(release.save(tmp_path / "r"))
    said = CliRunner().invoke(main, ["query", folder, "mean(age) by sex", "--least", "1"])
    assert said.exit_code == 0
    assert "No bound on their error is proved; how often bootstrap intervals hold was measured" in said.output
    without = CliRunner().invoke(main, ["query", folder, "mean(age) by sex", "--no-bootstrap"])
    assert "No bound on their error is proved." in without.output
    assert "bootstrap" not in without.output
    told = CliRunner().invoke(main, ["query", folder, "mean(age) by sex", "--json"])
    found = json.loads(told.stdout)
    assert found["bound"] is None
    assert found["private"] is False
    assert [one["group"]["sex"] for one in found["figures"]] == ["F", "M", "null"]
    assert found["bootstrap"] == {"confidence": 0.95}
    assert all(one["lower"] <= one["value"] <= one["upper"] for one in found["figures"])
    assert found["figures"][0]["value"] == release.answer("mean(age) by sex").values[0].as_py()
    wrong = CliRunner().invoke(main, ["query", folder, "mode(age)"])
    assert wrong.exit_code == 2
    bare = CliRunner().invoke(main, ["query", folder, "count by sex"])
    assert bare.exit_code == 2
    assert '"count by sex" is not a query' in bare.output
    assert '"count() by sex"' in bare.output


@pytest.mark.parametrize(
    ("numbers", "shown"),
    [
        ((1110.41, 968.349, 1252.47), ("1,110", "960", "1,260")),
        ((38.6005, 38.3954, 38.8056), ("38.60", "38.39", "38.81")),
        ((54234422.0, 47295705.0, 61173138.0), ("54,200,000", "47,200,000", "61,200,000")),
        ((0.0, 0.0, 12.0), ("0", "0", "12")),
        ((37.0, 37.0, 37.0), ("37", "37", "37")),
        ((0.5, 0.5, 0.5), ("0.5", "0.5", "0.5")),
    ],
)
def test_numbers_have_the_digits_that_their_interval_supports(numbers: tuple[float, ...], shown: tuple[str, ...]) -> None:
    assert supported(*numbers) == shown


@given(st.floats(-1e9, 1e9), st.floats(1e-6, 1e8), st.floats(0, 1))
def test_ends_are_rounded_outwards_and_by_little(low: float, width: float, part: float) -> None:
    _, first, last = supported(low + part * width, low, low + width)
    found = [float(end.replace(",", "")) for end in (first, last)]
    slack = 1e-6 * width + 1e-9 * abs(low)
    assert found[0] <= low + slack
    assert low + width <= found[1] + slack
    assert found[1] - found[0] <= 1.21 * width + 2 * slack


def test_draws_of_what_was_measured_by_residuals_are_about_as_wide_as_those_of_what_was_measured_itself() -> None:
    rng = np.random.default_rng(5)
    codes = np.column_stack([rng.integers(0, 4, 600), rng.integers(0, 3, 600), rng.integers(0, 5, 600)])
    declared, queries = Schema.from_domain({"a": 4, "b": 3, "c": 5}), [["a", "b"], ["b", "c"]]
    settings: dict[str, Any] = {"epsilon": 2, "workload": queries, "seed": 1, "progress": False}
    plain, *others = (
        synthesize(codes, declared, mechanism=m, **settings) for m in ("gaussian+pgm", "hdmm+pgm", "residuals")
    )
    for clique in (("a",), ("a", "b")):
        width = plain.bootstrap_intervals(*clique).summed
        for other in others:
            assert 0.4 * width < other.bootstrap_intervals(*clique).summed < 2.5 * width
