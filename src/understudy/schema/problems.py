"""What is wrong with a schema file, said so that its author can put it right: column, line, what, the fix.

Public: messages quote the file, never a table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_core import ErrorDetails

from understudy.errors import SchemaError, did_you_mean
from understudy.schema import declaration as d

Path = tuple[str | int, ...]
Locate = Callable[[Path], int | None]


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong: where in the file, in which column, and what to do."""

    message: str
    column: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        where = [f"line {self.line}"] if self.line else []
        where += [f'column "{self.column}"'] if self.column else []
        return f"{', '.join(where)}: {self.message}" if where else self.message


class SchemaFileError(SchemaError):
    """A schema that cannot be used; ``problems`` holds each reason with its column and line."""

    def __init__(self, source: str, problems: Sequence[Problem]) -> None:
        self.source = source
        self.problems = tuple(problems)
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        super().__init__("\n  ".join([f"{source} has {count}:", *map(str, problems)]))


class Wrong(Exception):
    """Raised while a part of a declaration is built; ``key`` is the setting to blame. Stays in this room."""

    def __init__(self, message: str, key: str | int | None = None) -> None:
        self.message = message
        self.key = key
        super().__init__(message)


_MODELS: tuple[type[d.Declared], ...] = (
    d.Categorical,
    d.Ordinal,
    d.Open,
    d.Boolean,
    d.Integer,
    d.Real,
    d.Date,
    d.DateTime,
    d.Time,
    d.Derived,
)
FIELDS = {kind: tuple(dict.fromkeys(["kind", *model.model_fields])) for kind, model in zip(d.KINDS, _MODELS, strict=True)}
_UNQUOTED = {
    "time_type": "time (08:30:00)",
    "date_type": "date (2024-01-31)",
    "datetime_type": "date with its time (2024-01-31T08:30:00)",
    "int_type": "whole number, an integer (42),",
    "float_type": "number (4.2)",
    "bool_type": "boolean (true or false)",
}
"""What TOML writes without quotes, by what pydantic calls the error."""
SECTIONS = {
    "table": tuple(d.Table.model_fields),
    "table.csv": tuple(d.CsvDeclaration.model_fields),
    "zeros": tuple(d.ZerosDeclaration.model_fields),
    "": tuple(d.SchemaDeclaration.model_fields),
}


def from_pydantic(errors: Iterable[ErrorDetails], raw: Any, locate: Locate) -> list[Problem]:
    """Turn pydantic's errors into problems; several about one setting (the arms of a union) become one."""
    found: dict[Path, Problem] = {}
    for error in errors:
        path, kind = _setting(tuple(error["loc"]))
        column = str(path[1]) if path[:1] == ("columns",) and len(path) > 1 else None
        if error["type"] == "missing" and _misspelled(raw, path, kind):
            continue  # the misspelled key is a problem of its own, and says so
        found.setdefault(path, Problem(_message(error, path, kind, raw), column, locate(path)))
    return list(found.values())


def _misspelled(raw: Any, path: Path, kind: str | None) -> bool:
    given = _at(raw, path[:-1])
    spare = [key for key in given if key not in FIELDS.get(kind or "", ())] if isinstance(given, dict) else []
    return did_you_mean(str(path[-1]), spare) != ""


def _setting(loc: Path) -> tuple[Path, str | None]:
    """Split pydantic's location into a path in the file and the kind of column; drop the arms of unions."""
    if loc[:1] == ("columns",):
        kind = str(loc[2]) if len(loc) > 2 else None
        return (*loc[:2], *loc[3:4]), kind
    if loc[:1] == ("zeros",):
        return loc[:3], None
    return loc[: 3 if loc[:2] == ("table", "csv") else 2], None


def _message(error: ErrorDetails, path: Path, kind: str | None, raw: Any) -> str:
    key = str(path[-1]) if path else ""
    if error["type"] == "extra_forbidden":
        return _unknown_key(key, path, kind)
    if error["type"] == "union_tag_not_found":
        return f"kind is missing. Say what the column holds: one of {_list(d.KINDS)}."
    if error["type"] == "union_tag_invalid":
        tag = str(_at(raw, (*path, "kind")))
        return f'"{tag}" is not a kind of column.{did_you_mean(tag, d.KINDS)} Use one of {_list(d.KINDS)}.'
    if error["type"] == "missing":
        return f"{key} is missing; {_needs(key)}"
    if error["type"] == "literal_error":
        given, known = str(error["input"]), str(error["ctx"]["expected"]).replace("'", '"')
        options = [word.strip('" ') for word in known.replace(" or ", ",").split(",")]
        return f'{key} = "{given}" is not possible.{did_you_mean(given, options)} Use {known}.'
    return f"{key} does not fit: {_misfit(error, _at(raw, path))}."


def _misfit(error: ErrorDetails, given: Any) -> str:
    if isinstance(error["input"], str) and error["type"] in _UNQUOTED:
        return f'"{error["input"]}" is a text; a {_UNQUOTED[error["type"]]} is written without quotes'
    number = isinstance(given, int | float) and not isinstance(given, bool)
    what = f"{given:,}" if number else type(given).__name__
    return f"{_lower(error['msg'])} ({what} was given)"


def _unknown_key(key: str, path: Path, kind: str | None) -> str:
    section = "table.csv" if path[:2] == ("table", "csv") and len(path) > 2 else str(path[0]) if len(path) > 1 else ""
    known = FIELDS.get(kind or "", SECTIONS.get(section, ()))
    owner = f"a setting of a column of kind {kind}" if kind else "a setting here"
    return f'"{key}" is not {owner}.{did_you_mean(key, known)} The settings are {_list(known)}.'


def _needs(key: str) -> str:
    needs = {
        "values": 'list them as they are spelled in the table: values = ["a", "b"].',
        "columns": 'declare at least one, under a header such as [columns.age] with a kind = "integer".',
    }
    return needs.get(key, "add it.")


def _at(raw: Any, path: Path) -> Any:
    for step in path:
        try:
            raw = raw[step]
        except (KeyError, IndexError, TypeError):
            return None
    return raw


def _lower(message: str) -> str:
    return message[:1].lower() + message[1:]


def _list(words: Iterable[str]) -> str:
    return ", ".join(words)
