"""Counts the lines of CSV files that are not as they should be: too few or too many fields, quotes, undecodable bytes.

NOT PRIVATE: its counts are exact and for the owner's eyes only.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np

from understudy.schema.dialect import REPLACEMENT, UTF_8, Dialect, Settings
from understudy.source.csv import Csv, CsvFile
from understudy.source.fields import as_utf_8, read_lines
from understudy.source.files import files_of
from understudy.source.lines import split

SHORT, LONG = "a line with too few fields", "a line with too many fields"
UNCLOSED, UNDECODABLE = "a quote that is never closed in its line", "a byte that is not in the encoding"
GOES = {
    SHORT: "the rest of the record is missing",
    LONG: "what is too much is ignored",
    UNCLOSED: "the rest of the line is one field",
    UNDECODABLE: "becomes \N{REPLACEMENT CHARACTER}",
}


def line_faults(data: str | Path | Csv, declared: Settings | None) -> Counter[str]:
    """Return how many lines have each fault; Parquet files have none."""
    found: Counter[str] = Counter()
    for file in files_of(data, declared):
        if isinstance(file, CsvFile):
            width = len(file.columns())
            for block in file.blocks():
                found += block_faults(block, file.dialect, width)
    return found


def block_faults(block: bytes, dialect: Dialect, width: int) -> Counter[str]:
    """Count the faults of a block of whole lines."""
    lines = read_lines(block, dialect)
    fields = np.diff(np.searchsorted(lines.separators, lines.starts), append=len(lines.separators)) + 1
    odd = [split(text, dialect, width + 1) for text in lines.odd]
    found = Counter({SHORT: int((fields < width).sum()), LONG: int((fields > width).sum())})
    found[SHORT] += sum(len(line.fields) < width for line in odd)
    found[LONG] += sum(len(line.fields) > width for line in odd)
    found[UNCLOSED] = sum(line.unclosed for line in odd)
    if not block.isascii():
        found[UNDECODABLE] = _undecodable(block, dialect)
    return found


def _undecodable(block: bytes, dialect: Dialect) -> int:
    if dialect.table is not None:
        unknown = bytes(i for i, character in enumerate(dialect.table) if character == REPLACEMENT)
        return sum(len(line.translate(None, unknown)) < len(line) for line in block.split(b"\n"))
    if as_utf_8(block, dialect) is block:
        return 0
    return sum(_is_broken(line) for line in block.split(b"\n"))


def _is_broken(line: bytes) -> bool:
    try:
        line.decode(UTF_8)
    except UnicodeDecodeError:
        return True
    return False
