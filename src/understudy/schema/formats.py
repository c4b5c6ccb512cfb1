"""Formats such as ``%d/%m/%Y``: what texts they spell, how such a text is read, and how a moment is written in one.

Public: a format is declared. A few parts have a mark: ``%-d`` has no zero in front, ``%^b`` is in capitals.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc

from understudy.schema.typed import DAY

NAMES = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
"""Months in English; three letters tell them apart."""
_TWO = r"\d{1,2}"
DIRECTIVES = {
    "Y": r"(?P<Y>\d{4})",
    "y": r"(?P<y>\d{2})",
    "m": rf"(?P<m>{_TWO})",
    "b": f"(?P<b>(?i:{'|'.join(name[:3] for name in NAMES)}))",
    "B": f"(?P<b>(?i:{'|'.join(NAMES)}))",
    "d": rf"(?P<d>{_TWO})",
    "H": rf"(?P<H>{_TWO})",
    "I": rf"(?P<I>{_TWO})",
    "M": r"(?P<M>\d{2})",
    "S": r"(?P<S>\d{2})",
    "p": "(?P<p>(?i:[AP]M))",
    "P": "(?P<p>(?i:[AP]M))",
    "%": "%",
}
_WAYS = {"y": "Y", "b": "m", "B": "m", "I": "H", "P": "p"}
"""Parts that say the same as another."""
_BARE, _CAPITALS = "mdHI", "bB"
_UNDERSTOOD = "%Y, %y, %m, %b, %B, %d, %H, %I, %M, %S, %p, %P; %-m, %-d, %-H, %-I without a zero; %^b, %^B in capitals"


@dataclass(frozen=True)
class Part:
    """A directive with the ``mark`` before its letter, or a text that stands as it is, which has no letter."""

    letter: str
    mark: str = ""
    text: str = ""


@cache
def parts_of(form: str) -> tuple[Part, ...]:
    """Return the parts of a format; ValueError says what is wrong."""
    return tuple(_parts(form))


def _parts(form: str) -> Iterator[Part]:
    pieces = re.split(r"%([-^]?)(.)", form)
    for i in range(0, len(pieces), 3):
        if pieces[i]:
            yield Part("", text=pieces[i])
        if i + 1 < len(pieces):
            mark, letter = pieces[i + 1 : i + 3]
            if letter not in DIRECTIVES or letter not in {"-": _BARE, "^": _CAPITALS}.get(mark, letter):
                raise ValueError(f'"%{mark}{letter}" is not understood; use {_UNDERSTOOD}')
            yield Part("", text="%") if letter == "%" else Part(letter, mark)


def has(form: str, letters: str) -> bool:
    """Whether a format has a part of such ``letters``."""
    return any(part.letter in letters for part in parts_of(form) if part.letter)


def format_pattern(form: str) -> str:
    """Return the regular expression of a format of dates such as ``%d/%m/%Y``; ValueError says what is wrong."""
    return _pattern(form, "Ymd")


def clock_pattern(form: str) -> str:
    """Return the regular expression of a format of times such as ``%H:%M``; ValueError says what is wrong."""
    if dates := [part.letter for part in parts_of(form) if part.letter and part.letter in "YymbBd"]:
        raise ValueError(f'"%{dates[0]}" is part of a date, and no time of day')
    return _pattern(form, "H")


def _pattern(form: str, needed: str) -> str:
    parts = parts_of(form)
    used = [_WAYS.get(part.letter, part.letter) for part in parts if part.letter]
    if len(set(used)) != len(used):
        raise ValueError("a part of the date appears twice")
    if not set(needed) <= set(used):
        raise ValueError(f"it needs {' and '.join(f'%{part}' for part in needed)}")
    if has(form, "I") != has(form, "pP"):
        raise ValueError("hours to 12 (%I) go with AM and PM (%p, %P), and those with no others")
    for one, other in pairwise(parts):
        if "-" in (one.mark, other.mark) and _ends_in_digits(one, -1) and _ends_in_digits(other, 0):
            raise ValueError("what has no zero in front cannot stand beside other digits")
    return pattern_with(form, {})


def _ends_in_digits(part: Part, end: int) -> bool:
    """Whether a part begins (``end`` 0) or ends (-1) with a digit."""
    return part.letter not in "bBpP" if part.letter else part.text[end].isdigit()


def pattern_with(form: str, own: Mapping[str, str]) -> str:
    """Return the regular expression of a format in which the parts of some letters have their ``own``."""
    spelled = (own.get(p.letter, DIRECTIVES[p.letter]) if p.letter else re.escape(p.text) for p in parts_of(form))
    return f"^{''.join(spelled)}$"


def format_grain(form: str) -> int:
    """Return the finest step, in seconds, that a format can spell."""
    return next((step for letters, step in (("S", 1), ("M", 60), ("HI", 3600)) if has(form, letters)), DAY)


def end_of_day(form: str) -> str | None:
    """Return how a format of times spells the midnight after the last minute of a day: 24:00, 2400; None with AM and PM."""
    if has(form, "I"):
        return None
    return "".join({"H": "24", "M": "00", "S": "00"}.get(part.letter, part.text) for part in parts_of(form))


def written(moments: pa.Array, form: str) -> pa.Array:
    """Spell moments; null stays null."""
    texts = [pa.scalar(part.text) if not part.letter else _written(moments, part) for part in parts_of(form)]
    return pc.binary_join_element_wise(*texts, "") if texts else pc.strftime(moments, format=form)


def _written(moments: pa.Array, part: Part) -> pa.Array:
    text = pc.strftime(moments, format=f"%{'p' if part.letter == 'P' else part.letter}")
    change: Callable[[pa.Array], pa.Array] | None = {"^": pc.utf8_upper, "-": _bare}.get(part.mark)
    if part.letter == "P":
        change = pc.utf8_lower
    return text if change is None else change(text)


def _bare(text: pa.Array) -> pa.Array:
    return pc.replace_substring_regex(text, pattern="^0", replacement="")
