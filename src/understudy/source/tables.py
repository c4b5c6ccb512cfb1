"""The two sources there are: codes kept in memory, and a table read again at every count.

PRIVATE: both hold or read the records. Every table becomes batches of columns, then codes, then counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique, Domain
from understudy.errors import SourceError
from understudy.source.codes import Codes, chunk_rows, narrow, pack, rechunk
from understudy.source.compress import compress
from understudy.source.protocol import Batch, Declared, Encoder, Reader
from understudy.source.tally import Tally


class MemorySource:
    """Codes in memory, encoded once, equal rows folded together."""

    def __init__(self, domain: Domain, batches: Iterable[Codes]) -> None:
        self.domain = domain
        chunks = rechunk(batches, chunk_rows(domain.sizes))
        self._chunks = tuple(compress(chunk, domain.sizes) for chunk in chunks)

    @classmethod
    def of_codes(cls, codes: NDArray[np.integer], domain: Domain) -> MemorySource:
        """Make a source of rows × columns integer codes; a code outside the domain goes to its edge."""
        if codes.ndim != 2 or not np.issubdtype(codes.dtype, np.integer):
            raise SourceError(
                f"Codes must be a two-dimensional array of integers; this one has {codes.ndim} dimension(s) "
                f"and type {codes.dtype}."
            )
        if codes.shape[1] != len(domain):
            raise SourceError(
                f"The code array has {codes.shape[1]} columns but the schema has {len(domain)}: give one "
                f"column for each of {', '.join(domain)}, in this order."
            )
        step = chunk_rows(domain.sizes)
        slices = (codes[start : start + step] for start in range(0, len(codes), step))
        return cls(domain, (pack(part, domain.sizes) for part in slices))

    @classmethod
    def of_reader(cls, reader: Reader, schema: Declared) -> MemorySource:
        """Read a table once, and keep its codes."""
        return cls(schema.domain, encoded(reader, tuple(schema.columns), schema.domain.sizes))

    def count(self, cliques: Sequence[Clique]) -> list[NDArray[np.int64]]:
        """Return the exact counts of each clique."""
        tally = Tally(self.domain, cliques)
        for chunk in self._chunks:
            tally.add(chunk)
        return tally.counts()


class StreamedSource:
    """A table too large to keep: each ``count`` is one pass over the columns that its cliques name."""

    def __init__(self, reader: Reader, schema: Declared) -> None:
        self.domain = schema.domain
        self._reader, self._columns = reader, tuple(schema.columns)

    def count(self, cliques: Sequence[Clique]) -> list[NDArray[np.int64]]:
        """Return the exact counts of each clique, in one pass."""
        needed = self.domain.clique({attribute for clique in cliques for attribute in clique})
        domain = self.domain.project(needed)
        tally = Tally(domain, cliques)
        columns = [column for column in self._columns if column.name in domain]
        codes = encoded(self._reader, columns, domain.sizes)
        for chunk in rechunk(codes, chunk_rows(domain.sizes)):
            tally.add(chunk)
            del chunk  # not to be held while the next is read
        return tally.counts()


def encoded(reader: Reader, columns: Sequence[Encoder], sizes: Sequence[int]) -> Iterator[Codes]:
    """Read the columns batch by batch, and encode each batch."""
    for batch in reader.batches([column.name for column in columns]):
        yield encode_batch(batch, columns, sizes)


def encode_batch(batch: Batch, columns: Sequence[Encoder], sizes: Sequence[int]) -> Codes:
    """Encode one batch that has the columns in order."""
    codes = (
        narrow(column.encode(batch.column(i)), size) for i, (column, size) in enumerate(zip(columns, sizes, strict=True))
    )
    return Codes(batch.num_rows, tuple(codes))
