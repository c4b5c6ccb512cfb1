"""Keeps SQL queries away from files whose types DuckDB would guess from their content: of all files, only Parquet is read.

Sees queries and the definitions of views, never a row. There are two locks. The first looks for what reads such files in the
query as DuckDB itself parses it, before anything is opened. The second takes the file system away from DuckDB, but for
the Parquet files that the query, or a view or macro of the database, names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from glob import glob, has_magic
from typing import Any

import duckdb

from understudy.errors import SourceError
from understudy.source.duck import binding, literal
from understudy.source.parquet import ENDINGS

_GUESSING = re.compile(r"(read_csv|sniff_csv|read_json|read_ndjson|read_text|read_blob|query$|query_table$|glob$)\w*", re.I)
_GUESSING_CALL = re.compile(r"\b(read_csv|sniff_csv|read_json|read_ndjson|read_text|read_blob)\w*\s*\(", re.I)
_GUESSED_FILE = re.compile(r"\.(csv|tsv|txt|psv|dat|json|jsonl|ndjson|geojson|xlsx)(\.\w+)?$", re.I)
_QUOTED = re.compile(r"'((?:[^']|'')*)'|\"((?:[^\"]|\"\")*)\"")
_NAMED = """
    SELECT view_name, sql FROM duckdb_views() WHERE NOT internal
    UNION ALL
    SELECT function_name, macro_definition FROM duckdb_functions() WHERE NOT internal AND macro_definition IS NOT NULL
"""
_INSTEAD = (
    "DuckDB would guess types from the content of that file, so that one record could change how all others are read. "
    "Give a CSV file itself (with its dialect under [table.csv] in the schema) instead of a query; convert other files to "
    "Parquet first."
)


def refuse_guessing(query: str, guard: binding) -> None:
    """Refuse a query that reads a file of a kind whose types are guessed. Opens nothing."""
    with guard, duckdb.connect(config={"autoinstall_known_extensions": "false"}) as parser:
        [(tree,)] = parser.execute("SELECT json_serialize_sql($1::VARCHAR)", [query]).fetchall()
    for name in _names(json.loads(tree)):
        if _GUESSING.fullmatch(name) or _GUESSED_FILE.search(name):
            _refuse(f'"{name}"')


def lock_files(connection: duckdb.DuckDBPyConnection, query: str, guard: binding) -> None:
    """Leave DuckDB no file but the Parquet files that are named in ``query``, or in the views and macros that it uses."""
    with guard:
        named = dict(connection.execute(_NAMED).fetchall())
        texts = list(_used(query, named))
        if any(_GUESSING_CALL.search(text) for text in texts[1:]):
            _refuse("a view or macro that reads one")
        paths = sorted({path for text in texts for path in _parquet_paths(text)})
        [(open_still,)] = connection.execute("SELECT current_setting('enable_external_access')").fetchall()
        if open_still:  # another connection of this process may have locked the same database
            connection.execute(f"SET allowed_paths = [{', '.join(map(literal, paths))}]")
            connection.execute("SET enable_external_access = false")


def _refuse(what: str) -> None:
    raise SourceError(f"The SQL query reads a file other than Parquet: {what}. {_INSTEAD}")


def _names(tree: Any) -> Iterator[str]:
    """Yield the names of all functions and tables of a parsed query; a table's with those of its schema and catalog."""
    if isinstance(tree, list):
        for part in tree:
            yield from _names(part)
    elif isinstance(tree, dict):
        parts = [tree.get(key) for key in ("catalog_name", "schema_name", "table_name")]
        yield from [str(tree["function_name"])] if "function_name" in tree else []
        yield from [".".join(str(part) for part in parts if part)] if parts[-1] else []
        for part in tree.values():
            yield from _names(part)


def _used(query: str, named: dict[str, str]) -> Iterator[str]:
    """Yield the query, and the text of every view and macro whose name occurs in it or in one of these."""
    waiting, left = [query], dict(named)
    while waiting:
        text = waiting.pop()
        yield text
        words = set(re.findall(r"\w+", text.lower()))
        used = [name for name in left if set(re.findall(r"\w+", name.lower())) <= words]
        waiting += [left.pop(name) for name in used]


def _parquet_paths(text: str) -> Iterator[str]:
    """Yield the paths of Parquet files that stand in quotes, with those that a glob matches."""
    for one, other in _QUOTED.findall(text):
        path = one.replace("''", "'") if one else other.replace('""', '"')
        if path.lower().endswith(ENDINGS):
            yield path
            yield from (found for found in glob(path, recursive=True) if found.lower().endswith(ENDINGS) and has_magic(path))
