"""Reads a schema from TOML or JSON, or the field's plain domain file, and reports all that is wrong at once.

Public: a schema file holds declarations, no rows.
"""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path as FilePath
from typing import Any

from pydantic import ValidationError

from understudy.errors import SchemaError
from understudy.schema.declaration import SchemaDeclaration
from understudy.schema.lines import find_line, toml_lines
from understudy.schema.problems import Path, Problem, SchemaFileError, from_pydantic
from understudy.schema.schema import Schema, build_schema


def load_schema(path: str | FilePath) -> Schema:
    """Load a schema file: TOML, or JSON (a schema, or a plain domain such as ``{"age": 32, "sex": 2}``)."""
    file = FilePath(path)
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise SchemaError(f"There is no schema file {file}.") from None
    except IsADirectoryError:
        raise SchemaError(f"{file} is a folder; name the schema file in it.") from None
    except UnicodeDecodeError:
        raise SchemaError(f"{file} is not UTF-8 text; a schema is a TOML or JSON file.") from None
    return parse_schema(text, source=file.name, form="json" if file.suffix.lower() == ".json" else "toml")


def parse_schema(text: str, *, source: str = "The schema", form: str = "toml") -> Schema:
    """Read a schema from text; ``source`` is how messages call it."""
    return _parse_json(text, source) if form == "json" else _parse_toml(text, source)


def _parse_toml(text: str, source: str) -> Schema:
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SchemaFileError(source, [_syntax(str(error), text)]) from None
    lines = toml_lines(text)

    def locate(path: Path) -> int | None:
        return find_line(lines, path)

    try:
        declared = SchemaDeclaration.model_validate(raw)
    except ValidationError as error:
        raise SchemaFileError(source, from_pydantic(error.errors(), raw, locate)) from None
    return build_schema(declared, source, locate)


def _syntax(message: str, text: str) -> Problem:
    at = re.search(r"\s*\(at (?:line (\d+), column \d+|end of document)\)", message)
    line = None if at is None else int(at[1] or text.count("\n") + 1)
    what = message if at is None else message[: at.start()]
    what = what[:1].lower() + what[1:]
    return Problem(f"this is not valid TOML: {what}. Text stands in quotes; a line is key = value.", line=line)


def _parse_json(text: str, source: str) -> Schema:
    try:
        raw: Any = json.loads(text)
    except json.JSONDecodeError as error:
        raise SchemaFileError(source, [Problem(f"this is not valid JSON: {error.msg}.", line=error.lineno)]) from None
    if isinstance(raw, dict) and raw and all(isinstance(size, int) for size in raw.values()):
        return Schema.from_domain(raw)
    try:
        declared = SchemaDeclaration.model_validate_json(text)
    except ValidationError as error:
        raise SchemaFileError(source, from_pydantic(error.errors(), raw, lambda path: None)) from None
    return build_schema(declared, source, lambda path: None)
