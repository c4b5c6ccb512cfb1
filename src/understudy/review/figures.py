"""Finds out what stands in the numbers of a CSV file: a decimal comma, a mark between thousands. A draft declares it.

NOT PRIVATE: looks at all values of all columns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from understudy.review.dialects import Sniffed
from understudy.review.types import MISSING_MARKS, Ask, Spelling, signs_of
from understudy.schema.declaration import DEFAULT_BINS
from understudy.schema.dialect import Dialect
from understudy.source.csv import Csv
from understudy.source.duck import literal
from understudy.source.figures import has_plain_numbers

_WAYS = ((".", ""), (",", ""), (",", "."), (",", " "), (".", ","), (".", "'"), (",", "'"), (".", " "))
"""A decimal mark and what stands between thousands: the first of those that read the most columns is taken."""
_STRAYS = 2
_MARKED = "[0-9][.,' \u2019\u00a0\u202f][0-9]|^[+-]?[.,][0-9]"


def with_marks(dialect: Sniffed, data: str | Path | Csv, columns: Sequence[Ask]) -> Sniffed:
    """Return the dialect with the marks in numbers that read the most columns; ``columns`` answer about their texts."""
    given = data if isinstance(data, Csv) else Csv("")
    ways = [
        replace(dialect.found, decimal=decimal, thousands=thousands)
        for decimal, thousands in _WAYS
        if given.decimal in (None, decimal) and given.thousands in (None, thousands)
    ]
    votes = Counter(way for ask in columns for way in _reading(ask, ways))
    best = [way for way in ways if votes[way] and votes[way] == max(votes.values())]
    if not best:
        return dialect
    grouped = next((way for way in best if way.thousands == best[0].decimal), None)
    if grouped is None or (has_plain_numbers(best[0]) and dialect.found.separator != ";"):
        return replace(dialect, found=best[0])
    chosen = best[0] if _has_long(columns, best) else grouped
    return replace(dialect, found=chosen, doubt=_doubt(chosen))


def _reading(ask: Ask, ways: Sequence[Dialect]) -> list[Dialect]:
    """Return the ways in which a column of many numbers with marks can be read; none for any other."""
    words = ", ".join(map(literal, MISSING_MARKS))
    texts = f"count(*) FILTER (lower(v) NOT IN ({words})"
    signs = signs_of(ask)
    fits = [Spelling("DOUBLE", marks=way, signs=signs).fits() for way in ways]
    counts = ", ".join(f"{texts} AND NOT ({one}))" for one in fits)
    *strays, marked, all_texts = ask(f"{counts}, count(*) FILTER (regexp_matches(v, {literal(_MARKED)})), {texts})")
    if all_texts <= DEFAULT_BINS or not marked:
        return []
    return [way for way, count in zip(ways, strays, strict=True) if count <= _STRAYS]


def _has_long(columns: Sequence[Ask], best: Sequence[Dialect]) -> bool:
    """Whether some of the numbers in doubt have more than three digits without a mark: then marks are no thousands."""
    doubtful = [ask for ask in columns if set(best) <= set(_reading(ask, best))]
    return any(ask("count(*) FILTER (regexp_full_match(v, '[+-]?[0-9]{4,}'))")[0] for ask in doubtful)


def _doubt(chosen: Dialect) -> str:
    """Say how numbers are read that could be read otherwise, and how to say that they should be."""
    mark = chosen.thousands or chosen.decimal
    read = "1234" if chosen.thousands else "1.234"
    other = "decimal" if chosen.thousands else "thousands"
    return (
        f"numbers such as 1{mark}234 may be 1234 or 1.234, and are read as {read}; if that is wrong, draft again with "
        f'--{other} "{mark}".'
    )
