"""Writes a schema's declaration as TOML. Public.

Comments of the file that was read are left out on purpose: a draft's comments tell what was seen in the rows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import date, datetime, time
from typing import Any

from understudy.schema.declaration import SchemaDeclaration

_BARE = re.compile(r"[A-Za-z0-9_-]+")


LEARNT = """\
# This schema was learnt from the rows, under the budget below, which adds to that of every release that is made with it.
# What it says may be told to anybody. Whoever changes it must know what they write without the rows."""


def schema_toml(declaration: SchemaDeclaration, notice: str = "") -> str:
    """Return a schema file that declares the same; ``notice`` is what must be said of the release that it belongs to."""
    found = declaration.model_dump(exclude_defaults=True, exclude={"columns"})
    parts = [
        LEARNT if declaration.table.learnt else "# The schema of the released table, without the comments of the original."
    ]
    if notice:
        parts.insert(0, f"# {notice}")
    if found.get("person"):
        parts.append("\n".join(f"{name} = {_value(found[name])}" for name in ("person", "rows_per_person")))
    if found.get("table"):
        parts.append(_table("[table]", found["table"]))
    for name, column in declaration.columns.items():
        parts.append(_table(f"[columns.{_key(name)}]", column.model_dump(exclude_defaults=True)))
    parts += [_table("[[zeros]]", entry) for entry in found.get("zeros", [])]
    return "\n\n".join(parts) + "\n"


def _table(header: str, entries: Mapping[str, Any]) -> str:
    lines = [f"{_key(name)} = {_value(value)}" for name, value in entries.items() if value is not None]
    return "\n".join([header, *lines])


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _text(text: str) -> str:
    return re.sub("[\x7f-\x9f]", lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False))


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, date | datetime | time):
        return value.isoformat()
    if isinstance(value, list):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items()) + " }"
    return repr(value)
