"""Days and times that are not spelled by figures alone (Nov 08, 2020; 07:54 AM), and formats that spell texts again.

NOT PRIVATE: looks at all values of a column, for a draft.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from understudy.review.types import DATES, DATES_OF_TWO, MOMENTS, Ask, Spelling, first_of
from understudy.schema.formats import clock_pattern, format_pattern, has, parts_of, pattern_with
from understudy.schema.moments import moments_in
from understudy.source.duck import literal

_NAMED = tuple(
    form.replace("%b", month).replace("%Y", year)
    for form in ("%d-%b-%Y", "%d %b %Y", "%d. %b %Y", "%d/%b/%Y", "%d%b%Y", "%b %d, %Y", "%b %d %Y", "%Y-%b-%d")
    for month in ("%b", "%B")
    for year in ("%Y", "%y")
)
_HALF_DAYS = tuple(f"{clock}{blank}%p" for clock in ("%I:%M", "%I:%M:%S", "%I") for blank in (" ", ""))
_CLOCKS = ("%H:%M:%S", "%H:%M", *_HALF_DAYS)
_UNUSUAL = (
    *(Spelling("TIME", clock) for clock in _HALF_DAYS),
    *(Spelling("DATE", day) for day in (*_NAMED, *DATES_OF_TWO)),
    *(Spelling("TIMESTAMP", f"{day} {clock}") for day in ("%Y-%m-%d", *DATES) for clock in _HALF_DAYS),
    *(Spelling("TIMESTAMP", f"{day} {clock}") for day in (*_NAMED, *DATES_OF_TWO) for clock in _CLOCKS),
)
_LIKELY = r"(?i)jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|[ap]m$|^\d{1,2}[./-]\d{1,2}[./-]\d{1,2}( |$)"
"""What each of these has; most texts of other columns have nothing of it."""
_SOME = 100
"""The texts by which it is told which of these are worth a look at all texts: the commonest."""
_YEAR = 50
"""Years of two digits below this are taken for those of 2000 to 2049, if they are the last."""
_MARKED = {
    **dict.fromkeys("mdHI", ("-", "0[0-9]", "[1-9]")),
    **dict.fromkeys("bB", ("^", "[A-Z][a-z]+", "[A-Z]{3,}")),
}
"""The mark of a part, how it is spelled without it, and with it."""


def unusual(ask: Ask, fitting: Callable[[Ask, Sequence[Spelling]], Spelling | None] = first_of) -> Spelling | None:
    """Return the unusual spelling of days or times that all texts fit, but for marks of missing values, if there is one."""
    some = pa.array(ask(f"list(v ORDER BY n DESC, v)[:{_SOME}]")[0] or [], pa.string())
    if 2 * int(pc.sum(pc.match_substring_regex(some, _LIKELY)).as_py() or 0) <= len(some):
        return None
    likely = [one for one in _UNUSUAL if 2 * _fitting(some, one) > len(some)]
    found = fitting(ask, likely) if likely else None
    if found is None or not has(found.format or "", "y"):
        return found
    found = found if has(found.format or "", "bB") else _with_most_days(ask, found, likely)
    return replace(found, first_year=_first_year(ask, found))


def _with_most_days(ask: Ask, found: Spelling, likely: list[Spelling]) -> Spelling:
    """Return which of several formats of figures has the most days: 20-11-08 to 20-11-30 are no days of other years."""
    others = [one for one in likely if one.type == found.type and not has(one.format or "", "bB")]
    fits = ", ".join(f"count(*) FILTER ({one.fits()})" for one in others)
    days = ", ".join(f"count(DISTINCT day({one.moment('v')})) FILTER ({one.fits()})" for one in others)
    told = ask(f"{fits}, {days}")
    best = max(zip(others, told, told[len(others) :], strict=False), key=lambda one: one[1:])[0]
    return replace(best, missing=found.missing, nearly=found.nearly)


def _pattern(one: Spelling, form: str) -> str:
    return clock_pattern(form) if one.type == "TIME" else format_pattern(form)


def _fitting(texts: pa.Array, one: Spelling) -> int:
    return len(texts) - int(moments_in(texts, (), _pattern(one, one.format or "")).unreadable.sum())


def _first_year(ask: Ask, one: Spelling) -> int:
    """Return from where on years of two digits seem to go: from behind the longest gap between those that were seen."""
    seen: list[int] = ask(f"list(DISTINCT (year({one.moment('v')}) % 100)::INTEGER) FILTER ({one.fits()})")[0]
    first = max(seen, key=lambda year: (min((year - before - 1) % 100 for before in seen), -((year - _YEAR) % 100)))
    span = max((year - first) % 100 for year in seen)
    last = (first + span) % 100
    return last + (2000 if last < _YEAR else 1900) - span


def exact(ask: Ask, one: Spelling) -> Spelling:
    """Return the same with a format that spells its texts again: without zeros in front or in capitals, where all are so."""
    if one.format is None or one.format in MOMENTS:
        return one
    form = one.format
    for letter in (part.letter for part in parts_of(one.format)):
        mark, plain, marked = _MARKED.get(letter, ("", "[AP]M", "[ap]m"))
        other = form.replace(f"%{letter}", f"%{mark}{letter}" if mark else "%P")
        if letter in {*_MARKED, "p"} and _only(ask, one.format, letter, marked, plain) and _can_be(one, other):
            form = other
    return replace(one, spelled=form)


def _only(ask: Ask, form: str, letter: str, one: str, other: str) -> bool:
    """Whether a part is spelled as ``one`` in some texts, and as the ``other`` in none."""
    patterns = (literal(pattern_with(form, {letter: spelled})) for spelled in (one, other))
    some, others = ask(", ".join(f"count(*) FILTER (regexp_full_match(v, {pattern}))" for pattern in patterns))
    return bool(some) and not others


def _can_be(one: Spelling, form: str) -> bool:
    try:
        _pattern(one, form)
    except ValueError:  # 512020 could be 5 January or 12 May
        return False
    return True
