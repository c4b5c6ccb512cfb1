"""Numbers of CSV files with decimal commas or marks between thousands, spelled with a decimal point alone.

PRIVATE: reads the rows. What a value becomes depends on the dialect and on that value alone. What is no number in the
dialect is left as it is, but for one thing: a number with a decimal point, where the dialect has a comma, must not be read.
"""

from __future__ import annotations

import re
from collections.abc import Collection

import pyarrow as pa
import pyarrow.compute as pc

from understudy.schema.dialect import POINT, THOUSANDS, Dialect
from understudy.schema.reading import NUMBER
from understudy.schema.signs import MONEY, UNITS

_SIGNED = (
    rf"^(?P<before>(?:[+-]?(?:{MONEY})\s?)?)(?P<number>[+-]?[0-9.,][0-9.,' \x{{a0}}\x{{202f}}\x{{2019}}]*)"
    rf"(?P<after>(?:{MONEY}|{UNITS})?)$"
)


def has_plain_numbers(dialect: Dialect) -> bool:
    """Whether numbers have a decimal point, and nothing between thousands."""
    return dialect.decimal == POINT and not dialect.thousands


def with_plain_numbers(batch: pa.RecordBatch, dialect: Dialect, figures: Collection[str]) -> pa.RecordBatch:
    """Return a batch of texts with plain numbers in the columns ``figures``."""
    names = batch.schema.names
    arrays = [
        plain_numbers(column, dialect) if name in figures else column
        for name, column in zip(names, batch.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, names=names)


def plain_numbers(text: pa.Array, dialect: Dialect) -> pa.Array:
    """Return texts in which a number of the dialect has a decimal point, and nothing between its thousands.

    Usual signs may stand around a number, and stay: of $1,234.50 and 12,5 % what is between them is looked at.
    """
    parts = pc.extract_regex(pc.utf8_trim_whitespace(text), pattern=_SIGNED)
    before, number, after = (pc.struct_field(parts, name) for name in ("before", "number", "after"))
    nothing = pa.scalar("", text.type)
    some = pc.fill_null(pc.not_equal(pc.binary_join_element_wise(before, after, nothing), nothing), False)
    plain = _plain(text, dialect)
    if not pc.any(some).as_py():
        return plain
    return pc.if_else(some, pc.binary_join_element_wise(before, _plain(number, dialect), after, nothing), plain)


def _plain(text: pa.Array, dialect: Dialect) -> pa.Array:
    trimmed = pc.utf8_trim_whitespace(text)
    bare = (
        pc.replace_substring_regex(trimmed, pattern=between_thousands(dialect), replacement="")
        if dialect.thousands
        else trimmed
    )
    plain = pc.replace_substring(bare, dialect.decimal, POINT)
    unreadable = pc.replace_substring(text, POINT, ",")
    kept = text if dialect.decimal == POINT else pc.if_else(pc.match_substring_regex(trimmed, NUMBER), unreadable, text)
    return pc.if_else(pc.match_substring_regex(trimmed, number_pattern(dialect)), plain, kept)


def number_pattern(dialect: Dialect) -> str:
    """Return the regular expression of numbers in this dialect: thousands in groups of three, all of them or none."""
    grouped = rf"|[1-9][0-9]{{0,2}}({between_thousands(dialect)}[0-9]{{3}})+" if dialect.thousands else ""
    mark = re.escape(dialect.decimal)
    return rf"^[+-]?(([0-9]+{grouped})({mark}[0-9]*)?|{mark}[0-9]+)([eE][+-]?[0-9]+)?$"


def between_thousands(dialect: Dialect) -> str:
    """Return the regular expression of what may stand between thousands."""
    return f"[{THOUSANDS[dialect.thousands]}]"
