"""The scores that carry SDMetrics' names are the numbers that SDMetrics gives. ``make test-oracle`` installs it."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from datetime import date
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import understudy
from release_tables import quick, table

pytestmark = pytest.mark.oracle
sdmetrics = pytest.importorskip("sdmetrics", reason="SDMetrics is not installed (make test-oracle installs it)")
pandas = pytest.importorskip("pandas", reason="pandas is not installed")

NUMERIC, LISTED = ("age", "visits", "pay", "born", "seen"), ("sex", "level", "member", "owner")


@pytest.fixture(scope="module")
def found() -> tuple[understudy.Evaluation, Any, Any]:
    real = table(700)
    release = quick(real, workload="all-2way", epsilon=1)
    frames = [t.to_pandas() for t in (real, release.arrow)]
    for frame in frames:
        for name in ("born", "seen"):
            frame[name] = [None if pandas.isna(v) else _days(v) for v in frame[name]]
        for name in LISTED:
            frame[name] = frame[name].astype(object)
    return understudy.evaluate(real, release), *frames


def _days(moment: Any) -> float:
    day = moment.date() if hasattr(moment, "date") else moment
    seconds = moment.hour * 3600 + moment.minute * 60 + moment.second if hasattr(moment, "hour") else 0
    return float((day - date(1970, 1, 1)).days + seconds / 86_400)


@pytest.mark.parametrize("name", NUMERIC)
def test_columns_of_numbers(found: Any, name: str) -> None:
    column = importlib.import_module("sdmetrics.single_column")
    evaluation, real, made = found
    (measured,) = [m for m in evaluation.columns if m.name == name]
    ours, theirs = real[name].astype(float), made[name].astype(float)
    assert measured.numbers.ks_complement == pytest.approx(column.KSComplement.compute(ours, theirs))
    assert measured.numbers.boundary == pytest.approx(column.BoundaryAdherence.compute(ours.dropna(), theirs.dropna()))


@pytest.mark.parametrize("name", LISTED)
def test_columns_of_listed_values(found: Any, name: str) -> None:
    column = importlib.import_module("sdmetrics.single_column")
    evaluation, real, made = found
    (measured,) = [m for m in evaluation.columns if m.name == name]
    assert measured.tv_complement == pytest.approx(column.TVComplement.compute(real[name], made[name]))
    assert measured.coverage == pytest.approx(column.CategoryCoverage.compute(real[name], made[name]))


def test_pairs(found: Any) -> None:
    pairs = importlib.import_module("sdmetrics.column_pairs")
    evaluation, real, made = found
    measured = {m.clique: m for m in evaluation.pairs}
    scores: dict[tuple[str, ...], Callable[..., float]] = {NUMERIC: pairs.CorrelationSimilarity.compute}
    scores[LISTED] = pairs.ContingencySimilarity.compute
    for columns, compute in scores.items():
        for pair in combinations(columns, 2):
            one = measured[evaluation.release.domain.clique(pair)]
            ours, theirs = (f[list(pair)].astype(float if columns is NUMERIC else object) for f in (real, made))
            mine = one.correlation_similarity if columns is NUMERIC else one.contingency_similarity
            assert mine == pytest.approx(compute(ours, theirs), abs=1e-9), pair


def test_averages_are_over_columns_and_pairs(found: Any) -> None:
    scores, evaluation = found[0].scores, found[0]
    numbers = [m.numbers.ks_complement for m in evaluation.columns if m.name in NUMERIC]
    assert scores["KSComplement"] == pytest.approx(np.mean(numbers))
    similar = np.mean([p.contingency_similarity for p in evaluation.pairs])
    assert scores["ContingencySimilarity"] == pytest.approx(similar)
    assert scores["k-marginal, k=2"] == pytest.approx(1000 * similar)
