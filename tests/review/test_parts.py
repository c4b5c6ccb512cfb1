"""A column that is the year of a day beside it, or another part of a moment, is proposed as derived."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from click.testing import CliRunner

from understudy.cli import main
from understudy.review import check_schema, draft_schema
from understudy.review.declaring import proposals_of
from understudy.review.groups import groups_of
from understudy.review.marks import marks_of
from understudy.schema import load_schema

ROWS = 2000
AT = [datetime(2019, 5, 7) + timedelta(hours=i * 37 % 40_000, minutes=i * 7 % 60) for i in range(ROWS)]


def films() -> pd.DataFrame:
    at = pd.Series(AT)
    return pd.DataFrame(
        {
            "released": at.dt.date,
            "year": at.dt.year,
            "shown at": at,
            "hour": at.dt.hour,
            "weekday": at.dt.day_of_week + 1,
            "the quarter": at.dt.quarter.astype("int8"),
            "other": (at.dt.year + (np.arange(ROWS) == 7)).to_numpy(),
        }
    )


def rules(table: Any) -> list[str]:
    return [one.rule for mark in marks_of(draft_schema(table)) if mark.column is None for one in proposals_of(mark)]


EXPECTED = {
    "year = year(released)",
    "hour = hour(`shown at`)",
    "weekday = weekday(released)",
    "`the quarter` = quarter(released)",
}


def test_parts_that_all_rows_keep_are_proposed() -> None:
    assert set(rules(films())) == EXPECTED
    gone = films()
    gone.loc[5, "released"] = None
    assert "year = year(`shown at`)" in rules(gone)  # where it is missing, released does not tell the year


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_parts_are_those_on_the_clocks_of_the_zone(zone: str) -> None:
    at = pd.Series(AT).dt.tz_localize("UTC").dt.tz_convert(zone)
    assert rules(pd.DataFrame({"at": at, "hour": at.dt.hour})) == ["hour = hour(at)"]
    assert rules(pd.DataFrame({"at": at, "hour": at.dt.tz_convert("Asia/Tokyo").dt.hour})) == []


@pytest.mark.parametrize("form", ["%H:%M", "%I:%M %p", "digits"])
def test_times_of_day_have_parts(form: str, tmp_path: Path) -> None:
    if form == "digits":
        table: Any = {"dep_time": [at.hour * 100 + at.minute for at in AT], "minute": [at.minute for at in AT]}
    else:
        table = tmp_path / "t.csv"
        table.write_text("dep_time,minute\n" + "".join(f"{at:{form}},{at.minute}\n" for at in AT))
    assert rules(table) == ["minute = minute(dep_time)"]


def test_they_share_the_decision_about_orders_and_are_declared_by_keys(tmp_path: Path) -> None:
    table = films().assign(low=np.arange(ROWS) % 50)
    table["high"] = table["low"] + np.arange(ROWS) % 31
    table.to_csv(tmp_path / "t.csv", index=False)
    path = tmp_path / "t.toml"
    path.write_text(draft_schema(tmp_path / "t.csv"))
    [group] = [group for group in groups_of(path.read_text()) if group.marks[0].column is None]
    assert len(proposals_of(group.marks[0])) == 5
    result = CliRunner().invoke(main, ["schema", "review", str(path)], input="dynyyy" + "q")
    assert "year = year(released), always" in result.output, result.output
    schema = load_schema(path)
    assert {column.name for column in schema.derived} == {"year", "weekday", "the quarter"}
    assert check_schema(tmp_path / "t.csv", schema) == []
    assert not any(re.search("year", str(mark.column)) for mark in marks_of(path.read_text()))


def test_no_column_follows_from_one_that_follows() -> None:
    stay = [1 + i * 13 % 9 for i in range(ROWS)]
    table = pa.table(
        {
            "begin": [at.date() for at in AT],
            "nights": stay,
            "end": (ends := [at.date() + timedelta(n) for at, n in zip(AT, stay, strict=True)]),
            "month": [end.month for end in ends],
        }
    )
    assert set(rules(table)) == {"end = begin + days(nights)", "begin <= end"}
