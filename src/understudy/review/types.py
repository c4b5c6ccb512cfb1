"""Which type the texts of a column seem to spell: the first that every one of them fits, but for what means "missing";
where there is none, moments or numbers that nearly all of them are.

NOT PRIVATE: looks at all values of a column, for a draft.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from understudy.schema.declaration import DEFAULT_BINS
from understudy.schema.dialect import POINT, Dialect
from understudy.schema.formats import clock_pattern, end_of_day, format_pattern, has
from understudy.schema.signs import BARE, MONEY, UNITS, UNSIGNED, Signs
from understudy.source.duck import literal
from understudy.source.figures import between_thousands

Ask = Callable[[str], tuple[Any, ...]]

PLAIN = Dialect()
_ISO = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK = r"[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?"
_ZONE = r"(Z|[+-][0-9]{2}:?[0-9]{2})"
DATES = ("%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d")
DATES_OF_TWO = ("%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%d-%m-%y", "%m-%d-%y", "%y-%m-%d", "%y/%m/%d")
_CLOCKS = ("%H:%M:%S", "%H:%M")
_BARE_CLOCK = "%H%M"
_BARE_DAY = "%Y%m%d"
_LEAST_DAYS = 20
"""Eight digits (20220131) are days only where so many different ones all are, of the years 1900 to 2099. So are three
numbers of two digits.
"""
_LEAST_TIMES = 200
"""Four digits (0517) are times of day only where there are so many different ones: else they may be codes."""
MOMENTS = tuple(f"%Y-%m-%d{mark}{clock}{zone}" for mark in " T" for clock in _CLOCKS for zone in ("", "Z"))
_LEAST = {_BARE_CLOCK: _LEAST_TIMES, _BARE_DAY: _LEAST_DAYS} | dict.fromkeys(DATES_OF_TWO, _LEAST_DAYS)
MISSING_MARKS = (
    *("n", "na", "n/a", "n.a.", "#n/a", "nan", "null", "none", "nil", "?", "-", "--", "---", ".", "..", "*", "**", "x"),
    *("missing", "unknown", "unk", "not available", "not applicable", "not stated", "not reported", "refused", "(null)"),
)
"""Texts that usually mean "missing" beside numbers and dates, in any case."""
_UNMARKED = f"lower(v) NOT IN ({', '.join(map(literal, MISSING_MARKS))})"
_BEFORE, _AFTER = rf"^[+-]?((?:{MONEY})\s?)[+-]?[0-9.,]", rf"[0-9.,](\s?(?:{MONEY}|{UNITS}))$"
_ODD_WORDS = 2
_MANY = 20
"""So many odd words may stand among so many different numbers before a column is one of text."""
_NEARLY = {"BIGINT": 0.99, "DOUBLE": 0.99, "DATE": 0.9, "TIMESTAMP": 0.9, "TIMESTAMPTZ": 0.9}
"""The share of the rows that must spell a type where some do not. Codes, too, are digits in most rows."""
_SHARED = 10
"""Texts among numbers that so many rows have each are no slips: <0,5; n.d."""


@dataclass(frozen=True)
class Spelling:
    """A type of DuckDB, how the texts spell it where that is not the usual way, and which mean "missing".

    ``marks`` says what stands in numbers, ``signs`` what stands around them. ``spelled`` is the format with all that is
    needed to spell the texts again; years of two digits are of the hundred from ``first_year`` on. Where only ``nearly``
    all texts fit, the others are missing.
    """

    type: str
    format: str | None = None
    missing: tuple[str, ...] = ()
    marks: Dialect = PLAIN
    signs: Signs = UNSIGNED
    spelled: str | None = None
    first_year: int | None = None
    nearly: bool = False

    @property
    def form(self) -> str | None:
        """The format to declare; None for the usual way."""
        return self.spelled or self.format

    def read(self, name: str) -> str:
        """Return the SQL that reads the column; blank text is missing."""
        read = self._read(name)
        return f"CASE WHEN {self.fits(f'trim({name})')} THEN {read} END" if self.nearly else read

    def _read(self, name: str) -> str:
        text = f"NULLIF(trim({name}), '')"
        if self.type in ("VARCHAR", "TIME"):
            return f"CASE WHEN trim({name}) <> '' AND NOT {_among(f'trim({name})', self.missing)} THEN {name} END"
        if self.format is None:
            return f"TRY_CAST({self.plain(text)} AS {self.type})"
        return f"CAST({self.moment(text)} AS {self.type})"

    def moment(self, text: str) -> str:
        """Return the SQL of the moment that a text spells in the format."""
        assert self.format is not None
        read = f"try_strptime({text}, {literal(self.format)})"
        if self.first_year is None:
            return read
        year = f"{self.first_year} + (year({read}) - {self.first_year} + 1000) % 100"
        return f"{read} + to_years(({year} - year({read}))::INTEGER)"

    def plain(self, text: str) -> str:
        """Return the SQL of a text with a decimal point, and nothing between thousands, where it is a number."""
        if self.type not in ("BIGINT", "DOUBLE"):
            return text
        bare = self.bare(text)
        if self.marks.thousands:
            bare = f"regexp_replace({bare}, {literal(between_thousands(self.marks))}, '', 'g')"
        return bare if self.marks.decimal == POINT else f"replace({bare}, {literal(self.marks.decimal)}, '.')"

    def bare(self, text: str) -> str:
        """Return the SQL of a text without the signs of its number."""
        return f"regexp_replace({text}, {literal(self.signs.pattern)}, '{BARE}')" if self.signs else text

    def fits(self, v: str = "v") -> str:
        """Return the SQL that says whether each text ``v`` spells this type."""
        patterns = {
            "BOOLEAN": "true|false",
            "BIGINT": _whole(self.marks),
            "DOUBLE": _number(self.marks),
            "DATE": _ISO,
            "TIMESTAMP": _ISO + _CLOCK,
            "TIMESTAMPTZ": _ISO + _CLOCK + _ZONE,
        }
        if self.format is None:
            reads = f"TRY_CAST({self.plain(v)} AS {self.type}) IS NOT NULL"
            return f"regexp_full_match({self.bare(v)}, {literal(patterns[self.type])}) AND {reads}"
        read = f"try_strptime({v}, {literal(self.format)}) IS NOT NULL"
        if has(self.format, "ybBI"):
            pattern = clock_pattern(self.format) if self.type == "TIME" else format_pattern(self.format)
            return f"(regexp_full_match({v}, {literal(pattern)}) AND {read})"
        exact = self.format in (*MOMENTS, _BARE_DAY, _BARE_CLOCK)
        pattern = _digits(self.format) if exact else _digits(self.format, "[0-9]{1,2}")
        read += f" AND left({v}, 2) IN ('19', '20')" if self.format == _BARE_DAY else ""
        last = end_of_day(self.format) if self.type == "TIME" else None
        end = "" if last is None else f"{v} = {literal(last)} OR "
        return f"({end}regexp_full_match({v}, {literal(pattern)}) AND {read})"


def _whole(marks: Dialect) -> str:
    return f"[+-]?({_figures(marks)})"


def _number(marks: Dialect) -> str:
    mark = re.escape(marks.decimal)
    return rf"[+-]?(({_figures(marks)})({mark}[0-9]*)?|{mark}[0-9]+)([eE][+-]?[0-9]+)?|[+-]?(?i:inf|infinity|nan)"


def _figures(marks: Dialect) -> str:
    """Return the regular expression of whole numbers; those with zeros in front are codes."""
    grouped = f"|[1-9][0-9]{{0,2}}({between_thousands(marks)}[0-9]{{3}})+" if marks.thousands else ""
    return f"0|[1-9][0-9]*{grouped}"


def _digits(form: str, two: str = "[0-9]{2}") -> str:
    """Return the regular expression of a format with all digits of its years; ``two`` is that of its other parts."""
    pattern = form.replace(".", r"\.").replace("%Y", "[0-9]{4}")
    for part in "mdHMS":
        pattern = pattern.replace(f"%{part}", two)
    return pattern


def _among(text: str, words: Sequence[str]) -> str:
    return f"{text} IN ({', '.join(map(literal, words))})" if words else "false"


CANDIDATES = (
    Spelling("DATE", _BARE_DAY),  # before the numbers, since these are digits, too
    *(Spelling(kind) for kind in ("BOOLEAN", "BIGINT", "DOUBLE", "DATE")),
    *(Spelling("TIME", clock) for clock in (*_CLOCKS, _BARE_CLOCK)),
    *(Spelling("TIMESTAMP", moment) for moment in MOMENTS),
    *(Spelling(kind) for kind in ("TIMESTAMP", "TIMESTAMPTZ")),
    *(Spelling("DATE", day) for day in DATES),
    *(Spelling("TIMESTAMP", f"{day} {clock}") for day in DATES for clock in _CLOCKS),
)


def spelling(ask: Ask, marks: Dialect = PLAIN, *, signed: bool = False) -> Spelling:
    """Return what a column spells; ``ask`` answers a SELECT list over its texts ``v`` that are not blank, ``n`` rows each.

    A few odd words among many numbers or dates are taken for marks of missing values, the commonest first.
    ``marks`` is how numbers are written; where ``signed``, they may have signs.
    """
    found = first_of(ask, [replace(one, marks=marks) for one in CANDIDATES])
    if found is None and signed and (signs := signs_of(ask)):
        found = first_of(ask, [Spelling(kind, marks=marks, signs=signs) for kind in ("BIGINT", "DOUBLE")])
    if found is not None and found.type == "BIGINT":
        return _days_in_digits(ask) or found
    return found or Spelling("VARCHAR")


def _days_in_digits(ask: Ask) -> Spelling | None:
    """Return days in eight digits where nearly all whole numbers are: 20230231 beside them is a slip, and no number."""
    long, rows = ask(f"{_rows_of(_UNMARKED, 'length(v) = 8')}, {_rows_of(_UNMARKED)}")
    return nearly(ask, [Spelling("DATE", _BARE_DAY)]) if long >= _NEARLY["DATE"] * rows > 0 else None


def signs_of(ask: Ask) -> Signs:
    """Return the signs that most of many texts have around a number; none where they have no such."""
    before = f"regexp_extract(v, {literal(_BEFORE)}, 1)"
    after = f"regexp_extract(v, {literal(_AFTER)}, 1)"
    *most, rows, texts = ask(f"mode({before}), mode({after}), count(*) FILTER ({before} || {after} <> ''), count(*)")
    return Signs(*most) if texts > DEFAULT_BINS and 2 * rows > texts else UNSIGNED


def first_of(ask: Ask, candidates: Sequence[Spelling]) -> Spelling | None:
    """Return the first that all texts fit, but for odd words; None where none is."""
    *odd, texts = ask(", ".join(f"count(*) FILTER (NOT ({one.fits()}))" for one in candidates) + ", count(*)")
    few = [one for one, strays in zip(candidates, odd, strict=True) if strays <= len(MISSING_MARKS) and strays < texts]
    for one in sorted(few, key=lambda one: odd[candidates.index(one)] > 0):  # those without a stray come first
        strays = odd[candidates.index(one)]
        if texts - strays < _LEAST.get(one.format or "", 0):
            continue
        words = _words(ask, one) if strays else ()
        if not strays or _are_marks(words, texts - strays):
            return replace(one, missing=words)
    return None


def nearly(ask: Ask, candidates: Sequence[Spelling]) -> Spelling | None:
    """Return the one that most rows fit, if nearly all do but for what means "missing"; none where codes may be meant."""
    known = [one for one in candidates if one.type in _NEARLY]
    with_digits = _rows_of(_UNMARKED, "regexp_matches(v, '[0-9]')")
    texts, digits = ask(f"{_rows_of(_UNMARKED)}, {with_digits}")
    if not known or not texts or digits < min(_NEARLY.values()) * texts:
        return None
    found = dict(zip(known, ask(", ".join(_rows_of(_UNMARKED, one.fits()) for one in known)), strict=True))
    likely = [one for one, rows in found.items() if rows >= _NEARLY[one.type] * texts]
    best = max(likely, key=lambda one: found[one], default=None)
    return None if best is None or not _are_slips(ask, best) else replace(best, missing=_named(ask, best), nearly=True)


def _rows_of(*conditions: str) -> str:
    return f"coalesce(sum(n) FILTER ({' AND '.join(conditions)}), 0)::BIGINT"


def _are_slips(ask: Ask, one: Spelling) -> bool:
    """Whether the texts that do not fit are slips beside many others, and none that rows share, or codes of digits."""
    odd = f"FILTER (NOT ({one.fits()}) AND {_UNMARKED})"
    codes = f"coalesce(bool_or(regexp_full_match(v, '[0-9]+')) {odd}, false)"
    others, most, coded = ask(f"count(*) FILTER ({one.fits()}), coalesce(max(n) {odd}, 0), {codes}")
    if one.type in ("BIGINT", "DOUBLE"):
        return others > DEFAULT_BINS and most < _SHARED and not coded
    return bool(others >= _LEAST.get(one.format or "", _MANY))


def _named(ask: Ask, one: Spelling) -> tuple[str, ...]:
    """Return the words beside moments or numbers that mean "missing": the usual ones, and one or two without a digit."""
    words = tuple(ask(f"list(v ORDER BY n DESC, v) FILTER (NOT ({one.fits()}) AND NOT regexp_matches(v, '[0-9]'))")[0] or ())
    usual = tuple(word for word in words if word.lower() in MISSING_MARKS)
    return words if len(words) - len(usual) <= _ODD_WORDS else usual


def _words(ask: Ask, one: Spelling) -> tuple[str, ...]:
    return tuple(ask(f"list(v ORDER BY n DESC, v) FILTER (NOT ({one.fits()}))")[0])


def _are_marks(words: Sequence[str], others: int) -> bool:
    """Whether words beside so many different numbers or dates mean "missing"."""
    if all(word.lower() in MISSING_MARKS for word in words):
        return True
    wordy = not any(character.isdigit() for word in words for character in word)
    return len(words) <= _ODD_WORDS and others >= _MANY and wordy
