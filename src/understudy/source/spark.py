"""A Spark table, counted where its rows lie: what comes here are counts.

PRIVATE: the counts are exact. Spark is imported only by whoever has it; its own errors, which may quote rows, are not told.
"""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique, Domain
from understudy.errors import SourceError
from understudy.source.frames import require
from understudy.source.guard import guarded
from understudy.source.protocol import Declared
from understudy.source.spark_tasks import BLOCK, CODED, COUNTED, DEALT, Add, Count, Deal, Encode, Hold, add
from understudy.source.tables import needed, to_read, whole
from understudy.source.tally import positions_of

PASS_CELLS = 1 << 24
"""Cells that are counted in one pass, in 128 MB: as much as each task of an executor, and the driver, hold at a time."""
_ADVICE = "Does the table's own query run? Have the executors this package, and memory?"


def is_spark(data: Any) -> bool:
    """Say whether ``data`` is a DataFrame of Spark, classic or Connect, without importing Spark."""
    return type(data).__module__.startswith("pyspark.sql.") and type(data).__name__ == "DataFrame"


def spark_session() -> Any:
    """Return the session that Spark is set up for."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise SourceError('Spark needs PySpark 4: pip install "understudy[spark]".') from None
    with guarded("Spark", "Is Java 17 or later installed, and can the master be reached?"):
        session = SparkSession.builder.appName("understudy").getOrCreate()
        session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", 1 << 16)
        with suppress(Exception):  # a session of Spark Connect has no context of its own
            context = session.sparkContext
            context.setLogLevel("OFF")  # Spark's log may quote rows
            if context.master.startswith("local") and "PYSPARK_PYTHON" not in os.environ:
                context.pythonExec = sys.executable
    return session


def spark_frame(table: str | None, path: str | None) -> Any:
    """Return a table of Spark's catalog, or Parquet files as Spark reads them, in the session that Spark is set up for."""
    session = spark_session()
    with guarded(f'The Spark table "{table or path}"', "Is there such a table?"):
        return session.read.parquet(path) if table is None else session.table(table)


class SparkSource:
    """A table of Spark. A count is one pass, in which each partition is encoded and tallied where it lies.

    Marginals of more than ``PASS_CELLS`` cells in all take several passes. Then, and when it is counted again, and where
    persons are held to a limit, the codes of the rows are kept by Spark, in memory and on disk, until this goes away.
    """

    def __init__(self, frame: Any, schema: Declared) -> None:
        self.domain, self._all, person = schema.domain, whole(schema), schema.person
        with guarded("The Spark table"):
            found = list(frame.columns)  # known to Spark already: no row is read
        names = to_read(schema.columns)
        require(names if person is None else [*names, person.column], found, "The Spark table")
        self._frame, self._columns, self._person, self._gaps = frame, tuple(schema.columns), person, tuple(schema.gaps)
        self._kept: Any = None
        self._counted = 0

    def count(self, cliques: Sequence[Clique]) -> list[NDArray[np.int64]]:
        """Return the exact counts of each clique."""
        for clique in cliques:
            positions_of(self._all, clique)  # what cannot be counted is refused here
        passes = list(self._all.blocks(cliques, PASS_CELLS))
        self._counted += bool(passes)
        found: list[NDArray[np.int64]] = []
        with guarded("The Spark table", _ADVICE):
            for some in passes:
                found += self._pass(some, keep=self._person is not None or self._counted > 1 or len(passes) > 1)
        return found

    def _pass(self, cliques: Sequence[Clique], *, keep: bool) -> list[NDArray[np.int64]]:
        cells = [self._all.cells(clique) for clique in cliques]
        if keep:
            rows, task = self._coded(), Count(self._all, tuple(cliques), None)
        else:
            encode = self._encode(self._needed(cliques))
            rows, task = self._selected(encode), Count(encode.domain, tuple(cliques), encode)
        parts = rows.mapInArrow(task, COUNTED).repartition("block").mapInArrow(Add(sum(cells)), COUNTED)
        flat = np.zeros(sum(cells), np.int64)
        for row in parts.collect():
            start = row["block"] * BLOCK
            add(flat[start : start + BLOCK], row["places"], row["counts"])
        shapes = [self._all.shape(clique) for clique in cliques]
        return [part.reshape(shape) for part, shape in zip(np.split(flat, np.cumsum(cells)[:-1]), shapes, strict=True)]

    def _needed(self, cliques: Sequence[Clique]) -> Domain:
        """Only the columns that are named are read; one at least, since Spark counts no rows without columns."""
        named = {attribute for clique in cliques for attribute in clique} or {next(iter(self.domain))}
        return self._all.project(self._all.clique(named))

    def _coded(self) -> Any:
        """Return the codes of all rows that are used, which Spark keeps from here on."""
        if self._kept is None:
            coded = self._all_coded()
            self._kept = coded.persist()
            weakref.finalize(self, _let_go, self._kept)
        return self._kept

    def _all_coded(self) -> Any:
        encode, person = self._encode(self._all), self._person
        if person is None:
            return self._selected(encode).mapInArrow(encode, CODED)
        dealt = self._selected(encode, person.column).mapInArrow(Deal(encode, person), DEALT)
        hold = Hold(encode.domain.sizes, person.rows)
        # Grouped, not merely dealt out again: Spark promises that a group has all of its rows.
        return dealt.groupBy("bucket").applyInArrow(lambda bucket: hold(bucket), CODED)  # noqa: PLW0108 no object will do

    def _encode(self, domain: Domain) -> Encode:
        return Encode(tuple(needed(self._columns, domain, self._gaps)), domain, self._gaps)

    def _selected(self, encode: Encode, *more: str) -> Any:
        names = [*to_read(encode.columns), *more]
        return self._frame.select(*("`" + name.replace("`", "``") + "`" for name in names))


def _let_go(kept: Any) -> None:
    with suppress(Exception):  # its session may have ended before
        kept.unpersist()
