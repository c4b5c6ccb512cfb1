"""What the data show of one column: its values, and how many rows have each.

NOT PRIVATE: looks at all values of a column, for a draft.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from understudy.review.opening import VIEW, Opened, texts_of
from understudy.review.types import Spelling
from understudy.review.usual import Counted
from understudy.schema.reading import is_text
from understudy.source.duck import identifier, literal

WIDEST = 1e300
_MOST = 1_000_000
"""Of more different numbers than this, so many are looked at."""


@dataclass(frozen=True)
class Seen:
    """One column: its type, its rows, those without a value, and the number of its different values."""

    opened: Opened
    name: str
    type: pa.DataType
    rows: int
    missing: int
    distinct: int

    @property
    def spelling(self) -> Spelling:
        """What its texts spell."""
        return self.opened.spellings.get(self.name, Spelling("VARCHAR"))

    @property
    def of_text(self) -> bool:
        """Whether what it holds was spelled as text."""
        return self.name in self.opened.spellings

    @cached_property
    def nulls(self) -> tuple[str, ...]:
        """The texts that mean "missing", the commonest first; blank is one of them where it is the commonest."""
        if not self.spelling.missing:
            return ()
        name = identifier(self.name)
        words = ", ".join(map(literal, self.spelling.missing))
        [(named,)] = self.opened.ask(f"SELECT coalesce(max(n), 0) FROM ({texts_of(self.name)}) WHERE v IN ({words})")
        [(blank,)] = self.opened.ask(f"SELECT count(*) FILTER (trim({name}) = '' OR {name} IS NULL) FROM understudy_copy")
        return ("", *self.spelling.missing) if blank > named else self.spelling.missing

    def strays(self) -> dict[str, int]:
        """Return the texts that do not spell what nearly all do, and how many rows have each."""
        if not self.spelling.nearly:
            return {}
        words = ", ".join(map(literal, ("", *self.spelling.missing)))
        odd = f"NOT ({self.spelling.fits()}) AND v NOT IN ({words})"
        return {str(v): int(n) for v, n in self.opened.ask(f"SELECT v, n FROM ({texts_of(self.name)}) WHERE {odd}")}

    def extremes(self) -> tuple[Any, Any]:
        """Return the first and the last moment."""
        micros = "::TIMESTAMP" if pa.types.is_timestamp(self.type) and self.type.tz is None else ""
        name = identifier(self.name)
        [(low, high)] = self.opened.ask(f"SELECT min({name}){micros}, max({name}){micros} FROM {VIEW}")
        return low, high

    def holds(self, condition: str) -> bool:
        """Whether a condition on ``v`` holds for every value."""
        [(answer,)] = self.opened.ask(f"SELECT bool_and({condition}) FROM (SELECT {identifier(self.name)} AS v FROM {VIEW})")
        return answer is not False

    def multiple_of(self, seconds: str, steps: Sequence[int]) -> int | None:
        """Return the first of ``steps`` that every moment of ``v`` is a multiple of, in the SQL of its ``seconds``."""
        asked = ", ".join(f"bool_and(({seconds}) % {step} = 0)" for step in steps)
        [answers] = self.opened.ask(f"SELECT {asked} FROM (SELECT {identifier(self.name)} AS v FROM {VIEW})")
        return next((step for step, holds in zip(steps, answers, strict=True) if holds), None)

    def ranked(self, most: int) -> list[tuple[str, int]]:
        """Return the commonest texts, at most ``most``, and how many rows have each."""
        text = f"{identifier(self.name)}::VARCHAR"
        query = f"SELECT {text} AS v, count(*) AS n FROM {VIEW} WHERE trim({text}) <> '' GROUP BY 1 ORDER BY n DESC, 1"
        return [(str(value), int(rows)) for value, rows in self.opened.ask(f"{query} LIMIT {most}")]

    def prefixes(self, longest: int) -> list[int]:
        """Return how many different beginnings of 1, 2, … characters there are."""
        text = f"trim({identifier(self.name)}::VARCHAR)"
        counts = ", ".join(f"count(DISTINCT left({text}, {length}))" for length in range(1, longest + 1))
        return [int(count) for count in self.opened.ask(f"SELECT {counts} FROM {VIEW} WHERE {text} <> ''")[0]]

    @cached_property
    def counted(self) -> Counted:
        """The numbers of the column that bins can hold."""
        name = identifier(self.name)
        number = f"SELECT {name}::DOUBLE AS v, count(*) AS n FROM {VIEW} WHERE abs({name}::DOUBLE) <= {WIDEST} GROUP BY 1"
        some = f"SELECT * FROM ({number}) USING SAMPLE {_MOST}" if self.distinct > _MOST else number
        found = self.opened.ask(f"SELECT list(v ORDER BY v), list(n ORDER BY v) FROM ({some})")[0]
        return Counted(np.array(found[0] or [], np.float64), np.array(found[1] or [], np.int64))

    def decimals(self) -> dict[int, int]:
        """Return how many rows have a text of so many decimals; those with an exponent have very many."""
        words = ", ".join(map(literal, ("", *self.spelling.missing)))
        places = f"CASE WHEN contains(lower(v), 'e') THEN 99 ELSE length(split_part({self.spelling.plain('v')}, '.', 2)) END"
        read = f"v NOT IN ({words})" + (f" AND {self.spelling.fits()}" if self.spelling.nearly else "")
        query = f"SELECT {places} AS p, sum(n) FROM ({texts_of(self.name)}) WHERE {read} GROUP BY p ORDER BY p"
        return {int(places): int(rows) for places, rows in self.opened.ask(query)}


def look(opened: Opened, field: pa.Field) -> Seen:
    """Look at one column."""
    name = identifier(field.name)
    present = f"count({name})"
    if pa.types.is_floating(field.type):
        present += f" FILTER (NOT isnan({name}))"
    elif pa.types.is_dictionary(field.type) or is_text(field.type):
        present += f" FILTER (trim({name}::VARCHAR) <> '')"
    query = f"SELECT count(*), count(*) - {present}, approx_count_distinct({name}) FROM {VIEW}"
    [(rows, missing, distinct)] = opened.ask(query)
    return Seen(opened, field.name, field.type, rows, missing, distinct)
