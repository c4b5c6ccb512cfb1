"""A strict reader of HTML: nesting, content, headings, ids, links and names; and a reader of tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import pairwise

VOID = {"br", "col", "hr", "img", "link", "meta", "wbr", "input"}
FLOW = {"div", "p", "ul", "ol", "dl", "table", "section", "article", "figure", "details", "h1", "h2", "h3", "nav"}
PARENTS = {
    "li": {"ul", "ol"},
    "tr": {"thead", "tbody"},
    "td": {"tr"},
    "th": {"tr"},
    "thead": {"table"},
    "tbody": {"table"},
    "caption": {"table"},
    "colgroup": {"table"},
    "col": {"colgroup"},
    "summary": {"details"},
    "rect": {"svg"},
    "path": {"svg"},
    "dt": {"div"},
    "dd": {"div"},
}
CHILDREN = {
    "ul": {"li"},
    "ol": {"li"},
    "tr": {"td", "th"},
    "table": {"caption", "colgroup", "thead", "tbody"},
    "thead": {"tr"},
    "tbody": {"tr"},
    "dl": {"div"},
}
TEXTLESS = {"ul", "ol", "tr", "table", "thead", "tbody", "dl", "colgroup", "svg"}


@dataclass
class Element:
    name: str
    attributes: dict[str, str | None]
    parent: Element | None
    children: list[Element] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    def all(self, name: str) -> list[Element]:
        found = [self] if self.name == name else []
        return found + [e for child in self.children for e in child.all(name)]

    def classes(self) -> list[str]:
        return (self.attributes.get("class") or "").split()


class Reader(HTMLParser):
    """Reads a page into elements and lists what is wrong with it."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("#root", {}, None)
        self.open = [self.root]
        self.problems: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        if len(set(names)) < len(names):
            self.problems.append(f"<{tag}> repeats an attribute")
        parent = self.open[-1]
        self._nest(tag, parent)
        element = Element(tag, dict(attrs), parent)
        parent.children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def _nest(self, tag: str, parent: Element) -> None:
        if tag in PARENTS and parent.name not in PARENTS[tag]:
            self.problems.append(f"<{tag}> in <{parent.name}>")
        if parent.name in CHILDREN and tag not in CHILDREN[parent.name]:
            self.problems.append(f"<{parent.name}> holds <{tag}>")
        closed = {"p", "span", "h1", "h2", "h3", "summary", "b", "small"}
        if tag in FLOW and any(e.name in closed for e in self.open):
            self.problems.append(f"block <{tag}> within a line of text")

    def handle_endtag(self, tag: str) -> None:
        if self.open[-1].name != tag:
            self.problems.append(f"</{tag}> closes <{self.open[-1].name}>")
        if len(self.open) > 1:
            self.open.pop()

    def handle_data(self, data: str) -> None:
        if data.strip() and self.open[-1].name in TEXTLESS:
            self.problems.append(f"text {data[:20]!r} directly in <{self.open[-1].name}>")
        for element in self.open:
            element.pieces.append(data)

    def handle_comment(self, data: str) -> None:
        self.problems.append("a comment")

    def unknown_decl(self, data: str) -> None:
        self.problems.append("an unknown declaration")


def read(page: str) -> tuple[Element, list[str]]:
    """Return the page's elements and its problems."""
    reader = Reader()
    reader.feed(page)
    reader.close()
    problems = list(reader.problems)
    if len(reader.open) > 1:
        problems.append(f"<{reader.open[-1].name}> is never closed")
    return reader.root, problems + _whole(reader.root)


def _whole(root: Element) -> list[str]:
    every = _flat(root)
    ids = [i for e in every if (i := e.attributes.get("id"))]
    problems = [f"id {i} is used twice" for i in set(ids) if ids.count(i) > 1]
    for e in every:
        for key in ("aria-labelledby", "href"):
            target = (e.attributes.get(key) or "").removeprefix("#")
            if target and target not in ids:
                problems.append(f"{key} points to {target}, which is not there")
        if e.name == "svg" and not _named(e):
            problems.append("a drawing without a name")
        if e.attributes.get("role") in ("img", "region") and not e.attributes.get("aria-label"):
            problems.append(f"a {e.attributes['role']} without a name")
        if e.name in ("th", "caption", "h1", "h2", "h3", "summary", "a", "title") and not e.text.strip():
            problems.append(f"an empty <{e.name}>")
    levels = [int(e.name[1]) for e in every if e.name in ("h1", "h2", "h3", "h4")]
    if levels.count(1) != 1 or levels[0] != 1 or any(b > a + 1 for a, b in pairwise(levels)):
        problems.append(f"headings out of order: {levels}")
    if any(len(root.all(name)) != 1 for name in ("html", "head", "body", "main", "nav", "header", "footer")):
        problems.append("a landmark is missing or twice there")
    if len([e for e in every if e.name == "title" and e.parent and e.parent.name == "head"]) != 1:
        problems.append("no title")
    if root.all("html")[0].attributes.get("lang") != "en":
        problems.append("no language")
    return problems


def _named(e: Element) -> bool:
    return (
        bool(e.attributes.get("aria-label"))
        if e.attributes.get("role") == "img"
        else e.attributes.get("aria-hidden") == "true"
    )


def _flat(e: Element) -> list[Element]:
    return [e, *(found for child in e.children for found in _flat(child))]


def table(root: Element, caption: str) -> list[list[str]]:
    """Return the cells of the table with this caption: the machine's number where a cell has one, else its text."""
    found = [t for t in root.all("table") if t.all("caption")[0].text == caption]
    assert len(found) == 1, f"{len(found)} tables are called {caption!r}"
    return [[_cell(cell) for cell in row.children] for row in found[0].all("tbody")[0].all("tr")]


def _cell(cell: Element) -> str:
    numbers = cell.all("data")
    return str(numbers[0].attributes["value"]) if numbers else cell.text
