"""Coded rows in memory: narrow columns, and how often each row occurs.

PRIVATE: these are the records of the table, as codes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Column = NDArray[np.unsignedinteger]
Counts = NDArray[np.int64]

_CHUNK_ROWS = 2**20
_CHUNK_BYTES = 2**26
_TRANSPOSE_ROWS = 2**13  # rows stored one after another are taken apart while they are in the cache


@dataclass(frozen=True)
class Codes:
    """A batch of coded rows: one contiguous array a column, each in the smallest type that holds its codes.

    ``weights`` says how often each row occurs; without them each occurs once.
    """

    rows: int
    columns: tuple[Column, ...]
    weights: Counts | None = None

    def rows_between(self, start: int, stop: int) -> Codes:
        """Return a view of some of the rows."""
        weights = None if self.weights is None else self.weights[start:stop]
        columns = tuple(column[start:stop] for column in self.columns)
        return Codes(min(stop, self.rows) - start, columns, weights)


def narrow(column: NDArray[np.integer], size: int) -> Column:
    """Return ``column`` in the smallest unsigned type for codes 0 … size-1; a code outside goes to the edge.

    Codes made by a schema are always inside. The clamp is for arrays of a user's own: a wrong code must
    neither raise (it would disclose a record) nor drop a row.
    """
    result: Column = np.empty(len(column), np.min_scalar_type(size - 1))
    limits = np.iinfo(column.dtype)
    np.clip(column, max(0, limits.min), min(size - 1, limits.max), out=result, casting="unsafe")
    return result


def pack(codes: NDArray[np.integer], sizes: Sequence[int]) -> Codes:
    """Take a rows × columns array of codes apart into narrow columns."""
    step = len(codes) if codes.flags.f_contiguous else _TRANSPOSE_ROWS
    blocks = (codes[start : start + step] for start in range(0, len(codes), max(step, 1)))
    parts = [Codes(len(b), tuple(narrow(b[:, i], size) for i, size in enumerate(sizes))) for b in blocks]
    return _concatenate(parts or [Codes(0, tuple(narrow(codes[:, i], size) for i, size in enumerate(sizes)))])


def chunk_rows(sizes: Sequence[int]) -> int:
    """Return how many rows to count at a time: many, but of bounded memory however wide the table."""
    row_bytes = sum(np.min_scalar_type(size - 1).itemsize for size in sizes)
    return max(1024, min(_CHUNK_ROWS, _CHUNK_BYTES // max(row_bytes, 1)))


def rechunk(batches: Iterable[Codes], rows: int) -> Iterator[Codes]:
    """Put unweighted batches of any length together into chunks of ``rows`` rows; the last may be shorter."""
    waiting: list[Codes] = []
    for batch in batches:
        start, held = 0, sum(part.rows for part in waiting)
        while batch.rows - start >= rows - held:
            stop = start + rows - held
            waiting.append(batch.rows_between(start, stop))
            yield _concatenate(waiting)
            held, start = 0, stop
        if start < batch.rows:
            waiting.append(batch.rows_between(start, batch.rows))
    if waiting:
        yield _concatenate(waiting)


def _concatenate(parts: list[Codes]) -> Codes:
    """Put the parts together and empty the list, so that they are not held while the whole is counted."""
    if len(parts) == 1:
        return parts.pop()
    rows, columns = sum(part.rows for part in parts), zip(*(part.columns for part in parts), strict=True)
    whole = Codes(rows, tuple(np.concatenate(column) for column in columns))
    parts.clear()
    return whole
