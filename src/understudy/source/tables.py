"""The two sources there are: codes kept in memory, and a table read again at every count.

PRIVATE: both hold or read the records. Every table becomes batches of columns, then codes, then counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from understudy.domain import NOTHING, Clique, Domain
from understudy.errors import SourceError
from understudy.schema.column import fine_name
from understudy.schema.person import Identities, Person
from understudy.source.codes import Codes, chunk_rows, narrow, pack, rechunk
from understudy.source.compress import compress
from understudy.source.persons import Census, Limit, Marks
from understudy.source.protocol import Batch, Declared, Encoder, GapEncoder, Reader
from understudy.source.tally import Tally

KEPT_BYTES = 2**28
"""Codes of a streamed table that are kept in memory take at most so much."""


class MemorySource:
    """Codes in memory, encoded once, equal rows folded together.

    Batches may have the attributes of ``fine`` as well, behind those of the domain: of these, only counts are kept.
    """

    def __init__(self, domain: Domain, batches: Iterable[Codes], fine: Domain = NOTHING) -> None:
        self.domain = domain
        alone = Tally(fine, [(name,) for name in fine])
        chunks = rechunk(_without_fine(batches, alone), chunk_rows(domain.sizes))
        self._chunks = tuple(compress(chunk, domain.sizes) for chunk in chunks)
        self._alone = dict(zip(alone.cliques, alone.counts(), strict=True))

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
    def of_array(cls, codes: NDArray[np.integer], schema: Declared) -> MemorySource:
        """Make a source of the codes of the columns that a table has; those of the others follow."""
        columns = list(schema.columns)
        names = to_read(columns)
        plain = cls.of_codes(codes, schema.domain.project(names))
        if len(names) == len(columns):
            return plain
        return cls(schema.domain, (_followed(chunk, columns, schema.domain) for chunk in plain._chunks))

    @classmethod
    def of_reader(cls, reader: Reader, schema: Declared) -> MemorySource:
        """Read a table, and keep its codes."""
        return cls(schema.domain, rows_of(reader, schema).batches(whole(schema)), schema.fine)

    def count(self, cliques: Sequence[Clique]) -> list[NDArray[np.int64]]:
        """Return the exact counts of each clique."""
        tally = Tally(self.domain, [clique for clique in cliques if clique not in self._alone])
        for chunk in self._chunks:
            tally.add(chunk, folded=True)
        counted = iter(tally.counts())
        return [self._alone[c].copy() if c in self._alone else next(counted) for c in cliques]


class StreamedSource:
    """A table that is read at each ``count``, in one pass over the columns that its cliques name.

    Where persons have several rows, one pass more comes before the first. Whoever counts again will do so often: the second
    pass keeps the codes for those after it, unless they take more than ``KEPT_BYTES``.
    """

    def __init__(self, reader: Reader, schema: Declared) -> None:
        self.domain, self._fine, self._whole = schema.domain, schema.fine, whole(schema)
        self._rows = rows_of(reader, schema)
        self._counted = 0
        self._kept: MemorySource | None = None

    def count(self, cliques: Sequence[Clique]) -> list[NDArray[np.int64]]:
        """Return the exact counts of each clique, in one pass."""
        self._counted += 1
        if self._counted == 2:
            self._kept = self._keep()
        return self._pass(cliques) if self._kept is None else self._kept.count(cliques)

    def _keep(self) -> MemorySource | None:
        """Return the codes of all rows in memory; None where they are too many."""
        row = sum(np.min_scalar_type(size - 1).itemsize for size in self.domain.sizes)
        batches = _Within(self._rows.batches(self._whole), KEPT_BYTES // max(row, 1))
        kept = MemorySource(self.domain, batches, self._fine)
        return None if batches.cut else kept

    def _pass(self, cliques: Sequence[Clique]) -> list[NDArray[np.int64]]:
        needed = self._whole.clique({attribute for clique in cliques for attribute in clique})
        domain = self._whole.project(needed)
        tally = Tally(domain, cliques)
        for chunk in rechunk(self._rows.batches(domain), chunk_rows(domain.sizes)):
            tally.add(chunk)
            del chunk  # not to be held while the next is read
        return tally.counts()


class _Within:
    """Batches of no more than so many rows in all; ``cut`` says afterwards whether there were more."""

    def __init__(self, batches: Iterator[Codes], rows: int) -> None:
        self._batches, self._left, self.cut = batches, rows, False

    def __iter__(self) -> Iterator[Codes]:
        for batch in self._batches:
            self._left -= batch.rows
            if self._left < 0:
                self.cut = True
                return
            yield batch


Used = tuple[Batch, Codes, NDArray[np.bool_]]
"""Some rows of a table, their codes in the order of the schema, and which of them are used."""


class Rows(Protocol):
    """The rows of a table that are used, as codes; the same rows in every pass."""

    def batches(self, domain: Domain) -> Iterator[Codes]:
        """Yield the codes of some attributes, in the order of the domain."""
        ...

    def used(self) -> Iterator[Used]:
        """Yield all batches of all columns, with their codes, and which rows are used."""
        ...


def rows_of(reader: Reader, schema: Declared) -> Rows:
    """Return the rows of a table that are used: all, or of each person so many."""
    person = schema.person
    return AllRows(reader, schema) if person is None else PersonsRows(reader, schema, person)


class AllRows:
    """Every row. Only the columns that are asked for are read."""

    def __init__(self, reader: Reader, schema: Declared) -> None:
        self._reader, self._columns, self._domain = reader, tuple(schema.columns), schema.domain
        self._gaps = tuple(schema.gaps)

    def batches(self, domain: Domain) -> Iterator[Codes]:
        """Read and encode, batch by batch."""
        columns = needed(self._columns, domain, self._gaps)
        for batch in self._reader.batches(to_read(columns)):
            yield encode_batch(batch, columns, domain, self._gaps)

    def used(self) -> Iterator[Used]:
        """Yield all batches of all columns, with their codes."""
        for batch in self._reader.batches(to_read(self._columns)):
            yield batch, encode_batch(batch, self._columns, self._domain), np.ones(batch.num_rows, np.bool_)


class PersonsRows:
    """So many rows of each person. All columns are read, since what a row says decides whether it is used.

    That goes for what lies inside the bins too: rows that differ in it alone are not the same to whoever counts it.
    """

    def __init__(self, reader: Reader, schema: Declared, person: Person) -> None:
        self._reader, self._columns, self._domain, self._person = reader, tuple(schema.columns), whole(schema), person
        self._gaps = tuple(schema.gaps)

    def batches(self, domain: Domain) -> Iterator[Codes]:
        """Read and encode, batch by batch; before the first pass comes one that reads who has which rows."""
        wanted = [self._domain.index(name) for name in domain]
        for _, codes, used in self.used():
            yield Codes(int(used.sum()), tuple(codes.columns[i][used] for i in wanted))

    def used(self) -> Iterator[Used]:
        """Yield all batches, with their codes, and which of their rows are used."""
        limit = Limit(self._census, self._person.rows)
        for batch, codes, identities in self._read():
            used = limit.used(Marks.of(identities, codes), identities.missing)
            yield batch, codes, used

    @cached_property
    def _census(self) -> Census:
        marks = (Marks.of(identities, codes).take(~identities.missing) for _, codes, identities in self._read())
        return Census.of(marks, self._person.rows)

    def _read(self) -> Iterator[tuple[Batch, Codes, Identities]]:
        names = to_read(self._columns)
        for batch in self._reader.batches([*names, self._person.column]):
            identities = self._person.identify(batch.column(len(names)))
            yield batch, encode_batch(batch, self._columns, self._domain, self._gaps), identities


def whole(schema: Declared) -> Domain:
    """Return the attributes of the schema, and then those inside its bins."""
    return Domain((*schema.domain.attributes, *schema.fine.attributes), (*schema.domain.sizes, *schema.fine.sizes))


def to_read(columns: Iterable[Encoder]) -> list[str]:
    """Return the names of the columns that a table has; those that follow from others are not read."""
    return [column.name for column in columns if not column.parents]


def needed(columns: Sequence[Encoder], domain: Domain, gaps: Sequence[GapEncoder] = ()) -> list[Encoder]:
    """Return the columns that the attributes of a domain need."""
    named = {c.name for c in columns if c.name in domain or fine_name(c.name) in domain}
    named |= {name for gap in gaps if gap.name in domain for name in gap.columns}
    named |= {parent for c in columns if c.name in named for parent in c.parents}
    return [column for column in columns if column.name in named]


def encode_batch(batch: Batch, columns: Sequence[Encoder], domain: Domain, gaps: Sequence[GapEncoder] = ()) -> Codes:
    """Encode one batch that has the columns in order, as the attributes of the domain; each value is read once, and once
    more for each gap.

    Of a column that follows from others the batch has nothing: its codes follow from theirs.
    """
    places = {name: place for place, name in enumerate(to_read(columns))}
    found = {
        gap.name: gap.encode(*(batch.column(places[name]) for name in gap.columns)) for gap in gaps if gap.name in domain
    }
    declared = {column.name for column in columns}
    for place, column in enumerate(column for column in columns if not column.parents):
        values, fine, inside = batch.column(place), column.fine, fine_name(column.name)
        if fine is None or inside not in domain or inside in declared:
            found[column.name] = column.encode(values)
        else:
            found[inside] = fine.encode(values)
            found[column.name] = column.coarse[found[inside]]
    for column in columns:
        if column.parents:
            found[column.name] = column.follow([found[parent] for parent in column.parents])
    return Codes(batch.num_rows, tuple(narrow(found[name], size) for name, size in zip(domain, domain.sizes, strict=True)))


def _followed(codes: Codes, columns: Sequence[Encoder], domain: Domain) -> Codes:
    """Return codes with those of the columns that follow from them, each row by itself."""
    held = codes.columns if codes.weights is None else tuple(np.repeat(one, codes.weights) for one in codes.columns)
    found = dict(zip(to_read(columns), held, strict=True))
    more = [c.follow([found[parent] for parent in c.parents]) for c in columns if c.parents]
    sizes = domain.sizes[len(held) :]
    return Codes(len(held[0]), (*held, *(narrow(one, size) for one, size in zip(more, sizes, strict=True))))


def _without_fine(batches: Iterable[Codes], alone: Tally) -> Iterator[Codes]:
    """Count the attributes inside bins, which come last, and yield the others."""
    more = len(alone.domain)
    if not more:
        yield from batches
        return
    for batch in batches:
        last = len(batch.columns) - more
        alone.add(Codes(batch.rows, batch.columns[last:]))
        yield Codes(batch.rows, batch.columns[:last])
