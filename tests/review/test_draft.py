"""Drafting and checking: both look at the data, both say so, and what they write fits what they saw."""

from __future__ import annotations

import datetime as dt
import tomllib
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

from understudy import synthesize
from understudy.errors import SourceError
from understudy.review import Misfit, check_schema, draft_schema
from understudy.review.marks import marks_of
from understudy.schema import parse_schema

ROWS = 300


def table() -> pa.Table:
    """A table with a column for each thing that a draft must recognise."""
    rng = np.random.default_rng(3)
    names = [f"person {i}" for i in range(ROWS)]
    return pa.table(
        {
            "id": pa.array(range(1000, 1000 + ROWS)),
            "name": names,
            "small": pa.array(rng.integers(1, 6, ROWS), pa.int16()),
            "age": rng.integers(17, 91, ROWS),
            'the "sex"': pa.array(["f", "m", None] * 100).dictionary_encode(),
            "town": [f"town {i}" for i in rng.integers(0, 30, ROWS)],
            "price": np.round(rng.uniform(3, 80, ROWS), 2),
            "exact": pa.array([Decimal(int(i)) / 100 for i in rng.integers(0, 9999, ROWS)], pa.decimal128(9, 2)),
            "ratio": pa.array([float("nan"), float("inf"), *rng.normal(size=ROWS - 2)]),
            "single": pa.array(rng.normal(size=ROWS), pa.float32()),
            "flag": pa.array([True, False, None] * 100),
            "day": pa.array([dt.date(2020, 2, 3) + dt.timedelta(days=int(i)) for i in range(ROWS)]),
            "at": pa.array([dt.datetime(2020, 2, 3, 1, 2, i % 60) for i in range(ROWS)], pa.timestamp("ms", "UTC")),
            "empty": pa.nulls(ROWS, pa.string()),
            "nested": pa.array([[1]] * ROWS),
        }
    )


def test_a_draft_of_a_table_loads_fits_and_keeps_every_type() -> None:
    data = table()
    text = draft_schema(data)
    schema = parse_schema(text)
    assert schema.draft
    assert [c.name for c in schema.columns] == [n for n in data.column_names if n not in ("id", "name", "empty", "nested")]
    assert [m for m in check_schema(data, schema) if m.column != "ratio" and m.problem != "not listed"] == []
    back = schema.decode(schema.encode(data), np.random.default_rng(0))
    for name in schema.domain:
        assert back.schema.field(name).type == data.schema.field(name).type, name
        nan_is_null = data.column(name).is_null(nan_is_null=True)
        assert back.column(name).is_null().equals(nan_is_null), name


def test_what_a_person_must_decide_is_marked_once_for_each_column() -> None:
    text = draft_schema(table())
    assert text.startswith("# DRAFT. This schema was written by looking at the data itself.")
    marked = [mark.column for mark in marks_of(text)]
    assert marked == [None, "small", "town", "price", "exact", "ratio", "single", "day", "at"]
    for name in ("id", "name", "empty", "nested"):
        assert f"# [columns.{name}]" in text


def test_what_is_not_marked_does_not_depend_on_the_values() -> None:
    """A person reviews marks alone: what stands under none must follow from names, types and common knowledge."""
    rng = np.random.default_rng(0)

    def unmarked(low: float, high: float) -> str:
        clock = rng.integers(int(24 * low), int(24 * high), 400) * 100 + rng.integers(0, 60, 400)
        data = {
            "month": rng.integers(1 + int(low * 8), 13 - int((1 - high) * 8), 400),
            "age": np.round(rng.uniform(100 * low, 100 * high, 400)).astype(int),
            "dep_time": np.where(np.arange(400) == 0, 2300, clock),
            "paid": rng.choice(["Y", "N"], 400, p=[low + 0.1, 0.9 - low]),
            "sex": rng.choice(["Male", "Female"], 400, p=[low + 0.1, 0.9 - low]),
            "flag": rng.random(400) < low + 0.1,
            "code": rng.permutation(400) + int(1000 * low),
            "note": [f"{low} {i}" for i in range(400)],
        }
        return draft_schema(
            {name: values.tolist() if hasattr(values, "tolist") else values for name, values in data.items()}
        )

    first, second = unmarked(0.0, 0.5), unmarked(0.5, 0.99)
    assert marks_of(first) == []
    assert first == second


def test_bounds_are_rounded_outward_so_that_extremes_are_not_shown() -> None:
    declared = tomllib.loads(draft_schema(pa.table({"a": list(range(173, 911, 7)) * 3})))["columns"]["a"]
    assert (declared["min"], declared["max"], declared["width"]) == (150, 950, 50)


def test_what_does_not_fit_counts_as_a_bins_start_and_not_as_a_value_that_somebody_has() -> None:
    rng = np.random.default_rng(5)
    wages, paid = np.round(rng.normal(5000, 900, 4001), 2), np.round(rng.lognormal(4, 1.6, 4001), 2)
    share = np.round(rng.uniform(0.01, 0.37, 4001), 3)
    columns = tomllib.loads(draft_schema(pa.table({"wage": wages, "paid": paid, "share": share})))["columns"]
    assert len(str(columns["share"]["other"])) <= 5  # 0.15, and not 0.15000000000000002
    assert columns["wage"]["other"] % columns["wage"]["width"] == 0
    assert columns["paid"]["other"] in columns["paid"]["edges"]


def test_a_csv_with_its_own_date_format_fits_its_draft(tmp_path: Path) -> None:
    file = tmp_path / "a file's.csv"
    file.write_text("d,n,z\n" + "".join(f"{1 + i % 28:02}/0{1 + i % 9}/2021,{i},0{i % 7}\n" for i in range(50)))
    schema = parse_schema(draft_schema(file))
    assert check_schema(file, schema) == []
    codes = schema.encode(csv.read_csv(file))
    back = schema.decode(codes, np.random.default_rng(0))
    assert back.column("d")[0].as_py().count("/") == 2
    assert schema["z"].kind == "categorical"  # 01 is a code, not the number 1


def test_parquet_globs(tmp_path: Path) -> None:
    for i in range(2):
        pq.write_table(table().select(["age", "day"]).slice(i * 100, 100), tmp_path / f"part{i}.parquet")
    schema = parse_schema(draft_schema(tmp_path / "part*.parquet"))
    assert check_schema(str(tmp_path / "part*.parquet"), schema) == []


def test_check_counts_what_does_not_fit_and_says_where_it_goes() -> None:
    schema = parse_schema(
        """[columns.age]
kind = "integer"
min = 0
max = 99
other = 40
[columns.sex]
kind = "categorical"
values = ["f", "m"]
nullable = true
[[zeros]]
never = 'age < 10 and sex = "m"'
""".replace("max = 99", "max = 99\nbins = 10")
    )
    data = pa.table({"age": ["5", "120", "-1", "x", None, "3.5"], "sex": ["m", "f", "f", "x", None, "?"]})
    found = {(m.column, m.problem): (m.rows, m.goes_to, m.line) for m in check_schema(data, schema)}
    assert found == {
        ("age", "above max"): (1, "the nearest bin", 1),
        ("age", "below min"): (1, "the nearest bin", 1),
        ("age", "not readable as this kind"): (1, "40 to 49", 1),
        ("age", "missing"): (1, "40 to 49", 1),
        ("age", "not a whole number"): (1, "the nearest bin", 1),
        ("sex", "not listed"): (2, "null", 7),
        ("age, sex", 'declared impossible: never age < 10 and sex = "m"'): (
            1,
            "stays, but is never generated",
            None,
        ),
    }
    assert check_schema(data.to_reader(max_chunksize=2), schema) == check_schema(data, schema)
    assert all(isinstance(m, Misfit) and m.total == 6 for m in check_schema(data, schema))
    assert [m.problem for m in check_schema(data.slice(0, 0), schema)] == ["it has no rows"]


def test_lines_of_a_csv_that_are_short_or_long_do_not_stop_a_check(tmp_path: Path) -> None:
    file = tmp_path / "ragged.csv"
    file.write_bytes(b'a,b\n1,2\n1\n1,2,3\n"1",2\n"1,2\n\xff,2\n\n')
    schema = parse_schema("".join(f"[columns.{c}]\nkind='integer'\nmin=0\nmax=3\nother=0\n" for c in "ab"))
    assert [(m.column, m.problem, m.rows, m.total) for m in check_schema(file, schema)] == [
        ("(line)", "a line with too few fields", 2, 6),
        ("(line)", "a line with too many fields", 1, 6),
        ("(line)", "a quote that is never closed in its line", 1, 6),
        ("(line)", "a byte that is not in the encoding", 1, 6),
        ("a", "not readable as this kind", 2, 6),
        ("b", "missing", 2, 6),
    ]


@pytest.mark.parametrize(("name", "words"), [("none.csv", "no file"), ("data.xlsx", "must end in")])
def test_files_that_are_not_tables(tmp_path: Path, name: str, words: str) -> None:
    (tmp_path / "data.xlsx").write_text("x")
    with pytest.raises(SourceError, match=words):
        draft_schema(tmp_path / name)
    with pytest.raises(SourceError, match=words):
        check_schema(tmp_path / name, parse_schema('[columns.a]\nkind = "boolean"\nnullable = true\n'))


def test_a_damaged_file_is_reported_without_its_content(tmp_path: Path) -> None:
    (tmp_path / "bad.parquet").write_text("secret")
    with pytest.raises(SourceError, match="whole Parquet file") as caught:
        draft_schema(tmp_path / "bad.parquet")
    assert "secret" not in str(caught.value)


def test_columns_may_have_the_names_that_queries_use() -> None:
    drafted = draft_schema(pa.table({"v": list(range(50)), "n": [i % 3 for i in range(50)], "text": ["a", "b"] * 25}))
    assert all(f"[columns.{name}]" in drafted for name in ("n", "text"))


def test_a_frame_with_a_column_without_a_name_is_refused_with_its_place() -> None:
    with pytest.raises(SourceError, match=r"The table has a column without a name \(number 2 of 2\).*Rename it"):
        draft_schema(pa.table({"a": [1, 2], "": [3, 4]}))


@pytest.mark.parametrize("name", ["patient_id", "PatientNo", "person id"])
@pytest.mark.parametrize("spell", [int, "P{:05d}".format], ids=["numbers", "texts"])
def test_an_identifier_with_several_rows_each_is_left_out_and_said_to_be_a_person_perhaps(name: str, spell: object) -> None:
    people = [spell(i // 4) for i in range(4000)]  # type: ignore[operator]
    text = draft_schema(pa.table({name: people, "sex": ["f", "m"] * 2000}))
    assert list(parse_schema(text).domain) == ["sex"]
    (mark,) = [mark for mark in marks_of(text) if mark.column == name]
    assert f'person = "{name}"' in mark.message
    assert "rows_per_person" in mark.message
    assert "prefix" not in mark.message


def test_a_column_of_few_codes_is_no_person_whatever_its_name() -> None:
    text = draft_schema(pa.table({"state_id": [i % 50 for i in range(4000)], "sex": ["f", "m"] * 2000}))
    assert list(parse_schema(text).domain) == ["state_id", "sex"]


def test_several_words_for_missing_among_texts_are_nulls_and_one_alone_is_a_value(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    towns = ["Bern", "Genf", "NA", "None", "", "-", "NA", "Bern"]
    path.write_text("town,paid\n" + "".join(f"{towns[i % 8]},{['yes', 'no', 'n/a'][i % 3]}\n" for i in range(2400)))
    text = draft_schema(path)
    columns = tomllib.loads(text)["columns"]
    assert columns["town"]["values"] == ["Bern", "Genf", "None"]
    assert columns["town"]["nulls"] == ["NA", "-"]
    assert columns["paid"]["values"] == ["n/a", "no", "yes"]
    assert "nulls" not in columns["paid"]
    (mark,) = [mark for mark in marks_of(text) if mark.column == "town"]
    assert '"NA", "-" seem to mean "missing"' in mark.message
    (mark,) = [mark for mark in marks_of(text) if mark.column == "paid"]
    assert 'if "n/a" means "missing", write nulls = ["n/a"] and nullable = true instead' in mark.message
    assert check_schema(path, parse_schema(text)) == []


def test_a_draft_tells_of_uneven_lines(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b,c\n" + "1,2,3\n" * 300 + "1,2\n" * 4 + "1,2,3,4\n" * 3)
    text = draft_schema(tmp_path / "a.csv")
    assert "# 4 of its lines: a line with too few fields; the rest of the record is missing." in text
    assert "# 3 of its lines: a line with too many fields; what is too much is ignored." in text


def test_a_table_without_rows_does_not_fit_by_chance(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a\n")
    schema = parse_schema("[columns.a]\nkind = 'boolean'\nother = true")
    [misfit] = check_schema(tmp_path / "a.csv", schema)
    assert (misfit.problem, misfit.total) == ("it has no rows", 0)


def test_all_missing_columns_are_named() -> None:
    schema = parse_schema("".join(f"[columns.{name}]\nkind = 'boolean'\nother = true\n" for name in ("age", "sex", "town")))
    with pytest.raises(SourceError) as caught:
        synthesize({"town": [True], "ages": [True]}, schema, epsilon=1)
    assert str(caught.value).endswith(
        'lacks 2 of the 3 columns that the schema declares:\n  "age". Did you mean "ages"?\n  "sex".'
    )
    with pytest.raises(SourceError, match="Is it the table that the schema was written for"):
        synthesize({"price": [1.0], "shop": ["a"]}, schema, epsilon=1)


def test_a_column_that_follows_from_another_is_proposed_as_derived() -> None:
    names, years = ["School", "Bachelor", "Master", "Doctor"], [9, 13, 14, 14]
    places = np.random.default_rng(0).integers(0, 4, 2000)
    table = {"education": [names[i] for i in places], "years": [years[i] for i in places]}
    table["grade"] = [str(int(x)) for x in np.random.default_rng(1).integers(0, 4, 2000)]
    marks = {mark.column: mark.message for mark in marks_of(draft_schema(table))}
    assert 'In all rows it follows from "education"' in marks["years"]
    assert "follows" not in marks["education"] + marks["grade"]
    table["years"][0] = 8 if table["years"][0] == 9 else 9
    assert "follows" not in draft_schema(table)


def test_answers_in_several_spellings_are_all_listed() -> None:
    drafted = parse_schema(draft_schema({"paid": ["yes", "no", "YES", "No"] * 50}))
    assert set(drafted["paid"].labels) == {"no", "No", "yes", "YES"}
    assert check_schema({"paid": ["yes", "no", "YES", "No"]}, drafted) == []


def test_a_year_of_two_digits_is_no_year_of_the_first_century(tmp_path: Path) -> None:
    days = [dt.date(2021, 1, 1) + dt.timedelta(days=i % 400) for i in range(2000)]
    (tmp_path / "a.csv").write_text("day,n\n" + "".join(f"{day:%d.%m.%y},{i % 3}\n" for i, day in enumerate(days)))
    drafted = parse_schema(draft_schema(tmp_path / "a.csv"))
    assert check_schema(tmp_path / "a.csv", drafted) == []
    assert "0021" not in draft_schema(tmp_path / "a.csv")


def test_numbers_that_are_spelled_as_texts_are_told_from_free_text() -> None:
    spelled = {"fee": "{:,}.50", "usd": "${}.2", "note": "note {}", "code": "{:07}"}
    text = draft_schema(
        {**{name: [form.format(1000 + 37 * i) for i in range(300)] for name, form in spelled.items()}, "x": [1] * 300}
    )
    why = [line for line in text.splitlines() if line.startswith("# Left out")]
    assert ["separators" in line for line in why] == [True, False, False]
    assert [mark.column for mark in marks_of(text) if mark.left_out] == ["usd"]


def test_what_follows_from_another_is_found_among_many_columns() -> None:
    rng = np.random.default_rng(0)
    columns = {f"c{k}": rng.choice(list("abcd"), 2000).tolist() for k in range(20)}
    columns["edu"] = rng.choice(["School", "Master", "PhD"], 2000).tolist()
    columns["years"] = [{"School": 10, "Master": 15, "PhD": 19}[one] for one in columns["edu"]]
    marks = {mark.column: mark.message for mark in marks_of(draft_schema(columns))}
    assert [name for name, message in marks.items() if "follows from" in message] == ["years"]


def test_few_numbers_with_gaps_between_them_are_codes() -> None:
    rows = {
        "flag": [0, 0, 0, 1, 9] * 100,
        "size": [1, 2, 3, 4, 6] * 100,
        "few": [1, 30] * 250,
        "month": [1, 2, 9, 12, 12] * 100,
        "alerts": [0, 1, 2, 3, 0, 1, 2, 4, 1, 9] * 50,
        "children": [0, 1, 2, 1, 0] * 99 + [3, 4, 4, 8, 8],
    }
    text = draft_schema(rows)
    drafted = parse_schema(text)
    assert {column.name: column.kind for column in drafted.columns} == {
        **{"flag": "categorical", "size": "integer", "few": "integer", "month": "integer"},
        **{"alerts": "categorical", "children": "integer"},
    }
    assert drafted["flag"].labels == ("0", "1", "9")
    assert drafted["alerts"].labels == ("0", "1", "2", "3", "4", "9")
    assert drafted["flag"].type == pa.int64()
    assert {mark.column for mark in marks_of(text) if mark.message.startswith("these 3 values were seen")} == {"flag"}
    assert check_schema(rows, drafted) == []


def test_what_means_missing_beside_numbers_means_it_among_texts(tmp_path: Path) -> None:
    """A census excerpt has N for "not applicable" in every column that it does not apply to; beside Y it is an answer."""
    rows = [("N" if i % 3 == 0 else str(i % 70), "N" if i % 3 == 0 else "abc"[i % 3], "YN"[i % 2]) for i in range(600)]
    (tmp_path / "t.csv").write_text("income,trade,owner\n" + "".join(",".join(row) + "\n" for row in rows))
    schema = parse_schema(draft_schema(tmp_path / "t.csv"))
    assert schema["income"].own_nulls == ("N",)
    assert schema["trade"].own_nulls == ("N",)
    assert "N" not in schema["trade"].ordinary_labels()
    assert "N" in schema["owner"].ordinary_labels()
    assert 'seems to mean "missing"' in draft_schema(tmp_path / "t.csv").split("[columns.trade]")[0].splitlines()[-1]


def test_days_in_eight_digits_are_days_and_other_numbers_are_not(tmp_path: Path) -> None:
    days = [f"2022{1 + i % 12:02}{1 + i % 28:02}" for i in range(600)]
    rows = zip(
        days,
        (20220000 + i % 300 for i in range(600)),
        ("N" if i % 9 == 0 else day for i, day in enumerate(days)),
        strict=True,
    )
    (tmp_path / "t.csv").write_text("day,number,other\n" + "".join(f"{a},{b},{c}\n" for a, b, c in rows))
    schema = parse_schema(draft_schema(tmp_path / "t.csv"))
    assert [column.kind for column in schema.columns] == ["date", "integer", "date"]
    assert schema["other"].own_nulls == ("N",)
    back = schema.decode(
        schema.encode(pa.table({"day": days, "number": [1] * 600, "other": days})), np.random.default_rng(0)
    )
    assert all(len(day) == 8 and day.startswith("2022") for day in back["day"].to_pylist())


def drafted(folder: Path, **columns: list[str]) -> str:
    rows = zip(*columns.values(), strict=True)
    text = "\n".join(";".join(row) for row in [columns, *rows])
    (folder / "t.csv").write_text(text + "\n", encoding="utf-8")
    return draft_schema(folder / "t.csv")


def test_answers_are_answers_in_other_languages_too(tmp_path: Path) -> None:
    """N means "missing" beside the numbers of another column, and no beside yes."""
    rng = np.random.default_rng(6)
    number = [str(n) if n % 9 else "N" for n in rng.integers(0, 900, 600)]
    columns = {"ja": "JN", "si": "SN", "oui": "ON", "wahr": ("wahr", "falsch"), "odd": "XN", "ward": "ABN"}
    text = drafted(tmp_path, number=number, **{name: rng.choice([*two], 600).tolist() for name, two in columns.items()})
    schema = parse_schema(text)
    assert schema["number"].own_nulls == ("N",)
    assert all(schema[name].own_nulls == () and schema[name].size == 2 for name in ("ja", "si", "oui", "wahr", "odd"))
    assert {mark.column for mark in marks_of(text)} >= {"odd", "ward"}
    assert not {mark.column for mark in marks_of(text)} & {"ja", "si", "oui", "wahr"}
    assert schema["ward"].own_nulls == ("N",)


def test_few_numbers_far_apart_are_codes(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    text = drafted(
        tmp_path,
        insurer=[str(n) for n in rng.choice([101575519, 104212505, 108018007], 600)],
        deductible=[str(n) for n in rng.choice([0, 250, 500, 1000, 2500], 600)],
        rare=[str(n) for n in [*rng.choice([0, 250, 500], 595), *range(5000, 5005)]],
        amount=[str(n) for n in rng.integers(0, 300, 600)],
    )
    schema = parse_schema(text)
    assert [column.kind for column in schema.columns] == ["categorical", "categorical", "integer", "integer"]
    assert schema["insurer"].labels == ("101575519", "104212505", "108018007")


def test_a_number_that_means_missing_is_told_as_it_is(tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    text = drafted(
        tmp_path,
        year=[str(n) if n % 9 else "0" for n in rng.integers(1985, 2025, 600)],
        limit=[str(n) if n % 9 else "9999999" for n in rng.integers(0, 900_000, 600)],
        zero=[str(n) for n in rng.integers(0, 400, 600)],
    )
    schema = parse_schema(text)
    assert [column.own_nulls for column in schema.columns] == [("0",), ("9999999",), ()]
    told = {mark.column: mark.message for mark in marks_of(text)}
    assert '0 seems to mean "missing"' in told["year"]
    assert '9999999 seems to mean "missing"' in told["limit"]
    assert schema["year"].labels[0].startswith("198")


def test_hours_of_one_digit_are_times(tmp_path: Path) -> None:
    text = drafted(
        tmp_path, at=[f"{i % 24}:{i % 60:02}" for i in range(600)], to=[f"{i % 24}:{i % 60:02}:07" for i in range(600)]
    )
    schema = parse_schema(text)
    assert [column.kind for column in schema.columns] == ["time", "time"]
    assert check_schema(tmp_path / "t.csv", schema) == []


def test_numbers_with_signs_of_two_kinds_or_marks_are_left_out_with_a_word_why(tmp_path: Path) -> None:
    text = drafted(
        tmp_path,
        ward=["A", "B"] * 300,
        share=[f"{n / 10:.1f} %".replace(".", ",") for n in range(600)],
        premium=[f"${n * 7.5:,.2f}" for n in range(600)],
        mixed=[f"${n}" if n % 3 else f"{n} €" for n in range(600)],
    )
    told = {mark.column: mark.message for mark in marks_of(text)}
    left = {name for name, words in told.items() if words.startswith("left out, since its numbers have signs")}
    assert left == {"share", "mixed"}  # one file has decimal points or commas, and not both


def test_numbers_with_decimal_commas_are_neither_listed_nor_called_texts(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    warm = [f"{t:.1f}".replace(".", ",") for t in rng.integers(350, 400, 2_000) / 10]
    costs = [f"{c:,.2f}".translate(str.maketrans(",.", ".,")) for c in rng.integers(0, 500, 2_000) * 7.5]
    codes = [f"{a},{b}" for a, b in rng.integers(1, 4, (2_000, 2))]  # nine of them: a list
    pq.write_table(pa.table({"warm": [*warm[:-1], ""], "costs": costs, "codes": codes}), tmp_path / "t.parquet")
    text = draft_schema(str(tmp_path / "t.parquet"))
    told = {mark.column: mark.message for mark in marks_of(text) if mark.left_out}
    assert set(told) == {"warm", "costs"}
    assert all(message.startswith("left out, since its numbers have commas;") for message in told.values())
    assert '"36,5"' not in text
    assert tomllib.loads(text)["columns"]["codes"]["kind"] == "categorical"


def test_texts_among_many_numbers_are_named_and_codes_are_not_taken_for_numbers(tmp_path: Path) -> None:
    rows = [
        f'"{"<0,5" if i % 7 == 0 else "n.b." if i % 5 == 0 else f"{i * 37 % 4000},{i % 10}"}";{i % 900:05};{i % 11}'
        for i in range(9000)
    ]
    (tmp_path / "a.csv").write_text("\n".join(["crp;place;ward", *rows]) + "\n")
    told = {mark.column: mark.message for mark in marks_of(draft_schema(tmp_path / "a.csv"))}
    assert told["crp"].startswith('left out, since texts stand among its numbers ("n.b.", "<0,5").')
    assert "too many to list" in told["place"]
    csv = '[table.csv]\nseparator = ";"\ndecimal = ","\n'
    kept = '[columns.crp]\nkind = "real"\nmin = 0\nmax = 4000\nnulls = ["n.b.", "<0,5"]\nnullable = true'
    assert check_schema(tmp_path / "a.csv", parse_schema(csv + kept)) == []  # as the mark says
    few = [row if i > 8 else f'"seen once {i}";{row.partition(";")[2]}' for i, row in enumerate(rows)]
    (tmp_path / "a.csv").write_text("\n".join(["crp;place;ward", *few]) + "\n")
    assert "seen once" not in draft_schema(tmp_path / "a.csv")
