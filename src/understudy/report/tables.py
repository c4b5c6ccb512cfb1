"""Tables, and parts of a page that stay folded until asked for. Public."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from understudy.report.markup import Child, Html, tag, words

FEW = 16
"""Rows of a table that is shown in its full height."""


def table(
    heads: Sequence[str],
    rows: Iterable[Sequence[Child]],
    *,
    caption: str,
    hidden: bool = True,
    text: int = 1,
    words_last: bool = False,
) -> Html:
    """Return a table whose first cell of a row is its name and whose first ``text`` columns are words, not numbers.

    With ``words_last``, so is the last one.

    It scrolls by itself where the screen is narrow, and the keyboard can reach it to scroll.
    """
    kinds = [None if i < text or (words_last and i == len(heads) - 1) else "n" for i in range(len(heads))]
    head = tag("tr", (tag("th", name, scope="col", class_=kind) for name, kind in zip(heads, kinds, strict=True)))
    body = [tag("tr", _cells(row, kinds)) for row in rows]
    title = tag("caption", caption, class_="unseen" if hidden else None)
    drawn = tag("table", title, tag("thead", head), tag("tbody", body))
    scroll = "scroll few" if len(body) <= FEW else "scroll"
    return tag("div", drawn, class_=scroll, role="region", aria_label=caption, tabindex="0")


def _cells(row: Sequence[Child], kinds: Sequence[str | None]) -> Iterable[Html]:
    first, *others = row
    yield tag("th", first, scope="row")
    for cell, kind in zip(others, kinds[1:], strict=True):
        yield tag("td", cell, class_=kind)


def folded(summary: Child, body: Child, *, paper: bool = False) -> Html:
    """Return a part that opens on demand; on paper it is open with ``paper``, and otherwise left out."""
    return tag("details", tag("summary", summary), words(body), class_="paper" if paper else None)


def names(clique: Sequence[str]) -> Html:
    """Write a set of columns: age × sex."""
    if not clique:
        return words("the number of records")
    parts: list[Child] = []
    for name in clique:
        parts += (
            [tag("span", " × ", class_="times"), tag("span", parted(name), class_="name")]
            if parts
            else [tag("span", parted(name), class_="name")]
        )
    return words(parts)


def prominent(attributes: Sequence[str], pairs: Iterable[tuple[Sequence[str], float]], most: int) -> list[str]:
    """Return the ``most`` columns that matter most by their pairs' numbers, added up; in their own order."""
    if len(attributes) <= most:
        return list(attributes)
    matters = dict.fromkeys(attributes, 0.0)
    for pair, number in pairs:
        for name in pair:
            matters[name] += number
    kept = set(sorted(attributes, key=lambda name: -matters[name])[:most])
    return [name for name in attributes if name in kept]


def short(name: str, letters: int) -> str:
    """Return ``name`` cut in the middle: names of columns often differ at their ends."""
    if len(name) <= letters:
        return name
    tail = (letters - 1) // 2
    return f"{name[: letters - 1 - tail]}…{name[-tail:]}"


def parted(name: str) -> Html:
    """Write a name that a narrow cell may part before a capital and after a mark: Category-Coverage, length_-of_-stay."""
    first, *others = re.split(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[_./])(?=\w)", name)
    return words(first, ((tag("wbr"), other) for other in others))


def plain_names(clique: Sequence[str]) -> str:
    """Write a set of columns where markup cannot go."""
    return " × ".join(clique)
