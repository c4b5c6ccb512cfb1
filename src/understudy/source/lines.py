"""What a record of a CSV file is: one line. This module is the definition; ``fields.py`` does the same for many at once.

PRIVATE: reads the rows. How a line is taken apart depends on the dialect and on that line alone, so a bad line costs only
itself: quotes never span lines, a missing field is missing, a surplus one is ignored, a byte that the encoding does not
know becomes U+FFFD, and a line is cut at ``MOST_LINE`` bytes.
"""

from __future__ import annotations

import codecs
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Protocol

from understudy.schema.dialect import UTF_8, Dialect

MOST_LINE = 2**24
CHUNK = 2**20
MARK = "\ufeff"


class Bytes(Protocol):
    """An open file."""

    def read(self, size: int, /) -> bytes:
        """Return the next bytes, at most ``size``; none at the end."""
        ...


@dataclass(frozen=True)
class Line:
    """The fields of one line, and whether its last quote was never closed."""

    fields: list[str]
    unclosed: bool = False


def parse(line: bytes, dialect: Dialect, most: int = sys.maxsize) -> Line | None:
    """Take one line apart (given without its line feed), up to ``most`` fields; None when it is empty, and so no record."""
    text = decode(line[:MOST_LINE].removesuffix(b"\r"), dialect).removeprefix(MARK)
    return split(text, dialect, most) if text else None


def decode(data: bytes, dialect: Dialect) -> str:
    """Decode; each byte that the encoding does not know becomes U+FFFD, and ASCII around it is untouched."""
    if dialect.table is None:
        return data.decode(UTF_8, "replace")
    return codecs.charmap_decode(data, "replace", dialect.table)[0]


def split(text: str, dialect: Dialect, most: int = sys.maxsize) -> Line:
    """Split a line that is not empty at the separators outside quotes."""
    fields: list[str] = []
    at, closed = 0, True
    while at <= len(text) and len(fields) < most:
        if dialect.quote and text.startswith(dialect.quote, at):
            field, at, closed = _quoted(text, at + 1, dialect)
        else:
            stop = _find(text, dialect.separator, at)
            field, at = text[at:stop], stop + 1
        fields.append(field)
    return Line(fields, unclosed=not closed)


def _quoted(text: str, at: int, dialect: Dialect) -> tuple[str, int, bool]:
    """Read a field from behind its opening quote: its text, where the next field starts, whether a quote closed it."""
    quote = dialect.quote
    body = _bodies(quote).match(text, at)
    stop = at if body is None else body.end()
    after = _find(text, dialect.separator, stop + 1)
    return text[at:stop].replace(quote * 2, quote) + text[stop + 1 : after], after + 1, stop < len(text)


@cache
def _bodies(quote: str) -> re.Pattern[str]:
    """What may stand between two quotes: anything else, and doubled quotes."""
    one = re.escape(quote)
    return re.compile(f"(?:[^{one}]++|{one}{one})*+")


def _find(text: str, what: str, at: int) -> int:
    """Return where ``what`` comes next, or the end."""
    found = text.find(what, at)
    return len(text) if found < 0 else found


def blocks(file: Bytes, chunk: int = CHUNK, most: int = MOST_LINE) -> Iterator[bytes]:
    """Yield the bytes of a file in blocks of whole lines, each ended by a line feed and cut at ``most`` bytes.

    ``chunk`` is at most ``most``, so that only the first line of a block can be too long. What is held at a time is
    bounded by the two, whatever the file.
    """
    waiting, skipping = b"", False
    while data := file.read(chunk):
        if skipping:
            skip = data.find(b"\n")
            data = data[skip:] if skip >= 0 else b""
            skipping = skip < 0
        data = waiting + data
        end = data.rfind(b"\n") + 1
        if end:
            first = data.find(b"\n")
            yield data[:most] + data[first:end] if first > most else data[:end]
        waiting = data[end:]
        if len(waiting) > most:
            waiting, skipping = waiting[:most], True
    if waiting:
        yield waiting + b"\n"
