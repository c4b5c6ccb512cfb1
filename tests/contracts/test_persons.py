"""One person more moves every marginal by the rows that the schema allows, and by no more, in every form of a table."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from understudy.errors import SourceError
from understudy.schema import Schema, parse_schema

from .forms import FORMS, opened
from .people import ANNA, CLIQUES, KEN, ORDER, SCHEMA_TEXT, Row, ordered, random_people

ROWS = 5
LIMITED = [name for name in FORMS if name not in ("code_array", "partitions")]
"""Codes have no column for a person; a source that counts elsewhere limits for itself."""
INSIDE = [(name,) for name in ordered().fine]
"""Where inside its bins each column lies, and how far apart two columns in order."""
PLACES = ("front", "end", "among the others")


@cache
def limited(rows: int = ROWS) -> Schema:
    return parse_schema(f'person = "patient"\nrows_per_person = {rows}\n{SCHEMA_TEXT}{ORDER}')


def of(patient: Any, rows: Sequence[Row]) -> list[Row]:
    return [{**row, "patient": patient} for row in rows]


@cache
def others() -> list[Row]:
    """Some people with one row, some with a few more than are used, some with none."""
    people = random_people(120, 60, seed=4)
    return [{**row, "patient": [None, "", "7", " 7", "ann", "bo", f"p{i}"][i % 7]} for i, row in enumerate(people)]


def joined(mine: Sequence[Row], place: str) -> list[Row]:
    rest = others()
    if place == "front":
        return [*mine, *rest]
    if place == "end":
        return [*rest, *mine]
    found, step = [], max(1, len(mine) // len(rest) + 1)
    for i, row in enumerate(rest):
        found += [row, *mine[i * step : (i + 1) * step]]
    return [*found, *mine[len(rest) * step :]]


def counts(form: str, rows: Sequence[Row], folder: Path, declared: Schema) -> list[NDArray[np.int64]]:
    """Count in several passes."""
    folder.mkdir()
    source = opened(FORMS[form](rows, folder), declared)
    return [*source.count(CLIQUES[:2]), *source.count(CLIQUES[2:]), *source.count(INSIDE)]


def moves(form: str, mine: Sequence[Row], place: str, folder: Path, rows: int = ROWS) -> list[NDArray[np.int64]]:
    before = counts(form, others(), folder / "without", limited(rows))
    after = counts(form, joined(mine, place), folder / "with", limited(rows))
    return [b - a for a, b in zip(before, after, strict=True)]


@pytest.mark.promise(16)
@pytest.mark.promise(11)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("form", LIMITED)
def test_a_person_with_a_thousand_rows_moves_five(form: str, place: str, tmp_path: Path) -> None:
    for moved in moves(form, of("many", [ANNA] * 600 + [KEN] * 400), place, tmp_path):
        assert moved.min() >= 0  # nobody else's rows went away
        assert moved.sum() == ROWS


@pytest.mark.promise(16)
@pytest.mark.parametrize("form", LIMITED)
def test_a_person_with_fewer_rows_moves_as_many(form: str, tmp_path: Path) -> None:
    for moved in moves(form, of("few", [ANNA, KEN, ANNA]), "among the others", tmp_path):
        assert moved.min() >= 0
        assert moved.sum() == 3


@pytest.mark.promise(16)
@pytest.mark.parametrize("form", LIMITED)
def test_rows_of_nobody_are_persons_of_their_own(form: str, tmp_path: Path) -> None:
    for moved in moves(form, [*of(None, [ANNA] * 30), *of("", [KEN] * 10), *of("  ", [KEN] * 2)], "front", tmp_path, rows=1):
        assert moved.sum() == 42


@cache
def many() -> list[Row]:
    """A table in several batches; the rows of a person are far apart."""
    people = random_people(70_000, 500, seed=5)
    return [{**row, "patient": str(i % 4_999) if i % 11 else None} for i, row in enumerate(people)]


@cache
def of_many() -> list[NDArray[np.int64]]:
    rows = many()[::-1]
    return opened({name: [row[name] for row in rows] for name in rows[0]}, limited()).count([*CLIQUES, *INSIDE])


@pytest.mark.promise(16)
@pytest.mark.parametrize("form", LIMITED)
def test_every_form_and_order_uses_the_same_rows(form: str, tmp_path: Path) -> None:
    counted = opened(FORMS[form](many(), tmp_path), limited()).count([*CLIQUES, *INSIDE])
    for count, other in zip(counted, of_many(), strict=True):
        np.testing.assert_array_equal(count, other)
    assert counted[0] == sum(row["patient"] is None for row in many()) + ROWS * 4_999


def test_an_array_of_codes_has_nobody_to_limit() -> None:
    with pytest.raises(SourceError, match=r'no column "patient".*structured array'):
        opened(np.zeros((3, 5), np.int64), limited())


@pytest.mark.parametrize("form", ["arrow_table", "csv_file", "parquet_file", "sql_database", "pandas_frame"])
def test_a_table_without_the_identifier_is_refused(form: str, tmp_path: Path) -> None:
    absent = parse_schema(f'person = "patients"\nrows_per_person = 2\n{SCHEMA_TEXT}')
    with pytest.raises(SourceError, match='no column "patients"'):
        opened(FORMS[form]([ANNA], tmp_path), absent)
