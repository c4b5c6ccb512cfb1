"""Markup built from values, escaped by construction: text becomes ``Html`` only through here.

Public: knows nothing about tables or releases.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

VOID = frozenset({"br", "col", "hr", "img", "input", "link", "meta", "wbr"})


class Html(str):
    """Text that is markup already. Everything else is escaped when it is put into an element."""

    __slots__ = ()


Child = str | int | float | None | Iterable["Child"]
Attribute = str | int | float | bool | None


def markup(child: Child) -> Html:
    """Return ``child`` as markup: escaped if it is plain text, nothing if it is None, joined if it is several."""
    if isinstance(child, Html):
        return child
    if child is None:
        return Html()
    if isinstance(child, str | int | float):
        return Html(escape(_printable(str(child)), quote=False))
    return Html("".join(map(markup, child)))


def tag(name: str, /, *children: Child, **attributes: Attribute) -> Html:
    """Return an element. ``class_`` is written class, ``aria_label`` aria-label; None and False are left out."""
    opening = name + "".join(_attribute(key, value) for key, value in attributes.items())
    if name in VOID:
        return Html(f"<{opening}>")
    return Html(f"<{opening}>{markup(children)}</{name}>")


def words(*children: Child) -> Html:
    """Return several pieces of text and elements as one."""
    return markup(children)


def spoken(text: str) -> Html:
    """Write a sentence in which what stands between backticks is typed on a command line."""
    return markup(tag("code", part) if i % 2 else part for i, part in enumerate(text.split("`")))


def _attribute(key: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(_printable(str(value)))}"'


def _printable(text: str) -> str:
    """Replace what no HTML file may contain: control characters and lone surrogates."""
    return "".join("\ufffd" if _forbidden(ord(c)) else c for c in text) if any(_forbidden(ord(c)) for c in text) else text


def _forbidden(code: int) -> bool:
    return (code < 32 and code not in (9, 10)) or 127 <= code < 160 or 0xD800 <= code < 0xE000 or (code & 0xFFFE) == 0xFFFE
