"""The mark of a release that is not private, on whatever can travel alone: file names, tables and frames. Public."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa

LABEL = "NOT-PRIVATE"
"""Part of the name of a file that has no place for words: ``synthetic.NOT-PRIVATE.csv``."""
KEY = "understudy"
"""Where a table says it: in Arrow's and Parquet's metadata, and in pandas' ``attrs``."""


def marked_path(path: Path, private: bool) -> Path:
    """Return the path of a file whose content cannot say that it is not private: its name says so."""
    return path if private or LABEL in path.name else path.with_name(f"{path.stem}.{LABEL}{path.suffix}")


def marked(table: pa.Table, notice: str) -> pa.Table:
    """Return ``table`` with ``notice`` in its metadata, and with nothing else there."""
    said = {KEY: json.dumps({"private": False, "notice": notice})} if notice else None
    return table.replace_schema_metadata(said)


def mark_of(table: pa.Table) -> dict[Any, Any]:
    """Return what ``marked`` has put into the metadata, in the form of pandas' ``attrs``."""
    found = (table.schema.metadata or {}).get(KEY.encode())
    return {} if found is None else {KEY: json.loads(found)}


def carries_mark(table: Any) -> bool:
    """Say whether a table says of itself that it is not private; polars frames, dicts and arrays have no place for it."""
    return bool(mark_of(table)) if isinstance(table, pa.Table) else KEY in getattr(table, "attrs", {})
