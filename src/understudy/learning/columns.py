"""From what the door told of a column to its declaration. Public: all of it follows from released answers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, time
from fractions import Fraction
from typing import Any

import numpy as np

from understudy.learning.bins import bins
from understudy.learning.centuries import in_centuries
from understudy.learning.clock import ask_clock, may_be_clock
from understudy.learning.forms import ask_form
from understudy.learning.texts import Texts
from understudy.learning.tree import PART, SURE, First, Leaf, divide
from understudy.learning.words import known_words, rows_of_words
from understudy.privacy import Door
from understudy.schema import declaration as d
from understudy.schema.days import ORDERS, families, groups
from understudy.schema.formats import end_of_day, format_grain
from understudy.schema.ladder import (
    CLOCK_CELLS,
    FALSE,
    FAMILIES,
    ISO_FAMILIES,
    LENGTH,
    MIDNIGHT,
    MISSING,
    PADDED,
    TEXT,
    TRUE,
    number_end,
)
from understudy.schema.layouts import CLOCKS, layouts

OTHER = "(other)"
"""What texts that few people share are called."""
CLOCK_SHARE = Fraction(1, 5)
"""Of what a column of numbers has, for whether these are times of day; only where they may be."""
FORM_SHARE = Fraction(1, 5)
"""Of what a column of days in other formats has, for which format that is."""
PADDED_PART = 50
"""Digits are codes where more than one in about so many begins with a zero."""
LAST_CELLS = 0.99
"""What starts so near to where the ladder ends is beyond."""
_CELLS = {"whole": 21, "other": 27, "date": 20, "datetime": 20, "text": 1, "boolean": 2}


def kind_of(first: First) -> str | None:
    """Return what most values seem to be: a kind, a family of days, or the format of times. None where that is noise.

    Numbers are whole unless many surely are not.
    """
    rows = {family: first.rows(family) for family in ISO_FAMILIES}
    rows |= {"text": rows_of_texts(first), "boolean": float(first.plain[FALSE] + first.plain[TRUE])}
    rows |= _clocks(first) | _spelled(first)
    if _codes(first):
        rows["whole"] = 0.0
    if _lengths(first):
        rows |= dict.fromkeys(CLOCKS, 0.0)
    numbers = rows["whole"] + rows["other"]
    if first.sure(rows["other"], _CELLS["other"]) and 100 * rows["other"] > numbers:
        rows["other"], rows["whole"] = numbers, 0
    kind = max(rows, key=lambda family: rows[family])
    return kind if first.sure(rows[kind], _CELLS.get(kind, 1)) else None


def _spelled(first: First) -> dict[str, float]:
    """Return how many rows have days of each family; of 03/04/2020 those where others surely say what comes first."""
    found: dict[str, float] = {}
    for plain, both, *ones in groups():
        found[plain.name] = first.rows(plain.name)
        name = max((one.name for one in ones), key=first.rows)
        if first.sure(first.rows(name), 1):
            found[name] = first.rows(name, both.name)
    return found


def _codes(first: First) -> bool:
    """Whether digits are codes (01055, 20095), which as numbers would lose their zeros: where some surely begin with one."""
    padded = float(first.plain[PADDED])
    return first.sure(padded, 1) and PADDED_PART * padded > first.rows("whole")


def _clocks(first: First) -> dict[str, float]:
    """Return how many rows have times of day in each format."""
    return {form: float(first.plain[cell]) for cell, form in zip(CLOCK_CELLS, CLOCKS, strict=True)}


def _lengths(first: First) -> bool:
    """Whether hours and minutes are lengths of time, and texts: where some surely have an hour above 23."""
    return first.sure(float(first.plain[LENGTH]), 1)


def rows_of_texts(first: First) -> float:
    """Return how many rows have texts: digits among them where these are codes, and hours and minutes that are lengths."""
    found = float(first.plain[TEXT] + first.plain[PADDED]) + rows_of_words(first)
    found += _codes(first) * first.rows("whole")
    return found + _lengths(first) * (sum(_clocks(first).values()) + float(first.plain[LENGTH] + first.plain[MIDNIGHT]))


def learn_column(door: Door, column: str, first: First, rho: Fraction) -> d.ColumnDeclaration | None:
    """Learn one column that is none of texts after the ``first`` question, for at most ``rho``; None if that fails."""
    kind, nullable = kind_of(first), any(first.sure(float(first.plain[cell]), 1) for cell in (MISSING, TEXT))
    if kind == "boolean":
        place: dict[str, Any] = {"nullable": True} if nullable else {"other": False}
        return d.Boolean(kind="boolean", **place)
    if kind == "whole" and may_be_clock(first):
        part = rho * CLOCK_SHARE
        if clock := ask_clock(door, column, part):
            return d.Time(kind="time", **clock, **_place(nullable, [time(12)]))
        rho -= part
    if kind is not None and kind in CLOCKS:
        form = ask_form(door, column, [CLOCKS.index(kind)], 0, rho, doubt=False) or kind
        ends = first.sure(float(first.plain[MIDNIGHT]), 1) and end_of_day(form) is not None
        last: dict[str, Any] = {"max": d.END_OF_DAY} if ends else {}
        return d.Time(kind="time", format=form, **last, **_place(nullable, [time(12)]))
    if kind is not None and kind not in ("whole", "other"):
        return _days(door, column, first, kind, rho, nullable=nullable)
    return _numbers(door, column, first, kind, rho, nullable=nullable)


def texts_before(first: First) -> Texts:
    """Return what the ``first`` question told of a column of texts."""
    return Texts(known_words(first), rows_of_words(first))


def texts_column(found: Texts, first: First) -> d.ColumnDeclaration | None:
    """Return a column of texts as it was learnt after the ``first`` question; None where no text is shared by many.

    None, too, where most rows have other texts: a column that is mostly the catch-all tells little, and costs as any does.
    """
    values = sorted(text for text in found.values if text not in ("", OTHER))
    if not values or 2 * found.rows < rows_of_texts(first):
        return None
    nullable = "" in found.values or _nullable(first)
    return d.Categorical(kind="categorical", values=values, other=OTHER, nullable=nullable)


def _nullable(first: First) -> bool:
    return first.sure(float(first.plain[MISSING]), 1)


def _numbers(
    door: Door, column: str, first: First, kind: str | None, rho: Fraction, *, nullable: bool
) -> d.ColumnDeclaration | None:
    families = (0,) if kind == "whole" else (0, 1)
    leaves = divide(door, column, first, families, rho)
    found = bins(leaves)
    if not found or _beyond(leaves, families):
        return None
    if kind != "whole":
        edges = [*(low for low, _ in found), found[-1][1]]
        return d.Real(kind="real", edges=edges, **_place(nullable, edges[:-1]))
    starts = [int(low) + (low < 0) for low, _ in found]
    last = int(found[-1][1]) - (found[-1][1] > 0)
    return d.Integer(kind="integer", **_edges([*starts, max(last, starts[-1])]), **_place(nullable, starts))


def _beyond(leaves: Sequence[Leaf], families: tuple[int, ...]) -> bool:
    """Whether many rows lie in the last cells of the ladder, which hold all that is beyond: these would be made up."""
    last, many = LAST_CELLS * min(number_end(family) for family in families), sum(leaf.rows for leaf in leaves) / PART
    return any(leaf.rows > max(many, SURE * leaf.sigma) and leaf.node.low >= last for leaf in leaves)


def _days(door: Door, column: str, first: First, kind: str, rho: Fraction, *, nullable: bool) -> d.ColumnDeclaration | None:
    """Learn days or moments: ``kind`` says which, or of which family they are."""
    if kind in ISO_FAMILIES:
        return _binned(
            divide(door, column, first, (FAMILIES.index(kind),), rho), None, nullable=nullable, clock=kind != "date"
        )
    form = _form(door, column, kind, rho * FORM_SHARE)
    if form is None:
        return None
    (group,) = (group for group in groups() if kind in [one.name for one in group])
    plain, either, *_ = (one.name for one in group)
    names = [kind] if kind == plain else [either, kind]
    leaves = divide(door, column, first, tuple(map(FAMILIES.index, names)), rho * (1 - FORM_SHARE))
    short, clock = group[0].short, group[0].clock
    return _binned(in_centuries(leaves) if short else leaves, form, nullable=nullable, clock=clock)


def _form(door: Door, column: str, kind: str, rho: Fraction) -> str | None:
    """Ask which format the days or moments of a family have."""
    family = next(one for one in families() if one.name == kind)
    order = ORDERS.index(family.order)
    alike = (family.clock, family.short, order > 0)
    likely = [n for n, one in enumerate(layouts()) if (one.has_clock, one.short, len(one.formats) > 1) == alike]
    likely = [n for n in likely if not layouts()[n].is_clock]
    doubt = family.short and family.order == "day first"
    return ask_form(door, column, likely, int(family.order == "month first"), rho, doubt=doubt)


def _binned(leaves: Sequence[Leaf], form: str | None, *, nullable: bool, clock: bool) -> d.ColumnDeclaration | None:
    """Return the declaration of days or moments in a format, None for the usual one."""
    found = bins(leaves)
    if not found:
        return None
    days = [*(int(low) for low, _ in found), int(found[-1][1]) - 1]
    dates: list[date] = [np.datetime64(day, "D").astype(object) for day in days]
    spelled: dict[str, Any] = {} if form is None else {"format": form}
    if not clock:
        return d.Date(kind="date", **spelled, **_edges(dates), **_place(nullable, dates[:-1]))
    grain = 1 if form is None else format_grain(form)
    last = time(23, 59 if grain <= 60 else 0, 59 if grain == 1 else 0)
    moments = [*(datetime.combine(day, time()) for day in dates[:-1]), datetime.combine(dates[-1], last)]
    return d.DateTime(kind="datetime", **spelled, **_edges(moments), **_place(nullable, moments[:-1]))


def _edges(edges: list[Any]) -> dict[str, Any]:
    """Return the bins by their edges; where there is one value in all, by its bounds."""
    return {"edges": edges} if edges[0] < edges[-1] else {"min": edges[0], "max": edges[0]}


def _place(nullable: bool, starts: list[Any]) -> dict[str, Any]:
    """Return where a missing value goes: null where there are surely some, else the start of the middle bin."""
    return {"nullable": True} if nullable else {"other": starts[len(starts) // 2]}
