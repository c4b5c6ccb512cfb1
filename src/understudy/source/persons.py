"""Holds each person to so many rows of a table, in every pass over it.

PRIVATE: knows who has how many rows. Which rows of a person are used depends on that person alone: on the identifier, and on
what the rows say. Their order does not count, since a query may give another one when other people's rows change. So one
person more adds so many rows at most, and changes nothing of the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from understudy.schema.person import Identities, Words, scrambled
from understudy.schema.reading import Bools
from understudy.source.codes import Codes

Counts = NDArray[np.int64]
T = TypeVar("T", "Marks", "Census")

_BUCKETS = 64
_BUFFER_ROWS = 2**20

BYTES_A_ROW = 24
"""What a row takes while persons are counted for the first time; after that, a person takes about 64 bytes."""


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

    def take(self, rows: NDArray[np.integer] | Bools) -> Marks:
        """Return some of the rows."""
        return Marks(self.first[rows], self.second[rows], self.rank[rows])

    def buckets(self) -> list[Marks]:
        """Take rows apart by their first bits; the rows of a person stay together."""
        number = (self.first >> np.uint64(64 - _BUCKETS.bit_length() + 1)).astype(np.intp)
        order = np.argsort(number, kind="stable")
        ends = np.cumsum(np.bincount(number, minlength=_BUCKETS))
        return [self.take(rows) for rows in np.split(order, ends[:-1])]


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
        buckets: list[list[Marks]] = [[] for _ in range(_BUCKETS)]
        waiting = [Marks.none()]
        for batch in marks:
            waiting.append(batch)
            if sum(len(part.rank) for part in waiting) >= _BUFFER_ROWS:
                _spread(waiting, buckets)
        waiting.append(Marks.none())
        _spread(waiting, buckets)
        return _joined(cls, [_census(_joined(Marks, bucket), most) for bucket in buckets])

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


def _spread(waiting: list[Marks], buckets: Sequence[list[Marks]]) -> None:
    """Put the rows that wait into their buckets."""
    for bucket, part in zip(buckets, _joined(Marks, waiting).buckets(), strict=True):
        bucket.append(part)


def _joined(kind: type[T], parts: list[T]) -> T:
    """Put parts together, and empty the list, so that they are not held any longer."""
    names = [field.name for field in fields(kind)]
    whole = kind(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))
    parts.clear()
    return whole
