"""Every source counts every table exactly as a person with a pencil would."""

from __future__ import annotations

from datetime import date
from functools import cache
from math import isnan
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from understudy.errors import SchemaError, WorkloadError
from understudy.schema.column import fine_name

from .forms import FORMS, opened
from .people import CLIQUES, HEIGHT, TABLES, Row, apart, brute_force, ordered, schema


@cache
def rows_of(table: str) -> list[Row]:
    return TABLES[table]()


@cache
def expected(table: str) -> list[NDArray[np.int64]]:
    return [brute_force(rows_of(table), clique) for clique in CLIQUES]


@pytest.mark.promise(13)
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("form", FORMS)
def test_counts_are_those_of_a_walk_over_the_rows(form: str, table: str, tmp_path: Path) -> None:
    source = opened(FORMS[form](rows_of(table), tmp_path))
    counts = source.count(CLIQUES)
    assert source.domain == schema().domain
    for clique, count, truth in zip(CLIQUES, counts, expected(table), strict=True):
        assert count.dtype == np.int64
        assert count.shape == source.domain.shape(clique)
        np.testing.assert_array_equal(count, truth)


WITH_VALUES = [name for name in FORMS if name not in ("code_array", "partitions")]
"""Codes have no values inside their bins; a source that counts elsewhere need not count them."""


def in_order(row: Row, name: str) -> float:
    """Return where a row stands in a column: clamped to the bounds, a missing value last."""
    value = row[name]
    if name == "joined":
        return 1e9 if value is None else float(min(max(value, date(2020, 1, 1)), date(2023, 12, 31)).toordinal())
    return 1e9 if value is None or isnan(value) else min(max(value, 0.0), 8.0)


@pytest.mark.promise(13)
@pytest.mark.parametrize("table", ["outside the schema", "random"])
@pytest.mark.parametrize("form", WITH_VALUES)
def test_values_inside_bins_are_counted_as_in_a_walk_over_the_rows(form: str, table: str, tmp_path: Path) -> None:
    """Each row is in one fine bin, the rows of a bin are those of its fine bins, and these are in the order of values."""
    declared, rows = schema(), rows_of(table)
    source = opened(FORMS[form](rows, tmp_path), declared)
    assert [*declared.fine] == [fine_name(HEIGHT), fine_name("joined")]
    for name in (HEIGHT, "joined"):
        column, clique = declared[name], (fine_name(name),)
        fine, coarse = source.count([clique, (name,)])
        assert fine.shape == declared.fine.shape(clique)
        assert fine.dtype == np.int64
        np.testing.assert_array_equal(np.bincount(column.coarse, fine, column.size), coarse)
        ordered = sorted(in_order(row, name) for row in rows)
        ends = np.cumsum(fine[fine > 0])[:-1]
        assert all(ordered[end - 1] < ordered[end] for end in ends)  # equal values share a fine bin
        assert fine.sum() == len(rows)
        assert len(ends) > (3 if table == "random" else 0)


@pytest.mark.promise(13)
@pytest.mark.promise(27)
@pytest.mark.parametrize("table", ["empty", "outside the schema", "random"])
@pytest.mark.parametrize("form", WITH_VALUES)
def test_how_far_apart_columns_in_order_are_is_counted_as_in_a_walk(form: str, table: str, tmp_path: Path) -> None:
    declared, rows = ordered(), rows_of(table)
    name = f"{HEIGHT} above age"
    assert [*declared.fine] == [fine_name(HEIGHT), fine_name("joined"), name]
    counts = opened(FORMS[form](rows, tmp_path), declared).count([(name,), ("age",)])[0]
    truth = np.zeros(declared.fine[name], np.int64)
    for row in rows:
        truth[apart(row)] += 1
    np.testing.assert_array_equal(counts, truth)
    assert counts.dtype == np.int64
    assert (counts > 0).sum() > (3 if table == "random" else -1)


@pytest.mark.parametrize("form", FORMS)
def test_counting_again_gives_the_same_and_results_are_the_callers_own(form: str, tmp_path: Path) -> None:
    source = opened(FORMS[form](rows_of("random"), tmp_path))
    first = source.count([("city",), ("city",)])
    first[0][...] = -1
    np.testing.assert_array_equal(first[1], expected("random")[1])
    np.testing.assert_array_equal(source.count([("city",)])[0], expected("random")[1])


@pytest.mark.parametrize("form", FORMS)
def test_axes_follow_the_order_in_which_attributes_are_named(form: str, tmp_path: Path) -> None:
    source = opened(FORMS[form](rows_of("random"), tmp_path))
    np.testing.assert_array_equal(source.count([("seen", "age")])[0], expected("random")[2].T)


@pytest.mark.parametrize("form", FORMS)
def test_no_cliques_no_counts(form: str, tmp_path: Path) -> None:
    assert opened(FORMS[form](rows_of("random"), tmp_path)).count([]) == []


@pytest.mark.parametrize("form", FORMS)
def test_a_wrong_clique_is_the_callers_mistake(form: str, tmp_path: Path) -> None:
    source = opened(FORMS[form](rows_of("one row"), tmp_path))
    with pytest.raises(SchemaError, match='Did you mean "city"'):
        source.count([("citty",)])
    with pytest.raises(WorkloadError, match="twice"):
        source.count([("age", "age")])
