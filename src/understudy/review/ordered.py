"""Columns of which one is never above another, as far as the rows show: proposed in a draft, never taken for granted.

NOT PRIVATE: looks at all values of pairs of columns.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.review.blocks import MARK, Block
from understudy.review.lengths import lengths_between
from understudy.review.look import Seen
from understudy.review.opening import VIEW, Opened
from understudy.review.parts import parts_of_moments
from understudy.schema.rules import KEYWORDS
from understudy.source.duck import identifier

_SOME, _FEWEST = 5_000, 100
"""Rows in which pairs are looked at first, and how many of them must have both values."""
_BY_CHANCE = 0.02
"""An order tells something where rows of independent columns would break it at least so often."""
_SAME = 0.9
"""Of two columns with the same value in so many rows, none is above the other: they are much the same."""
_MOST = 12
"""Orders that are proposed, at most."""
_SPACES = {"integer": "number", "real": "number", "date": "date", "datetime": "datetime"}
Pair = tuple[str, str]


def rules_mark(opened: Opened, seen: Sequence[Seen], blocks: Sequence[Block]) -> str:
    """Return the mark that proposes orders between columns, and moments and their parts that follow; nothing without any."""
    spaces = {one.name: space for one, block in zip(seen, blocks, strict=True) if (space := _space(block))}
    pairs = _nearest(_holding(opened, _likely(opened, spaces)))[:_MOST]
    whole = [block.name for block in blocks if block.name in spaces and block.lines[0] == 'kind = "integer"']
    moments = [(low, high) for low, high in pairs if spaces[low] != "number"]
    lengths = lengths_between(opened, moments, whole, _word) if moments else {}
    follow = [*lengths.values(), *parts_of_moments(opened, seen, blocks, lengths, _word)]
    words = [*([_ordered(pairs)] if pairs else []), *([_derived(follow)] if follow else [])]
    return f"{MARK}{' '.join(words)[0].lower()}{' '.join(words)[1:]}\n" if words else ""


def _ordered(pairs: Sequence[Pair]) -> str:
    rules = ", ".join(f"{_word(low)} <= {_word(high)}" for low, high in pairs)
    return (
        f"In all rows {rules}. An order that holds by what the columns mean is declared by a [[zeros]] section with "
        f'always = "{_word(pairs[0][0])} <= {_word(pairs[0][1])}": no synthetic row breaks it then. Accepted, none is '
        "declared."
    )


def _derived(rules: Sequence[str]) -> str:
    return (
        f"In all rows {', '.join(rules)}: if that is so by what they mean, declare the one before the equals sign as "
        'kind = "derived", with what stands behind as its expression.'
    )


def _space(block: Block) -> str | None:
    """Return what the values of a column can be compared with; None for numbers that have marks of missing values.

    Such marks may be numbers themselves, and numbers are in order by chance more often than moments.
    """
    kind = next((line.split('"')[1] for line in block.lines if line.startswith("kind = ")), "")
    marked = any(line.startswith("nulls = ") for line in block.lines)
    return None if marked and kind in ("integer", "real") else _SPACES.get(kind)


def _likely(opened: Opened, spaces: dict[str, str]) -> list[Pair]:
    """Return the pairs in order in some rows, of those that independent columns would break."""
    if len(spaces) < 2:
        return []
    asked = ", ".join(
        f"{identifier(name)}::DOUBLE" if space == "number" else f"epoch({identifier(name)}::TIMESTAMP)::DOUBLE"
        for name, space in spaces.items()
    )
    rows = opened.ask(f"SELECT {asked} FROM {VIEW} USING SAMPLE {_SOME} ROWS (reservoir, 1)")
    columns = {name: np.array(values, np.float64) for name, values in zip(spaces, zip(*rows, strict=True), strict=False)}
    return [
        (low, high)
        for low, space in spaces.items()
        for high in spaces
        if low != high and space == spaces[high] and low in columns and _tells(columns[low], columns[high])
    ]


def _tells(low: NDArray[np.float64], high: NDArray[np.float64]) -> bool:
    """Whether the first is never above the second where both are known, and would be if they were independent."""
    both = ~(np.isnan(low) | np.isnan(high))
    a, b = low[both], high[both]
    if len(a) < _FEWEST or (a > b).any() or (a == b).mean() > _SAME:
        return False
    above = 1 - np.searchsorted(np.sort(a), b, side="right") / len(a)
    return bool(above.mean() >= _BY_CHANCE)


def _holding(opened: Opened, pairs: Sequence[Pair]) -> list[Pair]:
    """Return the pairs that are in order in all rows."""
    if not pairs:
        return []
    asked = ", ".join(f"bool_and({identifier(low)} <= {identifier(high)})" for low, high in pairs)
    [answers] = opened.ask(f"SELECT {asked} FROM {VIEW}")
    return [pair for pair, holds in zip(pairs, answers, strict=True) if holds]


def _nearest(pairs: Sequence[Pair]) -> list[Pair]:
    """Leave out what follows from two others."""
    known = set(pairs)
    return [(a, c) for a, c in pairs if not any((a, b) in known and (b, c) in known for _, b in known)]


def _word(name: str) -> str:
    """Return a name as rules write it."""
    plain = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) and name.lower() not in KEYWORDS
    return name if plain else f"`{name}`"
