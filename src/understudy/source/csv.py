"""CSV files: the dialect that is declared for them, their header, their records as text.

PRIVATE: reads the rows. A record is a line (``lines.py``); a value is text until the schema reads it.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from understudy.errors import SourceError
from understudy.schema.dialect import KEYS, SAME_MARKS, Dialect, Settings, problem
from understudy.source.breaks import line_breaks
from understudy.source.fields import batches, read_lines
from understudy.source.guard import each, guarded
from understudy.source.lines import Bytes, Line, blocks, parse

SEPARATORS = {".csv": ",", ".tsv": "\t", ".csv.gz": ",", ".tsv.gz": "\t"}
_ADVICE = "Is it a whole file?"


@dataclass(frozen=True)
class Csv:
    """The path or glob of CSV files that are written in a dialect of their own.

    ``Csv("visits.csv", separator=";", encoding="latin-1")``. What is not given is as the schema declares it under
    ``[table.csv]``, or else as usual: a comma (a tab in .tsv files), double quotes, UTF-8, names in the first line, decimal
    points. ``header`` holds the names of the columns where the file has none. Numbers are as ``decimal`` and ``thousands``
    say: with "," and "." 1.234,5 is one.
    """

    path: str | Path
    separator: str | None = None
    quote: str | None = None
    encoding: str | None = None
    header: bool | Sequence[str] | None = None
    decimal: str | None = None
    thousands: str | None = None

    def __post_init__(self) -> None:
        if (wrong := problem(self)) is not None:
            raise SourceError(f'The CSV file "{self.path}": {wrong[1]}')


def dialect_of(path: str, *settings: Settings | None) -> Dialect:
    """Return the dialect of a file: each setting as the first of ``settings`` that has it says, or else as usual."""
    usual = next((mark for ending, mark in SEPARATORS.items() if path.lower().endswith(ending)), ",")
    found = {key: next((v for s in settings if s and (v := getattr(s, key)) is not None), None) for key in KEYS}
    names = found.pop("header")
    given = {"separator": usual} | {key: value for key, value in found.items() if value is not None}
    dialect = Dialect(**given, header=None if names in (None, True) else tuple(names))
    if dialect.separator == dialect.quote:
        raise SourceError(f'The CSV file "{path}": separator and quote must differ.')
    if dialect.decimal == dialect.thousands:
        raise SourceError(f'The CSV file "{path}": {SAME_MARKS}')
    return dialect


@dataclass(frozen=True)
class CsvFile:
    """One CSV file in a dialect with nothing left open."""

    path: str
    dialect: Dialect

    @property
    def what(self) -> str:
        """Name the file in a message."""
        return f'The file "{self.path}"'

    def columns(self) -> list[str]:
        """Return the names of the columns: the fields of the first line, unless they are declared."""
        if self.dialect.header is not None:
            return list(self.dialect.header)
        with self._open() as file:
            header, _ = _headed(each(blocks(file), self._guard), self.dialect)
        if header is not None and header.unclosed:
            raise line_breaks(f"{self.what} has a line break inside quotes in its first line", self.path, self.dialect)
        return [] if header is None else header.fields

    def batches(self, names: Sequence[str], found: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield all records, some at a time, with the columns ``names`` as text; without any, one column of nulls."""
        wanted = [list(found).index(name) for name in names]
        for block in self.blocks():
            for rows, arrays in each(self._arrays(block, wanted), self._guard):
                yield pa.RecordBatch.from_arrays(arrays or [pa.nulls(rows)], names=list(names) or [""])

    def blocks(self) -> Iterator[bytes]:
        """Yield the lines of the records, many at a time."""
        with self._open() as file:
            rest = each(blocks(file), self._guard)
            yield from rest if self.dialect.header is not None else _headed(rest, self.dialect)[1]

    def _arrays(self, block: bytes, wanted: Sequence[int]) -> Iterator[tuple[int, list[pa.Array]]]:
        yield from batches(read_lines(block, self.dialect), self.dialect, wanted)

    @property
    def _guard(self) -> guarded:
        return guarded(self.what, _ADVICE)

    @contextmanager
    def _open(self) -> Iterator[Bytes]:
        with self._guard:
            plain = open(self.path, "rb", buffering=0)  # noqa: SIM115
        with plain:
            yield gzip.GzipFile(fileobj=plain) if self.path.lower().endswith(".gz") else plain


def _headed(found: Iterator[bytes], dialect: Dialect) -> tuple[Line | None, Iterable[bytes]]:
    """Return the first line that is not empty, and the blocks of the lines after it."""
    for block in found:
        at = 0
        while at < len(block):
            end = block.find(b"\n", at)
            line, at = parse(block[at:end], dialect), end + 1
            if line is not None:
                return line, _after(block[at:], found)
    return None, ()


def _after(rest: bytes, found: Iterator[bytes]) -> Iterator[bytes]:
    if rest:
        yield rest
    yield from found
