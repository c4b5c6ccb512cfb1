"""What Spark's executors do with the rows of a table: encode, hold persons to a limit, count, add counts up.

PRIVATE: sees rows, codes and exact counts. Each task is a function from batches to batches that keeps nothing. Spark takes
the result of a task once, however often the task was begun, so no row counts twice. An error tells nothing of the rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from understudy.domain import Clique, Domain
from understudy.schema.person import Person, scrambled
from understudy.source.codes import Codes, chunk_rows, rechunk
from understudy.source.guard import guarded
from understudy.source.persons import Census, Limit, Marks
from understudy.source.protocol import Encoder, GapEncoder
from understudy.source.tables import encode_batch, to_read
from understudy.source.tally import Tally

CODED = "records binary"
DEALT = "bucket int, records binary"
COUNTED = "block int, places binary, counts binary"
"""The columns of what tasks hand on, as Spark spells them."""

BLOCK = 1 << 18
"""Cells whose counts travel together: 2 MB."""
_BUCKETS = 1024
"""Into which persons are dealt; a task holds one of them at a time."""
_CODED_ROWS, _DEALT_ROWS = 1 << 17, 1 << 18
_MARKED = (*(np.dtype(np.uint64),) * 3, np.dtype(np.bool_))
"""What stands before the codes of a dealt row: its marks, and whether it is nobody's."""

Batches = Iterator[pa.RecordBatch]
Records = NDArray[np.uint8]
Kind = np.dtype[Any]


@dataclass(frozen=True, eq=False)
class Encode:
    """Rows that have ``columns`` into codes of the attributes of ``domain``; as a task, into records of them."""

    columns: tuple[Encoder, ...]
    domain: Domain
    gaps: tuple[GapEncoder, ...] = ()

    def __call__(self, batches: Batches) -> Batches:
        """Return the codes as they are kept between passes."""
        with guarded("The Spark table"):
            for chunk in rechunk(self.codes(batches), _CODED_ROWS):
                yield _batch(CODED, [to_records(chunk.columns)])

    def codes(self, batches: Batches) -> Iterator[Codes]:
        """Encode batch by batch."""
        for batch in batches:
            yield self.one(batch)

    def one(self, batch: pa.RecordBatch) -> Codes:
        """Encode one batch."""
        return encode_batch(batch, self.columns, self.domain, self.gaps)


@dataclass(frozen=True, eq=False)
class Deal:
    """Rows into records with marks, dealt into buckets by who the person is. The last column identifies the person."""

    encode: Encode
    person: Person

    def __call__(self, batches: Batches) -> Batches:
        """Return one record a row, the rows of a bucket together."""
        with guarded("The Spark table"):
            waiting: list[Records] = []
            for batch in batches:
                waiting.append(self._records(batch))
                if sum(map(len, waiting)) >= _DEALT_ROWS:
                    yield _dealt(np.concatenate(waiting))
                    waiting = []
            if waiting:
                yield _dealt(np.concatenate(waiting))

    def _records(self, batch: pa.RecordBatch) -> Records:
        codes = self.encode.one(batch)
        who = self.person.identify(batch.column(len(to_read(self.encode.columns))))
        marks = Marks.of(who, codes)
        return to_records([marks.first, marks.second, marks.rank, who.missing, *codes.columns])


@dataclass(frozen=True, eq=False)
class Hold:
    """All rows of a bucket into those that are used: of each person so many."""

    sizes: tuple[int, ...]
    most: int

    def __call__(self, bucket: pa.Table) -> pa.Table:
        """Return the codes of the rows that are used. The bucket has all rows of each of its persons."""
        with guarded("The Spark table"):
            records = np.concatenate([np.frombuffer(cell.as_buffer(), np.uint8) for cell in bucket.column("records")])
            first, second, rank, missing, *codes = from_records(records, [*_MARKED, *_kinds(self.sizes)])
            marks = Marks(first, second, rank)
            used = Limit(Census.of([marks.take(~missing)], self.most), self.most).used(marks, missing)
            return pa.Table.from_batches([_batch(CODED, [to_records([column[used] for column in codes])])])


@dataclass(frozen=True, eq=False)
class Count:
    """Rows, or records of codes where ``encode`` is None, into the counts of ``cliques`` over one partition."""

    domain: Domain
    cliques: tuple[Clique, ...]
    encode: Encode | None

    def __call__(self, batches: Batches) -> Batches:
        """Return the counts in blocks, without those in which nothing was counted."""
        with guarded("The Spark table"):
            tally = Tally(self.domain, self.cliques)
            for chunk in rechunk(self._codes(batches), chunk_rows(self.domain.sizes)):
                tally.add(chunk)
            flat = np.concatenate([counts.reshape(-1) for counts in tally.counts()])
            del tally
            for number, start in enumerate(range(0, len(flat), BLOCK)):
                yield from _counted(number, flat[start : start + BLOCK])

    def _codes(self, batches: Batches) -> Iterator[Codes]:
        if self.encode is not None:
            yield from self.encode.codes(batches)
            return
        for batch in batches:
            for cell in batch.column(0):
                columns = from_records(np.frombuffer(cell.as_buffer(), np.uint8), _kinds(self.domain.sizes))
                yield Codes(len(columns[0]), tuple(columns))


@dataclass(frozen=True)
class Add:
    """Counts of partitions into their sums, block by block; there are so many ``cells`` in all."""

    cells: int

    def __call__(self, batches: Batches) -> Batches:
        """Add up what came here. Sums of one block may still come from several tasks: they add up, too."""
        with guarded("The Spark table"):
            sums: dict[int, NDArray[np.int64]] = {}
            for batch in batches:
                for block, places, counts in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                    if block not in sums:
                        sums[block] = np.zeros(min(BLOCK, self.cells - block * BLOCK), np.int64)
                    add(sums[block], places, counts)
            for block in sorted(sums):
                yield from _counted(block, sums.pop(block))


def add(block: NDArray[np.int64], places: bytes | None, counts: bytes) -> None:
    """Add counts that ``Count`` or ``Add`` has handed on: of all cells, or of those at ``places``."""
    found = np.frombuffer(counts, np.int64)
    if places is None:
        block += found
    else:
        block[np.frombuffer(places, np.uint32)] += found


def _counted(number: int, block: NDArray[np.int64]) -> Batches:
    """Hand a block on: only the cells that are not zero where these are few, nothing where there are none."""
    places = np.flatnonzero(block).astype(np.uint32)
    if not len(places):
        return
    sparse = 12 * len(places) < 8 * len(block)
    counts = block[places] if sparse else block
    yield _batch(COUNTED, [number], [places if sparse else None], [counts])


def _dealt(records: Records) -> pa.RecordBatch:
    """Put the records of each bucket together."""
    first, second, rank, missing = from_records(records[:, :25].reshape(-1), _MARKED)
    mixed = scrambled(np.where(missing, rank, first ^ scrambled(second)))
    number = (mixed >> np.uint64(54)).astype(np.intp)  # 10 bits: 0 … _BUCKETS - 1
    order = np.argsort(number, kind="stable")
    ends = np.cumsum(np.bincount(number, minlength=_BUCKETS))
    parts = [(bucket, records[rows]) for bucket, rows in enumerate(np.split(order, ends[:-1])) if len(rows)]
    return _batch(DEALT, [bucket for bucket, _ in parts], [part for _, part in parts])


def _batch(columns: str, *values: Sequence[Any]) -> pa.RecordBatch:
    """Make a batch of ``columns``; arrays become their bytes."""
    fields = [one.split() for one in columns.split(", ")]
    types = {"int": pa.int32(), "binary": pa.binary()}
    made = [
        pa.array([one.tobytes() if isinstance(one, np.ndarray) else one for one in column], types[kind])
        for (_, kind), column in zip(fields, values, strict=True)
    ]
    return pa.RecordBatch.from_arrays(made, names=[name for name, _ in fields])


def _kinds(sizes: Iterable[int]) -> list[Kind]:
    """The types of the columns of codes; see ``narrow``."""
    return [np.min_scalar_type(size - 1) for size in sizes]


def to_records(columns: Sequence[NDArray[Any]]) -> Records:
    """Return one row of bytes for each row of ``columns``."""
    ends = np.cumsum([column.dtype.itemsize for column in columns])
    records = np.empty((len(columns[0]), int(ends[-1])), np.uint8)
    for column, end in zip(columns, ends, strict=True):
        width = column.dtype.itemsize
        records[:, end - width : end] = np.ascontiguousarray(column).view(np.uint8).reshape(-1, width)
    return records


def from_records(content: NDArray[np.uint8], kinds: Sequence[Kind]) -> list[NDArray[Any]]:
    """Return the columns of what ``to_records`` made, given as bytes in a row."""
    ends = np.cumsum([kind.itemsize for kind in kinds])
    records = content.reshape(-1, int(ends[-1]))
    return [
        np.ascontiguousarray(records[:, end - kind.itemsize : end]).view(kind).reshape(-1)
        for kind, end in zip(kinds, ends, strict=True)
    ]
