"""Schemas from what people have: a Frictionless Table Schema, SDV metadata, a code book in CSV. Sees no table.

What such a file does not tell (the bounds of numbers, the values of a category) is marked, as in a draft.
"""

from __future__ import annotations

import csv
import io
import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from understudy.errors import UserError
from understudy.review.blocks import Block, listed, number, quote
from understudy.review.marks import Mark, accept, ask_instead, marks_of, replace_block, shown

HEADER = "# Imported from {name}. No table was read.\n\n[table]\ndraft = {draft}\n"
_COLUMN = ("column", "variable", "field", "name")
_VALUE = ("value", "code", "values", "codes")
_LABEL = ("label", "meaning", "description", "labels")


def import_schema(path: Path) -> str:
    """Return a schema file (TOML) of what ``path`` declares; what it does not tell is marked, and then it is a draft."""
    blocks, nulls = _blocks(path)
    draft = str(any(block.mark for block in blocks)).lower()
    head = HEADER.format(name=path.name, draft=draft)
    head += f"nulls = [{', '.join(map(quote, nulls))}]\n" if nulls else ""
    if not any(block.lines for block in blocks):
        raise UserError(f"{path} tells no column whole; draft a schema from the table, and import this file --into it.")
    return "\n".join([head, *map(str, blocks)])


def import_into(path: Path, text: str) -> tuple[str, list[str]]:
    """Return a schema file with the columns that ``path`` declares in the place of its own, and the names of these.

    A column that the schema file does not have is left alone, and so is one of which ``path`` tells too little. One that
    ``path`` calls an identifier is left out.
    """
    changed = []
    for block in _blocks(path)[0]:
        if (block.lines or block.why) and (new := replace_block(text, block.name, list(block.lines))) is not None:
            mark = next((one for one in marks_of(new) if one.column == block.name), None)
            text = new if mark is None else _decided(new, mark)
            changed.append(block.name)
    return text, changed


def _decided(text: str, mark: Mark) -> str:
    """Take the mark of a column away; where its ``nulls`` are still those that were seen, they stay to be decided."""
    if "nulls" not in tomllib.loads(shown(text, mark)).get("columns", {}).get(mark.column, {}):
        return accept(text, replace(mark, left_out=False))
    return ask_instead(text, mark, "nulls were seen in the table; keep those that you know without it.")


def _blocks(path: Path) -> tuple[list[Block], list[str]]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        raise UserError(f"{path} cannot be read as UTF-8 text.") from None
    if path.suffix.lower() != ".json":
        return _code_book(text, path), []
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        raise UserError(f"{path} is not valid JSON: {error.msg} (line {error.lineno}).") from None
    return _described(found, path)


def _described(found: Any, path: Path) -> tuple[list[Block], list[str]]:
    """Tell a Frictionless Table Schema (or a data package with one) from SDV metadata."""
    if isinstance(found, dict) and found.get("resources"):
        found = found["resources"][0].get("schema", {}) if isinstance(found["resources"], list) else {}
    if isinstance(found, dict) and isinstance(found.get("tables"), dict) and len(found["tables"]) == 1:
        [found] = found["tables"].values()
    if isinstance(found, dict) and isinstance(found.get("fields"), list):
        nulls = [text for text in found.get("missingValues", []) if isinstance(text, str) and text]
        return [_frictionless(field) for field in found["fields"] if isinstance(field, dict)], nulls
    if isinstance(found, dict) and isinstance(found.get("columns"), dict):
        return [_sdv(name, column) for name, column in found["columns"].items() if isinstance(column, dict)], []
    raise UserError(
        f"{path} is neither a Frictionless Table Schema (with fields) nor SDV metadata of one table (with columns)."
    )


def _frictionless(field: Mapping[str, Any]) -> Block:
    limits = field.get("constraints") or {}
    name, kind = str(field.get("name", "")), str(field.get("type", "string"))
    known = _KINDS.get(kind)
    lines = _listed(limits["enum"], {}) if limits.get("enum") else [] if known is None else known(field, limits)
    if not lines:
        return _unknown(name, f"a field of type {kind} whose {'bounds' if kind in _BOUNDED else 'values'} are not told")
    about = next((str(field[key]) for key in ("description", "title") if field.get(key)), None)
    more = [lines[0]] if about is None else [lines[0], f"description = {quote(about)}"]
    return Block(name, (*more, *lines[1:], "nullable = true"))


def _bounds(limits: Mapping[str, Any], whole: bool) -> list[str]:
    low, high = limits.get("minimum"), limits.get("maximum")
    if not all(isinstance(bound, int | float) and not isinstance(bound, bool) for bound in (low, high)):
        return []
    return [f"min = {number(low or 0, whole)}", f"max = {number(high or 0, whole)}"]


def _numbers(kind: str) -> Callable[[Mapping[str, Any], Mapping[str, Any]], list[str]]:
    def lines(field: Mapping[str, Any], limits: Mapping[str, Any]) -> list[str]:
        bounds = _bounds(limits, kind == "integer")
        return [f'kind = "{kind}"', *bounds] if bounds else []

    return lines


def _date(field: Mapping[str, Any], limits: Mapping[str, Any]) -> list[str]:
    low, high = str(limits.get("minimum", ""))[:10], str(limits.get("maximum", ""))[:10]
    form = field.get("format", "default")
    spelled = [f"format = {quote(form)}"] if isinstance(form, str) and "%" in form else []
    return ['kind = "date"', *spelled, f"min = {low}", f"max = {high}", 'width = "1 month"'] if low and high else []


def _datetime(field: Mapping[str, Any], limits: Mapping[str, Any]) -> list[str]:
    days = _date(field, limits)
    if not days:
        return []
    return [line + "T00:00:00" if line.startswith(("min", "max")) else line.replace('"date"', '"datetime"') for line in days]


_BOUNDED = ("integer", "number", "year", "date", "datetime")
_KINDS: dict[str, Callable[[Mapping[str, Any], Mapping[str, Any]], list[str]]] = {
    "integer": _numbers("integer"),
    "year": _numbers("integer"),
    "number": _numbers("real"),
    "boolean": lambda field, limits: ['kind = "boolean"'],
    "date": _date,
    "datetime": _datetime,
    "time": lambda field, limits: ['kind = "time"', 'format = "%H:%M:%S"'],
}


def _sdv(name: str, column: Mapping[str, Any]) -> Block:
    """SDV metadata names kinds, and neither bounds nor values."""
    kind = str(column.get("sdtype", "unknown"))
    if kind == "boolean":
        return Block(name, ('kind = "boolean"', "nullable = true"))
    if kind in ("categorical", "numerical", "datetime", "unknown"):
        return _unknown(name, f"a column of sdtype {kind}, which tells no {'values' if kind == 'categorical' else 'bounds'}")
    return Block(name, why=f"its sdtype is {kind}: an identifier, or personal data")


def _unknown(name: str, what: str) -> Block:
    return Block(name, mark=f"left out: {what}. Declare it if you know more, or import this file into a draft (--into).")


def _code_book(text: str, path: Path) -> list[Block]:
    """Read lines of (column, value, label)."""
    rows = [row for row in csv.reader(io.StringIO(text), delimiter=_separator(text)) if any(row)]
    names = [name.strip().lower() for name in rows[0]] if rows else []
    at = [next((names.index(word) for word in words if word in names), None) for words in (_COLUMN, _VALUE, _LABEL)]
    column, value, label = at
    if column is None or value is None:
        raise UserError(f"{path} is no code book: its first line must name the columns column, value and label.")
    books: dict[str, dict[str, str]] = {}
    for row in rows[1:]:
        cells = [*row, *[""] * (len(names) - len(row))]
        if cells[column].strip():
            books.setdefault(cells[column].strip(), {})[cells[value].strip()] = "" if label is None else cells[label].strip()
    return [Block(name, (*_listed(list(book), book), "nullable = true")) for name, book in books.items()]


def _separator(text: str) -> str:
    first = text.partition("\n")[0]
    return max(",;\t", key=first.count)


def _listed(values: Sequence[Any], labels: Mapping[str, str]) -> list[str]:
    """Declare a list: of whole numbers where all are, as text else."""
    texts = list(dict.fromkeys(str(value) for value in values))
    whole = all(text.lstrip("-").isdecimal() and str(int(text)) == text for text in texts)
    told = [f"{quote(text)} = {quote(labels[text])}" for text in texts if labels.get(text)]
    lines = ['kind = "categorical"', *listed("values", texts if whole else list(map(quote, texts)))]
    return [*lines, *([f"labels = {{ {', '.join(told)} }}"] if told else [])]
