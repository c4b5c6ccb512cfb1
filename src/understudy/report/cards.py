"""Columns as cards side by side: few as they are, many grouped by kind, with a box to find one by its name. Public."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

from understudy.report.markup import Html, tag, words
from understudy.report.numbers import plural

MANY = 24
"""More columns than this are grouped, and can be searched."""
GROUPS = {
    "Numbers": ("integer", "real"),
    "Dates and times": ("date", "datetime", "time"),
    "Listed values": ("categorical", "ordinal", "boolean"),
}


@dataclass(frozen=True)
class Card:
    """A column: its name, its kind, and what is shown of it."""

    name: str
    kind: str
    body: Html


def cards(found: Sequence[Card]) -> Html:
    """Return the cards in their order; many of them in groups that can be folded, with a box to search them."""
    if len(found) <= MANY:
        return _side_by_side(found)
    groups = {title: [c for c in found if c.kind in kinds] for title, kinds in GROUPS.items()}
    groups["Others"] = [c for c in found if not any(c.kind in kinds for kinds in GROUPS.values())]
    return words(_box(), (_group(title, members) for title, members in groups.items() if members))


def script(columns: int) -> str:
    """Return what the box runs; nothing for few columns, which have no box."""
    return files("understudy.report").joinpath("search.js").read_text(encoding="utf-8") if columns > MANY else ""


def _box() -> Html:
    """Return the box, hidden until the script shows it: without scripts it would do nothing."""
    return tag(
        "form",
        tag("label", "Find a column ", tag("input", id="find", type="search", autocomplete="off")),
        tag("output", id="found", aria_live="polite"),
        class_="find",
        hidden=True,
    )


def _group(title: str, members: Sequence[Card]) -> Html:
    summary = tag("summary", f"{title}: {plural(len(members), 'column')}")
    return tag("details", summary, _side_by_side(members), class_="group paper", open=True)


def _side_by_side(found: Sequence[Card]) -> Html:
    return tag("div", (tag("article", c.body, data_name=c.name.lower()) for c in found), class_="cards")
