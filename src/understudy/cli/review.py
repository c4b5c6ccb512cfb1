"""``understudy schema review``: goes through what a draft leaves to a person, one decision at a time.

Reads and writes the schema file alone. Every decision is written at once, so that a review can be gone on with later.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import click

from understudy.cli.terminal import wrapped
from understudy.errors import UserError
from understudy.review.declaring import Proposal, declare, proposals_of
from understudy.review.groups import Group, Question, accept_all, columns_of, groups_of, is_cut, leave_all_out, open_all
from understudy.review.marks import (
    Mark,
    accept,
    change,
    declare_person,
    finish,
    leave_out,
    marks_of,
    open_up,
    remove_setting,
    shown,
)
from understudy.schema import parse_schema

ONE = {
    "a": "accept",
    "d": "declare",
    "t": "this and all like it",
    "e": "edit",
    "u": "unlisted (open)",
    "l": "leave out",
    "p": "person",
    "s": "skip",
    "q": "quit",
}
SEVERAL = {
    "a": "accept all",
    "o": "one by one",
    "f": "full text",
    "u": "unlisted (open), all",
    "l": "leave all out",
    "s": "skip",
    "q": "quit",
}
"""What the keys do, where one column is asked about, and where several are."""


def review(path: Path) -> None:
    """Ask for each decision that is left in the file, and write it."""
    text = read_text(path)
    if marks_of(text):
        click.echo("Not private: a draft shows what was seen in the table. Keep what this shows with the table.", err=True)
    apart: list[Question] = []
    skipped: set[tuple[str | None, str]] = set()
    while groups := [group for group in _opened_first(text, apart) if _name(group) not in skipped]:
        group, like = groups[0], _like(groups)
        click.echo("\n" + _shown(text, group, f"{len(groups)} left. "))
        key = _key(text, group, like)
        if key == "q":
            break
        if key == "s" or (key == "e" and _is_by_hand(group)):
            skipped.add(_name(group))
        elif key == "o" and group.question is not None:
            apart.insert(0, group.question)
        elif _is_valid(decided := _decided(key, text, group, like)):
            text = decided
            path.write_text(text, encoding="utf-8")
    _end(path, text)


def _opened_first(text: str, apart: list[Question]) -> list[Group]:
    """Return the decisions that are left; first those that are gone through one by one, the last so opened before others."""
    places = {question: place for place, question in enumerate(apart)}
    return sorted(
        groups_of(text, apart), key=lambda one: places.get(one.question, len(apart)) if one.question else len(apart)
    )


def _name(group: Group) -> tuple[str | None, str]:
    """Return what tells a group from all others while others are decided."""
    return group.marks[0].column, group.marks[0].message


def _like(groups: list[Group]) -> Group:
    """Return the first decision together with those that ask the same and were not skipped."""
    first = groups[0]
    same = [group for group in groups if group.question == first.question] if first.question is not None else [first]
    return Group(tuple(mark for group in same for mark in group.marks), first.question)


def _is_by_hand(group: Group) -> bool:
    """Say so where a part of the file is edited by hand."""
    mark = group.marks[0]
    if mark.column is not None or mark.about_missing:
        return False
    click.echo("Edit this part of the file by hand, then go on with the review.")
    return True


def read_text(path: Path) -> str:
    """Return the text of a schema file that is valid."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise UserError(f"{path} cannot be read; name a schema file that schema draft wrote.") from None
    parse_schema(text, source=path.name)
    return text


def _shown(text: str, group: Group, left: str) -> str:
    """Return what is asked, and what it is about, behind a word on what is ``left``."""
    mark = group.marks[0]
    if len(group.marks) > 1 and group.question is not None:
        asks = wrapped(f"{left}{len(group.marks)} columns: {group.question.asks}")
        return f"{asks}\n\n{_indented(columns_of(text, group))}\n"
    about = "" if mark.column is None else f'Column "{mark.column}": '
    block = shown(text, mark)
    return wrapped(f"{left}{about}{mark.message}") + (f"\n\n{_indented(block.splitlines())}\n" if block else "")


def _indented(lines: list[str]) -> str:
    return "\n".join(wrapped(f"    {line}", "        ") for line in lines)


def _key(text: str, group: Group, like: Group) -> str:
    """Wait for one of the keys that make sense here; the full text is shown on the way.

    Nobody accepts for several columns what was not on the screen: where lines are cut, all is shown first.
    """
    mark, several = group.marks[0], len(group.marks) > 1
    sense = {
        "t": len(like.marks) > 1,
        "d": not several and bool(proposals_of(mark)),
        "u": all(one.about_texts for one in group.marks) and not (several and mark.left_out),
        "l": mark.column is not None and not mark.left_out,
        "p": mark.about_person and parse_schema(text).person is None,
        "f": not mark.left_out,
    }
    known = {key: word for key, word in (SEVERAL if several else ONE).items() if sense.get(key, True)}
    accepting, told = ("t", like) if "t" in known else ("a", group)
    unseen = len(told.marks) > 1 and is_cut(text, told)
    while (key := _wait_for(known)) == "f" or (unseen and key == accepting):
        if key != "f":
            click.echo("Lines above are cut. This is all that was seen; accept it then.")
        blocks = (shown(text, one).splitlines() for one in told.marks)
        click.echo("\n" + "\n\n".join(map(_indented, blocks)) + "\n")
        unseen = False
    return key


def _wait_for(known: Mapping[str, str]) -> str:
    """Name the keys, and wait for one of them."""
    words = ", ".join(f"[{key}]{word[1:]}" for key, word in known.items())
    click.echo(f"{words}? ", nl=False)
    while (key := _pressed()) not in known:
        if key in ("\x03", "\x04", ""):
            raise click.Abort
        pressed = f'"{key}"' if key.isprintable() and key.strip() else "That key"
        click.echo(f"\n{pressed} does nothing here. Press one of these: {words}? ", nl=False)
    click.echo(key)
    return key


def _pressed() -> str:
    """Wait for any key; where answers are piped, take the next one, whatever blanks and ends of lines stand before it."""
    if not sys.stdin.isatty():
        while (key := sys.stdin.read(1)).isspace():
            pass
        if not key:
            raise UserError("The answers ended before the review did. What was decided is in the file.")
        return key.lower()
    try:
        return click.getchar().lower()
    except OSError:
        raise UserError(
            "A review needs a terminal to ask in. Run it in one, or edit the file: decide what each line marked REVIEW "
            "asks, delete the line, and set draft = false under [table]."
        ) from None


def _decided(key: str, text: str, group: Group, like: Group) -> str:
    """Return the file as a key decides; the same where nothing was."""
    if key == "t":
        click.echo(f"Accepted for {', '.join(str(one.column) for one in like.marks)}.")
        return accept_all(text, like)
    if len(group.marks) > 1:
        return {"a": accept_all, "u": open_all, "l": leave_all_out}[key](text, group)
    return _DO[key](text, group.marks[0])


def _edit(text: str, mark: Mark) -> str:
    if mark.about_missing:
        return _edit_missing(text, mark)
    assert mark.column is not None
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


def _declare_person(text: str, mark: Mark) -> str:
    rows = click.prompt("How many rows of each person are used at most", value_proc=_rows, default=5)
    return declare_person(text, mark, rows)


def _rows(answer: str) -> int:
    if not re.fullmatch(r" *0*[1-9][0-9]{0,8} *", answer):
        raise click.BadParameter("Write a whole number from 1, such as 5.")
    return int(answer)


def _declare(text: str, mark: Mark) -> str:
    """Declare what is proposed of a column; ask for each rule between columns whether it holds by what they mean."""
    if mark.column is not None:
        return declare(text, mark, proposals_of(mark))
    chosen: list[Proposal] = []
    for one in proposals_of(mark):
        if one.goes_with(chosen):
            click.echo(f"    {one.rule}, always, by what the columns mean: ", nl=False)
            chosen += [one] if _wait_for({"y": "yes", "n": "no"}) == "y" else []
    return declare(text, mark, chosen)


_DO: dict[str, Callable[[str, Mark], str]] = {
    "a": accept,
    "d": _declare,
    "e": _edit,
    "u": open_up,
    "l": leave_out,
    "p": _declare_person,
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
    if left := len(groups_of(text)):
        click.echo(f"\n{left} left. Go on with: understudy schema review {path}")
        return
    if not parse_schema(text).draft:
        click.echo(f"\n{path} holds no mark, and is no draft.")
        return
    click.echo("\nNothing is left to decide. Is all of the file known without the data, so that it may be used? ", nl=False)
    key = _wait_for({"y": "yes", "n": "no"})
    if key == "y":
        path.write_text(finish(text), encoding="utf-8")
        click.echo(f"{path} is reviewed (draft = false).")
