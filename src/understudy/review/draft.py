"""Writes a first draft of a schema by looking at the data, and marks what a person must decide.

NOT PRIVATE: a draft discloses what it saw (extremes, categories, missing values) until reviewed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa

from understudy.errors import SourceError
from understudy.review.blocks import MARK, Block, quote
from understudy.review.calendar import draft_date, draft_datetime, draft_time
from understudy.review.dependencies import with_dependencies
from understudy.review.faults import GOES, LONG, line_faults
from understudy.review.listing import SIGNS, draft_boolean, draft_text
from understudy.review.look import Seen, look
from understudy.review.numeric import draft_integer, draft_real
from understudy.review.opening import VIEW, Opened, open_data
from understudy.review.ordered import rules_mark
from understudy.schema.reading import is_text
from understudy.schema.signs import Signs

_NEARLY_ALL = 0.9
HEADER = """\
# DRAFT. This schema was written by looking at the data itself.
#
# Used as it stands, it would disclose what it saw: bounds, categories, where values are missing. Each line that
# begins with "# REVIEW:" is a decision for a person: replace what was seen by what is known without the data (a code
# book, a law, common sense), then delete the line. "understudy schema review" goes through them, those that ask the
# same together. When none is left, set draft = false, and delete these lines.

[table]
draft = true
"""


def draft_schema(data: Any) -> str:
    """Return a draft (TOML) for any table with names that ``synthesize`` takes. It looks at the data, and says so."""
    with open_data(data) as opened:
        seen = [look(opened, field) for field in opened.types]
        blocks = with_dependencies(opened, seen, _columns(seen))
        head = HEADER + _nullable(blocks) + rules_mark(opened, seen, blocks) + _csv(opened) + _odd_lines(data, opened)
        empty = opened.ask(f"SELECT count(*) FROM {VIEW}") == [(0,)]
    if empty:
        raise SourceError("The table has no rows to look at; write the schema by hand.")
    if not any(block.lines for block in blocks):
        raise SourceError("No column of this table can be described; write the schema by hand.")
    return "\n".join([head, *map(str, blocks)])


def _nullable(blocks: list[Block]) -> str:
    names = [quote(block.name) for block in blocks if block.nullable]
    if not names:
        return ""
    return (
        f"{MARK}values were missing in {', '.join(names)}, and in no other column; nullable = true says where they may be.\n"
    )


def _csv(opened: Opened) -> str:
    """Declare how a CSV file is written, where that is not the usual way."""
    settings = {} if opened.dialect is None else opened.dialect.settings()
    lines = [f"{key} = {_toml(value)}" for key, value in settings.items()]
    if opened.dialect is not None and "header" not in settings and any(_is_number(name) for name in opened.types.names):
        lines.append(f"{MARK}a number as a name: if the first line holds no names, draft again with --header A,B,C")
    if opened.dialect is not None and opened.dialect.doubt:
        lines.append(MARK + opened.dialect.doubt)
    return "\n".join(["\n[table.csv]  # how the file seems to be written", *lines, ""]) if lines else ""


def _odd_lines(data: Any, opened: Opened) -> str:
    """Tell how many lines of a CSV file are not as they should be."""
    if opened.dialect is None:
        return ""
    found = line_faults(opened.dialect.csv(data), None)
    [(rows,)] = opened.ask(f"SELECT count(*) FROM {VIEW}")
    if found[LONG] > _NEARLY_ALL * rows:
        raise SourceError(
            "Nearly all lines of the file have more fields than its first line, so that this hardly holds the names of the "
            "columns. Is there a title above them, or a line break in one? Write the names in one line, or give them with "
            "--header A,B,C."
        )
    lines = [f"# {rows:,} of its lines: {fault}; {GOES[fault]}.\n" for fault, rows in found.items() if rows]
    return "".join(["\n# The file is not written evenly:\n", *lines]) if lines else ""


def _toml(value: str | list[str]) -> str:
    return quote(value) if isinstance(value, str) else f"[{', '.join(map(quote, value))}]"


def _is_number(name: str) -> bool:
    return re.fullmatch(r"\s*[+-]?[0-9]*[.,]?[0-9]+\s*", name) is not None


def _columns(seen: list[Seen]) -> list[Block]:
    """Draft all columns; what means "missing" beside numbers or dates means it among texts too."""
    blocks = [_column(one) for one in seen]
    words = {word for one in seen if _drafter(one) is not draft_text for word in one.nulls if word}
    pairs = zip(seen, blocks, strict=True)
    return [draft_text(one, words) if words and b.lines and _drafter(one) is draft_text else b for one, b in pairs]


def _column(seen: Seen) -> Block:
    if seen.rows == seen.missing:
        return Block(seen.name, why="no value was seen")
    return _with_signs(seen.spelling.signs, _drafter(seen)(seen))


def _with_signs(signs: Signs, block: Block) -> Block:
    """Declare the signs of a column of numbers; where it is no such column, it is left out."""
    if not signs or not block.lines:
        return block
    if block.lines[0] not in ('kind = "integer"', 'kind = "real"'):
        return Block(block.name, mark=SIGNS)
    lines = [f"{key} = {quote(sign)}" for key, sign in (("before", signs.before), ("after", signs.after)) if sign]
    return replace(block, lines=(block.lines[0], *lines, *block.lines[1:]))


def _drafter(seen: Seen) -> Callable[[Seen], Block]:
    types, kind = pa.types, seen.type
    drafters = (
        (types.is_time(kind) or seen.spelling.type == "TIME", draft_time),
        (types.is_dictionary(kind) or is_text(kind), draft_text),
        (types.is_boolean(kind), draft_boolean),
        (types.is_integer(kind), draft_integer),
        (types.is_floating(kind) or types.is_decimal(kind), draft_real),
        (types.is_date(kind), draft_date),
        (types.is_timestamp(kind), draft_datetime),
    )
    return next((drafter for fits, drafter in drafters if fits), _unknown)


def _unknown(seen: Seen) -> Block:
    return Block(seen.name, why=f"a column of type {seen.type} cannot be described")
