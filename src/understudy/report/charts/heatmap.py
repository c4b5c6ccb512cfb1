"""Every pair of columns as a triangle of coloured cells. The picture is a table: each cell holds its number. Public."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from understudy.quantities import percent
from understudy.report.markup import Html, tag, words
from understudy.report.numbers import data
from understudy.report.tables import plain_names, short

STEPS = (0.02, 0.05, 0.1, 0.2, 0.4, 0.8)
"""Where the colour changes. Fixed, so that one report can be compared with another."""

LETTERS = 16
"""Of a column's name."""

Pair = tuple[str, ...]


@dataclass(frozen=True)
class Cell:
    """The number of one pair, and whether to mark it."""

    share: float
    title: str
    marked: bool = False


def heatmap(attributes: Sequence[str], cells: Mapping[Pair, Cell], *, caption: str, none: str) -> Html:
    """Return the triangle. A row's name stands at its end, where the column of the same name begins."""
    rows = [_row(attributes, i, cells, none) for i in range(len(attributes))]
    head = tag("tr", (tag("th", name, scope="col") for name in attributes[:-1]), tag("td"))
    widths = tag("colgroup", tag("col", class_="cell", span=len(attributes) - 1), tag("col"))
    drawn = tag(
        "table",
        tag("caption", caption, class_="unseen"),
        widths,
        tag("thead", head, class_="unseen"),
        tag("tbody", rows),
        class_=f"heat {_density(len(attributes))}",
        style=f"--n:{len(attributes)}",
    )
    return tag("div", drawn, class_="scroll", role="region", aria_label=caption, tabindex="0")


def _density(columns: int) -> str:
    if columns <= 7:
        return "roomy"
    return "usual" if columns <= 18 else "tight"


def _row(attributes: Sequence[str], position: int, cells: Mapping[Pair, Cell], none: str) -> Html:
    name = attributes[position]
    before = (_cell(cells.get((other, name)), (other, name), none) for other in attributes[:position])
    label = tag("th", _label(name), scope="row", colspan=len(attributes) - position, title=name)
    return tag("tr", before, label)


def _label(name: str) -> Html:
    cut = short(name, LETTERS)
    if cut == name:
        return tag("span", name)
    return words(tag("span", cut, aria_hidden="true"), tag("span", name, class_="unseen"))


def _cell(cell: Cell | None, pair: Pair, none: str) -> Html:
    if cell is None:
        return tag("td", tag("span", none), class_="h none", title=f"{plain_names(pair)}: {none}")
    marked = " marked" if cell.marked else ""
    return tag("td", data(cell.share, percent(cell.share)), class_=f"h h{step(cell.share)}{marked}", title=cell.title)


def step(share: float) -> int:
    """Return the number of the colour for ``share``."""
    return bisect_left(STEPS, share)


def legend(*, none: str | None, marked: str | None) -> Html:
    """Return the colours with what they stand for."""
    texts = [f"up to {percent_of(STEPS[0])}", *(f"to {percent_of(s)}" for s in STEPS[1:]), "more"]
    keys = [words(tag("span", class_=f"key h{i}"), text) for i, text in enumerate(texts)]
    if none:
        keys.append(words(tag("span", class_="key none"), none))
    if marked:
        keys.append(words(tag("span", class_="key h1 marked"), marked))
    return tag("ul", (tag("li", key) for key in keys), class_="legend")


def percent_of(share: float) -> str:
    """Write a round share: 2%."""
    return f"{100 * share:g}%"
