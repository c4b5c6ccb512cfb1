"""A schema, tables of awkward people, and a brute-force count that shares no code with the package."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from math import isnan
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from understudy.schema import Schema, parse_schema

Row = dict[str, Any]

HEIGHT = 'Größe "cm"'
SCHEMA_TEXT = """
[columns.city]
kind = "categorical"
values = ["Zürich", "東京", "Paris"]
other = "elsewhere"
nullable = true

[columns.age]
kind = "integer"
min = 0
max = 9
other = 0

[columns.'Größe "cm"']
kind = "real"
min = 0
max = 8
bins = 4
nullable = true

[columns.seen]
kind = "boolean"
nullable = true

[columns.joined]
kind = "date"
min = 2020-01-01
max = 2023-12-31
width = "year"
nullable = true
"""

TYPES = pa.schema(
    [
        ("note", pa.string()),
        ("patient", pa.string()),
        ("joined", pa.date32()),
        (HEIGHT, pa.float64()),
        ("seen", pa.bool_()),
        ("city", pa.string()),
        ("age", pa.int64()),
    ]
)
"""The tables have two columns more than the schema, and another order."""


ORDER = """
[[zeros]]
always = 'age <= `Größe "cm"`'
"""


def schema() -> Schema:
    return parse_schema(SCHEMA_TEXT)


def ordered() -> Schema:
    """The same columns, two of them in order: how far apart they are is counted, too."""
    return parse_schema(SCHEMA_TEXT + ORDER)


def person(city: str | None, age: int | None, height: float | None, seen: bool | None, joined: date | None) -> Row:
    return {
        "city": city,
        "age": age,
        HEIGHT: height,
        "seen": seen,
        "joined": joined,
        "note": "ignored, please",
        "patient": None,
    }


ANNA = person("Zürich", 3, 1.5, True, date(2020, 1, 1))
KEN = person("東京", 9, 7.9, False, date(2023, 12, 31))
NOBODY = person(None, None, None, None, None)
OUTSIDE = [
    person("Atlantis", -5, -1.0, True, date(1999, 5, 5)),
    person("zürich", 10**12, 8.0, False, date(2050, 1, 1)),
    person("", 99, float("inf"), None, date(2021, 6, 1)),
    person('Pa"ris, the\nother', 0, float("-inf"), True, None),
    person("Paris", 4, float("nan"), False, date(2022, 2, 2)),
]


def random_people(rows: int, distinct: int, seed: int) -> list[Row]:
    rng = np.random.default_rng(seed)
    pool = [
        person(
            [None, "Zürich", "東京", "Paris", "Ōsaka 🏯"][rng.integers(5)],
            [None, -1, 0, 3, 8, 9, 12][rng.integers(7)],
            [None, float("nan"), -3.0, 0.0, 2.0, 3.25, 6.5, 99.0][rng.integers(8)],
            [None, True, False][rng.integers(3)],
            [None, date(2019, 12, 31), date(2020, 7, 1), date(2022, 1, 1), date(2023, 3, 3)][rng.integers(5)],
        )
        for _ in range(distinct)
    ]
    return [pool[i] for i in rng.integers(0, distinct, rows)]


TABLES: dict[str, Callable[[], list[Row]]] = {
    "empty": lambda: [],
    "one row": lambda: [KEN],
    "one null row": lambda: [NOBODY],
    "duplicates": lambda: [ANNA] * 7 + [KEN] * 5 + [NOBODY] * 3,
    "outside the schema": lambda: [*OUTSIDE, ANNA],
    "random": lambda: random_people(500, 300, seed=1),
    "many batches": lambda: random_people(150_000, 200, seed=2),
}

CLIQUES = [
    (),
    ("city",),
    ("age", "seen"),
    ("city", "age", HEIGHT),
    (HEIGHT, "joined"),
    ("city", "age", HEIGHT, "seen", "joined"),
    ("seen",),
    ("city",),
]


def code(row: Row) -> tuple[int, ...]:
    """Code one row by the words of the schema."""
    city, age, height, seen, joined = row["city"], row["age"], row[HEIGHT], row["seen"], row["joined"]
    no_height = height is None or isnan(height)
    return (
        4 if not city else {"Zürich": 0, "東京": 1, "Paris": 2}.get(city, 3),
        0 if age is None else min(max(age, 0), 9),
        4 if no_height else int(min(max(height, 0.0), 7.99) // 2),
        2 if seen is None else int(seen),
        4 if joined is None else min(max(joined.year - 2020, 0), 3),
    )


def apart(row: Row) -> int:
    """Return the cell of how far the height is above the age: steps of 8 / 2**30, then four a doubling; else the last."""
    age, height = row["age"], row[HEIGHT]
    if age is None or height is None or not 0 <= age <= height <= 8:
        return 4 + 28 * 4 + 1
    steps = int((height - age) * 2**27 + 1e-6)
    return steps if steps < 4 else 4 * (steps.bit_length() - 2) + (steps >> steps.bit_length() - 3) - 4


def codes(rows: Sequence[Row]) -> NDArray[np.int64]:
    known: dict[int, tuple[int, ...]] = {}
    coded = [known.setdefault(id(row), code(row)) for row in rows]
    return np.array(coded, dtype=np.int64).reshape(len(rows), 5)


def brute_force(rows: Sequence[Row], clique: Sequence[str]) -> NDArray[np.int64]:
    """Count by walking over the rows, one at a time."""
    domain = schema().domain
    result = np.zeros(domain.shape(clique), np.int64)
    columns = [domain.index(name) for name in clique]
    for row in codes(rows).tolist():
        result[tuple(row[i] for i in columns)] += 1
    return result


def arrow(rows: Sequence[Row]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=TYPES)
