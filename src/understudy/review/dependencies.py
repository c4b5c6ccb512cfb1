"""Columns that follow from others, as far as the rows show: proposed in a draft, never taken for granted.

NOT PRIVATE: looks at all values of pairs of columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from understudy.review.blocks import Block, quote
from understudy.review.listing import spellings
from understudy.review.look import Seen
from understudy.review.opening import VIEW, Opened
from understudy.source.duck import identifier

_FEWEST, _MOST = 3, 200
_PAIRS, _LIKELY = 800, 40
_ROWS, _SOME = 20, 5_000
"""Values that a column must have for others to follow from it; pairs that are looked at in some rows, and those of them in
all rows; rows for each value, and how many some are."""
_LISTED = ('kind = "categorical"', 'kind = "ordinal"')
_SPELLED: dict[str, Callable[[str], str]] = {'kind = "categorical"': quote, 'kind = "integer"': str, 'kind = "real"': str}
"""Kinds that a lookup can give, and how it spells their values."""


def with_dependencies(opened: Opened, seen: Sequence[Seen], blocks: Sequence[Block]) -> list[Block]:
    """Return the blocks; those of columns that follow from another say so in their marks."""
    drafted = [(one, block) for one, block in zip(seen, blocks, strict=True) if block.lines]
    listed = [one for one, block in drafted if block.lines[0] in _LISTED and _FEWEST <= one.distinct <= _MOST]
    pairs = [
        (parent.name, one.name)
        for one, block in drafted
        for parent in listed
        if block.mark and parent is not one and _FEWEST <= one.distinct <= 1.1 * parent.distinct < parent.rows / _ROWS
    ]
    order = [one.name for one in seen]
    pairs.sort(key=lambda pair: order.index(pair[0]) > order.index(pair[1]))  # rather from one that comes before
    follows = _following(opened, pairs[:_PAIRS])
    return [
        replace(block, mark=block.mark + _words(opened, follows[block.name], block)) if block.name in follows else block
        for block in blocks
    ]


def _following(opened: Opened, pairs: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return from which column each one follows; of two that follow from each other, the second from the first."""
    if not pairs:
        return {}
    some = f"(SELECT * FROM {VIEW} LIMIT {_SOME})"
    parts = (pairs[start : start + _LIKELY] for start in range(0, len(pairs), _LIKELY))
    likely = [pair for part in parts for pair in _holding(opened, part, some)][:_LIKELY]
    found: dict[str, str] = {}
    for parent, name in _holding(opened, likely, VIEW):
        if name not in found and found.get(parent) != name:
            found[name] = parent
    return {name: parent for name, parent in found.items() if parent not in found or found[parent] == name}


def _holding(opened: Opened, pairs: Sequence[tuple[str, str]], rows: str) -> list[tuple[str, str]]:
    """Return the pairs in which the second column follows from the first, in ``rows``."""
    if not pairs:
        return []
    texts = [[f"coalesce(trim({identifier(name)}::VARCHAR), '')" for name in pair] for pair in pairs]
    asked = ", ".join(f"count(DISTINCT {a}) = count(DISTINCT hash({a}, {b}))" for a, b in texts)
    [answers] = opened.ask(f"SELECT {asked} FROM {rows}")
    return [pair for pair, holds in zip(pairs, answers, strict=True) if holds]


def _words(opened: Opened, parent: str, block: Block) -> str:
    return (
        f" In all rows it follows from {quote(parent)}: if that is so by what they mean, it costs nothing as kind = "
        f'"derived", with of = {quote(parent)} and {_lookup(opened, parent, block)}.'
    )


def _lookup(opened: Opened, parent: str, block: Block) -> str:
    """Return the lookup that all rows keep; only a word where it cannot be written as one."""
    of, name = identifier(parent), identifier(block.name)
    pairs = opened.ask(f"SELECT DISTINCT {of}::VARCHAR AS a, {name}::VARCHAR FROM {VIEW} WHERE {of} IS NOT NULL ORDER BY a")
    kind = block.lines[0]
    if any(value is None for _, value in pairs) or kind not in _SPELLED:
        return "a lookup"
    keys, values = spellings(key for key, _ in pairs), spellings(value for _, value in pairs)
    lookup = {keys[key]: _SPELLED[kind](values[value]) for key, value in pairs}
    return f"lookup = {{ {', '.join(f'{quote(key)} = {value}' for key, value in lookup.items())} }}"
