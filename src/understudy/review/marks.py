"""The marks of a draft: what is still to be decided, and the file once it is. The file itself holds what is left.

Sees no table. The text of a draft shows what was seen in one, to its owner.
"""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass
from typing import Any

from understudy.errors import UserError
from understudy.review.blocks import MARK, header
from understudy.schema.lines import toml_lines
from understudy.schema.problems import FIELDS

REVIEWED = """\
# REVIEWED. A draft of this schema was written by looking at the data. A person has gone through it since, and says that
# all that stands here is known without the data.
"""
"""What a file begins with once it is no draft."""
_COLUMN = re.compile(r"^(# )?(\[columns\..+\])\s*(#.*)?$")
_PART = re.compile(r"^(\[|# REVIEW:|# Left out|# \[)")
_WAYS_TO_BIN = (("edges",), ("min", "max", "bins"), ("min", "max", "width"))
"""What says where bins are, in one way or another: settings of two ways contradict each other."""


@dataclass(frozen=True)
class Mark:
    """A decision: the line of the file (from 0), what is asked, and the column that it is about, if it is one."""

    line: int
    message: str
    column: str | None
    left_out: bool

    @property
    def about_missing(self) -> bool:
        """Whether it asks where values may be missing."""
        return self.column is None and self.message.startswith("values were missing")

    @property
    def about_texts(self) -> bool:
        """Whether its column may be an open one."""
        return self.column is not None and 'kind = "open"' in self.message

    @property
    def about_person(self) -> bool:
        """Whether the column may be the one that identifies a person."""
        return self.left_out and "person" in self.message


def _lines(text: str) -> list[str]:
    """Return the lines of a file as TOML has them: other separators (U+2028, U+0085) may stand in a value that was seen."""
    return text.removesuffix("\n").split("\n")


def marks_of(text: str) -> list[Mark]:
    """Return what is still to be decided, in the order of the file."""
    lines = _lines(text)
    return [_mark(lines, i) for i, line in enumerate(lines) if line.startswith(MARK)]


def _mark(lines: list[str], at: int) -> Mark:
    following = _COLUMN.match(lines[at + 1]) if at + 1 < len(lines) else None
    if following is None:
        return Mark(at, lines[at].removeprefix(MARK), None, False)
    [name] = tomllib.loads(following[2])["columns"]
    return Mark(at, lines[at].removeprefix(MARK), name, following[1] is not None)


def block_of(text: str, name: str) -> tuple[int, int]:
    """Return the first line of a column and the line after its last."""
    lines = _lines(text)
    for start, line in enumerate(lines):
        found = _COLUMN.match(line)
        if found is not None and name in tomllib.loads(found[2])["columns"]:
            inside = (i for i in range(start + 1, len(lines)) if _PART.match(lines[i]))
            end = next(inside, len(lines))
            while not lines[end - 1].strip():
                end -= 1
            return start, end
    raise UserError(f'There is no column "{name}" in this file.')


def shown(text: str, mark: Mark) -> str:
    """Return the lines that a mark is about."""
    if mark.column is None:
        return ""
    start, end = block_of(text, mark.column)
    return "\n".join(_lines(text)[start:end])


def accept(text: str, mark: Mark) -> str:
    """Return the file without a mark; a column that was left out stays so, with a word that it is."""
    return _replaced(text, mark.line, mark.line + 1, ["# Left out, as reviewed."] if mark.left_out else [])


def declare_person(text: str, mark: Mark, rows: int) -> str:
    """Return the file with the column of a mark as the one that identifies a person, and with no mark there."""
    lines = [line for line in _lines(accept(text, mark)) if not re.match(r"(person|rows_per_person) *=", line)]
    top = next(i for i, line in enumerate(lines) if line.startswith("["))
    person = [f"person = {json.dumps(mark.column, ensure_ascii=False)}", f"rows_per_person = {rows}", ""]
    return "\n".join([*lines[:top], *person, *lines[top:]]) + "\n"


def ask_instead(text: str, mark: Mark, message: str) -> str:
    """Return the file with another question in the place of a mark."""
    return _replaced(text, mark.line, mark.line + 1, [MARK + message])


def leave_out(text: str, mark: Mark) -> str:
    """Return the file without the column of a mark."""
    if mark.column is None or mark.left_out:
        return accept(text, mark)
    _, end = block_of(text, mark.column)
    return _replaced(text, mark.line, end, ["# Left out, as reviewed.", f"# {header(mark.column)}"])


def open_up(text: str, mark: Mark) -> str:
    """Return the file with the column of a mark as an open one, and with no mark there."""
    assert mark.column is not None
    start, end = block_of(text, mark.column)
    old = {} if mark.left_out else tomllib.loads("\n".join(_lines(text)[start:end]))["columns"][mark.column]
    kept = {name: old[name] for name in ("description", "prefix", "type", "nulls") if name in old}
    settings = [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in kept.items()]
    place = ["nullable = true"] if old.get("nullable") or mark.left_out else []
    return _replaced(text, mark.line, end, [header(mark.column), 'kind = "open"', *settings, *place])


def change(text: str, name: str, settings: list[str]) -> str:
    """Return the file with settings (``max = 120``) of a column in the place of those that they contradict."""
    start, end = block_of(text, name)
    lines = [header(name), *_lines(text)[start + 1 : end]]
    given: dict[str, Any] = {}
    for setting in settings:
        try:
            [(key, value)] = tomllib.loads(setting).items()
        except (tomllib.TOMLDecodeError, ValueError):
            raise UserError('A setting is written as key = value, such as max = 120 or values = ["a", "b"].') from None
        lines = _set(lines, key, setting)
        given[key] = value
    for key in _outdated(lines, given):
        lines = [line for line in _set(lines, key, "") if line]
    return _replaced(text, start, end, lines)


def _outdated(lines: list[str], given: dict[str, Any]) -> list[str]:
    """Return the settings that a column had and that have no place beside those given: of another kind, or other bins."""
    old = [path[-1] for path in toml_lines("\n".join(lines)) if len(path) == 3 and path[-1] not in given]
    known = FIELDS.get(given.get("kind", ""), old) if isinstance(given.get("kind", ""), str) else old
    binned = {key for way in _WAYS_TO_BIN for key in way}
    fits = {key for way in _WAYS_TO_BIN if given.keys() & binned <= {*way} for key in way} or binned
    return [str(key) for key in old if key not in known or (key in binned and key not in fits)]


def _set(lines: list[str], key: str, setting: str) -> list[str]:
    starts = {path[-1]: line - 1 for path, line in toml_lines("\n".join(lines)).items() if len(path) == 3}
    if key not in starts:
        return [*lines, setting]
    after = [line for line in starts.values() if line > starts[key]]
    return [*lines[: starts[key]], setting, *lines[min(after, default=len(lines)) :]]


def remove_setting(text: str, name: str, key: str) -> str:
    """Return the file without a setting of a column, where it has one."""
    start, end = block_of(text, name)
    lines = _set(_lines(text)[start:end], key, "")
    return _replaced(text, start, end, [line for line in lines if line])


def replace_block(text: str, name: str, lines: list[str]) -> str | None:
    """Return the file with other settings of a column, but for where missing values go; without any it is left out.

    None when there is no such column.
    """
    try:
        start, end = block_of(text, name)
    except UserError:
        return None
    if not lines:
        return _replaced(text, start, end, ["# Left out.", f"# {header(name)}"])
    old = tomllib.loads("\n".join(_lines(text)[start:end])).get("columns", {}).get(name, {})
    if old and not old.get("nullable"):
        lines = [line for line in lines if line != "nullable = true"] + _catch_all(old, lines)
    nulls = [f"nulls = {json.dumps(old['nulls'], ensure_ascii=False)}"] if old.get("nulls") else []
    return _replaced(text, start, end, [header(name), *lines, *nulls])


def _catch_all(old: dict[str, Any], lines: list[str]) -> list[str]:
    """Keep the value that what cannot be placed counts as, if it is still listed; else null is one."""
    values = tomllib.loads("\n".join(lines)).get("values", [])
    return [f"other = {json.dumps(old['other'], ensure_ascii=False)}"] if old.get("other") in values else ["nullable = true"]


def finish(text: str) -> str:
    """Return the file as one that was reviewed."""
    if marks_of(text):
        raise UserError("There are decisions left.")
    text = re.sub(r"^draft = true[^\n]*", "draft = false", text, count=1, flags=re.MULTILINE)
    return re.sub(r"\A# DRAFT\.[^\n]*\n(#[^\n]*\n)*", REVIEWED, text)


def _replaced(text: str, start: int, end: int, new: list[str]) -> str:
    lines = _lines(text)
    return "\n".join([*lines[:start], *new, *lines[end:]]) + "\n"
