"""How texts of a layout are spelled, as far as a format tells: zeros in front, capitals, am; a code for each layout and way.

Encoding sees private rows and never raises on a value. The codes are the same for every table.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from understudy.schema.cells import Kind, Part
from understudy.schema.formats import has, parts_of, pattern_with
from understudy.schema.ladder import Climber, Codes
from understudy.schema.layouts import Layout, laid_out, layouts
from understudy.schema.reading import flags

ZEROS = ("", "padded", "bare")
"""Of numbers that may have a zero in front: nothing to tell, one has, one has none."""
WAYS = (ZEROS, ZEROS, ("", "capitals"), ("", "am"), ("", "clear"))
"""How days and months are spelled, how hours, names, halves of a day; and whether a short year is surely the last number."""
_SHAPE = tuple(map(len, WAYS))
EACH = int(np.prod(_SHAPE))
NO_LAYOUT = 0
SPELLINGS = 1 + EACH * len(layouts())
_CLEAR = r"^(\d|\d{2}[./-](\d|1[3-9]|[23]\d)|\d{1,2}[./-]\d{1,2}[./-](3[2-9]|[4-9]\d))([./-]|\s|$)"
"""20-11-08 may begin with a year; what has one digit, a second number above 12 or a third one above 31 does not."""


def spelled_name(column: str) -> str:
    """Return the name of the attribute that says how a column is spelled."""
    return f"{column}\x1fspelled"


def code_of(layout: int, ways: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the codes of texts of a layout that are spelled in such ``ways``, one a row."""
    return np.asarray(1 + EACH * layout + np.ravel_multi_index(tuple(ways.T), _SHAPE), np.int64)


def all_ways() -> NDArray[np.int64]:
    """Return the ways of each code of a layout, in the order of the codes."""
    return np.stack(np.unravel_index(np.arange(EACH), _SHAPE), axis=1).astype(np.int64)


def format_of(form: str, zeros: str, hours: str, *, capitals: bool, small: bool) -> str:
    """Return a format with the marks of how it is spelled."""
    marks = {**dict.fromkeys("md", "-" if zeros == "bare" else ""), **dict.fromkeys("HI", "-" if hours == "bare" else "")}
    marks |= dict.fromkeys("bB", "^" if capitals else "")
    spelled = (
        ("%P" if part.letter == "p" and small else f"%{marks.get(part.letter, '')}{part.letter}")
        if part.letter
        else part.text
        for part in parts_of(form)
    )
    return "".join(spelled)


@dataclass(frozen=True)
class Spelt(Climber):
    """Encodes how each text is spelled, by itself."""

    def _part(self, part: Part) -> Codes:
        return self._texts(part.values) if part.kind is Kind.TEXT else np.zeros(_rows(part), np.int32)

    def _texts(self, text: pa.Array) -> Codes:
        codes = np.full(len(text), NO_LAYOUT, np.int32)
        for number, rows, some in laid_out(text):
            codes[rows] = code_of(number, _ways(some, layouts()[number]))
        return codes


def _rows(part: Part) -> int:
    return len(part.values)


def _ways(text: pa.Array, layout: Layout) -> NDArray[np.int64]:
    """Return the ways of each text."""
    capitals = flags(pc.match_substring_regex(text, "[A-Z]{3,}"))
    small = flags(pc.match_substring_regex(text, "[ap]m$"))
    clear = flags(pc.match_substring_regex(text, _CLEAR)) & has(layout.formats[0], "y")
    return np.stack([_zeros(text, layout, "md"), _zeros(text, layout, "HI"), capitals, small, clear], axis=1).astype(
        np.int64
    )


def _zeros(text: pa.Array, layout: Layout, letters: str) -> NDArray[np.int64]:
    """Return by the places of ``ZEROS`` whether some part of such letters has a zero in front, or else one digit."""
    form, found = layout.formats[0], np.zeros(len(text), np.int64)
    for place, spelled in ((2, "[0-9]"), (1, "0[0-9]")):
        for letter in letters:
            if has(form, letter):
                found[flags(pc.match_substring_regex(text, pattern_with(form, {letter: spelled})))] = place
    return found
