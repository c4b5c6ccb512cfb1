"""Days and times with names of months, AM and PM, years of two digits: drafted with the format that spells them again."""

from __future__ import annotations

import datetime as dt
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from understudy.review import check_schema, draft_schema
from understudy.review.groups import asked
from understudy.review.layouts import unusual
from understudy.review.marks import finish, marks_of
from understudy.schema import parse_schema

ROWS = 600
MINUTES = np.random.default_rng(11).permutation(900 * 1440)[:ROWS]
MOMENTS = [dt.datetime(2019, 3, 1) + dt.timedelta(minutes=int(minute)) for minute in MINUTES]


def bare(text: str) -> str:
    return text.removeprefix("0")


def drafted(folder: Path, texts: list[str]) -> tuple[str, dict[str, Any]]:
    """Return the draft of a CSV file with one column, and what it declares of that."""
    (folder / "t.csv").write_text("x;y\n" + "".join(f"{text};{i % 3}\n" for i, text in enumerate(texts)))
    text = draft_schema(folder / "t.csv")
    return text, tomllib.loads(text)["columns"].get("x", {})


SPELLINGS: dict[str, tuple[str, Callable[[dt.datetime], str]]] = {
    "%I:%M %p": ("time", lambda m: f"{m:%I:%M %p}"),
    "%-I:%M%P": ("time", lambda m: bare(f"{m:%I:%M%p}").lower()),
    "%I:%M:%S %p": ("time", lambda m: f"{m:%I:%M:%S %p}"),
    "%b %d, %Y": ("date", lambda m: f"{m:%b %d, %Y}"),
    "%B %-d, %Y": ("date", lambda m: f"{m:%B} {m.day}, {m:%Y}"),
    "%d-%b-%y": ("date", lambda m: f"{m:%d-%b-%y}"),
    "%d-%^b-%y": ("date", lambda m: f"{m:%d-%b-%y}".upper()),
    "%d%^b%Y": ("date", lambda m: f"{m:%d%b%Y}".upper()),
    "%-d. %B %Y": ("date", lambda m: f"{m.day}. {m:%B %Y}"),
    "%d.%m.%y": ("date", lambda m: f"{m:%d.%m.%y}"),
    "%-m/%-d/%y": ("date", lambda m: f"{m.month}/{m.day}/{m:%y}"),
    "%y-%m-%d": ("date", lambda m: f"{m:%y-%m-%d}"),
    "%-m/%-d/%Y": ("date", lambda m: f"{m.month}/{m.day}/{m:%Y}"),
    "%d/%m/%Y": ("date", lambda m: f"{m:%d/%m/%Y}"),
    "%m/%d/%Y %I:%M:%S %p": ("datetime", lambda m: f"{m:%m/%d/%Y %I:%M:%S %p}"),
    "%-m/%-d/%y %-H:%M": ("datetime", lambda m: f"{m.month}/{m.day}/{m:%y} {m.hour}:{m:%M}"),
    "%d-%b-%Y %H:%M": ("datetime", lambda m: f"{m:%d-%b-%Y %H:%M}"),
}


@pytest.mark.parametrize("form", SPELLINGS)
def test_the_drafted_format_spells_the_texts_again(tmp_path: Path, form: str) -> None:
    kind, spell = SPELLINGS[form]
    texts = [spell(moment) for moment in MOMENTS]
    text, declared = drafted(tmp_path, texts)
    assert (declared["kind"], declared["format"]) == (kind, form)
    schema = parse_schema(text)
    assert check_schema(tmp_path / "t.csv", schema) == []
    if kind == "date":  # in bins of a day, each comes back as it was
        exact = parse_schema(
            f'[columns.x]\nkind = "date"\nmin = 2019-01-01\nmax = 2021-12-31\nwidth = "1 day"\n'
            f'format = "{form}"\nnullable = true'
        )
        assert exact.decode(exact.encode(pa.table({"x": texts})), np.random.default_rng(0))["x"].to_pylist() == texts


def test_a_column_that_is_spelled_in_both_ways_is_read_in_both(tmp_path: Path) -> None:
    texts = [f"{m:%m/%d/%Y}" if i % 2 else f"{m.month}/{m.day}/{m:%Y}" for i, m in enumerate(MOMENTS)]
    text, declared = drafted(tmp_path, texts)
    assert declared["format"] == "%m/%d/%Y"
    assert check_schema(tmp_path / "t.csv", parse_schema(text)) == []


@pytest.mark.parametrize("form", ["%d %b %Y", "%d.%m.%y", "%I:%M %p"])
def test_words_for_missing_stand_beside_days_and_times(tmp_path: Path, form: str) -> None:
    texts = ["NA" if i % 9 == 0 else format(moment, form) for i, moment in enumerate(MOMENTS)]
    _, declared = drafted(tmp_path, texts)
    assert (declared["format"], declared["nulls"]) == (form, ["NA"])


@pytest.mark.parametrize(
    ("first", "last"), [(2018, 2021), (1938, 2007), (1985, 1999), (1950, 2049), (1920, 1975), (2010, 2010), (1963, 2005)]
)
def test_the_century_of_two_digits_is_told_by_the_gap_between_years(tmp_path: Path, first: int, last: int) -> None:
    texts = [f"{1 + i % 28:02}-{m:%b}-{(first + i % (last - first + 1)) % 100:02}" for i, m in enumerate(MOMENTS)]
    text, declared = drafted(tmp_path, texts)
    assert (declared["min"].year, declared["max"].year) == (first, last)
    [mark] = [mark.message for mark in marks_of(text) if mark.column == "x"]
    assert "years of two digits are of the hundred from the year of min on" in mark
    assert "comes first" not in mark


@pytest.mark.parametrize(
    ("form", "doubt"),
    [
        ("%m/%d/%y", "whether the day, the month or the year comes first"),
        ("%m/%d/%Y", "whether the day or the month comes first"),
        ("%d.%m.%y", ""),
        ("%b %d, %Y", ""),
    ],
)
def test_a_person_is_asked_what_comes_first_where_figures_do_not_tell(tmp_path: Path, form: str, doubt: str) -> None:
    text, _ = drafted(tmp_path, [format(moment, form) for moment in MOMENTS])
    [mark] = [mark for mark in marks_of(text) if mark.column == "x"]
    assert asked(mark) is not None
    assert ("comes first" in mark.message) == bool(doubt)
    assert doubt in mark.message


@pytest.mark.parametrize(
    "texts",
    [
        [f"{2 + i % 30}:{i % 60:02}:{i % 59:02}" for i in range(ROWS)],
        [f"{18 + i % 30}:{i % 60:02}" for i in range(ROWS)],
        [f"{i % 3} days {i % 24:02}:{i % 60:02}:00" for i in range(ROWS)],
        [f"{2 + i % 9}:{i % 60:02}:{i % 59:02}" for i in range(ROWS - 1)] + ["27:14:00"],
    ],
)
def test_lengths_of_time_are_no_times_of_day(tmp_path: Path, texts: list[str]) -> None:
    text, declared = drafted(tmp_path, texts)
    assert not declared
    [mark] = [mark for mark in marks_of(text) if mark.column == "x"]
    assert "lengths of time" in mark.message
    assert "write them as numbers" in mark.message
    assert mark.left_out
    assert asked(mark) is not None


def test_what_may_be_a_length_of_time_is_asked(tmp_path: Path) -> None:
    text, declared = drafted(tmp_path, [f"{2 + i % 9}:{i % 60:02}:{i % 59:02}" for i in range(ROWS)])
    assert (declared["kind"], declared["format"]) == ("time", "%-H:%M:%S")
    [mark] = [mark for mark in marks_of(text) if mark.column == "x"]
    assert "may be lengths of time" in mark.message
    assert asked(mark) is not None
    for usual in ([f"{m:%H:%M:%S}" for m in MOMENTS], [f"{m.hour}:{m:%M}" for m in MOMENTS]):
        assert "lengths of time" not in drafted(tmp_path, usual)[0]


@pytest.mark.parametrize(
    "texts",
    [
        [f"note {i}, May {i % 28}" for i in range(ROWS)],
        ["Nov 8", "May", "March 3"] * 200,
        [f"{10 + i % 5}-{i % 12 + 1:02}-{20 + i % 3}" for i in range(12)] * 50,
        [f"{i % 99:02}-{i % 47:02}-{i % 31:02}" for i in range(ROWS)],
        [f"{i} PM" for i in range(ROWS)],
    ],
)
def test_texts_are_not_taken_for_days(tmp_path: Path, texts: list[str]) -> None:
    _, declared = drafted(tmp_path, texts)
    assert declared.get("kind", "categorical") == "categorical"


def test_a_column_of_text_is_looked_at_by_its_commonest_texts_alone() -> None:
    """Two hundred formats are too many for each text of a large column."""
    asked_for = []

    def ask(query: str) -> tuple[Any, ...]:
        asked_for.append(query)
        return ([f"note {i}" for i in range(100)],)

    assert unusual(ask) is None
    assert len(asked_for) == 1


def test_a_reviewed_draft_is_read_as_it_stands(tmp_path: Path) -> None:
    text, _ = drafted(tmp_path, [f"{m:%d-%b-%y}" for m in MOMENTS])
    done = "\n".join(line for line in text.split("\n") if not line.startswith("# REVIEW"))
    assert parse_schema(finish(done))["x"].kind == "date"
