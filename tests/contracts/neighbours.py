"""Neighbouring tables of awkward people: every way in which one record can differ that a careless program would notice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date

from understudy.privacy import Unit

from .people import ANNA, HEIGHT, KEN, NOBODY, OUTSIDE, Row, person, random_people

ONLY_ONE = person("Paris", 7, 5.0, False, date(2022, 8, 8))
"""In ``TABLE`` nobody else lives in Paris."""

ODD_RECORDS: dict[str, Row] = {
    "nothing but nulls": NOBODY,
    "below the range": OUTSIDE[0],
    "far above the range": OUTSIDE[1],
    "an empty text and an infinity": OUTSIDE[2],
    "quotes, a line break, minus infinity": OUTSIDE[3],
    "not a number": OUTSIDE[4],
    "an unlisted category": person("Xanadu", 3, 1.0, True, date(2021, 1, 1)),
    "a category that nobody has": person("東京", 9, 7.9, False, date(2023, 12, 31)),
    "a duplicate": ANNA,
}

WRONG_TYPES: dict[str, Row] = {
    "a text for a number": {**ANNA, "age": "unknown", HEIGHT: "tall"},
    "a number for a text": {**ANNA, "city": 17, "joined": 4.5},
    "a fraction for a whole number": {**ANNA, "age": 2.5},
    "a text for a truth": {**ANNA, "seen": "perhaps"},
}
"""For forms of tables whose columns may hold anything."""

TABLE: list[Row] = [ANNA, ANNA, ONLY_ONE] + [row for row in random_people(40, 25, seed=3) if row["city"] in (None, "Zürich")]


@dataclass(frozen=True)
class Pair:
    """Two neighbouring tables, and under which unit they are neighbours."""

    name: str
    unit: Unit
    table: Sequence[Row]
    other: Sequence[Row]


def pairs(records: dict[str, Row] = ODD_RECORDS) -> list[Pair]:
    """Return every pair: a record more, a record fewer, a record replaced; and the smallest tables."""
    found = [Pair(f"one more: {name}", Unit.ADD_REMOVE, TABLE, [*TABLE, row]) for name, row in records.items()]
    found += [Pair(f"replaced by: {name}", Unit.REPLACE, TABLE, [row, *TABLE[1:]]) for name, row in records.items()]
    if records is not ODD_RECORDS:
        return found
    without = [row for row in TABLE if row is not ONLY_ONE]
    return [
        *found,
        Pair("one fewer: the only one of a category", Unit.ADD_REMOVE, TABLE, without),
        Pair("one fewer: a duplicate", Unit.ADD_REMOVE, TABLE, TABLE[1:]),
        Pair("replaced: the only one of a category", Unit.REPLACE, TABLE, [*without, ANNA]),
        Pair("one more than none", Unit.ADD_REMOVE, [], [KEN]),
        Pair("replaced: all there is", Unit.REPLACE, [NOBODY], [KEN]),
    ]


PAIRS = pairs()
QUICK_NAMES = (
    "one more: nothing but nulls",
    "one more: an unlisted category",
    "replaced by: not a number",
    "one fewer: the only one of a category",
    "replaced: all there is",
)
QUICK = [pair for pair in PAIRS if pair.name in QUICK_NAMES]
Form = Callable[[Sequence[Row]], object]
