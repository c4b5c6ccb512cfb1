"""Whole numbers that a table holds as floats, mostly since one of them is missing: 186.0."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from understudy.review import draft_schema
from understudy.review.marks import marks_of
from understudy.schema import parse_schema

ROWS = 2400


def in_form(frame: pd.DataFrame, form: str, folder: Path) -> Any:
    """The frame, or a CSV file of it."""
    if form == "frame":
        return frame
    frame.to_csv(folder / "t.csv", index=False)
    return folder / "t.csv"


@pytest.mark.parametrize("form", ["frame", "file"])
def test_an_identifier_of_which_one_is_missing_may_be_the_person(form: str, tmp_path: Path) -> None:
    people = pd.DataFrame({"person_id": [None, *(float(i // 4) for i in range(1, ROWS))], "sex": ["f", "m"] * (ROWS // 2)})
    text = draft_schema(in_form(people, form, tmp_path))
    assert list(parse_schema(text).domain) == ["sex"]
    (mark,) = [mark for mark in marks_of(text) if mark.column == "person_id"]
    assert mark.about_person


@pytest.mark.parametrize("form", ["frame", "file"])
def test_a_number_of_its_own_in_nearly_every_row_is_left_out(form: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "chip": [None, *(7919.0 * i for i in range(1, ROWS))],
            "weight": np.where(np.arange(ROWS) == 1, np.nan, rng.normal(70, 9, ROWS)),
            "sales": 37.0 * rng.permutation(ROWS),  # without one missing, floats are amounts
        }
    )
    text = draft_schema(in_form(frame, form, tmp_path))
    assert set(parse_schema(text).domain) == {"weight", "sales"}
    assert "(an identifier)" in text


def test_floats_that_are_whole_stay_whole(tmp_path: Path) -> None:
    """Bins of a decimal would draw 2.5 where there are 1.0 to 5.0 alone; a name tells as much as of whole numbers."""
    data = {"stars": [None, *(1.0 + i % 5 for i in range(1, ROWS))], "month": [None, *(1.0 + i % 9 for i in range(1, ROWS))]}
    text = draft_schema(in_form(pd.DataFrame(data), "file", tmp_path))
    schema = parse_schema(text)
    back = schema.decode(np.repeat(np.arange(5), 40)[:, None] * [1, 1], np.random.default_rng(0))
    assert {value % 1 for name in data for value in back[name].to_pylist()} == {0.0}
    assert schema["stars"].labels[:5] == ("1.0", "2.0", "3.0", "4.0", "5.0")
    month = tomllib.loads(text)["columns"]["month"]
    assert (month["min"], month["max"], month["step"]) == (1, 12, 1)
