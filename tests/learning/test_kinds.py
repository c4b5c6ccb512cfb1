"""What a learnt column is: words stay words, real booleans are none, lengths of time are no times of day."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

from understudy import Schema, Sql, learn_schema, synthesize
from understudy.learning.tree import First
from understudy.learning.words import known_words, rows_of_words
from understudy.schema.ladder import FALSE, LENGTH, MIDNIGHT, PLAIN, TEXT, TRUE, WORDS, Climber

ROWS = 4_000
SPELLED = {
    "a": ("Y", "N"),
    "b": ("yes", "no"),
    "c": ("T", "F"),
    "d": ("J", "N"),
    "e": ("True", "False"),
    "f": ("true", "false"),
}


def climbed(values: Any) -> list[int]:
    return Climber("a").encode(values).tolist()


def values_of(schema: Schema, name: str) -> tuple[Any, ...]:
    return tuple(schema[name].values)  # type: ignore[attr-defined]


@pytest.mark.promise(36)
def test_words_come_back_as_they_were_spelled(tmp_path: Path) -> None:
    """A rare third word is a text of its own, which nobody is told: it must not become the word for false."""
    rows = {name: [("?" if i % 500 == 0 else words[i % 3 > 0]) for i in range(ROWS)] for name, words in SPELLED.items()}
    csv.write_csv(pa.table(rows), tmp_path / "t.csv")
    learnt = learn_schema(tmp_path / "t.csv", epsilon=2, seed=0)
    assert {column.name: column.kind for column in learnt.columns} == dict.fromkeys(SPELLED, "categorical")
    for name, words in SPELLED.items():
        assert values_of(learnt, name) == tuple(sorted(words))
        codes = learnt[name].encode(pa.array(rows[name]))
        assert learnt[name].decode(codes, np.random.default_rng(0)).to_pylist().count("(other)") == ROWS // 500
    release = synthesize(tmp_path / "t.csv", learnt, epsilon=8, workload="all-1way", mechanism="independent", seed=0)
    release.save(tmp_path / "release")
    (made,) = (tmp_path / "release").glob("synthetic*.csv")
    found = pd.read_csv(made, dtype=str, keep_default_na=False)
    for name, words in SPELLED.items():
        assert {*words} <= {*found[name]} <= {*words, "(other)"}
        assert abs((found[name] == words[0]).mean() - 1 / 3) < 0.05


@pytest.mark.promise(27)
def test_only_booleans_are_true_or_false() -> None:
    assert climbed(pa.array([True, False, None])) == [TRUE, FALSE, 0]
    words = ["true", "False", "TRUE", " yes ", "n", "T", "f"]
    cells = [WORDS[word.strip()] for word in words]
    assert climbed(pa.array(words)) == climbed(pa.array(words).dictionary_encode()) == cells
    assert climbed(pa.array(["tRUE", "yEs", "maybe"])) == [TEXT] * 3


FORMS: dict[str, Any] = {
    "arrow": pa.table,
    "numpy": lambda rows: {name: np.array(values) for name, values in rows.items()},
    "nullable": lambda rows: pd.DataFrame(rows).astype("boolean"),
    "objects": lambda rows: pd.DataFrame(rows).astype(object),
    "arrow-backed": lambda rows: pd.DataFrame(rows).astype("bool[pyarrow]"),
    "category": lambda rows: pd.DataFrame(rows).astype("category"),
    "polars": pl.DataFrame,
}


@pytest.mark.parametrize("form", [*FORMS, "parquet", "dictionary", "duckdb"])
def test_booleans_of_every_form_are_booleans(form: str, tmp_path: Path) -> None:
    rows = {"paid": [i % 3 == 0 for i in range(ROWS)], "never": [False] * ROWS}
    pq.write_table(pa.table(rows), tmp_path / "t.parquet")
    others = {
        "parquet": tmp_path / "t.parquet",
        "dictionary": pa.table({name: pa.array(values).dictionary_encode() for name, values in rows.items()}),
        "duckdb": Sql(f"SELECT * FROM '{tmp_path / 't.parquet'}'"),
    }
    data = FORMS[form](rows) if form in FORMS else others[form]
    learnt = learn_schema(data, epsilon=2, columns=["paid", "never"], seed=0)
    assert {column.name: (column.kind, column.nullable) for column in learnt.columns} == dict.fromkeys(
        rows, ("boolean", False)
    )


def test_objects_that_are_true_or_nothing_are_booleans_with_missing_values() -> None:
    rows = pd.DataFrame({"paid": pd.Series([True if i % 3 else None for i in range(ROWS)], dtype=object)})
    rows["all"] = None
    rows["odd"] = pd.Series([(True, False, "unknown")[i % 3] for i in range(ROWS)], dtype=object)
    learnt = learn_schema(rows, epsilon=2, seed=0)
    assert {column.name: (column.kind, column.nullable) for column in learnt.columns} == {
        "paid": ("boolean", True),
        "odd": ("boolean", True),
    }


def test_a_rare_word_for_true_is_a_value_where_the_other_one_was_told() -> None:
    """It is below any threshold, and known without the rows."""
    rows = {
        "paid": ["yes" if i < 9 else "no" for i in range(ROWS)],
        "done": ["Y" if i % 2 else "" for i in range(ROWS)],
        "town": ["No" if i % 2 else "Lo" for i in range(ROWS)],
    }
    learnt = learn_schema(rows, epsilon=1, seed=0)
    assert {name: values_of(learnt, name) for name in rows} == {"paid": ("no", "yes"), "done": ("Y",), "town": ("Lo", "No")}


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        ({"FALSE": 90}, ["TRUE", "FALSE"]),
        ({"Nein": 90, "Ja": 1}, ["Ja", "Nein"]),
        ({"no": 90}, ["yes", "no"]),
        ({"no": 50, "si": 40, "yes": 3}, ["si", "no"]),
        ({"N": 90, "J": 3}, ["Y", "N"]),  # which of the two is rare may be noise
        ({"N": 50, "J": 40}, ["J", "N"]),
        ({"yes": 3, "no": 1}, []),
    ],
)
def test_words_that_the_first_question_tells(rows: dict[str, int], found: list[str]) -> None:
    plain = np.zeros(len(PLAIN), np.int64)
    plain[[WORDS[word] for word in rows]] = [*rows.values()]
    first = First(2.0, plain, (), plain[:0])
    assert known_words(first) == found
    assert (rows_of_words(first) > 0) == bool(found)
    plain[TEXT] = 90
    assert known_words(first) == [word for word in found if rows.get(word, 0) > 10]


@pytest.mark.promise(36)
def test_lengths_of_time_are_no_times_of_day() -> None:
    rng = np.random.default_rng(3)
    minutes, seconds = rng.integers(0, 2_000, ROWS), rng.integers(0, 150_000, ROWS)
    rows = {
        "stay": [f"{m // 60}:{m % 60:02}" for m in minutes.tolist()],  # a fourth of them above 23 hours
        "race": [f"{s // 3600}:{s // 60 % 60:02}:{s % 60:02}" for s in seconds.tolist()],
        "turn": [("12:00", "24:00", "48:00")[i % 3] for i in range(ROWS)],
        "shut": [f"{i % 25}:00" for i in range(ROWS)],
        "odd": [f"{i % 24}:00" if i else "25:30" for i in range(ROWS)],
    }
    learnt = learn_schema(rows, epsilon=4, seed=0)
    assert {column.name: column.kind for column in learnt.columns} == {"turn": "categorical", "shut": "time", "odd": "time"}
    assert values_of(learnt, "turn") == ("12:00", "24:00", "48:00")
    assert (learnt["shut"].labels[-1], learnt["odd"].labels[-1]) == ("24:00", "23:00 to 23:59")


@pytest.mark.promise(27)
def test_hours_above_23_have_a_cell_of_their_own() -> None:
    texts = ["25:30", "112:05", "24:01", "30:00:59.5", "24:00", "24:00:00", "25:60", "1:2"]
    assert climbed(pa.array(texts)) == [LENGTH] * 4 + [MIDNIGHT] * 2 + [TEXT] * 2
