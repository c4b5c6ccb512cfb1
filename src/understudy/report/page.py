"""The frame of a page: one self-contained file with its own style, a banner where there must be one, and sections.

Public: it only arranges what it is given.
"""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

from understudy.errors import UserError
from understudy.report.markup import Child, Html, tag, words

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""Says to the browser that the page may fetch nothing and run nothing, but for the one script that it is given."""


@dataclass(frozen=True)
class Section:
    """A part of the page with a heading; ``short`` is its name in the list of contents."""

    id: str
    title: str
    short: str
    body: Child


@dataclass(frozen=True)
class Mark:
    """What must be seen on every screen and every printed page."""

    short: str
    text: str


def page(
    *, title: str, header: Child, sections: Sequence[Section], footer: Child, warning: Mark | None = None, script: str = ""
) -> str:
    """Return the whole file."""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", http_equiv="Content-Security-Policy", content=_policy(script)),
        tag("title", title if warning is None else f"{warning.short}: {title}"),
        tag("style", _style(warning)),
    )
    body = tag(
        "body",
        tag("a", "Skip to the content", href="#content", class_="skip"),
        _banner(warning),
        tag("header", header),
        _contents(sections),
        tag("main", map(_section, sections), id="content"),
        tag("footer", footer),
        tag("script", Html(script)) if script else None,
        class_="warned" if warning else None,
    )
    return "<!DOCTYPE html>\n" + tag("html", "\n", head, "\n", body, "\n", lang="en") + "\n"


def _policy(script: str) -> str:
    if not script:
        return POLICY
    digest = b64encode(sha256(script.encode()).digest()).decode()
    return f"{POLICY}; script-src 'sha256-{digest}'"


def _banner(warning: Mark | None) -> Html | None:
    if warning is None:
        return None
    watermark = tag("div", warning.short, class_="watermark", aria_hidden="true")
    said = words(tag("strong", warning.short), " ", tag("span", warning.text))
    return words(tag("div", said, class_="banner", role="note", aria_label="Warning"), watermark)


def _contents(sections: Sequence[Section]) -> Html:
    links = (tag("li", tag("a", s.short, href=f"#{s.id}")) for s in sections)
    return tag("nav", tag("ul", links), aria_label="Contents")


def _section(section: Section) -> Html:
    heading = tag("h2", section.title, id=f"{section.id}-title")
    return words("\n", tag("section", heading, section.body, id=section.id, aria_labelledby=f"{section.id}-title"))


def _style(warning: Mark | None) -> Html:
    sheet = files("understudy.report").joinpath("style.css").read_text(encoding="utf-8")
    if warning is not None:  # a margin box is repeated on every sheet of paper
        sheet += f'@page {{ @top-center {{ content: "{warning.short}"; color: #8f1020; font: bold 11pt sans-serif; }} }}\n'
    return Html("\n" + sheet)


def facts(items: Sequence[tuple[str, Child, str]]) -> Html:
    """Return a few large figures: a name, the figure, and what it means."""
    return tag(
        "dl", (tag("div", tag("dt", n), tag("dd", v, tag("small", s) if s else None)) for n, v, s in items), class_="facts"
    )


def write(text: str, path: str | Path) -> Path:
    """Write the file, all of it or nothing."""
    target = Path(path)
    beside = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        beside.write_text(text, encoding="utf-8", newline="\n")
        beside.replace(target)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise UserError(f'The page "{path}" cannot be written: {error.strerror}. Choose a folder that exists.') from None
    return target
