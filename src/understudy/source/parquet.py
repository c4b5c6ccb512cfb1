"""Parquet files, streamed with only the columns that are needed.

PRIVATE: reads the rows. A value comes as it is stored; the name of a folder never becomes a column.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from understudy.source.frames import require_all_named
from understudy.source.guard import each, guarded

ENDINGS = (".parquet", ".pq")
_BATCH_ROWS = 2**16


@dataclass(frozen=True)
class ParquetFile:
    """One Parquet file."""

    path: str

    @property
    def what(self) -> str:
        """Name the file in a message."""
        return f'The file "{self.path}"'

    def columns(self) -> list[str]:
        """Return the names of the columns."""
        return list(self._schema().names)

    def types(self) -> pa.Schema:
        """Return the names and types of the columns, for whoever takes them all: each must have a name."""
        found = self._schema()
        require_all_named(found.names, self.what)
        return found

    def _schema(self) -> pa.Schema:
        with self._open() as file, self._guard:
            return file.schema_arrow

    def batches(self, names: Sequence[str], found: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield all rows, some at a time, with the columns ``names``; without any, one column of nulls."""
        with self._open() as file:
            if not names:
                yield pa.RecordBatch.from_arrays([pa.nulls(file.metadata.num_rows)], names=[""])
                return
            for batch in each(file.iter_batches(_BATCH_ROWS, columns=list(names), use_threads=False), self._guard):
                # By name, since "a.b" may also be a part of a column "a".
                arrays = [batch.column(batch.schema.get_field_index(name)) for name in names]
                yield pa.RecordBatch.from_arrays(arrays, names=list(names))

    @property
    def _guard(self) -> guarded:
        return guarded(self.what, "Is it a whole Parquet file?")

    @contextmanager
    def _open(self) -> Iterator[pq.ParquetFile]:
        with self._guard:
            file = pq.ParquetFile(self.path, buffer_size=2**20, pre_buffer=False)
        with file:
            yield file
