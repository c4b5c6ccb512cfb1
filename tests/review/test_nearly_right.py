"""A draft is nearly right: it declares what a person would, and leaves few decisions."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from understudy.release.as_pandas import to_pandas
from understudy.release.tables import write_table
from understudy.review import check_schema, draft_schema
from understudy.review.marks import marks_of
from understudy.schema import Column, Schema, parse_schema

ROWS = 3000


def column_of(values: Any, name: str = "c") -> Column:
    return parse_schema(draft_schema({name: values}))[name]


def file_of(folder: Path, **columns: list[str]) -> Path:
    lines = [",".join(columns), *(",".join(row) for row in zip(*columns.values(), strict=True))]
    (folder / "t.csv").write_text("\n".join(lines) + "\n")
    return folder / "t.csv"


def flights(rng: np.random.Generator) -> dict[str, list[str]]:
    """A table of the shape of a year of flights."""
    hour, minute = rng.integers(5, 24, ROWS), rng.integers(0, 60, ROWS)
    cancelled = rng.random(ROWS) < 0.03
    delay = np.round(rng.standard_exponential(ROWS) ** 2 * 30 - 20).astype(int)

    def missing(values: Any) -> list[str]:
        return ["NA" if gone else str(value) for gone, value in zip(cancelled, values, strict=True)]

    def some(words: list[str]) -> list[str]:
        return [words[i] for i in rng.integers(0, len(words), ROWS)]

    return {
        "year": ["2013"] * ROWS,
        "month": [str(i) for i in rng.integers(1, 13, ROWS)],
        "day": [str(i) for i in rng.integers(1, 32, ROWS)],
        "dep_time": missing(hour * 100 + minute),
        "sched_dep_time": [str(value) for value in hour * 100 + minute // 5 * 5],
        "dep_delay": missing(delay),
        "arr_time": missing(hour * 100 + (minute * 7) % 60),
        "arr_delay": missing(delay - 5),
        "carrier": some(["9E", "AA", "B6", "DL"]),
        "flight": [str(i) for i in rng.integers(1, 900, ROWS)],
        "tailnum": some([f"N{i}{'ABCDE'[i % 5]}A" for i in range(100, 700)]),
        "origin": some(["EWR", "JFK", "LGA"]),
        "dest": some([f"{a}{b}X" for a in "ABCDEFGHIJ" for b in "PQRSTUVWXY"]),
        "air_time": missing(rng.integers(20, 690, ROWS)),
        "distance": [str(i) for i in rng.integers(17, 4983, ROWS)],
        "hour": [str(i) for i in hour],
        "minute": [str(i) for i in minute],
        "time_hour": [f"2013-{1 + i % 12:02}-{1 + i % 28:02}T{h:02}:00:00Z" for i, h in enumerate(hour)],
    }


def test_flights_leave_few_decisions_and_come_back_as_they_were(tmp_path: Path) -> None:
    path = file_of(tmp_path, **(columns := flights(np.random.default_rng(1))))
    text = draft_schema(path)
    assert len(marks_of(text)) <= 15
    schema = parse_schema(text)
    kinds = {column.name: column.kind for column in schema.columns}
    assert {name for name in columns if name not in kinds} == {"tailnum"}
    assert {name for name, kind in kinds.items() if kind == "time"} == {"dep_time", "sched_dep_time", "arr_time"}
    assert kinds["time_hour"] == "datetime"
    assert [m for m in check_schema(path, schema) if m.rows > 2] == []
    back = rewritten(path, schema)
    for name in kinds:
        assert shapes(back[name]) <= shapes(columns[name]), name
    assert {text.endswith(":00:00Z") for text in back["time_hour"]} == {True}


def test_a_frame_of_flights_comes_back_in_its_own_types(tmp_path: Path) -> None:
    frame = pd.read_csv(file_of(tmp_path, **flights(np.random.default_rng(2))))
    text = draft_schema(frame)
    assert len(marks_of(text)) <= 15
    schema = parse_schema(text)
    assert schema["dep_time"].kind == "time"
    back = to_pandas(schema.decode(schema.encode(pa.table(frame.to_dict("list"))), np.random.default_rng(0)), schema)
    for name in schema.domain:
        assert back[name].dtype == frame[name].dtype, name


def rewritten(path: Path, schema: Schema) -> dict[str, list[str]]:
    """Encode a CSV file, decode it, and write it as a release does."""
    rows = [line.split(",") for line in path.read_text().splitlines()]
    table = pa.table({name: [row[i] for row in rows[1:]] for i, name in enumerate(rows[0])})
    made = schema.decode(schema.encode(table), np.random.default_rng(0))
    write_table(made, path.with_name("made.csv"), schema)
    lines = [line.split(",") for line in path.with_name("made.csv").read_text().splitlines()]
    return {name: [row[i] for row in lines[1:]] for i, name in enumerate(lines[0])}


def shapes(texts: list[str]) -> set[str]:
    """How texts are written, with 9 for digits; whole numbers of any length are alike."""
    found = {"".join("9" if c.isdigit() else c for c in text) for text in texts}
    return {"9" if set(shape) == {"9"} else shape.lstrip("-") if set(shape) <= {"9", "-"} else shape for shape in found} | (
        {"9"} if found & {"-9", "-99"} else set()
    )


@pytest.mark.parametrize("word", ["N", "NA", "?", "-", "unknown", "withheld"])
def test_one_odd_word_among_numbers_is_a_missing_code(word: str, tmp_path: Path) -> None:
    values = [word if i % 9 == 0 else str(100 + i % 70) for i in range(500)]
    text = draft_schema(file_of(tmp_path, c=values, d=["x", "y"] * 250))
    column = parse_schema(text)["c"]
    assert (column.kind, column.own_nulls, column.nullable) == ("integer", (word,), True)
    assert ("seems to mean" in text) == (word == "withheld")
    assert set(rewritten(tmp_path / "t.csv", parse_schema(text))["c"]) >= {word}


def test_codes_with_a_word_stay_codes(tmp_path: Path) -> None:
    column = parse_schema(draft_schema(file_of(tmp_path, c=["1", "2", "other"] * 100)))["c"]
    assert column.labels == ("1", "2", "other")


def test_the_commonest_spelling_of_missing_comes_first(tmp_path: Path) -> None:
    values = [["?", "NA", "NA", ""][i % 4] if i % 3 == 0 else str(i % 200) for i in range(600)]
    assert parse_schema(draft_schema(file_of(tmp_path, c=values, d=["x"] * 600)))["c"].own_nulls == ("NA", "?")
    values = [["?", "", "", "NA"][i % 4] if i % 3 == 0 else str(i % 200) for i in range(600)]
    assert parse_schema(draft_schema(file_of(tmp_path, c=values, d=["x"] * 600)))["c"].own_nulls[0] == ""


@pytest.mark.parametrize(
    ("values", "nulls"),
    [
        ([i % 60 for i in range(600)], ()),
        ([-9 if i % 8 == 0 else i % 60 for i in range(600)], ("-9",)),
        ([[-9, -8][i % 2] if i % 8 < 2 else i % 60 for i in range(600)], ("-9", "-8")),
        ([9999 if i % 8 == 0 else i % 60 for i in range(600)], ("9999",)),
        ([99 if i % 8 == 0 else i % 60 for i in range(600)], ()),
        ([9 if i % 8 == 0 else 1 + i % 5 for i in range(600)], ("9",)),
        ([9 if i < 3 else 1 + i % 5 for i in range(600)], ()),
        ([9 if i % 8 == 0 else 1 + i % 7 for i in range(600)], ()),
        ([i % 60 - 30 for i in range(600)], ()),
        ([i % 60 - 1 if i % 60 else 5 for i in range(600)], ()),
    ],
)
def test_numbers_that_mean_missing(values: list[int], nulls: tuple[str, ...]) -> None:
    column = column_of(values)
    assert sorted(column.own_nulls) == sorted(nulls)
    assert ("to mean" in draft_schema({"c": values})) == bool(nulls)


def test_heavy_tails_have_logarithmic_bins_and_piles_bins_of_their_own() -> None:
    rng = np.random.default_rng(0)
    gains = np.where(rng.random(5000) < 0.9, 0, np.round(rng.standard_exponential(5000) ** 3 * 800)).astype(int)
    labels = column_of(np.where(rng.random(5000) < 0.02, 99999, np.minimum(gains, 60000)).tolist()).ordinary_labels()
    assert labels[0] == "0"
    assert labels[-1] == "99999"
    assert len(labels) <= 33
    starts = [int(label.split(" ")[0]) for label in labels[2:-1]]
    assert max(b - a for a, b in pairwise(starts)) > 20 * (starts[1] - starts[0])
    assert all(len(str(start).rstrip("0")) <= 2 for start in starts)


@pytest.mark.parametrize(
    "amounts",
    [
        pytest.param(np.random.default_rng(1).lognormal(10, 1, 20_000).round(), id="lognormal"),
        pytest.param(np.random.default_rng(2).lognormal(3, 1, 20_000).round(2), id="cents"),
        pytest.param(np.random.default_rng(3).lognormal(0, 0.8, 20_000), id="real"),
        pytest.param(-np.random.default_rng(4).lognormal(10, 2, 20_000).round(), id="negative"),
    ],
)
def test_a_heavy_tail_does_not_crowd_the_rows_into_one_bin(amounts: np.ndarray[Any, np.dtype[np.float64]]) -> None:
    """Bins of equal width held four rows in five in one of them."""
    schema = parse_schema(draft_schema({"c": amounts}))
    codes = schema.encode(pa.table({"c": amounts}))[:, 0]
    assert np.bincount(codes).max() < 0.25 * len(codes)
    assert schema["c"].size <= 34


@pytest.mark.parametrize("most", [1.0, 1.6])
def test_an_empty_tail_beside_many_zeros_has_no_even_bins(most: float) -> None:
    """Zeros have a bin of their own in any case; noise in 25 bins of two, nearly all of them empty, doubled the mean."""
    rng = np.random.default_rng(9)
    counts = np.where(rng.random(8000) < 0.91, 0, np.ceil(rng.lognormal(0.8, most, 8000)).clip(1, 51)).astype(int)
    counts[0] = 51
    labels = column_of(counts.tolist()).ordinary_labels()
    assert labels[:4] == ("0", "1", "2", "3")
    assert len(labels) <= 17


@pytest.mark.parametrize("middle", [0, 1000])
def test_a_normal_distribution_has_bins_of_equal_width(middle: int) -> None:
    numbers = np.random.default_rng(5).normal(middle, 100, 100_000).round().astype(int)
    assert "width = " in draft_schema({"c": numbers})


def test_bins_that_grow_stay_so_within_what_the_type_can_hold() -> None:
    """A bound is rounded up beyond the type, or onto what means "missing": that bound alone is another."""
    values = np.random.default_rng(6).lognormal(5, 1.5, 20_000).round().clip(0, 32_001).astype(np.int16)
    schema = parse_schema(draft_schema({"c": values}))
    assert np.bincount(schema.encode(pa.table({"c": values}))[:, 0]).max() < 0.25 * len(values)
    assert schema["c"].type == pa.int16()


def test_even_numbers_have_round_bins() -> None:
    column = column_of([20 + i % 675 for i in range(2000)])
    assert column.ordinary_labels()[:2] == ("0 to 24", "25 to 49")
    hours = [40] * 1000 + [int(i) for i in np.random.default_rng(0).integers(1, 98, 900)] + [99] * 100
    assert column_of(hours).ordinary_labels()[-2:] == ("95 to 98", "99")


def test_a_value_that_many_have_has_a_bin_of_its_own() -> None:
    rng = np.random.default_rng(0)
    hours = [40] * 2000 + [20] * 300 + [int(i) for i in rng.integers(1, 98, 2000)]
    labels = column_of(hours).ordinary_labels()
    assert {"20", "40"} <= set(labels)
    assert "21 to 24" in labels
    assert column_of([int(i) for i in rng.integers(1, 98, 4000)]).ordinary_labels()[0] == "0 to 4"


def test_decimals_and_steps_are_kept(tmp_path: Path) -> None:
    path = file_of(
        tmp_path,
        price=[f"{(i % 300) * 0.25:.2f}" for i in range(900)],
        income=[f"{(i % 300) * 100}.0" for i in range(900)],
        loan=[f"{(i % 300) * 100}" for i in range(900)],
        dose=[f"{(i % 30) * 2.5:.1f}" for i in range(900)],
        fives=[f"{(i % 15) * 5}" for i in range(900)],
    )
    schema = parse_schema(draft_schema(path))
    back = rewritten(path, schema)
    assert {text[-3:] for text in back["price"]} == {".00", ".25", ".50", ".75"}
    assert {text[-4:] for text in back["income"]} <= {"00.0", "0.0"}
    assert {text[-2:] for text in back["loan"]} <= {"00", "0"}
    assert {float(text) % 2.5 for text in back["dose"]} == {0.0}
    assert schema["dose"].labels[1] == "5.0 to 7.5"  # bins are of whole steps
    assert "." not in "".join(back["fives"])  # multiples of 2.5 too, but whole numbers


@pytest.mark.parametrize("words", [("Y", "N"), ("yes", "no"), ("t", "f"), ("True", "False"), ("0", "1"), ("JA", "NEIN")])
def test_answers_in_any_spelling_need_no_decision_and_come_back(words: tuple[str, str], tmp_path: Path) -> None:
    path = file_of(tmp_path, c=[words[i % 3 == 0] for i in range(90)], d=["x"] * 90)
    text = draft_schema(path)
    assert [mark.column for mark in marks_of(text)] == ["d"]
    assert set(rewritten(path, parse_schema(text))["c"]) == set(words)


def test_times_of_day_among_floats_come_back(tmp_path: Path) -> None:
    """Whole numbers with some missing are floats in many tables, and files made of these have 517.0."""
    rng = np.random.default_rng(4)
    times = [None if i % 50 == 0 else float(h * 100 + i % 60) for i, h in enumerate(rng.integers(0, 24, ROWS))]
    path = file_of(tmp_path, dep_time=["NA" if t is None else f"{t:.1f}" for t in times])
    for table in (path, pd.DataFrame({"dep_time": times})):
        schema = parse_schema(draft_schema(table))
        column = schema["dep_time"]
        assert (column.kind, column.type, column.nullable) == ("time", pa.float64(), True)
        back = schema.decode(np.arange(column.size)[:, None], rng)
        assert {t % 100 < 60 for t in back["dep_time"].to_pylist() if t is not None} == {True}
        write_table(back, tmp_path / "back.csv", schema)
        spelled = (tmp_path / "back.csv").read_text().split()[1:]
        assert {text.endswith(".0") for text in spelled if text not in ('""', "NA")} == {True}
    assert column_of([float(h * 100 + 75) for h in range(24)] * 20, "dep_time").kind == "real"


def test_a_largest_value_of_nines_that_many_rows_have_is_asked_about(tmp_path: Path) -> None:
    waits = [i * 7 % 990 if i % 15 else 999 for i in range(ROWS)]
    path = file_of(tmp_path, wait=list(map(str, waits)), cost=[str(i * 7 % 990 if i % 15 else 990) for i in range(ROWS)])
    said = {mark.column: "999" in mark.message for mark in marks_of(draft_schema(path))}
    assert said == {"wait": True, "cost": False}


def test_the_end_of_the_day_comes_back_where_it_was_seen(tmp_path: Path) -> None:
    """2400, 24:00: the midnight after the last minute. A draft asks about it, and declares it nowhere else."""
    rng = np.random.default_rng(3)
    pairs = [(24, 0) if i % 100 == 0 else (int(rng.integers(0, 24)), int(rng.integers(0, 60))) for i in range(ROWS)]
    path = file_of(
        tmp_path,
        dep_time=[str(100 * h + m) for h, m in pairs],
        left=[f"{h:02}{m:02}" for h, m in pairs],
        clock=[f"{h:02}:{m:02}" for h, m in pairs],
        early=[f"{h % 24:02}:{m:02}" for h, m in pairs],
    )
    text = draft_schema(path)
    marked = {mark.column: mark.message.split(",")[0] for mark in marks_of(text) if mark.column is not None}
    assert marked == {"dep_time": "2400 was seen", "left": "2400 was seen", "clock": "24:00 was seen"}
    schema = parse_schema(text)
    assert check_schema(path, schema) == []
    codes = schema.encode(
        pa.table({"dep_time": [2400, 0], "left": ["2400", "0000"], "clock": ["24:00", "00:00"], "early": ["23:59", "00:00"]})
    )
    back = schema.decode(codes, rng)
    assert [back[name][0].as_py() for name in ("dep_time", "left", "clock")] == [2400, "2400", "24:00"]


def test_texts_that_differ_in_blanks_around_them_are_listed_once(tmp_path: Path) -> None:
    """A person would not list a town twice; a text that is always padded stays as it is."""
    towns, blanks = ["Bonn", "Köln", "Ulm"], ["", "", "  "]
    rows = [(towns[i % 3] + blanks[i % 7 % 3], str(50_000 + i % 3), "padded " if i % 2 else "x") for i in range(ROWS)]
    path = file_of(tmp_path, town=[a for a, _, _ in rows], code=[b for _, b, _ in rows], kind=[c for _, _, c in rows])
    text = draft_schema(path)
    schema = parse_schema(text)
    assert schema["town"].labels == ("Bonn", "Köln", "Ulm")
    assert schema["kind"].labels == ("padded ", "x")
    assert check_schema(path, schema) == []
    assert 'lookup = { "Bonn" = 50000, "Köln" = 50001, "Ulm" = 50002 }' in text


def test_times_in_four_digits_come_back_and_codes_stay_codes(tmp_path: Path) -> None:
    minutes = [(7 * i) % 1440 for i in range(ROWS)]
    path = file_of(
        tmp_path,
        arrival=[f"{m // 60:02}{m % 60:02}" for m in minutes],
        left=["NA" if m < 5 else f"{m // 60:02}{m % 60:02}" for m in minutes],
        code=[f"{i % 50:04}" for i in range(ROWS)],
    )
    schema = parse_schema(draft_schema(path))
    found = {column.name: column.kind for column in schema.columns}
    assert found == {"arrival": "time", "left": "time", "code": "categorical"}
    assert schema["left"].nullable
    assert check_schema(path, schema) == []
    assert {(len(text), text.isdigit()) for text in rewritten(path, schema)["arrival"]} == {(4, True)}


def test_times_dates_and_leading_zeros_come_back(tmp_path: Path) -> None:
    path = file_of(
        tmp_path,
        at=[f"{i % 24:02}:{i % 60:02}" for i in range(600)],
        second=[f"{i % 24:02}:{i % 60:02}:{i % 7:02}" for i in range(600)],
        day=[f"{1 + i % 28:02}.{1 + i % 12:02}.2021" for i in range(600)],
        iso=[f"2021-{1 + i % 12:02}-{1 + i % 28:02}" for i in range(600)],
        moment=[f"2021-{1 + i % 12:02}-{1 + i % 28:02} {i % 24:02}:30" for i in range(600)],
        zip=[f"{i % 60:05}" for i in range(600)],
    )
    text = draft_schema(path)
    schema = parse_schema(text)
    assert [column.kind for column in schema.columns] == ["time", "time", "date", "date", "datetime", "categorical"]
    assert check_schema(path, schema) == []
    back = rewritten(path, schema)
    for name, shape in (("at", "99:99"), ("second", "99:99:99"), ("day", "99.99.9999"), ("iso", "9999-99-99")):
        assert shapes(back[name]) == {shape}, name
    assert shapes(back["moment"]) == {"9999-99-99 99:99"}
    assert {len(text) for text in back["zip"]} == {5}


def test_too_many_categories_are_left_out_and_none_is_shown() -> None:
    text = draft_schema({"icd": [f"I{10 + i % 80}.SECRET{i % 900}" for i in range(9000)], "c": [1, 2, 3] * 3000})
    assert "SECRET" not in text
    assert "I1" not in text
    [mark, _] = marks_of(text)
    assert (mark.column, mark.left_out) == ("icd", True)
    assert "prefix = 3 has 80 values" in mark.message


def test_identifiers_need_no_decision() -> None:
    text = draft_schema({"id": list(range(500)), "name": [f"p {i}" for i in range(500)], "c": [1, 2] * 250})
    assert [mark.column for mark in marks_of(text)] == ["c"]
    assert text.count("# Left out: nearly every row") == 2


def test_identifiers_that_only_some_have_need_no_decision_either() -> None:
    chips = [276_000_000 + 7919 * i if i % 3 else None for i in range(500)]
    text = draft_schema({"chip": chips, "c": [1, 2] * 250})
    assert [mark.column for mark in marks_of(text)] == ["c"]
    assert "(an identifier)" in text
