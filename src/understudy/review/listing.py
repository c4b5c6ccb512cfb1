"""Drafts columns of text: a list of all values where they are few, else a proposal that shows none of them.

NOT PRIVATE: what it writes was seen in the data.
"""

from __future__ import annotations

import pyarrow as pa

from understudy.review.blocks import Block, listed, quote
from understudy.review.look import Seen
from understudy.review.names import known_answers

MAX_LISTED = 200
RARE = 10
_LONGEST = 8
"""Rows in which a value must be seen before it is not called rare; the longest prefix that is proposed."""


def draft_text(seen: Seen) -> Block:
    """Draft a column of text."""
    ranked = seen.ranked(MAX_LISTED + 1)
    if not ranked:
        return Block(seen.name, why="no value was seen")
    if len(ranked) > 20 and 2 * max(seen.distinct, len(ranked)) > seen.rows - seen.missing:
        return Block(seen.name, why="nearly every row has a text of its own (an identifier, or free text)")
    if len(ranked) > MAX_LISTED or (len(ranked) > 100 and len(ranked) * RARE > seen.rows):
        return Block(seen.name, mark=_too_many(seen))
    answers = known_answers([value for value, _ in ranked])
    values = answers or sorted(value for value, _ in ranked)
    lines = ['kind = "categorical"', *_type(seen), *listed("values", list(map(quote, values)))]
    place = "nullable = true" if seen.missing else f"other = {quote(answers[0] if answers else ranked[0][0])}"
    return Block(seen.name, (*lines, place), "" if answers else _seen(ranked), nullable=bool(seen.missing))


def _seen(ranked: list[tuple[str, int]]) -> str:
    rare = sum(rows < RARE for _, rows in ranked)
    said = f"these {len(ranked)} values were seen" if len(ranked) > 1 else "this value was seen"
    known = f" ({rare} of them in fewer than {RARE} rows)" if rare and len(ranked) > 1 else ""
    return f"{said}{known}; write those that you know without the data, from a code book or by what the column means."


def _too_many(seen: Seen) -> str:
    """Say what is proposed for a column with too many values to list, and what else is possible; name none of them."""
    short = [(count, -length) for length, count in enumerate(seen.prefixes(_LONGEST), 1) if 1 < count <= MAX_LISTED // 2]
    count, length = max(short, default=(0, 0))
    prefix = f", or by its first characters (prefix = {-length} has {count} values)" if count else ""
    about = float(f"{seen.distinct:.2g}")
    return (
        f"left out, since it has about {about:,.0f} different texts, too many to list from the data. "
        f"Keep it with the values that you know{prefix}."
    )


def _type(seen: Seen) -> list[str]:
    """Declare the type of the decoded column when it is not the usual one. A text file has no types."""
    given = "category" if pa.types.is_dictionary(seen.type) else str(seen.type)
    return [] if given in ("string", "string_view") or seen.opened.dialect is not None else [f"type = {quote(given)}"]


def draft_boolean(seen: Seen) -> Block:
    """Draft a column of booleans."""
    nulls = [f"nulls = [{', '.join(map(quote, seen.nulls))}]"] if seen.nulls else []
    place = [*nulls, "nullable = true"] if nulls or seen.missing else ["other = false"]
    return Block(seen.name, ('kind = "boolean"', *place), nullable=place[-1].startswith("nullable"))
