"""Holds each person to so many rows of a table, in every pass over it.

PRIVATE: knows who has how many rows. Which rows of a person are used depends on that person alone: on the identifier, and on
what the rows say. Their order does not count, since a query may give another one when other people's rows change. So one
person more adds so many rows at most, and changes nothing of the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, fields
from tempfile import TemporaryFile
from typing import BinaryIO, TypeVar

import numpy as np
from numpy.typing import NDArray

from understudy.schema.person import Identities, Words, scrambled
from understudy.schema.reading import Bools
from understudy.source.codes import Codes

Counts = NDArray[np.int64]
T = TypeVar("T", "Marks", "Census")

_BUCKETS = 64
_BUFFER_ROWS = 2**20
_BYTES_A_PERSON = 75
_HELD_ROWS = 2**23
"""Rows whose marks are held in memory, in 200 MB; those of a larger table go to files without a name."""


@dataclass(frozen=True, eq=False)
class Marks:
    """Rows of persons: 128 bits that say whose each is, and 64 that say what is in it, mixed with whose it is.

    Rows of one person have the same ``rank`` where all their codes are the same: then it does not matter which is used.
    """

    first: Words
    second: Words
    rank: Words

    @classmethod
    def none(cls) -> Marks:
        """No rows."""
        return cls(*(np.empty(0, np.uint64) for _ in range(3)))

    @classmethod
    def of(cls, identities: Identities, codes: Codes) -> Marks:
        """Mark rows; those of nobody too."""
        rank = scrambled(identities.first ^ scrambled(identities.second))
        for column in codes.columns:
            rank = scrambled(rank ^ column.astype(np.uint64))
        return cls(identities.first, identities.second, rank)

    @classmethod
    def from_bytes(cls, content: bytes) -> Marks:
        """Return the rows that were written as ``to_bytes`` does."""
        words = np.frombuffer(content, np.uint64).reshape(-1, 3)
        return cls(*(words[:, i].copy() for i in range(3)))

    def to_bytes(self) -> bytes:
        """Return all rows, one after another."""
        return np.column_stack([self.first, self.second, self.rank]).tobytes()

    def take(self, rows: NDArray[np.integer] | Bools) -> Marks:
        """Return some of the rows."""
        return Marks(self.first[rows], self.second[rows], self.rank[rows])

    def buckets(self) -> list[Marks]:
        """Take rows apart by their first bits; the rows of a person stay together."""
        number = (self.first >> np.uint64(64 - _BUCKETS.bit_length() + 1)).astype(np.intp)
        order = np.argsort(number, kind="stable")
        ends = np.cumsum(np.bincount(number, minlength=_BUCKETS))
        return [self.take(rows) for rows in np.split(order, ends[:-1])]


def memory_for(rows: int) -> int:
    """Return the bytes that holding persons to a limit may take for so many rows: each may be of another person."""
    return 24 * min(rows, _HELD_ROWS + _BUFFER_ROWS) + _BYTES_A_PERSON * rows


class Buckets:
    """Marks of a whole table, taken apart so that each bucket fits in memory: in memory, or in files where they are many."""

    def __init__(self) -> None:
        self._held: list[list[Marks]] = [[] for _ in range(_BUCKETS)]
        self._rows, self._files, self._opened = 0, ExitStack(), list[BinaryIO]()

    def __enter__(self) -> Buckets:
        return self

    def __exit__(self, *_: object) -> None:
        self._files.close()

    def add(self, marks: Marks) -> None:
        """Put rows into their buckets."""
        for held, part in zip(self._held, marks.buckets(), strict=True):
            held.append(part)
        self._rows += len(marks.rank)
        if self._rows > _HELD_ROWS:
            self._write()

    def each(self) -> Iterator[Marks]:
        """Yield the buckets one after another; none is held after that."""
        if self._opened:
            self._write()
        for number, held in enumerate(self._held):
            yield self._read(self._opened[number]) if self._opened else _joined(Marks, held)

    def _write(self) -> None:
        if not self._opened:
            self._opened = [self._files.enter_context(TemporaryFile()) for _ in self._held]  # noqa: SIM115
        for file, held in zip(self._opened, self._held, strict=True):
            file.write(_joined(Marks, held).to_bytes() if held else b"")
        self._rows = 0

    @staticmethod
    def _read(file: BinaryIO) -> Marks:
        file.seek(0)
        return Marks.from_bytes(file.read())


@dataclass(frozen=True, eq=False)
class Census:
    """Every person of a table, in the order of their bits, and which rows of each are used.

    Sort the rows of a person by rank, in a circle. Those used follow each other: they begin with ``at_low`` rows of rank
    ``low`` and end with ``at_high`` of rank ``high``. The identifier says where in the circle they begin. Each place has the
    same chance, so each row of a person is used with the same chance.
    """

    first: Words
    second: Words
    low: Words
    high: Words
    at_low: Counts
    at_high: Counts
    wraps: Bools

    @classmethod
    def of(cls, marks: Iterable[Marks], most: int) -> Census:
        """Read the rows of all persons, once; of each, ``most`` are used."""
        with Buckets() as buckets:
            waiting = [Marks.none()]
            for batch in marks:
                waiting.append(batch)
                if sum(len(part.rank) for part in waiting) >= _BUFFER_ROWS:
                    buckets.add(_joined(Marks, waiting))
                    waiting = [Marks.none()]
            buckets.add(_joined(Marks, waiting))
            return _joined(cls, [_census(bucket, most) for bucket in buckets.each()])

    def find(self, first: Words, second: Words) -> NDArray[np.intp]:
        """Return the place of each person, or -1 for one who is not here."""
        if not len(self.first):
            return np.full(len(first), -1, np.intp)
        last = len(self.first) - 1
        place = np.minimum(np.searchsorted(self.first, first), last)
        while True:  # persons that are alike in the first half of their bits stand side by side
            beside = (self.first[place] == first) & (self.second[place] != second) & (place < last)
            if not beside.any():
                break
            place[beside] += 1
        return np.where((self.first[place] == first) & (self.second[place] == second), place, -1)


class Limit:
    """One pass over a table: says of each row whether it is used. Of no person are more than ``most``, whatever comes."""

    def __init__(self, census: Census, most: int) -> None:
        self._census, self._most = census, most
        self._used, self._lowest, self._highest = (np.zeros(len(census.first), np.int64) for _ in range(3))

    def used(self, marks: Marks, missing: Bools) -> Bools:
        """Say which of the next rows are used. A row of nobody is a person of its own."""
        used = missing.copy()
        place = self._census.find(marks.first, marks.second)
        place[missing] = -1
        rows = np.flatnonzero(place >= 0)  # a person who was not there when all were read has no row to use
        chosen = self._chosen(place[rows], marks.rank[rows])
        rows, place = rows[chosen], place[rows][chosen]
        used[rows[_among_first(place, self._used, self._most)]] = True
        return used

    def _chosen(self, place: NDArray[np.intp], rank: Words) -> Bools:
        census = self._census
        low, high = census.low[place], census.high[place]
        above, below = rank > low, rank < high
        chosen = np.where(census.wraps[place], above | below, above & below)
        for edge, seen, number in ((low, self._lowest, census.at_low), (high, self._highest, census.at_high)):
            rows = np.flatnonzero((rank == edge) & ~chosen)
            chosen[rows[_among_first(place[rows], seen, number)]] = True
        return chosen


def _among_first(place: NDArray[np.intp], seen: Counts, most: Counts | int) -> Bools:
    """Say which rows are among the first ``most`` of their person, those ``seen`` before counted too, and count on."""
    order = np.argsort(place, kind="stable")
    persons, starts, lengths = np.unique(place[order], return_index=True, return_counts=True)
    number = np.arange(len(order)) - np.repeat(starts - seen[persons], lengths)
    seen[persons] += lengths
    limit = most if isinstance(most, int) else np.repeat(most[persons], lengths)
    found = np.empty(len(order), np.bool_)
    found[order] = number < limit
    return found


def _census(marks: Marks, most: int) -> Census:
    """Find the rows that are used of each person of a bucket."""
    order = np.lexsort((marks.rank, marks.second, marks.first))
    marks = marks.take(order)
    new = np.ones(len(order), np.bool_)
    new[1:] = (marks.first[1:] != marks.first[:-1]) | (marks.second[1:] != marks.second[:-1])
    starts = np.flatnonzero(new)
    rows = np.diff(starts, append=len(order))
    first, second = marks.first[starts], marks.second[starts]
    begin = (scrambled(first + scrambled(second)) % rows.astype(np.uint64)).astype(np.int64)
    begin[rows <= most] = 0
    last = begin + np.minimum(rows, most) - 1
    wraps = last >= rows
    new[1:] |= marks.rank[1:] != marks.rank[:-1]
    return _between(marks, np.flatnonzero(new), starts + begin, starts + last % rows, wraps)


def _between(marks: Marks, runs: NDArray[np.intp], begin: Counts, last: Counts, wraps: Bools) -> Census:
    """Describe the used rows of each person by their first and last place among the sorted ones.

    Rows of one rank stand side by side, in ``runs`` that begin at these places.
    """
    ends = np.append(runs[1:], len(marks.rank))
    of_begin, of_last = (np.searchsorted(runs, place, side="right") - 1 for place in (begin, last))
    after, before = ends[of_begin] - begin, last - runs[of_last] + 1
    same = of_begin == of_last
    at_low = np.where(same, np.where(wraps, after + before, last - begin + 1), after)
    return Census(
        marks.first[begin],
        marks.second[begin],
        marks.rank[begin],
        marks.rank[last],
        at_low,
        np.where(same, 0, before),
        wraps,
    )


def _joined(kind: type[T], parts: list[T]) -> T:
    """Put parts together, and empty the list: nothing is held twice."""
    columns = [[getattr(part, field.name) for part in parts] for field in fields(kind)]
    parts.clear()
    whole = []
    for column in columns:
        whole.append(np.concatenate(column))
        column.clear()
    return kind(*whole)
