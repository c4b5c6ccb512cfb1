"""A table of which only the names of its columns are known: counted by the ladder, and by the texts themselves.

PRIVATE: holds the table and its texts. Only the privacy room may call ``count``, ``texts`` and ``rest``.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isqrt
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from understudy.domain import Clique, Domain
from understudy.errors import SourceError
from understudy.schema.cells import Categories, Kind
from understudy.schema.column import Held, Undivided
from understudy.schema.dialect import Settings
from understudy.schema.ladder import Climber, ladder
from understudy.schema.person import Person
from understudy.schema.spelling import SPELLINGS, Spelt, spelled_name
from understudy.schema.typed import cells_of
from understudy.source.guard import unforeseen
from understudy.source.opening import open_reader
from understudy.source.protocol import Encoder, GapEncoder
from understudy.source.spark import is_spark
from understudy.source.tables import rows_of
from understudy.source.unopened import unopened

Counts = NDArray[np.int64]
LONGEST = 100
"""Characters of a text that may be shown; a longer one is free text, and shared by nobody."""
NOTHING = 0
_MARKS = 2**62
"""Texts are told apart by marks of 62 bits under a secret key: two that many share are never taken for one another."""


@dataclass(frozen=True)
class Names:
    """Columns without a declaration, as far as a source needs to know them."""

    columns: tuple[Encoder, ...]
    domain: Domain
    person: Person | None = None
    csv: Settings | None = None
    fine: Domain = field(default_factory=lambda: Domain((), ()))
    gaps: tuple[GapEncoder, ...] = ()


class UndeclaredSource:
    """Counts columns by the ladder, and the texts of one by themselves. Each person counts with so many rows at most."""

    def __init__(self, data: Any, columns: Sequence[str], person: Person | None, csv: Settings | None = None) -> None:
        if is_spark(data):
            raise SourceError("A schema cannot be learnt from a Spark table: write one, or learn it from Parquet files.")
        if isinstance(data, pa.RecordBatchReader):
            raise SourceError("A stream can be read once only, and learning reads a table several times: give a table.")
        plain = Domain.of(dict.fromkeys(columns, ladder().size))
        self.domain = Domain.of(dict.fromkeys(columns, ladder().size) | dict.fromkeys(map(spelled_name, columns), SPELLINGS))
        self._data, self._person, self._csv = data, person, csv
        self._counted = unopened(data, Names(tuple(map(Climber, columns)), plain, person, csv))
        spelled = Domain.of(dict.fromkeys(columns, SPELLINGS))
        self._spelled = unopened(data, Names(tuple(map(Spelt, columns)), spelled, person, csv))
        self._named = {spelled_name(column): column for column in columns}

    def count(self, cliques: Sequence[Clique]) -> list[Counts]:
        """Return the exact counts of each clique."""
        spelled = [(self._named[clique[0]],) for clique in cliques if clique and clique[0] in self._named]
        found = iter(self._spelled.count(spelled) if spelled else ())
        counted = iter(self._counted.count([clique for clique in cliques if not clique or clique[0] not in self._named]))
        return [next(found if clique and clique[0] in self._named else counted) for clique in cliques]

    def texts(self, column: str) -> tuple[list[str], Counts]:
        """Return the different texts of a column in alphabetical order, and exactly how many rows have each."""
        return texts_of(self._data, Speller(column), self._person, self._csv)

    def rest(self, known: Mapping[str, Sequence[str]], whole: int) -> tuple[list[tuple[str, str]], Counts]:
        """Return the texts of some columns beside those that are known, and how much the rows count for each of them."""
        return rest_of(self._data, known, whole, self._person, self._csv)


def texts_of(data: Any, speller: Speller, person: Person | None, csv: Settings | None) -> tuple[list[str], Counts]:
    """Return the different texts of a column in alphabetical order, and exactly how many of the rows in use have each."""
    column = speller.name
    names = [column] if person is None else [column, person.column]
    with unforeseen("The table"):
        declared = Names((speller,), Domain.of({column: _MARKS}), person, csv)
        rows = rows_of(open_reader(data, names, csv, ()), declared)
        found: dict[int, int] = {}
        for batch in rows.batches(declared.domain):
            marks, counts = np.unique(batch.columns[0], return_counts=True)
            for mark, count in zip(marks.tolist(), counts.tolist(), strict=True):
                found[mark] = found.get(mark, 0) + count
    found.pop(NOTHING, None)
    spelled = sorted((speller.spelled[mark], count) for mark, count in found.items())
    return [text for text, _ in spelled], np.array([count for _, count in spelled], np.int64)


def rest_of(
    data: Any, known: Mapping[str, Sequence[str]], whole: int, person: Person | None, csv: Settings | None
) -> tuple[list[tuple[str, str]], Counts]:
    """Return the texts of the columns of ``known`` beside those that are known, and how much the rows in use count for each.

    A missing value is a text, too: the empty one. What a row counts for follows from that row and ``known`` alone.
    """
    spellers = tuple(GapSpeller(column) for column in known)
    names = [*known] if person is None else [*known, person.column]
    with unforeseen("The table"):
        declared = Names(spellers, Domain.of(dict.fromkeys(known, _MARKS)), person, csv)
        pairs = zip(spellers, known.values(), strict=True)
        marks = [np.array([NOTHING, *map(one.mark, texts)], np.int64) for one, texts in pairs]
        found: list[dict[int, int]] = [{} for _ in spellers]
        for batch in rows_of(open_reader(data, names, csv, ()), declared).batches(declared.domain):
            columns = [one.astype(np.int64) for one in batch.columns]
            for sums, column, counts in zip(found, columns, counted(columns, marks, whole), strict=True):
                _add(sums, column, counts)
    told = [((o.name, o.spelled[m]), n) for o, sums in zip(spellers, found, strict=True) for m, n in sums.items()]
    return [text for text, _ in sorted(told)], np.array([count for _, count in sorted(told)], np.int64)


def counted(columns: Sequence[Counts], known: Sequence[Counts], whole: int) -> list[Counts]:
    """Return how much each row counts for its text of each column: nothing where that is known.

    A row counts alike for all its other texts, whole / √m for m of them, rounded down: the sum of its squares is at most
    whole². Columns of which nothing is known come last, since free text is among them: only rows with nothing new in the
    other columns count for these.
    """
    new = np.array([~np.isin(column, own) for column, own in zip(columns, known, strict=True)])
    begun = np.array([len(own) > 1 for own in known])
    new[~begun] &= ~new[begun].any(axis=0)
    part = np.array([0, *(isqrt(whole**2 // m) for m in range(1, len(columns) + 1))], np.int64)
    return list(np.where(new, part[new.sum(axis=0)], 0))


def _add(sums: dict[int, int], marks: Counts, counts: Counts) -> None:
    """Add what rows count for to the sums."""
    some = counts > 0
    distinct, places = np.unique(marks[some], return_inverse=True)
    added = np.zeros(len(distinct), np.int64)
    np.add.at(added, places, counts[some])
    for mark, count in zip(distinct.tolist(), added.tolist(), strict=True):
        sums[mark] = sums.get(mark, 0) + count


@dataclass(frozen=True)
class Speller(Undivided):
    """Encodes texts as marks, each by itself, and remembers what they spell."""

    name: str
    key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    spelled: dict[int, str] = field(default_factory=dict, repr=False)

    @property
    def gap(self) -> int:
        """The mark of a missing value."""
        return NOTHING

    def encode(self, values: Held) -> NDArray[np.int32]:
        """Return the mark of each row; that of nothing for a value that is missing, too long, or no text."""
        return self._marks(values)  # type: ignore[return-value]

    def _marks(self, values: Held) -> NDArray[np.int64]:
        if isinstance(values, pa.ChunkedArray):
            return np.concatenate([np.empty(0, np.int64), *(self._marks(chunk) for chunk in values.chunks)])
        if isinstance(values, Categories):
            marks = np.append(self._marks(values.categories), self.gap)
            return np.asarray(marks[np.where(values.codes < 0, -1, values.codes)])
        if isinstance(values, pa.ExtensionArray):
            return self._marks(values.storage)
        if isinstance(values, pa.RunEndEncodedArray):
            return self._marks(pc.run_end_decode(values))
        if isinstance(values, pa.DictionaryArray):
            return self._marks(values.dictionary_decode())
        found = np.full(len(values), NOTHING, np.int64)
        for part in cells_of(values).parts:
            if part.kind is Kind.TEXT:
                found[part.rows] = self._of_texts(part.values)
            elif part.kind is Kind.NUMBER:
                found[part.rows] = self.of_numbers(part.values)
            elif part.kind is Kind.MISSING:
                found[part.rows] = self.gap
        return found

    def _of_texts(self, text: pa.Array) -> NDArray[np.int64]:
        distinct = pc.dictionary_encode(pc.utf8_trim_whitespace(text))
        marks = np.array([self.mark(one) for one in self.told(distinct.dictionary)] or [NOTHING], np.int64)
        return np.asarray(marks[distinct.indices.to_numpy(zero_copy_only=False)])

    def told(self, texts: pa.Array) -> list[str]:
        """Return what each text counts as; empty where it counts as none."""
        return texts.to_pylist()  # type: ignore[no-any-return]

    def of_numbers(self, numbers: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the mark of each number: where nothing is declared, a number is no text."""
        return np.full(len(numbers), NOTHING, np.int64)

    def mark(self, text: str) -> int:
        """Return the mark of a text that may be shown, and remember it."""
        if not text or len(text) > LONGEST or not text.isprintable():
            return NOTHING
        digest = hashlib.blake2b(text.encode(), digest_size=8, key=self.key).digest()
        mark = 1 + int.from_bytes(digest, "little") % (_MARKS - 2)
        self.spelled[mark] = text
        return mark


class GapSpeller(Speller):
    """Takes missing values for a text, too: the empty one."""

    @property
    def gap(self) -> int:
        """The mark of a missing value."""
        return self.mark("")

    def mark(self, text: str) -> int:
        """Return the mark of a text that may be shown, or of none, and remember it."""
        if text:
            return super().mark(text)
        self.spelled[_MARKS - 1] = text
        return _MARKS - 1
