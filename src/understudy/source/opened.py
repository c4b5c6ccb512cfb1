"""A declared table with open columns: counted as it is declared, and the texts of these columns by themselves.

PRIVATE: holds the table and its texts. Only the privacy room may call ``count`` and ``texts``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from understudy.domain import Clique
from understudy.errors import SourceError
from understudy.schema import Schema
from understudy.schema.listed import Listed, spell_number
from understudy.schema.reading import Fault
from understudy.source.spark import is_spark
from understudy.source.undeclared import NOTHING, Counts, Speller, texts_of
from understudy.source.unopened import unopened

_EXACT = 2.0**53


class OpenSource:
    """Counts a table in which every text of an open column is the catch-all; and tells the texts of such a column."""

    def __init__(self, data: Any, schema: Schema) -> None:
        _require_told(data, schema)
        self.domain = schema.domain
        self._data, self._schema = data, schema
        self._counted = unopened(data, schema)
        self.fine = self._counted.fine

    def count(self, cliques: Sequence[Clique]) -> list[Counts]:
        """Return the exact counts of each clique."""
        return self._counted.count(cliques)

    def texts(self, column: str) -> tuple[list[str], Counts]:
        """Return the different texts of an open column in alphabetical order, and exactly how many rows have each."""
        schema = self._schema
        declared = next(one for one in schema.open if one.name == column)
        return texts_of(self._data, OpenSpeller(column, declared=declared), schema.person, schema.csv)

    def spelled(self) -> Iterator[tuple[list[str], Counts]]:
        """Yield the texts of each open column with the rows that have them, all rows of a person: which table this is.

        Which rows of a person are used is another matter in each read of texts, and says nothing of that.
        """
        for column in self._schema.open:
            yield texts_of(self._data, OpenSpeller(column.name, declared=column), None, self._schema.csv)


@dataclass(frozen=True, kw_only=True)
class OpenSpeller(Speller):
    """Tells texts as the column will when they are listed: without what means "missing", cut where a prefix is declared."""

    declared: Listed

    def told(self, texts: pa.Array) -> list[str]:
        """Return what each text counts as; empty where it is missing, or the catch-all already."""
        cut = texts if self.declared.prefix is None else pc.utf8_slice_codeunits(texts, 0, self.declared.prefix)
        listed = (self.declared.faults(texts) == Fault.UNLISTED) & (self.declared.faults(cut) == Fault.UNLISTED)
        return [text if fits else "" for text, fits in zip(cut.to_pylist(), listed.tolist(), strict=True)]

    def of_numbers(self, numbers: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the mark of each number, spelled as the column would read it; a number that is not exact has none."""
        distinct, rows = np.unique(numbers, return_inverse=True)
        exact = (np.abs(distinct) < _EXACT) & (self.declared.faults(pa.array(distinct)) == Fault.UNLISTED)
        spelled = [spell_number(one) if fits else "" for one, fits in zip(distinct.tolist(), exact.tolist(), strict=True)]
        marks = np.array([self.mark(one) for one in self.told(pa.array(spelled, pa.large_string()))] or [NOTHING], np.int64)
        return np.asarray(marks[rows.reshape(-1)])


def _require_told(data: Any, schema: Schema) -> None:
    """Refuse a table that cannot tell its texts, before anything is spent."""
    names = ", ".join(f'"{column.name}"' for column in schema.open)
    if is_spark(data):
        raise SourceError(
            f"Open columns ({names}) cannot be learnt from a Spark table: write it to Parquet files, or list their values."
        )
    if isinstance(data, pa.RecordBatchReader):
        raise SourceError(f"A stream can be read once only, and open columns ({names}) are read on their own: give a table.")
    if isinstance(data, np.ndarray) and data.dtype.names is None:
        raise SourceError(f"An array of codes has no texts, so it has no open columns ({names}): give a table with names.")
