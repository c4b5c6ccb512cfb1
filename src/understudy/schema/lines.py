"""Finds the line of a TOML file on which a setting stands; the standard parser does not tell.

Public. A line that cannot be found is the line of the nearest thing around it, never a wrong guess.
"""

from __future__ import annotations

import tomllib
from typing import Any

from understudy.schema.problems import Path

_QUOTES = ('"""', "'''", '"', "'")


def toml_lines(text: str) -> dict[Path, int]:
    """Return the line (from 1) of every table header and every key of a valid TOML file, by its path."""
    lines: dict[Path, int] = {}
    counts: dict[Path, int] = {}
    table: Path = ()
    for number, statement in _statements(text):
        if statement.startswith("["):
            table = _header(statement, counts)
            lines.setdefault(table, number)
        else:
            key = _key_path(_before_equals(statement) + " = 0")
            for depth in range(1, len(key) + 1):
                lines.setdefault((*table, *key[:depth]), number)
    return lines


def find_line(lines: dict[Path, int], path: Path) -> int | None:
    """Return the line of ``path``, or of the closest thing that contains it."""
    for end in range(len(path), 0, -1):
        if path[:end] in lines:
            return lines[path[:end]]
    return None


def _statements(text: str) -> list[tuple[int, str]]:
    """Split a TOML file into (line, statement); inside quotes or brackets a statement may span lines."""
    found: list[tuple[int, str]] = []
    at, line = 0, 1
    while at < len(text):
        end = _statement_end(text, at)
        statement = text[at:end].strip()
        if statement:
            blank = len(text[at:end]) - len(text[at:end].lstrip())
            found.append((line + text.count("\n", at, at + blank), statement))
        line += text.count("\n", at, end + 1)
        at = end + 1
        if end < len(text) and text[end] == "#":
            at = text.find("\n", end) + 1 or len(text)
            line += 1
    return found


def _statement_end(text: str, at: int) -> int:
    """Return where the statement at ``at`` ends: at a newline or comment outside quotes and brackets."""
    depth = 0
    while at < len(text):
        char = text[at]
        if char in "\"'":
            at = _quote_end(text, at)
            continue
        if char == "#" and depth:
            at = (text.find("\n", at) + 1 or len(text)) - 1
        elif char in "\n#" and not depth:
            return at
        depth += (char in "[{") - (char in "]}")
        at += 1
    return at


def _quote_end(text: str, at: int) -> int:
    quote = next(q for q in _QUOTES if text.startswith(q, at))
    at += len(quote)
    while at < len(text) and not text.startswith(quote, at):
        at += 2 if text[at] == "\\" and quote[0] == '"' else 1
    at += len(quote)
    while len(quote) == 3 and text.startswith(quote[0], at):  # up to two more quotes may belong to the text
        at += 1
    return at


def _header(statement: str, counts: dict[Path, int]) -> Path:
    repeated = statement.startswith("[[")
    path = _key_path(statement.strip("[] \t") + " = 0")
    for end in range(1, len(path)):  # [zeros.more] belongs to the latest [[zeros]]
        if path[:end] in counts:
            path = (*path[:end], counts[path[:end]], *path[end:])
            break
    if not repeated:
        return path
    counts[path] = counts.get(path, -1) + 1
    return (*path, counts[path])


def _before_equals(statement: str) -> str:
    at = 0
    while at < len(statement) and statement[at] != "=":
        at = _quote_end(statement, at) if statement[at] in "\"'" else at + 1
    return statement[:at]


def _key_path(text: str) -> Path:
    try:
        value: Any = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return ()
    path: list[str] = []
    while isinstance(value, dict) and value:
        key = next(iter(value))
        path.append(key)
        value = value[key]
    return tuple(path)
