"""Drafts columns of text: a list of all values where they are few, else a proposal that shows none of them.

NOT PRIVATE: what it writes was seen in the data.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable

import pyarrow as pa

from understudy.review.blocks import Block, listed, quote
from understudy.review.look import Seen
from understudy.review.names import is_identifier, known_answers, person_or_nothing
from understudy.schema.declaration import DEFAULT_BINS

MAX_LISTED = 200
RARE = 10
_LONGEST = 8
"""Rows in which a value must be seen before it is not called rare; the longest prefix that is proposed."""
_SIGNED = re.compile(r"[-+]?[$€£]?\s?[-+]?[0-9]{1,3}([0-9]*|([.,' ][0-9]{3})+)([.,][0-9]+)?\s?[%$€£]?")
_NUMBER, _MOST_ODD = re.compile(r"[-+]?(0|[1-9][0-9]*)([.,][0-9]+)*"), 5
"""A number as tables spell it, with no zeros in front; so many texts may stand among those of a column."""
SIGNS = (
    "left out, since its numbers have signs (12 % or $5), and so are texts. To keep it, write them without, and draft again."
)
_LENGTH = re.compile(r"-?([0-9]+ days?,? )?[0-9]{1,4}:[0-5][0-9](:[0-5][0-9]([.,][0-9]+)?)?")
LENGTHS = (
    "left out, since it has lengths of time, or times that are not of one day (hours above 23), which no kind of column "
    "holds. To keep it, write them as numbers, such as minutes, and draft again."
)
_COMMAS = (
    "left out, since its numbers have commas; such are read from CSV files alone, where they are not beside others with "
    "points. To keep it, write all numbers alike (docs/schema.md, CSV files), and draft again."
)
OPEN = 'kind = "open": each run then learns, for a part of its budget, the texts that many rows have'
"""What is proposed where a list would disclose texts."""
SURELY_MISSING = frozenset({"na", "n/a", "n.a.", "#n/a", "nan", "null", "(null)", "nil", "?", "-", "--", "---", ".", ".."})
"""Texts that mean "missing" among other texts too, in any case, where there are several: one alone stays a value."""


def draft_text(seen: Seen, elsewhere: Collection[str] = ()) -> Block:
    """Draft a column of text; ``elsewhere`` are words that mean "missing" beside the numbers and dates of the table."""
    texts = seen.ranked(MAX_LISTED + 1)
    words = [one for one in texts if one[0].strip().lower() in SURELY_MISSING]
    words = words if len(words) + bool(seen.missing) > 1 else []
    if not known_answers([value for value, _ in texts]):  # beside Y, N is no
        more = [one for one in texts if one in words or one[0].strip() in elsewhere]
        words = more if len(texts) - len(more) > 1 else words  # of two answers, none means "missing"
    ranked = _spelled_once([one for one in texts if one not in words])
    if not ranked:
        return Block(seen.name, why="no value was seen")
    if mark := _no_texts([value.strip() for value, _ in ranked]):
        return Block(seen.name, mark=mark)
    if len(ranked) > 20 and 2 * max(seen.distinct, len(ranked)) > seen.rows - seen.missing:
        return Block(seen.name, why=_why_unique(texts))
    if _has_decimal_commas([value.strip() for value, _ in ranked]):
        return Block(seen.name, mark=_COMMAS)
    if len(texts) > MAX_LISTED or (len(ranked) > 100 and len(ranked) * RARE > seen.rows):
        named = is_identifier(seen.name, len(texts))
        return Block(seen.name, mark=person_or_nothing(seen.name) if named else _among_numbers(ranked) or _too_many(seen))
    answers = known_answers([value for value, _ in ranked])
    order = [] if answers else _order(seen, [value for value, _ in ranked])
    values = answers or order or sorted(value for value, _ in ranked)
    kind = 'kind = "ordinal"' if order else 'kind = "categorical"'
    lines = [kind, *_type(seen), *listed("values", list(map(quote, values)))]
    nulls = _nulls(seen, words)
    nullable = bool(nulls or seen.missing)
    place = "nullable = true" if nullable else f"other = {quote(values[0])}"
    lines += [f"nulls = [{', '.join(nulls)}]"] if nulls else []
    mark = "" if answers else _seen(ranked, nulls, in_order=bool(order))
    return Block(seen.name, (*lines, place), mark, nullable=nullable)


def _order(seen: Seen, values: Collection[str]) -> list[str]:
    """Return the values that were seen in the order that the column's type has; none where it has no order."""
    order = seen.opened.orders.get(seen.name, ())
    return [value for value in order if value in values] if set(values) <= set(order) else []


def spellings(texts: Iterable[str]) -> dict[str, str]:
    """Return how each text is listed: as it is, or without blanks around it where another differs in these alone."""
    found: dict[str, set[str]] = {}
    for text in texts:
        found.setdefault(text.strip(), set()).add(text)
    return {text: bare if len(alike) > 1 else text for bare, alike in found.items() for text in alike}


def _spelled_once(ranked: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Return the texts as they are listed, the commonest first, and how many rows have each."""
    listed, rows = spellings(text for text, _ in ranked), Counter[str]()
    for text, count in ranked:
        rows[listed[text]] += count
    return rows.most_common()


def _why_unique(texts: list[tuple[str, int]]) -> str:
    if all(_SIGNED.fullmatch(text.strip()) for text, _ in texts) and not any(text.isdigit() for text, _ in texts):
        return "numbers with separators (1,234.50 or 12,5) are texts here; write them plainly to keep the column"
    return "nearly every row has a text of its own (an identifier, or free text)"


def _no_texts(texts: list[str]) -> str:
    """Return the mark of a column of many lengths of time, or numbers with signs; empty for one of texts."""
    if len(texts) > DEFAULT_BINS and all(map(_LENGTH.fullmatch, texts)):
        return LENGTHS
    return SIGNS if _has_signs(texts) else ""


def _has_signs(texts: list[str]) -> bool:
    """Whether texts are many numbers with a sign that is none of numbers."""
    signs = sum(any(sign in text for sign in "$€£%") for text in texts)
    return len(texts) > DEFAULT_BINS and 2 * signs > len(texts) and all(map(_SIGNED.fullmatch, texts))


def _has_decimal_commas(texts: list[str]) -> bool:
    """Whether texts are numbers as 1.084,50; a few such may be codes."""
    commas = sum("," in text for text in texts)
    return len(texts) > DEFAULT_BINS and 2 * commas > len(texts) and all(map(_SIGNED.fullmatch, texts))


def _among_numbers(ranked: list[tuple[str, int]]) -> str:
    """Say which few texts stand among many numbers, such as what a laboratory writes of what it cannot measure."""
    odd = [(value.strip(), rows) for value, rows in ranked if not _NUMBER.fullmatch(value.strip())]
    if not odd or len(odd) > _MOST_ODD or min(rows for _, rows in odd) < RARE:
        return ""
    words = ", ".join(quote(value) for value, _ in odd)
    return (
        f"left out, since texts stand among its numbers ({words}). Write numbers in their place, and draft again; or, where "
        f'they mean "missing", keep it with kind = "real", min and max, nulls = [{words}] and nullable = true.'
    )


def _nulls(seen: Seen, missing: list[tuple[str, int]]) -> list[str]:
    """Return the texts that mean "missing", the commonest first; blank is one of them where it is the commonest."""
    blank = [""] if missing and seen.missing > missing[0][1] else []
    return [quote(word) for word in dict.fromkeys([*blank, *(word.strip() for word, _ in missing)])]


def _seen(ranked: list[tuple[str, int]], nulls: list[str], *, in_order: bool = False) -> str:
    rare = sum(rows < RARE for _, rows in ranked)
    said = f"these {len(ranked)} values were seen" if len(ranked) > 1 else "this value was seen"
    known = f" ({rare} of them in fewer than {RARE} rows)" if rare and len(ranked) > 1 else ""
    words = [word for word in nulls if word != '""']
    doubt = f'; {", ".join(words)} seem{"s" if len(words) == 1 else ""} to mean "missing"' if words else ""
    kept = [quote(value) for value, _ in ranked if value.strip().lower() in SURELY_MISSING]
    doubt += f'; if {kept[0]} means "missing", write nulls = [{kept[0]}] and nullable = true instead' if kept else ""
    unlisted = f", or {OPEN}" if known else ""
    order = ", in this order" if in_order else ""
    return (
        f"{said}{known}{order}; write those that you know without the data, from a code book or by what the column means"
        f"{unlisted}{doubt}."
    )


def _too_many(seen: Seen) -> str:
    """Say what is proposed for a column with too many values to list, and what else is possible; name none of them."""
    short = [(count, -length) for length, count in enumerate(seen.prefixes(_LONGEST), 1) if 1 < count <= MAX_LISTED // 2]
    count, length = max(short, default=(0, 0))
    prefix = f", or by its first characters (prefix = {-length} has {count} values)" if count else ""
    about = float(f"{seen.distinct:.2g}")
    return (
        f"left out, since it has about {about:,.0f} different texts, too many to list from the data. "
        f"Keep it with the values that you know{prefix}, or as {OPEN}. If it says whose row it is, it is the person of the "
        "schema."
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
