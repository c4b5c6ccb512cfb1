"""Tables, and parts of a page that stay folded until asked for. Public."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from understudy.report.markup import Child, Html, tag, words


def table(
    heads: Sequence[str], rows: Iterable[Sequence[Child]], *, caption: str, hidden: bool = True, text: int = 1
) -> Html:
    """Return a table whose first cell of a row is its name and whose first ``text`` columns are words, not numbers.

    It scrolls by itself where the screen is narrow, and the keyboard can reach it to scroll.
    """
    head = tag("tr", (tag("th", name, scope="col", class_=_kind(i, text)) for i, name in enumerate(heads)))
    body = (tag("tr", _cells(row, text)) for row in rows)
    title = tag("caption", caption, class_="unseen" if hidden else None)
    drawn = tag("table", title, tag("thead", head), tag("tbody", body))
    return tag("div", drawn, class_="scroll", role="region", aria_label=caption, tabindex="0")


def _cells(row: Sequence[Child], text: int) -> Iterable[Html]:
    first, *others = row
    yield tag("th", first, scope="row")
    for position, cell in enumerate(others, start=1):
        yield tag("td", cell, class_=_kind(position, text))


def _kind(position: int, text: int) -> str | None:
    return None if position < text else "n"


def folded(summary: str, body: Child, *, paper: bool = False) -> Html:
    """Return a part that opens on demand; on paper it is open with ``paper``, and otherwise left out."""
    return tag("details", tag("summary", summary), words(body), class_="paper" if paper else None)


def names(clique: Sequence[str]) -> Html:
    """Write a set of columns: age × sex."""
    if not clique:
        return words("the number of records")
    parts: list[Child] = []
    for name in clique:
        parts += (
            [tag("span", " × ", class_="times"), tag("span", name, class_="name")]
            if parts
            else [tag("span", name, class_="name")]
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


def plain_names(clique: Sequence[str]) -> str:
    """Write a set of columns where markup cannot go."""
    return " × ".join(clique)
