"""A table that is opened when it is first counted: until then, only what holds no value is looked at.

PRIVATE: holds the table. Opening a frame codes its rows, a lazy frame or a query may run over them even to tell its columns;
whether that fails may depend on the rows, so it waits until a question was paid for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from understudy.domain import NOTHING, Clique, Domain
from understudy.source.csv import Csv
from understudy.source.guard import unforeseen
from understudy.source.opening import is_series, open_source
from understudy.source.protocol import Declared, Source
from understudy.source.spark import is_spark
from understudy.source.sql import Sql, require_query


class Unopened:
    """A source that opens its table at the first count. However that or counting fails, nothing of the table is told.

    ``fine`` are the attributes inside bins that it can count.
    """

    def __init__(self, domain: Domain, open_: Callable[[], Source], fine: Domain = NOTHING) -> None:
        self.domain, self.fine = domain, fine
        self._open: Callable[[], Source] | None = open_
        self._source: Source | None = None

    def count(self, cliques: Sequence[Clique]) -> list[NDArray[np.int64]]:
        """Return the exact counts of each clique."""
        with unforeseen("The table"):
            if self._source is None:
                assert self._open is not None
                self._source, self._open = self._open(), None  # the table itself is needed no longer
            return self._source.count(cliques)


def unopened(data: Any, schema: Declared) -> Unopened:
    """Return the source of ``data``, of which no row is read yet; a wrong kind or a missing column is told now.

    Of files, that is their names and headers; of a Spark frame, the columns that Spark knows; of other frames, dicts and
    arrays, what an empty one of the same columns tells. Of a lazy frame, a stream or a query nothing is asked for: its
    columns are looked for at the first count.
    """
    if isinstance(data, str | Path | Csv) or is_spark(data):
        named = open_source(data, schema)
        return Unopened(schema.domain, lambda: named, schema.fine)
    if isinstance(data, Sql):
        require_query(data)
    elif not _lazy(data):
        open_source(_without_rows(data), schema)
    return Unopened(schema.domain, lambda: open_source(data, schema), schema.fine if _has_values(data) else NOTHING)


def _has_values(data: Any) -> bool:
    """Say whether rows come here with their values: those of an array of codes have none inside their bins."""
    if isinstance(data, np.ndarray):
        return data.dtype.names is not None
    known = isinstance(data, Sql | Mapping) or hasattr(data, "__arrow_c_stream__")
    return known or type(data).__module__.partition(".")[0] in ("pandas", "polars")


def _lazy(data: Any) -> bool:
    """Say whether asking for columns could run something over the rows."""
    known = isinstance(data, np.ndarray | Mapping | pa.Table | pa.RecordBatch | pa.RecordBatchReader)
    return not (known or _is_frame(data) or is_series(data)) and (
        hasattr(data, "__arrow_c_stream__") or type(data).__name__ == "LazyFrame"
    )


def _is_frame(data: Any) -> bool:
    return type(data).__module__.partition(".")[0] in ("pandas", "polars") and type(data).__name__ == "DataFrame"


def _without_rows(data: Any) -> Any:
    """Return the same table without its rows; what is no table comes back as it is."""
    if isinstance(data, np.ndarray):
        return data[:0] if data.ndim else data
    if isinstance(data, Mapping):
        return {name: values if isinstance(values, str | bytes | Mapping) else [] for name, values in data.items()}
    if isinstance(data, pa.RecordBatchReader):
        return data.schema.empty_table()
    if isinstance(data, pa.Table | pa.RecordBatch):
        return data.slice(0, 0)
    return data.head(0) if _is_frame(data) else data
