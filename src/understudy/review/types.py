"""Which type the texts of a column seem to spell: the first that every one of them fits, but for marks of missing values.

NOT PRIVATE: looks at all values of a column, for a draft.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from understudy.source.duck import literal

_WHOLE = r"[+-]?(0|[1-9][0-9]*)"
_NUMBER = r"[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?(?i:inf|infinity|nan)"
_ISO = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK = r"[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?"
_ZONE = r"(Z|[+-][0-9]{2}:?[0-9]{2})"
_DATES = ("%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d")
_CLOCKS = ("%H:%M:%S", "%H:%M")
MISSING_MARKS = (
    "NA",
    "N/A",
    "n/a",
    "#N/A",
    "NULL",
    "null",
    "None",
    "none",
    "?",
    "-",
    "--",
    ".",
    "missing",
    "unknown",
    "Unknown",
)


@dataclass(frozen=True)
class Spelling:
    """A type of DuckDB, how the texts spell it where that is not the usual way, and which seem to mean "missing"."""

    type: str
    format: str | None = None
    missing: tuple[str, ...] = ()

    def read(self, name: str) -> str:
        """Return the SQL that reads the column; blank text is missing."""
        text = f"NULLIF(trim({name}), '')"
        if self.type == "VARCHAR":
            return f"CASE WHEN trim({name}) <> '' THEN {name} END"
        if self.format is None:
            return f"TRY_CAST({text} AS {self.type})"
        return f"CAST(try_strptime({text}, {literal(self.format)}) AS {self.type})"

    def fits(self) -> str:
        """Return the SQL that says whether each text ``v`` spells this type."""
        patterns = {
            "BOOLEAN": "(?i:true|false)",
            "BIGINT": _WHOLE,
            "DOUBLE": _NUMBER,
            "DATE": _ISO,
            "TIMESTAMP": _ISO + _CLOCK,
            "TIMESTAMPTZ": _ISO + _CLOCK + _ZONE,
        }
        if self.format is not None:
            return f"try_strptime(v, {literal(self.format)}) IS NOT NULL"
        return f"regexp_full_match(v, {literal(patterns[self.type])}) AND TRY_CAST(v AS {self.type}) IS NOT NULL"


CANDIDATES = (
    *(Spelling(kind) for kind in ("BOOLEAN", "BIGINT", "DOUBLE", "DATE", "TIMESTAMP", "TIMESTAMPTZ")),
    *(Spelling("DATE", day) for day in _DATES),
    *(Spelling("TIMESTAMP", f"{day} {clock}") for day in _DATES for clock in _CLOCKS),
)


def spelling(ask: Callable[[str], tuple[Any, ...]]) -> Spelling:
    """Return what a column spells; ``ask`` answers a SELECT list over its texts that are not blank, as ``v``."""
    found = _first(ask(", ".join(f"bool_and({one.fits()})" for one in CANDIDATES)))
    if found is not None:
        return found
    marks = f"v IN ({', '.join(map(literal, MISSING_MARKS))})"
    *flags, missing = ask(
        ", ".join(f"bool_and({one.fits()}) FILTER (NOT {marks})" for one in CANDIDATES)
        + f", list_sort(list(v) FILTER ({marks}))"
    )
    found = _first(flags)
    return Spelling("VARCHAR") if found is None else replace(found, missing=tuple(missing or ()))


def _first(flags: Sequence[Any]) -> Spelling | None:
    return next((one for one, flag in zip(CANDIDATES, flags, strict=True) if flag), None)
