"""Takes the lines of a block of a CSV file apart all at once, as ``lines.parse`` would one by one; tests compare the two.

PRIVATE: reads the rows. Lines whose quotes stand where a writer of CSV would put them are split by array operations; any
other line goes through ``lines.split``. Which way a line goes depends on that line alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from understudy.schema.dialect import Dialect
from understudy.source.lines import decode, split

Positions = NDArray[np.int64]
Bools = NDArray[np.bool_]

_LINE_FEED, _RETURN = b"\n\r"
_MARK = np.frombuffer(b"\xef\xbb\xbf", np.uint8)
_MOST_CELLS = 2**21


@dataclass(frozen=True, eq=False)
class Lines:
    """The records of a block. ``text`` is UTF-8; line i is ``text[starts[i]:ends[i]]``, split at ``separators``.

    ``odd`` holds the lines that are taken apart one by one; the other arrays leave them out.
    """

    text: NDArray[np.uint8]
    starts: Positions
    ends: Positions
    separators: Positions
    odd: tuple[str, ...]
    quote: int | None
    doubled: bool


def read_lines(block: bytes, dialect: Dialect) -> Lines:
    """Find the lines of a block, and where their fields end. The block ends with a line feed."""
    text = np.frombuffer(as_utf_8(block, dialect), np.uint8)
    starts, ends = _lines(text)
    separator, quote = text == ord(dialect.separator), ord(dialect.quote) if dialect.quote else None
    if quote is None or not (quoted := text == quote).any():
        return Lines(text, starts, ends, np.flatnonzero(separator), (), None, False)
    marks = np.flatnonzero(separator | quoted)
    is_quote = quoted.take(marks)
    odd, doubled = _odd_lines(text, starts, marks.compress(is_quote), ord(dialect.separator))
    if odd.any():
        regular = np.repeat(~odd, np.diff(np.searchsorted(marks, starts), append=len(marks)))
        marks, is_quote = marks[regular], is_quote[regular]
    inside = np.bitwise_xor.accumulate(is_quote)  # each line that is left has an even number of quotes
    apart = tuple(text[starts[i] : ends[i]].tobytes().decode() for i in np.flatnonzero(odd))
    return Lines(text, starts[~odd], ends[~odd], marks.compress(~is_quote & ~inside), apart, quote, doubled)


def as_utf_8(block: bytes, dialect: Dialect) -> bytes:
    """Return the block as UTF-8; bytes that are none become U+FFFD in their own field, since fields end with ASCII."""
    if block.isascii() or (dialect.table is None and _is_utf_8(block)):
        return block
    return decode(block, dialect).encode()


def _is_utf_8(block: bytes) -> bool:
    offsets = pa.py_buffer(np.array([0, len(block)], np.int64))
    try:
        pa.Array.from_buffers(pa.large_string(), 1, [None, offsets, pa.py_buffer(block)]).validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _lines(text: NDArray[np.uint8]) -> tuple[Positions, Positions]:
    """Return where each line that is a record starts and ends, without its line end and byte order mark."""
    ends = np.flatnonzero(text == _LINE_FEED)
    starts = np.concatenate(([0], ends[:-1] + 1))
    ends = ends - ((ends > starts) & (text[ends - 1] == _RETURN))
    marked = np.flatnonzero((text[starts] == _MARK[0]) & (ends - starts >= len(_MARK)))
    marked = marked[(text[starts[marked, None] + [0, 1, 2]] == _MARK).all(axis=1)]
    starts[marked] += len(_MARK)
    records = ends > starts
    return starts[records], ends[records]


def _odd_lines(text: NDArray[np.uint8], starts: Positions, quotes: Positions, separator: int) -> tuple[Bools, bool]:
    """Return which lines are odd, and whether a quote is doubled in any other.

    In a line that is not odd every other quote opens: at the start of a line or field, or as the second of a doubled one.
    Those between close: before a separator or line end, or as the first of a doubled one.
    """
    first = np.searchsorted(quotes, starts)
    count = np.diff(first, append=len(quotes))
    odd = count % 2 == 1
    if odd.any():
        quotes = quotes[np.repeat(~odd, count)]
    if not len(quotes):
        return odd, False
    opens, closes, quote = quotes[0::2], quotes[1::2], text[quotes[0]]
    before, after = text.take(opens - 1), text.take(closes + 1)
    well = (before == separator) | (before == quote) | (before == _LINE_FEED) | (opens == 0)
    well &= (after == separator) | (after == quote) | (after == _LINE_FEED) | _ends(text, closes + 1)
    odd[np.searchsorted(starts, opens[~well], side="right") - 1] = True
    return odd, bool((before == quote).any())


def _ends(text: NDArray[np.uint8], at: Positions) -> Bools:
    """Whether a line ends here with a carriage return and a line feed."""
    found: Bools = text.take(at) == _RETURN
    found[found] = text[at[found] + 1] == _LINE_FEED
    return found


@dataclass(frozen=True, eq=False)
class _Rows:
    """Some lines: the ``grid`` holds the first separators of each, 0 where there are none; ``counts`` how many it has."""

    starts: Positions
    ends: Positions
    grid: Positions
    counts: Positions


def batches(lines: Lines, dialect: Dialect, wanted: Sequence[int]) -> Iterator[tuple[int, list[pa.Array]]]:
    """Yield the number of records and the fields with the numbers ``wanted``, as text, null where a line has too few.

    Lines in any order, a bounded number of cells at a time.
    """
    width = max(wanted, default=0) + 1
    step = max(1, _MOST_CELLS // width)
    for rows in _some_rows(lines, width, step):
        yield len(rows.starts), [_column(lines, rows, number) for number in wanted]
    for low in range(0, len(lines.odd), step):
        some = [split(text, dialect, width).fields for text in lines.odd[low : low + step]]
        yield len(some), [_texts([f[i] if i < len(f) else None for f in some]) for i in wanted]


def _texts(values: list[str | None]) -> pa.Array:
    return pa.array(values, pa.large_string())


def _some_rows(lines: Lines, width: int, step: int) -> Iterator[_Rows]:
    """Yield ``step`` lines at a time that are not odd."""
    first = np.append(np.searchsorted(lines.separators, lines.starts), len(lines.separators))
    for low in range(0, len(lines.starts), step):
        some = slice(low, min(low + step, len(lines.starts)))
        separators = lines.separators[first[low] : first[some.stop]]
        grid, counts = _grid(separators, first[some] - first[low], width)
        yield _Rows(lines.starts[some], lines.ends[some], grid, counts)


def _grid(separators: Positions, first: Positions, width: int) -> tuple[Positions, Positions]:
    """Return the first ``width`` separators of each line, 0 where there are none, and how many separators it has."""
    counts = np.diff(first, append=len(separators))
    if (counts == counts[0]).all():
        return separators.reshape(len(counts), counts[0]), counts
    grid = np.zeros((len(counts), width), np.int64)
    line = np.repeat(np.arange(len(counts)), counts)
    number = np.arange(len(separators)) - first[line]
    near = number < width
    grid[line[near], number[near]] = separators[near]
    return grid, counts


def _column(lines: Lines, rows: _Rows, number: int) -> pa.Array:
    """Return one field of each line."""
    present = rows.counts >= number
    if not present.any():
        return pa.nulls(len(present), pa.large_string())
    low = rows.starts if number == 0 else np.where(present, rows.grid[:, number - 1] + 1, rows.ends)
    high = rows.ends
    if number < rows.grid.shape[1]:
        high = np.where(rows.counts > number, rows.grid[:, number], rows.ends)
    if lines.quote is not None:
        quoted = (high > low) & (lines.text[low] == lines.quote)
        low, high = low + quoted, high - quoted
    # Every other value of this array is a field, and those between are what lies between two fields.
    offsets = np.empty(2 * len(present), np.int64)
    offsets[0::2], offsets[1::2] = low, high
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(lines.text)]
    spans = pa.Array.from_buffers(pa.large_string(), len(offsets) - 1, buffers)
    fields = spans.take(pa.array(np.arange(0, len(offsets), 2), mask=None if present.all() else ~present))
    return pc.replace_substring(fields, chr(lines.quote) * 2, chr(lines.quote)) if lines.doubled and lines.quote else fields
