"""Opens the tables of an evaluation: as a source of exact counts, and as rows to read once.

PRIVATE: holds rows of the real table.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from understudy.measures.rows import Rows, Tables, read_rows, rows_of_codes
from understudy.schema import Schema
from understudy.source import Csv, MemorySource, Source, Sql, StreamedSource, open_source
from understudy.source.frames import read_arrow
from understudy.source.guard import guarded
from understudy.source.opening import in_figures, open_reader
from understudy.source.protocol import Reader
from understudy.source.tables import AllRows, rows_of, to_read


class Synthetic(Protocol):
    """A release, as far as its rows go."""

    @property
    def schema(self) -> Schema:
        """What the table may contain."""

    @property
    def arrow(self) -> pa.Table:
        """The synthetic table."""

    @property
    def weight(self) -> float:
        """How many real rows one synthetic row stands for."""


def open_table(data: Any, schema: Schema) -> tuple[Source, Reader | None]:
    """Return a source of counts, and what reads the rows again; None for an array, which has codes alone.

    A stream can be read once, so frames and streams are held as what they were read into.
    """
    if _codes_alone(data):
        return open_source(data, schema), None
    person = schema.person
    names = to_read(schema.columns)
    names += [] if person is None else [person.column]
    reader = open_reader(data, names, schema.csv, in_figures(schema.columns))
    if isinstance(data, Sql | str | Path | Csv):
        return StreamedSource(reader, schema), reader
    with guarded(f"This {type(data).__name__}"):
        return MemorySource.of_reader(reader, schema), reader


def read_tables(data: Any, reader: Reader | None, release: Synthetic, holdout: Any, by: Sequence[str]) -> Tables:
    """Read all rows once, and sample them."""
    schema = release.schema
    made = AllRows(read_arrow(release.arrow, to_read(schema.columns)), schema)  # it has no column that identifies a person
    held = None if holdout is None else _rows(holdout, open_table(holdout, schema)[1], schema, ())
    return Tables(_rows(data, reader, schema, by), read_rows(made, schema, by), held, release.weight)


def _rows(data: Any, reader: Reader | None, schema: Schema, by: Sequence[str]) -> Rows:
    if reader is None:
        return rows_of_codes(np.asarray(data), schema, by)
    with guarded("The table"):
        return read_rows(rows_of(reader, schema), schema, by)


def _codes_alone(data: Any) -> bool:
    return isinstance(data, np.ndarray) and data.dtype.names is None
