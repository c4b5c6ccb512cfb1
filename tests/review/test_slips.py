"""A few slips among thousands of values do not lose a column: it is drafted as all the others are, and the mark says so."""

from __future__ import annotations

import re
import tomllib
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from understudy.review import check_schema, draft_schema
from understudy.review.groups import columns_of, groups_of
from understudy.review.marks import marks_of
from understudy.schema import parse_schema

ROWS = 3000
DAYS = [date(2023, 1, 1) + timedelta(days=i * 37 % 400) for i in range(ROWS)]


def drafted(folder: Path, **columns: list[str]) -> str:
    lines = [";".join(row) for row in zip(*columns.values(), strict=True)]
    (folder / "t.csv").write_text("\n".join([";".join(columns), *lines]) + "\n")
    return draft_schema(folder / "t.csv")


def mark_of(text: str, name: str = "day") -> str:
    return next(mark.message for mark in marks_of(text) if mark.column == name)


@pytest.mark.parametrize("slip", ["31.02.2023", "0000-00-00", "23.5.23", "2023-05-23"])
@pytest.mark.parametrize("many", [1, 90])
def test_days_in_another_format_or_that_do_not_exist_are_missing(slip: str, many: int, tmp_path: Path) -> None:
    days = [slip if i < many else f"{day:%d.%m.%Y}" for i, day in enumerate(DAYS)]
    text = drafted(tmp_path, day=days, sex=["f", "m"] * (ROWS // 2))
    schema = parse_schema(text)
    assert (schema["day"].kind, schema["day"].nullable) == ("date", True)
    declared = tomllib.loads(text)["columns"]["day"]
    assert (declared["format"], declared["min"]) == ("%d.%m.%Y", date(2023, 1, 1))
    are = "is not in this format, and becomes" if many == 1 else "are not in this format, and become"
    assert f"{many} of 3,000 values {are} missing" in mark_of(text)
    [misfit] = check_schema(tmp_path / "t.csv", schema)
    assert (misfit.rows, misfit.goes_to) == (many, "null")


@pytest.mark.parametrize("form", ["%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%b %d, %Y", "%d.%m.%y"])
def test_every_format_has_slips(form: str, tmp_path: Path) -> None:
    days = ["unknown" if i % 50 == 0 else "32 May" if i == 7 else f"{day:{form}}" for i, day in enumerate(DAYS)]
    text = drafted(tmp_path, day=days, sex=["f", "m"] * (ROWS // 2))
    schema = parse_schema(text)
    assert schema["day"].kind == ("datetime" if "%H" in form else "date")
    assert schema["day"].own_nulls == ("unknown",)
    assert "1 of 2,940 values is not in this format" in mark_of(text)


def test_a_slip_among_days_in_eight_digits_makes_no_numbers_of_them(tmp_path: Path) -> None:
    days = ["20230231" if i == 7 else "0" if i % 50 == 0 else f"{day:%Y%m%d}" for i, day in enumerate(DAYS)]
    text = drafted(tmp_path, day=days, number=[str(20220000 + i * 7 % 1500) for i in range(ROWS)])
    assert [column.kind for column in parse_schema(text).columns] == ["date", "integer"]
    assert "61 of 3,000 values are not in this format, and become missing" in mark_of(text)


def test_a_column_that_is_half_days_stays_text(tmp_path: Path) -> None:
    days = [f"{day:%d.%m.%Y}" if i % 5 else f"week {i % 300}" for i, day in enumerate(DAYS)]
    text = drafted(tmp_path, day=days, length=[f"{i * 7 % 27}:{i % 60:02}" for i in range(ROWS)], sex=["f"] * ROWS)
    assert mark_of(text).startswith("left out, since it has about")
    assert "lengths of time" in mark_of(text, "length")


def test_numbers_with_a_slip_stay_numbers_and_codes_stay_codes(tmp_path: Path) -> None:
    text = drafted(
        tmp_path,
        wage=["12O" if i == 9 else "-" if i % 9 == 0 else str(i * 7 % 900) for i in range(ROWS)],
        dose=["1..5" if i < 3 else f"{i * 7 % 900 / 10}" for i in range(ROWS)],
        place=["01055" if i == 5 else str(10000 + i * 7 % 900) for i in range(ROWS)],
        ticket=[f"A{i * 7 % 900}" if i % 50 == 0 else str(i * 7 % 900) for i in range(ROWS)],
    )
    schema = parse_schema(text)
    assert {column.name: column.kind for column in schema.columns} == {"wage": "integer", "dose": "real"}
    assert schema["wage"].own_nulls == ("-",)
    assert "1 of 2,667 values is no number, and becomes missing" in mark_of(text, "wage")
    assert "3 of 3,000 values are no numbers, and become missing" in mark_of(text, "dose")
    assert "decimals = 1" in text


def test_slips_are_on_the_screen_where_several_columns_are_accepted(tmp_path: Path) -> None:
    days = ["31.02.2023" if i < 2 else f"{day:%d.%m.%Y}" for i, day in enumerate(DAYS)]
    text = drafted(tmp_path, day=days, end=days)
    [group] = [group for group in groups_of(text) if group.question]
    assert all("2 of 3,000 values are not in this format, and become missing" in line for line in columns_of(text, group))


@pytest.mark.parametrize("form", ["frame", "file"])
def test_one_badly_rounded_number_does_not_turn_decimals_off(form: str, tmp_path: Path) -> None:
    shares = np.round(np.random.default_rng(0).uniform(3, 80, ROWS), 4)
    shares[5] = 0.1 + 0.2
    frame = pd.DataFrame({"share": shares, "sex": ["f", "m"] * (ROWS // 2)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    text = draft_schema(frame if form == "frame" else tmp_path / "t.csv")
    assert tomllib.loads(text)["columns"]["share"]["decimals"] == 4
    assert "1 of 3,000 values has more than 4 decimals, and is rounded" in mark_of(text, "share")
    shares[5:105] += 1e-9
    assert "rounded" not in re.sub("# [^R].*", "", draft_schema({"share": shares}))
