"""Every source counts every table exactly as a person with a pencil would."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from understudy.errors import SchemaError, WorkloadError

from .forms import FORMS, opened
from .people import CLIQUES, TABLES, Row, brute_force, schema


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
