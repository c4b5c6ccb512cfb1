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
from understudy.schema.build import build_column
from understudy.schema.column import Column
from understudy.schema.declaration import SchemaDeclaration
from understudy.schema.dialect import problem as dialect_problem
from understudy.schema.lines import find_line, toml_lines
from understudy.schema.problems import Locate, Path, Problem, SchemaFileError, Wrong, from_pydantic
from understudy.schema.schema import Schema
from understudy.schema.zeros import DeclaredZeros, build_zeros, contradiction


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


def build_schema(declared: SchemaDeclaration, source: str, locate: Locate) -> Schema:
    """Build the columns and zeros; every problem is reported at once."""
    problems: list[Problem] = []
    columns: list[Column] = []
    if declared.table.csv is not None and (wrong := dialect_problem(declared.table.csv)) is not None:
        problems.append(Problem(wrong[1], line=locate(("table", "csv", wrong[0]))))
    if (fault := _person_fault(declared)) is not None:
        problems.append(Problem(fault.message, line=locate(_key(fault))))
    for name, column in declared.columns.items():
        path: Path = ("columns", name)
        try:
            columns.append(build_column(name, column, declared.table.nulls, locate(path)))
        except Wrong as fault:
            problems.append(Problem(fault.message, name, locate((*path, *_key(fault)))))
    if problems:
        raise SchemaFileError(source, problems)
    schema = Schema(tuple(columns), (), declared, source)
    return Schema(tuple(columns), _build_zeros(schema, locate), declared, source)


def _person_fault(declared: SchemaDeclaration) -> Wrong | None:
    """Say what is wrong with the declaration of a person."""
    person, rows = declared.person, declared.rows_per_person
    if person is None and rows is not None:
        return Wrong("rows_per_person needs person = ..., the column that identifies a person.", "rows_per_person")
    if person is not None and rows is None:
        return Wrong("person needs rows_per_person = ..., how many rows of each person are used at most.", "person")
    if person in declared.columns:
        return Wrong(f'"{person}" identifies a person, so it is never released: take it out of the columns.', "person")
    return None


def _key(wrong: Wrong) -> Path:
    return () if wrong.key is None else (wrong.key,)


def _build_zeros(schema: Schema, locate: Locate) -> tuple[DeclaredZeros, ...]:
    zeros: list[DeclaredZeros] = []
    problems: list[Problem] = []
    for position, entry in enumerate(schema.declaration.zeros):
        try:
            zeros.append(build_zeros(entry, schema.columns))
        except Wrong as wrong:
            problems.append(Problem(f"[[zeros]] {wrong.message}", line=locate(("zeros", position, *_key(wrong)))))
    if not problems and (message := contradiction(zeros, schema.domain)):
        problems.append(Problem(message, line=locate(("zeros", 0))))
    if problems:
        raise SchemaFileError(schema.source, problems)
    return tuple(zeros)
