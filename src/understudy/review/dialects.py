"""Finds out how a CSV file is written, for a draft that declares it. What reads a file privately never does this.

NOT PRIVATE: looks at the first lines of the file.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

from understudy.errors import SourceError
from understudy.schema.dialect import KEYS, Dialect
from understudy.source.breaks import line_breaks
from understudy.source.csv import Csv, CsvFile
from understudy.source.fields import as_utf_8
from understudy.source.files import File
from understudy.source.lines import decode, parse

_FEW_LINES = 200
_SEPARATORS = (",", ";", "\t", "|")
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True)
class Sniffed:
    """The dialect of a file, what is usual for a file of its name, and what a person must say of its numbers."""

    found: Dialect
    usual: Dialect
    doubt: str = ""

    def csv(self, data: str | Path | Csv) -> Csv:
        """Return the files of ``data`` in this dialect."""
        path = data.path if isinstance(data, Csv) else data
        found = self.found
        names = list(found.header) if found.header else None
        return Csv(path, found.separator, found.quote, found.encoding, names, found.decimal, found.thousands)

    def settings(self) -> dict[str, str | list[str]]:
        """Return what must be declared, since it is not usual."""
        pairs = {key: getattr(self.found, key) for key in KEYS}
        unusual = {key: value for key, value in pairs.items() if value != getattr(self.usual, key)}
        return {key: list(value) if isinstance(value, tuple) else value for key, value in unusual.items()}


def sniffed(data: str | Path | Csv, file: File) -> Sniffed:
    """Find out the dialect of ``file``, as far as ``data`` leaves it open."""
    assert isinstance(file, CsvFile)
    given = data if isinstance(data, Csv) else Csv(file.path)
    block = next(replace(file, dialect=replace(file.dialect, header=("",))).blocks(), b"")
    if block.startswith(_UTF_16):
        raise SourceError(f"{file.what} is UTF-16. Convert it first: iconv -f UTF-16 -t UTF-8 OLD.csv > NEW.csv")
    found = file.dialect
    if given.encoding is None:
        found = replace(found, encoding=_encoding(block))
    if given.separator is None:
        found = replace(found, separator=_separator(block, found))
    _refuse_line_breaks(block, found, file)
    usual = Dialect(separator="\t" if ".tsv" in Path(file.path).name.lower() else ",")
    return Sniffed(found, usual)


def _encoding(block: bytes) -> str:
    if as_utf_8(block, Dialect()) is block:
        return "utf-8"
    western = Dialect(encoding="cp1252")
    return "latin-1" if "\ufffd" in decode(block, western) else "cp1252"


def _separator(block: bytes, dialect: Dialect) -> str:
    """Return the separator that gives most lines the same number of fields, more than one; the usual one in doubt."""
    lines = block.split(b"\n", _FEW_LINES)[:_FEW_LINES]

    def alike(separator: str) -> int:
        found = [parse(line, replace(dialect, separator=separator)) for line in lines]
        counts = Counter(len(line.fields) for line in found if line is not None)
        width, lines_alike = max(counts.items(), key=lambda pair: pair[1], default=(1, 0))
        return lines_alike if width > 1 else 0

    others = [separator for separator in _SEPARATORS if separator not in (dialect.separator, dialect.quote)]
    return max([dialect.separator, *others], key=alike)


def _refuse_line_breaks(block: bytes, dialect: Dialect, file: CsvFile) -> None:
    """Say so when records go over several lines, which a reader of lines cannot tell apart."""
    first = parse(block.partition(b"\n")[0], dialect)
    width = len(dialect.header or (first.fields if first else ()))
    text = io.StringIO(decode(block, dialect), newline="")
    if not dialect.quote:
        return
    records = csv.reader(text, delimiter=dialect.separator, quotechar=dialect.quote, strict=True)
    try:
        broken = any(len(record) == width and any("\n" in field for field in record) for record in records)
    except csv.Error:
        return
    if broken:
        raise line_breaks(f"{file.what} has line breaks inside quotes", file.path, dialect)
