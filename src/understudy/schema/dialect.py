"""How a CSV file is written: separator, quote, encoding, header, numbers. Declared, never guessed by a private run.

Public: a dialect holds what a person wrote.
"""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

UTF_8 = "utf-8"
REPLACEMENT = "\ufffd"
KEYS = ("separator", "quote", "encoding", "header", "decimal", "thousands")
POINT = "."
DECIMALS = (POINT, ",")
SAME_MARKS = "decimal (a point unless declared) and thousands must differ."
THOUSANDS = {".": ".", ",": ",", "'": "'\u2019", " ": " \u00a0\u202f"}
"""What may stand between thousands, and which characters are meant: a blank is any that does not break a line, too."""


class Settings(Protocol):
    """What a person may say of a CSV file; None leaves it open."""

    @property
    def separator(self) -> str | None: ...  # noqa: D102
    @property
    def quote(self) -> str | None: ...  # noqa: D102
    @property
    def encoding(self) -> str | None: ...  # noqa: D102
    @property
    def header(self) -> bool | Sequence[str] | None: ...  # noqa: D102
    @property
    def decimal(self) -> str | None: ...  # noqa: D102
    @property
    def thousands(self) -> str | None: ...  # noqa: D102


@dataclass(frozen=True)
class Dialect:
    """A dialect with nothing left open. ``header`` holds the names of the columns of a file without a header line.

    ``decimal`` stands before the decimals of a number, ``thousands`` between its thousands; empty where nothing may.
    """

    separator: str = ","
    quote: str = '"'
    encoding: str = UTF_8
    header: tuple[str, ...] | None = None
    decimal: str = POINT
    thousands: str = ""

    @property
    def table(self) -> str | None:
        """The characters of the 256 bytes, or None for UTF-8."""
        return None if is_utf_8(self.encoding) else characters(self.encoding)


def problem(settings: Settings) -> tuple[str, str] | None:
    """Return the setting that makes no sense, and why; None when all do."""
    separator, quote, encoding, header, decimal, thousands = (getattr(settings, key) for key in KEYS)
    if separator is not None and not _one_character(separator):
        return "separator", "separator must be one ASCII character, and no line break."
    if quote and not _one_character(quote):
        return "quote", 'quote must be one ASCII character, and no line break; "" when nothing is quoted.'
    if separator is not None and separator == quote:
        return "quote", "separator and quote must differ."
    if encoding is not None and not is_utf_8(encoding) and characters(encoding) is None:
        advice = f"Convert the file to UTF-8 first: iconv -f {encoding} -t UTF-8 OLD.csv > NEW.csv"
        return "encoding", f'"{encoding}" is neither UTF-8 nor an encoding of one byte for each character. {advice}'
    return _header_problem(header) or _marks_problem(decimal, thousands)


def _header_problem(header: bool | Sequence[str] | None) -> tuple[str, str] | None:
    if header is None or header is True:
        return None
    if isinstance(header, bool | str) or not header:
        return "header", "header must be true, or the list of the names of the columns."
    if len(set(header)) < len(header):
        return "header", "header names a column twice; names must differ."
    return None


def _marks_problem(decimal: str | None, thousands: str | None) -> tuple[str, str] | None:
    if decimal is not None and decimal not in DECIMALS:
        return "decimal", 'decimal must be "." or ",".'
    if thousands and thousands not in THOUSANDS:
        return "thousands", 'thousands must be a point, a comma, an apostrophe or a blank; "" for nothing.'
    if thousands and thousands == (decimal or POINT):
        return "thousands", SAME_MARKS
    return None


def _one_character(text: str) -> bool:
    return len(text) == 1 and text.isascii() and text not in "\r\n"


def is_utf_8(encoding: str) -> bool:
    """Whether ``encoding`` is a name of UTF-8."""
    try:
        return codecs.lookup(encoding).name in (UTF_8, "utf-8-sig")
    except (LookupError, ValueError):
        return False


@lru_cache
def characters(encoding: str) -> str | None:
    """Return the 256 characters of an encoding of one byte each that contains ASCII, or None for any other."""
    whole = bytes(range(256))
    try:
        table = "".join(whole[i : i + 1].decode(encoding, "replace") for i in range(256))
        together = whole.decode(encoding, "replace")
    except (LookupError, ValueError):
        return None
    ascii_only = table[:128] == whole[:128].decode("ascii") and not any(c.isascii() for c in table[128:])
    return table if len(table) == 256 and table == together and ascii_only else None
