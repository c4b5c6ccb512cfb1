"""``understudy schema review``: goes through what a draft leaves to a person, one decision at a time.

Reads and writes the schema file alone. Every decision is written at once, so that a review can be gone on with later.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from understudy.errors import UserError
from understudy.review.marks import (
    Mark,
    accept,
    accept_like,
    change,
    declare_person,
    finish,
    leave_out,
    marks_of,
    remove_setting,
    shown,
)
from understudy.schema import parse_schema

KEYS = {
    "a": "accept",
    "t": "this and all like it",
    "e": "edit",
    "l": "leave out",
    "p": "person",
    "s": "skip",
    "q": "quit",
}


def review(path: Path) -> None:
    """Ask for each decision that is left in the file, and write it."""
    text = read_text(path)
    if marks_of(text):
        click.echo("Not private: a draft shows what was seen in the table. Keep what this shows with the table.", err=True)
    skipped = 0
    while len(marks := marks_of(text)) > skipped:
        mark = marks[skipped]
        click.echo(f"\n{len(marks) - skipped} left. {_about(mark)}{mark.message}")
        if block := shown(text, mark):
            click.echo(f"\n{_indented(block)}\n")
        key = _key(mark, marks)
        if key == "q":
            break
        decided = _DO[key](text, mark)
        if decided is None:
            skipped += 1
        elif _is_valid(decided):
            text = decided
            path.write_text(text, encoding="utf-8")
    _end(path, text)


def read_text(path: Path) -> str:
    """Return the text of a schema file that is valid."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise UserError(f"{path} cannot be read; name a schema file that schema draft wrote.") from None
    parse_schema(text, source=path.name)
    return text


def _about(mark: Mark) -> str:
    return "" if mark.column is None else f'Column "{mark.column}": '


def _indented(block: str) -> str:
    return "\n".join(f"    {line}" for line in block.splitlines())


def _key(mark: Mark, marks: list[Mark]) -> str:
    """Wait for one of the keys that make sense here."""
    sense = {
        "t": any(mark.like(other) for other in marks),
        "l": mark.column is not None and not mark.left_out,
        "p": mark.about_person,
    }
    known = {key: word for key, word in KEYS.items() if sense.get(key, True)}
    words = ", ".join(f"[{key}]{word[1:]}" for key, word in known.items())
    click.echo(f"{words}? ", nl=False)
    while (key := _pressed()) not in known:
        if key in ("\x03", "\x04", ""):
            raise click.Abort
    click.echo(key)
    return key


def _pressed() -> str:
    """Wait for any key."""
    try:
        return click.getchar().lower()
    except OSError:
        raise UserError(
            "A review needs a terminal to ask in. Run it in one, or edit the file: decide what each line marked REVIEW "
            "asks, delete the line, and set draft = false under [table]."
        ) from None


def _edit(text: str, mark: Mark) -> str | None:
    if mark.about_missing:
        return _edit_missing(text, mark)
    if mark.column is None:
        click.echo("Edit this part of the file by hand, then go on with the review.")
        return None
    click.echo('Settings that change, one a line, such as max = 120 or values = ["a", "b"]; an empty line ends them.')
    settings = []
    while line := click.prompt(">", default="", show_default=False, prompt_suffix=" ").strip():
        settings.append(line)
    try:
        return accept(change(text, mark.column, settings), mark)
    except UserError as problem:
        click.echo(str(problem))
        return text


def _edit_missing(text: str, mark: Mark) -> str:
    names = click.prompt("Columns in which values may be missing too (a, b, c)", default="", show_default=False)
    try:
        for name in filter(None, (part.strip() for part in names.split(","))):
            text = remove_setting(change(text, name, ["nullable = true"]), name, "other")
        return accept(text, next(one for one in marks_of(text) if one.about_missing))
    except UserError as problem:
        click.echo(str(problem))
        return text


def _accept_like(text: str, mark: Mark) -> str:
    names = [str(other.column) for other in marks_of(text) if mark.like(other)]
    click.echo(f"Accepted for {mark.column} and for {', '.join(names)}.")
    return accept_like(text, mark)


def _declare_person(text: str, mark: Mark) -> str:
    rows = click.prompt("How many rows of each person are used at most", type=click.IntRange(min=1), default=5)
    return declare_person(text, mark, rows)


_DO: dict[str, Callable[[str, Mark], str | None]] = {
    "a": accept,
    "t": _accept_like,
    "e": _edit,
    "l": leave_out,
    "p": _declare_person,
    "s": lambda text, mark: None,
}


def _is_valid(text: str) -> bool:
    """Say what is wrong with a file that makes no sense; then it is not written."""
    try:
        parse_schema(text, source="The schema")
    except UserError as problem:
        click.echo(f"{problem}\nNothing was changed.")
        return False
    return True


def _end(path: Path, text: str) -> None:
    if left := len(marks_of(text)):
        click.echo(f"\n{left} left. Go on with: understudy schema review {path}")
        return
    if not parse_schema(text).draft:
        click.echo(f"\n{path} holds no mark, and is no draft.")
        return
    click.echo(
        "\nNothing is left to decide. Is all of the file known without the data, so that it may be used? [y]es, [n]o? ",
        nl=False,
    )
    while (key := _pressed()) not in ("y", "n"):
        if key in ("\x03", "\x04", ""):
            raise click.Abort
    click.echo(key)
    if key == "y":
        path.write_text(finish(text), encoding="utf-8")
        click.echo(f"{path} is reviewed (draft = false).")
